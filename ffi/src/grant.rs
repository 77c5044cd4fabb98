//! Grants.

use core::ffi::c_void;

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::unit::Unit;

use crate::epsilon;
use crate::interface::*;
use crate::legacy::{self as memory, Extent};
use crate::memory::Handle;
use crate::release::unit_of;
use crate::status::{Refusal, report};

/// Permission to spend an epsilon once; every release takes one. It lives in memory that the caller brings, and
/// a later grant may use that memory again.
pub struct UndertoneGrant {
    _opaque: (),
}

impl Handle for UndertoneGrant {
    /// `None` once it is spent.
    type Value = Option<Grant>;
    const TAG: usize = 0x6772_616d;
    const LARGEST: usize = UNDERTONE_GRANT_HANDLE_SIZE;
}

/// The grant in a handle, `None` if it was spent, and where the handle is.
///
/// # Safety
/// `grant` is null or [`memory::size`] readable and writable bytes, which nobody else uses as long as the
/// result lives.
pub(crate) unsafe fn grant_at<'a>(
    grant: *mut UndertoneGrant,
) -> Result<(&'a mut Option<Grant>, Extent), Refusal> {
    // SAFETY: the caller's promise is the one that `value` asks for.
    let (value, extent) = unsafe { memory::value(grant) }?;
    // SAFETY: the tag says that a grant was put there, which nobody else uses.
    Ok((unsafe { &mut *value }, extent))
}

/// What [`grant_at`] finds, for the C++ bridge over the host: the grant in a handle, `None` if it was spent.
///
/// # Errors
/// The status of a handle that is NULL, misaligned, in use or no grant.
///
/// # Safety
/// `grant` is NULL or what a function returned as `out_grant`, and nobody else uses it as long as the result
/// lives.
#[doc(hidden)]
pub unsafe fn grant_mut<'a>(grant: *mut UndertoneGrant) -> Result<&'a mut Option<Grant>, i32> {
    // SAFETY: the caller's promise.
    match unsafe { grant_at(grant) } {
        Ok((grant, _)) => Ok(grant),
        Err(Refusal(status)) => Err(status),
    }
}

/// Spends a grant: the last thing before entropy is drawn, because nothing gives it back. One that `check` refuses is not
/// spent.
pub(crate) fn spend(
    grant: &mut Option<Grant>,
    check: impl FnOnce(&Grant) -> Result<(), Refusal>,
) -> Result<Grant, Refusal> {
    if let Some(grant) = grant {
        check(grant)?;
    }
    grant.take().ok_or(Refusal(UNDERTONE_STATUS_GRANT_SPENT))
}

/// Spends a grant for this unit.
pub(crate) fn spend_on(unit: Unit, grant: &mut Option<Grant>) -> Result<Grant, Refusal> {
    spend(grant, |grant| for_unit(unit, grant))
}

/// Refuses a grant for another unit.
pub(crate) fn for_unit(unit: Unit, grant: &Grant) -> Result<(), Refusal> {
    let checked = grant.check(unit);
    checked.map_err(|_| Refusal(UNDERTONE_STATUS_GRANT_WRONG_UNIT))
}

/// The bytes that a grant needs, at most `UNDERTONE_GRANT_HANDLE_SIZE`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_grant_handle_size() -> usize {
    crate::memory::size::<UndertoneGrant>()
}

/// Makes a grant without a ledger, for apps that count elsewhere what they spend, and for public text. Several
/// releases of the same sentences add up.
///
/// `memory`: `memory_len` bytes for the handle, at least `undertone_grant_handle_size()`, aligned to
/// `undertone_grant_handle_alignment()`; what `malloc` returns is aligned. `unit`: one of the `UNDERTONE_UNIT_` numbers: the
/// release that the grant is for. `epsilon_micro`: epsilon in
/// micro-units, 1 to `UNDERTONE_MAX_EPSILON_MICRO` (`undertone_epsilon_parse` reads text). `out_grant`: the
/// handle, which lies in `memory` and must not be moved or copied.
///
/// There is nothing to free. If the call fails, `memory` may have been written to.
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`.
///
/// Threads: any, with `memory` of their own. A grant is used by one thread at a time.
///
/// # Safety
/// `memory` is NULL or `memory_len` writable bytes; `out_grant` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_grant_init_unrecorded(
    memory: *mut c_void,
    memory_len: usize,
    unit: i32,
    epsilon_micro: u32,
    out_grant: *mut *mut UndertoneGrant,
) -> i32 {
    report(|| {
        let extents = [
            memory::one(out_grant)?,
            memory::room::<UndertoneGrant>(memory, memory_len)?,
        ];
        memory::all_disjoint(&extents)?;
        let unit = unit_of(unit)?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        let grant = || Ok(Some(Grant::unrecorded(unit, epsilon)));
        // SAFETY: `room` and `one` accepted the pointers, and they do not overlap; the caller says that
        // they are writable.
        unsafe { memory::place(memory, out_grant, grant) }
    })
}
