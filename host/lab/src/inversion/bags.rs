//! Attackers on obfuscated bags of words, made by selection or, as published, by noise and nearest
//! word.
//!
//! The law of one word, Pr\[w | x\], is public. The law of selection is computed exactly, hence
//! also the posterior of a word. The law of noise and nearest word in many dimensions has no closed
//! form; attackers estimate it from releases of each word. Words of one message occur together, so
//! the whole bag has more information about each word than the release of the word alone. The
//! limit on attackers of whole bags is the [`Bound`] for an attacker who has the message and only
//! has to guess which of its words were drawn: given the message, the draws are independent, and
//! the other words of the bag carry no information.

use rayon::prelude::*;
use undertone_audit::Law;
use undertone_audit::exact::inside::{CoreWords, Words};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::rng::below;
use undertone_core::select::{Ratio, Rule};
use undertone_core::words::{Vocabulary, WordMechanism};

use super::bound::Bound;
use super::{Options, Tally, decoder, place};
use crate::authorship::kept_words;
use crate::authorship::mailbox::{Part, Sample};
use crate::vectors::stream;
use undertone::error::{Error, Result};
use undertone::progress::Progress;
use undertone::release::document::epsilon_f64;

/// The rule that selects words.
const RULE: Rule = Rule::PermuteAndFlip;

/// The mechanisms that make the words of bags private.
const MECHANISMS: [WordMechanism; 2] = [
    WordMechanism::Selection(RULE),
    WordMechanism::LaplaceNearest,
];

/// Releases of each word from which a law is estimated. Its probabilities are then usually off by
/// at most 1 percentage point.
const DRAWS: usize = 2000;

/// The attackers that use more than a word's own release.
const DECODER: &str = "trained decoder";
const WHOLE_BAG: &str = "whole bag";

/// Weights of a public message's own words in the whole-bag attacker's model of it; the prior has
/// the rest.
const OWN: [f64; 3] = [0.25, 0.5, 0.75];

/// Messages with less than this share of the total weight are ignored.
const NEGLIGIBLE: f64 = 1e-9;

/// Indices of a message's words, with their shares.
type Message = Vec<(usize, f64)>;

/// The public law of one word: Pr\[w | x\].
pub struct Channel {
    /// `[x][w]`.
    law: Vec<f64>,
    words: usize,
    /// Whether the law was computed, as opposed to estimated.
    exact: bool,
}

impl Channel {
    /// Computes the law of selection at this ε.
    pub fn new(words: &CoreWords<'_>, exponent: i32, epsilon: Epsilon) -> Self {
        let n = undertone_audit::exact::inside::Engine::candidates(words);
        let ratio = Ratio::per_unit(epsilon, exponent);
        let law = (0..n as u32).flat_map(|x| {
            let law = Law::new(words.levels(x), ratio, RULE);
            (0..n)
                .map(move |w| law.probability(w))
                .collect::<Vec<f64>>()
        });
        Self {
            law: law.collect(),
            words: n,
            exact: true,
        }
    }

    /// Estimates the law of a mechanism at this ε from [`DRAWS`] releases of each word.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the mechanism cannot draw at
    /// this ε.
    fn estimated(
        vocabulary: &Vocabulary<'_>,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        seed: u64,
    ) -> Result<Self> {
        let n = vocabulary.word_count() as usize;
        let what = format!("law {epsilon}");
        // Smoothing: one more release, spread over all words, so that no probability is 0.
        let rest = 1.0 / n as f64;
        let of_word = |x: usize| -> Result<Vec<f64>> {
            let rng = &mut stream(seed, &what, x as u64);
            let mut counts = vec![rest; n];
            for _ in 0..DRAWS {
                let w = hazmat::draw_word(vocabulary, x as u32, mechanism, epsilon, rng);
                counts[w.map_err(Error::from)? as usize] += 1.0;
            }
            let all = DRAWS as f64 + 1.0;
            Ok(counts.into_iter().map(|count| count / all).collect())
        };
        let law = (0..n).into_par_iter().map(of_word);
        Ok(Self {
            law: law.collect::<Result<Vec<Vec<f64>>>>()?.concat(),
            words: n,
            exact: false,
        })
    }

    /// Pr\[w | x\] for each w.
    pub fn of(&self, x: usize) -> &[f64] {
        &self.law[x * self.words..][..self.words]
    }

    /// The share of words found by the best attacker who sees one release and has the probabilities
    /// of words.
    pub fn vulnerability(&self, prior: &[f64]) -> f64 {
        let mut most = vec![0f64; self.words];
        for (x, p) in prior.iter().enumerate() {
            for (most, q) in most.iter_mut().zip(self.of(x)) {
                *most = most.max(p * q);
            }
        }
        most.iter().sum()
    }

    /// p(x)·Pr\[w | x\] for each x, as scores.
    fn posterior(&self, prior: &[f64], w: usize) -> Vec<f32> {
        let terms = prior.iter().enumerate().map(|(x, p)| p * self.of(x)[w]);
        terms.map(|score| score as f32).collect()
    }
}

/// Mechanism and size of bags.
#[derive(Clone, Copy)]
struct Way {
    mechanism: WordMechanism,
    /// Words of a bag.
    size: u16,
    epsilon: Epsilon,
}

/// A bag before and after release.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The words drawn from a message.
    pub private: Vec<usize>,
    /// The released word for each of them.
    pub released: Vec<usize>,
}

/// Messages, and public facts about their words.
pub struct Bags<'a> {
    vocabulary: Vocabulary<'a>,
    words: CoreWords<'a>,
    /// Messages by part: training, validation, test.
    messages: [Vec<Message>; 3],
    /// `[words]`: the probability of each word in a draw from the training messages.
    prior: Vec<f64>,
    bound: Bound,
}

impl<'a> Bags<'a> {
    /// Takes the messages of `sample` that have a word of the pack's vocabulary.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the pack has no lexicon.
    pub fn new(sample: &Sample, pack: &Pack<'a>) -> Result<Self> {
        let vocabulary = Vocabulary::new(pack).map_err(Error::from)?;
        let mut messages: [Vec<Message>; 3] = Default::default();
        for (message, kept) in sample.messages.iter().zip(kept_words(sample, &vocabulary)) {
            let part = match message.part {
                Part::Train => 0,
                Part::Validation => 1,
                Part::Test => 2,
            };
            if !kept.is_empty() {
                messages[part].push(shares(kept));
            }
        }
        Self::of_messages(vocabulary, pack, messages)
    }

    /// Takes training, validation and test messages; each has a word.
    fn of_messages(
        vocabulary: Vocabulary<'a>,
        pack: &Pack<'a>,
        messages: [Vec<Message>; 3],
    ) -> Result<Self> {
        let words = CoreWords::new(pack)
            .ok_or_else(|| Error::from(undertone_core::words::WordsError::NoLexicon))?;
        let n = vocabulary.word_count() as usize;
        let bound = Bound::new(n, words.unit(), |x, v| words.distance(x as u32, v as u32));
        let mut bags = Self {
            vocabulary,
            words,
            messages,
            prior: Vec::new(),
            bound,
        };
        // Smoothing: every word gets a positive probability.
        let [learned, ..] = &bags.messages;
        let mixed = mixture(learned, n);
        let floor = 0.5 / (learned.len() as f64 + 0.5 * n as f64);
        let sum = 1.0 + floor * n as f64;
        bags.prior = mixed.iter().map(|p| (p + floor) / sum).collect();
        Ok(bags)
    }

    /// The number of words of the vocabulary.
    pub fn word_count(&self) -> usize {
        self.prior.len()
    }

    /// The law of one word; `seed` is for laws that are estimated.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the mechanism cannot draw at
    /// this ε.
    pub fn channel(
        &self,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        seed: u64,
    ) -> Result<Channel> {
        match mechanism {
            WordMechanism::Selection(RULE) => {
                let exponent = self.vocabulary.unit_exponent();
                Ok(Channel::new(&self.words, exponent, epsilon))
            }
            other => Channel::estimated(&self.vocabulary, other, epsilon, seed),
        }
    }

    /// Draws words from each message of a part and releases them, as a device does.
    ///
    /// A release also loses the order of its words by post-processing, which these attackers do not
    /// use; here the order is kept, so that each released word can be compared with its private
    /// one.
    fn draw(&self, part: usize, way: Way, trial: usize, seed: u64) -> Result<Vec<Drawn>> {
        let Way {
            mechanism,
            size,
            epsilon,
        } = way;
        let what = format!("bags {part} {size} {trial} {epsilon}");
        let of_message = |(number, message): (usize, &Message)| -> Result<Drawn> {
            let rng = &mut stream(seed, &what, number as u64);
            let mut drawn = Drawn::default();
            for _ in 0..size {
                let uniform = below(rng, 1 << 53) as f64 / (1u64 << 53) as f64;
                let word = pick(message, uniform);
                let released =
                    hazmat::draw_word(&self.vocabulary, word as u32, mechanism, epsilon, rng);
                drawn.private.push(word);
                drawn.released.push(released.map_err(Error::from)? as usize);
            }
            Ok(drawn)
        };
        let messages = self.messages[part].par_iter().enumerate();
        messages.map(of_message).collect()
    }

    fn tested(&self, way: Way, options: &Options) -> Result<Vec<Drawn>> {
        let trials = 0..options.trials;
        let bags = trials.map(|trial| self.draw(2, way, trial, options.seed));
        Ok(bags.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Runs all attackers on `bags`; they assume this law and this way.
    fn attack(
        &self,
        bags: &[Drawn],
        channel: &Channel,
        way: Way,
        options: &Options,
    ) -> Result<Vec<Tally>> {
        let n = channel.words;
        let prior: Vec<f32> = self.prior.iter().map(|p| *p as f32).collect();
        let by_word =
            |scores: &dyn Fn(usize) -> Vec<f32>| -> Vec<Vec<f32>> { (0..n).map(scores).collect() };
        let tables = [
            ("chance", by_word(&|_| prior.clone())),
            // After the word itself, words follow by how often they are released as it.
            (
                "word as released",
                by_word(&|w| {
                    let of: Vec<f32> = channel.of(w).iter().map(|p| *p as f32).collect();
                    (0..n).map(|x| if x == w { 2.0 } else { of[x] }).collect()
                }),
            ),
            (
                if channel.exact {
                    "exact posterior"
                } else {
                    "estimated posterior"
                },
                by_word(&|w| channel.posterior(&self.prior, w)),
            ),
        ];
        let mut tallies: Vec<Tally> = tables
            .iter()
            .map(|(name, table)| {
                let of_bag = |bag: &Drawn| {
                    let pairs = bag.released.iter().zip(&bag.private);
                    pairs.map(|(w, x)| place(&table[*w], *x)).collect()
                };
                let groups: Vec<Vec<usize>> = bags.iter().map(of_bag).collect();
                // An expectation under an estimated law has an error of its own.
                let expected = channel.exact.then(|| self.expected(channel, table));
                Tally::new(name, &groups, expected)
            })
            .collect();
        tallies.insert(2, self.decode(bags, way, options)?);
        if way.size > 1 {
            let chosen = self.model(way, channel, options)?;
            let groups: Vec<Vec<usize>> = bags.par_iter().map(|bag| chosen.places(bag)).collect();
            tallies.push(Tally::new(WHOLE_BAG, &groups, None));
        }
        Ok(tallies)
    }

    /// How often the first guess for each released word is right, under the law.
    fn expected(&self, channel: &Channel, table: &[Vec<f32>]) -> f64 {
        let [.., tested] = &self.messages;
        let frequent = mixture(tested, channel.words);
        let of_word = |(w, scores): (usize, &Vec<f32>)| {
            let guess = (0..scores.len()).find(|x| place(scores, *x) == 0);
            guess.map_or(0.0, |x| frequent[x] * channel.of(x)[w])
        };
        table.iter().enumerate().map(of_word).sum()
    }

    /// Trains a decoder on words and the counts of their bag, of which the sum of the bag's vectors
    /// is a linear function.
    fn decode(&self, bags: &[Drawn], way: Way, options: &Options) -> Result<Tally> {
        let size = way.size;
        let n = self.prior.len();
        let [learned, ..] = &self.messages;
        // Words of each bag to train on, so that all messages contribute.
        let each = options.lessons.div_ceil(learned.len()).min(size.into());
        let mut rows = Vec::new();
        let mut lessons = Vec::new();
        // The attacker may obfuscate public messages any number of times.
        for trial in 0..options.lessons.div_ceil(each * learned.len()) {
            for bag in self.draw(0, way, trial, options.seed)? {
                inputs(&bag, each, n, &mut rows);
                lessons.extend(&bag.private[..each]);
            }
        }
        let decoder = decoder(&rows, 2 * n, lessons, n, each, options.seed)?;
        rows.clear();
        bags.iter()
            .for_each(|bag| inputs(bag, size.into(), n, &mut rows));
        let logits = decoder.logits(&rows);
        let of_bag = |(logits, bag): (&[f32], &Drawn)| {
            let guesses = logits.chunks_exact(n).zip(&bag.private);
            guesses.map(|(logits, word)| place(logits, *word)).collect()
        };
        let of_bags = logits.chunks_exact(n * usize::from(size)).zip(bags);
        let groups: Vec<Vec<usize>> = of_bags.map(of_bag).collect();
        Ok(Tally::new(DECODER, &groups, None))
    }

    /// The model that finds the most words in bags of the validation messages.
    fn model<'c>(&'c self, way: Way, channel: &'c Channel, options: &Options) -> Result<Model<'c>> {
        let bags = self.draw(1, way, 0, options.seed)?;
        let mut best: Option<(usize, Model<'c>)> = None;
        for own in OWN {
            let model = Model::new(self, channel, own);
            let found = bags.par_iter().map(|bag| {
                let places = model.places(bag);
                places.into_iter().filter(|place| *place == 0).count()
            });
            let found = found.sum();
            if best.as_ref().is_none_or(|(most, _)| found > *most) {
                best = Some((found, model));
            }
        }
        Ok(best.map_or_else(|| Model::new(self, channel, OWN[0]), |(_, model)| model))
    }

    /// Upper bounds on the first guess: of attackers who treat words of a message as independent,
    /// and of all attackers.
    fn bounds(&self, epsilon: f64) -> [f64; 2] {
        let [.., tested] = &self.messages;
        let n = self.prior.len();
        let alone = self.bound.at(epsilon, &mixture(tested, n), 1);
        let of_message = |message: &Message| {
            let mut prior = vec![0.0; n];
            message.iter().for_each(|(word, p)| prior[*word] = *p);
            self.bound.at(epsilon, &prior, 1)
        };
        let sum: f64 = tested.par_iter().map(of_message).sum();
        [alone, sum / tested.len() as f64]
    }

    /// The share found by the best attacker on single words who has the word frequencies of the
    /// test messages.
    fn best_alone(&self, channel: &Channel) -> f64 {
        let [.., tested] = &self.messages;
        channel.vulnerability(&mixture(tested, self.prior.len()))
    }
}

/// Appends the inputs of a decoder for each of the first `most` words of a bag: the word as one-hot
/// vector, and the counts of the bag.
fn inputs(bag: &Drawn, most: usize, words: usize, rows: &mut Vec<f32>) {
    let mut counts = vec![0.0; words];
    bag.released.iter().for_each(|w| counts[*w] += 1.0);
    for w in &bag.released[..most] {
        let start = rows.len();
        rows.resize(start + words, 0.0);
        rows[start + w] = 1.0;
        rows.extend(&counts);
    }
}

fn shares(mut words: Vec<u32>) -> Message {
    words.sort_unstable();
    let all = words.len() as f64;
    words
        .chunk_by(|a, b| a == b)
        .map(|same| (same[0] as usize, same.len() as f64 / all))
        .collect()
}

/// The word of a message at the quantile `uniform` of its words.
fn pick(message: &Message, uniform: f64) -> usize {
    let mut sum = 0.0;
    let found = message.iter().find(|(_, share)| {
        sum += share;
        uniform < sum
    });
    found.or(message.last()).map_or(0, |(word, _)| *word)
}

/// The probabilities of a word drawn from one of these messages.
fn mixture(messages: &[Message], words: usize) -> Vec<f64> {
    let mut sums = vec![0.0; words];
    for (word, share) in messages.iter().flatten() {
        sums[*word] += share / messages.len() as f64;
    }
    sums
}

/// A model of text: a message resembles one of the public messages, whose words are mixed with the
/// prior.
struct Model<'a> {
    bags: &'a Bags<'a>,
    channel: &'a Channel,
    /// The weight of the public message's own words.
    own: f64,
    /// `[messages][words]`: the logarithm of the probability of a released word.
    released: Vec<f32>,
}

impl<'a> Model<'a> {
    fn new(bags: &'a Bags<'a>, channel: &'a Channel, own: f64) -> Self {
        let released = |shares: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut sums = vec![0.0; channel.words];
            for (x, p) in shares {
                for (sum, q) in sums.iter_mut().zip(channel.of(x)) {
                    *sum += p * q;
                }
            }
            sums
        };
        let rest = released(&mut bags.prior.iter().copied().enumerate());
        let of_message = |message: &Message| -> Vec<f32> {
            let own_words = released(&mut message.iter().copied());
            let both = own_words.iter().zip(&rest);
            both.map(|(a, b)| (own * a + (1.0 - own) * b).ln() as f32)
                .collect()
        };
        let [learned, ..] = &bags.messages;
        Self {
            bags,
            channel,
            own,
            released: learned.par_iter().flat_map_iter(of_message).collect(),
        }
    }

    /// The rank of each private word of a bag by its posterior, given the whole bag.
    fn places(&self, bag: &Drawn) -> Vec<usize> {
        let [learned, ..] = &self.bags.messages;
        let n = self.channel.words;
        let logs: Vec<f64> = self
            .released
            .chunks_exact(n)
            .map(|of| bag.released.iter().map(|w| f64::from(of[*w])).sum())
            .collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = logs.iter().map(|log| (log - most).exp()).enumerate();
        let likely: Vec<(usize, f64)> =
            weights.filter(|(_, weight)| *weight > NEGLIGIBLE).collect();
        let of_word = |(w, x): (&usize, &usize)| {
            // Pr[x, bag] = Σ over messages t of weight(t)·Pr[x | t]·Pr[w | x]/Pr[w | t].
            let mut prior = vec![0.0; n];
            let mut all = 0.0;
            for (number, weight) in &likely {
                let share = weight / f64::from(self.released[number * n + w]).exp();
                all += share;
                for (word, p) in &learned[*number] {
                    prior[*word] += self.own * share * p;
                }
            }
            for (prior, p) in prior.iter_mut().zip(&self.bags.prior) {
                *prior += (1.0 - self.own) * all * p;
            }
            place(&self.channel.posterior(&prior, *w), *x)
        };
        bag.released.iter().zip(&bag.private).map(of_word).collect()
    }
}

/// Results for bags of one mechanism and size at one ε.
pub struct Measured {
    /// The mechanism.
    pub mechanism: WordMechanism,
    /// Words of a bag.
    pub size: u16,
    /// The privacy parameter.
    pub epsilon: Epsilon,
    /// The results of the attackers, the strongest last.
    pub tallies: Vec<Tally>,
    /// The share found by the best attacker on single words, under the law; `None` if the law was
    /// estimated.
    pub best_alone: Option<f64>,
    /// Upper bounds on the first guess: of attackers on single words, and of attackers on whole
    /// bags.
    pub bounds: [f64; 2],
}

impl Measured {
    /// The name of the mechanism.
    pub fn mechanism_name(&self) -> &'static str {
        match self.mechanism {
            WordMechanism::LaplaceNearest => "Laplace noise and the nearest word",
            _ => "selection",
        }
    }

    /// The bound for this attacker's first guess.
    pub fn bound(&self, tally: &Tally) -> f64 {
        let sees_bags = self.size > 1 && [DECODER, WHOLE_BAG].contains(&tally.attacker);
        self.bounds[usize::from(sees_bags)]
    }
}

/// Releases and attacks bags with every mechanism, size and ε.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) of training;
/// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) for an ε below 0.1.
pub fn measure(bags: &Bags<'_>, options: &Options) -> Result<Vec<Measured>> {
    let steps = MECHANISMS.len() * options.sizes.len() * options.epsilons.len();
    let progress = Progress::new("attacking bags", steps as u64);
    let mut measured = Vec::new();
    for mechanism in MECHANISMS {
        for epsilon in options.epsilons.iter().copied() {
            let bounds = bags.bounds(epsilon_f64(epsilon));
            let channel = bags.channel(mechanism, epsilon, options.seed)?;
            let best_alone = channel.exact.then(|| bags.best_alone(&channel));
            for size in options.sizes.iter().copied() {
                let way = Way {
                    mechanism,
                    size,
                    epsilon,
                };
                let drawn = bags.tested(way, options)?;
                measured.push(Measured {
                    mechanism,
                    size,
                    epsilon,
                    tallies: bags.attack(&drawn, &channel, way, options)?,
                    best_alone,
                    bounds,
                });
                progress.advance(1);
            }
        }
    }
    let order = |found: &Measured| MECHANISMS.iter().position(|own| *own == found.mechanism);
    measured.sort_by_key(|found| (order(found), found.size, found.epsilon));
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::lexicon::word_vectors::Vectors;

    const WORDS: usize = 12;

    /// Twelve words on a line, half a unit apart.
    fn pack() -> Vec<u8> {
        let vectors = Vectors {
            name: "a line".to_owned(),
            words: (0..WORDS)
                .map(|word| format!("word{}", char::from(b'a' + word as u8)))
                .collect(),
            vectors: (0..WORDS).map(|word| 0.5 * word as f32 - 2.75).collect(),
            dimension: 1,
        };
        vectors.lexicon_pack(None, WORDS).unwrap().pack
    }

    /// Messages of four words from a third of the vocabulary.
    fn bags(pack: &[u8]) -> Bags<'_> {
        let pack = Pack::parse(pack).unwrap();
        let message = |number: usize| {
            let word = |place: usize| (3 * (number % 3) + place * (number / 3) % 5) as u32;
            shares((0..4).map(word).collect())
        };
        let part = |messages: std::ops::Range<usize>| messages.map(message).collect();
        let messages = [part(0..600), part(600..700), part(700..1700)];
        Bags::of_messages(Vocabulary::new(&pack).unwrap(), &pack, messages).unwrap()
    }

    fn options() -> Options {
        Options {
            epsilons: Vec::new(),
            vocabulary: WORDS,
            words: 1,
            directions: 1,
            sizes: vec![8],
            trials: 4,
            lessons: 8000,
            seed: 1,
        }
    }

    fn epsilon(text: &str) -> Epsilon {
        text.parse().unwrap()
    }

    const SELECTION: WordMechanism = MECHANISMS[0];

    fn channel(bags: &Bags<'_>, mechanism: WordMechanism, text: &str) -> Channel {
        bags.channel(mechanism, epsilon(text), 1).unwrap()
    }

    /// Attacks bags drawn at one ε by attackers who assume another.
    fn attack(
        bags: &Bags<'_>,
        mechanism: WordMechanism,
        drawn: &str,
        promised: &str,
    ) -> Vec<Tally> {
        let way = |text: &str| Way {
            mechanism,
            size: 8,
            epsilon: epsilon(text),
        };
        let drawn = bags.tested(way(drawn), &options()).unwrap();
        let channel = channel(bags, mechanism, promised);
        let found = bags.attack(&drawn, &channel, way(promised), &options());
        found.unwrap()
    }

    #[test]
    fn attackers_are_at_chance_below_the_bounds_and_find_everything() {
        let pack = pack();
        let bags = bags(&pack);
        let mut last = 0.0;
        for text in ["0.0001", "2", "60"] {
            let found = attack(&bags, SELECTION, text, text);
            let [chance, released, decoder, exact, whole] = &found[..] else {
                panic!("five attackers");
            };
            let bounds = bags.bounds(text.parse().unwrap());
            let best = bags.best_alone(&channel(&bags, SELECTION, text));
            assert!(
                best <= bounds[0] + 1e-9 && bounds[0] <= 1.0,
                "{text}: {best} {bounds:?}"
            );
            for tally in [chance, released, exact] {
                assert!(
                    !tally.above(bounds[0]) && !tally.above(best),
                    "{text}: {tally:?}"
                );
                assert!(tally.as_expected(), "{text}: {tally:?}");
            }
            for tally in [decoder, whole] {
                assert!(!tally.above(bounds[1]), "{text}: {tally:?} {bounds:?}");
            }
            // With almost no ε there is no information.
            assert!(
                text == "0.0001" || decoder.first.mean > 0.85 * exact.first.mean,
                "{text}: {decoder:?} {exact:?}"
            );
            assert!(
                whole.first.mean > exact.first.mean - whole.doubt(),
                "{text}: {whole:?} {exact:?}"
            );
            match text {
                "0.0001" => {
                    for tally in [released, decoder, exact, whole] {
                        assert!(
                            tally.first.mean < chance.first.mean + chance.doubt(),
                            "{tally:?}"
                        );
                    }
                    assert!((exact.first.mean - chance.first.mean).abs() < chance.doubt());
                }
                "2" => assert!(whole.first.mean > exact.first.mean, "{whole:?} {exact:?}"),
                "60" => assert!(exact.first.mean > 0.999 && decoder.first.mean > 0.99),
                _ => {}
            }
            assert!(exact.first.mean >= last - exact.doubt());
            last = exact.first.mean;
        }
    }

    /// Planted defect: words are replaced with twice the ε. The checks against the law and against
    /// the bound both fail.
    #[test]
    fn twice_the_epsilon_is_found() {
        let pack = pack();
        let bags = bags(&pack);
        let n = bags.word_count();
        let uniform = vec![1.0 / n as f64; n];
        let allowed = bags.bound.at(2.0, &uniform, 1);
        let vulnerability = |text| channel(&bags, SELECTION, text).vulnerability(&uniform);
        assert!(vulnerability("2") < allowed);
        assert!(vulnerability("4") > allowed);

        let exact = |drawn| attack(&bags, SELECTION, drawn, "2")[3];
        assert!(exact("2").as_expected());
        assert!(!exact("4").as_expected());
    }

    /// On a line, the law of noise and nearest word has a closed form: words are half a unit apart,
    /// so boundaries are a quarter away.
    #[test]
    fn an_estimated_law_is_that_of_the_noise() {
        let pack = pack();
        let bags = bags(&pack);
        for text in ["0.5", "2", "4"] {
            let estimated = channel(&bags, WordMechanism::LaplaceNearest, text);
            assert!(!estimated.exact);
            let rate: f64 = text.parse().unwrap();
            // Pr[noise <= t].
            let below = |t: f64| {
                if t < 0.0 {
                    0.5 * (rate * t).exp()
                } else {
                    1.0 - 0.5 * (-rate * t).exp()
                }
            };
            let n = DRAWS as f64;
            let doubt = ((2.0 * (WORDS * WORDS) as f64 / 1e-9).ln() / (2.0 * n)).sqrt();
            for x in 0..WORDS {
                let own = estimated.of(x);
                assert!((own.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                for (w, found) in own.iter().enumerate() {
                    let centre = 0.5 * (w as f64 - x as f64);
                    let from = if w == 0 { 0.0 } else { below(centre - 0.25) };
                    let to = if w == WORDS - 1 {
                        1.0
                    } else {
                        below(centre + 0.25)
                    };
                    assert!(
                        (found - (to - from)).abs() < doubt + 1.0 / n,
                        "{text} {x} {w}: {found} {}",
                        to - from
                    );
                }
            }
        }
    }

    #[test]
    fn attackers_on_noise_are_below_the_bounds_and_find_everything() {
        let pack = pack();
        let bags = bags(&pack);
        let mut last = 0.0;
        for text in ["2", "60"] {
            let found = attack(&bags, WordMechanism::LaplaceNearest, text, text);
            let [chance, released, decoder, posterior, whole] = &found[..] else {
                panic!("five attackers");
            };
            let bounds = bags.bounds(text.parse().unwrap());
            for tally in [chance, released, posterior] {
                assert!(!tally.above(bounds[0]), "{text}: {tally:?} {bounds:?}");
                assert!(tally.expected.is_none());
                assert!(
                    tally.first.mean < posterior.first.mean + posterior.doubt(),
                    "{text}: {tally:?} {posterior:?}"
                );
            }
            for tally in [decoder, whole] {
                assert!(!tally.above(bounds[1]), "{text}: {tally:?} {bounds:?}");
                assert!(
                    tally.first.mean > 0.85 * posterior.first.mean,
                    "{text}: {tally:?} {posterior:?}"
                );
            }
            assert!(posterior.first.mean > last);
            last = posterior.first.mean;
        }
        assert!(last > 0.999, "{last}");
    }

    #[test]
    fn laws_are_laws_and_messages_are_shares() {
        let pack = pack();
        let bags = bags(&pack);
        let channel = channel(&bags, SELECTION, "1.5");
        for x in 0..WORDS {
            assert!((channel.of(x).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        assert!((bags.prior.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(shares(vec![5, 2, 5, 5]), [(2, 0.25), (5, 0.75)]);
        let message = [(2, 0.25), (5, 0.75)].to_vec();
        assert_eq!(
            [0.0, 0.249, 0.25, 0.999, 1.0].map(|x| pick(&message, x)),
            [2, 2, 5, 5, 5]
        );
    }
}
