//! Rational bounds on e^x for rational x ≥ 0, in integers only.

use num_bigint::BigUint;

/// Fractional bits of the bounds.
pub const PRECISION: u32 = 320;

/// Integers with `lower ≤ 2^PRECISION · e^x ≤ upper`.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// At most 2^PRECISION·e^x.
    pub lower: BigUint,
    /// At least 2^PRECISION·e^x.
    pub upper: BigUint,
}

/// Bounds on e^(numerator/denominator), relatively closer than 2⁻²⁸⁰ for exponents up to 1000.
///
/// e^x = (e^(x/2^k))^(2^k) with x/2^k ≤ 1. The inner exponential is a Taylor sum of positive terms.
/// Truncated and with every term rounded down it is a lower bound. With every term rounded up and
/// the last one counted twice more it is an upper bound, because the rest of the series is less
/// than the last term once a term is below 1/2 of its predecessor.
pub fn exp(numerator: u64, denominator: u64) -> Bounds {
    exp_of(numerator.into(), denominator.into())
}

/// [`exp`] for integers of any size.
pub fn exp_of(x: BigUint, mut y: BigUint) -> Bounds {
    assert!(y > BigUint::ZERO);
    let mut doublings = 0;
    while x > y {
        doublings += 1;
        y <<= 1u32;
    }
    let one = BigUint::from(1u32) << PRECISION;
    let up = |a: BigUint, b: &BigUint| (a + b - 1u32) / b;

    let (mut low_term, mut high_term) = (one.clone(), one.clone());
    let (mut lower, mut upper) = (one.clone(), one);
    // 1/80! < 2^-390.
    for n in 1u32..=80 {
        let divisor = &y * n;
        low_term = low_term * &x / &divisor;
        high_term = up(high_term * &x, &divisor);
        lower += &low_term;
        upper += &high_term;
    }
    upper += high_term * 2u32;

    let unit = BigUint::from(1u32) << PRECISION;
    for _ in 0..doublings {
        lower = (&lower * &lower) >> PRECISION;
        upper = up(&upper * &upper, &unit);
    }
    Bounds { lower, upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_enclose_known_digits() {
        // e, e^10 and e^(1/2) from published digits: floor(value·10^n), and that plus one.
        for (numerator, denominator, digits, n) in [
            (1, 1, "2718281828459045235360287471352662497757", 39),
            (10, 1, "220264657948067165169579006452842443663535", 37),
            (1, 2, "1648721270700128146848650787814163571653", 39),
            (0, 7, "1000000000000000000000000000000000000000", 39),
        ] {
            let bounds = exp(numerator, denominator);
            let floor: BigUint = digits.parse().expect("digits");
            let ten = BigUint::from(10u32).pow(n);
            assert!(&bounds.lower * &ten < (&floor + 1u32) << PRECISION);
            assert!(&bounds.upper * &ten >= floor << PRECISION);
            assert!(bounds.lower <= bounds.upper);
        }
    }

    #[test]
    fn bounds_are_tight_and_multiply() {
        for micro in [
            1,
            2,
            999_999,
            1_000_000,
            85_000_000,
            999_999_999,
            1_000_000_000,
        ] {
            let whole = exp(micro, 1_000_000);
            let gap = &whole.upper - &whole.lower;
            assert!(gap << 280 <= whole.lower, "e^{micro}e-6");
            // (e^(x/2))² = e^x.
            let half = exp(micro, 2_000_000);
            assert!((&half.lower * &half.lower) >> PRECISION <= whole.upper);
            assert!((&half.upper * &half.upper) >> PRECISION >= whole.lower);
        }
    }
}
