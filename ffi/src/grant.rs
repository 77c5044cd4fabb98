//! Every release takes a grant and a source of entropy.

use core::ffi::c_void;
use core::fmt;

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::release::Release;
use undertone_core::rng::Entropy;
use undertone_core::rng::rand_core::{TryCryptoRng, TryRng};
use undertone_core::unit::Unit;

use crate::epsilon;
use crate::interface::*;
use crate::memory::{Handle, HandleMut, Room, Writer, checked};
use crate::release::unit_of;
use crate::status::{Refusal, report};

/// Permission to spend an epsilon once; every release takes one. A later grant may reuse its
/// memory.
pub struct UndertoneGrant {
    _opaque: (),
}

impl Handle for UndertoneGrant {
    /// `None` once it is spent.
    type Value = Option<Grant>;
    const TAG: usize = 0x6772_616d;
    const SIZE: usize = UNDERTONE_GRANT_HANDLE_SIZE;
}

/// Returns the grant in a handle, `None` if it was spent, for the C++ bridge of the host.
///
/// # Errors
/// The status of a handle that is NULL, misaligned, in use or no grant.
///
/// # Safety
/// `grant` is NULL or what a function returned as `out_grant`, and nobody else uses it as long as
/// the result lives.
#[doc(hidden)]
pub unsafe fn grant_mut<'a>(grant: *mut UndertoneGrant) -> Result<&'a mut Option<Grant>, i32> {
    let open = || Ok(checked!(unsafe HandleMut(grant)));
    open().map_err(|Refusal(status)| status)
}

/// Takes a grant out of its handle unless `check` refuses it. Call this right before entropy is
/// drawn, because nothing puts the grant back.
pub(crate) fn spend(
    grant: &mut Option<Grant>,
    check: impl FnOnce(&Grant) -> Result<(), Refusal>,
) -> Result<Grant, Refusal> {
    if let Some(grant) = grant {
        check(grant)?;
    }
    grant.take().ok_or(Refusal(UNDERTONE_STATUS_GRANT_SPENT))
}

/// Refuses a grant for another unit.
pub(crate) fn for_unit(unit: Unit, grant: &Grant) -> Result<(), Refusal> {
    let checked = grant.check(unit);
    checked.map_err(|_| Refusal(UNDERTONE_STATUS_GRANT_WRONG_UNIT))
}

/// Spends the grant on a release for `unit`, draws with `draw`, and writes the release.
#[inline(always)]
pub(crate) fn release(
    grant: &mut Option<Grant>,
    unit: Unit,
    out: Writer<u8>,
    draw: impl FnOnce(Grant) -> Result<Release, Refusal>,
) -> Result<(), Refusal> {
    let out = out.for_at_least(UNDERTONE_RELEASE_BYTES)?;
    let grant = spend(grant, |grant| for_unit(unit, grant))?;
    out.write(draw(grant)?.to_bytes().into_iter());
    Ok(())
}

/// Makes a grant without a ledger, for apps that count elsewhere what they spend, and for public
/// text. The epsilons of several releases of the same text or vector add up.
///
/// `unit`: the `UNDERTONE_UNIT_` number of the release. `epsilon_micro`: epsilon in micro-units, 1
/// to `UNDERTONE_MAX_EPSILON_MICRO` (`undertone_epsilon_parse` reads text).
///
/// Statuses: `UNDERTONE_STATUS_MEMORY_TOO_SMALL`, `UNDERTONE_STATUS_UNKNOWN_UNIT`,
/// `UNDERTONE_STATUS_EPSILON_TOO_SMALL`, `UNDERTONE_STATUS_EPSILON_TOO_LARGE`.
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
        let grant = checked!(unsafe Room(memory, memory_len, out_grant));
        let unit = unit_of(unit)?;
        let epsilon = Epsilon::from_micro(epsilon_micro).map_err(epsilon::refusal)?;
        grant.make(|| Ok(Some(Grant::unrecorded(unit, epsilon))))
    })
}

/// A source of secret, unpredictable bytes: `getrandom`, `SecRandomCopyBytes`, `BCryptGenRandom`, a
/// hardware generator. A seeded generator must not be used, because whoever learns the seed can
/// undo the privacy.
///
/// The function fills all `len` bytes at `out` and returns 0. If it cannot, it returns another
/// number; a short read is a failure. It must return normally: no `longjmp`, no exception.
/// `context` is the pointer that was passed beside the function.
pub type UndertoneEntropyFn =
    Option<unsafe extern "C" fn(context: *mut c_void, out: *mut u8, len: usize) -> i32>;

/// An entropy function of the app as an [`Entropy`].
pub(crate) struct Callback {
    function: UndertoneEntropyFn,
    context: *mut c_void,
}

impl Callback {
    /// # Safety
    /// As long as the value lives, `function` may be called with `context` and `len` writable
    /// bytes, and then keeps the promises of [`UndertoneEntropyFn`].
    pub(crate) unsafe fn new(function: UndertoneEntropyFn, context: *mut c_void) -> Self {
        Self { function, context }
    }
}

/// The callback returned something other than 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallbackFailed;

impl fmt::Display for CallbackFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the entropy function did not return 0")
    }
}

impl core::error::Error for CallbackFailed {}

impl TryRng for Callback {
    type Error = CallbackFailed;

    fn try_next_u32(&mut self) -> Result<u32, CallbackFailed> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, CallbackFailed> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), CallbackFailed> {
        let function = self.function.ok_or(CallbackFailed)?;
        // SAFETY: by the contract of `new`, the function may be called with the context and
        // writable bytes, which `out` has. They are initialised, whatever the function does.
        match unsafe { function(self.context, out.as_mut_ptr(), out.len()) } {
            0 => Ok(()),
            _ => Err(CallbackFailed),
        }
    }
}

// The documentation of the callback type demands secret, unpredictable bytes.
impl TryCryptoRng for Callback {}
impl Entropy for Callback {}
