//! Sparse heads: what the words and letters of a sentence say for each candidate, without an encoder.
//!
//! A *feature* of a sentence is one of its words, a pair of neighbouring words, or a run of characters inside a word.
//! Features are hashed (Weinberger et al. 2009); a pack keeps those that tell candidates apart, each with a row of 8-bit
//! weights. The value of a sentence for a candidate is the sum of the weights of its features, divided by the square root
//! of their number. It is added to what the head of [`scores`](crate::scores) makes of the sentence's coordinates.
//!
//! # Guarantee
//! None of its own: this is a public function of one sentence, so the guarantee of [`scores`](crate::scores) holds for
//! any section of features whatever.
//!
//! # Leaks
//! Time and the addresses read depend on the text: this step runs on the device, before the document.
//!
//! # Words of any script
//! A word is a longest run of letters and digits, as Unicode has them, with the marks that combine with them and the
//! apostrophes between them. Everything is lower-cased. Scripts that put no space between words (Han, kana, Thai, …) give
//! long words, which their runs of characters tell apart. Invalid UTF-8 separates words.
//!
//! # Source
//! Runs of characters: Bojanowski, Grave, Joulin and Mikolov 2017 (fastText). Hashing: Weinberger, Dasgupta, Langford,
//! Smola and Attenberg 2009. Fixed point, bitmaps and pruning are ours.

use subtle::{Choice, ConstantTimeEq};
use zerocopy::little_endian::U16;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::integers::{at_least, at_most, square_root_40};
use crate::kernels::lookup::{BATCH, MOST_TOGETHER, Table};
pub use crate::kernels::lookup::{ROWS_PER_START, place};
pub use crate::kernels::runs::MAX_GRAM;
use crate::kernels::runs::{Ends, GRAM, RUNS, finish, step};
use crate::kernels::{Backend, VECTORS};
use crate::pack::format::{
    FEATURES_ALONE, FEATURES_PAIRS, FEATURES_TAG, FEATURES_WORDS, FeaturesHead, MAX_FEATURES,
    RULES_FOR_WORDS,
};
use crate::pack::wire::{Arrays, PackError, within, zero};
use crate::text::{ANY_LANGUAGE, NEEDS_ANY_LANGUAGE, Words};

/// Features of a sentence that count, so that no sum can overflow.
const MAX_FEATURES_IN_SENTENCE: u32 = 1 << 20;

/// What counts as a feature of a sentence. Part of the pack, so that host and device agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureKinds {
    /// Every word.
    pub words: bool,
    /// Every two neighbouring words, in order.
    pub pairs: bool,
    /// Runs of characters inside a word have at least this many, the marks of its ends included; 1..=8.
    pub least: u8,
    /// And at most this many, `least..=8`; 0: none.
    pub most: u8,
}

/// Distinguishes what is hashed, as [`GRAM`] does.
#[derive(Clone, Copy)]
enum Kind {
    Word = 1,
    Pair = 2,
}

/// Marks both ends of a word: no character has this number.
const END: u32 = 0x0011_0000;

/// Calls `visit` with the hash of every feature of a text, as often as it occurs.
///
/// # Leaks
/// Time depends on the text.
///
/// # Shapes
/// `text`: any bytes, one sentence.
///
/// # Cost
/// Linear in the text, times the number of lengths of runs; no heap, 200 bytes of stack.
pub fn each_feature(text: &[u8], kinds: FeatureKinds, visit: impl FnMut(u32)) {
    visit_features(text, kinds, visit);
}

/// What is done with the features of a text.
trait Visit {
    /// Takes a feature by its hash.
    fn visit(&mut self, hash: u32);

    /// Takes a character, the last one of runs of up to `longest`, if it hashes them itself.
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
    reader.wipe();
}

/// The features of words, character by character.
struct Reader<F> {
    kinds: FeatureKinds,
    visit: F,
    /// The hash of the word so far, if inside one.
    word: Option<u32>,
    /// The hash of the word before.
    before: Option<u32>,
    /// The last characters of the word, the newest first.
    window: [u32; MAX_GRAM],
    /// How many of them there are.
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
                Kind::Word as u32
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
            // The mark of an end alone says nothing.
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
            self.visit
                .visit(finish(step(step(Kind::Pair as u32, before), word)));
        }
        self.before = Some(word);
    }

    fn wipe(&mut self) {
        self.word.zeroize();
        self.before.zeroize();
        self.window.zeroize();
        self.length.zeroize();
    }
}

/// The features of a pack that a device reads. Parsing refuses them without [`ANY_LANGUAGE`], and here the compiler
/// hears of it.
pub(crate) fn read<'f, 'a>(features: &'f Option<Features<'a>>) -> Option<&'f Features<'a>> {
    features.as_ref().filter(|_| ANY_LANGUAGE)
}

/// A checked view of a section of features.
#[derive(Clone, Copy, Debug)]
pub struct Features<'a> {
    kinds: FeatureKinds,
    alone: bool,
    shift: u32,
    table: Table<'a>,
    /// `[candidates]`.
    scales: &'a [U16],
}

impl<'a> Features<'a> {
    /// Checks a section: whether [`view`](Features::view) may be used.
    pub(crate) fn check(section: &'a [u8], candidates: u32) -> Result<(), PackError> {
        let fail = |reason| PackError::Section {
            tag: FEATURES_TAG,
            reason,
        };
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

    /// The arrays of a section. A pack keeps its bytes alone, and so has room for more in the memory that C programs give it.
    pub(crate) fn view(section: &'a [u8], candidates: u32) -> Result<Self, PackError> {
        let (head, mut arrays) = Arrays::open::<FeaturesHead>(FEATURES_TAG, section)?;
        let features = within(
            "number of features",
            head.feature_count.get(),
            1,
            MAX_FEATURES,
        )?;
        let features = features as usize;
        let found = head.candidate_count.get();
        within(
            "number of candidates with features",
            found,
            candidates,
            candidates,
        )?;
        let bucket_bits = within(
            "bits of a bucket of features",
            head.bucket_bits.into(),
            0,
            16,
        )?;
        within(
            "rules for words",
            head.rules.into(),
            1,
            RULES_FOR_WORDS.into(),
        )?;
        within("kinds of features", head.kinds.into(), 0, 7)?;
        let most = within(
            "longest run of characters",
            head.most.into(),
            0,
            MAX_GRAM as u32,
        )?;
        let least = within(
            "shortest run of characters",
            head.least.into(),
            1,
            most.max(1),
        )?;
        let shift = within("shift of features", head.shift.into(), 0, 63)?;
        zero("reserved features field", head.reserved.into())?;
        let candidates = candidates as usize;
        let flag = |bit: u8| head.kinds & bit != 0;
        let parsed = Self {
            kinds: FeatureKinds {
                words: flag(FEATURES_WORDS),
                pairs: flag(FEATURES_PAIRS),
                least: least as u8,
                most: most as u8,
            },
            alone: flag(FEATURES_ALONE),
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

    /// What counts as a feature.
    pub fn kinds(&self) -> FeatureKinds {
        self.kinds
    }

    /// Whether the pack has nothing but features: a sentence needs no coordinates.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Adds the weights of the features of a sentence to `sums`, `[candidates]`, and returns what they are
    /// divided by.
    pub(crate) fn add(&self, backend: Backend, sentence: &[u8], sums: &mut [i32]) -> Divisor {
        let mut batch = Batch {
            backend,
            table: &self.table,
            sums,
            kinds: self.kinds,
            hashes: [0; WAITING],
            waiting: 0,
            found: 0,
            together: VECTORS && sentence.len() <= FEW_BYTES,
            ends: Ends::new(),
            characters: [0; ASCII],
        };
        visit_features(sentence, self.kinds, &mut batch);
        batch.add_runs();
        batch.add_waiting();
        batch.add_characters();
        let divisor = Divisor::new(batch.found);
        batch.wipe();
        divisor
    }

    /// What the features say for a candidate, in the units of a bias, from its sum.
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

/// A text as long has so few features that all of them count, in any order.
const FEW_BYTES: usize = 1 << 16;

/// Features that wait until they are looked up.
const WAITING: usize = if VECTORS { 256 } else { BATCH };

/// Features of a sentence that are looked up together.
struct Batch<'b, 'a> {
    backend: Backend,
    table: &'b Table<'a>,
    sums: &'b mut [i32],
    kinds: FeatureKinds,
    /// Those that wait, and others.
    hashes: [u32; WAITING],
    waiting: usize,
    found: u32,
    /// Whether runs of characters are hashed together, and those of one character wait until the end: they occur often, and
    /// are looked up once.
    together: bool,
    /// The characters that runs end with which are hashed next.
    ends: Ends,
    /// How often each of those that wait has occurred.
    characters: [u8; ASCII],
}

impl Visit for &mut Batch<'_, '_> {
    #[inline]
    fn visit(&mut self, hash: u32) {
        self.push(hash);
    }

    #[inline]
    fn take(&mut self, c: u32, longest: usize) -> bool {
        if !(VECTORS && self.together) {
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
        if self.waiting >= WAITING {
            self.add_waiting();
        }
        if let Some(place) = self.hashes.get_mut(self.waiting) {
            *place = hash;
        }
        self.waiting += 1;
    }

    /// Looks up the features that wait.
    #[inline(never)]
    fn add_waiting(&mut self) {
        let hashes = self.hashes.get(..self.waiting).unwrap_or_default();
        for hashes in hashes.chunks(BATCH).take(WAITING / BATCH) {
            let left = MAX_FEATURES_IN_SENTENCE - self.found;
            let (backend, table) = (self.backend, self.table);
            self.found += backend.add_features(table, hashes, None, left, self.sums);
        }
        self.waiting = 0;
    }

    /// Looks up the first features, which occur so often each.
    fn add(&mut self, hashes: &[u32; BATCH], times: &[u8; BATCH], count: usize) {
        let left = MAX_FEATURES_IN_SENTENCE - self.found;
        let (backend, table) = (self.backend, self.table);
        let hashes = hashes.get(..count).unwrap_or_default();
        self.found += backend.add_features(table, hashes, Some(times), left, self.sums);
    }

    /// Hashes the runs of two and more characters that end where characters wait.
    fn add_runs(&mut self) {
        if !(VECTORS && self.together) {
            return;
        }
        if self.waiting + RUNS > WAITING {
            self.add_waiting();
        }
        let least = self.kinds.least.max(2);
        let hashes = self.hashes.get_mut(self.waiting..).unwrap_or_default();
        if let Some(hashes) = hashes.first_chunk_mut() {
            let (backend, ends) = (self.backend, &self.ends);
            self.waiting += backend.hash_runs(ends, least, self.kinds.most, hashes);
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
                    self.add_waiting();
                    self.add_characters();
                }
            }
            None => self.push(finish(step(GRAM, c))),
        }
    }

    /// Looks up the characters that were counted. No other features wait.
    #[inline(never)]
    fn add_characters(&mut self) {
        if !(VECTORS && self.together) {
            return;
        }
        let mut hashes = [0; BATCH];
        let mut times = [0; BATCH];
        let (mut waiting, mut together) = (0, 0);
        for start in (0..ASCII).step_by(8) {
            let eight = self.characters.get(start..).and_then(<[u8]>::first_chunk);
            let mut eight = eight.map_or(0, |eight| u64::from_le_bytes(*eight));
            while eight != 0 {
                let place = eight.trailing_zeros() & !7;
                let count = (eight >> place) as u8;
                together += usize::from(count);
                if waiting == BATCH || together > MOST_TOGETHER {
                    self.add(&hashes, &times, waiting);
                    (waiting, together) = (0, count.into());
                }
                let c = start as u32 + place / 8;
                if let (Some(hash), Some(times)) = (hashes.get_mut(waiting), times.get_mut(waiting))
                {
                    *hash = finish(step(GRAM, c));
                    *times = count;
                }
                waiting += 1;
                eight &= !(0xff << place);
            }
        }
        self.add(&hashes, &times, waiting);
        wipe(&mut hashes);
        wipe(&mut times);
        wipe(&mut self.characters);
    }

    fn wipe(&mut self) {
        wipe(&mut self.hashes);
        self.waiting.zeroize();
        self.ends.wipe();
        self.found.zeroize();
    }
}

/// What features say at most, for or against a candidate.
const MOST: i64 = 1 << 30;

/// The square root of the number of known features, by which their weights are divided.
#[derive(Clone, Copy, Default)]
pub(crate) struct Divisor {
    /// ⌊√(2³² / features)⌋, 0 without one.
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

    /// Whether the pack knows a feature of the sentence.
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

    /// Words of any length and script, what stands between them, and what is no text.
    const PARTS: [&[u8]; 12] = [
        b"a",
        b"aa",
        b" ",
        b"Don't ",
        b"internationalisation",
        "Größe ".as_bytes(),
        "\u{130}stanbul".as_bytes(),
        "東京".as_bytes(),
        "e\u{301}’".as_bytes(),
        b"'",
        b"7, ",
        b"\xff",
    ];

    /// A pack that has every feature, also those that no text has.
    #[test]
    fn a_sentence_adds_the_features_that_it_has() {
        const CANDIDATES: usize = 8;
        const ROWS: usize = 1 << 16;
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
                least,
                most: if most < least { 0 } else { most },
            };
            let features = Features {
                kinds,
                alone: true,
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
            // Some are longer than what is read at once, and some have a letter more often than a byte counts.
            let length = [10, 100, 3_000][round % 3];
            let mut text = Vec::new();
            while text.len() < length {
                let part = PARTS[rng.next_u32() as usize % PARTS.len()];
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
