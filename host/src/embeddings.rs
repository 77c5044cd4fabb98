//! The sentences of documents with their vectors.

use safetensors::tensor::Dtype;
use serde::Serialize;

use crate::corpus::CorpusDocument;
use crate::encoder::{Encoder, EncoderIdentity, encode_all};
use crate::error::Result;
use crate::mechanism;
use crate::output::{AtomicFile, Tensor, write_tensors};
use crate::progress::Progress;
use crate::vectors::DocumentVectors;

/// The sentences of some documents, as many of each as enter a release, and their vectors.
// No Debug: the documents may be private.
pub struct Embeddings<'a> {
    documents: &'a [CorpusDocument],
    encoder: EncoderIdentity,
    dimension: usize,
    /// Documents one after the other.
    sentences: Vec<&'a str>,
    /// `[sentences][dimension]`, row-major.
    rows: Vec<f32>,
    /// `[documents + 1]`: the sentences of document i are `offsets[i]..offsets[i + 1]`.
    offsets: Vec<usize>,
}

#[derive(Serialize)]
struct Description<'a> {
    encoder: &'a str,
    encoder_digest: String,
    ids: Vec<&'a str>,
    labels: Vec<Option<&'a str>>,
}

impl<'a> Embeddings<'a> {
    /// Encodes the sentences of `documents`; `progress` makes the bar for their number.
    ///
    /// # Errors
    /// Errors of the encoder.
    pub fn of(
        encoder: &dyn Encoder,
        documents: &'a [CorpusDocument],
        progress: impl FnOnce(u64) -> Progress,
    ) -> Result<Self> {
        let mut sentences = Vec::new();
        let mut offsets = vec![0];
        for document in documents {
            sentences.extend(mechanism::sentences(&document.text));
            offsets.push(sentences.len());
        }
        let rows = encode_all(encoder, &sentences, &progress(sentences.len() as u64))?;
        Ok(Self {
            documents,
            encoder: encoder.identity().clone(),
            dimension: encoder.dimension(),
            sentences,
            rows,
            offsets,
        })
    }

    /// All sentences, documents one after the other.
    pub fn sentences(&self) -> &[&'a str] {
        &self.sentences
    }

    /// The vectors of all sentences, `[sentences][dimension]`, row-major.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// Each document with its sentences and their vectors, row-major.
    pub fn by_document(&self) -> impl Iterator<Item = (&'a CorpusDocument, &[&'a str], &[f32])> {
        let ranges = self.offsets.windows(2).map(|pair| pair[0]..pair[1]);
        self.documents.iter().zip(ranges).map(|(document, own)| {
            let rows = own.start * self.dimension..own.end * self.dimension;
            (document, &self.sentences[own], &self.rows[rows])
        })
    }

    /// d.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// A copy of the vectors, without the text.
    pub fn vectors(&self) -> DocumentVectors {
        DocumentVectors::new(self.dimension, self.rows.clone(), self.offsets.clone())
    }

    /// The vectors without the text.
    pub fn into_vectors(self) -> DocumentVectors {
        DocumentVectors::new(self.dimension, self.rows, self.offsets)
    }

    /// Writes tensors `embeddings` f32 `[sentences, d]` and `offsets` u64 `[documents + 1]` (the
    /// sentences of document i are rows `offsets[i]..offsets[i + 1]`), and the metadata entry
    /// `undertone`: a JSON object with `encoder`, `encoder_digest`, `ids` and `labels`.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io); nothing is left behind.
    pub fn write(&self, file: AtomicFile) -> Result<()> {
        let description = Description {
            encoder: &self.encoder.name,
            encoder_digest: hex::encode(self.encoder.digest),
            ids: self.documents.iter().map(|d| d.id.as_str()).collect(),
            labels: self.documents.iter().map(|d| d.label.as_deref()).collect(),
        };
        let rows: Vec<u8> = self.rows.iter().flat_map(|x| x.to_le_bytes()).collect();
        let offsets: Vec<u8> = self
            .offsets
            .iter()
            .flat_map(|x| (*x as u64).to_le_bytes())
            .collect();
        let tensors = [
            Tensor {
                name: "embeddings",
                dtype: Dtype::F32,
                shape: vec![self.sentences.len(), self.dimension],
                bytes: &rows,
            },
            Tensor {
                name: "offsets",
                dtype: Dtype::U64,
                shape: vec![self.offsets.len()],
                bytes: &offsets,
            },
        ];
        write_tensors(file, &tensors, &description)
    }
}
