//! What a function returns: a number, and a sentence for it.
//!
//! Numbers are never reused; one that is retired stays here as a comment.

use core::ffi::{CStr, c_char};

use undertone_core::kernels::Backend;

/// Done.
pub const UNDERTONE_OK: i32 = 0;

/// A required pointer is NULL.
pub const UNDERTONE_NULL: i32 = 1;
/// A pointer is not aligned for its type, or the memory for a handle not for the handle.
pub const UNDERTONE_MISALIGNED: i32 = 2;
/// A length that no object in memory can have.
pub const UNDERTONE_IMPOSSIBLE_LENGTH: i32 = 3;
/// Memory that is written overlaps another argument.
pub const UNDERTONE_OVERLAP: i32 = 4;
/// The memory for a handle is shorter than its `_size` function says.
pub const UNDERTONE_MEMORY_TOO_SMALL: i32 = 5;
/// Not a handle of this kind: never initialised, overwritten, or moved.
pub const UNDERTONE_BAD_HANDLE: i32 = 6;
/// The handle is in use by a call that has not returned.
pub const UNDERTONE_BUSY: i32 = 7;
/// The output buffer is too short; the needed length was written.
pub const UNDERTONE_BUFFER_TOO_SMALL: i32 = 8;

/// The text is not a decimal number.
pub const UNDERTONE_EPSILON_NOT_A_NUMBER: i32 = 16;
/// Epsilon is below 0.000001.
pub const UNDERTONE_EPSILON_TOO_SMALL: i32 = 17;
/// Epsilon is above 1000.
pub const UNDERTONE_EPSILON_TOO_LARGE: i32 = 18;
/// Not one of the `UNDERTONE_RULE_` numbers.
pub const UNDERTONE_UNKNOWN_RULE: i32 = 19;
/// Not one of the `UNDERTONE_NOISE_` numbers.
pub const UNDERTONE_UNKNOWN_NOISE: i32 = 20;
/// Not one of the `UNDERTONE_WORDS_` numbers.
pub const UNDERTONE_UNKNOWN_MECHANISM: i32 = 21;
/// Epsilon is below 0.1, which Laplace noise for vectors is not drawn for.
pub const UNDERTONE_EPSILON_TOO_SMALL_FOR_NOISE: i32 = 22;
/// A vector of no coordinates, or of more than `UNDERTONE_MAX_VECTOR_DIMENSION`.
pub const UNDERTONE_DIMENSION_OUT_OF_RANGE: i32 = 23;
/// The bound on the coordinates is too large or too small for the noise.
pub const UNDERTONE_BOUND_OUT_OF_RANGE: i32 = 24;
/// A release of no words, or of more than `UNDERTONE_MAX_BAG_SIZE`.
pub const UNDERTONE_BAG_SIZE_OUT_OF_RANGE: i32 = 25;
/// The vocabulary has no word with this number.
pub const UNDERTONE_NO_SUCH_WORD: i32 = 26;

/// Fewer bytes than the header of a pack.
pub const UNDERTONE_PACK_TOO_SHORT: i32 = 32;
/// The bytes are not a pack.
pub const UNDERTONE_NOT_A_PACK: i32 = 33;
/// A pack of a format that this library does not read.
pub const UNDERTONE_PACK_VERSION: i32 = 34;
/// The pack is not as long as it says.
pub const UNDERTONE_PACK_LENGTH: i32 = 35;
/// The digest of the pack does not match its bytes.
pub const UNDERTONE_PACK_DAMAGED: i32 = 36;
/// The pack is intact but breaks the rules of its format.
pub const UNDERTONE_PACK_MALFORMED: i32 = 37;

/// The pack has no candidates.
pub const UNDERTONE_NO_CANDIDATES: i32 = 48;
/// The pack has no lexicon.
pub const UNDERTONE_NO_LEXICON: i32 = 49;
/// The pack has more projection directions than `UNDERTONE_MAX_DIRECTIONS`.
pub const UNDERTONE_TOO_MANY_DIRECTIONS: i32 = 50;
/// The embedding has another length than the pack was built for.
pub const UNDERTONE_WRONG_DIMENSION: i32 = 51;
/// The document has `UNDERTONE_MAX_SENTENCES` sentences.
pub const UNDERTONE_DOCUMENT_FULL: i32 = 52;
/// The entropy function failed or gave nothing but zeroes.
pub const UNDERTONE_ENTROPY_FAILED: i32 = 53;
/// The pack scores more candidates than `UNDERTONE_MAX_SCORED`.
pub const UNDERTONE_TOO_MANY_CANDIDATES: i32 = 54;
/// The pack has no projection.
pub const UNDERTONE_NO_PROJECTION: i32 = 55;
/// The projection of the pack stretches distances by more than 4096.
pub const UNDERTONE_PROJECTION_TOO_STEEP: i32 = 56;

/// The bytes are not a release.
pub const UNDERTONE_NOT_A_RELEASE: i32 = 64;
/// Not `UNDERTONE_RELEASE_BYTES` bytes.
pub const UNDERTONE_RELEASE_LENGTH: i32 = 65;
/// A release of a format that this library does not read.
pub const UNDERTONE_RELEASE_VERSION: i32 = 66;
/// A field of the release has a value that is not allowed.
pub const UNDERTONE_RELEASE_MALFORMED: i32 = 67;

/// The grant was spent by an earlier release.
pub const UNDERTONE_GRANT_SPENT: i32 = 80;
/// A budget of 0.
pub const UNDERTONE_LEDGER_NO_BUDGET: i32 = 81;
/// Not `UNDERTONE_LEDGER_IMAGE_BYTES` bytes.
pub const UNDERTONE_LEDGER_LENGTH: i32 = 82;
/// The bytes are not a ledger.
pub const UNDERTONE_NOT_A_LEDGER: i32 = 83;
/// A ledger of a version that this library does not read.
pub const UNDERTONE_LEDGER_VERSION: i32 = 84;
/// No record of the ledger is intact.
pub const UNDERTONE_LEDGER_DAMAGED: i32 = 85;
/// The records are not of one ledger.
pub const UNDERTONE_LEDGER_MIXED: i32 = 86;
/// The file is not as the ledger left it.
pub const UNDERTONE_LEDGER_CHANGED: i32 = 87;
/// The newest record is of a later window.
pub const UNDERTONE_LEDGER_FROM_FUTURE: i32 = 88;
/// Less is left in the window than is needed.
pub const UNDERTONE_LEDGER_EXHAUSTED: i32 = 89;
/// The counter of the ledger has reached its end.
pub const UNDERTONE_LEDGER_WORN_OUT: i32 = 90;
/// Nothing is reserved that a grant could be for.
pub const UNDERTONE_LEDGER_NOT_RESERVED: i32 = 91;
/// What was read back is not the file with the record in its place.
pub const UNDERTONE_LEDGER_NOT_PERSISTED: i32 = 92;
/// A record was lost; the rest of the window counts as spent.
pub const UNDERTONE_LEDGER_LOST: i32 = 93;
/// The grant has another epsilon than the mechanism.
pub const UNDERTONE_GRANT_OF_ANOTHER_EPSILON: i32 = 94;

/// A fault in the library.
pub const UNDERTONE_INTERNAL: i32 = 127;

/// Why a call was refused: a status other than [`UNDERTONE_OK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) i32);

/// The status of the call whose body is `call`.
pub(crate) fn report(call: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    match call() {
        Ok(()) => UNDERTONE_OK,
        Err(Refusal(status)) => status,
    }
}

/// Stack that is wiped behind a call that takes a sentence or releases a document: all that it may have used
/// (the header promises 8 KiB), without what is above.
pub(crate) const SENTENCES_STACK: usize = stack(8 * 1024);
/// The same for what finds sentences.
pub(crate) const SPLITTING_STACK: usize = stack(2 * 1024);
/// The same for words and vectors, 16 KiB.
pub(crate) const WORDS_STACK: usize = stack(16 * 1024);

const fn stack(promised: usize) -> usize {
    // Unoptimised code takes more, and is promised nothing.
    if cfg!(debug_assertions) {
        128 * 1024
    } else {
        promised - 384
    }
}

/// [`report`] for a call that sees what is private. Compilers put copies where nobody can wipe them one by one:
/// arguments by value, registers that did not suffice. So all of the stack below is wiped, and vector registers.
#[inline(always)]
pub(crate) fn report_private<const STACK: usize>(
    call: impl FnOnce() -> Result<(), Refusal>,
) -> i32 {
    let status = apart(call);
    wipe_below::<STACK>();
    Backend::best().wipe_registers();
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
        UNDERTONE_OK => c"done",
        UNDERTONE_NULL => c"a required pointer is NULL; an array may be NULL only if its length is 0",
        UNDERTONE_MISALIGNED => {
            c"a pointer is not aligned; take memory from malloc, or align it to UNDERTONE_HANDLE_ALIGNMENT"
        }
        UNDERTONE_IMPOSSIBLE_LENGTH => {
            c"a length is larger than any object in memory; check the argument, it may be a negative number"
        }
        UNDERTONE_OVERLAP => c"memory that is written overlaps another argument; give each argument memory of its own",
        UNDERTONE_MEMORY_TOO_SMALL => {
            c"the memory is too small for the handle; give as many bytes as its _size function says"
        }
        UNDERTONE_BAD_HANDLE => {
            c"not a valid handle; initialise it with its _init function in the place where it stays"
        }
        UNDERTONE_BUSY => c"the handle is in use by a call that has not returned; do not use it in the entropy function",
        UNDERTONE_BUFFER_TOO_SMALL => {
            c"the output buffer is too short; the needed length was written, give that many bytes"
        }
        UNDERTONE_EPSILON_NOT_A_NUMBER => {
            c"epsilon is not a decimal number such as 10, 0.5 or 1e-3; do not count a terminating zero"
        }
        UNDERTONE_EPSILON_TOO_SMALL => c"epsilon is below 0.000001; it must lie in 0.000001..=1000",
        UNDERTONE_EPSILON_TOO_LARGE => c"epsilon is above 1000; it must lie in 0.000001..=1000",
        UNDERTONE_UNKNOWN_RULE => c"unknown rule; use UNDERTONE_RULE_PERMUTE_AND_FLIP",
        UNDERTONE_UNKNOWN_NOISE => c"unknown noise; use UNDERTONE_NOISE_LAPLACE",
        UNDERTONE_UNKNOWN_MECHANISM => c"unknown mechanism for words; use UNDERTONE_WORDS_PERMUTE_AND_FLIP",
        UNDERTONE_EPSILON_TOO_SMALL_FOR_NOISE => {
            c"epsilon is below 0.1; Laplace noise for vectors is drawn for 0.1..=1000"
        }
        UNDERTONE_DIMENSION_OUT_OF_RANGE => {
            c"a vector of no coordinates or of more than UNDERTONE_MAX_VECTOR_DIMENSION; project longer ones"
        }
        UNDERTONE_BOUND_OUT_OF_RANGE => {
            c"the bound on the coordinates is too large or too small for the noise; scale the vectors, or take another epsilon"
        }
        UNDERTONE_BAG_SIZE_OUT_OF_RANGE => c"a release of a bag has 1 to UNDERTONE_MAX_BAG_SIZE words",
        UNDERTONE_NO_SUCH_WORD => {
            c"the vocabulary has no word with this number; was the release made with the same pack?"
        }
        UNDERTONE_PACK_TOO_SHORT => c"too few bytes for a pack; is the file whole?",
        UNDERTONE_NOT_A_PACK => c"not a pack: the first eight bytes are not \"UNDRTONE\"; is it the right file?",
        UNDERTONE_PACK_VERSION => {
            c"the pack has a format that this library does not read; update the older of the two"
        }
        UNDERTONE_PACK_LENGTH => c"the pack is not as long as it says; copy the whole file again",
        UNDERTONE_PACK_DAMAGED => c"the digest of the pack does not match its bytes; copy the file again",
        UNDERTONE_PACK_MALFORMED => {
            c"the pack breaks the rules of its format; build it again, `undertone` names the fault"
        }
        UNDERTONE_NO_CANDIDATES => c"the pack has no candidates; build it with `undertone pack`",
        UNDERTONE_NO_LEXICON => {
            c"the pack has no lexicon; push embeddings, or build the pack with a lexicon as encoder or with `undertone vocabulary`"
        }
        UNDERTONE_TOO_MANY_DIRECTIONS => {
            c"the pack has more projection directions than UNDERTONE_MAX_DIRECTIONS; build it with fewer"
        }
        UNDERTONE_TOO_MANY_CANDIDATES => {
            c"the pack scores more candidates than UNDERTONE_MAX_SCORED; build it with fewer"
        }
        UNDERTONE_NO_PROJECTION => c"the pack has no projection; build one with `undertone project`",
        UNDERTONE_PROJECTION_TOO_STEEP => {
            c"the projection of the pack stretches distances by more than 4096; scale it down"
        }
        UNDERTONE_WRONG_DIMENSION => {
            c"the embedding has another length than its pack or mechanism says; use the encoder that the pack names, and count floats, not bytes"
        }
        UNDERTONE_DOCUMENT_FULL => {
            c"the document has UNDERTONE_MAX_SENTENCES sentences; release it or leave the rest out"
        }
        UNDERTONE_ENTROPY_FAILED => {
            c"the entropy function failed or gave nothing but zeroes; nothing was released, try again with a new grant"
        }
        UNDERTONE_NOT_A_RELEASE => c"not a release: the first three bytes are not \"UTR\"",
        UNDERTONE_RELEASE_LENGTH => c"a release has UNDERTONE_RELEASE_BYTES bytes; is it whole?",
        UNDERTONE_RELEASE_VERSION => {
            c"the release has a format that this library does not read; update the older of the two"
        }
        UNDERTONE_RELEASE_MALFORMED => c"a field of the release has a value that is not allowed; was it damaged on the way?",
        UNDERTONE_GRANT_OF_ANOTHER_EPSILON => {
            c"the grant has another epsilon than the mechanism was made for; take a grant of that epsilon"
        }
        UNDERTONE_GRANT_SPENT => c"the grant was spent by an earlier release; every release takes a grant of its own",
        UNDERTONE_LEDGER_NO_BUDGET => c"a budget of 0 grants nothing; give at least 1 micro-unit",
        UNDERTONE_LEDGER_LENGTH => c"a ledger has UNDERTONE_LEDGER_IMAGE_BYTES bytes; is it the whole file, and the right one?",
        UNDERTONE_NOT_A_LEDGER => c"not a ledger: no record begins with \"UTLEDG\"; is it the right file?",
        UNDERTONE_LEDGER_VERSION => {
            c"the ledger has a version that this library does not read; use the newer of the two programs"
        }
        UNDERTONE_LEDGER_DAMAGED => {
            c"no record of the ledger is intact, so what was spent is not known; make a new one for a window in which nothing was released"
        }
        UNDERTONE_LEDGER_MIXED => {
            c"the records are not of one ledger, so what was spent is not known; make a new one for a window in which nothing was released"
        }
        UNDERTONE_LEDGER_CHANGED => {
            c"somebody else wrote to the ledger's file; lock the file, read it and initialise the ledger again"
        }
        UNDERTONE_LEDGER_FROM_FUTURE => c"the ledger is of a later window than the one given; was the clock set back?",
        UNDERTONE_LEDGER_EXHAUSTED => {
            c"less is left in this window than is needed (undertone_ledger_remaining); wait for the next window"
        }
        UNDERTONE_LEDGER_WORN_OUT => c"the ledger's counter has reached its end; make a new ledger",
        UNDERTONE_LEDGER_NOT_RESERVED => {
            c"nothing is reserved; call undertone_ledger_reserve once for each undertone_ledger_grant"
        }
        UNDERTONE_LEDGER_NOT_PERSISTED => {
            c"the file that was read back is not the ledger with its new record; write it, sync and read again"
        }
        UNDERTONE_LEDGER_LOST => {
            c"a record of the ledger was lost in a power cut or damaged, so the rest of this window counts as spent; wait for the next window"
        }
        UNDERTONE_INTERNAL => c"a fault in undertone; please report it with the call that returned it",
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
