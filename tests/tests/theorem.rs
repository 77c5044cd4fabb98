//! The theorem of `select`, checked on the code's own integers: exact output distributions of
//! neighbouring levels, random bits included, against a lower bound on e^ε. No tolerance.

use std::collections::HashMap;

use num_bigint::BigUint;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Ratio, Rule};
use undertone_tests::exponential::{Bounds, exp};
use undertone_tests::law::{Law, law_of_weights};

use crate::proof::{MICRO, RULES, epsilon};

/// ε in millionths: extremes, and values of real releases.
const EPSILONS: [u32; 8] = [
    1,
    100_000,
    1_000_000,
    3_000_000,
    10_000_000,
    85_000_000,
    88_722_839,
    1_000_000_000,
];

fn ratio(micro: u32) -> Ratio {
    Ratio::new(epsilon(micro))
}

/// Laws by their sorted relative levels, of which there are far fewer than neighbours.
struct Laws<'a> {
    rule: Rule,
    weights: &'a dyn Fn(usize) -> Vec<u128>,
    known: HashMap<Vec<u8>, Law>,
}

impl<'a> Laws<'a> {
    fn new(rule: Rule, weights: &'a dyn Fn(usize) -> Vec<u128>) -> Self {
        Self {
            rule,
            weights,
            known: HashMap::new(),
        }
    }

    fn of(&mut self, levels: &[u8]) -> Law {
        let best = *levels.iter().min().expect("a level");
        // Stable: candidates of one level keep their order, and therefore their rank.
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by_key(|r| levels[*r]);
        let sorted: Vec<u8> = order.iter().map(|r| levels[*r] - best).collect();
        let worst = usize::from(*sorted.last().expect("a level"));
        let known = self.known.entry(sorted).or_insert_with_key(|sorted| {
            law_of_weights(sorted, self.rule, &(self.weights)(worst + 1))
        });
        let mut numerators = vec![BigUint::ZERO; levels.len()];
        for (position, r) in order.into_iter().enumerate() {
            numerators[r].clone_from(&known.numerators[position]);
        }
        Law {
            numerators,
            bits: known.bits,
        }
    }
}

/// All ways to move each level by one of `steps`, with levels at 0 or above.
fn neighbours(levels: &[u8], steps: &[i32]) -> Vec<Vec<u8>> {
    let mut all = vec![vec![]];
    for level in levels {
        all = all
            .into_iter()
            .flat_map(|start: Vec<u8>| {
                let moved = steps.iter().map(|step| i32::from(*level) + step);
                moved.filter(|l| *l >= 0).map(move |l| {
                    let mut next = start.clone();
                    next.push(l as u8);
                    next
                })
            })
            .collect();
    }
    all
}

/// The findings of one check.
#[derive(Debug, Default)]
struct Findings {
    violations: u64,
    pairs: u64,
}

/// Compares the laws of `levels` and of all its neighbours with e^(claimed ε).
fn check(laws: &mut Laws<'_>, levels: &[u8], claimed_micro: u32, found: &mut Findings) {
    let whole: Bounds = exp(claimed_micro.into(), MICRO);
    let half: Bounds = exp(claimed_micro.into(), 2 * MICRO);
    let base = laws.of(levels);
    for moved in neighbours(levels, &[-1, 0, 1]) {
        let other = laws.of(&moved);
        let range_ok = laws.rule != Rule::Exponential || other.within_range(&base, &whole);
        found.violations += u64::from(!base.within_factor(&other, &whole) || !range_ok);
        found.pairs += 1;
    }
    for steps in [[0, 1], [-1, 0]] {
        for moved in neighbours(levels, &steps) {
            let other = laws.of(&moved);
            found.violations += u64::from(!base.within_factor(&other, &half));
            found.pairs += 1;
        }
    }
}

/// Instances that nearly attain the bounds, and a few random ones.
fn instances(rng: &mut PublicRng, random: usize) -> Vec<Vec<u8>> {
    let mut all = vec![
        vec![3],
        vec![0, 0],
        vec![0, 5],
        vec![5, 0, 5],
        vec![1, 0, 0, 0, 0],
        vec![0, 1, 1, 1, 1],
        vec![0, 200],
        vec![0, 250, 7],
        vec![1; 7],
        vec![1, 1, 1, 2, 2, 2, 9],
    ];
    for _ in 0..random {
        let m = 1 + below(rng, 6);
        let range = [1, 2, 4, 40][(rng.next_u32() % 4) as usize];
        all.push((0..m).map(|_| below(rng, range) as u8).collect());
    }
    all
}

#[test]
fn no_neighbour_exceeds_epsilon() {
    let mut rng = PublicRng::new(0x7e57_0001);
    let random = if undertone_tests::soak() { 200 } else { 6 };
    let mut epsilons = EPSILONS.to_vec();
    // Values in between, uniform in the exponent.
    for _ in 0..4 {
        epsilons
            .push(((1u64 << below(&mut rng, 30)) + below(&mut rng, 1 << 29) as u64 % MICRO) as u32);
    }
    let mut pairs = 0;
    for micro in epsilons {
        for rule in RULES {
            let weights = |n: usize| ratio(micro).weights(rule).take(n).collect();
            let mut laws = Laws::new(rule, &weights);
            for levels in instances(&mut rng, random) {
                let mut found = Findings::default();
                check(&mut laws, &levels, micro, &mut found);
                assert_eq!(found.violations, 0, "{rule:?} {micro} {levels:?} {found:?}");
                pairs += found.pairs;
            }
        }
    }
    println!("{pairs} neighbouring pairs");
}

#[test]
fn the_bounds_are_nearly_attained() {
    for (micro, levels) in [
        (10_000_000, vec![0, 5]),
        (1_000_000, vec![0, 40, 40]),
        (100_000, vec![0, 250]),
    ] {
        for rule in RULES {
            let weights = |n: usize| ratio(micro).weights(rule).take(n).collect();
            let mut laws = Laws::new(rule, &weights);
            let base = laws.of(&levels);
            let mut largest = |steps: &[i32]| {
                let moved = neighbours(&levels, steps).into_iter();
                moved.map(|l| base.loss(&laws.of(&l))).fold(0.0, f64::max)
            };
            let (mixed, one_sided) = (largest(&[-1, 0, 1]), largest(&[0, 1]));
            let epsilon = f64::from(micro) * 1e-6;
            assert!(mixed > 0.9999 * epsilon, "{rule:?} {mixed}");
            assert!(one_sided > 0.49995 * epsilon, "{rule:?} {one_sided}");
        }
    }
}

/// The test is sharp: it finds a constant that is smaller by a few units of 2⁻⁶⁴.
#[test]
fn a_slightly_small_constant_is_caught() {
    for micro in [1_000, 100_000, 1_000_000] {
        let constant = u128::from(ratio(micro).constant()) - 12;
        let weights = |n: usize| -> Vec<u128> {
            std::iter::successors(Some(1u128 << 64), |w| {
                Some((w * constant).div_ceil(1 << 64).max(1))
            })
            .take(n)
            .collect()
        };
        let mut found = Findings::default();
        let mut laws = Laws::new(Rule::PermuteAndFlip, &weights);
        check(&mut laws, &[0, 1], micro, &mut found);
        assert!(found.violations > 0, "{micro} {found:?}");
    }
}
