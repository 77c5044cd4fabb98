//! The privacy budget.

use core::ffi::c_void;

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES};

use crate::entropy::{Callback, UndertoneEntropyFn};
use crate::epsilon;
use crate::grant::UndertoneGrant;
use crate::memory::{self, Handle};
use crate::pack::UNDERTONE_HANDLE_ALIGNMENT;
use crate::status::{
    Refusal, UNDERTONE_STATUS_ENTROPY_FAILED, UNDERTONE_STATUS_INTERNAL,
    UNDERTONE_STATUS_LEDGER_CHANGED, UNDERTONE_STATUS_LEDGER_DAMAGED,
    UNDERTONE_STATUS_LEDGER_EXHAUSTED, UNDERTONE_STATUS_LEDGER_FROM_FUTURE,
    UNDERTONE_STATUS_LEDGER_MIXED, UNDERTONE_STATUS_LEDGER_NO_BUDGET,
    UNDERTONE_STATUS_LEDGER_NOT_PERSISTED, UNDERTONE_STATUS_LEDGER_NOT_RESERVED,
    UNDERTONE_STATUS_LEDGER_RECORD_LOST, UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION,
    UNDERTONE_STATUS_LEDGER_WORN_OUT, UNDERTONE_STATUS_LEDGER_WRONG_LENGTH,
    UNDERTONE_STATUS_NOT_A_LEDGER, UNDERTONE_STATUS_NULL_POINTER, report,
};

/// Bytes that are enough for an `undertone_ledger` on every target.
pub const UNDERTONE_LEDGER_HANDLE_SIZE: usize = 512;
/// The length of a ledger's file.
pub const UNDERTONE_LEDGER_IMAGE_BYTES: usize = 128;
/// The length of a record, which is what a reservation writes.
pub const UNDERTONE_LEDGER_RECORD_BYTES: usize = 64;

const _: () = assert!(
    UNDERTONE_LEDGER_IMAGE_BYTES == LEDGER_BYTES && UNDERTONE_LEDGER_RECORD_BYTES == RECORD_BYTES
);
const _: () = assert!(
    memory::size::<UndertoneLedger>() <= UNDERTONE_LEDGER_HANDLE_SIZE
        && memory::alignment::<UndertoneLedger>() <= UNDERTONE_HANDLE_ALIGNMENT
);

/// A privacy budget: an epsilon for every window of time, kept in a file that survives a power cut.
///
/// The app locks the file, by the rule in the README of the folder ffi, and spends like this: read the file,
/// `undertone_ledger_reserve`, write the record where it says, sync, read the file again,
/// `undertone_ledger_grant`. The grants of a window add up to at most its budget, over all runs of the app. Use
/// one ledger for each kind of guarantee: epsilons of sentences and of words or vectors do not add up.
///
/// Out of scope: a file that is restored from a backup, a cloned device, a clock that is set forward, a process
/// that forks and spends on both sides.
pub struct UndertoneLedger {
    _opaque: (),
}

impl Handle for UndertoneLedger {
    type Value = Ledger;
    const TAG: usize = 0x6c65_6765;
}

fn refusal(error: LedgerError) -> Refusal {
    Refusal(match error {
        LedgerError::NoBudget => UNDERTONE_STATUS_LEDGER_NO_BUDGET,
        LedgerError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        LedgerError::Length { .. } => UNDERTONE_STATUS_LEDGER_WRONG_LENGTH,
        LedgerError::NotALedger => UNDERTONE_STATUS_NOT_A_LEDGER,
        LedgerError::Version { .. } => UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION,
        LedgerError::Damaged => UNDERTONE_STATUS_LEDGER_DAMAGED,
        LedgerError::Mixed => UNDERTONE_STATUS_LEDGER_MIXED,
        LedgerError::Changed => UNDERTONE_STATUS_LEDGER_CHANGED,
        LedgerError::FromFuture { .. } => UNDERTONE_STATUS_LEDGER_FROM_FUTURE,
        LedgerError::Exhausted { .. } => UNDERTONE_STATUS_LEDGER_EXHAUSTED,
        LedgerError::WornOut => UNDERTONE_STATUS_LEDGER_WORN_OUT,
        LedgerError::NotPersisted => UNDERTONE_STATUS_LEDGER_NOT_PERSISTED,
        LedgerError::Lost => UNDERTONE_STATUS_LEDGER_RECORD_LOST,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// Makes the image of a new ledger.
///
/// The app writes it to a file beside its place, syncs, and renames it. The budget of a ledger is fixed;
/// another budget is another promise and needs its own ledger.
///
/// `budget_micro`: epsilon for every window in micro-units, at least 1. `entropy`: called once, with
/// `context`, for 8 bytes that name the ledger. `out_image`: `out_capacity` bytes,
/// `UNDERTONE_LEDGER_IMAGE_BYTES` are enough. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed.
///
/// Statuses: `UNDERTONE_STATUS_LEDGER_NO_BUDGET`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: any.
///
/// # Safety
/// `entropy` is NULL or keeps the promises of `undertone_entropy_fn` with `context`; `out_image` is NULL or
/// `out_capacity` writable bytes; `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_create_image(
    budget_micro: u64,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out_image: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report(|| {
        let image = memory::array(out_image, out_capacity)?;
        let written = memory::one(out_written)?;
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        memory::all_disjoint(&[image, written])?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, UNDERTONE_LEDGER_IMAGE_BYTES, out_written) }?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(function, context) };
        let image = Ledger::create(budget_micro, &mut entropy).map_err(refusal)?;
        // SAFETY: `array` and `one` found the pointers aligned and not null (the capacity is not 0),
        // and the capacity holds the file; the caller says that they are writable.
        unsafe {
            out_image
                .cast::<[u8; UNDERTONE_LEDGER_IMAGE_BYTES]>()
                .write(image);
            out_written.write(UNDERTONE_LEDGER_IMAGE_BYTES);
        }
        Ok(())
    })
}

/// The bytes that `undertone_ledger_init` needs, at most `UNDERTONE_LEDGER_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_ledger_handle_size() -> usize {
    memory::size::<UndertoneLedger>()
}

/// The alignment that `undertone_ledger_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_ledger_handle_alignment() -> usize {
    memory::alignment::<UndertoneLedger>()
}

/// Opens the ledger of an image.
///
/// The app locks the file before it reads it, until it is done with the ledger. Without the lock, what two
/// writers spend at once would be forgotten.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_ledger_handle_size()`, aligned to
/// `undertone_ledger_handle_alignment()`; what `malloc` returns is aligned. `image`: the `image_len` bytes of
/// the file, which are copied. `entropy`: called once, with `context`, for 8 bytes that distinguish what this
/// handle writes from what others write. `out_ledger`: the handle, which lies in `memory` and must not be moved
/// or copied.
///
/// There is nothing to free. If the call fails, `memory` may have been written to. If the status says that the
/// image is wrong, what was spent is unknown: then make a new ledger only for a window in which nothing was
/// released.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_NOT_A_LEDGER`, `UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION`,
/// `UNDERTONE_STATUS_LEDGER_DAMAGED`, `UNDERTONE_STATUS_LEDGER_MIXED`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: any, with `memory` of their own. A ledger is used by one thread at a time.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `image` is NULL or `image_len` readable bytes;
/// `entropy` is NULL or keeps the promises of `undertone_entropy_fn` with `context`; `out_ledger` is NULL
/// or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_init(
    memory: *mut c_void,
    memory_len: usize,
    image: *const u8,
    image_len: usize,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out_ledger: *mut *mut UndertoneLedger,
) -> i32 {
    report(|| {
        let extents = [
            memory::array(image, image_len)?,
            memory::one(out_ledger)?,
            memory::room::<UndertoneLedger>(memory, memory_len)?,
        ];
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        memory::all_disjoint(&extents)?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(function, context) };
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let image = unsafe { memory::slice(image, image_len) };
        let make = || Ledger::open(image, &mut entropy).map_err(refusal);
        // SAFETY: `room` and `one` accepted the pointers, which overlap nothing else that is used here; the
        // caller says that they are writable.
        unsafe { memory::place(memory, out_ledger, make) }
    })
}

/// The budget left in a window.
///
/// `window`: a public number that never decreases, such as the days since 1970. `out_micro`: the budget left,
/// in micro-units. It is private if an epsilon was chosen by looking at a text.
///
/// Statuses: `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`.
///
/// Threads: any.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_init` returned; `out_micro` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_remaining(
    ledger: *const UndertoneLedger,
    window: u64,
    out_micro: *mut u64,
) -> i32 {
    report(|| {
        let written = memory::one(out_micro)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(ledger) }?;
        memory::disjoint(&written, &[extent])?;
        // SAFETY: the tag says that `undertone_ledger_init` put a ledger there; nobody writes to it.
        let remaining = unsafe { &*value }.remaining(window).map_err(refusal)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_micro.write(remaining) };
        Ok(())
    })
}

/// Reserves an epsilon in a window. It counts as spent from now on, whatever happens to the reservation; if the
/// call fails, nothing was reserved.
///
/// `epsilon_micro`: epsilon in micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO`. `window`: as for
/// `undertone_ledger_remaining`; a window far in the future locks the ledger until then. `image`: the
/// `image_len` bytes of the file, as it is now. `out_record`: `out_capacity` bytes,
/// `UNDERTONE_LEDGER_RECORD_BYTES` are enough: what the app writes. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed. `out_offset`: where the record goes in the file.
///
/// The app writes the record there, syncs, reads the file and calls `undertone_ledger_grant`.
///
/// Statuses: `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_LEDGER_CHANGED`, `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`,
/// `UNDERTONE_STATUS_LEDGER_EXHAUSTED`, `UNDERTONE_STATUS_LEDGER_WORN_OUT`.
///
/// Threads: no other call may use the ledger at the same time.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_init` returned; `image` is NULL or `image_len` readable
/// bytes; `out_record` is NULL or `out_capacity` writable bytes; `out_written` and `out_offset` are NULL or
/// writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_reserve(
    ledger: *mut UndertoneLedger,
    epsilon_micro: u32,
    window: u64,
    image: *const u8,
    image_len: usize,
    out_record: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
    out_offset: *mut usize,
) -> i32 {
    report(|| {
        let read = memory::array(image, image_len)?;
        let record = memory::array(out_record, out_capacity)?;
        let (written, offset) = (memory::one(out_written)?, memory::one(out_offset)?);
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(ledger) }?;
        memory::all_disjoint(&[extent, read, record, written, offset])?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, UNDERTONE_LEDGER_RECORD_BYTES, out_written) }?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let image = unsafe { memory::slice(image, image_len) };
        // SAFETY: the tag says that `undertone_ledger_init` put a ledger there, which no other call
        // uses; all else lies elsewhere.
        let reservation = unsafe { &mut *value }
            .reserve(epsilon, window, image)
            .map_err(refusal)?;
        // SAFETY: `array` and `one` found the pointers aligned and not null (the capacity is not 0),
        // and the capacity holds a record; the caller says that they are writable.
        unsafe {
            out_record
                .cast::<[u8; UNDERTONE_LEDGER_RECORD_BYTES]>()
                .write(*reservation.record());
            out_written.write(UNDERTONE_LEDGER_RECORD_BYTES);
            out_offset.write(reservation.offset());
        }
        Ok(())
    })
}

/// Makes the grant of the last reservation, once its record is on storage.
///
/// `image`: the `image_len` bytes of the file, read after the record was written and synced. They prove that it
/// is there. `memory`: `memory_len` bytes for the grant, at least `undertone_grant_handle_size()`, aligned to
/// `undertone_grant_handle_alignment()`. `out_grant`: the handle, which lies in `memory` and must not be moved
/// or copied.
///
/// After `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` the app may write the record and read the file again; the
/// reserved epsilon stays spent either way. `UNDERTONE_STATUS_LEDGER_RECORD_LOST` says that an earlier record
/// was lost, in a power cut for example, and that this reservation recorded the rest of its window as spent.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_NOT_RESERVED`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`, `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED`,
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST`.
///
/// Threads: no other call may use the ledger at the same time.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_init` returned; `image` is NULL or `image_len` readable bytes;
/// `memory` is NULL or `memory_len` writable bytes; `out_grant` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_grant(
    ledger: *mut UndertoneLedger,
    image: *const u8,
    image_len: usize,
    memory: *mut c_void,
    memory_len: usize,
    out_grant: *mut *mut UndertoneGrant,
) -> i32 {
    report(|| {
        let read = memory::array(image, image_len)?;
        let written = memory::one(out_grant)?;
        let room = memory::room::<UndertoneGrant>(memory, memory_len)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(ledger) }?;
        memory::all_disjoint(&[extent, read, written, room])?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let image = unsafe { memory::slice(image, image_len) };
        // SAFETY: the tag says that `undertone_ledger_init` put a ledger there, which no other call
        // uses; all else lies elsewhere.
        let reservation = unsafe { &mut *value }
            .resume()
            .ok_or(Refusal(UNDERTONE_STATUS_LEDGER_NOT_RESERVED))?;
        let grant = reservation.persisted(image).map_err(refusal)?;
        // SAFETY: `room` and `one` accepted the pointers, and they do not overlap; the caller says that
        // they are writable.
        unsafe { memory::place(memory, out_grant, || Ok(Some(grant))) }
    })
}
