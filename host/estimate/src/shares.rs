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
//! # Source
//! The estimate: Warner 1965; Feldman, Nelson, Nguyen and Talwar 2022. Shares that add up to one: Wang et al. 2020.

use std::collections::BTreeMap;

use statrs::distribution::{Beta, ContinuousCDF};
use undertone::error::Result;

use crate::channel::Channel;
use crate::counts::Kind;
use crate::simplex::nearest;

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
}

/// The shares that releases of one kind say, under a pack of so many candidates; `None` for sentence releases, whose law
/// depends on the text: see [`labels`](crate::labels).
///
/// # Errors
/// Those of [`Channel::new`].
pub fn shares(
    kind: Kind,
    outcomes: &BTreeMap<u32, u64>,
    candidates: u32,
    confidence: Confidence,
) -> Result<Option<Shares>> {
    let Some(channel) = Channel::new(kind, candidates)? else {
        return Ok(None);
    };
    let votes = channel.votes(outcomes);
    let releases: u64 = outcomes.values().sum();
    let n = releases.max(1) as f64;
    let unbiased: Vec<f64> = votes
        .iter()
        .map(|votes| channel.unbiased(*votes as f64 / n))
        .collect();
    let side = confidence.side(votes.len());
    let shares = nearest(&unbiased).into_iter().zip(&votes);
    let shares = shares.map(|(share, votes)| {
        let [low, high] =
            mean_of_coins(*votes, releases, side).map(|end| channel.unbiased(end).clamp(0.0, 1.0));
        Share {
            share,
            low: low.min(share),
            high: high.max(share),
        }
    });
    Ok(Some(Shares {
        releases,
        shares: shares.collect(),
        unbiased,
    }))
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
