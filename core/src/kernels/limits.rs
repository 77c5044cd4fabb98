//! Sizes of the blocks of kernels.

use crate::pack::format::MAX_WIDTH;

/// The largest number of coordinates of a kernel call.
pub(crate) const WIDTH: usize = MAX_WIDTH as usize;

/// The largest number of sentences of a kernel call: on x86-64 the sums in a vector of AVX-512.
pub(crate) const GROUP: usize = if cfg!(undertone_kernels = "x86") {
    8
} else {
    4
};

/// The largest number of candidates of a kernel call.
pub(crate) const BLOCK: usize = 1024;

/// Coordinates whose products with the weights of a direction are added in 32 bits, if they
/// [`fit`](super::fits).
pub(crate) const SPAN: usize = 256;

/// Whether this target has vector units, whose backends add in 32 bits if sums fit.
pub(crate) const VECTORS: bool = cfg!(any(
    undertone_kernels = "x86",
    undertone_kernels = "aarch64"
));
