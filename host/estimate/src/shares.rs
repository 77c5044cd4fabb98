//! Statement (a): the share of texts of which the pack's own classifier would have said each candidate.
//!
//! It holds whatever the texts are: no assumption but that devices are honest. It is about the best candidate, not about
//! the truth: a classifier errs.
//!
//! # The interval
//! Releases are independent, and one is preferred by answer v with probability `own` if v is its text's best candidate, else
//! with `other`. So the number N_v of those preferred is a sum of independent coins of unequal chances. Its tails
//! are no heavier than those of a binomial of the same mean (Hoeffding 1956), as far as these intervals reach, so the interval of
//! Clopper and Pearson 1934 for the mean covers at least as often as it says. The share is an increasing line of that mean.
//!
//! # The guess
//! Guesses without bias are off by about as much for a rare candidate as for a frequent one. Where there are many candidates, most of a table
//! would be noise. So the guess is the share that is expected, given all guesses of the table: of a candidate that stands out it is nearly its own, and
//! those that do not stand out are taken to be about as rare as the others. The intervals do not depend on it.
//!
//! # Source
//! The estimate: Warner 1965; Feldman, Nelson, Nguyen and Talwar 2022. The guess: Kiefer and Wolfowitz 1956; Jiang and Zhang 2009; shares that add up to
//! one: Wang et al. 2020.

use std::collections::BTreeMap;

use statrs::distribution::{Beta, ContinuousCDF};
use undertone::error::Result;
use undertone_core::release::Selector;

use crate::channel::Channel;
use crate::counts::Kind;
use crate::refused;
use crate::simplex::{expected, nearest};

/// How sure intervals are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Of each interval, or of all together: 0.95 means that 95 of 100 are right.
    pub level: f64,
    /// Whether all intervals of a table hold at once, and not each alone (Bonferroni).
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
    /// The chance that one of `count` intervals may miss on one side.
    pub(crate) fn side(self, count: usize) -> f64 {
        let count = if self.at_once { count.max(1) } else { 1 };
        (1.0 - self.level) / 2.0 / count as f64
    }

    /// The confidence of each of so many tables: all of them hold at once, if all intervals of a table shall.
    #[must_use]
    pub fn among(self, tables: usize) -> Self {
        let tables = if self.at_once { tables.max(1) } else { 1 };
        Self {
            level: 1.0 - (1.0 - self.level) / tables as f64,
            ..self
        }
    }

    /// Refuses a level that is none.
    pub(crate) fn check(self) -> Result<()> {
        match self.level > 0.0 && self.level < 1.0 {
            true => Ok(()),
            false => Err(refused(format!(
                "the level {} does not lie between 0 and 1; take 0.95 for intervals of which 95 of 100 are right",
                self.level
            ))),
        }
    }
}

/// One share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// The best guess. All of a table add up to one.
    pub share: f64,
    /// The lower end of the interval, at least 0.
    pub low: f64,
    /// The upper end, at most 1.
    pub high: f64,
}

/// The shares of the candidates and of "nothing known", the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Releases.
    pub releases: u64,
    /// `[m + 1]`.
    pub shares: Vec<Share>,
    /// `[m + 1]`: the guesses without bias. They may lie outside of 0..=1 and add up to other numbers.
    pub unbiased: Vec<f64>,
    /// What forging one release moves a share by, at most.
    pub moved: f64,
    /// Whether honest devices release like this: false if some answer is so rare, or so frequent, as no texts make it, which of honest devices is
    /// seen less than once in a thousand estimates. Then releases are forged, or of another law, and the shares say nothing.
    pub possible: bool,
    /// `[m + 1]`: the intervals before they are cut to 0..=1.
    ends: Vec<[f64; 2]>,
}

/// The shares that releases of one kind say, under a pack of so many candidates; `None` for sentence releases, whose law
/// depends on the text: see [`labels`](crate::labels).
///
/// # Errors
/// Those of [`pooled`].
pub fn shares(
    kind: Kind,
    outcomes: &BTreeMap<u32, u64>,
    candidates: u32,
    confidence: Confidence,
) -> Result<Option<Shares>> {
    pooled(&[(kind, outcomes)], candidates, confidence)
}

/// The shares that releases of several kinds under one pack say together; sentence releases are left out. `None` if
/// there are no others.
///
/// Each kind counts as many times as it has releases, so the shares are those of all these texts, whatever texts have which
/// kind. Intervals of several kinds are joined by the method of variance estimates recovery (Zou and Donner 2008). A kind with so few releases that its
/// own guess could be off by half of everything counts as unknown: its texts may be all or none of a share. So one release with a tiny ε spoils nothing.
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if there are no releases, for outcomes that do not exist, for a level outside of 0..1; those of
/// [`Channel::new`].
pub fn pooled(
    samples: &[(Kind, &BTreeMap<u32, u64>)],
    candidates: u32,
    confidence: Confidence,
) -> Result<Option<Shares>> {
    confidence.check()?;
    let answers = candidates as usize + 1;
    let side = confidence.side(answers);
    let mut parts = Vec::new();
    for (kind, outcomes) in samples {
        let Some(channel) = Channel::new(*kind, candidates)? else {
            continue;
        };
        if let Some((outcome, _)) = outcomes
            .last_key_value()
            .filter(|(outcome, _)| u64::from(**outcome) >= kind.outcomes(candidates))
        {
            return Err(refused(format!(
                "outcome {outcome} of {kind} does not exist: there are {} outcomes; count again with the candidates \
                 file, which sets forged releases aside",
                kind.outcomes(candidates)
            )));
        }
        let releases: u64 = outcomes.values().sum();
        if releases > 0 {
            parts.push((channel, releases, channel.votes(outcomes)));
        }
    }
    let Some(most) = parts.iter().map(|(_, releases, _)| *releases).max() else {
        return match samples.iter().any(|(kind, _)| is_whole_text(*kind)) {
            true => Err(refused("there are no releases".to_owned())),
            false => Ok(None),
        };
    };
    let releases: u64 = parts.iter().map(|(_, releases, _)| releases).sum();
    // One kind alone is never unknown: its interval says all there is to say.
    let known = |(channel, own, _): &&(Channel, u64, Vec<u64>)| {
        parts.len() == 1 || *own == most || channel.deviation(0.0, *own as f64) < HALF
    };
    let total: u64 = parts.iter().filter(known).map(|(_, own, _)| own).sum();
    let unknown = 1.0 - total as f64 / releases as f64;
    let (mut unbiased, mut ends) = (Vec::new(), Vec::new());
    for answer in 0..answers {
        let (mut guess, mut below, mut above) = (0.0, 0.0, 0.0);
        let mut alone = [0.0; 2];
        for (channel, own, votes) in parts.iter().filter(known) {
            let part = *own as f64 / total as f64;
            let share = channel.unbiased(votes[answer] as f64 / *own as f64);
            alone = mean_of_coins(votes[answer], *own, side).map(|end| channel.unbiased(end));
            guess += part * share;
            below += (part * (share - alone[0])).powi(2);
            above += (part * (alone[1] - share)).powi(2);
        }
        let own = match parts.len() {
            1 => alone,
            _ => [guess - below.sqrt(), guess + above.sqrt()],
        };
        unbiased.push(guess);
        ends.push([(1.0 - unknown) * own[0], (1.0 - unknown) * own[1] + unknown]);
    }
    let possible = parts.iter().all(|(channel, own, votes)| {
        votes.iter().all(|votes| {
            let side = RARE / 2.0 / (answers * parts.len()) as f64;
            let [low, high] = mean_of_coins(*votes, *own, side).map(|end| channel.unbiased(end));
            low <= 1.0 && high >= 0.0
        })
    });
    // How far off the guesses are where the shares are about these.
    let about = nearest(&unbiased);
    let deviation = |share: &f64| {
        let parts = parts.iter().filter(known);
        let squares = parts.map(|(channel, own, _)| {
            let part = *own as f64 / total as f64;
            (part * channel.error(*share, *own as f64)).powi(2)
        });
        squares.sum::<f64>().sqrt()
    };
    let deviations: Vec<f64> = about.iter().map(deviation).collect();
    let shares = expected(&unbiased, &deviations).into_iter().zip(&ends);
    let shares = shares.map(|(share, [low, high])| Share {
        share,
        low: low.clamp(0.0, share),
        high: high.clamp(share, 1.0),
    });
    let weight = parts
        .iter()
        .filter(known)
        .map(|(channel, ..)| channel.weight());
    Ok(Some(Shares {
        releases,
        shares: shares.collect(),
        unbiased,
        moved: (weight.fold(1.0, f64::max) / total as f64).min(1.0),
        possible,
        ends,
    }))
}

/// How often honest devices may be taken for forgers.
const RARE: f64 = 0.001;

/// A standard deviation above which a kind of releases says nothing.
const HALF: f64 = 0.5;

/// Whether the promise of these releases is for the whole text.
pub fn is_whole_text(kind: Kind) -> bool {
    matches!(kind.selector(), Selector::WholeText | Selector::Projective)
}

/// How the shares of two sets of releases differ, the second less the first: both with the confidence that the difference
/// shall have. By the method of variance estimates recovery (Newcombe 1998, Zou and Donner 2008).
///
/// # Errors
/// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if they are of packs with other numbers of candidates.
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
        let [one, two] = [first, second].map(|own| own.unbiased[answer]);
        let [one_ends, two_ends] = [first, second].map(|own| own.ends[answer]);
        let half = |a: f64, b: f64| a.hypot(b);
        let low = two - one - half(two - two_ends[0], one_ends[1] - one);
        let high = two - one + half(two_ends[1] - two, one - one_ends[0]);
        Share {
            share,
            low: low.clamp(-1.0, share),
            high: high.clamp(share, 1.0),
        }
    };
    Ok((0..first.shares.len()).map(of).collect())
}

/// The interval of Clopper and Pearson for the chance of a coin that showed `heads` of `tosses`; `side`: how often the chance
/// may lie beyond each end.
pub(crate) fn mean_of_coins(heads: u64, tosses: u64, side: f64) -> [f64; 2] {
    let tails = tosses.saturating_sub(heads);
    let end = |a: u64, b: u64, at: f64| {
        let beta = Beta::new(a as f64, b as f64).expect("both are at least 1");
        beta.inverse_cdf(at)
    };
    [
        if heads == 0 {
            0.0
        } else {
            end(heads, tails + 1, side)
        },
        if tails == 0 {
            1.0
        } else {
            end(heads + 1, tails, 1.0 - side)
        },
    ]
}
