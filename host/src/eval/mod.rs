//! Experiments on public, labelled corpora: what is left of a document for a classifier once it has been
//! released.
//!
//! Only with the cargo feature `train`. Public corpora only: sentence vectors are written to a cache,
//! randomness is seeded, levels are looked at.

pub mod authorship;
pub mod authorship_report;
pub mod columns;
pub mod cost;
pub mod data;
pub mod fidelity;
pub mod linear;
pub mod mailbox;
pub mod metrics;
pub mod report;
pub mod sentences;
pub mod vectors;
pub mod word_columns;
