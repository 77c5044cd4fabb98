//! Bounded scores: a way to select a candidate in a sentence release, which needs a fraction of the
//! ε of [`depth`](crate::depth).
//!
//! Every sentence s gives every candidate c a *score* q(s, c), a whole number in 0..=Q, by a public
//! function of that one sentence. With u(c) = Σ_l q(s_l, c), the level of a candidate is `min(max u
//! − u(c), L − 1)`. L is a field of the pack, at most [`LEVELS`]. A candidate is drawn with weights
//! whose ratio from one level to the next is ρ, at most e^(ε/2Q).
//!
//! # Why it is private
//!
//! Adding a sentence raises every u(c) by 0..=Q. That is Q *one-sided unit steps* (in step j, the
//! u(c) with q ≥ j rise by one). Let i_c be the level of c. It is 0 for some candidate, so these
//! levels are relative to the best. Let one step raise some u by one. If max u stays, every i_c
//! stays or falls by one; if it rises (by one), every i_c stays or rises by one, capped or not,
//! since x ↦ min(x, L − 1) never lengthens a step. Those are the two cases of the one-sided step in
//! [`select`](mod@crate::select), for weights W_0, W_1, …, so the step costs at most ρ. Levels may
//! fall in some of the Q steps and rise in others. *Add/remove-one*: ρ^Q ≤ e^(ε/2), with the number
//! of sentences private. *Replace-one*: one removed, one added, ρ^2Q ≤ e^ε. For ε/Q below a
//! micro-unit, see [`Ratio::per_step`](crate::select::Ratio::per_step). ∎
//!
//! If the exponential mechanism makes the draw, the logarithms of the ratios of the candidates'
//! probabilities before and after lie in a range that grows by at most ln ρ a step, so replace-one
//! is ε-bounded-range.
//!
//! The proof needs only that q lies in 0..=Q and is a function of one sentence, so no pack can
//! weaken the guarantee. Scores need no common normalisation. Sums do not overflow, because a
//! document has at most 255 sentences, whose scores of at most 255 add up to 65 025, which fits 16
//! bits. Finite randomness costs something once per selection, not once per unit step. The cost is
//! less than the gap from ρ^Q to e^(ε/2) and from ρ^2Q to e^ε.
//!
//! Sums are capped only when levels are read. Capping them after each sentence would break the
//! proof, because the effect of one sentence would depend on the others.
//!
//! # The scores
//!
//! A candidate has a head: 8-bit weights w_c and a bias b_c. Let y be the embedding of the sentence
//! minus the public centre, and n = max(1, ⌊‖y‖⌋). Let `z_c = 256·w_c·y + b_c·n`, which is n times
//! an affine function of the direction y/n:
//! - *graded*: q is the number of the Q thresholds t_j with `t_j·n ≤ z_c`. Of this form are the
//!   clipped cosine to a centroid, ⌊Q·clip(a·cos, 0, 1)⌋ with a constant a, ridge regression on
//!   public labels or clusters, and heads trained with the private draw as part of the loss.
//! - *vote*: q is 1 for the candidate with the largest z_c (the first of them) and 0 for all
//!   others; Q = 1.
//!
//! If a pack has [`features`](crate::features), `n` times their value for c is added to `z_c`.
//! Features are a function of the same sentence, so the proof holds.
//!
//! Releases for the [whole text](crate::whole_text) use the sums of `z_c / n`, without thresholds.
//!
//! Everything after the conversion of coordinates is integer arithmetic.

use core::cmp;
use core::num::NonZero;
use core::ops::Range;

use subtle::{Choice, ConditionallySelectable};
use zerocopy::little_endian::{I16, I32};
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::checked::{chunk_size, part, part_mut};
use crate::epsilon::{Epsilon, Micro};
use crate::features::{Divisor, Features};
use crate::fixed::Scale;
use crate::integers::{at_most, lane_max, reciprocal_40, square_root_40};
use crate::kernels::{Backend, Length};
use crate::pack::format::{
    MAX_WIDTH, SCORES_FEATURES, SCORES_GRADED, SCORES_KNOWN, SCORES_TAG, SCORES_VOTE, ScoresHead,
};
use crate::pack::wire::{Arrays, PackError, scale, within};
use crate::recode::Activations;
use crate::select::{Levels, MAX_CANDIDATES, Ratio, Rule};
pub use crate::state::SUMS_PER_ROW;
use crate::state::{Layout, ScoreTables, VALUES_PER_ROW};
use crate::whole_text::whole_text_epsilon;

/// The largest L: levels are below it. A candidate that is L − 1 or more below the best has level L
/// − 1.
pub const LEVELS: usize = 160;

/// Sentences scored together, so that each block of weights is read from memory once for all these
/// sentences. A Cortex-M4 (`dsp`) has no cache and gains nothing.
pub(crate) const TOGETHER: usize = if cfg!(undertone_kernels = "dsp") {
    1
} else if cfg!(undertone_kernels = "x86") {
    4
} else {
    2
};

/// Candidates scored at a time.
const BLOCK: usize = if TOGETHER == 1 { 128 } else { 64 };

/// The heads of a pack: what scores a sentence for every candidate.
#[derive(Clone, Copy, Debug)]
pub struct ScoresSection<'a> {
    kind: Kind,
    has_nothing_known: bool,
    levels: u8,
    candidates: u32,
    inputs: NonZero<usize>,
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
    Features,
}

/// Scoring inputs other than the embedding.
#[derive(Clone, Copy, Default)]
pub(crate) struct Recognised {
    /// The divisor of the sentence's feature weights.
    pub(crate) divisor: Divisor,
    /// All ones if the pack recognises the sentence, else 0.
    pub(crate) known: i32,
}

impl Recognised {
    pub(crate) fn wipe(&mut self) {
        self.divisor.wipe();
        self.known.zeroize();
    }
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
        let count = head.candidate_count.get();
        let has_nothing_known = head.kind.get() & SCORES_KNOWN == 0;
        let candidates = if has_nothing_known {
            within("number of candidates", count, 1, MAX_CANDIDATES)?
        } else {
            let name = "number of candidates without \"nothing known\"";
            within(name, count, 2, MAX_CANDIDATES)?
        };
        let most = u32::from(SCORES_FEATURES | SCORES_KNOWN);
        let kind = within("kind of scores", head.kind.get().into(), 1, most)?;
        let kind = match kind as u16 & !SCORES_KNOWN {
            SCORES_GRADED => Kind::Graded,
            SCORES_VOTE => Kind::Vote,
            SCORES_FEATURES => Kind::Features,
            _ => return Err(PackError::section(SCORES_TAG, "has the unknown kind 4")),
        };
        let largest = head.largest_score.get().into();
        let thresholds = match kind {
            Kind::Graded | Kind::Features => within("largest score", largest, 1, u8::MAX.into())?,
            Kind::Vote => within("largest score", largest, 1, 1)? - 1,
        };
        let levels = match head.level_count.get() {
            0 => LEVELS as u32,
            levels => within("number of levels", levels, 2, LEVELS as u32)?,
        };
        let inputs = NonZero::new(inputs as usize).unwrap_or(NonZero::<usize>::MIN);
        let parsed = Self {
            kind,
            has_nothing_known,
            levels: levels as u8,
            candidates,
            inputs,
            scale: scale(head.exponent.get())?,
            centre: arrays.next(inputs.get(), 1)?,
            weights: arrays.next(candidates as usize, inputs.get())?,
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
            Kind::Graded | Kind::Features => self.thresholds.len() as u8,
            Kind::Vote => 1,
        }
    }

    /// Whether a sentence gives 1 to its best candidate and 0 to all others.
    pub fn is_vote(&self) -> bool {
        self.kind == Kind::Vote
    }

    /// Whether "nothing known" is an outcome of a document's release for the whole text.
    pub fn has_nothing_known(&self) -> bool {
        self.has_nothing_known
    }

    /// Whether a section of [`features`](crate::features) adds to the scores.
    pub fn has_features(&self) -> bool {
        self.kind == Kind::Features
    }

    /// L: levels are below this, `2..=160`.
    pub fn level_count(&self) -> usize {
        self.levels.into()
    }

    /// The number of rows of each table in the state of a document, which has at most `most` rows
    /// in all. Without features, the table of whole-text values is left out if it does not fit.
    pub(crate) fn layout(&self, most: usize) -> Layout {
        let candidates = self.candidates as usize;
        let values = candidates.div_ceil(VALUES_PER_ROW);
        let sums = candidates.div_ceil(SUMS_PER_ROW);
        let features = usize::from(self.has_features());
        let fits = sums + values * (features + 1) <= most;
        Layout {
            sums,
            weights: values * features,
            values: values * (features | usize::from(fits)),
        }
    }

    /// The largest number of candidates that fit a state of `rows` rows.
    pub(crate) fn limit(&self, rows: usize) -> usize {
        if self.has_features() {
            rows / 5 * SUMS_PER_ROW + rows % 5 / 3 * VALUES_PER_ROW
        } else {
            rows * SUMS_PER_ROW
        }
    }

    /// The largest number of candidates that fit with their values for the whole text.
    pub(crate) fn whole_text_limit(&self, rows: usize) -> usize {
        let room = rows / 3 * SUMS_PER_ROW + rows % 3 / 2 * VALUES_PER_ROW;
        // "Nothing known" is another outcome.
        cmp::min(
            cmp::min(self.limit(rows), room),
            MAX_CANDIDATES as usize - 1,
        )
    }

    /// The ratio between the weights of neighbouring levels in a release with this ε.
    pub(crate) fn ratio(&self, epsilon: Epsilon) -> Ratio {
        // Parsing refuses 0. If it did not, 255 would err towards more privacy.
        let steps = NonZero::new(self.largest_score()).unwrap_or(NonZero::<u8>::MAX);
        Ratio::per_step(epsilon, steps)
    }

    /// The ε of a release of at most `sentences` sentences if the whole text is replaced: see
    /// [`whole_text_epsilon`].
    pub fn whole_text_epsilon(&self, epsilon: Epsilon, rule: Rule, sentences: usize) -> Micro {
        let most = sentences.saturating_mul(self.largest_score().into());
        let levels = cmp::min(self.level_count(), most.saturating_add(1));
        whole_text_epsilon(rule, self.ratio(epsilon), levels, self.candidates)
    }

    /// A coordinate x enters as round(x · 2^exponent).
    pub fn exponent(&self) -> i32 {
        self.scale.exponent()
    }

    /// The weights of each candidate, `[inputs]` integers, for the study of packs.
    pub fn weights(&self) -> impl Iterator<Item = &'a [i8]> {
        self.weights.chunks_exact(self.inputs.get())
    }

    /// The scale of coordinates.
    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// Adds sentences, at most [`TOGETHER`], to the tables: scores to the sums, and whole-text
    /// scores to the values.
    pub(crate) fn add(
        &self,
        backend: Backend,
        features: Option<&Features<'_>>,
        tables: ScoreTables<'_>,
        sentences: &mut [Activations],
        recognised: &[Recognised],
    ) {
        let count = sentences.len();
        let mut each: [Sentence<'_>; TOGETHER] = Default::default();
        for ((each, sentence), recognised) in each.iter_mut().zip(sentences).zip(recognised) {
            *each = self.sentence(backend, sentence, *recognised);
        }
        let each = part_mut(&mut each, ..count);
        let ScoreTables {
            sums,
            weights,
            values,
        } = tables;
        self.for_each_block(backend, each, |sentence, start, outputs| {
            let Recognised { divisor, known } = sentence.recognised;
            let norm = sentence.length.norm;
            if let Some(features) = features {
                let weights = part(weights, start..);
                for ((candidate, output), sum) in (start..).zip(outputs.iter_mut()).zip(weights) {
                    *output += features.value(candidate, *sum, divisor) * norm;
                }
            }
            if !values.is_empty() {
                let values = part_mut(values, start..);
                backend.add_values(values, outputs, &sentence.length, known);
            }
            if self.kind == Kind::Vote {
                sentence.votes.count(start, outputs.iter().copied());
            } else {
                backend.add_scores(part_mut(sums, start..), outputs, self.thresholds, norm);
            }
        });
        for sentence in each {
            if self.kind == Kind::Vote {
                for (candidate, sum) in (0..self.candidates).zip(&mut *sums) {
                    *sum = sum.wrapping_add(u16::from(candidate == sentence.votes.winner));
                }
            }
            sentence.votes.winner.zeroize();
        }
    }

    /// A sentence relative to the centre.
    fn sentence<'s>(
        &self,
        backend: Backend,
        sentence: &'s mut Activations,
        recognised: Recognised,
    ) -> Sentence<'s> {
        let y = part_mut(sentence, ..self.inputs.get());
        let square = backend.centre(y, self.centre);
        // The square is below 2^10 · 2^30. A sentence at the centre has y = 0: the biases decide.
        let norm = lane_max(square_root_40(square), 1);
        Sentence {
            y,
            length: Length {
                norm: norm.into(),
                reciprocal: reciprocal_40(norm) as i64,
            },
            recognised,
            votes: Votes::default(),
        }
    }

    /// Calls `visit` with each sentence, the number of the first candidate of a block, and `z_c` of
    /// the candidates of that block, up to [`BLOCK`].
    // `inline(never)`: inlined, the buffer is on the stack twice.
    #[inline(never)]
    fn for_each_block<'s>(
        &self,
        backend: Backend,
        sentences: &mut [Sentence<'s>],
        mut visit: impl FnMut(&mut Sentence<'s>, usize, &mut [i64]),
    ) {
        let mut outputs = [[0i64; BLOCK]; TOGETHER];
        let weights = self.weights.chunks(chunk_size(BLOCK * self.inputs.get()));
        let blocks = (0..).step_by(BLOCK).zip(weights);
        for ((start, weights), bias) in blocks.zip(self.bias.chunks(BLOCK)) {
            let mut together = [&[][..]; TOGETHER];
            for (y, sentence) in together.iter_mut().zip(&*sentences) {
                *y = sentence.y;
            }
            let together = part(&together, ..sentences.len());
            // |products| < 2^22, at most 2^10 of them; |bias·norm| < 2^31 · 2^20: no overflow.
            backend.products(weights, together, outputs.as_flattened_mut(), BLOCK);
            for (sentence, outputs) in sentences.iter_mut().zip(&mut outputs) {
                let outputs = part_mut(outputs, ..bias.len());
                backend.add_bias(outputs, bias, sentence.length.norm);
                visit(sentence, start, outputs);
            }
        }
        wipe(outputs.as_flattened_mut());
    }
}

/// The first candidate with the largest output so far.
struct Votes {
    winner: u32,
    best: i64,
}

impl Default for Votes {
    fn default() -> Self {
        Self {
            winner: 0,
            best: i64::MIN,
        }
    }
}

impl Votes {
    /// Counts the outputs of the candidates from `start` on.
    fn count(&mut self, start: usize, outputs: impl Iterator<Item = i64>) {
        for (candidate, z) in (start as u32..).zip(outputs) {
            // Branch-free, because the winner is private.
            let wins = Choice::from(u8::from(z > self.best));
            self.winner.conditional_assign(&candidate, wins);
            self.best = lane_max(self.best, z);
        }
    }
}

/// A sentence that is being scored.
#[derive(Default)]
struct Sentence<'s> {
    /// Relative to the centre.
    y: &'s [i16],
    length: Length,
    recognised: Recognised,
    votes: Votes,
}

impl ScoresSection<'_> {
    /// The first of the candidates with the largest value; 0 if there are no values.
    pub(crate) fn best(&self, values: &[i32]) -> u32 {
        let mut votes = Votes::default();
        let values = values.iter().take(self.candidates as usize);
        votes.count(0, values.map(|value| i64::from(*value)));
        votes.best.zeroize();
        votes.winner
    }

    /// The first candidate with the largest bias, which is public.
    pub(crate) fn without_text(&self) -> u32 {
        let mut votes = Votes::default();
        votes.count(0, self.bias.iter().map(|bias| bias.get().into()));
        votes.winner
    }
}

/// The levels of all candidates of a pack for one document.
pub(crate) struct ScoreLevels<'a> {
    pub(crate) section: ScoresSection<'a>,
    /// Padded with zeroes; empty before the first sentence.
    pub(crate) sums: &'a [u16],
}

impl Levels for ScoreLevels<'_> {
    fn bound(&self) -> usize {
        self.section.level_count()
    }

    fn candidate_count(&self) -> usize {
        self.section.candidates as usize
    }

    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        let mut best = self.sums.iter().fold(0, |best, sum| lane_max(*sum, best));
        let mut levels = [0u8; SUMS_PER_ROW];
        let worst = i32::from(self.section.levels) - 1;
        let mut start = range.start;
        while start < range.end {
            let end = cmp::min(range.end, start + SUMS_PER_ROW);
            // Without sums all levels are 0.
            let sums = self.sums.get(start..end).unwrap_or(&[]);
            for (level, sum) in levels.iter_mut().zip(sums) {
                let distance = best.saturating_sub(*sum);
                // Not `min`: compiled to a branch, it takes longer if levels are hard to predict.
                *level = at_most(i32::from(distance), worst) as u8;
            }
            visit(part(&levels, ..end - start));
            start = end;
        }
        best.zeroize();
        wipe(&mut levels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits that errors quote agree with the sizes that `layout` can fit.
    #[test]
    fn limits_are_those_of_layouts() {
        let section = |kind, candidates| ScoresSection {
            kind,
            has_nothing_known: true,
            levels: LEVELS as u8,
            candidates,
            inputs: NonZero::<usize>::MIN,
            scale: scale(0).unwrap(),
            centre: &[],
            weights: &[],
            bias: &[],
            thresholds: &[],
        };
        for (rows, candidates) in (0..30).flat_map(|rows| (1..2000).map(move |n| (rows, n))) {
            let graded = section(Kind::Graded, candidates);
            let count = candidates as usize;
            let layout = graded.layout(rows);
            assert_eq!(layout.rows() <= rows, count <= graded.limit(rows));
            assert_eq!(layout.values > 0, count <= graded.whole_text_limit(rows));
            let features = section(Kind::Features, candidates);
            let fits = features.layout(rows).rows() <= rows;
            assert_eq!(fits, count <= features.limit(rows));
            assert_eq!(fits, count <= features.whole_text_limit(rows));
        }
        // "Nothing known" is another outcome.
        assert_eq!(section(Kind::Graded, 1).whole_text_limit(1 << 20), 65_535);
    }
}
