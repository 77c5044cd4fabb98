//! Checkpoints: the state of a training between two epochs, in a file.
//!
//! A checkpoint has weights, Adam's moments and losses, of public documents only. A digest in it
//! identifies the inputs and options of its training. A training that finds its checkpoint resumes
//! and ends with the same weights as without the interruption. After the result is written, the
//! caller [`remove`]s the file.

use std::fs;
use std::io;
use std::path::Path;

use burn::optim::{AdamState, AdaptiveMomentumState};
use burn::tensor::Tensor as Matrix;
use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::{Epoch, State, network};
use undertone::error::{Error, Result};
use undertone::files::atomic::{AtomicFile, Tensor, described, f32s, write_tensors};

const KIND: &str = "an interrupted training";

/// The parts for each matrix of weights: current, after the best epoch, Adam's first and second
/// moments.
const PARTS: [&str; 4] = ["weights", "best", "moment1", "moment2"];

#[derive(Serialize, Deserialize)]
struct Description {
    kind: String,
    digest: String,
    steps: usize,
}

pub(super) struct Checkpoint<'a> {
    path: &'a Path,
    digest: String,
}

/// Removes the checkpoint, if there is one.
///
/// # Errors
/// [`ErrorKind::Io`](undertone::error::ErrorKind::Io).
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

impl<'a> Checkpoint<'a> {
    /// Checks, before the training, that the file can be written.
    pub(super) fn open(path: &'a Path, digest: &[u8; 32]) -> Result<Self> {
        AtomicFile::check(path)?;
        Ok(Self {
            path,
            digest: hex::encode(digest),
        })
    }

    /// Reads the state from the file, or returns `fresh` if there is no file or it belongs to
    /// another training.
    ///
    /// A file that is not a checkpoint is an error, because it must not be overwritten.
    pub(super) fn read(&self, fresh: State, notice: &dyn Fn(&str)) -> Result<State> {
        let bytes = match fs::read(self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh),
            read => read.map_err(Error::io("read", self.path))?,
        };
        let fail = |problem| {
            Error::input(format!(
                "`{}` is not a file of {KIND}: {problem}",
                self.path.display()
            ))
        };
        let (tensors, description) = described::<Description>(&bytes).map_err(fail)?;
        if description.kind != KIND {
            return Err(fail(format!("it holds {}", description.kind)));
        }
        if description.digest != self.digest {
            notice(&format!(
                "starting over: `{}` is left of a training with other inputs or options and will be replaced",
                self.path.display()
            ));
            return Ok(fresh);
        }
        let state = state(&tensors, description.steps, &fresh).map_err(fail)?;
        notice(&format!(
            "resuming: {} epochs are done already",
            state.epochs.len()
        ));
        Ok(state)
    }

    pub(super) fn write(&self, state: &State) -> Result<()> {
        let moments = |which: fn(&AdaptiveMomentumState<2>) -> &Matrix<2>| {
            state.adam.iter().map(move |adam| which(&adam.momentum))
        };
        let matrices: [Vec<&Matrix<2>>; 4] = [
            state.weights.iter().collect(),
            state.best.iter().collect(),
            moments(|state| &state.moment_1).collect(),
            moments(|state| &state.moment_2).collect(),
        ];
        let mut parts = Vec::new();
        for (name, matrices) in PARTS.iter().zip(matrices) {
            for (number, matrix) in matrices.into_iter().enumerate() {
                let values = network::values(matrix);
                parts.push((
                    format!("{name}.{number}"),
                    Dtype::F32,
                    matrix.dims(),
                    values
                        .iter()
                        .flat_map(|x| x.to_le_bytes())
                        .collect::<Vec<_>>(),
                ));
            }
        }
        let losses = state
            .epochs
            .iter()
            .flat_map(|epoch| [epoch.train_loss, epoch.validation_loss])
            .flat_map(f64::to_le_bytes)
            .collect();
        parts.push((
            "losses".to_owned(),
            Dtype::F64,
            [state.epochs.len(), 2],
            losses,
        ));
        let tensors: Vec<_> = parts
            .iter()
            .map(|(name, dtype, shape, bytes)| Tensor {
                name,
                dtype: *dtype,
                shape: shape.to_vec(),
                bytes,
            })
            .collect();
        let description = Description {
            kind: KIND.to_owned(),
            digest: self.digest.clone(),
            steps: state.adam.first().map_or(0, |adam| adam.momentum.time),
        };
        write_tensors(AtomicFile::create(self.path)?, &tensors, &description)
    }
}

/// The state in these tensors; `like` has the expected number and shapes of matrices.
fn state(tensors: &SafeTensors<'_>, steps: usize, like: &State) -> Result<State, String> {
    let matrix = |part: &str, number: usize| {
        let name = format!("{part}.{number}");
        let (shape, values) = f32s::<2>(tensors, &name)?;
        let wanted = like.weights[number].dims();
        if shape != wanted {
            return Err(format!("tensor \"{name}\" is {shape:?}, not {wanted:?}"));
        }
        Ok(network::matrix(values, wanted[1]))
    };
    let numbers = 0..like.weights.len();
    let [weights, best, moment1, moment2] = PARTS;
    let losses = tensors
        .tensor("losses")
        .map_err(|error| error.to_string())?;
    if losses.dtype() != Dtype::F64 || !matches!(losses.shape(), [_, 2]) {
        return Err("tensor \"losses\" is not F64 [epochs, 2]".to_owned());
    }
    let loss = |bytes: &[u8]| {
        let mut loss = [0; 8];
        loss.copy_from_slice(bytes);
        f64::from_le_bytes(loss)
    };
    let epochs = losses.data().chunks_exact(16).zip(1..);
    Ok(State {
        weights: numbers
            .clone()
            .map(|number| matrix(weights, number))
            .collect::<Result<_, _>>()?,
        best: numbers
            .clone()
            .map(|number| matrix(best, number))
            .collect::<Result<_, _>>()?,
        adam: numbers
            .map(|number| {
                Ok(AdamState::new(AdaptiveMomentumState::new(
                    steps,
                    matrix(moment1, number)?,
                    matrix(moment2, number)?,
                )))
            })
            .collect::<Result<_, String>>()?,
        epochs: epochs
            .map(|(bytes, number)| Epoch {
                number,
                train_loss: loss(&bytes[..8]),
                validation_loss: loss(&bytes[8..]),
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::tests::{halves, options, synthetic};
    use super::super::{Model, Options, Run, Split, fit, fit_until};
    use super::*;
    use undertone::error::ErrorKind;

    /// A model with one layer on the documents' means.
    struct Linear {
        points: Vec<f32>,
        classes: Vec<usize>,
    }

    impl Model for Linear {
        fn loss(&self, weights: &[Matrix<2>], documents: &[usize]) -> super::super::Loss {
            let rows = documents
                .iter()
                .flat_map(|number| &self.points[number * 6..][..6]);
            let x = network::matrix(rows.copied().collect(), 6);
            let targets = network::indices(documents.iter().map(|number| self.classes[*number]));
            let logits = network::linear(x, &weights[0], &weights[1]);
            super::super::Loss {
                judged: network::cross_entropy(logits, targets),
                beside: None,
            }
        }

        fn inputs(&self, hash: &mut sha2::Sha256) {
            super::super::absorb(hash, &self.points);
            super::super::absorb(hash, &self.classes);
        }
    }

    fn first() -> Vec<Matrix<2>> {
        let mut rng = super::super::stream(1, 0);
        network::first(&[6, 3], &mut rng)
    }

    fn bits(weights: &[Matrix<2>]) -> Vec<u32> {
        let values = weights.iter().flat_map(network::values);
        values.map(f32::to_bits).collect()
    }

    #[test]
    fn an_interrupted_training_ends_with_the_bits_of_an_uninterrupted_one() {
        let (documents, classes) = synthetic(90, 6, 3);
        let mut model = Linear {
            points: documents.means(),
            classes,
        };
        let (train, validation) = halves(90);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let (weights, epochs) = fit(&model, first(), &split, &Run::new(options())).unwrap();
        assert_eq!(epochs.len(), 4);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.training.partial");
        let notices = RefCell::new(Vec::new());
        let notice = |text: &str| notices.borrow_mut().push(text.to_owned());
        let run = |options: Options| Run {
            checkpoint: Some(&path),
            notice: &notice,
            ..Run::new(options)
        };
        let half = fit_until(2, &model, first(), &split, &run(options())).unwrap();
        assert_eq!(half.epochs, epochs[..2]);
        assert_ne!(bits(&half.best), bits(&weights), "the last epochs matter");
        let kept = fs::read(&path).unwrap();
        // Only the missing epochs are trained.
        let resumed = fit(&model, first(), &split, &run(options())).unwrap();
        assert_eq!((bits(&resumed.0), &resumed.1), (bits(&weights), &epochs));
        assert_eq!(*notices.borrow(), ["resuming: 2 epochs are done already"]);
        // A complete training is not repeated.
        let again = fit(&model, first(), &split, &run(options())).unwrap();
        assert_eq!((bits(&again.0), &again.1), (bits(&weights), &epochs));
        assert_eq!(notices.borrow().len(), 2);

        // Other options, another split, other inputs.
        notices.borrow_mut().clear();
        for change in 0..3 {
            fs::write(&path, &kept).unwrap();
            let seed = Options {
                seed: 2,
                ..options()
            };
            let fresh = match change {
                0 => fit(&model, first(), &split, &run(seed)),
                1 => fit(
                    &model,
                    first(),
                    &Split {
                        train: &train[1..],
                        ..split
                    },
                    &run(options()),
                ),
                _ => {
                    model.points[0] += 1.0;
                    fit(&model, first(), &split, &run(options()))
                }
            };
            assert_ne!(bits(&fresh.unwrap().0), bits(&weights));
            let told = notices.borrow_mut().pop().unwrap();
            assert!(told.starts_with("starting over: "), "{told}");
            assert!(notices.borrow().is_empty());
        }
        remove(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        remove(&path).unwrap();
    }

    #[test]
    fn files_that_are_no_checkpoint_are_left_alone() {
        let (documents, classes) = synthetic(30, 6, 3);
        let model = Linear {
            points: documents.means(),
            classes,
        };
        let (train, validation) = halves(30);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let folder = tempfile::tempdir().unwrap();
        let with = |path: &Path| {
            let run = Run {
                checkpoint: Some(path),
                ..Run::new(options())
            };
            fit_until(1, &model, first(), &split, &run).map(drop)
        };
        let path = folder.path().join("a");
        fs::write(&path, "a letter").unwrap();
        let error = with(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"a letter");
        // A damaged file is an error or counts as another training; it never causes a panic.
        fs::remove_file(&path).unwrap();
        with(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        for position in (0..whole.len()).step_by(7) {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x81;
            fs::write(&path, &damaged).unwrap();
            let _ = with(&path);
            fs::write(&path, &whole[..position]).unwrap();
            assert!(with(&path).is_err(), "cut at {position}");
        }
        for path in [folder.path().to_owned(), folder.path().join("absent/a")] {
            let error = with(&path).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Argument | ErrorKind::Io),
                "{error}"
            );
        }
    }
}
