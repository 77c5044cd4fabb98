//! Any bytes as a pack, any floats and any text give an error or a working view, without panic and
//! without heap.
//!
//! Debug builds check arithmetic for overflow, so a wrapped size is a failure here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::features::{FeatureKinds, each_feature};
use undertone_core::hazmat;
use undertone_core::laplace::LaplaceError;
use undertone_core::ledger::Grant;
use undertone_core::pack::format::{
    DEPTH_TAG, DepthHead, Entry, FEATURES_TAG, FeaturesHead, Header, LEXICON_TAG, LexiconHead,
    PHRASES_TAG, PROJECTION_TAG, PhrasesHead, ProjectionHead, QUALITY_TAG, QualityHead,
    RECODER_TAG, RecoderHead, SCORES_TAG, ScoresHead,
};
use undertone_core::pack::{Pack, PackError};
use undertone_core::quality::Quality;
use undertone_core::release::{BagRelease, Mechanism, Release, ReleaseFormatError, VectorRelease};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, Projection, VectorError, VectorMechanism};
use undertone_core::words::{Bag, Vocabulary, WordMechanism, WordsError};
use undertone_tests::documents::levels_of;
use undertone_tests::packs::{
    DepthParts, FeaturesParts, LayerParts, LexiconParts, PhrasesParts, ProjectionParts,
    RecoderParts, ScoreParts, Scoring, Section, pack, quality, repair_digest, taking_whole_texts,
};
use undertone_tests::{FixedEntropy, RULES, golden, largest_grant};

thread_local! {
    /// Allocations of this thread.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting.
struct Counting;

// SAFETY: every call is passed on unchanged to `System`, which meets the contract. Counting uses a
// thread-local integer and allocates nothing (constant initialiser, no destructor).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises about `layout` are those that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System.alloc` with this layout, because all pointers do.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations that `run` makes on this thread.
fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

/// Parses the bytes and, if they are a pack, uses every part of it.
fn parse_and_use(bytes: &[u8]) -> Result<(), PackError> {
    let pack = Pack::parse(bytes)?;
    let _ = (pack.id(), pack.digest(), pack.encoder_digest());
    assert!(pack.encoder_name().len() <= 32);
    assert!((1..=4096).contains(&pack.dimension()));
    let embedding = [[0.5, -1e30, f32::NAN, 1.0]; 1024];
    let embedding = &embedding.as_flattened()[..pack.dimension()];
    if let Some(lexicon) = pack.lexicon() {
        let n = lexicon.word_count();
        for index in [0, n / 2, n - 1] {
            let word = lexicon.word(index).expect("a word");
            assert!(!word.is_empty() && lexicon.entry(index).is_some());
            assert_eq!(lexicon.find(word), Some(index));
        }
        assert!(lexicon.word(n).is_none() && lexicon.entry(n).is_none());
        let mut vector = vec![f32::NAN; lexicon.dimension()];
        let odd = "Dogdog 東 İ\u{300}\u{200d}東g\u{10ffff}";
        for sentence in ["she and the dog, 42 xyzzy", odd] {
            let written = lexicon.sentence_vector(sentence, &mut vector);
            assert!(written.is_ok() && vector.iter().all(|x| x.is_finite()));
        }
        let n = lexicon.phrase_count();
        for index in (0..n.min(1)).chain(n.saturating_sub(1)..n) {
            let words = lexicon.phrase(index).expect("a phrase");
            assert!(words.iter().all(|word| *word < lexicon.word_count()));
            assert_eq!(lexicon.find_phrase(words), Some(index));
            let (_, vector) = lexicon.phrase_entry(index).expect("a phrase");
            assert_eq!(vector.len(), lexicon.dimension());
        }
        assert!(lexicon.phrase(n).is_none() && lexicon.phrase_entry(n).is_none());
        assert_eq!(lexicon.find_phrase([usize::MAX; 2]), None);
    }
    match Vocabulary::new(&pack) {
        Err(error) => assert_eq!(
            (error, pack.lexicon().is_none()),
            (WordsError::NoLexicon, true)
        ),
        Ok(vocabulary) => use_words(&vocabulary),
    }
    if let Some(recoder) = pack.recoder() {
        assert!((1..=1024).contains(&recoder.width()));
        let mut recoded = [-1; 1024];
        recoder.recode(embedding, &mut recoded);
        assert!(recoded[..recoder.width()].iter().all(|x| *x >= 0));
    }
    if let Some(scores) = pack.scores() {
        assert!((1..=65_536).contains(&scores.candidate_count()));
        assert!(scores.largest_score() >= 1);
    }
    if let Some(projection) = pack.projection() {
        use_projection(projection, embedding);
    }
    if let Some(quality) = pack.quality() {
        use_quality(&quality);
    }
    match Document::<7>::with_limits(&pack) {
        Err(error) => assert!(matches!(
            error,
            DocumentError::NoCandidates
                | DocumentError::TooManyDirections { .. }
                | DocumentError::TooManyCandidates { .. }
        )),
        Ok(mut document) => {
            if pack.features().is_some() {
                assert_eq!(document.push(embedding), Err(DocumentError::NeedsText));
            }
            for sign in [1.0, -1.0] {
                let mirrored: Vec<f32> = embedding.iter().map(|x| x * sign).collect();
                for embedding in [embedding, &mirrored] {
                    let pushed = document.push_encoded(b"the dog\xff isn't", embedding);
                    assert_eq!(pushed, Ok(()));
                }
            }
            let alone = pack.features().is_some_and(|features| features.is_alone());
            let spoken = document.push_sentence("quiet night");
            assert_eq!(spoken.is_ok(), pack.lexicon().is_some() || alone);
            let candidates = pack.candidate_count();
            release_whole_text(&mut document, candidates, pack.scores().is_some());
            for rule in RULES {
                let grant = largest_grant(Unit::Sentence);
                let release = document.release(grant, rule, &mut FixedEntropy::new(&[1; 32]));
                assert!(release.expect("entropy").number() < candidates);
            }
        }
    }
    Ok(())
}

/// Every position in a table, and the ones just outside.
fn use_quality(quality: &Quality<'_>) {
    let (epsilons, lengths) = (quality.epsilons().count(), quality.lengths().count());
    assert!((1..=64).contains(&epsilons) && (1..=64).contains(&lengths));
    for unit in [Unit::Sentence, Unit::WholeText] {
        for (epsilon, length) in [(0, 0), (epsilons - 1, lengths - 1)] {
            let found = quality.accuracy(unit, epsilon, length);
            assert!(found.is_none_or(|accuracy| accuracy < u16::MAX));
        }
        for (epsilon, length) in [(epsilons, 0), (0, lengths), (usize::MAX, usize::MAX)] {
            assert_eq!(quality.accuracy(unit, epsilon, length), None);
        }
    }
    assert_eq!(quality.noiseless(lengths), None);
}

/// Makes a whole-text release, or checks that the error follows from the pack and that the document
/// is unchanged.
fn release_whole_text(document: &mut Document<'_, 7>, candidates: u32, scored: bool) {
    let sentences = document.sentence_count();
    let levels = levels_of(document);
    let allowed = document.check_whole_text();
    for empty in [false, true] {
        let grant = largest_grant(Unit::WholeText);
        match document.release_whole_text(grant, &mut FixedEntropy::new(&[1; 32])) {
            Ok(release) => {
                assert!(scored && allowed == Ok(()));
                let outcomes = release
                    .mechanism()
                    .outcomes(candidates)
                    .expect("a whole text");
                assert!(release.number() < outcomes);
                assert_eq!(document.sentence_count(), 0);
                let best = hazmat::best(document).expect("scores");
                assert_eq!(best < candidates, outcomes == candidates);
            }
            Err(error) => {
                assert_eq!(allowed, Err(error));
                assert_eq!(scored, error != DocumentError::NoScores);
                assert_eq!(document.sentence_count(), sentences);
                assert_eq!(levels_of(document), levels);
            }
        }
        assert!(!empty || document.sentence_count() == 0 || allowed.is_err());
        let grant = largest_grant(Unit::WholeText);
        let released = document.release_projective(grant, &mut FixedEntropy::new(&[1; 32]));
        assert_eq!(released.as_ref().err(), allowed.as_ref().err());
        assert!(released.is_ok_and(|release| release.order().is_some()) || allowed.is_err());
    }
    for rule in RULES {
        let bound = document.whole_text_epsilon(Epsilon::MAX, rule);
        assert!(bound.0 <= 2 * 255 * 1_000_000_000);
    }
}

/// Makes the words of any pack private.
fn use_words(vocabulary: &Vocabulary<'_>) {
    let mut bag: Bag<'_, 2> = Bag::with_limit(vocabulary);
    let mut out = [0; BagRelease::bytes(1)];
    for rule in RULES {
        for word in ["dog", "xyzzy", "the"] {
            bag.push(word);
        }
        let (mechanism, grant) = (WordMechanism::Selection(rule), largest_grant(Unit::Word));
        let entropy = &mut FixedEntropy::new(&[1; 32]);
        let written = bag.release(1, mechanism, grant, entropy, &mut out);
        assert_eq!(written, Ok(out.len()));
        let release = BagRelease::from_bytes(&out).expect("a release");
        assert!(release.words().all(|word| word < vocabulary.word_count()));
    }
    for grid_exponent in [i32::MIN, -20, 0, i32::MAX] {
        let nearest = vocabulary.nearest(&[i32::MAX, i32::MIN, 1, 0], grid_exponent);
        assert!(nearest < vocabulary.word_count());
    }
    // Some vectors are too large for the noise in any case, which is an error.
    let (mechanism, rng) = (WordMechanism::LaplaceNearest, &mut PublicRng::new(1));
    let noisy = hazmat::draw_word(vocabulary, u32::MAX, mechanism, Epsilon::MAX, rng);
    assert!(matches!(noisy, Ok(_) | Err(WordsError::Laplace(_))));
}

/// Refuses any projection for its public parameters, or makes releases that can be read.
fn use_projection(projection: Projection<'_>, embedding: &[f32]) {
    assert!((1..=1024).contains(&projection.row_count()));
    assert!((1..=1024).contains(&projection.dimension()));
    let bound = projection.bound_exponent();
    for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
        match VectorMechanism::projected(projection, bound, noise, Epsilon::MAX) {
            Err(error) => assert!(matches!(
                error,
                VectorError::Sensitivity | VectorError::Laplace(LaplaceError::Bound { .. })
            )),
            Ok(mechanism) => {
                let mut out = vec![0; mechanism.release_bytes()];
                let (grant, entropy) = (
                    largest_grant(Unit::Vector),
                    &mut FixedEntropy::new(&[1; 32]),
                );
                let length = mechanism.release(grant, embedding, entropy, &mut out);
                assert_eq!(length, Ok(out.len()));
                let release = VectorRelease::from_bytes(&out).expect("a release");
                assert_eq!(release.coordinates().len(), projection.row_count());
                assert_eq!(Some(release.sensitivity()), projection.sensitivity());
            }
        }
    }
}

/// A pack of a few hundred bytes for tests that are too slow with the golden one.
fn tiny_pack() -> Vec<u8> {
    pack(1, &[tiny_lexicon(), tiny_depth(vec![3], 8).to_section()])
}

/// The tiny pack with phrases.
fn tiny_phrases_pack() -> Vec<u8> {
    let phrases = PhrasesParts {
        pairs: vec![[0, 0], [0, 1], [1, 0]],
        weights: vec![3, u16::MAX, u16::MAX],
        vectors: vec![vec![100], vec![127], vec![-128]],
    };
    let depth = tiny_depth(vec![3], 8).to_section();
    pack(1, &[tiny_lexicon(), phrases.to_section(), depth])
}

fn tiny_lexicon() -> Section {
    let lexicon = LexiconParts {
        words: vec!["dog".to_owned(), "the".to_owned()],
        weights: vec![511, 1],
        ..LexiconParts::of_vectors(vec![vec![127], vec![-128]], -8)
    };
    lexicon.to_section()
}

fn tiny_depth(direction: Vec<i16>, exponent: i32) -> DepthParts {
    DepthParts {
        dimension: direction.len(),
        exponent,
        shift: 1,
        directions: vec![direction],
        boundaries: vec![(-127..=127).collect()],
        codes: vec![vec![0, 100, 255]],
    }
}

/// A pack of scores after a recoder, and one of depth after it.
fn tiny_scores_pack(scoring: Scoring) -> Vec<u8> {
    let layer = |weights, bias, shift| LayerParts {
        weights,
        bias,
        shift,
    };
    let recoder = RecoderParts {
        dimension: 2,
        exponent: 8,
        layers: vec![
            layer(vec![vec![3, -2], vec![-1, 1]], vec![100, -1], 1),
            layer(vec![vec![1, 5]], vec![i64::MAX], 40),
        ],
    };
    let scores = ScoreParts {
        centre: vec![50],
        bias: vec![0, 500, i32::MIN],
        ..ScoreParts::of_heads(vec![vec![3], vec![-3], vec![0]], scoring)
    };
    let depth = tiny_depth(vec![3], 0).to_section();
    pack(2, &[recoder.to_section(), scores.to_section(), depth])
}

/// The tiny pack with a projection.
fn tiny_projection_pack() -> Vec<u8> {
    let projection = ProjectionParts {
        rows: vec![vec![3, -4, 0], vec![i16::MIN, 1, i16::MAX]],
        exponent: -7,
        bound_exponent: 1,
    };
    let depth = tiny_depth(vec![3, -1, 2], 8).to_section();
    pack(3, &[depth, projection.to_section()])
}

/// Ten candidates, so that a bitmap has bits of no candidate; rows with all, no and some weights.
fn tiny_features(alone: bool) -> FeaturesParts {
    let row = |i: u32| {
        (0..10)
            .map(|c| (i * 37 + c * 11) as i8 % 3 * (i % 2) as i8)
            .collect()
    };
    let mut hashes: Vec<u32> = (0..20).map(|i| 0x9e37_79b9u32.wrapping_mul(i)).collect();
    let kinds = FeatureKinds {
        words: true,
        pairs: true,
        symbols: true,
        least: 1,
        most: 3,
    };
    each_feature(b"the dog isn't", kinds, |hash| hashes.push(hash));
    FeaturesParts {
        kinds,
        alone,
        shift: 9,
        bucket_bits: 2,
        rows: (0..).zip(hashes).map(|(i, hash)| (hash, row(i))).collect(),
        scales: vec![7; 10],
    }
}

/// Two values of ε and three lengths.
fn tiny_quality() -> Section {
    let accuracies: Vec<u16> = (0..12).map(|i| i * 5461).collect();
    let noiseless = [65_534, 65_535, 7];
    let epsilons = [1_000_000, 3_000_000];
    quality(&epsilons, &[0, 1, 20], &accuracies, &noiseless)
}

/// Features alone, and beside a lexicon; fewer levels.
fn tiny_features_pack(alone: bool) -> Vec<u8> {
    let weights = (0..10).map(|c| vec![c]).collect();
    let scores = ScoreParts {
        levels: 40,
        exponent: 3,
        ..ScoreParts::of_heads(weights, Scoring::Features(vec![100, -100, 700]))
    };
    let other = if alone {
        tiny_quality()
    } else {
        tiny_lexicon()
    };
    let features = tiny_features(alone).to_section();
    pack(1, &[scores.to_section(), features, other])
}

/// The tiny pack with a lexicon of pieces.
fn tiny_pieces_pack() -> Vec<u8> {
    let lexicon = LexiconParts {
        words: ["##dog", "##g", "do", "東"].map(str::to_owned).into(),
        weights: vec![511, 1, 0, 9],
        matching: 1,
        ..LexiconParts::of_vectors(vec![vec![127], vec![-128], vec![1], vec![5]], -8)
    };
    let depth = tiny_depth(vec![3], 8).to_section();
    pack(1, &[lexicon.to_section(), depth])
}

fn tiny_packs() -> [Vec<u8>; 8] {
    [
        tiny_features_pack(true),
        tiny_features_pack(false),
        tiny_pack(),
        tiny_pieces_pack(),
        tiny_phrases_pack(),
        tiny_projection_pack(),
        tiny_scores_pack(Scoring::Graded(vec![200, -700])),
        tiny_scores_pack(Scoring::Vote),
    ]
}

/// The tiny packs and a golden one of each kind.
fn packs() -> Vec<Vec<u8>> {
    let golden = [golden::PACK, golden::SCORES_PACK, golden::FEATURES_PACK];
    let golden = golden.map(<[u8]>::to_vec);
    tiny_packs().into_iter().chain(golden).collect()
}

#[test]
fn whole_packs_are_usable() {
    for bytes in packs() {
        assert_eq!(parse_and_use(&bytes), Ok(()));
    }
    for golden in golden::ALL {
        assert_eq!(parse_and_use(golden.pack), Ok(()));
    }
    assert_eq!(parse_and_use(&pack(4096, &[])), Ok(()));
}

#[test]
fn every_address_is_good() {
    for whole in packs() {
        let mut bytes = vec![0; whole.len() + 8];
        for shift in 0..8 {
            bytes[shift..shift + whole.len()].copy_from_slice(&whole);
            assert_eq!(parse_and_use(&bytes[shift..shift + whole.len()]), Ok(()));
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    for length in 0..golden::PACK.len() {
        let (declared, found, least) = (golden::PACK.len() as u64, length, 128);
        let expected = if length < least {
            PackError::TooShort { found, least }
        } else {
            PackError::Length { declared, found }
        };
        assert_eq!(parse_and_use(&golden::PACK[..length]), Err(expected));
    }
    let mut longer = golden::PACK.to_vec();
    longer.push(0);
    assert!(parse_and_use(&longer).is_err());
}

/// A length and a digest that fit the truncated bytes do not help.
#[test]
fn every_repaired_truncation_is_refused() {
    for whole in &packs() {
        let step = if whole.len() < 4_000 { 1 } else { 7 };
        for length in (128..whole.len()).step_by(step) {
            let mut bytes = whole[..length].to_vec();
            bytes[16..24].copy_from_slice(&(length as u64).to_le_bytes());
            repair_digest(&mut bytes);
            let error = parse_and_use(&bytes).expect_err("a truncated pack");
            assert!(
                matches!(error, PackError::Table { .. } | PackError::Section { .. }),
                "{length}: {error:?}"
            );
        }
    }
}

/// The bits to flip: with `UNDERTONE_SOAK=1` all of them, else the start and a sample of the rest.
fn bits(whole: &[u8]) -> impl Iterator<Item = usize> {
    let sample = match whole.len() {
        _ if undertone_tests::soak() => 1,
        0..4_000 => 5,
        _ => 97,
    };
    (0..whole.len() * 8).filter(move |bit| *bit < 8 * 200 || bit % sample == 0)
}

#[test]
fn every_flipped_bit_is_noticed() {
    for whole in &packs() {
        let mut bytes = whole.to_vec();
        for bit in bits(whole) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = Pack::parse(&bytes).expect_err("a damaged pack");
            let expected = match bit / 8 {
                0..8 => matches!(error, PackError::NotAPack),
                8..10 => matches!(error, PackError::Version { .. }),
                16..24 => matches!(error, PackError::Length { .. }),
                _ => error == PackError::Digest,
            };
            assert!(expected, "bit {bit}: {error:?}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_flipped_bit_under_a_good_digest_is_harmless() {
    for whole in &packs() {
        let mut bytes = whole.to_vec();
        let (mut refused, mut used) = (0, 0);
        for bit in bits(whole) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            repair_digest(&mut bytes);
            match parse_and_use(&bytes) {
                Ok(()) => used += 1,
                Err(error) => {
                    assert_ne!(error, PackError::Digest, "bit {bit}");
                    refused += 1;
                }
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(refused > 0 && used > 0, "{refused} refused, {used} used");
    }
}

/// The numbers of a pack: offset and length in bytes.
fn fields(whole: &[u8]) -> Vec<(usize, usize)> {
    let mut fields = vec![(8, 2), (10, 2), (12, 4), (16, 8), (24, 4), (28, 4)];
    let pack = Pack::parse(whole).expect("a pack");
    assert!(pack.candidate_count() > 0);
    let u64_at = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().expect("8 bytes"));
    let sections = u32::from_le_bytes(whole[12..16].try_into().expect("4 bytes")) as usize;
    for entry in 0..sections {
        let at = size_of::<Header>() + entry * size_of::<Entry>();
        fields.extend([(at + 4, 4), (at + 8, 8), (at + 16, 8)]);
        let section = u64_at(at + 8) as usize;
        let mut head = |size: usize| fields.extend((0..size / 4).map(|i| (section + 4 * i, 4)));
        match &whole[at..at + 4] {
            b"DPTH" => head(size_of::<DepthHead>()),
            b"RCOD" => {
                head(size_of::<RecoderHead>());
            }
            b"SCOR" => {
                head(size_of::<ScoresHead>());
                fields.extend([(section + 4, 2), (section + 6, 2)]);
            }
            b"QUAL" => {
                head(size_of::<QualityHead>());
                fields.extend((0..2).map(|i| (section + 64 + 4 * i, 4)));
                fields.push((section + 128, 4));
            }
            b"FEAT" => {
                head(size_of::<FeaturesHead>());
                fields.extend((12..size_of::<FeaturesHead>()).map(|i| (section + i, 1)));
                // Some buckets, and the tables after them: keys, bitmaps and starts of tiny packs.
                fields.extend((0..5).map(|i| (section + 64 + 4 * i, 4)));
                fields.extend((2..5).map(|i| (section + 64 * i, 4)));
            }
            b"LEXI" => {
                head(size_of::<LexiconHead>());
                // Some ends of words.
                fields.extend((0..2).map(|i| (section + 64 + 4 * i, 4)));
            }
            b"PHRS" => {
                head(size_of::<PhrasesHead>());
                // The words of some phrases.
                fields.extend((0..4).map(|i| (section + 64 + 2 * i, 2)));
            }
            b"PROJ" => {
                head(size_of::<ProjectionHead>());
                // An entry.
                fields.push((section + 64, 2));
            }
            _ => {}
        }
    }
    fields
}

#[test]
fn huge_numbers_in_any_field_are_harmless() {
    for whole in &packs() {
        for (offset, size) in fields(whole) {
            let old = &whole[offset..offset + size];
            let mut number = [0; 8];
            number[..size].copy_from_slice(old);
            let old = u64::from_le_bytes(number);
            let powers = (0..8 * size).map(|bit| 1u64 << bit);
            let near = powers.flat_map(|p| [p, p - 1, p.wrapping_neg(), old.wrapping_add(p)]);
            for value in near.chain([u64::MAX, 0, old.wrapping_sub(1), u64::MAX - 63]) {
                let mut bytes = whole.to_vec();
                bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
                repair_digest(&mut bytes);
                let result = parse_and_use(&bytes);
                if bytes[16..24] != whole[16..24] {
                    assert!(matches!(result, Err(PackError::Length { .. })));
                }
            }
        }
    }
}

#[test]
fn duplicate_and_empty_sections_are_handled() {
    let (tag, reason) = (*b"XXXX", "appears twice");
    let twice = pack(1, &[(tag, vec![]), (tag, vec![])]);
    let error = PackError::Section { tag, reason };
    assert_eq!(Pack::parse(&twice).err(), Some(error));
    let many: Vec<([u8; 4], Vec<u8>)> = (0..65u8).map(|i| ([i, b'a', 0, 255], vec![i])).collect();
    assert_eq!(parse_and_use(&pack(1, &many[..64])), Ok(()));
    assert!(parse_and_use(&pack(1, &many)).is_err());
    for tag in [
        DEPTH_TAG,
        LEXICON_TAG,
        SCORES_TAG,
        RECODER_TAG,
        PROJECTION_TAG,
        PHRASES_TAG,
        FEATURES_TAG,
        QUALITY_TAG,
    ] {
        for length in 0..50 {
            assert!(parse_and_use(&pack(1, &[(tag, vec![0; length])])).is_err());
        }
    }
}

#[test]
fn releases_are_read_from_any_bytes() {
    let cases = golden::cases();
    let good = cases[0].release;
    for bit in 0..good.len() * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 1 << (bit % 8);
        match Release::from_bytes(&bytes) {
            // Reading loses nothing.
            Ok(release) => assert_eq!(release.to_bytes(), bytes),
            Err(error) => assert!(bit < 8 * 12, "bit {bit}: {error:?}"),
        }
    }
    // The whole-text rule has only one way of drawing.
    let whole = golden::WHOLE_TEXTS[0].cases()[0].release;
    assert_eq!(whole[4..6], [7, 2]);
    for rule in (0..=u8::MAX).filter(|rule| *rule != 2) {
        let mut bytes = whole;
        bytes[5] = rule;
        let refused = ReleaseFormatError::Field {
            name: "rule",
            found: rule.into(),
        };
        assert_eq!(Release::from_bytes(&bytes), Err(refused));
    }
    for length in (0..64).filter(|length| *length != Release::BYTES) {
        let bytes: Vec<u8> = good.iter().copied().cycle().take(length).collect();
        let (found, expected) = (length, Release::BYTES);
        let refused = ReleaseFormatError::Length { found, expected };
        assert_eq!(Release::from_bytes(&bytes), Err(refused));
    }
    for micro in [0, 1_000_000_001, u32::MAX] {
        let mut bytes = good;
        bytes[8..12].copy_from_slice(&u32::to_le_bytes(micro));
        assert!(Release::from_bytes(&bytes).is_err());
    }
}

#[test]
fn vector_releases_are_read_from_any_bytes() {
    let mechanism = VectorMechanism::new(5, 0, Noise::Laplace, Epsilon::MAX).expect("in range");
    let mut good = vec![0; mechanism.release_bytes()];
    let (grant, entropy) = (
        largest_grant(Unit::Vector),
        &mut FixedEntropy::new(&[1; 32]),
    );
    let written = mechanism.release(grant, &[0.5; 5], entropy, &mut good);
    assert_eq!(written, Ok(good.len()));
    let whole = VectorRelease::from_bytes(&good).expect("a release");
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        match VectorRelease::from_bytes(&bytes) {
            Ok(release) => assert_ne!(release, whole, "bit {bit}"),
            // Neither the identifier nor the coordinates.
            Err(_) => assert!(bit < 8 * 16 || (8 * 24..8 * 36).contains(&bit), "bit {bit}"),
        }
    }
    let mut rng = PublicRng::new(0x7e57_0009);
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        bytes.resize(rng.next_u32() as usize % 80, 7);
        let places = rng.next_u32() % 8;
        for _ in 0..places {
            if let Some(byte) = bytes.get_mut(rng.next_u32() as usize % 40) {
                *byte = rng.next_u32() as u8;
            }
        }
        if let Ok(release) = VectorRelease::from_bytes(&bytes) {
            assert_eq!(bytes.len(), 36 + 4 * release.coordinates().len());
            assert!(release.values().all(f64::is_finite));
        }
    }
}

#[test]
fn text_of_any_kind_is_one_sentence() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut document = Document::new(&pack).expect("candidates");
    let long = "the dog's tea ’’ ".repeat(20_000);
    let wide = "İ".repeat(100);
    let quotes = "'’".repeat(100);
    for text in [
        "",
        "\0",
        "'",
        &long,
        &wide,
        &quotes,
        "\u{10ffff}\u{300}a\u{300}",
    ] {
        document.push_sentence(text).expect("room");
    }
    for bytes in [&b"\xff"[..], b"the\xc3dog", b"\xe2\x80", &[0x80; 1000]] {
        document.push_sentence(bytes).expect("room");
    }
    let mut vector = [1.0; 16];
    let lexicon = pack.lexicon().expect("a lexicon");
    lexicon.sentence_vector("xyzzy", &mut vector).expect("16");
    assert_eq!(vector, [0.0; 16]);
    assert!(lexicon.sentence_vector("dog", &mut vector[..15]).is_err());
    assert_eq!(vector, [0.0; 16]);
}

/// A document of a text contains its sentences, up to the limit.
#[test]
fn text_is_pushed_sentence_by_sentence() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut whole: Document<'_, 3> = Document::with_limits(&pack).expect("candidates");
    let mut single: Document<'_, 3> = Document::with_limits(&pack).expect("candidates");
    assert_eq!(whole.push_text(b"The dog\xff sleeps. Tea? --- "), Ok(2));
    single.push_sentence(b"The dog\xff sleeps.").expect("room");
    single.push_sentence("Tea?").expect("room");
    assert_eq!(whole.sentence_count(), 2);
    assert_eq!(levels_of(&whole), levels_of(&single));

    whole.clear();
    single.clear();
    assert_eq!(whole.push_text(b""), Ok(0));
    assert_eq!(whole.push_text("One. Two. Three. Four.".as_bytes()), Ok(3));
    assert_eq!(whole.push_text(b"Five."), Ok(0));
    for sentence in ["One.", "Two.", "Three."] {
        single.push_sentence(sentence).expect("room");
    }
    assert_eq!(levels_of(&whole), levels_of(&single));
}

/// To a pack that takes whole texts, each pushed text is one sentence, even an empty one.
#[test]
fn a_whole_text_is_pushed_as_one_sentence() {
    let by_sentence = tiny_features_pack(true);
    let bytes = taking_whole_texts(by_sentence.clone());
    let pack = Pack::parse(&bytes).expect("whole texts");
    assert!(pack.features().expect("features").takes_whole_texts());
    let texts = ["The dog. Isn't the dog\n\nthe dog?", "", "isn't !\u{0}"];
    for limit in 0..=texts.len() {
        let mut whole: Document<'_, 3> = Document::with_limits(&pack).expect("candidates");
        let mut single: Document<'_, 3> = Document::with_limits(&pack).expect("candidates");
        for text in texts.iter().take(limit) {
            assert_eq!(whole.push_text(text.as_bytes()), Ok(1));
            single.push_sentence(text).expect("room");
        }
        assert_eq!(whole.sentence_count(), limit);
        assert_eq!(levels_of(&whole), levels_of(&single), "{limit}");
        assert_eq!(hazmat::best(&whole), hazmat::best(&single), "{limit}");
        // The fourth text has no room.
        let more = whole
            .push_text(b"dog")
            .expect("no error depends on the text");
        assert_eq!(more, usize::from(limit < 3));
    }
    let split = Pack::parse(&by_sentence).expect("sentences");
    let mut split = Document::new(&split).expect("candidates");
    assert_eq!(split.push_text(texts[0].as_bytes()), Ok(3));
}

/// Every field of a section of features has a range, and a section that contradicts itself is
/// refused.
#[test]
fn features_that_contradict_themselves_are_refused() {
    let scores = |scoring| {
        let table = ScoreParts::of_table(&vec![vec![1; 10]; 2], 1);
        ScoreParts { scoring, ..table }.to_section()
    };
    let featured = || scores(Scoring::Features(vec![0]));
    let (tag, good) = tiny_features(true).to_section();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        Pack::parse(&pack(2, &[featured(), (tag, changed)])).map(|_| ())
    };
    assert_eq!(with(0, &[]), Ok(()));
    let rows = u32::from_le_bytes(good[..4].try_into().expect("4 bytes"));
    for (what, at, bytes) in [
        ("no features", 0, &0u32.to_le_bytes()[..]),
        ("a row more", 0, &(rows + 1).to_le_bytes()),
        ("a row less", 0, &(rows - 1).to_le_bytes()),
        ("too many features", 0, &((1u32 << 20) + 1).to_le_bytes()),
        ("other candidates", 4, &9u32.to_le_bytes()),
        ("no candidates", 4, &0u32.to_le_bytes()),
        ("more weights", 8, &u32::MAX.to_le_bytes()),
        ("no weights", 8, &0u32.to_le_bytes()),
        ("rules", 12, &[3]),
        ("no rules", 12, &[0]),
        ("kinds", 13, &[32 + 4]),
        ("whole texts with an encoder", 13, &[16 + 8 + 2 + 1]),
        ("no shortest run", 14, &[0]),
        ("a shortest run above the longest", 14, &[4]),
        ("the longest run", 15, &[9]),
        ("bits", 16, &[17]),
        ("other bits", 16, &[3]),
        ("shift", 17, &[64]),
        ("reserved", 18, &[1]),
        ("reserved", 19, &[1]),
        ("padding", 63, &[1]),
        ("a first bucket that starts late", 64, &[1]),
        ("buckets that fall", 68, &u32::MAX.to_le_bytes()),
        ("a last bucket too early", 80, &(rows - 1).to_le_bytes()),
        ("keys that are not ascending", 128, &[0xff, 0xff]),
    ] {
        assert!(with(at, bytes).is_err(), "{what}");
    }
    // In the bitmaps: bits of no candidate, and one weight more or less.
    let bitmaps = 128 + (2 * rows as usize).next_multiple_of(64);
    assert!(with(bitmaps + 1, &[0b100]).is_err());
    assert!(with(bitmaps, &[good[bitmaps] ^ 1]).is_err());
    let starts = bitmaps + (2 * rows as usize).next_multiple_of(64);
    assert_eq!(good[starts..starts + 4], [0; 4]);
    for start in 0..rows.div_ceil(16) as usize {
        let at = starts + 4 * start;
        let moved = with(at, &[good[at].wrapping_add(1)]);
        assert!(moved.is_err(), "start {start}");
    }
    let features = || (tag, good.clone());
    let reason = |sections: &[Section]| match Pack::parse(&pack(2, sections)) {
        Err(PackError::Section { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let needs = "has no features after it, which its kind needs";
    let alone = "has no scores before it that it adds to";
    assert_eq!(reason(&[featured()]), needs);
    assert_eq!(reason(&[features()]), alone);
    assert_eq!(reason(&[features(), featured()]), alone);
    for other in [Scoring::Graded(vec![0]), Scoring::Vote] {
        assert_eq!(reason(&[scores(other), features()]), alone);
    }
    let twice = [featured(), features(), features()];
    assert_eq!(reason(&twice), "appears twice");
}

/// Phrases that no sentence could contain, or that would be found twice, are refused.
#[test]
fn phrases_are_pairs_of_known_words_in_order() {
    let lexicon = LexiconParts::of_vectors(vec![vec![1], vec![2]], 0);
    let phrases = |pairs: Vec<[u16; 2]>| {
        let phrases = PhrasesParts {
            weights: vec![1; pairs.len()],
            vectors: vec![vec![5]; pairs.len()],
            pairs,
        };
        phrases.to_section()
    };
    let all = phrases(vec![[0, 0], [0, 1], [1, 0], [1, 1]]);
    let whole = pack(1, &[lexicon.to_section(), all]);
    assert_eq!(parse_and_use(&whole), Ok(()));
    let refused = |sections: &[Section], part| {
        let error = parse_and_use(&pack(1, sections)).expect_err("a bad section");
        assert!(error.to_string().contains(part), "{error}");
    };
    for (pairs, part) in [
        (vec![[0, 1], [0, 1]], "ascending"),
        (vec![[1, 0], [0, 1]], "ascending"),
        (vec![[0, 2]], "does not have"),
        (vec![[2, 0]], "does not have"),
        (vec![], "number of phrases is 0"),
    ] {
        refused(&[lexicon.to_section(), phrases(pairs)], part);
    }
    let one = phrases(vec![[0, 1]]);
    refused(&[one.clone(), lexicon.to_section()], "no lexicon before it");
    let pieces = LexiconParts {
        matching: 1,
        ..lexicon
    };
    refused(&[pieces.to_section(), one], "not matched by words");
}

/// Coordinates are integers within ±32767 times 2^exponent, also for a word vector of −128.
#[test]
fn extreme_word_vectors_stay_in_range() {
    let tiny = tiny_pack();
    let pack = Pack::parse(&tiny).expect("a pack");
    let lexicon = pack.lexicon().expect("a lexicon");
    let mut vector = [0.0];
    for (word, fixed) in [("dog", 127 * 256), ("the", -127 * 256 - 255)] {
        lexicon.sentence_vector(word, &mut vector).expect("one");
        assert_eq!(vector, [fixed as f32 / 256.0], "{word}");
    }
    // A phrase can weigh more than its words.
    let phrases = tiny_phrases_pack();
    let lexicon = Pack::parse(&phrases).expect("a pack").lexicon();
    for (words, fixed) in [
        ("dog the", 32_767),
        ("the dog", -32_767),
        ("dog dog", 32_587),
    ] {
        let lexicon = lexicon.expect("a lexicon");
        lexicon.sentence_vector(words, &mut vector).expect("one");
        assert_eq!(vector, [fixed as f32 / 256.0], "{words}");
    }
}

#[test]
fn means_are_rounded_to_nearest_with_ties_upwards() {
    let tiny = tiny_pack();
    let pack = Pack::parse(&tiny).expect("a pack");
    let lexicon = pack.lexicon().expect("a lexicon");
    let mut vector = [0.0];
    // 256·(511·127·a − 128·b) / (511·a + b) for a times "dog" and b times "the".
    for (a, b, fixed) in [
        (1, 1, 32_385),      // 32 384.5
        (1, 1_025, -11_050), // -11 050.5
        (1, 513, -192),      // -191.75
        (1, 2, 32_257),      // 32 257.24
    ] {
        let sentence = "dog ".repeat(a) + &"the ".repeat(b);
        lexicon
            .sentence_vector(&sentence, &mut vector)
            .expect("one");
        assert_eq!(vector, [fixed as f32 / 256.0], "{a} {b}");
    }
}

/// Sections are where the format requires them, and nothing is hidden between them.
#[test]
fn gaps_are_short_and_zero() {
    let content = vec![7; 5];
    let whole = pack(1, &[(*b"AAAA", content.clone()), (*b"BBBB", content)]);
    assert_eq!(parse_and_use(&whole), Ok(()));
    // Sections at 192 and 256, five bytes each; entries at 128 and 152.
    assert_eq!((whole[192], whole[196], whole[256]), (7, 7, 7));
    for gap in (176..192).chain(197..256) {
        let mut bytes = whole.clone();
        bytes[gap] = 1;
        repair_digest(&mut bytes);
        assert!(parse_and_use(&bytes).is_err(), "byte {gap}");
    }
    let variant = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        let length = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&length.to_le_bytes());
        repair_digest(&mut bytes);
        parse_and_use(&bytes)
    };
    assert_eq!(variant(&|_| ()), Ok(()));
    // A section 64 bytes late, one that starts inside its predecessor, one that starts in the
    // header, one off the grid, and bytes after the last one.
    let later = variant(&|bytes| {
        bytes[160..168].copy_from_slice(&320u64.to_le_bytes());
        bytes.splice(256..256, [0; 64]);
    });
    let moved =
        |offset: u64| variant(&move |bytes| bytes[160..168].copy_from_slice(&offset.to_le_bytes()));
    let moved = [192, 0, 257, u64::MAX - 63].map(moved);
    for refused in moved.into_iter().chain([later]) {
        assert!(matches!(refused, Err(PackError::Section { tag, .. }) if tag == *b"BBBB"));
    }
    let trailing = variant(&|bytes| bytes.push(0));
    let (end, found) = (261, 262);
    assert_eq!(trailing, Err(PackError::Trailing { end, found }));
}

/// The same checks inside a section.
#[test]
fn gaps_between_arrays_are_zero() {
    let tiny = tiny_pack();
    // The lexicon at 192: head 16 bytes, ends 8, weights 4, vectors 2.
    for gap in (192 + 16..192 + 64)
        .chain(192 + 72..192 + 128)
        .chain(192 + 132..192 + 192)
        .chain(192 + 194..192 + 256)
    {
        let mut bytes = tiny.clone();
        assert_eq!(bytes[gap], 0);
        bytes[gap] = 1;
        repair_digest(&mut bytes);
        assert!(parse_and_use(&bytes).is_err(), "byte {gap}");
    }
}

fn pack_of(candidates: usize) -> Vec<u8> {
    let p = 20;
    DepthParts {
        dimension: 64,
        exponent: 8,
        shift: 4,
        directions: vec![vec![100; 64]; p],
        boundaries: vec![(-127..=127).map(|i| i * 1000).collect(); p],
        codes: (0..p)
            .map(|j| (0..candidates).map(|r| (r * (j + 1)) as u8).collect())
            .collect(),
    }
    .to_pack()
}

/// The maximum number of candidates for the scores of a default document.
fn scores_of(candidates: usize) -> Vec<u8> {
    let weights = (0..candidates).map(|c| vec![c as i8; 64]).collect();
    let scoring = Scoring::Graded((0..16).map(|j| 1000 * j).collect());
    ScoreParts {
        exponent: 8,
        centre: vec![1; 64],
        bias: (0..candidates as i32).collect(),
        ..ScoreParts::of_heads(weights, scoring)
    }
    .to_pack()
}

/// Working memory does not grow with the number of candidates, and none of it is heap.
#[test]
fn documents_need_no_heap_whatever_the_candidates() {
    // 256 bytes a direction and a few pointers, for any pack.
    assert!(size_of::<Document<'_>>() <= 100 * 256 + 640);
    assert_eq!(
        size_of::<Document<'_, 1, 20>>(),
        size_of::<Document<'_, 255, 20>>()
    );
    let fixed = [pack_of(5_000), pack_of(50_000), scores_of(12_800)];
    for bytes in fixed.into_iter().chain(packs()) {
        let count = allocations(|| {
            let pack = Pack::parse(&bytes).expect("a pack");
            let mut document = Document::new(&pack).expect("candidates");
            let embedding = [0.25; 64];
            for rule in RULES {
                for _ in 0..5 {
                    let embedding = &embedding[..pack.dimension()];
                    document.push_encoded(b"the DOG", embedding).expect("room");
                    let _ = document.push_sentence("She isn’t in the GARDEN");
                }
                let grant = largest_grant(Unit::Sentence);
                let release = document.release(grant, rule, &mut FixedEntropy::new(&[7; 32]));
                assert!(release.is_ok());
            }
            let _ = document.push_sentence("She isn’t in the GARDEN");
            let grant = largest_grant(Unit::WholeText);
            let _ = document.release_whole_text(grant, &mut FixedEntropy::new(&[7; 32]));
            let grant = Grant::unrecorded(Unit::WholeText, "3".parse().expect("an epsilon"));
            let _ = document.release_projective(grant, &mut FixedEntropy::new(&[7; 32]));
            if let Ok(vocabulary) = Vocabulary::new(&pack) {
                use_words(&vocabulary);
            }
        });
        assert_eq!(count, 0, "{} bytes of pack", bytes.len());
        let count = allocations(|| {
            let pack = Pack::parse(&bytes).expect("a pack");
            let Some(projection) = pack.projection() else {
                return;
            };
            for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
                let mut out = [0; VectorRelease::bytes(1024)];
                let entropy = &mut FixedEntropy::new(&[7; 32]);
                let mechanism = VectorMechanism::projected(projection, 1, noise, Epsilon::MAX);
                let grant = largest_grant(Unit::Vector);
                mechanism
                    .and_then(|it| it.release(grant, &[0.25; 3], entropy, &mut out))
                    .expect("a projection of the tests");
            }
        });
        assert_eq!(count, 0, "a projection in {} bytes of pack", bytes.len());
    }
    // The counter works.
    assert!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))) > 0);
}

/// A parsed pack returns the written values; a malformed name or exponent is refused.
#[test]
fn a_pack_says_what_was_written() {
    const NAME: usize = 96;
    let projection = |exponent, bound_exponent| ProjectionParts {
        rows: vec![vec![3, 4]],
        exponent,
        bound_exponent,
    };
    let scores = ScoreParts::of_table(&[vec![1, 0], vec![0, 1]], 1);
    let mut bytes = pack(2, &[scores.to_section(), projection(-3, 5).to_section()]);
    let name = "encoder é";
    bytes[NAME..NAME + name.len()].copy_from_slice(name.as_bytes());
    repair_digest(&mut bytes);
    let parsed = Pack::parse(&bytes).expect("a pack");
    assert_eq!(parsed.id(), parsed.digest()[..8]);
    assert_eq!(&bytes[32..64], parsed.digest());
    assert_eq!(parsed.encoder_name(), name);
    assert_eq!(parsed.mechanism(), Some(Mechanism::Scores));
    let found = parsed.projection().expect("a projection");
    assert_eq!((found.exponent(), found.bound_exponent()), (-3, 5));
    let alone = projection(0, 0).to_pack();
    assert_eq!(Pack::parse(&alone).expect("a pack").mechanism(), None);

    for (exponent, bound) in [(1, 0), (-25, 0), (0, 25), (0, -25)] {
        let refused = Pack::parse(&projection(exponent, bound).to_pack()).err();
        let number = if exponent == 0 { bound } else { exponent };
        assert!(
            matches!(refused, Some(PackError::Exponent { found, .. }) if found == number),
            "{exponent} {bound}: {refused:?}"
        );
    }
    // Not UTF-8, and bytes after the zero that ends the name.
    for place in [NAME, NAME + 31] {
        let mut other = bytes.clone();
        other[place] = if place == NAME { 0xff } else { b'x' };
        repair_digest(&mut other);
        assert_eq!(Pack::parse(&other).err(), Some(PackError::EncoderName));
    }
}
