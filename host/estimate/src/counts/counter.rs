//! Counting inputs of every format.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use undertone::error::{Error, Result};
use undertone::files::fields::no_such_field;
use undertone::files::foreign;
use undertone::files::form::Form;
use undertone::files::lines::unpacked;
use undertone::progress::Progress;
use undertone::release::lines::{BadLine, Lines};
use undertone_core::release::Release;
use undertone_tables::columns::guarded;

use super::tally::{Refused, Tally};
use super::turns::Aside;
use super::{Counts, Expected, LONGEST_VALUE, Reason, Rejected, columns, file, lines, raw};

/// Releases between two reports of progress.
pub(super) const STEP: u64 = 1 << 12;

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object on each line with the release in hexadecimal in its field `release`; gzipped
    /// or not.
    Lines,
    /// 24 bytes for each release, without separators; gzipped or not.
    Raw,
    /// Parquet with a column `release`, or a file of counts.
    Parquet,
    /// CSV with a column `release`, gzipped or not, or a file of counts.
    Csv,
    /// Counts, which are added: Parquet or CSV.
    Counts,
}

impl Format {
    /// The format of a file by the extension of its name, without `.gz`. Parquet is also recognised
    /// by its contents.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for other extensions.
    pub fn of(path: &Path) -> Result<Self> {
        match Form::of(path) {
            Some(Form::JsonLines) => Ok(Self::Lines),
            Some(Form::Raw) => Ok(Self::Raw),
            Some(Form::Parquet) => Ok(Self::Parquet),
            Some(Form::Csv) => Ok(Self::Csv),
            Some(Form::Tsv) | None => {
                let unknown = || {
                    Error::input(format!(
                        "`{}` has an unknown ending; known are .jsonl, .ndjson, .raw, .bin and \
                         .csv, all of them gzipped (.gz) or not, and .parquet; rename it or say \
                         what it is with ⟨format⟩",
                        path.display()
                    ))
                };
                Err(foreign::of_file(path).unwrap_or_else(unknown))
            }
        }
    }
}

/// Counts and rejects.
#[derive(Debug)]
pub struct Counted {
    /// The counts.
    pub counts: Counts,
    /// Lines and records that are not releases, or not expected ones.
    pub rejected: Rejected,
}

/// Counts the releases of any number of inputs.
///
/// A line or record that is not an expected release is counted under its reason and does not stop
/// the others.
pub struct Counter {
    expected: Expected,
    counts: Counts,
    rejected: Rejected,
    aside: Option<(PathBuf, Box<dyn Write + Send>)>,
    progress: Progress,
    /// Whether an input was read.
    started: bool,
}

/// An input, and how it is counted.
pub(crate) struct Input<'i> {
    pub(crate) path: &'i Path,
    pub(crate) expected: &'i Expected,
    /// The fields or columns of slices.
    pub(crate) by: &'i [String],
    pub(crate) aside: Option<Aside<'i>>,
    pub(crate) progress: &'i Progress,
}

/// Counts of one thread.
pub(crate) struct Thread<'a> {
    pub(crate) tally: Tally<'a>,
    pub(crate) rejected: Rejected,
}

impl<'a> Thread<'a> {
    pub(crate) fn new(expected: &'a Expected) -> Self {
        Self {
            tally: Tally::new(expected),
            rejected: Rejected::default(),
        }
    }

    /// Counts a record of the slice with these values. False if it was rejected.
    pub(crate) fn count(
        &mut self,
        values: &[String],
        record: &[u8; Release::BYTES],
        number: u64,
    ) -> Result<bool> {
        let slice = self.tally.slice(values, record);
        let counted = slice.and_then(|slice| self.tally.count(slice, record, 1));
        match counted {
            Ok(()) => Ok(true),
            Err(refused) => self.reject(refused, number).map(|()| false),
        }
    }

    pub(crate) fn reject(&mut self, refused: Refused, number: u64) -> Result<()> {
        match refused {
            Refused::Stop(error) => Err(error),
            Refused::Reject(reason, pack) => {
                self.rejected.add(reason, 1, number, pack);
                Ok(())
            }
        }
    }
}

impl Counter {
    /// Counts by these fields or columns; `by` may be empty.
    ///
    /// # Errors
    /// The errors of [`Counts::new`].
    pub fn new(by: Vec<String>, expected: Expected) -> Result<Self> {
        Ok(Self {
            counts: Counts::new(by)?,
            expected,
            rejected: Rejected::default(),
            aside: None,
            progress: Progress::new("counting releases", 0),
            started: false,
        })
    }

    /// Writes rejects as lines of JSON in their order: rejected lines unchanged, others as objects
    /// with the field `release` and those of the slice. `path` names the writer in errors.
    pub fn set_aside(&mut self, path: &Path, writer: Box<dyn Write + Send>) {
        self.aside = Some((path.to_owned(), writer));
    }

    /// Counts a file.
    ///
    /// Counts that are the first input bring their slice columns, unless some are named.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if the file is not of the format,
    /// lacks a slice column, or makes the counts exceed their limits;
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) for slices of raw records,
    /// which have no fields.
    pub fn file(&mut self, path: &Path, format: Format) -> Result<()> {
        let before = (self.counts.total(), self.rejected.total());
        self.read(path, format)?;
        let has_releases = self.counts.total() > before.0 || self.rejected.total() == before.1;
        if has_releases || format == Format::Parquet {
            return Ok(());
        }
        foreign::of_releases(path).map_or(Ok(()), Err)
    }

    fn read(&mut self, path: &Path, format: Format) -> Result<()> {
        match format {
            Format::Lines | Format::Raw => {
                let file = File::open(path).map_err(Error::io("open", path))?;
                self.stream(path, file, format)
            }
            Format::Parquet if !file::is_counts(path)? => {
                self.threads(path, |input| guarded(path, || columns::count(input)))
            }
            Format::Csv => {
                let names = undertone_tables::names_of(path, Form::Csv)?.unwrap_or_default();
                // Without releases it can only have counts.
                if !names.iter().any(|name| name == "release") {
                    return self.add(path, &Counts::read(path)?);
                }
                if let Some(absent) = self
                    .counts
                    .slices()
                    .iter()
                    .find(|name| !names.contains(name))
                {
                    return Err(no_such_field(path, "column", absent, &names));
                }
                // Columns of empty cells are there, though no line has the field.
                let lines = undertone_tables::releases_of(path, Form::Csv, None)?;
                self.threads(path, |input| lines::count(input, lines, false))
            }
            Format::Parquet | Format::Counts => self.add(path, &Counts::read(path)?),
        }
    }

    /// Counts a stream of lines or records. `name` names it in errors.
    ///
    /// # Errors
    /// The errors of [`file`](Self::file), and
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) for the other formats.
    pub fn stream(
        &mut self,
        name: &Path,
        source: impl Read + Send + 'static,
        format: Format,
    ) -> Result<()> {
        match format {
            Format::Lines => {
                let lines = Lines::new(name, source)?;
                self.threads(name, |input| lines::count(input, lines, true))
            }
            Format::Raw => {
                if !self.counts.slices().is_empty() {
                    return Err(Error::argument(format!(
                        "`{}` has raw records, which have no fields, so it cannot be sliced by \
                         {}; leave ⟨by⟩ out, or give JSON lines or Parquet",
                        name.display(),
                        self.counts.slices().join(", ")
                    )));
                }
                let source = unpacked(source).map_err(Error::io("read", name))?;
                self.threads(name, |input| raw::count(input, source))
            }
            Format::Parquet | Format::Csv | Format::Counts => Err(Error::argument(
                "Parquet, CSV and counts cannot be read from standard input; save them in a file \
                 and name that",
            )),
        }
    }

    /// Counts releases in memory, each with a value for every slice. `name` names them in errors.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) if they make the counts exceed
    /// their limits.
    pub fn records<'r>(
        &mut self,
        name: &Path,
        records: impl Iterator<Item = (&'r [u8; Release::BYTES], &'r [String])>,
    ) -> Result<()> {
        self.threads(name, |input| {
            let mut thread = Thread::new(input.expected);
            for (number, (record, values)) in (1..).zip(records) {
                if values.iter().any(|value| value.len() > LONGEST_VALUE) {
                    thread.rejected.add(Reason::LongValue, 1, number, None);
                } else {
                    thread.count(values, record, number)?;
                }
                if number % STEP == 0 {
                    input.progress.advance(STEP);
                }
            }
            Ok(vec![thread])
        })
    }

    fn threads(
        &mut self,
        path: &Path,
        count: impl for<'i> FnOnce(Input<'i>) -> Result<Vec<Thread<'i>>>,
    ) -> Result<()> {
        self.started = true;
        self.rejected.start(path);
        let by = self.counts.slices().to_vec();
        let aside = self.aside.as_mut();
        let threads = count(Input {
            path,
            expected: &self.expected,
            by: &by,
            aside: aside.map(|(path, writer)| Aside { writer, path }),
            progress: &self.progress,
        })?;
        for thread in threads {
            self.rejected.merge(&thread.rejected);
            thread.tally.add_to(&mut self.counts)?;
        }
        Ok(())
    }

    /// Adds counts. `path` names them in errors.
    ///
    /// # Errors
    /// The errors of [`Counts::by`] and [`Counts::merge`].
    pub fn add(&mut self, path: &Path, counts: &Counts) -> Result<()> {
        if !self.started && self.counts.slices().is_empty() {
            self.counts = Counts::new(counts.slices().to_vec())?;
        }
        self.started = true;
        self.rejected.start(path);
        let (by, theirs) = (self.counts.slices().to_vec(), counts.slices());
        if by.is_empty() && !theirs.is_empty() {
            let slices = theirs.join(", ");
            return Err(file::wrong(
                path,
                format!(
                    "it is sliced by {slices}, and earlier inputs are not; name the slices of all with ⟨by⟩"
                ),
            ));
        }
        if let Some(name) = by.iter().find(|name| !theirs.contains(name)) {
            return Err(file::wrong(
                path,
                format!("it has no column `{name}`; count the releases anew with ⟨by {name}⟩"),
            ));
        }
        let mut number = 0;
        for group in counts.by(&by)?.groups() {
            let outcomes = self.expected.outcomes(&group.kind);
            for (&outcome, &count) in group.outcomes {
                number += 1;
                let reason = match &outcomes {
                    Ok(outcomes) if outcomes.contains(outcome) => {
                        let slice = group.slice.to_vec();
                        self.counts.add(group.kind, slice, outcome, count)?;
                        continue;
                    }
                    Ok(_) => Reason::Line(BadLine::NoSuchCandidate),
                    Err(reason) => *reason,
                };
                let pack = reason.pack(&group.kind);
                self.rejected.add(reason, count, number, pack);
            }
        }
        self.counts.check()
    }

    /// Flushes the rejects and returns the counts.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io).
    pub fn finish(self) -> Result<Counted> {
        if let Some((path, mut writer)) = self.aside {
            writer.flush().map_err(Error::io("write", &path))?;
        }
        Ok(Counted {
            counts: self.counts,
            rejected: self.rejected,
        })
    }
}
