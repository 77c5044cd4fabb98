//! Embedding coordinates as fixed-point integers.
//!
//! Everything after this conversion is integer arithmetic, so all targets agree to the bit.

use crate::kernels::{Backend, opaque};

/// The largest magnitude of a fixed-point coordinate.
pub(crate) const LIMIT: i16 = i16::MAX;

/// The exponents of the scale 2^exponent that a pack may ask for.
pub(crate) const EXPONENTS: core::ops::RangeInclusive<i32> = -24..=24;

/// A power of two for fixed-point conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale(f32);

impl Scale {
    /// 2^exponent, or `None` outside [`EXPONENTS`].
    pub(crate) fn new(exponent: i32) -> Option<Self> {
        let biased = u32::try_from(exponent.checked_add(127)?).ok()?;
        EXPONENTS
            .contains(&exponent)
            .then(|| Self(f32::from_bits(biased << 23)))
    }

    /// Converts coordinates by [`to_fixed`]; what is behind them in `fixed` stays.
    pub(crate) fn to_fixed_all(self, backend: Backend, coordinates: &[f32], fixed: &mut [i16]) {
        backend.to_fixed(coordinates, self.0, fixed);
    }

    /// `fixed · 2^exponent`, exactly.
    #[expect(
        clippy::float_arithmetic,
        reason = "a product with a power of two, the same bits everywhere"
    )]
    pub(crate) fn coordinate(self, fixed: i16) -> f32 {
        f32::from(fixed) * self.0
    }
}

/// The nearest integer to `coordinate · scale`, ties to even, clamped to ±[`LIMIT`]; 0 when the coordinate
/// is not finite. Total: an error here would depend on a private value. The scale is that of a [`Scale`].
///
/// Straight from the bits: rounding and comparing floats takes a call, and longer for some values, where the
/// processor has no instruction for it.
#[inline(always)]
pub(crate) fn to_fixed(coordinate: f32, scale: f32) -> i16 {
    let bits = coordinate.to_bits() as i32;
    let exponent = bits >> 23 & 0xff;
    // Counts 2^−right of the result. For subnormals that is wrong, but they are below 2^-100 either way.
    let significand = bits & 0x7f_ffff | 1 << 23;
    let scaling = (scale.to_bits() >> 23) as i32 - 127;
    let right = 150 - scaling - exponent;
    // With 8 the result is 2^15 or more, with 25 it is below a half.
    let right = at_most(at_least(right, 8), 25);
    let odd = significand >> right & 1;
    let half = 1 << (right - 1);
    let nearest = at_most((significand + half - 1 + odd) >> right, LIMIT.into());
    let finite = opaque((exponent - 0xff) >> 31);
    let sign = bits >> 31;
    (((nearest & finite) ^ sign) - sign) as i16
}

/// The larger one, for numbers within ±2^30, without a comparison that could become a branch.
#[inline(always)]
fn at_least(x: i32, least: i32) -> i32 {
    let below = opaque((x - least) >> 31);
    x ^ (x ^ least) & below
}

/// The smaller one, likewise.
#[inline(always)]
fn at_most(x: i32, most: i32) -> i32 {
    let above = opaque((most - x) >> 31);
    x ^ (x ^ most) & above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_is_total_and_rounds_to_nearest() {
        let unit = Scale::new(0).unwrap();
        for (coordinate, fixed) in [
            (f32::NAN, 0),
            (f32::INFINITY, 0),
            (f32::NEG_INFINITY, 0),
            (f32::MAX, LIMIT),
            (f32::MIN, -LIMIT),
            (-0.0, 0),
            (f32::from_bits(1), 0),
            (1.49, 1),
            (-1.51, -2),
            (2.5, 2),
            (3.5, 4),
            (32767.4, LIMIT),
            (-32768.0, -LIMIT),
        ] {
            assert_eq!(to_fixed(coordinate, unit.0), fixed, "{coordinate}");
        }
        assert_eq!(to_fixed(f32::MAX, Scale::new(24).unwrap().0), LIMIT);
        assert_eq!(to_fixed(1.5, Scale::new(10).unwrap().0), 1536);
        assert_eq!(to_fixed(20.0, Scale::new(-3).unwrap().0), 2);
        assert!(Scale::new(25).is_none() && Scale::new(-25).is_none());
        assert!(Scale::new(i32::MAX).is_none() && Scale::new(i32::MIN).is_none());
    }

    /// The definition, by floats. Ties, the limit and everything around them lie at multiples of a quarter.
    #[test]
    fn conversion_is_that_of_floats() {
        let check = |bits: u32, exponent: i32| {
            let scale = Scale::new(exponent).unwrap().0;
            let coordinate = f32::from_bits(bits);
            let finite = if coordinate.is_finite() {
                coordinate
            } else {
                0.0
            };
            let expected = ((finite * scale).round_ties_even() as i16).max(-LIMIT);
            assert_eq!(to_fixed(coordinate, scale), expected, "{bits:x} {exponent}");
        };
        for exponent in [-24, -1, 0, 9, 24] {
            // 977 is prime: all low bits, and every sign and exponent.
            for bits in (0..=u32::MAX).step_by(977 * 8) {
                check(bits, exponent);
            }
            for quarters in -140_000..140_000 {
                let near = (quarters as f32 * 0.25 / Scale::new(exponent).unwrap().0).to_bits();
                check(near, exponent);
                check(near.wrapping_add(1), exponent);
                check(near.wrapping_sub(1), exponent);
            }
        }
    }
}
