//! What an audit sees from inside a mechanism.
//!
//! The implementations here look into `core` and compute nothing of their own. That an audit knows mechanisms by
//! traits is for those who audit the auditor: a wrong mechanism has to fail.

use std::num::NonZero;

use undertone_core::document::DocumentError;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::projective::Geometry;
use undertone_core::rng::rand_core::Rng;
use undertone_core::select::{Levels, MAX_LEVELS, Ratio, Rule, SliceLevels};
use undertone_core::sentences::sentences;
use undertone_core::words::{self, Bag, Vocabulary, WordMechanism};

use crate::sampled::device::{Device, Document};
use undertone::demo;
use undertone::error::Result;
use undertone::release::document::{self, HostDocument};

/// A selection by levels: what all mechanisms that name a public thing have in common.
pub trait Engine: Sync {
    /// What it is called in reports.
    fn name(&self) -> String;

    /// The number of candidates.
    fn candidates(&self) -> usize;

    /// All levels are below this.
    fn bound(&self) -> usize;

    /// Unit steps that one changed sentence, or one unit of distance, moves levels by at most.
    fn steps(&self) -> NonZero<u8>;

    /// Those steps may cost ε·2^(this).
    fn exponent(&self) -> i32;

    /// The weights of the relative levels 0, 1, ..., up to [`bound`](Self::bound) of them.
    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128>;

    /// Draws one of a few candidates with these levels, which are below [`bound`](Self::bound).
    fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32;
}

/// A mechanism that selects by the levels of a document.
pub trait Sentences: Engine {
    /// The number of coordinates of a sentence.
    fn dimension(&self) -> usize;

    /// The levels of all candidates for the document of these sentences, `[k][dimension]` row-major.
    fn levels(&self, sentences: &[f32]) -> Vec<u8>;

    /// Sentences that move levels far: multiples of the directions that the pack looks at.
    fn directions(&self) -> Vec<Vec<f32>>;

    /// The levels of all candidates for a document by every way to push its sentences, each with its name.
    fn ways(&self, document: &Document) -> Vec<(&'static str, Vec<u8>)>;

    /// Sentences to type, where the mechanism takes texts: a phrase of the pack is split between some and the next.
    fn typed(&self) -> Vec<String>;

    /// What a release promises for the whole text: e^(this), where it is exchanged for any other.
    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64;

    /// These sentences as a device is given them.
    fn document(&self, sentences: &[Vec<f32>]) -> Document {
        Document::Embeddings(sentences.to_vec())
    }
}

/// A mechanism that releases what a whole text says most, or by chance something else.
pub trait WholeText: Sync {
    /// What it is called in reports.
    fn name(&self) -> String;

    /// The weights of all outcomes for a document: at most 2⁴⁸ each, and at most 2⁶⁴ together. `None` if the document gets
    /// no release.
    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>>;

    /// Whether nothing is known of a document that has these weights.
    fn is_nothing(&self, document: &Document, weights: &[u128]) -> bool;

    /// Whether outcomes of the same weight are drawn in the order of their numbers; otherwise in any order.
    fn is_ordered(&self) -> bool;

    /// Draws an outcome for a document. `None` if it gets none.
    fn draw(&self, document: &Document, epsilon: Epsilon, rng: &mut dyn Rng) -> Option<u32>;

    /// What `count` releases of a device by this mechanism name, of these documents by turns.
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
    /// The word that replaces all words that the vocabulary does not have.
    fn fallback(&self) -> u32;

    /// The word with this number.
    fn word(&self, word: u32) -> String;

    /// The distance of two words.
    fn distance(&self, a: u32, b: u32) -> f64;

    /// q: the distance of neighbouring levels.
    fn unit(&self) -> f64;

    /// The levels of all words for a private word.
    fn levels(&self, word: u32) -> Vec<u8>;

    /// `size` words of a bag with these texts as its words, up to 8 of both.
    fn bag(
        &self,
        texts: &[&str],
        size: usize,
        epsilon: Epsilon,
        rule: Rule,
        rng: &mut dyn Rng,
    ) -> Vec<u32>;
}

/// The sentence mechanism of a pack, as `core` has it.
#[derive(Debug)]
pub struct CoreSentences<'p> {
    pack: Pack<'p>,
    bound: usize,
    steps: NonZero<u8>,
    /// Where sentences are texts, because the pack has features: those that a coordinate counts. Empty otherwise.
    texts: Vec<String>,
}

impl<'p> CoreSentences<'p> {
    /// The mechanism of `pack`, if it has candidates, and sentences that are embeddings or texts: `None`, too, for a pack
    /// that wants both at once.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if this library cannot release from it.
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
            texts: texts(pack),
        }))
    }

    /// The text that a coordinate counts.
    fn text(&self, coordinate: f32) -> &str {
        // Any coordinate: of those that are no number, 0.
        let number = coordinate as usize % self.texts.len().max(1);
        self.texts.get(number).map_or("", String::as_str)
    }

    /// How many texts there are; 0 where sentences are embeddings.
    pub(crate) fn text_count(&self) -> usize {
        self.texts.len()
    }

    fn empty(&self) -> HostDocument<'p> {
        document::empty(&self.pack).expect("one was made before")
    }

    /// The levels after what `push` does. That a document is full is no error here: the rest is left out.
    fn levels_after(&self, push: impl FnOnce(&mut HostDocument<'p>)) -> Vec<u8> {
        let mut document = self.empty();
        push(&mut document);
        levels(&document)
    }

    fn ways_of_embeddings(&self, rows: &[Vec<f32>]) -> Vec<(&'static str, Vec<u8>)> {
        let all = rows.concat();
        let together = |document: &mut HostDocument<'p>, rows: &[f32]| {
            document
                .push_all(rows)
                .expect("the rows have the pack's dimension");
        };
        let each = |document: &mut HostDocument<'p>| {
            for row in rows {
                refused_if_full(document.push(row), document);
            }
        };
        let mut ways = vec![
            ("push_all", self.levels_after(|d| together(d, &all))),
            ("push", self.levels_after(each)),
            (
                "push_all, three at a time",
                self.levels_after(|d| {
                    for rows in all.chunks(3 * self.pack.dimension()) {
                        together(d, rows);
                    }
                }),
            ),
            (
                "push_encoded",
                self.levels_after(|d| {
                    for row in rows {
                        refused_if_full(d.push_encoded(b"", row), d);
                    }
                }),
            ),
            (
                "push after a clear",
                self.levels_after(|d| {
                    together(d, &all);
                    d.clear();
                    each(d);
                }),
            ),
        ];
        if rows.len() <= document::MAX_SENTENCES {
            let backwards: Vec<f32> = rows.iter().rev().flatten().copied().collect();
            let backwards = self.levels_after(|d| together(d, &backwards));
            ways.push(("push_all, backwards", backwards));
        }
        ways
    }

    fn ways_of_texts(&self, texts: &[String]) -> Vec<(&'static str, Vec<u8>)> {
        let each = |document: &mut HostDocument<'p>| {
            for text in texts {
                refused_if_full(document.push_sentence(text), document);
            }
        };
        let mut ways = vec![
            ("push_sentence", self.levels_after(each)),
            (
                "push_sentence after a clear",
                self.levels_after(|d| {
                    each(d);
                    d.clear();
                    each(d);
                }),
            ),
        ];
        if texts.len() <= document::MAX_SENTENCES {
            let backwards = |document: &mut HostDocument<'p>| {
                for text in texts.iter().rev() {
                    refused_if_full(document.push_sentence(text), document);
                }
            };
            ways.push(("push_sentence, backwards", self.levels_after(backwards)));
        }
        if let Some(whole) = whole(texts) {
            let whole = self.levels_after(|document| {
                document
                    .push_text(whole.as_bytes())
                    .expect("a pack for texts");
            });
            ways.push(("push_text", whole));
        }
        if let (Some(lexicon), None) = (self.pack.lexicon(), self.pack.features()) {
            let vectors = self.levels_after(|document| {
                for text in texts {
                    let mut vector = vec![0.0; lexicon.dimension()];
                    let written = lexicon.sentence_vector(text, &mut vector);
                    written.expect("the lexicon's dimension");
                    refused_if_full(document.push(&vector), document);
                }
            });
            ways.push(("push of their vectors", vectors));
        }
        ways
    }
}

/// Nothing but a full document may refuse a sentence.
fn refused_if_full(pushed: Result<(), DocumentError>, document: &HostDocument<'_>) {
    let full = document.sentence_count() == document::MAX_SENTENCES;
    match pushed {
        Ok(()) => {}
        Err(DocumentError::Full { .. }) if full => {}
        Err(error) => panic!("a sentence that the pack takes: {error}"),
    }
}

/// A text that has these sentences, if there is one.
pub(crate) fn whole(texts: &[String]) -> Option<String> {
    let text = texts.join("\n");
    let found = sentences(text.as_bytes());
    found
        .eq(texts.iter().map(|text| text.as_bytes()))
        .then_some(text)
}

fn levels(document: &HostDocument<'_>) -> Vec<u8> {
    let mut levels = Vec::new();
    hazmat::levels(document, |block| levels.extend_from_slice(block));
    levels
}

/// Words, phrases and public sentences that are typed, at most, of each.
const TYPED: usize = 32;

/// Whether sentences of this pack are embeddings together with texts.
pub(crate) fn wants_both(pack: &Pack<'_>) -> bool {
    let features = pack.features();
    features.is_some_and(|features| !features.is_alone()) && pack.lexicon().is_none()
}

/// Texts to try where a pack has features: public sentences, their words, and what no pack knows.
fn texts(pack: &Pack<'_>) -> Vec<String> {
    if pack.features().is_none() {
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

    fn bound(&self) -> usize {
        self.bound
    }

    fn steps(&self) -> NonZero<u8> {
        self.steps
    }

    fn exponent(&self) -> i32 {
        0
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let ratio = self.empty().ratio(epsilon);
        ratio.weights(rule).take(self.bound).collect()
    }

    fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32 {
        draw(levels, self.bound, self.empty().ratio(epsilon), rule, rng)
    }
}

impl Sentences for CoreSentences<'_> {
    fn dimension(&self) -> usize {
        match self.texts.is_empty() {
            true => self.pack.dimension(),
            false => 1,
        }
    }

    fn levels(&self, sentences: &[f32]) -> Vec<u8> {
        let mut document = self.empty();
        if self.texts.is_empty() {
            document
                .push_all(sentences)
                .expect("the rows have the pack's dimension");
        } else {
            for coordinate in sentences.iter().take(document::MAX_SENTENCES) {
                let text = self.text(*coordinate);
                document.push_sentence(text).expect("a pack for texts");
            }
        }
        levels(&document)
    }

    fn ways(&self, document: &Document) -> Vec<(&'static str, Vec<u8>)> {
        match document {
            Document::Embeddings(rows) => self.ways_of_embeddings(rows),
            Document::Texts(texts) => self.ways_of_texts(texts),
        }
    }

    fn typed(&self) -> Vec<String> {
        let Some(lexicon) = self.pack.lexicon() else {
            return self.texts.clone();
        };
        let word = |index| lexicon.word(index).unwrap_or_default().to_owned();
        let some = |count: usize| (0..count).step_by(count.div_ceil(TYPED).max(1));
        let phrases = some(lexicon.phrase_count()).filter_map(|index| lexicon.phrase(index));
        let words = phrases.flatten().chain(some(lexicon.word_count()));
        let public = demo::public_sentences().into_iter().take(TYPED);
        words.map(word).chain(public.map(str::to_owned)).collect()
    }

    fn directions(&self) -> Vec<Vec<f32>> {
        // Behind a recoder they are in another space, and texts have none.
        if self.pack.recoder().is_some() || !self.texts.is_empty() {
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

    fn document(&self, sentences: &[Vec<f32>]) -> Document {
        if self.texts.is_empty() {
            return Document::Embeddings(sentences.to_vec());
        }
        let coordinates = sentences.iter().flatten();
        Document::Texts(coordinates.map(|x| self.text(*x).to_owned()).collect())
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
    /// [`ErrorKind::Release`](undertone::error::ErrorKind::Release) if this library cannot release from it.
    pub fn new(pack: &Pack<'p>) -> Result<Option<Self>> {
        if pack.scores().is_none() || wants_both(pack) {
            return Ok(None);
        }
        let served = document::empty(pack)?.check_whole_text();
        Ok(served.is_ok().then_some(Self { pack: *pack }))
    }

    /// The outcomes: candidates, and nothing known.
    fn outcomes(&self) -> u32 {
        self.pack.candidate_count() + 1
    }

    /// The best outcome for a document.
    fn best(&self, document: &Document) -> Option<u32> {
        hazmat::best(&document.inside(&self.pack).ok()?).ok()
    }
}

impl WholeText for CoreWholeText<'_> {
    fn name(&self) -> String {
        "whole text".to_owned()
    }

    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>> {
        let best = self.best(document)?;
        let mut weights = Ratio::per_unit(epsilon, 1).weights(Rule::Exponential);
        let (first, second) = (weights.next()?, weights.next()?);
        let weight = |outcome| if outcome == best { first } else { second };
        Some((0..self.outcomes()).map(weight).collect())
    }

    fn is_nothing(&self, _: &Document, weights: &[u128]) -> bool {
        weights.last() == weights.iter().max()
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn draw(&self, document: &Document, epsilon: Epsilon, rng: &mut dyn Rng) -> Option<u32> {
        let document = document.inside(&self.pack).ok()?;
        hazmat::draw_whole_text(&document, epsilon, rng).ok()
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

/// Projective geometry response of a pack, as `core` has it: outcomes are points.
#[derive(Debug)]
pub struct CoreProjective<'p> {
    /// What has the same best outcomes.
    rule: CoreWholeText<'p>,
}

impl<'p> CoreProjective<'p> {
    /// The most points that an audit looks at: it keeps a weight of each, for many texts.
    pub const MOST_POINTS: u32 = 1 << 14;

    /// That of `pack`, if it has the whole-text rule.
    ///
    /// # Errors
    /// Those of [`CoreWholeText::new`].
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

    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>> {
        let best = self.rule.best(document)?;
        let geometry = self.geometry(epsilon)?;
        let (first, other) = Geometry::weights(epsilon);
        let weight = |point| match geometry.contains(best, point) {
            true => first.into(),
            false => other.into(),
        };
        Some((0..geometry.points()).map(weight).collect())
    }

    fn is_nothing(&self, document: &Document, _: &[u128]) -> bool {
        self.rule.best(document) == Some(self.rule.outcomes() - 1)
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn draw(&self, document: &Document, epsilon: Epsilon, rng: &mut dyn Rng) -> Option<u32> {
        let document = document.inside(&self.rule.pack).ok()?;
        let drawn = hazmat::draw_projective(&document, epsilon, rng);
        drawn.ok().map(|(_, point)| point)
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

    fn bound(&self) -> usize {
        words::LEVELS
    }

    fn steps(&self) -> NonZero<u8> {
        NonZero::<u8>::MIN
    }

    fn exponent(&self) -> i32 {
        self.vocabulary.unit_exponent()
    }

    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128> {
        let weights = self.ratio(epsilon).weights(rule);
        weights.take(words::LEVELS).collect()
    }

    fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32 {
        draw(levels, words::LEVELS, self.ratio(epsilon), rule, rng)
    }
}

impl Words for CoreWords<'_> {
    fn fallback(&self) -> u32 {
        self.vocabulary.fallback()
    }

    fn word(&self, word: u32) -> String {
        let word = self.vocabulary.lexicon().word(word as usize);
        word.unwrap_or_default().to_owned()
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

    fn bag(
        &self,
        texts: &[&str],
        size: usize,
        epsilon: Epsilon,
        rule: Rule,
        rng: &mut dyn Rng,
    ) -> Vec<u32> {
        let mut bag: Bag<'_, 8> = Bag::with_limit(&self.vocabulary);
        texts.iter().for_each(|text| bag.push(text));
        let mut out = vec![0; size];
        hazmat::draw_bag(&bag, WordMechanism::Selection(rule), epsilon, rng, &mut out)
            .expect("a bag of a few words can be selected for");
        out
    }
}

/// The engine of `core`.
fn draw(levels: &[u8], bound: usize, ratio: Ratio, rule: Rule, rng: &mut dyn Rng) -> u32 {
    let levels = SliceLevels { levels, bound };
    hazmat::select::<MAX_LEVELS, _>(&levels, rule, ratio, rng)
        .expect("there are candidates and levels")
}
