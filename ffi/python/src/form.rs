//! Forms, and releases of answers to them.

use std::ops::Range;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};
use rayon::prelude::*;
use self_cell::self_cell;
use undertone::error::{Error, Result};
use undertone::files::{atomic::AtomicFile, foreign};
use undertone::form::{Answers, Contents, geometries};
use undertone::release::document::OsEntropy;
use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Form as CoreForm, NO_ANSWER};
use undertone_core::ledger::Grant;
use undertone_core::projective::Geometry;
use undertone_core::unit::Unit;
use undertone_estimate::forms;

use crate::arguments::{self, FilePath};
use crate::document::Release;
use crate::errors::{argument, quietly, raised};
use crate::releaser::Released;
use crate::work;

self_cell!(
    /// The bytes of a form and a view into them.
    struct Parsed {
        owner: Vec<u8>,
        #[covariant]
        dependent: CoreForm,
    }
);

/// A form and the names of its categories.
pub(crate) struct LoadedForm {
    parsed: Parsed,
    names: Answers,
}

impl LoadedForm {
    pub(crate) fn form(&self) -> &CoreForm<'_> {
        self.parsed.borrow_dependent()
    }
}

/// A form, from its bytes or from its description in JSON.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct Form(pub(crate) Arc<LoadedForm>);

impl Form {
    fn parse(file: Vec<u8>) -> Result<Self> {
        let parsed = Parsed::try_new(Contents::pack(file)?, |bytes| CoreForm::parse(bytes));
        let parsed = parsed.map_err(Error::from)?;
        let names = Answers::new(parsed.borrow_dependent());
        Ok(Self(Arc::new(LoadedForm { parsed, names })))
    }
}

#[pymethods]
impl Form {
    #[new]
    fn new(data: &[u8]) -> PyResult<Self> {
        raised(Self::parse(data.to_vec()))
    }

    #[staticmethod]
    fn open(path: FilePath) -> PyResult<Self> {
        raised(foreign::read(&path).and_then(Self::parse))
    }

    /// Writes the bytes, which appear whole or not at all.
    fn save(&self, path: FilePath) -> PyResult<()> {
        let bytes = self.0.parsed.borrow_owner();
        raised(AtomicFile::settled(&*path, bytes).and_then(AtomicFile::commit))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.parsed.borrow_owner())
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>,) {
        (self.__bytes__(py),)
    }

    /// 16 hexadecimal digits, which releases have in the place of a pack's.
    #[getter]
    fn id(&self) -> String {
        hex::encode(self.0.form().id())
    }

    /// The description in JSON.
    fn json(&self) -> String {
        Contents::of(self.0.form()).to_json()
    }

    /// The answers that values stand for. No value is an error.
    fn codes<'py>(
        &self,
        py: Python<'py>,
        attribute: usize,
        values: &Bound<'py, PyList>,
    ) -> Bound<'py, PyArray1<u32>> {
        let codes = values.iter().map(|value| self.code(attribute, &value));
        PyArray1::from_iter(py, codes)
    }

    /// The names of the question's attributes, those of its outcomes, and the probability of each.
    /// `shares`: those of the outcomes; None for equal ones.
    #[pyo3(signature = (release, shares))]
    fn posterior(
        &self,
        release: &Release,
        shares: Option<Vec<f64>>,
    ) -> PyResult<(Vec<String>, Vec<String>, Vec<f64>)> {
        let form = self.0.form();
        let answer = form.read(&release.0);
        let answer = answer.filter(|answer| answer.question.weight > 0);
        let answer = answer.ok_or_else(|| {
            argument("the release is not of this form, or no device with the form makes it")
        })?;
        let outcomes = answer.question.outcomes as usize;
        let shares = shares.unwrap_or_else(|| vec![1.0; outcomes]);
        let is_usable = shares.len() == outcomes
            && shares
                .iter()
                .all(|share| share.is_finite() && *share >= 0.0)
            && shares.iter().any(|share| *share > 0.0);
        if !is_usable {
            return Err(argument(format!(
                "shares has {} numbers; give {outcomes} from 0 on, not all of them 0",
                shares.len()
            )));
        }
        Ok((
            forms::attributes(form, &answer.question),
            forms::outcomes(form, &answer.question),
            forms::posterior(&answer, release.0.epsilon(), &shares),
        ))
    }
}

impl Form {
    fn code(&self, attribute: usize, value: &Bound<'_, PyAny>) -> u32 {
        let answer = |text: &str| self.0.names.answer(attribute, text);
        if let Ok(text) = value.cast::<PyString>() {
            // Half a surrogate pair is in no name.
            return text.to_str().map_or(NO_ANSWER, answer);
        }
        if value.is_none() {
            return NO_ANSWER;
        }
        // Extracting a whole number from a float would raise a Python exception, which is slow.
        if let Ok(number) = value.cast::<PyFloat>() {
            return answer(&number.value().to_string());
        }
        // The truth values of Python are whole numbers, those of NumPy are not.
        if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
            match value.extract::<bool>() {
                Ok(true) => return answer("true"),
                Ok(false) => return answer("false"),
                Err(_) => {}
            }
        }
        if let Ok(number) = value.extract::<u64>() {
            return answer(&number.to_string());
        }
        value
            .extract::<f64>()
            .map_or(NO_ANSWER, |number| answer(&number.to_string()))
    }
}

/// The parameters of releases of answers.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct FormReleaser {
    form: Arc<LoadedForm>,
    geometries: Vec<Geometry>,
    epsilon: Epsilon,
    threads: Option<usize>,
}

/// Below this many releases, threads cost more than they gain.
const FEW: usize = 4096;

/// A column of answers for each attribute.
type Columns<'c> = [&'c [u32]];

impl FormReleaser {
    /// Releases one row after the other, each with a grant that `pay` gives.
    pub(crate) fn each(
        &self,
        columns: &Columns<'_>,
        rows: Range<usize>,
        mut pay: impl FnMut(Epsilon) -> Result<Grant>,
        mut keep: impl FnMut(Released),
    ) -> Result<()> {
        let mut answers = vec![NO_ANSWER; columns.len()];
        for row in rows {
            for (answer, column) in answers.iter_mut().zip(columns) {
                *answer = column[row];
            }
            let grant = pay(self.epsilon)?;
            let form = self.form.form();
            let release = form.release_by(&self.geometries, &answers, grant, &mut OsEntropy)?;
            keep(release.to_bytes());
        }
        Ok(())
    }

    fn unrecorded(&self, columns: &Columns<'_>, rows: Range<usize>) -> Result<Vec<Released>> {
        let mut released = Vec::with_capacity(rows.len());
        let pay = |epsilon| Ok(Grant::unrecorded(Unit::WholeText, epsilon));
        self.each(columns, rows, pay, |release| released.push(release))?;
        Ok(released)
    }

    fn in_threads(&self, columns: &Columns<'_>, rows: Range<usize>) -> Result<Vec<Released>> {
        let ends = rows.clone().step_by(FEW);
        let parts: Vec<Range<usize>> = ends
            .map(|start| start..(start + FEW).min(rows.end))
            .collect();
        let parts = parts.into_par_iter();
        let released = parts.map(|part| self.unrecorded(columns, part));
        Ok(released.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// The columns as slices. All have the same length.
pub(crate) fn slices<'c>(columns: &'c [PyReadonlyArray1<'_, u32>]) -> PyResult<Vec<&'c [u32]>> {
    let slices = columns.iter().map(|column| column.as_slice());
    slices
        .collect::<std::result::Result<_, _>>()
        .map_err(|problem| argument(problem.to_string()))
}

#[pymethods]
impl FormReleaser {
    #[new]
    fn new(form: &Form, epsilon: &Bound<'_, PyAny>, threads: Option<usize>) -> PyResult<Self> {
        work::check_threads(threads)?;
        let epsilon = arguments::epsilon(epsilon)?;
        Ok(Self {
            form: form.0.clone(),
            geometries: geometries(form.0.form(), epsilon),
            epsilon,
            threads,
        })
    }

    /// The releases of the rows from `start` to before `end`, 24 bytes each. `columns`: a column of
    /// answers for each attribute, all of the same length.
    fn release<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<PyReadonlyArray1<'py, u32>>,
        start: usize,
        end: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let columns = slices(&columns)?;
        let pool = if self.threads == Some(1) || end - start < FEW {
            None
        } else {
            Some(work::pool(self.threads)?)
        };
        let released = py.detach(|| match pool {
            None => quietly(|| self.unrecorded(&columns, start..end)),
            Some(pool) => pool.install(|| quietly(|| self.in_threads(&columns, start..end))),
        });
        Ok(PyBytes::new(py, raised(released)?.as_flattened()))
    }
}
