//! How much a kernel takes at a time.

use crate::pack::format::MAX_WIDTH;

/// The most coordinates that a kernel takes at a time.
pub(crate) const WIDTH: usize = MAX_WIDTH as usize;

/// The most sentences that a kernel takes at a time.
pub(crate) const GROUP: usize = 4;

/// The most candidates that a kernel takes at a time.
pub(crate) const BLOCK: usize = 1024;
