//! The law of a selection, computed, not sampled.

use std::num::NonZeroUsize;

use gauss_quad::GaussLegendre;
use undertone_core::hazmat;
use undertone_core::select::{Ratio, Rule};

use crate::mechanism::HostDocument;

/// The law of one selection: the probability of each candidate.
///
/// It is computed from the integer weights that the device uses. Permute-and-flip's probabilities
/// p_r·∫₀¹ ∏_{s≠r}(1 − t·p_s) dt are integrals of polynomials of degree m − 1, for which
/// Gauss–Legendre quadrature with ⌈m/2⌉ nodes is exact; what remains is rounding in double
/// precision, far below 10⁻⁹ relative. All terms are positive.
#[derive(Clone, Debug)]
pub struct Law {
    levels: Vec<u8>,
    /// By level; 0 where there is no candidate.
    probability: Vec<f64>,
}

impl Law {
    /// The law for these levels of 1 to 65536 candidates; empty for none. `ratio`: that of the document
    /// at some ε.
    pub fn new(levels: Vec<u8>, ratio: Ratio, rule: Rule) -> Self {
        let Some((best, worst)) = levels
            .iter()
            .copied()
            .min()
            .zip(levels.iter().copied().max())
        else {
            return Self {
                levels,
                probability: Vec::new(),
            };
        };
        let mut bins = vec![0u32; usize::from(worst) + 1];
        for level in &levels {
            bins[usize::from(*level)] += 1;
        }
        let scale = rule.first_weight() as f64;
        let occupied: Vec<(usize, f64, f64)> = ratio
            .weights(rule)
            .zip(bins.iter().enumerate().skip(best.into()))
            .filter(|(_, (_, n))| **n > 0)
            .map(|(weight, (level, n))| (level, weight as f64 / scale, f64::from(*n)))
            .collect();
        let mut probability = vec![0.0; bins.len()];
        match rule {
            Rule::Exponential => {
                let total: f64 = occupied.iter().map(|(_, weight, n)| weight * n).sum();
                for (level, weight, _) in &occupied {
                    probability[*level] = weight / total;
                }
            }
            Rule::PermuteAndFlip => {
                let nodes =
                    NonZeroUsize::new(levels.len().div_ceil(2)).unwrap_or(NonZeroUsize::MIN);
                let quadrature = GaussLegendre::new(nodes);
                let mut logs = vec![0.0; occupied.len()];
                for (node, weight) in quadrature.as_node_weight_pairs() {
                    // From -1..1 to 0..1.
                    let t = (node + 1.0) / 2.0;
                    // ∏ over everybody, in logarithms: m factors may underflow. t < 1, so none is 0.
                    let mut all = 0.0;
                    for (log, (_, p, n)) in logs.iter_mut().zip(&occupied) {
                        *log = (-t * p).ln_1p();
                        all += n * *log;
                    }
                    // Over everybody else.
                    for (log, (level, p, _)) in logs.iter().zip(&occupied) {
                        probability[*level] += weight / 2.0 * p * (all - log).exp();
                    }
                }
            }
        }
        Self {
            levels,
            probability,
        }
    }

    /// The probability of one candidate.
    pub fn probability(&self, candidate: usize) -> f64 {
        self.probability[usize::from(self.levels[candidate])]
    }

    /// The largest |ln ratio| of probabilities of one candidate under the two laws.
    ///
    /// # Panics
    /// If the laws are over different numbers of candidates.
    pub fn loss(&self, other: &Self) -> f64 {
        assert_eq!(
            self.levels.len(),
            other.levels.len(),
            "laws over different candidates"
        );
        (0..self.levels.len())
            .map(|candidate| {
                (self.probability(candidate) / other.probability(candidate))
                    .ln()
                    .abs()
            })
            .fold(0.0, f64::max)
    }
}

/// The probability that a release names one of the `deep` candidates out of `candidates` that are `lead`
/// levels better than all others: table 1 of Meehan, Mrini and Chaudhuri 2022 ("conditions for deep
/// candidates"), where it is at least 0.95 for m = 5000 and (ε, b, j*) = (3, 55, 5), (6, 25, 3),
/// (10, 5, 2), (23, 1, 1).
///
/// # Shapes
/// `candidates` m: `1..=65536`; `deep` b: `0..=m`; `lead` j*, in levels: in sentences for depth, in
/// Q-ths of a sentence for scores. `ratio`: that of the document at some ε.
///
/// # Panics
/// If `deep` exceeds `candidates`.
pub fn deep_candidate(candidates: usize, deep: usize, lead: u8, ratio: Ratio, rule: Rule) -> f64 {
    assert!(deep <= candidates, "{deep} of {candidates} candidates");
    let mut levels = vec![lead; candidates];
    levels[..deep].fill(0);
    let law = Law::new(levels, ratio, rule);
    match deep {
        0 => 0.0,
        _ => deep as f64 * law.probability(0),
    }
}

/// The levels of all candidates for the document as it stands. Private data.
pub fn levels(document: &HostDocument<'_>) -> Vec<u8> {
    let mut levels = Vec::new();
    hazmat::levels(document, |block| levels.extend_from_slice(block));
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(epsilon: &str) -> Ratio {
        Ratio::new(epsilon.parse().unwrap())
    }

    #[test]
    fn deep_candidates_are_drawn_as_published() {
        for (epsilon, deep, lead, exponential, flip) in [
            ("3", 55, 5, 0.9526, 0.9534),
            ("6", 25, 3, 0.9760, 0.9769),
            ("10", 5, 2, 0.9566, 0.9634),
            ("23", 1, 1, 0.9518, 0.9751),
        ] {
            for (rule, expected) in [
                (Rule::Exponential, exponential),
                (Rule::PermuteAndFlip, flip),
            ] {
                let p = deep_candidate(5000, deep, lead, ratio(epsilon), rule);
                assert!((p - expected).abs() < 5.1e-5, "{epsilon} {rule:?}: {p}");
                // The formula of the paper, equation 4.
                let weight = (epsilon.parse::<f64>().unwrap() * f64::from(lead) / 2.0).exp();
                let paper = deep as f64 * weight / (deep as f64 * weight + (5000 - deep) as f64);
                assert!(rule != Rule::Exponential || (p - paper).abs() < 1e-9);
            }
        }
        assert_eq!(deep_candidate(5, 0, 1, ratio("1"), Rule::Exponential), 0.0);
        let all = deep_candidate(5, 5, 1, ratio("1"), Rule::PermuteAndFlip);
        assert!((all - 1.0).abs() < 1e-12);
    }

    #[test]
    fn laws_sum_to_one() {
        let levels: Vec<u8> = (0..5000).map(|i| 3 + (i * i % 17) as u8).collect();
        for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
            for text in ["0.01", "1", "10", "100"] {
                let law = Law::new(levels.clone(), ratio(text), rule);
                let sum: f64 = (0..levels.len()).map(|c| law.probability(c)).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{rule:?} {text}: {sum}");
            }
        }
    }

    #[test]
    fn permute_and_flip_of_two_candidates_is_the_formula() {
        // One candidate at the best level, one below it with coin p: 1 − p/2 and p/2.
        let law = Law::new(vec![4, 5], ratio("1"), Rule::PermuteAndFlip);
        let p = ratio("1").constant() as f64 / 2f64.powi(64);
        assert!((law.probability(0) - (1.0 - p / 2.0)).abs() < 1e-14);
        assert!((law.probability(1) - p / 2.0).abs() < 1e-14);
    }

    #[test]
    fn loss_of_a_mixed_step_stays_below_epsilon_and_comes_close() {
        // One candidate rises while all others fall: the worst mixed step.
        let mut before = vec![1; 3000];
        before[0] = 2;
        let mut after = vec![2; 3000];
        after[0] = 1;
        for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
            let laws =
                [before.clone(), after.clone()].map(|levels| Law::new(levels, ratio("2"), rule));
            let loss = laws[0].loss(&laws[1]);
            // The rounding that the type promises, and no more.
            assert!(loss <= 2.0 + 1e-9 && loss > 1.9, "{rule:?}: {loss}");
        }
    }
}
