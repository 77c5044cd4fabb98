//! Checks the whole-text rule and projective geometry response. Any two texts are neighbours, so
//! every document is compared with every other.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use undertone_core::epsilon::Epsilon;
use undertone_core::rng::{PublicRng, below};

use crate::exact::engine::{Exponent, PRECISION, Script};
use crate::exact::inside::{Sentences, WholeText};
use crate::exact::sentences::pool;
use crate::sampled::device::Document;
use crate::{Check, Method, Options};
use undertone::release::document::{MAX_SENTENCES, epsilon_f64};

/// Most sentences of the pool to make documents of.
const SENTENCES: usize = 200;

/// Documents of several random sentences.
const MIXED: usize = 200;

/// Documents whose draws are checked, and outcomes to look for in each group of equal weight.
const DRAWN: usize = 16;

/// Documents to try: empty ones, and ones of a single, a repeated and several sentences.
pub(crate) fn documents(mechanism: &dyn Sentences, public: &[f32], seed: u64) -> Vec<Document> {
    let pool = pool(mechanism, public, seed);
    let mut rng = PublicRng::new(seed ^ 0x7e57);
    let mut choose = |n: usize| below(&mut rng, n as u128) as usize;
    let step = pool.len().div_ceil(SENTENCES).max(1);
    let mut all = vec![
        Vec::new(),
        vec![pool[choose(pool.len())].clone(); MAX_SENTENCES],
    ];
    all.extend(
        pool.iter()
            .step_by(step)
            .map(|sentence| vec![sentence.clone()]),
    );
    for _ in 0..MIXED {
        let length = [2, 2, 3, 5, 8, 20][choose(6)];
        all.push(
            (0..length)
                .map(|_| pool[choose(pool.len())].clone())
                .collect(),
        );
    }
    all.iter().map(|rows| mechanism.document(rows)).collect()
}

/// A document with a release, and the weights of its outcomes.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) document: Document,
    weights: Vec<u128>,
    /// Whether the pack recognises nothing in it.
    nothing: bool,
}

impl Tried {
    fn total(&self) -> u128 {
        self.weights.iter().sum()
    }
}

/// Documents with different weights, at most one for each best outcome; and the number of refused
/// documents.
fn tried(
    mechanism: &dyn WholeText,
    documents: &[Document],
    epsilon: Epsilon,
) -> (Vec<Tried>, usize) {
    let mut found: Vec<Tried> = Vec::new();
    let mut refused = 0;
    for document in documents {
        match mechanism.weights(document, epsilon) {
            None => refused += 1,
            Some(weights) if found.iter().all(|other| other.weights != weights) => {
                found.push(Tried {
                    nothing: mechanism.is_nothing(document, &weights),
                    document: document.clone(),
                    weights,
                });
            }
            Some(_) => {}
        }
    }
    (found, refused)
}

/// Checks the mechanism with these documents at every ε of the options.
pub fn check(mechanism: &dyn WholeText, documents: &[Document], options: &Options) -> Vec<Check> {
    let mut checks = Vec::new();
    for epsilon in &options.epsilons {
        let (found, refused) = tried(mechanism, documents, *epsilon);
        let check = |name: &str, claimed: f64, measured: f64, tried: usize| Check {
            mechanism: mechanism.name(),
            name: name.to_owned(),
            epsilon: Some(*epsilon),
            method: Method::Exact,
            claimed,
            measured,
            tried: tried as u64,
            passed: measured <= claimed,
            detail: String::new(),
        };
        checks.push(Check {
            detail: "texts that get no release, which tells something of them".to_owned(),
            ..check("texts refused", 0.0, refused as f64, documents.len())
        });
        let (within, loss) = loss(&found, *epsilon);
        let pairs = documents.len() * documents.len().saturating_sub(1) / 2;
        checks.push(Check {
            passed: within,
            detail: format!(
                "any two texts, {} different laws, in exact integers",
                found.len()
            ),
            ..check(
                "loss of an exchanged text",
                epsilon_f64(*epsilon),
                loss,
                pairs,
            )
        });
        let (drawn, wrong) = draws(mechanism, &found, *epsilon);
        checks.push(Check {
            detail: "random words by which another outcome is drawn than the weights say"
                .to_owned(),
            ..check("draws by the weights", 0.0, wrong as f64, drawn)
        });
    }
    checks
}

/// Whether the probabilities of an outcome for two texts differ at most by e^(ε − 2⁻⁶²), and the
/// largest logarithm of their ratio.
fn loss(found: &[Tried], epsilon: Epsilon) -> (bool, f64) {
    let bound = Exponent::new(epsilon, 0).map(|x| x.exp_rounded_down());
    let outcomes = found.first().map_or(0, |tried| tried.weights.len());
    let mut within = true;
    let mut most = 0.0f64;
    for outcome in 0..outcomes {
        let probabilities = || found.iter().map(|x| (x.weights[outcome], x.total()));
        // Weights are at most 2^48, totals 2^64. a/b > c/d iff a·d > c·b.
        let larger = |a: (u128, u128), b: (u128, u128)| if b.0 * a.1 > a.0 * b.1 { b } else { a };
        let less = |a: (u128, u128), b: (u128, u128)| if b.0 * a.1 < a.0 * b.1 { b } else { a };
        let (Some(largest), Some(least)) =
            (probabilities().reduce(larger), probabilities().reduce(less))
        else {
            continue;
        };
        let (high, low) = (largest.0 * least.1, least.0 * largest.1);
        within &= bound
            .as_ref()
            .is_some_and(|bound| BigUint::from(high) << PRECISION <= bound * low);
        most = most.max((high as f64 / low as f64).ln());
    }
    (within, most)
}

/// Checks that outcomes are drawn by their weights, at both ends of each outcome's range of random
/// words. Outcomes with the largest weight come first, ties by number. Returns the number of draws,
/// and the number of wrong outcomes.
fn draws(mechanism: &dyn WholeText, found: &[Tried], epsilon: Epsilon) -> (usize, usize) {
    let (mut tried, mut wrong) = (0, 0);
    // From the end, because "nothing known" may be the last outcome.
    let step = found.len().div_ceil(DRAWN).max(1);
    for text in found.iter().rev().step_by(step) {
        let total = text.total();
        let mut order: Vec<usize> = (0..text.weights.len()).collect();
        order.sort_by_key(|outcome| std::cmp::Reverse(text.weights[*outcome]));
        let mut start = 0;
        for group in order.chunk_by(|a, b| text.weights[*a] == text.weights[*b]) {
            let count = group.len() as u128;
            let end = start + count * text.weights[group[0]];
            let ranks = (0..group.len()).step_by(group.len().div_ceil(DRAWN));
            let mut drawn_before = BTreeMap::new();
            for rank in ranks.chain([group.len() - 1]) {
                let share = ends(start, end, total);
                let within = ends(rank as u128, rank as u128 + 1, count);
                for (share, rank_words) in share.into_iter().zip(within) {
                    let words = [share, rank_words].concat();
                    let drawn = mechanism.draw(&text.document, epsilon, &mut Script(&words));
                    tried += 1;
                    let right = match drawn {
                        Some(drawn) if !mechanism.is_ordered() => {
                            // Any outcome of this weight, but the same one for the same rank.
                            text.weights.get(drawn as usize) == Some(&text.weights[group[0]])
                                && *drawn_before.entry(drawn).or_insert(rank) == rank
                        }
                        drawn => drawn == Some(group[rank] as u32),
                    };
                    wrong += usize::from(!right);
                }
            }
            start = end;
        }
    }
    (tried, wrong)
}

/// The words of the first and the last 128-bit draw below `n` whose result is in `start..end`.
fn ends(start: u128, end: u128, n: u128) -> [[u64; 2]; 2] {
    let first = |value: u128| ((BigUint::from(value) << 128u32) + (n - 1)) / n;
    [first(start), first(end) - 1u32].map(|draw| {
        let mut digits = draw.iter_u64_digits();
        let low = digits.next().unwrap_or(0);
        [digits.next().unwrap_or(0), low]
    })
}

/// Pairs of documents for a device, if they exist: two documents with different outcomes, and one
/// of them with a document in which the pack recognises nothing.
pub(crate) fn shown(
    mechanism: &dyn WholeText,
    documents: &[Document],
    epsilon: Epsilon,
) -> Vec<[Document; 2]> {
    let (found, _) = tried(mechanism, documents, epsilon);
    let document = |tried: &Tried| tried.document.clone();
    let known: Vec<Document> = found.iter().filter(|x| !x.nothing).map(document).collect();
    let nothing = found.iter().find(|x| x.nothing).map(document);
    let mut pairs: Vec<[Document; 2]> = Vec::new();
    if let [first, .., last] = &known[..] {
        pairs.push([first.clone(), last.clone()]);
    }
    pairs.extend(known.first().cloned().zip(nothing).map(|(a, b)| [a, b]));
    pairs
}

/// The probability of every outcome for a document, `None` if it is refused.
pub(crate) fn law(
    mechanism: &dyn WholeText,
    document: &Document,
    epsilon: Epsilon,
) -> Option<Vec<f64>> {
    let weights = mechanism.weights(document, epsilon)?;
    let total = weights.iter().sum::<u128>() as f64;
    Some(
        weights
            .iter()
            .map(|weight| *weight as f64 / total)
            .collect(),
    )
}
