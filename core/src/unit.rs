//! The unit of privacy: the part of the input that a promise protects.

use core::fmt;

/// The part of the input that may be replaced in a promise, at a cost of ε. The ε of different
/// units cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// One sentence, by any other: [`Document::release`](crate::Document::release).
    Sentence = 1,
    /// A text, by any other: [`Document::release_whole_text`](crate::Document::release_whole_text)
    /// and [`Document::release_projective`](crate::Document::release_projective). Or all answers of
    /// a form, by any others: [`Form::release`](crate::Form::release).
    WholeText = 2,
    /// A bag of words, by one at a word mover's distance W, for about e^(ε·W):
    /// [`Bag::release`](crate::words::Bag::release).
    Word = 3,
    /// A vector, by one at a distance D, for about e^(ε·D):
    /// [`VectorMechanism::release`](crate::vector::VectorMechanism::release).
    Vector = 4,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 4] = [Self::Sentence, Self::WholeText, Self::Word, Self::Vector];

    /// The unit with this number. Numbers are the same in ledgers and in C.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Sentence),
            2 => Some(Self::WholeText),
            3 => Some(Self::Word),
            4 => Some(Self::Vector),
            _ => None,
        }
    }

    /// Its number, 1 to 4.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sentence => "sentence",
            Self::WholeText => "whole-text",
            Self::Word => "word",
            Self::Vector => "vector",
        })
    }
}
