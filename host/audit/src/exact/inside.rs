//! The internals of a mechanism that an audit examines.
//!
//! The implementations here read `core` and compute nothing themselves. Mechanisms are traits so
//! that tests can plant wrong ones, which must fail.

use std::num::NonZero;

use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::select::{Levels, Ratio, Rule};
use undertone_core::words::{self, Vocabulary};

use crate::sampled::device::{self, Device, Sentence};
use undertone::demo;
use undertone::error::Result;
use undertone::release::document::{self, HostDocument};
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
    /// The most unit steps by which one changed sentence moves a level.
    fn steps(&self) -> NonZero<u8>;

    /// The number of coordinates of an embedding.
    fn dimension(&self) -> usize;

    /// Texts to try, if sentences are texts because the pack has features; otherwise empty.
    fn texts(&self) -> Vec<String>;

    /// The levels of all candidates for the document of these sentences.
    fn levels(&self, sentences: &[&Sentence]) -> Vec<u8>;

    /// Sentences that move levels far: multiples of the directions in the pack.
    fn directions(&self) -> Vec<Vec<f32>>;

    /// The loss that a release promises if the whole text is exchanged for any other.
    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64;
}

/// A mechanism that releases the best outcome of a whole text, or by chance another one.
pub trait WholeText: Sync {
    /// Name in reports.
    fn name(&self) -> String;

    /// The probabilities of all outcomes for a document. `None` if the document gets no release.
    fn law(&self, document: &[Sentence], epsilon: Epsilon) -> Option<Vec<f64>>;

    /// Whether the pack recognises nothing in a document.
    fn is_nothing(&self, document: &[Sentence]) -> bool;

    /// The outcomes of `count` releases of a device by this mechanism, from these documents in
    /// turn.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](undertone::error::ErrorKind::Device).
    fn releases(
        &self,
        device: &mut dyn Device,
        documents: &[usize],
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
    fn steps(&self) -> NonZero<u8> {
        self.steps
    }

    fn dimension(&self) -> usize {
        self.pack.dimension()
    }

    /// Public sentences, their words, and texts that no pack recognises.
    fn texts(&self) -> Vec<String> {
        if self.pack.features().is_none() {
            return Vec::new();
        }
        let public = demo::public_sentences();
        let words = public.iter().flat_map(|sentence| sentence.split(' '));
        let unknown = ["", "\u{fffd} \u{301}", "…", "0"];
        let all = public
            .iter()
            .copied()
            .chain(words.step_by(7))
            .chain(unknown);
        all.map(str::to_owned).collect()
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

    fn directions(&self) -> Vec<Vec<f32>> {
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

    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64 {
        self.empty().whole_text_epsilon(epsilon, rule).0 as f64 / 1e6
    }
}

/// The whole-text rule of a pack, as `core` has it.
#[derive(Debug)]
pub struct CoreWholeText<'p> {
    pack: Pack<'p>,
}

impl<'p> CoreWholeText<'p> {
    /// The rule of `pack`, if it has one.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if this library cannot release
    /// from it.
    pub fn new(pack: &Pack<'p>) -> Result<Option<Self>> {
        if pack.scores().is_none() || wants_both(pack) {
            return Ok(None);
        }
        let served = document::empty(pack)?.check_whole_text();
        Ok(served.is_ok().then_some(Self { pack: *pack }))
    }

    /// Number of outcomes: the candidates and "nothing known".
    fn outcomes(&self) -> u32 {
        self.pack.candidate_count() + 1
    }

    fn best(&self, document: &[Sentence]) -> Option<u32> {
        hazmat::best(&device::document(&self.pack, document).ok()?).ok()
    }
}

impl WholeText for CoreWholeText<'_> {
    fn name(&self) -> String {
        "whole text".to_owned()
    }

    fn law(&self, document: &[Sentence], epsilon: Epsilon) -> Option<Vec<f64>> {
        let best = self.best(document)?;
        let weights = Ratio::per_unit(epsilon, 1).weights(Rule::Exponential);
        let weights: Vec<u128> = weights.take(2).collect();
        Some(law(self.outcomes(), [weights[0], weights[1]], |outcome| {
            outcome == best
        }))
    }

    fn is_nothing(&self, document: &[Sentence]) -> bool {
        self.best(document) == Some(self.outcomes() - 1)
    }

    fn releases(
        &self,
        device: &mut dyn Device,
        documents: &[usize],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        device.whole_texts(documents, epsilon, count)
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

/// Projective geometry response of a pack, as `core` has it. Outcomes are points.
#[derive(Debug)]
pub struct CoreProjective<'p> {
    /// The whole-text rule, which has the same best outcomes.
    rule: CoreWholeText<'p>,
}

impl<'p> CoreProjective<'p> {
    /// The most points in an audit, which keeps the weight of each for many texts.
    pub const MOST_POINTS: u32 = 1 << 14;

    /// The mechanism of `pack`, if it has the whole-text rule.
    ///
    /// # Errors
    /// Errors of [`CoreWholeText::new`].
    pub fn new(pack: &Pack<'p>) -> Result<Option<Self>> {
        Ok(CoreWholeText::new(pack)?.map(|rule| Self { rule }))
    }

    /// The geometry of releases.
    pub fn geometry(&self, epsilon: Epsilon) -> Option<Geometry> {
        Geometry::best(self.rule.outcomes(), epsilon)
    }
}

impl WholeText for CoreProjective<'_> {
    fn name(&self) -> String {
        "projective".to_owned()
    }

    fn law(&self, document: &[Sentence], epsilon: Epsilon) -> Option<Vec<f64>> {
        let best = self.rule.best(document)?;
        let geometry = self.geometry(epsilon)?;
        let (first, other) = Geometry::weights(epsilon);
        let weights = [first, other].map(u128::from);
        Some(law(geometry.points(), weights, |point| {
            geometry.contains(best, point)
        }))
    }

    fn is_nothing(&self, document: &[Sentence]) -> bool {
        self.rule.is_nothing(document)
    }

    fn releases(
        &self,
        device: &mut dyn Device,
        documents: &[usize],
        epsilon: Epsilon,
        count: usize,
    ) -> Result<Vec<u32>> {
        device.points(documents, epsilon, count)
    }
}

/// The words of a pack, as `core` exchanges them.
#[derive(Debug)]
pub struct CoreWords<'p> {
    vocabulary: Vocabulary<'p>,
}

impl<'p> CoreWords<'p> {
    /// The words of `pack`, if it has any.
    pub fn new(pack: &Pack<'p>) -> Option<Self> {
        let vocabulary = Vocabulary::new(pack).ok()?;
        Some(Self { vocabulary })
    }

    fn ratio(&self, epsilon: Epsilon) -> Ratio {
        Ratio::per_unit(epsilon, self.vocabulary.unit_exponent())
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
        let weights = self.ratio(epsilon).weights(rule);
        weights.take(words::LEVELS).collect()
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
