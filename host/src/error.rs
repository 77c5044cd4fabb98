//! Errors of the host library.
//!
//! Every message names the fault, with the file, line, value and limit if there are any, and the
//! remedy. No message quotes a text: a corpus line is identified by its number, a sentence by its
//! number of tokens or bytes.
//!
//! Settings stand in angle brackets, such as ⟨heads features⟩, because an option of the command has
//! another form than an argument of Python: [`with_settings`].

use std::path::Path;
use std::{error, fmt, io};

use undertone_core::document::DocumentError;
use undertone_core::form::{AnswersError, FormError};
use undertone_core::ledger::LedgerError;
use undertone_core::pack::PackError;
use undertone_core::vector::VectorError;
use undertone_core::words::WordsError;

use crate::files::foreign::Foreign;

/// `Result` with the [`struct@Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault and its remedy, in one sentence.
///
/// Programs check the [`kind`](Self::kind) or the [`cause`](Self::cause); people read the message.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    cause: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The category of an [`struct@Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option, a setting or the name of an output.
    Argument,
    /// Another program has the file open.
    InUse,
    /// The content of a file: a corpus, word vectors, candidates, releases.
    Input,
    /// The operating system refused something.
    Io,
    /// A sentence encoder.
    Encoder,
    /// A pack, or something that it lacks.
    Pack,
    /// The device side refused a release.
    Release,
    /// The privacy budget, or the ledger that holds it.
    Ledger,
    /// The device that an audit asks for releases.
    Device,
    /// An audit, a training or an experiment that cannot be run.
    Experiment,
    /// A defect of this program.
    Internal,
}

/// Advice on a file that the system refuses.
fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => "; is the file cut off?",
        // The words of the library that unpacks.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
            if cause.to_string().contains("gzip") || cause.to_string().contains("deflate") =>
        {
            "; is the file cut off or damaged?"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space there and run the same command again"
        }
        io::ErrorKind::FileTooLarge => {
            "; raise the limit on the size of files, or name another place, and run the command again"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; name a place that can be written",
        io::ErrorKind::PermissionDenied => "; change its permissions or name another place",
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "; is the name right, and does its folder exist?"
        }
        _ => "",
    }
}

impl Error {
    /// Makes an error of this kind. The message names the fault and the remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            cause: None,
        }))
    }

    /// Makes an error of this kind with a cause, which the message contains.
    pub fn caused(
        kind: ErrorKind,
        message: impl Into<String>,
        cause: impl error::Error + Send + Sync + 'static,
    ) -> Self {
        let mut error = Self::new(kind, message);
        error.0.cause = Some(Box::new(cause));
        error
    }

    /// An error of an option, a setting or the name of an output.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    /// An error in the content of a file.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// An error of a sentence encoder.
    pub fn encoder(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Encoder, message)
    }

    /// An error of a pack.
    pub fn pack(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Pack, message)
    }

    /// An error of an audit, a training or an experiment.
    pub fn experiment(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Experiment, message)
    }

    /// An error of a file that another process uses.
    pub fn in_use(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InUse, message)
    }

    /// An error of a setting outside its range.
    pub fn setting(what: &str, found: f64, allowed: &str) -> Self {
        Self::argument(format!("{what} is {found}; allowed is {allowed}"))
    }

    /// An error of an output that cannot be written.
    pub fn output(path: &Path, problem: &str) -> Self {
        Self::argument(format!("cannot write `{}`: {problem}", path.display()))
    }

    /// An error of a buffer for a vector.
    pub fn wrong_dimension(encoder: &str, expected: usize, found: usize) -> Self {
        Self::argument(format!(
            "a vector of `{encoder}` has {expected} coordinates, but the place for it has {found}"
        ))
    }

    /// An error of a row, counted from 0, that is not finite.
    pub fn not_finite_row(what: &str, row: usize) -> Self {
        Self::input(format!(
            "{what} {row} has a coordinate that is NaN or infinite; leave it out or encode it anew"
        ))
    }

    /// An error of a folder in the place of a file.
    pub(crate) fn folder(path: &Path) -> Self {
        Self::argument(format!(
            "`{}` is a folder; name a file in it",
            path.display()
        ))
    }

    /// An error of a pack without the lexicon that is needed.
    pub fn no_lexicon(path: &Path) -> Self {
        Self::pack(format!(
            "`{}` has no lexicon; make one with `undertone lexicon distil` or `undertone lexicon \
             import`",
            path.display()
        ))
    }

    /// An error of the drawing library.
    pub fn plot(problem: impl fmt::Display) -> Self {
        Self::experiment(format!("cannot draw a plot: {problem}"))
    }

    /// A panic that had access to private texts, which its message could quote.
    pub fn defect() -> Self {
        Self::new(
            ErrorKind::Internal,
            "the program has a defect and stopped; its own message is withheld, because it could \
             quote a private text",
        )
    }

    /// An error of a line of a corpus, counted from 1.
    pub fn line(path: &Path, line: u64, problem: LineProblem) -> Self {
        let message = format!("`{}` line {line}: {problem}", path.display());
        Self::caused(ErrorKind::Input, message, problem)
    }

    /// For `map_err`: adds the action and the path to an error of the system.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| {
            if let Some(kind) = cause.get_ref().and_then(|inner| inner.downcast_ref()) {
                return Self::foreign(&path, *kind);
            }
            if cause.kind() == io::ErrorKind::IsADirectory {
                return Self::folder(&path);
            }
            let (path, advice) = (path.display(), advice(&cause));
            let message = format!("cannot {action} `{path}`: {cause}{advice}");
            Self::caused(ErrorKind::Io, message, cause)
        }
    }

    /// An error of a file that is not what it seems.
    pub(crate) fn foreign(path: &Path, kind: Foreign) -> Self {
        Self::input(format!("`{}` is {kind}", path.display()))
    }

    /// For `map_err`: adds the path to an error of a pack.
    pub fn unusable_pack(path: &Path) -> impl FnOnce(PackError) -> Self {
        let path = path.to_owned();
        move |problem| {
            let message = format!("`{}` is not a usable pack: {problem}", path.display());
            Self::caused(ErrorKind::Pack, message, problem)
        }
    }

    /// For `map_err`: adds the path to an error of a ledger.
    pub fn ledger(path: &Path) -> impl FnOnce(LedgerError) -> Self {
        let path = path.to_owned();
        move |problem| {
            let message = format!("`{}`: {problem}", path.display());
            Self::caused(ErrorKind::Ledger, message, problem)
        }
    }

    /// Returns the category of this error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the cause, if it is a `T`: an [`io::Error`], a [`LineProblem`], or an error of
    /// `undertone-core`. The message contains it.
    pub fn cause<T: error::Error + 'static>(&self) -> Option<&T> {
        self.0.cause.as_ref()?.downcast_ref()
    }

    /// Returns the cause by value.
    pub fn into_cause<T: error::Error + 'static>(self) -> Option<T> {
        Some(*self.0.cause?.downcast().ok()?)
    }
}

/// Replaces each ⟨setting⟩ and ⟨setting value⟩ in a message by the form that an interface gives it.
pub fn with_settings(message: &str, form: impl Fn(&str, Option<&str>) -> String) -> String {
    let mut parts = message.split('⟨');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((setting, rest)) = part.split_once('⟩') {
            let mut words = setting.splitn(2, ' ');
            text += &form(words.next().unwrap_or_default(), words.next());
            text += rest;
        } else {
            text.push('⟨');
            text += part;
        }
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl error::Error for Error {}

/// Errors of the device side, by kind; `$prefix` completes the message.
macro_rules! from_core {
    ($($error:ty => $kind:ident, $prefix:literal;)+) => {$(
        impl From<$error> for Error {
            fn from(problem: $error) -> Self {
                Self::caused(ErrorKind::$kind, format!(concat!($prefix, "{}"), problem), problem)
            }
        }
    )+};
}

from_core! {
    PackError => Pack, "not a usable pack: ";
    FormError => Input, "not a usable form: ";
    DocumentError => Release, "";
    AnswersError => Release, "";
    WordsError => Release, "";
    VectorError => Release, "";
}

/// A fault of one line of a corpus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// The rest of the file cannot be read.
    #[error("cannot read on: {0}{advice}", advice = advice(.0))]
    Unreadable(io::Error),

    /// The line is longer than the reader's limit.
    #[error("longer than {limit} bytes; split it")]
    TooLong {
        /// The longest line that is read, in bytes.
        limit: usize,
    },

    /// The line is not UTF-8.
    #[error("not UTF-8 at byte {byte}; convert the file to UTF-8")]
    NotUtf8 {
        /// The first invalid byte of the line, counted from 1.
        byte: usize,
    },

    /// A cell of a table is not UTF-8.
    #[error("a cell is not UTF-8; convert the texts to UTF-8")]
    CellNotUtf8,

    /// The line is not one JSON object.
    #[error(
        "not one JSON object: {fault} at column {column}; write each object on a line of its own"
    )]
    NotJson {
        /// The kind of fault.
        fault: &'static str,
        /// The place where the JSON reader stopped, in bytes from 1.
        column: usize,
    },

    /// A required field is absent.
    #[error("no field \"{field}\", or it is null; give it, or name another field")]
    MissingField {
        /// The field.
        field: String,
    },

    /// A requested field is given twice.
    #[error("the field \"{field}\" is given twice; leave one out")]
    FieldTwice {
        /// The field.
        field: String,
    },

    /// A field has the wrong type.
    #[error("the field \"{field}\" is not {wanted}")]
    WrongType {
        /// The field.
        field: String,
        /// The types that are allowed.
        wanted: &'static str,
    },

    /// A line of a .tsv file has no tab.
    #[error("no tabulator; a line is the label, a tabulator and the text")]
    MissingTab,

    /// The first line of a .tsv file names columns.
    #[error(
        "it names columns, which a .tsv file does not have here: a line is the label, a tabulator and the text; remove \
         it, or save the table as .csv; if it is a document, move it to a later line"
    )]
    Header,

    /// The first line of a .tsv file names a separator.
    #[error(
        "it says which character parts the columns (`sep=`), as spreadsheets write it; \
         remove it, and part label and text with a tabulator"
    )]
    Separator,

    /// Bare carriage returns end lines.
    #[error("it has a carriage return without a line feed; end each line with a line feed")]
    BareReturn,

    /// The label in a table is in quotation marks.
    #[error(
        "the label is in quotation marks, which would be part of it; remove them, or save the \
         table as .csv with straight double marks and no blanks around them"
    )]
    QuotedLabel,
}
