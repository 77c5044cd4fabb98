//! Private embedding vectors: clamp, project, add noise.
//!
//! [`Embedding`] releases one vector with metric differential privacy: the closer two embeddings, the
//! harder they are to tell apart. A [`Projection`] from the pack makes the vector, and with it the noise,
//! smaller; its sensitivity is computed on the device from the very integers that are used.
//! [`Truncation`] is the mean of sentence vectors with noise on each coordinate, for comparison.

use core::fmt;

use rand_core::Rng;
use zerocopy::little_endian::I16;
use zeroize::Zeroize;

use crate::epsilon::Epsilon;
use crate::laplace::{FixedPoint, Laplace, LaplaceError, MAX_DIMENSION, Sensitivity};
use crate::pack::format::{MAX_ROWS, MAX_WIDTH, PROJECTION_TAG, ProjectionHead};
use crate::pack::{Arrays, PackError, exponent_within, within, zero};
use crate::release::VectorRelease;
use crate::rng::{Entropy, ReleaseStream};

pub use crate::laplace::Noise;

/// A public linear map Φ from d to m coordinates, a view into a pack.
///
/// Untrusted like the rest of a pack: whatever the numbers, the noise fits them.
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
        let rows = within("rows of the projection", head.rows.get(), 1, MAX_ROWS)?;
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

    /// m, the number of coordinates behind the projection, `1..=1024`.
    pub fn n_rows(&self) -> usize {
        self.rows().len()
    }

    /// The rows, `[m]` of `[dimension]` integers.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [I16]> + use<'a> {
        // Parsing made sure of 1; said again, so that no panic is compiled in.
        self.rows.chunks_exact(self.dimension.max(1))
    }

    /// An entry of Φ is its integer times 2^(this), `-24..=0`.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The coordinates of the embeddings that the projection is meant for lie within ±2^(this), `-24..=24`.
    pub fn bound_exponent(&self) -> i32 {
        self.bound_exponent
    }

    /// Δ with ‖Φx − Φx'‖ ≤ Δ·‖x − x'‖ for all x, x': √(max row sum of |ΦΦᵀ|), rounded up; at least the
    /// smallest sensitivity, also for rows of zeroes. `None` if it is above the largest, 2¹².
    ///
    /// ‖Φ‖₂² is the largest eigenvalue of ΦΦᵀ, which no row sum of absolute values can be below for all
    /// rows (Gershgorin 1931). For orthonormal rows it is 1 up to their rounding.
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

    /// Φx rounded down, in the units of x: exactly ⌊row·x·2^exponent⌋, clamped to ±`limit`.
    fn coordinate(&self, row: &[I16], x: &[i64], limit: i64) -> i64 {
        // With x = 2^32·high + low, |high| ≤ 2^29 and 0 ≤ low < 2^32, sums of 2^10 products with 16-bit
        // integers stay below 2^54 and 2^57.
        let (high, low) = row
            .iter()
            .zip(x)
            .fold((0i64, 0i64), |(high, low), (weight, x)| {
                let weight = i64::from(weight.get());
                (
                    high.wrapping_add(weight.wrapping_mul(x >> 32)),
                    low.wrapping_add(weight.wrapping_mul(x & 0xffff_ffff)),
                )
            });
        let sum = (i128::from(high) << 32) + i128::from(low);
        let shifted = sum >> self.exponent.clamp(-24, 0).unsigned_abs();
        shifted.clamp(-i128::from(limit), limit.into()) as i64
    }
}

/// The mechanism that releases a private embedding, with its public parameters.
///
/// # Guarantee
/// Metric differential privacy for the Euclidean distance of embeddings: for all x, x' and every set S of
/// releases, Pr\[A(x) ∈ S\] ≤ e^(ε·(‖x−x'‖ + τ) + κ)·Pr\[A(x') ∈ S\] + δ(x, x').
/// - [`Noise::Laplace`]: κ ≤ 2⁻²³ and δ(x, x') = (1 + e^(ε·(‖x−x'‖ + τ) + κ))·2⁻⁶⁰, see
///   [`laplace`](crate::laplace).
/// - [`Noise::DiscreteLaplace`]: κ = 0, δ = 0.
///
/// τ is the step of the input's fixed point, √d·2^−F, and 2⁻⁴⁰ of the grid: with a projection
/// √d·2^−F + √m·2^−F/Δ. ε is per unit of distance: over a distance of r, what is promised is ε·r, which for
/// unrelated embeddings may well be above 20. Several releases of the same embedding add up.
///
/// x is the embedding with coordinates clamped to ±2^`bound_exponent`, those that are not finite 0. Clamping
/// shortens distances, so the promise holds for the embeddings as they are.
///
/// # Assumptions
/// - The projection, the bound, ε and the noise are chosen without looking at private embeddings.
/// - The entropy source is what it promises to be, and the memory of the process is not read by others.
///
/// # Leaks
/// That there is a release, when, and its public parameters. Time as in [`laplace`](crate::laplace).
///
/// # Source
/// Fernandes, Dras and McIver 2019; Feyisetan and Kasiviswanathan 2021 (PRIVEMB). Deviations: a grid
/// instead of floating point; a sensitivity that is certified for the matrix in use and for all vectors instead
/// of one that holds with some probability over drawing the matrix.
#[derive(Clone, Copy, Debug)]
pub struct Embedding<'a> {
    laplace: Laplace,
    dimension: usize,
    bound_exponent: i32,
    fixed: FixedPoint,
    projected: Option<Projected<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Projected<'a> {
    projection: Projection<'a>,
    /// The coordinates behind the projection lie within ±2^(this).
    bound_exponent: i32,
}

impl<'a> Embedding<'a> {
    /// Noise on the embedding itself, of `dimension` coordinates within ±2^`bound_exponent`.
    ///
    /// # Errors
    /// [`EmbeddingError::Laplace`] for a dimension outside 1..=1024, an ε below 0.1 or a bound that does
    /// not fit the grid (above 2²¹ or below 2⁻⁴⁰ steps).
    pub fn new(
        dimension: u32,
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
    ) -> Result<Self, EmbeddingError> {
        let laplace = Laplace::with_noise(noise, dimension, epsilon, Sensitivity::ONE)?;
        Ok(Self {
            laplace,
            dimension: dimension as usize,
            bound_exponent,
            fixed: laplace.fixed_point(bound_exponent)?,
            projected: None,
        })
    }

    /// Noise on the projected embedding; the embedding's coordinates lie within ±2^`bound_exponent`, for
    /// instance [`Projection::bound_exponent`].
    ///
    /// # Errors
    /// Those of [`new`](Embedding::new); [`EmbeddingError::Sensitivity`] if the projection stretches
    /// distances by more than 2¹².
    ///
    /// # Cost
    /// That of [`Projection::sensitivity`].
    pub fn projected(
        projection: Projection<'a>,
        bound_exponent: i32,
        noise: Noise,
        epsilon: Epsilon,
    ) -> Result<Self, EmbeddingError> {
        let sensitivity = projection
            .sensitivity()
            .ok_or(EmbeddingError::Sensitivity)?;
        let laplace = Laplace::with_noise(noise, projection.n_rows() as u32, epsilon, sensitivity)?;
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

    /// The noise: m, ε, sensitivity and grid.
    pub fn laplace(&self) -> &Laplace {
        &self.laplace
    }

    /// The length of a release in bytes.
    pub fn release_bytes(&self) -> usize {
        VectorRelease::bytes(self.laplace.dimension())
    }

    /// Draws a release, a [`VectorRelease`], into `out`; returns its length,
    /// [`release_bytes`](Embedding::release_bytes).
    ///
    /// The guarantee, what it assumes and what it leaks are those of [`Embedding`].
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; `out`: at least `release_bytes` bytes.
    ///
    /// # Errors
    /// [`EmbeddingError::Length`], [`EmbeddingError::Buffer`], [`EmbeddingError::Entropy`]: nothing was
    /// drawn, nothing is written. None depends on a coordinate.
    ///
    /// # Cost
    /// 32 bytes of entropy, and the words, operations and stack of [`Laplace::perturb`] with 4 KiB of stack
    /// on top; a projection m·d multiplications and 8 KiB.
    pub fn release<E: Entropy + ?Sized>(
        &self,
        embedding: &[f32],
        entropy: &mut E,
        out: &mut [u8],
    ) -> Result<usize, EmbeddingError> {
        self.check_length(embedding)?;
        let (needed, found) = (self.release_bytes(), out.len());
        let Some(out) = out.get_mut(..needed) else {
            return Err(EmbeddingError::Buffer { needed, found });
        };
        let mut stream = ReleaseStream::open(entropy).map_err(|_| EmbeddingError::Entropy)?;
        let mut buffer = [0; MAX_DIMENSION];
        let steps = buffer
            .get_mut(..self.laplace.dimension() as usize)
            .unwrap_or_default();
        self.draw(embedding, &mut stream, steps)?;
        let projection = self.projected.map(|projected| projected.projection);
        let pack_id = projection.map_or([0; 8], |projection| projection.pack_id);
        VectorRelease::write(&self.laplace, pack_id, steps, out);
        Ok(needed)
    }

    /// Draws the coordinates of a release, in steps of the grid.
    ///
    /// **The engine of [`release`](Embedding::release) with randomness as an argument**, for simulation, tests
    /// and experiments. It gives no release.
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; `out`: `[m]`.
    ///
    /// # Errors
    /// [`EmbeddingError::Length`] for another length of the embedding; [`EmbeddingError::Laplace`] of `out`.
    pub fn draw<R: Rng + ?Sized>(
        &self,
        embedding: &[f32],
        rng: &mut R,
        out: &mut [i32],
    ) -> Result<(), EmbeddingError> {
        self.check_length(embedding)?;
        let Some(projected) = self.projected else {
            let drawn = self
                .laplace
                .perturb(embedding, self.bound_exponent, rng, out);
            return drawn.map_err(EmbeddingError::Laplace);
        };
        self.laplace.check_length(out.len())?;
        let mut fixed = [0i64; MAX_WIDTH as usize];
        for (fixed, x) in fixed.iter_mut().zip(embedding) {
            *fixed = self.fixed.of(*x);
        }
        let Projected {
            projection,
            bound_exponent,
        } = projected;
        let bits = bound_exponent + self.laplace.fraction_bits() as i32;
        let limit = 1i64 << bits.clamp(0, 61);
        let coordinates = projection
            .rows()
            .map(|row| projection.coordinate(row, &fixed, limit));
        self.laplace
            .add_noise(coordinates, bound_exponent, rng, out);
        fixed.zeroize();
        Ok(())
    }

    fn check_length(&self, embedding: &[f32]) -> Result<(), EmbeddingError> {
        if embedding.len() == self.dimension {
            Ok(())
        } else {
            Err(EmbeddingError::Length {
                expected: self.dimension,
                found: embedding.len(),
            })
        }
    }
}

/// The exponent of a bound on |Φx| ≤ Δ·B·√d, as far as the grid goes: beyond 2²¹ steps coordinates are
/// clamped.
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

/// Why an embedding was refused. Depends on sizes, public parameters and the entropy source, never on a
/// coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddingError {
    /// The parameters of the noise.
    Laplace(LaplaceError),
    /// The projection stretches distances by more than 2¹².
    Sensitivity,
    /// An embedding of the wrong length.
    Length {
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// Less room than a release takes.
    Buffer {
        /// Bytes needed.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
    /// The entropy source failed or returned nothing but zeroes.
    Entropy,
}

impl From<LaplaceError> for EmbeddingError {
    fn from(error: LaplaceError) -> Self {
        Self::Laplace(error)
    }
}

impl fmt::Display for EmbeddingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Laplace(error) => error.fmt(f),
            Self::Sensitivity => write!(
                f,
                "the projection stretches distances by more than {}; scale it down",
                Sensitivity::MAX
            ),
            Self::Length { expected, found } => {
                write!(
                    f,
                    "an embedding of {found} coordinates, but {expected} are needed"
                )
            }
            Self::Buffer { needed, found } => {
                write!(f, "room for {found} bytes, but the release has {needed}")
            }
            Self::Entropy => {
                f.write_str("the entropy source failed; nothing was released, try again")
            }
        }
    }
}

impl core::error::Error for EmbeddingError {}
