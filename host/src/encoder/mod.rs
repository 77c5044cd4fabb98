//! Sentence encoders, which turn a sentence into a vector.
//!
//! [`OnnxEncoder`] runs a sentence-transformers model that was exported to ONNX. It uses the
//! built-in engine `rten`, or ONNX Runtime, which is faster and is loaded at run time from a given
//! library (see [`Runtime`]). Both need the feature `models`, which is on by default.

pub mod embeddings;
pub(crate) mod lexicon;
#[cfg(feature = "models")]
pub(crate) mod onnx;
pub mod vectors;

use std::panic::{self, AssertUnwindSafe};

use rayon::prelude::*;
use undertone_core::pack::Pack;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::release::document;

pub use lexicon::LexiconEncoder;
#[cfg(feature = "models")]
pub use onnx::{OnnxEncoder, Runtime};

/// The environment variable with the path of ONNX Runtime's shared library.
pub const RUNTIME_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The minor version of the oldest supported ONNX Runtime 1.x.
#[cfg(feature = "models")]
pub(crate) const RUNTIME_OLDEST_MINOR: u32 = 17;

/// Turns a sentence into a vector.
///
/// Private sentences are encoded one per call on purpose. The privacy promise is about neighbouring
/// lists of sentences, so replacing one sentence may change one vector only. In a batch, vectors
/// can depend on each other: padding changes the order of sums, and dynamically quantised models
/// take their scales from the whole batch. An implementation must return the same bits for the same
/// sentence, whatever else was or is being encoded, on any number of threads. Public sentences may
/// share a run of the model ([`encode_public`](Self::encode_public)), with the same bits.
pub trait Encoder: Send + Sync {
    /// Identifies the encoder. Vectors of different identities must not be mixed.
    fn identity(&self) -> &EncoderIdentity;

    /// The number of coordinates of a vector, at least 1.
    fn dimension(&self) -> usize;

    /// Writes the vector of `sentence` to `out`.
    ///
    /// # Leaks
    /// The vector is as private as the sentence. The sentence affects the time and, with neural
    /// encoders, the memory in use and whether there is an error.
    ///
    /// # Shapes
    /// `sentence`: any string, even empty. `out`: `[dimension]` f32; NaN and infinite coordinates
    /// are written unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if `out` is not as long as
    /// [`dimension`](Self::dimension); [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) if
    /// the encoder fails.
    ///
    /// # Cost
    /// One run of the model, or a look-up for each word.
    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()>;

    /// Writes the vectors of *public* sentences to `rows`, with the same bits as
    /// [`encode`](Self::encode). An implementation may be faster by sharing work between sentences;
    /// the default encodes each alone.
    ///
    /// Runs on the threads of the current `rayon` pool. The bits do not depend on their number.
    ///
    /// # Leaks
    /// Time, memory and errors may depend on all sentences at once. Use [`encode_all`] for private
    /// ones.
    ///
    /// # Shapes
    /// `sentences`: any strings. `rows`: `[sentences.len() * dimension]` f32, one row per sentence.
    /// `progress`: advances by one for each sentence.
    ///
    /// # Errors
    /// An error of [`encode`](Self::encode); the content of `rows` is then unspecified.
    ///
    /// # Panics
    /// If the length of `rows` is wrong.
    ///
    /// # Cost
    /// At most that of [`encode`](Self::encode) for each sentence.
    fn encode_public(
        &self,
        sentences: &[&str],
        rows: &mut [f32],
        progress: &Progress,
    ) -> Result<()> {
        each_alone(self, sentences, rows, progress)
    }

    /// Splits a text into the sentences that are encoded: [`document::sentences`].
    ///
    /// # Leaks
    /// Time and memory depend on the text.
    ///
    /// # Shapes
    /// `text`: any string, even empty.
    ///
    /// # Cost
    /// One pass over the text.
    fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        document::sentences(text)
    }
}

/// An encoder for private sentences. It always encodes each alone, and returns the zero vector for
/// a sentence on which the wrapped encoder fails.
///
/// An error would let the maker of an encoder test whether a private text has a certain word: a
/// tokenizer without a token for unknown words fails on some texts only. For public text an error
/// is better, so the wrapped encoder returns one.
pub struct PrivateEncoder<'a>(&'a dyn Encoder);

impl<'a> PrivateEncoder<'a> {
    /// Wraps an encoder and removes the errors and panics that depend on a sentence.
    pub fn new(encoder: &'a dyn Encoder) -> Self {
        Self(encoder)
    }
}

impl Encoder for PrivateEncoder<'_> {
    fn identity(&self) -> &EncoderIdentity {
        self.0.identity()
    }

    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// Encodes as the wrapped encoder does, or writes zeros.
    ///
    /// # Leaks
    /// The vector is as private as the sentence. Time depends on it. If the encoder panics, the
    /// program's panic hook gets a message that could quote the sentence; a program that publishes
    /// such messages must replace the hook.
    ///
    /// # Shapes
    /// See the wrapped encoder.
    ///
    /// # Errors
    /// Only for a wrong length of `out`, which does not depend on the sentence.
    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        // Checked here, because an encoder could choose any kind of error by the sentence.
        let dimension = self.dimension();
        if out.len() != dimension {
            let name = &self.identity().name;
            return Err(Error::wrong_dimension(name, dimension, out.len()));
        }
        let encode = AssertUnwindSafe(|| self.0.encode(sentence, out));
        if !matches!(panic::catch_unwind(encode), Ok(Ok(()))) {
            out.fill(0.0);
        }
        Ok(())
    }

    fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        self.0.split(text)
    }
}

/// An encoder for packs that use features only: every sentence has the zero vector of one
/// coordinate.
#[derive(Clone, Debug)]
pub struct NoEncoder {
    identity: EncoderIdentity,
    takes_whole_texts: bool,
}

impl NoEncoder {
    /// The encoder for `pack`, which takes texts as the pack does.
    pub fn of(pack: &Pack<'_>) -> Self {
        Self {
            takes_whole_texts: document::takes_whole_texts(pack),
            ..Self::default()
        }
    }
}

impl Default for NoEncoder {
    fn default() -> Self {
        Self {
            identity: EncoderIdentity {
                name: "none".to_owned(),
                ..EncoderIdentity::default()
            },
            takes_whole_texts: false,
        }
    }
}

impl Encoder for NoEncoder {
    fn identity(&self) -> &EncoderIdentity {
        &self.identity
    }

    fn dimension(&self) -> usize {
        1
    }

    fn encode(&self, _: &str, out: &mut [f32]) -> Result<()> {
        out.fill(0.0);
        Ok(())
    }

    fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        if self.takes_whole_texts {
            vec![text]
        } else {
            document::sentences(text)
        }
    }
}

/// Identifies an encoder by its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncoderIdentity {
    /// A name for people.
    pub name: String,
    /// SHA-256 over the encoder's files.
    pub digest: [u8; 32],
}

/// Encodes all sentences, private or not, each alone. Returns one row of
/// [`dimension`](Encoder::dimension) coordinates per sentence, in order.
///
/// Runs on the threads of the current `rayon` pool. The bits do not depend on their number.
///
/// # Errors
/// An error of [`Encoder::encode`]; no vector is returned then.
pub fn encode_all(
    encoder: &dyn Encoder,
    sentences: &[impl AsRef<str> + Sync],
    progress: &Progress,
) -> Result<Vec<f32>> {
    let mut rows = vec![0.0; sentences.len() * encoder.dimension()];
    each_alone(encoder, sentences, &mut rows, progress)?;
    Ok(rows)
}

/// [`encode_all`] for *public* sentences: the same vectors, but faster
/// ([`Encoder::encode_public`]).
///
/// # Errors
/// See [`encode_all`].
pub fn encode_all_public(
    encoder: &dyn Encoder,
    sentences: &[impl AsRef<str>],
    progress: &Progress,
) -> Result<Vec<f32>> {
    let mut rows = vec![0.0; sentences.len() * encoder.dimension()];
    let sentences: Vec<&str> = sentences.iter().map(AsRef::as_ref).collect();
    encoder.encode_public(&sentences, &mut rows, progress)?;
    Ok(rows)
}

/// [`encode_all`] into existing rows.
pub(crate) fn each_alone<E: Encoder + ?Sized>(
    encoder: &E,
    sentences: &[impl AsRef<str> + Sync],
    rows: &mut [f32],
    progress: &Progress,
) -> Result<()> {
    assert_eq!(
        rows.len(),
        sentences.len() * encoder.dimension(),
        "one row a sentence"
    );
    rows.par_chunks_exact_mut(encoder.dimension())
        .zip(sentences)
        .try_for_each(|(row, sentence)| {
            encoder.encode(sentence.as_ref(), row)?;
            progress.advance(1);
            Ok(())
        })
}

/// Refuses vectors of `encoder` with NaN or infinite coordinates. `rows` is
/// `[sentences][dimension]`; `before` sentences precede the first.
pub(crate) fn check_finite(encoder: &dyn Encoder, rows: &[f32], before: usize) -> Result<()> {
    match rows.iter().position(|x| !x.is_finite()) {
        Some(position) => Err(Error::encoder(format!(
            "`{}` gave NaN or infinity for sentence {} of the public corpus; use the \
             fp32 model",
            encoder.identity().name,
            before + position / encoder.dimension()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// Fails on one word, and panics on another.
    struct Picky(EncoderIdentity);

    impl Encoder for Picky {
        fn identity(&self) -> &EncoderIdentity {
            &self.0
        }

        fn dimension(&self) -> usize {
            2
        }

        fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
            out.fill(7.0);
            match sentence {
                "known" if out.len() == 2 => Ok(()),
                "known" => Err(Error::wrong_dimension(&self.0.name, 2, out.len())),
                "argument" => Err(Error::argument("chosen by the sentence")),
                "panic" => panic!("a bug"),
                _ => Err(Error::encoder("unknown")),
            }
        }

        fn encode_public(&self, _: &[&str], _: &mut [f32], _: &Progress) -> Result<()> {
            unreachable!("a batch is for public sentences");
        }
    }

    #[test]
    fn what_an_encoder_cannot_take_is_the_zero_vector_if_it_is_private() {
        let picky = Picky(EncoderIdentity::default());
        let private = PrivateEncoder::new(&picky);
        let cases = [
            ("known", 7.0),
            ("unknown", 0.0),
            ("argument", 0.0),
            ("panic", 0.0),
        ];
        for (sentence, expected) in cases {
            let mut out = [f32::NAN; 2];
            private.encode(sentence, &mut out).unwrap();
            assert_eq!(out, [expected; 2], "{sentence}");
        }
        // This error does not depend on a sentence.
        let error = private.encode("known", &mut [0.0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(picky.encode("unknown", &mut [0.0; 2]).is_err());
        // Each sentence is encoded alone by every function.
        let rows = encode_all_public(&private, &["known", "unknown"], &Progress::hidden());
        assert_eq!(rows.unwrap(), [7.0, 7.0, 0.0, 0.0]);
    }
}
