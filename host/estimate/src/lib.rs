//! What a server makes of many releases: counts, whatever their number.
//!
//! What one release reveals is bounded by its ε. The answers are in the counts of many: how often each outcome was
//! released, apart for all that may not be mixed. [`counts`] makes them from files of releases, keeps them in files
//! that merge by addition, and never stops for what a client sent. [`answer`] says what the counts mean,
//! and [`planning`] beforehand how many releases that takes.
//!
//! This crate prints nothing and draws no progress bars.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod answer;
pub mod channel;
pub mod counts;
pub mod labels;
pub mod plan;
pub mod planning;
pub mod published;
pub mod shares;
mod simplex;

use undertone::error::{Cause, Error};

/// The error that says why there is no answer.
pub fn refused(problem: impl Into<String>) -> Error {
    let problem = problem.into();
    Error::from(Cause::NoAnswer { problem })
}
