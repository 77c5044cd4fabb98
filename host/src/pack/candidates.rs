//! The server's file for decoding releases: the candidates, their embeddings and their sources, in
//! safetensors format.

use std::borrow::Cow;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use undertone_core::pack::format::MAGIC;
use undertone_core::release::{Mechanism, Outcome, Release};

use crate::encoder::EncoderIdentity;
use crate::error::{Error, ErrorKind, Result};
use crate::files::atomic::{AtomicFile, Tensor, described, tensor_bytes};
use crate::files::foreign;
use crate::pack::calibration::{BySource, Calibration};

/// One public candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The identifier of the public document, the label, or the name of the cluster.
    pub id: String,
    /// The label of the document, or the label itself; `None` without labels and for clusters.
    pub label: Option<String>,
    /// The sentence nearest to the mean of the document, or of all documents that the candidate
    /// represents.
    pub excerpt: String,
}

/// The candidates of one pack, in the order of their numbers in releases.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// The digest of the pack.
    pub pack_digest: [u8; 32],
    /// The encoder of the embeddings.
    pub encoder: EncoderIdentity,
    /// The number of coordinates, d.
    pub dimension: usize,
    /// `[m][d]`, row-major.
    pub embeddings: Vec<f32>,
    /// `[m]`: the candidates.
    pub entries: Vec<Candidate>,
    /// Whether "nothing known" is an outcome of documents' releases for the whole text.
    pub has_nothing_known: bool,
    /// The data for estimates, if the maker of the pack could hold documents out.
    pub calibration: Option<Calibration>,
}

const EMBEDDINGS: &str = "embeddings";

/// Tensors of a calibration.
const LABELS: &str = "calibration.labels";
const BEST: &str = "calibration.best";
const LEVELS: &str = "calibration.levels";

/// Tensors of its texts by source.
const SOURCES: &str = "sources.of_texts";
const SOURCE_LABELS: &str = "sources.labels";
const SOURCE_BEST: &str = "sources.best";
const SOURCE_LEVELS: &str = "sources.levels";

#[derive(Serialize, Deserialize)]
struct Description<'a> {
    pack: String,
    encoder: String,
    encoder_digest: String,
    documents: Cow<'a, [Candidate]>,
    /// Left out if true, as in older files.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    nothing_known: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<CalibrationDescription<'a>>,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The signature that serde calls.
fn is_true(value: &bool) -> bool {
    *value
}

/// The part of a calibration that is not in tensors.
#[derive(Serialize, Deserialize)]
struct CalibrationDescription<'a> {
    labels: Cow<'a, [String]>,
    mechanism: u8,
    steps: u8,
    /// The names of sources; empty for clusters. `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sources: Option<Cow<'a, [String]>>,
}

impl Candidates {
    /// The pack identifier in releases: the first bytes of the digest.
    pub fn pack_id(&self) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, ..] = self.pack_digest;
        [a, b, c, d, e, f, g, h]
    }

    /// Returns the candidate that a release names, with its embedding; `None` for a whole-text
    /// release of "nothing known".
    ///
    /// # Errors
    /// [`ErrorKind::Release`] if the release was made under
    /// another pack, its index is out of range, or it is by projective geometry and names a point.
    pub fn decode(&self, release: &Release) -> Result<Option<(&Candidate, &[f32])>> {
        let refused = |problem| Err(Error::new(ErrorKind::Release, problem));
        if release.pack_id() != self.pack_id() {
            return refused(format!(
                "the release was made under pack {}, these are the candidates of pack {}",
                hex::encode(release.pack_id()),
                hex::encode(self.pack_id())
            ));
        }
        if release.order().is_some() {
            let problem = "the release names a point that many candidates prefer, and no candidate; \
                           count many such releases instead";
            return refused(problem.to_owned());
        }
        let m = self.entries.len();
        if let Some(Outcome::NothingKnown) = release.outcome(m as u32) {
            return Ok(None);
        }
        let index = release.number() as usize;
        let mut embeddings = self.embeddings.chunks_exact(self.dimension);
        match (self.entries.get(index), embeddings.nth(index)) {
            (Some(candidate), Some(embedding)) => Ok(Some((candidate, embedding))),
            _ => refused(format!(
                "the release names candidate {index}, but there are {m}; is it damaged?"
            )),
        }
    }

    /// Formats the candidates for programs that cannot read safetensors: a line `# pack` with the
    /// pack identifier, then for each candidate a line with number, name and excerpt, separated by
    /// tabs.
    pub fn list(&self) -> String {
        let mut text = format!("# pack {}\n", hex::encode(self.pack_id()));
        for (index, candidate) in self.entries.iter().enumerate() {
            let [name, excerpt] = [&candidate.id, &candidate.excerpt]
                .map(|field| field.replace(|c: char| c.is_control(), " "));
            text += &format!("{index}\t{name}\t{excerpt}\n");
        }
        text
    }

    /// Writes the file: the tensor `embeddings` f32 `[m, d]`, and the metadata entry `undertone`, a
    /// JSON object with `pack`, `encoder`, `encoder_digest` and `documents`, a list of
    /// [`Candidate`]; also `nothing_known`, false, if the pack leaves that outcome out.
    ///
    /// A [`Calibration`] of t texts adds `calibration` to the object, with `labels` (names),
    /// `mechanism` (1 or 2, as in releases) and `steps`, and the tensors `calibration.labels` u32
    /// `[t]`, `calibration.best` u32 `[t]` and `calibration.levels` u8 `[t, m]`. Its s texts by
    /// source add the names `sources` (empty for clusters) and the tensors `sources.of_texts` u32
    /// `[s]`, `sources.labels` u32 `[s]`, `sources.best` u32 `[s]` and `sources.levels` u8 `[s,
    /// m]`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] or
    /// [`ErrorKind::Argument`]; no file is left.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.settled(path)?.commit()
    }

    /// Writes the file to the disk without giving it its name.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn settled(&self, path: &Path) -> Result<AtomicFile> {
        AtomicFile::settled(path, &self.to_bytes())
    }

    /// Returns the bytes that [`write`](Self::write) writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let calibration = self.calibration.as_ref();
        let by_source = calibration.and_then(|own| own.by_source.as_ref());
        let description = Description {
            pack: hex::encode(self.pack_digest),
            encoder: self.encoder.name.clone(),
            encoder_digest: hex::encode(self.encoder.digest),
            documents: Cow::Borrowed(&self.entries),
            nothing_known: self.has_nothing_known,
            calibration: calibration.map(|own| CalibrationDescription {
                labels: Cow::Borrowed(&own.labels),
                mechanism: own.mechanism as u8,
                steps: own.steps,
                sources: by_source.map(|own| Cow::Borrowed(&own.names[..])),
            }),
        };
        let embeddings = self.embeddings.iter().flat_map(|x| x.to_le_bytes());
        let shape = vec![self.entries.len(), self.dimension];
        let mut arrays = vec![(EMBEDDINGS, Dtype::F32, shape, embeddings.collect())];
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let texts = [
            calibration.map(|own| (own, [LABELS, BEST, LEVELS])),
            by_source.map(|own| (&own.texts, [SOURCE_LABELS, SOURCE_BEST, SOURCE_LEVELS])),
        ];
        for (own, [labels, best, levels]) in texts.into_iter().flatten() {
            let t = own.len();
            let of_levels = own.levels.clone();
            arrays.push((labels, Dtype::U32, vec![t], numbers(&own.of_texts)));
            arrays.push((best, Dtype::U32, vec![t], numbers(&own.best)));
            arrays.push((levels, Dtype::U8, vec![t, own.candidates], of_levels));
        }
        if let Some(own) = by_source {
            let of_texts = numbers(&own.of_texts);
            arrays.push((SOURCES, Dtype::U32, vec![own.texts.len()], of_texts));
        }
        let tensors = arrays.iter().map(|(name, dtype, shape, bytes)| Tensor {
            name,
            dtype: *dtype,
            shape: shape.clone(),
            bytes,
        });
        tensor_bytes(&tensors.collect::<Vec<_>>(), &description)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`];
    /// [`ErrorKind::Input`] for invalid content.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = foreign::read(path)?;
        Self::from_bytes(&bytes, path)
    }

    /// Parses the bytes of such a file; errors call it `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Input`] for invalid content.
    pub fn from_bytes(bytes: &[u8], name: &Path) -> Result<Self> {
        Self::parse(bytes).map_err(|problem| {
            Error::input(format!(
                "`{}` is not a candidates file: {problem}; `undertone pack` writes one",
                name.display()
            ))
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(&MAGIC) {
            return Err("it is a pack; name the candidates that were written beside it".to_owned());
        }
        let (tensors, description) = described::<Description<'static>>(bytes)?;
        let digest = |hexadecimal: &str| -> Result<[u8; 32], String> {
            let mut digest = [0; 32];
            hex::decode_to_slice(hexadecimal, &mut digest)
                .map_err(|_| "a digest in it is not 64 hexadecimal digits")?;
            Ok(digest)
        };
        let tensor = tensors.tensor(EMBEDDINGS);
        let tensor = tensor.map_err(|error| error.to_string())?;
        let &[m, dimension] = tensor.shape() else {
            let axes = tensor.shape().len();
            return Err(format!("tensor \"{EMBEDDINGS}\" has {axes} axes, not 2"));
        };
        if tensor.dtype() != Dtype::F32 || dimension == 0 {
            let wanted = "f32 [m, d] with d ≥ 1";
            return Err(format!("tensor \"{EMBEDDINGS}\" is not {wanted}"));
        }
        let entries = description.documents.into_owned();
        if entries.len() != m {
            let documents = entries.len();
            return Err(format!("it lists {documents} documents for {m} embeddings"));
        }
        let calibration = description
            .calibration
            .map(|own| calibration(&tensors, own, m));
        let calibration = calibration.transpose()?;
        let embeddings = tensor.data().as_chunks().0.iter();
        let embeddings = embeddings.map(|x| f32::from_le_bytes(*x)).collect();
        Ok(Self {
            pack_digest: digest(&description.pack)?,
            encoder: EncoderIdentity {
                name: description.encoder,
                digest: digest(&description.encoder_digest)?,
            },
            dimension,
            embeddings,
            entries,
            has_nothing_known: description.nothing_known,
            calibration,
        })
    }
}

/// Parses the calibration in a file of `m` candidates.
fn calibration(
    tensors: &SafeTensors<'_>,
    description: CalibrationDescription<'_>,
    m: usize,
) -> Result<Calibration, String> {
    let data = |name: &str, dtype: Dtype| {
        let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
        if tensor.dtype() == dtype {
            Ok(tensor.data())
        } else {
            Err(format!("tensor \"{name}\" is not {dtype:?}"))
        }
    };
    let numbers = |name: &str| -> Result<Vec<u32>, String> {
        let numbers = data(name, Dtype::U32)?.as_chunks().0.iter();
        Ok(numbers.map(|x| u32::from_le_bytes(*x)).collect())
    };
    let mechanism = Mechanism::from_number(description.mechanism);
    let mechanism = mechanism.filter(|own| matches!(own, Mechanism::Depth | Mechanism::Scores));
    let mechanism = mechanism.ok_or("its calibration is of an unknown mechanism")?;
    let labels = description.labels.into_owned();
    let texts = |of_texts: &str, best: &str, levels: &str| -> Result<Calibration, String> {
        Ok(Calibration {
            labels: labels.clone(),
            mechanism,
            steps: description.steps,
            candidates: m,
            of_texts: numbers(of_texts)?,
            best: numbers(best)?,
            levels: data(levels, Dtype::U8)?.to_vec(),
            by_source: None,
        })
    };
    let mut calibration = texts(LABELS, BEST, LEVELS)?;
    if let Some(names) = description.sources {
        calibration.by_source = Some(Box::new(BySource {
            names: names.into_owned(),
            of_texts: numbers(SOURCES)?,
            texts: texts(SOURCE_LABELS, SOURCE_BEST, SOURCE_LEVELS)?,
        }));
    }
    calibration.check()?;
    Ok(calibration)
}
