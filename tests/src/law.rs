//! The exact output distribution of `select::select`, 64-bit coins and 128-bit draws included.
//!
//! Computed from the definition, for few candidates: all outcomes of the coins are enumerated, and
//! a draw ⌊U·n / 2¹²⁸⌋ has probability (number of U)/2¹²⁸. Only the weights come from the code.

use num_bigint::BigUint;
use undertone_core::select::{Ratio, Rule};

use crate::exponential::{Bounds, PRECISION};

/// Probabilities `numerators[r] / 2^bits`, one for each candidate. Their sum is exactly 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    /// One numerator for each candidate.
    pub numerators: Vec<BigUint>,
    /// log₂ of the denominator.
    pub bits: u32,
}

/// The values U in `0..2^128` with `⌊U·n / 2^128⌋ < value`: ⌈value·2^128 / n⌉.
pub fn draws_below(value: u128, n: u128) -> BigUint {
    assert!(value <= n && n > 0);
    ((BigUint::from(value) << 128u32) + (n - 1)) / n
}

/// The number of values U for which a draw below `n` is in `start..end`.
pub fn draws_in(start: u128, end: u128, n: u128) -> BigUint {
    draws_below(end, n) - draws_below(start, n)
}

/// The law of one selection with the code's own weights; permute-and-flip allows at most 16
/// candidates.
pub fn law(levels: &[u8], rule: Rule, ratio: Ratio) -> Law {
    let worst = usize::from(*levels.iter().max().expect("a level"));
    let weights: Vec<u128> = ratio.weights(rule).take(worst + 1).collect();
    law_of_weights(levels, rule, &weights)
}

/// The law of one selection with these weights for the relative levels 0, 1, ...
pub fn law_of_weights(levels: &[u8], rule: Rule, weights: &[u128]) -> Law {
    let m = levels.len();
    assert!(m >= 1 && (m <= 16 || rule == Rule::Exponential));
    let best = *levels.iter().min().expect("a level");
    let weight_of = |level: u8| weights[usize::from(level - best)];
    let mut distinct = levels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();

    // Per distinct level, the probability that the level is drawn, times 2^(level_bits).
    let (per_level, level_bits) = match rule {
        Rule::Exponential => {
            let share = |level: u8| {
                weight_of(level) * levels.iter().filter(|l| **l == level).count() as u128
            };
            let shares: Vec<u128> = distinct.iter().map(|level| share(*level)).collect();
            (split(&shares), 128)
        }
        Rule::PermuteAndFlip => {
            let weights: Vec<u128> = levels.iter().map(|level| weight_of(*level)).collect();
            let mut sums = vec![BigUint::ZERO; distinct.len()];
            for outcome in 0u32..1 << m {
                let is_head = |r: usize| outcome >> r & 1 == 1;
                // Coins against 64-bit words: exactly `weight` of 2^64 words show heads.
                let mut probability = BigUint::from(1u32);
                for (r, weight) in weights.iter().enumerate() {
                    probability *= if is_head(r) {
                        *weight
                    } else {
                        (1 << 64) - weight
                    };
                }
                if probability == BigUint::ZERO {
                    continue;
                }
                let heads = |level: &u8| {
                    (0..m)
                        .filter(|r| is_head(*r) && levels[*r] == *level)
                        .count() as u128
                };
                let heads: Vec<u128> = distinct.iter().map(heads).collect();
                for (sum, draws) in sums.iter_mut().zip(split(&heads)) {
                    *sum += draws * &probability;
                }
            }
            (sums, 64 * m as u32 + 128)
        }
    };

    // Within a level, the rank is drawn below the number of its candidates.
    let numerators = levels.iter().enumerate().map(|(r, level)| {
        let same = |l: &&u8| *l == level;
        let count = levels.iter().filter(same).count() as u128;
        let rank = levels[..r].iter().filter(same).count() as u128;
        let index = distinct.binary_search(level).expect("present");
        &per_level[index] * draws_in(rank, rank + 1, count)
    });
    Law {
        numerators: numerators.collect(),
        bits: level_bits + 128,
    }
}

/// For each share of a total, the number of values U for which a draw below the total is in it.
fn split(shares: &[u128]) -> Vec<BigUint> {
    let total = shares.iter().sum();
    let mut start = 0;
    shares
        .iter()
        .map(|share| {
            let draws = draws_in(start, start + share, total);
            start += share;
            draws
        })
        .collect()
}

impl Law {
    /// The probabilities, rounded to floats.
    pub fn probabilities(&self) -> Vec<f64> {
        let float = |n: &BigUint| {
            (n >> (self.bits - 64))
                .iter_u64_digits()
                .next()
                .unwrap_or(0)
        };
        self.numerators
            .iter()
            .map(|n| {
                if n.bits() > u64::from(self.bits) {
                    1.0
                } else {
                    float(n) as f64 / 2f64.powi(64)
                }
            })
            .collect()
    }

    /// Returns whether every probability is at most e^x times the other's, both ways, even with the
    /// lower bound on e^x. No tolerance.
    pub fn within_factor(&self, other: &Law, factor: &Bounds) -> bool {
        assert_eq!(self.bits, other.bits);
        self.numerators.iter().zip(&other.numerators).all(|(p, q)| {
            p << PRECISION <= q * &factor.lower && q << PRECISION <= p * &factor.lower
        })
    }

    /// Returns whether the log-ratios to the other law have a range of at most x.
    pub fn within_range(&self, other: &Law, factor: &Bounds) -> bool {
        let pairs: Vec<_> = self.numerators.iter().zip(&other.numerators).collect();
        let by_ratio = |(p, q): &&(&BigUint, &BigUint), (p2, q2): &&(&BigUint, &BigUint)| {
            (*p * *q2).cmp(&(*p2 * *q))
        };
        let largest = pairs.iter().max_by(by_ratio).expect("a candidate");
        let least = pairs.iter().min_by(by_ratio).expect("a candidate");
        (largest.0 * least.1) << PRECISION <= (largest.1 * least.0) * &factor.lower
    }

    /// The largest log-ratio of a probability to the other law's, in absolute value, as a float.
    pub fn loss(&self, other: &Law) -> f64 {
        let ln = |n: &BigUint| {
            let shift = n.bits().saturating_sub(64);
            let top = (n >> shift).iter_u64_digits().next().unwrap_or(0);
            (top as f64).ln() + shift as f64 * std::f64::consts::LN_2
        };
        self.numerators
            .iter()
            .zip(&other.numerators)
            .map(|(p, q)| (ln(p) - ln(q)).abs())
            .fold(0.0, f64::max)
    }
}

/// Returns whether any two of these laws are within `factor` of each other, from the largest and
/// the smallest probability of each outcome.
pub fn all_within(laws: &[Law], factor: &Bounds) -> bool {
    (0..laws[0].numerators.len()).all(|outcome| {
        let of = |law: &Law| law.numerators[outcome].clone();
        let largest = laws.iter().map(of).max().expect("a text");
        let least = laws.iter().map(of).min().expect("a text");
        largest << PRECISION <= least * &factor.lower
    })
}

/// The words of the first and of the last 128-bit draw below `n` that is in `start..end`.
pub fn ends(start: u128, end: u128, n: u128) -> [[u64; 2]; 2] {
    [draws_below(start, n), draws_below(end, n) - 1u32].map(|draw| {
        let draw = u128::try_from(draw).expect("128 bits");
        [(draw >> 64) as u64, draw as u64]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_core::epsilon::Epsilon;

    #[test]
    fn probabilities_sum_to_one() {
        for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
            for micro in [1, 1_000_000, 100_000_000] {
                let ratio = Ratio::new(Epsilon::from_micro(micro).expect("an epsilon"));
                for levels in [&[3][..], &[0, 0, 0], &[5, 1, 2, 1, 9], &[0, 1, 2, 3, 4, 5]] {
                    let law = law(levels, rule, ratio);
                    let sum: BigUint = law.numerators.iter().sum();
                    assert_eq!(sum, BigUint::from(1u32) << law.bits);
                }
            }
        }
    }

    #[test]
    fn two_candidates_by_hand() {
        let ratio = Ratio::new(Epsilon::from_micro(2_000_000).expect("an epsilon"));
        let p = std::f64::consts::E.recip();
        // Permute-and-flip: the worse one shows heads with probability p and then wins half.
        let flip = law(&[4, 5], Rule::PermuteAndFlip, ratio).probabilities();
        assert!((flip[1] - p / 2.0).abs() < 1e-15, "{flip:?}");
        let exponential = law(&[5, 4], Rule::Exponential, ratio).probabilities();
        assert!(
            (exponential[0] - p / (1.0 + p)).abs() < 1e-13,
            "{exponential:?}"
        );
    }

    #[test]
    fn draws_are_counted_exactly() {
        // 2^128 = 3·k + 1: the first of three values has one draw more.
        let third = BigUint::from(u128::MAX / 3);
        assert_eq!(draws_in(0, 1, 3), &third + 1u32);
        assert_eq!(draws_in(1, 2, 3), third);
        assert_eq!(draws_in(0, 1 << 64, 1 << 64), BigUint::from(1u32) << 128);
    }
}
