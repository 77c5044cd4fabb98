//! The multi-layer perceptron of recoders and classifiers.

use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;

use undertone::encoder::vectors::DocumentVectors;
use undertone::pack::trained::Layer;

/// Layers of the perceptrons of Meehan, Mrini and Chaudhuri (2022, appendix A.3).
pub(super) const LAYERS: usize = 4;

/// The device for computation: the processor, without gradients.
pub(super) fn device() -> Device {
    Device::flex()
}

/// A matrix of rows `[n][columns]`.
pub(super) fn matrix(values: Vec<f32>, columns: usize) -> Tensor<2> {
    let rows = values.len() / columns;
    Tensor::from_data(TensorData::new(values, [rows, columns]), &device())
}

/// The numbers of a matrix, row-major.
pub(super) fn values(tensor: &Tensor<2>) -> Vec<f32> {
    tensor
        .to_data()
        .try_into_vec()
        .expect("a matrix of f32 is in memory")
}

pub(super) fn indices(values: impl Iterator<Item = usize>) -> Tensor<1, Int> {
    let values: Vec<i64> = values.map(|value| value as i64).collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), &device())
}

/// Initial weights of layers with these widths: for each, a matrix `[inputs, outputs]` and a row of
/// biases. Uniform with variance 2/inputs, which preserves the scale of activations through max(0,
/// ·) (He, Zhang, Ren and Sun 2015); biases 0.
pub(super) fn first(widths: &[usize], rng: &mut PublicRng) -> Vec<Tensor<2>> {
    let mut weights = Vec::new();
    for ends in widths.windows(2) {
        let limit = (6.0 / ends[0] as f32).sqrt();
        let uniform = (0..ends[0] * ends[1])
            .map(|_| {
                let fraction = (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
                limit * (2.0 * fraction - 1.0)
            })
            .collect();
        weights.push(matrix(uniform, ends[1]));
        weights.push(matrix(vec![0.0; ends[1]], ends[1]));
    }
    weights
}

pub(super) fn linear(x: Tensor<2>, weights: &Tensor<2>, bias: &Tensor<2>) -> Tensor<2> {
    x.matmul(weights.clone()) + bias.clone()
}

/// Layers, each followed by max(0, ·).
pub(super) fn hidden(x: Tensor<2>, weights: &[Tensor<2>]) -> Tensor<2> {
    weights
        .chunks_exact(2)
        .fold(x, |x, layer| relu(linear(x, &layer[0], &layer[1])))
}

/// Layers, each but the last followed by max(0, ·).
pub(super) fn perceptron(x: Tensor<2>, weights: &[Tensor<2>]) -> Tensor<2> {
    let (before, last) = weights.split_at(weights.len() - 2);
    linear(hidden(x, before), &last[0], &last[1])
}

/// The mean negative log-likelihood of the targets under softmax of the logits `[n, classes]`.
pub(super) fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let targets = targets.unsqueeze_dim(1);
    log_softmax(logits, 1).gather(1, targets).mean().neg()
}

/// For each document of a batch, the sum of the rows of its sentences, which are consecutive.
pub(super) fn sums(rows: Tensor<2>, documents: &DocumentVectors, batch: &[usize]) -> Tensor<2> {
    let owners = batch
        .iter()
        .enumerate()
        .flat_map(|(place, number)| documents.range(*number).map(move |_| place));
    let [_, columns] = rows.dims();
    Tensor::zeros([batch.len(), columns], &device()).select_assign(
        0,
        indices(owners),
        rows,
        IndexingUpdateOp::Add,
    )
}

/// For each document of a batch, the mean of the rows of its sentences, of which there is at least
/// one.
pub(super) fn means(rows: Tensor<2>, documents: &DocumentVectors, batch: &[usize]) -> Tensor<2> {
    let shares = batch
        .iter()
        .map(|number| 1.0 / documents.range(*number).len() as f32)
        .collect();
    sums(rows, documents, batch) * matrix(shares, 1)
}

/// Converts weights to stored layers.
pub(super) fn layers(weights: &[Tensor<2>]) -> Vec<Layer> {
    let layer = |layer: &[Tensor<2>]| Layer {
        inputs: layer[0].dims()[0],
        weights: values(&layer[0].clone().transpose()),
        bias: values(&layer[1]),
    };
    weights.chunks_exact(2).map(layer).collect()
}

/// Converts stored layers to weights.
pub(super) fn tensors(layers: &[Layer]) -> Vec<Tensor<2>> {
    let mut tensors = Vec::new();
    for layer in layers {
        tensors.push(matrix(layer.weights.clone(), layer.inputs).transpose());
        tensors.push(matrix(layer.bias.clone(), layer.bias.len()));
    }
    tensors
}

/// Subtracts a mean and divides by one scale, so that the scale of the encoder does not matter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standardiser {
    /// `[d]`.
    pub(super) mean: Vec<f32>,
    /// The root mean square of a coordinate's distance from the mean.
    pub(super) scale: f32,
}

impl Standardiser {
    /// Leaves vectors as they are.
    pub(super) fn identity(dimension: usize) -> Self {
        Self {
            mean: vec![0.0; dimension],
            scale: 1.0,
        }
    }

    /// Fits mean and scale to rows; there is at least one.
    pub(super) fn fit<'a>(rows: impl Iterator<Item = &'a [f32]> + Clone, dimension: usize) -> Self {
        let mut sum = vec![0f64; dimension];
        let mut count = 0.0;
        for row in rows.clone() {
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += f64::from(*x);
            }
            count += 1.0;
        }
        let mean: Vec<f64> = sum.iter().map(|sum| sum / count).collect();
        let mut square = 0.0;
        for row in rows {
            for (mean, x) in mean.iter().zip(row) {
                square += (f64::from(*x) - mean).powi(2);
            }
        }
        let scale = (square / (count * dimension as f64)).sqrt() as f32;
        Self {
            mean: mean.into_iter().map(|mean| mean as f32).collect(),
            // If all vectors are equal, there is nothing to learn, but the division must work.
            scale: if scale.is_normal() { scale } else { 1.0 },
        }
    }

    /// Appends a row, standardised.
    pub(super) fn push(&self, row: &[f32], out: &mut Vec<f32>) {
        let rows = row.iter().zip(&self.mean);
        out.extend(rows.map(|(x, mean)| (x - mean) / self.scale));
    }

    /// Converts a layer for standardised vectors to one for the original vectors.
    pub(super) fn fold_into(&self, layer: &mut Layer) {
        let rows = layer.weights.chunks_exact_mut(layer.inputs);
        for (row, bias) in rows.zip(&mut layer.bias) {
            let mut shift = 0f64;
            for (weight, mean) in row.iter_mut().zip(&self.mean) {
                *weight /= self.scale;
                shift += f64::from(*weight) * f64::from(*mean);
            }
            *bias = (f64::from(*bias) - shift) as f32;
        }
    }
}
