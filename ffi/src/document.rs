//! Documents.

use core::ffi::{c_char, c_void};

use undertone_core::document::{Document, DocumentError};
use undertone_core::scores::SUMS_PER_ROW as SCORED_PER_ROW;
use undertone_core::select::Rule;

use crate::entropy::{Callback, UndertoneEntropyFn};
use crate::grant::{self, UndertoneGrant, grant_at};
use crate::memory::{self, Handle};
use crate::pack::{UNDERTONE_HANDLE_ALIGNMENT, UndertonePack, pack_at};
use crate::release::UNDERTONE_RELEASE_BYTES;
use crate::status::{
    Refusal, SENTENCES_STACK, UNDERTONE_STATUS_DOCUMENT_FULL, UNDERTONE_STATUS_ENTROPY_FAILED,
    UNDERTONE_STATUS_INTERNAL, UNDERTONE_STATUS_NO_CANDIDATES, UNDERTONE_STATUS_NO_LEXICON,
    UNDERTONE_STATUS_NULL_POINTER, UNDERTONE_STATUS_TOO_MANY_CANDIDATES,
    UNDERTONE_STATUS_TOO_MANY_DIRECTIONS, UNDERTONE_STATUS_UNKNOWN_RULE,
    UNDERTONE_STATUS_WRONG_DIMENSION, report, report_private,
};

/// The most sentences in a document.
pub const UNDERTONE_MAX_SENTENCES: usize = 128;
/// The most projection directions in a pack that a document is made from.
pub const UNDERTONE_MAX_DIRECTIONS: usize = 100;
/// The most candidates in a pack with scores that a document is made from.
pub const UNDERTONE_MAX_SCORED_CANDIDATES: usize = 12_800;
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
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`.
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
/// for `undertone_document_push`. `out_sentence_count`: the number of sentences added. It is private and must
/// not leave the device.
///
/// Unless the status is `UNDERTONE_STATUS_OK` the document is unchanged. No status depends on the content of a
/// sentence.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`.
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
        let written = memory::one(out_sentence_count)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::all_disjoint(&[extent, read, written])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the embeddings lie elsewhere. `array` found their pointer aligned, not null unless empty and
        // their length possible; the caller says that the floats are readable, and any bits are a float.
        let (value, embeddings) = unsafe { (&mut *value, memory::slice(embeddings, len)) };
        let pushed = value.push_all(embeddings).map_err(refusal)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_sentence_count.write(pushed) };
        Ok(())
    })
}

/// Adds one sentence by its text, through the lexicon in the pack.
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

/// Adds the sentences of a text, as `undertone_sentence_next` finds them, through the lexicon in the pack,
/// until the document is full; the rest is left out.
///
/// `text`: `len` bytes of UTF-8; do not count a terminating zero.
/// `out_sentence_count`: the number of sentences added. It is private and must not leave the device.
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
        let written = memory::one(out_sentence_count)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(document) }?;
        memory::all_disjoint(&[extent, read, written])?;
        // SAFETY: the tag says that `undertone_document_init` put a document there, which no other
        // call uses; the text lies elsewhere. `array` found its pointer aligned, not null unless empty and its
        // length possible; the caller says that the bytes are readable.
        let (value, text) = unsafe { (&mut *value, memory::slice(text.cast::<u8>(), len)) };
        let added = value.push_text(text).map_err(refusal)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_sentence_count.write(added) };
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

/// Draws the release of a document and forgets all its sentences.
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
/// `grant`: from `undertone_ledger_grant` or `undertone_grant_init_unrecorded`. `rule`:
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
/// `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
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
        let rule = u8::try_from(rule).ok().and_then(Rule::from_number);
        let rule = rule.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_RULE))?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, UNDERTONE_RELEASE_BYTES, out_written) }?;
        let grant = grant::spend(grant)?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(function, context) };
        // SAFETY: `value` returned `value` for the document, which no other call uses, unless the
        // entropy function breaks its promise, and then through `value`.
        let release = unsafe {
            memory::exclusively(document, value, |value| {
                value.release(grant, rule, &mut entropy)
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
