//! Integer arithmetic without branches and tables: the steps are the same for every number.

use core::ops::{BitAnd, BitXor, Sub};

use crate::barrier::opaque;

/// A signed integer whose sign becomes a mask.
pub(crate) trait Signed:
    Copy + Sub<Output = Self> + BitXor<Output = Self> + BitAnd<Output = Self>
{
    /// All ones for negative numbers, 0 for others.
    fn negative(self) -> Self;
}

impl Signed for i32 {
    #[inline(always)]
    fn negative(self) -> Self {
        opaque(self >> 31)
    }
}

impl Signed for i64 {
    #[inline(always)]
    fn negative(self) -> Self {
        // The high half tells.
        opaque((self >> 32) as i32 >> 31).into()
    }
}

impl Signed for i128 {
    #[inline(always)]
    fn negative(self) -> Self {
        // The high half tells.
        opaque((self >> 96) as i32 >> 31).into()
    }
}

/// The larger number; their difference must not overflow. Not `max`, which could become a branch.
#[inline(always)]
pub(crate) fn at_least<T: Signed>(x: T, least: T) -> T {
    let below = (x - least).negative();
    x ^ (x ^ least) & below
}

/// The smaller number, likewise.
#[inline(always)]
pub(crate) fn at_most<T: Signed>(x: T, most: T) -> T {
    let above = (most - x).negative();
    x ^ (x ^ most) & above
}

/// ⌊2⁴⁰ / divisor⌋, bit by bit; `divisor` lies in 1..2³¹. The machine's division takes longer for some numbers than for
/// others.
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

/// Defines ⌊√x⌋ for one width, bit by bit. What is compared is added, and compilers make no branch of that.
macro_rules! square_root {
    ($name:ident($wide:ty) -> $narrow:ty) => {
        /// ⌊√x⌋.
        #[inline]
        pub(crate) fn $name(x: $wide) -> $narrow {
            let mut root: $wide = 0;
            let mut shift = <$wide>::BITS;
            while shift > 0 {
                shift -= 2;
                root *= 2;
                // At most half as wide, so that its square fits.
                let tried = root | 1;
                root += <$wide>::from(tried.wrapping_mul(tried) <= x >> shift);
            }
            root as $narrow
        }
    };
}

// Eight of these fit a vector register.
square_root!(square_root_16(u16) -> u8);
square_root!(square_root_64(u64) -> u32);

#[cfg(test)]
mod tests {
    use super::*;

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
    fn square_roots_of_64_bits_are_rounded_down() {
        for root in [0u64, 1, 2, 3, 1000, 65_535, 1 << 20, u64::from(u32::MAX)] {
            let square = root * root;
            assert_eq!(u64::from(square_root_64(square)), root);
            if root > 0 {
                assert_eq!(u64::from(square_root_64(square - 1)), root - 1);
                assert_eq!(u64::from(square_root_64(square + 1)), root);
            }
        }
        assert_eq!(square_root_64(u64::MAX), u32::MAX);
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
