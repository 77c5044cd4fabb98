//! Bytes as a pack, and every use of a pack.

use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::lexicon::Lexicon;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::release::{Mechanism, Release, VectorRelease};
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, Projection, VectorMechanism};

use crate::assemble::seal;
use crate::double::Repeated;

/// Parses the input unchanged and with a corrected header, and uses the result.
pub fn pack_parse_then_use(data: &[u8]) {
    parse_and_use(data, data);
    // At an odd address, because a pack may lie anywhere.
    let mut mended = vec![0; data.len() + 1];
    mended[1..].copy_from_slice(data);
    seal(&mut mended[1..]);
    parse_and_use(&mended[1..], data);
}

fn parse_and_use(bytes: &[u8], input: &[u8]) {
    let pack = match Pack::parse(bytes) {
        Ok(pack) => pack,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!((1..=4096).contains(&pack.dimension()));
    assert!(pack.encoder_name().len() <= 32);
    assert_eq!(pack.digest()[..8], pack.id());
    assert_eq!(pack.encoder_digest().len(), 32);
    if let Some(lexicon) = pack.lexicon() {
        use_lexicon(&lexicon, input);
    }
    if let Some(depth) = pack.depth() {
        assert!((1..=65_536).contains(&depth.candidate_count()));
        assert!((1..=1024).contains(&depth.direction_count()));
        assert!((-24..=24).contains(&depth.exponent()));
        // Lengths that do not fit, on both sides.
        for lengths in [0, 1, depth.direction_count(), depth.direction_count() + 1] {
            let mut projections = vec![0; lengths];
            depth.projections(None, &vec![f32::MAX; lengths], &mut projections);
            let recoder = pack.recoder();
            depth.projections(recoder.as_ref(), &vec![f32::MAX; lengths], &mut projections);
            depth.codes_of(&projections, &mut vec![0; depth.direction_count()]);
        }
        depth.bucket_input(i64::MIN);
    }
    if let Some(recoder) = pack.recoder() {
        assert!((1..=1024).contains(&recoder.width()));
        // Lengths that do not fit, on both sides, and an output that was used before.
        for length in [0, 1, pack.dimension(), 1025] {
            let mut recoded = [-1; 1024];
            recoder.recode(&vec![f32::MIN; length], &mut recoded);
            assert!(recoded[..recoder.width()].iter().all(|x| *x >= 0));
        }
    }
    if let Some(scores) = pack.scores() {
        assert!((1..=65_536).contains(&scores.candidate_count()));
        assert!((1..=255).contains(&scores.largest_score()));
        assert!((2..=160).contains(&scores.level_count()));
        assert_eq!(scores.has_features(), pack.features().is_some());
        let least = if pack.recoder().is_some() { 0 } else { 24 };
        assert!((-least..=least).contains(&scores.exponent()));
    }
    if let Some(projection) = pack.projection() {
        use_projection(&pack, &projection, input);
    }
    if let Some(quality) = pack.quality() {
        let lengths = quality.lengths().count();
        for index in 0..quality.epsilons().count() {
            for unit in [Unit::Sentence, Unit::WholeText] {
                quality.accuracy(unit, index, lengths - 1);
                assert_eq!(quality.accuracy(unit, index, lengths), None);
            }
        }
        quality.noiseless(lengths - 1);
    }
    use_document::<128, 100>(&pack, input);
    use_document::<2, 1>(&pack, input);
}

fn use_lexicon(lexicon: &Lexicon<'_>, input: &[u8]) {
    assert!((-24..=24).contains(&lexicon.exponent()));
    for index in 0..lexicon.word_count() {
        let word = lexicon.word(index).expect("an index below n_words");
        assert_eq!(lexicon.find(word), Some(index));
        let (_, vector) = lexicon.entry(index).expect("an index below n_words");
        assert_eq!(vector.len(), lexicon.dimension());
    }
    for index in [lexicon.word_count(), usize::MAX] {
        assert_eq!(lexicon.word(index), None);
        assert_eq!(lexicon.entry(index), None);
    }
    assert_eq!(lexicon.find(""), None);
    for index in 0..lexicon.phrase_count() {
        let words = lexicon.phrase(index).expect("an index below n_phrases");
        assert!(words.iter().all(|word| *word < lexicon.word_count()));
        assert_eq!(lexicon.find_phrase(words), Some(index));
        let (_, vector) = lexicon
            .phrase_entry(index)
            .expect("an index below n_phrases");
        assert_eq!(vector.len(), lexicon.dimension());
    }
    for index in [lexicon.phrase_count(), usize::MAX] {
        assert_eq!(lexicon.phrase(index), None);
        assert_eq!(lexicon.phrase_entry(index), None);
    }
    let text = String::from_utf8_lossy(input);
    lexicon.find(&text);
    let mut vector = vec![f32::NAN; lexicon.dimension()];
    lexicon
        .sentence_vector(text.as_bytes(), &mut vector)
        .expect("the right length");
    assert!(vector.iter().all(|x| x.is_finite()));
    assert!(
        lexicon
            .sentence_vector(text.as_bytes(), &mut vector[1..])
            .is_err()
    );
    assert!(lexicon.sentence_vector(text.as_bytes(), &mut []).is_err());
}

fn use_projection(pack: &Pack<'_>, projection: &Projection<'_>, input: &[u8]) {
    assert_eq!(projection.dimension(), pack.dimension());
    assert!((1..=1024).contains(&projection.row_count()));
    assert_eq!(projection.rows().count(), projection.row_count());
    assert!((-24..=0).contains(&projection.exponent()));
    let bound = projection.bound_exponent();
    assert!((-24..=24).contains(&bound));
    let epsilon = Epsilon::from_micro(10_000_000).expect("in range");
    for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
        match VectorMechanism::projected(*projection, bound, noise, epsilon) {
            Ok(mechanism) => {
                let mut x = vec![0.0; projection.dimension()];
                for (x, bytes) in x.iter_mut().zip(input.as_chunks().0) {
                    *x = f32::from_le_bytes(*bytes);
                }
                let mut out = vec![0; mechanism.release_bytes()];
                let written = mechanism.release(
                    Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon()),
                    &x,
                    &mut Repeated(&[1]),
                    &mut out,
                );
                assert_eq!(written, Ok(out.len()));
                let release = VectorRelease::from_bytes(&out).expect("what was written");
                assert_eq!(release.pack_id(), pack.id());
                assert_eq!(release.coordinates().len(), projection.row_count());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn use_document<const K: usize, const P: usize>(pack: &Pack<'_>, input: &[u8]) {
    let too_large = match (pack.scores(), pack.depth()) {
        (Some(scores), _) => {
            let found = scores.candidate_count();
            // Sums, 128 in a row; with features two more numbers of 32 bits for each candidate.
            let limit = if scores.has_features() {
                P / 5 * 128 + P % 5 / 3 * 64
            } else {
                128 * P
            };
            let error = DocumentError::TooManyCandidates { found, limit };
            (found as usize > limit).then_some(error)
        }
        (None, Some(depth)) => {
            let found = depth.direction_count();
            let error = DocumentError::TooManyDirections { found, limit: P };
            (found > P).then_some(error)
        }
        (None, None) => Some(DocumentError::NoCandidates),
    };
    let mut document = match Document::<K, P>::with_limits(pack) {
        Ok(document) => {
            assert_eq!(too_large, None);
            document
        }
        Err(error) => {
            assert_eq!(Some(error), too_large);
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let values: Vec<f32> = input
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    let dimension = pack.dimension();
    assert_eq!(document.dimension(), dimension);
    let mut pushed = 0;
    for embedding in values.chunks(dimension).take(K + 1) {
        let result = match pack.features() {
            Some(_) if embedding.len() == dimension && pushed < K => {
                assert_eq!(document.push(embedding), Err(DocumentError::NeedsText));
                document.push_encoded(input, embedding)
            }
            Some(_) => document.push_encoded(input, embedding),
            None => document.push(embedding),
        };
        if embedding.len() == dimension && pushed < K {
            assert_eq!(result, Ok(()));
            pushed += 1;
        } else {
            assert!(
                !result
                    .expect_err("a wrong length or no room")
                    .to_string()
                    .is_empty()
            );
        }
    }
    for sentence in input.split(|byte| *byte == b'.').take(3) {
        let result = document.push_sentence(sentence);
        let alone = pack.features().is_some_and(|features| features.is_alone());
        if pack.lexicon().is_none() && !alone {
            assert_eq!(result, Err(DocumentError::NoLexicon));
        } else if pushed < K {
            assert_eq!(result, Ok(()));
            pushed += 1;
        } else {
            assert_eq!(result, Err(DocumentError::Full { limit: K }));
        }
    }
    assert_eq!(document.sentence_count(), pushed);
    let worst = match pack.scores() {
        Some(scores) => {
            let most = pushed * usize::from(scores.largest_score());
            most.min(scores.level_count() - 1)
        }
        None => pushed / 2,
    };
    let mut counted = 0;
    hazmat::levels(&document, |block| {
        counted += block.len();
        assert!(block.iter().all(|level| usize::from(*level) <= worst));
    });
    assert_eq!(counted, pack.candidate_count() as usize);

    let tail = &input[input.len().saturating_sub(32)..];
    let micro = values
        .first()
        .map_or(1, |x| x.to_bits() % 1_000_000_000 + 1);
    let epsilon = Epsilon::from_micro(micro).expect("in range");
    for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
        assert_eq!(
            document.release(
                Grant::unrecorded(Unit::Sentence, epsilon),
                rule,
                &mut Repeated(&[])
            ),
            Err(DocumentError::Entropy)
        );
        let mut entropy = Repeated(tail);
        let released = document.release(
            Grant::unrecorded(Unit::Sentence, epsilon),
            rule,
            &mut entropy,
        );
        if !entropy.works() {
            assert_eq!(released, Err(DocumentError::Entropy));
            assert_eq!(document.sentence_count(), pushed);
            continue;
        }
        let release = released.expect("working entropy");
        assert!(release.number() < pack.candidate_count());
        let by_scores = release.mechanism() == Mechanism::Scores;
        assert_eq!(by_scores, pack.scores().is_some());
        assert_eq!(
            (release.epsilon(), release.rule(), release.pack_id()),
            (epsilon, rule, pack.id())
        );
        assert_eq!(Release::from_bytes(&release.to_bytes()), Ok(release));
        pushed = 0;
        assert_eq!(document.sentence_count(), 0);
        use_whole_text(pack, &mut document, input, epsilon);
    }
}

/// A projective release of a document with a known best outcome.
fn use_projective<const K: usize, const P: usize>(
    pack: &Pack<'_>,
    document: &mut Document<'_, K, P>,
    best: Result<u32, DocumentError>,
    epsilon: Epsilon,
) {
    let outcomes = pack.outcomes();
    let geometry = Geometry::best(outcomes, epsilon).expect("few outcomes");
    assert_eq!(hazmat::best(document), best);
    let grant = Grant::unrecorded(Unit::WholeText, epsilon);
    let released = document.release_projective(grant, &mut Repeated(b"points"));
    let release = released.expect("the whole-text rule has one");
    let known = !pack.has_nothing_known();
    let mechanism = if known {
        Mechanism::ProjectiveKnown
    } else {
        Mechanism::Projective
    };
    assert_eq!(release.mechanism(), mechanism);
    assert_eq!(
        release
            .order()
            .map(undertone_core::projective::Order::number),
        Some(geometry.order())
    );
    assert!(release.number() < geometry.points());
    assert_eq!(Geometry::new(geometry.order(), outcomes), Some(geometry));
    assert_eq!(Release::from_bytes(&release.to_bytes()), Ok(release));
    assert_eq!(document.sentence_count(), 0);
}

/// A whole-text release, if the pack has one; otherwise of an empty document.
fn use_whole_text<const K: usize, const P: usize>(
    pack: &Pack<'_>,
    document: &mut Document<'_, K, P>,
    input: &[u8],
    epsilon: Epsilon,
) {
    let loss = |rule| document.whole_text_epsilon(epsilon, rule).0;
    assert!(loss(Rule::Exponential) <= loss(Rule::PermuteAndFlip));
    let candidates = pack.candidate_count();
    let row = vec![1.0; pack.dimension()];
    assert_eq!(document.push_encoded(input, &row), Ok(()));
    let best = hazmat::best(document);
    let mut entropy = Repeated(b"whole");
    let released =
        document.release_whole_text(Grant::unrecorded(Unit::WholeText, epsilon), &mut entropy);
    match released {
        Ok(release) => {
            assert!(release.number() < pack.outcomes());
            assert!(best.is_ok_and(|best| best < pack.outcomes()));
            assert!(release.outcome(candidates).is_some());
            assert_eq!(Release::from_bytes(&release.to_bytes()), Ok(release));
            let empty = hazmat::best(document);
            if pack.has_nothing_known() {
                assert_eq!(release.mechanism(), Mechanism::WholeText);
                assert_eq!(empty, Ok(candidates));
            } else {
                assert_eq!(release.mechanism(), Mechanism::WholeTextKnown);
                assert!(empty.is_ok_and(|best| best < candidates));
            }
            assert_eq!(document.push_encoded(input, &row), Ok(()));
            use_projective(pack, document, best, epsilon);
        }
        Err(error) => {
            assert_eq!(best, Err(error));
            assert_eq!(document.check_whole_text(), Err(error));
            assert_eq!(error == DocumentError::NoScores, pack.scores().is_none());
            assert_eq!(document.sentence_count(), 1);
            document.clear();
        }
    }
}
