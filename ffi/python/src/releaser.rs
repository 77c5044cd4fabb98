//! A release for each of many texts.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;
use undertone::encoder::{Encoder as HostEncoder, PrivateEncoder};
use undertone::error::{Error, Result};
use undertone::release::document::{self, HostDocument, Method};
use undertone_core::epsilon::Epsilon;
use undertone_core::form::NO_ANSWER;
use undertone_core::ledger::Grant;
use undertone_core::release::Release as CoreRelease;
use undertone_core::unit::Unit;

use crate::arguments::{self, Name, Text};
use crate::encoder::Encoder;
use crate::errors::{quietly, raised};
use crate::form::Form;
use crate::pack::{Loaded, Pack};
use crate::work;

/// Below this many texts, threads cost more than they gain.
const FEW: usize = 64;

/// A release as bytes.
pub(crate) type Released = [u8; CoreRelease::BYTES];

/// The parameters of releases of one kind.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct Releaser {
    pack: Arc<Loaded>,
    encoder: Option<Arc<dyn HostEncoder>>,
    epsilon: Epsilon,
    method: Method,
    threads: Option<usize>,
}

impl Releaser {
    /// The privacy unit of its releases.
    pub(crate) fn unit(&self) -> Unit {
        self.method.unit()
    }

    fn document(&self) -> Result<HostDocument<'_>> {
        document::empty(self.pack.pack())
    }

    /// Fills the document with a text. Without an encoder the pack reads it, as on a device.
    fn fill(
        &self,
        encoder: Option<&PrivateEncoder<'_>>,
        document: &mut HostDocument<'_>,
        text: &str,
    ) -> Result<()> {
        match encoder {
            Some(encoder) => document::fill_text(document, encoder, text),
            None => {
                document.clear();
                document.push_text(text.as_bytes()).map_err(Error::from)?;
                Ok(())
            }
        }
    }

    fn private(&self) -> Option<PrivateEncoder<'_>> {
        self.encoder.as_deref().map(PrivateEncoder::new)
    }

    /// Releases one text after the other, each with a grant that `pay` gives.
    pub(crate) fn each(
        &self,
        texts: &[Text],
        mut pay: impl FnMut(Epsilon) -> Result<Grant>,
        mut keep: impl FnMut(Released),
    ) -> Result<()> {
        let mut document = self.document()?;
        let encoder = self.private();
        for text in texts {
            let grant = pay(self.epsilon)?;
            self.fill(encoder.as_ref(), &mut document, text.as_ref())?;
            keep(document::draw(&mut document, grant, self.method)?.to_bytes());
        }
        Ok(())
    }

    /// What `take` returns for each text, whose sentences are in the document.
    fn of_each<T: Send>(
        &self,
        py: Python<'_>,
        texts: Vec<Text>,
        take: impl Fn(&mut HostDocument<'_>) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        let pool = if self.threads == Some(1) || texts.len() < FEW {
            None
        } else {
            Some(work::pool(self.threads)?)
        };
        let start = || self.document().map(|document| (document, self.private()));
        let each = |state: &mut Result<_>, text: &Text| {
            let (document, encoder): &mut (HostDocument<'_>, Option<PrivateEncoder<'_>>) =
                match state {
                    Ok(state) => state,
                    // It was checked when this was made.
                    Err(_) => return Err(Error::defect()),
                };
            self.fill(encoder.as_ref(), document, text.as_ref())?;
            take(document)
        };
        let taken = py.detach(move || match pool {
            None => quietly(|| {
                let mut state = start();
                texts.iter().map(|text| each(&mut state, text)).collect()
            }),
            Some(pool) => pool.install(|| {
                quietly(|| {
                    let texts = texts.par_iter().with_min_len(FEW / 4);
                    texts.map_init(start, each).collect()
                })
            }),
        });
        raised(taken)
    }
}

#[pymethods]
impl Releaser {
    #[new]
    fn new(
        pack: &Pack,
        epsilon: &Bound<'_, PyAny>,
        rule: Name,
        encoder: Option<&Encoder>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        work::check_threads(threads)?;
        let epsilon = arguments::epsilon(epsilon)?;
        let method = arguments::method(&rule)?;
        let own = Self {
            pack: pack.0.clone(),
            encoder: encoder.map(|own| own.encoder.clone()),
            epsilon,
            method,
            threads,
        };
        raised(own.check())?;
        Ok(own)
    }

    /// Refuses what is no text.
    #[staticmethod]
    fn check_texts(texts: &Bound<'_, PyList>, first: usize) -> PyResult<()> {
        Text::all(texts, first).map(drop)
    }

    /// The releases of these texts, 24 bytes each; `first` texts come before.
    fn release<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyList>,
        first: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let released = self.of_each(py, Text::all(texts, first)?, |document| {
            let grant = Grant::unrecorded(self.method.unit(), self.epsilon);
            Ok(document::draw(document, grant, self.method)?.to_bytes())
        })?;
        Ok(PyBytes::new(py, released.as_flattened()))
    }

    /// The answers that these texts give to the topic of a form.
    fn topics<'py>(
        &self,
        py: Python<'py>,
        form: &Form,
        texts: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let form = form.0.form();
        let checked = self.document().and_then(|document| {
            let attribute = form.check_topic(&document);
            attribute.map_err(Error::from)
        });
        let attribute = raised(checked)?;
        let topics = self.of_each(py, Text::all(texts, 0)?, |document| {
            let mut answers = vec![NO_ANSWER; form.attribute_count()];
            form.answer_topic(document, &mut answers)?;
            Ok(answers[attribute])
        })?;
        Ok(PyArray1::from_vec(py, topics))
    }
}

impl Releaser {
    /// Refuses before anything is drawn what would be refused at the first text. It depends on the
    /// pack and the encoder.
    fn check(&self) -> Result<()> {
        let mut document = self.document()?;
        if self.method.is_whole_text() {
            document.check_whole_text().map_err(Error::from)?;
        }
        if let Some(encoder) = &self.encoder {
            document::check_encoder(self.pack.pack(), encoder.as_ref())?;
        }
        self.fill(self.private().as_ref(), &mut document, "")
    }
}
