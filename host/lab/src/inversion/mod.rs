//! Practical attackers that recover words from private vectors and obfuscated bags.
//!
//! All attackers have everything public: the vocabulary, the mechanism with its law and its ε, word
//! frequencies, and messages of the same kind. Private words are drawn with the very frequencies
//! that the attackers have, so no attacker suffers from a wrong prior. The attackers:
//!
//! - *Nearest word*: the word nearest to a noisy vector, or the released word of a bag. The usual
//!   attack on word perturbation and on embeddings (Feyisetan, Balle, Drake and Diethe 2020; Song
//!   and Raghunathan 2020).
//! - *Exact posterior*: Bayes' rule with the public law and the public prior. For a known
//!   vocabulary it can be computed, and no attacker that sees one release of one word is better on
//!   average. It is the yardstick. Tong, Chen, Yuan, Liu, Zhang, Yu and Zhang (2025) attack
//!   sanitised text in this way; the measure is the Bayes vulnerability of quantitative information
//!   flow. A law without a closed form is estimated from releases, and the posterior with it.
//! - *Trained decoder*: a perceptron trained on its own releases of public words, like inverters of
//!   sentence embeddings (Morris, Kuleshov, Shmatikov and Rush 2023). It does not need the law.
//! - *Whole bag*, for bags: the words of a message occur together. A posterior over public
//!   messages, each a distribution of words, weighs each word by the other words; it is exact for
//!   that model of text.
//!
//! The results are compared with *chance*, the best guess without a release, and with the
//! [`Bound`](bound::Bound) that follows from the guarantee and holds for any attacker. Two checks
//! run with every experiment; a correct mechanism fails each with a probability below 10⁻⁹
//! (Hoeffding): no attacker exceeds the bound, and the success of the exact posterior agrees with
//! its prediction. The second check detects noise that is too small in any dimension, even where
//! the bound is far away.
//!
//! References: Alvim, Andrés, Chatzikokolakis, Degano and Palamidessi, *On the information leakage
//! of differentially-private mechanisms*, 2015. Feyisetan et al., *Privacy- and utility-preserving
//! textual analysis via calibrated multivariate perturbations*, 2020. Morris et al., *Text
//! embeddings reveal (almost) as much as text*, 2023. Song and Raghunathan, *Information leakage in
//! embedding models*, 2020. Tong et al., *On the vulnerability of text sanitization*, 2025.

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
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::pack::heads::Targets;
use undertone::text::WordFilter;

/// Number of guesses of an attacker that may name several words.
pub const SEVERAL: usize = 10;

/// The largest probability that a check of a correct mechanism fails.
const FALSE_ALARM: f64 = 1e-9;

/// The widths of the decoders' hidden layers.
const HIDDEN: [usize; 2] = [128, 128];

/// One bag of this many validates the decoder's training.
const VALIDATION: usize = 8;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters per unit of distance, ascending.
    pub epsilons: Vec<Epsilon>,
    /// Size of the vocabulary of vectors.
    pub vocabulary: usize,
    /// Private words released as vectors at each ε.
    pub words: usize,
    /// Principal directions of projected vectors.
    pub directions: usize,
    /// Sizes of bags, in words.
    pub sizes: Vec<u16>,
    /// Releases of each test message.
    pub trials: usize,
    /// Releases that a decoder is trained on.
    pub lessons: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

/// How often one attacker was right. Its guesses come in groups; groups are independent of each
/// other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// The name of the attacker.
    pub attacker: &'static str,
    /// Independent groups of guesses: words released as vectors, or bags.
    pub groups: usize,
    /// The share of words found by one guess, over groups.
    pub first: MeanSd,
    /// The share of words among [`SEVERAL`] guesses.
    pub several: MeanSd,
    /// The share that the attacker's model predicts for one guess; `None` if the model is an
    /// approximation.
    pub expected: Option<f64>,
}

impl Tally {
    /// Summarises groups of ranks: 0 if the word was guessed first.
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

    /// Half the width of the 95 % confidence interval around `first`.
    pub fn half_interval(&self) -> f64 {
        1.96 * self.first.sd / (self.groups as f64).sqrt()
    }

    /// The largest deviation of the mean from its expectation, exceeded with a probability of at
    /// most 10⁻⁹ (Hoeffding 1963).
    pub fn doubt(&self) -> f64 {
        ((2.0 / FALSE_ALARM).ln() / (2.0 * self.groups as f64)).sqrt()
    }

    /// Whether the attacker exceeds `bound` significantly.
    pub fn above(&self, bound: f64) -> bool {
        self.first.mean > bound + self.doubt()
    }

    /// Whether the success of the attacker agrees with its prediction, up to chance.
    pub fn as_expected(&self) -> bool {
        self.expected
            .is_none_or(|expected| (self.first.mean - expected).abs() <= self.doubt())
    }
}

/// The rank of `truth` by falling score, ties in order.
fn place(scores: &[f32], truth: usize) -> usize {
    let own = scores[truth];
    let before = scores[..truth].iter().filter(|score| **score >= own);
    let after = scores[truth..].iter().filter(|score| **score > own);
    before.count() + after.count()
}

/// Indexed words with their public probabilities.
pub struct PublicWords {
    /// The words and their vectors.
    pub vectors: Vectors,
    /// `[words]`, with sum 1.
    pub prior: Vec<f64>,
}

impl PublicWords {
    /// Takes the `most` most frequent words of the training messages, except stop words and words
    /// without a vector.
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
            return Err(Error::experiment(format!(
                "no word of the vectors `{}` occurs in the training messages; take \
                 vectors of the words that they are written in",
                vectors.name
            )));
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

/// Trains a decoder from rows of `dimension` numbers to one of `classes` words. `together` rows
/// come from one bag.
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

/// Natural logarithms, which attackers add up.
fn logarithms(probabilities: &[f64]) -> Vec<f32> {
    probabilities.iter().map(|p| p.ln() as f32).collect()
}
