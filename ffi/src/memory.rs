//! Checks on what a caller points to, and handles in the caller's memory.
//!
//! What an address *points to* cannot be checked; the `# Safety` sections leave that to the caller.
//! Everything about the address itself is checked here, before it is used.

use core::ffi::c_void;
use core::ops::Range;
use core::slice;

use crate::status::{
    Refusal, UNDERTONE_STATUS_BAD_HANDLE, UNDERTONE_STATUS_BUFFER_TOO_SMALL, UNDERTONE_STATUS_BUSY,
    UNDERTONE_STATUS_IMPOSSIBLE_LENGTH, UNDERTONE_STATUS_MEMORY_TOO_SMALL,
    UNDERTONE_STATUS_MISALIGNED, UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_OVERLAP,
};

/// The addresses that an argument covers.
pub(crate) type Extent = Range<usize>;

/// The extent of `count` values at `start`, which may be null if there are none.
pub(crate) fn array<T>(start: *const T, count: usize) -> Result<Extent, Refusal> {
    if count == 0 {
        // Nothing is read there, so the address does not matter.
        return Ok(0..0);
    }
    if start.is_null() {
        return Err(Refusal(UNDERTONE_STATUS_NULL_POINTER));
    }
    if !start.is_aligned() {
        return Err(Refusal(UNDERTONE_STATUS_MISALIGNED));
    }
    // A Rust slice covers at most isize::MAX bytes and does not wrap around.
    let end = count
        .checked_mul(size_of::<T>())
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .and_then(|bytes| start.addr().checked_add(bytes));
    match end {
        Some(end) => Ok(start.addr()..end),
        None => Err(Refusal(UNDERTONE_STATUS_IMPOSSIBLE_LENGTH)),
    }
}

/// The extent of one value, which may not be null.
pub(crate) fn one<T>(pointer: *const T) -> Result<Extent, Refusal> {
    array(pointer, 1)
}

/// The extent of an output that the caller may not want: null for none.
pub(crate) fn optional<T>(out: *const T) -> Result<Extent, Refusal> {
    array(out, usize::from(!out.is_null()))
}

/// Writes an output, unless the caller does not want it.
///
/// # Safety
/// [`optional`] accepted `out`, which is null or writable.
pub(crate) unsafe fn give<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: `optional` found the pointer aligned; the caller says that it is writable.
        unsafe { out.write(value) };
    }
}

/// Refuses unless all extents are disjoint. Extents that are only read need no check against each
/// other.
pub(crate) fn all_disjoint(extents: &[Extent]) -> Result<(), Refusal> {
    let mut rest = extents;
    while let Some((first, others)) = rest.split_first() {
        disjoint(first, others)?;
        rest = others;
    }
    Ok(())
}

/// Refuses if `written` overlaps one of `others`.
pub(crate) fn disjoint(written: &Extent, others: &[Extent]) -> Result<(), Refusal> {
    let overlaps = |other: &Extent| written.start < other.end && other.start < written.end;
    if others.iter().any(overlaps) {
        return Err(Refusal(UNDERTONE_STATUS_OVERLAP));
    }
    Ok(())
}

/// Refuses a buffer for fewer values than `needed`, and says how many are.
///
/// # Safety
/// [`one`] accepted `out_written`, which is writable.
pub(crate) unsafe fn capacity(
    found: usize,
    needed: usize,
    out_written: *mut usize,
) -> Result<(), Refusal> {
    if found < needed {
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_written.write(needed) };
        return Err(Refusal(UNDERTONE_STATUS_BUFFER_TOO_SMALL));
    }
    Ok(())
}

/// Writes values to a caller's buffer, and how many they are.
///
/// # Safety
/// [`array`](fn@array) accepted `out` for at least as many values as there are, [`one`] accepted
/// `out_written`, both are writable, and nothing else is read or written through other pointers to them
/// during the call.
pub(crate) unsafe fn write_all<T>(
    values: impl ExactSizeIterator<Item = T>,
    out: *mut T,
    out_written: *mut usize,
) {
    let mut written = 0;
    let count = values.len();
    for value in values.take(count) {
        // SAFETY: fewer than `count` values were written, for which there is room.
        unsafe { out.add(written).write(value) };
        written += 1;
    }
    // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
    unsafe { out_written.write(written) };
}

/// The values that [`array`](fn@array) found.
///
/// # Safety
/// [`array`](fn@array) accepted `start` and `count`; the values are initialised and nobody writes to them
/// during `'a`.
pub(crate) unsafe fn slice<'a, T>(start: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: `array` made sure that `start` is not null, aligned, and that the length in bytes is
    // at most isize::MAX without wrapping around; the rest is the caller's promise.
    unsafe { slice::from_raw_parts(start, count) }
}

/// A type that C sees as an opaque handle.
pub(crate) trait Handle: Sized {
    /// What the handle's memory holds.
    type Value;
    /// Tells the kinds of handles apart. Its lowest bit is set and the next one is not.
    const TAG: usize;
}

/// The content of a handle's memory.
#[repr(C)]
struct Slot<T> {
    /// `Handle::TAG` and the slot's own address, so that memory that was never initialised, holds
    /// another kind, or is a copy is recognised (a copy of a document would be a second release of
    /// its sentences).
    tag: usize,
    value: T,
}

/// Set in a tag while the handle must not be used. Addresses of slots are multiples of 4.
const BUSY_BIT: usize = 2;

/// The bytes that a handle needs.
pub(crate) const fn size<H: Handle>() -> usize {
    size_of::<Slot<H::Value>>()
}

/// The alignment that a handle needs.
pub(crate) const fn alignment<H: Handle>() -> usize {
    align_of::<Slot<H::Value>>()
}

fn tag_at<H: Handle>(handle: *const H) -> usize {
    const {
        assert!(H::TAG & 1 == 1 && H::TAG & BUSY_BIT == 0 && alignment::<H>() >= 4);
    }
    H::TAG ^ handle.addr()
}

/// The extent of a handle in `memory`, if it fits there.
pub(crate) fn room<H: Handle>(memory: *mut c_void, len: usize) -> Result<Extent, Refusal> {
    let extent = one(memory.cast::<Slot<H::Value>>())?;
    if len < extent.len() {
        return Err(Refusal(UNDERTONE_STATUS_MEMORY_TOO_SMALL));
    }
    Ok(extent)
}

/// Makes a handle of `memory` and writes it to `out`. If `make` refuses, there is no valid handle in `memory`
/// and nothing in `out`.
///
/// Inlined, so that the value is made where it stays: a document would be copied over the stack.
///
/// # Safety
/// [`room`] accepted `memory` and [`one`] accepted `out`; they do not overlap, both are writable, and nobody
/// else uses them during the call.
#[inline(always)]
pub(crate) unsafe fn place<H: Handle>(
    memory: *mut c_void,
    out: *mut *mut H,
    make: impl FnOnce() -> Result<H::Value, Refusal>,
) -> Result<(), Refusal> {
    let slot = memory.cast::<Slot<H::Value>>();
    let handle = memory.cast::<H>();
    // SAFETY: `room` and `one` made sure that the pointers are not null and aligned; the caller says that
    // they are writable. The value that a former handle may have left is not dropped: what handles hold owns
    // nothing outside their memory.
    unsafe {
        (&raw mut (*slot).tag).write(0);
        (&raw mut (*slot).value).write(make()?);
        (&raw mut (*slot).tag).write(tag_at(handle));
        out.write(handle);
    }
    Ok(())
}

/// The value of a handle, and the handle's extent, if the handle is valid.
///
/// # Safety
/// `handle` is null or [`size`] readable bytes.
pub(crate) unsafe fn value<H: Handle>(
    handle: *const H,
) -> Result<(*mut H::Value, Extent), Refusal> {
    let slot = handle.cast::<Slot<H::Value>>().cast_mut();
    let extent = one(slot)?;
    // SAFETY: `one` made sure that `slot` is not null and aligned; the caller says that it is
    // readable.
    let (tag, value) = unsafe { ((&raw const (*slot).tag).read(), &raw mut (*slot).value) };
    match tag ^ tag_at(handle) {
        0 => Ok((value, extent)),
        BUSY_BIT => Err(Refusal(UNDERTONE_STATUS_BUSY)),
        _ => Err(Refusal(UNDERTONE_STATUS_BAD_HANDLE)),
    }
}

/// Runs `call` on the value of a handle, which refuses every other use until `call` is done.
///
/// # Safety
/// [`value`] returned `value` for `handle`, and nobody else uses the handle's memory during the
/// call, unless through [`value`] in `call`.
pub(crate) unsafe fn exclusively<H: Handle, R>(
    handle: *mut H,
    value: *mut H::Value,
    call: impl FnOnce(&mut H::Value) -> R,
) -> R {
    let tag = handle.cast::<usize>();
    // SAFETY: the tag is the first field of a slot, which is `repr(C)`, and `value` made sure that
    // the slot is there. The reference covers the other field alone, which `value` gives to nobody
    // while the tag is busy, so it is the only one.
    unsafe {
        tag.write(tag_at(handle) ^ BUSY_BIT);
        let result = call(&mut *value);
        tag.write(tag_at(handle));
        result
    }
}
