//! Private embedding vectors: clamp, project, add noise.
//!
//! [`VectorMechanism`] releases one vector with metric differential privacy: the closer two
//! embeddings, the harder they are to tell apart. A [`Projection`] from the pack makes the vector
//! smaller, and with it the noise. The device computes the projection's sensitivity from its
//! integers.

use rand_core::Rng;
use thiserror::Error;
use zerocopy::little_endian::I16;
use zeroize::Zeroize;

use crate::checked::chunk_size;
use crate::epsilon::Epsilon;
use crate::integers::at_most;
use crate::kernels::Backend;
use crate::laplace::{FixedPoint, Floats, Laplace, LaplaceError, MAX_DIMENSION, Sensitivity};
use crate::ledger::{Grant, WrongUnit};
use crate::pack::format::{MAX_ROWS, MAX_WIDTH, PROJECTION_TAG, ProjectionHead};
use crate::pack::wire::{Arrays, PackError, exponent_within, within, zero};
use crate::release::VectorRelease;
use crate::rng::{Entropy, ReleaseStream};
use crate::unit::Unit;

pub use crate::laplace::Noise;

const _: () = assert!(MAX_ROWS as usize == MAX_DIMENSION);

/// A public linear map Φ from d to m coordinates, a view into a pack.
///
/// It is untrusted like the rest of a pack: the noise fits any numbers.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    dimension: usize,
    exponent: i32,
    bound_exponent: i32,
    pack_id: [u8; 8],
    /// `[m][dimension]`.
    rows: &'a [I16],
}

impl<'a> Projection<'a> {
    pub(crate) fn parse(
        section: &'a [u8],
        dimension: u32,
        pack_id: [u8; 8],
    ) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<ProjectionHead>(PROJECTION_TAG, section)?;
        let dimension = within("number of projected coordinates", dimension, 1, MAX_WIDTH)?;
        let rows = within("rows of the projection", head.row_count.get(), 1, MAX_ROWS)?;
        zero("reserved projection field", head.reserved.get())?;
        let parsed = Self {
            dimension: dimension as usize,
            exponent: exponent_within(head.exponent.get(), -24, 0)?,
            bound_exponent: exponent_within(head.bound_exponent.get(), -24, 24)?,
            pack_id,
            rows: arrays.next(rows as usize, dimension as usize)?,
        };
        arrays.finish()?;
        Ok(parsed)
    }

    /// d, the number of coordinates of an embedding, `1..=1024`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// m, the number of coordinates after the projection, `1..=1024`.
    pub fn row_count(&self) -> usize {
        self.rows().len()
    }

    /// The rows, `[m]` of `[dimension]` integers.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [I16]> + use<'a> {
        self.rows.chunks_exact(chunk_size(self.dimension))
    }

    /// An entry of Φ is its integer times 2^exponent; `-24..=0`.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The projection is for embeddings with coordinates within ±2^bound_exponent; `-24..=24`.
    pub fn bound_exponent(&self) -> i32 {
        self.bound_exponent
    }

    /// Δ with ‖Φx − Φx'‖ ≤ Δ·‖x − x'‖ for all x, x': √(max row sum of |ΦΦᵀ|), rounded up, and at
    /// least the smallest sensitivity. `None` if it is above the largest, 2¹².
    ///
    /// ‖Φ‖₂² is the largest eigenvalue of ΦΦᵀ, which is at most the largest row sum of absolute
    /// values (Gershgorin 1931). For orthonormal rows it is 1 up to their rounding.
    ///
    /// # Cost
    /// m²·d multiplications of 16 bits: 3 million for 64 × 768, a billion for 1024 × 1024.
    pub fn sensitivity(&self) -> Option<Sensitivity> {
        // |product| ≤ 2^30, at most 2^10 of them, at most 2^10 sums: below 2^50 + 1.
        let dot = |a: &[I16], b: &[I16]| -> u64 {
            let products = a.iter().zip(b);
            products
                .map(|(a, b)| i64::from(i32::from(a.get()) * i32::from(b.get())))
                .sum::<i64>()
                .unsigned_abs()
        };
        let row_sum = |row: &[I16]| self.rows().map(|other| dot(row, other)).sum::<u64>();
        let largest = self.rows().map(row_sum).max().unwrap_or(0);
        // Δ in units of 2^-32 is the root of 4^(32 + exponent) times that, below 2^115.
        let shift = 2 * (32 + self.exponent.clamp(-24, 0)).unsigned_abs();
        let square = u128::from(largest) << shift;
        let root = square.isqrt();
        let units = root + u128::from(root * root < square);
        let units = u64::try_from(units).ok()?;
        Sensitivity::from_units(units.max(Sensitivity::MIN.units()))
    }

    /// Φx for [`TOGETHER`] rows, in the units of x: exactly ⌊row·x·2^exponent⌋, clamped to
    /// ±`limit`. Missing rows give 0.
    fn coordinates(
        &self,
        rows: [&[I16]; TOGETHER],
        x: impl Iterator<Item = i64>,
        limit: i64,
    ) -> [i64; TOGETHER] {
        // With x = 2^32·high + low, |high| ≤ 2^29 and 0 ≤ low < 2^32, sums of 2^10 products with
        // 16-bit integers stay below 2^54 and 2^57.
        let mut sums = [(0i64, 0i64); TOGETHER];
        let mut weights = rows.map(<[I16]>::iter);
        for x in x {
            for ((high, low), weight) in sums.iter_mut().zip(&mut weights) {
                let weight = weight.next().map_or(0, |weight| i64::from(weight.get()));
                *high = high.wrapping_add(weight.wrapping_mul(x >> 32));
                *low = low.wrapping_add(weight.wrapping_mul(x & 0xffff_ffff));
            }
        }
        sums.map(|(high, low)| {
            let sum = (i128::from(high) << 32) + i128::from(low);
            let shifted = sum >> self.exponent.clamp(-24, 0).unsigned_abs();
            // At most 2^86. Not `clamp`, which could become a branch.
            let shifted = at_most(shifted, limit.into());
            (-at_most(-shifted, limit.into())) as i64
        })
    }
}

/// Rows of a projection that are multiplied with a coordinate at a time, because converting the
/// coordinate takes longer than a product.
const TOGETHER: usize = 4;

/// The mechanism that releases a private vector, with its public parameters.
///
/// # Guarantee
/// Metric differential privacy for the Euclidean distance of embeddings: for all x, x' and every
/// set S of releases, Pr\[A(x) ∈ S\] ≤ e^(ε·(‖x−x'‖ + τ) + κ)·Pr\[A(x') ∈ S\] + δ(x, x').
/// - [`Noise::Laplace`]: κ ≤ 2⁻²³ and δ(x, x') = (1 + e^(ε·(‖x−x'‖ + τ) + κ))·2⁻⁶⁰, see
///   [`laplace`](crate::laplace).
/// - [`Noise::DiscreteLaplace`]: κ = 0, δ = 0.
///
/// τ is the step of the input's fixed point, √d·2^−F, and 2⁻⁴⁰ of the grid: with a projection
/// √d·2^−F + √m·2^−F/Δ. ε is per unit of distance: over a distance of r the promise is ε·r, which
/// can exceed 20 for unrelated embeddings. Several releases of the same embedding add up.
///
/// x is the embedding with coordinates clamped to ±2^`bound_exponent`, and 0 if they are not
/// finite. Clamping shortens distances, so the promise also holds for the original embeddings.
///
/// # Leaks
/// Metadata: that a release happened, when, with which public parameters, and how long it took; see
/// [`laplace`](crate::laplace).
///
/// The caller ensures that:
/// - The projection, the bound, ε and the noise are chosen without looking at private embeddings.
/// - The entropy source keeps its promise, and nobody else reads the memory of the process.
///
/// # Source
/// Fernandes, Dras and McIver 2019; Feyisetan and Kasiviswanathan 2021 (PRIVEMB). Deviations: a
/// grid instead of floating point; a sensitivity that is certified for the matrix in use and for
/// all vectors, instead of one that holds with some probability over drawing the matrix.
#[derive(Clone, Copy, Debug)]
pub struct VectorMechanism<'a> {
    laplace: Laplace,
    dimension: usize,
    bound_exponent: i32,
    fixed: FixedPoint,
    projected: Option<Projected<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Projected<'a> {
    projection: Projection<'a>,
    /// The coordinates after the projection lie within ±2^bound_exponent.
    bound_exponent: i32,
}

impl<'a> VectorMechanism<'a> {
    /// Noise on the embedding itself, of `dimension` coordinates within ±2^`bound_exponent`.
    ///
    /// # Errors
    /// [`VectorError::Laplace`] for a dimension outside 1..=1024, an ε below 0.1 or a bound outside
    /// 2⁻⁴⁰ to 2²¹ steps of the grid.
    pub fn new(
        dimension: u32,
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
    ) -> Result<Self, VectorError> {
        let laplace = Laplace::with_noise(noise, dimension, epsilon, Sensitivity::ONE)?;
        Ok(Self {
            laplace,
            dimension: dimension as usize,
            bound_exponent,
            fixed: laplace.fixed_point(bound_exponent)?,
            projected: None,
        })
    }

    /// Noise on the projected embedding. The embedding's coordinates lie within
    /// ±2^`bound_exponent`, for instance [`Projection::bound_exponent`]. Computes
    /// [`Projection::sensitivity`].
    ///
    /// # Errors
    /// [`VectorError::Laplace`] as for [`new`](VectorMechanism::new); [`VectorError::Sensitivity`]
    /// if the projection stretches distances by more than 2¹².
    pub fn projected(
        projection: Projection<'a>,
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
    ) -> Result<Self, VectorError> {
        let sensitivity = projection.sensitivity().ok_or(VectorError::Sensitivity)?;
        let laplace =
            Laplace::with_noise(noise, projection.row_count() as u32, epsilon, sensitivity)?;
        Ok(Self {
            laplace,
            dimension: projection.dimension,
            bound_exponent,
            fixed: laplace.fixed_point(bound_exponent)?,
            projected: Some(Projected {
                projection,
                bound_exponent: projected_bound(&laplace, projection.dimension, bound_exponent),
            }),
        })
    }

    /// d, the number of coordinates of an embedding.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The noise, with m, ε, sensitivity and grid.
    pub fn laplace(&self) -> &Laplace {
        &self.laplace
    }

    /// The length of a release in bytes.
    pub fn release_bytes(&self) -> usize {
        VectorRelease::bytes(self.laplace.dimension())
    }

    /// Draws a [`VectorRelease`] into `out` and returns its length,
    /// [`release_bytes`](VectorMechanism::release_bytes). See [`VectorMechanism`] for the guarantee
    /// and its premises.
    ///
    /// # Shapes
    /// `grant`: one of the mechanism's ε. `embedding`: `[dimension]` f32, any bits. `out`: at least
    /// `release_bytes` bytes.
    ///
    /// # Errors
    /// [`VectorError::Unit`] and [`VectorError::Grant`] for the wrong grant,
    /// [`VectorError::Length`], [`VectorError::Buffer`], [`VectorError::Entropy`]. Nothing is drawn
    /// or written, the grant is spent. No error depends on a coordinate.
    ///
    /// # Cost
    /// 32 bytes of entropy; words, operations and stack as for
    /// [`hazmat::perturb`](crate::hazmat::perturb); m·d multiplications with a projection.
    pub fn release<E: Entropy + ?Sized>(
        &self,
        grant: Grant,
        embedding: &[f32],
        entropy: &mut E,
        out: &mut [u8],
    ) -> Result<usize, VectorError> {
        let found = grant.spend(Unit::Vector).map_err(VectorError::Unit)?;
        let expected = self.laplace.epsilon();
        if expected != found {
            return Err(VectorError::Grant { expected, found });
        }
        self.check_length(embedding)?;
        let (needed, found) = (self.release_bytes(), out.len());
        let Some(out) = out.get_mut(..needed) else {
            return Err(VectorError::Buffer { needed, found });
        };
        let mut stream =
            ReleaseStream::open(Backend::best(), entropy).map_err(|_| VectorError::Entropy)?;
        let projection = self.projected.map(|projected| projected.projection);
        let pack_id = projection.map_or([0; 8], |projection| projection.pack_id);
        let steps = VectorRelease::write_head(&self.laplace, pack_id, out);
        self.draw_steps(embedding, &mut stream, steps)?;
        Ok(needed)
    }

    /// Draws the coordinates of a release into `out`, which is a part of the release: another
    /// buffer would take 4 KiB of stack.
    pub(crate) fn draw_steps<R: Rng + ?Sized, T: From<i32>>(
        &self,
        embedding: &[f32],
        rng: &mut R,
        out: &mut [T],
    ) -> Result<(), VectorError> {
        self.check_length(embedding)?;
        self.laplace.check_length(out.len())?;
        let Some(projected) = self.projected else {
            let floats = Floats {
                left: embedding,
                fixed: self.fixed,
            };
            self.laplace
                .add_noise(floats, self.bound_exponent, rng, out);
            return Ok(());
        };
        let Projected {
            projection,
            bound_exponent,
        } = projected;
        let fixed = || embedding.iter().map(|x| self.fixed.convert(*x));
        let bits = bound_exponent + self.laplace.fraction_bits() as i32;
        let limit = 1i64 << bits.clamp(0, 61);
        // Coordinates are converted again for each group of rows: storing them takes 8 KiB of
        // stack.
        let mut rows = projection.rows();
        let mut ready = [0; TOGETHER];
        let mut at = TOGETHER;
        // `from_fn`: an iterator of known length computes that length by a division.
        let coordinates = core::iter::from_fn(|| {
            if at >= TOGETHER {
                // No rows follow the last group.
                let group = core::array::from_fn(|_| rows.next().unwrap_or(&[]));
                ready = projection.coordinates(group, fixed(), limit);
                at = 0;
            }
            at += 1;
            ready.get(at - 1).copied()
        });
        self.laplace
            .add_noise(coordinates, bound_exponent, rng, out);
        ready.zeroize();
        Ok(())
    }

    fn check_length(&self, embedding: &[f32]) -> Result<(), VectorError> {
        let (expected, found) = (self.dimension, embedding.len());
        if found != expected {
            return Err(VectorError::Length { expected, found });
        }
        Ok(())
    }
}

/// The exponent of a bound on |Φx| ≤ Δ·B·√d, at most the largest exponent of the grid. Coordinates
/// are clamped at this bound.
fn projected_bound(laplace: &Laplace, dimension: usize, bound_exponent: i32) -> i32 {
    let units = u128::from(laplace.sensitivity().units());
    // Below 2^99.
    let square = units * units * dimension as u128;
    let mut bound = bound_exponent;
    let mut limit = 1u128 << 64;
    while limit < square && bound < laplace.largest_bound_exponent() {
        bound += 1;
        limit <<= 2;
    }
    bound
}

/// Why an embedding was refused. Depends on sizes, public parameters and the entropy source, never
/// on a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The noise cannot be drawn with these parameters.
    #[error(transparent)]
    Laplace(#[from] LaplaceError),
    /// The projection stretches distances by more than 2¹².
    #[error(
        "the projection stretches distances by more than {}; scale it down",
        Sensitivity::MAX
    )]
    Sensitivity,
    /// A grant for another unit.
    #[error("not the right grant: {0}")]
    Unit(WrongUnit),
    /// A grant of another ε than the mechanism's.
    #[error("a grant of epsilon {found}, but the mechanism spends {expected}")]
    Grant {
        /// The ε of the mechanism.
        expected: Epsilon,
        /// The ε of the grant.
        found: Epsilon,
    },
    /// An embedding of the wrong length.
    #[error("an embedding of {found} coordinates, but {expected} are needed")]
    Length {
        /// Coordinates needed.
        expected: usize,
        /// Coordinates given.
        found: usize,
    },
    /// The buffer is too short for the release.
    #[error("a buffer of {found} bytes, but the release has {needed}")]
    Buffer {
        /// Bytes needed.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
    /// The entropy source failed or returned only zeroes.
    #[error("the entropy source failed; nothing was released, try again with a new grant")]
    Entropy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PublicRng;
    use std::vec::Vec;

    #[test]
    fn projections_are_exact() {
        let mut rng = PublicRng::new(5);
        for exponent in [-24, -13, 0] {
            for extreme in [false, true] {
                let (mut row, mut x) = ([i16::MIN; 1024], [-(1i64 << 61); 1024]);
                if !extreme {
                    row.fill_with(|| rng.next_u32() as i16);
                    x.fill_with(|| rng.next_u64() as i64 >> 2);
                }
                let products = row.iter().zip(&x);
                let exact: i128 = products.map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
                let rows: Vec<I16> = row.iter().map(|x| I16::new(*x)).collect();
                let projection = Projection {
                    dimension: 1024,
                    exponent,
                    bound_exponent: 0,
                    pack_id: [9; 8],
                    rows: &rows,
                };
                let limit = 1 << 61;
                let expected = (exact >> -exponent).clamp(-i128::from(limit), limit.into());
                let group = [&rows, &[][..], &rows, &[]];
                let found = projection.coordinates(group, x.iter().copied(), limit);
                assert_eq!(found.map(i128::from), [expected, 0, expected, 0]);
            }
        }
    }
}
