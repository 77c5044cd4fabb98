//! The privacy parameter as text.

use core::ffi::c_char;

use undertone_core::epsilon::{Epsilon, EpsilonError};

use crate::interface::*;
use crate::memory::{In, Out, checked};
use crate::status::{Refusal, report};

pub(crate) fn refusal(error: EpsilonError) -> Refusal {
    Refusal(match error {
        EpsilonError::NotANumber => UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER,
        EpsilonError::TooSmall => UNDERTONE_STATUS_EPSILON_TOO_SMALL,
        EpsilonError::TooLarge => UNDERTONE_STATUS_EPSILON_TOO_LARGE,
        _ => UNDERTONE_STATUS_INTERNAL,
    })
}

/// Reads a decimal number such as "10", "0.5" or "1e-3" as an epsilon in micro-units, rounded down
/// to a whole number of micro-units.
///
/// `text`: `len` bytes. `out_epsilon_micro`: receives 1 to `UNDERTONE_MAX_EPSILON_MICRO`.
///
/// Statuses: `UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER`, `UNDERTONE_STATUS_EPSILON_TOO_SMALL`,
/// `UNDERTONE_STATUS_EPSILON_TOO_LARGE`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn undertone_epsilon_parse(
    text: *const c_char,
    len: usize,
    out_epsilon_micro: *mut u32,
) -> i32 {
    report(|| {
        let (text, micro) = checked!(unsafe In(text.cast::<u8>(), len), Out(out_epsilon_micro));
        let epsilon: Epsilon = core::str::from_utf8(text)
            .map_err(|_| Refusal(UNDERTONE_STATUS_EPSILON_NOT_A_NUMBER))?
            .parse()
            .map_err(refusal)?;
        micro.write(epsilon.micro());
        Ok(())
    })
}
