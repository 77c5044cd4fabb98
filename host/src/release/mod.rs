//! Releases on the host: documents, bags of words, the ledger, budgets, and files of releases.

pub mod budget;
pub mod document;
pub mod ledger;
pub mod lines;
pub mod window;
pub mod words;

pub use undertone_law as law;
