//! Sentence-transformers models exported to ONNX.

mod file;
mod layout;
mod ort;
mod rten;

use std::borrow::Cow;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::path::{self, Path, PathBuf};
use std::sync::OnceLock;

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tokenizers::{Encoding, PostProcessor, Tokenizer, TruncationParams, TruncationStrategy};

use self::layout::Layout;
use self::ort::OrtEngine;
use self::rten::RtenEngine;
use super::{Encoder, EncoderIdentity, RUNTIME_VARIABLE, each_alone};
use crate::error::{Cause, Error, Result};
use crate::files::foreign;
use crate::progress::Progress;

const MODEL: &str = "model.onnx";
/// The folder into which sentence-transformers exports models.
const FOLDER: &str = "onnx";
const TOKENIZER: &str = "tokenizer.json";

/// The longest sentence in tokens when `tokenizer.json` does not say one.
const DEFAULT_TOKENS: usize = 512;

/// Tokens of public sentences that go through the model together, at most: more is no faster.
const BATCH_TOKENS: usize = 256;

/// The names that exporters give the output with one vector a token.
const TOKEN_OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// What runs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// The built-in engine, pure Rust.
    Rten,
    /// ONNX Runtime 1.17 or newer, loaded from this shared library. One process can load one.
    OnnxRuntime(PathBuf),
}

impl Runtime {
    /// ONNX Runtime from `library`, else from the library that the environment variable
    /// `ORT_DYLIB_PATH` names, else [`Rten`](Self::Rten). An empty path counts as absent.
    pub fn choose(library: Option<&Path>) -> Self {
        let from_variable = env::var_os(RUNTIME_VARIABLE).map(PathBuf::from);
        [library.map(Path::to_owned), from_variable]
            .into_iter()
            .flatten()
            .find(|path| !path.as_os_str().is_empty())
            .map_or(Self::Rten, Self::OnnxRuntime)
    }
}

/// A sentence encoder in ONNX form with its tokenizer.
///
/// The vector of a sentence is pooled from its tokens' vectors, special tokens included, as the files
/// of sentence-transformers beside the model say: `modules.json`, `1_Pooling/config.json`,
/// `sentence_bert_config.json` and the default prompt of `config_sentence_transformers.json`. Modules
/// and poolings that are not computed here are refused by name. Without these files it is the mean,
/// summed in the order of the tokens and not normalised. A sentence without tokens has the zero vector.
/// Sentences are cut at the `max_seq_length` of these files, else where `tokenizer.json` says, else at
/// 512 tokens; nothing is padded.
///
/// The model's inputs are `input_ids`, `attention_mask` and, if it has it, `token_type_ids`; its
/// output is `last_hidden_state`, `token_embeddings`, or else its only output of three dimensions.
/// Exports that pool or normalise usually still have one of these. Axes of sentences and tokens must be
/// free, which most exporters call dynamic.
///
/// Its identity: the name is the folder's, with the file's if that is not `model.onnx`. The digest covers
/// the bytes of the model and the tokenizer that were loaded, and what files beside them say of
/// vectors. It does not cover the engine: the two engines
/// differ in the last bits, so compare bits within one engine only. A model that keeps weights in a
/// second file is refused, since the digest would not cover them.
///
/// # Leaks
/// Files that are damaged are refused. A model is a program, though: one that was made to can take any time
/// and memory.
pub struct OnnxEncoder {
    identity: EncoderIdentity,
    dimension: usize,
    layout: Layout,
    tokenizer: Tokenizer,
    engine: Box<dyn Engine>,
    /// Whether sentences in a batch have the bits that they have alone, once that was tried.
    batches: OnceLock<bool>,
}

impl OnnxEncoder {
    /// Opens a folder with `model.onnx` or `onnx/model.onnx`, or a model file; `tokenizer.json` is
    /// beside the model or one folder up. `library` is the shared library of ONNX Runtime, see [`Runtime::choose`].
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    pub fn open(folder_or_model: &Path, library: Option<&Path>) -> Result<Self> {
        Self::open_with(folder_or_model, &Runtime::choose(library))
    }

    /// As [`open`](Self::open), with the engine chosen by the caller.
    ///
    /// The model is run twice on a token or two, so that most of what can be wrong with it is found
    /// here and not in the middle of a corpus.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) and [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder).
    pub fn open_with(folder_or_model: &Path, runtime: &Runtime) -> Result<Self> {
        let files = Files::find(folder_or_model)?;
        let model = foreign::read(&files.model)?;
        let tokenizer = foreign::read(&files.tokenizer)?;
        let layout = files.layout()?;
        let identity = EncoderIdentity {
            name: files.name(),
            digest: digest(&model, &tokenizer, &layout.description()),
        };
        let tokenizer = load_tokenizer(&tokenizer, layout.max_tokens).map_err(|problem| {
            Error::from(Cause::Tokenizer {
                path: files.tokenizer.clone(),
                problem,
            })
        })?;

        let engine_name = match runtime {
            Runtime::Rten => RtenEngine::NAME,
            Runtime::OnnxRuntime(_) => OrtEngine::NAME,
        };
        let wrong_model = |problem| {
            Error::from(Cause::Model {
                path: files.model.clone(),
                engine: engine_name,
                problem,
            })
        };
        file::check(&model).map_err(wrong_model)?;
        let engine: Result<Box<dyn Engine>, String> = match runtime {
            Runtime::Rten => RtenEngine::load(model).map(|engine| Box::new(engine) as _),
            Runtime::OnnxRuntime(library) => {
                OrtEngine::load(model, library)?.map(|engine| Box::new(engine) as _)
            }
        };
        let engine = engine.map_err(wrong_model)?;
        let probe = |token| Batch::one(vec![token], vec![0]);
        let width = engine.run(&probe(0)).map_err(wrong_model)?.dimension;
        let dimension = width * layout.poolings.len();

        let largest = largest_token(&tokenizer);
        engine.run(&probe(largest)).map_err(|problem| {
            Error::from(Cause::VocabularyMismatch {
                tokenizer: files.tokenizer.clone(),
                model: files.model.clone(),
                largest,
                problem,
            })
        })?;
        Ok(Self {
            identity,
            dimension,
            layout,
            tokenizer,
            engine,
            batches: OnceLock::new(),
        })
    }

    /// The token numbers that the model sees for `sentence`, after cutting.
    ///
    /// # Leaks
    /// They are the sentence itself. Whether an error occurs depends on it too.
    ///
    /// # Shapes
    /// `sentence`: any string.
    ///
    /// # Errors
    /// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) if the tokenizer fails, for example on a word for which it has no token.
    ///
    /// # Cost
    /// Linear in the sentence with most tokenizers.
    pub fn token_ids(&self, sentence: &str) -> Result<Vec<u32>> {
        Ok(self.tokens(sentence)?.ids)
    }

    fn tokens(&self, sentence: &str) -> Result<Batch> {
        // The tokenizer's own message is not passed on: it could quote the sentence.
        let mut text = Cow::Borrowed(sentence);
        if !self.layout.prompt.is_empty() {
            text = Cow::Owned(format!("{}{text}", self.layout.prompt));
        }
        if self.layout.lower_case {
            text = Cow::Owned(text.to_lowercase());
        }
        let encoding = encode(&self.tokenizer, &text)
            .ok_or_else(|| self.failure(sentence, "the tokenizer has no token for a part of it"))?;
        Ok(Batch::one(
            encoding.get_ids().to_vec(),
            encoding.get_type_ids().to_vec(),
        ))
    }

    /// The vectors of a batch, one row a sentence.
    fn rows(&self, batch: &Batch) -> Result<Vec<f32>, String> {
        let dimension = self.dimension;
        let mut rows = vec![0.0; batch.sentences * dimension];
        if batch.ids.is_empty() {
            return Ok(rows);
        }
        let hidden = self.engine.run(batch)?;
        let width = dimension / self.layout.poolings.len();
        if hidden.dimension != width {
            return Err(format!("the model gave {} coordinates", hidden.dimension));
        }
        let states = hidden.values.chunks_exact(batch.tokens() * width);
        for (row, states) in rows.chunks_exact_mut(dimension).zip(states) {
            let pooled = row.chunks_exact_mut(width);
            for (pooled, pooling) in pooled.zip(&self.layout.poolings) {
                pooling.pool(states, pooled);
            }
            if self.layout.normalise {
                normalise(row);
            }
        }
        Ok(rows)
    }

    /// Whether sentences in a batch have the bits that they have alone.
    ///
    /// With floating point they do on both engines: each row of a product is summed in one order, however many rows
    /// there are. A model that quantises its activations takes their range from the whole batch. Tried out, because
    /// no file says it: rows of made-up tokens, as few and as many as a batch has.
    fn batches(&self) -> bool {
        *self.batches.get_or_init(|| {
            let largest = largest_token(&self.tokenizer);
            let number = |position: usize| (position * 7919) as u32 % largest.saturating_add(1);
            let same = |sentences: usize, tokens: usize| -> Result<bool, String> {
                let alone: Vec<Batch> = (0..sentences)
                    .map(|sentence| {
                        let ids = (sentence * tokens..(sentence + 1) * tokens).map(number);
                        Batch::one(ids.collect(), vec![0; tokens])
                    })
                    .collect();
                let together = self.rows(&Batch::together(alone.iter()))?;
                let rows = together.chunks_exact(self.dimension);
                for (batch, row) in alone.iter().zip(rows) {
                    let row: Vec<u32> = row.iter().map(|x| x.to_bits()).collect();
                    if !self.rows(batch)?.iter().map(|x| x.to_bits()).eq(row) {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            // A failure is found again, and said, with a sentence.
            [(2, 3), (5, 7), (8, 32)]
                .into_iter()
                .all(|(sentences, tokens)| same(sentences, tokens).unwrap_or(false))
        })
    }

    fn failure(&self, sentence: &str, problem: impl Into<String>) -> Error {
        Error::from(Cause::Encode {
            encoder: self.identity.name.clone(),
            bytes: sentence.len(),
            problem: problem.into(),
        })
    }
}

/// Scales a vector to length 1, unless it is as good as zero, as PyTorch does.
fn normalise(row: &mut [f32]) {
    let squares = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let length = squares.sqrt().max(1e-12);
    for x in row {
        *x = (f64::from(*x) / length) as f32;
    }
}

impl Encoder for OnnxEncoder {
    fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        if out.len() != self.dimension {
            return Err(Error::from(Cause::WrongDimension {
                encoder: self.identity.name.clone(),
                expected: self.dimension,
                found: out.len(),
            }));
        }
        let row = self
            .rows(&self.tokens(sentence)?)
            .map_err(|problem| self.failure(sentence, problem))?;
        out.copy_from_slice(&row);
        Ok(())
    }

    /// Sentences of the same number of tokens go through the model together, and none is padded, so the bits are those
    /// of [`encode`](Encoder::encode). One sentence at a time with models that quantise their activations, whose bits
    /// would not be.
    ///
    /// # Leaks
    /// Those of the trait.
    ///
    /// # Shapes
    /// Those of the trait.
    ///
    /// # Errors
    /// Those of the trait.
    ///
    /// # Cost
    /// Up to 256 tokens a run of the model.
    fn encode_public(
        &self,
        sentences: &[&str],
        rows: &mut [f32],
        progress: &Progress,
    ) -> Result<()> {
        assert_eq!(
            rows.len(),
            sentences.len() * self.dimension,
            "one row a sentence"
        );
        if sentences.len() < 2 || !self.batches() {
            return each_alone(self, sentences, rows, progress);
        }
        let tokens = sentences.par_iter().map(|sentence| self.tokens(sentence));
        let tokens: Vec<Batch> = tokens.collect::<Result<_>>()?;
        let length = |index: &usize| tokens[*index].ids.len();
        // The longest first, so that threads end at about the same time.
        let mut order: Vec<usize> = (0..sentences.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(length(index)));
        let batches: Vec<&[usize]> = order
            .chunk_by(|a, b| length(a) == length(b))
            .flat_map(|same| same.chunks((BATCH_TOKENS / length(&same[0]).max(1)).max(1)))
            .collect();
        let encoded = batches.par_iter().with_max_len(1).map(|batch| {
            let together = Batch::together(batch.iter().map(|&index| &tokens[index]));
            let rows = self.rows(&together).or_else(|_| {
                // Perhaps one of them is to blame: the error is to be about that one.
                let alone = batch.iter().map(|&index| {
                    let row = self.rows(&tokens[index]);
                    row.map_err(|problem| self.failure(sentences[index], problem))
                });
                alone.collect::<Result<Vec<_>>>().map(|rows| rows.concat())
            })?;
            progress.advance(batch.len() as u64);
            Ok(rows)
        });
        let encoded: Vec<Vec<f32>> = encoded.collect::<Result<_>>()?;
        for (batch, own) in batches.iter().zip(encoded) {
            for (&index, row) in batch.iter().zip(own.chunks_exact(self.dimension)) {
                rows[index * self.dimension..][..self.dimension].copy_from_slice(row);
            }
        }
        Ok(())
    }
}

/// Sentences of the same number of tokens, one after the other. None is padded: the attention mask is 1 everywhere.
pub(super) struct Batch {
    pub(super) sentences: usize,
    pub(super) ids: Vec<u32>,
    pub(super) type_ids: Vec<u32>,
}

impl Batch {
    fn one(ids: Vec<u32>, type_ids: Vec<u32>) -> Self {
        Self {
            sentences: 1,
            ids,
            type_ids,
        }
    }

    /// Batches of the same number of tokens as one.
    fn together<'a>(batches: impl Iterator<Item = &'a Self> + Clone) -> Self {
        Self {
            sentences: batches.clone().map(|batch| batch.sentences).sum(),
            ids: batches
                .clone()
                .flat_map(|batch| &batch.ids)
                .copied()
                .collect(),
            type_ids: batches.flat_map(|batch| &batch.type_ids).copied().collect(),
        }
    }

    /// Tokens of a sentence.
    fn tokens(&self) -> usize {
        self.ids.len() / self.sentences
    }

    /// The shape of a model's inputs: sentences, tokens.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.sentences, self.tokens()]
    }
}

/// One vector a token, row by row.
pub(super) struct HiddenStates {
    dimension: usize,
    values: Vec<f32>,
}

impl HiddenStates {
    /// Checks the shape that came out of a model against the sentences and tokens that went in.
    pub(super) fn new(shape: &[usize], values: Vec<f32>, batch: &Batch) -> Result<Self, String> {
        let [sentences, tokens] = batch.shape();
        match *shape {
            [outer, rows, dimension] if outer == sentences && rows == tokens && dimension > 0 => {
                Ok(Self { dimension, values })
            }
            _ => Err(format!(
                "its output has the shape {shape:?} for {tokens} tokens; wanted is \
                 [{sentences}, {tokens}, dimension], one vector a token"
            )),
        }
    }
}

/// Runs the neural network. Errors are sentences without a path; the caller adds it.
pub(super) trait Engine: Send + Sync {
    /// The vectors of the tokens. Called from many threads; the bits depend on `batch` only.
    fn run(&self, batch: &Batch) -> Result<HiddenStates, String>;
}

/// Refuses a model whose inputs are not those of a sentence encoder; true if it wants token types.
pub(super) fn wants_token_types(inputs: &[&str]) -> Result<bool, String> {
    const REQUIRED: [&str; 2] = ["input_ids", "attention_mask"];
    const OPTIONAL: &str = "token_type_ids";
    let fits = REQUIRED.iter().all(|name| inputs.contains(name))
        && inputs
            .iter()
            .all(|name| REQUIRED.contains(name) || *name == OPTIONAL);
    if fits {
        Ok(inputs.contains(&OPTIONAL))
    } else {
        Err(format!(
            "its inputs are {}; wanted are input_ids, attention_mask and perhaps token_type_ids",
            list(inputs)
        ))
    }
}

/// Refuses inputs of one size: `shape` has the stated sizes of an input's axes, sentences and tokens.
pub(super) fn check_axes(shape: &[Option<usize>]) -> Result<(), String> {
    let (what, size) = match *shape {
        [_, Some(tokens)] => ("tokens a sentence", tokens),
        [Some(sentences), _] if sentences != 1 => ("sentences at once", sentences),
        _ => return Ok(()),
    };
    Err(format!(
        "it was exported for exactly {size} {what}; export it with free (dynamic) axes for sentences and tokens"
    ))
}

/// The output with one vector a token, among names and ranks (`None`: not stated, or no floats).
pub(super) fn token_output(outputs: &[(&str, Option<usize>)]) -> Result<usize, String> {
    for wanted in TOKEN_OUTPUTS {
        if let Some(index) = outputs.iter().position(|(name, _)| *name == wanted) {
            return Ok(index);
        }
    }
    let mut candidates = (0..outputs.len()).filter(|&index| outputs[index].1 == Some(3));
    match (candidates.next(), candidates.next()) {
        (Some(index), None) => Ok(index),
        _ => {
            let names: Vec<_> = outputs.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "its outputs are {}; wanted is {} or exactly one output of three dimensions, so \
                 export the model without pooling",
                list(&names),
                TOKEN_OUTPUTS.join(", ")
            ))
        }
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// Where an encoder's two files are.
struct Files {
    given: PathBuf,
    model: PathBuf,
    tokenizer: PathBuf,
}

impl Files {
    fn find(given: &Path) -> Result<Self> {
        let model = if given.is_dir() {
            let below = given.join(FOLDER).join(MODEL);
            let beside = given.join(MODEL);
            if below.exists() && !beside.exists() {
                below
            } else {
                beside
            }
        } else {
            given.to_owned()
        };
        let mut tokenizer = model.with_file_name(TOKENIZER);
        if let Some(above) = folders(&model).1.map(|above| above.join(TOKENIZER))
            && above.exists()
            && !tokenizer.exists()
        {
            tokenizer = above;
        }
        let files = Self {
            tokenizer,
            given: given.to_owned(),
            model,
        };
        for file in [&files.model, &files.tokenizer] {
            if !file.exists() {
                return Err(Error::from(Cause::EncoderFileMissing {
                    given: files.given.clone(),
                    missing: file.clone(),
                }));
            }
        }
        Ok(files)
    }

    /// What files of sentence-transformers say, beside the model or, if that is in the folder `onnx`
    /// or the tokenizer is there, one folder up.
    fn layout(&self) -> Result<Layout> {
        let (folder, above) = folders(&self.model);
        let is_below = folder
            .as_deref()
            .is_some_and(|folder| folder.ends_with(FOLDER))
            || self.tokenizer.parent() != self.model.parent();
        let above = above.filter(|_| is_below);
        let mut folders = above.into_iter().chain(folder);
        let found = folders.find(|folder| Layout::is_in(folder));
        found.map_or_else(|| Ok(Layout::default()), |folder| Layout::read(&folder))
    }

    /// The last parts of the path only: a pack that names its encoder must not tell where it was stored.
    fn name(&self) -> String {
        // Canonical, because "." has no name.
        let model = self
            .model
            .canonicalize()
            .unwrap_or_else(|_| self.model.clone());
        let part = |path: Option<&Path>| {
            path.and_then(Path::file_name)
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let (folder, file) = (part(model.parent()), part(Some(&model)));
        let above = part(model.parent().and_then(Path::parent));
        match (&*folder, &*file) {
            (FOLDER, MODEL) => above,
            (FOLDER, _) => format!("{above}/{file}"),
            (_, MODEL) => folder,
            _ => format!("{folder}/{file}"),
        }
    }
}

/// The folder of a file and the one above it, by their names: a file may be a link into a cache.
fn folders(file: &Path) -> (Option<PathBuf>, Option<PathBuf>) {
    let file = path::absolute(file).ok();
    let folder = file.as_deref().and_then(Path::parent);
    let above = folder.and_then(Path::parent);
    (folder.map(Path::to_owned), above.map(Path::to_owned))
}

fn digest(model: &[u8], tokenizer: &[u8], layout: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"undertone encoder: onnx model, tokenizer\0");
    for file in [model, tokenizer] {
        hash.update((file.len() as u64).to_le_bytes());
        hash.update(file);
    }
    hash.update(layout);
    hash.finalize().into()
}

/// Reads `tokenizer.json`.
pub(crate) fn read_tokenizer(json: &[u8]) -> Result<Tokenizer, String> {
    // Not `from_bytes`: it is generic, and compiles the whole format of the crate once more, in here.
    let json = str::from_utf8(json).map_err(|error| error.to_string())?;
    // The crate expects some fields without looking.
    panic::catch_unwind(|| json.parse::<Tokenizer>())
        .map_err(|_| "a part of it is not what its type says".to_owned())?
        .map_err(|error| error.to_string())
}

/// Reads `tokenizer.json` and makes it total: no padding, and cutting that fits every sentence.
fn load_tokenizer(json: &[u8], max_tokens: Option<usize>) -> Result<Tokenizer, String> {
    let mut tokenizer = read_tokenizer(json)?;
    let written = tokenizer.get_truncation();
    let written_length = written.map(|written| written.max_length);
    let max_length = max_tokens.or(written_length).unwrap_or(DEFAULT_TOKENS);
    let direction = written.map(|written| written.direction).unwrap_or_default();
    let special = tokenizer
        .get_post_processor()
        .map_or(0, |processor| processor.added_tokens(false));
    // The crate subtracts one from the other without looking.
    if max_length <= special {
        return Err(format!(
            "sentences are cut at {max_length} tokens, of which {special} are special tokens, so no text is \
             left; set truncation.max_length, or max_seq_length of sentence-transformers, to what the model \
             was trained with"
        ));
    }
    // The stride concerns the parts that are cut off, and the strategy pairs of texts. Both are fixed
    // here, because with some values a long sentence is an error.
    let cut = TruncationParams {
        direction,
        max_length,
        strategy: TruncationStrategy::LongestFirst,
        stride: 0,
    };
    tokenizer
        .with_truncation(Some(cut))
        .map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

/// The tokens of a text. With some files, the crate panics only here and not when it reads them.
pub(crate) fn encode(tokenizer: &Tokenizer, text: &str) -> Option<Encoding> {
    // What it keeps between calls is a cache.
    let encode = AssertUnwindSafe(|| tokenizer.encode_fast(text, true));
    panic::catch_unwind(encode).ok()?.ok()
}

/// The largest number the tokenizer can produce, in its vocabulary or as a special token.
fn largest_token(tokenizer: &Tokenizer) -> u32 {
    let special = encode(tokenizer, "");
    let special = special.iter().flat_map(|encoding| encoding.get_ids());
    tokenizer
        .get_vocab(true)
        .values()
        .chain(special)
        .copied()
        .max()
        .unwrap_or(0)
}
