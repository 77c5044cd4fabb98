//! The lexicon of `core` as an encoder.

use std::path::Path;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use undertone_core::lexicon::{Lexicon, Matching};
use undertone_core::pack::Pack;
use zerocopy::IntoBytes;

use super::{Encoder, EncoderIdentity};
use crate::error::{Error, Result};

/// The lexicon that ships with this crate; `assets/LEXICON.md` describes its origin.
static EMBEDDED: &[u8] = include_bytes!("../../assets/lexicon.pack");

static EMBEDDED_PACK: LazyLock<Pack<'static>> =
    LazyLock::new(|| Pack::parse(EMBEDDED).expect("a test parses the embedded lexicon"));

/// Computes sentence vectors from the words of a lexicon, as a device without a neural runtime
/// does.
#[derive(Clone, Debug)]
pub struct LexiconEncoder<'a> {
    lexicon: Lexicon<'a>,
    identity: EncoderIdentity,
}

impl LexiconEncoder<'static> {
    /// The lexicon that ships with this crate.
    pub fn embedded() -> Self {
        Self::new(&EMBEDDED_PACK).expect("a test finds the embedded lexicon")
    }
}

impl<'a> LexiconEncoder<'a> {
    /// Uses the lexicon in `pack`, if it has one.
    pub fn new(pack: &Pack<'a>) -> Option<Self> {
        let lexicon = pack.lexicon()?;
        Some(Self {
            identity: EncoderIdentity {
                name: pack.encoder_name().to_owned(),
                digest: digest(&lexicon),
            },
            lexicon,
        })
    }

    /// [`new`](Self::new) for a pack that was read from `path`.
    ///
    /// # Errors
    /// [`ErrorKind::Pack`](crate::error::ErrorKind::Pack).
    pub fn of_file(pack: &Pack<'a>, path: &Path) -> Result<Self> {
        Self::new(pack).ok_or_else(|| Error::no_lexicon(path))
    }

    /// The lexicon.
    pub fn lexicon(&self) -> &Lexicon<'a> {
        &self.lexicon
    }
}

impl Encoder for LexiconEncoder<'_> {
    fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    fn dimension(&self) -> usize {
        self.lexicon.dimension()
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        let written = self.lexicon.sentence_vector(sentence, out);
        let name = &self.identity.name;
        written.map_err(|error| Error::wrong_dimension(name, error.expected, error.found))
    }
}

/// Identifies a lexicon by its content, whatever pack holds it.
pub(crate) fn digest(lexicon: &Lexicon<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"undertone lexicon 1\0");
    hash.update((lexicon.dimension() as u64).to_le_bytes());
    hash.update(lexicon.exponent().to_le_bytes());
    match lexicon.matching() {
        Matching::Words => {}
        // No dimension or word has this value, so the two cases cannot collide.
        Matching::Longest => hash.update(u64::MAX.to_le_bytes()),
    }
    for index in 0..lexicon.word_count() {
        let word = lexicon.word(index).unwrap_or_default();
        let (weight, vector) = lexicon.entry(index).unwrap_or_default();
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word);
        hash.update(weight.to_le_bytes());
        hash.update(vector.as_bytes());
    }
    for index in 0..lexicon.phrase_count() {
        for word in lexicon.phrase(index).unwrap_or_default() {
            hash.update((word as u64).to_le_bytes());
        }
        let (weight, vector) = lexicon.phrase_entry(index).unwrap_or_default();
        hash.update(weight.to_le_bytes());
        hash.update(vector.as_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_lexicon_knows_everyday_english() {
        let encoder = LexiconEncoder::embedded();
        for word in ["the", "hospital", "bicycle", "don't", "garden"] {
            assert!(encoder.lexicon().find(word).is_some(), "{word}");
        }
        let mut vector = vec![0.0; encoder.dimension()];
        encoder
            .encode("The nurse took my blood pressure.", &mut vector)
            .unwrap();
        assert!(vector.iter().any(|x| *x != 0.0));
    }
}
