//! Encoders for tests, small enough to reason about.

use undertone::Result;
use undertone::corpus::CorpusDocument;
use undertone::encoder::{Encoder, EncoderIdentity};

/// An encoder that is a function of the sentence.
pub(crate) struct Teacher {
    identity: EncoderIdentity,
    dimension: usize,
    encode: fn(&str, &mut [f32]),
}

impl Teacher {
    /// `encode` writes the vector of a sentence over zeros.
    pub(crate) fn new(name: &str, dimension: usize, encode: fn(&str, &mut [f32])) -> Self {
        let identity = EncoderIdentity {
            name: name.to_owned(),
            digest: [7; 32],
        };
        Self {
            identity,
            dimension,
            encode,
        }
    }
}

impl Encoder for Teacher {
    fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        out.fill(0.0);
        (self.encode)(sentence, out);
        Ok(())
    }
}

pub(crate) fn document(text: &str) -> CorpusDocument {
    CorpusDocument {
        text: text.to_owned(),
        ..CorpusDocument::default()
    }
}
