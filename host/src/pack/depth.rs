//! Candidates for selection by depth: directions, bucket boundaries and codes.

use undertone_core::depth::DepthSection;
use undertone_core::pack::Pack;
use undertone_core::pack::format::BOUNDARIES;
use undertone_core::recode::Recoder as CoreRecoder;

use super::projection::normal;
use super::recoder::recoder_data;
use super::writer::{DepthData, PackContents, RecoderData, limit};
use crate::encoder::EncoderIdentity;
use crate::encoder::vectors::{DocumentVectors, principal};
use crate::error::{Error, Result};
use crate::pack::trained::{Layer, Recoder};
use crate::release::document::MAX_DIRECTIONS;

/// Coordinates per partial sum. The kernels of a device add products in 32 bits where they can:
/// over this number of coordinates, in lanes of every sixteenth pair.
const LANE_SPAN: usize = 256;

/// The largest sum of a lane's weights with which no coordinates overflow the lane.
const LANE_WEIGHTS: i32 = i32::MAX / i16::MAX as i32;

/// The public choice of a pack's projection directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// This number of random directions, as published.
    Random(usize),
    /// This number of principal directions of the candidates' embeddings.
    Principal(usize),
}

impl Directions {
    /// Refuses, before any work, more directions than a device supports.
    pub(super) fn check(self) -> Result<()> {
        let (Self::Random(n) | Self::Principal(n)) = self;
        limit("projection directions", n, 1, MAX_DIRECTIONS)
    }
}

/// Makes a pack that selects among documents by depth (Meehan, Mrini and Chaudhuri 2022).
///
/// `candidates` are public documents; the projections of each are the means of its sentences'
/// projections. If there is a recoder, the pack contains its hidden layers, and its last layer
/// becomes part of the directions. Random directions come from `seed`.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a number of candidates,
/// directions or coordinates that the format does not allow.
pub fn depth_pack(
    encoder: &EncoderIdentity,
    candidates: &DocumentVectors,
    recoder: Option<&Recoder>,
    directions: Directions,
    seed: u64,
) -> Result<Vec<u8>> {
    let mut contents = PackContents::new(candidates.dimension(), encoder.clone());
    add_sections(&mut contents, candidates, recoder, directions, seed)?;
    contents.to_bytes()
}

/// Adds the sections of such a pack.
pub(super) fn add_sections(
    contents: &mut PackContents,
    candidates: &DocumentVectors,
    recoder: Option<&Recoder>,
    directions: Directions,
    seed: u64,
) -> Result<()> {
    let recoded = recoder.map_or(candidates.dimension(), Recoder::outputs);
    let directions = match directions {
        Directions::Random(n) => {
            limit("projection directions", n, 1, MAX_DIRECTIONS)?;
            normal(n * recoded, seed).collect()
        }
        Directions::Principal(n) => {
            limit("projection directions", n, 1, MAX_DIRECTIONS.min(recoded))?;
            let means = match recoder {
                None => candidates.means(),
                Some(recoder) => recoder.apply(candidates).means(),
            };
            let (_, columns) = principal(&means, recoded, n);
            columns.as_slice().to_vec()
        }
    };
    let mut data = DepthData {
        candidates: candidates.len(),
        exponent: 0,
        shift: 0,
        directions: Vec::new(),
        boundaries: Vec::new(),
        codes: Vec::new(),
    };
    match recoder {
        None => {
            data.exponent = super::exponent(candidates.rows());
            data.directions = rounded(&directions, recoded);
        }
        Some(recoder) => {
            let (hidden, last) = recoder_data(recoder, candidates)?;
            let folded = fold(&directions, recoded, last);
            data.directions = rounded(&folded, last.inputs);
            contents.recoder = Some(hidden);
        }
    }
    bucket(&mut data, contents.recoder.as_ref(), candidates)?;
    contents.depth = Some(data);
    Ok(())
}

/// Multiplies the directions `[n][outputs]` by the linear layer `[outputs][inputs]`: `[n][inputs]`.
/// Its bias can be ignored, because it moves sentences and candidates alike.
fn fold(directions: &[f64], outputs: usize, layer: &Layer) -> Vec<f64> {
    let mut folded = Vec::new();
    for direction in directions.chunks_exact(outputs) {
        let mut row = vec![0.0; layer.inputs];
        let rows = layer.weights.chunks_exact(layer.inputs);
        for (weight, inputs) in direction.iter().zip(rows) {
            for (sum, input) in row.iter_mut().zip(inputs) {
                *sum += weight * f64::from(*input);
            }
        }
        folded.extend(row);
    }
    folded
}

/// Scales each direction to the largest length that its 16-bit weights and the 32-bit sums of
/// vector units allow. Depth does not depend on the length of a direction.
fn rounded(directions: &[f64], dimension: usize) -> Vec<i16> {
    let rows = directions.chunks_exact(dimension).flat_map(|direction| {
        let scale = largest_scale(direction);
        direction.iter().map(move |x| (x * scale).round() as i16)
    });
    rows.collect()
}

/// The largest factor with which no weight exceeds 16 bits and no sum of a lane 32 bits.
fn largest_scale(direction: &[f64]) -> f64 {
    let largest = direction.iter().fold(0f64, |most, x| most.max(x.abs()));
    let weights = direction.chunks(LANE_SPAN).map(|span| {
        let mut lanes = [0f64; 8];
        for sixteen in span.chunks(16) {
            for (lane, pair) in lanes.iter_mut().zip(sixteen.chunks(2)) {
                *lane += pair.iter().map(|x| x.abs()).sum::<f64>();
            }
        }
        // Rounding adds at most one half for each of two weights.
        let rounding = span.len().div_ceil(16) as f64;
        let most = lanes.into_iter().fold(f64::MIN_POSITIVE, f64::max);
        (f64::from(LANE_WEIGHTS) - rounding) / most
    });
    let scale = f64::from(i16::MAX) / largest.max(f64::MIN_POSITIVE);
    weights.fold(scale, f64::min)
}

/// Fills in boundaries and codes. Projections come from the section itself, so that they use the
/// device's arithmetic.
fn bucket(
    data: &mut DepthData,
    recoder: Option<&RecoderData>,
    candidates: &DocumentVectors,
) -> Result<()> {
    let m = candidates.len();
    let inputs = recoder.map_or(candidates.dimension(), RecoderData::outputs);
    let n_directions = data.directions.len() / inputs;
    data.boundaries = vec![0; n_directions * BOUNDARIES];
    data.codes = vec![0; n_directions * m];

    let dimension = candidates.dimension();
    let rows: Vec<Vec<i64>> = with_section(data, recoder, dimension, |section, recoder| {
        let mut own = vec![0i64; n_directions];
        (0..m)
            .map(|candidate| {
                let mut sums = vec![0i128; n_directions];
                let sentences = candidates.document(candidate).chunks_exact(dimension);
                let count = sentences.len().max(1) as i128;
                for sentence in sentences {
                    section.projections(recoder, sentence, &mut own);
                    for (sum, projection) in sums.iter_mut().zip(&own) {
                        *sum += i128::from(*projection);
                    }
                }
                sums.iter().map(|sum| (sum / count) as i64).collect()
            })
            .collect()
    })?;
    // Private sentences may project four times as far as the public candidates.
    let largest = rows.iter().flatten().map(|x| x.unsigned_abs()).max();
    let largest = largest.unwrap_or(0);
    data.shift = (66 - largest.leading_zeros()).saturating_sub(31).min(31);
    data.boundaries = with_section(data, recoder, dimension, |section, _| {
        let mut boundaries = Vec::with_capacity(n_directions * BOUNDARIES);
        for direction in 0..n_directions {
            let inputs = rows.iter().map(|row| section.bucket_input(row[direction]));
            let mut inputs: Vec<i32> = inputs.collect();
            inputs.sort_unstable();
            boundaries.extend((1..=BOUNDARIES).map(|code| inputs[code * m / (BOUNDARIES + 1)]));
        }
        boundaries
    })?;
    data.codes = with_section(data, recoder, dimension, |section, _| {
        let mut codes = vec![0; n_directions * m];
        let mut own = vec![0; n_directions];
        for (candidate, row) in rows.iter().enumerate() {
            section.codes_of(row, &mut own);
            for (direction, code) in own.iter().enumerate() {
                codes[direction * m + candidate] = *code;
            }
        }
        codes
    })?;
    Ok(())
}

/// Calls `look` with the section that `data` makes, and the recoder before it.
fn with_section<T>(
    data: &DepthData,
    recoder: Option<&RecoderData>,
    dimension: usize,
    look: impl FnOnce(DepthSection<'_>, Option<&CoreRecoder<'_>>) -> T,
) -> Result<T> {
    let mut draft = PackContents::new(dimension, EncoderIdentity::default());
    draft.recoder = recoder.cloned();
    draft.depth = Some(data.clone());
    let bytes = draft.to_bytes()?;
    let pack = Pack::parse(&bytes).map_err(Error::from)?;
    let section = pack.depth().expect("the draft has a depth section");
    Ok(look(section, pack.recoder().as_ref()))
}
