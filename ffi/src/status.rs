//! What a function returns: a number, and a sentence for it.
//!
//! Numbers are never reused; one that is retired stays here as a comment.

use core::ffi::{CStr, c_char};

use undertone_core::kernels::wipe_registers;

/// Done.
pub const UNDERTONE_STATUS_OK: i32 = 0;

/// A required pointer is NULL.
pub const UNDERTONE_STATUS_NULL_POINTER: i32 = 1;
/// A pointer is not aligned for its type, or the memory for a handle not for the handle.
pub const UNDERTONE_STATUS_MISALIGNED: i32 = 2;
/// The length is larger than any object in memory.
pub const UNDERTONE_STATUS_IMPOSSIBLE_LENGTH: i32 = 3;
/// Memory that the call writes overlaps another argument.
pub const UNDERTONE_STATUS_OVERLAP: i32 = 4;
/// The memory for a handle is shorter than its `_size` function says.
pub const UNDERTONE_STATUS_MEMORY_TOO_SMALL: i32 = 5;
/// Not a handle of this kind: never initialised, overwritten, or moved.
pub const UNDERTONE_STATUS_BAD_HANDLE: i32 = 6;
/// The handle is in use by a call that has not returned.
pub const UNDERTONE_STATUS_BUSY: i32 = 7;
/// The buffer for a result is too short; the needed length was written to `out_written`.
pub const UNDERTONE_STATUS_BUFFER_TOO_SMALL: i32 = 8;

/// The text is not a decimal number.
pub const UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER: i32 = 16;
/// Epsilon is below 0.000001.
pub const UNDERTONE_STATUS_EPSILON_TOO_SMALL: i32 = 17;
/// Epsilon is above 1000.
pub const UNDERTONE_STATUS_EPSILON_TOO_LARGE: i32 = 18;
/// Not one of the `UNDERTONE_RULE_` numbers.
pub const UNDERTONE_STATUS_UNKNOWN_RULE: i32 = 19;
/// Not one of the `UNDERTONE_NOISE_` numbers.
pub const UNDERTONE_STATUS_UNKNOWN_NOISE: i32 = 20;
/// Not one of the `UNDERTONE_WORD_METHOD_` numbers.
pub const UNDERTONE_STATUS_UNKNOWN_WORD_METHOD: i32 = 21;
/// Epsilon is below 0.1, the smallest for Laplace noise on vectors.
pub const UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE: i32 = 22;
/// The dimension of a vector is 0 or more than `UNDERTONE_MAX_VECTOR_DIMENSION`.
pub const UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE: i32 = 23;
/// The bound on the coordinates is too large or too small for the noise.
pub const UNDERTONE_STATUS_BOUND_OUT_OF_RANGE: i32 = 24;
/// The number of words to release is 0 or more than `UNDERTONE_MAX_RELEASED_WORDS`.
pub const UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE: i32 = 25;
/// The vocabulary has no word with this number.
pub const UNDERTONE_STATUS_NO_SUCH_WORD: i32 = 26;
/// Not one of the `UNDERTONE_UNIT_` numbers.
pub const UNDERTONE_STATUS_UNKNOWN_UNIT: i32 = 27;

/// There are fewer bytes than the header of a pack has.
pub const UNDERTONE_STATUS_PACK_TOO_SHORT: i32 = 32;
/// The bytes are not a pack.
pub const UNDERTONE_STATUS_NOT_A_PACK: i32 = 33;
/// The pack has a format version that this library does not read.
pub const UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION: i32 = 34;
/// The pack is not as long as it says.
pub const UNDERTONE_STATUS_PACK_WRONG_LENGTH: i32 = 35;
/// The digest of the pack does not match its bytes.
pub const UNDERTONE_STATUS_PACK_DAMAGED: i32 = 36;
/// The pack is intact but breaks the rules of its format.
pub const UNDERTONE_STATUS_PACK_MALFORMED: i32 = 37;

/// The pack has no candidates.
pub const UNDERTONE_STATUS_NO_CANDIDATES: i32 = 48;
/// The pack has no lexicon.
pub const UNDERTONE_STATUS_NO_LEXICON: i32 = 49;
/// The pack has more projection directions than `UNDERTONE_MAX_DIRECTIONS`.
pub const UNDERTONE_STATUS_TOO_MANY_DIRECTIONS: i32 = 50;
/// The vector does not have the dimension of the pack or mechanism.
pub const UNDERTONE_STATUS_WRONG_DIMENSION: i32 = 51;
/// The document already has `UNDERTONE_MAX_SENTENCES` sentences.
pub const UNDERTONE_STATUS_DOCUMENT_FULL: i32 = 52;
/// The entropy function failed, or returned only zeroes.
pub const UNDERTONE_STATUS_ENTROPY_FAILED: i32 = 53;
/// The pack scores more candidates than `UNDERTONE_MAX_SCORED_CANDIDATES`; or than `UNDERTONE_MAX_FEATURED_CANDIDATES`
/// if it has features, or than `UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES` for a release by the whole text.
pub const UNDERTONE_STATUS_TOO_MANY_CANDIDATES: i32 = 54;
/// The pack has no projection.
pub const UNDERTONE_STATUS_NO_PROJECTION: i32 = 55;
/// The projection of the pack stretches distances by more than 4096.
pub const UNDERTONE_STATUS_PROJECTION_TOO_STEEP: i32 = 56;
/// The pack has features of texts, which an embedding alone does not tell.
pub const UNDERTONE_STATUS_NEEDS_TEXT: i32 = 57;
/// The pack selects by depth, and a release by the whole text needs scores.
pub const UNDERTONE_STATUS_NO_SCORES: i32 = 58;

/// The bytes are not a release.
pub const UNDERTONE_STATUS_NOT_A_RELEASE: i32 = 64;
/// The release does not have the length of its kind; that of a document has `UNDERTONE_RELEASE_BYTES` bytes.
pub const UNDERTONE_STATUS_RELEASE_WRONG_LENGTH: i32 = 65;
/// The release has a format version that this library does not read.
pub const UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION: i32 = 66;
/// A field of the release has an invalid value.
pub const UNDERTONE_STATUS_RELEASE_MALFORMED: i32 = 67;

/// The grant was spent by an earlier release.
pub const UNDERTONE_STATUS_GRANT_SPENT: i32 = 80;
/// The budget is 0.
pub const UNDERTONE_STATUS_LEDGER_NO_BUDGET: i32 = 81;
/// The image does not have `UNDERTONE_LEDGER_IMAGE_BYTES` bytes.
pub const UNDERTONE_STATUS_LEDGER_WRONG_LENGTH: i32 = 82;
/// The bytes are not a ledger.
pub const UNDERTONE_STATUS_NOT_A_LEDGER: i32 = 83;
/// The ledger has a format version that this library does not read.
pub const UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION: i32 = 84;
/// No record of the ledger is intact.
pub const UNDERTONE_STATUS_LEDGER_DAMAGED: i32 = 85;
/// The records belong to different ledgers.
pub const UNDERTONE_STATUS_LEDGER_MIXED: i32 = 86;
/// The file changed since this handle last saw it.
pub const UNDERTONE_STATUS_LEDGER_CHANGED: i32 = 87;
/// The newest record belongs to a later window.
pub const UNDERTONE_STATUS_LEDGER_FROM_FUTURE: i32 = 88;
/// The window has less left than this call needs.
pub const UNDERTONE_STATUS_LEDGER_EXHAUSTED: i32 = 89;
/// The counter of the ledger has reached its maximum.
pub const UNDERTONE_STATUS_LEDGER_WORN_OUT: i32 = 90;
/// Nothing is reserved, so there is nothing to grant.
pub const UNDERTONE_STATUS_LEDGER_NOT_RESERVED: i32 = 91;
/// The image that was read back does not have the new record in its place.
pub const UNDERTONE_STATUS_LEDGER_NOT_PERSISTED: i32 = 92;
/// A record was lost; the rest of the window counts as spent.
pub const UNDERTONE_STATUS_LEDGER_RECORD_LOST: i32 = 93;
/// The epsilon of the grant is not that of the mechanism.
pub const UNDERTONE_STATUS_GRANT_WRONG_EPSILON: i32 = 94;
/// The grant is for another unit than the release.
pub const UNDERTONE_STATUS_GRANT_WRONG_UNIT: i32 = 95;
/// The grant is for fewer words than the release has.
pub const UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS: i32 = 96;
/// The ledger is for another unit.
pub const UNDERTONE_STATUS_LEDGER_WRONG_UNIT: i32 = 97;
/// The ledger is not the one that the platform's counter counted: an older one, or another.
pub const UNDERTONE_STATUS_LEDGER_SET_BACK: i32 = 98;
/// The platform's counter is not where it was raised to.
pub const UNDERTONE_STATUS_LEDGER_NOT_RAISED: i32 = 99;
/// A function of the `undertone_ledger_storage` failed.
pub const UNDERTONE_STATUS_LEDGER_STORAGE_FAILED: i32 = 100;
/// The ledger could not be locked: another program has it.
pub const UNDERTONE_STATUS_LEDGER_IN_USE: i32 = 101;

/// A bug in the library.
pub const UNDERTONE_STATUS_INTERNAL: i32 = 127;

/// Why a call was refused: a status other than [`UNDERTONE_STATUS_OK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) i32);

/// The status of the call whose body is `call`.
pub(crate) fn report(call: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    match call() {
        Ok(()) => UNDERTONE_STATUS_OK,
        Err(Refusal(status)) => status,
    }
}

/// Stack that is wiped after a call that takes a sentence or releases a document: all that it may have used
/// (the header promises 8 KiB, and 16 on x86-64, whose kernels take more sentences at a time), without what is above.
pub(crate) const SENTENCES_STACK: usize = stack(if cfg!(target_arch = "x86_64") {
    16 * 1024
} else {
    8 * 1024
});
/// The same for what finds sentences.
pub(crate) const SPLITTING_STACK: usize = stack(2 * 1024);
/// The same for words and vectors, 16 KiB, and 20 on x86-64.
pub(crate) const WORDS_STACK: usize = stack(if cfg!(target_arch = "x86_64") {
    20 * 1024
} else {
    16 * 1024
});

const fn stack(promised: usize) -> usize {
    // Unoptimised code takes more, and is promised nothing.
    if cfg!(debug_assertions) {
        128 * 1024
    } else {
        promised - 384
    }
}

/// [`report`] for a call that sees what is private. Compilers put copies where nobody can wipe them one by
/// one: arguments by value, registers that did not suffice. So all of the stack below is wiped, and vector
/// registers.
#[inline(always)]
pub(crate) fn report_private<const STACK: usize>(
    call: impl FnOnce() -> Result<(), Refusal>,
) -> i32 {
    let status = apart(call);
    wipe_below::<STACK>();
    wipe_registers();
    status
}

/// Everything that `call` keeps on the stack is below its caller's frame.
#[inline(never)]
fn apart(call: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    report(call)
}

/// From the same place downwards.
#[cfg(not(target_pointer_width = "32"))]
#[inline(never)]
fn wipe_below<const STACK: usize>() {
    let below = [0u8; STACK];
    zeroize::optimization_barrier(&below);
}

/// From the same place downwards, by the eight bytes: on a microcontroller `memset` takes five times as many
/// instructions.
#[cfg(target_pointer_width = "32")]
#[inline(never)]
fn wipe_below<const STACK: usize>() {
    /// Aligned for the stores; the number of rows follows from `STACK`.
    #[repr(align(8))]
    struct Below<const STACK: usize>([u8; STACK]);
    const ROW: usize = 8;
    const { assert!(STACK.is_multiple_of(ROW * size_of::<u64>())) };
    let mut below = core::mem::MaybeUninit::<Below<STACK>>::uninit();
    let mut next = below.as_mut_ptr().cast::<u64>();
    for _ in 0..STACK / (ROW * size_of::<u64>()) {
        // SAFETY: so many rows are in the array, which is aligned; nothing else uses it.
        unsafe {
            next.write_volatile(0);
            next.add(1).write_volatile(0);
            next.add(2).write_volatile(0);
            next.add(3).write_volatile(0);
            next.add(4).write_volatile(0);
            next.add(5).write_volatile(0);
            next.add(6).write_volatile(0);
            next.add(7).write_volatile(0);
            next = next.add(ROW);
        }
    }
}

pub(crate) fn message(status: i32) -> &'static CStr {
    match status {
        UNDERTONE_STATUS_OK => c"done",
        UNDERTONE_STATUS_NULL_POINTER => c"a required pointer is NULL; an array may be NULL only if its length is 0",
        UNDERTONE_STATUS_MISALIGNED => {
            c"a pointer is not aligned; take memory from malloc, or align it to UNDERTONE_HANDLE_ALIGNMENT"
        }
        UNDERTONE_STATUS_IMPOSSIBLE_LENGTH => {
            c"a length is larger than any object in memory; it may be a negative number"
        }
        UNDERTONE_STATUS_OVERLAP => c"memory that the call writes overlaps another argument; give each argument its own memory",
        UNDERTONE_STATUS_MEMORY_TOO_SMALL => {
            c"the memory is too small for the handle; allocate as many bytes as its _handle_size function says"
        }
        UNDERTONE_STATUS_BAD_HANDLE => {
            c"not a valid handle; initialise it with its _init function, and do not move or copy it"
        }
        UNDERTONE_STATUS_BUSY => c"the handle is in use by a call that has not returned; do not use it in a function that the call was given",
        UNDERTONE_STATUS_BUFFER_TOO_SMALL => {
            c"the buffer for the result is too short; its needed length was written to out_written"
        }
        UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER => {
            c"epsilon is not a decimal number such as 10, 0.5 or 1e-3; do not count a terminating zero"
        }
        UNDERTONE_STATUS_EPSILON_TOO_SMALL => c"epsilon is below 0.000001; it must lie in 0.000001..=1000",
        UNDERTONE_STATUS_EPSILON_TOO_LARGE => c"epsilon is above 1000; it must lie in 0.000001..=1000",
        UNDERTONE_STATUS_UNKNOWN_RULE => c"unknown rule; use UNDERTONE_RULE_PERMUTE_AND_FLIP",
        UNDERTONE_STATUS_UNKNOWN_UNIT => c"unknown unit; use UNDERTONE_UNIT_SENTENCE or UNDERTONE_UNIT_WHOLE_TEXT, or for a ledger or a grant UNDERTONE_UNIT_WORD or UNDERTONE_UNIT_VECTOR",
        UNDERTONE_STATUS_UNKNOWN_NOISE => c"unknown noise; use UNDERTONE_NOISE_LAPLACE",
        UNDERTONE_STATUS_UNKNOWN_WORD_METHOD => c"unknown method for words; use UNDERTONE_WORD_METHOD_PERMUTE_AND_FLIP",
        UNDERTONE_STATUS_EPSILON_TOO_SMALL_FOR_NOISE => {
            c"epsilon is below 0.1; Laplace noise on vectors needs 0.1..=1000"
        }
        UNDERTONE_STATUS_DIMENSION_OUT_OF_RANGE => {
            c"the dimension is 0 or more than UNDERTONE_MAX_VECTOR_DIMENSION; project longer vectors"
        }
        UNDERTONE_STATUS_BOUND_OUT_OF_RANGE => {
            c"the bound on the coordinates is too large or too small for the noise; scale the vectors, or take another epsilon"
        }
        UNDERTONE_STATUS_WORD_COUNT_OUT_OF_RANGE => c"a release has 1 to UNDERTONE_MAX_RELEASED_WORDS words; ask for a number in that range",
        UNDERTONE_STATUS_NO_SUCH_WORD => {
            c"the vocabulary has no word with this number; was the release made with the same pack?"
        }
        UNDERTONE_STATUS_PACK_TOO_SHORT => c"too few bytes for a pack; is the file complete?",
        UNDERTONE_STATUS_NOT_A_PACK => c"not a pack: the first eight bytes are not \"UNDRTONE\"; is it the right file?",
        UNDERTONE_STATUS_PACK_UNSUPPORTED_VERSION => {
            c"the pack has a format that this library does not read; update the older of the two"
        }
        UNDERTONE_STATUS_PACK_WRONG_LENGTH => c"the pack is not as long as it says; copy the whole file again",
        UNDERTONE_STATUS_PACK_DAMAGED => c"the digest of the pack does not match its bytes; copy the file again",
        UNDERTONE_STATUS_PACK_MALFORMED => {
            c"the pack breaks the rules of its format; build it again (`undertone inspect` names the fault)"
        }
        UNDERTONE_STATUS_NO_CANDIDATES => c"the pack has no candidates; build it with `undertone pack`",
        UNDERTONE_STATUS_NO_LEXICON => {
            c"the pack has no lexicon; push embeddings (of a pack with features: undertone_document_push_encoded), or build the pack with a lexicon as encoder or with `undertone vocabulary`"
        }
        UNDERTONE_STATUS_TOO_MANY_DIRECTIONS => {
            c"the pack has more projection directions than UNDERTONE_MAX_DIRECTIONS; build it with fewer"
        }
        UNDERTONE_STATUS_TOO_MANY_CANDIDATES => {
            c"the pack scores more candidates than this release can hold (UNDERTONE_MAX_SCORED_CANDIDATES, UNDERTONE_MAX_FEATURED_CANDIDATES, UNDERTONE_MAX_WHOLE_TEXT_CANDIDATES); build it with fewer"
        }
        UNDERTONE_STATUS_NO_PROJECTION => c"the pack has no projection; build one with `undertone project`",
        UNDERTONE_STATUS_PROJECTION_TOO_STEEP => {
            c"the projection of the pack stretches distances by more than 4096; scale it down"
        }
        UNDERTONE_STATUS_NEEDS_TEXT => {
            c"the pack has features of texts; push a sentence's text, or its text and embedding with undertone_document_push_encoded"
        }
        UNDERTONE_STATUS_NO_SCORES => {
            c"the pack selects by depth, and a release by the whole text needs scores; build it with scores"
        }
        UNDERTONE_STATUS_WRONG_DIMENSION => {
            c"the vector does not have the dimension of its pack or mechanism; use the encoder that the pack names, and count floats, not bytes"
        }
        UNDERTONE_STATUS_DOCUMENT_FULL => {
            c"the document already has UNDERTONE_MAX_SENTENCES sentences; release it, or leave the rest out"
        }
        UNDERTONE_STATUS_ENTROPY_FAILED => {
            c"the entropy function failed or returned only zeroes; nothing was released, try again with a new grant"
        }
        UNDERTONE_STATUS_NOT_A_RELEASE => c"not a release: the first three bytes are not \"UTR\"",
        UNDERTONE_STATUS_RELEASE_WRONG_LENGTH => c"the release has the wrong number of bytes (a document's has UNDERTONE_RELEASE_BYTES); is it complete?",
        UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION => {
            c"the release has a format that this library does not read; update the older of the two"
        }
        UNDERTONE_STATUS_RELEASE_MALFORMED => c"a field of the release has an invalid value; was it damaged on the way?",
        UNDERTONE_STATUS_GRANT_WRONG_EPSILON => {
            c"the epsilon of the grant is not that of the mechanism; take a grant of the same epsilon"
        }
        UNDERTONE_STATUS_GRANT_SPENT => c"the grant was spent by an earlier release; every release needs its own grant",
        UNDERTONE_STATUS_LEDGER_NO_BUDGET => c"a budget of 0 grants nothing; give at least 1 micro-unit",
        UNDERTONE_STATUS_LEDGER_WRONG_LENGTH => {
            c"a ledger has UNDERTONE_LEDGER_IMAGE_BYTES bytes; is it the right file? If so, begin anew (undertone_ledger_begin_anew)"
        }
        UNDERTONE_STATUS_NOT_A_LEDGER => {
            c"no record begins with \"UTLEDG\"; is it the right file? If so, begin anew (undertone_ledger_begin_anew)"
        }
        UNDERTONE_STATUS_LEDGER_UNSUPPORTED_VERSION => {
            c"the ledger has a version that this library does not read; use the newer of the two programs"
        }
        UNDERTONE_STATUS_LEDGER_DAMAGED => {
            c"no record of the ledger is intact; begin anew (undertone_ledger_begin_anew), which counts this window as spent"
        }
        UNDERTONE_STATUS_LEDGER_MIXED => {
            c"the records are not of one ledger; begin anew (undertone_ledger_begin_anew), which counts this window as spent"
        }
        UNDERTONE_STATUS_LEDGER_CHANGED => {
            c"another program wrote to the ledger's file; lock the file, read it and initialise the ledger again"
        }
        UNDERTONE_STATUS_LEDGER_FROM_FUTURE => c"the ledger has recorded a later window than this one; was the clock set back?",
        UNDERTONE_STATUS_LEDGER_EXHAUSTED => {
            c"this window has less left than the call needs (undertone_ledger_remaining); wait for the next window"
        }
        UNDERTONE_STATUS_LEDGER_WORN_OUT => c"the ledger's counter has reached its maximum; make a new ledger",
        UNDERTONE_STATUS_LEDGER_NOT_RESERVED => {
            c"nothing is reserved; call undertone_ledger_reserve_epsilon once before each undertone_ledger_grant"
        }
        UNDERTONE_STATUS_LEDGER_NOT_PERSISTED => {
            c"the image that was read back does not have the new record; write the record, sync and read again"
        }
        UNDERTONE_STATUS_LEDGER_RECORD_LOST => {
            c"a record of the ledger was lost in a power cut or damaged, so the rest of this window counts as spent; wait for the next window"
        }
        UNDERTONE_STATUS_GRANT_WRONG_UNIT => {
            c"the grant is for another unit than the release; every unit has a ledger of its own (UNDERTONE_UNIT_)"
        }
        UNDERTONE_STATUS_GRANT_TOO_FEW_WORDS => {
            c"the grant is for fewer words than the release has; spend for as many words as the bag releases"
        }
        UNDERTONE_STATUS_LEDGER_WRONG_UNIT => {
            c"the ledger is for another unit; every unit has a ledger of its own (UNDERTONE_UNIT_)"
        }
        UNDERTONE_STATUS_LEDGER_SET_BACK => {
            c"the ledger was set back or exchanged; begin anew (undertone_ledger_begin_anew), which counts this window as spent"
        }
        UNDERTONE_STATUS_LEDGER_NOT_RAISED => {
            c"the platform's counter is not where it was raised to, so nothing is granted; does something else use it?"
        }
        UNDERTONE_STATUS_LEDGER_STORAGE_FAILED => {
            c"a function of the ledger's storage failed, so nothing is granted; what it was to spend may stay spent"
        }
        UNDERTONE_STATUS_LEDGER_IN_USE => c"the ledger is in use, here or in another program; only one at a time can spend",
        UNDERTONE_STATUS_INTERNAL => c"a bug in undertone; please report it with the call that returned it",
        _ => c"unknown status; it may come from a newer library than this one",
    }
}

/// A sentence for a status: what is wrong and what to do, in English.
///
/// `status`: any number. The result is a static string, never NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_status_message(status: i32) -> *const c_char {
    message(status).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_status_has_its_own_number_and_message() {
        let mut numbers = HashSet::new();
        let mut messages = HashSet::from([message(-1)]);
        let constants = include_str!("status.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("pub const ")?.strip_suffix(';'));
        for constant in constants {
            let number = constant.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(numbers.insert(number), "{constant}: the number is taken");
            assert!(
                messages.insert(message(number)),
                "{constant}: no message of its own"
            );
        }
        assert!(numbers.len() >= 30, "the constants were not found");
        for unknown in [i32::MIN, -1, 9, 128, i32::MAX] {
            assert_eq!(message(unknown), message(-1));
        }
    }
}
