//! Metrics of predictions.

/// Mean and standard deviation over trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanSd {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with the number of trials minus one as divisor; 0 for one trial.
    pub sd: f64,
}

impl MeanSd {
    /// The mean and the standard deviation of `values`.
    ///
    /// # Panics
    /// If there are no values.
    pub fn new(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "a mean needs a value");
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Self {
            mean,
            sd: (squares / (n - 1.0).max(1.0)).sqrt(),
        }
    }
}

/// The share of right predictions; 0 for none.
///
/// # Panics
/// If the numbers of predictions and labels differ.
pub fn accuracy(labels: &[usize], predictions: &[usize]) -> f64 {
    assert_eq!(labels.len(), predictions.len(), "one prediction a label");
    let right = labels.iter().zip(predictions).filter(|(a, b)| a == b);
    right.count() as f64 / labels.len().max(1) as f64
}

/// The mean over the classes `0..classes` of F₁ = 2·tp / (2·tp + fp + fn).
///
/// A class that is never predicted has F₁ = 0, even if it is no label.
///
/// # Panics
/// If the numbers of predictions and labels differ, or one of them is not below `classes`.
pub fn macro_f1(labels: &[usize], predictions: &[usize], classes: usize) -> f64 {
    assert_eq!(labels.len(), predictions.len(), "one prediction a label");
    let mut right = vec![0u64; classes];
    // 2·tp + fp + fn: the number of times that a class is a label plus the number of times that it
    // is predicted.
    let mut seen = vec![0u64; classes];
    for (label, prediction) in labels.iter().zip(predictions) {
        seen[*label] += 1;
        seen[*prediction] += 1;
        right[*label] += u64::from(label == prediction);
    }
    let f1 = right.iter().zip(&seen).map(|(right, seen)| match seen {
        0 => 0.0,
        seen => 2.0 * *right as f64 / *seen as f64,
    });
    f1.sum::<f64>() / classes.max(1) as f64
}

/// The probability that an example of class 1 has a larger value than one of class 0, ties counted
/// half: the area under the curve of true against false positives (Mann and Whitney 1947); ½
/// without one of either.
///
/// # Panics
/// If the numbers of values and labels differ.
pub fn auc(labels: &[usize], values: &[f64]) -> f64 {
    assert_eq!(labels.len(), values.len(), "one value a label");
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(labels.iter().copied()).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut positives, mut sum) = (0.0, 0.0, 0.0);
    for ties in order.chunk_by(|a, b| a.0 == b.0) {
        let ones = ties.iter().filter(|(_, label)| *label == 1).count() as f64;
        let zeroes = ties.len() as f64 - ones;
        sum += ones * (below + 0.5 * zeroes);
        below += zeroes;
        positives += ones;
    }
    if below * positives > 0.0 {
        sum / (below * positives)
    } else {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_under_the_curve_by_hand() {
        // Of four pairs one is a tie.
        assert_eq!(auc(&[0, 1, 0, 1], &[0.1, 0.4, 0.4, 0.8]), 3.5 / 4.0);
        assert_eq!(auc(&[1, 0], &[0.0, 1.0]), 0.0);
        assert_eq!(auc(&[1, 1], &[0.0, 1.0]), 0.5);
    }

    #[test]
    fn macro_f1_by_hand() {
        // Class 0: tp 1, fp 1, fn 1, F1 1/2. Class 1: tp 1, fp 1, fn 0, F1 2/3. Class 2: tp 1, fn
        // 1, 2/3.
        let labels = [0, 0, 1, 2, 2];
        let predictions = [0, 1, 1, 2, 0];
        let expected = (0.5 + 2.0 / 3.0 + 2.0 / 3.0) / 3.0;
        assert!((macro_f1(&labels, &predictions, 3) - expected).abs() < 1e-15);
        assert_eq!(accuracy(&labels, &predictions), 0.6);
    }

    #[test]
    fn a_class_that_is_never_predicted_counts_as_zero() {
        // Class 0: tp 2, fp 2, fn 0, F1 2/3; class 1: 0.
        assert!((macro_f1(&[0, 0, 1, 1], &[0; 4], 2) - 1.0 / 3.0).abs() < 1e-15);
        // Two of four classes are neither a label nor predicted.
        assert_eq!(macro_f1(&[0, 1], &[0, 1], 4), 0.5);
    }

    #[test]
    fn deviation_is_that_of_a_sample() {
        assert_eq!(MeanSd::new(&[1.0, 2.0, 3.0]), MeanSd { mean: 2.0, sd: 1.0 });
        assert_eq!(
            MeanSd::new(&[0.25]),
            MeanSd {
                mean: 0.25,
                sd: 0.0
            }
        );
    }
}
