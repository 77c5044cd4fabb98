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
    /// Documents one after the other.
    sentences: Vec<&'a str>,
    vectors: DocumentVectors,
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
            sentences,
            vectors: DocumentVectors::new(encoder.dimension(), rows, offsets),
        })
    }

    /// All sentences, documents one after the other.
    pub fn sentences(&self) -> &[&'a str] {
        &self.sentences
    }

    /// Each document with its sentences and their vectors, row-major.
    pub fn by_document(&self) -> impl Iterator<Item = (&'a CorpusDocument, &[&'a str], &[f32])> {
        self.documents.iter().enumerate().map(|(index, document)| {
            let sentences = &self.sentences[self.vectors.range(index)];
            (document, sentences, self.vectors.document(index))
        })
    }

    /// The vectors of the sentences, document by document.
    pub fn vectors(&self) -> &DocumentVectors {
        &self.vectors
    }

    /// The vectors without the text.
    pub fn into_vectors(self) -> DocumentVectors {
        self.vectors
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
        let rows: Vec<u8> = self
            .vectors
            .rows()
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let offsets: Vec<u8> = self
            .vectors
            .offsets()
            .iter()
            .flat_map(|x| (*x as u64).to_le_bytes())
            .collect();
        let tensors = [
            Tensor {
                name: "embeddings",
                dtype: Dtype::F32,
                shape: vec![self.sentences.len(), self.vectors.dimension()],
                bytes: &rows,
            },
            Tensor {
                name: "offsets",
                dtype: Dtype::U64,
                shape: vec![self.documents.len() + 1],
                bytes: &offsets,
            },
        ];
        write_tensors(file, &tensors, &description)
    }
}
