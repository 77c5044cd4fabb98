//! A private document between its first sentence and its release.
//!
//! This file has the state that `document/push.rs` fills and `document/release.rs` draws from.

use core::fmt;
use core::num::NonZero;

use thiserror::Error;
use zeroize::Zeroize;

use crate::depth::{DepthSection, MAX_SENTENCES};
use crate::features::Features;
use crate::fixed::Scale;
use crate::kernels::Backend;
use crate::ledger::WrongUnit;
use crate::lexicon::Lexicon;
use crate::pack::Pack;
use crate::recode::Recoder;
use crate::scores::ScoresSection;
use crate::select::SelectError;
use crate::state::State;

mod push;
mod release;

/// A private document: sentences go in, one private [`Release`](crate::Release) comes out, and the
/// document is empty again.
///
/// The pack determines how candidates are drawn: by bounded [`scores`](crate::scores) if it has
/// them, else by [`depth`](mod@crate::depth).
///
/// `K` is the largest number of sentences (`1..=255`). `P` sizes the state: 256·`P` bytes, 25 KiB
/// with the defaults. That fits `P` projection directions and any number of candidates, or the
/// scores of `128·P` candidates. The heap is not used. The order of the sentences is not kept.
///
/// # Guarantee
/// [`release`](Document::release) with privacy parameter ε is, for any pack,
/// - ε-DP for **replace-one**: two documents with the same number of sentences that differ in one
///   sentence give every release with probabilities within a factor e^ε of each other;
/// - (ε/2)-DP for **add/remove-one**: one sentence more or less, the number of sentences being
///   private, as long as neither document is cut at `K` sentences (if one is: ε).
///
/// There is no δ. Changing j sentences costs j·ε. Several releases of the same sentences add up:
/// each takes a [`Grant`](crate::Grant), which a [`ledger`](crate::ledger) issues as long as its
/// budget lasts.
///
/// # Leaks
/// - Metadata: that a release happened, when, with which pack and ε.
/// - Facts that many sentences repeat: the guarantee protects the content of one sentence.
/// - [`release`](Document::release) does the same work whatever the sentences and their number,
///   except that it first sets up its state if there are none. Its second pass visits the quarter
///   of the candidates that contains the one in the release.
/// - [`push`](Document::push) does the same work whatever the coordinates. The app has to hide the
///   number of calls. Pushing text ([`push_sentence`](Document::push_sentence),
///   [`push_text`](Document::push_text), [`push_encoded`](Document::push_encoded)) takes time that
///   depends on the text.
/// - Buffers and keys are wiped, but compilers copy values to the stack (spilled registers,
///   arguments by value). The C interface wipes those copies after each call; in Rust programs they
///   stay until they are overwritten.
///
/// The caller makes sure that:
/// - Each sentence is encoded **alone**: no context window over other sentences, no batch whose
///   members influence each other (dynamically quantised models do that), no token budget for the
///   whole document. Then one sentence changes one embedding.
/// - Neighbours are lists of sentences. A changed character that merges or splits sentences counts
///   as several changes.
/// - The pack, ε and the rule are chosen without looking at the document. The guarantee does not
///   cover releasing again until the result looks good.
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
    dimension: NonZero<usize>,
    pack_id: [u8; 8],
    state: State<P>,
    sentences: u8,
    /// All ones if the pack recognised a sentence, else 0.
    known: i32,
    backend: Backend,
}

/// The section of the pack that turns sentences into levels.
#[derive(Clone, Copy)]
enum Candidates<'p> {
    Depth(DepthSection<'p>),
    Scores(ScoresSection<'p>),
}

impl<'p> Candidates<'p> {
    /// The candidates of a pack, for a document with at most `most` rows of state.
    // `inline(never)`: inlined, the document is built elsewhere and copied over the stack.
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

    /// The rows of state that a document with at most `most` rows uses.
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
    /// An empty document for the candidates of `pack`, with the default limits: 128 sentences, and
    /// 100 projection directions or 12,800 candidates with scores.
    ///
    /// # Errors
    /// As [`with_limits`](Document::with_limits).
    #[inline]
    pub fn new(pack: &Pack<'p>) -> Result<Self, DocumentError> {
        Self::with_limits(pack)
    }
}

impl<'p, const K: usize, const P: usize> Document<'p, K, P> {
    /// An empty document for the candidates of `pack`, with other limits:
    /// `Document::<64, 20>::with_limits(&pack)`.
    ///
    /// # Errors
    /// [`DocumentError::NoCandidates`] if the pack has none; [`DocumentError::TooManyDirections`]
    /// or [`DocumentError::TooManyCandidates`] if the state is too small for it.
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
            // Parsing refuses 0.
            dimension: NonZero::new(pack.dimension()).unwrap_or(NonZero::<usize>::MIN),
            pack_id: pack.id(),
            state: State::new(),
            sentences: 0,
            known: 0,
            backend: Backend::best(),
        })
    }

    /// The number of coordinates in an embedding.
    pub fn dimension(&self) -> usize {
        self.dimension.get()
    }

    /// The number of sentences so far. It is private: it must not leave the device.
    pub fn sentence_count(&self) -> usize {
        usize::from(self.sentences)
    }

    /// Forgets all sentences; their traces in the state are wiped.
    #[inline(never)]
    pub fn clear(&mut self) {
        self.state.wipe();
        self.sentences.zeroize();
        self.known.zeroize();
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    pub(crate) fn set_backend(&mut self, backend: Backend) {
        self.backend = backend;
    }

    /// Sets up the state if it has no rows yet.
    fn fill(&mut self) {
        self.state.fill(self.candidates.rows(P));
    }
}

/// The sentences are wiped.
impl<const K: usize, const P: usize> Drop for Document<'_, K, P> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Shows nothing of the sentences.
impl<const K: usize, const P: usize> fmt::Debug for Document<'_, K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("dimension", &self.dimension)
            .finish_non_exhaustive()
    }
}

/// The reason why a document refused. It depends on sizes, the pack and the entropy source, never
/// on the content of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The pack has no candidates.
    #[error("the pack has no candidates")]
    NoCandidates,
    /// The pack reads embeddings only: it has neither a lexicon nor features that stand alone.
    #[error("the pack has no lexicon; push embeddings, or use a pack with a lexicon as encoder")]
    NoLexicon,
    /// The pack has more projection directions than this document type holds.
    #[error("the pack has {found} projection directions, this document holds {limit}")]
    TooManyDirections {
        /// Directions in the pack.
        found: usize,
        /// The limit `P`.
        limit: usize,
    },
    /// The pack has more candidates for scores than this document type holds.
    #[error("the pack scores {found} candidates, this document holds {limit}")]
    TooManyCandidates {
        /// Candidates in the pack.
        found: u32,
        /// The limit: `128 · P`; about a third of it for the whole-text rule, a fifth with
        /// features.
        limit: usize,
    },
    /// The pack has features of texts, which an embedding does not contain.
    #[error("the pack has features of texts; push the text of each sentence with its embedding")]
    NeedsText,
    /// The pack selects by depth, and the whole-text rule needs scores.
    #[error("the pack selects by depth; the whole-text rule needs a pack with scores")]
    NoScores,
    /// An embedding of the wrong length.
    #[error("an embedding of {found} coordinates, but the pack was built for {expected}")]
    Dimension {
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// The document is full.
    #[error(
        "the document already has {limit} sentences, its limit; release it or leave the rest out"
    )]
    Full {
        /// The limit `K`.
        limit: usize,
    },
    /// A document of another pack than the reservoir's.
    #[error("the document has another pack than the reservoir; begin with a new reservoir")]
    OtherPack,
    /// A grant for another unit.
    #[error("not the right grant: {0}")]
    Unit(WrongUnit),
    /// The entropy source failed or returned only zeroes.
    #[error("the entropy source failed; nothing was released, try again with a new grant")]
    Entropy,
    /// The candidates cannot be selected from.
    #[error(transparent)]
    Selection(SelectError),
}
