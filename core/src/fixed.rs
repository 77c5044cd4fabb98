//! Embedding coordinates as fixed-point integers.
//!
//! Everything after this conversion is integer arithmetic, so all targets agree to the bit.

use crate::barrier::opaque;
use crate::integers::{at_least, at_most, lane_clamp};

/// The largest magnitude of a fixed-point coordinate.
pub(crate) const LIMIT: i16 = i16::MAX;

/// The exponents of the scale 2^exponent that a pack may ask for.
pub(crate) const EXPONENTS: core::ops::RangeInclusive<i32> = -24..=24;

/// A power of two for fixed-point conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale(i32);

impl Scale {
    /// 2^exponent, or `None` outside [`EXPONENTS`].
    pub(crate) fn new(exponent: i32) -> Option<Self> {
        EXPONENTS.contains(&exponent).then_some(Self(exponent))
    }

    /// The exponent.
    pub(crate) fn exponent(self) -> i32 {
        self.0
    }

    /// The power of two itself.
    pub(crate) fn factor(self) -> f32 {
        f32::from_bits((self.0 + 127).unsigned_abs() << 23)
    }

    /// `fixed · 2^exponent`, exactly.
    #[expect(
        clippy::float_arithmetic,
        reason = "a product with a power of two, the same bits everywhere"
    )]
    pub(crate) fn coordinate(self, fixed: i16) -> f32 {
        f32::from(fixed) * self.factor()
    }
}

/// The nearest integer to `coordinate · scale`, ties to even, clamped to ±[`LIMIT`]; 0 when the
/// coordinate is not finite. There is no error, because it would depend on a private value. `scale`
/// is the factor of a [`Scale`].
///
/// This works on the bits. A processor without instructions for rounding and comparing floats would
/// call functions that take longer for some values.
#[inline(always)]
pub(crate) fn to_fixed(coordinate: f32, scale: f32) -> i16 {
    let bits = coordinate.to_bits() as i32;
    let exponent = bits >> 23 & 0xff;
    // One unit of the result is 2^right of these. That is wrong for subnormal numbers, which become
    // 0 either way.
    let significand = bits & 0x7f_ffff | 1 << 23;
    let scaling = (scale.to_bits() >> 23) as i32 - 127;
    let right = 150 - scaling - exponent;
    // A shift by 8 gives 2^15 or more, a shift by 25 less than a half.
    let right = at_most(at_least(right, 8), 25);
    let odd = significand >> right & 1;
    let half = 1 << (right - 1);
    let nearest = at_most((significand + half - 1 + odd) >> right, LIMIT.into());
    let finite = opaque((exponent - 0xff) >> 31);
    let sign = bits >> 31;
    (((nearest & finite) ^ sign) - sign) as i16
}

/// Converts a fixed-point coordinate to another unit: the nearest integer to it times 2^`exponent`,
/// ties to even, clamped to ±[`LIMIT`]. [`to_fixed`] returns the same for the number that the
/// coordinate stands for, which `f32` holds exactly.
#[inline]
pub(crate) fn rescale(coordinate: i16, exponent: i32) -> i16 {
    // A coordinate that is not 0 is beyond the limit times 2^15, and at most a half times 2^−16.
    let left = lane_clamp(exponent, 0, 15);
    let right = lane_clamp(exponent.saturating_neg(), 0, 16);
    // Twice the magnitude, so that there is always a bit to round.
    let doubled = i64::from(i32::from(coordinate.unsigned_abs()) << left) << 1;
    let odd = doubled >> (right + 1) & 1;
    let nearest = (doubled + (1 << right) - 1 + odd) >> (right + 1);
    let nearest = at_most(nearest as i32, LIMIT.into());
    let sign = i32::from(coordinate) >> 31;
    ((nearest ^ sign) - sign) as i16
}

/// A projection shifted right and clamped, to be compared with bucket boundaries. The shift is
/// below 32.
#[inline(always)]
pub(crate) fn bucket_input(projection: i64, shift: u32) -> i32 {
    lane_clamp(projection >> (shift & 31), i32::MIN.into(), i32::MAX.into()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_limits() {
        for exponent in [25, -25, i32::MAX, i32::MIN] {
            assert!(Scale::new(exponent).is_none());
        }
    }

    /// The definition, by floats. Ties, the limit and everything around them lie at multiples of a
    /// quarter.
    #[test]
    fn conversion_is_that_of_floats() {
        let check = |bits: u32, exponent: i32| {
            let scale = Scale::new(exponent).unwrap().factor();
            let coordinate = f32::from_bits(bits);
            let finite = Some(coordinate).filter(|x| x.is_finite()).unwrap_or(0.0);
            let expected = ((finite * scale).round_ties_even() as i16).max(-LIMIT);
            assert_eq!(to_fixed(coordinate, scale), expected, "{bits:x} {exponent}");
        };
        for exponent in [-24, -1, 0, 9, 24] {
            for special in [f32::NAN, f32::INFINITY, f32::MAX, 0.0, f32::from_bits(1)] {
                check(special.to_bits(), exponent);
                check((-special).to_bits(), exponent);
            }
            // 977 is prime: all low bits, and every sign and exponent.
            for bits in (0..=u32::MAX).step_by(977 * 8) {
                check(bits, exponent);
            }
            for quarters in -140_000..140_000 {
                let near =
                    (quarters as f32 * 0.25 / Scale::new(exponent).unwrap().factor()).to_bits();
                check(near, exponent);
                check(near.wrapping_add(1), exponent);
                check(near.wrapping_sub(1), exponent);
            }
        }
    }

    #[test]
    fn rescaling_is_conversion() {
        for exponent in -24..=24 {
            for target in -24..=24 {
                let unit = Scale::new(exponent).unwrap();
                let scale = Scale::new(target).unwrap();
                let around =
                    [1, 2, 4, 8, 4096, 16_384].map(|power| [-1 - power, -power, power, power + 1]);
                for fixed in (-LIMIT..=LIMIT).step_by(7).chain(around.concat()) {
                    let rescaled = rescale(fixed, exponent + target);
                    let expected = to_fixed(unit.coordinate(fixed), scale.factor());
                    assert_eq!(rescaled, expected, "{fixed} {exponent} {target}");
                }
            }
        }
    }
}
