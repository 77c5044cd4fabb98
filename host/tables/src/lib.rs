//! Reads corpora and releases from Parquet and CSV, and writes releases to them.
//!
//! Each row becomes a line of JSON, which the library `undertone` reads. So tables have the same
//! rules and errors as JSON lines, with row numbers. This is a separate crate so that programs
//! without tables, such as the bridge to C++, do not compile it.
//!
//! | in a table | in the line |
//! | --- | --- |
//! | a string, a whole number, a decimal, a truth value | the same value |
//! | a number with a fraction | the same value; null if it is not finite |
//! | an identifier (UUID) | a string, as in `0c2f7a52-8f5c-4a0e-9d6b-0d6f1f2f7a11` |
//! | a date, a time of day, a time stamp | a string, as in `2026-11-30`, `12:00:00.000` and `2026-11-30T12:00:00.000000Z` |
//! | bytes | a string if they are UTF-8, else hexadecimal digits; always hexadecimal digits in the column `release`, always a string in the text column of a corpus |
//! | a struct, a list, a map | an object, a list, a list of objects with `key` and `value` |
//! | a cell of CSV | a string; no field if it is empty |
//!
//! Memory holds a few rows at a time, and one page of each column. Errors and rejects name a row by
//! its number and quote none of its contents.

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

/// Opens a corpus: JSON lines, `.tsv`, Parquet or CSV. Texts, labels and ids are in the fields
/// `names`; `keep` is as in [`Corpus::keep`].
///
/// # Errors
/// Errors of [`Corpus::open`]; [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for a file
/// that is not a table, has a column name twice, or has an unsupported type in one of these
/// columns. Iterating returns the errors of a corpus.
pub fn corpus(path: &Path, names: &FieldNames, keep: Option<&[String]>) -> Result<Corpus> {
    open(path, names, keep, false)
}

/// As [`corpus`], with a progress bar.
///
/// # Errors
/// Errors of [`corpus`].
pub fn corpus_watched(path: &Path, names: &FieldNames, keep: Option<&[String]>) -> Result<Corpus> {
    open(path, names, keep, true)
}

fn open(path: &Path, names: &FieldNames, keep: Option<&[String]>, watched: bool) -> Result<Corpus> {
    // Answers may be missing in any row, so their columns are not required here.
    let text = names.answers.is_none().then_some(names.text.as_str());
    let form = Form::of(path);
    let corpus = match form {
        Some(Form::Parquet) => {
            // Private documents need no label.
            let label = keep.is_none().then_some(&names.label);
            let own = [label, Some(&names.id), names.source.as_ref()];
            let own = own.into_iter().flatten().chain(keep.unwrap_or_default());
            let own = own.map(String::as_str);
            let wanted: Vec<&str> = names.private().into_iter().chain(own).collect();
            let rows = rows::open(path, Some(&wanted), text, watched)?;
            Corpus::of_table(path, rows)
        }
        Some(Form::Csv | Form::Tsv) if form == Some(Form::Csv) || text.is_none() => {
            let source = source(path, watched)?;
            let rows = cells::open(path, source, separator(form), text, true)?;
            Corpus::of_table(path, rows)
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

/// The byte between two cells.
fn separator(form: Option<Form>) -> u8 {
    if form == Some(Form::Tsv) { b'\t' } else { b',' }
}

fn source(path: &Path, watched: bool) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    Ok(if watched {
        Box::new(Watched::new(file))
    } else {
        Box::new(file)
    })
}

/// The column of the releases.
const RELEASE: &str = "release";

/// Opens a file of releases: Parquet or CSV by its ending, otherwise JSON lines. A table must have
/// a column `release`.
///
/// A row that cannot be read becomes a rejected line and does not stop the others.
///
/// # Errors
/// Errors of [`Lines::open`]; [`ErrorKind::Input`](undertone::error::ErrorKind::Input) as for
/// [`corpus`].
pub fn releases(path: &Path) -> Result<Lines> {
    releases_of(path, Form::of(path).unwrap_or(Form::JsonLines), None)
}

/// Opens a file of releases of this form, whatever its name. From Parquet it reads only the columns
/// `wanted`, given by name or path, so that other columns may have any type; `None` reads all.
///
/// # Errors
/// Errors of [`releases`].
pub fn releases_of(path: &Path, form: Form, wanted: Option<&[&str]>) -> Result<Lines> {
    lines_of(path, form, wanted, Some(RELEASE))
}

/// The lines of a table or a file of JSON lines, with any columns or fields.
///
/// # Errors
/// Errors of [`releases`].
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
            let source = source(path, false)?;
            let records = cells::open(path, source, b',', needed, false)?;
            Ok(Lines::plain(path, Box::new(records)))
        }
        Form::Tsv if needed == Some(RELEASE) => Err(columns::unusable(
            path,
            "releases are not read from .tsv; save it as .csv, or as JSON lines",
        )),
        Form::JsonLines | Form::Tsv | Form::Raw => Lines::open(path),
    }
}

/// Column names of a table, and paths of nested fields; `None` if the file is not a table.
///
/// # Errors
/// Errors of [`releases`].
pub fn names(path: &Path) -> Result<Option<Vec<String>>> {
    Form::of(path).map_or(Ok(None), |form| names_of(path, form))
}

/// As [`names`], for a file of this form, whatever its name.
///
/// # Errors
/// Errors of [`releases`].
pub fn names_of(path: &Path, form: Form) -> Result<Option<Vec<String>>> {
    match form {
        Form::Parquet => rows::names(path).map(Some),
        Form::Csv => cells::names(path, source(path, false)?, b',').map(Some),
        _ => Ok(None),
    }
}

/// As [`names`], for a table of answers, which may also be a `.tsv` file: one with a header line.
///
/// # Errors
/// Errors of [`releases`].
pub fn names_of_answers(path: &Path) -> Result<Option<Vec<String>>> {
    match Form::of(path) {
        Some(Form::Tsv) => cells::names(path, source(path, false)?, b'\t').map(Some),
        _ => names(path),
    }
}

/// Describes another separator that parts the names of a table, if `name` is then one of them or if
/// there is only one name.
pub fn other_separator(path: &Path, names: &[String], name: &str) -> Option<String> {
    cells::other_separator(names, separator(Form::of(path)), name)
}

/// Produces lines, one by one.
pub(crate) trait Source {
    /// Appends the next line to `out`; returns false at the end. Before an error it may append line
    /// ends, so that the error has its line number.
    fn line(&mut self, out: &mut Vec<u8>) -> io::Result<bool>;
}

/// The lines of a source, as a byte stream.
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

/// Appends a text as a JSON string. Invalid UTF-8 stays, so that the reader of the line rejects it.
pub(crate) fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for part in text.utf8_chunks() {
        let written = serde_json::to_vec(part.valid()).expect("a string is JSON");
        out.extend_from_slice(&written[1..written.len() - 1]);
        out.extend_from_slice(part.invalid());
    }
    out.push(b'"');
}
