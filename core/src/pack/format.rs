//! The structures of a pack file, for its reader and its writers. All numbers are little-endian.
//!
//! `core/FORMAT.md` lists the arrays that follow the head of each section, in this order, each at a
//! multiple of [`ALIGNMENT`].

use zerocopy::little_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first eight bytes of a pack.
pub const MAGIC: [u8; 8] = *b"UNDRTONE";
/// Readers refuse any other major version.
pub const MAJOR: u16 = 1;
/// Raised for additions; 1: phrases; 2: features and fewer levels.
pub const MINOR: u16 = 2;
/// The minor version of packs with nothing newer than phrases.
pub const MINOR_OF_PHRASES: u16 = 1;
/// Sections, and the arrays inside a section, start at multiples of this many bytes.
pub const ALIGNMENT: usize = 64;
/// The most sections in a pack.
pub const MAX_SECTIONS: u32 = 64;
/// The most coordinates in an embedding.
pub const MAX_DIMENSION: u32 = 4096;
/// The most projection directions in a depth section.
pub const MAX_DIRECTIONS: u32 = 1024;
/// The most inputs or outputs of a recoder, and the most inputs of scores.
pub const MAX_WIDTH: u32 = 1024;
/// The most rows of a projection.
pub const MAX_ROWS: u32 = 1024;
/// The most layers of a recoder.
pub const MAX_LAYERS: usize = 4;
/// The most words in a lexicon.
pub const MAX_WORDS: u32 = 65_536;
/// The most phrases of a lexicon.
pub const MAX_PHRASES: u32 = 65_536;
/// The number of codes of a projection, which is one byte.
pub const CODES: usize = 256;
/// Bucket boundaries per direction.
pub const BOUNDARIES: usize = CODES - 1;
/// The tag of the depth section.
pub const DEPTH_TAG: [u8; 4] = *b"DPTH";
/// The tag of the scores section.
pub const SCORES_TAG: [u8; 4] = *b"SCOR";
/// The tag of the recoder section.
pub const RECODER_TAG: [u8; 4] = *b"RCOD";
/// The kind of scores that count thresholds.
pub const SCORES_GRADED: u16 = 1;
/// The kind of scores that vote for the best head.
pub const SCORES_VOTE: u16 = 2;
/// The kind of scores that count thresholds and have a features section after them.
pub const SCORES_FEATURES: u16 = 3;
/// The bit of [`ScoresHead::kind`] for packs without the outcome "nothing known".
pub const SCORES_KNOWN: u16 = 4;
/// The tag of the features section.
pub const FEATURES_TAG: [u8; 4] = *b"FEAT";
/// The most features.
pub const MAX_FEATURES: u32 = 1 << 20;
/// The bit of [`FeaturesHead::kinds`] for words.
pub const FEATURES_WORDS: u8 = 1;
/// The bit for pairs of words.
pub const FEATURES_PAIRS: u8 = 2;
/// The bit for packs without an encoder, whose coordinates count as 0.
pub const FEATURES_ALONE: u8 = 4;
/// The bit for symbols and pairs of adjacent symbols.
pub const FEATURES_SYMBOLS: u8 = 8;
/// The bit for packs without an encoder to which a whole text is one sentence.
pub const FEATURES_WHOLE: u8 = 16;
/// The newest rules for words. Features of rules 1 are read by these too.
pub const RULES_FOR_WORDS: u8 = 2;
/// The tag of the quality section.
pub const QUALITY_TAG: [u8; 4] = *b"QUAL";
/// The tag of the lexicon section.
pub const LEXICON_TAG: [u8; 4] = *b"LEXI";
/// The matching of a lexicon whose entries are whole words.
pub const LEXICON_WORDS: u32 = 0;
/// The matching of a lexicon by greedy longest match.
pub const LEXICON_LONGEST: u32 = 1;
/// The tag of the phrases section.
pub const PHRASES_TAG: [u8; 4] = *b"PHRS";
/// The tag of the projection section.
pub const PROJECTION_TAG: [u8; 4] = *b"PROJ";

/// The first 128 bytes of a pack.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`MAJOR`].
    pub major: U16,
    /// [`MINOR`].
    pub minor: U16,
    /// Entries in the section table, at most [`MAX_SECTIONS`].
    pub section_count: U32,
    /// Bytes in the whole file.
    pub length: U64,
    /// Coordinates in an embedding, `1..=MAX_DIMENSION`.
    pub dimension: U32,
    /// Zero.
    pub reserved: U32,
    /// SHA-256 of the whole file with this field set to zero.
    pub digest: [u8; 32],
    /// The digest that identifies the encoder of the candidates.
    pub encoder_digest: [u8; 32],
    /// The encoder's name, UTF-8, padded with zeroes.
    pub encoder_name: [u8; 32],
}

/// One entry of the section table, which follows the header.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Entry {
    /// Four ASCII characters.
    pub tag: [u8; 4],
    /// Zero.
    pub reserved: U32,
    /// The offset of the section in the file; a multiple of [`ALIGNMENT`].
    pub offset: U64,
    /// Bytes in the section, without padding.
    pub length: U64,
}

/// The head of a depth section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DepthHead {
    /// m, `1..=65536`.
    pub candidate_count: U32,
    /// p, `1..=MAX_DIRECTIONS`.
    pub direction_count: U32,
    /// A coordinate x enters as round(x · 2^exponent); `-24..=24`, 0 after a recoder.
    pub exponent: I32,
    /// Projections are shifted right by this many bits before they are bucketed; `0..=31`.
    pub shift: U32,
}

/// The head of a recoder section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RecoderHead {
    /// `1..=MAX_LAYERS`.
    pub layer_count: U32,
    /// A coordinate x enters as round(x · 2^exponent); `-24..=24`.
    pub exponent: I32,
    /// Outputs of each layer, `1..=MAX_WIDTH`; 0 for missing layers.
    pub widths: [U32; MAX_LAYERS],
    /// Sums are shifted right by this many bits, `0..=62`; 0 for missing layers.
    pub shifts: [U32; MAX_LAYERS],
    /// Zero.
    pub reserved: U32,
}

/// The head of a scores section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ScoresHead {
    /// m, `1..=65536`.
    pub candidate_count: U32,
    /// [`SCORES_GRADED`], [`SCORES_VOTE`] or [`SCORES_FEATURES`], plus [`SCORES_KNOWN`] or not.
    pub kind: U16,
    /// Q, `1..=255`; 1 for votes.
    pub largest_score: U16,
    /// A coordinate x enters as round(x · 2^exponent); `-24..=24`, 0 after a recoder.
    pub exponent: I32,
    /// L, levels are below this: `2..=160`; 0: 160.
    pub level_count: U32,
}

/// The head of a features section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FeaturesHead {
    /// Number of features, `1..=MAX_FEATURES`.
    pub feature_count: U32,
    /// m, as in the scores section.
    pub candidate_count: U32,
    /// Weights that are not 0.
    pub weight_count: U32,
    /// Version of the rules for words: 1 or [`RULES_FOR_WORDS`].
    pub rules: u8,
    /// The bits `FEATURES_WORDS` to [`FEATURES_WHOLE`], added.
    pub kinds: u8,
    /// The least length of runs of characters, `1..=most`.
    pub least: u8,
    /// The largest length of runs, `0..=8`; 0: no runs.
    pub most: u8,
    /// log₂ of the number of buckets, `0..=16`.
    pub bucket_bits: u8,
    /// Values are shifted right by this many bits, `0..=63`.
    pub shift: u8,
    /// Zero.
    pub reserved: U16,
}

/// The head of a quality section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct QualityHead {
    /// Number of values of epsilon, `1..=64`.
    pub epsilon_count: U32,
    /// Number of lengths, `1..=64`.
    pub length_count: U32,
    /// Zero.
    pub reserved: [U32; 2],
}

/// The head of a lexicon section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct LexiconHead {
    /// Number of words, `1..=MAX_WORDS`.
    pub word_count: U32,
    /// Bytes of text.
    pub text_bytes: U32,
    /// A sentence coordinate is its fixed-point value times 2^exponent; `-24..=24`.
    pub exponent: I32,
    /// [`LEXICON_WORDS`] or [`LEXICON_LONGEST`].
    pub matching: U32,
}

/// The head of a phrases section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PhrasesHead {
    /// Number of phrases, `1..=MAX_PHRASES`.
    pub phrase_count: U32,
    /// Zero.
    pub reserved: [U32; 3],
}

/// The head of a projection section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ProjectionHead {
    /// m, `1..=MAX_ROWS`.
    pub row_count: U32,
    /// An entry of the matrix is its integer times 2^exponent; `-24..=0`.
    pub exponent: I32,
    /// The coordinates of the embeddings that the projection is for lie within ±2^bound_exponent;
    /// `-24..=24`.
    pub bound_exponent: I32,
    /// Zero.
    pub reserved: U32,
}
