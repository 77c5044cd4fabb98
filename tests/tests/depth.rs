//! Depth: the levels of a document against their definition, and the effect of one changed sentence
//! on levels and releases.

use proptest::collection::vec;
use proptest::prelude::*;
use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::Ratio;
use undertone_core::unit::Unit;
use undertone_tests::documents::{
    SentenceList, config, coordinate, insertions, levels_of, removals, replacements,
};
use undertone_tests::law::law;
use undertone_tests::packs::{DepthParts, naive_fixed};
use undertone_tests::{FixedEntropy, golden};

use crate::proof::RULES;

const MAX_DIRECTIONS: usize = 4;

/// Few sentences, so that documents exceed the limit; few directions, so that states are small.
type Small<'p> = Document<'p, 7, MAX_DIRECTIONS>;

/// Packs at the scale of the coordinates above (most of them), and packs of arbitrary values.
fn parts(candidates: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = DepthParts> {
    let dimension = prop_oneof![9 => 1usize..=5, 1 => 60usize..=140];
    let sizes = (dimension, 1usize..=MAX_DIRECTIONS, candidates);
    sizes.prop_flat_map(|(d, p, m)| {
        let tame = (
            0i32..=4,
            0u32..=2,
            vec(vec(-3i16..=3, d), p),
            // 255 boundaries over a small range: plenty of ties, in no order.
            vec(vec(-120i32..=120, 255), p),
            vec(vec(any::<u8>(), m), p),
        );
        let wild = (
            -24i32..=24,
            0u32..=31,
            vec(vec(any::<i16>(), d), p),
            vec(vec(any::<i32>(), 255), p),
            vec(vec(any::<u8>(), m), p),
        );
        prop_oneof![4 => tame.boxed(), 1 => wild.boxed()].prop_map(
            move |(exponent, shift, directions, boundaries, codes)| DepthParts {
                dimension: d,
                exponent,
                shift,
                directions,
                boundaries,
                codes,
            },
        )
    })
}

/// A pack, a document for it, and replacements for its sentences.
fn documents(
    candidates: std::ops::RangeInclusive<usize>,
    sentences: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = (DepthParts, SentenceList, SentenceList)> {
    parts(candidates).prop_flat_map(move |parts| {
        let sentence = || vec(coordinate(), parts.dimension);
        let lists = (vec(sentence(), sentences.clone()), vec(sentence(), 1..=4));
        lists.prop_map(move |(document, pool)| (parts.clone(), document, pool))
    })
}

fn levels(pack: &Pack<'_>, sentences: &[Vec<f32>]) -> Vec<u8> {
    let mut document = Small::with_limits(pack).expect("candidates");
    for sentence in sentences {
        document.push(sentence).expect("room");
    }
    levels_of(&document)
}

fn depths(pack: &Pack<'_>, sentences: &[Vec<f32>]) -> Vec<i32> {
    let half = (sentences.len() / 2) as i32;
    let levels = levels(pack, sentences).into_iter();
    levels.map(|level| half - i32::from(level)).collect()
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn levels_match_the_definition((parts, document, pool) in documents(1..=9, 0..=7)) {
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        prop_assert_eq!(levels(&pack, &document), parts.naive_levels(&document));
        prop_assert_eq!(levels(&pack, &pool), parts.naive_levels(&pool));
    }

    #[test]
    fn codes_match_the_definition((parts, document, _) in documents(1..=1, 1..=7)) {
        let bytes = parts.to_pack();
        let section = Pack::parse(&bytes).expect("a pack").depth().expect("candidates");
        for sentence in &document {
            let (mut sums, mut codes) = (vec![0; section.direction_count()], vec![0; section.direction_count()]);
            section.projections(None, sentence, &mut sums);
            section.codes_of(&sums, &mut codes);
            let codes: Vec<usize> = codes.into_iter().map(usize::from).collect();
            prop_assert_eq!(codes, parts.sentence_codes(sentence));
        }
    }

    /// A direction of weight 1 returns a coordinate as it is converted.
    #[test]
    fn coordinates_enter_rounded_to_even_and_clamped(
        exponent in -24i32..=24,
        // Any floats, and halves and quarters of small integers at this scale.
        floats in vec(coordinate(), 16),
        quarters in vec(-100_000i32..=100_000, 16),
        wide in any::<i64>(),
        shift in 0u32..=31,
    ) {
        let parts = DepthParts {
            dimension: 1,
            exponent,
            shift,
            directions: vec![vec![1]],
            boundaries: vec![vec![0; 255]],
            codes: vec![vec![0]],
        };
        let bytes = parts.to_pack();
        let section = Pack::parse(&bytes).expect("a pack").depth().expect("candidates");
        let quarters = quarters.into_iter().map(|n| n as f32 * 0.25 / 2f32.powi(exponent));
        for x in floats.into_iter().chain(quarters) {
            let mut sum = [0];
            section.projections(None, &[x], &mut sum);
            prop_assert_eq!(sum[0], naive_fixed(x.to_bits(), exponent), "{} {}", x, exponent);
        }
        let input = i128::from(wide).div_euclid(1 << shift);
        let input = input.clamp(i32::MIN.into(), i32::MAX.into());
        prop_assert_eq!(i128::from(section.bucket_input(wide)), input);
    }

    #[test]
    fn one_sentence_moves_depths_by_at_most_one((parts, document, pool) in documents(1..=9, 0..=6)) {
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let before = depths(&pack, &document);
        let moves = |after: Vec<i32>| -> Vec<i32> {
            after.iter().zip(&before).map(|(a, b)| a - b).collect()
        };
        for changed in replacements(&document, &pool) {
            let moves = moves(depths(&pack, &changed));
            prop_assert!(moves.iter().all(|step| (-1..=1).contains(step)), "{:?}", moves);
        }
        for longer in insertions(&document, &pool) {
            let moves = moves(depths(&pack, &longer));
            prop_assert!(moves.iter().all(|step| (0..=1).contains(step)), "{:?}", moves);
        }
        for shorter in removals(&document) {
            let moves = moves(depths(&pack, &shorter));
            prop_assert!(moves.iter().all(|step| (-1..=0).contains(step)), "{:?}", moves);
        }
    }
}

/// One candidate rises while the other falls, so the loss of documents, not only of levels, comes
/// near the bounds of `theorem`.
#[test]
fn the_bounds_are_nearly_attained_by_documents() {
    // Candidate 0 has three of six sentences above it and candidate 1 none.
    let bytes = DepthParts::on_one_direction(vec![100, 200]).to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    let ratio = Ratio::new(Epsilon::from_micro(10_000_000).expect("an epsilon"));
    for rule in RULES {
        let release = |projections: &[u8]| {
            let document: SentenceList = projections.iter().map(|p| vec![f32::from(*p)]).collect();
            law(&levels(&pack, &document), rule, ratio)
        };
        let document = release(&[50, 50, 50, 150, 150, 150]);
        let replaced = document.loss(&release(&[50, 50, 250, 150, 150, 150]));
        assert!((9.99..=10.0).contains(&replaced), "{rule:?}: {replaced}");
        let added = document.loss(&release(&[50, 50, 50, 150, 150, 150, 250]));
        assert!((4.99..=5.0).contains(&added), "{rule:?}: {added}");
    }
}

#[test]
fn a_full_document_refuses_and_keeps_its_state() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut document: Document<'_, 3, 7> = Document::with_limits(&pack).expect("candidates");
    let one = [0.25; 16];
    assert_eq!(
        document.push(&one[..15]),
        Err(DocumentError::Dimension {
            expected: 16,
            found: 15
        })
    );
    for _ in 0..3 {
        document.push(&one).expect("room");
    }
    let levels = levels_of(&document);
    assert_eq!(
        document.push(&[9.0; 16]),
        Err(DocumentError::Full { limit: 3 })
    );
    assert_eq!(
        document.push_sentence("tea"),
        Err(DocumentError::Full { limit: 3 })
    );
    assert_eq!(document.sentence_count(), 3);
    assert_eq!(levels_of(&document), levels);
    document.clear();
    assert_eq!(document.sentence_count(), 0);
    document.push_sentence("tea").expect("room again");
    assert_eq!(
        Document::<3, 6>::with_limits(&pack).map(|_| ()),
        Err(DocumentError::TooManyDirections { found: 7, limit: 6 })
    );
}

/// The largest and the smallest type of document count correctly up to their limits.
#[test]
fn counts_hold_up_to_every_limit() {
    let parts = DepthParts {
        directions: vec![vec![1], vec![-1]],
        boundaries: vec![(1..=255).collect(), (-255..0).collect()],
        codes: vec![(0..=255).collect(), (0..=255).rev().collect()],
        ..DepthParts::on_one_direction(Vec::new())
    };
    let bytes = parts.to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    let mut largest: Document<'_, 255, 2> = Document::with_limits(&pack).expect("candidates");
    let mut sentences = SentenceList::new();
    for k in 1..=255u8 {
        // First every sentence at the top, so that a count reaches 200, then anywhere.
        let value = if k <= 200 { 255 } else { k.wrapping_mul(37) };
        sentences.push(vec![f32::from(value)]);
        largest.push(&sentences[sentences.len() - 1]).expect("room");
        if k % 50 >= 49 || k == 255 {
            assert_eq!(levels_of(&largest), parts.naive_levels(&sentences), "{k}");
        }
    }
    let full = Err(DocumentError::Full { limit: 255 });
    assert_eq!(largest.push(&[0.0]), full);

    let mut smallest: Document<'_, 1, 2> = Document::with_limits(&pack).expect("candidates");
    for rule in RULES {
        smallest.push(&[1.0]).expect("room");
        assert_eq!(smallest.push(&[1.0]), Err(DocumentError::Full { limit: 1 }));
        assert_eq!(levels_of(&smallest), [0; 256]);
        let grant = Grant::unrecorded(Unit::Sentence, Epsilon::MAX);
        let released = smallest.release(grant, rule, &mut FixedEntropy::new(&[6; 32]));
        released.expect("entropy");
    }
}

/// The codes that a pack's writer computes equal those of a document.
#[test]
fn surplus_coordinates_count_as_zero() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let section = pack.depth().expect("candidates");
    let embedding: Vec<f32> = (0..70u8).map(|i| f32::from(i) / 16.0).collect();
    let mut exact = [0; 7];
    section.projections(None, &embedding[..16], &mut exact);
    for surplus in [17, 63, 64, 65, 70] {
        let mut sums = [-1; 9];
        section.projections(None, &embedding[..surplus], &mut sums);
        assert_eq!(sums[..7], exact, "{surplus} coordinates for 16");
        assert_eq!(sums[7..], [0, 0]);
    }
    let mut padded = embedding[..10].to_vec();
    padded.resize(16, 0.0);
    section.projections(None, &padded, &mut exact);
    let mut sums = [-1; 7];
    section.projections(None, &embedding[..10], &mut sums);
    assert_eq!(sums, exact);
}
