//! The internals of a mechanism that an audit examines.
//!
//! The implementations here read `core` and compute nothing themselves. Mechanisms are traits so
//! that tests can plant wrong ones, which must fail.

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

/// A selection by levels, common to all mechanisms that name a public candidate.
pub trait Engine: Sync {
    /// Name in reports.
    fn name(&self) -> String;

    /// The number of candidates.
    fn candidates(&self) -> usize;

    /// Exclusive upper bound of the levels.
    fn bound(&self) -> usize;

    /// The most unit steps by which one changed sentence, or one unit of distance, moves a level.
    fn steps(&self) -> NonZero<u8>;

    /// Those steps may cost ε·2^`exponent`.
    fn exponent(&self) -> i32;

    /// The weights of the relative levels 0, 1, ..., at most [`bound`](Self::bound) of them.
    fn table(&self, epsilon: Epsilon, rule: Rule) -> Vec<u128>;

    /// Draws one of a few candidates with these levels, which are below [`bound`](Self::bound).
    fn draw(&self, levels: &[u8], epsilon: Epsilon, rule: Rule, rng: &mut dyn Rng) -> u32;
}

/// A mechanism that selects by the levels of a document.
pub trait Sentences: Engine {
    /// The number of coordinates of a sentence.
    fn dimension(&self) -> usize;

    /// The levels of all candidates for the document of these sentences, `[k][dimension]`
    /// row-major.
    fn levels(&self, sentences: &[f32]) -> Vec<u8>;

    /// Sentences that move levels far: multiples of the directions in the pack.
    fn directions(&self) -> Vec<Vec<f32>>;

    /// The levels of all candidates for a document by each way to push its sentences, with the name
    /// of the way.
    fn ways(&self, document: &Document) -> Vec<(&'static str, Vec<u8>)>;

    /// Example sentences for a mechanism that accepts texts; some phrases of the pack span two
    /// sentences.
    fn typed(&self) -> Vec<String>;

    /// The loss that a release promises if the whole text is exchanged for any other.
    fn whole_text_loss(&self, epsilon: Epsilon, rule: Rule) -> f64;

    /// Converts these sentences to a document for a device.
    fn document(&self, sentences: &[Vec<f32>]) -> Document {
        Document::Embeddings(sentences.to_vec())
    }
}

/// A mechanism that releases the best outcome of a whole text, or by chance another one.
pub trait WholeText: Sync {
    /// Name in reports.
    fn name(&self) -> String;

    /// The weights of all outcomes for a document: at most 2⁴⁸ each, and at most 2⁶⁴ in total.
    /// `None` if the document gets no release.
    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>>;

    /// Whether the pack recognises nothing in a document with these weights.
    fn is_nothing(&self, document: &Document, weights: &[u128]) -> bool;

    /// Whether outcomes of equal weight are drawn in the order of their numbers, not in any order.
    fn is_ordered(&self) -> bool;

    /// Draws an outcome for a document. `None` if it gets no release.
    fn draw(&self, document: &Document, epsilon: Epsilon, rng: &mut dyn Rng) -> Option<u32>;

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
    /// The texts that coordinates count, if sentences are texts because the pack has features;
    /// otherwise empty.
    texts: Vec<String>,
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
            texts: texts(pack),
        }))
    }

    /// The text that a coordinate counts.
    fn text(&self, coordinate: f32) -> &str {
        // Maps any coordinate to an index; NaN becomes 0.
        let number = coordinate as usize % self.texts.len().max(1);
        self.texts.get(number).map_or("", String::as_str)
    }

    /// Number of texts; 0 if sentences are embeddings.
    pub(crate) fn text_count(&self) -> usize {
        self.texts.len()
    }

    fn empty(&self) -> HostDocument<'p> {
        document::empty(&self.pack).expect("one was made before")
    }

    /// The levels after `push`. A full document is not an error: the remaining sentences are left
    /// out.
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

/// Panics if a sentence was refused although the document is not full.
fn refused_if_full(pushed: Result<(), DocumentError>, document: &HostDocument<'_>) {
    let full = document.sentence_count() == document::MAX_SENTENCES;
    match pushed {
        Ok(()) => {}
        Err(DocumentError::Full { .. }) if full => {}
        Err(error) => panic!("a sentence that the pack takes: {error}"),
    }
}

/// A text that consists of exactly these sentences, if one exists.
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

/// Maximum of each kind of typed text: words, phrases and public sentences.
const TYPED: usize = 32;

/// Whether each sentence of this pack is both an embedding and a text.
pub(crate) fn wants_both(pack: &Pack<'_>) -> bool {
    let features = pack.features();
    features.is_some_and(|features| !features.is_alone()) && pack.lexicon().is_none()
}

/// Texts to try on a pack with features: public sentences, their words, and texts that no pack
/// recognises.
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
        if self.texts.is_empty() {
            self.pack.dimension()
        } else {
            1
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
        // A recoder moves sentences to another space, and texts have no embeddings.
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

    fn weights(&self, document: &Document, epsilon: Epsilon) -> Option<Vec<u128>> {
        let best = self.rule.best(document)?;
        let geometry = self.geometry(epsilon)?;
        let (first, other) = Geometry::weights(epsilon);
        let weight = |point| {
            if geometry.contains(best, point) {
                first.into()
            } else {
                other.into()
            }
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
