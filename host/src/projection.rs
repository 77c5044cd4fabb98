//! Linear maps to fewer coordinates, and what they do to the distances of a vocabulary.
//!
//! A projection is drawn or computed in public, rounded to the integers of a pack, and from then on nothing
//! but those integers counts: bounds hold for what a device multiplies with.

use nalgebra::DMatrix;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::Serialize;
use undertone_core::laplace::{MAX_DIMENSION, Sensitivity};
use undertone_core::rng::PublicRng;

use crate::error::{Error, Result};
use crate::packer::file::{ProjectionData, limit};
use crate::progress::Progress;
use crate::vectors::principal;

/// Vectors that are compared with as many others at a time: what fits the cache of a core.
const TILE: usize = 64;

/// `[m][n]` independent Gaussians of variance 1/m, as published by Feyisetan and Kasiviswanathan (2021).
///
/// Its largest singular value is about 1 + √(n/m): it lengthens some vectors by far more than it does a given
/// one.
///
/// # Errors
/// [`Error::PackLimit`] if `m` is not 1 to 1024.
pub fn gaussian(n: usize, m: usize, seed: u64) -> Result<ProjectionData> {
    limit("dimensions of a projection", m, 1, MAX_DIMENSION)?;
    let deviation = (m as f64).sqrt().recip();
    let rows: Vec<f64> = normal(n * m, seed).map(|x| x * deviation).collect();
    quantise(&rows, n)
}

/// `[m][n]`: `m` orthonormal rows that span a uniformly random subspace.
///
/// # Errors
/// [`Error::PackLimit`] if `m` is not 1 to `n`, 1024 at most.
pub fn orthonormal(n: usize, m: usize, seed: u64) -> Result<ProjectionData> {
    limit("dimensions of a projection", m, 1, n.min(MAX_DIMENSION))?;
    let columns = DMatrix::from_iterator(n, m, normal(n * m, seed));
    // The columns of Q, one after the other, are the rows of the projection.
    quantise(columns.qr().q().as_slice(), n)
}

/// `[m][n]`: the first `m` principal directions of public `vectors`, `[words][n]` row-major.
///
/// # Errors
/// [`Error::PackLimit`] if `m` is not 1 to `n`, 1024 at most; [`Error::NotFiniteRow`] if a vector is not
/// finite.
///
/// # Panics
/// If `vectors` is not a whole number of rows.
pub fn pca(vectors: &[f32], n: usize, m: usize) -> Result<ProjectionData> {
    limit("dimensions of a projection", m, 1, n.min(MAX_DIMENSION))?;
    finite(vectors, n)?;
    let (_, columns) = principal(vectors, n, m);
    quantise(columns.as_slice(), n)
}

/// `n` independent standard Gaussians.
fn normal(n: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut rng = PublicRng::new(seed);
    (0..n).map(move |_| StandardNormal.sample(&mut rng))
}

/// Rounds `rows`, `[m][n]` row-major, to 16 bits under the largest common power of two.
///
/// # Errors
/// [`Error::NotFiniteRow`] if an entry is NaN or infinite; [`Error::ZeroProjection`] if all of them vanish.
///
/// # Panics
/// If `rows` is not a whole number of rows.
pub fn quantise(rows: &[f64], n: usize) -> Result<ProjectionData> {
    assert!(n > 0 && rows.len().is_multiple_of(n), "rows of {n} entries");
    if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFiniteRow {
            what: "the projection's row",
            row: at / n,
        });
    }
    let largest = rows.iter().fold(0f64, |most, x| most.max(x.abs()));
    let fits = |exponent: i32| largest * 2f64.powi(-exponent) <= f64::from(i16::MAX);
    let exponent = EXPONENTS.clone().find(|exponent| fits(*exponent));
    let exponent = exponent.ok_or(Error::ProjectionScale { largest })?;
    let rounded = rows
        .iter()
        .map(|x| (x * 2f64.powi(-exponent)).round() as i16);
    let data = ProjectionData {
        dimension: n,
        exponent,
        rows: rounded.collect(),
    };
    if data.rows.iter().all(|entry| *entry == 0) {
        return Err(Error::ProjectionScale { largest });
    }
    Ok(data)
}
