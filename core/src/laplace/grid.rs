//! The public grid of a release, and the sensitivity that it is made for.

use core::fmt;

use crate::epsilon::Epsilon;

/// The fractional bits below the grid: a step of it counts 2⁴⁰.
pub(super) const BITS_BELOW_GRID: u32 = 40;

/// log₂ of the largest B/h.
pub(super) const MAX_GRID_BITS: i32 = 21;

/// The largest factor by which a public map stretches distances, in units of 2⁻³², rounded up;
/// `2⁻¹²..=2¹²`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sensitivity(u64);

impl Sensitivity {
    /// 1, for noise on the vector itself.
    pub const ONE: Self = Self(1 << 32);
    /// The smallest: 2⁻¹².
    pub const MIN: Self = Self(1 << 20);
    /// The largest: 2¹².
    pub const MAX: Self = Self(1 << 44);

    /// `units`·2⁻³², `None` outside 2⁻¹²..=2¹².
    pub const fn from_units(units: u64) -> Option<Self> {
        if Self::MIN.0 <= units && units <= Self::MAX.0 {
            Some(Self(units))
        } else {
            None
        }
    }

    /// In units of 2⁻³².
    pub const fn units(self) -> u64 {
        self.0
    }
}

/// Writes six decimals, rounded up: `1.000000`.
impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // At most 2^44 · 10^6 < 2^64.
        let micro = (self.0 * 1_000_000).div_ceil(1 << 32);
        write!(f, "{}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}

/// The largest k with 2^k·2^`log2_steps` ≤ Δ·√`square`/ε, exactly. `square` is in 1..=2¹¹,
/// `log2_steps` in 3..=6.
///
/// With Δ = D·2⁻³² and ε = E·10⁻⁶: the largest k with 4^(k + log2_steps + 26)·E² ≤ D²·square·5¹².
pub(super) fn grid_exponent(
    square: u32,
    log2_steps: i32,
    epsilon: Epsilon,
    sensitivity: Sensitivity,
) -> i32 {
    let units = u128::from(sensitivity.units());
    let micro = u128::from(epsilon.micro());
    // Between 2^67 and 2^127, and below 2^60: the exponent below starts low enough.
    let right = units * units * u128::from(square) * 5u128.pow(12);
    let left = micro * micro;
    let mut exponent = -26 - log2_steps;
    // left·4^j ≤ right exactly if left ≤ ⌊right/4^j⌋.
    let mut rest = right >> 2;
    while rest >= left {
        exponent += 1;
        rest >>= 2;
    }
    exponent
}
