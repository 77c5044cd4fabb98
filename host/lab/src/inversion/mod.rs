//! Attackers of today: what somebody finds who wants the words back from private vectors and from obfuscated bags.
//!
//! Everybody here knows everything public: the vocabulary, the mechanism with its law and its ε, how frequent words are,
//! and messages of the same kind. The private word is drawn by the very frequencies that the attackers know, so none of
//! them is held back by a wrong guess of the prior. The attackers:
//!
//! - *Nearest word*: the word nearest to a noisy vector, or the word of a bag as it came. The usual attack on word
//!   perturbation and on embeddings (Feyisetan, Balle, Drake and Diethe 2020; Song and Raghunathan 2020).
//! - *Exact posterior*: Bayes' rule with the public law and the public prior. For a known vocabulary it can be computed, and
//!   no attacker that sees one release of one word is better on average. It is the yardstick. Tong, Chen, Yuan, Liu, Zhang, Yu
//!   and Zhang (2025) attack sanitised text so; the measure is the Bayes vulnerability of quantitative information flow. Where the law has
//!   no form to compute, it is estimated from releases, and the posterior with it.
//! - *Trained decoder*: a perceptron that learned from its own releases of public words, as inverters of sentence embeddings do
//!   (Morris, Kuleshov, Shmatikov and Rush 2023). It needs no law.
//! - For bags, *whole bag*: the words of a message go together. A posterior over public messages, each a distribution of
//!   words, weighs each word by what the others say; exact for that model of text.
//!
//! What they find is compared with *chance*, the best guess without a release, and with the [`Bound`](bound::Bound) that
//! follows from the promise, for any attacker. Two checks can fail, each for a correct mechanism with a probability below 10⁻⁹
//! (Hoeffding): nobody is above the bound, and the exact posterior is right as often as it says itself. The second one sees noise
//! that is too small in any dimension, where the bound is far away.
//!
//! References: Alvim, Andrés, Chatzikokolakis, Degano and Palamidessi, *On the information leakage of differentially-private
//! mechanisms*, 2015. Feyisetan et al., *Privacy- and utility-preserving textual analysis via calibrated multivariate
//! perturbations*, 2020. Morris et al., *Text embeddings reveal (almost) as much as text*, 2023. Song and Raghunathan,
//! *Information leakage in embedding models*, 2020. Tong et al., *On the vulnerability of text sanitization*, 2025.

pub mod bags;
pub mod bound;
pub mod report;
pub mod vectors;

use std::collections::HashMap;

use undertone_core::epsilon::Epsilon;
use undertone_train::{Classifier, Run, Split};

use crate::authorship::mailbox::{Part, Sample};
use crate::metrics::MeanSd;
use crate::vectors::index;
use undertone::error::{Cause, Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::pack::heads::Targets;
use undertone::text::WordFilter;

/// Guesses of an attacker that names several words.
pub const SEVERAL: usize = 10;

/// A check of a correct mechanism fails with at most this probability.
const FALSE_ALARM: f64 = 1e-9;

/// The widths of the decoders' hidden layers.
const HIDDEN: [usize; 2] = [128, 128];

/// One bag of lessons of this many decides when training stops.
const VALIDATION: usize = 8;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters per unit of distance, ascending.
    pub epsilons: Vec<Epsilon>,
    /// Words of the vocabulary of vectors.
    pub vocabulary: usize,
    /// Private words that are released as vectors at each ε.
    pub words: usize,
    /// Principal directions of projected vectors.
    pub directions: usize,
    /// Words of a bag.
    pub sizes: Vec<u16>,
    /// How often each test message is released.
    pub trials: usize,
    /// Releases that a decoder learns from.
    pub lessons: usize,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

/// How often one attacker was right. Its guesses come in groups that are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// The attacker.
    pub attacker: &'static str,
    /// Independent groups of guesses: words released as vectors, or bags.
    pub groups: usize,
    /// The share of words found by one guess, over groups.
    pub first: MeanSd,
    /// The share of words among [`SEVERAL`] guesses.
    pub several: MeanSd,
    /// The share that the attacker thinks it finds by one guess, if its model has no room for error.
    pub expected: Option<f64>,
}

impl Tally {
    /// From groups of places: 0 if the word was guessed first.
    ///
    /// # Panics
    /// If there is no group.
    fn new(attacker: &'static str, groups: &[Vec<usize>], expected: Option<f64>) -> Self {
        let share = |most: usize| {
            let of_group = |places: &Vec<usize>| {
                let right = places.iter().filter(|place| **place < most).count();
                right as f64 / places.len() as f64
            };
            MeanSd::new(&groups.iter().map(of_group).collect::<Vec<f64>>())
        };
        Self {
            attacker,
            groups: groups.len(),
            first: share(1),
            several: share(SEVERAL),
            expected,
        }
    }

    /// Half of an interval around `first` that holds the true share with about 95 %.
    pub fn half_interval(&self) -> f64 {
        1.96 * self.first.sd / (self.groups as f64).sqrt()
    }

    /// How far a mean of so many shares lies from what it estimates, but with a probability of at most 10⁻⁹ (Hoeffding 1963).
    pub fn doubt(&self) -> f64 {
        ((2.0 / FALSE_ALARM).ln() / (2.0 * self.groups as f64)).sqrt()
    }

    /// Whether more was found than `bound` allows, beyond chance.
    pub fn above(&self, bound: f64) -> bool {
        self.first.mean > bound + self.doubt()
    }

    /// Whether the attacker is right as often as it thinks, up to chance.
    pub fn as_expected(&self) -> bool {
        self.expected
            .is_none_or(|expected| (self.first.mean - expected).abs() <= self.doubt())
    }
}

/// The place of `truth` when words are tried by falling score, equal ones in order.
fn place(scores: &[f32], truth: usize) -> usize {
    let own = scores[truth];
    let before = scores[..truth].iter().filter(|score| **score >= own);
    let after = scores[truth..].iter().filter(|score| **score > own);
    before.count() + after.count()
}

/// Words by number, with their public probabilities.
pub struct PublicWords {
    /// The words and their vectors.
    pub vectors: Vectors,
    /// `[words]`, their sum is 1.
    pub prior: Vec<f64>,
}

impl PublicWords {
    /// The `most` most frequent words of the training messages that `vectors` knows and that are not stop words.
    ///
    /// # Errors
    /// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if there is none.
    pub fn new(sample: &Sample, vectors: &Vectors, most: usize) -> Result<Self> {
        let rows = index(&vectors.words);
        let filter = WordFilter::default();
        let mut counts: HashMap<usize, usize> = HashMap::new();
        let learned = sample
            .messages
            .iter()
            .filter(|message| message.part == Part::Train);
        for word in learned.flat_map(|message| filter.words(&message.text)) {
            if let Some(row) = rows.get(word.as_str()) {
                *counts.entry(*row).or_default() += 1;
            }
        }
        let mut ranked: Vec<(usize, usize)> = counts.into_iter().collect();
        ranked.sort_unstable_by_key(|(row, count)| (std::cmp::Reverse(*count), *row));
        ranked.truncate(most);
        let total: usize = ranked.iter().map(|(_, count)| count).sum();
        if total == 0 {
            return Err(Error::from(Cause::NoCommonWords {
                vectors: vectors.name.clone(),
            }));
        }
        let chosen: Vec<usize> = ranked.iter().map(|(row, _)| *row).collect();
        Ok(Self {
            vectors: vectors.rows(&chosen),
            prior: ranked
                .iter()
                .map(|(_, count)| *count as f64 / total as f64)
                .collect(),
        })
    }
}

/// Trains a decoder: from rows of `dimension` numbers to one of `classes` words. `together` rows come from one bag.
fn decoder(
    rows: &[f32],
    dimension: usize,
    words: Vec<usize>,
    classes: usize,
    together: usize,
    seed: u64,
) -> Result<Classifier> {
    let (validation, train): (Vec<usize>, Vec<usize>) =
        (0..words.len()).partition(|number| (number / together).is_multiple_of(VALIDATION));
    let targets = Targets {
        of_documents: words,
        classes,
    };
    let split = Split {
        train: &train,
        validation: &validation,
    };
    let run = Run::new(undertone_train::Options {
        epochs: 8,
        seed,
        ..undertone_train::Options::default()
    });
    let (decoder, _) = Classifier::with_hidden(&HIDDEN, rows, dimension, &targets, &split, &run)?;
    Ok(decoder)
}

/// ln, as attackers add it up.
fn logarithms(probabilities: &[f64]) -> Vec<f32> {
    probabilities.iter().map(|p| p.ln() as f32).collect()
}
