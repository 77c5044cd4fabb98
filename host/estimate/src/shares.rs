//! Statement (a): the share of texts that the pack's own classifier would assign to each candidate.
//!
//! It holds for any texts and assumes only honest devices. It is about the best candidate, not
//! about the truth: a classifier errs.
//!
//! # The interval
//! Releases are independent. Answer v prefers a release with probability `own` if v is the best
//! candidate of its text, else with probability `other`. So N_v, the number of releases that v
//! prefers, is a sum of independent coins of unequal chances. Its tails are no heavier than those
//! of a binomial of the same mean (Hoeffding 1956) in the range of these intervals, so the interval
//! of Clopper and Pearson 1934 for the mean has at least its nominal coverage. The share is an
//! increasing linear function of that mean.
//!
//! # The estimate
//! Unbiased estimates are about as uncertain for a rare candidate as for a frequent one, so most of
//! a table of many candidates would be noise. Each estimate is therefore the expected share given
//! all unbiased estimates of the table: outstanding candidates keep nearly their own, and the rest
//! are taken to be about as rare as each other. The intervals do not depend on it.
//!
//! # Source
//! The unbiased estimate: Warner 1965; Feldman, Nelson, Nguyen and Talwar 2022. The expected share:
//! Kiefer and Wolfowitz 1956; Jiang and Zhang 2009. Shares with sum one: Wang et al. 2020.

use std::collections::BTreeMap;
use std::num::NonZero;

use statrs::distribution::{Beta, ContinuousCDF, Normal};
use undertone::error::Result;
use undertone_core::unit::Unit;

use crate::channel::Channel;
use crate::counts::Kind;
use crate::refused;
use crate::simplex::{expected, nearest};

/// The confidence of intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The level of each interval, or of all together: 0.95 means that 95 of 100 are right.
    pub level: f64,
    /// Whether all intervals of a table hold at once instead of each alone (Bonferroni).
    pub at_once: bool,
}

impl Default for Confidence {
    fn default() -> Self {
        Self {
            level: 0.95,
            at_once: false,
        }
    }
}

impl Confidence {
    /// The probability that one of `count` intervals may miss on one side.
    pub(crate) fn side(self, count: usize) -> f64 {
        let count = if self.at_once { count.max(1) } else { 1 };
        (1.0 - self.level) / 2.0 / count as f64
    }

    /// The confidence of each of several tables such that all of them hold at once, if `at_once`.
    #[must_use]
    pub fn among(self, tables: usize) -> Self {
        let tables = if self.at_once { tables.max(1) } else { 1 };
        Self {
            level: 1.0 - (1.0 - self.level) / tables as f64,
            ..self
        }
    }

    /// Refuses an invalid level.
    pub(crate) fn check(self) -> Result<()> {
        if self.level > 0.0 && self.level < 1.0 {
            Ok(())
        } else {
            Err(refused(format!(
                "the level {} does not lie between 0 and 1; take 0.95 for intervals of which 95 of 100 are right",
                self.level
            )))
        }
    }
}

/// An estimated share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// The point estimate. Those of a table have sum one.
    pub share: f64,
    /// The lower end of the interval, at least 0.
    pub low: f64,
    /// The upper end, at most 1.
    pub high: f64,
}

/// The shares of the candidates, and that of "nothing known" as the last, if it is an outcome.
/// Below, m + 1 is their number.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// The number of releases.
    pub releases: u64,
    /// `[m + 1]`.
    pub shares: Vec<Share>,
    /// `[m + 1]`: unbiased estimates, which may lie outside 0..=1 and have any sum.
    pub unbiased: Vec<f64>,
    /// Most that one forged release moves an unbiased estimate. A [`share`](Share::share) depends
    /// on all of these and may move a few times as much.
    pub moved: f64,
    /// Whether honest devices can release like this: false if an answer is rarer or more frequent
    /// than any texts make it. Honest devices get false less than once in a thousand estimates. If
    /// false, releases are forged or of another law, and the shares are meaningless.
    pub possible: bool,
    /// The fraction of releases of uninformative kinds.
    unknown: f64,
    /// `[m + 1]`: estimates and intervals from the other releases, before they are bounded to
    /// 0..=1.
    known: Vec<Share>,
}

/// The shares that releases of one kind give under a pack of `candidates`; `None` for sentence
/// releases, whose law depends on the text: see [`labels`](crate::labels).
///
/// # Errors
/// The errors of [`pooled`].
pub fn shares(
    kind: Kind,
    outcomes: &BTreeMap<u32, u64>,
    candidates: u32,
    confidence: Confidence,
) -> Result<Option<Shares>> {
    pooled(&[(kind, outcomes)], candidates, confidence)
}

/// The shares that releases of several kinds under one pack give together; releases by depth or
/// scores are left out. `None` if there are no others. The kinds must have one [`Population`].
///
/// Each kind is weighted by its number of releases, so the shares are those of all these texts,
/// whichever texts have which kind. Intervals of several kinds are combined by the method of
/// variance estimates recovery (Zou and Donner 2008), which assumes nearly symmetric intervals.
/// Kinds with too few releases for that share one interval, by Bernstein's inequality. A kind whose
/// own estimate could be off by half of everything is uninformative: its texts may be all or none
/// of a share. So one release with a tiny ε spoils nothing. If all kinds are uninformative, the
/// most precise one counts.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if there are no releases, for outcomes
/// that do not exist, for a level outside 0..1; those of [`Channel::new`].
pub fn pooled(
    samples: &[(Kind, &BTreeMap<u32, u64>)],
    candidates: u32,
    confidence: Confidence,
) -> Result<Option<Shares>> {
    confidence.check()?;
    let mut parts = Vec::new();
    for (kind, outcomes) in samples {
        let Some(channel) = Channel::new(*kind, candidates)? else {
            continue;
        };
        let most = kind.outcomes(candidates);
        let last = outcomes.last_key_value().map(|(outcome, _)| *outcome);
        if let Some(outcome) = last.filter(|outcome| u64::from(*outcome) >= most) {
            return Err(refused(format!(
                "outcome {outcome} of {kind} does not exist: there are {most} outcomes; count again with the candidates \
                 file, which sets forged releases aside"
            )));
        }
        let releases: u64 = outcomes.values().sum();
        if releases > 0 {
            parts.push((channel, releases, channel.votes(outcomes)));
        }
    }
    let off = |(channel, own, _): &Part| channel.deviation(0.0, *own as f64);
    let Some(least) = parts.iter().map(off).min_by(f64::total_cmp) else {
        let mut kinds = samples.iter().map(|(kind, _)| *kind);
        return if kinds.any(|kind| Population::of(kind).is_some()) {
            Err(refused("there are no releases"))
        } else {
            Ok(None)
        };
    };
    let releases: u64 = parts.iter().map(|(_, releases, _)| releases).sum();
    // A single kind is always informative: its interval is valid.
    let most = HALF.max(least * (1.0 + 1e-9));
    let taken: Vec<&Part> = parts.iter().filter(|part| off(part) < most).collect();
    let total: u64 = taken.iter().map(|(_, own, _)| own).sum();
    let unknown = 1.0 - total as f64 / releases as f64;
    let small = Small::of(&taken);
    let answers = parts.iter().map(|(channel, ..)| channel.answers());
    let answers = answers.max().unwrap_or(0);
    if parts.iter().any(|(own, ..)| own.answers() != answers) {
        return Err(refused(
            "releases with and without the outcome \"nothing known\" have no shares in common; estimate them apart",
        ));
    }
    let side = confidence.side(answers);
    let ends: Vec<Share> = (0..answers)
        .map(|answer| joined(&taken, &small, answer, side))
        .collect();
    let unbiased: Vec<f64> = ends.iter().map(|own| own.share).collect();
    let possible = parts.iter().all(|(channel, own, votes)| {
        votes.iter().all(|votes| {
            let side = RARE / 2.0 / (answers * parts.len()) as f64;
            let [low, high] = mean_of_coins(*votes, *own, side).map(|end| channel.unbiased(end));
            low <= 1.0 && high >= 0.0
        })
    });
    // Standard errors, for shares near these.
    let about = nearest(&unbiased);
    let deviation = |share: &f64| {
        let squares = taken.iter().map(|(channel, own, _)| {
            let part = *own as f64 / total as f64;
            (part * channel.error(*share, *own as f64)).powi(2)
        });
        squares.sum::<f64>().sqrt()
    };
    let deviations: Vec<f64> = about.iter().map(deviation).collect();
    let shares = expected(&unbiased, &deviations).into_iter().zip(&ends);
    let shares = shares.map(|(share, own)| Share {
        share,
        low: ((1.0 - unknown) * own.low).clamp(0.0, share),
        high: ((1.0 - unknown) * own.high + unknown).clamp(share, 1.0),
    });
    let weight = taken.iter().map(|(channel, ..)| channel.weight());
    Ok(Some(Shares {
        releases,
        shares: shares.collect(),
        unbiased,
        moved: (weight.fold(1.0, f64::max) / total as f64).min(1.0),
        possible,
        unknown,
        known: ends,
    }))
}

/// How often honest devices may be mistaken for forgers.
const RARE: f64 = 0.001;

/// Kinds whose votes have a smaller variance are not nearly symmetric.
const FEW: f64 = 20.0;

/// Releases of one kind: their number and, for each answer, the number that it prefers.
type Part = (Channel, u64, Vec<u64>);

fn is_small((channel, own, _): &Part) -> bool {
    channel.variance_of_coins() * (*own as f64) < FEW
}

/// The estimate of one answer from several kinds.
fn joined(parts: &[&Part], small: &Small, answer: usize, side: f64) -> Share {
    let total = parts.iter().map(|(_, own, _)| *own as f64).sum::<f64>();
    let (mut guess, mut below, mut above, mut of_small) = (0.0, 0.0, 0.0, 0.0);
    for one in parts {
        let (channel, own, votes) = one;
        let part = *own as f64 / total;
        let share = channel.unbiased(votes[answer] as f64 / *own as f64);
        guess += part * share;
        if small.kinds > 1 && is_small(one) {
            of_small += *own as f64 / small.releases * share;
            continue;
        }
        let [low, high] = mean_of_coins(votes[answer], *own, side).map(|end| channel.unbiased(end));
        if parts.len() == 1 {
            return Share { share, low, high };
        }
        below += (part * (share - low)).powi(2);
        above += (part * (high - share)).powi(2);
    }
    if small.kinds > 1 {
        let part = small.releases / total;
        let [low, high] = small.interval(of_small, side);
        below += (part * (of_small - low)).powi(2);
        above += (part * (high - of_small)).powi(2);
    }
    Share {
        share: guess,
        low: guess - below.sqrt(),
        high: guess + above.sqrt(),
    }
}

/// Kinds of few releases each, together.
#[derive(Default)]
struct Small {
    kinds: usize,
    releases: f64,
    /// Bounds on the variance of the estimate for a share of 0, and on its growth with the share.
    variance: f64,
    growth: f64,
    /// Most that one release moves the estimate up, and down, from its expectation.
    up: f64,
    down: f64,
}

impl Small {
    fn of(parts: &[&Part]) -> Self {
        let kinds = parts.iter().filter(|part| is_small(part));
        let releases: f64 = kinds.clone().map(|(_, own, _)| *own as f64).sum();
        let mut small = Self {
            releases,
            growth: f64::NEG_INFINITY,
            ..Self::default()
        };
        for (channel, own, _) in kinds {
            let moves = channel.weight() / releases;
            // The kinds of the texts with the answer are unknown, so the largest growth counts.
            let [other, one] = [channel.other(), channel.own()].map(|p| p * (1.0 - p));
            small.kinds += 1;
            small.variance += *own as f64 * moves * moves * other;
            small.growth = small.growth.max(releases * moves * moves * (one - other));
            small.up = small.up.max(moves * (1.0 - channel.other()));
            small.down = small.down.max(moves * channel.own());
        }
        small
    }

    /// The interval of the share, whose ends are by Bernstein's inequality with the variance at
    /// each end. It holds for any number of releases and is wider than necessary.
    fn interval(&self, guess: f64, side: f64) -> [f64; 2] {
        let wanted = -side.ln();
        let end = |sign: f64, moves: f64| {
            let surprise = |distance: f64| {
                let share = (guess + sign * distance).clamp(0.0, 1.0);
                let variance = (self.variance + self.growth * share).max(0.0);
                let square = distance * distance;
                square / (2.0 * (variance + moves * distance / 3.0)).max(f64::MIN_POSITIVE)
            };
            guess + sign * ascending(0.0, 0.1, wanted, |distance| surprise(distance.max(0.0)))
        };
        [end(-1.0, self.up), end(1.0, self.down)]
    }
}

/// Kinds of releases with a larger standard deviation are uninformative.
const HALF: f64 = 0.5;

/// The population that estimated shares are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Population {
    /// Texts.
    Texts,
    /// Texts, by releases without the outcome "nothing known".
    Known,
    /// Sentences drawn from k places: of a text of m sentences each counts with 1/max(k, m), and
    /// "nothing known" counts with the rest.
    Sentences(NonZero<u16>),
}

impl Population {
    /// The population of releases of this kind; `None` for releases by depth or scores.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind.places() {
            Some(places) => Some(Self::Sentences(places)),
            None if kind.is_known() => Some(Self::Known),
            None => is_whole_text(kind).then_some(Self::Texts),
        }
    }
}

/// Whether the guarantee of these releases covers the whole text.
pub fn is_whole_text(kind: Kind) -> bool {
    kind.mechanism().unit() == Unit::WholeText
}

/// The differences of the shares of two sets of releases, the second less the first. Both must have
/// the confidence that the difference requires. By the method of variance estimates recovery
/// (Newcombe 1998, Zou and Donner 2008). Texts of uninformative kinds may be all of a share in one
/// set and none in the other.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if their packs have different numbers
/// of candidates.
pub fn difference(first: &Shares, second: &Shares) -> Result<Vec<Share>> {
    if first.shares.len() != second.shares.len() {
        return Err(refused(format!(
            "shares of {} and of {} answers have no difference; compare releases of one pack",
            first.shares.len(),
            second.shares.len()
        )));
    }
    let of = |answer: usize| {
        let share = second.shares[answer].share - first.shares[answer].share;
        let of = |own: &Shares| {
            let (known, part) = (own.known[answer], 1.0 - own.unknown);
            let ends = [known.share - known.low, known.high - known.share];
            (part * known.share, ends.map(|end| part * end))
        };
        let [(one, [one_below, one_above]), (two, [two_below, two_above])] =
            [first, second].map(of);
        let low = two - one - two_below.hypot(one_above) - first.unknown;
        let high = two - one + two_above.hypot(one_below) + second.unknown;
        Share {
            share,
            low: low.clamp(-1.0, share),
            high: high.clamp(share, 1.0),
        }
    };
    Ok((0..first.shares.len()).map(of).collect())
}

/// The interval of Clopper and Pearson for the chance of a coin that showed `heads` of `tosses`;
/// `side`: the probability beyond each end.
pub(crate) fn mean_of_coins(heads: u64, tosses: u64, side: f64) -> [f64; 2] {
    let tails = tosses.saturating_sub(heads);
    [
        lowest_chance(heads, tails, side),
        1.0 - lowest_chance(tails, heads, side),
    ]
}

/// The chance of heads at which this many heads or more have the probability `side`.
fn lowest_chance(heads: u64, tails: u64, side: f64) -> f64 {
    if heads == 0 {
        return 0.0;
    }
    if tails == 0 {
        return (side.ln() / heads as f64).exp();
    }
    beta_quantile(heads as f64, tails as f64 + 1.0, side)
}

/// Above this, both parameters of a beta distribution are large: the approximation is better than
/// long sums.
const LARGE: f64 = 3e3;

/// The quantile `at` of a beta distribution with parameters of at least 1.
///
/// By bisection: Newton's method, as in statrs 0.19, overflows for large parameters and then never
/// ends.
fn beta_quantile(a: f64, b: f64, at: f64) -> f64 {
    let guess = approximate_beta_quantile(a, b, at);
    if a.min(b) > LARGE {
        return guess;
    }
    let beta = Beta::new(a, b).expect("both are at least 1");
    // Odds relative to the guessed ones, because they may be tiny.
    let odds = guess / (1.0 - guess);
    let chance = |logarithm: f64| {
        let odds = odds * logarithm.exp();
        odds / (1.0 + odds)
    };
    let logarithm = ascending(-0.01, 0.01, at, |logarithm| beta.cdf(chance(logarithm)));
    chance(logarithm)
}

/// Abramowitz and Stegun 1964, 26.5.22: for large parameters its error is far below a standard
/// deviation.
fn approximate_beta_quantile(a: f64, b: f64, at: f64) -> f64 {
    let y = -Normal::standard().inverse_cdf(at);
    // Its terms have poles at one half; a and b are at least 1.
    let [one, two] = [a, b].map(|own| 1.0 / (2.0 * own - 1.0));
    let h = 2.0 / (one + two);
    let lambda = (y * y - 3.0) / 6.0;
    let w =
        y * (h + lambda).max(0.0).sqrt() / h - (two - one) * (lambda + 5.0 / 6.0 - 2.0 / (3.0 * h));
    let odds = a / b * (-2.0 * w).exp();
    (odds / (1.0 + odds)).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
}

/// Argument at which an ascending function reaches `value`, to twelve digits. The search starts
/// from `low` and `high`, which need not be on both sides of it, and always ends.
pub(crate) fn ascending(mut low: f64, mut high: f64, value: f64, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..64 {
        if of(low) <= value {
            break;
        }
        (low, high) = (low - 2.0 * (high - low), low);
    }
    for _ in 0..64 {
        if of(high) >= value {
            break;
        }
        (low, high) = (high, high + 2.0 * (high - low));
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if high - low <= 1e-12 * middle.abs().max(1.0) {
            break;
        }
        if of(middle) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heads, tosses, probability beyond each end, and the ends.
    #[rustfmt::skip]
    const EXPECTED: [(u64, u64, f64, f64, f64); 29] = [
        (0, 8000000, 0.025, 0.0, 4.6110982545307377e-07),
        (0, 8000000, 5e-09, 0.0, 2.389225636359922e-06),
        (1, 8000000, 0.025, 3.164725993028489e-09, 6.964552249253282e-07),
        (1, 8000000, 5e-09, 6.250000015624999e-16, 2.782569848422916e-06),
        (30, 8000000, 0.025, 2.5301106377760754e-06, 5.3533538828026176e-06),
        (30, 8000000, 5e-09, 1.0398140801486899e-06, 9.26717870612512e-06),
        (2500, 8000000, 0.025, 0.00030037084893643954, 0.0003249931549558595),
        (26666, 8000000, 0.025, 0.003293426961768243, 0.0033734331602963035),
        (4000000, 8000000, 0.025, 0.4996534615963555, 0.5003465384036445),
        (7999999, 8000000, 0.025, 0.9999993035447751, 0.999999996835274),
        (7999999, 8000000, 5e-09, 0.9999972174301516, 0.9999999999999993),
        (8000000, 8000000, 0.025, 0.9999995388901746, 1.0),
        (8000000, 8000000, 5e-09, 0.9999976107743637, 1.0),
        (0, 10000000000, 0.025, 0.0, 3.6888794534335445e-10),
        (0, 10000000000, 5e-09, 0.0, 1.911382790624539e-09),
        (1, 10000000000, 0.025, 2.531780798425783e-12, 5.57164338966532e-10),
        (1, 10000000000, 5e-09, 5.0000000125e-19, 2.226058834282513e-09),
        (30, 10000000000, 0.025, 2.024087403028553e-09, 4.282686536734092e-09),
        (30, 10000000000, 5e-09, 8.318501897329576e-10, 7.413763400179002e-09),
        (2500, 10000000000, 0.025, 2.4029523769710185e-07, 2.599961471345741e-07),
        (2500, 10000000000, 5e-09, 2.2239933423018954e-07, 2.7982880278286293e-07),
        (33333333, 10000000000, 0.025, 0.003332203695575943, 0.0033344631919422284),
        (33333333, 10000000000, 5e-09, 0.003330031235059633, 0.003336637572921611),
        (5000000000, 10000000000, 0.025, 0.4999902001300785, 0.5000097998699216),
        (5000000000, 10000000000, 5e-09, 0.4999713463056831, 0.5000286536943169),
        (9999999999, 10000000000, 0.025, 0.9999999994428357, 0.9999999999974682),
        (9999999999, 10000000000, 5e-09, 0.9999999977739412, 1.0),
        (10000000000, 10000000000, 0.025, 0.9999999996311121, 1.0),
        (10000000000, 10000000000, 5e-09, 0.9999999980886172, 1.0),
    ];

    /// Huge counts once took for ever. Expected values: scipy 1.16, `beta.ppf` and `beta.isf`.
    #[test]
    fn intervals_of_any_count_end_and_are_right() {
        for (heads, tosses, side, low, high) in EXPECTED {
            let own = mean_of_coins(heads, tosses, side);
            let share = heads as f64 / tosses as f64;
            let deviation = (share * (1.0 - share) / tosses as f64)
                .sqrt()
                .max(1.0 / tosses as f64);
            for (own, wanted) in own.into_iter().zip([low, high]) {
                assert!(
                    (own - wanted).abs() < 1e-3 * deviation,
                    "{heads} of {tosses}, {side}: {own} {wanted}"
                );
            }
        }
    }

    /// Compares with statrs where it ends.
    #[test]
    fn intervals_are_those_of_another_method() {
        for tosses in [1, 2, 7, 100, 5_000, 100_000] {
            for heads in [1, 2, 3, tosses / 7, tosses / 2, tosses - 1] {
                if heads == 0 || heads >= tosses {
                    continue;
                }
                let own = mean_of_coins(heads, tosses, 0.025);
                let tails = tosses - heads;
                let of = |a: u64, b: u64, at: f64| {
                    Beta::new(a as f64, b as f64).unwrap().inverse_cdf(at)
                };
                let other = [of(heads, tails + 1, 0.025), of(heads + 1, tails, 0.975)];
                let deviation = (0.25 / tosses as f64).sqrt();
                for (own, other) in own.iter().zip(other) {
                    assert!(
                        (own - other).abs() < 1e-5 * deviation,
                        "{heads} of {tosses}: {own} {other}"
                    );
                }
            }
        }
    }
}
