//! The cases of misuse and the day of a keyboard that every face runs (`tests/faces`), in Rust.
//!
//! Chance: false alarm 10⁻¹⁹, miss none. Releases are only checked for their form. A torn ledger
//! record has a 64-bit checksum that may be right by chance.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, thread};

use undertone::error::{Error, ErrorKind};
use undertone::release::document::OsEntropy;
use undertone::release::ledger::{Counter, LedgerFile};
use undertone_core::document::DocumentError;
use undertone_core::epsilon::EpsilonError;
use undertone_core::form::{AnswersError, Form, FormError, NO_ANSWER};
use undertone_core::laplace::Noise;
use undertone_core::ledger::{Cost, LEDGER_BYTES, LedgerError, RECORD_BYTES};
use undertone_core::pack::PackError;
use undertone_core::release::ReleaseFormatError;
use undertone_core::reservoir::{AnswerReservoir, ReservoirFormatError};
use undertone_core::rng::rand_core::{TryCryptoRng, TryRng};
use undertone_core::vector::{VectorError, VectorMechanism};
use undertone_core::words::{Bag, Vocabulary, WordMechanism, WordsError};
use undertone_core::{
    Document, Entropy, Epsilon, Grant, Ledger, Pack, Release, Reservoir, Rule, Unit,
};
use undertone_tests::golden::{FEATURES_PACK, FORM, PACK, SCORES_PACK, VECTORS_PACK, VOTE_PACK};

fn pack(bytes: &[u8]) -> Pack<'_> {
    Pack::parse(bytes).expect("a golden pack")
}

fn scores() -> Document<'static> {
    Document::new(&pack(SCORES_PACK)).expect("it has candidates")
}

fn epsilon(whole: u32) -> Epsilon {
    Epsilon::from_micro(whole * 1_000_000).expect("an epsilon")
}

fn grant(unit: Unit) -> Grant {
    Grant::unrecorded(unit, epsilon(1))
}

fn release(document: &mut Document<'_>, grant: Grant) -> Result<Release, DocumentError> {
    document.release(grant, Rule::PermuteAndFlip, &mut OsEntropy)
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
fn short_pack() {
    let error = Pack::parse(&[]).err();
    assert!(
        matches!(error, Some(PackError::TooShort { found: 0, .. })),
        "{error:?}"
    );
}

#[test]
fn foreign_pack() {
    assert_eq!(Pack::parse(&[0; 1000]).err(), Some(PackError::NotAPack));
}

#[test]
fn cut_pack() {
    let error = Pack::parse(&SCORES_PACK[..SCORES_PACK.len() - 1]).err();
    assert!(matches!(error, Some(PackError::Length { .. })), "{error:?}");
}

#[test]
fn damaged_pack() {
    let mut bytes = SCORES_PACK.to_vec();
    *bytes.last_mut().expect("bytes") ^= 1;
    assert_eq!(Pack::parse(&bytes).err(), Some(PackError::Digest));
}

#[test]
fn pack_without_candidates() {
    let error = Document::<128, 100>::new(&pack(VECTORS_PACK)).err();
    assert_eq!(error, Some(DocumentError::NoCandidates));
}

#[test]
fn empty_text() {
    let mut document = scores();
    assert_eq!(document.push_text(b""), Ok(0));
    assert_eq!(document.push_sentence(""), Ok(()));
    assert_eq!(document.sentence_count(), 1);
}

#[test]
fn long_text() {
    assert_eq!(scores().push_sentence("x".repeat(1 << 20)), Ok(()));
}

#[test]
fn embedding_of_nan() {
    let mut odd = [0.5; 16];
    odd[3..6].copy_from_slice(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(scores().push(&odd), Ok(()));
}

#[test]
fn short_embedding() {
    let (expected, found) = (16, 15);
    let error = Err(DocumentError::Dimension { expected, found });
    assert_eq!(scores().push(&[0.5; 15]), error);
}

#[test]
fn embedding_without_text() {
    let mut document = Document::<128, 100>::new(&pack(FEATURES_PACK)).expect("candidates");
    assert_eq!(document.push(&[0.5; 16]), Err(DocumentError::NeedsText));
}

#[test]
fn full_document() {
    let mut document = scores();
    for _ in 0..128 {
        assert_eq!(document.push_sentence("Another one."), Ok(()));
    }
    let full = Err(DocumentError::Full { limit: 128 });
    assert_eq!(document.push_sentence("One more."), full);
}

#[test]
fn release_of_nothing() {
    assert!(release(&mut scores(), grant(Unit::Sentence)).is_ok());
}

#[test]
fn release_twice() {
    let mut document = scores();
    assert_eq!(document.push_sentence("Once."), Ok(()));
    for _ in 0..2 {
        assert!(release(&mut document, grant(Unit::Sentence)).is_ok());
        assert_eq!(document.sentence_count(), 0);
    }
}

#[test]
fn whole_text_without_scores() {
    let mut document = Document::<128, 100>::new(&pack(PACK)).expect("candidates");
    let refused = document.release_whole_text(grant(Unit::WholeText), &mut OsEntropy);
    assert_eq!(refused.err(), Some(DocumentError::NoScores));
}

#[test]
fn damaged_reservoir() {
    let line = scores();
    let reservoir = Reservoir::new(&line, 7, NonZero::<u16>::MIN, &mut OsEntropy);
    let mut stored = reservoir.expect("entropy").to_bytes();
    stored[63] ^= 1;
    let refused = Reservoir::from_bytes(&stored, &line).err();
    assert_eq!(refused, Some(ReservoirFormatError::Damaged));
}

#[test]
fn foreign_form() {
    assert_eq!(Form::parse(SCORES_PACK).err(), Some(FormError::NotAForm));
}

#[test]
fn damaged_form() {
    let mut bytes = FORM.to_vec();
    *bytes.last_mut().expect("a form") ^= 1;
    assert_eq!(Form::parse(&bytes).err(), Some(FormError::Digest));
}

#[test]
fn wrong_answer_count() {
    let form = Form::parse(FORM).expect("a form");
    for found in [2, 4] {
        let refused = form.release(&[0; 4][..found], grant(Unit::WholeText), &mut OsEntropy);
        let expected = 3;
        assert_eq!(refused, Err(AnswersError::Length { found, expected }));
    }
}

#[test]
fn answers_out_of_range() {
    let form = Form::parse(FORM).expect("a form");
    let release = form.release(
        &[4, 2600, NO_ANSWER],
        grant(Unit::WholeText),
        &mut OsEntropy,
    );
    assert!(release.is_ok(), "{release:?}");
}

#[test]
fn topic_of_another_pack() {
    let form = Form::parse(FORM).expect("a form");
    let refused = form.answer_topic(&mut scores(), &mut [0; 3]);
    assert_eq!(refused, Err(AnswersError::OtherPack));
}

#[test]
fn reservoir_of_another_pack() {
    let reservoir = Reservoir::new(&scores(), 7, NonZero::<u16>::MIN, &mut OsEntropy);
    let mut other = Document::<128, 100>::new(&pack(VOTE_PACK)).expect("candidates");
    let refused = reservoir.expect("entropy").add(&mut other, &mut OsEntropy);
    assert_eq!(refused, Err(DocumentError::OtherPack));
}

#[test]
fn lines_as_answers() {
    let lines = Reservoir::new(&scores(), 7, NonZero::<u16>::MIN, &mut OsEntropy);
    let lines = lines.expect("entropy").to_bytes();
    let form = Form::parse(FORM).expect("a form");
    let refused = AnswerReservoir::from_bytes(&lines, &form).err();
    assert_eq!(refused, Some(ReservoirFormatError::OtherPack));
}

#[test]
fn grant_of_another_unit() {
    let error = release(&mut scores(), grant(Unit::WholeText)).err();
    assert!(matches!(error, Some(DocumentError::Unit(_))), "{error:?}");
}

/// Never the same path, and never an existing one.
struct Failing;

impl TryRng for Failing {
    type Error = io::Error;

    fn try_next_u32(&mut self) -> io::Result<u32> {
        Err(io::Error::other("planted"))
    }

    fn try_next_u64(&mut self) -> io::Result<u64> {
        Err(io::Error::other("planted"))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> io::Result<()> {
        Err(io::Error::other("planted"))
    }
}

impl TryCryptoRng for Failing {}
impl Entropy for Failing {}

#[test]
fn failed_entropy() {
    let mut document = scores();
    assert_eq!(document.push_sentence("It stays."), Ok(()));
    let refused = document.release(grant(Unit::Sentence), Rule::Exponential, &mut Failing);
    assert_eq!(refused.err(), Some(DocumentError::Entropy));
    assert_eq!(document.sentence_count(), 1);
}

#[test]
fn short_release() {
    let (found, expected) = (23, 24);
    let error = ReleaseFormatError::Length { found, expected };
    assert_eq!(Release::from_bytes(&[0; 23]).err(), Some(error));
}

#[test]
fn foreign_release() {
    let error = Release::from_bytes(&[0; 24]).err();
    assert_eq!(error, Some(ReleaseFormatError::NotARelease));
}

#[test]
fn forged_release() {
    let drawn = release(&mut scores(), grant(Unit::Sentence)).expect("a release");
    let mut bytes = drawn.to_bytes();
    bytes[4] = 99;
    let error = Release::from_bytes(&bytes).err();
    assert!(
        matches!(error, Some(ReleaseFormatError::Field { .. })),
        "{error:?}"
    );
}

#[test]
fn epsilon_not_a_number() {
    for text in ["much", "nan"] {
        assert_eq!(text.parse::<Epsilon>(), Err(EpsilonError::NotANumber));
    }
}

#[test]
fn epsilon_zero() {
    assert_eq!(Epsilon::from_micro(0), Err(EpsilonError::TooSmall));
}

#[test]
fn epsilon_too_large() {
    let large = Epsilon::from_micro(1_000_000_001);
    assert_eq!(large, Err(EpsilonError::TooLarge));
    assert_eq!("1000.000001".parse(), large);
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

#[test]
fn ledger_without_budget() {
    let made = Ledger::create(Unit::Sentence, 0, &mut OsEntropy);
    assert_eq!(made.err(), Some(LedgerError::NoBudget));
}

#[test]
fn ledger_in_use() {
    let path = fresh("in-use").join("ledger");
    let _open = open(&path).expect("a new ledger");
    assert_eq!(open(&path).err().map(|e| e.kind()), Some(ErrorKind::InUse));
}

#[test]
fn ledger_of_another_unit() {
    let path = fresh("unit").join("ledger");
    drop(open(&path).expect("a new ledger"));
    let other = LedgerFile::open_or_create(&path, Unit::WholeText, epsilon(10));
    assert!(matches!(why(other), LedgerError::Unit(_)));
}

/// Opens the bytes of a ledger after `change`.
fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> LedgerError {
    let path = fresh(name).join("ledger");
    drop(open(&path).expect("a new ledger"));
    let mut bytes = fs::read(&path).expect("a file");
    change(&mut bytes);
    fs::write(&path, bytes).expect("a file");
    why(open(&path))
}

#[test]
fn short_ledger() {
    let error = changed("short", |bytes| bytes.truncate(127));
    assert_eq!(error, LedgerError::Length { found: 127 });
}

#[test]
fn foreign_ledger() {
    let error = changed("foreign", |bytes| bytes.fill(0));
    assert_eq!(error, LedgerError::NotALedger);
}

#[test]
fn damaged_ledger() {
    let error = changed("damaged", |bytes| {
        bytes[30] ^= 1;
        bytes[100] ^= 1;
    });
    assert_eq!(error, LedgerError::Damaged);
}

#[test]
fn over_budget() {
    let mut ledger = open(&fresh("over-budget").join("ledger")).expect("a new ledger");
    assert!(ledger.spend(epsilon(7), 20_000).is_ok());
    let (remaining, needed) = (3_000_000, 4_000_000);
    let error = LedgerError::Exhausted { remaining, needed };
    assert_eq!(why(ledger.spend(epsilon(4), 20_000)), error);
}

#[test]
fn clock_set_back() {
    let mut ledger = open(&fresh("clock").join("ledger")).expect("a new ledger");
    assert!(ledger.spend(epsilon(1), 20_001).is_ok());
    let (given, newest) = (20_000, 20_001);
    let error = LedgerError::FromFuture {
        ledger: newest,
        given,
    };
    assert_eq!(why(ledger.spend(epsilon(1), given)), error);
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
fn grant_of_another_epsilon() {
    let mechanism = VectorMechanism::new(4, 0, Noise::Laplace, epsilon(1));
    let mechanism = mechanism.expect("parameters in range");
    let two = Grant::unrecorded(Unit::Vector, epsilon(2));
    let mut out = vec![0; mechanism.release_bytes()];
    let refused = mechanism.release(two, &[0.0; 4], &mut OsEntropy, &mut out);
    let (expected, found) = (epsilon(1), epsilon(2));
    assert_eq!(refused, Err(VectorError::Grant { expected, found }));
}

#[test]
fn bag_of_more_words() {
    let path = fresh("words").join("ledger");
    let mut ledger =
        LedgerFile::open_or_create(path, Unit::Word, epsilon(10)).expect("a new ledger");
    let one = Cost::bag(epsilon(1), NonZero::<u16>::MIN);
    let grant = ledger.spend(one, 20_000).expect("budget");
    let vocabulary = Vocabulary::new(&pack(SCORES_PACK)).expect("a lexicon");
    let mut bag = Bag::new(&vocabulary);
    let method = WordMechanism::Selection(Rule::PermuteAndFlip);
    let refused = bag.release(2, method, grant, &mut OsEntropy, &mut [0; 28]);
    let (needed, found) = (2, 1);
    assert_eq!(refused.err(), Some(WordsError::Grant { needed, found }));
}

#[test]
fn pack_from_many_threads() {
    let pack = pack(SCORES_PACK);
    let released = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let mut document: Document<'_> = Document::new(&pack).expect("candidates");
                    assert_eq!(document.push_sentence("The choir sings."), Ok(()));
                    assert!(release(&mut document, grant(Unit::Sentence)).is_ok());
                    released.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(released.into_inner(), 100);
}

#[test]
fn a_day_of_a_keyboard() {
    let path = fresh("day").join("ledger");
    // Printed on failure.
    let step = |name: &str| println!("{name}");
    let ten = 10_000_000;

    step("new_ledger");
    let mut ledger = open(&path).expect("a new ledger");
    let stored = || fs::read(&path).expect("a file");
    assert_eq!(stored().len(), LEDGER_BYTES);
    assert_eq!(ledger.remaining(20_000).ok(), Some(ten));
    step("typed_text");
    let mut document = scores();
    let text =
        "My doctor wants to repeat the blood test. The clinic called about the swollen node.";
    assert_eq!(document.push_text(text.as_bytes()), Ok(2));
    step("first_spend");
    let grant = ledger.spend(epsilon(3), 20_000).expect("budget");
    assert_eq!(ledger.remaining(20_000).ok(), Some(7_000_000));
    step("first_release");
    let drawn = release(&mut document, grant).expect("a release");
    assert_eq!(drawn.to_bytes().len(), 24);
    assert_eq!(drawn.epsilon(), epsilon(3));
    assert_eq!(drawn.rule(), Rule::PermuteAndFlip);
    assert!(drawn.order().is_none() && drawn.number() < 200);
    assert_eq!(drawn.pack_id(), 0x16f4_b645_59f9_0996_u64.to_be_bytes());
    assert_eq!(document.sentence_count(), 0);
    step("second_release");
    assert_eq!(document.push_sentence("We won the match."), Ok(()));
    let grant = ledger.spend(epsilon(4), 20_000).expect("budget");
    assert!(release(&mut document, grant).is_ok());
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
    assert!(release(&mut document, grant).is_ok());
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
    assert!(release(&mut document, grant).is_ok());
    assert_eq!(ledger.remaining(20_002).ok(), Some(7_000_000));
}
