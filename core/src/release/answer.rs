use zerocopy::little_endian::U16;
use zerocopy::transmute;

use super::document::{Header, ReleaseFormatError};
use crate::epsilon::Epsilon;
use crate::projective::Order;
use crate::select::Rule;

/// The number of the mechanism of [`Form::release`](crate::form::Form::release).
pub(super) const ANSWER: u8 = 10;

/// The bits of the number that hold the point; every geometry has fewer than 2²⁴ points.
const POINT_BITS: u32 = 24;

/// A private answer to one question of a form: the point that was drawn, and the public facts needed
/// to read it.
///
/// Only [`Form::release`](crate::form::Form::release) makes one from private answers;
/// [`AnswerRelease::from_bytes`] reads one that was made elsewhere.
/// [`Form::read`](crate::form::Form::read) finds the question and its geometry.
///
/// # Shapes
/// 24 bytes, numbers little-endian:
///
/// | offset | bytes | content |
/// | --- | --- | --- |
/// | 0 | 3 | `UTR` |
/// | 3 | 1 | version, 1 |
/// | 4 | 1 | mechanism: 10 |
/// | 5 | 1 | rule: 2 |
/// | 6 | 2 | the order of the question's geometry, 1 for randomised response |
/// | 8 | 4 | ε in micro-units |
/// | 12 | 4 | 2²⁴ times the index of the question, plus the point |
/// | 16 | 8 | identifier of the form |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AnswerRelease {
    pub(crate) order: Order,
    pub(crate) question: u8,
    /// Below 2²⁴.
    pub(crate) point: u32,
    pub(crate) epsilon: Epsilon,
    pub(crate) form_id: [u8; 8],
}

impl AnswerRelease {
    /// The length of the byte form.
    pub const BYTES: usize = Header::BYTES;

    /// The mechanism in the byte form.
    pub const MECHANISM: u8 = ANSWER;

    /// The index of the question; it was drawn without looking at any answer.
    pub fn question(&self) -> u8 {
        self.question
    }

    /// The point of the question's geometry.
    pub fn point(&self) -> u32 {
        self.point
    }

    /// The order of the question's geometry.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The ε that was spent, for all answers of the form together.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The identifier of the form: [`Form::id`](crate::form::Form::id).
    pub fn form_id(&self) -> [u8; 8] {
        self.form_id
    }

    /// The byte form.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let rule = Rule::Exponential as u8;
        let number = u32::from(self.question) << POINT_BITS | self.point;
        let mut header = Header::new(ANSWER, rule, self.epsilon, number, self.form_id);
        header.order = U16::new(self.order.number());
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
        if header.mechanism != ANSWER {
            return Err(ReleaseFormatError::field("mechanism", header.mechanism));
        }
        if Rule::from_number(header.rule) != Some(Rule::Exponential) {
            return Err(ReleaseFormatError::field("rule", header.rule));
        }
        let order = header.order.get();
        let order = if order == Order::SINGLETONS.number() {
            Order::SINGLETONS
        } else {
            Order::from_number(order)
                .ok_or(ReleaseFormatError::field("order of the geometry", order))?
        };
        let number = header.number.get();
        Ok(Self {
            order,
            question: (number >> POINT_BITS) as u8,
            point: number & ((1 << POINT_BITS) - 1),
            epsilon,
            form_id: header.pack_id,
        })
    }
}
