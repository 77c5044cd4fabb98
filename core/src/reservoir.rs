//! A reservoir draws one of the lines that a device sees, and keeps its outcome for one release.
//!
//! A *line* is one text: a message, a search, or one sentence of a longer text. A *slot* is the
//! stretch of time, or the longer text, that one release is about. A release about all lines of a
//! slot taken together would name a mixture of their topics. A reservoir keeps the outcome of one
//! line that is drawn without looking at any: the best candidate, or "nothing known". It never
//! keeps text. "Nothing known" also stands for no line, so it is an outcome under every pack, even
//! one that leaves it out of the releases of documents. An [`AnswerReservoir`] does the same with
//! the answers of lines to a [`form`](mod@crate::form).
//!
//! # The draw
//! `places`, k, is a public number. The place s is uniform in 1..=k and drawn before the first
//! line. Line i ≤ k is kept if i = s. Line i > k replaces the kept line with probability 1/i
//! (Vitter 1985). Before place s is reached, the outcome is "nothing known". So after m lines, each
//! is the kept one with probability 1/max(k, m), whatever its position.
//!
//! # What a release promises
//! Let the kept outcome be released by a law (a probability distribution) that promises ε for the
//! whole text, and let E = e^ε.
//!
//! - *Everything.* If all lines are replaced by any others, the probability of a release changes by
//!   at most a factor of E, because the law of a release is a mixture of laws that differ by at
//!   most E.
//! - *Some lines.* If any j ≤ k lines are exchanged, added or removed, it changes by at most
//!   1 + j·(E − 1)/k. A place that no line has reached counts as a line, "nothing known", that an
//!   added line replaces. Given that no changed line is kept, the law P of the release is the same
//!   before and after. So the two laws are (1 − q)·P + q·A and (1 − q')·P + q'·A', where q and q'
//!   are at most j/k. Fix a release. P, A and A' give it probabilities x, a and a' in u..=E·u for
//!   some u. The ratio ((1 − q')·x + q'·a') / ((1 − q)·x + q·a) is monotone in x. At x = u it is at
//!   most 1 + q'·(E − 1), at x = E·u at most E / (E − q·(E − 1)) ≤ 1 + q·(E − 1). ∎
//!
//! Both hold at once and without δ. [`line_epsilon`] computes the second.
//!
//! # One sentence of a text
//! [`Reservoir::release_drawn`] spends ε once and protects each *sentence* by ε. The lines are the
//! sentences of one text, and the kept outcome is released with E' = 1 + k·(e^ε − 1). By the second
//! promise one sentence changes probabilities by at most 1 + (E' − 1)/k = e^ε, and by the first,
//! the whole text by at most E'. For texts of a few sentences this errs less than the sentence
//! rule, which adds up bounded scores of all sentences. The release states k, from which a server
//! computes E'.
//!
//! # Answers
//! A line can be a list of answers to a form. An [`AnswerReservoir`] draws the question j once,
//! with its public weight and *before* the first line. The outcome of a line is that of its answers
//! to j, so one number is kept and no other answer. A reservoir of whole lists, whose question is
//! drawn at the release, has the same law, because the two draws are independent. Given j, both
//! promises hold, and j has the same probability for all answers. So they hold for the release,
//! which states j: Pr\[j, y\] = (w_j / Σ w)·Pr\[y | j\]. ∎
//!
//! # Finite randomness
//! By [`below`], a probability of 1/i is met within a factor 1 ± i·2⁻¹²⁸. Over fewer than 2³² lines
//! these errors multiply to less than 1 ± 2⁻⁶³. With the draws of the release they cost less than a
//! factor of 1 + 2⁻⁶². The weights of a release have a margin of that size. It covers the promise ε
//! for all lines, and the promise ε for one line by [`Reservoir::release_drawn`]. [`line_epsilon`]
//! and [`all_lines_epsilon`] add a micro-unit to cover it.
//!
//! # Stored state
//! An app that may be stopped during a slot stores [`Reservoir::to_bytes`]. The file is as private
//! as the text: wipe it when you release. If it is lost or damaged, begin with a new reservoir. If
//! it is set back, go on. Both cost accuracy and not privacy: a line is still kept with probability
//! at most 1/k, and a [`Ledger`](crate::Ledger) pays for every release.

use core::cmp;
use core::num::NonZero;

use rand_core::Rng;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};
use thiserror::Error;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute, transmute_ref};
use zeroize::Zeroize;

use crate::document::{Document, DocumentError};
use crate::epsilon::{Epsilon, MICRO, Micro};
use crate::form::{AnswersError, Form, Question};
use crate::kernels::Backend;
use crate::ledger::Grant;
use crate::release::{DrawnBy, Release};
use crate::rng::{Entropy, ReleaseStream, below};
use crate::select::Ratio;
use crate::unit::Unit;
use crate::whole_text::{LARGEST_EPSILON, OneBest};

/// The length of a stored reservoir.
pub const RESERVOIR_BYTES: usize = 64;

const MAGIC: [u8; 5] = *b"UTRES";
/// The byte after the magic number: the reservoir is for lines of text, or for answers.
const LINES: u8 = b'V';
const ANSWERS: u8 = b'A';
const VERSION: u8 = 1;

/// The outcome of one line out of all that were added; see the [module](self).
///
/// Dropping it wipes it.
pub struct Reservoir {
    backend: Backend,
    slot: Slot,
}

/// The draw of a slot, from lines with outcomes of one source.
struct Slot {
    /// The identifier of the pack or the form.
    id: [u8; 8],
    number: u64,
    places: NonZero<u16>,
    /// The index of the question of a form; 0 for a pack.
    question: u8,
    draw: Draw,
}

/// The private part of a reservoir.
struct Draw {
    /// The outcome of the kept line.
    best: OneBest,
    /// The place of the line to keep among the first ones, from 1.
    place: u32,
    /// The number of lines so far, at most `u32::MAX`.
    lines: u32,
}

/// Wipes the draw; its best outcome wipes itself.
impl Drop for Draw {
    fn drop(&mut self) {
        self.place.zeroize();
        self.lines.zeroize();
    }
}

impl Draw {
    /// Draws the place.
    fn new<R: Rng + ?Sized>(places: NonZero<u16>, outcomes: u32, rng: &mut R) -> Self {
        Self {
            best: OneBest {
                best: outcomes - 1,
                outcomes,
            },
            place: below(rng, places.get().into()) as u32 + 1,
            lines: 0,
        }
    }

    /// Keeps `outcome` with the probability of the next line. The work is always the same.
    #[inline(always)]
    fn add<R: Rng + ?Sized>(&mut self, places: NonZero<u16>, outcome: u32, rng: &mut R) {
        let most = self.lines.ct_eq(&u32::MAX);
        self.lines
            .conditional_assign(&self.lines.wrapping_add(1), !most);
        let late = below(rng, self.lines.into()).ct_eq(&0);
        let is_late = self.lines.ct_gt(&places.get().into());
        let kept = (is_late & late) | (!is_late & self.lines.ct_eq(&self.place));
        self.best.best.conditional_assign(&outcome, kept);
    }
}

impl Reservoir {
    /// An empty reservoir for documents of the same pack as `document`.
    ///
    /// # Shapes
    /// `slot`: the public number of the slot, stored with the state. `places`: k, a public number
    /// below the number of lines that most devices see in a slot. A device with fewer lines often
    /// keeps "nothing known".
    ///
    /// # Errors
    /// [`DocumentError::NoScores`], [`DocumentError::TooManyCandidates`] as for
    /// [`Document::release_whole_text`]; [`DocumentError::Entropy`].
    ///
    /// # Cost
    /// 32 bytes of entropy.
    pub fn new<const K: usize, const P: usize, E: Entropy + ?Sized>(
        document: &Document<'_, K, P>,
        slot: u64,
        places: NonZero<u16>,
        entropy: &mut E,
    ) -> Result<Self, DocumentError> {
        let outcomes = document.outcomes_of_lines()?;
        let backend = document.backend();
        let mut stream = open(backend, entropy)?;
        let slot = Slot {
            id: document.pack_id(),
            number: slot,
            places,
            question: 0,
            draw: Draw::new(places, outcomes, &mut stream),
        };
        Ok(Self { backend, slot })
    }

    /// Adds the line that `document` holds, all its sentences as one text, and forgets them.
    ///
    /// # Leaks
    /// The work is the same for every line, whether it is kept or not.
    ///
    /// # Errors
    /// [`DocumentError::OtherPack`] for a document of another pack; [`DocumentError::Entropy`]. The
    /// sentences remain, and the line does not count.
    ///
    /// # Cost
    /// One pass over the candidates; 32 bytes of entropy.
    pub fn add<const K: usize, const P: usize, E: Entropy + ?Sized>(
        &mut self,
        document: &mut Document<'_, K, P>,
        entropy: &mut E,
    ) -> Result<(), DocumentError> {
        if !self.fits(document) {
            return Err(DocumentError::OtherPack);
        }
        let mut stream = open(self.backend, entropy)?;
        let line = document.take_best();
        line.map(|line| self.slot.add(line.best, &mut stream))
    }

    /// Whether the outcomes are those of documents like `document`.
    fn fits<const K: usize, const P: usize>(&self, document: &Document<'_, K, P>) -> bool {
        let outcomes = self.slot.draw.best.outcomes;
        document.pack_id() == self.slot.id
            && document
                .outcomes_of_lines()
                .is_ok_and(|own| own == outcomes)
    }

    /// Releases the kept outcome by the whole-text rule.
    ///
    /// # Guarantee
    /// ε-DP for **all lines together**, and [`line_epsilon`] for some of them; see the
    /// [module](self).
    ///
    /// # Leaks
    /// That there is a release, its time, pack and ε, which must be chosen without looking at a
    /// line. The work is always the same.
    ///
    /// # Errors
    /// [`DocumentError::Unit`] for a grant that is not for whole texts; [`DocumentError::Entropy`].
    /// The reservoir and the grant are spent: nothing was released, and this slot has no release.
    ///
    /// # Cost
    /// As [`Document::release_whole_text`].
    ///
    /// # Source
    /// Reservoir sampling: Vitter 1985. Randomised response: Warner 1965.
    pub fn release_whole_text<E: Entropy + ?Sized>(
        self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(DocumentError::Unit)?;
        self.release_by(
            DrawnBy::WholeText,
            OneBest::ratio(epsilon),
            epsilon,
            entropy,
        )
    }

    /// Releases the kept outcome by projective geometry response, for counting among many
    /// candidates.
    ///
    /// # Guarantee
    /// As [`release_whole_text`](Reservoir::release_whole_text).
    ///
    /// # Leaks
    /// As [`release_whole_text`](Reservoir::release_whole_text).
    ///
    /// # Errors
    /// As [`release_whole_text`](Reservoir::release_whole_text).
    ///
    /// # Cost
    /// As [`Document::release_projective`].
    ///
    /// # Source
    /// Vitter 1985; Feldman, Nelson, Nguyen and Talwar 2022; Park, Nam and Lee 2023.
    pub fn release_projective<E: Entropy + ?Sized>(
        self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(DocumentError::Unit)?;
        let mut stream = open(self.backend, entropy)?;
        let drawn = self.slot.draw.best.draw_point(epsilon, &mut stream);
        let (geometry, point) = drawn.map_err(DocumentError::Selection)?;
        Ok(self.release(DrawnBy::Projective(geometry.into()), point, epsilon))
    }

    /// Releases the kept outcome so that each *line* has the promise ε.
    ///
    /// # Guarantee
    /// ε-DP for **one line**: any one line may be exchanged, added or removed. All lines together
    /// have the promise ln(1 + k·(e^ε − 1)), which [`all_lines_epsilon`] computes.
    ///
    /// # Leaks
    /// As [`release_whole_text`](Reservoir::release_whole_text), and the number of places.
    ///
    /// # Errors
    /// [`DocumentError::Unit`] for a grant that is not for sentences; [`DocumentError::Entropy`].
    /// The reservoir and the grant are spent.
    ///
    /// # Cost
    /// As [`Document::release_whole_text`].
    ///
    /// # Source
    /// Reservoir sampling: Vitter 1985. Privacy amplification by sampling: Kasiviswanathan, Lee,
    /// Nissim, Raskhodnikova and Smith 2011.
    pub fn release_drawn<E: Entropy + ?Sized>(
        self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let epsilon = grant.spend(Unit::Sentence).map_err(DocumentError::Unit)?;
        let ratio = drawn_ratio(epsilon, self.slot.places);
        let drawn_by = DrawnBy::Drawn(self.slot.places);
        self.release_by(drawn_by, ratio, epsilon, entropy)
    }

    /// Draws by randomised response.
    fn release_by<E: Entropy + ?Sized>(
        self,
        drawn_by: DrawnBy,
        ratio: Ratio,
        epsilon: Epsilon,
        entropy: &mut E,
    ) -> Result<Release, DocumentError> {
        let mut stream = open(self.backend, entropy)?;
        let best = &self.slot.draw.best;
        let drawn = best.draw(self.backend, ratio, &mut stream);
        drawn
            .map(|number| self.release(drawn_by, number, epsilon))
            .map_err(DocumentError::Selection)
    }

    fn release(&self, drawn_by: DrawnBy, number: u32, epsilon: Epsilon) -> Release {
        Release {
            drawn_by,
            number,
            epsilon,
            pack_id: self.slot.id,
        }
    }

    /// The public number of the slot.
    pub fn slot(&self) -> u64 {
        self.slot.number
    }

    /// k, the public number of places.
    pub fn places(&self) -> NonZero<u16> {
        self.slot.places
    }

    /// The state to store. **It is as private as the lines.** `core/FORMAT.md` has the layout.
    pub fn to_bytes(&self) -> [u8; RESERVOIR_BYTES] {
        self.slot.to_bytes(LINES)
    }

    /// Reads a stored state, for documents of the same pack as `document`.
    ///
    /// # Leaks
    /// Whether the bytes are intact. If they are, the work is always the same.
    ///
    /// # Shapes
    /// `bytes`: any bytes, which may be damaged.
    ///
    /// # Errors
    /// [`ReservoirFormatError`]; begin with a [`new`](Reservoir::new) reservoir then.
    ///
    /// # Cost
    /// One block of SHA-256.
    pub fn from_bytes<const K: usize, const P: usize>(
        bytes: &[u8],
        document: &Document<'_, K, P>,
    ) -> Result<Self, ReservoirFormatError> {
        let slot = Slot::from_bytes(LINES, document.pack_id(), bytes)?;
        let outcomes = slot.draw.best.outcomes;
        if !document
            .outcomes_of_lines()
            .is_ok_and(|own| own == outcomes)
        {
            return Err(ReservoirFormatError::OtherPack);
        }
        let backend = document.backend();
        Ok(Self { backend, slot })
    }
}

/// One list of answers to a form out of all that were added; see the [module](self).
///
/// It keeps the outcome of one question. Dropping it wipes it.
pub struct AnswerReservoir<'a> {
    form: Form<'a>,
    question: Question,
    slot: Slot,
}

impl<'a> AnswerReservoir<'a> {
    /// Draws the question that will be released, and makes an empty reservoir.
    ///
    /// # Shapes
    /// As [`Reservoir::new`]. A device that adds fewer lines than places often keeps "no answer".
    ///
    /// # Errors
    /// [`AnswersError::Entropy`]; [`AnswersError::Outcomes`] cannot occur with a parsed form.
    ///
    /// # Cost
    /// 32 bytes of entropy.
    pub fn new<E: Entropy + ?Sized>(
        form: &Form<'a>,
        slot: u64,
        places: NonZero<u16>,
        entropy: &mut E,
    ) -> Result<Self, AnswersError> {
        Self::drawn(form, slot, places, &mut open_for_answers(entropy)?)
    }

    fn drawn<R: Rng + ?Sized>(
        form: &Form<'a>,
        slot: u64,
        places: NonZero<u16>,
        rng: &mut R,
    ) -> Result<Self, AnswersError> {
        let drawn = form.draw_question(rng);
        let (index, question) = drawn.ok_or(AnswersError::Outcomes { found: 0 })?;
        let slot = Slot {
            id: form.id(),
            number: slot,
            places,
            question: index,
            draw: Draw::new(places, question.outcomes, rng),
        };
        Ok(Self {
            form: *form,
            question,
            slot,
        })
    }

    /// Adds the answers of one line.
    ///
    /// # Leaks
    /// The work is the same for all answers, whether they are kept or not. It depends on the
    /// question that was drawn, which the release states.
    ///
    /// # Shapes
    /// As [`Form::release`].
    ///
    /// # Errors
    /// [`AnswersError::Length`]; [`AnswersError::Entropy`]. The line does not count.
    ///
    /// # Cost
    /// One or two answers are read; 32 bytes of entropy.
    pub fn add<E: Entropy + ?Sized>(
        &mut self,
        answers: &[u32],
        entropy: &mut E,
    ) -> Result<(), AnswersError> {
        self.form.check_length(answers)?;
        self.add_drawn(answers, &mut open_for_answers(entropy)?);
        Ok(())
    }

    fn add_drawn<R: Rng + ?Sized>(&mut self, answers: &[u32], rng: &mut R) {
        let outcome = self.form.outcome(self.question, answers);
        self.slot.add(outcome, rng);
    }

    /// Releases the kept outcome as [`Form::release`] does.
    ///
    /// # Guarantee
    /// ε-DP for **all answers of all lines together**, and [`line_epsilon`] for some lines; see the
    /// [module](self).
    ///
    /// # Leaks
    /// As [`Form::release`].
    ///
    /// # Errors
    /// [`AnswersError::Unit`] for a grant that is not for whole texts; [`AnswersError::Entropy`].
    /// The reservoir and the grant are spent: nothing was released, and this slot has no release.
    ///
    /// # Cost
    /// As [`Form::release`].
    ///
    /// # Source
    /// Vitter 1985; see [`form`](mod@crate::form).
    pub fn release<E: Entropy + ?Sized>(
        self,
        grant: Grant,
        entropy: &mut E,
    ) -> Result<Release, AnswersError> {
        let epsilon = grant.spend(Unit::WholeText).map_err(AnswersError::Unit)?;
        self.release_drawn(epsilon, &mut open_for_answers(entropy)?)
    }

    fn release_drawn<R: Rng + ?Sized>(
        self,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<Release, AnswersError> {
        let index = self.slot.question;
        let found = self.form.best_geometry(index, epsilon);
        let best = &self.slot.draw.best;
        self.form.draw_point(found, index, best, epsilon, rng)
    }

    /// The public number of the slot.
    pub fn slot(&self) -> u64 {
        self.slot.number
    }

    /// k, the public number of places.
    pub fn places(&self) -> NonZero<u16> {
        self.slot.places
    }

    /// The state to store. **It is as private as the answers.** `core/FORMAT.md` has the layout.
    pub fn to_bytes(&self) -> [u8; RESERVOIR_BYTES] {
        self.slot.to_bytes(ANSWERS)
    }

    /// Reads a stored state, for the same form.
    ///
    /// # Leaks
    /// Whether the bytes are intact, and the question that was drawn. Otherwise the work is always
    /// the same.
    ///
    /// # Shapes
    /// `bytes`: any bytes, which may be damaged.
    ///
    /// # Errors
    /// [`ReservoirFormatError`]; begin with a [`new`](AnswerReservoir::new) reservoir then.
    ///
    /// # Cost
    /// One block of SHA-256.
    pub fn from_bytes(bytes: &[u8], form: &Form<'a>) -> Result<Self, ReservoirFormatError> {
        let slot = Slot::from_bytes(ANSWERS, form.id(), bytes)?;
        let question = form.questions().nth(slot.question.into());
        let outcomes = slot.draw.best.outcomes;
        let question = question
            .filter(|question| question.weight > 0 && question.outcomes == outcomes)
            .ok_or(ReservoirFormatError::OtherPack)?;
        Ok(Self {
            form: *form,
            question,
            slot,
        })
    }
}

// Inlined, because a call that returns a slot copies it: 200 bytes on a microcontroller.
impl Slot {
    #[inline(always)]
    fn add<R: Rng + ?Sized>(&mut self, outcome: u32, rng: &mut R) {
        self.draw.add(self.places, outcome, rng);
    }

    #[inline(always)]
    fn to_bytes(&self, kind: u8) -> [u8; RESERVOIR_BYTES] {
        let state = State {
            magic: MAGIC,
            kind,
            version: VERSION,
            question: self.question,
            id: self.id,
            slot: self.number.into(),
            places: self.places.get().into(),
            // At most `places`.
            place: (self.draw.place as u16).into(),
            outcomes: self.draw.best.outcomes.into(),
            best: self.draw.best.best.into(),
            lines: self.draw.lines.into(),
            checksum: [0; 24],
        };
        transmute!(state.sealed())
    }

    #[inline(always)]
    fn from_bytes(kind: u8, id: [u8; 8], bytes: &[u8]) -> Result<Self, ReservoirFormatError> {
        let found = bytes.len();
        let state =
            State::ref_from_bytes(bytes).map_err(|_| ReservoirFormatError::Length { found })?;
        if state.magic != MAGIC {
            return Err(ReservoirFormatError::NotAReservoir);
        }
        if state.version != VERSION {
            return Err(ReservoirFormatError::Version {
                found: state.version,
            });
        }
        let (place, best, outcomes) = (state.place.get(), state.best.get(), state.outcomes.get());
        let places = NonZero::new(state.places.get())
            .filter(|places| (1..=places.get()).contains(&place) && best < outcomes)
            .filter(|_| state.checksum == state.digest())
            .ok_or(ReservoirFormatError::Damaged)?;
        if state.kind != kind || state.id != id {
            return Err(ReservoirFormatError::OtherPack);
        }
        Ok(Self {
            id,
            number: state.slot.get(),
            places,
            question: state.question,
            draw: Draw {
                best: OneBest { best, outcomes },
                place: place.into(),
                lines: state.lines.get(),
            },
        })
    }
}

fn open_for_answers<E: Entropy + ?Sized>(entropy: &mut E) -> Result<ReleaseStream, AnswersError> {
    ReleaseStream::open(Backend::best(), entropy).map_err(|_| AnswersError::Entropy)
}

fn open<E: Entropy + ?Sized>(
    backend: Backend,
    entropy: &mut E,
) -> Result<ReleaseStream, DocumentError> {
    ReleaseStream::open(backend, entropy).map_err(|_| DocumentError::Entropy)
}

/// The ratio of the two weights of [`Reservoir::release_drawn`]. It is at most
/// E' = 1 + k·(e^ε − 1): with C ≥ 2⁶⁴·e^−ε, its constant ⌈2⁶⁴·C / (C + k·(2⁶⁴ − C))⌉ is at least
/// 2⁶⁴/E'.
pub fn drawn_ratio(epsilon: Epsilon, places: NonZero<u16>) -> Ratio {
    let c = u128::from(OneBest::ratio(epsilon).constant());
    let whole = c + u128::from(places.get()) * ((1 << 64) - c);
    let constant = (c << 64).div_ceil(whole);
    Ratio::from_constant(u64::try_from(constant).unwrap_or(u64::MAX))
}

/// The promise for any j = `lines` lines, if a release promises `epsilon` for all lines of a slot:
/// ln(1 + j·(e^ε − 1)/k) with k = `places`, at most ε, rounded up to micro-units.
#[allow(clippy::float_arithmetic)] // Decides no probability: a statement about one.
pub fn line_epsilon(epsilon: Micro, places: NonZero<u16>, lines: u32) -> Micro {
    if lines >= places.get().into() {
        return epsilon;
    }
    let share = f64::from(lines) / f64::from(places.get());
    let loss = libm::log1p(share * libm::expm1(epsilon.0 as f64 / f64::from(MICRO)));
    cmp::min(epsilon, rounded_up(loss))
}

/// The promise for all lines together, if a release promises `epsilon` for one of them:
/// ln(1 + k·(e^ε − 1)), rounded up to micro-units.
#[allow(clippy::float_arithmetic)] // Decides no probability: a statement about one.
pub fn all_lines_epsilon(epsilon: Epsilon, places: NonZero<u16>) -> Micro {
    let grown = libm::expm1(f64::from(epsilon.micro()) / f64::from(MICRO));
    let loss = libm::log1p(f64::from(places.get()) * grown);
    cmp::min(rounded_up(loss), LARGEST_EPSILON)
}

/// A loss that was computed to within 10⁻¹², in micro-units, rounded up.
#[allow(clippy::float_arithmetic)] // Decides no probability: a statement about one.
fn rounded_up(loss: f64) -> Micro {
    Micro((libm::ceil(loss * f64::from(MICRO)) as u64).saturating_add(1))
}

/// The stored form, which may be any bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct State {
    magic: [u8; 5],
    kind: u8,
    version: u8,
    question: u8,
    id: [u8; 8],
    slot: U64,
    places: U16,
    place: U16,
    outcomes: U32,
    best: U32,
    lines: U32,
    checksum: [u8; 24],
}

const _: () = assert!(size_of::<State>() == RESERVOIR_BYTES);

impl State {
    /// The first bytes of the SHA-256 of all fields before the checksum.
    ///
    /// `inline(never)`: a program for a microcontroller then has this code once.
    #[inline(never)]
    fn digest(&self) -> [u8; 24] {
        let bytes: &[u8; RESERVOIR_BYTES] = transmute_ref!(self);
        let [fields @ .., _, _, _] = bytes.as_chunks::<8>().0 else {
            return [0; 24];
        };
        let digest: [u8; 32] = Sha256::digest(fields.as_flattened()).into();
        let (first, _) = digest.split_first_chunk().unwrap_or((&[0; 24], &[]));
        *first
    }

    fn sealed(mut self) -> Self {
        self.checksum = self.digest();
        self
    }
}

/// The reason why bytes are not a reservoir of this pack or form that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReservoirFormatError {
    /// The number of bytes is not [`RESERVOIR_BYTES`].
    #[error("{found} bytes, but a reservoir has {RESERVOIR_BYTES}; begin with a new one")]
    Length {
        /// Bytes given.
        found: usize,
    },
    /// The bytes do not start with the magic number.
    #[error("not a reservoir: the first five bytes are not \"UTRES\"; begin with a new one")]
    NotAReservoir,
    /// A version that this reader does not know.
    #[error(
        "reservoir version {found}, but this library reads version {VERSION}; begin with a new one"
    )]
    Version {
        /// The reservoir's version.
        found: u8,
    },
    /// The checksum or a field is wrong.
    #[error("the reservoir is damaged; begin with a new one")]
    Damaged,
    /// The reservoir has outcomes of another pack or form.
    #[error("the reservoir was filled with another pack or form; begin with a new one")]
    OtherPack,
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;
    use std::{iter, vec};

    use core::convert::Infallible;

    use rand_core::TryRng;

    use super::*;
    use crate::form::{NO_ANSWER, digest, format};
    use crate::projective::Geometry;

    /// Replays random words of 128 bits, each in two halves.
    struct Words {
        script: Vec<u128>,
        halves: usize,
    }

    impl TryRng for Words {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            unreachable!("only whole words are drawn")
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            let word = self.script[self.halves / 2];
            self.halves += 1;
            let shift = 64 * (self.halves as u32 % 2);
            Ok((word >> shift) as u64)
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
            unreachable!("only whole words are drawn")
        }
    }

    /// The first of the 2¹²⁸ words whose share is at least `index / limit`.
    fn first_word(index: u64, limit: u64) -> u128 {
        let (index, limit) = (u128::from(index), u128::from(limit));
        let (quotient, rest) = (u128::MAX / limit, u128::MAX % limit);
        (quotient.wrapping_mul(index)).wrapping_add((index * (rest + 1)).div_ceil(limit))
    }

    /// The least and the greatest word with a share from `from / limit` to `to / limit`.
    fn ends(from: u64, to: u64, limit: u64) -> [u128; 2] {
        [
            first_word(from, limit),
            first_word(to, limit).wrapping_sub(1),
        ]
    }

    fn places(k: u16) -> NonZero<u16> {
        NonZero::new(k).unwrap()
    }

    /// 12!, which the number of any line divides.
    const WHOLE: u64 = 479_001_600;

    /// The exact law of the kept outcome, in parts of `k`·[`WHOLE`], from the words that the code
    /// draws. If the code does the same with both ends of an interval of words, it does so with
    /// every word between them.
    fn law(k: u16, lines: &[u32], outcomes: u32) -> Vec<u64> {
        law_by(k, lines.len(), outcomes, None, |rng| {
            let mut draw = Draw::new(places(k), outcomes, rng);
            for outcome in lines {
                draw.add(places(k), *outcome, rng);
            }
            draw.best.best
        })
    }

    /// The law of the outcome that `run` keeps of `lines` lines. `first`: the ends of a draw before
    /// the place.
    fn law_by(
        k: u16,
        lines: usize,
        outcomes: u32,
        first: Option<[u128; 2]>,
        run: impl Fn(&mut Words) -> u32,
    ) -> Vec<u64> {
        let [law, same] = [0, 1].map(|end| {
            let first = first.map(|ends| ends[end]);
            law_of_ends(k, lines, outcomes, end, first, &run)
        });
        assert_eq!(law, same, "{k} {lines}");
        law
    }

    fn law_of_ends(
        k: u16,
        lines: usize,
        outcomes: u32,
        end: usize,
        first: Option<u128>,
        run: impl Fn(&mut Words) -> u32,
    ) -> Vec<u64> {
        let mut law = vec![0; outcomes as usize];
        let late = lines.saturating_sub(k.into());
        let early = (lines - late) as u64;
        // A late line is kept with probability 1/i; an early line's word does not matter.
        for kept in 0..1u32 << late {
            let is_kept = |line: u64| kept >> (line - early - 1) & 1 == 1;
            let late_lines = || early + 1..=lines as u64;
            let weight = late_lines().fold(WHOLE, |weight, line| {
                let share = if is_kept(line) { 1 } else { line - 1 };
                assert!((weight * share).is_multiple_of(line));
                weight * share / line
            });
            for place in 0..u64::from(k) {
                let late_words = late_lines().map(|line| {
                    let kept = is_kept(line);
                    ends(u64::from(!kept), if kept { 1 } else { line }, line)[end]
                });
                let place = ends(place, place + 1, k.into())[end];
                let script = (first.into_iter().chain([place]))
                    .chain(iter::repeat_n(ends(0, 1, 1)[end], early as usize))
                    .chain(late_words)
                    .collect();
                let mut rng = Words { script, halves: 0 };
                let kept = run(&mut rng);
                assert_eq!(rng.halves, 2 * rng.script.len(), "every line draws once");
                law[kept as usize] += weight;
            }
        }
        law
    }

    #[test]
    fn every_line_is_kept_equally_often() {
        for k in 1..=6 {
            for m in 0..=12 {
                let lines: Vec<u32> = (0..m).collect();
                let law = law(k, &lines, m + 1);
                let whole = u64::from(k) * WHOLE;
                let (most, nothing) = (
                    u64::from(m).max(k.into()),
                    u64::from(k).saturating_sub(m.into()),
                );
                assert!(
                    law[..m as usize].iter().all(|part| *part * most == whole),
                    "{k} {m}"
                );
                assert_eq!(law[m as usize] * most, whole * nothing, "{k} {m}");
            }
        }
    }

    /// All multisets of at most `most` lines with the outcomes 0, 1 and 2; 2 is "nothing known".
    fn texts(most: u32) -> impl Iterator<Item = [u32; 3]> {
        (0..=most).flat_map(move |a| {
            (0..=most - a).flat_map(move |b| (0..=most - a - b).map(move |c| [a, b, c]))
        })
    }

    /// The number of lines that make one text of the other: exchanged, added or removed.
    fn changed_lines(a: &[u32; 3], b: &[u32; 3]) -> u32 {
        let common: u32 = a.iter().zip(b).map(|(a, b)| a.min(b)).sum();
        a.iter().sum::<u32>().max(b.iter().sum()) - common
    }

    #[test]
    fn no_text_loses_more_than_the_theorem_says_and_some_lose_as_much() {
        for micro in [405_465, 1_098_612, 2_995_732] {
            let mut weights =
                OneBest::ratio(Epsilon::from_micro(micro).unwrap()).weights(OneBest::RULE);
            // Shifted, so that products fit; the ratio stays within the promise.
            let [first, other] = [
                weights.next().unwrap() >> 24,
                (weights.next().unwrap() >> 24) + 1,
            ];
            for k in 1..=4u16 {
                let laws: Vec<_> = texts(6)
                    .map(|text| {
                        let lines: Vec<u32> = (0..3)
                            .flat_map(|outcome| {
                                iter::repeat_n(outcome, text[outcome as usize] as usize)
                            })
                            .collect();
                        let law = law(k, &lines, 3);
                        let whole: u64 = law.iter().sum();
                        // The law of the release, times the same normaliser.
                        let law: Vec<u128> = law
                            .iter()
                            .map(|part| {
                                u128::from(*part) * first + u128::from(whole - part) * other
                            })
                            .collect();
                        (text, law)
                    })
                    .collect();
                let mut attained = vec![false; usize::from(k) + 1];
                for (a, of_a) in &laws {
                    for (b, of_b) in &laws {
                        let changed = u128::from(changed_lines(a, b).min(k.into()));
                        let k128 = u128::from(k);
                        for (x, y) in of_a.iter().zip(of_b) {
                            let (loss, bound) = (
                                x * k128 * other,
                                y * (k128 * other + changed * (first - other)),
                            );
                            assert!(loss <= bound, "{a:?} {b:?} of {k} places");
                            attained[changed as usize] |= loss == bound;
                        }
                    }
                }
                assert!(attained.iter().all(|attained| *attained), "{k} places");
            }
        }
    }

    /// Attributes of 2 and 1 categories with the weights 3 and 1, and their pair with 2.
    fn form_file() -> Vec<u8> {
        let numbers = |numbers: &[u32]| -> Vec<u8> {
            numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
        };
        let rest = [
            numbers(&[2, 3, 1, 1, 1 << 16, 2]),
            numbers(&[1, 2, 3, 4, 5]),
            b"abcde".to_vec(),
        ]
        .concat();
        let head = numbers(&[64 + rest.len() as u32, 2 | 1 << 16, 3]);
        let head = [b"UTFORM\x01\0".as_slice(), &head, &[0; 12 + 32]].concat();
        let mut header = format::Header::read_from_bytes(&head).unwrap();
        header.digest = digest(&header, &rest);
        [header.as_bytes(), &rest].concat()
    }

    /// The release of a kept outcome: for each point whether it has the first weight. Checks every
    /// draw of the code, by the ends of its interval.
    fn points_of(form: &Form<'_>, index: u8, outcome: u32, epsilon: Epsilon) -> Vec<bool> {
        let question = form.questions().nth(index.into()).unwrap();
        let geometry = Geometry::best_for_answer(question.outcomes, epsilon).unwrap();
        let (first, other) = Geometry::weights(epsilon);
        let (all, preferred) = (
            u64::from(geometry.points()),
            u64::from(geometry.preferred()),
        );
        let share = preferred * first;
        let whole = share + (all - preferred) * other;
        let mut points = vec![None; all as usize];
        for (is_first, from, to, count) in [
            (true, 0, share, preferred),
            (false, share, whole, all - preferred),
        ] {
            for rank in 0..count {
                for end in [0, 1] {
                    let script = vec![ends(from, to, whole)[end], ends(rank, rank + 1, count)[end]];
                    let filled = AnswerReservoir {
                        form: *form,
                        question,
                        slot: Slot {
                            id: form.id(),
                            number: 7,
                            places: places(2),
                            question: index,
                            draw: Draw {
                                best: OneBest {
                                    best: outcome,
                                    outcomes: question.outcomes,
                                },
                                place: 1,
                                lines: 9,
                            },
                        },
                    };
                    let mut rng = Words { script, halves: 0 };
                    let release = filled.release_drawn(epsilon, &mut rng).unwrap();
                    assert_eq!(rng.halves, 4);
                    let read = form.read(&release).unwrap();
                    assert_eq!((read.index, read.geometry), (index, geometry));
                    assert_eq!(geometry.contains(outcome, read.point), is_first);
                    points[read.point as usize] = Some(is_first);
                }
            }
        }
        points.into_iter().map(Option::unwrap).collect()
    }

    /// The theorem for lists of answers: whatever the question, each line is kept with probability
    /// 1/max(k, m), and lines lose what the theorem allows, and no less.
    #[test]
    fn answers_keep_the_promise_of_lines() {
        const LISTS: [[u32; 2]; 3] = [[0, 0], [1, NO_ANSWER], [7, 1]];
        let file = form_file();
        let form = Form::parse(&file).unwrap();
        let epsilon = Epsilon::from_micro(1_098_612).unwrap();
        // From the definition, where "no answer" is the last number of an attribute.
        let outcomes_of: [(u64, u64, [u32; 3]); 3] =
            [(0, 3, [0, 1, 2]), (3, 4, [0, 1, 1]), (4, 6, [0, 3, 5])];
        for (index, (question, (from, to, outcome_of))) in
            form.questions().zip(outcomes_of).enumerate()
        {
            let first = ends(from, to, 6);
            let outcomes = question.outcomes;
            for (k, m) in (1..=4).flat_map(|k| (0..=6).map(move |m| (k, m))) {
                // The line `kept` has another outcome than all others.
                for kept in 0..m {
                    let law = law_by(k, m, outcomes, Some(first), |rng| {
                        let mut slot = AnswerReservoir::drawn(&form, 7, places(k), rng).unwrap();
                        assert_eq!((slot.question, slot.slot.question), (question, index as u8));
                        for line in 0..m {
                            slot.add_drawn(&LISTS[usize::from(line != kept)], rng);
                        }
                        slot.slot.draw.best.best
                    });
                    let most = cmp::max(m as u64, k.into());
                    assert_eq!(law[outcome_of[0] as usize] * most, u64::from(k) * WHOLE);
                }
            }
            let points: Vec<_> = (0..outcomes)
                .map(|outcome| points_of(&form, index as u8, outcome, epsilon))
                .collect();
            let (weight, other) = Geometry::weights(epsilon);
            let (weight, other) = (u128::from(weight), u128::from(other));
            for k in 1..=4u16 {
                let laws: Vec<_> = texts(6)
                    .map(|text| {
                        let lists = (0..3).flat_map(|at| iter::repeat_n(at, text[at] as usize));
                        let lines: Vec<u32> = lists.map(|at| outcome_of[at]).collect();
                        let law = law(k, &lines, outcomes);
                        let of = |point: usize| -> u128 {
                            let outcomes = law.iter().zip(&points);
                            outcomes
                                .map(|(part, points)| {
                                    u128::from(*part) * if points[point] { weight } else { other }
                                })
                                .sum()
                        };
                        (text, (0..points[0].len()).map(of).collect::<Vec<_>>())
                    })
                    .collect();
                let mut attained = vec![false; usize::from(k) + 1];
                for (a, of_a) in &laws {
                    for (b, of_b) in &laws {
                        let changed = cmp::min(changed_lines(a, b), k.into());
                        let bound = u128::from(k) * other + u128::from(changed) * (weight - other);
                        for (x, y) in of_a.iter().zip(of_b) {
                            let (loss, bound) = (x * u128::from(k) * other, y * bound);
                            assert!(loss <= bound, "{a:?} {b:?} of {k} places");
                            attained[changed as usize] |= loss == bound;
                        }
                    }
                }
                assert!(attained.iter().all(|attained| *attained), "{k} places");
            }
        }
    }

    #[test]
    fn one_sentence_keeps_its_promise_under_the_larger_weights() {
        for micro in [
            1,
            1_000,
            500_000,
            1_000_000,
            3_000_000,
            10_000_000,
            1_000_000_000,
        ] {
            let epsilon = Epsilon::from_micro(micro).unwrap();
            for k in [1, 2, 3, 5, 200, u16::MAX] {
                let weights = |ratio: Ratio| ratio.weights(OneBest::RULE);
                let first = OneBest::RULE.first_weight();
                let drawn = weights(drawn_ratio(epsilon, places(k))).nth(1).unwrap();
                // first/drawn is at most whole/c, which is at most 1 + k·(e^ε - 1), and not much
                // less than whole/c.
                let c = u128::from(OneBest::ratio(epsilon).constant());
                let whole = c + u128::from(k) * ((1 << 64) - c);
                assert!(drawn * whole >= first * c, "{micro} {k}");
                assert!(drawn <= 2 || (drawn - 2) * whole < first * c, "{micro} {k}");
            }
        }
    }

    #[test]
    fn promises_of_lines() {
        let epsilon = |text: &str| text.parse::<Epsilon>().unwrap();
        for (text, k, lines, expected) in [
            ("3", 20, 1, 670_021),
            ("3", 100, 1, 174_672),
            ("3", 1000, 1, 18_906),
            ("1", 20, 1, 82_423),
            ("1", 1000, 1, 1_717),
            ("3", 20, 20, 3_000_000),
            ("3", 20, 300, 3_000_000),
            ("1000", 2, 1, 1_000_000_000),
        ] {
            let all = Micro(epsilon(text).micro().into());
            let Micro(found) = line_epsilon(all, places(k), lines);
            assert!(found.abs_diff(expected) <= 1, "{text} {k} {lines}: {found}");
        }
        assert_eq!(line_epsilon(Micro(3_000_000), places(20), 0), Micro(1));
        for k in [1, 3, 20] {
            let all = all_lines_epsilon(epsilon("1"), places(k));
            assert!((1_000_000..=1_000_004).contains(&line_epsilon(all, places(k), 1).0));
        }
        assert_eq!(
            all_lines_epsilon(epsilon("1000"), places(2)),
            LARGEST_EPSILON
        );
    }
}
