//! Public documents and their sentences as the rows of a matrix of features and of an encoder's
//! coordinates.

use std::array;
use std::collections::HashMap;
use std::ops::Range;

use undertone_core::features::{FeatureKinds, each_feature};

/// The weight of a sentence of a document that has several; the document weighs 1. On held-out
/// folds of training texts, 0 is worse for reviews of many sentences, and 0.3 for those of a few.
const SENTENCE: f64 = 0.1;

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
                    sample
                        .features
                        .push(*columns.entry(equal[0]).or_insert(next));
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
        self.hashes = kept
            .iter()
            .map(|column| self.hashes[*column as usize])
            .collect();
    }

    /// The number of examples: documents, followed by sentences.
    pub(super) fn examples(&self) -> usize {
        self.documents.len() + self.sentences.len()
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

/// The column of each feature of the sample, if it has one. `features` are ascending.
fn columns(sample: &Sample, features: &[u32]) -> Vec<Option<u32>> {
    let mut columns = vec![None; sample.hashes.len()];
    for (column, feature) in (0..).zip(features) {
        columns[*feature as usize] = Some(column);
    }
    columns
}

/// The examples of these documents: the index of each among those of the sample, its sentences and
/// its class.
fn rows_of(
    sample: &Sample,
    documents: &[usize],
    examples: Examples,
) -> impl Iterator<Item = (usize, Range<usize>, u32)> {
    documents.iter().flat_map(move |document| {
        let class = sample.classes[*document];
        let all = sample.sentences_of(*document);
        let single = if examples == Examples::All && all.len() > 1 {
            all.clone()
        } else {
            0..0
        };
        let single = single.map(move |sentence| {
            let index = sample.documents.len() + sentence;
            (index, sentence..sentence + 1, class)
        });
        std::iter::once((*document, all, class)).chain(single)
    })
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

/// A matrix whose rows are examples and whose columns are some features, the coordinates of
/// directions and a bias.
///
/// An example is a document, or a sentence of a document that has several. A row is the sum over
/// the k sentences of the example, because a device adds their values, divided by √k, because the
/// sentences of a document resemble each other less than copies. The last column, for the bias, is
/// √k.
pub(super) struct Design {
    sparse: usize,
    dimension: usize,
    directions: Vec<f32>,
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
    classes: Vec<u32>,
    /// `[examples]`: √k.
    roots: Vec<f32>,
    /// `[examples]`: ‖x‖².
    squares: Vec<f64>,
    /// `[examples]`: the weight of each.
    importance: Vec<f64>,
    /// `[examples]`: the index of each among those of the sample.
    indices: Vec<usize>,
}

impl Design {
    /// The value of a feature in a sentence is its scale times its number of occurrences, divided
    /// by the square root of the number of the sentence's features. `features` are ascending.
    pub(super) fn new(
        sample: &Sample,
        documents: &[usize],
        features: &[u32],
        scales: &[f32],
        directions: &Directions,
        examples: Examples,
    ) -> Self {
        let mut design = Self::empty(features.len(), directions.dimension);
        let columns = columns(sample, features);
        let mut sums = vec![0f32; features.len()];
        for (index, sentences, class) in rows_of(sample, documents, examples) {
            design.push_row(sample, sentences, &columns, scales, directions, &mut sums);
            let is_document = index < sample.documents.len();
            let importance = if is_document { 1.0 } else { SENTENCE };
            design.classes.push(class);
            design.importance.push(importance);
            design.indices.push(index);
        }
        design.entries.shrink_to_fit();
        design
    }

    /// The mean Euclidean length of the rows of all examples, without directions and bias.
    pub(super) fn mean_length(
        sample: &Sample,
        documents: &[usize],
        features: &[u32],
        scales: &[f32],
    ) -> f32 {
        let mut design = Self::empty(features.len(), 0);
        let columns = columns(sample, features);
        let mut sums = vec![0f32; features.len()];
        let none = Directions::default();
        let (mut total, mut count) = (0f64, 0);
        for (_, sentences, _) in rows_of(sample, documents, Examples::All) {
            design.push_row(sample, sentences, &columns, scales, &none, &mut sums);
            let square: f32 = design.entries.iter().map(|(_, x)| x * x).sum();
            total += f64::from(square.sqrt());
            count += 1;
            design.entries.clear();
        }
        ((total / f64::from(count.max(1))) as f32).max(f32::MIN_POSITIVE)
    }

    fn empty(sparse: usize, dimension: usize) -> Self {
        Self {
            sparse,
            dimension,
            directions: Vec::new(),
            ends: Vec::new(),
            entries: Vec::new(),
            classes: Vec::new(),
            roots: Vec::new(),
            squares: Vec::new(),
            importance: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Adds the row of some sentences of a document. `columns` has the column of each feature of
    /// the sample, and `sums` one zero per column.
    fn push_row(
        &mut self,
        sample: &Sample,
        sentences: Range<usize>,
        columns: &[Option<u32>],
        scales: &[f32],
        directions: &Directions,
        sums: &mut [f32],
    ) {
        let root = (sentences.len() as f32).sqrt();
        let mut square = sentences.len() as f32;
        let dimension = self.dimension;
        for coordinate in 0..dimension {
            let rows = sentences.clone();
            let sum: f32 = rows
                .map(|sentence| directions.rows[sentence * dimension + coordinate])
                .sum();
            let x = sum / root;
            square += x * x;
            self.directions.push(x);
        }
        let start = self.entries.len();
        for sentence in sentences {
            let known = || {
                sample.sentence(sentence).filter_map(|(feature, count)| {
                    columns[feature as usize].map(|column| (column, f32::from(count)))
                })
            };
            let root = known().map(|(_, count)| count).sum::<f32>().sqrt();
            for (column, count) in known() {
                let sum = &mut sums[column as usize];
                if *sum == 0.0 {
                    self.entries.push((column, 0.0));
                }
                *sum += count / root;
            }
        }
        for (column, x) in &mut self.entries[start..] {
            let sum = std::mem::take(&mut sums[*column as usize]);
            *x = sum * scales[*column as usize] / root;
            square += *x * *x;
        }
        self.ends.push(self.entries.len());
        self.roots.push(root);
        self.squares.push(square.into());
    }

    /// The weight of an example: 1 for a document.
    pub(super) fn importance(&self, example: usize) -> f64 {
        self.importance[example]
    }

    /// `[examples]`: the index of each among those of the sample.
    pub(super) fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// ‖x‖² of an example.
    pub(super) fn square(&self, example: usize) -> f64 {
        self.squares[example]
    }

    pub(super) fn columns(&self) -> usize {
        self.sparse + self.dimension + 1
    }

    pub(super) fn classes(&self) -> &[u32] {
        &self.classes
    }

    fn row(&self, example: usize) -> (&[(u32, f32)], &[f32]) {
        let direction = example * self.dimension..(example + 1) * self.dimension;
        (
            &self.entries[nth(&self.ends, example)],
            &self.directions[direction],
        )
    }

    /// Returns the number of documents for whose class w·x is largest. `weights` is
    /// `[classes][columns]`.
    pub(super) fn right(&self, weights: &[Vec<f32>]) -> usize {
        let is_right = |example: &usize| {
            let values = weights.iter().map(|w| self.product(*example, w));
            let best = values.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
            best.is_some_and(|(class, _)| class as u32 == self.classes[*example])
        };
        let documents = (0..self.classes.len()).filter(|example| self.importance[*example] == 1.0);
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
        let (entries, direction) = self.row(example);
        let (sparse, dense) = weights.split_at(self.sparse);
        let (coordinates, bias) = dense.split_at(self.dimension);
        let features = sum_of(entries.len(), |index| {
            let (column, x) = entries[index];
            (x, &sparse[column as usize])
        });
        let dense = sum_of(direction.len(), |index| {
            (direction[index], &coordinates[index])
        });
        plus(plus(features, 1.0, &dense), self.roots[example], &bias[0])
    }

    /// Adds each of N factors times x of one example to one of N vectors. `sums` is
    /// `[columns][N]`.
    pub(super) fn add<const N: usize>(
        &self,
        example: usize,
        factors: &[f32; N],
        sums: &mut [[f32; N]],
    ) {
        let (entries, direction) = self.row(example);
        let (sparse, dense) = sums.split_at_mut(self.sparse);
        for (column, x) in entries {
            let sums = &mut sparse[*column as usize];
            *sums = plus(*sums, *x, factors);
        }
        let roots = &self.roots[example..=example];
        for (x, sums) in direction.iter().chain(roots).zip(dense) {
            *sums = plus(*sums, *x, factors);
        }
    }
}
