//! From a public corpus to a pack for devices and a list of candidates for the server.
//!
//! *Scores*, the default: one candidate for each label of the corpus, or for each cluster of its
//! documents; the device gets a head that scores a sentence for it. *Depth*: the candidates are documents
//! of the corpus, each embedded as the mean of its sentences' embeddings (Meehan, Mrini and Chaudhuri
//! 2022), and the device gets their bucketed projections. Nothing here sees private text, and nothing
//! chosen here can weaken the device's guarantee.

mod depth;
mod file;
mod recoder;
mod scores;

use std::collections::BTreeSet;

use undertone_core::pack::Pack;
use undertone_core::pack::format::MAX_DIMENSION;
use undertone_core::rng::{self, PublicRng};
use undertone_core::select::MAX_CANDIDATES;

use crate::candidates::{Candidate, Candidates};
use crate::corpus::CorpusDocument;
use crate::embeddings::Embeddings;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::heads::{self, Targets};
use crate::mechanism::{MAX_SENTENCES, sentences};
use crate::progress::Progress;
use crate::trained::{Recoder, ScoreHeads};
use crate::vectors::{DocumentVectors, mean};

pub use depth::{Directions, depth_pack};
pub use file::{
    DepthData, LayerData, LexiconData, PackContents, ProjectionData, RecoderData, ScoresData,
};
pub(crate) use file::{lexicon_pack, limit};
pub use scores::scores_pack;

/// Public choices that make a pack.
pub struct Options<'a> {
    /// What the device selects by.
    pub selector: Selector<'a>,
    /// Seed of everything that is drawn: candidates, directions, first centres of clusters.
    pub seed: u64,
}

impl Default for Options<'_> {
    /// Scores, for labels if there are any.
    fn default() -> Self {
        Self {
            selector: Selector::Scores {
                targets: TargetChoice::Labels,
                fit: &closed_form,
            },
            seed: 1,
        }
    }
}

/// What a device selects by, and how that is made from the corpus.
pub enum Selector<'a> {
    /// Bounded scores: one candidate for each label or cluster.
    Scores {
        /// What the candidates stand for.
        targets: TargetChoice,
        /// Makes the heads: [`heads::fit`], or training through the mechanism that starts there.
        fit: &'a FitHeads<'a>,
    },
    /// Depth: documents are candidates.
    Depth {
        /// m, how many documents become candidates at most; `1..=65536`.
        candidates: usize,
        /// A candidate has at least this many sentences; `1..=128`.
        min_sentences: usize,
        /// How the projection directions are chosen.
        directions: Directions,
        /// Trains a recoder on all documents.
        recoder: Option<&'a TrainRecoder<'a>>,
    },
}

/// [`heads::fit`], as [`Selector::Scores`] wants it.
///
/// # Errors
/// Those of [`heads::fit`].
pub fn closed_form(documents: &DocumentVectors, targets: &Targets) -> Result<ScoreHeads> {
    heads::fit(documents, &targets.of_documents, targets.classes)
}

/// Makes score heads from documents and the class of each.
pub type FitHeads<'a> = dyn Fn(&DocumentVectors, &Targets) -> Result<ScoreHeads> + 'a;

/// Makes a recoder from documents.
pub type TrainRecoder<'a> = dyn Fn(&DocumentVectors) -> Result<Recoder> + 'a;

/// Candidates of depth at most, as published.
pub const CANDIDATES: usize = 5000;

/// Sentences that a candidate of depth has at least, as published.
pub const MIN_SENTENCES: usize = 8;

/// Random projection directions: in the middle of the published range.
pub const DIRECTIONS: usize = 50;

impl Selector<'_> {
    /// Depth with the published numbers, without a recoder.
    pub const DEPTH: Self = Self::Depth {
        candidates: CANDIDATES,
        min_sentences: MIN_SENTENCES,
        directions: Directions::Random(DIRECTIONS),
        recoder: None,
    };
}

/// What the candidates of scores stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetChoice {
    /// The labels of the corpus, if every document has one and there are two different ones at least;
    /// else clusters.
    Labels,
    /// So many clusters of documents (`None`: as many as [`heads::clusters_as_targets`] makes).
    Clusters(Option<usize>),
}

/// A pack and what the server needs to read releases under it.
#[derive(Clone, Debug)]
pub struct Built {
    /// The bytes of the pack.
    pub pack: Vec<u8>,
    /// The candidates, with their embeddings.
    pub candidates: Candidates,
    /// Documents read from the corpus.
    pub documents_read: usize,
    /// Sentences encoded.
    pub sentences: usize,
    /// What a candidate is: a label, a cluster, a document.
    pub candidates_are: &'static str,
}

/// The largest exponent of the format.
const MAX_EXPONENT: i32 = 24;

/// Builds a pack from a public corpus.
///
/// Scores and recoders are made from all documents. Depth alone draws its candidates from the documents
/// with enough sentences uniformly (all, if there are fewer), so memory does not grow with the corpus.
/// Sentences behind the first [`MAX_SENTENCES`] of a document are left out, as on a device.
///
/// # Errors
/// Errors of the corpus, the encoder, and what makes heads and recoders; [`Error::NoCandidates`] if no
/// document has enough sentences; [`Error::PackLimit`] for options outside their range;
/// [`Error::NotFinite`] if the encoder gives NaN or ∞ for a public sentence.
pub fn build(
    corpus: impl Iterator<Item = Result<CorpusDocument>>,
    encoder: &dyn Encoder,
    lexicon: Option<LexiconData>,
    options: &Options<'_>,
) -> Result<Built> {
    let dimension = encoder.dimension();
    limit(
        "coordinates of an embedding",
        dimension,
        1,
        MAX_DIMENSION as usize,
    )?;
    let mut rng = PublicRng::new(options.seed);
    let (most, min_sentences) = match options.selector {
        Selector::Scores { .. } => (usize::MAX, 1),
        Selector::Depth {
            candidates,
            min_sentences,
            recoder,
            ..
        } => {
            limit("candidates", candidates, 1, MAX_CANDIDATES as usize)?;
            limit(
                "sentences that a candidate has at least",
                min_sentences,
                1,
                MAX_SENTENCES,
            )?;
            match recoder {
                None => (candidates, min_sentences),
                Some(_) => (usize::MAX, 1),
            }
        }
    };
    let (documents, documents_read) = draw(corpus, most, min_sentences, &mut rng)?;
    let encoded = Embeddings::of(encoder, &documents, |sentences| {
        Progress::new("encoding sentences", sentences)
    })?;
    if let Some(position) = encoded.vectors().rows().iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite {
            encoder: encoder.identity().name.clone(),
            sentence: position / dimension,
        });
    }

    let n_sentences = encoded.sentences().len();
    let mut contents = PackContents {
        dimension,
        encoder: encoder.identity().clone(),
        recoder: None,
        scores: None,
        depth: None,
        lexicon,
        projection: None,
    };
    let (entries, embeddings, candidates_are) = match &options.selector {
        Selector::Scores { targets, fit } => {
            let (targets, names) = class_names(&documents, &encoded, *targets, options.seed)?;
            let (entries, embeddings) = classes(&encoded, &targets, names.as_deref());
            let vectors = encoded.into_vectors();
            contents.scores = Some(scores::scores_data(
                vectors.rows(),
                &fit(&vectors, &targets)?,
            ));
            let are = if names.is_some() {
                "labels"
            } else {
                "clusters"
            };
            (entries, embeddings, are)
        }
        Selector::Depth {
            candidates,
            min_sentences,
            directions,
            recoder,
        } => {
            let fitting = encoded.by_document().enumerate();
            let mut chosen: Vec<usize> = fitting
                .filter(|(_, (_, sentences, _))| sentences.len() >= *min_sentences)
                .map(|(index, _)| index)
                .collect();
            thin(&mut chosen, *candidates, &mut rng);
            if chosen.is_empty() {
                return Err(Error::NoCandidates {
                    read: documents_read,
                    min_sentences: *min_sentences,
                });
            }
            let (entries, embeddings) = documents_of(&encoded, &chosen);
            let vectors = encoded.into_vectors();
            let recoder = recoder.map(|train| train(&vectors)).transpose()?;
            let (recoder, depth) = depth::sections(
                &vectors.subset(&chosen),
                recoder.as_ref(),
                *directions,
                options.seed,
            )?;
            contents.recoder = recoder;
            contents.depth = Some(depth);
            (entries, embeddings, "documents")
        }
    };
    let pack = contents.to_bytes()?;
    let digest = *Pack::parse(&pack).map_err(Error::PackBytes)?.digest();
    Ok(Built {
        candidates: Candidates {
            pack_digest: digest,
            encoder: encoder.identity().clone(),
            dimension,
            embeddings,
            entries,
        },
        pack,
        documents_read,
        sentences: n_sentences,
        candidates_are,
    })
}

/// The class of every document, and the names of the classes if they are labels.
fn class_names(
    documents: &[CorpusDocument],
    encoded: &Embeddings<'_>,
    choice: TargetChoice,
    seed: u64,
) -> Result<(Targets, Option<Vec<String>>)> {
    let labels: Option<Vec<&str>> = documents.iter().map(|d| d.label.as_deref()).collect();
    let clusters = match (choice, labels) {
        (TargetChoice::Clusters(clusters), _) => clusters,
        (TargetChoice::Labels, None) => None,
        (TargetChoice::Labels, Some(labels)) => {
            let names: BTreeSet<&str> = labels.iter().copied().collect();
            if names.len() >= 2 {
                let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                let class = |label: &&str| names.partition_point(|name| name.as_str() < *label);
                let targets = Targets {
                    of_documents: labels.iter().map(class).collect(),
                    classes: names.len(),
                };
                return Ok((targets, Some(names)));
            }
            None
        }
    };
    let targets = heads::clusters_as_targets(encoded.vectors(), clusters, seed)?;
    Ok((targets, None))
}

/// One candidate for each class: the mean of its documents' embeddings, and the sentence closest to it.
fn classes(
    encoded: &Embeddings<'_>,
    targets: &Targets,
    names: Option<&[String]>,
) -> (Vec<Candidate>, Vec<f32>) {
    let dimension = encoded.vectors().dimension();
    let mut entries = Vec::new();
    let mut embeddings = Vec::new();
    for class in 0..targets.classes {
        let own = || {
            let documents = encoded.by_document().zip(&targets.of_documents);
            documents
                .filter(|(_, target)| **target == class)
                .map(|((_, sentences, rows), _)| (sentences, rows))
        };
        let means: Vec<f32> = own().flat_map(|(_, rows)| mean(rows, dimension)).collect();
        let centre = mean(&means, dimension);
        let sentences: Vec<&str> = own()
            .flat_map(|(sentences, _)| sentences)
            .copied()
            .collect();
        let rows = own().flat_map(|(_, rows)| rows.chunks_exact(dimension));
        entries.push(Candidate {
            id: names.map_or_else(|| format!("cluster-{class}"), |names| names[class].clone()),
            label: names.map(|names| names[class].clone()),
            excerpt: sentences[nearest(rows, &centre)].to_owned(),
        });
        embeddings.extend(centre);
    }
    (entries, embeddings)
}

/// The chosen documents as candidates: the mean of their sentences, and the sentence closest to it.
fn documents_of(encoded: &Embeddings<'_>, chosen: &[usize]) -> (Vec<Candidate>, Vec<f32>) {
    let dimension = encoded.vectors().dimension();
    let mut entries = Vec::new();
    let mut embeddings = Vec::new();
    let mut wanted = chosen.iter().peekable();
    for (index, (document, sentences, rows)) in encoded.by_document().enumerate() {
        if wanted.next_if(|next| **next == index).is_none() {
            continue;
        }
        let mean = mean(rows, dimension);
        entries.push(Candidate {
            id: document.id.clone(),
            label: document.label.clone(),
            excerpt: sentences[nearest(rows.chunks_exact(dimension), &mean)].to_owned(),
        });
        embeddings.extend_from_slice(&mean);
    }
    (entries, embeddings)
}

/// Keeps `most` of the elements, drawn uniformly, in their order.
fn thin(elements: &mut Vec<usize>, most: usize, rng: &mut PublicRng) {
    while elements.len() > most {
        let place = rng::below(rng, elements.len() as u128) as usize;
        elements.remove(place);
    }
}

/// Reservoir sampling: a uniform draw of documents with enough sentences, in corpus order, and the
/// number of documents read.
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
        return Err(Error::NoCandidates {
            read,
            min_sentences,
        });
    }
    drawn.sort_by_key(|(order, _)| *order);
    Ok((
        drawn.into_iter().map(|(_, document)| document).collect(),
        read,
    ))
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

/// The row whose direction is closest to that of `target`.
fn nearest<'a>(rows: impl Iterator<Item = &'a [f32]>, target: &[f32]) -> usize {
    let cosine = |row: &[f32]| {
        let dot: f32 = row.iter().zip(target).map(|(a, b)| a * b).sum();
        let norm: f32 = row.iter().map(|a| a * a).sum::<f32>().sqrt();
        if norm > 0.0 {
            dot / norm
        } else {
            f32::NEG_INFINITY
        }
    };
    rows.map(cosine)
        .enumerate()
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(0, |(index, _)| index)
}
