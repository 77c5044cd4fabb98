//! Sparse heads: weights of words, word pairs and character n-grams, fitted to public sentences.
//!
//! One linear classifier per class reads the features of a sentence and, if there is an encoder,
//! the direction of its vector. The features of least weight are dropped until the pack is small
//! enough, and the rest is fitted again.

mod design;
mod margin;

use undertone_core::features::FeatureKinds;
use undertone_core::pack::format::{ALIGNMENT, MAX_FEATURES};

use design::Design;
pub use design::Sample;

use super::heads::SCORE_STEPS;
use super::trained::ScoreHeads;
use super::writer::FeaturesData;

/// The fewest sentences with a feature. A feature that occurs once does not generalise.
const LEAST: usize = 2;

/// Features in less than one of this number of sentences are left out as well.
const RARE: usize = 10_000;

/// Above this number of features, three quarters are dropped at once.
const MANY: usize = 1 << 16;

/// C of the squared hinge, for rows of mean length 1. On held-out texts 1 is worse if features were
/// dropped, and 10 is no better.
const COST: f64 = 3.0;

/// With fewer sentences, the scales of rare features are squared. On held-out texts this is better
/// for 700 sentences in eleven of twelve languages, and worse for 15,000.
const FEW: usize = 3000;

/// Up to this number of classes all weights of a feature are kept; with more classes, this share.
const DENSE: (usize, f64) = (16, 0.12);

/// The centre and the width of the margins that scores resolve. Without noise wider is better, with
/// noise narrower.
const MARGINS: (f32, f32) = (-0.25, 1.0);

/// The kinds of features: words, pairs of words, and n-grams of 1 to 4 characters.
pub const KINDS: FeatureKinds = FeatureKinds {
    words: true,
    pairs: true,
    least: 1,
    most: 4,
};

/// Fitted heads, in units of the margin.
pub struct SparseHeads {
    /// The hash of each feature, and its weight for each class.
    rows: Vec<(u32, Vec<f32>)>,
    /// `[classes][dimension]`.
    dense: Vec<f32>,
    /// `[classes]`.
    bias: Vec<f32>,
}

/// The features in use, with the scale of each.
struct Chosen {
    hashes: Vec<u32>,
    scales: Vec<f32>,
}

impl Chosen {
    /// All features of the sample. Rare ones have larger scales, and the mean length of a row is 1.
    fn all(sample: &Sample) -> Self {
        let sentences = sample.len();
        let vocabulary = sample.vocabulary(LEAST.max(sentences / RARE) as u32);
        let power = if sentences < FEW { 2 } else { 1 };
        let rarity = |found: u32| {
            let share = (1.0 + sentences as f32) / (1.0 + found as f32);
            (share.ln() + 1.0).powi(power)
        };
        let mut chosen = Self {
            scales: vocabulary.iter().map(|(_, found)| rarity(*found)).collect(),
            hashes: vocabulary.into_iter().map(|(hash, _)| hash).collect(),
        };
        let length = chosen.design(sample, 0.0).mean_length();
        for scale in &mut chosen.scales {
            *scale /= length;
        }
        chosen
    }

    fn design(&self, sample: &Sample, dense: f32) -> Design {
        Design::new(sample, &self.hashes, &self.scales, dense)
    }

    /// Returns the features with the largest weights, in order.
    fn best(&self, weights: &[Vec<f64>], most: usize) -> Self {
        let value = |column: usize| weights.iter().map(|w| w[column] * w[column]).sum();
        let values: Vec<f64> = (0..self.hashes.len()).map(value).collect();
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

/// Fits heads whose features section takes at most `budget` bytes. `None` if no feature fits.
///
/// # Shapes
/// `classes`: greater than every class of the sample, at least 2. `dense`: the factor for
/// directions, whose length is 1.
///
/// # Cost
/// A few fits, each of which reads all features of the sample some 80 times per class.
///
/// # Source
/// Guyon, Weston, Barnhill and Vapnik (2002): dropping the features of least weight and fitting
/// again.
pub fn fit(sample: &Sample, classes: usize, dense: f32, budget: usize) -> Option<SparseHeads> {
    let mut chosen = Chosen::all(sample);
    let goal = features_within(budget, classes);
    if goal == 0 || chosen.hashes.is_empty() {
        return None;
    }
    loop {
        let design = chosen.design(sample, dense);
        let weights = margin::fit(&design, classes, COST);
        let features = chosen.hashes.len();
        if features <= goal {
            let mut heads = SparseHeads::new(&chosen, dense, sample.dimension, &weights);
            heads.thin(&chosen, budget);
            return Some(heads);
        }
        // The first selection from very many features can be coarse.
        let part = if features > MANY { 4 } else { 2 };
        chosen = chosen.best(&weights, goal.max(features / part));
    }
}

/// Estimates the number of features that fit a section of `budget` bytes.
fn features_within(budget: usize, classes: usize) -> usize {
    let (few, share) = DENSE;
    let weights = |features: usize| {
        if classes <= few {
            features * classes
        } else {
            (features as f64 * classes as f64 * share) as usize
        }
    };
    let fits =
        |features: &usize| FeaturesData::bytes(*features, weights(*features), classes) <= budget;
    // The size increases with the number of features.
    let (mut least, mut most) = (0, MAX_FEATURES as usize);
    while least < most {
        let middle = (least + most).div_ceil(2);
        if fits(&middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

/// Returns Q evenly spaced thresholds on the margin.
fn thresholds() -> Vec<f32> {
    let (middle, width) = MARGINS;
    let steps = SCORE_STEPS as f32;
    (0..SCORE_STEPS)
        .map(|step| middle + width * ((step as f32 + 0.5) / steps - 0.5))
        .collect()
}

impl SparseHeads {
    fn new(chosen: &Chosen, dense: f32, dimension: usize, weights: &[Vec<f64>]) -> Self {
        let sparse = chosen.hashes.len();
        let row = |column: usize| {
            let scale = chosen.scales[column];
            weights.iter().map(|w| w[column] as f32 * scale).collect()
        };
        let coordinates = weights.iter().flat_map(|w| &w[sparse..sparse + dimension]);
        Self {
            rows: (0..sparse)
                .map(|column| (chosen.hashes[column], row(column)))
                .collect(),
            dense: coordinates.map(|w| *w as f32 * dense).collect(),
            bias: weights
                .iter()
                .map(|w| w[sparse + dimension] as f32)
                .collect(),
        }
    }

    /// Sets the smallest weights to 0 until the section takes at most `budget` bytes.
    fn thin(&mut self, chosen: &Chosen, budget: usize) {
        let classes = self.bias.len();
        let room = budget.saturating_sub(FeaturesData::bytes(self.rows.len(), 0, classes));
        // The size of the array of weights is a multiple of `ALIGNMENT`.
        let room = room / ALIGNMENT * ALIGNMENT;
        let scaled = |(row, scale): (&(u32, Vec<f32>), &f32)| -> Vec<f32> {
            row.1.iter().map(|weight| weight.abs() / scale).collect()
        };
        let mut sizes: Vec<f32> = self
            .rows
            .iter()
            .zip(&chosen.scales)
            .flat_map(scaled)
            .collect();
        if sizes.len() <= room {
            return;
        }
        let (larger, &mut last, _) = sizes.select_nth_unstable_by(room, |a, b| b.total_cmp(a));
        // Only some of the weights of exactly this size are kept.
        let mut equal = larger.iter().filter(|size| **size == last).count();
        for ((_, row), scale) in self.rows.iter_mut().zip(&chosen.scales) {
            for weight in row {
                let size = weight.abs() / scale;
                if size == last && equal > 0 {
                    equal -= 1;
                } else if size <= last {
                    *weight = 0.0;
                }
            }
        }
    }

    /// Returns the largest weight of each class.
    fn largest(&self) -> Vec<f32> {
        let mut largest = vec![f32::MIN_POSITIVE; self.bias.len()];
        for (_, row) in &self.rows {
            for (largest, weight) in largest.iter_mut().zip(row) {
                *largest = largest.max(weight.abs());
            }
        }
        largest
    }

    /// Rounds each feature's weights to 8 bits; the largest weight of a class becomes 127.
    fn rounded(&self) -> Vec<(u32, Vec<i8>)> {
        let largest = self.largest();
        let round =
            |(weight, largest): (&f32, &f32)| (weight / largest * f32::from(i8::MAX)).round() as i8;
        let rows = self.rows.iter();
        rows.map(|(hash, row)| (*hash, row.iter().zip(&largest).map(round).collect()))
            .collect()
    }

    /// Returns the dense part of the heads, around `centre`; it has one coordinate without an
    /// encoder.
    pub(super) fn score_heads(&self, centre: &[f32]) -> ScoreHeads {
        let alone = centre.is_empty();
        ScoreHeads {
            centre: if alone { vec![0.0] } else { centre.to_vec() },
            weights: if alone {
                vec![0.0; self.bias.len()]
            } else {
                self.dense.clone()
            },
            bias: self.bias.clone(),
            thresholds: thresholds(),
        }
    }

    /// Returns the features section for scores in which a margin of 1 is `unit`.
    pub(super) fn data(&self, unit: f64, alone: bool) -> FeaturesData {
        // A scale s and a shift by k mean s·2^16/2^k, because the root in the device's sum has 16
        // fractional bits.
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
            kinds: KINDS,
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

#[cfg(test)]
mod tests {
    use super::super::writer::features_section;
    use super::*;

    /// Heads with this number of features, whose weights are all equal in size or are drawn.
    fn heads(features: usize, classes: usize, equal: bool) -> (SparseHeads, Chosen) {
        let weight = |place: usize| {
            if equal {
                0.5
            } else {
                1.0 + (place * 7919 % 1009) as f32
            }
        };
        let row = |feature: usize| {
            let weights = (0..classes).map(|class| weight(feature * classes + class));
            (
                (feature as u32).wrapping_mul(2_654_435_761),
                weights.collect(),
            )
        };
        let chosen = Chosen {
            hashes: (0..features as u32).collect(),
            scales: vec![1.0; features],
        };
        let heads = SparseHeads {
            rows: (0..features).map(row).collect(),
            dense: Vec::new(),
            bias: vec![0.0; classes],
        };
        (heads, chosen)
    }

    #[test]
    fn a_section_takes_no_more_than_its_budget() {
        for (features, classes) in [(1, 2), (17, 3), (255, 2), (300, 20), (1000, 7), (5000, 2)] {
            let least = FeaturesData::bytes(features, 0, classes);
            let all = FeaturesData::bytes(features, features * classes, classes);
            for equal in [false, true] {
                for budget in (least..=all + ALIGNMENT).step_by(1 + (all - least) / 17) {
                    let (mut heads, chosen) = heads(features, classes, equal);
                    heads.thin(&chosen, budget);
                    let section = features_section(&heads.data(1.0, true)).unwrap();
                    assert!(
                        section.len() <= budget && section.len() + 16 * ALIGNMENT > budget.min(all),
                        "{features} features, {classes} classes: {} of {budget}",
                        section.len()
                    );
                }
            }
        }
    }
}
