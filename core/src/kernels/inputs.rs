//! What kernels take beside arrays.

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

/// What a sentence says at most for or against a candidate where the whole text counts, in 256ths:
/// more than any weights reach without a bias.
pub(super) const MOST: i64 = 1 << 22;

/// Room for what each level has, and for a vector that begins at the last one.
#[cfg(undertone_kernels = "x86")]
pub(crate) const ROOM: usize = 256 + 8;

/// A number for each level; on x86-64 more follow that mean nothing.
#[cfg(undertone_kernels = "x86")]
type OfLevels<T> = [T; ROOM];
#[cfg(not(undertone_kernels = "x86"))]
type OfLevels<T> = [T];

/// Levels that coins are tossed for, one after the other.
pub(crate) struct Tossing<'a> {
    /// Heads is a word up to this.
    pub(crate) weights_minus_one: &'a OfLevels<u64>,
    /// How many coins of a level and of those before showed heads.
    pub(crate) heads: &'a mut OfLevels<u32>,
    /// The level of the next coin.
    pub(crate) level: usize,
    pub(crate) heads_so_far: u32,
}

/// Projections of up to [`GROUP`] sentences.
#[derive(Clone, Copy)]
pub(crate) struct Sums<'a> {
    /// For each direction `room` of them, one for each sentence.
    pub(crate) sums: &'a [i64],
    pub(crate) room: usize,
    pub(crate) sentences: usize,
}

impl<'a> Sums<'a> {
    /// Those of the sentences, direction by direction.
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
