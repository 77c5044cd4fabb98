//! The recoder of DeepCandidate.

use burn::tensor::Tensor;
use sha2::Sha256;

use super::classifier::widths;
use super::network::{self, LAYERS, Standardiser};
use super::{Classifier, Epoch, Loss, Model, Run, Split};
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::Result;
use undertone::pack::heads::Targets;
use undertone::pack::trained::Recoder;

/// Result of [`train_recoder`].
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedRecoder {
    /// H, for the encoder's unscaled vectors.
    pub recoder: Recoder,
    /// Predicts labels from the mean of a document's recoded sentences; present if labels were
    /// given.
    pub classifier: Option<Classifier>,
    /// The losses of the linear model on the clusters.
    pub epochs: Vec<Epoch>,
}

/// Trains H with a linear model that predicts each document's cluster from the mean of its recoded
/// sentences, with cross-entropy and Adam (Meehan, Mrini and Chaudhuri 2022, section 4.3 and
/// appendix A.3). H is a perceptron with four layers that keeps the dimension.
///
/// With `labels`, a [`Classifier`] is trained alongside on the same means; it does not change H,
/// and H's loss selects the epoch. Documents without sentences are left out.
///
/// Deviations: vectors are standardised by the mean and scale of the training sentences, which are
/// folded into the first returned layer.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment): a coordinate is NaN or
/// infinite, a split has no document with a sentence, there are fewer than two classes, a number is
/// out of range, or the loss diverges. [`ErrorKind::Io`](undertone::error::ErrorKind::Io) and
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for the checkpoint.
///
/// # Cost
/// Three passes over a batch's sentences of 6·d² operations for each of three layers; the fourth
/// layer works on documents.
pub fn train_recoder(
    documents: &DocumentVectors,
    clusters: &Targets,
    labels: Option<&Targets>,
    split: &Split<'_>,
    run: &Run<'_>,
) -> Result<TrainedRecoder> {
    let (train, validation) = super::with_sentences(documents, split);
    let split = Split {
        train: &train,
        validation: &validation,
    };
    for targets in [Some(clusters), labels].into_iter().flatten() {
        super::check(&split, targets, documents.len(), run)?;
    }
    let dimension = documents.dimension();
    super::check_finite("the vector of sentence", documents.rows(), dimension)?;
    let rows = train
        .iter()
        .flat_map(|number| documents.document(*number).chunks_exact(dimension));
    let model = Sentences {
        documents,
        clusters,
        labels,
        standardiser: Standardiser::fit(rows, dimension),
    };
    let seed = run.options.seed;
    let mut rng = super::stream(seed, super::FIRST_WEIGHTS);
    let mut first = network::first(&[dimension; LAYERS + 1], &mut rng);
    first.extend(network::first(&[dimension, clusters.classes], &mut rng));
    if let Some(labels) = labels {
        let mut rng = super::stream(seed, super::FIRST_WEIGHTS_BESIDE);
        first.extend(network::first(&widths(dimension, labels.classes), &mut rng));
    }
    let (best, epochs) = super::fit(&model, first, &split, run)?;
    let mut layers = network::layers(&best[..HEAD]);
    model.standardiser.fold_into(&mut layers[0]);
    Ok(TrainedRecoder {
        recoder: Recoder { layers },
        classifier: labels
            .map(|_| Classifier::new(Standardiser::identity(dimension), &best[BESIDE..])),
        epochs,
    })
}

/// Indices into the list of weights at which H's last layer, the linear model and the classifier
/// begin.
const LAST: usize = 2 * (LAYERS - 1);
const HEAD: usize = 2 * LAYERS;
const BESIDE: usize = HEAD + 2;

struct Sentences<'a> {
    documents: &'a DocumentVectors,
    clusters: &'a Targets,
    labels: Option<&'a Targets>,
    standardiser: Standardiser,
}

impl Model for Sentences<'_> {
    fn loss(&self, weights: &[Tensor<2>], documents: &[usize]) -> Loss {
        let dimension = self.documents.dimension();
        let mut rows = Vec::new();
        for number in documents {
            for row in self.documents.document(*number).chunks_exact(dimension) {
                self.standardiser.push(row, &mut rows);
            }
        }
        let hidden = network::hidden(network::matrix(rows, dimension), &weights[..LAST]);
        // The last layer is linear, so its mean output is its output for the mean.
        let means = network::means(hidden, self.documents, documents);
        let means = network::linear(means, &weights[LAST], &weights[LAST + 1]);
        let beside = self.labels.map(|labels| {
            let logits = network::perceptron(means.clone().detach(), &weights[BESIDE..]);
            network::cross_entropy(logits, crate::targets_of(labels, documents))
        });
        let logits = network::linear(means, &weights[HEAD], &weights[HEAD + 1]);
        Loss {
            judged: network::cross_entropy(logits, crate::targets_of(self.clusters, documents)),
            beside,
        }
    }

    fn inputs(&self, hash: &mut Sha256) {
        super::absorb(hash, b"recoder");
        super::absorb(hash, self.documents.rows());
        super::absorb(hash, self.documents.offsets());
        crate::absorb_targets(hash, self.clusters);
        if let Some(labels) = self.labels {
            crate::absorb_targets(hash, labels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{halves, options, problem, synthetic};
    use super::super::{Options, chosen};
    use super::*;
    use undertone::encoder::vectors::mean;

    /// Computes H as a device does.
    fn recode(recoder: &Recoder, sentence: &[f32]) -> Vec<f32> {
        let mut x = sentence.to_vec();
        for (number, layer) in recoder.layers.iter().enumerate() {
            let rows = layer.weights.chunks_exact(layer.inputs);
            x = rows
                .zip(&layer.bias)
                .map(|(row, bias)| bias + row.iter().zip(&x).map(|(w, x)| w * x).sum::<f32>())
                .collect();
            if number + 1 < recoder.layers.len() {
                x.iter_mut().for_each(|x| *x = x.max(0.0));
            }
        }
        x
    }

    /// The mean distance of sentences from their cluster's mean, relative to the mean distance
    /// between clusters.
    fn spread(documents: &DocumentVectors, clusters: &[usize], numbers: &[usize]) -> f64 {
        let dimension = documents.dimension();
        let distance = |a: &[f32], b: &[f32]| {
            let square: f32 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
            f64::from(square).sqrt()
        };
        let rows = |cluster: usize| -> Vec<f32> {
            let numbers = numbers
                .iter()
                .filter(|number| clusters[**number] == cluster);
            numbers
                .flat_map(|number| documents.document(*number).to_vec())
                .collect()
        };
        let all: Vec<Vec<f32>> = (0..=clusters.iter().copied().max().unwrap())
            .map(rows)
            .collect();
        let means: Vec<_> = all.iter().map(|rows| mean(rows, dimension)).collect();
        let (mut within, mut count) = (0.0, 0.0);
        for (rows, mean) in all.iter().zip(&means) {
            for row in rows.chunks_exact(dimension) {
                within += distance(row, mean);
                count += 1.0;
            }
        }
        let (mut between, mut pairs) = (0.0, 0.0);
        for (number, a) in means.iter().enumerate() {
            for b in &means[..number] {
                between += distance(a, b);
                pairs += 1.0;
            }
        }
        (within / count) / (between / pairs)
    }

    #[test]
    fn spaces_clusters_apart_and_feeds_its_classifier() {
        let (documents, clusters) = synthetic(320, 16, 5);
        // Labels that merge pairs of clusters.
        let labels: Vec<usize> = clusters.iter().map(|cluster| cluster / 2).collect();
        let (train, validation) = halves(320);
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let clusters_of = Targets {
            of_documents: clusters.to_vec(),
            classes: 5,
        };
        let labels_of = Targets {
            of_documents: labels.to_vec(),
            classes: 3,
        };
        let run = Run::new(Options {
            epochs: 12,
            ..options()
        });
        let with = |labels| train_recoder(&documents, &clusters_of, labels, &split, &run).unwrap();
        let trained = with(Some(&labels_of));
        assert_eq!(trained.recoder.layers.len(), LAYERS);
        let kept = chosen(&trained.epochs).unwrap();
        assert!(
            kept.validation_loss < 0.3 * 5f64.ln(),
            "{:?}",
            trained.epochs
        );

        let recoded = documents
            .rows()
            .chunks_exact(16)
            .flat_map(|row| recode(&trained.recoder, row))
            .collect();
        let recoded = DocumentVectors::new(16, recoded, documents.offsets().to_vec());
        let (before, after) = (
            spread(&documents, &clusters, &validation),
            spread(&recoded, &clusters, &validation),
        );
        assert!(after < 0.8 * before, "{before} to {after}");
        let found = trained
            .classifier
            .as_ref()
            .unwrap()
            .predict(&recoded.means());
        let right = validation
            .iter()
            .filter(|number| found[**number] == labels[**number])
            .count();
        assert!(10 * right > 9 * validation.len(), "{right}");

        assert!(trained == with(Some(&labels_of)), "the same bits");
        let alone = with(None);
        assert!(alone.classifier.is_none());
        assert!(alone.recoder == trained.recoder, "labels do not change H");
        assert_eq!(alone.epochs, trained.epochs);
    }

    #[test]
    fn documents_without_sentences_do_not_matter() {
        let documents = DocumentVectors::new(
            2,
            vec![0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 2.0, 0.0],
            vec![0, 0, 1, 2, 2, 3, 4],
        );
        let clusters = Targets {
            of_documents: vec![0, 0, 1, 1, 0, 1],
            classes: 2,
        };
        let with = |train: &[usize], validation: &[usize]| {
            let split = Split { train, validation };
            train_recoder(&documents, &clusters, None, &split, &Run::new(options()))
        };
        let all = with(&[1, 0, 2], &[3, 4, 5]).unwrap();
        assert!(all == with(&[1, 2], &[4, 5]).unwrap());
        let found = problem(with(&[1, 2], &[0, 3]));
        assert!(
            found.contains("the validation split has no document with a sentence"),
            "{found}"
        );
        let found = problem(with(&[1, 6], &[4]));
        assert!(
            found.contains("names document 6, but there are 6"),
            "{found}"
        );
    }

    #[test]
    fn names_the_sentence_that_is_no_number() {
        let documents = DocumentVectors::new(1, vec![1.0, 2.0, f32::NAN], vec![0, 1, 2, 3]);
        let clusters = Targets {
            of_documents: vec![0, 1, 0],
            classes: 2,
        };
        let split = Split {
            train: &[0, 1],
            validation: &[2],
        };
        let run = Run::new(options());
        let found = problem(train_recoder(&documents, &clusters, None, &split, &run));
        assert!(found.contains("sentence 2 has NaN"), "{found}");
    }
}
