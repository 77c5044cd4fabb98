//! Posteriors of words, given a noisy vector.

/// Weights below e^(−this) of the largest are left out.
const NEGLIGIBLE: f32 = 10.0;

/// Words processed together, so that their sums stay in the fastest cache.
const BLOCK: usize = 2048;

/// The posterior weights of all words of a public vocabulary, given a noisy image.
///
/// With prior p and noise density ∝ exp(−ε‖z‖/Δ), word w has the posterior ∝ p(w)·exp(−ε‖y − Φw‖/Δ)
/// given y. Every input is public except y, which is released: this is post-processing and spends
/// no privacy. If the prior is right, no guess is right more often than the word of the largest
/// weight (Bayes).
pub(crate) struct Posterior<'a> {
    words: usize,
    /// `[m][words]`.
    images: Vec<f32>,
    log_prior: &'a [f32],
    /// ε/Δ.
    rate: f32,
}

impl<'a> Posterior<'a> {
    /// Takes `images`, `[words][m]`.
    pub(crate) fn new(images: &[f32], log_prior: &'a [f32], rate: f64) -> Self {
        let words = log_prior.len();
        let m = images.len() / words;
        let column = |j: usize| images.iter().skip(j).step_by(m).copied();
        Self {
            words,
            images: (0..m).flat_map(column).collect(),
            log_prior,
            rate: rate as f32,
        }
    }

    /// Writes the logarithm of each word's weight for the noisy image `y` into `logs`, and returns
    /// the largest.
    pub(crate) fn weigh(&self, y: &[f32], logs: &mut Vec<f32>) -> f32 {
        logs.clear();
        logs.resize(self.words, 0.0);
        let mut most = f32::NEG_INFINITY;
        for (block, logs) in logs.chunks_mut(BLOCK).enumerate() {
            let start = block * BLOCK;
            for (y, column) in y.iter().zip(self.images.chunks_exact(self.words)) {
                for (square, x) in logs.iter_mut().zip(&column[start..]) {
                    *square += (x - y) * (x - y);
                }
            }
            for (log, prior) in logs.iter_mut().zip(&self.log_prior[start..]) {
                *log = prior - self.rate * log.sqrt();
            }
            most = most.max(largest(logs));
        }
        most
    }
}

/// The mean of public word features under the [`Posterior`] of the word: the estimate of least
/// squared error.
pub(crate) struct PosteriorMean<'a> {
    posterior: Posterior<'a>,
    /// `[words][k]`.
    features: &'a [f32],
    k: usize,
}

impl<'a> PosteriorMean<'a> {
    /// Takes features `[words][k]`.
    pub(crate) fn new(posterior: Posterior<'a>, features: &'a [f32]) -> Self {
        Self {
            k: features.len() / posterior.words,
            posterior,
            features,
        }
    }

    /// The number of features of a word.
    pub(crate) fn outputs(&self) -> usize {
        self.k
    }

    /// Writes the mean for the noisy image `y` into `out`; `logs` is scratch space.
    pub(crate) fn mean(&self, y: &[f32], logs: &mut Vec<f32>, out: &mut [f32]) {
        let most = self.posterior.weigh(y, logs);
        out.fill(0.0);
        let mut total = 0.0;
        for (log, features) in logs.iter().zip(self.features.chunks_exact(self.k)) {
            if log - most > -NEGLIGIBLE {
                let weight = (log - most).exp();
                total += weight;
                for (out, feature) in out.iter_mut().zip(features) {
                    *out += weight * feature;
                }
            }
        }
        out.iter_mut().for_each(|x| *x /= total);
    }
}

/// The largest value, by lanes that a compiler can keep in a vector register.
fn largest(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (blocks, rest) = values.as_chunks::<8>();
    let mut lanes = [f32::NEG_INFINITY; 8];
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane = larger(*lane, *x);
        }
    }
    lanes
        .iter()
        .chain(rest)
        .copied()
        .fold(f32::NEG_INFINITY, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighs_words_by_prior_and_distance() {
        // Three words on a line at 0, 1 and 4.
        let images = [0.0, 1.0, 4.0];
        let prior = [0.5f32.ln(), 0.25f32.ln(), 0.25f32.ln()];
        let features = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let posterior = PosteriorMean::new(Posterior::new(&images, &prior, 2.0), &features);
        let mut out = [0.0; 3];
        posterior.mean(&[0.5], &mut Vec::new(), &mut out);
        let weights = [0.5, 0.25, 0.25 * (-6.0f32).exp()];
        let total: f32 = weights.iter().sum();
        for (out, weight) in out.iter().zip(weights) {
            assert!((out - weight / total).abs() < 1e-6, "{out}");
        }
        // Far from all words, the nearest one and the prior still decide.
        posterior.mean(&[1e6], &mut Vec::new(), &mut out);
        assert!(out.iter().all(|x| x.is_finite()) && out[2] > 0.9, "{out:?}");
    }
}
