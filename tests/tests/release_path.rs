//! Releases draw by exactly the ε that they state.
//!
//! The exact laws and the audits are about `hazmat`, which draws with randomness as an argument. A
//! release draws its own key, so it could use another ε than its header holds. For one key the
//! outcome is a step function of ε. These tests find two neighbouring values of ε, a millionth
//! apart, between which `hazmat` changes its outcome, and demand both outcomes of the release: one
//! that is off by a millionth, or by a factor of 1.001, fails.
//!
//! Chance: false alarm none, miss none. The keys are fixed.

use std::fmt::Debug;
use std::num::NonZero;

use chacha20::ChaCha12Rng;
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::laplace::Noise;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::projective::Order;
use undertone_core::release::{BagRelease, DrawnBy, Release, VectorRelease, WordMechanism};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::{Rng, SeedableRng};
use undertone_core::select::{Ratio, SliceLevels};
use undertone_core::unit::Unit;
use undertone_core::vector::VectorMechanism;
use undertone_core::words::{Bag, Vocabulary};
use undertone_tests::documents::levels_of;
use undertone_tests::packs::{DepthParts, LexiconParts, ScoreParts};
use undertone_tests::{FixedEntropy, RULES, epsilon};

type Key = [u8; 32];

/// Compares `release` with `draw` on both sides of a step, for each of `keys` keys that has one.
fn compare<T: PartialEq + Debug>(
    name: &str,
    keys: usize,
    draw: impl Fn(Epsilon, ChaCha12Rng) -> T,
    release: impl Fn(Epsilon, &Key) -> T,
) {
    let mut rng = PublicRng::new(41);
    let mut steps = 0;
    for _ in 0..keys {
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        let drawn = |micro| draw(epsilon(micro), ChaCha12Rng::from_seed(key));
        // ε from 0.1 to 12.8, and four times as much.
        let mut below = (100_000 + rng.next_u32() % 100_000) << (rng.next_u32() % 7);
        let mut above = 4 * below;
        let (left, mut right) = (drawn(below), drawn(above));
        if left == right {
            continue;
        }
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            let found = drawn(middle);
            if found == left {
                below = middle;
            } else {
                (above, right) = (middle, found);
            }
        }
        assert_eq!(release(epsilon(below), &key), left, "{name} at {below}");
        assert_eq!(release(epsilon(above), &key), right, "{name} at {above}");
        steps += 1;
    }
    assert!(steps * 30 >= keys, "{name}: {steps} steps for {keys} keys");
}

/// Returns the outcome of a release after checking its header.
fn outcome(release: &Release, epsilon: Epsilon, drawn_by: impl Fn(DrawnBy) -> bool) -> u32 {
    assert_eq!(release.epsilon(), epsilon);
    assert!(drawn_by(release.drawn_by()), "{release:?}");
    release.number()
}

fn scores() -> Vec<u8> {
    let table = [[8, 5, 3, 0, 7, 6], [2, 4, 8, 1, 0, 5], [0, 1, 2, 3, 4, 8]];
    ScoreParts::of_table(&table.map(Vec::from), 8).to_pack()
}

fn depth() -> Vec<u8> {
    let boundaries = (0..255).map(|boundary| boundary - 127).collect();
    let parts = DepthParts {
        dimension: 2,
        exponent: 4,
        shift: 0,
        directions: vec![vec![1, 2], vec![-2, 1]],
        boundaries: vec![boundaries; 2],
        codes: vec![vec![10, 120, 128, 140, 200], vec![90, 110, 150, 128, 128]],
    };
    parts.to_pack()
}

fn with_sentences<'p>(pack: &Pack<'p>) -> Document<'p, 40, 8> {
    let mut document = Document::with_limits(pack).expect("candidates");
    let dimension = pack.dimension();
    for sentence in 0..7 {
        let at = |coordinate: usize| (sentence * (coordinate + 2) % 5) as f32;
        // For the pack with scores, each embedding is a row of its table.
        let coordinate = |i| match dimension {
            2 => at(i),
            _ => f32::from(i == sentence % 3),
        };
        let embedding: Vec<f32> = (0..dimension).map(coordinate).collect();
        document.push(&embedding).expect("room");
    }
    document
}

#[test]
fn sentence_rules_draw_by_the_epsilon_that_they_state() {
    for (name, bytes, steps) in [("depth", depth(), 1), ("scores", scores(), 8)] {
        let pack = Pack::parse(&bytes).expect("a pack");
        let document = with_sentences(&pack);
        let levels = levels_of(&document);
        let levels = SliceLevels {
            levels: &levels,
            bound: 160,
        };
        for rule in RULES {
            let drawn_by = move |found| match steps {
                1 => found == DrawnBy::Depth(rule),
                _ => found == DrawnBy::Scores(rule),
            };
            compare(
                &format!("{name}, {rule:?}"),
                1500,
                |epsilon, mut words| {
                    let ratio = Ratio::per_step(epsilon, NonZero::new(steps).expect("a step"));
                    hazmat::select::<160, _>(&levels, rule, ratio, &mut words).expect("candidates")
                },
                |epsilon, key| {
                    let grant = Grant::unrecorded(Unit::Sentence, epsilon);
                    let mut document = with_sentences(&pack);
                    let release = document.release(grant, rule, &mut FixedEntropy::new(key));
                    outcome(&release.expect("entropy"), epsilon, drawn_by)
                },
            );
        }
    }
}

#[test]
fn whole_text_releases_draw_by_the_epsilon_that_they_state() {
    let bytes = scores();
    let pack = Pack::parse(&bytes).expect("a pack");
    let document = with_sentences(&pack);
    compare(
        "whole text",
        1500,
        |epsilon, mut words| {
            hazmat::draw_whole_text(&document, epsilon, &mut words).expect("scores")
        },
        |epsilon, key| {
            let grant = Grant::unrecorded(Unit::WholeText, epsilon);
            let mut document = with_sentences(&pack);
            let release = document.release_whole_text(grant, &mut FixedEntropy::new(key));
            outcome(&release.expect("entropy"), epsilon, |found| {
                found == DrawnBy::WholeText
            })
        },
    );
    compare(
        "projective geometry",
        1500,
        |epsilon, mut words| {
            let drawn = hazmat::draw_projective(&document, epsilon, &mut words).expect("scores");
            (drawn.0.order(), drawn.1)
        },
        |epsilon, key| {
            let grant = Grant::unrecorded(Unit::WholeText, epsilon);
            let mut document = with_sentences(&pack);
            let release = document.release_projective(grant, &mut FixedEntropy::new(key));
            let release = release.expect("entropy");
            let point = outcome(&release, epsilon, |found| {
                matches!(found, DrawnBy::Projective(_))
            });
            (release.order().map_or(0, Order::number), point)
        },
    );
}

#[test]
fn bags_draw_by_the_epsilon_that_they_state() {
    const WORDS: u16 = 3;
    let vectors = (0..12)
        .map(|i| vec![20 * (i % 4), 15 * (i / 4), i])
        .collect();
    let bytes = LexiconParts::of_vectors(vectors, -9).to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    let filled = || {
        let mut bag = Bag::new(&vocabulary);
        for word in ["w00000", "w00004", "w00005"] {
            bag.push(word);
        }
        bag
    };
    let [flip, exponential] = RULES.map(WordMechanism::Selection);
    for mechanism in [flip, exponential, WordMechanism::LaplaceNearest] {
        compare(
            &format!("{mechanism:?}"),
            300,
            |epsilon, mut words| {
                let mut out = [0; WORDS as usize];
                hazmat::draw_bag(&filled(), mechanism, epsilon, &mut words, &mut out)
                    .expect("words");
                out.to_vec()
            },
            |epsilon, key| {
                let mut out = vec![0; BagRelease::bytes(WORDS)];
                let grant = Grant::unrecorded(Unit::Word, epsilon);
                let mut source = FixedEntropy::new(key);
                filled()
                    .release(WORDS, mechanism, grant, &mut source, &mut out)
                    .expect("words");
                let release = BagRelease::from_bytes(&out).expect("a release");
                let stated = (release.epsilon(), release.mechanism());
                assert_eq!(stated, (epsilon, mechanism));
                release.words().collect()
            },
        );
    }
}

#[test]
fn vectors_draw_by_the_epsilon_that_they_state() {
    let point = [0.25, -0.5, 0.75];
    for noise in [Noise::Laplace, Noise::DiscreteLaplace] {
        let mechanism = |epsilon| VectorMechanism::new(3, 0, noise, epsilon).expect("in range");
        compare(
            &format!("{noise:?}"),
            300,
            |epsilon, mut words| {
                let mut out = [0; 3];
                hazmat::draw_vector(&mechanism(epsilon), &point, &mut words, &mut out)
                    .expect("lengths");
                out.to_vec()
            },
            |epsilon, key| {
                let mut out = vec![0; VectorRelease::bytes(3)];
                let grant = Grant::unrecorded(Unit::Vector, epsilon);
                mechanism(epsilon)
                    .release(grant, &point, &mut FixedEntropy::new(key), &mut out)
                    .expect("entropy");
                let release = VectorRelease::from_bytes(&out).expect("a release");
                assert_eq!((release.epsilon(), release.noise()), (epsilon, noise));
                release.coordinates().collect()
            },
        );
    }
}
