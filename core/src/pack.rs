//! The pack: one file with everything public that a device needs, read in place.
//!
//! A pack is untrusted input. [`Pack::parse`] is total: on any bytes it returns a view whose every
//! access is in bounds, or an error that names what was found and what is allowed. No pack can
//! weaken a guarantee. A hostile pack can choose which question a release answers.
//!
//! `core/FORMAT.md` specifies the format. [`format`](mod@format) has its structures.

pub mod format;
pub(crate) mod wire;

use sha2::{Digest, Sha256};
use zerocopy::FromBytes;

use crate::depth::DepthSection;
use crate::features::Features;
use crate::lexicon::Lexicon;
use crate::quality::Quality;
use crate::recode::Recoder;
use crate::release::Mechanism;
use crate::scores::ScoresSection;
use crate::text::ANY_LANGUAGE;
use crate::vector::Projection;
use format::{ALIGNMENT, Entry, Header};
use wire::{within, zero};

pub use wire::PackError;

/// A checked view of a pack. A copy is a few pointers.
#[derive(Clone, Copy, Debug)]
pub struct Pack<'a> {
    header: &'a Header,
    recoder: Option<Recoder<'a>>,
    depth: Option<DepthSection<'a>>,
    scores: Option<ScoresSection<'a>>,
    /// A section that [`Features::check`] accepted.
    features: Option<&'a [u8]>,
    /// A section that [`Quality::parse`] accepted.
    quality: Option<&'a [u8]>,
    lexicon: Option<Lexicon<'a>>,
    projection: Option<Projection<'a>>,
}

impl<'a> Pack<'a> {
    /// Checks `bytes`, which may be any, and returns a view into them.
    ///
    /// The order of the checks is: size, magic, version, declared length, digest, header fields,
    /// section table, sections. Nothing read from the file is used before it is bounded.
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
        check_file(header, rest)?;
        check_fields(header)?;
        let sections = header.section_count.get();
        within("section count", sections, 0, format::MAX_SECTIONS)?;
        let (entries, _) = <[Entry]>::ref_from_prefix_with_elems(rest, sections as usize)
            .map_err(|_| PackError::Table { sections })?;

        let mut pack = Self {
            header,
            recoder: None,
            depth: None,
            scores: None,
            features: None,
            quality: None,
            lexicon: None,
            projection: None,
        };
        let mut end = size_of::<Header>() + size_of_val(entries);
        for (index, entry) in entries.iter().enumerate() {
            if entries.iter().take(index).any(|e| e.tag == entry.tag) {
                return Err(PackError::section(entry.tag, "appears twice"));
            }
            zero("reserved table field", entry.reserved.get())?;
            let section;
            (section, end) = section_after(bytes, end, entry)?;
            pack.add(entry.tag, section)?;
        }
        if end != bytes.len() {
            return Err(PackError::Trailing {
                end,
                found: bytes.len(),
            });
        }
        let needs_features = pack.scores.is_some_and(|scores| scores.has_features());
        if needs_features && pack.features.is_none() {
            let reason = "has no features after it, which its kind needs";
            return Err(PackError::section(format::SCORES_TAG, reason));
        }
        Ok(pack)
    }

    /// Parses one section. The sections before it are parsed already.
    fn add(&mut self, tag: [u8; 4], section: &'a [u8]) -> Result<(), PackError> {
        let fail = |reason| PackError::section(tag, reason);
        let dimension = self.header.dimension.get();
        match tag {
            format::RECODER_TAG => {
                if self.depth.is_some() || self.scores.is_some() {
                    return Err(fail("comes after a section that it recodes for"));
                }
                self.recoder = Some(Recoder::parse(section, dimension)?);
            }
            format::DEPTH_TAG => {
                let depth = DepthSection::parse(section, self.inputs())?;
                self.check_exponent(depth.exponent())?;
                self.depth = Some(depth);
            }
            format::SCORES_TAG => {
                let scores = ScoresSection::parse(section, self.inputs())?;
                self.check_exponent(scores.exponent())?;
                self.scores = Some(scores);
            }
            format::FEATURES_TAG => {
                let scores = self.scores.filter(ScoresSection::has_features);
                let scores = scores.ok_or(fail("has no scores before it that it adds to"))?;
                Features::check(section, scores.candidate_count())?;
                self.features = Some(section);
            }
            format::QUALITY_TAG => {
                Quality::parse(section)?;
                self.quality = Some(section);
            }
            format::LEXICON_TAG => self.lexicon = Some(Lexicon::parse(section, dimension)?),
            format::PHRASES_TAG => {
                let lexicon = self.lexicon.ok_or(fail("has no lexicon before it"))?;
                self.lexicon = Some(lexicon.with_phrases(section)?);
            }
            format::PROJECTION_TAG => {
                self.projection = Some(Projection::parse(section, dimension, self.id())?);
            }
            _ => {}
        }
        Ok(())
    }

    /// The first eight bytes of the digest, by which a release names its pack.
    // `inline(always)`: with a call, `Document::new` builds its result on the stack.
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

    /// The digest of the encoder whose embeddings the pack was built from.
    pub fn encoder_digest(&self) -> &'a [u8; 32] {
        &self.header.encoder_digest
    }

    /// The name of that encoder, at most 32 bytes.
    pub fn encoder_name(&self) -> &'a str {
        // `parse` accepted the name.
        encoder_name(self.header).unwrap_or("")
    }

    /// The number of coordinates of candidates: those of an embedding, or the recoder's outputs.
    fn inputs(&self) -> u32 {
        let recoded = self.recoder.map(|recoder| recoder.width() as u32);
        recoded.unwrap_or(self.header.dimension.get())
    }

    /// Checks that no exponent follows a recoder, whose outputs are integers already.
    fn check_exponent(&self, found: i32) -> Result<(), PackError> {
        if self.recoder.is_some() {
            wire::exponent_within(found, 0, 0)?;
        }
        Ok(())
    }

    /// m, the number of candidates; 0 if the pack has none.
    pub fn candidate_count(&self) -> u32 {
        let depth = self.depth.map(|depth| depth.candidate_count());
        let scores = self.scores.map(|scores| scores.candidate_count());
        scores.or(depth).unwrap_or(0)
    }

    /// The mechanism that selects a candidate: scores if the pack has any. `None` without
    /// candidates.
    pub fn mechanism(&self) -> Option<Mechanism> {
        let scores = self.scores.map(|_| Mechanism::Scores);
        scores.or(self.depth.map(|_| Mechanism::Depth))
    }

    /// Whether "nothing known" is an outcome of a document's release for the whole text.
    pub fn has_nothing_known(&self) -> bool {
        self.scores.is_none_or(|scores| scores.has_nothing_known())
    }

    /// The number of outcomes of a document's release for the whole text: the candidates, and
    /// "nothing known" unless the pack leaves it out.
    pub fn outcomes(&self) -> u32 {
        // At most 65536 candidates.
        self.candidate_count() + u32::from(self.has_nothing_known())
    }

    /// The network between encoder and mechanism, if the pack has one.
    pub fn recoder(&self) -> Option<Recoder<'a>> {
        self.recoder
    }

    /// The candidates of bounded scores, if the pack has any.
    pub fn scores(&self) -> Option<ScoresSection<'a>> {
        self.scores
    }

    /// The candidates of the depth mechanism, if the pack has any.
    pub fn depth(&self) -> Option<DepthSection<'a>> {
        self.depth
    }

    /// The features that add to the scores, if the pack has any.
    pub fn features(&self) -> Option<Features<'a>> {
        // `parse` refuses features in a build without `any-language`. This lets the compiler drop
        // the code.
        if !ANY_LANGUAGE {
            return None;
        }
        Features::view(self.features?, self.scores?.candidate_count()).ok()
    }

    /// The measured accuracy of the pack, if it has a table.
    pub fn quality(&self) -> Option<Quality<'a>> {
        Quality::parse(self.quality?).ok()
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

/// SHA-256 of a pack with zeroes for the digest field. `rest` is everything after the header.
pub fn digest(header: &Header, rest: &[u8]) -> [u8; 32] {
    let mut header = *header;
    header.digest = [0; 32];
    let mut hash = Sha256::new();
    hash.update(zerocopy::IntoBytes::as_bytes(&header));
    hash.update(rest);
    hash.finalize().into()
}

/// Checks that the file is a pack of this version, and whole.
fn check_file(header: &Header, rest: &[u8]) -> Result<(), PackError> {
    if header.magic != format::MAGIC {
        return Err(PackError::NotAPack);
    }
    let found = header.major.get();
    if found != format::MAJOR {
        return Err(PackError::Version { found });
    }
    let (declared, found) = (header.length.get(), size_of::<Header>() + rest.len());
    if declared != found as u64 {
        return Err(PackError::Length { declared, found });
    }
    if digest(header, rest) != header.digest {
        return Err(PackError::Digest);
    }
    Ok(())
}

/// Checks the fields of the header except the section count.
fn check_fields(header: &Header) -> Result<(), PackError> {
    let dimension = header.dimension.get();
    within("dimension", dimension, 1, format::MAX_DIMENSION)?;
    zero("reserved header field", header.reserved.get())?;
    encoder_name(header).ok_or(PackError::EncoderName)?;
    Ok(())
}

/// The encoder's name; `None` if it is not UTF-8 padded with zeroes.
fn encoder_name(header: &Header) -> Option<&str> {
    let field = &header.encoder_name;
    let length = field.iter().position(|byte| *byte == 0);
    let (name, padding) = field.split_at_checked(length.unwrap_or(field.len()))?;
    if padding.iter().any(|byte| *byte != 0) {
        return None;
    }
    core::str::from_utf8(name).ok()
}

/// The bytes of `entry` and where they end. They start at or after `end`, with less than
/// [`ALIGNMENT`] zeroes in between.
fn section_after<'a>(
    bytes: &'a [u8],
    end: usize,
    entry: &Entry,
) -> Result<(&'a [u8], usize), PackError> {
    let fail = |reason| PackError::section(entry.tag, reason);
    let outside = fail("lies outside the file");
    let offset = usize::try_from(entry.offset.get()).map_err(|_| outside)?;
    let length = usize::try_from(entry.length.get()).map_err(|_| outside)?;
    if offset % ALIGNMENT != 0 {
        return Err(fail("does not start at a multiple of 64 bytes"));
    }
    let Some(gap) = bytes.get(end..offset) else {
        return Err(fail(
            "overlaps what comes before it, or lies outside the file",
        ));
    };
    if gap.len() >= ALIGNMENT || gap.iter().any(|byte| *byte != 0) {
        let reason = "is not preceded by less than 64 bytes of zero padding";
        return Err(fail(reason));
    }
    let end = offset.checked_add(length).ok_or(outside)?;
    Ok((bytes.get(offset..end).ok_or(outside)?, end))
}
