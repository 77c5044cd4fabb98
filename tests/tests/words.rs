//! Private words: the exact law of a selection, levels, nearest words, and bags.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use proptest::prelude::*;
use undertone_audit::sampled::statistics::g_test;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, LaplaceError, Sensitivity};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::{BagRelease, ReleaseFormatError};
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Levels, Ratio, Rule, SliceLevels};
use undertone_core::unit::Unit;
use undertone_core::words::{Bag, LEVELS, MAX_BAG_SIZE, Vocabulary, WordMechanism, WordsError};
use undertone_tests::documents::config;
use undertone_tests::exponential::{Bounds, exp};
use undertone_tests::law::{Law, law};
use undertone_tests::packs::{LexiconParts, pack};
use undertone_tests::{FixedEntropy, RULES, epsilon, largest_grant};

const MECHANISMS: [WordMechanism; 3] = [
    WordMechanism::Selection(Rule::PermuteAndFlip),
    WordMechanism::Selection(Rule::Exponential),
    WordMechanism::LaplaceNearest,
];

/// Runs with the vocabulary of a pack.
fn with<T>(parts: &LexiconParts, run: impl FnOnce(&Vocabulary<'_>) -> T) -> T {
    let bytes = parts.to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    run(&Vocabulary::new(&pack).expect("a lexicon"))
}

/// Squared distance, from the definition.
fn squared(a: &[i8], b: &[i8]) -> u64 {
    let differences = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
    differences.map(|d| u64::from(d).pow(2)).sum()
}

/// log₂ of the unit in integers of the vectors, from the definition: the least t with
/// ⌊2·max‖v‖/2^t⌋ < 256. If all vectors are zero, that of one of norm 1.
fn unit(parts: &LexiconParts) -> i32 {
    let zero = vec![0; parts.vectors[0].len()];
    let norms = parts.vectors.iter().map(|v| squared(v, &zero));
    let largest = u128::from(norms.max().expect("a word").max(1));
    // 2·√largest < 2^(8 + t), squared and times 2^40.
    (-20..20)
        .find(|t| (4 * largest) << 40 < 1 << (16 + 2 * t + 40))
        .expect("a unit")
}

/// The largest level ℓ with ℓ·2^unit ≤ √squared.
fn naive_level(squared: u64, unit: i32) -> u8 {
    let reached = |level: &u128| (level * level) << (2 * unit + 40) <= u128::from(squared) << 40;
    (0..).take_while(reached).last().expect("0 is reached") as u8
}

/// The least s with s·2^unit ≥ √squared.
fn steps(squared: u64, unit: i32) -> i32 {
    let enough = |s: &u128| (s * s) << (2 * unit + 40) >= u128::from(squared) << 40;
    (0..).find(enough).expect("enough steps") as i32
}

fn levels_of(vocabulary: &Vocabulary<'_>, word: u32) -> Vec<u8> {
    let mut levels = Vec::new();
    let levels_of_word = vocabulary.levels(word);
    levels_of_word.for_each_block(|block| levels.extend_from_slice(block));
    levels
}

/// Bounds on exp(ε·(dist + q)), with dist rounded down to multiples of 2⁻¹⁶ of a step.
fn promise(micro: u32, squared: u64, unit: i32, exponent: i32) -> Bounds {
    let distance = (u128::from(squared) << 32).isqrt() as u64 + (1 << (16 + unit));
    let scaled = u64::from(micro).checked_mul(distance).expect("64 bits");
    exp(scaled, 1_000_000 << (16 - exponent))
}

/// Counts the pairs of words that break the promise for ε with a table of these units.
fn violations(parts: &LexiconParts, rule: Rule, micro: u32, table: impl Fn(i32) -> i32) -> usize {
    with(parts, |vocabulary| {
        let exponent = parts.exponent + 8;
        let unit = unit(parts);
        assert_eq!(vocabulary.unit_exponent(), unit + exponent);
        let ratio = Ratio::per_unit(epsilon(micro), table(vocabulary.unit_exponent()));
        let n = vocabulary.word_count();
        let laws: Vec<Law> = (0..n)
            .map(|x| law(&levels_of(vocabulary, x), rule, ratio))
            .collect();
        let pairs = (0..n).flat_map(|x| (0..x).map(move |y| (x as usize, y as usize)));
        pairs
            .filter(|(x, y)| {
                let squared = squared(&parts.vectors[*x], &parts.vectors[*y]);
                let factor = promise(micro, squared, unit, exponent);
                !laws[*x].within_factor(&laws[*y], &factor)
            })
            .count()
    })
}

/// Vocabularies of up to `most` words: random ones, and one where one word has many others far
/// away.
fn vocabularies(rng: &mut PublicRng, random: usize, most: u128) -> Vec<LexiconParts> {
    let crowd = |far: i8, at: i8| {
        let mut vectors = vec![vec![at; 2]; most as usize];
        vectors[0][0] = far;
        LexiconParts::of_vectors(vectors, -14)
    };
    let mut all = vec![
        crowd(40, 0),
        crowd(127, -128),
        crowd(1, 0),
        LexiconParts::of_vectors(vec![vec![0, 0, 0]; 3], -8),
        LexiconParts::of_vectors(vec![vec![5]], -8),
    ];
    for _ in 0..random {
        let n = 1 + below(rng, most) as usize;
        let d = 1 + below(rng, 4) as usize;
        let range = [2, 30, 255][below(rng, 3) as usize];
        let mut coordinate = || (below(rng, range) as i32 - range as i32 / 2) as i8;
        let vectors = (0..n).map(|_| (0..d).map(|_| coordinate()).collect());
        let vectors = vectors.collect();
        let exponent = -20 + below(rng, 13) as i32;
        all.push(LexiconParts::of_vectors(vectors, exponent));
    }
    all
}

/// T1: every pair of words keeps the promise, by the code's own levels and table and with every
/// random bit counted. No tolerance.
#[test]
fn no_pair_of_words_exceeds_its_promise() {
    let mut rng = PublicRng::new(0x30d5_0001);
    let random = if undertone_tests::soak() { 400 } else { 30 };
    for parts in vocabularies(&mut rng, random, 7) {
        for micro in [1, 1_000, 100_000, 1_000_000, 10_000_000, 1_000_000_000] {
            for rule in RULES {
                let found = violations(&parts, rule, micro, |exponent| exponent);
                assert_eq!(found, 0, "{rule:?} {micro} {parts:?}");
            }
        }
    }
}

/// The test can fail: it finds a table for twice the unit.
#[test]
fn a_wrong_table_is_caught() {
    let parts = vocabularies(&mut PublicRng::new(1), 0, 11).swap_remove(0);
    for rule in RULES {
        for micro in [100_000, 1_000_000, 3_000_000] {
            assert_eq!(violations(&parts, rule, micro, |exponent| exponent), 0);
            let found = violations(&parts, rule, micro, |exponent| exponent + 1);
            assert!(found > 0, "{rule:?} {micro}");
        }
    }
}

/// Extremes and duplicates with a higher frequency.
fn vector(dimension: usize) -> impl Strategy<Value = Vec<i8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<i8>(), dimension),
        2 => prop::collection::vec(-2i8..=2, dimension),
        1 => Just(vec![0; dimension]),
        1 => Just(vec![127; dimension]),
        1 => Just(vec![-128; dimension]),
        1 => prop::collection::vec(prop::sample::select(vec![-128i8, 127]), dimension),
    ]
}

fn parts() -> impl Strategy<Value = LexiconParts> {
    let dimensions = prop_oneof![
        1usize..=8,
        prop::sample::select(vec![63, 64, 65, 300, 511, 512])
    ];
    let vectors = dimensions.prop_flat_map(|d| prop::collection::vec(vector(d), 1..=9));
    // The same vectors at several scales: with ones in 1..2 only, all norms are small.
    (vectors, 0u32..=6, -24i32..=24).prop_map(|(vectors, shift, exponent)| {
        let scaled = vectors
            .iter()
            .map(|v| v.iter().map(|x| x >> shift).collect());
        LexiconParts::of_vectors(scaled.collect(), exponent)
    })
}

proptest! {
    #![proptest_config(config(60))]

    /// T2: levels are those of the definition, and a change to another word moves each by at most
    /// ⌈dist/q⌉.
    #[test]
    fn levels_move_by_at_most_the_distance(parts in parts()) {
        let unit = unit(&parts);
        with(&parts, |vocabulary| {
            prop_assert_eq!(vocabulary.unit_exponent(), unit + parts.exponent + 8);
            let n = vocabulary.word_count();
            let all: Vec<Vec<u8>> = (0..n).map(|x| levels_of(vocabulary, x)).collect();
            for (x, levels) in (0..n).zip(&all) {
                for (w, level) in (0..n).zip(levels) {
                    let squared = squared(&parts.vectors[x as usize], &parts.vectors[w as usize]);
                    prop_assert_eq!(vocabulary.squared_distance(x, w), squared);
                    prop_assert_eq!(*level, naive_level(squared, unit));
                    prop_assert_eq!(*level, vocabulary.level(x, w));
                    prop_assert!(usize::from(*level) < LEVELS);
                    let most = steps(squared, unit);
                    let moved = levels.iter().zip(&all[w as usize]);
                    for (from, to) in moved {
                        prop_assert!((i32::from(*from) - i32::from(*to)).abs() <= most);
                    }
                }
            }
            let least = |w: &u32| squared(&parts.vectors[*w as usize], &vec![0; parts.vectors[0].len()]);
            prop_assert_eq!(Some(vocabulary.fallback()), (0..n).min_by_key(least));
            prop_assert_eq!(levels_of(vocabulary, n), levels_of(vocabulary, vocabulary.fallback()));
            Ok(())
        })?;
    }

    /// The nearest word is the first of least distance from the rounded point, by exact arithmetic.
    #[test]
    fn the_nearest_word_is_nearest(
        parts in parts(),
        seed in any::<u64>(),
        magnitude in 0u32..=31,
        grid in -28i32..=14,
    ) {
        let mut rng = PublicRng::new(seed);
        let d = parts.vectors[0].len();
        let point: Vec<i32> = (0..d).map(|_| rng.next_u32() as i32 >> magnitude).collect();
        let difference = grid - (parts.exponent + 8);
        let rounded = point.iter().map(|x| {
            let scaled = i128::from(*x) << 64;
            let steps = if difference >= 0 { scaled << difference } else { scaled >> -difference };
            ((steps + (1 << 63)) >> 64).clamp(-(1 << 40), 1 << 40)
        });
        let rounded: Vec<i128> = rounded.collect();
        let distance = |vector: &Vec<i8>| -> i128 {
            let terms = vector.iter().zip(&rounded);
            terms.map(|(v, x)| (i128::from(*v) - x).pow(2)).sum()
        };
        let nearest = (0..parts.vectors.len()).min_by_key(|w| distance(&parts.vectors[*w]));
        let found = with(&parts, |vocabulary| vocabulary.nearest(&point, grid));
        prop_assert_eq!(Some(found as usize), nearest);
    }

    /// Any point on any grid, of any length, has a nearest word.
    #[test]
    fn nearest_is_total(
        parts in parts(),
        point in prop::collection::vec(prop_oneof![any::<i32>(), Just(i32::MIN), Just(i32::MAX)], 0..700),
        grid in prop_oneof![any::<i32>(), -40i32..40],
    ) {
        let d = parts.vectors[0].len();
        let mut padded = point.clone();
        padded.resize(d, 0);
        let (found, exactly) = with(&parts, |vocabulary| {
            (vocabulary.nearest(&point, grid), vocabulary.nearest(&padded, grid))
        });
        prop_assert!((found as usize) < parts.vectors.len());
        prop_assert_eq!(found, exactly);
    }

    /// Every input is read or refused, and an accepted one is what was written.
    #[test]
    fn bag_releases_of_any_bytes(
        mut bytes in prop::collection::vec(any::<u8>(), 0..80),
        start in prop::sample::select(vec![0usize, 4, 8, 24]),
    ) {
        let good = released(WordMechanism::LaplaceNearest);
        for (to, from) in bytes.iter_mut().zip(&good[..start]) {
            *to = *from;
        }
        if let Ok(release) = BagRelease::from_bytes(&bytes) {
            prop_assert_eq!(release.words().len() * 2 + 24, bytes.len());
        }
    }
}

/// Words with vectors on a circle, a few of them twice, and one at the centre.
fn circle() -> LexiconParts {
    let vectors = (0..20).map(|i| {
        let angle = f64::from(i / 2) * 0.6;
        vec![
            (100.0 * angle.cos()) as i8,
            (100.0 * angle.sin()) as i8,
            i as i8 / 9,
        ]
    });
    let mut vectors: Vec<Vec<i8>> = vectors.collect();
    vectors[7] = vec![0; 3];
    LexiconParts::of_vectors(vectors, -14)
}

/// A fixed release of six words.
fn released(mechanism: WordMechanism) -> Vec<u8> {
    with(&circle(), |vocabulary| {
        let mut bag = Bag::new(vocabulary);
        for word in ["w00000", "w00004", "W00005!", "zebra"] {
            bag.push(word);
        }
        let mut out = vec![0; BagRelease::bytes(6)];
        let grant = Grant::unrecorded(Unit::Word, epsilon(2_000_000));
        let entropy = &mut FixedEntropy::new(&[9; 32]);
        let written = bag.release(6, mechanism, grant, entropy, &mut out);
        assert_eq!(written, Ok(out.len()));
        out
    })
}

/// A private word follows the law of the levels: it equals the draw of the definition from the same
/// words.
#[test]
fn drawing_is_selecting_from_the_levels() {
    let mut rng = PublicRng::new(3);
    // The engine reads this vocabulary in parts because of its size.
    let mut row = |_| (0..5).map(|_| rng.next_u32() as i8).collect();
    let long = LexiconParts::of_vectors((0..3000).map(&mut row).collect(), -8);
    for parts in vocabularies(&mut rng, 20, 300).into_iter().chain([long]) {
        with(&parts, |vocabulary| {
            let unit = unit(&parts);
            let n = vocabulary.word_count();
            for seed in 0..10 {
                let word = below(&mut rng, n.into()) as u32;
                let own = &parts.vectors[word as usize];
                let level = |vector: &Vec<i8>| naive_level(squared(vector, own), unit);
                let levels: Vec<u8> = parts.vectors.iter().map(level).collect();
                let levels = SliceLevels {
                    levels: &levels,
                    bound: LEVELS,
                };
                let e = epsilon(3_000_000);
                let ratio = Ratio::per_unit(e, unit + parts.exponent + 8);
                for rule in RULES {
                    let mut rng = PublicRng::new(seed);
                    let expected = hazmat::select::<LEVELS, _>(&levels, rule, ratio, &mut rng);
                    let (mechanism, mut rng) =
                        (WordMechanism::Selection(rule), PublicRng::new(seed));
                    let drawn = hazmat::draw_word(vocabulary, word, mechanism, e, &mut rng);
                    assert_eq!(drawn.ok(), expected.ok());
                }
            }
        });
    }
}

/// The nearest word to the word's vector plus noise.
#[test]
fn noise_then_nearest() {
    let parts = circle();
    let mut seen = [0u32; 20];
    with(&parts, |vocabulary| {
        for seed in 0..200 {
            let word = seed as u32 % 20;
            let e = epsilon(2_000_000);
            let laplace = Laplace::new(3, e, Sensitivity::ONE).expect("parameters");
            let real: Vec<f32> = parts.vectors[word as usize]
                .iter()
                .map(|v| f32::from(*v) / 64.0)
                .collect();
            let mut noisy = [0; 3];
            hazmat::perturb(&laplace, &real, 7, &mut PublicRng::new(seed), &mut noisy)
                .expect("lengths");
            let nearest = vocabulary.nearest(&noisy, laplace.grid_exponent());
            let rng = &mut PublicRng::new(seed);
            let drawn = hazmat::draw_word(vocabulary, word, MECHANISMS[2], e, rng);
            assert_eq!(drawn, Ok(nearest));
            seen[nearest as usize] += 1;
        }
        // A word with the vector of an earlier one is never the nearest.
        assert!(seen[0] > 5 && seen[1] == 0, "{seen:?}");
        let (found, rng) = (epsilon(99_999), &mut PublicRng::new(0));
        let too_small = hazmat::draw_word(vocabulary, 0, MECHANISMS[2], found, rng);
        let error = WordsError::Laplace(LaplaceError::Epsilon { found });
        assert_eq!(too_small, Err(error));
    });
}

/// A release can be rebuilt from its parts: position, word, position, word, ..., sorted.
#[test]
fn a_release_from_its_parts() {
    let parts = circle();
    with(&parts, |vocabulary| {
        for mechanism in MECHANISMS {
            let mut stream = ChaCha12Rng::from_seed([9; 32]);
            let bag = [0, 4, 5, vocabulary.fallback()];
            let mut words: Vec<u32> = Vec::new();
            let e = epsilon(2_000_000);
            for _ in 0..6 {
                let word = bag[below(&mut stream, 4) as usize];
                let drawn = hazmat::draw_word(vocabulary, word, mechanism, e, &mut stream);
                words.push(drawn.expect("drawn"));
            }
            words.sort_unstable();
            let bytes = released(mechanism);
            let release = BagRelease::from_bytes(&bytes).expect("a release");
            assert!(release.words().eq(words), "{mechanism:?}");
            assert_eq!((release.mechanism(), release.epsilon()), (mechanism, e));
        }
    });
}

/// A bag always keeps a word, which is the fallback word unless the pushed one is known.
#[test]
fn words_that_are_not_known_count_as_the_fallback() {
    let parts = LexiconParts {
        words: ["don't", "istanbul", "zoë"].map(str::to_owned).to_vec(),
        ..LexiconParts::of_vectors(vec![vec![100, 0], vec![0, 100], vec![1, 1]], -8)
    };
    let long = "a".repeat(10_000);
    let known_and_long = format!("don't{long}");
    // An ε at which a word certainly stays the same.
    let e = Epsilon::MAX;
    with(&parts, |vocabulary| {
        let one = |push: &dyn Fn(&mut Bag<'_>)| {
            let mut bag = Bag::new(vocabulary);
            push(&mut bag);
            assert_eq!(bag.len(), 1);
            let mut out = [9; 3];
            let drawn = hazmat::draw_bag(&bag, MECHANISMS[0], e, &mut PublicRng::new(1), &mut out);
            assert_eq!(drawn, Ok(()));
            assert_eq!(out, [out[0]; 3]);
            out[0]
        };
        assert_eq!(vocabulary.fallback(), 2);
        for (word, index) in [
            ("don't", 0),
            ("\"Don’t!\"", 0),
            ("İSTANBUL", 1),
            ("ZOË", 2),
            ("", 2),
            (" ", 2),
            ("🙂", 2),
            ("don't don't", 2),
            ("don", 2),
            (&long, 2),
            (&known_and_long, 2),
        ] {
            assert_eq!(one(&|bag| bag.push(word)), index, "{word:?}");
            assert_eq!(one(&|bag| bag.push(word.as_bytes())), index);
        }
        for bytes in [&b"don't\xff"[..], b"\xff", &[0x80; 5000], b"\0"] {
            assert_eq!(one(&|bag| bag.push(bytes)), 2);
        }
        let empty: Bag<'_, 1> = Bag::with_limit(vocabulary);
        let (mut out, mut rng) = ([9; 5], PublicRng::new(1));
        let drawn = hazmat::draw_bag(&empty, MECHANISMS[0], e, &mut rng, &mut out);
        assert_eq!((drawn, out), (Ok(()), [2; 5]));
        assert_eq!(format!("{empty:?}"), "Bag { .. }");
    });
}

/// Words after the last retained one have no effect.
#[test]
fn a_full_bag_stays_as_it_is() {
    with(&circle(), |vocabulary| {
        let mut bag: Bag<'_, 3> = Bag::with_limit(vocabulary);
        for word in ["w00002", "w00002", "w00002", "w00012", "w00012", "?"] {
            bag.push(word);
        }
        assert_eq!(bag.len(), 3);
        let mut out = [0; 200];
        let (e, rng) = (Epsilon::MAX, &mut PublicRng::new(1));
        let drawn = hazmat::draw_bag(&bag, MECHANISMS[0], e, rng, &mut out);
        assert_eq!(drawn, Ok(()));
        assert!(out.iter().all(|word| [2, 3].contains(word)), "{out:?}");
    });
}

/// An empty bag has the fallback word, whatever it contained before a clear or a release.
#[test]
fn words_of_the_text_before_have_no_say() {
    with(&circle(), |vocabulary| {
        let release = |bag: &mut Bag<'_, 3>| {
            let mut out = vec![0; BagRelease::bytes(5)];
            let (grant, entropy) = (largest_grant(Unit::Word), &mut FixedEntropy::new(&[7; 32]));
            let written = bag.release(5, MECHANISMS[0], grant, entropy, &mut out);
            assert_eq!(written, Ok(out.len()));
            out
        };
        let fresh = release(&mut Bag::with_limit(vocabulary));
        let mut bag = Bag::with_limit(vocabulary);
        bag.push("w00002");
        bag.clear();
        assert_eq!(release(&mut bag), fresh);
        bag.push("w00012");
        assert_ne!(release(&mut bag), fresh);
        assert_eq!(release(&mut bag), fresh);
    });
}

/// Words are sampled by frequency.
#[test]
fn draws_are_by_frequency() {
    let vectors = vec![vec![100, 0], vec![0, 100], vec![-100, 0]];
    with(&LexiconParts::of_vectors(vectors, -8), |vocabulary| {
        let mut bag = Bag::new(vocabulary);
        for word in ["w00000", "w00002", "w00002", "w00001", "w00002", "w00002"] {
            bag.push(word);
        }
        let mut rng = PublicRng::new(0x30d5_0002);
        let mut observed = [0; 3];
        let mut out = [0; 200];
        for _ in 0..50 {
            let drawn = hazmat::draw_bag(&bag, MECHANISMS[1], Epsilon::MAX, &mut rng, &mut out);
            assert!(drawn.is_ok() && out.is_sorted());
            out.iter().for_each(|word| observed[*word as usize] += 1);
        }
        let p = g_test(&observed, &[1.0 / 6.0, 1.0 / 6.0, 4.0 / 6.0]);
        assert!(p > 1e-6, "{p} {observed:?}");
    });
}

/// All words and all bags consume the same number of random words: the stream continues at the same
/// place.
#[test]
fn words_consumed_do_not_depend_on_the_bag() {
    let bags = [
        &[][..],
        &["w00000"],
        &["zebra", "w00003", "w00003"],
        &["w00019"; 50],
    ];
    with(&circle(), |vocabulary| {
        for mechanism in MECHANISMS {
            let next = bags.map(|words| {
                let mut bag: Bag<'_, 20> = Bag::with_limit(vocabulary);
                words.iter().for_each(|word| bag.push(word));
                let mut rng = PublicRng::new(5);
                hazmat::draw_bag(&bag, mechanism, epsilon(1_000_000), &mut rng, &mut [0; 9])
                    .expect("drawn");
                rng.next_u64()
            });
            assert_eq!(next, [next[0]; 4]);
            if let WordMechanism::Selection(rule) = mechanism {
                let mut skipped = PublicRng::new(5);
                for _ in 0..9 * (2 + rule.random_word_count(20)) {
                    skipped.next_u64();
                }
                assert_eq!(next[0], skipped.next_u64());
            }
        }
    });
}

/// Refusals depend on public facts and change nothing.
#[test]
fn refusals_write_nothing_and_keep_the_words() {
    let nothing = pack(1, &[]);
    let pack = Pack::parse(&nothing).expect("a pack");
    assert_eq!(Vocabulary::new(&pack).err(), Some(WordsError::NoLexicon));
    with(&circle(), |vocabulary| {
        let mut bag = Bag::new(vocabulary);
        bag.push("w00001");
        let mut out = [0xee; 600];
        let e = epsilon(1_000_000);
        for mechanism in MECHANISMS {
            let mut refused = |size, e, key: &[u8], length| {
                let grant = Grant::unrecorded(Unit::Word, e);
                let entropy = &mut FixedEntropy::new(key);
                let result = bag.release(size, mechanism, grant, entropy, &mut out[..length]);
                result.expect_err("a refusal")
            };
            for size in [0, MAX_BAG_SIZE + 1, u16::MAX] {
                let found = size.into();
                let error = refused(size, e, &[9; 32], 600);
                assert_eq!(error, WordsError::Size { found });
            }
            for (size, found) in [(1, 0), (1, 25), (MAX_BAG_SIZE, 535)] {
                let needed = BagRelease::bytes(size);
                let error = refused(size, e, &[9; 32], found);
                assert_eq!(error, WordsError::Space { needed, found });
            }
            for key in [&[][..], &[0; 32]] {
                assert_eq!(refused(3, e, key, 600), WordsError::Entropy);
            }
            if mechanism == WordMechanism::LaplaceNearest {
                let found = epsilon(1);
                let error = WordsError::Laplace(LaplaceError::Epsilon { found });
                assert_eq!(refused(3, found, &[9; 32], 600), error);
            }
        }
        for found in [0, 257] {
            let (rng, mut words) = (&mut PublicRng::new(1), vec![0; found]);
            let refused = hazmat::draw_bag(&bag, MECHANISMS[0], e, rng, &mut words);
            assert_eq!(refused, Err(WordsError::Size { found }));
        }
        assert_eq!((out, bag.len()), ([0xee; 600], 1));
        // The limits themselves are allowed; nothing is written after the release.
        for size in [1, MAX_BAG_SIZE] {
            bag.push("w00002");
            let (grant, entropy) = (largest_grant(Unit::Word), &mut FixedEntropy::new(&[9; 32]));
            let written = bag.release(size, MECHANISMS[0], grant, entropy, &mut out);
            let length = BagRelease::bytes(size);
            assert_eq!((written, bag.len()), (Ok(length), 0));
            assert!(out[length..].iter().all(|byte| *byte == 0xee));
            let release = BagRelease::from_bytes(&out[..length]).expect("a release");
            assert_eq!(release.words().len(), usize::from(size));
        }
    });
}

/// Every field of a release is checked.
#[test]
fn bag_releases_with_wrong_fields() {
    let field = |name, found| Err(ReleaseFormatError::Field { name, found });
    for mechanism in MECHANISMS {
        let good = released(mechanism);
        assert!(BagRelease::from_bytes(&good).is_ok());
        let read = |at: usize, values: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + values.len()].copy_from_slice(values);
            BagRelease::from_bytes(&bytes).map(|release| release.epsilon())
        };
        assert_eq!(read(0, b"X"), Err(ReleaseFormatError::NotARelease));
        assert_eq!(read(3, &[2]), Err(ReleaseFormatError::Version { found: 2 }));
        for number in [0, 1, 2, 3, 4, 7, 255] {
            assert_eq!(read(4, &[number]), field("mechanism", number.into()));
        }
        assert_eq!(read(5, &[3]), field("rule", 3));
        let other = u8::from(mechanism == WordMechanism::LaplaceNearest);
        assert_eq!(read(5, &[other]), field("rule", other.into()));
        assert_eq!(read(6, &[0, 1]), field("reserved field", 256));
        assert_eq!(read(8, &[0; 4]), field("epsilon in micro-units", 0));
        assert_eq!(read(12, &[0]), field("number of words", 0));
        assert_eq!(read(12, &[1, 1]), field("number of words", 257));
        assert_eq!(read(14, &[1]), field("number of words", 65_542));
        for (n, expected) in [(5, 34), (7, 38)] {
            let found = 36;
            let error = ReleaseFormatError::Length { found, expected };
            assert_eq!(read(12, &[n]), Err(error));
        }
        let second = u16::from_le_bytes([good[26], good[27]]).into();
        let unsorted = field("word after a larger one", second);
        assert_eq!(read(24, &[255, 255]), unsorted);
        assert_eq!(read(34, &[255, 255]), Ok(epsilon(2_000_000)));
        for length in 0..36 {
            let short = BagRelease::from_bytes(&good[..length]).err();
            assert!(matches!(short, Some(ReleaseFormatError::Length { .. })));
        }
    }
}
