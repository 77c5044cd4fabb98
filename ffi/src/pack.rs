//! Packs.

use core::ffi::{c_char, c_void};

use undertone_core::Epsilon;
use undertone_core::lexicon::MAX_LEXICON_DIMENSION;
use undertone_core::pack::{Pack, PackError};
use undertone_core::release::Selector;
use zeroize::Zeroize;

use crate::memory::{self, Extent, Handle};
use crate::status::{
    Refusal, SENTENCES_STACK, UNDERTONE_STATUS_NO_LEXICON, UNDERTONE_STATUS_NOT_A_PACK,
    UNDERTONE_STATUS_PACK_DAMAGED, UNDERTONE_STATUS_PACK_MALFORMED,
    UNDERTONE_STATUS_PACK_TOO_SHORT, UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION,
    UNDERTONE_STATUS_PACK_WRONG_LENGTH, report, report_private,
};

/// Alignment that is enough for every handle on every target.
pub const UNDERTONE_HANDLE_ALIGNMENT: usize = 16;
/// Bytes that are enough for an `undertone_pack` on every target.
pub const UNDERTONE_PACK_HANDLE_SIZE: usize = 640;
/// The length of a pack's identifier.
pub const UNDERTONE_PACK_ID_BYTES: usize = 8;
/// The length of the digest that identifies an encoder.
pub const UNDERTONE_ENCODER_DIGEST_BYTES: usize = 32;
/// The largest length of an encoder's name, with its terminating zero.
pub const UNDERTONE_ENCODER_NAME_BYTES: usize = 33;

/// Candidates are selected by approximate Tukey depth.
pub const UNDERTONE_SELECTOR_DEPTH: i32 = 1;
/// Candidates are selected by bounded scores.
pub const UNDERTONE_SELECTOR_SCORES: i32 = 2;

const _: () = assert!(
    UNDERTONE_SELECTOR_DEPTH == Selector::Depth as i32
        && UNDERTONE_SELECTOR_SCORES == Selector::Scores as i32
);
const _: () = assert!(
    memory::size::<UndertonePack>() <= UNDERTONE_PACK_HANDLE_SIZE
        && memory::alignment::<UndertonePack>() <= UNDERTONE_HANDLE_ALIGNMENT
);

/// A pack: what the public side built and every device reads. It lives in memory that the caller
/// brings and points into the bytes it was made from.
pub struct UndertonePack {
    _opaque: (),
}

impl Handle for UndertonePack {
    type Value = Pack<'static>;
    const TAG: usize = 0x7061_636d;
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

/// The bytes that `undertone_pack_init` needs, at most `UNDERTONE_PACK_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_pack_handle_size() -> usize {
    memory::size::<UndertonePack>()
}

/// The alignment that `undertone_pack_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_pack_handle_alignment() -> usize {
    memory::alignment::<UndertonePack>()
}

/// Checks a pack and makes a handle for it.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_pack_handle_size()`, aligned to
/// `undertone_pack_handle_alignment()`; what `malloc` returns is aligned. `bytes`: the `len` bytes of the file,
/// at any address; they are read in place (map the file), not copied. `out_pack`: the handle, which
/// lies in `memory`.
///
/// The bytes must stay where they are, unchanged, as long as the pack or a document made from it
/// is used. There is nothing to free: once the pack is no longer used, its memory may be reused.
/// If the call fails, `memory` may have been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_PACK_TOO_SHORT`,
/// `UNDERTONE_STATUS_NOT_A_PACK`, `UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION`,
/// `UNDERTONE_STATUS_PACK_WRONG_LENGTH`, `UNDERTONE_STATUS_PACK_DAMAGED`,
/// `UNDERTONE_STATUS_PACK_MALFORMED`.
///
/// Threads: any, with `memory` of their own. One pack may be used by many threads at once.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `bytes` is NULL or `len` readable bytes that
/// stay as described; `out_pack` is NULL or writable.
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
        let extents = [
            memory::array(bytes, len)?,
            memory::one(out_pack)?,
            memory::room::<UndertonePack>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable and stay unchanged as long as the pack is
        // used, which is what 'static stands for here.
        let bytes: &'static [u8] = unsafe { memory::slice(bytes, len) };
        // SAFETY: `room` and `one` accepted the pointers, which overlap nothing else that is used here; the
        // caller says that they are writable.
        unsafe { memory::place(memory, out_pack, || Pack::parse(bytes).map_err(refusal)) }
    })
}

/// The pack in a handle, and where the handle is.
///
/// # Safety
/// `pack` is null or [`memory::size`] readable bytes, and nobody writes to them during `'a`.
pub(crate) unsafe fn pack_at<'a>(
    pack: *const UndertonePack,
) -> Result<(&'a Pack<'static>, Extent), Refusal> {
    // SAFETY: the caller's promise is the one that `value` asks for.
    let (value, extent) = unsafe { memory::value(pack) }?;
    // SAFETY: the tag says that `undertone_pack_init` put a pack there; nobody writes to it.
    Ok((unsafe { &*value }, extent))
}

/// `number` of the pack in a handle; 0 if the handle is not valid.
///
/// # Safety
/// As for [`pack_at`].
unsafe fn number(pack: *const UndertonePack, number: impl FnOnce(&Pack<'static>) -> u32) -> u32 {
    // SAFETY: the caller's promise is the one that `pack_at` asks for.
    unsafe { pack_at(pack) }.map_or(0, |(pack, _)| number(pack))
}

/// The dimension of an embedding, 1 to 4096; 0 if `pack` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_dimension(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { number(pack, |pack| u32::try_from(pack.dimension()).unwrap_or(0)) }
}

/// The number of candidates that a release is drawn from; 0 if the pack has none or `pack` is not
/// a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_candidate_count(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { number(pack, Pack::candidate_count) }
}

/// How a release is selected, `UNDERTONE_SELECTOR_DEPTH` or `UNDERTONE_SELECTOR_SCORES`; 0 if the pack has no
/// candidates or `pack` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_selector(pack: *const UndertonePack) -> i32 {
    // SAFETY: the caller's promise is the one that `pack_at` asks for.
    unsafe { pack_at(pack) }.map_or(0, |(pack, _)| pack.selector().map_or(0, |m| m as i32))
}

/// The largest score that one sentence can give a candidate, 1 to 255; 0 if the pack has no scores or `pack`
/// is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_largest_score(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        number(pack, |pack| {
            pack.scores()
                .map_or(0, |scores| scores.largest_score().into())
        })
    }
}

/// The number of levels of the scores, 2 to 160: candidates further behind the best count as just as far. Fewer levels
/// promise more for the whole text (`undertone_document_promise`). 0 if the pack has no scores or `pack` is not a valid
/// handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_level_count(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        number(pack, |pack| {
            pack.scores()
                .map_or(0, |scores| scores.level_count() as u32)
        })
    }
}

/// The number of features of texts (words, pairs, runs of letters) that add to the scores; 0 if the pack has none or
/// `pack` is not a valid handle. A pack with features needs the text of a sentence:
/// `undertone_document_push_sentence`, or `undertone_document_push_encoded` if it was built with a neural encoder.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_feature_count(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        number(pack, |pack| {
            pack.features()
                .map_or(0, |features| features.feature_count() as u32)
        })
    }
}

/// What a release by the whole text has in the place of its candidate for "nothing known": nothing that the pack knows
/// was in the text, such as one in another language, or the text was empty. It is `undertone_pack_candidate_count`, one
/// above the last candidate. Like every candidate it may have been drawn by chance. `UINT32_MAX` if the pack has no scores
/// or `pack` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_nothing_known(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise is the one that `pack_at` asks for.
    let scores = unsafe { pack_at(pack) }
        .ok()
        .and_then(|(pack, _)| pack.scores());
    scores.map_or(u32::MAX, |scores| scores.candidate_count())
}

/// The unit whose releases were right more often when the maker of the pack measured them on public texts, at the largest
/// epsilon measured that is not above this one. It depends on public things only, and no promise depends on it: choose by
/// it before there is a text. 0 if the pack does not say, `epsilon_micro` is no epsilon or `pack` is not a valid handle.
///
/// `epsilon_micro`: that of a grant, in micro-units. `sentences`: how many the texts of the app have, as a rule; 0: as the
/// public texts.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_recommended_unit(
    pack: *const UndertonePack,
    epsilon_micro: u32,
    sentences: u32,
) -> i32 {
    // SAFETY: the caller's promise is the one that `pack_at` asks for.
    let quality = unsafe { pack_at(pack) }
        .ok()
        .and_then(|(pack, _)| pack.quality());
    let Some((quality, epsilon)) = quality.zip(Epsilon::from_micro(epsilon_micro).ok()) else {
        return 0;
    };
    i32::from(quality.recommended(epsilon, sentences).number())
}

/// The dimension of a released vector after the projection of the pack
/// (`undertone_vector_mechanism_init_projected`); 0 if it has no projection or `pack` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_projected_dimension(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        number(pack, |pack| {
            pack.projection()
                .map_or(0, |projection| projection.row_count() as u32)
        })
    }
}

/// The number of projection directions of a pack that selects by depth, which a document can hold if
/// it is at most `UNDERTONE_MAX_DIRECTIONS`; 0 for any other pack or if `pack` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_direction_count(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        number(pack, |pack| {
            let directions = pack.depth().map_or(0, |depth| depth.direction_count());
            u32::try_from(directions).unwrap_or(0)
        })
    }
}

/// The number of words in the lexicon, which `undertone_document_push_sentence` needs; 0 if the
/// pack has none or `pack` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_word_count(pack: *const UndertonePack) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        number(pack, |pack| {
            let words = pack.lexicon().map_or(0, |lexicon| lexicon.word_count());
            u32::try_from(words).unwrap_or(0)
        })
    }
}

/// Computes the embedding of one sentence with the lexicon of the pack: the vector that
/// `undertone_document_push_sentence` adds. **It is as private as the sentence.**
///
/// `text`: `len` bytes of UTF-8, taken as one sentence. `out`: room for `out_capacity` floats;
/// `undertone_pack_dimension` are enough. `out_written`: the floats written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` those needed.
///
/// No status depends on the sentence, but the time the call takes does.
///
/// Statuses: `UNDERTONE_STATUS_NO_LEXICON`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned; `text` is NULL or `len` readable bytes; `out` is
/// NULL or writable for `out_capacity` floats; `out_written` is NULL or writable.
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
    report_private::<SENTENCES_STACK>(|| {
        let extents = [
            memory::array(text, len)?,
            memory::array(out, out_capacity)?,
            memory::one(out_written)?,
        ];
        memory::all_disjoint(&extents)?;
        let [_, buffer, written] = extents;
        // SAFETY: the caller's promise is the one that `pack_at` asks for; what is written does not overlap
        // the pack or the call ends here.
        let (pack, extent) = unsafe { pack_at(pack) }?;
        memory::disjoint(&extent, &[buffer, written])?;
        let lexicon = pack.lexicon().ok_or(Refusal(UNDERTONE_STATUS_NO_LEXICON))?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, lexicon.dimension(), out_written) }?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let text = unsafe { memory::slice(text.cast::<u8>(), len) };
        // The caller's memory may be uninitialised.
        let mut vector = [0f32; MAX_LEXICON_DIMENSION as usize];
        let coordinates = vector.get_mut(..lexicon.dimension()).unwrap_or_default();
        // It has the lexicon's dimension.
        let _ = lexicon.sentence_vector_lossy(text, coordinates);
        // SAFETY: `array` and `one` accepted the pointers, whose memory overlaps nothing, and the capacity
        // holds the vector; the caller says that they are writable.
        unsafe { memory::write_all(coordinates.iter().copied(), out, out_written) };
        vector.zeroize();
        Ok(())
    })
}

/// The identifier of the pack, which a release carries.
///
/// `out_id`: `UNDERTONE_PACK_ID_BYTES` bytes.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned; `out_id` is NULL or
/// `UNDERTONE_PACK_ID_BYTES` writable bytes outside the pack.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_id(pack: *const UndertonePack, out_id: *mut u8) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        describe(pack, out_id, |pack| -> [u8; UNDERTONE_PACK_ID_BYTES] {
            pack.id()
        })
    }
}

/// The digest that identifies the encoder whose embeddings the pack was built from.
///
/// `out_digest`: `UNDERTONE_ENCODER_DIGEST_BYTES` bytes.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned; `out_digest` is NULL or
/// `UNDERTONE_ENCODER_DIGEST_BYTES` writable bytes outside the pack.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_encoder_digest(
    pack: *const UndertonePack,
    out_digest: *mut u8,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        describe(
            pack,
            out_digest,
            |pack| -> [u8; UNDERTONE_ENCODER_DIGEST_BYTES] { *pack.encoder_digest() },
        )
    }
}

/// The name of that encoder, UTF-8, padded with zeroes and terminated by at least one.
///
/// `out_name`: `UNDERTONE_ENCODER_NAME_BYTES` bytes.
///
/// Threads: any.
///
/// # Safety
/// `pack` is NULL or what `undertone_pack_init` returned; `out_name` is NULL or
/// `UNDERTONE_ENCODER_NAME_BYTES` writable bytes outside the pack.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_pack_encoder_name(
    pack: *const UndertonePack,
    out_name: *mut c_char,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        describe(pack, out_name.cast(), |pack| {
            let mut name = [0; UNDERTONE_ENCODER_NAME_BYTES];
            for (to, from) in name.iter_mut().zip(pack.encoder_name().bytes()) {
                *to = from;
            }
            name
        })
    }
}

/// Writes `N` bytes that describe a pack.
///
/// # Safety
/// `pack` is null or [`memory::size`] readable bytes; `out` is null or `N` writable bytes. Nobody
/// else writes to them during the call.
unsafe fn describe<const N: usize>(
    pack: *const UndertonePack,
    out: *mut u8,
    description: impl FnOnce(&Pack<'static>) -> [u8; N],
) -> i32 {
    report(|| {
        let written = memory::one(out.cast::<[u8; N]>())?;
        // SAFETY: the caller's promise is the one that `pack_at` asks for.
        let (pack, extent) = unsafe { pack_at(pack) }?;
        memory::disjoint(&written, &[extent])?;
        let bytes = description(pack);
        // SAFETY: `one` found the pointer not null; the caller says that N bytes are writable.
        unsafe { out.cast::<[u8; N]>().write(bytes) };
        Ok(())
    })
}
