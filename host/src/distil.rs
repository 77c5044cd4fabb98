//! From a neural sentence encoder to a lexicon that a device can use without it.
//!
//! Each frequent word of public corpora is encoded alone, the mean over the words is subtracted,
//! the first principal directions are kept, and the coordinates are rounded to bytes. A word weighs
//! a/(a + frequency) with a = 10⁻³ in a sentence (Arora, Liang and Ma 2017). Everything here is
//! public.

use std::collections::HashMap;

use undertone_core::lexicon::{MAX_LEXICON_DIMENSION, Word, words};
use undertone_core::pack::format::MAX_WORDS;

use crate::corpus::CorpusDocument;
use crate::encoder::{Encoder, encode_all};
use crate::error::{Error, Result};
use crate::packer::{LexiconData, lexicon_pack, limit};
use crate::progress::Progress;
use crate::vectors::principal;

/// The constant a of the weights.
const WEIGHT_CONSTANT: f64 = 1e-3;

/// This share of the coordinates fits a byte; the rest is clamped, so that a few outliers do not
/// coarsen all others.
const UNCLAMPED: f64 = 0.999;

/// Word counts of public corpora.
#[derive(Clone, Debug, Default)]
pub struct WordCounts {
    counts: HashMap<Word, u64>,
    total: u64,
}

impl WordCounts {
    /// Counts the words of one document.
    pub fn add(&mut self, document: &CorpusDocument) {
        for word in words(&document.text) {
            *self.counts.entry(word).or_default() += 1;
            self.total += 1;
        }
    }

    /// The number of different words.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// How much a word counts in a sentence, in 65535ths: a/(a + frequency).
    pub fn weight(&self, word: &str) -> u16 {
        let count = Word::try_from(word).ok();
        let count = count.and_then(|word| self.counts.get(&word)).copied();
        weight(count.unwrap_or(0) as f64 / self.total.max(1) as f64)
    }

    /// The `n` most frequent words with their frequencies; equally frequent ones in byte order.
    ///
    /// # Errors
    /// [`Error::TooFewWords`].
    fn most_frequent(&self, n: usize) -> Result<Vec<(&str, f64)>> {
        let mut all: Vec<(&str, u64)> = self.counts.iter().map(|(w, c)| (w.as_str(), *c)).collect();
        if all.len() < n {
            return Err(Error::TooFewWords {
                found: all.len(),
                wanted: n,
            });
        }
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(n);
        Ok(all
            .into_iter()
            .map(|(w, c)| (w, c as f64 / self.total as f64))
            .collect())
    }
}

/// Distils `encoder` into a pack that holds a lexicon of the `n_words` most frequent words in
/// `dimension` coordinates.
///
/// # Errors
/// [`Error::TooFewWords`]; [`Error::PackLimit`] for a size outside the format or a dimension above
/// the encoder's; [`Error::NotFinite`]; errors of the encoder.
pub fn distil(
    encoder: &dyn Encoder,
    counts: &WordCounts,
    n_words: usize,
    dimension: usize,
) -> Result<Vec<u8>> {
    let full = encoder.dimension();
    limit("words", n_words, 2, MAX_WORDS as usize)?;
    limit(
        "coordinates",
        dimension,
        1,
        full.min(MAX_LEXICON_DIMENSION as usize),
    )?;
    let chosen = counts.most_frequent(n_words)?;
    let texts: Vec<&str> = chosen.iter().map(|(word, _)| *word).collect();
    let progress = Progress::new("encoding words", texts.len() as u64);
    let rows = encode_all(encoder, &texts, &progress)?;
    if let Some(position) = rows.iter().position(|x| !x.is_finite()) {
        return Err(Error::NotFinite {
            encoder: encoder.identity().name.clone(),
            sentence: position / full,
        });
    }

    let (centred, directions) = principal(&rows, full, dimension);
    let projected = centred * directions;
    let mut magnitudes: Vec<f64> = projected.iter().map(|x| x.abs()).collect();
    magnitudes.sort_unstable_by(f64::total_cmp);
    let step = magnitudes[((magnitudes.len() - 1) as f64 * UNCLAMPED) as usize] / 127.0;
    let quantise = |x: &f64| (x / step).round().clamp(-127.0, 127.0) as i8;
    let mut entries: Vec<(String, u16, Vec<i8>)> = chosen
        .iter()
        .zip(projected.row_iter())
        .map(|((word, frequency), row)| {
            let row = row.iter().map(quantise).collect();
            ((*word).to_owned(), weight(*frequency), row)
        })
        .collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));

    let lexicon = LexiconData {
        // Vectors of about the encoder's own length; only powers of two are possible.
        exponent: (step / 256.0).log2().round().clamp(-24.0, 24.0) as i32,
        words: entries,
    };
    let name = format!("lexicon:{}", encoder.identity().name);
    lexicon_pack(&name, dimension, lexicon)
}

/// What a word of this frequency weighs, in 65535ths.
fn weight(frequency: f64) -> u16 {
    let weight = WEIGHT_CONSTANT / (WEIGHT_CONSTANT + frequency);
    (weight * f64::from(u16::MAX)).round().max(1.0) as u16
}
