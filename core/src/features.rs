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
use zerocopy::little_endian::{U16, U32};
use zeroize::Zeroize;

use crate::integers::{at_least, at_most, square_root_64};
use crate::pack::format::{FEATURES_TAG, FeaturesHead, MAX_FEATURES};
use crate::pack::wire::{Arrays, PackError, within, zero};
use crate::script::is_mark;

/// The longest run of characters that can be a feature, with the marks of the ends of a word.
pub const MAX_GRAM: usize = 8;

/// Features of a sentence that count, so that no sum can overflow.
const MAX_FEATURES_IN_SENTENCE: u32 = 1 << 20;

/// Every so many rows one says where its weights start.
pub const ROWS_PER_START: usize = 16;

/// Keys that are looked at one after the other.
const FEW_KEYS: usize = 16;

/// Bits of a key below those of its bucket.
const KEY_BITS: u32 = 16;

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

/// Distinguishes what is hashed.
#[derive(Clone, Copy)]
enum Kind {
    Word = 1,
    Pair = 2,
    Gram = 3,
}

/// One character more. A multiplication of 32 bits is one step on a microcontroller.
fn step(hash: u32, next: u32) -> u32 {
    (hash.rotate_left(5) ^ next).wrapping_mul(0x9e37_79b1)
}

/// Spreads what was hashed over all bits (MurmurHash3's last step).
fn finish(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
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
    let mut reader = Reader {
        kinds,
        visit,
        word: None,
        before: None,
        window: [0; MAX_GRAM],
        length: 0,
        apostrophe: false,
    };
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            reader.read(c);
        }
        if !chunk.invalid().is_empty() {
            reader.end_word();
        }
    }
    reader.end_word();
    reader.wipe();
}

/// A text, character by character.
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
    /// Whether an apostrophe follows the word so far, which belongs to it if a letter comes next.
    apostrophe: bool,
}

impl<F: FnMut(u32)> Reader<F> {
    fn read(&mut self, c: char) {
        if c.is_alphanumeric() || self.word.is_some() && is_mark(c) {
            if core::mem::take(&mut self.apostrophe) {
                self.push('\'');
            }
            for lower in c.to_lowercase() {
                self.push(lower);
            }
        } else if matches!(c, '\'' | '’') && self.word.is_some() && !self.apostrophe {
            self.apostrophe = true;
        } else {
            self.end_word();
        }
    }

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

    /// Adds a character to the window, and visits the runs that end with it.
    fn gram(&mut self, c: u32) {
        let most = usize::from(self.kinds.most);
        self.window.copy_within(..MAX_GRAM - 1, 1);
        if let Some(newest) = self.window.first_mut() {
            *newest = c;
        }
        self.length = (self.length + 1).min(MAX_GRAM);
        let mut hash = Kind::Gram as u32;
        for (length, c) in (1..=most.min(self.length)).zip(&self.window) {
            hash = step(hash, *c);
            // The mark of an end alone says nothing.
            if length >= usize::from(self.kinds.least) && (length > 1 || *c != END) {
                (self.visit)(finish(hash));
            }
        }
    }

    fn end_word(&mut self) {
        self.apostrophe = false;
        let Some(word) = self.word.take() else {
            return;
        };
        self.gram(END);
        if self.kinds.words {
            (self.visit)(finish(word));
        }
        if self.kinds.pairs
            && let Some(before) = self.before
        {
            (self.visit)(finish(step(step(Kind::Pair as u32, before), word)));
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

/// A checked view of a section of features.
#[derive(Clone, Copy, Debug)]
pub struct Features<'a> {
    kinds: FeatureKinds,
    alone: bool,
    shift: u32,
    candidates: usize,
    /// 2^this many buckets.
    bucket_bits: u32,
    /// `[buckets + 1]`: where the keys of each bucket start.
    buckets: &'a [U32],
    /// `[features]`, ascending in each bucket.
    keys: &'a [U16],
    /// `[features][⌈candidates / 8⌉]`: which weights are not 0.
    bitmaps: &'a [u8],
    /// `[⌈features / 16⌉]`: where the weights of every sixteenth row start.
    starts: &'a [U32],
    /// The weights that are not 0, row by row.
    weights: &'a [i8],
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
        let features = Self::view(section, candidates)?;
        if !features.buckets_are_sound() {
            return Err(fail("has buckets that do not cover its keys in order"));
        }
        if !features.rows_are_sound() {
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
        within("rules for words", head.rules.into(), 1, 1)?;
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
                words: flag(1),
                pairs: flag(2),
                least: least as u8,
                most: most as u8,
            },
            alone: flag(4),
            shift,
            candidates,
            bucket_bits,
            buckets: arrays.next((1 << bucket_bits) + 1, 1)?,
            keys: arrays.next(features, 1)?,
            bitmaps: arrays.next(features, candidates.div_ceil(8))?,
            starts: arrays.next(features.div_ceil(ROWS_PER_START), 1)?,
            weights: arrays.next(head.weight_count.get() as usize, 1)?,
            scales: arrays.next(candidates, 1)?,
        };
        arrays.finish()?;
        Ok(parsed)
    }

    /// Whether every lookup finds what there is to find.
    fn buckets_are_sound(&self) -> bool {
        let mut start = 0;
        let ascending = |keys: &[U16]| keys.is_sorted_by(|a, b| a.get() < b.get());
        let covered = self.buckets.iter().all(|end| {
            let end = end.get() as usize;
            let sound = self.keys.get(start..end).is_some_and(ascending);
            start = end;
            sound
        });
        let first = self.buckets.first().is_some_and(|first| first.get() == 0);
        covered && first && start == self.keys.len()
    }

    /// Whether the bits of the bitmaps are those of the candidates, and count the weights.
    fn rows_are_sound(&self) -> bool {
        let bytes = self.row_bytes();
        // Bits after the last candidate.
        let beyond = (!0u8 << ((self.candidates - 1) % 8)) << 1;
        let mut weights = 0;
        let mut rows = self.bitmaps.chunks_exact(bytes).enumerate();
        let sound = rows.all(|(index, bitmap)| {
            let starts_here = index % ROWS_PER_START != 0
                || self
                    .starts
                    .get(index / ROWS_PER_START)
                    .map(|start| start.get() as usize)
                    == Some(weights);
            weights += bits(bitmap);
            starts_here && bitmap.last().is_some_and(|last| last & beyond == 0)
        });
        sound && weights == self.weights.len()
    }

    /// The bytes of a bitmap.
    fn row_bytes(&self) -> usize {
        // Parsing made sure of 1. The compiler does not know, and would keep a panic.
        self.candidates.div_ceil(8).max(1)
    }

    /// The number of features, `1..=1048576`.
    pub fn feature_count(&self) -> usize {
        self.keys.len()
    }

    /// What counts as a feature.
    pub fn kinds(&self) -> FeatureKinds {
        self.kinds
    }

    /// Whether the pack has nothing but features: a sentence needs no coordinates.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The row of the feature with this hash.
    fn find(&self, hash: u32) -> Option<usize> {
        let (bucket, key) = place(hash, self.bucket_bits);
        let mut start = self.buckets.get(bucket)?.get() as usize;
        let end = self.buckets.get(bucket + 1)?.get() as usize;
        let mut keys = self.keys.get(start..end)?;
        while keys.len() > FEW_KEYS {
            let (low, high) = keys.split_at_checked(keys.len() / 2)?;
            let is_high = high.first().is_some_and(|first| first.get() <= key);
            start += if is_high { low.len() } else { 0 };
            keys = if is_high { high } else { low };
        }
        // One after the other is faster than halving, which the processor cannot foresee.
        let index = keys.iter().position(|other| other.get() == key)?;
        Some(start + index)
    }

    /// The bitmap of a row, and its weights with all that follow.
    fn row(&self, index: usize) -> Option<(&'a [u8], &'a [i8])> {
        let bytes = self.row_bytes();
        let block = index / ROWS_PER_START;
        let passed = self
            .bitmaps
            .get(block * ROWS_PER_START * bytes..index * bytes)?;
        let start = self.starts.get(block)?.get() as usize + bits(passed);
        let bitmap = self.bitmaps.get(index * bytes..(index + 1) * bytes)?;
        Some((bitmap, self.weights.get(start..)?))
    }

    /// Adds the weights of the features of a sentence to `sums`, `[candidates]` i32 in bytes, and returns what they are
    /// divided by.
    pub(crate) fn add(&self, sentence: &[u8], sums: &mut [[u8; 4]]) -> Divisor {
        let mut found: u32 = 0;
        each_feature(sentence, self.kinds, |hash| {
            if let Some((bitmap, weights)) = self.find(hash).and_then(|index| self.row(index))
                && found < MAX_FEATURES_IN_SENTENCE
            {
                found += 1;
                add_row(bitmap, weights, sums);
            }
        });
        let divisor = Divisor::new(found);
        found.zeroize();
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
        let quotient = (1u64 << 32).checked_div(features.into());
        Self {
            root: square_root_64(quotient.unwrap_or(0)),
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

/// Adds the weights of one row.
fn add_row(bitmap: &[u8], mut weights: &[i8], sums: &mut [[u8; 4]]) {
    let (eights, rest) = sums.as_chunks_mut::<8>();
    let mut bytes = bitmap.iter();
    for (sums, byte) in eights.iter_mut().zip(&mut bytes) {
        let used = byte.count_ones() as usize;
        if let (u8::MAX, Some(row)) = (*byte, weights.first_chunk::<8>()) {
            for (sum, weight) in sums.iter_mut().zip(row) {
                add_weight(sum, *weight);
            }
        } else {
            add_some(*byte, weights, sums);
        }
        weights = weights.get(used..).unwrap_or_default();
    }
    if let Some(byte) = bytes.next() {
        add_some(*byte, weights, rest);
    }
}

/// Adds one weight for each bit that is set.
fn add_some(byte: u8, weights: &[i8], sums: &mut [[u8; 4]]) {
    let mut left = byte;
    for weight in weights {
        if left == 0 {
            break;
        }
        // Parsing made sure that a bit has a candidate.
        if let Some(sum) = sums.get_mut(left.trailing_zeros() as usize) {
            add_weight(sum, *weight);
        }
        left &= left - 1;
    }
}

fn add_weight(sum: &mut [u8; 4], weight: i8) {
    *sum = i32::from_le_bytes(*sum)
        .wrapping_add(i32::from(weight))
        .to_le_bytes();
}

/// The bucket and the key of a feature: the highest bits of its hash, and the next sixteen.
pub fn place(hash: u32, bucket_bits: u32) -> (usize, u16) {
    let bucket = (u64::from(hash) << bucket_bits >> 32) as usize;
    let key = (u64::from(hash) << bucket_bits >> (32 - KEY_BITS)) as u16;
    (bucket, key)
}

fn bits(bitmap: &[u8]) -> usize {
    let (eights, rest) = bitmap.as_chunks::<8>();
    let words = eights
        .iter()
        .map(|eight| u64::from_le_bytes(*eight).count_ones());
    let bytes = rest.iter().map(|byte| byte.count_ones());
    words.chain(bytes).sum::<u32>() as usize
}
