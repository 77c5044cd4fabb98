//! The privacy budget.

use core::ffi::c_void;
use core::num::NonZero;

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{
    Contents, Cost, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage,
};

use crate::epsilon;
use crate::grant::{UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{Buffer, Handle, HandleMut, In, Optional, Out, Room, Source, checked, give};
use crate::release::unit_of;
use crate::reservoir::schedule;
use crate::status::{Refusal, report};
use crate::words::bag_size;

/// A privacy budget, opened by an app whose storage is asynchronous. With synchronous storage,
/// `undertone_ledger_spend` does all steps in one call, without this handle.
///
/// The steps: lock the file by the rule in ffi/README.md, read it, `undertone_ledger_open`,
/// `undertone_ledger_reserve_epsilon`, write the record at the offset returned, sync, read the file
/// again, `undertone_ledger_grant`. These steps do not raise a monotonic counter, so do not use
/// them for a ledger that has a counter.
pub struct UndertoneLedger {
    _opaque: (),
}

impl Handle for UndertoneLedger {
    type Value = Ledger;
    const TAG: usize = 0x6c65_6765;
    const SIZE: usize = UNDERTONE_LEDGER_HANDLE_SIZE;
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

/// The cost of a bag of `word_count` words. For any other release `word_count` is 1.
fn cost(epsilon_micro: u32, word_count: u32) -> Result<Cost, Refusal> {
    let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
    let words = bag_size(word_count).and_then(NonZero::new);
    let words = words.ok_or(Refusal(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE))?;
    Ok(Cost::bag(epsilon, words))
}

/// Functions of the app that read and write a ledger's file, and raise the platform's monotonic
/// counter if it has one. Each receives `context` as its first argument, and returns 0 for success
/// or another number for failure. It must return normally: no `longjmp`, no exception. Neither
/// these functions nor the entropy function may call a function of this library on the same ledger,
/// because the nested call would get a second grant for one payment.
///
/// `lock` and `unlock` are NULL if nothing else can use the file. `lock` locks the file by the rule
/// in ffi/README.md. If the ledger is in use, `lock` does not wait but returns a number other than
/// 0. `unlock` is called once after each `lock` that returned 0. `read` reads at most `capacity`
/// bytes from the start of the file and writes the number of bytes read to `out_read`; `capacity`
/// is one byte more than the length of a ledger. `write` writes `len` bytes at `offset` and returns
/// once they are durable (`fsync`).
///
/// A monotonic counter reveals that a file was set back (ffi/README.md). It starts at 0, never
/// decreases, is stored apart from the file, and counts this ledger alone. On a platform without a
/// counter, `read_counter` and `raise_counter` are NULL. `raise_counter` returns once the counter
/// is durably at `to`. If the platform can only increment its counter, increment it until it is at
/// `to`; one increment is nearly always enough.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UndertoneLedgerStorage {
    /// The first argument of each function.
    pub context: *mut c_void,
    /// Locks the file unless it is in use.
    pub lock: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
    /// Unlocks the file.
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

/// The functions of an app. The caller of an exported function guarantees that they do what
/// [`UndertoneLedgerStorage`] documents.
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
            // SAFETY: the function keeps its promises.
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
        let function = self.0.read.ok_or(Failed)?;
        let (start, len, mut read) = (image.as_mut_ptr(), image.len(), 0);
        // SAFETY: the function does what its type documents, and its arguments are valid.
        done(unsafe { function(self.0.context, start, len, &raw mut read) })?;
        Ok(read)
    }

    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Failed> {
        let function = self.0.write.ok_or(Failed)?;
        // SAFETY: the function does what its type documents, and its arguments are valid.
        done(unsafe { function(self.0.context, offset, record.as_ptr(), record.len()) })
    }

    fn counter(&mut self) -> Result<Option<u64>, Failed> {
        let Some(function) = self.0.read_counter else {
            return Ok(None);
        };
        let mut counter = 0;
        // SAFETY: the function does what its type documents, and its arguments are valid.
        done(unsafe { function(self.0.context, &raw mut counter) })?;
        Ok(Some(counter))
    }

    fn raise_counter(&mut self, to: u64) -> Result<(), Failed> {
        let function = self.0.raise_counter.ok_or(Failed)?;
        // SAFETY: the function does what its type documents, and its arguments are valid.
        done(unsafe { function(self.0.context, to) })
    }
}

/// Spends an epsilon from a ledger: locks and reads the file, raises the platform's counter if
/// there is one, writes the new record, reads it back, and makes the grant.
///
/// `unit`: the `UNDERTONE_UNIT_` number of the release and of the ledger. `epsilon_micro`: epsilon
/// in micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO`. `word_count`: 1, or the number of words that
/// a bag releases, because each word costs epsilon. `window`: a public number that never decreases,
/// such as the days since 1970. A window far in the future locks the ledger until that window
/// comes. `entropy`: called once with `context`, for 8 bytes that mark the record of this call.
/// `memory`: for the grant. `out_left`: NULL, or receives the budget left in the window in
/// micro-units whenever the ledger could be read, even if it refuses. The budget left is private if
/// an epsilon was chosen by looking at a text.
///
/// ffi/README.md has a table of the statuses and what an app does about them. After
/// `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_NOT_RAISED` and
/// `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` nothing is granted, although the epsilon may be spent.
/// `read` must fail if the file is missing.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
/// `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
/// `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_LEDGER_IN_USE`,
/// `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`, `UNDERTONE_STATUS_LEDGER_SET_BACK`,
/// `UNDERTONE_STATUS_LEDGER_NOT_RAISED`, and all statuses of `undertone_ledger_open`,
/// `undertone_ledger_reserve_epsilon` and `undertone_ledger_grant`.
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
/// `unit`, `window`: as for `undertone_ledger_spend`. `image`: the `image_len` bytes of the file,
/// read under its lock. `counter`: NULL, or the present value of the platform's counter.
/// `out_micro`: receives the budget left in micro-units, or 0 if a record was lost. The budget left
/// is private if an epsilon was chosen by looking at a text.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_SET_BACK`,
/// `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`, and those of `undertone_ledger_open` except
/// `UNDERTONE_STATUS_MEMORY_TOO_SMALL` and `UNDERTONE_STATUS_ENTROPY_FAILED`.
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

/// Reads the appointments of this device: the slots of a window in which it releases. They are
/// drawn without looking at any text, so an app can show them before anything is typed. Whoever
/// can read the ledger's file can compute them.
///
/// A window has `slot_count` slots, from 0 on, such as the weeks of a year. With
/// `appointment_count` releases in a window, each at `epsilon` for all lines of its slot,
/// everything that somebody types in the window has the promise `appointment_count * epsilon`,
/// which is the budget to give the ledger. Restarts, power cuts and other processes find the same
/// slots.
///
/// `image`: the `image_len` bytes of the file. `window`: as for `undertone_ledger_spend`.
/// `slot_count`, `appointment_count`: 1 to 65535. `out_slots`: `out_capacity` numbers;
/// `appointment_count` are enough. `out_written`: receives the number of slots, or the number
/// needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. The slots ascend; if `slot_count` is smaller
/// than `appointment_count`, all slots are appointed.
///
/// Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, and
/// those of `undertone_ledger_open` about the image.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_appointment(
    image: *const u8,
    image_len: usize,
    window: u64,
    slot_count: u32,
    appointment_count: u32,
    out_slots: *mut u16,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report(|| {
        let (image, out) = checked!(
            unsafe In(image, image_len), Buffer(out_slots, out_capacity, out_written)
        );
        let (slots, count) = (schedule(slot_count)?, schedule(appointment_count)?);
        let contents = Contents::read(image, None).map_err(refusal)?;
        let out = out.for_at_least(slots.min(count).get().into())?;
        out.write(contents.appointment(window, slots, count.get()).slots());
        Ok(())
    })
}

/// Reads whether a release is due in a slot. It is due if, up to the end of the slot, the device
/// has more appointments in the window than releases that it has paid for. So a slot that the
/// device missed is made up for in the next slot in which the app asks.
///
/// If a release is due, the app begins a reservoir for the slot. When the slot has ended, it
/// spends `epsilon_micro` in the window of that slot and releases, even if nothing was typed.
///
/// `image`, `image_len`, `window`, `slot_count`, `appointment_count`: as for
/// `undertone_ledger_appointment`. `counter`: as for `undertone_ledger_remaining`. `slot`: below
/// `slot_count`. `epsilon_micro`: the epsilon of each release; the app must spend nothing else from
/// this ledger. `out_is_due`: receives 1 or 0; it is 0 if the budget left is too small.
///
/// Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`, and those of `undertone_ledger_remaining` about the image.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_ledger_is_due(
    image: *const u8,
    image_len: usize,
    window: u64,
    counter: *const u64,
    slot_count: u32,
    appointment_count: u32,
    slot: u32,
    epsilon_micro: u32,
    out_is_due: *mut i32,
) -> i32 {
    report(|| {
        let counters = usize::from(!counter.is_null());
        let (image, counter, out_is_due) =
            checked!(unsafe In(image, image_len), In(counter, counters), Out(out_is_due));
        let (slots, count) = (schedule(slot_count)?, schedule(appointment_count)?);
        let slot = u16::try_from(slot).ok().filter(|slot| *slot < slots.get());
        let slot = slot.ok_or(Refusal(UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE))?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let contents = Contents::read(image, counter.first().copied()).map_err(refusal)?;
        let appointment = contents.appointment(window, slots, count.get());
        let is_due = contents.is_due(&appointment, window, slot, epsilon);
        out_is_due.write(is_due.map_err(refusal)?.into());
        Ok(())
    })
}

/// Makes the image of a new ledger in the place of an old one that was lost, damaged or set back,
/// or that recorded a window in the future because a clock was wrong. `window` is the present
/// window. In the new ledger it counts as spent, earlier windows are refused, and each later window
/// has its whole budget. So no budget is restored, provided that the clock is now right.
///
/// The app locks the file and overwrites it with the image. If the file is missing, the app creates
/// it as for `undertone_ledger_create_image`. If `storage` has a counter, this function reads and
/// raises it, so that older files are refused. It neither locks, reads nor writes the file.
///
/// `storage`: see `undertone_ledger_storage`. `unit`: as for `undertone_ledger_spend`.
/// `budget_micro`, `entropy`, `context`, `out_image`, `out_capacity`, `out_written`: as for
/// `undertone_ledger_create_image`.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_ENTROPY_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_WORN_OUT`, `UNDERTONE_STATUS_LEDGER_STORAGE_FAILED`,
/// `UNDERTONE_STATUS_LEDGER_NOT_RAISED`.
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
/// The app writes the image to a temporary file in the same folder, syncs that file, renames it,
/// and syncs the folder before anything is spent. The budget of a ledger cannot be changed, because
/// another budget is another promise: make another ledger for it. To replace a ledger, call
/// `undertone_ledger_recreate_spent` instead, because a new ledger forgets what was spent.
///
/// `unit`: the `UNDERTONE_UNIT_` number of the releases. `budget_micro`: epsilon for every window
/// in micro-units, at least 1. `entropy`: called once with `context`, for 8 bytes that identify the
/// ledger. `out_image`: `out_capacity` bytes; `UNDERTONE_LEDGER_IMAGE_BYTES` are enough.
/// `out_written`: receives the bytes written, or the bytes needed with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_LEDGER_NO_BUDGET`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
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

/// Opens a ledger from the bytes of its file.
///
/// The app locks the file before it reads the image, and unlocks it when it has finished with the
/// ledger. Without the lock, each of two writers would overwrite the record of the other.
///
/// `unit`: as for `undertone_ledger_spend`. `image`: the `image_len` bytes of the file, which are
/// copied. `entropy`: called once with `context`, for 8 bytes that mark the records of this handle.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_UNIT`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_NOT_A_LEDGER`, `UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION`,
/// `UNDERTONE_STATUS_LEDGER_DAMAGED`, `UNDERTONE_STATUS_LEDGER_MIXED`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`.
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

/// Reserves an epsilon in a window. The handle counts it as spent from now on, even if the
/// reservation is not used. Unless the status is `UNDERTONE_STATUS_OK` or
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, nothing was reserved.
///
/// `epsilon_micro`, `word_count`, `window`: as for `undertone_ledger_spend`. `image`: the
/// `image_len` bytes of the file, as it is now. `out_record`: `out_capacity` bytes for the record
/// to write; `UNDERTONE_LEDGER_RECORD_BYTES` are enough. `out_written`: receives the bytes written,
/// or the bytes needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. `out_offset`: receives the offset
/// of the record in the file.
///
/// The app writes the record at that offset, syncs, reads the file and calls
/// `undertone_ledger_grant`. It does the same after `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, which
/// means that an earlier record was lost, in a power cut for example. In this case the new record
/// marks the rest of the window as spent, and there will be no grant.
///
/// Statuses: `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`,
/// `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`,
/// `UNDERTONE_STATUS_LEDGER_CHANGED`, `UNDERTONE_STATUS_LEDGER_FROM_FUTURE`,
/// `UNDERTONE_STATUS_LEDGER_EXHAUSTED`, `UNDERTONE_STATUS_LEDGER_WORN_OUT`.
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

/// Makes the grant for the last reservation, after its record was stored.
///
/// `image`: the `image_len` bytes of the file, read after the record was written and synced. The
/// function checks that the record is there. `memory`: for the grant.
///
/// After `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED` the app may write the record and read the file
/// again; the reserved epsilon stays spent either way. If `undertone_ledger_reserve_epsilon`
/// returned `UNDERTONE_STATUS_LEDGER_RECORD_LOST`, so does this function: the rest of the window is
/// now recorded as spent.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_LEDGER_NOT_RESERVED`,
/// `UNDERTONE_STATUS_LEDGER_WRONG_LENGTH`, `UNDERTONE_STATUS_LEDGER_NOT_PERSISTED`,
/// `UNDERTONE_STATUS_LEDGER_RECORD_LOST`.
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
