//! Reading a release, for servers.

use undertone_core::release::{Release, ReleaseFormatError, Selector};
use undertone_core::unit::Unit;

use crate::memory;
use crate::pack::UNDERTONE_PACK_ID_BYTES;
use crate::status::{
    Refusal, UNDERTONE_STATUS_INTERNAL, UNDERTONE_STATUS_NOT_A_RELEASE,
    UNDERTONE_STATUS_RELEASE_MALFORMED, UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION,
    UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, UNDERTONE_STATUS_UNKNOWN_UNIT, report,
};

/// The length of a release of a document; the top of this header has its layout.
pub const UNDERTONE_RELEASE_BYTES: usize = 24;

const _: () = assert!(UNDERTONE_RELEASE_BYTES == Release::BYTES);

/// Any one sentence may be exchanged (`undertone_document_release`).
pub const UNDERTONE_UNIT_SENTENCE: i32 = 1;
/// The whole text may be exchanged for any other (`undertone_document_release_whole_text`,
/// `undertone_document_release_projective`).
pub const UNDERTONE_UNIT_WHOLE_TEXT: i32 = 2;
/// A bag of words may be exchanged for one at a word mover's distance W, with e^(epsilon W) and what `undertone_bag_release` adds.
pub const UNDERTONE_UNIT_WORD: i32 = 3;
/// A vector may be exchanged for one at a distance D, with e^(epsilon D) and what `undertone_vector_mechanism_release` adds.
pub const UNDERTONE_UNIT_VECTOR: i32 = 4;

const _: () = assert!(
    UNDERTONE_UNIT_SENTENCE == Unit::Sentence.number() as i32
        && UNDERTONE_UNIT_WHOLE_TEXT == Unit::WholeText.number() as i32
        && UNDERTONE_UNIT_WORD == Unit::Word.number() as i32
        && UNDERTONE_UNIT_VECTOR == Unit::Vector.number() as i32
);

/// The unit with this number.
pub(crate) fn unit_of(number: i32) -> Result<Unit, Refusal> {
    let unit = u8::try_from(number).ok().and_then(Unit::from_number);
    unit.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_UNIT))
}

fn unit(selector: Selector) -> Result<i32, Refusal> {
    match selector {
        Selector::Depth | Selector::Scores => Ok(UNDERTONE_UNIT_SENTENCE),
        Selector::WholeText | Selector::Projective => Ok(UNDERTONE_UNIT_WHOLE_TEXT),
        _ => Err(Refusal(UNDERTONE_STATUS_INTERNAL)),
    }
}

pub(crate) fn refusal(error: ReleaseFormatError) -> Refusal {
    Refusal(match error {
        ReleaseFormatError::Length { .. } => UNDERTONE_STATUS_RELEASE_WRONG_LENGTH,
        ReleaseFormatError::NotARelease => UNDERTONE_STATUS_NOT_A_RELEASE,
        ReleaseFormatError::Version { .. } => UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION,
        _ => UNDERTONE_STATUS_RELEASE_MALFORMED,
    })
}

/// Reads a release that came from a device.
///
/// `bytes`: `len` bytes, anything. `out_candidate`: the index of the candidate drawn; compare it
/// with `undertone_pack_candidate_count`, since a release can be forged. A release by the whole text
/// (`undertone_release_read_unit`) may have `undertone_pack_nothing_known`, too. Where `undertone_release_read_order` finds an
/// order it is the number of a point, and no candidate. `out_epsilon_micro`: the epsilon
/// that the device spent, in micro-units. `out_rule`: one of the `UNDERTONE_RULE_` numbers.
/// `out_pack_id`: `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack whose candidates the
/// index counts (`undertone_pack_id`). Each output may be NULL.
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
pub unsafe extern "C" fn undertone_release_read(
    bytes: *const u8,
    len: usize,
    out_candidate: *mut u32,
    out_epsilon_micro: *mut u32,
    out_rule: *mut i32,
    out_pack_id: *mut u8,
) -> i32 {
    report(|| {
        let extents = [
            memory::array(bytes, len)?,
            memory::optional(out_candidate)?,
            memory::optional(out_epsilon_micro)?,
            memory::optional(out_rule)?,
            memory::optional(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>())?,
        ];
        memory::all_disjoint(&extents)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not used once an output is written.
        let bytes = unsafe { memory::slice(bytes, len) };
        let release = Release::from_bytes(bytes).map_err(refusal)?;
        // SAFETY: `optional` accepted the pointers, for as many bytes as are written here; the caller says that
        // they are null or writable.
        unsafe {
            memory::give(out_candidate, release.candidate());
            memory::give(out_epsilon_micro, release.epsilon().micro());
            memory::give(out_rule, release.rule() as i32);
            memory::give(out_pack_id.cast(), release.pack_id());
        }
        Ok(())
    })
}

/// Reads for what a release keeps its epsilon.
///
/// `bytes`: `len` bytes, anything. `out_unit`: `UNDERTONE_UNIT_SENTENCE` or `UNDERTONE_UNIT_WHOLE_TEXT`. In the second case
/// the candidate may be `undertone_pack_nothing_known`.
///
/// Statuses: those of `undertone_release_read`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; `out_unit` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_release_read_unit(
    bytes: *const u8,
    len: usize,
    out_unit: *mut i32,
) -> i32 {
    report(|| {
        memory::all_disjoint(&[memory::array(bytes, len)?, memory::one(out_unit)?])?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not used once the output is written.
        let bytes = unsafe { memory::slice(bytes, len) };
        let release = Release::from_bytes(bytes).map_err(refusal)?;
        let unit = unit(release.selector())?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_unit.write(unit) };
        Ok(())
    })
}

/// Reads whether a release names a point that many candidates prefer (`undertone_document_release_projective`) instead of a
/// candidate, and the order of its geometry.
///
/// `bytes`: `len` bytes, anything. `out_order`: the order, or 0 for all other releases. With an order,
/// `out_candidate` of `undertone_release_read` is the number of the point. Count many such releases with the Rust crates or
/// `undertone count`: one says little. `core/FORMAT.md` says which candidates prefer a point.
///
/// Statuses: those of `undertone_release_read`.
///
/// Threads: any.
///
/// # Safety
/// `bytes` is NULL or `len` readable bytes; `out_order` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_release_read_order(
    bytes: *const u8,
    len: usize,
    out_order: *mut u32,
) -> i32 {
    report(|| {
        memory::all_disjoint(&[memory::array(bytes, len)?, memory::one(out_order)?])?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not used once the output is written.
        let bytes = unsafe { memory::slice(bytes, len) };
        let release = Release::from_bytes(bytes).map_err(refusal)?;
        let order = release.order().map_or(0, |order| u32::from(order.get()));
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_order.write(order) };
        Ok(())
    })
}
