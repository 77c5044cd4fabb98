//! Files that appear whole or not at all, and runs that resume after an interruption.

pub mod atomic;
pub mod folder;
// For the crates of this workspace; the semver promise excludes these four.
#[doc(hidden)]
pub mod fields;
#[doc(hidden)]
pub mod foreign;
#[doc(hidden)]
pub mod form;
#[doc(hidden)]
pub mod lines;
pub mod resume;
