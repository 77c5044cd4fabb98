//! Labelled public texts, for shares of labels that a pack was not made for.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyList;
use undertone::encoder::embeddings::Encoded;
use undertone::encoder::{Encoder as HostEncoder, NoEncoder};
use undertone::files::resume::Encoding;
use undertone::pack::calibration::Calibration;
use undertone::release::document;
use undertone::text::end_of_sentences;

use crate::arguments::{Name, Text};
use crate::encoder::Encoder;
use crate::errors::argument;
use crate::pack::Pack;
use crate::packing::documents;
use crate::work;

/// Public texts with the outcomes that devices would release for them.
#[pyclass(frozen, module = "undertone._undertone")]
pub(crate) struct Question {
    /// The identifier of the pack.
    pub(crate) pack: [u8; 8],
    /// By the number of sentences that are released of each; `None` for all.
    pub(crate) texts: Vec<(Option<u16>, Calibration)>,
}

impl Question {
    /// Refuses a question about a pack that is not one of these.
    pub(crate) fn check(&self, packs: &[[u8; 8]]) -> PyResult<()> {
        if packs.contains(&self.pack) {
            return Ok(());
        }
        Err(argument(format!(
            "the question is about pack {}, and there are no candidates of it; give the candidates of that pack",
            hex::encode(self.pack)
        )))
    }
}

#[pymethods]
impl Question {
    #[new]
    fn new(
        py: Python<'_>,
        pack: &Pack,
        texts: &Bound<'_, PyList>,
        labels: Vec<Option<Name>>,
        encoder: Option<&Encoder>,
        mut lengths: Vec<u16>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let all = documents(Text::all(texts, 0)?, labels);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for label in all.iter().filter_map(|own| own.label.clone()) {
            *counts.entry(label).or_insert(0) += 1;
        }
        if counts.len() < 2 {
            return Err(argument(format!(
                "the texts have {} labels; a question takes texts of at least 2",
                counts.len()
            )));
        }
        if lengths.contains(&0) {
            return Err(argument("first_sentences has 0; give 1 or more"));
        }
        lengths.sort_unstable();
        lengths.dedup();
        let lengths = if lengths.is_empty() {
            vec![None]
        } else {
            lengths.into_iter().map(Some).collect()
        };
        let pack = pack.0.clone();
        let alone = pack.pack().features().is_some_and(|own| own.is_alone());
        let encoder: std::sync::Arc<dyn HostEncoder> = match encoder {
            Some(own) => own.encoder.clone(),
            None if alone => std::sync::Arc::new(NoEncoder::of(pack.pack())),
            None => Encoder::of_lexicon(&Pack(pack.clone()))?.encoder,
        };
        let id = pack.pack().id();
        let texts = work::run(py, progress, move || {
            document::check_encoder(pack.pack(), encoder.as_ref())?;
            let of = |length: Option<u16>| {
                let first = length.map_or(usize::MAX, usize::from);
                let encoding = Encoding::new(encoder.as_ref());
                let mut encoded = Encoded::new("the question", encoding, || {
                    Ok(all.iter().filter(|own| own.label.is_some()).map(|own| {
                        let mut own = own.clone();
                        own.text.truncate(end_of_sentences(&own.text, first));
                        Ok(own)
                    }))
                });
                let own = Calibration::of_corpus(pack.pack(), &counts, &mut encoded)?;
                Ok((length, own))
            };
            lengths.into_iter().map(of).collect()
        })?;
        Ok(Self { pack: id, texts })
    }
}
