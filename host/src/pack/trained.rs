//! Trained or fitted parts of a pack, and their files: a recoder for depth, heads for scores.
//!
//! Both files are safetensors with f32 tensors, and any program may write them. The metadata entry
//! `undertone` is a JSON object with `encoder_digest`, the SHA-256 of the encoder in hexadecimal,
//! and for heads `names`, the labels of the candidates in order.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use nalgebra::{DMatrix, DMatrixView, DVectorView};
use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::encoder::EncoderIdentity;
use crate::encoder::vectors::DocumentVectors;
use crate::error::{Error, Result};
use crate::files::atomic::{AtomicFile, Tensor, described, f32s, write_tensors};

/// A recoder H from sentence vector to sentence vector (Meehan, Mrini and Chaudhuri 2022).
#[derive(Clone, Debug, PartialEq)]
pub struct Recoder {
    /// At least one. Each but the last is followed by max(0, ·); the last is linear.
    pub layers: Vec<Layer>,
}

impl Recoder {
    /// The number of output coordinates.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.bias.len())
    }

    /// Recodes every sentence of public documents in floating point; the device computes in
    /// integers.
    pub fn apply(&self, documents: &DocumentVectors) -> DocumentVectors {
        let Some((last, hidden)) = self.layers.split_last() else {
            return documents.clone();
        };
        let mut rows = Cow::Borrowed(documents);
        for layer in hidden {
            rows = Cow::Owned(layer.apply(&rows).rectified());
        }
        last.apply(&rows)
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
    /// Returns W·x + b for every sentence.
    pub fn apply(&self, documents: &DocumentVectors) -> DocumentVectors {
        // nalgebra is column-major, so rows are the columns of its matrices.
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

#[derive(Serialize, Deserialize)]
struct Description {
    encoder_digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

impl Description {
    /// Refuses vectors of another encoder, or of a length other than the trained part's.
    fn check(
        &self,
        encoder: &EncoderIdentity,
        dimension: usize,
        reads: usize,
    ) -> Result<(), String> {
        if self.encoder_digest != hex::encode(encoder.digest) {
            return Err(format!(
                "it was trained with another encoder than `{}`; name the encoder of the training",
                encoder.name
            ));
        }
        if reads != dimension {
            return Err(format!(
                "it reads {reads} coordinates, the encoder gives {dimension}"
            ));
        }
        Ok(())
    }
}

/// Reads a matrix, and a vector with a number for each row.
fn layer(tensors: &SafeTensors<'_>, weights: &str, bias: &str) -> Result<Layer, String> {
    let ([rows, inputs], weights) = f32s(tensors, weights)?;
    let ([biases], bias) = f32s(tensors, bias)?;
    if rows != biases {
        return Err(format!("it has {rows} rows of weights and {biases} biases"));
    }
    Ok(Layer {
        inputs,
        weights,
        bias,
    })
}

/// Reads a file that `parse` accepts as `wanted`.
fn read<T>(
    path: &Path,
    wanted: &'static str,
    parse: impl FnOnce(&SafeTensors<'_>, Description) -> Result<T, String>,
) -> Result<T> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    described(&bytes)
        .and_then(|(tensors, description)| parse(&tensors, description))
        .map_err(|problem| {
            let path = path.display();
            Error::input(format!("`{path}` is not a file of {wanted}: {problem}"))
        })
}

/// Writes tensors, given by their names, shapes and numbers.
fn write(
    path: &Path,
    tensors: &[(String, Vec<usize>, &[f32])],
    encoder: &EncoderIdentity,
    names: &[String],
) -> Result<()> {
    let bytes =
        |(.., numbers): &(_, _, &[f32])| numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let bytes: Vec<Vec<u8>> = tensors.iter().map(bytes).collect();
    let tensors = tensors.iter().zip(&bytes);
    let tensors = tensors.map(|((name, shape, _), bytes)| Tensor {
        name,
        dtype: Dtype::F32,
        shape: shape.clone(),
        bytes,
    });
    let description = Description {
        encoder_digest: hex::encode(encoder.digest),
        names: names.to_vec(),
    };
    let file = AtomicFile::create(path)?;
    write_tensors(file, &tensors.collect::<Vec<_>>(), &description)
}

impl ScoreHeads {
    /// Writes the heads of the candidates `names`: tensors `centre` `[d]`, `weights` `[candidates,
    /// d]`, `bias` `[candidates]` and `thresholds` `[Q]`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
    pub fn write(&self, path: &Path, names: &[String], encoder: &EncoderIdentity) -> Result<()> {
        let shape = vec![self.bias.len(), self.centre.len()];
        let vector = |numbers: &Vec<f32>| vec![numbers.len()];
        let tensors = [
            ("centre".to_owned(), vector(&self.centre), &self.centre[..]),
            ("weights".to_owned(), shape, &self.weights),
            ("bias".to_owned(), vector(&self.bias), &self.bias),
            (
                "thresholds".to_owned(),
                vector(&self.thresholds),
                &self.thresholds,
            ),
        ];
        write(path, &tensors, encoder, names)
    }

    /// Reads such a file, which must be for the candidates `names` and for the vectors of
    /// `encoder`, of `dimension` coordinates.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for invalid content.
    pub fn read(
        path: &Path,
        names: &[String],
        encoder: &EncoderIdentity,
        dimension: usize,
    ) -> Result<Self> {
        read(path, "score heads", |tensors, description| {
            let layer = layer(tensors, "weights", "bias")?;
            let (inputs, bias) = (layer.inputs, layer.bias);
            let ([length], centre) = f32s(tensors, "centre")?;
            let ([_], thresholds) = f32s(tensors, "thresholds")?;
            description.check(encoder, dimension, inputs)?;
            if length != inputs {
                return Err(format!(
                    "its centre has {length} coordinates, its weights {inputs}"
                ));
            }
            if !thresholds.is_sorted() {
                return Err("its thresholds do not ascend".to_owned());
            }
            let found = &description.names;
            if bias.len() != names.len() || found.len() != names.len() {
                return Err(format!(
                    "it has {} heads and {} names; the corpus has {} candidates",
                    bias.len(),
                    found.len(),
                    names.len()
                ));
            }
            if let Some((found, wanted)) = found.iter().zip(names).find(|(a, b)| a != b) {
                return Err(format!(
                    "the corpus has the candidate {wanted:?}, it has {found:?}"
                ));
            }
            Ok(Self {
                centre,
                weights: layer.weights,
                bias,
                thresholds,
            })
        })
    }
}

impl Recoder {
    /// Writes the layers under the names of PyTorch's `Sequential` with alternating `Linear` and
    /// `ReLU`: tensors `0.weight` `[outputs, inputs]`, `0.bias` `[outputs]`, `2.weight`, `2.bias`
    /// and so on.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
    pub fn write(&self, path: &Path, encoder: &EncoderIdentity) -> Result<()> {
        let numbered = (0..).step_by(2).zip(&self.layers);
        let tensors = numbered.flat_map(|(place, layer)| {
            let (outputs, weight) = (layer.bias.len(), format!("{place}.weight"));
            [
                (weight, vec![outputs, layer.inputs], &layer.weights[..]),
                (format!("{place}.bias"), vec![outputs], &layer.bias),
            ]
        });
        write(path, &tensors.collect::<Vec<_>>(), encoder, &[])
    }

    /// Reads such a file, for the vectors of `encoder`, of `dimension` coordinates.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for invalid content.
    pub fn read(path: &Path, encoder: &EncoderIdentity, dimension: usize) -> Result<Self> {
        read(path, "a recoder", |tensors, description| {
            let first = layer(tensors, "0.weight", "0.bias")?;
            description.check(encoder, dimension, first.inputs)?;
            let mut layers = vec![first];
            loop {
                let (place, before) = (2 * layers.len(), layers[layers.len() - 1].bias.len());
                let name = format!("{place}.weight");
                if tensors.tensor(&name).is_err() {
                    return Ok(Self { layers });
                }
                let layer = layer(tensors, &name, &format!("{place}.bias"))?;
                if layer.inputs != before {
                    return Err(format!(
                        "\"{name}\" reads {} numbers of {before}",
                        layer.inputs
                    ));
                }
                layers.push(layer);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads() -> ScoreHeads {
        ScoreHeads {
            centre: vec![0.5, -0.5],
            weights: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            bias: vec![0.1, 0.2, 0.3],
            thresholds: vec![0.25, 0.75],
        }
    }

    fn encoder(digest: u8) -> EncoderIdentity {
        EncoderIdentity {
            name: "some".to_owned(),
            digest: [digest; 32],
        }
    }

    fn names(names: [&str; 3]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    fn refused<T>(read: Result<T>, part: &str) {
        let error = read.err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn heads_come_back_for_the_same_candidates_and_encoder_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heads.safetensors");
        let known = names(["a", "b", "c"]);
        heads().write(&path, &known, &encoder(1)).unwrap();
        let read = |known: &[String], digest, dimension| {
            ScoreHeads::read(&path, known, &encoder(digest), dimension)
        };
        assert_eq!(read(&known, 1, 2).unwrap(), heads());
        let others = names(["a", "b", "d"]);
        refused(read(&others, 1, 2), "candidate \"d\", it has \"c\"");
        refused(read(&known[..2], 1, 2), "the corpus has 2 candidates");
        refused(read(&known, 2, 2), "another encoder");
        refused(
            read(&known, 1, 3),
            "reads 2 coordinates, the encoder gives 3",
        );
        let mut spoilt = heads();
        spoilt.thresholds.reverse();
        spoilt.write(&path, &known, &encoder(1)).unwrap();
        refused(read(&known, 1, 2), "do not ascend");
        let mut spoilt = heads();
        spoilt.bias[1] = f32::NAN;
        spoilt.write(&path, &known, &encoder(1)).unwrap();
        refused(read(&known, 1, 2), "not finite");
    }

    #[test]
    fn a_recoder_comes_back_if_its_layers_fit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recoder.safetensors");
        let layer = |inputs: usize, outputs: usize| Layer {
            inputs,
            weights: vec![0.5; inputs * outputs],
            bias: vec![0.25; outputs],
        };
        let recoder = Recoder {
            layers: vec![layer(2, 3), layer(3, 1)],
        };
        recoder.write(&path, &encoder(1)).unwrap();
        let read = || Recoder::read(&path, &encoder(1), 2);
        assert_eq!(read().unwrap(), recoder);
        let unfit = Recoder {
            layers: vec![layer(2, 3), layer(4, 1)],
        };
        unfit.write(&path, &encoder(1)).unwrap();
        refused(read(), "reads 4 numbers of 3");
        fs::write(&path, "no tensors").unwrap();
        refused(read(), "is not a file of a recoder");
    }
}
