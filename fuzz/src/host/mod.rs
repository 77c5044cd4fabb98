//! Inputs of the command line: corpora, encoders, word vectors, candidates, releases to count, and
//! leftovers of an interrupted run.
//!
//! Requires the feature `host`, because the crate `undertone` brings a hundred others.

mod candidates;
mod corpus;
mod counts;
mod encoder;
mod resume;
mod tables;
mod text;
mod vectors;

pub use candidates::candidates_file_is_total;
pub use corpus::corpus_lines_match_json;
pub use counts::counted_inputs_are_total;
pub use encoder::encoder_files_are_total;
pub use resume::{kept_vectors_are_those_of_the_encoder, resumed_lines_are_whole};
pub use tables::tables_are_their_lines;
pub use text::text_sentences_lose_nothing;
pub use vectors::word_vectors_survive_a_rewrite;
