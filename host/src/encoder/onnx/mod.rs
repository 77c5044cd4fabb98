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

use self::layout::{INNER, Layout};
use self::ort::OrtEngine;
use self::rten::RtenEngine;
use super::{Encoder, EncoderIdentity, RUNTIME_VARIABLE, each_alone};
use crate::error::{Error, Result};
use crate::files::foreign;
use crate::progress::Progress;

const MODEL: &str = "model.onnx";
/// The folder into which sentence-transformers exports models.
const FOLDER: &str = "onnx";
const TOKENIZER: &str = "tokenizer.json";

/// The longest sentence in tokens if no file states one.
const DEFAULT_TOKENS: usize = 512;

/// The most tokens of public sentences per run of the model. More is not faster.
const BATCH_TOKENS: usize = 256;

/// The names of the output with one vector per token, by exporter.
const TOKEN_OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

/// The engine that runs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// The built-in engine, pure Rust.
    Rten,
    /// ONNX Runtime 1.17 or newer, loaded from this shared library. A process can load only one.
    OnnxRuntime(PathBuf),
}

impl Runtime {
    /// Chooses ONNX Runtime from `library`, or else from the environment variable `ORT_DYLIB_PATH`,
    /// or else [`Rten`](Self::Rten). An empty path counts as absent.
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
/// The vector of a sentence is pooled from the vectors of its tokens, special tokens included. The
/// files of sentence-transformers beside the model or above it determine how:
/// `modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json` and the default prompt of
/// `config_sentence_transformers.json`. Unsupported modules and poolings are refused by name, and
/// modules without their files. Without any of these files the vector is the mean, summed in the
/// order of the tokens and not normalised. A sentence without tokens has the zero vector. Sentences
/// are truncated to the `max_seq_length` of these files, or else to the limit of `tokenizer.json`,
/// or else to 512 tokens; there is no padding.
///
/// The model's inputs are `input_ids`, `attention_mask` and optionally `token_type_ids`. Its output
/// is `last_hidden_state`, `token_embeddings`, or else its only output of three dimensions; exports
/// that pool or normalise usually still have one of these. The axes of sentences and tokens must be
/// dynamic.
///
/// The name of its identity is that of the folder, plus that of the file if it is not `model.onnx`.
/// The digest covers the loaded bytes of the model and the tokenizer, and the settings beside them
/// that affect vectors. It does not cover the engine: the two engines differ in the last bits, so
/// compare bits within one engine only. A model with weights in a second file is refused, because
/// the digest would not cover them.
///
/// # Leaks
/// Damaged files are refused. A model is a program, however, and a malicious one can take any time
/// and memory.
pub struct OnnxEncoder {
    identity: EncoderIdentity,
    dimension: usize,
    layout: Layout,
    tokenizer: Tokenizer,
    engine: Box<dyn Engine>,
    /// Whether batching preserves the bits of each sentence, once it was tested.
    batches: OnceLock<bool>,
}

impl OnnxEncoder {
    /// Opens a folder with `model.onnx` or `onnx/model.onnx`, or a model file. `tokenizer.json` is
    /// beside the model or one folder up. `library` is the shared library of ONNX Runtime, see
    /// [`Runtime::choose`].
    ///
    /// # Errors
    /// See [`open_with`](Self::open_with).
    pub fn open(folder_or_model: &Path, library: Option<&Path>) -> Result<Self> {
        Self::open_with(folder_or_model, &Runtime::choose(library))
    }

    /// [`open`](Self::open) with a given engine.
    ///
    /// Runs the model twice on one or two tokens, so that most faults are found here and not in the
    /// middle of a corpus.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) and
    /// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder).
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
            let tokenizer = files.tokenizer.display();
            Error::encoder(format!("cannot use the tokenizer `{tokenizer}`: {problem}"))
        })?;

        let engine_name = match runtime {
            Runtime::Rten => RtenEngine::NAME,
            Runtime::OnnxRuntime(_) => OrtEngine::NAME,
        };
        let wrong_model = |problem| {
            let model = files.model.display();
            let fault = format!("cannot use the model `{model}` with {engine_name}: {problem}");
            Error::encoder(fault)
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
            Error::encoder(format!(
                "`{}` does not fit the model `{}`: the model fails on the tokenizer's \
                 token number {largest} ({problem}); take both files from the same export",
                files.tokenizer.display(),
                files.model.display()
            ))
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

    /// Returns the tokens of `sentence` that the model gets, after truncation.
    ///
    /// # Leaks
    /// The tokens are as private as the sentence, which also decides whether there is an error.
    ///
    /// # Shapes
    /// `sentence`: any string.
    ///
    /// # Errors
    /// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) if the tokenizer fails, for example
    /// on a word for which it has no token.
    ///
    /// # Cost
    /// Linear in the sentence with most tokenizers.
    pub fn token_ids(&self, sentence: &str) -> Result<Vec<u32>> {
        Ok(self.tokens(sentence)?.ids)
    }

    fn tokens(&self, sentence: &str) -> Result<Batch> {
        // The tokenizer's own message is not passed on, because it could quote the sentence.
        let mut text = Cow::Borrowed(sentence);
        if !self.layout.prompt.is_empty() {
            text = Cow::Owned(format!("{}{text}", self.layout.prompt));
        }
        if self.layout.lower_case {
            text = Cow::Owned(text.to_lowercase());
        }
        let encoding = encode(&self.tokenizer, &text)
            .ok_or_else(|| self.failure(sentence, "the tokenizer has no token for a part of it"))?;
        let (ids, type_ids) = (encoding.get_ids(), encoding.get_type_ids());
        Ok(Batch::one(ids.to_vec(), type_ids.to_vec()))
    }

    /// Returns the vectors of a batch, one row per sentence.
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

    /// Returns whether batching preserves the bits of each sentence.
    ///
    /// With floating point it does on both engines: each row of a product is summed in one order,
    /// however many rows there are. A model that quantises its activations takes their range from
    /// the whole batch. No file states this, so it is tested with made-up tokens, in small and in
    /// full batches.
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
            // A failure recurs with a sentence, and is reported then.
            [(2, 3), (5, 7), (8, 32)]
                .into_iter()
                .all(|(sentences, tokens)| same(sentences, tokens).unwrap_or(false))
        })
    }

    fn failure(&self, sentence: &str, problem: impl std::fmt::Display) -> Error {
        Error::encoder(format!(
            "cannot encode a sentence of {} bytes with `{}`: {problem}",
            sentence.len(),
            self.identity.name
        ))
    }
}

/// Scales a vector to length 1, unless it is nearly zero, as PyTorch does.
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
            let name = &self.identity.name;
            return Err(Error::wrong_dimension(name, self.dimension, out.len()));
        }
        let row = self.rows(&self.tokens(sentence)?);
        out.copy_from_slice(&row.map_err(|problem| self.failure(sentence, problem))?);
        Ok(())
    }

    /// Batches sentences with the same number of tokens, up to 256 tokens per run of the model.
    /// Nothing is padded, so the bits equal those of [`encode`](Encoder::encode). Models that
    /// quantise their activations would return other bits in a batch, so they get one sentence at a
    /// time.
    ///
    /// # Leaks
    /// See the trait.
    ///
    /// # Shapes
    /// See the trait.
    ///
    /// # Errors
    /// See the trait.
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
        // Longest first, so that threads end at about the same time.
        let mut order: Vec<usize> = (0..sentences.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(length(index)));
        let batches: Vec<&[usize]> = order
            .chunk_by(|a, b| length(a) == length(b))
            .flat_map(|same| same.chunks((BATCH_TOKENS / length(&same[0]).max(1)).max(1)))
            .collect();
        let encoded = batches.par_iter().with_max_len(1).map(|batch| {
            let together = Batch::together(batch.iter().map(|&index| &tokens[index]));
            let rows = self.rows(&together).or_else(|_| {
                // Encode each alone, so that the error names the sentence that caused it.
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

/// Sentences with the same number of tokens. None is padded, so the attention mask is 1 everywhere.
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

    /// Joins batches with the same number of tokens.
    fn together<'a>(batches: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let ids = batches.clone().flat_map(|batch| &batch.ids);
        Self {
            sentences: batches.clone().map(|batch| batch.sentences).sum(),
            ids: ids.copied().collect(),
            type_ids: batches.flat_map(|batch| &batch.type_ids).copied().collect(),
        }
    }

    /// The number of tokens per sentence.
    fn tokens(&self) -> usize {
        self.ids.len() / self.sentences
    }

    /// The shape of a model's inputs: sentences, tokens.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.sentences, self.tokens()]
    }
}

/// One vector per token, row by row.
pub(super) struct HiddenStates {
    dimension: usize,
    values: Vec<f32>,
}

impl HiddenStates {
    /// Checks the shape of a model's output against the sentences and tokens of its input.
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

/// Runs the neural network. Errors are sentences without a path, which the caller adds.
pub(super) trait Engine: Send + Sync {
    /// Returns the vectors of the tokens. Called from many threads; the bits depend only on
    /// `batch`.
    fn run(&self, batch: &Batch) -> Result<HiddenStates, String>;
}

/// Refuses a model whose inputs are not those of a sentence encoder. Returns whether it requires
/// token types.
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

/// Refuses inputs of fixed size. `shape` has the fixed sizes, if any, of the axes of sentences and
/// tokens.
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

/// Finds the output with one vector per token. Ranks are `None` if unknown or not of floats.
pub(super) fn token_output(outputs: &[(&str, Option<usize>)]) -> Result<usize, String> {
    let place = |wanted| outputs.iter().position(|(name, _)| *name == wanted);
    if let Some(index) = TOKEN_OUTPUTS.into_iter().find_map(place) {
        return Ok(index);
    }
    let mut candidates = (0..outputs.len()).filter(|&index| outputs[index].1 == Some(3));
    match (candidates.next(), candidates.next()) {
        (Some(index), None) => Ok(index),
        _ => Err(format!(
            "its outputs are {}; wanted is {} or exactly one output of three dimensions, so \
             export the model without pooling",
            list(&outputs.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
            TOKEN_OUTPUTS.join(", ")
        )),
    }
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        _ => names.join(", "),
    }
}

/// The paths of an encoder's two files.
struct Files {
    model: PathBuf,
    tokenizer: PathBuf,
}

impl Files {
    fn find(given: &Path) -> Result<Self> {
        let mut model = given.to_owned();
        if given.is_dir() {
            let (beside, below) = (given.join(MODEL), given.join(FOLDER).join(MODEL));
            let is_below = below.exists() && !beside.exists();
            model = if is_below { below } else { beside };
        }
        let mut tokenizer = model.with_file_name(TOKENIZER);
        if let Some(above) = folders(&model).1.map(|above| above.join(TOKENIZER))
            && above.exists()
            && !tokenizer.exists()
        {
            tokenizer = above;
        }
        for file in [&model, &tokenizer] {
            if !file.exists() {
                return Err(Error::encoder(format!(
                    "no sentence encoder at `{}`: the file `{}` does not exist; give a \
                     folder with model.onnx or onnx/model.onnx, or a .onnx file, and \
                     tokenizer.json beside the model or one folder up",
                    given.display(),
                    file.display()
                )));
            }
        }
        Ok(Self { model, tokenizer })
    }

    /// Reads the files of sentence-transformers beside the model or one folder up, or two up from
    /// a folder in `onnx` or `0_Transformer`.
    fn layout(&self) -> Result<Layout> {
        let (folder, above) = folders(&self.model);
        let top = above.as_deref().filter(|above| {
            let is_inner = |folder: &Path| folder.ends_with(FOLDER) || folder.ends_with(INNER);
            is_inner(above) || folder.as_deref().is_some_and(is_inner)
        });
        let top = top.and_then(Path::parent).map(Path::to_owned);
        let folders: Vec<PathBuf> = folder.into_iter().chain(above).chain(top).collect();
        let found = Layout::find(&folders);
        found.map_or_else(|| Ok(Layout::default()), Layout::read)
    }

    /// Only the last parts of the path, because a pack that names its encoder must not reveal where
    /// it was stored.
    fn name(&self) -> String {
        // Canonical, because "." has no name.
        let model = self.model.canonicalize();
        let model = model.unwrap_or_else(|_| self.model.clone());
        let part = |path: Option<&Path>| {
            let name = path.and_then(Path::file_name).unwrap_or_default();
            name.to_string_lossy().into_owned()
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

/// Returns the folder of a file and its parent, without resolving links: a file may be a link into
/// a cache.
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
    // Not `from_bytes`, a generic function that would compile the crate's whole format again in
    // here.
    let json = str::from_utf8(foreign::without_mark(json)).map_err(|error| error.to_string())?;
    // The crate panics on some missing fields.
    panic::catch_unwind(|| json.parse::<Tokenizer>())
        .map_err(|_| "a part of it is not what its type says".to_owned())?
        .map_err(|error| error.to_string())
}

/// Reads `tokenizer.json`, and makes it accept every sentence: no padding, and a valid truncation.
fn load_tokenizer(json: &[u8], max_tokens: Option<usize>) -> Result<Tokenizer, String> {
    let mut tokenizer = read_tokenizer(json)?;
    let written = tokenizer.get_truncation();
    let written_length = written.map(|written| written.max_length);
    let max_length = max_tokens.or(written_length).unwrap_or(DEFAULT_TOKENS);
    let direction = written.map(|written| written.direction).unwrap_or_default();
    let special = tokenizer
        .get_post_processor()
        .map_or(0, |processor| processor.added_tokens(false));
    // The crate subtracts one from the other unchecked.
    if max_length <= special {
        return Err(format!(
            "sentences are cut at {max_length} tokens, of which {special} are special tokens, so no text is \
             left; set truncation.max_length, or max_seq_length of sentence-transformers, to what the model \
             was trained with"
        ));
    }
    // The stride concerns the truncated parts, and the strategy pairs of texts. Both are fixed
    // here, because some values make a long sentence an error.
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

/// Tokenizes a text. With some files, the crate panics here and not when it reads them.
pub(crate) fn encode(tokenizer: &Tokenizer, text: &str) -> Option<Encoding> {
    // The tokenizer's only state between calls is a cache.
    let encode = AssertUnwindSafe(|| tokenizer.encode_fast(text, true));
    panic::catch_unwind(encode).ok()?.ok()
}

/// The largest number that the tokenizer can produce, in its vocabulary or as a special token.
fn largest_token(tokenizer: &Tokenizer) -> u32 {
    let special = encode(tokenizer, "");
    let special = special.iter().flat_map(|encoding| encoding.get_ids());
    let vocabulary = tokenizer.get_vocab(true);
    let largest = vocabulary.values().chain(special).max();
    largest.copied().unwrap_or(0)
}
