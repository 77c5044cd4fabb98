//! Public corpora: one document per line, read as a stream.
//!
//! | ending | line |
//! | --- | --- |
//! | `.jsonl`, `.ndjson` | a JSON object: string `text`; `id` and `label`, string or number, may be missing or null; other fields are ignored |
//! | `.tsv` | label, tab, text; a header line and labels in quotation marks are refused |
//!
//! Both may be gzipped under any name. Files are UTF-8. A byte order mark at the start, carriage
//! returns at line ends and blank lines are skipped. An empty label counts as none. A document
//! without an id gets `line-N`, with N counted from 1. [`Corpus::fields`] reads other fields of the
//! object. The command line also reads Parquet and CSV, as such lines.
//!
//! A line that is not UTF-8, not a document or longer than [`LINE_LIMIT`] is an error with the
//! line's number, and it ends the reading. Nothing is skipped, because a pack of half a corpus
//! would look like one of the whole, and an omitted private text would look like a released one. No
//! message quotes a line. Ids may be repeated.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::error::{Error, LineProblem, Result};
use crate::files::fields::{Fields, Twice, member, quoted, without_nan};
use crate::files::foreign;
use crate::files::form::Form;
use crate::files::lines::{Lines, Watched, names_separator, unzipped};
use crate::form::Answers;

/// The longest line that is read, in bytes without the line end: 16 MiB.
///
/// The reader holds one line at a time, so this bounds its memory for any content. Splitting such a
/// line into sentences or lines takes up to 320 MiB.
pub const LINE_LIMIT: usize = 16 << 20;

/// The names of the fields in a line of JSON. A name with dots is a path to a nested field, such as
/// `user.name`, unless a field has that very name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNames {
    /// The text, a string.
    pub text: String,
    /// The label, a string or a number; it may be missing.
    pub label: String,
    /// The id, a string or a number; it may be missing.
    pub id: String,
    /// The source, a string or a number that every document has; `None`: sources are not read.
    pub source: Option<String>,
    /// The form whose answers are read in the place of texts, in the fields of its attributes;
    /// `None`: texts are read.
    pub answers: Option<Arc<Answers>>,
}

impl FieldNames {
    /// The fields of what is private: the text, or the attributes of the form.
    pub fn private(&self) -> Vec<&str> {
        match &self.answers {
            None => vec![&self.text],
            Some(answers) => answers.attributes().collect(),
        }
    }
}

impl Default for FieldNames {
    fn default() -> Self {
        let [text, label, id] = ["text", "label", "id"].map(str::to_owned);
        Self {
            text,
            label,
            id,
            source: None,
            answers: None,
        }
    }
}

/// The name of the label field in a `.tsv` file.
const LABEL: &str = "label";

/// One document of a corpus, or of a file of private texts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CorpusDocument {
    /// The document's own id, or `line-N`.
    pub id: String,
    /// The class of the document, if the corpus has one.
    pub label: Option<String>,
    /// The source of the document, such as its author, product or year; `None` unless a field is
    /// named.
    pub source: Option<String>,
    /// The text of the document; empty if it has answers and none is a text.
    pub text: String,
    /// The answers to the attributes of [`FieldNames::answers`].
    pub answers: Vec<u32>,
    /// The line number, from 1; 0 if the document does not come from a file.
    pub line: u64,
    /// The id and the fields named in [`Corpus::keep`], as members of a JSON object with their
    /// values as written. Empty unless requested.
    pub kept: String,
}

impl CorpusDocument {
    /// Whether the file gives no id, or one that is the same as the number of the line.
    #[doc(hidden)]
    pub fn has_line_id(&self) -> bool {
        self.id == line_id(self.line)
    }
}

/// Omits the text and the answers, which may be private.
impl fmt::Debug for CorpusDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CorpusDocument")
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// The documents of a corpus file, in order.
///
/// The first error ends the iteration, because the rest of the file cannot be trusted.
pub struct Corpus {
    path: PathBuf,
    format: Format,
    names: FieldNames,
    keep: Option<Vec<String>>,
    lines: Lines<Box<dyn BufRead + Send>>,
    /// Whether a line that is not blank was read.
    started: bool,
    header: Option<Header>,
    ended: bool,
}

/// The first document of a `.tsv` file if it may be a header: no other has its label yet.
struct Header {
    /// Its line number.
    number: u64,
    label: Option<String>,
    /// The labels of the documents after it, and whether two have the same.
    others: HashSet<Option<String>>,
    repeats: bool,
}

#[derive(Clone, Copy)]
enum Format {
    Jsonl,
    Tsv,
    /// JSON lines made from the rows of a table.
    Table,
}

impl Corpus {
    /// Opens a corpus; its format follows from the end of the file name.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a name that is not in the
    /// [module](self) table; [`ErrorKind::Io`](crate::error::ErrorKind::Io) if the file cannot be
    /// opened. Iterating returns [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a line
    /// that cannot be read or is not a document.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_from(path.as_ref().to_owned(), |file| Box::new(file))
    }

    /// [`open`](Self::open) with a progress bar of the bytes read.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_watched(path: impl AsRef<Path>) -> Result<Self> {
        let watched = |file| -> Box<dyn Read + Send> { Box::new(Watched::new(file)) };
        Self::open_from(path.as_ref().to_owned(), watched)
    }

    fn open_from(path: PathBuf, source: impl FnOnce(File) -> Box<dyn Read + Send>) -> Result<Self> {
        let format = match Form::of(&path) {
            Some(Form::JsonLines) => Format::Jsonl,
            Some(Form::Tsv) => Format::Tsv,
            Some(Form::Csv | Form::Parquet) => {
                return Err(Error::input(format!(
                    "`{}` is a table, which the library does not read by itself; make JSON \
                     lines of it, or open it with the crate undertone-tables",
                    path.display()
                )));
            }
            Some(Form::Raw) | None => {
                let foreign = foreign::of_file(&path);
                return Err(foreign.unwrap_or(Error::input(format!(
                    "`{}` has an unknown ending; known are .jsonl, .ndjson, .tsv and .csv, \
                     all of them gzipped (.gz) or not, and .parquet; rename it",
                    path.display()
                ))));
            }
        };
        let source = source(File::open(&path).map_err(Error::io("open", &path))?);
        let reader = unzipped(source).map_err(Error::io("read", &path))?;
        Ok(Self::of(path, format, reader))
    }

    /// Reads JSON lines from a stream, gzipped or not; errors call it `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io). Iterating returns
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) as for a file.
    pub fn json_lines(name: &Path, source: impl Read + Send + 'static) -> Result<Self> {
        let reader = unzipped(source).map_err(Error::io("read", name))?;
        Ok(Self::of(name.to_owned(), Format::Jsonl, reader))
    }

    /// Reads JSON lines made from the rows of a table. Errors give no line numbers, because these
    /// are not places in the table.
    #[doc(hidden)]
    pub fn of_table(name: &Path, lines: impl BufRead + Send + 'static) -> Self {
        Self::of(name.to_owned(), Format::Table, Box::new(lines))
    }

    fn of(path: PathBuf, format: Format, reader: Box<dyn BufRead + Send>) -> Self {
        Self {
            path,
            format,
            names: FieldNames::default(),
            keep: None,
            lines: Lines::new(reader, LINE_LIMIT),
            started: false,
            header: None,
            ended: false,
        }
    }

    /// Keeps the id and the named fields as written, in [`CorpusDocument::kept`]. Names may be
    /// paths, as in [`FieldNames`]. Fields missing from a line are left out; a `.tsv` line has only
    /// `label`. A label that cannot be read then counts as missing and is no error.
    pub fn keep(mut self, fields: &[String]) -> Self {
        self.keep = Some(fields.to_vec());
        self
    }

    /// Takes texts, labels and ids of JSON lines from these fields. `.tsv` lines are unaffected.
    pub fn fields(mut self, names: FieldNames) -> Self {
        self.names = names;
        self
    }

    /// Returns the next document, or `None` at the end of the file.
    fn next_document(&mut self) -> Result<Option<CorpusDocument>, LineProblem> {
        loop {
            let number = self.lines.number() + 1;
            let line = self.lines.next_line();
            let line = line.map_err(|problem| match (problem, self.format) {
                (LineProblem::NotUtf8 { .. }, Format::Table) => LineProblem::CellNotUtf8,
                (problem, _) => problem,
            });
            let Some(line) = line? else {
                return match &self.header {
                    Some(header) if header.repeats => Err(LineProblem::Header),
                    // If no label repeats, the first document is like the others.
                    _ => Ok(None),
                };
            };
            if line.trim().is_empty() {
                continue;
            }
            let document = match self.format {
                Format::Jsonl | Format::Table => {
                    from_json(line, number, &self.names, self.keep.as_deref())?
                }
                Format::Tsv => {
                    let is_first = !std::mem::replace(&mut self.started, true);
                    let mut document = from_tsv(line, number, is_first, &self.names)?;
                    if is_first && may_name_columns(line, &self.names) {
                        self.header = Some(Header {
                            number,
                            label: document.label.clone(),
                            others: HashSet::new(),
                            repeats: false,
                        });
                    } else {
                        self.header.take_if(|header| header.is_refuted(&document));
                    }
                    let keep = self.keep.as_ref();
                    document.kept =
                        keep.map_or_else(String::new, |own| kept_of_tsv(&document, own));
                    document
                }
            };
            let label = document.label.as_deref().unwrap_or_default();
            if self.keep.is_none() && self.is_quoted(label) {
                return Err(LineProblem::QuotedLabel);
            }
            return Ok(Some(document));
        }
    }

    /// Returns whether a label is in quotation marks that the format does not remove: in `.tsv`,
    /// and after a blank in `.csv`.
    fn is_quoted(&self, label: &str) -> bool {
        let inside = |label: &str, mark: char| {
            let inside = label.strip_prefix(mark)?.strip_suffix(mark)?;
            Some(inside.contains(mark))
        };
        match self.format {
            Format::Jsonl => false,
            Format::Tsv => ['"', '\'']
                .iter()
                .any(|mark| inside(label, *mark) == Some(false)),
            Format::Table => {
                label.starts_with(' ')
                    && inside(label.trim(), '"').is_some()
                    && Form::of(&self.path) == Some(Form::Csv)
            }
        }
    }

    /// Reads on until it is known whether the first line is a header, for a caller that takes
    /// only the first documents.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if the first line is a header.
    #[doc(hidden)]
    pub fn check_header(mut self) -> Result<()> {
        while self.header.is_some() && !self.ended {
            match self.next_document() {
                Ok(Some(_)) => {}
                Err(problem @ LineProblem::Header) => return Err(self.error(problem)),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(())
    }

    fn error(&self, problem: LineProblem) -> Error {
        let header = self.header.as_ref().map(|header| header.number);
        let header = header.filter(|_| matches!(problem, LineProblem::Header));
        Error::line(&self.path, header.unwrap_or(self.lines.number()), problem)
    }
}

impl Header {
    /// Follows a document after it. Returns whether the first line is no header: a document has its
    /// label, or many have a label of their own.
    fn is_refuted(&mut self, document: &CorpusDocument) -> bool {
        const MOST: usize = 1000;
        if !self.repeats {
            self.repeats = !self.others.insert(document.label.clone());
        }
        self.label == document.label || !self.repeats && self.others.len() > MOST
    }
}

impl Iterator for Corpus {
    type Item = Result<CorpusDocument>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_document();
        let next = next.map_err(|problem| self.error(problem)).transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::iter::FusedIterator for Corpus {}

/// Groups documents, in order, into batches large enough to keep all cores busy and small enough
/// for memory: at most 64 documents, and none after the first MiB of text.
pub fn batches(
    documents: impl Iterator<Item = Result<CorpusDocument>>,
) -> impl Iterator<Item = Result<Vec<CorpusDocument>>> {
    batches_of(64, documents)
}

/// [`batches`] of at most `most` documents.
pub(crate) fn batches_of(
    most: usize,
    mut documents: impl Iterator<Item = Result<CorpusDocument>>,
) -> impl Iterator<Item = Result<Vec<CorpusDocument>>> {
    const BYTES: usize = 1 << 20;
    std::iter::from_fn(move || {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < most && bytes < BYTES {
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

/// Reads a line of a `.tsv` file.
fn from_tsv(
    line: &str,
    number: u64,
    is_first: bool,
    names: &FieldNames,
) -> Result<CorpusDocument, LineProblem> {
    if is_first && names_separator(line) {
        return Err(LineProblem::Separator);
    }
    // A text may have one; line ends have a label and a text after each.
    let mut after = line.split('\r').skip(1);
    let is_document = |part: &str| part.matches('\t').count() == 1;
    if after.clone().nth(1).is_some() && after.all(is_document) {
        return Err(LineProblem::BareReturn);
    }
    let (label, text) = line.split_once('\t').ok_or(LineProblem::MissingTab)?;
    if is_first && names_columns(line, names) {
        return Err(LineProblem::Header);
    }
    Ok(CorpusDocument {
        id: line_id(number),
        label: (!label.is_empty()).then(|| label.to_owned()),
        text: text.to_owned(),
        line: number,
        ..CorpusDocument::default()
    })
}

/// The cells of a line as names of columns, in lower case.
fn columns(line: &str) -> impl Iterator<Item = String> {
    line.split('\t')
        .map(|name| name.trim().trim_matches(['"', '#', ' ']).to_lowercase())
}

/// Returns whether a column has this name, or a known one as a part: `clean_text`, `label_id`.
fn is_named(column: &str, known: &str, name: &str) -> bool {
    let mut parts = column.split(['_', '-']);
    parts.any(|part| known.split(' ').any(|own| own == part)) || column == name.to_lowercase()
}

/// Usual names of columns of texts.
const TEXTS: &str = "text sentence document message tweet review content utterance question body \
                     title comment post email query description headline news sms v2";

/// Usual names of columns of labels.
const LABELS: &str = "label labels class category intent topic sentiment target tag categories \
                      topics emotion rating stars v1";

/// Returns whether a cell may be the name of a column.
fn is_word(cell: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    cell.chars().all(is_part)
}

/// Returns whether a line is a header: its cells are words, and name a text column and a label
/// column.
fn names_columns(line: &str, names: &FieldNames) -> bool {
    let has = |known, name| columns(line).any(|own| is_named(&own, known, name));
    columns(line).all(|own| is_word(&own))
        && has(TEXTS, &names.text)
        && (has(LABELS, &names.label) || columns(line).nth(2).is_some())
}

/// Returns whether a line may be a header: its cells are words, and one is the name of a column.
fn may_name_columns(line: &str, names: &FieldNames) -> bool {
    let is_name = |own: String| own.contains(char::is_alphabetic) && is_word(&own);
    let is_known =
        |own: String| is_named(&own, TEXTS, &names.text) || is_named(&own, LABELS, &names.label);
    columns(line).all(is_name) && columns(line).any(is_known)
}

fn from_json(
    line: &str,
    number: u64,
    names: &FieldNames,
    keep: Option<&[String]>,
) -> Result<CorpusDocument, LineProblem> {
    // Numbers stay text: an id of 20 digits fits no number type.
    if !line.trim_start().starts_with('{') {
        return Err(LineProblem::NotJson {
            fault: "no object",
            column: 1,
        });
    }
    let fields: Fields<'_> = match serde_json::from_str(line) {
        Ok(fields) => fields,
        // Fields that were not requested may hold NaN or infinities.
        Err(error) => {
            return match without_nan(line) {
                Some(line) => from_json(&line, number, names, keep),
                None if line.trim_end().contains('\r') => Err(LineProblem::BareReturn),
                None => Err(not_json(&error)),
            };
        }
    };
    let find = |field: &str| {
        fields.find(field).map_err(|Twice| LineProblem::FieldTwice {
            field: field.to_owned(),
        })
    };
    let given = |field: &str| Ok(find(field)?.filter(|value| value.get() != "null"));
    let (text, answers) = match &names.answers {
        None => (text_of(&names.text, given(&names.text)?, line)?, Vec::new()),
        Some(answers) => answers.of_record(&fields),
    };
    let written = |field: &str| {
        given(field)?
            .map(|value| scalar(field, value, line))
            .transpose()
    };
    let label = match (written(&names.label), keep) {
        // Private documents need no label, so it may have any type.
        (Err(_), Some(_)) => None,
        (label, _) => label?,
    };
    let source = names
        .source
        .as_ref()
        .map(|field| written(field)?.ok_or_else(|| missing(field)));
    let source = source.transpose()?;
    let own = given(&names.id)?;
    let id = match own {
        Some(id) => scalar(&names.id, id, line)?,
        None => line_id(number),
    };
    let mut kept = String::new();
    if let Some(keep) = keep {
        kept = member("id", own.map_or(&quoted(&id), |id| id.get()));
        for name in keep {
            if let Some(value) = find(name)? {
                kept += &format!(",{}", member(name, value.get()));
            }
        }
    }
    Ok(CorpusDocument {
        id,
        label: label.filter(|label| !label.is_empty()),
        source,
        text,
        answers,
        line: number,
        kept,
    })
}

fn missing(field: &str) -> LineProblem {
    LineProblem::MissingField {
        field: field.to_owned(),
    }
}

/// The value of the text field.
fn text_of(field: &str, value: Option<&RawValue>, line: &str) -> Result<String, LineProblem> {
    let value = value.ok_or_else(|| missing(field))?;
    if !value.get().starts_with('"') {
        return Err(LineProblem::WrongType {
            field: field.to_owned(),
            wanted: "a string",
        });
    }
    string(value, line)
}

fn kept_of_tsv(document: &CorpusDocument, keep: &[String]) -> String {
    let mut kept = member("id", &quoted(&document.id));
    if let Some(label) = &document.label
        && keep.iter().any(|name| name == LABEL)
    {
        kept += &format!(",{}", member(LABEL, &quoted(label)));
    }
    kept
}

/// Returns the value of a string, or the digits of a number.
fn scalar(field: &str, value: &RawValue, line: &str) -> Result<String, LineProblem> {
    match value.get().as_bytes() {
        [b'"', ..] => string(value, line),
        [b'-' | b'0'..=b'9', ..] => Ok(value.get().to_owned()),
        _ => Err(LineProblem::WrongType {
            field: field.to_owned(),
            wanted: "a string or a number",
        }),
    }
}

/// Returns the value of a string. It borrows from `line`, in which errors are located.
fn string(value: &RawValue, line: &str) -> Result<String, LineProblem> {
    let before = value.get().as_ptr().addr() - line.as_ptr().addr();
    serde_json::from_str(value.get()).map_err(|error| match not_json(&error) {
        LineProblem::NotJson { fault, column } => LineProblem::NotJson {
            fault,
            column: before + column,
        },
        other => other,
    })
}

/// Keeps only the kind and place of a JSON error, because its message may quote the line.
fn not_json(error: &serde_json::Error) -> LineProblem {
    LineProblem::NotJson {
        fault: match error.classify() {
            serde_json::error::Category::Eof => "it ends too early",
            serde_json::error::Category::Data => "it has a wrong value",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "syntax error",
        },
        column: error.column(),
    }
}
