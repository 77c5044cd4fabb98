//! Bounded scores: sentence-private selection that needs a fraction of the ε of [`depth`](crate::depth).
//!
//! Every sentence s gives every candidate c a *score* q(s, c), a whole number in 0..=Q, by a public
//! function of that one sentence. With u(c) = Σ_l q(s_l, c), the level of a candidate is
//! `min(max u − u(c), `[`LEVELS`]` − 1)`, and the engine draws with the ratio for ε/Q a level.
//!
//! # Why it is private
//!
//! Adding a sentence raises every u(c) by 0..=Q, and that is Q *one-sided unit steps* (in step i, those
//! with q ≥ i rise by one). Let i_c = min(max u − u(c), LEVELS − 1), which is 0 for some candidate, so
//! that these levels are relative already, and let one step raise some u by one. If max u stays, every
//! i_c stays or falls by one; if it rises (by one), every i_c stays or rises by one, capped or not, since
//! x ↦ min(x, LEVELS − 1) never lengthens a step. Those are the two cases of the one-sided step in
//! [`select`](mod@crate::select), for weights W_0, W_1, …, so the step costs at most ρ; that some of the Q
//! steps go one way and some the other does not matter. *Add/remove-one*: ρ^Q ≤ e^(ε/2), with the number
//! of sentences private. *Replace-one*: one removed, one added, ρ^2Q ≤ e^ε. Where ε/Q is below a
//! micro-unit, see [`Ratio::per_step`](crate::select::Ratio::per_step). ∎
//!
//! By the exponential mechanism the range of log-ratios grows by at most ln ρ a step, so replace-one is
//! ε-bounded-range.
//!
//! The proof needs only that q lies in 0..=Q and looks at one sentence, so no pack can weaken the
//! guarantee. Scores need no common normalisation. Sums do not overflow: at most 255 sentences of at most
//! 255, and 65 025 fits 16 bits. Finite randomness costs once a selection and not once a unit step; ρ^Q and ρ^2Q
//! leave more than that.
//!
//! # The scores
//!
//! A candidate has a head: 8-bit weights w_c and a bias b_c. A sentence, relative to the public centre,
//! is y with norm n = max(1, ⌊‖y‖⌋); with `z_c = 256·w_c·y + b_c·n`, which is n times an affine function of the
//! direction y/n:
//! - *graded*: q is the number of the Q thresholds t_j with `t_j·n ≤ z_c`. Clipped
//!   cosine to a centroid, ⌊Q·clip(a·cos, 0, 1)⌋, ridge regression on public labels or clusters, and
//!   heads trained through the mechanism are of this form.
//! - *vote*: q is 1 for the candidate with the largest z_c (the first of them) and 0 for all others;
//!   Q = 1.
//!
//! Everything after the conversion of coordinates is integer arithmetic.

use core::ops::Range;

use subtle::{Choice, ConditionallySelectable};
use zerocopy::little_endian::{I16, I32};
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::fixed::Scale;
use crate::integers::{at_most, square_root_64};
use crate::kernels::Backend;
use crate::pack::format::{MAX_WIDTH, SCORES_GRADED, SCORES_TAG, SCORES_VOTE, ScoresHead};
use crate::pack::wire::{Arrays, PackError, scale, within, zero};
use crate::recode::Activations;
use crate::rows::{ROW_BYTES, Rows};
use crate::select::{Levels, MAX_CANDIDATES};

/// Levels are below this: candidates further from the best count as just as far.
pub const LEVELS: usize = 160;

/// Candidates whose sums take as much of a document's state as one projection direction: `Document<K, P>`
/// holds `P` times as many.
pub const SUMS_PER_ROW: usize = ROW_BYTES / 2;

/// Candidates scored at a time.
const BLOCK: usize = SUMS_PER_ROW;

/// The heads of a pack: what scores a sentence for every candidate.
#[derive(Clone, Copy, Debug)]
pub struct ScoresSection<'a> {
    kind: Kind,
    candidates: u32,
    inputs: usize,
    scale: Scale,
    /// `[inputs]`.
    centre: &'a [I16],
    /// `[candidates][inputs]`.
    weights: &'a [i8],
    /// `[candidates]`, in 256ths.
    bias: &'a [I32],
    /// `[Q]` for graded scores, in 256ths.
    thresholds: &'a [I32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Graded,
    Vote,
}

impl<'a> ScoresSection<'a> {
    pub(crate) fn parse(section: &'a [u8], inputs: u32) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<ScoresHead>(SCORES_TAG, section)?;
        within(
            "number of coordinates that are scored",
            inputs,
            1,
            MAX_WIDTH,
        )?;
        let candidates = within(
            "number of candidates",
            head.candidate_count.get(),
            1,
            MAX_CANDIDATES,
        )?;
        let kind = within(
            "kind of scores",
            head.kind.get().into(),
            SCORES_GRADED.into(),
            SCORES_VOTE.into(),
        )?;
        let kind = if kind == u32::from(SCORES_VOTE) {
            Kind::Vote
        } else {
            Kind::Graded
        };
        let largest = head.largest_score.get().into();
        let thresholds = match kind {
            Kind::Graded => within("largest score", largest, 1, u8::MAX.into())?,
            Kind::Vote => within("largest score", largest, 1, 1)? - 1,
        };
        zero("reserved scores field", head.reserved.get())?;
        let inputs = inputs as usize;
        let parsed = Self {
            kind,
            candidates,
            inputs,
            scale: scale(head.exponent.get())?,
            centre: arrays.next(inputs, 1)?,
            weights: arrays.next(candidates as usize, inputs)?,
            bias: arrays.next(candidates as usize, 1)?,
            thresholds: arrays.next(thresholds as usize, 1)?,
        };
        arrays.finish()?;
        Ok(parsed)
    }

    /// m, the number of candidates, `1..=65536`.
    pub fn candidate_count(&self) -> u32 {
        self.candidates
    }

    /// Q, the largest score that one sentence gives, `1..=255`.
    pub fn largest_score(&self) -> u8 {
        match self.kind {
            Kind::Graded => self.thresholds.len() as u8,
            Kind::Vote => 1,
        }
    }

    /// Whether a sentence gives 1 to its best candidates alone, by comparison, and not a score to each by thresholds.
    pub fn is_vote(&self) -> bool {
        self.kind == Kind::Vote
    }

    /// A coordinate x enters as round(x · 2^exponent).
    pub fn exponent(&self) -> i32 {
        self.scale.exponent()
    }

    /// The weights of each candidate, `[inputs]` integers, for the study of packs: the direction in which a
    /// sentence scores most.
    pub fn weights(&self) -> impl Iterator<Item = &'a [i8]> {
        // Parsing made sure of 1. The compiler does not know, and would keep a panic.
        self.weights.chunks_exact(self.inputs.max(1))
    }

    /// The scale of coordinates.
    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Adds the scores of one sentence to the sums in `rows`. The caller has made sure that there is
    /// a row for every [`SUMS_PER_ROW`] candidates.
    pub(crate) fn add<const P: usize>(
        &self,
        backend: Backend,
        rows: &mut Rows<P>,
        sentence: &mut Activations,
    ) {
        let relative = sentence.iter_mut().zip(self.centre);
        let mut square: u64 = 0;
        for (y, centre) in relative {
            let difference = i32::from(*y) - i32::from(centre.get());
            *y = difference.clamp(-i32::from(i16::MAX), i16::MAX.into()) as i16;
            square += u64::from(y.unsigned_abs()) * u64::from(y.unsigned_abs());
        }
        // At the centre itself there is no direction; the biases decide.
        let norm = square_root_64(square).max(1) as i64;
        let y = sentence.get(..self.inputs).unwrap_or_default();
        match self.kind {
            Kind::Graded => self.add_graded(backend, rows, y, norm),
            Kind::Vote => self.add_vote(backend, rows, y, norm),
        }
    }

    fn add_graded<const P: usize>(
        &self,
        backend: Backend,
        rows: &mut Rows<P>,
        y: &[i16],
        norm: i64,
    ) {
        let mut rows = rows.iter_mut();
        self.for_each_block(backend, y, norm, |outputs| {
            backend.scores(outputs, self.thresholds, norm);
            let sums = rows.next().map(|row| row.as_chunks_mut().0);
            for (sum, score) in sums.unwrap_or_default().iter_mut().zip(outputs.iter()) {
                // 255 sentences of at most 255: no overflow.
                *sum = u16::from_le_bytes(*sum)
                    .wrapping_add(*score as u16)
                    .to_le_bytes();
            }
        });
    }

    fn add_vote<const P: usize>(&self, backend: Backend, rows: &mut Rows<P>, y: &[i16], norm: i64) {
        let mut winner: u32 = 0;
        let mut best = i64::MIN;
        let mut candidates = 0u32..;
        self.for_each_block(backend, y, norm, |outputs| {
            for (z, candidate) in outputs.iter().zip(&mut candidates) {
                // Branch-free: which candidate wins is private.
                winner.conditional_assign(&candidate, Choice::from(u8::from(*z > best)));
                best = best.max(*z);
            }
        });
        for (candidate, sum) in (0..self.candidates).zip(sums_mut(rows)) {
            let vote = u16::from(candidate == winner);
            *sum = u16::from_le_bytes(*sum).wrapping_add(vote).to_le_bytes();
        }
        winner.zeroize();
    }

    /// Calls `visit` with `z_c` of every candidate, in order, [`BLOCK`] at a time.
    // A call: there are two of these buffers otherwise.
    #[inline(never)]
    fn for_each_block(
        &self,
        backend: Backend,
        y: &[i16],
        norm: i64,
        mut visit: impl FnMut(&mut [i64]),
    ) {
        let mut outputs = [0i64; BLOCK];
        // Parsing made sure of 1 and of the lengths. The compiler does not know, and would keep a panic.
        let weights = self.weights.chunks((BLOCK * self.inputs).max(1));
        for (weights, bias) in weights.zip(self.bias.chunks(BLOCK)) {
            let outputs = outputs.get_mut(..bias.len()).unwrap_or_default();
            // |products| < 2^22, at most 2^10 of them; |bias·norm| < 2^31 · 2^20: no overflow.
            backend.products(weights, y, outputs);
            for (output, bias) in outputs.iter_mut().zip(bias) {
                *output = 256 * *output + i64::from(bias.get()) * norm;
            }
            visit(outputs);
        }
        wipe(&mut outputs);
    }
}

/// The sums in the document's state, candidate by candidate.
fn sums_mut<const P: usize>(rows: &mut Rows<P>) -> impl Iterator<Item = &mut [u8; 2]> {
    rows.iter_mut().flat_map(|row| row.as_chunks_mut().0)
}

/// The levels of all candidates of a pack for one document.
pub(crate) struct ScoreLevels<'a, const P: usize> {
    pub(crate) section: ScoresSection<'a>,
    pub(crate) rows: &'a Rows<P>,
}

impl<const P: usize> Levels for ScoreLevels<'_, P> {
    fn bound(&self) -> usize {
        LEVELS
    }

    fn candidate_count(&self) -> usize {
        self.section.candidates as usize
    }

    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        // Sums that belong to no candidate are 0.
        let mut best: u16 = 0;
        for row in self.rows {
            let sums = row.as_chunks().0.iter();
            best = sums.fold(best, |best, sum| best.max(u16::from_le_bytes(*sum)));
        }
        let mut levels = [0u8; BLOCK];
        let mut left = range.len();
        // Parts start at a multiple of the candidates in a row.
        let mut rows = self.rows.iter().skip(range.start / SUMS_PER_ROW);
        while left > 0 {
            let len = left.min(BLOCK);
            // Before the first sentence there are no rows, and all levels are 0.
            let sums = rows.next().map(|row| row.as_chunks().0);
            for (level, sum) in levels.iter_mut().zip(sums.unwrap_or_default()) {
                let distance = best.saturating_sub(u16::from_le_bytes(*sum));
                // Compilers make a branch of `min`, which takes longer the harder the levels of a document are to
                // predict.
                *level = at_most(i32::from(distance), LEVELS as i32 - 1) as u8;
            }
            visit(levels.get(..len).unwrap_or_default());
            left -= len;
        }
        best.zeroize();
        wipe(&mut levels);
    }
}
