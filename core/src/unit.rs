//! What is exchanged in a promise.

use core::fmt;

/// What is exchanged in a promise: ε is for one of these. Promises for different units do not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// One sentence, for any other: [`Document::release`](crate::Document::release).
    Sentence = 1,
    /// A text, for any other: [`Document::release_whole_text`](crate::Document::release_whole_text) and
    /// [`Document::release_projective`](crate::Document::release_projective).
    WholeText = 2,
    /// A bag of words, for one at a word mover's distance W, with e^(ε·W) and a little more: [`Bag::release`](crate::words::Bag::release).
    Word = 3,
    /// A vector, for one at a distance D, with e^(ε·D) and a little more: [`VectorMechanism::release`](crate::vector::VectorMechanism::release).
    Vector = 4,
}

impl Unit {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Sentence, Self::WholeText, Self::Word, Self::Vector];

    /// The unit with this number, which is the same in ledgers and in C.
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
