//! Lexicons made from the static embeddings of other projects.
//!
//! [model2vec](https://github.com/MinishLab/model2vec) writes a folder with two files:
//! `tokenizer.json`, with a vocabulary of WordPiece, Unigram, BPE or whole words, and
//! `model.safetensors` with these tensors:
//!
//! | tensor | content |
//! | --- | --- |
//! | `embeddings`, or `embedding.weight` in sentence-transformers | `[rows][d]` of f16, f32, f64 or i8 |
//! | `mapping`, optional | `[tokens]` of i32 or i64: the row of each token; without it, row = token |
//! | `weights`, optional | `[tokens]` of f16, f32 or f64: the weight of each token; without it, 1 |
//!
//! Tokens become entries that are [matched by longest
//! match](undertone_core::lexicon::Matching::Longest), as in WordPiece; the other tokenizers split
//! similarly. Tokens with punctuation have no entry. A device lower-cases every text, so a token
//! with capitals counts only if its lower-cased form is missing. If the tokenizer strips accents,
//! accented words are split into pieces.

use std::collections::HashMap;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use tokenizers::models::ModelWrapper;
use tokenizers::{Decoder, DecoderWrapper, Tokenizer};
use undertone_core::lexicon::piece;

use crate::corpus::CorpusDocument;
use crate::encoder::onnx;
use crate::error::{Error, Result};
use crate::files::foreign;
use crate::lexicon::pieces::Pieces;
use crate::lexicon::word_vectors::{SPACE, fail, half, writes_spaces};

/// Static embeddings of a tokenizer's vocabulary.
pub struct Model {
    name: String,
    tokenizer: Tokenizer,
    /// Entries with their tokens, in the order of the vocabulary.
    entries: Vec<(String, u32)>,
    tensors: Tensors,
    /// The number of occurrences of each token in corpora.
    counts: HashMap<u32, u64>,
}

/// The content of `model.safetensors`.
struct Tensors {
    /// `[rows][dimension]`.
    embeddings: Vec<f32>,
    dimension: usize,
    mapping: Option<Vec<usize>>,
    weights: Option<Vec<f32>>,
}

impl Model {
    /// Reads a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a file that does not match the
    /// [module](self) description, a number that is not finite, or a vocabulary without a usable
    /// token.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let read = |file: &str| {
            let path = folder.join(file);
            let bytes = foreign::read(&path)?;
            Ok::<_, Error>((path, bytes))
        };
        let (path, json) = read("tokenizer.json")?;
        let mut tokenizer = onnx::read_tokenizer(&json).map_err(fail(&path))?;
        tokenizer.with_padding(None);
        let whole = tokenizer.with_truncation(None);
        whole.map_err(|error| fail(&path)(error.to_string()))?;
        let entries = entries(&tokenizer);
        if entries.is_empty() {
            let problem = "it has no token that is a word or a piece of one";
            return Err(fail(&path)(problem.into()));
        }
        let (path, bytes) = read("model.safetensors")?;
        let tensors = Tensors::read(&bytes).map_err(fail(&path))?;
        let lacks_row = |(_, token): &&(String, u32)| tensors.row(*token).is_none();
        if let Some((entry, token)) = entries.iter().find(lacks_row) {
            return Err(fail(&path)(format!(
                "no row for \"{entry}\", token {token} of the tokenizer"
            )));
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            tokenizer,
            entries,
            tensors,
            counts: HashMap::new(),
        })
    }

    /// Counts the tokens of a public document, which sets the order of [`pieces`](Model::pieces).
    pub fn count(&mut self, document: &CorpusDocument) {
        let encoding = onnx::encode(&self.tokenizer, &document.text);
        for token in encoding.iter().flat_map(|encoding| encoding.get_ids()) {
            *self.counts.entry(*token).or_default() += 1;
        }
    }

    /// The number of coordinates of the embeddings.
    pub fn dimension(&self) -> usize {
        self.tensors.dimension
    }

    /// Returns the entries with their vectors, those with the most counted occurrences first. Ties
    /// stay in the order of the vocabulary, which most tokenizers sort by frequency.
    pub fn pieces(&self) -> Pieces {
        let count = |token: u32| self.counts.get(&token).copied().unwrap_or(0);
        let mut entries: Vec<&(String, u32)> = self.entries.iter().collect();
        entries.sort_by_key(|(_, token)| std::cmp::Reverse(count(*token)));
        let weights = self.tensors.weights.as_deref().unwrap_or_default();
        let largest = weights.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let weight = |token: u32| match weights.get(token as usize) {
            None => u16::MAX,
            Some(weight) => (weight / largest * f32::from(u16::MAX)).round().max(1.0) as u16,
        };
        let rows = entries
            .iter()
            .filter_map(|(_, token)| self.tensors.row(*token));
        let weighted = entries
            .iter()
            .map(|(entry, token)| (entry.clone(), weight(*token)));
        Pieces {
            name: self.name.clone(),
            vectors: rows.flatten().copied().collect(),
            entries: weighted.collect(),
            dimension: self.tensors.dimension,
        }
    }
}

/// How a vocabulary marks the tokens that continue a word.
enum Continuation {
    /// Tokens are bytes written as characters; those that start a word begin with a space.
    Bytes(DecoderWrapper),
    /// Tokens that start a word begin with [`SPACE`].
    Space,
    /// Tokens that continue a word begin with this prefix.
    Prefix(String),
    /// Tokens are whole words.
    Never,
}

impl Continuation {
    fn of(tokenizer: &Tokenizer, vocabulary: &[(String, u32)]) -> Self {
        let of_bytes = |decoder: &&DecoderWrapper| matches!(decoder, DecoderWrapper::ByteLevel(_));
        let decoder = tokenizer.get_decoder();
        let decoders = match decoder {
            Some(DecoderWrapper::Sequence(sequence)) => sequence.get_decoders(),
            _ => decoder.map(std::slice::from_ref).unwrap_or_default(),
        };
        if let Some(decoder) = decoders.iter().find(of_bytes) {
            return Self::Bytes(decoder.clone());
        }
        let is_word_piece = matches!(tokenizer.get_model(), ModelWrapper::WordPiece(_));
        let tokens = vocabulary.iter().map(|(token, _)| token.as_str());
        // WordPiece marks continuations by a prefix, so its tokens may contain `SPACE` as text.
        if !is_word_piece && writes_spaces(tokens) {
            return Self::Space;
        }
        let prefix = match tokenizer.get_model() {
            ModelWrapper::WordPiece(model) => Some(model.continuing_subword_prefix.clone()),
            ModelWrapper::BPE(model) => model.continuing_subword_prefix.clone(),
            ModelWrapper::WordLevel(_) | ModelWrapper::Unigram(_) => None,
        };
        match prefix {
            Some(prefix) if !prefix.is_empty() => Self::Prefix(prefix),
            _ => Self::Never,
        }
    }

    /// Returns the text of a token, and whether it continues a word.
    fn split(&self, token: &str) -> (String, bool) {
        let after = |space: char, text: &str| {
            let own = text.strip_prefix(space);
            (own.unwrap_or(text).to_owned(), own.is_none())
        };
        match self {
            Self::Bytes(decoder) => {
                let text = decoder.decode_chain(vec![token.to_owned()]);
                after(' ', &text.unwrap_or_default().concat())
            }
            Self::Space => after(SPACE, token),
            Self::Prefix(prefix) => {
                let own = token.strip_prefix(prefix.as_str());
                (own.unwrap_or(token).to_owned(), own.is_some())
            }
            Self::Never => (token.to_owned(), false),
        }
    }
}

/// Returns the entries of a vocabulary with their tokens, in its order.
fn entries(tokenizer: &Tokenizer) -> Vec<(String, u32)> {
    let added = tokenizer.get_added_tokens_decoder();
    let is_special = |id: &u32| added.get(id).is_some_and(|token| token.special);
    let mut vocabulary: Vec<(String, u32)> = tokenizer.get_vocab(true).into_iter().collect();
    vocabulary.retain(|(_, id)| !is_special(id));
    vocabulary.sort_unstable_by_key(|(_, id)| *id);
    let continuation = Continuation::of(tokenizer, &vocabulary);
    let mut entries: Vec<(String, u32)> = Vec::new();
    // The place of each entry, and whether its token is written like it.
    let mut places: HashMap<String, (usize, bool)> = HashMap::new();
    for (token, id) in vocabulary {
        let (text, continues) = continuation.split(&token);
        let Some(entry) = piece(&text, continues) else {
            continue;
        };
        let exact = entry.ends_with(&text);
        let entry = entry.as_str().to_owned();
        match places.get_mut(&entry) {
            None => {
                places.insert(entry.clone(), (entries.len(), exact));
                entries.push((entry, id));
            }
            Some((place, known)) if exact && !*known => {
                (entries[*place].1, *known) = (id, true);
            }
            Some(_) => {}
        }
    }
    entries
}

impl Tensors {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
        let one = |names: &[&str]| names.iter().find_map(|name| tensors.tensor(name).ok());
        let embeddings = one(&["embeddings", "embedding.weight"])
            .ok_or("it has neither a tensor \"embeddings\" nor \"embedding.weight\"")?;
        let dimension = match *embeddings.shape() {
            [_, dimension] if dimension > 0 => dimension,
            ref other => {
                let wanted = "wanted are rows and coordinates";
                return Err(format!("the embeddings have the shape {other:?}; {wanted}"));
            }
        };
        let mapping = one(&["mapping"]).map(|tensor| integers(&tensor));
        let weights = one(&["weights"]).map(|tensor| numbers(&tensor));
        Ok(Self {
            mapping: mapping.transpose()?,
            weights: weights.transpose()?,
            embeddings: numbers(&embeddings)?,
            dimension,
        })
    }

    /// Returns the embedding of a token.
    fn row(&self, token: u32) -> Option<&[f32]> {
        let token = token as usize;
        let row = match &self.mapping {
            Some(mapping) => *mapping.get(token)?,
            None => token,
        };
        if let Some(weights) = &self.weights {
            weights.get(token)?;
        }
        let start = row.checked_mul(self.dimension)?;
        self.embeddings.get(start..)?.get(..self.dimension)
    }
}

/// Returns the elements of a tensor as f32, all finite.
fn numbers(tensor: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let data = tensor.data();
    let numbers: Vec<f32> = match tensor.dtype() {
        Dtype::I8 => data.iter().map(|x| f32::from(x.cast_signed())).collect(),
        Dtype::F16 => elements(data, |x| half(u16::from_le_bytes(x))),
        Dtype::F32 => elements(data, f32::from_le_bytes),
        Dtype::F64 => elements(data, |x| f64::from_le_bytes(x) as f32),
        other => {
            return Err(format!(
                "a tensor of {other}; wanted is F16, F32, F64 or I8"
            ));
        }
    };
    match numbers.iter().find(|x| !x.is_finite()) {
        Some(odd) => Err(format!("a tensor has the number {odd}; all must be finite")),
        None => Ok(numbers),
    }
}

/// Returns the elements of a tensor of indices.
fn integers(tensor: &TensorView<'_>) -> Result<Vec<usize>, String> {
    let data = tensor.data();
    let integers: Vec<i64> = match tensor.dtype() {
        Dtype::I32 => elements(data, |x| i32::from_le_bytes(x).into()),
        Dtype::I64 => elements(data, i64::from_le_bytes),
        other => {
            let wanted = "wanted is I32 or I64";
            return Err(format!("the tensor \"mapping\" is of {other}; {wanted}"));
        }
    };
    let places = integers.into_iter().map(usize::try_from);
    let places: Result<Vec<usize>, _> = places.collect();
    places.map_err(|_| "the tensor \"mapping\" has a number below 0".to_owned())
}

fn elements<const N: usize, T>(data: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    let chunks = data.as_chunks().0.iter();
    chunks.map(|bytes| convert(*bytes)).collect()
}
