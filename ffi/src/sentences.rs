//! The sentences of typed text.

use core::ffi::c_char;
use core::ops::Range;

use undertone_core::sentences;

use crate::memory::{In, Out, Place, checked};
use crate::status::{SPLITTING_STACK, report_private};

/// Finds the next sentence of a text, as `undertone_document_push_text` does. The top of this
/// header defines a sentence.
///
/// `text`: `len` bytes of UTF-8, the whole text on every call. `start`: 0, or the end of the
/// previous sentence. `out_start` and `out_len`: receive the start and the length of the sentence
/// without the spaces around it; the length is 0 if no sentence is left. Both are as private as the
/// text. The time of the call depends on the text.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_sentence_next(
    text: *const c_char,
    len: usize,
    start: usize,
    out_start: *mut usize,
    out_len: *mut usize,
) -> i32 {
    report_private::<SPLITTING_STACK>(move || {
        let (text, at, length) =
            checked!(unsafe In(text.cast::<u8>(), len), Out(out_start), Out(out_len));
        write(sentences::next(text, start), text, at, length);
        Ok(())
    })
}

/// Finds the next sentence of a text that is still being typed: like `undertone_sentence_next`, but
/// finds a sentence only when no text typed after the sentence can change it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_sentence_next_finished(
    text: *const c_char,
    len: usize,
    start: usize,
    out_start: *mut usize,
    out_len: *mut usize,
) -> i32 {
    report_private::<SPLITTING_STACK>(move || {
        let (text, at, length) =
            checked!(unsafe In(text.cast::<u8>(), len), Out(out_start), Out(out_len));
        write(sentences::next_finished(text, start), text, at, length);
        Ok(())
    })
}

/// Writes where a sentence is, or that none is left.
fn write(found: Option<Range<usize>>, text: &[u8], start: Place<usize>, len: Place<usize>) {
    let found = found.unwrap_or(text.len()..text.len());
    start.write(found.start);
    len.write(found.len());
}
