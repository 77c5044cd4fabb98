//! Sizes of the blocks of kernels.

use crate::pack::format::MAX_WIDTH;

/// The most coordinates that a kernel takes at a time.
pub(crate) const WIDTH: usize = MAX_WIDTH as usize;

/// The most sentences that a kernel takes at a time: on x86-64 the sums in a vector of AVX-512.
pub(crate) const GROUP: usize = if cfg!(undertone_kernels = "x86") {
    8
} else {
    4
};

/// The most candidates that a kernel takes at a time.
pub(crate) const BLOCK: usize = 1024;

/// Coordinates whose products with the weights of a direction are added in 32 bits, where they fit:
/// see [`fits`](super::fits).
pub(crate) const SPAN: usize = 256;

/// Whether this target has vectors: its backends add in 32 bits where that is enough.
pub(crate) const VECTORS: bool = cfg!(any(
    undertone_kernels = "x86",
    undertone_kernels = "aarch64"
));
