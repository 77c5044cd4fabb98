//! Ledgers in arbitrary files, and schedules of spending, crashing and damage.

use std::collections::HashMap;

use arbitrary::{Result, Unstructured};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{
    Contents, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, WrongUnit,
};
use undertone_core::unit::Unit;

use crate::double::Repeated;

/// Opens the input as a ledger, spends from it, and then follows the input as a schedule on another
/// ledger.
///
/// Checked: no file gives more than the budget it names; on a ledger that began intact, the grants
/// of a window never exceed the budget, whatever part of a write arrives and whatever bytes are
/// damaged in one of the slots; a file that opens is opened again as the same.
pub fn ledger_image_is_total(data: &[u8]) {
    let contents = Contents::read(data, None);
    match Ledger::open(Unit::Word, data, &mut Repeated(&[1])) {
        Ok(ledger) => {
            let contents = contents.expect("it was opened");
            assert_eq!(contents.unit(), Unit::Word);
            for window in [0, 1, 20_000, u64::MAX] {
                assert_eq!(contents.remaining(window), ledger.remaining(window));
            }
            use_ledger(ledger, data);
        }
        Err(LedgerError::Unit(WrongUnit { found, .. })) => {
            let unit = contents.expect("a ledger").unit();
            assert!(unit == found && found != Unit::Word);
        }
        Err(error) => {
            assert_eq!(contents.err(), Some(error));
            assert!(!error.to_string().is_empty());
            assert_eq!(
                matches!(error, LedgerError::Length { .. }),
                data.len() != LEDGER_BYTES
            );
        }
    }
    // Input that is too short for a schedule teaches nothing.
    let _ = schedule(&mut Unstructured::new(data));
}

fn use_ledger(mut ledger: Ledger, data: &[u8]) {
    let mut file: [u8; LEDGER_BYTES] = data.try_into().expect("it was opened");
    assert!(ledger.remaining(u64::MAX).is_ok());
    let budget = ledger.budget();
    for window in [0, 1, 20_000, u64::MAX] {
        let Ok(before) = ledger.remaining(window) else {
            continue;
        };
        assert!(before <= budget);
        let epsilon = Epsilon::from_micro(before.clamp(1, 1_000_000_000) as u32).expect("in range");
        let reservation = match ledger.reserve(epsilon, window, &file, None) {
            Ok(reservation) => reservation,
            Err(LedgerError::WornOut) => return,
            Err(error) => {
                let (remaining, needed) = (0, 1);
                assert_eq!(error, LedgerError::Exhausted { remaining, needed });
                continue;
            }
        };
        let start = reservation.offset();
        file[start..start + RECORD_BYTES].copy_from_slice(reservation.record());
        let spent = match reservation.persisted(&file) {
            Ok(grant) => u64::from(grant.epsilon().micro()),
            Err(error) => {
                assert_eq!((error, before), (LedgerError::Lost, 0));
                0
            }
        };
        let again =
            Ledger::open(Unit::Word, &file, &mut Repeated(&[2])).expect("what a ledger wrote");
        for ledger in [&ledger, &again] {
            assert_eq!(ledger.remaining(window), Ok(before - spent));
            assert_eq!(ledger.budget(), budget);
        }
    }
}

fn schedule(u: &mut Unstructured<'_>) -> Result<()> {
    let budget = u.int_in_range(1..=1000u64)?;
    let mut file = Ledger::create(Unit::Vector, budget, &mut Repeated(&[7])).expect("a budget");
    let mut sessions = 0u8;
    let mut reopen = |file: &[u8]| {
        sessions = sessions.wrapping_add(1) | 1;
        Ledger::open(Unit::Vector, file, &mut Repeated(&[sessions]))
    };
    let mut ledger = reopen(&file).expect("a new ledger");
    let mut granted: HashMap<u64, u64> = HashMap::new();
    let mut window = 1u64;
    while !u.is_empty() {
        window = window.saturating_add(u64::from(u.arbitrary::<u8>()? / 200));
        let epsilon = Epsilon::from_micro(u.int_in_range(1..=300)?).expect("in range");
        let Ok(reservation) = ledger.reserve(epsilon, window, &file, None) else {
            continue;
        };
        let slot = reservation.offset()..reservation.offset() + RECORD_BYTES;
        let record = *reservation.record();
        let place = &mut file[slot];
        // The part of the write that arrives, and the part that is neither old nor new.
        let (whole, torn): (bool, u64) = u.arbitrary()?;
        for (index, (byte, new)) in place.iter_mut().zip(record).enumerate() {
            if whole || torn >> index & 1 == 1 {
                *byte = new;
            } else if u.ratio(1, 16)? {
                *byte = u.arbitrary()?;
            }
        }
        let arrived = *place == record;
        match reservation.persisted(&file) {
            Ok(grant) => {
                assert!(arrived);
                let sum = granted.entry(window).or_default();
                *sum += u64::from(grant.epsilon().micro());
                assert!(*sum <= budget);
            }
            Err(LedgerError::Lost) => assert!(arrived),
            Err(error) => assert!(!arrived && error == LedgerError::NotPersisted),
        }
        if u.arbitrary()? {
            ledger = reopen(&file).expect("one slot was not touched");
        }
        let sum = granted.get(&window).copied().unwrap_or_default();
        assert!(ledger.remaining(window).expect("this window") <= budget - sum);
    }
    Ok(())
}
