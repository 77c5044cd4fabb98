//! Sentence vectors without a neural runtime.
//!
//! A lexicon has one small integer vector per frequent word, distilled on the host from a neural
//! encoder. The vector of a sentence is the weighted mean of the vectors of its known words. The
//! weight of a word falls with its frequency. A sentence without a known word has the zero vector.
//! If two neighbouring words mean something other than their sum, such as "not good", a *phrase*
//! adds the difference. Languages that put no spaces between words, or that build words from many
//! parts, are matched by longest entries instead of whole words ([`Matching`]).
//!
//! Lookup is a binary search in the mapped pack, and the mean is integer arithmetic. So host and
//! device agree to the bit, and the vector depends on nothing but the sentence.
//!
//! # Leaks
//! Time and the addresses read depend on the text. This step runs on the device, before the
//! document; a release does not protect it against an observer of the device.
//!
//! # Cost
//! Linear in the text, times log of the number of words and phrases; 4 KiB of stack; no heap. At
//! each place, [`Matching::Longest`] makes one binary search for the text from there on, and up to
//! 48 more for shorter prefixes of it.
//!
//! # Source
//! Arora, Liang and Ma 2017, without their removal of the first principal component (the host
//! subtracts the mean when it distils).

use core::array;
use core::hint;

use thiserror::Error;
use zerocopy::little_endian::{U16, U32};
use zeroize::Zeroize;

use crate::checked::{chunk_size, part};
use crate::fixed::{Scale, rescale};
use crate::kernels::{Backend, VECTORS};
use crate::pack::format::{
    LEXICON_LONGEST, LEXICON_TAG, LEXICON_WORDS, LexiconHead, MAX_PHRASES, MAX_WORDS, PHRASES_TAG,
    PhrasesHead,
};
use crate::pack::wire::{Arrays, PackError, scale, within, zero};
use crate::text::{ANY_LANGUAGE, NEEDS_ANY_LANGUAGE, Words, each_place};

pub use crate::text::{CONTINUATION, MAX_WORD_BYTES, Word, piece, word, words};

/// The most coordinates in a lexicon's vectors.
pub const MAX_LEXICON_DIMENSION: u32 = 512;

/// The most words of a sentence that count, so that no sum can overflow.
const MAX_WORDS_IN_SENTENCE: usize = 1 << 20;

/// Fractional bits that the mean has below the integers of the word vectors.
const FRACTION_BITS: u32 = 8;

/// How a lexicon finds its entries in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Entries are whole words, as [`words`] yields them.
    #[default]
    Words,
    /// Greedy longest match within runs of letters, digits and combining marks.
    ///
    /// At each place the longest entry counts, and the next place follows it. If there is none, one
    /// character is skipped. A place starts a word if it is the first of a run, if its character is
    /// a letter of a script without spaces between words, or if the last letter or digit before it
    /// is one. Elsewhere only entries that start with [`CONTINUATION`] count.
    Longest,
}

/// A checked view of a lexicon section.
#[derive(Clone, Copy, Debug)]
pub struct Lexicon<'a> {
    dimension: usize,
    matching: Matching,
    scale: Scale,
    ends: &'a [U32],
    weights: &'a [U16],
    vectors: &'a [i8],
    text: &'a str,
    phrases: Phrases<'a>,
}

/// The vectors that pairs of neighbouring words add, in ascending order of the pairs.
#[derive(Clone, Copy, Debug, Default)]
struct Phrases<'a> {
    pairs: &'a [[U16; 2]],
    weights: &'a [U16],
    vectors: &'a [i8],
}

impl<'a> Lexicon<'a> {
    pub(crate) fn parse(section: &'a [u8], dimension: u32) -> Result<Self, PackError> {
        let fail = |reason| PackError::section(LEXICON_TAG, reason);
        let (head, mut arrays) = Arrays::open::<LexiconHead>(LEXICON_TAG, section)?;
        let words = within("number of words", head.word_count.get(), 1, MAX_WORDS)? as usize;
        let dimension = within("lexicon dimension", dimension, 1, MAX_LEXICON_DIMENSION)? as usize;
        let matching = head.matching.get();
        let name = "matching of a lexicon";
        let matching = match within(name, matching, LEXICON_WORDS, LEXICON_LONGEST)? {
            LEXICON_LONGEST if !ANY_LANGUAGE => return Err(fail(NEEDS_ANY_LANGUAGE)),
            LEXICON_LONGEST => Matching::Longest,
            _ => Matching::Words,
        };
        let scale = scale(head.exponent.get())?;
        let ends: &[U32] = arrays.next(words, 1)?;
        let weights = arrays.next(words, 1)?;
        let vectors = arrays.next(words, dimension)?;
        let text = arrays.next(head.text_bytes.get() as usize, 1)?;
        arrays.finish()?;
        let text = core::str::from_utf8(text).map_err(|_| fail("has text that is not UTF-8"))?;
        let parsed = Self {
            dimension,
            matching,
            scale,
            ends,
            weights,
            vectors,
            text,
            phrases: Phrases::default(),
        };
        // Otherwise searches would silently miss words.
        let mut before = "";
        for index in 0..words {
            match parsed.word(index) {
                Some(word) if before < word => before = word,
                _ => return Err(fail("has words that are not in strictly ascending order")),
            }
        }
        if ends.last().map(|end| end.get() as usize) != Some(text.len()) {
            return Err(fail("has text after its last word"));
        }
        Ok(parsed)
    }

    /// The lexicon with the phrases of their section.
    pub(crate) fn with_phrases(self, section: &'a [u8]) -> Result<Self, PackError> {
        let fail = |reason| PackError::section(PHRASES_TAG, reason);
        if self.matching != Matching::Words {
            return Err(fail("belongs to a lexicon that is not matched by words"));
        }
        let (head, mut arrays) = Arrays::open::<PhrasesHead>(PHRASES_TAG, section)?;
        let count = within("number of phrases", head.phrase_count.get(), 1, MAX_PHRASES)? as usize;
        for reserved in head.reserved {
            zero("reserved phrases field", reserved.get())?;
        }
        let pairs: &[[U16; 2]] = arrays.next(count, 1)?;
        let weights = arrays.next(count, 1)?;
        let vectors = arrays.next(count, self.dimension)?;
        arrays.finish()?;
        let mut before = None;
        for pair in pairs {
            let pair = Some(phrase_words(pair));
            if pair <= before {
                return Err(fail("has phrases that are not in strictly ascending order"));
            }
            if pair.iter().flatten().any(|word| *word >= self.word_count()) {
                return Err(fail("has phrases of words that the lexicon does not have"));
            }
            before = pair;
        }
        Ok(Self {
            phrases: Phrases {
                pairs,
                weights,
                vectors,
            },
            ..self
        })
    }

    /// The number of phrases, `0..=65536`.
    pub fn phrase_count(&self) -> usize {
        self.phrases.pairs.len()
    }

    /// The indices of the two words of the phrase at `index`; phrases ascend by them.
    pub fn phrase(&self, index: usize) -> Option<[usize; 2]> {
        self.phrases.pairs.get(index).map(phrase_words)
    }

    /// The index of the phrase of two words, given by their indices.
    pub fn find_phrase(&self, [first, second]: [usize; 2]) -> Option<usize> {
        // As one number, because comparing two takes an unpredictable branch.
        let number = |first: u16, second: u16| u32::from(first) << 16 | u32::from(second);
        let pair = number(first.try_into().ok()?, second.try_into().ok()?);
        let pairs = self.phrases.pairs;
        pairs
            .binary_search_by_key(&pair, |[first, second]| number(first.get(), second.get()))
            .ok()
    }

    /// The weight and the vector of the phrase at `index`.
    pub fn phrase_entry(&self, index: usize) -> Option<(u16, &'a [i8])> {
        let weight = self.phrases.weights.get(index)?.get();
        let vectors = self.phrases.vectors;
        let mut vectors = vectors.chunks_exact(chunk_size(self.dimension));
        Some((weight, vectors.nth(index)?))
    }

    /// The number of words, `1..=65536`.
    pub fn word_count(&self) -> usize {
        self.ends.len()
    }

    /// The vectors of all words, `[word_count][dimension]`, row-major, as the pack has them.
    pub fn matrix(&self) -> &'a [i8] {
        self.vectors
    }

    /// How the words are found in a text.
    pub fn matching(&self) -> Matching {
        self.matching
    }

    /// The number of coordinates of a vector, `1..=512`.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// A coordinate of a sentence's vector is a 16-bit integer times 2 to this power. For the
    /// vectors of words see [`vector_exponent`](Lexicon::vector_exponent).
    pub fn exponent(&self) -> i32 {
        self.scale.exponent()
    }

    /// The word at `index`, in ascending byte order; `None` beyond the last.
    pub fn word(&self, index: usize) -> Option<&'a str> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?.get() as usize,
            None => 0,
        };
        self.text.get(start..self.ends.get(index)?.get() as usize)
    }

    /// The index of a word, by binary search.
    ///
    /// # Shapes
    /// `word`: any text; found if it is in lower case and composed, as [`words`] yields it.
    ///
    /// # Cost
    /// log₂ n comparisons of words.
    pub fn find(&self, word: &str) -> Option<usize> {
        let [found] = self.find_each([word]);
        found
    }

    /// [`find`](Lexicon::find) for each of a few words.
    fn find_each<const N: usize>(&self, words: [&str; N]) -> [Option<usize>; N] {
        let indices = self.last_up_to(words.map(Key::new));
        let mut found = indices.into_iter().zip(words);
        array::from_fn(|_| {
            let (index, word) = found.next()?;
            (self.word(index) == Some(word)).then_some(index)
        })
    }

    /// For each text, the index of the last word ≤ it in byte order; 0 if there is none.
    fn last_up_to<const N: usize>(&self, mut texts: [Key<'_>; N]) -> [usize; N] {
        let mut found = [0; N];
        let mut left = self.word_count();
        while left > 1 {
            let half = left / 2;
            for (found, text) in found.iter_mut().zip(&texts) {
                *found = self.nearer(*found, *found + half, text);
            }
            left -= half;
        }
        for text in &mut texts {
            text.first.zeroize();
        }
        found
    }

    /// `middle` if the word there, which is not the first, is ≤ a text in byte order; else
    /// `before`.
    // `inline(always)`: a call takes as long as the comparison.
    #[inline(always)]
    fn nearer(&self, before: usize, middle: usize, text: &Key<'_>) -> usize {
        let ends = self.ends.get(middle.wrapping_sub(1)..=middle);
        let Some([start, end]) = ends.and_then(<[U32]>::first_chunk) else {
            return before;
        };
        let (start, end) = (start.get() as usize, end.get() as usize);
        let length = end.wrapping_sub(start);
        // Near the end of all words there are no bytes for a number.
        let number = self.text.as_bytes().get(start..start + size_of::<usize>());
        let number = number.and_then(<[u8]>::first_chunk).map(|number| {
            // No word is empty, so at least one byte remains.
            let beyond = 8 * size_of::<usize>().saturating_sub(length) as u32;
            usize::from_be_bytes(*number) & usize::MAX.wrapping_shl(beyond)
        });
        let is_after = match number {
            // Select, don't branch: this is unpredictable.
            Some(number) if number != text.first => {
                return hint::select_unpredictable(number > text.first, before, middle);
            }
            // Short words fit in their numbers, so a call is saved.
            Some(_) if VECTORS && length.max(text.bytes.len()) <= size_of::<usize>() => {
                length > text.bytes.len()
            }
            _ => part(self.text.as_bytes(), start..end) > text.bytes,
        };
        if is_after { before } else { middle }
    }

    /// The index of the longest word that `text` starts with.
    ///
    /// Let w be the last word ≤ `text`. Let x be any word that `text` starts with. Then x ≤ w, and
    /// all strings between x and `text` start with x. So x is a prefix of what w and `text` share.
    fn longest(&self, mut text: &str) -> Option<usize> {
        loop {
            let [index] = self.last_up_to([Key::new(text)]);
            let word = self.word(index)?;
            let pairs = text.chars().zip(word.chars());
            let equal = pairs.take_while(|(a, b)| a == b);
            let shared = equal.map(|(c, _)| c.len_utf8()).sum();
            if shared == word.len() {
                return Some(index);
            }
            // The first word is greater than all of the remaining text.
            if shared == text.len() {
                return None;
            }
            text = text.get(..shared)?;
        }
    }

    /// Calls `visit` for each place of a text, with the index of the longest word there, if any, by
    /// the rules of [`Matching::Longest`].
    ///
    /// # Shapes
    /// `text`: any bytes; bytes that are not UTF-8 separate words.
    pub fn each_longest_match(&self, text: &[u8], visit: impl FnMut(Option<usize>)) {
        let longest = |window: &str| {
            let index = self.longest(window)?;
            Some((index, self.word(index)?.len()))
        };
        each_place(text, longest, visit);
    }

    /// The weight, `0..=65535` for 0..=1, and the vector of the word at `index`.
    pub fn entry(&self, index: usize) -> Option<(u16, &'a [i8])> {
        let weight = self.weights.get(index)?.get();
        Some((weight, self.vectors().nth(index)?))
    }

    /// An integer `v` of a word's vector stands for `v` times 2^(this), in -16..=32.
    pub fn vector_exponent(&self) -> i32 {
        self.exponent() + FRACTION_BITS as i32
    }

    /// The vectors of all words, in order.
    pub(crate) fn vectors(&self) -> core::slice::ChunksExact<'a, i8> {
        self.vectors.chunks_exact(chunk_size(self.dimension))
    }

    /// The value of an integer of a word's vector, exactly.
    pub(crate) fn word_coordinate(&self, v: i8) -> f32 {
        self.scale.coordinate(i16::from(v) << FRACTION_BITS)
    }

    /// Writes the vector of one sentence to `out`.
    ///
    /// # Shapes
    /// `sentence`: one sentence, any bytes, because an error would depend on the text; bytes that
    /// are not UTF-8 separate words. `out`: `[dimension]` f32. Every coordinate becomes an integer
    /// in `-32767..=32767` times 2^exponent, all zero if no word is known. Words (places, for
    /// [`Matching::Longest`]) after the first 2^20 are left out.
    ///
    /// # Errors
    /// [`DimensionError`] if `out` has another length; nothing is written.
    pub fn sentence_vector(
        &self,
        sentence: impl AsRef<[u8]>,
        out: &mut [f32],
    ) -> Result<(), DimensionError> {
        if out.len() != self.dimension {
            return Err(DimensionError {
                expected: self.dimension,
                found: out.len(),
            });
        }
        let backend = Backend::best();
        self.mean(backend, sentence.as_ref(), out, |mean| {
            self.scale.coordinate(mean)
        });
        Ok(())
    }

    /// Writes [`sentence_vector`](Lexicon::sentence_vector) to the first coordinates of `out`, as
    /// integers at `scale`: the bits that [`to_fixed`](crate::fixed::to_fixed) would give.
    pub(crate) fn mean_at(&self, scale: Scale, backend: Backend, sentence: &[u8], out: &mut [i16]) {
        let exponent = self.exponent() + scale.exponent();
        self.mean(backend, sentence, out, |mean| rescale(mean, exponent));
    }

    /// Writes the vector of one sentence to the first coordinates of `out`. `convert` gets each
    /// coordinate as an integer, in units of 2^[`exponent`](Lexicon::exponent), because a buffer
    /// for integers would take another KiB of stack.
    // `inline(never)`: callers with other buffers would need the stack for both.
    #[inline(never)]
    fn mean<T>(
        &self,
        backend: Backend,
        sentence: &[u8],
        out: &mut [T],
        convert: impl Fn(i16) -> T,
    ) {
        // A word and the phrase that it ends add at most 2^24 to a sum, and `Quotient::rounded`
        // takes sums times 2^8.
        let mut sums = [0i64; MAX_LEXICON_DIMENSION as usize];
        let mut add = |(weight, vector): (u16, &[i8])| {
            backend.add_weighted(weight, vector, &mut sums);
            i64::from(weight)
        };
        let mut total: i64 = 0;
        match self.matching {
            Matching::Words => {
                let mut words = Words::new(sentence);
                let mut few: [Word; TOGETHER] = Default::default();
                let mut left = MAX_WORDS_IN_SENTENCE;
                let mut before = None;
                loop {
                    let mut count = 0;
                    while count < left
                        && let Some(word) = few.get_mut(count)
                        && words.read_word(word)
                    {
                        count += 1;
                    }
                    if count == 0 {
                        break;
                    }
                    left -= count;
                    let found = self.find_each(few.each_ref().map(|word| word.as_str()));
                    for found in found.into_iter().take(count) {
                        if let Some(entry) = found.and_then(|index| self.entry(index)) {
                            total += add(entry);
                        }
                        let phrase = before
                            .zip(found)
                            .and_then(|(a, b)| self.find_phrase([a, b]));
                        if let Some(entry) = phrase.and_then(|index| self.phrase_entry(index)) {
                            add(entry);
                        }
                        before = found;
                    }
                }
                few.zeroize();
                before.zeroize();
            }
            Matching::Longest if !ANY_LANGUAGE => {}
            Matching::Longest => {
                let mut left = MAX_WORDS_IN_SENTENCE;
                self.each_longest_match(sentence, |found| {
                    let found = found.filter(|_| left > 0);
                    if let Some(entry) = found.and_then(|index| self.entry(index)) {
                        total += add(entry);
                    }
                    left = left.saturating_sub(1);
                });
            }
        }
        let mean = Quotient::new(total);
        for (out, sum) in out.iter_mut().zip(&sums).take(self.dimension) {
            // Without phrases |sum| ≤ 128·total, so only a sum of −128·total is clamped.
            *out = convert(mean.rounded(sum << FRACTION_BITS));
        }
        sums.zeroize();
    }
}

/// The number of words looked up together. Where a processor reads ahead, their reads overlap.
const TOGETHER: usize = if cfg!(target_pointer_width = "64") {
    4
} else {
    1
};

/// A text to compare with words.
struct Key<'t> {
    bytes: &'t [u8],
    /// The first bytes as a big-endian number, padded with zeroes: it orders texts as bytes do.
    first: usize,
}

impl<'t> Key<'t> {
    fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut first = [0; size_of::<usize>()];
        for (to, from) in first.iter_mut().zip(bytes) {
            *to = *from;
        }
        let first = usize::from_be_bytes(first);
        Self { bytes, first }
    }
}

/// The indices of the words of a phrase.
fn phrase_words(pair: &[U16; 2]) -> [usize; 2] {
    pair.map(|word| usize::from(word.get()))
}

/// Quotients by one divisor, rounded to the nearest integer, ties towards +∞, and clamped to
/// ±32767; 0 if the divisor is 0. All share one division, which takes as long as ten
/// multiplications.
struct Quotient {
    /// Twice the divisor, below 2^41.
    doubled: u64,
    /// ⌊(2^64 − 1) / doubled⌋.
    reciprocal: u64,
}

impl Quotient {
    /// Added to quotients so that none is negative.
    const MIDDLE: i64 = 1 << 15;

    /// `divisor`: at least 0, below 2^40.
    fn new(divisor: i64) -> Self {
        let doubled = 2 * divisor.unsigned_abs();
        Self {
            doubled,
            reciprocal: u64::MAX.checked_div(doubled).unwrap_or(0),
        }
    }

    /// |`dividend`| is below 2^61.
    fn rounded(&self, dividend: i64) -> i16 {
        let doubled = self.doubled.cast_signed();
        // Dividends of quotients beyond 16 bits are clamped, so nothing below overflows.
        let most = Self::MIDDLE * doubled;
        // `clamp` would keep a panic, because the compiler cannot rule out −most > most.
        let dividend = (2 * dividend).max(-most).min(most) + doubled / 2 + most;
        let dividend = dividend.unsigned_abs();
        let estimate = ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64;
        // dividend ≤ 2^16·doubled + doubled / 2 < 2^64, so the estimate is too small by 1 at most.
        let rest = dividend.wrapping_sub(estimate.wrapping_mul(self.doubled));
        let quotient = estimate.cast_signed() + i64::from(rest >= self.doubled && rest > 0);
        let quotient = if self.doubled == 0 {
            Self::MIDDLE
        } else {
            quotient
        };
        (quotient - Self::MIDDLE).clamp((-i16::MAX).into(), i16::MAX.into()) as i16
    }
}

/// A vector of the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a vector of {found} coordinates, but {expected} are needed")]
pub struct DimensionError {
    /// The length needed.
    pub expected: usize,
    /// The length given.
    pub found: usize,
}

#[cfg(test)]
impl Lexicon<'static> {
    /// A lexicon of ascending words without vectors. Its memory is never freed.
    pub(crate) fn from_words(words: &[&str], matching: Matching) -> Self {
        let mut end = 0;
        let ends = words.iter().map(|word| {
            end += word.len() as u32;
            U32::new(end)
        });
        Self {
            dimension: 1,
            matching,
            scale: scale(0).unwrap(),
            ends: ends.collect::<std::vec::Vec<_>>().leak(),
            weights: &[],
            vectors: &[],
            text: words.concat().leak(),
            phrases: Phrases::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PublicRng;
    use rand_core::Rng;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    /// Words and texts that share their first bytes, some of them prefixes of others, with fewer
    /// and more bytes than a `usize`.
    #[test]
    fn searches_find_what_is_there() {
        let mut rng = PublicRng::new(6);
        for count in (1..20).chain([100, 1000]) {
            let mut text = |most| -> std::string::String {
                let length = rng.next_u32() % most;
                let letters = (0..length).map(|_| match rng.next_u32() % 16 {
                    0 => '\0',
                    1 => 'é',
                    2 => '\u{10ffff}',
                    3..8 => 'b',
                    _ => 'a',
                });
                letters.collect()
            };
            let words: BTreeSet<_> = (0..count).map(|_| text(12) + "a").collect();
            let words: Vec<_> = words.into_iter().collect();
            let listed: Vec<_> = words.iter().map(|word| word.as_str()).collect();
            let lexicon = Lexicon::from_words(&listed, Matching::Words);
            let texts: Vec<_> = (0..400).map(|_| text(16)).collect();
            let texts = texts.iter().chain(&words);
            let texts: Vec<_> = texts.map(|text| text.as_str()).collect();
            let place = |text: &str| words.iter().position(|word| word == text);
            for few in texts.as_chunks::<3>().0 {
                assert_eq!(lexicon.find_each(*few), few.map(place), "{few:?}");
            }
            for text in texts {
                assert_eq!(lexicon.find(text), place(text), "{text:?}");
                let starts = words.iter().filter(|word| text.starts_with(word.as_str()));
                let longest = starts.max_by_key(|word| word.len());
                let longest = longest.and_then(|word| place(word));
                assert_eq!(lexicon.longest(text), longest, "{text:?}");
            }
        }
    }

    #[test]
    fn quotients_are_those_of_divisions() {
        assert_eq!(Quotient::new(0).rounded(5), 0);
        let mut rng = PublicRng::new(5);
        for _ in 0..100_000 {
            let divisor = 1 + (rng.next_u64() >> (24 + rng.next_u32() % 40)).cast_signed();
            let wide = i128::from(rng.next_u64().cast_signed()) * i128::from(divisor);
            // About as large as the largest quotient, or about half-way between two.
            let near = (wide >> 47) * i128::from(1 + rng.next_u32() % 3) / 2;
            let half = divisor * i64::from(rng.next_u32() as i16) / 2;
            let step = i64::from(rng.next_u32() % 3) - 1;
            let near = (near as i64).clamp(-(1 << 60), 1 << 60);
            for dividend in [near, half + step, 0, 1 << 60, -(1 << 60)] {
                let quotient = (dividend * 2 + divisor).div_euclid(divisor * 2);
                let expected = quotient.clamp((-i16::MAX).into(), i16::MAX.into());
                let found = Quotient::new(divisor).rounded(dividend);
                assert_eq!(i64::from(found), expected, "{dividend}/{divisor}");
            }
        }
    }
}
