//! Discrete Laplace noise, one coordinate at a time: pure ε, integers only.
//!
//! # The law
//!
//! A coordinate X with F = 40 + (−log₂ h) fractional bits is rounded to one of the two grid points around
//! it, up with probability equal to its fraction (exactly: 40 random bits against the 40 bits below the
//! grid). Then k steps are added, Pr\[k\] = W_{|k|}/T for |k| ≤ N = 2R, and the sum is clamped to the public
//! box −R..=R.
//!
//! The weights: W₀ = 2⁵⁸, W_{i+1} = max(1, ⌈W_i·C / 2⁶⁴⌉) up to a public index, constant from there to N−1,
//! and W_N = ⌈W_{N−1}·C / (2⁶⁴ − C)⌉ in place of the tail that is cut. With a = ε·h/(Δ√m) rounded down to
//! A·2⁻³² (1/16 ≤ a ≤ 1/8 up to that rounding) and C = ⌈2⁹⁶/(2³² + A)⌉ + 4, ρ = 2⁶⁴/C satisfies
//! ρ·(1 + 2⁻⁶²) ≤ 1 + a.
//!
//! # Why it is private
//!
//! All that is used of the weights is W_{i+1} ≤ W_i ≤ ρ·W_{i+1} for i+1 < N, and W_{N−1} ≤ (ρ−1)·W_N.
//!
//! *One step.* Let P_X be the law of the output for a grid point X, and X, X+1 in the box. For y inside the
//! box |y − X| and |y − X − 1| are below N and differ by one: P_X(y) and P_{X+1}(y) are within ρ of each other.
//! For y = R the two are tails T_j and T_{j−1} with T_j = Σ_{k≥j} p_k and j = R − X in 1..=N. T_j ≤ T_{j−1}, and
//! T_{j−1} ≤ ρ·T_j by induction from above: T_{N−1} = p_{N−1} + p_N ≤ ρ·p_N, and p_{j−1} ≤ ρ·p_j adds on both
//! sides. For y = −R likewise. The draw errs by a factor within 1 ± 2⁻⁶⁴ ([`below`] with T ≤ 2⁶⁴), so the laws of
//! the code are within ρ·(1 + 2⁻⁶²) ≤ 1 + a.
//!
//! *Between grid points.* For a fraction f the law is P = (1−f)·P_X + f·P_{X+1}. Its derivative in f is
//! P_{X+1} − P_X, at most a times the smaller of the two, and P is no smaller than that: |d ln P/df| ≤ a. So
//! |ln P_x(y) − ln P_{x'}(y)| ≤ a·|x − x'|/h for all x, x' on the fixed-point line, across any number of steps.
//! Rounding to the nearest point instead would cost up to a on top in every coordinate, m/8 together. What
//! rounding at random costs is that ρ ≤ 1 + a and not e^a: a deviation 3 to 7 % larger.
//!
//! *m coordinates*, independent: Σ a·|x_i − x'_i|/h ≤ (a·√m/h)·‖x − x'‖₂ ≤ (ε/Δ)·‖x − x'‖₂. ∎
//!
//! *By machine.* All of this is proved in Coq, about a model of this file, in `core/proofs` of the repository.

use core::cmp;

use rand_core::Rng;
use zeroize::Zeroize;

use super::grid::{BITS_BELOW_GRID, MAX_GRID_BITS, Sensitivity};
use crate::epsilon::Epsilon;
use crate::integers::{at_least, at_most, lane_clamp, lane_min};
use crate::rng::below;
use crate::select::Ratio;

/// W₀.
const FIRST_WEIGHT: u64 = 1 << 58;

/// Weights that are stored; from there on they are constant. The smallest ratio, 1 + 1/16, needs 680 to
/// come down from 2⁵⁸ to where rounding up keeps a weight as it is.
const STEPS: usize = 704;

/// The box has at least 2 to this steps on either side: 256 deviations of the noise.
const LEAST_BOX_BITS: i32 = 12;

/// The ratio between neighbouring weights: C of the [module](self) documentation.
pub(super) fn ratio(
    dimension: u32,
    epsilon: Epsilon,
    sensitivity: Sensitivity,
    grid_exponent: i32,
) -> Ratio {
    // ⌈2^96/(2^32 + A)⌉ + 4; below 2^64 since A is not 0.
    let divisor = (1u128 << 32) + u128::from(rate(dimension, epsilon, sensitivity, grid_exponent));
    let constant = (1u128 << 96).div_ceil(divisor) + 4;
    Ratio::from_constant(u64::try_from(constant).unwrap_or(u64::MAX))
}

/// A: the largest integer up to 2²⁹ with A·2⁻³² ≤ ε·h/(Δ·√m), or a little less.
///
/// With Δ = D·2⁻³² and ε = E·10⁻⁶: A²·D²·m·5¹² ≤ E²·4^(log₂ h + 58).
fn rate(dimension: u32, epsilon: Epsilon, sensitivity: Sensitivity, grid_exponent: i32) -> u32 {
    let units = u128::from(sensitivity.units());
    let micro = u128::from(epsilon.micro());
    let mut left = units * units * u128::from(dimension) * 5u128.pow(12);
    let mut power = grid_exponent + 58;
    // Down to 64 bits, rounded up, so that A² of 58 bits fits beside it. An excess of 2^-62 of A at most. This takes
    // log₄ L − 32 to log₄ L − 30 steps, and the grid has 4^(log₂ h + 29)·E² ≤ L, but not four times that, for this L:
    // so 28 < power < 45.
    while left >= 1 << 64 {
        left = left.div_ceil(4);
        power -= 1;
    }
    let mut rate = 0;
    let mut bit = 1u128 << 29;
    while bit > 0 {
        let larger = rate | bit;
        let product = larger * larger * left;
        // product ≤ E²·4^power, both sides divided, the left one rounded up.
        if (product + (1 << (2 * power)) - 1) >> (2 * power) <= micro * micro {
            rate = larger;
        }
        bit >>= 1;
    }
    rate as u32
}

/// The weights of one ratio and box, summed up; 5.6 KiB. Public.
struct Weights {
    /// Σ of W₀, 2·W₁, …, 2·W_i.
    sums: [u64; STEPS],
    /// The constant weight after them, twice.
    flat: u64,
    /// How many magnitudes come after them, the last included.
    after: u64,
    total: u128,
}

impl Weights {
    const NONE: Self = Self {
        sums: [0; STEPS],
        flat: 0,
        after: 0,
        total: 0,
    };

    /// Those of N ≥ 2^13 magnitudes beside 0. In place: returned by value they would be on the stack twice.
    fn fill(&mut self, ratio: Ratio, last_magnitude: u32) {
        let mut weight = u128::from(FIRST_WEIGHT);
        let mut sum = 0;
        let mut copies = 1;
        for slot in &mut self.sums {
            // Below 2^63.2 to the end: at most 17 times W_0 on either side.
            sum += copies * weight;
            copies = 2;
            *slot = sum as u64;
            weight = ratio.step(weight);
        }
        let c = u128::from(ratio.constant());
        let last = (weight * c).div_ceil(cmp::max((1u128 << 64) - c, 1));
        self.after = u64::from(last_magnitude).saturating_sub(STEPS as u64 - 1);
        self.flat = (2 * weight) as u64;
        self.total =
            sum + u128::from(self.after.saturating_sub(1)) * u128::from(self.flat) + 2 * last;
    }

    /// The magnitude that a number below the total stands for. The same steps for every number.
    fn magnitude(&self, drawn: u64) -> u64 {
        let passed = self
            .sums
            .iter()
            .map(|sum| u64::from(drawn >= *sum))
            .sum::<u64>();
        let end = self.sums.last().copied().unwrap_or(0);
        let rest = drawn.saturating_sub(end);
        let flat = rest.checked_div(self.flat).unwrap_or(0);
        // After the stored ones, the first is passed at no cost, and the last has a width of its own.
        passed + lane_min(flat, self.after.saturating_sub(1))
    }
}

/// Adds noise to coordinates with F fractional bits, at most 2^`bound_bits` steps of the grid in magnitude.
// A call: the other law does without its weights.
#[inline(never)]
pub(super) fn add_noise<R: Rng + ?Sized, T: From<i32>>(
    ratio: Ratio,
    bound_bits: i32,
    coordinates: impl Iterator<Item = i64>,
    rng: &mut R,
    out: &mut [T],
) {
    let bits = lane_clamp(bound_bits, LEAST_BOX_BITS, MAX_GRID_BITS);
    let side = 1i64 << bits;
    let mut weights = Weights::NONE;
    weights.fill(ratio, 2 << bits);
    for (out, mut x) in out.iter_mut().zip(coordinates) {
        let mut word = rng.next_u64();
        let mut magnitude = weights.magnitude(below(rng, weights.total)) as i64;
        let fraction = x & ((1 << BITS_BELOW_GRID) - 1);
        let up = i64::from((word >> (64 - BITS_BELOW_GRID)) < fraction as u64);
        let sign = -((word & 1) as i64);
        // At most 2^21 + 1 + 2^22.
        let y = (x >> BITS_BELOW_GRID) + up + ((magnitude ^ sign) - sign);
        *out = (at_most(at_least(y, -side), side) as i32).into();
        word.zeroize();
        magnitude.zeroize();
        x.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PublicRng;

    fn parameters() -> impl Iterator<Item = (u32, Epsilon, Sensitivity)> {
        let dimensions = [1, 2, 3, 7, 16, 300, 768, 1024];
        let epsilons = [
            100_000u32,
            123_457,
            1_000_000,
            10_000_000,
            999_999_999,
            1_000_000_000,
        ];
        let units = [1 << 20, (1 << 32) - 1, 1 << 32, 5 << 33, 1 << 44];
        dimensions.into_iter().flat_map(move |dimension| {
            epsilons.into_iter().flat_map(move |micro| {
                let epsilon = Epsilon::from_micro(micro).unwrap();
                units.map(|units| (dimension, epsilon, Sensitivity::from_units(units).unwrap()))
            })
        })
    }

    fn grid(dimension: u32, epsilon: Epsilon, sensitivity: Sensitivity) -> i32 {
        super::super::grid::grid_exponent(dimension, 3, epsilon, sensitivity)
    }

    #[test]
    fn rates_are_rounded_down_and_hardly() {
        for (dimension, epsilon, sensitivity) in parameters() {
            let h = grid(dimension, epsilon, sensitivity);
            let exact = f64::from(epsilon.micro()) / 1e6 * 2f64.powi(h + 32)
                / (sensitivity.units() as f64 / 2f64.powi(32) * f64::from(dimension).sqrt());
            let found = f64::from(rate(dimension, epsilon, sensitivity, h));
            assert!(
                found <= exact * (1.0 + 1e-14),
                "{dimension} {epsilon} {sensitivity}"
            );
            assert!(
                found + 1.01 >= exact,
                "{dimension} {epsilon} {sensitivity}: {found} {exact}"
            );
            assert!(
                (2f64.powi(28) - 1.01..=2f64.powi(29)).contains(&found),
                "{found}"
            );
        }
    }

    /// ⌈a·2¹²⁸/n⌉, the number of 128-bit draws that [`below`] maps under `a`; `None` for 2¹²⁸.
    fn draws_below(a: u128, n: u128) -> Option<u128> {
        if a >= n {
            return None;
        }
        let (mut quotient, mut rest) = (0u128, a);
        for _ in 0..128 {
            rest <<= 1;
            quotient <<= 1;
            if rest >= n {
                rest -= n;
                quotient |= 1;
            }
        }
        Some(quotient + u128::from(rest > 0))
    }

    /// a·b as (high 128 bits, low 64 bits).
    fn wide(a: u128, b: u64) -> (u128, u64) {
        let low = (a as u64 as u128) * u128::from(b);
        ((a >> 64) * u128::from(b) + (low >> 64), low as u64)
    }

    /// The exact law of the code, finite randomness included: counts of 128-bit draws for each magnitude
    /// (both signs together), compared without tolerance. Neighbouring magnitudes and neighbouring tails
    /// are within 1 + A·2⁻³².
    #[test]
    fn one_step_costs_at_most_the_rate() {
        let mut largest = 0.0f64;
        for (dimension, epsilon, sensitivity) in parameters().step_by(11) {
            let h = grid(dimension, epsilon, sensitivity);
            let one_plus_rate = (1u64 << 32) + u64::from(rate(dimension, epsilon, sensitivity, h));
            let mut weights = Weights::NONE;
            weights.fill(
                ratio(dimension, epsilon, sensitivity, h),
                2 << LEAST_BOX_BITS,
            );
            let n = 2u64 << LEAST_BOX_BITS;
            assert!(weights.total <= 1 << 64);
            // Where each magnitude ends.
            let end = |k: u64| match weights.sums.get(k as usize) {
                Some(sum) => u128::from(*sum),
                None if k < n => {
                    let after = k - (STEPS as u64 - 1);
                    u128::from(weights.sums[STEPS - 1]) + u128::from(after * weights.flat)
                }
                None => weights.total,
            };
            let mut before = 0;
            let mut counts = std::vec::Vec::new();
            for k in 0..=n {
                // The code agrees on where it ends.
                assert_eq!(weights.magnitude((end(k) - 1) as u64), k);
                assert!(k == n || weights.magnitude(end(k) as u64) == k + 1);
                let upto = draws_below(end(k), weights.total);
                counts.push(upto.unwrap_or(0).wrapping_sub(before));
                before = upto.unwrap_or(0);
            }
            // Either sign has half of what 0 does not have: twice the count of 0 stands beside them.
            counts[0] *= 2;
            let within = |more: u128, less: u128| wide(more, 1 << 32) <= wide(less, one_plus_rate);
            let mut tail = 0u128;
            for k in (0..n as usize).rev() {
                let after = counts[k + 1];
                let tail_after = tail + after;
                tail = tail_after;
                if k + 1 < n as usize {
                    assert!(
                        within(counts[k], after),
                        "{dimension} {epsilon} {sensitivity} {k}"
                    );
                    // Up to the draws.
                    assert!(after <= counts[k] + 1, "{k}");
                    largest = largest.max(counts[k] as f64 / after as f64);
                }
                // The tail from 0 on, beyond 128 bits, is within by its terms.
                if k > 0 {
                    assert!(
                        within(tail_after + counts[k], tail_after),
                        "{dimension} {epsilon} {sensitivity} {k}"
                    );
                }
            }
        }
        assert!(largest > 1.1249, "nearly 9/8: {largest}");
    }

    /// The flat part starts where rounding up keeps a weight as it is, whatever the ratio.
    #[test]
    fn stored_weights_reach_the_floor() {
        for (dimension, epsilon, sensitivity) in parameters() {
            let h = grid(dimension, epsilon, sensitivity);
            let mut weights = Weights::NONE;
            weights.fill(
                ratio(dimension, epsilon, sensitivity, h),
                2 << MAX_GRID_BITS,
            );
            assert!(weights.flat <= 40, "{}", weights.flat);
            assert!(weights.total <= 1 << 64);
        }
    }

    #[test]
    fn noise_has_the_variance_of_its_law_and_no_bias() {
        let epsilon = Epsilon::from_micro(3_000_000).unwrap();
        for (dimension, fraction) in [(1u32, 0.0), (5, 0.3), (64, 0.999)] {
            let h = grid(dimension, epsilon, Sensitivity::ONE);
            let ratio = ratio(dimension, epsilon, Sensitivity::ONE, h);
            let mut rng = PublicRng::new(7);
            let mut out = std::vec![0; 50_000];
            let x = (fraction * 2f64.powi(40)) as i64 - (3 << 40);
            add_noise(ratio, 5, core::iter::repeat(x), &mut rng, &mut out);
            let n = out.len() as f64;
            let rho = 2f64.powi(64) / ratio.constant() as f64;
            let errors: std::vec::Vec<f64> = out
                .iter()
                .map(|y| f64::from(*y) - (fraction - 3.0))
                .collect();
            let mean = errors.iter().sum::<f64>() / n;
            let variance = errors.iter().map(|e| e * e).sum::<f64>() / n;
            let expected = 2.0 * rho / (rho - 1.0).powi(2) + fraction * (1.0 - fraction);
            // Real-valued noise with the same promise.
            let ideal = 2.0 * f64::from(dimension) / 9.0 / 4f64.powi(h);
            assert!(
                (1.06..1.14).contains(&(expected / ideal)),
                "{dimension}: {expected} {ideal}"
            );
            assert!(
                mean.abs() < 6.0 * (expected / n).sqrt(),
                "{dimension}: {mean}"
            );
            assert!(
                (variance / expected - 1.0).abs() < 0.06,
                "{dimension}: {variance} {expected}"
            );
        }
    }
}
