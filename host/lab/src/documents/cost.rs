//! What an encoder costs a device: bytes of the pack, time for a sentence.

use std::time::{Duration, Instant};

use crate::documents::data::Data;
use undertone::encoder::Encoder;
use undertone::error::Result;
use undertone::pack::heads;
use undertone::pack::{LexiconData, scores_pack};
use undertone::text;

/// Roughly the number of test documents whose sentences are encoded, and the most sentences.
const SAMPLE: (usize, usize) = (20, 200);

/// What an encoder costs a device.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The encoder's name.
    pub encoder: String,
    /// Bytes of the pack that `pack` makes of the training documents: heads, and the lexicon if that is
    /// the encoder. A neural encoder comes on top.
    pub pack: usize,
    /// Encoding a sentence on one thread, the median.
    pub sentence: Duration,
}

impl Cost {
    /// Packs heads for the classes of `data`, and encodes sentences of its test documents with the
    /// encoder that its vectors are from.
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
