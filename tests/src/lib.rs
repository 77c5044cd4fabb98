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
//! | [`tree`] | files of the repository |

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
pub mod tree;

pub use entropy::{CountingRng, FixedEntropy, FixedWords};

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;

/// Both rules of drawing.
pub const RULES: [Rule; 2] = [Rule::PermuteAndFlip, Rule::Exponential];

/// ε in millionths.
///
/// # Panics
/// If it is out of range.
pub fn epsilon(micro: u32) -> Epsilon {
    Epsilon::from_micro(micro).expect("an epsilon in range")
}

/// A grant of the largest ε that no ledger counts.
pub fn largest_grant(unit: Unit) -> Grant {
    Grant::unrecorded(unit, Epsilon::MAX)
}

/// Returns whether the long versions of the tests are requested (`UNDERTONE_SOAK=1`).
pub fn soak() -> bool {
    std::env::var_os("UNDERTONE_SOAK").is_some_and(|value| value == "1")
}
