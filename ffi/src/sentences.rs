//! The sentences of typed text.

use core::ffi::c_char;
use core::ops::Range;

use undertone_core::sentences;

use crate::legacy as memory;
use crate::status::{SPLITTING_STACK, report_private};

/// Finds the next sentence of a text: `undertone_document_push_text` pushes them one after another. The top of this
/// header says what a sentence is.
///
/// `text`: `len` bytes of UTF-8, the whole text so far, also on later calls. `start`: 0, or where the sentence
/// before ended. `out_start` and `out_len`: where the sentence starts and how many bytes it has, spaces around
/// it left out; the length is 0 if no sentence is left. Both are as private as the text.
///
/// No status depends on the text, but the time the call takes does.
///
/// Threads: any.
///
/// # Safety
/// `text` is NULL or `len` readable bytes; each output is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_sentence_next(
    text: *const c_char,
    len: usize,
    start: usize,
    out_start: *mut usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe { next(text, len, start, out_start, out_len, sentences::next) }
}

/// Finds the next sentence of a text that is still being typed: like `undertone_sentence_next`, but it finds a
/// sentence only once nothing typed after it can change it.
///
/// No status depends on the text, but the time the call takes does.
///
/// Threads: any.
///
/// # Safety
/// `text` is NULL or `len` readable bytes; each output is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_sentence_next_finished(
    text: *const c_char,
    len: usize,
    start: usize,
    out_start: *mut usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        next(
            text,
            len,
            start,
            out_start,
            out_len,
            sentences::next_finished,
        )
    }
}

/// Writes where `find` finds a sentence.
///
/// # Safety
/// `text` is null or `len` readable bytes; each output is null or writable.
unsafe fn next(
    text: *const c_char,
    len: usize,
    start: usize,
    out_start: *mut usize,
    out_len: *mut usize,
    find: impl FnOnce(&[u8], usize) -> Option<Range<usize>>,
) -> i32 {
    report_private::<SPLITTING_STACK>(|| {
        let extents = [
            memory::array(text, len)?,
            memory::one(out_start)?,
            memory::one(out_len)?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They overlap no output.
        let text = unsafe { memory::slice(text.cast::<u8>(), len) };
        let found = find(text, start).unwrap_or(len..len);
        // SAFETY: `one` found the pointers aligned and not null; the caller says that they are writable.
        unsafe {
            out_start.write(found.start);
            out_len.write(found.len());
        }
        Ok(())
    })
}
