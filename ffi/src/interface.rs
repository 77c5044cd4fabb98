//! The numbers of the interface, with their texts: statuses, units, rules, mechanisms, limits.
//!
//! Each stands here once. `tests/header.rs` writes them to `undertone.h` and to the constants of
//! the other languages. The constants are literals, because the header generator evaluates no
//! expressions; the assertions below compare them with `undertone_core`.

use core::ffi::CStr;

use undertone_core::epsilon::Epsilon;
use undertone_core::laplace::MAX_DIMENSION;
use undertone_core::ledger::{LEDGER_BYTES, RECORD_BYTES};
use undertone_core::release::{BagRelease, MAX_BAG_SIZE, Mechanism, Release, VectorRelease};
use undertone_core::reservoir::RESERVOIR_BYTES;
use undertone_core::scores::SUMS_PER_ROW;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::vector::Noise;

/// Defines statuses: name, number, and what is wrong and what to do. The texts name no function,
/// because every language shows them.
macro_rules! statuses {
    ($($name:ident = $number:literal: $text:expr;)*) => {
        $(
            #[doc = $text]
            pub const $name: i32 = $number;
        )*

        /// Name, number and text of every status.
        #[doc(hidden)]
        pub const STATUSES: &[(&str, i32, &str)] = &[$((stringify!($name), $number, $text)),*];

        /// The text of a status.
        pub(crate) const fn message(status: i32) -> &'static CStr {
            match status {
                $($number => const { terminated(concat!($text, "\0")) },)*
                _ => c"unknown status; it may come from a newer library than this one",
            }
        }
    };
}

/// A text that ends with a zero, as a string of C.
pub(crate) const fn terminated(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => unreachable!(),
    }
}

// Numbers are never reused.
statuses! {
    UNDERTONE_STATUS_OK = 0: "done";

    UNDERTONE_STATUS_NULL_POINTER = 1:
        "a required pointer is NULL; an array may be NULL only if its length is 0";
    UNDERTONE_STATUS_MISALIGNED = 2:
        "a pointer is not aligned; align memory for handles to 16 bytes, as malloc does";
    UNDERTONE_STATUS_IMPOSSIBLE_LENGTH = 3:
        "a length is larger than any object in memory; was a negative number passed?";
    UNDERTONE_STATUS_OVERLAP = 4:
        "memory that the call writes overlaps another argument; give each its own memory";
    UNDERTONE_STATUS_MEMORY_TOO_SMALL = 5:
        "the memory is too small for the handle";
    UNDERTONE_STATUS_BAD_HANDLE = 6:
        "not a valid handle: it was moved or overwritten, or never initialised";
    UNDERTONE_STATUS_BUSY = 7:
        "the handle is in use by a call that has not returned";
    UNDERTONE_STATUS_BUFFER_TOO_SMALL = 8:
        "the buffer for the result is too short";

    UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER = 16:
        "epsilon is not a decimal number such as 10, 0.5 or 1e-3";
    UNDERTONE_STATUS_EPSILON_TOO_SMALL = 17:
        "epsilon is below 0.000001; it must lie in 0.000001..=1000";
    UNDERTONE_STATUS_EPSILON_TOO_LARGE = 18:
        "epsilon is above 1000; it must lie in 0.000001..=1000";
    UNDERTONE_STATUS_UNKNOWN_RULE = 19:
        "unknown rule; the default is permute-and-flip, 1";
    UNDERTONE_STATUS_UNKNOWN_NOISE = 20:
        "unknown noise; the default is Laplace noise, 3";
    UNDERTONE_STATUS_UNKNOWN_WORD_METHOD = 21:
        "unknown method for words; the default is permute-and-flip, 1";
    UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE = 22:
        "epsilon is below 0.1; Laplace noise on vectors needs 0.1..=1000";
    UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE = 23:
        "the dimension of the vector is not in 1..=1024; project longer vectors";
    UNDERTONE_STATUS_BOUND_OUT_OF_RANGE = 24:
        "the bound on the coordinates does not fit the noise; scale the vectors or change epsilon";
    UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE = 25:
        "the number of words to release is not in 1..=256";
    UNDERTONE_STATUS_NO_SUCH_WORD = 26:
        "the vocabulary has no word with this number; was the release made with the same pack?";
    UNDERTONE_STATUS_UNKNOWN_UNIT = 27:
        "unknown unit of privacy, or one that this call does not take";
    UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE = 29:
        "a number of places, slots or appointments is not in 1..=65535, or the window has no such slot";

    UNDERTONE_STATUS_PACK_TOO_SHORT = 32:
        "too few bytes for a pack; is the file complete?";
    UNDERTONE_STATUS_NOT_A_PACK = 33:
        "not a pack: the first eight bytes are not \"UNDRTONE\"; is it the right file?";
    UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION = 34:
        "this library cannot read the version of the pack; update the older of the two";
    UNDERTONE_STATUS_PACK_WRONG_LENGTH = 35:
        "the length of the pack differs from the one in its header; copy the whole file again";
    UNDERTONE_STATUS_PACK_DAMAGED = 36:
        "the digest of the pack does not match its bytes; copy the file again";
    UNDERTONE_STATUS_PACK_MALFORMED = 37:
        "the pack breaks the rules of its format; build it again";

    UNDERTONE_STATUS_NO_CANDIDATES = 48:
        "the pack has no candidates";
    UNDERTONE_STATUS_NO_LEXICON = 49:
        "the pack cannot read text, as it has no lexicon; push embeddings, or build a pack with a lexicon";
    UNDERTONE_STATUS_TOO_MANY_DIRECTIONS = 50:
        "the pack has more than 100 projection directions; build it with fewer";
    UNDERTONE_STATUS_WRONG_DIMENSION = 51:
        "the vector does not have the dimension of its pack or mechanism; is it the same encoder?";
    UNDERTONE_STATUS_DOCUMENT_FULL = 52:
        "the document already has 128 sentences; release it, or leave the rest out";
    UNDERTONE_STATUS_ENTROPY_FAILED = 53:
        "the source of entropy failed or returned only zeroes, so nothing was released";
    UNDERTONE_STATUS_TOO_MANY_CANDIDATES = 54:
        "the pack has too many candidates for this release: more than 12800 with scores, 2560 with \
         features, or 4224 for a whole-text release";
    UNDERTONE_STATUS_NO_PROJECTION = 55:
        "the pack has no projection for vectors";
    UNDERTONE_STATUS_PROJECTION_TOO_STEEP = 56:
        "the projection of the pack stretches distances by more than 4096; scale it down";
    UNDERTONE_STATUS_NEEDS_TEXT = 57:
        "the pack has features of texts; push the text of a sentence, not only its embedding";
    UNDERTONE_STATUS_NO_SCORES = 58:
        "the pack selects by depth, and a whole-text release needs scores";

    UNDERTONE_STATUS_NOT_A_RELEASE = 64:
        "not a release: the first three bytes are not \"UTR\"";
    UNDERTONE_STATUS_RELEASE_WRONG_LENGTH = 65:
        "the release has the wrong number of bytes (a document's has 24); is it complete?";
    UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION = 66:
        "this library cannot read the version of the release; update the older of the two";
    UNDERTONE_STATUS_RELEASE_MALFORMED = 67:
        "a field of the release has an invalid value; was it damaged on the way?";

    UNDERTONE_STATUS_GRANT_SPENT = 80:
        "the grant was spent by an earlier release; every release needs its own grant";
    UNDERTONE_STATUS_LEDGER_NO_BUDGET = 81:
        "a budget of 0 grants nothing; the smallest is 0.000001";
    UNDERTONE_STATUS_LEDGER_WRONG_LENGTH = 82:
        "a ledger has 128 bytes; is it the right file? If so, recreate the ledger";
    UNDERTONE_STATUS_NOT_A_LEDGER = 83:
        "no record begins with \"UTLEDG\"; is it the right file? If so, recreate the ledger";
    UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION = 84:
        "this library cannot read the version of the ledger; a newer version of undertone wrote it; use that version";
    UNDERTONE_STATUS_LEDGER_DAMAGED = 85:
        "no record of the ledger is intact; recreate the ledger";
    UNDERTONE_STATUS_LEDGER_MIXED = 86:
        "the records are not of one ledger; recreate the ledger";
    UNDERTONE_STATUS_LEDGER_CHANGED = 87:
        "another program wrote to the ledger's file, so nothing is granted; lock it and try again";
    UNDERTONE_STATUS_LEDGER_FROM_FUTURE = 88:
        "the ledger has recorded a later window; set the clock right, or if it is right, recreate \
         the ledger with this window spent";
    UNDERTONE_STATUS_LEDGER_EXHAUSTED = 89:
        "this window has less left than the call needs; wait for the next window";
    UNDERTONE_STATUS_LEDGER_WORN_OUT = 90:
        "the ledger's counter has reached its maximum; make a new ledger";
    UNDERTONE_STATUS_LEDGER_NOT_RESERVED = 91:
        "nothing is reserved; reserve an epsilon once before each grant";
    UNDERTONE_STATUS_LEDGER_NOT_PERSISTED = 92:
        "the file does not have the new record, so nothing is granted; write, sync and read again";
    UNDERTONE_STATUS_LEDGER_RECORD_LOST = 93:
        "a record of the ledger was lost in a power cut or damaged, so the rest of this window \
         counts as spent; wait for the next window";
    UNDERTONE_STATUS_GRANT_WRONG_EPSILON = 94:
        "the epsilon of the grant is not that of the mechanism; take a grant of the same epsilon";
    UNDERTONE_STATUS_GRANT_WRONG_UNIT = 95:
        "the grant is for another unit than the release; every unit has a ledger of its own";
    UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS = 96:
        "the grant is for fewer words than the release has; take a grant for at least as many";
    UNDERTONE_STATUS_LEDGER_WRONG_UNIT = 97:
        "the ledger is for another unit; every unit has a ledger of its own";
    UNDERTONE_STATUS_LEDGER_SET_BACK = 98:
        "the ledger was set back or exchanged; recreate the ledger";
    UNDERTONE_STATUS_LEDGER_NOT_RAISED = 99:
        "the platform's counter did not rise as asked, so nothing is granted; does another \
         program use it?";
    UNDERTONE_STATUS_LEDGER_STORAGE_FAILED = 100:
        "the storage of the ledger failed, so nothing is granted; the epsilon may stay spent";
    UNDERTONE_STATUS_LEDGER_IN_USE = 101:
        "the ledger is in use, here or in another program; only one at a time can spend";

    UNDERTONE_STATUS_RESERVOIR_DAMAGED = 112:
        "not an intact reservoir of this version; begin with a new one, which costs no privacy";
    UNDERTONE_STATUS_RESERVOIR_OTHER_PACK = 113:
        "the reservoir is of another pack or form; begin with a new one, which costs no privacy";
    UNDERTONE_STATUS_NOT_A_FORM = 114:
        "not a form: the first six bytes are not \"UTFORM\"; is it the right file?";
    UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION = 115:
        "this library cannot read the version of the form; update the older of the two";
    UNDERTONE_STATUS_FORM_DAMAGED = 116:
        "the length or the digest of the form does not match its bytes; copy the file again";
    UNDERTONE_STATUS_FORM_MALFORMED = 117:
        "the form breaks the rules of its format; build it again";
    UNDERTONE_STATUS_WRONG_ANSWER_COUNT = 118:
        "the number of answers is not the form's number of attributes; give one answer for each";
    UNDERTONE_STATUS_NO_SUCH_CATEGORY = 119:
        "the form has no attribute or no category with this number";
    UNDERTONE_STATUS_FORM_OTHER_PACK = 120:
        "the form has no topic for the document's pack; make the form again with the candidates of \
         this pack";

    UNDERTONE_STATUS_INTERNAL = 127:
        "a bug in undertone; please report it with the call that returned it";
}

/// One sentence is protected: any one sentence of the text may be replaced.
pub const UNDERTONE_UNIT_SENTENCE: i32 = 1;
/// The whole text is protected: any other text may replace it.
pub const UNDERTONE_UNIT_WHOLE_TEXT: i32 = 2;
/// A bag of words is protected: another bag at word mover's distance W costs epsilon * W for each
/// released word.
pub const UNDERTONE_UNIT_WORD: i32 = 3;
/// A vector is protected: another vector at distance D costs epsilon * D.
pub const UNDERTONE_UNIT_VECTOR: i32 = 4;

/// Permute-and-flip, the default: never less accurate than the exponential mechanism at the same
/// epsilon.
pub const UNDERTONE_RULE_PERMUTE_AND_FLIP: i32 = 1;
/// The exponential mechanism, for accounting in zCDP.
pub const UNDERTONE_RULE_EXPONENTIAL: i32 = 2;

/// Candidates are selected by approximate Tukey depth.
pub const UNDERTONE_SELECTOR_DEPTH: i32 = 1;
/// Candidates are selected by bounded scores.
pub const UNDERTONE_SELECTOR_SCORES: i32 = 2;

/// The whole-text rule: protects a whole text, or all lines of a slot together.
pub const UNDERTONE_MECHANISM_WHOLE_TEXT: i32 = 7;
/// Projective geometry, for counting among many candidates: protects a whole text, or all lines of
/// a slot together.
pub const UNDERTONE_MECHANISM_PROJECTIVE: i32 = 8;
/// The whole-text rule on one line that a reservoir has drawn, at more than the grant's epsilon.
/// Each line, such as a sentence of a text, keeps the promise of the grant.
pub const UNDERTONE_MECHANISM_DRAWN: i32 = 9;

/// n-dimensional Laplace noise, the default: the least noise.
pub const UNDERTONE_NOISE_LAPLACE: i32 = 3;
/// Discrete Laplace noise on each coordinate: about 1.5 times as much noise, without the small
/// delta of `UNDERTONE_NOISE_LAPLACE`, and computed in integers.
pub const UNDERTONE_NOISE_DISCRETE_LAPLACE: i32 = 4;

/// Selection of words by permute-and-flip, the default.
pub const UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP: i32 = 1;
/// Selection of words by the exponential mechanism.
pub const UNDERTONE_WORD_METHOD_EXPONENTIAL: i32 = 2;
/// Noise on a word's vector, then the nearest word: the method of earlier papers, for comparison.
pub const UNDERTONE_WORD_METHOD_LAPLACE_NEAREST: i32 = 3;

/// The largest epsilon, 1000, in micro-units. The smallest is 1 micro-unit, 0.000001.
pub const UNDERTONE_MAX_EPSILON_MICRO: u32 = 1_000_000_000;
/// The most sentences in a document.
pub const UNDERTONE_MAX_SENTENCES: usize = 128;
/// The most projection directions in a pack for documents.
pub const UNDERTONE_MAX_DIRECTIONS: usize = 100;
/// The most candidates that a pack with scores may have if it is used for documents.
pub const UNDERTONE_MAX_SCORED_CANDIDATES: usize = 12_800;
/// The most candidates that a pack with features may have if it is used for documents.
pub const UNDERTONE_MAX_FEATURED_CANDIDATES: usize = 2560;
/// The most candidates of a pack for whole-text releases.
pub const UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES: usize = 4224;
/// The most coordinates of a released vector.
pub const UNDERTONE_MAX_VECTOR_DIMENSION: u32 = 1024;
/// The most words that a bag keeps of a text; the rest is left out.
pub const UNDERTONE_MAX_BAG_WORDS: usize = 1024;
/// The most words in a release of a bag.
pub const UNDERTONE_MAX_RELEASED_WORDS: u32 = 256;

/// The length of a release of a document or an answer; the top of this header has its layout.
pub const UNDERTONE_RELEASE_BYTES: usize = 24;
/// The largest length of a released vector: 36 bytes, and 4 for each of 1024 coordinates.
pub const UNDERTONE_MAX_VECTOR_RELEASE_BYTES: usize = 4132;
/// The largest length of a release of a bag: 24 bytes, and 2 for each of 256 words.
pub const UNDERTONE_MAX_BAG_RELEASE_BYTES: usize = 536;
/// The length of a reservoir.
pub const UNDERTONE_RESERVOIR_BYTES: usize = 64;
/// The length of a pack's identifier.
pub const UNDERTONE_PACK_ID_BYTES: usize = 8;
/// The length of the digest that identifies an encoder.
pub const UNDERTONE_ENCODER_DIGEST_BYTES: usize = 32;
/// The largest length of an encoder's name, with its terminating zero.
pub const UNDERTONE_ENCODER_NAME_BYTES: usize = 33;
/// The length of a ledger's file.
pub const UNDERTONE_LEDGER_IMAGE_BYTES: usize = 128;
/// The length of a record, which is what a reservation writes.
pub const UNDERTONE_LEDGER_RECORD_BYTES: usize = 64;

/// The alignment of the memory for handles.
pub const UNDERTONE_HANDLE_ALIGNMENT: usize = 16;
/// The length of the memory for an `undertone_pack` on every target.
pub const UNDERTONE_PACK_HANDLE_SIZE: usize = 640;
/// The length of the memory for an `undertone_form` on every target.
pub const UNDERTONE_FORM_HANDLE_SIZE: usize = 192;
/// The length of the memory for an `undertone_grant` on every target.
pub const UNDERTONE_GRANT_HANDLE_SIZE: usize = 32;
/// The length of the memory for an `undertone_ledger` on every target.
pub const UNDERTONE_LEDGER_HANDLE_SIZE: usize = 512;
/// The length of the memory for an `undertone_document` on every target.
pub const UNDERTONE_DOCUMENT_HANDLE_SIZE: usize = 26_624;
/// The length of the memory for an `undertone_vector_mechanism` on every target.
pub const UNDERTONE_VECTOR_MECHANISM_HANDLE_SIZE: usize = 256;
/// The length of the memory for an `undertone_vocabulary` on every target.
pub const UNDERTONE_VOCABULARY_HANDLE_SIZE: usize = 192;
/// The length of the memory for an `undertone_bag` on every target.
pub const UNDERTONE_BAG_HANDLE_SIZE: usize = 2304;

const _: () = {
    assert!(UNDERTONE_UNIT_SENTENCE == Unit::Sentence.number() as i32);
    assert!(UNDERTONE_UNIT_WHOLE_TEXT == Unit::WholeText.number() as i32);
    assert!(UNDERTONE_UNIT_WORD == Unit::Word.number() as i32);
    assert!(UNDERTONE_UNIT_VECTOR == Unit::Vector.number() as i32);
    assert!(UNDERTONE_RULE_PERMUTE_AND_FLIP == Rule::PermuteAndFlip as i32);
    assert!(UNDERTONE_RULE_EXPONENTIAL == Rule::Exponential as i32);
    assert!(UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP == Rule::PermuteAndFlip as i32);
    assert!(UNDERTONE_WORD_METHOD_EXPONENTIAL == Rule::Exponential as i32);
    assert!(UNDERTONE_SELECTOR_DEPTH == Mechanism::Depth as i32);
    assert!(UNDERTONE_SELECTOR_SCORES == Mechanism::Scores as i32);
    assert!(UNDERTONE_MECHANISM_WHOLE_TEXT == Mechanism::WholeText as i32);
    assert!(UNDERTONE_MECHANISM_PROJECTIVE == Mechanism::Projective as i32);
    assert!(UNDERTONE_MECHANISM_DRAWN == Mechanism::Drawn as i32);
    assert!(UNDERTONE_NOISE_LAPLACE == Noise::Laplace as i32);
    assert!(UNDERTONE_NOISE_DISCRETE_LAPLACE == Noise::DiscreteLaplace as i32);
    assert!(UNDERTONE_MAX_EPSILON_MICRO == Epsilon::MAX.micro());
    assert!(UNDERTONE_MAX_SCORED_CANDIDATES == SUMS_PER_ROW * UNDERTONE_MAX_DIRECTIONS);
    // A value of 32 bits takes two scores' room; features take as much again.
    assert!(UNDERTONE_MAX_FEATURED_CANDIDATES == SUMS_PER_ROW * (UNDERTONE_MAX_DIRECTIONS / 5));
    assert!(UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES == SUMS_PER_ROW * (UNDERTONE_MAX_DIRECTIONS / 3));
    assert!(UNDERTONE_MAX_VECTOR_DIMENSION as usize == MAX_DIMENSION);
    assert!(UNDERTONE_MAX_RELEASED_WORDS == MAX_BAG_SIZE as u32);
    assert!(UNDERTONE_RELEASE_BYTES == Release::BYTES);
    assert!(
        UNDERTONE_MAX_VECTOR_RELEASE_BYTES == VectorRelease::bytes(UNDERTONE_MAX_VECTOR_DIMENSION)
    );
    assert!(UNDERTONE_MAX_BAG_RELEASE_BYTES == BagRelease::bytes(MAX_BAG_SIZE));
    assert!(UNDERTONE_RESERVOIR_BYTES == RESERVOIR_BYTES);
    assert!(UNDERTONE_LEDGER_IMAGE_BYTES == LEDGER_BYTES);
    assert!(UNDERTONE_LEDGER_RECORD_BYTES == RECORD_BYTES);
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_texts_are_distinct() {
        let numbers: HashSet<_> = STATUSES.iter().map(|(_, number, _)| number).collect();
        let texts: HashSet<_> = STATUSES.iter().map(|(_, _, text)| text).collect();
        assert_eq!([numbers.len(), texts.len()], [STATUSES.len(); 2]);
        for (name, number, text) in STATUSES {
            assert_eq!(message(*number).to_str(), Ok(*text), "{name}");
        }
        for unknown in [i32::MIN, -1, 9, 128, i32::MAX] {
            let text = message(unknown).to_str().unwrap();
            assert!(text.starts_with("unknown status"), "{unknown}: {text}");
        }
    }

    #[test]
    fn texts_are_neutral_and_have_the_limits() {
        for (name, number, text) in STATUSES {
            assert!(
                !text.contains(['_', '`']),
                "{name} names a function of one language"
            );
            // Classes of other languages rule out the statuses below 9.
            for foreign in ["NULL", "malloc", "pointer", "handle", "image", "initialise"] {
                assert!(*number < 9 || !text.contains(foreign), "{name}: {text}");
            }
        }
        for (status, limit) in [
            (UNDERTONE_STATUS_MISALIGNED, UNDERTONE_HANDLE_ALIGNMENT),
            (UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE, MAX_DIMENSION),
            (
                UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE,
                MAX_BAG_SIZE.into(),
            ),
            (
                UNDERTONE_STATUS_TOO_MANY_DIRECTIONS,
                UNDERTONE_MAX_DIRECTIONS,
            ),
            (UNDERTONE_STATUS_DOCUMENT_FULL, UNDERTONE_MAX_SENTENCES),
            (
                UNDERTONE_STATUS_TOO_MANY_CANDIDATES,
                UNDERTONE_MAX_SCORED_CANDIDATES,
            ),
            (
                UNDERTONE_STATUS_TOO_MANY_CANDIDATES,
                UNDERTONE_MAX_FEATURED_CANDIDATES,
            ),
            (
                UNDERTONE_STATUS_TOO_MANY_CANDIDATES,
                UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES,
            ),
            (
                UNDERTONE_STATUS_RELEASE_WRONG_LENGTH,
                UNDERTONE_RELEASE_BYTES,
            ),
            (UNDERTONE_STATUS_LEDGER_WRONG_LENGTH, LEDGER_BYTES),
        ] {
            let text = message(status).to_str().unwrap();
            assert!(
                text.contains(&limit.to_string()),
                "{limit} is not in {text:?}"
            );
        }
    }
}
