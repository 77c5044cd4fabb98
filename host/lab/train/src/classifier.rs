//! A classifier of document vectors.
//!
//! The classifiers of `undertone-lab` are linear. This is the perceptron of four layers of the
//! published experiments, trained by gradient steps with a checkpoint.

use burn::tensor::Tensor;
use sha2::Sha256;

use super::network::{self, LAYERS, Standardiser};
use super::{Epoch, Loss, Model, Run, Split};
use undertone::error::Result;
use undertone::pack::heads::Targets;
use undertone::pack::trained::Layer;

/// A perceptron with max(0, ·) between its layers; by default four, d → d → d → d → classes
/// (Meehan, Mrini and Chaudhuri 2022, appendix A.3).
///
/// Deviation: it standardises its inputs, so that the scale of the encoder does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Classifier {
    standardiser: Standardiser,
    layers: Vec<Layer>,
}

impl Classifier {
    /// Trains a [`Classifier::with_hidden`], with the widths of the published experiments.
    ///
    /// # Errors
    /// Errors of [`Classifier::with_hidden`].
    ///
    /// # Panics
    /// If `points` is not a whole number of rows.
    pub fn train(
        points: &[f32],
        dimension: usize,
        targets: &Targets,
        split: &Split<'_>,
        run: &Run<'_>,
    ) -> Result<(Self, Vec<Epoch>)> {
        Self::with_hidden(
            &[dimension; LAYERS - 1],
            points,
            dimension,
            targets,
            split,
            run,
        )
    }

    /// Trains a perceptron whose hidden layers have these widths, with cross-entropy, on `points`,
    /// `[n][dimension]` row-major, one per document.
    ///
    /// # Errors
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment): a coordinate is NaN or
    /// infinite, a split is empty, there are fewer than two classes, a number is out of range, or
    /// the loss diverges. [`ErrorKind::Io`](undertone::error::ErrorKind::Io) and
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for the checkpoint.
    ///
    /// # Panics
    /// If `points` is not a whole number of rows.
    pub fn with_hidden(
        hidden: &[usize],
        points: &[f32],
        dimension: usize,
        targets: &Targets,
        split: &Split<'_>,
        run: &Run<'_>,
    ) -> Result<(Self, Vec<Epoch>)> {
        check_rows(points, dimension);
        super::check(split, targets, points.len() / dimension, run)?;
        super::check_finite("the vector of document", points, dimension)?;
        let row = |number: &usize| &points[number * dimension..(number + 1) * dimension];
        let model = Points {
            points,
            targets,
            standardiser: Standardiser::fit(split.train.iter().map(row), dimension),
        };
        let mut rng = super::stream(run.options.seed, super::FIRST_WEIGHTS);
        let widths = [&[dimension], hidden, &[targets.classes]].concat();
        let first = network::first(&widths, &mut rng);
        let (best, epochs) = super::fit(&model, first, split, run)?;
        let classifier = Self::new(model.standardiser, &best);
        Ok((classifier, epochs))
    }

    pub(super) fn new(standardiser: Standardiser, weights: &[Tensor<2>]) -> Self {
        Self {
            standardiser,
            layers: network::layers(weights),
        }
    }

    /// The most likely class of each of `points`, `[n][d]` row-major; the first of equals.
    ///
    /// # Panics
    /// If `points` is not a whole number of rows of the training dimension.
    pub fn predict(&self, points: &[f32]) -> Vec<usize> {
        let logits = self.logits(points);
        logits.chunks_exact(self.classes()).map(largest).collect()
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.bias.len())
    }

    /// The log-probabilities of the classes up to a constant for each of `points`, `[n][d]`
    /// row-major: `[n][classes]`.
    ///
    /// # Panics
    /// If `points` is not a whole number of rows of the training dimension.
    ///
    /// # Cost
    /// One matrix product for each layer and 1024 points.
    pub fn logits(&self, points: &[f32]) -> Vec<f32> {
        let dimension = self.standardiser.mean.len();
        check_rows(points, dimension);
        let weights = network::tensors(&self.layers);
        let mut all = Vec::with_capacity(points.len() / dimension * self.classes());
        for block in points.chunks(1024 * dimension) {
            let mut rows = Vec::with_capacity(block.len());
            for row in block.chunks_exact(dimension) {
                self.standardiser.push(row, &mut rows);
            }
            let logits = network::perceptron(network::matrix(rows, dimension), &weights);
            all.extend(network::values(&logits));
        }
        all
    }
}

/// The widths of a classifier's layers.
pub(super) fn widths(dimension: usize, classes: usize) -> [usize; LAYERS + 1] {
    let mut widths = [dimension; LAYERS + 1];
    widths[LAYERS] = classes;
    widths
}

fn check_rows(points: &[f32], dimension: usize) {
    assert!(
        dimension > 0 && points.len().is_multiple_of(dimension),
        "points are rows of {dimension} coordinates"
    );
}

fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (place, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = place;
        }
    }
    best
}

struct Points<'a> {
    points: &'a [f32],
    targets: &'a Targets,
    standardiser: Standardiser,
}

impl Model for Points<'_> {
    fn loss(&self, weights: &[Tensor<2>], documents: &[usize]) -> Loss {
        let dimension = self.standardiser.mean.len();
        let mut rows = Vec::with_capacity(documents.len() * dimension);
        for number in documents {
            let row = &self.points[number * dimension..(number + 1) * dimension];
            self.standardiser.push(row, &mut rows);
        }
        let logits = network::perceptron(network::matrix(rows, dimension), weights);
        Loss {
            judged: network::cross_entropy(logits, crate::targets_of(self.targets, documents)),
            beside: None,
        }
    }

    fn inputs(&self, hash: &mut Sha256) {
        super::absorb(hash, b"classifier");
        super::absorb(hash, self.points);
        crate::absorb_targets(hash, self.targets);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Options;
    use super::super::tests::{halves, options, problem, synthetic};
    use super::*;

    #[test]
    fn learns_classes_whatever_the_scale() {
        let (documents, classes) = synthetic(240, 12, 4);
        let (train, validation) = halves(240);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let targets = Targets {
            of_documents: classes.to_vec(),
            classes: 4,
        };
        for scale in [1e-4, 1.0, 1e4] {
            let points: Vec<f32> = documents.means().iter().map(|x| scale * x).collect();
            let run = Run::new(Options {
                epochs: 12,
                ..options()
            });
            let (classifier, epochs) =
                Classifier::train(&points, 12, &targets, &split, &run).unwrap();
            assert_eq!(epochs.len(), 12);
            let found = classifier.predict(&points);
            let right = validation
                .iter()
                .filter(|number| found[**number] == classes[**number])
                .count();
            assert!(10 * right > 9 * validation.len(), "{right} at {scale}");
            let again = Classifier::train(&points, 12, &targets, &split, &run).unwrap();
            assert!(again == (classifier, epochs), "the same bits");
        }
    }

    #[test]
    fn equal_vectors_are_no_problem() {
        let points = vec![0.5; 8 * 3];
        let targets = Targets {
            of_documents: vec![0, 1, 0, 1, 0, 1, 0, 1],
            classes: 2,
        };
        let split = Split {
            train: &[0, 1, 2, 3],
            validation: &[4, 5],
        };
        let run = Run::new(options());
        let (classifier, _) = Classifier::train(&points, 3, &targets, &split, &run).unwrap();
        assert_eq!(classifier.predict(&points).len(), 8);
        assert!(classifier.predict(&[]).is_empty());
    }

    #[test]
    fn says_what_is_missing() {
        let train = |points: &[f32],
                     labels: &[usize],
                     (train, validation): (&[usize], &[usize]),
                     options: Options| {
            let targets = Targets {
                of_documents: labels.to_vec(),
                classes: 2,
            };
            let split = Split { train, validation };
            problem(Classifier::train(
                points,
                2,
                &targets,
                &split,
                &Run::new(options),
            ))
        };
        let points = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let labels = [0, 1, 0, 1];
        let split: (&[usize], &[usize]) = (&[0, 1], &[2, 3]);
        let mut bad = points;
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            bad[5] = x;
            let found = train(&bad, &labels, split, options());
            assert!(
                found.contains("document 2 has") && found.contains("coordinate 1"),
                "{found}"
            );
        }
        let with = |change: fn(&mut Options)| {
            let mut options = options();
            change(&mut options);
            train(&points, &labels, split, options)
        };
        let of = |labels: &[usize]| train(&points, labels, split, options());
        let over = |split| train(&points, &labels, split, options());
        for (found, wanted) in [
            (
                train(&[], &[], (&[], &[]), options()),
                "the train split has no document",
            ),
            (over((&[0, 1], &[])), "the validation split"),
            (of(&[1; 4]), "at least two classes"),
            (of(&[0, 1, 2, 0]), "document 2 has target 2"),
            (of(&labels[..3]), "3 targets for 4 documents"),
            (over((&[0, 4], &[1])), "names document 4"),
            (with(|options| options.epochs = 0), "0 epochs"),
            (with(|options| options.batch = 0), "in a batch"),
            (
                with(|options| options.learning_rate = f64::NAN),
                "the learning rate is NaN",
            ),
            (
                with(|options| options.learning_rate = 1e300),
                "lower the learning rate",
            ),
        ] {
            assert!(found.contains(wanted), "{found}");
        }
    }
}
