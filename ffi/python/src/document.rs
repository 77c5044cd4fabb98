//! Documents on this machine, and what comes out of them.

use std::sync::Arc;

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use self_cell::self_cell;
use undertone::error::Error;
use undertone::release::document::{self, HostDocument, epsilon_f64};
use undertone_core::release::{Mechanism, Release as CoreRelease};
use undertone_core::select::Rule;
use undertone_estimate::counts::Kind;

use crate::arguments::{self, Name, Text, type_name};
use crate::errors::{argument, quietly, raise, raised};
use crate::ledger::{self, Ledger};
use crate::pack::{Loaded, Pack, mechanism_name};

self_cell!(
    /// A document and the pack it is under.
    pub(crate) struct Open {
        owner: Arc<Loaded>,
        #[not_covariant]
        dependent: HostDocument,
    }
);

/// The sentences of one private text, reduced to what a release needs. At most 128: those after
/// them are left out.
///
/// One thread at a time may use it: another gets a `RuntimeError`. Raises `UndertoneError` for a
/// pack without candidates.
#[pyclass(module = "undertone")]
pub(crate) struct Document(pub(crate) Open);

#[pymethods]
impl Document {
    #[new]
    fn new(pack: &Pack) -> PyResult<Self> {
        let open = Open::try_new(pack.0.clone(), |loaded| document::empty(loaded.pack()));
        Ok(Self(open.map_err(|error| raise(&error))?))
    }

    /// Adds the embedding of one sentence, `[dimension]` of float32, or of several, `[sentences,
    /// dimension]`, without a copy; returns how many were added. Each must come from the encoder
    /// that the pack names, which has seen this sentence alone. A coordinate that is not finite
    /// counts as 0.
    ///
    /// Raises `TypeError` for anything else, `ArgumentError` for another shape or an array that is
    /// not contiguous, `UndertoneError` for a pack with features, which needs the text. Nothing was
    /// added then.
    fn push(&mut self, embeddings: &Bound<'_, PyAny>) -> PyResult<usize> {
        let wrong = |found: String| {
            PyTypeError::new_err(format!(
                "embeddings are a NumPy array of float32, [dimension] or [sentences, dimension], not {found}"
            ))
        };
        let Ok(array) = embeddings.cast::<PyArrayDyn<f32>>() else {
            let dtype = embeddings.getattr("dtype");
            return Err(wrong(match dtype {
                Ok(dtype) => format!("an array of {dtype}; convert it with .astype(numpy.float32)"),
                Err(_) => type_name(embeddings),
            }));
        };
        let array = array
            .try_readonly()
            .map_err(|error| argument(error.to_string()))?;
        let shape = array.shape();
        let dimension = self.0.with_dependent(|_, document| document.dimension());
        if !(1..=2).contains(&shape.len()) || shape.last() != Some(&dimension) {
            return Err(argument(format!(
                "embeddings have the shape {shape:?}; the pack takes [{dimension}] or [sentences, {dimension}]"
            )));
        }
        // Column by column is also a slice.
        let rows = array.as_slice().ok().filter(|_| array.is_c_contiguous());
        let rows = rows.ok_or_else(|| {
            argument(
                "embeddings are not contiguous row by row, or not aligned; copy them with .copy()",
            )
        })?;
        let pushed = self
            .0
            .with_dependent_mut(|_, document| document.push_all(rows));
        pushed.map_err(|problem| raise(&Error::from(problem)))
    }

    /// Adds the sentences of a text, for packs that read text: with a lexicon, or features alone.
    /// Returns how many were added, which is private.
    ///
    /// Raises `UndertoneError` for other packs. No error depends on the text; the time does.
    fn push_text(&mut self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let text = Text::new(text, || "the text".to_owned())?;
        let document = &mut self.0;
        raised(py.detach(move || {
            quietly(|| {
                let pushed = document
                    .with_dependent_mut(|_, document| document.push_text(text.as_ref().as_bytes()));
                pushed.map_err(Error::from)
            })
        }))
    }

    /// Draws a release, and forgets the sentences. The guarantee and the arguments are those of
    /// `undertone.release`. If `ledger` does not pay for it, the sentences stay.
    #[pyo3(signature = (epsilon, rule = "whole-text".into(), *, ledger = None), text_signature = "($self, epsilon, rule='whole-text', *, ledger=None)")]
    fn release(
        &mut self,
        py: Python<'_>,
        epsilon: &Bound<'_, PyAny>,
        rule: Name,
        ledger: Option<&Bound<'_, Ledger>>,
    ) -> PyResult<Release> {
        let epsilon = arguments::epsilon(epsilon)?;
        let method = arguments::method(&rule)?;
        if method.is_whole_text() {
            let ready = |document: &HostDocument<'_>| document.check_whole_text();
            let ready = self.0.with_dependent(|_, document| ready(document));
            // Before it is paid for.
            ready.map_err(|problem| raise(&Error::from(problem)))?;
        }
        let grant = ledger::grant(py, ledger, epsilon, method.unit())?;
        let document = &mut self.0;
        let released = py.detach(move || {
            quietly(|| {
                document.with_dependent_mut(|_, document| document::draw(document, grant, method))
            })
        });
        Ok(Release(raised(released)?))
    }

    /// Forgets all sentences.
    fn clear(&mut self) {
        self.0.with_dependent_mut(|_, document| document.clear());
    }

    /// The number of coordinates of an embedding.
    #[getter]
    fn dimension(&self) -> usize {
        self.0.with_dependent(|_, document| document.dimension())
    }

    /// How many sentences there are. It is as private as the text.
    #[getter]
    fn sentence_count(&self) -> usize {
        self.0
            .with_dependent(|_, document| document.sentence_count())
    }

    fn __repr__(&self) -> &'static str {
        // How many sentences there are is private.
        "Document()"
    }
}

/// The name by which `release` and `privatize` take the rule of a release.
pub(crate) fn rule_name(mechanism: Mechanism, rule: Rule) -> &'static str {
    match (mechanism, rule) {
        (
            Mechanism::WholeText
            | Mechanism::WholeTextKnown
            | Mechanism::Projective
            | Mechanism::ProjectiveKnown
            | Mechanism::Drawn
            | Mechanism::Answer,
            _,
        ) => mechanism_name(mechanism),
        (_, Rule::PermuteAndFlip) => "permute-and-flip",
        (_, Rule::Exponential) => "exponential",
    }
}

/// The 24 bytes that leave the device. `Release(data)` reads them; raises `ArgumentError` if they
/// are no release.
#[pyclass(frozen, eq, hash, module = "undertone")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Release(pub(crate) CoreRelease);

#[pymethods]
impl Release {
    #[new]
    fn new(data: &[u8]) -> PyResult<Self> {
        let release = CoreRelease::from_bytes(data);
        release
            .map(Self)
            .map_err(|problem| argument(format!("cannot read the release: {problem}")))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>,) {
        (self.__bytes__(py),)
    }

    /// The 24 bytes as 48 hexadecimal digits.
    fn hex(&self) -> String {
        hex::encode(self.0.to_bytes())
    }

    /// The epsilon that was spent.
    #[getter]
    fn epsilon(&self) -> f64 {
        epsilon_f64(self.0.epsilon())
    }

    /// "scores", "depth" or "drawn" (for a sentence), "whole-text" or "projective" (for the whole
    /// text), "answer" (for all answers to a form).
    #[getter]
    fn mechanism(&self) -> &'static str {
        mechanism_name(self.0.mechanism())
    }

    /// "permute-and-flip", "exponential", "whole-text" or "projective", as `privatize` takes it;
    /// "drawn" as `Reservoir.release` does, "answer" as `Form.release` does.
    #[getter]
    fn rule(&self) -> &'static str {
        rule_name(self.0.mechanism(), self.0.rule())
    }

    /// The number of the candidate. In "whole-text" and "drawn" releases the number of candidates
    /// stands for "nothing known". In "projective" and "answer" releases it is a point, which names
    /// no candidate.
    #[getter]
    fn candidate(&self) -> u32 {
        self.0.number()
    }

    /// The order of the geometry of "projective" and "answer" releases; 0 for others.
    #[getter]
    fn order(&self) -> u16 {
        self.0
            .order()
            .map_or(0, undertone_core::projective::Order::number)
    }

    /// The number of places of "drawn" releases; 0 for others.
    #[getter]
    fn places(&self) -> u16 {
        self.0.places().map_or(0, std::num::NonZero::get)
    }

    /// The identifier of the pack or form: 16 hexadecimal digits.
    #[getter]
    fn pack_id(&self) -> String {
        hex::encode(self.0.pack_id())
    }

    fn __repr__(&self) -> String {
        let (kind, outcome) = Kind::of(&self.0);
        format!("Release({kind}, outcome {outcome})")
    }
}
