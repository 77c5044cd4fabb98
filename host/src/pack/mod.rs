//! From a public corpus to a pack for devices and a list of candidates for the server.
//!
//! *Scores*, the default, have one candidate for each label of the corpus or each cluster of its
//! documents, and the pack has a head that scores a sentence for it. With *depth*, the candidates
//! are documents of the corpus, each embedded as the mean of its sentences' embeddings (Meehan,
//! Mrini and Chaudhuri 2022), and the pack has their bucketed projections. This module never sees
//! private text, and no choice made here can weaken the device's guarantee.

pub mod calibration;
pub mod candidates;
mod classes;
mod depth;
pub mod features;
pub mod heads;
mod held_out;
pub mod kmeans;
pub mod projection;
pub mod quality;
mod recoder;
mod scores;
mod sources;
pub mod trained;
mod writer;

use std::path::{Path, PathBuf};

use undertone_core::pack::Pack;
use undertone_core::pack::format::MAX_DIMENSION;
use undertone_core::rng::{self, PublicRng};
use undertone_core::select::MAX_CANDIDATES;

use crate::corpus::CorpusDocument;
use crate::encoder::check_finite;
use crate::encoder::embeddings::{Embeddings, Encoded};
use crate::encoder::vectors::DocumentVectors;
use crate::error::{Error, Result};
use crate::files::atomic::AtomicFile;
use crate::pack::calibration::Calibration;
use crate::pack::candidates::{Candidate, Candidates};
use crate::pack::heads::Targets;
use crate::pack::trained::{Recoder, ScoreHeads};
use crate::progress::Progress;
use crate::release::document::{MAX_SENTENCES, sentences};

pub use depth::{Directions, depth_pack};
pub use held_out::{Contest, Inputs};
pub use quality::Recognition;
pub use scores::scores_pack;
#[cfg(feature = "models")]
pub(crate) use writer::exactly;
pub(crate) use writer::limit;
pub use writer::{
    DepthData, FeaturesData, LayerData, LexiconData, PackContents, ProjectionData, QualityData,
    RecoderData, ScoresData,
};

/// Public choices for making a pack.
pub struct Options<'a> {
    /// The selection on the device.
    pub selector: Selector<'a>,
    /// Seed of all draws: candidates, directions, first centres of clusters.
    pub seed: u64,
}

impl Default for Options<'_> {
    /// Scores, for labels if there are any.
    fn default() -> Self {
        Self {
            selector: Selector::Scores {
                targets: TargetChoice::Labels,
                fit: Fit::ClosedForm,
            },
            seed: 1,
        }
    }
}

/// The selection on the device, and how it is made from the corpus.
pub enum Selector<'a> {
    /// Bounded scores: one candidate for each label or cluster.
    Scores {
        /// The meaning of the candidates.
        targets: TargetChoice,
        /// The method that makes the heads.
        fit: Fit<'a>,
    },
    /// Depth: documents are candidates.
    Depth {
        /// The most documents that become candidates, m; `1..=65536`.
        candidates: usize,
        /// The fewest sentences of a candidate; `1..=128`.
        min_sentences: usize,
        /// The choice of projection directions.
        directions: Directions,
        /// Trains a recoder on all documents.
        recoder: Option<&'a TrainRecoder<'a>>,
    },
}

/// The method that makes score heads.
#[derive(Clone, Copy)]
pub enum Fit<'a> {
    /// By [`heads::fit`]. Memory holds a few bytes per document.
    ClosedForm,
    /// By a contest on held-out documents, which adds a table of the pack's quality. Memory holds
    /// up to 2¹⁶ sentences.
    HeldOut(Contest<'a>),
    /// By a function of the vectors of all sentences, such as training through the mechanism.
    InMemory(&'a FitHeads<'a>),
}

/// Makes score heads from documents, the class of each, and the names of the classes.
pub type FitHeads<'a> = dyn Fn(&DocumentVectors, &Targets, &[String]) -> Result<ScoreHeads> + 'a;

/// Makes a recoder from documents.
pub type TrainRecoder<'a> = dyn Fn(&DocumentVectors) -> Result<Recoder> + 'a;

/// The most candidates of depth, as published.
pub const CANDIDATES: usize = 5000;

/// The fewest sentences of a depth candidate, as published.
pub const MIN_SENTENCES: usize = 8;

/// The number of random projection directions: the middle of the published range.
pub const DIRECTIONS: usize = 50;

impl Selector<'_> {
    /// Depth with the published numbers and without a recoder.
    pub const DEPTH: Self = Self::Depth {
        candidates: CANDIDATES,
        min_sentences: MIN_SENTENCES,
        directions: Directions::Random(DIRECTIONS),
        recoder: None,
    };
}

/// The meaning of score candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetChoice {
    /// The labels of the corpus: every document has one, and at least two differ. If no document
    /// has one, clusters.
    Labels,
    /// This number of document clusters (`None`: the number that
    /// [`clusters_as_targets`](crate::pack::heads::clusters_as_targets) makes).
    Clusters(Option<usize>),
}

/// A pack and the server's file for decoding its releases.
#[derive(Clone, Debug)]
pub struct Built {
    /// The bytes of the pack.
    pub pack: Vec<u8>,
    /// The candidates, with their embeddings.
    pub candidates: Candidates,
    /// The number of documents read.
    pub documents_read: usize,
    /// The number of sentences encoded.
    pub sentences: usize,
    /// The kind of candidate: a label, a cluster, a document.
    pub candidates_are: &'static str,
    /// The measurement that decides about "nothing known", if documents could be held out.
    pub recognition: Option<Recognition>,
}

impl Built {
    /// Checks the size of the pack, if `size` is a limit.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a larger pack.
    pub fn check_size(&self, size: Option<usize>) -> Result<()> {
        match size {
            Some(size) if self.pack.len() > size => Err(Error::input(format!(
                "the pack takes {} bytes, more than the {size} of ⟨size⟩; give more, or ⟨heads features⟩",
                self.pack.len()
            ))),
            _ => Ok(()),
        }
    }
}

/// Writes a pack and, [beside it](candidates_beside), its candidates. Both are on the disk before
/// either gets its name, so that a full disk leaves the old files.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
pub fn save(path: &Path, pack: &[u8], candidates: &Candidates) -> Result<()> {
    let candidates = candidates.settled(&candidates_beside(path))?;
    let pack = AtomicFile::settled(path, pack)?;
    candidates.commit()?;
    pack.commit()
}

/// The path of a pack's candidates.
pub fn candidates_beside(pack: &Path) -> PathBuf {
    pack.with_extension("candidates.safetensors")
}

/// The largest exponent of the format.
const MAX_EXPONENT: i32 = 24;

/// Builds a pack from a public corpus.
///
/// Scores use all documents, in several passes. Memory holds one batch of documents, one vector per
/// label, and 8 bytes per document. Clusters are found among at most 32,768 documents, drawn
/// uniformly, or 8 per cluster if that is more. Depth draws its candidates uniformly from the
/// documents with enough sentences (all, if there are fewer) and holds only those. A recoder, and
/// heads that are not in closed form, need the vectors of all documents, so memory then grows with
/// the corpus. Sentences after the first [`MAX_SENTENCES`] of a document are left out, as on a
/// device.
///
/// # Errors
/// Errors of the corpus, the encoder, and the functions that make heads and recoders;
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if no document has enough sentences;
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for options outside their range;
/// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) if the encoder returns NaN or ∞ for a
/// public sentence. Before anything is encoded:
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a pack that no device could use,
/// and [`ErrorKind::Input`](crate::error::ErrorKind::Input) for labels that cannot be candidates.
pub fn build(
    corpus: &mut Encoded<'_>,
    lexicon: Option<LexiconData>,
    options: &Options<'_>,
) -> Result<Built> {
    let encoder = corpus.encoding().encoder();
    let dimension = encoder.dimension();
    let most = MAX_DIMENSION as usize;
    limit("coordinates of an embedding", dimension, 1, most)?;
    let mut contents = PackContents::new(dimension, encoder.identity().clone());
    contents.lexicon = lexicon;
    let seed = options.seed;
    let selected = match options.selector {
        Selector::Scores { targets, fit } => {
            classes::of(corpus, targets, fit, seed, &mut contents)?
        }
        Selector::Depth {
            candidates,
            min_sentences,
            directions,
            recoder,
        } => {
            let sizes = (candidates, min_sentences);
            by_depth(corpus, sizes, directions, recoder, seed, &mut contents)?
        }
    };
    let pack = contents.to_bytes()?;
    let parsed = Pack::parse(&pack).map_err(Error::from)?;
    Ok(Built {
        candidates: Candidates {
            pack_digest: *parsed.digest(),
            encoder: encoder.identity().clone(),
            dimension,
            embeddings: selected.embeddings,
            entries: selected.entries,
            has_nothing_known: parsed.has_nothing_known(),
            calibration: selected.calibration,
        },
        pack,
        documents_read: selected.documents,
        sentences: selected.sentences,
        candidates_are: selected.are,
        recognition: selected.recognition,
    })
}

/// The candidates of a pack, and statistics of their corpus.
struct Selected {
    entries: Vec<Candidate>,
    embeddings: Vec<f32>,
    are: &'static str,
    documents: usize,
    sentences: usize,
    calibration: Option<Calibration>,
    recognition: Option<Recognition>,
}

/// Makes documents into candidates, and adds their sections to `contents`.
fn by_depth(
    corpus: &mut Encoded<'_>,
    (candidates, min_sentences): (usize, usize),
    directions: Directions,
    recoder: Option<&TrainRecoder<'_>>,
    seed: u64,
    contents: &mut PackContents,
) -> Result<Selected> {
    limit("candidates", candidates, 1, MAX_CANDIDATES as usize)?;
    directions.check()?;
    let what = "sentences that a candidate has at least";
    limit(what, min_sentences, 1, MAX_SENTENCES)?;
    let (most, least) = match recoder {
        None => (candidates, min_sentences),
        Some(_) => (usize::MAX, 1),
    };
    let mut rng = PublicRng::new(seed);
    let (documents, read) = draw(corpus.documents()?, most, least, &mut rng)?;
    let encoded = Embeddings::encode(corpus.encoding(), &documents, |sentences| {
        Progress::new("encoding sentences", sentences)
    })?;
    let (sentences, vectors) = (&encoded.sentences, &encoded.vectors);
    check_finite(corpus.encoding().encoder(), vectors.rows(), 0)?;
    let mut chosen: Vec<usize> = (0..documents.len())
        .filter(|document| vectors.range(*document).len() >= min_sentences)
        .collect();
    thin(&mut chosen, candidates, &mut rng);
    if chosen.is_empty() {
        return Err(no_candidates(read, min_sentences));
    }
    let recoder = recoder.map(|train| train(vectors)).transpose()?;
    let candidates = vectors.subset(&chosen);
    let embeddings = candidates.means();
    // The excerpt is the sentence closest to the mean.
    let means = embeddings.chunks_exact(vectors.dimension());
    let entry = |(document, mean): (&usize, &[f32])| {
        let rows = vectors.document(*document).chunks_exact(mean.len());
        let excerpt = vectors.range(*document).start + nearest(rows, mean);
        Candidate {
            id: documents[*document].id.clone(),
            label: documents[*document].label.clone(),
            excerpt: sentences[excerpt].to_owned(),
        }
    };
    let entries = chosen.iter().zip(means).map(entry).collect();
    depth::add_sections(contents, &candidates, recoder.as_ref(), directions, seed)?;
    Ok(Selected {
        entries,
        embeddings,
        are: "documents",
        documents: read,
        sentences: sentences.len(),
        calibration: None,
        recognition: None,
    })
}

/// Keeps `most` of the elements, drawn uniformly, in their order.
fn thin(elements: &mut Vec<usize>, most: usize, rng: &mut PublicRng) {
    while elements.len() > most {
        let place = rng::below(rng, elements.len() as u128) as usize;
        elements.remove(place);
    }
}

/// Draws documents with enough sentences uniformly, by reservoir sampling. Returns them in corpus
/// order, with the number of documents read.
fn draw(
    corpus: impl Iterator<Item = Result<CorpusDocument>>,
    most: usize,
    min_sentences: usize,
    rng: &mut PublicRng,
) -> Result<(Vec<CorpusDocument>, usize)> {
    let mut drawn: Vec<(usize, CorpusDocument)> = Vec::new();
    let (mut read, mut fitting) = (0, 0usize);
    for document in corpus {
        let document = document?;
        read += 1;
        if sentences(&document.text).len() < min_sentences {
            continue;
        }
        fitting += 1;
        if drawn.len() < most {
            drawn.push((fitting, document));
        } else {
            let place = rng::below(rng, fitting as u128) as usize;
            if let Some(slot) = drawn.get_mut(place) {
                *slot = (fitting, document);
            }
        }
    }
    if drawn.is_empty() {
        return Err(no_candidates(read, min_sentences));
    }
    drawn.sort_by_key(|(order, _)| *order);
    let documents = drawn.into_iter().map(|(_, document)| document);
    Ok((documents.collect(), read))
}

/// The largest exponent at which no coordinate is clamped.
fn exponent(coordinates: &[f32]) -> i32 {
    exponent_of(coordinates.iter().fold(0f32, |most, x| most.max(x.abs())))
}

/// The largest exponent at which a coordinate of this size is not clamped.
fn exponent_of(largest: f32) -> i32 {
    if largest == 0.0 {
        return 0;
    }
    let exponent = (f32::from(i16::MAX) / largest).log2().floor() as i32;
    exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT)
}

/// The index of the row whose direction is closest to that of `target`.
fn nearest<'a>(rows: impl Iterator<Item = &'a [f32]>, target: &[f32]) -> usize {
    let cosines = rows.map(|row| cosine(row, target)).enumerate();
    let nearest = cosines.max_by(|(_, a), (_, b)| a.total_cmp(b));
    nearest.map_or(0, |(index, _)| index)
}

/// The cosine times the length of `target`; −∞ for a row of zeros.
fn cosine(row: &[f32], target: &[f32]) -> f32 {
    let dot: f32 = row.iter().zip(target).map(|(a, b)| a * b).sum();
    let norm: f32 = row.iter().map(|a| a * a).sum::<f32>().sqrt();
    if norm > 0.0 {
        dot / norm
    } else {
        f32::NEG_INFINITY
    }
}

/// No document can become a candidate.
fn no_candidates(read: usize, min_sentences: usize) -> Error {
    Error::input(match (read, min_sentences) {
        (0, _) => "the corpus has no documents".to_owned(),
        (_, 1) => format!("none of the {read} documents has a sentence; give another corpus"),
        _ => format!(
            "none of the {read} documents has {min_sentences} sentences; lower ⟨min-sentences⟩ or \
             give a larger corpus"
        ),
    })
}
