//! The privacy budget.

use core::ffi::c_void;
use core::num::NonZero;

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{
    Contents, Cost, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage,
};
use undertone_core::release::MAX_BAG_SIZE;

use crate::epsilon;
use crate::grant::{UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{
    Buffer, Handle, HandleMut, In, Optional, Out, Room, Source, checked, give, size,
};
use crate::release::unit_of;
use crate::status::{Refusal, report};

/// A privacy budget, opened for storage that answers later. `undertone_ledger_spend` does all
/// that spending takes, without this handle.
///
/// The steps: lock the file, by the rule in the README of the folder ffi, read it,
/// `undertone_ledger_open`, `undertone_ledger_reserve_epsilon`, write the record where it says,
/// sync, read the file again, `undertone_ledger_grant`. They take no counter of the platform,
/// and a counter refuses what they spend.
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

/// The cost of a bag of `word_count` words; 1 for every other release.
fn cost(epsilon_micro: u32, word_count: u32) -> Result<Cost, Refusal> {
    let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
    let words = u16::try_from(word_count).ok();
    let words = words.filter(|words| *words <= MAX_BAG_SIZE);
    let words = words.and_then(NonZero::new);
    let words = words.ok_or(Refusal(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE))?;
    Ok(Cost::bag(epsilon, words))
}

/// Functions of the app that read and write a ledger's file, and raise the platform's monotonic
/// counter if it has one. Each gets `context`, returns 0, or anything else if it failed, and
/// returns normally: no `longjmp`, no exception. None may use this ledger, nor may the source of
/// entropy: a call overwrites what another spends within it, so that two grants would cost what
/// one does.
///
/// `lock` and `unlock` are NULL if nothing else can use the file. `lock` locks it by the rule in
/// the README of the folder ffi, and returns something else than 0 if the ledger is in use: it
/// does not wait. `unlock` is called once after each `lock` that returned 0. `read` reads at
/// most `capacity` bytes from the start of the file, which is one more than a ledger has, and
/// writes their number to `out_read`. `write` writes `len` bytes at `offset` and returns once
/// they are durable (`fsync`).
///
/// `read_counter` and `raise_counter` are NULL without a monotonic counter, by which a file that
/// was set back is noticed (README of the folder ffi). It starts at 0, never goes back, is kept
/// where the file is not, and counts this ledger alone. `raise_counter` returns once the counter
/// is `to` for good; one that only steps is stepped until then, which is almost always once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UndertoneLedgerStorage {
    /// The first argument of each function.
    pub context: *mut c_void,
    /// Locks the file, unless it is in use.
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

/// The functions of an app, which keep the promises of [`UndertoneLedgerStorage`] because the
/// caller of the exported function says so.
struct AppStorage(UndertoneLedgerStorage);

impl AppStorage {
    fn new(storage: &[UndertoneLedgerStorage]) -> Result<Self, Refusal> {
        let storage = storage.first().filter(|storage| {
            storage.read.is_some()
                && storage.write.is_some()
                && storage.lock.is_some() == storage.unlock.is_some()
                && storage.read_counter.is_some() == storage.raise_counter.is_some()
        });
        let storage = storage.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        Ok(Self(*storage))
    }

    /// Runs `call` while the file is locked.
    fn locked<T>(
        &mut self,
        call: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if let Some(lock) = self.0.lock {
            // SAFETY: the function keeps its promises.
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
    if result == 0 { Ok(()) } else { Err(Failed) }
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
        // SAFETY: the function keeps its promises, and gets what they require.
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
        // SAFETY: the function keeps its promises, and gets what they require.
        done(unsafe { function(self.0.context, offset, record.as_ptr(), record.len()) })
    }

    fn counter(&mut self) -> Result<Option<u64>, Failed> {
        let Some(function) = self.0.read_counter else {
            return Ok(None);
        };
        let mut counter = 0;
        // SAFETY: the function keeps its promises, and gets what they require.
        done(unsafe { function(self.0.context, &raw mut counter) })?;
        Ok(Some(counter))
    }

    fn raise_counter(&mut self, to: u64) -> Result<(), Failed> {
        let function = self.0.raise_counter.ok_or(Failed)?;
        // SAFETY: the function keeps its promises, and gets what they require.
        done(unsafe { function(self.0.context, to) })
    }
}

/// Spends an epsilon from a ledger: locks and reads the file, raises the platform's counter if
/// there is one, writes what is spent, reads it back, and makes the grant.
///
/// `unit`: one of the `UNDERTONE_UNIT_` numbers, that of the release and of the ledger.
/// `epsilon_micro`: epsilon in micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO`. `word_count`: 1,
/// or the number of words that a bag releases; each costs epsilon. `window`: a public number
/// that never decreases, such as the days since 1970; one far in the future locks the ledger
/// until then. `entropy`: called once, with `context`, for 8 bytes that mark the record of this
/// call. `memory`: `memory_len` bytes for the grant, at least `undertone_grant_handle_size()`,
/// aligned to `UNDERTONE_HANDLE_ALIGNMENT`. `out_grant`: the handle, which lies in `memory` and
/// must not be moved or copied. `out_left`: NULL, or where to write the budget left in the
/// window, in micro-units; written whenever the ledger could be read, even if it refuses. It is
/// private if an epsilon was chosen by looking at a text.
///
/// The README of the folder ffi has a table of the statuses and what an app does about them.
/// After `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_NOT_RAISED` and
/// `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` epsilon may be spent, and nothing is granted. The
/// storage's `read` fails if the file is missing.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
/// `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
/// `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_LEDGER_IN_USE`,
/// `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_SET_BACK`,
/// `UNDERTONE_STATUS_LEDGER_NOT_RAISED`, those of `undertone_ledger_open`,
/// `undertone_ledger_reserve_epsilon` and `undertone_ledger_grant`.
///
/// Threads: any, with `memory` of their own, as far as the functions of `storage` allow.
///
/// # Safety
/// `storage` is NULL or readable, and its functions keep its promises; `entropy` is NULL or
/// keeps the promises of `undertone_entropy_fn` with `context`; `memory` is NULL or `memory_len`
/// writable bytes; `out_grant` and `out_left` are NULL or writable.
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
        let (storage, mut entropy, out_left, grant) = checked!(
            unsafe In(storage, 1),
            Source(entropy, context),
            Optional(out_left),
            Room(memory, memory_len, out_grant),
        );
        let mut storage = AppStorage::new(storage)?;
        let unit = unit_of(unit)?;
        let cost = cost(epsilon_micro, word_count)?;
        let spent = storage.locked(|storage| {
            let mut buffer = [0; LEDGER_BYTES + 1];
            let image = storage.image(&mut buffer)?;
            let mut ledger = Ledger::open(unit, image, &mut entropy).map_err(refusal)?;
            let spent = ledger.spend(cost, window, storage);
            if let Ok(remaining) = ledger.remaining(window) {
                give(out_left, remaining);
            }
            spent.map_err(spend_refusal)
        })?;
        grant.make(|| Ok(Some(spent)))
    })
}

/// Reads the budget left in a window from a ledger's file.
///
/// `unit`, `window`: as for `undertone_ledger_spend`. `image`: the `image_len` bytes of the
/// file, read under its lock. `counter`: NULL, or the platform's counter as it is now.
/// `out_micro`: the budget left, in micro-units; 0 if a record was lost. It is private if an
/// epsilon was chosen by looking at a text.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_SET_BACK`,
/// `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`, those of `undertone_ledger_open` but for the entropy.
///
/// Threads: any.
///
/// # Safety
/// `image` is NULL or `image_len` readable bytes; `counter` is NULL or readable; `out_micro` is
/// NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_remaining(
    unit: i32,
    image: *const u8,
    image_len: usize,
    window: u64,
    counter: *const u64,
    out_micro: *mut u64,
) -> i32 {
    report(|| {
        let counters = usize::from(!counter.is_null());
        let (image, counter, out_micro) =
            checked!(unsafe In(image, image_len), In(counter, counters), Out(out_micro));
        let unit = unit_of(unit)?;
        let contents = Contents::read(image, counter.first().copied()).map_err(refusal)?;
        if contents.unit() != unit {
            return Err(Refusal(UNDERTONE_STATUS_LEDGER_WRONG_UNIT));
        }
        out_micro.write(contents.remaining(window).map_err(refusal)?);
        Ok(())
    })
}

/// Makes the image of a ledger that replaces one that was lost, damaged or set back, or whose
/// window is in the future because a clock was wrong. The present `window` counts as spent,
/// earlier ones are refused, and later ones have their budget, so that no budget is restored if
/// the clock is right now.
///
/// The app locks the file and overwrites it with the image, or makes it as
/// `undertone_ledger_create_image` says. The call raises the counter of `storage`, if there is
/// one, so that no older file is taken for the ledger. It calls no other function of `storage`.
///
/// `storage`, `unit`: as for `undertone_ledger_spend`. `budget_micro`, `entropy`, `context`,
/// `out_image`, `out_capacity`, `out_written`: as for `undertone_ledger_create_image`.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_ENTROPY_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_WORN_OUT`, `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_NOT_RAISED`.
///
/// Threads: any, as far as the functions of `storage` allow.
///
/// # Safety
/// `storage` is NULL or readable, and its functions keep its promises; `entropy` is NULL or
/// keeps the promises of `undertone_entropy_fn` with `context`; `out_image` is NULL or
/// `out_capacity` writable bytes; `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_recreate_spent(
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
    report(|| {
        let (storage, mut entropy, out) = checked!(
            unsafe In(storage, 1),
            Source(entropy, context),
            Buffer(out_image, out_capacity, out_written),
        );
        let mut storage = AppStorage::new(storage)?;
        let out = out.for_at_least(LEDGER_BYTES)?;
        let unit = unit_of(unit)?;
        let image = Ledger::recreate_spent(unit, budget_micro, window, &mut storage, &mut entropy);
        out.write(image.map_err(spend_refusal)?.into_iter());
        Ok(())
    })
}

/// Makes the image of a new ledger.
///
/// The app writes it to a file beside its place, syncs it, renames it, and syncs the folder
/// before anything is spent. The budget of a ledger is fixed; another budget is another promise
/// and needs its own ledger. In the place of an earlier ledger, call
/// `undertone_ledger_recreate_spent`: a new one forgets what was spent.
///
/// `unit`: one of the `UNDERTONE_UNIT_` numbers, that of the releases. `budget_micro`: epsilon
/// for every window in micro-units, at least 1. `entropy`: called once, with `context`, for 8
/// bytes that name the ledger. `out_image`: `out_capacity` bytes, of which
/// `UNDERTONE_LEDGER_IMAGE_BYTES` suffice. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: any.
///
/// # Safety
/// `entropy` is NULL or keeps the promises of `undertone_entropy_fn` with `context`; `out_image`
/// is NULL or `out_capacity` writable bytes; `out_written` is NULL or writable.
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
    report(|| {
        let (mut entropy, out) = checked!(
            unsafe Source(entropy, context),
            Buffer(out_image, out_capacity, out_written),
        );
        let out = out.for_at_least(LEDGER_BYTES)?;
        let image = Ledger::create(unit_of(unit)?, budget_micro, &mut entropy).map_err(refusal)?;
        out.write(image.into_iter());
        Ok(())
    })
}

/// The bytes that `undertone_ledger_open` needs, at most `UNDERTONE_LEDGER_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_ledger_handle_size() -> usize {
    size::<UndertoneLedger>()
}

/// Opens the ledger of an image.
///
/// The app locks the file before it reads it, until it is done with the ledger: without the
/// lock, each of two writers would forget what the other spends.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_ledger_handle_size()`,
/// aligned to `UNDERTONE_HANDLE_ALIGNMENT`; what `malloc` returns is aligned. `unit`: as for
/// `undertone_ledger_spend`. `image`: the `image_len` bytes of the file, which are copied.
/// `entropy`: called once, with `context`, for 8 bytes that mark the records of this handle.
/// `out_ledger`: the handle, which lies in `memory` and must not be moved or copied.
///
/// There is nothing to free. If the call fails, `memory` may have been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_UNIT`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_NOT_A_LEDGER`, `UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION`,
/// `UNDERTONE_STATUS_LEDGER_DAMAGED`, `UNDERTONE_STATUS_LEDGER_MIXED`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: any, with `memory` of their own. A ledger is used by one thread at a time.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `image` is NULL or `image_len` readable
/// bytes; `entropy` is NULL or keeps the promises of `undertone_entropy_fn` with `context`;
/// `out_ledger` is NULL or writable.
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
        let (image, mut entropy, ledger) = checked!(
            unsafe In(image, image_len),
            Source(entropy, context),
            Room(memory, memory_len, out_ledger),
        );
        let unit = unit_of(unit)?;
        ledger.make(|| Ledger::open(unit, image, &mut entropy).map_err(refusal))
    })
}

/// Reserves an epsilon in a window. The handle counts it as spent from now on, whatever happens
/// to the reservation; if the call fails, nothing was reserved.
///
/// `epsilon_micro`, `word_count`, `window`: as for `undertone_ledger_spend`. `image`: the
/// `image_len` bytes of the file, as it is now. `out_record`: `out_capacity` bytes for the
/// record to write, of which `UNDERTONE_LEDGER_RECORD_BYTES` suffice. `out_written`: the bytes
/// written; with `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed. `out_offset`: the place
/// of the record in the file.
///
/// The app writes the record there, syncs, reads the file and calls `undertone_ledger_grant`. It
/// does so with `UNDERTONE_STATUS_LEDGER_RECORD_LOST` as well: then an earlier record was lost,
/// in a power cut for example, the record marks the rest of the window as spent, and there will
/// be no grant.
///
/// Statuses: `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`,
/// `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_LEDGER_CHANGED`, `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`,
/// `UNDERTONE_STATUS_LEDGER_EXHAUSTED`, `UNDERTONE_STATUS_LEDGER_WORN_OUT`.
///
/// Threads: no other call may use the ledger at the same time.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_open` returned; `image` is NULL or `image_len`
/// readable bytes; `out_record` is NULL or `out_capacity` writable bytes; `out_written` and
/// `out_offset` are NULL or writable.
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
        let (ledger, image, out, out_offset) = checked!(
            unsafe HandleMut(ledger),
            In(image, image_len),
            Buffer(out_record, out_capacity, out_written),
            Out(out_offset),
        );
        let cost = cost(epsilon_micro, word_count)?;
        let out = out.for_at_least(RECORD_BYTES)?;
        let reserved = ledger.reserve(cost, window, image, None);
        let reservation = reserved.map_err(refusal)?;
        out.write(reservation.record().iter().copied());
        out_offset.write(reservation.offset());
        if reservation.is_lost() {
            return Err(Refusal(UNDERTONE_STATUS_LEDGER_RECORD_LOST));
        }
        Ok(())
    })
}

/// Makes the grant of the last reservation, once its record is on storage.
///
/// `image`: the `image_len` bytes of the file, read after the record was written and synced, as
/// the proof that it is there. `memory`: `memory_len` bytes for the grant, at least
/// `undertone_grant_handle_size()`, aligned to `UNDERTONE_HANDLE_ALIGNMENT`. `out_grant`: the
/// handle, which lies in `memory` and must not be moved or copied.
///
/// After `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` the app may write the record and read the file
/// again; the reserved epsilon stays spent either way. `UNDERTONE_STATUS_LEDGER_RECORD_LOST`
/// repeats that of `undertone_ledger_reserve_epsilon`: storage now records the rest of the
/// window as spent.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_NOT_RESERVED`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`, `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED`,
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST`.
///
/// Threads: no other call may use the ledger at the same time.
///
/// # Safety
/// `ledger` is NULL or what `undertone_ledger_open` returned; `image` is NULL or `image_len`
/// readable bytes; `memory` is NULL or `memory_len` writable bytes; `out_grant` is NULL or
/// writable.
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
        let (ledger, image, grant) = checked!(
            unsafe HandleMut(ledger),
            In(image, image_len),
            Room(memory, memory_len, out_grant),
        );
        let reservation = ledger.resume();
        let reservation = reservation.ok_or(Refusal(UNDERTONE_STATUS_LEDGER_NOT_RESERVED))?;
        let persisted = reservation.persisted(image).map_err(refusal)?;
        grant.make(|| Ok(Some(persisted)))
    })
}
