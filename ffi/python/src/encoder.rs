//! Sentence encoders.

use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rayon::prelude::*;
use self_cell::self_cell;
use undertone::encoder::{
    Encoder as HostEncoder, EncoderIdentity, LexiconEncoder, NoEncoder, OnnxEncoder, PrivateEncoder,
};
use undertone::error::Result;
use undertone::pack::LexiconData;

use crate::arguments::{FilePath, Text};
use crate::errors::{argument, quietly, raise, raised};
use crate::pack::{Loaded, Pack};
use crate::work;

/// Sentences between two looks for signals.
const TURN: usize = 256;

self_cell!(
    struct Carried {
        owner: Arc<Loaded>,
        #[covariant]
        dependent: LexiconEncoder,
    }
);

/// The lexicon of a pack.
struct PackLexicon(Carried);

impl HostEncoder for PackLexicon {
    fn identity(&self) -> &EncoderIdentity {
        self.0.borrow_dependent().identity()
    }

    fn dimension(&self) -> usize {
        self.0.borrow_dependent().dimension()
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        self.0.borrow_dependent().encode(sentence, out)
    }
}

/// Turns sentences into vectors, each alone.
#[pyclass(frozen, module = "undertone")]
pub(crate) struct Encoder {
    pub(crate) encoder: Arc<dyn HostEncoder>,
    /// The lexicon for packs made with this encoder.
    pub(crate) lexicon: Option<LexiconData>,
}

impl Encoder {
    /// With the lexicon that packs made with it carry along.
    pub(crate) fn parts(&self) -> (Arc<dyn HostEncoder>, Option<LexiconData>) {
        (self.encoder.clone(), self.lexicon.clone())
    }

    /// With a lexicon that leaves room for the other parts of a pack of `size` bytes.
    pub(crate) fn within(&self, size: usize) -> PyResult<Self> {
        let (encoder, lexicon) = self.parts();
        let Some(lexicon) = lexicon else {
            return Ok(Self { encoder, lexicon });
        };
        match raised(lexicon.leaving_room(self.name(), size))? {
            Some(pack) => Self::of_lexicon(&raised(Pack::parse(pack))?),
            // Then only features fit.
            None => Ok(Self {
                encoder: Arc::new(NoEncoder::default()),
                lexicon: None,
            }),
        }
    }

    pub(crate) fn of_lexicon(pack: &Pack) -> PyResult<Self> {
        let carried = Carried::try_new(pack.0.clone(), |loaded| {
            LexiconEncoder::new(loaded.pack()).ok_or(())
        });
        let carried = carried.map_err(|()| {
            argument("the pack has no lexicon; name the model that it was built with")
        })?;
        let lexicon = LexiconData::from_view(carried.borrow_dependent().lexicon());
        Ok(Self {
            encoder: Arc::new(PackLexicon(carried)),
            lexicon: Some(lexicon),
        })
    }

    /// The built-in lexicon.
    pub(crate) fn embedded() -> Self {
        let encoder = LexiconEncoder::embedded();
        Self {
            lexicon: Some(LexiconData::from_view(encoder.lexicon())),
            encoder: Arc::new(encoder),
        }
    }
}

/// Raises if there is no memory for the vectors, so that the process goes on.
fn zeros(count: usize, dimension: usize) -> PyResult<Vec<f32>> {
    let mut rows = Vec::new();
    let length = count.checked_mul(dimension);
    match length.map(|length| (length, rows.try_reserve_exact(length))) {
        Some((length, Ok(()))) => {
            rows.resize(length, 0.0);
            Ok(rows)
        }
        _ => Err(PyMemoryError::new_err(format!(
            "{count} vectors of {dimension} coordinates do not fit into memory; encode fewer sentences at a time"
        ))),
    }
}

#[pymethods]
impl Encoder {
    /// A neural encoder: a folder with model.onnx and tokenizer.json, or an .onnx file with
    /// tokenizer.json beside it. `onnxruntime`: the shared library of ONNX Runtime; by default the
    /// one that ORT_DYLIB_PATH names, else the built-in engine. Raises `UndertoneError`.
    #[staticmethod]
    #[pyo3(signature = (path, onnxruntime = None))]
    fn open(py: Python<'_>, path: FilePath, onnxruntime: Option<FilePath>) -> PyResult<Self> {
        let opened = py.detach(|| quietly(|| OnnxEncoder::open(&path, onnxruntime.as_deref())));
        Ok(Self {
            encoder: Arc::new(opened.map_err(|error| raise(&error))?),
            lexicon: None,
        })
    }

    /// The lexicon of a pack, or the built-in one for English. Raises `ArgumentError` if the pack
    /// has none.
    #[staticmethod]
    #[pyo3(signature = (pack = None))]
    fn lexicon(py: Python<'_>, pack: Option<&Pack>) -> PyResult<Self> {
        match pack {
            Some(pack) => Self::of_lexicon(pack),
            None => Ok(py.detach(Self::embedded)),
        }
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.encoder.identity().name
    }

    /// SHA-256 of what it is made of: 64 hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        hex::encode(self.encoder.identity().digest)
    }

    /// The number of coordinates of a vector.
    #[getter]
    fn dimension(&self) -> usize {
        self.encoder.dimension()
    }

    /// The vectors of sentences (a list, a Series, an array, any iterable of str), `[sentences,
    /// dimension]` of float32. Each sentence is encoded alone. One that the encoder cannot take has
    /// the vector 0. `threads`: by default one for each processor. Raises `TypeError` for what is
    /// no str. Leaks: time depends on the sentences.
    #[pyo3(signature = (sentences, threads = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        sentences: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let sentences = py
            .import("undertone._texts")?
            .call_method1("listed", (sentences, "sentences"))?;
        let sentences = Text::all(sentences.cast::<PyList>()?, 0)?;
        let dimension = self.dimension();
        let mut rows = zeros(sentences.len(), dimension)?;
        let pool = work::pool(threads)?;
        let encoder = PrivateEncoder::new(self.encoder.as_ref());
        let turns = rows
            .chunks_mut(TURN * dimension)
            .zip(sentences.chunks(TURN));
        for (rows, sentences) in turns {
            let rows = rows.par_chunks_exact_mut(dimension).zip(sentences);
            let encode =
                |(row, sentence): (&mut [f32], &Text)| encoder.encode(sentence.as_ref(), row);
            py.detach(|| pool.install(|| quietly(|| rows.try_for_each(encode))))
                .map_err(|error| raise(&error))?;
            py.check_signals()?;
        }
        let rows = Array2::from_shape_vec((sentences.len(), dimension), rows).expect("as many");
        Ok(rows.into_pyarray(py))
    }

    fn __repr__(&self) -> String {
        format!(
            "Encoder(name={:?}, dimension={})",
            self.name(),
            self.dimension()
        )
    }
}
