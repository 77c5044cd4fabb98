//! Cost of an encoder on a device: bytes of the pack and time for a sentence.

use std::time::{Duration, Instant};

use crate::documents::data::Data;
use undertone::encoder::Encoder;
use undertone::error::Result;
use undertone::pack::heads;
use undertone::pack::{LexiconData, scores_pack};
use undertone::text;

/// The approximate number of test documents whose sentences are encoded, and the largest number of
/// sentences.
const SAMPLE: (usize, usize) = (20, 200);

/// Cost of an encoder on a device.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The encoder's name.
    pub encoder: String,
    /// Size in bytes of the pack that `pack` makes of the training documents: heads, and the
    /// lexicon if it is the encoder. A neural encoder is not included.
    pub pack: usize,
    /// The median time to encode a sentence on one thread.
    pub sentence: Duration,
}

impl Cost {
    /// Packs heads for the classes of `data`, and times its encoder on sentences of the test
    /// documents.
    ///
    /// # Errors
    /// Errors of heads, packs and the encoder.
    pub fn measure(
        data: &Data,
        encoder: &dyn Encoder,
        lexicon: Option<LexiconData>,
    ) -> Result<Self> {
        let train = data.learning.subset(&data.train);
        let heads = heads::fit(&train.documents, &train.labels, data.classes.len())?;
        let pack = scores_pack(&data.encoder, train.documents.rows(), &heads, lexicon)?;
        let (documents, sentences) = SAMPLE;
        let texts = &data.test.texts;
        let texts = texts.iter().step_by((texts.len() / documents).max(1));
        let sentences = texts.flat_map(|text| text::sentences(text)).take(sentences);
        let mut out = vec![0.0; encoder.dimension()];
        let mut times = Vec::new();
        for sentence in sentences {
            let start = Instant::now();
            encoder.encode(sentence, &mut out)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        Ok(Self {
            encoder: encoder.identity().name.clone(),
            pack: pack.len(),
            sentence: times.get(times.len() / 2).copied().unwrap_or_default(),
        })
    }
}
