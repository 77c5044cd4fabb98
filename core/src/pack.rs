//! The pack: one file with everything public that a device needs, read in place.
//!
//! A pack is untrusted input. [`Pack::parse`] is total: on any bytes it returns a view whose every
//! access is in bounds, or an error that names what was found and what is allowed. Nothing in a
//! pack can weaken a guarantee (see [`depth`](crate::depth)); a hostile pack can only make
//! releases useless.
//!
//! `core/FORMAT.md` specifies the format. [`format`](mod@format) has its structures, which the writer uses too.

pub mod format;
pub(crate) mod wire;

use sha2::{Digest, Sha256};
use zerocopy::FromBytes;

use crate::depth::DepthSection;
use crate::features::Features;
use crate::language::ANY_LANGUAGE;
use crate::lexicon::Lexicon;
use crate::quality::Quality;
use crate::recode::Recoder;
use crate::release::Selector;
use crate::scores::ScoresSection;
use crate::vector::Projection;
use format::{ALIGNMENT, Entry, Header};
use wire::{within, zero};

pub use wire::PackError;

/// A checked view of a pack. Copying it copies a few pointers.
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
            header.section_count.get(),
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
            features: None,
            quality: None,
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
            pack.add(entry.tag, section.bytes, dimension)?;
        }
        if end != bytes.len() {
            return Err(PackError::Trailing {
                end,
                found: bytes.len(),
            });
        }
        let features_missing = pack.features.is_none();
        if features_missing && pack.scores.is_some_and(|scores| scores.has_features()) {
            return Err(PackError::Section {
                tag: format::SCORES_TAG,
                reason: "has no features after it, which its kind needs",
            });
        }
        Ok(pack)
    }

    /// Reads one section, after those before it.
    fn add(&mut self, tag: [u8; 4], section: &'a [u8], dimension: u32) -> Result<(), PackError> {
        match tag {
            format::RECODER_TAG => {
                if self.depth.is_some() || self.scores.is_some() {
                    return Err(PackError::Section {
                        tag,
                        reason: "comes after a section that it recodes for",
                    });
                }
                self.recoder = Some(Recoder::parse(section, dimension)?)
            }
            format::DEPTH_TAG => {
                let depth = DepthSection::parse(section, self.inputs())?;
                self.depth = Some(self.after_recoder(depth.exponent()).map(|()| depth)?)
            }
            format::SCORES_TAG => {
                let scores = ScoresSection::parse(section, self.inputs())?;
                self.scores = Some(self.after_recoder(scores.exponent()).map(|()| scores)?)
            }
            format::FEATURES_TAG => {
                let Some(scores) = self.scores.filter(ScoresSection::has_features) else {
                    return Err(PackError::Section {
                        tag,
                        reason: "has no scores before it that it adds to",
                    });
                };
                Features::check(section, scores.candidate_count())?;
                self.features = Some(section)
            }
            format::QUALITY_TAG => {
                Quality::parse(section)?;
                self.quality = Some(section)
            }
            format::LEXICON_TAG => self.lexicon = Some(Lexicon::parse(section, dimension)?),
            format::PHRASES_TAG => {
                let lexicon = self.lexicon.ok_or(PackError::Section {
                    tag,
                    reason: "has no lexicon before it",
                })?;
                self.lexicon = Some(lexicon.with_phrases(section)?)
            }
            format::PROJECTION_TAG => {
                let projection = Projection::parse(section, dimension, self.id());
                self.projection = Some(projection?)
            }
            _ => {}
        }
        Ok(())
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
    fn after_recoder(&self, exponent: i32) -> Result<(), PackError> {
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
    pub fn candidate_count(&self) -> u32 {
        let depth = self.depth.map(|depth| depth.candidate_count());
        let scores = self.scores.map(|scores| scores.candidate_count());
        scores.or(depth).unwrap_or(0)
    }

    /// How a candidate is selected: by scores, if the pack has any. `None` if it has no candidates.
    pub fn selector(&self) -> Option<Selector> {
        let scores = self.scores.map(|_| Selector::Scores);
        scores.or(self.depth.map(|_| Selector::Depth))
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

    /// The features that add to the scores, if the pack has any.
    pub fn features(&self) -> Option<Features<'a>> {
        // Parsing refused it. The compiler does not know.
        if !ANY_LANGUAGE {
            return None;
        }
        Features::view(self.features?, self.scores?.candidate_count()).ok()
    }

    /// How good the pack is, if whoever made it measured that.
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

/// SHA-256 of a pack, given its header and everything after it, with zeroes for the digest field. For readers and
/// writers of packs.
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

/// The bytes of `entry`, which must start after `end`, with nothing but zeroes in between.
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
        return fail("overlaps what comes before it, or lies outside the file");
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
