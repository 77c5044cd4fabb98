//! Checks sentence mechanisms by enumeration: levels and exact losses.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use undertone_core::rng::PublicRng;

use crate::exact::construct;
use crate::exact::inside::Sentences;
use crate::exact::neighbours::{Pairs, Search, Seen, Setting, Worst, odd};
use crate::sampled::device::Sentence;
use crate::sampled::selection::{Change, Neighbours};
use crate::{Check, Method, Options};
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
    worst = Vec::from_par_iter(chains)
        .into_iter()
        .fold(worst, Worst::join);
    let steps = i32::from(mechanism.core().steps().get());
    for change in Change::ALL {
        let (name, claimed) = match change {
            Change::Replaced => ("levels of replaced sentences", 2 * steps),
            Change::Added => ("levels of added and removed sentences", steps),
        };
        let numbers = [claimed, worst.moved[change as usize]].map(f64::from);
        let check = Check::new(mechanism.name(), name, None, Method::Exact, numbers);
        let detail = "the most levels by which two candidates moved apart";
        checks.push(check.of(worst.tried[change as usize], detail));
    }
    for (setting, losses) in settings.iter().zip(&worst.losses) {
        for change in Change::ALL {
            let (loss, sentences) = losses[change as usize];
            let name = match change {
                Change::Replaced => "loss of replaced sentences",
                Change::Added => "loss of added and removed sentences",
            };
            let promise = change.promise(setting.epsilon);
            let check = setting.check(mechanism, name, [promise, loss]);
            let detail = format!("the worst case has {sentences} sentences");
            checks.push(check.of(worst.tried[change as usize], detail));
        }
    }
    checks.extend(exchanged(mechanism, &pool, &settings));
    (checks, neighbours)
}

/// Sentences of the pool to repeat up to 128 times.
const CHAINS: usize = 12;

/// Documents of one sentence, 0 to 128 times, each paired with the next longer one. A cap on the
/// distance between candidates takes effect within such a chain.
fn chains(pool: &[Sentence]) -> Vec<Neighbours> {
    let sentences = pool.iter().step_by(pool.len().div_ceil(CHAINS).max(1));
    let chain = |sentence: &Sentence| {
        let sentence = sentence.clone();
        (1..=MAX_SENTENCES).map(move |times| Neighbours {
            documents: [times, times - 1].map(|times| vec![sentence.clone(); times]),
            change: Change::Added,
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
        let check = setting.check(mechanism, "loss of an exchanged text", [claimed, measured]);
        let detail = format!("documents of {MAX_SENTENCES} times the same sentence");
        check.of(tried, detail)
    };
    settings.iter().zip(losses).map(check).collect()
}

/// For each setting, the pairs of neighbours for which releases could show the largest loss, by a
/// replaced and by an added sentence.
fn most_shown(pairs: &[Neighbours], shows: &[Vec<f64>], settings: usize) -> Vec<Vec<Neighbours>> {
    let best = |setting: usize, change: Change| {
        let all = shows.iter().zip(pairs);
        let of_change = all.filter(|(_, pair)| pair.change == change);
        let best = of_change.max_by(|a, b| a.0[setting].total_cmp(&b.0[setting]));
        best.map(|(_, pair)| pair.clone())
    };
    let of_setting = |setting| {
        Change::ALL
            .into_iter()
            .filter_map(move |own| best(setting, own))
    };
    (0..settings)
        .map(|setting| of_setting(setting).collect())
        .collect()
}

/// Sentences to search from: the texts of the mechanism, or else public ones, the directions of the
/// pack with both signs and in groups, and sentences that an encoder should not return.
pub(crate) fn pool(mechanism: &dyn Sentences, public: &[Sentence], seed: u64) -> Vec<Sentence> {
    let texts = mechanism.core().texts();
    if !texts.is_empty() {
        return texts.into_iter().map(Sentence::Text).collect();
    }
    let dimension = mechanism.core().dimension();
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
    let directions = mechanism.core().directions();
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
