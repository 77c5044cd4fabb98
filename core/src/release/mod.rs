//! What leaves the device.

use core::num::NonZero;

use crate::epsilon::Epsilon;
use crate::projective::Geometry;
use crate::select::Rule;

mod bag;
mod head;
mod vector;

use head::{Head, PROJECTIVE};

pub use bag::{BagRelease, MAX_BAG_SIZE, WordMechanism};
pub use head::ReleaseFormatError;
pub use vector::VectorRelease;

/// One private release: which candidate or point was drawn, and the public facts needed to read it.
///
/// Only [`Document::release`](crate::document::Document::release) makes one from private data;
/// [`Release::from_bytes`] reads one that was made elsewhere.
///
/// # Shapes
/// The byte form has [`Release::BYTES`] bytes, numbers little-endian:
///
/// | offset | bytes | content |
/// | --- | --- | --- |
/// | 0 | 3 | `UTR` |
/// | 3 | 1 | version, 1 |
/// | 4 | 1 | mechanism: 1 = sentence depth, 2 = sentence scores, 7 = whole text, 8 = projective geometry |
/// | 5 | 1 | rule: 1 = permute-and-flip, 2 = exponential, always for 7 and 8 |
/// | 6 | 2 | the order of the geometry for 8; else zero |
/// | 8 | 4 | ε in micro-units |
/// | 12 | 4 | index of the candidate; number of the point for 8 |
/// | 16 | 8 | identifier of the pack |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    pub(crate) selector: Selector,
    pub(crate) rule: Rule,
    /// 0 but for points.
    pub(crate) order: u16,
    pub(crate) epsilon: Epsilon,
    pub(crate) candidate: u32,
    pub(crate) pack_id: [u8; 8],
}

/// What a candidate is selected by. The numbers are those of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selector {
    /// Approximate depth among the sentences, see [`depth`](crate::depth).
    Depth = 1,
    /// The sum of bounded scores, see [`scores`](crate::scores).
    Scores = 2,
    /// What the whole text says most, see [`whole_text`](crate::whole_text).
    WholeText = 7,
    /// What the whole text says most, by the points that it prefers, see [`projective`](crate::projective).
    Projective = PROJECTIVE as isize,
}

impl Selector {
    /// The selector with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Depth),
            2 => Some(Self::Scores),
            7 => Some(Self::WholeText),
            PROJECTIVE => Some(Self::Projective),
            _ => None,
        }
    }
}

impl Release {
    /// The length of the byte form.
    pub const BYTES: usize = Head::BYTES;

    /// The index of the candidate drawn. Its embedding is on the server. By the whole-text rule the number of candidates
    /// stands for "nothing known". By projective geometry it is a **point**, which stands for many candidates at once: see
    /// [`order`](Release::order). In a release that was read from bytes it may be any number.
    pub fn candidate(&self) -> u32 {
        self.candidate
    }

    /// Of a release by projective geometry the order of its [`Geometry`]: then
    /// [`candidate`](Release::candidate) is a point. `None` for all others.
    pub fn order(&self) -> Option<NonZero<u16>> {
        NonZero::new(self.order)
    }

    /// The ε that was spent.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// What the candidate was selected by.
    pub fn selector(&self) -> Selector {
        self.selector
    }

    /// How the candidate was drawn.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The identifier of the pack whose candidates the index counts: [`Pack::id`](crate::pack::Pack::id).
    pub fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    /// The byte form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let head = Head {
            mechanism: self.selector as u8,
            rule: self.rule as u8,
            order: self.order,
            epsilon: self.epsilon,
            number: self.candidate,
            pack_id: self.pack_id,
        };
        head.to_bytes()
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
        let (head, _) = Head::read(bytes)?;
        let selector = Selector::from_number(head.mechanism);
        let rule = Rule::from_number(head.rule);
        let rule = match (selector, rule) {
            (Some(Selector::WholeText | Selector::Projective), Some(Rule::PermuteAndFlip)) => None,
            (_, rule) => rule,
        };
        if selector == Some(Selector::Projective) && !Geometry::is_order(head.order) {
            return Err(ReleaseFormatError::Field {
                name: "order of the geometry",
                found: head.order.into(),
            });
        }
        Ok(Self {
            selector: selector.ok_or(ReleaseFormatError::Field {
                name: "mechanism",
                found: head.mechanism.into(),
            })?,
            rule: rule.ok_or(ReleaseFormatError::Field {
                name: "rule",
                found: head.rule.into(),
            })?,
            order: head.order,
            epsilon: head.epsilon,
            candidate: head.number,
            pack_id: head.pack_id,
        })
    }
}
