//! Private word vectors: the experiments of Feyisetan and Kasiviswanathan (2021), with their
//! mechanism, its baseline in the paper, and ours, at the same ε.
//!
//! All mechanisms release Φx + κ, where the noise engine of the core crate draws κ. They differ in
//! Φ and in the sensitivity Δ that scales the noise:
//!
//! - **M1** (Feyisetan et al. 2020): no projection, Δ = 1.
//! - **M2** (PRIVEMB): m × d Gaussians of variance 1/m, Δ = 1 + β *claimed*; m follows from β.
//! - ours: principal directions of the public vocabulary, or random ones, with a Δ that is
//!   *certified* for the very integers of Φ: for every vector, or for all pairs of words of the
//!   vocabulary.
//!
//! Two readings of releases are post-processing and cost no privacy: the posterior mean of the
//! released word under public word frequencies, and a public linear map from noisy distances to
//! distances.

mod logistic;
mod report;
mod tasks;
mod words;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, Sensitivity};
use undertone_core::rng::{PublicRng, below, rand_core::Rng};
use undertone_core::vector::VectorError;

use crate::bounds::{gaussian_width, projected_dimension};
use crate::documents::Role;
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::pack::projection::{self, Certificate, Projection};
use undertone::release::document::epsilon_f64;

pub use report::Report;
pub use tasks::{Protocol, TaskName, TaskScore};
pub use words::{PairScore, Snr, WordScore};

/// δ of the claim that Δ ≤ 1 + β, as published.
const DELTA: f64 = 1e-6;

/// The numbers of principal directions to choose from.
const DIMENSIONS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Number of public features of a word: its first principal coordinates.
const FEATURES: usize = 50;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters per unit of distance, ascending.
    pub epsilons: Vec<Epsilon>,
    /// The distortions β of M2, ascending, each in (0, 1).
    pub betas: Vec<f64>,
    /// The privacy parameter of the sentence tasks, which use M2 with the largest β.
    pub task_epsilon: Epsilon,
    /// The sentence tasks.
    pub tasks: Vec<TaskName>,
    /// Releases of words, with a classifier trained on each.
    pub trials: usize,
    /// Folds of a sentence task, or releases of one with a test set.
    pub runs: usize,
    /// Words on either side of the pairs whose distances are compared.
    pub words: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

impl Default for Options {
    /// The settings of the paper: ε = 1, 2, 5, and 10 for sentences, 100 × 100 pairs, β from 0.5 to
    /// 0.7, and 0.9 for sentences; but 5 trials instead of 10, and 3 folds.
    fn default() -> Self {
        let epsilon = |whole: u32| {
            Epsilon::from_micro(whole * 1_000_000).expect("the constants are in range")
        };
        Self {
            epsilons: [1, 2, 5, 10].map(epsilon).to_vec(),
            betas: vec![0.5, 0.6, 0.7, 0.9],
            task_epsilon: epsilon(10),
            tasks: TaskName::ALL.to_vec(),
            trials: 5,
            runs: 3,
            words: 100,
            seed: 1,
        }
    }
}

impl Options {
    /// Checks the options.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) for an ε below 0.1;
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) for other values that no
    /// experiment supports.
    pub fn check(&self) -> Result<()> {
        for epsilon in self.epsilons.iter().chain([&self.task_epsilon]) {
            Laplace::new(1, *epsilon, Sensitivity::ONE).map_err(noise)?;
        }
        let limit = |what, found: f64, fits, allowed| {
            let wrong = Error::setting(what, found, allowed);
            if fits { Ok(()) } else { Err(wrong) }
        };
        for beta in &self.betas {
            let fits = (0.1..1.0).contains(beta);
            limit("the distortion beta", *beta, fits, "0.1 to below 1")?;
        }
        let betas = self.betas.len() as f64;
        limit("number of betas", betas, betas > 0.0, "at least 1")?;
        let (trials, runs) = (self.trials as f64, self.runs as f64);
        limit("number of trials", trials, trials > 0.0, "at least 1")?;
        limit("number of runs", runs, runs > 1.0, "at least 2")?;
        let words = self.words as f64;
        limit("number of words", words, words > 1.0, "at least 2")
    }
}

fn noise(error: undertone_core::laplace::LaplaceError) -> Error {
    Error::from(VectorError::Laplace(error))
}

/// The vectors for which Δ holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All vectors: the core crate computes Δ from the integers of Φ.
    Every,
    /// The words of the vocabulary: Δ is computed from all pairs.
    Vocabulary,
    /// Claimed with probability 1 − δ over drawing Φ, as published.
    Claimed,
}

/// A mechanism that releases word vectors.
pub struct Mechanism {
    /// Its name.
    pub name: String,
    /// The vectors for which Δ holds.
    pub scope: Scope,
    /// The Δ that scales the noise.
    pub sensitivity: Sensitivity,
    /// Coordinates of a release.
    pub m: usize,
    /// The index of the projection; `None` for the identity.
    pub projection: Option<usize>,
    /// `[words][m]`: Φx.
    images: std::sync::Arc<Vec<f32>>,
    /// The exponent of a power of two that no coordinate exceeds.
    bound_exponent: i32,
}

impl Mechanism {
    fn laplace(&self, epsilon: Epsilon) -> Result<Laplace> {
        Laplace::new(self.m as u32, epsilon, self.sensitivity).map_err(noise)
    }

    fn image(&self, word: usize) -> &[f32] {
        &self.images[word * self.m..(word + 1) * self.m]
    }

    /// ε/Δ.
    fn rate(&self, epsilon: Epsilon) -> f64 {
        epsilon_f64(epsilon) / value(self.sensitivity)
    }

    /// Draws a release of the image `point` into `out`.
    fn draw<R: Rng>(
        &self,
        laplace: &Laplace,
        point: &[f32],
        rng: &mut R,
        out: &mut [f32],
    ) -> Result<()> {
        let mut steps = vec![0; self.m];
        hazmat::perturb(laplace, point, self.bound_exponent, rng, &mut steps).map_err(noise)?;
        let step = 2f32.powi(laplace.grid_exponent());
        for (out, steps) in out.iter_mut().zip(steps) {
            *out = steps as f32 * step;
        }
        Ok(())
    }
}

/// Δ as a number.
fn value(sensitivity: Sensitivity) -> f64 {
    sensitivity.units() as f64 * 2f64.powi(-32)
}

/// A projection and facts about it.
pub struct Known {
    /// The kind of its rows.
    pub kind: &'static str,
    /// Its rows.
    pub projection: Projection,
    /// The β for which M2 drew it, if it did.
    pub beta: Option<f64>,
    /// The certificate for the pairs of the vocabulary.
    pub certificate: Certificate,
    /// Δ for every vector, as the core crate computes it.
    pub every: Sensitivity,
    /// ‖Φ‖₂, the exact Δ for every vector up to rounding.
    pub norm: f64,
    /// The share of squared distances between words of the vocabulary that the projection keeps.
    pub share: f64,
}

/// Vectors and all mechanisms on them.
pub struct Bench<'a> {
    vectors: &'a Vectors,
    index: HashMap<String, usize>,
    /// The projections.
    pub known: Vec<Known>,
    /// The mechanisms; the first is M1.
    pub mechanisms: Vec<Mechanism>,
    /// `[words][k]`: public features of the words.
    features: Vec<f32>,
    /// Time to compute the certificates.
    pub certifying: Duration,
}

impl<'a> Bench<'a> {
    /// Makes all mechanisms for `vectors`.
    ///
    /// # Errors
    /// Errors of [`Options::check`], [`projection::gaussian`] and
    /// [`projection::pair_certificates`].
    pub fn new(vectors: &'a Vectors, options: &Options) -> Result<Self> {
        options.check()?;
        let d = vectors.dimension;
        let rows = &vectors.vectors;
        let dimension = |beta| projected_dimension(beta, DELTA, gaussian_width(d));
        let mut drawn: Vec<(&'static str, Option<f64>, Projection)> = Vec::new();
        for (number, beta) in (0..).zip(&options.betas) {
            let m = dimension(*beta);
            let seed = options.seed.wrapping_add(number);
            drawn.push(("Gaussian", Some(*beta), projection::gaussian(d, m, seed)?));
            if *beta == options.betas.iter().copied().fold(0.0, f64::max) {
                let m = m.min(d);
                drawn.push(("orthonormal", None, projection::orthonormal(d, m, seed)?));
            }
        }
        // The dimensions of M2, for a comparison at equal dimensions, and further numbers to choose
        // from.
        let mut counts: Vec<usize> = options.betas.iter().map(|beta| dimension(*beta)).collect();
        counts.extend(DIMENSIONS);
        counts.push(d);
        counts.iter_mut().for_each(|m| *m = (*m).min(d));
        counts.sort_unstable();
        counts.dedup();
        let directions = projection::PrincipalDirections::fit(rows, d)?;
        for m in counts {
            drawn.push(("PCA", None, directions.first(m)?));
        }
        let start = Instant::now();
        let all: Vec<&Projection> = drawn.iter().map(|(.., projection)| projection).collect();
        let certificates = projection::pair_certificates(rows, d, &all)?;
        let certifying = start.elapsed();

        let mut known = Vec::new();
        for ((kind, beta, projection), certificate) in drawn.into_iter().zip(certificates) {
            known.push(Known {
                kind,
                beta,
                certificate,
                every: projection.sensitivity()?,
                norm: projection.norm(),
                share: projection.share(rows),
                projection,
            });
        }
        let features = directions.first(FEATURES.min(d))?.apply(rows);
        let mut bench = Self {
            vectors,
            index: index(&vectors.words),
            known,
            mechanisms: Vec::new(),
            features,
            certifying,
        };
        bench.make();
        Ok(bench)
    }

    fn make(&mut self) {
        let mut add =
            |name, scope, sensitivity, m, projection, images: &std::sync::Arc<Vec<f32>>| {
                let largest = images.iter().fold(0f32, |most, x| most.max(x.abs()));
                let bound = largest.max(f32::MIN_POSITIVE).log2().ceil() as i32;
                self.mechanisms.push(Mechanism {
                    name,
                    scope,
                    sensitivity,
                    m,
                    projection,
                    images: images.clone(),
                    // The grid has coarse steps, so a finer bound has no use.
                    bound_exponent: bound.max(0),
                });
            };
        let (d, rows) = (self.vectors.dimension, &self.vectors.vectors);
        let identity = rows.clone().into();
        add(
            "M1".to_owned(),
            Scope::Every,
            Sensitivity::ONE,
            d,
            None,
            &identity,
        );
        for (number, known) in self.known.iter().enumerate() {
            let m = known.projection.outputs();
            let images = known.projection.apply(rows).into();
            let mut made = |name, scope, sensitivity| {
                add(name, scope, sensitivity, m, Some(number), &images);
            };
            if let Some(beta) = known.beta {
                let claimed = Sensitivity::from_units(((1.0 + beta) * 2f64.powi(32)) as u64);
                let claimed = claimed.unwrap_or(Sensitivity::ONE);
                made(format!("M2, β = {beta}"), Scope::Claimed, claimed);
            }
            let name = format!("{}, m = {m}", known.kind);
            made(name.clone(), Scope::Every, known.every);
            made(name, Scope::Vocabulary, known.certificate.sensitivity);
        }
    }

    fn m1(&self) -> usize {
        0
    }

    /// The indices of M2 with each β, ascending.
    fn m2(&self) -> Vec<usize> {
        self.which(|mechanism, _| mechanism.scope == Scope::Claimed)
    }

    /// The index of the matrix of M2 with the largest β and a Δ that holds for the vocabulary.
    fn certified_m2(&self) -> usize {
        let gaussian = self.which(|mechanism, known| {
            mechanism.scope == Scope::Vocabulary && known.is_some_and(|known| known.beta.is_some())
        });
        gaussian.last().copied().unwrap_or(self.m1())
    }

    /// The indices of principal directions, by ascending number.
    fn pca(&self, scope: Scope, dimensions: &[usize]) -> Vec<usize> {
        self.which(|mechanism, known| {
            mechanism.scope == scope
                && dimensions.contains(&mechanism.m)
                && known.is_some_and(|known| known.kind == "PCA")
        })
    }

    fn which(&self, wanted: impl Fn(&Mechanism, Option<&Known>) -> bool) -> Vec<usize> {
        let known = |mechanism: &Mechanism| mechanism.projection.map(|number| &self.known[number]);
        let numbered = self.mechanisms.iter().enumerate();
        numbered
            .filter(|(_, mechanism)| wanted(mechanism, known(mechanism)))
            .map(|(number, _)| number)
            .collect()
    }

    /// The row of a token: of the word itself, its lower case, or its capitalised form.
    fn word(&self, token: &str) -> Option<usize> {
        self.index
            .get(token)
            .or_else(|| self.index.get(&token.to_lowercase()))
            .copied()
    }

    /// A word as spelled in the vocabulary.
    pub fn name(&self, word: usize) -> &str {
        &self.vectors.words[word]
    }

    /// Different words, drawn uniformly: `words` of them, or all if there are fewer.
    fn sample(&self, words: usize, seed: u64) -> Vec<usize> {
        let mut rng = stream(seed, "sample", 0);
        let mut all: Vec<usize> = (0..self.vectors.words.len()).collect();
        shuffle(&mut all, &mut rng);
        all.truncate(words);
        all
    }
}

/// Maps words to rows: in their own spelling, and in lower case if no other word has that spelling.
pub(crate) fn index(words: &[String]) -> HashMap<String, usize> {
    let mut index = HashMap::new();
    for (row, word) in words.iter().enumerate() {
        index.entry(word.clone()).or_insert(row);
    }
    for (row, word) in words.iter().enumerate() {
        index.entry(word.to_lowercase()).or_insert(row);
    }
    index
}

/// A generator for one purpose. Each has a stream of its own, so that results depend neither on
/// threads nor on the other measurements.
pub(crate) fn stream(seed: u64, what: &str, number: u64) -> PublicRng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(number.to_le_bytes());
    hash.update(what);
    let hash: [u8; 32] = hash.finalize().into();
    let mut seed = [0; 8];
    seed.copy_from_slice(&hash[..8]);
    PublicRng::new(u64::from_le_bytes(seed))
}

fn shuffle<T>(all: &mut [T], rng: &mut PublicRng) {
    for end in (1..all.len()).rev() {
        let other = below(rng, end as u128 + 1) as usize;
        all.swap(end, other);
    }
}

/// How a classifier reads a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// By its coordinates.
    Coordinates,
    /// By the posterior mean of the word's features.
    Posterior,
}

/// Mechanisms and readings from which the best is chosen on held-out examples.
struct Column {
    name: String,
    role: Role,
    /// Mechanism and reading; without a mechanism, the vectors themselves.
    settings: Vec<(Option<usize>, Reading)>,
}

impl Bench<'_> {
    /// The columns for classifiers, with every β of M2 or only the largest.
    fn columns(&self, every_beta: bool) -> Vec<Column> {
        let column = |name: &str, role, mechanisms: Vec<usize>| Column {
            name: name.to_owned(),
            role,
            settings: mechanisms
                .into_iter()
                .map(|number| (Some(number), Reading::Coordinates))
                .collect(),
        };
        let d = self.vectors.dimension;
        let few = |counts: &[usize]| counts.iter().map(|m| *m.min(&d)).collect::<Vec<usize>>();
        let mut columns = vec![
            Column {
                name: "non-private".to_owned(),
                role: Role::Bound,
                settings: vec![(None, Reading::Coordinates)],
            },
            column("M1", Role::Baseline, vec![self.m1()]),
        ];
        let m2 = self.m2();
        let last = m2.last().copied().unwrap_or(self.m1());
        for m2 in if every_beta { m2 } else { vec![last] } {
            columns.push(column(&self.mechanisms[m2].name, Role::Baseline, vec![m2]));
        }
        let widest = self.mechanisms[last].m;
        let counts = few(&[8, 16, widest]);
        let mut best = column(
            "PCA for the vocabulary, best reading",
            Role::Default,
            self.pca(Scope::Vocabulary, &few(&[8, 16, widest, d])),
        );
        let posterior = self.pca(Scope::Vocabulary, &few(&[8, 16])).into_iter();
        best.settings
            .extend(posterior.map(|number| (Some(number), Reading::Posterior)));
        columns.extend([
            column(
                "matrix of M2, certified for the vocabulary",
                Role::Candidate,
                vec![self.certified_m2()],
            ),
            column(
                "PCA, certified for every vector",
                Role::Candidate,
                self.pca(Scope::Every, &counts),
            ),
            column(
                "PCA, certified for the vocabulary",
                Role::Candidate,
                self.pca(Scope::Vocabulary, &counts),
            ),
            best,
        ]);
        columns
    }
}

/// All results on one set of vectors.
pub struct Measured {
    /// Signal to noise.
    pub snr: Vec<Snr>,
    /// Distances and inner products.
    pub pairs: Vec<PairScore>,
    /// Positive and negative words.
    pub words: Vec<WordScore>,
    /// The number of words of either class.
    pub opinion_words: usize,
    /// Sentences.
    pub tasks: Vec<TaskScore>,
    /// The time of each part.
    pub timings: Vec<(String, Duration)>,
}

/// Runs all experiments on the data in `folder`.
///
/// # Errors
/// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) and
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) of the data;
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment).
pub fn measure(bench: &Bench<'_>, folder: &Path, options: &Options) -> Result<Measured> {
    let mut timings = vec![("certificates".to_owned(), bench.certifying)];
    let mut timed = |what: &str, start: Instant| {
        timings.push((what.to_owned(), start.elapsed()));
        eprintln!("  {what}: {:.0} s", start.elapsed().as_secs_f64());
    };
    // Read first, so that a missing file is found before minutes of work.
    let opinions = words::Opinions::open(bench, folder)?;
    let frequencies = tasks::log_frequencies(bench, folder)?;
    let tasks = options
        .tasks
        .iter()
        .map(|name| tasks::Task::open(bench, *name, folder));
    let tasks = tasks.collect::<Result<Vec<tasks::Task>>>()?;

    let start = Instant::now();
    let snr = words::snr(bench, options)?;
    timed("signal to noise", start);
    let start = Instant::now();
    let pairs = words::pairs(bench, options)?;
    timed("distances and inner products", start);
    let start = Instant::now();
    let words = opinions.measure(bench, options)?;
    timed("positive and negative words", start);
    let mut scores = Vec::new();
    for task in &tasks {
        let start = Instant::now();
        scores.extend(task.measure(bench, &frequencies, options)?);
        timed(task.name(), start);
    }
    Ok(Measured {
        snr,
        pairs,
        words,
        opinion_words: opinions.of_each_class(),
        tasks: scores,
        timings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_they_are_written() {
        let words = ["Paris", "in", "In", "USA"].map(str::to_owned);
        let index = index(&words);
        assert_eq!(
            [index["in"], index["In"], index["paris"], index["usa"]],
            [1, 2, 0, 3]
        );
    }

    #[test]
    fn streams_differ_by_everything_and_shuffles_keep_all() {
        let first = |seed, what, number| stream(seed, what, number).next_u64();
        let all = [
            first(1, "a", 1),
            first(2, "a", 1),
            first(1, "b", 1),
            first(1, "a", 2),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(!all[place + 1..].contains(one));
        }
        let mut numbers: Vec<usize> = (0..50).collect();
        shuffle(&mut numbers, &mut stream(1, "", 0));
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..50));
    }
}
