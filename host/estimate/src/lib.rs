//! Counts of releases, and estimates from them.
//!
//! The ε of a release bounds what it reveals; the counts of many releases answer questions.
//! [`counts`] counts released outcomes from files, apart for everything that must not be mixed,
//! merges counts by addition, and never stops because of what a client sent. [`answer`] makes
//! estimates from the counts, [`forms`] of answers to forms. [`planning`] forecasts how many releases they require.
//!
//! This crate prints nothing and draws no progress bars.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_lines)]

pub mod answer;
pub mod channel;
pub mod counts;
pub mod forms;
pub mod labels;
pub mod plan;
pub mod planning;
pub mod published;
pub mod shares;
mod simplex;
pub mod statement;

use serde::Serialize;
use undertone::error::Error;

/// An error with the reason why there is no answer.
pub fn refused(problem: impl std::fmt::Display) -> Error {
    Error::input(format!("no estimate: {problem}"))
}

/// All numbers of a report, as JSON.
fn json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("strings and numbers are JSON") + "\n"
}
