//! Integer arithmetic whose work does not depend on the numbers, and the rule of constant work.
//!
//! # The rule
//!
//! A number is *private* if it depends on a text, an embedding or a draw. On the constant-work
//! paths (pushing an embedding, releasing) the code may do four things with a private number:
//!
//! - add, subtract, multiply, combine bits, convert, and shift by a public amount;
//! - compare it, if the result becomes a number that is added: `sum += u32::from(a <= b)`;
//! - call the functions of `subtle` and of this module;
//! - divide it by a public [`Modulus`].
//!
//! A private number must not decide a branch, an address or a number of steps, and no other
//! division may take one. The methods `min`, `max` and `clamp` are forbidden too, because compilers
//! turn them into branches where they expect one side to win. In their place:
//!
//! | for | write |
//! | --- | --- |
//! | a private number | [`at_least`], [`at_most`]: masks that the compiler cannot see through |
//! | private numbers in a loop that compilers vectorise | [`lane_min`], [`lane_max`], [`lane_clamp`] |
//! | public numbers | `core::cmp::{min, max}`, [`lane_clamp`] |
//!
//! Clippy refuses the methods in `kernels`, `scores`, `select`, `recode`, `depth`, `whole_text`,
//! `laplace`, `fixed` and here (`disallowed_methods`; the list is in `core/clippy.toml`). The tests
//! of constant work (`tests/tests/constant_work.rs`) count the instructions that result.

use core::cmp;
use core::num::NonZero;
use core::ops::{BitAnd, BitXor, Sub};

use subtle::Choice;

use crate::barrier::opaque;

/// A signed integer whose sign becomes a mask.
pub(crate) trait Signed:
    Copy + Sub<Output = Self> + BitXor<Output = Self> + BitAnd<Output = Self>
{
    /// All ones for negative numbers, 0 for others.
    fn negative(self) -> Self;
}

macro_rules! signed {
    ($($number:ty),*) => {$(
        impl Signed for $number {
            #[inline(always)]
            fn negative(self) -> Self {
                // The highest 32 bits have the sign.
                opaque((self >> (Self::BITS - 32)) as i32 >> 31).into()
            }
        }
    )*};
}

signed!(i32, i64, i128);

/// The larger of two numbers whose difference does not overflow.
#[inline(always)]
pub(crate) fn at_least<T: Signed>(x: T, least: T) -> T {
    let below = (x - least).negative();
    x ^ (x ^ least) & below
}

/// The smaller of two numbers whose difference does not overflow.
#[inline(always)]
pub(crate) fn at_most<T: Signed>(x: T, most: T) -> T {
    let above = (most - x).negative();
    x ^ (x ^ most) & above
}

/// The smaller number, for loops that compilers vectorise, because a lane has no branches. With
/// [`at_most`] they would not vectorise the loop.
#[inline(always)]
pub(crate) fn lane_min<T: Ord>(a: T, b: T) -> T {
    cmp::min(a, b)
}

/// The larger number, for the same loops.
#[inline(always)]
pub(crate) fn lane_max<T: Ord>(a: T, b: T) -> T {
    cmp::max(a, b)
}

/// The nearest number within `least..=most`, for the same loops.
#[inline(always)]
pub(crate) fn lane_clamp<T: Ord>(x: T, least: T, most: T) -> T {
    lane_min(lane_max(x, least), most)
}

/// ⌊2⁴⁰ / divisor⌋, bit by bit; `divisor` lies in 1..2³¹. The machine's division takes longer for
/// some numbers than for others.
#[inline]
pub(crate) fn reciprocal_40(divisor: u32) -> u64 {
    let (mut quotient, mut rest) = (0u64, 1u32);
    for _ in 0..=40 {
        // rest < 2·divisor < 2^32.
        let fits = u32::from(rest >= divisor);
        rest = rest.wrapping_sub(divisor & fits.wrapping_neg()) << 1;
        quotient = quotient << 1 | u64::from(fits);
    }
    quotient
}

/// Defines ⌊√x⌋ for one width, bit by bit. Each comparison becomes a number that is added, and
/// compilers make no branch of that.
macro_rules! square_root {
    ($name:ident($wide:ty, $bits:literal) -> $narrow:ty) => {
        /// ⌊√x⌋.
        #[inline]
        pub(crate) fn $name(x: $wide) -> $narrow {
            let mut root: $wide = 0;
            let mut shift = $bits;
            while shift > 0 {
                shift -= 2;
                root *= 2;
                // At most half the bits of `x`, so that its square fits.
                let tried = root | 1;
                root += <$wide>::from(tried.wrapping_mul(tried) <= x >> shift);
            }
            root as $narrow
        }
    };
}

// Eight of these fit a vector register.
square_root!(square_root_16(u16, 16) -> u8);
// Below 2^40.
square_root!(square_root_40(u64, 40) -> u32);

/// All ones, or 0.
#[inline(always)]
pub(crate) fn mask(choice: Choice) -> u32 {
    u32::from(choice.unwrap_u8()).wrapping_neg()
}

/// A public number from 2 to 2¹⁶ − 1, with its reciprocal. It divides private numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Modulus {
    modulus: NonZero<u16>,
    /// ⌊2³² / modulus⌋.
    reciprocal: u32,
}

impl Modulus {
    /// `None` for 0 and 1.
    pub(crate) fn new(modulus: u16) -> Option<Self> {
        let modulus = NonZero::new(modulus).filter(|modulus| modulus.get() > 1)?;
        // The modulus is at least 2, so the quotient fits.
        let reciprocal = ((1 << 32) / NonZero::<u64>::from(modulus)) as u32;
        Some(Self {
            modulus,
            reciprocal,
        })
    }

    pub(crate) fn get(self) -> u16 {
        self.modulus.get()
    }

    /// The quotient of any number, and the remainder, without the machine's division (Barrett).
    #[inline(always)]
    pub(crate) fn divide(self, x: u32) -> (u32, u32) {
        let modulus = i32::from(self.get());
        // The reciprocal is less than 1 too small, and x is below 2^32, so the quotient is right or
        // one too small.
        let quotient = ((u64::from(x) * u64::from(self.reciprocal)) >> 32) as u32;
        // Below twice the modulus.
        let rest = x.wrapping_sub(quotient.wrapping_mul(modulus as u32)) as i32;
        let right = (rest - modulus).negative();
        let (carry, remainder) = (1 + right, rest - (modulus & !right));
        (quotient.wrapping_add(carry as u32), remainder as u32)
    }

    #[inline(always)]
    pub(crate) fn remainder(self, x: u32) -> u32 {
        self.divide(x).1
    }

    /// The product of two numbers below the modulus.
    #[inline(always)]
    pub(crate) fn product(self, a: u32, b: u32) -> u32 {
        self.remainder(a.wrapping_mul(b))
    }

    /// 1/x for a prime modulus, by Fermat; 0 for 0, unless the modulus is 2.
    pub(crate) fn inverse(self, x: u32) -> u32 {
        let (mut result, mut square) = (1, x);
        let mut exponent = self.get().saturating_sub(2);
        while exponent > 0 {
            // The exponent is public.
            if exponent & 1 == 1 {
                result = self.product(result, square);
            }
            square = self.product(square, square);
            exponent >>= 1;
        }
        result
    }
}

/// Whether a public number is a prime.
pub(crate) fn is_prime(number: u16) -> bool {
    let number = u32::from(number);
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    number >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        for order in [
            2, 3, 4, 5, 7, 251, 255, 256, 257, 2895, 4093, 65_519, 65_521, 65_535,
        ] {
            let modulus = Modulus::new(order).unwrap();
            let q = u32::from(order);
            let multiples = [1u32, 2, 3, 1000, q - 1, q, u32::MAX / q].map(|k| k.wrapping_mul(q));
            let near = multiples
                .iter()
                .flat_map(|m| [-1, 0, 1].map(|d| m.wrapping_add_signed(d)));
            for x in near.chain([0, 1, u32::MAX, u32::MAX - 1, 1 << 31, (q - 1) * (q - 1)]) {
                assert_eq!(modulus.divide(x), (x / q, x % q), "{x} by {q}");
            }
            for x in (1..q).step_by(q as usize / 300 + 1) {
                let one = modulus.product(x, modulus.inverse(x));
                assert!(one == 1 || !is_prime(order), "1/{x} of {q}");
            }
        }
    }

    #[test]
    fn primes_are_primes() {
        let composite = |n: u16| (2..n).any(|d| n.is_multiple_of(d));
        for number in (0..600).chain(65_500..=u16::MAX) {
            assert_eq!(
                is_prime(number),
                number >= 2 && !composite(number),
                "{number}"
            );
        }
    }

    #[test]
    fn square_roots_of_16_bits_are_exact() {
        for x in 0..=u16::MAX {
            assert_eq!(u16::from(square_root_16(x)), x.isqrt(), "{x}");
        }
    }

    #[test]
    fn reciprocals_are_rounded_down() {
        let small = 1..70_000u32;
        let large = [
            1 << 20,
            (1 << 20) + 1,
            (1 << 30) - 1,
            1 << 30,
            (1 << 31) - 1,
        ];
        for divisor in small.chain(large) {
            assert_eq!(
                reciprocal_40(divisor),
                (1 << 40) / u64::from(divisor),
                "{divisor}"
            );
        }
    }

    #[test]
    fn square_roots_of_40_bits_are_rounded_down() {
        for root in [0u64, 1, 2, 3, 1000, 65_535, 1 << 19, (1 << 20) - 1] {
            let square = root * root;
            assert_eq!(u64::from(square_root_40(square)), root);
            if root > 0 {
                assert_eq!(u64::from(square_root_40(square - 1)), root - 1);
                assert_eq!(u64::from(square_root_40(square + 1)), root);
            }
        }
        assert_eq!(square_root_40((1 << 40) - 1), (1 << 20) - 1);
    }

    #[test]
    fn limits_are_those_of_comparisons() {
        let near = [1 - (1 << 30), -70_000, -1, 0, 1, 2, 70_000, 1 << 30];
        for (x, y) in near.iter().flat_map(|x| near.map(|y| (*x, y))) {
            assert_eq!(at_most(x, y), x.min(y));
            assert_eq!(at_least(x, y), x.max(y));
            let (wide_x, wide_y) = (i64::from(x) << 32, i64::from(y) << 32);
            assert_eq!(at_most(wide_x, wide_y), wide_x.min(wide_y));
            assert_eq!(at_least(wide_x, wide_y), wide_x.max(wide_y));
            let (x, y) = (i128::from(x) << 95, i128::from(y) << 95);
            for (x, y) in [(x, y), (x + 1, y), (x, y + 1)] {
                assert_eq!(at_most(x, y), x.min(y));
                assert_eq!(at_least(x, y), x.max(y));
            }
        }
    }
}
