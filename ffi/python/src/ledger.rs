//! What was spent of a budget, on storage.

use std::path::PathBuf;
use std::process;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyList};
use undertone::error::Result;
use undertone::release::document::epsilon_f64;
use undertone::release::ledger::{LedgerFile, utc_day};
use undertone_core::epsilon::{Epsilon, MICRO};
use undertone_core::unit::Unit;

use crate::arguments::{self, Text};
use crate::errors::{argument, quietly, raise, raised};
use crate::releaser::{Released, Releaser};

/// A ledger file: the budget of each day (UTC), and what was spent of it. `Ledger(path, budget)` opens it, or makes it if it is missing.
///
/// A release is drawn only after its cost is on the disk. One process at a time has it open, and the process that opened it: one that was forked must open
/// it itself. Take one ledger for each kind of promise. Restoring a backup of it, or setting the clock forward, restores budget.
///
/// Raises `LedgerError` if the file is no ledger, damaged or has another budget, `UndertoneError` of the kind "in-use" if it is open elsewhere.
#[pyclass(module = "undertone")]
pub(crate) struct Ledger {
    /// Never locked: Python lets one thread at a time in. What counts a ledger is no thing for several.
    file: Option<Mutex<LedgerFile>>,
    process: u32,
    unit: Unit,
    budget: Epsilon,
}

impl Ledger {
    fn open(&mut self) -> PyResult<&mut LedgerFile> {
        let own = self.process == process::id();
        match &mut self.file {
            // Its lock is shared with the process that opened it, and keeps neither out.
            Some(_) if !own => Err(argument(
                "the ledger was opened by the process that this one was forked from; open it here, once it is closed there",
            )),
            Some(file) => Ok(file.get_mut().unwrap_or_else(PoisonError::into_inner)),
            None => Err(argument("the ledger is closed; open it again")),
        }
    }
}

#[pymethods]
impl Ledger {
    #[new]
    #[pyo3(signature = (path, budget, *, unit))]
    fn new(py: Python<'_>, path: PathBuf, budget: &Bound<'_, PyAny>, unit: &str) -> PyResult<Self> {
        let unit = match unit {
            "sentence" => Unit::Sentence,
            "whole-text" => Unit::WholeText,
            other => {
                return Err(argument(format!(
                    "unit = {other:?} is unknown; take \"sentence\" or \"whole-text\""
                )));
            }
        };
        let budget = arguments::epsilon(budget)?;
        let file = py.detach(|| quietly(|| LedgerFile::open_or_create(&path, unit, budget)));
        Ok(Self {
            file: Some(Mutex::new(raised(file)?)),
            process: process::id(),
            unit,
            budget,
        })
    }

    /// The epsilon that all releases of a day may spend together.
    #[getter]
    fn budget(&self) -> f64 {
        epsilon_f64(self.budget)
    }

    /// The epsilon that is left today (UTC).
    #[getter]
    fn remaining(&mut self) -> PyResult<f64> {
        let remaining = raised(self.open()?.remaining(utc_day()))?;
        Ok(remaining as f64 / f64::from(MICRO))
    }

    /// Closes the file, so that others can open it.
    fn close(&mut self) {
        self.file = None;
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }

    /// The releases of these texts as long as the budget lasts, and what ended it.
    #[pyo3(signature = (releaser, texts, first))]
    fn _release<'py>(
        &mut self,
        py: Python<'py>,
        releaser: &Releaser,
        texts: &Bound<'py, PyList>,
        first: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<PyErr>)> {
        if releaser.unit() != self.unit {
            return Err(argument(
                "the ledger is for another unit than the rule: sentences, or whole texts; take one ledger for each",
            ));
        }
        let file = self.open()?;
        let texts = Text::all(texts, first)?;
        let mut released: Vec<Released> = Vec::new();
        let ended: Result<()> = py.detach(|| {
            quietly(|| {
                releaser.each(
                    &texts,
                    |epsilon| file.spend(epsilon, utc_day()),
                    |release| released.push(release),
                )
            })
        });
        let ended = ended.err().map(|error| raise(&error));
        Ok((PyBytes::new(py, released.as_flattened()), ended))
    }
}
