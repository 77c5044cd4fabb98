//! Shared by the tests of undertone: test doubles, exact probabilities, packs and vectors.
//!
//! Nothing here is private, and nothing here belongs in an app.
//!
//! | module | content |
//! | --- | --- |
//! | [`definition`] | selection by its definition |
//! | [`documents`] | test documents and their neighbours |
//! | [`entropy`] | replayed and counted randomness |
//! | [`faces`] | the lists that every language's face of the library runs |
//! | [`forms`] | small forms from plain lists |
//! | [`golden`] | the golden packs and vectors, from an independent implementation |
//! | [`law`] | the exact output distribution of a selection, random bits included |
//! | [`exponential`] | rational bounds on e^x, to compare exact probabilities with |
//! | [`noise`] | Laplace noise for given random words, from its definition, to 190 bits |
//! | [`packs`] | small packs from plain arrays; depth, scores and recoders from their definitions |

pub mod definition;
pub mod documents;
pub mod entropy;
pub mod exponential;
pub mod faces;
pub mod forms;
pub mod golden;
pub mod law;
pub mod noise;
pub mod packs;

pub use entropy::{CountingRng, FixedEntropy, FixedWords};

/// Returns whether the long versions of the tests are requested (`UNDERTONE_SOAK=1`).
pub fn soak() -> bool {
    std::env::var_os("UNDERTONE_SOAK").is_some_and(|value| value == "1")
}
