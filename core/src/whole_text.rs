//! The whole text as the unit: exchange it for any other, and every release stays within a factor e^ε.
//!
//! A sentence-private release of a short text says little: [`scores`](crate::scores) and [`depth`](mod@crate::depth) must
//! bound what *each* sentence says. Where the whole text is exchanged, nothing needs bounds, so the sum of all that its
//! sentences say for each candidate decides, and one candidate is the best.
//!
//! # The law
//! Let b(text) be the best of the n candidates, or n for *nothing known*: no sentence, or none with a word, a feature or a
//! coordinate that the pack knows. Without that outcome a text in another language would be taken for a topic.
//! Outcome b has the weight W₀, every other of the n + 1 outcomes W₁, with W₀ ≤ e^ε·W₁.
//!
//! # Why it is private
//! The normaliser W₀ + n·W₁ is the same for every text, and b is the only thing about the text that the law depends on. So
//! for texts with best outcomes b and b', Pr\[b\] changes by W₁/W₀, Pr\[b'\] by W₀/W₁ and all others not at all: within
//! e^ε. Any text may stand in for any other, of any number of sentences, and none; b may be any function of the text. ∎
//!
//! This is randomised response (Warner 1965; Kairouz, Bonawitz and Ramage 2016) over n + 1 outcomes. As levels it is one
//! 0 and n ones, drawn by the exponential mechanism, so the engine of [`select`](mod@crate::select) draws it: with the ratio
//! for 2ε, ln(W₀/W₁) ≤ ε − 2⁻⁶², and its finite randomness takes less than what is left. By permute-and-flip the
//! normaliser would move, and with the same weights the loss would be more than ε.
//!
//! Above ε = 500 the ratio is that for 500; the engine serves ε above 42 with about 42.
//!
//! # What a sentence-private release promises for the whole text
//! Its levels are capped. With L levels, and e^(−ε/2Q) between two, let w = e^(−(L−1)ε/2Q) be the least relative weight. A
//! candidate's probability is largest when it alone is best and all others are at the cap, and least when it is at the
//! cap and all others are best, which some two documents may attain. So the loss between any two documents is at most
//!
//! - exponential mechanism: ln[(n − 1 + w) / (w·(1 + (n − 1)·w))];
//! - permute-and-flip: ln[(1 − (1 − w)ⁿ) / w²],
//!
//! both at most t + min(t, ln n) with t = (L − 1)·ε/2Q, which [`sentence_loss`] gives. It is attained up to a fraction of t.
//! By depth, t = ⌊K/2⌋·ε/2 for documents of at most K sentences.

use core::ops::Range;

use subtle::ConstantTimeEq;

use crate::barrier::wipe;
use crate::epsilon::{Epsilon, MICRO, Micro};
use crate::select::{Levels, Ratio};

/// Levels made at a time.
const BLOCK: usize = 128;

/// The levels of the outcomes: 0 for the best, 1 for all others.
pub(crate) struct OneBest {
    pub(crate) best: u32,
    pub(crate) outcomes: u32,
}

impl OneBest {
    /// Levels are below this.
    pub(crate) const BOUND: usize = 2;

    /// That of 2ε a level.
    pub(crate) fn ratio(epsilon: Epsilon) -> Ratio {
        Ratio::per_unit(epsilon, 1)
    }
}

impl Levels for OneBest {
    fn bound(&self) -> usize {
        Self::BOUND
    }

    fn candidate_count(&self) -> usize {
        self.outcomes as usize
    }

    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        let mut levels = [0u8; BLOCK];
        let mut start = range.start;
        while start < range.end {
            let len = BLOCK.min(range.end - start);
            for (level, outcome) in levels.iter_mut().zip(start as u32..) {
                *level = (!outcome.ct_eq(&self.best)).unwrap_u8();
            }
            visit(levels.get(..len).unwrap_or_default());
            start += len;
        }
        wipe(&mut levels);
    }
}

/// What a sentence-private release with ε promises at least where the whole text is exchanged for any other, rounded up
/// to micro-units: t + min(t, ln n), with `levels` levels, `steps` of them for ε/2, and n candidates.
///
/// # Shapes
/// `levels`, `steps`: 1 or more; `candidates`: any.
pub fn sentence_loss(epsilon: Epsilon, levels: usize, steps: u8, candidates: u32) -> Micro {
    let steps = 2 * u64::from(steps.max(1));
    let total = u64::from(epsilon.micro()) * (levels.max(1) as u64 - 1);
    let cap = total.div_ceil(steps);
    Micro(cap + cap.min(natural_logarithm(candidates)))
}

/// ln n in micro-units, rounded up.
fn natural_logarithm(n: u32) -> u64 {
    // Correct to the last bits of a double; a micro-unit more covers them.
    let logarithm = libm::log(f64::from(n.max(1)));
    #[allow(clippy::float_arithmetic)] // No probability: a statement about one.
    let micro = libm::ceil(logarithm * f64::from(MICRO));
    micro as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_the_page() {
        let one: Epsilon = "1".parse().unwrap();
        // 159/16 + ln 12.
        assert_eq!(sentence_loss(one, 160, 8, 12).0, 9_937_500 + 2_484_907 + 1);
        // 1/16 is less than ln 12.
        assert_eq!(sentence_loss(one, 2, 8, 12).0, 125_000);
        assert_eq!(sentence_loss(one, 1, 8, 12).0, 0);
    }

    #[test]
    fn one_outcome_is_best() {
        for (best, outcomes) in [(0, 1), (3, 4), (130, 300), (299, 300)] {
            let mut index = 0;
            OneBest { best, outcomes }.for_each_block_of(0..outcomes as usize, |block| {
                for level in block {
                    assert_eq!(*level, u8::from(index != best));
                    index += 1;
                }
            });
            assert_eq!(index, outcomes);
        }
    }
}
