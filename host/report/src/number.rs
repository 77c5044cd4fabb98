//! Formats the numbers of reports.
//!
//! Numbers have three significant digits unless a column needs more. Counts are whole, thousands
//! are separated by commas, and very large or very small numbers have powers of ten, never the form
//! `3.2e-1`.

use std::time::Duration;

/// Significant digits of [`number`].
const DIGITS: usize = 3;

/// A number with three significant digits.
///
/// ```
/// use undertone_report::number::number;
///
/// assert_eq!([3.157, 0.32, 12_345.6, 3.0, 3.2e-7].map(number), ["3.16", "0.320", "12,346", "3.00", "3.20 × 10⁻⁷"]);
/// ```
pub fn number(x: f64) -> String {
    digits(x, DIGITS)
}

/// A number with `n` significant digits; the whole part keeps all of its digits.
///
/// # Panics
/// If `n` is 0.
pub fn digits(x: f64, n: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return match x {
            f64::INFINITY => "∞".to_owned(),
            f64::NEG_INFINITY => "−∞".to_owned(),
            _ => "–".to_owned(),
        };
    }
    match decimals(x, n) {
        Some(0) => whole(x),
        Some(decimals) => format!("{}{:.decimals$}", sign(x), x.abs()),
        None => {
            let (mantissa, exponent) = scientific(x, n);
            let raised = superscript(&exponent.to_string());
            format!("{}{mantissa} × 10{raised}", sign(x))
        }
    }
}

/// An upper bound with `n` significant digits: `x` rounded up.
///
/// ```
/// use undertone_report::number::at_most;
///
/// assert_eq!([12.4211, 12.5, 0.0999, 12_345.2, 3.21e-7].map(|x| at_most(x, 3)), ["12.5", "12.5", "0.0999", "12,346", "3.21 × 10⁻⁷"]);
/// ```
///
/// # Panics
/// If `n` is 0.
pub fn at_most(x: f64, n: usize) -> String {
    if !x.is_finite() || x == 0.0 {
        return digits(x, n);
    }
    if decimals(x, n) == Some(0) {
        return whole(x.ceil());
    }
    let (mantissa, exponent) = scientific(x, n);
    let nearest: f64 = format!("{mantissa}e{exponent}").parse().unwrap_or(x);
    let nearest = nearest.copysign(x);
    let step = if nearest < x {
        10f64.powi(exponent + 1 - n as i32)
    } else {
        0.0
    };
    digits(nearest + step, n)
}

/// A mean and a standard deviation, with the decimals that suit the mean.
pub fn spread(mean: f64, sd: f64) -> String {
    match decimals(mean, DIGITS) {
        Some(0) if sd.is_finite() => format!("{} ± {}", whole(mean), whole(sd)),
        Some(decimals) if mean.is_finite() && sd.is_finite() => {
            format!("{}{:.decimals$} ± {sd:.decimals$}", sign(mean), mean.abs())
        }
        _ => format!("{} ± {}", number(mean), number(sd)),
    }
}

/// A share in per cent, with one decimal and without the sign %.
pub fn percent(share: f64) -> String {
    format!("{}{:.1}", sign(share), (100.0 * share).abs())
}

/// A mean share and its standard deviation in per cent, with one decimal and without the sign %.
pub fn percent_spread(mean: f64, sd: f64) -> String {
    format!("{} ± {}", percent(mean), percent(sd))
}

/// A number rounded to an integer; a number too large for `u64` becomes its maximum.
pub fn whole(x: f64) -> String {
    format!("{}{}", sign(x), count(x.abs().round() as u64))
}

/// A count.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// A duration in the unit that fits it.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        0.0 => "0 s".to_owned(),
        ..1e-3 => format!("{} µs", number(seconds * 1e6)),
        ..1.0 => format!("{} ms", number(seconds * 1e3)),
        ..120.0 => format!("{} s", number(seconds)),
        _ => {
            let whole = time.as_secs();
            format!("{} min {} s", count(whole / 60), whole % 60)
        }
    }
}

/// A number of bytes in the unit that fits it.
pub fn bytes(n: u64) -> String {
    match n {
        ..1_000 => format!("{n} bytes"),
        1_000..1_000_000 => format!("{} kB", number(n as f64 / 1e3)),
        _ => format!("{} MB", number(n as f64 / 1e6)),
    }
}

/// Decimals that make `n` significant digits; `None` if a power of ten reads better.
fn decimals(x: f64, n: usize) -> Option<usize> {
    if x == 0.0 {
        return Some(n - 1);
    }
    if !x.is_finite() {
        return None;
    }
    // The exponent after rounding: 9.996 has two decimals, not three.
    let (_, exponent) = scientific(x, n);
    let decimals = (n as i32 - 1 - exponent).max(0);
    (-4..9).contains(&exponent).then_some(decimals as usize)
}

/// The mantissa of the absolute value with `n` significant digits, and the power of ten, of a
/// finite number.
fn scientific(x: f64, n: usize) -> (String, i32) {
    let text = format!("{:.*e}", n - 1, x.abs());
    let (mantissa, exponent) = text.split_once('e').expect("the form has an exponent");
    (
        mantissa.to_owned(),
        exponent.parse().expect("it is a number"),
    )
}

fn sign(x: f64) -> &'static str {
    if x < 0.0 { "−" } else { "" }
}

fn superscript(exponent: &str) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = exponent.chars().map(|c| match c.to_digit(10) {
        Some(digit) => digits[digit as usize],
        None => '⁻',
    });
    raised.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_alike() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.32, "0.320"),
            (3.157, "3.16"),
            (-3.157, "−3.16"),
            (9.996, "10.0"),
            (31.57, "31.6"),
            (999.6, "1,000"),
            (1234.4, "1,234"),
            (3.0, "3.00"),
            (40.0, "40.0"),
            (7_654_321.0, "7,654,321"),
            (0.000_123_4, "0.000123"),
            (0.000_012_34, "1.23 × 10⁻⁵"),
            (1.234e12, "1.23 × 10¹²"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(x), text, "{x:e}");
        }
        assert_eq!(digits(2.999_987_4, 6), "2.99999");
        assert_eq!(digits(123_456.78, 3), "123,457");
    }

    #[test]
    fn a_bound_is_never_below_what_it_bounds() {
        for n in 1..8 {
            let mut x = 1.3e-9_f64;
            while x < 1e8 {
                let text = at_most(x, n).replace(',', "").replace(" × 10⁻", "e-");
                let text: String = text
                    .chars()
                    .map(|c| {
                        "⁰¹²³⁴⁵⁶⁷⁸⁹"
                            .chars()
                            .position(|s| s == c)
                            .map_or(c, |d| (b'0' + d as u8) as char)
                    })
                    .collect();
                let shown: f64 = text.parse().expect("a number");
                let step = 10f64.powi(1 - n as i32);
                assert!(
                    shown >= x && shown < x * (1.0 + 1.001 * step) + 1e-300,
                    "{x}: {text}"
                );
                x *= 1.037;
            }
        }
        assert_eq!(at_most(9.996, 3), "10.0");
        assert_eq!(at_most(9.9951, 3), "10.0");
        assert_eq!(at_most(0.0, 3), "0");
        assert_eq!(at_most(f64::INFINITY, 3), "∞");
    }

    #[test]
    fn a_spread_has_the_decimals_of_its_mean() {
        assert_eq!(spread(3.157, 0.034_5), "3.16 ± 0.03");
        assert_eq!(spread(3.0, 0.0), "3.00 ± 0.00");
        assert_eq!(spread(1560.3, 1224.1), "1,560 ± 1,224");
        assert_eq!(spread(0.0, 0.5), "0.00 ± 0.50");
        assert_eq!(spread(-31.57, 12.3), "−31.6 ± 12.3");
        assert_eq!(spread(2e-9, 1e-9), "2.00 × 10⁻⁹ ± 1.00 × 10⁻⁹");
        assert_eq!(percent_spread(0.9118, 0.0041), "91.2 ± 0.4");
    }

    #[test]
    fn units_fit() {
        let times = [0, 1_500, 2_340_000, 5_670_000_000, 125_000_000_000];
        let times = times.map(|nanoseconds| time(Duration::from_nanos(nanoseconds)));
        assert_eq!(times, ["0 s", "1.50 µs", "2.34 ms", "5.67 s", "2 min 5 s"]);
        let sizes = [17, 2_345, 2_345_678].map(bytes);
        assert_eq!(sizes, ["17 bytes", "2.35 kB", "2.35 MB"]);
    }
}
