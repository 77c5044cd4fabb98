//! What training or fitting gives a pack: a recoder for depth, heads for scores.

/// A recoder H: sentence vector to sentence vector (Meehan, Mrini and Chaudhuri 2022).
#[derive(Clone, Debug, PartialEq)]
pub struct Recoder {
    /// Each but the last is followed by max(0, ·); the last is linear. At least one.
    pub layers: Vec<Layer>,
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
