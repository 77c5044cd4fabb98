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

use heapless::Vec;
use subtle::{Choice, ConstantTimeEq};
use zerocopy::little_endian::{U16, U32};
use zeroize::Zeroize;

use crate::integers::{at_least, at_most, square_root_64};
use crate::kernels::Backend;
use crate::pack::format::{FEATURES_TAG, FeaturesHead, MAX_FEATURES};
use crate::pack::wire::{Arrays, PackError, within, zero};
use crate::script::is_mark;
use crate::{ANY_LANGUAGE, NEEDS_ANY_LANGUAGE};

/// The longest run of characters that can be a feature, with the marks of the ends of a word.
pub const MAX_GRAM: usize = 8;

/// Features of a sentence that count, so that no sum can overflow.
const MAX_FEATURES_IN_SENTENCE: u32 = 1 << 20;

/// Every so many rows one says where its weights start.
pub const ROWS_PER_START: usize = 16;

/// Keys that are looked at together.
pub(crate) const FEW_KEYS: usize = 32;

/// Features that are looked up together.
const BATCH: usize = 64;

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
        if !ANY_LANGUAGE {
            return Err(fail(NEEDS_ANY_LANGUAGE));
        }
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
            weights += bits(bitmap, bytes);
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
    #[inline(always)]
    fn find(
        &self,
        hash: u32,
        position: impl Fn(&[U16; FEW_KEYS], usize, u16) -> Option<usize>,
    ) -> Option<usize> {
        let (bucket, key) = place(hash, self.bucket_bits);
        let start = self.buckets.get(bucket)?.get() as usize;
        let end = self.buckets.get(bucket + 1)?.get() as usize;
        let length = end.checked_sub(start)?;
        let rest = self.keys.get(start..)?;
        let place = match rest.first_chunk() {
            Some(keys) if length <= FEW_KEYS => position(keys, length, key),
            _ => among(rest, length, key),
        }?;
        Some(start + place)
    }

    /// The bitmap of a row and its weights, each with all that follow.
    #[inline(always)]
    fn row(&self, index: usize) -> Option<(&'a [u8], &'a [i8])> {
        let bytes = self.row_bytes();
        let block = index / ROWS_PER_START;
        let rows = self.bitmaps.get(block * ROWS_PER_START * bytes..)?;
        let passed = index % ROWS_PER_START * bytes;
        let start = self.starts.get(block)?.get() as usize + bits(rows, passed);
        Some((rows.get(passed..)?, self.weights.get(start..)?))
    }

    /// Adds the weights of the features of a sentence to `sums`, `[candidates]` i32 in bytes, and returns what they are
    /// divided by.
    pub(crate) fn add(&self, backend: Backend, sentence: &[u8], sums: &mut [[u8; 4]]) -> Divisor {
        let mut found: u32 = 0;
        let mut batch: Vec<u32, BATCH> = Vec::new();
        each_feature(sentence, self.kinds, |hash| {
            if let Err(hash) = batch.push(hash) {
                found += backend.add_features(self, &batch, MAX_FEATURES_IN_SENTENCE - found, sums);
                batch.clear();
                // Has room.
                let _ = batch.push(hash);
            }
        });
        found += backend.add_features(self, &batch, MAX_FEATURES_IN_SENTENCE - found, sums);
        batch.zeroize();
        let divisor = Divisor::new(found);
        found.zeroize();
        divisor
    }

    /// Adds the weights of the first `most` features that the pack knows, and returns how many there were. A kernel:
    /// compiled for the instructions of each backend. `position`: where a key is among the first of a few; `add`: as
    /// [`add_row`].
    #[inline(always)]
    pub(crate) fn add_known(
        &self,
        hashes: &[u32],
        most: u32,
        sums: &mut [[u8; 4]],
        position: impl Fn(&[U16; FEW_KEYS], usize, u16) -> Option<usize>,
        add: impl Fn(&[u8], usize, &[i8], &mut [[u8; 4]]),
    ) -> u32 {
        // All are found before any is added: branches that cannot be foreseen would hold up what follows.
        let mut rows = [0u32; BATCH];
        let mut found = 0;
        for hash in hashes {
            let row = self.find(*hash, &position);
            if let Some(place) = rows.get_mut(found) {
                *place = row.unwrap_or_default() as u32;
            }
            found += usize::from(row.is_some());
        }
        found = found.min(most as usize);
        for row in rows.iter().take(found) {
            if let Some((bitmap, weights)) = self.row(*row as usize) {
                add(bitmap, self.row_bytes(), weights, sums);
            }
        }
        rows.zeroize();
        found as u32
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

/// Adds the weights of one row: one for each bit that is set in the first `count` bytes. A kernel.
#[inline(always)]
pub(crate) fn add_row(bitmap: &[u8], count: usize, weights: &[i8], sums: &mut [[u8; 4]]) {
    let mut weights = weights.iter();
    for (start, sums) in (0..count).step_by(8).zip(sums.chunks_mut(64)) {
        let mut used = word(bitmap, start, count);
        while used != 0
            && let Some(weight) = weights.next()
        {
            // Parsing made sure that a bit has a candidate.
            if let Some(sum) = sums.get_mut(used.trailing_zeros() as usize) {
                add_weight(sum, *weight);
            }
            used &= used - 1;
        }
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

/// [`among`] for those that a kernel looks at together.
pub(crate) fn among_few(keys: &[U16; FEW_KEYS], count: usize, key: u16) -> Option<usize> {
    among(keys, count, key)
}

/// Where a key is among the first `count`, which ascend.
fn among(keys: &[U16], count: usize, key: u16) -> Option<usize> {
    let keys = keys.get(..count)?;
    keys.binary_search_by_key(&key, |other| other.get()).ok()
}

/// The bits that are set in the first `count` bytes.
#[inline(always)]
fn bits(bytes: &[u8], count: usize) -> usize {
    let words = (0..count).step_by(8);
    let bits = words.map(|start| word(bytes, start, count).count_ones());
    bits.sum::<u32>() as usize
}

/// Eight bytes from `start`, or as many as there are before `end`.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], start: usize, end: usize) -> u64 {
    let rest = bytes.get(start..).unwrap_or_default();
    let count = end.saturating_sub(start).min(8);
    match rest.first_chunk() {
        // What is behind the end, too: a loop over the rest could not be foreseen.
        Some(eight) => u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * count.max(1)),
        None => {
            let bytes = rest.iter().take(count).zip((0..).step_by(8));
            bytes.fold(0, |word, (byte, place)| word | u64::from(*byte) << place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PublicRng;
    use rand_core::Rng;
    use std::vec;
    use std::vec::Vec;

    /// The arrays of a section.
    struct Section {
        buckets: Vec<U32>,
        keys: Vec<U16>,
        bitmaps: Vec<u8>,
        starts: Vec<U32>,
        weights: Vec<i8>,
        /// `[features][candidates]`.
        rows: Vec<Vec<i8>>,
    }

    impl Section {
        /// `sizes`: the features of each bucket.
        fn new(rng: &mut PublicRng, sizes: &[usize], candidates: usize) -> Self {
            let mut section = Self {
                buckets: vec![0.into()],
                keys: Vec::new(),
                bitmaps: Vec::new(),
                starts: Vec::new(),
                weights: Vec::new(),
                rows: Vec::new(),
            };
            for size in sizes {
                let step = 65536 / size.max(&1);
                let first = rng.next_u32() as usize % step;
                let keys = (0..*size).map(|i| U16::new((first + i * step) as u16));
                section.keys.extend(keys);
                section.buckets.push((section.keys.len() as u32).into());
            }
            for index in 0..section.keys.len() {
                let seldom = 1 + rng.next_u32() % 9;
                let mut weight = || {
                    rng.next_u32()
                        .is_multiple_of(seldom)
                        .then_some(rng.next_u32() as i8)
                };
                let row = (0..candidates).map(|_| weight().unwrap_or(0)).collect();
                section.push_row(index, row);
            }
            section
        }

        fn push_row(&mut self, index: usize, row: Vec<i8>) {
            if index.is_multiple_of(ROWS_PER_START) {
                self.starts.push((self.weights.len() as u32).into());
            }
            self.bitmaps.extend(row.chunks(8).map(|eight| {
                let bits = eight.iter().enumerate();
                bits.fold(0, |byte, (i, weight)| byte | u8::from(*weight != 0) << i)
            }));
            self.weights
                .extend(row.iter().filter(|weight| **weight != 0));
            self.rows.push(row);
        }

        fn features(&self, candidates: usize) -> Features<'_> {
            Features {
                kinds: FeatureKinds {
                    words: true,
                    pairs: true,
                    least: 1,
                    most: 4,
                },
                alone: true,
                shift: 0,
                candidates,
                bucket_bits: (self.buckets.len() - 1).ilog2(),
                buckets: &self.buckets,
                keys: &self.keys,
                bitmaps: &self.bitmaps,
                starts: &self.starts,
                weights: &self.weights,
                scales: &[],
            }
        }
    }

    /// Every backend finds the rows that are there, those only, and adds them up to the limit.
    #[test]
    fn backends_add_the_same() {
        let mut rng = PublicRng::new(29);
        // About the number of keys that a kernel looks at, and those that start or end all.
        let many = [
            [3, 0, 33, 70, 16, 31, 32, 1],
            [0, 0, 9, 2, 200, 1, 0, 0],
            [0, 1, 0, 0, 0, 0, 0, 0],
        ];
        for sizes in many {
            for candidates in [1, 7, 8, 16, 17, 20, 63, 64, 65, 150, 200] {
                let section = Section::new(&mut rng, &sizes, candidates);
                let features = section.features(candidates);
                assert!(features.buckets_are_sound() && features.rows_are_sound());
                let hash = |bucket: usize, key: u16| (bucket as u32) << 29 | u32::from(key) << 13;
                let there = (0..8).flat_map(|bucket| {
                    let [start, end] = [0, 1].map(|i| section.buckets[bucket + i].get() as usize);
                    (start..end).map(move |row| (bucket, row))
                });
                let mut hashes: Vec<(u32, Option<usize>)> = there
                    .map(|(bucket, row)| (hash(bucket, section.keys[row].get()), Some(row)))
                    .collect();
                let known: Vec<u32> = hashes.iter().map(|(hash, _)| *hash).collect();
                let others = (0..100).map(|_| rng.next_u32() >> 13 << 13);
                hashes.extend(
                    others
                        .filter(|hash| !known.contains(hash))
                        .map(|hash| (hash, None)),
                );
                for most in [u32::MAX, 5] {
                    let turn = rng.next_u32() as usize % hashes.len();
                    hashes.rotate_left(turn);
                    let batch = &hashes[..hashes.len().min(BATCH)];
                    let found = batch.iter().filter_map(|(_, row)| *row).take(most as usize);
                    let mut expected = vec![0i32; candidates];
                    for row in found.clone() {
                        for (sum, weight) in expected.iter_mut().zip(&section.rows[row]) {
                            *sum += i32::from(*weight);
                        }
                    }
                    expected.resize(candidates.next_multiple_of(64), 0);
                    let batch: Vec<u32> = batch.iter().map(|(hash, _)| *hash).collect();
                    for backend in Backend::available() {
                        let mut sums = vec![[0; 4]; candidates.next_multiple_of(64)];
                        let count = backend.add_features(&features, &batch, most, &mut sums);
                        let sums: Vec<i32> = sums.into_iter().map(i32::from_le_bytes).collect();
                        assert_eq!((count as usize, &sums), (found.clone().count(), &expected));
                    }
                }
            }
        }
    }
}
