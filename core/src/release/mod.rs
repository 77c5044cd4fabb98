//! Everything that leaves the device.

mod bag;
mod document;
mod vector;

pub use bag::{BagRelease, MAX_BAG_SIZE, WordMechanism};
pub use document::{DrawnBy, Mechanism, Outcome, Release, ReleaseFormatError};
pub use vector::VectorRelease;
