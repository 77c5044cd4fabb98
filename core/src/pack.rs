//! The pack: one file with everything public that a device needs, read in place.
//!
//! A pack is untrusted input. [`Pack::parse`] is total: on any bytes it returns a view whose every
//! access is in bounds, or an error that names what was found and what is allowed. Nothing in a
//! pack can weaken a guarantee (see [`depth`](crate::depth)); a hostile pack can only make
//! releases useless.
//!
//! The format is specified in `FORMAT.md` beside this file, and its structures in [`format`], which
//! the writer uses too.

use core::fmt;

use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::depth::CODES;
use crate::embedding::Projection;
use crate::fixed::{EXPONENTS, Scale};
use crate::kernels::{Backend, wipe};
use crate::lexicon::Lexicon;
use crate::recode::Recoder;
use crate::release::Mechanism;
use crate::scores::ScoresSection;
use crate::select::MAX_CANDIDATES;

pub mod format {
    //! The structures of a pack file, for those who write one. All numbers are little-endian.

    use zerocopy::little_endian::{I32, U16, U32, U64};
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

    /// The first eight bytes of a pack.
    pub const MAGIC: [u8; 8] = *b"UNDRTONE";
    /// Readers refuse any other major version.
    pub const MAJOR: u16 = 1;
    /// Raised for additions that older readers may skip; 1: phrases.
    pub const MINOR: u16 = 1;
    /// Sections, and the arrays inside a section, start at multiples of this many bytes.
    pub const ALIGNMENT: usize = 64;
    /// The most sections in a pack.
    pub const MAX_SECTIONS: u32 = 64;
    /// The most coordinates in an embedding.
    pub const MAX_DIMENSION: u32 = 4096;
    /// The most projection directions in a depth section.
    pub const MAX_DIRECTIONS: u32 = 1024;
    /// The most coordinates that a recoder or scores take or give.
    pub const MAX_WIDTH: u32 = 1024;
    /// The most rows of a projection.
    pub const MAX_ROWS: u32 = crate::laplace::MAX_DIMENSION as u32;
    /// The most layers of a recoder.
    pub const MAX_LAYERS: usize = 4;
    /// The most words in a lexicon.
    pub const MAX_WORDS: u32 = 65_536;
    /// The most phrases beside a lexicon.
    pub const MAX_PHRASES: u32 = 65_536;
    /// Bucket boundaries per direction.
    pub const BOUNDARIES: usize = crate::depth::CODES - 1;
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
    /// The tag of the lexicon section.
    pub const LEXICON_TAG: [u8; 4] = *b"LEXI";
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
        pub sections: U32,
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
        /// Where the section starts, from the start of the file; a multiple of [`ALIGNMENT`].
        pub offset: U64,
        /// Bytes in the section, without padding.
        pub length: U64,
    }

    /// The head of a depth section. The arrays follow in this order, each at a multiple of
    /// [`ALIGNMENT`]: directions `[directions][dimension]` i16, boundaries
    /// `[directions][BOUNDARIES]` i32, codes `[directions][candidates]` u8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    pub struct DepthHead {
        /// m, `1..=65536`.
        pub candidates: U32,
        /// p, `1..=MAX_DIRECTIONS`.
        pub directions: U32,
        /// A coordinate x enters as round(x · 2^exponent); `-24..=24`, 0 behind a recoder.
        pub exponent: I32,
        /// Projections are shifted right by this many bits before they are bucketed; `0..=31`.
        pub shift: U32,
    }

    /// The head of a recoder section. For each layer follow weights `[outputs][inputs]` i16 and bias
    /// `[outputs]` i64, each at a multiple of [`ALIGNMENT`]; the inputs of the first layer are the
    /// coordinates of an embedding.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    pub struct RecoderHead {
        /// `1..=MAX_LAYERS`.
        pub layers: U32,
        /// A coordinate x enters as round(x · 2^exponent); `-24..=24`.
        pub exponent: I32,
        /// Outputs of each layer, `1..=MAX_WIDTH`; 0 for layers that are not there.
        pub widths: [U32; MAX_LAYERS],
        /// Sums are shifted right by this many bits, `0..=62`; 0 for layers that are not there.
        pub shifts: [U32; MAX_LAYERS],
        /// Zero.
        pub reserved: U32,
    }

    /// The head of a scores section. The arrays follow in this order, each at a multiple of
    /// [`ALIGNMENT`]: centre `[inputs]` i16, weights `[candidates][inputs]` i8, bias `[candidates]`
    /// i32, thresholds `[largest_score]` i32 (of no elements for votes).
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    pub struct ScoresHead {
        /// m, `1..=65536`.
        pub candidates: U32,
        /// [`SCORES_GRADED`] or [`SCORES_VOTE`].
        pub kind: U16,
        /// Q, `1..=255`; 1 for votes.
        pub largest_score: U16,
        /// A coordinate x enters as round(x · 2^exponent); `-24..=24`, 0 behind a recoder.
        pub exponent: I32,
        /// Zero.
        pub reserved: U32,
    }

    /// The head of a lexicon section. The arrays follow in this order, each at a multiple of
    /// [`ALIGNMENT`]: ends `[words]` u32, weights `[words]` u16, vectors `[words][dimension]` i8,
    /// and the text of the words.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    pub struct LexiconHead {
        /// Number of words, `1..=MAX_WORDS`.
        pub words: U32,
        /// Bytes of text.
        pub text_bytes: U32,
        /// A sentence coordinate is its fixed-point value times 2^exponent; `-24..=24`.
        pub exponent: I32,
        /// Zero.
        pub reserved: U32,
    }

    /// The head of a phrases section. The arrays follow in this order, each at a multiple of
    /// [`ALIGNMENT`]: pairs of words `[phrases][2]` u16, weights `[phrases]` u16, vectors
    /// `[phrases][dimension]` i8.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    pub struct PhrasesHead {
        /// Number of phrases, `1..=MAX_PHRASES`.
        pub phrases: U32,
        /// Zero.
        pub reserved: [U32; 3],
    }

    /// The head of a projection section. Its rows `[rows][dimension]` i16 follow at a multiple of
    /// [`ALIGNMENT`].
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
    #[repr(C)]
    pub struct ProjectionHead {
        /// m, `1..=MAX_ROWS`.
        pub rows: U32,
        /// An entry of the matrix is its integer times 2^exponent; `-24..=0`.
        pub exponent: I32,
        /// The coordinates of the embeddings that the projection is for lie within ±2^bound_exponent;
        /// `-24..=24`.
        pub bound_exponent: I32,
        /// Zero.
        pub reserved: U32,
    }
}

use format::{ALIGNMENT, BOUNDARIES, DepthHead, Entry, Header};
use zerocopy::little_endian::{I16, I32};

/// A checked view of a pack. Copying it copies a few pointers.
#[derive(Clone, Copy, Debug)]
pub struct Pack<'a> {
    header: &'a Header,
    recoder: Option<Recoder<'a>>,
    depth: Option<DepthSection<'a>>,
    scores: Option<ScoresSection<'a>>,
    lexicon: Option<Lexicon<'a>>,
    projection: Option<Projection<'a>>,
}

impl<'a> Pack<'a> {
    /// Checks `bytes` and returns a view into them.
    ///
    /// The order of the checks is: size, magic, version, declared length, digest, header fields,
    /// section table, sections. Nothing read from the file is used before it is bounded.
    ///
    /// # Shapes
    /// Any bytes at any address.
    ///
    /// # Errors
    /// [`PackError`]; see its variants.
    ///
    /// # Cost
    /// One pass over the bytes (SHA-256), no copy, no heap.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PackError> {
        let (header, rest) = Header::ref_from_prefix(bytes).map_err(|_| PackError::TooShort {
            found: bytes.len(),
            least: size_of::<Header>(),
        })?;
        if header.magic != format::MAGIC {
            return Err(PackError::NotAPack);
        }
        if header.major.get() != format::MAJOR {
            return Err(PackError::Version {
                found: header.major.get(),
            });
        }
        if header.length.get() != bytes.len() as u64 {
            return Err(PackError::Length {
                declared: header.length.get(),
                found: bytes.len(),
            });
        }
        if digest(header, rest) != header.digest {
            return Err(PackError::Digest);
        }
        let dimension = within(
            "dimension",
            header.dimension.get(),
            1,
            format::MAX_DIMENSION,
        )?;
        zero("reserved header field", header.reserved.get())?;
        let name_length = header
            .encoder_name
            .iter()
            .position(|b| *b == 0)
            .unwrap_or(header.encoder_name.len());
        let (name, padding) = header
            .encoder_name
            .split_at_checked(name_length)
            .unwrap_or_default();
        if core::str::from_utf8(name).is_err() || padding.iter().any(|b| *b != 0) {
            return Err(PackError::EncoderName);
        }
        let count = within(
            "section count",
            header.sections.get(),
            0,
            format::MAX_SECTIONS,
        )?;
        let (entries, _) = <[Entry]>::ref_from_prefix_with_elems(rest, count as usize)
            .map_err(|_| PackError::Table { sections: count })?;

        let mut pack = Self {
            header,
            recoder: None,
            depth: None,
            scores: None,
            lexicon: None,
            projection: None,
        };
        let mut end = size_of::<Header>() + size_of_val(entries);
        for (index, entry) in entries.iter().enumerate() {
            let earlier = entries.get(..index).unwrap_or_default();
            if earlier.iter().any(|e| e.tag == entry.tag) {
                return Err(PackError::Section {
                    tag: entry.tag,
                    reason: "appears twice",
                });
            }
            zero("reserved table field", entry.reserved.get())?;
            let section = slice_after(bytes, end, entry)?;
            end = section.end;
            match entry.tag {
                format::RECODER_TAG => {
                    if pack.depth.is_some() || pack.scores.is_some() {
                        return Err(PackError::Section {
                            tag: entry.tag,
                            reason: "stands behind a section that it recodes for",
                        });
                    }
                    pack.recoder = Some(Recoder::parse(section.bytes, dimension)?)
                }
                format::DEPTH_TAG => {
                    let depth = DepthSection::parse(section.bytes, pack.inputs())?;
                    pack.depth = Some(pack.behind_recoder(depth.exponent()).map(|()| depth)?)
                }
                format::SCORES_TAG => {
                    let scores = ScoresSection::parse(section.bytes, pack.inputs())?;
                    pack.scores = Some(pack.behind_recoder(scores.exponent()).map(|()| scores)?)
                }
                format::LEXICON_TAG => {
                    pack.lexicon = Some(Lexicon::parse(section.bytes, dimension)?)
                }
                format::PHRASES_TAG => {
                    let lexicon = pack.lexicon.ok_or(PackError::Section {
                        tag: entry.tag,
                        reason: "has no lexicon before it",
                    })?;
                    pack.lexicon = Some(lexicon.with_phrases(section.bytes)?)
                }
                format::PROJECTION_TAG => {
                    let projection = Projection::parse(section.bytes, dimension, pack.id());
                    pack.projection = Some(projection?)
                }
                _ => {}
            }
        }
        if end != bytes.len() {
            return Err(PackError::Trailing {
                end,
                found: bytes.len(),
            });
        }
        Ok(pack)
    }

    /// The first eight bytes of the digest: how a release names its pack.
    // Not a call: it would make `Document::new` build its result on the stack.
    #[inline(always)]
    pub fn id(&self) -> [u8; 8] {
        let mut id = [0; 8];
        for (to, from) in id.iter_mut().zip(&self.header.digest) {
            *to = *from;
        }
        id
    }

    /// SHA-256 of the file (with the digest field zero).
    pub fn digest(&self) -> &'a [u8; 32] {
        &self.header.digest
    }

    /// The number of coordinates in an embedding, `1..=4096`.
    pub fn dimension(&self) -> usize {
        self.header.dimension.get() as usize
    }

    /// The digest that identifies the encoder whose embeddings the pack was built from.
    pub fn encoder_digest(&self) -> &'a [u8; 32] {
        &self.header.encoder_digest
    }

    /// The name of that encoder, at most 32 bytes.
    pub fn encoder_name(&self) -> &'a str {
        let name = core::str::from_utf8(&self.header.encoder_name).unwrap_or_default();
        name.trim_end_matches('\0')
    }

    /// The coordinates that selectors see: those of an embedding, or what a recoder makes of it.
    fn inputs(&self) -> u32 {
        let recoded = self.recoder.map(|recoder| recoder.width() as u32);
        recoded.unwrap_or(self.header.dimension.get())
    }

    /// A recoder's outputs are integers already.
    fn behind_recoder(&self, exponent: i32) -> Result<(), PackError> {
        if self.recoder.is_some() && exponent != 0 {
            return Err(PackError::Exponent {
                found: exponent,
                least: 0,
                most: 0,
            });
        }
        Ok(())
    }

    /// m, the number of candidates that a release is drawn from; 0 if the pack has none.
    pub fn candidates(&self) -> u32 {
        let depth = self.depth.map(|depth| depth.candidates());
        let scores = self.scores.map(|scores| scores.candidates());
        scores.or(depth).unwrap_or(0)
    }

    /// How a release is selected: by scores, if the pack has any. `None` if it has no candidates.
    pub fn mechanism(&self) -> Option<Mechanism> {
        let scores = self.scores.map(|_| Mechanism::SentenceScores);
        scores.or(self.depth.map(|_| Mechanism::SentenceDepth))
    }

    /// The network between encoder and selector, if the pack has one.
    pub fn recoder(&self) -> Option<Recoder<'a>> {
        self.recoder
    }

    /// The candidates as bounded scores see them, if the pack has any.
    pub fn scores(&self) -> Option<ScoresSection<'a>> {
        self.scores
    }

    /// The candidates as the depth mechanism sees them, if the pack has any.
    pub fn depth(&self) -> Option<DepthSection<'a>> {
        self.depth
    }

    /// The lexicon, if the pack has one.
    pub fn lexicon(&self) -> Option<Lexicon<'a>> {
        self.lexicon
    }

    /// The projection for private vectors, if the pack has one.
    pub fn projection(&self) -> Option<Projection<'a>> {
        self.projection
    }
}

/// SHA-256 of a pack, given its header and everything behind it, with the digest field taken as
/// zero. For readers and writers of packs.
pub fn digest(header: &Header, rest: &[u8]) -> [u8; 32] {
    let mut header = *header;
    header.digest = [0; 32];
    let mut hash = Sha256::new();
    hash.update(zerocopy::IntoBytes::as_bytes(&header));
    hash.update(rest);
    hash.finalize().into()
}

/// Bytes of a section, and where they end.
struct Slice<'a> {
    bytes: &'a [u8],
    end: usize,
}

/// The bytes of `entry`, which must start behind `end`, with nothing but zeroes in between.
fn slice_after<'a>(bytes: &'a [u8], end: usize, entry: &Entry) -> Result<Slice<'a>, PackError> {
    let fail = |reason| {
        Err(PackError::Section {
            tag: entry.tag,
            reason,
        })
    };
    let (Ok(offset), Ok(length)) = (
        usize::try_from(entry.offset.get()),
        usize::try_from(entry.length.get()),
    ) else {
        return fail("lies outside the file");
    };
    if offset % ALIGNMENT != 0 {
        return fail("does not start at a multiple of 64 bytes");
    }
    let Some(gap) = bytes.get(end..offset) else {
        return fail("overlaps what stands before it, or lies outside the file");
    };
    if gap.len() >= ALIGNMENT || gap.iter().any(|byte| *byte != 0) {
        return fail("is not preceded by less than 64 bytes of zero padding");
    }
    let section_end = offset.checked_add(length);
    match section_end.and_then(|section_end| Some((section_end, bytes.get(offset..section_end)?))) {
        Some((end, bytes)) => Ok(Slice { bytes, end }),
        None => fail("lies outside the file"),
    }
}

/// `found` as it is, if it lies in `least..=most`.
pub(crate) fn within(
    name: &'static str,
    found: u32,
    least: u32,
    most: u32,
) -> Result<u32, PackError> {
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(PackError::Field {
            name,
            found: found.into(),
            least: least.into(),
            most: most.into(),
        })
    }
}

pub(crate) fn zero(name: &'static str, found: u32) -> Result<(), PackError> {
    within(name, found, 0, 0).map(|_| ())
}

/// The scale for a declared exponent.
pub(crate) fn scale(exponent: i32) -> Result<Scale, PackError> {
    Scale::new(exponent).ok_or(PackError::Exponent {
        found: exponent,
        least: *EXPONENTS.start(),
        most: *EXPONENTS.end(),
    })
}

/// `found` as it is, if it lies in `least..=most`.
pub(crate) fn exponent_within(found: i32, least: i32, most: i32) -> Result<i32, PackError> {
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(PackError::Exponent { found, least, most })
    }
}

/// Reads the arrays of a section one after the other, each at a multiple of 64 bytes from the
/// section's start, with zero padding.
pub(crate) struct Arrays<'a> {
    tag: [u8; 4],
    section: &'a [u8],
    position: usize,
}

impl<'a> Arrays<'a> {
    /// Reads the head of the section.
    pub(crate) fn open<H>(tag: [u8; 4], section: &'a [u8]) -> Result<(&'a H, Self), PackError>
    where
        H: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        let (head, _) = H::ref_from_prefix(section).map_err(|_| PackError::Section {
            tag,
            reason: "is too short for its head",
        })?;
        Ok((
            head,
            Self {
                tag,
                section,
                position: size_of::<H>(),
            },
        ))
    }

    /// The next array: `rows` times `columns` elements.
    pub(crate) fn next<T>(&mut self, rows: usize, columns: usize) -> Result<&'a [T], PackError>
    where
        T: FromBytes + Immutable + Unaligned,
    {
        let fail = |reason| PackError::Section {
            tag: self.tag,
            reason,
        };
        let start = self
            .position
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or(fail("is too short for its arrays"))?;
        let padding = self
            .section
            .get(self.position..start)
            .ok_or(fail("is too short for its arrays"))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(fail("has padding that is not zero"));
        }
        let count = rows
            .checked_mul(columns)
            .ok_or(fail("declares more elements than fit in memory"))?;
        let rest = self.section.get(start..).unwrap_or_default();
        let (array, rest) = <[T]>::ref_from_prefix_with_elems(rest, count)
            .map_err(|_| fail("is too short for its arrays"))?;
        self.position = self.section.len() - rest.len();
        Ok(array)
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(self) -> Result<(), PackError> {
        if self.position == self.section.len() {
            Ok(())
        } else {
            Err(PackError::Section {
                tag: self.tag,
                reason: "is longer than its arrays",
            })
        }
    }
}

/// The candidates as the depth mechanism sees them: directions, bucket boundaries and codes.
#[derive(Clone, Copy, Debug)]
pub struct DepthSection<'a> {
    candidates: u32,
    dimension: usize,
    scale: Scale,
    exponent: i32,
    shift: u32,
    directions: &'a [I16],
    boundaries: &'a [I32],
    codes: &'a [u8],
}

impl<'a> DepthSection<'a> {
    fn parse(section: &'a [u8], dimension: u32) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<DepthHead>(format::DEPTH_TAG, section)?;
        let candidates = within(
            "number of candidates",
            head.candidates.get(),
            1,
            MAX_CANDIDATES,
        )?;
        let directions = within(
            "number of directions",
            head.directions.get(),
            1,
            format::MAX_DIRECTIONS,
        )? as usize;
        let exponent = head.exponent.get();
        let scale = scale(exponent)?;
        let shift = within("projection shift", head.shift.get(), 0, 31)?;
        let dimension = dimension as usize;
        let parsed = Self {
            candidates,
            dimension,
            scale,
            exponent,
            shift,
            directions: arrays.next(directions, dimension)?,
            boundaries: arrays.next(directions, BOUNDARIES)?,
            codes: arrays.next(directions, candidates as usize)?,
        };
        arrays.finish()?;
        Ok(parsed)
    }

    /// m, the number of candidates, `1..=65536`.
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// p, the number of projection directions, `1..=1024`.
    pub fn n_directions(&self) -> usize {
        self.boundaries.len() / BOUNDARIES
    }

    /// A coordinate x enters as round(x · 2^exponent).
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The projection directions, `[dimension]` integers each, for those who study packs.
    pub fn directions(
        &self,
    ) -> impl Iterator<Item = impl Iterator<Item = i16> + use<'a>> + use<'a> {
        // Parsing made sure of 1; said again, so that no panic is compiled in.
        let directions = self.directions.chunks_exact(self.dimension.max(1));
        directions.map(|direction| direction.iter().map(|v| v.get()))
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Adds to the projections what the fixed-point coordinates of a group of sentences from `start` on
    /// contribute.
    pub(crate) fn add_projections(
        &self,
        backend: Backend,
        start: usize,
        group: &[&[i16]],
        sums: &mut [i64],
        rows: usize,
    ) {
        backend.add_products(self.directions, self.dimension, start, group, sums, rows);
    }

    /// Adds the group of sentences with these projections, `[n][directions]`, to the rows of a document's
    /// state.
    pub(crate) fn count(
        &self,
        backend: Backend,
        projections: &[i64],
        directions: usize,
        rows: &mut [[u8; CODES]],
    ) {
        backend.count(projections, directions, self.shift, self.boundaries, rows);
    }

    /// `[p]` rows of one code per candidate.
    pub(crate) fn codes(&self) -> impl Iterator<Item = &'a [u8]> {
        // As above.
        self.codes.chunks_exact((self.candidates as usize).max(1))
    }

    /// The projections of one embedding on all directions, as exact integers: the first step of
    /// scoring, for those who build or study packs. `recoder`: that of the same pack.
    ///
    /// `embedding`: `[dimension]` f32, any bits; `out`: `[p]`. Coordinates and directions that one
    /// side lacks count as 0.
    pub fn projections(&self, recoder: Option<&Recoder<'_>>, embedding: &[f32], out: &mut [i64]) {
        let backend = Backend::best();
        let rows = out.len();
        match recoder {
            None => {
                crate::depth::project::<1>(backend, self, embedding, embedding.len(), out, rows)
            }
            Some(recoder) => self.recoded_projections(backend, recoder, embedding, out),
        }
    }

    /// [`projections`](DepthSection::projections) of an embedding that goes through a recoder.
    // A call: documents without a recoder do without its buffer.
    #[inline(never)]
    pub(crate) fn recoded_projections(
        &self,
        backend: Backend,
        recoder: &Recoder<'_>,
        embedding: &[f32],
        out: &mut [i64],
    ) {
        let mut recoded = [0; format::MAX_WIDTH as usize];
        recoder.recode_on(backend, embedding, &mut recoded);
        out.fill(0);
        self.add_projections(backend, 0, &[&recoded], out, out.len());
        wipe(&mut recoded);
    }

    /// The integer that is compared with the bucket boundaries: the projection shifted right and
    /// clamped.
    pub fn bucket_input(&self, projection: i64) -> i32 {
        bucket_input(projection, self.shift)
    }

    /// The codes of one embedding's projections: how the writer of a pack codes its candidates. A code is the
    /// number of a direction's boundaries that the projection reaches: monotone in the projection whatever the
    /// boundaries, and branch-free.
    ///
    /// `projections`, `out`: `[p]`.
    pub fn codes_of(&self, projections: &[i64], out: &mut [u8]) {
        const { assert!(CODES == 256) };
        let backend = Backend::best();
        let boundaries = self.boundaries.as_chunks().0;
        for ((code, projection), boundaries) in out.iter_mut().zip(projections).zip(boundaries) {
            *code = backend.reached(boundaries, self.bucket_input(*projection));
        }
    }
}

/// [`DepthSection::bucket_input`]. The shift is below 32.
#[inline(always)]
pub(crate) fn bucket_input(projection: i64, shift: u32) -> i32 {
    (projection >> (shift & 31)).clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Why bytes are not a pack that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// Fewer bytes than a header.
    TooShort {
        /// Bytes given.
        found: usize,
        /// Bytes in a header.
        least: usize,
    },
    /// The first eight bytes are not those of a pack.
    NotAPack,
    /// A major version that this reader does not know.
    Version {
        /// The file's major version.
        found: u16,
    },
    /// The file is not as long as it says.
    Length {
        /// The length in the header.
        declared: u64,
        /// Bytes given.
        found: usize,
    },
    /// The digest in the header is not that of the file.
    Digest,
    /// A field outside its range.
    Field {
        /// What the field is.
        name: &'static str,
        /// Its value.
        found: u64,
        /// The least value allowed.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// The encoder's name is not UTF-8 padded with zeroes.
    EncoderName,
    /// A power of two outside its range.
    Exponent {
        /// Its value.
        found: i32,
        /// The least value allowed.
        least: i32,
        /// The largest value allowed.
        most: i32,
    },
    /// The section table reaches beyond the file.
    Table {
        /// The number of sections declared.
        sections: u32,
    },
    /// A section is in the wrong place or has the wrong content.
    Section {
        /// Its tag.
        tag: [u8; 4],
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Bytes behind the last section.
    Trailing {
        /// Where the last section ends.
        end: usize,
        /// Bytes given.
        found: usize,
    },
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { found, least } => {
                write!(
                    f,
                    "{found} bytes, but a pack has at least {least}; is the file whole?"
                )
            }
            Self::NotAPack => f.write_str("not a pack: the first eight bytes are not \"UNDRTONE\""),
            Self::Version { found } => write!(
                f,
                "pack format version {found}, but this library reads version {}; update the older of the two",
                format::MAJOR
            ),
            Self::Length { declared, found } => {
                write!(
                    f,
                    "the pack says it has {declared} bytes, found {found}; copy it again"
                )
            }
            Self::Digest => {
                f.write_str("the pack's digest does not match its bytes; copy it again")
            }
            Self::Field {
                name,
                found,
                least,
                most,
            } => {
                write!(f, "{name} is {found}, allowed are {least}..={most}")
            }
            Self::EncoderName => f.write_str("the encoder's name is not UTF-8 padded with zeroes"),
            Self::Exponent { found, least, most } => {
                write!(f, "exponent is {found}, allowed are {least}..={most}")
            }
            Self::Table { sections } => {
                write!(
                    f,
                    "the table of {sections} sections reaches beyond the file"
                )
            }
            Self::Section { tag, reason } => write!(f, "section {} {reason}", tag.escape_ascii()),
            Self::Trailing { end, found } => {
                write!(
                    f,
                    "the last section ends at byte {end} of {found}; nothing may follow it"
                )
            }
        }
    }
}

impl core::error::Error for PackError {}
