//! How much a kernel takes at a time.

use crate::pack::format::MAX_WIDTH;

/// The most coordinates that a kernel takes at a time.
pub(crate) const WIDTH: usize = MAX_WIDTH as usize;

/// The most sentences that a kernel takes at a time.
pub(crate) const GROUP: usize = 4;

/// The most candidates that a kernel takes at a time.
pub(crate) const BLOCK: usize = 1024;

/// Coordinates whose products with the weights of a direction are added in 32 bits, where they fit: see
/// [`fits`](super::fits).
pub(crate) const SPAN: usize = 256;
