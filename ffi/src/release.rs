//! Reading a release, for servers.

use core::num::NonZero;

use undertone_core::projective::Order;
use undertone_core::release::{Release, ReleaseFormatError};
use undertone_core::unit::Unit;

use crate::interface::*;
use crate::memory::{In, Optional, checked, give};
use crate::status::{Refusal, report};

/// The unit with this number.
pub(crate) fn unit_of(number: i32) -> Result<Unit, Refusal> {
    let unit = u8::try_from(number).ok().and_then(Unit::from_number);
    unit.ok_or(Refusal(UNDERTONE_STATUS_UNKNOWN_UNIT))
}

pub(crate) fn refusal(error: ReleaseFormatError) -> Refusal {
    Refusal(match error {
        ReleaseFormatError::Length { .. } => UNDERTONE_STATUS_RELEASE_WRONG_LENGTH,
        ReleaseFormatError::NotARelease => UNDERTONE_STATUS_NOT_A_RELEASE,
        ReleaseFormatError::Version { .. } => UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION,
        _ => UNDERTONE_STATUS_RELEASE_MALFORMED,
    })
}

/// Reads a release of a document, or of an answer to a form.
///
/// `bytes`: any `len` bytes. Each output may be NULL:
///
/// - `out_candidate`: the index of the candidate; compare it with the pack's `candidate_count`,
///   since a release can be forged. A release of the whole text, or by
///   `UNDERTONE_MECHANISM_DRAWN`, may have the pack's `nothing_known` instead.
/// - `out_epsilon_micro`: the epsilon of the release in micro-units.
/// - `out_rule`: a `UNDERTONE_RULE_` number.
/// - `out_unit`: the privacy unit, `UNDERTONE_UNIT_SENTENCE` or `UNDERTONE_UNIT_WHOLE_TEXT`.
/// - `out_order`: for a projective release or an answer, the order of the geometry; then
///   `out_candidate` is the number of a point instead of a candidate, for an answer plus 2^24 times
///   the index of the question. Count such releases with the Rust crates or `undertone count`;
///   `core/FORMAT.md` defines the candidates of a point. For `undertone_reservoir_release_drawn`,
///   whose unit is `UNDERTONE_UNIT_SENTENCE`, the number of places. Otherwise 0.
/// - `out_pack_id`: `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack
///   (`undertone_pack_describe`) or of the form.
///
/// Statuses: `UNDERTONE_STATUS_RELEASE_WRONG_LENGTH`, `UNDERTONE_STATUS_NOT_A_RELEASE`,
/// `UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION`, `UNDERTONE_STATUS_RELEASE_MALFORMED`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_release_read(
    bytes: *const u8,
    len: usize,
    out_candidate: *mut u32,
    out_epsilon_micro: *mut u32,
    out_rule: *mut i32,
    out_unit: *mut i32,
    out_order: *mut u32,
    out_pack_id: *mut u8,
) -> i32 {
    report(|| {
        let (bytes, candidate, epsilon, rule, unit, order, pack_id) = checked!(
            unsafe In(bytes, len),
            Optional(out_candidate),
            Optional(out_epsilon_micro),
            Optional(out_rule),
            Optional(out_unit),
            Optional(out_order),
            Optional(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>()),
        );
        let release = Release::from_bytes(bytes).map_err(refusal)?;
        let found = release.mechanism().unit();
        // Nothing reads `bytes` any more.
        give(candidate, release.number());
        give(epsilon, release.epsilon().micro());
        give(rule, release.rule() as i32);
        give(unit, found.number().into());
        let places = release.places().map_or(0, NonZero::get);
        give(order, release.order().map_or(places, Order::number).into());
        give(pack_id, release.pack_id());
        Ok(())
    })
}
