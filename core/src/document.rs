//! A private document between its first sentence and its release.

use core::fmt;
use core::num::NonZero;
use core::ops::Range;
use core::slice;

use rand_core::Rng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::depth::{DepthLevels, DepthSection, MAX_SENTENCES, project};
use crate::epsilon::{Epsilon, Micro};
use crate::features::{self, Divisor, Features};
use crate::fixed::{Scale, rescale};
use crate::kernels::{Backend, GROUP, Sums};
use crate::ledger::{Grant, WrongUnit};
use crate::lexicon::Lexicon;
use crate::pack::Pack;
use crate::pack::format::MAX_WIDTH;
use crate::projective::Geometry;
use crate::recode::{Activations, Recoder};
use crate::release::{Release, Selector};
use crate::rng::{Entropy, ReleaseStream};
use crate::rows::{ROW_BYTES, Rows};
use crate::scores::{LEVELS, Said, ScoreLevels, ScoresSection, TOGETHER};
use crate::select::{Levels, Ratio, Rule, SelectError, select_on};
use crate::sentences::sentences;
use crate::unit::Unit;
use crate::whole_text::{OneBest, sentence_loss};

/// A private document: sentences go in, one private [`Release`] comes out, and the document is
/// empty again.
///
/// The pack says how candidates are chosen: by bounded [`scores`](crate::scores) if it has them, else
/// by [`depth`](mod@crate::depth).
///
/// `K` is the largest number of sentences (`1..=255`). `P` sizes the state: 256·`P` bytes, 25 KiB with
/// the defaults. It holds `P` projection directions, whatever the number of candidates, or the scores of
/// `128·P` candidates. The heap is not used. The order of the sentences does not matter and is not kept.
///
/// # Guarantee
/// [`release`](Document::release) with privacy parameter ε is, for any pack,
/// - ε-DP for **replace-one**: two documents with the same number of sentences that differ in one
///   sentence give every release with probabilities within a factor e^ε of each other;
/// - (ε/2)-DP for **add/remove-one**: one sentence more or less, the number of sentences being
///   private, as long as neither document is cut at `K` sentences (if one is: ε).
///
/// There is no δ. Changing j sentences costs j·ε. Several releases of the same sentences add up: each takes a
/// [`Grant`], which a [`ledger`](crate::ledger) gives as long as its budget lasts.
///
/// # Leaks
/// - The fact that there was a release, its time, its pack and its ε.
/// - The guarantee protects the content of a sentence, not a fact that many sentences repeat.
/// - [`release`](Document::release) does the same work whatever the sentences and their number. (Without
///   sentences it sets up its table first.) Its second pass visits one quarter of the candidates:
///   the one with the candidate that the release names.
///   [`push`](Document::push) does the same work whatever the coordinates. The app has to hide how often it
///   is called. What takes text ([`push_sentence`](Document::push_sentence), [`push_text`](Document::push_text),
///   [`push_encoded`](Document::push_encoded)) takes time that depends on the text.
/// - Buffers and keys are wiped. Compilers also copy values to the stack (spilled registers, arguments by
///   value). The C interface wipes those after each of its calls; where Rust calls this crate, they stay for a
///   while.
///
/// The caller makes sure that:
/// - Each sentence is encoded **alone**: no context window over other sentences, no batch whose
///   members influence each other (dynamically quantised models do that), no token budget for the
///   whole document. Then one sentence changes one embedding.
/// - Neighbours are lists of sentences. A changed character that merges or splits sentences is
///   several changes.
/// - The pack, ε and the rule are chosen without looking at the document. The guarantee does not cover
///   releasing again until the result looks good.
/// - Filters look at one sentence at a time.
/// - The entropy source keeps its promise, and nobody else reads the memory of the process.
///
/// # Source
/// Depth: Meehan, Mrini and Chaudhuri 2022 ("DeepCandidate"), with permute-and-flip instead of the
/// exponential mechanism as default, levels instead of half-integer utilities, and projections
/// bucketed to 256 codes. Scores are ours.
pub struct Document<'p, const K: usize = 128, const P: usize = 100> {
    candidates: Candidates<'p>,
    recoder: Option<Recoder<'p>>,
    lexicon: Option<Lexicon<'p>>,
    features: Option<Features<'p>>,
    dimension: usize,
    pack_id: [u8; 8],
    rows: Rows<P>,
    sentences: u8,
    /// All ones if a sentence said something that the pack knows, else 0.
    known: i32,
    backend: Backend,
}

/// What reduces the document to levels.
#[derive(Clone, Copy)]
enum Candidates<'p> {
    Depth(DepthSection<'p>),
    Scores(ScoresSection<'p>),
}

impl<'p> Candidates<'p> {
    /// Those of a pack, for a document that has at most `most` rows.
    // A call: a document is built in place only if little else is done where it is made.
    #[inline(never)]
    fn from_pack(pack: &Pack<'p>, most: usize) -> Result<Self, DocumentError> {
        let candidates = match (pack.scores(), pack.depth()) {
            (Some(section), _) => Self::Scores(section),
            (None, Some(section)) => Self::Depth(section),
            (None, None) => return Err(DocumentError::NoCandidates),
        };
        if candidates.rows(most) > most {
            return Err(match candidates {
                Self::Depth(section) => DocumentError::TooManyDirections {
                    found: section.direction_count(),
                    limit: most,
                },
                Self::Scores(section) => DocumentError::TooManyCandidates {
                    found: section.candidate_count(),
                    limit: section.limit(most),
                },
            });
        }
        Ok(candidates)
    }

    /// The rows of state they use in a document that has at most `most`.
    fn rows(&self, most: usize) -> usize {
        match self {
            Self::Depth(section) => section.direction_count(),
            Self::Scores(section) => section.layout(most).rows(),
        }
    }

    /// The scale of coordinates.
    fn scale(&self) -> Scale {
        match self {
            Self::Depth(section) => section.scale(),
            Self::Scores(section) => section.scale(),
        }
    }
}

impl<'p> Document<'p> {
    /// An empty document for the candidates of `pack`, with the default limits: 128 sentences, and 100 projection
    /// directions or 12,800 candidates with scores.
    ///
    /// # Errors
    /// Those of [`with_limits`](Document::with_limits).
    ///
    /// # Cost
    /// That of [`with_limits`](Document::with_limits).
    #[inline]
    pub fn new(pack: &Pack<'p>) -> Result<Self, DocumentError> {
        Self::with_limits(pack)
    }
}

impl<'p, const K: usize, const P: usize> Document<'p, K, P> {
    /// An empty document for the candidates of `pack`, with limits of its own: `Document::<64, 20>::with_limits(&pack)`.
    ///
    /// # Errors
    /// [`DocumentError::NoCandidates`] if the pack has none; [`DocumentError::TooManyDirections`] or
    /// [`DocumentError::TooManyCandidates`] if the state is too small for it.
    ///
    /// # Cost
    /// Constant time. Optimised and stored where it stays, the document is built in place.
    #[inline]
    pub fn with_limits(pack: &Pack<'p>) -> Result<Self, DocumentError> {
        const { assert!(K >= 1 && K <= MAX_SENTENCES, "K must lie in 1..=255") };
        let candidates = Candidates::from_pack(pack, P)?;
        Ok(Self {
            candidates,
            recoder: pack.recoder(),
            lexicon: pack.lexicon(),
            features: pack.features(),
            dimension: pack.dimension(),
            pack_id: pack.id(),
            // Empty: a whole table would be copied to its place over the stack.
            rows: Rows::new(),
            sentences: 0,
            known: 0,
            backend: Backend::best(),
        })
    }

    /// Adds one sentence by its embedding.
    ///
    /// # Shapes
    /// `embedding`: `[dimension]` f32, any bits; a coordinate that is not finite counts as 0.
    ///
    /// # Errors
    /// [`DocumentError::Dimension`] for another length, [`DocumentError::Full`] for more than `K`
    /// sentences, [`DocumentError::NeedsText`] for a pack with features. The document is unchanged. No error depends on a
    /// coordinate.
    ///
    /// # Cost
    /// Depth: p·dimension multiplications, p·256 byte additions. Scores: m·dimension multiplications,
    /// m·Q comparisons; 2 KiB of stack. What a recoder costs comes on top.
    pub fn push(&mut self, embedding: &[f32]) -> Result<(), DocumentError> {
        if embedding.len() != self.dimension {
            return Err(DocumentError::Dimension {
                expected: self.dimension,
                found: embedding.len(),
            });
        }
        if self.sentence_count() >= K {
            return Err(DocumentError::Full { limit: K });
        }
        self.push_all(embedding).map(|_| ())
    }

    /// Adds several sentences by their embeddings, as far as there is room, and returns how many it added. The
    /// result is that of [`push`](Document::push) for each, but the pack is read once for every four, or every two if they are
    /// scored; on x86-64 for twice as many.
    ///
    /// # Shapes
    /// `embeddings`: `[n][dimension]` f32, any bits; a coordinate that is not finite counts as 0.
    ///
    /// # Errors
    /// [`DocumentError::Dimension`] for a length that is no multiple of the dimension, [`DocumentError::NeedsText`] for a
    /// pack with features. The document is unchanged. No error depends on a coordinate.
    ///
    /// # Cost
    /// As [`push`](Document::push) for each.
    pub fn push_all(&mut self, embeddings: &[f32]) -> Result<usize, DocumentError> {
        // Parsing made sure of 1. The compiler does not know, and would keep a panic.
        let dimension = self.dimension.max(1);
        if !embeddings.len().is_multiple_of(dimension) {
            return Err(DocumentError::Dimension {
                expected: dimension,
                found: embeddings.len(),
            });
        }
        if self.features.is_some() {
            return Err(DocumentError::NeedsText);
        }
        self.fill();
        // K is at most 255, so counts of sentences fit a byte.
        let room = K.saturating_sub(self.sentence_count());
        let added = room.min(embeddings.len() / dimension);
        let embeddings = embeddings.get(..added * dimension).unwrap_or_default();
        match self.candidates {
            Candidates::Depth(section) if self.recoder.is_none() => {
                for group in embeddings.chunks((GROUP * dimension).max(1)) {
                    // Few have smaller buffers.
                    match group.len() / dimension {
                        1 => self.count::<1>(section, group),
                        2..=4 => self.count::<4>(section, group),
                        _ => self.count::<GROUP>(section, group),
                    }
                }
            }
            Candidates::Scores(section) if self.recoder.is_none() => {
                for group in embeddings.chunks((TOGETHER * dimension).max(1)) {
                    // One alone has smaller buffers.
                    if group.len() == dimension {
                        self.add_embedding(group, Divisor::default());
                    } else {
                        self.score(section, group);
                    }
                }
            }
            _ => {
                for embedding in embeddings.chunks(dimension) {
                    self.add_embedding(embedding, Divisor::default());
                }
            }
        }
        self.sentences += added as u8;
        Ok(added)
    }

    // Calls, all: none needs the others' buffers.
    #[inline(never)]
    fn count<const N: usize>(&mut self, section: DepthSection<'p>, group: &[f32]) {
        let mut projections = [[0i64; N]; P];
        let projections = projections.as_flattened_mut();
        project::<N>(self.backend, &section, group, self.dimension, projections);
        let sums = Sums {
            sums: projections,
            room: N,
            sentences: group.len() / self.dimension.max(1),
        };
        section.count(self.backend, &sums, &mut self.rows);
        wipe(projections);
    }

    #[inline(never)]
    fn add_embedding(&mut self, embedding: &[f32], divisor: Divisor) {
        let mut sentence: Activations = [0; MAX_WIDTH as usize];
        let factor = self.scale().factor();
        self.backend.to_fixed(embedding, factor, &mut sentence);
        self.add(&mut sentence, divisor);
        wipe(&mut sentence);
    }

    #[inline(never)]
    fn score(&mut self, section: ScoresSection<'p>, embeddings: &[f32]) {
        let mut sentences: [Activations; TOGETHER] = [[0; MAX_WIDTH as usize]; TOGETHER];
        let mut said = [Said::default(); TOGETHER];
        let count = embeddings.len() / self.dimension.max(1);
        let embeddings = embeddings.chunks_exact(self.dimension.max(1));
        for ((sentence, said), embedding) in sentences.iter_mut().zip(&mut said).zip(embeddings) {
            let factor = section.scale().factor();
            self.backend.to_fixed(embedding, factor, sentence);
            *said = self.said(sentence, Divisor::default());
        }
        let pushed = sentences.get_mut(..count).unwrap_or_default();
        section.add(self.backend, None, &mut self.rows, pushed, &said);
        wipe(sentences.as_flattened_mut());
        said.iter_mut().for_each(Said::wipe);
    }

    /// The scale of the coordinates that [`add`](Document::add) takes.
    fn scale(&self) -> Scale {
        let recoder = self.recoder.as_ref().map(Recoder::scale);
        recoder.unwrap_or_else(|| self.candidates.scale())
    }

    /// Adds one sentence by its coordinates as integers, for packs whose sentences have at most [`MAX_WIDTH`].
    fn add(&mut self, sentence: &mut Activations, divisor: Divisor) {
        let mut said = self.said(sentence, divisor);
        if let Some(recoder) = &self.recoder {
            recoder.apply(sentence);
        }
        match self.candidates {
            Candidates::Depth(section) => self.count_fixed(section, sentence),
            Candidates::Scores(section) => {
                let features = features::read(&self.features);
                let sentence = slice::from_mut(sentence);
                let said = slice::from_ref(&said);
                section.add(self.backend, features, &mut self.rows, sentence, said);
            }
        }
        said.wipe();
    }

    /// What is known of a sentence with these coordinates, before a recoder; and of the document from now on.
    fn said(&mut self, sentence: &Activations, divisor: Divisor) -> Said {
        let bits = sentence
            .iter()
            .fold(0, |bits, coordinate| bits | *coordinate);
        let known = !bits.ct_eq(&0) | divisor.is_known();
        let said = Said {
            divisor,
            known: -i32::from(known.unwrap_u8()),
        };
        self.known |= said.known;
        said
    }

    /// Looks up the features of a sentence: their weights go into the state, where [`add`](Document::add) finds them.
    #[inline(never)]
    fn add_features(&mut self, sentence: &[u8]) -> Divisor {
        let features = features::read(&self.features);
        let (Some(features), Candidates::Scores(section)) = (features, self.candidates) else {
            return Divisor::default();
        };
        let layout = section.layout(P);
        let weights = self.rows.get_mut(layout.sums..layout.sums + layout.weights);
        let weights = weights.unwrap_or_default().as_flattened_mut();
        wipe(weights);
        features.add(self.backend, sentence, weights.as_chunks_mut().0)
    }

    #[inline(never)]
    fn count_fixed(&mut self, section: DepthSection<'p>, sentence: &Activations) {
        let mut projections = [0i64; P];
        section.add_projections(self.backend, 0, &[sentence], &mut projections, 1);
        let sums = Sums {
            sums: &projections,
            room: 1,
            sentences: 1,
        };
        section.count(self.backend, &sums, &mut self.rows);
        wipe(&mut projections);
    }

    /// Adds the rows that are missing, in place.
    // A call, as is `clear`: a release by the sentence takes almost all of the stack that C is promised.
    #[inline(never)]
    fn fill(&mut self) {
        while self.rows.len() < self.candidates.rows(P) && self.rows.push([0; ROW_BYTES]).is_ok() {}
    }

    /// Adds one sentence by its text, through the lexicon and the features in the pack.
    ///
    /// # Shapes
    /// `sentence`: any text, taken as one sentence. A sentence without a known word counts as the
    /// zero vector.
    ///
    /// # Errors
    /// [`DocumentError::NoLexicon`] if the pack has none and wants embeddings, [`DocumentError::Full`] as for
    /// [`push`](Document::push).
    ///
    /// # Cost
    /// That of [`Lexicon::sentence_vector`](crate::lexicon::Lexicon::sentence_vector),
    /// [`each_feature`](crate::features::each_feature) and [`push`](Document::push).
    pub fn push_sentence(&mut self, sentence: &str) -> Result<(), DocumentError> {
        self.push_sentence_lossy(sentence.as_bytes())
    }

    /// [`push_sentence`](Document::push_sentence) for bytes that may not be UTF-8: what is not
    /// separates words. An error would depend on the text.
    ///
    /// # Shapes
    /// `sentence`: any bytes, taken as one sentence.
    ///
    /// # Errors
    /// Those of [`push_sentence`](Document::push_sentence).
    ///
    /// # Cost
    /// That of [`push_sentence`](Document::push_sentence).
    pub fn push_sentence_lossy(&mut self, sentence: &[u8]) -> Result<(), DocumentError> {
        self.takes_text()?;
        if self.sentence_count() >= K {
            return Err(DocumentError::Full { limit: K });
        }
        self.fill();
        let mut divisor = self.add_features(sentence);
        let mut vector: Activations = [0; MAX_WIDTH as usize];
        if let Some(lexicon) = self.lexicon {
            lexicon.mean(self.backend, sentence, &mut vector, |mean| mean);
            // Both are powers of two, so this is what `push` makes of the vector.
            let coordinates = vector.get_mut(..self.dimension).unwrap_or_default();
            let exponent = lexicon.exponent() + self.scale().exponent();
            if exponent != 0 {
                rescale(coordinates, exponent);
            }
        }
        self.add(&mut vector, divisor);
        wipe(&mut vector);
        divisor.wipe();
        self.sentences += 1;
        Ok(())
    }

    /// Adds one sentence by its text and its embedding, for packs that have features beside a neural encoder. Where the
    /// pack has no features, the text is not looked at.
    ///
    /// # Shapes
    /// `sentence`: any bytes, taken as one sentence; `embedding`: as for [`push`](Document::push), that of this sentence.
    ///
    /// # Errors
    /// [`DocumentError::Dimension`] and [`DocumentError::Full`] as for [`push`](Document::push).
    ///
    /// # Cost
    /// That of [`each_feature`](crate::features::each_feature) and [`push`](Document::push).
    pub fn push_encoded(
        &mut self,
        sentence: &[u8],
        embedding: &[f32],
    ) -> Result<(), DocumentError> {
        if self.features.is_none() {
            return self.push(embedding);
        }
        if embedding.len() != self.dimension {
            return Err(DocumentError::Dimension {
                expected: self.dimension,
                found: embedding.len(),
            });
        }
        if self.sentence_count() >= K {
            return Err(DocumentError::Full { limit: K });
        }
        self.fill();
        let mut divisor = self.add_features(sentence);
        self.add_embedding(embedding, divisor);
        divisor.wipe();
        self.sentences += 1;
        Ok(())
    }

    /// Whether the pack reads text.
    fn takes_text(&self) -> Result<(), DocumentError> {
        let features = features::read(&self.features);
        let alone = features.is_some_and(Features::is_alone);
        match self.lexicon.is_some() || alone {
            true => Ok(()),
            false => Err(DocumentError::NoLexicon),
        }
    }

    /// Adds the [`sentences`](sentences()) of a text, as far as there is room, and returns how many it added.
    ///
    /// Neighbours are lists of sentences: see [`sentences`](mod@crate::sentences) for what a sentence is.
    ///
    /// # Shapes
    /// `text`: any bytes.
    ///
    /// # Errors
    /// [`DocumentError::NoLexicon`] if the pack has none. No error depends on the text.
    ///
    /// # Cost
    /// Linear in the text, and [`push_sentence`](Document::push_sentence) for each sentence.
    pub fn push_text(&mut self, text: &[u8]) -> Result<usize, DocumentError> {
        let before = self.sentence_count();
        self.takes_text()?;
        // A text without a sentence is released by the same steps.
        self.fill();
        for sentence in sentences(text) {
            match self.push_sentence_lossy(sentence) {
                Ok(()) => {}
                Err(DocumentError::Full { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.sentence_count().saturating_sub(before))
    }

    /// The number of coordinates in an embedding.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of sentences so far. It is private: it must not leave the device.
    pub fn sentence_count(&self) -> usize {
        usize::from(self.sentences)
    }

    pub(crate) fn set_backend(&mut self, backend: Backend) {
        self.backend = backend;
    }

    pub(crate) fn levels(&self) -> DocumentLevels<'_, K, P> {
        match self.candidates {
            Candidates::Depth(section) => DocumentLevels::Depth(DepthLevels {
                backend: self.backend,
                section,
                rows: &self.rows,
                sentences: self.sentences,
            }),
            Candidates::Scores(section) => DocumentLevels::Scores(ScoreLevels {
                section,
                rows: &self.rows,
            }),
        }
    }

    /// The ratio between the weights of neighbouring levels in a release with this ε. Public: it depends
    /// on the pack.
    pub fn ratio(&self, epsilon: Epsilon) -> Ratio {
        match self.candidates {
            Candidates::Depth(_) => Ratio::per_step(epsilon, NonZero::<u8>::MIN),
            Candidates::Scores(section) => section.ratio(epsilon),
        }
    }

    /// Forgets all sentences; their traces in the state are wiped.
    #[inline(never)]
    pub fn clear(&mut self) {
        for row in &mut self.rows {
            wipe(row);
        }
        self.sentences.zeroize();
        self.known.zeroize();
    }

    /// The best candidate for the whole text, or the number of candidates for "nothing known".
    pub(crate) fn best(&self) -> Result<OneBest, DocumentError> {
        let section = self.whole_text_scores()?;
        let nothing = section.candidate_count();
        let best = section.best(&self.rows);
        Ok(OneBest {
            best: u32::conditional_select(&nothing, &best, !self.known.ct_eq(&0)),
            outcomes: nothing + 1,
        })
    }

    /// The scores of a pack whose values for the whole text have room here.
    fn whole_text_scores(&self) -> Result<ScoresSection<'p>, DocumentError> {
        let Candidates::Scores(section) = self.candidates else {
            return Err(DocumentError::NoScores);
        };
        if section.candidate_count() as usize > section.whole_text_limit(P) {
            return Err(DocumentError::TooManyCandidates {
                found: section.candidate_count(),
                limit: section.whole_text_limit(P),
            });
        }
        Ok(section)
    }

    /// Refuses what [`release_whole_text`](Document::release_whole_text) and
    /// [`release_projective`](Document::release_projective) would refuse for its pack, so that nobody spends a budget on it. Public: it depends on the pack.
    ///
    /// # Errors
    /// [`DocumentError::NoScores`] and [`DocumentError::TooManyCandidates`].
    pub fn check_whole_text(&self) -> Result<(), DocumentError> {
        self.whole_text_scores().map(|_| ())
    }

    /// What a [`release`](Document::release) promises where the whole text is exchanged for any other. Public: it depends
    /// on the pack. See [`whole_text`](crate::whole_text).
    pub fn sentence_loss(&self, epsilon: Epsilon, rule: Rule) -> Micro {
        match self.candidates {
            Candidates::Depth(section) => {
                let ratio = self.ratio(epsilon);
                sentence_loss(rule, ratio, K / 2 + 1, section.candidate_count())
            }
            Candidates::Scores(section) => section.sentence_loss(epsilon, rule, K),
        }
    }

    /// Draws by the whole-text rule; the sentences stay.
    pub(crate) fn draw_whole_text<R: Rng + ?Sized>(
        &self,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<u32, DocumentError> {
        let levels = self.best()?;
        let ratio = OneBest::ratio(epsilon);
        select_on::<{ OneBest::BOUND }, R>(self.backend, &levels, OneBest::RULE, ratio, rng)
            .map_err(DocumentError::Selection)
    }

    /// Draws a release by the whole-text rule and forgets all sentences.
    ///
    /// Which rule to use must not depend on the text, nor on its length.
    ///
    /// # Guarantee
    /// ε-DP for the **whole text**: any two documents whatever, of any number of sentences, give every release with
    /// probabilities within a factor e^ε of each other. There is no δ. See [`whole_text`](crate::whole_text) for the proof.
    /// The candidate is [`Pack::candidate_count`] for "nothing known".
    ///
    /// # Leaks
    /// Those of [`Document`]; the work is the same whatever the sentences, and whether anything is known.
    ///
    /// # Errors
    /// [`DocumentError::NoScores`] for a pack that selects by depth; [`DocumentError::TooManyCandidates`] if the state has
    /// no room for their values; [`DocumentError::Unit`] for a grant that is not for whole texts;
    /// [`DocumentError::Entropy`] and [`DocumentError::Selection`] as for [`release`](Document::release). The sentences are
    /// still there, the grant is spent.
    ///
    /// # Cost
    /// Two passes over the candidates; 32 bytes of entropy.
    ///
    /// # Source
    /// Randomised response: Warner 1965; Kairouz, Bonawitz and Ramage 2016.
    pub fn release_whole_text<E: Entropy + ?Sized>(
        &mut self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(DocumentError::Unit)?;
        self.released(epsilon, entropy, |own, epsilon, stream| {
            let candidate = own.draw_whole_text(epsilon, stream)?;
            Ok((Selector::WholeText, OneBest::RULE, 0, candidate))
        })
    }

    /// Draws a point by projective geometry response; the sentences stay.
    pub(crate) fn draw_projective<R: Rng + ?Sized>(
        &self,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<(Geometry, u32), DocumentError> {
        let best = self.best()?;
        let found = best.outcomes;
        let geometry = Geometry::best(found, epsilon)
            .ok_or(DocumentError::Selection(SelectError::Candidates { found }))?;
        Ok((geometry, geometry.draw(best.best, epsilon, rng)))
    }

    /// Draws a release by projective geometry response and forgets all sentences: what
    /// [`release_whole_text`](Document::release_whole_text) promises, with less error where the candidates are many. One
    /// release names no candidate, but a point that many candidates prefer, so this is for counting many releases.
    ///
    /// Which rule to use must not depend on the text, nor on its length.
    ///
    /// # Guarantee
    /// ε-DP for the **whole text**: any two documents whatever, of any number of sentences, give every release with
    /// probabilities within a factor e^ε of each other. There is no δ. See [`projective`](crate::projective) for the proof.
    ///
    /// # Leaks
    /// Those of [`Document`]; the work is the same whatever the sentences, and whether anything is known.
    ///
    /// # Errors
    /// Those of [`release_whole_text`](Document::release_whole_text).
    ///
    /// # Cost
    /// One pass over the candidates, that of [`Geometry::best`], and about 5·t products of coordinates; 32 bytes of entropy.
    ///
    /// # Source
    /// Feldman, Nelson, Nguyen and Talwar 2022; Park, Nam and Lee 2023.
    pub fn release_projective<E: Entropy + ?Sized>(
        &mut self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(DocumentError::Unit)?;
        self.released(epsilon, entropy, |own, epsilon, stream| {
            let (geometry, point) = own.draw_projective(epsilon, stream)?;
            Ok((Selector::Projective, OneBest::RULE, geometry.order(), point))
        })
    }

    /// Draws the release and forgets all sentences.
    ///
    /// The guarantee, what it assumes and what it leaks are those of [`Document`]. A document
    /// without sentences releases a uniformly random candidate.
    ///
    /// # Errors
    /// [`DocumentError::Unit`] for a grant that is not for sentences, [`DocumentError::Entropy`] if the source failed or gave
    /// nothing but zeroes: nothing was drawn, the sentences are still there, the grant is spent. [`DocumentError::Selection`] cannot occur with a
    /// parsed pack.
    ///
    /// # Cost
    /// One pass over the m·p codes of the candidates, or their m sums, and one over a quarter of them; 32 bytes of entropy;
    /// [`Rule::random_word_count`]`(m)` words of ChaCha12.
    pub fn release<E: Entropy + ?Sized>(
        &mut self,
        grant: Grant,
        rule: Rule,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::Sentence).map_err(DocumentError::Unit)?;
        self.released(epsilon, entropy, |own, epsilon, stream| {
            let selector = match own.candidates {
                Candidates::Depth(_) => Selector::Depth,
                Candidates::Scores(_) => Selector::Scores,
            };
            let ratio = own.ratio(epsilon);
            let candidate = select_on::<LEVELS, _>(own.backend, &own.levels(), rule, ratio, stream)
                .map_err(DocumentError::Selection)?;
            Ok((selector, rule, 0, candidate))
        })
    }

    /// What every release does: `draw` says mechanism, rule, order and number. If it fails, the sentences stay.
    fn released<E: Entropy + ?Sized>(
        &mut self,
        epsilon: Epsilon,
        entropy: &mut E,
        draw: impl FnOnce(
            &Self,
            Epsilon,
            &mut ReleaseStream,
        ) -> Result<(Selector, Rule, u16, u32), DocumentError>,
    ) -> Result<Release, DocumentError> {
        let mut stream =
            ReleaseStream::open(self.backend, entropy).map_err(|_| DocumentError::Entropy)?;
        // A document without sentences has no rows yet.
        self.fill();
        let (selector, rule, order, candidate) = draw(self, epsilon, &mut stream)?;
        self.clear();
        Ok(Release {
            selector,
            rule,
            order,
            epsilon,
            candidate,
            pack_id: self.pack_id,
        })
    }
}

/// The levels of all candidates, by either selector.
pub(crate) enum DocumentLevels<'a, const K: usize, const P: usize> {
    Depth(DepthLevels<'a, K, P>),
    Scores(ScoreLevels<'a, P>),
}

impl<const K: usize, const P: usize> Levels for DocumentLevels<'_, K, P> {
    fn bound(&self) -> usize {
        match self {
            Self::Depth(levels) => levels.bound(),
            Self::Scores(levels) => levels.bound(),
        }
    }

    fn candidate_count(&self) -> usize {
        match self {
            Self::Depth(levels) => levels.candidate_count(),
            Self::Scores(levels) => levels.candidate_count(),
        }
    }

    fn for_each_block_of(&self, range: Range<usize>, visit: impl FnMut(&[u8])) {
        match self {
            Self::Depth(levels) => levels.for_each_block_of(range, visit),
            Self::Scores(levels) => levels.for_each_block_of(range, visit),
        }
    }
}

/// The sentences are wiped.
impl<const K: usize, const P: usize> Drop for Document<'_, K, P> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Says nothing about the sentences.
impl<const K: usize, const P: usize> fmt::Debug for Document<'_, K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("dimension", &self.dimension)
            .finish_non_exhaustive()
    }
}

/// Why a document refused. Depends on sizes, the pack and the entropy source, never on the content
/// of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentError {
    /// The pack has no candidates.
    NoCandidates,
    /// The pack has no lexicon.
    NoLexicon,
    /// The pack has more projection directions than this document type holds.
    TooManyDirections {
        /// Directions in the pack.
        found: usize,
        /// The limit `P`.
        limit: usize,
    },
    /// The pack has more candidates for scores than this document type holds.
    TooManyCandidates {
        /// Candidates in the pack.
        found: u32,
        /// The limit: `128 · P`; about a third of that for the whole-text rule, a fifth with features.
        limit: usize,
    },
    /// The pack has features, and an embedding alone does not tell them.
    NeedsText,
    /// The pack selects by depth, and the whole-text rule needs scores.
    NoScores,
    /// An embedding of the wrong length.
    Dimension {
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// The document holds as many sentences as it can.
    Full {
        /// The limit `K`.
        limit: usize,
    },
    /// A grant for another unit.
    Unit(WrongUnit),
    /// The entropy source failed or returned nothing but zeroes.
    Entropy,
    /// The candidates cannot be selected from.
    Selection(SelectError),
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCandidates => {
                f.write_str("the pack has no candidates; build it with `undertone pack`")
            }
            Self::NoLexicon => f.write_str(
                "the pack has no lexicon; push embeddings, or build the pack with a lexicon as encoder",
            ),
            Self::TooManyDirections { found, limit } => {
                write!(f, "the pack has {found} projection directions, this document holds {limit}")
            }
            Self::TooManyCandidates { found, limit } => {
                write!(f, "the pack scores {found} candidates, this document holds {limit}")
            }
            Self::NeedsText => f.write_str(
                "the pack has features of texts; push the text of a sentence, too",
            ),
            Self::NoScores => f.write_str(
                "the pack selects by depth; the whole-text rule needs a pack with scores",
            ),
            Self::Dimension { expected, found } => {
                write!(f, "an embedding of {found} coordinates, but the pack was built for {expected}")
            }
            Self::Full { limit } => {
                write!(f, "the document already has {limit} sentences, its limit; release it or leave the rest out")
            }
            Self::Unit(error) => write!(f, "not the right grant: {error}"),
            Self::Entropy => f.write_str("the entropy source failed; nothing was released, try again with a new grant"),
            Self::Selection(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DocumentError {}
