//! Shared by the tests of undertone: test doubles, exact probabilities, packs and vectors.
//!
//! Nothing here is private and nothing here belongs in an app.
//!
//! | module | what the tests need it for |
//! | --- | --- |
//! | [`documents`] | documents to try, and their neighbours |
//! | [`entropy`] | replayed and counted randomness |
//! | [`faces`] | what every language's face of the library is tested with, by name |
//! | [`golden`] | the golden pack and its vectors, from an independent implementation |
//! | [`law`] | the exact output distribution of a selection, random bits included |
//! | [`exponential`] | rational bounds on e^x, to compare exact probabilities with |
//! | [`noise`] | Laplace noise for given random words, from its definition, to 190 bits |
//! | [`packs`] | small packs from plain arrays, and depth, scores and recoders from their definitions |

pub mod documents;
pub mod entropy;
pub mod exponential;
pub mod faces;
pub mod golden;
pub mod law;
pub mod noise;
pub mod packs;

pub use entropy::{CountingRng, FixedEntropy, FixedWords};

/// Whether the long versions of the tests were asked for (`UNDERTONE_SOAK=1`).
pub fn soak() -> bool {
    std::env::var_os("UNDERTONE_SOAK").is_some_and(|value| value == "1")
}
