//! Word vectors: fitted to a neural encoder, made of a word list by a teacher, or read from a file.

mod affixes;
pub mod distil;
pub mod model2vec;
pub mod pieces;
pub mod word_vectors;
