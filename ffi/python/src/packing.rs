//! Packs from public texts.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use undertone::corpus::CorpusDocument;
use undertone::demo;
use undertone::encoder::embeddings::Encoded;
use undertone::files::resume::Encoding;
use undertone::pack::{self, Contest, Fit, Inputs, Options, Selector, TargetChoice};

use crate::arguments::{FilePath, Name, Text};
use crate::candidates::Candidates;
use crate::encoder::Encoder;
use crate::errors::{argument, quietly, raised};
use crate::pack::Pack;
use crate::work;

/// The inputs that heads may read, preferred first: the choices of `undertone pack --heads`.
fn inputs(heads: &str, encoder_is_named: bool) -> PyResult<Option<&'static [Inputs]>> {
    Ok(Some(match heads {
        "best" => Inputs::preferred(encoder_is_named),
        "vectors" => return Ok(None),
        "features" => &[Inputs::Features],
        "texts" => &[Inputs::WholeTexts],
        "both" => &[Inputs::Both],
        _ => {
            return Err(argument(
                "heads is unknown; take \"best\", \"vectors\", \"features\", \"texts\" or \"both\"",
            ));
        }
    }))
}

/// Public texts with a label each; an empty label counts as missing.
pub(crate) fn documents(texts: Vec<Text>, labels: Vec<Option<Name>>) -> Vec<CorpusDocument> {
    (1..)
        .zip(texts.iter().zip(labels))
        .map(|(line, (text, label))| CorpusDocument {
            id: format!("line-{line}"),
            label: label.map(String::from).filter(|label| !label.is_empty()),
            text: text.as_ref().to_owned(),
            line,
            ..CorpusDocument::default()
        })
        .collect()
}

/// A pack and its candidates, from public texts.
#[pyfunction]
#[pyo3(signature = (
    texts, labels, encoder, clusters, skip, heads, size, nothing_known, seed, progress
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build_pack(
    py: Python<'_>,
    texts: &Bound<'_, PyList>,
    labels: Vec<Option<Name>>,
    encoder: Option<&Encoder>,
    clusters: Option<usize>,
    skip: bool,
    heads: Name,
    size: Option<usize>,
    nothing_known: Option<bool>,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Pack, Candidates)> {
    let inputs = inputs(&heads, encoder.is_some())?;
    let embedded = encoder.is_none().then(Encoder::embedded);
    let own = encoder.or(embedded.as_ref()).expect("one of them exists");
    let (encoder, lexicon) = match size {
        None => own.parts(),
        Some(size) => own.within(size)?.parts(),
    };
    let mut documents = documents(Text::all(texts, 0)?, labels);
    documents.retain(|own| !skip || own.label.is_some());
    let built = work::run(py, progress, move || {
        let fit = match inputs {
            None => Fit::ClosedForm,
            Some(inputs) => Fit::HeldOut(Contest {
                inputs,
                size,
                nothing_known,
            }),
        };
        let targets = match clusters {
            None => TargetChoice::Labels,
            clusters => TargetChoice::Clusters(clusters),
        };
        let options = Options {
            selector: Selector::Scores { targets, fit },
            seed,
        };
        let encoding = Encoding::new(encoder.as_ref());
        let mut encoded = Encoded::new("the texts", encoding, || {
            Ok(documents.iter().cloned().map(Ok))
        });
        let built = pack::build(&mut encoded, lexicon, &options)?;
        built.check_size(size)?;
        Ok((Pack::parse(built.pack)?, built.candidates))
    })?;
    let (pack, candidates) = built;
    Ok((pack, Candidates(Arc::new(candidates))))
}

/// Public texts written for this project, and their labels. Other numbers draw other texts from the
/// same sentences.
#[pyfunction]
pub(crate) fn demo_corpus(number: u64) -> (Vec<String>, Vec<Option<String>>) {
    let documents = demo::corpus(number).into_iter();
    documents
        .map(|document| (document.text, document.label))
        .unzip()
}

/// Writes a pack and, beside it, its candidates.
#[pyfunction]
pub(crate) fn save_built(
    py: Python<'_>,
    path: FilePath,
    pack: &Pack,
    candidates: &Candidates,
) -> PyResult<()> {
    let bytes = pack.0.borrow_owner();
    raised(py.detach(|| quietly(|| pack::save(&path, bytes, &candidates.0))))
}
