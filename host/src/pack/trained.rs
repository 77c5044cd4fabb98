//! What training or fitting gives a pack: a recoder for depth, heads for scores, and their files.
//!
//! Both files are safetensors with f32 tensors, and may come from any program. The metadata entry `undertone` is a
//! JSON object with `encoder_digest`, the SHA-256 of the encoder in hexadecimal, and for heads `names`, the labels of
//! the candidates in their order.

use std::fs;
use std::path::{Path, PathBuf};

use nalgebra::{DMatrix, DMatrixView, DVectorView};
use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::encoder::EncoderIdentity;
use crate::encoder::vectors::DocumentVectors;
use crate::error::{Cause, Error, Result};
use crate::files::atomic::{AtomicFile, DESCRIPTION, Tensor, write_tensors};

/// Hidden layers of a recoder at most, and the last.
const MOST_LAYERS: usize = 5;

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

/// Tensors of a file, and what it says of itself.
struct Parts {
    path: PathBuf,
    wanted: &'static str,
    bytes: Vec<u8>,
    description: Description,
}

#[derive(Serialize, Deserialize)]
struct Description {
    encoder_digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

impl Parts {
    fn read(path: &Path, wanted: &'static str) -> Result<Self> {
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        let description = description(&bytes).map_err(|problem| bad(path, wanted, problem))?;
        Ok(Self {
            path: path.to_owned(),
            wanted,
            bytes,
            description,
        })
    }

    fn bad(&self, problem: String) -> Error {
        bad(&self.path, self.wanted, problem)
    }

    /// A tensor with `axes` axes: its shape and its numbers.
    fn tensor(&self, name: &str, axes: usize) -> Result<(Vec<usize>, Vec<f32>)> {
        let read = || {
            let tensors =
                SafeTensors::deserialize(&self.bytes).map_err(|error| error.to_string())?;
            let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
            let shape = tensor.shape();
            if tensor.dtype() != Dtype::F32 || shape.len() != axes || shape.contains(&0) {
                return Err(format!(
                    "tensor \"{name}\" is {:?} {shape:?}; expected F32 with {axes} axes and no empty one",
                    tensor.dtype()
                ));
            }
            let numbers = tensor.data().as_chunks().0.iter();
            let numbers: Vec<f32> = numbers.map(|x| f32::from_le_bytes(*x)).collect();
            match numbers.iter().position(|x| !x.is_finite()) {
                Some(place) => Err(format!("number {place} of tensor \"{name}\" is not finite")),
                None => Ok((shape.to_vec(), numbers)),
            }
        };
        read().map_err(|problem| self.bad(problem))
    }

    fn tensor_is_missing(&self, name: &str) -> bool {
        let tensors = SafeTensors::deserialize(&self.bytes);
        tensors.is_ok_and(|tensors| tensors.tensor(name).is_err())
    }

    /// A matrix, and a vector with a number for each row.
    fn layer(&self, weights: &str, bias: &str) -> Result<Layer> {
        let (shape, weights) = self.tensor(weights, 2)?;
        let (rows, bias) = self.tensor(bias, 1)?;
        if rows[0] != shape[0] {
            let problem = format!("it has {} rows of weights and {} biases", shape[0], rows[0]);
            return Err(self.bad(problem));
        }
        Ok(Layer {
            inputs: shape[1],
            weights,
            bias,
        })
    }

    /// Refuses a file that was made with another encoder, or for vectors of another length.
    fn check(&self, encoder: &EncoderIdentity, dimension: usize, found: usize) -> Result<()> {
        if self.description.encoder_digest != hex::encode(encoder.digest) {
            let problem = format!(
                "it was trained with another encoder than `{}`; name the encoder of the training",
                encoder.name
            );
            return Err(self.bad(problem));
        }
        if found != dimension {
            let problem = format!("it reads {found} coordinates, the encoder gives {dimension}");
            return Err(self.bad(problem));
        }
        Ok(())
    }
}

fn bad(path: &Path, wanted: &'static str, problem: String) -> Error {
    Error::from(Cause::Trained {
        path: path.to_owned(),
        wanted,
        problem,
    })
}

fn description(bytes: &[u8]) -> Result<Description, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let metadata = header.metadata().as_ref();
    let description = metadata.and_then(|all| all.get(DESCRIPTION));
    let description = description.ok_or(format!("it has no metadata \"{DESCRIPTION}\""))?;
    serde_json::from_str(description)
        .map_err(|error| format!("metadata \"{DESCRIPTION}\": {error}"))
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn write(
    path: &Path,
    tensors: &[(String, Vec<usize>, Vec<u8>)],
    encoder: &EncoderIdentity,
    names: &[String],
) -> Result<()> {
    let tensors = tensors.iter().map(|(name, shape, bytes)| Tensor {
        name,
        dtype: Dtype::F32,
        shape: shape.clone(),
        bytes,
    });
    let description = Description {
        encoder_digest: hex::encode(encoder.digest),
        names: names.to_vec(),
    };
    write_tensors(
        AtomicFile::create(path)?,
        &tensors.collect::<Vec<_>>(),
        &description,
    )
}

impl ScoreHeads {
    /// Writes the heads of the candidates `names`: tensors `centre` `[d]`, `weights` `[candidates, d]`, `bias`
    /// `[candidates]` and `thresholds` `[Q]`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
    pub fn write(&self, path: &Path, names: &[String], encoder: &EncoderIdentity) -> Result<()> {
        let (candidates, dimension) = (self.bias.len(), self.centre.len());
        let tensor = |name: &str, shape: &[usize], numbers: &[f32]| {
            (name.to_owned(), shape.to_vec(), bytes(numbers))
        };
        let tensors = [
            tensor("centre", &[dimension], &self.centre),
            tensor("weights", &[candidates, dimension], &self.weights),
            tensor("bias", &[candidates], &self.bias),
            tensor("thresholds", &[self.thresholds.len()], &self.thresholds),
        ];
        write(path, &tensors, encoder, names)
    }

    /// Reads such a file, which must be for the candidates `names` and for the vectors of `encoder`, of `dimension`
    /// coordinates.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io); [`ErrorKind::Input`](crate::error::ErrorKind::Input) says what is wrong with the content.
    pub fn read(
        path: &Path,
        names: &[String],
        encoder: &EncoderIdentity,
        dimension: usize,
    ) -> Result<Self> {
        let parts = Parts::read(path, "score heads")?;
        let Layer {
            inputs,
            weights,
            bias,
        } = parts.layer("weights", "bias")?;
        let (_, centre) = parts.tensor("centre", 1)?;
        let (_, thresholds) = parts.tensor("thresholds", 1)?;
        parts.check(encoder, dimension, inputs)?;
        let found = &parts.description.names;
        let differs = |(found, wanted): (&String, &String)| {
            (found != wanted)
                .then(|| format!("the corpus has the candidate {wanted:?}, it has {found:?}"))
        };
        let problem = if centre.len() != inputs {
            Some(format!(
                "its centre has {} coordinates, its weights {inputs}",
                centre.len()
            ))
        } else if !thresholds.is_sorted() {
            Some("its thresholds do not ascend".to_owned())
        } else if bias.len() != names.len() || found.len() != names.len() {
            Some(format!(
                "it has {} heads and {} names; the corpus has {} candidates",
                bias.len(),
                found.len(),
                names.len()
            ))
        } else {
            found.iter().zip(names).find_map(differs)
        };
        match problem {
            Some(problem) => Err(parts.bad(problem)),
            None => Ok(Self {
                centre,
                weights,
                bias,
                thresholds,
            }),
        }
    }
}

impl Recoder {
    /// Writes the layers as PyTorch names those of a `Sequential` of `Linear` and `ReLU` in turns: tensors `0.weight`
    /// `[outputs, inputs]`, `0.bias` `[outputs]`, `2.weight`, `2.bias` and so on.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
    pub fn write(&self, path: &Path, encoder: &EncoderIdentity) -> Result<()> {
        let tensors = self.layers.iter().enumerate().flat_map(|(number, layer)| {
            let (outputs, place) = (layer.bias.len(), 2 * number);
            let weights = bytes(&layer.weights);
            [
                (
                    format!("{place}.weight"),
                    vec![outputs, layer.inputs],
                    weights,
                ),
                (format!("{place}.bias"), vec![outputs], bytes(&layer.bias)),
            ]
        });
        write(path, &tensors.collect::<Vec<_>>(), encoder, &[])
    }

    /// Reads such a file, for the vectors of `encoder`, of `dimension` coordinates.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io); [`ErrorKind::Input`](crate::error::ErrorKind::Input) says what is wrong with the content.
    pub fn read(path: &Path, encoder: &EncoderIdentity, dimension: usize) -> Result<Self> {
        let parts = Parts::read(path, "a recoder")?;
        let mut layers = vec![parts.layer("0.weight", "0.bias")?];
        parts.check(encoder, dimension, layers[0].inputs)?;
        for number in 1..MOST_LAYERS {
            let name = format!("{}.weight", 2 * number);
            if parts.tensor_is_missing(&name) {
                break;
            }
            let layer = parts.layer(&name, &format!("{}.bias", 2 * number))?;
            let before = layers[number - 1].bias.len();
            if layer.inputs != before {
                let problem = format!("\"{name}\" reads {} numbers of {before}", layer.inputs);
                return Err(parts.bad(problem));
            }
            layers.push(layer);
        }
        Ok(Self { layers })
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
        for (result, part) in [
            (
                read(&names(["a", "b", "d"]), 1, 2),
                "candidate \"d\", it has \"c\"",
            ),
            (read(&known[..2], 1, 2), "the corpus has 2 candidates"),
            (read(&known, 2, 2), "another encoder"),
            (
                read(&known, 1, 3),
                "reads 2 coordinates, the encoder gives 3",
            ),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        for (spoilt, part) in [
            (
                ScoreHeads {
                    thresholds: vec![0.75, 0.25],
                    ..heads()
                },
                "do not ascend",
            ),
            (
                ScoreHeads {
                    bias: vec![0.1, f32::NAN, 0.3],
                    ..heads()
                },
                "not finite",
            ),
        ] {
            spoilt.write(&path, &known, &encoder(1)).unwrap();
            let error = read(&known, 1, 2).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
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
        assert!(
            read()
                .unwrap_err()
                .to_string()
                .contains("reads 4 numbers of 3")
        );
        fs::write(&path, "no tensors").unwrap();
        assert!(
            read()
                .unwrap_err()
                .to_string()
                .contains("is not a file of a recoder")
        );
    }
}
