//! Exponential and Gaussian variables in double precision, from a fixed number of words, without
//! branches.
//!
//! Every operation is a correctly rounded one of IEEE 754, and the square root is the only library
//! function, so all targets agree to the bit. The error analysis is in the documentation of
//! [`super`].

#![expect(
    clippy::float_arithmetic,
    reason = "noise is drawn independently of private data; its error is bounded"
)]

use core::cmp;
use core::f64::consts::{FRAC_PI_4, LN_2};

use rand_core::Rng;
use zerocopy::IntoBytes;
use zeroize::Zeroize;

use crate::checked::{part, part_mut, split_mut};

/// Box–Muller pairs drawn at a time.
const PAIRS: usize = 32;

/// Gaussians drawn at a time.
pub(super) const BATCH: usize = 2 * PAIRS;

/// χ² with this many exponentials or more takes their sum at once.
const MANY: usize = 16;

/// Factors multiplied side by side.
const LANES: usize = 8;

/// Working memory, 1.5 KiB; wiped when it goes.
pub(super) struct Sampler<T: Fn(&[u64], &mut [f64], &mut [f64])> {
    words: [u64; 3 * PAIRS],
    radii: [f64; PAIRS],
    gaussians: [f64; BATCH],
    transform: T,
}

impl<T: Fn(&[u64], &mut [f64], &mut [f64])> Sampler<T> {
    /// `transform`: [`box_muller`], with any instructions that give the same bits.
    pub(super) fn new(transform: T) -> Self {
        Self {
            words: [0; 3 * PAIRS],
            radii: [0.0; PAIRS],
            gaussians: [0.0; BATCH],
            transform,
        }
    }

    /// χ² with `degrees` of freedom, 2 to 1025: twice a sum of exponentials, and the square of one
    /// Gaussian if `degrees` is odd.
    pub(super) fn chi_squared<R: Rng + ?Sized>(&mut self, degrees: u32, rng: &mut R) -> f64 {
        let mut square = 0.0;
        if degrees % 2 == 1 {
            let gaussian = self.pairs(1, rng).first().copied().unwrap_or(0.0);
            square = gaussian * gaussian;
        }
        let count = degrees as usize / 2;
        let sum = if count < MANY {
            self.draw(2 * count, rng);
            fill_exponentials(&self.words, count, &mut self.radii);
            self.radii.iter().take(count).sum::<f64>()
        } else {
            self.sum_of_exponentials(count, rng)
        };
        2.0 * sum + square
    }

    /// The sum of `count` exponentials, 16 to 512, by one logarithm: −ln of uniform variables
    /// 2^−g·u with u in (½, 1\] is g·ln 2 − ln u with g geometric, so the sum is that of the g
    /// times ln 2, minus the logarithm of the product of the u. The sum of the g is the number of
    /// zeroes before the `count`-th one in fair bits.
    ///
    /// Draws `count` words for the u and ⌈`count`/32⌉ + 6 for the bits. In N ≥ 2·count + 384 bits
    /// there are fewer ones than needed with a probability of at most e^(−(N − 2·count)²/2N) < 2⁻⁷⁵
    /// (Hoeffding); then all zeroes count.
    fn sum_of_exponentials<R: Rng + ?Sized>(&mut self, count: usize, rng: &mut R) -> f64 {
        const TWO_TO_MINUS_65: f64 = 0.5 / (1u128 << 64) as f64;
        let mut products = [1.0; LANES];
        let mut left = count;
        while left > 0 {
            let drawn = cmp::min(left, self.words.len());
            // Words that are not drawn count as factors of 1.
            self.words = [0; 3 * PAIRS];
            self.draw(drawn, rng);
            for words in self.words.as_chunks::<LANES>().0 {
                for (product, word) in products.iter_mut().zip(words) {
                    *product *= 1.0 - *word as f64 * TWO_TO_MINUS_65;
                }
            }
            left -= drawn;
        }
        // Not below 2^-512.
        let product: f64 = products.iter().product();
        products.zeroize();
        let bits = count.div_ceil(32) + 6;
        self.draw(bits, rng);
        let zeroes = zeroes_before_one(part(&self.words, ..bits), count as u32);
        let (g, w) = split(product);
        // A product of 1 is split into 2·½, so the sum may be slightly negative.
        (f64::from(zeroes) * LN_2 + minus_ln(g, w)).max(0.0)
    }

    /// `2·pairs` independent standard Gaussians, `pairs` at most half of [`BATCH`]. Draws `3·pairs`
    /// words.
    pub(super) fn pairs<R: Rng + ?Sized>(&mut self, pairs: usize, rng: &mut R) -> &[f64] {
        #[allow(clippy::disallowed_methods, reason = "a public number")]
        let pairs = pairs.clamp(1, PAIRS);
        self.draw(3 * pairs, rng);
        let words = part(&self.words, ..3 * pairs);
        let radii = part_mut(&mut self.radii, ..pairs);
        (self.transform)(words, radii, &mut self.gaussians);
        part(&self.gaussians, ..2 * pairs)
    }

    /// The next words, little-endian in the stream.
    fn draw<R: Rng + ?Sized>(&mut self, count: usize, rng: &mut R) {
        let words = part_mut(&mut self.words, ..count);
        rng.fill_bytes(words.as_mut_bytes());
        for word in words {
            *word = u64::from_le(*word);
        }
    }
}

impl<T: Fn(&[u64], &mut [f64], &mut [f64])> Drop for Sampler<T> {
    fn drop(&mut self) {
        self.words.zeroize();
        self.radii.zeroize();
        self.gaussians.zeroize();
    }
}

/// Makes two Gaussians of every three words. `gaussians` gets the first one of each pair, then the
/// second ones. `radii` is working memory; its length is the number of pairs.
pub(crate) fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]) {
    box_muller_by(words, radii, gaussians, fill_exponentials, square_roots);
}

/// [`box_muller`] with the instructions of the function that calls it: `exponentials` is
/// [`fill_exponentials`] or [`fill_exponentials_here`], `square_roots` takes each.
#[inline(always)]
pub(crate) fn box_muller_by(
    words: &[u64],
    radii: &mut [f64],
    gaussians: &mut [f64],
    exponentials: impl Fn(&[u64], usize, &mut [f64]),
    square_roots: impl Fn(&mut [f64]),
) {
    let pairs = radii.len();
    exponentials(words, pairs, radii);
    for radius in radii.iter_mut() {
        *radius *= 2.0;
    }
    square_roots(radii);
    let angles = part(words, 2 * pairs..);
    let (first, second) = split_mut(gaussians, pairs);
    let radii = radii.iter().zip(angles);
    for ((radius, angle), (first, second)) in radii.zip(first.iter_mut().zip(second)) {
        let (x, y) = direction(*angle);
        (*first, *second) = (radius * x, radius * y);
    }
}

/// Makes an exponential of each pair of words: `count` high words, then `count` low ones.
pub(crate) fn fill_exponentials(words: &[u64], count: usize, out: &mut [f64]) {
    fill_exponentials_here(words, count, out);
}

/// [`fill_exponentials`] with the instructions of the function that calls it.
#[inline(always)]
pub(crate) fn fill_exponentials_here(words: &[u64], count: usize, out: &mut [f64]) {
    let low = part(words, count..);
    for ((high, low), out) in words.iter().zip(low).zip(out.iter_mut().take(count)) {
        *out = exponential(*high, *low);
    }
}

/// −ln v for v = (2⁶⁴·high + low + ½) / 2¹²⁸.
///
/// The smaller of v and 1 − v, called x, goes to double precision straight from the integer, so it
/// keeps its relative precision at both ends. With v = 2^−g·(1 − w), where g = 0 and w = x in the
/// upper half, and 1 − w the significand of x in the lower: −ln v = g·ln 2 + 2·artanh(w/(2 − w)),
/// all of it positive.
#[inline(always)]
fn exponential(high: u64, low: u64) -> f64 {
    const TWO_TO_MINUS_64: f64 = 1.0 / (1u128 << 64) as f64;
    // All ones for the upper half.
    let upper = (high >> 63).wrapping_neg();
    let (high, low) = ((high ^ upper) as f64, (low ^ upper) as f64);
    let x = TWO_TO_MINUS_64 * (high + TWO_TO_MINUS_64 * (low + 0.5));
    let (g, w) = split(x);
    let w = f64::from_bits(x.to_bits() & upper | w.to_bits() & !upper);
    minus_ln(g & !(upper as i32), w)
}

/// g and w with x = 2^−g·(1 − w), 0 < w ≤ ½, for a normal number x ≤ 1.
#[inline(always)]
fn split(x: f64) -> (i32, f64) {
    let bits = x.to_bits();
    let significand = f64::from_bits(bits & ((1 << 52) - 1) | 1022 << 52);
    (1022 - (bits >> 52) as i32, 1.0 - significand)
}

/// −ln (2^−g·(1 − w)) for 0 ≤ w ≤ ½.
#[inline(always)]
fn minus_ln(g: i32, w: f64) -> f64 {
    let s = w / (2.0 - w);
    f64::from(g) * LN_2 + s * polynomial(&TWICE_ARTANH, s * s)
}

/// The number of zeroes before the `rank`-th one, in the order of the words and from their low bits
/// up; all zeroes if there are fewer ones. The same steps for all bits.
fn zeroes_before_one(words: &[u64], mut rank: u32) -> u32 {
    let mask = |condition: bool| u32::from(condition).wrapping_neg();
    let mut zeroes: u32 = 0;
    let (mut last, mut last_rank) = (0, 0);
    for word in words {
        let ones = word.count_ones();
        let passed = mask(ones < rank);
        let here = mask(rank > 0) & !passed;
        zeroes = zeroes.wrapping_add(passed & word.count_zeros());
        last |= *word & (u64::from(here) | u64::from(here) << 32);
        last_rank |= rank & here;
        rank = rank.wrapping_sub(ones) & passed;
    }
    for bit in 0..u64::BITS {
        let one = (last >> bit & 1) as u32;
        let open = u32::from(last_rank > 0);
        zeroes = zeroes.wrapping_add(open & !one & 1);
        last_rank = last_rank.wrapping_sub(open & one);
    }
    zeroes
}

/// The polynomial with these coefficients, in pairs of an odd and an even power, highest first. Two
/// chains of operations instead of one.
#[inline(always)]
fn polynomial<const N: usize>(pairs: &[[f64; 2]; N], x: f64) -> f64 {
    let square = x * x;
    let mut pairs = pairs.iter();
    let [odd, even] = pairs.next().copied().unwrap_or_default();
    let [odd, even] = pairs.fold([odd, even], |[odd, even], [next_odd, next_even]| {
        [odd * square + next_odd, even * square + next_even]
    });
    odd * x + even
}

/// 2·artanh(√t)/√t = 2·Σ tᵏ/(2k+1). For t ≤ 1/9 the omitted terms are below 2⁻⁵⁵ of it.
const TWICE_ARTANH: [[f64; 2]; 8] = [
    [2.0 / 31.0, 2.0 / 29.0],
    [2.0 / 27.0, 2.0 / 25.0],
    [2.0 / 23.0, 2.0 / 21.0],
    [2.0 / 19.0, 2.0 / 17.0],
    [2.0 / 15.0, 2.0 / 13.0],
    [2.0 / 11.0, 2.0 / 9.0],
    [2.0 / 7.0, 2.0 / 5.0],
    [2.0 / 3.0, 2.0],
];

/// A point of the unit circle, by angle. An angle in the first octant from 61 bits; whether it is
/// mirrored at the diagonal and at the axes from the other three.
#[inline(always)]
fn direction(word: u64) -> (f64, f64) {
    const STEP: f64 = FRAC_PI_4 / (1u64 << 61) as f64;
    const SIGN: u64 = 1 << 63;
    let angle = STEP * ((word & ((1 << 61) - 1)) as f64 + 0.5);
    let q = angle * angle;
    let cos = polynomial(&COS, q);
    let sin = angle * polynomial(&SIN, q);
    let swapped = (word >> 61 & 1).wrapping_neg();
    let difference = (cos.to_bits() ^ sin.to_bits()) & swapped;
    (
        f64::from_bits(cos.to_bits() ^ difference ^ word & SIGN),
        f64::from_bits(sin.to_bits() ^ difference ^ word << 1 & SIGN),
    )
}

/// The Taylor series of sin √q / √q: 1/19! to 1/1!. For √q ≤ π/4 the omitted terms are below 2⁻⁷²
/// of the sum.
const SIN: [[f64; 2]; 5] = [
    [
        -1.0 / 121_645_100_408_832_000.0,
        1.0 / 355_687_428_096_000.0,
    ],
    [-1.0 / 1_307_674_368_000.0, 1.0 / 6_227_020_800.0],
    [-1.0 / 39_916_800.0, 1.0 / 362_880.0],
    [-1.0 / 5_040.0, 1.0 / 120.0],
    [-1.0 / 6.0, 1.0],
];

/// The Taylor series of cos √q, likewise: 1/18! to 1/0!, and 2⁻⁶⁷.
const COS: [[f64; 2]; 5] = [
    [-1.0 / 6_402_373_705_728_000.0, 1.0 / 20_922_789_888_000.0],
    [-1.0 / 87_178_291_200.0, 1.0 / 479_001_600.0],
    [-1.0 / 3_628_800.0, 1.0 / 40_320.0],
    [-1.0 / 720.0, 1.0 / 24.0],
    [-1.0 / 2.0, 1.0],
];

/// Replaces each number by its square root, correctly rounded.
#[inline(always)]
pub(crate) fn square_roots(numbers: &mut [f64]) {
    for number in numbers {
        *number = libm::sqrt(*number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PublicRng;

    const ULP: f64 = f64::EPSILON / 2.0;

    #[test]
    fn zeroes_are_counted_up_to_a_one() {
        let mut rng = PublicRng::new(8);
        for _ in 0..300 {
            let density = rng.next_u32() % 4;
            let words = [(); 5].map(|()| match density {
                0 => 0,
                1 => rng.next_u64() & rng.next_u64() & rng.next_u64(),
                2 => rng.next_u64(),
                _ => u64::MAX,
            });
            let bit = |place: usize| words[place / 64] >> (place % 64) & 1;
            for rank in 1..330 {
                let ones = (0..320).filter(|place| bit(*place) == 1);
                let end = ones.clone().nth(rank as usize - 1).unwrap_or(320);
                let zeroes = (0..end).filter(|place| bit(*place) == 0).count();
                let found = zeroes_before_one(&words, rank);
                assert_eq!(found, zeroes as u32, "{words:x?} {rank}");
            }
        }
    }

    /// Each table has the coefficients of its series, and the omitted terms are as small as stated.
    #[test]
    fn series_are_those_of_their_functions() {
        let q = FRAC_PI_4 * FRAC_PI_4;
        let sums = [FRAC_PI_4.cos(), FRAC_PI_4.sin() / FRAC_PI_4];
        let bounds = [2f64.powi(-67), 2f64.powi(-72)];
        for ((table, first), left_out) in [(&COS, 0), (&SIN, 1)]
            .into_iter()
            .zip(sums.iter().zip(bounds).map(|(sum, bound)| sum * bound))
        {
            // n! with the sign of its term; a double for every n here.
            let (mut n, mut factorial) = (first, 1.0);
            for coefficient in table.as_flattened().iter().rev() {
                assert!((coefficient * factorial - 1.0).abs() <= 2.0 * ULP, "{n}");
                factorial *= -f64::from((n + 1) * (n + 2));
                n += 2;
            }
            // Alternating terms that get smaller: the rest is below its first.
            assert!(q.powi(n / 2) / factorial.abs() < left_out, "{n}");
        }
        let mut odd = 1.0;
        for coefficient in TWICE_ARTANH.as_flattened().iter().rev() {
            assert!((coefficient * odd / 2.0 - 1.0).abs() <= 2.0 * ULP, "{odd}");
            odd += 2.0;
        }
        // A geometric series above the rest: ratio 1/9.
        let rest = 9f64.powf((1.0 - odd) / 2.0) / odd * (9.0 / 8.0);
        assert!(rest < 2f64.powi(-55));
    }
}
