//! Text as ε, compared with decimal arithmetic on strings.

use undertone_core::epsilon::{Epsilon, EpsilonError};

/// Parses the input; a valid ε also survives being written and read.
pub fn epsilon_parse_is_total(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parsed = text.parse::<Epsilon>();
    assert_eq!(parsed.map(Epsilon::micro), reference(&text), "{text:?}");
    match parsed {
        Ok(epsilon) => assert_eq!(epsilon.to_string().parse(), Ok(epsilon)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// ⌊value · 10⁶⌋ by moving the point in the string of digits.
fn reference(text: &str) -> Result<u32, EpsilonError> {
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    let exponent_digits = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
    let is_decimal =
        |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    if !is_decimal(&digits) || !exponent_digits.is_none_or(is_decimal) {
        return Err(EpsilonError::NotANumber);
    }
    if number.starts_with('-') {
        return Err(EpsilonError::TooSmall);
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Err(EpsilonError::TooSmall);
    }
    let far = i64::MAX / 4;
    let magnitude = exponent_digits.map_or(0, |e| e.parse::<i64>().unwrap_or(far).min(far));
    let exponent = if exponent.is_some_and(|e| e.starts_with('-')) {
        -magnitude
    } else {
        magnitude
    };
    // Digits before the point, counted in micro-units.
    let kept = significant.len() as i64 - fraction.len() as i64 + exponent + 6;
    match kept {
        ..=0 => Err(EpsilonError::TooSmall),
        1..=10 => {
            let shifted: String = significant
                .chars()
                .chain("0".repeat(10).chars())
                .take(kept as usize)
                .collect();
            match shifted.parse::<u64>() {
                Ok(micro @ 1..=1_000_000_000) => Ok(micro as u32),
                _ => Err(EpsilonError::TooLarge),
            }
        }
        _ => Err(EpsilonError::TooLarge),
    }
}
