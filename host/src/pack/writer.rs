//! The bytes of packs, as specified in `FORMAT.md` of the core crate, which defines every field.

use std::collections::BTreeMap;

use undertone_core::epsilon::Epsilon;
use undertone_core::features::{FeatureKinds, ROWS_PER_START, place};
use undertone_core::lexicon::{Lexicon, MAX_LEXICON_DIMENSION, MAX_WORD_BYTES, Matching};
use undertone_core::pack::format::{
    ALIGNMENT, BOUNDARIES, DEPTH_TAG, DepthHead, Entry, FEATURES_ALONE, FEATURES_PAIRS,
    FEATURES_SYMBOLS, FEATURES_TAG, FEATURES_WHOLE, FEATURES_WORDS, FeaturesHead, Header,
    LEXICON_LONGEST, LEXICON_TAG, LEXICON_WORDS, LexiconHead, MAGIC, MAJOR, MAX_DIMENSION,
    MAX_DIRECTIONS, MAX_FEATURES, MAX_LAYERS, MAX_PHRASES, MAX_ROWS, MAX_WIDTH, MAX_WORDS, MINOR,
    MINOR_OF_PHRASES, PHRASES_TAG, PROJECTION_TAG, PhrasesHead, ProjectionHead, QUALITY_TAG,
    QualityHead, RECODER_TAG, RULES_FOR_WORDS, RecoderHead, SCORES_FEATURES, SCORES_GRADED,
    SCORES_KNOWN, SCORES_TAG, SCORES_VOTE, ScoresHead,
};
use undertone_core::pack::{self, Pack};
use undertone_core::quality::Quality;
use undertone_core::scores::LEVELS;
use undertone_core::select::MAX_CANDIDATES;
use undertone_core::unit::Unit;
use zerocopy::little_endian::{I16, I32, I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::encoder::EncoderIdentity;
use crate::encoder::lexicon::digest;
use crate::error::{Error, Result};

/// The depth section.
#[derive(Clone, Debug)]
pub struct DepthData {
    /// The number of candidates, m.
    pub candidates: usize,
    /// A coordinate x becomes round(x · 2^exponent).
    pub exponent: i32,
    /// Projections are shifted right by this many bits.
    pub shift: u32,
    /// `[p][dimension]`.
    pub directions: Vec<i16>,
    /// `[p][255]`.
    pub boundaries: Vec<i32>,
    /// `[p][m]`.
    pub codes: Vec<u8>,
}

/// The scores section.
#[derive(Clone, Debug)]
pub struct ScoresData {
    /// A coordinate x becomes round(x · 2^exponent).
    pub exponent: i32,
    /// `[inputs]`.
    pub centre: Vec<i16>,
    /// `[m][inputs]`.
    pub weights: Vec<i8>,
    /// `[m]`, in 256ths.
    pub bias: Vec<i32>,
    /// `[Q]`, in 256ths. If empty, the best head gets one vote.
    pub thresholds: Vec<i32>,
    /// The number of levels, L; `2..=160`.
    pub levels: usize,
    /// Whether "nothing known" is an outcome of releases for the whole text. Else there are at
    /// least 2 candidates.
    pub has_nothing_known: bool,
}

impl ScoresData {
    /// The best candidate of a text in which nothing is recognised, without "nothing known": the
    /// first with the largest bias.
    pub(super) fn without_text(&self) -> u32 {
        let most = self.bias.iter().max();
        let first = self.bias.iter().position(|bias| Some(bias) == most);
        first.unwrap_or(0) as u32
    }
}

/// The features section.
#[derive(Clone, Debug)]
pub struct FeaturesData {
    /// The kinds of features.
    pub kinds: FeatureKinds,
    /// Whether the pack has no encoder.
    pub alone: bool,
    /// Whether a text is one sentence; only without an encoder.
    pub whole: bool,
    /// Values are shifted right by this many bits.
    pub shift: u8,
    /// The hash of each feature, and its weights, `[m]`. Of two with the same key the first counts.
    pub rows: Vec<(u32, Vec<i8>)>,
    /// `[m]`.
    pub scales: Vec<u16>,
}

impl FeaturesData {
    /// About 16 features share a bucket: with 24 bits or more, unknown features are seldom mistaken
    /// for known ones.
    fn bucket_bits(features: usize) -> u32 {
        let buckets = features.div_ceil(16).next_power_of_two();
        buckets.ilog2().clamp(8, 16)
    }

    /// The most bytes of a section with this number of features and of weights that are not 0.
    pub fn bytes(features: usize, weights: usize, candidates: usize) -> usize {
        let parts = [
            size_of::<FeaturesHead>(),
            4 * ((1 << Self::bucket_bits(features)) + 1),
            2 * features,
            features * candidates.div_ceil(8),
            4 * features.div_ceil(ROWS_PER_START),
            weights,
            2 * candidates,
        ];
        let aligned = parts.map(|bytes| bytes.next_multiple_of(ALIGNMENT));
        aligned.iter().sum()
    }
}

/// The quality section.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityData {
    /// Ascending.
    pub epsilons: Vec<Epsilon>,
    /// Numbers of sentences; 0 for the public texts as they are.
    pub lengths: Vec<u32>,
    /// `[2][epsilons][lengths]`, each `0..=1`: by sentence, then by whole text; `None` if not
    /// measured.
    pub accuracies: Vec<Option<f64>>,
    /// `[lengths]`: the accuracy of the best candidate.
    pub noiseless: Vec<Option<f64>>,
}

impl QualityData {
    /// Copies a table from a pack.
    pub fn from_view(quality: &Quality<'_>) -> Self {
        let share = |measured: Option<u16>| measured.map(|share| f64::from(share) / 65_534.0);
        let epsilons: Vec<Epsilon> = quality.epsilons().collect();
        let lengths: Vec<u32> = quality.lengths().collect();
        let mut accuracies = Vec::new();
        for unit in [Unit::Sentence, Unit::WholeText] {
            for epsilon in 0..epsilons.len() {
                let row = (0..lengths.len()).map(|length| quality.accuracy(unit, epsilon, length));
                accuracies.extend(row.map(share));
            }
        }
        let noiseless = (0..lengths.len()).map(|length| share(quality.noiseless(length)));
        Self {
            noiseless: noiseless.collect(),
            epsilons,
            lengths,
            accuracies,
        }
    }

    /// Returns the share of right releases; `epsilon` and `length` are indices. `None` for words
    /// and vectors, which have no candidates.
    pub fn accuracy(&self, unit: Unit, epsilon: usize, length: usize) -> Option<f64> {
        let table = match unit {
            Unit::Sentence => 0,
            Unit::WholeText => 1,
            Unit::Word | Unit::Vector => return None,
        };
        let row = table * self.epsilons.len() + epsilon;
        self.accuracies[row * self.lengths.len() + length]
    }
}

/// The recoder section.
#[derive(Clone, Debug)]
pub struct RecoderData {
    /// A coordinate x becomes round(x · 2^exponent).
    pub exponent: i32,
    /// The layers, first to last.
    pub layers: Vec<LayerData>,
}

impl RecoderData {
    /// The number of output coordinates.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.bias.len())
    }
}

/// One layer of a recoder.
#[derive(Clone, Debug)]
pub struct LayerData {
    /// `[outputs][inputs]`.
    pub weights: Vec<i16>,
    /// `[outputs]`.
    pub bias: Vec<i64>,
    /// Sums are shifted right by this many bits.
    pub shift: u32,
}

/// The lexicon section.
#[derive(Clone, Debug)]
pub struct LexiconData {
    /// The matching of words in a text.
    pub matching: Matching,
    /// A sentence coordinate is its fixed-point value times 2^exponent.
    pub exponent: i32,
    /// Word, weight and vector, in strictly ascending byte order of the words.
    pub words: Vec<(String, u16, Vec<i8>)>,
    /// The indices of two words, weight and vector, in strictly ascending order of the indices.
    /// Empty unless words are matched whole.
    pub phrases: Vec<([u16; 2], u16, Vec<i8>)>,
}

/// The bytes of the end, the weight and the text of a word.
fn bytes_of_text((word, ..): &(String, u16, Vec<i8>)) -> usize {
    size_of::<u32>() + size_of::<u16>() + word.len()
}

/// The fewest coordinates of a useful lexicon.
const LEAST_COORDINATES: usize = 48;

impl LexiconData {
    /// Makes a pack with only this lexicon, of vectors with `dimension` coordinates. The lexicon is
    /// its encoder.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a size that the format does
    /// not allow.
    pub fn to_pack(self, name: &str, dimension: usize) -> Result<Vec<u8>> {
        let mut contents = PackContents::new(dimension, EncoderIdentity::default());
        contents.encoder.name = name.to_owned();
        contents.lexicon = Some(self);
        let draft = contents.to_bytes()?;
        let lexicon = Pack::parse(&draft).map_err(Error::from)?.lexicon();
        contents.encoder.digest = digest(&lexicon.expect("the draft has a lexicon"));
        contents.to_bytes()
    }

    /// Shrinks the lexicon to at most `bytes` by dropping the phrases first, then the last
    /// coordinates, down to 48, then the rarest words.
    ///
    /// # Shapes
    /// The coordinates of a distilled lexicon are in descending order of importance.
    pub fn within(mut self, bytes: usize) -> Self {
        let coordinates = self.words.first().map_or(0, |(_, _, vector)| vector.len());
        let phrases = self.phrases.len() * (3 * size_of::<u16>() + coordinates);
        let texts: usize = self.words.iter().map(bytes_of_text).sum();
        let words = self.words.len().max(1);
        if texts + words * coordinates + phrases <= bytes {
            return self;
        }
        self.phrases.clear();
        let fitting = bytes.saturating_sub(texts) / words;
        let coordinates = fitting.max(LEAST_COORDINATES).min(coordinates);
        for (_, _, vector) in &mut self.words {
            vector.truncate(coordinates);
        }
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_by_key(|index| self.words[*index].1);
        let mut taken = 0;
        let mut kept = vec![false; order.len()];
        for index in order {
            taken += bytes_of_text(&self.words[index]) + coordinates;
            kept[index] = taken <= bytes;
        }
        let mut kept = kept.into_iter();
        self.words.retain(|_| kept.next() == Some(true));
        self
    }

    /// Returns the lexicon for a pack of at most `size` bytes, as a pack of its own. A quarter is
    /// left for other parts. `None` if no word fits.
    ///
    /// # Errors
    /// The errors of [`to_pack`](Self::to_pack).
    pub fn leaving_room(self, name: &str, size: usize) -> Result<Option<Vec<u8>>> {
        let own = self.within(size / 4 * 3);
        let coordinates = own.words.first().map(|(_, _, vector)| vector.len());
        let pack = coordinates.map(|coordinates| own.to_pack(name, coordinates));
        pack.transpose()
    }

    /// The least size for which [`leaving_room`](Self::leaving_room) returns a lexicon, of the most
    /// frequent word.
    #[doc(hidden)]
    pub fn least_size(&self) -> usize {
        let first = self.words.iter().min_by_key(|(_, weight, _)| *weight);
        let bytes = |own| bytes_of_text(own) + own.2.len().min(LEAST_COORDINATES);
        first.map_or(0, bytes).div_ceil(3) * 4
    }

    /// Copies a lexicon from a pack.
    pub fn from_view(lexicon: &Lexicon<'_>) -> Self {
        let word = |index| {
            let (weight, vector) = lexicon.entry(index)?;
            Some((lexicon.word(index)?.to_owned(), weight, vector.to_vec()))
        };
        let phrase = |index| {
            let (weight, vector) = lexicon.phrase_entry(index)?;
            // There are at most 2^16 words.
            let words = lexicon.phrase(index)?.map(|word| word as u16);
            Some((words, weight, vector.to_vec()))
        };
        Self {
            matching: lexicon.matching(),
            exponent: lexicon.exponent(),
            words: (0..lexicon.word_count()).filter_map(word).collect(),
            phrases: (0..lexicon.phrase_count()).filter_map(phrase).collect(),
        }
    }
}

/// The projection section.
#[derive(Clone, Debug)]
pub struct ProjectionData {
    /// An entry of the matrix is its integer times 2^exponent.
    pub exponent: i32,
    /// The coordinates of the embeddings lie within ±2^bound_exponent.
    pub bound_exponent: i32,
    /// `[m][dimension]`.
    pub rows: Vec<i16>,
}

/// A pack before serialisation.
#[derive(Clone, Debug)]
pub struct PackContents {
    /// d, the number of coordinates of an embedding.
    pub dimension: usize,
    /// The encoder of the embeddings.
    pub encoder: EncoderIdentity,
    /// The network between encoder and selector.
    pub recoder: Option<RecoderData>,
    /// Candidates for selection by scores.
    pub scores: Option<ScoresData>,
    /// The contribution of a sentence's features to the scores.
    pub features: Option<FeaturesData>,
    /// The measured quality of the pack.
    pub quality: Option<QualityData>,
    /// Candidates for selection by depth.
    pub depth: Option<DepthData>,
    /// Word vectors.
    pub lexicon: Option<LexiconData>,
    /// A projection for private vectors.
    pub projection: Option<ProjectionData>,
}

impl PackContents {
    /// A pack without sections.
    pub(crate) fn new(dimension: usize, encoder: EncoderIdentity) -> Self {
        Self {
            dimension,
            encoder,
            recoder: None,
            scores: None,
            features: None,
            quality: None,
            depth: None,
            lexicon: None,
            projection: None,
        }
    }

    /// Serialises the pack. The bytes parse.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if a size is outside the format's
    /// limits.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        limit("coordinates", self.dimension, 1, MAX_DIMENSION as usize)?;
        let mut sections: Vec<([u8; 4], Vec<u8>)> = Vec::new();
        if let Some(recoder) = &self.recoder {
            sections.push((RECODER_TAG, self.recoder_section(recoder)?));
        }
        if let Some(scores) = &self.scores {
            sections.push((SCORES_TAG, self.scores_section(scores)?));
        }
        if let Some(features) = &self.features {
            sections.push((FEATURES_TAG, features_section(features)?));
        }
        if let Some(quality) = &self.quality {
            sections.push((QUALITY_TAG, quality_section(quality)));
        }
        if let Some(depth) = &self.depth {
            sections.push((DEPTH_TAG, self.depth_section(depth)?));
        }
        if let Some(lexicon) = &self.lexicon {
            sections.push((LEXICON_TAG, self.lexicon_section(lexicon)?));
            if !lexicon.phrases.is_empty() {
                sections.push((PHRASES_TAG, self.phrases_section(lexicon)?));
            }
        }
        if let Some(projection) = &self.projection {
            sections.push((PROJECTION_TAG, self.projection_section(projection)?));
        }

        let mut encoder_name = [0; 32];
        let name = self.encoder.name.as_str();
        let name = &name[..name.floor_char_boundary(encoder_name.len())];
        encoder_name[..name.len()].copy_from_slice(name.as_bytes());

        let mut entries = Vec::new();
        let mut body = Vec::new();
        let table_end = size_of::<Header>() + sections.len() * size_of::<Entry>();
        for (tag, bytes) in &sections {
            let offset = (table_end + body.len()).next_multiple_of(ALIGNMENT);
            body.resize(offset - table_end, 0);
            body.extend_from_slice(bytes);
            entries.push(Entry {
                tag: *tag,
                reserved: 0.into(),
                offset: (offset as u64).into(),
                length: (bytes.len() as u64).into(),
            });
        }
        let mut rest = entries.as_bytes().to_vec();
        rest.append(&mut body);
        let mut header = Header {
            magic: MAGIC,
            major: MAJOR.into(),
            minor: self.minor().into(),
            section_count: (sections.len() as u32).into(),
            length: ((size_of::<Header>() + rest.len()) as u64).into(),
            dimension: (self.dimension as u32).into(),
            reserved: 0.into(),
            digest: [0; 32],
            encoder_digest: self.encoder.digest,
            encoder_name,
        };
        header.digest = pack::digest(&header, &rest);
        let mut bytes = header.as_bytes().to_vec();
        bytes.append(&mut rest);
        // The reader defines what a pack is.
        Pack::parse(&bytes).map_err(Error::from)?;
        Ok(bytes)
    }

    /// The oldest minor version that supports all sections.
    fn minor(&self) -> u16 {
        let fewer = |scores: &ScoresData| scores.levels != LEVELS || !scores.has_nothing_known;
        let longest = |lexicon: &LexiconData| lexicon.matching == Matching::Longest;
        let newer = self.features.is_some()
            || self.quality.is_some()
            || self.lexicon.as_ref().is_some_and(longest);
        if newer || self.scores.as_ref().is_some_and(fewer) {
            MINOR
        } else {
            MINOR_OF_PHRASES
        }
    }

    /// The number of coordinates that selectors get.
    fn inputs(&self) -> usize {
        let recoder = self.recoder.as_ref();
        recoder.map_or(self.dimension, RecoderData::outputs)
    }

    fn recoder_section(&self, recoder: &RecoderData) -> Result<Vec<u8>> {
        limit("recoder layers", recoder.layers.len(), 1, MAX_LAYERS)?;
        limit("recoder inputs", self.dimension, 1, MAX_WIDTH as usize)?;
        let mut inputs = self.dimension;
        let mut head = RecoderHead {
            layer_count: (recoder.layers.len() as u32).into(),
            exponent: recoder.exponent.into(),
            widths: [0.into(); MAX_LAYERS],
            shifts: [0.into(); MAX_LAYERS],
            reserved: 0.into(),
        };
        for (index, layer) in recoder.layers.iter().enumerate() {
            let outputs = layer.bias.len();
            limit("outputs of a recoder layer", outputs, 1, MAX_WIDTH as usize)?;
            exactly("recoder weights", layer.weights.len(), inputs * outputs)?;
            head.widths[index] = (outputs as u32).into();
            head.shifts[index] = layer.shift.into();
            inputs = outputs;
        }
        let mut section = Section::new(head);
        for layer in &recoder.layers {
            section.array(layer.weights.iter().map(|w| I16::new(*w)));
            section.array(layer.bias.iter().map(|b| I64::new(*b)));
        }
        Ok(section.0)
    }

    fn scores_section(&self, scores: &ScoresData) -> Result<Vec<u8>> {
        let inputs = self.inputs();
        limit("scored coordinates", inputs, 1, MAX_WIDTH as usize)?;
        exactly("coordinates of a centre", scores.centre.len(), inputs)?;
        let candidates = scores.bias.len();
        limit("candidates", candidates, 1, MAX_CANDIDATES as usize)?;
        let weights = candidates * inputs;
        exactly("weights of heads", scores.weights.len(), weights)?;
        limit("thresholds", scores.thresholds.len(), 0, u8::MAX.into())?;
        limit("levels", scores.levels, 2, LEVELS)?;
        let (mut kind, largest_score) = match (&self.features, scores.thresholds.len()) {
            (None, 0) => (SCORES_VOTE, 1),
            (None, thresholds) => (SCORES_GRADED, thresholds as u16),
            (Some(_), thresholds) => (SCORES_FEATURES, thresholds as u16),
        };
        if !scores.has_nothing_known {
            kind |= SCORES_KNOWN;
        }
        let mut section = Section::new(ScoresHead {
            candidate_count: (candidates as u32).into(),
            kind: kind.into(),
            largest_score: largest_score.into(),
            exponent: scores.exponent.into(),
            level_count: match scores.levels {
                LEVELS => 0.into(),
                levels => (levels as u32).into(),
            },
        });
        section.array(scores.centre.iter().map(|x| I16::new(*x)));
        section.array(scores.weights.iter().copied());
        section.array(scores.bias.iter().map(|b| I32::new(*b)));
        section.array(scores.thresholds.iter().map(|t| I32::new(*t)));
        Ok(section.0)
    }

    fn depth_section(&self, depth: &DepthData) -> Result<Vec<u8>> {
        let directions = depth.directions.len() / self.inputs();
        limit("candidates", depth.candidates, 1, MAX_CANDIDATES as usize)?;
        let most = MAX_DIRECTIONS as usize;
        limit("projection directions", directions, 1, most)?;
        let boundaries = directions * BOUNDARIES;
        exactly("bucket boundaries", depth.boundaries.len(), boundaries)?;
        let codes = directions * depth.candidates;
        exactly("candidate codes", depth.codes.len(), codes)?;
        let mut section = Section::new(DepthHead {
            candidate_count: (depth.candidates as u32).into(),
            direction_count: (directions as u32).into(),
            exponent: depth.exponent.into(),
            shift: depth.shift.into(),
        });
        section.array(depth.directions.iter().map(|v| I16::new(*v)));
        section.array(depth.boundaries.iter().map(|v| I32::new(*v)));
        section.array(depth.codes.iter().copied());
        Ok(section.0)
    }

    fn projection_section(&self, projection: &ProjectionData) -> Result<Vec<u8>> {
        let most = MAX_WIDTH as usize;
        limit("projected coordinates", self.dimension, 1, most)?;
        let found = projection.rows.len();
        let rows = found / self.dimension;
        limit("rows of a projection", rows, 1, MAX_ROWS as usize)?;
        exactly("entries of a projection", found, rows * self.dimension)?;
        let mut section = Section::new(ProjectionHead {
            row_count: (rows as u32).into(),
            exponent: projection.exponent.into(),
            bound_exponent: projection.bound_exponent.into(),
            reserved: 0.into(),
        });
        section.array(projection.rows.iter().map(|x| I16::new(*x)));
        Ok(section.0)
    }

    fn lexicon_section(&self, lexicon: &LexiconData) -> Result<Vec<u8>> {
        let words = &lexicon.words;
        limit("words", words.len(), 1, MAX_WORDS as usize)?;
        let most = MAX_LEXICON_DIMENSION as usize;
        limit("lexicon coordinates", self.dimension, 1, most)?;
        for (word, _, vector) in words {
            limit("bytes in a word", word.len(), 1, MAX_WORD_BYTES)?;
            exactly("coordinates of a word", vector.len(), self.dimension)?;
        }
        let text: String = words.iter().map(|(word, ..)| word.as_str()).collect();
        let mut section = Section::new(LexiconHead {
            word_count: (words.len() as u32).into(),
            text_bytes: (text.len() as u32).into(),
            exponent: lexicon.exponent.into(),
            matching: match lexicon.matching {
                Matching::Words => LEXICON_WORDS,
                Matching::Longest => LEXICON_LONGEST,
            }
            .into(),
        });
        let mut end = 0u32;
        section.array(words.iter().map(|(word, ..)| {
            end += word.len() as u32;
            U32::new(end)
        }));
        section.array(words.iter().map(|(_, weight, _)| U16::new(*weight)));
        section.array(words.iter().flat_map(|(.., vector)| vector).copied());
        section.array(text.bytes());
        Ok(section.0)
    }

    fn phrases_section(&self, lexicon: &LexiconData) -> Result<Vec<u8>> {
        let phrases = &lexicon.phrases;
        limit("phrases", phrases.len(), 1, MAX_PHRASES as usize)?;
        for (_, _, vector) in phrases {
            exactly("coordinates of a phrase", vector.len(), self.dimension)?;
        }
        let mut section = Section::new(PhrasesHead {
            phrase_count: (phrases.len() as u32).into(),
            reserved: [0.into(); 3],
        });
        section.array(phrases.iter().map(|(words, ..)| words.map(U16::new)));
        section.array(phrases.iter().map(|(_, weight, _)| U16::new(*weight)));
        section.array(phrases.iter().flat_map(|(.., vector)| vector).copied());
        Ok(section.0)
    }
}

/// The bytes of a section: its header, then arrays at multiples of 64 bytes.
struct Section(Vec<u8>);

impl Section {
    fn new(head: impl IntoBytes + Immutable) -> Self {
        Self(head.as_bytes().to_vec())
    }

    fn array<T: IntoBytes + FromBytes + Immutable>(&mut self, elements: impl Iterator<Item = T>) {
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
        for element in elements {
            self.0.extend_from_slice(element.as_bytes());
        }
    }
}

fn quality_section(quality: &QualityData) -> Vec<u8> {
    let mut section = Section::new(QualityHead {
        epsilon_count: (quality.epsilons.len() as u32).into(),
        length_count: (quality.lengths.len() as u32).into(),
        reserved: [0.into(); 2],
    });
    let share = |accuracy: &Option<f64>| {
        U16::new(accuracy.map_or(u16::MAX, |share| (share * 65_534.0).round() as u16))
    };
    let epsilons = quality.epsilons.iter();
    section.array(epsilons.map(|epsilon| U32::new(epsilon.micro())));
    section.array(quality.lengths.iter().map(|length| U32::new(*length)));
    section.array(quality.accuracies.iter().map(share));
    section.array(quality.noiseless.iter().map(share));
    section.0
}

pub(super) fn features_section(features: &FeaturesData) -> Result<Vec<u8>> {
    let candidates = features.scales.len();
    limit("features", features.rows.len(), 1, MAX_FEATURES as usize)?;
    limit("shift of features", features.shift.into(), 0, 63)?;
    let bits = FeaturesData::bucket_bits(features.rows.len());
    let mut rows = BTreeMap::new();
    for (hash, weights) in &features.rows {
        exactly("weights of a feature", weights.len(), candidates)?;
        rows.entry(place(*hash, bits)).or_insert(weights);
    }
    let mut buckets = vec![U32::new(0)];
    let (mut bitmaps, mut starts, mut weights) = (Vec::new(), Vec::new(), Vec::<i8>::new());
    for (index, ((bucket, _), row)) in rows.iter().enumerate() {
        buckets.resize(bucket + 1, U32::new(index as u32));
        if index % ROWS_PER_START == 0 {
            starts.push(U32::new(weights.len() as u32));
        }
        for eight in row.chunks(8) {
            let bit = |(place, weight): (usize, &i8)| u8::from(*weight != 0) << place;
            bitmaps.push(eight.iter().enumerate().map(bit).sum::<u8>());
        }
        weights.extend(row.iter().copied().filter(|weight| *weight != 0));
    }
    buckets.resize((1 << bits) + 1, U32::new(rows.len() as u32));
    let kinds = features.kinds;
    let flags = [
        (kinds.words, FEATURES_WORDS),
        (kinds.pairs, FEATURES_PAIRS),
        (features.alone, FEATURES_ALONE),
        (features.whole, FEATURES_WHOLE),
        (kinds.symbols, FEATURES_SYMBOLS),
    ];
    let mut section = Section::new(FeaturesHead {
        feature_count: (rows.len() as u32).into(),
        candidate_count: (candidates as u32).into(),
        weight_count: (weights.len() as u32).into(),
        rules: RULES_FOR_WORDS,
        kinds: flags.iter().map(|(set, flag)| u8::from(*set) * flag).sum(),
        least: kinds.least,
        most: kinds.most,
        bucket_bits: bits as u8,
        shift: features.shift,
        reserved: 0.into(),
    });
    section.array(buckets.into_iter());
    section.array(rows.keys().map(|(_, key)| U16::new(*key)));
    section.array(bitmaps.into_iter());
    section.array(starts.into_iter());
    section.array(weights.into_iter());
    section.array(features.scales.iter().map(|scale| U16::new(*scale)));
    Ok(section.0)
}

/// Refuses a number of things other than `wanted`.
pub(crate) fn exactly(what: &'static str, found: usize, wanted: usize) -> Result<()> {
    limit(what, found, wanted, wanted)
}

/// Refuses a number of things outside `least..=most`.
pub(crate) fn limit(what: &'static str, found: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&found) {
        Ok(())
    } else {
        Err(Error::argument(format!(
            "{found} {what}; allowed are {least} to {most}"
        )))
    }
}
