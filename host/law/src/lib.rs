//! The law of a selection by sentences, computed, not sampled.
//!
//! A separate crate, so that the playground in a browser does not compile the rest of `undertone`.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use gauss_quad::GaussLegendre;
use undertone_core::document::Document;
use undertone_core::hazmat;
use undertone_core::select::{Ratio, Rule};

/// The law of one selection: the probability of each candidate.
///
/// It is computed from the integer weights that the device uses. Permute-and-flip's probabilities
/// p_r·∫₀¹ ∏_{s≠r}(1 − t·p_s) dt are integrals of polynomials of degree m − 1. Up to 64 candidates,
/// Gauss–Legendre quadrature with ⌈m/2⌉ nodes is exact. Beyond, the range is cut where the product
/// has fallen by about e⁻⁴, and 32 nodes for each part err less than rounding does. The error is
/// that of double precision, far below 10⁻⁹ relative, because all terms are positive.
#[derive(Clone, Debug)]
pub struct Law {
    levels: Vec<u8>,
    /// Probability of a candidate by level; 0 for a level without candidates.
    probability: Vec<f64>,
}

/// Candidates of one level: the level, p, and their number.
type Occupied = (usize, f64, f64);

/// Maximum number of nodes of a quadrature.
const NODES: usize = 32;

/// Nodes and weights on 0..1, for 1, 2, ... nodes.
static QUADRATURES: LazyLock<Vec<Vec<(f64, f64)>>> = LazyLock::new(|| {
    (1..=NODES)
        .filter_map(NonZeroUsize::new)
        .map(|nodes| {
            let quadrature = GaussLegendre::new(nodes);
            let pairs = quadrature.as_node_weight_pairs().iter();
            // Maps from -1..1 to 0..1.
            pairs.map(|(x, w)| ((x + 1.0) / 2.0, w / 2.0)).collect()
        })
        .collect()
});

impl Law {
    /// The law for these levels of 1 to 65536 candidates; empty without candidates. `ratio` is the
    /// ratio of the document at some ε.
    pub fn new(levels: Vec<u8>, ratio: Ratio, rule: Rule) -> Self {
        let range = levels.iter().max().zip(levels.iter().min());
        let span = range.map_or(0, |(worst, best)| usize::from(worst - best) + 1);
        let table: Vec<u128> = ratio.weights(rule).take(span).collect();
        Self::from_table(levels, &table, rule)
    }

    /// The law for these levels, with the weights of relative levels 0, 1, ...; levels beyond the
    /// table have the last weight.
    pub fn from_table(levels: Vec<u8>, table: &[u128], rule: Rule) -> Self {
        let ends = levels.iter().min().zip(levels.iter().max());
        let weights = table.first().zip(table.last());
        let (Some((best, worst)), Some((first, last))) = (ends, weights) else {
            return Self {
                levels,
                probability: Vec::new(),
            };
        };
        let mut bins = vec![0u32; usize::from(*worst) + 1];
        for level in &levels {
            bins[usize::from(*level)] += 1;
        }
        let weights = table.iter().copied().chain(std::iter::repeat(*last));
        let occupied: Vec<Occupied> = weights
            .zip(bins.iter().enumerate().skip((*best).into()))
            .filter(|(_, (_, n))| **n > 0)
            .map(|(weight, (level, n))| (level, weight as f64 / *first as f64, f64::from(*n)))
            .collect();
        let mut probability = vec![0.0; bins.len()];
        match rule {
            Rule::Exponential => {
                let total: f64 = occupied.iter().map(|(_, weight, n)| weight * n).sum();
                for (level, weight, _) in &occupied {
                    probability[*level] = weight / total;
                }
            }
            Rule::PermuteAndFlip => flip(&occupied, levels.len(), &mut probability),
        }
        Self {
            levels,
            probability,
        }
    }

    /// ln of the probability of a candidate at each level; -∞ where there is none.
    pub fn logarithms(&self) -> Vec<f64> {
        self.probability.iter().map(|p| p.ln()).collect()
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

/// The probabilities of permute-and-flip among `candidates`.
fn flip(occupied: &[Occupied], candidates: usize, probability: &mut [f64]) {
    let mut logs = vec![0.0; occupied.len()];
    let mut integrate = |start: f64, width: f64, nodes: usize| {
        let mut area = 0.0;
        for (x, weight) in &QUADRATURES[nodes - 1] {
            let (t, weight) = (start + width * x, width * weight);
            // The product over all candidates, in logarithms, as m factors may underflow; t < 1, so
            // no factor is 0.
            let mut all = 0.0;
            for (log, (_, p, n)) in logs.iter_mut().zip(occupied) {
                *log = (-t * p).ln_1p();
                all += n * *log;
            }
            area += weight * all.exp();
            // The product over all others.
            for (log, (level, p, _)) in logs.iter().zip(occupied) {
                probability[*level] += weight * p * (all - log).exp();
            }
        }
        area
    };
    if candidates <= 2 * NODES {
        integrate(0.0, 1.0, candidates.div_ceil(2));
        return;
    }
    let (mut start, mut area) = (0.0, 0.0);
    while start < 1.0 {
        let (mut log, mut slope) = (0.0, 0.0);
        for (_, p, n) in occupied {
            log += n * (-start * p).ln_1p();
            slope += n * p / (1.0 - start * p);
        }
        // An upper bound on the rest of each integral.
        if log.exp() <= 1e-18 * area {
            break;
        }
        let width = (4.0 / slope).min(1.0 - start);
        area += integrate(start, width, NODES);
        start += width;
    }
}

/// The levels of all candidates for the document as it is now. Private data.
pub fn levels<const SENTENCES: usize, const DIRECTIONS: usize>(
    document: &Document<'_, SENTENCES, DIRECTIONS>,
) -> Vec<u8> {
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

    /// Table 1 of Meehan, Mrini and Chaudhuri 2022: the probability that a release names one of the
    /// `deep` candidates that are `lead` levels better than all others.
    #[test]
    fn deep_candidates_are_drawn_as_published() {
        let deep_candidate = |deep: usize, lead: u8, ratio, rule| {
            let mut levels = vec![lead; 5000];
            levels[..deep].fill(0);
            deep as f64 * Law::new(levels, ratio, rule).probability(0)
        };
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
                let p = deep_candidate(deep, lead, ratio(epsilon), rule);
                assert!((p - expected).abs() < 5.1e-5, "{epsilon} {rule:?}: {p}");
                // Equation 4 of the paper.
                let weight = (epsilon.parse::<f64>().unwrap() * f64::from(lead) / 2.0).exp();
                let paper = deep as f64 * weight / (deep as f64 * weight + (5000 - deep) as f64);
                assert!(rule != Rule::Exponential || (p - paper).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn cutting_the_range_changes_nothing() {
        // Compares with a single quadrature that is exact for the degree.
        let shapes: [fn(usize) -> u8; 5] = [
            |i| (i * i % 17) as u8,
            |i| u8::from(i > 0) * 40,
            |i| u8::from(i < 3),
            |i| u8::from(i > 2000) * 9,
            |_| 0,
        ];
        for shape in shapes {
            for text in ["0.000001", "0.01", "1", "10", "1000"] {
                let levels: Vec<u8> = (0..3000).map(shape).collect();
                let table: Vec<u128> = ratio(text).weights(Rule::PermuteAndFlip).take(41).collect();
                let law = Law::from_table(levels.clone(), &table, Rule::PermuteAndFlip);
                let p = |level: u8| table[usize::from(level)] as f64 / 2f64.powi(64);
                let mut expected = vec![0.0; 41];
                let mut bins = [0.0; 41];
                for level in &levels {
                    bins[usize::from(*level)] += 1.0;
                }
                let quadrature = GaussLegendre::new(NonZeroUsize::new(1500).unwrap());
                for (x, w) in quadrature.as_node_weight_pairs() {
                    let t = (x + 1.0) / 2.0;
                    let all: f64 = (0..41)
                        .zip(bins)
                        .map(|(level, n)| n * (-t * p(level)).ln_1p())
                        .sum();
                    for level in 0..41 {
                        let p = p(level);
                        let other = (all - (-t * p).ln_1p()).exp();
                        expected[usize::from(level)] += w / 2.0 * p * other;
                    }
                }
                for (candidate, level) in levels.iter().enumerate() {
                    let expected = expected[usize::from(*level)];
                    let error = (law.probability(candidate) / expected - 1.0).abs();
                    assert!(error < 1e-11, "{text} {level}: {error}");
                }
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
        // One candidate rises while all others fall, the worst mixed step.
        let mut before = vec![1; 3000];
        before[0] = 2;
        let mut after = vec![2; 3000];
        after[0] = 1;
        for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
            let laws =
                [before.clone(), after.clone()].map(|levels| Law::new(levels, ratio("2"), rule));
            let loss = laws[0].loss(&laws[1]);
            // At most the rounding error that the type states.
            assert!(loss <= 2.0 + 1e-9 && loss > 1.9, "{rule:?}: {loss}");
        }
    }
}
