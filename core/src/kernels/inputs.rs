//! What kernels take beside arrays.

#[cfg(doc)]
use super::limits::GROUP;

/// The length of a sentence's coordinates.
#[derive(Clone, Copy, Default)]
pub(crate) struct Length {
    /// 1 to 2²⁰.
    pub(crate) norm: i64,
    /// ⌊2⁴⁰ / norm⌋.
    pub(crate) reciprocal: i64,
}

/// What a sentence says at most for or against a candidate where the whole text counts, in 256ths: more than any
/// weights reach without a bias.
pub(super) const MOST: i64 = 1 << 22;

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
        let rows = sums.chunks_exact(room.max(1));
        rows.map(move |row| row.get(..sentences).unwrap_or(row))
    }
}
