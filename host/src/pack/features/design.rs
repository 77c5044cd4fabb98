//! Public documents and their sentences as the rows of a matrix of features and of an encoder's
//! coordinates.

use std::array;
use std::collections::HashMap;
use std::ops::Range;

use undertone_core::features::{FeatureKinds, each_feature};

use super::Chosen;

/// The weight of a sentence of a document that has several; the document weighs 1. On held-out
/// folds of training texts, 0 is worse for reviews of many sentences, and 0.3 for those of a few.
const SENTENCE: f32 = 0.1;

/// The fewest documents with a feature. A feature that occurs once does not generalise.
pub(super) const LEAST: u32 = 2;

/// Public documents with their classes and the hashed features of their sentences.
#[derive(Debug, Default)]
pub struct Sample {
    /// The hash of each feature, ascending.
    hashes: Vec<u32>,
    /// `[documents]`: the end of each document's sentences.
    documents: Vec<usize>,
    /// `[sentences]`: the end of each sentence's features.
    sentences: Vec<usize>,
    /// The features of the sentences, as indices of `hashes`, with the number of occurrences.
    features: Vec<u32>,
    counts: Vec<u8>,
    /// `[documents]`: the class of each.
    classes: Vec<u32>,
    /// The power of the scales of rare features.
    pub(super) power: i32,
}

impl Sample {
    /// Hashes the features of documents, each given by its sentences and its class.
    pub fn new<'a, S: AsRef<str> + 'a>(
        kinds: FeatureKinds,
        documents: impl Iterator<Item = (&'a [S], u32)>,
    ) -> Self {
        let mut sample = Self {
            power: 1,
            ..Self::default()
        };
        let mut columns = HashMap::new();
        let mut row = Vec::new();
        for (sentences, class) in documents {
            for sentence in sentences {
                each_feature(sentence.as_ref().as_bytes(), kinds, |hash| row.push(hash));
                row.sort_unstable();
                for equal in row.chunk_by(|a, b| a == b) {
                    let next = columns.len() as u32;
                    let column = *columns.entry(equal[0]).or_insert(next);
                    sample.features.push(column);
                    sample.counts.push(equal.len().min(u8::MAX.into()) as u8);
                }
                row.clear();
                sample.sentences.push(sample.features.len());
            }
            sample.documents.push(sample.sentences.len());
            sample.classes.push(class);
        }
        sample.drop_rare(columns);
        sample
    }

    /// Drops the features of fewer than [`LEAST`] documents, and numbers the others in the order of
    /// their hashes.
    fn drop_rare(&mut self, columns: HashMap<u32, u32>) {
        self.hashes = vec![0; columns.len()];
        for (hash, column) in columns {
            self.hashes[column as usize] = hash;
        }
        let found = self.frequencies(&(0..self.documents.len()).collect::<Vec<_>>());
        let mut kept: Vec<u32> = (0..self.hashes.len() as u32)
            .filter(|column| found[*column as usize] >= LEAST)
            .collect();
        kept.sort_unstable_by_key(|column| self.hashes[*column as usize]);
        let mut numbers = vec![None; self.hashes.len()];
        for (number, column) in (0..).zip(&kept) {
            numbers[*column as usize] = Some(number);
        }
        let mut place = 0;
        let mut end = 0;
        for sentence in &mut self.sentences {
            for entry in end..*sentence {
                if let Some(number) = numbers[self.features[entry] as usize] {
                    self.features[place] = number;
                    self.counts[place] = self.counts[entry];
                    place += 1;
                }
            }
            end = std::mem::replace(sentence, place);
        }
        self.features.truncate(place);
        self.features.shrink_to_fit();
        self.counts.truncate(place);
        self.counts.shrink_to_fit();
        let hashes = kept.iter().map(|column| self.hashes[*column as usize]);
        self.hashes = hashes.collect();
    }

    /// The hash of a feature.
    pub(super) fn hash(&self, feature: u32) -> u32 {
        self.hashes[feature as usize]
    }

    /// Returns the indices of a document's sentences.
    fn sentences_of(&self, document: usize) -> Range<usize> {
        nth(&self.documents, document)
    }

    /// Returns the features of a sentence, with their numbers of occurrences.
    fn sentence(&self, sentence: usize) -> impl Iterator<Item = (u32, u8)> {
        let range = nth(&self.sentences, sentence);
        let features = self.features[range.clone()].iter().copied();
        features.zip(self.counts[range].iter().copied())
    }

    /// Returns the number of these documents with each feature.
    pub(super) fn frequencies(&self, documents: &[usize]) -> Vec<u32> {
        let mut found = vec![0; self.hashes.len()];
        let mut last = vec![usize::MAX; self.hashes.len()];
        for document in documents {
            let sentences = self.sentences_of(*document);
            for (feature, _) in sentences.flat_map(|sentence| self.sentence(sentence)) {
                let feature = feature as usize;
                if last[feature] != *document {
                    last[feature] = *document;
                    found[feature] += 1;
                }
            }
        }
        found
    }
}

/// Returns the range of one of several consecutive parts, given by their ends.
fn nth(ends: &[usize], index: usize) -> Range<usize> {
    index.checked_sub(1).map_or(0, |before| ends[before])..ends[index]
}

/// The directions of sentences.
#[derive(Clone, Debug, Default)]
pub struct Directions {
    /// The number of coordinates; 0 without an encoder.
    pub dimension: usize,
    /// The factor that gives the rows of documents a mean length of 1.
    pub scale: f32,
    /// `[sentences][dimension]`, scaled.
    pub rows: Vec<f32>,
}

/// The examples of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Examples {
    /// Documents, and the sentences of documents that have several.
    All,
    /// Documents only.
    Documents,
}

/// The number of sums into which an inner product is split, because a single sum would wait for
/// each of its additions.
const SUMS: usize = 4;

/// Returns `sums` plus `factor` times `weights`. By value, or the compiler uses no vectors.
fn plus<const N: usize>(sums: [f32; N], factor: f32, weights: &[f32; N]) -> [f32; N] {
    array::from_fn(|class| sums[class] + factor * weights[class])
}

/// Returns the sum of `count` terms, each a factor and weights to multiply by it.
fn sum_of<'a, const N: usize>(
    count: usize,
    term: impl Fn(usize) -> (f32, &'a [f32; N]),
) -> [f32; N] {
    let mut sums = [[0.0; N]; SUMS];
    let whole = count - count % SUMS;
    for start in (0..whole).step_by(SUMS) {
        sums = array::from_fn(|place| {
            let (factor, weights) = term(start + place);
            plus(sums[place], factor, weights)
        });
    }
    let all = (sums.iter()).fold([0.0; N], |all, sum| plus(all, 1.0, sum));
    (whole..count).fold(all, |all, index| {
        let (factor, weights) = term(index);
        plus(all, factor, weights)
    })
}

/// A sentence of a [`Design`].
struct Sentence {
    /// The range of its features.
    features: Range<usize>,
    /// 1/√n for n occurrences.
    factor: f32,
}

/// The scale of the column for the bias. With 1, coordinate descent needs more passes, because all
/// examples share the column; with 0.1, the penalty keeps the biases for a few hundred documents
/// small.
pub(super) const BIAS: f32 = 0.4;

/// A row of a [`Design`].
pub(super) struct Example {
    /// The range of its sentences.
    sentences: Range<usize>,
    /// √k for k sentences.
    pub(super) root: f32,
    /// The Euclidean length, without the column for the bias.
    length: f32,
    /// The weight in a fit: 1 for a document.
    pub(super) importance: f32,
    class: u32,
}

impl Example {
    /// Returns y: 1 for an example of the class, −1 for another.
    pub(super) fn sign(&self, class: usize) -> f64 {
        if self.class as usize == class {
            1.0
        } else {
            -1.0
        }
    }
}

/// A matrix whose rows are examples and whose columns are some features, the coordinates of
/// directions and a bias.
///
/// An example is a document, or a sentence of a document that has several. A row is the sum over
/// the k sentences of the example, because a device adds their values, divided by √k, because the
/// sentences of a document resemble each other less than copies. The last column, for the bias, is
/// √k times [`BIAS`].
///
/// The value of a feature in a sentence is its scale times its number of occurrences, divided by
/// the square root of the number of the sentence's features. Weights of features and of the bias
/// contain the scale, so only numbers of occurrences are stored, and examples share sentences.
pub(super) struct Design {
    /// `[features]`: the square of each scale.
    scales: Vec<f32>,
    dimension: usize,
    sentences: Vec<Sentence>,
    /// The columns of the features of all sentences, with the numbers of occurrences.
    features: Vec<u32>,
    counts: Vec<u8>,
    examples: Vec<Example>,
    /// `[examples][dimension]`.
    directions: Vec<f32>,
}

impl Design {
    pub(super) fn new(
        sample: &Sample,
        chosen: &Chosen,
        documents: &[usize],
        directions: &Directions,
        examples: Examples,
    ) -> Self {
        let mut design = Self {
            scales: chosen.scales.iter().map(|scale| scale * scale).collect(),
            dimension: directions.dimension,
            sentences: Vec::new(),
            features: Vec::new(),
            counts: Vec::new(),
            examples: Vec::new(),
            directions: Vec::new(),
        };
        let mut columns = vec![None; sample.hashes.len()];
        for (column, feature) in (0..).zip(&chosen.features) {
            columns[*feature as usize] = Some(column);
        }
        let mut sums = vec![0f32; chosen.features.len()];
        for &document in documents {
            let all = sample.sentences_of(document);
            if all.is_empty() {
                continue;
            }
            let (start, class) = (design.sentences.len(), sample.classes[document]);
            for sentence in all.clone() {
                design.push_sentence(sample.sentence(sentence), &columns);
            }
            let mut push = |sentences: Range<usize>, importance| {
                let [from, to] =
                    [sentences.start, sentences.end].map(|own| own * directions.dimension);
                let first = start + sentences.start - all.start;
                let example = Example {
                    sentences: first..first + sentences.len(),
                    root: (sentences.len() as f32).sqrt(),
                    length: 0.0,
                    importance,
                    class,
                };
                design.push_example(example, &directions.rows[from..to], &mut sums);
            };
            push(all.clone(), 1.0);
            if examples == Examples::All && all.len() > 1 {
                for sentence in all.clone() {
                    push(sentence..sentence + 1, SENTENCE);
                }
            }
        }
        design
    }

    /// Adds a sentence, with the features that have a column. `columns` has the column of each
    /// feature of the sample.
    fn push_sentence(
        &mut self,
        features: impl Iterator<Item = (u32, u8)>,
        columns: &[Option<u32>],
    ) {
        let start = self.features.len();
        let mut total = 0u32;
        for (feature, count) in features {
            if let Some(column) = columns[feature as usize] {
                self.features.push(column);
                self.counts.push(count);
                total += u32::from(count);
            }
        }
        self.sentences.push(Sentence {
            features: start..self.features.len(),
            factor: 1.0 / (total.max(1) as f32).sqrt(),
        });
    }

    /// Adds an example and its length. `directions` has the directions of its sentences, and `sums`
    /// a zero for each feature.
    fn push_example(&mut self, mut example: Example, directions: &[f32], sums: &mut [f32]) {
        let mut square = 0f32;
        for sentence in &self.sentences[example.sentences.clone()] {
            for (column, count) in self.occurrences(sentence) {
                sums[column] += count * sentence.factor;
            }
        }
        for sentence in &self.sentences[example.sentences.clone()] {
            for (column, _) in self.occurrences(sentence) {
                let sum = std::mem::take(&mut sums[column]);
                square += sum * sum * self.scales[column];
            }
        }
        for coordinate in 0..self.dimension {
            let all = directions.iter().skip(coordinate);
            let sum: f32 = all.step_by(self.dimension).sum();
            square += sum * sum;
            self.directions.push(sum / example.root);
        }
        example.length = square.sqrt() / example.root;
        self.examples.push(example);
    }

    /// Returns the columns of a sentence's features, with their numbers of occurrences.
    fn occurrences(&self, sentence: &Sentence) -> impl Iterator<Item = (usize, f32)> {
        let columns = self.features[sentence.features.clone()].iter();
        let counts = self.counts[sentence.features.clone()].iter();
        let occurrences = columns.zip(counts);
        occurrences.map(|(column, count)| (*column as usize, f32::from(*count)))
    }

    /// ‖x‖² of an example.
    pub(super) fn square(&self, example: usize) -> f32 {
        let own = &self.examples[example];
        own.length * own.length + (BIAS * own.root).powi(2)
    }

    pub(super) fn examples(&self) -> &[Example] {
        &self.examples
    }

    pub(super) fn columns(&self) -> usize {
        self.scales.len() + self.dimension + 1
    }

    /// The mean Euclidean length of the rows, without the column for the bias.
    pub(super) fn mean_length(&self) -> f32 {
        let lengths = self.examples.iter().map(|own| f64::from(own.length));
        let total: f64 = lengths.sum();
        ((total / self.examples.len().max(1) as f64) as f32).max(f32::MIN_POSITIVE)
    }

    fn direction(&self, example: usize) -> &[f32] {
        &self.directions[example * self.dimension..(example + 1) * self.dimension]
    }

    /// Returns the number of documents for whose class w·x is largest. `weights` is
    /// `[classes][columns]`.
    pub(super) fn right(&self, weights: &[Vec<f32>]) -> usize {
        let is_right = |(place, example): &(usize, &Example)| {
            let values = weights.iter().map(|w| self.product(*place, w));
            let best = values.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
            best.is_some_and(|(class, _)| class as u32 == example.class)
        };
        let examples = self.examples.iter().enumerate();
        let documents = examples.filter(|(_, example)| example.importance == 1.0);
        documents.filter(is_right).count()
    }

    /// Returns w·x of one example.
    pub(super) fn product(&self, example: usize, weights: &[f32]) -> f32 {
        let [product] = self.products(example, weights.as_chunks().0);
        product
    }

    /// Returns w·x of one example for N vectors w, `[columns][N]`: reading x takes most of the
    /// time, so it is read once.
    pub(super) fn products<const N: usize>(
        &self,
        example: usize,
        weights: &[[f32; N]],
    ) -> [f32; N] {
        let (sparse, dense) = weights.split_at(self.scales.len());
        let (coordinates, bias) = dense.split_at(self.dimension);
        let direction = self.direction(example);
        let dense = sum_of(direction.len(), |index| {
            (direction[index], &coordinates[index])
        });
        let example = &self.examples[example];
        let mut sums = plus(dense, example.root, &bias[0]);
        for sentence in &self.sentences[example.sentences.clone()] {
            let columns = &self.features[sentence.features.clone()];
            let counts = &self.counts[sentence.features.clone()];
            let features = sum_of(columns.len(), |index| {
                let weights = &sparse[columns[index] as usize];
                (f32::from(counts[index]), weights)
            });
            sums = plus(sums, sentence.factor / example.root, &features);
        }
        sums
    }

    /// Adds each of N factors times x of one example to one of N vectors w, `[columns][N]`.
    pub(super) fn add<const N: usize>(
        &self,
        example: usize,
        factors: &[f32; N],
        weights: &mut [[f32; N]],
    ) {
        let (sparse, dense) = weights.split_at_mut(self.scales.len());
        let direction = self.direction(example);
        let example = &self.examples[example];
        let bias = BIAS * BIAS * example.root;
        for (x, weights) in direction.iter().chain([&bias]).zip(dense) {
            *weights = plus(*weights, *x, factors);
        }
        for sentence in &self.sentences[example.sentences.clone()] {
            let factors = factors.map(|factor| factor * sentence.factor / example.root);
            for (column, count) in self.occurrences(sentence) {
                let weights = &mut sparse[column];
                *weights = plus(*weights, count * self.scales[column], &factors);
            }
        }
    }
}
