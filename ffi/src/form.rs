//! Forms, and releases of answers.

use core::ffi::c_void;

use undertone_core::form::{AnswersError, Form, FormError};
use undertone_core::unit::Unit;

use crate::grant::{self, UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{self, Buffer, Handle, HandleMut, HandleRef, In, Room, Source, checked};
use crate::status::{Refusal, SENTENCES_STACK, report, report_private};

/// A form: a public file of questions whose answers the app has. The handle points into the bytes
/// of the file.
pub struct UndertoneForm {
    _opaque: (),
}

impl Handle for UndertoneForm {
    type Value = Form<'static>;
    const TAG: usize = 0x666f_726d;
    const LARGEST: usize = UNDERTONE_FORM_HANDLE_SIZE;
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

fn answers_refusal(error: AnswersError) -> Refusal {
    Refusal(match error {
        AnswersError::Length { .. } => UNDERTONE_STATUS_WRONG_ANSWER_COUNT,
        AnswersError::Unit(_) => UNDERTONE_STATUS_GRANT_WRONG_UNIT,
        AnswersError::Entropy => UNDERTONE_STATUS_ENTROPY_FAILED,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// Returns the bytes of memory that a form needs.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_form_handle_size() -> usize {
    memory::size::<UndertoneForm>()
}

/// Checks a form and makes a handle for it. One form may be used by many threads at once.
///
/// `bytes`: the `len` bytes of the file, at any address. They are read in place, not copied, and
/// must stay unchanged as long as the form is used.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_NOT_A_FORM`,
/// `UNDERTONE_STATUS_FORM_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_FORM_DAMAGED`,
/// `UNDERTONE_STATUS_FORM_MALFORMED`.
///
/// # Safety
/// The arguments follow the rules at the top of the header.
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
///
/// # Safety
/// The arguments follow the rules at the top of the header.
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
