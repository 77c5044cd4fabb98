//! Releases for the whole text: if it is replaced by any other, the probability of every release
//! changes by a factor of at most e^ε.
//!
//! The sentence rule (`Document::release`, by scores or by depth) carries little information about
//! a short text, because [`scores`](crate::scores) and [`depth`](mod@crate::depth) bound the
//! influence of *each* sentence. A promise for the whole text needs no such bounds. The scores of
//! all sentences are added, and one candidate is the best.
//!
//! # The law
//! Number the n candidates from 0. Let b(text) be the best one, or n for *nothing known*: no
//! sentence has a word, a feature or a coordinate that the pack recognises. Without that outcome a
//! text in another language would be taken for a topic. Outcome b has the weight W₀, every other of
//! the n + 1 outcomes W₁, with W₀ ≤ e^ε·W₁.
//!
//! With few candidates another outcome is dear: of two, at ε = 1, e/(e + 1) = 73.1 % of releases
//! are right, of three outcomes 57.6 %. So a pack of n ≥ 2 candidates may leave "nothing known"
//! out. Then b(text) is a candidate, which for a text in which nothing is recognised depends on the
//! pack only; there are n outcomes; and the release states another mechanism. A
//! [`reservoir`](crate::reservoir) keeps all n + 1 outcomes, because it may hold no line.
//!
//! # Why it is private
//! Let N be the number of outcomes, n + 1 or n. The normaliser W₀ + (N − 1)·W₁ is the same for
//! every text, because N is public, and the law depends on the text through b only. So for texts
//! with best outcomes b and b', Pr\[b\] changes by W₁/W₀, Pr\[b'\] by W₀/W₁, and all others not at
//! all: within e^ε. Any text may replace any other, with any number of sentences, even 0, and b may
//! be any function of the text. ∎
//!
//! This is randomised response (Warner 1965; Kairouz, Bonawitz and Ramage 2016) over N outcomes. As
//! levels it is one 0 and N − 1 ones, which the engine of [`select`](mod@crate::select) draws by
//! the exponential mechanism. A [`Ratio`] for ε' divides a weight by at most e^(ε'/2), so
//! ε' = 2ε: ln(W₀/W₁) ≤ ε − 2⁻⁶², and those 2⁻⁶² pay for finite randomness. Permute-and-flip with
//! the same weights would lose more than ε.
//!
//! The engine's weights are integers, and W₀ = 2⁴⁸, so no release is drawn with more than
//! [`LARGEST_EPSILON`].
//!
//! # The sentence rule, if the whole text is replaced
//! The sentence rule gives each candidate a *level*, a whole number from 0, the best, to L − 1, the
//! cap, and the weight W_i at level i. One level more costs a factor of about e^(−ε/(2Q)): by
//! [`scores`](crate::scores) Q is the largest score of a sentence, by [`depth`](mod@crate::depth)
//! it is 1. Let w = W_(L−1)/W₀, the least relative weight: about e^(−t) with t = (L − 1)·ε/(2Q).
//!
//! A candidate becomes no likelier if its own level rises, and no less likely if another one's
//! does. So it is likeliest if it is at level 0 and all others are at the cap, and least likely if
//! it is at the cap and all others are at level 0. So for n ≥ 2 candidates and any two documents,
//! the logarithms of the probabilities of a release differ by at most
//!
//! - exponential mechanism: ln[(n − 1 + w) / (w·(1 + (n − 1)·w))], from 1/(1 + (n − 1)·w) over w/(w
//!   + n − 1);
//! - permute-and-flip: ln[(1 − (1 − w)ⁿ) / w²], from ∫₀¹(1 − x·w)ⁿ⁻¹dx over w·∫₀¹(1 − x)ⁿ⁻¹dx.
//!
//! [`whole_text_epsilon`] computes these, with the engine's own w. Both lie between t and
//! t + min(t, ln n), They are attained if, for some candidate, one document has it at level 0 and
//! all others at the cap, and another has it at the cap and all others at level 0. By depth, L is
//! ⌊K/2⌋ + 1, where K is the limit of sentences. By scores, L is a field of the pack, and at most
//! K·Q + 1 levels can occur.

use core::cmp;
use core::ops::Range;

use rand_core::Rng;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::checked::part;
use crate::epsilon::{Epsilon, MICRO, Micro};
use crate::kernels::Backend;
use crate::projective::Geometry;
use crate::select::{Levels, MAX_LEVELS, Ratio, Rule, SelectError, select_on};

/// The number of levels computed at a time.
const BLOCK: usize = 128;

/// The largest ε of a release: ln 2⁴⁸, rounded up. A larger ε is served as this one.
pub const LARGEST_EPSILON: Micro = Micro(33_271_065);

/// The levels of the outcomes: 0 for the best, 1 for all others.
pub(crate) struct OneBest {
    pub(crate) best: u32,
    pub(crate) outcomes: u32,
}

impl OneBest {
    /// Levels are below this.
    pub(crate) const BOUND: usize = 2;

    /// The rule whose loss is at most ε.
    pub(crate) const RULE: Rule = Rule::Exponential;

    /// The ratio for 2ε, because a ratio takes half of its ε: level 1 has about e^−ε of the weight
    /// of level 0.
    pub(crate) fn ratio(epsilon: Epsilon) -> Ratio {
        Ratio::per_unit(epsilon, 1)
    }

    /// Draws an outcome. The best one has the first weight of `ratio`, each other one the second.
    pub(crate) fn draw<R: Rng + ?Sized>(
        &self,
        backend: Backend,
        ratio: Ratio,
        rng: &mut R,
    ) -> Result<u32, SelectError> {
        select_on::<{ Self::BOUND }, R>(backend, self, Self::RULE, ratio, rng)
    }

    /// Draws a point by projective geometry response.
    pub(crate) fn draw_point<R: Rng + ?Sized>(
        &self,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<(Geometry, u32), SelectError> {
        let found = self.outcomes;
        let geometry = Geometry::best(found, epsilon).ok_or(SelectError::Candidates { found })?;
        Ok((geometry, geometry.draw(self.best, epsilon, rng)))
    }
}

/// Wipes the best outcome, which is private.
impl Drop for OneBest {
    fn drop(&mut self) {
        self.best.zeroize();
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
            let len = cmp::min(BLOCK, range.end - start);
            for (level, outcome) in levels.iter_mut().zip(start as u32..) {
                *level = (!outcome.ct_eq(&self.best)).unwrap_u8();
            }
            visit(part(&levels, ..len));
            start += len;
        }
        wipe(&mut levels);
    }
}

/// The ε of the sentence rule if the whole text is replaced: the largest loss between any two lists
/// of numbers below `levels`, rounded up to micro-units. `ratio` is that of neighbouring levels.
///
/// # Shapes
/// `levels`: 1 to [`MAX_LEVELS`], larger numbers count as that; `candidates`: any.
///
/// # Cost
/// One multiplication of 128 bits a level, four functions of doubles.
#[allow(clippy::float_arithmetic)] // No probability: a statement about one.
pub fn whole_text_epsilon(rule: Rule, ratio: Ratio, levels: usize, candidates: u32) -> Micro {
    let caps = cmp::min(levels, MAX_LEVELS).saturating_sub(1);
    if candidates < 2 || caps == 0 {
        return Micro(0);
    }
    let weight = ratio.weights(rule).nth(caps).unwrap_or(1);
    let w = weight as f64 / rule.first_weight() as f64;
    let n = f64::from(candidates);
    let loss = match rule {
        Rule::Exponential => libm::log((n - 1.0 + w) / (1.0 + (n - 1.0) * w)) - libm::log(w),
        // 1 − (1 − w)ⁿ, to the last bits where w is small.
        Rule::PermuteAndFlip => libm::log(-libm::expm1(n * libm::log1p(-w))) - 2.0 * libm::log(w),
    };
    // `loss` is within 10⁻¹³ of the exact value. Finite randomness adds less than 2⁻⁶². One
    // micro-unit more covers both.
    Micro(libm::ceil(loss * f64::from(MICRO)) as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilons_of_the_whole_text() {
        let ratio = |text: &str| Ratio::per_step(text.parse().unwrap(), 8.try_into().unwrap());
        let loss = |rule, text, levels, n| whole_text_epsilon(rule, ratio(text), levels, n).0;
        let (flip, exponential) = (Rule::PermuteAndFlip, Rule::Exponential);
        // t is 159/16. One rule adds nearly ln 12, the other nearly ln 11.
        assert!(loss(flip, "1", 160, 12).abs_diff(12_422_141) <= 2);
        assert!(loss(exponential, "1", 160, 12).abs_diff(12_334_868) <= 2);
        // Of two candidates: t = 1/16 by one rule, t + ln(2 - e^-t) by the other.
        assert!(loss(exponential, "1", 2, 2).abs_diff(62_500) <= 2);
        assert!(loss(flip, "1", 2, 2).abs_diff(121_323) <= 2);
        for rule in [flip, exponential] {
            assert_eq!(loss(rule, "1", 160, 1), 0);
            assert_eq!(loss(rule, "1", 1, 12), 0);
            // Weights that differ by 2^-64.
            assert!(loss(rule, "0.000001", 160, 12) <= 2);
        }
    }

    #[test]
    fn the_largest_epsilon_is_what_the_weights_allow() {
        let mut weights = OneBest::ratio(Epsilon::MAX).weights(OneBest::RULE);
        let [first, other] = [weights.next().unwrap(), weights.next().unwrap()];
        let largest = libm::log(first as f64 / other as f64) * f64::from(MICRO);
        assert_eq!(libm::ceil(largest) as u64, LARGEST_EPSILON.0);
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
