//! Counts of released outcomes.
//!
//! Every estimate needs one integer for each [`Kind`] of release, each slice (a public value such
//! as a day or a country) and each outcome. [`Counter`] streams files of releases into these
//! [`Counts`]. Memory depends on the counts, not on the number of releases. Counts merge by
//! addition and are stored as Parquet or CSV.
//!
//! ```
//! use undertone_estimate::counts::{Counter, Expected, Format};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("day.raw");
//! std::fs::write(&path, b"UTR\x01\x07\x02\0\0\x20\xa1\x07\0\x05\0\0\0packpack")?;
//!
//! let mut counter = Counter::new(Vec::new(), Expected::default())?;
//! counter.file(&path, Format::of(&path)?)?;
//! let counts = counter.finish()?.counts;
//! let group = counts.groups().next().expect("one kind was released");
//! assert_eq!(group.kind.to_string(), "pack 7061636b7061636b, whole text, epsilon 0.5");
//! assert_eq!(group.outcomes[&5], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use undertone::error::{Error, Result};

mod columns;
mod counter;
mod dictionary;
mod expected;
mod file;
mod kind;
mod lines;
mod raw;
mod rejected;
mod tally;
mod turns;

pub use counter::{Counted, Counter, Format};
pub use expected::{Expected, Outcomes};
pub use kind::Kind;
pub use rejected::{Reason, Rejected, Seen};

/// Most slices: combinations of values of the slice columns.
pub const MOST_SLICES: usize = 100_000;

/// Most kinds of releases, because a forger can invent packs and values of ε.
pub const MOST_KINDS: usize = 10_000;

/// Most rows, because a forger can invent outcomes.
pub const MOST_ROWS: usize = 1 << 25;

/// Most bytes of a value of a slice.
pub const LONGEST_VALUE: usize = 256;

/// Largest count: the largest integer of Parquet.
pub const MOST: u64 = i64::MAX as u64;

/// Columns of a file of counts, without those of the slices.
pub const COLUMNS: [&str; 7] = [
    "pack",
    "mechanism",
    "rule",
    "epsilon",
    "order",
    "outcome",
    "count",
];

/// Counts of outcomes, by kind and slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    slices: Vec<String>,
    groups: BTreeMap<(Kind, Vec<String>), BTreeMap<u32, u64>>,
    rows: usize,
}

/// The counts of one kind and slice.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The kind.
    pub kind: Kind,
    /// A value for each of [`Counts::slices`].
    pub slice: &'a [String],
    /// Positive counts by outcome.
    pub outcomes: &'a BTreeMap<u32, u64>,
}

/// One count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The kind.
    pub kind: Kind,
    /// A value for each of [`Counts::slices`].
    pub slice: &'a [String],
    /// The outcome.
    pub outcome: u32,
    /// The number of its releases, at least 1.
    pub count: u64,
}

impl<'a> Group<'a> {
    /// The number of these releases.
    pub fn total(&self) -> u64 {
        self.outcomes.values().copied().fold(0, u64::saturating_add)
    }

    fn copied(&self) -> impl Iterator<Item = (u32, u64)> + use<'a> {
        self.outcomes
            .iter()
            .map(|(outcome, count)| (*outcome, *count))
    }
}

impl Counts {
    /// Empty counts with these slice columns.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) if a name is empty, given
    /// twice, or one of [`COLUMNS`].
    pub fn new(slices: Vec<String>) -> Result<Self> {
        for (index, name) in slices.iter().enumerate() {
            let problem = if name.is_empty() {
                "it is empty; name a field"
            } else if COLUMNS.contains(&name.as_str()) {
                "a file of counts has a column of that name anyway; rename the field"
            } else if slices[..index].contains(name) {
                "it is given twice; name it once"
            } else {
                continue;
            };
            return Err(Error::argument(format!(
                "cannot slice by `{name}`: {problem}"
            )));
        }
        Ok(Self {
            slices,
            ..Self::default()
        })
    }

    /// The names of the slice columns, in their order.
    pub fn slices(&self) -> &[String] {
        &self.slices
    }

    /// Adds `count` releases with this outcome.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for more than [`MOST_KINDS`] kinds,
    /// [`MOST_SLICES`] slices of a kind or [`MOST_ROWS`] rows, a count above [`MOST`], or another
    /// number of values than of slice columns.
    pub fn add(&mut self, kind: Kind, slice: Vec<String>, outcome: u32, count: u64) -> Result<()> {
        self.add_all(kind, slice, [(outcome, count)])
    }

    pub(crate) fn add_all(
        &mut self,
        kind: Kind,
        slice: Vec<String>,
        outcomes: impl IntoIterator<Item = (u32, u64)>,
    ) -> Result<()> {
        if slice.len() != self.slices.len() {
            return Err(other_slices(&slice, &self.slices));
        }
        let outcomes = outcomes.into_iter().filter(|(_, count)| *count > 0);
        let mut outcomes = outcomes.peekable();
        if outcomes.peek().is_none() {
            return Ok(());
        }
        let group = self.groups.entry((kind, slice)).or_default();
        for (outcome, count) in outcomes {
            let own = group.entry(outcome).or_insert_with(|| {
                self.rows += 1;
                0
            });
            *own = (own.checked_add(count))
                .filter(|sum| *sum <= MOST)
                .ok_or_else(|| limit("releases with one outcome", MOST, "count fewer files"))?;
            if self.rows > MOST_ROWS {
                return Err(too_many_rows());
            }
        }
        Ok(())
    }

    /// Adds other counts.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if their slice columns or the order
    /// of these differ, and those of [`add`](Self::add).
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.slices != other.slices {
            return Err(other_slices(&other.slices, &self.slices));
        }
        for group in other.groups() {
            self.add_all(group.kind, group.slice.to_vec(), group.copied())?;
        }
        self.check()
    }

    /// Checks the limits that require a pass over all counts.
    pub(crate) fn check(&self) -> Result<()> {
        let mut kinds: Vec<Kind> = self.groups.keys().map(|(kind, _)| *kind).collect();
        kinds.dedup();
        if kinds.len() > MOST_KINDS {
            return Err(too_many_kinds());
        }
        if self.groups.len() > MOST_SLICES {
            return Err(too_many_slices());
        }
        Ok(())
    }

    /// Adds up these counts by a subset of their slice columns, or puts the columns in another
    /// order.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if a column is missing; those of
    /// [`new`](Self::new) and [`add`](Self::add).
    pub fn by(&self, slices: &[String]) -> Result<Self> {
        let place = |name: &String| self.slices.iter().position(|own| own == name);
        let Some(places) = slices.iter().map(place).collect::<Option<Vec<_>>>() else {
            return Err(other_slices(&self.slices, slices));
        };
        let mut counts = Self::new(slices.to_vec())?;
        for group in self.groups() {
            let slice = places.iter().map(|place| group.slice[*place].clone());
            counts.add_all(group.kind, slice.collect(), group.copied())?;
        }
        Ok(counts)
    }

    /// The counts of each kind and slice, in the order of kinds and then of the values.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.groups.iter().map(|((kind, slice), outcomes)| Group {
            kind: *kind,
            slice,
            outcomes,
        })
    }

    /// All counts, in the order of kinds, values and outcomes.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.groups().flat_map(|group| {
            group.copied().map(move |(outcome, count)| Row {
                kind: group.kind,
                slice: group.slice,
                outcome,
                count,
            })
        })
    }

    /// The number of counted releases.
    pub fn total(&self) -> u64 {
        let totals = self.groups().map(|group| group.total());
        totals.fold(0, u64::saturating_add)
    }

    /// Whether there are no counts.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

fn other_slices(found: &[String], wanted: &[String]) -> Error {
    Error::input(format!(
        "the counts are sliced by [{}], not by [{}]; give counts with the same slices",
        found.join(", "),
        wanted.join(", ")
    ))
}

pub(crate) fn limit(what: &'static str, most: u64, advice: &'static str) -> Error {
    Error::input(format!("more than {most} {what}; {advice}"))
}

pub(crate) fn too_many_rows() -> Error {
    limit(
        "kinds, slices and outcomes together",
        MOST_ROWS as u64,
        "name the packs with ⟨pack⟩ or ⟨candidates⟩, so that forged outcomes are rejected, or slice by less",
    )
}

pub(crate) fn too_many_kinds() -> Error {
    limit(
        "kinds of releases",
        MOST_KINDS as u64,
        "some are forged: name the packs with ⟨pack⟩ or ⟨candidates⟩, and the values of epsilon with ⟨epsilon⟩",
    )
}

pub(crate) fn too_many_slices() -> Error {
    limit(
        "slices",
        MOST_SLICES as u64,
        "slice by fields with fewer values, such as the day instead of the time",
    )
}
