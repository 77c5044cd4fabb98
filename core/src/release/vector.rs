use zerocopy::little_endian::{I32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::document::{Header, ReleaseFormatError};
use crate::checked::split_mut;
use crate::epsilon::Epsilon;
use crate::laplace::{Laplace, LaplaceError, MAX_DIMENSION, Noise, Sensitivity};

/// A private vector: integers that count steps of a public grid, and the public facts needed to
/// read them.
///
/// Only [`VectorMechanism::release`](crate::vector::VectorMechanism::release) writes one from a
/// private vector; this is the view of its bytes.
///
/// # Shapes
/// 36 + 4m bytes, numbers little-endian:
///
/// | offset | bytes | content |
/// | --- | --- | --- |
/// | 0 | 3 | `UTR` |
/// | 3 | 1 | version, 1 |
/// | 4 | 1 | mechanism: 3 = n-dimensional Laplace, 4 = discrete Laplace |
/// | 5 | 3 | zero |
/// | 8 | 4 | ε in micro-units, per unit of distance of embeddings |
/// | 12 | 4 | m, the number of coordinates, 1 to 1024 |
/// | 16 | 8 | identifier of the pack with the projection; zero without one |
/// | 24 | 8 | sensitivity of the projection in units of 2⁻³² |
/// | 32 | 4 | log₂ of a step of the grid, which mechanism, ε, m and sensitivity determine |
/// | 36 | 4m | the coordinates in steps, signed |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorRelease<'a> {
    laplace: Laplace,
    pack_id: [u8; 8],
    coordinates: &'a [I32],
}

/// The fields between the header and the coordinates.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Grid {
    /// In units of 2⁻³².
    sensitivity: U64,
    exponent: I32,
}

/// The length of everything before the coordinates.
const FIXED_BYTES: usize = Header::BYTES + size_of::<Grid>();

impl<'a> VectorRelease<'a> {
    /// The length of the byte form of a vector of `dimension` coordinates.
    pub const fn bytes(dimension: u32) -> usize {
        FIXED_BYTES + 4 * dimension as usize
    }

    /// The coordinates in steps of the grid.
    pub fn coordinates(&self) -> impl ExactSizeIterator<Item = i32> + use<'a> {
        self.coordinates.iter().map(|steps| steps.get())
    }

    /// The coordinates: steps times 2^[`grid_exponent`](VectorRelease::grid_exponent), exactly.
    /// Floating point is post-processing here, and costs no privacy.
    #[expect(
        clippy::float_arithmetic,
        reason = "a product with a power of two, of what is public"
    )]
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> + use<'a> {
        // The exponent lies in -28..=17.
        let step = f64::from_bits(((1023 + self.grid_exponent()).unsigned_abs() as u64) << 52);
        self.coordinates().map(move |steps| f64::from(steps) * step)
    }

    /// The law of the noise.
    pub fn noise(&self) -> Noise {
        self.laplace.noise()
    }

    /// The ε that was spent, per unit of distance of embeddings.
    pub fn epsilon(&self) -> Epsilon {
        self.laplace.epsilon()
    }

    /// The sensitivity of the projection that the noise was made for; 1 without one.
    pub fn sensitivity(&self) -> Sensitivity {
        self.laplace.sensitivity()
    }

    /// log₂ of a step of the grid.
    pub fn grid_exponent(&self) -> i32 {
        self.laplace.grid_exponent()
    }

    /// The identifier of the pack with the projection, zero without one:
    /// [`Pack::id`](crate::pack::Pack::id).
    pub fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    /// Writes the byte form without the coordinates, and returns their place; `out` has
    /// [`VectorRelease::bytes`] bytes.
    pub(crate) fn write_head<'o>(
        laplace: &Laplace,
        pack_id: [u8; 8],
        out: &'o mut [u8],
    ) -> &'o mut [I32] {
        let (noise, epsilon) = (laplace.noise() as u8, laplace.epsilon());
        let header = Header::new(noise, 0, epsilon, laplace.dimension(), pack_id);
        let grid = Grid {
            sensitivity: U64::new(laplace.sensitivity().units()),
            exponent: I32::new(laplace.grid_exponent()),
        };
        let (fixed, coordinates) = split_mut(out, FIXED_BYTES);
        let bytes = header.as_bytes().iter().chain(grid.as_bytes());
        for (to, from) in fixed.iter_mut().zip(bytes) {
            *to = *from;
        }
        <[I32]>::mut_from_bytes(coordinates).unwrap_or_default()
    }

    /// Reads the byte form. Total on any bytes.
    ///
    /// # Errors
    /// [`ReleaseFormatError`] names the first field that is wrong.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, ReleaseFormatError> {
        let (header, epsilon, rest) = Header::read(bytes)?;
        let refuse = |name, found| Err(ReleaseFormatError::Field { name, found });
        let number = header.number.get();
        let Some(noise) = Noise::from_number(header.mechanism) else {
            return refuse("mechanism", header.mechanism.into());
        };
        if header.rule != 0 {
            return refuse("rule", header.rule.into());
        }
        if number == 0 || number as usize > MAX_DIMENSION {
            return refuse("number of coordinates", number);
        }
        let length = ReleaseFormatError::Length {
            found: bytes.len(),
            expected: Self::bytes(number),
        };
        let (grid, rest) = Grid::ref_from_prefix(rest).map_err(|_| length)?;
        let coordinates =
            <[I32]>::ref_from_bytes_with_elems(rest, number as usize).map_err(|_| length)?;
        let units = grid.sensitivity.get();
        let Some(sensitivity) = Sensitivity::from_units(units) else {
            return refuse(
                "sensitivity in units of 2^-12",
                (units >> 20).min(u32::MAX.into()) as u32,
            );
        };
        let laplace = match Laplace::with_noise(noise, number, epsilon, sensitivity) {
            Ok(laplace) => laplace,
            Err(LaplaceError::Epsilon { found }) => {
                return refuse("epsilon in micro-units", found.micro());
            }
            Err(_) => return refuse("number of coordinates", number),
        };
        let exponent = grid.exponent.get();
        if exponent != laplace.grid_exponent() {
            return refuse("grid exponent, as a 32-bit number,", exponent as u32);
        }
        Ok(Self {
            laplace,
            pack_id: header.pack_id,
            coordinates,
        })
    }
}
