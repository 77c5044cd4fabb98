//! Public documents as the rows of a matrix of features and of an encoder's coordinates.

use std::collections::HashMap;

use undertone_core::features::{FeatureKinds, each_feature};

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
}

impl Sample {
    /// Hashes the features of documents, each given by its sentences and its class.
    pub fn new<'a, S: AsRef<str> + 'a>(
        kinds: FeatureKinds,
        documents: impl Iterator<Item = (&'a [S], u32)>,
    ) -> Self {
        let mut sample = Self::default();
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

    /// Drops the features of fewer than [`LEAST`] documents, and numbers the others by their hashes.
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

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// The hash of a feature.
    pub(super) fn hash(&self, feature: u32) -> u32 {
        self.hashes[feature as usize]
    }

    /// Returns the features of each sentence of a document, with their numbers of occurrences.
    fn document(&self, document: usize) -> impl Iterator<Item = impl Iterator<Item = (u32, u8)>> {
        let start =
            |ends: &[usize], index: usize| index.checked_sub(1).map_or(0, |before| ends[before]);
        (start(&self.documents, document)..self.documents[document]).map(move |sentence| {
            let range = start(&self.sentences, sentence)..self.sentences[sentence];
            let features = self.features[range.clone()].iter().copied();
            features.zip(self.counts[range].iter().copied())
        })
    }

    /// Returns the number of these documents with each feature.
    pub(super) fn frequencies(&self, documents: &[usize]) -> Vec<u32> {
        let mut found = vec![0; self.hashes.len()];
        let mut last = vec![usize::MAX; self.hashes.len()];
        for document in documents {
            for (feature, _) in self.document(*document).flatten() {
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

/// The sums of the directions of the sentences of documents.
#[derive(Clone, Debug, Default)]
pub struct Directions {
    /// The number of coordinates; 0 without an encoder.
    pub dimension: usize,
    /// The factor that gives the rows of a design a mean length of 1.
    pub scale: f32,
    /// `[documents][dimension]`, scaled.
    pub sums: Vec<f32>,
}

/// A matrix whose rows are documents and whose columns are some features, the coordinates of
/// directions and a bias.
///
/// A row is the sum over the k sentences of a document, because a device adds their values, divided
/// by √k, because the sentences of a document resemble each other less than copies. The last
/// column, for the bias, is √k.
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
    ) -> Self {
        const NONE: u32 = u32::MAX;
        let mut columns = vec![NONE; sample.hashes.len()];
        for (column, feature) in (0..).zip(features) {
            columns[*feature as usize] = column;
        }
        let dimension = directions.dimension;
        let mut design = Self {
            sparse: features.len(),
            dimension,
            directions: Vec::with_capacity(documents.len() * dimension),
            ends: Vec::with_capacity(documents.len()),
            entries: Vec::new(),
            classes: documents
                .iter()
                .map(|index| sample.classes[*index])
                .collect(),
            roots: Vec::with_capacity(documents.len()),
            squares: Vec::with_capacity(documents.len()),
        };
        let mut sums = vec![0f32; features.len()];
        let mut touched = Vec::new();
        for document in documents {
            let mut sentences = 0;
            for sentence in sample.document(*document) {
                sentences += 1;
                let known = sentence.filter_map(|(feature, count)| {
                    let column = columns[feature as usize];
                    (column != NONE).then_some((column, f32::from(count)))
                });
                let known: Vec<(u32, f32)> = known.collect();
                let root = known.iter().map(|(_, count)| count).sum::<f32>().sqrt();
                for (column, count) in known {
                    let sum = &mut sums[column as usize];
                    if *sum == 0.0 {
                        touched.push(column);
                    }
                    *sum += count / root;
                }
            }
            let root = (sentences as f32).sqrt();
            let direction = document * dimension..(document + 1) * dimension;
            let direction = directions.sums[direction].iter().map(|sum| sum / root);
            let mut square = sentences as f32;
            for x in direction {
                square += x * x;
                design.directions.push(x);
            }
            for column in touched.drain(..) {
                let place = column as usize;
                let x = sums[place] * scales[place] / root;
                sums[place] = 0.0;
                square += x * x;
                design.entries.push((column, x));
            }
            design.ends.push(design.entries.len());
            design.roots.push(root);
            design.squares.push(square.into());
        }
        design
    }

    /// The mean Euclidean length of the sparse parts.
    pub(super) fn mean_length(&self) -> f32 {
        let square = |example| self.row(example).0.iter().map(|(_, x)| x * x).sum::<f32>();
        let lengths = (0..self.ends.len()).map(|example| square(example).sqrt());
        (lengths.sum::<f32>() / self.ends.len().max(1) as f32).max(f32::MIN_POSITIVE)
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
        let start = example.checked_sub(1).map_or(0, |before| self.ends[before]);
        let direction = example * self.dimension..(example + 1) * self.dimension;
        (
            &self.entries[start..self.ends[example]],
            &self.directions[direction],
        )
    }

    /// Returns w·x of one example.
    pub(super) fn product(&self, example: usize, weights: &[f64]) -> f64 {
        let (entries, direction) = self.row(example);
        let (sparse, dense) = weights.split_at(self.sparse);
        let features: f64 = entries
            .iter()
            .map(|(column, x)| sparse[*column as usize] * f64::from(*x))
            .sum();
        let coordinates: f64 = direction
            .iter()
            .zip(dense)
            .map(|(x, w)| f64::from(*x) * w)
            .sum();
        features + coordinates + dense[self.dimension] * f64::from(self.roots[example])
    }

    /// Adds `factor` times x of one example to `sum`.
    pub(super) fn add(&self, example: usize, factor: f64, sum: &mut [f64]) {
        let (entries, direction) = self.row(example);
        let (sparse, dense) = sum.split_at_mut(self.sparse);
        for (column, x) in entries {
            sparse[*column as usize] += factor * f64::from(*x);
        }
        for (sum, x) in dense.iter_mut().zip(direction) {
            *sum += factor * f64::from(*x);
        }
        dense[self.dimension] += factor * f64::from(self.roots[example]);
    }
}
