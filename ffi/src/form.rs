//! Forms, and releases of answers.

use core::ffi::{c_char, c_void};

use undertone_core::form::{AnswersError, Form, FormError};
use undertone_core::unit::Unit;

use crate::document::{self, UndertoneDocument};
use crate::grant::{self, UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{
    Buffer, Handle, HandleMut, HandleRef, In, InMut, Out, Place, Room, Source, checked,
};
use crate::status::{Refusal, SENTENCES_STACK, report, report_private};

/// A form: a public file of questions whose answers the app has. The handle points into the bytes
/// of the file.
pub struct UndertoneForm {
    _opaque: (),
}

impl Handle for UndertoneForm {
    type Value = Form<'static>;
    const TAG: usize = 0x666f_726d;
    const SIZE: usize = UNDERTONE_FORM_HANDLE_SIZE;
}

fn refusal(error: FormError) -> Refusal {
    Refusal(match error {
        FormError::NotAForm => UNDERTONE_STATUS_NOT_A_FORM,
        FormError::Version { .. } => UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION,
        FormError::TooShort { .. } | FormError::Length { .. } | FormError::Digest => {
            UNDERTONE_STATUS_FORM_DAMAGED
        }
        _ => UNDERTONE_STATUS_FORM_MALFORMED,
    })
}

pub(crate) fn answers_refusal(error: AnswersError) -> Refusal {
    Refusal(match error {
        AnswersError::Length { .. } => UNDERTONE_STATUS_WRONG_ANSWER_COUNT,
        AnswersError::Unit(_) => UNDERTONE_STATUS_GRANT_WRONG_UNIT,
        AnswersError::OtherPack => UNDERTONE_STATUS_FORM_OTHER_PACK,
        AnswersError::Topic(problem) => return document::refusal(problem),
        AnswersError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// Checks a form and makes a handle for it. One form may be used by many threads at once.
///
/// `bytes`: the `len` bytes of the file, at any address. They are read in place, not copied, and
/// must stay unchanged as long as the form is used.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NOT_A_FORM`,
/// `UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_FORM_DAMAGED`,
/// `UNDERTONE_STATUS_FORM_MALFORMED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_form_init(
    memory: *mut c_void,
    memory_len: usize,
    bytes: *const u8,
    len: usize,
    out_form: *mut *mut UndertoneForm,
) -> i32 {
    report(|| {
        let (bytes, room) = checked!(unsafe In(bytes, len), Room(memory, memory_len, out_form));
        room.make(|| Form::parse(bytes).map_err(refusal))
    })
}

/// Finds the name of an attribute.
///
/// `attribute`: its index, from 0. `out_name`: receives the start of its UTF-8, in the bytes of the
/// form; no zero follows it. `out_len`: receives its length in bytes.
///
/// Statuses: `UNDERTONE_STATUS_NO_SUCH_CATEGORY`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_form_attribute_name(
    form: *const UndertoneForm,
    attribute: u32,
    out_name: *mut *const c_char,
    out_len: *mut usize,
) -> i32 {
    report(|| {
        let (form, start, len) = checked!(unsafe HandleRef(form), Out(out_name), Out(out_len));
        give_name(form.attribute_name(attribute as usize), start, len)
    })
}

/// Finds the name of a category, for instance to look up the number of an answer.
///
/// `attribute`: the index of its attribute. `category`: its index in the attribute, from 0. The
/// other arguments are those of `undertone_form_attribute_name`.
///
/// Statuses: `UNDERTONE_STATUS_NO_SUCH_CATEGORY`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_form_category_name(
    form: *const UndertoneForm,
    attribute: u32,
    category: u32,
    out_name: *mut *const c_char,
    out_len: *mut usize,
) -> i32 {
    report(|| {
        let (form, start, len) = checked!(unsafe HandleRef(form), Out(out_name), Out(out_len));
        give_name(form.category_name(attribute as usize, category), start, len)
    })
}

fn give_name(
    name: Option<&'static str>,
    start: Place<'_, *const c_char>,
    len: Place<'_, usize>,
) -> Result<(), Refusal> {
    let name = name.ok_or(Refusal(UNDERTONE_STATUS_NO_SUCH_CATEGORY))?;
    start.write(name.as_ptr().cast());
    len.write(name.len());
    Ok(())
}

/// Writes what a text is about as the answer to the topic of a form: the attribute whose categories
/// are the candidates of the document's pack. Removes all sentences from the document.
///
/// Guarantee: nothing is released. `undertone_form_release` protects the text together with all
/// other answers: its epsilon is for exchanging the whole text and all answers at once.
///
/// Leaks: the work does not depend on the content of the sentences. The answer is as private as the
/// text: pass it to `undertone_form_release` or `undertone_answer_reservoir_push` only.
///
/// `answers`: one number for each of the `count` attributes of the form. That of the topic is
/// replaced by the number of the candidate that `undertone_document_release_whole_text` favours, or
/// by a number that means no answer if the pack recognises nothing in the text.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_ANSWER_COUNT`, `UNDERTONE_STATUS_FORM_OTHER_PACK`,
/// `UNDERTONE_STATUS_NO_SCORES`, `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`. The answers and the
/// document are then unchanged.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_form_answer_topic(
    form: *const UndertoneForm,
    document: *mut UndertoneDocument,
    answers: *mut u32,
    count: usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (form, document, answers) = checked!(
            unsafe HandleRef(form), HandleMut(document), InMut(answers, count)
        );
        let answered = form.answer_topic(document, answers);
        answered.map_err(answers_refusal)
    })
}

/// Releases the answer to one question of a form. The question, an attribute or a pair of
/// attributes, is drawn without looking at any answer.
///
/// Guarantee: any two lists of answers give every release with probabilities within a factor of
/// e^epsilon of each other. So a release costs epsilon for all answers of the form together. The
/// unit of the grant is `UNDERTONE_UNIT_WHOLE_TEXT`.
///
/// Leaks: that there is a release, its time, form and epsilon, which must be chosen without looking
/// at an answer. The time of the call depends on the question that was drawn, which the release
/// states, and on no answer.
///
/// `answers`: one number for each of the `count` attributes of the form: the index of one of the
/// categories of that attribute. Any other number, such as `UINT32_MAX`, means no answer; it gives
/// the same status and takes the same time. `entropy`, `context`: the source. `out`:
/// `UNDERTONE_RELEASE_BYTES` bytes. `out_written`: receives the bytes written, or those needed with
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`.
///
/// Statuses: `UNDERTONE_STATUS_WRONG_ANSWER_COUNT`, `UNDERTONE_STATUS_BUFFER_TOO_SMALL`,
/// `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`; with these the grant
/// remains. `UNDERTONE_STATUS_ENTROPY_FAILED`; then the grant is spent and nothing was released.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_form_release(
    form: *const UndertoneForm,
    answers: *const u32,
    count: usize,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (form, answers, grant, out, mut entropy) = checked!(
            unsafe HandleRef(form),
            In(answers, count),
            HandleMut(grant),
            Buffer(out, out_capacity, out_written),
            Source(entropy, context),
        );
        form.check_length(answers).map_err(answers_refusal)?;
        grant::release(grant, Unit::WholeText, out, |grant| {
            let drawn = form.release(answers, grant, &mut entropy);
            drawn.map_err(answers_refusal)
        })
    })
}
