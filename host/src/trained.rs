//! What training or fitting gives a pack: a recoder for depth, heads for scores.

use std::fs;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::encoder::EncoderIdentity;
use crate::error::{Error, Result};
use crate::output::{AtomicFile, DESCRIPTION, Tensor, write_tensors};

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

const RECODER: &str = "a recoder";
const SCORE_HEADS: &str = "score heads";

#[derive(Serialize, Deserialize)]
struct Description {
    kind: String,
    encoder: String,
    encoder_digest: String,
}

impl Recoder {
    /// Writes a safetensors file: tensors `layers.I.weights` f32 `[outputs, inputs]` and
    /// `layers.I.bias` f32 `[outputs]` for I = 0, 1, …, and the metadata entry `undertone`: a JSON
    /// object with `kind`, `encoder` and `encoder_digest`.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::OutputPath`]; nothing is left behind.
    pub fn write(&self, path: &Path, encoder: &EncoderIdentity) -> Result<()> {
        let mut parts = Vec::new();
        for (number, layer) in self.layers.iter().enumerate() {
            let shape = vec![layer.bias.len(), layer.inputs];
            parts.push((format!("layers.{number}.weights"), shape, &layer.weights));
            let shape = vec![layer.bias.len()];
            parts.push((format!("layers.{number}.bias"), shape, &layer.bias));
        }
        write(path, RECODER, encoder, &parts)
    }

    /// Reads such a file: the recoder, and the encoder whose vectors it takes.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Trained`] says what is wrong with the content.
    pub fn read(path: &Path) -> Result<(Self, EncoderIdentity)> {
        read(path, RECODER, |tensors| {
            let mut layers: Vec<Layer> = Vec::new();
            // The writer of the format is free to order tensors as it likes.
            while layers.is_empty() || 2 * layers.len() < tensors.len() {
                let name = format!("layers.{}.weights", layers.len());
                let ([outputs, inputs], weights) = f32s::<2>(tensors, &name)?;
                let before = layers.last().map_or(inputs, |layer| layer.bias.len());
                if inputs != before {
                    return Err(format!(
                        "tensor \"{name}\" takes {inputs} inputs, the layer before it gives {before}"
                    ));
                }
                let name = format!("layers.{}.bias", layers.len());
                let bias = sized(tensors, &name, outputs)?;
                layers.push(Layer {
                    inputs,
                    weights,
                    bias,
                });
            }
            Ok(Self { layers })
        })
    }
}

impl ScoreHeads {
    /// Writes a safetensors file: tensors `centre` f32 `[d]`, `weights` f32 `[candidates, d]`, `bias`
    /// f32 `[candidates]` and `thresholds` f32 `[Q]`, and the metadata entry `undertone`: a JSON object
    /// with `kind`, `encoder` and `encoder_digest`.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::OutputPath`]; nothing is left behind.
    pub fn write(&self, path: &Path, encoder: &EncoderIdentity) -> Result<()> {
        let shape = vec![self.bias.len(), self.centre.len()];
        let parts = [
            ("centre".to_owned(), vec![self.centre.len()], &self.centre),
            ("weights".to_owned(), shape, &self.weights),
            ("bias".to_owned(), vec![self.bias.len()], &self.bias),
            (
                "thresholds".to_owned(),
                vec![self.thresholds.len()],
                &self.thresholds,
            ),
        ];
        write(path, SCORE_HEADS, encoder, &parts)
    }

    /// Reads such a file: the heads, and the encoder whose vectors they take.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Trained`] says what is wrong with the content.
    pub fn read(path: &Path) -> Result<(Self, EncoderIdentity)> {
        read(path, SCORE_HEADS, |tensors| {
            let ([candidates, dimension], weights) = f32s::<2>(tensors, "weights")?;
            let (_, thresholds) = f32s::<1>(tensors, "thresholds")?;
            if !thresholds.is_sorted() {
                return Err("tensor \"thresholds\" does not ascend".to_owned());
            }
            Ok(Self {
                centre: sized(tensors, "centre", dimension)?,
                weights,
                bias: sized(tensors, "bias", candidates)?,
                thresholds,
            })
        })
    }
}

fn write(
    path: &Path,
    kind: &str,
    encoder: &EncoderIdentity,
    parts: &[(String, Vec<usize>, &Vec<f32>)],
) -> Result<()> {
    let bytes: Vec<Vec<u8>> = parts
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|x| x.to_le_bytes()).collect())
        .collect();
    let tensors: Vec<_> = parts
        .iter()
        .zip(&bytes)
        .map(|((name, shape, _), bytes)| Tensor {
            name,
            dtype: Dtype::F32,
            shape: shape.clone(),
            bytes,
        })
        .collect();
    let description = Description {
        kind: kind.to_owned(),
        encoder: encoder.name.clone(),
        encoder_digest: hex::encode(encoder.digest),
    };
    write_tensors(AtomicFile::create(path)?, &tensors, &description)
}

fn read<T>(
    path: &Path,
    wanted: &'static str,
    content: impl FnOnce(&SafeTensors<'_>) -> Result<T, String>,
) -> Result<(T, EncoderIdentity)> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let parse = || {
        let (tensors, description) = described::<Description>(&bytes)?;
        if description.kind != wanted {
            return Err(format!("it holds {}", description.kind));
        }
        let mut digest = [0; 32];
        hex::decode_to_slice(&description.encoder_digest, &mut digest)
            .map_err(|_| "the encoder's digest is not 64 hexadecimal digits")?;
        let identity = EncoderIdentity {
            name: description.encoder,
            digest,
        };
        Ok((content(&tensors)?, identity))
    };
    parse().map_err(|problem| Error::Trained {
        path: path.to_owned(),
        wanted,
        problem,
    })
}

/// The tensors of a safetensors file and what its description says.
pub(crate) fn described<D: serde::de::DeserializeOwned>(
    bytes: &[u8],
) -> Result<(SafeTensors<'_>, D), String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let description = header
        .metadata()
        .as_ref()
        .and_then(|all| all.get(DESCRIPTION))
        .ok_or(format!("it has no metadata \"{DESCRIPTION}\""))?;
    let description = serde_json::from_str(description)
        .map_err(|error| format!("metadata \"{DESCRIPTION}\": {error}"))?;
    Ok((tensors, description))
}

/// A tensor of finite f32 with A axes, none of length 0.
pub(crate) fn f32s<const A: usize>(
    tensors: &SafeTensors<'_>,
    name: &str,
) -> Result<([usize; A], Vec<f32>), String> {
    let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
    let shape = <[usize; A]>::try_from(tensor.shape())
        .ok()
        .filter(|shape| tensor.dtype() == Dtype::F32 && !shape.contains(&0))
        .ok_or_else(|| {
            format!(
                "tensor \"{name}\" is {:?} {:?}; wanted is F32 with {A} axes, none of length 0",
                tensor.dtype(),
                tensor.shape()
            )
        })?;
    let values: Vec<f32> = tensor
        .data()
        .chunks_exact(4)
        .map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]))
        .collect();
    match values.iter().position(|x| !x.is_finite()) {
        Some(position) => Err(format!(
            "tensor \"{name}\" has {} at position {position}; wanted are finite numbers",
            values[position]
        )),
        None => Ok((shape, values)),
    }
}

/// A tensor with one axis of this length.
fn sized(tensors: &SafeTensors<'_>, name: &str, length: usize) -> Result<Vec<f32>, String> {
    match f32s::<1>(tensors, name)? {
        ([found], values) if found == length => Ok(values),
        ([found], _) => Err(format!(
            "tensor \"{name}\" has {found} values; the weights want {length}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Layer, Recoder, ScoreHeads};
    use crate::encoder::EncoderIdentity;
    use crate::{Error, Result};

    fn encoder() -> EncoderIdentity {
        EncoderIdentity {
            name: "some encoder".to_owned(),
            digest: [9; 32],
        }
    }

    fn recoder() -> Recoder {
        let layer = |inputs: usize, outputs: usize| Layer {
            inputs,
            weights: (0..inputs * outputs).map(|i| i as f32 - 1.5).collect(),
            bias: vec![0.25; outputs],
        };
        Recoder {
            layers: vec![layer(3, 4), layer(4, 2), layer(2, 3)],
        }
    }

    fn heads() -> ScoreHeads {
        ScoreHeads {
            centre: vec![0.5, -0.5, 0.0],
            weights: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            bias: vec![0.1, -0.1],
            thresholds: vec![0.125, 0.375, 0.625, 0.875],
        }
    }

    fn problem<T>(read: Result<(T, EncoderIdentity)>) -> String {
        match read {
            Err(Error::Trained { problem, .. }) => problem,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was read"),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        recoder().write(&path, &encoder()).unwrap();
        assert_eq!(Recoder::read(&path).unwrap(), (recoder(), encoder()));
        assert_eq!(problem(ScoreHeads::read(&path)), "it holds a recoder");
        heads().write(&path, &encoder()).unwrap();
        assert_eq!(ScoreHeads::read(&path).unwrap(), (heads(), encoder()));
        assert_eq!(problem(Recoder::read(&path)), "it holds score heads");
        assert!(matches!(
            Recoder::read(&folder.path().join("absent")),
            Err(Error::Io { .. })
        ));
    }

    #[test]
    fn wrong_content_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        let with = |change: fn(&mut Recoder)| {
            let mut recoder = recoder();
            change(&mut recoder);
            recoder.write(&path, &encoder()).unwrap();
            problem(Recoder::read(&path))
        };
        let found = with(|recoder| recoder.layers[1].weights[2] = f32::NAN);
        assert!(
            found.contains("layers.1.weights\" has NaN at position 2"),
            "{found}"
        );
        let found = with(|recoder| recoder.layers[2].bias[0] = f32::INFINITY);
        assert!(found.contains("layers.2.bias\" has inf"), "{found}");
        let found = with(|recoder| drop(recoder.layers.remove(1)));
        assert!(
            found.contains("takes 2 inputs, the layer before it gives 4"),
            "{found}"
        );
        let found = with(|recoder| recoder.layers.clear());
        assert!(found.contains("layers.0.weights"), "{found}");

        let with = |change: fn(&mut ScoreHeads)| {
            let mut heads = heads();
            change(&mut heads);
            heads.write(&path, &encoder()).unwrap();
            problem(ScoreHeads::read(&path))
        };
        let found = with(|heads| heads.thresholds.swap(0, 1));
        assert!(found.contains("does not ascend"), "{found}");
        let found = with(|heads| heads.thresholds.clear());
        assert!(found.contains("\"thresholds\" is F32 [0]"), "{found}");
        let found = with(|heads| {
            heads.centre.pop();
            heads.weights.truncate(4);
            heads.centre[1] = f32::NEG_INFINITY;
        });
        assert!(found.contains("\"centre\" has -inf"), "{found}");
    }

    #[test]
    fn no_damage_makes_the_readers_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        heads().write(&path, &encoder()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let read = |path: &Path, bytes: &[u8]| {
            std::fs::write(path, bytes).unwrap();
            let _ = Recoder::read(path);
            ScoreHeads::read(path)
        };
        for end in 0..whole.len() {
            assert!(read(&path, &whole[..end]).is_err(), "cut at {end}");
        }
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x81;
            let _ = read(&path, &damaged);
        }
    }
}
