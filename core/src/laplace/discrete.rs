//! Discrete Laplace noise, one coordinate at a time: pure ε, integers only.
//!
//! # The law
//!
//! A coordinate X has F = 40 + (−log₂ h) fractional bits. It is rounded to one of the two grid
//! points around it, up with a probability equal to its fraction, exactly: 40 random bits are
//! compared with the 40 bits below the grid. Then k steps are added, Pr\[k\] = W_{|k|}/T for |k| ≤
//! N = 2R, and the sum is clamped to the public box −R..=R.
//!
//! The weights are W₀ = 2⁵⁸ and W_{i+1} = max(1, ⌈W_i·C / 2⁶⁴⌉) up to a public index. They are
//! constant from there to N−1, and W_N = ⌈W_{N−1}·C / (2⁶⁴ − C)⌉ in place of the tail that is cut.
//! Let a = ε·h/(Δ√m), rounded down to A·2⁻³² (1/16 ≤ a ≤ 1/8 up to that rounding), and
//! C = ⌈2⁹⁶/(2³² + A)⌉ + 4. Then ρ = 2⁶⁴/C satisfies ρ·(1 + 2⁻⁶²) ≤ 1 + a.
//!
//! # Why it is private
//!
//! The proof uses only two properties of the weights: W_{i+1} ≤ W_i ≤ ρ·W_{i+1} for i+1 < N, and
//! W_{N−1} ≤ (ρ−1)·W_N.
//!
//! *One step.* Let P_X be the law of the output for a grid point X, and X, X+1 in the box. For y
//! inside the box |y − X| and |y − X − 1| are below N and differ by one: P_X(y) and P_{X+1}(y) are
//! within ρ of each other. For y = R the two probabilities are tails T_j and T_{j−1} with T_j =
//! Σ_{k≥j} p_k and j = R − X in 1..=N. T_j ≤ T_{j−1}, and T_{j−1} ≤ ρ·T_j by induction from above:
//! T_{N−1} = p_{N−1} + p_N ≤ ρ·p_N, and p_{j−1} ≤ ρ·p_j adds on both sides. For y = −R likewise.
//! The draw errs by a factor within 1 ± 2⁻⁶⁴ ([`below`] with T ≤ 2⁶⁴), so the laws of the code are
//! within ρ·(1 + 2⁻⁶²) ≤ 1 + a.
//!
//! *Between grid points.* For a fraction f the law is P = (1−f)·P_X + f·P_{X+1}. Its derivative in
//! f is P_{X+1} − P_X, at most a times the smaller of the two, and P is no smaller than that:
//! |d ln P/df| ≤ a. So |ln P_x(y) − ln P_{x'}(y)| ≤ a·|x − x'|/h for all x, x' on the fixed-point
//! line, across any number of steps. Rounding to the nearest point instead would cost up to another
//! a in every coordinate, together m/8. Rounding at random requires ρ ≤ 1 + a instead of e^a, which
//! makes the deviation 3 to 7 % larger.
//!
//! *m coordinates*, independent: Σ a·|x_i − x'_i|/h ≤ (a·√m/h)·‖x − x'‖₂ ≤ (ε/Δ)·‖x − x'‖₂. ∎
//!
//! *By machine.* All of this is proved in Coq, about a model of this file, in `core/proofs` of the
//! repository.

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

/// The number of stored weights; all later ones are equal. With the smallest ratio, 1 + 1/16, it
/// takes 680 weights to fall from 2⁵⁸ to where rounding up keeps a weight as it is.
const STEPS: usize = 704;

/// log₂ of the least number of steps of the box on either side: 256 deviations of the noise.
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
    // Divide down to 64 bits, rounding up, so that the product with A² of 58 bits fits. That makes
    // A too small by at most 2^-62 of itself. This takes log₄ L − 32 to log₄ L − 30 steps, and the
    // grid has 4^(log₂ h + 29)·E² ≤ L, but not four times that, for this L: so 28 < power < 45.
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

/// Sums of the weights of one ratio and box, which are public; 5.6 KiB.
struct Weights {
    /// Σ of W₀, 2·W₁, …, 2·W_i.
    sums: [u64; STEPS],
    /// Twice the constant weight after them.
    flat: u64,
    /// The number of magnitudes after them, the last included.
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

    /// Fills in the weights of 0 and N ≥ 2¹³ more magnitudes. Returned by value, they would be on
    /// the stack twice.
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

    /// The magnitude that a number below the total stands for, in the same steps for every number.
    fn magnitude(&self, drawn: u64) -> u64 {
        let passed = self
            .sums
            .iter()
            .map(|sum| u64::from(drawn >= *sum))
            .sum::<u64>();
        let end = self.sums.last().copied().unwrap_or(0);
        let rest = drawn.saturating_sub(end);
        let flat = rest.checked_div(self.flat).unwrap_or(0);
        // `sums` passes the first of the magnitudes after the stored ones, and the last has its own
        // width.
        passed + lane_min(flat, self.after.saturating_sub(1))
    }
}

/// Adds noise to coordinates with F fractional bits, at most 2^`bound_bits` steps of the grid in
/// magnitude.
// `inline(never)`: inlined, continuous noise would need the stack for the weights.
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
    use super::super::grid::grid_exponent;
    use super::*;

    /// The rate is rounded down, by little more than one unit. For any rate, the stored weights end
    /// where rounding up keeps a weight as it is, and rounding coordinates at random costs what the
    /// module documentation states: a deviation 3 to 7 % above that of real-valued noise.
    #[test]
    fn rates_and_their_weights() {
        let sensitivities = [1 << 20, (1 << 32) - 1, 1 << 32, 5 << 33, 1 << 44];
        let scales = [
            100_000,
            123_457,
            1_000_000,
            10_000_000,
            999_999_999,
            1_000_000_000,
        ]
        .map(|micro| sensitivities.map(|units| (micro, units)));
        let dimensions = [1u32, 2, 3, 7, 16, 300, 768, 1024];
        let cases = dimensions.map(|dimension| {
            scales
                .as_flattened()
                .iter()
                .map(move |scale| (dimension, *scale))
        });
        for case in cases.into_iter().flatten() {
            let (dimension, (micro, units)) = case;
            let epsilon = Epsilon::from_micro(micro).unwrap();
            let sensitivity = Sensitivity::from_units(units).unwrap();
            let h = grid_exponent(dimension, 3, epsilon, sensitivity);
            let exact = f64::from(micro) / 1e6 * 2f64.powi(h + 32)
                / (units as f64 / 2f64.powi(32) * f64::from(dimension).sqrt());
            let found = f64::from(rate(dimension, epsilon, sensitivity, h));
            let least = 2f64.powi(28) - 1.01;
            assert!(found <= exact * (1.0 + 1e-14), "{case:?}");
            assert!(found + 1.01 >= exact, "{case:?}: {found} {exact}");
            assert!((least..=2f64.powi(29)).contains(&found), "{found}");

            let ratio = ratio(dimension, epsilon, sensitivity, h);
            let mut weights = Weights::NONE;
            weights.fill(ratio, 2 << MAX_GRID_BITS);
            assert!(weights.flat <= 40, "{}", weights.flat);
            assert!(weights.total <= 1 << 64);

            let rho = 2f64.powi(64) / ratio.constant() as f64;
            let variance = 2.0 * rho / (rho - 1.0).powi(2);
            let ideal = 2.0 * (2f64.powi(32) / exact).powi(2);
            assert!((1.06..1.14).contains(&(variance / ideal)), "{case:?}");
        }
    }
}
