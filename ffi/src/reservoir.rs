//! One line of a slot.

use core::ffi::c_void;
use core::num::NonZero;

use undertone_core::document::DocumentError;
use undertone_core::ledger::Grant;
use undertone_core::release::Release;
use undertone_core::reservoir::{AnswerReservoir, Reservoir, ReservoirFormatError};
use undertone_core::unit::Unit;

use crate::document::{self, Inner, UndertoneDocument};
use crate::form::{UndertoneForm, answers_refusal};
use crate::grant::{self, Callback, UndertoneEntropyFn, UndertoneGrant};
use crate::interface::*;
use crate::memory::{
    Buffer, HandleBusy, HandleMut, HandleRef, In, InOut, Optional, Out, Source, Stored, Writer,
    checked, give,
};
use crate::status::{Refusal, SENTENCES_STACK, report_private};

type Bytes = [u8; UNDERTONE_RESERVOIR_BYTES];

fn format_refusal(error: ReservoirFormatError) -> Refusal {
    Refusal(match error {
        ReservoirFormatError::OtherPack => UNDERTONE_STATUS_RESERVOIR_OTHER_PACK,
        _ => UNDERTONE_STATUS_RESERVOIR_DAMAGED,
    })
}

/// A public number of places, slots or appointments.
pub(crate) fn schedule(number: u32) -> Result<NonZero<u16>, Refusal> {
    let number = u16::try_from(number).ok().and_then(NonZero::new);
    number.ok_or(Refusal(UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE))
}

/// Makes an empty reservoir. A reservoir gets the lines of a slot one after another and keeps the
/// outcome of one line, which is drawn without looking at any line. It never keeps text.
///
/// A line is one text: a message, a search, a typed line. A slot is the stretch of time that one
/// release is about, such as a week. With `undertone_reservoir_release_drawn` the lines are the
/// sentences of one text, and the slot is that text.
///
/// `document`: names the pack; its sentences do not matter. `slot`: the number of the slot, which
/// is stored. `place_count`: k, a public number of places from 1 to 65535, below the number of
/// lines that most devices see in a slot. Line i is kept with probability 1/k if i <= k, and
/// otherwise replaces the kept line with probability 1/i. A device with m lines, m < k, keeps
/// "nothing known" with probability at least 1 - m/k. `entropy`: called once with `context`, for 32
/// bytes. `out_reservoir`: receives `UNDERTONE_RESERVOIR_BYTES` bytes, which are the reservoir. The
/// app stores them after each call, with its own means. **They are as private as the lines.** If
/// they are lost, begin with a new reservoir, which costs no privacy.
///
/// Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_NO_SCORES`,
/// `UNDERTONE_STATUS_TOO_MANY_CANDIDATES`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_reservoir_init(
    document: *mut UndertoneDocument,
    slot: u64,
    place_count: u32,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out_reservoir: *mut u8,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (document, mut entropy, out) = checked!(
            unsafe HandleBusy(document),
            Source(entropy, context),
            Out(out_reservoir.cast::<Bytes>()),
        );
        let places = schedule(place_count)?;
        let made = document.run(|document| Reservoir::new(document, slot, places, &mut entropy));
        out.write(made.map_err(document::refusal)?.to_bytes());
        Ok(())
    })
}

/// Adds the line that a document holds, all its sentences as one text, and removes them from the
/// document. The work is the same for every line, whether it is kept or not.
///
/// `reservoir`: `UNDERTONE_RESERVOIR_BYTES` bytes, which are replaced. `document`: of the same pack
/// as the reservoir. `entropy`: called once with `context`, for 32 bytes; it must use neither the
/// reservoir nor the document.
///
/// Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
/// `UNDERTONE_STATUS_ENTROPY_FAILED`. The line then remains in the document and does not count.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_reservoir_push(
    reservoir: *mut u8,
    document: *mut UndertoneDocument,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bytes, document, mut entropy) = checked!(
            unsafe InOut(reservoir.cast::<Bytes>()),
            HandleBusy(document),
            Source(entropy, context),
        );
        let stored = Reservoir::from_bytes(&bytes.read(), document.get());
        let mut reservoir = stored.map_err(format_refusal)?;
        let added = document.run(|document| reservoir.add(document, &mut entropy));
        added.map_err(document::refusal)?;
        bytes.write(reservoir.to_bytes());
        Ok(())
    })
}

/// Checks stored bytes of a reservoir and reads its slot, for an app that starts again. After a
/// slot that has ended, release the reservoir, and pay for it in the window of its slot.
///
/// `reservoir`: `len` bytes. `document`: names the pack. `out_slot`: NULL, or receives the number
/// of the slot. `out_place_count`: NULL, or receives the number of places.
///
/// Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_reservoir_read(
    reservoir: *const u8,
    len: usize,
    document: *const UndertoneDocument,
    out_slot: *mut u64,
    out_place_count: *mut u32,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bytes, document, slot, places) = checked!(
            unsafe In(reservoir, len),
            HandleRef(document),
            Optional(out_slot),
            Optional(out_place_count),
        );
        let reservoir = Reservoir::from_bytes(bytes, document).map_err(format_refusal)?;
        give(slot, reservoir.slot());
        give(places, reservoir.places().get().into());
        Ok(())
    })
}

/// Releases the kept outcome by the whole-text rule, and wipes the reservoir. The app also wipes
/// what it stored.
///
/// Guarantee: let k be the number of places. Replacing all lines of the slot changes the
/// probability of any release by at most a factor of e^epsilon; exchanging, adding or removing any
/// j <= k lines, by at most a factor of 1 + j * (e^epsilon - 1) / k. There is no delta.
///
/// Leaks: that there is a release, its time, pack, mechanism and epsilon, all of which must be
/// chosen without looking at a line. Release even if nothing was typed. The work is always the
/// same.
///
/// `reservoir`, `document`: as for `undertone_reservoir_push`; the sentences of the document do not
/// matter. `grant`: for `UNDERTONE_UNIT_WHOLE_TEXT`. All other arguments, and what a failure
/// spends, are as for `undertone_document_release`. Unless the status is `UNDERTONE_STATUS_OK`, the
/// reservoir is unchanged.
///
/// Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`,
/// `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_reservoir_release_whole_text(
    reservoir: *mut u8,
    document: *const UndertoneDocument,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let arguments = checked!(
            unsafe InOut(reservoir.cast::<Bytes>()),
            HandleRef(document),
            HandleMut(grant),
            Source(entropy, context),
            Buffer(out, out_capacity, out_written),
        );
        release(arguments, Unit::WholeText, Reservoir::release_whole_text)
    })
}

/// Releases the kept outcome by projective geometry, and wipes the reservoir. Use it to estimate
/// shares of many candidates.
///
/// Guarantee: the same as for `undertone_reservoir_release_whole_text`.
///
/// Leaks: the same as for `undertone_reservoir_release_whole_text`.
///
/// The arguments are those of `undertone_reservoir_release_whole_text`.
///
/// Statuses: those of `undertone_reservoir_release_whole_text`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_reservoir_release_projective(
    reservoir: *mut u8,
    document: *const UndertoneDocument,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let arguments = checked!(
            unsafe InOut(reservoir.cast::<Bytes>()),
            HandleRef(document),
            HandleMut(grant),
            Source(entropy, context),
            Buffer(out, out_capacity, out_written),
        );
        release(arguments, Unit::WholeText, Reservoir::release_projective)
    })
}

/// Releases the kept outcome so that each line has the promise epsilon, and wipes the reservoir.
/// The lines are the sentences of one text.
///
/// Guarantee: exchanging, adding or removing one line changes the probability of any release by at
/// most a factor of e^epsilon, and replacing all lines, by at most a factor of
/// 1 + k * (e^epsilon - 1), where k is the number of places. There is no delta.
///
/// Leaks: the same as for `undertone_reservoir_release_whole_text`, and k.
///
/// `grant`: for `UNDERTONE_UNIT_SENTENCE`. All other arguments are those of
/// `undertone_reservoir_release_whole_text`.
///
/// Statuses: those of `undertone_reservoir_release_whole_text`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_reservoir_release_drawn(
    reservoir: *mut u8,
    document: *const UndertoneDocument,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let arguments = checked!(
            unsafe InOut(reservoir.cast::<Bytes>()),
            HandleRef(document),
            HandleMut(grant),
            Source(entropy, context),
            Buffer(out, out_capacity, out_written),
        );
        release(arguments, Unit::Sentence, Reservoir::release_drawn)
    })
}

/// Makes an empty reservoir for lists of answers to a form, such as an emoji of each line. The
/// question that will be released is drawn here, once and without looking at any answer, and
/// stored. The reservoir keeps the outcome of that question for one line.
///
/// `form`: names the form. The other arguments are those of `undertone_reservoir_init`. The bytes
/// are as private as the answers. A device that pushes fewer lines than there are places often
/// keeps "no answer".
///
/// Statuses: `UNDERTONE_STATUS_SCHEDULE_OUT_OF_RANGE`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_answer_reservoir_init(
    form: *const UndertoneForm,
    slot: u64,
    place_count: u32,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out_reservoir: *mut u8,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (form, mut entropy, out) = checked!(
            unsafe HandleRef(form),
            Source(entropy, context),
            Out(out_reservoir.cast::<Bytes>()),
        );
        let places = schedule(place_count)?;
        let made = AnswerReservoir::new(form, slot, places, &mut entropy);
        out.write(made.map_err(answers_refusal)?.to_bytes());
        Ok(())
    })
}

/// Adds the answers of one line. Push a line without an answer as well: its answer is a number that
/// is no category, such as `UINT32_MAX`. The work is the same for all answers, whether they are
/// kept or not; it depends on the question that was drawn, which the release states.
///
/// `reservoir`: `UNDERTONE_RESERVOIR_BYTES` bytes, which are replaced. `form`: the one of the
/// reservoir. `answers`, `count`: as for `undertone_form_release`. `entropy`: called once with
/// `context`, for 32 bytes; it must not use the reservoir.
///
/// Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
/// `UNDERTONE_STATUS_WRONG_ANSWER_COUNT`, `UNDERTONE_STATUS_ENTROPY_FAILED`. The line then does not
/// count.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_answer_reservoir_push(
    reservoir: *mut u8,
    form: *const UndertoneForm,
    answers: *const u32,
    count: usize,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bytes, form, answers, mut entropy) = checked!(
            unsafe InOut(reservoir.cast::<Bytes>()),
            HandleRef(form),
            In(answers, count),
            Source(entropy, context),
        );
        let stored = AnswerReservoir::from_bytes(&bytes.read(), form);
        let mut reservoir = stored.map_err(format_refusal)?;
        let added = reservoir.add(answers, &mut entropy);
        added.map_err(answers_refusal)?;
        bytes.write(reservoir.to_bytes());
        Ok(())
    })
}

/// Checks stored bytes of a reservoir of answers and reads its slot, as `undertone_reservoir_read`
/// does for lines.
///
/// Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_answer_reservoir_read(
    reservoir: *const u8,
    len: usize,
    form: *const UndertoneForm,
    out_slot: *mut u64,
    out_place_count: *mut u32,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bytes, form, slot, places) = checked!(
            unsafe In(reservoir, len),
            HandleRef(form),
            Optional(out_slot),
            Optional(out_place_count),
        );
        let reservoir = AnswerReservoir::from_bytes(bytes, form).map_err(format_refusal)?;
        give(slot, reservoir.slot());
        give(places, reservoir.places().get().into());
        Ok(())
    })
}

/// Releases the answer that was kept, as `undertone_form_release` does, and wipes the reservoir.
/// The app also wipes what it stored.
///
/// Guarantee: let k be the number of places. Replacing all answers of all lines of the slot changes
/// the probability of any release by at most a factor of e^epsilon; exchanging, adding or removing
/// any j <= k lines, by at most a factor of 1 + j * (e^epsilon - 1) / k. There is no delta.
///
/// Leaks: that there is a release, its time, form and epsilon, which must be chosen without looking
/// at an answer, and the question that was drawn. Release even if no line was pushed. The work
/// depends on the question alone.
///
/// `reservoir`, `form`: as for `undertone_answer_reservoir_push`. `grant`: for
/// `UNDERTONE_UNIT_WHOLE_TEXT`. All other arguments, and what a failure spends, are as for
/// `undertone_form_release`. Unless the status is `UNDERTONE_STATUS_OK`, the reservoir is
/// unchanged.
///
/// Statuses: `UNDERTONE_STATUS_RESERVOIR_DAMAGED`, `UNDERTONE_STATUS_RESERVOIR_OTHER_PACK`,
/// `UNDERTONE_STATUS_BUFFER_TOO_SMALL`, `UNDERTONE_STATUS_GRANT_WRONG_UNIT`,
/// `UNDERTONE_STATUS_GRANT_SPENT`, `UNDERTONE_STATUS_ENTROPY_FAILED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_answer_reservoir_release(
    reservoir: *mut u8,
    form: *const UndertoneForm,
    grant: *mut UndertoneGrant,
    entropy: UndertoneEntropyFn,
    context: *mut c_void,
    out: *mut u8,
    out_capacity: usize,
    out_written: *mut usize,
) -> i32 {
    report_private::<SENTENCES_STACK>(move || {
        let (bytes, form, grant, mut entropy, out) = checked!(
            unsafe InOut(reservoir.cast::<Bytes>()),
            HandleRef(form),
            HandleMut(grant),
            Source(entropy, context),
            Buffer(out, out_capacity, out_written),
        );
        let stored = AnswerReservoir::from_bytes(&bytes.read(), form).map_err(format_refusal)?;
        grant::release(grant, Unit::WholeText, out, |grant| {
            let drawn = stored.release(grant, &mut entropy);
            drawn.map_err(answers_refusal)
        })?;
        bytes.write([0; UNDERTONE_RESERVOIR_BYTES]);
        Ok(())
    })
}

type Arguments<'a> = (
    Stored<'a, Bytes>,
    &'a Inner,
    &'a mut Option<Grant>,
    Callback,
    Writer<'a, u8>,
);

/// Draws by one rule, which is a parameter and not a number, so that a program links only the rules
/// that it names: projective geometry takes 10 kB.
fn release(
    (bytes, document, grant, mut entropy, out): Arguments<'_>,
    unit: Unit,
    draw: impl FnOnce(Reservoir, Grant, &mut Callback) -> Result<Release, DocumentError>,
) -> Result<(), Refusal> {
    let stored = Reservoir::from_bytes(&bytes.read(), document).map_err(format_refusal)?;
    grant::release(grant, unit, out, |grant| {
        draw(stored, grant, &mut entropy).map_err(document::refusal)
    })?;
    bytes.write([0; UNDERTONE_RESERVOIR_BYTES]);
    Ok(())
}
