//! Searches for the worst neighbours of sentence mechanisms.
//!
//! A round takes one list of sentences, the context, and adds each of a few other sentences to it.
//! Any two of those documents are neighbours by a replaced sentence, and each is a neighbour of the
//! context by an added one. Rounds climb: the two sentences with the largest loss stay, their
//! variants join, and a change of the context is kept unless the loss falls. Searches restart from
//! other contexts, lengths and goals.
//!
//! Half of the searches climb by the loss. The others climb by the loss that releases of a device
//! could show, because the worst loss often belongs to an event too rare for a device to show.
//! Those searches keep the best documents for the device.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::Rule;

use crate::exact::inside::{Engine, Sentences};
use crate::sampled::device::Sentence;
use crate::sampled::selection::{Change, Neighbours};
use crate::sampled::statistics::shown;
use crate::{Check, Method, Options, label};
use undertone::progress::Progress;
use undertone::release::document::MAX_SENTENCES;
use undertone::release::law::Law;

/// Sentences that a round adds to its context.
const SENTENCES: usize = 32;

/// Pairs of neighbours in a round.
const PER_ROUND: u64 = (SENTENCES * (SENTENCES - 1) / 2 + SENTENCES) as u64;

const ROUNDS: u64 = 24;

/// Lengths of contexts. Most are short, because one sentence counts most there and much can be
/// tried; the longest leaves space for one sentence.
const LENGTHS: [usize; 12] = [0, 1, 1, 2, 2, 3, 4, 7, 12, 2, 31, MAX_SENTENCES - 1];

/// Longest document to keep for a device, which pushes it again for every release. Longer ones show
/// no more.
const SHORT: usize = 8;

/// Larger moves of a level count as this. Our scores have coarser grades.
const MOST_MOVED: usize = 32;

/// A table of weights with which to compute laws.
pub(crate) struct Setting {
    pub(crate) epsilon: Epsilon,
    pub(crate) rule: Rule,
    pub(crate) table: Vec<u128>,
}

impl Setting {
    /// The settings of an audit, by rule and ε of the options.
    pub(crate) fn all(engine: &dyn Engine, options: &Options) -> Vec<Self> {
        let by_rule = |rule: &Rule| {
            let rule = *rule;
            let epsilons = options.epsilons.iter();
            epsilons.map(move |epsilon| Self {
                epsilon: *epsilon,
                rule,
                table: engine.table(*epsilon, rule),
            })
        };
        options.rules.iter().flat_map(by_rule).collect()
    }

    /// A check of a promised and a measured loss.
    pub(crate) fn check(&self, engine: &dyn Engine, name: &str, losses: [f64; 2]) -> Check {
        let mechanism = label(engine, self.rule);
        Check::new(mechanism, name, Some(self.epsilon), Method::Exact, losses)
    }
}

/// The worst results so far.
#[derive(Clone, Debug)]
pub(crate) struct Worst {
    /// By [`Change`]: neighbours compared.
    pub(crate) tried: [u64; 2],
    /// By [`Change`]: the largest move of two candidates' levels against each other.
    pub(crate) moved: [i32; 2],
    /// By setting and [`Change`]: the loss, and the length of the longer document in sentences.
    pub(crate) losses: Vec<[(f64, usize); 2]>,
    /// For each search, the short neighbours by which releases could show most of its goal.
    pub(crate) shows: Vec<Neighbours>,
}

impl Worst {
    fn new(settings: usize) -> Self {
        Self {
            tried: [0; 2],
            moved: [0; 2],
            losses: vec![[(0.0, 0); 2]; settings],
            shows: Vec::new(),
        }
    }

    /// Records two documents that differ by this change; the longer one has `sentences` sentences.
    /// Afterwards `pairs` and `losses`, by setting, describe these two.
    fn compare(
        &mut self,
        [a, b]: [&Seen; 2],
        change: Change,
        sentences: usize,
        pairs: &mut Pairs,
        losses: &mut [f64],
    ) {
        let step = change as usize;
        pairs.count(&a.levels, &b.levels);
        let moves = pairs
            .distinct
            .iter()
            .map(|(a, b)| i32::from(*b) - i32::from(*a));
        let (least, most) = moves.fold((i32::MAX, i32::MIN), |(least, most), moved| {
            (least.min(moved), most.max(moved))
        });
        self.tried[step] += 1;
        self.moved[step] = self.moved[step].max(most - least);
        for (setting, loss) in losses.iter_mut().enumerate() {
            *loss = pairs.loss(&a.logarithms[setting], &b.logarithms[setting]);
            let known = &mut self.losses[setting][step];
            if loss.is_nan() || *loss > known.0 {
                *known = (*loss, sentences);
            }
        }
    }

    pub(crate) fn join(mut self, other: Self) -> Self {
        for step in 0..2 {
            self.tried[step] += other.tried[step];
            self.moved[step] = self.moved[step].max(other.moved[step]);
        }
        for (mine, others) in self.losses.iter_mut().zip(&other.losses) {
            for (mine, other) in mine.iter_mut().zip(others) {
                // NaN is the worst loss.
                if other.0.is_nan() || other.0 > mine.0 {
                    *mine = *other;
                }
            }
        }
        self.shows.extend(other.shows);
        self
    }
}

/// The goal of a search.
#[derive(Clone, Copy)]
struct Goal {
    setting: usize,
    change: Change,
    /// Climb by the loss that releases could show, not by the exact loss.
    shown: bool,
}

/// The best result of a round for its goal.
struct Best {
    /// The two sentences; for an added one, only the first counts.
    pair: [usize; 2],
    loss: f64,
    /// The pair and loss that releases could show best.
    shown: ([usize; 2], f64),
}

/// A document or a word: its levels, and by setting the log probability of a candidate at each
/// level.
pub(crate) struct Seen {
    pub(crate) levels: Vec<u8>,
    pub(crate) logarithms: Vec<Vec<f64>>,
}

impl Seen {
    pub(crate) fn new(levels: Vec<u8>, settings: &[Setting]) -> Self {
        let logarithms = settings
            .iter()
            .map(|setting| {
                let law = Law::from_table(levels.clone(), &setting.table, setting.rule);
                law.logarithms()
            })
            .collect();
        Self { levels, logarithms }
    }
}

/// A search and its inputs.
pub(crate) struct Search<'a> {
    pub(crate) mechanism: &'a dyn Sentences,
    pub(crate) settings: &'a [Setting],
    /// Sentences to start from.
    pub(crate) pool: &'a [Sentence],
    /// Releases of each document by a device.
    pub(crate) releases: u64,
    pub(crate) seed: u64,
}

impl Search<'_> {
    /// Tries at least `neighbours` pairs of neighbours.
    pub(crate) fn run(&self, neighbours: u64) -> Worst {
        let searches = neighbours.div_ceil(PER_ROUND * ROUNDS).max(1);
        // Shortens the searches, so that every kind of context is tried.
        let kinds = (LENGTHS.len() * 4) as u64;
        let searches = searches.max(kinds.min(neighbours.div_ceil(PER_ROUND)));
        let rounds = neighbours.div_ceil(PER_ROUND * searches).max(1);
        let progress = Progress::new("searching neighbours", searches * rounds);
        (0..searches)
            .into_par_iter()
            .map(|search| self.climb(search, rounds, &progress))
            .reduce(|| Worst::new(self.settings.len()), Worst::join)
    }

    fn climb(&self, search: u64, rounds: u64, progress: &Progress) -> Worst {
        let mut rng = PublicRng::new(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ search);
        let length = LENGTHS[(search % LENGTHS.len() as u64) as usize];
        let goal = Goal {
            setting: (search / 3 % self.settings.len() as u64) as usize,
            change: Change::ALL[usize::from(search.is_multiple_of(2))],
            shown: (search / 2).is_multiple_of(2),
        };
        let mut context = self.context(length, search / LENGTHS.len() as u64, &mut rng);
        let mut kept: [Sentence; 2] = [self.any(&mut rng), self.any(&mut rng)];
        let mut best = f64::NEG_INFINITY;
        let mut worst = Worst::new(self.settings.len());
        let mut most_shown = f64::NEG_INFINITY;
        for round in 0..rounds {
            let mut changed = context.clone();
            if round > 0 && round % 2 == 0 && !changed.is_empty() {
                let at = below(&mut rng, changed.len() as u128) as usize;
                changed[at] = match below(&mut rng, 4) {
                    0 => kept[0].clone(),
                    1 => kept[1].clone(),
                    2 => self.variant(&changed[at], &mut rng),
                    _ => self.any(&mut rng),
                };
            }
            let mut sentences = kept.to_vec();
            while sentences.len() < SENTENCES {
                let place = sentences.len();
                sentences.push(match place % 4 {
                    0 => self.variant(&kept[0], &mut rng),
                    1 => self.variant(&kept[1], &mut rng),
                    _ => self.any(&mut rng),
                });
            }
            let place = below(&mut rng, changed.len() as u128 + 1) as usize;
            let (found, round) = self.round(&changed, place, &sentences, goal);
            worst = worst.join(found);
            if round.shown.1 > most_shown && changed.len() < SHORT {
                most_shown = round.shown.1;
                let [first, second] = round.shown.0;
                let with = |at: usize| {
                    let mut document = changed.clone();
                    document.insert(place, sentences[at].clone());
                    document
                };
                let other = match goal.change {
                    Change::Replaced => with(second),
                    Change::Added => changed.clone(),
                };
                worst.shows = vec![Neighbours {
                    documents: [with(first), other],
                    change: goal.change,
                }];
            }
            let (pair, found) = if goal.shown {
                round.shown
            } else {
                (round.pair, round.loss)
            };
            if found >= best {
                best = found;
                context = changed;
                kept = pair.map(|at| sentences[at].clone());
            }
            progress.advance(1);
        }
        worst
    }

    /// Compares all neighbours of a round, with the added sentences at this place of the context.
    fn round(
        &self,
        context: &[Sentence],
        place: usize,
        sentences: &[Sentence],
        goal: Goal,
    ) -> (Worst, Best) {
        let mut document: Vec<&Sentence> = context.iter().collect();
        let without = self.see(&document);
        document.insert(place, &sentences[0]);
        let with = |sentence| {
            document[place] = sentence;
            self.see(&document)
        };
        let seen: Vec<Seen> = sentences.iter().map(with).collect();
        let mut worst = Worst::new(self.settings.len());
        let mut pairs = Pairs::default();
        let mut best = Best {
            pair: [0, 1],
            loss: f64::NEG_INFINITY,
            shown: ([0, 1], f64::NEG_INFINITY),
        };
        let mut losses = vec![0.0; self.settings.len()];
        let mut compare = |a: &Seen, b: &Seen, of: Change, at: [usize; 2]| {
            worst.compare([a, b], of, context.len() + 1, &mut pairs, &mut losses);
            if of != goal.change {
                return;
            }
            let loss = losses[goal.setting];
            if loss > best.loss {
                (best.pair, best.loss) = (at, loss);
            }
            // No event shows more than the loss.
            if loss > best.shown.1 {
                let [a, b] = [a, b].map(|seen| &seen.logarithms[goal.setting][..]);
                let shown = pairs.shown(a, b, self.releases);
                if shown > best.shown.1 {
                    best.shown = (at, shown);
                }
            }
        };
        for (at, one) in seen.iter().enumerate() {
            compare(&without, one, Change::Added, [at, (at + 1) % seen.len()]);
            for (before, other) in seen[..at].iter().enumerate() {
                compare(one, other, Change::Replaced, [at, before]);
            }
        }
        (worst, best)
    }

    /// Compares these neighbours. Also returns the loss that releases could show, by setting.
    pub(crate) fn compare(&self, pair: &Neighbours) -> (Worst, Vec<f64>) {
        let [a, b] = [0, 1].map(|side| self.see(&Vec::from_iter(&pair.documents[side])));
        let sentences = pair.documents.iter().map(Vec::len).max();
        let mut worst = Worst::new(self.settings.len());
        let mut pairs = Pairs::default();
        let mut losses = vec![0.0; self.settings.len()];
        worst.compare(
            [&a, &b],
            pair.change,
            sentences.unwrap_or_default(),
            &mut pairs,
            &mut losses,
        );
        let logarithms = a.logarithms.iter().zip(&b.logarithms);
        let shown = logarithms.map(|(a, b)| pairs.shown(a, b, self.releases));
        (worst, shown.collect())
    }

    fn see(&self, sentences: &[&Sentence]) -> Seen {
        Seen::new(self.mechanism.levels(sentences), self.settings)
    }

    /// A context to start from: sentences on one side, on two sides, of three kinds, or of any
    /// kind.
    fn context(&self, length: usize, kind: u64, rng: &mut PublicRng) -> Vec<Sentence> {
        let kinds = match kind % 4 {
            0 => 1,
            1 => 2,
            2 => 3,
            _ => length.max(1),
        };
        let mut sentences: Vec<Sentence> = (0..kinds).map(|_| self.any(rng)).collect();
        if let [Sentence::Embedding(one), Sentence::Embedding(other)] = &mut sentences[..] {
            *other = one.iter().map(|x| -x).collect();
        }
        (0..length)
            .map(|at| sentences[at % kinds].clone())
            .collect()
    }

    /// A sentence of the pool, or a mixture of two embeddings.
    fn any(&self, rng: &mut PublicRng) -> Sentence {
        let one = self.pooled(rng);
        if below(rng, 4) > 0 {
            return one.clone();
        }
        let scale = [1.0, -1.0, 0.25, 1e3][below(rng, 4) as usize];
        match [one, self.pooled(rng)] {
            [Sentence::Embedding(one), Sentence::Embedding(other)] => {
                let sums = one.iter().zip(other).map(|(a, b)| a + scale * b);
                Sentence::Embedding(sums.collect())
            }
            [_, other] => other.clone(),
        }
    }

    fn pooled(&self, rng: &mut PublicRng) -> &Sentence {
        &self.pool[below(rng, self.pool.len() as u128) as usize]
    }

    /// A random variant of this embedding; any other sentence for a text.
    fn variant(&self, sentence: &Sentence, rng: &mut PublicRng) -> Sentence {
        let Sentence::Embedding(sentence) = sentence else {
            return self.any(rng);
        };
        let mut variant = sentence.to_vec();
        let size = sentence.len() as u128;
        match below(rng, 6) {
            0 => {
                for _ in 0..=below(rng, 4) {
                    variant[below(rng, size) as usize] = odd(rng);
                }
            }
            1 => {
                let scale = [-1.0, 0.5, 2.0, 1e6][below(rng, 4) as usize];
                variant.iter_mut().for_each(|x| *x *= scale);
            }
            2 => {
                let scale = largest(sentence) * [0.001, 0.03, 0.3][below(rng, 3) as usize];
                for x in &mut variant {
                    let noise: f32 = StandardNormal.sample(rng);
                    *x += scale * noise;
                }
            }
            3 => {
                // Negates a few coordinates.
                for _ in 0..=below(rng, size) {
                    let at = below(rng, size) as usize;
                    variant[at] = -variant[at];
                }
            }
            kind => {
                let scale = largest(sentence) * [0.05, 0.5][kind as usize % 2];
                if let Sentence::Embedding(other) = self.pooled(rng) {
                    let scale = scale / largest(other);
                    for (x, other) in variant.iter_mut().zip(other) {
                        *x += scale * other;
                    }
                }
            }
        }
        Sentence::Embedding(variant)
    }
}

/// The largest finite coordinate, or a small positive number.
fn largest(sentence: &[f32]) -> f32 {
    let finite = sentence.iter().filter(|x| x.is_finite());
    finite.fold(1e-3, |most, x| most.max(x.abs()))
}

/// An unusual coordinate, such as an encoder should not return.
pub(crate) fn odd(rng: &mut PublicRng) -> f32 {
    match below(rng, 9) {
        0 => 0.0,
        1 => -0.0,
        2 => 1e30,
        3 => -1e30,
        4 => f32::NAN,
        5 => f32::INFINITY,
        6 => f32::NEG_INFINITY,
        7 => f32::from_bits(1),
        _ => StandardNormal.sample(rng),
    }
}

/// The pairs of levels that the candidates of two documents have.
pub(crate) struct Pairs {
    /// By pair of levels: its index in `distinct` plus 1, or 0.
    places: Vec<u32>,
    distinct: Vec<(u8, u8)>,
    /// Number of candidates by distinct pair.
    counts: Vec<u32>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self {
            places: vec![0; 256 * 256],
            distinct: Vec::new(),
            counts: Vec::new(),
        }
    }
}

impl Pairs {
    pub(crate) fn count(&mut self, a: &[u8], b: &[u8]) {
        for (a, b) in self.distinct.drain(..) {
            self.places[usize::from(a) * 256 + usize::from(b)] = 0;
        }
        self.counts.clear();
        for (a, b) in a.iter().zip(b) {
            let place = &mut self.places[usize::from(*a) * 256 + usize::from(*b)];
            if *place == 0 {
                self.distinct.push((*a, *b));
                self.counts.push(0);
                *place = self.counts.len() as u32;
            }
            self.counts[*place as usize - 1] += 1;
        }
    }

    /// An estimate of the loss that this number of releases of each document could show, by the
    /// best set of candidates whose levels moved most. For its size, such a set is the most likely
    /// one, exactly so with the exponential mechanism.
    pub(crate) fn shown(&self, a: &[f64], b: &[f64], releases: u64) -> f64 {
        let mut moved = [[0.0; 2]; 2 * MOST_MOVED + 1];
        for ((at, bt), count) in self.distinct.iter().zip(&self.counts) {
            let by = (usize::from(*bt) + MOST_MOVED).saturating_sub(usize::from(*at));
            let sums = &mut moved[by.min(2 * MOST_MOVED)];
            sums[0] += f64::from(*count) * a[usize::from(*at)].exp();
            sums[1] += f64::from(*count) * b[usize::from(*bt)].exp();
        }
        let mut most = f64::NEG_INFINITY;
        let mut set = [0.0; 2];
        for [p, other] in moved.iter().filter(|[p, _]| *p > 0.0) {
            set = [set[0] + p, set[1] + other];
            // The set and its complement.
            let rest = set.map(|p| 1.0 - p);
            most = most.max(shown(set[1], set[0], releases));
            most = most.max(shown(rest[0], rest[1], releases));
        }
        most
    }

    /// The largest |ln ratio| of probabilities.
    pub(crate) fn loss(&self, a: &[f64], b: &[f64]) -> f64 {
        self.distinct.iter().fold(0.0, |most: f64, (at, bt)| {
            let loss = (a[usize::from(*at)] - b[usize::from(*bt)]).abs();
            // NaN is the worst loss.
            if loss.is_nan() || loss > most {
                loss
            } else {
                most
            }
        })
    }
}
