//! Statistics of samples: goodness of fit, independence, confidence bounds, and privacy loss.

use std::collections::{BTreeMap, HashMap};

use statrs::function::beta::inv_beta_reg;
use statrs::function::gamma::gamma_ur;

/// Maximum number of bounds and of tests of fit in an audit; they share its error rates.
pub const MOST: u32 = 1000;

/// The probability that any of the bounds of an audit is wrong: together they hold with 99.9 %.
pub const WRONG: f64 = 1e-3;

/// The probability that any test of fit of an audit fails for a correct device.
pub const FALSE_ALARM: f64 = 1e-9;

/// The share of [`WRONG`] for one bound.
pub fn alpha() -> f64 {
    WRONG / f64::from(MOST)
}

/// The p-value below which one test of fit fails: its share of [`FALSE_ALARM`].
pub fn threshold() -> f64 {
    FALSE_ALARM / f64::from(MOST)
}

/// The p-value of the G-test of `observed` counts against `expected` probabilities.
///
/// Cells with fewer than 10 expected observations are pooled, so that the chi-square tail is
/// accurate. An observation in a cell of probability 0 makes p = 0. Empty cells count.
pub fn g_test(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    let total = observed.iter().sum::<u64>() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut pool = (0.0, 0.0);
    for (count, probability) in observed.iter().zip(expected) {
        if *probability <= 0.0 {
            if *count > 0 {
                return 0.0;
            }
            continue;
        }
        let cell = (*count as f64, probability * total);
        if cell.1 >= 10.0 {
            cells.push(cell);
        } else {
            pool = (pool.0 + cell.0, pool.1 + cell.1);
        }
    }
    if pool.1 >= 10.0 {
        cells.push(pool);
    } else if pool.1 > 0.0 {
        // Pools a cell that is too small with the smallest other cell.
        let smallest = cells.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1));
        let smallest = smallest.expect("a cell with 10 expected observations");
        *smallest = (smallest.0 + pool.0, smallest.1 + pool.1);
    }
    let g: f64 = cells
        .iter()
        .filter(|(count, _)| *count > 0.0)
        .map(|(count, expectation)| 2.0 * count * (count / expectation).ln())
        .sum();
    match cells.len() {
        0 | 1 => 1.0,
        n => chi_square_tail(g, n - 1),
    }
}

/// The probability that a chi-square variable with `freedom` degrees exceeds `x`.
fn chi_square_tail(x: f64, freedom: usize) -> f64 {
    if x > 0.0 {
        gamma_ur(freedom as f64 / 2.0, x / 2.0)
    } else {
        1.0
    }
}

/// The p-value of the Kolmogorov–Smirnov test that `sample` is uniform on 0..=1. To test
/// another continuous law, apply its distribution function to the sample first. Sorts the sample.
pub fn uniform_test(sample: &mut [f64]) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let ranks = (0u32..).map(f64::from);
    let distance = sample
        .iter()
        .zip(ranks)
        .map(|(u, rank)| (u - rank / n).max((rank + 1.0) / n - u))
        .fold(0.0, f64::max);
    // Stephens 1970: the asymptotic law at this argument is accurate from a few observations on.
    let x = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    let terms = (1..=100).map(|k| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * (f64::from(k) * x).powi(2)).exp()
    });
    if x < 0.2 {
        1.0
    } else {
        terms.sum::<f64>().clamp(0.0, 1.0)
    }
}

/// Clopper and Pearson's lower bound: the probability at which `hits` or more in `trials` occur
/// with probability at most `alpha`. The true probability is smaller with probability at most
/// `alpha`.
pub fn lower_bound(hits: u64, trials: u64, alpha: f64) -> f64 {
    assert!(hits <= trials && trials > 0);
    if hits == 0 {
        return 0.0;
    }
    inv_beta_reg(hits as f64, (trials - hits) as f64 + 1.0, alpha)
}

/// Clopper and Pearson's upper bound; see `lower_bound`.
pub fn upper_bound(hits: u64, trials: u64, alpha: f64) -> f64 {
    1.0 - lower_bound(trials - hits, trials, alpha)
}

/// Cells of a law for [`g_test`]: outcomes in the order of `rank`, merged until `draws` draws have
/// on average at least `least` of them. Returns the cell of each outcome, and the probability of
/// each cell.
pub fn cells<K: PartialOrd>(
    law: &[f64],
    draws: usize,
    least: f64,
    rank: impl Fn(usize) -> K,
) -> (Vec<usize>, Vec<f64>) {
    let mut order: Vec<usize> = (0..law.len()).collect();
    order.sort_by(|a, b| {
        let order = rank(*a).partial_cmp(&rank(*b));
        order.unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut cell = vec![0; law.len()];
    let mut probabilities: Vec<f64> = Vec::new();
    let (mut open, mut sum) = (Vec::new(), 0.0);
    for outcome in order {
        open.push(outcome);
        sum += law[outcome];
        if sum * draws as f64 >= least {
            for outcome in open.drain(..) {
                cell[outcome] = probabilities.len();
            }
            probabilities.push(sum);
            sum = 0.0;
        }
    }
    // The remainder joins the last cell.
    if probabilities.is_empty() {
        probabilities.push(0.0);
    }
    let last = probabilities.len() - 1;
    for outcome in open {
        cell[outcome] = last;
    }
    probabilities[last] += sum;
    (cell, probabilities)
}

/// The p-value of the G-test that the row and the column of an observation are independent. The
/// caller should have merged rows and columns with fewer than 10 expected observations in a cell.
pub fn independence_test(rows: &[usize], columns: &[usize]) -> f64 {
    let pairs = rows.iter().zip(columns);
    let total = pairs.len() as f64;
    let mut joint: HashMap<(usize, usize), u64> = HashMap::new();
    let (mut rows, mut columns): (BTreeMap<usize, u64>, BTreeMap<usize, u64>) = Default::default();
    for (row, column) in pairs {
        *joint.entry((*row, *column)).or_default() += 1;
        *rows.entry(*row).or_default() += 1;
        *columns.entry(*column).or_default() += 1;
    }
    let g: f64 = joint
        .iter()
        .map(|((row, column), count)| {
            let count = *count as f64;
            let expected = rows[row] as f64 * columns[column] as f64 / total;
            2.0 * count * (count / expected).ln()
        })
        .sum();
    match (rows.len() - 1) * (columns.len() - 1) {
        0 => 1.0,
        freedom => chi_square_tail(g, freedom),
    }
}

/// Evidence of two samples for the loss between their laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// ln (Pr\[S\] / Pr'\[S\]) is at least this, for a set S of outcomes and one of the two orders.
    pub bound: f64,
    /// Counts of S among the judging draws, first under the law where S is more likely.
    pub hits: [u64; 2],
}

impl Loss {
    /// The loss that these samples show by an event that was chosen without looking at them, and
    /// that seems more likely on this side. By Clopper and Pearson, it is wrong with a probability
    /// of at most `alpha`.
    pub(crate) fn new<Y>(
        samples: [&[Y]; 2],
        side: usize,
        is_event: impl Fn(&Y) -> bool,
        alpha: f64,
    ) -> Self {
        let samples = [side, 1 - side].map(|side| samples[side]);
        let hits = samples.map(|sample| sample.iter().filter(|y| is_event(y)).count() as u64);
        let p = lower_bound(hits[0], samples[0].len() as u64, alpha / 2.0);
        let q = upper_bound(hits[1], samples[1].len() as u64, alpha / 2.0);
        Self {
            bound: (p / q).ln(),
            hits,
        }
    }
}

/// The quantile of the normal law for half of [`alpha`], the share of one side of a bound.
const QUANTILE: f64 = 5.0;

/// An estimate of the [`Loss`] that this many draws of each law show by an event with these
/// probabilities. It uses Wilson's bounds, because Clopper and Pearson's take a hundred times
/// longer.
pub(crate) fn shown(p: f64, other: f64, draws: u64) -> f64 {
    let n = draws.max(1) as f64;
    let z = QUANTILE * QUANTILE / n;
    let bound = |p: f64, sign: f64| {
        let spread = (z * (p * (1.0 - p)).max(0.0) + z * z / 4.0).sqrt();
        (p + z / 2.0 + sign * spread) / (1.0 + z)
    };
    let (low, high) = (bound(p, -1.0), bound(other, 1.0));
    if low > 0.0 {
        (low / high).ln()
    } else {
        f64::NEG_INFINITY
    }
}

/// The event by which draws of these two laws show most of the loss between them: among the
/// outcomes that one law makes more likely, those with the largest ratio. Returns the side on which
/// it is more likely, and its outcomes.
pub(crate) fn event(laws: [&[f64]; 2], draws: u64) -> (usize, Vec<bool>) {
    let mut best = (f64::NEG_INFINITY, 0, Vec::new());
    for side in [0, 1] {
        let [law, other] = [laws[side], laws[1 - side]];
        let mut order: Vec<usize> = (0..law.len()).collect();
        order.sort_by(|a, b| (law[*b] / other[*b]).total_cmp(&(law[*a] / other[*a])));
        let mut sum = [0.0; 2];
        for (index, outcome) in order.iter().enumerate() {
            sum = [sum[0] + law[*outcome], sum[1] + other[*outcome]];
            let shown = shown(sum[0], sum[1], draws);
            if shown > best.0 {
                best = (shown, side, order[..=index].to_vec());
            }
        }
    }
    let (_, side, outcomes) = best;
    let mut event = vec![false; laws[0].len()];
    outcomes
        .into_iter()
        .for_each(|outcome| event[outcome] = true);
    (side, event)
}

/// The rank of a set of outcomes with these counts among the choosing draws, about its bound.
/// `None` for rare sets, which would win by chance.
fn promise([a, b]: [u64; 2]) -> Option<f64> {
    let [a, b] = [a, b].map(|count| count as f64);
    (a >= 100.0).then(|| (a - 3.3 * a.sqrt()) / (b + 3.3 * b.sqrt() + 7.0))
}

/// A lower bound on the loss between the laws of two samples of outcomes, wrong with a probability
/// of at most `alpha`: one half of the draws chooses a set of outcomes, the other half judges it.
///
/// # Panics
/// If a sample has fewer than two draws.
pub fn loss_of_outcomes(samples: [&[u32]; 2], alpha: f64) -> Loss {
    let halves = samples.map(|sample| sample.split_at(sample.len() / 2));
    let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for (side, (choosing, _)) in halves.iter().enumerate() {
        for outcome in *choosing {
            counts.entry(*outcome).or_default()[side] += 1;
        }
    }
    let mut best = (f64::NEG_INFINITY, 0, Vec::new());
    for side in [0, 1] {
        let mut order: Vec<(u32, [u64; 2])> = counts
            .iter()
            .map(|(outcome, counts)| (*outcome, [counts[side], counts[1 - side]]))
            .collect();
        // The best set of each size is a prefix of this order.
        let ratio = |[a, b]: [u64; 2]| (a as f64 + 0.5) / (b as f64 + 0.5);
        order.sort_by(|a, b| ratio(b.1).total_cmp(&ratio(a.1)));
        let mut sum = [0; 2];
        let mut chosen = None;
        for (index, (_, counts)) in order.iter().enumerate() {
            sum = [sum[0] + counts[0], sum[1] + counts[1]];
            for (from, counts) in [(0, sum), (index, *counts)] {
                if let Some(promise) = promise(counts).filter(|promise| *promise > best.0) {
                    best.0 = promise;
                    chosen = Some(from..index + 1);
                }
            }
        }
        if let Some(range) = chosen {
            let set = order[range].iter().map(|(outcome, _)| *outcome);
            best = (best.0, side, set.collect());
        }
    }
    let (_, side, mut set) = best;
    set.sort_unstable();
    let judging = halves.map(|(_, judging)| judging);
    Loss::new(judging, side, |y| set.binary_search(y).is_ok(), alpha)
}

/// A lower bound on the loss between the laws of two samples, wrong with a probability of at most
/// `alpha`. Each draw is a list of numbers, its features. An event is a range of one feature: a cell
/// of 1, `width` or 4·`width`, all below its end, or all from its start on. One half of the draws
/// chooses the best event, the other half judges it.
///
/// # Panics
/// If a sample has fewer than two draws, or draws of different numbers of features.
pub fn loss_of_features(samples: [&[Vec<i64>]; 2], width: i64, alpha: f64) -> Loss {
    let halves = samples.map(|sample| sample.split_at(sample.len() / 2));
    // The promise, the side on which the event is more likely, and the feature's range.
    let mut best = (f64::NEG_INFINITY, 0, (0, 0..0));
    for side in [0, 1] {
        let sample = [side, 1 - side].map(|side| halves[side].0);
        let all = sample.map(|sample| sample.len() as u64);
        for feature in 0..sample[0][0].len() {
            for width in [1, width, 4 * width] {
                let mut cells: BTreeMap<i64, [u64; 2]> = BTreeMap::new();
                for (side, sample) in sample.into_iter().enumerate() {
                    for y in sample {
                        cells.entry(y[feature].div_euclid(width)).or_default()[side] += 1;
                    }
                }
                let mut below = [0; 2];
                for (cell, counts) in &cells {
                    let mut consider = |counts, range| {
                        if let Some(promise) = promise(counts).filter(|promise| *promise > best.0) {
                            best = (promise, side, (feature, range));
                        }
                    };
                    let (start, end) = (cell * width, cell * width + width);
                    consider(*counts, start..end);
                    if width > 1 {
                        let from = [all[0] - below[0], all[1] - below[1]];
                        consider(from, start..i64::MAX);
                        below = [below[0] + counts[0], below[1] + counts[1]];
                        consider(below, i64::MIN..end);
                    }
                }
            }
        }
    }
    let (_, side, (feature, range)) = best;
    let judging = halves.map(|(_, judging)| judging);
    Loss::new(judging, side, |y| range.contains(&y[feature]), alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_match_tables() {
        for (x, freedom, p) in [
            (3.841, 1, 0.05),
            (16.266, 3, 0.001),
            (124.342, 100, 0.05),
            (0.0, 5, 1.0),
            // The threshold of an audit.
            (50.844, 1, 1e-12),
            (55.262, 2, 1e-12),
        ] {
            let tail = chi_square_tail(x, freedom);
            assert!((tail / p - 1.0).abs() < 2e-3, "{x}, {freedom}: {tail}");
        }
    }

    #[test]
    fn a_wrong_law_is_noticed() {
        assert!(g_test(&[5_000, 5_000], &[0.5, 0.5]) > 0.9);
        assert!(g_test(&[5_300, 4_700], &[0.5, 0.5]) < 1e-6);
        assert_eq!(g_test(&[9_999, 1], &[1.0, 0.0]), 0.0);
        // An empty cell is also evidence.
        assert!(g_test(&[10_000, 0], &[0.99, 0.01]) < 1e-6);
    }

    #[test]
    fn uniform_samples_are_told_from_others() {
        let mut even: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
        assert!(uniform_test(&mut even) > 0.999);
        // D = 0.05 + 0.0005 of 1000: x = 1.6, p = 0.012.
        let mut shifted: Vec<f64> = even.iter().map(|u| u * 0.95 + 0.05).collect();
        let p = uniform_test(&mut shifted);
        assert!((0.01..0.014).contains(&p), "{p}");
        let mut squares: Vec<f64> = even.iter().map(|u| u * u).collect();
        assert!(uniform_test(&mut squares) < 1e-40);
    }

    #[test]
    fn dependence_is_noticed() {
        let coin = |i: usize| (i * i / 7 + i / 3) % 2;
        let sample = |of: &dyn Fn(usize) -> usize| -> Vec<usize> { (0..2000).map(of).collect() };
        assert!(independence_test(&sample(&|i| i % 2), &sample(&|i| i / 2 % 2)) > 0.9);
        assert!(independence_test(&sample(&coin), &sample(&coin)) < 1e-100);
        assert_eq!(independence_test(&[0, 0], &[0, 1]), 1.0);
    }

    #[test]
    fn cells_keep_all_of_a_law() {
        let law = [0.3, 0.001, 0.002, 0.4, 0.297];
        let (cell, probabilities) = cells(&law, 100, 10.0, |outcome| law[outcome]);
        assert_eq!(cell, [1, 0, 0, 2, 0]);
        let sums = [0.3, 0.3, 0.4];
        for (p, sum) in probabilities.iter().zip(sums) {
            assert!((p - sum).abs() < 1e-12, "{probabilities:?}");
        }
        assert_eq!(cells(&[0.5, 0.5], 1, 10.0, |i| i).1, [1.0]);
    }

    /// Bounds approach the loss between (3/4, 1/4) and (1/4, 3/4), ln 3, and never exceed it.
    #[test]
    fn losses_are_bounded_from_below() {
        let sample =
            |ones: usize| -> Vec<u32> { (0..40_000).map(|i| u32::from(i % 4 < ones)).collect() };
        let (few, many) = (sample(1), sample(3));
        let loss = loss_of_outcomes([&few, &many], 1e-3);
        assert!(
            loss.bound < 3f64.ln() && loss.bound > 3f64.ln() - 0.1,
            "{loss:?}"
        );
        let features = |sample: &[u32]| {
            sample
                .iter()
                .map(|y| vec![0, i64::from(*y)])
                .collect::<Vec<_>>()
        };
        let loss = loss_of_features([&features(&few), &features(&many)], 2, 1e-3);
        assert!(
            loss.bound < 3f64.ln() && loss.bound > 3f64.ln() - 0.1,
            "{loss:?}"
        );
        assert!(loss_of_outcomes([&few, &few], 1e-3).bound < 0.0);
    }

    /// A prediction before drawing agrees with the result to a tenth, and never exceeds the loss.
    #[test]
    fn what_draws_show_is_foreseen() {
        // The first of ten outcomes is likely under one law and rare under the other.
        for rest in [0.007, 0.05, 0.09] {
            let first = 1.0 - 9.0 * rest;
            let law: Vec<f64> = (0..10).map(|y| if y == 0 { first } else { rest }).collect();
            let other: Vec<f64> = (0..10)
                .map(|y| {
                    if y == 0 {
                        rest / 10.0
                    } else {
                        (1.0 - rest / 10.0) / 9.0
                    }
                })
                .collect();
            let draws = 20_000;
            let sample = |law: &[f64]| -> Vec<u32> {
                let of =
                    |(y, p): (usize, &f64)| vec![y as u32; (p * draws as f64).round() as usize];
                law.iter().enumerate().flat_map(of).collect()
            };
            let (side, event) = event([&other, &law], draws);
            assert_eq!((side, event.iter().filter(|y| **y).count()), (1, 1));
            let samples = [&sample(&other)[..], &sample(&law)];
            let loss = Loss::new(samples, side, |y| event[*y as usize], alpha());
            let foreseen = shown(first, rest / 10.0, draws);
            let exact = (first / rest * 10.0).ln();
            assert!((loss.bound - foreseen).abs() < 0.3, "{loss:?}, {foreseen}");
            assert!(
                loss.bound < exact && foreseen < exact,
                "{loss:?}, {foreseen}"
            );
        }
        assert_eq!(shown(0.0, 0.1, 0), f64::NEG_INFINITY);
    }

    #[test]
    fn confidence_bounds_match_closed_forms() {
        // All of n: alpha^(1/n). One of n: 1 - (1 - alpha)^(1/n).
        for n in [1u64, 10, 1000] {
            let root = 1.0 / n as f64;
            assert!((lower_bound(n, n, 0.001) - 0.001f64.powf(root)).abs() < 1e-9);
            assert!((lower_bound(1, n, 0.001) - (1.0 - 0.999f64.powf(root))).abs() < 1e-9);
            assert!((upper_bound(0, n, 0.001) - (1.0 - 0.001f64.powf(root))).abs() < 1e-9);
            assert_eq!(
                (lower_bound(0, n, 0.001), upper_bound(n, n, 0.001)),
                (0.0, 1.0)
            );
        }
    }
}
