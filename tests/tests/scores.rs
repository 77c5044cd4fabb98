//! Scores and recoders: levels against their definitions, how they and the release move when one
//! sentence does, and what the parsers refuse.

use std::collections::HashMap;
use std::num::NonZero;

use chacha20::ChaCha12Rng;
use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use undertone_core::document::{Document, DocumentError};
use undertone_core::hazmat;
use undertone_core::kernels::Backend;
use undertone_core::ledger::Grant;
use undertone_core::pack::{Pack, PackError};
use undertone_core::release::Mechanism;
use undertone_core::rng::rand_core::{Rng, SeedableRng};
use undertone_core::rng::{PublicRng, below};
use undertone_core::scores::LEVELS;
use undertone_core::select::{Ratio, Rule, SliceLevels};
use undertone_core::unit::Unit;
use undertone_tests::documents::{
    SentenceList, config, coordinate, insertions, levels_of, removals, replacements,
};
use undertone_tests::exponential::{Bounds, exp};
use undertone_tests::law::{Law, law};
use undertone_tests::packs::{
    DepthParts, LayerParts, RecoderParts, ScoreParts, Scoring, Section, levels_below, pack,
};
use undertone_tests::{FixedEntropy, RULES, epsilon, golden, largest_grant};

/// Millionths, as ε is held.
const MICRO: u64 = 1_000_000;

/// Few sentences, so that documents exceed the limit; room for 512 candidates.
type Small<'p> = Document<'p, 7, 4>;

fn per_step(micro: u32, steps: u8) -> Ratio {
    Ratio::per_step(epsilon(micro), NonZero::new(steps).expect("a step"))
}

/// Integers of any size, extremes included.
fn extreme<T>(least: T, largest: T) -> impl Strategy<Value = T>
where
    T: Arbitrary + Clone + 'static,
{
    prop_oneof![2 => any::<T>(), 1 => Just(least), 1 => Just(largest)]
}

/// Recoders at the scale of the coordinates above (most of them), and arbitrary ones.
fn recoders(dimension: usize) -> impl Strategy<Value = RecoderParts> {
    vec(1usize..=6, 1..=4).prop_flat_map(move |widths| {
        let inputs = std::iter::once(dimension).chain(widths.clone());
        let shapes: Vec<(usize, usize)> = inputs.zip(widths.clone()).collect();
        let layers = |weight: BoxedStrategy<i16>, bias: BoxedStrategy<i64>, most: u32| {
            let layer = |(inputs, outputs): &(usize, usize)| {
                let weights = vec(vec(weight.clone(), *inputs), *outputs);
                let parts = (weights, vec(bias.clone(), *outputs), 0..=most);
                parts.prop_map(|(weights, bias, shift)| LayerParts {
                    weights,
                    bias,
                    shift,
                })
            };
            shapes.iter().map(layer).collect::<Vec<_>>()
        };
        let (weights, bias) = (extreme(i16::MIN, i16::MAX), extreme(i64::MIN, i64::MAX));
        prop_oneof![
            4 => (0i32..=4, layers((-9i16..=9).boxed(), (-50i64..=50).boxed(), 3)),
            1 => (-24i32..=24, layers(weights.boxed(), bias.boxed(), 62)),
        ]
        .prop_map(move |(exponent, layers)| RecoderParts {
            dimension,
            exponent,
            layers,
        })
    })
}

/// Heads at the scale of the coordinates above, and arbitrary ones, extremes included.
fn heads(
    dimension: usize,
    recoder: Option<RecoderParts>,
    candidates: usize,
) -> impl Strategy<Value = ScoreParts> {
    let inputs = recoder.as_ref().map_or(dimension, RecoderParts::width);
    let largest = prop_oneof![
        prop::sample::select(vec![1usize, 2, 5, 8, 16, 255]),
        1usize..=255
    ];
    let exponents = |range: std::ops::RangeInclusive<i32>| match &recoder {
        Some(_) => Just(0).boxed(),
        None => range.boxed(),
    };
    let tame = (
        exponents(0..=4),
        vec(-20i16..=20, inputs),
        vec(vec(-3i8..=3, inputs), candidates),
        vec(-900i32..=900, candidates),
        largest
            .clone()
            .prop_flat_map(|largest| vec(-900i32..=900, largest)),
    );
    let wild = (
        exponents(-24..=24),
        vec(extreme(i16::MIN, i16::MAX), inputs),
        vec(vec(extreme(i8::MIN, i8::MAX), inputs), candidates),
        vec(extreme(i32::MIN, i32::MAX), candidates),
        largest.prop_flat_map(|largest| vec(extreme(i32::MIN, i32::MAX), largest)),
    );
    (
        prop_oneof![3 => tame.boxed(), 1 => wild.boxed()],
        prop::bool::weighted(0.25),
        prop_oneof![2 => Just(LEVELS), 1 => Just(2), 1 => 3usize..LEVELS],
    )
        .prop_map(
            move |((exponent, centre, weights, bias, thresholds), vote, levels)| ScoreParts {
                levels,
                dimension,
                recoder: recoder.clone(),
                exponent,
                centre,
                weights,
                bias,
                scoring: if vote {
                    Scoring::Vote
                } else {
                    Scoring::Graded(thresholds)
                },
            },
        )
}

fn parts(candidates: impl Strategy<Value = usize> + 'static) -> impl Strategy<Value = ScoreParts> {
    let dimension = prop_oneof![9 => 1usize..=5, 1 => 60usize..=70];
    (dimension, candidates, any::<bool>()).prop_flat_map(|(d, m, recoded)| {
        let recoder = if recoded {
            recoders(d).prop_map(Some).boxed()
        } else {
            Just(None).boxed()
        };
        recoder.prop_flat_map(move |recoder| heads(d, recoder, m))
    })
}

/// A pack, a document for it, and replacements for its sentences.
fn documents(
    candidates: impl Strategy<Value = usize> + 'static,
    sentences: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = (ScoreParts, SentenceList, SentenceList)> {
    parts(candidates).prop_flat_map(move |parts| {
        let sentence = || vec(coordinate(), parts.dimension);
        let lists = (vec(sentence(), sentences.clone()), vec(sentence(), 1..=4));
        lists.prop_map(move |(document, pool)| (parts.clone(), document, pool))
    })
}

/// One, a few, and numbers around a block of the sums.
fn any_candidates() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 1usize..=9,
        1 => prop::sample::select(vec![127, 128, 129, 256, 257, 300]),
    ]
}

fn levels(pack: &Pack<'_>, sentences: &[Vec<f32>]) -> Vec<u8> {
    let mut document = Small::with_limits(pack).expect("candidates");
    for sentence in sentences {
        document.push(sentence).expect("room");
    }
    levels_of(&document)
}

/// Checks the steps of the proof for one more sentence: in unit step i the sums with a score of at
/// least i rise by one, and all levels move the same way by at most one.
fn check_unit_steps(
    levels: usize,
    sums: &[u64],
    scores: &[u8],
    largest: u8,
) -> Result<Vec<u8>, TestCaseError> {
    let mut before = levels_below(levels, sums);
    for step in 1..=u64::from(largest) {
        let raised = sums.iter().zip(scores);
        let raised: Vec<u64> = raised
            .map(|(sum, score)| sum + u64::from(*score).min(step))
            .collect();
        let after = levels_below(levels, &raised);
        let moves: Vec<i32> = after
            .iter()
            .zip(&before)
            .map(|(a, b)| i32::from(*a) - i32::from(*b))
            .collect();
        prop_assert!(
            moves.iter().all(|m| (0..=1).contains(m)) || moves.iter().all(|m| (-1..=0).contains(m)),
            "{moves:?} in step {step} of {sums:?} + {scores:?}"
        );
        before = after;
    }
    Ok(before)
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn levels_match_the_definition((parts, document, pool) in documents(any_candidates(), 0..=7)) {
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let section = pack.scores().expect("candidates");
        prop_assert_eq!(section.largest_score(), parts.largest_score());
        prop_assert_eq!(section.candidate_count() as usize, parts.bias.len());
        prop_assert_eq!(pack.candidate_count(), section.candidate_count());
        prop_assert_eq!(levels(&pack, &document), parts.naive_levels(&document));
        prop_assert_eq!(levels(&pack, &pool), parts.naive_levels(&pool));
        prop_assert_eq!(levels(&pack, &[]), vec![0; parts.bias.len()]);
    }

    /// The best outcome for the whole text is the same on every backend.
    #[test]
    fn best_outcomes_match_the_definition(
        (parts, document, pool) in documents(any_candidates(), 0..=7),
    ) {
        // 300 candidates take three rows for their sums and five for their values.
        type Wide<'p> = Document<'p, 7, 9>;
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        for backend in Backend::available() {
            let mut inside = Wide::with_limits(&pack).expect("candidates");
            hazmat::force_backend(&mut inside, backend);
            for sentences in [&document, &pool, &document] {
                for sentence in sentences {
                    inside.push(sentence).expect("room");
                }
                prop_assert_eq!(hazmat::best(&inside), Ok(parts.naive_best(sentences)));
                inside.clear();
                prop_assert_eq!(hazmat::best(&inside), Ok(parts.bias.len() as u32));
            }
        }
    }

    /// One sentence adds its scores to a document: the level of a candidate is the difference to
    /// the largest score.
    #[test]
    fn one_sentence_moves_levels_by_unit_steps(
        (parts, document, pool) in documents(1usize..=9, 0..=6),
    ) {
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let largest = parts.largest_score();
        let longer = insertions(&document, &pool).into_iter().map(|it| (document.clone(), it));
        let shorter = removals(&document).into_iter().map(|it| (it, document.clone()));
        for (sentences, longer) in longer.chain(shorter) {
            let (sums, raised) = (parts.naive_sums(&sentences), parts.naive_sums(&longer));
            let scores: Vec<u8> = sums
                .iter()
                .zip(&raised)
                .map(|(a, b)| u8::try_from(b - a).expect("a score"))
                .collect();
            prop_assert!(scores.iter().all(|score| *score <= largest));
            prop_assert_eq!(levels(&pack, &sentences), levels_below(parts.levels, &sums));
            let end = check_unit_steps(parts.levels, &sums, &scores, largest)?;
            prop_assert_eq!(levels(&pack, &longer), end);
        }
        // Exchanged: the same document without the sentence lies between the two.
        for changed in replacements(&document, &pool) {
            let before = parts.naive_sums(&document);
            let after = parts.naive_sums(&changed);
            let moved = before.iter().zip(&after).all(|(a, b)| a.abs_diff(*b) <= largest.into());
            prop_assert!(moved, "{before:?} {after:?}");
            prop_assert_eq!(levels(&pack, &changed), levels_below(parts.levels, &after));
        }
    }

    /// `Document::release` is `select` on these levels with the ratio for ε/Q and the words of
    /// ChaCha12, so the exact law of the levels is the law of the release.
    #[test]
    fn a_release_is_the_selection_from_its_levels(
        (parts, document, _) in documents(any_candidates(), 0..=7),
        key in any::<[u8; 32]>(),
        micro in prop_oneof![1u32..=1_000, 1_000u32..=30_000_000, 1u32..=1_000_000_000],
    ) {
        prop_assume!(key != [0; 32]);
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        for rule in RULES {
            let mut state = Small::with_limits(&pack).expect("candidates");
            for sentence in &document {
                state.push(sentence).expect("room");
            }
            let levels = levels_of(&state);
            let release = state
                .release(Grant::unrecorded(Unit::Sentence, epsilon(micro)), rule, &mut FixedEntropy::new(&key))
                .expect("entropy");
            let slice = SliceLevels { levels: &levels, bound: 160 };
            let mut words = ChaCha12Rng::from_seed(key);
            let ratio = per_step(micro, parts.largest_score());
            let drawn = hazmat::select::<160, _>(&slice, rule, ratio, &mut words);
            prop_assert_eq!(Ok(release.number()), drawn);
            prop_assert_eq!(release.pack_id(), pack.id());
            prop_assert_eq!(release.mechanism(), Mechanism::Scores);
            prop_assert_eq!(release.epsilon(), epsilon(micro));
            // The state is that of a new document.
            prop_assert_eq!(state.sentence_count(), 0);
            prop_assert_eq!(levels_of(&state), vec![0; parts.bias.len()]);
        }
    }

    #[test]
    fn recoders_match_the_definition(
        (parts, sentences) in (1usize..=5).prop_flat_map(|d| {
            (recoders(d), vec(vec(coordinate(), d), 1..=5))
        }),
        dirt in any::<i16>(),
    ) {
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let recoder = pack.recoder().expect("a recoder");
        prop_assert_eq!(recoder.width(), parts.width());
        let recode = |embedding: &[f32]| {
            let mut out = [dirt; 1024];
            recoder.recode(embedding, &mut out);
            out[..recoder.width()].iter().map(|x| i64::from(*x)).collect::<Vec<i64>>()
        };
        for sentence in sentences {
            let expected = parts.naive_recode(&sentence);
            prop_assert_eq!(recode(&sentence), &expected[..]);
            // Extra coordinates are ignored, missing ones count as 0.
            let mut longer = sentence.clone();
            longer.resize(1100, 7.0);
            prop_assert_eq!(recode(&longer), expected);
            let mut shorter = sentence.clone();
            shorter.truncate(parts.dimension / 2);
            let mut padded = shorter.clone();
            padded.resize(parts.dimension, 0.0);
            prop_assert_eq!(recode(&shorter), parts.naive_recode(&padded));
        }
    }

    /// Depth treats the output of a recoder as an embedding of integers.
    #[test]
    fn depth_behind_a_recoder_matches_the_definition(
        (recoder, directions, boundaries, codes, document) in
            (1usize..=5).prop_flat_map(recoders).prop_flat_map(|recoder| {
                let (d, n) = (recoder.dimension, recoder.width());
                (
                    Just(recoder),
                    vec(vec(-9i16..=9, n), 3),
                    vec(vec(-2000i32..=2000, 255), 3),
                    vec(vec(any::<u8>(), 5), 3),
                    vec(vec(coordinate(), d), 0..=7),
                )
            }),
    ) {
        let parts = DepthParts {
            dimension: recoder.width(),
            exponent: 0,
            shift: 1,
            directions,
            boundaries,
            codes,
        };
        let bytes = pack(recoder.dimension as u32, &[recoder.to_section(), parts.to_section()]);
        let recoded: SentenceList = document
            .iter()
            .map(|sentence| {
                let recoded = recoder.naive_recode(sentence);
                recoded.into_iter().map(|x| x as f32).collect()
            })
            .collect();
        let pack = Pack::parse(&bytes).expect("a pack");
        prop_assert_eq!(levels(&pack, &document), parts.naive_levels(&recoded));
        let section = pack.depth().expect("candidates");
        for (sentence, recoded) in document.iter().zip(&recoded) {
            let (mut sums, mut codes) = ([-1; 4], [0; 3]);
            section.projections(pack.recoder().as_ref(), sentence, &mut sums);
            section.codes_of(&sums[..3], &mut codes);
            prop_assert_eq!(codes.map(usize::from).to_vec(), parts.sentence_codes(recoded));
            prop_assert_eq!(sums[3], 0);
        }
    }
}

/// ε in millionths: extremes, and values of real releases. The first is below a micro-unit a step
/// for every Q above 1, the third for Q = 255.
const EPSILONS: [u32; 6] = [1, 5, 254, 1_000_000, 10_000_000, 1_000_000_000];

const LARGEST: [u8; 6] = [1, 2, 5, 8, 16, 255];

/// Laws by their levels, of which there are far fewer than documents.
struct Laws {
    rule: Rule,
    ratio: Ratio,
    known: HashMap<Vec<u8>, Law>,
}

impl Laws {
    fn new(rule: Rule, ratio: Ratio) -> Self {
        let known = HashMap::new();
        Self { rule, ratio, known }
    }

    fn of(&mut self, levels: &[u8]) -> Law {
        let known = self.known.entry(levels.to_vec());
        known
            .or_insert_with_key(|levels| law(levels, self.rule, self.ratio))
            .clone()
    }
}

/// The allowed loss between a document and its neighbours, for a claimed ε.
struct Claim {
    whole: Bounds,
    half: Bounds,
}

impl Claim {
    fn new(micro: u32) -> Self {
        Self {
            whole: exp(micro.into(), MICRO),
            half: exp(micro.into(), 2 * MICRO),
        }
    }

    /// Finds the neighbours of a document, given as kinds of sentences, that violate the claim.
    fn violations(
        &self,
        laws: &mut Laws,
        levels: &dyn Fn(&[usize]) -> Vec<u8>,
        document: &[usize],
        pool: &[usize],
    ) -> usize {
        let base = laws.of(&levels(document));
        let mut violations = 0;
        for changed in replacements(document, pool) {
            let other = laws.of(&levels(&changed));
            let range = laws.rule != Rule::Exponential || other.within_range(&base, &self.whole);
            violations += usize::from(!range || !other.within_factor(&base, &self.whole));
        }
        for changed in [insertions(document, pool), removals(document)].concat() {
            let other = laws.of(&levels(&changed));
            violations += usize::from(!other.within_factor(&base, &self.half));
        }
        violations
    }
}

/// Scores of 6 kinds of sentences: random ones, and those that move a sum by the maximum.
fn table(rng: &mut PublicRng, candidates: usize, largest: u8) -> Vec<Vec<u8>> {
    let mut table: Vec<Vec<u8>> = (0..4)
        .map(|_| {
            let scores = (0..candidates).map(|_| match rng.next_u32() % 4 {
                0 => 0,
                1 => largest,
                2 => largest - 1,
                _ => below(rng, u128::from(largest) + 1) as u8,
            });
            scores.collect()
        })
        .collect();
    // All for the first candidate, and all for the others.
    table.push(vec![0; candidates]);
    table[4][0] = largest;
    table.push(vec![largest; candidates]);
    table[5][0] = 0;
    table
}

/// The levels of the code for documents over a table of scores.
fn documents_over(parts: &ScoreParts) -> impl Fn(&[usize]) -> Vec<u8> {
    let (parts, bytes) = (parts.clone(), parts.to_pack());
    move |kinds| {
        let sentences: SentenceList = kinds.iter().map(|kind| parts.one_hot(*kind)).collect();
        levels(&Pack::parse(&bytes).expect("a pack"), &sentences)
    }
}

/// The theorem, end to end and without tolerance: from pack, sentences and levels to the exact laws
/// of the releases of all neighbours.
#[test]
fn no_neighbour_exceeds_epsilon() {
    let mut rng = PublicRng::new(0x7e57_3002);
    let rounds = if undertone_tests::soak() { 40 } else { 2 };
    let pool = [0, 1, 2, 3, 4, 5];
    for largest in LARGEST {
        for round in 0..rounds {
            // Permute-and-flip enumerates the coins, so few instances have many candidates.
            let candidates = if round == 0 {
                2
            } else {
                1 + below(&mut rng, 6) as usize
            };
            let parts = ScoreParts::of_table(&table(&mut rng, candidates, largest), largest);
            let levels = documents_over(&parts);
            let drawn: Vec<Vec<usize>> = (0..3)
                .map(|_| {
                    let k = below(&mut rng, 5);
                    (0..k).map(|_| below(&mut rng, 6) as usize).collect()
                })
                .chain([vec![4; 4], vec![5; 3], vec![4, 5, 4], vec![]])
                .collect();
            for micro in EPSILONS {
                let claim = Claim::new(micro);
                for rule in RULES {
                    let mut laws = Laws::new(rule, per_step(micro, largest));
                    for document in &drawn {
                        let found = claim.violations(&mut laws, &levels, document, &pool);
                        assert_eq!(found, 0, "{rule:?} {micro} Q = {largest} {document:?}");
                    }
                }
            }
        }
    }
}

/// Every document of two sentences and every table, for the smallest sizes.
#[test]
fn no_neighbour_exceeds_epsilon_over_all_scores() {
    for (candidates, largest) in [(2usize, 3u8), (3, 2), (3, 1)] {
        let rows = usize::from(largest) + 1;
        let table: Vec<Vec<u8>> = (0..rows.pow(candidates as u32))
            .map(|n| {
                (0..candidates)
                    .map(|c| (n / rows.pow(c as u32) % rows) as u8)
                    .collect()
            })
            .collect();
        let all: Vec<usize> = (0..table.len()).collect();
        let parts = ScoreParts::of_table(&table, largest);
        let coded = documents_over(&parts);
        // Each kind is parsed once, then summed.
        for kind in &all {
            let sums: Vec<u64> = table[*kind].iter().map(|q| u64::from(*q)).collect();
            assert_eq!(coded(&[*kind]), levels_below(LEVELS, &sums));
        }
        let summed = |kinds: &[usize]| {
            let sum = |c: usize| kinds.iter().map(|kind| u64::from(table[*kind][c])).sum();
            levels_below(LEVELS, &(0..candidates).map(sum).collect::<Vec<u64>>())
        };
        for micro in [largest.into(), 1_000_000] {
            let claim = Claim::new(micro);
            for rule in RULES {
                let mut laws = Laws::new(rule, per_step(micro, largest));
                for first in &all {
                    let pairs = [vec![], vec![*first], vec![*first, all.len() - 1 - *first]];
                    for document in pairs {
                        assert_eq!(claim.violations(&mut laws, &summed, &document, &all), 0);
                    }
                }
            }
        }
    }
}

/// The tests can fail: they find a division by a Q that is too small by one.
#[test]
fn an_epsilon_that_is_divided_by_too_little_is_caught() {
    for largest in [2u8, 5, 16, 255] {
        let parts = ScoreParts::of_table(&[vec![largest, 0], vec![0, largest]], largest);
        let levels = documents_over(&parts);
        let micro = 100_000;
        for rule in RULES {
            let mut laws = Laws::new(rule, per_step(micro, largest - 1));
            let claim = Claim::new(micro);
            // Far from the cap, and where the first candidate leads by less than the cap.
            let found = claim.violations(&mut laws, &levels, &[], &[0, 1])
                + claim.violations(&mut laws, &levels, &[0], &[0, 1]);
            // With 255 scores a step reaches the cap of levels, and the loss stays below ε.
            assert_eq!(found > 0, largest < 200, "{rule:?} Q = {largest}");
        }
    }
}

/// One candidate rises while the other falls, so the loss of documents comes near the bounds.
#[test]
fn the_bounds_are_nearly_attained_by_documents() {
    for largest in [1u8, 2, 8, 16] {
        let parts = ScoreParts::of_table(&[vec![largest, 0], vec![0, largest]], largest);
        let levels = documents_over(&parts);
        for rule in RULES {
            let ratio = per_step(10_000_000, largest);
            let release = |kinds: &[usize]| law(&levels(kinds), rule, ratio);
            let document = release(&[0, 0, 0]);
            let replaced = document.loss(&release(&[0, 0, 1]));
            let added = document.loss(&release(&[0, 0, 0, 1]));
            let nearly = (9.9..=10.0).contains(&replaced) && (4.95..=5.0).contains(&added);
            assert!(nearly, "{rule:?} {largest}: {replaced} {added}");
        }
    }
}

/// ε/steps is rounded down to micro-units; below one, all levels except the best weigh the same.
#[test]
fn a_step_gets_its_share_of_epsilon() {
    for steps in 1..=255u8 {
        for micro in [1, 2, 254, 255, 256, 1_000_000, 12_345_678, 1_000_000_000] {
            let share = micro / u32::from(steps);
            let ratio = per_step(micro, steps);
            if share > 0 {
                assert_eq!(ratio, Ratio::new(epsilon(share)), "{micro} / {steps}");
                continue;
            }
            assert_eq!(ratio.constant(), u64::MAX);
            for (rule, other) in [(RULES[0], (1 << 64) - 1), (RULES[1], 1 << 48)] {
                let mut weights = ratio.weights(rule).take(300);
                assert_eq!(weights.next(), Some(rule.first_weight()));
                assert!(weights.all(|weight| weight == other));
            }
        }
    }
}

/// Then any two lists of levels are within (1 − 2⁻⁶⁴)⁻² of each other without the draws, and within
/// e^(2⁻⁶⁰) with them, which is within e^(ε/2) for the least ε.
#[test]
fn shares_below_a_micro_unit_cost_next_to_nothing() {
    let mut rng = PublicRng::new(0x7e57_3004);
    let ratio = per_step(1, 2);
    let least = exp(1, 2 * MICRO);
    let stated = exp(1, 1 << 60);
    for rule in RULES {
        for m in 1..=6 {
            let mut lists: Vec<Vec<u8>> = vec![vec![0; m]];
            for c in 0..m {
                lists.push((0..m).map(|r| if r == c { 0 } else { 159 }).collect());
                lists.push((0..m).map(|r| if r == c { 1 } else { 0 }).collect());
            }
            for _ in 0..4 {
                lists.push((0..m).map(|_| below(&mut rng, 160) as u8).collect());
            }
            let laws: Vec<Law> = lists
                .iter()
                .map(|levels| law(levels, rule, ratio))
                .collect();
            let below_one = BigUint::from(u64::MAX);
            for a in &laws {
                for b in &laws {
                    assert!(a.within_factor(b, &least));
                    assert!(a.within_factor(b, &stated));
                    for (p, q) in a.numerators.iter().zip(&b.numerators) {
                        let (left, right) = (p * &below_one * &below_one, q << 128u32);
                        // Relative 2⁻¹⁰⁰ for the draws.
                        assert!(left.clone() << 100u32 <= (right.clone() << 100u32) + right);
                    }
                }
            }
        }
    }
    // The smallest ε still favours the best candidate.
    assert_ne!(law(&[0, 1], RULES[0], ratio), law(&[1, 0], RULES[0], ratio));
}

/// 255 sentences of 255 each: the sums are at their maximum, and levels are capped.
#[test]
fn sums_hold_up_to_every_limit() {
    let table = [
        vec![255, 255, 0, 255, 254, 255],
        vec![255, 100, 0, 96, 255, 97],
    ];
    let parts = ScoreParts::of_table(&table, 255);
    let bytes = parts.to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    let mut document: Document<'_, 255, 1> = Document::with_limits(&pack).expect("candidates");
    let mut sentences = SentenceList::new();
    for k in 0..255 {
        let kind = usize::from(k == 100);
        document.push(&parts.one_hot(kind)).expect("room");
        sentences.push(parts.one_hot(kind));
        if k % 50 == 4 {
            assert_eq!(levels_of(&document), parts.naive_levels(&sentences), "{k}");
        }
    }
    assert_eq!(parts.naive_sums(&sentences)[0], 65_025);
    assert_eq!(levels_of(&document), [0, 155, 159, 159, 159, 158]);
    assert_eq!(
        document.push(&parts.one_hot(0)),
        Err(DocumentError::Full { limit: 255 })
    );
    let grant = largest_grant(Unit::Sentence);
    let release = document.release(grant, RULES[1], &mut FixedEntropy::new(&[3; 32]));
    // ε/255 a level is about 4: the others are further than 500 away.
    assert_eq!(release.map(|release| release.number()), Ok(0));
    assert_eq!(levels_of(&document), [0; 6]);
}

/// Votes of equal heads go to the first; the order of thresholds does not matter, and a repeated
/// threshold counts repeatedly.
#[test]
fn ties_and_repeated_thresholds() {
    let weights = vec![vec![1, 0], vec![0, 1], vec![1, 0], vec![-1, -1]];
    let mut parts = ScoreParts::of_heads(weights, Scoring::Vote);
    parts.centre = vec![10, -10];
    let scores = |parts: &ScoreParts, sentence: [f32; 2]| {
        let bytes = parts.to_pack();
        let levels = levels(&Pack::parse(&bytes).expect("a pack"), &[sentence.to_vec()]);
        assert_eq!(levels, parts.naive_levels(&[sentence.to_vec()]));
        levels
    };
    assert_eq!(scores(&parts, [15.0, -10.0]), [0, 1, 1, 1]);
    assert_eq!(scores(&parts, [15.0, -5.0]), [0, 1, 1, 1]);
    assert_eq!(scores(&parts, [14.0, -5.0]), [1, 0, 1, 1]);
    assert_eq!(scores(&parts, [f32::NAN, -20.0]), [1, 1, 1, 0]);
    // The biases decide at the centre.
    assert_eq!(scores(&parts, [10.0, -10.0]), [0, 1, 1, 1]);
    parts.bias = vec![-1, 0, 3, 3];
    assert_eq!(scores(&parts, [10.0, -10.0]), [1, 1, 0, 1]);
    // Off it, with y = (3, 4) and norm 5, outputs 256·(3, 4, 3, -7) + 5·bias.
    parts.bias = vec![0, 0, 256, 0];
    parts.scoring = Scoring::Graded(vec![204, -400, 154, 153, 153, i32::MIN, i32::MAX]);
    // In thresholds, z/5 is 153.6, 204.8, 409.6, -358.4.
    assert_eq!(scores(&parts, [13.0, -6.0]), [2, 0, 0, 4]);
}

#[test]
fn a_pack_with_depth_and_scores_releases_by_scores() {
    let scores = ScoreParts::of_table(&[vec![2, 0, 1]], 2);
    let depth = DepthParts {
        dimension: 1,
        exponent: 0,
        shift: 0,
        directions: vec![vec![1]; 2],
        boundaries: vec![vec![0; 255]; 2],
        codes: vec![vec![0; 200]; 2],
    };
    for sections in [
        [scores.to_section(), depth.to_section()],
        [depth.to_section(), scores.to_section()],
    ] {
        let bytes = pack(1, &sections);
        let pack = Pack::parse(&bytes).expect("a pack");
        assert!(pack.depth().is_some() && pack.scores().is_some());
        assert_eq!(pack.candidate_count(), 3);
        // Memory for one direction would do for three candidates, but not for the two directions.
        let mut document: Document<'_, 3, 1> = Document::with_limits(&pack).expect("room");
        document.push(&[1.0]).expect("room");
        assert_eq!(levels_of(&document), [0, 2, 1]);
        let grant = largest_grant(Unit::Sentence);
        let release = document.release(grant, RULES[0], &mut FixedEntropy::new(&[1; 32]));
        let release = release.expect("entropy");
        assert_eq!(release.mechanism(), Mechanism::Scores);
        assert_eq!(release.number(), 0);
        assert_eq!(release.to_bytes()[4], 2);
    }
    // The golden pack has depth only.
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut document = Document::new(&pack).expect("candidates");
    let grant = largest_grant(Unit::Sentence);
    let release = document.release(grant, RULES[0], &mut FixedEntropy::new(&[1; 32]));
    assert_eq!(release.map(|r| r.mechanism()), Ok(Mechanism::Depth));
}

#[test]
fn more_candidates_than_the_state_holds_are_refused() {
    for m in [1, 128, 129, 256, 257, 300] {
        let parts = ScoreParts::of_table(&[vec![1; m]], 1);
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let found = m as u32;
        let refused = |limit| Err(DocumentError::TooManyCandidates { found, limit });
        let small = Document::<3, 1>::with_limits(&pack).map(|_| ());
        assert_eq!(small, if m > 128 { refused(128) } else { Ok(()) });
        let middle = Document::<3, 2>::with_limits(&pack).map(|_| ());
        assert_eq!(middle, if m > 256 { refused(256) } else { Ok(()) });
        assert!(Document::<3, 3>::with_limits(&pack).is_ok());
    }
    let (found, limit) = (300, 128);
    let error = DocumentError::TooManyCandidates { found, limit };
    assert!(error.to_string().contains("300 candidates"));
}

/// The error of a pack whose only section has these bytes at `at`.
fn refusal(section: &Section, at: usize, bytes: &[u8]) -> Option<PackError> {
    let mut changed = section.clone();
    changed.1[at..at + bytes.len()].copy_from_slice(bytes);
    Pack::parse(&pack(2, &[changed])).err()
}

fn field(name: &'static str, found: u64, least: u64, most: u64) -> PackError {
    PackError::Field {
        name,
        found,
        least,
        most,
    }
}

/// Checks that a field of `size` bytes at `at` refuses these numbers, and the largest of all.
fn check_field(
    section: &Section,
    (at, size): (usize, usize),
    (name, least, most): (&'static str, u64, u64),
    numbers: &[u64],
) {
    let largest = u64::MAX >> (64 - 8 * size);
    for number in numbers.iter().copied().chain([largest]) {
        let found = refusal(section, at, &number.to_le_bytes()[..size]);
        assert_eq!(found, Some(field(name, number, least, most)));
    }
}

/// Checks the range of an exponent at `at`.
fn check_exponent(section: &Section, at: usize) {
    for found in [-24, 24, -25, 25, i32::MIN, i32::MAX] {
        let (least, most) = (-24, 24);
        let error = PackError::Exponent { found, least, most };
        let expected = (!(least..=most).contains(&found)).then_some(error);
        assert_eq!(refusal(section, at, &found.to_le_bytes()), expected);
    }
}

/// Checks that a section with a head of `head` bytes is refused if it is cut, too long, repeated,
/// or has a byte other than 0 at `padding`.
fn check_lengths(section: &Section, head: usize, padding: usize) {
    let expect = |sections: &[Section], reason| {
        let error = PackError::Section {
            tag: section.0,
            reason,
        };
        assert_eq!(Pack::parse(&pack(2, sections)).err(), Some(error));
    };
    for length in 0..section.1.len() {
        let cut = (section.0, section.1[..length].to_vec());
        let reason = if length < head {
            "is too short for its head"
        } else {
            TOO_SHORT
        };
        expect(&[cut], reason);
    }
    let mut longer = section.clone();
    longer.1.push(0);
    expect(&[longer], TOO_LONG);
    let mut padded = section.clone();
    padded.1[padding] = 1;
    expect(&[padded], "has padding that is not zero");
    expect(&[section.clone(), section.clone()], "appears twice");
}

const TOO_SHORT: &str = "is too short for its arrays";
const TOO_LONG: &str = "is longer than its arrays";

#[test]
fn fields_of_scores_outside_their_ranges_are_refused() {
    let graded = ScoreParts::of_table(&[vec![1, 0, 2], vec![2, 2, 2]], 2).to_section();
    let vote = ScoreParts {
        scoring: Scoring::Vote,
        ..ScoreParts::of_table(&[vec![1, 0], vec![1, 1]], 1)
    }
    .to_section();
    let tag = *b"SCOR";
    let malformed = |reason| Some(PackError::Section { tag, reason });
    for section in [&graded, &vote] {
        check_field(
            section,
            (0, 4),
            ("number of candidates", 1, 65_536),
            &[0, 65_537],
        );
        // Allowed, but missing.
        let most = 65_536u32.to_le_bytes();
        assert_eq!(refusal(section, 0, &most), malformed(TOO_SHORT));
        check_field(section, (4, 2), ("kind of scores", 1, 7), &[0, 8]);
        assert_eq!(
            refusal(section, 4, &[4]),
            malformed("has the unknown kind 4")
        );
        // Without "nothing known" one candidate is no choice.
        let mut without = section.clone();
        without.1[4] |= 4;
        let bytes = pack(2, &[without.clone()]);
        let found = Pack::parse(&bytes).expect("two candidates or three");
        assert!(!found.has_nothing_known());
        assert_eq!(found.outcomes(), found.candidate_count());
        let name = "number of candidates without \"nothing known\"";
        let one = field(name, 1, 2, 65_536);
        assert_eq!(refusal(&without, 0, &[1]), Some(one));
        check_exponent(section, 8);
        check_field(
            section,
            (12, 4),
            ("number of levels", 2, 160),
            &[1, 161, 256],
        );
        for levels in [0u32, 2, 40, 160] {
            let mut changed = section.clone();
            changed.1[12..16].copy_from_slice(&levels.to_le_bytes());
            let bytes = pack(2, &[changed]);
            let scores = Pack::parse(&bytes).expect("allowed levels").scores();
            let expected = if levels == 0 { 160 } else { levels as usize };
            assert_eq!(scores.expect("scores").level_count(), expected);
        }
        check_lengths(section, 16, 63);
    }
    check_field(&graded, (6, 2), ("largest score", 1, 255), &[0, 256]);
    // One threshold less than the section has, and one more.
    assert_eq!(refusal(&graded, 6, &[1]), malformed(TOO_LONG));
    assert_eq!(refusal(&graded, 6, &[3]), malformed(TOO_SHORT));
    check_field(&vote, (6, 2), ("largest score", 1, 1), &[0, 2, 255]);
    // As wide as allowed, and wider.
    let wide = |d| {
        let pack = ScoreParts::of_heads(vec![vec![1; d]; 2], Scoring::Vote).to_pack();
        Pack::parse(&pack).err()
    };
    assert_eq!(wide(1024), None);
    let name = "number of coordinates that are scored";
    for d in [1025, 4096] {
        assert_eq!(wide(d), Some(field(name, d as u64, 1, 1024)));
    }
}

/// A recoder from 2 coordinates through 3 to 1.
fn small_recoder() -> RecoderParts {
    RecoderParts {
        dimension: 2,
        exponent: 3,
        layers: vec![
            LayerParts {
                weights: vec![vec![1, -1], vec![2, 0], vec![0, 3]],
                bias: vec![5, -5, i64::MAX],
                shift: 1,
            },
            LayerParts {
                weights: vec![vec![1, 2, 3]],
                bias: vec![-7],
                shift: 0,
            },
        ],
    }
}

#[test]
fn fields_of_recoders_outside_their_ranges_are_refused() {
    let section = small_recoder().to_section();
    assert_eq!(refusal(&section, 0, &[]), None);
    check_field(
        &section,
        (0, 4),
        ("number of recoder layers", 1, 4),
        &[0, 5],
    );
    check_exponent(&section, 4);
    for layer in 0..4 {
        let (width, shift) = (8 + 4 * layer, 24 + 4 * layer);
        if layer < 2 {
            check_field(
                &section,
                (width, 4),
                ("width of a recoder layer", 1, 1024),
                &[0, 1025],
            );
            let (tag, reason) = (*b"RCOD", TOO_SHORT);
            let missing = Some(PackError::Section { tag, reason });
            assert_eq!(refusal(&section, width, &1024u32.to_le_bytes()), missing);
            check_field(
                &section,
                (shift, 4),
                ("shift of a recoder layer", 0, 62),
                &[63, 64],
            );
            assert_eq!(refusal(&section, shift, &[62]), None);
        } else {
            check_field(
                &section,
                (width, 4),
                ("width of a missing recoder layer", 0, 0),
                &[1],
            );
            check_field(
                &section,
                (shift, 4),
                ("shift of a missing recoder layer", 0, 0),
                &[1],
            );
        }
    }
    // One layer less: its width and shift must go too. One more: it has no width.
    let error = |name, found, least, most| Some(field(name, found, least, most));
    let less = error("width of a missing recoder layer", 1, 0, 0);
    assert_eq!(refusal(&section, 0, &[1]), less);
    let more = error("width of a recoder layer", 0, 1, 1024);
    assert_eq!(refusal(&section, 0, &[3]), more);
    check_field(&section, (40, 4), ("reserved recoder field", 0, 0), &[1]);
    check_lengths(&section, 44, 44);
    // As wide as allowed on either side, and wider.
    let wide = |d: usize, outputs: usize| {
        let layer = LayerParts {
            weights: vec![vec![1; d]; outputs],
            bias: vec![0; outputs],
            shift: 0,
        };
        let recoder = RecoderParts {
            dimension: d,
            exponent: 0,
            layers: vec![layer],
        };
        Pack::parse(&recoder.to_pack()).err()
    };
    assert_eq!((wide(1024, 2), wide(2, 1024)), (None, None));
    for d in [1025, 4096] {
        assert_eq!(
            wide(d, 2),
            error("number of recoder inputs", d as u64, 1, 1024)
        );
    }
}

/// A recoder precedes its candidates, whose exponents are 0.
#[test]
fn sections_and_recoders_stand_in_order() {
    let recoder = small_recoder().to_section();
    let scores = |inputs: usize, exponent: i32| {
        ScoreParts {
            exponent,
            ..ScoreParts::of_table(&vec![vec![1, 0]; inputs], 1)
        }
        .to_section()
    };
    let depth = |inputs: usize, exponent: i32| {
        DepthParts {
            dimension: inputs,
            exponent,
            shift: 0,
            directions: vec![vec![1; inputs]],
            boundaries: vec![vec![0; 255]],
            codes: vec![vec![1, 2]],
        }
        .to_section()
    };
    let parse = |sections: &[Section]| Pack::parse(&pack(2, sections)).map(|_| ());
    assert_eq!(parse(&[recoder.clone(), scores(1, 0), depth(1, 0)]), Ok(()));
    assert_eq!(parse(&[recoder.clone(), depth(1, 0), scores(1, 0)]), Ok(()));
    assert_eq!(parse(&[scores(2, 5), depth(2, -5)]), Ok(()));
    let behind = Err(PackError::Section {
        tag: *b"RCOD",
        reason: "comes after a section that it recodes for",
    });
    assert_eq!(parse(&[scores(2, 0), recoder.clone()]), behind);
    assert_eq!(parse(&[depth(2, 0), recoder.clone()]), behind);
    assert_eq!(parse(&[depth(2, 0), scores(2, 0), recoder.clone()]), behind);
    for found in [-24, -1, 1, 24] {
        let refused = Err(PackError::Exponent {
            found,
            least: 0,
            most: 0,
        });
        assert_eq!(parse(&[recoder.clone(), scores(1, found)]), refused);
        assert_eq!(parse(&[recoder.clone(), depth(1, found)]), refused);
    }
    // The size is that of the embedding, not of the recoder's output.
    for section in [scores(2, 0), depth(2, 0)] {
        let refused = parse(&[recoder.clone(), section.clone()]);
        assert!(matches!(refused, Err(PackError::Section { tag, .. }) if tag == section.0));
    }
    // A recoder alone selects nothing.
    let bytes = pack(2, &[recoder]);
    let alone = Pack::parse(&bytes).expect("a pack");
    assert_eq!(alone.candidate_count(), 0);
    assert_eq!(
        Document::<3, 3>::with_limits(&alone).map(|_| ()),
        Err(DocumentError::NoCandidates)
    );
}

/// Sums are stored in full: a candidate that is beyond the range of levels catches up as if no
/// level were capped. (Capping after each sentence would cost more than ε/2 a sentence.)
#[test]
fn levels_are_capped_when_they_are_read() {
    for levels in [2, 5, LEVELS] {
        let parts = ScoreParts {
            levels,
            ..ScoreParts::of_table(&[vec![8, 0, 1], vec![0, 8, 1]], 8)
        };
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let kind = |kind: usize| [0, 1].map(|other| f32::from(kind == other)).to_vec();
        let sentences: SentenceList = (0..60).map(|i| kind(usize::from(i >= 32))).collect();
        let mut singly: Document<'_> = Document::new(&pack).expect("candidates");
        for pushed in 1..=sentences.len() {
            let sums = parts.naive_sums(&sentences[..pushed]);
            let expected = levels_below(levels, &sums);
            singly.push(&sentences[pushed - 1]).expect("room");
            assert_eq!(levels_of(&singly), expected, "{pushed} of {levels} levels");
            let mut together: Document<'_> = Document::new(&pack).expect("candidates");
            let added = together.push_all(&sentences[..pushed].concat());
            assert_eq!(added, Ok(pushed));
            assert_eq!(
                levels_of(&together),
                expected,
                "{pushed} of {levels} levels"
            );
        }
    }
}
