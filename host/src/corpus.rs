//! Public corpora: one document a line, read as a stream.
//!
//! | ending | line |
//! | --- | --- |
//! | `.jsonl` | a JSON object: string `text`; `id` and `label`, string or number, may be missing or null; other fields are ignored |
//! | `.tsv` | label, tabulator, text; no header, no quoting |
//!
//! Both may be gzipped, whatever their name; files whose name ends in `.gz` must be. Files are UTF-8; a byte order
//! mark at the start, carriage returns at line ends and blank lines are skipped. An empty label is no label. A
//! document without an id gets `line-N`, N counted from 1. [`Corpus::label_field`] takes the label from another field
//! of the object.
//!
//! A line that is not UTF-8, not a document or longer than [`LINE_LIMIT`] is refused with its number, and
//! reading ends: nothing is skipped, because a pack of half a corpus would look like one of the whole, and a
//! private text that is left out would look like one that was released. No message quotes a line. Ids may be
//! repeated.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Cause, Error, LineProblem, Result};
use crate::files::lines::{Lines, unzipped};
use crate::progress::Progress;

/// The longest line that is read, in bytes without the line end: 16 MiB.
///
/// The reader holds one line at a time, so this bounds its memory whatever the file contains: splitting such
/// a text into sentences or lines takes up to 320 MiB.
pub const LINE_LIMIT: usize = 16 << 20;

/// The file name endings that [`Corpus::open`] knows.
pub(crate) const ENDINGS: [&str; 4] = [".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz"];

/// The field of the label, unless another is named.
const LABEL: &str = "label";

/// One document of a corpus, or of a file of private texts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CorpusDocument {
    /// The document's own id, or `line-N`.
    pub id: String,
    /// The class of the document, if the corpus says one.
    pub label: Option<String>,
    /// The document.
    pub text: String,
    /// The line it stands in, from 1; 0 if it comes from no file.
    pub line: u64,
    /// The id and what [`Corpus::keep`] names, as they are written: members of a JSON object. Empty unless asked for.
    pub kept: String,
}

/// Says nothing about the text, which may be private.
impl fmt::Debug for CorpusDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CorpusDocument")
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// The documents of a corpus file, in order.
///
/// The first error ends the iteration: what follows a broken line is not trusted.
pub struct Corpus {
    path: PathBuf,
    format: Format,
    label_field: String,
    keep: Option<Vec<String>>,
    lines: Lines<Box<dyn BufRead + Send>>,
    ended: bool,
}

/// A file whose progress is shown.
struct Watched {
    file: File,
    progress: Progress,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

#[derive(Clone, Copy)]
enum Format {
    Jsonl,
    Tsv,
}

impl Corpus {
    /// Opens a corpus; the end of the file name says how it is read.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for another ending than those in the [module](self) table;
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if the file cannot be opened. Iterating gives [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a line
    /// that cannot be read or is not a document.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_from(path.as_ref().to_owned(), |file| Box::new(file))
    }

    /// As [`open`](Self::open), with a progress bar of the bytes read.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_watched(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_from(path.as_ref().to_owned(), |file| {
            let total = file.metadata().map_or(0, |about| about.len());
            Box::new(Watched {
                file,
                progress: Progress::new("reading", total),
            })
        })
    }

    fn open_from(path: PathBuf, source: impl FnOnce(File) -> Box<dyn Read + Send>) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (stem, gzipped) = match name.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (&*name, false),
        };
        let format = if stem.ends_with(".jsonl") {
            Format::Jsonl
        } else if stem.ends_with(".tsv") {
            Format::Tsv
        } else {
            return Err(Error::from(Cause::UnknownCorpusFormat { path }));
        };
        let source = source(File::open(&path).map_err(Error::io("open", &path))?);
        let reader: Box<dyn BufRead + Send> = if gzipped {
            Box::new(BufReader::new(MultiGzDecoder::new(source)))
        } else {
            unzipped(source).map_err(Error::io("read", &path))?
        };
        Ok(Self::of(path, format, reader))
    }

    /// JSON lines from a stream, gzipped or not, which errors call `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io). Iterating gives [`ErrorKind::Input`](crate::error::ErrorKind::Input) as for a file.
    pub fn json_lines(name: &Path, source: impl Read + Send + 'static) -> Result<Self> {
        let reader = unzipped(source).map_err(Error::io("read", name))?;
        Ok(Self::of(name.to_owned(), Format::Jsonl, reader))
    }

    fn of(path: PathBuf, format: Format, reader: Box<dyn BufRead + Send>) -> Self {
        Self {
            path,
            format,
            label_field: LABEL.to_owned(),
            keep: None,
            lines: Lines::new(reader, LINE_LIMIT),
            ended: false,
        }
    }

    /// Keeps the id and the fields of these names as they are written, in [`CorpusDocument::kept`]. A line of a
    /// `.tsv` file has a field `label` only; a field that a line does not have is left out.
    pub fn keep(mut self, fields: &[String]) -> Self {
        self.keep = Some(fields.to_vec());
        self
    }

    /// Takes the labels of JSON lines from this field instead of `label`; lines of a `.tsv` file have
    /// only one.
    pub fn label_field(mut self, field: impl Into<String>) -> Self {
        self.label_field = field.into();
        self
    }

    /// The next document, or `None` at the end of the file.
    fn next_document(&mut self) -> Result<Option<CorpusDocument>, LineProblem> {
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next_line()? else {
                return Ok(None);
            };
            if line.trim().is_empty() {
                continue;
            }
            let mut document = match self.format {
                Format::Jsonl => from_json(line, number, &self.label_field),
                Format::Tsv => from_tsv(line, number),
            }?;
            if let Some(keep) = &self.keep {
                document.kept = match self.format {
                    Format::Jsonl => kept_of_json(line, &document.id, keep)?,
                    Format::Tsv => kept_of_tsv(&document, keep),
                };
            }
            return Ok(Some(document));
        }
    }
}

impl Iterator for Corpus {
    type Item = Result<CorpusDocument>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self
            .next_document()
            .map_err(|problem| {
                Error::from(Cause::CorpusLine {
                    path: self.path.clone(),
                    line: self.lines.number(),
                    problem,
                })
            })
            .transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::iter::FusedIterator for Corpus {}

/// Documents in order, in batches that keep all cores busy and are small in memory: at most 64 documents, and
/// none behind the first mebibyte of text.
pub fn batches(
    mut documents: impl Iterator<Item = Result<CorpusDocument>>,
) -> impl Iterator<Item = Result<Vec<CorpusDocument>>> {
    const DOCUMENTS: usize = 64;
    const BYTES: usize = 1 << 20;
    std::iter::from_fn(move || {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < DOCUMENTS && bytes < BYTES {
            match documents.next() {
                None => break,
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(document)) => {
                    bytes += document.text.len();
                    batch.push(document);
                }
            }
        }
        (!batch.is_empty()).then_some(Ok(batch))
    })
}

fn line_id(line: u64) -> String {
    format!("line-{line}")
}

fn from_tsv(line: &str, number: u64) -> Result<CorpusDocument, LineProblem> {
    let (label, text) = line.split_once('\t').ok_or(LineProblem::MissingTab)?;
    Ok(CorpusDocument {
        id: line_id(number),
        label: (!label.is_empty()).then(|| label.to_owned()),
        text: text.to_owned(),
        line: number,
        kept: String::new(),
    })
}

/// The fields of a line as they are written. Other fields are skipped without being stored, and
/// numbers keep their digits (an id of 20 digits does not fit any number type).
#[derive(Deserialize)]
struct JsonLine<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    label: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

fn from_json(line: &str, number: u64, label_field: &str) -> Result<CorpusDocument, LineProblem> {
    // A derived reader also takes an array as the fields in order.
    if !line.trim_start().starts_with('{') {
        return Err(LineProblem::NotJson {
            fault: "no object",
            column: 1,
        });
    }
    let fields: JsonLine<'_> = serde_json::from_str(line).map_err(|error| not_json(&error))?;
    let text = fields
        .text
        .ok_or(LineProblem::MissingField { field: "text" })?;
    if !text.get().starts_with('"') {
        return Err(LineProblem::WrongType {
            field: "text",
            wanted: "a string",
        });
    }
    let label = if label_field == LABEL {
        fields.label.map(|label| scalar(LABEL, label)).transpose()?
    } else {
        other_label(line, label_field)?
    };
    Ok(CorpusDocument {
        id: match fields.id {
            Some(id) => scalar("id", id)?,
            None => line_id(number),
        },
        label: label.filter(|label| !label.is_empty()),
        text: string(text)?,
        line: number,
        kept: String::new(),
    })
}

/// The id and the fields of these names, as members of an object.
fn kept_of_json(line: &str, id: &str, keep: &[String]) -> Result<String, LineProblem> {
    let fields: HashMap<String, &RawValue> =
        serde_json::from_str(line).map_err(|error| not_json(&error))?;
    let written = |name: &str| fields.get(name).map(|value| value.get());
    let own = written("id").filter(|id| *id != "null");
    let mut kept = own.map_or_else(|| member("id", &json(id)), |id| member("id", id));
    for name in keep {
        if let Some(value) = written(name) {
            kept += ",";
            kept += &member(name, value);
        }
    }
    Ok(kept)
}

fn kept_of_tsv(document: &CorpusDocument, keep: &[String]) -> String {
    let mut kept = member("id", &json(&document.id));
    if let Some(label) = &document.label
        && keep.iter().any(|name| name == LABEL)
    {
        kept += ",";
        kept += &member(LABEL, &json(label));
    }
    kept
}

fn member(name: &str, value: &str) -> String {
    format!("{}:{value}", json(name))
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The value of a field that is named while running.
fn other_label(line: &str, field: &str) -> Result<Option<String>, LineProblem> {
    let fields: HashMap<String, &RawValue> =
        serde_json::from_str(line).map_err(|error| not_json(&error))?;
    match fields.get(field) {
        None => Ok(None),
        Some(value) if value.get() == "null" => Ok(None),
        Some(value) => match scalar(LABEL, value) {
            Err(LineProblem::WrongType { .. }) => Err(LineProblem::WrongLabel {
                field: field.to_owned(),
            }),
            label => label.map(Some),
        },
    }
}

/// A string's value, or a number's digits.
fn scalar(field: &'static str, value: &RawValue) -> Result<String, LineProblem> {
    match value.get().as_bytes() {
        [b'"', ..] => string(value),
        [b'-' | b'0'..=b'9', ..] => Ok(value.get().to_owned()),
        _ => Err(LineProblem::WrongType {
            field,
            wanted: "a string or a number",
        }),
    }
}

fn string(value: &RawValue) -> Result<String, LineProblem> {
    serde_json::from_str(value.get()).map_err(|error| not_json(&error))
}

/// The message of a JSON error may quote the line, so only its kind and place are kept.
fn not_json(error: &serde_json::Error) -> LineProblem {
    LineProblem::NotJson {
        fault: match error.classify() {
            serde_json::error::Category::Eof => "it ends too early",
            serde_json::error::Category::Data => "a field is given twice or has a wrong value",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "syntax error",
        },
        column: error.column(),
    }
}
