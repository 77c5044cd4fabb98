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
//! D by 0 or 1 for every candidate: a one-sided step, (ε/2)-DP with k itself private.
//!
//! Both hold for any directions, any candidates and any bucket boundaries whatever, as long as
//! they are public and a sentence's embedding depends on that sentence alone. Nothing in a pack
//! can weaken them.
//!
//! This module is the readable scalar reference.

use zeroize::Zeroize;

use crate::document::Rows;
use crate::pack::DepthSection;
use crate::select::Levels;

/// The number of codes: a projection becomes one byte.
pub const CODES: usize = 256;

/// The most sentences a document can count, because counts are bytes.
pub const MAX_SENTENCES: usize = 255;

/// Coordinates converted at a time, so that no buffer grows with the embedding.
const CHUNK: usize = 64;

/// Candidates scored at a time.
const BLOCK: usize = 256;

/// What is kept of a document: for each direction and code, the number of sentences at or above it.
///
/// Adds the sentence with these projections. Beyond [`MAX_SENTENCES`] counts would stop at 255.
pub(crate) fn add<const P: usize>(
    section: &DepthSection<'_>,
    projections: &[i64],
    rows: &mut Rows<P>,
) {
    for ((sum, counts), boundaries) in projections.iter().zip(rows).zip(section.boundaries()) {
        let code = section.code(*sum, boundaries);
        // All 256 counts are touched, so no address depends on the sentence.
        for (threshold, count) in (0..=u8::MAX).zip(counts.iter_mut()) {
            *count = count.saturating_add(u8::from(code >= threshold));
        }
    }
}

/// The projections of one embedding, as exact integers.
pub(crate) fn project(section: &DepthSection<'_>, embedding: &[f32], sums: &mut [i64]) {
    let mut start = 0;
    sums.fill(0);
    for chunk in embedding.chunks(CHUNK) {
        let mut fixed = [0i16; CHUNK];
        section.scale().to_fixed_all(chunk, &mut fixed);
        project_from(section, start, &fixed, sums);
        fixed.zeroize();
        start += chunk.len();
    }
}

/// Adds the contributions of the coordinates from `start` on.
pub(crate) fn project_from(
    section: &DepthSection<'_>,
    start: usize,
    fixed: &[i16],
    sums: &mut [i64],
) {
    for (sum, direction) in sums.iter_mut().zip(section.directions()) {
        let weights = direction.get(start..).unwrap_or_default();
        // |product| < 2^30 and at most 2^12 coordinates: no overflow.
        *sum += weights
            .iter()
            .zip(fixed)
            .map(|(v, x)| i64::from(v.get()) * i64::from(*x))
            .sum::<i64>();
    }
}

/// The levels of all candidates of a pack for one document. `K` bounds the number of sentences.
pub(crate) struct DepthLevels<'a, const K: usize, const P: usize> {
    pub(crate) section: DepthSection<'a>,
    pub(crate) rows: &'a Rows<P>,
    pub(crate) sentences: u8,
}

impl<const K: usize, const P: usize> Levels for DepthLevels<'_, K, P> {
    /// ⌊K/2⌋ + 1, not ⌊k/2⌋ + 1: the number of sentences is private.
    fn bound(&self) -> usize {
        K / 2 + 1
    }

    fn for_each_block(&self, mut visit: impl FnMut(&[u16])) {
        let sentences = self.sentences;
        let candidates = self.section.candidates() as usize;
        let mut depth = [0u8; BLOCK];
        let mut levels = [0u16; BLOCK];
        let mut start = 0;
        while start < candidates {
            let len = BLOCK.min(candidates - start);
            depth.fill(u8::MAX);
            for (codes, at_least) in self.section.codes().zip(self.rows.iter()) {
                let codes = codes.get(start..start + len).unwrap_or_default();
                for (depth, code) in depth.iter_mut().zip(codes) {
                    let above = at_least.get(usize::from(*code)).copied().unwrap_or(0);
                    *depth = (*depth).min(above).min(sentences.saturating_sub(above));
                }
            }
            for (level, depth) in levels.iter_mut().zip(&depth) {
                *level = u16::from((sentences / 2).saturating_sub(*depth));
            }
            visit(levels.get(..len).unwrap_or_default());
            start += len;
        }
        depth.zeroize();
        levels.zeroize();
    }
}
