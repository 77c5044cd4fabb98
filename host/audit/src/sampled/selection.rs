//! Checks a device's releases of sentences, words and bags of words.
//!
//! The device is called through the C interface. The expected laws are computed in this process.

use std::collections::HashSet;

use undertone_core::epsilon::Epsilon;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::Rule;

use crate::exact::inside::{CoreWords, Engine, WholeText, Words};
use crate::sampled::device::{self, Device, Sentence};
use crate::sampled::statistics::{
    Loss, alpha, cells, event, g_test, independence_test, loss_of_features, loss_of_outcomes,
    threshold,
};
use crate::{Check, Law, Method, label, levels};
use undertone::demo;
use undertone::error::Result;
use undertone::release::document::{self, HostDocument, Method as Released, epsilon_f64};

/// The difference between two documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One sentence is replaced: ε.
    Replaced,
    /// One document has an additional sentence: ε/2.
    Added,
}

impl Change {
    /// All changes, in the order of arrays by change.
    pub(crate) const ALL: [Self; 2] = [Self::Replaced, Self::Added];

    /// The promised loss.
    pub(crate) fn promise(self, epsilon: Epsilon) -> f64 {
        match self {
            Self::Replaced => epsilon_f64(epsilon),
            Self::Added => epsilon_f64(epsilon) / 2.0,
        }
    }
}

/// Two documents that differ in one sentence.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// The documents.
    pub documents: [Vec<Sentence>; 2],
    /// Their difference.
    pub change: Change,
}

/// Minimum expected number of draws in a cell of a test of fit.
const LEAST: f64 = 25.0;

/// −log₁₀ of a p-value, the measured value of a [`Check`].
fn surprise(p: f64) -> f64 {
    // Avoids -0.
    0.0 - p.max(f64::MIN_POSITIVE).log10()
}

/// Makes checks of a mechanism at one ε.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) mechanism: &'a str,
    pub(crate) epsilon: Epsilon,
}

impl Judge<'_> {
    /// A check of p-values, judged by the smallest.
    pub(crate) fn p_values(self, name: &str, p: &[f64], tried: u64, detail: &str) -> Check {
        // Bonferroni correction: each p-value could raise a false alarm.
        let least = (p.iter().copied().fold(1.0, f64::min) * p.len() as f64).min(1.0);
        let tests = p.len();
        let detail = format!("{detail}; p = {least:.2e} after {tests} tests, as -log10");
        let surprises = [threshold(), least].map(surprise);
        let check = self.check(name, Method::Sampled, surprises);
        check.of(tried, detail)
    }

    /// A check of losses, judged by the largest share of its promise.
    pub(crate) fn losses(self, name: &str, losses: &[(Loss, f64)], tried: u64) -> Check {
        let share = |(loss, promise): &(Loss, f64)| loss.bound / promise;
        let worst = losses.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
        let none = Loss {
            bound: f64::NEG_INFINITY,
            hits: [0; 2],
        };
        let (loss, claimed) = worst.copied().unwrap_or((none, 0.0));
        // A negative bound is no evidence.
        let numbers = [claimed, loss.bound.max(0.0)];
        let (pairs, [hits, others]) = (losses.len(), loss.hits);
        let detail = format!(
            "lower bound on the loss, the worst of {pairs} pairs relative to its promise; its event was seen {hits} times against {others}"
        );
        let check = self.check(name, Method::Sampled, numbers);
        check.of(tried, detail)
    }

    /// Returns a failed check if some outcome does not exist. Such releases allow no further
    /// checks.
    fn in_range(self, what: &str, outcomes: &[u32], bound: usize) -> Option<Check> {
        let outside = || outcomes.iter().filter(|y| **y as usize >= bound);
        let (count, example) = (outside().count(), outside().next()?);
        let check = self.none(&format!("{what} exist"), Method::Sampled, count);
        let detail = format!(
            "{count} releases name one that does not exist, such as {example}; there are {bound}"
        );
        Some(check.of(outcomes.len() as u64, detail))
    }

    /// A check that fails if anything was found.
    pub(crate) fn none(self, name: &str, method: Method, found: usize) -> Check {
        self.check(name, method, [0.0, found as f64])
    }

    fn check(self, name: &str, method: Method, numbers: [f64; 2]) -> Check {
        Check::new(self.mechanism, name, Some(self.epsilon), method, numbers)
    }
}

/// p-values of the hypothesis that outcomes have this law: ordered by probability, which shows
/// wrong levels or weights, and ordered by number.
fn fit(outcomes: &[u32], law: &[f64]) -> [f64; 2] {
    let by = |rank: &dyn Fn(usize) -> f64| {
        let (cell, probabilities) = cells(law, outcomes.len(), LEAST, rank);
        let mut counts = vec![0; probabilities.len()];
        for outcome in outcomes {
            counts[cell[*outcome as usize]] += 1;
        }
        g_test(&counts, &probabilities)
    };
    [by(&|outcome| law[outcome]), by(&|outcome| outcome as f64)]
}

/// Maps outcomes to a few cells of about equal probability, few enough that every pair of cells
/// occurs often.
fn coarse(outcomes: &[u32], law: &[f64]) -> Vec<usize> {
    let least = (LEAST * outcomes.len() as f64).sqrt();
    let (cell, _) = cells(
        law,
        outcomes.len(),
        least.max(outcomes.len() as f64 / 8.0),
        |outcome| outcome,
    );
    outcomes
        .iter()
        .map(|outcome| cell[*outcome as usize])
        .collect()
}

/// p-values of the hypothesis that alternating draws of two documents are independent of each other
/// and of earlier draws.
fn independence(samples: [&[u32]; 2], laws: [&[f64]; 2]) -> [f64; 4] {
    let [x, y] = [0, 1].map(|side| coarse(samples[side], laws[side]));
    [
        independence_test(&x, &y),
        independence_test(&y, &x[1..]),
        independence_test(&x, &x[1..]),
        independence_test(&y, &y[1..]),
    ]
}

/// The draws at even and at odd places.
fn by_turns(outcomes: &[u32]) -> [Vec<u32>; 2] {
    [0, 1].map(|side| outcomes.iter().copied().skip(side).step_by(2).collect())
}

/// A lower bound on the loss between two samples, wrong with a probability of at most [`alpha`]. It
/// is the better one of two: by an event that the expected laws suggest, and by an event that half
/// of the draws suggest, whatever their law is.
fn loss_of(samples: [&[u32]; 2], laws: [&[f64]; 2]) -> Loss {
    let (side, event) = event(laws, samples[0].len() as u64);
    let foreseen = Loss::new(samples, side, |y| event[*y as usize], alpha() / 2.0);
    let found = loss_of_outcomes(samples, alpha() / 2.0);
    if foreseen.bound > found.bound {
        foreseen
    } else {
        found
    }
}

/// Results from the releases of pairs of inputs.
#[derive(Default)]
struct Evidence {
    fits: Vec<f64>,
    independent: Vec<f64>,
    tried: u64,
}

impl Evidence {
    /// Adds releases of two inputs in turn, and returns the evidence for the loss between them.
    fn add(&mut self, outcomes: &[u32], laws: [&[f64]; 2]) -> Loss {
        let samples = by_turns(outcomes);
        let samples = [&samples[0][..], &samples[1]];
        self.tried += outcomes.len() as u64;
        for (sample, law) in samples.iter().zip(laws) {
            self.fits.extend(fit(sample, law));
        }
        self.independent.extend(independence(samples, laws));
        loss_of(samples, laws)
    }

    /// Checks of the frequencies of outcomes, and of the independence of releases.
    fn checks(&self, judge: Judge<'_>, what: &str) -> [Check; 2] {
        let frequencies = &*format!("frequencies of {what}");
        let law = "G-tests against the exact law";
        let (apart, tests) = (
            "independence of releases",
            "G-tests of consecutive releases",
        );
        [
            judge.p_values(frequencies, &self.fits, self.tried, law),
            judge.p_values(apart, &self.independent, self.tried, tests),
        ]
    }
}

/// An audit of releases of sentences by one rule.
#[derive(Clone, Copy, Debug)]
pub struct SentenceAudit<'a> {
    /// The pack.
    pub pack: &'a Pack<'a>,
    /// The name of the mechanism in reports.
    pub mechanism: &'a str,
    /// The rule of drawing.
    pub rule: Rule,
    /// The privacy parameter.
    pub epsilon: Epsilon,
}

impl SentenceAudit<'_> {
    fn judge(&self) -> Judge<'_> {
        Judge {
            mechanism: self.mechanism,
            epsilon: self.epsilon,
        }
    }

    /// Releases of stored documents in turn.
    fn release(
        &self,
        device: &mut dyn Device,
        documents: &[usize],
        count: usize,
    ) -> Result<Vec<u32>> {
        device.releases(
            documents,
            Released::Sentence(self.rule),
            self.epsilon,
            count,
        )
    }

    /// Returns a failed check if some candidate does not exist.
    fn in_range(&self, outcomes: &[u32]) -> Option<Check> {
        let candidates = self.pack.candidate_count() as usize;
        self.judge().in_range("candidates", outcomes, candidates)
    }

    /// The probability of every candidate for this document.
    fn law(&self, sentences: &[Sentence]) -> Result<Vec<f64>> {
        let document = device::document(self.pack, sentences)?;
        let levels = levels(&document);
        let candidates = 0..levels.len();
        let law = Law::new(levels, document.ratio(self.epsilon), self.rule);
        Ok(candidates.map(|own| law.probability(own)).collect())
    }

    /// Checks `draws` releases of each document of these neighbours.
    ///
    /// - Loss between neighbours: a lower bound on it must not exceed the promise.
    /// - Frequencies of candidates: they must fit the law that the integers of the mechanism
    ///   determine.
    /// - Independence: consecutive releases of one document, and of two in turn.
    ///
    /// # Errors
    /// Errors of the device, and of documents that the pack does not accept.
    pub fn neighbours(
        &self,
        device: &mut dyn Device,
        neighbours: &[Neighbours],
        draws: usize,
    ) -> Result<Vec<Check>> {
        let mut losses: [Vec<(Loss, f64)>; 2] = Default::default();
        let mut evidence = Evidence::default();
        for pair in neighbours {
            for (number, document) in pair.documents.iter().enumerate() {
                device.keep(number, document)?;
            }
            let outcomes = self.release(device, &[0, 1], 2 * draws)?;
            if let Some(check) = self.in_range(&outcomes) {
                return Ok(vec![check]);
            }
            let [document, other] = &pair.documents;
            let loss = evidence.add(&outcomes, [&self.law(document)?, &self.law(other)?]);
            losses[pair.change as usize].push((loss, pair.change.promise(self.epsilon)));
        }
        let mut checks = Vec::new();
        for (change, losses) in Change::ALL.into_iter().zip(losses) {
            let name = match change {
                Change::Replaced => "loss of a replaced sentence",
                Change::Added => "loss of an added sentence",
            };
            if !losses.is_empty() {
                let releases = (2 * draws * losses.len()) as u64;
                checks.push(self.judge().losses(name, &losses, releases));
            }
        }
        checks.extend(evidence.checks(self.judge(), "candidates"));
        Ok(checks)
    }

    /// Checks long documents, pushed in both ways: `draws` releases of a document in which the
    /// sentences after the hundredth count most, against the exact law.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn long(&self, device: &mut dyn Device, draws: usize) -> Result<Check> {
        let (mut fits, mut tried) = (Vec::new(), 0);
        for document in self.late()? {
            let law = self.law(&document)?;
            device.keep(0, &document)?;
            device.keep_otherwise(1, &document)?;
            let outcomes = self.release(device, &[0, 1], 2 * draws)?;
            tried += outcomes.len() as u64;
            if let Some(check) = self.in_range(&outcomes) {
                return Ok(check);
            }
            for sample in by_turns(&outcomes) {
                fits.extend(fit(&sample, &law));
            }
        }
        let detail = "G-tests against the exact law, pushed one by one and together";
        let name = "frequencies, long documents";
        Ok(self.judge().p_values(name, &fits, tried, detail))
    }

    /// Long documents, of texts and of embeddings if the pack accepts them. Each is the one of 32
    /// whose last sentences change the law most.
    fn late(&self) -> Result<Vec<Vec<Sentence>>> {
        let mut rng = PublicRng::new(0x7e57_ab03);
        let mut pools = vec![pool(self.pack, &mut rng)];
        if matches!(pools[0][0], Sentence::Text(_)) && self.pack.features().is_none() {
            pools.push(embeddings(self.pack, &mut rng));
        }
        let mut documents = Vec::new();
        for pool in pools {
            let mut most: Option<(f64, Vec<Sentence>)> = None;
            for _ in 0..32 {
                let mut any = || (rng.next_u64() % pool.len() as u64) as usize;
                let (early, last) = ([any(), any()], any());
                let early = (0..document::MAX_SENTENCES - LATE).map(|at| early[at % 2]);
                let early: Vec<usize> = early.collect();
                let all = [&early[..], &[last; LATE]].concat();
                let [early, all] = [early, all].map(|choice| together(&pool, &choice));
                let laws = self.law(&early)?.into_iter().zip(self.law(&all)?);
                let moved = laws.map(|(a, b)| (a - b).abs()).sum();
                if most.as_ref().is_none_or(|(known, _)| moved > *known) {
                    most = Some((moved, all));
                }
            }
            documents.extend(most.map(|(_, document)| document));
        }
        Ok(documents)
    }

    /// Checks the `repeats` of releases of a document without a sentence, for which all candidates
    /// are equally likely.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn runs(&self, device: &mut dyn Device) -> Result<Option<Check>> {
        let candidates = self.pack.candidate_count();
        let law = vec![1.0 / f64::from(candidates); candidates as usize];
        repeats(device, self.judge(), &law, |device, draws| {
            device.keep(0, &[])?;
            self.release(device, &[0], draws)
        })
    }
}

/// Checks releases of whole texts or of answers: `draws` of each of these inputs.
///
/// - Refusals: no input is refused, because that would reveal something about it.
/// - Loss between the two of a pair: a lower bound on it must not exceed ε, whatever they are.
/// - Frequencies of outcomes: they must fit the exact law.
/// - Independence of consecutive releases.
///
/// # Errors
/// Errors of a device that refuses every input.
pub fn whole_texts<W: WholeText>(
    device: &mut dyn Device,
    mechanism: &W,
    epsilon: Epsilon,
    pairs: &[[W::Input; 2]],
    draws: usize,
) -> Result<Vec<Check>> {
    let mechanism_name = mechanism.name();
    let judge = Judge {
        mechanism: &mechanism_name,
        epsilon,
    };
    let [of_refused, of_loss] = W::CHECKS;
    let (mut losses, mut refused) = (Vec::new(), Vec::new());
    let mut evidence = Evidence::default();
    for pair in pairs {
        let mut laws = Vec::new();
        for input in pair {
            if let Err(error) = mechanism.releases(device, &[input], epsilon, 1) {
                refused.push(error);
            }
            laws.extend(mechanism.law(input, epsilon));
        }
        let [a, b] = &laws[..] else {
            continue;
        };
        if !refused.is_empty() {
            continue;
        }
        let outcomes = mechanism.releases(device, &pair.each_ref(), epsilon, 2 * draws)?;
        if let Some(check) = judge.in_range("outcomes", &outcomes, a.len()) {
            return Ok(vec![check]);
        }
        losses.push((evidence.add(&outcomes, [a, b]), epsilon_f64(epsilon)));
    }
    let inputs = 2 * pairs.len();
    if refused.len() == inputs
        && let Some(error) = refused.pop()
    {
        return Err(error);
    }
    let check = judge.none(of_refused, Method::Sampled, refused.len());
    let detail = refused.first().map(ToString::to_string);
    let detail = detail.unwrap_or_else(|| "inputs that get no release".to_owned());
    let mut checks = vec![check.of(inputs as u64, detail)];
    if !losses.is_empty() {
        checks.push(judge.losses(of_loss, &losses, evidence.tried));
        checks.extend(evidence.checks(judge, "outcomes"));
    }
    Ok(checks)
}

/// Number of designs to try.
const DESIGNS: usize = 400;

/// Sentences of which designs are made.
const POOL: usize = 64;

/// Sentences to choose from: texts if the pack accepts them.
fn pool(pack: &Pack<'_>, rng: &mut PublicRng) -> Vec<Sentence> {
    let text = |text: &str| Sentence::Text(text.to_owned());
    let alone = pack.features().is_some_and(|features| features.is_alone());
    match pack.lexicon() {
        None if alone => {
            let public = demo::public_sentences().into_iter();
            public.take(POOL).map(text).collect()
        }
        None => embeddings(pack, rng),
        Some(lexicon) => (0..POOL)
            .filter_map(|_| {
                let index = rng.next_u64() % lexicon.word_count() as u64;
                lexicon.word(index as usize).map(text)
            })
            .collect(),
    }
}

/// Random embeddings: coordinates are −1, 0 or 1, and on average at least a quarter of them are not
/// 0.
fn embeddings(pack: &Pack<'_>, rng: &mut PublicRng) -> Vec<Sentence> {
    let mut below = |n: u64| rng.next_u64() % n;
    let mut row = |_| {
        let spread = 1 + below(4);
        let row = (0..pack.dimension()).map(|_| match below(2 * spread) {
            0 => 1.0,
            1 => -1.0,
            _ => 0.0,
        });
        Sentence::Embedding(row.collect())
    };
    (0..POOL).map(&mut row).collect()
}

/// A document of the chosen sentences of a pool.
fn together(pool: &[Sentence], choice: &[usize]) -> Vec<Sentence> {
    choice.iter().map(|index| pool[*index].clone()).collect()
}

/// Designed neighbours for any pack with candidates, the same for every rule and ε. The documents
/// have few sentences, most of them equal, and one of them changes. With a lexicon, sentences are
/// texts of one word.
///
/// Public only for the tests of planted devices.
#[doc(hidden)]
pub struct Designs<'p> {
    document: HostDocument<'p>,
    /// Documents and their levels.
    pairs: Vec<[(Vec<Sentence>, Vec<u8>); 2]>,
}

impl<'p> Designs<'p> {
    /// # Errors
    /// Errors of documents that the pack does not accept.
    pub fn new(pack: &Pack<'p>) -> Result<Self> {
        let mut rng = PublicRng::new(0x7e57_ab00);
        let pool = pool(pack, &mut rng);
        let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
        let of = |choice: &[usize]| -> Result<(Vec<Sentence>, Vec<u8>)> {
            let sentences = together(&pool, choice);
            let levels = levels(&device::document(pack, &sentences)?);
            Ok((sentences, levels))
        };
        let mut pairs = Vec::new();
        for _ in 0..DESIGNS {
            let mut choice = vec![below(pool.len()); 1 + below(4)];
            if below(2) == 0 {
                choice[0] = below(pool.len());
            }
            let mut moved = choice.clone();
            let last = moved.len() - 1;
            moved[last] = below(pool.len());
            pairs.push([of(&choice)?, of(&moved)?]);
        }
        Ok(Self {
            document: document::empty(pack)?,
            pairs,
        })
    }

    /// The pair with the largest exact loss for this rule and ε, and a pair in which one document
    /// lacks a sentence.
    pub fn worst(&self, rule: Rule, epsilon: Epsilon) -> Vec<Neighbours> {
        let ratio = self.document.ratio(epsilon);
        let loss = |[(_, a), (_, b)]: &[(Vec<Sentence>, Vec<u8>); 2]| {
            let [a, b] = [a, b].map(|levels| Law::new(levels.clone(), ratio, rule));
            a.loss(&b)
        };
        let losses = self.pairs.iter().map(|pair| (loss(pair), pair));
        let worst = losses.max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, [(document, _), (moved, _)])) = worst else {
            return Vec::new();
        };
        let less = document[..document.len() - 1].to_vec();
        let others = [moved.clone(), less].into_iter().zip(Change::ALL);
        let pair = |(other, change)| Neighbours {
            documents: [document.clone(), other],
            change,
        };
        others.map(pair).collect()
    }
}

/// Sentences of a long document after the hundredth, which differ from those before.
const LATE: usize = document::MAX_SENTENCES - 100;

/// The probability that a sequence repeats by chance.
const REPEATED: f64 = 1e-12;

/// Checks that two runs of the device have no sequence of releases in common: a generator with a
/// fixed seed repeats itself after a restart, and one with few states repeats itself within a run.
/// `draw` makes a number of releases of this law. A law with an outcome that is more likely than
/// all others cannot be checked.
///
/// # Errors
/// Errors of the device.
pub(crate) fn repeats(
    device: &mut dyn Device,
    judge: Judge<'_>,
    law: &[f64],
    mut draw: impl FnMut(&mut dyn Device, usize) -> Result<Vec<u32>>,
) -> Result<Option<Check>> {
    const DRAWS: usize = 2000;
    if law.is_empty() || law.iter().any(|p| *p > 0.5) {
        return Ok(None);
    }
    let equal: f64 = law.iter().map(|p| p * p).sum();
    let mut run = || {
        device.restart()?;
        draw(&mut *device, DRAWS)
    };
    let [first, second] = [run()?, run()?];
    // Two draws are equal with this probability. A repetition is `length` equal draws in a row, and
    // runs have fewer than (2·DRAWS)² pairs of places.
    let places = (2.0 * DRAWS as f64).powi(2);
    let length = ((places / REPEATED).ln() / -equal.ln()).ceil() as usize;
    let mut seen = HashSet::new();
    let mut repeated = 0;
    for run in [&first, &second] {
        for (start, window) in run.windows(length).enumerate() {
            // Overlapping windows repeat each other more easily, so only every length-th window of
            // a run is stored.
            if seen.contains(window) {
                repeated += 1;
            } else if start.is_multiple_of(length) {
                seen.insert(window);
            }
        }
    }
    let name = "sequences of releases do not come again";
    let check = judge.none(name, Method::Attack, repeated);
    let detail = format!("{repeated} sequences of {length} releases came up again in two runs");
    Ok(Some(check.of(2 * DRAWS as u64, detail)))
}

/// Number of words in a bag whose loss is checked.
const BAG: u16 = 3;

/// Words that no vocabulary has: one is too long, the other is not a word.
const UNKNOWN: [&str; 2] = ["qzxjvkqzxjvkqzxjvk", "!?"];

/// A check of private words by one rule.
#[derive(Clone, Copy, Debug)]
pub struct WordAudit<'a> {
    /// The words.
    pub words: &'a CoreWords<'a>,
    /// The rule of drawing.
    pub rule: Rule,
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// Releases of each word.
    pub draws: usize,
    /// Whether to check bags of words and unknown words.
    pub bags_and_unknown: bool,
}

/// Results from the releases of pairs of words.
#[derive(Default)]
struct OfPairs {
    losses: Vec<(Loss, f64)>,
    bag_losses: Vec<(Loss, f64)>,
    fits: Vec<f64>,
    apart: Vec<f64>,
    unsorted: usize,
}

impl WordAudit<'_> {
    /// Checks releases of each word of these pairs.
    ///
    /// - Loss between two words, and between bags of three words: a lower bound on it must not
    ///   exceed ε·(distance + q) for each word.
    /// - Frequencies of words: they must fit the exact law. Words outside the vocabulary must fit
    ///   the law of the fallback word.
    /// - Bags: their words are in ascending order and drawn independently.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn run(&self, device: &mut dyn Device, pairs: &[[u32; 2]]) -> Result<Vec<Check>> {
        let mut seen = OfPairs::default();
        for pair in pairs {
            if let Some(check) = self.release_pair(device, *pair, &mut seen)? {
                return Ok(vec![check]);
            }
        }
        // `draws` words of each word of a pair, and the same number of bags.
        let releases = (2 * self.draws * pairs.len()) as u64;
        let mechanism = label(self.words, self.rule);
        let judge = self.judge(&mechanism);
        let mut checks = Vec::new();
        if seen.unsorted > 0 {
            let check = judge.none("bags are sorted", Method::Sampled, seen.unsorted);
            let detail = "the order of the words reveals their order in the text";
            checks.push(check.of(releases, detail));
        }
        checks.push(judge.losses("loss of a replaced word", &seen.losses, releases));
        let mut tried = releases;
        if self.bags_and_unknown {
            let (unknown, known) = self.unknown(device)?;
            checks.push(unknown);
            if !known {
                return Ok(checks);
            }
            tried *= 2;
            checks.push(judge.losses("loss of a bag", &seen.bag_losses, releases));
        }
        let tests = "G-tests against the exact law";
        checks.push(judge.p_values("frequencies of words", &seen.fits, tried, tests));
        let tests = "G-tests of consecutive words and of those in a bag";
        checks.push(judge.p_values("independence of words", &seen.apart, tried, tests));
        Ok(checks)
    }

    fn judge<'a>(&self, mechanism: &'a str) -> Judge<'a> {
        let epsilon = self.epsilon;
        Judge { mechanism, epsilon }
    }

    fn text(&self, word: u32) -> &str {
        let word = self.words.vocabulary.lexicon().word(word as usize);
        word.unwrap_or_default()
    }

    /// The law of a private word.
    fn law(&self, word: u32) -> Vec<f64> {
        let table = self.words.table(self.epsilon, self.rule);
        let law = Law::from_table(self.words.levels(word), &table, self.rule);
        let words = 0..self.words.candidates();
        words.map(|word| law.probability(word)).collect()
    }

    /// ε·(distance + q).
    fn promise(&self, [a, b]: [u32; 2]) -> f64 {
        epsilon_f64(self.epsilon) * (self.words.distance(a, b) + self.words.unit())
    }

    fn bags(&self, device: &mut dyn Device, word: &str, size: u16) -> Result<Vec<Vec<u32>>> {
        device.bags(&[word], size, self.rule, self.epsilon, self.draws)
    }

    /// Returns a failed check if some word is not in the vocabulary.
    fn in_range(&self, what: &str, words: &[u32]) -> Option<Check> {
        let mechanism = label(self.words, self.rule);
        let judge = self.judge(&mechanism);
        judge.in_range(what, words, self.words.candidates())
    }

    /// Adds the results for this pair of words, or returns a failed check if a release names no
    /// word.
    fn release_pair(
        &self,
        device: &mut dyn Device,
        pair: [u32; 2],
        seen: &mut OfPairs,
    ) -> Result<Option<Check>> {
        let mut samples: [Vec<u32>; 2] = Default::default();
        let mut bags: [Vec<Vec<u32>>; 2] = Default::default();
        for side in [0, 1] {
            let word = self.text(pair[side]);
            samples[side] = self.bags(device, word, 1)?.concat();
            if self.bags_and_unknown {
                bags[side] = self.bags(device, word, BAG)?;
            }
            let all = bags[side].concat();
            let outside = self.in_range("words", &samples[side]);
            let outside = outside.or_else(|| self.in_range("words", &all));
            if outside.is_some() {
                return Ok(outside);
            }
        }
        let unsorted = bags.iter().flatten().filter(|bag| !bag.is_sorted());
        seen.unsorted += unsorted.count();
        let samples = [&samples[0][..], &samples[1][..]];
        let promise = self.promise(pair);
        let laws = pair.map(|word| self.law(word));
        let laws = [&laws[0][..], &laws[1][..]];
        seen.losses.push((loss_of(samples, laws), promise));
        for side in [0, 1] {
            let law = laws[side];
            seen.fits.extend(fit(samples[side], law));
            seen.apart
                .push(independence([samples[side]; 2], [law; 2])[2]);
        }
        if self.bags_and_unknown {
            let loss = loss_of_bags([&bags[0], &bags[1]], laws);
            seen.bag_losses.push((loss, f64::from(BAG) * promise));
            for (bags, law) in bags.iter().zip(laws) {
                seen.fits.extend(fit(&bags.concat(), law));
                seen.apart.push(apart(bags, law));
            }
        }
        Ok(None)
    }

    /// Checks that an unknown word has the law of the fallback word. Also returns whether all of
    /// its releases were words of the vocabulary.
    fn unknown(&self, device: &mut dyn Device) -> Result<(Check, bool)> {
        let law = self.law(self.words.fallback());
        let (mut p, mut tried) = (Vec::new(), 0);
        for word in UNKNOWN {
            let sample = self.bags(device, word, 1)?.concat();
            tried += sample.len();
            if let Some(check) = self.in_range("words for unknown ones", &sample) {
                return Ok((check, false));
            }
            p.extend(fit(&sample, &law));
        }
        let mechanism = label(self.words, self.rule);
        let tests = "tests against the word that replaces them";
        let judge = self.judge(&mechanism);
        let check = judge.p_values("unknown words", &p, tried as u64, tests);
        Ok((check, true))
    }
}

/// A lower bound on the loss between bags of two words. Its events are intervals of the
/// log-likelihood ratio in 16ths.
fn loss_of_bags(bags: [&[Vec<u32>]; 2], laws: [&[f64]; 2]) -> Loss {
    let ratio = |word: &u32| (laws[0][*word as usize] / laws[1][*word as usize]).ln();
    let features = bags.map(|bags| -> Vec<Vec<i64>> {
        bags.iter()
            .map(|bag| vec![(16.0 * bag.iter().map(ratio).sum::<f64>()).round() as i64])
            .collect()
    });
    loss_of_features([&features[0], &features[1]], 4, alpha())
}

/// The p-value of the hypothesis that the words of a bag are independent, by the number of bags
/// with equal words.
fn apart(bags: &[Vec<u32>], law: &[f64]) -> f64 {
    let same: f64 = law.iter().map(|p| p.powi(BAG.into())).sum();
    // The words of a sorted bag are equal if its first and last are.
    let equal = bags.iter().filter(|bag| bag.first() == bag.last()).count();
    g_test(
        &[equal as u64, (bags.len() - equal) as u64],
        &[same, 1.0 - same],
    )
}
