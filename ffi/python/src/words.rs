//! Private words.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use rayon::prelude::*;
use undertone::error::Result;
use undertone::release::words;
use undertone::text::{WordFilter, english_stop_words};
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::lexicon::{Word, words as words_of};
use undertone_core::release::BagRelease;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_core::words::{Vocabulary, WordMechanism};

use crate::arguments::{self, Name, Text};
use crate::errors::{argument, quietly, raised};
use crate::pack::{Loaded, Pack};
use crate::work;

/// The parameters of bags of one kind.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct Obfuscator {
    pack: Arc<Loaded>,
    size: u16,
    epsilon: Epsilon,
    mechanism: WordMechanism,
    filter: WordFilter,
    threads: Option<usize>,
}

fn listed(words: &[Name]) -> HashSet<Word> {
    words.iter().flat_map(|word| words_of(word)).collect()
}

impl Obfuscator {
    fn vocabulary(&self) -> Option<Vocabulary<'_>> {
        Vocabulary::new(self.pack.pack()).ok()
    }

    /// Releases a bag of the words of one text.
    fn bag(&self, vocabulary: &Vocabulary<'_>, text: &str) -> Result<Vec<u8>> {
        let grant = Grant::unrecorded(Unit::Word, self.epsilon);
        let words = self.filter.words(text);
        words::release(vocabulary, words, self.size, self.mechanism, grant)
    }
}

#[pymethods]
impl Obfuscator {
    #[new]
    fn new(
        pack: &Pack,
        size: u16,
        epsilon: &Bound<'_, PyAny>,
        rule: Name,
        stop_words: Option<Vec<Name>>,
        keep: Option<Vec<Name>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let mechanism = match &*rule {
            "permute-and-flip" => WordMechanism::Selection(Rule::PermuteAndFlip),
            "exponential" => WordMechanism::Selection(Rule::Exponential),
            "laplace" => WordMechanism::LaplaceNearest,
            // The value is not shown: it could be a text in the wrong place.
            _ => {
                return Err(argument(
                    "rule is unknown; take \"permute-and-flip\", \"exponential\" or \"laplace\"",
                ));
            }
        };
        work::check_threads(threads)?;
        let own = Self {
            pack: pack.0.clone(),
            size,
            epsilon: arguments::epsilon(epsilon)?,
            mechanism,
            filter: WordFilter {
                stop: stop_words.map_or_else(english_stop_words, |words| listed(&words)),
                keep: keep.map(|words| listed(&words)),
            },
            threads,
        };
        let vocabulary = own.vocabulary();
        let vocabulary = vocabulary
            .ok_or_else(|| argument("the pack has no lexicon, so it has no words to exchange"))?;
        // Refuses a wrong size or ε before any text is read.
        raised(own.bag(&vocabulary, ""))?;
        Ok(own)
    }

    /// A bag for each text, as bytes; `first` texts come before.
    fn release<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyList>,
        first: usize,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let texts = Text::all(texts, first)?;
        let pool = work::pool(self.threads)?;
        let released: Result<Vec<Vec<u8>>> = py.detach(|| {
            let vocabulary = self.vocabulary().expect("checked when this was made");
            let one = |text: &Text| self.bag(&vocabulary, text.as_ref());
            pool.install(|| quietly(|| texts.par_iter().map(one).collect()))
        });
        let released = raised(released)?;
        Ok(released.iter().map(|bag| PyBytes::new(py, bag)).collect())
    }

    /// The words of a bag, in their order.
    fn words(&self, bag: &[u8]) -> PyResult<Vec<String>> {
        let bag = BagRelease::from_bytes(bag)
            .map_err(|problem| argument(format!("cannot read the bag: {problem}")))?;
        if bag.pack_id() != self.pack.pack().id() {
            return Err(argument("the bag was released under another pack"));
        }
        let vocabulary = self.vocabulary().expect("checked when this was made");
        let word = |index: u32| vocabulary.lexicon().word(index as usize);
        let mut words: Vec<String> = bag.words().filter_map(word).map(str::to_owned).collect();
        words.sort_unstable();
        Ok(words)
    }

    /// The promise of the bags as a text, and a warning if it is weak.
    fn guarantee(&self, py: Python<'_>) -> PyResult<(String, Option<String>)> {
        let pool = work::pool(self.threads)?;
        Ok(py.detach(|| {
            let vocabulary = self.vocabulary().expect("checked when this was made");
            pool.install(|| words::guarantee(&vocabulary, self.size, self.mechanism, self.epsilon))
        }))
    }
}
