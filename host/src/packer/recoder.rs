//! A trained recoder as the integers of a pack.

use super::file::{LayerData, RecoderData};
use crate::error::{Error, Result};
use crate::trained::{Layer, Recoder};
use crate::vectors::DocumentVectors;

/// Bits of an activation of the largest public one; a private sentence may go as high again.
const ACTIVATION_BITS: i32 = 14;

/// The hidden layers as integers, scaled by what the sentences of public documents give, and the last
/// layer, which is for the caller to multiply into what reads the pack.
pub(super) fn recoder_data<'r>(
    recoder: &'r Recoder,
    documents: &DocumentVectors,
) -> Result<(RecoderData, &'r Layer)> {
    let Some((last, hidden)) = recoder.layers.split_last().filter(|(_, h)| !h.is_empty()) else {
        return Err(Error::PackLimit {
            what: "layers of the recoder",
            found: recoder.layers.len(),
            least: 2,
            most: 5,
        });
    };
    let exponent = super::exponent(documents.rows());
    // Powers of two: an integer is a real number times 2^scale.
    let mut input_scale = exponent;
    let mut rows = documents.clone();
    let mut layers = Vec::new();
    for layer in hidden {
        rows = layer.apply(&rows).rectified();
        let weight_scale = floor_log2(f64::from(i16::MAX), &layer.weights);
        let sum_scale = input_scale + weight_scale;
        let wanted = floor_log2(2f64.powi(ACTIVATION_BITS), rows.rows());
        let shift = (sum_scale - wanted).clamp(0, 62);
        let half = if shift > 0 { 1i64 << (shift - 1) } else { 0 };
        layers.push(LayerData {
            weights: layer
                .weights
                .iter()
                .map(|w| (f64::from(*w) * 2f64.powi(weight_scale)).round() as i16)
                .collect(),
            bias: layer
                .bias
                .iter()
                // `as` saturates; adding one half rounds the shift to the nearest.
                .map(|b| {
                    ((f64::from(*b) * 2f64.powi(sum_scale)).round() as i64).saturating_add(half)
                })
                .collect(),
            shift: shift as u32,
        });
        input_scale = sum_scale - shift;
    }
    Ok((RecoderData { exponent, layers }, last))
}

/// The largest power of two that keeps all numbers within ±limit.
fn floor_log2(limit: f64, numbers: &[f32]) -> i32 {
    let largest = numbers.iter().fold(0f32, |most, x| most.max(x.abs()));
    if largest == 0.0 {
        return 0;
    }
    (limit / f64::from(largest)).log2().floor() as i32
}
