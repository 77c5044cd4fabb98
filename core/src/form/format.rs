//! The structures of a form's file, for its reader and its writers. All numbers are little-endian.
//!
//! `core/FORMAT.md` lists what follows the header: attributes, pairs, ends of names, names.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first six bytes of a form.
pub const MAGIC: [u8; 6] = *b"UTFORM";
/// Readers refuse any other version.
pub const VERSION: u8 = 1;
/// The most questions of a form: attributes and pairs.
pub const MAX_QUESTIONS: u16 = 256;
/// The most categories of an attribute.
pub const MAX_CATEGORIES: u32 = 65_536;
/// The most categories of a pair: 65 answers to one attribute times 65 to the other, less one.
pub const MAX_PAIR_CATEGORIES: u32 = 4_224;

/// The first 64 bytes of a form.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 6],
    /// [`VERSION`].
    pub version: u8,
    /// Zero.
    pub reserved: u8,
    /// The number of bytes in the file.
    pub length: U32,
    /// m, the number of attributes.
    pub attributes: U16,
    /// The number of pairs.
    pub pairs: U16,
    /// The number of categories of all attributes together.
    pub categories: U32,
    /// The index of the topic's attribute plus 1; 0 for a form without a topic.
    pub topic: U16,
    /// Zero.
    pub reserved_more: [u8; 2],
    /// The identifier of the pack whose candidates are the categories of the topic; zero without a
    /// topic.
    pub topic_pack: [u8; 8],
    /// SHA-256 of the file with this field zero.
    pub digest: [u8; 32],
}

/// An attribute.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct AttributeEntry {
    /// n, the number of categories.
    pub categories: U32,
    /// The weight with which the attribute is drawn.
    pub weight: U32,
}

/// A pair of attributes, for a cross table.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PairEntry {
    /// The index of the first attribute.
    pub first: U16,
    /// The index of the second attribute, larger than the first.
    pub second: U16,
    /// The weight with which the pair is drawn.
    pub weight: U32,
}
