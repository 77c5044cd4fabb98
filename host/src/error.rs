//! Errors of the host library.
//!
//! Every message says what was wrong, with the file, the line, the value and the limit where there
//! is one, and what to do. None of them quotes a text: a corpus line is named by its number, a
//! sentence by its number of tokens or bytes.

use std::io;
use std::path::{Path, PathBuf};

use undertone_core::document::DocumentError;
use undertone_core::epsilon::Micro;
use undertone_core::ledger::LedgerError;
use undertone_core::pack::PackError;
use undertone_core::vector::VectorError;
use undertone_core::words::WordsError;

use crate::files::foreign::Foreign;

/// `Result` with the [`struct@Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in one sentence that says what to do.
///
/// A program decides by [`kind`](Self::kind); people read the message.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Cause>);

/// What an [`struct@Error`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option, a setting or the name of an output.
    Argument,
    /// Another program has the file.
    InUse,
    /// What a file contains: a corpus, word vectors, candidates, releases.
    Input,
    /// The operating system refused something.
    Io,
    /// A sentence encoder.
    Encoder,
    /// A pack, or what it lacks.
    Pack,
    /// The device side refused a release.
    Release,
    /// The privacy budget, or the ledger that holds it.
    Ledger,
    /// The device that an audit asks for releases.
    Device,
    /// An audit, a training or an experiment that cannot be run.
    Experiment,
    /// A mistake of this program.
    Internal,
}

/// Everything that can go wrong on the host side. For the crates of this workspace: no promise covers it.
#[doc(hidden)]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The operating system refused something.
    #[error("cannot {action} `{}`: {cause}{}", path.display(), advice(cause.kind()))]
    Io {
        /// What was tried, as it reads after "cannot".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },

    /// A file of another kind than its name suggests.
    #[error("`{}` is {kind}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        kind: Foreign,
    },

    /// Somebody else writes the same output.
    #[error(
        "`{}` is being written by another process; wait until it is done, or name another output",
        path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },

    /// A corpus that is not the same when it is read again.
    #[error(
        "`{}` changed while it was read; run the command again and leave the file alone",
        path.display()
    )]
    CorpusChanged {
        /// The corpus.
        path: PathBuf,
    },

    /// More documents than the head of a safetensors file has room for.
    #[error(
        "the ids and labels of {documents} documents take {found} bytes in the head of `{}`, and programs read at \
         most {most}; encode fewer documents a file with --limit",
        path.display()
    )]
    LargeHead {
        /// The file to write.
        path: PathBuf,
        /// Documents in it.
        documents: usize,
        /// Bytes of the head.
        found: usize,
        /// The largest head.
        most: usize,
    },

    /// The corpus format is chosen by the end of the file name, and this end is not known.
    #[error(
        "`{}` has an unknown ending; known are .jsonl, .ndjson, .tsv and .csv, all of them gzipped (.gz) or not, and \
         .parquet; rename it",
        path.display()
    )]
    UnknownCorpusFormat {
        /// The file.
        path: PathBuf,
    },

    /// A corpus that is a table, which the command line reads.
    #[error(
        "`{}` is a table, which the library does not read by itself; make JSON lines of it, or open it with the crate \
         undertone-tables",
        path.display()
    )]
    TableCorpus {
        /// The file.
        path: PathBuf,
    },

    /// A line of a corpus is not a document.
    #[error("`{}` line {line}: {problem}", path.display())]
    CorpusLine {
        /// The corpus file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: LineProblem,
    },

    /// An option that has no use beside another one.
    #[error("{option} is for {of}; leave one of the two out")]
    OptionOfOther {
        /// The option.
        option: &'static str,
        /// The option and value it belongs to.
        of: &'static str,
    },

    /// An option that has no use without another one.
    #[error("{option} does nothing without {needed}; name one, or leave {option} out")]
    OptionAlone {
        /// The option.
        option: &'static str,
        /// What it is for.
        needed: &'static str,
    },

    /// An output that is an input, or another output.
    #[error(
        "{option} names `{}`, which {other} needs, too: writing would destroy it; name another file",
        path.display()
    )]
    SameFile {
        /// The output.
        option: &'static str,
        /// Its path.
        path: PathBuf,
        /// The input or the other output.
        other: String,
    },

    /// Standard input or output where a file is needed.
    #[error("{option} cannot be `-`: {problem}")]
    NotAStream {
        /// The option.
        option: &'static str,
        /// Why not, and what to do.
        problem: &'static str,
    },

    /// A pipe or a device where a file is read several times.
    #[error(
        "{option} `{}` is read several times, which only a regular file can be; save it in one and name that",
        path.display()
    )]
    NotReread {
        /// The option.
        option: &'static str,
        /// The path.
        path: PathBuf,
    },

    /// A folder where a file is needed.
    #[error("{option} `{}` is a folder; name a file in it", path.display())]
    Folder {
        /// The option.
        option: &'static str,
        /// The path.
        path: PathBuf,
    },

    /// A field or column that no document has.
    #[error(
        "{option} {field}: there is no such column or field{}",
        there_are(fields)
    )]
    NoSuchField {
        /// The option that names it.
        option: &'static str,
        /// The field.
        field: String,
        /// Fields that there are.
        fields: Vec<String>,
    },

    /// A field that may not stand beside a release, or that the documents do not have.
    #[error("{option} {field}: {problem}")]
    Field {
        /// The option that names it.
        option: &'static str,
        /// The field.
        field: String,
        /// Why not, and what to do.
        problem: &'static str,
    },

    /// Lines of another run, beside an output that a ledger pays for.
    #[error(
        "`{}` has releases of a run with other options, another input or an input that was changed since; this run would \
         remove them, and they may be paid for; run that command again, or move the file away, or name another --out",
        path.display()
    )]
    OtherRun {
        /// The file of its lines.
        path: PathBuf,
    },

    /// Releases of which none can be read.
    #[error("no line of `{}` could be decoded:{reasons}", path.display())]
    NothingDecoded {
        /// The file.
        path: PathBuf,
        /// How many lines were rejected for which reason, each on a line of its own.
        reasons: String,
    },

    /// Releases of which none can be counted.
    #[error("nothing could be counted:{reasons}")]
    NothingCounted {
        /// How many were rejected for which reason, each on a line of its own.
        reasons: String,
    },

    /// The form of releases is chosen by the end of the file name, and this end is not known.
    #[error(
        "`{}` has an unknown ending; known are .jsonl, .ndjson, .raw, .bin and .csv, all of them gzipped (.gz) or not, \
         and .parquet; rename it or say what it is with --format",
        path.display()
    )]
    UnknownReleases {
        /// The file.
        path: PathBuf,
    },

    /// A name of a slice that no file of counts can have.
    #[error("cannot slice by `{name}`: {problem}")]
    SliceName {
        /// The name.
        name: String,
        /// Why not, and what to do.
        problem: &'static str,
    },

    /// Slices of releases that have no fields.
    #[error(
        "`{}` has raw records, which have no fields, so it cannot be sliced by {by}; leave --by out, or give JSON lines or Parquet",
        path.display()
    )]
    NoFields {
        /// The file.
        path: PathBuf,
        /// The slices.
        by: String,
    },

    /// Releases that do not answer the question.
    #[error("no estimate: {problem}")]
    NoAnswer {
        /// Why not, and what to do.
        problem: String,
    },

    /// Counts by other slices.
    #[error(
        "the counts are sliced by [{found}], not by [{wanted}]; give counts with the same slices"
    )]
    OtherSlices {
        /// Their slices.
        found: String,
        /// Those that are wanted.
        wanted: String,
    },

    /// A file that is not one of counts.
    #[error("cannot take counts from `{}`: {problem}", path.display())]
    CountsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
    },

    /// A table without what is wanted.
    #[error("cannot read the table `{}`: {problem}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },

    /// More than can be counted apart.
    #[error("more than {most} {what}; {advice}")]
    CountLimit {
        /// What there is too much of.
        what: &'static str,
        /// The largest number.
        most: u64,
        /// What to do.
        advice: &'static str,
    },

    /// Candidates of one pack given twice.
    #[error("`{}` and `{}` have the candidates of the same pack; leave one of them out", first.display(), second.display())]
    SamePack {
        /// The file that was given first.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
    },

    /// A defect of this program while it had private texts. Its message could quote them.
    #[error(
        "the program has a defect and stopped; its own message is withheld, because it could quote a private text"
    )]
    Defect,

    /// A path cannot be the name of a file to write.
    #[error("cannot write `{}`: {problem}", path.display())]
    OutputPath {
        /// The path.
        path: PathBuf,
        /// Why not, and what is wanted.
        problem: &'static str,
    },

    /// The program that an audit asks for releases died, hung or made no sense.
    #[error("the device `{}`: {problem}", path.display())]
    Device {
        /// The program.
        path: PathBuf,
        /// What happened.
        problem: String,
    },

    /// A file of a sentence encoder is absent.
    #[error(
        "no sentence encoder at `{}`: the file `{}` does not exist; give a folder with model.onnx or \
         onnx/model.onnx, or a .onnx file, and tokenizer.json beside the model or one folder up",
        given.display(),
        missing.display()
    )]
    EncoderFileMissing {
        /// The path that was given.
        given: PathBuf,
        /// The file that was looked for.
        missing: PathBuf,
    },

    /// A file of sentence-transformers asks for what is not computed.
    #[error("cannot encode as `{}` says: {problem}", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// What is not computed, and what to do.
        problem: String,
    },

    /// `tokenizer.json` cannot be used.
    #[error("cannot use the tokenizer `{}`: {problem}", path.display())]
    Tokenizer {
        /// The tokenizer file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// The model file cannot be used as a sentence encoder.
    #[error("cannot use the model `{}` with {engine}: {problem}", path.display())]
    Model {
        /// The model file.
        path: PathBuf,
        /// The engine that was to run it.
        engine: &'static str,
        /// What is wrong with it.
        problem: String,
    },

    /// The tokenizer produces numbers that the model does not know.
    #[error(
        "`{}` does not fit the model `{}`: the model fails on the tokenizer's token number \
         {largest} ({problem}); take both files from the same export",
        tokenizer.display(),
        model.display()
    )]
    VocabularyMismatch {
        /// The tokenizer file.
        tokenizer: PathBuf,
        /// The model file.
        model: PathBuf,
        /// The largest token number the tokenizer can produce.
        largest: u32,
        /// What the engine said.
        problem: String,
    },

    /// ONNX Runtime was asked for and cannot be used.
    #[error(
        "cannot use ONNX Runtime from `{}` (named by --onnxruntime or {}): {problem}; wanted is the \
         shared library of ONNX Runtime 1.{} or newer; without the option and the variable the \
         built-in engine is used",
        path.display(),
        crate::encoder::RUNTIME_VARIABLE,
        crate::encoder::RUNTIME_OLDEST_MINOR
    )]
    OnnxRuntime {
        /// The file that was to be loaded.
        path: PathBuf,
        /// Why it cannot be used.
        problem: String,
    },

    /// A sentence could not be encoded.
    #[error("cannot encode a sentence of {bytes} bytes with `{encoder}`: {problem}")]
    Encode {
        /// The encoder's name.
        encoder: String,
        /// Length of the sentence.
        bytes: usize,
        /// What the tokenizer or the engine said.
        problem: String,
    },

    /// The place for a vector has the wrong length.
    #[error("a vector of `{encoder}` has {expected} coordinates, but the place for it has {found}")]
    WrongDimension {
        /// The encoder's name.
        encoder: String,
        /// The encoder's dimension.
        expected: usize,
        /// The length of the slice that was given.
        found: usize,
    },

    /// An encoder gave a coordinate that is no number for a public sentence.
    #[error(
        "`{encoder}` gave NaN or infinity for sentence {sentence} of the public corpus; use the fp32 model"
    )]
    NotFinite {
        /// The encoder's name.
        encoder: String,
        /// The sentence, counted from 0 over the documents drawn.
        sentence: usize,
    },

    /// No document of the corpus can be a candidate.
    #[error("{}", no_candidates(*read, *min_sentences))]
    NoCandidates {
        /// Documents read.
        read: usize,
        /// Sentences needed.
        min_sentences: usize,
    },

    /// Documents without a label among others.
    #[error(
        "{without} of {documents} documents have no label, the first on line {line}; give all of them one, leave them \
         out with --unlabelled skip, or take clusters for candidates with --clusters N"
    )]
    Unlabelled {
        /// How many have none.
        without: usize,
        /// How many there are.
        documents: usize,
        /// The line of the first of them, from 1; 0 if it comes from no file.
        line: u64,
    },

    /// One label for all documents.
    #[error(
        "all {documents} documents have the same label, so there is nothing to choose from; give documents with other \
         labels, or take clusters for candidates with --clusters N"
    )]
    OneLabel {
        /// How many documents there are.
        documents: usize,
    },

    /// Documents for a measurement whose labels the pack does not have.
    #[error(
        "none of the {documents} documents has a label that is a candidate of the pack; give documents with its labels"
    )]
    NoKnownLabel {
        /// How many documents there are.
        documents: usize,
    },

    /// A pack that does not fit into the size that was asked for.
    #[error(
        "the pack takes {bytes} bytes, more than the {size} of --size; give more, or --heads features"
    )]
    PackSize {
        /// What it takes.
        bytes: usize,
        /// The limit.
        size: usize,
    },

    /// A size of a pack in which no word of the lexicon has room.
    #[error(
        "--size {size} leaves no room for a word of the lexicon; give at least {least}, and much more for a lexicon that is of use, or \
         --heads features"
    )]
    LexiconSize {
        /// The limit.
        size: usize,
        /// The least with which a word has room.
        least: usize,
    },

    /// Heads of features, and no feature that can be in the pack.
    #[error(
        "no feature can be in the pack: --size leaves no room, or no word, pair or run of letters is in two sentences; \
         give a larger --size, more documents, or --heads vectors"
    )]
    NoFeatures,

    /// More candidates than a device can choose from.
    #[error("{what} are more than the {most} candidates that a device can choose from; {advice}")]
    DeviceLimit {
        /// What there is too much of.
        what: String,
        /// The largest number.
        most: usize,
        /// What to do.
        advice: &'static str,
    },

    /// A size that a pack cannot hold.
    #[error("{found} {what}; allowed are {least} to {most}")]
    PackLimit {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// The least number allowed.
        least: usize,
        /// The largest number allowed.
        most: usize,
    },

    /// Bytes that are not a pack.
    #[error("not a usable pack: {0}")]
    PackBytes(PackError),

    /// Candidates where a pack is needed.
    #[error("`{}` is a file of candidates; name the pack that it was written beside", path.display())]
    CandidatesAsPack {
        /// The file.
        path: PathBuf,
    },

    /// A file that is not a pack.
    #[error("`{}` is not a usable pack: {problem}", path.display())]
    Pack {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: PackError,
    },

    /// The pack was built from the embeddings of another encoder.
    #[error(
        "the pack was built with the encoder `{pack}` ({pack_dimension} coordinates), not with \
         `{encoder}` ({encoder_dimension} coordinates); name the pack's encoder with --encoder"
    )]
    EncoderMismatch {
        /// The name of the pack's encoder.
        pack: String,
        /// Its dimension.
        pack_dimension: usize,
        /// The name of the encoder given.
        encoder: String,
        /// Its dimension.
        encoder_dimension: usize,
    },

    /// A pack without a lexicon where one is needed.
    #[error("`{}` has no lexicon; make one with `undertone distil` or `undertone vocabulary`", path.display())]
    NoLexicon {
        /// The file.
        path: PathBuf,
    },

    /// The privacy budget refused.
    #[error("`{}`: {problem}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: LedgerError,
    },

    /// A ledger that somebody else has open.
    #[error("the ledger `{}` is in use by another process; wait until it is done", path.display())]
    LedgerInUse {
        /// The file.
        path: PathBuf,
    },

    /// A ledger with another budget.
    #[error(
        "the ledger `{}` has a budget of epsilon {}, not {}; a budget stays, another one is a ledger of its own",
        path.display(),
        Micro(*found),
        Micro(*wanted)
    )]
    LedgerBudget {
        /// The file.
        path: PathBuf,
        /// Its budget in micro-units.
        found: u64,
        /// The budget wanted in micro-units.
        wanted: u64,
    },

    /// The device side refused.
    #[error("{0}")]
    Document(DocumentError),

    /// The device side refused to release words.
    #[error("{0}")]
    Words(WordsError),

    /// A list of words that cannot be used.
    #[error("cannot use the words of `{}`: {problem}", path.display())]
    WordList {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// Vectors that are not those of a list of words or texts.
    #[error(
        "the vectors have {found} rows, but `{name}` has {lines} lines; there must be one row a line"
    )]
    RowsOfList {
        /// Rows of the vectors.
        found: usize,
        /// Lines of what they are for.
        lines: usize,
        /// The name of that.
        name: String,
    },

    /// A corpus whose words cannot be ranked by what they tell about its labels.
    #[error("cannot rank the words of `{}`: {problem}", path.display())]
    Ranking {
        /// The corpus.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// The device side refused a vector.
    #[error("{0}")]
    Vector(VectorError),

    /// An experiment that cannot be run.
    #[error("cannot run the experiment: {problem}")]
    Experiment {
        /// Why not.
        problem: String,
    },

    /// A candidates file with the wrong content.
    #[error("`{}` is not a candidates file: {problem}; `undertone pack` writes one", path.display())]
    Candidates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// Candidates beside a pack that they do not belong to.
    #[error(
        "`{}` has the candidates of pack {found}, but `{}` is pack {wanted}; put the candidates beside it that `undertone pack` \
         wrote with it",
        path.display(),
        pack.display()
    )]
    CandidatesOfOther {
        /// The candidates.
        path: PathBuf,
        /// The identifier of their pack.
        found: String,
        /// The pack.
        pack: PathBuf,
        /// Its identifier.
        wanted: String,
    },

    /// A release that was made under another pack than the candidates belong to.
    #[error(
        "the release was made under pack {release}, these are the candidates of pack {candidates}"
    )]
    OtherPack {
        /// The identifier in the release.
        release: String,
        /// The identifier of the candidates' pack.
        candidates: String,
    },

    /// A release that names a candidate that does not exist.
    #[error("the release names candidate {found}, but there are {candidates}; is it damaged?")]
    NoSuchCandidate {
        /// The index in the release.
        found: usize,
        /// The number of candidates.
        candidates: usize,
    },

    /// A release by projective geometry, which names no candidate.
    #[error(
        "the release names a point that many candidates prefer, and no candidate; count many such releases instead"
    )]
    NamesAPoint,

    /// Something that cannot be trained on, or a training that came to nothing.
    #[error("cannot train: {problem}")]
    Training {
        /// What is wrong, and what to do.
        problem: String,
    },

    /// A file of a trained recoder, of score heads or of an interrupted training with the wrong
    /// content.
    #[error("`{}` is not a file of {wanted}: {problem}", path.display())]
    Trained {
        /// The file.
        path: PathBuf,
        /// What it was read as.
        wanted: &'static str,
        /// What is wrong with it.
        problem: String,
    },

    /// The corpora do not have as many words as a lexicon was to have.
    #[error(
        "the corpora have only {found} different words, {wanted} are wanted; lower --words or add a corpus"
    )]
    TooFewWords {
        /// Different words found.
        found: usize,
        /// Words wanted.
        wanted: usize,
    },

    /// A file that is not one of word vectors.
    #[error("cannot take word vectors from `{}`: {problem}", path.display())]
    Vectors {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
    },

    /// Word vectors of which nothing can be used.
    #[error(
        "none of the {read} words of `{name}` can be used; wanted are single words with vectors that \
         are not zero"
    )]
    NoUsableWords {
        /// The name of the vectors.
        name: String,
        /// Words read.
        read: usize,
    },

    /// A coordinate that no pack can hold.
    #[error(
        "a word vector has a coordinate of {found:e}, the largest allowed is {most:e}; scale the vectors"
    )]
    LargeCoordinate {
        /// The largest coordinate.
        found: f32,
        /// The largest allowed.
        most: f32,
    },

    /// A bag without words.
    #[error("a bag of words without words has no distance; leave it out")]
    EmptyBag,

    /// Costs that no cheapest transport was found for.
    #[error("cannot solve a transport problem: {problem}")]
    Costs {
        /// What is wrong.
        problem: String,
    },

    /// A task file with the wrong content.
    #[error(
        "`{}` is not a task file: {problem}; its fields are name and train, and may be test, label_field, messages \
         and classes",
        path.display()
    )]
    Task {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// Nothing to audit, or something without which it cannot be done.
    #[error("cannot audit: {problem}")]
    Audit {
        /// What is missing, and what to do.
        problem: String,
    },

    /// A plot could not be drawn.
    #[error("cannot draw a plot: {problem}")]
    Plot {
        /// What the drawing library said.
        problem: String,
    },

    /// A corpus that nothing can be learned from.
    #[error("cannot evaluate on `{}`: {problem}", path.display())]
    Labels {
        /// The corpus.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// Too few messages to tell authors apart.
    #[error(
        "{found} groups have two or more authors of at least {least_messages} messages each, but {groups} are \
         wanted; give more messages, fewer --groups (at least 1) or fewer --least-messages"
    )]
    Authors {
        /// Groups with such authors.
        found: usize,
        /// Groups that are wanted.
        groups: usize,
        /// Messages that an author needs.
        least_messages: usize,
    },

    /// Word vectors of another language, or of other words.
    #[error(
        "no word of the vectors `{vectors}` occurs in the training messages; take vectors of the words that they \
         are written in"
    )]
    NoCommonWords {
        /// The name of the vectors.
        vectors: String,
    },

    /// A number of clusters that the points do not allow.
    #[error(
        "cannot make {clusters} clusters of {points} points; there must be at least one cluster, and a \
         point for each"
    )]
    Clusters {
        /// Clusters wanted.
        clusters: usize,
        /// Points there are.
        points: usize,
    },

    /// A vector with a coordinate that is no number.
    #[error(
        "{what} {row} has a coordinate that is NaN or infinite; leave it out or encode it anew"
    )]
    NotFiniteRow {
        /// What the vectors are.
        what: &'static str,
        /// The vector, counted from 0.
        row: usize,
    },

    /// A projection whose entries do not fit the integers of a pack.
    #[error(
        "the largest entry of the projection is {largest:e}, a pack holds largest entries from {:e} to \
         32767; scale it",
        2f64.powi(-10)
    )]
    ProjectionScale {
        /// The largest magnitude of an entry.
        largest: f64,
    },

    /// Vectors without a distance between any two.
    #[error(
        "no two of {words} word vectors differ, so nothing bounds how a projection stretches distances"
    )]
    NoPairs {
        /// The number of vectors.
        words: usize,
    },

    /// A projection that stretches too little or too much.
    #[error(
        "the projection stretches distances by up to {found:e}; noise can be scaled to 2^-12 to 2^12; scale \
         the projection"
    )]
    StretchRange {
        /// The largest stretch.
        found: f64,
    },

    /// A number that an experiment cannot be made with.
    #[error("{what} is {found}; allowed is {allowed}")]
    Setting {
        /// What it is.
        what: &'static str,
        /// Its value.
        found: f64,
        /// The values allowed.
        allowed: &'static str,
    },

    /// Score heads tell classes apart, so there must be some.
    #[error(
        "score heads tell at least 2 classes apart, found {classes}; give a corpus with more labels, \
         or take clusters for classes"
    )]
    TooFewClasses {
        /// Classes found.
        classes: usize,
    },

    /// A class without examples.
    #[error(
        "class {class} of 0..{classes} has no document with a sentence; leave it out or give documents"
    )]
    EmptyClass {
        /// The class.
        class: usize,
        /// The number of classes.
        classes: usize,
    },

    /// Sentences that nothing can tell apart.
    #[error(
        "all sentence vectors are equal, so nothing tells the classes apart; is the encoder broken?"
    )]
    EqualSentences,
}

/// What to do about a file that the system refuses.
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
    /// What it is about.
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
            | Cause::NoKnownLabel { .. }
            | Cause::PackSize { .. }
            | Cause::LexiconSize { .. }
            | Cause::NoFeatures
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

    /// What went wrong, for the crates of this workspace.
    #[doc(hidden)]
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// What went wrong, owned, for the crates of this workspace.
    #[doc(hidden)]
    pub fn into_cause(self) -> Cause {
        *self.0
    }

    /// For `map_err`: what the drawing library said.
    pub fn plot(problem: impl std::fmt::Display) -> Self {
        Cause::Plot {
            problem: problem.to_string(),
        }
        .into()
    }

    /// For `map_err`: what was being done with a file when the system refused.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| {
            let kind = cause.get_ref().and_then(|inner| inner.downcast_ref());
            match kind.copied() {
                Some(kind) => Cause::Foreign { path, kind },
                None => Cause::Io {
                    action,
                    path,
                    cause,
                },
            }
            .into()
        }
    }

    /// For `map_err`: whose ledger refused.
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

/// What is wrong with one line of a corpus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// The file could not be read on.
    #[error("cannot read on: {0}")]
    Unreadable(io::Error),

    /// The line is longer than the reader holds in memory.
    #[error("longer than {limit} bytes; split it")]
    TooLong {
        /// The longest line that is read, in bytes.
        limit: usize,
    },

    /// The line is not UTF-8.
    #[error("not UTF-8 at byte {byte}; convert the file to UTF-8")]
    NotUtf8 {
        /// The first wrong byte of the line, counted from 1.
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
        /// Where the JSON reader stopped, in bytes from 1.
        column: usize,
    },

    /// A field every document needs is absent.
    #[error("no field \"{field}\", or it is null; give it, or name another field")]
    MissingField {
        /// The field.
        field: String,
    },

    /// A field that is wanted is there twice.
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
        /// The types it may have.
        wanted: &'static str,
    },

    /// A line of a .tsv file has no tabulator.
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

/// The names of fields for the end of a message, at most 20 of them.
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
