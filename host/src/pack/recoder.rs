//! A trained recoder as the integers of a pack.

use super::writer::{LayerData, RecoderData, limit};
use crate::encoder::vectors::DocumentVectors;
use crate::error::Result;
use crate::pack::trained::{Layer, Recoder};

/// Bits of the largest public activation; a private sentence's activation may be twice as large.
const ACTIVATION_BITS: i32 = 14;

/// Rounds the hidden layers to integers, scaled by the sentences of public documents. Also returns
/// the last layer, which the caller multiplies into the pack's next stage.
pub(super) fn recoder_data<'r>(
    recoder: &'r Recoder,
    documents: &DocumentVectors,
) -> Result<(RecoderData, &'r Layer)> {
    limit("layers of the recoder", recoder.layers.len(), 2, 5)?;
    let (hidden, last) = recoder.layers.split_at(recoder.layers.len() - 1);
    let exponent = super::exponent(documents.rows());
    // Scales are powers of two: an integer is a real number times 2^scale.
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
        let scaled = |x: &f32, scale| (f64::from(*x) * 2f64.powi(scale)).round();
        let (weights, bias) = (layer.weights.iter(), layer.bias.iter());
        // `as` saturates; adding one half rounds the shift to the nearest.
        let bias = bias.map(|b| (scaled(b, sum_scale) as i64).saturating_add(half));
        layers.push(LayerData {
            weights: weights.map(|w| scaled(w, weight_scale) as i16).collect(),
            bias: bias.collect(),
            shift: shift as u32,
        });
        input_scale = sum_scale - shift;
    }
    Ok((RecoderData { exponent, layers }, &last[0]))
}

/// The largest power of two that keeps all numbers within ±limit.
fn floor_log2(limit: f64, numbers: &[f32]) -> i32 {
    let largest = numbers.iter().fold(0f32, |most, x| most.max(x.abs()));
    if largest == 0.0 {
        return 0;
    }
    (limit / f64::from(largest)).log2().floor() as i32
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use undertone_core::pack::Pack;
    use undertone_core::rng::PublicRng;

    use crate::encoder::EncoderIdentity;
    use crate::encoder::vectors::DocumentVectors;
    use crate::pack::trained::{Layer, Recoder};
    use crate::pack::{Directions, depth_pack};

    #[test]
    fn a_device_recodes_what_was_trained() {
        let mut rng = PublicRng::new(3);
        let mut normal = |n: usize, scale: f64| -> Vec<f32> {
            let draws = StandardNormal.sample_iter(&mut rng).take(n);
            draws.map(|x: f64| (scale * x) as f32).collect()
        };
        // Distinct widths, scales that differ by orders of magnitude, and biases that matter.
        let widths = [24, 40, 31, 16, 24];
        let scales = [3.0, 0.02, 11.0, 0.4];
        let layers = widths.windows(2).zip(scales).map(|(w, scale)| Layer {
            inputs: w[0],
            weights: normal(w[0] * w[1], scale),
            bias: normal(w[1], scale),
        });
        let recoder = Recoder {
            layers: layers.collect(),
        };
        let documents = DocumentVectors::new(24, normal(300 * 24, 0.05), (0..=300).collect());
        let identity = EncoderIdentity::default();
        let directions = Directions::Principal(6);
        let bytes = depth_pack(&identity, &documents, Some(&recoder), directions, 1).unwrap();
        for layers in [0, 1, 6] {
            let layers = vec![recoder.layers[0].clone(); layers];
            let problem = format!("{} layers of the recoder; allowed are 2 to 5", layers.len());
            let wrong = Recoder { layers };
            let refused = super::recoder_data(&wrong, &documents).err().unwrap();
            assert_eq!(refused.to_string(), problem);
        }
        let pack = Pack::parse(&bytes).unwrap();
        let (section, core) = (pack.depth().unwrap(), pack.recoder().unwrap());

        let recoded = recoder.apply(&documents);
        let (_, columns) = crate::encoder::vectors::principal(recoded.rows(), 24, 6);
        for direction in 0..6 {
            let mut pairs = Vec::new();
            for number in 0..documents.len() {
                let mut device = [0; 6];
                section.projections(Some(&core), documents.document(number), &mut device);
                let column = columns.column(direction);
                let products = recoded.document(number).iter().zip(column.iter());
                let wanted: f64 = products.map(|(x, v)| f64::from(*x) * v).sum();
                pairs.push((device[direction] as f64, wanted));
            }
            let n = pairs.len() as f64;
            let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n;
            let (a, b) = (mean(&|p| p.0), mean(&|p| p.1));
            let covariance = mean(&|p| (p.0 - a) * (p.1 - b));
            let spread = mean(&|p| (p.0 - a).powi(2)) * mean(&|p| (p.1 - b).powi(2));
            let correlation = covariance / spread.sqrt();
            assert!(correlation > 0.9999, "direction {direction}: {correlation}");
        }
    }
}
