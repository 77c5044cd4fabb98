//! Labelled corpora, encoded and split.
//!
//! **Public corpora only**: the vectors of their sentences are written to a cache.
//!
//! A task file describes the classes and corpora of a classification task, in JSON:
//!
//! | field | meaning |
//! | --- | --- |
//! | `name` | the name of the task in reports |
//! | `train` | a corpus file |
//! | `test` | a corpus file; if absent, a fifth of `train` is held out for testing |
//! | `label_field` | the field of the label; `label` by default |
//! | `messages` | whether texts are raw messages, reduced to the body without quotes; false by default |
//! | `classes` | labels of each class, where `comp.*` matches every label that starts with `comp.`; if absent, each label is a class |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use undertone_core::rng::{self, PublicRng};
use zerocopy::little_endian::{F32, U64};
use zerocopy::{FromBytes, Immutable};

use undertone::corpus::{CorpusDocument, FieldNames};
use undertone::encoder::embeddings::{Embeddings, Encoded};
use undertone::encoder::vectors::DocumentVectors;
use undertone::encoder::{Encoder, EncoderIdentity};
use undertone::error::{Error, Result};
use undertone::files::resume::Encoding;
use undertone::progress::Progress;
use undertone::release::document;
use undertone::text;

/// Documents with fewer sentences are left out, as Meehan, Mrini and Chaudhuri (2022) do.
pub const LEAST_SENTENCES: usize = 2;

/// A classification task; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name in reports.
    pub name: String,
    /// The training corpus.
    pub train: PathBuf,
    /// The test corpus.
    pub test: Option<PathBuf>,
    /// The field of the label.
    #[serde(default = "default_label_field")]
    pub label_field: String,
    /// Whether texts are raw messages.
    #[serde(default)]
    pub messages: bool,
    /// Labels of each class.
    pub classes: Option<BTreeMap<String, Vec<String>>>,
}

/// The size limit of a task file, in bytes.
const LARGEST_FILE: usize = 1 << 20;

/// Whether some label matches both patterns.
fn overlap(a: &str, b: &str) -> bool {
    match (a.strip_suffix('*'), b.strip_suffix('*')) {
        (None, None) => a == b,
        (Some(start), None) => b.starts_with(start),
        (None, Some(start)) => a.starts_with(start),
        (Some(a), Some(b)) => a.starts_with(b) || b.starts_with(a),
    }
}

fn default_label_field() -> String {
    "label".to_owned()
}

impl Task {
    /// Reads a task file if `path` ends in `.json`; its paths are relative to `folder`, or to the
    /// folder of the task file. Any other file is a corpus without a test corpus, and the task is
    /// named after it.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](undertone::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for an invalid task file.
    pub fn open(path: &Path, folder: Option<&Path>) -> Result<Self> {
        if path.extension().is_none_or(|end| end != "json") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            return Ok(Self {
                name: name.split('.').next().unwrap_or_default().to_owned(),
                train: path.to_owned(),
                test: None,
                label_field: default_label_field(),
                messages: false,
                classes: None,
            });
        }
        let mut task = Self::read(path)?;
        let folder = folder.or(path.parent()).unwrap_or(Path::new(""));
        task.train = folder.join(task.train);
        task.test = task.test.map(|test| folder.join(test));
        Ok(task)
    }

    fn read(path: &Path) -> Result<Self> {
        let fail = |problem| {
            Error::input(format!(
                "`{}` is not a task file: {problem}; its fields are name and train, and \
                 may be test, label_field, messages and classes",
                path.display()
            ))
        };
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(Error::io("open", path))?;
        file.take(LARGEST_FILE as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(Error::io("read", path))?;
        if bytes.len() > LARGEST_FILE {
            return Err(fail(format!("longer than {LARGEST_FILE} bytes")));
        }
        let task: Self = serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))?;
        task.check().map_err(fail)?;
        Ok(task)
    }

    /// Validates the task as far as possible without a corpus.
    fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("the name is empty".to_owned());
        }
        let mut paths = [Some(&self.train), self.test.as_ref()]
            .into_iter()
            .flatten();
        if paths.any(|path| path.as_os_str().is_empty()) {
            return Err("the name of a corpus is empty".to_owned());
        }
        let Some(classes) = &self.classes else {
            return Ok(());
        };
        if classes.len() < 2 {
            return Err(format!(
                "there must be at least 2 classes, or no field \"classes\"; found {}",
                classes.len()
            ));
        }
        let mut before = Vec::<(&str, &str)>::new();
        for (class, labels) in classes {
            if labels.is_empty() {
                return Err(format!("the class \"{class}\" has no labels"));
            }
            let both = |label: &String| {
                let other = before.iter().find(|(_, other)| overlap(label, other))?;
                Some((label.clone(), *other))
            };
            if let Some((label, (other, pattern))) = labels.iter().find_map(both) {
                return Err(format!(
                    "\"{pattern}\" of the class \"{other}\" and \"{label}\" of \"{class}\" are the same labels; \
                     a label is of one class"
                ));
            }
            before.extend(labels.iter().map(|label| (class.as_str(), label.as_str())));
        }
        Ok(())
    }

    /// The class of a label, if it has one.
    fn class<'a>(&'a self, label: &'a str) -> Option<&'a str> {
        let Some(classes) = &self.classes else {
            return Some(label);
        };
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => label.starts_with(start),
            None => label == pattern,
        };
        let mut classes = classes.iter();
        let (class, _) = classes.find(|(_, labels)| labels.iter().any(fits))?;
        Some(class)
    }
}

/// Documents and their classes.
// No `Debug`, as for the vectors.
#[derive(Clone, PartialEq)]
pub struct Labelled {
    /// The vectors of their sentences.
    pub documents: DocumentVectors,
    /// `[documents]`, each a class.
    pub labels: Vec<usize>,
    /// `[documents]`, the texts that were encoded.
    pub texts: Vec<String>,
}

impl Labelled {
    /// The documents with these numbers, in this order.
    ///
    /// # Panics
    /// If there is no such document.
    pub fn subset(&self, documents: &[usize]) -> Self {
        Self {
            documents: self.documents.subset(documents),
            labels: documents.iter().map(|d| self.labels[*d]).collect(),
            texts: documents.iter().map(|d| self.texts[*d].clone()).collect(),
        }
    }
}

/// A task, encoded and split.
pub struct Data {
    /// The name of the task.
    pub name: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The encoder of the vectors.
    pub encoder: EncoderIdentity,
    /// Training and validation documents.
    pub learning: Labelled,
    /// Indices of the training documents in `learning`.
    pub train: Vec<usize>,
    /// Indices of the validation documents in `learning`.
    pub validation: Vec<usize>,
    /// Test documents.
    pub test: Labelled,
    /// Documents left out because they have fewer than [`LEAST_SENTENCES`] sentences.
    pub left_out: usize,
}

impl Data {
    /// Reads, encodes and splits a task. The training corpus is split at random by `seed`: 80 % for
    /// training and 20 % for validation, or 60, 20 and 20 % if there is no test corpus.
    ///
    /// If `cache` is given, vectors are stored there, in one safetensors file for each encoder and
    /// set of texts, and an interrupted encoding resumes.
    ///
    /// # Errors
    /// Errors of the corpora and the encoder.
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if a document has no
    /// label or its label belongs to no class, or if there are fewer than two classes or too few
    /// documents. [`ErrorKind::Io`](undertone::error::ErrorKind::Io) for the cache.
    pub fn load(
        task: &Task,
        encoder: &dyn Encoder,
        cache: Option<&Path>,
        seed: u64,
    ) -> Result<Self> {
        let mut train = Source::read(task, &task.train)?;
        let test = task.test.as_ref().map(|path| Source::read(task, path));
        let test = test.transpose()?;
        let names: BTreeSet<String> = train.classes.iter().cloned().collect();
        let classes: Vec<String> = names.into_iter().collect();
        if classes.len() < 2 {
            return Err(train.refuse(format!(
                "its documents of {LEAST_SENTENCES} and more sentences have {} classes; at least 2 are needed: take \
                 another corpus or label_field",
                classes.len()
            )));
        }
        let mut left_out = train.left_out;
        let learned = train.encode(encoder, cache, &classes)?;
        let mut order: Vec<usize> = (0..learned.labels.len()).collect();
        shuffle(&mut order, &mut PublicRng::new(seed));
        let (learning, test) = match test {
            Some(mut test) => {
                left_out += test.left_out;
                (learned, test.encode(encoder, cache, &classes)?)
            }
            None => {
                let test = order.split_off(order.len() - order.len() / 5);
                let parts = (learned.subset(&order), learned.subset(&test));
                order = (0..order.len()).collect();
                parts
            }
        };
        // Of 60 % + 20 %, the validation documents are a quarter.
        let held = order.len() / if task.test.is_some() { 5 } else { 4 };
        let validation = order.split_off(order.len() - held);
        if validation.is_empty() || test.labels.is_empty() {
            return Err(train.refuse(format!(
                "{} documents to learn from and {} to test on, of at least {LEAST_SENTENCES} sentences each, are too \
                 few; give at least 5 and 1",
                order.len() + held,
                test.labels.len()
            )));
        }
        let mut absent: BTreeSet<usize> = (0..classes.len()).collect();
        for document in &order {
            absent.remove(&learning.labels[*document]);
        }
        if let Some(class) = absent.first() {
            return Err(train.refuse(format!(
                "the class \"{}\" has no document among the {} drawn to train on; add documents of it, or leave it out",
                classes[*class],
                order.len()
            )));
        }
        Ok(Self {
            name: task.name.clone(),
            classes,
            encoder: encoder.identity().clone(),
            learning,
            train: order,
            validation,
            test,
            left_out,
        })
    }

    /// The share of each class among the training documents.
    pub fn frequencies(&self) -> Vec<f64> {
        let mut frequencies = vec![0.0; self.classes.len()];
        for document in &self.train {
            frequencies[self.learning.labels[*document]] += 1.0 / self.train.len() as f64;
        }
        frequencies
    }
}

/// A corpus before it is encoded.
struct Source {
    path: PathBuf,
    documents: Vec<CorpusDocument>,
    /// The class of each document.
    classes: Vec<String>,
    left_out: usize,
    /// SHA-256 over the sentences: the cache identifies texts by their sentences.
    digest: [u8; 32],
}

impl Source {
    fn read(task: &Task, path: &Path) -> Result<Self> {
        let mut source = Self {
            path: path.to_owned(),
            documents: Vec::new(),
            classes: Vec::new(),
            left_out: 0,
            digest: [0; 32],
        };
        let mut all = Vec::new();
        let names = FieldNames {
            label: task.label_field.clone(),
            ..FieldNames::default()
        };
        for document in undertone_tables::corpus_watched(path, &names, None)? {
            let mut document = document?;
            let Some(label) = document.label.as_deref() else {
                return Err(source.refuse(format!(
                    "document {} has no label; wanted is the field \"{}\", and label_field of a task file names \
                     another",
                    document.id, task.label_field
                )));
            };
            let Some(class) = task.class(label).map(str::to_owned) else {
                return Err(source.refuse(format!(
                    "document {} has the label \"{label}\", which is in no class of the task; add it to one",
                    document.id
                )));
            };
            if task.messages {
                document.text = text::message_body(&document.text);
            }
            all.push((document, class));
        }
        let digests: Vec<Option<[u8; 32]>> = all
            .par_iter()
            .map(|(document, _)| {
                let sentences = document::sentences(&document.text);
                (sentences.len() >= LEAST_SENTENCES).then(|| digest_of(&sentences))
            })
            .collect();
        let mut hash = Sha256::new();
        for ((document, class), digest) in all.into_iter().zip(digests) {
            match digest {
                None => source.left_out += 1,
                Some(digest) => {
                    hash.update(digest);
                    source.documents.push(document);
                    source.classes.push(class);
                }
            }
        }
        source.digest = hash.finalize().into();
        Ok(source)
    }

    fn refuse(&self, problem: String) -> Error {
        Error::experiment(format!(
            "cannot evaluate on `{}`: {problem}",
            self.path.display()
        ))
    }

    fn encode(
        &mut self,
        encoder: &dyn Encoder,
        cache: Option<&Path>,
        classes: &[String],
    ) -> Result<Labelled> {
        let labels = self.classes.iter().map(|class| {
            let index = classes.binary_search(class);
            index.map_err(|_| {
                self.refuse(format!(
                    "the class \"{class}\" does not occur in the training corpus; leave it out or add documents there"
                ))
            })
        });
        let labels = labels.collect::<Result<Vec<usize>>>()?;
        let documents = match cache {
            Some(folder) => self.cached(encoder, folder)?,
            None => self.embeddings(encoder)?,
        };
        if let Some(position) = documents.rows().iter().position(|x| !x.is_finite()) {
            return Err(Error::encoder(format!(
                "`{}` gave NaN or infinity for sentence {} of the public corpus; use the \
                 fp32 model",
                encoder.identity().name,
                position / documents.dimension()
            )));
        }
        let texts = std::mem::take(&mut self.documents).into_iter();
        Ok(Labelled {
            documents,
            labels,
            texts: texts.map(|document| document.text).collect(),
        })
    }

    fn embeddings(&self, encoder: &dyn Encoder) -> Result<DocumentVectors> {
        let progress = |sentences| Progress::new("encoding sentences", sentences);
        let mut encoding = Encoding::new(encoder);
        Ok(Embeddings::encode(&mut encoding, &self.documents, progress)?.vectors)
    }

    /// Reads the vectors from the cache; encodes and stores those that are missing.
    fn cached(&self, encoder: &dyn Encoder, folder: &Path) -> Result<DocumentVectors> {
        let mut hash = Sha256::new();
        hash.update(b"undertone evaluation cache 1\0");
        hash.update(encoder.identity().digest);
        hash.update(self.digest);
        let name = hex::encode(&hash.finalize()[..16]);
        let path = folder.join(format!("{name}.safetensors"));
        let read = || -> Result<Option<DocumentVectors>> {
            let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
            Ok(read_vectors(
                &bytes,
                encoder.dimension(),
                self.documents.len(),
            ))
        };
        // A file with invalid content is replaced.
        if path.exists()
            && let Some(vectors) = read()?
        {
            return Ok(vectors);
        }
        let kept = Encoding::kept_in(encoder, folder.join(format!("{name}.partial")))?;
        let documents = || Ok(self.documents.iter().cloned().map(Ok));
        let mut encoded = Encoded::new("the corpus", kept, documents);
        encoded.write(&path)?;
        encoded.finish()?;
        read()?.ok_or_else(|| self.refuse(format!("`{}` changed under its hands", path.display())))
    }
}

fn digest_of(sentences: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for sentence in sentences {
        hash.update((sentence.len() as u64).to_le_bytes());
        hash.update(sentence);
    }
    hash.finalize().into()
}

/// The vectors of a file that [`Encoded::write`] wrote, or `None` unless it holds this number of
/// documents.
fn read_vectors(bytes: &[u8], dimension: usize, documents: usize) -> Option<DocumentVectors> {
    let tensors = SafeTensors::deserialize(bytes).ok()?;
    let embeddings = tensors.tensor("embeddings").ok()?;
    let offsets: Vec<usize> = numbers::<U64>(tensors.tensor("offsets").ok()?.data())
        .map(|x| usize::try_from(x.get()).ok())
        .collect::<Option<_>>()?;
    let fits = embeddings.dtype() == Dtype::F32
        && embeddings.shape() == [*offsets.last()?, dimension]
        && offsets.len() == documents + 1
        && offsets.first() == Some(&0)
        && offsets.is_sorted();
    let rows = numbers::<F32>(embeddings.data()).map(F32::get).collect();
    fits.then(|| DocumentVectors::new(dimension, rows, offsets))
}

/// The numbers encoded in `bytes`; an incomplete one at the end is ignored.
fn numbers<T: FromBytes + Immutable>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes
        .chunks_exact(size_of::<T>())
        .filter_map(|bytes| T::read_from_bytes(bytes).ok())
}

/// Shuffles uniformly (Fisher and Yates).
pub(crate) fn shuffle(order: &mut [usize], rng: &mut PublicRng) {
    for last in (1..order.len()).rev() {
        order.swap(last, rng::below(rng, last as u128 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use undertone::encoder::LexiconEncoder;

    /// Writes a corpus of documents with these numbers of sentences, in two classes a and b.
    fn corpus(folder: &Path, name: &str, lengths: &[usize]) -> PathBuf {
        let path = folder.join(name);
        let mut file = fs::File::create(&path).unwrap();
        for (number, length) in lengths.iter().enumerate() {
            let text = "We went to the garden. ".repeat(*length);
            let label = if number % 2 == 0 { "a.x" } else { "b" };
            let line = serde_json::json!({"kind": label, "label": "only", "text": text.trim()});
            writeln!(file, "{line}").unwrap();
        }
        path
    }

    fn task(folder: &Path, text: &str) -> Result<Task> {
        let path = folder.join("task.json");
        fs::write(&path, text).unwrap();
        Task::open(&path, None)
    }

    fn load(task: &Task, cache: Option<&Path>) -> Result<Data> {
        Data::load(task, &LexiconEncoder::embedded(), cache, 1)
    }

    #[test]
    fn the_task_files_that_ship_are_task_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks");
        let news = Task::open(&folder.join("20news.json"), Some(Path::new("data"))).unwrap();
        assert_eq!(news.train, Path::new("data/20news-bydate/train.jsonl.gz"));
        assert!(news.messages);
        for (label, class) in [
            ("comp.os.ms-windows.misc", Some("comp")),
            ("rec.motorcycles", Some("vehicles")),
            ("alt.atheism", Some("religion")),
            ("talk.religion.misc", Some("religion")),
            ("sci.electronics", Some("tech")),
            ("sci.other", None),
        ] {
            assert_eq!(news.class(label), class);
        }
        let products = Task::open(&folder.join("amazon-products.json"), None).unwrap();
        assert_eq!(products.label_field, "label");
        assert_eq!(
            products.train.parent(),
            Some(&*folder.join("amazon-multidomain"))
        );
        let sentiment = Task::open(&folder.join("amazon-sentiment.json"), None).unwrap();
        assert_eq!(sentiment.label_field, "sentiment");
    }

    #[test]
    fn splits_are_disjoint_and_leave_short_documents_out() {
        let folder = tempfile::tempdir().unwrap();
        let lengths: Vec<usize> = (0..55).map(|i| 1 + i % 11).collect();
        corpus(folder.path(), "train.jsonl", &lengths);
        corpus(folder.path(), "test.jsonl", &[1, 2, 3, 200]);
        let whole = r#"{"name": "t", "train": "train.jsonl", "label_field": "kind",
            "classes": {"A": ["a.*"], "B": ["b"]}"#;
        let alone = load(&task(folder.path(), &format!("{whole}}}")).unwrap(), None).unwrap();
        assert_eq!(alone.classes, ["A", "B"]);
        assert_eq!(alone.left_out, 5);
        assert_eq!((alone.train.len(), alone.validation.len()), (30, 10));
        assert_eq!(alone.test.labels.len(), 10);

        let with_test = format!(r#"{whole}, "test": "test.jsonl"}}"#);
        let both = load(&task(folder.path(), &with_test).unwrap(), None).unwrap();
        assert_eq!(both.left_out, 6);
        assert_eq!((both.train.len(), both.validation.len()), (40, 10));
        let mut all = [both.train.clone(), both.validation.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
        assert_eq!(both.test.labels, [1, 0, 1]);
        assert_eq!(both.test.documents.offsets(), [0, 2, 5, 133]);
        assert!((both.frequencies().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_cache_gives_the_same_vectors_and_survives_damage() {
        let folder = tempfile::tempdir().unwrap();
        corpus(folder.path(), "train.jsonl", &[3; 20]);
        let task = task(
            folder.path(),
            r#"{"name": "t", "train": "train.jsonl", "label_field": "kind"}"#,
        )
        .unwrap();
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).unwrap();
        let first = load(&task, Some(&cache)).unwrap();
        let files: Vec<PathBuf> = fs::read_dir(&cache)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let written = fs::read(&files[0]).unwrap();
        for content in [&written[..], &written[..written.len() - 9], b"other"] {
            fs::write(&files[0], content).unwrap();
            let again = load(&task, Some(&cache)).unwrap();
            assert!(again.learning == first.learning && again.test == first.test);
            assert_eq!(fs::read(&files[0]).unwrap(), written);
        }
    }

    #[test]
    fn errors_say_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        corpus(folder.path(), "train.jsonl", &[3; 20]);
        corpus(folder.path(), "one.jsonl", &[3]);
        for (fields, part) in [
            (r#""train": "absent.jsonl""#, "cannot open"),
            (r#""train": "train.jsonl""#, "have 1 classes"),
            (
                r#""train": "train.jsonl", "label_field": "genre""#,
                "no label",
            ),
            (
                r#""train": "train.jsonl", "label_field": "kind", "classes": {"A": ["a*"], "C": ["c"]}"#,
                "\"b\", which is in no class",
            ),
            (
                r#""train": "train.jsonl", "labels": "kind""#,
                "unknown field `labels`",
            ),
            (r#""test": "train.jsonl""#, "missing field `train`"),
            (
                r#""train": "train.jsonl", "test": "one.jsonl", "label_field": "text""#,
                "have 1 classes",
            ),
        ] {
            let read = task(folder.path(), &format!(r#"{{"name": "t", {fields}}}"#));
            let error = read.and_then(|task| load(&task, None)).err().unwrap();
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
    }
}
