//! Checks word mechanisms by enumeration: exact losses of pairs of words.

use rayon::prelude::*;
use undertone_core::rng::{PublicRng, below};

use crate::exact::inside::Words;
use crate::exact::neighbours::{Pairs, Seen, Setting};
use crate::{Check, Options};
use undertone::progress::Progress;
use undertone::release::document::epsilon_f64;

/// Words to compare with each other in a round.
const WORDS: usize = 64;

/// Pairs in a round.
const PER_ROUND: u64 = (WORDS * (WORDS - 1) / 2) as u64;

/// A pair of words costs about the same as this number of neighbouring documents, since every word
/// is a candidate.
const NEIGHBOURS_PER_PAIR: u64 = 20;

const ROUNDS: u64 = 4;

/// Checks the mechanism at every ε and rule of the options.
pub fn check(mechanism: &dyn Words, options: &Options) -> Vec<Check> {
    let mut checks = Vec::new();
    let settings = Setting::all(mechanism, options);
    // A vocabulary has no more pairs than this.
    let n = mechanism.candidates() as u64;
    let all = n * n.saturating_sub(1) / 2;
    let (worst, tried) = if n <= WORDS as u64 {
        let words: Vec<u32> = (0..n as u32).collect();
        (round(mechanism, &settings, &words), all)
    } else {
        let pairs = options.neighbours.div_ceil(NEIGHBOURS_PER_PAIR);
        search(mechanism, &settings, pairs, options.seed)
    };
    for (setting, worst) in settings.iter().zip(worst) {
        let losses = [epsilon_f64(setting.epsilon), worst.loss];
        let check = setting.check(mechanism, "loss of exchanged words", losses);
        let detail = format!(
            "per unit of dist + q; the worst for words {:.3} apart, q = {}",
            worst.distance,
            mechanism.unit()
        );
        checks.push(check.of(tried, detail));
    }
    checks
}

/// A pair of words with a large loss in relation to dist + q.
#[derive(Clone, Copy, Default)]
struct Worst {
    loss: f64,
    distance: f64,
    pair: [u32; 2],
}

impl Worst {
    fn or(self, other: Self) -> Self {
        // NaN is the worst loss.
        if other.loss.is_nan() || other.loss > self.loss {
            other
        } else {
            self
        }
    }
}

/// The worst pair by setting, and the number of pairs compared. The search covers near words,
/// arbitrary words, and words near the worst pair so far.
fn search(mechanism: &dyn Words, settings: &[Setting], pairs: u64, seed: u64) -> (Vec<Worst>, u64) {
    let rounds = pairs.div_ceil(PER_ROUND).clamp(1, ROUNDS);
    let searches = pairs.div_ceil(PER_ROUND * rounds).max(1);
    let progress = Progress::new("searching words", searches * rounds);
    let climb = |search: u64| {
        let mut rng = PublicRng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ search);
        let n = mechanism.candidates() as u128;
        let mut worst = vec![Worst::default(); settings.len()];
        let mut centres = [mechanism.fallback(), below(&mut rng, n) as u32];
        let goal = (search % settings.len() as u64) as usize;
        for _ in 0..rounds {
            let mut words: Vec<u32> = centres.to_vec();
            for centre in centres {
                words.extend(nearest(mechanism, centre, WORDS / 4));
            }
            words.sort_unstable();
            words.dedup();
            while words.len() < WORDS {
                let word = below(&mut rng, n) as u32;
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            let found = round(mechanism, settings, &words);
            centres = found[goal].pair;
            worst = join(worst, found);
            progress.advance(1);
        }
        worst
    };
    let worst = (0..searches)
        .into_par_iter()
        .map(climb)
        .reduce(|| vec![Worst::default(); settings.len()], join);
    (worst, searches * rounds * PER_ROUND)
}

fn join(a: Vec<Worst>, b: Vec<Worst>) -> Vec<Worst> {
    a.into_iter().zip(b).map(|(a, b)| a.or(b)).collect()
}

/// The nearest other words, in any order.
pub(crate) fn nearest(mechanism: &dyn Words, word: u32, count: usize) -> Vec<u32> {
    let others = (0..mechanism.candidates() as u32).filter(|other| *other != word);
    let mut others: Vec<(f64, u32)> = others
        .map(|other| (mechanism.distance(word, other), other))
        .collect();
    let count = count.min(others.len());
    if count < others.len() {
        others.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0));
    }
    others[..count].iter().map(|(_, word)| *word).collect()
}

/// The worst pair by setting of all pairs of these words.
fn round(mechanism: &dyn Words, settings: &[Setting], words: &[u32]) -> Vec<Worst> {
    let seen: Vec<Seen> = words
        .iter()
        .map(|word| Seen::new(mechanism.levels(*word), settings))
        .collect();
    let mut worst = vec![Worst::default(); settings.len()];
    let mut pairs = Pairs::default();
    for (at, one) in seen.iter().enumerate() {
        for (before, other) in seen[..at].iter().enumerate() {
            pairs.count(&one.levels, &other.levels);
            let pair = [words[at], words[before]];
            let distance = mechanism.distance(pair[0], pair[1]);
            for (setting, worst) in worst.iter_mut().enumerate() {
                let loss = pairs.loss(&one.logarithms[setting], &other.logarithms[setting]);
                let loss = loss / (distance + mechanism.unit());
                *worst = worst.or(Worst {
                    loss,
                    distance,
                    pair,
                });
            }
        }
    }
    worst
}
