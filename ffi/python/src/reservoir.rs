//! One line of a slot, and its release.

use std::num::NonZero;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use self_cell::self_cell;
use undertone::error::Error;
use undertone::release::document::OsEntropy;
use undertone_core::document::DocumentError;
use undertone_core::ledger::Grant;
use undertone_core::release::Release as CoreRelease;
use undertone_core::reservoir::{
    AnswerReservoir as CoreAnswerReservoir, Reservoir as CoreReservoir,
};
use undertone_core::unit::Unit;

use crate::arguments::{self, Name};
use crate::document::{Document, Release};
use crate::errors::{argument, quietly, raise, raised};
use crate::form::{Form, LoadedForm};
use crate::ledger::{self, Ledger};

/// The outcome of one line of a slot, which is drawn without looking at any: `Reservoir(document,
/// slot, places)`. It holds no text.
///
/// A line is what one document holds; a slot is the stretch of time that one release is about.
/// `slot` is a public number, which is stored. `places` is a public number below the number of
/// lines that most devices see in a slot, from 1 to 65535. `bytes(reservoir)` has 64 bytes to store
/// after each line, which `Reservoir.read` reads; they are as private as the lines. If they are
/// lost, begin with a new reservoir, which costs no privacy.
#[pyclass(module = "undertone")]
pub(crate) struct Reservoir(Option<CoreReservoir>);

impl Reservoir {
    fn get(&self) -> PyResult<&CoreReservoir> {
        self.0.as_ref().ok_or_else(released)
    }
}

fn released() -> PyErr {
    argument("the reservoir was released; begin with a new one")
}

/// A public number of places, slots or appointments.
pub(crate) fn schedule(name: &str, number: u32) -> PyResult<NonZero<u16>> {
    let valid = u16::try_from(number).ok().and_then(NonZero::new);
    valid.ok_or_else(|| argument(format!("{name} is {number}; take 1 to 65535")))
}

#[pymethods]
impl Reservoir {
    #[new]
    fn new(document: &Document, slot: u64, places: u32) -> PyResult<Self> {
        let places = schedule("places", places)?;
        let made = document.0.with_dependent(|_, document| {
            CoreReservoir::new(document, slot, places, &mut OsEntropy)
        });
        Ok(Self(Some(
            made.map_err(|problem| raise(&Error::from(problem)))?,
        )))
    }

    /// Reads what `bytes(reservoir)` returned, for documents with the same pack.
    ///
    /// Raises `ArgumentError` for bytes that are damaged or of another pack. Begin with a new
    /// reservoir then.
    #[staticmethod]
    fn read(data: &[u8], document: &Document) -> PyResult<Self> {
        let read = document
            .0
            .with_dependent(|_, document| CoreReservoir::from_bytes(data, document));
        let reservoir = read.map_err(|problem| argument(problem.to_string()))?;
        Ok(Self(Some(reservoir)))
    }

    /// Adds the line in the document, all its sentences as one text, and forgets the sentences.
    ///
    /// Raises `UndertoneError` for a document with another pack. The sentences then stay.
    fn push(&mut self, py: Python<'_>, document: &mut Document) -> PyResult<()> {
        let reservoir = self.0.as_mut().ok_or_else(released)?;
        let document = &mut document.0;
        raised(py.detach(move || {
            quietly(|| {
                let added = document
                    .with_dependent_mut(|_, document| reservoir.add(document, &mut OsEntropy));
                added.map_err(Error::from)
            })
        }))
    }

    /// Releases the kept outcome, after which the reservoir is of no use. Release even if nothing
    /// was pushed, and wipe what was stored.
    ///
    /// `rule`: with "whole-text" or "projective", epsilon protects all lines of the slot together,
    /// and one line has the promise ln(1 + (e^epsilon - 1) / places). With "drawn", epsilon
    /// protects each line, such as a sentence, and all lines together have the promise
    /// ln(1 + places * (e^epsilon - 1)); its ledger is for the unit "sentence".
    ///
    /// Raises what `Document.release` raises. If `ledger` does not pay for it, the reservoir stays.
    #[pyo3(signature = (epsilon, rule = "whole-text".into(), *, ledger = None), text_signature = "($self, epsilon, rule='whole-text', *, ledger=None)")]
    fn release(
        &mut self,
        py: Python<'_>,
        epsilon: &Bound<'_, PyAny>,
        rule: Name,
        ledger: Option<&Bound<'_, Ledger>>,
    ) -> PyResult<Release> {
        type Draw = fn(CoreReservoir, Grant, &mut OsEntropy) -> Result<CoreRelease, DocumentError>;
        let (unit, draw): (Unit, Draw) = match &*rule {
            "whole-text" => (Unit::WholeText, CoreReservoir::release_whole_text),
            "projective" => (Unit::WholeText, CoreReservoir::release_projective),
            "drawn" => (Unit::Sentence, CoreReservoir::release_drawn),
            _ => {
                return Err(argument(
                    "rule is unknown; take \"whole-text\", \"projective\" or \"drawn\"",
                ));
            }
        };
        let epsilon = arguments::epsilon(epsilon)?;
        self.get()?;
        let grant = ledger::grant(py, ledger, epsilon, unit)?;
        let reservoir = self.0.take().ok_or_else(released)?;
        let drawn = py.detach(move || {
            quietly(|| draw(reservoir, grant, &mut OsEntropy).map_err(Error::from))
        });
        Ok(Release(raised(drawn)?))
    }

    /// The number of the slot.
    #[getter]
    fn slot(&self) -> PyResult<u64> {
        Ok(self.get()?.slot())
    }

    /// The number of places.
    #[getter]
    fn places(&self) -> PyResult<u16> {
        Ok(self.get()?.places().get())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.get()?.to_bytes()))
    }

    fn __repr__(&self) -> &'static str {
        // The kept outcome is private.
        "Reservoir()"
    }
}

/// `None` once it was released.
type KeptAnswer<'f> = Option<CoreAnswerReservoir<'f>>;

self_cell!(
    /// A form, and a reservoir of answers to it.
    struct OfForm {
        owner: Arc<LoadedForm>,
        #[not_covariant]
        dependent: KeptAnswer,
    }
);

/// The part of `AnswerReservoir` that has the answers as numbers.
#[pyclass(module = "undertone._undertone")]
pub(crate) struct AnswerReservoir(OfForm);

impl AnswerReservoir {
    fn get<T>(&self, read: impl FnOnce(&CoreAnswerReservoir<'_>) -> T) -> PyResult<T> {
        let kept = self.0.with_dependent(|_, kept| kept.as_ref().map(read));
        kept.ok_or_else(released)
    }
}

#[pymethods]
impl AnswerReservoir {
    #[new]
    fn new(form: &Form, slot: u64, places: u32) -> PyResult<Self> {
        let places = schedule("places", places)?;
        let made = OfForm::try_new(form.0.clone(), |form| {
            CoreAnswerReservoir::new(form.form(), slot, places, &mut OsEntropy).map(Some)
        });
        Ok(Self(made.map_err(|problem| raise(&Error::from(problem)))?))
    }

    #[staticmethod]
    fn read(data: &[u8], form: &Form) -> PyResult<Self> {
        let read = OfForm::try_new(form.0.clone(), |form| {
            CoreAnswerReservoir::from_bytes(data, form.form()).map(Some)
        });
        Ok(Self(read.map_err(|problem| argument(problem.to_string()))?))
    }

    fn push(&mut self, answers: Vec<u32>) -> PyResult<()> {
        let added = self.0.with_dependent_mut(|_, kept| {
            let reservoir = kept.as_mut().ok_or_else(released)?;
            Ok::<_, PyErr>(quietly(|| Ok(reservoir.add(&answers, &mut OsEntropy)?)))
        });
        raised(added?)
    }

    #[pyo3(signature = (epsilon, ledger))]
    fn release(
        &mut self,
        py: Python<'_>,
        epsilon: &Bound<'_, PyAny>,
        ledger: Option<&Bound<'_, Ledger>>,
    ) -> PyResult<Release> {
        let epsilon = arguments::epsilon(epsilon)?;
        self.get(|_| ())?;
        let grant = ledger::grant(py, ledger, epsilon, Unit::WholeText)?;
        let drawn = self.0.with_dependent_mut(|_, kept| {
            let reservoir = kept.take().ok_or_else(released)?;
            Ok::<_, PyErr>(quietly(|| Ok(reservoir.release(grant, &mut OsEntropy)?)))
        });
        Ok(Release(raised(drawn?)?))
    }

    #[getter]
    fn slot(&self) -> PyResult<u64> {
        self.get(|reservoir| reservoir.slot())
    }

    #[getter]
    fn places(&self) -> PyResult<u16> {
        self.get(|reservoir| reservoir.places().get())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.get(|reservoir| PyBytes::new(py, &reservoir.to_bytes()))
    }
}
