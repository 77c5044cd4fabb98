//! Linear maps to fewer coordinates, and how much they stretch the distances of a vocabulary.
//!
//! A projection is drawn or computed in public and rounded to the integers of a pack. All bounds
//! refer to these integers, with which a device multiplies.

use nalgebra::{DMatrix, SymmetricEigen};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use undertone_core::laplace::{MAX_DIMENSION, Sensitivity};
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;

use crate::encoder::EncoderIdentity;
use crate::encoder::vectors::{mean, principal};
use crate::error::{Error, Result};
use crate::pack::kmeans::check_finite;
use crate::pack::{PackContents, ProjectionData, limit};
use crate::progress::Progress;

/// The exponents that a pack allows for a projection.
const EXPONENTS: std::ops::RangeInclusive<i32> = -24..=0;

/// Vectors per tile. Two tiles, which are compared with each other, fit the cache of a core.
const TILE: usize = 64;

/// A linear map Φ from n coordinates to m, as a pack holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    dimension: usize,
    exponent: i32,
    /// `[m][n]`; an entry of Φ is its integer times 2^exponent.
    rows: Vec<i16>,
}

/// Draws `[m][n]` independent Gaussians of variance 1/m, as published by Feyisetan and
/// Kasiviswanathan (2021).
///
/// The largest singular value is about 1 + √(n/m), so some vectors are lengthened far more than a
/// given one.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if `m` is not 1 to 1024.
pub fn gaussian(n: usize, m: usize, seed: u64) -> Result<Projection> {
    limit("dimensions of a projection", m, 1, MAX_DIMENSION)?;
    let deviation = (m as f64).sqrt().recip();
    let rows: Vec<f64> = normal(n * m, seed).map(|x| x * deviation).collect();
    quantise(&rows, n)
}

/// Draws `m` orthonormal rows, `[m][n]`, that span a uniformly random subspace.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if `m` is not 1 to `n`, at most 1024.
pub fn orthonormal(n: usize, m: usize, seed: u64) -> Result<Projection> {
    limit("dimensions of a projection", m, 1, n.min(MAX_DIMENSION))?;
    let columns = DMatrix::from_iterator(n, m, normal(n * m, seed));
    // The columns of Q, one after the other, are the rows of the projection.
    quantise(columns.qr().q().as_slice(), n)
}

/// The principal directions of public vectors.
///
/// As columns, by descending variance.
pub struct PrincipalDirections(DMatrix<f64>);

impl PrincipalDirections {
    /// Computes the principal directions of `vectors`, `[words][n]` row-major.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if a vector is not finite.
    ///
    /// # Panics
    /// If `vectors` is not a whole number of rows.
    pub fn fit(vectors: &[f32], n: usize) -> Result<Self> {
        check_finite("word vector", vectors, n)?;
        Ok(Self(principal(vectors, n, n).1))
    }

    /// Returns the first `m` directions as orthonormal rows, `[m][n]`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if `m` is not 1 to `n`, at most
    /// 1024.
    pub fn first(&self, m: usize) -> Result<Projection> {
        let n = self.0.nrows();
        limit("dimensions of a projection", m, 1, n.min(MAX_DIMENSION))?;
        quantise(&self.0.as_slice()[..m * n], n)
    }
}

/// Draws `n` independent standard Gaussians.
pub(super) fn normal(n: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut rng = PublicRng::new(seed);
    (0..n).map(move |_| StandardNormal.sample(&mut rng))
}

/// Rounds `rows`, `[m][n]` row-major, to 16 bits under the largest common power of two.
/// Fails if an entry is NaN or infinite, or the largest entry is outside the range of a pack.
fn quantise(rows: &[f64], n: usize) -> Result<Projection> {
    assert!(n > 0 && rows.len().is_multiple_of(n), "rows of {n} entries");
    if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
        return Err(Error::not_finite_row("the projection's row", at / n));
    }
    let largest = rows.iter().fold(0f64, |most, x| most.max(x.abs()));
    let fits = |exponent: i32| largest * 2f64.powi(-exponent) <= f64::from(i16::MAX);
    // A smaller one would keep only few bits of the largest entry.
    let large = largest >= 2f64.powi(-10);
    let mut exponents = EXPONENTS;
    let exponent = exponents.find(|exponent| large && fits(*exponent));
    let exponent = exponent.ok_or_else(|| {
        Error::input(format!(
            "the largest entry of the projection is {largest:e}, a pack holds \
             largest entries from {:e} to 32767; scale it",
            2f64.powi(-10)
        ))
    })?;
    let integers = rows.iter().map(|x| x * 2f64.powi(-exponent));
    Ok(Projection {
        dimension: n,
        exponent,
        rows: integers.map(|x| x.round() as i16).collect(),
    })
}

impl Projection {
    /// n, the number of input coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// m, the number of rows.
    pub fn outputs(&self) -> usize {
        self.rows.len() / self.dimension
    }

    /// Returns Φv for each of `vectors`, `[words][n]` row-major: `[words][m]`.
    ///
    /// # Panics
    /// If `vectors` is not a whole number of rows.
    pub fn apply(&self, vectors: &[f32]) -> Vec<f32> {
        let scale = 2f64.powi(self.exponent);
        let images = self.integer_images(vectors);
        images.iter().map(|x| (x * scale) as f32).collect()
    }

    /// [`apply`](Self::apply) without the exponent.
    fn integer_images(&self, vectors: &[f32]) -> Vec<f64> {
        let n = self.dimension;
        assert!(vectors.len().is_multiple_of(n), "rows of {n} coordinates");
        let rows: Vec<f64> = self.rows.iter().map(|x| f64::from(*x)).collect();
        let images = vectors.par_chunks_exact(n).flat_map_iter(|vector| {
            let vector: Vec<f64> = vector.iter().map(|x| f64::from(*x)).collect();
            rows.chunks_exact(n)
                .map(move |row| sum(row, &vector, |x, y| x * y))
        });
        images.collect()
    }

    /// Returns Δ for all vectors, as a device computes it from the pack (Gershgorin).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a size that a pack cannot
    /// hold; [`ErrorKind::Input`](crate::error::ErrorKind::Input) if Δ is above 2¹².
    pub fn sensitivity(&self) -> Result<Sensitivity> {
        let pack = self.pack(&EncoderIdentity::default(), 0)?;
        let pack = Pack::parse(&pack).map_err(Error::from)?;
        let section = pack.projection();
        let section = section.expect("a pack with a projection has its section");
        section.sensitivity().ok_or_else(|| stretched(self.norm()))
    }

    /// Makes a pack with only this projection, for embeddings of `encoder` with coordinates within
    /// ±2^`bound_exponent`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) and
    /// [`ErrorKind::Pack`](crate::error::ErrorKind::Pack) for a size or a bound that a pack cannot
    /// hold.
    pub fn pack(&self, encoder: &EncoderIdentity, bound_exponent: i32) -> Result<Vec<u8>> {
        let mut contents = PackContents::new(self.dimension, encoder.clone());
        contents.projection = Some(ProjectionData {
            exponent: self.exponent,
            bound_exponent,
            rows: self.rows.clone(),
        });
        contents.to_bytes()
    }

    /// Returns ‖Φ‖₂ in floating point: the least Δ for all vectors, up to rounding.
    pub fn norm(&self) -> f64 {
        let rows = self.rows.iter().map(|x| f64::from(*x));
        let matrix = DMatrix::from_row_iterator(self.outputs(), self.dimension, rows);
        let gram = &matrix * matrix.transpose();
        let largest = SymmetricEigen::new(gram).eigenvalues.max();
        largest.max(0.0).sqrt() * 2f64.powi(self.exponent)
    }

    /// Returns the sum of squared distances between the images of `vectors`, `[words][n]`
    /// row-major, as a share of the sum between the vectors.
    pub fn share(&self, vectors: &[f32]) -> f64 {
        spread(&self.apply(vectors), self.outputs()) / spread(vectors, self.dimension)
    }

    /// Turns `worst`, over all pairs of `vectors`, into a certificate.
    fn certificate(&self, worst: Worst, vectors: &[f32]) -> Result<Certificate> {
        let (n, m) = (self.dimension, self.outputs());
        if worst.pairs == worst.equal {
            return Err(Error::input(format!(
                "no two of {} word vectors differ, so nothing bounds how a projection \
                 stretches distances",
                vectors.len() / n
            )));
        }
        let unit = f64::EPSILON / 2.0;
        let gamma = |k: usize| k as f64 * unit / (1.0 - k as f64 * unit);
        let magnitudes = vectors.par_chunks_exact(n).map(|v| self.magnitude(v));
        let error = gamma(n + 8) * magnitudes.reduce(|| 0.0, f64::max);
        let quotient = worst.quotient.sqrt();
        let bound = quotient * (1.0 + gamma(n + m + 8))
            + 2.0 * error / worst.least.sqrt() * (1.0 + gamma(n + 8));
        let scale = 2f64.powi(self.exponent);
        // Products with powers of two are exact; one more unit covers the roundings of this
        // expression.
        let units = (bound * scale * 2f64.powi(32)).ceil() as u64;
        let sensitivity = Sensitivity::from_units(units.saturating_add(1));
        Ok(Certificate {
            sensitivity: sensitivity.ok_or_else(|| stretched(bound * scale))?,
            maximum: quotient * scale,
            pair: worst.pair,
            pairs: worst.pairs,
            equal: worst.equal,
        })
    }

    /// Returns ‖(Σᵢ|φⱼᵢvᵢ|)ⱼ‖ without the exponent, to which the rounding errors of an image are
    /// proportional.
    fn magnitude(&self, vector: &[f32]) -> f64 {
        let product = |(entry, x): (&i16, &f32)| (f64::from(*entry) * f64::from(*x)).abs();
        let rows = self.rows.chunks_exact(self.dimension);
        let sums = rows.map(|row| row.iter().zip(vector).map(product).sum::<f64>());
        sums.map(|sum| sum * sum).sum::<f64>().sqrt()
    }
}

/// An upper bound of the stretch of distances between the words of a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// An upper bound of ‖Φ(v−w)‖/‖v−w‖ over all pairs: the Δ for noise on words of this
    /// vocabulary.
    pub sensitivity: Sensitivity,
    /// The largest quotient, as computed in floating point.
    pub maximum: f64,
    /// The two words with the largest quotient, by their rows.
    pub pair: (usize, usize),
    /// The number of pairs examined.
    pub pairs: u64,
    /// The number of pairs of equal vectors, which have no quotient and are left out.
    pub equal: u64,
}

/// Computes for each projection the largest stretch ‖Φ(v−w)‖/‖v−w‖ over all pairs of `vectors`,
/// `[words][n]` row-major.
///
/// Φ consists of the integers of `projection`, so the bound holds for the device's product. It is
/// for the words of this vocabulary only: other vectors may be stretched more. Vocabulary and
/// projections are public, and nothing is released here.
///
/// Vectors are subtracted before they are squared, because the norms of v and w hide a small
/// distance. Each word is projected once in f64. With u = 2⁻⁵³ and γₖ = ku/(1−ku), the error of the
/// image of v is at most e(v) = γₙ₊₁·‖(Σᵢ|φⱼᵢvᵢ|)ⱼ‖ in any order of summation. The relative error
/// of a computed squared distance is at most γₙ₊₂, or γₘ₊₂ for images. So the largest computed
/// quotient q, the largest e and the least distance ℓ give the bound Δ ≤ q·(1 + γₙ₊ₘ₊₈) + 2e/ℓ·(1 +
/// γₙ₊₈). Subnormals do not matter: differences of f32 are at least 2⁻¹⁴⁹, and underflow is less
/// than a unit of the result.
///
/// # Errors
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if a vector is not finite, no two vectors
/// differ, or a result is not within 2⁻¹² to 2¹².
///
/// # Panics
/// If `vectors` is not a whole number of rows of n = `dimension` coordinates, or a projection has
/// another dimension.
///
/// # Cost
/// For each pair a difference of n coordinates, and for each projection one of m, on all cores.
pub fn pair_certificates(
    vectors: &[f32],
    dimension: usize,
    projections: &[&Projection],
) -> Result<Vec<Certificate>> {
    let n = dimension;
    for projection in projections {
        assert_eq!(projection.dimension, n, "projections of {n} coordinates");
    }
    check_finite("word vector", vectors, n)?;
    let words = vectors.len() / n;
    let wide: Vec<f64> = vectors.iter().map(|x| f64::from(*x)).collect();
    let images = projections.iter();
    let images = images.map(|own| (own.outputs(), own.integer_images(vectors)));
    let images: Vec<(usize, Vec<f64>)> = images.collect();
    let tiles: Vec<(usize, usize)> = (0..words.div_ceil(TILE))
        .flat_map(|i| (0..=i).map(move |j| (i, j)))
        .collect();
    let progress = Progress::new("comparing pairs of words", tiles.len() as u64);
    let none = || vec![Worst::NONE; projections.len()];
    let worst = tiles
        .into_par_iter()
        .map(|(i, j)| {
            let tile = |t: usize| t * TILE..((t + 1) * TILE).min(words);
            let mut all = none();
            for a in tile(i) {
                for b in tile(j).take_while(|b| *b < a) {
                    let before = squared_distance(&wide[a * n..][..n], &wide[b * n..][..n]);
                    for (worst, (m, images)) in all.iter_mut().zip(&images) {
                        let m = *m;
                        let after = squared_distance(&images[a * m..][..m], &images[b * m..][..m]);
                        worst.look((b, a), before, after);
                    }
                }
            }
            progress.advance(1);
            all
        })
        .reduce(none, |a, b| {
            a.into_iter().zip(b).map(|(a, b)| a.or(b)).collect()
        });
    let worst = worst.into_iter().zip(projections);
    let certificates = worst.map(|(worst, own)| own.certificate(worst, vectors));
    certificates.collect()
}

/// The extremes over some pairs.
#[derive(Clone, Copy)]
struct Worst {
    /// The largest ratio of squared distances, after over before projection.
    quotient: f64,
    pair: (usize, usize),
    /// The least squared distance before projection.
    least: f64,
    pairs: u64,
    equal: u64,
}

impl Worst {
    const NONE: Self = Self {
        quotient: -1.0,
        pair: (usize::MAX, usize::MAX),
        least: f64::INFINITY,
        pairs: 0,
        equal: 0,
    };

    fn look(&mut self, pair: (usize, usize), before: f64, after: f64) {
        self.pairs += 1;
        if before == 0.0 {
            self.equal += 1;
            return;
        }
        self.least = self.least.min(before);
        let quotient = after / before;
        if quotient > self.quotient {
            (self.quotient, self.pair) = (quotient, pair);
        }
    }

    /// Combines both; of equal quotients, the first pair wins in either order of arguments.
    fn or(self, other: Self) -> Self {
        let first = self.quotient > other.quotient
            || self.quotient == other.quotient && self.pair < other.pair;
        Self {
            least: self.least.min(other.least),
            pairs: self.pairs + other.pairs,
            equal: self.equal + other.equal,
            ..if first { self } else { other }
        }
    }
}

/// Σ‖v − mean‖², which is proportional to the sum of all squared distances.
fn spread(vectors: &[f32], dimension: usize) -> f64 {
    let centre = mean(vectors, dimension);
    let coordinates = vectors.iter().zip(centre.iter().cycle());
    coordinates.map(|(x, c)| f64::from(x - c).powi(2)).sum()
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| (a - b) * (a - b))
}

/// Σ f(aᵢ, bᵢ), in parallel partial sums that fit vector registers.
fn sum(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0f64; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f(*a, *b);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| f(*a, *b));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// A projection stretches distances by a factor for which noise cannot be scaled.
fn stretched(factor: f64) -> Error {
    Error::input(format!(
        "the projection stretches distances by up to {factor:e}; noise can be scaled to 2^-12 to \
         2^12; scale the projection"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 24;

    fn pca(vectors: &[f32], n: usize, m: usize) -> Result<Projection> {
        PrincipalDirections::fit(vectors, n)?.first(m)
    }

    fn pair_certificate(vectors: &[f32], projection: &Projection) -> Result<Certificate> {
        Ok(pair_certificates(vectors, N, &[projection])?[0])
    }

    fn real(sensitivity: Sensitivity) -> f64 {
        sensitivity.units() as f64 * 2f64.powi(-32)
    }

    /// Gaussian words; the last one equals the first.
    fn words(n: usize) -> Vec<f32> {
        let mut vectors: Vec<f32> = normal(n * N, 5).map(|x| x as f32).collect();
        vectors.extend_from_within(..N);
        vectors
    }

    /// The plain definition, in 128-bit rationals instead of floating point: entries are integers,
    /// and the coordinates of the words are multiples of 2⁻²⁰.
    fn squared_stretch(projection: &Projection, a: &[f32], b: &[f32]) -> (i128, i128) {
        let fixed = |x: &f32| (f64::from(*x) * 2f64.powi(20)) as i128;
        let difference: Vec<i128> = a.iter().zip(b).map(|(a, b)| fixed(a) - fixed(b)).collect();
        let rows = projection.rows.chunks_exact(projection.dimension);
        let product = |(entry, x): (&i16, &i128)| i128::from(*entry) * x;
        let images = rows.map(|row| row.iter().zip(&difference).map(product).sum::<i128>());
        let squares = difference.iter().map(|x| x * x);
        (images.map(|x| x * x).sum(), squares.sum())
    }

    #[test]
    fn certificates_are_upper_bounds_and_tight() {
        let unit = 2f64.powi(-20);
        let words = words(150).into_iter();
        let exact: Vec<f32> = words
            .map(|x| ((f64::from(x) / unit).round() * unit) as f32)
            .collect();
        for projection in [
            gaussian(N, 5, 1).unwrap(),
            orthonormal(N, 7, 2).unwrap(),
            pca(&exact, N, 3).unwrap(),
        ] {
            let found = pair_certificate(&exact, &projection).unwrap();
            assert_eq!((found.pairs, found.equal), (151 * 150 / 2, 1));
            let word = |i: usize| &exact[i * N..][..N];
            let mut worst = 0.0f64;
            for a in 0..151 {
                for b in 0..a {
                    let (after, before) = squared_stretch(&projection, word(a), word(b));
                    if before > 0 {
                        // Δ²·before ≥ after·2^(2·exponent), in integers except for the last bits of
                        // 2^64·Δ².
                        let units = i128::from(found.sensitivity.units());
                        let scaled = (units * units) >> (64 + 2 * projection.exponent);
                        let least = scaled.checked_mul(before).unwrap() + before;
                        assert!(least >= after, "{a} {b}");
                        worst = worst.max((after as f64 / before as f64).sqrt());
                    }
                }
            }
            worst *= 2f64.powi(projection.exponent);
            let bound = real(found.sensitivity);
            assert!(bound >= worst && bound < worst + 1e-8, "{bound} {worst}");
            assert!((found.maximum / worst - 1.0).abs() < 1e-12);
            let (a, b) = found.pair;
            let (after, before) = squared_stretch(&projection, word(a), word(b));
            let own = (after as f64 / before as f64).sqrt() * 2f64.powi(projection.exponent);
            assert!((own / worst - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn many_at_once_are_what_each_is() {
        let vectors = words(70);
        let all = [pca(&vectors, N, 3).unwrap(), gaussian(N, 9, 1).unwrap()];
        let both = pair_certificates(&vectors, N, &[&all[0], &all[1]]).unwrap();
        for (projection, found) in all.iter().zip(both) {
            assert_eq!(pair_certificate(&vectors, projection).unwrap(), found);
        }
    }

    #[test]
    fn close_words_far_from_the_origin_are_told_apart() {
        // Norms and inner products in f32 would lose the distance: 10⁶ and a step of 2⁻⁴.
        let mut vectors = vec![1e6f32; 2 * N];
        vectors[N] += 0.0625;
        vectors.extend(vec![-3.0; N]);
        let mut rows = vec![0.0; N];
        rows[0] = 1.0;
        let projection = quantise(&rows, N).unwrap();
        let found = pair_certificate(&vectors, &projection).unwrap();
        assert_eq!(found.pair, (0, 1));
        let bound = real(found.sensitivity);
        assert!((1.0..1.0 + 1e-6).contains(&bound), "{bound}");
    }

    #[test]
    fn bounds_for_every_vector_are_above_the_norm_and_tight_for_orthonormal_rows() {
        let vectors = words(100);
        for (projection, orthonormal) in [
            (gaussian(N, 5, 1).unwrap(), false),
            (orthonormal(N, 7, 2).unwrap(), true),
            (pca(&vectors, N, 3).unwrap(), true),
        ] {
            let every = real(projection.sensitivity().unwrap());
            let own = real(pair_certificate(&vectors, &projection).unwrap().sensitivity);
            let norm = projection.norm();
            assert!(own <= norm + 1e-9 && norm <= every, "{own} {norm} {every}");
            assert_eq!(orthonormal, every < 1.001, "{every}");
        }
        let all = pca(&vectors, N, N).unwrap().share(&vectors);
        let some = pca(&vectors, N, 5).unwrap().share(&vectors);
        assert!((all - 1.0).abs() < 1e-3 && some < 0.9, "{all} {some}");
    }

    #[test]
    fn rows_are_what_they_are_called() {
        let product = |projection: &Projection, i: usize, j: usize| {
            let row = |i: usize| projection.rows[i * N..][..N].iter().map(|x| f64::from(*x));
            let dot: f64 = row(i).zip(row(j)).map(|(a, b)| a * b).sum();
            dot * 4f64.powi(projection.exponent)
        };
        let pca = pca(&words(100), N, 9).unwrap();
        for projection in [orthonormal(N, N, 3).unwrap(), pca] {
            for i in 0..projection.outputs() {
                for j in 0..=i {
                    let error = product(&projection, i, j) - f64::from(i == j);
                    assert!(error.abs() < 1e-3, "{i} {j}");
                }
            }
        }
        let wide = gaussian(N, 1000, 4).unwrap();
        let squares: f64 = (0..1000).map(|i| product(&wide, i, i)).sum();
        // Nm squared Gaussians of variance 1/m.
        assert!((squares / N as f64 - 1.0).abs() < 0.05, "{squares}");
        assert_eq!(gaussian(N, 5, 1).unwrap(), gaussian(N, 5, 1).unwrap());
        assert_ne!(gaussian(N, 5, 1).unwrap(), gaussian(N, 5, 2).unwrap());
    }

    #[test]
    fn the_first_direction_is_where_words_differ() {
        let mut vectors = words(200);
        for word in vectors.chunks_exact_mut(N) {
            word[3] *= 50.0;
        }
        let projection = pca(&vectors, N, 1).unwrap();
        let images = projection.apply(&vectors);
        for (word, image) in vectors.chunks_exact(N).zip(images) {
            assert!((word[3] - image).abs() < 2.0, "{} {image}", word[3]);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let refused = |error: Error, part: &str| {
            let error = error.to_string();
            assert!(error.contains(part), "{error}");
        };
        for m in [0, N + 1] {
            refused(orthonormal(N, m, 1).unwrap_err(), "allowed are 1 to 24");
            refused(pca(&words(9), N, m).unwrap_err(), "allowed are 1 to 24");
        }
        refused(gaussian(N, 1025, 1).unwrap_err(), "1025");
        for bad in [f64::NAN, f64::INFINITY] {
            let error = quantise(&[1.0, 2.0, 3.0, bad], 2).unwrap_err();
            refused(error, "row 1 has a coordinate that is NaN");
        }
        for scale in [0.0, 1e-30, 1e30] {
            refused(quantise(&[scale; 4], 2).unwrap_err(), "scale it");
        }
        let projection = gaussian(N, 3, 1).unwrap();
        let mut vectors = words(3);
        vectors[2 * N + 1] = f32::NAN;
        let error = pair_certificate(&vectors, &projection).unwrap_err();
        refused(error, "word vector 2");
        let error = pair_certificate(&[1.5; 3 * N], &projection).unwrap_err();
        refused(error, "no two of 3 word vectors");
    }
}
