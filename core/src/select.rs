//! The selection engine: draws one index from a finite public list, in integers only.
//!
//! A mechanism reduces a private document to one *level* per candidate, a non-negative integer
//! badness (0 is best). This module draws a candidate from the levels, by permute-and-flip
//! (McKenna and Sheldon 2020) or the exponential mechanism (McSherry and Talwar 2007).
//!
//! # Why it is private
//!
//! Let `C` be [`Ratio::constant`] and ρ = 2⁶⁴/C; with C ≥ 2⁶⁴·e^(−ε/2) + 4, ln ρ ≤ ε/2 − 2⁻⁶². The
//! weights `W₀ = S, W_{i+1} = max(1, ⌈W_i·C / 2⁶⁴⌉)` are positive, non-increasing and satisfy
//! `W_i ≤ ρ·W_{i+1}`. That inequality, and not closeness to e^(−εi/2), is all that the proof uses.
//! Levels enter relative to the best level attained, i_r = ℓ_r − min ℓ.
//!
//! *One-sided step* (every level moves by 0 or +1). Either min ℓ stays and every p_r = W_{i_r}/S
//! satisfies p/ρ ≤ p' ≤ p, or min ℓ rises by one and p ≤ p' ≤ ρ·p. The second case is the first
//! with the names exchanged, so assume the first. Exponential mechanism: numerator and normaliser
//! both shrink by at most ρ. Permute-and-flip: Pr\[r\] = p_r·∫₀¹ ∏_{s≠r}(1 − t·p_s) dt, with t the
//! arrival time of r in a random order. After the step, this is at least Pr/ρ, because p'_r ≥ p_r/ρ
//! and the product only grows, and at most ρ·Pr, because p'_r ≤ p_r and ∫₀¹∏(1 − t·p'_s)dt ≤ ∫₀¹∏(1
//! − (t/ρ)·p_s)dt = ρ·∫₀^{1/ρ}∏(1 − τ·p_s)dτ ≤ ρ·∫₀¹∏(1 − τ·p_s)dτ. ∎
//!
//! *Mixed step* (levels move by −1, 0, +1): pass through the larger of old and new level, two
//! one-sided steps, factor ρ² ≤ e^ε.
//!
//! *Levels at or above the bound* ([`Levels::bound`], a public number) count as the bound less one:
//! x ↦ min(x, bound − 1) turns a one-sided step into a one-sided one, and a mixed into a mixed one.
//!
//! *The form of the code.* Coins are tossed by level, a level is drawn by its number of heads, then
//! a rank among *all* n candidates of that level. Given the number of heads of a level, its coins
//! are exchangeable, so every set of that many candidates is equally likely to have the heads: a
//! uniformly random head of the level is a uniformly random candidate of the level. The levels are
//! read twice, first to count them, then to find the candidate of that level and rank. There is
//! exactly one. The level's counts in the four parts of the list determine the part that contains
//! the candidate, and the second pass visits that part.
//!
//! *Finite randomness.* Coins are exact: a coin compares a random 64-bit word with a weight W, and
//! exactly W of the 2⁶⁴ words are below it. A share s ≥ 1 of a total t, drawn by [`below`], has
//! between 2¹²⁸·s/t − 1 and 2¹²⁸·s/t + 1 of 2¹²⁸ draws: a factor within 1 ± t·2⁻¹²⁸. There are two
//! draws. For the level, t is at most 2⁶⁴ (weights) or 2¹⁶ (heads); for the rank, at most 2¹⁶. So
//! the ratio of the laws before and after a step is within a factor of (1 + 2⁻⁶⁴)(1 + 2⁻¹¹²) / ((1
//! − 2⁻⁶⁴)(1 − 2⁻¹¹²)) < e^(2⁻⁶²) of the ideal ratio. The "+4" in `C` covers this error. It counts
//! once, however many steps lie between two inputs, because only the first and the last law are
//! drawn from. The result is pure ε: no δ, the random bits included.
//!
//! *By machine.* All of this is proved in Coq, about a model of this file, in `core/proofs` of the
//! repository.

use core::num::NonZero;
use core::ops::Range;
use core::{cmp, fmt};

use rand_core::Rng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};
use thiserror::Error;
use zerocopy::transmute;

use crate::barrier::wipe;
use crate::checked::{part, part_mut};
use crate::epsilon::Epsilon;
use crate::integers::{Signed, lane_clamp, lane_max, lane_min};
#[cfg(undertone_kernels = "x86")]
use crate::kernels::ROOM;
use crate::kernels::{Backend, Tossing, VECTORS};
use crate::rng::below;

/// The largest number of candidates of a selection.
pub const MAX_CANDIDATES: u32 = 65_536;

/// The largest number of different levels.
pub const MAX_LEVELS: usize = 256;

/// The ratio between the weights of neighbouring levels, as the integer `C` of the module
/// documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio(u64);

/// ⌈2¹²⁷·exp(−2^b / 2 000 000)⌉ for b in 0..30: the factor that bit b of ε in micro-units
/// contributes to e^(−ε/2).
const EXP_OF_BIT: [u128; 30] = [
    0x7ffffbce_42296a1d_ecaf4316_c005969e,
    0x7ffff79c_8476036d_b49482d6_d2274bec,
    0x7fffef39_0978c39e_3969c791_82b61014,
    0x7fffde72_15247a22_cf1f2e40_425297f3,
    0x7fffbce4_3314beb7_e9d36ef1_77b29022,
    0x7fff79c8_89589dff_d74d6ffa_8eb86238,
    0x7ffef391_9f6d7476_89a0e4e0_42eb9816,
    0x7ffde725_71c97c81_004db6c7_562488d9,
    0x7ffbce53_af3ad537_9593fe94_0a5ecb89,
    0x7ff79cca_8c818c92_114ab531_2312c137,
    0x7fef3a21_cc964dec_37ce99aa_ef4eafd2,
    0x7fde7676_4298ee40_b7fc69b4_d1f530db,
    0x7fbcf5b6_0400f34f_c17c1c48_6b0d315c,
    0x7f7a0e88_ce496fc4_047bef66_e8f7128c,
    0x7ef4a93b_2fc9751d_bf8366b6_01ccc953,
    0x7deb80d2_9779342f_2b468b65_8707b6c7,
    0x7bdfa8e6_d6c37463_df0aaa81_4359fb50,
    0x77e15f6b_07f388c7_c4ecd0e3_11ac3eab,
    0x70469a3c_be31ffcd_1b284d91_1758042f,
    0x627bb4db_b921ccd2_70de1865_f0d659c8,
    0x4bc5e47f_094f0073_7cc17abb_0bd19a68,
    0x2cdb19b7_cdd64af2_a4bc5dd0_9add83af,
    0x0fb818b8_63a28126_d8941a0d_0e70824c,
    0x01ee2e92_4e3eb874_1ba16ee3_ac255477,
    0x000773ef_8a3dc397_83b21254_3947178b,
    0x0000006f_17354b6f_33fa5d7a_1263e314,
    0x00000000_0000606a_44a4122a_c173d62b,
    0x00000000_00000000_00000000_489fbf30,
    0x00000000_00000000_00000000_00000001,
    0x00000000_00000000_00000000_00000001,
];

impl Ratio {
    /// The ratio for `epsilon`: `C = min(2⁶⁴−1, ⌈2⁶⁴·e^(−ε/2)⌉ + 4)`, computed with upward
    /// rounding only, so never below the exact value.
    pub fn new(epsilon: Epsilon) -> Self {
        Self::from_micro(epsilon.micro())
    }

    /// The ratio for mechanisms in which one change of the input moves a level by up to `steps`
    /// units: the ratio for ε/`steps`, rounded down to whole micro-units.
    ///
    /// If all levels move one way, `steps` one-sided unit steps cost ρ^steps ≤ e^(ε/2). If some
    /// move up and some down, they pass through the larger of old and new level: ρ^(2·steps) ≤ e^ε.
    ///
    /// If ε/`steps` is below one micro-unit, C is 2⁶⁴ − 1, its largest value, and this case has a
    /// proof of its own: the weights are S and, for *every* other level, S·(1 − 2⁻⁶⁴) rounded up.
    /// Then any two lists of levels give probabilities within a factor (1 − 2⁻⁶⁴)⁻² of each other,
    /// and within e^(2⁻⁶⁰) with the error of the draws included, while e^(ε/2) is above e^(2⁻²¹)
    /// for any valid ε.
    pub fn per_step(epsilon: Epsilon, steps: NonZero<u8>) -> Self {
        Self::from_micro(epsilon.micro() / u32::from(steps.get()))
    }

    /// The ratio for mechanisms whose levels count units of 2^`exponent`: the ratio for
    /// ε·2^`exponent`, rounded down to whole micro-units, at most [`Epsilon::MAX`].
    ///
    /// Below one micro-unit, as for [`per_step`](Ratio::per_step), any two lists of levels give
    /// probabilities within a factor e^(2⁻⁶⁰) of each other.
    pub fn per_unit(epsilon: Epsilon, exponent: i32) -> Self {
        let micro = u64::from(epsilon.micro());
        // ε has 30 bits, so a shift by more than 32 gives the same result as one by 32. Shifts by
        // up to 32 do not overflow.
        let scaled = micro << lane_clamp(exponent, 0, 32);
        let scaled = scaled >> lane_clamp(exponent.saturating_neg(), 0, 32);
        let most = u64::from(Epsilon::MAX.micro());
        Self::from_micro(cmp::min(scaled, most) as u32)
    }

    fn from_micro(micro: u32) -> Self {
        // Invariant: product ≥ 2^127·exp(−(the bits so far)/2 000 000), product ≤ 2^127.
        let mut product: u128 = 1 << 127;
        for (bit, factor) in EXP_OF_BIT.iter().enumerate() {
            if micro >> bit & 1 == 1 {
                product = multiply_up(product, *factor);
            }
        }
        let rounded_up = (product >> 63) + u128::from(product & ((1 << 63) - 1) != 0);
        Self(u64::try_from(rounded_up + 4).unwrap_or(u64::MAX))
    }

    /// The integer `C`. A step of one level multiplies a weight by about `C / 2⁶⁴`. `C` is at least
    /// 1, and at least 5 if it was computed from an ε.
    pub fn constant(self) -> u64 {
        self.0
    }

    /// The ratio with this `C`. The caller proves its own promise.
    pub(crate) const fn from_constant(constant: u64) -> Self {
        Self(constant)
    }

    /// The weight of the next worse level, if this level has `weight`, which is at most 2⁶⁴:
    /// `max(1, ⌈weight·C / 2⁶⁴⌉)`.
    pub(crate) fn step(self, weight: u128) -> u128 {
        // weight·C ≤ 2^128 − 2^64, so adding 2^64 − 1 does not overflow.
        let stepped = (lane_min(weight, 1 << 64) * u128::from(self.0) + u128::from(u64::MAX)) >> 64;
        lane_max(stepped, 1)
    }

    /// The weights `W₀, W₁, …` for relative levels 0, 1, …, without end.
    pub fn weights(self, rule: Rule) -> impl Iterator<Item = u128> {
        core::iter::successors(Some(rule.first_weight()), move |weight| {
            Some(self.step(*weight))
        })
    }
}

/// ⌈a·b / 2¹²⁷⌉ for a, b ≤ 2¹²⁷.
fn multiply_up(a: u128, b: u128) -> u128 {
    let (low, high) = a.carrying_mul(b, 0);
    let quotient = (high << 1) | (low >> 127);
    quotient + u128::from(low & ((1 << 127) - 1) != 0)
}

/// The rule by which a candidate is drawn from the levels.
///
/// Both are ε-DP under a mixed step and ε/2-DP under a one-sided step. Releases and the C interface
/// use the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Every candidate tosses a coin with the probability of its relative level (the best levels
    /// always show heads); a uniformly random head is returned. Never worse than the exponential
    /// mechanism in expected level at equal ε (McKenna and Sheldon 2020). The default.
    PermuteAndFlip = 1,
    /// A candidate is drawn with probability proportional to its weight. ε-bounded-range, hence
    /// (ε²/8)-zCDP (Dong et al. 2020; Cesar and Rogers 2020): choose it under a zCDP budget or
    /// when random bits are scarce.
    Exponential = 2,
}

impl Rule {
    /// The rule with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::PermuteAndFlip),
            2 => Some(Self::Exponential),
            _ => None,
        }
    }

    /// W₀: 2⁶⁴ for coins, which are compared with 64-bit words, and 2⁴⁸ for weights, which are
    /// summed over up to 2¹⁶ candidates.
    pub fn first_weight(self) -> u128 {
        match self {
            Self::PermuteAndFlip => 1 << 64,
            Self::Exponential => 1 << 48,
        }
    }

    /// The number of random words that one selection among `candidates` consumes, whatever the
    /// levels.
    pub fn random_word_count(self, candidates: u32) -> u64 {
        match self {
            Self::PermuteAndFlip => u64::from(candidates) + 2 * crate::rng::WORDS_PER_DRAW,
            Self::Exponential => 2 * crate::rng::WORDS_PER_DRAW,
        }
    }
}

/// One level per candidate, in blocks. Every call must give the same levels, in candidate order.
pub trait Levels {
    /// The bound. A level at or above it is treated as the bound less one. Public: it must not
    /// depend on the document.
    fn bound(&self) -> usize;

    /// The number of candidates. Public: it must not depend on the document.
    fn candidate_count(&self) -> usize;

    /// Calls `visit` with the levels of the candidates in `range`, in order, cut into blocks of any
    /// size. The range lies in `0..candidate_count()` and starts at a multiple of [`PART_BLOCK`].
    fn for_each_block_of(&self, range: Range<usize>, visit: impl FnMut(&[u8]));

    /// Calls `visit` with the levels of all candidates, in order, in blocks.
    fn for_each_block(&self, visit: impl FnMut(&[u8])) {
        self.for_each_block_of(0..self.candidate_count(), visit);
    }
}

/// Parts of the list of candidates. Each has its own counts, so that the second pass visits one
/// part.
const PARTS: usize = 4;

/// Parts start at multiples of this.
pub const PART_BLOCK: usize = 1024;

/// The candidates of a part.
fn part_of(candidates: usize, part: usize) -> Range<usize> {
    // At most 2^6 blocks: no overflow.
    let blocks = candidates.div_ceil(PART_BLOCK);
    let start = |part: usize| cmp::min(blocks * part / PARTS * PART_BLOCK, candidates);
    start(part)..start(part + 1)
}

/// A slice of levels and a public bound on them.
#[derive(Clone, Copy)]
pub struct SliceLevels<'a> {
    /// One level per candidate.
    pub levels: &'a [u8],
    /// Levels at or above the bound count as `bound − 1`.
    pub bound: usize,
}

/// Shows nothing of the levels.
impl fmt::Debug for SliceLevels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceLevels")
            .field("candidates", &self.levels.len())
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

impl Levels for SliceLevels<'_> {
    fn bound(&self) -> usize {
        self.bound
    }

    fn candidate_count(&self) -> usize {
        self.levels.len()
    }

    fn for_each_block_of(&self, range: Range<usize>, mut visit: impl FnMut(&[u8])) {
        visit(part(self.levels, range));
    }
}

/// The counts of the candidates of one level.
// Aligned, so that a copy takes few instructions on processors with slow unaligned access.
#[derive(Clone, Copy, Default)]
#[repr(align(4))]
struct Bin {
    /// Candidates at this level, in each part. A part has at most 2^14.
    parts: Parts,
    /// The level.
    level: u8,
}

type Parts = [u16; PARTS];

impl Bin {
    /// Candidates at this level.
    fn candidates(&self) -> u32 {
        self.parts.iter().map(|part| u32::from(*part)).sum()
    }
}

/// [`hazmat::select`](crate::hazmat::select) with the kernels of this backend.
// `inline(never)`: inlined, its buffers would be on the stack together with those of the caller.
#[inline(never)]
pub(crate) fn select_on<const B: usize, R: Rng + ?Sized>(
    backend: Backend,
    levels: &impl Levels,
    rule: Rule,
    ratio: Ratio,
    rng: &mut R,
) -> Result<u32, SelectError> {
    const { assert!(B >= 1 && B <= MAX_LEVELS, "B must lie in 1..=256") };
    let mut bins = [Bin::default(); B];
    #[cfg(not(undertone_kernels = "x86"))]
    let (mut weights_minus_one, mut heads) = ([0u64; B], [0u32; B]);
    #[cfg(undertone_kernels = "x86")]
    let (mut weights_minus_one, mut heads) = ([0u64; ROOM], [0u32; ROOM]);
    let bound = levels.bound();
    let bins = match bins.get_mut(..bound) {
        Some(bins) if bound > 0 => bins,
        _ => {
            return Err(SelectError::LevelBound {
                found: bound,
                limit: B,
            });
        }
    };
    let candidates = u32::try_from(levels.candidate_count()).unwrap_or(u32::MAX);
    if !(1..=MAX_CANDIDATES).contains(&candidates) {
        return Err(SelectError::Candidates { found: candidates });
    }
    histogram(backend, levels, bins);
    weigh(bins, &mut weights_minus_one, rule, ratio);
    let drawn = match rule {
        Rule::PermuteAndFlip => {
            let tossing = Tossing {
                weights_minus_one: &weights_minus_one,
                heads: &mut heads,
                level: 0,
                heads_so_far: 0,
            };
            permute_and_flip(backend, bins, tossing, candidates, rng)
        }
        Rule::Exponential => exponential(bins, &weights_minus_one, rng),
    };
    wipe(&mut weights_minus_one);
    wipe(&mut heads);
    bins.fill(Bin::default());
    zeroize::optimization_barrier(bins);
    Ok(nth_of_level(backend, levels, drawn))
}

/// Counts the candidates of every level, one level after the other, so that no address in this
/// function depends on a level.
fn histogram(backend: Backend, levels: &impl Levels, bins: &mut [Bin]) {
    for part in 0..PARTS {
        let range = part_of(levels.candidate_count(), part);
        // Some parts of a short list are empty. They are skipped, because even a call for an empty
        // range may read the whole state.
        if range.is_empty() {
            continue;
        }
        levels.for_each_block_of(range, |block| {
            let mut counted: u16 = 0;
            let mut last = None;
            for (level, bin) in (0..=u8::MAX).zip(bins.iter_mut()) {
                let here = backend.count_equal(block, level) as u16;
                bin.level = level;
                counted = counted.wrapping_add(here);
                if let Some(in_part) = bin.parts.get_mut(part) {
                    *in_part = in_part.wrapping_add(here);
                    last = Some(in_part);
                }
            }
            // A level at or above the bound counts as the worst one.
            if let Some(in_part) = last {
                *in_part = in_part.wrapping_add((block.len() as u16).wrapping_sub(counted));
            }
        });
    }
}

/// Fills in weights relative to the best occupied level, and moves the occupied levels to the
/// front. The bins after them have no candidates. A weight may be 2⁶⁴, which does not fit 64 bits,
/// so one less is stored.
fn weigh(bins: &mut [Bin], weights_minus_one: &mut [u64], rule: Rule, ratio: Ratio) {
    let mut weight_minus_one = (rule.first_weight() - 1) as u64;
    let mut occupied: i32 = 0;
    for index in 0..bins.len() {
        let Some(bin) = bins.get(index).copied() else {
            continue;
        };
        // Copy as integers: a memmove's work depends on the address.
        let (parts, level): (u64, u8) = (transmute!(bin.parts), bin.level);
        // −1 if there are candidates, else 0. There are at most 2^16, so the sign is right.
        let here = bin.candidates().cast_signed().wrapping_neg().negative();
        // `front` is at most `index`, so no bin is overwritten before its turn.
        let front = occupied as usize;
        if let (Some(to), Some(weight)) = (bins.get_mut(front), weights_minus_one.get_mut(front)) {
            to.parts = transmute!(parts);
            to.level = level;
            *weight = weight_minus_one;
        }
        occupied = occupied.wrapping_sub(here);
        let stepped = (ratio.step(u128::from(weight_minus_one) + 1) - 1) as u64;
        let any = i64::from(occupied.wrapping_neg().negative()).cast_unsigned();
        weight_minus_one ^= (weight_minus_one ^ stepped) & any;
    }
    for (index, bin) in (0i32..).zip(bins.iter_mut()) {
        let before = index.wrapping_sub(occupied).negative();
        for in_part in &mut bin.parts {
            *in_part &= before as u16;
        }
    }
}

/// The number of coins that one word of marks covers, a bit for each; see [`mark_last_of_level`].
const MARKED: usize = u32::BITS as usize;

/// Coins tossed at a time.
const COINS: usize = if VECTORS { 8 * MARKED } else { MARKED };

/// The number of coins that one list of marks covers.
const STRETCH: usize = 2048;

/// A candidate, by its level and rank.
#[derive(Clone, Copy, Default)]
struct Drawn {
    level: u8,
    /// The index among the candidates of this level.
    rank: u32,
    /// The candidates of this level in each part.
    parts: Parts,
}

/// Tosses one coin per candidate, level by level, then draws a head.
// `inline(never)`: inlined, its buffers take stack while levels are computed.
#[inline(never)]
fn permute_and_flip<R: Rng + ?Sized>(
    backend: Backend,
    bins: &[Bin],
    mut tossing: Tossing<'_>,
    candidates: u32,
    rng: &mut R,
) -> Drawn {
    const { assert!(STRETCH.is_multiple_of(COINS) && COINS.is_multiple_of(MARKED)) };
    let mut words = [[0u8; 8]; COINS];
    let mut last_of_level = [0u32; STRETCH / MARKED];
    let mut tossed: u32 = 0;
    while tossed < candidates {
        let place = tossed as usize % STRETCH;
        if place == 0 {
            mark_last_of_level(bins, tossed, &mut last_of_level);
        }
        let marks = part(&last_of_level, place / MARKED..);
        let to_toss = candidates.wrapping_sub(tossed) as usize;
        let coins = part_mut(&mut words, ..cmp::min(to_toss, COINS));
        rng.fill_bytes(coins.as_flattened_mut());
        backend.toss(&mut tossing, coins, marks);
        tossed += COINS as u32;
    }
    wipe(&mut last_of_level);
    wipe(words.as_flattened_mut());
    // The best level always shows heads, so there is one to draw.
    let running = tossing.heads.iter().map(|heads| u128::from(*heads));
    draw_level(bins, tossing.heads_so_far.into(), running, rng)
}

/// Marks the last coin of each level among the [`STRETCH`] coins from `start` on, so that the loop
/// over coins need not wait for counts. The highest bit of the first word is the first coin.
fn mark_last_of_level(bins: &[Bin], start: u32, marks: &mut [u32; STRETCH / MARKED]) {
    marks.fill(0);
    let mut end: u32 = 0;
    for bin in bins {
        end = end.wrapping_add(bin.candidates());
        // Levels with candidates come first. The empty ones after them mark the last coin again,
        // which changes nothing.
        let coin = end.wrapping_sub(1).wrapping_sub(start);
        // 1 or 0, without a comparison.
        let inside = (coin / STRETCH as u32).wrapping_sub(1) >> 31;
        // Always in the list, so that no branch depends on a count.
        let word = coin as usize % STRETCH / MARKED;
        if let Some(word) = marks.get_mut(word) {
            *word |= inside << (31 - coin % MARKED as u32);
        }
    }
}

/// Draws a level by the total weight of its candidates, then a candidate of that level.
fn exponential<R: Rng + ?Sized>(bins: &[Bin], weights_minus_one: &[u64], rng: &mut R) -> Drawn {
    // At most 2^16 candidates of weight at most 2^48: the total is at most 2^64.
    let shares = bins.iter().zip(weights_minus_one);
    let shares =
        shares.map(|(bin, weight)| u128::from(bin.candidates()) * (u128::from(*weight) + 1));
    let mut sum: u128 = 0;
    let running = shares.clone().map(|share| {
        sum += share;
        sum
    });
    draw_level(bins, shares.sum(), running, rng)
}

/// Draws a level in proportion to its share, and a rank below its candidate count. `running`: the
/// running sums of the shares, which reach `total` at the last level with candidates. Any numbers
/// up to `total` may follow.
fn draw_level<R: Rng + ?Sized>(
    bins: &[Bin],
    total: u128,
    running: impl Iterator<Item = u128>,
    rng: &mut R,
) -> Drawn {
    let target = u128::from(below(rng, total));
    let mut passed = Choice::from(0);
    let mut drawn = Drawn::default();
    let mut candidates: u32 = 0;
    for (bin, running) in bins.iter().zip(running) {
        let passes = !passed & Choice::from(u8::from(running > target));
        drawn.level.conditional_assign(&bin.level, passes);
        for (drawn, in_part) in drawn.parts.iter_mut().zip(&bin.parts) {
            drawn.conditional_assign(in_part, passes);
        }
        candidates.conditional_assign(&bin.candidates(), passes);
        passed |= passes;
    }
    drawn.rank = below(rng, u128::from(candidates)) as u32;
    drawn
}

/// The number of levels that are compared at a time.
const CHUNK: usize = 128;

/// The index of the candidate that was drawn. Visits all of the part that contains it, retains a
/// copy of its chunk, and searches that.
fn nth_of_level(backend: Backend, levels: &impl Levels, drawn: Drawn) -> u32 {
    let Drawn { level, rank, parts } = drawn;
    let worst = cmp::min(levels.bound().saturating_sub(1), MAX_LEVELS - 1) as u8;
    // The last part that starts at or before the candidate, and how many candidates of the drawn
    // level come before this part.
    let mut part: u32 = 0;
    let mut seen: u32 = 0;
    let mut before: u32 = 0;
    for (index, in_part) in (0u32..).zip(parts) {
        let reached = !before.ct_gt(&rank);
        part.conditional_assign(&index, reached);
        seen.conditional_assign(&before, reached);
        before = before.wrapping_add(u32::from(in_part));
    }
    let range = part_of(levels.candidate_count(), part as usize);
    let mut start = range.start as u32;
    let mut retained = [0u8; CHUNK];
    let mut retained_start: u32 = 0;
    let mut retained_seen: u32 = 0;
    levels.for_each_block_of(range, |block| {
        for chunk in block.chunks(CHUNK) {
            // Padded with another level.
            let mut clamped = [!level; CHUNK];
            for (to, from) in clamped.iter_mut().zip(chunk) {
                *to = lane_min(*from, worst);
            }
            let here = backend.count_equal(&clamped, level);
            let found = !seen.ct_gt(&rank) & (seen.wrapping_add(here)).ct_gt(&rank);
            let mask = found.unwrap_u8().wrapping_neg();
            for (retained, level) in retained.iter_mut().zip(&clamped) {
                *retained = (*retained & !mask) | (*level & mask);
            }
            retained_start.conditional_assign(&start, found);
            retained_seen.conditional_assign(&seen, found);
            seen = seen.wrapping_add(here);
            start = start.wrapping_add(chunk.len() as u32);
        }
    });
    let mut found: u32 = 0;
    for (index, other) in (retained_start..).zip(&retained) {
        let same = other.ct_eq(&level);
        found.conditional_assign(&index, same & retained_seen.ct_eq(&rank));
        retained_seen = retained_seen.wrapping_add(u32::from(same.unwrap_u8()));
    }
    wipe(&mut retained);
    found
}

/// The reason why nothing was selected. It depends on public sizes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectError {
    /// No candidates, or more than [`MAX_CANDIDATES`].
    #[error("{found} candidates; a selection takes 1 to {MAX_CANDIDATES}")]
    Candidates {
        /// The number of candidates.
        found: u32,
    },
    /// The bound on levels is zero or above the capacity of the histogram.
    #[error("level bound {found}; it must lie in 1..={limit}")]
    LevelBound {
        /// The bound.
        found: usize,
        /// The capacity.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PublicRng;

    /// ⌈a·b / 2¹²⁷⌉, bit by bit.
    fn product(a: u128, b: u128) -> u128 {
        let (mut high, mut low) = (0u128, 0u128);
        for bit in (0..128).rev() {
            (high, low) = (high << 1 | low >> 127, low << 1);
            if a >> bit & 1 == 1 {
                let carry;
                (low, carry) = low.overflowing_add(b);
                high += u128::from(carry);
            }
        }
        (high << 1 | low >> 127) + u128::from(low << 1 != 0)
    }

    /// Compares all 128 bits of a product. C has only the upper half, and the errors of 30
    /// roundings could add up unseen in the lower.
    #[test]
    fn products_are_exact_and_rounded_up() {
        let one = 1 << 127;
        let mut rng = PublicRng::new(6);
        let mut word = || u128::from(rng.next_u64()) << 63 | u128::from(rng.next_u64() >> 1);
        let mut factors = std::vec![1, 2, one, one - 1, 1 << 63, 1 << 64, (1 << 64) - 1];
        factors.extend(EXP_OF_BIT);
        for size in 0..60 {
            factors.push((word() >> size).max(1));
        }
        for a in &factors {
            assert_eq!(multiply_up(*a, one), *a);
            for b in &factors {
                assert_eq!(multiply_up(*a, *b), product(*a, *b), "{a:#x} {b:#x}");
            }
        }
    }
}
