//! Sparse heads: weights for the words and letters of a sentence. They need no encoder.
//!
//! A *feature* of a sentence is one of its words, a pair of neighbouring words, a run of characters
//! inside a word, a symbol such as `!` or an emoji, or a pair of adjacent symbols. `FORMAT.md`
//! defines words and symbols. In scripts without spaces between words (Han, kana, Thai, …) words
//! are long, and runs of characters distinguish them. Features are hashed. A pack has the features
//! that distinguish candidates, each with a row of 8-bit weights. The value of a sentence for a
//! candidate is the sum of the weights of those of its features that the pack has, divided by the
//! square root of the number of these. It is added to the value that [`scores`](crate::scores)
//! computes from coordinates.
//!
//! # Guarantee
//! None of its own: this is a public function of one sentence, so the guarantee of
//! [`scores`](crate::scores) holds for all features and weights that a pack may have.
//!
//! # Leaks
//! The time and the memory addresses that are read depend on the text. This step runs on the
//! device, before the sentence is added to the document.
//!
//! # Source
//! Runs of characters: Bojanowski, Grave, Joulin and Mikolov 2017 (fastText). Hashing: Weinberger,
//! Dasgupta, Langford, Smola and Attenberg 2009. Fixed point, bitmaps and pruning are ours.

use subtle::{Choice, ConstantTimeEq};
use zerocopy::little_endian::U16;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::checked::{part, part_mut};
use crate::integers::{at_least, at_most, square_root_40};
use crate::kernels::lookup::{BATCH, MOST_TOGETHER, Table};
pub use crate::kernels::lookup::{ROWS_PER_START, place};
pub use crate::kernels::runs::MAX_GRAM;
use crate::kernels::runs::{Ends, GRAM, RUNS, finish, step};
use crate::kernels::{Backend, VECTORS};
use crate::pack::format::{
    FEATURES_ALONE, FEATURES_PAIRS, FEATURES_SYMBOLS, FEATURES_TAG, FEATURES_WHOLE, FEATURES_WORDS,
    FeaturesHead, MAX_FEATURES, RULES_FOR_WORDS,
};
use crate::pack::wire::{Arrays, PackError, within, zero};
use crate::text::{ANY_LANGUAGE, NEEDS_ANY_LANGUAGE, Words, each_symbol};

/// The largest number of features of a sentence that are counted, so that no sum can overflow.
const MAX_FEATURES_IN_SENTENCE: u32 = 1 << 20;

/// The features of a sentence that a pack uses, so that host and device agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureKinds {
    /// Every word.
    pub words: bool,
    /// Every two neighbouring words, in order.
    pub pairs: bool,
    /// Every symbol, and every two adjacent symbols.
    pub symbols: bool,
    /// The least number of characters in a run, the marks of word ends included; 1..=8.
    pub least: u8,
    /// The largest number, `least..=8`; 0: no runs.
    pub most: u8,
}

/// The hashes from which words, pairs and symbols start; runs start from [`GRAM`].
const WORD: u32 = 1;
const PAIR: u32 = 2;
const SYMBOL: u32 = 4;

/// The mark of both ends of a word; no character has this number.
const END: u32 = 0x0011_0000;

/// Calls `visit` with the hash of every feature of a text, once for each occurrence.
///
/// # Shapes
/// `text`: any bytes, one sentence.
///
/// # Cost
/// Linear in the text, times the number of lengths of runs; no heap, 200 bytes of stack.
pub fn each_feature(text: &[u8], kinds: FeatureKinds, visit: impl FnMut(u32)) {
    visit_features(text, kinds, visit);
}

/// A receiver of the features of a text.
trait Visit {
    /// Takes a feature by its hash.
    fn visit(&mut self, hash: u32);

    /// Takes the last character of runs of up to `longest` characters. Returns false if the caller
    /// has to hash the runs.
    fn take(&mut self, _c: u32, _longest: usize) -> bool {
        false
    }
}

impl<F: FnMut(u32)> Visit for F {
    fn visit(&mut self, hash: u32) {
        self(hash);
    }
}

fn visit_features(text: &[u8], kinds: FeatureKinds, visit: impl Visit) {
    let mut reader = Reader {
        kinds,
        visit,
        word: None,
        before: None,
        window: [0; MAX_GRAM],
        length: 0,
    };
    let mut words = Words::new(text);
    while words.read(|c| reader.push(c)) {
        reader.end_word();
    }
    if kinds.symbols {
        reader.before = None;
        each_symbol(text, |symbol| reader.symbol(symbol));
    }
    reader.wipe();
}

/// The features of words, character by character.
struct Reader<F> {
    kinds: FeatureKinds,
    visit: F,
    /// The hash of the word so far, if inside one.
    word: Option<u32>,
    /// The hash of the word before, or the symbol before.
    before: Option<u32>,
    /// The last characters of the word, the newest first.
    window: [u32; MAX_GRAM],
    /// The number of characters in the window.
    length: usize,
}

impl<F: Visit> Reader<F> {
    #[inline]
    fn push(&mut self, c: char) {
        let word = match self.word {
            Some(word) => word,
            None => {
                self.length = 0;
                self.gram(END);
                WORD
            }
        };
        self.word = Some(step(word, c.into()));
        self.gram(c.into());
    }

    /// Adds a character of a word.
    fn gram(&mut self, c: u32) {
        self.length = (self.length + 1).min(MAX_GRAM);
        let longest = self.length.min(self.kinds.most.into());
        if !self.visit.take(c, longest) {
            self.visit_runs(c, longest);
        }
    }

    /// Adds a character to the window, and visits the runs that end with it.
    fn visit_runs(&mut self, c: u32, longest: usize) {
        let [a, b, c1, d, e, f, g, _] = self.window;
        self.window = [c, a, b, c1, d, e, f, g];
        let mut hash = GRAM;
        for (length, c) in (1..=longest).zip(&self.window) {
            hash = step(hash, *c);
            // The mark of an end alone is no run.
            if length >= usize::from(self.kinds.least) && (length > 1 || *c != END) {
                self.visit.visit(finish(hash));
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        self.gram(END);
        if self.kinds.words {
            self.visit.visit(finish(word));
        }
        if self.kinds.pairs
            && let Some(before) = self.before
        {
            self.visit.visit(finish(step(step(PAIR, before), word)));
        }
        self.before = Some(word);
    }

    /// Adds a symbol; `None` separates symbols.
    fn symbol(&mut self, symbol: Option<char>) {
        let symbol = symbol.map(u32::from);
        if let Some(symbol) = symbol {
            let hash = step(SYMBOL, symbol);
            self.visit.visit(finish(hash));
            if let Some(before) = self.before {
                self.visit.visit(finish(step(hash, before)));
            }
        }
        self.before = symbol;
    }

    fn wipe(&mut self) {
        self.word.zeroize();
        self.before.zeroize();
        self.window.zeroize();
        self.length.zeroize();
    }
}

/// The features of a pack, if this build reads any. Without [`ANY_LANGUAGE`] parsing refuses
/// them, and this lets the compiler drop the code that uses them.
pub(crate) fn read<'f, 'a>(features: &'f Option<Features<'a>>) -> Option<&'f Features<'a>> {
    features.as_ref().filter(|_| ANY_LANGUAGE)
}

/// A checked view of a section of features.
#[derive(Clone, Copy, Debug)]
pub struct Features<'a> {
    kinds: FeatureKinds,
    alone: bool,
    whole: bool,
    shift: u32,
    table: Table<'a>,
    /// `[candidates]`.
    scales: &'a [U16],
}

impl<'a> Features<'a> {
    /// Checks a section: whether [`view`](Features::view) may be used.
    pub(crate) fn check(section: &'a [u8], candidates: u32) -> Result<(), PackError> {
        let fail = |reason| PackError::section(FEATURES_TAG, reason);
        if !ANY_LANGUAGE {
            return Err(fail(NEEDS_ANY_LANGUAGE));
        }
        let features = Self::view(section, candidates)?;
        if !features.table.buckets_are_sound() {
            return Err(fail("has buckets that do not cover its keys in order"));
        }
        if !features.table.rows_are_sound() {
            return Err(fail("has rows that do not cover its weights in order"));
        }
        Ok(())
    }

    /// The arrays of a section. A pack retains the bytes of the section only, so that it fits the
    /// memory that C programs give it.
    pub(crate) fn view(section: &'a [u8], candidates: u32) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<FeaturesHead>(FEATURES_TAG, section)?;
        let small = |name, found: u8, least, most| within(name, found.into(), least, most);
        let features = head.feature_count.get();
        let features = within("number of features", features, 1, MAX_FEATURES)? as usize;
        let found = head.candidate_count.get();
        let name = "number of candidates with features";
        within(name, found, candidates, candidates)?;
        let bucket_bits = small("bits of a bucket of features", head.bucket_bits, 0, 16)?;
        small("rules for words", head.rules, 1, RULES_FOR_WORDS.into())?;
        small("kinds of features", head.kinds, 0, 31)?;
        let most = small("longest run of characters", head.most, 0, MAX_GRAM as u32)?;
        small("shortest run of characters", head.least, 1, most.max(1))?;
        let shift = small("shift of features", head.shift, 0, 63)?;
        zero("reserved features field", head.reserved.into())?;
        let candidates = candidates as usize;
        let flag = |bit: u8| head.kinds & bit != 0;
        if flag(FEATURES_WHOLE) && !flag(FEATURES_ALONE) {
            let reason = "takes whole texts, but needs an encoder";
            return Err(PackError::section(FEATURES_TAG, reason));
        }
        let parsed = Self {
            kinds: FeatureKinds {
                words: flag(FEATURES_WORDS),
                pairs: flag(FEATURES_PAIRS),
                symbols: flag(FEATURES_SYMBOLS),
                least: head.least,
                most: head.most,
            },
            alone: flag(FEATURES_ALONE),
            whole: flag(FEATURES_WHOLE),
            shift,
            table: Table {
                candidates,
                bucket_bits,
                buckets: arrays.next((1 << bucket_bits) + 1, 1)?,
                keys: arrays.next(features, 1)?,
                bitmaps: arrays.next(features, candidates.div_ceil(8))?,
                starts: arrays.next(features.div_ceil(ROWS_PER_START), 1)?,
                weights: arrays.next(head.weight_count.get() as usize, 1)?,
            },
            scales: arrays.next(candidates, 1)?,
        };
        arrays.finish()?;
        Ok(parsed)
    }

    /// The number of features, `1..=1048576`.
    pub fn feature_count(&self) -> usize {
        self.table.keys.len()
    }

    /// The features that the pack uses.
    pub fn kinds(&self) -> FeatureKinds {
        self.kinds
    }

    /// Whether sentences need no coordinates, because the pack has no encoder.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether the pack takes a whole text as one sentence. A pack that does has no encoder.
    pub fn takes_whole_texts(&self) -> bool {
        self.whole
    }

    /// Adds the weights of the features of a sentence to `sums`, `[candidates]`, and returns the
    /// divisor of the sums.
    pub(crate) fn add(&self, backend: Backend, sentence: &[u8], sums: &mut [i32]) -> Divisor {
        let mut batch = Batch {
            backend,
            table: &self.table,
            sums,
            kinds: self.kinds,
            hashes: [0; PENDING],
            pending: 0,
            found: 0,
            is_short: VECTORS && sentence.len() <= FEW_BYTES,
            ends: Ends::new(),
            characters: [0; ASCII],
        };
        visit_features(sentence, self.kinds, &mut batch);
        batch.add_runs();
        batch.look_up();
        batch.add_characters();
        let divisor = Divisor::new(batch.found);
        batch.wipe();
        divisor
    }

    /// The value of a candidate with this sum, in the units of a bias.
    pub(crate) fn value(&self, candidate: usize, sum: i32, divisor: Divisor) -> i64 {
        let scale = self.scales.get(candidate).map_or(0, |scale| scale.get());
        // |sum| < 2^27, scale < 2^16, root ≤ 2^16: no overflow.
        let value = i64::from(sum) * i64::from(scale) * i64::from(divisor.root);
        let value = value >> self.shift;
        at_least(at_most(value, MOST), -MOST)
    }
}

/// Characters of ASCII.
const ASCII: usize = 128;

/// No text of so few bytes has more than [`MAX_FEATURES_IN_SENTENCE`], so the order of its features
/// does not matter.
const FEW_BYTES: usize = 1 << 16;

/// The largest number of pending features, which are looked up together.
const PENDING: usize = if VECTORS { 256 } else { BATCH };

/// Features of a sentence that are looked up together.
struct Batch<'b, 'a> {
    backend: Backend,
    table: &'b Table<'a>,
    sums: &'b mut [i32],
    kinds: FeatureKinds,
    /// Pending hashes, then unused slots.
    hashes: [u32; PENDING],
    /// The number of pending hashes.
    pending: usize,
    /// The number of features found in the table.
    found: u32,
    /// Whether runs of characters are hashed together, and single characters, which occur often,
    /// are counted and looked up at the end.
    is_short: bool,
    /// The last characters of the runs to hash next.
    ends: Ends,
    /// The number of occurrences of each character since they were last looked up.
    characters: [u8; ASCII],
}

impl Visit for &mut Batch<'_, '_> {
    #[inline]
    fn visit(&mut self, hash: u32) {
        self.push(hash);
    }

    #[inline]
    fn take(&mut self, c: u32, longest: usize) -> bool {
        if !(VECTORS && self.is_short) {
            return false;
        }
        if self.kinds.least == 1 && longest > 0 && c != END {
            self.add_character(c);
        }
        if self.ends.push(c, longest as u8) {
            self.add_runs();
        }
        true
    }
}

impl Batch<'_, '_> {
    #[inline]
    fn push(&mut self, hash: u32) {
        if self.pending >= PENDING {
            self.look_up();
        }
        if let Some(place) = self.hashes.get_mut(self.pending) {
            *place = hash;
        }
        self.pending += 1;
    }

    /// Looks up the pending features.
    #[inline(never)]
    fn look_up(&mut self) {
        let hashes = part(&self.hashes, ..self.pending);
        for hashes in hashes.chunks(BATCH).take(PENDING / BATCH) {
            let left = MAX_FEATURES_IN_SENTENCE - self.found;
            let (backend, table) = (self.backend, self.table);
            self.found += backend.add_features(table, hashes, None, left, self.sums);
        }
        self.pending = 0;
    }

    /// Looks up the first `count` features, each with its number of occurrences.
    fn add(&mut self, hashes: &[u32; BATCH], times: &[u8; BATCH], count: usize) {
        let left = MAX_FEATURES_IN_SENTENCE - self.found;
        let (backend, table) = (self.backend, self.table);
        let hashes = part(hashes, ..count);
        self.found += backend.add_features(table, hashes, Some(times), left, self.sums);
    }

    /// Hashes the runs of two and more characters whose last characters are in `ends`.
    fn add_runs(&mut self) {
        if !(VECTORS && self.is_short) {
            return;
        }
        if self.pending + RUNS > PENDING {
            self.look_up();
        }
        let least = self.kinds.least.max(2);
        let hashes = part_mut(&mut self.hashes, self.pending..);
        if let Some(hashes) = hashes.first_chunk_mut() {
            let (backend, ends) = (self.backend, &self.ends);
            self.pending += backend.hash_runs(ends, least, self.kinds.most, hashes);
        }
        self.ends.pass();
    }

    /// Counts a run of one character.
    #[inline]
    fn add_character(&mut self, c: u32) {
        match self.characters.get_mut(c as usize) {
            Some(count) => {
                *count += 1;
                if usize::from(*count) == MOST_TOGETHER {
                    self.look_up();
                    self.add_characters();
                }
            }
            None => self.push(finish(step(GRAM, c))),
        }
    }

    /// Looks up the characters that were counted. No other features are pending.
    #[inline(never)]
    fn add_characters(&mut self) {
        if !(VECTORS && self.is_short) {
            return;
        }
        let mut hashes = [0; BATCH];
        let mut times = [0; BATCH];
        let (mut characters, mut occurrences) = (0, 0);
        for start in (0..ASCII).step_by(8) {
            let eight = self.characters.get(start..).and_then(<[u8]>::first_chunk);
            let mut eight = eight.map_or(0, |eight| u64::from_le_bytes(*eight));
            while eight != 0 {
                let place = eight.trailing_zeros() & !7;
                let count = (eight >> place) as u8;
                occurrences += usize::from(count);
                if characters == BATCH || occurrences > MOST_TOGETHER {
                    self.add(&hashes, &times, characters);
                    (characters, occurrences) = (0, count.into());
                }
                let c = start as u32 + place / 8;
                if let (Some(hash), Some(times)) =
                    (hashes.get_mut(characters), times.get_mut(characters))
                {
                    *hash = finish(step(GRAM, c));
                    *times = count;
                }
                characters += 1;
                eight &= !(0xff << place);
            }
        }
        self.add(&hashes, &times, characters);
        wipe(&mut hashes);
        wipe(&mut times);
        wipe(&mut self.characters);
    }

    fn wipe(&mut self) {
        wipe(&mut self.hashes);
        self.pending.zeroize();
        self.ends.wipe();
        self.found.zeroize();
    }
}

/// The largest value of features, for or against a candidate.
const MOST: i64 = 1 << 30;

/// The square root of the number of known features, by which their weights are divided.
#[derive(Clone, Copy, Default)]
pub(crate) struct Divisor {
    /// The inverse of that square root, times 2¹⁶: ⌊√(2³² / features)⌋, or 0 without features.
    root: u32,
}

impl Divisor {
    fn new(features: u32) -> Self {
        // At most 2^32.
        let quotient = (1u64 << 32).checked_div(features.into());
        Self {
            root: square_root_40(quotient.unwrap_or(0)),
        }
    }

    /// Whether the pack has a feature of the sentence.
    pub(crate) fn is_known(self) -> Choice {
        !self.root.ct_eq(&0)
    }

    pub(crate) fn wipe(&mut self) {
        self.root.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec;
    use std::vec::Vec;

    use rand_core::Rng;

    use super::*;
    use crate::rng::PublicRng;

    /// Words of any length and script, separators, and bytes that are no text.
    const PARTS: &str =
        "a|aa| |Don't |internationalisation|Größe |\u{130}stanbul|東京|e\u{301}’|'|7, |?!|🙂 ";

    /// The pack has every feature, including those that no text has.
    #[test]
    fn a_sentence_adds_the_features_that_it_has() {
        const CANDIDATES: usize = 8;
        const ROWS: usize = 1 << 16;
        let parts: Vec<_> = PARTS.split('|').map(str::as_bytes).collect();
        let parts = [&parts[..], &[b"\xff"]].concat();
        let mut rng = PublicRng::new(43);
        let buckets = [0.into(), (ROWS as u32).into()];
        let keys: Vec<U16> = (0..=u16::MAX).map(U16::new).collect();
        let starts = (0..ROWS).step_by(ROWS_PER_START);
        let starts: Vec<_> = starts
            .map(|row| ((CANDIDATES * row) as u32).into())
            .collect();
        let bitmaps = vec![0xff; ROWS];
        let weights: Vec<i8> = (0..CANDIDATES * ROWS)
            .map(|_| rng.next_u32() as i8 | 1)
            .collect();
        let mut known = 0;
        for round in 0..600 {
            let least = 1 + rng.next_u32() as u8 % 3;
            let most = (least - 1 + rng.next_u32() as u8 % 7).min(MAX_GRAM as u8);
            let kinds = FeatureKinds {
                words: rng.next_u32().is_multiple_of(2),
                pairs: rng.next_u32().is_multiple_of(2),
                symbols: rng.next_u32().is_multiple_of(2),
                least,
                most: if most < least { 0 } else { most },
            };
            let features = Features {
                kinds,
                alone: true,
                whole: false,
                shift: 0,
                table: Table {
                    candidates: CANDIDATES,
                    bucket_bits: 0,
                    buckets: &buckets,
                    keys: &keys,
                    bitmaps: &bitmaps,
                    starts: &starts,
                    weights: &weights,
                },
                scales: &[],
            };
            // Some texts are longer than a batch, and some have a letter more than 255 times.
            let length = [10, 100, 3_000][round % 3];
            let mut text = Vec::new();
            while text.len() < length {
                let part = parts[rng.next_u32() as usize % parts.len()];
                text.extend(part.repeat(1 + rng.next_u32() as usize % 4));
            }
            if round == 0 {
                text.resize(FEW_BYTES + 1, b'a');
            }

            let mut expected = [0i32; CANDIDATES];
            let mut count = 0;
            each_feature(&text, kinds, |hash| {
                let row = (hash >> 16) as usize * CANDIDATES;
                let row = &weights[row..row + CANDIDATES];
                for (sum, weight) in expected.iter_mut().zip(row) {
                    *sum += i32::from(*weight);
                }
                count += 1;
            });
            for backend in Backend::available() {
                let mut sums = [0; 64];
                let divisor = features.add(backend, &text, &mut sums);
                let (first, others) = sums.split_at(CANDIDATES);
                let text = String::from_utf8_lossy(&text);
                assert_eq!(first, expected, "{} {kinds:?} {text}", backend.name());
                assert_eq!(others, [0; 64 - CANDIDATES]);
                assert_eq!(divisor.root, Divisor::new(count).root);
            }
            known += count;
        }
        assert!(known > 100_000);
    }
}
