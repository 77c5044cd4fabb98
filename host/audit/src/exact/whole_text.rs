//! Checks the whole-text rule and projective geometry response. Any two texts are neighbours, so
//! every document is compared with every other.

use undertone_core::epsilon::Epsilon;
use undertone_core::rng::{PublicRng, below};

use crate::exact::inside::{Sentences, WholeText};
use crate::exact::sentences::pool;
use crate::sampled::device::Sentence;
use crate::{Check, Method, Options, RELATIVE, ROUNDING};
use undertone::release::document::{MAX_SENTENCES, epsilon_f64};

/// Most sentences of the pool to make documents of.
const SENTENCES: usize = 200;

/// Documents of several random sentences.
const MIXED: usize = 200;

/// Documents to try: empty ones, and ones of a single, a repeated and several sentences.
pub(crate) fn documents(
    mechanism: &dyn Sentences,
    public: &[Sentence],
    seed: u64,
) -> Vec<Vec<Sentence>> {
    let pool = pool(mechanism, public, seed);
    let mut rng = PublicRng::new(seed ^ 0x7e57);
    let mut choose = |n: usize| below(&mut rng, n as u128) as usize;
    let step = pool.len().div_ceil(SENTENCES).max(1);
    let single = pool.iter().step_by(step);
    let mut all = vec![Vec::new()];
    all.extend(single.map(|sentence| vec![sentence.clone()]));
    for _ in 0..MIXED {
        let length = [2, 2, 3, 5, 8, 20][choose(6)];
        let sentences = (0..length).map(|_| pool[choose(pool.len())].clone());
        all.push(sentences.collect());
    }
    all.push(vec![pool[choose(pool.len())].clone(); MAX_SENTENCES]);
    all
}

/// A document with a release, and the probabilities of its outcomes.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    document: Vec<Sentence>,
    law: Vec<f64>,
    /// Whether the pack recognises nothing in it.
    nothing: bool,
}

/// Documents with different laws, at most one for each best outcome; and the number of refused
/// documents.
fn tried(
    mechanism: &dyn WholeText,
    documents: &[Vec<Sentence>],
    epsilon: Epsilon,
) -> (Vec<Tried>, usize) {
    let mut found: Vec<Tried> = Vec::new();
    let mut refused = 0;
    for document in documents {
        match mechanism.law(document, epsilon) {
            None => refused += 1,
            Some(law) if found.iter().all(|other| other.law != law) => {
                found.push(Tried {
                    nothing: mechanism.is_nothing(document),
                    document: document.clone(),
                    law,
                });
            }
            Some(_) => {}
        }
    }
    (found, refused)
}

/// Checks the mechanism with these documents at every ε of the options.
pub fn check(
    mechanism: &dyn WholeText,
    documents: &[Vec<Sentence>],
    options: &Options,
) -> Vec<Check> {
    let mut checks = Vec::new();
    for epsilon in &options.epsilons {
        let (found, refused) = tried(mechanism, documents, *epsilon);
        let check = |name: &str, claimed: f64, measured: f64, tried: usize, detail: String| Check {
            mechanism: mechanism.name(),
            name: name.to_owned(),
            epsilon: Some(*epsilon),
            method: Method::Exact,
            claimed,
            measured,
            tried: tried as u64,
            passed: measured <= claimed * (1.0 + RELATIVE) + ROUNDING,
            detail,
        };
        checks.push(check(
            "texts refused",
            0.0,
            refused as f64,
            documents.len(),
            "texts that get no release, which reveals something about them".to_owned(),
        ));
        checks.push(check(
            "loss of an exchanged text",
            epsilon_f64(*epsilon),
            loss(&found),
            documents.len() * documents.len().saturating_sub(1) / 2,
            format!("any two texts, {} different laws", found.len()),
        ));
    }
    checks
}

/// The largest logarithm of the ratio of an outcome's probabilities for two texts.
fn loss(found: &[Tried]) -> f64 {
    let outcomes = found.first().map_or(0, |tried| tried.law.len());
    let of_outcome = |outcome: usize| {
        let logarithms = found.iter().map(|tried| tried.law[outcome].ln());
        let (least, most) = logarithms
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| {
                (least.min(x), most.max(x))
            });
        most - least
    };
    (0..outcomes).map(of_outcome).fold(0.0, f64::max)
}

/// Pairs of documents for a device, if they exist: two documents with different outcomes, and one
/// of them with a document in which the pack recognises nothing.
pub(crate) fn shown(
    mechanism: &dyn WholeText,
    documents: &[Vec<Sentence>],
    epsilon: Epsilon,
) -> Vec<[Vec<Sentence>; 2]> {
    let (found, _) = tried(mechanism, documents, epsilon);
    let document = |tried: &Tried| tried.document.clone();
    let mut known: Vec<_> = found.iter().filter(|x| !x.nothing).map(document).collect();
    // The device pushes all sentences for each release.
    known.sort_by_key(Vec::len);
    let nothing = found.iter().find(|x| x.nothing).map(document);
    let others = known.get(1).cloned().into_iter().chain(nothing);
    let first = known.first();
    let pairs = others.filter_map(|other| Some([first?.clone(), other]));
    pairs.collect()
}
