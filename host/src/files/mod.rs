//! Files that appear whole or not at all, and runs that go on where they were interrupted.

pub mod atomic;
pub mod folder;
// For the crates of this workspace: no promise covers these four.
#[doc(hidden)]
pub mod fields;
#[doc(hidden)]
pub mod foreign;
#[doc(hidden)]
pub mod form;
#[doc(hidden)]
pub mod lines;
pub mod resume;
