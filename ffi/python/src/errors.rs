//! Errors of the libraries as exceptions, with their text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::import_exception;
use pyo3::prelude::*;
use undertone::error::{Cause, Error, ErrorKind, Result};
use undertone_core::ledger::LedgerError as Problem;

import_exception!(undertone._errors, UndertoneError);
import_exception!(undertone._errors, ArgumentError);
import_exception!(undertone._errors, LedgerError);
import_exception!(undertone._errors, BudgetExhausted);

/// The exception for an error.
pub(crate) fn raise(error: &Error) -> PyErr {
    let kind = match error.kind() {
        ErrorKind::Argument => "argument",
        ErrorKind::InUse => "in-use",
        ErrorKind::Input => "input",
        ErrorKind::Io => "io",
        ErrorKind::Encoder => "encoder",
        ErrorKind::Pack => "pack",
        ErrorKind::Release => "release",
        ErrorKind::Ledger => "ledger",
        _ => "internal",
    };
    let arguments = (error.to_string(), kind);
    let used_up = |problem: &Problem| matches!(problem, Problem::Exhausted { .. });
    match error.kind() {
        ErrorKind::Argument => ArgumentError::new_err(arguments),
        _ if matches!(error.cause(), Cause::Ledger { problem, .. } if used_up(problem)) => {
            BudgetExhausted::new_err(arguments)
        }
        ErrorKind::Ledger => LedgerError::new_err(arguments),
        _ => UndertoneError::new_err(arguments),
    }
}

/// A value of a user's for a message: it may have megabytes.
pub(crate) fn short(value: &str) -> String {
    const MOST: usize = 40;
    match value.char_indices().nth(MOST) {
        None => format!("{value:?}"),
        Some((end, _)) => format!("{:?}… ({} bytes)", &value[..end], value.len()),
    }
}

/// The exception for an argument, with the values that are allowed.
pub(crate) fn argument(problem: impl Into<String>) -> PyErr {
    ArgumentError::new_err((problem.into(), "argument"))
}

/// Does work that may see private texts. A panic is a mistake of this library, and its message
/// could quote one.
pub(crate) fn quietly<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::from(Cause::Defect)))
}

/// The exception for an error, if there is one.
pub(crate) fn raised<T>(result: Result<T>) -> PyResult<T> {
    result.map_err(|error| raise(&error))
}
