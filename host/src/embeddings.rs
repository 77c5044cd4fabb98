//! Sentence embeddings of a corpus in one safetensors file.

use safetensors::tensor::Dtype;
use serde::Serialize;

use crate::corpus::CorpusDocument;
use crate::encoder::{Encoder, EncoderIdentity, encode_all};
use crate::error::Result;
use crate::mechanism;
use crate::output::{AtomicFile, Tensor, write_tensors};
use crate::progress::Progress;

/// The embeddings of the sentences of some documents.
#[derive(Clone, Debug)]
pub struct Embeddings {
    /// The encoder.
    pub encoder: EncoderIdentity,
    /// d.
    pub dimension: usize,
    /// `[sentences][d]`, row-major, documents one after the other.
    pub rows: Vec<f32>,
    /// `[documents + 1]`: the sentences of document i are rows `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<u64>,
    /// `[documents]`.
    pub ids: Vec<String>,
    /// `[documents]`.
    pub labels: Vec<Option<String>>,
}

#[derive(Serialize)]
struct Description<'a> {
    encoder: &'a str,
    encoder_digest: String,
    ids: &'a [String],
    labels: &'a [Option<String>],
}

impl Embeddings {
    /// Encodes the sentences of `documents`, as many of each as enter a release.
    ///
    /// # Errors
    /// Errors of the encoder.
    pub fn of(encoder: &dyn Encoder, documents: &[CorpusDocument]) -> Result<Self> {
        let split: Vec<Vec<&str>> = documents
            .iter()
            .map(|d| mechanism::sentences(&d.text))
            .collect();
        let sentences: Vec<&str> = split.iter().flatten().copied().collect();
        let progress = Progress::new("encoding sentences", sentences.len() as u64);
        let rows = encode_all(encoder, &sentences, &progress)?;
        let mut offsets = vec![0];
        let mut end = 0;
        offsets.extend(split.iter().map(|own| {
            end += own.len() as u64;
            end
        }));
        Ok(Self {
            encoder: encoder.identity().clone(),
            dimension: encoder.dimension(),
            rows,
            offsets,
            ids: documents.iter().map(|d| d.id.clone()).collect(),
            labels: documents.iter().map(|d| d.label.clone()).collect(),
        })
    }

    /// The number of sentences.
    pub fn sentences(&self) -> usize {
        self.rows.len() / self.dimension
    }

    /// Writes tensors `embeddings` f32 `[sentences, d]` and `offsets` u64 `[documents + 1]`, and the
    /// metadata entry `undertone`: a JSON object with `encoder`, `encoder_digest`, `ids` and `labels`.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io); nothing is left behind.
    pub fn write(&self, file: AtomicFile) -> Result<()> {
        let description = Description {
            encoder: &self.encoder.name,
            encoder_digest: hex::encode(self.encoder.digest),
            ids: &self.ids,
            labels: &self.labels,
        };
        let rows: Vec<u8> = self.rows.iter().flat_map(|x| x.to_le_bytes()).collect();
        let offsets: Vec<u8> = self.offsets.iter().flat_map(|x| x.to_le_bytes()).collect();
        let tensors = [
            Tensor {
                name: "embeddings",
                dtype: Dtype::F32,
                shape: vec![self.sentences(), self.dimension],
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
