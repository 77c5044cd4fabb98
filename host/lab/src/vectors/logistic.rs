//! The classifier of dense word vectors: logistic regression, with its penalty chosen on held-out
//! rows.
//!
//! [`linear`](crate::linear) solves ridge regressions on sparse rows; this gives probabilities, and
//! its loss and penalty are those of the published experiments.

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_logistic::{MultiFittedLogisticRegression, MultiLogisticRegression};
use ndarray::{Array1, Array2};

use crate::metrics::accuracy;
use undertone::error::{Error, Result};

/// Penalties to choose from: α in ½α‖w‖², which is added to the sum of the losses.
const PENALTIES: [f64; 3] = [10.0, 100.0, 1000.0];

/// One row of this many is held out to choose the penalty.
const HELD_OUT: usize = 5;

/// Steps of L-BFGS, at most.
const STEPS: u64 = 60;

#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// `[rows][dimension]`.
    pub(super) rows: Vec<f32>,
    /// `[rows]`.
    pub(super) labels: Vec<usize>,
    pub(super) dimension: usize,
}

impl Sample {
    /// The rows with these indices, in this order.
    pub(super) fn subset(&self, numbers: impl IntoIterator<Item = usize>) -> Self {
        let mut subset = Self {
            dimension: self.dimension,
            ..Self::default()
        };
        for number in numbers {
            let row = number * self.dimension..(number + 1) * self.dimension;
            subset.rows.extend_from_slice(&self.rows[row]);
            subset.labels.push(self.labels[number]);
        }
        subset
    }
}

/// A multinomial logistic regression on centred rows of mean squared coordinate 1.
pub(super) struct Classifier {
    centre: Vec<f64>,
    scale: f64,
    model: MultiFittedLogisticRegression<f64, usize>,
}

impl Classifier {
    /// Trains with each of [`PENALTIES`] on four fifths of `sample`, whose rows are in random
    /// order, then on all rows with the penalty that was most accurate on the remaining fifth. Also
    /// returns that accuracy.
    ///
    /// # Errors
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if there are fewer than
    /// two classes, or if the solver fails.
    pub(super) fn tuned(sample: &Sample) -> Result<(Self, f64)> {
        let rows = sample.labels.len();
        let start = rows - rows / HELD_OUT;
        let (fitted, held_out) = (sample.subset(0..start), sample.subset(start..rows));
        let mut best: Option<(f64, f64)> = None;
        for penalty in PENALTIES {
            let found = Self::fit(&fitted, penalty)?.accuracy(&held_out);
            // Ties go to the stronger penalty.
            if best.is_none_or(|(most, _)| found >= most) {
                best = Some((found, penalty));
            }
        }
        let (accuracy, penalty) = best.unwrap_or((0.0, PENALTIES[0]));
        Ok((Self::fit(sample, penalty)?, accuracy))
    }

    fn fit(sample: &Sample, penalty: f64) -> Result<Self> {
        let n = sample.labels.len();
        let mut centre = vec![0.0; sample.dimension];
        let mut squares = 0.0;
        for row in sample.rows.chunks_exact(sample.dimension) {
            for (centre, x) in centre.iter_mut().zip(row) {
                *centre += f64::from(*x) / n as f64;
                squares += f64::from(*x).powi(2) / n as f64;
            }
        }
        let variance = squares - centre.iter().map(|x| x * x).sum::<f64>();
        let deviation = (variance / sample.dimension as f64).sqrt();
        let scale = if deviation > 0.0 {
            deviation.recip()
        } else {
            1.0
        };
        let training = |problem: String| Error::experiment(format!("cannot train: {problem}"));
        if sample.labels.windows(2).all(|pair| pair[0] == pair[1]) {
            return Err(training(format!("{n} examples, all of one class")));
        }
        let data = DatasetBase::new(
            standardised(&sample.rows, &centre, scale),
            Array1::from(sample.labels.clone()),
        );
        // Near the optimum the line search can fail for lack of precision; a point slightly further
        // away suffices.
        let mut tolerance = 1e-4 * n as f64;
        loop {
            let solver = MultiLogisticRegression::default()
                .alpha(penalty)
                .max_iterations(STEPS)
                .gradient_tolerance(tolerance);
            match solver.fit(&data) {
                Ok(model) => {
                    return Ok(Self {
                        centre,
                        scale,
                        model,
                    });
                }
                Err(_) if tolerance < 0.1 * n as f64 => tolerance *= 10.0,
                Err(error) => return Err(training(format!("logistic regression: {error}"))),
            }
        }
    }

    /// The probability of each trained class, `[rows][classes]`.
    pub(super) fn probabilities(&self, sample: &Sample) -> Array2<f64> {
        let rows = standardised(&sample.rows, &self.centre, self.scale);
        self.model.predict_probabilities(&rows)
    }

    /// The share of rows whose likeliest class is their label.
    pub(super) fn accuracy(&self, sample: &Sample) -> f64 {
        let probabilities = self.probabilities(sample);
        let predictions: Vec<usize> = probabilities
            .rows()
            .into_iter()
            .map(|row| {
                let largest = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                largest.map_or(0, |(place, _)| self.model.classes()[place])
            })
            .collect();
        accuracy(&sample.labels, &predictions)
    }
}

fn standardised(rows: &[f32], centre: &[f64], scale: f64) -> Array2<f64> {
    let coordinates = rows.chunks_exact(centre.len()).flat_map(|row| {
        let pairs = row.iter().zip(centre);
        pairs.map(|(x, centre)| (f64::from(*x) - centre) * scale)
    });
    let coordinates: Vec<f64> = coordinates.collect();
    Array2::from_shape_vec((rows.len() / centre.len(), centre.len()), coordinates)
        .expect("rows are whole")
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use undertone_core::rng::PublicRng;

    use super::*;

    /// Three classes around three centres.
    fn sample(n: usize, scale: f32, noise: f32) -> Sample {
        let mut rng = PublicRng::new(3);
        let mut sample = Sample {
            dimension: 5,
            ..Sample::default()
        };
        for number in 0..n {
            let class = number % 3;
            for coordinate in 0..5 {
                let z: f32 = StandardNormal.sample(&mut rng);
                let at = f32::from(u8::from(coordinate == class));
                sample.rows.push(scale * (at + noise * z));
            }
            sample.labels.push(class);
        }
        sample
    }

    #[test]
    fn learns_whatever_the_scale() {
        for scale in [1e-4, 1.0, 1e4] {
            let all = sample(300, scale, 0.2);
            let (classifier, held_out) = Classifier::tuned(&all.subset(0..200)).unwrap();
            let test = all.subset(200..300);
            assert!(classifier.accuracy(&test) > 0.95 && held_out > 0.95);
            assert_eq!(classifier.probabilities(&test).dim(), (100, 3));
        }
    }

    #[test]
    fn noise_is_left_to_chance_and_equal_rows_are_no_problem() {
        let all = sample(600, 1.0, 100.0);
        let (classifier, _) = Classifier::tuned(&all.subset(0..300)).unwrap();
        let chance = classifier.accuracy(&all.subset(300..600));
        assert!((0.2..0.5).contains(&chance), "{chance}");
        let (classifier, _) = Classifier::tuned(&sample(30, 0.0, 0.0)).unwrap();
        assert!(
            classifier
                .probabilities(&all)
                .iter()
                .all(|p| (p - 1.0 / 3.0).abs() < 0.2)
        );
        assert!(Classifier::tuned(&all.subset([0, 3, 6, 9, 12])).is_err());
    }
}
