//! Word vectors: fitted to a neural encoder, or read from a file.

pub mod distil;
pub mod word_vectors;
