//! Macro F₁ of released documents, by ε and by number of sentences: figure 4 of Meehan, Mrini and
//! Chaudhuri (2022).
//!
//! A classifier is trained on the means of public documents; a mechanism turns each test document
//! into input of the classifier. Settings of a mechanism are chosen for each ε on the validation
//! documents, as in the paper.

pub mod columns;
pub mod cost;
pub mod data;
pub mod report;
pub mod word_columns;

use std::num::NonZero;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use undertone_core::document::DocumentError;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::scores::LEVELS;
use undertone_core::select::{Ratio, Rule, SliceLevels};

use crate::documents::data::{Data, Labelled};
use crate::metrics::{MeanSd, accuracy, macro_f1};
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::{Error, Result};
use undertone::pack::heads::Targets;
use undertone::progress::Progress;
use undertone::release::document::{self, HostDocument, MAX_SENTENCES};
use undertone_audit::Law;
use undertone_train::{Classifier, Run, Split};

/// Documents of one parallel task.
const BLOCK: usize = 32;

/// The number of documents whose neighbours are audited, and of neighbours for each.
const AUDITED: (usize, usize) = (4, 8);

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters, ascending.
    pub epsilons: Vec<Epsilon>,
    /// The privacy parameter for documents cut to their first sentences and for histograms.
    pub fixed_epsilon: Epsilon,
    /// Releases of each test document.
    pub trials: usize,
    /// Candidates at most: training documents, drawn uniformly.
    pub candidates: usize,
    /// Sentences of a candidate, at least.
    pub min_sentences: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

impl Default for Options {
    /// The settings of the paper: ε = 1, 2, 3, 5, 10, 20, 30, cut documents at ε = 10, 5 trials,
    /// 5000 candidates of at least 8 sentences.
    fn default() -> Self {
        let epsilon = |whole: u32| {
            Epsilon::from_micro(whole * 1_000_000).expect("the constants are in range")
        };
        Self {
            epsilons: [1, 2, 3, 5, 10, 20, 30].map(epsilon).to_vec(),
            fixed_epsilon: epsilon(10),
            trials: 5,
            candidates: 5000,
            min_sentences: 8,
            seed: 1,
        }
    }
}

/// A classifier of vectors.
pub trait Classify {
    /// The class of each point, `[n][dimension]` row-major.
    fn predict(&self, points: &[f32]) -> Vec<usize>;
}

/// Trains a classifier on one point for each document of [`Data::learning`], `[n][dimension]`
/// row-major, with the labels and the split of the data.
pub type Teacher<'a> = &'a dyn Fn(&Data, &[f32]) -> Result<Box<dyn Classify>>;

/// The role of a mechanism in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A bound: without privacy, or without the document.
    Bound,
    /// A published mechanism.
    Baseline,
    /// A mechanism of this library.
    Candidate,
    /// The default of the library.
    Default,
}

/// A mechanism with one setting.
pub trait Mechanism {
    /// The chosen setting, such as `p = 10`; empty if there is no choice.
    fn setting(&self) -> String;

    /// The predicted class of each document for each of `draws`, `[draws][documents]`.
    ///
    /// # Errors
    /// Errors of the mechanism that depend on public facts only.
    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>>;

    /// The mechanism as a selection of candidates by levels, for histograms and audits; `None` for
    /// others.
    fn selection(&self) -> Option<&Selection> {
        None
    }
}

/// The parameters of one release of every document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draw {
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// The trial, counted from 0.
    pub trial: usize,
    /// The seed of the experiment.
    pub seed: u64,
}

impl Draw {
    /// All trials at one ε.
    fn trials(epsilon: Epsilon, trials: usize, seed: u64) -> Vec<Self> {
        let draw = |trial| Self {
            epsilon,
            trial,
            seed,
        };
        (0..trials).map(draw).collect()
    }

    /// The generator for one document. Each document has a stream of its own, so that results
    /// depend neither on threads nor on the other measurements.
    pub fn rng(&self, document: usize) -> PublicRng {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update((self.trial as u64).to_le_bytes());
        hash.update(self.epsilon.micro().to_le_bytes());
        hash.update((document as u64).to_le_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        let mut seed = [0; 8];
        seed.copy_from_slice(&hash[..8]);
        PublicRng::new(u64::from_le_bytes(seed))
    }
}

/// A mechanism and the settings from which the best is chosen for each ε.
pub struct Column<'a> {
    /// Its name.
    pub name: String,
    /// Its guarantee, and for which neighbours it holds.
    pub promise: String,
    /// Its role in the comparison.
    pub role: Role,
    /// The mechanism with each setting; at least one.
    pub variants: Vec<Box<dyn Mechanism + 'a>>,
    /// The part of the test documents to release, if all would take too long.
    pub part: Option<Part>,
}

/// A part of the test documents, with a smaller number of trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The indices of the test documents.
    pub documents: Vec<usize>,
    /// Releases of each document.
    pub trials: usize,
}

/// Macro F₁ and accuracy over trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Macro F₁, 0 to 1.
    pub macro_f1: MeanSd,
    /// Accuracy, 0 to 1.
    pub accuracy: MeanSd,
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Point<X> {
    /// ε, or the number of sentences.
    pub x: X,
    /// The chosen setting.
    pub setting: String,
    /// The measured score.
    pub score: Score,
}

/// Numbers of candidates by distance from the best one, over all test documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// All candidates, by their level minus the lowest level of any candidate.
    pub all: Vec<u64>,
    /// The drawn candidates, one draw for each document, by ε.
    pub drawn: Vec<(Epsilon, Vec<u64>)>,
}

/// The largest privacy loss between sampled neighbouring documents, by enumeration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The ε of the release.
    pub epsilon: Epsilon,
    /// The largest |ln ratio| found.
    pub worst: f64,
    /// How often the best guess identifies which of two equally likely neighbours was released:
    /// averaged over the pairs, and for the pair where it is most often right. At most e^ε/(1 +
    /// e^ε).
    pub guessed: [f64; 2],
    /// Number of pairs of neighbours.
    pub pairs: usize,
}

/// Results for one mechanism.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// The encoder of the sentences.
    pub encoder: String,
    /// Its guarantee.
    pub promise: String,
    /// Its role in the comparison.
    pub role: Role,
    /// Number of released test documents, and of releases of each.
    pub releases: (usize, usize),
    /// Scores of whole test documents.
    pub by_epsilon: Vec<Point<Epsilon>>,
    /// Scores of test documents cut to their first sentences, at the fixed ε.
    pub by_sentences: Vec<Point<usize>>,
    /// Distances of candidates, if the mechanism selects by levels; with the setting of the fixed
    /// ε.
    pub histogram: Option<Histogram>,
    /// Privacy losses, under the same conditions.
    pub losses: Vec<Loss>,
    /// Time to choose settings on the validation documents.
    pub tuning: Duration,
    /// Time to release and classify a test document once, on all cores.
    pub per_release: Duration,
}

/// Selection by the levels of a pack, by any mechanism of packs.
pub struct Selection {
    /// A description of the setting.
    setting: String,
    pack: Vec<u8>,
    rule: Rule,
    /// The largest number of levels that one sentence moves a candidate; ε is divided by it.
    steps: NonZero<u8>,
    /// The server's class for each candidate.
    class_of: Vec<usize>,
}

impl Selection {
    /// Selection with a pack and a rule; `class_of` is the server's class for each candidate.
    ///
    /// # Errors
    /// [`ErrorKind::Pack`](undertone::error::ErrorKind::Pack) if the bytes are not a pack.
    pub fn new(setting: String, pack: Vec<u8>, rule: Rule, class_of: Vec<usize>) -> Result<Self> {
        let scores = Pack::parse(&pack).map_err(Error::from)?.scores();
        let steps = scores.and_then(|scores| NonZero::new(scores.largest_score()));
        Ok(Self {
            setting,
            pack,
            rule,
            steps: steps.unwrap_or(NonZero::<u8>::MIN),
            class_of,
        })
    }

    /// The ratio of a release.
    pub(crate) fn ratio(&self, epsilon: Epsilon) -> Ratio {
        Ratio::per_step(epsilon, self.steps)
    }

    /// Calls `look` with the index and the levels of each document.
    pub(crate) fn with_levels<T: Send>(
        &self,
        documents: &DocumentVectors,
        look: impl Fn(usize, Vec<u8>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let pack = Pack::parse(&self.pack).map_err(Error::from)?;
        let progress = Progress::new("releasing documents", documents.len() as u64);
        let numbers: Vec<usize> = (0..documents.len()).collect();
        let blocks = numbers.par_chunks(BLOCK).map(|block| {
            let mut document = document::empty(&pack)?;
            let found = block.iter().map(|number| {
                let rows = documents.document(*number);
                let found = look(*number, levels(&mut document, rows, documents.dimension())?);
                progress.advance(1);
                found
            });
            found.collect::<Result<Vec<T>>>()
        });
        Ok(blocks
            .collect::<Result<Vec<Vec<T>>>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    fn draw(&self, levels: &[u8], epsilon: Epsilon, rng: &mut PublicRng) -> Result<usize> {
        let worst = levels.iter().copied().max().unwrap_or(0);
        let levels = SliceLevels {
            levels,
            // The law does not depend on the bound. Time does, and here it may depend on the
            // document.
            bound: usize::from(worst) + 1,
        };
        let drawn = hazmat::select::<LEVELS, _>(&levels, self.rule, self.ratio(epsilon), rng);
        let drawn = drawn.map_err(|error| Error::from(DocumentError::Selection(error)))?;
        Ok(drawn as usize)
    }

    fn histogram(
        &self,
        documents: &DocumentVectors,
        epsilons: &[Epsilon],
        seed: u64,
    ) -> Result<Histogram> {
        let found = self.with_levels(documents, |number, mut levels| {
            let best = levels.iter().copied().min().unwrap_or(0);
            for level in &mut levels {
                *level -= best;
            }
            let drawn = epsilons.iter().map(|epsilon| {
                let draw = Draw {
                    epsilon: *epsilon,
                    trial: 0,
                    seed,
                };
                let candidate = self.draw(&levels, *epsilon, &mut draw.rng(number))?;
                Ok(levels[candidate])
            });
            let drawn = drawn.collect::<Result<Vec<u8>>>()?;
            let mut all = Vec::new();
            levels.iter().for_each(|level| count(&mut all, *level, 1));
            Ok((all, drawn))
        })?;
        let mut histogram = Histogram {
            all: Vec::new(),
            drawn: epsilons.iter().map(|e| (*e, Vec::new())).collect(),
        };
        for (all, drawn) in found {
            for (level, n) in (0..).zip(all) {
                count(&mut histogram.all, level, n);
            }
            for (level, (_, counts)) in drawn.into_iter().zip(&mut histogram.drawn) {
                count(counts, level, 1);
            }
        }
        Ok(histogram)
    }

    /// Replaces single sentences of some documents of medium length with sentences of others, and
    /// computes both laws.
    fn losses(&self, documents: &DocumentVectors, epsilons: &[Epsilon]) -> Result<Vec<Loss>> {
        let pack = Pack::parse(&self.pack).map_err(Error::from)?;
        let mut document = document::empty(&pack)?;
        let dimension = documents.dimension();
        let mut by_length: Vec<usize> = (0..documents.len()).collect();
        by_length.sort_by_key(|number| documents.range(*number).len());
        let middle = by_length.len().saturating_sub(AUDITED.0) / 2;
        let mut pairs = Vec::new();
        for number in by_length.into_iter().skip(middle).take(AUDITED.0) {
            let own = documents.document(number);
            let before = levels(&mut document, own, dimension)?;
            let places = (own.len() / dimension).max(1);
            // Sentences from the whole corpus.
            let others = documents.rows().chunks_exact(dimension);
            let step = (others.len() / AUDITED.1).max(1);
            for (neighbour, other) in others.step_by(step).take(AUDITED.1).enumerate() {
                let mut rows = own.to_vec();
                let place = neighbour % places * dimension;
                if let Some(sentence) = rows.get_mut(place..place + dimension) {
                    sentence.copy_from_slice(other);
                }
                pairs.push((before.clone(), levels(&mut document, &rows, dimension)?));
            }
        }
        Ok(epsilons
            .iter()
            .map(|epsilon| {
                let ratio = self.ratio(*epsilon);
                let law = |levels: &Vec<u8>| Law::new(levels.clone(), ratio, self.rule);
                let found = pairs.par_iter().map(|(a, b)| {
                    let laws = [law(a), law(b)];
                    (laws[0].loss(&laws[1]), best_guess(&laws, a.len()))
                });
                let found: Vec<(f64, f64)> = found.collect();
                let guesses = || found.iter().map(|(_, right)| *right);
                let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
                Loss {
                    epsilon: *epsilon,
                    worst: most(&mut found.iter().map(|(loss, _)| *loss)),
                    guessed: [
                        guesses().sum::<f64>() / found.len().max(1) as f64,
                        most(&mut guesses()),
                    ],
                    pairs: found.len(),
                }
            })
            .collect())
    }
}

/// How often an observer identifies which of two equally likely texts was released by naming the
/// one under which the release is likelier. No guess is right more often (Neyman and Pearson 1933).
fn best_guess([a, b]: &[Law; 2], candidates: usize) -> f64 {
    let likelier = (0..candidates).map(|c| a.probability(c).max(b.probability(c)));
    likelier.sum::<f64>() / 2.0
}

fn count(counts: &mut Vec<u64>, level: u8, n: u64) {
    let level = usize::from(level);
    if counts.len() <= level {
        counts.resize(level + 1, 0);
    }
    counts[level] += n;
}

/// The levels of the document with these sentences; sentences after the first [`MAX_SENTENCES`] do
/// not count.
fn levels(document: &mut HostDocument<'_>, rows: &[f32], dimension: usize) -> Result<Vec<u8>> {
    document.clear();
    for row in rows.chunks_exact(dimension).take(MAX_SENTENCES) {
        document.push(row).map_err(Error::from)?;
    }
    Ok(undertone_audit::levels(document))
}

impl Mechanism for Selection {
    fn setting(&self) -> String {
        self.setting.clone()
    }

    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        let by_document = self.with_levels(documents, |number, levels| {
            let classes = draws.iter().map(|draw| {
                let candidate = self.draw(&levels, draw.epsilon, &mut draw.rng(number))?;
                Ok(self.class_of[candidate])
            });
            classes.collect::<Result<Vec<usize>>>()
        })?;
        let of_draw = |draw: usize| by_document.iter().map(|classes| classes[draw]).collect();
        Ok((0..draws.len()).map(of_draw).collect())
    }

    fn selection(&self) -> Option<&Selection> {
        Some(self)
    }
}

/// The first `sentences` sentences of each document.
fn cut(documents: &DocumentVectors, sentences: usize) -> DocumentVectors {
    let dimension = documents.dimension();
    let mut rows = Vec::new();
    let mut offsets = vec![0];
    for document in 0..documents.len() {
        let own = documents.document(document);
        rows.extend_from_slice(&own[..own.len().min(sentences * dimension)]);
        offsets.push(rows.len() / dimension);
    }
    DocumentVectors::new(dimension, rows, offsets)
}

/// The numbers of sentences to which documents are cut: 2, 4, 8, … until the longest is whole.
fn lengths(documents: &DocumentVectors) -> Vec<usize> {
    let sentences = (0..documents.len()).map(|number| documents.range(number).len());
    let longest = sentences.max().unwrap_or(0);
    let mut lengths = vec![2];
    while lengths.last().is_some_and(|last| *last < longest) {
        lengths.push(2 << lengths.len());
    }
    lengths
}

/// Measures each column on the test documents.
///
/// # Errors
/// Errors of the mechanisms.
pub fn measure(data: &Data, columns: &[Column<'_>], options: &Options) -> Result<Vec<Measured>> {
    let validation = data.learning.subset(&data.validation);
    let lengths = lengths(&data.test.documents);
    let mut epsilons = options.epsilons.clone();
    if !epsilons.contains(&options.fixed_epsilon) {
        epsilons.push(options.fixed_epsilon);
    }
    let mut measured = Vec::new();
    for column in columns {
        let part = column.part.as_ref();
        let test = part.map(|part| data.test.subset(&part.documents));
        let released = Released {
            column,
            test: test.as_ref().unwrap_or(&data.test),
            trials: part.map_or(options.trials, |part| part.trials),
            classes: data.classes.len(),
            options,
        };
        let start = Instant::now();
        let chosen = choose(
            column,
            &validation.documents,
            &epsilons,
            options,
            &|predicted| macro_f1(&validation.labels, predicted, released.classes),
        )?;
        let tuning = start.elapsed();

        let start = Instant::now();
        let by_epsilon = released.by_epsilon(&epsilons, &chosen)?;
        let releases = released.test.labels.len() * released.trials * options.epsilons.len();
        let per_release = start.elapsed() / u32::try_from(releases.max(1)).unwrap_or(u32::MAX);

        let fixed = epsilons.iter().zip(&chosen);
        let fixed = fixed
            .filter(|(epsilon, _)| **epsilon == options.fixed_epsilon)
            .find_map(|(_, index)| column.variants.get(*index));
        let mut by_sentences = Vec::new();
        let mut histogram = None;
        let mut losses = Vec::new();
        if let Some(variant) = fixed {
            by_sentences = released.by_sentences(variant.as_ref(), &lengths)?;
            if let Some(selection) = variant.selection() {
                let documents = &released.test.documents;
                histogram =
                    Some(selection.histogram(documents, &options.epsilons, options.seed)?);
                losses = selection.losses(documents, &options.epsilons)?;
            }
        }
        measured.push(Measured {
            name: column.name.clone(),
            encoder: data.encoder.name.clone(),
            promise: column.promise.clone(),
            role: column.role,
            releases: (released.test.labels.len(), released.trials),
            by_epsilon,
            by_sentences,
            histogram,
            losses,
            tuning,
            per_release,
        });
    }
    Ok(measured)
}

/// A mechanism and the test documents to release.
struct Released<'a> {
    column: &'a Column<'a>,
    test: &'a Labelled,
    /// Releases of each document.
    trials: usize,
    classes: usize,
    options: &'a Options,
}

impl Released<'_> {
    /// Scores of whole documents at each ε of the options, with the variant `chosen` for it.
    fn by_epsilon(&self, epsilons: &[Epsilon], chosen: &[usize]) -> Result<Vec<Point<Epsilon>>> {
        let (trials, options) = (self.trials, self.options);
        let mut points = Vec::new();
        for (index, variant) in self.column.variants.iter().enumerate() {
            let own: Vec<Epsilon> = epsilons
                .iter()
                .zip(chosen)
                .filter(|(epsilon, chosen)| **chosen == index && options.epsilons.contains(epsilon))
                .map(|(epsilon, _)| *epsilon)
                .collect();
            if own.is_empty() {
                continue;
            }
            let draws: Vec<Draw> = own
                .iter()
                .flat_map(|epsilon| Draw::trials(*epsilon, trials, options.seed))
                .collect();
            let predictions = variant.predict(&self.test.documents, &draws)?;
            for (epsilon, predictions) in own.iter().zip(predictions.chunks(trials)) {
                points.push(Point {
                    x: *epsilon,
                    setting: variant.setting(),
                    score: self.score(predictions),
                });
            }
        }
        points.sort_by_key(|point| point.x.micro());
        Ok(points)
    }

    /// Scores of documents cut to these lengths, at the fixed ε.
    fn by_sentences(
        &self,
        variant: &dyn Mechanism,
        lengths: &[usize],
    ) -> Result<Vec<Point<usize>>> {
        let options = self.options;
        let draws = Draw::trials(options.fixed_epsilon, self.trials, options.seed);
        let point = |length: &usize| {
            let predictions = variant.predict(&cut(&self.test.documents, *length), &draws)?;
            Ok(Point {
                x: *length,
                setting: variant.setting(),
                score: self.score(&predictions),
            })
        };
        lengths.iter().map(point).collect()
    }

    /// The scores of the classes predicted in each trial.
    fn score(&self, predictions: &[Vec<usize>]) -> Score {
        let labels = &self.test.labels;
        let over_trials = |score: &dyn Fn(&Vec<usize>) -> f64| {
            MeanSd::new(&predictions.iter().map(score).collect::<Vec<f64>>())
        };
        Score {
            macro_f1: over_trials(&|predicted| macro_f1(labels, predicted, self.classes)),
            accuracy: over_trials(&|predicted| accuracy(labels, predicted)),
        }
    }
}

/// For each ε, the variant with the best mean score on the validation documents; the first of
/// equals.
fn choose(
    column: &Column<'_>,
    validation: &DocumentVectors,
    epsilons: &[Epsilon],
    options: &Options,
    score: &dyn Fn(&Vec<usize>) -> f64,
) -> Result<Vec<usize>> {
    let mut best = vec![(0, f64::NEG_INFINITY); epsilons.len()];
    if column.variants.len() > 1 {
        let draws: Vec<Draw> = epsilons
            .iter()
            .flat_map(|epsilon| Draw::trials(*epsilon, options.trials, options.seed))
            .collect();
        for (index, variant) in column.variants.iter().enumerate() {
            let predictions = variant.predict(validation, &draws)?;
            for (best, trials) in best.iter_mut().zip(predictions.chunks(options.trials)) {
                let mean = MeanSd::new(&trials.iter().map(score).collect::<Vec<f64>>()).mean;
                if mean > best.1 {
                    *best = (index, mean);
                }
            }
        }
    }
    Ok(best.into_iter().map(|(index, _)| index).collect())
}

/// A [`Teacher`] for the classifier of the paper, a perceptron of four layers with early stopping
/// on the validation documents.
///
/// # Errors
/// Errors of [`Classifier::train`].
pub fn perceptron(data: &Data, points: &[f32]) -> Result<Box<dyn Classify>> {
    let run = Run {
        progress: &|steps| Progress::new("training a classifier", steps),
        ..Run::new(undertone_train::Options::default())
    };
    let targets = Targets {
        of_documents: data.learning.labels.to_vec(),
        classes: data.classes.len(),
    };
    let split = Split {
        train: &data.train,
        validation: &data.validation,
    };
    let dimension = data.learning.documents.dimension();
    let (classifier, _) = Classifier::train(points, dimension, &targets, &split, &run)?;
    Ok(Box::new(classifier))
}

impl Classify for Classifier {
    fn predict(&self, points: &[f32]) -> Vec<usize> {
        Self::predict(self, points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::columns::{Extent, columns};
    use crate::documents::data::Task;
    use std::io::Write;
    use undertone::demo;
    use undertone::encoder::LexiconEncoder;
    use undertone::encoder::vectors::mean;

    /// A classifier that returns the class with the nearest mean over the training documents.
    struct NearestMean {
        dimension: usize,
        /// Class and mean; classes without a document are left out.
        means: Vec<(usize, Vec<f32>)>,
    }

    /// A [`Teacher`] that takes almost no time.
    fn nearest_mean(data: &Data, points: &[f32]) -> Result<Box<dyn Classify>> {
        let dimension = data.learning.documents.dimension();
        let of_class = |class: usize| {
            let own = data
                .train
                .iter()
                .filter(|d| data.learning.labels[**d] == class);
            let rows: Vec<f32> = own
                .flat_map(|d| &points[d * dimension..(d + 1) * dimension])
                .copied()
                .collect();
            (!rows.is_empty()).then(|| (class, mean(&rows, dimension)))
        };
        Ok(Box::new(NearestMean {
            dimension,
            means: (0..data.classes.len()).filter_map(of_class).collect(),
        }))
    }

    impl Classify for NearestMean {
        fn predict(&self, points: &[f32]) -> Vec<usize> {
            let nearest = |point: &[f32]| {
                let distance = |(class, mean): &(usize, Vec<f32>)| {
                    let squares = point.iter().zip(mean).map(|(a, b)| (a - b) * (a - b));
                    (*class, squares.sum::<f32>())
                };
                let distances = self.means.iter().map(distance);
                distances
                    .min_by(|a, b| a.1.total_cmp(&b.1))
                    .map_or(0, |(class, _)| class)
            };
            points.chunks_exact(self.dimension).map(nearest).collect()
        }
    }

    /// The demo corpus: 12 topics with distinct words.
    fn demo_data() -> Data {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo.jsonl");
        let mut file = std::fs::File::create(&path).unwrap();
        for document in demo::corpus(1) {
            let line = serde_json::json!({"label": document.label, "text": document.text});
            writeln!(file, "{line}").unwrap();
        }
        let task = Task::open(&path, None).unwrap();
        Data::load(&task, &LexiconEncoder::embedded(), None, 1).unwrap()
    }

    fn small_options() -> Options {
        Options {
            epsilons: ["1", "30"].map(|text| text.parse().unwrap()).to_vec(),
            trials: 2,
            candidates: 150,
            ..Options::default()
        }
    }

    fn macro_f1_of(measured: &[Measured], name: &str, epsilon: usize) -> f64 {
        let column = measured.iter().find(|measured| measured.name == name);
        column.unwrap().by_epsilon[epsilon].score.macro_f1.mean
    }

    /// Shows that the bound on guesses can fail: levels of a sentence that counts twice are guessed
    /// more often than ε allows.
    #[test]
    fn a_sentence_that_counts_twice_is_guessed() {
        let ratio = Ratio::new("1".parse().unwrap());
        let right = |moved: u8| {
            let levels = [vec![0, moved], vec![moved, 0]];
            best_guess(
                &levels.map(|levels| Law::new(levels, ratio, Rule::Exponential)),
                2,
            )
        };
        let bound = 1.0 / (1.0 + (-1f64).exp());
        // One level goes up and the other down, each for half of ε.
        assert!((right(2) - bound).abs() < 1e-9, "{}", right(2));
        assert!(right(4) > bound + 0.1, "{}", right(4));
    }

    #[test]
    fn mechanisms_stand_where_they_should_on_the_demo_corpus() {
        let (data, options) = (demo_data(), small_options());
        let columns = columns(&data, Extent::All, None, &nearest_mean, &options).unwrap();
        let measured = measure(&data, &columns, &options).unwrap();
        let f1 = |name, epsilon| macro_f1_of(&measured, name, epsilon);
        assert!(f1("non-private", 0) > 0.9);
        assert!(f1("random guess", 1) < 0.25);
        for name in ["depth, as published", "depth, best variant"] {
            assert!(f1(name, 1) > f1(name, 0) + 0.1, "{name}");
            assert!(f1(name, 0) < f1("scores", 0), "{name}");
        }
        assert!(f1("depth, best variant", 1) > f1("truncation", 1));
        assert!(f1("scores", 0) > 0.7 && f1("scores", 1) > 0.9);
        assert!(f1("scores, no labels", 0) > f1("two stages", 0));
        for measured in &measured {
            let lengths: Vec<usize> = measured.by_sentences.iter().map(|point| point.x).collect();
            assert_eq!(lengths, [2, 4, 8, 16]);
            for loss in &measured.losses {
                let epsilon = document::epsilon_f64(loss.epsilon);
                assert!(loss.worst > 0.0 && loss.worst <= epsilon + 1e-9, "{loss:?}");
                let [mean, worst] = loss.guessed;
                let bound = 1.0 / (1.0 + (-epsilon).exp());
                // If all neighbours share the best candidate, a guess is a coin toss.
                assert!(mean > 0.5 - 1e-9 && mean <= worst + 1e-9, "{loss:?}");
                assert!(worst <= bound + 1e-9, "{loss:?}");
            }
            if let Some(histogram) = &measured.histogram {
                let documents = data.test.labels.len() as u64;
                assert_eq!(histogram.all.iter().sum::<u64>() % documents, 0);
                for (_, drawn) in &histogram.drawn {
                    assert_eq!(drawn.iter().sum::<u64>(), documents);
                }
            }
        }
        assert_eq!(measured.iter().filter(|m| m.histogram.is_some()).count(), 8);
    }

    #[test]
    fn what_is_measured_depends_on_the_seed_alone() {
        let (data, mut options) = (demo_data(), small_options());
        let scores = |options: &Options| {
            let mut columns = columns(&data, Extent::All, None, &nearest_mean, options).unwrap();
            columns.retain(|column| column.name == "depth, as published");
            let [measured] = &measure(&data, &columns, options).unwrap()[..] else {
                panic!("one column of this name");
            };
            measured.by_epsilon.clone()
        };
        let first = scores(&options);
        // Removing an ε leaves the results at the others unchanged.
        options.epsilons.remove(0);
        assert_eq!(scores(&options), first[1..]);
        options.seed = 2;
        assert_ne!(scores(&options), first[1..]);
    }

    /// Predicts correctly only class 0, or all classes, from a given ε upwards.
    struct From {
        micro: u32,
    }

    impl Mechanism for From {
        fn setting(&self) -> String {
            format!("from {}", self.micro)
        }

        fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
            let class = |draw: &Draw, document: usize| {
                let knows = (draw.epsilon.micro() >= self.micro) != (self.micro == 2);
                if knows { document % 2 } else { 0 }
            };
            let predictions = draws
                .iter()
                .map(|draw| (0..documents.len()).map(|d| class(draw, d)).collect());
            Ok(predictions.collect())
        }
    }

    #[test]
    fn settings_are_chosen_for_each_epsilon_on_their_own() {
        // One variant is right from ε = 2 upwards, the other below 2.
        let column = Column {
            name: String::new(),
            promise: String::new(),
            role: Role::Candidate,
            variants: vec![Box::new(From { micro: 2 }), Box::new(From { micro: 3 })],
            part: None,
        };
        let documents = DocumentVectors::new(1, vec![0.0; 4], vec![0, 1, 2, 3, 4]);
        let epsilons = [1, 2, 3].map(|micro| Epsilon::from_micro(micro).unwrap());
        let score = |predicted: &Vec<usize>| macro_f1(&[0, 1, 0, 1], predicted, 2);
        let chosen = choose(&column, &documents, &epsilons, &small_options(), &score);
        assert_eq!(chosen.unwrap(), [0, 0, 1]);
    }
}
