//! The candidates of a pack.

use std::path::Path;
use std::sync::Arc;

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use undertone::pack::candidates::Candidates as HostCandidates;

use crate::arguments::FilePath;
use crate::document::Release;
use crate::errors::{quietly, raised};
use crate::pack::lent;

/// Reads releases of one pack on a server: the candidates' names and embeddings, and public texts
/// for estimates. `Candidates(data)` takes the bytes of its file, which are untrusted:
/// any bytes either parse or raise `UndertoneError`.
#[pyclass(frozen, module = "undertone")]
pub(crate) struct Candidates(pub(crate) Arc<HostCandidates>);

#[pymethods]
impl Candidates {
    #[new]
    fn new(py: Python<'_>, data: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let bytes = data.as_bytes().to_vec();
        let name = Path::new("the candidates");
        let read = py.detach(|| quietly(|| HostCandidates::from_bytes(&bytes, name)));
        Ok(Self(Arc::new(raised(read)?)))
    }

    /// The bytes that `save` writes.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>,) {
        (self.__bytes__(py),)
    }

    /// Reads the file `.candidates.safetensors` beside a pack. Raises `UndertoneError`.
    #[staticmethod]
    fn open(py: Python<'_>, path: FilePath) -> PyResult<Self> {
        let read = py.detach(|| quietly(|| HostCandidates::read(&path)));
        Ok(Self(Arc::new(raised(read)?)))
    }

    /// Writes the file, which appears whole or not at all.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<()> {
        raised(py.detach(|| quietly(|| self.0.write(&path))))
    }

    /// The identifier of the pack: 16 hexadecimal digits.
    #[getter]
    fn pack_id(&self) -> String {
        hex::encode(self.0.pack_id())
    }

    /// The name of each: a label, or the number of a cluster.
    #[getter]
    fn names(&self) -> Vec<&str> {
        let entries = self.0.entries.iter();
        entries.map(|entry| entry.id.as_str()).collect()
    }

    /// The label of each, or None.
    #[getter]
    fn labels(&self) -> Vec<Option<&str>> {
        let entries = self.0.entries.iter();
        entries.map(|entry| entry.label.as_deref()).collect()
    }

    /// A public sentence that is typical of each.
    #[getter]
    fn excerpts(&self) -> Vec<&str> {
        let entries = self.0.entries.iter();
        entries.map(|entry| entry.excerpt.as_str()).collect()
    }

    /// Their embeddings, `[candidates, dimension]` of float32: a read-only view without a copy.
    #[getter]
    fn embeddings<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<f32>> {
        let candidates = &slf.get().0;
        // SAFETY: the candidates of a frozen object do not change, and live as long as it.
        unsafe { lent(slf, &candidates.embeddings, candidates.dimension) }
    }

    /// The number of the candidate that a release names; None for "nothing known". Raises
    /// `UndertoneError` for a forged release, one of another pack, and one of a point.
    fn decode(&self, release: &Release) -> PyResult<Option<u32>> {
        let decoded = raised(self.0.decode(&release.0))?;
        Ok(decoded.map(|_| release.0.number()))
    }

    fn __len__(&self) -> usize {
        self.0.entries.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "Candidates(pack_id={:?}, names={})",
            self.pack_id(),
            self.__len__()
        )
    }
}
