//! Releases equal those of an independent implementation, byte for byte.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use undertone_core::document::{Document, DocumentError};
use undertone_core::features::each_feature;
use undertone_core::form::Form;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::{BagRelease, Release, VectorRelease};
use undertone_core::reservoir::{AnswerReservoir, Reservoir};
use undertone_core::unit::Unit;
use undertone_core::vector::VectorMechanism;
use undertone_core::words::{Bag, Vocabulary};
use undertone_tests::FixedEntropy;
use undertone_tests::golden::{
    self, By, Case, FORM, Golden, Sentence, Words, from_hex, number, one,
};

fn push(document: &mut Document<'_>, sentence: &Sentence) {
    match sentence {
        Sentence::Embedding(embedding) => document.push(embedding),
        Sentence::Text(text) => document.push_sentence(text),
    }
    .expect("room and the right dimension");
}

fn push_each(document: &mut Document<'_>, sentences: &[Sentence]) {
    for sentence in sentences {
        push(document, sentence);
    }
}

/// All embeddings in one call; the order of sentences does not matter.
fn push_together(document: &mut Document<'_>, sentences: &[Sentence]) {
    let mut embeddings = Vec::new();
    for sentence in sentences {
        match sentence {
            Sentence::Embedding(embedding) => embeddings.extend_from_slice(embedding),
            Sentence::Text(_) => push(document, sentence),
        }
    }
    let several = embeddings.len() / document.dimension();
    assert_eq!(document.push_all(&embeddings), Ok(several));
}

/// The release of a case, by its rule.
fn release(
    document: &mut Document<'_>,
    case: &Case,
    entropy: &mut FixedEntropy<'_>,
) -> Result<Release, DocumentError> {
    let unit = match case.by {
        By::Sentence(_) => Unit::Sentence,
        By::WholeText | By::Projective => Unit::WholeText,
    };
    let grant = Grant::unrecorded(unit, case.epsilon);
    match case.by {
        By::Sentence(rule) => document.release(grant, rule, entropy),
        By::WholeText => document.release_whole_text(grant, entropy),
        By::Projective => document.release_projective(grant, entropy),
    }
}

#[test]
fn answers_match_the_reference() {
    let form = Form::parse(FORM).expect("the golden form");
    let name = form.attribute_name(2).expect("an attribute");
    assert_eq!(
        (name, form.category_names(2).last()),
        ("häufig?", Some("nein"))
    );
    let mut questions = BTreeSet::new();
    for fields in golden::blocks(include_str!("../golden/answers.txt")) {
        let grant = Grant::unrecorded(Unit::WholeText, golden::epsilon(&fields));
        let entropy = from_hex(one(&fields, "entropy"));
        let answers = numbers(one(&fields, "answers"));
        let release = form.release(&answers, grant, &mut FixedEntropy::new(&entropy));
        let release = release.expect("answers");
        let expected = from_hex(one(&fields, "release"));
        assert_eq!(release.to_bytes().to_vec(), expected, "{fields:?}");
        questions.insert(form.read(&release).expect("a release of the form").index);
    }
    assert_eq!(questions.len(), form.question_count());
}

/// The numbers of a field.
fn numbers(field: &str) -> Vec<u32> {
    let numbers = field.split(' ');
    numbers.map(|own| own.parse().expect("a number")).collect()
}

/// Reservoirs of answers that are stored and read after each line, and their releases.
#[test]
fn drawn_answers_match_the_reference() {
    let form = Form::parse(FORM).expect("the golden form");
    let mut questions = BTreeSet::new();
    for fields in golden::blocks(include_str!("../golden/drawn-answers.txt")) {
        let mut keys = golden::all(&fields, "entropy").map(from_hex);
        let mut key = || keys.next().expect("a key for each call");
        let (slot, places) = (number(&fields, "slot"), number(&fields, "places"));
        let begun = AnswerReservoir::new(&form, slot, places, &mut FixedEntropy::new(&key()));
        let mut stored = begun.expect("entropy").to_bytes();
        for answers in golden::all(&fields, "answers").map(numbers) {
            let read = AnswerReservoir::from_bytes(&stored, &form);
            let mut reservoir = read.expect("it was just stored");
            let added = reservoir.add(&answers, &mut FixedEntropy::new(&key()));
            assert_eq!(added, Ok(()));
            stored = reservoir.to_bytes();
        }
        let expected = from_hex(one(&fields, "stored"));
        assert_eq!(stored.to_vec(), expected, "{fields:?}");
        let reservoir = AnswerReservoir::from_bytes(&stored, &form).expect("it was just stored");
        let grant = Grant::unrecorded(Unit::WholeText, golden::epsilon(&fields));
        let release = reservoir.release(grant, &mut FixedEntropy::new(&key()));
        let release = release.expect("entropy");
        let expected = from_hex(one(&fields, "release"));
        assert_eq!(release.to_bytes().to_vec(), expected, "{fields:?}");
        questions.insert(form.read(&release).expect("a release of the form").index);
    }
    assert_eq!(questions.len(), form.question_count());
}

/// Reservoirs over the sentences of a text, and the release of the drawn one.
#[test]
fn drawn_sentences_match_the_reference() {
    let pack = Pack::parse(include_bytes!("../golden/golden-scores.pack")).expect("a golden pack");
    let mut document = Document::new(&pack).expect("candidates");
    let mut places_seen = BTreeSet::new();
    for fields in golden::blocks(include_str!("../golden/drawn.txt")) {
        let places: NonZero<u16> = number(&fields, "places");
        let mut keys = golden::all(&fields, "entropy").map(from_hex);
        let mut key = || keys.next().expect("a key for each call");
        let begun = Reservoir::new(&document, 0, places, &mut FixedEntropy::new(&key()));
        let mut reservoir = begun.expect("scores");
        for (name, value) in &fields {
            match *name {
                "sentence" => document.push_sentence(from_hex(value)),
                "embedding" => document.push(&golden::floats(value)),
                _ => continue,
            }
            .expect("room and the right dimension");
            let added = reservoir.add(&mut document, &mut FixedEntropy::new(&key()));
            assert_eq!(added, Ok(()));
        }
        let grant = Grant::unrecorded(Unit::Sentence, golden::epsilon(&fields));
        let release = reservoir.release_drawn(grant, &mut FixedEntropy::new(&key()));
        let release = release.expect("entropy").to_bytes();
        let expected = from_hex(one(&fields, "release"));
        assert_eq!(release.to_vec(), expected, "{fields:?}");
        places_seen.insert(places);
    }
    assert!(places_seen.len() >= 6);
}

#[test]
fn releases_match_the_reference() {
    let all = golden::ALL.iter().chain(&golden::WHOLE_TEXTS);
    for golden in all.chain(&golden::PROJECTIVE).chain([&golden::KNOWN]) {
        let pack = Pack::parse(golden.pack).expect("a golden pack");
        assert_eq!(pack.encoder_name(), "golden");
        // One document for all cases: a release must leave no state.
        let mut document = Document::new(&pack).expect("candidates");
        let cases = golden.cases();
        assert!(cases.len() >= 20, "{} cases", cases.len());
        // Packs with features accept no embedding alone.
        let both = [push_each, push_together];
        let ways = if pack.features().is_some() { 1 } else { 2 };
        for case in cases {
            for pushing in &both[..ways] {
                pushing(&mut document, &case.sentences);
                assert_eq!(
                    document.sentence_count(),
                    case.sentences.len(),
                    "{}",
                    case.name
                );
                let mut entropy = FixedEntropy::new(&case.entropy);
                let release = release(&mut document, &case, &mut entropy).expect("entropy");
                assert_eq!(release.to_bytes(), case.release, "{}", case.name);
                assert_eq!(Release::from_bytes(&case.release), Ok(release));
                assert_eq!(entropy.left(), 0, "{}", case.name);
                assert_eq!(document.sentence_count(), 0, "{}", case.name);
            }
        }
    }
}

/// To a pack that takes whole texts, a text of several sentences is one sentence.
#[test]
fn whole_texts_match_the_reference() {
    let pack = Pack::parse(golden::KNOWN.pack).expect("a golden pack");
    let mut document = Document::new(&pack).expect("candidates");
    let mut mechanisms = BTreeSet::new();
    for case in golden::KNOWN.cases() {
        for sentence in &case.sentences {
            let Sentence::Text(text) = sentence else {
                panic!("the pack takes texts only");
            };
            assert_eq!(document.push_text(text.as_bytes()), Ok(1), "{}", case.name);
        }
        let mut entropy = FixedEntropy::new(&case.entropy);
        let release = release(&mut document, &case, &mut entropy).expect("entropy");
        assert_eq!(release.to_bytes(), case.release, "{}", case.name);
        mechanisms.insert(release.mechanism() as u8);
    }
    assert_eq!(mechanisms.into_iter().collect::<Vec<_>>(), [2, 11, 12]);
}

#[test]
fn features_match_the_reference() {
    let cases = golden::features();
    assert!(cases.len() >= 100, "{} cases", cases.len());
    for (text, kinds, expected) in cases {
        let mut found = Vec::new();
        each_feature(&text, kinds, |hash| found.push(hash));
        found.sort_unstable();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(found, expected, "{kinds:?} of {text:?}");
    }
}

/// Cases have more than one outcome.
#[test]
fn golden_cases_cover_what_there_is() {
    for golden in golden::ALL {
        let cases = golden.cases().into_iter();
        let by_sentences = cases.filter(|case| matches!(case.by, By::Sentence(_)));
        let candidates: BTreeSet<u8> = by_sentences.map(|case| case.release[12]).collect();
        assert!(candidates.len() >= 8, "{} candidates", candidates.len());
    }
    let pack = Pack::parse(golden::FEATURES_PACK).expect("a golden pack");
    let features = pack.features().expect("features");
    assert!(features.feature_count() > 100 && !features.is_alone());
    assert_eq!(pack.scores().expect("scores").level_count(), 40);
    // "Nothing known" is released both because nothing is known and by chance.
    for golden in golden::ALL[4..].iter().chain(&golden::WHOLE_TEXTS) {
        let pack = Pack::parse(golden.pack).expect("a golden pack");
        let cases = golden.cases();
        let whole: Vec<&Case> = cases
            .iter()
            .filter(|case| case.by == By::WholeText)
            .collect();
        let nothing = |case: &&&Case| case.release[12..16] == pack.candidate_count().to_le_bytes();
        let times = whole.iter().filter(nothing).count();
        assert!(whole.len() >= 20 && times > 0, "{} {times}", whole.len());
    }
    // Several geometries, with two coordinates and with more.
    let points = golden::PROJECTIVE.iter().flat_map(Golden::cases);
    let orders: BTreeSet<u8> = points.map(|case| case.release[6]).collect();
    assert!(orders.len() >= 4, "{orders:?}");
}

#[test]
fn sentence_vectors_match_the_reference() {
    let bits = |vector: &[f32]| -> Vec<u32> { vector.iter().map(|x| x.to_bits()).collect() };
    for (pack, sentences) in [
        (golden::PACK, golden::sentences()),
        (golden::RECODED_PACK, golden::sentences_with_phrases()),
    ] {
        let pack = Pack::parse(pack).expect("a golden pack");
        let lexicon = pack.lexicon().expect("a lexicon");
        for (sentence, expected) in sentences {
            let mut vector = [f32::NAN; 16];
            lexicon
                .sentence_vector(&sentence, &mut vector)
                .expect("16 coordinates");
            assert_eq!(bits(&vector), bits(&expected), "{sentence:?}");
            vector = [f32::NAN; 16];
            lexicon
                .sentence_vector(sentence.as_bytes(), &mut vector)
                .expect("16 coordinates");
            assert_eq!(bits(&vector), bits(&expected), "{sentence:?}");
        }
    }
}

#[test]
fn bags_match_the_reference() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    let mut bag = Bag::new(&vocabulary);
    let cases = golden::bags();
    assert!(cases.len() >= 20, "{} cases", cases.len());
    for case in cases {
        for words in &case.words {
            match words {
                Words::One(word) => bag.push(word),
                Words::Text(text) => bag.push_text(text.as_bytes()),
            }
        }
        let mut entropy = FixedEntropy::new(&case.entropy);
        let mut out = vec![0; BagRelease::bytes(case.size)];
        let written = bag.release(
            case.size,
            case.mechanism,
            Grant::unrecorded(Unit::Word, case.epsilon),
            &mut entropy,
            &mut out,
        );
        assert_eq!(written, Ok(out.len()), "{}", case.name);
        assert_eq!(out, case.release, "{}", case.name);
        assert_eq!(entropy.left(), 0, "{}", case.name);
        assert!(bag.is_empty(), "{}", case.name);
    }
}

#[test]
fn private_vectors_match_the_reference() {
    let pack = Pack::parse(golden::VECTORS_PACK).expect("a golden pack");
    let projection = pack.projection().expect("a projection");
    let cases = golden::vectors();
    assert!(cases.len() >= 20, "{} cases", cases.len());
    for case in cases {
        let mechanism = match case.bound_exponent {
            Some(bound) => {
                VectorMechanism::new(case.vector.len() as u32, bound, case.noise, case.epsilon)
            }
            None => {
                let bound = projection.bound_exponent();
                VectorMechanism::projected(projection, bound, case.noise, case.epsilon)
            }
        };
        let mechanism = mechanism.expect("parameters that are allowed");
        let mut entropy = FixedEntropy::new(&case.entropy);
        let mut out = vec![0; mechanism.release_bytes()];
        let written = mechanism.release(
            Grant::unrecorded(Unit::Vector, case.epsilon),
            &case.vector,
            &mut entropy,
            &mut out,
        );
        assert_eq!(written, Ok(out.len()), "{}", case.name);
        assert_eq!(out, case.release, "{}", case.name);
        assert_eq!(entropy.left(), 0, "{}", case.name);
        let release = VectorRelease::from_bytes(&out).expect("a release");
        assert_eq!(release.noise(), case.noise);
    }
}

#[test]
fn nothing_is_released_or_forgotten_without_entropy() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut document = Document::new(&pack).expect("candidates");
    let cases = golden::cases();
    let case = cases
        .iter()
        .rfind(|case| case.sentences.len() > 1)
        .expect("a document");
    for sentence in &case.sentences {
        push(&mut document, sentence);
    }
    for broken in [&[][..], &[1; 31], &[0; 32]] {
        let failed = release(&mut document, case, &mut FixedEntropy::new(broken));
        assert_eq!(failed, Err(DocumentError::Entropy));
        assert_eq!(document.sentence_count(), case.sentences.len());
    }
    let release = release(&mut document, case, &mut FixedEntropy::new(&case.entropy));
    assert_eq!(release.map(|r| r.to_bytes()), Ok(case.release));
}

#[test]
fn golden_files_are_what_the_generator_writes() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/golden.py");
    match Command::new("python3")
        .arg("-B")
        .arg(script)
        .arg("--check")
        .output()
    {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) if std::env::var_os("CI").is_some_and(|ci| ci == "true") => {
            panic!("CI needs python3 for this: {error}")
        }
        Err(error) => eprintln!("skipped, no python3: {error}"),
    }
}
