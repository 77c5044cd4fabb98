//! Computes exact laws and searches for the worst neighbours.

mod construct;
pub mod inside;
pub(crate) mod neighbours;
pub mod sentences;
pub mod whole_text;
pub mod words;
