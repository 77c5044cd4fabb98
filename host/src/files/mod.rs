//! Files that appear whole or not at all, and runs that go on where they were interrupted.

pub mod atomic;
pub mod folder;
pub(crate) mod lines;
pub mod resume;
