//! One line of a slot, end to end: releases, stored states, and a year of appointments.

use std::num::NonZero;

use undertone_core::appointment::Appointment;
use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Micro;
use undertone_core::form::{AnswersError, Form, NO_ANSWER};
use undertone_core::ledger::{Contents, Grant, LEDGER_BYTES, Ledger, RECORD_BYTES, Storage};
use undertone_core::pack::Pack;
use undertone_core::release::{Mechanism, Outcome, Release};
use undertone_core::reservoir::{
    AnswerReservoir, RESERVOIR_BYTES, Reservoir, ReservoirFormatError, all_lines_epsilon,
};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;
use undertone_tests::forms::FormParts;
use undertone_tests::packs::ScoreParts;
use undertone_tests::{FixedEntropy, epsilon};

const ENTROPY: [u8; 32] = [7; 32];

fn grant(unit: Unit) -> Grant {
    Grant::unrecorded(unit, epsilon(3_000_000))
}

fn places(k: u16) -> NonZero<u16> {
    NonZero::new(k).expect("not 0")
}

/// A pack in which the embedding `[1]` prefers the candidate `best` of five.
fn pack_of(best: usize) -> Vec<u8> {
    let mut scores = vec![0; 5];
    scores[best] = 1;
    ScoreParts::of_table(&[scores], 1).to_pack()
}

fn document<'p>(pack: &'p [u8]) -> Document<'p> {
    Document::new(&Pack::parse(pack).expect("a pack")).expect("scores")
}

fn new(document: &Document<'_>, k: u16) -> Reservoir {
    Reservoir::new(document, 9, places(k), &mut FixedEntropy::new(&ENTROPY)).expect("entropy")
}

/// With one place, a single line is always kept, so the release is that of its document, byte for
/// byte.
#[test]
fn the_release_of_a_kept_line_is_that_of_its_document() {
    type Drawn = Result<Release, DocumentError>;
    type FromDocument = fn(&mut Document<'_>, Grant, &mut FixedEntropy<'_>) -> Drawn;
    type FromReservoir = fn(Reservoir, Grant, &mut FixedEntropy<'_>) -> Drawn;
    let from_documents: [FromDocument; 2] = [
        |d, g, e| d.release_whole_text(g, e),
        |d, g, e| d.release_projective(g, e),
    ];
    let from_reservoirs: [FromReservoir; 2] = [
        |r, g, e| r.release_whole_text(g, e),
        |r, g, e| r.release_projective(g, e),
    ];
    for (best, known) in (0..5).flat_map(|best| [(best, true), (best, false)]) {
        let pack = pack_of(best);
        for (from_document, from_reservoir) in from_documents.iter().zip(from_reservoirs) {
            for key in 1..=50 {
                let [mut line, mut kept] = [(); 2].map(|()| {
                    let mut document = document(&pack);
                    if known {
                        document.push(&[1.0]).expect("room");
                    }
                    document
                });
                let mut reservoir = new(&kept, 1);
                let added = reservoir.add(&mut kept, &mut FixedEntropy::new(&[3; 32]));
                assert_eq!((added, kept.sentence_count()), (Ok(()), 0));
                let entropy = [key; 32];
                let [source, same] = &mut [(); 2].map(|()| FixedEntropy::new(&entropy));
                let expected = from_document(&mut line, grant(Unit::WholeText), source);
                let found = from_reservoir(reservoir, grant(Unit::WholeText), same);
                assert!(expected.is_ok());
                assert_eq!(found, expected, "{best} {known} {key}");
            }
        }
    }
}

/// A drawn sentence is released as by the whole-text rule at E' = 1 + k·(e^ε − 1), and the release
/// states k and ε.
#[test]
fn a_drawn_sentence_is_released_with_the_larger_epsilon() {
    for (k, known) in [1, 3, 200]
        .into_iter()
        .flat_map(|k| [(k, true), (k, false)])
    {
        let pack = pack_of(1);
        let mut line = document(&pack);
        let mut reservoir = new(&line, k);
        for key in 1..=200 {
            if known {
                line.push(&[1.0]).expect("room");
            }
            let added = reservoir.add(&mut line, &mut FixedEntropy::new(&[key; 32]));
            assert_eq!(added, Ok(()));
        }
        let stored = reservoir.to_bytes();
        let filled = || Reservoir::from_bytes(&stored, &line).expect("intact");
        let Micro(all) = all_lines_epsilon(epsilon(1_000_000), places(k));
        let mut numbers = [0; 6];
        for key in 1..=200 {
            let entropy = [key; 32];
            let one = Grant::unrecorded(Unit::Sentence, epsilon(1_000_000));
            let drawn = filled().release_drawn(one, &mut FixedEntropy::new(&entropy));
            let drawn = drawn.expect("entropy");
            let whole = Grant::unrecorded(Unit::WholeText, epsilon(all as u32));
            let expected = filled().release_whole_text(whole, &mut FixedEntropy::new(&entropy));
            let expected = expected.expect("entropy").number();
            assert_eq!(drawn.number(), expected, "{k} {known} {key}");
            assert_eq!(drawn.epsilon(), epsilon(1_000_000));
            let stated = (drawn.mechanism(), drawn.places());
            assert_eq!(stated, (Mechanism::Drawn, Some(places(k))));
            let nothing = drawn.outcome(5) == Some(Outcome::NothingKnown);
            assert_eq!(nothing, drawn.number() == 5);
            assert_eq!(Release::from_bytes(&drawn.to_bytes()), Ok(drawn));
            numbers[drawn.number() as usize] += 1;
        }
        let expected = numbers[if known { 1 } else { 5 }];
        assert_eq!(numbers.iter().max(), Some(&expected), "{k} {numbers:?}");
    }
}

#[test]
fn refusals_keep_the_line_and_depend_on_no_line() {
    let (pack, other) = (pack_of(0), pack_of(1));
    let mut line = document(&pack);
    line.push(&[1.0]).expect("room");
    let mut reservoir = new(&line, 3);
    let before = reservoir.to_bytes();
    let failed = reservoir.add(&mut line, &mut FixedEntropy::new(&[]));
    assert_eq!(failed, Err(DocumentError::Entropy));
    let failed = reservoir.add(&mut document(&other), &mut FixedEntropy::new(&ENTROPY));
    assert_eq!(failed, Err(DocumentError::OtherPack));
    assert_eq!((line.sentence_count(), reservoir.to_bytes()), (1, before));
    for unit in [Unit::Sentence, Unit::Word, Unit::Vector] {
        let refused =
            new(&line, 3).release_whole_text(grant(unit), &mut FixedEntropy::new(&ENTROPY));
        assert!(matches!(refused, Err(DocumentError::Unit(_))), "{unit}");
    }
    for unit in [Unit::WholeText, Unit::Word, Unit::Vector] {
        let refused = new(&line, 3).release_drawn(grant(unit), &mut FixedEntropy::new(&ENTROPY));
        assert!(matches!(refused, Err(DocumentError::Unit(_))), "{unit}");
    }
    let failed =
        new(&line, 3).release_projective(grant(Unit::WholeText), &mut FixedEntropy::new(&[0; 32]));
    assert_eq!(failed, Err(DocumentError::Entropy));
    let failed = Reservoir::new(&line, 0, places(1), &mut FixedEntropy::new(&[])).map(|_| ());
    assert_eq!(failed, Err(DocumentError::Entropy));
}

/// A device that stores and reads the state after every line draws as one that never stops.
#[test]
fn a_stored_state_goes_on_as_if_nothing_had_happened() {
    let packs = pack_of(2);
    for k in [1, 2, 5, 100] {
        let mut line = document(&packs);
        let (mut running, mut stored) = (new(&line, k), new(&line, k).to_bytes());
        for number in 0..40u8 {
            let key = [number + 1; 32];
            for stored_turn in [false, true] {
                if number % 3 == 0 {
                    line.push(&[1.0]).expect("room");
                }
                let mut entropy = FixedEntropy::new(&key);
                if stored_turn {
                    let mut read = Reservoir::from_bytes(&stored, &line).expect("intact");
                    read.add(&mut line, &mut entropy).expect("entropy");
                    stored = read.to_bytes();
                } else {
                    running.add(&mut line, &mut entropy).expect("entropy");
                }
                assert_eq!(entropy.left(), 0);
            }
            assert_eq!(running.to_bytes(), stored);
        }
        let read = Reservoir::from_bytes(&stored, &line).expect("intact");
        assert_eq!((read.slot(), read.places()), (9, places(k)));
    }
}

/// Flips every bit of a stored state, and takes every wrong length.
fn damage_is_refused(
    bytes: [u8; RESERVOIR_BYTES],
    read: impl Fn(&[u8]) -> Option<ReservoirFormatError>,
) {
    assert_eq!(read(&bytes), None);
    for bit in 0..8 * RESERVOIR_BYTES {
        let mut bytes = bytes;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0..=4 => ReservoirFormatError::NotAReservoir,
            6 => ReservoirFormatError::Version { found: bytes[6] },
            _ => ReservoirFormatError::Damaged,
        };
        assert_eq!(read(&bytes), Some(expected), "bit {bit}");
    }
    for found in (0..RESERVOIR_BYTES).chain([RESERVOIR_BYTES + 1]) {
        let long = [bytes.as_slice(), &[0]].concat();
        let expected = ReservoirFormatError::Length { found };
        assert_eq!(read(&long[..found]), Some(expected));
    }
}

#[test]
fn damaged_states_are_refused() {
    let pack = pack_of(2);
    let line = document(&pack);
    let bytes = new(&line, 4).to_bytes();
    let read = |bytes: &[u8]| Reservoir::from_bytes(bytes, &line).map(|_| ()).err();
    damage_is_refused(bytes, read);
    let other = pack_of(3);
    let refused = Reservoir::from_bytes(&bytes, &document(&other)).map(|_| ());
    assert_eq!(refused, Err(ReservoirFormatError::OtherPack));
}

/// Three attributes and a pair.
fn form_file() -> Vec<u8> {
    FormParts::of_sizes(&[3, 40, 1], &[1, 2, 0], &[(0, 2, 1)]).to_form()
}

fn new_answers<'f>(form: &Form<'f>, key: u8) -> AnswerReservoir<'f> {
    let mut entropy = [key; 32];
    entropy[0] = 1;
    AnswerReservoir::new(form, 9, places(3), &mut FixedEntropy::new(&entropy)).expect("entropy")
}

/// A device that stores and reads the state after every line draws as one that never stops. What is
/// stored is one outcome, and the release is of the question that was drawn before any line.
#[test]
fn answers_go_on_after_a_restart() {
    let file = form_file();
    let form = Form::parse(&file).expect("a form");
    let mut questions = [0; 4];
    for key in 0..100 {
        let mut running = new_answers(&form, key);
        let mut stored = running.to_bytes();
        let question = stored[7];
        for line in 0..12u8 {
            let answers = [u32::from(line) % 4, u32::from(line) * 7 % 45, NO_ANSWER];
            let entropy = [line + 1; 32];
            let added = running.add(&answers, &mut FixedEntropy::new(&entropy));
            assert_eq!(added, Ok(()));
            let read = AnswerReservoir::from_bytes(&stored, &form);
            let mut read = read.expect("intact");
            let mut entropy = FixedEntropy::new(&entropy);
            let added = (read.add(&answers, &mut entropy), entropy.left());
            assert_eq!(added, (Ok(()), 0));
            stored = read.to_bytes();
            assert_eq!(running.to_bytes(), stored);
        }
        let read = AnswerReservoir::from_bytes(&stored, &form).expect("intact");
        assert_eq!((read.slot(), read.places()), (9, places(3)));
        // At this ε a release is of the kept outcome.
        let one = Grant::unrecorded(Unit::WholeText, epsilon(1_000_000_000));
        let kept = u32::from_le_bytes(stored[32..36].try_into().expect("four bytes"));
        let release = read.release(one, &mut FixedEntropy::new(&[key + 1; 32]));
        let answer = form.read(&release.expect("entropy")).expect("of this form");
        assert_eq!(answer.index, question);
        assert!(answer.geometry.contains(kept, answer.point), "{key}");
        questions[usize::from(question)] += 1;
    }
    assert!(questions[0] > 0 && questions[1] > 0 && questions[3] > 0);
    assert_eq!(questions[2], 0, "its weight is 0");
}

#[test]
fn refusals_of_answers_depend_on_no_answer() {
    let file = form_file();
    let form = Form::parse(&file).expect("a form");
    let mut reservoir = new_answers(&form, 1);
    let before = reservoir.to_bytes();
    for answers in [[0, 0, 0], [u32::MAX, 40, 9]] {
        for count in [0, 2] {
            let failed = reservoir.add(&answers[..count], &mut FixedEntropy::new(&ENTROPY));
            let (found, expected) = (count, 3);
            assert_eq!(failed, Err(AnswersError::Length { found, expected }));
        }
        let failed = reservoir.add(&answers, &mut FixedEntropy::new(&[]));
        assert_eq!(failed, Err(AnswersError::Entropy));
    }
    assert_eq!(reservoir.to_bytes(), before);
    for unit in [Unit::Sentence, Unit::Word, Unit::Vector] {
        let refused = new_answers(&form, 1).release(grant(unit), &mut FixedEntropy::new(&ENTROPY));
        assert!(matches!(refused, Err(AnswersError::Unit(_))), "{unit}");
    }
    let failed = reservoir.release(grant(Unit::WholeText), &mut FixedEntropy::new(&[0; 32]));
    assert_eq!(failed, Err(AnswersError::Entropy));
    let failed = AnswerReservoir::new(&form, 0, places(1), &mut FixedEntropy::new(&[]));
    assert_eq!(failed.map(|_| ()), Err(AnswersError::Entropy));
}

#[test]
fn damaged_answers_and_those_of_another_form_are_refused() {
    let file = form_file();
    let form = Form::parse(&file).expect("a form");
    let bytes = new_answers(&form, 1).to_bytes();
    let read = |bytes: &[u8]| AnswerReservoir::from_bytes(bytes, &form).map(|_| ()).err();
    damage_is_refused(bytes, read);
    // Another form has other weights; a pack is no form, and the other way round.
    let other = FormParts::of_sizes(&[3, 40, 1], &[1, 2, 1], &[(0, 2, 1)]).to_form();
    let other = Form::parse(&other).expect("a form");
    let refused = AnswerReservoir::from_bytes(&bytes, &other).map(|_| ());
    assert_eq!(refused, Err(ReservoirFormatError::OtherPack));
    let pack = pack_of(2);
    let line = document(&pack);
    let of_lines = new(&line, 4).to_bytes();
    assert_eq!(read(&of_lines), Some(ReservoirFormatError::OtherPack));
    let refused = Reservoir::from_bytes(&bytes, &line).map(|_| ());
    assert_eq!(refused, Err(ReservoirFormatError::OtherPack));
}

struct Memory([u8; LEDGER_BYTES]);

impl Storage for Memory {
    type Error = std::convert::Infallible;

    fn read(&mut self, image: &mut [u8]) -> Result<usize, Self::Error> {
        image[..LEDGER_BYTES].copy_from_slice(&self.0);
        Ok(LEDGER_BYTES)
    }

    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<(), Self::Error> {
        self.0[offset..offset + RECORD_BYTES].copy_from_slice(record);
        Ok(())
    }
}

/// Devices that are often off release as often as appointed, at or after each appointment, and
/// never more often, in every year.
#[test]
fn a_device_releases_as_often_as_appointed() {
    const WEEKS: u16 = 52;
    let one = epsilon(1_000_000);
    for device in 0..200u64 {
        let count = [1, 1, 2, 5, 52][device as usize % 5];
        let mut entropy = device.to_le_bytes();
        entropy[7] = 1;
        let budget = u64::from(count) * 1_000_000;
        let mut storage = Memory(
            Ledger::create(Unit::WholeText, budget, &mut FixedEntropy::new(&entropy))
                .expect("made"),
        );
        let mut running = PublicRng::new(device);
        for year in [2026, 2027] {
            let appointment = |image: &Memory| -> Appointment {
                let contents = Contents::read(&image.0, None).expect("a ledger");
                contents.appointment(year, places(WEEKS), count)
            };
            let appointed: Vec<u16> = appointment(&storage).slots().collect();
            let mut released = Vec::new();
            // Some weeks more than once, others not at all; the last week always.
            for week in (0..WEEKS)
                .flat_map(|week| [week, week])
                .chain([WEEKS - 1; 60])
            {
                if week < WEEKS - 1 && running.next_u64().is_multiple_of(3) {
                    continue;
                }
                let contents = Contents::read(&storage.0, None).expect("a ledger");
                let due = contents.is_due(&appointment(&storage), year, week, one);
                if due.expect("not from the future") {
                    let entropy = running.next_u64().to_le_bytes();
                    let mut ledger = Ledger::open(
                        Unit::WholeText,
                        &storage.0,
                        &mut FixedEntropy::new(&entropy),
                    )
                    .expect("a ledger");
                    let spent = ledger.spend(one, year, &mut storage);
                    let _grant = spent.expect("budget left");
                    released.push(week);
                }
            }
            assert_eq!(appointed.len(), usize::from(count));
            assert_eq!(released.len(), appointed.len());
            for (week, appointed) in released.iter().zip(&appointed) {
                assert!(
                    week >= appointed,
                    "device {device}: {week} before {appointed}"
                );
            }
        }
    }
}
