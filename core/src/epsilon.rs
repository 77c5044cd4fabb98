//! The privacy parameter ε as a whole number of micro-units.

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

use thiserror::Error;

/// A privacy parameter ε in `0.000001..=1000`, held exactly as whole micro-units.
///
/// A value that exists is valid. Text is parsed exactly and rounded **down** (more private, never
/// less). Every mechanism serves an ε that its integer weights cannot express as a smaller one.
///
/// ```
/// use undertone_core::epsilon::Epsilon;
/// let epsilon: Epsilon = "2.5".parse()?;
/// assert_eq!(epsilon.micro(), 2_500_000);
/// # Ok::<(), undertone_core::epsilon::EpsilonError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epsilon(NonZeroU32);

/// Micro-units in ε = 1.
pub const MICRO: u32 = 1_000_000;

impl Epsilon {
    /// The largest ε: 1000.
    pub const MAX: Epsilon = match NonZeroU32::new(1000 * MICRO) {
        Some(micro) => Epsilon(micro),
        None => unreachable!(),
    };

    /// ε from whole micro-units, `1..=1_000_000_000`.
    ///
    /// # Errors
    /// [`EpsilonError::TooSmall`] for 0, [`EpsilonError::TooLarge`] above [`Epsilon::MAX`].
    pub const fn from_micro(micro: u32) -> Result<Self, EpsilonError> {
        match NonZeroU32::new(micro) {
            None => Err(EpsilonError::TooSmall),
            Some(value) if micro <= Self::MAX.micro() => Ok(Self(value)),
            Some(_) => Err(EpsilonError::TooLarge),
        }
    }

    /// ε in micro-units, `1..=1_000_000_000`.
    pub const fn micro(self) -> u32 {
        self.0.get()
    }
}

impl FromStr for Epsilon {
    type Err = EpsilonError;

    /// Parses a decimal number such as `10`, `0.5` or `1e-3`, exactly, rounding down to whole
    /// micro-units.
    ///
    /// # Errors
    /// [`EpsilonError::NotANumber`] for anything but an optional sign, decimal digits with at most
    /// one point, and an optional exponent; [`EpsilonError::TooSmall`] below 0.000001, zero and
    /// negative numbers included; [`EpsilonError::TooLarge`] above 1000.
    fn from_str(text: &str) -> Result<Self, EpsilonError> {
        let (negative, unsigned) = match text.as_bytes() {
            [b'-', ..] => (true, text.get(1..)),
            [b'+', ..] => (false, text.get(1..)),
            _ => (false, Some(text)),
        };
        let unsigned = unsigned.ok_or(EpsilonError::NotANumber)?;
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(EpsilonError::NotANumber);
        }
        // The power of ten, in micro-units, of the digit about to be read.
        let whole_digits = i64::try_from(whole.len()).map_err(|_| EpsilonError::TooLarge)?;
        let mut power = whole_digits + exponent + 5;
        let mut micro: u64 = 0;
        let mut too_large = false;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return Err(EpsilonError::NotANumber);
            }
            let digit = u64::from(byte - b'0');
            if digit != 0 && power >= 0 {
                match u32::try_from(power).ok().and_then(|p| 10u64.checked_pow(p)) {
                    Some(unit) if power <= 9 => micro = micro.saturating_add(digit * unit),
                    _ => too_large = true,
                }
            }
            power -= 1;
        }
        if negative {
            return Err(EpsilonError::TooSmall);
        }
        match u32::try_from(micro) {
            Ok(micro) if !too_large => Self::from_micro(micro),
            _ => Err(EpsilonError::TooLarge),
        }
    }
}

/// The exponent after `e`, clamped to ±10⁹: more than enough to be out of range either way.
fn parse_exponent(text: &str) -> Result<i64, EpsilonError> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    if digits.is_empty() {
        return Err(EpsilonError::NotANumber);
    }
    let mut value: i64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Err(EpsilonError::NotANumber);
        }
        value = (value * 10 + i64::from(byte - b'0')).min(1_000_000_000);
    }
    Ok(sign * value)
}

/// Writes the exact decimal value without trailing zeros: `10`, `0.5`, `0.000001`.
impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Micro(self.micro().into()).fmt(f)
    }
}

/// An amount of ε in micro-units for display, such as the rest of a budget. Any number is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micro(pub u64);

/// Writes the same form as for an [`Epsilon`].
impl fmt::Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = u64::from(MICRO);
        let (whole, mut rest) = (self.0 / micro, self.0 % micro);
        write!(f, "{whole}")?;
        if rest != 0 {
            let mut width = 6;
            while rest % 10 == 0 {
                rest /= 10;
                width -= 1;
            }
            write!(f, ".{rest:0width$}")?;
        }
        Ok(())
    }
}

/// Why a value is not an ε. It depends on the parameter only, never on private data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EpsilonError {
    /// Not a decimal number.
    #[error("epsilon is not a decimal number; write for example 10 or 0.5")]
    NotANumber,
    /// Zero, negative, or below one micro-unit.
    #[error("epsilon is below 0.000001; it must lie in 0.000001..=1000")]
    TooSmall,
    /// Above 1000.
    #[error("epsilon is above 1000; it must lie in 0.000001..=1000")]
    TooLarge,
}
