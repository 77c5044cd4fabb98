//! Documents as the vectors of their sentences, the input of training, packing and evaluation.

use std::ops::Range;

use nalgebra::{DMatrix, SymmetricEigen};

/// Documents as the vectors of their sentences, without text.
// No Debug: the documents may be private.
#[derive(Clone, PartialEq)]
pub struct DocumentVectors {
    dimension: usize,
    rows: Vec<f32>,
    offsets: Vec<usize>,
}

impl DocumentVectors {
    /// Takes `rows`, `[sentences][dimension]` row-major, document by document, and `offsets`,
    /// `[documents + 1]` ascending from 0: the sentences of document i are the rows
    /// `offsets[i]..offsets[i + 1]`.
    ///
    /// # Panics
    /// If the shapes do not match.
    pub fn new(dimension: usize, rows: Vec<f32>, offsets: Vec<usize>) -> Self {
        assert!(dimension > 0, "a vector has at least one coordinate");
        assert!(offsets.is_sorted(), "offsets ascend");
        assert_eq!(
            offsets.first(),
            Some(&0),
            "the first document starts at row 0"
        );
        assert_eq!(
            offsets.last().map(|end| end * dimension),
            Some(rows.len()),
            "the last document ends with the last row"
        );
        Self {
            dimension,
            rows,
            offsets,
        }
    }

    /// d, the number of coordinates of a vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vectors of all sentences, `[sentences][dimension]` row-major.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// `[documents + 1]`: the sentences of document i are the rows `offsets[i]..offsets[i + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The rows of one document.
    ///
    /// # Panics
    /// If there is no such document.
    pub fn range(&self, document: usize) -> Range<usize> {
        self.offsets[document]..self.offsets[document + 1]
    }

    /// The sentence vectors of one document, `[sentences][dimension]` row-major.
    ///
    /// # Panics
    /// If there is no such document.
    pub fn document(&self, document: usize) -> &[f32] {
        let range = self.range(document);
        &self.rows[range.start * self.dimension..range.end * self.dimension]
    }

    /// Returns the mean of each document's sentence vectors, `[documents][dimension]` row-major;
    /// zeros for a document without sentences.
    pub fn means(&self) -> Vec<f32> {
        (0..self.len())
            .flat_map(|document| mean(self.document(document), self.dimension))
            .collect()
    }

    /// Replaces every coordinate x by max(0, x).
    pub(crate) fn rectified(mut self) -> Self {
        self.rows.iter_mut().for_each(|x| *x = x.max(0.0));
        self
    }

    /// Returns the documents with these indices, in this order.
    ///
    /// # Panics
    /// If there is no such document.
    pub fn subset(&self, documents: &[usize]) -> Self {
        let mut rows = Vec::new();
        let mut offsets = vec![0];
        for document in documents {
            rows.extend_from_slice(self.document(*document));
            offsets.push(rows.len() / self.dimension);
        }
        Self::new(self.dimension, rows, offsets)
    }
}

/// Returns the rows minus their mean, `[rows][dimension]`, and their first `n` principal directions
/// as unit columns, `[dimension][n]`.
#[doc(hidden)]
pub fn principal(rows: &[f32], dimension: usize, n: usize) -> (DMatrix<f64>, DMatrix<f64>) {
    let elements = rows.iter().map(|x| f64::from(*x));
    let mut matrix = DMatrix::from_row_iterator(rows.len() / dimension, dimension, elements);
    let mean = matrix.row_mean();
    for mut row in matrix.row_iter_mut() {
        row -= &mean;
    }
    let mut directions = largest(matrix.tr_mul(&matrix), n);
    for mut vector in directions.column_iter_mut() {
        // The sign of an eigenvector is arbitrary; make its largest coordinate positive.
        vector *= vector[vector.icamax()].signum();
    }
    (matrix, directions)
}

/// Returns the unit eigenvectors of the `n` largest eigenvalues as columns.
pub(crate) fn largest(matrix: DMatrix<f64>, n: usize) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new(matrix);
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_unstable_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
    eigen.eigenvectors.select_columns(&order[..n])
}

/// Returns the mean of the rows; zeros if there are none.
#[doc(hidden)]
pub fn mean(rows: &[f32], dimension: usize) -> Vec<f32> {
    let mut mean = Mean::new(dimension);
    rows.chunks_exact(dimension).for_each(|row| mean.add(row));
    mean.value()
}

/// A running mean of vectors.
#[derive(Clone)]
pub(crate) struct Mean {
    sum: Vec<f64>,
    count: usize,
}

impl Mean {
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            sum: vec![0.0; dimension],
            count: 0,
        }
    }

    pub(crate) fn add(&mut self, row: &[f32]) {
        for (sum, x) in self.sum.iter_mut().zip(row) {
            *sum += f64::from(*x);
        }
        self.count += 1;
    }

    /// The mean; zeros for no vectors.
    pub(crate) fn value(&self) -> Vec<f32> {
        let count = self.count.max(1) as f64;
        self.sum.iter().map(|sum| (sum / count) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::DocumentVectors;

    #[test]
    fn means_and_subsets_follow_the_offsets() {
        let documents =
            DocumentVectors::new(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![0, 2, 2, 3]);
        assert_eq!(documents.means(), [2.0, 3.0, 0.0, 0.0, 5.0, 6.0]);
        let last = documents.subset(&[2, 0]);
        assert_eq!(last.offsets(), [0, 1, 3]);
        assert_eq!(last.rows(), [5.0, 6.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(last.document(1), documents.document(0));
    }
}
