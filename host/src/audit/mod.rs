//! Privacy audits: what a mechanism promises, compared with what it does.
//!
//! Where the domain allows, the law of a release is computed, not sampled, and the worst neighbours are
//! searched; elsewhere a device is asked for releases.

pub mod black_box;
pub mod device;
pub mod encoders;
mod engine;
pub mod estimate;
pub mod inside;
mod law;
mod neighbours;
pub mod reach;
pub mod sentences;
pub mod time;
pub mod vectors;
pub mod words;

use std::fmt;

use undertone_core::epsilon::Epsilon;
use undertone_core::select::Rule;

use inside::Engine;
pub use law::{Law, deep_candidate, levels};

/// Losses are computed in double precision from exact integers. A probability is a sum of positive terms, each with
/// a few dozen roundings of 2⁻⁵³, and of at most 2¹⁶ terms: its relative error stays below 10⁻¹¹. This much of the
/// promise a loss may exceed it by, ...
const RELATIVE: f64 = 1e-9;

/// ... and this much if the promise is small.
const ROUNDING: f64 = 1e-10;

/// What is checked, and how hard.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters.
    pub epsilons: Vec<Epsilon>,
    /// How candidates are drawn.
    pub rules: Vec<Rule>,
    /// Neighbours, or pairs of words, whose exact laws are compared, at least.
    pub neighbours: u64,
    /// Releases that a device is asked for, for each estimate.
    pub releases: u64,
    /// Seed of searches.
    pub seed: u64,
}

/// How something was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Computed by enumeration or integer arithmetic.
    Exact,
    /// Estimated from releases, with a confidence bound.
    Sampled,
    /// Tried to tell apart by what an attacker does.
    Attack,
    /// Measured by a clock or a counter.
    Timed,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Attack => "attack",
            Self::Timed => "timed",
        })
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The mechanism and its rule, as in "scores, permute-and-flip".
    pub mechanism: String,
    /// What was checked, as in "loss of replaced sentences".
    pub name: String,
    /// The ε it was checked at, if it depends on one.
    pub epsilon: Option<Epsilon>,
    /// How it was measured.
    pub method: Method,
    /// What is promised: the measured value may not exceed it.
    pub claimed: f64,
    /// What was found.
    pub measured: f64,
    /// Neighbours compared, releases drawn, or whatever was counted.
    pub tried: u64,
    /// Whether the promise holds as far as this can tell.
    pub passed: bool,
    /// What else there is to say, for people.
    pub detail: String,
}

/// The mechanism and its rule.
fn label(engine: &dyn Engine, rule: Rule) -> String {
    let rule = match rule {
        Rule::PermuteAndFlip => "permute-and-flip",
        Rule::Exponential => "exponential",
    };
    format!("{}, {rule}", engine.name())
}
