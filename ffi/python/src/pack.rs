//! Packs.

use std::sync::Arc;

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use self_cell::self_cell;
use undertone::error::Error;
use undertone::files::foreign;
use undertone::release::document::{self, epsilon_f64};
use undertone_core::epsilon::MICRO;
use undertone_core::pack::Pack as CorePack;
use undertone_core::release::Mechanism;
use undertone_core::unit::Unit;
use undertone_report::escape;
use undertone_report::number::{bytes, count, percent};

use crate::arguments::{self, FilePath, Name};
use crate::errors::raise;

self_cell!(
    /// The bytes of a pack and what looks into them.
    pub(crate) struct Loaded {
        owner: Vec<u8>,
        #[covariant]
        dependent: CorePack,
    }
);

impl Loaded {
    /// The pack.
    pub(crate) fn pack(&self) -> &CorePack<'_> {
        self.borrow_dependent()
    }
}

/// A pack: the public file that devices release under. `Pack(data)` takes its bytes, which are
/// untrusted: any bytes either parse or raise `UndertoneError`.
#[pyclass(frozen, module = "undertone")]
pub(crate) struct Pack(pub(crate) Arc<Loaded>);

impl Pack {
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        let loaded = Loaded::try_new(bytes, |bytes| CorePack::parse(bytes));
        Ok(Self(Arc::new(loaded.map_err(Error::from)?)))
    }

    fn own(&self) -> &CorePack<'_> {
        self.0.pack()
    }
}

#[pymethods]
impl Pack {
    #[new]
    fn new(py: Python<'_>, data: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let bytes = data.as_bytes().to_vec();
        py.detach(|| Self::parse(bytes).map_err(|error| raise(&error)))
    }

    /// Reads a pack from a file. Raises `UndertoneError`, which names the file.
    #[staticmethod]
    fn open(py: Python<'_>, path: FilePath) -> PyResult<Self> {
        py.detach(|| {
            let bytes = foreign::read(&path)?;
            let loaded = Loaded::try_new(bytes, |bytes| CorePack::parse(bytes));
            let loaded = loaded.map_err(Error::unusable_pack(&path))?;
            Ok(Self(Arc::new(loaded)))
        })
        .map_err(|error: Error| raise(&error))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.borrow_owner())
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>,) {
        (self.__bytes__(py),)
    }

    fn __len__(&self) -> usize {
        self.0.borrow_owner().len()
    }

    /// The identifier in releases under this pack: 16 hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        hex::encode(self.own().id())
    }

    /// SHA-256 of the pack: 64 hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        hex::encode(self.own().digest())
    }

    /// How many candidates a release can name.
    #[getter]
    fn candidate_count(&self) -> u32 {
        self.own().candidate_count()
    }

    /// The number of coordinates of an embedding.
    #[getter]
    fn dimension(&self) -> usize {
        self.own().dimension()
    }

    /// The encoder that the pack was built with.
    #[getter]
    fn encoder_name(&self) -> &str {
        self.own().encoder_name()
    }

    /// The selector of sentence releases: "scores", "depth", or None without candidates.
    #[getter]
    fn selector(&self) -> Option<&'static str> {
        self.own().mechanism().map(mechanism_name)
    }

    /// The word vectors that the pack carries, or None.
    #[getter]
    fn lexicon(slf: &Bound<'_, Self>) -> Option<Lexicon> {
        let own = slf.get();
        own.own().lexicon()?;
        Some(Lexicon(own.0.clone()))
    }

    /// The promise of a release: its epsilon if one sentence is exchanged, and if the whole text
    /// is. Both depend on public values only. A mechanism that serves a large epsilon as a smaller
    /// one promises the smaller.
    ///
    /// Raises `ArgumentError` for an epsilon outside 0.000001 to 1000 or an unknown rule,
    /// `UndertoneError` if the pack has no such releases.
    #[pyo3(signature = (epsilon, rule = "whole-text".into()), text_signature = "($self, epsilon, rule='whole-text')")]
    fn promise(&self, epsilon: &Bound<'_, PyAny>, rule: Name) -> PyResult<(f64, f64)> {
        let epsilon = arguments::epsilon(epsilon)?;
        let method = arguments::method(&rule)?;
        let document = document::empty(self.own()).map_err(|error| raise(&error))?;
        let served = method.served(epsilon, self.own().candidate_count()).0;
        let sentence = served as f64 / f64::from(MICRO);
        let whole = match method {
            document::Method::Sentence(rule) => {
                let micro = document.whole_text_epsilon(epsilon, rule).0;
                micro as f64 / f64::from(MICRO)
            }
            _ => {
                let check = document.check_whole_text();
                check.map_err(|problem| raise(&Error::from(problem)))?;
                sentence
            }
        };
        Ok((sentence, whole))
    }

    /// How often releases of held-out public texts were right: a row for each epsilon and length of
    /// text, with shares of 0 to 1 or None. `sentences` is None for texts as the public ones are.
    /// Empty if it was not measured.
    fn quality<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let Some(quality) = self.own().quality() else {
            return Ok(Vec::new());
        };
        let share = |accuracy: Option<u16>| accuracy.map(share);
        let mut rows = Vec::new();
        for (place, epsilon) in quality.epsilons().enumerate() {
            for (column, sentences) in quality.lengths().enumerate() {
                let row = PyDict::new(py);
                row.set_item("epsilon", epsilon_f64(epsilon))?;
                row.set_item("sentences", (sentences > 0).then_some(sentences))?;
                let of = |unit| share(quality.accuracy(unit, place, column));
                row.set_item("sentence", of(Unit::Sentence))?;
                row.set_item("whole_text", of(Unit::WholeText))?;
                row.set_item("without_noise", share(quality.noiseless(column)))?;
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// For notebooks: a table without styles of its own, so that it follows their theme.
    fn _repr_html_(&self) -> String {
        let own = self.own();
        let mut html = format!(
            "<p><strong>Pack of {} candidates</strong> · {} · encoder: {}</p>\n",
            count(own.candidate_count().into()),
            bytes(self.__len__() as u64),
            escape(own.encoder_name())
        );
        let Some(quality) = own.quality() else {
            return html;
        };
        let lengths = quality.lengths().enumerate().map(|(column, length)| {
            let name = match length {
                0 => "texts as they are".to_owned(),
                1 => "1 sentence".to_owned(),
                more => format!("{more} sentences"),
            };
            (column, name)
        });
        let lengths: Vec<(usize, String)> = lengths.collect();
        let head = lengths.iter().map(|(_, name)| format!("<th>{name}</th>"));
        html += "<table><caption>Right releases of the whole text (%)</caption>\n<tr><th>ε</th>";
        html += &format!("{}</tr>\n", head.collect::<String>());
        for (place, epsilon) in quality.epsilons().enumerate() {
            let cells = lengths.iter().map(|(column, _)| {
                let accuracy = quality.accuracy(Unit::WholeText, place, *column);
                let share = accuracy.map_or("–".to_owned(), |own| percent(share(own)));
                format!("<td>{share}</td>")
            });
            let cells: String = cells.collect();
            html += &format!("<tr><th>{epsilon}</th>{cells}</tr>\n");
        }
        html + "</table>\n"
    }

    fn __repr__(&self) -> String {
        format!(
            "Pack(id={:?}, candidates={}, encoder={:?}, bytes={})",
            self.id(),
            self.candidate_count(),
            self.encoder_name(),
            self.__len__()
        )
    }
}

/// A share of a table of quality.
fn share(stored: u16) -> f64 {
    f64::from(stored) / 65534.0
}

pub(crate) fn mechanism_name(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Depth => "depth",
        Mechanism::Scores => "scores",
        Mechanism::WholeText | Mechanism::WholeTextKnown => "whole-text",
        Mechanism::Projective | Mechanism::ProjectiveKnown => "projective",
        Mechanism::Drawn => "drawn",
        Mechanism::Answer => "answer",
        _ => "unknown",
    }
}

/// The word vectors of a pack.
#[pyclass(frozen, module = "undertone")]
pub(crate) struct Lexicon(Arc<Loaded>);

impl Lexicon {
    fn own(&self) -> undertone_core::lexicon::Lexicon<'_> {
        self.0
            .pack()
            .lexicon()
            .expect("made of packs that have one")
    }
}

#[pymethods]
impl Lexicon {
    fn __len__(&self) -> usize {
        self.own().word_count()
    }

    /// The words, in the order of their bytes.
    #[getter]
    fn words(&self) -> Vec<&str> {
        let own = self.own();
        (0..own.word_count())
            .filter_map(|index| self.own().word(index))
            .collect()
    }

    /// The vectors, `[words, dimension]` of int8: a view of the pack without a copy, which cannot
    /// be written to.
    #[getter]
    fn vectors<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<i8>> {
        let own = slf.get().own();
        // SAFETY: the pack of a frozen object does not change, and lives as long as it.
        unsafe { lent(slf, own.matrix(), own.dimension()) }
    }

    /// A coordinate is its integer times 2 to this power.
    #[getter]
    fn exponent(&self) -> i32 {
        self.own().vector_exponent()
    }
}

/// Rows of `dimension` numbers that `owner` has, as a NumPy array that cannot be written to.
///
/// # Safety
/// `rows` neither change nor move as long as `owner` lives.
pub(crate) unsafe fn lent<'py, T: Element, O>(
    owner: &Bound<'py, O>,
    rows: &[T],
    dimension: usize,
) -> Bound<'py, PyArray2<T>> {
    let shape = (rows.len() / dimension.max(1), dimension);
    let view = ArrayView2::from_shape(shape, &rows[..shape.0 * shape.1]).expect("they fit");
    // SAFETY: the caller's promise.
    let array = unsafe { PyArray2::borrow_from_array(&view, owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}
