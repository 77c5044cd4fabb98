//! Private embedding vectors: clamp, project, add noise.
//!
//! [`VectorMechanism`] releases one vector with metric differential privacy: the closer two embeddings, the
//! harder they are to tell apart. A [`Projection`] from the pack makes the vector, and with it the noise,
//! smaller; its sensitivity is computed on the device from the very integers that are used.

use core::fmt;

use rand_core::Rng;
use zerocopy::little_endian::I16;
use zeroize::Zeroize;

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
        // Parsing made sure of 1. The compiler does not know, and would keep a panic.
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

    /// Φx rounded down, in the units of x, for [`TOGETHER`] rows: exactly ⌊row·x·2^exponent⌋, clamped to ±`limit`.
    /// Missing rows give 0.
    fn coordinates(
        &self,
        rows: [&[I16]; TOGETHER],
        x: impl Iterator<Item = i64>,
        limit: i64,
    ) -> [i64; TOGETHER] {
        // With x = 2^32·high + low, |high| ≤ 2^29 and 0 ≤ low < 2^32, sums of 2^10 products with 16-bit
        // integers stay below 2^54 and 2^57.
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
            // At most 2^86, so the high half tells. Not `clamp`, which could become a branch.
            let shifted = at_most(shifted, limit.into());
            (-at_most(-shifted, limit.into())) as i64
        })
    }
}

/// Rows of a projection that are multiplied with a coordinate at a time: converting it takes longer than a product.
const TOGETHER: usize = 4;

/// The mechanism that releases a private vector, with its public parameters.
///
/// # Guarantee
/// Metric differential privacy for the Euclidean distance of embeddings: for all x, x' and every set S of
/// releases, Pr\[A(x) ∈ S\] ≤ e^(ε·(‖x−x'‖ + τ) + κ)·Pr\[A(x') ∈ S\] + δ(x, x').
/// - [`Noise::Laplace`]: κ ≤ 2⁻²³ and δ(x, x') = (1 + e^(ε·(‖x−x'‖ + τ) + κ))·2⁻⁶⁰, see
///   [`laplace`](crate::laplace).
/// - [`Noise::DiscreteLaplace`]: κ = 0, δ = 0.
///
/// τ is the step of the input's fixed point, √d·2^−F, and 2⁻⁴⁰ of the grid: with a projection
/// √d·2^−F + √m·2^−F/Δ. ε is per unit of distance: over a distance of r the promise is ε·r, which for
/// unrelated embeddings may well be above 20. Several releases of the same embedding add up.
///
/// x is the embedding with coordinates clamped to ±2^`bound_exponent`, those that are not finite 0. Clamping
/// shortens distances, so the promise holds for the embeddings as they are.
///
/// # Leaks
/// The fact that there was a release, its time, and its public parameters. Its duration: see [`laplace`](crate::laplace).
///
/// The caller makes sure that:
/// - The projection, the bound, ε and the noise are chosen without looking at private embeddings.
/// - The entropy source keeps its promise, and nobody else reads the memory of the process.
///
/// # Source
/// Fernandes, Dras and McIver 2019; Feyisetan and Kasiviswanathan 2021 (PRIVEMB). Deviations: a grid
/// instead of floating point; a sensitivity that is certified for the matrix in use and for all vectors instead
/// of one that holds with some probability over drawing the matrix.
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
    /// The coordinates after the projection lie within ±2^(this).
    bound_exponent: i32,
}

impl<'a> VectorMechanism<'a> {
    /// Noise on the embedding itself, of `dimension` coordinates within ±2^`bound_exponent`.
    ///
    /// # Errors
    /// [`VectorError::Laplace`] for a dimension outside 1..=1024, an ε below 0.1 or a bound that does
    /// not fit the grid (above 2²¹ or below 2⁻⁴⁰ steps).
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

    /// Noise on the projected embedding; the embedding's coordinates lie within ±2^`bound_exponent`, for
    /// instance [`Projection::bound_exponent`].
    ///
    /// # Errors
    /// Those of [`new`](VectorMechanism::new); [`VectorError::Sensitivity`] if the projection stretches
    /// distances by more than 2¹².
    ///
    /// # Cost
    /// That of [`Projection::sensitivity`].
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

    /// The noise: m, ε, sensitivity and grid.
    pub fn laplace(&self) -> &Laplace {
        &self.laplace
    }

    /// The length of a release in bytes.
    pub fn release_bytes(&self) -> usize {
        VectorRelease::bytes(self.laplace.dimension())
    }

    /// Draws a release, a [`VectorRelease`], into `out`; returns its length,
    /// [`release_bytes`](VectorMechanism::release_bytes). `grant` is one of the mechanism's ε.
    ///
    /// The guarantee, what it assumes and what it leaks are those of [`VectorMechanism`].
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; `out`: at least `release_bytes` bytes.
    ///
    /// # Errors
    /// [`VectorError::Unit`] for a grant that is not for vectors, [`VectorError::Grant`] for one of another ε,
    /// [`VectorError::Length`],
    /// [`VectorError::Buffer`], [`VectorError::Entropy`]: nothing was drawn, nothing is written, the
    /// grant is spent. None depends on a coordinate.
    ///
    /// # Cost
    /// 32 bytes of entropy, and the words, operations and stack of [`hazmat::perturb`](crate::hazmat::perturb); a projection m·d
    /// multiplications.
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

    /// Draws the coordinates of a release to where they stay: a buffer for them would take 4 KiB of stack.
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
        // Converted again for each few rows: all of them would take 8 KiB of stack.
        let mut rows = projection.rows();
        let mut ready = [0; TOGETHER];
        let mut at = TOGETHER;
        // An iterator of known length would compute that length by a division.
        let coordinates = core::iter::from_fn(|| {
            if at >= TOGETHER {
                let four = core::array::from_fn(|_| rows.next().unwrap_or_default());
                ready = projection.coordinates(four, fixed(), limit);
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
        if embedding.len() == self.dimension {
            Ok(())
        } else {
            Err(VectorError::Length {
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
pub enum VectorError {
    /// The parameters of the noise.
    Laplace(LaplaceError),
    /// The projection stretches distances by more than 2¹².
    Sensitivity,
    /// A grant for another unit.
    Unit(WrongUnit),
    /// A grant of another ε than the mechanism's.
    Grant {
        /// The ε of the mechanism.
        expected: Epsilon,
        /// The ε of the grant.
        found: Epsilon,
    },
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

impl From<LaplaceError> for VectorError {
    fn from(error: LaplaceError) -> Self {
        Self::Laplace(error)
    }
}

impl fmt::Display for VectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Laplace(error) => error.fmt(f),
            Self::Sensitivity => write!(
                f,
                "the projection stretches distances by more than {}; scale it down",
                Sensitivity::MAX
            ),
            Self::Unit(error) => write!(f, "not the right grant: {error}"),
            Self::Grant { expected, found } => {
                write!(
                    f,
                    "a grant of epsilon {found}, but the mechanism spends {expected}"
                )
            }
            Self::Length { expected, found } => {
                write!(
                    f,
                    "an embedding of {found} coordinates, but {expected} are needed"
                )
            }
            Self::Buffer { needed, found } => {
                write!(f, "room for {found} bytes, but the release has {needed}")
            }
            Self::Entropy => f.write_str(
                "the entropy source failed; nothing was released, try again with a new grant",
            ),
        }
    }
}

impl core::error::Error for VectorError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hazmat::draw_vector;
    use crate::rng::PublicRng;
    use crate::rng::rand_core::{TryCryptoRng, TryRng};
    use std::vec;
    use std::vec::Vec;

    /// Not private: repeats one byte.
    struct Constant(u8);

    impl TryRng for Constant {
        type Error = fmt::Error;
        fn try_next_u32(&mut self) -> Result<u32, fmt::Error> {
            unreachable!("a key is drawn at once")
        }
        fn try_next_u64(&mut self) -> Result<u64, fmt::Error> {
            unreachable!("a key is drawn at once")
        }
        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), fmt::Error> {
            out.fill(self.0);
            Ok(())
        }
    }
    impl TryCryptoRng for Constant {}
    impl Entropy for Constant {}

    fn epsilon(text: &str) -> Epsilon {
        text.parse().unwrap()
    }

    fn integers(rows: &[i16]) -> Vec<I16> {
        rows.iter().map(|x| I16::new(*x)).collect()
    }

    fn projection(rows: &[I16], dimension: usize, exponent: i32) -> Projection<'_> {
        Projection {
            dimension,
            exponent,
            bound_exponent: 0,
            pack_id: [9; 8],
            rows,
        }
    }

    #[test]
    fn sensitivities_are_known_and_rounded_up() {
        let units = |rows: &[i16], dimension, exponent| {
            let rows = integers(rows);
            let sensitivity = projection(&rows, dimension, exponent).sensitivity();
            sensitivity.map(Sensitivity::units)
        };
        // Orthonormal rows, a row twice, rank one, zeroes, too large.
        assert_eq!(units(&[1, 0, 0, 1], 2, 0), Some(1 << 32));
        assert_eq!(
            units(&[1 << 14, 0, 1 << 14, 0], 2, -14),
            Some(6_074_001_000)
        );
        assert_eq!(units(&[3, 4], 2, 0), Some(5 << 32));
        assert_eq!(units(&[3, 4], 2, -10), Some(5 << 22));
        assert_eq!(units(&[0; 6], 3, 0), Some(1 << 20));
        assert_eq!(units(&[1; 2], 2, -24), Some(1 << 20));
        assert_eq!(units(&[i16::MIN; 4], 1, 0), None);
        assert_eq!(units(&[4096, 0], 2, 0), Some(1 << 44));
        assert_eq!(units(&[4096, 1], 2, 0), None);
        // The largest sum there is does not overflow.
        let most = vec![i16::MIN; 1024 * 1024];
        assert_eq!(
            units(&most[..1024 * 256], 1024, -24),
            Some(1 << (32 - 24 + 15 + 5 + 4))
        );
    }

    #[test]
    fn projections_are_exact() {
        let mut rng = PublicRng::new(5);
        for exponent in [-24, -13, 0] {
            for extreme in [false, true] {
                let row: Vec<i16> = (0..1024)
                    .map(|_| {
                        if extreme {
                            i16::MIN
                        } else {
                            rng.next_u32() as i16
                        }
                    })
                    .collect();
                let x: Vec<i64> = (0..1024)
                    .map(|_| {
                        if extreme {
                            -(1 << 61)
                        } else {
                            rng.next_u64() as i64 >> 2
                        }
                    })
                    .collect();
                let exact: i128 = row
                    .iter()
                    .zip(&x)
                    .map(|(a, b)| i128::from(*a) * i128::from(*b))
                    .sum();
                let rows = integers(&row);
                let projection = projection(&rows, 1024, exponent);
                let limit = 1 << 61;
                let expected = (exact >> -exponent).clamp(-i128::from(limit), limit.into());
                let found =
                    projection.coordinates([&rows, &[], &rows, &[]], x.iter().copied(), limit);
                assert_eq!(found.map(i128::from), [expected, 0, expected, 0]);
            }
        }
    }

    #[test]
    fn parameters_are_refused_and_nothing_is_written() {
        let new =
            |m, bound, e| VectorMechanism::new(m, bound, Noise::Laplace, epsilon(e)).map(|_| ());
        assert_eq!(new(1024, 0, "0.1"), Ok(()));
        for (m, bound, e) in [
            (0, 0, "1"),
            (1025, 0, "1"),
            (3, 0, "0.09"),
            (3, 40, "1"),
            (3, -90, "1"),
        ] {
            assert!(matches!(new(m, bound, e), Err(VectorError::Laplace(_))));
        }
        let large = integers(&[i16::MAX]);
        let refused =
            VectorMechanism::projected(projection(&large, 1, 0), 0, Noise::Laplace, epsilon("1"));
        assert_eq!(refused.map(|_| ()), Err(VectorError::Sensitivity));

        let mechanism = VectorMechanism::new(3, 0, Noise::DiscreteLaplace, epsilon("1")).unwrap();
        let mut out = [7; 48];
        let mut release = |x: &[f32], room, byte| {
            let grant = Grant::unrecorded(Unit::Vector, epsilon("1"));
            mechanism.release(grant, x, &mut Constant(byte), &mut out[..room])
        };
        let length = |found| Err(VectorError::Length { expected: 3, found });
        assert_eq!(release(&[0.0; 2], 48, 1), length(2));
        assert_eq!(release(&[0.0; 4], 48, 1), length(4));
        let needed = 48;
        assert_eq!(
            release(&[0.0; 3], 47, 1),
            Err(VectorError::Buffer { needed, found: 47 })
        );
        assert_eq!(release(&[0.0; 3], 48, 0), Err(VectorError::Entropy));
        for found in [epsilon("0.999999"), epsilon("1.000001")] {
            let grant = Grant::unrecorded(Unit::Vector, found);
            let expected = epsilon("1");
            assert_eq!(
                mechanism.release(grant, &[0.0; 3], &mut Constant(1), &mut out),
                Err(VectorError::Grant { expected, found })
            );
        }
        assert_eq!(out, [7; 48]);
        let mut rng = PublicRng::new(1);
        assert!(draw_vector(&mechanism, &[0.0; 3], &mut rng, &mut [0; 2]).is_err());
        assert!(draw_vector(&mechanism, &[0.0; 2], &mut rng, &mut [0; 3]).is_err());
    }

    /// What is released is read back, and every field is checked.
    #[test]
    fn releases_are_read_back() {
        let rows = integers(&[100, 0, -100, 50, 50, 50]);
        let projected = projection(&rows, 3, -7);
        for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
            let mechanism = VectorMechanism::projected(projected, 0, noise, epsilon("10")).unwrap();
            let mut bytes = [0; 50];
            let x = [f32::NAN, 0.5, -0.25];
            let grant = Grant::unrecorded(Unit::Vector, epsilon("10"));
            let written = mechanism.release(grant, &x, &mut Constant(3), &mut bytes);
            assert_eq!(written, Ok(44));
            let release = VectorRelease::from_bytes(&bytes[..44]).unwrap();
            let mut steps = [0; 2];
            let mut stream = ReleaseStream::open(Backend::best(), &mut Constant(3)).unwrap();
            draw_vector(&mechanism, &x, &mut stream, &mut steps).unwrap();
            assert!(release.coordinates().eq(steps));
            assert_eq!((release.noise(), release.epsilon()), (noise, epsilon("10")));
            assert_eq!(release.pack_id(), [9; 8]);
            assert_eq!(Some(release.sensitivity()), projected.sensitivity());
            let step = 2f64.powi(release.grid_exponent());
            assert!(release.values().eq(steps.map(|y| f64::from(y) * step)));
            // A byte of the head that is changed is either an identifier or makes it another release.
            for (place, bit) in (0..36).flat_map(|place| (0..8).map(move |bit| (place, bit))) {
                let mut changed = bytes;
                changed[place] ^= 1 << bit;
                match VectorRelease::from_bytes(&changed[..44]) {
                    Ok(other) => assert!(other != release, "{place}"),
                    Err(error) => assert!(!(16..24).contains(&place), "{place}: {error}"),
                }
            }
            for length in (0..50).filter(|length| *length != 44) {
                assert!(VectorRelease::from_bytes(&bytes[..length]).is_err());
            }
        }
    }

    /// Noise on the projected vector: its mean and its deviation.
    #[test]
    fn projected_vectors_get_the_noise_of_their_sensitivity() {
        let rows = integers(&[60, 80, 0, 0, 0, 0, 0, 200]);
        let projection = projection(&rows, 4, -6);
        let x = [0.5, -0.25, 0.125, 1.0];
        let expected = [(30.0 - 20.0) / 64.0, 200.0 / 64.0];
        for (noise, variance) in [(Noise::Laplace, 3.0), (Noise::DiscreteLaplace, 4.3)] {
            let mechanism = VectorMechanism::projected(projection, 0, noise, epsilon("5")).unwrap();
            let delta = projection.sensitivity().unwrap().units() as f64 / 2f64.powi(32);
            assert_eq!(delta, 3.125);
            let step = 2f64.powi(mechanism.laplace().grid_exponent());
            let variance = variance * (delta / 5.0).powi(2);
            let mut rng = PublicRng::new(11);
            let n = 20_000.0;
            let mut sums = [[0.0; 2]; 2];
            for _ in 0..20_000 {
                let mut out = [0; 2];
                draw_vector(&mechanism, &x, &mut rng, &mut out).unwrap();
                for ((sum, y), expected) in sums.iter_mut().zip(out).zip(expected) {
                    let error = f64::from(y) * step - expected;
                    *sum = [sum[0] + error / n, sum[1] + error * error / n];
                }
            }
            for [mean, square] in sums {
                assert!(
                    mean.abs() < 6.0 * (variance / n).sqrt(),
                    "{noise:?}: {mean}"
                );
                assert!(
                    (square / variance - 1.0).abs() < 0.1,
                    "{noise:?}: {square} {variance}"
                );
            }
        }
    }
}
