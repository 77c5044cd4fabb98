//! Releases of documents on the host: the same `core` as on a phone, with the operating system's
//! entropy.

use rand::rngs::{SysError, SysRng};
use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::projective;
use undertone_core::release::Release;
use undertone_core::rng::Entropy;
use undertone_core::rng::rand_core::{TryCryptoRng, TryRng};
use undertone_core::scores::SUMS_PER_ROW;
use undertone_core::select::{MAX_LEVELS, Ratio, Rule};
use undertone_core::unit::Unit;
use undertone_core::whole_text;

use crate::encoder::{Encoder, PrivateEncoder};
use crate::error::{Error, Result};
use crate::text;

/// The most sentences of a document that are used; later ones are left out.
pub const MAX_SENTENCES: usize = 128;

/// The most projection directions of a pack.
pub const MAX_DIRECTIONS: usize = 100;

/// The most candidates of a pack with scores.
pub const MAX_SCORED: usize = SUMS_PER_ROW * MAX_DIRECTIONS;

/// The document type of this crate and of the C library.
pub type HostDocument<'p> = Document<'p, MAX_SENTENCES, MAX_DIRECTIONS>;

/// Returns the sentences of a document that enter a release: the first [`MAX_SENTENCES`].
///
/// # Leaks
/// See [`text::sentences`]. A truncated document promises ε, not ε/2, when a sentence is added.
///
/// # Shapes
/// `text`: any.
///
/// # Cost
/// See [`text::sentences`].
pub fn sentences(text: &str) -> Vec<&str> {
    // The rest of the text is not split.
    text::each_sentence(text).take(MAX_SENTENCES).collect()
}

/// Whether `pack` takes a text as one sentence. Then only a pushed text is protected as a sentence,
/// and its pieces are not sentences.
pub fn takes_whole_texts(pack: &Pack<'_>) -> bool {
    let features = pack.features();
    features.is_some_and(|features| features.takes_whole_texts())
}

/// Returns ε as the nearest floating-point number, for reports and estimates only. Its shortest
/// decimal form is ε.
pub fn epsilon_f64(epsilon: Epsilon) -> f64 {
    // Not a product, because 1e-6 is not exact.
    f64::from(epsilon.micro()) / 1e6
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl TryRng for OsEntropy {
    type Error = SysError;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        SysRng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        SysRng.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        SysRng.try_fill_bytes(out)
    }
}

impl TryCryptoRng for OsEntropy {}
impl Entropy for OsEntropy {}

/// Refuses an encoder other than the one the pack was built with.
///
/// # Errors
/// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder), naming both.
pub fn check_encoder(pack: &Pack<'_>, encoder: &dyn Encoder) -> Result<()> {
    let identity = encoder.identity();
    if encoder.dimension() == pack.dimension() && identity.digest == *pack.encoder_digest() {
        return Ok(());
    }
    Err(Error::encoder(format!(
        "the pack was built with the encoder `{}` ({} coordinates), not with \
         `{}` ({} coordinates); name the pack's encoder with ⟨encoder⟩",
        pack.encoder_name(),
        pack.dimension(),
        identity.name,
        encoder.dimension()
    )))
}

/// The mechanism of a document release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A sentence: [`Document::release`] by this rule.
    Sentence(Rule),
    /// The whole text: [`Document::release_whole_text`].
    WholeText,
    /// The whole text, by a point: [`Document::release_projective`].
    Projective,
}

impl Method {
    /// The privacy unit of the promise, which its grants must be for.
    pub fn unit(self) -> Unit {
        match self {
            Self::Sentence(_) => Unit::Sentence,
            Self::WholeText | Self::Projective => Unit::WholeText,
        }
    }

    /// Returns whether the unit is the whole text.
    pub fn is_whole_text(self) -> bool {
        matches!(self, Self::WholeText | Self::Projective)
    }

    /// Returns the ε of a release among `candidates` candidates: `epsilon`, or less if the integer
    /// weights of the mechanism cannot express it.
    pub fn served(self, epsilon: Epsilon, candidates: u32) -> Micro {
        let largest = match self {
            Self::Sentence(rule) => {
                let ratio = Ratio::new(Epsilon::MAX);
                whole_text::whole_text_epsilon(rule, ratio, MAX_LEVELS, candidates)
            }
            Self::WholeText => whole_text::LARGEST_EPSILON,
            Self::Projective => projective::LARGEST_EPSILON,
        };
        Micro(largest.0.min(epsilon.micro().into()))
    }

    /// Formats `epsilon` for people, with the served value if that is less: `3`, or `40 (served as
    /// 33.271065)`.
    pub fn epsilon_text(self, epsilon: Epsilon, candidates: u32) -> String {
        let served = self.served(epsilon, candidates);
        if served.0 < epsilon.micro().into() {
            format!("{epsilon} (served as {served})")
        } else {
            epsilon.to_string()
        }
    }
}

/// Creates an empty document under `pack`.
///
/// # Errors
/// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack supports no release.
pub fn empty<'p>(pack: &Pack<'p>) -> Result<HostDocument<'p>> {
    Ok(HostDocument::new(pack)?)
}

/// Clears `document` and adds sentences with their embeddings.
///
/// # Leaks
/// See [`Document::push_encoded`]; the time reveals the number of sentences.
///
/// # Shapes
/// `sentences`: `[k]`; `embeddings`: `[k][dimension]` f32, row-major. Sentences beyond the
/// [`Document`]'s limit are left out.
///
/// # Errors
/// [`ErrorKind::Release`](crate::error::ErrorKind::Release) for embeddings of another dimension.
///
/// # Cost
/// A [`push_encoded`](Document::push_encoded) for each sentence.
pub fn fill(document: &mut HostDocument<'_>, sentences: &[&str], embeddings: &[f32]) -> Result<()> {
    document.clear();
    let embeddings = embeddings.chunks_exact(document.dimension());
    for (sentence, embedding) in sentences.iter().zip(embeddings) {
        match document.push_encoded(sentence.as_bytes(), embedding) {
            // The rest of a long document is left out, as documented.
            Err(DocumentError::Full { .. }) => break,
            pushed => pushed?,
        }
    }
    Ok(())
}

/// Clears `document` and adds the sentences into which the encoder [splits](Encoder::split) a text,
/// each encoded alone.
///
/// # Leaks
/// See [`sentences`], the encoder and [`Document::push_encoded`].
///
/// # Shapes
/// `text`: any.
///
/// # Errors
/// [`ErrorKind::Release`](crate::error::ErrorKind::Release) or
/// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) for an encoder of another dimension; no
/// error depends on the text.
///
/// # Cost
/// A run of the encoder and a [`push_encoded`](Document::push_encoded) for each sentence.
pub fn fill_text(
    document: &mut HostDocument<'_>,
    encoder: &PrivateEncoder<'_>,
    text: &str,
) -> Result<()> {
    document.clear();
    let mut vector = vec![0.0; encoder.dimension()];
    for sentence in encoder.split(text) {
        encoder.encode(sentence, &mut vector)?;
        document.push_encoded(sentence.as_bytes(), &vector)?;
    }
    Ok(())
}

/// Releases one document given by its sentences and their embeddings.
///
/// # Guarantee
/// The guarantee, leaks, assumptions and source of [`Document::release`],
/// [`Document::release_whole_text`] or [`Document::release_projective`], by `method`.
///
/// # Leaks
/// See also [`fill`].
///
/// # Shapes
/// See [`fill`].
///
/// # Errors
/// [`ErrorKind::Release`](crate::error::ErrorKind::Release).
///
/// # Cost
/// See [`fill`] and [`draw`].
///
/// # Source
/// See [`Document`].
pub fn release(
    document: &mut HostDocument<'_>,
    sentences: &[&str],
    embeddings: &[f32],
    grant: Grant,
    method: Method,
) -> Result<Release> {
    fill(document, sentences, embeddings)?;
    draw(document, grant, method)
}

/// Draws a release from the sentences of a document, and clears it.
///
/// # Guarantee
/// The guarantee, leaks, assumptions and source of [`Document::release`],
/// [`Document::release_whole_text`] or [`Document::release_projective`], by `method`.
///
/// # Leaks
/// See [`Document`].
///
/// # Errors
/// [`ErrorKind::Release`](crate::error::ErrorKind::Release).
///
/// # Cost
/// See [`Document::release`].
///
/// # Source
/// See [`Document`].
pub fn draw(document: &mut HostDocument<'_>, grant: Grant, method: Method) -> Result<Release> {
    let release = match method {
        Method::Sentence(rule) => document.release(grant, rule, &mut OsEntropy),
        Method::WholeText => document.release_whole_text(grant, &mut OsEntropy),
        Method::Projective => document.release_projective(grant, &mut OsEntropy),
    };
    Ok(release?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The served ε never exceeds the largest ratio that the engine's weights express.
    #[test]
    fn no_more_is_served_than_weights_express() {
        let served = |method: Method, text: &str| method.served(text.parse().unwrap(), 12).0;
        for method in [Method::WholeText, Method::Projective] {
            assert_eq!(served(method, "27.7"), 27_700_000);
        }
        assert_eq!(served(Method::WholeText, "1000"), 33_271_065);
        assert_eq!(served(Method::Projective, "1000"), 27_725_888);
        // ln 12 + ln 2⁶⁴, and ln 11 + ln 2⁴⁸.
        let flip = Method::Sentence(Rule::PermuteAndFlip);
        let exponential = Method::Sentence(Rule::Exponential);
        assert!(served(flip, "1000").abs_diff(46_846_326) <= 2);
        assert!(served(exponential, "1000").abs_diff(35_668_960) <= 2);
        assert_eq!(served(flip, "46.8"), 46_800_000);
        assert_eq!(flip.epsilon_text("3".parse().unwrap(), 12), "3");
        let text = Method::WholeText.epsilon_text("40".parse().unwrap(), 12);
        assert_eq!(text, "40 (served as 33.271065)");
    }

    /// The digits of an ε in reports parse to the same ε.
    #[test]
    fn digits_of_an_epsilon_are_read_back() {
        let small = 1..2_000_000;
        for micro in small.chain((2_000_000..=1_000_000_000).step_by(99_991)) {
            let epsilon = Epsilon::from_micro(micro).unwrap();
            let shown = epsilon_f64(epsilon).to_string();
            assert_eq!(shown.parse(), Ok(epsilon), "{shown}");
            assert_eq!(shown, epsilon.to_string());
        }
    }
}
