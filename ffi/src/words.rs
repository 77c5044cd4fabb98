//! Private words.

use core::ffi::{c_char, c_void};

use undertone_core::laplace::LaplaceError;
use undertone_core::release::BagRelease;
use undertone_core::select::Rule;
use undertone_core::words::{Bag, MAX_BAG_SIZE, Vocabulary, WordMechanism, WordsError};

use crate::grant::{self, UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{
    Buffer, Handle, HandleBusy, HandleMut, HandleRef, In, Optional, Out, Room, Source, checked,
    give,
};
use crate::pack::UndertonePack;
use crate::release;
use crate::status::{Refusal, SENTENCES_STACK, WORDS_STACK, or_zero, report, report_private};

/// The public vocabulary of private words: the words of a pack's lexicon, by number.
pub struct UndertoneVocabulary {
    _opaque: (),
}

/// The words of one private text: words go in, one private release comes out, and the bag is empty
/// again.
pub struct UndertoneBag {
    _opaque: (),
}

impl Handle for UndertoneVocabulary {
    type Value = Vocabulary<'static>;
    const TAG: usize = 0x766f_6361;
    const SIZE: usize = UNDERTONE_VOCABULARY_HANDLE_SIZE;
}

impl Handle for UndertoneBag {
    type Value = Bag<'static, UNDERTONE_MAX_BAG_WORDS>;
    const TAG: usize = 0x6261_6771;
    const SIZE: usize = UNDERTONE_BAG_HANDLE_SIZE;
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

fn mechanism_from(number: i32) -> Result<WordMechanism, Refusal> {
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

/// The size of a bag's release, if it is in range.
pub(crate) fn bag_size(word_count: u32) -> Option<u16> {
    let words = u16::try_from(word_count).ok()?;
    (1..=MAX_BAG_SIZE).contains(&words).then_some(words)
}

/// Makes the vocabulary of a pack, in one pass over the words' vectors. It holds nothing private.
///
/// `pack` is not used after the call, but the bytes of the pack are, as long as the vocabulary or a
/// bag made from it is used.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NO_LEXICON`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_init(
    memory: *mut c_void,
    memory_len: usize,
    pack: *const UndertonePack,
    out_vocabulary: *mut *mut UndertoneVocabulary,
) -> i32 {
    report(|| {
        let (pack, room) =
            checked!(unsafe HandleRef(pack), Room(memory, memory_len, out_vocabulary));
        room.make(|| Vocabulary::new(pack).map_err(refusal))
    })
}

/// Returns the number of words, 1 to 65536; 0 if `vocabulary` is not a valid handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_word_count(
    vocabulary: *const UndertoneVocabulary,
) -> u32 {
    or_zero(|| Ok(checked!(unsafe HandleRef(vocabulary)).word_count()))
}

/// Describes the vocabulary. Each output may be NULL.
///
/// `out_fallback`: receives the number of the public word that replaces all unknown words.
/// `out_unit_exponent`: receives u. Distances between words are rounded to multiples of q = 2^u,
/// which the guarantee of `undertone_bag_release` uses.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_describe(
    vocabulary: *const UndertoneVocabulary,
    out_fallback: *mut u32,
    out_unit_exponent: *mut i32,
) -> i32 {
    report(|| {
        let (vocabulary, fallback, unit_exponent) = checked!(
            unsafe HandleRef(vocabulary), Optional(out_fallback), Optional(out_unit_exponent)
        );
        give(fallback, vocabulary.fallback());
        give(unit_exponent, vocabulary.unit_exponent());
        Ok(())
    })
}

/// Finds the text of a word.
///
/// `word`: its number, for instance from `undertone_bag_release_read_words`. `out_text`: receives
/// the start of its UTF-8, in the bytes of the pack; no zero follows it. `out_len`: receives its
/// length in bytes.
///
/// Statuses: `UNDERTONE_STATUS_NO_SUCH_WORD`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_vocabulary_word(
    vocabulary: *const UndertoneVocabulary,
    word: u32,
    out_text: *mut *const c_char,
    out_len: *mut usize,
) -> i32 {
    report(|| {
        let (vocabulary, start, len) =
            checked!(unsafe HandleRef(vocabulary), Out(out_text), Out(out_len));
        let text = vocabulary.lexicon().word(word as usize);
        let text = text.ok_or(Refusal(UNDERTONE_STATUS_NO_SUCH_WORD))?;
        start.write(text.as_ptr().cast());
        len.write(text.len());
        Ok(())
    })
}

/// Makes an empty bag of words of a vocabulary.
///
/// `vocabulary` is not used after the call, but the bytes of its pack are, as long as the bag is
/// used. Wipe a bag that may hold words with `undertone_bag_reset` before you reuse its memory.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_init(
    memory: *mut c_void,
    memory_len: usize,
    vocabulary: *const UndertoneVocabulary,
    out_bag: *mut *mut UndertoneBag,
) -> i32 {
    report(|| {
        let (vocabulary, room) =
            checked!(unsafe HandleRef(vocabulary), Room(memory, memory_len, out_bag));
        room.make(|| Ok(Bag::new(vocabulary)))
    })
}

/// Adds one word.
///
/// `word`: `len` bytes of UTF-8. A word is letters and digits with apostrophes inside. Anything
/// else, and a word that is not in the vocabulary, counts as the fallback word. A bag with
/// `UNDERTONE_MAX_BAG_WORDS` words stays as it is. The time of the call depends on the word.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_push(
    bag: *mut UndertoneBag,
    word: *const c_char,
    len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bag, word) = checked!(unsafe HandleMut(bag), In(word.cast::<u8>(), len));
        bag.push(word);
        Ok(())
    })
}

/// Adds every word of a text, including stop words; to leave those out, push words one by one.
///
/// `text`: `len` bytes of UTF-8. Bytes that are not UTF-8 separate words, and words of more than 48
/// bytes are left out. All else is as for `undertone_bag_push`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_push_text(
    bag: *mut UndertoneBag,
    text: *const c_char,
    len: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bag, text) = checked!(unsafe HandleMut(bag), In(text.cast::<u8>(), len));
        bag.push_text(text);
        Ok(())
    })
}

/// Removes all words and wipes them. Call it before you free the memory of a bag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_bag_reset(bag: *mut UndertoneBag) -> i32 {
    report(|| {
        checked!(unsafe HandleMut(bag)).clear();
        Ok(())
    })
}

/// Returns the length of a release of `word_count` words in bytes, at most
/// `UNDERTONE_MAX_BAG_RELEASE_BYTES`; 0 if `word_count` is not in
/// 1..=`UNDERTONE_MAX_RELEASED_WORDS`.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_bag_release_len(word_count: u32) -> usize {
    bag_size(word_count).map_or(0, BagRelease::bytes)
}

/// Draws `word_count` words of a bag at random with replacement, in proportion to their counts,
/// replaces each by a word of the vocabulary, and empties the bag.
///
/// Guarantee: metric privacy. Let b and b' be the `word_count` words that are drawn from two bags.
/// The probabilities of any release differ by at most a factor of e^(epsilon*word_count*(q + WMD(b,
/// b'))), where WMD is the word mover's distance and q comes from `undertone_vocabulary_describe`.
/// With `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` q does not count, and each word adds the loss and
/// the delta that `undertone_vector_mechanism_release` states for `UNDERTONE_NOISE_LAPLACE`. The
/// larger the distance, the weaker the guarantee: a release can distinguish two distant bags almost
/// with certainty. The epsilons of several releases of the same text add up.
///
/// Leaks: that there is a release, its time and pack, and `word_count`, epsilon and the method, all
/// of which must be chosen without looking at the text. The work is the same for all words, except
/// for the addresses that are read. With `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` the time also
/// depends on the noisy point. A bag without words counts as the fallback word.
///
/// `grant`: for `UNDERTONE_UNIT_WORD`. Its epsilon is for each word, per unit of distance.
/// `word_count`: 1 to `UNDERTONE_MAX_RELEASED_WORDS`, and at most the word_count with which the
/// grant was taken; an unrecorded grant is for any number. `method`: a `UNDERTONE_WORD_METHOD_`
/// number. `entropy`: called once with `context`, for 32 bytes, after all arguments were checked;
/// it must not use the bag. `out`: `out_capacity` bytes; `undertone_bag_release_len` are enough.
/// `out_written`: receives the bytes written, or the bytes needed with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Unless the status is `UNDERTONE_STATUS_OK`, nothing was drawn and the bag keeps its words.
/// A call that calls the entropy function spends the grant, even if the function fails.
///
/// Statuses: `UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE`, `UNDERTONE_STATUS_UNKNOWN_WORD_METHOD`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`,
/// `UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS`, `UNDERTONE_STATUS_GRANT_SPENT`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`; for `UNDERTONE_WORD_METHOD_LAPLACE_NEAREST` also
/// `UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE` and `UNDERTONE_STATUS_BOUND_OUT_OF_RANGE`.
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
    report_private::<WORDS_STACK>(move || {
        let (bag, grant, out, mut entropy) = checked!(
            unsafe HandleBusy(bag),
            HandleMut(grant),
            Buffer(out, out_capacity, out_written),
            Source(entropy, context),
        );
        let words = bag_size(word_count);
        let words = words.ok_or(Refusal(UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE))?;
        let mechanism = mechanism_from(method)?;
        let out = out.for_at_least(BagRelease::bytes(words))?;
        let grant = grant::spend(grant, |grant| {
            bag.get().check_grant(grant, words).map_err(refusal)?;
            bag.get().check(mechanism, grant.epsilon()).map_err(refusal)
        })?;
        // Not drawn in the caller's memory, which stays as it is if there is no entropy.
        let mut bytes = [0; UNDERTONE_MAX_BAG_RELEASE_BYTES];
        let drawn = bag.run(|bag| bag.release(words, mechanism, grant, &mut entropy, &mut bytes));
        out.write(bytes.iter().copied().take(drawn.map_err(refusal)?));
        Ok(())
    })
}

/// Reads the head of a released bag.
///
/// `bytes`: any `len` bytes. Each output may be NULL: `out_word_count`, the number of words;
/// `out_method`, a `UNDERTONE_WORD_METHOD_` number; `out_epsilon_micro`, the epsilon of each word
/// in micro-units; `out_pack_id`, `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack that
/// has the words.
///
/// Statuses: those of `undertone_release_read`.
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
        let (bytes, word_count, method, epsilon, pack_id) = checked!(
            unsafe In(bytes, len),
            Optional(out_word_count),
            Optional(out_method),
            Optional(out_epsilon_micro),
            Optional(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>()),
        );
        let release = BagRelease::from_bytes(bytes).map_err(release::refusal)?;
        give(word_count, release.words().len() as u32);
        give(method, number_of(release.mechanism()));
        give(epsilon, release.epsilon().micro());
        give(pack_id, release.pack_id());
        Ok(())
    })
}

/// Reads the words of a released bag, by number, in ascending order; repeated words are repeated.
///
/// `bytes`: any `len` bytes. `out`: `out_capacity` numbers; `UNDERTONE_MAX_RELEASED_WORDS` are
/// enough. `out_written`: receives the numbers written, or those needed with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`. Numbers in a forged release may be too large for the
/// vocabulary; `undertone_vocabulary_word` refuses them.
///
/// Statuses: those of `undertone_release_read`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
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
        let (bytes, out) = checked!(unsafe In(bytes, len), Buffer(out, out_capacity, out_written));
        let release = BagRelease::from_bytes(bytes).map_err(release::refusal)?;
        let words = release.words();
        out.for_at_least(words.len())?.write(words);
        Ok(())
    })
}
