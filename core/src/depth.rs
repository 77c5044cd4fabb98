//! Approximate Tukey depth on bucketed projections: the score of sentence-private selection.
//!
//! Project every sentence and every candidate on p public directions and map each projection to a
//! *code* in 0..=255 by a public monotone map. With h_j(f) the number of sentences whose code on
//! direction j is at least the candidate's, the depth of candidate f among k sentences is
//! `D(f) = min_j min(h_j, k − h_j)` and its level is `⌊k/2⌋ − D(f)`, in `0..=⌊k/2⌋`.
//!
//! # Conventions
//!
//! The paper (Meehan, Mrini and Chaudhuri 2022) writes the utility once as the depth and once as
//! u = −max_j |h_j − k/2|; u = D − k/2, half-integer for odd k. Levels are relative badness, so
//! both conventions, and the half, disappear.
//!
//! # Sensitivity
//!
//! *Replace-one* (same k, one sentence exchanged): every h_j moves by at most 1, so D does too,
//! up for some candidates and down for others: a mixed step, ε-DP for the whole selection.
//! *Add/remove-one*: adding a sentence raises exactly one of h_j and k − h_j by 1 for every j, so
//! D by 0 or 1 for every candidate: a one-sided step, (ε/2)-DP with k itself private. (⌊k/2⌋ moves all levels
//! alike, which levels relative to the best do not see.)
//!
//! The code counts h_j in bytes, and a document takes at most [`MAX_SENTENCES`] = 255 sentences: nothing saturates.
//! D ≤ ⌊k/2⌋, so no level is negative, and all are below the public bound ⌊K/2⌋ + 1: none is cut. A document that is
//! cut at K sentences can exchange its last one when another is added: then add/remove-one is replace-one.
//!
//! Both hold for any directions, any candidates and any bucket boundaries whatever, as long as
//! they are public and a sentence's embedding depends on that sentence alone. Nothing in a pack
//! can weaken them.
//!
//! The loops are in [`kernels`](crate::kernels).

use core::ops::Range;

use crate::document::Rows;
use crate::kernels::{BLOCK, Backend, wipe};
use crate::pack::DepthSection;
use crate::select::Levels;

/// The number of codes: a projection becomes one byte.
pub const CODES: usize = 256;

/// The most sentences a document can count, because counts are bytes.
pub const MAX_SENTENCES: usize = 255;

/// Coordinates converted at a time, so that no buffer grows with the embedding.
const COORDINATES: usize = 384;

/// The projections of up to `N` embeddings, as exact integers. `embeddings`: `[n][dimension]`; `sums`:
/// `[n][rows]`, of which those of directions that are not there are 0.
// A call: a recoder needs other buffers.
#[inline(never)]
pub(crate) fn project<const N: usize>(
    backend: Backend,
    section: &DepthSection<'_>,
    embeddings: &[f32],
    dimension: usize,
    sums: &mut [i64],
    rows: usize,
) {
    let mut fixed = [[0i16; COORDINATES]; N];
    sums.fill(0);
    for start in (0..dimension).step_by(COORDINATES) {
        let end = dimension.min(start + COORDINATES);
        let mut group = [&[][..]; N];
        let mut sentences = 0;
        let embeddings = embeddings.chunks_exact(dimension.max(1));
        for ((x, fixed), embedding) in group.iter_mut().zip(&mut fixed).zip(embeddings) {
            let chunk = embedding.get(start..end).unwrap_or_default();
            section.scale().to_fixed_all(backend, chunk, fixed);
            *x = fixed.get(..chunk.len()).unwrap_or_default();
            sentences += 1;
        }
        let group = group.get(..sentences).unwrap_or_default();
        section.add_projections(backend, start, group, sums, rows);
    }
    wipe(fixed.as_flattened_mut());
}

/// The levels of all candidates of a pack for one document. `K` bounds the number of sentences.
pub(crate) struct DepthLevels<'a, const K: usize, const P: usize> {
    pub(crate) backend: Backend,
    pub(crate) section: DepthSection<'a>,
    pub(crate) rows: &'a Rows<P>,
    pub(crate) sentences: u8,
}

impl<const K: usize, const P: usize> Levels for DepthLevels<'_, K, P> {
    /// ⌊K/2⌋ + 1, not ⌊k/2⌋ + 1: the number of sentences is private.
    fn bound(&self) -> usize {
        K / 2 + 1
    }

    fn candidates(&self) -> usize {
        self.section.candidates() as usize
    }

    // A call: two passes in one frame would take twice the stack.
    #[inline(never)]
    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        let mut block = [0u8; BLOCK];
        let mut start = range.start;
        while start < range.end {
            let len = BLOCK.min(range.end - start);
            let depths = block.get_mut(..len).unwrap_or_default();
            depths.fill(u8::MAX);
            for (codes, at_least) in self.section.codes().zip(self.rows.iter()) {
                let codes = codes.get(start..start + len).unwrap_or_default();
                self.backend.lower(depths, codes, at_least, self.sentences);
            }
            for depth in depths.iter_mut() {
                *depth = (self.sentences / 2).saturating_sub(*depth);
            }
            visit(depths);
            start += len;
        }
        wipe(&mut block);
    }
}
