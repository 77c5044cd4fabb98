//! Reservoirs from arbitrary bytes, and over arbitrary lines with restarts and damage.

use std::num::NonZero;

use arbitrary::{Result, Unstructured};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::Form;
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::{Mechanism, Outcome, Release};
use undertone_core::reservoir::{AnswerReservoir, RESERVOIR_BYTES, Reservoir};
use undertone_core::unit::Unit;

use crate::double::Repeated;

const FORM: &[u8] = include_bytes!("../../tests/golden/golden.form");
const PACK: &[u8] = include_bytes!("../../tests/golden/golden-scores.pack");

/// The input is a stored reservoir, and then a key, a number of places, lines and damage.
///
/// Checked: bytes that are read are stored again as the same; a state with one changed bit is
/// refused; a restart changes nothing. At ε = 1000 a release names the best candidate of one of the
/// lines, or "nothing known". A release of a drawn sentence states the places and is read back.
pub fn reservoir_is_total(data: &[u8]) {
    let pack = Pack::parse(PACK).expect("a golden pack");
    let document: Document<'_> = Document::new(&pack).expect("scores");
    if let Ok(reservoir) = Reservoir::from_bytes(data, &document) {
        assert_eq!(reservoir.to_bytes(), data);
    }
    let form = Form::parse(FORM).expect("a golden form");
    if let Ok(reservoir) = AnswerReservoir::from_bytes(data, &form) {
        assert_eq!(reservoir.to_bytes(), data);
    }
    // Input that is too short for a slot teaches nothing.
    let _ = slot(
        &mut Unstructured::new(data),
        document,
        pack.candidate_count(),
    );
}

fn slot(u: &mut Unstructured<'_>, mut document: Document<'_>, nothing_known: u32) -> Result<()> {
    let key: [u8; 32] = u.arbitrary()?;
    let mut entropy = Repeated(&key);
    let number: u64 = u.arbitrary()?;
    let places = u.arbitrary::<NonZero<u16>>()?;
    let begun = Reservoir::new(&document, number, places, &mut entropy);
    assert_eq!(begun.is_ok(), entropy.works());
    let Ok(mut reservoir) = begun else {
        return Ok(());
    };
    let mut outcomes = vec![nothing_known];
    while u.arbitrary()? {
        let text: &[u8] = u.arbitrary()?;
        document.push_sentence(text).expect("room");
        outcomes.push(hazmat::best(&document).expect("scores"));
        reservoir.add(&mut document, &mut entropy).expect("entropy");
        let stored = reservoir.to_bytes();
        let mut damaged = stored;
        let bit = u.int_in_range(0..=8 * RESERVOIR_BYTES - 1)?;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Reservoir::from_bytes(&damaged, &document).is_err());
        reservoir = Reservoir::from_bytes(&stored, &document).expect("intact");
    }
    assert_eq!((reservoir.slot(), reservoir.places()), (number, places));
    let stored = reservoir.to_bytes();
    let again = Reservoir::from_bytes(&stored, &document).expect("intact");
    let grant = |unit| Grant::unrecorded(unit, Epsilon::MAX);
    let whole = again.release_whole_text(grant(Unit::WholeText), &mut entropy);
    let whole = whole.expect("a grant for the whole text");
    assert!(outcomes.contains(&whole.number()));
    let drawn = reservoir.release_drawn(grant(Unit::Sentence), &mut entropy);
    let drawn = drawn.expect("a grant for sentences");
    assert!(outcomes.contains(&drawn.number()));
    assert_eq!(
        (drawn.mechanism(), drawn.places()),
        (Mechanism::Drawn, Some(places))
    );
    assert_eq!(
        drawn.outcome(nothing_known) == Some(Outcome::NothingKnown),
        drawn.number() == nothing_known
    );
    assert_eq!(Release::from_bytes(&drawn.to_bytes()), Ok(drawn));
    Ok(())
}
