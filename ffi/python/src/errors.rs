//! Errors of the libraries as exceptions, with their text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::import_exception;
use pyo3::prelude::*;
use undertone::error::{Error, ErrorKind, Result, with_settings};
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
    let arguments = (with_settings(&error.to_string(), argument_of), kind);
    match error.kind() {
        ErrorKind::Argument => ArgumentError::new_err(arguments),
        _ if matches!(error.cause(), Some(Problem::Exhausted { .. })) => {
            BudgetExhausted::new_err(arguments)
        }
        ErrorKind::Ledger => LedgerError::new_err(arguments),
        _ => UndertoneError::new_err(arguments),
    }
}

/// Writes a setting of a message as an argument. Values in capitals are placeholders.
fn argument_of(name: &str, value: Option<&str>) -> String {
    let name = name.replace('-', "_");
    match value {
        None => name,
        Some(value) if value.chars().all(char::is_uppercase) => format!("{name}={value}"),
        Some(value) => format!("{name}={value:?}"),
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
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::defect()))
}

/// The exception for an error, if there is one.
pub(crate) fn raised<T>(result: Result<T>) -> PyResult<T> {
    result.map_err(|error| raise(&error))
}
