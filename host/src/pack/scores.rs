//! Candidates for selection by scores: heads as the integers of a pack.

use undertone_core::scores::LEVELS;

use super::writer::{LexiconData, PackContents, ScoresData};
use crate::encoder::EncoderIdentity;
use crate::error::Result;
use crate::pack::trained::ScoreHeads;

/// Fractional bits of biases and thresholds.
const FRACTION: f64 = 256.0;

/// Makes a pack that selects among the candidates of `heads`. `sentences`, `[..][dimension]`
/// row-major, are public sentence vectors that determine the range of coordinates. If a lexicon
/// made them, the pack contains it.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a number of candidates,
/// thresholds or coordinates that a pack cannot have.
pub fn scores_pack(
    encoder: &EncoderIdentity,
    sentences: &[f32],
    heads: &ScoreHeads,
    lexicon: Option<LexiconData>,
) -> Result<Vec<u8>> {
    let mut contents = PackContents::new(heads.centre.len(), encoder.clone());
    contents.scores = Some(scores_data(reach(sentences, &heads.centre), heads));
    contents.lexicon = lexicon;
    contents.to_bytes()
}

/// The largest coordinate, or difference to the centre's coordinate; neither may be clamped.
pub(super) fn reach(sentences: &[f32], centre: &[f32]) -> f32 {
    let reach = sentences
        .chunks_exact(centre.len())
        .flat_map(|row| row.iter().zip(centre))
        .map(|(x, centre)| x.abs().max((x - centre).abs()));
    reach.fold(0f32, f32::max)
}

/// The value of 1 in a pack, in 256ths, at which the weights use the whole range of 8 bits; 2¹⁶ if
/// there are no weights.
pub(super) fn unit_of(weights: &[f32]) -> f64 {
    let largest = weights.iter().fold(0f32, |most, w| most.max(w.abs()));
    if largest > 0.0 {
        FRACTION * f64::from(i8::MAX) / f64::from(largest)
    } else {
        FRACTION * FRACTION
    }
}

/// Rounds heads to integers, whose weights use the whole range of 8 bits. `reach` is that of all
/// public sentences.
pub(super) fn scores_data(reach: f32, heads: &ScoreHeads) -> ScoresData {
    let exponent = super::exponent_of(reach);
    let unit = 2f64.powi(exponent);
    let scale = unit_of(&heads.weights) / FRACTION;
    // `as` saturates.
    let affine = |values: &[f32]| {
        let values = values.iter().map(|x| f64::from(*x) * scale * FRACTION);
        values.map(|x| x.round() as i32).collect()
    };
    let centre = heads.centre.iter().map(|x| f64::from(*x) * unit);
    let weights = heads.weights.iter().map(|w| f64::from(*w) * scale);
    ScoresData {
        exponent,
        centre: centre.map(|x| x.round() as i16).collect(),
        weights: weights.map(|w| w.round() as i8).collect(),
        bias: affine(&heads.bias),
        thresholds: affine(&heads.thresholds),
        levels: LEVELS,
        has_nothing_known: true,
    }
}
