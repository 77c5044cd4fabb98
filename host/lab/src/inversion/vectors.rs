//! Attackers on private vectors of words.

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::vector::{Noise, VectorMechanism};

use super::bound::Bound;
use super::{Options, PublicWords, Tally, decoder, logarithms, place};
use crate::posterior::Posterior;
use crate::vectors::stream;
use undertone::encoder::EncoderIdentity;
use undertone::error::{Error, Result};
use undertone::pack::projection::{PrincipalDirections, Projection};
use undertone::progress::Progress;
use undertone::release::document::epsilon_f64;

/// A public way to release the vectors of a vocabulary.
pub struct Release<'a> {
    /// Its name.
    pub name: String,
    words: &'a PublicWords,
    /// A pack with the projection; `None` without one.
    pack: Option<Vec<u8>>,
    /// `[words][m]`: the vectors that noise is added to.
    images: Vec<f32>,
    m: usize,
    bound_exponent: i32,
}

impl<'a> Release<'a> {
    /// Noise on the vectors themselves.
    pub fn plain(words: &'a PublicWords) -> Self {
        let vectors = &words.vectors;
        Self {
            name: format!("vectors of {} coordinates", vectors.dimension),
            words,
            pack: None,
            images: vectors.vectors.clone(),
            m: vectors.dimension,
            bound_exponent: bound_exponent(&vectors.vectors),
        }
    }

    /// Noise on the first `m` principal coordinates.
    ///
    /// # Errors
    /// Errors of [`PrincipalDirections::fit`] and [`Projection::pack`].
    pub fn principal(words: &'a PublicWords, m: usize) -> Result<Self> {
        let vectors = &words.vectors;
        let directions = PrincipalDirections::fit(&vectors.vectors, vectors.dimension)?;
        let projection: Projection = directions.first(m)?;
        let bound_exponent = bound_exponent(&vectors.vectors);
        let nobody = EncoderIdentity {
            name: String::new(),
            digest: [0; 32],
        };
        Ok(Self {
            name: format!("{m} principal coordinates"),
            words,
            pack: Some(projection.pack(&nobody, bound_exponent)?),
            images: projection.apply(&vectors.vectors),
            m,
            bound_exponent,
        })
    }

    /// Calls `then` with the device's mechanism.
    fn with<T>(&self, epsilon: Epsilon, then: impl FnOnce(&VectorMechanism<'_>) -> T) -> Result<T> {
        let pack = self.pack.as_deref().map(Pack::parse).transpose();
        let projection = pack
            .map_err(Error::from)?
            .and_then(|pack| pack.projection());
        let mechanism = match projection {
            Some(projection) => {
                VectorMechanism::projected(projection, self.bound_exponent, Noise::Laplace, epsilon)
            }
            None => {
                let d = self.words.vectors.dimension as u32;
                VectorMechanism::new(d, self.bound_exponent, Noise::Laplace, epsilon)
            }
        };
        Ok(then(&mechanism.map_err(vector)?))
    }

    /// Releases these words: `[words][m]`.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) for an ε below 0.1.
    pub fn releases(
        &self,
        epsilon: Epsilon,
        words: &[usize],
        what: &str,
        seed: u64,
    ) -> Result<Vec<f32>> {
        let what = format!("{what} {} {epsilon}", self.name);
        self.with(epsilon, |mechanism| {
            let step = 2f32.powi(mechanism.laplace().grid_exponent());
            let one = |(number, word): (usize, &usize)| -> Result<Vec<f32>> {
                let mut steps = vec![0; self.m];
                let rng = &mut stream(seed, &what, number as u64);
                hazmat::draw_vector(mechanism, self.words.vectors.vector(*word), rng, &mut steps)
                    .map_err(vector)?;
                Ok(steps.into_iter().map(|y| y as f32 * step).collect())
            };
            let rows = words.par_iter().enumerate().map(one);
            Ok(rows.collect::<Result<Vec<Vec<f32>>>>()?.concat())
        })?
    }

    /// ε/Δ of the noise.
    fn rate(&self, epsilon: Epsilon) -> Result<f64> {
        let units = self.with(epsilon, |mechanism| {
            mechanism.laplace().sensitivity().units()
        })?;
        Ok(epsilon_f64(epsilon) / (units as f64 * 2f64.powi(-32)))
    }

    /// Runs all attackers on `releases` of `words`; they assume this ε. The decoder is trained at
    /// this ε.
    ///
    /// # Errors
    /// Errors of [`releases`](Self::releases) and of training.
    pub fn attack(
        &self,
        epsilon: Epsilon,
        words: &[usize],
        releases: &[f32],
        options: &Options,
    ) -> Result<Vec<Tally>> {
        let n = self.words.prior.len();
        let log_prior = logarithms(&self.words.prior);
        let uniform = vec![0.0; n];
        let flat = Posterior::new(&self.images, &uniform, self.rate(epsilon)?);
        let chance: Vec<Vec<usize>> = words
            .iter()
            .map(|word| vec![place(&log_prior, *word)])
            .collect();
        let (nearest, _) = self.by_posterior(&flat, words, releases);
        let lessons = draw_words(&self.words.prior, options.lessons, "lessons", options.seed);
        let rows = self.releases(epsilon, &lessons, "lessons", options.seed)?;
        let decoder = decoder(&rows, self.m, lessons, n, 1, options.seed)?;
        let logits = decoder.logits(releases);
        let decoded = logits.chunks_exact(n).zip(words);
        let decoded: Vec<Vec<usize>> = decoded
            .map(|(logits, word)| vec![place(logits, *word)])
            .collect();
        Ok(vec![
            Tally::new("chance", &chance, None),
            Tally::new("nearest word", &nearest, None),
            Tally::new("trained decoder", &decoded, None),
            self.exact(epsilon, words, releases)?,
        ])
    }

    /// Runs the strongest attacker, which has the law of the noise at this ε and the prior.
    fn exact(&self, epsilon: Epsilon, words: &[usize], releases: &[f32]) -> Result<Tally> {
        let log_prior = logarithms(&self.words.prior);
        let posterior = Posterior::new(&self.images, &log_prior, self.rate(epsilon)?);
        let (places, expected) = self.by_posterior(&posterior, words, releases);
        Ok(Tally::new("exact posterior", &places, Some(expected)))
    }

    /// The ranks of the words by their posterior, and the predicted share of right first guesses.
    fn by_posterior(
        &self,
        posterior: &Posterior<'_>,
        words: &[usize],
        releases: &[f32],
    ) -> (Vec<Vec<usize>>, f64) {
        let one = |logs: &mut Vec<f32>, (y, word): (&[f32], &usize)| {
            let most = posterior.weigh(y, logs);
            let total: f32 = logs.iter().map(|log| (log - most).exp()).sum();
            (vec![place(logs, *word)], f64::from(total).recip())
        };
        let rows = releases.par_chunks_exact(self.m).zip(words);
        let (places, sure): (Vec<Vec<usize>>, Vec<f64>) = rows.map_init(Vec::new, one).unzip();
        let expected = sure.iter().sum::<f64>() / sure.len() as f64;
        (places, expected)
    }
}

/// The exponent of a power of two that no coordinate of the vectors exceeds.
fn bound_exponent(vectors: &[f32]) -> i32 {
    let largest = vectors.iter().fold(0f32, |most, x| most.max(x.abs()));
    // The grid has coarse steps, so a finer bound has no use.
    (largest.max(f32::MIN_POSITIVE).log2().ceil() as i32).max(0)
}

fn vector(error: undertone_core::vector::VectorError) -> Error {
    Error::from(error)
}

/// Draws words with their public probabilities.
pub fn draw_words(prior: &[f64], words: usize, what: &str, seed: u64) -> Vec<usize> {
    let mut ends = Vec::with_capacity(prior.len());
    let mut sum = 0.0;
    for p in prior {
        sum += p;
        ends.push(sum);
    }
    let mut rng: PublicRng = stream(seed, what, 0);
    let mut word = || {
        let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        ends.partition_point(|end| *end <= uniform * sum)
            .min(prior.len() - 1)
    };
    (0..words).map(|_| word()).collect()
}

/// Results at one ε.
pub struct Measured {
    /// The name of the release.
    pub release: String,
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// The results of the attackers, the strongest last.
    pub tallies: Vec<Tally>,
    /// Upper bounds on one guess, and on [`SEVERAL`](super::SEVERAL) guesses.
    pub bounds: [f64; 2],
}

/// The bound for the distances between the vectors as they are, which the guarantee is about.
pub fn bound(words: &PublicWords) -> Bound {
    let vectors = &words.vectors;
    Bound::new(words.prior.len(), 0.0, |x, v| {
        let pairs = vectors.vector(x).iter().zip(vectors.vector(v));
        let squares = pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
        squares.sum::<f64>().sqrt()
    })
}

/// Releases and attacks vectors at every ε.
///
/// # Errors
/// Errors of [`Release::attack`].
pub fn measure(words: &PublicWords, options: &Options) -> Result<Vec<Measured>> {
    let directions = options.directions.min(words.vectors.dimension);
    let releases = [
        Release::plain(words),
        Release::principal(words, directions)?,
    ];
    let bound = bound(words);
    let drawn = draw_words(&words.prior, options.words, "private words", options.seed);
    let steps = releases.len() * options.epsilons.len();
    let progress = Progress::new("attacking vectors", steps as u64);
    let bounds: Vec<[f64; 2]> = options
        .epsilons
        .iter()
        .map(|epsilon| {
            [1, super::SEVERAL]
                .map(|guesses| bound.at(epsilon_f64(*epsilon), &words.prior, guesses))
        })
        .collect();
    let mut measured = Vec::new();
    for release in &releases {
        for (epsilon, bounds) in options.epsilons.iter().zip(&bounds) {
            let seen = release.releases(*epsilon, &drawn, "private words", options.seed)?;
            measured.push(Measured {
                release: release.name.clone(),
                epsilon: *epsilon,
                tallies: release.attack(*epsilon, &drawn, &seen, options)?,
                bounds: *bounds,
            });
            progress.advance(1);
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::lexicon::word_vectors::Vectors;

    /// Words on a slightly bent line, a unit apart, the first ones more frequent.
    fn words() -> PublicWords {
        const WORDS: usize = 12;
        let weights = (0..WORDS).map(|word| 1.0 / (word as f64 + 6.0));
        let sum: f64 = weights.clone().sum();
        PublicWords {
            vectors: Vectors {
                name: "a line".to_owned(),
                words: (0..WORDS).map(|word| format!("word{word}")).collect(),
                vectors: (0..WORDS)
                    .flat_map(|word| [word as f32 - 6.0, 0.1 * (word % 2) as f32])
                    .collect(),
                dimension: 2,
            },
            prior: weights.map(|weight| weight / sum).collect(),
        }
    }

    fn options() -> Options {
        Options {
            epsilons: Vec::new(),
            vocabulary: 12,
            words: 8000,
            directions: 1,
            sizes: Vec::new(),
            trials: 1,
            lessons: 20_000,
            seed: 1,
        }
    }

    fn epsilon(text: &str) -> Epsilon {
        text.parse().unwrap()
    }

    /// Private words, and their releases at this ε.
    fn seen(release: &Release<'_>, epsilon: Epsilon) -> (Vec<usize>, Vec<f32>) {
        let private = draw_words(&release.words.prior, options().words, "private", 3);
        let seen = release.releases(epsilon, &private, "private", 3).unwrap();
        (private, seen)
    }

    /// Runs all attackers.
    fn attack(release: &Release<'_>, at: &str) -> Vec<Tally> {
        let (private, seen) = seen(release, epsilon(at));
        release
            .attack(epsilon(at), &private, &seen, &options())
            .unwrap()
    }

    /// Runs the exact attacker, which assumes the ε `promised`, on noise drawn at `drawn`.
    fn exact(release: &Release<'_>, promised: &str, drawn: &str) -> Tally {
        let (private, seen) = seen(release, epsilon(drawn));
        release.exact(epsilon(promised), &private, &seen).unwrap()
    }

    #[test]
    fn attackers_are_at_chance_below_the_bound_and_find_everything() {
        let mut near = words();
        // At the smallest ε of the noise, words a millionth apart are indistinguishable.
        near.vectors.vectors.iter_mut().for_each(|x| *x *= 1e-6);
        let tallies = attack(&Release::plain(&near), "0.1");
        let [chance, attackers @ ..] = &tallies[..] else {
            panic!("an attacker at least");
        };
        assert!((chance.first.mean - near.prior[0]).abs() < chance.doubt());
        assert_eq!(attackers.len(), 3);
        for tally in attackers {
            // The decoder may prefer another word; no attacker is better than the likeliest word.
            assert!(
                tally.first.mean < near.prior[0] + tally.doubt(),
                "{tally:?}"
            );
        }
        assert!((attackers[2].first.mean - near.prior[0]).abs() < attackers[2].doubt());

        let words = words();
        let bound = bound(&words);
        let releases = [
            Release::plain(&words),
            Release::principal(&words, 1).unwrap(),
        ];
        for (release, epsilons) in releases.iter().zip([&["0.3", "3", "40"][..], &["1", "40"]]) {
            let mut last = 0.0;
            for text in epsilons {
                let bound = bound.at(text.parse().unwrap(), &words.prior, 1);
                let tallies = attack(release, text);
                let [.., nearest, decoder, exact] = &tallies[..] else {
                    panic!("three attackers");
                };
                for tally in &tallies {
                    assert!(!tally.above(bound), "{text} {bound}: {tally:?}");
                    // The exact posterior is the best, and its prediction is correct.
                    assert!(
                        tally.first.mean < exact.first.mean + exact.doubt(),
                        "{tally:?}"
                    );
                }
                assert!(exact.as_expected(), "{exact:?}");
                assert!(exact.first.mean > last, "more ε, more found");
                last = exact.first.mean;
                // The decoder is strong, although it has no law.
                assert!(
                    decoder.first.mean > 0.9 * exact.first.mean,
                    "{text}: {decoder:?} {exact:?}"
                );
                assert!(nearest.several.mean >= nearest.first.mean);
            }
            assert!(last > 0.99, "{last}");
        }
    }

    /// Planted defect: half of the noise. The exact attacker exceeds both the bound and its
    /// prediction.
    #[test]
    fn half_of_the_noise_is_found() {
        let words = words();
        let bound = bound(&words);
        for release in [
            Release::plain(&words),
            Release::principal(&words, 1).unwrap(),
        ] {
            let allowed = bound.at(1.0, &words.prior, 1);
            let right = exact(&release, "1", "1");
            assert!(!right.above(allowed) && right.as_expected(), "{right:?}");
            let wrong = exact(&release, "1", "2");
            assert!(!wrong.as_expected(), "{wrong:?}");
            // In two dimensions the results are further from the bound than in one.
            assert!(
                release.m == 2 || wrong.above(allowed),
                "{allowed}: {wrong:?}"
            );
        }
    }

    /// The check against the law detects the defect even where the bound does not.
    #[test]
    fn half_of_the_noise_is_found_in_many_dimensions() {
        let mut words = words();
        let mut rng = PublicRng::new(4);
        words.vectors.dimension = 40;
        let mut coordinate = |_| (rng.next_u32() >> 8) as f32 / (1u32 << 23) as f32 - 1.0;
        words.vectors.vectors = (0..12 * 40).map(&mut coordinate).collect();
        let release = Release::plain(&words);
        assert!(exact(&release, "3", "3").as_expected());
        assert!(!exact(&release, "3", "6").as_expected());
    }
}
