//! Private vectors.

use core::ffi::c_void;

use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::{LaplaceError, MAX_DIMENSION};
use undertone_core::release::VectorRelease;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, VectorError, VectorMechanism};

use crate::entropy::{Callback, UndertoneEntropyFn};
use crate::epsilon;
use crate::grant::{self, UndertoneGrant, grant_at};
use crate::memory::{self, Handle};
use crate::pack::{UNDERTONE_HANDLE_ALIGNMENT, UNDERTONE_PACK_ID_BYTES, UndertonePack, pack_at};
use crate::release;
use crate::status::{
    Refusal, UNDERTONE_STATUS_BOUND_OUT_OF_RANGE, UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE,
    UNDERTONE_STATUS_ENTROPY_FAILED, UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE,
    UNDERTONE_STATUS_GRANT_WRONG_EPSILON, UNDERTONE_STATUS_INTERNAL,
    UNDERTONE_STATUS_NO_PROJECTION, UNDERTONE_STATUS_NULL_POINTER,
    UNDERTONE_STATUS_PROJECTION_TOO_STEEP, UNDERTONE_STATUS_UNKNOWN_NOISE,
    UNDERTONE_STATUS_WRONG_DIMENSION, WORDS_STACK, report, report_private,
};

/// The most coordinates of a released vector.
pub const UNDERTONE_MAX_VECTOR_DIMENSION: u32 = 1024;
/// Bytes that are enough for an `undertone_vector_mechanism` on every target.
pub const UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE: usize = 256;
/// The largest length of a released vector: 36 bytes, and 4 for each of 1024 coordinates.
pub const UNDERTONE_MAX_VECTOR_RELEASE_BYTES: usize = 4132;

/// n-dimensional Laplace noise, the default: the least noise.
pub const UNDERTONE_NOISE_LAPLACE: i32 = 3;
/// Discrete Laplace noise on each coordinate: no delta and integers only, for about 1.5 times the noise.
pub const UNDERTONE_NOISE_DISCRETE_LAPLACE: i32 = 4;

const _: () = assert!(
    UNDERTONE_NOISE_LAPLACE == Noise::Laplace as i32
        && UNDERTONE_NOISE_DISCRETE_LAPLACE == Noise::DiscreteLaplace as i32
);
const _: () = assert!(
    UNDERTONE_MAX_VECTOR_DIMENSION as usize == MAX_DIMENSION
        && UNDERTONE_MAX_VECTOR_RELEASE_BYTES
            == VectorRelease::bytes(UNDERTONE_MAX_VECTOR_DIMENSION)
);
const _: () = assert!(
    memory::size::<UndertoneVectorMechanism>() <= UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE
        && memory::alignment::<UndertoneVectorMechanism>() <= UNDERTONE_HANDLE_ALIGNMENT
);

/// The mechanism that releases private vectors, with its public parameters. It holds no private data.
pub struct UndertoneVectorMechanism {
    _opaque: (),
}

impl Handle for UndertoneVectorMechanism {
    type Value = VectorMechanism<'static>;
    const TAG: usize = 0x7665_6375;
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

fn noise_of(number: i32) -> Result<Noise, Refusal> {
    let noise = u8::try_from(number).ok().and_then(Noise::from_number);
    noise.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_NOISE))
}

/// The bytes that `undertone_vector_mechanism_init` needs, at most `UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_vector_mechanism_handle_size() -> usize {
    memory::size::<UndertoneVectorMechanism>()
}

/// The alignment that `undertone_vector_mechanism_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_vector_mechanism_handle_alignment() -> usize {
    memory::alignment::<UndertoneVectorMechanism>()
}

/// Makes a mechanism that releases vectors as they are.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_vector_mechanism_handle_size()`, aligned to
/// `undertone_vector_mechanism_handle_alignment()`. `dimension`: 1 to `UNDERTONE_MAX_VECTOR_DIMENSION`.
/// `bound_exponent`: coordinates are clamped to plus or minus 2^`bound_exponent`; 0 is enough for vectors of
/// norm 1. `noise`: `UNDERTONE_NOISE_LAPLACE` or `UNDERTONE_NOISE_DISCRETE_LAPLACE`. `epsilon_micro`: epsilon
/// in micro-units per unit of distance, 100000 (0.1) to `UNDERTONE_MAX_EPSILON_MICRO`. `out_mechanism`: the
/// handle, which lies in `memory`.
///
/// All parameters must be chosen without looking at private vectors. There is nothing to free and nothing
/// private in the handle. If the call fails, `memory` may have been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE`,
/// `UNDERTONE_STATUS_UNKNOWN_NOISE`, `UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE`,
/// `UNDERTONE_STATUS_BOUND_OUT_OF_RANGE` (outside about 2^-46 to 2^15 times the noise of a coordinate).
///
/// Threads: any, with `memory` of their own. One mechanism may be used by many threads at once.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `out_mechanism` is NULL or writable.
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
        let extents = [
            memory::one(out_mechanism)?,
            memory::room::<UndertoneVectorMechanism>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let mechanism = VectorMechanism::new(dimension, bound_exponent, noise_of(noise)?, epsilon)
            .map_err(refusal)?;
        // SAFETY: `room` and `one` accepted the pointers, which do not overlap; the caller says that they
        // are writable.
        unsafe { memory::place(memory, out_mechanism, || Ok(mechanism)) }
    })
}

/// Makes a mechanism that projects vectors with the projection of a pack before it releases them.
///
/// `pack`: not used after the call, but the bytes it was made from are, as long as the mechanism is used.
/// The other arguments are those of `undertone_vector_mechanism_init`; a vector has
/// `undertone_pack_dimension` coordinates, its release `undertone_pack_projected_dimension`. The
/// coordinates are clamped to the bound that the pack names.
///
/// The noise fits the sensitivity of the projection, which this call computes from the entries: about rows *
/// rows * coordinates multiplications, a second or so for the largest projection on a phone. Keep the
/// mechanism.
///
/// Statuses: those of `undertone_vector_mechanism_init`, `UNDERTONE_STATUS_NO_PROJECTION`,
/// `UNDERTONE_STATUS_PROJECTION_TOO_STEEP`.
///
/// Threads: any, with `memory` of their own. One mechanism may be used by many threads at once.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `pack` is NULL or what `undertone_pack_init` returned;
/// `out_mechanism` is NULL or writable.
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
        // SAFETY: the caller's promise is the one that `pack_at` asks for, but for what this
        // call writes, and that does not overlap the pack or the call ends here.
        let (pack, pack_extent) = unsafe { pack_at(pack) }?;
        let extents = [
            pack_extent,
            memory::one(out_mechanism)?,
            memory::room::<UndertoneVectorMechanism>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let noise = noise_of(noise)?;
        let projection = pack
            .projection()
            .ok_or(Refusal(UNDERTONE_STATUS_NO_PROJECTION))?;
        let mechanism =
            VectorMechanism::projected(projection, projection.bound_exponent(), noise, epsilon)
                .map_err(refusal)?;
        // SAFETY: `room` and `one` accepted the pointers, which do not overlap; the caller says that they
        // are writable.
        unsafe { memory::place(memory, out_mechanism, || Ok(mechanism)) }
    })
}

/// `number` of the mechanism in a handle; 0 if the handle is not valid.
///
/// # Safety
/// `mechanism` is null or [`memory::size`] readable bytes, and nobody writes to them during the call.
unsafe fn number<T: Default>(
    mechanism: *const UndertoneVectorMechanism,
    number: impl FnOnce(&VectorMechanism<'static>) -> T,
) -> T {
    // SAFETY: the caller's promise is the one that `value` asks for.
    let value = unsafe { memory::value(mechanism) };
    // SAFETY: the tag says that a mechanism was put there; nobody writes to it.
    value.map_or_else(|_| T::default(), |(value, _)| number(unsafe { &*value }))
}

/// The dimension of a vector that goes in; 0 if `mechanism` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `mechanism` is NULL or what an `undertone_vector_mechanism_init` function returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_dimension(
    mechanism: *const UndertoneVectorMechanism,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { number(mechanism, |mechanism| mechanism.dimension() as u32) }
}

/// The length of a release of this mechanism in bytes, at most `UNDERTONE_MAX_VECTOR_RELEASE_BYTES`; 0 if
/// `mechanism` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `mechanism` is NULL or what an `undertone_vector_mechanism_init` function returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_mechanism_release_len(
    mechanism: *const UndertoneVectorMechanism,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { number(mechanism, VectorMechanism::release_bytes) }
}

/// Draws the release of one private vector.
///
/// Guarantee: it is metric. For two vectors at distance D the probabilities of any release differ by at most a
/// factor of e^(epsilon*D), up to a grid step and, with `UNDERTONE_NOISE_LAPLACE`, a delta of about (1 +
/// e^(epsilon*D))*2^-60. For vectors far apart that may limit nothing. Several releases of the same vector add
/// up.
///
/// Leaks: that there is a release, when, and the parameters of the mechanism, which must be chosen without
/// looking at the vector. On processors that emulate double precision the time of the call depends on the noise
/// of `UNDERTONE_NOISE_LAPLACE`, so keep release timing hidden on such devices.
///
/// `grant`: for `UNDERTONE_UNIT_VECTOR`, of the epsilon of the mechanism. `vector`: `len` floats, any; what is not finite
/// counts as 0. `entropy`: called once, with `context`, for
/// 32 bytes, after all arguments have been checked. `out`: `out_capacity` bytes;
/// `undertone_vector_mechanism_release_len` are enough. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed.
///
/// Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn. The grant is spent once the entropy
/// function is called, whatever it returns. No status depends on a coordinate.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_WRONG_EPSILON`, `UNDERTONE_STATUS_GRANT_SPENT`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: no other call may use the grant at the same time.
///
/// # Safety
/// `mechanism` is NULL or what an `undertone_vector_mechanism_init` function returned; `grant` is NULL or
/// what a function returned as `out_grant`; `vector` is NULL or `len` readable floats; `entropy` is NULL or
/// keeps the promises of `undertone_entropy_fn` with `context`; `out` is NULL or `out_capacity` writable
/// bytes; `out_written` is NULL or writable.
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
    report_private::<WORDS_STACK>(|| {
        let read = memory::array(vector, len)?;
        let buffer = memory::array(out, out_capacity)?;
        let written = memory::one(out_written)?;
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(mechanism) }?;
        // SAFETY: the caller's promise is the one that `grant_at` asks for, but for what this call
        // writes, and that does not overlap the grant or the call ends here.
        let (grant, grant_extent) = unsafe { grant_at(grant) }?;
        memory::disjoint(
            &read,
            &[grant_extent.clone(), buffer.clone(), written.clone()],
        )?;
        memory::all_disjoint(&[extent, grant_extent, buffer, written])?;
        // SAFETY: the tag says that a mechanism was put there; nobody writes to it.
        let mechanism = unsafe { &*value };
        if len != mechanism.dimension() {
            return Err(Refusal(UNDERTONE_STATUS_WRONG_DIMENSION));
        }
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, mechanism.release_bytes(), out_written) }?;
        let grant = grant::spend(grant, |grant| {
            grant::for_unit(Unit::Vector, grant)?;
            match grant.epsilon() == mechanism.laplace().epsilon() {
                true => Ok(()),
                false => Err(Refusal(UNDERTONE_STATUS_GRANT_WRONG_EPSILON)),
            }
        })?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the floats are readable, and any bits are a float.
        let vector = unsafe { memory::slice(vector, len) };
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(function, context) };
        // The caller's memory may be uninitialised, and stays as it is if there is no entropy.
        let mut bytes = [0; UNDERTONE_MAX_VECTOR_RELEASE_BYTES];
        let drawn = mechanism.release(grant, vector, &mut entropy, &mut bytes);
        let length = drawn.map_err(refusal)?;
        let release = bytes.get(..length).unwrap_or_default();
        // SAFETY: `array` and `one` accepted the pointers, whose memory overlaps nothing, and the capacity
        // holds a release; the caller says that they are writable.
        unsafe { memory::write_all(release.iter().copied(), out, out_written) };
        Ok(())
    })
}

/// Reads what a released vector says about itself.
///
/// `bytes`: `len` bytes, anything. `out_dimension`: the dimension of the released vector. `out_noise`: one of
/// the `UNDERTONE_NOISE_` numbers. `out_epsilon_micro`: the epsilon that the device spent, in micro-units per
/// unit of distance. `out_grid_exponent`: a step of the coordinates is 2 to this. `out_pack_id`:
/// `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack with the projection, zeroes without one. Each output may be
/// NULL.
///
/// Statuses: `UNDERTONE_STATUS_RELEASE_WRONG_LENGTH`, `UNDERTONE_STATUS_NOT_A_RELEASE`,
/// `UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_RELEASE_MALFORMED`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; each output is NULL or writable.
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
        let extents = [
            memory::array(bytes, len)?,
            memory::optional(out_dimension)?,
            memory::optional(out_noise)?,
            memory::optional(out_epsilon_micro)?,
            memory::optional(out_grid_exponent)?,
            memory::optional(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>())?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not used once an output is written.
        let bytes = unsafe { memory::slice(bytes, len) };
        let release = VectorRelease::from_bytes(bytes).map_err(release::refusal)?;
        let dimension = release.coordinates().len() as u32;
        // SAFETY: `optional` accepted the pointers, for as many bytes as are written here; the caller says that
        // they are null or writable.
        unsafe {
            memory::give(out_dimension, dimension);
            memory::give(out_noise, release.noise() as i32);
            memory::give(out_epsilon_micro, release.epsilon().micro());
            memory::give(out_grid_exponent, release.grid_exponent());
            memory::give(out_pack_id.cast(), release.pack_id());
        }
        Ok(())
    })
}

/// Reads the coordinates of a released vector, in steps of its grid: exact integers.
///
/// `bytes`: `len` bytes, anything. `out`: room for `out_capacity` integers;
/// `UNDERTONE_MAX_VECTOR_DIMENSION` are enough. `out_written`: the integers written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` those needed.
///
/// Statuses: those of `undertone_vector_release_read`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; `out` is NULL or writable for `out_capacity` integers;
/// `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_release_read_steps(
    bytes: *const u8,
    len: usize,
    out: *mut i32,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        read_all(bytes, len, out, out_capacity, out_written, |release| {
            release.coordinates()
        })
    }
}

/// Reads the coordinates of a released vector: steps times the grid, exactly.
///
/// `out`: room for `out_capacity` numbers; otherwise like `undertone_vector_release_read_steps`.
///
/// Statuses: those of `undertone_vector_release_read_steps`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; `out` is NULL or writable for `out_capacity` numbers;
/// `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vector_release_read_values(
    bytes: *const u8,
    len: usize,
    out: *mut f64,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        read_all(bytes, len, out, out_capacity, out_written, |release| {
            release.values()
        })
    }
}

/// Writes what `values` gives for each coordinate of a release.
///
/// # Safety
/// `bytes` is null or `len` readable bytes; `out` is null or writable for `out_capacity` values; `out_written`
/// is null or writable.
unsafe fn read_all<T, I: ExactSizeIterator<Item = T>>(
    bytes: *const u8,
    len: usize,
    out: *mut T,
    out_capacity: usize,
    out_written: *mut usize,
    values: impl FnOnce(VectorRelease<'static>) -> I,
) -> i32 {
    report(|| {
        let read = memory::array(bytes, len)?;
        let extents = [
            read,
            memory::array(out, out_capacity)?,
            memory::one(out_written)?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They overlap no output, and nothing that refers to them
        // outlives the call, which is what 'static stands for here.
        let bytes = unsafe { memory::slice(bytes, len) };
        let values = values(VectorRelease::from_bytes(bytes).map_err(release::refusal)?);
        // SAFETY: `array` and `one` accepted the pointers; the caller says that they are writable.
        unsafe {
            memory::capacity(out_capacity, values.len(), out_written)?;
            memory::write_all(values, out, out_written);
        }
        Ok(())
    })
}
