//! Lexicons of word vectors: distilled from an encoder, made from a word list, or read from a file.

mod affixes;
pub mod distil;
pub mod model2vec;
pub mod pieces;
pub mod word_vectors;
