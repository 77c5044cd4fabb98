//! The privacy budget: what a device may spend in a window of time, kept where losing power cannot restore it.
//!
//! Every release takes a [`Grant`] by value: permission to spend an ε once. A [`Ledger`] issues grants as long
//! as the budget of the window lasts. It issues a grant only after its cost is durably recorded.
//!
//! # How
//!
//! The app keeps a file of [`LEDGER_BYTES`] bytes, which [`Ledger::create`] makes once for one [`Unit`]. It chooses what a
//! window is: a public number that does not go backwards, such as the days since 1970. While nothing else uses the file,
//! [`Ledger::spend`] takes every step in the right order. The app says how its [`Storage`] is read and written:
//!
//! ```
//! use core::convert::Infallible;
//! use undertone_core::epsilon::Epsilon;
//! use undertone_core::ledger::{LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage};
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
//! #     fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> { Ok(out.fill(1)) }
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
//! For storage that answers later, [`Ledger::reserve`] and [`Reservation::persisted`] are the same steps one by one.
//!
//! # What counts
//!
//! A ledger is for one unit, because promises for different units do not add up: it makes grants for that unit, and every
//! release refuses a grant for another. What a release costs is counted here ([`Cost`]):
//!
//! - *A document*, for its sentences or the whole text: ε.
//! - *A bag of n words*: n·ε, so bags of all sizes share one ledger. *Proof.* Where the words of two texts can be matched so
//!   that no two are further apart than D, a bag multiplies probabilities by at most e^(n·ε·(D + q))
//!   ([`Bag`](crate::words::Bag)). Factors multiply, so all bags have at most e^((D + q)·Σ n·ε), with the largest q. ∎
//! - *A vector*: ε, for a distance of 1.
//!
//! Where Laplace noise draws words or vectors, it has a κ and a δ beside ε ([`laplace`](crate::laplace)), which depend on the
//! distance D. No ledger has to count them, because its budget B bounds both. ε is at least 0.1 there, so at most N = 10·B
//! words or vectors are drawn in a window. All together have at most e^X, X = B·(D + τ) + N·κ, and δ ≤ (2·N + e^X)·2⁻⁶⁰.
//! *Proof.* Draw i has at most e^xᵢ, Σxᵢ ≤ X, and a δ of (1 + e^xᵢ)·2⁻⁶⁰. ε and δ of several add up, and Σ(e^xᵢ − 1) ≤ e^X − 1
//! for xᵢ ≥ 0. ∎ At B = 20 and D = 1 that is δ < 5·10⁻¹⁰ a window; from B·D = 41 on there is no promise.
//!
//! # Guarantee
//!
//! Under the assumptions below, the ε of all grants for a window add up to at most the budget, over all runs of the app. So
//! with a budget of ε a window, the releases of w windows together are w·ε-differentially private, in the sense of the
//! releases: windows add up. (Sentences that were released in one window only are protected with its ε alone.)
//!
//! *Proof.* The file has two slots, and a record says what was spent in its window. A reservation writes the
//! slot that does not hold the newest persisted record, and no grant is issued before the record was read back
//! from storage. After a power cut at any byte, one slot holds that newest record, which counts
//! all grants so far, and the other slot is in one of three states.
//! - As it was before: the reservation got no grant, nothing is missing.
//! - Whole: it is the newest record now, and counts the reservation, which may or may not have been used.
//! - Torn: its checksum is wrong. A record that was whole, used, and then rotted looks the same, so it is unknown
//!   what was spent. The rest of the window in which that is noticed
//!   counts as spent: the next reservation writes that and issues no grant ([`LedgerError::Lost`]).
//!
//! A reservation that was dropped or not persisted counts as spent in memory, and the next one writes its slot
//! again, so the newest persisted record stays where it is. Without an intact slot the ledger gives an error, never a
//! fresh budget. ∎
//!
//! # A file that is set back
//!
//! A copy of an older file brings spent budget back, and the file cannot show it. A platform that has a *monotonic counter*
//! can: one that is read and raised, but never goes back, such as that of a TPM. A [`Storage`] that has one passes it on,
//! and then a file that was set back, deleted or exchanged gives no grant that the counted ones would not have left:
//!
//! 1. Records are numbered. If the number of the newest one is more than one behind the counter, or ahead of it, the file is
//!    refused ([`LedgerError::SetBack`]). A counter of 0 takes any ledger.
//! 2. If it is one behind, that record was lost in a power cut, or the file was set back by it: as for a torn record, the
//!    rest of the window counts as spent.
//! 3. The next record's number is one more than the counter. The counter is raised to it, and read, *before* the record is
//!    written. The grant comes after both.
//!
//! *Proof.* A number is used once: the record with it is written only after the counter was raised to it, and the next one
//! has a larger number. So if the newest record of a file has the counter's number, the file knows of all grants. If it is
//! one behind, it lacks one record, and the window of that record had room for its grant. Nothing more is granted in the
//! window in which that is noticed. All other files are refused. ∎ (In the other order, record first, a power cut
//! between the two leaves a record whose number is used again. Whoever keeps that one and puts it in place of the second
//! has back what the second granted.)
//!
//! It starts to hold when a ledger first spends with the counter. Assumed is that the counter never goes back, that nothing
//! else raises it, that the memory of the process is not set back, and that the clock is not set back with the file: in an
//! earlier window the loss of a record is noticed there, and the window of that record looks fresh. After [`LedgerError::SetBack`] or
//! [`LedgerError::Damaged`], [`Ledger::begin_anew`] makes a ledger for which the current window is spent.
//!
//! # Assumptions
//!
//! - A synced write stays. A write to one slot never damages the other. A read after the sync returns
//!   what storage holds. (Where both slots share a sector that can be lost as a whole, they are lost
//!   together: an error. Firmware keeps each record in an erase block of its own.)
//! - Nothing else writes the file between [`reserve`](Ledger::reserve) and
//!   [`persisted`](Reservation::persisted), not even a fork of this process. A ledger notices a file that changed since it
//!   last looked, or while it was writing, but it cannot know that it has just overwritten the record of another writer
//!   that already has a grant for it: only a lock keeps two writers apart.
//! - Without a monotonic counter, the file is not set back. Restoring a backup, cloning a device, or returning a virtual
//!   machine to a snapshot brings spent budget back. Anyone who can write the file can do that on purpose.
//! - The app says what the window is. Setting the clock forward opens a new one early, and a window far in
//!   the future locks the ledger until then ([`LedgerError::FromFuture`]). Setting the clock back is noticed,
//!   unless the record that would show it was lost.
//! - ε and the window are chosen without looking at the text. Otherwise what remains, and whether a release is
//!   refused, say something about it and are private themselves.
//!
//! # Leaks
//!
//! Anyone who can read the file learns in which window and how often the device released, and nothing else if ε does not
//! depend on the text.
//!
//! # Shapes
//!
//! A file is two records, each of [`RECORD_BYTES`] bytes, numbers little-endian:
//!
//! | offset | bytes | content |
//! | --- | --- | --- |
//! | 0 | 6 | `UTLEDG` |
//! | 6 | 1 | version, 2 |
//! | 7 | 1 | number of the [`Unit`] |
//! | 8 | 8 | identifier of the ledger, random |
//! | 16 | 8 | random number of the session that wrote the record; 0 at first |
//! | 24 | 8 | counter: of two intact records, the one with the larger counter is newer |
//! | 32 | 8 | window |
//! | 40 | 8 | budget of a window in micro-units |
//! | 48 | 8 | spent in this window in micro-units |
//! | 56 | 8 | the first bytes of the SHA-256 of the 56 bytes before |
//!
//! In every version the magic, the version and the checksum keep their places. A record of version 1 has 0 in place of the
//! unit. It still opens, for the unit that the app names, and the next record has version 2, after which a program that
//! knows only version 1 refuses the file.
//!
//! # A grant is spent once
//!
//! ```compile_fail,E0382
//! # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
//! fn twice(document: &mut Document<'_>, grant: Grant, source: &mut impl Entropy) {
//!     let _ = document.release(grant, Rule::PermuteAndFlip, source);
//!     let _ = document.release(grant, Rule::PermuteAndFlip, source);
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use undertone_core::ledger::Grant;
//! fn copied(grant: &Grant) -> Grant {
//!     grant.clone()
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use undertone_core::{document::Document, epsilon::Epsilon, rng::Entropy, select::Rule};
//! fn without(document: &mut Document<'_>, epsilon: Epsilon, source: &mut impl Entropy) {
//!     let _ = document.release(epsilon, Rule::PermuteAndFlip, source);
//! }
//! ```
//!
//! A reservation cannot be persisted twice, and a ledger has one at a time:
//!
//! ```compile_fail,E0382
//! # use undertone_core::ledger::Reservation;
//! fn twice(reservation: Reservation<'_>, file: &[u8]) {
//!     let _ = (reservation.persisted(file), reservation.persisted(file));
//! }
//! ```
//!
//! ```compile_fail,E0499
//! # use undertone_core::{epsilon::Epsilon, ledger::Ledger};
//! fn two(ledger: &mut Ledger, epsilon: Epsilon, file: &[u8]) {
//!     let first = ledger.reserve(epsilon, 1, file, None);
//!     let second = ledger.reserve(epsilon, 1, file, None);
//!     drop(first);
//! }
//! ```
//!
//! With a grant for each release it compiles:
//!
//! ```
//! # use undertone_core::{document::Document, ledger::Grant, rng::Entropy, select::Rule};
//! fn twice(document: &mut Document<'_>, grants: [Grant; 2], source: &mut impl Entropy) {
//!     for grant in grants {
//!         let _ = document.release(grant, Rule::PermuteAndFlip, source);
//!     }
//! }
//! ```

use core::fmt;
use core::num::NonZero;

use sha2::{Digest, Sha256};
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_ref};

use crate::epsilon::{Epsilon, Micro};
use crate::rng::Entropy;
use crate::unit::Unit;

/// The length of a ledger's file.
pub const LEDGER_BYTES: usize = 2 * RECORD_BYTES;
/// The length of a record, which is what a reservation writes.
pub const RECORD_BYTES: usize = 64;

const MAGIC: [u8; 6] = *b"UTLEDG";
/// What records are written in.
const VERSION: u8 = 2;
/// Its records name no unit.
const WITHOUT_UNIT: u8 = 1;

/// Permission to spend ε once, on a release for one unit.
///
/// A release takes it by value, whether it succeeds or not: what was granted is never refunded. It can
/// neither be copied nor cloned.
#[derive(Debug)]
#[must_use = "what was granted is spent, whether it is used or not"]
pub struct Grant {
    unit: Unit,
    epsilon: Epsilon,
    words: u16,
}

impl Grant {
    /// A grant that no ledger counts, for apps that account elsewhere and for public text. It is for a bag of any size.
    ///
    /// Releases of the same text add up; the caller counts them.
    pub const fn unrecorded(unit: Unit, epsilon: Epsilon) -> Self {
        Self {
            unit,
            epsilon,
            words: u16::MAX,
        }
    }

    /// What is exchanged in the promise of the release.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// What may be spent, on each word if it is for words.
    pub const fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The most words of a bag.
    pub const fn words(&self) -> u16 {
        self.words
    }

    /// What a release with this unit may spend.
    // A call: a release by the sentence takes almost all of the stack that C is promised.
    #[inline(never)]
    pub(crate) fn spend(self, unit: Unit) -> Result<Epsilon, WrongUnit> {
        self.check(unit)?;
        Ok(self.epsilon)
    }

    /// Refuses a grant that is not for a release with this unit. Public: it depends on the grant alone.
    ///
    /// # Errors
    /// [`WrongUnit`].
    pub fn check(&self, expected: Unit) -> Result<(), WrongUnit> {
        match self.unit == expected {
            true => Ok(()),
            false => Err(WrongUnit {
                expected,
                found: self.unit,
            }),
        }
    }
}

/// A grant or a ledger for another unit than that of the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongUnit {
    /// The unit of the release.
    pub expected: Unit,
    /// The unit of the grant or the ledger.
    pub found: Unit,
}

impl fmt::Display for WrongUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        write!(
            f,
            "it is for the unit \"{found}\", but the release is for \"{expected}\"; each unit has a ledger of its own"
        )
    }
}

impl core::error::Error for WrongUnit {}

/// What a release costs: ε, and for a bag that of each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    epsilon: Epsilon,
    words: NonZero<u16>,
}

impl Cost {
    /// A bag of so many words, each with this ε.
    pub const fn bag(epsilon: Epsilon, words: NonZero<u16>) -> Self {
        Self { epsilon, words }
    }

    /// What the ledger counts, in micro-units.
    pub fn micro(self) -> u64 {
        u64::from(self.epsilon.micro()) * u64::from(self.words.get())
    }
}

/// Anything but a bag, or a bag of one word.
impl From<Epsilon> for Cost {
    fn from(epsilon: Epsilon) -> Self {
        Self::bag(epsilon, NonZero::<u16>::MIN)
    }
}

/// What a record says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Entry {
    magic: [u8; 6],
    version: u8,
    /// The number of its unit.
    unit: u8,
    id: [u8; 8],
    /// Makes the records of two writers differ that reserve the same, so that only one finds its own.
    session: [u8; 8],
    counter: U64,
    window: U64,
    budget: U64,
    spent: U64,
}

impl Entry {
    fn checksum(&self) -> [u8; 8] {
        let digest: [u8; 32] = Sha256::digest(self.as_bytes()).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        [a, b, c, d, e, f, g, h]
    }

    fn record(self) -> Record {
        let checksum = self.checksum();
        Record {
            entry: self,
            checksum,
        }
    }

    /// Its unit; `None` in the version that names none.
    fn unit(&self) -> Result<Option<Unit>, LedgerError> {
        match (self.version, self.unit, Unit::from_number(self.unit)) {
            (WITHOUT_UNIT, 0, _) => Ok(None),
            (VERSION, _, Some(unit)) => Ok(Some(unit)),
            _ => Err(LedgerError::Version {
                found: u16::from_le_bytes([self.version, self.unit]),
            }),
        }
    }

    /// Whether `newer` can follow this entry in one ledger.
    fn precedes(&self, newer: &Self) -> bool {
        let (id, budget) = (self.id == newer.id, self.budget == newer.budget);
        let kind = |entry: &Self| (entry.version, entry.unit);
        let unit = self.version == WITHOUT_UNIT || kind(self) == kind(newer);
        let of = |entry: &Self| (entry.window.get(), entry.spent.get());
        id && budget && unit && self.counter.get() < newer.counter.get() && of(self) <= of(newer)
    }
}

/// A record: any bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Record {
    entry: Entry,
    checksum: [u8; 8],
}

const _: () = assert!(size_of::<Record>() == RECORD_BYTES);

impl Record {
    fn is_ledger(&self) -> bool {
        self.entry.magic == MAGIC
    }

    /// What it says, if it is as it was written.
    fn intact(&self) -> Result<Option<Entry>, LedgerError> {
        let entry = self.entry;
        if !self.is_ledger() || self.checksum != entry.checksum() {
            return Ok(None);
        }
        entry.unit()?;
        Ok((entry.spent.get() <= entry.budget.get()).then_some(entry))
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

    /// The record in this slot of an image, and the one in the other.
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

/// What a file says.
struct Newest {
    /// Where the newest record is not.
    slot: Slot,
    kept: Record,
    stale: Record,
    entry: Entry,
    /// Whether the other record is not intact.
    lost: bool,
}

impl Newest {
    fn read(image: &[u8]) -> Result<Self, LedgerError> {
        let (first, second) = Slot::First.split(image)?;
        let (slot, entry, lost) = match (first.intact()?, second.intact()?) {
            (None, None) if first.is_ledger() || second.is_ledger() => {
                return Err(LedgerError::Damaged);
            }
            (None, None) => return Err(LedgerError::NotALedger),
            (Some(entry), None) => (Slot::Second, entry, true),
            (None, Some(entry)) => (Slot::First, entry, true),
            (Some(a), Some(b)) if b.precedes(&a) => (Slot::Second, a, false),
            (Some(a), Some(b)) if a.precedes(&b) => (Slot::First, b, false),
            (Some(_), Some(_)) => return Err(LedgerError::Mixed),
        };
        let (stale, kept) = match slot {
            Slot::First => (first, second),
            Slot::Second => (second, first),
        };
        Ok(Self {
            slot,
            kept,
            stale,
            entry,
            lost,
        })
    }
}

/// What is in a ledger's file, for showing it: spending takes a [`Ledger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    entry: Entry,
    unit: Option<Unit>,
    lost: bool,
}

impl Contents {
    /// Reads a file.
    ///
    /// # Shapes
    /// `image`: the file, any bytes. `counter`: the platform's monotonic counter, if it has one.
    ///
    /// # Errors
    /// [`LedgerError::Length`], [`LedgerError::NotALedger`], [`LedgerError::Version`], [`LedgerError::Damaged`],
    /// [`LedgerError::Mixed`] as for [`Ledger::open`]; [`LedgerError::SetBack`] as for [`Ledger::meet`].
    ///
    /// # Cost
    /// Two blocks of SHA-256.
    pub fn read(image: &[u8], counter: Option<u64>) -> Result<Self, LedgerError> {
        let Newest { entry, lost, .. } = Newest::read(image)?;
        let number = entry.counter.get();
        Ok(Self {
            entry,
            unit: entry.unit()?,
            lost: lost | is_behind(number, number, counter)?,
        })
    }

    /// What its grants are for; `None` in a file of version 1, whose app knows.
    pub fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// The budget of a window in micro-units.
    pub fn budget(&self) -> u64 {
        self.entry.budget.get()
    }

    /// The newest window that something was spent in, 0 at first.
    pub fn window(&self) -> u64 {
        self.entry.window.get()
    }

    /// What is left in `window`, in micro-units; 0 if a record was lost.
    ///
    /// # Errors
    /// [`LedgerError::FromFuture`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64, LedgerError> {
        let spent = spent(&self.entry, self.lost, window)?;
        Ok(self.budget().saturating_sub(spent))
    }

    /// Whether a record was lost, so that the rest of the window in which that is noticed counts as spent.
    pub fn is_lost(&self) -> bool {
        self.lost
    }
}

/// What counts as spent in `window`, if `newest` is the newest record that is known.
fn spent(newest: &Entry, lost: bool, window: u64) -> Result<u64, LedgerError> {
    let ledger = newest.window.get();
    if window < ledger {
        return Err(LedgerError::FromFuture {
            ledger,
            given: window,
        });
    }
    Ok(match lost {
        true => newest.budget.get(),
        false if window > ledger => 0,
        false => newest.spent.get(),
    })
}

/// Whether the ledger is one record behind the platform's counter. `kept`: the number of the newest record on storage.
/// `newest`: that of the newest one, on storage or in memory.
fn is_behind(kept: u64, newest: u64, counter: Option<u64>) -> Result<bool, LedgerError> {
    let Some(platform @ 1..) = counter else {
        return Ok(false);
    };
    match platform.checked_sub(newest) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        // It was raised for what memory knows to be reserved, or not yet.
        None if platform >= kept => Ok(false),
        _ => Err(LedgerError::SetBack {
            ledger: newest,
            platform,
        }),
    }
}

/// Bytes that no other ledger has.
fn random<E: Entropy + ?Sized>(entropy: &mut E) -> Result<[u8; 8], LedgerError> {
    let mut bytes = [0; 8];
    match entropy.try_fill_bytes(&mut bytes) {
        Ok(()) if bytes != [0; 8] => Ok(bytes),
        _ => Err(LedgerError::Entropy),
    }
}

/// A budget for every window, and what was spent of it; see the [module](self).
///
/// It holds what was in the file when it was opened, and what was reserved since.
#[derive(Debug)]
pub struct Ledger {
    unit: Unit,
    /// The newest record that is known to be on storage. It is not overwritten.
    kept: Record,
    /// What the other slot holds, or held before the last reservation.
    stale: Record,
    /// Where `stale` is, and the next record goes.
    slot: Slot,
    /// The newest entry, persisted or not.
    newest: Entry,
    /// What this ledger signs its records with.
    session: [u8; 8],
    /// The last reservation, as long as it is not known to be on storage.
    reserved: Option<Reserved>,
    /// Whether the record in `slot` was lost, and what it may have spent with it.
    lost: bool,
}

#[derive(Clone, Copy, Debug)]
struct Reserved {
    record: Record,
    /// `None` if it says only that a record was lost.
    cost: Option<Cost>,
}

impl Ledger {
    /// The file of a new ledger for `unit`, with `budget` micro-units of ε for every window.
    ///
    /// The budget stays: another one is another promise, and a ledger of its own. The app writes the file
    /// once, beside its place, and renames it when it is on storage. Where a ledger was before, or a monotonic counter is
    /// above 1, use [`begin_anew`](Ledger::begin_anew): this one forgets what was spent.
    ///
    /// # Errors
    /// [`LedgerError::NoBudget`] for a budget of 0; [`LedgerError::Entropy`] if the source of the identifier
    /// failed or gave nothing but zeroes.
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

    /// The file of a ledger that takes the place of one that was lost, damaged or set back. What was spent is not known, so
    /// `window` counts as spent: it is the current one, or later.
    ///
    /// The app writes it as that of [`create`](Ledger::create). `storage` is asked for its monotonic counter, if it has
    /// one, which is raised: no older file is taken for the ledger after that.
    ///
    /// # Errors
    /// Those of [`create`](Ledger::create), [`LedgerError::WornOut`], [`LedgerError::NotRaised`], and those of the storage.
    ///
    /// # Cost
    /// 8 bytes of entropy.
    pub fn begin_anew<S: Storage + ?Sized, E: Entropy + ?Sized>(
        unit: Unit,
        budget: u64,
        window: u64,
        storage: &mut S,
        entropy: &mut E,
    ) -> Result<[u8; LEDGER_BYTES], SpendError<S::Error>> {
        let counter = storage.counter().map_err(SpendError::Storage)?;
        // A new ledger has number 1, and is not taken for this one.
        let number = counter.unwrap_or_default().max(1).checked_add(1);
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
        let record = |counter: u64| {
            let entry = Entry {
                magic: MAGIC,
                version: VERSION,
                unit: unit.number(),
                id,
                session: [0; 8],
                counter: counter.into(),
                window: window.into(),
                budget: budget.into(),
                spent: spent.into(),
            };
            entry.record()
        };
        let records = [record(number), record(number.saturating_sub(1))];
        Ok(*transmute_ref!(&records))
    }

    /// The ledger in a file, for releases with this unit.
    ///
    /// # Shapes
    /// `image`: the file, any bytes.
    ///
    /// # Errors
    /// [`LedgerError::Length`], [`LedgerError::NotALedger`], [`LedgerError::Version`],
    /// [`LedgerError::Damaged`] if no record is intact, [`LedgerError::Mixed`] if the two do not belong
    /// together, [`LedgerError::Unit`] for a ledger for another unit; [`LedgerError::Entropy`] if the source failed or gave
    /// nothing but zeroes.
    ///
    /// # Cost
    /// Two blocks of SHA-256; 8 bytes of entropy, which tell what this ledger writes from what others write.
    pub fn open<E: Entropy + ?Sized>(
        unit: Unit,
        image: &[u8],
        entropy: &mut E,
    ) -> Result<Self, LedgerError> {
        let Newest {
            slot,
            kept,
            stale,
            entry: newest,
            lost,
        } = Newest::read(image)?;
        if let Some(found) = newest.unit()?
            && found != unit
        {
            return Err(LedgerError::Unit(WrongUnit {
                expected: unit,
                found,
            }));
        }
        Ok(Self {
            unit,
            kept,
            stale,
            slot,
            newest,
            session: random(entropy)?,
            reserved: None,
            lost,
        })
    }

    /// What its grants are for.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The budget of a window in micro-units.
    pub fn budget(&self) -> u64 {
        self.newest.budget.get()
    }

    /// What is left in `window`, in micro-units; 0 if a record was lost. Private if an ε depended on the text.
    ///
    /// # Errors
    /// [`LedgerError::FromFuture`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64, LedgerError> {
        let spent = spent(&self.newest, self.lost, window)?;
        Ok(self.budget().saturating_sub(spent))
    }

    /// Spends in `window`: reserves, raises the storage's monotonic counter if it has one, writes the record, and reads it
    /// back. When this returns a grant, storage says so.
    ///
    /// # Errors
    /// Those of [`reserve`](Ledger::reserve) and of reading: nothing was spent. Those of the counter, of writing, and of
    /// [`persisted`](Reservation::persisted): what was to be spent stays spent. [`LedgerError::Lost`] if a record was lost:
    /// the rest of the window counts as spent, and storage says so.
    ///
    /// # Cost
    /// Up to two blocks of SHA-256, and what storage takes.
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

    /// Reserves what a release costs in `window`. It counts as spent from now on, whatever becomes of the reservation.
    ///
    /// If a record was lost, what is reserved is the rest of the window, and
    /// [`persisted`](Reservation::persisted) gives [`LedgerError::Lost`] instead of a grant
    /// ([`Reservation::is_lost`] says so before).
    ///
    /// # Shapes
    /// `stored`: the file, as it is now. `counter`: the platform's monotonic counter, if it has one, as it is now. The
    /// caller raises it to [`Reservation::number`] before it writes the record.
    ///
    /// # Errors
    /// [`LedgerError::Length`]; [`LedgerError::Changed`] if the file is not as this ledger left it;
    /// [`LedgerError::SetBack`] if the counter counted another file;
    /// [`LedgerError::FromFuture`]; [`LedgerError::Exhausted`] if less is left;
    /// [`LedgerError::WornOut`] after 2⁶⁴ reservations. Nothing was reserved.
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
        self.reserve_cost(cost.into(), window, stored, counter)
    }

    fn reserve_cost(
        &mut self,
        cost: Cost,
        window: u64,
        stored: &[u8],
        counter: Option<u64>,
    ) -> Result<Reservation<'_>, LedgerError> {
        let (stale, kept) = self.slot.split(stored)?;
        // A reservation that was not persisted may be there, in whole, in part or not at all.
        let expected = stale == self.stale
            || self.reserved.is_some_and(|reserved| {
                stale == reserved.record || matches!(stale.intact(), Ok(None))
            });
        if kept != self.kept || !expected {
            return Err(LedgerError::Changed);
        }
        self.meet(counter)?;
        let spent = spent(&self.newest, self.lost, window)?;
        let (spent, granted) = if self.lost {
            (spent, None)
        } else {
            let (remaining, needed) = (self.remaining(window)?, cost.micro());
            if needed > remaining {
                return Err(LedgerError::Exhausted { remaining, needed });
            }
            (spent.saturating_add(needed), Some(cost))
        };
        // What the counter was raised to is used; what is only in memory is not.
        let last = match counter {
            None | Some(0) => self.newest.counter.get(),
            Some(platform) => platform,
        };
        let newest = Entry {
            version: VERSION,
            unit: self.unit.number(),
            session: self.session,
            counter: last.checked_add(1).ok_or(LedgerError::WornOut)?.into(),
            window: window.into(),
            spent: spent.into(),
            ..self.newest
        };
        let reserved = Reserved {
            record: newest.record(),
            cost: granted,
        };
        self.stale = stale;
        self.newest = newest;
        self.reserved = Some(reserved);
        Ok(Reservation {
            ledger: self,
            reserved,
        })
    }

    /// Compares the ledger with the platform's monotonic counter, if it has one: a ledger that is one record behind has lost
    /// it. [`reserve`](Ledger::reserve) does so, too.
    ///
    /// # Errors
    /// [`LedgerError::SetBack`] for a ledger that is further behind, or ahead of a counter that is not 0.
    pub fn meet(&mut self, counter: Option<u64>) -> Result<(), LedgerError> {
        let (kept, newest) = (self.kept.entry.counter.get(), self.newest.counter.get());
        self.lost |= is_behind(kept, newest, counter)?;
        Ok(())
    }

    /// The last reservation, if it was not persisted yet: for callers that cannot keep it while they write.
    pub fn resume(&mut self) -> Option<Reservation<'_>> {
        self.reserved.map(|reserved| Reservation {
            ledger: self,
            reserved,
        })
    }
}

/// An ε that is reserved, and becomes a [`Grant`] once its record is on storage.
#[derive(Debug)]
#[must_use = "what is reserved is spent; write the record, sync, read the file back and call `persisted`"]
pub struct Reservation<'l> {
    ledger: &'l mut Ledger,
    reserved: Reserved,
}

impl Reservation<'_> {
    /// Whether a record was lost, so that this reserves the rest of the window and there will be no grant.
    pub fn is_lost(&self) -> bool {
        self.reserved.cost.is_none()
    }

    /// What the platform's monotonic counter has to be raised to before the record is written.
    pub fn number(&self) -> u64 {
        self.reserved.record.entry.counter.get()
    }

    /// What to write.
    pub fn record(&self) -> &[u8; RECORD_BYTES] {
        transmute_ref!(&self.reserved.record)
    }

    /// Where to write it in the file: 0 or [`RECORD_BYTES`].
    pub fn offset(&self) -> usize {
        match self.ledger.slot {
            Slot::First => 0,
            Slot::Second => RECORD_BYTES,
        }
    }

    /// The grant, for an app that has written the record, synced, and read the file back from storage.
    ///
    /// # Shapes
    /// `read_back`: the file, as it is now.
    ///
    /// # Errors
    /// [`LedgerError::Length`] and [`LedgerError::NotPersisted`] if that is not the file with this
    /// record in its place: what was reserved stays spent. It may be written and read again
    /// ([`Ledger::resume`]).
    ///
    /// [`LedgerError::Lost`] if a record had been lost before: that the rest of its window is spent is
    /// on storage now.
    pub fn persisted(self, read_back: &[u8]) -> Result<Grant, LedgerError> {
        let Self { ledger, reserved } = self;
        let (written, kept) = ledger.slot.split(read_back)?;
        if written != reserved.record || kept != ledger.kept {
            return Err(LedgerError::NotPersisted);
        }
        ledger.stale = ledger.kept;
        ledger.kept = reserved.record;
        ledger.slot = ledger.slot.other();
        ledger.reserved = None;
        ledger.lost = false;
        let cost = reserved.cost.ok_or(LedgerError::Lost)?;
        Ok(Grant {
            unit: ledger.unit,
            epsilon: cost.epsilon,
            words: cost.words.get(),
        })
    }
}

/// Where a ledger's file is, and the platform's monotonic counter if it has one: what [`Ledger::spend`] needs. The app has
/// locked the file.
pub trait Storage {
    /// Why it failed.
    type Error;

    /// Reads the file from its start, as far as `image` goes, and returns the number of bytes read. `image` is one byte
    /// longer than a ledger, so that a file that is too long is noticed.
    ///
    /// # Errors
    /// If it cannot be read. Nothing is granted.
    fn read(&mut self, image: &mut [u8]) -> Result<usize, Self::Error>;

    /// Writes a record at `offset`, which is 0 or [`RECORD_BYTES`], and returns once it is durable.
    ///
    /// # Errors
    /// If it may not be durable. Nothing is granted.
    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Self::Error>;

    /// The platform's monotonic counter for this ledger, `None` without one, which is what this does unless it is
    /// overridden. One that began at another number than 0 is read as what it was raised by.
    ///
    /// # Errors
    /// If it cannot be read. Nothing is granted.
    fn counter(&mut self) -> Result<Option<u64>, Self::Error> {
        Ok(None)
    }

    /// Raises the counter to `to`, by single steps if it has no others: almost always by one. Not called without a counter.
    ///
    /// # Errors
    /// If it may not be durable. Nothing is granted.
    fn raise_counter(&mut self, to: u64) -> Result<(), Self::Error> {
        let _ = to;
        Ok(())
    }
}

/// The file as far as the buffer goes. Who read more than that is told the length.
fn read<'b, S: Storage + ?Sized>(
    storage: &mut S,
    buffer: &'b mut [u8; LEDGER_BYTES + 1],
) -> Result<&'b [u8], SpendError<S::Error>> {
    let found = storage.read(buffer).map_err(SpendError::Storage)?;
    let read = buffer.get(..found);
    read.ok_or(SpendError::Ledger(LedgerError::Length { found }))
}

/// Raises the counter, and makes sure.
fn raise<S: Storage + ?Sized>(storage: &mut S, number: u64) -> Result<(), SpendError<S::Error>> {
    storage.raise_counter(number).map_err(SpendError::Storage)?;
    match storage.counter().map_err(SpendError::Storage)? {
        Some(found) if found == number => Ok(()),
        found => Err(SpendError::Ledger(LedgerError::NotRaised {
            expected: number,
            found: found.unwrap_or_default(),
        })),
    }
}

/// Why [`Ledger::spend`] gave no grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpendError<E> {
    /// The ledger refused.
    Ledger(LedgerError),
    /// The storage failed.
    Storage(E),
}

impl<E> From<LedgerError> for SpendError<E> {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl<E: fmt::Display> fmt::Display for SpendError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger(error) => error.fmt(f),
            Self::Storage(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for SpendError<E> {}

/// Why a ledger refused. Depends on the file, the window and what was spent, never on a text, unless an ε did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerError {
    /// A budget of 0.
    NoBudget,
    /// The entropy source failed or returned nothing but zeroes.
    Entropy,
    /// A file of the wrong length.
    Length {
        /// Bytes given.
        found: usize,
    },
    /// Neither record begins like one.
    NotALedger,
    /// A record of a version that this library does not read.
    Version {
        /// The version found.
        found: u16,
    },
    /// No record is intact.
    Damaged,
    /// Two intact records that cannot follow each other in one ledger.
    Mixed,
    /// The file is not as this ledger left it.
    Changed,
    /// The newest record is of a later window.
    FromFuture {
        /// The window of the record.
        ledger: u64,
        /// The window given.
        given: u64,
    },
    /// Less is left in the window than is needed.
    Exhausted {
        /// What is left, in micro-units.
        remaining: u64,
        /// What is needed, in micro-units.
        needed: u64,
    },
    /// The counter has reached its end.
    WornOut,
    /// What was read back is not the file with the record in its place.
    NotPersisted,
    /// A record was lost, and with it how much was spent; the rest of the window counts as spent.
    Lost,
    /// A ledger for another unit.
    Unit(WrongUnit),
    /// A ledger that is not the one that the platform's monotonic counter counted.
    SetBack {
        /// The number of its newest record.
        ledger: u64,
        /// The counter.
        platform: u64,
    },
    /// The platform's monotonic counter is not where it was raised to.
    NotRaised {
        /// What it was raised to.
        expected: u64,
        /// What it is.
        found: u64,
    },
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBudget => f.write_str("a budget of 0 grants nothing; give at least 0.000001"),
            Self::Entropy => f.write_str("the entropy source failed; nothing was made, opened or spent, try again"),
            Self::Length { found } => {
                write!(f, "a ledger has {LEDGER_BYTES} bytes, these are {found}; is it the right file? If it is, what was spent is not known: begin anew, which counts this window as spent")
            }
            Self::NotALedger => f.write_str(
                "not a ledger: no record begins with \"UTLEDG\"; is it the right file? If it is, what was spent is not known: begin anew, which counts this window as spent",
            ),
            Self::Version { found } => write!(
                f,
                "the ledger has version {found}, this library reads versions 1 and {VERSION}; use the newer of the two programs"
            ),
            Self::Damaged => f.write_str(
                "no record of the ledger is intact, so what was spent is not known; \
                 begin anew, which counts this window as spent",
            ),
            Self::Mixed => f.write_str(
                "the records are not of one ledger, so what was spent is not known; \
                 begin anew, which counts this window as spent",
            ),
            Self::Changed => f.write_str(
                "another program wrote to the ledger's file; lock the file, read it and open the ledger again",
            ),
            Self::FromFuture { ledger, given } => write!(
                f,
                "the ledger is of window {ledger}, later than {given}; was the clock set back?"
            ),
            Self::Exhausted { remaining, needed } => write!(
                f,
                "epsilon {} is left in this window, but {} is needed; wait for the next window",
                Micro(*remaining),
                Micro(*needed)
            ),
            Self::WornOut => f.write_str("the ledger's counter has reached its end; make a new ledger"),
            Self::NotPersisted => f.write_str(
                "the file that was read back is not the ledger with its new record; write it, sync and read again",
            ),
            Self::Lost => f.write_str(
                "a record of the ledger was lost in a power cut or damaged, so the rest of this window counts as spent; \
                 wait for the next window",
            ),
            Self::Unit(error) => write!(f, "not the right ledger: {error}"),
            Self::SetBack { ledger, platform } => write!(
                f,
                "the ledger was set back or exchanged: its newest record is number {ledger}, but the platform's counter \
                 is {platform}, so what was spent is not known; begin anew, which counts this window as spent"
            ),
            Self::NotRaised { expected, found } => write!(
                f,
                "the platform's counter was raised to {expected} and is {found}, so nothing is granted; does something \
                 else use it?"
            ),
        }
    }
}

impl core::error::Error for LedgerError {}
