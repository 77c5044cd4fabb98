//! An upper bound on how often any attacker guesses a word correctly from a release with a metric
//! guarantee.

/// Rounds in which the weights of a [`Bound`] are improved. Any weights give a bound; more rounds
/// give a lower one.
const ROUNDS: usize = 200;

/// The part of the guarantee of noise in `core` beyond ε·distance: κ ≤ 2⁻²³, and ε·τ is smaller.
pub const SLACK: f64 = 2.0 / (1u64 << 23) as f64;

/// The δ of a pair of words x, v is at most `DELTA`·(1 + e^(l(x, v))).
const DELTA: f64 = 1.0 / (1u64 << 60) as f64;

/// An upper bound on the share of words that any attacker finds, from the guarantee alone.
///
/// The words x have the public probabilities p(x). A release of x guarantees that no event is more
/// than e^(l(x, v)) times likelier than for the word v, with l(x, v) = ε·(distance + q) + κ and
/// l(x, x) = 0. An attacker sees the release and guesses k words; it is right if x is among them.
/// It may use the mechanism and p, unlimited computation and randomness.
///
/// *Theorem.* For all weights λ(v) ≥ 0 of the words, an attacker is right with a probability of at
/// most k·Σᵥ λ(v) + Σₓ max(0, p(x) − Σᵥ λ(v)·e^(−l(x, v))).
///
/// *Proof.* Let a(x) be the probability that x is among the guesses if x was released, and b(x, v)
/// the probability that x is among them if v was. The guarantee is a(x)·e^(−l(x, v)) ≤ b(x, v). For
/// each v at most k words are guessed: Σₓ b(x, v) ≤ k. So Σₓ a(x)·e^(−l(x, v)) ≤ k for each v, and
/// Σₓ p(x)·a(x) = Σₓ a(x)·(p(x) − Σᵥ λ(v)·e^(−l(x, v))) + Σᵥ λ(v)·Σₓ a(x)·e^(−l(x, v)). In the
/// first sum a(x) lies between 0 and 1; in the second the sums over x are at most k. ∎
///
/// This is weak duality of a linear programme: the best λ give the largest value that the
/// inequalities of the proof allow. At ε = 0 the value is chance, the k likeliest words; without
/// privacy it is 1. With δ, k grows by 2δ for each word, far below rounding. For two words at
/// distance D it is e^(ε·D)/(1 + e^(ε·D)).
///
/// The bounded quantity is the Bayes vulnerability of Alvim, Andrés, Chatzikokolakis, Degano and
/// Palamidessi (2015), who bound it for differential privacy on graphs.
pub struct Bound {
    /// `[words][words]`: distance + q; 0 on the diagonal.
    distances: Vec<f64>,
    words: usize,
}

impl Bound {
    /// Creates the bound for words at these distances; `step` is q.
    pub fn new(words: usize, step: f64, distance: impl Fn(usize, usize) -> f64) -> Self {
        let pairs = (0..words).flat_map(|x| (0..words).map(move |v| (x, v)));
        let of_pair = |(x, v)| if x == v { 0.0 } else { distance(x, v) + step };
        Self {
            distances: pairs.map(of_pair).collect(),
            words,
        }
    }

    /// The bound for `guesses` guesses, words with these probabilities, and an ε per unit of
    /// distance.
    ///
    /// # Panics
    /// If there is not one probability for each word.
    ///
    /// # Cost
    /// About 400 products of a vector with a matrix, over the words with a positive probability.
    pub fn at(&self, epsilon: f64, prior: &[f64], guesses: usize) -> f64 {
        assert_eq!(prior.len(), self.words, "one probability for each word");
        let possible: Vec<usize> = (0..self.words).filter(|x| prior[*x] > 0.0).collect();
        let p: Vec<f64> = possible.iter().map(|x| prior[*x]).collect();
        let n = p.len();
        let mut factors = Vec::with_capacity(n * n);
        for x in &possible {
            let row = &self.distances[x * self.words..][..self.words];
            factors.extend(possible.iter().map(|v| {
                if x == v {
                    1.0
                } else {
                    (-epsilon * row[*v] - SLACK).exp()
                }
            }));
        }
        let k = guesses as f64 + 2.0 * DELTA * n as f64;
        let mut weights = p.clone();
        let mut allowed = vec![1.0; n];
        let mut best = 1.0f64;
        for round in 0..ROUNDS {
            let round = round as f64;
            let mut covered = product(&factors, &weights);
            covered
                .iter_mut()
                .for_each(|x| *x = x.max(f64::MIN_POSITIVE));
            let (bound, scale, full) = scaled(&p, &covered, k * weights.iter().sum::<f64>());
            best = best.min(bound);
            // Raise the weights of words for which more than k words are guessed, averaged over
            // rounds.
            for ((allowed, p), covered) in allowed.iter_mut().zip(&p).zip(&covered) {
                let now = if p / covered > scale {
                    1.0
                } else if p / covered == scale {
                    full
                } else {
                    0.0
                };
                *allowed += (now - *allowed) / (1.0 + round / 10.0);
            }
            // If the bound is 1, any scale is correct.
            let scale = if scale > 0.0 { scale } else { 1.0 };
            let guessed = product(&factors, &allowed);
            for (weight, guessed) in weights.iter_mut().zip(&guessed) {
                *weight *= scale * (guessed / k).powf(1.0 / (1.0 + round / 20.0));
            }
        }
        best
    }
}

fn product(rows: &[f64], vector: &[f64]) -> Vec<f64> {
    let row = |row: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
    rows.chunks_exact(vector.len()).map(row).collect()
}

/// The minimum of s·cost + Σ max(0, p − s·covered) over s ≥ 0, the minimising s, and the share of
/// the word at its turning point that balances the slope.
fn scaled(p: &[f64], covered: &[f64], cost: f64) -> (f64, f64, f64) {
    let mut turns: Vec<usize> = (0..p.len()).collect();
    let turn = |x: &usize| p[*x] / covered[*x];
    turns.sort_unstable_by(|a, b| turn(b).total_cmp(&turn(a)));
    // From large s to small: words past their turning point add p − s·covered.
    let (mut sum, mut slope) = (0.0, 0.0);
    let mut found = (p.iter().sum(), 0.0, 0.0);
    for x in turns {
        if slope + covered[x] >= cost {
            let scale = turn(&x);
            found = (
                sum + scale * (cost - slope),
                scale,
                (cost - slope) / covered[x],
            );
            break;
        }
        sum += p[x];
        slope += covered[x];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words on a line, a unit apart.
    fn line(words: usize) -> Bound {
        Bound::new(words, 0.0, |x, v| x.abs_diff(v) as f64)
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 2e-3, "{found} {expected}");
    }

    #[test]
    fn from_chance_to_certainty() {
        let prior = [0.4, 0.3, 0.2, 0.1, 0.0];
        let bound = line(5);
        for (guesses, chance) in [(1, 0.4), (2, 0.7), (3, 0.9)] {
            near(bound.at(1e-6, &prior, guesses), chance);
            near(bound.at(60.0, &prior, guesses), 1.0);
            let epsilons = (1..60).map(|step| bound.at(f64::from(step) / 10.0, &prior, guesses));
            let bounds: Vec<f64> = epsilons.collect();
            assert!(bounds.is_sorted_by(|a, b| *a <= b + 5e-3), "{bounds:?}");
        }
    }

    #[test]
    fn known_bounds() {
        for epsilon in [0.1f64, 1.0, 3.0] {
            // Two words.
            near(
                line(2).at(epsilon, &[0.5; 2], 1),
                epsilon.exp() / (1.0 + epsilon.exp()),
            );
            // Words on a line: the row sums of the inverse matrix are known.
            let all = 48.0 * (epsilon / 2.0).tanh() + 2.0 / (1.0 + (-epsilon).exp());
            near(line(50).at(epsilon, &[0.02; 50], 1), all / 50.0);
        }
    }

    /// Any mechanism with the guarantee stays below the bound; randomised response attains it for
    /// equal distances.
    #[test]
    fn attained_by_randomised_response() {
        for words in [2usize, 5, 30] {
            for epsilon in [0.3f64, 1.0, 4.0] {
                let all_equal = Bound::new(words, 0.0, |_, _| 1.0);
                let prior = vec![1.0 / words as f64; words];
                let right = epsilon.exp() / (epsilon.exp() + words as f64 - 1.0);
                let bound = all_equal.at(epsilon, &prior, 1);
                assert!(bound >= right - 1e-9, "{words} {epsilon}: {bound} {right}");
                near(bound, right);
            }
        }
    }
}
