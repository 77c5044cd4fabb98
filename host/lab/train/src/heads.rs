//! Score heads trained through the mechanism that will use them.

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;
use sha2::Sha256;

use super::network;
use super::{Epoch, Loss, Model, Run, Split};
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::Result;
use undertone::pack::heads::Targets;
use undertone::pack::trained::ScoreHeads;

/// Steepness of the score σ(4·(z − ½)): that of clip(z, 0, 1) at ½, where the two agree.
const STEEPNESS: f32 = 4.0;

/// Trains heads by the likelihood of the selection itself.
///
/// A sentence s is normalised to x = (s − centre)/‖s − centre‖, head c scores it with q(s, c) =
/// σ(4·(w_c·x + b_c − ½)), and a document selects candidate c with probability P(c) ∝ exp(ε/2 · Σ
/// q(s, c)) over its sentences. The loss is −ln P(target), averaged over the training documents and
/// over `epsilons`. Candidates are the classes of `targets`. Documents without sentences are left
/// out.
///
/// `start` has the centre, which is kept, the initial w and b, for scores clip(z, 0, 1), and Q
/// thresholds. The returned heads have 4·w and 4·(b − ½), and thresholds ln(t/(1 − t)), t = (j −
/// ½)/Q for j = 1..Q: their score is Q·q, rounded.
///
/// Source: ours.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment): a number is NaN or infinite,
/// an ε is not positive, a split has no document with a sentence, there are fewer than two classes,
/// a number is out of range, `start` does not fit the documents and targets, or the loss diverges.
/// [`ErrorKind::Io`](undertone::error::ErrorKind::Io) and
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for the checkpoint.
pub fn train_scores(
    start: &ScoreHeads,
    documents: &DocumentVectors,
    targets: &Targets,
    epsilons: &[f64],
    split: &Split<'_>,
    run: &Run<'_>,
) -> Result<(ScoreHeads, Vec<Epoch>)> {
    let (train, validation) = super::with_sentences(documents, split);
    let split = Split {
        train: &train,
        validation: &validation,
    };
    super::check(&split, targets, documents.len(), run)?;
    check(start, documents, targets, epsilons)?;
    let dimension = documents.dimension();
    let model = Selections {
        documents,
        centre: &start.centre,
        targets,
        epsilons,
    };
    // Candidates side by side, as the matrix product requires.
    let first = vec![
        network::matrix(start.weights.clone(), dimension).transpose(),
        network::matrix(start.bias.clone(), start.bias.len()),
    ];
    let (best, epochs) = super::fit(&model, first, &split, run)?;
    let weights = network::values(&best[0].clone().transpose());
    let levels = start.thresholds.len();
    let heads = ScoreHeads {
        centre: start.centre.clone(),
        weights: weights.into_iter().map(|w| STEEPNESS * w).collect(),
        bias: network::values(&best[1])
            .into_iter()
            .map(|b| STEEPNESS * (b - 0.5))
            .collect(),
        thresholds: (1..=levels)
            .map(|level| {
                let t = (level as f64 - 0.5) / levels as f64;
                (t / (1.0 - t)).ln() as f32
            })
            .collect(),
    };
    Ok((heads, epochs))
}

fn check(
    start: &ScoreHeads,
    documents: &DocumentVectors,
    targets: &Targets,
    epsilons: &[f64],
) -> Result<()> {
    let (dimension, classes) = (documents.dimension(), targets.classes);
    if (start.centre.len(), start.bias.len()) != (dimension, classes)
        || start.weights.len() != dimension * classes
    {
        return Err(super::training(format!(
            "{} heads with {} coordinates to start from; wanted are {classes} with {dimension}",
            start.bias.len(),
            start.centre.len()
        )));
    }
    if start.thresholds.is_empty() {
        return Err(super::training(
            "the heads to start from have no thresholds; at least 1 is needed".to_owned(),
        ));
    }
    if epsilons.is_empty() {
        return Err(super::training(
            "no epsilon to train for; give at least one, such as 3".to_owned(),
        ));
    }
    for epsilon in epsilons {
        if !(epsilon.is_finite() && *epsilon > 0.0) {
            return Err(super::training(format!(
                "epsilon is {epsilon}; wanted is a positive number such as 3"
            )));
        }
    }
    super::check_finite("the vector of sentence", documents.rows(), dimension)?;
    super::check_finite("the centre, row", &start.centre, dimension)?;
    super::check_finite("head", &start.weights, dimension)?;
    super::check_finite("the bias of head", &start.bias, 1)
}

struct Selections<'a> {
    documents: &'a DocumentVectors,
    centre: &'a [f32],
    targets: &'a Targets,
    epsilons: &'a [f64],
}

impl Model for Selections<'_> {
    fn loss(&self, weights: &[Tensor<2>], documents: &[usize]) -> Loss {
        let dimension = self.centre.len();
        let mut rows = Vec::new();
        for number in documents {
            for row in self.documents.document(*number).chunks_exact(dimension) {
                push_direction(row, self.centre, &mut rows);
            }
        }
        let z = network::linear(network::matrix(rows, dimension), &weights[0], &weights[1]);
        let q = sigmoid((z - 0.5) * STEEPNESS);
        let evidence = network::sums(q, self.documents, documents);
        let targets = crate::targets_of(self.targets, documents);
        let losses = self.epsilons.iter().map(|epsilon| {
            network::cross_entropy(evidence.clone() * (epsilon / 2.0), targets.clone())
        });
        let sum = losses
            .reduce(|sum, loss| sum + loss)
            .expect("checked: there is an epsilon");
        Loss {
            judged: sum / self.epsilons.len() as f64,
            beside: None,
        }
    }

    fn inputs(&self, hash: &mut Sha256) {
        super::absorb(hash, b"scores");
        super::absorb(hash, self.documents.rows());
        super::absorb(hash, self.documents.offsets());
        super::absorb(hash, self.centre);
        super::absorb(hash, self.epsilons);
        crate::absorb_targets(hash, self.targets);
    }
}

/// Appends (row − centre)/‖row − centre‖, or zeroes if the row is the centre.
fn push_direction(row: &[f32], centre: &[f32], out: &mut Vec<f32>) {
    let begin = out.len();
    out.extend(row.iter().zip(centre).map(|(x, centre)| x - centre));
    let square: f64 = out[begin..].iter().map(|x| f64::from(*x).powi(2)).sum();
    if square > 0.0 {
        let length = square.sqrt();
        for x in &mut out[begin..] {
            *x = (f64::from(*x) / length) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{halves, options, problem, synthetic};
    use super::super::{Options, chosen};
    use super::*;
    use undertone::encoder::vectors::mean;

    const LEVELS: usize = 8;

    /// Heads in the direction of each class's mean, with the thresholds of clip(z, 0, 1).
    fn start(documents: &DocumentVectors, targets: &[usize], classes: usize) -> ScoreHeads {
        let dimension = documents.dimension();
        let centre = mean(documents.rows(), dimension);
        let weights = (0..classes).flat_map(|class| {
            let mut rows = Vec::new();
            for number in (0..documents.len()).filter(|number| targets[*number] == class) {
                for row in documents.document(number).chunks_exact(dimension) {
                    push_direction(row, &centre, &mut rows);
                }
            }
            mean(&rows, dimension)
        });
        ScoreHeads {
            weights: weights.collect(),
            centre,
            bias: vec![0.1; classes],
            thresholds: (1..=LEVELS)
                .map(|j| (j as f32 - 0.5) / LEVELS as f32)
                .collect(),
        }
    }

    /// The mean probability that a document selects its target, under the scores of a device.
    fn exact(
        heads: &ScoreHeads,
        documents: &DocumentVectors,
        targets: &[usize],
        numbers: &[usize],
        epsilon: f64,
    ) -> f64 {
        let dimension = documents.dimension();
        let probability = |number: &usize| {
            let mut evidence = vec![0usize; heads.bias.len()];
            for row in documents.document(*number).chunks_exact(dimension) {
                let mut x = Vec::new();
                push_direction(row, &heads.centre, &mut x);
                let weights = heads.weights.chunks_exact(dimension);
                for ((w, bias), evidence) in weights.zip(&heads.bias).zip(&mut evidence) {
                    let z = bias + w.iter().zip(&x).map(|(w, x)| w * x).sum::<f32>();
                    *evidence += heads.thresholds.iter().filter(|t| **t <= z).count();
                }
            }
            let weight = |evidence: usize| (epsilon / 2.0 * evidence as f64 / LEVELS as f64).exp();
            let sum: f64 = evidence.iter().map(|evidence| weight(*evidence)).sum();
            weight(evidence[targets[*number]]) / sum
        };
        numbers.iter().map(probability).sum::<f64>() / numbers.len() as f64
    }

    #[test]
    fn training_raises_the_probability_of_the_target() {
        let (documents, targets) = synthetic(240, 12, 6);
        let (train, validation) = halves(240);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let targets_of = Targets {
            of_documents: targets.to_vec(),
            classes: 6,
        };
        let start = start(&documents, &targets, 6);
        let run = Run::new(Options {
            epochs: 15,
            learning_rate: 0.02,
            ..options()
        });
        let train =
            || train_scores(&start, &documents, &targets_of, &[2.0, 4.0], &split, &run).unwrap();
        let (heads, epochs) = train();
        assert!(train() == (heads.clone(), epochs.clone()), "the same bits");
        assert_eq!(heads.centre, start.centre);
        assert_eq!(heads.thresholds.len(), LEVELS);
        for epsilon in [2.0, 4.0] {
            let before = exact(&start, &documents, &targets, &validation, epsilon);
            let after = exact(&heads, &documents, &targets, &validation, epsilon);
            assert!(before > 1.2 / 6.0, "the start is sensible: {before}");
            assert!(after > 1.1 * before, "{before} to {after} at {epsilon}");
        }
        // The loss is that of the law, up to the rounding of scores.
        let loss = chosen(&epochs).unwrap().validation_loss;
        let law: f64 = [2.0, 4.0]
            .into_iter()
            .map(|epsilon| {
                let of =
                    |number: &usize| -exact(&heads, &documents, &targets, &[*number], epsilon).ln();
                validation.iter().map(of).sum::<f64>() / validation.len() as f64 / 2.0
            })
            .sum();
        assert!((loss - law).abs() < 0.02, "{loss} and {law}");
    }

    #[test]
    fn the_thresholds_round_the_score() {
        let (documents, targets) = synthetic(24, 4, 2);
        let start = start(&documents, &targets, 2);
        let (train, validation) = halves(24);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let targets = Targets {
            of_documents: targets.to_vec(),
            classes: 2,
        };
        let run = Run::new(options());
        let (heads, _) = train_scores(&start, &documents, &targets, &[3.0], &split, &run).unwrap();
        for step in -400..=400 {
            let z = step as f64 / 100.0;
            let q = 1.0 / (1.0 + (-z).exp());
            let level = heads
                .thresholds
                .iter()
                .filter(|t| f64::from(**t) <= z)
                .count();
            let rounded = (q * LEVELS as f64).round();
            // z = 0 is q = ½, on a threshold only for odd Q.
            assert_eq!(level as f64, rounded, "at {z}");
        }
    }

    #[test]
    fn says_what_does_not_fit() {
        let (documents, targets) = synthetic(24, 4, 2);
        let start = start(&documents, &targets, 2);
        let (train, validation) = halves(24);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let with = |heads: &ScoreHeads, classes: usize, epsilons: &[f64]| {
            let targets = Targets {
                of_documents: targets.to_vec(),
                classes,
            };
            let run = Run::new(options());
            problem(train_scores(
                heads, &documents, &targets, epsilons, &split, &run,
            ))
        };
        let found = with(&start, 3, &[3.0]);
        assert!(found.contains("2 heads with 4 coordinates"), "{found}");
        assert!(with(&start, 2, &[]).contains("no epsilon"));
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let found = with(&start, 2, &[3.0, epsilon]);
            assert!(found.contains(&format!("epsilon is {epsilon}")), "{found}");
        }
        let mut bad = start.clone();
        bad.weights[5] = f32::NAN;
        let found = with(&bad, 2, &[3.0]);
        assert!(found.contains("head 1 has NaN at coordinate 1"), "{found}");
        let mut bad = start.clone();
        bad.thresholds.clear();
        assert!(with(&bad, 2, &[3.0]).contains("no thresholds"));
    }
}
