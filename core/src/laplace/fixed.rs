//! Fixed point: conversion of coordinates, and rounding of noise.

use crate::barrier::opaque;

/// Each product, rounded.
#[inline(always)]
#[expect(
    clippy::float_arithmetic,
    reason = "noise is drawn independently of private data; its error is bounded"
)]
pub(crate) fn round_products(factor: f64, gaussians: &[f64], products: &mut [i64]) {
    for (product, gaussian) in products.iter_mut().zip(gaussians) {
        *product = round(factor * gaussian);
    }
}

/// The nearest integer for |x| < 2⁷⁰, ties to even in the low part. Additions only, so that a batch
/// is rounded side by side.
#[inline(always)]
#[expect(
    clippy::float_arithmetic,
    reason = "noise is drawn independently of private data; its error is bounded"
)]
pub(super) fn round(x: f64) -> i64 {
    const PART: f64 = (1 << 20) as f64;
    // A sum with this is an integer, whose value is in its low bits.
    const INTEGERS: f64 = 1.5 * (1u64 << 52) as f64;
    let integer = |sum: f64| sum.to_bits().wrapping_sub(INTEGERS.to_bits()) as i64;
    let high = x * (1.0 / PART) + INTEGERS;
    // Exact: at most 2^19, and a multiple of the last place of x.
    let rest = x - (high - INTEGERS) * PART;
    (integer(high) << 20).wrapping_add(integer(rest + INTEGERS))
}

/// The conversion of a coordinate to an integer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedPoint {
    pub(crate) fraction_bits: i32,
    pub(super) limit: u64,
    /// The largest biased exponent of a float below the limit.
    pub(crate) largest_exponent: i32,
}

impl FixedPoint {
    /// B·2^F.
    pub(crate) fn limit(self) -> i64 {
        self.limit as i64
    }

    /// The coordinate times 2^F, rounded towards zero and clamped to ±B·2^F; 0 if it is not finite.
    /// At most 2⁶¹ in magnitude. Straight from the bits, without a branch.
    #[inline(always)]
    pub(crate) fn convert(self, coordinate: f32) -> i64 {
        let bits = coordinate.to_bits() as i32;
        let exponent = bits >> 23 & 0xff;
        // 0 for subnormal numbers; 1 for what is not finite.
        let normal = (exponent + 0xff) >> 8;
        let not_finite = (exponent + 1) >> 8;
        // The significand counts 2^(exponent − 150), that of a subnormal number 2^−149.
        let significand = i64::from(bits & 0x7f_ffff | normal << 23);
        let right = 38 + 150 - self.fraction_bits - (exponent + 1 - normal);
        // Beyond 63 nothing is left of 62 bits. Below 0 the number is beyond the limit, which is
        // 2^61 at most.
        let magnitude = (significand << 38) >> (right & 63);
        let beyond = i64::from(opaque((self.largest_exponent - exponent) >> 31));
        let magnitude = magnitude ^ (magnitude ^ self.limit as i64) & beyond;
        let nothing = i64::from(opaque((63 - right) >> 31) | -not_finite);
        let sign = i64::from(bits >> 31);
        ((magnitude & !nothing) ^ sign) - sign
    }
}
