//! A privacy budget in a file.

use std::process;
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyByteArray, PyBytes, PyList};
use undertone::error::Result;
use undertone::release::document::epsilon_f64;
use undertone::release::ledger::{LedgerFile, utc_day};
use undertone_core::epsilon::{Epsilon, MICRO};
use undertone_core::ledger::Grant;
use undertone_core::unit::Unit;

use crate::arguments::{self, FilePath, Name, Text};
use crate::errors::{argument, quietly, raised};
use crate::form::{self, FormReleaser};
use crate::releaser::{Released, Releaser};
use crate::reservoir::schedule;

/// A ledger file: the budget of each window of time, and how much of it is spent. `Ledger(path,
/// budget, unit=...)` opens it, or makes it if it is missing. With `create=False` a missing file is
/// an `UndertoneError`: a program that has released must not get a fresh budget.
///
/// A release is drawn only after its cost is on the disk. One process at a time has the file open:
/// a forked child must open it itself, once its parent has closed it. `unit` is "sentence" or
/// "whole-text"; each kind of promise has a ledger of its own. `window` is a number that never
/// decreases, such as that of a week; None is the day (UTC). Restoring a backup of the file, or a
/// later window, restores budget. `recreate_spent` replaces a lost ledger.
///
/// Raises `LedgerError` if the file is no ledger, is damaged, or has another budget or unit, and
/// `UndertoneError` of the kind "in-use" if it is open elsewhere.
#[pyclass(module = "undertone")]
pub(crate) struct Ledger {
    /// A mutex, because the counter of a ledger need not be `Sync`. It is never locked: Python lets
    /// one thread in.
    file: Option<Mutex<LedgerFile>>,
    process: u32,
    unit: Unit,
    budget: Epsilon,
    /// The window to spend in; `None` for the day.
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

/// A grant that `ledger` pays for, or one that nothing records.
pub(crate) fn grant(
    py: Python<'_>,
    ledger: Option<&Bound<'_, Ledger>>,
    epsilon: Epsilon,
    unit: Unit,
) -> PyResult<Grant> {
    match ledger {
        None => Ok(Grant::unrecorded(unit, epsilon)),
        Some(ledger) => ledger.try_borrow_mut()?.spend(py, epsilon, unit),
    }
}

/// Pays for a release of this epsilon.
type Spend<'s> = dyn FnMut(Epsilon) -> Result<Grant> + 's;

/// Takes a release that was paid for.
type Keep<'s> = dyn FnMut(Released) + 's;

impl Ledger {
    /// Adds to `paid` what `release` keeps, however it ends.
    fn pay(
        &mut self,
        py: Python<'_>,
        paid: &Bound<'_, PyByteArray>,
        release: impl FnOnce(&mut Spend<'_>, &mut Keep<'_>) -> Result<()> + Send,
    ) -> PyResult<()> {
        let window = self.window;
        let file = self.open()?;
        let mut released: Vec<Released> = Vec::new();
        let ended: Result<()> = py.detach(|| {
            quietly(|| {
                release(
                    &mut |epsilon| file.spend(epsilon, window.unwrap_or_else(utc_day)),
                    &mut |release| released.push(release),
                )
            })
        });
        paid.call_method1("extend", (PyBytes::new(py, released.as_flattened()),))?;
        raised(ended)
    }

    fn with_file(file: LedgerFile, unit: Unit, budget: Epsilon, window: Option<u64>) -> Self {
        Self {
            file: Some(Mutex::new(file)),
            process: process::id(),
            unit,
            budget,
            window,
        }
    }

    /// The window to spend in now.
    fn now(&self) -> u64 {
        self.window.unwrap_or_else(utc_day)
    }

    /// Pays for a release with this unit, which must be that of the ledger.
    pub(crate) fn spend(
        &mut self,
        py: Python<'_>,
        epsilon: Epsilon,
        unit: Unit,
    ) -> PyResult<Grant> {
        self.check(unit)?;
        let now = self.now();
        let file = self.open()?;
        raised(py.detach(|| quietly(|| file.spend(epsilon, now))))
    }

    fn check(&self, unit: Unit) -> PyResult<()> {
        if unit == self.unit {
            return Ok(());
        }
        Err(argument(
            "the ledger is for another unit than the rule: sentences, or whole texts; take one ledger for each",
        ))
    }

    fn open(&mut self) -> PyResult<&mut LedgerFile> {
        let forked = self.process != process::id();
        match &mut self.file {
            // Both processes share the lock, which keeps neither out.
            Some(_) if forked => Err(argument(
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
        path: FilePath,
        budget: &Bound<'_, PyAny>,
        unit: Name,
        window: Option<u64>,
        create: bool,
    ) -> PyResult<Self> {
        let (unit, budget) = (self::unit(&unit)?, arguments::epsilon(budget)?);
        let file = py.detach(|| {
            quietly(|| {
                if create {
                    LedgerFile::open_or_create(&*path, unit, budget)
                } else {
                    LedgerFile::open(&*path, unit, budget, None)
                }
            })
        });
        Ok(Self::with_file(raised(file)?, unit, budget, window))
    }

    /// Replaces a ledger that was lost or damaged, or whose window is in the future because a clock
    /// was wrong. `window`, the present one by a clock that is right, counts as spent: nothing is
    /// left before the next. The file at `path` is overwritten, so a person should decide on this.
    ///
    /// Raises the exceptions of `Ledger(path, budget, unit=...)`, but for the state of the old
    /// file.
    #[staticmethod]
    #[pyo3(signature = (path, budget, *, unit, window = None))]
    fn recreate_spent(
        py: Python<'_>,
        path: FilePath,
        budget: &Bound<'_, PyAny>,
        unit: Name,
        window: Option<u64>,
    ) -> PyResult<Self> {
        let (unit, budget) = (self::unit(&unit)?, arguments::epsilon(budget)?);
        let now = window.unwrap_or_else(utc_day);
        let file =
            py.detach(|| quietly(|| LedgerFile::recreate_spent(&*path, unit, budget, now, None)));
        Ok(Self::with_file(raised(file)?, unit, budget, window))
    }

    /// The epsilon that all releases of a window may spend together.
    #[getter]
    fn budget(&self) -> f64 {
        epsilon_f64(self.budget)
    }

    /// The window to spend in; None for the day (UTC). It may be set.
    #[getter]
    fn window(&self) -> Option<u64> {
        self.window
    }

    #[setter]
    fn set_window(&mut self, window: Option<u64>) {
        self.window = window;
    }

    /// The epsilon left in the window.
    #[getter]
    fn remaining(&mut self) -> PyResult<f64> {
        let now = self.now();
        let remaining = raised(self.open()?.remaining(now))?;
        Ok(remaining as f64 / f64::from(MICRO))
    }

    /// The slots of the window in which this device releases, ascending, from 0: `appointments` out
    /// of `slots`. They are drawn without looking at any text, and stay the same.
    ///
    /// With `appointments` releases a window, each at epsilon for all lines of its slot, everything
    /// that somebody types in a window has the promise `appointments * epsilon`, which is the
    /// budget to give the ledger. Set `window` to the number of a year, for example.
    fn appointment(&mut self, slots: u32, appointments: u32) -> PyResult<Vec<u16>> {
        let (slots, count) = (
            schedule("slots", slots)?,
            schedule("appointments", appointments)?,
        );
        let now = self.now();
        let appointment = raised(self.open()?.appointment(now, slots, count.get()))?;
        Ok(appointment.slots().collect())
    }

    /// Returns whether a release is due in a slot of the window. It is due if, up to the end of
    /// the slot, the device has more appointments than releases of this epsilon that it has paid
    /// for. So a missed slot is made up for in the next one. The other arguments are those of
    /// `appointment`.
    fn is_due(
        &mut self,
        slot: u32,
        slots: u32,
        appointments: u32,
        epsilon: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (slots, count) = (
            schedule("slots", slots)?,
            schedule("appointments", appointments)?,
        );
        let valid = u16::try_from(slot).ok().filter(|slot| *slot < slots.get());
        let slot = valid
            .ok_or_else(|| argument(format!("slot is {slot}; take 0 to {}", slots.get() - 1)))?;
        let epsilon = arguments::epsilon(epsilon)?;
        let now = self.now();
        raised(self.open()?.is_due(now, slots, count.get(), slot, epsilon))
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

    /// Adds the releases of these texts to `paid` as long as the budget lasts, and then raises the
    /// error that ended it. Signals are handled afterwards.
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
        let texts = Text::all(texts, first)?;
        self.pay(py, paid, |spend, keep| releaser.each(&texts, spend, keep))
    }

    /// As `_release`, for the rows of answers from `start` to before `end`.
    #[pyo3(signature = (releaser, columns, start, end, paid))]
    fn _release_answers(
        &mut self,
        py: Python<'_>,
        releaser: &FormReleaser,
        columns: Vec<PyReadonlyArray1<'_, u32>>,
        start: usize,
        end: usize,
        paid: &Bound<'_, PyByteArray>,
    ) -> PyResult<()> {
        self.check(Unit::WholeText)?;
        let columns = form::slices(&columns)?;
        self.pay(py, paid, |spend, keep| {
            releaser.each(&columns, start..end, spend, keep)
        })
    }
}
