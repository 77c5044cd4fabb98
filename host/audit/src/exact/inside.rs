//! The internals of a mechanism that an audit examines.
//!
//! The implementations here read `core` and compute nothing themselves. Mechanisms are traits so
//! that tests can plant wrong ones, which must fail.

use std::collections::BTreeMap;
use std::num::NonZero;

use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Form, Question};
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::release::Release;
use undertone_core::select::{Levels, Ratio, Rule};
use undertone_core::words::{self, Vocabulary};

use crate::sampled::device::{self, Device, Sentence};
use undertone::demo;
use undertone::error::Result;
use undertone::release::document::{self, HostDocument, Method as Released};
use undertone::release::law::levels;

/// A selection by levels, common to all mechanisms that name a public candidate.
pub trait Engine: Sync {
    /// Name in reports.
    fn name(&self) -> String;

    /// The number of candidates.
    fn candidates(&self) -> usize;

    /// The weights of all relative levels: 0, 1, ...
    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128>;
}

/// A mechanism that selects by the levels of a document.
pub trait Sentences: Engine {
    /// The mechanism of `core`, which knows the pack.
    fn core(&self) -> &CoreSentences<'_>;

    /// The levels of all candidates for the document of these sentences.
    fn levels(&self, sentences: &[&Sentence]) -> Vec<u8>;

    /// The loss that a release promises if the whole text is exchanged for any other.
    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64;
}

/// A mechanism whose promise is for an exchange of its whole input.
pub trait WholeText: Sync {
    /// A document, or a list of answers.
    type Input: Clone;

    /// The names of checks: of refused inputs, and of the loss of an exchanged input.
    const CHECKS: [&'static str; 2] = ["texts refused", "loss of an exchanged text"];

    /// Name in reports.
    fn name(&self) -> String;

    /// The probabilities of all outcomes for an input. `None` if it gets no release.
    fn law(&self, input: &Self::Input, epsilon: Epsilon) -> Option<Vec<f64>>;

    /// Whether the pack recognises nothing in a document, or a list has no answer.
    fn is_nothing(&self, input: &Self::Input) -> bool;

    /// The outcomes of `count` releases of a device by this mechanism, from these inputs in turn.
    /// A release that this mechanism cannot make has a number outside the law.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn releases(
        &self,
        device: &mut dyn Device,
        inputs: &[&Self::Input],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>>;
}

/// A mechanism that exchanges a word of a vocabulary.
pub trait Words: Engine {
    /// The word that replaces every word outside the vocabulary.
    fn fallback(&self) -> u32;

    /// The distance of two words.
    fn distance(&self, a: u32, b: u32) -> f64;

    /// q: the distance of neighbouring levels.
    fn unit(&self) -> f64;

    /// The levels of all words for a private word.
    fn levels(&self, word: u32) -> Vec<u8>;
}

/// The sentence mechanism of a pack, as `core` has it.
#[derive(Debug)]
pub struct CoreSentences<'p> {
    pack: Pack<'p>,
    bound: usize,
    steps: NonZero<u8>,
}

impl<'p> CoreSentences<'p> {
    /// The mechanism of `pack`, or `None` if the pack has no candidates, or if each of its
    /// sentences is both an embedding and a text.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if this library cannot release
    /// from it.
    pub fn new(pack: &Pack<'p>) -> Result<Option<Self>> {
        if pack.scores().is_none() && pack.depth().is_none() || wants_both(pack) {
            return Ok(None);
        }
        document::empty(pack)?;
        let (bound, steps) = match pack.scores() {
            Some(scores) => (scores.level_count(), scores.largest_score()),
            None => (document::MAX_SENTENCES / 2 + 1, 1),
        };
        Ok(Some(Self {
            pack: *pack,
            bound,
            steps: NonZero::new(steps).unwrap_or(NonZero::<u8>::MIN),
        }))
    }

    fn empty(&self) -> HostDocument<'p> {
        document::empty(&self.pack).expect("one was made before")
    }

    /// The most unit steps by which one changed sentence moves a level.
    pub fn steps(&self) -> NonZero<u8> {
        self.steps
    }

    /// The number of coordinates of an embedding.
    pub(crate) fn dimension(&self) -> usize {
        self.pack.dimension()
    }

    /// Texts to try: public sentences, their words, and texts that no pack recognises. Empty if
    /// sentences are embeddings, because the pack has no features.
    pub(crate) fn texts(&self) -> Vec<String> {
        if self.pack.features().is_none() {
            return Vec::new();
        }
        let public = demo::public_sentences();
        let words = public.iter().flat_map(|sentence| sentence.split(' '));
        let unknown = ["", "\u{fffd} \u{301}", "…", "0"];
        let all = public.iter().copied().chain(words.step_by(7));
        all.chain(unknown).map(str::to_owned).collect()
    }

    /// Sentences that move levels far: the directions in the pack.
    pub(crate) fn directions(&self) -> Vec<Vec<f32>> {
        // A recoder moves sentences to another space, and texts have no embeddings.
        if self.pack.recoder().is_some() || self.pack.features().is_some() {
            return Vec::new();
        }
        match (self.pack.scores(), self.pack.depth()) {
            (Some(scores), _) => {
                let weights = scores.weights();
                weights
                    .map(|row| row.iter().map(|v| f32::from(*v)).collect())
                    .collect()
            }
            (None, Some(depth)) => {
                let rows = depth.directions();
                rows.map(|row| row.map(f32::from).collect()).collect()
            }
            (None, None) => Vec::new(),
        }
    }
}

/// Whether each sentence of this pack is both an embedding and a text.
pub(crate) fn wants_both(pack: &Pack<'_>) -> bool {
    let features = pack.features();
    features.is_some_and(|features| !features.is_alone()) && pack.lexicon().is_none()
}

impl Engine for CoreSentences<'_> {
    fn name(&self) -> String {
        let name = match self.pack.scores() {
            Some(scores) if scores.is_vote() => "votes",
            Some(scores) if scores.has_features() => "scores with features",
            Some(_) => "scores",
            None => "depth",
        };
        match self.pack.recoder() {
            Some(_) => format!("recoded {name}"),
            None => name.to_owned(),
        }
    }

    fn candidates(&self) -> usize {
        let scores = self.pack.scores().map(|scores| scores.candidate_count());
        let depth = || self.pack.depth().map(|depth| depth.candidate_count());
        scores.or_else(depth).unwrap_or(0) as usize
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let ratio = self.empty().ratio(epsilon);
        ratio.weights(rule).take(self.bound).collect()
    }
}

impl Sentences for CoreSentences<'_> {
    fn core(&self) -> &CoreSentences<'_> {
        self
    }

    fn levels(&self, sentences: &[&Sentence]) -> Vec<u8> {
        let mut document = self.empty();
        let mut rows: Vec<f32> = Vec::new();
        for sentence in sentences.iter().take(document::MAX_SENTENCES) {
            match sentence {
                Sentence::Embedding(row) => rows.extend(row),
                Sentence::Text(text) => document.push_sentence(text).expect("a pack for texts"),
            }
        }
        // A pack with features refuses even an empty list of embeddings.
        if !rows.is_empty() {
            document
                .push_all(&rows)
                .expect("the rows have the pack's dimension");
        }
        levels(&document)
    }

    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64 {
        self.empty().whole_text_epsilon(epsilon, rule).0 as f64 / 1e6
    }
}

/// The whole-text rule or projective geometry response of a pack, as `core` has it. Outcomes are
/// those of the pack, or points.
#[derive(Debug)]
pub struct CoreWholeText<'p> {
    pack: Pack<'p>,
    method: Released,
}

impl<'p> CoreWholeText<'p> {
    /// This mechanism of `pack`, if it has one.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if this library cannot release
    /// from it.
    pub fn new(pack: &Pack<'p>, method: Released) -> Result<Option<Self>> {
        if !method.is_whole_text() || pack.scores().is_none() || wants_both(pack) {
            return Ok(None);
        }
        let served = document::empty(pack)?.check_whole_text();
        let pack = *pack;
        Ok(served.is_ok().then_some(Self { pack, method }))
    }

    fn best(&self, document: &[Sentence]) -> Option<u32> {
        hazmat::best(&device::document(&self.pack, document).ok()?).ok()
    }

    fn geometry(&self, epsilon: Epsilon) -> Option<Geometry> {
        Geometry::best(self.pack.outcomes(), epsilon)
    }

    /// The number of points at this ε; 0 by the whole-text rule.
    pub(crate) fn points(&self, epsilon: Epsilon) -> u64 {
        if self.method == Released::WholeText {
            return 0;
        }
        let geometry = self.geometry(epsilon);
        geometry.map_or(u64::MAX, |geometry| geometry.points().into())
    }
}

impl WholeText for CoreWholeText<'_> {
    type Input = Vec<Sentence>;

    fn name(&self) -> String {
        match self.method {
            Released::Projective => "projective".to_owned(),
            _ => "whole text".to_owned(),
        }
    }

    fn law(&self, document: &Self::Input, epsilon: Epsilon) -> Option<Vec<f64>> {
        let best = self.best(document)?;
        if self.method == Released::Projective {
            return Some(law_of_points(&self.geometry(epsilon)?, best, epsilon));
        }
        let mut weights = Ratio::per_unit(epsilon, 1).weights(Rule::Exponential);
        let weights = [weights.next()?, weights.next()?];
        let is_best = |outcome| outcome == best;
        Some(law(self.pack.outcomes(), weights, is_best))
    }

    fn is_nothing(&self, document: &Self::Input) -> bool {
        self.best(document) == Some(self.pack.candidate_count())
    }

    fn releases(
        &self,
        device: &mut dyn Device,
        documents: &[&Self::Input],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        for (number, document) in documents.iter().enumerate() {
            device.keep(number, document)?;
        }
        let numbers: Vec<usize> = (0..documents.len()).collect();
        device.releases(&numbers, self.method, epsilon, count)
    }
}

/// The probabilities of outcomes that have the first weight if they are preferred, else the second.
fn law(outcomes: u32, weights: [u128; 2], is_preferred: impl Fn(u32) -> bool) -> Vec<f64> {
    let [first, other] = weights.map(|weight| weight as f64);
    let weight = |outcome| if is_preferred(outcome) { first } else { other };
    let weights: Vec<f64> = (0..outcomes).map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// The probabilities of the points of a geometry for this outcome.
fn law_of_points(geometry: &Geometry, outcome: u32, epsilon: Epsilon) -> Vec<f64> {
    let (first, other) = Geometry::weights(epsilon);
    law(geometry.points(), [first.into(), other.into()], |point| {
        geometry.contains(outcome, point)
    })
}

/// The most outcomes in an audit, which keeps the probability of each for many inputs.
pub const MOST_OUTCOMES: u32 = 1 << 14;

/// The answers of a form, as `core` releases them. An outcome is a question and a point.
#[derive(Debug)]
pub struct CoreAnswers<'f> {
    form: Form<'f>,
    /// By ε, the index of each question that can be drawn, with its geometry.
    questions: BTreeMap<Epsilon, Vec<(u8, Question, Geometry)>>,
}

impl<'f> CoreAnswers<'f> {
    /// The mechanism of `form` at these ε.
    pub fn new(form: &Form<'f>, epsilons: &[Epsilon]) -> Self {
        let questions = |epsilon: Epsilon| {
            let questions = (0..).zip(form.questions());
            let drawn = questions.filter(|(_, question)| question.weight > 0);
            let with_geometry = drawn.filter_map(|(index, question)| {
                let geometry = Geometry::best_for_answer(question.outcomes, epsilon)?;
                Some((index, question, geometry))
            });
            with_geometry.collect()
        };
        let by_epsilon = epsilons.iter().map(|own| (*own, questions(*own)));
        Self {
            form: *form,
            questions: by_epsilon.collect(),
        }
    }

    fn questions(&self, epsilon: Epsilon) -> &[(u8, Question, Geometry)] {
        self.questions.get(&epsilon).map_or(&[], Vec::as_slice)
    }

    /// The number of outcomes: the points of all questions.
    pub fn outcomes(&self, epsilon: Epsilon) -> u64 {
        let points = self.questions(epsilon).iter();
        points
            .map(|(.., geometry)| u64::from(geometry.points()))
            .sum()
    }

    /// The number of categories of each attribute.
    pub fn sizes(&self) -> Vec<u32> {
        let attributes = 0..self.form.attribute_count();
        attributes
            .filter_map(|at| self.form.category_count(at))
            .collect()
    }

    /// The outcome of a question for these answers, by the definition of a form.
    fn answer(&self, question: Question, answers: &[u32]) -> Option<u32> {
        let of = |attribute: u16| {
            let none = self.form.category_count(attribute.into())?;
            Some((*answers.get(usize::from(attribute))?.min(&none), none + 1))
        };
        let (first, _) = of(question.first)?;
        let Some(second) = question.second else {
            return Some(first);
        };
        let (second, outcomes) = of(second)?;
        Some(first * outcomes + second)
    }

    /// The outcome of a release. `None` for a question, geometry or point that no release at this ε
    /// has.
    fn outcome(&self, release: &Release, epsilon: Epsilon) -> Option<u32> {
        let answer = self.form.read(release)?;
        let mut start = 0;
        for (index, _, geometry) in self.questions(epsilon) {
            if *index == answer.index {
                return (*geometry == answer.geometry).then_some(start + answer.point);
            }
            start += geometry.points();
        }
        None
    }
}

impl WholeText for CoreAnswers<'_> {
    type Input = Vec<u32>;

    const CHECKS: [&'static str; 2] = ["answers refused", "loss of exchanged answers"];

    fn name(&self) -> String {
        "answers".to_owned()
    }

    fn law(&self, answers: &Self::Input, epsilon: Epsilon) -> Option<Vec<f64>> {
        let questions = self.questions(epsilon);
        let weights = questions.iter().map(|(_, own, _)| f64::from(own.weight));
        let total: f64 = weights.sum();
        let mut all = Vec::new();
        for (_, question, geometry) in questions {
            let points = law_of_points(geometry, self.answer(*question, answers)?, epsilon);
            let share = f64::from(question.weight) / total;
            all.extend(points.iter().map(|p| share * p));
        }
        Some(all)
    }

    fn is_nothing(&self, answers: &Self::Input) -> bool {
        let mut pairs = answers.iter().zip(self.sizes());
        pairs.all(|(answer, size)| *answer >= size)
    }

    fn releases(
        &self,
        device: &mut dyn Device,
        lists: &[&Self::Input],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        let lists: Vec<&[u32]> = lists.iter().map(|list| list.as_slice()).collect();
        let releases = device.answers(&lists, epsilon, count)?.into_iter();
        let outcome = |release| self.outcome(&release, epsilon).unwrap_or(u32::MAX);
        Ok(releases.map(outcome).collect())
    }
}

/// The words of a pack, as `core` exchanges them.
#[derive(Debug)]
pub struct CoreWords<'p> {
    pub(crate) vocabulary: Vocabulary<'p>,
}

impl<'p> CoreWords<'p> {
    /// The words of `pack`, if it has any.
    pub fn new(pack: &Pack<'p>) -> Option<Self> {
        let vocabulary = Vocabulary::new(pack).ok()?;
        Some(Self { vocabulary })
    }
}

impl Engine for CoreWords<'_> {
    fn name(&self) -> String {
        "words".to_owned()
    }

    fn candidates(&self) -> usize {
        self.vocabulary.word_count() as usize
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let ratio = Ratio::per_unit(epsilon, self.vocabulary.unit_exponent());
        ratio.weights(rule).take(words::LEVELS).collect()
    }
}

impl Words for CoreWords<'_> {
    fn fallback(&self) -> u32 {
        self.vocabulary.fallback()
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let step = 2f64.powi(self.vocabulary.lexicon().vector_exponent());
        (self.vocabulary.squared_distance(a, b) as f64).sqrt() * step
    }

    fn unit(&self) -> f64 {
        2f64.powi(self.vocabulary.unit_exponent())
    }

    fn levels(&self, word: u32) -> Vec<u8> {
        let mut levels = Vec::with_capacity(self.candidates());
        let of_word = self.vocabulary.levels(word);
        of_word.for_each_block(|block| levels.extend_from_slice(block));
        levels
    }
}
