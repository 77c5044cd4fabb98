//! What is no release, or none that was asked for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use undertone::release::lines::BadLine;

use serde::{Deserialize, Serialize};

use super::LONGEST_VALUE;

/// Why a line or a record is not counted. None of them quotes it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[non_exhaustive]
pub enum Reason {
    /// A line that is no release: [`BadLine`] says why.
    #[error("{0}")]
    Line(BadLine),
    /// The file ends in the middle of a record.
    #[error("cut off: the file ends in the middle of a record")]
    CutOff,
    /// There is no release, such as null in a column.
    #[error("no release")]
    NoRelease,
    /// A field or column of a slice is missing or null.
    #[error("a field of --by is missing or null")]
    NoValue,
    /// A field of a slice is given twice, or holds a list, an object or a fraction.
    #[error("a field of --by is no string, whole number or truth value, or is given twice")]
    NotAValue,
    /// A value of a slice is too long.
    #[error("a field of --by has more than {LONGEST_VALUE} bytes")]
    LongValue,
    /// Releases of another ε were expected.
    #[error("made with another epsilon than expected")]
    OtherEpsilon,
}

/// Lines and records that were not counted: how many for each reason, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    inputs: Vec<PathBuf>,
    reasons: BTreeMap<Reason, Seen>,
}

/// How often a reason was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// The input of the first: its place among the inputs.
    input: usize,
    /// The line or record of the first in its input, from 1.
    pub first: u64,
    /// The pack of the first, if that is what was not expected.
    pub pack: Option<[u8; 8]>,
}

impl Rejected {
    /// The next rejects are those of this input.
    pub(crate) fn start(&mut self, input: &Path) {
        self.inputs.push(input.to_owned());
    }

    /// Rejects of the input that was started last, by the number of the first.
    pub(crate) fn add(&mut self, reason: Reason, count: u64, first: u64, pack: Option<[u8; 8]>) {
        let input = self.inputs.len().saturating_sub(1);
        let new = Seen {
            count: 0,
            input,
            first,
            pack,
        };
        let seen = self.reasons.entry(reason).or_insert(new);
        seen.count = seen.count.saturating_add(count);
        if (input, first) < (seen.input, seen.first) {
            *seen = Seen {
                count: seen.count,
                ..new
            };
        }
    }

    /// Adds what another thread found in the same input.
    pub(crate) fn merge(&mut self, other: &Rejected) {
        for (reason, seen) in &other.reasons {
            self.add(*reason, seen.count, seen.first, seen.pack);
        }
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        let counts = self.reasons.values().map(|seen| seen.count);
        counts.fold(0, u64::saturating_add)
    }

    /// The reasons in their order.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, Seen)> {
        self.reasons.iter().map(|(reason, seen)| (*reason, *seen))
    }

    /// What [`from_json`](Self::from_json) reads.
    pub fn to_json(&self) -> String {
        let inputs = self.inputs.iter().map(|path| path.to_string_lossy());
        let own = (
            inputs.collect::<Vec<_>>(),
            self.reasons().collect::<Vec<_>>(),
        );
        serde_json::to_string(&own).expect("strings and numbers are JSON")
    }

    /// What [`to_json`](Self::to_json) wrote, by this version.
    ///
    /// # Errors
    /// Those of JSON of another form.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        let (inputs, reasons): (Vec<PathBuf>, Vec<(Reason, Seen)>) = serde_json::from_str(text)?;
        Ok(Self {
            inputs,
            reasons: reasons.into_iter().collect(),
        })
    }

    /// A line of text for each reason, each with a line break before it.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (reason, seen) in self.reasons() {
            let input = self.inputs.get(seen.input).map(|path| path.display());
            let _ = write!(
                text,
                "\n  {}: {reason}; the first is number {}",
                seen.count, seen.first
            );
            if let Some(input) = input {
                let _ = write!(text, " of `{input}`");
            }
            if let Some(pack) = seen.pack {
                let _ = write!(text, ", pack {}", hex::encode(pack));
            }
        }
        text
    }
}
