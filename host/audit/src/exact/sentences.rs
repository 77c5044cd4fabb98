//! Checks sentence mechanisms by enumeration: levels and exact losses.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use undertone_core::rng::PublicRng;

use crate::exact::construct;
use crate::exact::inside::Sentences;
use crate::exact::neighbours::{
    Pair, Pairs, STEPS, Search, Seen, Setting, Step, Worst, odd, promised,
};
use crate::sampled::device::Sentence;
use crate::sampled::selection::{Change, Neighbours};
use crate::{Check, Method, Options, RELATIVE, ROUNDING, label};
use undertone::release::document::MAX_SENTENCES;

/// Most directions, words and sentences in the pool, of each sort.
const SORT: usize = 512;

/// Checks the mechanism at every ε and rule of the options.
///
/// `public`: sentences to search from; it may be empty.
pub fn check(mechanism: &dyn Sentences, public: &[Sentence], options: &Options) -> Vec<Check> {
    search(mechanism, public, options).0
}

/// Returns the results of [`check`], and the neighbours for which releases could show the largest
/// loss: for each rule and ε of the options, in this order, by a replaced sentence and by an added
/// one.
pub(crate) fn search(
    mechanism: &dyn Sentences,
    public: &[Sentence],
    options: &Options,
) -> (Vec<Check>, Vec<Vec<Neighbours>>) {
    let mut checks = Vec::new();
    let settings = Setting::all(mechanism, options);
    let pool = pool(mechanism, public, options.seed);
    let search = Search {
        mechanism,
        settings: &settings,
        pool: &pool,
        releases: options.releases,
        seed: options.seed,
    };
    let mut worst = search.run(options.neighbours);
    let mut pairs = std::mem::take(&mut worst.shows);
    let searched = pairs.len();
    pairs.extend(construct::neighbours(mechanism, options.seed));
    let compared: Vec<_> = pairs.par_iter().map(|pair| search.compare(pair)).collect();
    let (found, shows): (Vec<_>, Vec<_>) = compared.into_iter().unzip();
    // The search has already counted its own neighbours.
    worst = found.into_iter().skip(searched).fold(worst, Worst::join);
    let neighbours = most_shown(&pairs, &shows, settings.len());
    let chains = chains(&pool);
    let chains = chains.par_iter().map(|pair| search.compare(pair).0);
    worst = chains
        .collect::<Vec<_>>()
        .into_iter()
        .fold(worst, Worst::join);
    let steps = i32::from(mechanism.steps().get());
    for step in STEPS {
        let (name, claimed) = match step {
            Step::Replaced => ("levels of replaced sentences", 2 * steps),
            Step::Added => ("levels of added and removed sentences", steps),
        };
        let moved = worst.moved[step as usize];
        checks.push(Check {
            mechanism: mechanism.name(),
            name: name.to_owned(),
            epsilon: None,
            method: Method::Exact,
            claimed: claimed.into(),
            measured: moved.into(),
            tried: worst.tried[step as usize],
            passed: moved <= claimed,
            detail: "the most levels by which two candidates moved apart".to_owned(),
        });
    }
    for (setting, losses) in settings.iter().zip(&worst.losses) {
        for step in STEPS {
            let claimed = promised(setting.epsilon, step);
            let (loss, sentences) = losses[step as usize];
            let name = match step {
                Step::Replaced => "loss of replaced sentences",
                Step::Added => "loss of added and removed sentences",
            };
            checks.push(Check {
                mechanism: label(mechanism, setting.rule),
                name: name.to_owned(),
                epsilon: Some(setting.epsilon),
                method: Method::Exact,
                claimed,
                measured: loss,
                tried: worst.tried[step as usize],
                passed: loss <= claimed * (1.0 + RELATIVE) + ROUNDING,
                detail: format!("the worst case has {sentences} sentences"),
            });
        }
    }
    checks.extend(exchanged(mechanism, &pool, &settings));
    (checks, neighbours)
}

/// Sentences of the pool to repeat up to 128 times.
const CHAINS: usize = 12;

/// Documents of one sentence, 0 to 128 times, each paired with the next longer one. A cap on the
/// distance between candidates takes effect within such a chain.
fn chains(pool: &[Sentence]) -> Vec<Pair> {
    let sentences = pool.iter().step_by(pool.len().div_ceil(CHAINS).max(1));
    let chain = |sentence: &Sentence| {
        let sentence = sentence.clone();
        (1..=MAX_SENTENCES).map(move |times| Pair {
            documents: [times, times - 1].map(|times| vec![sentence.clone(); times]),
            step: Step::Added,
        })
    };
    sentences.flat_map(chain).collect()
}

/// Sentences of the pool to repeat in documents that are as far apart as documents get.
const REPEATED: usize = 96;

/// Compares the promise for an exchanged whole text with the losses between documents that repeat
/// one sentence.
fn exchanged(mechanism: &dyn Sentences, pool: &[Sentence], settings: &[Setting]) -> Vec<Check> {
    let sentences = pool.iter().step_by(pool.len().div_ceil(REPEATED).max(1));
    let documents: Vec<Vec<&Sentence>> = sentences
        .map(|sentence| vec![sentence; MAX_SENTENCES])
        .chain([Vec::new()])
        .collect();
    let see = |document: &Vec<&Sentence>| Seen::new(mechanism.levels(document), settings);
    let seen: Vec<Seen> = documents.par_iter().map(see).collect();
    let losses = seen
        .par_iter()
        .enumerate()
        .map(|(index, a)| {
            let mut losses = vec![0.0f64; settings.len()];
            let mut pairs = Pairs::default();
            for b in &seen[..index] {
                pairs.count(&a.levels, &b.levels);
                let logarithms = a.logarithms.iter().zip(&b.logarithms);
                for (loss, (a, b)) in losses.iter_mut().zip(logarithms) {
                    *loss = loss.max(pairs.loss(a, b));
                }
            }
            losses
        })
        .reduce(
            || vec![0.0; settings.len()],
            |a, b| a.iter().zip(b).map(|(a, b)| a.max(b)).collect(),
        );
    let tried = (seen.len() * (seen.len() - 1) / 2) as u64;
    let check = |(setting, measured): (&Setting, f64)| {
        let claimed = mechanism.whole_text_loss(setting.epsilon, setting.rule);
        Check {
            mechanism: label(mechanism, setting.rule),
            name: "loss of an exchanged text".to_owned(),
            epsilon: Some(setting.epsilon),
            method: Method::Exact,
            claimed,
            measured,
            tried,
            passed: measured <= claimed * (1.0 + RELATIVE) + ROUNDING,
            detail: format!("documents of {MAX_SENTENCES} times the same sentence"),
        }
    };
    settings.iter().zip(losses).map(check).collect()
}

/// For each setting, the pairs of neighbours for which releases could show the largest loss, by a
/// replaced and by an added sentence.
fn most_shown(pairs: &[Pair], shows: &[Vec<f64>], settings: usize) -> Vec<Vec<Neighbours>> {
    let best = |setting: usize, step: Step| {
        let of_step = shows
            .iter()
            .zip(pairs)
            .filter(|(_, pair)| pair.step == step);
        let best = of_step.max_by(|a, b| a.0[setting].total_cmp(&b.0[setting]));
        best.map(|(_, pair)| Neighbours {
            documents: pair.documents.clone(),
            change: match step {
                Step::Replaced => Change::Replaced,
                Step::Added => Change::Added,
            },
        })
    };
    (0..settings)
        .map(|setting| {
            let steps = STEPS.into_iter();
            steps.filter_map(|step| best(setting, step)).collect()
        })
        .collect()
}

/// Sentences to search from: the texts of the mechanism, or else public ones, the directions of the
/// pack with both signs and in groups, and sentences that an encoder should not return.
pub(crate) fn pool(mechanism: &dyn Sentences, public: &[Sentence], seed: u64) -> Vec<Sentence> {
    let texts = mechanism.texts();
    if !texts.is_empty() {
        return texts.into_iter().map(Sentence::Text).collect();
    }
    let dimension = mechanism.dimension();
    let mut rng = PublicRng::new(seed);
    let mut rows = vec![vec![0.0; dimension]];
    for x in [
        1e30,
        -1e30,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -0.0,
        1.0,
    ] {
        rows.push(vec![x; dimension]);
    }
    for at in (0..dimension).step_by(dimension.div_ceil(64)) {
        for x in [1.0, -1.0, 1e30] {
            let mut one_hot = vec![0.0; dimension];
            one_hot[at] = x;
            rows.push(one_hot);
        }
    }
    let directions = mechanism.directions();
    for direction in directions
        .iter()
        .step_by(directions.len().div_ceil(SORT).max(1))
    {
        for scale in [1.0, -1.0, 1e4] {
            rows.push(direction.iter().map(|x| scale * x).collect());
        }
    }
    if !directions.is_empty() {
        // Every direction with a random sign: a corner of the projections.
        for _ in 0..64 {
            let mut corner = vec![0.0; dimension];
            for direction in &directions {
                let sign: f32 = StandardNormal.sample(&mut rng);
                for (x, d) in corner.iter_mut().zip(direction) {
                    *x += sign.signum() * d;
                }
            }
            rows.push(corner);
        }
    }
    for _ in 0..64 {
        let normal = (0..dimension).map(|_| StandardNormal.sample(&mut rng));
        rows.push(normal.collect());
        rows.push((0..dimension).map(|_| odd(&mut rng)).collect());
    }
    let rows = rows.into_iter().map(Sentence::Embedding);
    let public = public.iter().step_by(public.len().div_ceil(SORT).max(1));
    rows.chain(public.cloned()).collect()
}
