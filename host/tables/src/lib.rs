//! Parquet and CSV: corpora and releases in, releases out.
//!
//! A row becomes a line of JSON, and such lines are what the library `undertone` reads: a table has the same rules as
//! JSON lines have, and the same errors, with the number of the row. A crate of its own, so that what takes no tables, such as
//! the bridge to C++, does not compile them.
//!
//! | in a table | in the line |
//! | --- | --- |
//! | a string, a whole number, a decimal, a truth value | the same |
//! | a number with a fraction | the same; null if it is not finite |
//! | an identifier (UUID) | a string, as in `0c2f7a52-8f5c-4a0e-9d6b-0d6f1f2f7a11` |
//! | a date, a time of day, a time stamp | a string, as in `2026-11-30`, `12:00:00.000` and `2026-11-30T12:00:00.000000Z` |
//! | bytes | the string, if they are one, else hexadecimal digits; in the column `release` always hexadecimal digits; in the column of the text of a corpus always a string |
//! | a struct, a list | an object, a list; of a map, a list of objects with `key` and `value` |
//! | a cell of CSV | a string; nothing if it is empty |
//!
//! A few rows are in memory at a time, and a page of each column. Errors and rejects name a row by its number and quote
//! nothing.

mod cells;
pub mod columns;
mod rows;
mod write;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use undertone::corpus::{Corpus, FieldNames};
use undertone::error::{Error, Result};
use undertone::files::form::Form;
use undertone::files::lines::Watched;
use undertone::release::lines::Lines;

pub use cells::without_mark;
pub use write::{Kind, Table, unwritten};

/// Opens a corpus: JSON lines, `.tsv`, Parquet or CSV. Texts, labels and ids are in the fields `names`; `keep` is as in
/// [`Corpus::keep`].
///
/// # Errors
/// Those of [`Corpus::open`]; [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for a table that is none, has a name
/// twice, or has a column among these that cannot be read. Iterating gives those of a corpus.
pub fn corpus(path: &Path, names: &FieldNames, keep: Option<&[String]>) -> Result<Corpus> {
    open(path, names, keep, false)
}

/// As [`corpus`], with a progress bar.
///
/// # Errors
/// Those of [`corpus`].
pub fn corpus_watched(path: &Path, names: &FieldNames, keep: Option<&[String]>) -> Result<Corpus> {
    open(path, names, keep, true)
}

fn open(path: &Path, names: &FieldNames, keep: Option<&[String]>, watched: bool) -> Result<Corpus> {
    let corpus = match Form::of(path) {
        Some(Form::Parquet) => {
            // Private documents have no use for a label.
            let label = keep.is_none().then_some(&names.label);
            let own = [Some(&names.text), label, Some(&names.id)];
            let wanted: Vec<&str> = own
                .into_iter()
                .flatten()
                .chain(keep.unwrap_or_default())
                .map(String::as_str)
                .collect();
            let rows = rows::open(path, Some(&wanted), Some(&names.text), watched)?;
            Corpus::of_table(path, rows)
        }
        Some(Form::Csv) => {
            let source = source(path, watched)?;
            Corpus::of_table(path, cells::corpus(path, source, &names.text)?)
        }
        _ if watched => Corpus::open_watched(path)?,
        _ => Corpus::open(path)?,
    };
    let corpus = corpus.fields(names.clone());
    Ok(match keep {
        Some(keep) => corpus.keep(keep),
        None => corpus,
    })
}

fn source(path: &Path, watched: bool) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    Ok(match watched {
        true => Box::new(Watched::new(file)),
        false => Box::new(file),
    })
}

/// The column of the releases.
const RELEASE: &str = "release";

/// Opens a file of releases: Parquet, CSV, or JSON lines whatever its name. A table must have a column `release`.
///
/// A row that cannot be read is a line that is none, so it does not stop the others.
///
/// # Errors
/// Those of [`Lines::open`]; [`ErrorKind::Input`](undertone::error::ErrorKind::Input) as for [`corpus`].
pub fn releases(path: &Path) -> Result<Lines> {
    releases_of(path, Form::of(path).unwrap_or(Form::JsonLines), None)
}

/// The same of a file of this form, whatever its name. Of Parquet only the columns `wanted` are read, by their names or by paths into them, so that
/// others may be of any type; all if it is `None`.
///
/// # Errors
/// Those of [`releases`].
pub fn releases_of(path: &Path, form: Form, wanted: Option<&[&str]>) -> Result<Lines> {
    lines_of(path, form, wanted, Some(RELEASE))
}

/// The lines of a table, or JSON lines, whatever their columns and fields.
///
/// # Errors
/// Those of [`releases`].
pub fn lines(path: &Path) -> Result<Lines> {
    lines_of(path, Form::of(path).unwrap_or(Form::JsonLines), None, None)
}

fn lines_of(
    path: &Path,
    form: Form,
    wanted: Option<&[&str]>,
    needed: Option<&str>,
) -> Result<Lines> {
    match form {
        Form::Parquet => {
            let rows = rows::open(path, wanted, needed, false)?;
            Ok(Lines::plain(path, Box::new(rows)))
        }
        Form::Csv => {
            let records = cells::open(path, source(path, false)?, needed)?;
            Ok(Lines::plain(path, Box::new(records)))
        }
        Form::JsonLines | Form::Tsv | Form::Raw => Lines::open(path),
    }
}

/// The names of the columns of a table, and the paths to fields inside others; none if the file is no table.
///
/// # Errors
/// Those of opening it with [`releases`].
pub fn names(path: &Path) -> Result<Option<Vec<String>>> {
    match Form::of(path) {
        Some(Form::Parquet) => rows::names(path).map(Some),
        Some(Form::Csv) => names_of_csv(path).map(Some),
        _ => Ok(None),
    }
}

/// The names of the columns of a CSV file.
///
/// # Errors
/// Those of opening it with [`releases`].
pub fn names_of_csv(path: &Path) -> Result<Vec<String>> {
    cells::names(path, source(path, false)?)
}

/// Makes lines, one after the other.
pub(crate) trait Source {
    /// Adds the next line to `out`; false at the end. Before an error there may be the ends of lines, so that it has the
    /// number of its line.
    fn line(&mut self, out: &mut Vec<u8>) -> io::Result<bool>;
}

/// The lines of a source, as a stream.
pub(crate) struct Stream<S> {
    source: S,
    line: Vec<u8>,
    at: usize,
    failed: Option<io::Error>,
}

impl<S: Source> Stream<S> {
    pub(crate) fn lines(source: S) -> BufReader<Self> {
        BufReader::new(Self {
            source,
            line: Vec::new(),
            at: 0,
            failed: None,
        })
    }
}

impl<S: Source> Read for Stream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.line.clear();
            self.at = 0;
            match self.source.line(&mut self.line) {
                Ok(true) => self.line.push(b'\n'),
                Ok(false) => return Ok(0),
                Err(error) if self.line.is_empty() => return Err(error),
                Err(error) => self.failed = Some(error),
            }
        }
        let part = &self.line[self.at..];
        let length = part.len().min(buffer.len());
        buffer[..length].copy_from_slice(&part[..length]);
        self.at += length;
        Ok(length)
    }
}

/// Adds a text in JSON. Bytes that are no UTF-8 stay, so that whoever reads the line says that it is none.
pub(crate) fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for part in text.utf8_chunks() {
        let written = serde_json::to_vec(part.valid()).expect("a string is JSON");
        out.extend_from_slice(&written[1..written.len() - 1]);
        out.extend_from_slice(part.invalid());
    }
    out.push(b'"');
}
