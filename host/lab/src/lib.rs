//! Experiments on public, labelled corpora: utility of private releases, attacks on them, and
//! training.
//!
//! Public corpora only: the crate caches sentence vectors, seeds its randomness and inspects
//! levels.

#![warn(clippy::too_many_lines)]

pub mod authorship;
pub mod baselines;
pub mod bounds;
pub mod documents;
pub mod inversion;
pub mod linear;
pub mod metrics;
mod posterior;
pub mod shift;
pub mod vectors;
pub mod wmd;
