//! Experiments on public, labelled corpora: what is left of a document for a classifier once it has been
//! released.
//!
//! Public corpora only: sentence vectors are written to a cache,
//! randomness is seeded, levels are looked at.

#![warn(clippy::too_many_lines)]

pub mod authorship;
pub mod baselines;
pub mod bounds;
pub mod documents;
pub mod inversion;
pub mod linear;
pub mod metrics;
mod posterior;
pub mod vectors;
pub mod wmd;
