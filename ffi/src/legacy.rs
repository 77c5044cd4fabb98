//! The checks of the files that do not use `checked!` yet.

use core::ffi::c_void;
use core::ops::Range;
use core::slice;

use crate::interface::*;
use crate::memory::{BUSY_BIT, Handle, Slot, tag_at};
use crate::status::Refusal;

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
