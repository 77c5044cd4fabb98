//! The privacy parameter as text.

use core::ffi::c_char;

use undertone_core::epsilon::{Epsilon, EpsilonError};

use crate::memory;
use crate::status::{
    Refusal, UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER, UNDERTONE_STATUS_EPSILON_TOO_LARGE,
    UNDERTONE_STATUS_EPSILON_TOO_SMALL, UNDERTONE_STATUS_INTERNAL, report,
};

/// The largest epsilon, 1000, in micro-units. The smallest is 1 micro-unit, 0.000001.
pub const UNDERTONE_MAX_EPSILON_MICRO: u32 = 1_000_000_000;

const _: () = assert!(UNDERTONE_MAX_EPSILON_MICRO == Epsilon::MAX.micro());

pub(crate) fn refusal(error: EpsilonError) -> Refusal {
    Refusal(match error {
        EpsilonError::NotANumber => UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER,
        EpsilonError::TooSmall => UNDERTONE_STATUS_EPSILON_TOO_SMALL,
        EpsilonError::TooLarge => UNDERTONE_STATUS_EPSILON_TOO_LARGE,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// Reads a decimal number such as "10", "0.5" or "1e-3" as an epsilon in micro-units, exactly,
/// rounding down.
///
/// `text`: `len` bytes; do not count a terminating zero.
/// `out_epsilon_micro`: the epsilon, 1 to `UNDERTONE_MAX_EPSILON_MICRO`.
///
/// Statuses: `UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`.
///
/// Threads: any.
///
/// # Safety
/// `text` is NULL or `len` readable bytes; `out_epsilon_micro` is NULL or writable.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_epsilon_parse(
    text: *const c_char,
    len: usize,
    out_epsilon_micro: *mut u32,
) -> i32 {
    report(|| {
        memory::all_disjoint(&[memory::array(text, len)?, memory::one(out_epsilon_micro)?])?;
        // SAFETY: `array` found the pointer aligned, not null unless empty and its length possible;
        // the caller says that the bytes are readable. They are not written before `parse` is done.
        let text = unsafe { memory::slice(text.cast::<u8>(), len) };
        let epsilon: Epsilon = core::str::from_utf8(text)
            .map_err(|_| Refusal(UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER))?
            .parse()
            .map_err(refusal)?;
        // SAFETY: `one` found the pointer aligned and not null; the caller says that it is writable.
        unsafe { out_epsilon_micro.write(epsilon.micro()) };
        Ok(())
    })
}
