//! Documents whose words are made private one by one, for the comparison of `undertone-lab
//! sentences`.
//!
//! The guarantee differs from that for sentences: it is metric, for each word, and the number of
//! words and sentences and their places are public (Feyisetan, Balle, Drake and Diethe 2020).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, Sensitivity};
use undertone_core::lexicon;
use undertone_core::pack::Pack;
use undertone_core::words::{Vocabulary, WordMechanism, WordsError};

use crate::documents::{Classify, Draw, Mechanism};
use undertone::encoder::vectors::{DocumentVectors, mean};
use undertone::encoder::{Encoder, encode_all_public};
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::progress::Progress;
use undertone::release::document::sentences;

/// Inputs of word replacement.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// A pack with the vocabulary.
    pub pack: &'a [u8],
    /// The encoder of the replaced sentences: the same as for the documents.
    pub encoder: &'a dyn Encoder,
    /// Number of test documents to measure, at most; they are drawn uniformly and released once.
    pub documents: usize,
}

/// Checks, before any measurement, that noise can be drawn for vectors of this dimension.
///
/// # Errors
/// [`ErrorKind::Release`](undertone::error::ErrorKind::Release).
pub fn check(vectors: &Vectors, epsilons: &[Epsilon]) -> Result<()> {
    let dimension = u32::try_from(vectors.dimension).unwrap_or(u32::MAX);
    epsilons.iter().try_for_each(|epsilon| {
        let noise = Laplace::new(dimension, *epsilon, Sensitivity::ONE);
        noise
            .map(drop)
            .map_err(|error| Error::from(WordsError::Laplace(error)))
    })
}

/// Replaces every word, encodes every sentence, and classifies as without privacy.
pub(crate) struct Exchanged<'a> {
    words: Words<'a>,
    mechanism: WordMechanism,
    classifier: Rc<dyn Classify>,
    /// The sentences of each document.
    texts: Vec<Vec<&'a str>>,
    /// The vectors of all sentences by draw, because documents are classified both whole and cut.
    encoded: RefCell<HashMap<Draw, Vec<f32>>>,
}

impl<'a> Exchanged<'a> {
    pub(crate) fn new(
        words: Words<'a>,
        mechanism: WordMechanism,
        classifier: Rc<dyn Classify>,
        texts: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            words,
            mechanism,
            classifier,
            texts: texts.map(sentences).collect(),
            encoded: RefCell::default(),
        }
    }

    /// The vectors of the released sentences, in order.
    fn encode(&self, draw: &Draw) -> Result<Vec<f32>> {
        let pack = Pack::parse(self.words.pack).map_err(Error::from)?;
        let vocabulary = Vocabulary::new(&pack).map_err(Error::from)?;
        let progress = Progress::new("exchanging words", self.texts.len() as u64);
        let mechanism = self.mechanism;
        let exchange = |(number, sentences): (usize, &Vec<&str>)| -> Result<Vec<String>> {
            let rng = &mut draw.rng(number);
            let mut exchanged = Vec::new();
            for sentence in sentences {
                let mut words = Vec::new();
                for word in lexicon::words(sentence) {
                    let known = vocabulary.lexicon().find(&word).map(|word| word as u32);
                    let word = known.unwrap_or(vocabulary.fallback());
                    let drawn = hazmat::draw_word(&vocabulary, word, mechanism, draw.epsilon, rng);
                    let drawn = drawn.map_err(Error::from)? as usize;
                    words.push(vocabulary.lexicon().word(drawn).unwrap_or_default());
                }
                exchanged.push(words.join(" "));
            }
            progress.advance(1);
            Ok(exchanged)
        };
        let exchanged = self.texts.par_iter().enumerate().map(exchange);
        let exchanged = exchanged.collect::<Result<Vec<Vec<String>>>>()?.concat();
        drop(progress);
        let progress = Progress::new("encoding sentences", exchanged.len() as u64);
        encode_all_public(self.words.encoder, &exchanged, &progress)
    }
}

impl Mechanism for Exchanged<'_> {
    fn setting(&self) -> String {
        String::new()
    }

    /// `documents` are the documents of the texts, whole or cut.
    fn predict(&self, documents: &DocumentVectors, draws: &[Draw]) -> Result<Vec<Vec<usize>>> {
        assert_eq!(documents.len(), self.texts.len(), "one text a document");
        let dimension = documents.dimension();
        let predict = |draw: &Draw| {
            if !self.encoded.borrow().contains_key(draw) {
                let rows = self.encode(draw)?;
                self.encoded.borrow_mut().insert(*draw, rows);
            }
            let encoded = self.encoded.borrow();
            let mut rest = encoded[draw].as_slice();
            let mut means = Vec::with_capacity(documents.len() * dimension);
            for (number, sentences) in self.texts.iter().enumerate() {
                let (own, after) = rest.split_at(sentences.len() * dimension);
                let shown = documents.range(number).len() * dimension;
                means.extend(mean(&own[..shown.min(own.len())], dimension));
                rest = after;
            }
            Ok(self.classifier.predict(&means))
        };
        draws.iter().map(predict).collect()
    }
}
