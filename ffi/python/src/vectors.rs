//! Private vectors.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use self_cell::self_cell;
use undertone::error::Error;
use undertone::release::document::{OsEntropy, epsilon_f64};
use undertone_core::laplace::Noise;
use undertone_core::ledger::Grant;
use undertone_core::release::VectorRelease as CoreRelease;
use undertone_core::unit::Unit;
use undertone_core::vector::VectorMechanism as CoreMechanism;

use crate::arguments::{self, Name, type_name};
use crate::errors::{argument, quietly, raise, raised};
use crate::pack::{Loaded, Pack};

self_cell!(
    /// A mechanism and the pack with its projection, if it has one.
    struct Own {
        owner: Option<Arc<Loaded>>,
        #[covariant]
        dependent: CoreMechanism,
    }
);

/// Releases vectors of `dimension` coordinates (1 to 1024) within ±2^`bound_exponent` with noise.
///
/// Guarantee: metric. For two vectors at distance D the probability of a release differs by a
/// factor of at most e^(epsilon*D), apart from small terms that core/README.md states. `epsilon`:
/// 0.1 to 1000, per unit of distance. `noise`: "laplace", or "discrete-laplace" without the small
/// terms.
///
/// Raises `ArgumentError` and `UndertoneError` for numbers out of range. Leaks: that there was a
/// release, and when.
#[pyclass(frozen, module = "undertone")]
pub(crate) struct VectorMechanism(Own);

fn noise(name: &str) -> PyResult<Noise> {
    match name {
        "laplace" => Ok(Noise::Laplace),
        "discrete-laplace" => Ok(Noise::DiscreteLaplace),
        _ => Err(argument(
            "noise is unknown; take \"laplace\" or \"discrete-laplace\"",
        )),
    }
}

fn noise_name(noise: Noise) -> &'static str {
    match noise {
        Noise::Laplace => "laplace",
        Noise::DiscreteLaplace => "discrete-laplace",
    }
}

#[pymethods]
impl VectorMechanism {
    /// Noise on vectors of `dimension` coordinates within ±2^`bound_exponent`.
    #[new]
    #[pyo3(signature = (dimension, epsilon, *, bound_exponent = 0, noise = "laplace".into()), text_signature = "(dimension, epsilon, *, bound_exponent=0, noise='laplace')")]
    fn new(
        dimension: u32,
        epsilon: &Bound<'_, PyAny>,
        bound_exponent: i32,
        noise: Name,
    ) -> PyResult<Self> {
        let (noise, epsilon) = (self::noise(&noise)?, arguments::epsilon(epsilon)?);
        let own = Own::try_new(None, |_| {
            CoreMechanism::new(dimension, bound_exponent, noise, epsilon)
        });
        Ok(Self(own.map_err(|problem| raise(&Error::from(problem)))?))
    }

    /// Noise on vectors after the projection of a pack; `bound_exponent` is by default that of the
    /// pack.
    #[staticmethod]
    #[pyo3(signature = (pack, epsilon, *, bound_exponent = None, noise = "laplace".into()), text_signature = "(pack, epsilon, *, bound_exponent=None, noise='laplace')")]
    fn projected(
        py: Python<'_>,
        pack: &Pack,
        epsilon: &Bound<'_, PyAny>,
        bound_exponent: Option<i32>,
        noise: Name,
    ) -> PyResult<Self> {
        let (noise, epsilon) = (self::noise(&noise)?, arguments::epsilon(epsilon)?);
        if pack.0.pack().projection().is_none() {
            return Err(argument(
                "the pack has no projection; make one with `undertone lexicon project`, or name a dimension",
            ));
        }
        let pack = pack.0.clone();
        let own = py.detach(|| {
            Own::try_new(Some(pack), |pack| {
                let pack = pack.as_ref().and_then(|pack| pack.pack().projection());
                let projection = pack.expect("looked for above");
                let bound = bound_exponent.unwrap_or(projection.bound_exponent());
                CoreMechanism::projected(projection, bound, noise, epsilon)
            })
        });
        Ok(Self(own.map_err(|problem| raise(&Error::from(problem)))?))
    }

    /// The number of coordinates of a vector.
    #[getter]
    fn dimension(&self) -> usize {
        self.0.borrow_dependent().dimension()
    }

    /// Draws a release of a vector, `[dimension]` of float32. Raises `TypeError` for anything else;
    /// no error depends on a coordinate.
    fn release(&self, vector: &Bound<'_, PyAny>) -> PyResult<VectorRelease> {
        let Ok(vector) = vector.extract::<PyReadonlyArray1<'_, f32>>() else {
            return Err(PyTypeError::new_err(format!(
                "a vector is a NumPy array of float32, [dimension], not {}; convert it with .astype(numpy.float32)",
                type_name(vector)
            )));
        };
        let rows = vector.as_slice().map_err(|_| {
            argument("the vector is not contiguous, or not aligned; copy it with .copy()")
        })?;
        let mechanism = self.0.borrow_dependent();
        let released = quietly(|| {
            let mut bytes = vec![0; mechanism.release_bytes()];
            let grant = Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon());
            let drawn = mechanism.release(grant, rows, &mut OsEntropy, &mut bytes);
            drawn.map_err(Error::from)?;
            Ok(bytes)
        });
        Ok(VectorRelease(raised(released)?))
    }
}

/// A vector with noise, as it leaves the device.
#[pyclass(frozen, module = "undertone")]
pub(crate) struct VectorRelease(Vec<u8>);

impl VectorRelease {
    fn own(&self) -> CoreRelease<'_> {
        CoreRelease::from_bytes(&self.0).expect("it was read when this was made")
    }
}

#[pymethods]
impl VectorRelease {
    #[new]
    fn new(data: &[u8]) -> PyResult<Self> {
        match CoreRelease::from_bytes(data) {
            Ok(_) => Ok(Self(data.to_vec())),
            Err(problem) => Err(argument(format!("cannot read the release: {problem}"))),
        }
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>,) {
        (self.__bytes__(py),)
    }

    /// The coordinates, float64.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.own().values().collect::<Vec<_>>().into_pyarray(py)
    }

    /// The epsilon that was spent, per unit of distance.
    #[getter]
    fn epsilon(&self) -> f64 {
        epsilon_f64(self.own().epsilon())
    }

    /// "laplace" or "discrete-laplace".
    #[getter]
    fn noise(&self) -> &'static str {
        noise_name(self.own().noise())
    }

    /// The identifier of the pack with the projection; zeros without one.
    #[getter]
    fn pack_id(&self) -> String {
        hex::encode(self.own().pack_id())
    }
}
