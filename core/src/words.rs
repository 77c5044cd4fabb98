//! Private words: a mechanism that exchanges one word of a public vocabulary for another, and bags
//! of such words.
//!
//! The vocabulary is the lexicon of a pack: its words and their small integer vectors. For a
//! private word x the mechanism draws a word w of the same vocabulary. Near words are likelier.
//!
//! # Levels
//!
//! Let dist be the Euclidean distance of two words' vectors in the pack, and q the unit of the
//! vocabulary, a power of two. The level of w for x is ⌊dist(x, w)/q⌋. It is computed exactly, by
//! an integer square root of the squared distance s in units of the pack's integers: with q of 2ᵗ
//! such units, ⌊√s/2ᵗ⌋ = ⌊√⌊s/4ᵗ⌋⌋. q is the least power of two for which twice the largest norm is
//! below 256·q. No two words are further apart than that, so all levels lie in `0..`[`LEVELS`]. q
//! depends on the public vectors alone.
//!
//! # Why it is private
//!
//! Selecting by levels with the table for ε·q per level ([`Ratio::per_unit`]) promises, for all
//! words x, x' and every outcome,
//!
//! Pr\[w | x\] ≤ exp(ε·(dist(x, x') + q))·Pr\[w | x'\],
//!
//! with no δ. *Proof.* By the triangle inequality dist(x, w)/q and dist(x', w)/q differ by at most
//! dist(x, x')/q, so their floors differ by at most s = ⌈dist(x, x')/q⌉ ≤ dist(x, x')/q + 1. Going
//! from one list of levels to the other through the larger of both takes s one-sided unit steps up
//! and s down. That costs ρ^(2s) ≤ e^(ε·q·s) by the theorem of [`select`](mod@crate::select), whose
//! constant pays for the finite randomness. ∎ An ε·q below one micro-unit is rounded down to 0.
//! Then the probabilities for any two private words differ by a factor of at most e^(2⁻⁶⁰), and
//! 2⁻⁶⁰ is less than ε·q, which is at least 10⁻⁶·2⁻²².
//!
//! # Degenerate vocabularies
//!
//! Words with the same vector are at level 0 of each other, so each is as likely as the word
//! itself. A zero vector is a point like others. If all vectors are zero, every word is equally
//! likely.

use core::fmt;
use core::ops::Range;

use rand_core::Rng;
use thiserror::Error;
use zeroize::Zeroize;

use crate::barrier::wipe;
use crate::checked::{part, part_mut};
use crate::epsilon::Epsilon;
use crate::integers::square_root_16;
use crate::kernels::Backend;
use crate::laplace::{FixedPoint, Laplace, LaplaceError, Sensitivity};
use crate::ledger::{Grant, WrongUnit};
use crate::lexicon::{self, Lexicon, MAX_LEXICON_DIMENSION, Word};
use crate::pack::Pack;
use crate::release::BagRelease;
use crate::rng::{Entropy, ReleaseStream, below};
use crate::select::{Levels, Ratio, Rule, SelectError, select_on};
use crate::text::Words;
use crate::unit::Unit;

pub use crate::release::{MAX_BAG_SIZE, WordMechanism};

/// The number of levels.
pub const LEVELS: usize = 256;

/// Candidates whose levels are computed at a time.
const BLOCK: usize = 128;

/// The vector of a word, widened; zero after its last coordinate.
type Row = [i16; MAX_LEXICON_DIMENSION as usize];

const ORIGIN: Row = [0; MAX_LEXICON_DIMENSION as usize];

/// The public vocabulary of word mechanisms: the lexicon of a pack.
///
/// A word is its index in the lexicon. An index beyond the last word counts as the
/// [`fallback`](Vocabulary::fallback): it may be private, so there is no error for it.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    lexicon: Lexicon<'a>,
    pack_id: [u8; 8],
    /// log₂ q in units of the vectors' integers, `-6..=5`.
    unit: i32,
    fallback: u32,
}

impl<'a> Vocabulary<'a> {
    /// The vocabulary of `pack`.
    ///
    /// # Errors
    /// [`WordsError::NoLexicon`] if the pack has no lexicon.
    ///
    /// # Cost
    /// One pass over the vectors.
    pub fn new(pack: &Pack<'a>) -> Result<Self, WordsError> {
        let lexicon = pack.lexicon().ok_or(WordsError::NoLexicon)?;
        let (mut largest, mut least, mut fallback) = (1, u32::MAX, 0);
        for (word, vector) in (0..).zip(lexicon.vectors()) {
            let norm = squared_distance(&ORIGIN, vector);
            largest = largest.max(norm);
            if norm < least {
                (least, fallback) = (norm, word);
            }
        }
        // The least t with 4·largest < 2^(16 + 2t). 1 <= largest <= 2^23.
        let bits = (u32::BITS - largest.leading_zeros()) as i32;
        Ok(Self {
            lexicon,
            pack_id: pack.id(),
            unit: (bits - 13).div_euclid(2),
            fallback,
        })
    }

    /// The lexicon with the words and their vectors.
    pub fn lexicon(&self) -> Lexicon<'a> {
        self.lexicon
    }

    /// The number of words, `1..=65536`.
    pub fn word_count(&self) -> u32 {
        self.lexicon.word_count() as u32
    }

    /// log₂ q, the unit of levels, in units of the words' real coordinates.
    pub fn unit_exponent(&self) -> i32 {
        self.unit + self.lexicon.vector_exponent()
    }

    /// The word that replaces words outside the vocabulary: the first one of least norm.
    pub fn fallback(&self) -> u32 {
        self.fallback
    }

    /// The squared Euclidean distance of two words, exactly, in units of 4^[`vector_exponent`].
    ///
    /// [`vector_exponent`]: Lexicon::vector_exponent
    pub fn squared_distance(&self, a: u32, b: u32) -> u64 {
        let mut row = self.row(a);
        let squared = squared_distance(&row, self.vector(b));
        wipe(&mut row);
        squared.into()
    }

    /// The level of `word` for the private word `private`: ⌊dist/q⌋, below [`LEVELS`].
    pub fn level(&self, private: u32, word: u32) -> u8 {
        // At most 2^25.
        self.level_of(self.squared_distance(private, word) as u32)
    }

    /// The levels of all words for the private word `private`, for
    /// [`hazmat::select`](crate::hazmat::select) with [`LEVELS`] and
    /// [`Ratio::per_unit`]`(ε, unit_exponent)`.
    ///
    /// # Leaks
    /// The address of the private word's row. No other address and no branch depends on the word.
    /// Looking the word up in the lexicon leaks the same address.
    ///
    /// # Cost
    /// A pass computes n·d squares of differences; 2 KiB of stack.
    pub fn levels(&self, private: u32) -> impl Levels + use<'a> {
        WordLevels {
            vocabulary: *self,
            private,
        }
    }

    /// [`hazmat::draw_word`](crate::hazmat::draw_word).
    pub(crate) fn draw<R: Rng + ?Sized>(
        &self,
        word: u32,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<u32, WordsError> {
        match mechanism {
            WordMechanism::Selection(rule) => self.select_word(word, rule, epsilon, rng),
            WordMechanism::LaplaceNearest => self.nearest_to_noisy(word, epsilon, rng),
        }
    }

    /// [`WordMechanism::Selection`].
    // `inline(never)`: its bins would enlarge the stack of the other mechanism.
    #[inline(never)]
    fn select_word<R: Rng + ?Sized>(
        &self,
        word: u32,
        rule: Rule,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<u32, WordsError> {
        let ratio = Ratio::per_unit(epsilon, self.unit_exponent());
        let levels = self.levels(word);
        select_on::<LEVELS, _>(Backend::best(), &levels, rule, ratio, rng)
            .map_err(WordsError::Selection)
    }

    /// [`WordMechanism::LaplaceNearest`].
    // `inline(never)`: its buffers would enlarge the stack of selection.
    #[inline(never)]
    fn nearest_to_noisy<R: Rng + ?Sized>(
        &self,
        word: u32,
        epsilon: Epsilon,
        rng: &mut R,
    ) -> Result<u32, WordsError> {
        let (laplace, fixed) = self.laplace(epsilon)?;
        let mut noisy = [0i32; MAX_LEXICON_DIMENSION as usize];
        let noisy = part_mut(&mut noisy, ..self.lexicon.dimension());
        let coordinates = self.vector(word).iter();
        let coordinates = coordinates.map(|v| fixed.convert(self.lexicon.word_coordinate(*v)));
        laplace.add_noise(coordinates, self.bound_exponent(), rng, noisy);
        Ok(self.nearest(noisy, laplace.grid_exponent()))
    }

    /// The noise of [`WordMechanism::LaplaceNearest`] and the fixed point of coordinates. An error
    /// if the noise cannot be drawn.
    fn laplace(&self, epsilon: Epsilon) -> Result<(Laplace, FixedPoint), WordsError> {
        let dimension = self.lexicon.dimension() as u32;
        let laplace = Laplace::new(dimension, epsilon, Sensitivity::ONE);
        let laplace = laplace.map_err(WordsError::Laplace)?;
        let fixed = laplace.fixed_point(self.bound_exponent());
        Ok((laplace, fixed.map_err(WordsError::Laplace)?))
    }

    /// The exponent of a bound on coordinates: no norm reaches 128 units.
    fn bound_exponent(&self) -> i32 {
        self.unit_exponent() + 7
    }

    /// The word nearest to a released point by Euclidean distance; the first word of a tie.
    ///
    /// Post-processing: it reads the noisy point and public vectors, so it costs no privacy.
    ///
    /// # Leaks
    /// Points far outside the vocabulary take longer, which is a fact about the noisy point.
    ///
    /// # Shapes
    /// `point`: `[d]` i32, in steps of 2^`grid_exponent`. Missing coordinates count as 0, surplus
    /// ones are ignored. Coordinates are rounded to the grid of the words' vectors (to the nearest,
    /// ties up), clamped at 2⁴⁰ of its steps, and a grid more than 2³¹ times as coarse counts as
    /// 2³¹ times. For the point that results, the nearest word is exact.
    ///
    /// # Cost
    /// One pass over the vectors, n·d squares of differences; 5 KiB of stack.
    // `inline(never)`: the buffers of the noise are not needed any more.
    #[inline(never)]
    pub fn nearest(&self, point: &[i32], grid_exponent: i32) -> u32 {
        // In units of the vectors' integers.
        let exponent = grid_exponent.saturating_sub(self.lexicon.vector_exponent());
        let (up, down) = (
            exponent.clamp(0, 31),
            exponent.saturating_neg().clamp(0, 62),
        );
        let half = (1i64 << down) >> 1;
        let most = 1i64 << 40;
        let mut far = [0i64; MAX_LEXICON_DIMENSION as usize];
        let mut near = ORIGIN;
        let (mut norm, mut largest) = (0i64, 0);
        let coordinates = point.iter().take(self.lexicon.dimension());
        for ((far, near), x) in far.iter_mut().zip(&mut near).zip(coordinates) {
            // At most 2^62 either way.
            let rounded = ((i64::from(*x) << up) + half) >> down;
            *far = rounded.clamp(-most, most);
            *near = *far as i16;
            // The clamp keeps the sum of 512 squares below 2^63.
            norm += (*far).clamp(-(1 << 26), 1 << 26).pow(2);
            largest = largest.max(far.unsigned_abs());
        }
        // Compares ‖v − point‖² − ‖point‖² = ‖v‖² − 2·⟨v, point⟩. With ‖v‖ < 2^(7 + unit) and
        // ‖point‖ ≤ 2^(22 − unit) it is below 2^31, so it may be computed modulo 2^32.
        if largest <= 32_639 && norm <= 1i64 << (2 * (22 - self.unit)) {
            let norm = norm as u32;
            return self.least(|vector| {
                let distance = squared_distance(&near, vector).wrapping_sub(norm);
                i64::from(distance as i32)
            });
        }
        // At most 512·2^7·(2^7 + 2^41).
        self.least(|vector| {
            let terms = vector.iter().zip(&far);
            terms
                .map(|(v, x)| i64::from(*v) * (i64::from(*v) - 2 * x))
                .sum()
        })
    }

    /// The first word whose vector has the least `distance`.
    #[inline]
    fn least(&self, distance: impl Fn(&[i8]) -> i64) -> u32 {
        let (mut least, mut nearest) = (i64::MAX, 0);
        for (word, vector) in (0..).zip(self.lexicon.vectors()) {
            let distance = distance(vector);
            if distance < least {
                (least, nearest) = (distance, word);
            }
        }
        nearest
    }

    /// The vector of `word`.
    fn vector(&self, word: u32) -> &'a [i8] {
        let at = |word: u32| self.lexicon.vectors().nth(word as usize);
        let vector = at(word).or_else(|| at(self.fallback));
        debug_assert!(vector.is_some(), "the fallback is a word");
        vector.unwrap_or(&[])
    }

    /// The vector of `word`, widened.
    fn row(&self, word: u32) -> Row {
        let mut row = ORIGIN;
        for (to, from) in row.iter_mut().zip(self.vector(word)) {
            *to = i16::from(*from);
        }
        row
    }

    /// ⌊√squared / 2^unit⌋.
    fn level_of(&self, squared: u32) -> u8 {
        // Below 2^16, since squared <= 4·largest. One of the shifts is by 0, both are below 32.
        let (up, down) = (self.unit.saturating_neg().max(0), self.unit.max(0));
        let scaled = (squared.wrapping_shl(2 * up as u32)).wrapping_shr(2 * down as u32);
        square_root_16(scaled.min(u16::MAX.into()) as u16)
    }
}

/// The number of differences in a buffer.
const CHUNK: usize = 64;

/// The squared distance of two vectors, modulo 2³². It is at most 512·255² for two words.
/// Coordinates must differ by less than 2¹⁵.
#[inline]
fn squared_distance(row: &Row, vector: &[i8]) -> u32 {
    let (chunks, rest) = vector.as_chunks::<CHUNK>();
    let (rows, _) = row.as_chunks::<CHUNK>();
    let mut differences = [0; CHUNK];
    let mut sum = 0u32;
    for (row, chunk) in rows.iter().zip(chunks) {
        sum = sum.wrapping_add(sum_of_squares(row, chunk, &mut differences));
    }
    let row_rest = part(row, chunks.len() * CHUNK..);
    differences = [0; CHUNK];
    sum.wrapping_add(sum_of_squares(row_rest, rest, &mut differences))
}

/// Stores the differences of the coordinates in the first `differences`, and returns the sum of the
/// squares of all `differences`, modulo 2³².
///
/// A buffer of fixed size makes this 1.5 times as fast, because compilers then use the instruction
/// of vector units that adds products of 16 bits in pairs.
#[inline(always)]
fn sum_of_squares(a: &[i16], b: &[i8], differences: &mut [i16; CHUNK]) -> u32 {
    for ((difference, a), b) in differences.iter_mut().zip(a).zip(b) {
        *difference = a.wrapping_sub(i16::from(*b));
    }
    let squares = differences.iter().map(|difference| {
        let difference = i32::from(*difference);
        difference.wrapping_mul(difference)
    });
    squares.fold(0, i32::wrapping_add) as u32
}

/// The levels of all words for one private word.
struct WordLevels<'a> {
    vocabulary: Vocabulary<'a>,
    private: u32,
}

impl Levels for WordLevels<'_> {
    fn bound(&self) -> usize {
        LEVELS
    }

    fn candidate_count(&self) -> usize {
        self.vocabulary.word_count() as usize
    }

    // `inline(never)`: two passes in one frame would take twice the stack.
    #[inline(never)]
    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        let mut row = self.vocabulary.row(self.private);
        let mut squared = [0u32; BLOCK];
        let mut levels = [0u8; BLOCK];
        let vectors = self.vocabulary.lexicon.vectors();
        let mut vectors = vectors.skip(range.start).take(range.len());
        loop {
            let mut len = 0;
            for (to, vector) in squared.iter_mut().zip(&mut vectors) {
                *to = squared_distance(&row, vector);
                len += 1;
            }
            if len == 0 {
                break;
            }
            for (level, squared) in levels.iter_mut().zip(&squared) {
                *level = self.vocabulary.level_of(*squared);
            }
            visit(part(&levels, ..len));
        }
        wipe(&mut row);
        wipe(&mut squared);
        wipe(&mut levels);
    }
}

/// The words of one private text: words go in, one private [`BagRelease`] comes out, and the bag is
/// empty again.
///
/// The bag retains the first `N` words, 2 bytes each, and ignores the rest. The order of words does
/// not matter.
///
/// # Guarantee
/// [`release`](Bag::release) draws n words with replacement (by frequency), makes each private on
/// its own and sorts the result. n is public and the same for all texts. With the metric of the
/// vocabulary, for selection with ε a word,
/// - between two bags *as drawn*, b and b' of n words each, probabilities of every release differ
///   by a factor of at most exp(ε·Σ(dist(bᵢ, b'ᵢ) + q)) for the best pairing of their words. That
///   is exp(ε·n·(WMD(b, b') + q)) with the word mover's distance WMD of weights 1/n (the published
///   statement drops the factor n);
/// - if two *texts* have the same number of words and the same positions are drawn from both, this
///   holds for the drawn words. A drawn position with the same word in both texts costs nothing;
///   one with different words costs ε·(dist + q) each time it is drawn;
/// - between any two texts, by at most exp(ε·n·(D + q)) if their words can be matched, by
///   frequency, with no matched words further apart than D, because a match is a way to draw from
///   both texts at once. So the number of words in the text is protected like the words. (Positions
///   are drawn from 128 bits, so texts of different length add a factor within e^(n·2⁻¹¹⁰).) A text
///   without words counts as the fallback word.
///
/// For [`WordMechanism::LaplaceNearest`], each word has the loss and the δ of
/// [`laplace`](crate::laplace) instead of the loss ε·(dist + q).
///
/// *Proof.* For given draws the release is a function of n independent outcomes that forgets their
/// order, so any pairing may be used, and factors multiply. A mixture over draws has at most the
/// largest factor. ∎
///
/// # Leaks
/// - Metadata: that a release happened, when, with which n, pack, mechanism and ε.
/// - [`push`](Bag::push) takes time and reads addresses that depend on the word, for observers on
///   the device. By selection, [`release`](Bag::release) does the same work whatever the words and
///   their number, except for the addresses of the drawn words and the quarter of the vocabulary
///   with each released word. By noise and nearest word, the time also depends on the noisy points.
/// - A word drawn more than once is made private anew each time.
///
/// The caller ensures that:
/// - The pack, n, ε and the mechanism are chosen without looking at the text.
/// - Words are those of [`lexicon::words`], or of another rule that is fixed beforehand.
/// - The entropy source keeps its promise, and nobody else reads the memory of the process.
///
/// A release contains neither the order nor the number of the words in the text. Several releases
/// of one text add up; one costs n·ε ([`Cost::bag`](crate::ledger::Cost::bag)).
///
/// # Source
/// Fernandes, Dras and McIver 2018 (bags under a metric); a fixed number of words drawn by
/// frequency: Weggenmann and Kerschbaum 2018.
pub struct Bag<'a, const N: usize = 1024> {
    vocabulary: Vocabulary<'a>,
    /// Unused places hold the fallback word, so drawing does not depend on whether there are words.
    words: [u16; N],
    len: u16,
}

impl<'a> Bag<'a> {
    /// An empty bag for up to 1024 words of `vocabulary`.
    pub fn new(vocabulary: &Vocabulary<'a>) -> Self {
        Self::with_limit(vocabulary)
    }
}

impl<'a, const N: usize> Bag<'a, N> {
    /// An empty bag for up to `N` words of `vocabulary`: `Bag::<64>::with_limit(&vocabulary)`.
    pub fn with_limit(vocabulary: &Vocabulary<'a>) -> Self {
        const { assert!(N >= 1 && N <= u16::MAX as usize, "N must lie in 1..=65535") };
        Self {
            vocabulary: *vocabulary,
            words: [vocabulary.fallback as u16; N],
            len: 0,
        }
    }

    /// Adds one word. Does nothing if the bag has `N` words already.
    ///
    /// # Shapes
    /// `word`: any bytes, text or not. It is added if [`lexicon::words`] finds one word in it and
    /// the vocabulary has that word. Anything else (an unknown word, no word, several, bytes that
    /// are not UTF-8) is added as the [`fallback`](Vocabulary::fallback) word.
    pub fn push(&mut self, word: impl AsRef<[u8]>) {
        let mut words = lexicon::words(core::str::from_utf8(word.as_ref()).unwrap_or(""));
        match (words.next(), words.next()) {
            (Some(only), None) => self.add(only),
            _ => self.add_index(self.vocabulary.fallback),
        }
    }

    /// Adds the words of a text, stop words included, in the sense of [`lexicon::words`].
    ///
    /// # Shapes
    /// `text`: any bytes; those that are not UTF-8 separate words. Words after the first `N` are
    /// ignored.
    ///
    /// # Cost
    /// Linear in the text, times log of the number of words in the vocabulary.
    pub fn push_text(&mut self, text: &[u8]) {
        for word in Words::new(text) {
            self.add(word);
        }
    }

    fn add(&mut self, mut word: Word) {
        let index = self.vocabulary.lexicon.find(&word);
        word.zeroize();
        // A lexicon has at most 2^16 words.
        self.add_index(index.map_or(self.vocabulary.fallback, |index| index as u32));
    }

    fn add_index(&mut self, index: u32) {
        // A full bag does not change.
        if let Some(word) = self.words.get_mut(usize::from(self.len)) {
            *word = index as u16;
            self.len += 1;
        }
    }

    /// The number of words in the bag, at most `N`. It is private and must not leave the device.
    pub fn len(&self) -> usize {
        self.len.into()
    }

    /// Whether there are no words, which is private as well.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes and wipes all words.
    pub fn clear(&mut self) {
        self.words.fill(self.vocabulary.fallback as u16);
        zeroize::optimization_barrier(&self.words);
        self.len.zeroize();
    }

    /// Checks that words can be made private with this ε, so that no grant is spent in vain.
    ///
    /// # Errors
    /// [`WordsError::Laplace`] if [`release`](Bag::release) would return it.
    pub fn check(&self, mechanism: WordMechanism, epsilon: Epsilon) -> Result<(), WordsError> {
        match mechanism {
            WordMechanism::Selection(_) => Ok(()),
            WordMechanism::LaplaceNearest => self.vocabulary.laplace(epsilon).map(|_| ()),
        }
    }

    /// Checks that a grant allows a release of `size` words, so that it is not spent in vain.
    ///
    /// # Errors
    /// [`WordsError::Unit`], [`WordsError::Grant`].
    ///
    /// # Cost
    /// Constant time.
    pub fn check_grant(&self, grant: &Grant, size: u16) -> Result<(), WordsError> {
        grant.check(Unit::Word).map_err(WordsError::Unit)?;
        match grant.words() {
            Some(found) if found.get() < size => Err(WordsError::Grant {
                needed: size,
                found: found.get(),
            }),
            _ => Ok(()),
        }
    }

    /// [`hazmat::draw_bag`](crate::hazmat::draw_bag).
    pub(crate) fn draw<R: Rng + ?Sized>(
        &self,
        mechanism: WordMechanism,
        epsilon: Epsilon,
        rng: &mut R,
        out: &mut [u32],
    ) -> Result<(), WordsError> {
        if out.is_empty() || out.len() > usize::from(MAX_BAG_SIZE) {
            return Err(WordsError::Size { found: out.len() });
        }
        // An empty bag counts as the fallback word: an error would depend on the text.
        let retained = u128::from(self.len) + u128::from(self.len == 0);
        for out in out.iter_mut() {
            let position = below(rng, retained) as usize;
            // It is below N.
            let word = self.words.get(position).copied().map_or(0, u32::from);
            *out = self.vocabulary.draw(word, mechanism, epsilon, rng)?;
        }
        sort(out);
        Ok(())
    }

    /// Draws a release of `size` words into `out`, removes all words, and returns the number of
    /// bytes written. See [`Bag`] for the guarantee and its premises.
    ///
    /// # Shapes
    /// `size`: n, in `1..=`[`MAX_BAG_SIZE`]. `grant`: for at least n words; its ε is that of each.
    /// `out`: at least [`BagRelease::bytes`]`(n)` bytes; surplus bytes do not change.
    ///
    /// # Errors
    /// [`WordsError::Unit`] and [`WordsError::Grant`] for the wrong grant, [`WordsError::Size`] for
    /// another `size`, [`WordsError::Space`] if `out` is too short, [`WordsError::Entropy`] if the
    /// source failed, and the errors of [`hazmat::draw_word`](crate::hazmat::draw_word). Nothing is
    /// written, the words stay, the grant is spent.
    ///
    /// # Cost
    /// n times [`hazmat::draw_word`](crate::hazmat::draw_word); 32 bytes of entropy; 12 KiB of
    /// stack.
    pub fn release<E: Entropy + ?Sized>(
        &mut self,
        size: u16,
        mechanism: WordMechanism,
        grant: Grant,
        entropy: &mut E,
        out: &mut [u8],
    ) -> Result<usize, WordsError> {
        let mut buffer = [0u32; MAX_BAG_SIZE as usize];
        let found = usize::from(size);
        let words = buffer.get_mut(..found).filter(|words| !words.is_empty());
        let words = words.ok_or(WordsError::Size { found })?;
        let (needed, found) = (BagRelease::bytes(size), out.len());
        let space = WordsError::Space { needed, found };
        let out = out.get_mut(..needed).ok_or(space)?;
        self.check_grant(&grant, size)?;
        let epsilon = grant.epsilon();
        // Checked here, because an error after the next line would waste entropy.
        self.check(mechanism, epsilon)?;
        let mut stream =
            ReleaseStream::open(Backend::best(), entropy).map_err(|_| WordsError::Entropy)?;
        self.draw(mechanism, epsilon, &mut stream, words)?;
        self.clear();
        BagRelease::write(mechanism, epsilon, self.vocabulary.pack_id, words, out);
        Ok(out.len())
    }
}

/// Sorts in ascending order by a network of comparisons, whose steps do not depend on the words.
fn sort(words: &mut [u32]) {
    for round in 0..words.len() {
        let pairs = part_mut(words, round & 1..).as_chunks_mut().0;
        for [a, b] in pairs {
            (*a, *b) = ((*a).min(*b), (*a).max(*b));
        }
    }
}

/// Wipes the words.
impl<const N: usize> Drop for Bag<'_, N> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Shows nothing of the words.
impl<const N: usize> fmt::Debug for Bag<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bag").finish_non_exhaustive()
    }
}

/// Why no word was drawn. Depends on sizes, the pack, the parameters and the entropy source, never
/// on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WordsError {
    /// The pack has no lexicon.
    #[error("the pack has no lexicon, so no vocabulary")]
    NoLexicon,
    /// A release of no words, or of more than [`MAX_BAG_SIZE`].
    #[error("a release of {found} words; it must have 1 to {MAX_BAG_SIZE}")]
    Size {
        /// The number of words requested.
        found: usize,
    },
    /// The buffer is too short for the release.
    #[error("a buffer of {found} bytes, but the release has {needed}")]
    Space {
        /// Bytes needed.
        needed: usize,
        /// Bytes given.
        found: usize,
    },
    /// A grant for another unit.
    #[error("not the right grant: {0}")]
    Unit(WrongUnit),
    /// A grant for a smaller bag.
    #[error(
        "a release of {needed} words, but the grant is for {found}; spend the cost of the whole bag"
    )]
    Grant {
        /// Words of the release.
        needed: u16,
        /// Words of the grant.
        found: u16,
    },
    /// The entropy source failed or returned only zeroes.
    #[error("the entropy source failed; nothing was released, try again with a new grant")]
    Entropy,
    /// The words cannot be selected from.
    #[error(transparent)]
    Selection(SelectError),
    /// Noise cannot be drawn for these vectors and this ε.
    #[error(transparent)]
    Laplace(LaplaceError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_all_lengths() {
        for len in 0..70u32 {
            let mut words: std::vec::Vec<u32> = (0..len).map(|i| i * 37 % 41).collect();
            let mut expected = words.clone();
            expected.sort_unstable();
            sort(&mut words);
            assert_eq!(words, expected);
        }
    }

    #[test]
    fn the_largest_squared_distance_does_not_overflow() {
        let vector = [i8::MIN; 512];
        assert_eq!(squared_distance(&[127; 512], &vector), 512 * 255 * 255);
    }
}
