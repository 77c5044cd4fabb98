//! Documents.

use core::ffi::{c_char, c_void};

use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::release::Release;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::whole_text::LARGEST_EPSILON;

use crate::epsilon;
use crate::grant::{self, Callback, UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{
    Buffer, Exclusive, Handle, HandleBusy, HandleMut, HandleRef, In, Optional, Room, Source,
    Vector, Writer, checked, give,
};
use crate::pack::UndertonePack;
use crate::status::{Refusal, SENTENCES_STACK, or_zero, report, report_private};

/// A private document: sentences go in, one private release comes out, and the document is empty
/// again. It holds counts (pack by depth) or sums of scores (pack by scores), and never a sentence.
pub struct UndertoneDocument {
    _opaque: (),
}

pub(crate) type Inner = Document<'static, UNDERTONE_MAX_SENTENCES, UNDERTONE_MAX_DIRECTIONS>;

impl Handle for UndertoneDocument {
    type Value = Inner;
    const TAG: usize = 0x646f_6375;
    const SIZE: usize = UNDERTONE_DOCUMENT_HANDLE_SIZE;
}

/// `inline(never)`: a program for a microcontroller then has this code once.
#[inline(never)]
pub(crate) fn refusal(error: DocumentError) -> Refusal {
    Refusal(match error {
        DocumentError::NoCandidates => UNDERTONE_STATUS_NO_CANDIDATES,
        DocumentError::NoLexicon => UNDERTONE_STATUS_NO_LEXICON,
        DocumentError::TooManyDirections { .. } => UNDERTONE_STATUS_TOO_MANY_DIRECTIONS,
        DocumentError::TooManyCandidates { .. } => UNDERTONE_STATUS_TOO_MANY_CANDIDATES,
        DocumentError::Dimension { .. } => UNDERTONE_STATUS_WRONG_DIMENSION,
        DocumentError::Full { .. } => UNDERTONE_STATUS_DOCUMENT_FULL,
        DocumentError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        DocumentError::NeedsText => UNDERTONE_STATUS_NEEDS_TEXT,
        DocumentError::OtherPack => UNDERTONE_STATUS_RESERVOIR_OTHER_PACK,
        DocumentError::NoScores => UNDERTONE_STATUS_NO_SCORES,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// Makes an empty document for the candidates of a pack.
///
/// The handle `pack` is not needed after the call. Keep the bytes of the pack, unchanged, while the
/// document is in use. Wipe a document that may hold sentences with `undertone_document_reset`
/// before you reuse its memory.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NO_CANDIDATES`,
/// `UNDERTONE_STATUS_TOO_MANY_DIRECTIONS`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_init(
    memory: *mut c_void,
    memory_len: usize,
    pack: *const UndertonePack,
    out_document: *mut *mut UndertoneDocument,
) -> i32 {
    report(|| {
        let (pack, room) = checked!(unsafe HandleRef(pack), Room(memory, memory_len, out_document));
        room.make(|| Inner::new(pack).map_err(refusal))
    })
}

/// Adds one sentence by its embedding.
///
/// `embedding`: `len` floats, where `len` is the `dimension` of the pack
/// (`undertone_pack_describe`). They were computed for this sentence alone by the encoder that the
/// pack names. A coordinate that is not finite counts as 0.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`, and
/// `UNDERTONE_STATUS_NEEDS_TEXT` for a pack with features. The document is then unchanged.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push(
    document: *mut UndertoneDocument,
    embedding: *const f32,
    len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (document, embedding) = checked!(unsafe HandleMut(document), Vector(embedding, len));
        let embedding = embedding.of_dimension(document.dimension())?;
        document.push(embedding).map_err(refusal)
    })
}

/// Adds several sentences by their embeddings, until the document is full; the rest is left out.
/// This equals `undertone_document_push` for each embedding, but is faster, because it reads the
/// pack once for every four embeddings.
///
/// `embeddings`: `len` floats, a multiple of the pack's `dimension`, one embedding after another.
/// `out_sentence_count`: NULL, or receives the number of sentences added, which is private and must
/// not leave the device.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, and `UNDERTONE_STATUS_NEEDS_TEXT` for a pack with
/// features. The document is then unchanged.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_all(
    document: *mut UndertoneDocument,
    embeddings: *const f32,
    len: usize,
    out_sentence_count: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (document, embeddings, count) = checked!(
            unsafe HandleMut(document), In(embeddings, len), Optional(out_sentence_count)
        );
        give(count, document.push_all(embeddings).map_err(refusal)?);
        Ok(())
    })
}

/// Adds one sentence by its text. The pack must have a lexicon, or have features and be built
/// without a neural encoder.
///
/// `text`: `len` bytes of UTF-8, taken as one sentence. Bytes that are not UTF-8 end a word, as a
/// space does. A sentence without a known word counts as the zero vector.
///
/// Statuses: `UNDERTONE_STATUS_NO_LEXICON`, `UNDERTONE_STATUS_DOCUMENT_FULL`. The document is then
/// unchanged. The time of the call depends on the sentence.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_sentence(
    document: *mut UndertoneDocument,
    text: *const c_char,
    len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (document, text) = checked!(unsafe HandleMut(document), In(text.cast::<u8>(), len));
        document.push_sentence(text).map_err(refusal)
    })
}

/// Adds one sentence by its text and its embedding, for a pack that was built with a neural encoder
/// and has features of texts. Without features this equals `undertone_document_push`.
///
/// `text`, `text_len`: as for `undertone_document_push_sentence`. `embedding`, `embedding_len`: as
/// for `undertone_document_push`.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_DIMENSION`, `UNDERTONE_STATUS_DOCUMENT_FULL`. The document is
/// then unchanged. The time of the call depends on the sentence.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_encoded(
    document: *mut UndertoneDocument,
    text: *const c_char,
    text_len: usize,
    embedding: *const f32,
    embedding_len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (document, text, embedding) = checked!(
            unsafe HandleMut(document),
            In(text.cast::<u8>(), text_len),
            Vector(embedding, embedding_len),
        );
        let embedding = embedding.of_dimension(document.dimension())?;
        document.push_encoded(text, embedding).map_err(refusal)
    })
}

/// Adds the sentences of a text, as `undertone_sentence_next` finds them, until the document is
/// full; the rest is left out. Each is added as `undertone_document_push_sentence` does. A pack
/// that takes whole texts gets the text as one sentence.
///
/// `text`: `len` bytes of UTF-8. `out_sentence_count`: NULL, or receives the number of sentences
/// added, which is private and must not leave the device.
///
/// Statuses: `UNDERTONE_STATUS_NO_LEXICON`. The time of the call depends on the text.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_push_text(
    document: *mut UndertoneDocument,
    text: *const c_char,
    len: usize,
    out_sentence_count: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (document, text, count) = checked!(
            unsafe HandleMut(document), In(text.cast::<u8>(), len), Optional(out_sentence_count)
        );
        give(count, document.push_text(text).map_err(refusal)?);
        Ok(())
    })
}

/// Returns the number of sentences in a document, at most `UNDERTONE_MAX_SENTENCES`; 0 if
/// `document` is not a valid handle. It is private and must not leave the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_sentence_count(
    document: *const UndertoneDocument,
) -> usize {
    or_zero(|| Ok(checked!(unsafe HandleRef(document)).sentence_count()))
}

/// Removes all sentences and wipes their traces from the document. Call it before you free the
/// memory of a document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_document_reset(document: *mut UndertoneDocument) -> i32 {
    report(|| {
        checked!(unsafe HandleMut(document)).clear();
        Ok(())
    })
}

/// Computes what a release of this document promises, for a sentence and for the whole text, so
/// that an app can show both. The promise depends on the pack, the unit and epsilon, not on the
/// sentences. It is an epsilon without a delta; a smaller epsilon promises more. Call this function
/// before you spend: it fails if this document cannot make such a release.
///
/// `unit`: `UNDERTONE_UNIT_SENTENCE` for `undertone_document_release` with either rule, or
/// `UNDERTONE_UNIT_WHOLE_TEXT` for `undertone_document_release_whole_text` and
/// `undertone_document_release_projective`. `epsilon_micro`: the epsilon of the grant in
/// micro-units. `out_sentence_micro`: NULL, or receives the epsilon for replacing one sentence.
/// `out_whole_text_micro`: NULL, or receives the epsilon for replacing the whole text by any other.
/// For a whole-text release, both are epsilon. For a sentence release, the second is computed for
/// the worst two texts of at most `UNDERTONE_MAX_SENTENCES` sentences, and grows with the pack's
/// `level_count`. A draw uses integer weights, which limit the epsilon that it can use. If epsilon
/// is above that limit, both outputs are computed for the limit; for a whole-text release the limit
/// is 33.271065.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`; for the whole text also `UNDERTONE_STATUS_NO_SCORES` and
/// `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
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
        let (document, sentence, whole_text) = checked!(
            unsafe HandleRef(document), Optional(out_sentence_micro), Optional(out_whole_text_micro)
        );
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let asked = u64::from(epsilon.micro());
        let loss = match unit {
            // Permute-and-flip loses at least as much as the exponential mechanism.
            UNDERTONE_UNIT_SENTENCE => document.whole_text_epsilon(epsilon, Rule::PermuteAndFlip).0,
            UNDERTONE_UNIT_WHOLE_TEXT => {
                document.check_whole_text().map_err(refusal)?;
                LARGEST_EPSILON.0.min(asked)
            }
            _ => return Err(Refusal(UNDERTONE_STATUS_UNKNOWN_UNIT)),
        };
        give(sentence, loss.min(asked));
        give(whole_text, loss);
        Ok(())
    })
}

/// Draws a sentence release, which protects each sentence, and removes all sentences. Use it for
/// long texts; `undertone_document_release_whole_text` protects a text of a few sentences better.
/// Choose between the two without looking at the text or its length.
///
/// Guarantee: for any pack, replacing any one sentence changes the probability of any release by at
/// most a factor of e^epsilon. Adding or removing one sentence changes it by at most a factor of
/// e^(epsilon/2), or of e^epsilon if the text has more than `UNDERTONE_MAX_SENTENCES` sentences,
/// because then another sentence takes its place. There is no delta. The epsilons of several
/// releases of the same sentences add up.
///
/// Leaks: that there is a release, its time, pack, rule and epsilon, all of which must be chosen
/// without looking at the document. The work does not depend on the content of the sentences.
/// Programs that observe the lines of the processor's cache are out of scope. A document without
/// sentences releases a uniformly random candidate.
///
/// `grant`: for `UNDERTONE_UNIT_SENTENCE`, from a ledger or `undertone_grant_init_unrecorded`.
/// `rule`: a `UNDERTONE_RULE_` number. `entropy`: called once with `context`, for 32 bytes, after
/// all arguments were checked; it must not use the document. `out`: `out_capacity` bytes;
/// `UNDERTONE_RELEASE_BYTES` are enough. `out_written`: receives the bytes written, or the bytes
/// needed with `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn and the document keeps its
/// sentences. A call spends the grant when it calls the entropy function, even if that function
/// fails. No other failure spends the grant.
///
/// Statuses: `UNDERTONE_STATUS_UNKNOWN_RULE`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_SPENT`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`.
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
    report_private::<SENTENCES_STACK>(move || {
        let arguments = checked!(
            unsafe HandleBusy(document),
            HandleMut(grant),
            Buffer(out, out_capacity, out_written),
            Source(entropy, context),
        );
        let rule = u8::try_from(rule).ok().and_then(Rule::from_number);
        let rule = rule.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_RULE))?;
        release(arguments, Unit::Sentence, |document, grant, entropy| {
            document.release(grant, rule, entropy)
        })
    })
}

/// Draws a whole-text release, which protects the whole text, and removes all sentences. Use it for
/// short texts: a message, a search, a typed line.
///
/// Guarantee: for any pack, replacing the whole text by any other, of any number of sentences,
/// changes the probability of any release by at most a factor of e^epsilon. There is no delta. The
/// epsilons of several releases of the same text add up. To protect a person, add up the epsilons
/// of all texts of that person. Choose the kind of release without looking at the text or its
/// length.
///
/// The release favours the candidate whose scores, added over all sentences, are the highest. The
/// larger epsilon is, the more it does so. If the pack recognises nothing in the text, the pack's
/// `nothing_known` takes the place of the best candidate, or one candidate of the pack if it leaves
/// that outcome out.
///
/// Leaks: that there is a release, its time, pack and epsilon. The work does not depend on the
/// content of the sentences. Programs that observe the lines of the processor's cache are out of
/// scope.
///
/// `grant`: for `UNDERTONE_UNIT_WHOLE_TEXT`. All other arguments, and what a failure spends, are as
/// for `undertone_document_release`.
///
/// Statuses: those of `undertone_document_release` without `UNDERTONE_STATUS_UNKNOWN_RULE`, and
/// `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`.
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
    report_private::<SENTENCES_STACK>(move || {
        let arguments = checked!(
            unsafe HandleBusy(document),
            HandleMut(grant),
            Buffer(out, out_capacity, out_written),
            Source(entropy, context),
        );
        release(arguments, Unit::WholeText, Inner::release_whole_text)
    })
}

/// Draws a projective release, which protects the whole text and is meant for counting, and removes
/// all sentences. It names a point of a projective geometry instead of a candidate, and each point
/// stands for many candidates. So a single release carries little information. Shares that are
/// estimated from many releases have a smaller error than with
/// `undertone_document_release_whole_text` only if the pack has enough candidates: at least about 6
/// at an epsilon of 1, 32 at 3 and 230 at 5.
///
/// Guarantee: the same as for `undertone_document_release_whole_text`. `undertone_release_read`
/// returns the order of the geometry, a number that fixes its points.
///
/// Leaks: the same as for `undertone_document_release_whole_text`. It also has the same arguments.
///
/// Statuses: those of `undertone_document_release_whole_text`.
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
    report_private::<SENTENCES_STACK>(move || {
        let arguments = checked!(
            unsafe HandleBusy(document),
            HandleMut(grant),
            Buffer(out, out_capacity, out_written),
            Source(entropy, context),
        );
        release(arguments, Unit::WholeText, Inner::release_projective)
    })
}

/// Spends the grant, draws with `draw`, and writes the release.
#[inline(always)]
fn release(
    (document, grant, out, mut entropy): (
        Exclusive<UndertoneDocument>,
        &mut Option<Grant>,
        Writer<u8>,
        Callback,
    ),
    unit: Unit,
    draw: impl FnOnce(&mut Inner, Grant, &mut Callback) -> Result<Release, DocumentError>,
) -> Result<(), Refusal> {
    if unit == Unit::WholeText {
        document.get().check_whole_text().map_err(refusal)?;
    }
    grant::release(grant, unit, out, |grant| {
        let drawn = document.run(|document| draw(document, grant, &mut entropy));
        drawn.map_err(refusal)
    })
}
