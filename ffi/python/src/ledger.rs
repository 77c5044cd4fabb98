//! What was spent of a budget, on storage.

use std::path::PathBuf;
use std::process;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyByteArray, PyBytes, PyList};
use undertone::error::Result;
use undertone::release::document::epsilon_f64;
use undertone::release::ledger::{LedgerFile, utc_day};
use undertone_core::epsilon::{Epsilon, MICRO};
use undertone_core::ledger::Grant;
use undertone_core::unit::Unit;

use crate::arguments::{self, Name, Text};
use crate::errors::{argument, quietly, raised};
use crate::releaser::{Released, Releaser};

/// A ledger file: the budget of each window of time, and what was spent of it. `Ledger(path, budget, unit=...)` opens it, or makes it if it is missing;
/// with `create=False` a missing one is an `UndertoneError`: what has released must not make a fresh budget of a ledger that is gone.
///
/// A release is drawn only after its cost is on the disk. One process at a time has it open: a forked child must open it itself, once its parent has
/// closed it. Take one ledger for each kind of promise: `unit` is "sentence" or "whole-text". `window` is a number that never decreases, such as that of a
/// week; None is the day (UTC). Restoring a backup of the file, or a later window, restores budget. If what was spent is no longer known, see `begin_anew`.
///
/// Raises `LedgerError` if the file is no ledger, damaged or has another budget or unit, `UndertoneError` of the kind "in-use" if it is open elsewhere.
#[pyclass(module = "undertone")]
pub(crate) struct Ledger {
    /// Never locked: Python lets one thread at a time in. What counts a ledger is no thing for several.
    file: Option<Mutex<LedgerFile>>,
    process: u32,
    unit: Unit,
    budget: Epsilon,
    /// What is spent in, instead of the day.
    window: Option<u64>,
}

fn unit(name: &str) -> PyResult<Unit> {
    match name {
        "sentence" => Ok(Unit::Sentence),
        "whole-text" => Ok(Unit::WholeText),
        _ => Err(argument(
            "unit is unknown; take \"sentence\" or \"whole-text\"",
        )),
    }
}

impl Ledger {
    fn with_file(file: LedgerFile, unit: Unit, budget: Epsilon, window: Option<u64>) -> Self {
        Self {
            file: Some(Mutex::new(file)),
            process: process::id(),
            unit,
            budget,
            window,
        }
    }

    /// What is spent in now.
    fn now(&self) -> u64 {
        self.window.unwrap_or_else(utc_day)
    }

    /// Pays for a release. The rule must promise for the unit that this ledger counts.
    pub(crate) fn spend(&mut self, py: Python<'_>, epsilon: Epsilon, of: Unit) -> PyResult<Grant> {
        self.check(of)?;
        let now = self.now();
        let file = self.open()?;
        raised(py.detach(|| quietly(|| file.spend(epsilon, now))))
    }

    fn check(&self, of: Unit) -> PyResult<()> {
        match of == self.unit {
            true => Ok(()),
            false => Err(argument(
                "the ledger is for another unit than the rule: sentences, or whole texts; take one ledger for each",
            )),
        }
    }

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
    #[pyo3(signature = (path, budget, *, unit, window = None, create = true))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        budget: &Bound<'_, PyAny>,
        unit: Name,
        window: Option<u64>,
        create: bool,
    ) -> PyResult<Self> {
        let (unit, budget) = (self::unit(&unit)?, arguments::epsilon(budget)?);
        let file = py.detach(|| {
            quietly(|| match create {
                true => LedgerFile::open_or_create(&path, unit, budget),
                false => LedgerFile::open(&path, unit, budget, None),
            })
        });
        Ok(Self::with_file(raised(file)?, unit, budget, window))
    }

    /// Puts a ledger in the place of one that was lost or damaged. What was spent is not known, so `window`, the current one, counts as spent: nothing is
    /// left before the next. What is at `path` is overwritten, so a person should decide on this.
    ///
    /// Raises what `Ledger(path, budget, unit=...)` raises, but for what is wrong with the old file.
    #[staticmethod]
    #[pyo3(signature = (path, budget, *, unit, window = None))]
    fn begin_anew(
        py: Python<'_>,
        path: PathBuf,
        budget: &Bound<'_, PyAny>,
        unit: Name,
        window: Option<u64>,
    ) -> PyResult<Self> {
        let (unit, budget) = (self::unit(&unit)?, arguments::epsilon(budget)?);
        let now = window.unwrap_or_else(utc_day);
        let file = py.detach(|| quietly(|| LedgerFile::begin_anew(&path, unit, budget, now, None)));
        Ok(Self::with_file(raised(file)?, unit, budget, window))
    }

    /// The epsilon that all releases of a window may spend together.
    #[getter]
    fn budget(&self) -> f64 {
        epsilon_f64(self.budget)
    }

    /// The window that is spent in; None for the day (UTC). It may be set.
    #[getter]
    fn window(&self) -> Option<u64> {
        self.window
    }

    #[setter]
    fn set_window(&mut self, window: Option<u64>) {
        self.window = window;
    }

    /// The epsilon that is left in the window.
    #[getter]
    fn remaining(&mut self) -> PyResult<f64> {
        let now = self.now();
        let remaining = raised(self.open()?.remaining(now))?;
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

    /// Adds the releases of these texts to `paid`, as long as the budget lasts, and raises what ended it. Signals are handled afterwards.
    #[pyo3(signature = (releaser, texts, first, paid))]
    fn _release(
        &mut self,
        py: Python<'_>,
        releaser: &Releaser,
        texts: &Bound<'_, PyList>,
        first: usize,
        paid: &Bound<'_, PyByteArray>,
    ) -> PyResult<()> {
        self.check(releaser.unit())?;
        let window = self.window;
        let file = self.open()?;
        let texts = Text::all(texts, first)?;
        let mut released: Vec<Released> = Vec::new();
        let ended: Result<()> = py.detach(|| {
            quietly(|| {
                releaser.each(
                    &texts,
                    |epsilon| file.spend(epsilon, window.unwrap_or_else(utc_day)),
                    |release| released.push(release),
                )
            })
        });
        paid.call_method1("extend", (PyBytes::new(py, released.as_flattened()),))?;
        raised(ended)
    }
}
