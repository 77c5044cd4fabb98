//! The privacy budget: what a device may spend in a window of time, kept where losing power cannot restore it.
//!
//! Every release takes a [`Grant`] by value: permission to spend an ε once. A [`Ledger`] issues grants as long
//! as the budget of the window lasts. It issues a grant only after its cost is durably recorded.
//!
//! # How
//!
//! The app keeps a file of [`LEDGER_BYTES`] bytes, which [`Ledger::create`] makes once. It chooses what a window
//! is: a public number that does not go backwards, such as the days since 1970. This is how it spends, while nothing else
//! uses the file:
//!
//! ```
//! # use undertone_core::epsilon::Epsilon;
//! use undertone_core::ledger::{Grant, LEDGER_BYTES, Ledger, LedgerError};
//!
//! /// `file` stands for a locked file that the ledger was opened from.
//! fn spend(ledger: &mut Ledger, file: &mut [u8; LEDGER_BYTES], epsilon: Epsilon, today: u64)
//!     -> Result<Grant, LedgerError>
//! {
//!     let reservation = ledger.reserve(epsilon, today, file)?;
//!     let (start, record) = (reservation.offset(), *reservation.record());
//!     file[start..start + record.len()].copy_from_slice(&record); // write, then sync
//!     reservation.persisted(file) // what is read back from storage
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
//! let mut file = Ledger::create(10_000_000, entropy)?; // ε = 10 a day
//! let mut ledger = Ledger::open(&file, entropy)?;
//! let grant = spend(&mut ledger, &mut file, "7".parse()?, 20_000)?;
//! assert_eq!(grant.epsilon().micro(), 7_000_000);
//! let refused = spend(&mut ledger, &mut file, "7".parse()?, 20_000);
//! let (remaining, needed) = (3_000_000, 7_000_000);
//! assert_eq!(refused.map(|_| ()), Err(LedgerError::Exhausted { remaining, needed }));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
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
//! # Assumptions
//!
//! - A synced write stays. A write to one slot never damages the other. A read after the sync returns
//!   what storage holds. (Where both slots share a sector that can be lost as a whole, they are lost
//!   together: an error. Firmware keeps each record in an erase block of its own.)
//! - Nothing else writes the file between [`reserve`](Ledger::reserve) and
//!   [`persisted`](Reservation::persisted), not even a fork of this process. A ledger notices a file that changed since it
//!   last looked, or while it was writing, but it cannot know that it has just overwritten the record of another writer
//!   that already has a grant for it: only a lock keeps two writers apart.
//! - The file is not set back. Restoring a backup, cloning a device, or returning a virtual machine to a
//!   snapshot brings spent budget back. Anyone who can write the file can do that on purpose.
//! - The app says what the window is. Setting the clock forward opens a new one early, and a window far in
//!   the future locks the ledger until then ([`LedgerError::FromFuture`]). Setting the clock back is noticed,
//!   unless the record that would show it was lost.
//! - Each kind of promise has its own ledger. The ε of sentences and the ε per distance of words and vectors
//!   must not share one: their sum promises nothing. Bags of different sizes must not share one either, because their ε is
//!   that of each word.
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
//! | 6 | 2 | version, 1 |
//! | 8 | 8 | identifier of the ledger, random |
//! | 16 | 8 | random number of the session that wrote the record; 0 at first |
//! | 24 | 8 | counter: of two intact records, the one with the larger counter is newer |
//! | 32 | 8 | window |
//! | 40 | 8 | budget of a window in micro-units |
//! | 48 | 8 | spent in this window in micro-units |
//! | 56 | 8 | the first bytes of the SHA-256 of the 56 bytes before |
//!
//! In every version the first two fields and the last keep their places.
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
//!     let first = ledger.reserve(epsilon, 1, file);
//!     let second = ledger.reserve(epsilon, 1, file);
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

use sha2::{Digest, Sha256};
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_ref};

use crate::epsilon::{Epsilon, Micro};
use crate::rng::Entropy;

/// The length of a ledger's file.
pub const LEDGER_BYTES: usize = 2 * RECORD_BYTES;
/// The length of a record, which is what a reservation writes.
pub const RECORD_BYTES: usize = 64;

const MAGIC: [u8; 6] = *b"UTLEDG";
const VERSION: u16 = 1;

/// Permission to spend ε once.
///
/// A release takes it by value, whether it succeeds or not: what was granted is never refunded. It can
/// neither be copied nor cloned.
#[derive(Debug)]
#[must_use = "what was granted is spent, whether it is used or not"]
pub struct Grant(Epsilon);

impl Grant {
    /// A grant that no ledger counts, for apps that account elsewhere and for public text.
    ///
    /// Releases of the same sentences add up; the caller counts them.
    pub const fn unrecorded(epsilon: Epsilon) -> Self {
        Self(epsilon)
    }

    /// What may be spent.
    pub const fn epsilon(&self) -> Epsilon {
        self.0
    }
}

/// What a record says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Entry {
    magic: [u8; 6],
    version: U16,
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

    /// Whether `newer` can follow this entry in one ledger.
    fn precedes(&self, newer: &Self) -> bool {
        let (id, budget) = (self.id == newer.id, self.budget == newer.budget);
        let of = |entry: &Self| (entry.window.get(), entry.spent.get());
        id && budget && self.counter.get() < newer.counter.get() && of(self) <= of(newer)
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
        match entry.version.get() {
            VERSION => Ok((entry.spent.get() <= entry.budget.get()).then_some(entry)),
            found => Err(LedgerError::Version { found }),
        }
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
    epsilon: Option<Epsilon>,
}

impl Ledger {
    /// The file of a new ledger, with `budget` micro-units of ε for every window.
    ///
    /// The budget stays: another one is another promise, and a ledger of its own. The app writes the file
    /// once, beside its place, and renames it when it is on storage.
    ///
    /// # Errors
    /// [`LedgerError::NoBudget`] for a budget of 0; [`LedgerError::Entropy`] if the source of the identifier
    /// failed or gave nothing but zeroes.
    ///
    /// # Cost
    /// 8 bytes of entropy.
    pub fn create<E: Entropy + ?Sized>(
        budget: u64,
        entropy: &mut E,
    ) -> Result<[u8; LEDGER_BYTES], LedgerError> {
        if budget == 0 {
            return Err(LedgerError::NoBudget);
        }
        let id = random(entropy)?;
        let record = |counter: u64| {
            let entry = Entry {
                magic: MAGIC,
                version: VERSION.into(),
                id,
                session: [0; 8],
                counter: counter.into(),
                window: 0.into(),
                budget: budget.into(),
                spent: 0.into(),
            };
            entry.record()
        };
        let records = [record(1), record(0)];
        Ok(*transmute_ref!(&records))
    }

    /// The ledger in a file.
    ///
    /// # Shapes
    /// `image`: the file, any bytes.
    ///
    /// # Errors
    /// [`LedgerError::Length`], [`LedgerError::NotALedger`], [`LedgerError::Version`],
    /// [`LedgerError::Damaged`] if no record is intact, [`LedgerError::Mixed`] if the two do not belong
    /// together; [`LedgerError::Entropy`] if the source failed or gave nothing but zeroes.
    ///
    /// # Cost
    /// Two blocks of SHA-256; 8 bytes of entropy, which tell what this ledger writes from what others write.
    pub fn open<E: Entropy + ?Sized>(image: &[u8], entropy: &mut E) -> Result<Self, LedgerError> {
        let (first, second) = Slot::First.split(image)?;
        let (slot, kept, newest, lost) = match (first.intact()?, second.intact()?) {
            (None, None) if first.is_ledger() || second.is_ledger() => {
                return Err(LedgerError::Damaged);
            }
            (None, None) => return Err(LedgerError::NotALedger),
            (Some(entry), None) => (Slot::Second, first, entry, true),
            (None, Some(entry)) => (Slot::First, second, entry, true),
            (Some(a), Some(b)) if b.precedes(&a) => (Slot::Second, first, a, false),
            (Some(a), Some(b)) if a.precedes(&b) => (Slot::First, second, b, false),
            (Some(_), Some(_)) => return Err(LedgerError::Mixed),
        };
        Ok(Self {
            kept,
            stale: if slot == Slot::First { first } else { second },
            slot,
            newest,
            session: random(entropy)?,
            reserved: None,
            lost,
        })
    }

    /// The budget of a window in micro-units.
    pub fn budget(&self) -> u64 {
        self.newest.budget.get()
    }

    /// What is left in `window`, in micro-units. Private if an ε depended on the text.
    ///
    /// # Errors
    /// [`LedgerError::FromFuture`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64, LedgerError> {
        Ok(self.budget().saturating_sub(self.spent(window)?))
    }

    /// What counts as spent in `window`.
    fn spent(&self, window: u64) -> Result<u64, LedgerError> {
        let ledger = self.newest.window.get();
        if window < ledger {
            return Err(LedgerError::FromFuture {
                ledger,
                given: window,
            });
        }
        Ok(match self.lost {
            true => self.budget(),
            false if window > ledger => 0,
            false => self.newest.spent.get(),
        })
    }

    /// Reserves ε in `window`. It counts as spent from now on, whatever becomes of the reservation.
    ///
    /// If a record was lost, what is reserved is the rest of the window, and
    /// [`persisted`](Reservation::persisted) gives [`LedgerError::Lost`] instead of a grant.
    ///
    /// # Shapes
    /// `stored`: the file, as it is now.
    ///
    /// # Errors
    /// [`LedgerError::Length`]; [`LedgerError::Changed`] if the file is not as this ledger left it;
    /// [`LedgerError::FromFuture`]; [`LedgerError::Exhausted`] if less than ε is left;
    /// [`LedgerError::WornOut`] after 2⁶⁴ reservations. Nothing was reserved.
    ///
    /// # Cost
    /// Up to two blocks of SHA-256.
    pub fn reserve(
        &mut self,
        epsilon: Epsilon,
        window: u64,
        stored: &[u8],
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
        let spent = self.spent(window)?;
        let (spent, granted) = if self.lost {
            (spent, None)
        } else {
            let (remaining, needed) = (self.remaining(window)?, u64::from(epsilon.micro()));
            if needed > remaining {
                return Err(LedgerError::Exhausted { remaining, needed });
            }
            (spent.saturating_add(needed), Some(epsilon))
        };
        let counter = self.newest.counter.get().checked_add(1);
        let newest = Entry {
            session: self.session,
            counter: counter.ok_or(LedgerError::WornOut)?.into(),
            window: window.into(),
            spent: spent.into(),
            ..self.newest
        };
        let reserved = Reserved {
            record: newest.record(),
            epsilon: granted,
        };
        self.stale = stale;
        self.newest = newest;
        self.reserved = Some(reserved);
        Ok(Reservation {
            ledger: self,
            reserved,
        })
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
        reserved.epsilon.map(Grant).ok_or(LedgerError::Lost)
    }
}

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
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBudget => f.write_str("a budget of 0 grants nothing; give at least 0.000001"),
            Self::Entropy => f.write_str("the entropy source failed; nothing was made, opened or spent, try again"),
            Self::Length { found } => {
                write!(f, "a ledger has {LEDGER_BYTES} bytes, these are {found}; is it the right file?")
            }
            Self::NotALedger => f.write_str("not a ledger: no record begins with \"UTLEDG\"; is it the right file?"),
            Self::Version { found } => write!(
                f,
                "the ledger has version {found}, this library reads version {VERSION}; use the newer of the two programs"
            ),
            Self::Damaged => f.write_str(
                "no record of the ledger is intact, so what was spent is not known; \
                 make a new one for a window in which nothing was released",
            ),
            Self::Mixed => f.write_str(
                "the records are not of one ledger, so what was spent is not known; \
                 make a new one for a window in which nothing was released",
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
        }
    }
}

impl core::error::Error for LedgerError {}
