//! n-dimensional Laplace noise on a public grid.
//!
//! The density of the noise is proportional to exp(−ε‖z‖/Δ) on ℝ^m: metric differential privacy for
//! the Euclidean distance (Fernandes, Dras and McIver 2019; Feyisetan and Kasiviswanathan 2021).
//! Adding such noise in floating point and releasing the sum protects next to nothing: the low bits
//! reveal which inputs are possible (Mironov 2012; Haney et al. 2022). Here the private vector
//! enters as integers, the noise is drawn without looking at it, rounded to an integer and added,
//! and the release is the sum, rounded to a public grid.
//!
//! # The noise
//!
//! z = (Δ/ε)·‖g'‖·g with independent standard Gaussians g ∈ ℝ^m, g' ∈ ℝ^{m+1}: the ideal density as
//! a scale mixture of Gaussians, variance χ²_{m+1}. No Gamma sampler, no rejection, no division by
//! a small norm. χ²_{m+1} is twice a sum of exponentials, and one squared Gaussian if m+1 is odd;
//! from 16 exponentials on their sum takes one logarithm.
//!
//! # The grid
//!
//! With s = Δ√(m+1)/ε, the deviation of a coordinate, h = 2^⌊log₂(s/64)⌋, computed in exact
//! integers: public, the same on all targets. Rounding to it adds less than 2.1·10⁻⁵ of the noise's
//! variance. A coordinate x enters as X, that is x·2^F with F = 40 − log₂ h rounded towards zero,
//! clamped to ±B·2^F; n is z·2^F rounded; out comes ⌊(X + n + 2³⁹)/2⁴⁰⌋, which counts steps of h.
//!
//! # Guarantee
//!
//! For all x, x' and every set S of releases, Pr\[A(x) ∈ S\] ≤ e^(ε·(‖x−x'‖ + τ)/Δ + κ)·Pr\[A(x') ∈
//! S\] + (1 + e^(ε·(‖x−x'‖ + τ)/Δ + κ))·δ₀, with κ ≤ 2⁻²³, δ₀ ≤ 2⁻⁶⁰ and τ = √m·2^−F for the fixed
//! point of the input, for every dimension m ≤ 1024 and 0.1 ≤ ε ≤ 1000. (Distances are in units of
//! the point that gets the noise; after a projection of sensitivity Δ that is ε times the distance
//! before it.)
//!
//! *Proof.* Write μ = 2⁻⁵³, and couple the computed noise with an ideal one whose uniform variables
//! have the computed ones as leading bits. Let (1) no v of the sampler be below 2⁻⁷²; (2) ‖g'‖ ≤
//! √(m+1) + 10; and where exponentials are summed at once, (3) their bits suffice and (4) ‖g'‖ ≥
//! √(m+1)/8. There are at most 528 such v; ‖g'‖ is a 1-Lipschitz function of Gaussians with mean at
//! most √(m+1); for (3) see the sampler; and (4) fails with at most (t·e^(1−t))^((m+1)/2) at t =
//! 1/64, m+1 ≥ 32 (Chernoff). So all of this holds except with a probability of at most 528·2⁻⁷² +
//! e⁻⁵⁰ + 2⁻⁷⁵ + 2⁻⁷³ < 2⁻⁶⁰ = δ₀. Then:
//!
//! - x, the smaller of v and 1 − v, errs by a factor within 1 ± 2μ from two conversions and a sum,
//!   and by at most 2⁻¹²⁹ from the bits that v does not have. The latter moves √(2E) by less than
//!   2⁻⁶³, since |√a − √b| ≤ √|a − b|, unless x = v ≥ 2⁻⁷², where it is a factor within 1 ± 2⁻⁵⁶.
//! - E = −ln v: a factor within 1 ± 9μ. Upper half: 2μ in w are 8/3·μ in s = w/(2−w), and its two
//!   operations 2μ; the series, its terms positive and its argument at most 1/9, adds 3μ with what
//!   it inherits and leaves out, the product μ. Lower half: 2μ in v are at most 3μ of −ln v ≥ ln 2;
//!   1 − significand is exact, so the artanh, at most half of the whole, errs by 6μ, g·ln 2 by 2μ,
//!   the sum by μ; nothing cancels.
//! - √(2E): half of that and a rounding, 5.5μ. A coordinate of the direction: 2.5μ in the angle, at
//!   most as much in sine or cosine, 4μ for the series (two roundings of about its size, of terms
//!   with alternating signs) and the product, and 2⁻⁶² for the bits that the angle does not have.
//!   So |g| ≤ 10 errs by at most 13μ of it, and 2⁻⁵⁸.
//! - χ², exponential by exponential: 9μ, or 27μ for the squared Gaussian, one term of a sum of
//!   positive terms with at most 16 roundings. ‖g'‖ errs by half of that and a rounding, at most
//!   22.5μ of itself.
//! - χ², n exponentials at once, 32 ≤ m+1 ≤ 2n+1: a factor u ≥ ½ errs by at most 2μ, their product
//!   with n − 1 roundings by 3nμ, so the logarithm by 3nμ absolutely, and by 9μ of itself. χ² errs
//!   by at most 3(m+1)μ and 28μ of itself, and ‖g'‖ by half of that over ‖g'‖, 12μ·√(m+1) by (4),
//!   and 15μ of itself.
//! - Either way by at most 27μ·(√(m+1) + 10). The factor of all coordinates, (Δ/ε)·2^F·‖g'‖, and
//!   its product with g: 4μ.
//! - n is z·2^F rounded: half a unit, 2^−F/2 ≤ 2⁻⁴⁷·s.
//!
//! In all a coordinate of the noise errs by at most η = 2⁻⁴⁴·(1 + 10/√(m+1))·s: 44μ of 10·(√(m+1) +
//! 10)·Δ/ε are 440·2⁻⁵³ < 0.86·2⁻⁴⁴ of (1 + 10/√(m+1))·s, the last an eighth of 2⁻⁴⁴·s.
//!
//! The ideal noise falls into the cube of y shrunk by η on each side only if the computed release
//! is y, and into the cube grown by η if it is. The shift from X to X' costs e^(ε‖X−X'‖2^−F/Δ) with
//! ‖X − X'‖·2^−F ≤ ‖x − x'‖ + √m·2^−F (rounding towards zero and clamping are monotone and
//! 1-Lipschitz, up to a unit). Scaling the shrunk cube onto the grown one costs ((h+2η)/(h−2η))^m
//! in volume and e^(2ε√m·η/Δ) in density. So κ = m·ln((h+2η)/(h−2η)) + 2ε√m·η/Δ; with h > s/128 the
//! first is below 5·m·2⁻³⁷·(1 + 10/√(m+1)) < 2⁻²³, and the second below 2⁻³⁰. ∎
//!
//! The sum is integer addition of a noise that does not depend on x: there is no floating-point
//! attack surface.
//!
//! # Leaks
//!
//! A release takes the same words and the same operations for every vector and every draw: there is
//! no branch and no table. Where floating point is emulated (Cortex-M without double precision), or
//! division and square root have early exits, time still depends on the *noise*, and an observer of
//! the time learns about the vector. Keep the timing of releases hidden on such devices.

mod discrete;
pub(crate) mod fixed;
pub(crate) mod gaussian;
mod grid;

use core::{cmp, iter};

use rand_core::Rng;
use thiserror::Error;
use zeroize::Zeroize;

use crate::checked::part_mut;
use crate::epsilon::Epsilon;
use crate::kernels::Backend;
use crate::select::Ratio;
use gaussian::{BATCH, Sampler};
use grid::{BITS_BELOW_GRID, MAX_GRID_BITS, grid_exponent};

pub(crate) use fixed::FixedPoint;
pub use grid::Sensitivity;

/// The most coordinates of a vector that gets noise.
pub const MAX_DIMENSION: usize = 1024;

/// The smallest ε, in micro-units.
const MIN_EPSILON: Epsilon = match Epsilon::from_micro(100_000) {
    Ok(epsilon) => epsilon,
    Err(_) => unreachable!(),
};

/// The law of the noise. The numbers are those of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Noise {
    /// Density proportional to exp(−ε‖z‖/Δ): the least noise, with κ and δ₀ of the [module](self).
    Laplace = 3,
    /// Independent discrete Laplace noise on each coordinate, with ε/√m: no δ, exact, integers
    /// only; its deviation is about √2 times larger.
    DiscreteLaplace = 4,
}

impl Noise {
    /// The noise with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            3 => Some(Self::Laplace),
            4 => Some(Self::DiscreteLaplace),
            _ => None,
        }
    }
}

/// The public parameters of Laplace noise for vectors; see the [module](self) for what it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laplace {
    dimension: u32,
    epsilon: Epsilon,
    sensitivity: Sensitivity,
    grid_exponent: i32,
    law: Law,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Continuous,
    /// With the ratio between the weights of neighbouring grid points.
    Discrete(Ratio),
}

impl Laplace {
    /// n-dimensional Laplace noise for vectors of `dimension` coordinates: ε per unit of distance
    /// before a map of this sensitivity.
    ///
    /// # Errors
    /// [`LaplaceError::Dimension`] outside 1..=1024, [`LaplaceError::Epsilon`] outside 0.1..=1000.
    pub fn new(
        dimension: u32,
        epsilon: Epsilon,
        sensitivity: Sensitivity,
    ) -> Result<Self, LaplaceError> {
        Self::with_noise(Noise::Laplace, dimension, epsilon, sensitivity)
    }

    /// Noise of this law; otherwise as [`new`](Laplace::new).
    ///
    /// # Errors
    /// As [`new`](Laplace::new).
    pub fn with_noise(
        noise: Noise,
        dimension: u32,
        epsilon: Epsilon,
        sensitivity: Sensitivity,
    ) -> Result<Self, LaplaceError> {
        if dimension == 0 || dimension as usize > MAX_DIMENSION {
            return Err(LaplaceError::Dimension { found: dimension });
        }
        if epsilon < MIN_EPSILON {
            return Err(LaplaceError::Epsilon { found: epsilon });
        }
        let (grid_exponent, law) = match noise {
            Noise::Laplace => (
                grid_exponent(dimension + 1, 6, epsilon, sensitivity),
                Law::Continuous,
            ),
            Noise::DiscreteLaplace => {
                let grid_exponent = grid_exponent(dimension, 3, epsilon, sensitivity);
                let ratio = discrete::ratio(dimension, epsilon, sensitivity, grid_exponent);
                (grid_exponent, Law::Discrete(ratio))
            }
        };
        Ok(Self {
            dimension,
            epsilon,
            sensitivity,
            grid_exponent,
            law,
        })
    }

    /// The law of the noise.
    pub fn noise(&self) -> Noise {
        match self.law {
            Law::Continuous => Noise::Laplace,
            Law::Discrete(_) => Noise::DiscreteLaplace,
        }
    }

    /// m, `1..=1024`.
    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// ε, per unit of distance before a map of this sensitivity.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// Δ.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// log₂ h: a step of the grid is 2 to this, `-28..=17`.
    pub fn grid_exponent(&self) -> i32 {
        self.grid_exponent
    }

    /// F = 40 − log₂ h: the fractional bits that a coordinate enters with, `23..=68`.
    pub fn fraction_bits(&self) -> u32 {
        (BITS_BELOW_GRID as i32 - self.grid_exponent).unsigned_abs()
    }

    /// How coordinates enter.
    pub(crate) fn fixed_point(&self, bound_exponent: i32) -> Result<FixedPoint, LaplaceError> {
        FixedPoint::new(self.grid_exponent, bound_exponent)
    }

    /// The largest exponent of a bound on coordinates: 2²¹ steps of the grid.
    pub fn largest_bound_exponent(&self) -> i32 {
        self.grid_exponent + MAX_GRID_BITS
    }

    pub(crate) fn check_length(&self, found: usize) -> Result<(), LaplaceError> {
        let expected = self.dimension as usize;
        if found == expected {
            Ok(())
        } else {
            Err(LaplaceError::Length { expected, found })
        }
    }

    /// Adds noise to coordinates with F fractional bits, at most 2⁶¹ and 2^`bound_exponent` in
    /// magnitude; one for each `out`.
    pub(crate) fn add_noise<R: Rng + ?Sized, T: From<i32>>(
        &self,
        coordinates: impl Coordinates,
        bound_exponent: i32,
        rng: &mut R,
        out: &mut [T],
    ) {
        match self.law {
            Law::Continuous => self.add_continuous(coordinates, rng, out),
            Law::Discrete(ratio) => {
                let bits = bound_exponent.saturating_sub(self.grid_exponent);
                discrete::add_noise(ratio, bits, coordinates, rng, out);
            }
        }
    }

    // `inline(never)`: inlined, discrete noise would need the stack for its buffers.
    #[inline(never)]
    #[expect(
        clippy::float_arithmetic,
        reason = "noise is drawn independently of private data; its error is bounded"
    )]
    fn add_continuous<R: Rng + ?Sized, T: From<i32>>(
        &self,
        mut coordinates: impl Coordinates,
        rng: &mut R,
        out: &mut [T],
    ) {
        let backend = Backend::best();
        let mut sampler =
            Sampler::new(|words: &[u64], radii: &mut [f64], gaussians: &mut [f64]| {
                backend.box_muller(words, radii, gaussians);
            });
        // (Δ/ε)·2^F, exact except for two roundings, because Δ is at most 2^44 units.
        let power = f64::from_bits(u64::from(self.fraction_bits() + 1023 - 32) << 52);
        let scale = self.sensitivity.units() as f64 * 1e6 / f64::from(self.epsilon.micro()) * power;
        let mut factor = scale * libm::sqrt(sampler.chi_squared(self.dimension + 1, rng));
        let mut noise = [0; BATCH];
        for out in out.chunks_mut(BATCH) {
            let gaussians = sampler.pairs(out.len().div_ceil(2), rng);
            backend.round_products(factor, gaussians, &mut noise);
            let noise = part_mut(&mut noise, ..out.len());
            coordinates.add_to(noise);
            for (out, sum) in out.iter_mut().zip(noise) {
                *out = round_to_grid(*sum).into();
            }
        }
        noise.zeroize();
        factor.zeroize();
    }
}

/// ⌊(x + 2³⁹)/2⁴⁰⌋.
///
/// Nothing wraps: a coordinate is at most 2⁶¹ and its noise below 2⁵⁵ whatever is drawn, as s·2^F <
/// 2⁴⁷, ‖g'‖ < 11·√(m+1) and |g| < 13.4.
fn round_to_grid(x: i64) -> i32 {
    // 24 bits are left.
    (x.wrapping_add(1 << (BITS_BELOW_GRID - 1)) >> BITS_BELOW_GRID) as i32
}

/// Coordinates with F fractional bits, in their order.
pub(crate) trait Coordinates: Iterator<Item = i64> + Sized {
    /// Adds the next coordinates to `sums`, one to each.
    fn add_to(&mut self, sums: &mut [i64]) {
        for (sum, x) in sums.iter_mut().zip(self) {
            *sum = sum.wrapping_add(x);
        }
    }
}

impl<I: Iterator, F: FnMut(I::Item) -> i64> Coordinates for iter::Map<I, F> {}

impl<F: FnMut() -> Option<i64>> Coordinates for iter::FromFn<F> {}

/// The coordinates of a vector of floats.
pub(crate) struct Floats<'v> {
    pub(crate) left: &'v [f32],
    pub(crate) fixed: FixedPoint,
}

impl Iterator for Floats<'_> {
    type Item = i64;

    #[inline(always)]
    fn next(&mut self) -> Option<i64> {
        let (first, left) = self.left.split_first()?;
        self.left = left;
        Some(self.fixed.convert(*first))
    }
}

impl Coordinates for Floats<'_> {
    fn add_to(&mut self, sums: &mut [i64]) {
        let here = cmp::min(self.left.len(), sums.len());
        let (next, left) = self.left.split_at_checked(here).unwrap_or_default();
        self.left = left;
        Backend::best().add_fixed(self.fixed, next, sums);
    }
}

impl FixedPoint {
    /// For a grid of steps 2^`grid_exponent` and coordinates within B = 2^`bound_exponent`; refused
    /// unless 2⁻⁴⁰ ≤ B/h ≤ 2²¹.
    fn new(grid_exponent: i32, bound_exponent: i32) -> Result<Self, LaplaceError> {
        let least = grid_exponent - BITS_BELOW_GRID as i32;
        let most = grid_exponent + MAX_GRID_BITS;
        if !(least..=most).contains(&bound_exponent) {
            return Err(LaplaceError::Bound {
                found: bound_exponent,
                least,
                most,
            });
        }
        Ok(Self {
            fraction_bits: -least,
            // In 0..=61.
            limit: 1 << cmp::min((bound_exponent - least).unsigned_abs(), 61),
            largest_exponent: bound_exponent + 126,
        })
    }
}

/// Why parameters were refused. It depends on public facts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaplaceError {
    /// A dimension outside 1..=1024.
    #[error("{found} coordinates; noise is drawn for 1 to {MAX_DIMENSION}")]
    Dimension {
        /// The dimension.
        found: u32,
    },
    /// ε below 0.1.
    #[error("epsilon {found} for a vector; it must lie in {MIN_EPSILON}..=1000")]
    Epsilon {
        /// The ε.
        found: Epsilon,
    },
    /// A box too large or too small for the grid.
    #[error(
        "bound 2^{found} on the coordinates; for this noise it must lie in 2^{least}..=2^{most}"
    )]
    Bound {
        /// log₂ of the bound.
        found: i32,
        /// The least value allowed.
        least: i32,
        /// The largest value allowed.
        most: i32,
    },
    /// A vector of the wrong length.
    #[error("a vector of {found} coordinates, but {expected} are needed")]
    Length {
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::fixed::round;
    use super::*;
    use crate::rng::PublicRng;

    #[test]
    fn coordinates_become_integers_exactly() {
        let mut rng = PublicRng::new(4);
        for fraction_bits in [26u32, 40, 53, 68] {
            let grid = 40 - fraction_bits as i32;
            for bound in [grid - 40, grid - 7, grid, grid + 21] {
                let fixed = FixedPoint::new(grid, bound).unwrap();
                let limit = 2f64.powi(bound + fraction_bits as i32);
                let check = |x: f32| {
                    let finite = if x.is_finite() { f64::from(x) } else { 0.0 };
                    let scaled = finite * 2f64.powi(fraction_bits as i32);
                    let expected = scaled.clamp(-limit, limit).trunc();
                    // At most 24 bits of the float, or a power of two: exact.
                    assert_eq!(
                        fixed.convert(x) as f64,
                        expected,
                        "{x:e} {fraction_bits} {bound}"
                    );
                };
                for bits in [
                    0,
                    1,
                    0x7f_ffff,
                    0x80_0000,
                    0x7f7f_ffff,
                    0x7f80_0000,
                    0x7fc0_0000,
                    u32::MAX,
                ] {
                    check(f32::from_bits(bits));
                    check(f32::from_bits(bits | 1 << 31));
                }
                for _ in 0..20_000 {
                    check(f32::from_bits(rng.next_u32()));
                    check((f64::from(rng.next_u32()) / 1e9 * 2f64.powi(bound)) as f32);
                }
            }
        }
    }

    #[test]
    fn sums_are_rounded_to_the_grid() {
        assert_eq!(round_to_grid((1 << 39) - 1), 0);
        assert_eq!(round_to_grid(1 << 39), 1);
        assert_eq!(round_to_grid(-(1 << 39)), 0);
        assert_eq!(round_to_grid(-(1 << 39) - 1), -1);
        let mut rng = PublicRng::new(3);
        for _ in 0..100_000 {
            let x = rng.next_u64() as i64 as f64 / 2f64.powi((rng.next_u32() % 80 + 8) as i32);
            assert_eq!(round(x), x.round_ties_even() as i64, "{x}");
        }
        for x in [
            0.0,
            -0.0,
            2.5,
            -2.5,
            524_288.5,
            -1_572_864.0,
            1e-300,
            (1u64 << 62) as f64,
        ] {
            assert_eq!(round(x), x.round_ties_even() as i64, "{x}");
        }
    }
}
