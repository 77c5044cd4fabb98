//! Sentence encoders: a sentence in, a vector out.
//!
//! [`OnnxEncoder`] runs a sentence-transformers model that was exported to ONNX, on one of two
//! engines: `rten`, which is built in, or ONNX Runtime, which is faster and is loaded while running
//! when a library is named (see [`Runtime`]). Both need the feature `models`, which is on by default.

pub mod embeddings;
pub(crate) mod lexicon;
#[cfg(feature = "models")]
pub(crate) mod onnx;
pub mod vectors;

use std::panic::{self, AssertUnwindSafe};

use rayon::prelude::*;

use crate::error::{Cause, Error, Result};
use crate::progress::Progress;

pub use lexicon::LexiconEncoder;
#[cfg(feature = "models")]
pub use onnx::{OnnxEncoder, Runtime};

/// The environment variable that names the shared library of ONNX Runtime.
pub const RUNTIME_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The oldest ONNX Runtime 1.x that has the functions used here.
pub(crate) const RUNTIME_OLDEST_MINOR: u32 = 17;

/// Turns a sentence into a vector.
///
/// Private sentences one a call, on purpose. The privacy promise is about neighbouring lists of sentences, so
/// replacing one sentence may change one vector only. In a batch, vectors can depend on their
/// neighbours: padding changes the order of sums, and dynamically quantised models take their scales
/// from the whole batch. An implementation must compute the same bits for the same sentence whatever
/// was encoded before, beside or after it, on any number of threads. Public sentences may share a run of the
/// model ([`encode_public`](Self::encode_public)), and have the same bits all the same.
pub trait Encoder: Send + Sync {
    /// Which encoder made a vector. Vectors of different identities do not belong together.
    fn identity(&self) -> &EncoderIdentity;

    /// The number of coordinates of a vector, at least 1.
    fn dimension(&self) -> usize;

    /// Writes the vector of `sentence` to `out`.
    ///
    /// # Leaks
    /// The vector is as private as the sentence. Time, and with neural encoders the memory in use and whether
    /// there is an error, depend on it.
    ///
    /// # Shapes
    /// `sentence`: any string, the empty one too. `out`: `[dimension]` f32; NaN and infinite coordinates
    /// are written as they are.
    ///
    /// # Errors
    /// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) if `out` is not as long as
    /// [`dimension`](Self::dimension), or if the encoder fails.
    ///
    /// # Cost
    /// One run of the model, or a look-up for each word: the implementation says.
    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()>;

    /// Writes the vectors of *public* sentences to `rows`: the bits of [`encode`](Self::encode), in less time where an
    /// implementation can share work between sentences. The one given here encodes each alone.
    ///
    /// Runs on the threads of the current `rayon` pool. The bits do not depend on their number.
    ///
    /// # Leaks
    /// Time, memory and errors may depend on all sentences at once: use [`encode_all`] for private ones.
    ///
    /// # Shapes
    /// `sentences`: any strings. `rows`: `[sentences.len() * dimension]` f32, one row a sentence. `progress`: advances by
    /// one for each sentence.
    ///
    /// # Errors
    /// One of those of [`encode`](Self::encode); what `rows` holds then is not said.
    ///
    /// # Panics
    /// If `rows` is not as long as said.
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
}

/// An encoder of private sentences: each is encoded alone, whatever is called, and one that it cannot take is the zero
/// vector.
///
/// With an error, anyone who makes the encoder could ask whether a private text has a certain word: a tokenizer
/// without a token for unknown words fails on some texts and not on others. For public text an error is better, and
/// the encoder itself gives it.
pub struct PrivateEncoder<'a>(&'a dyn Encoder);

impl<'a> PrivateEncoder<'a> {
    /// The same encoder, without the errors and panics that depend on a sentence.
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

    /// As the encoder does, or writes zeros.
    ///
    /// # Leaks
    /// The vector is as private as the sentence. Time depends on it. If the encoder panics, the panic hook of the
    /// program is called with a message that could quote the sentence: a program that gives it out sets another hook.
    ///
    /// # Shapes
    /// Those of the encoder.
    ///
    /// # Errors
    /// That of a wrong length of `out` only, which depends on no sentence.
    ///
    /// # Cost
    /// That of the encoder.
    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        let encode = AssertUnwindSafe(|| self.0.encode(sentence, out));
        match panic::catch_unwind(encode) {
            Ok(Ok(())) => {}
            Ok(Err(error)) if matches!(error.cause(), Cause::WrongDimension { .. }) => {
                return Err(error);
            }
            Ok(Err(_)) | Err(_) => out.fill(0.0),
        }
        Ok(())
    }
}

/// No encoder, for packs whose features say all: every sentence has the vector 0, of one coordinate.
#[derive(Clone, Debug)]
pub struct NoEncoder(EncoderIdentity);

impl Default for NoEncoder {
    fn default() -> Self {
        Self(EncoderIdentity {
            name: "none".to_owned(),
            digest: [0; 32],
        })
    }
}

impl Encoder for NoEncoder {
    fn identity(&self) -> &EncoderIdentity {
        &self.0
    }

    fn dimension(&self) -> usize {
        1
    }

    fn encode(&self, _: &str, out: &mut [f32]) -> Result<()> {
        out.fill(0.0);
        Ok(())
    }
}

/// Names an encoder by what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncoderIdentity {
    /// A name for people.
    pub name: String,
    /// SHA-256 over the encoder's files.
    pub digest: [u8; 32],
}

/// The vectors of all sentences, private or not, one row of [`dimension`](Encoder::dimension) coordinates a
/// sentence, in the order of the sentences. Each is encoded alone.
///
/// Runs on the threads of the current `rayon` pool. The bits do not depend on their number.
///
/// # Errors
/// One of the errors of [`Encoder::encode`]; no vector is returned then.
pub fn encode_all(
    encoder: &dyn Encoder,
    sentences: &[impl AsRef<str> + Sync],
    progress: &Progress,
) -> Result<Vec<f32>> {
    let mut rows = vec![0.0; sentences.len() * encoder.dimension()];
    each_alone(encoder, sentences, &mut rows, progress)?;
    Ok(rows)
}

/// [`encode_all`] for *public* sentences: the same vectors, faster ([`Encoder::encode_public`]).
///
/// # Errors
/// As [`encode_all`].
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

/// Refuses vectors of `encoder` with a NaN or ∞ in them. `rows` is `[sentences][dimension]`; `before` sentences precede
/// the first.
pub(crate) fn check_finite(encoder: &dyn Encoder, rows: &[f32], before: usize) -> Result<()> {
    match rows.iter().position(|x| !x.is_finite()) {
        Some(position) => Err(Error::from(Cause::NotFinite {
            encoder: encoder.identity().name.clone(),
            sentence: before + position / encoder.dimension(),
        })),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    /// Refuses one word, and panics at another.
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
            let (bytes, problem) = (sentence.len(), "unknown".to_owned());
            match sentence {
                "known" if out.len() == 2 => Ok(()),
                "known" => Err(Error::from(Cause::WrongDimension {
                    encoder: self.0.name.clone(),
                    expected: 2,
                    found: out.len(),
                })),
                "panic" => panic!("a bug"),
                _ => Err(Error::from(Cause::Encode {
                    encoder: self.0.name.clone(),
                    bytes,
                    problem,
                })),
            }
        }

        fn encode_public(&self, _: &[&str], _: &mut [f32], _: &Progress) -> Result<()> {
            unreachable!("a batch is for public sentences");
        }
    }

    #[test]
    fn what_an_encoder_cannot_take_is_the_zero_vector_if_it_is_private() {
        let picky = Picky(EncoderIdentity {
            name: "picky".to_owned(),
            digest: [0; 32],
        });
        let private = PrivateEncoder::new(&picky);
        for (sentence, expected) in [("known", 7.0), ("unknown", 0.0), ("panic", 0.0)] {
            let mut out = [f32::NAN; 2];
            private.encode(sentence, &mut out).unwrap();
            assert_eq!(out, [expected; 2], "{sentence}");
        }
        // No sentence decides this.
        let error = private.encode("known", &mut [0.0]).unwrap_err();
        assert!(
            matches!(error.cause(), Cause::WrongDimension { .. }),
            "{error}"
        );
        assert!(picky.encode("unknown", &mut [0.0; 2]).is_err());
        // Whatever is called: each alone.
        let rows = encode_all_public(&private, &["known", "unknown"], &Progress::hidden());
        assert_eq!(rows.unwrap(), [7.0, 7.0, 0.0, 0.0]);
    }
}
