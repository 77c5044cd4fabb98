//! The public side of undertone: read a public corpus, split it into sentences, encode them.

pub mod corpus;
pub mod encoder;
pub mod error;
pub mod output;
pub mod progress;
pub mod text;

pub use error::{Error, Result};
