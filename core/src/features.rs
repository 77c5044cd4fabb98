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
use zerocopy::little_endian::U16;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::integers::{at_least, at_most, square_root_40};
use crate::kernels::lookup::{BATCH, MOST_TOGETHER, Table};
pub use crate::kernels::lookup::{ROWS_PER_START, place};
use crate::kernels::{Backend, VECTORS};
use crate::language::{ANY_LANGUAGE, NEEDS_ANY_LANGUAGE};
use crate::pack::format::{FEATURES_TAG, FeaturesHead, MAX_FEATURES};
use crate::pack::wire::{Arrays, PackError, within, zero};
use crate::script::is_mark;
use crate::utf8::valid_parts;

/// The longest run of characters that can be a feature, with the marks of the ends of a word.
pub const MAX_GRAM: usize = 8;

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
    visit_features(text, kinds, visit);
}

/// What is done with the features of a text.
trait Visit {
    /// Takes a feature by its hash.
    fn visit(&mut self, hash: u32);

    /// Takes a run of one character of ASCII, if it counts those.
    fn count(&mut self, _c: u32) -> bool {
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
        apostrophe: false,
    };
    for (part, invalid) in valid_parts(text) {
        for c in part.chars() {
            reader.read(c);
        }
        if invalid {
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

impl<F: Visit> Reader<F> {
    fn read(&mut self, c: char) {
        // Most characters of most texts; their case needs no table.
        if c.is_ascii_alphanumeric() && !self.apostrophe {
            self.push(c.to_ascii_lowercase());
        } else if c.is_alphanumeric() || self.word.is_some() && is_mark(c) {
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
        let [a, b, c1, d, e, f, g, _] = self.window;
        self.window = [c, a, b, c1, d, e, f, g];
        self.length = (self.length + 1).min(MAX_GRAM);
        let mut hash = Kind::Gram as u32;
        for (length, c) in (1..=most.min(self.length)).zip(&self.window) {
            hash = step(hash, *c);
            // The mark of an end alone says nothing.
            if length >= usize::from(self.kinds.least) && (length > 1 || *c != END) {
                if length == 1 && self.visit.count(*c) {
                    continue;
                }
                self.visit.visit(finish(hash));
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

    /// Adds the weights of the features of a sentence to `sums`, `[candidates]` i32 in bytes, and returns what they are
    /// divided by.
    pub(crate) fn add(&self, backend: Backend, sentence: &[u8], sums: &mut [[u8; 4]]) -> Divisor {
        let mut batch = Batch {
            backend,
            table: &self.table,
            sums,
            hashes: Vec::new(),
            found: 0,
            counts: VECTORS && sentence.len() <= FEW_BYTES,
            characters: [0; ASCII],
        };
        visit_features(sentence, self.kinds, &mut batch);
        batch.add_all(&[1; BATCH]);
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

/// Features of a sentence that are looked up together.
struct Batch<'b, 'a> {
    backend: Backend,
    table: &'b Table<'a>,
    sums: &'b mut [[u8; 4]],
    hashes: Vec<u32, BATCH>,
    found: u32,
    /// Whether runs of one character wait until the end: they occur often, and are looked up once.
    counts: bool,
    /// How often each of those that wait has occurred.
    characters: [u8; ASCII],
}

impl Visit for &mut Batch<'_, '_> {
    #[inline]
    fn visit(&mut self, hash: u32) {
        if let Err(hash) = self.hashes.push(hash) {
            self.add_all(&[1; BATCH]);
            // There is room.
            let _ = self.hashes.push(hash);
        }
    }

    #[inline]
    fn count(&mut self, c: u32) -> bool {
        let counts = VECTORS && self.counts;
        let Some(count) = self.characters.get_mut(c as usize).filter(|_| counts) else {
            return false;
        };
        *count += 1;
        if usize::from(*count) == MOST_TOGETHER {
            self.add_all(&[1; BATCH]);
            self.add_characters();
        }
        true
    }
}

impl Batch<'_, '_> {
    /// Looks up the features that wait, which occur so often each.
    #[inline(never)]
    fn add_all(&mut self, times: &[u8]) {
        let left = MAX_FEATURES_IN_SENTENCE - self.found;
        let (table, hashes) = (self.table, &self.hashes);
        self.found += self
            .backend
            .add_features(table, hashes, times, left, self.sums);
        self.hashes.clear();
    }

    /// Looks up the characters that wait. No other features do.
    fn add_characters(&mut self) {
        if !(VECTORS && self.counts) {
            return;
        }
        let mut times: Vec<u8, BATCH> = Vec::new();
        let mut together = 0;
        for start in (0..ASCII).step_by(8) {
            let eight = self.characters.get(start..).and_then(<[u8]>::first_chunk);
            let mut eight = eight.map_or(0, |eight| u64::from_le_bytes(*eight));
            while eight != 0 {
                let place = eight.trailing_zeros() & !7;
                let count = (eight >> place) as u8;
                together += usize::from(count);
                if times.is_full() || together > MOST_TOGETHER {
                    self.add_all(&times);
                    times.clear();
                    together = count.into();
                }
                let c = start as u32 + place / 8;
                let hash = finish(step(Kind::Gram as u32, c));
                // There is room.
                let _ = (self.hashes.push(hash), times.push(count));
                eight &= !(0xff << place);
            }
        }
        self.add_all(&times);
        times.zeroize();
        wipe(&mut self.characters);
    }

    fn wipe(&mut self) {
        self.hashes.zeroize();
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
