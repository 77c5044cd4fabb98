//! Packs.

use core::ffi::{c_char, c_void};

use undertone_core::lexicon::MAX_LEXICON_DIMENSION;
use undertone_core::pack::{Pack, PackError};
use zeroize::Zeroize;

use crate::interface::*;
use crate::memory::{Buffer, Handle, HandleRef, In, Out, Room, checked};
use crate::status::{Refusal, SENTENCES_STACK, report, report_private};

/// A pack: the public file that every device reads. The handle points into the bytes of the file.
pub struct UndertonePack {
    _opaque: (),
}

impl Handle for UndertonePack {
    type Value = Pack<'static>;
    const TAG: usize = 0x7061_636d;
    const SIZE: usize = UNDERTONE_PACK_HANDLE_SIZE;
}

fn refusal(error: PackError) -> Refusal {
    Refusal(match error {
        PackError::TooShort { .. } => UNDERTONE_STATUS_PACK_TOO_SHORT,
        PackError::NotAPack => UNDERTONE_STATUS_NOT_A_PACK,
        PackError::Version { .. } => UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION,
        PackError::Length { .. } => UNDERTONE_STATUS_PACK_WRONG_LENGTH,
        PackError::Digest => UNDERTONE_STATUS_PACK_DAMAGED,
        _ => UNDERTONE_STATUS_PACK_MALFORMED,
    })
}

/// Checks a pack and makes a handle for it. One pack may be used by many threads at once.
///
/// `bytes`: the `len` bytes of the file, at any address. They are read in place, not copied, and
/// must stay unchanged as long as the pack or an object made from it is used.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_PACK_TOO_SHORT`,
/// `UNDERTONE_STATUS_NOT_A_PACK`, `UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION`,
/// `UNDERTONE_STATUS_PACK_WRONG_LENGTH`, `UNDERTONE_STATUS_PACK_DAMAGED`,
/// `UNDERTONE_STATUS_PACK_MALFORMED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_init(
    memory: *mut c_void,
    memory_len: usize,
    bytes: *const u8,
    len: usize,
    out_pack: *mut *mut UndertonePack,
) -> i32 {
    report(|| {
        let (bytes, room) = checked!(unsafe In(bytes, len), Room(memory, memory_len, out_pack));
        room.make(|| Pack::parse(bytes).map_err(refusal))
    })
}

/// The public facts about a pack, for `undertone_pack_describe`. The fields never change: what a
/// later version adds has a function of its own.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UndertonePackDescription {
    /// The dimension of an embedding, 1 to 4096.
    pub dimension: u32,
    /// The number of candidates that a release is drawn from; 0 if the pack has none.
    pub candidate_count: u32,
    /// The number that means "nothing known" in a whole-text release. If the pack recognises
    /// nothing in the text, for example because the text is empty or in another language, this is
    /// the most likely number. It is equal to `candidate_count`. Like every candidate, it may also
    /// be drawn by chance. A pack may leave this outcome out of the releases of documents; then
    /// only the release of a reservoir has it, if no line was drawn. `UINT32_MAX` if the pack has
    /// no scores.
    pub nothing_known: u32,
    /// How candidates are selected, a `UNDERTONE_SELECTOR_` number; 0 if the pack has no
    /// candidates.
    pub selector: i32,
    /// The largest score that one sentence can give a candidate, 1 to 255; 0 if the pack has no
    /// scores.
    pub largest_score: u32,
    /// The number of levels, 2 to 160; 0 if the pack has no scores. The level of a candidate is the
    /// distance of its sum of scores below the best sum; a candidate whose distance is larger than
    /// the last level counts as on the last level. With fewer levels, a sentence release protects
    /// the whole text better (`undertone_document_promise`).
    pub level_count: u32,
    /// The number of features of texts (words, pairs, symbols, runs of letters) that add to the
    /// scores; 0 if the pack has none. A pack with features needs the text of each sentence: use
    /// `undertone_document_push_sentence`, or `undertone_document_push_encoded` if the pack was
    /// built with a neural encoder.
    pub feature_count: u32,
    /// The number of projection directions of a pack that selects by depth; 0 for any other pack.
    /// A pack with more than `UNDERTONE_MAX_DIRECTIONS` cannot be used for documents.
    pub direction_count: u32,
    /// The number of words in the lexicon; 0 if the pack has none.
    pub word_count: u32,
    /// The dimension of a released vector after the projection of the pack
    /// (`undertone_vector_mechanism_init_projected`); 0 if it has no projection.
    pub projected_dimension: u32,
    /// The identifier of the pack, which a release carries.
    pub id: [u8; UNDERTONE_PACK_ID_BYTES],
    /// The digest that identifies the encoder whose embeddings the pack was built from.
    pub encoder_digest: [u8; UNDERTONE_ENCODER_DIGEST_BYTES],
    /// The name of that encoder: UTF-8, followed by one or more zero bytes that fill the field.
    pub encoder_name: [c_char; UNDERTONE_ENCODER_NAME_BYTES],
}

/// Describes a pack.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_describe(
    pack: *const UndertonePack,
    out_description: *mut UndertonePackDescription,
) -> i32 {
    report(|| {
        let (pack, out) = checked!(unsafe HandleRef(pack), Out(out_description));
        out.write(description(pack));
        Ok(())
    })
}

fn description(pack: &Pack<'_>) -> UndertonePackDescription {
    let scores = pack.scores();
    let mut encoder_name = [0; UNDERTONE_ENCODER_NAME_BYTES];
    for (to, from) in encoder_name.iter_mut().zip(pack.encoder_name().bytes()) {
        *to = from as c_char;
    }
    UndertonePackDescription {
        dimension: pack.dimension() as u32,
        candidate_count: pack.candidate_count(),
        nothing_known: scores.map_or(u32::MAX, |scores| scores.candidate_count()),
        selector: pack.mechanism().map_or(0, |mechanism| mechanism as i32),
        largest_score: scores.map_or(0, |scores| scores.largest_score().into()),
        level_count: scores.map_or(0, |scores| scores.level_count() as u32),
        feature_count: pack.features().map_or(0, |it| it.feature_count() as u32),
        direction_count: pack.depth().map_or(0, |it| it.direction_count() as u32),
        word_count: pack.lexicon().map_or(0, |it| it.word_count() as u32),
        projected_dimension: pack.projection().map_or(0, |it| it.row_count() as u32),
        id: pack.id(),
        encoder_digest: *pack.encoder_digest(),
        encoder_name,
    }
}

/// Computes, with the lexicon of the pack, the embedding of one sentence, which is the vector that
/// `undertone_document_push_sentence` adds. **It is as private as the sentence.**
///
/// `text`: `len` bytes of UTF-8, taken as one sentence. `out`: `out_capacity` floats; the pack's
/// `dimension` is enough. `out_written`: receives the floats written, or those needed with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. The time of the call depends on the sentence.
///
/// Statuses: `UNDERTONE_STATUS_NO_LEXICON`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_embed_sentence(
    pack: *const UndertonePack,
    text: *const c_char,
    len: usize,
    out: *mut f32,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (pack, text, out) = checked!(
            unsafe HandleRef(pack),
            In(text.cast::<u8>(), len),
            Buffer(out, out_capacity, out_written),
        );
        let lexicon = pack.lexicon().ok_or(Refusal(UNDERTONE_STATUS_NO_LEXICON))?;
        let out = out.for_at_least(lexicon.dimension())?;
        // The caller's memory may be uninitialised.
        let mut vector = [0f32; MAX_LEXICON_DIMENSION as usize];
        let internal = Refusal(UNDERTONE_STATUS_INTERNAL);
        let coordinates = vector.get_mut(..lexicon.dimension()).ok_or(internal)?;
        lexicon
            .sentence_vector(text, coordinates)
            .map_err(|_| internal)?;
        out.write(coordinates.iter().copied());
        vector.zeroize();
        Ok(())
    })
}
