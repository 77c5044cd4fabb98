//! Private words.

use core::ffi::{c_char, c_void};

use undertone_core::release::BagRelease;
use undertone_core::select::Rule;
use undertone_core::words::{Bag, MAX_BAG_SIZE, Vocabulary, WordMechanism, WordsError};

use crate::entropy::{Callback, UndertoneEntropyFn};
use crate::grant::{self, UndertoneGrant, grant_at};
use crate::memory::{self, Extent, Handle};
use crate::pack::{UNDERTONE_HANDLE_ALIGNMENT, UNDERTONE_PACK_ID_BYTES, UndertonePack, pack_at};
use crate::release;
use crate::status::{
    Refusal, SENTENCES_STACK, UNDERTONE_STATUS_BOUND_OUT_OF_RANGE, UNDERTONE_STATUS_ENTROPY_FAILED,
    UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE, UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS,
    UNDERTONE_STATUS_GRANT_WRONG_UNIT, UNDERTONE_STATUS_INTERNAL, UNDERTONE_STATUS_NO_LEXICON,
    UNDERTONE_STATUS_NO_SUCH_WORD, UNDERTONE_STATUS_NULL_POINTER,
    UNDERTONE_STATUS_UNKNOWN_WORD_METHOD, UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE, WORDS_STACK,
    report, report_private,
};
use undertone_core::laplace::LaplaceError;

/// Bytes that are enough for an `undertone_vocabulary` on every target.
pub const UNDERTONE_VOCABULARY_HANDLE_SIZE: usize = 192;
/// Bytes that are enough for an `undertone_bag` on every target.
pub const UNDERTONE_BAG_HANDLE_SIZE: usize = 2304;
/// The most words that a bag keeps of a text; the rest is left out.
pub const UNDERTONE_MAX_BAG_WORDS: usize = 1024;
/// The most words in a release of a bag.
pub const UNDERTONE_MAX_RELEASED_WORDS: u32 = 256;
/// The largest length of a release of a bag: 24 bytes, and 2 for each of 256 words.
pub const UNDERTONE_MAX_BAG_RELEASE_BYTES: usize = 536;

/// Selection by permute-and-flip, the default.
pub const UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP: i32 = 1;
/// Selection by the exponential mechanism.
pub const UNDERTONE_WORD_METHOD_EXPONENTIAL: i32 = 2;
/// Noise on a word's vector, then the nearest word, as published; for comparison.
pub const UNDERTONE_WORD_METHOD_LAPLACE_NEAREST: i32 = 3;

const _: () = assert!(
    UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP == Rule::PermuteAndFlip as i32
        && UNDERTONE_WORD_METHOD_EXPONENTIAL == Rule::Exponential as i32
);
const _: () = assert!(
    UNDERTONE_MAX_RELEASED_WORDS == MAX_BAG_SIZE as u32
        && UNDERTONE_MAX_BAG_RELEASE_BYTES == BagRelease::bytes(MAX_BAG_SIZE)
);
const _: () = assert!(
    memory::size::<UndertoneVocabulary>() <= UNDERTONE_VOCABULARY_HANDLE_SIZE
        && memory::size::<UndertoneBag>() <= UNDERTONE_BAG_HANDLE_SIZE
        && memory::alignment::<UndertoneVocabulary>() <= UNDERTONE_HANDLE_ALIGNMENT
        && memory::alignment::<UndertoneBag>() <= UNDERTONE_HANDLE_ALIGNMENT
);

/// The public vocabulary of private words: the words of a pack's lexicon, by number.
pub struct UndertoneVocabulary {
    _opaque: (),
}

/// The words of one private text: words go in, one private release comes out, and the bag is empty again.
pub struct UndertoneBag {
    _opaque: (),
}

impl Handle for UndertoneVocabulary {
    type Value = Vocabulary<'static>;
    const TAG: usize = 0x766f_6361;
}

type Inner = Bag<'static, UNDERTONE_MAX_BAG_WORDS>;

impl Handle for UndertoneBag {
    type Value = Inner;
    const TAG: usize = 0x6261_6771;
}

fn refusal(error: WordsError) -> Refusal {
    Refusal(match error {
        WordsError::NoLexicon => UNDERTONE_STATUS_NO_LEXICON,
        WordsError::Size { .. } => UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE,
        WordsError::Unit(_) => UNDERTONE_STATUS_GRANT_WRONG_UNIT,
        WordsError::Grant { .. } => UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS,
        WordsError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        WordsError::Laplace(LaplaceError::Epsilon { .. }) => {
            UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE
        }
        WordsError::Laplace(LaplaceError::Bound { .. }) => UNDERTONE_STATUS_BOUND_OUT_OF_RANGE,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

fn mechanism_of(number: i32) -> Result<WordMechanism, Refusal> {
    match number {
        UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP => {
            Ok(WordMechanism::Selection(Rule::PermuteAndFlip))
        }
        UNDERTONE_WORD_METHOD_EXPONENTIAL => Ok(WordMechanism::Selection(Rule::Exponential)),
        UNDERTONE_WORD_METHOD_LAPLACE_NEAREST => Ok(WordMechanism::LaplaceNearest),
        _ => Err(Refusal(UNDERTONE_STATUS_UNKNOWN_WORD_METHOD)),
    }
}

fn number_of(mechanism: WordMechanism) -> i32 {
    match mechanism {
        WordMechanism::Selection(rule) => rule as i32,
        _ => UNDERTONE_WORD_METHOD_LAPLACE_NEAREST,
    }
}

/// The bytes that `undertone_vocabulary_init` needs, at most `UNDERTONE_VOCABULARY_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_vocabulary_handle_size() -> usize {
    memory::size::<UndertoneVocabulary>()
}

/// The alignment that `undertone_vocabulary_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_vocabulary_handle_alignment() -> usize {
    memory::alignment::<UndertoneVocabulary>()
}

/// Makes the vocabulary of a pack.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_vocabulary_handle_size()`, aligned to
/// `undertone_vocabulary_handle_alignment()`. `pack`: not used after the call, but the bytes it was made
/// from are, as long as the vocabulary or a bag made from it is used. `out_vocabulary`: the handle, which
/// lies in `memory`.
///
/// One pass over the words' vectors. There is nothing to free and nothing private in the handle. If the
/// call fails, `memory` may have been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NO_LEXICON`.
///
/// Threads: any, with `memory` of their own. One vocabulary may be used by many threads at once.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `pack` is NULL or what `undertone_pack_init`
/// returned; `out_vocabulary` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_init(
    memory: *mut c_void,
    memory_len: usize,
    pack: *const UndertonePack,
    out_vocabulary: *mut *mut UndertoneVocabulary,
) -> i32 {
    report(|| {
        // SAFETY: the caller's promise is the one that `pack_at` asks for, but for what this
        // call writes, and that does not overlap the pack or the call ends here.
        let (pack, pack_extent) = unsafe { pack_at(pack) }?;
        let extents = [
            pack_extent,
            memory::one(out_vocabulary)?,
            memory::room::<UndertoneVocabulary>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        let make = || Vocabulary::new(pack).map_err(refusal);
        // SAFETY: `room` and `one` accepted the pointers, which overlap nothing else that is used here; the
        // caller says that they are writable.
        unsafe { memory::place(memory, out_vocabulary, make) }
    })
}

/// The vocabulary in a handle, and where the handle is.
///
/// # Safety
/// `vocabulary` is null or [`memory::size`] readable bytes, and nobody writes to them during `'a`.
unsafe fn vocabulary_at<'a>(
    vocabulary: *const UndertoneVocabulary,
) -> Result<(&'a Vocabulary<'static>, Extent), Refusal> {
    // SAFETY: the caller's promise is the one that `value` asks for.
    let (value, extent) = unsafe { memory::value(vocabulary) }?;
    // SAFETY: the tag says that a vocabulary was put there; nobody writes to it.
    Ok((unsafe { &*value }, extent))
}

/// The number of words, 1 to 65536; 0 if `vocabulary` is not a valid handle.
///
/// Threads: any.
///
/// # Safety
/// `vocabulary` is NULL or what `undertone_vocabulary_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_word_count(
    vocabulary: *const UndertoneVocabulary,
) -> u32 {
    // SAFETY: the caller's promise is the one that `vocabulary_at` asks for.
    unsafe { vocabulary_at(vocabulary) }.map_or(0, |(vocabulary, _)| vocabulary.word_count())
}

/// Describes the vocabulary: the public word that all unknown words map to, and the step q of the guarantee,
/// which is 2^`out_unit_exponent`.
///
/// `out_fallback`: a word, by number. `out_unit_exponent`: see `undertone_bag_release`. Each output may be NULL.
///
/// Threads: any.
///
/// # Safety
/// `vocabulary` is NULL or what `undertone_vocabulary_init` returned; each output is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_describe(
    vocabulary: *const UndertoneVocabulary,
    out_fallback: *mut u32,
    out_unit_exponent: *mut i32,
) -> i32 {
    report(|| {
        let outputs = (
            memory::optional(out_fallback)?,
            memory::optional(out_unit_exponent)?,
        );
        // SAFETY: the caller's promise is the one that `vocabulary_at` asks for; what is written does not
        // overlap the vocabulary or the call ends here.
        let (vocabulary, extent) = unsafe { vocabulary_at(vocabulary) }?;
        memory::all_disjoint(&[extent, outputs.0, outputs.1])?;
        let (fallback, unit) = (vocabulary.fallback(), vocabulary.unit_exponent());
        // SAFETY: `optional` accepted the pointers; the caller says that they are null or writable.
        unsafe {
            memory::give(out_fallback, fallback);
            memory::give(out_unit_exponent, unit);
        }
        Ok(())
    })
}

/// The text of a word.
///
/// `word`: its number, for instance from `undertone_bag_release_read_words`. `out_text`: where its UTF-8
/// starts, in the bytes of the pack; it ends after `out_len` bytes, without a zero.
///
/// Statuses: `UNDERTONE_STATUS_NO_SUCH_WORD`.
///
/// Threads: any.
///
/// # Safety
/// `vocabulary` is NULL or what `undertone_vocabulary_init` returned; each output is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_word(
    vocabulary: *const UndertoneVocabulary,
    word: u32,
    out_text: *mut *const c_char,
    out_len: *mut usize,
) -> i32 {
    report(|| {
        let outputs = (memory::one(out_text)?, memory::one(out_len)?);
        // SAFETY: the caller's promise is the one that `vocabulary_at` asks for; what is written does not
        // overlap the vocabulary or the call ends here.
        let (vocabulary, extent) = unsafe { vocabulary_at(vocabulary) }?;
        memory::all_disjoint(&[extent, outputs.0, outputs.1])?;
        let text = vocabulary.lexicon().word(word as usize);
        let text = text.ok_or(Refusal(UNDERTONE_STATUS_NO_SUCH_WORD))?;
        // SAFETY: `one` found the pointers aligned and not null; the caller says that they are writable.
        unsafe {
            out_text.write(text.as_ptr().cast());
            out_len.write(text.len());
        }
        Ok(())
    })
}

/// The bytes that `undertone_bag_init` needs, at most `UNDERTONE_BAG_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_bag_handle_size() -> usize {
    memory::size::<UndertoneBag>()
}

/// The alignment that `undertone_bag_init` needs, at most `UNDERTONE_HANDLE_ALIGNMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_bag_handle_alignment() -> usize {
    memory::alignment::<UndertoneBag>()
}

/// Makes an empty bag of words of a vocabulary.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_bag_handle_size()`, aligned to
/// `undertone_bag_handle_alignment()`. `vocabulary`: not used after the call, but the bytes of its pack
/// are, as long as the bag is used. `out_bag`: the handle, which lies in `memory` and must not be moved or
/// copied.
///
/// There is nothing to free. A bag that may still hold words is wiped with `undertone_bag_reset` before its
/// memory is reused. If the call fails, `memory` may have been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`.
///
/// Threads: any, with `memory` of their own. A bag is used by one thread at a time.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `vocabulary` is NULL or what
/// `undertone_vocabulary_init` returned; `out_bag` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_init(
    memory: *mut c_void,
    memory_len: usize,
    vocabulary: *const UndertoneVocabulary,
    out_bag: *mut *mut UndertoneBag,
) -> i32 {
    report(|| {
        // SAFETY: the caller's promise is the one that `vocabulary_at` asks for, but for what this
        // call writes, and that does not overlap the vocabulary or the call ends here.
        let (vocabulary, vocabulary_extent) = unsafe { vocabulary_at(vocabulary) }?;
        let extents = [
            vocabulary_extent,
            memory::one(out_bag)?,
            memory::room::<UndertoneBag>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `room` and `one` accepted the pointers, which overlap nothing else that is used here; the
        // caller says that they are writable.
        unsafe { memory::place(memory, out_bag, || Ok(Inner::new(vocabulary))) }
    })
}

/// Adds one word.
///
/// `word`: `len` bytes of UTF-8; do not count a terminating zero. A word that the vocabulary does not have
/// counts as its fallback word. So does anything that is not one word, which is letters and digits with
/// apostrophes inside. A bag with `UNDERTONE_MAX_BAG_WORDS` words stays as it is.
///
/// No status depends on the word, but the time the call takes does.
///
/// Threads: no other call may use the bag at the same time.
///
/// # Safety
/// `bag` is NULL or what `undertone_bag_init` returned; `word` is NULL or `len` readable bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_push(
    bag: *mut UndertoneBag,
    word: *const c_char,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe { push(bag, word, len, |bag, word| bag.push_lossy(word)) }
}

/// Adds every word of a text, including stop words. To leave those out, push the words that matter one by one.
///
/// `text`: `len` bytes of UTF-8; do not count a terminating zero. Bytes that are not
/// UTF-8 separate words; words of more than 48 bytes are left out. Otherwise like `undertone_bag_push`.
///
/// No status depends on the text, but the time the call takes does.
///
/// Threads: no other call may use the bag at the same time.
///
/// # Safety
/// `bag` is NULL or what `undertone_bag_init` returned; `text` is NULL or `len` readable bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_push_text(
    bag: *mut UndertoneBag,
    text: *const c_char,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe { push(bag, text, len, |bag, text| bag.push_text(text)) }
}

/// Adds words of `text` to a bag.
///
/// # Safety
/// `bag` is null or [`memory::size`] bytes that nobody else uses during the call; `text` is null or `len`
/// readable bytes.
unsafe fn push(
    bag: *mut UndertoneBag,
    text: *const c_char,
    len: usize,
    push: impl FnOnce(&mut Inner, &[u8]),
) -> i32 {
    report_private::<SENTENCES_STACK>(|| {
        let read = memory::array(text, len)?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(bag) }?;
        memory::disjoint(&extent, &[read])?;
        // SAFETY: the tag says that `undertone_bag_init` put a bag there, which no other call uses; the text
        // lies elsewhere. `array` found its pointer aligned, not null unless empty and its length possible; the
        // caller says that the bytes are readable.
        push(unsafe { &mut *value }, unsafe {
            memory::slice(text.cast::<u8>(), len)
        });
        Ok(())
    })
}

/// Forgets all words and wipes them: back to the state after `undertone_bag_init`. Call it before you free the
/// memory of a bag.
///
/// Threads: no other call may use the bag at the same time.
///
/// # Safety
/// `bag` is NULL or what `undertone_bag_init` returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_reset(bag: *mut UndertoneBag) -> i32 {
    report(|| {
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, _) = unsafe { memory::value(bag) }?;
        // SAFETY: the tag says that `undertone_bag_init` put a bag there, which no other call uses.
        unsafe { &mut *value }.clear();
        Ok(())
    })
}

/// The length of a release of `word_count` words in bytes, at most `UNDERTONE_MAX_BAG_RELEASE_BYTES`; 0 if
/// a release cannot have that many.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_bag_release_len(word_count: u32) -> usize {
    match u16::try_from(word_count) {
        Ok(word_count @ 1..=MAX_BAG_SIZE) => BagRelease::bytes(word_count),
        _ => 0,
    }
}

/// Draws `word_count` words of a bag by frequency, replaces each by a word of the vocabulary, and forgets all
/// words.
///
/// Guarantee: it is metric. For bags b and b' of `word_count` words as drawn, the probabilities of any release
/// differ by at most a factor of e^(epsilon*word_count*(WMD(b, b') + q)), with the word mover's distance WMD of
/// their vectors and the step q = 2^(unit exponent) of `undertone_vocabulary_describe`; for
/// `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` the loss is that of `undertone_vector_mechanism_release` for each
/// word. For words far apart that may limit nothing. Several releases of the same text add up.
///
/// Leaks: that there is a release, when, under which pack, and `word_count`, epsilon and the method, all of
/// which must be chosen without looking at the text. The work is the same for all words, except for the
/// addresses that are read. A bag without words counts as the fallback word.
///
/// `grant`: for `UNDERTONE_UNIT_WORD`: the epsilon of each word, per unit of distance. `word_count`: 1 to
/// `UNDERTONE_MAX_RELEASED_WORDS`, and no more than the grant is for.
/// `method`: one of the `UNDERTONE_WORD_METHOD_` numbers. `entropy`: called once, with `context`, for 32 bytes,
/// after all arguments have been checked; it must not use the bag. `out`: `out_capacity` bytes;
/// `undertone_bag_release_len` are enough. `out_written`: the bytes written; with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL` the bytes needed.
///
/// Unless the status is `UNDERTONE_STATUS_OK`, nothing was released and the words are still there. The
/// grant is spent once the entropy function is called, whatever it returns.
///
/// Statuses: `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_UNKNOWN_WORD_METHOD`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`, `UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS`,
/// `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`;
/// for `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` also `UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE` and
/// `UNDERTONE_STATUS_BOUND_OUT_OF_RANGE`.
///
/// Threads: no other call may use the bag or the grant at the same time.
///
/// # Safety
/// `bag` is NULL or what `undertone_bag_init` returned; `grant` is NULL or what a function returned as
/// `out_grant`; `entropy` is NULL or keeps the promises of `undertone_entropy_fn` with `context`; `out` is
/// NULL or `out_capacity` writable bytes; `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_release(
    bag: *mut UndertoneBag,
    grant: *mut UndertoneGrant,
    word_count: u32,
    method: i32,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<WORDS_STACK>(|| {
        let buffer = memory::array(out, out_capacity)?;
        let written = memory::one(out_written)?;
        let function = entropy.ok_or(Refusal(UNDERTONE_STATUS_NULL_POINTER))?;
        // SAFETY: the caller's promise is the one that `value` asks for.
        let (value, extent) = unsafe { memory::value(bag) }?;
        // SAFETY: the caller's promise is the one that `grant_at` asks for, but for what this call
        // writes, and that does not overlap the grant or the call ends here.
        let (grant, grant_extent) = unsafe { grant_at(grant) }?;
        memory::all_disjoint(&[extent, grant_extent, buffer, written])?;
        let word_count = match u16::try_from(word_count) {
            Ok(word_count @ 1..=MAX_BAG_SIZE) => word_count,
            _ => return Err(Refusal(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE)),
        };
        let mechanism = mechanism_of(method)?;
        // SAFETY: `one` accepted the pointer; the caller says that it is writable.
        unsafe { memory::capacity(out_capacity, BagRelease::bytes(word_count), out_written) }?;
        let grant = grant::spend(grant, |grant| {
            // SAFETY: the tag says that `undertone_bag_init` put a bag there, which no other call uses.
            let bag = unsafe { &*value };
            bag.check_grant(grant, word_count).map_err(refusal)?;
            bag.check(mechanism, grant.epsilon()).map_err(refusal)
        })?;
        // SAFETY: the caller says that the function keeps the promises of its type with `context`.
        let mut entropy = unsafe { Callback::new(function, context) };
        // The caller's memory may be uninitialised, and stays as it is if there is no entropy.
        let mut bytes = [0; UNDERTONE_MAX_BAG_RELEASE_BYTES];
        // SAFETY: `value` returned `value` for the bag, which no other call uses, unless the
        // entropy function breaks its promise, and then through `value`.
        let drawn = unsafe {
            memory::exclusively(bag, value, |bag| {
                bag.release(word_count, mechanism, grant, &mut entropy, &mut bytes)
            })
        };
        let release = bytes.get(..drawn.map_err(refusal)?).unwrap_or_default();
        // SAFETY: `array` and `one` accepted the pointers, whose memory overlaps nothing, and the capacity
        // holds a release; the caller says that they are writable.
        unsafe { memory::write_all(release.iter().copied(), out, out_written) };
        Ok(())
    })
}

/// Reads what a released bag says about itself.
///
/// `bytes`: `len` bytes, anything. `out_word_count`: the number of words. `out_method`: one of the
/// `UNDERTONE_WORD_METHOD_` numbers. `out_epsilon_micro`: the epsilon that the device spent on each word, in
/// micro-units. `out_pack_id`: `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack whose words are
/// counted. Each output may be NULL.
///
/// Statuses: `UNDERTONE_STATUS_RELEASE_WRONG_LENGTH`, `UNDERTONE_STATUS_NOT_A_RELEASE`,
/// `UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_RELEASE_MALFORMED`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; each output is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_release_read(
    bytes: *const u8,
    len: usize,
    out_word_count: *mut u32,
    out_method: *mut i32,
    out_epsilon_micro: *mut u32,
    out_pack_id: *mut u8,
) -> i32 {
    report(|| {
        let extents = [
            memory::array(bytes, len)?,
            memory::optional(out_word_count)?,
            memory::optional(out_method)?,
            memory::optional(out_epsilon_micro)?,
            memory::optional(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>())?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not used once an output is written.
        let bytes = unsafe { memory::slice(bytes, len) };
        let release = BagRelease::from_bytes(bytes).map_err(release::refusal)?;
        let word_count = release.words().len() as u32;
        // SAFETY: `optional` accepted the pointers, for as many bytes as are written here; the caller says that
        // they are null or writable.
        unsafe {
            memory::give(out_word_count, word_count);
            memory::give(out_method, number_of(release.mechanism()));
            memory::give(out_epsilon_micro, release.epsilon().micro());
            memory::give(out_pack_id.cast(), release.pack_id());
        }
        Ok(())
    })
}

/// Reads the words of a released bag, by number, in ascending order; repeated words are repeated.
///
/// `bytes`: `len` bytes, anything. `out`: room for `out_capacity` numbers; `UNDERTONE_MAX_RELEASED_WORDS`
/// are enough. `out_written`: the numbers written; with `UNDERTONE_STATUS_BUFFER_TOO_SMALL` those needed.
/// Numbers in a release that was forged may be too large for the vocabulary; `undertone_vocabulary_word`
/// refuses them.
///
/// Statuses: those of `undertone_bag_release_read`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; `out` is NULL or writable for `out_capacity` numbers;
/// `out_written` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_release_read_words(
    bytes: *const u8,
    len: usize,
    out: *mut u32,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report(|| {
        let extents = [
            memory::array(bytes, len)?,
            memory::array(out, out_capacity)?,
            memory::one(out_written)?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They overlap no output.
        let bytes = unsafe { memory::slice(bytes, len) };
        let words = BagRelease::from_bytes(bytes).map_err(release::refusal)?;
        let words = words.words();
        // SAFETY: `array` and `one` accepted the pointers; the caller says that they are writable.
        unsafe {
            memory::capacity(out_capacity, words.len(), out_written)?;
            memory::write_all(words, out, out_written);
        }
        Ok(())
    })
}
