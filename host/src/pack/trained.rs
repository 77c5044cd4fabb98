//! What training or fitting gives a pack: a recoder for depth, heads for scores.

use nalgebra::{DMatrix, DMatrixView, DVectorView};

use crate::encoder::vectors::DocumentVectors;

/// A recoder H: sentence vector to sentence vector (Meehan, Mrini and Chaudhuri 2022).
#[derive(Clone, Debug, PartialEq)]
pub struct Recoder {
    /// Each but the last is followed by max(0, ·); the last is linear. At least one.
    pub layers: Vec<Layer>,
}

impl Recoder {
    /// The number of coordinates that come out.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.bias.len())
    }

    /// Recodes every sentence in floating point, for public documents: what the device computes in
    /// integers.
    pub fn apply(&self, documents: &DocumentVectors) -> DocumentVectors {
        let Some((last, hidden)) = self.layers.split_last() else {
            return documents.clone();
        };
        let hidden = hidden
            .iter()
            .fold(None, |rows: Option<DocumentVectors>, layer| {
                Some(layer.apply(rows.as_ref().unwrap_or(documents)).rectified())
            });
        last.apply(hidden.as_ref().unwrap_or(documents))
    }
}

/// One linear layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The number of inputs.
    pub inputs: usize,
    /// `[outputs][inputs]`, row-major.
    pub weights: Vec<f32>,
    /// `[outputs]`.
    pub bias: Vec<f32>,
}

impl Layer {
    /// W·x + b for every sentence.
    pub fn apply(&self, documents: &DocumentVectors) -> DocumentVectors {
        // nalgebra is column-major: rows are the columns of its matrices.
        let weights = DMatrix::from_row_slice(self.bias.len(), self.inputs, &self.weights);
        let bias = DVectorView::from_slice(&self.bias, self.bias.len());
        let sentences = documents.rows().len() / documents.dimension();
        let rows = DMatrixView::from_slice(documents.rows(), documents.dimension(), sentences);
        let mut out = weights * rows;
        for mut row in out.column_iter_mut() {
            row += bias;
        }
        let offsets = documents.offsets().to_vec();
        DocumentVectors::new(self.bias.len(), out.as_slice().to_vec(), offsets)
    }
}

/// Heads that score one sentence for each candidate.
///
/// A sentence s enters as `x = (s − centre)/‖s − centre‖` (0 if s is the centre), head c gives
/// `z = weights[c]·x + bias[c]`, and the score is the number of thresholds at or below z: from 0 to
/// `thresholds.len()` = Q.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreHeads {
    /// `[d]`.
    pub centre: Vec<f32>,
    /// `[candidates][d]`, row-major.
    pub weights: Vec<f32>,
    /// `[candidates]`.
    pub bias: Vec<f32>,
    /// `[Q]`, ascending.
    pub thresholds: Vec<f32>,
}
