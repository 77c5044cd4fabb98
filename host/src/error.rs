//! Errors of the host library.
//!
//! Every message names the fault, with the file, line, value and limit if there are any, and the
//! remedy. No message quotes a text: a corpus line is identified by its number, a sentence by its
//! number of tokens or bytes.

use std::io;
use std::path::{Path, PathBuf};

use undertone_core::document::DocumentError;
use undertone_core::epsilon::Micro;
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
/// Programs check the [`kind`](Self::kind); people read the message.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Cause>);

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

/// All errors of the host side, for the crates of this workspace. The semver promise excludes this
/// type.
#[doc(hidden)]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    #[error("cannot {action} `{}`: {cause}{}", path.display(), advice(cause.kind()))]
    Io {
        /// Completes the sentence "cannot …".
        action: &'static str,
        path: PathBuf,
        cause: io::Error,
    },

    #[error("`{}` is {kind}", path.display())]
    Foreign { path: PathBuf, kind: Foreign },

    #[error(
        "`{}` is being written by another process; wait until it is done, or name another output",
        path.display()
    )]
    InUse { path: PathBuf },

    #[error(
        "`{}` changed while it was read; run the command again and leave the file alone",
        path.display()
    )]
    CorpusChanged { path: PathBuf },

    #[error(
        "the ids and labels of {documents} documents take {found} bytes in the head of `{}`, and programs read at \
         most {most}; encode fewer documents a file with --limit",
        path.display()
    )]
    LargeHead {
        path: PathBuf,
        documents: usize,
        found: usize,
        most: usize,
    },

    #[error(
        "`{}` has an unknown ending; known are .jsonl, .ndjson, .tsv and .csv, all of them gzipped (.gz) or not, and \
         .parquet; rename it",
        path.display()
    )]
    UnknownCorpusFormat { path: PathBuf },

    #[error(
        "`{}` is a table, which the library does not read by itself; make JSON lines of it, or open it with the crate \
         undertone-tables",
        path.display()
    )]
    TableCorpus { path: PathBuf },

    #[error("`{}` line {line}: {problem}", path.display())]
    CorpusLine {
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        problem: LineProblem,
    },

    #[error("{option} is for {of}; leave one of the two out")]
    OptionOfOther {
        option: &'static str,
        /// The option and value that it belongs to.
        of: &'static str,
    },

    #[error("{option} does nothing without {needed}; name one, or leave {option} out")]
    OptionAlone {
        option: &'static str,
        needed: &'static str,
    },

    #[error(
        "{option} names `{}`, which {other} needs, too: writing would destroy it; name another file",
        path.display()
    )]
    SameFile {
        option: &'static str,
        path: PathBuf,
        other: String,
    },

    #[error("{option} cannot be `-`: {problem}")]
    NotAStream {
        option: &'static str,
        problem: &'static str,
    },

    #[error(
        "{option} `{}` is read several times, which only a regular file can be; save it in one and name that",
        path.display()
    )]
    NotReread { option: &'static str, path: PathBuf },

    #[error("`{}` is a folder; name a file in it", path.display())]
    Folder { path: PathBuf },

    #[error(
        "{option} {field}: there is no such column or field{}",
        there_are(fields)
    )]
    NoSuchField {
        option: &'static str,
        field: String,
        fields: Vec<String>,
    },

    #[error("{option} {field}: {problem}")]
    Field {
        option: &'static str,
        field: String,
        problem: &'static str,
    },

    #[error(
        "`{}` has releases of a run with other options, another input or an input that was changed since; this run would \
         remove them, and they may be paid for; run that command again, or move the file away, or name another --out",
        path.display()
    )]
    OtherRun { path: PathBuf },

    #[error("no line of `{}` could be decoded:{reasons}", path.display())]
    NothingDecoded {
        path: PathBuf,
        /// Numbers of lines by reason, one reason per line.
        reasons: String,
    },

    #[error("nothing could be counted:{reasons}")]
    NothingCounted {
        /// Numbers of lines by reason, one reason per line.
        reasons: String,
    },

    #[error(
        "`{}` has an unknown ending; known are .jsonl, .ndjson, .raw, .bin and .csv, all of them gzipped (.gz) or not, \
         and .parquet; rename it or say what it is with --format",
        path.display()
    )]
    UnknownReleases { path: PathBuf },

    #[error("cannot slice by `{name}`: {problem}")]
    SliceName { name: String, problem: &'static str },

    #[error(
        "`{}` has raw records, which have no fields, so it cannot be sliced by {by}; leave --by out, or give JSON lines or Parquet",
        path.display()
    )]
    NoFields { path: PathBuf, by: String },

    #[error("no estimate: {problem}")]
    NoAnswer { problem: String },

    #[error(
        "the counts are sliced by [{found}], not by [{wanted}]; give counts with the same slices"
    )]
    OtherSlices { found: String, wanted: String },

    #[error("cannot take counts from `{}`: {problem}", path.display())]
    CountsFile { path: PathBuf, problem: String },

    #[error("cannot read the table `{}`: {problem}", path.display())]
    Table { path: PathBuf, problem: String },

    #[error("more than {most} {what}; {advice}")]
    CountLimit {
        what: &'static str,
        most: u64,
        advice: &'static str,
    },

    #[error("`{}` and `{}` have the candidates of the same pack; leave one of them out", first.display(), second.display())]
    SamePack { first: PathBuf, second: PathBuf },

    /// A panic that had access to private texts, which its message could quote.
    #[error(
        "the program has a defect and stopped; its own message is withheld, because it could quote a private text"
    )]
    Defect,

    #[error("cannot write `{}`: {problem}", path.display())]
    OutputPath {
        path: PathBuf,
        problem: &'static str,
    },

    #[error("the device `{}`: {problem}", path.display())]
    Device { path: PathBuf, problem: String },

    #[error(
        "no sentence encoder at `{}`: the file `{}` does not exist; give a folder with model.onnx or \
         onnx/model.onnx, or a .onnx file, and tokenizer.json beside the model or one folder up",
        given.display(),
        missing.display()
    )]
    EncoderFileMissing { given: PathBuf, missing: PathBuf },

    #[error("cannot encode as `{}` says: {problem}", path.display())]
    Layout { path: PathBuf, problem: String },

    #[error("cannot use the tokenizer `{}`: {problem}", path.display())]
    Tokenizer { path: PathBuf, problem: String },

    #[error("cannot use the model `{}` with {engine}: {problem}", path.display())]
    Model {
        path: PathBuf,
        engine: &'static str,
        problem: String,
    },

    #[error(
        "`{}` does not fit the model `{}`: the model fails on the tokenizer's token number \
         {largest} ({problem}); take both files from the same export",
        tokenizer.display(),
        model.display()
    )]
    VocabularyMismatch {
        tokenizer: PathBuf,
        model: PathBuf,
        largest: u32,
        problem: String,
    },

    #[error(
        "cannot use ONNX Runtime from `{}` (named by --onnxruntime or {}): {problem}; wanted is the \
         shared library of ONNX Runtime 1.{} or newer; without the option and the variable the \
         built-in engine is used",
        path.display(),
        crate::encoder::RUNTIME_VARIABLE,
        crate::encoder::RUNTIME_OLDEST_MINOR
    )]
    OnnxRuntime { path: PathBuf, problem: String },

    #[error("cannot encode a sentence of {bytes} bytes with `{encoder}`: {problem}")]
    Encode {
        encoder: String,
        bytes: usize,
        problem: String,
    },

    #[error("a vector of `{encoder}` has {expected} coordinates, but the place for it has {found}")]
    WrongDimension {
        encoder: String,
        expected: usize,
        found: usize,
    },

    #[error(
        "`{encoder}` gave NaN or infinity for sentence {sentence} of the public corpus; use the fp32 model"
    )]
    NotFinite {
        encoder: String,
        /// Counted from 0 over the documents drawn.
        sentence: usize,
    },

    #[error("{}", no_candidates(*read, *min_sentences))]
    NoCandidates { read: usize, min_sentences: usize },

    #[error(
        "{without} of {documents} documents have no label, the first on line {line}; give all of them one, leave them \
         out with --unlabelled skip, or take clusters for candidates with --clusters N"
    )]
    Unlabelled {
        without: usize,
        documents: usize,
        /// The first of them, from 1; 0 if it comes from no file.
        line: u64,
    },

    #[error(
        "all {documents} documents have the same label, so there is nothing to choose from; give documents with other \
         labels, or take clusters for candidates with --clusters N"
    )]
    OneLabel { documents: usize },

    #[error(
        "all texts with the label {label:?} are of one source, so sources cannot be compared; name a field in which each label has at least two values"
    )]
    OneSource { label: String },

    #[error(
        "none of the {documents} documents has a label that is a candidate of the pack; give documents with its labels"
    )]
    NoKnownLabel { documents: usize },

    #[error(
        "the pack takes {bytes} bytes, more than the {size} of --size; give more, or --heads features"
    )]
    PackSize { bytes: usize, size: usize },

    #[error(
        "--size {size} leaves no room for a word of the lexicon; give at least {least}, and much more for a lexicon that is of use, or \
         --heads features"
    )]
    LexiconSize { size: usize, least: usize },

    #[error(
        "no feature can be in the pack: --size leaves no room, or no word, pair or run of letters is in two sentences; \
         give a larger --size, more documents, or --heads vectors"
    )]
    NoFeatures,

    #[error("{what} are more than the {most} candidates that a device can choose from; {advice}")]
    DeviceLimit {
        what: String,
        most: usize,
        advice: &'static str,
    },

    #[error("{found} {what}; allowed are {least} to {most}")]
    PackLimit {
        what: &'static str,
        found: usize,
        least: usize,
        most: usize,
    },

    #[error("not a usable pack: {0}")]
    PackBytes(PackError),

    #[error("`{}` is a file of candidates; name the pack that it was written beside", path.display())]
    CandidatesAsPack { path: PathBuf },

    #[error("`{}` is not a usable pack: {problem}", path.display())]
    Pack { path: PathBuf, problem: PackError },

    #[error(
        "the pack was built with the encoder `{pack}` ({pack_dimension} coordinates), not with \
         `{encoder}` ({encoder_dimension} coordinates); name the pack's encoder with --encoder"
    )]
    EncoderMismatch {
        pack: String,
        pack_dimension: usize,
        encoder: String,
        encoder_dimension: usize,
    },

    #[error("`{}` has no lexicon; make one with `undertone lexicon distil` or `undertone lexicon import`", path.display())]
    NoLexicon { path: PathBuf },

    #[error("`{}`: {problem}", path.display())]
    Ledger { path: PathBuf, problem: LedgerError },

    #[error("the ledger `{}` is in use by another process; wait until it is done", path.display())]
    LedgerInUse { path: PathBuf },

    #[error(
        "the ledger `{}` has a budget of epsilon {}, not {}; a budget stays, another one is a ledger of its own",
        path.display(),
        Micro(*found),
        Micro(*wanted)
    )]
    LedgerBudget {
        path: PathBuf,
        /// In micro-units.
        found: u64,
        /// In micro-units.
        wanted: u64,
    },

    #[error("{0}")]
    Document(DocumentError),

    #[error("{0}")]
    Words(WordsError),

    #[error("{0}")]
    Answers(AnswersError),

    #[error("not a usable form: {problem}")]
    Form { problem: String },

    #[error("cannot use the words of `{}`: {problem}", path.display())]
    WordList { path: PathBuf, problem: String },

    #[error(
        "the vectors have {found} rows, but `{name}` has {lines} lines; there must be one row a line"
    )]
    RowsOfList {
        found: usize,
        lines: usize,
        name: String,
    },

    #[error("cannot rank the words of `{}`: {problem}", path.display())]
    Ranking { path: PathBuf, problem: String },

    #[error("{0}")]
    Vector(VectorError),

    #[error("cannot run the experiment: {problem}")]
    Experiment { problem: String },

    #[error("`{}` is not a candidates file: {problem}; `undertone pack` writes one", path.display())]
    Candidates { path: PathBuf, problem: String },

    #[error(
        "`{}` has the candidates of pack {found}, but `{}` is pack {wanted}; put the candidates beside it that `undertone pack` \
         wrote with it",
        path.display(),
        pack.display()
    )]
    CandidatesOfOther {
        path: PathBuf,
        found: String,
        pack: PathBuf,
        wanted: String,
    },

    #[error(
        "the release was made under pack {release}, these are the candidates of pack {candidates}"
    )]
    OtherPack { release: String, candidates: String },

    #[error("the release names candidate {found}, but there are {candidates}; is it damaged?")]
    NoSuchCandidate { found: usize, candidates: usize },

    #[error(
        "the release names a point that many candidates prefer, and no candidate; count many such releases instead"
    )]
    NamesAPoint,

    #[error("cannot train: {problem}")]
    Training { problem: String },

    #[error("`{}` is not a file of {wanted}: {problem}", path.display())]
    Trained {
        path: PathBuf,
        wanted: &'static str,
        problem: String,
    },

    #[error(
        "the corpora have only {found} different words, {wanted} are wanted; lower --words or add a corpus"
    )]
    TooFewWords { found: usize, wanted: usize },

    #[error("cannot take word vectors from `{}`: {problem}", path.display())]
    Vectors { path: PathBuf, problem: String },

    #[error(
        "none of the {read} words of `{name}` can be used; wanted are single words with vectors that \
         are not zero"
    )]
    NoUsableWords { name: String, read: usize },

    #[error(
        "a word vector has a coordinate of {found:e}, the largest allowed is {most:e}; scale the vectors"
    )]
    LargeCoordinate { found: f32, most: f32 },

    #[error("a bag of words without words has no distance; leave it out")]
    EmptyBag,

    #[error("cannot solve a transport problem: {problem}")]
    Costs { problem: String },

    #[error(
        "`{}` is not a task file: {problem}; its fields are name and train, and may be test, label_field, messages \
         and classes",
        path.display()
    )]
    Task { path: PathBuf, problem: String },

    #[error("cannot audit: {problem}")]
    Audit { problem: String },

    #[error("cannot draw a plot: {problem}")]
    Plot { problem: String },

    #[error("cannot evaluate on `{}`: {problem}", path.display())]
    Labels { path: PathBuf, problem: String },

    #[error(
        "{found} groups have two or more authors of at least {least_messages} messages each, but {groups} are \
         wanted; give more messages, fewer --groups (at least 1) or fewer --least-messages"
    )]
    Authors {
        found: usize,
        groups: usize,
        least_messages: usize,
    },

    #[error(
        "no word of the vectors `{vectors}` occurs in the training messages; take vectors of the words that they \
         are written in"
    )]
    NoCommonWords { vectors: String },

    #[error(
        "cannot make {clusters} clusters of {points} points; there must be at least one cluster, and a \
         point for each"
    )]
    Clusters { clusters: usize, points: usize },

    #[error(
        "{what} {row} has a coordinate that is NaN or infinite; leave it out or encode it anew"
    )]
    NotFiniteRow { what: &'static str, row: usize },

    #[error(
        "the largest entry of the projection is {largest:e}, a pack holds largest entries from {:e} to \
         32767; scale it",
        2f64.powi(-10)
    )]
    ProjectionScale { largest: f64 },

    #[error(
        "no two of {words} word vectors differ, so nothing bounds how a projection stretches distances"
    )]
    NoPairs { words: usize },

    #[error(
        "the projection stretches distances by up to {found:e}; noise can be scaled to 2^-12 to 2^12; scale \
         the projection"
    )]
    StretchRange { found: f64 },

    #[error("{what} is {found}; allowed is {allowed}")]
    Setting {
        what: &'static str,
        found: f64,
        allowed: &'static str,
    },

    #[error(
        "score heads tell at least 2 classes apart, found {classes}; give a corpus with more labels, \
         or take clusters for classes"
    )]
    TooFewClasses { classes: usize },

    #[error(
        "class {class} of 0..{classes} has no document with a sentence; leave it out or give documents"
    )]
    EmptyClass { class: usize, classes: usize },

    #[error(
        "all sentence vectors are equal, so nothing tells the classes apart; is the encoder broken?"
    )]
    EqualSentences,
}

/// Advice on a file that the system refuses.
fn advice(kind: io::ErrorKind) -> &'static str {
    match kind {
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
    /// Returns the category of this error.
    pub fn kind(&self) -> ErrorKind {
        match *self.0 {
            Cause::OptionOfOther { .. }
            | Cause::OptionAlone { .. }
            | Cause::SameFile { .. }
            | Cause::NotAStream { .. }
            | Cause::NotReread { .. }
            | Cause::Folder { .. }
            | Cause::NoSuchField { .. }
            | Cause::SliceName { .. }
            | Cause::NoFields { .. }
            | Cause::Field { .. }
            | Cause::OtherRun { .. }
            | Cause::OutputPath { .. }
            | Cause::Setting { .. }
            | Cause::PackLimit { .. }
            | Cause::DeviceLimit { .. }
            | Cause::Clusters { .. }
            | Cause::LargeHead { .. } => ErrorKind::Argument,
            Cause::InUse { .. } | Cause::LedgerInUse { .. } => ErrorKind::InUse,
            Cause::Io { .. } => ErrorKind::Io,
            Cause::EncoderFileMissing { .. }
            | Cause::Layout { .. }
            | Cause::Tokenizer { .. }
            | Cause::Model { .. }
            | Cause::VocabularyMismatch { .. }
            | Cause::OnnxRuntime { .. }
            | Cause::Encode { .. }
            | Cause::WrongDimension { .. }
            | Cause::EncoderMismatch { .. }
            | Cause::NotFinite { .. } => ErrorKind::Encoder,
            Cause::PackBytes(_)
            | Cause::Pack { .. }
            | Cause::CandidatesAsPack { .. }
            | Cause::NoLexicon { .. } => ErrorKind::Pack,
            Cause::Document(_)
            | Cause::Words(_)
            | Cause::Answers(_)
            | Cause::Vector(_)
            | Cause::OtherPack { .. }
            | Cause::NoSuchCandidate { .. }
            | Cause::NamesAPoint => ErrorKind::Release,
            Cause::Ledger { .. } | Cause::LedgerBudget { .. } => ErrorKind::Ledger,
            Cause::Device { .. } => ErrorKind::Device,
            Cause::Audit { .. }
            | Cause::Experiment { .. }
            | Cause::Training { .. }
            | Cause::Plot { .. }
            | Cause::Costs { .. }
            | Cause::EmptyBag
            | Cause::Authors { .. }
            | Cause::NoCommonWords { .. }
            | Cause::Labels { .. } => ErrorKind::Experiment,
            Cause::Defect => ErrorKind::Internal,
            Cause::CorpusChanged { .. }
            | Cause::UnknownCorpusFormat { .. }
            | Cause::TableCorpus { .. }
            | Cause::CorpusLine { .. }
            | Cause::NothingDecoded { .. }
            | Cause::NothingCounted { .. }
            | Cause::UnknownReleases { .. }
            | Cause::NoAnswer { .. }
            | Cause::OtherSlices { .. }
            | Cause::CountsFile { .. }
            | Cause::Table { .. }
            | Cause::CountLimit { .. }
            | Cause::SamePack { .. }
            | Cause::NoCandidates { .. }
            | Cause::Unlabelled { .. }
            | Cause::OneLabel { .. }
            | Cause::OneSource { .. }
            | Cause::NoKnownLabel { .. }
            | Cause::PackSize { .. }
            | Cause::LexiconSize { .. }
            | Cause::NoFeatures
            | Cause::Form { .. }
            | Cause::WordList { .. }
            | Cause::RowsOfList { .. }
            | Cause::Ranking { .. }
            | Cause::Candidates { .. }
            | Cause::CandidatesOfOther { .. }
            | Cause::Trained { .. }
            | Cause::TooFewWords { .. }
            | Cause::Foreign { .. }
            | Cause::Vectors { .. }
            | Cause::NoUsableWords { .. }
            | Cause::LargeCoordinate { .. }
            | Cause::Task { .. }
            | Cause::NotFiniteRow { .. }
            | Cause::ProjectionScale { .. }
            | Cause::NoPairs { .. }
            | Cause::StretchRange { .. }
            | Cause::TooFewClasses { .. }
            | Cause::EmptyClass { .. }
            | Cause::EqualSentences => ErrorKind::Input,
        }
    }

    /// The cause, for the crates of this workspace.
    #[doc(hidden)]
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// The owned cause, for the crates of this workspace.
    #[doc(hidden)]
    pub fn into_cause(self) -> Cause {
        *self.0
    }

    /// Wraps an error of the drawing library.
    pub fn plot(problem: impl std::fmt::Display) -> Self {
        Cause::Plot {
            problem: problem.to_string(),
        }
        .into()
    }

    /// For `map_err`: adds the action and the path to an error of the system.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| {
            let kind = cause.get_ref().and_then(|inner| inner.downcast_ref());
            match kind.copied() {
                Some(kind) => Cause::Foreign { path, kind },
                None if cause.kind() == io::ErrorKind::IsADirectory => Cause::Folder { path },
                None => Cause::Io {
                    action,
                    path,
                    cause,
                },
            }
            .into()
        }
    }

    /// For `map_err`: adds the path to an error of a ledger.
    pub(crate) fn ledger(path: &Path) -> impl FnOnce(LedgerError) -> Self {
        let path = path.to_owned();
        move |problem| Cause::Ledger { path, problem }.into()
    }
}

impl From<Cause> for Error {
    fn from(problem: Cause) -> Self {
        Self(Box::new(problem))
    }
}

impl From<PackError> for Error {
    fn from(problem: PackError) -> Self {
        Cause::PackBytes(problem).into()
    }
}

impl From<DocumentError> for Error {
    fn from(problem: DocumentError) -> Self {
        Cause::Document(problem).into()
    }
}

impl From<AnswersError> for Error {
    fn from(problem: AnswersError) -> Self {
        Cause::Answers(problem).into()
    }
}

impl From<FormError> for Error {
    fn from(problem: FormError) -> Self {
        let problem = problem.to_string();
        Cause::Form { problem }.into()
    }
}

impl From<WordsError> for Error {
    fn from(problem: WordsError) -> Self {
        Cause::Words(problem).into()
    }
}

impl From<VectorError> for Error {
    fn from(problem: VectorError) -> Self {
        Cause::Vector(problem).into()
    }
}

/// A fault of one line of a corpus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// The rest of the file cannot be read.
    #[error("cannot read on: {0}")]
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
    #[error("not one JSON object: {fault} at column {column}")]
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
         it, or save the table as .csv"
    )]
    Header,

    /// The label in a .tsv file is in quotation marks.
    #[error(
        "the label is in quotation marks, which would be part of it; remove them, or save the table as .csv"
    )]
    QuotedLabel,
}

/// Lists at most 20 field names for the end of a message.
fn there_are(fields: &[String]) -> String {
    const MOST: usize = 20;
    let names = fields.iter().take(MOST).map(String::as_str);
    let names = names.collect::<Vec<_>>().join(", ");
    match fields.len() {
        0 => String::new(),
        1..=MOST => format!("; there are {names}"),
        more => format!("; there are {names} and {} others", more - MOST),
    }
}

fn no_candidates(read: usize, min_sentences: usize) -> String {
    match (read, min_sentences) {
        (0, _) => "the corpus has no documents".to_owned(),
        (_, 1) => format!("none of the {read} documents has a sentence; give another corpus"),
        _ => format!(
            "none of the {read} documents has {min_sentences} sentences; lower --min-sentences or give a \
             larger corpus"
        ),
    }
}
