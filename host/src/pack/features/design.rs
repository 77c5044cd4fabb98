//! Public sentences as the rows of a matrix of features and of an encoder's coordinates.

use std::collections::HashMap;

use undertone_core::features::{FeatureKinds, each_feature};

/// Public sentences with their classes.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The number of coordinates of a direction; 0 without an encoder.
    pub(super) dimension: usize,
    /// `[sentences][dimension]`: directions from the centre.
    directions: Vec<f32>,
    /// The end of each sentence's features.
    ends: Vec<usize>,
    /// Hashes of features, repeated for each occurrence.
    features: Vec<u32>,
    /// `[sentences]`: the class of each.
    classes: Vec<u32>,
    /// `[sentences]`: the number of sentences in its document.
    lengths: Vec<usize>,
}

impl Sample {
    /// An empty sample, with directions of `dimension` coordinates; 0 without an encoder.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            ..Self::default()
        }
    }

    /// Adds a sentence of a document with `length` sentences.
    pub fn push(
        &mut self,
        kinds: FeatureKinds,
        text: &str,
        direction: &[f32],
        class: u32,
        length: usize,
    ) {
        each_feature(text.as_bytes(), kinds, |hash| self.features.push(hash));
        self.ends.push(self.features.len());
        self.directions.extend_from_slice(direction);
        self.classes.push(class);
        self.lengths.push(length);
    }

    /// The number of sentences.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The features of each sentence.
    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.features[start..*end])
    }

    /// Returns the features that occur in at least `least` sentences, with that number, in
    /// ascending order.
    pub(super) fn vocabulary(&self, least: u32) -> Vec<(u32, u32)> {
        let mut found = HashMap::<u32, (u32, usize)>::new();
        for (sentence, row) in (1..).zip(self.rows()) {
            for hash in row {
                let (count, last) = found.entry(*hash).or_default();
                if *last != sentence {
                    *count += 1;
                    *last = sentence;
                }
            }
        }
        let mut kept: Vec<(u32, u32)> = found
            .into_iter()
            .filter(|(_, (count, _))| *count >= least)
            .map(|(hash, (count, _))| (hash, count))
            .collect();
        kept.sort_unstable();
        kept
    }
}

/// A matrix whose columns are the features of a vocabulary, followed by the coordinates of
/// directions.
pub(super) struct Design {
    sparse: usize,
    dimension: usize,
    directions: Vec<f32>,
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
    classes: Vec<u32>,
    /// `[examples]`: weights with mean 1.
    importance: Vec<f64>,
}

impl Design {
    /// The value of a feature is its scale times its number of occurrences, divided by the square
    /// root of the number of the sentence's features in the vocabulary. The value of a coordinate
    /// is multiplied by `dense`.
    pub(super) fn new(sample: &Sample, vocabulary: &[u32], scales: &[f32], dense: f32) -> Self {
        let columns: HashMap<u32, u32> = vocabulary.iter().copied().zip(0..).collect();
        let mut entries = Vec::new();
        let mut ends = Vec::with_capacity(sample.len());
        let mut row = Vec::new();
        for features in sample.rows() {
            row.extend(features.iter().filter_map(|hash| columns.get(hash)));
            row.sort_unstable();
            let root = (row.len() as f32).sqrt();
            for equal in row.chunk_by(|a, b| a == b) {
                let value = equal.len() as f32 * scales[equal[0] as usize] / root;
                entries.push((equal[0], value));
            }
            row.clear();
            ends.push(entries.len());
        }
        Self {
            sparse: vocabulary.len(),
            dimension: sample.dimension,
            directions: sample.directions.iter().map(|x| x * dense).collect(),
            ends,
            entries,
            classes: sample.classes.clone(),
            importance: importance(&sample.lengths),
        }
    }

    /// The mean Euclidean length of the sparse parts.
    pub(super) fn mean_length(&self) -> f32 {
        let square = |example| self.row(example).0.iter().map(|(_, x)| x * x).sum::<f32>();
        let lengths = (0..self.ends.len()).map(|example| square(example).sqrt());
        (lengths.sum::<f32>() / self.ends.len().max(1) as f32).max(f32::MIN_POSITIVE)
    }

    /// The weight of an example, 1 on average.
    pub(super) fn importance(&self, example: usize) -> f64 {
        self.importance[example]
    }

    pub(super) fn columns(&self) -> usize {
        self.sparse + self.dimension
    }

    pub(super) fn classes(&self) -> &[u32] {
        &self.classes
    }

    fn row(&self, example: usize) -> (&[(u32, f32)], &[f32]) {
        let start = example.checked_sub(1).map_or(0, |before| self.ends[before]);
        let direction = example * self.dimension..(example + 1) * self.dimension;
        (
            &self.entries[start..self.ends[example]],
            &self.directions[direction],
        )
    }

    /// Returns w·x + b of one example; `parameters` end with b.
    pub(super) fn product(&self, example: usize, parameters: &[f64]) -> f64 {
        let (entries, direction) = self.row(example);
        let (sparse, dense) = parameters.split_at(self.sparse);
        let features: f64 = entries
            .iter()
            .map(|(column, x)| sparse[*column as usize] * f64::from(*x))
            .sum();
        let coordinates: f64 = direction
            .iter()
            .zip(dense)
            .map(|(x, w)| f64::from(*x) * w)
            .sum();
        features + coordinates + dense[self.dimension]
    }

    /// Adds `factor` times (x, 1) of one example to `sum`.
    pub(super) fn add(&self, example: usize, factor: f64, sum: &mut [f64]) {
        let (entries, direction) = self.row(example);
        let (sparse, dense) = sum.split_at_mut(self.sparse);
        for (column, x) in entries {
            sparse[*column as usize] += factor * f64::from(*x);
        }
        for (sum, x) in dense.iter_mut().zip(direction) {
            *sum += factor * f64::from(*x);
        }
        dense[self.dimension] += factor;
    }
}

/// The k sentences of a document weigh √k together, because they resemble each other.
fn importance(lengths: &[usize]) -> Vec<f64> {
    let raw: Vec<f64> = lengths
        .iter()
        .map(|length| 1.0 / (*length as f64).sqrt())
        .collect();
    let mean = raw.iter().sum::<f64>() / raw.len().max(1) as f64;
    raw.iter().map(|importance| importance / mean).collect()
}
