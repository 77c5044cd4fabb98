use zerocopy::IntoBytes;

use super::document::{Header, ReleaseFormatError};
use crate::epsilon::Epsilon;
use crate::select::Rule;

/// The largest number of words in a release of a bag.
pub const MAX_BAG_SIZE: u16 = 256;

/// The mechanism that makes a word private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WordMechanism {
    /// Selection among all words by their distance to the private word.
    ///
    /// # Guarantee
    /// Pr\[w | x\] ≤ exp(ε·(dist(x, x') + q))·Pr\[w | x'\], see [`words`](crate::words): a metric
    /// guarantee, ε per unit of distance. Quote it with distances: for words far apart it is weak.
    Selection(Rule),
    /// Noise on the word's vector, then the word nearest to the noisy point.
    ///
    /// For comparison: at equal ε selection keeps more of the word.
    ///
    /// # Guarantee
    /// [`laplace`](crate::laplace) with sensitivity 1 and dist the distance of the words, δ
    /// included. The nearest word is a function of the noisy point only.
    LaplaceNearest,
}

/// The numbers of word mechanisms in releases.
const BY_SELECTION: u8 = 5;
const BY_LAPLACE_NEAREST: u8 = 6;

/// A private bag of words: the indices of the words drawn, ascending, and the public facts needed
/// to read them.
///
/// Only [`Bag::release`](crate::words::Bag::release) writes one from private words; this is the
/// view of its bytes.
///
/// # Shapes
/// 24 + 2n bytes, numbers little-endian:
///
/// | offset | bytes | content |
/// | --- | --- | --- |
/// | 0 | 3 | `UTR` |
/// | 3 | 1 | version, 1 |
/// | 4 | 1 | mechanism: 5 = words by selection, 6 = words nearest to noisy vectors |
/// | 5 | 1 | rule: 1 = permute-and-flip, 2 = exponential; 0 for mechanism 6 |
/// | 6 | 2 | zero |
/// | 8 | 4 | ε of a word in micro-units |
/// | 12 | 4 | n, the number of words, 1 to 256 |
/// | 16 | 8 | identifier of the pack |
/// | 24 | 2n | the words' indices in the lexicon of the pack, ascending, repeated words repeated |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BagRelease<'a> {
    mechanism: WordMechanism,
    epsilon: Epsilon,
    pack_id: [u8; 8],
    words: &'a [[u8; 2]],
}

impl<'a> BagRelease<'a> {
    /// The length of the byte form of a release of `size` words.
    pub const fn bytes(size: u16) -> usize {
        Header::BYTES + 2 * size as usize
    }

    /// The words, by their index in the lexicon of the pack, ascending. In a release that was not
    /// made with that pack an index may lie beyond its last word.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.words
            .iter()
            .map(|bytes| u16::from_le_bytes(*bytes).into())
    }

    /// The ε that was spent on each word.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The mechanism that made each word private.
    pub fn mechanism(&self) -> WordMechanism {
        self.mechanism
    }

    /// The identifier of the pack whose words the indices count:
    /// [`Pack::id`](crate::pack::Pack::id).
    pub fn pack_id(&self) -> [u8; 8] {
        self.pack_id
    }

    /// Writes the byte form; `out` has [`BagRelease::bytes`] bytes.
    pub(crate) fn write(
        mechanism: WordMechanism,
        epsilon: Epsilon,
        pack_id: [u8; 8],
        words: &[u32],
        out: &mut [u8],
    ) {
        let (mechanism, rule) = match mechanism {
            WordMechanism::Selection(rule) => (BY_SELECTION, rule as u8),
            WordMechanism::LaplaceNearest => (BY_LAPLACE_NEAREST, 0),
        };
        let header = Header::new(mechanism, rule, epsilon, words.len() as u32, pack_id);
        // A lexicon has at most 2^16 words.
        let words = words.iter().flat_map(|word| (*word as u16).to_le_bytes());
        let bytes = header.as_bytes().iter().copied().chain(words);
        for (to, from) in out.iter_mut().zip(bytes) {
            *to = from;
        }
    }

    /// Reads the byte form. Total on any bytes.
    ///
    /// # Errors
    /// [`ReleaseFormatError`] names the first field that is wrong.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, ReleaseFormatError> {
        let (header, epsilon, rest) = Header::read(bytes)?;
        let refuse = |name, found: u8| Err(ReleaseFormatError::field(name, found));
        let rule = Rule::from_number(header.rule);
        let mechanism = match (header.mechanism, rule, header.rule) {
            (BY_SELECTION, Some(rule), _) => WordMechanism::Selection(rule),
            (BY_LAPLACE_NEAREST, _, 0) => WordMechanism::LaplaceNearest,
            (BY_SELECTION | BY_LAPLACE_NEAREST, _, other) => return refuse("rule", other),
            (other, ..) => return refuse("mechanism", other),
        };
        let number = header.number.get();
        if !(1..=u32::from(MAX_BAG_SIZE)).contains(&number) {
            return Err(ReleaseFormatError::field("number of words", number));
        }
        let expected = Self::bytes(number as u16);
        let (words, rest) = rest.as_chunks::<2>();
        if bytes.len() != expected || !rest.is_empty() {
            return Err(ReleaseFormatError::Length {
                found: bytes.len(),
                expected,
            });
        }
        let release = Self {
            mechanism,
            epsilon,
            pack_id: header.pack_id,
            words,
        };
        // Any other order could reveal the order of the text.
        let mut before = 0;
        for word in release.words() {
            if word < before {
                return Err(ReleaseFormatError::field("word after a larger one", word));
            }
            before = word;
        }
        Ok(release)
    }
}
