//! The state of a document, whatever its length.

use heapless::Vec;

use crate::pack::format::CODES;

/// The bytes in a row of the state.
pub(crate) const ROW_BYTES: usize = CODES;

/// All that is kept of a document. Depth: for each direction and code, how many sentences lie at or above it. Scores: for
/// each candidate, the sum of its scores, 16 bits each.
pub(crate) type Rows<const P: usize> = Vec<[u8; ROW_BYTES], P>;
