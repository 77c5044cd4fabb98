//! The privacy budget.

use core::ffi::c_void;
use core::num::NonZero;

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{
    Contents, Cost, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage,
};
use undertone_core::release::MAX_BAG_SIZE;

use crate::entropy::{Callback, UndertoneEntropyFn};
use crate::epsilon;
use crate::grant::UndertoneGrant;
use crate::interface::*;
use crate::legacy::{self as memory, Extent};
use crate::memory::Handle;
use crate::release::unit_of;
use crate::status::{Refusal, report};

/// A privacy budget: an epsilon for every window of time, kept in a file that survives a power cut. It is for one unit
/// (`UNDERTONE_UNIT_`), because epsilons for different units do not add up, and its grants are, too. The grants of a window add
/// up to at most its budget, over all runs of the app.
///
/// `undertone_ledger_spend` does all that spending takes, without this handle. The handle is for storage that answers later:
/// lock the file, by the rule in the README of the folder ffi, read it, `undertone_ledger_reserve_epsilon`, write the record
/// where it says, sync, read the file again, `undertone_ledger_grant`. These steps take no counter of the platform, and what they
/// spend is not counted: a counter refuses such a ledger.
///
/// Out of scope: a file that is restored from a backup (unless the storage has a counter), a cloned device, a clock that is
/// set forward, a process that forks and spends on both sides.
pub struct UndertoneLedger {
    _opaque: (),
}

impl Handle for UndertoneLedger {
    type Value = Ledger;
    const TAG: usize = 0x6c65_6765;
    const LARGEST: usize = UNDERTONE_LEDGER_HANDLE_SIZE;
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
        LedgerError::Unit(_) => UNDERTONE_STATUS_LEDGER_WRONG_UNIT,
        LedgerError::SetBack { .. } => UNDERTONE_STATUS_LEDGER_SET_BACK,
        LedgerError::NotRaised { .. } => UNDERTONE_STATUS_LEDGER_NOT_RAISED,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// What a release of so many words costs; of one, anything but a bag.
fn cost(epsilon_micro: u32, word_count: u32) -> Result<Cost, Refusal> {
    let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
    let words = u16::try_from(word_count).ok();
    let words = words.filter(|words| *words <= MAX_BAG_SIZE);
    let words = words.and_then(NonZero::new);
    let words = words.ok_or(Refusal(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE))?;
    Ok(Cost::bag(epsilon, words))
}

/// How an app reads and writes a ledger's file for `undertone_ledger_spend`, and the platform's monotonic counter if it has
/// one. Each function gets `context`, returns 0, or anything else if it failed, and returns normally: no `longjmp`, no
/// exception. None may use this ledger, nor may the source of entropy: what a call spends within another is overwritten, so two
/// grants would cost what one does.
///
/// `lock` locks the file, by the rule in the README of the folder ffi, and `unlock` is called once after each `lock` that
/// returned 0. Both are NULL if nothing else can use the file. `read` reads the file from its start, at most `capacity`
/// bytes, which is one more than a ledger has, and says how many. `write` writes `len` bytes at `offset` and returns once they
/// are durable (`fsync`).
///
/// `read_counter` and `raise_counter` are NULL, or the platform's monotonic counter, by which a file that was set back is
/// noticed (README of the folder ffi): one that is 0 at first and never goes back, kept where the file is not, for this
/// ledger alone. `raise_counter` returns once it is `to` for good; a counter that only steps is stepped as often as that
/// takes, which is almost always once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UndertoneLedgerStorage {
    /// What each function gets.
    pub context: *mut c_void,
    /// Locks the file, or says that another program has it.
    pub lock: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
    /// Unlocks it.
    pub unlock: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Reads the file.
    pub read: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            out: *mut u8,
            capacity: usize,
            out_read: *mut usize,
        ) -> i32,
    >,
    /// Writes to the file, durably.
    pub write: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            offset: usize,
            bytes: *const u8,
            len: usize,
        ) -> i32,
    >,
    /// Reads the counter.
    pub read_counter:
        Option<unsafe extern "C" fn(context: *mut c_void, out_counter: *mut u64) -> i32>,
    /// Raises the counter, durably.
    pub raise_counter: Option<unsafe extern "C" fn(context: *mut c_void, to: u64) -> i32>,
}

/// A function of the app did not return 0.
struct Failed;

/// The functions of an app, which keep the promises of [`UndertoneLedgerStorage`].
struct AppStorage(UndertoneLedgerStorage);

impl AppStorage {
    /// # Safety
    /// `storage` is null or readable, and its functions keep its promises as long as the result lives.
    unsafe fn new(storage: *const UndertoneLedgerStorage) -> Result<(Self, Extent), Refusal> {
        let extent = memory::one(storage)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is readable.
        let storage = unsafe { storage.read() };
        let files = storage.read.is_some() && storage.write.is_some();
        let locks = storage.lock.is_some() == storage.unlock.is_some();
        let counters = storage.read_counter.is_some() == storage.raise_counter.is_some();
        if !files || !locks || !counters {
            return Err(Refusal(UNDERTONE_STATUS_NULL_POINTER));
        }
        Ok((Self(storage), extent))
    }

    /// Does what `call` does while the file is locked.
    fn locked<T>(
        &mut self,
        call: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if let Some(lock) = self.0.lock {
            // SAFETY: `new` was promised that the function may be called with the context.
            let locked = unsafe { lock(self.0.context) };
            done(locked).map_err(|Failed| Refusal(UNDERTONE_STATUS_LEDGER_IN_USE))?;
        }
        let result = call(self);
        if let Some(unlock) = self.0.unlock {
            // SAFETY: as above.
            unsafe { unlock(self.0.context) };
        }
        result
    }

    /// Reads the file.
    fn image<'b>(&mut self, buffer: &'b mut [u8; LEDGER_BYTES + 1]) -> Result<&'b [u8], Refusal> {
        let found = self.read(buffer).map_err(storage_failed)?;
        let image = buffer.get(..found);
        image.ok_or(Refusal(UNDERTONE_STATUS_LEDGER_WRONG_LENGTH))
    }
}

fn done(result: i32) -> Result<(), Failed> {
    match result {
        0 => Ok(()),
        _ => Err(Failed),
    }
}

fn storage_failed(_: Failed) -> Refusal {
    Refusal(UNDERTONE_STATUS_LEDGER_STORAGE_FAILED)
}

fn spend_refusal(error: SpendError<Failed>) -> Refusal {
    match error {
        SpendError::Ledger(error) => refusal(error),
        SpendError::Storage(failed) => storage_failed(failed),
    }
}

impl Storage for AppStorage {
    type Error = Failed;

    fn read(&mut self, image: &mut [u8]) -> Result<usize, Failed> {
        let mut read = 0;
        let function = self.0.read.ok_or(Failed)?;
        // SAFETY: `new` was promised that the function may be called with the context and writable bytes.
        done(unsafe {
            function(
                self.0.context,
                image.as_mut_ptr(),
                image.len(),
                &raw mut read,
            )
        })?;
        Ok(read)
    }

    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Failed> {
        let function = self.0.write.ok_or(Failed)?;
        // SAFETY: `new` was promised that the function may be called with the context and readable bytes.
        done(unsafe { function(self.0.context, offset, record.as_ptr(), record.len()) })
    }

    fn counter(&mut self) -> Result<Option<u64>, Failed> {
        let Some(function) = self.0.read_counter else {
            return Ok(None);
        };
        let mut counter = 0;
        // SAFETY: `new` was promised that the function may be called with the context and a writable number.
        done(unsafe { function(self.0.context, &raw mut counter) })?;
        Ok(Some(counter))
    }

    fn raise_counter(&mut self, to: u64) -> Result<(), Failed> {
        let function = self.0.raise_counter.ok_or(Failed)?;
        // SAFETY: `new` was promised that the function may be called with the context.
        done(unsafe { function(self.0.context, to) })
    }
}

/// Spends an epsilon from a ledger, with everything done in the right order: locks the file, reads it, writes what is spent,
/// makes sure that storage has it, and makes the grant. A platform's counter is raised before the file is written.
///
/// `storage`: how the file is read and written. `unit`: one of the `UNDERTONE_UNIT_` numbers, that of the release; a ledger of
/// an older library, which has none, becomes one for this unit. `epsilon_micro`: epsilon in micro-units, 1 to
/// `UNDERTONE_MAX_EPSILON_MICRO`. `word_count`: 1, or for a bag the number of words it releases; each costs epsilon.
/// `window`: a public number that never decreases, such as the days since 1970; one far in the future locks the ledger until
/// then. `entropy`: called once, with `context`, for 8 bytes that distinguish what this call writes from what others write.
/// `memory`: `memory_len` bytes for the grant, at least `undertone_grant_handle_size()`, aligned to
/// `undertone_grant_handle_alignment()`. `out_grant`: the handle, which lies in `memory` and must not be moved or copied.
/// `out_left`: NULL, or where to write what is left in the window, in micro-units; written whenever the ledger could be read,
/// also if it refuses. It is private if an epsilon was chosen by looking at a text.
///
/// If the file is missing, the storage says that `read` failed; `undertone_ledger_create_image` makes a new one. A file that
/// is empty or too short is `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`, one of zeroes or something else, which an interrupted
/// beginning anew may leave, `UNDERTONE_STATUS_NOT_A_LEDGER`, one with both records torn `UNDERTONE_STATUS_LEDGER_DAMAGED`, one
/// with records of two ledgers `UNDERTONE_STATUS_LEDGER_MIXED`: what was spent is not known, so begin anew with
/// `undertone_ledger_begin_anew`.
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST` says that one record was torn, in a power cut for example: the rest of this window
/// was recorded as spent, and the next window is as usual. With `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_NOT_RAISED` and `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` epsilon may be spent, and nothing is granted.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`, `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_LEDGER_IN_USE`,
/// `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_SET_BACK`, `UNDERTONE_STATUS_LEDGER_NOT_RAISED`, those
/// of `undertone_ledger_open`, `undertone_ledger_reserve_epsilon` and `undertone_ledger_grant`.
///
/// Threads: any, with `memory` of their own, as far as the functions of `storage` allow.
///
/// # Safety
/// `storage` is NULL or readable, and its functions keep its promises; `entropy` is NULL or keeps the promises of
/// `undertone_entropy_fn` with `context`; `memory` is NULL or `memory_len` writable bytes; `out_grant` and `out_left` are NULL
/// or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_spend(
    storage: *const UndertoneLedgerStorage,
    unit: i32,
    epsilon_micro: u32,
    word_count: u32,
    window: u64,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    memory: *mut c_void,
    memory_len: usize,
    out_grant: *mut *mut UndertoneGrant,
    out_left: *mut u64,
) -> i32 {
    report(|| {
        let written = memory::one(out_grant)?;
        let left = memory::optional(out_left)?;
        let room = memory::room::<UndertoneGrant>(memory, memory_len)?;
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        // SAFETY: the caller's promise is the one that `new` asks for.
        let (mut storage, extent) = unsafe { AppStorage::new(storage) }?;
        memory::all_disjoint(&[extent, written, left, room])?;
        let unit = unit_of(unit)?;
        let cost = cost(epsilon_micro, word_count)?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(Some(function), context) };
        let grant = storage.locked(|storage| {
            let mut buffer = [0; LEDGER_BYTES + 1];
            let image = storage.image(&mut buffer)?;
            let mut ledger = Ledger::open(unit, image, &mut entropy).map_err(refusal)?;
            let spent = ledger.spend(cost, window, storage);
            if let Ok(remaining) = ledger.remaining(window) {
                // SAFETY: `optional` accepted the pointer; the caller says that it is null or writable.
                unsafe { memory::give(out_left, remaining) };
            }
            spent.map_err(spend_refusal)
        })?;
        // SAFETY: `room` and `one` accepted the pointers, and they do not overlap; the caller says that
        // they are writable.
        unsafe { memory::place(memory, out_grant, || Ok(Some(grant))) }
    })
}

/// What is left in a window of the ledger in a file. Nothing is written.
///
/// `storage`, `unit`, `window`: as for `undertone_ledger_spend`. `out_micro`: what is left, in micro-units; 0 if a record was
/// lost. It is private if an epsilon was chosen by looking at a text.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_IN_USE`, `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_SET_BACK`, `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`, those of `undertone_ledger_open`.
///
/// Threads: any, as far as the functions of `storage` allow.
///
/// # Safety
/// `storage` is NULL or readable, and its functions keep its promises; `out_micro` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_left(
    storage: *const UndertoneLedgerStorage,
    unit: i32,
    window: u64,
    out_micro: *mut u64,
) -> i32 {
    report(|| {
        let written = memory::one(out_micro)?;
        // SAFETY: the caller's promise is the one that `new` asks for.
        let (mut storage, extent) = unsafe { AppStorage::new(storage) }?;
        memory::disjoint(&written, &[extent])?;
        let unit = unit_of(unit)?;
        let contents = storage.locked(|storage| {
            let mut buffer = [0; LEDGER_BYTES + 1];
            let image = storage.image(&mut buffer)?;
            let counter = storage.counter().map_err(storage_failed)?;
            Contents::read(image, counter).map_err(refusal)
        })?;
        if contents.unit().is_some_and(|found| found != unit) {
            return Err(Refusal(UNDERTONE_STATUS_LEDGER_WRONG_UNIT));
        }
        let remaining = contents.remaining(window).map_err(refusal)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_micro.write(remaining) };
        Ok(())
    })
}

/// Makes the image of a ledger that takes the place of one that was lost, damaged or set back. What was spent is not known, so
/// `window` counts as spent: it is the current one, or later.
///
/// The app locks the file, writes the image to a file beside it, syncs, and renames it. If `storage` has a counter, the call
/// raises it, so that no older file is taken for the ledger; its other functions are not called.
///
/// `storage`: as for `undertone_ledger_spend`. `unit`, `budget_micro`, `entropy`, `context`, `out_image`, `out_capacity`,
/// `out_written`: as for `undertone_ledger_create_image`.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`, `UNDERTONE_STATUS_LEDGER_WORN_OUT`, `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_NOT_RAISED`.
///
/// Threads: any, as far as the functions of `storage` allow.
///
/// # Safety
/// `storage` is NULL or readable, and its functions keep its promises; `entropy` is NULL or keeps the promises of
/// `undertone_entropy_fn` with `context`; `out_image` is NULL or `out_capacity` writable bytes; `out_written` is NULL or
/// writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_begin_anew(
    storage: *const UndertoneLedgerStorage,
    unit: i32,
    budget_micro: u64,
    window: u64,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out_image: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    // SAFETY: the caller's promises are those that the calls ask for.
    unsafe {
        image(
            (entropy, context),
            (out_image, out_capacity, out_written),
            |entropy, written| {
                let (mut storage, extent) = AppStorage::new(storage)?;
                memory::all_disjoint(&[extent, written])?;
                let unit = unit_of(unit)?;
                let image = Ledger::begin_anew(unit, budget_micro, window, &mut storage, entropy);
                image.map_err(spend_refusal)
            },
        )
    }
}

/// Writes the image that `make` makes. `make` is told where the image goes.
///
/// # Safety
/// As for [`undertone_ledger_create_image`].
unsafe fn image(
    (entropy, context): (UndertoneEntropyFn, *mut c_void),
    (out_image, out_capacity, out_written): (*mut u8, usize, *mut usize),
    make: impl FnOnce(&mut Callback, Extent) -> Result<[u8; LEDGER_BYTES], Refusal>,
) -> i32 {
    report(|| {
        let image = memory::array(out_image, out_capacity)?;
        let written = memory::one(out_written)?;
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        memory::all_disjoint(&[image.clone(), written])?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, UNDERTONE_LEDGER_IMAGE_BYTES, out_written) }?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(Some(function), context) };
        let image = make(&mut entropy, image)?;
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

/// Makes the image of a new ledger.
///
/// The app writes it to a file beside its place, syncs, and renames it. The budget of a ledger is fixed;
/// another budget is another promise and needs its own ledger. Where a ledger was before, call
/// `undertone_ledger_begin_anew`: this one forgets what was spent.
///
/// `unit`: one of the `UNDERTONE_UNIT_` numbers: the releases that the ledger is for. `budget_micro`: epsilon for every window in micro-units, at least 1. `entropy`: called once, with
/// `context`, for 8 bytes that name the ledger. `out_image`: `out_capacity` bytes,
/// `UNDERTONE_LEDGER_IMAGE_BYTES` are enough. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
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
    unit: i32,
    budget_micro: u64,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out_image: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    // SAFETY: the caller's promises are those that the call asks for.
    unsafe {
        image(
            (entropy, context),
            (out_image, out_capacity, out_written),
            |entropy, _| Ledger::create(unit_of(unit)?, budget_micro, entropy).map_err(refusal),
        )
    }
}

/// The bytes that `undertone_ledger_open` needs, at most `UNDERTONE_LEDGER_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_ledger_handle_size() -> usize {
    crate::memory::size::<UndertoneLedger>()
}

/// Opens the ledger of an image.
///
/// The app locks the file before it reads it, until it is done with the ledger. Without the lock, what two
/// writers spend at once would be forgotten.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_ledger_handle_size()`, aligned to
/// `undertone_ledger_handle_alignment()`; what `malloc` returns is aligned. `unit`: one of the `UNDERTONE_UNIT_` numbers: the
/// releases that the grants are for; a ledger of an older library, which names no unit, becomes one for this unit. `image`: the
/// `image_len` bytes of the file, which are copied. `entropy`: called once, with `context`, for 8 bytes that distinguish what this
/// handle writes from what others write. `out_ledger`: the handle, which lies in `memory` and must not be moved
/// or copied.
///
/// There is nothing to free. If the call fails, `memory` may have been written to. If the status says that the
/// image is wrong, what was spent is unknown: then begin anew with `undertone_ledger_begin_anew`.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_WRONG_UNIT`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
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
pub unsafe extern "C" fn undertone_ledger_open(
    memory: *mut c_void,
    memory_len: usize,
    unit: i32,
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
        let unit = unit_of(unit)?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(Some(function), context) };
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let image = unsafe { memory::slice(image, image_len) };
        let make = || Ledger::open(unit, image, &mut entropy).map_err(refusal);
        // SAFETY: `room` and `one` accepted the pointers, which overlap nothing else that is used here; the
        // caller says that they are writable.
        unsafe { memory::place(memory, out_ledger, make) }
    })
}

/// The budget left in a window.
///
/// `window`: a public number that never decreases, such as the days since 1970. `out_micro`: the budget left,
/// in micro-units; 0 if a record was lost. It is private if an epsilon was chosen by looking at a text.
///
/// Statuses: `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`.
///
/// Threads: any.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_open` returned; `out_micro` is NULL or writable.
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
        // SAFETY: the tag says that `undertone_ledger_open` put a ledger there; nobody writes to it.
        let remaining = unsafe { &*value }.remaining(window).map_err(refusal)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_micro.write(remaining) };
        Ok(())
    })
}

/// Reserves an epsilon in a window. It counts as spent from now on, whatever happens to the reservation; if the
/// call fails, nothing was reserved.
///
/// `epsilon_micro`: epsilon in micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO`. `word_count`: 1, or for a bag the number of
/// words it releases; each costs epsilon. `window`: as for
/// `undertone_ledger_remaining`; a window far in the future locks the ledger until then. `image`: the
/// `image_len` bytes of the file, as it is now. `out_record`: `out_capacity` bytes,
/// `UNDERTONE_LEDGER_RECORD_BYTES` are enough: what the app writes. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed. `out_offset`: where the record goes in the file.
///
/// The app writes the record there, syncs, reads the file and calls `undertone_ledger_grant`. So it does with
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, which says that an earlier record was lost, in a power cut for example: then the
/// record says that the rest of the window is spent, `undertone_ledger_remaining` gives 0, and there will be no grant.
///
/// Statuses: `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_LEDGER_CHANGED`, `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`,
/// `UNDERTONE_STATUS_LEDGER_EXHAUSTED`, `UNDERTONE_STATUS_LEDGER_WORN_OUT`.
///
/// Threads: no other call may use the ledger at the same time.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_open` returned; `image` is NULL or `image_len` readable
/// bytes; `out_record` is NULL or `out_capacity` writable bytes; `out_written` and `out_offset` are NULL or
/// writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_reserve_epsilon(
    ledger: *mut UndertoneLedger,
    epsilon_micro: u32,
    word_count: u32,
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
        let cost = cost(epsilon_micro, word_count)?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, UNDERTONE_LEDGER_RECORD_BYTES, out_written) }?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let image = unsafe { memory::slice(image, image_len) };
        // SAFETY: the tag says that `undertone_ledger_open` put a ledger there, which no other call
        // uses; all else lies elsewhere.
        let reservation = unsafe { &mut *value }
            .reserve(cost, window, image, None)
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
        match reservation.is_lost() {
            true => Err(Refusal(UNDERTONE_STATUS_LEDGER_RECORD_LOST)),
            false => Ok(()),
        }
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
/// reserved epsilon stays spent either way. `UNDERTONE_STATUS_LEDGER_RECORD_LOST` says what it said to
/// `undertone_ledger_reserve_epsilon`, and that it is on storage now that the rest of the window is spent.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_NOT_RESERVED`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`, `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED`,
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST`.
///
/// Threads: no other call may use the ledger at the same time.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_open` returned; `image` is NULL or `image_len` readable bytes;
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
        // SAFETY: the tag says that `undertone_ledger_open` put a ledger there, which no other call
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
