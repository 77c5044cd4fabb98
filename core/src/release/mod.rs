//! Everything that leaves the device.

mod answer;
mod bag;
mod document;
mod vector;

pub use answer::AnswerRelease;
pub use bag::{BagRelease, MAX_BAG_SIZE, WordMechanism};
pub use document::{DrawnBy, Mechanism, Outcome, Release, ReleaseFormatError};
pub use vector::VectorRelease;
