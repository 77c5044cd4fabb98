//! Reading a release, for servers.

use undertone_core::release::{Release, ReleaseFormatError};

use crate::memory;
use crate::pack::UNDERTONE_PACK_ID_BYTES;
use crate::status::{
    Refusal, UNDERTONE_STATUS_NOT_A_RELEASE, UNDERTONE_STATUS_RELEASE_MALFORMED,
    UNDERTONE_STATUS_RELEASE_UNSUPPORTED_VERSION, UNDERTONE_STATUS_RELEASE_WRONG_LENGTH, report,
};

/// The length of a release.
pub const UNDERTONE_RELEASE_BYTES: usize = 24;

const _: () = assert!(UNDERTONE_RELEASE_BYTES == Release::BYTES);

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
/// with `undertone_pack_candidate_count`, since a release can be forged. `out_epsilon_micro`: the epsilon
/// that the device spent, in micro-units. `out_rule`: one of the `UNDERTONE_RULE_` numbers.
/// `out_pack_id`: `UNDERTONE_PACK_ID_BYTES` bytes, the identifier of the pack whose candidates the
/// index counts (`undertone_pack_id`).
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
        memory::array(bytes, len)?;
        let outputs = [
            memory::one(out_candidate)?,
            memory::one(out_epsilon_micro)?,
            memory::one(out_rule)?,
            memory::one(out_pack_id.cast::<[u8; UNDERTONE_PACK_ID_BYTES]>())?,
        ];
        memory::all_disjoint(&outputs)?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not used once an output is written.
        let bytes = unsafe { memory::slice(bytes, len) };
        let release = Release::from_bytes(bytes).map_err(refusal)?;
        // SAFETY: `one` found each pointer aligned and not null, for as many bytes as are written
        // here; the caller says that they are writable.
        unsafe {
            out_candidate.write(release.candidate());
            out_epsilon_micro.write(release.epsilon().micro());
            out_rule.write(release.rule() as i32);
            out_pack_id
                .cast::<[u8; UNDERTONE_PACK_ID_BYTES]>()
                .write(release.pack_id());
        }
        Ok(())
    })
}
