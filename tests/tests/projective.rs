//! Projective geometry response: the geometry from its definition, and the law of the code over all
//! outcomes, on its own integers and random words. No tolerance.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use undertone_core::document::{Document, DocumentError};
use undertone_core::hazmat;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::projective::{Geometry, Order, Shape};
use undertone_core::release::{Mechanism, Outcome, Release, ReleaseFormatError};
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_tests::exponential::{PRECISION, exp};
use undertone_tests::law::{Law, all_within, draws_in, ends};
use undertone_tests::packs::{ScoreParts, without_nothing_known};
use undertone_tests::{FixedEntropy, FixedWords};

use crate::proof::{MICRO, epsilon};

/// ε in millionths: 28 exceeds the range of the weights, 1000 is the maximum.
const EPSILONS: [u32; 8] = [
    1,
    500_000,
    1_000_000,
    3_000_000,
    10_000_000,
    28_000_000,
    100_000_000,
    1_000_000_000,
];

fn is_prime(q: u32) -> bool {
    q >= 2 && (2..q).all(|d| !q.is_multiple_of(d))
}

/// (q^t − 1)/(q − 1), by its sum.
fn points_of(q: u32, t: u32) -> u64 {
    (0..t).map(|i| u64::from(q).pow(i)).sum()
}

/// Order and coordinates of all geometries with at most `most` points.
fn geometries(most: u64) -> Vec<(u32, u32)> {
    let orders = (2..most as u32).filter(|q| is_prime(*q));
    let of = |q| (2..=24).map(move |t| (q, t));
    let power = |(q, t): &(u32, u32)| u64::from(*q).checked_pow(*t - 1);
    let all = orders
        .flat_map(of)
        .filter(|it| power(it).is_some_and(|power| power < most));
    all.filter(|(q, t)| points_of(*q, *t) <= most).collect()
}

/// A server's hyperplanes for a pack with that many candidates.
fn hyperplanes(q: u32, t: u32) -> Geometry {
    let outcomes = points_of(q, t) as u32;
    Geometry::new(q as u16, outcomes).expect("a prime")
}

/// The coordinates of hyperplanes.
fn coordinates(geometry: &Geometry) -> u32 {
    match geometry.shape() {
        Shape::Hyperplanes { coordinates, .. } => coordinates.into(),
        shape => panic!("{shape:?}"),
    }
}

/// Modulus and terms of all progressions with at most `most` points.
fn progressions(most: u32) -> Vec<(u32, u32)> {
    let moduli = (5..).take_while(|v| v * (v - 1) / 2 <= most);
    let moduli = moduli.filter(|v| is_prime(*v));
    moduli
        .flat_map(|v| (2..=v / 2).map(move |k| (v, k)))
        .collect()
}

/// The points that each outcome prefers, from the definition of progressions.
fn progressions_with(v: u32, k: u32) -> Vec<BTreeSet<u32>> {
    let h = (v - 1) / 2;
    let mut sets = vec![BTreeSet::new(); v as usize];
    for (s, a) in (0..v).flat_map(|s| (1..=h).map(move |a| (s, a))) {
        for i in 0..k {
            sets[((s + i * a) % v) as usize].insert(s * h + a - 1);
        }
    }
    sets
}

/// Every geometry of at most `most` points, with the set of each outcome by the definition.
fn all_geometries(most: u32) -> Vec<(Geometry, Vec<BTreeSet<u32>>)> {
    let first = geometries(most.into()).into_iter();
    let first = first.map(|(q, t)| (hyperplanes(q, t), preferred_sets(q, t)));
    let second = progressions(most).into_iter().map(|(v, k)| {
        let own = Geometry::new(2 * k as u16, v).expect("terms");
        (own, progressions_with(v, k))
    });
    first.chain(second).collect()
}

/// Canonical vectors in the order of their numbers, from the definition: by how many coordinates
/// follow the leading one, then as numbers.
fn points(q: u32, t: u32) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for free in 0..t {
        for digits in 0..q.pow(free) {
            let digit = |at: u32| digits / q.pow(free - 1 - at) % q;
            let zeroes = (free + 1..t).map(|_| 0);
            all.push(zeroes.chain([1]).chain((0..free).map(digit)).collect());
        }
    }
    all
}

/// The points that each point is orthogonal to, from the definition.
fn preferred_sets(q: u32, t: u32) -> Vec<BTreeSet<u32>> {
    let points = points(q, t);
    let orthogonal = |v: &[u32], w: &[u32]| {
        let sum: u32 = v.iter().zip(w).map(|(v, w)| v * w).sum();
        sum.is_multiple_of(q)
    };
    let set = |v: &Vec<u32>| {
        let numbered = (0..).zip(&points);
        let of = numbered.filter(|(_, w)| orthogonal(v, w));
        of.map(|(number, _)| number).collect()
    };
    points.iter().map(set).collect()
}

#[test]
fn geometries_are_those_of_the_definition() {
    let all = all_geometries(600);
    for (geometry, sets) in &all {
        let what = format!("{geometry:?}");
        let (k, outcomes) = (geometry.points(), sets.len() as u32);
        let (c, shared) = (geometry.preferred(), geometry.shared());
        let mut preferring = vec![BTreeSet::new(); k as usize];
        let mask = |set: &BTreeSet<u32>| {
            let mut mask = [0u64; 10];
            for w in set {
                mask[*w as usize / 64] |= 1 << (w % 64);
            }
            mask
        };
        let masks: Vec<[u64; 10]> = sets.iter().map(mask).collect();
        for (v, set) in (0..).zip(sets) {
            assert_eq!(set.len() as u32, c, "{what}");
            for w in 0..k {
                assert_eq!(geometry.contains(v, w), set.contains(&w), "{what} {v} {w}");
            }
            for w in set {
                preferring[*w as usize].insert(v);
            }
            for (u, other) in (0..).zip(&masks) {
                let both = masks[v as usize].iter().zip(other).map(|(a, b)| a & b);
                let common: u32 = both.map(u64::count_ones).sum();
                assert_eq!(common, if u == v { c } else { shared }, "{what} {v} {u}");
            }
        }
        for (w, expected) in (0..).zip(&preferring) {
            assert_eq!(expected.len() as u32, geometry.outcomes_of_a_point());
            let listed: Vec<u32> = geometry.outcomes_preferring(w).collect();
            assert_eq!(listed.len(), expected.len(), "{what}");
            assert_eq!(&BTreeSet::from_iter(listed), expected, "{what} {w}");
        }
        assert_eq!(geometry.outcomes_preferring(k).count(), 0);
        for (v, w) in [(outcomes, 0), (0, k), (u32::MAX, 0), (0, u32::MAX)] {
            assert!(!geometry.contains(v, w), "{what}");
        }
        assert_eq!(Geometry::new(geometry.order(), outcomes), Some(*geometry));
    }
    assert!(all.len() > 180, "{}", all.len());
}

#[test]
fn hyperplanes_have_the_fewest_coordinates_with_room() {
    for (q, t) in geometries(600) {
        let geometry = hyperplanes(q, t);
        assert_eq!(u32::from(geometry.order()), q);
        assert_eq!(coordinates(&geometry), t);
        assert_eq!(u64::from(geometry.points()), points_of(q, t));
        let before = points_of(q, t - 1) as u32;
        if t > 2 {
            let fewer = Geometry::new(q as u16, before).expect("a prime");
            assert_eq!(coordinates(&fewer), t - 1);
            assert_eq!(Geometry::new(q as u16, before + 1), Some(geometry));
        }
    }
    let odd = (0..=u16::MAX).filter(|q| q % 2 == 1 || *q <= 2);
    for q in odd.filter(|q| *q < 300 || *q > 65_400) {
        for outcomes in [0, 1, 2, 300, 65_537] {
            let fits = outcomes <= u32::from(q) + 1 || q < 4096;
            let wanted = is_prime(q.into()) && outcomes > 0 && fits;
            assert_eq!(Geometry::new(q, outcomes).is_some(), wanted, "{q}");
        }
    }
    // 3^16 points are too many, 2^24 − 1 are allowed.
    assert_eq!(Geometry::new(3, 8_000_000), None);
    assert_eq!(Geometry::new(2, 1 << 24), None);
    let largest = Geometry::new(2, (1 << 24) - 1).expect("24 coordinates");
    assert_eq!(
        (coordinates(&largest), largest.points()),
        (24, (1 << 24) - 1)
    );
}

/// Two to half the modulus, which is the least prime from 5 on that has a number for each outcome.
#[test]
fn progressions_have_the_least_modulus_with_room() {
    for outcomes in (0..400).chain([5787, 5788, 5791, 5792, 70_000]) {
        let least = (outcomes.max(5)..).find(|v| is_prime(*v));
        let modulus = least.filter(|v| outcomes > 0 && *v <= 5791);
        for terms in (0..220).chain([2895, 2896, 32_767]) {
            let found = Geometry::new(2 * terms, outcomes);
            let terms = u32::from(terms);
            if terms < 2 {
                // Order 2 is that of hyperplanes.
                assert!(found.is_none() || terms == 1);
                continue;
            }
            let wanted = modulus.filter(|v| terms <= v / 2);
            let found = found.map(|own| match own.shape() {
                Shape::Progressions {
                    modulus,
                    terms: own,
                } => {
                    assert_eq!(u32::from(own), terms);
                    u32::from(modulus)
                }
                shape => panic!("{shape:?}"),
            });
            assert_eq!(found, wanted, "{terms} of {outcomes}");
        }
    }
}

// --- The law

/// One side of the coin: its share, and the point of each index.
struct Side {
    start: u128,
    end: u128,
    points: Vec<u32>,
}

/// A mechanism split into the parts of its law: an outcome has two sides, and their shares are in
/// 0..total.
fn law_of(sides: &[Side], total: u128, points: u32) -> Law {
    let mut numerators = vec![BigUint::ZERO; points as usize];
    for side in sides {
        let count = side.points.len() as u128;
        let share = draws_in(side.start, side.end, total);
        for (rank, point) in (0..).zip(&side.points) {
            numerators[*point as usize] += &share * draws_in(rank, rank + 1, count);
        }
    }
    Law {
        numerators,
        bits: 256,
    }
}

/// The law of the code for an outcome, from its draws for the first and the last random words of
/// every interval.
fn walked(geometry: &Geometry, outcome: u32, micro: u32) -> (Vec<Side>, u128) {
    let (first, other) = Geometry::weights(epsilon(micro));
    let [first, other] = [first, other].map(u128::from);
    let [k, c] = [geometry.points(), geometry.preferred()].map(u128::from);
    let (share, total) = (c * first, c * first + (k - c) * other);
    let sides = [(0, share, c), (share, total, k - c)].map(|(start, end, count)| {
        let drawn = |rank| {
            let draws = [ends(start, end, total), ends(rank, rank + 1, count)];
            let [low, high] = [0, 1].map(|end| {
                let words = draws.map(|draw| draw[end]).concat();
                let mut words = FixedWords(&words);
                let point = hazmat::draw_point(geometry, outcome, epsilon(micro), &mut words);
                assert!(words.0.is_empty(), "words were left over");
                point
            });
            assert_eq!(low, high, "one index, two points");
            low
        };
        let points = (0..count).map(drawn).collect();
        Side { start, end, points }
    });
    (sides.into(), total)
}

/// The theorem, and that the code has this law. For every geometry of at most 150 points and every
/// outcome, each point of its set and each other point is drawn by exactly one index, and the laws
/// of any two outcomes are within e^ε.
#[test]
fn no_two_texts_exceed_epsilon() {
    let mut pairs = 0;
    let most = if undertone_tests::soak() { 400 } else { 150 };
    for (number, (geometry, sets)) in all_geometries(most).into_iter().enumerate() {
        let points = geometry.points() as usize;
        // Sides have the points of another ε; small geometries are complete.
        let some = if points <= 15 { EPSILONS.len() } else { 1 };
        let from = number % EPSILONS.len();
        for micro in EPSILONS.iter().cycle().skip(from).take(some) {
            let what = format!("{geometry:?} ε {micro}e-6");
            let mut laws = Vec::new();
            for (outcome, set) in (0..).zip(&sets) {
                let (sides, total) = walked(&geometry, outcome, *micro);
                let [inside, outside] = [0, 1].map(|side| {
                    let points: BTreeSet<u32> = sides[side].points.iter().copied().collect();
                    assert_eq!(points.len(), sides[side].points.len(), "{what}");
                    points
                });
                assert_eq!(&inside, set, "{what} {outcome}");
                assert!(outside.is_disjoint(set), "{what} {outcome}");
                assert_eq!(inside.len() + outside.len(), points, "{what}");
                let law = law_of(&sides, total, geometry.points());
                let sum: BigUint = law.numerators.iter().sum();
                assert_eq!(sum, BigUint::from(1u32) << law.bits, "{what}");
                laws.push(law);
            }
            assert!(all_within(&laws, &exp(u64::from(*micro), MICRO)), "{what}");
            // It is nearly attained, up to the rounding of weights to integers of at most 2^40.
            let most = (f64::from(*micro) * 1e-6).min(40.0 * std::f64::consts::LN_2);
            let loss = laws[0].loss(&laws[1]);
            assert!(
                (0.999 * most..=most + 1e-12).contains(&loss),
                "{what}: {loss}"
            );
            pairs += laws.len() * laws.len();
        }
    }
    println!("{pairs} pairs of texts");
}

/// Weights never exceed their promise, and are those of the definition: ⌈2⁴⁰·e^(−ε)⌉, or slightly
/// more.
#[test]
fn weights_keep_their_ratio() {
    let mut rng = PublicRng::new(0x7e57_9001);
    let random = (0..2000).map(|_| 1 + below(&mut rng, 40 * u128::from(MICRO)) as u32);
    for micro in EPSILONS.into_iter().chain(random.collect::<Vec<_>>()) {
        let (first, other) = Geometry::weights(epsilon(micro));
        assert_eq!(first, 1 << 40);
        assert!(other >= 1);
        let exact = exp(micro.into(), MICRO);
        let promised = BigUint::from(other) * &exact.lower;
        assert!(BigUint::from(first) << PRECISION <= promised, "{micro}");
        let wanted = (first as f64 * (-f64::from(micro) * 1e-6).exp()).max(1.0);
        assert!(other as f64 <= wanted + 2.0, "{micro}: {other} of {wanted}");
    }
}

/// A planted bug.
#[derive(Clone, Copy, Debug)]
enum Bug {
    /// The complement is drawn from all points, so the preferred ones have too much. That alone
    /// changes ratios between outcomes only beyond W₀/W₁.
    AllPoints,
    /// The set of the next outcome but one lacks a point, so the normaliser moves.
    Moving,
    /// W₀/W₁ is e^1.1ε.
    Weights,
}

/// The check can fail.
#[test]
fn wrong_laws_are_caught() {
    let all = all_geometries(40).into_iter();
    let some = all.filter(|(own, _)| [4, 6, 7, 10, 13, 21, 31].contains(&own.points()));
    let some: Vec<_> = some.collect();
    assert!(some.len() >= 6);
    for (geometry, sets) in some {
        let k = geometry.points();
        for micro in [500_000, 1_000_000, 3_000_000] {
            for bug in [Bug::AllPoints, Bug::Moving, Bug::Weights] {
                let spent = match bug {
                    Bug::Weights => micro + micro / 10,
                    _ => micro,
                };
                let (first, other) = Geometry::weights(epsilon(spent));
                let laws: Vec<Law> = (0..)
                    .zip(&sets)
                    .map(|(v, set)| {
                        let mut inside: Vec<u32> = set.iter().copied().collect();
                        let all = 0..k;
                        let mut outside: Vec<u32> = all.filter(|w| !set.contains(w)).collect();
                        match bug {
                            Bug::AllPoints => outside = (0..k).collect(),
                            Bug::Moving if v % 2 == 1 && inside.len() > 1 => {
                                outside.extend(inside.pop());
                            }
                            // The last outcome prefers one point more.
                            Bug::Moving if v % 2 == 1 => inside.extend(outside.pop()),
                            _ => {}
                        }
                        let [share, rest] = [(first, inside.len()), (other, outside.len())]
                            .map(|(weight, count)| u128::from(weight) * count as u128);
                        // A draw from all points has the shares of the rule.
                        let rest = match bug {
                            Bug::AllPoints => {
                                u128::from(other) * (k - geometry.preferred()) as u128
                            }
                            _ => rest,
                        };
                        let sides = [(0, share, inside), (share, share + rest, outside)];
                        let sides = sides.map(|(start, end, points)| Side { start, end, points });
                        law_of(&sides, share + rest, k)
                    })
                    .collect();
                let within = all_within(&laws, &exp(u64::from(micro), MICRO));
                assert!(!within, "{bug:?} {geometry:?} {micro}");
            }
        }
    }
}

/// The variance by its definition, in floats: of all points, those preferred, those shared, for n
/// outcomes.
fn variance([k, c, shared]: [f64; 3], n: u32, micro: u32) -> f64 {
    let (first, other) = Geometry::weights(epsilon(micro));
    let e = first as f64 / other as f64;
    let z = c * e + k - c;
    let (p, r) = (c * e / z, (shared * e + c - shared) / z);
    let n = f64::from(n);
    // Not 1 − p and not p − r, which may be too small for floats.
    let difference = (c - shared) * ((first - other) as f64 / other as f64) / z;
    (p * (k - c) / z + (n - 1.0) * r * (1.0 - r)) / n / difference.powi(2)
}

/// No order has a smaller error than the chosen one, except by the value of a few points.
#[test]
fn the_best_geometry_is_the_best_of_all() {
    let orders: Vec<u32> = (2..=u32::from(u16::MAX))
        .filter(|q| q % 2 == 1 || *q == 2)
        .collect();
    let sieve: Vec<u32> = orders
        .into_iter()
        .filter(|q| (2..=q.isqrt()).all(|d| !q.is_multiple_of(d)))
        .collect();
    assert_eq!(sieve.len(), 6542);
    let mut found = BTreeMap::new();
    for outcomes in [1, 2, 3, 11, 13, 21, 78, 151, 1000, 5001, 65_537] {
        for micro in EPSILONS
            .into_iter()
            .chain([2_000_000, 5_000_000, 7_000_000])
        {
            let of = |geometry: &Geometry| {
                let counts = [geometry.points(), geometry.preferred(), geometry.shared()];
                let own = variance(counts.map(f64::from), outcomes, micro);
                let said = geometry.variance(outcomes, epsilon(micro));
                assert!((said / own - 1.0).abs() < 1e-9, "{geometry:?}");
                own
            };
            let best = Geometry::best(outcomes, epsilon(micro)).expect("room");
            assert_eq!(Geometry::new(best.order(), outcomes), Some(best));
            let least_of = |orders: &mut dyn Iterator<Item = u16>| {
                let all = orders.filter_map(|order| Geometry::new(order, outcomes));
                all.map(|own| of(&own)).fold(f64::INFINITY, f64::min)
            };
            let hyperplanes = least_of(&mut sieve.iter().map(|q| *q as u16));
            let progressions = least_of(&mut (2..3000).map(|terms| 2 * terms));
            let by_progressions = progressions * 33.0 < hyperplanes * 32.0;
            let shape = best.shape();
            assert_eq!(matches!(shape, Shape::Progressions { .. }), by_progressions);
            let least = if by_progressions {
                progressions
            } else {
                hyperplanes
            };
            let own = of(&best);
            assert!(
                own <= least * (1.0 + 1e-9),
                "{outcomes} {micro}: {shape:?} has {own}, not {least}"
            );
            found.insert((outcomes, micro), shape);
        }
    }
    // A few known values, so that a change is noticed.
    let progressions = |modulus, terms| Shape::Progressions { modulus, terms };
    let hyperplanes = |order, coordinates| Shape::Hyperplanes { order, coordinates };
    assert_eq!(found[&(11, 1_000_000)], progressions(11, 3));
    assert_eq!(found[&(78, 3_000_000)], progressions(79, 4));
    assert_eq!(found[&(151, 1_000_000)], progressions(151, 41));
    assert_eq!(found[&(151, 500_000)], hyperplanes(3, 6));
    assert_eq!(found[&(5001, 1_000_000)], hyperplanes(3, 9));
    assert_eq!(found[&(21, 10_000_000)], hyperplanes(23, 2));
    let best = |outcomes| Geometry::best(outcomes, epsilon(1_000_000)).map(|own| own.order());
    assert_eq!([0, (1 << 24) - 1, 1 << 24].map(best), [None, Some(2), None]);
}

/// The pages state from how many candidates on estimates err less than by the whole-text rule.
#[test]
fn many_candidates_are_estimated_better_than_by_the_whole_text_rule() {
    for (micro, candidates) in [(1_000_000, 6), (3_000_000, 32), (5_000_000, 230)] {
        let errs_less = |candidates: u32| {
            let outcomes = candidates + 1;
            let best = Geometry::best(outcomes, epsilon(micro)).expect("room");
            let whole_text = variance([outcomes.into(), 1.0, 0.0], outcomes, micro);
            best.variance(outcomes, epsilon(micro)) < whole_text * (1.0 - 1e-9)
        };
        assert!(errs_less(candidates) && errs_less(candidates + candidates / 5));
        assert!(!errs_less(candidates / 2), "{candidates}");
    }
}

// --- Packs and texts

/// The same number of kinds of sentences and of candidates, each kind best for one candidate.
fn parts(n: usize) -> ScoreParts {
    let row = |best| (0..n).map(|c| u8::from(c == best)).collect();
    let table: Vec<Vec<u8>> = (0..n).map(row).collect();
    ScoreParts::of_table(&table, 1)
}

/// Documents end to end: the point is determined by the best outcome and the random words, and
/// "nothing known" is a release like any other. A pack that leaves "nothing known" out has the
/// geometry of n outcomes, and another mechanism.
#[test]
fn documents_release_the_points_of_their_best_outcome() {
    let mut orders = BTreeSet::new();
    let cases = [1, 2, 3, 12, 60].map(|n| [(n, true), (n, false)]).concat();
    for (n, has_nothing_known) in cases.into_iter().filter(|case| *case != (1, false)) {
        let parts = parts(n);
        let with_nothing_known = parts.to_pack();
        let (bytes, mechanism, outcomes) = if has_nothing_known {
            (with_nothing_known, Mechanism::Projective, n as u32 + 1)
        } else {
            let bytes = without_nothing_known(with_nothing_known);
            (bytes, Mechanism::ProjectiveKnown, n as u32)
        };
        // All biases are equal.
        let unknown = if has_nothing_known { n as u32 } else { 0 };
        let pack = Pack::parse(&bytes).expect("a pack");
        let mut document = Document::new(&pack).expect("candidates");
        let grant = |micro| Grant::unrecorded(Unit::WholeText, epsilon(micro));
        for kind in 0..=n {
            for micro in EPSILONS {
                // A sentence of zeroes has no known word.
                let sentence = if kind < n {
                    parts.one_hot(kind)
                } else {
                    vec![0.0; n]
                };
                document.push(&sentence).expect("room");
                let best = if kind < n { kind as u32 } else { unknown };
                assert_eq!(hazmat::best(&document), Ok(best));
                let geometry = Geometry::best(outcomes, epsilon(micro)).expect("room");
                let words = [micro.into(), kind as u64, u64::from(micro) << 32, 5]
                    .map(|word: u64| word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let point =
                    hazmat::draw_point(&geometry, best, epsilon(micro), &mut FixedWords(&words));
                let drawn =
                    hazmat::draw_projective(&document, epsilon(micro), &mut FixedWords(&words));
                assert_eq!(drawn, Ok((geometry, point)));
                assert_eq!(document.sentence_count(), 1);

                let key = [kind as u8 + 1; 32];
                let release = document
                    .release_projective(grant(micro), &mut FixedEntropy::new(&key))
                    .expect("entropy");
                assert_eq!(release.mechanism(), mechanism);
                assert_eq!(release.rule(), Rule::Exponential);
                assert_eq!(release.epsilon(), epsilon(micro));
                assert_eq!(release.pack_id(), pack.id());
                assert_eq!(release.order().map(Order::number), Some(geometry.order()));
                let number = release.number();
                assert!(number < geometry.points());
                let point = Outcome::Point { geometry, number };
                assert_eq!(release.outcome(n as u32), Some(point));
                // An ε so large that chance hardly moves it.
                if micro >= 28_000_000 {
                    assert!(geometry.contains(best, number));
                }
                let bytes = release.to_bytes();
                assert_eq!(bytes[4..6], [if has_nothing_known { 8 } else { 12 }, 2]);
                assert_eq!(bytes[6..8], geometry.order().to_le_bytes());
                assert_eq!(bytes[12..16], number.to_le_bytes());
                assert_eq!(Release::from_bytes(&bytes), Ok(release));
                if !has_nothing_known {
                    assert_eq!(release.outcome(1), None);
                }
                assert_eq!(document.sentence_count(), 0);
                assert_eq!(hazmat::best(&document), Ok(unknown), "wiped");
                orders.insert(geometry.order());
            }
        }
        // The empty document, and a source that fails.
        let one = || grant(MICRO as u32);
        let released = document.release_projective(one(), &mut FixedEntropy::new(&[1; 32]));
        assert!(released.is_ok());
        document.push(&parts.one_hot(0)).expect("room");
        let failed = document.release_projective(one(), &mut FixedEntropy::new(&[]));
        assert_eq!(failed, Err(DocumentError::Entropy));
        assert_eq!(document.sentence_count(), 1);
    }
    assert!(orders.len() >= 5, "{orders:?}");
}

/// A server refuses releases that no device makes. The number of a point does not determine its
/// order.
#[test]
fn forged_releases_are_refused() {
    let bytes = parts(3).to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    let mut document = Document::<'_>::new(&pack).expect("candidates");
    let grant = Grant::unrecorded(Unit::WholeText, epsilon(MICRO as u32));
    let release = document
        .release_projective(grant, &mut FixedEntropy::new(&[1; 32]))
        .expect("entropy")
        .to_bytes();
    for order in 0..=u16::MAX {
        let mut forged = release;
        forged[6..8].copy_from_slice(&order.to_le_bytes());
        let read = Release::from_bytes(&forged);
        if [1, 5791]
            .iter()
            .any(|outcomes| Geometry::new(order, *outcomes).is_some())
        {
            assert_eq!(read.map(|r| r.to_bytes()), Ok(forged));
        } else {
            let refused = ReleaseFormatError::Field {
                name: "order of the geometry",
                found: order.into(),
            };
            assert_eq!(read, Err(refused));
        }
        // No other mechanism has an order.
        for (mechanism, rule) in [(1, 1), (2, 2), (7, 2)] {
            forged[4..6].copy_from_slice(&[mechanism, rule]);
            assert_eq!(Release::from_bytes(&forged).is_ok(), order == 0);
        }
    }
    let mut flipped = release;
    flipped[5] = 1;
    let refused = ReleaseFormatError::Field {
        name: "rule",
        found: 1,
    };
    assert_eq!(Release::from_bytes(&flipped), Err(refused));
}
