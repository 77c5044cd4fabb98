//! Arguments from Python.

use std::borrow::Cow;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyFloat, PyInt, PyList, PyString};
use undertone::release::document::Method;
use undertone_core::epsilon::Epsilon;
use undertone_core::select::Rule;

use crate::errors::argument;

/// An ε: a number, or its digits as a string, taken exactly.
pub(crate) fn epsilon(value: &Bound<'_, PyAny>) -> PyResult<Epsilon> {
    let number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    if !number && !value.is_instance_of::<PyString>() && !value.hasattr("__float__")? {
        return Err(PyTypeError::new_err(format!(
            "epsilon is a number or its digits as a string, not {}",
            type_name(value)
        )));
    }
    // The shortest digits that are this number: what was typed.
    let digits = value.str()?;
    let digits = digits.to_string_lossy();
    digits.parse().map_err(|problem| match digits.len() {
        // It could be a text in the wrong place, or the digits of somebody's number.
        _ if !number => argument(format!(
            "epsilon = a value of type {}, which is not shown: {problem}",
            type_name(value)
        )),
        length @ 41.. => argument(format!("epsilon = a number of {length} digits: {problem}")),
        _ => argument(format!("epsilon = {digits}: {problem}")),
    })
}

/// A name: a rule, a label, a column. As in a [`Text`], U+FFFD stands for lone surrogates, because
/// the exception of Python's own conversion would hold what is there, and it could be a text, in
/// the wrong place.
pub(crate) struct Name(String);

impl<'py> FromPyObject<'_, 'py> for Name {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name = value.cast::<PyString>()?;
        Ok(Self(name.to_string_lossy().into_owned()))
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// A path of every kind that `open` of Python accepts: bytes also.
pub(crate) struct FilePath(PathBuf);

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let decoded = value
            .py()
            .import("os")?
            .call_method1("fsdecode", (value,))?;
        decoded.extract().map(Self)
    }
}

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// The names of a list.
pub(crate) fn listed(names: Vec<Name>) -> Vec<String> {
    names.into_iter().map(String::from).collect()
}

/// How to release, by the names of `undertone release documents --rule`.
pub(crate) fn method(rule: &str) -> PyResult<Method> {
    match rule {
        "permute-and-flip" => Ok(Method::Sentence(Rule::PermuteAndFlip)),
        "exponential" => Ok(Method::Sentence(Rule::Exponential)),
        "whole-text" => Ok(Method::WholeText),
        "projective" => Ok(Method::Projective),
        // The value is not shown: it could be a text in the wrong place.
        _ => Err(argument(
            "rule is unknown; take \"whole-text\", \"projective\", \"permute-and-flip\" or \"exponential\"",
        )),
    }
}

/// A text of Python, which stays as it is without the interpreter.
pub(crate) enum Text {
    Borrowed(PyBackedStr),
    /// With U+FFFD for lone surrogates, because an error would reveal something of the text.
    Replaced(String),
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Replaced(text) => text,
        }
    }
}

impl Text {
    /// Errors call the text `name`, and reveal nothing of it.
    pub(crate) fn new(value: &Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<Self> {
        let Ok(text) = value.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "{} is {}, not str; leave it out, or give an empty text, which is released like any other",
                name(),
                type_name(value)
            )));
        };
        match PyBackedStr::try_from(text.clone()) {
            Ok(text) => Ok(Self::Borrowed(text)),
            Err(_) => Ok(Self::Replaced(text.to_string_lossy().into_owned())),
        }
    }

    /// The texts of a list, of which `first` come before.
    pub(crate) fn all(texts: &Bound<'_, PyList>, first: usize) -> PyResult<Vec<Self>> {
        let number = |place: usize| move || format!("text {}", first + place);
        let texts = texts.iter().enumerate();
        texts
            .map(|(place, text)| Self::new(&text, number(place)))
            .collect()
    }
}

/// The name of a value's type.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    if value.is_none() {
        return "None".to_owned();
    }
    let name = value.get_type().name();
    let name = name.as_ref().map(|name| name.to_string_lossy());
    let name = name.unwrap_or(Cow::Borrowed("of an unknown type"));
    // Even the name of a type may have megabytes.
    name.chars().take(80).collect()
}
