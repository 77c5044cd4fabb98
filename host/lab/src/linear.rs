//! Linear classifiers of texts and bags of words: ridge regressions on sparse rows.
//!
//! `vectors::logistic` fits a logistic regression to dense rows, and `undertone-train` a
//! perceptron. The published numbers of each experiment depend on its own classifier.

use std::collections::HashMap;

/// Rows of a sparse matrix.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    columns: usize,
    /// Entries of row r: `ends[r - 1]..ends[r]`.
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Rows {
    /// Creates a matrix with this number of columns and no rows.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If an entry lies outside the columns.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f32)>) {
        let start = self.entries.len();
        self.entries.extend(row);
        let fits = |(column, _): &(u32, f32)| (*column as usize) < self.columns;
        assert!(
            self.entries[start..].iter().all(fits),
            "columns are counted"
        );
        self.ends.push(self.entries.len());
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = &[(u32, f32)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.entries[start..*end])
    }
}

/// Term weights by document frequency, scaled to unit length: (1 + ln tf)·(1 + ln((1 + n)/(1 +
/// df))) (Salton and Buckley 1988).
#[derive(Clone, Debug)]
pub struct TfIdf {
    columns: HashMap<u64, (u32, f32)>,
}

impl TfIdf {
    /// Takes the terms that occur in at least `least` of the documents.
    pub fn fit<'a>(documents: impl IntoIterator<Item = &'a [u64]>, least: usize) -> Self {
        let mut frequencies: HashMap<u64, usize> = HashMap::new();
        let mut n = 0;
        for document in documents {
            n += 1;
            for (term, _) in counts(document) {
                *frequencies.entry(term).or_default() += 1;
            }
        }
        let mut terms: Vec<(u64, usize)> = frequencies.into_iter().collect();
        terms.retain(|(_, documents)| *documents >= least);
        terms.sort_unstable();
        let columns = (0..).zip(terms).map(|(column, (term, documents))| {
            let idf = 1.0 + ((1 + n) as f64 / (1 + documents) as f64).ln();
            (term, (column, idf as f32))
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// One row for each document; zero for a document without a term of the vocabulary.
    pub fn rows<'a>(&self, documents: impl IntoIterator<Item = &'a [u64]>) -> Rows {
        let mut rows = Rows::new(self.columns.len());
        for document in documents {
            let known = counts(document).into_iter().filter_map(|(term, count)| {
                let (column, idf) = self.columns.get(&term)?;
                Some((*column, (1.0 + (count as f32).ln()) * idf))
            });
            let mut row: Vec<(u32, f32)> = known.collect();
            let norm = row.iter().map(|(_, x)| x * x).sum::<f32>().sqrt();
            row.iter_mut().for_each(|(_, x)| *x /= norm);
            rows.push(row);
        }
        rows
    }
}

/// The number of occurrences of each term, sorted by term.
fn counts(document: &[u64]) -> Vec<(u64, usize)> {
    let mut sorted = document.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], run.len())).collect()
}

/// Conjugate gradients stop when the residual is this fraction of the right side, or after
/// [`STEPS`].
const TOLERANCE: f64 = 1e-3;
const STEPS: usize = 200;

/// One ridge regression (Hoerl and Kennard 1970) for each class on ±1; the largest value wins.
///
/// On texts it is as accurate as a support vector machine, and the normal equations require no step
/// size. Conjugate gradients (Hestenes and Stiefel 1952) solve them for all classes side by side,
/// without a matrix of the size of the vocabulary squared.
#[derive(Clone, Debug)]
pub struct Ridge {
    classes: usize,
    /// `[columns][classes]`.
    weights: Vec<f64>,
    /// `[classes]`.
    bias: Vec<f64>,
}

impl Ridge {
    /// Fits `labels`, one for each row, each in `0..classes`; `ridge` is in units of the rows'
    /// total variance.
    ///
    /// A class with n rows weighs √n, as score heads do.
    ///
    /// # Panics
    /// If the numbers of labels and rows differ or are 0.
    pub fn fit(rows: &Rows, labels: &[usize], classes: usize, ridge: f64) -> Self {
        assert_eq!(rows.len(), labels.len(), "one label a row");
        assert!(!labels.is_empty(), "there is something to learn from");
        let mut sizes = vec![0.0f64; classes];
        labels.iter().for_each(|label| sizes[*label] += 1.0);
        let total: f64 = sizes.iter().map(|size| size.sqrt()).sum();
        let weight = |label: usize| 1.0 / (sizes[label].sqrt() * total);

        let mut mean = vec![0.0f64; rows.columns];
        let mut variance = 0.0;
        for (row, label) in rows.iter().zip(labels) {
            for (column, x) in row {
                let x = f64::from(*x);
                mean[*column as usize] += weight(*label) * x;
                variance += weight(*label) * x * x;
            }
        }
        variance -= mean.iter().map(|x| x * x).sum::<f64>();
        let shift = ridge * variance.max(f64::MIN_POSITIVE);

        // The mean of the targets 2·[class = label] − 1.
        let target: Vec<f64> = sizes
            .iter()
            .map(|size| 2.0 * size.sqrt() / total - 1.0)
            .collect();
        let mut residual = vec![0.0; rows.columns * classes];
        for (row, label) in rows.iter().zip(labels) {
            for (column, x) in row {
                residual[*column as usize * classes + label] +=
                    2.0 * weight(*label) * f64::from(*x);
            }
        }
        // Σ w·x·(y − ȳ) with y = 2·[class = label] − 1.
        for (column, mean) in mean.iter().enumerate() {
            let residual = &mut residual[column * classes..(column + 1) * classes];
            for (residual, target) in residual.iter_mut().zip(&target) {
                *residual -= mean * (1.0 + target);
            }
        }

        let mut weights = vec![0.0; residual.len()];
        let mut direction = residual.clone();
        let mut norms = products(&residual, &residual, classes);
        let ends: Vec<f64> = norms
            .iter()
            .map(|norm| norm * TOLERANCE * TOLERANCE)
            .collect();
        for _ in 0..STEPS {
            if norms.iter().zip(&ends).all(|(norm, end)| norm <= end) {
                break;
            }
            let image = normal(rows, labels, &weight, &mean, shift, &direction, classes);
            let curvature = products(&direction, &image, classes);
            let step: Vec<f64> = norms
                .iter()
                .zip(&curvature)
                .map(|(n, c)| quotient(*n, *c))
                .collect();
            for (at, (direction, image)) in direction.iter().zip(&image).enumerate() {
                weights[at] += step[at % classes] * direction;
                residual[at] -= step[at % classes] * image;
            }
            let next = products(&residual, &residual, classes);
            let turn: Vec<f64> = next
                .iter()
                .zip(&norms)
                .map(|(n, o)| quotient(*n, *o))
                .collect();
            for (at, (direction, residual)) in direction.iter_mut().zip(&residual).enumerate() {
                *direction = residual + turn[at % classes] * *direction;
            }
            norms = next;
        }
        let mut bias = target;
        for (column, mean) in mean.iter().enumerate() {
            for (class, bias) in bias.iter_mut().enumerate() {
                *bias -= mean * weights[column * classes + class];
            }
        }
        Self {
            classes,
            weights,
            bias,
        }
    }

    /// The class of each row; the first of equals.
    pub fn predict(&self, rows: &Rows) -> Vec<usize> {
        let class = |row: &[(u32, f32)]| {
            let values = values(&self.weights, &self.bias, row, self.classes);
            let best = values
                .iter()
                .enumerate()
                .rev()
                .max_by(|a, b| a.1.total_cmp(b.1));
            best.map_or(0, |(class, _)| class)
        };
        rows.iter().map(class).collect()
    }
}

/// `start` plus a row times a matrix `[columns][classes]`.
fn values(matrix: &[f64], start: &[f64], row: &[(u32, f32)], classes: usize) -> Vec<f64> {
    let mut values = start.to_vec();
    for (column, x) in row {
        let weights = &matrix[*column as usize * classes..][..classes];
        for (value, weight) in values.iter_mut().zip(weights) {
            *value += f64::from(*x) * weight;
        }
    }
    values
}

/// (Σ w·(x − m)(x − m)ᵀ + shift)·B for B `[columns][classes]`.
fn normal(
    rows: &Rows,
    labels: &[usize],
    weight: &impl Fn(usize) -> f64,
    mean: &[f64],
    shift: f64,
    matrix: &[f64],
    classes: usize,
) -> Vec<f64> {
    // mᵀB.
    let mut centre = vec![0.0; classes];
    for (mean, row) in mean.iter().zip(matrix.chunks_exact(classes)) {
        for (centre, x) in centre.iter_mut().zip(row) {
            *centre -= mean * x;
        }
    }
    // The weights sum to 1, so Σ w·(x − m)·c = 0 for any c: m is subtracted on one side only.
    let mut image: Vec<f64> = matrix.iter().map(|x| shift * x).collect();
    for (row, label) in rows.iter().zip(labels) {
        let values = values(matrix, &centre, row, classes);
        for (column, x) in row {
            let x = weight(*label) * f64::from(*x);
            let image = &mut image[*column as usize * classes..][..classes];
            for (image, value) in image.iter_mut().zip(&values) {
                *image += x * value;
            }
        }
    }
    image
}

/// The scalar product of each column of two matrices `[columns][classes]`.
fn products(a: &[f64], b: &[f64], classes: usize) -> Vec<f64> {
    let mut products = vec![0.0; classes];
    for (a, b) in a.chunks_exact(classes).zip(b.chunks_exact(classes)) {
        for ((product, a), b) in products.iter_mut().zip(a).zip(b) {
            *product += a * b;
        }
    }
    products
}

/// A class whose residual is exactly 0 stays unchanged.
fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;
    use undertone_core::rng::{PublicRng, below};

    #[test]
    fn weights_are_those_by_hand() {
        let documents: [&[u64]; 3] = [&[7, 9, 7], &[9], &[9, 5]];
        let weights = TfIdf::fit(documents, 1);
        let rows = weights.rows([&[7, 9, 7][..], &[8], &[9]]);
        // One of three documents has 7, all have 9: (1 + ln 2)·(1 + ln(4/2)), 1·(1 + ln(4/4)).
        let (rare, common) = ((1.0 + 2f32.ln()) * (1.0 + 2f32.ln()), 1.0);
        let norm = (rare * rare + common * common).sqrt();
        let found: Vec<&[(u32, f32)]> = rows.iter().collect();
        // Columns are in the order of terms: 5, 7, 9.
        assert_eq!(found[0], [(1, rare / norm), (2, common / norm)]);
        assert_eq!(found[1], []);
        assert_eq!(found[2], [(2, 1.0)]);
        // Terms of single documents are left out.
        assert_eq!(TfIdf::fit(documents, 2).columns.len(), 1);
    }

    /// 30 rows of 6 columns, some of them empty, in 3 classes of different sizes.
    fn problem() -> (Rows, Vec<usize>) {
        let mut rng = PublicRng::new(3);
        let mut rows = Rows::new(6);
        let labels: Vec<usize> = (0..30).map(|row| [0, 1, 1, 2, 2, 2][row % 6]).collect();
        for label in &labels {
            let entries: Vec<(u32, f32)> = (0..6)
                .filter_map(|column| {
                    let x = below(&mut rng, 100) as f32 / 50.0 + f32::from(column == *label as u32);
                    (below(&mut rng, 3) > 0).then_some((column, x))
                })
                .collect();
            rows.push(entries);
        }
        (rows, labels)
    }

    #[test]
    fn conjugate_gradients_solve_the_normal_equations() {
        let (rows, labels) = problem();
        let found = Ridge::fit(&rows, &labels, 3, 0.05);
        // The same problem with a dense matrix: the columns, and a column of ones without penalty.
        let sizes = [5f64, 10.0, 15.0].map(f64::sqrt);
        let total: f64 = sizes.iter().sum();
        let weight: Vec<f64> = labels.iter().map(|l| 1.0 / (sizes[*l] * total)).collect();
        let mut x = DMatrix::<f64>::zeros(30, 6);
        for (number, row) in rows.iter().enumerate() {
            row.iter()
                .for_each(|(column, value)| x[(number, *column as usize)] = f64::from(*value));
        }
        let mean: Vec<f64> = (0..6)
            .map(|c| (0..30).map(|r| weight[r] * x[(r, c)]).sum::<f64>())
            .collect();
        let centred = DMatrix::from_fn(30, 6, |r, c| x[(r, c)] - mean[c]);
        let weighted = DMatrix::from_fn(30, 6, |r, c| weight[r] * centred[(r, c)]);
        let mut gram = centred.transpose() * &weighted;
        let shift = 0.05 * gram.trace();
        (0..6).for_each(|c| gram[(c, c)] += shift);
        let y = DMatrix::from_fn(
            30,
            3,
            |r, class| if labels[r] == class { 1.0 } else { -1.0 },
        );
        let solved = gram.cholesky().unwrap().solve(&(weighted.transpose() * &y));
        for column in 0..6 {
            for class in 0..3 {
                let (a, b) = (found.weights[column * 3 + class], solved[(column, class)]);
                assert!(
                    (a - b).abs() < 5e-3 * solved.amax(),
                    "{column} {class}: {a} {b}"
                );
            }
        }
        for class in 0..3 {
            let target: f64 = (0..30).map(|r| weight[r] * y[(r, class)]).sum();
            let bias = target - (0..6).map(|c| mean[c] * solved[(c, class)]).sum::<f64>();
            assert!((found.bias[class] - bias).abs() < 0.02, "{class}");
        }
    }

    #[test]
    fn classes_are_learned_and_nothing_is_no_problem() {
        let (rows, labels) = problem();
        let right =
            |guesses: Vec<usize>| guesses.iter().zip(&labels).filter(|(a, b)| a == b).count();
        assert!(right(Ridge::fit(&rows, &labels, 3, 0.01).predict(&rows)) > 20);
        // Rows without an entry: only the class sizes decide.
        let mut empty = Rows::new(4);
        labels.iter().for_each(|_| empty.push([]));
        assert_eq!(
            right(Ridge::fit(&empty, &labels, 3, 0.01).predict(&empty)),
            15
        );
    }
}
