//! n-dimensional Laplace noise for given random words, from its definition and to 190 bits.
//!
//! It shares no code with the library: logarithms, roots and angles are those of an
//! arbitrary-precision library. Only the meaning of each word is the same.

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use dashu_int::IBig;
use undertone_core::laplace::Laplace;
use undertone_core::rng::rand_core::Rng;

/// A number with [`PRECISION`] significant bits.
pub type Real = FBig<HalfEven, 2>;

/// Significant bits of a [`Real`].
pub const PRECISION: usize = 190;

/// `significand`·2^`exponent`.
pub fn real(significand: impl Into<IBig>, exponent: isize) -> Real {
    Real::from_parts(significand.into(), exponent)
        .with_precision(PRECISION)
        .value()
}

/// A double, exactly.
pub fn exact(x: f64) -> Real {
    assert!(x.is_finite());
    let exponent = (x.to_bits() >> 52 & 0x7ff).max(1) as isize - 1075;
    let normal = u64::from(x.to_bits() >> 52 & 0x7ff != 0) << 52;
    let significand = (x.to_bits() & ((1 << 52) - 1) | normal) as i64;
    real(if x < 0.0 { -significand } else { significand }, exponent)
}

/// |found − expected| in units of `unit`, as a float.
pub fn error_in(found: f64, expected: &Real, unit: &Real) -> f64 {
    let difference = (exact(found) - expected) / unit;
    difference.to_f64().value().abs()
}

/// −ln v, v = (2⁶⁴·high + low + ½)/2¹²⁸.
pub fn exponential(high: u64, low: u64) -> Real {
    let v = IBig::from(u128::from(high) << 64 | u128::from(low)) * 2 + 1;
    -real(v, -129).ln()
}

/// A point of the unit circle: 61 bits give its angle in the first octant, the next one mirrors it
/// at the diagonal, the first two at the axes.
pub fn direction(word: u64) -> (Real, Real) {
    let angle = IBig::from(word & ((1 << 61) - 1)) * 2 + 1;
    let (mut y, mut x) = real(angle, -64).sin_cos_pi();
    if word >> 61 & 1 == 1 {
        (x, y) = (y, x);
    }
    let signed = |x: Real, sign: u64| if sign == 1 { -x } else { x };
    (signed(x, word >> 63), signed(y, word >> 62 & 1))
}

/// Two Gaussians by Box and Muller.
pub fn gaussians(high: u64, low: u64, angle: u64) -> (Real, Real) {
    let radius = (exponential(high, low) * real(2, 0)).sqrt();
    let (x, y) = direction(angle);
    (&radius * x, radius * y)
}

/// The number of words that χ² takes.
pub fn chi_squared_words(degrees: usize) -> usize {
    let count = degrees / 2;
    3 * (degrees % 2)
        + if count < AT_ONCE {
            2 * count
        } else {
            count + count.div_ceil(32) + 6
        }
}

/// The number of words that the noise in `dimension` coordinates takes.
pub fn words(dimension: usize) -> usize {
    chi_squared_words(dimension + 1) + 3 * dimension.div_ceil(2)
}

/// From this number of exponentials on, they are summed at once.
pub const AT_ONCE: usize = 16;

/// χ² with `degrees` of freedom from the next words.
///
/// Sums many exponentials at once. Their uniform variables are 2^−g·u with u = 1 − word/2⁶⁵. The
/// sum of the g is the number of zeroes before the n-th one in the bits of the following words, low
/// bits first (all zeroes if there are fewer ones), for n exponentials.
pub fn chi_squared<'a>(degrees: usize, next: &mut impl FnMut(usize) -> &'a [u64]) -> Real {
    let mut sum = real(0, 0);
    if degrees % 2 == 1 {
        let words = next(3);
        let (g, _) = gaussians(words[0], words[1], words[2]);
        sum += &g * &g;
    }
    let count = degrees / 2;
    if count < AT_ONCE {
        let words = next(2 * count);
        for i in 0..count {
            sum += exponential(words[i], words[count + i]) * real(2, 0);
        }
        return sum;
    }
    let mut product = real(1, 0);
    for word in next(count) {
        product *= real((1u128 << 65) - u128::from(*word), -65);
    }
    let bits = next(count.div_ceil(32) + 6).iter();
    let (mut ones, mut zeroes) = (0, 0u32);
    for bit in bits.flat_map(|word| (0..64).map(move |bit| word >> bit & 1)) {
        match bit {
            _ if ones == count => break,
            1 => ones += 1,
            _ => zeroes += 1,
        }
    }
    sum + (real(zeroes, 0) * real(2, 0).ln() - product.ln()) * real(2, 0)
}

/// The noise z·2^F of the words: (Δ/ε)·2^F·‖g'‖·g, without any rounding.
pub fn noise(laplace: &Laplace, words: &[u64]) -> Vec<Real> {
    let mut rest = words;
    let mut next = |count: usize| {
        let (now, later) = rest.split_at(count);
        rest = later;
        now
    };
    let m = laplace.dimension() as usize;
    let norm = chi_squared(m + 1, &mut next).sqrt();
    let units = real(
        laplace.sensitivity().units() * 1_000_000,
        laplace.fraction_bits() as isize - 32,
    );
    let factor = units / real(laplace.epsilon().micro(), 0) * norm;
    let mut coordinates = Vec::with_capacity(m);
    while coordinates.len() < m {
        let left = m - coordinates.len();
        let pairs = left.min(64).div_ceil(2);
        let words = next(3 * pairs);
        let drawn: Vec<_> = (0..pairs)
            .map(|i| gaussians(words[i], words[pairs + i], words[2 * pairs + i]))
            .collect();
        let both = drawn
            .iter()
            .map(|(x, _)| x)
            .chain(drawn.iter().map(|(_, y)| y));
        coordinates.extend(both.take(left).map(|g| &factor * g));
    }
    assert!(rest.is_empty(), "{} words left", rest.len());
    coordinates
}

/// Uniform on 0..1, in floating point. For experiments.
pub fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53)
}

/// A standard Gaussian, in floating point. For experiments.
pub fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * uniform(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

/// The textbook mechanism, which reveals its input: x + r·u with a Gamma variable r and a
/// normalised Gaussian u, in `f32` or in `f64`.
pub fn textbook(single: bool, x: &[f64], rate: f64, rng: &mut impl Rng) -> Vec<f64> {
    let g: Vec<f64> = x.iter().map(|_| normal(rng)).collect();
    let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
    let r = x.iter().map(|_| -uniform(rng).ln()).sum::<f64>() / rate;
    let pairs = x.iter().zip(&g);
    if single {
        pairs
            .map(|(x, g)| f64::from(*x as f32 + r as f32 * (g / norm) as f32))
            .collect()
    } else {
        pairs.map(|(x, g)| x + r * (g / norm)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published digits and special values.
    #[test]
    fn known_values() {
        let close = |x: &Real, y: &Real| {
            let error = (x - y).to_f64().value().abs();
            assert!(error < 1e-50, "{error:e}");
        };
        // v = ½ + 2⁻¹²⁹: ln 2 = 0.6931471805599453094172321214581765680755 less 2⁻¹²⁸.
        let ln_2 = exponential(1 << 63, 0) + real(1, -128);
        let digits: IBig = "6931471805599453094172321214581765680755"
            .parse()
            .expect("digits");
        let scale = IBig::from(10).pow(40);
        let error = (ln_2 - real(digits, 0) / real(scale, 0)).to_f64().value();
        assert!((0.0..1e-40).contains(&error), "{error:e}");
        for word in [0, 1, 0x123_4567_89ab_cdef, u64::MAX, 1 << 61] {
            let (x, y) = direction(word);
            close(&(&x * &x + &y * &y), &real(1, 0));
        }
        for x in [0.0, 1.5, -3e-300, 5e-324, 1e300] {
            assert_eq!(exact(x).to_f64().value(), x);
        }
    }
}
