//! The device side, run from the host: documents, bags of words, the ledger, and what a server reads back.

pub mod budget;
pub mod document;
pub mod ledger;
pub mod lines;
pub mod words;

pub use undertone_law as law;
