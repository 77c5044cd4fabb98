//! Documents.

use core::ffi::{c_char, c_void};

use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::release::Release;
use undertone_core::scores::SUMS_PER_ROW as SCORED_PER_ROW;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

use crate::entropy::{Callback, UndertoneEntropyFn};
use crate::epsilon;
use crate::grant::{self, UndertoneGrant, grant_at};
use crate::memory::{self, Handle};
use crate::pack::{UNDERTONE_HANDLE_ALIGNMENT, UndertonePack, pack_at};
use crate::release::{UNDERTONE_RELEASE_BYTES, UNDERTONE_UNIT_SENTENCE, UNDERTONE_UNIT_WHOLE_TEXT};
use crate::status::{
    Refusal, SENTENCES_STACK, UNDERTONE_STATUS_DOCUMENT_FULL, UNDERTONE_STATUS_ENTROPY_FAILED,
    UNDERTONE_STATUS_INTERNAL, UNDERTONE_STATUS_NEEDS_TEXT, UNDERTONE_STATUS_NO_CANDIDATES,
    UNDERTONE_STATUS_NO_LEXICON, UNDERTONE_STATUS_NO_SCORES, UNDERTONE_STATUS_NULL_POINTER,
    UNDERTONE_STATUS_TOO_MANY_CANDIDATES, UNDERTONE_STATUS_TOO_MANY_DIRECTIONS,
    UNDERTONE_STATUS_UNKNOWN_RULE, UNDERTONE_STATUS_UNKNOWN_UNIT, UNDERTONE_STATUS_WRONG_DIMENSION,
    report, report_private,
};

/// The most sentences in a document.
pub const UNDERTONE_MAX_SENTENCES: usize = 128;
/// The most projection directions in a pack that a document is made from.
pub const UNDERTONE_MAX_DIRECTIONS: usize = 100;
/// The most candidates in a pack with scores that a document is made from.
pub const UNDERTONE_MAX_SCORED_CANDIDATES: usize = 12_800;
/// The same for a pack with features.
pub const UNDERTONE_MAX_FEATURED_CANDIDATES: usize = 2560;
/// The most candidates for a release by the whole text.
pub const UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES: usize = 4224;
/// Bytes that are enough for an `undertone_document` on every target.
pub const UNDERTONE_DOCUMENT_HANDLE_SIZE: usize = 26_624;

/// Permute-and-flip, the default: never worse than the exponential mechanism at the same epsilon.
pub const UNDERTONE_RULE_PERMUTE_AND_FLIP: i32 = 1;
/// The exponential mechanism, for accounting in zCDP.
pub const UNDERTONE_RULE_EXPONENTIAL: i32 = 2;

const _: () = assert!(
    UNDERTONE_RULE_PERMUTE_AND_FLIP == Rule::PermuteAndFlip as i32
        && UNDERTONE_RULE_EXPONENTIAL == Rule::Exponential as i32
);
const _: () = assert!(UNDERTONE_MAX_SCORED_CANDIDATES == SCORED_PER_ROW * UNDERTONE_MAX_DIRECTIONS);
// A value of 32 bits takes two scores' room; features take as much again.
const _: () = assert!(
    UNDERTONE_MAX_FEATURED_CANDIDATES == SCORED_PER_ROW * (UNDERTONE_MAX_DIRECTIONS / 5)
        && UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES == SCORED_PER_ROW * (UNDERTONE_MAX_DIRECTIONS / 3)
);
const _: () = assert!(
    memory::size::<UndertoneDocument>() <= UNDERTONE_DOCUMENT_HANDLE_SIZE
        && memory::alignment::<UndertoneDocument>() <= UNDERTONE_HANDLE_ALIGNMENT
);

/// A private document: sentences go in, one private release comes out, and the document is empty again. It
/// lives in memory that the caller brings; most of it counts sentences or sums their scores, and no part of it
/// holds a sentence.
pub struct UndertoneDocument {
    _opaque: (),
}

type Inner = Document<'static, UNDERTONE_MAX_SENTENCES, UNDERTONE_MAX_DIRECTIONS>;

impl Handle for UndertoneDocument {
    type Value = Inner;
    const TAG: usize = 0x646f_6375;
}

fn refusal(error: DocumentError) -> Refusal {
    Refusal(match error {
        DocumentError::NoCandidates => UNDERTONE_STATUS_NO_CANDIDATES,
        DocumentError::NoLexicon => UNDERTONE_STATUS_NO_LEXICON,
        DocumentError::TooManyDirections { .. } => UNDERTONE_STATUS_TOO_MANY_DIRECTIONS,
        DocumentError::TooManyCandidates { .. } => UNDERTONE_STATUS_TOO_MANY_CANDIDATES,
        DocumentError::Dimension { .. } => UNDERTONE_STATUS_WRONG_DIMENSION,
        DocumentError::Full { .. } => UNDERTONE_STATUS_DOCUMENT_FULL,
        DocumentError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        DocumentError::NeedsText => UNDERTONE_STATUS_NEEDS_TEXT,
        DocumentError::NoScores => UNDERTONE_STATUS_NO_SCORES,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// The bytes that `undertone_document_init` needs, at most `UNDERTONE_DOCUMENT_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_document_handle_size() -> usize {
    memory::size::<UndertoneDocument>()
}

/// The alignment that `undertone_document_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_document_handle_alignment() -> usize {
    memory::alignment::<UndertoneDocument>()
}

/// Makes an empty document for the candidates of a pack.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_document_handle_size()`, aligned to
/// `undertone_document_handle_alignment()`; what `malloc` returns is aligned. `pack`: not used after the call,
/// but the bytes it was made from are, as long as the document is used. `out_document`: the handle,
/// which lies in `memory` and must not be moved or copied.
///
/// There is nothing to free. A document that may still hold sentences is wiped with
/// `undertone_document_reset` before its memory is reused. If the call fails, `memory` may have
/// been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NO_CANDIDATES`,
/// `UNDERTONE_STATUS_TOO_MANY_DIRECTIONS`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
///
/// Threads: any, with `memory` of their own. A document is used by one thread at a time.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `pack` is NULL or what `undertone_pack_init`
/// returned; `out_document` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_init(
    memory: *mut c_void,
    memory_len: usize,
    pack: *const UndertonePack,
    out_document: *mut *mut UndertoneDocument,
) -> i32 {
    report(|| {
        // SAFETY: the caller's promise is the one that `pack_at` asks for, but for what this
        // call writes, and that does not overlap the pack or the call ends here.
        let (pack, pack_extent) = unsafe { pack_at(pack) }?;
        let extents = [
            pack_extent,
            memory::one(out_document)?,
            memory::room::<UndertoneDocument>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `room` and `one` accepted the pointers, which overlap nothing else that is used here; the
        // caller says that they are writable.
        unsafe { memory::place(memory, out_document, || Inner::new(pack).map_err(refusal)) }
    })
}

/// Adds one sentence by its embedding.
///
/// `embedding`: `len` floats, `len` being `undertone_pack_dimension`. Any bits: a coordinate that
/// is not finite counts as 0. It must come from the encoder that the pack names, which must have
/// seen this sentence alone.
///
/// Unless the status is `UNDERTONE_STATUS_OK` the document is unchanged. No status depends on the content
/// of a sentence.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`; `UNDERTONE_STATUS_NEEDS_TEXT` for
/// a pack with features.
///
/// Threads: no other call may use the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; `embedding` is NULL or `len`
/// readable floats.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push(
    document: *mut UndertoneDocument,
    embedding: *const f32,
    len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let read = memory::array(embedding, len)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::disjoint(&extent, &[read])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the embedding lies elsewhere.
        let value = unsafe { &mut *value };
        // Before the floats are touched: a length in bytes is an easy mistake.
        if len != value.dimension() {
            return Err(Refusal(UNDERTONE_STATUS_WRONG_DIMENSION));
        }
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the floats are readable, and any bits are a float.
        let embedding = unsafe { memory::slice(embedding, len) };
        value.push(embedding).map_err(refusal)
    })
}

/// Adds several sentences by their embeddings, until the document is full; the rest is left out. This equals
/// `undertone_document_push` for each, but is faster: the pack is read once for every four.
///
/// `embeddings`: `len` floats, a multiple of `undertone_pack_dimension`, one embedding after another, each as
/// for `undertone_document_push`. `out_sentence_count`: NULL, or the number of sentences added. It is private and must
/// not leave the device.
///
/// Unless the status is `UNDERTONE_STATUS_OK` the document is unchanged. No status depends on the content of a
/// sentence.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`; `UNDERTONE_STATUS_NEEDS_TEXT` for a pack with features.
///
/// Threads: no other call may use the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; `embeddings` is NULL or `len` readable
/// floats; `out_sentence_count` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_all(
    document: *mut UndertoneDocument,
    embeddings: *const f32,
    len: usize,
    out_sentence_count: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let read = memory::array(embeddings, len)?;
        let written = memory::optional(out_sentence_count)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::all_disjoint(&[extent, read, written])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the embeddings lie elsewhere. `array` found their pointer aligned, not null unless empty and
        // their length possible; the caller says that the floats are readable, and any bits are a float.
        let (value, embeddings) = unsafe { (&mut *value, memory::slice(embeddings, len)) };
        let pushed = value.push_all(embeddings).map_err(refusal)?;
        // SAFETY: `optional` accepted the pointer; the caller says that it is null or writable.
        unsafe { memory::give(out_sentence_count, pushed) };
        Ok(())
    })
}

/// Adds one sentence by its text, through the lexicon and the features in the pack. It needs a lexicon, or features
/// that stand alone.
///
/// `text`: `len` bytes of UTF-8, taken as one sentence; do not count a terminating zero. Bytes that are not
/// UTF-8 separate words. A sentence without a known word counts as the zero vector.
///
/// Unless the status is `UNDERTONE_STATUS_OK` the document is unchanged. No status depends on the content
/// of a sentence, but the time the call takes does.
///
/// Statuses: `UNDERTONE_STATUS_NO_LEXICON`, `UNDERTONE_STATUS_DOCUMENT_FULL`.
///
/// Threads: no other call may use the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; `text` is NULL or `len` readable
/// bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_sentence(
    document: *mut UndertoneDocument,
    text: *const c_char,
    len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let read = memory::array(text, len)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::disjoint(&extent, &[read])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the text lies elsewhere.
        let value = unsafe { &mut *value };
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable.
        let text = unsafe { memory::slice(text.cast::<u8>(), len) };
        value.push_sentence_lossy(text).map_err(refusal)
    })
}

/// Adds one sentence by its text and its embedding: for a pack that was built with a neural encoder and has features
/// of texts (`undertone_pack_feature_count`). Without features this is `undertone_document_push`, and the text is not
/// looked at.
///
/// `text`: `text_len` bytes of UTF-8, taken as one sentence; do not count a terminating zero. Bytes that are not UTF-8
/// separate words. `embedding`: `embedding_len` floats, that of this sentence, as for `undertone_document_push`.
///
/// Unless the status is `UNDERTONE_STATUS_OK` the document is unchanged. No status depends on the content of a sentence,
/// but the time the call takes does.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`.
///
/// Threads: no other call may use the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; `text` is NULL or `text_len` readable bytes;
/// `embedding` is NULL or `embedding_len` readable floats.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_encoded(
    document: *mut UndertoneDocument,
    text: *const c_char,
    text_len: usize,
    embedding: *const f32,
    embedding_len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let read = [
            memory::array(text, text_len)?,
            memory::array(embedding, embedding_len)?,
        ];
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::disjoint(&extent, &read)?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the text and the embedding lie elsewhere.
        let value = unsafe { &mut *value };
        // Before the floats are touched: a length in bytes is an easy mistake.
        if embedding_len != value.dimension() {
            return Err(Refusal(UNDERTONE_STATUS_WRONG_DIMENSION));
        }
        // SAFETY: `array` found the pointers aligned, not null unless empty and their lengths possible;
        // the caller says that the bytes and the floats are readable, and any bits are a float.
        let (text, embedding) = unsafe {
            (
                memory::slice(text.cast::<u8>(), text_len),
                memory::slice(embedding, embedding_len),
            )
        };
        value.push_encoded(text, embedding).map_err(refusal)
    })
}

/// Adds the sentences of a text, as `undertone_sentence_next` finds them, each as `undertone_document_push_sentence`
/// does, until the document is full; the rest is left out.
///
/// `text`: `len` bytes of UTF-8; do not count a terminating zero.
/// `out_sentence_count`: NULL, or the number of sentences added. It is private and must not leave the device.
///
/// No status depends on the text, but the time the call takes does.
///
/// Statuses: `UNDERTONE_STATUS_NO_LEXICON`.
///
/// Threads: no other call may use the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; `text` is NULL or `len` readable
/// bytes; `out_sentence_count` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_text(
    document: *mut UndertoneDocument,
    text: *const c_char,
    len: usize,
    out_sentence_count: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let read = memory::array(text, len)?;
        let written = memory::optional(out_sentence_count)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::all_disjoint(&[extent, read, written])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the text lies elsewhere. `array` found its pointer aligned, not null unless empty and its
        // length possible; the caller says that the bytes are readable.
        let (value, text) = unsafe { (&mut *value, memory::slice(text.cast::<u8>(), len)) };
        let added = value.push_text(text).map_err(refusal)?;
        // SAFETY: `optional` accepted the pointer; the caller says that it is null or writable.
        unsafe { memory::give(out_sentence_count, added) };
        Ok(())
    })
}

/// The number of sentences in a document, at most `UNDERTONE_MAX_SENTENCES`; 0 if `document` is not a valid
/// handle. It is private and must not leave the device.
///
/// Threads: any, but no other call that changes the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_sentence_count(
    document: *const UndertoneDocument,
) -> usize {
    // SAFETY: the caller's promise is the one that `value` asks for.
    let value = unsafe { memory::value(document) };
    // SAFETY: the tag says that `undertone_document_init` put a document there; nobody writes to it.
    value.map_or(0, |(value, _)| unsafe { &*value }.sentence_count())
}

/// Forgets all sentences and wipes what they left in the document: back to the state after
/// `undertone_document_init`. Call it before you free the memory of a document.
///
/// Threads: no other call may use the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_reset(document: *mut UndertoneDocument) -> i32 {
    report(|| {
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, _) = unsafe { memory::value(document) }?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses.
        unsafe { &mut *value }.clear();
        Ok(())
    })
}

/// What a release of this document promises, for a sentence and for the whole text, so that an app can show both. It
/// depends on the pack, the unit and epsilon alone, not on what is in the document. The promise is e^epsilon, without
/// delta; a smaller number promises more. Ask before the budget is spent: it says, too, whether there is such a release.
///
/// `unit`: `UNDERTONE_UNIT_SENTENCE` for `undertone_document_release`, by either rule, or `UNDERTONE_UNIT_WHOLE_TEXT` for
/// `undertone_document_release_whole_text` and `undertone_document_release_projective`. `epsilon_micro`: that of the grant, in micro-units. `out_sentence_micro`: what
/// replacing one sentence can cost at most, in micro-units. `out_whole_text_micro`: what replacing the whole text by any
/// other can cost at most. By the whole text both are epsilon. By the sentence the second is that of the worst two texts
/// of at most `UNDERTONE_MAX_SENTENCES` sentences, and grows with `undertone_pack_level_count`. Each output may be NULL.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`;
/// for the whole text also `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
///
/// Threads: any, but no other call that changes the document at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; each output is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_promise(
    document: *const UndertoneDocument,
    unit: i32,
    epsilon_micro: u32,
    out_sentence_micro: *mut u64,
    out_whole_text_micro: *mut u64,
) -> i32 {
    report(|| {
        let outputs = [
            memory::optional(out_sentence_micro)?,
            memory::optional(out_whole_text_micro)?,
        ];
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        let [sentence_extent, whole_text_extent] = outputs;
        memory::all_disjoint(&[extent, sentence_extent, whole_text_extent])?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        // SAFETY: the tag says that `undertone_document_init` put a document there; nobody writes to it.
        let value = unsafe { &*value };
        let whole_text = match unit {
            // Never less than that of the other rule.
            UNDERTONE_UNIT_SENTENCE => value.sentence_loss(epsilon, Rule::PermuteAndFlip).0,
            UNDERTONE_UNIT_WHOLE_TEXT => {
                value.check_whole_text().map_err(refusal)?;
                epsilon.micro().into()
            }
            _ => return Err(Refusal(UNDERTONE_STATUS_UNKNOWN_UNIT)),
        };
        // SAFETY: `optional` accepted the pointers; the caller says that they are null or writable.
        unsafe {
            memory::give(out_sentence_micro, epsilon.micro().into());
            memory::give(out_whole_text_micro, whole_text);
        }
        Ok(())
    })
}

/// Draws a release that protects each sentence, and forgets all sentences. For long texts; a text of a few sentences is
/// better released by the whole text, with `undertone_document_release_whole_text`. Choose between the two without looking
/// at the text, nor at its length.
///
/// Guarantee: for any pack, replacing any one sentence changes the probability of any release by at most a
/// factor of e^epsilon. Adding or removing one sentence changes it by at most e^(epsilon/2), or e^epsilon if
/// the document is cut at its limit. There is no delta. Several releases of the same sentences add up.
///
/// Leaks: that there is a release, when, and under which pack, rule and epsilon, all of which must be chosen
/// without looking at the document. The work is the same for all sentences; a program that watches the
/// processor's cache line by line is out of scope. A document without sentences releases a uniformly random
/// candidate.
///
/// `grant`: for `UNDERTONE_UNIT_SENTENCE`, from a ledger or `undertone_grant_init_unrecorded`. `rule`:
/// `UNDERTONE_RULE_PERMUTE_AND_FLIP` or `UNDERTONE_RULE_EXPONENTIAL`. `entropy`: called once, with
/// `context`, for 32 bytes, after all arguments have been checked; it must not use the document.
/// `out`: `out_capacity` bytes, `UNDERTONE_RELEASE_BYTES` are enough. `out_written`: the bytes
/// written; with `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed.
///
/// Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn and the sentences are still there. The grant
/// is spent once the entropy function is called, whatever it returns. So `UNDERTONE_STATUS_ENTROPY_FAILED`
/// spends it, and no other failure does.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_RULE`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: no other call may use the document or the grant at the same time.
///
/// # Safety
/// `document` is NULL or what `undertone_document_init` returned; `grant` is NULL or what a function
/// returned as `out_grant`; `entropy` is NULL or keeps the promises of `undertone_entropy_fn` with
/// `context`; `out` is NULL or `out_capacity` writable bytes; `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_release(
    document: *mut UndertoneDocument,
    grant: *mut UndertoneGrant,
    rule: i32,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    let rule = |_: &Inner| {
        let rule = u8::try_from(rule).ok().and_then(Rule::from_number);
        rule.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_RULE))
    };
    // SAFETY: the caller's promise.
    unsafe {
        release(
            document,
            (Unit::Sentence, grant),
            (entropy, context),
            (out, out_capacity, out_written),
            rule,
            |value, grant, rule, entropy| value.release(grant, rule, entropy),
        )
    }
}

/// Draws a release that protects the whole text, and forgets all sentences. For short texts: a message, a search, a line
/// that is typed.
///
/// Guarantee: for any pack, exchanging the whole text for any other, of any number of sentences, changes the probability
/// of any release by at most a factor of e^epsilon. There is no delta. Several releases of the same text add up, and so do
/// those of texts that one person writes, if that person is to be protected. Which of the two releases is drawn must be
/// chosen without looking at the text, nor at its length.
///
/// What is released is the candidate that all sentences together say most for, or by chance another. If nothing that the
/// pack knows is in the text, that stands in for a candidate: `undertone_pack_nothing_known`.
///
/// Leaks: that there is a release, when, and under which pack and epsilon. The work is the same for all sentences; a
/// program that watches the processor's cache line by line is out of scope.
///
/// `grant`: for `UNDERTONE_UNIT_WHOLE_TEXT`. `entropy`, `context`, `out`, `out_capacity`, `out_written`: as for
/// `undertone_document_release`; so is what is
/// spent and kept if the call fails. A pack that has no such release is refused before the grant is spent.
///
/// Statuses: `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: no other call may use the document or the grant at the same time.
///
/// # Safety
/// As for `undertone_document_release`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_release_whole_text(
    document: *mut UndertoneDocument,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        release(
            document,
            (Unit::WholeText, grant),
            (entropy, context),
            (out, out_capacity, out_written),
            |value| value.check_whole_text().map_err(refusal),
            |value, grant, (), entropy| value.release_whole_text(grant, entropy),
        )
    }
}

/// Draws a release that protects the whole text and is made for counting, and forgets all sentences. What it promises is
/// what `undertone_document_release_whole_text` promises. It names a point that many candidates prefer instead of one
/// candidate, so a single release says little; shares estimated from many err less where the candidates are many.
///
/// Guarantee: for any pack, exchanging the whole text for any other, of any number of sentences, changes the probability
/// of any release by at most a factor of e^epsilon. There is no delta. Several releases of the same text add up. Which
/// release is drawn must be chosen without looking at the text, nor at its length.
///
/// Leaks: that there is a release, when, and under which pack and epsilon. The work is the same for all sentences.
///
/// `grant`: for `UNDERTONE_UNIT_WHOLE_TEXT`. `entropy`, `context`, `out`, `out_capacity`, `out_written`: as for
/// `undertone_document_release`; so is what is
/// spent and kept if the call fails. A pack that has no such release is refused before the grant is spent. A server reads
/// the order of its geometry with `undertone_release_read_order`. `undertone_document_promise` says the promise for
/// `UNDERTONE_UNIT_WHOLE_TEXT`.
///
/// Statuses: `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
///
/// Threads: no other call may use the document or the grant at the same time.
///
/// # Safety
/// As for `undertone_document_release`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_release_projective(
    document: *mut UndertoneDocument,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        release(
            document,
            (Unit::WholeText, grant),
            (entropy, context),
            (out, out_capacity, out_written),
            |value| value.check_whole_text().map_err(refusal),
            |value, grant, (), entropy| value.release_projective(grant, entropy),
        )
    }
}

/// A release with what `check` finds out, before anything is spent, and `draw` does.
///
/// # Safety
/// As for [`undertone_document_release`].
#[inline(always)]
unsafe fn release<T>(
    document: *mut UndertoneDocument,
    (unit, grant): (Unit, *mut UndertoneGrant),
    (entropy, context): (UndertoneEntropyFn, *mut c_void),
    (out, out_capacity, out_written): (*mut u8, usize, *mut usize),
    check: impl FnOnce(&Inner) -> Result<T, Refusal>,
    draw: impl FnOnce(&mut Inner, Grant, T, &mut Callback) -> Result<Release, DocumentError>,
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let buffer = memory::array(out, out_capacity)?;
        let written = memory::one(out_written)?;
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        // SAFETY: the caller's promise is the one that `grant_at` asks for, but for what this call
        // writes, and that does not overlap the grant or the call ends here.
        let (grant, grant_extent) = unsafe { grant_at(grant) }?;
        memory::all_disjoint(&[extent, grant_extent, buffer, written])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other call uses.
        let checked = check(unsafe { &*value })?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, UNDERTONE_RELEASE_BYTES, out_written) }?;
        let grant = grant::spend_on(unit, grant)?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(function, context) };
        // SAFETY: `value` returned `value` for the document, which no other call uses, unless the
        // entropy function breaks its promise, and then through `value`.
        let release = unsafe {
            memory::exclusively(document, value, |value| {
                draw(value, grant, checked, &mut entropy)
            })
        }
        .map_err(refusal)?;
        // SAFETY: `array` and `one` found the pointers aligned and not null (the capacity is not 0),
        // and the capacity holds a release; the caller says that they are writable.
        unsafe {
            out.cast::<[u8; UNDERTONE_RELEASE_BYTES]>()
                .write(release.to_bytes());
            out_written.write(UNDERTONE_RELEASE_BYTES);
        }
        Ok(())
    })
}
