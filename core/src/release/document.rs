//! The release of a document or an answer, which is the header that every release starts with.

use core::num::NonZero;

use thiserror::Error;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute};

use crate::epsilon::Epsilon;
use crate::projective::{Geometry, Order};
use crate::select::Rule;
use crate::unit::Unit;
use crate::whole_text::OneBest;

/// A private release of a document or an answer: the number that was drawn, and the public facts
/// needed to read it.
///
/// Only [`Document`](crate::document::Document) and [`Form`](crate::form::Form) make one from
/// private data; [`Release::from_bytes`] reads one that was made elsewhere.
///
/// # Shapes
/// The byte form has [`Release::BYTES`] bytes, numbers little-endian:
///
/// | offset | bytes | content |
/// | --- | --- | --- |
/// | 0 | 3 | `UTR` |
/// | 3 | 1 | version, 1 |
/// | 4 | 1 | mechanism: 1 = depth, 2 = scores, 7 and 11 = whole text, 8 and 12 = projective geometry, 9 = drawn, 10 = answer |
/// | 5 | 1 | rule: 1 = permute-and-flip, 2 = exponential (always for 7 to 12) |
/// | 6 | 2 | the order of the geometry for 8, 10 and 12, the number of places for 9, else zero |
/// | 8 | 4 | ε in micro-units |
/// | 12 | 4 | index of the candidate; their number for "nothing known" of 7 and 9; point for 8 and 12; 2²⁴ times the question, plus the point, for 10 |
/// | 16 | 8 | identifier of the pack, or of the form for 10 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    pub(crate) drawn_by: DrawnBy,
    pub(crate) number: u32,
    pub(crate) epsilon: Epsilon,
    pub(crate) pack_id: [u8; 8],
}

/// The law of a release: its mechanism, with the choices that the mechanism leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DrawnBy {
    /// [`Mechanism::Depth`], by this rule.
    Depth(Rule),
    /// [`Mechanism::Scores`], by this rule.
    Scores(Rule),
    /// [`Mechanism::WholeText`], always by [`Rule::Exponential`].
    WholeText,
    /// [`Mechanism::Projective`], by the geometry of this order.
    Projective(Order),
    /// [`Mechanism::Drawn`], always by [`Rule::Exponential`], with this number of places.
    Drawn(NonZero<u16>),
    /// [`Mechanism::Answer`], by the geometry of this order.
    Answer(Order),
    /// [`Mechanism::WholeTextKnown`], always by [`Rule::Exponential`].
    WholeTextKnown,
    /// [`Mechanism::ProjectiveKnown`], by the geometry of this order.
    ProjectiveKnown(Order),
}

/// The mechanism of a release of a document or an answer. The numbers are those of the byte form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Approximate depth among the sentences, see [`depth`](crate::depth).
    Depth = 1,
    /// The sum of bounded scores, see [`scores`](crate::scores).
    Scores = 2,
    /// Randomised response about the whole text, see [`whole_text`](crate::whole_text).
    WholeText = 7,
    /// A point that the best outcome prefers, see [`projective`](crate::projective).
    Projective = 8,
    /// Randomised response about one sentence that was drawn, see [`reservoir`](crate::reservoir).
    Drawn = 9,
    /// A point for an answer to one question of a form, see [`form`](mod@crate::form).
    Answer = 10,
    /// [`WholeText`](Mechanism::WholeText) without the outcome "nothing known".
    WholeTextKnown = 11,
    /// [`Projective`](Mechanism::Projective) without the outcome "nothing known".
    ProjectiveKnown = 12,
}

/// The meaning of the number that a release holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The candidate with this index.
    Candidate(u32),
    /// The pack recognised nothing in the text, or the noise picked this outcome.
    NothingKnown,
    /// A point of this geometry, preferred by many candidates:
    /// [`Geometry::outcomes_preferring`] lists them.
    Point {
        /// The geometry for the candidates of the pack.
        geometry: Geometry,
        /// The number of the point.
        number: u32,
    },
}

impl Mechanism {
    /// The mechanism with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Depth),
            2 => Some(Self::Scores),
            7 => Some(Self::WholeText),
            8 => Some(Self::Projective),
            9 => Some(Self::Drawn),
            10 => Some(Self::Answer),
            11 => Some(Self::WholeTextKnown),
            12 => Some(Self::ProjectiveKnown),
            _ => None,
        }
    }

    /// The unit that ε protects.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Depth | Self::Scores | Self::Drawn => Unit::Sentence,
            Self::WholeText
            | Self::Projective
            | Self::Answer
            | Self::WholeTextKnown
            | Self::ProjectiveKnown => Unit::WholeText,
        }
    }

    /// The number of outcomes that a text can have by this mechanism under a pack of `candidates`:
    /// these, and "nothing known" with some mechanisms. `None` if no pack of this size releases by
    /// this mechanism, and for an answer.
    pub const fn outcomes(self, candidates: u32) -> Option<u32> {
        match self {
            Self::Depth | Self::Scores => Some(candidates),
            Self::WholeText | Self::Projective | Self::Drawn => candidates.checked_add(1),
            Self::WholeTextKnown | Self::ProjectiveKnown if candidates > 1 => Some(candidates),
            _ => None,
        }
    }
}

impl Release {
    /// The length of the byte form.
    pub const BYTES: usize = Header::BYTES;

    /// The outcome, if the pack has `candidate_count` candidates; `None` for a number that no
    /// release under that pack holds, and for an answer, which [`Form::read`](crate::Form::read)
    /// reads. A release that was read from bytes may be forged.
    pub fn outcome(&self, candidate_count: u32) -> Option<Outcome> {
        let number = self.number;
        let outcomes = self.mechanism().outcomes(candidate_count)?;
        if let Some(order) = self.order() {
            let geometry = Geometry::new(order.number(), outcomes)?;
            let point = Outcome::Point { geometry, number };
            return (number < geometry.points()).then_some(point);
        }
        let named = if number < candidate_count {
            Outcome::Candidate(number)
        } else {
            Outcome::NothingKnown
        };
        (number < outcomes).then_some(named)
    }

    /// The number in the byte form; [`outcome`](Release::outcome) returns its meaning.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The law: mechanism, and rule, order or places.
    pub fn drawn_by(&self) -> DrawnBy {
        self.drawn_by
    }

    /// The mechanism.
    pub fn mechanism(&self) -> Mechanism {
        match self.drawn_by {
            DrawnBy::Depth(_) => Mechanism::Depth,
            DrawnBy::Scores(_) => Mechanism::Scores,
            DrawnBy::WholeText => Mechanism::WholeText,
            DrawnBy::Projective(_) => Mechanism::Projective,
            DrawnBy::Drawn(_) => Mechanism::Drawn,
            DrawnBy::Answer(_) => Mechanism::Answer,
            DrawnBy::WholeTextKnown => Mechanism::WholeTextKnown,
            DrawnBy::ProjectiveKnown(_) => Mechanism::ProjectiveKnown,
        }
    }

    /// The rule in the byte form.
    pub fn rule(&self) -> Rule {
        match self.drawn_by {
            DrawnBy::Depth(rule) | DrawnBy::Scores(rule) => rule,
            DrawnBy::WholeText
            | DrawnBy::Projective(_)
            | DrawnBy::Drawn(_)
            | DrawnBy::Answer(_)
            | DrawnBy::WholeTextKnown
            | DrawnBy::ProjectiveKnown(_) => OneBest::RULE,
        }
    }

    /// The order of the geometry, if the release holds a point.
    pub fn order(&self) -> Option<Order> {
        match self.drawn_by {
            DrawnBy::Projective(order)
            | DrawnBy::Answer(order)
            | DrawnBy::ProjectiveKnown(order) => Some(order),
            _ => None,
        }
    }

    /// k, the number of places, if the release is about one sentence that was drawn.
    pub fn places(&self) -> Option<NonZero<u16>> {
        match self.drawn_by {
            DrawnBy::Drawn(places) => Some(places),
            _ => None,
        }
    }

    /// The ε that was spent.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The identifier of the pack whose candidates the number counts,
    /// [`Pack::id`](crate::pack::Pack::id), or of the form.
    pub fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    /// The byte form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let (mechanism, rule) = (self.mechanism() as u8, self.rule() as u8);
        let header = Header {
            order: U16::new(match self.drawn_by {
                DrawnBy::Drawn(places) => places.get(),
                _ => self.order().map_or(0, Order::number),
            }),
            ..Header::new(mechanism, rule, self.epsilon, self.number, self.pack_id)
        };
        transmute!(header)
    }

    /// Reads the byte form. Total on any bytes.
    ///
    /// # Errors
    /// [`ReleaseFormatError`] names the first field that is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReleaseFormatError> {
        if bytes.len() != Self::BYTES {
            return Err(ReleaseFormatError::Length {
                found: bytes.len(),
                expected: Self::BYTES,
            });
        }
        let (header, epsilon, _) = Header::read(bytes)?;
        let mechanism = Mechanism::from_number(header.mechanism)
            .ok_or(ReleaseFormatError::field("mechanism", header.mechanism))?;
        let rule = Rule::from_number(header.rule);
        let fixed = rule.filter(|rule| *rule == OneBest::RULE);
        let order = header.order.get();
        let refused = ReleaseFormatError::field("order of the geometry", order);
        let drawn_by = match mechanism {
            Mechanism::Depth => rule.map(DrawnBy::Depth),
            Mechanism::Scores => rule.map(DrawnBy::Scores),
            Mechanism::WholeText => fixed.map(|_| DrawnBy::WholeText),
            Mechanism::Projective => {
                let order = Order::from_number(order).ok_or(refused)?;
                fixed.map(|_| DrawnBy::Projective(order))
            }
            Mechanism::Drawn => {
                let places = NonZero::new(order)
                    .ok_or(ReleaseFormatError::field("number of places", 0u32))?;
                fixed.map(|_| DrawnBy::Drawn(places))
            }
            Mechanism::Answer => {
                let order = Order::of_answer(order).ok_or(refused)?;
                fixed.map(|_| DrawnBy::Answer(order))
            }
            Mechanism::WholeTextKnown => fixed.map(|_| DrawnBy::WholeTextKnown),
            Mechanism::ProjectiveKnown => {
                let order = Order::from_number(order).ok_or(refused)?;
                fixed.map(|_| DrawnBy::ProjectiveKnown(order))
            }
        };
        Ok(Self {
            drawn_by: drawn_by.ok_or(ReleaseFormatError::field("rule", header.rule))?,
            number: header.number.get(),
            epsilon,
            pack_id: header.pack_id,
        })
    }
}

const MAGIC: [u8; 3] = *b"UTR";
const VERSION: u8 = 1;

/// The first 24 bytes of every release.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 3],
    version: u8,
    pub(super) mechanism: u8,
    pub(super) rule: u8,
    /// The order of the geometry of a point, or the number of places; zero for other mechanisms.
    order: U16,
    epsilon: U32,
    /// The outcome of a document; for words and vectors, the number of items that follow.
    pub(super) number: U32,
    pub(super) pack_id: [u8; 8],
}

impl Header {
    pub(super) const BYTES: usize = size_of::<Self>();

    /// A header without an order and places.
    pub(super) fn new(
        mechanism: u8,
        rule: u8,
        epsilon: Epsilon,
        number: u32,
        pack_id: [u8; 8],
    ) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            mechanism,
            rule,
            order: U16::ZERO,
            epsilon: U32::new(epsilon.micro()),
            number: U32::new(number),
            pack_id,
        }
    }

    /// The header of `bytes`, its ε, and the bytes that follow. Does not validate mechanism, rule,
    /// number, order nor places.
    pub(super) fn read(bytes: &[u8]) -> Result<(&Self, Epsilon, &[u8]), ReleaseFormatError> {
        let (header, rest) =
            Self::ref_from_prefix(bytes).map_err(|_| ReleaseFormatError::Length {
                found: bytes.len(),
                expected: Self::BYTES,
            })?;
        if header.magic != MAGIC {
            return Err(ReleaseFormatError::NotARelease);
        }
        if header.version != VERSION {
            return Err(ReleaseFormatError::Version {
                found: header.version,
            });
        }
        let order = header.order.get();
        let has_order = matches!(
            Mechanism::from_number(header.mechanism),
            Some(
                Mechanism::Projective
                    | Mechanism::Drawn
                    | Mechanism::Answer
                    | Mechanism::ProjectiveKnown
            )
        );
        if order != 0 && !has_order {
            return Err(ReleaseFormatError::field("reserved field", order));
        }
        let micro = header.epsilon.get();
        let epsilon = Epsilon::from_micro(micro)
            .map_err(|_| ReleaseFormatError::field("epsilon in micro-units", micro))?;
        Ok((header, epsilon, rest))
    }
}

/// The reason why bytes are not a release that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReleaseFormatError {
    /// The number of bytes is not that of the release.
    #[error("{found} bytes, but a release has {expected}")]
    Length {
        /// Bytes given.
        found: usize,
        /// Bytes that the header asks for.
        expected: usize,
    },
    /// The bytes do not start with the magic number.
    #[error("not a release: the first three bytes are not \"UTR\"")]
    NotARelease,
    /// A version that this reader does not know.
    #[error(
        "release version {found}, but this library reads version {VERSION}; \
         update the older of the two"
    )]
    Version {
        /// The release's version.
        found: u8,
    },
    /// A field with a value that is not allowed.
    #[error("the {name} of the release is {found}, which is not allowed")]
    Field {
        /// The name of the field.
        name: &'static str,
        /// Its value.
        found: u32,
    },
}

impl ReleaseFormatError {
    pub(super) fn field(name: &'static str, found: impl Into<u32>) -> Self {
        Self::Field {
            name,
            found: found.into(),
        }
    }
}
