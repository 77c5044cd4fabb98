//! Checks the whole-text rule, projective geometry response and answers. Any two inputs are
//! neighbours, so each is compared with every other.

use undertone_core::epsilon::Epsilon;
use undertone_core::form::NO_ANSWER;
use undertone_core::rng::{PublicRng, below};

use crate::exact::inside::{CoreAnswers, Sentences, WholeText};
use crate::exact::sentences::pool;
use crate::sampled::device::Sentence;
use crate::{Check, Method, Options};
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
    // A device pushes all sentences for each release, and gets the first documents.
    all.sort_by_key(Vec::len);
    all
}

/// Number of lists of answers to try.
const LISTS: usize = 400;

/// Lists of answers to try. A device gets the first three: all answers, some of them, and none.
pub(crate) fn lists(mechanism: &CoreAnswers<'_>, seed: u64) -> Vec<Vec<u32>> {
    let sizes = mechanism.sizes();
    let numbered = || sizes.iter().enumerate();
    let is_alone = sizes.len() == 1;
    let some = numbered().map(|(at, size)| {
        let is_answered = is_alone || at % 2 == 1;
        if is_answered { size - 1 } else { NO_ANSWER }
    });
    // Any number from the number of categories on is no answer.
    let none = numbered().map(|(at, size)| if at % 2 == 0 { NO_ANSWER } else { *size });
    let mut all = vec![vec![0; sizes.len()], some.collect(), none.collect()];
    let mut rng = PublicRng::new(seed ^ 0x7e58);
    all.resize_with(LISTS, || {
        let any = |size: &u32| below(&mut rng, u128::from(*size) + 1) as u32;
        sizes.iter().map(any).collect()
    });
    all
}

/// An input with a release, and the probabilities of its outcomes.
#[derive(Clone, Debug)]
struct Tried<Input> {
    input: Input,
    law: Vec<f64>,
    nothing: bool,
}

/// Inputs with different laws, and the number of refused inputs.
fn tried<W: WholeText>(
    mechanism: &W,
    inputs: &[W::Input],
    epsilon: Epsilon,
) -> (Vec<Tried<W::Input>>, usize) {
    let mut found: Vec<Tried<W::Input>> = Vec::new();
    let mut refused = 0;
    for input in inputs {
        match mechanism.law(input, epsilon) {
            None => refused += 1,
            Some(law) if found.iter().all(|other| other.law != law) => {
                found.push(Tried {
                    nothing: mechanism.is_nothing(input),
                    input: input.clone(),
                    law,
                });
            }
            Some(_) => {}
        }
    }
    (found, refused)
}

/// Checks the mechanism with these inputs at every ε of the options.
pub fn check<W: WholeText>(mechanism: &W, inputs: &[W::Input], options: &Options) -> Vec<Check> {
    let [of_refused, of_loss] = W::CHECKS;
    let mut checks = Vec::new();
    for epsilon in &options.epsilons {
        let (found, refused) = tried(mechanism, inputs, *epsilon);
        let check = |name, numbers| {
            Check::new(
                mechanism.name(),
                name,
                Some(*epsilon),
                Method::Exact,
                numbers,
            )
        };
        checks.push(check(of_refused, [0.0, refused as f64]).of(
            inputs.len() as u64,
            "inputs that get no release, which reveals something about them",
        ));
        checks.push(check(of_loss, [epsilon_f64(*epsilon), loss(&found)]).of(
            (inputs.len() * inputs.len().saturating_sub(1) / 2) as u64,
            format!("any two inputs, {} different laws", found.len()),
        ));
    }
    checks
}

/// The largest logarithm of the ratio of an outcome's probabilities for two inputs.
fn loss<Input>(found: &[Tried<Input>]) -> f64 {
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

/// Pairs of inputs for a device, if they exist: two inputs with different laws, and one of them
/// with an input that is nothing.
pub(crate) fn shown<W: WholeText>(
    mechanism: &W,
    inputs: &[W::Input],
    epsilon: Epsilon,
) -> Vec<[W::Input; 2]> {
    let (found, _) = tried(mechanism, inputs, epsilon);
    let (nothing, known): (Vec<_>, Vec<_>) = found.into_iter().partition(|own| own.nothing);
    let mut known = known.into_iter().map(|own| own.input);
    let Some(first) = known.next() else {
        return Vec::new();
    };
    let nothing = nothing.into_iter().map(|own| own.input).take(1);
    let others = known.take(1).chain(nothing);
    others.map(|other| [first.clone(), other]).collect()
}
