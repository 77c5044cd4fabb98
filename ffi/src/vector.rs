//! Private vectors.

use core::ffi::c_void;

use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::LaplaceError;
use undertone_core::release::VectorRelease;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, VectorError, VectorMechanism};

use crate::epsilon;
use crate::grant::{self, UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{
    Buffer, Handle, HandleMut, HandleRef, In, Optional, Room, Source, Vector, checked, give,
};
use crate::pack::UndertonePack;
use crate::release;
use crate::status::{Refusal, WORDS_STACK, or_zero, report, report_private};

/// The mechanism that releases private vectors, with its public parameters. It holds no private
/// data.
pub struct UndertoneVectorMechanism {
    _opaque: (),
}

impl Handle for UndertoneVectorMechanism {
    type Value = VectorMechanism<'static>;
    const TAG: usize = 0x7665_6375;
    const SIZE: usize = UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE;
}

fn refusal(error: VectorError) -> Refusal {
    Refusal(match error {
        VectorError::Laplace(LaplaceError::Dimension { .. }) => {
            UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE
        }
        VectorError::Laplace(LaplaceError::Epsilon { .. }) => {
            UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE
        }
        VectorError::Laplace(LaplaceError::Bound { .. }) => UNDERTONE_STATUS_BOUND_OUT_OF_RANGE,
        VectorError::Sensitivity => UNDERTONE_STATUS_PROJECTION_TOO_STEEP,
        VectorError::Length { .. } => UNDERTONE_STATUS_WRONG_DIMENSION,
        VectorError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

fn noise_from(number: i32) -> Result<Noise, Refusal> {
    let noise = u8::try_from(number).ok().and_then(Noise::from_number);
    noise.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_NOISE))
}

/// Makes a mechanism that releases vectors without a projection. All parameters must be chosen
/// without looking at private vectors.
///
/// `dimension`: 1 to `UNDERTONE_MAX_VECTOR_DIMENSION`. `bound_exponent`: coordinates are clamped to
/// plus or minus 2^`bound_exponent`; 0 is enough for vectors of norm 1. `noise`: a
/// `UNDERTONE_NOISE_` number. `epsilon_micro`: epsilon in micro-units for each unit of distance,
/// 100000 (0.1) to `UNDERTONE_MAX_EPSILON_MICRO`.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE`,
/// `UNDERTONE_STATUS_UNKNOWN_NOISE`, `UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE`,
/// `UNDERTONE_STATUS_BOUND_OUT_OF_RANGE` (the bound must lie between about 2^-46 and 2^15 times the
/// scale of the noise of one coordinate; between 2^-43 and 2^18 times for discrete Laplace noise).
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_init(
    memory: *mut c_void,
    memory_len: usize,
    dimension: u32,
    bound_exponent: i32,
    noise: i32,
    epsilon_micro: u32,
    out_mechanism: *mut *mut UndertoneVectorMechanism,
) -> i32 {
    report(|| {
        let room = checked!(unsafe Room(memory, memory_len, out_mechanism));
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let mechanism =
            VectorMechanism::new(dimension, bound_exponent, noise_from(noise)?, epsilon);
        let mechanism = mechanism.map_err(refusal)?;
        room.make(|| Ok(mechanism))
    })
}

/// Makes a mechanism that projects vectors with the projection of a pack before it releases them. A
/// vector has the pack's `dimension`, its release the `projected_dimension`
/// (`undertone_pack_describe`). The pack contains the bound of the coordinates.
///
/// The handle `pack` is not needed after the call. Keep the bytes of the pack, unchanged, while the
/// mechanism is in use. The other arguments are as for `undertone_vector_mechanism_init`.
///
/// The call computes the sensitivity of the projection, which sets the noise. For a projection of r
/// rows and c columns it takes about r * r * c multiplications: a second on a phone for the largest
/// projection. So make the mechanism once and keep it.
///
/// Statuses: those of `undertone_vector_mechanism_init`, `UNDERTONE_STATUS_NO_PROJECTION`,
/// `UNDERTONE_STATUS_PROJECTION_TOO_STEEP`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_init_projected(
    memory: *mut c_void,
    memory_len: usize,
    pack: *const UndertonePack,
    noise: i32,
    epsilon_micro: u32,
    out_mechanism: *mut *mut UndertoneVectorMechanism,
) -> i32 {
    report(|| {
        let (pack, room) =
            checked!(unsafe HandleRef(pack), Room(memory, memory_len, out_mechanism));
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let noise = noise_from(noise)?;
        let projection = pack.projection();
        let projection = projection.ok_or(Refusal(UNDERTONE_STATUS_NO_PROJECTION))?;
        let bound = projection.bound_exponent();
        let mechanism = VectorMechanism::projected(projection, bound, noise, epsilon);
        let mechanism = mechanism.map_err(refusal)?;
        room.make(|| Ok(mechanism))
    })
}

/// Returns the dimension of a vector that goes in; 0 if `mechanism` is not a valid handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_dimension(
    mechanism: *const UndertoneVectorMechanism,
) -> u32 {
    or_zero(|| Ok(checked!(unsafe HandleRef(mechanism)).dimension() as u32))
}

/// Returns the length of a release of this mechanism in bytes, at most
/// `UNDERTONE_MAX_VECTOR_RELEASE_BYTES`; 0 if `mechanism` is not a valid handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_release_len(
    mechanism: *const UndertoneVectorMechanism,
) -> usize {
    or_zero(|| Ok(checked!(unsafe HandleRef(mechanism)).release_bytes()))
}

/// Draws the release of one private vector.
///
/// Guarantee: metric privacy. For two vectors at Euclidean distance D, the probabilities of any
/// release differ by at most a factor of e^(epsilon*D). Rounding to a grid increases D by far less
/// than one step of the grid, and `UNDERTONE_NOISE_LAPLACE` adds a loss of at most 2^-23 and a
/// delta of about (1 + e^(epsilon*D))*2^-60 (core/README.md). The larger the distance, the weaker
/// the guarantee: a release can distinguish two distant vectors almost with certainty. The epsilons
/// of several releases of the same vector add up.
///
/// Leaks: that there is a release, its time, and the parameters of the mechanism, which must be
/// chosen without looking at the vector. On processors that emulate double precision the time of
/// the call depends on the noise of `UNDERTONE_NOISE_LAPLACE`, so hide on such a processor how long
/// a release takes.
///
/// `grant`: for `UNDERTONE_UNIT_VECTOR`, with the same epsilon as the mechanism. `vector`: `len`
/// floats; one that is not finite counts as 0. `entropy`: called once with `context`, for 32 bytes,
/// after all arguments were checked. `out`: `out_capacity` bytes;
/// `undertone_vector_mechanism_release_len` are enough. `out_written`: receives the bytes written,
/// or the bytes needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn. A call that calls the entropy
/// function spends the grant, even if the function fails. No status depends on a coordinate.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_WRONG_EPSILON`,
/// `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_release(
    mechanism: *const UndertoneVectorMechanism,
    grant: *mut UndertoneGrant,
    vector: *const f32,
    len: usize,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<WORDS_STACK>(move || {
        let (mechanism, grant, vector, out, mut entropy) = checked!(
            unsafe HandleRef(mechanism),
            HandleMut(grant),
            Vector(vector, len),
            Buffer(out, out_capacity, out_written),
            Source(entropy, context),
        );
        let vector = vector.of_dimension(mechanism.dimension())?;
        let out = out.for_at_least(mechanism.release_bytes())?;
        let grant = grant::spend(grant, |grant| {
            grant::for_unit(Unit::Vector, grant)?;
            if grant.epsilon() != mechanism.laplace().epsilon() {
                return Err(Refusal(UNDERTONE_STATUS_GRANT_WRONG_EPSILON));
            }
            Ok(())
        })?;
        // The release is drawn into a buffer of this function, so that the memory of the caller
        // stays as it is if there is no entropy.
        let mut bytes = [0; UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
        let drawn = mechanism.release(grant, vector, &mut entropy, &mut bytes);
        out.write(bytes.iter().copied().take(drawn.map_err(refusal)?));
        Ok(())
    })
}

/// Reads the head of a released vector.
///
/// `bytes`: any `len` bytes. Each output may be NULL: `out_dimension`, the dimension of the
/// released vector; `out_noise`, a `UNDERTONE_NOISE_` number; `out_epsilon_micro`, the epsilon in
/// micro-units for each unit of distance; `out_grid_exponent`, the exponent g of the grid, whose
/// step is 2^g; `out_pack_id`, `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack with the
/// projection, zeroes without one.
///
/// Statuses: those of `undertone_release_read`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_release_read(
    bytes: *const u8,
    len: usize,
    out_dimension: *mut u32,
    out_noise: *mut i32,
    out_epsilon_micro: *mut u32,
    out_grid_exponent: *mut i32,
    out_pack_id: *mut u8,
) -> i32 {
    report(|| {
        let (bytes, dimension, noise, epsilon, grid_exponent, pack_id) = checked!(
            unsafe In(bytes, len),
            Optional(out_dimension),
            Optional(out_noise),
            Optional(out_epsilon_micro),
            Optional(out_grid_exponent),
            Optional(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>()),
        );
        let release = VectorRelease::from_bytes(bytes).map_err(release::refusal)?;
        give(dimension, release.coordinates().len() as u32);
        give(noise, release.noise() as i32);
        give(epsilon, release.epsilon().micro());
        give(grid_exponent, release.grid_exponent());
        give(pack_id, release.pack_id());
        Ok(())
    })
}

/// Reads the coordinates of a released vector, in steps of its grid: exact integers.
///
/// `bytes`: any `len` bytes. `out`: `out_capacity` integers; `UNDERTONE_MAX_VECTOR_DIMENSION` are
/// enough. `out_written`: receives the integers written, or those needed with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Statuses: those of `undertone_release_read`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_release_read_steps(
    bytes: *const u8,
    len: usize,
    out: *mut i32,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report(|| {
        let (bytes, out) = checked!(unsafe In(bytes, len), Buffer(out, out_capacity, out_written));
        let release = VectorRelease::from_bytes(bytes).map_err(release::refusal)?;
        let steps = release.coordinates();
        out.for_at_least(steps.len())?.write(steps);
        Ok(())
    })
}

/// Reads the coordinates of a released vector as numbers: each is the integer of
/// `undertone_vector_release_read_steps` times the step 2^g of the grid, exactly.
///
/// `out`: `out_capacity` numbers. All else is as for `undertone_vector_release_read_steps`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_release_read_values(
    bytes: *const u8,
    len: usize,
    out: *mut f64,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report(|| {
        let (bytes, out) = checked!(unsafe In(bytes, len), Buffer(out, out_capacity, out_written));
        let release = VectorRelease::from_bytes(bytes).map_err(release::refusal)?;
        let values = release.values();
        out.for_at_least(values.len())?.write(values);
        Ok(())
    })
}
