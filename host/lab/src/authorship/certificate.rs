//! A sharper table for the selection of words by the exponential mechanism, certified on the host.
//!
//! A device selects a word with the table for ε·q per level and needs no knowledge of the
//! vocabulary: half of a level's cost pays for the weights, half for their sum. Once the vocabulary
//! is known, the actual change of the sum between two words can be computed. If it is smaller, the
//! weights may fall faster.
//!
//! Let ρ be the ratio of a table and Z(x) the sum of its weights for the private word x, both exact
//! integers of the code. Words x and x' at level ℓ of each other are less than (ℓ + 1)·q apart, so
//! levels differ by at most ℓ + 1 and
//!
//! |ln Pr\[w | x\] − ln Pr\[w | x'\]| ≤ (ℓ + 1)·ln ρ + |ln Z(x) − ln Z(x')|.
//!
//! `certified_table` checks for all pairs that this is at most (ℓ + 1)·q·ε ≤ (dist(x, x') + q)·ε.
//! The table then keeps the promise of [`words`](undertone_core::words) for this vocabulary. It
//! serves evaluations only, because a device cannot check it.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::select::{Levels, Ratio, Rule};
use undertone_core::words::{LEVELS, Vocabulary};

use undertone::progress::Progress;
use undertone::release::document::epsilon_f64;

/// Tables to try between the tables of ε and 2ε.
const STEPS: u32 = 32;

/// Exceeds the rounding error of all logarithms below 50 and of their products with up to 256, and
/// the error of 128-bit draws.
const MARGIN: f64 = 1e-9;

/// A table that keeps the promise for ε.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertifiedTable {
    /// The certified promise is exp(ε·(dist + q)).
    pub epsilon: Epsilon,
    /// 2λ, from ε, which always holds, to 2ε: weights fall by e^(−λ·q) per level.
    pub doubled: Epsilon,
}

impl CertifiedTable {
    /// The table. It is valid only for [`Rule::Exponential`].
    pub fn ratio(&self, vocabulary: &Vocabulary<'_>) -> Ratio {
        Ratio::per_unit(self.doubled, vocabulary.unit_exponent())
    }
}

/// Returns the steepest of 33 tables, with 2λ from ε to 2ε in equal steps, that keeps the promise
/// for ε between any two of these private words, whatever word is drawn.
///
/// # Cost
/// Two passes over the vectors for each private word, on all threads.
pub fn certified_table(
    vocabulary: &Vocabulary<'_>,
    words: &[u32],
    epsilon: Epsilon,
) -> CertifiedTable {
    let doubled = |step: u32| {
        let micro = u64::from(epsilon.micro());
        let micro = micro + micro * u64::from(step) / u64::from(STEPS);
        Epsilon::from_micro(micro.min(Epsilon::MAX.micro().into()) as u32).expect("in range")
    };
    let ratios: Vec<Ratio> = (0..=STEPS)
        .map(|step| Ratio::per_unit(doubled(step), vocabulary.unit_exponent()))
        .collect();

    // [table][word]: ln Z.
    let progress = Progress::new("weights of words", words.len() as u64);
    let logarithms: Vec<Vec<f64>> = words
        .par_iter()
        .map(|word| {
            let mut counts = [0u128; LEVELS];
            vocabulary.levels(*word).for_each_block(|block| {
                for level in block {
                    counts[usize::from(*level)] += 1;
                }
            });
            progress.advance(1);
            let sum = |ratio: &Ratio| {
                let weights = ratio.weights(Rule::Exponential);
                let terms = counts.iter().zip(weights).map(|(n, weight)| n * weight);
                // The sum is at most 2^64.
                (terms.sum::<u128>() as f64).ln()
            };
            ratios.iter().map(sum).collect()
        })
        .collect();
    let logarithms: Vec<Vec<f64>> = (0..ratios.len())
        .map(|table| logarithms.iter().map(|word| word[table]).collect())
        .collect();

    let unit = 2f64.powi(vocabulary.unit_exponent());
    let promised = epsilon_f64(epsilon) * unit;
    // The loss that each table leaves for the sums, per level.
    let left: Vec<f64> = ratios
        .iter()
        .map(|ratio| promised - (2f64.powi(64).ln() - (ratio.constant() as f64).ln()))
        .collect();

    let progress = Progress::new("pairs of words", words.len() as u64);
    // One bit per table.
    let holding = AtomicU64::new((1 << ratios.len()) - 1);
    words.par_iter().enumerate().for_each(|(index, word)| {
        let mut levels = Vec::with_capacity(vocabulary.word_count() as usize);
        vocabulary
            .levels(*word)
            .for_each_block(|block| levels.extend_from_slice(block));
        let steps: Vec<f64> = words[index..]
            .iter()
            .map(|other| f64::from(levels[*other as usize]) + 1.0)
            .collect();
        let mut here = holding.load(Ordering::Relaxed);
        for (table, (sums, left)) in logarithms.iter().zip(&left).enumerate().skip(1) {
            let mut pairs = sums[index..].iter().zip(&steps);
            if here >> table & 1 == 1
                && pairs.any(|(sum, steps)| (sum - sums[index]).abs() + MARGIN > left * steps)
            {
                here &= !(1 << table);
            }
        }
        holding.fetch_and(here, Ordering::Relaxed);
        progress.advance(1);
    });
    // The table for ε needs no check: the theorem proves it.
    let best = holding.into_inner().ilog2();
    CertifiedTable {
        epsilon,
        doubled: doubled(best),
    }
}

#[cfg(test)]
mod tests {
    use undertone::release::law::Law;
    use undertone_core::pack::Pack;

    use super::*;

    /// Certified tables keep the promise between any two of their words, and are sharper than the
    /// table of the device.
    #[test]
    fn certified_tables_keep_the_promise() {
        let built = undertone::demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let vocabulary = Vocabulary::new(&pack).unwrap();
        let unit = 2f64.powi(vocabulary.unit_exponent());
        let step = 2f64.powi(vocabulary.lexicon().vector_exponent());
        let words: Vec<u32> = (0..vocabulary.word_count()).step_by(700).collect();
        for epsilon in ["0.1", "1", "3"] {
            let epsilon: Epsilon = epsilon.parse().unwrap();
            let certified = certified_table(&vocabulary, &words, epsilon);
            assert!(certified.doubled > epsilon);
            let laws: Vec<Law> = words
                .iter()
                .map(|word| {
                    let mut levels = Vec::new();
                    let of_word = vocabulary.levels(*word);
                    of_word.for_each_block(|block| levels.extend_from_slice(block));
                    Law::new(levels, certified.ratio(&vocabulary), Rule::Exponential)
                })
                .collect();
            for (at, law) in laws.iter().enumerate() {
                for (other, word) in laws[..at].iter().zip(&words) {
                    let squared = vocabulary.squared_distance(words[at], *word) as f64;
                    let promise = epsilon_f64(epsilon) * (squared.sqrt() * step + unit);
                    assert!(law.loss(other) <= promise + MARGIN);
                }
            }
        }
    }
}
