//! Documents split into sentences, with the vectors of the sentences.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::corpus::{CorpusDocument, batches_of};
use crate::encoder::vectors::DocumentVectors;
use crate::encoder::{Encoder, check_finite};
use crate::error::{Error, Result};
use crate::files::atomic::{AtomicFile, DESCRIPTION};
use crate::files::resume::Encoding;
use crate::progress::Progress;

/// The most public documents that are encoded together. A neural encoder runs sentences of equal
/// length at once, and many documents have more of each length.
const ENCODED_TOGETHER: usize = 1024;

/// The sentences of some documents that enter a release, and their vectors.
// No Debug: the documents may be private.
pub struct Embeddings<'a> {
    /// All sentences, document by document.
    pub sentences: Vec<&'a str>,
    /// The vectors of the sentences, document by document.
    pub vectors: DocumentVectors,
}

impl<'a> Embeddings<'a> {
    /// Encodes the sentences of public `documents`; `progress` creates a bar of their number.
    ///
    /// # Errors
    /// Errors of the encoding.
    pub fn encode(
        encoding: &mut Encoding<'_>,
        documents: &'a [CorpusDocument],
        progress: impl FnOnce(u64) -> Progress,
    ) -> Result<Self> {
        let split = split(encoding.encoder(), documents);
        let progress = progress(split.0.len() as u64);
        Self::of_split(encoding, split, &progress)
    }

    fn of_split(
        encoding: &mut Encoding<'_>,
        (sentences, offsets): (Vec<&'a str>, Vec<usize>),
        progress: &Progress,
    ) -> Result<Self> {
        let rows = encoding.rows(&sentences, progress)?;
        Ok(Self {
            sentences,
            vectors: DocumentVectors::new(encoding.encoder().dimension(), rows, offsets),
        })
    }
}

/// Splits documents into sentences, document by document, and returns the offsets of each document.
fn split<'t>(encoder: &dyn Encoder, documents: &'t [CorpusDocument]) -> (Vec<&'t str>, Vec<usize>) {
    let split = documents.par_iter();
    let split: Vec<Vec<&str>> = split.map(|own| encoder.split(&own.text)).collect();
    let mut sentences = Vec::new();
    let mut offsets = vec![0];
    for own in split {
        sentences.extend(own);
        offsets.push(sentences.len());
    }
    (sentences, offsets)
}

/// Documents, from a file or from memory.
pub type Documents<'a> = Box<dyn Iterator<Item = Result<CorpusDocument>> + 'a>;

/// A public corpus with the vectors of its sentences. It can be read in several passes and keeps
/// one batch of documents in memory.
pub struct Encoded<'a> {
    name: PathBuf,
    open: Box<dyn Fn() -> Result<Documents<'a>> + 'a>,
    encoding: Encoding<'a>,
    first: Option<Passed>,
}

/// Statistics of one pass through a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The number of documents.
    pub documents: usize,
    /// The number of their sentences.
    pub sentences: usize,
    /// A digest of all content that affects the result.
    digest: [u8; 32],
}

impl<'a> Encoded<'a> {
    /// Creates a corpus from the documents that `open` returns, which must be the same each time.
    /// Errors call it `name`.
    pub fn new<D>(
        name: impl Into<PathBuf>,
        encoding: Encoding<'a>,
        open: impl Fn() -> Result<D> + 'a,
    ) -> Self
    where
        D: Iterator<Item = Result<CorpusDocument>> + 'a,
    {
        Self {
            name: name.into(),
            open: Box::new(move || Ok(Box::new(open()?))),
            encoding,
            first: None,
        }
    }

    /// The encoding.
    pub fn encoding(&mut self) -> &mut Encoding<'a> {
        &mut self.encoding
    }

    /// Returns the documents without vectors.
    ///
    /// # Errors
    /// Errors of opening them, such as [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn documents(&self) -> Result<Documents<'a>> {
        (self.open)()
    }

    /// Passes through all documents once: `each` gets a document, its sentences and their row-major
    /// vectors.
    ///
    /// # Errors
    /// Errors of the corpus, the encoding and `each`;
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if the corpus differs from the previous
    /// pass.
    pub fn pass(
        &mut self,
        mut each: impl FnMut(&CorpusDocument, &[&str], &[f32]) -> Result<()>,
    ) -> Result<Passed> {
        self.encoding.rewind();
        // The number of sentences is known from the second pass on.
        let total = self.first.map_or(0, |first| first.sentences as u64);
        let progress = Progress::new("encoding sentences", total);
        let mut hash = Sha256::new();
        let (mut documents, mut sentences) = (0, 0);
        for batch in batches_of(ENCODED_TOGETHER, (self.open)()?) {
            let batch = batch?;
            for document in &batch {
                let label = document.label.as_deref();
                hash.update([u8::from(label.is_some())]);
                for field in [&document.id, label.unwrap_or_default(), &document.text] {
                    hash.update((field.len() as u64).to_le_bytes());
                    hash.update(field);
                }
            }
            let split = split(self.encoding.encoder(), &batch);
            let encoded = Embeddings::of_split(&mut self.encoding, split, &progress)?;
            let vectors = &encoded.vectors;
            documents += batch.len();
            sentences += encoded.sentences.len();
            for (index, document) in batch.iter().enumerate() {
                let sentences = &encoded.sentences[vectors.range(index)];
                each(document, sentences, vectors.document(index))?;
            }
        }
        let passed = Passed {
            documents,
            sentences,
            digest: hash.finalize().into(),
        };
        match self.first.replace(passed) {
            Some(first) if first != passed => Err(self.changed()),
            _ => Ok(passed),
        }
    }

    /// The error for a corpus that changed between passes.
    pub(crate) fn changed(&self) -> Error {
        Error::input(format!(
            "`{}` changed while it was read; run the command again and leave the \
             file alone",
            self.name.display()
        ))
    }

    /// Removes the stored encoding once the output is complete.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn finish(self) -> Result<()> {
        self.encoding.finish()
    }

    /// Writes a safetensors file with tensors `embeddings` f32 `[sentences, d]` and `offsets` u64
    /// `[documents + 1]` (the sentences of document i are rows `offsets[i]..offsets[i + 1]`), and
    /// the metadata entry `undertone`: a JSON object with `encoder`, `encoder_digest`, `ids` and
    /// `labels`.
    ///
    /// Makes two passes. Memory holds offsets, ids and labels, which are in the header of the file.
    /// Headers are limited to 100 MB, because programs do not read larger ones.
    ///
    /// # Errors
    /// The errors of [`pass`](Self::pass);
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument);
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io), and then no file is left.
    pub fn write(&mut self, path: &Path) -> Result<Passed> {
        const LARGEST_HEAD: usize = 100_000_000;
        let (mut ids, mut labels) = (String::new(), String::new());
        let mut offsets = 0u64.to_le_bytes().to_vec();
        let mut end = 0u64;
        let mut documents = 0;
        let fits = |documents, found| {
            if found > LARGEST_HEAD {
                Err(Error::argument(format!(
                    "the ids and labels of {documents} documents take {found} bytes in the head of \
                     `{}`, and programs read at most {LARGEST_HEAD}; encode fewer documents a file \
                     with ⟨limit⟩",
                    path.display()
                )))
            } else {
                Ok(())
            }
        };
        let encoder = self.encoding.encoder();
        let (identity, dimension) = (encoder.identity(), encoder.dimension());
        let passed = self.pass(|document, sentences, rows| {
            check_finite(encoder, rows, end as usize)?;
            let comma = if documents > 0 { "," } else { "" };
            ids += &format!("{comma}{}", json!(document.id));
            labels += &format!("{comma}{}", json!(document.label));
            end += sentences.len() as u64;
            offsets.extend_from_slice(&end.to_le_bytes());
            documents += 1;
            fits(documents, ids.len() + labels.len())
        })?;
        let description = format!(
            "{{\"encoder\":{},\"encoder_digest\":\"{}\",\"ids\":[{ids}],\"labels\":[{labels}]}}",
            json!(identity.name),
            hex::encode(identity.digest)
        );
        drop((ids, labels));
        let start = offsets.len();
        let stop = start + passed.sentences * dimension * 4;
        let info = |dtype, shape, data_offsets| TensorInfo {
            dtype,
            shape,
            data_offsets,
        };
        let rows = info(Dtype::F32, vec![passed.sentences, dimension], (start, stop));
        let ends = info(Dtype::U64, vec![passed.documents + 1], (0, start));
        let tensors = vec![
            ("offsets".to_owned(), ends),
            ("embeddings".to_owned(), rows),
        ];
        let metadata = HashMap::from([(DESCRIPTION.to_owned(), description)]);
        // The crate's own writer requires all tensors in memory.
        let head = Metadata::new(Some(metadata), tensors).expect("the offsets ascend");
        let mut head = serde_json::to_vec(&head).expect("strings and numbers are JSON");
        head.resize(head.len().next_multiple_of(8), b' ');
        fits(passed.documents, head.len())?;
        let mut file = AtomicFile::create(path)?;
        let mut write = |bytes: &[u8]| file.write_all(bytes).map_err(Error::io("write", path));
        write(&(head.len() as u64).to_le_bytes())?;
        write(&head)?;
        write(&offsets)?;
        drop((head, offsets));
        let mut bytes = Vec::new();
        self.pass(|_, _, rows| {
            bytes.clear();
            bytes.extend(rows.iter().flat_map(|x| x.to_le_bytes()));
            write(&bytes)
        })?;
        file.commit()?;
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::encoder::LexiconEncoder;
    use crate::files::atomic::{Tensor, tensor_bytes};

    fn documents() -> Vec<CorpusDocument> {
        let document = |(number, text): (usize, &str)| CorpusDocument {
            id: format!("{number} \"\\\u{1}ä"),
            label: (number % 2 == 0).then(|| "a\tb".to_owned()),
            text: text.repeat(1 + number % 5),
            ..CorpusDocument::default()
        };
        let texts = ["The soup needs salt. ", "", "Our team lost twice! "];
        let numbered = (0..200).zip(texts.into_iter().cycle());
        numbered.map(document).collect()
    }

    #[test]
    fn the_written_file_is_that_of_the_usual_writer() {
        let encoder = LexiconEncoder::embedded();
        let folder = tempfile::tempdir().unwrap();
        for n in [0, 1, 63, 64, 200] {
            let documents = &documents()[..n];
            let path = folder.path().join("e.safetensors");
            let open = || Ok(documents.iter().cloned().map(Ok));
            let mut encoded = Encoded::new("test", Encoding::new(&encoder), open);
            let passed = encoded.write(&path).unwrap();
            let mut encoding = Encoding::new(&encoder);
            let all = Embeddings::encode(&mut encoding, documents, |_| Progress::hidden());
            let all = all.unwrap();
            assert_eq!(passed.documents, n);
            assert_eq!(passed.sentences, all.sentences.len());
            let rows = all.vectors.rows().iter();
            let rows: Vec<u8> = rows.flat_map(|x| x.to_le_bytes()).collect();
            let offsets = all.vectors.offsets().iter();
            let offsets: Vec<u8> = offsets.flat_map(|x| (*x as u64).to_le_bytes()).collect();
            let tensors = [
                Tensor {
                    name: "embeddings",
                    dtype: Dtype::F32,
                    shape: vec![passed.sentences, encoder.dimension()],
                    bytes: &rows,
                },
                Tensor {
                    name: "offsets",
                    dtype: Dtype::U64,
                    shape: vec![n + 1],
                    bytes: &offsets,
                },
            ];
            let description = json!({
                "encoder": encoder.identity().name,
                "encoder_digest": hex::encode(encoder.identity().digest),
                "ids": documents.iter().map(|own| &own.id).collect::<Vec<_>>(),
                "labels": documents.iter().map(|own| &own.label).collect::<Vec<_>>(),
            });
            let expected = tensor_bytes(&tensors, &description);
            assert!(std::fs::read(&path).unwrap() == expected, "{n} documents");
        }
    }

    #[test]
    fn a_corpus_that_changes_is_noticed() {
        let encoder = LexiconEncoder::embedded();
        let opened = Cell::new(0);
        let open = || {
            opened.set(opened.get() + 1);
            let mut documents = documents();
            if opened.get() == 3 {
                documents[150].label = Some("b".to_owned());
            }
            Ok(documents.into_iter().map(Ok))
        };
        let mut encoded = Encoded::new("c.jsonl", Encoding::new(&encoder), open);
        encoded.pass(|_, _, _| Ok(())).unwrap();
        encoded.pass(|_, _, _| Ok(())).unwrap();
        let error = encoded.pass(|_, _, _| Ok(())).unwrap_err();
        let part = "`c.jsonl` changed while";
        assert!(error.to_string().contains(part), "{error}");
    }
}
