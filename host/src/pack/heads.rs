//! Score heads, which score a sentence for each class, fitted in closed form to labelled documents
//! or clusters.
//!
//! A head is a ridge regression (Hoerl and Kennard 1970) of "this sentence is from a document of
//! class c" on the direction of the sentence from the centre of the public documents. Its value,
//! scaled and clipped to 0..1, is the sentence's score for the class.
//!
//! Closed form was chosen because on the validation documents of 20 Newsgroups it is as good as
//! training through the mechanism (`undertone-lab sentences` has both), takes a second, and needs
//! no tensor library. These variants were tried there and left out, because they gained nothing or
//! lowered F₁: directions whitened by the covariance of sentences (discriminant analysis); logistic
//! regression of sentences; several heads per label; a head for each label's mean (clipped cosine);
//! scaling each head by its spread; equal weight for all documents of all classes; equal weight for
//! all sentences; and, for documents without labels, 12, 20, 50 or 100 clusters, or Euclidean
//! instead of spherical ones.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};
use rayon::prelude::*;

use crate::encoder::vectors::{DocumentVectors, mean};
use crate::error::{Error, Result};
use crate::pack::kmeans::{check_finite, kmeans, least, normalised, transposed};
use crate::pack::trained::ScoreHeads;

/// The largest score, Q. Values of 4, 8, 16 and 32 give the same F₁ within 0.3 points on the
/// validation documents of 20 Newsgroups. With 8, the 160 levels of a release cover sums down to 20
/// full sentence scores below the best candidate's.
pub const SCORE_STEPS: usize = 8;

/// The ridge λ, in units of the mean variance of a coordinate. It is large because sentences of one
/// document resemble each other, which leaves fewer independent rows, and because directions with
/// little variance are mostly noise.
const RIDGE: f64 = 0.1;

/// The factor from the value of a regression to a score. Values of single sentences seldom exceed
/// 1/4, so without it scores would stay in the lowest quarter of the range to which the noise is
/// scaled.
const SLOPE: f64 = 4.0;

/// The number of clusters that serve as classes if there are no labels.
const CLUSTERS: usize = 30;

/// Sentences whose products are formed at once, which bounds the memory.
const BLOCK: usize = 1024;

/// Columns of the Gram matrix that a thread computes at a time.
const STRIPE: usize = 64;

/// A class for each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    /// `[documents]`, each in `0..classes`.
    pub of_documents: Vec<usize>,
    /// The number of classes.
    pub classes: usize,
}

/// Fits one head per class to documents of known classes: `targets` is `[documents]`, each in
/// `0..classes`.
///
/// Every document of a class has equal weight, whatever its number of sentences, and a class with n
/// documents has weight √n, halfway between equal documents and equal classes. Documents without
/// sentences are ignored.
///
/// # Errors
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for fewer than 2 classes, a class that has
/// no document with a sentence, equal sentences, or a coordinate that is not finite.
///
/// # Panics
/// If the number of targets is not that of the documents, or a target is not below `classes`.
///
/// # Cost
/// About d²·sentences multiplications in a matrix product on all threads; memory for a few thousand
/// sentences and d² numbers.
///
/// # Source
/// Hoerl and Kennard (1970), Ridge regression: biased estimation for nonorthogonal problems. The
/// weights, the slope and the clipping are ours.
pub fn fit(documents: &DocumentVectors, targets: &[usize], classes: usize) -> Result<ScoreHeads> {
    assert_eq!(targets.len(), documents.len(), "one target per document");
    assert!(
        targets.iter().all(|class| *class < classes),
        "targets are below the number of classes"
    );
    let dimension = documents.dimension();
    check_finite("sentence", documents.rows(), dimension)?;
    let sentences = (0..documents.len()).map(|document| documents.range(document).len() as u32);
    let sentences: Vec<u32> = sentences.collect();
    let known = Known {
        centre: mean(&means(documents), dimension),
        class: |document| targets[document],
        classes,
        sentences: &sentences,
    };
    fit_streamed(&known, &mut |each| {
        for document in with_sentences(documents) {
            each(documents.document(document));
        }
        Ok(())
    })
}

/// Properties of the documents that must be known before a pass over their sentences.
pub(crate) struct Known<'a, C> {
    /// The mean of the means of the documents with sentences.
    pub(crate) centre: Vec<f32>,
    /// The class of a document.
    pub(crate) class: C,
    pub(crate) classes: usize,
    /// `[documents]`: the number of sentences of each.
    pub(crate) sentences: &'a [u32],
}

/// Calls its argument with the sentence vectors of each document that has sentences, in order.
pub(crate) type Pass<'a> = dyn FnMut(&mut dyn FnMut(&[f32])) -> Result<()> + 'a;

/// Receives a block of sentences, `[sentences][dimension]`, and the class and weight of each.
type EachBlock<'a> = dyn FnMut(&[f32], &[(usize, f64)]) + 'a;

/// [`fit`] for documents that are not in memory: `pass` is called twice.
pub(crate) fn fit_streamed(
    known: &Known<'_, impl Fn(usize) -> usize>,
    pass: &mut Pass<'_>,
) -> Result<ScoreHeads> {
    let sizes = known.sizes()?;
    let (dimension, classes) = (known.centre.len(), known.classes);
    let total: f64 = known.weighted(&sizes).map(|(_, weight)| weight).sum();
    let mut blocks = |each: &mut EachBlock<'_>| known.blocks(&sizes, total, pass, each);
    let mut shift = vec![0f64; dimension];
    blocks(&mut |rows, sentences| {
        for (row, (_, weight)) in rows.chunks_exact(dimension).zip(sentences) {
            for (shift, x) in shift.iter_mut().zip(row) {
                *shift += weight * f64::from(*x);
            }
        }
    })?;

    // With x shifted by its weighted mean, Σ w·x = 0. So the mean of the indicators need not be
    // subtracted, and the right sides are the weighted sums over the classes.
    let mut gram = DMatrix::<f64>::zeros(dimension, dimension);
    let mut right = DMatrix::<f64>::zeros(dimension, classes);
    blocks(&mut |rows, sentences| {
        let mut shifted = Vec::with_capacity(rows.len());
        let mut weighted = Vec::with_capacity(rows.len());
        for (row, (class, weight)) in rows.chunks_exact(dimension).zip(sentences) {
            let mut sums = right.column_mut(*class);
            for ((x, shift), sum) in row.iter().zip(&shift).zip(sums.iter_mut()) {
                let x = f64::from(*x) - shift;
                shifted.push(x);
                weighted.push(weight * x);
                *sum += weight * x;
            }
        }
        add_gram(&mut gram, &shifted, &weighted);
    })?;
    let variance = gram.trace() / dimension as f64;
    for i in 0..dimension {
        gram[(i, i)] += RIDGE * variance;
    }
    // The ridge makes the matrix positive definite unless all variance is zero.
    let solved = gram
        .cholesky()
        .ok_or(Error::input(
            "all sentence vectors are equal, so nothing tells the classes apart; is \
             the encoder broken?",
        ))?
        .solve(&right);
    Ok(as_heads(&known.centre, &solved, &shift))
}

impl<C: Fn(usize) -> usize> Known<'_, C> {
    /// Returns the class and the number of sentences of each document that has sentences.
    fn full(&self) -> impl Iterator<Item = (usize, u32)> {
        let documents = (0..).zip(self.sentences.iter().copied());
        documents
            .filter(|(_, sentences)| *sentences > 0)
            .map(|(document, sentences)| ((self.class)(document), sentences))
    }

    /// Returns the number of documents of each class.
    fn sizes(&self) -> Result<Vec<usize>> {
        let classes = self.classes;
        check_number(classes)?;
        let mut sizes = vec![0usize; classes];
        for (class, _) in self.full() {
            sizes[class] += 1;
        }
        match sizes.iter().position(|size| *size == 0) {
            Some(class) => Err(Error::input(format!(
                "class {class} of 0..{classes} has no document with a sentence; leave it \
                 out or give documents"
            ))),
            None => Ok(sizes),
        }
    }

    /// Returns the class and the weight of every sentence.
    fn weighted(&self, sizes: &[usize]) -> impl Iterator<Item = (usize, f64)> {
        self.full().flat_map(|(class, sentences)| {
            let weight = 1.0 / (f64::from(sentences) * (sizes[class] as f64).sqrt());
            std::iter::repeat_n((class, weight), sentences as usize)
        })
    }

    /// Calls `each` with blocks of sentences, as directions from the centre. Weights are divided by
    /// their sum, `total`.
    fn blocks(
        &self,
        sizes: &[usize],
        total: f64,
        pass: &mut Pass<'_>,
        each: &mut EachBlock<'_>,
    ) -> Result<()> {
        let dimension = self.centre.len();
        let weighted = self.weighted(sizes);
        let mut sentences = weighted.map(|(class, weight)| (class, weight / total));
        let mut rows = Vec::with_capacity(BLOCK * dimension);
        let mut block = |rows: &mut Vec<f32>| {
            let own: Vec<_> = sentences.by_ref().take(rows.len() / dimension).collect();
            each(&normalised(rows, dimension, &self.centre), &own);
            rows.clear();
        };
        pass(&mut |document| {
            for row in document.chunks_exact(dimension) {
                rows.extend_from_slice(row);
                if rows.len() == BLOCK * dimension {
                    block(&mut rows);
                }
            }
        })?;
        if !rows.is_empty() {
            block(&mut rows);
        }
        Ok(())
    }
}

/// Converts the regressions `[dimension][classes]` to heads; they were fitted to data less `shift`.
fn as_heads(centre: &[f32], solved: &DMatrix<f64>, shift: &[f64]) -> ScoreHeads {
    let mut weights = Vec::with_capacity(solved.len());
    let mut bias = Vec::with_capacity(solved.ncols());
    for column in solved.column_iter() {
        weights.extend(column.iter().map(|b| (SLOPE * b) as f32));
        let at_shift: f64 = column.iter().zip(shift).map(|(b, m)| b * m).sum();
        bias.push((-SLOPE * at_shift) as f32);
    }
    ScoreHeads {
        centre: centre.to_vec(),
        weights,
        bias,
        thresholds: thresholds(),
    }
}

/// Clusters documents into classes, for [`fit`] without labels, by k-means over the directions of
/// their means from the centre.
///
/// The default is 30 clusters, or one per document if there are fewer. Empty clusters are left out.
/// Documents without sentences get class 0, which [`fit`] ignores.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for no clusters, or more than there
/// are documents with sentences; [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a
/// coordinate that is not finite.
pub fn clusters_as_targets(
    documents: &DocumentVectors,
    clusters: Option<usize>,
    seed: u64,
) -> Result<Targets> {
    let dimension = documents.dimension();
    check_finite("sentence", documents.rows(), dimension)?;
    let clustered = Clustered::new(means(documents), dimension, clusters, seed)?;
    let classes = clustered.classes();
    let mut of_documents = vec![0; documents.len()];
    for (document, class) in with_sentences(documents).zip(clustered.classes_of_points) {
        of_documents[document] = class;
    }
    Ok(Targets {
        of_documents,
        classes,
    })
}

/// Clusters of documents by their means, without empty clusters.
pub(crate) struct Clustered {
    /// The centre of the means.
    centre: Vec<f32>,
    /// `[clusters][dimension]`: the centroids of directions from the centre.
    centroids: Vec<f32>,
    /// `[means]`: the cluster of each.
    pub(crate) classes_of_points: Vec<usize>,
}

impl Clustered {
    /// k-means over the directions of `means`, `[..][dimension]`.
    pub(crate) fn new(
        means: Vec<f32>,
        dimension: usize,
        clusters: Option<usize>,
        seed: u64,
    ) -> Result<Self> {
        let clusters = clusters.unwrap_or(CLUSTERS.min(means.len() / dimension));
        let centre = mean(&means, dimension);
        let directions = normalised(&means, dimension, &centre);
        // k-means has its own copy.
        drop(means);
        let found = kmeans(&directions, dimension, clusters, seed)?;
        let used: BTreeSet<usize> = found.assignment.iter().copied().collect();
        // The new number of a cluster is the number of non-empty clusters before it.
        let mut numbers = vec![0; clusters];
        for (number, cluster) in used.iter().enumerate() {
            numbers[*cluster] = number;
        }
        let centroid = |cluster: &usize| &found.centroids[cluster * dimension..][..dimension];
        let of_point = |cluster: &usize| numbers[*cluster];
        Ok(Self {
            centre,
            centroids: used.iter().flat_map(centroid).copied().collect(),
            classes_of_points: found.assignment.iter().map(of_point).collect(),
        })
    }

    /// The number of clusters.
    pub(crate) fn classes(&self) -> usize {
        self.centroids.len() / self.centre.len()
    }

    /// The nearest cluster, for a document outside the sample of k-means.
    pub(crate) fn class_of(&self, mean: &[f32]) -> usize {
        let direction = normalised(mean, mean.len(), &self.centre);
        let distance = |centroid: &[f32]| -> f32 {
            let parts = centroid.iter().zip(&direction);
            parts.map(|(c, x)| (c - x).powi(2)).sum()
        };
        least(self.centroids.chunks_exact(direction.len()).map(distance))
    }
}

/// Makes heads without a fit: the clipped cosine between a sentence and each of `centres`,
/// `[candidates][dimension]` row-major, both as directions from `centre`. The score is
/// ⌊8·clip(slope·cos, 0, 1)⌋; it is 0 for a candidate at the centre.
///
/// # Panics
/// If the shapes do not match.
pub fn cosine(centres: &[f32], centre: &[f32], dimension: usize, slope: f32) -> ScoreHeads {
    let mut weights = normalised(centres, dimension, centre);
    for weight in &mut weights {
        *weight *= slope;
    }
    ScoreHeads {
        centre: centre.to_vec(),
        bias: vec![0.0; weights.len() / dimension],
        weights,
        thresholds: thresholds(),
    }
}

/// The thresholds of ⌊8·clip(z, 0, 1)⌋, each exact in 32 bits.
fn thresholds() -> Vec<f32> {
    let steps = SCORE_STEPS as f32;
    (1..=SCORE_STEPS).map(|step| step as f32 / steps).collect()
}

/// Returns the indices of the documents that have sentences.
pub(super) fn with_sentences(documents: &DocumentVectors) -> impl Iterator<Item = usize> {
    (0..documents.len()).filter(|document| !documents.range(*document).is_empty())
}

/// Returns the means of the documents that have sentences.
fn means(documents: &DocumentVectors) -> Vec<f32> {
    with_sentences(documents)
        .flat_map(|document| mean(documents.document(document), documents.dimension()))
        .collect()
}

/// Adds Σ a·bᵀ over the rows a and b to `gram`. The order of sums does not depend on the threads.
pub(crate) fn add_gram(gram: &mut DMatrix<f64>, a: &[f64], b: &[f64]) {
    let dimension = gram.nrows();
    let rows = a.len() / dimension;
    let a = DMatrixView::from_slice(a, dimension, rows);
    let b = transposed(b, dimension);
    gram.as_mut_slice()
        .par_chunks_mut(STRIPE * dimension)
        .enumerate()
        .for_each(|(stripe, out)| {
            let columns = out.len() / dimension;
            let b = &b[stripe * STRIPE * rows..][..columns * rows];
            let b = DMatrixView::from_slice(b, rows, columns);
            DMatrixViewMut::from_slice(out, dimension, columns).gemm(1.0, &a, &b, 1.0);
        });
}

/// Refuses fewer than two classes.
pub(super) fn check_number(classes: usize) -> Result<()> {
    if classes < 2 {
        return Err(Error::input(format!(
            "score heads tell at least 2 classes apart, found {classes}; give a corpus with more \
             labels, or take clusters for classes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nalgebra::{DVector, RowDVector};
    use undertone_core::rng::PublicRng;
    use undertone_core::rng::rand_core::Rng;

    use super::*;

    const DIMENSION: usize = 7;

    /// Documents of 0 to 6 sentences around a point for each class, far from the origin.
    fn documents(classes: usize, n: usize) -> (DocumentVectors, Vec<usize>) {
        let mut rng = PublicRng::new(11);
        let mut noise = || (rng.next_u64() >> 40) as f32 / (1 << 24) as f32 - 0.5;
        let mut rows = Vec::new();
        let mut offsets = vec![0];
        let mut targets = Vec::new();
        for document in 0..n {
            // Classes of different sizes.
            let class = (document % (classes + 3)).min(classes - 1);
            for _ in 0..document % 7 {
                for i in 0..DIMENSION {
                    let own = if i == class { 1.0 } else { 0.0 };
                    rows.push(5.0 + own + noise());
                }
            }
            offsets.push(rows.len() / DIMENSION);
            targets.push(class);
        }
        (DocumentVectors::new(DIMENSION, rows, offsets), targets)
    }

    /// The method step by step in 64 bits: weights and bias of each head.
    fn reference(
        documents: &DocumentVectors,
        targets: &[usize],
        classes: usize,
    ) -> Vec<(DVector<f64>, f64)> {
        let full: Vec<usize> = with_sentences(documents).collect();
        let means = DMatrix::from_row_slice(full.len(), DIMENSION, &means(documents));
        let centre = means.cast::<f64>().row_mean();
        let (mut x, mut y, mut w) = (Vec::new(), Vec::new(), Vec::new());
        for document in &full {
            let class = targets[*document];
            let same = full.iter().filter(|i| targets[**i] == class).count();
            let rows = documents.document(*document).chunks_exact(DIMENSION);
            let weight = 1.0 / (rows.len() as f64 * (same as f64).sqrt());
            for row in rows {
                let row = RowDVector::from_row_slice(row).cast::<f64>() - &centre;
                x.push(row.normalize());
                let is_class = |_, own| f64::from(u8::from(own == class));
                y.push(RowDVector::from_fn(classes, is_class));
                w.push(weight);
            }
        }
        let w = DVector::from_vec(w);
        let w = &w / w.sum();
        let (mut x, mut y) = (DMatrix::from_rows(&x), DMatrix::from_rows(&y));
        let (x_mean, y_mean) = (w.tr_mul(&x), w.tr_mul(&y));
        let mut weighted = x.clone();
        for (i, w) in w.iter().enumerate() {
            x.set_row(i, &(x.row(i) - &x_mean));
            y.set_row(i, &(y.row(i) - &y_mean));
            weighted.set_row(i, &(x.row(i) * *w));
        }
        let mut gram = weighted.tr_mul(&x);
        let ridge = 0.1 * gram.trace() / DIMENSION as f64;
        gram += DMatrix::identity(DIMENSION, DIMENSION) * ridge;
        let solved = gram.lu().solve(&weighted.tr_mul(&y)).unwrap();
        let heads = solved.column_iter();
        heads.map(|b| (4.0 * b, -4.0 * (&x_mean * b)[0])).collect()
    }

    /// The head's score of a sentence, as [`ScoreHeads`] defines it.
    fn score(heads: &ScoreHeads, class: usize, sentence: &[f32]) -> usize {
        let d = heads.centre.len();
        let x = normalised(sentence, d, &heads.centre);
        let weights = heads.weights[class * d..][..d].iter();
        let dot: f32 = weights.zip(&x).map(|(w, x)| w * x).sum();
        let z = dot + heads.bias[class];
        heads.thresholds.iter().filter(|t| **t <= z).count()
    }

    #[test]
    fn agrees_with_the_recipe_step_by_step() {
        for classes in [2, 5] {
            let (documents, targets) = documents(classes, 900);
            let heads = fit(&documents, &targets, classes).unwrap();
            let expected = reference(&documents, &targets, classes);
            for (class, (weights, bias)) in expected.iter().enumerate() {
                assert!((f64::from(heads.bias[class]) - bias).abs() < 1e-5);
                let found = &heads.weights[class * DIMENSION..][..DIMENSION];
                for (found, expected) in found.iter().zip(weights) {
                    let error = f64::from(*found) - expected;
                    assert!(error.abs() < 1e-5, "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn sentences_may_fill_all_blocks() {
        let (documents, _) = documents(2, 400);
        let rows = documents.rows()[..BLOCK * DIMENSION].to_vec();
        let full = DocumentVectors::new(DIMENSION, rows, (0..=BLOCK).collect());
        let targets: Vec<usize> = (0..BLOCK).map(|document| document % 2).collect();
        assert!(fit(&full, &targets, 2).is_ok());
    }

    #[test]
    fn the_own_class_scores_most() {
        let (documents, targets) = documents(5, 300);
        let heads = fit(&documents, &targets, 5).unwrap();
        let mut sums = [[0usize; 5]; 5];
        for (document, target) in targets.iter().enumerate() {
            for sentence in documents.document(document).chunks(DIMENSION) {
                for (class, sum) in sums[*target].iter_mut().enumerate() {
                    *sum += score(&heads, class, sentence);
                }
            }
        }
        for (class, sums) in sums.iter().enumerate() {
            assert_eq!(sums.iter().max(), Some(&sums[class]), "{class}: {sums:?}");
        }
    }

    #[test]
    fn scores_count_eighths() {
        let heads = cosine(&[1.0, 0.0, 0.0, 0.0], &[0.0, 0.0], 2, 2.0);
        assert_eq!(heads.weights, [2.0, 0.0, 0.0, 0.0]);
        assert_eq!(heads.bias, [0.0, 0.0]);
        for (sentence, expected) in [
            ([1.0, 0.0], 8),
            ([3.0, 4.0], 8),
            ([-1.0, 0.0], 0),
            ([0.0, 1.0], 0),
            ([0.0, 0.0], 0),
            // 2·cos 75° = 0.5176 = 4.14/8.
            ([0.258_819, 0.965_926], 4),
        ] {
            assert_eq!(score(&heads, 0, &sentence), expected, "{sentence:?}");
            // The second candidate is at the centre.
            assert_eq!(score(&heads, 1, &sentence), 0);
        }
        let moved = cosine(&[6.0, 5.0], &[5.0, 5.0], 2, 1.0);
        assert_eq!(score(&moved, 0, &[9.0, 5.0]), 8);
        assert_eq!(score(&moved, 0, &[4.0, 5.0]), 0);
    }

    #[test]
    fn documents_without_sentences_count_nowhere() {
        let (documents, targets) = documents(3, 200);
        let full: Vec<usize> = with_sentences(&documents).collect();
        let own: Vec<usize> = full.iter().map(|i| targets[*i]).collect();
        let without = documents.subset(&full);
        let fitted = fit(&documents, &targets, 3).unwrap();
        assert_eq!(fitted, fit(&without, &own, 3).unwrap());
        let clusters = clusters_as_targets(&documents, Some(4), 1).unwrap();
        let fewer = clusters_as_targets(&without, Some(4), 1).unwrap();
        assert_eq!((clusters.classes, fewer.classes), (4, 4));
        for (document, class) in full.iter().zip(&fewer.of_documents) {
            assert_eq!(clusters.of_documents[*document], *class);
        }
    }

    #[test]
    fn refuses_what_cannot_be_fitted() {
        let two = DocumentVectors::new(1, vec![1.0, 2.0, 3.0], vec![0, 1, 1, 3]);
        let message = |documents: &DocumentVectors, targets: &[usize], classes| {
            fit(documents, targets, classes).unwrap_err().to_string()
        };
        assert!(message(&two, &[0, 0, 0], 1).contains("at least 2 classes apart, found 1"));
        assert!(message(&two, &[0, 0, 0], 2).contains("class 1 of 0..2"));
        // The only document of class 2 has no sentence.
        assert!(message(&two, &[0, 2, 1], 3).contains("class 2 of 0..3"));
        let none = DocumentVectors::new(1, vec![], vec![0, 0]);
        assert!(message(&none, &[0], 2).contains("class 0"));
        for bad in [f32::NAN, f32::INFINITY] {
            let broken = DocumentVectors::new(1, vec![1.0, bad], vec![0, 1, 2]);
            assert!(message(&broken, &[0, 1], 2).contains("sentence 1 has"));
            let error = clusters_as_targets(&broken, None, 1).unwrap_err();
            assert!(error.to_string().contains("sentence 1 has"));
        }
        for value in [0.0, 0.1, f32::MAX] {
            let equal = DocumentVectors::new(3, vec![value; 21], vec![0, 1, 4, 7]);
            let message = message(&equal, &[0, 1, 0], 2);
            assert!(message.contains("are equal"), "{value}");
        }
    }

    #[test]
    fn one_direction_of_variance_is_enough() {
        let rows = vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, -2.0, 0.0];
        let documents = DocumentVectors::new(3, rows, vec![0, 2, 4]);
        let heads = fit(&documents, &[0, 1], 2).unwrap();
        assert_eq!(score(&heads, 0, &[0.0, 3.0, 0.0]), 8);
        assert_eq!(score(&heads, 1, &[0.0, 3.0, 0.0]), 0);
        assert_eq!(score(&heads, 1, &[0.0, -3.0, 0.0]), 8);
        // The largest coordinates.
        let rows = vec![f32::MAX, f32::MIN, f32::MIN, f32::MAX];
        let documents = DocumentVectors::new(2, rows, vec![0, 1, 2]);
        let heads = fit(&documents, &[0, 1], 2).unwrap();
        assert!(heads.weights.iter().all(|w| w.is_finite()));
    }

    #[test]
    fn clusters_stand_for_classes() {
        let (documents, _) = documents(5, 300);
        let targets = clusters_as_targets(&documents, None, 1).unwrap();
        assert_eq!(targets.classes, 30);
        fit(&documents, &targets.of_documents, targets.classes).unwrap();

        // Three documents, two of them equal: the default is three clusters, of which one is empty.
        let few = DocumentVectors::new(2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0], vec![0, 1, 2, 3]);
        let targets = clusters_as_targets(&few, None, 1).unwrap();
        assert_eq!(targets.classes, 2);
        assert_eq!(targets.of_documents[0], targets.of_documents[2]);
        assert_ne!(targets.of_documents[0], targets.of_documents[1]);
        fit(&few, &targets.of_documents, 2).unwrap();

        let error = clusters_as_targets(&few, Some(4), 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains("4 clusters of 3 points"), "{error}");
        assert!(clusters_as_targets(&few, Some(0), 1).is_err());
        let none = DocumentVectors::new(2, vec![], vec![0]);
        assert!(clusters_as_targets(&none, None, 1).is_err());
    }
}
