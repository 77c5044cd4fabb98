//! Checks the table of weights, and that the engine draws by it: the conditions of the theorem's
//! proof.

use std::convert::Infallible;

use num_bigint::BigUint;
use undertone_core::epsilon::Epsilon;
use undertone_core::rng::rand_core::TryRng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::Rule;

use crate::exact::definition::List;
use crate::exact::inside::Engine;
use crate::exact::neighbours::Setting;
use crate::{Check, Method, Options, label};

/// Fractional bits of e^x.
pub(crate) const PRECISION: u32 = 320;

/// The finite randomness of draws costs at most 2^-`SLACK`.
const SLACK: u32 = 62;

/// A rational number x ≥ 0.
pub(crate) struct Exponent {
    numerator: BigUint,
    denominator: BigUint,
}

impl Exponent {
    /// ε·2^`exponent` − 2⁻⁶², at most 1024; `None` if it is not positive.
    pub(crate) fn new(epsilon: Epsilon, exponent: i32) -> Option<Self> {
        let up = exponent.clamp(0, 64) as u32 + SLACK;
        let down = exponent.saturating_neg().clamp(0, 64) as u32;
        let denominator = (BigUint::from(1_000_000u32) << down) << SLACK;
        let one = &denominator >> SLACK;
        let claimed = BigUint::from(epsilon.micro()) << up;
        let claimed = claimed.min(&denominator * 1024u32);
        (claimed > one).then(|| Self {
            numerator: claimed - one,
            denominator,
        })
    }

    /// A lower bound of 2^[`PRECISION`]·e^x: (Σ (x/2^k)ⁿ/n!)^(2^k), truncated and with every step
    /// rounded down.
    pub(crate) fn exp_rounded_down(&self) -> BigUint {
        let mut denominator = self.denominator.clone();
        let mut doublings = 0;
        while self.numerator > denominator {
            denominator <<= 1;
            doublings += 1;
        }
        let mut term = BigUint::from(1u32) << PRECISION;
        let mut sum = term.clone();
        // 1/80! < 2^-390.
        for n in 1u32..=80 {
            term = term * &self.numerator / (&denominator * n);
            sum += &term;
        }
        for _ in 0..doublings {
            sum = (&sum * &sum) >> PRECISION;
        }
        sum
    }
}

/// Checks a table in exact integers: weights are positive and never rise, and twice the number of
/// steps that one changed sentence can cause costs at most ε.
///
/// With ρ the largest W_i/W_{i+1} and S steps, ρ^(2S) ≤ e^(ε − 2⁻⁶²), or, for steps too small to
/// distinguish, (W₀/W_last)² ≤ e^(ε − 2⁻⁶²). The rest of ε pays for the finite randomness of draws.
pub(crate) fn table(engine: &dyn Engine, epsilon: Epsilon, rule: Rule) -> Check {
    let table = engine.table(epsilon, rule);
    let pairs = || table.iter().zip(table.iter().skip(1));
    let falls = table.iter().all(|weight| *weight > 0) && pairs().all(|(a, b)| a >= b);
    let steps = 2 * u32::from(engine.steps().get());
    // a/b is the largest ratio so far: a/b < c/d iff a·d < c·b.
    let steepest = pairs().fold((1u128, 1u128), |(a, b), (c, d)| {
        let (left, right) = (BigUint::from(a) * *d, BigUint::from(*c) * b);
        if left < right { (*c, *d) } else { (a, b) }
    });
    let whole = (
        table.first().copied().unwrap_or(1),
        table.last().copied().unwrap_or(1),
    );
    let bound = Exponent::new(epsilon, engine.exponent()).map(|x| x.exp_rounded_down());
    let costs = [(steepest, steps), (whole, 2)].map(|((a, b), power)| {
        let within = bound.as_ref().is_some_and(|bound| {
            let left = BigUint::from(a).pow(power) << PRECISION;
            left <= BigUint::from(b).pow(power) * bound
        });
        // ln a/b without cancellation for close a and b.
        let ln = ((a.saturating_sub(b)) as f64 / b.max(1) as f64).ln_1p();
        (within, f64::from(power) * ln)
    });
    let measured = costs[0].1.min(costs[1].1);
    Check {
        mechanism: label(engine, rule),
        name: "table of weights".to_owned(),
        epsilon: Some(epsilon),
        method: Method::Exact,
        claimed: undertone::release::document::epsilon_f64(epsilon) * 2f64.powi(engine.exponent()),
        measured,
        tried: table.len() as u64,
        passed: falls && costs.iter().any(|(within, _)| *within),
        detail: if falls {
            format!("{steps} steps down the table, in exact integers")
        } else {
            "a weight is 0 or larger than the one before it".to_owned()
        },
    }
}

/// Checks that the engine draws by the table, whatever the best level is: for two candidates, the
/// outcome changes at exactly the random words that the table predicts.
pub(crate) fn draws(engine: &dyn Engine, epsilon: Epsilon, rule: Rule) -> Check {
    let table = engine.table(epsilon, rule);
    let bound = engine.bound();
    let mut bests = vec![0, 1, bound / 2, bound.saturating_sub(2)];
    bests.dedup();
    let (mut tried, mut wrong) = (0, Vec::new());
    for best in bests {
        for (distance, weight) in table.iter().enumerate().skip(1) {
            let level = best + distance;
            if level >= bound {
                break;
            }
            let levels = [best as u8, level as u8];
            let outcome = |words: &[u64]| {
                let mut rng = Script(words);
                engine.draw(&levels, epsilon, rule, &mut rng)
            };
            // `second` draws the second candidate, `first` the first one.
            let (second, first) = match rule {
                // Heads iff the word is below the weight; if both coins show heads, the last word
                // selects the second candidate.
                Rule::PermuteAndFlip => {
                    let below = (*weight).clamp(1, 1 << 64) - 1;
                    let at = u64::try_from(*weight).ok();
                    let second = outcome(&[0, below as u64]);
                    (second, at.map_or(0, |at| outcome(&[0, at])))
                }
                // ⌊U·n/2^128⌋ < W₀ iff U < ⌈W₀·2^128/n⌉.
                Rule::Exponential => {
                    let total = table[0] + weight;
                    let change: BigUint =
                        ((BigUint::from(table[0]) << 128u32) + (total - 1)) / total;
                    let at = |u: BigUint| {
                        let mut digits = u.iter_u64_digits();
                        let low = digits.next().unwrap_or(0);
                        outcome(&[digits.next().unwrap_or(0), low])
                    };
                    (at(change.clone()), at(change - 1u32))
                }
            };
            tried += 2;
            if (second, first) != (1, 0) {
                wrong.push(levels);
            }
        }
    }
    Check {
        mechanism: label(engine, rule),
        name: "draws by the table".to_owned(),
        epsilon: Some(epsilon),
        method: Method::Exact,
        claimed: 0.0,
        measured: wrong.len() as f64,
        tried,
        passed: wrong.is_empty(),
        detail: match wrong.first() {
            None => "pairs of levels drawn with a wrong weight".to_owned(),
            Some([best, level]) => {
                format!("pairs of levels drawn with a wrong weight, such as {best} and {level}")
            }
        },
    }
}

/// Lists of candidates to compare with the definition.
const LISTS: usize = 300;

/// Checks that the engine draws the candidate of the definition from lists of up to 200 candidates,
/// word by word. This covers the coins of all batches and ranks among all candidates of a level. It
/// must use each word once and leave none.
pub(crate) fn definition(engine: &dyn Engine, epsilon: Epsilon, rule: Rule, seed: u64) -> Check {
    let table = engine.table(epsilon, rule);
    let bound = engine.bound();
    let mut rng = PublicRng::new(seed ^ u64::from(epsilon.micro()));
    let mut wrong = Vec::new();
    for _ in 0..LISTS {
        let candidates = 1 + below(&mut rng, 200) as usize;
        let kinds = 1 + below(&mut rng, bound.min(9) as u128);
        let first = below(&mut rng, bound as u128 - u128::from(kinds) + 1);
        let levels: Vec<u8> = (0..candidates)
            .map(|_| (first + below(&mut rng, kinds.into())) as u8)
            .collect();
        let list = List {
            levels: &levels,
            bound,
            weights: &table,
            rule,
        };
        let words = list.words(&mut rng);
        // Spare words reveal an engine that uses too many.
        let spare = [&words[..], &[0; 8]].concat();
        let mut script = Script(&spare);
        let drawn = engine.draw(&levels, epsilon, rule, &mut script);
        if (drawn, spare.len() - script.0.len()) != list.draw(&words) {
            wrong.push(candidates);
        }
    }
    Check {
        mechanism: label(engine, rule),
        name: "draws by the definition".to_owned(),
        epsilon: Some(epsilon),
        method: Method::Exact,
        claimed: 0.0,
        measured: wrong.len() as f64,
        tried: LISTS as u64,
        passed: wrong.is_empty(),
        detail: match wrong.iter().min() {
            None => "lists of which another candidate is drawn, or with other words".to_owned(),
            Some(candidates) => format!(
                "lists of which another candidate is drawn, or with other words, the shortest of {candidates} candidates"
            ),
        },
    }
}

/// A generator that returns these words, then ones.
pub(crate) struct Script<'a>(pub(crate) &'a [u64]);

impl TryRng for Script<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (word, rest) = self.0.split_first().unwrap_or((&u64::MAX, &[]));
        self.0 = rest;
        Ok(*word)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// Checks the engine with this rule at every ε of the options. Returns the settings with which the
/// search for neighbours continues.
pub(crate) fn settings(
    engine: &dyn Engine,
    rule: Rule,
    options: &Options,
    checks: &mut Vec<Check>,
) -> Vec<Setting> {
    let of = |epsilon: &Epsilon| {
        checks.push(table(engine, *epsilon, rule));
        checks.push(draws(engine, *epsilon, rule));
        checks.push(definition(engine, *epsilon, rule, options.seed));
        Setting {
            epsilon: *epsilon,
            rule,
            table: engine.table(*epsilon, rule),
        }
    };
    options.epsilons.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_below_and_near() {
        for (micro, exponent, expected) in [
            (1_000_000, 0, 1f64),
            (1, 0, 1e-6),
            (3_000_000, -4, 3.0 / 16.0),
            (10_000_000, 3, 80.0),
        ] {
            let epsilon = Epsilon::from_micro(micro).unwrap();
            let bound = Exponent::new(epsilon, exponent).unwrap().exp_rounded_down();
            // Converts by the top 64 bits.
            let shift = bound.bits() - 64;
            let top = (&bound >> shift).iter_u64_digits().next().unwrap() as f64;
            let ln = top.ln() + (shift as f64 - f64::from(PRECISION)) * std::f64::consts::LN_2;
            assert!(
                (ln - expected).abs() <= 1e-14 * expected.max(10.0),
                "{ln} {expected}"
            );
        }
    }

    #[test]
    fn an_exponent_too_small_to_pay_for_draws_promises_nothing() {
        assert!(Exponent::new(Epsilon::from_micro(1).unwrap(), -64).is_none());
    }
}
