//! Releases of a document: the checks of the grant, a fresh key, and the draw by each mechanism.

use core::num::NonZero;
use core::ops::Range;

use rand_core::Rng;
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::{Candidates, Document, DocumentError};
use crate::depth::DepthLevels;
use crate::epsilon::{Epsilon, Micro};
use crate::ledger::Grant;
use crate::projective::Geometry;
use crate::release::{DrawnBy, Release};
use crate::rng::{Entropy, ReleaseStream};
use crate::scores::{LEVELS, ScoreLevels, ScoresSection};
use crate::select::{Levels, Ratio, Rule, select_on};
use crate::unit::Unit;
use crate::whole_text::{OneBest, whole_text_epsilon};

impl<'p, const K: usize, const P: usize> Document<'p, K, P> {
    /// Draws a sentence release, which names a candidate, and forgets all sentences.
    ///
    /// [`Document`] states the guarantee, its premises and its leaks. A document without sentences
    /// releases a uniformly random candidate.
    ///
    /// # Errors
    /// [`DocumentError::Unit`] for a grant that is not for sentences; [`DocumentError::Entropy`] if
    /// the source failed or returned nothing but zeroes; [`DocumentError::Selection`] cannot occur
    /// with a pack that was parsed. After an error nothing was drawn and the sentences remain. The
    /// grant was moved into the call, so it is spent.
    ///
    /// # Cost
    /// With m candidates and p directions: one pass over m·p codes (depth) or m sums (scores), and
    /// a second over a quarter of the candidates; 32 bytes of entropy;
    /// [`Rule::random_word_count`]`(m)` words of ChaCha12.
    pub fn release<E: Entropy + ?Sized>(
        &mut self,
        grant: Grant,
        rule: Rule,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::Sentence).map_err(DocumentError::Unit)?;
        self.release_drawn(epsilon, entropy, |document, stream| {
            let drawn_by = match document.candidates {
                Candidates::Depth(_) => DrawnBy::Depth(rule),
                Candidates::Scores(_) => DrawnBy::Scores(rule),
            };
            let (levels, ratio) = (document.levels(), document.ratio(epsilon));
            let candidate = select_on::<LEVELS, _>(document.backend, &levels, rule, ratio, stream)
                .map_err(DocumentError::Selection)?;
            Ok((drawn_by, candidate))
        })
    }

    /// Draws an outcome for the whole text and forgets all sentences.
    ///
    /// The choice between this and other releases must depend neither on the text nor on its
    /// length.
    ///
    /// # Guarantee
    /// ε-DP for the **whole text**: any two documents whatever, of any number of sentences, give
    /// every release with probabilities within a factor e^ε of each other. There is no δ. See
    /// [`whole_text`](crate::whole_text) for the proof.
    ///
    /// # Leaks
    /// As [`Document`]; the work is the same whatever the sentences, and whether or not the pack
    /// recognises any. Whether "nothing known" is an outcome depends on the pack only.
    ///
    /// # Errors
    /// [`DocumentError::NoScores`] for a pack that selects by depth;
    /// [`DocumentError::TooManyCandidates`] if the state has no room for one value for each
    /// candidate; [`DocumentError::Unit`] for a grant that is not for whole texts;
    /// [`DocumentError::Entropy`] and [`DocumentError::Selection`] as for
    /// [`release`](Document::release). The sentences remain, the grant is spent.
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
        self.release_drawn(epsilon, entropy, |document, stream| {
            let outcome = document.draw_whole_text(epsilon, stream)?;
            let drawn_by = if document.has_nothing_known() {
                DrawnBy::WholeText
            } else {
                DrawnBy::WholeTextKnown
            };
            Ok((drawn_by, outcome))
        })
    }

    /// Draws a point by projective geometry response and forgets all sentences.
    ///
    /// A point stands for many candidates at once, so one release reveals little. Use it to
    /// estimate the share of each candidate in many documents: with many candidates, the error is
    /// smaller than with [`release_whole_text`](Document::release_whole_text). The choice between
    /// this and other releases must depend neither on the text nor on its length.
    ///
    /// # Guarantee
    /// As [`release_whole_text`](Document::release_whole_text); [`projective`](crate::projective)
    /// has the proof.
    ///
    /// # Leaks
    /// As [`release_whole_text`](Document::release_whole_text).
    ///
    /// # Errors
    /// As [`release_whole_text`](Document::release_whole_text).
    ///
    /// # Cost
    /// One pass over the candidates, one call of [`Geometry::best`], and about 5·t products of
    /// coordinates in a geometry of dimension t; 32 bytes of entropy.
    ///
    /// # Source
    /// Feldman, Nelson, Nguyen and Talwar 2022; Park, Nam and Lee 2023.
    pub fn release_projective<E: Entropy + ?Sized>(
        &mut self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(DocumentError::Unit)?;
        self.release_drawn(epsilon, entropy, |document, stream| {
            let (geometry, point) = document.draw_projective(epsilon, stream)?;
            let order = geometry.into();
            let drawn_by = if document.has_nothing_known() {
                DrawnBy::Projective(order)
            } else {
                DrawnBy::ProjectiveKnown(order)
            };
            Ok((drawn_by, point))
        })
    }

    /// Draws with a fresh key, clears the document and returns the release, with ε and the
    /// pack's identifier. If `draw` fails, the sentences remain.
    fn release_drawn<E: Entropy + ?Sized>(
        &mut self,
        epsilon: Epsilon,
        entropy: &mut E,
        draw: impl FnOnce(&Self, &mut ReleaseStream) -> Result<(DrawnBy, u32), DocumentError>,
    ) -> Result<Release, DocumentError> {
        let mut stream =
            ReleaseStream::open(self.backend, entropy).map_err(|_| DocumentError::Entropy)?;
        // An empty document may have rows of its state that were never written.
        self.fill();
        let (drawn_by, number) = draw(self, &mut stream)?;
        self.clear();
        Ok(Release {
            drawn_by,
            number,
            epsilon,
            pack_id: self.pack_id,
        })
    }

    /// The levels that a release for sentences is drawn from.
    pub(crate) fn levels(&self) -> DocumentLevels<'_, K> {
        match self.candidates {
            Candidates::Depth(section) => DocumentLevels::Depth(DepthLevels {
                backend: self.backend,
                section,
                counts: self.state.counts(),
                sentences: self.sentences,
            }),
            Candidates::Scores(section) => DocumentLevels::Scores(ScoreLevels {
                section,
                sums: self.state.sums(section.layout(P)),
            }),
        }
    }

    /// The ratio between the weights of neighbouring levels in [`release`](Document::release). It
    /// depends only on ε and the pack, so it is public.
    pub fn ratio(&self, epsilon: Epsilon) -> Ratio {
        match self.candidates {
            Candidates::Depth(_) => Ratio::per_step(epsilon, NonZero::<u8>::MIN),
            Candidates::Scores(section) => section.ratio(epsilon),
        }
    }

    /// The ε of [`release`](Document::release) if the whole text is replaced. It depends only on ε,
    /// the rule and the pack, so it is public. See [`whole_text`](crate::whole_text).
    pub fn whole_text_epsilon(&self, epsilon: Epsilon, rule: Rule) -> Micro {
        match self.candidates {
            Candidates::Depth(section) => {
                let ratio = self.ratio(epsilon);
                whole_text_epsilon(rule, ratio, K / 2 + 1, section.candidate_count())
            }
            Candidates::Scores(section) => section.whole_text_epsilon(epsilon, rule, K),
        }
    }

    /// Checks that the pack and the state allow releases for the whole text, so that nobody spends
    /// a budget on a refusal. The result depends on the pack only.
    ///
    /// # Errors
    /// [`DocumentError::NoScores`] and [`DocumentError::TooManyCandidates`].
    pub fn check_whole_text(&self) -> Result<(), DocumentError> {
        self.whole_text_scores().map(|_| ())
    }

    /// The scores of the pack, if the state has room for one value for each candidate.
    fn whole_text_scores(&self) -> Result<ScoresSection<'p>, DocumentError> {
        let Candidates::Scores(section) = self.candidates else {
            return Err(DocumentError::NoScores);
        };
        let (found, limit) = (section.candidate_count(), section.whole_text_limit(P));
        if found as usize > limit {
            return Err(DocumentError::TooManyCandidates { found, limit });
        }
        Ok(section)
    }

    /// The best outcome for the whole text: the index of a candidate, or the candidate count, which
    /// means "nothing known". If nothing is known and the pack lacks that outcome, it is
    /// [`ScoresSection::without_text`].
    pub(crate) fn best(&self) -> Result<OneBest, DocumentError> {
        let section = self.whole_text_scores()?;
        let candidates = section.candidate_count();
        let (unknown, outcomes) = if section.has_nothing_known() {
            (candidates, candidates + 1)
        } else {
            (section.without_text(), candidates)
        };
        let best = section.best(self.state.values(section.layout(P)));
        let best = u32::conditional_select(&unknown, &best, !self.known.ct_eq(&0));
        Ok(OneBest { best, outcomes })
    }

    /// Whether "nothing known" is an outcome of a release for the whole text.
    fn has_nothing_known(&self) -> bool {
        match self.candidates {
            Candidates::Depth(_) => true,
            Candidates::Scores(section) => section.has_nothing_known(),
        }
    }

    /// The best outcome for the whole text. Forgets all sentences.
    // `inline(always)`: otherwise a reservoir takes more code.
    #[inline(always)]
    pub(crate) fn take_best(&mut self) -> Result<OneBest, DocumentError> {
        self.fill();
        let best = self.best()?;
        self.clear();
        Ok(best)
    }

    /// The number of outcomes of a line or topic: the candidates, and one for "nothing known" and
    /// for no line.
    pub(crate) fn outcomes_of_lines(&self) -> Result<u32, DocumentError> {
        Ok(self.whole_text_scores()?.candidate_count() + 1)
    }

    /// Draws an outcome by the whole-text rule; the sentences remain.
    pub(crate) fn draw_whole_text<R: Rng + ?Sized>(
        &self,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<u32, DocumentError> {
        self.best()?
            .draw(self.backend, OneBest::ratio(epsilon), rng)
            .map_err(DocumentError::Selection)
    }

    /// Draws a point by projective geometry response; the sentences remain.
    pub(crate) fn draw_projective<R: Rng + ?Sized>(
        &self,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<(Geometry, u32), DocumentError> {
        self.best()?
            .draw_point(epsilon, rng)
            .map_err(DocumentError::Selection)
    }
}

/// The levels of all candidates, by the mechanism of the pack.
pub(crate) enum DocumentLevels<'a, const K: usize> {
    Depth(DepthLevels<'a, K>),
    Scores(ScoreLevels<'a>),
}

impl<const K: usize> Levels for DocumentLevels<'_, K> {
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
