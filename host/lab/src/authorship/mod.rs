//! How well obfuscated bags of words hide their authors and keep their topic: the experiment of
//! Fernandes, Dras and McIver (2018) on newsgroups.
//!
//! *Release.* Only words that are informative about the topic of public messages remain in a
//! message, without stop words. n of the remaining words, drawn with replacement, are made private
//! one by one and released as a bag.
//!
//! *Attack.* Within each group a classifier guesses the author of a message. On the clear text its
//! features are character 3-grams with function words, or all words. On a bag its features are
//! words, and it was trained either on bags that the same mechanism made of the authors' other
//! messages (adaptive: it may obfuscate each of them any number of times) or on the same messages
//! in the clear (static).
//!
//! *Utility.* A classifier guesses the group of a message from its bag, trained on bags of other
//! messages.
//!
//! Settings of classifiers are chosen on validation messages, for each mechanism and ε.

pub mod certificate;
pub mod fidelity;
pub mod mailbox;
pub mod report;

use std::collections::HashMap;

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::lexicon::{self, Word};
use undertone_core::pack::Pack;
use undertone_core::rng::below;
use undertone_core::words::{Vocabulary, WordMechanism};

use crate::authorship::mailbox::{Part, Sample};
use crate::documents::Draw;
use crate::linear::{Ridge, Rows, TfIdf};
use crate::metrics::{MeanSd, accuracy, macro_f1};
use undertone::error::{Error, Result};
use undertone::lexicon::word_vectors::Vectors;
use undertone::progress::Progress;
use undertone::release::words::HostBag;
use undertone::text::informative::WordsByLabel;
use undertone::text::{WordFilter, english_stop_words};

/// Ridge penalties to choose from, in units of the total variance.
const RIDGES: [f64; 3] = [3e-4, 3e-3, 3e-2];

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The privacy parameters, per unit of distance, ascending.
    pub epsilons: Vec<Epsilon>,
    /// n, the words of a bag.
    pub bag_size: u16,
    /// Releases of each test message.
    pub trials: usize,
    /// Obfuscated copies of each training message for the adaptive attacker.
    pub copies: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

/// The terms of one document, as numbers.
type Document = Vec<u64>;

struct Problem {
    /// Indices of messages.
    messages: Vec<usize>,
    /// The class of each message.
    labels: Vec<usize>,
    classes: usize,
}

#[derive(Clone, Copy)]
enum Features<'a> {
    /// Terms weighted by their rarity; terms that occur in fewer documents than this number are
    /// left out.
    Terms(usize),
    /// The mean of the words' vectors.
    Vectors(&'a Vocabulary<'a>),
}

/// The hyperparameters of a classifier.
#[derive(Clone, Copy)]
struct Learner<'a> {
    features: Features<'a>,
    ridge: f64,
}

impl Learner<'_> {
    fn setting(&self) -> String {
        let features = match self.features {
            Features::Terms(_) => "tf-idf",
            Features::Vectors(_) => "mean vector",
        };
        format!("{features} with ridge {}", self.ridge)
    }
}

struct Trained<'a> {
    features: Features<'a>,
    weights: Option<TfIdf>,
    ridge: Ridge,
}

impl<'a> Trained<'a> {
    /// Trains on all of `documents`, which holds any number of documents for each message.
    fn new(
        problem: &Problem,
        learner: &Learner<'a>,
        sample: &Sample,
        parts: &[Part],
        documents: &[Vec<Document>],
    ) -> Self {
        let own = problem.messages.iter().zip(&problem.labels);
        let own = own.filter(|(message, _)| parts.contains(&sample.messages[**message].part));
        let (known, labels): (Vec<&[u64]>, Vec<usize>) = own
            .flat_map(|(message, label)| {
                documents[*message]
                    .iter()
                    .map(|document| (document.as_slice(), *label))
            })
            .unzip();
        let weights = match learner.features {
            Features::Terms(least) => Some(TfIdf::fit(known.iter().copied(), least)),
            Features::Vectors(_) => None,
        };
        let rows = rows(learner.features, weights.as_ref(), &known);
        Self {
            features: learner.features,
            weights,
            ridge: Ridge::fit(&rows, &labels, problem.classes, learner.ridge),
        }
    }

    /// Predicts the classes of the messages of one part; returns labels and guesses.
    fn guess<D: AsRef<[u64]>>(
        &self,
        problem: &Problem,
        sample: &Sample,
        part: Part,
        documents: &[D],
    ) -> Guesses {
        let own = problem.messages.iter().zip(&problem.labels);
        let own = own.filter(|(message, _)| sample.messages[**message].part == part);
        let (seen, labels): (Vec<&[u64]>, Vec<usize>) = own
            .map(|(message, label)| (documents[*message].as_ref(), *label))
            .unzip();
        let rows = rows(self.features, self.weights.as_ref(), &seen);
        Guesses {
            guesses: self.ridge.predict(&rows),
            labels,
            classes: problem.classes,
        }
    }
}

fn rows(features: Features<'_>, weights: Option<&TfIdf>, documents: &[&[u64]]) -> Rows {
    match (features, weights) {
        (Features::Vectors(vocabulary), _) => {
            let lexicon = vocabulary.lexicon();
            let mut rows = Rows::new(lexicon.dimension());
            for document in documents {
                let mut sum = vec![0f32; lexicon.dimension()];
                for word in *document {
                    let (_, vector) = lexicon.entry(*word as usize).unwrap_or_default();
                    for (sum, x) in sum.iter_mut().zip(vector) {
                        *sum += f32::from(*x) / document.len() as f32;
                    }
                }
                rows.push((0..).zip(sum));
            }
            rows
        }
        (Features::Terms(_), Some(weights)) => weights.rows(documents.iter().copied()),
        (Features::Terms(_), None) => unreachable!("terms are learned with their weights"),
    }
}

struct Guesses {
    labels: Vec<usize>,
    guesses: Vec<usize>,
    classes: usize,
}

/// The share of right guesses over all problems.
fn share_right(all: &[Guesses]) -> f64 {
    let joined = |of: fn(&Guesses) -> &Vec<usize>| -> Vec<usize> {
        all.iter().flat_map(of).copied().collect()
    };
    accuracy(&joined(|all| &all.labels), &joined(|all| &all.guesses))
}

/// The mean over problems of the mean over classes of the share of right guesses.
fn balanced(all: &[Guesses]) -> f64 {
    let of_problem = |one: &Guesses| {
        let of_class = |class: usize| {
            let own = one
                .labels
                .iter()
                .zip(&one.guesses)
                .filter(|(label, _)| **label == class);
            let (labels, guesses): (Vec<usize>, Vec<usize>) = own.unzip();
            accuracy(&labels, &guesses)
        };
        (0..one.classes).map(of_class).sum::<f64>() / one.classes as f64
    };
    all.iter().map(of_problem).sum::<f64>() / all.len().max(1) as f64
}

/// The mean over problems of macro F₁.
fn mean_f1(all: &[Guesses]) -> f64 {
    let f1 = |one: &Guesses| macro_f1(&one.labels, &one.guesses, one.classes);
    all.iter().map(f1).sum::<f64>() / all.len().max(1) as f64
}

/// Classifiers for some problems, trained with the hyperparameters that are best on the validation
/// messages.
struct Chosen<'a> {
    setting: String,
    validated: f64,
    trained: Vec<Trained<'a>>,
}

impl<'a> Chosen<'a> {
    /// `known` are the documents of each message for training; `seen` is the document of each
    /// message to classify.
    fn new<D: AsRef<[u64]> + Sync>(
        problems: &[Problem],
        learners: &[Learner<'a>],
        sample: &Sample,
        known: &[Vec<Document>],
        seen: &[D],
        score: impl Fn(&[Guesses]) -> f64,
    ) -> Self {
        let train = |learner: &Learner<'a>, parts: &[Part]| -> Vec<Trained<'a>> {
            let of = |problem| Trained::new(problem, learner, sample, parts, known);
            problems.par_iter().map(of).collect()
        };
        let mut best = (f64::NEG_INFINITY, &learners[0]);
        for learner in learners {
            let trained = train(learner, &[Part::Train]);
            let validated = score(&guess(&trained, problems, sample, Part::Validation, seen));
            if validated > best.0 {
                best = (validated, learner);
            }
        }
        Self {
            setting: best.1.setting(),
            validated: best.0,
            trained: train(best.1, &[Part::Train, Part::Validation]),
        }
    }
}

fn guess<D: AsRef<[u64]> + Sync>(
    trained: &[Trained<'_>],
    problems: &[Problem],
    sample: &Sample,
    part: Part,
    seen: &[D],
) -> Vec<Guesses> {
    let both = trained.par_iter().zip(problems);
    both.map(|(trained, problem)| trained.guess(problem, sample, part, seen))
        .collect()
}

/// An attack on clear texts.
#[derive(Clone, Debug)]
pub struct ClearAttack {
    /// The features that it uses.
    pub name: &'static str,
    /// The chosen settings.
    pub setting: String,
    /// The share of right guesses.
    pub accuracy: f64,
    /// Balanced accuracy: the mean over authors, then over groups.
    pub balanced: f64,
    /// Its accuracy on the validation messages.
    pub validated: f64,
}

/// Accuracy of classifiers without obfuscation.
#[derive(Clone, Debug)]
pub struct Clear {
    /// The attacks.
    pub attacks: Vec<ClearAttack>,
    /// The largest share of one author, over all groups: the accuracy of guessing without the
    /// message.
    pub chance: f64,
    /// One over the number of authors, averaged over groups: the balanced accuracy of guessing
    /// without the message.
    pub balanced_chance: f64,
    /// Macro F₁ of the topic, all words.
    pub topic: f64,
    /// The settings chosen for the topic classifier.
    pub topic_setting: String,
}

impl Clear {
    /// The attack with the best accuracy on the validation messages.
    ///
    /// # Panics
    /// If there is none.
    pub fn attack(&self) -> &ClearAttack {
        let best = self
            .attacks
            .iter()
            .max_by(|a, b| a.validated.total_cmp(&b.validated));
        best.expect("there are attacks on clear texts")
    }

    /// The part of the way from the clear text's accuracy to chance: 0 for the former, 1 for the
    /// latter.
    pub fn way_to_chance(&self, accuracy: f64) -> f64 {
        let clear = self.attack().accuracy;
        (clear - accuracy) / (clear - self.chance)
    }
}

/// How bags are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The drawn words, without privacy.
    Drawn,
    /// Each word is made private.
    Private(WordMechanism, Epsilon),
}

/// Results for one way of releasing bags.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How the bags were released.
    pub way: Way,
    /// Accuracy of the adaptive attack.
    pub adaptive: MeanSd,
    /// Accuracy of the static attack.
    pub fixed: MeanSd,
    /// Balanced accuracy of the stronger attack.
    pub balanced: MeanSd,
    /// Macro F₁ of the topic.
    pub topic: MeanSd,
    /// The settings chosen for the adaptive attack, the static attack and the topic.
    pub settings: [String; 3],
    /// The accuracies and F₁ of these settings on the validation messages.
    pub validated: [f64; 3],
}

impl Measured {
    /// The accuracy of the stronger attack.
    pub fn attack(&self) -> MeanSd {
        if self.adaptive.mean >= self.fixed.mean {
            self.adaptive
        } else {
            self.fixed
        }
    }
}

/// The experiment, prepared.
pub struct Experiment<'a> {
    sample: &'a Sample,
    options: &'a Options,
    vocabulary: Vocabulary<'a>,
    /// The words of each message that may be drawn, as indices into the vocabulary.
    kept: Vec<Vec<u32>>,
    /// One for each group.
    authors: Vec<Problem>,
    /// A single problem: the topic.
    topic: Vec<Problem>,
}

/// A pack of the `most` words that are most informative about the topic in the training messages.
/// Stop words and words without a vector are excluded.
///
/// # Errors
/// [`ErrorKind::Experiment`](undertone::error::ErrorKind::Experiment) if there is none; those of
/// [`Vectors::lexicon_pack`].
pub fn informative_pack(sample: &Sample, vectors: &Vectors, most: usize) -> Result<Vec<u8>> {
    let filter = WordFilter::default();
    let mut counts = WordsByLabel::default();
    for message in sample
        .messages
        .iter()
        .filter(|message| message.part == Part::Train)
    {
        counts.add(&sample.groups[message.group], filter.words(&message.text));
    }
    let places = counts.ranked().into_iter().enumerate();
    let places: HashMap<&str, usize> = places.map(|(place, (word, _))| (word, place)).collect();
    let place = |index: usize| places.get(vectors.words[index].to_lowercase().as_str());
    let mut ranked: Vec<usize> = (0..vectors.words.len())
        .filter(|index| place(*index).is_some())
        .collect();
    ranked.sort_by_key(|index| (place(*index), *index));
    if ranked.is_empty() {
        return Err(Error::experiment(format!(
            "no word of the vectors `{}` occurs in the training messages; take \
             vectors of the words that they are written in",
            vectors.name
        )));
    }
    Ok(vectors.rows(&ranked).lexicon_pack(None, most)?.pack)
}

/// The words of each message that may be drawn into a bag, as indices into the vocabulary.
pub(crate) fn kept_words(sample: &Sample, vocabulary: &Vocabulary<'_>) -> Vec<Vec<u32>> {
    let filter = WordFilter::default();
    let of_message = |text: &str| {
        let known = filter
            .words(text)
            .filter_map(|word| vocabulary.lexicon().find(&word));
        known.map(|word| word as u32).collect()
    };
    sample
        .messages
        .iter()
        .map(|message| of_message(&message.text))
        .collect()
}

impl<'a> Experiment<'a> {
    /// Prepares the experiment with a pack such as [`informative_pack`] makes.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if the pack has no lexicon, or
    /// for a bag size that core refuses.
    pub fn new(sample: &'a Sample, pack: &Pack<'a>, options: &'a Options) -> Result<Self> {
        let vocabulary = Vocabulary::new(pack).map_err(Error::from)?;
        let of_group = |group: usize| {
            let own = sample.messages.iter().enumerate();
            let own = own.filter(|(_, message)| message.group == group);
            let (messages, labels) = own
                .filter_map(|(number, message)| Some((number, message.author?)))
                .unzip();
            Problem {
                messages,
                labels,
                classes: sample.authors[group].len(),
            }
        };
        Ok(Self {
            kept: kept_words(sample, &vocabulary),
            authors: (0..sample.groups.len()).map(of_group).collect(),
            topic: vec![Problem {
                messages: (0..sample.messages.len()).collect(),
                labels: sample
                    .messages
                    .iter()
                    .map(|message| message.group)
                    .collect(),
                classes: sample.groups.len(),
            }],
            sample,
            options,
            vocabulary,
        })
    }

    /// The vocabulary of the bags.
    pub fn vocabulary(&self) -> &Vocabulary<'a> {
        &self.vocabulary
    }

    /// The number of messages without a word of the vocabulary: their bags consist of the fallback
    /// word.
    pub fn without_words(&self) -> usize {
        self.kept.iter().filter(|words| words.is_empty()).count()
    }

    /// Measures classifiers on the clear texts.
    pub fn clear(&self) -> Clear {
        let mut numbers: HashMap<Word, u64> = HashMap::new();
        let all_words: Vec<Vec<Document>> = self
            .sample
            .messages
            .iter()
            .map(|message| {
                let words = lexicon::words(&message.text).map(|word| {
                    let next = numbers.len() as u64;
                    *numbers.entry(word).or_insert(next)
                });
                vec![words.collect()]
            })
            .collect();
        let mut function_words: Vec<Word> = english_stop_words().into_iter().collect();
        function_words.sort_unstable();
        let grams: Vec<Vec<Document>> = self
            .sample
            .messages
            .par_iter()
            .map(|message| vec![grams(&message.text, &function_words)])
            .collect();
        let views: [(&'static str, usize, Vec<Vec<Document>>); 2] = [
            ("character 3-grams and function words", 2, grams),
            ("all words", 1, all_words),
        ];
        let mut attacks = Vec::new();
        for (name, least, documents) in &views {
            let (chosen, guesses) =
                self.learn_and_guess(&self.authors, *least, documents, share_right);
            attacks.push(ClearAttack {
                name,
                setting: chosen.setting,
                accuracy: share_right(&guesses),
                balanced: balanced(&guesses),
                validated: chosen.validated,
            });
        }
        let [_, (_, least, documents)] = &views;
        let (chosen, guesses) = self.learn_and_guess(&self.topic, *least, documents, mean_f1);
        let uniform = self
            .authors
            .iter()
            .map(|problem| 1.0 / problem.classes as f64);
        Clear {
            attacks,
            chance: self.chance(),
            balanced_chance: uniform.sum::<f64>() / self.authors.len() as f64,
            topic: mean_f1(&guesses),
            topic_setting: chosen.setting,
        }
    }

    /// Trains on one document for each message, with the terms that occur in at least `least`
    /// documents, and predicts the classes of the test messages.
    fn learn_and_guess(
        &self,
        problems: &[Problem],
        least: usize,
        documents: &[Vec<Document>],
        score: fn(&[Guesses]) -> f64,
    ) -> (Chosen<'_>, Vec<Guesses>) {
        let learners = RIDGES.map(|ridge| Learner {
            features: Features::Terms(least),
            ridge,
        });
        let seen: Vec<&Document> = documents.iter().map(|one| &one[0]).collect();
        let chosen = Chosen::new(problems, &learners, self.sample, documents, &seen, score);
        let guesses = guess(&chosen.trained, problems, self.sample, Part::Test, &seen);
        (chosen, guesses)
    }

    /// The accuracy of always guessing the most frequent author of the training messages; parts
    /// have the same shares.
    fn chance(&self) -> f64 {
        let mut right = 0;
        let mut tested = 0;
        for problem in &self.authors {
            let mut counts = vec![[0usize; 2]; problem.classes];
            for (message, label) in problem.messages.iter().zip(&problem.labels) {
                let test = self.sample.messages[*message].part == Part::Test;
                counts[*label][usize::from(test)] += 1;
                tested += usize::from(test);
            }
            right += counts.iter().max().map_or(0, |[_, test]| *test);
        }
        right as f64 / tested.max(1) as f64
    }

    /// Measures each way of releasing bags.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) for a bag size that core
    /// refuses.
    pub fn measure(&self, ways: &[Way]) -> Result<Vec<Measured>> {
        let messages = self.sample.messages.len();
        let progress = Progress::new("obfuscating messages", (ways.len() * messages) as u64);
        ways.iter()
            .map(|way| self.measure_one(*way, &progress))
            .collect()
    }

    fn measure_one(&self, way: Way, progress: &Progress) -> Result<Measured> {
        let options = self.options;
        // Training messages need the attacker's copies, test messages the trials.
        let released = (0..self.sample.messages.len())
            .into_par_iter()
            .map(|number| {
                let message = &self.sample.messages[number];
                let releases = match (message.part, message.author) {
                    (Part::Test, _) => options.trials,
                    (_, Some(_)) => options.copies,
                    (_, None) => 1,
                };
                let bags = (0..releases).map(|release| self.release(number, way, release));
                let bags = bags.collect::<Result<Vec<Document>>>();
                progress.advance(1);
                bags
            });
        let released = released.collect::<Result<Vec<Vec<Document>>>>()?;
        let learners: Vec<Learner<'_>> = [Features::Terms(1), Features::Vectors(&self.vocabulary)]
            .into_iter()
            .flat_map(|features| RIDGES.map(|ridge| Learner { features, ridge }))
            .collect();
        let clear: Vec<Vec<Document>> = self
            .kept
            .iter()
            .map(|words| vec![words.iter().map(|word| u64::from(*word)).collect()])
            .collect();

        let shown = |trial: usize| -> Vec<&[u64]> {
            let one = |of: &Vec<Document>| trial.min(of.len() - 1);
            released.iter().map(|of| of[one(of)].as_slice()).collect()
        };
        let first = shown(0);
        let choose =
            |problems: &[Problem], known: &[Vec<Document>], score: fn(&[Guesses]) -> f64| {
                Chosen::new(problems, &learners, self.sample, known, &first, score)
            };
        let adaptive = choose(&self.authors, &released, share_right);
        let fixed = choose(&self.authors, &clear, share_right);
        // The classifier of the topic is trained on one release of each message.
        let single: Vec<Vec<Document>> = released.iter().map(|of| vec![of[0].clone()]).collect();
        let topic = choose(&self.topic, &single, mean_f1);

        let mut scores: [Vec<f64>; 5] = Default::default();
        for trial in 0..options.trials {
            let seen = shown(trial);
            let of = |chosen: &Chosen<'_>, problems| {
                guess(&chosen.trained, problems, self.sample, Part::Test, &seen)
            };
            let (adaptive, fixed) = (of(&adaptive, &self.authors), of(&fixed, &self.authors));
            scores[0].push(share_right(&adaptive));
            scores[1].push(share_right(&fixed));
            scores[2].push(balanced(&adaptive));
            scores[3].push(balanced(&fixed));
            scores[4].push(mean_f1(&of(&topic, &self.topic)));
        }
        let [by_adaptive, by_fixed, b_adaptive, b_fixed, topic_f1] =
            scores.map(|scores| MeanSd::new(&scores));
        Ok(Measured {
            way,
            adaptive: by_adaptive,
            fixed: by_fixed,
            balanced: if b_adaptive.mean >= b_fixed.mean {
                b_adaptive
            } else {
                b_fixed
            },
            topic: topic_f1,
            validated: [adaptive.validated, fixed.validated, topic.validated],
            settings: [adaptive.setting, fixed.setting, topic.setting],
        })
    }

    /// A bag of one message.
    fn release(&self, number: usize, way: Way, release: usize) -> Result<Document> {
        let draw = |epsilon| Draw {
            epsilon,
            trial: release,
            seed: self.options.seed,
        };
        let kept = &self.kept[number];
        let mut words = vec![0; self.options.bag_size.into()];
        match way {
            Way::Drawn => {
                let rng = &mut draw(Epsilon::MAX).rng(number);
                for word in &mut words {
                    let place = below(rng, kept.len().max(1) as u128) as usize;
                    *word = kept
                        .get(place)
                        .copied()
                        .unwrap_or(self.vocabulary.fallback());
                }
            }
            Way::Private(mechanism, epsilon) => {
                let lexicon = self.vocabulary.lexicon();
                let mut bag = HostBag::with_limit(&self.vocabulary);
                for word in kept {
                    bag.push(lexicon.word(*word as usize).unwrap_or_default());
                }
                let rng = &mut draw(epsilon).rng(number);
                hazmat::draw_bag(&bag, mechanism, epsilon, rng, &mut words).map_err(Error::from)?;
            }
        }
        Ok(words.into_iter().map(u64::from).collect())
    }
}

/// Character 3-grams of a text in lower case, with white space as one blank, and its function
/// words.
fn grams(text: &str, function_words: &[Word]) -> Document {
    let words: Vec<&str> = text.split_whitespace().collect();
    let characters: Vec<char> = words.join(" ").to_lowercase().chars().collect();
    // A character has 21 bits.
    let gram = |window: &[char]| {
        window
            .iter()
            .fold(0, |term, c| term << 21 | u64::from(u32::from(*c)))
    };
    let function = lexicon::words(text).filter_map(|word| {
        let place = function_words.binary_search(&word).ok()?;
        Some(1 << 63 | place as u64)
    });
    characters.windows(3).map(gram).chain(function).collect()
}
