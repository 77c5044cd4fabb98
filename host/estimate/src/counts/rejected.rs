//! Lines and records that are not counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use undertone::release::lines::BadLine;

use serde::{Deserialize, Serialize};

use super::{Kind, LONGEST_VALUE};

/// Why a line or a record is not counted. No reason quotes its text.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[non_exhaustive]
pub enum Reason {
    /// The line is not a release, for the reason of [`BadLine`].
    #[error("{0}")]
    Line(#[from] BadLine),
    /// The file ends in the middle of a record.
    #[error("cut off: the file ends in the middle of a record")]
    CutOff,
    /// The release is missing, such as null in a column.
    #[error("no release")]
    NoRelease,
    /// A field or column of a slice is missing or null.
    #[error("a field of the slices is missing or null")]
    NoValue,
    /// A field of a slice is repeated, or holds a list, an object or a fraction.
    #[error("a field of the slices is no string, whole number or truth value, or is given twice")]
    NotAValue,
    /// A value of a slice is too long.
    #[error("a field of the slices has more than {LONGEST_VALUE} bytes")]
    LongValue,
    /// Releases of another ε were expected.
    #[error("made with another epsilon than expected")]
    OtherEpsilon,
}

impl Reason {
    /// The pack to name, if that of a rejected kind was not expected.
    pub(crate) fn pack(self, kind: &Kind) -> Option<[u8; 8]> {
        (self == Self::Line(BadLine::OtherPack)).then(|| kind.pack_id())
    }
}

/// Rejected lines and records: the number and the first of each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    inputs: Vec<PathBuf>,
    reasons: BTreeMap<Reason, Seen>,
}

/// Rejects of one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Their number.
    pub count: u64,
    /// The index of the first reject's input.
    input: usize,
    /// The line or record of the first reject in its input, from 1.
    pub first: u64,
    /// The pack of the first reject, if the pack was not expected.
    pub pack: Option<[u8; 8]>,
}

impl Rejected {
    /// Starts the rejects of the next input.
    pub(crate) fn start(&mut self, input: &Path) {
        self.inputs.push(input.to_owned());
    }

    /// Adds rejects of the current input; `first` is the number of the first.
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

    /// Adds another thread's rejects of the same input.
    pub(crate) fn merge(&mut self, other: &Rejected) {
        for (reason, seen) in &other.reasons {
            self.add(*reason, seen.count, seen.first, seen.pack);
        }
    }

    /// The number of all rejects.
    pub fn total(&self) -> u64 {
        let counts = self.reasons.values().map(|seen| seen.count);
        counts.fold(0, u64::saturating_add)
    }

    /// The rejects by reason, in order.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, Seen)> {
        self.reasons.iter().map(|(reason, seen)| (*reason, *seen))
    }

    /// JSON for [`from_json`](Self::from_json).
    pub fn to_json(&self) -> String {
        let inputs = self.inputs.iter().map(|path| path.to_string_lossy());
        let own = (
            inputs.collect::<Vec<_>>(),
            self.reasons().collect::<Vec<_>>(),
        );
        serde_json::to_string(&own).expect("strings and numbers are JSON")
    }

    /// Parses the JSON of [`to_json`](Self::to_json), written by this version.
    ///
    /// # Errors
    /// The errors of JSON of another form.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        let (inputs, reasons): (Vec<PathBuf>, Vec<(Reason, Seen)>) = serde_json::from_str(text)?;
        Ok(Self {
            inputs,
            reasons: reasons.into_iter().collect(),
        })
    }

    /// A line of text for each reason, preceded by a line break.
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
