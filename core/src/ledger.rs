//! The privacy budget: limits the ε that a device spends in a window of time, even across power
//! cuts.
//!
//! Every release takes a [`Grant`] by value. As long as the budget of the window lasts, a
//! [`Ledger`] issues grants, each only after its cost is durably recorded. `core/FORMAT.md`
//! specifies the file, and `core/proofs/ledger.md` has the proofs of what this page promises.
//!
//! # How
//!
//! [`Ledger::create`] makes the file once, for one [`Unit`]. The app chooses what a window is: a
//! public number that does not go backwards, such as the days since 1970. The app locks the file,
//! and [`Ledger::spend`] takes every step in the right order:
//!
//! ```
//! use core::convert::Infallible;
//! use undertone_core::epsilon::Epsilon;
//! use undertone_core::ledger::{LEDGER_BYTES, RECORD_BYTES};
//! use undertone_core::ledger::{Ledger, LedgerError, SpendError, Storage};
//! use undertone_core::unit::Unit;
//!
//! /// Stands for a locked file.
//! struct Memory([u8; LEDGER_BYTES]);
//!
//! impl Storage for Memory {
//!     type Error = Infallible;
//!     fn read(&mut self, image: &mut [u8]) -> Result<usize, Infallible> {
//!         image[..LEDGER_BYTES].copy_from_slice(&self.0);
//!         Ok(LEDGER_BYTES)
//!     }
//!     fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Infallible> {
//!         self.0[offset..offset + RECORD_BYTES].copy_from_slice(record); // and sync
//!         Ok(())
//!     }
//! }
//! # use undertone_core::rng::{Entropy, rand_core::{TryCryptoRng, TryRng}};
//! # struct Source;
//! # impl TryRng for Source {
//! #     type Error = core::convert::Infallible;
//! #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { Ok(1) }
//! #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { Ok(1) }
//! #     fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
//! #         Ok(out.fill(1))
//! #     }
//! # }
//! # impl TryCryptoRng for Source {}
//! # impl Entropy for Source {}
//! # let entropy = &mut Source;
//!
//! let mut file = Memory(Ledger::create(Unit::Sentence, 10_000_000, entropy)?); // ε = 10 a day
//! let mut ledger = Ledger::open(Unit::Sentence, &file.0, entropy)?;
//! let seven: Epsilon = "7".parse()?;
//! let grant = ledger.spend(seven, 20_000, &mut file)?;
//! assert_eq!((grant.unit(), grant.epsilon()), (Unit::Sentence, seven));
//! let refused = ledger.spend(seven, 20_000, &mut file).map(|_| ());
//! let (remaining, needed) = (3_000_000, 7_000_000);
//! assert_eq!(refused, Err(SpendError::Ledger(LedgerError::Exhausted { remaining, needed })));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! For asynchronous storage, [`Ledger::reserve`] and [`Reservation::persisted`] are the same
//! steps one by one.
//!
//! # Guarantee
//!
//! Under the assumptions below, the ε of all grants for a window add up to at most the budget, over
//! all runs of the app. With a budget of ε for sentences or whole texts, the releases of w windows
//! together are w·ε-differentially private. For words and vectors, ε counts per unit of distance. A
//! ledger is for one unit, because the ε of different units cannot be added. A bag of n words
//! costs n·ε ([`Cost`]).
//!
//! A copy of an older file brings spent budget back, unless the platform has a *monotonic counter*:
//! one that is raised but never goes back. A [`Storage`] on such a platform implements
//! [`Storage::counter`] and [`Storage::raise_counter`]. A file that was set back, deleted or
//! exchanged then cannot recover spent budget ([`LedgerError::SetBack`]).
//!
//! [`Ledger::recreate_spent`] replaces a ledger that was lost, damaged or set back, or whose window
//! is in the future because a clock was wrong. The present window counts as spent.
//!
//! # Assumptions
//!
//! - A synced write stays, and a write to one of the two records never damages the other. Firmware
//!   keeps each record in an erase block of its own. A read after the sync returns what storage
//!   holds.
//! - One writer at a time, with a lock from [`reserve`](Ledger::reserve) to
//!   [`persisted`](Reservation::persisted); a fork of the process is another writer. A [`Ledger`]
//!   in memory notices most changes of the file by others. It does not notice that it overwrites
//!   the record of another writer.
//! - Without a monotonic counter, the file is not set back: no backup restored, no device cloned,
//!   no virtual machine returned to a snapshot. Anyone who can write the file can set it back on
//!   purpose.
//! - With a counter: it never goes back, nothing else raises it, the memory of the process is not
//!   set back, and the clock is not set back together with the file.
//! - The app chooses the window. Setting the clock forward opens a new window early.
//! - ε and the window are chosen without looking at the text. Otherwise the remaining budget and
//!   the refusals are private themselves.
//!
//! Anyone who can read the file learns in which window and how often the device released.

use core::num::NonZero;

use sha2::{Digest, Sha256};
use thiserror::Error;
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_ref};

use crate::appointment::Appointment;
use crate::epsilon::{Epsilon, Micro};
use crate::rng::Entropy;
use crate::unit::Unit;

/// The length of a ledger's file.
pub const LEDGER_BYTES: usize = 2 * RECORD_BYTES;
/// The length of a record, which is what a reservation writes.
pub const RECORD_BYTES: usize = 64;

const MAGIC: [u8; 6] = *b"UTLEDG";
const VERSION: u8 = 2;

/// Permission to spend ε once, on a release for one unit.
///
/// A release takes it by value, whether it succeeds or not, because a grant is never refunded:
///
/// ```compile_fail,E0382
/// # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
/// fn twice(document: &mut Document<'_>, grant: Grant, source: &mut impl Entropy) {
///     let _ = document.release(grant, Rule::PermuteAndFlip, source);
///     let _ = document.release(grant, Rule::PermuteAndFlip, source);
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use undertone_core::ledger::Grant;
/// fn copied(grant: &Grant) -> Grant {
///     grant.clone()
/// }
/// ```
///
/// ```compile_fail,E0308
/// # use undertone_core::{document::Document, epsilon::Epsilon, rng::Entropy, select::Rule};
/// fn without(document: &mut Document<'_>, epsilon: Epsilon, source: &mut impl Entropy) {
///     let _ = document.release(epsilon, Rule::PermuteAndFlip, source);
/// }
/// ```
///
/// With a grant for each release it compiles:
///
/// ```
/// # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
/// fn twice(document: &mut Document<'_>, grants: [Grant; 2], source: &mut impl Entropy) {
///     for grant in grants {
///         let _ = document.release(grant, Rule::PermuteAndFlip, source);
///     }
/// }
/// ```
#[derive(Debug)]
#[must_use = "a grant stays spent, whether it is used or not"]
pub struct Grant {
    unit: Unit,
    epsilon: Epsilon,
    words: Option<NonZero<u16>>,
}

impl Grant {
    /// A grant that no ledger counts, for apps that account elsewhere and for public text. It is
    /// for a bag of any size.
    ///
    /// Releases of the same text add up; the caller counts them.
    pub const fn unrecorded(unit: Unit, epsilon: Epsilon) -> Self {
        Self {
            unit,
            epsilon,
            words: None,
        }
    }

    /// The unit that the release protects.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// The ε of the release, or of each word of a bag.
    pub const fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The largest number of words that a bag may have; `None` for a grant that no ledger counts,
    /// which is for a bag of any size.
    pub const fn words(&self) -> Option<NonZero<u16>> {
        self.words
    }

    /// The ε that a release with this unit may spend.
    // `inline(never)`: with this function inlined, a sentence release exceeds the stack limit of
    // undertone.h.
    #[inline(never)]
    pub(crate) fn spend(self, unit: Unit) -> Result<Epsilon, WrongUnit> {
        self.check(unit)?;
        Ok(self.epsilon)
    }

    /// Refuses a release with another unit. The result is public: it depends on the grant alone.
    ///
    /// # Errors
    /// [`WrongUnit`].
    pub fn check(&self, expected: Unit) -> Result<(), WrongUnit> {
        if self.unit == expected {
            Ok(())
        } else {
            Err(WrongUnit {
                expected,
                found: self.unit,
            })
        }
    }
}

/// The grant or the ledger is for another unit than the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "it is for the unit \"{found}\", but the release is for \"{expected}\"; \
     each unit has a ledger of its own"
)]
pub struct WrongUnit {
    /// The unit of the release.
    pub expected: Unit,
    /// The unit of the grant or the ledger.
    pub found: Unit,
}

/// The cost of a release: ε, times the number of words for a bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    epsilon: Epsilon,
    words: NonZero<u16>,
}

impl Cost {
    /// A bag of `words` words, each with this ε.
    pub const fn bag(epsilon: Epsilon, words: NonZero<u16>) -> Self {
        Self { epsilon, words }
    }

    /// The cost in micro-units.
    pub fn micro(self) -> u64 {
        u64::from(self.epsilon.micro()) * u64::from(self.words.get())
    }
}

/// The cost of a release other than a bag, or of a bag of one word.
impl From<Epsilon> for Cost {
    fn from(epsilon: Epsilon) -> Self {
        Self::bag(epsilon, NonZero::<u16>::MIN)
    }
}

/// One record of the file, which may be any bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Record {
    magic: [u8; 6],
    version: u8,
    unit: u8,
    id: [u8; 8],
    /// Distinguishes equal reservations of two writers, so that each finds only its own record.
    session: [u8; 8],
    number: U64,
    window: U64,
    budget: U64,
    spent: U64,
    checksum: [u8; 8],
}

const _: () = assert!(size_of::<Record>() == RECORD_BYTES);

impl Record {
    /// The first bytes of the SHA-256 of all fields except the checksum.
    fn digest(&self) -> [u8; 8] {
        let chunks: &[[u8; 8]; RECORD_BYTES / 8] = transmute_ref!(self);
        let [fields @ .., _checksum] = chunks;
        let digest: [u8; 32] = Sha256::digest(fields.as_flattened()).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        [a, b, c, d, e, f, g, h]
    }

    fn sealed(mut self) -> Self {
        self.checksum = self.digest();
        self
    }

    fn is_ledger(&self) -> bool {
        self.magic == MAGIC
    }

    /// The unit of an intact record; `None` if it is damaged.
    fn intact(&self) -> Result<Option<Unit>, LedgerError> {
        if !self.is_ledger() || self.checksum != self.digest() {
            return Ok(None);
        }
        match Unit::from_number(self.unit) {
            Some(unit) if self.version == VERSION => {
                Ok((self.spent.get() <= self.budget.get()).then_some(unit))
            }
            _ => Err(LedgerError::Version {
                found: self.version,
                unit: self.unit,
            }),
        }
    }

    /// Whether `newer` can follow this record in one ledger.
    fn precedes(&self, newer: &Self) -> bool {
        let ledger = |record: &Self| (record.id, record.unit, record.budget);
        let spent = |record: &Self| (record.window.get(), record.spent.get());
        ledger(self) == ledger(newer)
            && self.number.get() < newer.number.get()
            && spent(self) <= spent(newer)
    }

    /// The micro-units that count as spent in `window` if this is the newest record on storage.
    /// `lost`: whether a newer record may have been lost.
    fn spent_in(&self, window: u64, lost: bool) -> Result<u64, LedgerError> {
        let ledger = self.window.get();
        if window < ledger {
            return Err(LedgerError::FromFuture {
                ledger,
                given: window,
            });
        }
        Ok(if lost {
            self.budget.get()
        } else if window > ledger {
            0
        } else {
            self.spent.get()
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    First,
    Second,
}

impl Slot {
    fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// The record in this slot of an image, and the one in the other slot.
    fn split(self, image: &[u8]) -> Result<(Record, Record), LedgerError> {
        let found = image.len();
        let read = <[Record; 2]>::read_from_bytes(image);
        let [first, second] = read.map_err(|_| LedgerError::Length { found })?;
        Ok(match self {
            Self::First => (first, second),
            Self::Second => (second, first),
        })
    }
}

/// The parsed contents of a ledger file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    unit: Unit,
    /// The newest intact record, which stays where it is until a newer one is on storage.
    newest: Record,
    /// The record in the other slot.
    other: Record,
    /// Where `other` is, and the next record goes.
    slot: Slot,
    /// Whether a record newer than `newest` may have been lost.
    lost: bool,
}

impl Contents {
    /// Reads a file to show what it holds. To spend, open a [`Ledger`].
    ///
    /// # Shapes
    /// `image`: the file, any bytes. `counter`: the platform's monotonic counter, if it has one.
    ///
    /// # Errors
    /// [`LedgerError::Length`], [`LedgerError::NotALedger`], [`LedgerError::Version`],
    /// [`LedgerError::Damaged`] if no record is intact, [`LedgerError::Mixed`] if the two do not
    /// belong together; [`LedgerError::SetBack`] as for [`Ledger::check_counter`].
    ///
    /// # Cost
    /// Two blocks of SHA-256.
    pub fn read(image: &[u8], counter: Option<u64>) -> Result<Self, LedgerError> {
        let mut contents = Self::parse(image)?;
        let number = contents.newest.number.get();
        contents.lost |= is_one_behind(number, number, counter)?;
        Ok(contents)
    }

    fn parse(image: &[u8]) -> Result<Self, LedgerError> {
        let (first, second) = Slot::First.split(image)?;
        let (slot, unit, lost) = match (first.intact()?, second.intact()?) {
            (None, None) if first.is_ledger() || second.is_ledger() => {
                return Err(LedgerError::Damaged);
            }
            (None, None) => return Err(LedgerError::NotALedger),
            (Some(unit), None) => (Slot::Second, unit, true),
            (None, Some(unit)) => (Slot::First, unit, true),
            (Some(unit), Some(_)) if second.precedes(&first) => (Slot::Second, unit, false),
            (Some(_), Some(unit)) if first.precedes(&second) => (Slot::First, unit, false),
            (Some(_), Some(_)) => return Err(LedgerError::Mixed),
        };
        let (other, newest) = slot.split(image)?;
        Ok(Self {
            unit,
            newest,
            other,
            slot,
            lost,
        })
    }

    /// The unit of its grants.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The budget of a window in micro-units.
    pub fn budget(&self) -> u64 {
        self.newest.budget.get()
    }

    /// The newest window that something was spent in, 0 at first.
    pub fn window(&self) -> u64 {
        self.newest.window.get()
    }

    /// The budget left in `window`, in micro-units; 0 if a record was lost.
    ///
    /// # Errors
    /// [`LedgerError::FromFuture`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64, LedgerError> {
        let spent = self.newest.spent_in(window, self.lost)?;
        Ok(self.budget().saturating_sub(spent))
    }

    /// The slots of `window` in which this device releases: `count` out of `slots`. See
    /// [`appointment`](crate::appointment).
    pub fn appointment(&self, window: u64, slots: NonZero<u16>, count: u16) -> Appointment {
        Appointment::new(self.newest.id, window, slots, count)
    }

    /// Whether a release of this ε is due in a slot of `window`: up to the end of the slot, the
    /// device has had more appointments in the window than releases paid for. A missed slot is made
    /// up for in the next one in which the device asks.
    ///
    /// # Shapes
    /// `slot`: below the number of slots. All grants of this ledger are for `epsilon`.
    ///
    /// # Errors
    /// As [`remaining`](Contents::remaining).
    pub fn is_due(
        &self,
        appointment: &Appointment,
        window: u64,
        slot: u16,
        epsilon: Epsilon,
    ) -> Result<bool, LedgerError> {
        let spent = self.newest.spent_in(window, self.lost)?;
        let left = self.budget().saturating_sub(spent);
        let cost = u64::from(epsilon.micro());
        Ok(cost <= left && spent / cost < appointment.due_by(slot).into())
    }

    /// Whether a record was lost. Then the rest of the window in which the loss is noticed counts
    /// as spent.
    pub fn is_lost(&self) -> bool {
        self.lost
    }
}

/// Whether the platform's counter is one above the ledger. Then the ledger has lost a record.
/// `stored`: the number of the newest record on storage. `newest`: that of the newest record on
/// storage or in memory.
fn is_one_behind(stored: u64, newest: u64, counter: Option<u64>) -> Result<bool, LedgerError> {
    // A counter of 0 has not begun to count.
    let Some(platform @ 1..) = counter else {
        return Ok(false);
    };
    match platform.checked_sub(newest) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        // The reservation in memory has a number for which the counter may not have been raised
        // yet.
        None if platform >= stored => Ok(false),
        _ => Err(LedgerError::SetBack {
            ledger: newest,
            platform,
        }),
    }
}

/// Eight bytes that no other ledger or session has.
fn random<E: Entropy + ?Sized>(entropy: &mut E) -> Result<[u8; 8], LedgerError> {
    let mut bytes = [0; 8];
    match entropy.try_fill_bytes(&mut bytes) {
        Ok(()) if bytes != [0; 8] => Ok(bytes),
        _ => Err(LedgerError::Entropy),
    }
}

/// A budget for every window, and how much of it is spent; see the [module](self).
///
/// It holds the contents of the file when it was opened, and the reservations since.
#[derive(Debug)]
pub struct Ledger {
    contents: Contents,
    /// Marks the records that this ledger writes.
    session: [u8; 8],
    /// The last reservation, as long as it is not known to be on storage.
    pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    record: Record,
    /// `None` if the record only marks the rest of the window as spent, because another one was
    /// lost.
    cost: Option<Cost>,
}

impl Ledger {
    /// Returns the file of a new ledger, with `budget` micro-units of ε for every window.
    ///
    /// The budget cannot be changed: another budget is another promise, with a ledger of its own.
    /// The app writes the file once under another name, syncs it, renames it, and syncs the folder
    /// before anything is spent. A new ledger forgets what was spent. So to replace an earlier
    /// ledger, or if a monotonic counter is above 1, use
    /// [`recreate_spent`](Ledger::recreate_spent).
    ///
    /// # Errors
    /// [`LedgerError::NoBudget`] for a budget of 0; [`LedgerError::Entropy`] if the source of the
    /// identifier failed or returned nothing but zeroes.
    ///
    /// # Cost
    /// 8 bytes of entropy.
    pub fn create<E: Entropy + ?Sized>(
        unit: Unit,
        budget: u64,
        entropy: &mut E,
    ) -> Result<[u8; LEDGER_BYTES], LedgerError> {
        Self::image(unit, budget, 1, (0, 0), entropy)
    }

    /// Returns the file of a ledger that replaces one that was lost, damaged or set back, or whose
    /// window is in the future because a clock was wrong. `window`, the present one, counts as
    /// spent.
    ///
    /// If the clock is correct at the time of this call, it restores no budget: earlier windows are
    /// refused, nothing is left in `window`, and each later window opens when the clock reaches it
    /// (`core/proofs/ledger.md`). There is one exception: if a clock that was ahead let the app
    /// spend in a later window, that window has its whole budget again. The monotonic counter of
    /// `storage`, if there is one, is raised, so that no older file is taken for this ledger.
    ///
    /// # Errors
    /// Errors of [`create`](Ledger::create) and of the storage, [`LedgerError::WornOut`],
    /// [`LedgerError::NotRaised`].
    ///
    /// # Cost
    /// 8 bytes of entropy.
    pub fn recreate_spent<S: Storage + ?Sized, E: Entropy + ?Sized>(
        unit: Unit,
        budget: u64,
        window: u64,
        storage: &mut S,
        entropy: &mut E,
    ) -> Result<[u8; LEDGER_BYTES], SpendError<S::Error>> {
        let counter = storage.counter().map_err(SpendError::Storage)?;
        // Larger than 1, so that no new ledger is taken for this one.
        let number = counter.map_or(1, |counter| counter.max(1)).checked_add(1);
        let number = number.ok_or(LedgerError::WornOut)?;
        let image = Self::image(unit, budget, number, (window, budget), entropy)?;
        if counter.is_some() {
            raise(storage, number)?;
        }
        Ok(image)
    }

    fn image<E: Entropy + ?Sized>(
        unit: Unit,
        budget: u64,
        number: u64,
        (window, spent): (u64, u64),
        entropy: &mut E,
    ) -> Result<[u8; LEDGER_BYTES], LedgerError> {
        if budget == 0 {
            return Err(LedgerError::NoBudget);
        }
        let id = random(entropy)?;
        let record = |number: u64| {
            let record = Record {
                magic: MAGIC,
                version: VERSION,
                unit: unit.number(),
                id,
                session: [0; 8],
                number: number.into(),
                window: window.into(),
                budget: budget.into(),
                spent: spent.into(),
                checksum: [0; 8],
            };
            record.sealed()
        };
        let records = [record(number), record(number.saturating_sub(1))];
        Ok(*transmute_ref!(&records))
    }

    /// Opens the ledger in a file, for releases with this unit.
    ///
    /// # Shapes
    /// `image`: the file, any bytes.
    ///
    /// # Errors
    /// Errors of [`Contents::read`]; [`LedgerError::Unit`] for a ledger for another unit;
    /// [`LedgerError::Entropy`] if the source failed or returned nothing but zeroes.
    ///
    /// # Cost
    /// Two blocks of SHA-256; 8 bytes of entropy, which mark the records of this ledger.
    pub fn open<E: Entropy + ?Sized>(
        unit: Unit,
        image: &[u8],
        entropy: &mut E,
    ) -> Result<Self, LedgerError> {
        let contents = Contents::parse(image)?;
        let found = contents.unit;
        if found != unit {
            return Err(LedgerError::Unit(WrongUnit {
                expected: unit,
                found,
            }));
        }
        Ok(Self {
            contents,
            session: random(entropy)?,
            pending: None,
        })
    }

    /// The unit of its grants.
    pub fn unit(&self) -> Unit {
        self.contents.unit
    }

    /// The budget of a window in micro-units.
    pub fn budget(&self) -> u64 {
        self.contents.budget()
    }

    /// The newest record, on storage or not.
    fn newest(&self) -> Record {
        self.pending
            .map_or(self.contents.newest, |pending| pending.record)
    }

    /// The budget left in `window`, in micro-units; 0 if a record was lost. Private if an ε
    /// depended on the text.
    ///
    /// # Errors
    /// [`LedgerError::FromFuture`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64, LedgerError> {
        let spent = self.newest().spent_in(window, self.contents.lost)?;
        Ok(self.budget().saturating_sub(spent))
    }

    /// Spends in `window`: reserves, raises the storage's monotonic counter if it has one, writes
    /// the record, and reads it back. The grant exists only if storage has the record.
    ///
    /// # Errors
    /// Nothing is spent if the first read of the file or of the counter fails, or if
    /// [`reserve`](Ledger::reserve) does. If a later step fails, the cost stays spent.
    /// [`LedgerError::Lost`] if a record was lost: storage now records the rest of the window as
    /// spent.
    ///
    /// # Cost
    /// Up to two blocks of SHA-256, and the calls of the storage.
    pub fn spend<S: Storage + ?Sized>(
        &mut self,
        cost: impl Into<Cost>,
        window: u64,
        storage: &mut S,
    ) -> Result<Grant, SpendError<S::Error>> {
        let mut buffer = [0; LEDGER_BYTES + 1];
        let stored = read(storage, &mut buffer)?;
        let counter = storage.counter().map_err(SpendError::Storage)?;
        let reservation = self.reserve(cost, window, stored, counter)?;
        if counter.is_some() {
            raise(storage, reservation.number())?;
        }
        let written = storage.write(reservation.offset(), reservation.record());
        written.map_err(SpendError::Storage)?;
        let read_back = read(storage, &mut buffer)?;
        Ok(reservation.persisted(read_back)?)
    }

    /// Reserves the cost of a release in `window`. It counts as spent from now on, whether or not
    /// the reservation is persisted.
    ///
    /// If a record was lost, the reservation marks the rest of the window as spent, and
    /// [`persisted`](Reservation::persisted) returns [`LedgerError::Lost`] instead of a grant.
    ///
    /// # Shapes
    /// `stored`: the file, as it is now. `counter`: the platform's monotonic counter as it is now,
    /// if there is one. The caller raises it to [`Reservation::number`] before it writes the
    /// record.
    ///
    /// # Errors
    /// [`LedgerError::Length`]; [`LedgerError::Changed`] if the file is not as this ledger left it;
    /// [`LedgerError::SetBack`] if the counter belongs to another file;
    /// [`LedgerError::FromFuture`]; [`LedgerError::Exhausted`] if less is left;
    /// [`LedgerError::WornOut`] after 2⁶⁴ reservations. After any of these errors, nothing was
    /// reserved.
    ///
    /// # Cost
    /// Up to two blocks of SHA-256.
    pub fn reserve(
        &mut self,
        cost: impl Into<Cost>,
        window: u64,
        stored: &[u8],
        counter: Option<u64>,
    ) -> Result<Reservation<'_>, LedgerError> {
        let (other, newest) = self.contents.slot.split(stored)?;
        // A reservation that was not persisted may be on storage in full, in part or not at all.
        let expected = other == self.contents.other
            || self.pending.is_some_and(|pending| {
                other == pending.record || matches!(other.intact(), Ok(None))
            });
        if newest != self.contents.newest || !expected {
            return Err(LedgerError::Changed);
        }
        self.check_counter(counter)?;
        let last = self.newest();
        let spent = last.spent_in(window, self.contents.lost)?;
        let (spent, granted) = if self.contents.lost {
            (spent, None)
        } else {
            let cost = cost.into();
            let (remaining, needed) = (self.remaining(window)?, cost.micro());
            if needed > remaining {
                return Err(LedgerError::Exhausted { remaining, needed });
            }
            (spent.saturating_add(needed), Some(cost))
        };
        // If there is a counter above 0, the new record is numbered one above it, not one above the
        // last record: the counter may be ahead of the file.
        let number = match counter {
            None | Some(0) => last.number.get(),
            Some(platform) => platform,
        };
        let record = Record {
            session: self.session,
            number: number.checked_add(1).ok_or(LedgerError::WornOut)?.into(),
            window: window.into(),
            spent: spent.into(),
            ..last
        };
        let pending = Pending {
            record: record.sealed(),
            cost: granted,
        };
        self.contents.other = other;
        self.pending = Some(pending);
        Ok(Reservation {
            ledger: self,
            pending,
        })
    }

    /// Compares the ledger with the platform's monotonic counter, if there is one, as
    /// [`reserve`](Ledger::reserve) does. If the counter is one above the ledger, the ledger has
    /// lost a record.
    ///
    /// # Errors
    /// [`LedgerError::SetBack`] if the counter is more than one above the number of the newest
    /// record, or if it is below that of the newest record on storage and is not 0.
    pub fn check_counter(&mut self, counter: Option<u64>) -> Result<(), LedgerError> {
        let (stored, newest) = (
            self.contents.newest.number.get(),
            self.newest().number.get(),
        );
        self.contents.lost |= is_one_behind(stored, newest, counter)?;
        Ok(())
    }

    /// The last reservation, if it was not persisted yet: for callers that cannot keep it while
    /// they write.
    pub fn resume(&mut self) -> Option<Reservation<'_>> {
        self.pending.map(|pending| Reservation {
            ledger: self,
            pending,
        })
    }
}

/// A reserved ε, which becomes a [`Grant`] once its record is on storage.
///
/// It cannot be persisted twice, and a ledger has one at a time:
///
/// ```compile_fail,E0382
/// # use undertone_core::ledger::Reservation;
/// fn twice(reservation: Reservation<'_>, file: &[u8]) {
///     let _ = (reservation.persisted(file), reservation.persisted(file));
/// }
/// ```
///
/// ```compile_fail,E0499
/// # use undertone_core::{epsilon::Epsilon, ledger::Ledger};
/// fn two(ledger: &mut Ledger, epsilon: Epsilon, file: &[u8]) {
///     let first = ledger.reserve(epsilon, 1, file, None);
///     let second = ledger.reserve(epsilon, 1, file, None);
///     drop(first);
/// }
/// ```
#[derive(Debug)]
#[must_use = "write the record, sync, read the file back and call `persisted`"]
pub struct Reservation<'l> {
    ledger: &'l mut Ledger,
    pending: Pending,
}

impl Reservation<'_> {
    /// Whether a record was lost. Then this reservation marks the rest of the window as spent and
    /// grants nothing.
    pub fn is_lost(&self) -> bool {
        self.pending.cost.is_none()
    }

    /// The number of the record. The platform's monotonic counter is raised to it before the record
    /// is written.
    pub fn number(&self) -> u64 {
        self.pending.record.number.get()
    }

    /// The record to write.
    pub fn record(&self) -> &[u8; RECORD_BYTES] {
        transmute_ref!(&self.pending.record)
    }

    /// The place of the record in the file: 0 or [`RECORD_BYTES`].
    pub fn offset(&self) -> usize {
        match self.ledger.contents.slot {
            Slot::First => 0,
            Slot::Second => RECORD_BYTES,
        }
    }

    /// Returns the grant, once the app has written the record, synced, and read the file back from
    /// storage.
    ///
    /// # Shapes
    /// `read_back`: the file, as it is now.
    ///
    /// # Errors
    /// [`LedgerError::Length`] and [`LedgerError::NotPersisted`] if `read_back` is not the file
    /// with this record in its place. The cost stays spent. The app may write and read again
    /// ([`Ledger::resume`]).
    ///
    /// [`LedgerError::Lost`] if a record had been lost before: storage now records the rest of the
    /// window of this reservation as spent.
    pub fn persisted(self, read_back: &[u8]) -> Result<Grant, LedgerError> {
        let Self { ledger, pending } = self;
        let contents = &mut ledger.contents;
        let (written, newest) = contents.slot.split(read_back)?;
        if written != pending.record || newest != contents.newest {
            return Err(LedgerError::NotPersisted);
        }
        contents.other = newest;
        contents.newest = written;
        contents.slot = contents.slot.other();
        contents.lost = false;
        ledger.pending = None;
        let cost = pending.cost.ok_or(LedgerError::Lost)?;
        Ok(Grant {
            unit: contents.unit,
            epsilon: cost.epsilon,
            words: Some(cost.words),
        })
    }
}

/// The locked file of a ledger, and the platform's monotonic counter if it has one.
pub trait Storage {
    /// An error of the file or the counter. Nothing is granted after one.
    type Error;

    /// Reads the file from its start, as far as `image` goes, and returns the number of bytes read.
    /// `image` is one byte longer than a ledger, so that a longer file is noticed.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&mut self, image: &mut [u8]) -> Result<usize, Self::Error>;

    /// Writes a record at `offset`, which is 0 or [`RECORD_BYTES`], and returns once it is durable.
    ///
    /// # Errors
    /// If the record is perhaps not durable.
    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Self::Error>;

    /// The platform's monotonic counter for this ledger; `None` (the default) without one. It must
    /// start at 0: if the counter of the platform started at another value, return the difference
    /// from that value.
    ///
    /// # Errors
    /// If it cannot be read.
    fn counter(&mut self) -> Result<Option<u64>, Self::Error> {
        Ok(None)
    }

    /// Raises the counter to `to`, which is almost always one more than its value. A counter that
    /// can only be raised by one is raised repeatedly. Not called if
    /// [`counter`](Storage::counter) returns `None`.
    ///
    /// # Errors
    /// If the new value is perhaps not durable.
    fn raise_counter(&mut self, to: u64) -> Result<(), Self::Error> {
        let _ = to;
        Ok(())
    }
}

/// The file, as far as the buffer goes.
fn read<'b, S: Storage + ?Sized>(
    storage: &mut S,
    buffer: &'b mut [u8; LEDGER_BYTES + 1],
) -> Result<&'b [u8], SpendError<S::Error>> {
    let found = storage.read(buffer).map_err(SpendError::Storage)?;
    let read = buffer.get(..found);
    read.ok_or(SpendError::Ledger(LedgerError::Length { found }))
}

/// Raises the counter and reads it back.
fn raise<S: Storage + ?Sized>(storage: &mut S, number: u64) -> Result<(), SpendError<S::Error>> {
    storage.raise_counter(number).map_err(SpendError::Storage)?;
    // A counter that is gone is no better than one that was never raised.
    let found = storage.counter().map_err(SpendError::Storage)?.unwrap_or(0);
    if found == number {
        Ok(())
    } else {
        Err(SpendError::Ledger(LedgerError::NotRaised {
            expected: number,
            found,
        }))
    }
}

/// An error of [`Ledger::spend`] or [`Ledger::recreate_spent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SpendError<E> {
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The storage failed.
    #[error("{0}")]
    Storage(E),
}

/// The advice if the amount spent is unknown.
const RECREATE: &str =
    "the amount spent is not known: recreate the ledger with this window counted as spent";

/// A refusal of a ledger. It depends on the file, the window and the budget, and on a text only if
/// the app chose an ε by looking at the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The budget is 0.
    #[error("a budget of 0 grants nothing; give at least 0.000001")]
    NoBudget,
    /// The entropy source failed or returned nothing but zeroes.
    #[error("the entropy source failed; nothing was made, opened or spent, try again")]
    Entropy,
    /// The file has the wrong length.
    #[error(
        "a ledger has {LEDGER_BYTES} bytes, but this file has {found}; \
         is it the right file? If it is, {RECREATE}"
    )]
    Length {
        /// Bytes given.
        found: usize,
    },
    /// Neither record begins as a record of a ledger does.
    #[error(
        "not a ledger: no record begins with \"UTLEDG\"; \
         is it the right file? If it is, {RECREATE}"
    )]
    NotALedger,
    /// A record has a version that this library does not read.
    #[error(
        "the ledger has version {found} and unit {unit}, this library reads version {VERSION} \
         with units 1 to {}; use a newer library",
        Unit::ALL.len()
    )]
    Version {
        /// The version of the record.
        found: u8,
        /// The number of the record's privacy unit.
        unit: u8,
    },
    /// No record is intact.
    #[error("no record of the ledger is intact, so {RECREATE}")]
    Damaged,
    /// Two intact records cannot follow each other in one ledger.
    #[error("the two records belong to different ledgers or to a damaged one, so {RECREATE}")]
    Mixed,
    /// The file is not as this ledger left it.
    #[error(
        "another program wrote to the ledger's file; \
         lock the file, read it and open the ledger again"
    )]
    Changed,
    /// The newest record is of a later window.
    #[error(
        "the ledger was used in window {ledger}, which is later than the present window, {given}; \
         set the clock right; if it is right now, it was ahead then, so recreate the ledger with \
         this window counted as spent"
    )]
    FromFuture {
        /// The window of the record.
        ledger: u64,
        /// The window given.
        given: u64,
    },
    /// Less is left in the window than is needed.
    #[error(
        "epsilon {} is left in this window, but {} is needed; wait for the next window",
        Micro(*remaining),
        Micro(*needed)
    )]
    Exhausted {
        /// The micro-units left.
        remaining: u64,
        /// The micro-units needed.
        needed: u64,
    },
    /// The numbers of records are used up.
    #[error("the ledger's numbers are used up; make a new ledger")]
    WornOut,
    /// The file that was read back does not have the record in its place.
    #[error(
        "the file that was read back is not the ledger with its new record; \
         write it, sync and read again"
    )]
    NotPersisted,
    /// A record was lost, and with it how much was spent; the rest of the window counts as spent.
    #[error(
        "a record of the ledger was lost in a power cut or damaged, \
         so the rest of this window counts as spent; wait for the next window"
    )]
    Lost,
    /// The ledger is for another unit.
    #[error("not the right ledger: {0}")]
    Unit(WrongUnit),
    /// The newest record does not fit the platform's monotonic counter: the file was set back or
    /// exchanged.
    #[error(
        "the ledger was set back or exchanged: its newest record is number {ledger}, \
         but the platform's counter is {platform}, so {RECREATE}"
    )]
    SetBack {
        /// The number of its newest record.
        ledger: u64,
        /// The counter.
        platform: u64,
    },
    /// The platform's monotonic counter was raised and has another value.
    #[error(
        "the platform's counter was raised to {expected} and is {found}, so nothing is granted; \
         does something else use it?"
    )]
    NotRaised {
        /// The value that it was raised to.
        expected: u64,
        /// Its value.
        found: u64,
    },
}
