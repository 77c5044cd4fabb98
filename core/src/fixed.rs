//! Embedding coordinates as fixed-point integers.
//!
//! Everything after this conversion is integer arithmetic, so all targets agree to the bit.

use crate::kernels::Backend;

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
#[expect(
    clippy::float_arithmetic,
    reason = "a product with a power of two, the same bits everywhere"
)]
#[inline(always)]
pub(crate) fn to_fixed(coordinate: f32, scale: f32) -> i16 {
    // Subnormals round to 0 whether or not the target flushes them: the scale is at most 2^24.
    let finite = if coordinate.is_finite() {
        coordinate
    } else {
        0.0
    };
    // `as` saturates; the product may still be infinite.
    (libm::rintf(finite * scale) as i16).max(-LIMIT)
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
}
