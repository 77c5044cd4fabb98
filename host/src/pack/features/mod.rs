//! Sparse heads: weights of words, pairs of words and runs of characters, fitted to public sentences.
//!
//! One linear classifier for each class reads the features of a sentence and, where there is an encoder, the direction of
//! its vector. Features that tell classes apart least are dropped until the pack is small enough, and what is left is
//! fitted again.

mod design;
mod margin;

use undertone_core::features::FeatureKinds;

use design::Design;
pub use design::Sample;

use super::trained::ScoreHeads;
use super::writer::FeaturesData;

/// Features of fewer sentences are left out: what occurs once tells nothing of other texts.
const LEAST: u32 = 2;

/// C of the squared hinge, for rows of mean length 1.
const COST: f64 = 1.0;

/// How many more features than fit are fitted before the last choice.
const STEP: f64 = 1.5;

/// What a pack's features are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// What counts as a feature.
    pub kinds: FeatureKinds,
    /// A feature is scaled by the logarithm of its rarity to this power.
    pub rarity: f32,
    /// A direction, whose length is 1, is scaled by this.
    pub dense: f32,
}

/// Words, pairs and runs of 1 to 5 characters.
pub const KINDS: FeatureKinds = FeatureKinds {
    words: true,
    pairs: true,
    least: 1,
    most: 5,
};

impl Default for Recipe {
    fn default() -> Self {
        Self {
            kinds: KINDS,
            rarity: 1.0,
            dense: 1.0,
        }
    }
}

/// Heads that were fitted, in units of the margin.
pub struct SparseHeads {
    kinds: FeatureKinds,
    /// The hash of each feature, and its weight for each class.
    rows: Vec<(u32, Vec<f32>)>,
    /// `[classes][dimension]`.
    dense: Vec<f32>,
    /// `[classes]`.
    bias: Vec<f32>,
}

/// The features that are in use, with the scale of each.
struct Chosen {
    hashes: Vec<u32>,
    scales: Vec<f32>,
}

impl Chosen {
    /// All features of the sample; rare ones count more.
    fn all(sample: &Sample, recipe: &Recipe) -> Self {
        let vocabulary = sample.vocabulary(LEAST);
        let sentences = sample.len() as f32;
        let rarity = |found: u32| ((1.0 + sentences) / (1.0 + found as f32)).ln() + 1.0;
        Self {
            scales: vocabulary
                .iter()
                .map(|(_, found)| rarity(*found).powf(recipe.rarity))
                .collect(),
            hashes: vocabulary.into_iter().map(|(hash, _)| hash).collect(),
        }
    }

    /// Those with the largest of `values`, in their order.
    fn best(&self, values: &[f64], most: usize) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        order.truncate(most);
        order.sort_unstable();
        Self {
            hashes: order.iter().map(|index| self.hashes[*index]).collect(),
            scales: order.iter().map(|index| self.scales[*index]).collect(),
        }
    }
}

/// Fits heads whose section of features takes at most `budget` bytes. `None` if no feature fits.
///
/// # Shapes
/// `classes`: above all classes of the sample, at least 2.
///
/// # Cost
/// A few fits, each of which goes through all features of the sample some 40 times for each class.
///
/// # Source
/// Guyon, Weston, Barnhill and Vapnik (2002): dropping the features of least weight and fitting again.
pub fn fit(sample: &Sample, classes: usize, recipe: &Recipe, budget: usize) -> Option<SparseHeads> {
    let mut chosen = Chosen::all(sample, recipe);
    loop {
        if chosen.hashes.is_empty() {
            return None;
        }
        let (design, length) = scaled(sample, &chosen, recipe);
        let weights = margin::fit(&design, classes, COST);
        let heads = SparseHeads::new(&chosen, recipe, sample.dimension, &weights, length);
        let bytes = heads.bytes();
        if bytes <= budget {
            return Some(heads);
        }
        let values: Vec<f64> = (0..chosen.hashes.len())
            .map(|column| weights.iter().map(|w| w[column] * w[column]).sum())
            .collect();
        // As many as fit, unless that is far fewer.
        let fitting = (chosen.hashes.len() as f64 * budget as f64 / bytes as f64) as usize;
        let fewer = (chosen.hashes.len() as f64 / STEP) as usize;
        chosen = chosen.best(&values, fewer.max(fitting).min(chosen.hashes.len() - 1));
    }
}

/// The rows, divided by their mean length, and that length.
fn scaled(sample: &Sample, chosen: &Chosen, recipe: &Recipe) -> (Design, f32) {
    let design = Design::new(sample, &chosen.hashes, &chosen.scales, 1.0);
    let length = design.mean_length();
    let scales: Vec<f32> = chosen.scales.iter().map(|scale| scale / length).collect();
    (
        Design::new(sample, &chosen.hashes, &scales, recipe.dense),
        length,
    )
}

impl SparseHeads {
    fn new(
        chosen: &Chosen,
        recipe: &Recipe,
        dimension: usize,
        weights: &[Vec<f64>],
        length: f32,
    ) -> Self {
        let sparse = chosen.hashes.len();
        let features = chosen.hashes.iter().zip(&chosen.scales).enumerate();
        Self {
            kinds: recipe.kinds,
            rows: features
                .map(|(column, (hash, scale))| {
                    let row = weights.iter().map(|w| w[column] as f32 * scale / length);
                    (*hash, row.collect())
                })
                .collect(),
            dense: weights
                .iter()
                .flat_map(|w| &w[sparse..sparse + dimension])
                .map(|w| *w as f32 * recipe.dense)
                .collect(),
            bias: weights
                .iter()
                .map(|w| w[sparse + dimension] as f32)
                .collect(),
        }
    }

    /// The largest weight of each class.
    fn largest(&self) -> Vec<f32> {
        let mut largest = vec![f32::MIN_POSITIVE; self.bias.len()];
        for (_, row) in &self.rows {
            for (largest, weight) in largest.iter_mut().zip(row) {
                *largest = largest.max(weight.abs());
            }
        }
        largest
    }

    /// Each feature with its weights in 8 bits, which are 127 for the largest of a class.
    fn rounded(&self) -> Vec<(u32, Vec<i8>)> {
        let largest = self.largest();
        let round =
            |(weight, largest): (&f32, &f32)| (weight / largest * f32::from(i8::MAX)).round() as i8;
        let rows = self.rows.iter();
        rows.map(|(hash, row)| (*hash, row.iter().zip(&largest).map(round).collect()))
            .collect()
    }

    /// What the section of features takes.
    fn bytes(&self) -> usize {
        let rows = self.rounded();
        let weights = rows
            .iter()
            .map(|(_, row)| row.iter().filter(|weight| **weight != 0).count());
        FeaturesData::bytes(rows.len(), weights.sum(), self.bias.len())
    }

    /// The dense part of the heads, around `centre`; that of a pack without an encoder has one coordinate.
    pub(super) fn score_heads(&self, centre: &[f32], thresholds: Vec<f32>) -> ScoreHeads {
        let alone = centre.is_empty();
        ScoreHeads {
            centre: if alone { vec![0.0] } else { centre.to_vec() },
            weights: if alone {
                vec![0.0; self.bias.len()]
            } else {
                self.dense.clone()
            },
            bias: self.bias.clone(),
            thresholds,
        }
    }

    /// The section of features, for scores in which a margin of 1 counts `unit`.
    pub(super) fn data(&self, unit: f64, alone: bool) -> FeaturesData {
        // A scale s and a shift by k stand for s·2^16/2^k: the root in the device's sum has 16 fractional bits.
        let exact = self
            .largest()
            .into_iter()
            .map(|largest| f64::from(largest / f32::from(i8::MAX)) * unit / 65_536.0);
        let exact: Vec<f64> = exact.collect();
        let most = exact
            .iter()
            .fold(f64::MIN_POSITIVE, |most, scale| most.max(*scale));
        let shift = (f64::from(u16::MAX) / most).log2().floor().clamp(0.0, 63.0);
        FeaturesData {
            kinds: self.kinds,
            alone,
            shift: shift as u8,
            rows: self.rounded(),
            scales: exact
                .iter()
                .map(|scale| (scale * shift.exp2()).round() as u16)
                .collect(),
        }
    }
}
