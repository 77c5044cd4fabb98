//! Computes exact laws and searches for the worst neighbours.

pub mod certificate;
mod construct;
pub mod definition;
pub mod encoders;
pub(crate) mod engine;
pub mod inside;
pub(crate) mod neighbours;
pub mod sentences;
mod ways;
pub mod whole_text;
pub mod words;
