//! Selection by its definition: a reference implementation, written only from the documentation of
//! [`undertone_core::select`] and as plainly as possible.

use num_bigint::BigUint;
use undertone_core::rng::below;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::Rule;

/// A list of candidates to draw from.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// One level per candidate; a level at or above the bound counts as the bound less one.
    pub levels: &'a [u8],
    /// Exclusive upper bound of the levels.
    pub bound: usize,
    /// The weights of the relative levels 0, 1, ... below the bound.
    pub weights: &'a [u128],
    /// The rule of drawing.
    pub rule: Rule,
}

impl List<'_> {
    /// Groups the candidates by their distance from the best level, best first. Coins are tossed in
    /// this order.
    fn by_level(&self) -> Vec<Vec<usize>> {
        let level = |level: &u8| usize::from(*level).min(self.bound - 1);
        let best = self.levels.iter().map(level).min().unwrap_or(0);
        let mut by_level = vec![Vec::new(); self.bound];
        for (candidate, of) in self.levels.iter().enumerate() {
            by_level[level(of) - best].push(candidate);
        }
        by_level
    }

    /// Returns the candidate that these words draw, and the number of words used.
    ///
    /// # Panics
    /// If there is no candidate, or there are too few words.
    pub fn draw(&self, words: &[u64]) -> (u32, usize) {
        let count = words.len();
        let mut words = words.iter().copied();
        let by_level = self.by_level();
        // The share of each level.
        let levels = self.weights.iter().zip(&by_level);
        let shares: Vec<u128> = levels
            .map(|(weight, candidates)| match self.rule {
                Rule::PermuteAndFlip => {
                    let coins = words.by_ref().take(candidates.len());
                    coins.filter(|word| u128::from(*word) < *weight).count() as u128
                }
                Rule::Exponential => candidates.len() as u128 * weight,
            })
            .collect();
        // U consists of two words; the result is ⌊U·n / 2^128⌋.
        let mut below = |n: u128| {
            let mut word = || BigUint::from(words.next().expect("a word left"));
            let u = (word() << 64u32) + word();
            u128::try_from((u * n) >> 128u32).expect("it is below n")
        };
        let mut left = below(shares.iter().sum());
        for (share, candidates) in shares.iter().zip(&by_level) {
            if left < *share {
                // The rank is among all candidates of the level, not only those with heads.
                let rank = below(candidates.len() as u128);
                return (candidates[rank as usize] as u32, count - words.len());
            }
            left -= share;
        }
        unreachable!("what is drawn is below the sum of all shares")
    }

    /// Returns enough random words for the rule. Many equal the weight of their coin or that less
    /// one, and others are the smallest and largest words.
    pub fn words(&self, rng: &mut impl Rng) -> Vec<u64> {
        let mut words = Vec::new();
        if self.rule == Rule::PermuteAndFlip {
            for (weight, candidates) in self.weights.iter().zip(self.by_level()) {
                for _ in candidates {
                    words.push(match below(rng, 8) {
                        0 | 1 => (weight - 1) as u64,
                        2 | 3 => u64::try_from(*weight).unwrap_or(u64::MAX),
                        4 => [0, u64::MAX][below(rng, 2) as usize],
                        _ => rng.next_u64(),
                    });
                }
            }
        }
        words.extend((0..4).map(|_| match below(rng, 4) {
            0 => [0, 1, u64::MAX][below(rng, 3) as usize],
            _ => rng.next_u64(),
        }));
        words
    }
}
