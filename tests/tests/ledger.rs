//! A ledger never forgets a grant: power cuts at every byte, damage, other writers, and random
//! schedules of all of them.

use std::collections::HashMap;
use std::num::NonZero;

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::Noise;
use undertone_core::ledger::{
    Contents, Cost, Grant, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage,
    WrongUnit,
};
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::vector::VectorMechanism;
use undertone_core::words::{Bag, Vocabulary, WordMechanism, WordsError};
use undertone_tests::{FixedEntropy, epsilon, golden, soak};

/// Unit of the ledgers of these tests.
const UNIT: Unit = Unit::WholeText;

type Image = [u8; LEDGER_BYTES];

fn create(budget: u64, id: u8) -> Image {
    Ledger::create(UNIT, budget, &mut FixedEntropy::new(&[id; 8])).expect("a budget and entropy")
}

/// Identity of the ledgers of these tests, except those of [`another`].
const SESSION: [u8; 8] = [0x5e; 8];

fn try_open(image: &[u8]) -> Result<Ledger, LedgerError> {
    Ledger::open(UNIT, image, &mut FixedEntropy::new(&SESSION))
}

fn open(image: &Image) -> Ledger {
    try_open(image).expect("a ledger")
}

/// A ledger in another process.
fn another(image: &Image) -> Ledger {
    Ledger::open(UNIT, image, &mut FixedEntropy::new(&[0xa0; 8])).expect("a ledger")
}

/// A record by the documented format.
fn record(id: u8, counter: u64, window: u64, budget: u64, spent: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = *b"UTLEDG\x02\x02--------------------------------------------------------";
    bytes[8..16].fill(id);
    bytes[16..24].copy_from_slice(if counter < 2 { &[0; 8] } else { &SESSION });
    for (field, value) in bytes[24..56]
        .chunks_exact_mut(8)
        .zip([counter, window, budget, spent])
    {
        field.copy_from_slice(&value.to_le_bytes());
    }
    sealed(bytes)
}

fn sealed(mut bytes: [u8; RECORD_BYTES]) -> [u8; RECORD_BYTES] {
    let digest = Sha256::digest(&bytes[..56]);
    bytes[56..].copy_from_slice(&digest[..8]);
    bytes
}

fn image(first: [u8; RECORD_BYTES], second: [u8; RECORD_BYTES]) -> Image {
    let mut image = [0; LEDGER_BYTES];
    image[..RECORD_BYTES].copy_from_slice(&first);
    image[RECORD_BYTES..].copy_from_slice(&second);
    image
}

/// Offset and bytes of the record that a reservation writes.
type Write = (usize, [u8; RECORD_BYTES]);

fn apply(file: &mut Image, (offset, record): Write) {
    file[offset..offset + RECORD_BYTES].copy_from_slice(&record);
}

/// A reservation that is dropped once its record is known.
fn reserve(
    ledger: &mut Ledger,
    file: &Image,
    micro: u32,
    window: u64,
) -> Result<Write, LedgerError> {
    let reservation = ledger.reserve(epsilon(micro), window, file, None)?;
    Ok((reservation.offset(), *reservation.record()))
}

/// Reserves, writes, reads back and grants, as an app does.
fn spend(
    ledger: &mut Ledger,
    file: &mut Image,
    micro: u32,
    window: u64,
) -> Result<Grant, LedgerError> {
    let reservation = ledger.reserve(epsilon(micro), window, file, None)?;
    apply(file, (reservation.offset(), *reservation.record()));
    reservation.persisted(file)
}

/// Spends micro-units in `window` as long as it gets grants, and returns how many. A lost record
/// costs one reservation without a grant.
fn drain(ledger: &mut Ledger, file: &mut Image, window: u64) -> u64 {
    let mut granted = 0;
    loop {
        match spend(ledger, file, 1, window) {
            Ok(grant) => granted += u64::from(grant.epsilon().micro()),
            Err(LedgerError::Lost) => {}
            Err(LedgerError::Exhausted { remaining, needed }) => {
                assert_eq!((remaining, needed), (0, 1));
                return granted;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn files_are_as_documented() {
    let mut file = create(10, 7);
    assert_eq!(file, image(record(7, 1, 0, 10, 0), record(7, 0, 0, 10, 0)));
    let mut ledger = open(&file);
    for (step, (micro, window)) in [(3, 20_000), (1, 20_000), (10, 20_001), (2, 20_005)]
        .into_iter()
        .enumerate()
    {
        let mut expected = file;
        let grant = spend(&mut ledger, &mut file, micro, window).expect("within budget");
        assert_eq!(grant.epsilon().micro(), micro);
        let spent = if step == 1 { 4 } else { micro.into() };
        // The slots alternate, starting with the second.
        let start = if step % 2 == 0 { RECORD_BYTES } else { 0 };
        let record = record(7, step as u64 + 2, window, 10, spent);
        apply(&mut expected, (start, record));
        assert_eq!(file, expected);
        assert_eq!(open(&file).remaining(window), Ok(10 - spent));
    }
}

#[test]
fn budgets_belong_to_their_window() {
    let mut file = create(10, 1);
    let mut ledger = open(&file);
    assert_eq!(ledger.budget(), 10);
    assert_eq!(ledger.remaining(0), Ok(10));
    assert_eq!(ledger.remaining(u64::MAX), Ok(10));
    let _grant = spend(&mut ledger, &mut file, 10, 5).expect("the whole budget");
    for ledger in [&mut ledger, &mut open(&file)] {
        assert_eq!(ledger.remaining(5), Ok(0));
        let before = file;
        for micro in [1, 10, Epsilon::MAX.micro()] {
            let refused = reserve(ledger, &file, micro, 5);
            let (remaining, needed) = (0, micro.into());
            assert_eq!(refused, Err(LedgerError::Exhausted { remaining, needed }));
        }
        for given in [0, 4] {
            let future = LedgerError::FromFuture { ledger: 5, given };
            assert_eq!(ledger.remaining(given), Err(future));
            assert_eq!(reserve(ledger, &file, 1, given), Err(future));
        }
        assert_eq!((file, ledger.remaining(6)), (before, Ok(10)));
    }
    // More than a budget, exactly a budget, and the last window.
    let (remaining, needed) = (10, 11);
    let refused = reserve(&mut ledger, &file, 11, 6);
    assert_eq!(refused, Err(LedgerError::Exhausted { remaining, needed }));
    let grant = spend(&mut ledger, &mut file, 10, u64::MAX).expect("a new window");
    assert_eq!(grant.epsilon(), epsilon(10));
    assert_eq!(open(&file).remaining(u64::MAX), Ok(0));
}

#[test]
fn large_budgets_and_counters_do_not_overflow() {
    let mut file = create(u64::MAX, 1);
    let mut ledger = open(&file);
    let _grant = spend(&mut ledger, &mut file, Epsilon::MAX.micro(), 1).expect("within budget");
    assert_eq!(ledger.remaining(1), Ok(u64::MAX - 1_000_000_000));

    let spent = record(1, 7, 1, u64::MAX, u64::MAX - 3);
    let mut file = image(spent, record(1, 6, 1, u64::MAX, 0));
    let mut ledger = open(&file);
    assert_eq!(drain(&mut ledger, &mut file, 1), 3);

    let last = u64::MAX;
    let mut file = image(record(1, last - 1, 1, 10, 1), record(1, 5, 1, 10, 0));
    let mut ledger = open(&file);
    let _grant = spend(&mut ledger, &mut file, 1, 1).expect("the last number");
    for ledger in [&mut ledger, &mut open(&file)] {
        assert_eq!(reserve(ledger, &file, 1, 1), Err(LedgerError::WornOut));
        assert_eq!(reserve(ledger, &file, 1, 2), Err(LedgerError::WornOut));
    }
}

#[test]
fn nothing_is_created_from_bad_arguments() {
    let entropy = &mut FixedEntropy::new(&[1; 8]);
    assert_eq!(Ledger::create(UNIT, 0, entropy), Err(LedgerError::NoBudget));
    assert_eq!(entropy.left(), 8);
    for bytes in [&[][..], &[1; 7], &[0; 8]] {
        let refused = Ledger::create(UNIT, 1, &mut FixedEntropy::new(bytes));
        assert_eq!(refused, Err(LedgerError::Entropy));
        let refused = Ledger::open(UNIT, &create(1, 1), &mut FixedEntropy::new(bytes));
        assert_eq!(refused.err(), Some(LedgerError::Entropy));
    }
}

/// Cuts the power while `write` goes to the file, for each mask of the bytes that arrived, and
/// checks what is left if `granted` micro-units of `budget` in `window` were granted before.
fn cut(file: &Image, write: Write, granted: u64, budget: u64, window: u64, made_it: &[bool]) {
    let mut torn = *file;
    for (index, _) in made_it.iter().enumerate().filter(|(_, made)| **made) {
        torn[write.0 + index] = write.1[index];
    }
    let mut ledger = open(&torn);
    let remaining = ledger.remaining(window).expect("this window");
    assert!(remaining <= budget - granted, "{made_it:?}");
    // Nothing is lost if the slot is unchanged, and only this reservation if it is complete.
    if torn == *file {
        assert!(remaining == budget - granted || granted == budget);
    }
    assert_eq!(drain(&mut ledger, &mut torn, window), remaining);
    // The next window works in every case, even after the ledger is opened again.
    let mut again = open(&torn);
    assert_eq!(again.remaining(window), Ok(0));
    assert_eq!(again.remaining(window + 1), Ok(budget));
    assert_eq!(drain(&mut again, &mut torn, window + 1), budget);
}

#[test]
fn power_cuts_at_every_byte_forget_nothing() {
    const BUDGET: u64 = 9;
    let mut file = create(BUDGET, 0xa5);
    let mut ledger = open(&file);
    let mut granted: HashMap<u64, u64> = HashMap::new();
    let mut rng = PublicRng::new(0x1ed6_0001);
    let rounds = if soak() { 2000 } else { 50 };
    for (micro, window) in [
        (2, 1),
        (3, 1),
        (4, 1),
        (9, 2),
        (1, 3),
        (1, 300),
        (7, 300),
        (1, 1 << 40),
    ] {
        let write = reserve(&mut open(&file), &file, micro, window).expect("within budget");
        let before = granted.get(&window).copied().unwrap_or_default();
        let cut = |made_it: [bool; RECORD_BYTES]| {
            cut(&file, write, before, BUDGET, window, &made_it);
        };
        for length in 0..=RECORD_BYTES {
            cut(std::array::from_fn(|index| index < length));
            cut(std::array::from_fn(|index| index >= length));
        }
        for one in 0..RECORD_BYTES {
            cut(std::array::from_fn(|index| index == one));
            cut(std::array::from_fn(|index| index != one));
        }
        for _ in 0..rounds {
            let bits = rng.next_u64();
            cut(std::array::from_fn(|index| bits >> index & 1 == 1));
        }
        // Bytes that are neither old nor new give no grant.
        for _ in 0..rounds {
            let (from, to) = (rng.next_u32() as usize % 64, rng.next_u32() as usize % 64);
            let mut torn = file;
            apply(&mut torn, write);
            rng.fill_bytes(&mut torn[write.0..write.0 + RECORD_BYTES][from.min(to)..=from.max(to)]);
            let ledger = open(&torn);
            let remaining = ledger.remaining(window).expect("this window");
            assert!(remaining <= BUDGET - before);
        }
        let grant = spend(&mut ledger, &mut file, micro, window).expect("within budget");
        *granted.entry(window).or_default() += u64::from(grant.epsilon().micro());
    }
}

/// A failed reservation is written to the same slot again: the other slot holds what was granted.
#[test]
fn failed_reservations_stay_spent_and_write_their_slot_again() {
    let mut file = create(100, 1);
    let mut ledger = open(&file);
    let _grant = spend(&mut ledger, &mut file, 10, 1).expect("within budget");
    let kept = file;
    let first = reserve(&mut ledger, &file, 20, 1).expect("within budget");
    assert_eq!(ledger.remaining(1), Ok(70));
    // Dropped, and never written.
    let second = reserve(&mut ledger, &file, 5, 1).expect("within budget");
    assert_eq!((first.0, ledger.remaining(1)), (second.0, Ok(65)));
    // Written, not read back.
    apply(&mut file, second);
    let third = reserve(&mut ledger, &file, 5, 1).expect("within budget");
    assert_eq!((third.0, ledger.remaining(1)), (second.0, Ok(60)));
    // Torn while the app keeps running: it remembers what it spent.
    file[third.0 + 30..third.0 + 60].copy_from_slice(&third.1[30..60]);
    let refused = ledger.resume().expect("reserved").persisted(&file).err();
    assert_eq!(refused, Some(LedgerError::NotPersisted));
    assert_eq!(ledger.remaining(1), Ok(60));
    let fourth = reserve(&mut ledger, &file, 1, 1).expect("within budget");
    assert_eq!(fourth.0, third.0);
    // Everything granted is still recorded.
    let (start, other) = (fourth.0, RECORD_BYTES - fourth.0);
    let granted = other..other + RECORD_BYTES;
    assert_eq!(file[granted.clone()], kept[granted]);
    assert_eq!(fourth.1, record(1, 6, 1, 100, 41));
    apply(&mut file, fourth);
    let grant = ledger.resume().expect("reserved").persisted(&file);
    assert_eq!(grant.map(|grant| grant.epsilon()), Ok(epsilon(1)));
    assert!(ledger.resume().is_none(), "one grant for a reservation");
    assert_eq!(open(&file).remaining(1), Ok(59));
    let next = reserve(&mut ledger, &file, 1, 1).expect("within budget");
    assert_ne!(next.0, start);
}

/// A record that arrived without being requested is in its slot when the next one is reserved. If
/// the next one does not arrive, the slot still holds the earlier record, which is not taken for a
/// change by somebody else.
#[test]
fn a_record_that_nobody_asked_for_is_known() {
    let mut file = create(100, 9);
    let mut ledger = open(&file);
    let arrived = reserve(&mut ledger, &file, 10, 1).expect("a budget");
    apply(&mut file, arrived);
    for _ in 0..3 {
        reserve(&mut ledger, &file, 10, 1).expect("the file is as it was");
    }
    assert_eq!(ledger.remaining(1), Ok(60));
    // The record before it counts as a change.
    let before = create(100, 9);
    let changed = reserve(&mut ledger, &before, 10, 1);
    assert_eq!(changed.err(), Some(LedgerError::Changed));
}

/// Only the right read-back gives a grant, and it does so even after wrong ones.
#[test]
fn only_the_file_with_the_record_is_persisted() {
    let mut file = create(100, 1);
    let mut ledger = open(&file);
    for micro in [10, 20] {
        let before = file;
        let write = reserve(&mut ledger, &file, micro, 1).expect("within budget");
        let mut after = file;
        apply(&mut after, write);
        let mut swapped = after;
        swapped.rotate_left(RECORD_BYTES);
        let mut refused = |image: &[u8], error| {
            let reservation = ledger.resume().expect("reserved");
            assert_eq!(reservation.persisted(image).err(), Some(error));
        };
        for found in (0..2 * LEDGER_BYTES).filter(|found| *found != LEDGER_BYTES) {
            let bytes: Vec<u8> = after.iter().chain(&after).copied().take(found).collect();
            refused(&bytes, LedgerError::Length { found });
        }
        for wrong in [before, swapped, [0; LEDGER_BYTES], create(100, 2)] {
            refused(&wrong, LedgerError::NotPersisted);
        }
        for bit in 0..8 * LEDGER_BYTES {
            let mut wrong = after;
            wrong[bit / 8] ^= 1 << (bit % 8);
            refused(&wrong, LedgerError::NotPersisted);
        }
        apply(&mut file, write);
        let grant = ledger.resume().expect("reserved").persisted(&file);
        assert_eq!(grant.map(|grant| grant.epsilon()), Ok(epsilon(micro)));
    }
}

/// No single flipped bit gives more budget, in this window or later.
#[test]
fn flipped_bits_never_add_budget() {
    let mut file = create(10, 1);
    let mut ledger = open(&file);
    let mut states = vec![(file, 0)];
    for (micro, window) in [(1, 1), (2, 1), (7, 1), (4, 2), (5, 2), (10, 7)] {
        let _grant = spend(&mut ledger, &mut file, micro, window).expect("within budget");
        states.push((file, window));
    }
    for (file, window) in states {
        for bit in 0..8 * LEDGER_BYTES {
            let mut flipped = file;
            flipped[bit / 8] ^= 1 << (bit % 8);
            // One record is intact, no matter which.
            let mut ledger = open(&flipped);
            assert_eq!(ledger.remaining(window), Ok(0), "bit {bit}");
            let refused = spend(&mut ledger, &mut flipped, 1, window);
            assert_eq!(refused.err(), Some(LedgerError::Lost));
            for ledger in [&mut ledger, &mut open(&flipped)] {
                assert_eq!(ledger.remaining(window), Ok(0));
                assert_eq!(ledger.remaining(window + 1), Ok(10));
            }
            // If both are damaged, nothing is left.
            let mut both = file;
            both[bit / 8] ^= 1 << (bit % 8);
            both[(bit / 8 + RECORD_BYTES) % LEDGER_BYTES] ^= 1;
            let refused = try_open(&both).err();
            let damaged = [Some(LedgerError::Damaged), Some(LedgerError::NotALedger)];
            assert!(damaged.contains(&refused));
        }
    }
}

#[test]
fn other_files_are_refused() {
    let good = create(10, 1);
    for found in (0..300).filter(|found| *found != LEDGER_BYTES) {
        let bytes: Vec<u8> = good.iter().cycle().copied().take(found).collect();
        assert_eq!(try_open(&bytes).err(), Some(LedgerError::Length { found }));
        let mut ledger = open(&good);
        let refused = ledger.reserve(epsilon(1), 1, &bytes, None);
        assert_eq!(refused.err(), Some(LedgerError::Length { found }));
        assert_eq!(ledger.remaining(1), Ok(10));
    }
    for byte in [0, 0xff, b'U'] {
        let refused = try_open(&[byte; LEDGER_BYTES]);
        assert_eq!(refused.err(), Some(LedgerError::NotALedger));
    }
    // A torn record in either slot distinguishes a damaged ledger from another file.
    let mut torn = record(1, 5, 1, 10, 3);
    torn[40] ^= 1;
    for (first, second) in [(torn, [0; 64]), ([0; 64], torn), (torn, torn)] {
        let refused = try_open(&image(first, second)).err();
        assert_eq!(refused, Some(LedgerError::Damaged));
    }

    let (a, b) = (record(1, 5, 1, 10, 3), record(1, 4, 1, 10, 1));
    assert_eq!(open(&image(a, b)).remaining(1), Ok(7));
    assert_eq!(open(&image(b, a)).remaining(1), Ok(7));
    let mut other_unit = record(1, 4, 1, 10, 1);
    other_unit[7] = Unit::Sentence.number();
    for other in [
        // Another unit, ledger or budget; the same counter; less spent later; an earlier window
        // later.
        sealed(other_unit),
        record(2, 4, 1, 10, 1),
        record(1, 4, 1, 11, 1),
        record(1, 5, 1, 10, 1),
        a,
        record(1, 4, 1, 10, 4),
        record(1, 4, 2, 10, 1),
    ] {
        for mixed in [image(a, other), image(other, a)] {
            assert_eq!(try_open(&mixed).err(), Some(LedgerError::Mixed));
        }
    }
    // More spent than the budget: forged, so it counts as lost.
    let ledger = open(&image(a, record(1, 6, 1, 10, 11)));
    assert_eq!(ledger.remaining(1), Ok(0));

    // Unknown versions and units.
    for [found, unit] in [[0, 0], [1, 0], [2, 0], [3, 0], [1, 1], [2, 5], [255, 255]] {
        let mut newer = record(1, 6, 1, 10, 4);
        newer[6..8].copy_from_slice(&[found, unit]);
        let version = LedgerError::Version { found, unit };
        let text = format!("version {found} and unit {unit}, this library reads version 2");
        assert!(version.to_string().contains(&text), "{version}");
        let version = Some(version);
        // A torn record does not count as one of another version.
        assert_eq!(open(&image(a, newer)).remaining(1), Ok(0));
        for file in [image(a, sealed(newer)), image(sealed(newer), [0; 64])] {
            assert_eq!(try_open(&file).err(), version);
        }
    }
}

/// Handles that were opened before somebody else spent, used one after the other as under a lock.
#[test]
fn stale_handles_are_refused() {
    let mut file = create(10, 1);
    let (mut first, mut second) = (open(&file), another(&file));
    let _grant = spend(&mut first, &mut file, 4, 1).expect("within budget");
    let refused = spend(&mut second, &mut file, 4, 1);
    assert_eq!(refused.err(), Some(LedgerError::Changed));
    assert!(second.resume().is_none());
    let mut second = open(&file);
    assert_eq!(drain(&mut second, &mut file, 1), 6);
    assert_eq!(reserve(&mut first, &file, 1, 2), Err(LedgerError::Changed));

    // A second ledger with a lost reservation of its own cannot spend either.
    let mut file = create(10, 1);
    let (mut first, mut second) = (open(&file), another(&file));
    let lost = reserve(&mut second, &file, 3, 1).expect("within budget");
    let _grant = spend(&mut first, &mut file, 4, 1).expect("within budget");
    assert_eq!(reserve(&mut second, &file, 3, 1), Err(LedgerError::Changed));
    let refused = second.resume().expect("reserved").persisted(&file).err();
    assert_eq!(refused, Some(LedgerError::NotPersisted));
    // It overwrites nothing with a newer version.
    let mut newer = lost.1;
    newer[6] = 3;
    apply(&mut file, (lost.0, sealed(newer)));
    assert_eq!(reserve(&mut second, &file, 3, 1), Err(LedgerError::Changed));
}

/// All orders of the steps of two handles (read and reserve, write, read back) without a lock. Two
/// grants with only one in the file occur only where a handle overwrites a record that was
/// persisted after it read the file. The documentation requires a lock for this reason.
#[test]
fn without_a_lock_all_but_one_order_is_noticed() {
    let mut unnoticed = 0;
    for order in (0u32..64).filter(|order| order.count_ones() == 3) {
        let mut file = create(10, 1);
        let mut handles = [open(&file), another(&file)];
        let mut writes = [None; 2];
        let mut steps = [0; 2];
        // Step numbers of both handles.
        let mut times = [[0; 3]; 2];
        let mut grants = 0;
        for time in 0..6 {
            let who = (order >> time & 1) as usize;
            times[who][steps[who]] = time;
            match steps[who] {
                0 => writes[who] = reserve(&mut handles[who], &file, 4, 1).ok(),
                1 => writes[who]
                    .into_iter()
                    .for_each(|write| apply(&mut file, write)),
                _ => {
                    let persisted = handles[who].resume().map(|r| r.persisted(&file));
                    grants += u64::from(matches!(persisted, Some(Ok(_))));
                }
            }
            steps[who] += 1;
        }
        let known = 10 - open(&file).remaining(1).expect("this window");
        let raced = |a: usize, b: usize| times[a][0] < times[b][1] && times[b][2] < times[a][1];
        if known < 4 * grants {
            unnoticed += 1;
            assert!(raced(0, 1) || raced(1, 0), "{order:b}: {times:?}");
        }
        assert!(grants >= 1 || known >= 4, "{order:b}");
    }
    assert!(unnoticed > 0, "then the documentation asks for too much");
}

/// One step of a schedule.
#[derive(Clone, Debug)]
enum Step {
    /// Reserve, write, read back.
    Spend,
    /// Reserve and forget.
    Drop,
    /// The write is lost, or some of its bytes arrive, and the app keeps running.
    Fail(u64),
    /// The write is lost or partly arrives, and the power is cut.
    Cut(u64),
    /// The write arrives, and the power is cut before the grant.
    CutAfter,
    /// Open again.
    Open,
    /// The last failed reservation is written and read once more.
    Retry,
    /// A bit of the file flips.
    Rot(usize),
}

fn steps() -> impl Strategy<Value = Vec<(Step, u32, u64)>> {
    let step = prop_oneof![
        8 => Just(Step::Spend),
        1 => Just(Step::Drop),
        1 => prop_oneof![Just(0), any::<u64>()].prop_map(Step::Fail),
        1 => prop_oneof![Just(0), any::<u64>()].prop_map(Step::Cut),
        1 => Just(Step::CutAfter),
        1 => Just(Step::Open),
        1 => Just(Step::Retry),
        1 => (0..8 * LEDGER_BYTES).prop_map(Step::Rot),
    ];
    // Mostly the same window, sometimes one or many later, and now and then a clock that is set
    // back.
    let window = prop_oneof![6 => Just(10), 2 => Just(11), 1 => Just(500), 1 => Just(9)];
    proptest::collection::vec((step, 1u32..40, window), 1..60)
}

fn write_part(file: &mut Image, (offset, record): Write, made_it: u64) {
    for index in (0..RECORD_BYTES).filter(|index| made_it >> index & 1 == 1) {
        file[offset + index] = record[index];
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if soak() { 20_000 } else { 500 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_schedule_grants_more_than_the_budget(schedule in steps()) {
        const BUDGET: u64 = 100;
        let mut file = create(BUDGET, 9);
        let mut ledger = open(&file);
        let mut granted: HashMap<u64, u64> = HashMap::new();
        // State of an app that was never interrupted.
        let mut exact: HashMap<u64, u64> = HashMap::new();
        let mut undisturbed = true;
        let mut now = 10;
        for (step, micro, shift) in schedule {
            // 10 stays, 11 and 500 go forward, 9 goes back, which is noticed unless a record was
            // lost.
            now += u64::max(shift, 10) - 10;
            let window = if undisturbed { now.min(now + shift - 10) } else { now };
            let mut took = |grant: Grant| {
                *granted.entry(window).or_default() += u64::from(grant.epsilon().micro());
            };
            let mut reopen = |file: &Image, ledger: &mut Ledger| {
                undisturbed = false;
                match try_open(file) {
                    Ok(opened) => *ledger = opened,
                    // Rot and a cut may destroy both slots; then nothing is granted ever after.
                    Err(LedgerError::Damaged | LedgerError::NotALedger) => return false,
                    Err(error) => panic!("{error}"),
                }
                true
            };
            match step {
                Step::Open => if !reopen(&file, &mut ledger) { break },
                Step::Rot(bit) => {
                    file[bit / 8] ^= 1 << (bit % 8);
                    // The running app notices and opens the file again.
                    if ledger.resume().is_none() {
                        let refused = reserve(&mut ledger, &file, micro, now);
                        prop_assert_eq!(refused.err(), Some(LedgerError::Changed));
                    }
                    if !reopen(&file, &mut ledger) { break }
                }
                Step::Retry => {
                    let Some(reservation) = ledger.resume() else { continue };
                    let write = (reservation.offset(), *reservation.record());
                    let of = u64::from_le_bytes(write.1[32..40].try_into().unwrap());
                    apply(&mut file, write);
                    match reservation.persisted(&file) {
                        Ok(grant) => *granted.entry(of).or_default() += u64::from(grant.epsilon().micro()),
                        Err(error) => prop_assert_eq!(error, LedgerError::Lost),
                    }
                }
                _ => {
                    let reserved = reserve(&mut ledger, &file, micro, window);
                    let write = match reserved {
                        Ok(write) => write,
                        Err(LedgerError::Exhausted { remaining, needed }) => {
                            prop_assert!(needed == u64::from(micro) && remaining < needed);
                            continue;
                        }
                        Err(LedgerError::FromFuture { ledger, given }) => {
                            prop_assert!(given == window && ledger > given);
                            continue;
                        }
                        Err(error) => panic!("{error}"),
                    };
                    *exact.entry(window).or_default() += u64::from(micro);
                    match step {
                        Step::Spend => {
                            apply(&mut file, write);
                            match ledger.resume().expect("reserved").persisted(&file) {
                                Ok(grant) => took(grant),
                                Err(error) => prop_assert_eq!(error, LedgerError::Lost),
                            }
                        }
                        Step::Fail(made_it) => {
                            write_part(&mut file, write, made_it);
                            // A record that was torn may be complete now.
                            let whole = file[write.0..write.0 + RECORD_BYTES] == write.1;
                            match ledger.resume().expect("reserved").persisted(&file) {
                                Ok(grant) if whole => took(grant),
                                Err(LedgerError::Lost) if whole => {}
                                other => prop_assert_eq!(other.err(), Some(LedgerError::NotPersisted)),
                            }
                        }
                        Step::Cut(made_it) => {
                            write_part(&mut file, write, made_it);
                            if !reopen(&file, &mut ledger) { break }
                        }
                        Step::CutAfter => {
                            apply(&mut file, write);
                            if !reopen(&file, &mut ledger) { break }
                        }
                        _ => {}
                    }
                }
            }
            for (window, granted) in &granted {
                prop_assert!(*granted <= BUDGET, "{} in window {}", granted, window);
                // Memory and file both record at least that.
                for ledger in [Some(&ledger), try_open(&file).ok().as_ref()].into_iter().flatten() {
                    match ledger.remaining(*window) {
                        Ok(remaining) => prop_assert!(remaining <= BUDGET - granted),
                        Err(error) => assert!(matches!(error, LedgerError::FromFuture { .. })),
                    }
                }
            }
            // Memory records no more than that if nothing happened to it.
            if undisturbed && let Ok(remaining) = ledger.remaining(now) {
                let spent = exact.get(&now).copied().unwrap_or_default();
                prop_assert_eq!(remaining, BUDGET - spent);
            }
        }
    }
}

/// Errors contain the numbers, in units of ε.
#[test]
fn refusals_name_what_is_left_and_what_is_needed() {
    let newest = record(1, 5, 1, 10_000_000, 9_500_000);
    let file = image(newest, record(1, 4, 1, 10_000_000, 0));
    let mut ledger = open(&file);
    let refused = ledger
        .reserve(epsilon(2_000_000), 1, &file, None)
        .expect_err("more than is left");
    let text = refused.to_string();
    assert!(
        text.contains("epsilon 0.5 is left") && text.contains("but 2 is needed"),
        "{text}"
    );
}

/// Grants and files are for one unit, and every release refuses a grant for another unit.
#[test]
fn units_are_kept_apart() {
    fn text(error: impl ToString) -> String {
        error.to_string()
    }
    let mut out = [0; 256];
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut document = Document::<'_>::new(&pack).expect("candidates");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    let mut bag = Bag::new(&vocabulary);
    let one = epsilon(1_000_000);
    let vector = VectorMechanism::new(1, 0, Noise::DiscreteLaplace, one).expect("parameters");
    let rule = Rule::PermuteAndFlip;
    let words = WordMechanism::Selection(rule);
    for found in Unit::ALL {
        let mut file = Ledger::create(found, 1_000_000_000, &mut FixedEntropy::new(&[7; 8]))
            .expect("a budget");
        assert_eq!(file[6..8], [2, found.number()]);
        let mut ledger = Ledger::open(found, &file, &mut FixedEntropy::new(&SESSION)).expect("it");
        assert_eq!(ledger.unit(), found);
        let contents = Contents::read(&file, None).expect("a ledger");
        assert_eq!(contents.unit(), found);
        for expected in Unit::ALL {
            let wrong = WrongUnit { expected, found };
            let opened = Ledger::open(expected, &file, &mut FixedEntropy::new(&SESSION)).err();
            let refused = (expected != found).then_some(LedgerError::Unit(wrong));
            assert_eq!(opened, refused);
            let recorded = spend(&mut ledger, &mut file, 1_000_000, 1).expect("within the budget");
            assert_eq!(recorded.unit(), found);
            assert_eq!(recorded.words(), NonZero::new(1));
            for grant in [recorded, Grant::unrecorded(found, one)] {
                let entropy = &mut FixedEntropy::new(&[1; 32]);
                let refused = match expected {
                    Unit::Sentence => document.release(grant, rule, entropy).err().map(text),
                    Unit::WholeText => {
                        // The golden pack has no whole-text releases; the unit is checked first.
                        let error = document.release_whole_text(grant, entropy).err();
                        error.filter(|it| *it != DocumentError::NoScores).map(text)
                    }
                    Unit::Word => {
                        let written = bag.release(1, words, grant, entropy, &mut out);
                        written.err().map(text)
                    }
                    Unit::Vector => {
                        let written = vector.release(grant, &[0.5], entropy, &mut out);
                        written.err().map(text)
                    }
                };
                let right = (expected != found).then(|| format!("not the right grant: {wrong}"));
                assert_eq!(refused, right, "{expected} {found}");
                assert!(right.is_none_or(|text| text.contains(&format!("\"{found}\""))));
            }
        }
    }
}

/// A bag costs ε for each of its words, and its grant is for no larger bag.
#[test]
fn bags_cost_what_their_words_cost() {
    let mut file = Ledger::create(Unit::Word, 100, &mut FixedEntropy::new(&[7; 8])).expect("it");
    let open = |file: &Image| Ledger::open(Unit::Word, file, &mut FixedEntropy::new(&SESSION));
    let mut ledger = open(&file).expect("a ledger");
    let bag = |words| Cost::bag(epsilon(3), NonZero::new(words).expect("some"));
    let reservation = ledger.reserve(bag(20), 1, &file, None).expect("60 of 100");
    apply(&mut file, (reservation.offset(), *reservation.record()));
    let grant = reservation.persisted(&file).expect("it is there");
    assert_eq!(grant.epsilon(), epsilon(3));
    assert_eq!(grant.words(), NonZero::new(20));
    assert_eq!(ledger.remaining(1), Ok(40));
    assert_eq!(open(&file).expect("a ledger").remaining(1), Ok(40));
    let (remaining, needed) = (40, 42);
    let refused = ledger.reserve(bag(14), 1, &file, None).err();
    assert_eq!(refused, Some(LedgerError::Exhausted { remaining, needed }));
    // The largest bag does not overflow.
    let most = Cost::bag(Epsilon::MAX, NonZero::<u16>::MAX);
    assert_eq!(most.micro(), 65_535_000_000_000);

    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    let words = WordMechanism::Selection(Rule::PermuteAndFlip);
    let mut out = [0; 256];
    let mut bag = Bag::new(&vocabulary);
    let (needed, found) = (21, 20);
    assert_eq!(bag.check_grant(&grant, 20), Ok(()));
    let refused = bag.release(21, words, grant, &mut FixedEntropy::new(&[1; 32]), &mut out);
    assert_eq!(refused, Err(WordsError::Grant { needed, found }));
    let unrecorded = Grant::unrecorded(Unit::Word, epsilon(3));
    assert_eq!(bag.check_grant(&unrecorded, 256), Ok(()));
}

/// A file, a platform's counter, and the planned failures.
#[derive(Clone)]
struct Platform {
    file: Image,
    counter: Option<u64>,
    /// Calls until the power is cut.
    calls: usize,
    /// The counter reports success without being raised.
    lazy: bool,
}

/// The power was cut.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Off;

impl Platform {
    fn new(file: Image) -> Self {
        Self {
            file,
            counter: Some(0),
            calls: usize::MAX,
            lazy: false,
        }
    }

    fn on(&mut self) -> Result<(), Off> {
        self.calls = self.calls.checked_sub(1).ok_or(Off)?;
        Ok(())
    }

    fn open(&self) -> Result<Ledger, LedgerError> {
        let mut ledger = try_open(&self.file)?;
        ledger.check_counter(self.counter)?;
        Ok(ledger)
    }

    /// Everything one start of a program does.
    fn spend(&mut self, micro: u32, window: u64) -> Result<u64, SpendError<Off>> {
        let grant = self.open()?.spend(epsilon(micro), window, self)?;
        Ok(grant.epsilon().micro().into())
    }
}

impl Storage for Platform {
    type Error = Off;

    fn read(&mut self, image: &mut [u8]) -> Result<usize, Off> {
        self.on()?;
        image[..LEDGER_BYTES].copy_from_slice(&self.file);
        Ok(LEDGER_BYTES)
    }

    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Off> {
        self.on()?;
        apply(&mut self.file, (offset, *record));
        Ok(())
    }

    fn counter(&mut self) -> Result<Option<u64>, Off> {
        self.on()?;
        Ok(self.counter)
    }

    fn raise_counter(&mut self, to: u64) -> Result<(), Off> {
        self.on()?;
        if !self.lazy {
            self.counter = self.counter.map(|counter| counter.max(to));
        }
        Ok(())
    }
}

/// With a platform's counter no earlier file restores budget: every history of three spends, with
/// or without a power cut at any step, followed by each earlier image in the place of the last.
#[test]
fn no_file_that_is_set_back_grants_again() {
    const BUDGET: u64 = 10;
    const STEPS: usize = 7;
    let mut refusals = HashMap::new();
    for cuts in 0..(STEPS + 1).pow(3) {
        let mut platform = Platform::new(create(BUDGET, 1));
        let mut images = vec![platform.file];
        let mut granted = 0;
        for turn in 0..3 {
            let cut = cuts / (STEPS + 1).pow(turn) % (STEPS + 1);
            platform.calls = if cut == STEPS { usize::MAX } else { cut };
            granted += platform.spend(2 + turn, 1).unwrap_or_default();
            images.push(platform.file);
            // The file may be set back between two spends.
            platform.calls = usize::MAX;
            for image in &images {
                let mut back = platform.clone();
                back.file = *image;
                granted_at_most(&mut back, granted, BUDGET, &mut refusals);
            }
        }
        // A deleted file that is made anew, both without and with the budget of this window.
        let mut anew = platform.clone();
        anew.file = create(BUDGET, 2);
        granted_at_most(&mut anew, granted, BUDGET, &mut refusals);
        let entropy = &mut FixedEntropy::new(&[3; 8]);
        let recreated = Ledger::recreate_spent(UNIT, BUDGET, 1, &mut platform, entropy);
        platform.file = recreated.expect("a budget");
        assert_eq!(platform.open().expect("recreated").remaining(1), Ok(0));
        assert_eq!(platform.open().expect("recreated").remaining(2), Ok(BUDGET));
        // No earlier image is accepted in a later window.
        for image in &images {
            let mut back = platform.clone();
            back.file = *image;
            granted_at_most(&mut back, granted, BUDGET, &mut refusals);
        }
    }
    let often = |what| refusals.get(what).is_some_and(|found| *found > 1);
    assert!(often("set back") && often("lost"), "{refusals:?}");
}

/// A clock that was ahead once leaves a ledger of a far window, which refuses the present one for
/// ever. Once recreated, it counts as spent in the present window, refuses earlier ones and has its
/// budget in later ones; the counter refuses every earlier file.
#[test]
fn a_clock_that_was_wrong_once_ends_nothing_for_good() {
    const NOW: u64 = 20_000;
    const FAR: u64 = 5_000_000;
    for counter in [None, Some(0)] {
        let mut platform = Platform::new(create(10, 1));
        platform.counter = counter;
        assert_eq!(platform.spend(4, NOW), Ok(4));
        assert_eq!(platform.spend(3, FAR), Ok(3));
        let before = platform.file;
        let refused = platform.spend(1, NOW);
        let (ledger, given) = (FAR, NOW);
        let future = LedgerError::FromFuture { ledger, given };
        assert_eq!(refused, Err(SpendError::Ledger(future)));
        assert!(future.to_string().contains("recreate the ledger"));
        let entropy = &mut FixedEntropy::new(&[3; 8]);
        let recreated = Ledger::recreate_spent(UNIT, 10, NOW, &mut platform, entropy);
        platform.file = recreated.expect("a budget");
        let (remaining, needed) = (0, 1);
        let exhausted = LedgerError::Exhausted { remaining, needed };
        assert_eq!(platform.spend(1, NOW), Err(SpendError::Ledger(exhausted)));
        let (ledger, given) = (NOW, NOW - 1);
        let past = LedgerError::FromFuture { ledger, given };
        assert_eq!(platform.spend(1, NOW - 1), Err(SpendError::Ledger(past)));
        assert_eq!(platform.spend(10, NOW + 1), Ok(10));
        assert!(platform.spend(1, NOW + 1).is_err());
        if counter.is_some() {
            platform.file = before;
            let refused = platform.open().err();
            assert!(matches!(refused, Some(LedgerError::SetBack { .. })));
        }
    }
}

/// Spends everything in window 1 and checks the sum, earlier grants included.
fn granted_at_most(
    platform: &mut Platform,
    before: u64,
    budget: u64,
    refusals: &mut HashMap<&'static str, u64>,
) {
    let mut granted = before;
    for _ in 0..=2 * budget {
        match platform.spend(1, 1) {
            Ok(more) => granted += more,
            Err(SpendError::Ledger(LedgerError::Exhausted { .. })) => break,
            Err(SpendError::Ledger(LedgerError::Lost)) => *refusals.entry("lost").or_default() += 1,
            Err(SpendError::Ledger(LedgerError::SetBack { .. })) => {
                *refusals.entry("set back").or_default() += 1;
                break;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(granted <= budget, "{granted}");
}

/// Without a counter the same is not noticed, so the test above can fail.
#[test]
fn without_a_counter_a_file_is_set_back_unnoticed() {
    let mut platform = Platform::new(create(10, 1));
    platform.counter = None;
    let before = platform.file;
    assert_eq!(platform.spend(7, 1), Ok(7));
    platform.file = before;
    assert_eq!(platform.spend(7, 1), Ok(7));
    // A counter that is not raised gives no grant.
    platform.counter = Some(0);
    platform.lazy = true;
    let refused = platform.spend(1, 1);
    let (expected, found) = (3, 0);
    let not_raised = LedgerError::NotRaised { expected, found };
    assert_eq!(refused, Err(SpendError::Ledger(not_raised)));
    // Once it counts, only the newest file is accepted; a file ahead of it is refused.
    platform.lazy = false;
    assert_eq!(platform.spend(1, 1), Ok(1));
    let (file, counter) = (9, platform.counter.expect("it counts"));
    platform.file = image(record(1, file, 1, 10, 1), record(1, 8, 1, 10, 1));
    let set_back = LedgerError::SetBack {
        ledger: file,
        platform: counter,
    };
    assert_eq!(platform.open().err(), Some(set_back));
    let read = Contents::read(&platform.file, Some(counter));
    assert_eq!(read.err(), Some(set_back));
}

/// A ledger that stays open all day: a step that fails counts as spent, and nothing else does.
#[test]
fn one_ledger_spends_with_a_counter() {
    let mut platform = Platform::new(create(100, 1));
    let mut ledger = platform.open().expect("a ledger");
    let mut granted = 0;
    let mut reserved = 0;
    for turn in 0..40 {
        // A step fails now and then; the app goes on.
        platform.calls = if turn % 3 == 2 { turn % 7 } else { usize::MAX };
        let left = ledger.remaining(1).expect("this window");
        match ledger.spend(epsilon(2), 1, &mut platform) {
            Ok(grant) => granted += u64::from(grant.epsilon().micro()),
            Err(SpendError::Storage(Off)) => {}
            Err(SpendError::Ledger(LedgerError::Exhausted { .. })) => assert!(left < 2),
            Err(error) => panic!("{error:?}"),
        }
        reserved += left - ledger.remaining(1).expect("this window");
        assert!(granted <= reserved && reserved <= 100);
    }
    assert!(granted > 50);
    platform.calls = usize::MAX;
    let after = platform.open().map(|ledger| ledger.remaining(1));
    assert!(
        matches!(after, Ok(Ok(left)) if left <= 100 - granted)
            || matches!(after, Err(LedgerError::SetBack { .. })),
        "{after:?}"
    );
}
