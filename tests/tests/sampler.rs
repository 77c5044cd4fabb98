//! `select::select` as a sampler: its frequencies are those of the exact law, it consumes a
//! constant number of words, and it enforces its limits.

use std::ops::Range;

use undertone_audit::sampled::statistics::g_test;
use undertone_core::hazmat;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Levels, MAX_CANDIDATES, Ratio, Rule, SelectError, SliceLevels};
use undertone_tests::definition::List;
use undertone_tests::law::law;
use undertone_tests::{CountingRng, FixedWords, soak};

use crate::proof::{RULES, epsilon};

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
    Ratio::new(epsilon(micro))
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
    let total = if soak() { 10_000_000 } else { 1_000_000 };
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

/// Compares draws word by word, for lists of all lengths up to the maximum. Lists that are short enough for an exact
/// law have no second batch of coins; every third list here is slightly longer than a multiple of
/// the batch.
#[test]
fn every_word_does_what_the_definition_says() {
    const BATCH: usize = 32;
    let mut rng = PublicRng::new(0x7e57_000a);
    for case in 0..if soak() { 1_000_000usize } else { 20_000 } {
        let mut below = |n: u128| u128::from(below(&mut rng, n));
        let candidates = match (case % 2000, case % 100, case % 3) {
            // One case for each rule.
            (1 | 4, ..) => MAX_CANDIDATES as usize - case / 2000 % 2,
            (_, 0, _) => 1 + below(5000) as usize,
            (_, _, 0) => BATCH * (1 + below(6) as usize) + below(4) as usize,
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
        assert_eq!(used as u64, rule.random_word_count(candidates as u32));
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
fn sizes_outside_the_limits_are_refused() {
    let mut rng = CountingRng::new(PublicRng::new(0));
    let many = vec![0; MAX_CANDIDATES as usize + 1];
    let few = &many[..3];
    let candidates = |found| SelectError::Candidates { found };
    let level_bound = |found| SelectError::LevelBound { found, limit: 4 };
    for (levels, bound, error) in [
        (&[][..], 4, candidates(0)),
        (&many, 4, candidates(MAX_CANDIDATES + 1)),
        (few, 0, level_bound(0)),
        (few, 5, level_bound(5)),
        (few, usize::MAX, level_bound(usize::MAX)),
    ] {
        let levels = SliceLevels { levels, bound };
        let refused = hazmat::select::<4, _>(&levels, RULES[0], ratio(1), &mut rng);
        assert_eq!(refused, Err(error));
        assert_eq!(rng.take_count(), 0);
        let text = error.to_string();
        let numbers = match error {
            SelectError::Candidates { found } => [found as usize, MAX_CANDIDATES as usize],
            SelectError::LevelBound { found, limit } => [found, limit],
            _ => unreachable!("no other"),
        };
        let are_named = numbers.map(|number| text.contains(&number.to_string()));
        assert_eq!(are_named, [true; 2], "{text}");
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
