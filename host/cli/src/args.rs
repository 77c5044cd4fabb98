//! Arguments of several subcommands, and the files that they name.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use chrono::{Days, NaiveDate};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use undertone::corpus::{CorpusDocument, FieldNames, LINE_LIMIT};
use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{Encoder, EncoderIdentity, LexiconEncoder, NoEncoder, OnnxEncoder};
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::fields::{self, Fields, similar};
use undertone::files::form::Form;
use undertone::files::lines::unzipped;
use undertone::files::resume::Encoding;
use undertone::pack::LexiconData;
use undertone::progress::Progress;
use undertone::release::ledger::utc_day;
use undertone::text::{WordFilter, end_of_sentences, message_body, read_word_list};
use undertone_core::pack::Pack;
use undertone_core::select::Rule;

use crate::files::{print, read_pack};
use crate::paths::Paths;

/// For `value_parser`: a whole number from 0 on.
pub fn whole<T: TryFrom<u64>>(text: &str) -> std::result::Result<T, String> {
    from(0, text)
}

/// The same from 1 on.
pub fn from_one<T: TryFrom<u64>>(text: &str) -> std::result::Result<T, String> {
    from(1, text)
}

fn from<T: TryFrom<u64>>(least: u64, text: &str) -> std::result::Result<T, String> {
    let number: Option<u64> = text.parse().ok();
    let number = number.filter(|number| *number >= least);
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("expected a whole number from {least} to {}", u64::MAX))
}

/// For `value_parser`: a number that `is_allowed`, or else `problem`.
pub fn number(
    text: &str,
    is_allowed: impl Fn(f64) -> bool,
    problem: &str,
) -> std::result::Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if is_allowed(number) {
        Ok(number)
    } else {
        Err(problem.to_owned())
    }
}

/// A public corpus.
#[derive(Args, Clone)]
pub struct CorpusArgs {
    /// A public corpus in UTF-8: .jsonl, .tsv or .csv, gzipped (.gz) or not, or .parquet.
    ///
    /// It must be a file, because it is read several times. No line is skipped: a line or row that
    /// is not a document, or is longer than 16 MiB, is an error that names its number.
    #[arg(short, long, value_name = "FILE")]
    pub corpus: PathBuf,
    /// Read only the first N documents.
    #[arg(short, long, value_name = "N", value_parser = whole::<usize>)]
    pub limit: Option<usize>,
    /// Use only the first N sentences of each text: the number that released texts will have.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub first_sentences: Option<u16>,
    #[command(flatten)]
    /// Their fields and form.
    pub texts: TextArgs,
}

impl CorpusArgs {
    /// The documents that pass `wanted`, encoded, for any number of passes.
    pub fn encoded<'a>(
        &'a self,
        encoding: Encoding<'a>,
        wanted: impl Fn(&CorpusDocument) -> bool + Copy + 'a,
    ) -> Encoded<'a> {
        Encoded::new(&self.corpus, encoding, move || {
            Ok(self
                .documents()?
                .filter(move |document| document.as_ref().map_or(true, wanted)))
        })
    }

    /// The documents that the options select.
    pub fn documents(&self) -> Result<impl Iterator<Item = Result<CorpusDocument>> + use<>> {
        let names = self.texts.fields.names();
        let corpus = undertone_tables::corpus_watched(&self.corpus, &names, None)?;
        let corpus = corpus.take(self.limit.unwrap_or(usize::MAX));
        let documents = self.texts.of(&self.corpus, corpus);
        let first = self.first_sentences.map_or(usize::MAX, usize::from);
        Ok(documents.map(move |document| {
            let mut document = document?;
            let end = end_of_sentences(&document.text, first);
            document.text.truncate(end);
            Ok(document)
        }))
    }

    /// The number of documents without a label, and the line of the first.
    pub fn unlabelled(&self) -> Result<(usize, u64)> {
        let (mut without, mut first) = (0, None);
        for document in self.documents()? {
            let document = document?;
            if document.label.is_none() {
                without += 1;
                first.get_or_insert(document.line);
            }
        }
        Ok((without, first.unwrap_or_default()))
    }

    /// The corpus among the files of a command.
    pub fn paths(&self, paths: Paths) -> Paths {
        paths.reread("--corpus", &self.corpus)
    }
}

/// The form of texts.
#[derive(Args, Clone)]
pub struct TextArgs {
    /// Treat texts as mail or Usenet messages: leave out headers, quoted lines and signatures.
    #[arg(long)]
    pub messages: bool,
    #[command(flatten)]
    /// The fields of a document.
    pub fields: FieldArgs,
}

/// The names of fields.
#[derive(Args, Clone)]
pub struct FieldArgs {
    /// The field or column of the text. A path with dots, such as body.text, leads into a field,
    /// unless a field has that very name.
    #[arg(long, value_name = "FIELD", default_value = "text")]
    text_field: String,
    /// The field or column of the label.
    #[arg(long, value_name = "FIELD", default_value = "label", alias = "label")]
    label_field: String,
    /// The field or column of the id.
    #[arg(long, value_name = "FIELD", default_value = "id")]
    id_field: String,
    /// The field of the source, for commands that read it.
    #[arg(skip)]
    pub source_field: Option<String>,
}

impl FieldArgs {
    /// The names of the fields.
    pub fn names(&self) -> FieldNames {
        FieldNames {
            text: self.text_field.clone(),
            label: self.label_field.clone(),
            id: self.id_field.clone(),
            source: self.source_field.clone(),
            answers: None,
        }
    }

    /// The documents of a file, then an error if none of them has a label or id field that was
    /// named. A document without the default label is an error if another field has nearly that
    /// name: without its labels another pack would be made of the corpus.
    pub fn checked<I: Iterator<Item = Result<CorpusDocument>>>(
        &self,
        path: &Path,
        mut documents: I,
    ) -> impl Iterator<Item = Result<CorpusDocument>> + use<I> {
        let (names, defaults) = (self.names(), FieldNames::default());
        let has_names = Form::of(path) != Some(Form::Tsv);
        let mut unseen = (has_names && names.label == defaults.label).then_some(defaults.label);
        let named = |option: &'static str, name: String, is_default: bool| {
            (has_names && !is_default).then_some((option, name))
        };
        let mut label = named("--label-field", names.label, unseen.is_some());
        let is_default = names.id == defaults.id;
        let mut id = named("--id-field", names.id, is_default);
        let (path, mut is_whole) = (path.to_owned(), false);
        std::iter::from_fn(move || {
            let next = documents.next();
            match &next {
                Some(Ok(document)) => {
                    is_whole = true;
                    if let Some(name) = unseen.take()
                        && document.label.is_none()
                        && let Some(error) = misnamed(&name, &path)
                    {
                        return Some(Err(error));
                    }
                    label = label.take().filter(|_| document.label.is_none());
                    id = id.take().filter(|_| document.has_line_id());
                    next
                }
                None if is_whole => {
                    is_whole = false;
                    let missing = label.take().or(id.take());
                    missing.map(|(option, field)| Err(no_such_field(option, &field, Some(&path))))
                }
                Some(Err(_)) | None => {
                    is_whole = false;
                    next
                }
            }
        })
    }
}

/// Returns an error if a file lacks a field, but has one with nearly the same name.
fn misnamed(name: &str, path: &Path) -> Option<Error> {
    match fields_of(path) {
        Ok(fields) if fields.iter().any(|own| own == name) => None,
        Ok(fields) => {
            similar(name, &fields).map(|_| fields::no_such_field(path, "field", name, &fields))
        }
        Err(error) => Some(error),
    }
}

/// The forms of an answer besides text.
#[derive(Args)]
pub struct AnswerArgs {
    /// Print all numbers, as JSON.
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "FILE", hide = true)]
    json_file: Option<PathBuf>,
    /// Write a page for people: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The author that the page names.
    #[arg(long, value_name = "NAME", requires = "html")]
    author: Option<String>,
}

/// The line below the headline of a page: the date in UTC, the file name of the pack or form
/// without its extensions, and the author.
pub fn byline<'p>(
    files: impl IntoIterator<Item = &'p PathBuf>,
    author: Option<&str>,
) -> Vec<String> {
    // The default is 1 January 1970.
    let date = NaiveDate::default().checked_add_days(Days::new(utc_day()));
    let mut parts: Vec<String> = date.iter().map(NaiveDate::to_string).collect();
    let names = files.into_iter().filter_map(|path| path.file_name());
    parts.extend(names.map(|name| {
        let name = name.to_string_lossy();
        let of_pack = name.strip_suffix(".candidates.safetensors");
        let stem = || name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
        of_pack.unwrap_or_else(stem).to_owned()
    }));
    parts.extend(author.map(str::to_owned));
    parts
}

impl AnswerArgs {
    /// Adds the files to write.
    pub fn paths(&self, paths: Paths) -> Paths {
        paths
            .outputs("--json", &self.json_file)
            .outputs("--html", &self.html)
    }

    /// Refuses files that cannot be written, before the work.
    pub fn check(&self) -> Result<()> {
        let mut files = [&self.json_file, &self.html].into_iter().flatten();
        files.try_for_each(AtomicFile::check)
    }

    /// Writes the files. All are on the disk before one of them gets its name.
    pub fn write(
        &self,
        json: impl FnOnce() -> String,
        html: impl FnOnce(&[String]) -> Result<String>,
        files: &[PathBuf],
    ) -> Result<()> {
        let mut settled = Vec::new();
        if let Some(path) = &self.json_file {
            settled.push(AtomicFile::settled(path, json().as_bytes())?);
        }
        if let Some(path) = &self.html {
            let html = html(&byline(files, self.author.as_deref()))?;
            settled.push(AtomicFile::settled(path, html.as_bytes())?);
        }
        settled.into_iter().try_for_each(AtomicFile::commit)
    }

    /// Prints the answer, as JSON or as text.
    pub fn print(
        &self,
        json: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        print(&if self.json { json() } else { text() })
    }
}

/// An error that names the fields of a file.
pub fn no_such_field(option: &'static str, field: &str, path: Option<&Path>) -> Error {
    let fields = match path.map(fields_of).transpose() {
        Ok(fields) => fields.unwrap_or_default(),
        Err(error) => return error,
    };
    Error::argument(format!(
        "{option} {field}: there is no such column or field{}",
        there_are(&fields)
    ))
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

/// The columns of a table, or the fields of its first line of JSON.
fn fields_of(path: &Path) -> Result<Vec<String>> {
    if let Some(columns) = undertone_tables::names(path)? {
        return Ok(columns);
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    let text = unzipped(file).map_err(Error::io("read", path))?;
    let mut lines = text
        .take(LINE_LIMIT as u64)
        .lines()
        .map_while(std::io::Result::ok);
    let first = lines.find(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default();
    let line = first.trim_start_matches('\u{feff}');
    let names = |fields: Fields<'_>| {
        let names = fields.0.iter().map(|(name, _)| name.text().into_owned());
        names.collect()
    };
    Ok(serde_json::from_str(line).map(names).unwrap_or_default())
}

impl TextArgs {
    /// The documents of a file, checked as by [`FieldArgs::checked`], with messages cut to their
    /// bodies.
    pub fn of<I: Iterator<Item = Result<CorpusDocument>>>(
        &self,
        path: &Path,
        documents: I,
    ) -> impl Iterator<Item = Result<CorpusDocument>> + use<I> {
        bodies(self.fields.checked(path, documents), self.messages)
    }
}

/// The documents, cut to their bodies if they are messages.
pub fn bodies<I: Iterator<Item = Result<CorpusDocument>>>(
    documents: I,
    messages: bool,
) -> impl Iterator<Item = Result<CorpusDocument>> + use<I> {
    documents.map(move |document| {
        let mut document = document?;
        if messages {
            document.text = message_body(&document.text);
        }
        Ok(document)
    })
}

/// A sentence encoder.
#[derive(Args)]
pub struct EncoderArgs {
    /// The sentence encoder [default: the lexicon of the pack, or the built-in one]
    ///
    /// A .pack file with a lexicon; an .onnx file; or a folder with model.onnx or onnx/model.onnx.
    /// A model requires tokenizer.json in its folder or one folder up.
    #[arg(long, value_name = "PATH")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    /// The engine that runs it.
    pub runtime: RuntimeArgs,
}

/// The engine of a neural encoder.
#[derive(Args)]
pub struct RuntimeArgs {
    /// Run the model by this shared library of ONNX Runtime, not by the built-in engine.
    #[arg(long, value_name = "PATH")]
    pub onnxruntime: Option<PathBuf>,
}

/// For `value_parser`: one of these names, each with its help and its value.
pub fn named<T: Copy + Send + Sync + 'static>(
    names: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let shown = names.iter().map(|(name, help, _)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    let values = PossibleValuesParser::new(shown.collect::<Vec<_>>());
    values.map(|text| {
        let mut all = names.iter();
        let found = all.find(|(name, ..)| *name == text);
        found.expect("a possible value").2
    })
}

/// The rules of selection.
pub const RULES: [(&str, &str, Rule); 2] = [
    ("permute-and-flip", "Permute-and-flip", Rule::PermuteAndFlip),
    (
        "exponential",
        "The exponential mechanism",
        Rule::Exponential,
    ),
];

/// An encoder, with the lexicon that packs carry if it is one.
pub struct OpenEncoder {
    /// The encoder.
    pub encoder: Box<dyn Encoder>,
    /// Its lexicon, if it is one.
    pub lexicon: Option<LexiconData>,
}

impl OpenEncoder {
    /// Reduces the lexicon so that a quarter of `size` remains for other sections. If no lexicon
    /// fits, the result has none if `alone` permits.
    pub fn within(self, size: usize, alone: bool) -> Result<Self> {
        let Some(lexicon) = self.lexicon else {
            return Ok(self);
        };
        let name = &self.encoder.identity().name;
        let extent = |lexicon: &LexiconData| {
            let coordinates = lexicon
                .words
                .first()
                .map_or(0, |(_, _, vector)| vector.len());
            (lexicon.words.len(), coordinates, lexicon.phrases.len())
        };
        let (all, before) = (lexicon.words.len(), extent(&lexicon));
        let least = lexicon.least_size();
        let Some(bytes) = lexicon.leaving_room(name, size)? else {
            if !alone {
                return Err(Error::input(format!(
                    "--size {size} leaves no room for a word of the lexicon; give at least \
                     {least}, and much more for a lexicon that is of use, or --heads features"
                )));
            }
            return Ok(Self {
                encoder: Box::new(NoEncoder::default()),
                lexicon: None,
            });
        };
        let bytes: &'static [u8] = bytes.leak();
        let pack = Pack::parse(bytes).map_err(Error::from)?;
        let encoder = LexiconEncoder::new(&pack).expect("the pack was made of a lexicon");
        let lexicon = LexiconData::from_view(encoder.lexicon());
        let (words, coordinates, phrases) = extent(&lexicon);
        if (words, coordinates, phrases) != before {
            note!(
                "the lexicon has room for {words} of its {all} words, with {coordinates} coordinates, and {phrases} phrases"
            );
        }
        Ok(Self {
            lexicon: Some(lexicon),
            encoder: Box::new(encoder),
        })
    }

    /// This encoder for packs that carry `lexicon`.
    pub fn carrying(self, lexicon: LexiconEncoder<'_>) -> Result<Self> {
        let (expected, found) = (self.encoder.dimension(), lexicon.dimension());
        let identity = lexicon.identity().clone();
        if expected != found {
            return Err(Error::wrong_dimension(&identity.name, expected, found));
        }
        Ok(Self {
            lexicon: Some(LexiconData::from_view(lexicon.lexicon())),
            encoder: Box::new(Carried {
                encoder: self.encoder,
                identity,
            }),
        })
    }
}

/// An encoder under the identity of another one of the same space, which devices will use.
struct Carried {
    encoder: Box<dyn Encoder>,
    identity: EncoderIdentity,
}

impl Encoder for Carried {
    fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    fn dimension(&self) -> usize {
        self.encoder.dimension()
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        self.encoder.encode(sentence, out)
    }

    fn encode_public(
        &self,
        sentences: &[&str],
        rows: &mut [f32],
        progress: &Progress,
    ) -> Result<()> {
        self.encoder.encode_public(sentences, rows, progress)
    }
}

impl RuntimeArgs {
    /// The library among the files of a command.
    pub fn paths(&self, paths: Paths) -> Paths {
        paths.inputs("--onnxruntime", &self.onnxruntime)
    }
}

impl EncoderArgs {
    /// The encoder among the files of a command.
    pub fn paths(&self, paths: Paths) -> Paths {
        self.runtime
            .paths(paths)
            .encoder("--encoder", &self.encoder)
    }

    /// The encoder that was named, else the lexicon of the pack, or none if the pack has features
    /// alone.
    pub fn open_for(&self, pack: &Pack<'static>) -> Result<OpenEncoder> {
        let alone = pack.features().is_some_and(|features| features.is_alone());
        if alone && self.encoder.is_none() {
            self.check_runtime()?;
            return Ok(OpenEncoder {
                encoder: Box::new(NoEncoder::of(pack)),
                lexicon: None,
            });
        }
        self.open(|| LexiconEncoder::new(pack).unwrap_or_else(LexiconEncoder::embedded))
    }

    /// Refuses a runtime without a neural encoder.
    fn check_runtime(&self) -> Result<()> {
        let is_pack = |path: &PathBuf| path.extension().is_some_and(|end| end == "pack");
        if self.runtime.onnxruntime.is_some() && self.encoder.as_ref().is_none_or(is_pack) {
            Err(Error::argument(
                "--onnxruntime does nothing without a neural encoder (--encoder with a \
                 folder or an .onnx file); name one, or leave --onnxruntime out",
            ))
        } else {
            Ok(())
        }
    }

    /// The encoder that was named, else `default`.
    pub fn open(&self, default: impl FnOnce() -> LexiconEncoder<'static>) -> Result<OpenEncoder> {
        self.check_runtime()?;
        let lexicon = match &self.encoder {
            Some(path) if path.extension().is_some_and(|end| end == "pack") => {
                LexiconEncoder::of_file(&read_pack(path)?, path)?
            }
            Some(path) => {
                let encoder = OnnxEncoder::open(path, self.runtime.onnxruntime.as_deref())?;
                return Ok(OpenEncoder {
                    encoder: Box::new(encoder),
                    lexicon: None,
                });
            }
            None => default(),
        };
        Ok(OpenEncoder {
            lexicon: Some(LexiconData::from_view(lexicon.lexicon())),
            encoder: Box::new(lexicon),
        })
    }
}

/// The file name of `out` with one more ending.
pub fn beside(out: &Path, ending: &str) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Encodes public text for the output `out`. Vectors of a neural encoder survive an interrupted
/// run.
pub fn kept<'a>(encoder: &'a OpenEncoder, out: &Path) -> Result<Encoding<'a>> {
    // A lexicon is faster than reading the file.
    let none = NoEncoder::default();
    if encoder.lexicon.is_some() || encoder.encoder.identity() == none.identity() {
        return Ok(Encoding::new(encoder.encoder.as_ref()));
    }
    let path = beside(out, ".embeddings.partial");
    let encoding = Encoding::kept_in(encoder.encoder.as_ref(), path)?;
    if encoding.known() > 0 {
        note!(
            "resuming: {} sentences are encoded already",
            encoding.known()
        );
    }
    Ok(encoding)
}

/// Words to ignore.
#[derive(Args)]
pub struct StopArgs {
    /// Words to ignore, one a line [default: NLTK's English stop words]
    #[arg(long, value_name = "FILE")]
    pub stop_words: Option<PathBuf>,
}

impl StopArgs {
    /// The list among the files of a command.
    pub fn paths(&self, paths: Paths) -> Paths {
        paths.inputs("--stop-words", &self.stop_words)
    }

    /// The words that count.
    pub fn filter(&self) -> Result<WordFilter> {
        let mut filter = WordFilter::default();
        if let Some(path) = &self.stop_words {
            filter.stop = read_word_list(path)?;
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byline_has_the_whole_name() {
        for (file, name) in [
            ("packs/assistant.en.candidates.safetensors", "assistant.en"),
            ("assistant.en.pack", "assistant.en"),
            ("form", "form"),
        ] {
            let parts = byline(Some(&PathBuf::from(file)), Some("Ada"));
            assert_eq!(parts[1..], [name, "Ada"]);
        }
    }
}
