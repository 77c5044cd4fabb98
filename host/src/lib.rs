//! The public side of undertone: read a public corpus, split it into sentences, encode them.

#![forbid(unsafe_code)]

pub mod audit;
pub mod baselines;
pub mod bounds;
pub mod candidates;
pub mod certificate;
pub mod corpus;
pub mod demo;
pub mod distil;
pub mod embeddings;
pub mod encoder;
pub mod error;
#[cfg(feature = "train")]
pub mod eval;
pub mod heads;
pub mod informative;
pub mod kmeans;
pub mod ledger;
pub(crate) mod lines;
pub mod mechanism;
pub mod output;
pub mod packer;
mod page;
pub mod progress;
pub mod projection;
pub mod releases;
pub mod resume;
pub mod text;
#[cfg(feature = "train")]
pub mod train;
pub mod trained;
pub mod vectors;
pub mod vocabulary;
pub mod wmd;
pub mod words;

pub use error::{Error, Result};
