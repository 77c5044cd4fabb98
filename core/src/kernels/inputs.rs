//! Arguments of kernels other than arrays.

#[cfg(doc)]
use super::limits::GROUP;
use crate::checked::chunk_size;

/// The length of a sentence's coordinates.
#[derive(Clone, Copy, Default)]
pub(crate) struct Length {
    /// 1 to 2²⁰.
    pub(crate) norm: i64,
    /// ⌊2⁴⁰ / norm⌋.
    pub(crate) reciprocal: i64,
}

/// Limit on one sentence's contribution to a whole-text score, in 256ths. Weights without a bias
/// stay below it.
pub(super) const MOST: i64 = 1 << 22;

/// Entries for all levels, and for a vector that begins at the last level: a check of bounds would
/// depend on private levels.
#[cfg(undertone_kernels = "x86")]
pub(crate) const ROOM: usize = 256 + 8;

#[cfg(undertone_kernels = "x86")]
type OfLevels<T> = [T; ROOM];
#[cfg(not(undertone_kernels = "x86"))]
type OfLevels<T> = [T];

/// Levels that coins are tossed for, one after the other.
pub(crate) struct Tossing<'a> {
    /// A coin shows heads if its word is at most this.
    pub(crate) weights_minus_one: &'a OfLevels<u64>,
    /// The number of heads of a level and of the levels before it.
    pub(crate) heads: &'a mut OfLevels<u32>,
    /// The level of the next coin.
    pub(crate) level: usize,
    pub(crate) heads_so_far: u32,
}

/// Projections of up to [`GROUP`] sentences.
#[derive(Clone, Copy)]
pub(crate) struct Sums<'a> {
    /// `[directions][room]`.
    pub(crate) sums: &'a [i64],
    pub(crate) room: usize,
    pub(crate) sentences: usize,
}

impl<'a> Sums<'a> {
    /// The projections of the sentences, direction by direction.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a [i64]> {
        let Self {
            sums,
            room,
            sentences,
        } = *self;
        let rows = sums.chunks_exact(chunk_size(room));
        rows.map(move |row| row.get(..sentences).unwrap_or(row))
    }
}
