//! The day of a keyboard that every face runs (`tests/faces`), in Rust, and files of ledgers that
//! are missing or set back.
//!
//! Chance: false alarm 10⁻¹⁹, miss none. Releases are only checked for their form. A torn ledger
//! record has a 64-bit checksum that may be right by chance.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use undertone::error::{Error, ErrorKind};
use undertone::release::document::OsEntropy;
use undertone::release::ledger::{Counter, LedgerFile};
use undertone_core::ledger::{LEDGER_BYTES, LedgerError, RECORD_BYTES};
use undertone_core::{Document, Epsilon, Grant, Pack, Release, Rule, Unit};
use undertone_tests::faces::assert_ran;
use undertone_tests::golden::SCORES_PACK;

fn epsilon(whole: u32) -> Epsilon {
    Epsilon::from_micro(whole * 1_000_000).expect("an epsilon")
}

fn release(document: &mut Document<'_>, grant: Grant) -> Release {
    let released = document.release(grant, Rule::PermuteAndFlip, &mut OsEntropy);
    released.expect("entropy")
}

/// Creates an empty folder.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("rust-face")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn open(path: &Path) -> Result<LedgerFile, Error> {
    LedgerFile::open_or_create(path, Unit::Sentence, epsilon(10))
}

/// The refusals of a ledger.
fn why<T>(result: Result<T, Error>) -> LedgerError {
    let error = result.err().expect("a refusal");
    error.into_cause().expect("an error of a ledger")
}

#[test]
fn missing_ledger() {
    let path = fresh("missing").join("ledger");
    let missing = LedgerFile::open(&path, Unit::Sentence, epsilon(10), None);
    assert_eq!(missing.err().map(|e| e.kind()), Some(ErrorKind::Io));
    assert!(!path.exists());
    drop(open(&path).expect("a new ledger"));
    assert!(LedgerFile::open(&path, Unit::Sentence, epsilon(10), None).is_ok());
}

/// A platform's counter, as every ledger requires one.
#[derive(Debug)]
struct Counted;

static COUNTED: AtomicU64 = AtomicU64::new(0);

impl Counter for Counted {
    fn read(&mut self) -> io::Result<u64> {
        Ok(COUNTED.load(Ordering::Relaxed))
    }

    fn raise(&mut self, to: u64) -> io::Result<()> {
        COUNTED.store(to, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn set_back_ledger() {
    let path = fresh("set-back").join("ledger");
    let open = || {
        let counter = Some(Box::new(Counted) as Box<dyn Counter>);
        LedgerFile::open_or_create_counted(&path, Unit::Sentence, epsilon(10), counter)
    };
    let mut ledger = open().expect("a new ledger");
    let older = fs::read(&path).expect("a file");
    for _ in 0..2 {
        assert!(ledger.spend(epsilon(1), 20_000).is_ok());
    }
    drop(ledger);
    fs::write(&path, older).expect("a file");
    assert!(matches!(why(open()), LedgerError::SetBack { .. }));
}

#[test]
fn a_day_of_a_keyboard() {
    let path = fresh("day").join("ledger");
    let mut ran = String::new();
    let mut step = |name: &str| ran += &format!("case {name}\n");
    let ten = 10_000_000;

    step("new_ledger");
    let mut ledger = open(&path).expect("a new ledger");
    let stored = || fs::read(&path).expect("a file");
    assert_eq!(stored().len(), LEDGER_BYTES);
    assert_eq!(ledger.remaining(20_000).ok(), Some(ten));
    step("typed_text");
    let pack = Pack::parse(SCORES_PACK).expect("a golden pack");
    let mut document: Document<'_> = Document::new(&pack).expect("it has candidates");
    let text =
        "My doctor wants to repeat the blood test. The clinic called about the swollen node.";
    assert_eq!(document.push_text(text.as_bytes()), Ok(2));
    step("first_spend");
    let grant = ledger.spend(epsilon(3), 20_000).expect("budget");
    assert_eq!(ledger.remaining(20_000).ok(), Some(7_000_000));
    step("first_release");
    let drawn = release(&mut document, grant);
    assert_eq!(drawn.to_bytes().len(), 24);
    assert_eq!(drawn.epsilon(), epsilon(3));
    assert_eq!(drawn.rule(), Rule::PermuteAndFlip);
    assert!(drawn.order().is_none() && drawn.number() < 200);
    assert_eq!(drawn.pack_id(), 0x16f4_b645_59f9_0996_u64.to_be_bytes());
    assert_eq!(document.sentence_count(), 0);
    step("second_release");
    assert_eq!(document.push_sentence("We won the match."), Ok(()));
    let grant = ledger.spend(epsilon(4), 20_000).expect("budget");
    release(&mut document, grant);
    assert_eq!(ledger.remaining(20_000).ok(), Some(3_000_000));
    step("refused_spend");
    let (remaining, needed) = (3_000_000, 4_000_000);
    let error = LedgerError::Exhausted { remaining, needed };
    assert_eq!(why(ledger.spend(epsilon(4), 20_000)), error);
    assert_eq!(ledger.remaining(20_000).ok(), Some(3_000_000));
    step("reopened");
    drop(ledger);
    let mut ledger = open(&path).expect("the ledger");
    assert_eq!(ledger.remaining(20_000).ok(), Some(3_000_000));

    step("killed_before");
    let before = stored();
    assert!(ledger.spend(epsilon(1), 20_000).is_ok());
    assert_eq!(ledger.remaining(20_000).ok(), Some(2_000_000));
    let after = stored();
    drop(ledger);
    let restored = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a file");
        open(&path).expect("the ledger")
    };
    assert_eq!(restored(&before).remaining(20_000).ok(), Some(3_000_000));
    step("killed_after");
    assert_eq!(restored(&after).remaining(20_000).ok(), Some(2_000_000));
    step("killed_in_between");
    let record = if before[..RECORD_BYTES] == after[..RECORD_BYTES] {
        RECORD_BYTES
    } else {
        0
    };
    let mut torn = before;
    torn[record..record + 40].copy_from_slice(&after[record..record + 40]);
    let mut ledger = restored(&torn);
    assert_eq!(ledger.remaining(20_000).ok(), Some(0));
    step("lost_record");
    assert_eq!(why(ledger.spend(epsilon(1), 20_000)), LedgerError::Lost);
    assert_eq!(ledger.remaining(20_000).ok(), Some(0));
    step("rest_of_the_window");
    let (remaining, needed) = (0, 1_000_000);
    let error = LedgerError::Exhausted { remaining, needed };
    assert_eq!(why(ledger.spend(epsilon(1), 20_000)), error);
    assert_eq!(ledger.remaining(20_000).ok(), Some(0));
    step("next_window");
    let grant = ledger.spend(epsilon(3), 20_001).expect("budget");
    assert_eq!(document.push_sentence("The rehearsal is at seven."), Ok(()));
    release(&mut document, grant);
    assert_eq!(ledger.remaining(20_001).ok(), Some(7_000_000));
    step("clock_back");
    let refused = why(ledger.spend(epsilon(1), 20_000));
    assert!(matches!(refused, LedgerError::FromFuture { .. }));
    assert_eq!(ledger.remaining(20_001).ok(), Some(7_000_000));

    step("emptied");
    drop(ledger);
    fs::write(&path, []).expect("a file");
    assert_eq!(why(open(&path)), LedgerError::Length { found: 0 });
    step("recreated");
    let anew = LedgerFile::recreate_spent(&path, Unit::Sentence, epsilon(10), 20_001, None);
    let mut ledger = anew.expect("a ledger in place of the other");
    assert_eq!(ledger.remaining(20_001).ok(), Some(0));
    assert_eq!(ledger.remaining(20_002).ok(), Some(ten));
    step("refused_anew");
    assert_eq!(why(ledger.spend(epsilon(1), 20_001)), error);
    step("new_day");
    let grant = ledger.spend(epsilon(3), 20_002).expect("budget");
    assert_eq!(document.push_sentence("Good morning."), Ok(()));
    release(&mut document, grant);
    assert_eq!(ledger.remaining(20_002).ok(), Some(7_000_000));
    assert_ran("Rust", "keyboard-day.md", &ran);
}
