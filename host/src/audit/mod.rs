//! Privacy audits: what a mechanism promises, compared with what it does.
//!
//! Where the domain allows, the law of a release is computed, not sampled, and the worst neighbours are
//! searched; elsewhere a device is asked for releases.

pub mod black_box;
pub mod device;
pub mod estimate;
mod law;
pub mod reach;
pub mod time;
pub mod vectors;

use std::fmt;

use undertone_core::epsilon::Epsilon;

pub use law::{Law, deep_candidate, levels};

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
