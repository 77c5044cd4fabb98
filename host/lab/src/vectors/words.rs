//! Experiments on single words: signal to noise, distances, inner products, and positive versus
//! negative words.

use std::fs;
use std::path::Path;

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;

use super::logistic::{Classifier, Sample};
use super::{Bench, Column, Mechanism, Options, Reading, Scope, shuffle, stream};
use crate::bounds::Setting;
use crate::documents::Role;
use crate::metrics::{MeanSd, auc};
use crate::posterior::{Posterior, PosteriorMean};
use undertone::error::{Error, Result};
use undertone::release::document::epsilon_f64;

/// Pairs of words, and of noise vectors, for each ratio of signal to noise.
const DRAWS: usize = 500;

/// Signal to noise of one mechanism.
pub struct Snr {
    /// The index of the mechanism.
    pub mechanism: usize,
    /// For each ε: E‖Φ(x − x')‖² over E‖κ − κ'‖², for words x, x' drawn uniformly from the
    /// vocabulary and independent noise κ, κ'.
    pub ratios: Vec<(Epsilon, f64)>,
}

/// Measures the signal-to-noise ratio of every mechanism at every ε.
pub(super) fn snr(bench: &Bench<'_>, options: &Options) -> Result<Vec<Snr>> {
    let words = bench.vectors.words.len() as u128;
    let mut rng = stream(options.seed, "signal", 0);
    let mut word = || undertone_core::rng::below(&mut rng, words) as usize;
    let pairs: Vec<(usize, usize)> = (0..DRAWS).map(|_| (word(), word())).collect();
    let one = |(number, mechanism): (usize, &Mechanism)| {
        let signal: f64 = pairs
            .iter()
            .map(|(a, b)| squared_distance(mechanism.image(*a), mechanism.image(*b)))
            .sum();
        let zero = vec![0.0; mechanism.m];
        let ratios = options.epsilons.iter().map(|epsilon| {
            let laplace = mechanism.laplace(*epsilon)?;
            let mut rng = stream(options.seed, "noise", number as u64);
            let mut noise = 0.0;
            let (mut a, mut b) = (zero.clone(), zero.clone());
            for _ in 0..DRAWS {
                mechanism.draw(&laplace, &zero, &mut rng, &mut a)?;
                mechanism.draw(&laplace, &zero, &mut rng, &mut b)?;
                noise += squared_distance(&a, &b);
            }
            Ok((*epsilon, signal / noise))
        });
        Ok(Snr {
            mechanism: number,
            ratios: ratios.collect::<Result<_>>()?,
        })
    };
    let numbered = bench.mechanisms.par_iter().enumerate();
    numbered.map(one).collect()
}

fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
    squares.sum()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}

/// Errors of distances and inner products that are estimated from releases of pairs of words.
pub struct PairScore {
    /// The name of the column.
    pub name: String,
    /// Its role in the comparison.
    pub role: Role,
    /// The setting chosen for this ε.
    pub setting: String,
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// |‖wᵢ − wⱼ‖ − ‖xᵢ − xⱼ‖| over the pairs.
    pub distance: MeanSd,
    /// |⟨wᵢ, wⱼ⟩ − ⟨xᵢ, xⱼ⟩| over the pairs.
    pub product: MeanSd,
    /// Propositions 7 and 8, for M2.
    pub bounds: Option<(f64, f64)>,
}

/// Distances and products of pairs from two lists of words, true and estimated.
struct Seen {
    /// (true, estimated).
    distances: Vec<(f64, f64)>,
    products: Vec<(f64, f64)>,
}

/// Errors of the estimates themselves, or of the linear map fitted to `fitted`.
fn errors(seen: &[(f64, f64)], fitted: Option<&[(f64, f64)]>) -> MeanSd {
    let (slope, start) = fitted.map_or((1.0, 0.0), line);
    let errors = seen
        .iter()
        .map(|(truth, found)| (start + slope * found - truth).abs());
    MeanSd::new(&errors.collect::<Vec<f64>>())
}

/// The least-squares line from estimates to true values.
fn line(seen: &[(f64, f64)]) -> (f64, f64) {
    let n = seen.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| seen.iter().map(of).sum::<f64>() / n;
    let (truth, found) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let covariance = mean(&|pair| (pair.0 - truth) * (pair.1 - found));
    let variance = mean(&|pair| (pair.1 - found).powi(2));
    let slope = if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    };
    (slope, truth - slope * found)
}

/// Lists of words whose pairs are compared: for the report, and for choosing settings.
struct Lists {
    test: [Vec<usize>; 2],
    validation: [Vec<usize>; 2],
}

pub(super) fn pairs(bench: &Bench<'_>, options: &Options) -> Result<Vec<PairScore>> {
    let all = bench.sample(4 * options.words, options.seed);
    let mut parts = all.chunks(all.len().div_ceil(4)).map(<[usize]>::to_vec);
    let mut next = || parts.next().unwrap_or_else(|| all.clone());
    let lists = Lists {
        test: [next(), next()],
        validation: [next(), next()],
    };
    let m2 = bench.m2();
    let last = m2.last().copied().unwrap_or(bench.m1());
    let single = |number: usize, role| {
        let name = bench.mechanisms[number].name.clone();
        (name, role, vec![number], false)
    };
    let mut columns = vec![single(bench.m1(), Role::Baseline)];
    columns.extend(m2.iter().map(|number| single(*number, Role::Baseline)));
    let widest = bench.mechanisms[last].m.min(bench.vectors.dimension);
    let few: Vec<usize> = (1..=widest).collect();
    let name = |name: &str| name.to_owned();
    columns.extend([
        (
            name("matrix of M2, certified for the vocabulary"),
            Role::Candidate,
            vec![bench.certified_m2()],
            false,
        ),
        (
            name("PCA, certified for every vector"),
            Role::Candidate,
            bench.pca(Scope::Every, &few),
            false,
        ),
        (
            name("PCA, certified for the vocabulary"),
            Role::Default,
            bench.pca(Scope::Vocabulary, &few),
            false,
        ),
        (
            format!("{}, read through a line", bench.mechanisms[last].name),
            Role::Candidate,
            vec![last],
            true,
        ),
        (
            name("PCA for the vocabulary, read through a line"),
            Role::Candidate,
            bench.pca(Scope::Vocabulary, &few),
            true,
        ),
    ]);
    let jobs: Vec<(&_, Epsilon)> = columns
        .iter()
        .flat_map(|column| {
            options
                .epsilons
                .iter()
                .map(move |epsilon| (column, *epsilon))
        })
        .collect();
    let scores = jobs
        .into_par_iter()
        .map(|((name, role, settings, line), epsilon)| {
            pair_score(bench, &lists, settings, *line, epsilon, options.seed).map(|score| {
                PairScore {
                    name: name.clone(),
                    role: *role,
                    ..score
                }
            })
        });
    scores.collect()
}

fn pair_score(
    bench: &Bench<'_>,
    lists: &Lists,
    settings: &[usize],
    through_line: bool,
    epsilon: Epsilon,
    seed: u64,
) -> Result<PairScore> {
    // Distances and products may have different best numbers of directions.
    let mut best: [Option<(f64, usize)>; 2] = [None; 2];
    let mut lines = [Vec::new(), Vec::new()];
    for number in settings {
        let seen = see(
            bench,
            *number,
            &lists.validation,
            epsilon,
            seed.wrapping_add(1),
        )?;
        let of = [seen.distances, seen.products];
        for ((best, pairs), line) in best.iter_mut().zip(of).zip(&mut lines) {
            let error = errors(&pairs, through_line.then_some(&pairs[..])).mean;
            if best.is_none_or(|(least, _)| error < least) {
                *best = Some((error, *number));
                *line = pairs;
            }
        }
    }
    let chosen = best.map(|best| best.map_or(bench.m1(), |(_, number)| number));
    let line = |of: usize| through_line.then_some(&lines[of][..]);
    let seen = [
        see(bench, chosen[0], &lists.test, epsilon, seed)?,
        see(bench, chosen[1], &lists.test, epsilon, seed)?,
    ];
    let m = |of: usize| bench.mechanisms[chosen[of]].m;
    let claimed = (settings.len() == 1 && !through_line).then(|| {
        let mechanism = &bench.mechanisms[chosen[0]];
        let known = &bench.known[mechanism.projection?];
        let words = lists.test.iter().flatten();
        let norms =
            words.map(|word| dot(bench.vectors.vector(*word), bench.vectors.vector(*word)).sqrt());
        let setting = Setting {
            m: mechanism.m,
            n: lists.test.iter().map(Vec::len).sum(),
            tau: norms.fold(0.0, f64::max),
            beta: known.beta.filter(|_| mechanism.scope == Scope::Claimed)?,
            epsilon: epsilon_f64(epsilon),
            delta: super::DELTA,
        };
        Some((setting.distance(), setting.inner_product()))
    });
    Ok(PairScore {
        name: String::new(),
        role: Role::Candidate,
        setting: match settings {
            [_] => format!("m = {}", m(0)),
            _ => format!("m = {} and {}", m(0), m(1)),
        },
        epsilon,
        distance: errors(&seen[0].distances, line(0)),
        product: errors(&seen[1].products, line(1)),
        bounds: claimed.flatten(),
    })
}

/// Releases each word of both lists once.
fn see(
    bench: &Bench<'_>,
    number: usize,
    [left, right]: &[Vec<usize>; 2],
    epsilon: Epsilon,
    seed: u64,
) -> Result<Seen> {
    let mechanism = &bench.mechanisms[number];
    let laplace = mechanism.laplace(epsilon)?;
    let release = |side: u64, words: &[usize]| {
        let drawn = words.iter().map(|word| {
            let mut rng = stream(seed, "pairs", side << 32 | *word as u64);
            let mut out = vec![0.0; mechanism.m];
            mechanism.draw(&laplace, mechanism.image(*word), &mut rng, &mut out)?;
            Ok(out)
        });
        drawn.collect::<Result<Vec<Vec<f32>>>>()
    };
    let (ws, vs) = (release(0, left)?, release(1, right)?);
    let mut seen = Seen {
        distances: Vec::new(),
        products: Vec::new(),
    };
    for (i, w) in left.iter().zip(&ws) {
        for (j, v) in right.iter().zip(&vs) {
            let (x, y) = (bench.vectors.vector(*i), bench.vectors.vector(*j));
            let truth = squared_distance(x, y).sqrt();
            seen.distances.push((truth, squared_distance(w, v).sqrt()));
            seen.products.push((dot(x, y), dot(w, v)));
        }
    }
    Ok(seen)
}

/// The score of one mechanism on positive and negative words.
pub struct WordScore {
    /// The name of the column.
    pub name: String,
    /// Its role in the comparison.
    pub role: Role,
    /// The chosen setting, and in how many trials.
    pub setting: String,
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// Test accuracy.
    pub accuracy: MeanSd,
    /// The area under the curve of true against false positives.
    pub auc: MeanSd,
}

/// Equally many positive and negative words that have a vector.
pub(super) struct Opinions {
    negative: Vec<usize>,
    positive: Vec<usize>,
}

impl Opinions {
    /// Reads the lists of Hu and Liu (2004). Words in both, or without a vector, are left out.
    pub(super) fn open(bench: &Bench<'_>, folder: &Path) -> Result<Self> {
        let folder = folder.join("opinion-lexicon");
        let read = |name: &str| -> Result<Vec<String>> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
            let words = text.lines().map(str::trim);
            let words = words.filter(|word| !word.is_empty() && !word.starts_with(';'));
            Ok(words.map(str::to_owned).collect::<Vec<String>>())
        };
        let lists = [read("negative-words.txt")?, read("positive-words.txt")?];
        let rows = |own: &[String], other: &[String]| {
            let words = own.iter().filter(|word| !other.contains(word));
            let mut rows: Vec<usize> = words.filter_map(|word| bench.word(word)).collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let found = Self {
            negative: rows(&lists[0], &lists[1]),
            positive: rows(&lists[1], &lists[0]),
        };
        if found.of_each_class() < 10 {
            return Err(Error::experiment(format!(
                "cannot evaluate on `{}`: {} negative and {} positive words have a \
                 vector; at least 10 each are wanted, take another vocabulary",
                folder.display(),
                found.negative.len(),
                found.positive.len()
            )));
        }
        Ok(found)
    }

    /// The number of words of either class that an experiment uses.
    pub(super) fn of_each_class(&self) -> usize {
        self.negative.len().min(self.positive.len())
    }

    pub(super) fn measure(&self, bench: &Bench<'_>, options: &Options) -> Result<Vec<WordScore>> {
        // These are words, not their occurrences, so the prior is uniform.
        let prior = vec![0.0; bench.vectors.words.len()];
        let columns = bench.columns(true);
        let mut scores = Vec::new();
        for column in &columns {
            for epsilon in &options.epsilons {
                let trials = (0..options.trials).into_par_iter();
                let trials = trials.map(|trial| {
                    self.trial(bench, column, &prior, *epsilon, options.seed, trial as u64)
                });
                let trials = trials.collect::<Result<Vec<Trial>>>()?;
                let mean = |of: fn(&Trial) -> f64| {
                    MeanSd::new(&trials.iter().map(of).collect::<Vec<f64>>())
                };
                scores.push(WordScore {
                    name: column.name.clone(),
                    role: column.role,
                    setting: chosen(bench, column, trials.iter().map(|trial| trial.chosen)),
                    epsilon: *epsilon,
                    accuracy: mean(|trial| trial.accuracy),
                    auc: mean(|trial| trial.auc),
                });
            }
        }
        Ok(scores)
    }

    /// Runs one trial. Each trial draws anew: words of the longer list, test words, and noise.
    fn trial(
        &self,
        bench: &Bench<'_>,
        column: &Column,
        prior: &[f32],
        epsilon: Epsilon,
        seed: u64,
        trial: u64,
    ) -> Result<Trial> {
        let mut rng = stream(seed, "opinions", trial);
        let mut words = Vec::new();
        for (class, list) in [&self.negative, &self.positive].into_iter().enumerate() {
            let mut list = list.clone();
            shuffle(&mut list, &mut rng);
            list.truncate(self.of_each_class());
            words.extend(list.into_iter().map(|word| (word, class)));
        }
        shuffle(&mut words, &mut rng);
        let labels: Vec<usize> = words.iter().map(|(_, class)| *class).collect();
        let start = labels.len() - labels.len() / 5;
        let mut best: Option<(f64, Classifier, Sample, usize)> = None;
        for (place, (setting, reading)) in column.settings.iter().enumerate() {
            let mut sample = Sample {
                labels: labels.clone(),
                ..Sample::default()
            };
            let mechanism = setting.map(|number| &bench.mechanisms[number]);
            let reader = Reader::new(bench, mechanism, *reading, prior, epsilon)?;
            sample.dimension = reader.outputs();
            sample.rows = vec![0.0; labels.len() * reader.outputs()];
            let mut work = Work::default();
            for ((word, _), out) in words
                .iter()
                .zip(sample.rows.chunks_exact_mut(sample.dimension))
            {
                let mut rng = stream(seed, "words", trial << 32 | *word as u64);
                reader.read(*word, &mut rng, &mut work, out)?;
            }
            let (classifier, held_out) = Classifier::tuned(&sample.subset(0..start))?;
            if best.as_ref().is_none_or(|(most, ..)| held_out > *most) {
                let test = sample.subset(start..labels.len());
                best = Some((held_out, classifier, test, place));
            }
        }
        let (_, classifier, test, chosen) = best.expect("a column has a setting");
        let positive = classifier.probabilities(&test).column(1).to_vec();
        Ok(Trial {
            accuracy: classifier.accuracy(&test),
            auc: auc(&test.labels, &positive),
            chosen,
        })
    }
}

struct Trial {
    accuracy: f64,
    auc: f64,
    chosen: usize,
}

/// The settings that were chosen, with their counts if there is more than one.
pub(super) fn chosen(
    bench: &Bench<'_>,
    column: &Column,
    choices: impl Iterator<Item = usize>,
) -> String {
    let mut counts = vec![0; column.settings.len()];
    choices.for_each(|place| counts[place] += 1);
    let name = |(setting, reading): (Option<usize>, Reading)| {
        let m = bench.mechanisms[setting?].m;
        Some(match reading {
            Reading::Coordinates => m.to_string(),
            Reading::Posterior => format!("{m} posterior mean"),
        })
    };
    let times = |count: usize| match counts.iter().filter(|count| **count > 0).count() {
        1 => String::new(),
        _ => format!(" ({count}×)"),
    };
    let chosen = counts
        .iter()
        .zip(&column.settings)
        .filter(|(count, _)| **count > 0);
    let chosen =
        chosen.filter_map(|(count, setting)| Some(format!("{}{}", name(*setting)?, times(*count))));
    let chosen: Vec<String> = chosen.collect();
    if chosen.is_empty() {
        String::new()
    } else {
        format!("m = {}", chosen.join(", "))
    }
}

/// A mechanism at one ε, with the reading of its releases.
pub(super) struct Reader<'a> {
    bench: &'a Bench<'a>,
    mechanism: Option<(&'a Mechanism, undertone_core::laplace::Laplace)>,
    posterior: Option<PosteriorMean<'a>>,
}

/// Scratch space.
#[derive(Default)]
pub(super) struct Work {
    noisy: Vec<f32>,
    logs: Vec<f32>,
}

impl<'a> Reader<'a> {
    /// Creates a reader; without a mechanism it reads the vectors themselves.
    pub(super) fn new(
        bench: &'a Bench<'a>,
        mechanism: Option<&'a Mechanism>,
        reading: Reading,
        log_prior: &'a [f32],
        epsilon: Epsilon,
    ) -> Result<Self> {
        let posterior = mechanism
            .filter(|_| reading == Reading::Posterior)
            .map(|mechanism| {
                let rate = mechanism.rate(epsilon);
                let posterior = Posterior::new(&mechanism.images, log_prior, rate);
                PosteriorMean::new(posterior, &bench.features)
            });
        let mechanism = mechanism
            .map(|mechanism| {
                mechanism
                    .laplace(epsilon)
                    .map(|laplace| (mechanism, laplace))
            })
            .transpose()?;
        Ok(Self {
            bench,
            mechanism,
            posterior,
        })
    }

    /// The length of a reading.
    pub(super) fn outputs(&self) -> usize {
        match (&self.posterior, &self.mechanism) {
            (Some(posterior), _) => posterior.outputs(),
            (None, Some((mechanism, _))) => mechanism.m,
            (None, None) => self.bench.vectors.dimension,
        }
    }

    /// Releases `word` and writes the reading into `out`.
    pub(super) fn read(
        &self,
        word: usize,
        rng: &mut undertone_core::rng::PublicRng,
        work: &mut Work,
        out: &mut [f32],
    ) -> Result<()> {
        let Some((mechanism, laplace)) = &self.mechanism else {
            out.copy_from_slice(self.bench.vectors.vector(word));
            return Ok(());
        };
        let Some(posterior) = &self.posterior else {
            return mechanism.draw(laplace, mechanism.image(word), rng, out);
        };
        work.noisy.resize(mechanism.m, 0.0);
        mechanism.draw(laplace, mechanism.image(word), rng, &mut work.noisy)?;
        posterior.mean(&work.noisy, &mut work.logs, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_undoes_scale_and_shift() {
        let seen: Vec<(f64, f64)> = (0..20)
            .map(|x| (f64::from(x), 3.0 * f64::from(x) + 7.0))
            .collect();
        assert!(errors(&seen, None).mean > 7.0);
        assert!(errors(&seen, Some(&seen)).mean < 1e-12);
        let flat = [(1.0, 5.0), (3.0, 5.0)];
        assert_eq!(errors(&flat, Some(&flat)).mean, 1.0);
    }
}
