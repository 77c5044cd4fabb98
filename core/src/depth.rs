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
//! neither the convention nor the half matters.
//!
//! # Sensitivity
//!
//! *Replace-one* (same k, one sentence exchanged): every h_j moves by at most 1, so D does too,
//! up for some candidates and down for others: a mixed step, ε-DP for the whole selection.
//! *Add/remove-one*: adding a sentence raises exactly one of h_j and k − h_j by 1 for every j, so
//! D by 0 or 1 for every candidate: a one-sided step, (ε/2)-DP with k itself private. (⌊k/2⌋ moves
//! all levels alike, and only levels relative to the best count.)
//!
//! The code counts h_j in bytes, and a document has at most [`MAX_SENTENCES`] = 255 sentences, so
//! nothing saturates. D ≤ ⌊k/2⌋, so no level is negative, and all are below the public bound
//! ⌊K/2⌋ + 1: none is cut. In a document that is cut at K sentences, adding a sentence can replace
//! the last one: then add/remove-one is replace-one.
//!
//! Both promises hold for any public directions, candidates and bucket boundaries, as long as the
//! embedding of a sentence depends on that sentence alone. Nothing in a pack can weaken these
//! promises.
//!
//! The loops are in [`kernels`](crate::kernels).

use core::cmp;
use core::ops::Range;

use zerocopy::little_endian::I16;

use crate::barrier::wipe;
use crate::checked::{chunk_size, part, part_mut};
use crate::fixed::{Scale, bucket_input};
use crate::kernels::{BLOCK, Backend, Boundaries, SPAN, Sums, fits};
use crate::pack::format::{BOUNDARIES, DEPTH_TAG, DepthHead, MAX_DIRECTIONS, MAX_WIDTH};
use crate::pack::wire::{Arrays, PackError, scale, within};
use crate::recode::{Activations, Recoder};
use crate::select::{Levels, MAX_CANDIDATES};

pub use crate::pack::format::CODES;

/// The largest number of sentences of a document, because counts are bytes.
pub const MAX_SENTENCES: usize = 255;

/// Coordinates converted at a time, so that no buffer grows with the embedding.
const COORDINATES: usize = SPAN;

/// The inputs of the depth mechanism: directions, bucket boundaries and the codes of candidates.
#[derive(Clone, Copy, Debug)]
pub struct DepthSection<'a> {
    candidates: u32,
    dimension: usize,
    scale: Scale,
    shift: u32,
    directions: &'a [I16],
    /// Whether sums of products with the directions fit 32 bits.
    fits: bool,
    boundaries: Boundaries<'a>,
    codes: &'a [u8],
}

impl<'a> DepthSection<'a> {
    pub(crate) fn parse(section: &'a [u8], dimension: u32) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<DepthHead>(DEPTH_TAG, section)?;
        let (candidates, directions) = (head.candidate_count.get(), head.direction_count.get());
        let candidates = within("number of candidates", candidates, 1, MAX_CANDIDATES)?;
        let directions = within("number of directions", directions, 1, MAX_DIRECTIONS)? as usize;
        let scale = scale(head.exponent.get())?;
        let shift = within("projection shift", head.shift.get(), 0, 31)?;
        let dimension = dimension as usize;
        let weights = arrays.next(directions, dimension)?;
        let parsed = Self {
            candidates,
            dimension,
            scale,
            shift,
            directions: weights,
            fits: fits(weights, dimension),
            boundaries: Boundaries::new(arrays.next(directions, BOUNDARIES)?),
            codes: arrays.next(directions, candidates as usize)?,
        };
        arrays.finish()?;
        Ok(parsed)
    }

    /// m, the number of candidates, `1..=65536`.
    pub fn candidate_count(&self) -> u32 {
        self.candidates
    }

    /// p, the number of projection directions, `1..=1024`.
    pub fn direction_count(&self) -> usize {
        self.boundaries.all.len()
    }

    /// A coordinate x enters as round(x · 2^exponent).
    pub fn exponent(&self) -> i32 {
        self.scale.exponent()
    }

    /// The projection directions, `[dimension]` integers each, for the study of packs.
    pub fn directions(
        &self,
    ) -> impl Iterator<Item = impl Iterator<Item = i16> + use<'a>> + use<'a> {
        let directions = self.directions.chunks_exact(chunk_size(self.dimension));
        directions.map(|direction| direction.iter().map(|v| v.get()))
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Adds the products of the directions with the coordinates of a group of sentences, from
    /// coordinate `start` on, to their projections, `[directions][room]`.
    pub(crate) fn add_projections(
        &self,
        backend: Backend,
        start: usize,
        group: &[&[i16]],
        sums: &mut [i64],
        room: usize,
    ) {
        let (directions, width) = (self.directions, self.dimension);
        backend.add_products(directions, width, self.fits, start, group, sums, room);
    }

    /// Adds the group of sentences with these projections to the rows of a document's state.
    pub(crate) fn count(&self, backend: Backend, projections: &Sums<'_>, rows: &mut [[u8; CODES]]) {
        backend.count(projections, self.shift, &self.boundaries, rows);
    }

    /// `[p]` rows of one code per candidate.
    pub(crate) fn codes(&self) -> impl Iterator<Item = &'a [u8]> {
        self.codes
            .chunks_exact(chunk_size(self.candidates as usize))
    }

    /// The projections of one embedding on all directions, as exact integers, for writers and
    /// students of packs. `recoder`: the recoder of the same pack.
    ///
    /// # Leaks
    /// Time depends on the lengths alone.
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; `out`: `[p]`. Missing coordinates and directions
    /// count as 0.
    ///
    /// # Cost
    /// A product of p × dimension integers.
    pub fn projections(&self, recoder: Option<&Recoder<'_>>, embedding: &[f32], out: &mut [i64]) {
        let backend = Backend::best();
        let Some(recoder) = recoder else {
            return project::<1>(backend, self, embedding, embedding.len(), out);
        };
        let mut recoded: Activations = [0; MAX_WIDTH as usize];
        recoder.recode_on(backend, embedding, &mut recoded);
        out.fill(0);
        self.add_projections(backend, 0, &[&recoded], out, 1);
        wipe(&mut recoded);
    }

    /// The integer that is compared with the bucket boundaries: the projection shifted right and
    /// clamped.
    pub fn bucket_input(&self, projection: i64) -> i32 {
        bucket_input(projection, self.shift)
    }

    /// The codes of one embedding's projections, by which writers of packs code candidates. A code
    /// is the number of a direction's boundaries that the projection reaches: monotone in the
    /// projection whatever the boundaries, and branch-free.
    ///
    /// `projections`, `out`: `[p]`.
    pub fn codes_of(&self, projections: &[i64], out: &mut [u8]) {
        const { assert!(CODES == 256) };
        let backend = Backend::best();
        let boundaries = self.boundaries.all;
        for ((code, projection), boundaries) in out.iter_mut().zip(projections).zip(boundaries) {
            *code = backend.reached(boundaries, self.bucket_input(*projection));
        }
    }
}

/// The projections of up to `N` embeddings, as exact integers. `embeddings`: `[n][dimension]`;
/// `sums`: `[directions][N]`.
// `inline(never)`: callers with other buffers would need the stack for both.
#[inline(never)]
pub(crate) fn project<const N: usize>(
    backend: Backend,
    section: &DepthSection<'_>,
    embeddings: &[f32],
    dimension: usize,
    sums: &mut [i64],
) {
    let mut fixed = [[0i16; COORDINATES]; N];
    sums.fill(0);
    for start in (0..dimension).step_by(COORDINATES) {
        let end = cmp::min(dimension, start + COORDINATES);
        let mut group = [&[][..]; N];
        let mut sentences = 0;
        let embeddings = embeddings.chunks_exact(chunk_size(dimension));
        for ((x, fixed), embedding) in group.iter_mut().zip(&mut fixed).zip(embeddings) {
            let chunk = part(embedding, start..end);
            backend.to_fixed(chunk, section.scale.factor(), fixed);
            *x = part(fixed, ..chunk.len());
            sentences += 1;
        }
        let group = part(&group, ..sentences);
        section.add_projections(backend, start, group, sums, N);
    }
    wipe(fixed.as_flattened_mut());
}

/// The levels of all candidates of a pack for one document. `K` bounds the number of sentences.
pub(crate) struct DepthLevels<'a, const K: usize> {
    pub(crate) backend: Backend,
    pub(crate) section: DepthSection<'a>,
    /// For each direction and code, the number of sentences at or above it.
    pub(crate) counts: &'a [[u8; CODES]],
    pub(crate) sentences: u8,
}

impl<const K: usize> Levels for DepthLevels<'_, K> {
    /// ⌊K/2⌋ + 1, not ⌊k/2⌋ + 1: the number of sentences is private.
    fn bound(&self) -> usize {
        K / 2 + 1
    }

    fn candidate_count(&self) -> usize {
        self.section.candidate_count() as usize
    }

    // `inline(never)`: inlined, two passes take twice the stack.
    #[inline(never)]
    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        let mut block = [0u8; BLOCK];
        let mut start = range.start;
        while start < range.end {
            let len = cmp::min(BLOCK, range.end - start);
            let depths = part_mut(&mut block, ..len);
            depths.fill(u8::MAX);
            for (codes, at_least) in self.section.codes().zip(self.counts) {
                let codes = part(codes, start..start + len);
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
