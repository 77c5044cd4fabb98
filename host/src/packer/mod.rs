//! From a public corpus to a pack for devices and a list of candidates for the server.
//!
//! The candidates are documents of a public corpus, each embedded as the mean of its sentences'
//! embeddings (Meehan, Mrini and Chaudhuri 2022). The device gets only their bucketed projections.
//! Nothing here sees private text, and nothing chosen here can weaken the device's guarantee.

mod file;

use rand_distr::{Distribution, StandardNormal};
use undertone_core::pack::format::{BOUNDARIES, MAX_DIMENSION};
use undertone_core::pack::{DepthSection, Pack};
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{self, PublicRng};
use undertone_core::select::MAX_CANDIDATES;

use crate::candidates::{Candidate, Candidates};
use crate::corpus::CorpusDocument;
use crate::embeddings::Embeddings;
use crate::encoder::{Encoder, EncoderIdentity};
use crate::error::{Error, Result};
use crate::mechanism::{MAX_DIRECTIONS, MAX_SENTENCES, sentences};
use crate::progress::Progress;
use crate::vectors::{mean, principal};

pub(crate) use file::limit;
pub use file::{DepthData, LayerData, LexiconData, PackContents, RecoderData, ScoresData};

/// Public choices that make a pack.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// m, how many documents become candidates at most; `1..=65536`.
    pub candidates: usize,
    /// p, how many projection directions; `1..=100`.
    pub directions: usize,
    /// A candidate has at least this many sentences; `1..=128`.
    pub min_sentences: usize,
    /// Seed of the choice of documents and of the directions.
    pub seed: u64,
}

impl Default for Options {
    /// 5000 candidates of at least 8 sentences, 50 directions.
    fn default() -> Self {
        Self {
            candidates: 5000,
            directions: 50,
            min_sentences: 8,
            seed: 1,
        }
    }
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
}

/// Weights of a random direction are Gaussian with this standard deviation before they are rounded
/// to 16 bits: beyond eight standard deviations they are clamped.
const DIRECTION_SCALE: f64 = 4096.0;

/// The largest exponent of the format.
const MAX_EXPONENT: i32 = 24;

/// Builds a pack from a public corpus.
///
/// Draws `options.candidates` of the documents with enough sentences uniformly (all, if there are
/// fewer), so memory does not grow with the corpus. Sentences behind the first
/// [`MAX_SENTENCES`] of a document are left out, as on a device.
///
/// # Errors
/// Errors of the corpus and the encoder; [`Error::NoCandidates`] if no document has enough
/// sentences; [`Error::PackLimit`] for options outside their range; [`Error::NotFinite`] if the
/// encoder gives NaN or ∞ for a public sentence.
pub fn build(
    corpus: impl Iterator<Item = Result<CorpusDocument>>,
    encoder: &dyn Encoder,
    lexicon: Option<LexiconData>,
    options: &Options,
) -> Result<Built> {
    limit("candidates", options.candidates, 1, MAX_CANDIDATES as usize)?;
    limit(
        "projection directions",
        options.directions,
        1,
        MAX_DIRECTIONS,
    )?;
    limit(
        "sentences that a candidate has at least",
        options.min_sentences,
        1,
        MAX_SENTENCES,
    )?;
    limit(
        "coordinates of an embedding",
        encoder.dimension(),
        1,
        MAX_DIMENSION as usize,
    )?;
    let mut rng = PublicRng::new(options.seed);
    let (documents, documents_read) = draw(corpus, options, &mut rng)?;

    let encoded = Embeddings::of(encoder, &documents, |sentences| {
        Progress::new("encoding sentences", sentences)
    })?;
    let dimension = encoder.dimension();
    if let Some(position) = encoded.rows().iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite {
            encoder: encoder.identity().name.clone(),
            sentence: position / dimension,
        });
    }

    let mut candidates = Vec::with_capacity(documents.len());
    let mut embeddings = Vec::with_capacity(documents.len() * dimension);
    for (document, sentences, rows) in encoded.by_document() {
        let mean = mean(rows, dimension);
        candidates.push(Candidate {
            id: document.id.clone(),
            label: document.label.clone(),
            excerpt: sentences[nearest(rows, &mean)].to_owned(),
        });
        embeddings.extend_from_slice(&mean);
    }

    let depth = depth_data(
        encoded.rows(),
        &embeddings,
        dimension,
        random_directions(options.directions, dimension, &mut rng),
    )?;
    let pack = PackContents {
        dimension,
        encoder: encoder.identity().clone(),
        recoder: None,
        scores: None,
        depth: Some(depth),
        lexicon,
    }
    .to_bytes()?;
    let digest = *Pack::parse(&pack).map_err(Error::PackBytes)?.digest();
    Ok(Built {
        candidates: Candidates {
            pack_digest: digest,
            encoder: encoder.identity().clone(),
            dimension,
            embeddings,
            entries: candidates,
        },
        pack,
        documents_read,
        sentences: encoded.sentences().len(),
    })
}

/// Reservoir sampling: a uniform draw of documents with enough sentences, in corpus order, and the
/// number of documents read.
fn draw(
    corpus: impl Iterator<Item = Result<CorpusDocument>>,
    options: &Options,
    rng: &mut PublicRng,
) -> Result<(Vec<CorpusDocument>, usize)> {
    let mut drawn: Vec<(usize, CorpusDocument)> = Vec::new();
    let (mut read, mut fitting) = (0, 0usize);
    for document in corpus {
        let document = document?;
        read += 1;
        if sentences(&document.text).len() < options.min_sentences {
            continue;
        }
        fitting += 1;
        if drawn.len() < options.candidates {
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
            min_sentences: options.min_sentences,
        });
    }
    drawn.sort_by_key(|(order, _)| *order);
    Ok((
        drawn.into_iter().map(|(_, document)| document).collect(),
        read,
    ))
}

/// How the projection directions of a pack are chosen: by anything public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// So many random ones, as published.
    Random(usize),
    /// So many principal directions of the candidates' embeddings.
    Principal(usize),
}

/// A pack for embeddings that are there already, for experiments that try many packs.
///
/// `sentences`, `[..][dimension]`, are public sentence vectors, which say how large a coordinate gets;
/// `candidates`, `[m][dimension]`, are the candidates' embeddings. Both row-major. Random directions come
/// from `seed`.
///
/// # Errors
/// [`Error::PackLimit`] for a number of candidates, directions or coordinates that a pack cannot have.
pub fn pack_of_embeddings(
    encoder: &EncoderIdentity,
    dimension: usize,
    sentences: &[f32],
    candidates: &[f32],
    directions: Directions,
    seed: u64,
) -> Result<Vec<u8>> {
    limit("coordinates", dimension, 1, MAX_DIMENSION as usize)?;
    let m = candidates.len() / dimension;
    limit("candidates", m, 1, MAX_CANDIDATES as usize)?;
    let directions = match directions {
        Directions::Random(n) => {
            limit("projection directions", n, 1, MAX_DIRECTIONS)?;
            random_directions(n, dimension, &mut PublicRng::new(seed))
        }
        Directions::Principal(n) => {
            limit("projection directions", n, 1, MAX_DIRECTIONS.min(dimension))?;
            principal_directions(candidates, dimension, n)
        }
    };
    let depth = depth_data(sentences, candidates, dimension, directions)?;
    PackContents {
        dimension,
        encoder: encoder.clone(),
        depth: Some(depth),
        lexicon: None,
    }
    .to_bytes()
}

/// `[n][dimension]` Gaussian weights.
fn random_directions(n: usize, dimension: usize, rng: &mut impl Rng) -> Vec<i16> {
    let limit = f64::from(i16::MAX);
    let weights = (0..n * dimension).map(|_| {
        let weight: f64 = StandardNormal.sample(rng);
        (weight * DIRECTION_SCALE).round().clamp(-limit, limit) as i16
    });
    weights.collect()
}

/// `[n][dimension]`, each as long as 16 bits allow: depth does not change with the length of a direction.
fn principal_directions(rows: &[f32], dimension: usize, n: usize) -> Vec<i16> {
    let (_, directions) = principal(rows, dimension, n);
    let rounded = directions.column_iter().flat_map(|direction| {
        let scale = f64::from(i16::MAX) / direction.amax();
        let rounded: Vec<i16> = direction
            .iter()
            .map(|x| (x * scale).round() as i16)
            .collect();
        rounded
    });
    rounded.collect()
}

/// Bucket boundaries and codes for the depth mechanism with these directions, `[p][dimension]`.
fn depth_data(
    sentences: &[f32],
    candidates: &[f32],
    dimension: usize,
    directions: Vec<i16>,
) -> Result<DepthData> {
    let m = candidates.len() / dimension;
    let n_directions = directions.len() / dimension;
    let mut data = DepthData {
        candidates: m,
        exponent: exponent(sentences),
        shift: 0,
        directions,
        boundaries: vec![0; n_directions * BOUNDARIES],
        codes: vec![0; n_directions * m],
    };

    // Projections come from the section itself, so that the device's arithmetic is the only one.
    let rows = with_section(&data, dimension, |section| {
        let mut row = vec![0i64; n_directions];
        candidates
            .chunks_exact(dimension)
            .map(|candidate| {
                section.projections(None, candidate, &mut row);
                row.clone()
            })
            .collect::<Vec<_>>()
    })?;
    // Room for private sentences that project four times as far as the public candidates do.
    let largest = rows
        .iter()
        .flatten()
        .map(|x| x.unsigned_abs())
        .max()
        .unwrap_or(0);
    data.shift = (66 - largest.leading_zeros()).saturating_sub(31).min(31);
    data.boundaries = with_section(&data, dimension, |section| {
        let mut boundaries = Vec::with_capacity(n_directions * BOUNDARIES);
        for direction in 0..n_directions {
            let inputs = rows.iter().map(|row| section.bucket_input(row[direction]));
            let mut inputs: Vec<i32> = inputs.collect();
            inputs.sort_unstable();
            boundaries.extend((1..=BOUNDARIES).map(|code| inputs[code * m / (BOUNDARIES + 1)]));
        }
        boundaries
    })?;
    data.codes = with_section(&data, dimension, |section| {
        let mut codes = vec![0; n_directions * m];
        let mut own = vec![0; n_directions];
        for (candidate, row) in rows.iter().enumerate() {
            section.codes_of(row, &mut own);
            for (direction, code) in own.iter().enumerate() {
                codes[direction * m + candidate] = *code;
            }
        }
        codes
    })?;
    Ok(data)
}

/// Lets `look` see the section that `data` makes.
fn with_section<T>(
    data: &DepthData,
    dimension: usize,
    look: impl FnOnce(DepthSection<'_>) -> T,
) -> Result<T> {
    let draft = PackContents {
        dimension,
        encoder: EncoderIdentity {
            name: String::new(),
            digest: [0; 32],
        },
        recoder: None,
        scores: None,
        depth: Some(data.clone()),
        lexicon: None,
    };
    let bytes = draft.to_bytes()?;
    let pack = Pack::parse(&bytes).map_err(Error::PackBytes)?;
    let section = pack
        .depth()
        .expect("a pack with depth data has a depth section");
    Ok(look(section))
}

/// The largest exponent at which no public coordinate is clamped.
fn exponent(coordinates: &[f32]) -> i32 {
    let largest = coordinates.iter().fold(0f32, |most, x| most.max(x.abs()));
    if largest == 0.0 {
        return 0;
    }
    let exponent = (f32::from(i16::MAX) / largest).log2().floor() as i32;
    exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT)
}

/// The row whose direction is closest to that of `target`.
fn nearest(rows: &[f32], target: &[f32]) -> usize {
    let cosine = |row: &[f32]| {
        let dot: f32 = row.iter().zip(target).map(|(a, b)| a * b).sum();
        let norm: f32 = row.iter().map(|a| a * a).sum::<f32>().sqrt();
        if norm > 0.0 {
            dot / norm
        } else {
            f32::NEG_INFINITY
        }
    };
    rows.chunks_exact(target.len())
        .map(cosine)
        .enumerate()
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(0, |(index, _)| index)
}
