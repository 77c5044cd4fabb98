//! `select::select` as a sampler: its frequencies are those of the exact law, it consumes a
//! constant number of words, and it enforces its limits.

use std::ops::Range;

use undertone_audit::sampled::statistics::g_test;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, WORDS_PER_DRAW, below};
use undertone_core::select::{Levels, MAX_CANDIDATES, Ratio, Rule, SelectError, SliceLevels};
use undertone_tests::definition::List;
use undertone_tests::law::law;
use undertone_tests::{CountingRng, FixedWords, soak};

const RULES: [Rule; 2] = [Rule::PermuteAndFlip, Rule::Exponential];

/// The false-alarm rate of one test. Seeds are fixed, so a test that passes keeps passing.
const P_LIMIT: f64 = 1e-6;

/// Levels cut into blocks of 1, 2, 3, 4, 1, ... candidates, with some empty ones.
struct Blocks<'a>(&'a [u8]);

impl Levels for Blocks<'_> {
    fn bound(&self) -> usize {
        usize::from(*self.0.iter().max().expect("a level")) + 1
    }

    fn candidate_count(&self) -> usize {
        self.0.len()
    }

    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        let mut rest = &self.0[range];
        for size in [0, 1, 2, 3, 4].into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (block, later) = rest.split_at(rest.len().min(size));
            visit(block);
            rest = later;
        }
    }
}

fn ratio(micro: u32) -> Ratio {
    Ratio::new(Epsilon::from_micro(micro).expect("an epsilon"))
}

/// Levels, and ε in millionths.
const INSTANCES: [(&[u8], u32); 8] = [
    (&[0, 0, 0], 1_000_000),
    (&[4, 2], 100_000),
    (&[0, 1, 2, 3, 4], 1_000_000),
    (&[3, 3, 5, 4, 9, 3, 7, 5], 1_000_000),
    (&[1, 0, 1, 1, 1, 1, 1, 1, 1, 1], 3_000_000),
    (&[6, 5, 5, 1, 5, 5, 3, 5, 5, 5, 5], 2_000_000),
    (&[2, 1, 0, 2, 1, 0, 2, 1, 0], 10_000_000),
    (&[0, 7, 9, 3], 1),
];

fn frequencies(levels: &[u8], rule: Rule, ratio: Ratio, seed: u64, draws: u64) -> Vec<u64> {
    let mut rng = PublicRng::new(seed);
    let mut counts = vec![0; levels.len()];
    for _ in 0..draws {
        let drawn = hazmat::select::<16, _>(&Blocks(levels), rule, ratio, &mut rng).expect("sizes");
        counts[drawn as usize] += 1;
    }
    counts
}

/// 10⁶ draws, 10⁷ if `UNDERTONE_SOAK=1`.
#[test]
fn frequencies_match_the_exact_law() {
    let total = if undertone_tests::soak() {
        10_000_000
    } else {
        1_000_000
    };
    let draws = total / (INSTANCES.len() * RULES.len()) as u64;
    for (index, (levels, micro)) in INSTANCES.into_iter().enumerate() {
        for rule in RULES {
            let seed = 0x7e57_1000 + index as u64;
            let counts = frequencies(levels, rule, ratio(micro), seed, draws);
            let p = g_test(&counts, &law(levels, rule, ratio(micro)).probabilities());
            println!("{rule:?} ε = {micro}e-6 {levels:?}: p = {p:.3}");
            assert!(p > P_LIMIT, "{rule:?} {levels:?} {counts:?}: p = {p:e}");
        }
    }
}

/// The test can fail: the law of another rule, or of an ε that is a fifth larger, does not fit.
#[test]
fn a_wrong_law_does_not_fit() {
    let (levels, micro) = INSTANCES[3];
    for (rule, other) in [(RULES[0], RULES[1]), (RULES[1], RULES[0])] {
        let counts = frequencies(levels, rule, ratio(micro), 0x7e57_2000, 50_000);
        let wrong_rule = law(levels, other, ratio(micro)).probabilities();
        assert!(g_test(&counts, &wrong_rule) < P_LIMIT, "{rule:?}");
        let wrong_epsilon = law(levels, rule, ratio(micro * 6 / 5)).probabilities();
        assert!(g_test(&counts, &wrong_epsilon) < P_LIMIT, "{rule:?}");
    }
}

/// Compares draws word by word, for lists of all lengths. Lists that are short enough for an exact
/// law have no second batch of coins; every third list here is slightly longer than a multiple of
/// the batch.
#[test]
fn every_word_does_what_the_definition_says() {
    const BATCH: usize = 32;
    let mut rng = PublicRng::new(0x7e57_000a);
    for case in 0..if soak() { 1_000_000usize } else { 20_000 } {
        let mut below = |n: u128| u128::from(below(&mut rng, n));
        let candidates = match (case % 100, case % 3) {
            (0, _) => 1 + below(5000) as usize,
            (_, 0) => BATCH * (1 + below(6) as usize) + below(4) as usize,
            _ => 1 + below([40, 100, 300][case % 7 % 3]) as usize,
        };
        let bound = 1 + below([4, 20, 256][case % 3]) as usize;
        // Up to 3 above the bound.
        let kinds = (1 + below(9)).min(bound as u128 + 3);
        let first = below((bound as u128 + 4).saturating_sub(kinds).min(256 - kinds) + 1);
        let levels: Vec<u8> = (0..candidates)
            .map(|_| (first + below(kinds)) as u8)
            .collect();
        let ratio = ratio((1 + below(1 << [10, 20, 23, 26][case % 4])) as u32);
        let rule = RULES[case % 5 / 4];
        let c = u128::from(ratio.constant());
        let weights = std::iter::successors(Some(rule.first_weight()), |weight| {
            Some((weight * c).div_ceil(1 << 64).max(1))
        });
        let weights: Vec<u128> = weights.take(bound).collect();
        let list = List {
            levels: &levels,
            bound,
            weights: &weights,
            rule,
        };
        let words = list.words(&mut rng);
        let slice = SliceLevels {
            levels: &levels,
            bound,
        };
        let mut replayed = FixedWords(&words);
        let (expected, used) = list.draw(&words);
        assert_eq!(
            hazmat::select::<256, _>(&slice, rule, ratio, &mut replayed),
            Ok(expected),
            "case {case}: {candidates} candidates, {rule:?}, bound {bound}"
        );
        assert_eq!(words.len() - replayed.0.len(), used, "words consumed");
        assert_eq!(used, words.len(), "words made");
    }
}

/// The single words on which the exact law depends, which no sample would contain.
#[test]
fn draws_change_at_the_exact_word() {
    let mut rng = PublicRng::new(0x7e57_0008);
    for _ in 0..2_000 {
        let n = 2 + (u128::from(rng.next_u64()) >> (rng.next_u32() % 64));
        let value = u128::from(rng.next_u64()) % n;
        // The first U with ⌊U·n / 2^128⌋ = value is ⌈value·2^128 / n⌉, in parts: with
        // 2^128 = whole·n + rest it is value·whole + ⌈value·rest / n⌉.
        let (mut whole, mut rest) = (u128::MAX / n, u128::MAX % n + 1);
        if rest == n {
            (whole, rest) = (whole + 1, 0);
        }
        let first = value * whole + (value * rest).div_ceil(n);
        let draw = |u: u128| below(&mut FixedWords(&[(u >> 64) as u64, u as u64]), n);
        assert_eq!(u128::from(draw(first)), value, "{n}");
        if value > 0 {
            assert_eq!(u128::from(draw(first - 1)), value - 1, "{n}");
        }
    }
}

#[test]
fn coins_turn_at_the_exact_word() {
    for micro in [1, 1_000_000, 20_000_000, 1_000_000_000] {
        let ratio = ratio(micro);
        let weights: Vec<u128> = ratio.weights(RULES[0]).take(4).collect();
        for level in 1..4u8 {
            let weight = weights[usize::from(level)] as u64;
            // Candidate 0 is best and shows heads for any word. The draw selects the last head.
            for (coin, winner) in [(weight - 1, 1), (weight, 0), (0, 1), (u64::MAX, 0)] {
                let words = [u64::MAX, coin, u64::MAX, u64::MAX, 0, 0];
                let levels = [2, 2 + level];
                let drawn = hazmat::select::<8, _>(
                    &Blocks(&levels),
                    RULES[0],
                    ratio,
                    &mut FixedWords(&words),
                );
                assert_eq!(drawn, Ok(winner), "ε = {micro}e-6, level {level}");
            }
        }
    }
}

#[test]
fn words_consumed_do_not_depend_on_levels() {
    let mut rng = CountingRng::new(PublicRng::new(0x7e57_0004));
    for m in [1u32, 2, 7, 300, 5_000, MAX_CANDIDATES] {
        let patterns: [&dyn Fn(u32) -> u8; 4] = [&|_| 0, &|_| 7, &|r| (r % 8) as u8, &|r| {
            if r == m - 1 { 0 } else { 6 }
        }];
        for pattern in patterns {
            let levels: Vec<u8> = (0..m).map(pattern).collect();
            let levels = SliceLevels {
                levels: &levels,
                bound: 8,
            };
            for rule in RULES {
                for micro in [1, 1_000_000, 1_000_000_000] {
                    let drawn = hazmat::select::<8, _>(&levels, rule, ratio(micro), &mut rng);
                    assert!(drawn.is_ok_and(|drawn| drawn < m));
                    assert_eq!(
                        rng.take_count(),
                        rule.random_word_count(m),
                        "{rule:?} m = {m}"
                    );
                }
            }
        }
    }
    assert_eq!(Rule::PermuteAndFlip.random_word_count(5_000), 5_004);
    assert_eq!(Rule::Exponential.random_word_count(5_000), 4);
}

#[test]
fn equal_words_give_equal_draws() {
    let (levels, micro) = INSTANCES[5];
    for rule in RULES {
        let draw = |seed| frequencies(levels, rule, ratio(micro), seed, 200);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}

/// The outcome does not depend on blocks, the width of the histogram or a shift of all levels.
#[test]
fn representation_does_not_matter() {
    let mut seeds = PublicRng::new(0x7e57_0005);
    for (levels, micro) in INSTANCES {
        for rule in RULES {
            for _ in 0..50 {
                let seed = seeds.next_u64();
                let rng = || PublicRng::new(seed);
                let drawn =
                    hazmat::select::<16, _>(&Blocks(levels), rule, ratio(micro), &mut rng());
                let shifted: Vec<u8> = levels.iter().map(|l| l + 100).collect();
                for (levels, bound) in [(levels, 10), (levels, 128), (&shifted[..], 110)] {
                    let slice = SliceLevels { levels, bound };
                    let again = hazmat::select::<128, _>(&slice, rule, ratio(micro), &mut rng());
                    assert_eq!(again, drawn);
                }
            }
        }
    }
}

#[test]
fn levels_beyond_the_bound_count_as_the_worst() {
    for rule in RULES {
        for seed in 0..200 {
            let draw = |levels: &[u8]| {
                let slice = SliceLevels { levels, bound: 4 };
                hazmat::select::<4, _>(&slice, rule, ratio(1_000_000), &mut PublicRng::new(seed))
            };
            assert_eq!(draw(&[3, 1, 3, 3]), draw(&[u8::MAX, 1, 4, 3]));
        }
    }
}

#[test]
fn sizes_outside_the_limits_are_refused() {
    let mut rng = CountingRng::new(PublicRng::new(0));
    let many = vec![0; MAX_CANDIDATES as usize + 1];
    let few = &many[..3];
    for (levels, bound, error) in [
        (&[][..], 4, SelectError::Candidates { found: 0 }),
        (
            &many[..],
            4,
            SelectError::Candidates {
                found: MAX_CANDIDATES + 1,
            },
        ),
        (few, 0, SelectError::LevelBound { found: 0, limit: 4 }),
        (few, 5, SelectError::LevelBound { found: 5, limit: 4 }),
        (
            few,
            usize::MAX,
            SelectError::LevelBound {
                found: usize::MAX,
                limit: 4,
            },
        ),
    ] {
        let levels = SliceLevels { levels, bound };
        let refused = hazmat::select::<4, _>(&levels, RULES[0], ratio(1), &mut rng);
        assert_eq!(refused, Err(error));
        assert_eq!(rng.take_count(), 0);
        let (found, limit) = match error {
            SelectError::Candidates { found } => (found as usize, MAX_CANDIDATES as usize),
            SelectError::LevelBound { found, limit } => (found, limit),
            _ => unreachable!("no other"),
        };
        let text = error.to_string();
        assert!(
            text.contains(&found.to_string()) && text.contains(&limit.to_string()),
            "{text}"
        );
    }
}

/// The documentation allows a bound of 256, and so levels up to 255.
#[test]
fn the_widest_histogram_works() {
    for bound in [254, 255, 256] {
        let levels = [u8::MAX, 3, 253, u8::MAX - 1, 3];
        let slice = SliceLevels {
            levels: &levels,
            bound,
        };
        for rule in RULES {
            for seed in 0..100 {
                let mut rng = PublicRng::new(seed);
                let drawn = hazmat::select::<256, _>(&slice, rule, ratio(1_000_000), &mut rng);
                assert!(matches!(drawn, Ok(1 | 4)), "{bound}: {drawn:?}");
            }
        }
    }
}

#[test]
fn the_candidate_is_found_in_every_part_of_a_list() {
    // Only the best level can be drawn, so the draws are known: first the level, then the rank.
    const FAR: u8 = 255;
    for candidates in [
        1, 2, 1023, 1024, 1025, 2048, 3000, 4096, 4097, 5000, 8193, 65_535, 65_536,
    ] {
        for (seed, share) in (0..12).zip([1, 2, 50, 1000].into_iter().cycle()) {
            let mut public = PublicRng::new(seed);
            let mut levels = vec![FAR; candidates];
            let best: Vec<usize> = (0..candidates)
                .filter(|_| below(&mut public, share) == 0)
                .collect();
            for index in &best {
                levels[*index] = 0;
            }
            if best.is_empty() {
                continue;
            }
            for rule in RULES {
                let mut words = PublicRng::new(seed + 100);
                let drawn = hazmat::select::<256, _>(
                    &SliceLevels {
                        levels: &levels,
                        bound: 256,
                    },
                    rule,
                    ratio(85_000_000),
                    &mut words,
                );
                let mut again = PublicRng::new(seed + 100);
                for _ in 0..rule.random_word_count(candidates as u32) - WORDS_PER_DRAW {
                    again.next_u64();
                }
                let rank = below(&mut again, best.len() as u128) as usize;
                assert_eq!(
                    drawn,
                    Ok(best[rank] as u32),
                    "{candidates} candidates, {rule:?}, seed {seed}"
                );
            }
        }
    }
}

#[test]
fn below_is_exact_at_the_corners() {
    let max = u64::MAX;
    for (words, n, expected) in [
        ([0, 0], 1 << 64, 0),
        ([max, max], 1 << 64, max),
        ([max, max], u128::MAX, max),
        ([max, max], 3, 2),
        ([max, max], 1, 0),
        ([max, max], 0, 0),
        ([1 << 63, 0], 3, 1),
        ([1 << 63, 0], 2, 1),
        ([(1 << 63) - 1, max], 2, 0),
        // The low word decides: 2^128/3 lies between these two.
        ([max / 3, max / 3], 3, 0),
        ([max / 3, max / 3 + 1], 3, 1),
    ] {
        assert_eq!(
            below(&mut FixedWords(&words), n),
            expected,
            "{words:?} below {n}"
        );
    }
}
