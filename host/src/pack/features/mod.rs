//! Sparse heads: weights of words, word pairs, symbols and character n-grams, fitted to public
//! documents.
//!
//! One linear classifier per class reads the features of a sentence and, if there is an encoder,
//! the direction of its vector. It is fitted to the sums of these over the sentences of a document,
//! because a device adds the values of sentences, and to the sentences. The features of least
//! weight are dropped until the pack is small enough, and the rest is fitted again.

mod design;
mod margin;

use undertone_core::features::FeatureKinds;
use undertone_core::pack::format::{ALIGNMENT, MAX_FEATURES};

use design::{Design, Examples, LEAST};
pub use design::{Directions, Sample};
use margin::Effort;
pub(super) use margin::shuffle;

use super::heads::SCORE_STEPS;
use super::trained::ScoreHeads;
use super::writer::FeaturesData;

/// Features in less than one of this number of documents are left out.
const RARE: usize = 10_000;

/// The share of features that remains each time some are dropped, until the rest fits.
const REMAINING: usize = 4;

/// C of the squared hinge, for rows of mean length 1. Chosen by cross-validation on training texts:
/// see `RESULTS.md`.
const COST: f64 = 1.0;

/// The effort of a fit whose weights only decide which features remain.
const ROUGH: Effort = Effort {
    tolerance: 1.0,
    passes: 3,
};

/// The effort of the last fit.
const FINE: Effort = Effort {
    tolerance: 0.1,
    passes: 10,
};

/// With fewer documents, the scales of rare features are squared if that is better on held-out
/// folds. It is better for topics of 701 sentences, and worse for sentiments of 500 texts.
const FEW: usize = 3000;

/// Up to this number of classes all weights of a feature are kept; with more classes, this share.
const DENSE: (usize, f64) = (16, 0.12);

/// The centre and the width of the margins that scores resolve. Margins of sentences are smaller
/// than those of documents, which weigh more in a fit. On held-out folds of training texts a width
/// of 1 is worse for most at ε = 3; a centre of −0.35 is better for single sentences and worse for
/// several.
const MARGINS: (f32, f32) = (-0.25, 0.5);

/// The centre and the width of the margins of whole texts.
const WHOLE_MARGINS: (f32, f32) = (0.0, 2.0);

/// The kinds of features: words, pairs of words, symbols, and n-grams of 1 to 4 characters.
pub const KINDS: FeatureKinds = FeatureKinds {
    words: true,
    pairs: true,
    symbols: true,
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
    /// Indices in the sample, ascending.
    features: Vec<u32>,
    scales: Vec<f32>,
}

impl Chosen {
    /// All features of these documents. Rare ones have larger scales, and the mean length of a row
    /// is 1.
    fn all(sample: &Sample, documents: &[usize]) -> Self {
        let least = LEAST.max((documents.len() / RARE) as u32);
        let rarity = |found: u32| {
            let share = (1.0 + documents.len() as f32) / (1.0 + found as f32);
            (share.ln() + 1.0).powi(sample.power)
        };
        let found = (0..).zip(sample.frequencies(documents));
        let found: Vec<(u32, u32)> = found.filter(|(_, found)| *found >= least).collect();
        let mut chosen = Self {
            features: found.iter().map(|(feature, _)| *feature).collect(),
            scales: found.iter().map(|(_, found)| rarity(*found)).collect(),
        };
        let none = Directions::default();
        let design = Design::new(sample, &chosen, documents, &none, Examples::All);
        let length = design.mean_length();
        for scale in &mut chosen.scales {
            *scale /= length;
        }
        chosen
    }

    /// Returns the features with the largest weights, in order.
    fn best(&self, weights: &[Vec<f32>], most: usize) -> Self {
        let value = |(column, scale): (usize, &f32)| {
            let squares = weights.iter().map(|w| (w[column] / scale).powi(2));
            squares.sum()
        };
        let values: Vec<f32> = self.scales.iter().enumerate().map(value).collect();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        order.truncate(most);
        order.sort_unstable();
        Self {
            features: order.iter().map(|index| self.features[*index]).collect(),
            scales: order.iter().map(|index| self.scales[*index]).collect(),
        }
    }
}

/// Squares the scales of rare features, or not: as rough fits to all folds but one are right more
/// often on that one. Only for fewer than 3,000 documents.
pub(crate) fn scale_rare_features(sample: &mut Sample, folds: &[Vec<usize>], classes: usize) {
    if folds.iter().map(Vec::len).sum::<usize>() < FEW {
        let right = [1, 2].map(|power| {
            sample.power = power;
            right_when_held_out(sample, folds, classes)
        });
        sample.power = if right[1] > right[0] { 2 } else { 1 };
    }
}

/// The number of documents whose class rough fits to the other folds recognise.
fn right_when_held_out(sample: &Sample, folds: &[Vec<usize>], classes: usize) -> usize {
    let none = Directions::default();
    let of_fold = |(place, fold): (usize, &Vec<usize>)| {
        let others: Vec<usize> = [&folds[..place], &folds[place + 1..]].concat().concat();
        let chosen = Chosen::all(sample, &others);
        let design = |own: &[usize]| Design::new(sample, &chosen, own, &none, Examples::Documents);
        let weights = margin::fit(&design(&others), classes, COST, ROUGH);
        design(fold).right(&weights)
    };
    folds.iter().enumerate().map(of_fold).sum()
}

/// Fits heads for `classes` classes to some documents of the sample. Their features section takes
/// at most `budget` bytes. `None` if no feature fits.
///
/// # Cost
/// A few fits, each of which reads all features of the documents some ten times per class.
///
/// # Source
/// Guyon, Weston, Barnhill and Vapnik (2002): dropping the features of least weight and fitting
/// again.
pub fn fit(
    sample: &Sample,
    documents: &[usize],
    directions: &Directions,
    budget: usize,
    classes: usize,
) -> Option<SparseHeads> {
    let mut chosen = Chosen::all(sample, documents);
    let goal = features_within(budget, classes);
    if goal == 0 || chosen.features.is_empty() {
        return None;
    }
    while chosen.features.len() > goal {
        let examples = Examples::Documents;
        let design = Design::new(sample, &chosen, documents, directions, examples);
        let weights = margin::fit(&design, classes, COST, ROUGH);
        chosen = chosen.best(&weights, goal.max(chosen.features.len() / REMAINING));
    }
    let design = Design::new(sample, &chosen, documents, directions, Examples::All);
    let weights = margin::fit(&design, classes, COST, FINE);
    let mut heads = SparseHeads::new(sample, &chosen, directions, &weights);
    heads.thin(&chosen, budget);
    Some(heads)
}

/// Estimates the number of features that fit a section of `budget` bytes.
fn features_within(budget: usize, classes: usize) -> usize {
    let (few, share) = DENSE;
    let share = if classes <= few { 1.0 } else { share };
    let fits = |features: usize| {
        let weights = (features as f64 * classes as f64 * share) as usize;
        FeaturesData::bytes(features, weights, classes) <= budget
    };
    // The size increases with the number of features.
    let (mut least, mut most) = (0, MAX_FEATURES as usize);
    while least < most {
        let middle = (least + most).div_ceil(2);
        if fits(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

/// Returns Q evenly spaced thresholds on the margin.
fn thresholds((middle, width): (f32, f32)) -> Vec<f32> {
    let steps = SCORE_STEPS as f32;
    (0..SCORE_STEPS)
        .map(|step| middle + width * ((step as f32 + 0.5) / steps - 0.5))
        .collect()
}

impl SparseHeads {
    fn new(
        sample: &Sample,
        chosen: &Chosen,
        directions: &Directions,
        weights: &[Vec<f32>],
    ) -> Self {
        let (sparse, dimension) = (chosen.features.len(), directions.dimension);
        let row = |(column, feature): (usize, &u32)| {
            let weights = weights.iter().map(|w| w[column]);
            (sample.hash(*feature), weights.collect())
        };
        let coordinates = weights.iter().flat_map(|w| &w[sparse..sparse + dimension]);
        Self {
            rows: chosen.features.iter().enumerate().map(row).collect(),
            dense: coordinates.map(|w| w * directions.scale).collect(),
            bias: weights.iter().map(|w| w[sparse + dimension]).collect(),
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
        let rows = self.rows.iter().zip(&chosen.scales);
        let mut sizes: Vec<f32> = rows.flat_map(scaled).collect();
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
        let round = |row: &[f32]| row.iter().zip(&largest).map(round).collect();
        let rows = self.rows.iter();
        rows.map(|(hash, row)| (*hash, round(row))).collect()
    }

    /// Returns the dense part of the heads, around `centre`; it has one coordinate without an
    /// encoder.
    pub(super) fn score_heads(&self, centre: &[f32], whole: bool) -> ScoreHeads {
        let (centre, weights) = if centre.is_empty() {
            (vec![0.0], vec![0.0; self.bias.len()])
        } else {
            (centre.to_vec(), self.dense.clone())
        };
        ScoreHeads {
            centre,
            weights,
            bias: self.bias.clone(),
            thresholds: thresholds(if whole { WHOLE_MARGINS } else { MARGINS }),
        }
    }

    /// Returns the features section for scores in which a margin of 1 is `unit`.
    pub(super) fn data(&self, unit: f64, alone: bool, whole: bool) -> FeaturesData {
        // A scale s and a shift by k mean s·2^16/2^k, because the root in the device's sum has 16
        // fractional bits.
        let scale = |largest: f32| f64::from(largest / f32::from(i8::MAX)) * unit / 65_536.0;
        let exact: Vec<f64> = self.largest().into_iter().map(scale).collect();
        let most = exact.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let shift = (f64::from(u16::MAX) / most).log2().floor().clamp(0.0, 63.0);
        let scales = exact.iter().map(|scale| scale * shift.exp2());
        FeaturesData {
            kinds: KINDS,
            alone,
            whole,
            shift: shift as u8,
            rows: self.rounded(),
            scales: scales.map(|scale| scale.round() as u16).collect(),
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
            let hash = (feature as u32).wrapping_mul(2_654_435_761);
            (hash, weights.collect())
        };
        let chosen = Chosen {
            features: (0..features as u32).collect(),
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
                    let section = features_section(&heads.data(1.0, true, false)).unwrap();
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
