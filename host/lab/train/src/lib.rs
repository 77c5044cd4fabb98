//! Training on public documents: recoders, classifiers and score heads.
//!
//! Never train on private documents: weights, losses and checkpoints are public and carry no
//! guarantee for their training documents.
//!
//! Training is deterministic: the same inputs, options and machine give the same bits.

#![warn(clippy::too_many_lines)]

pub mod checkpoint;
mod classifier;
mod heads;
mod network;
mod pack;
pub mod plot;
mod recoder;

use std::path::Path;

use burn::optim::{Adam, AdamConfig, AdamState, Optimizer};
use burn::tensor::{Int, Tensor};
use sha2::{Digest, Sha256};
use undertone_core::rng::{self, PublicRng};
use zerocopy::IntoBytes;

pub use classifier::Classifier;
pub use heads::train_scores;
pub use pack::PackTraining;
pub use recoder::{TrainedRecoder, train_recoder};

use undertone::encoder::vectors::DocumentVectors;
use undertone::error::{Error, Result};
use undertone::pack::heads::Targets;
use undertone::progress::Progress;

/// Number of k-means clusters that a recoder keeps apart, as published.
pub const CLUSTERS: usize = 50;

/// Options of the optimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Passes over all training documents. The epoch with the least validation loss provides the
    /// weights. Default 30.
    pub epochs: usize,
    /// Documents in a step of the optimiser. Default 256.
    pub batch: usize,
    /// Step size of Adam (Kingma and Ba 2015), with the published constants 0.9, 0.999 and 10⁻⁸.
    /// Default 0.001.
    pub learning_rate: f64,
    /// Seed of the first weights and of the order of documents. Default 1.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            epochs: 30,
            batch: 256,
            learning_rate: 1e-3,
            seed: 1,
        }
    }
}

/// Options and callbacks of one training.
pub struct Run<'a> {
    /// Options of the optimiser.
    pub options: Options,
    /// File for the state after each epoch, from which an interrupted training resumes; see
    /// [`checkpoint`]. None by default.
    pub checkpoint: Option<&'a Path>,
    /// Receives one line about the use of a checkpoint that was found. Does nothing by default.
    pub notice: &'a dyn Fn(&str),
    /// Makes a progress bar for a number of steps. Hidden by default.
    pub progress: &'a dyn Fn(u64) -> Progress,
}

impl Run<'_> {
    /// A training without checkpoint and callbacks.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            checkpoint: None,
            notice: &|_| {},
            progress: &|_| Progress::hidden(),
        }
    }
}

/// Indices of the documents for training and for early stopping.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// Documents that the weights are fitted to.
    pub train: &'a [usize],
    /// Documents whose loss selects the epoch.
    pub validation: &'a [usize],
}

/// The targets of these documents.
fn targets_of(targets: &Targets, documents: &[usize]) -> Tensor<1, Int> {
    network::indices(documents.iter().map(|number| targets.of_documents[*number]))
}

fn absorb_targets(hash: &mut Sha256, targets: &Targets) {
    absorb(hash, &targets.of_documents);
    absorb(hash, &[targets.classes]);
}

/// The losses of one epoch: mean negative log-likelihood of a document's target, in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Counted from 1.
    pub number: usize,
    /// Over the training documents, each with the weights its step began with.
    pub train_loss: f64,
    /// Over the validation documents, with the weights after the epoch.
    pub validation_loss: f64,
}

/// The epoch that provides the weights: the first with the least validation loss. `None` without
/// epochs.
pub fn chosen(epochs: &[Epoch]) -> Option<Epoch> {
    epochs
        .iter()
        .copied()
        .min_by(|a, b| a.validation_loss.total_cmp(&b.validation_loss))
}

/// A trainable model.
trait Model {
    /// The loss of these documents under these weights.
    fn loss(&self, weights: &[Tensor<2>], documents: &[usize]) -> Loss;

    /// Hashes everything that determines the result, besides initial weights, split and options.
    fn inputs(&self, hash: &mut Sha256);
}

/// Means over the documents of a batch.
struct Loss {
    /// The loss that is reported and selects the epoch.
    judged: Tensor<1>,
    /// The loss of weights that are trained alongside and do not affect the reported loss.
    beside: Option<Tensor<1>>,
}

/// The state of a training between two epochs.
struct State {
    weights: Vec<Tensor<2>>,
    /// Empty before the first step.
    adam: Vec<AdamState<2>>,
    best: Vec<Tensor<2>>,
    epochs: Vec<Epoch>,
}

/// Trains up to the last epoch and returns the best weights.
fn fit(
    model: &impl Model,
    first: Vec<Tensor<2>>,
    split: &Split<'_>,
    run: &Run<'_>,
) -> Result<(Vec<Tensor<2>>, Vec<Epoch>)> {
    let state = fit_until(run.options.epochs, model, first, split, run)?;
    Ok((state.best, state.epochs))
}

fn fit_until(
    last: usize,
    model: &impl Model,
    first: Vec<Tensor<2>>,
    split: &Split<'_>,
    run: &Run<'_>,
) -> Result<State> {
    let options = &run.options;
    let checkpoint = run
        .checkpoint
        .map(|path| checkpoint::Checkpoint::open(path, &digest(model, &first, split, options)))
        .transpose()?;
    let fresh = State {
        best: first.clone(),
        weights: first,
        adam: Vec::new(),
        epochs: Vec::new(),
    };
    let mut state = match &checkpoint {
        Some(checkpoint) => checkpoint.read(fresh, run.notice)?,
        None => fresh,
    };
    let steps = split.train.len().div_ceil(options.batch);
    let progress = (run.progress)((options.epochs * steps) as u64);
    progress.advance((state.epochs.len() * steps) as u64);
    let adam = AdamConfig::new().with_epsilon(1e-8).build();
    for number in state.epochs.len() + 1..=last {
        let mut sum = 0.0;
        for batch in shuffled(split.train, options.seed, number).chunks(options.batch) {
            sum += batch.len() as f64 * step(model, &mut state, batch, &adam, options);
            progress.advance(1);
        }
        let train_loss = sum / split.train.len() as f64;
        let validation_loss = mean_loss(model, &state.weights, split.validation, options.batch);
        if !(train_loss.is_finite() && validation_loss.is_finite()) {
            return Err(training(format!(
                "the loss is not a number after epoch {number}; lower the learning rate, {}",
                options.learning_rate
            )));
        }
        if chosen(&state.epochs).is_none_or(|best| validation_loss < best.validation_loss) {
            state.best.clone_from(&state.weights);
        }
        state.epochs.push(Epoch {
            number,
            train_loss,
            validation_loss,
        });
        if let Some(checkpoint) = &checkpoint {
            checkpoint.write(&state)?;
        }
    }
    Ok(state)
}

/// Takes one step of Adam; returns the loss before it.
fn step(
    model: &impl Model,
    state: &mut State,
    batch: &[usize],
    adam: &Adam,
    options: &Options,
) -> f64 {
    let tracked: Vec<Tensor<2>> = state
        .weights
        .iter()
        .map(|tensor| tensor.clone().autodiff().require_grad())
        .collect();
    let Loss { judged, beside } = model.loss(&tracked, batch);
    // The two losses share no weights, and Adam treats each coordinate alone: one backward pass and
    // one optimiser give the same result as two.
    let total = match beside {
        Some(beside) => judged.clone() + beside,
        None => judged.clone(),
    };
    let mut gradients = total.backward();
    let mut moments = std::mem::take(&mut state.adam).into_iter();
    state.weights = std::mem::take(&mut state.weights)
        .into_iter()
        .zip(&tracked)
        .map(|(weights, tracked)| {
            let gradient = tracked
                .grad_remove(&mut gradients)
                .expect("every weight has a share in the loss");
            let (weights, moments) =
                adam.step(options.learning_rate, weights, gradient, moments.next());
            state.adam.extend(moments);
            weights
        })
        .collect();
    judged.into_scalar::<f32>().into()
}

fn mean_loss(model: &impl Model, weights: &[Tensor<2>], documents: &[usize], batch: usize) -> f64 {
    let sum: f64 = documents
        .chunks(batch)
        .map(|batch| {
            let loss: f64 = model
                .loss(weights, batch)
                .judged
                .into_scalar::<f32>()
                .into();
            loss * batch.len() as f64
        })
        .sum();
    sum / documents.len() as f64
}

/// The numbers in the order of one epoch.
fn shuffled(documents: &[usize], seed: u64, epoch: usize) -> Vec<usize> {
    let mut rng = stream(seed, FIRST_EPOCH + epoch as u64);
    let mut order = documents.to_vec();
    for place in (1..order.len()).rev() {
        order.swap(place, rng::below(&mut rng, place as u128 + 1) as usize);
    }
    order
}

/// Random streams of a training.
const FIRST_WEIGHTS: u64 = 0;
const FIRST_WEIGHTS_BESIDE: u64 = 1;
const FIRST_EPOCH: u64 = 2;

/// A generator that depends only on the seed and the number of the stream, so that a resumed
/// training draws the same numbers as an uninterrupted one.
fn stream(seed: u64, number: u64) -> PublicRng {
    // This odd factor differs from that of the generator's own seeding, whose sequences would
    // overlap.
    PublicRng::new(seed.wrapping_add(number.wrapping_mul(0xd1b5_4a32_d192_ed03)))
}

fn digest(
    model: &impl Model,
    first: &[Tensor<2>],
    split: &Split<'_>,
    options: &Options,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    // Debug prints the shortest digits that identify the number.
    hash.update(format!("{options:?}"));
    absorb(&mut hash, split.train);
    absorb(&mut hash, split.validation);
    for weights in first {
        absorb(&mut hash, &network::values(weights));
    }
    model.inputs(&mut hash);
    hash.finalize().into()
}

/// Hashes the values and their count.
fn absorb<T>(hash: &mut Sha256, values: &[T])
where
    [T]: IntoBytes + zerocopy::Immutable,
{
    hash.update(values.len().to_le_bytes());
    hash.update(values.as_bytes());
}

fn training(problem: String) -> Error {
    Error::experiment(format!("cannot train: {problem}"))
}

/// The documents of a split that have sentences.
fn with_sentences(documents: &DocumentVectors, split: &Split<'_>) -> (Vec<usize>, Vec<usize>) {
    let kept = |numbers: &[usize]| {
        let numbers = numbers.iter().copied();
        // Indices out of range stay, so that the error can name them.
        numbers
            .filter(|number| *number >= documents.len() || !documents.range(*number).is_empty())
            .collect()
    };
    (kept(split.train), kept(split.validation))
}

/// Checks the inputs of any training.
fn check(split: &Split<'_>, targets: &Targets, documents: usize, run: &Run<'_>) -> Result<()> {
    let options = &run.options;
    for (what, found) in [
        ("epochs", options.epochs),
        ("documents in a batch", options.batch),
    ] {
        if found == 0 {
            return Err(training(format!("0 {what}; at least 1 is needed")));
        }
    }
    if !(options.learning_rate.is_finite() && options.learning_rate > 0.0) {
        return Err(training(format!(
            "the learning rate is {}; wanted is a positive number such as 0.001",
            options.learning_rate
        )));
    }
    if targets.of_documents.len() != documents {
        return Err(training(format!(
            "{} targets for {documents} documents; give one for each",
            targets.of_documents.len()
        )));
    }
    for (what, numbers) in [("train", split.train), ("validation", split.validation)] {
        if numbers.is_empty() {
            return Err(training(format!(
                "the {what} split has no document with a sentence; give a larger corpus"
            )));
        }
        for number in numbers {
            let Some(target) = targets.of_documents.get(*number) else {
                return Err(training(format!(
                    "the {what} split names document {number}, but there are {documents}, counted from 0"
                )));
            };
            if *target >= targets.classes {
                return Err(training(format!(
                    "document {number} has target {target}, but there are {} classes, counted from 0",
                    targets.classes
                )));
            }
        }
    }
    let first = targets.of_documents[split.train[0]];
    if split
        .train
        .iter()
        .all(|number| targets.of_documents[*number] == first)
    {
        return Err(training(format!(
            "all {} training documents have target {first}; documents of at least two classes are needed",
            split.train.len()
        )));
    }
    Ok(())
}

/// Returns an error with the first row that has a coordinate that is not finite.
fn check_finite(what: &str, rows: &[f32], dimension: usize) -> Result<()> {
    match rows.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(position) => Err(training(format!(
            "{what} {} has {} at coordinate {}; use an encoder that gives finite numbers, the fp32 model",
            position / dimension,
            rows[position],
            position % dimension
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents of 1 to 6 noisy copies of their cluster's centre, far from 0 and small, like
    /// vectors of an encoder; clusters in turn.
    pub(super) fn synthetic(
        documents: usize,
        dimension: usize,
        clusters: usize,
    ) -> (DocumentVectors, Vec<usize>) {
        let mut rng = PublicRng::new(5);
        let mut uniform = || rng::below(&mut rng, 2001) as f32 / 1000.0 - 1.0;
        let centres: Vec<f32> = (0..clusters * dimension).map(|_| uniform()).collect();
        let mut rows = Vec::new();
        let mut offsets = vec![0];
        let clusters: Vec<usize> = (0..documents).map(|number| number % clusters).collect();
        for (number, cluster) in clusters.iter().enumerate() {
            for _ in 0..=(number / 3) % 6 {
                let centre = &centres[cluster * dimension..(cluster + 1) * dimension];
                rows.extend(centre.iter().map(|x| 0.3 + 0.01 * (x + 2.0 * uniform())));
            }
            offsets.push(rows.len() / dimension);
        }
        (DocumentVectors::new(dimension, rows, offsets), clusters)
    }

    /// Indices of training and validation documents; blocks of 7, so that each cluster is in both.
    pub(super) fn halves(documents: usize) -> (Vec<usize>, Vec<usize>) {
        (0..documents).partition(|number| (number / 7) % 4 != 1)
    }

    pub(super) fn options() -> Options {
        Options {
            epochs: 4,
            batch: 16,
            learning_rate: 0.005,
            ..Options::default()
        }
    }

    pub(super) fn problem<T>(result: Result<T>) -> String {
        result.err().expect("it was trained").to_string()
    }

    #[test]
    fn an_order_holds_every_document_once_and_changes_with_epoch_and_seed() {
        let documents: Vec<usize> = (10..60).collect();
        let order = shuffled(&documents, 1, 1);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, documents);
        assert_eq!(order, shuffled(&documents, 1, 1));
        assert_ne!(order, shuffled(&documents, 1, 2));
        assert_ne!(order, shuffled(&documents, 2, 1));
    }

    #[test]
    fn the_first_epoch_with_the_least_validation_loss_is_chosen() {
        let epochs: Vec<Epoch> = [3.0, 1.0, 2.0, 1.0]
            .into_iter()
            .zip(1..)
            .map(|(validation_loss, number)| Epoch {
                number,
                train_loss: 0.0,
                validation_loss,
            })
            .collect();
        assert_eq!(chosen(&epochs).map(|epoch| epoch.number), Some(2));
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn the_best_weights_are_kept_not_the_last() {
        // Labels without a pattern: memorising them makes the validation loss rise.
        let (documents, _) = synthetic(48, 8, 3);
        let labels: Vec<usize> = (0..48)
            .map(|number| (number * 7 + number / 5) % 3)
            .collect();
        let (train, validation) = halves(48);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let targets = Targets {
            of_documents: labels.to_vec(),
            classes: 3,
        };
        let with = |epochs| {
            let run = Run::new(Options {
                epochs,
                learning_rate: 0.01,
                ..options()
            });
            Classifier::train(&documents.means(), 8, &targets, &split, &run).unwrap()
        };
        let (long, epochs) = with(20);
        assert_eq!(epochs.len(), 20);
        let kept = chosen(&epochs).unwrap();
        assert!(kept.number < 20, "{epochs:?}");
        let (short, fewer) = with(kept.number);
        assert_eq!(fewer, epochs[..kept.number]);
        assert!(short == long, "the weights of epoch {}", kept.number);
    }
}
