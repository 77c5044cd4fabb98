//! The word mechanisms of `core` on the host, and the meaning of their guarantee in a vocabulary.

use std::cmp::Ordering;
use std::fmt::Write;

use rayon::prelude::*;
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::release::BagRelease;
use undertone_core::words::{Bag, Vocabulary, WordMechanism};

use crate::error::Result;
use crate::release::document::{OsEntropy, epsilon_f64};

/// The most words of a text that enter its bag; later ones are left out.
pub const MAX_WORDS: usize = 16_384;

/// The bag type of this crate.
pub type HostBag<'a> = Bag<'a, MAX_WORDS>;

/// Releases `size` words of a private text.
///
/// Words missing from the vocabulary are replaced by the [fallback word](Vocabulary::fallback)
/// first.
///
/// # Guarantee
/// See [`Bag`].
///
/// # Leaks
/// See [`Bag`], also for the assumptions.
///
/// # Errors
/// [`ErrorKind::Release`](crate::error::ErrorKind::Release) for a size outside `1..=256` or if the
/// operating system has no entropy.
///
/// # Cost
/// A [`push`](Bag::push) for each word and a [`release`](Bag::release).
///
/// # Source
/// See [`Bag`].
pub fn release(
    vocabulary: &Vocabulary<'_>,
    words: impl IntoIterator<Item = impl AsRef<str>>,
    size: u16,
    mechanism: WordMechanism,
    grant: Grant,
) -> Result<Vec<u8>> {
    let mut bag = HostBag::with_limit(vocabulary);
    for word in words.into_iter().take(MAX_WORDS) {
        bag.push(word.as_ref());
    }
    release_bag(&mut bag, size, mechanism, grant)
}

/// Not generic, so it is compiled in this crate and as optimised as this crate is.
fn release_bag(
    bag: &mut HostBag<'_>,
    size: u16,
    mechanism: WordMechanism,
    grant: Grant,
) -> Result<Vec<u8>> {
    let mut bytes = vec![0; BagRelease::bytes(size)];
    bag.release(size, mechanism, grant, &mut OsEntropy, &mut bytes)?;
    Ok(bytes)
}

/// Distances between words of a vocabulary: medians over [`SAMPLED`](Self::SAMPLED) words at equal
/// alphabetical intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypicalDistances {
    /// To the nearest other word.
    pub nearest: f64,
    /// To the tenth nearest other word, or the farthest if there are fewer.
    pub tenth: f64,
    /// To any other word.
    pub any: f64,
}

impl TypicalDistances {
    /// The number of words whose distances to all others are computed.
    pub const SAMPLED: u32 = 100;

    /// Measures the distances in `vocabulary`, which is public. `None` for a vocabulary of one
    /// word.
    pub fn measure(vocabulary: &Vocabulary<'_>) -> Option<Self> {
        let n = vocabulary.word_count();
        if n < 2 {
            return None;
        }
        let sampled = Self::SAMPLED.min(n);
        let others: Vec<Vec<u64>> = (0..sampled)
            .into_par_iter()
            .map(|sample| {
                let word = (u64::from(sample) * u64::from(n) / u64::from(sampled)) as u32;
                let others = (0..n).filter(|other| *other != word);
                let mut squares: Vec<u64> = others
                    .map(|other| vocabulary.squared_distance(word, other))
                    .collect();
                squares.sort_unstable();
                squares
            })
            .collect();
        let step = 2f64.powi(vocabulary.lexicon().vector_exponent());
        let median = |mut squares: Vec<u64>| {
            let middle = squares.len() / 2;
            let (_, median, _) = squares.select_nth_unstable(middle);
            (*median as f64).sqrt() * step
        };
        let tenth = 9.min(n as usize - 2);
        Some(Self {
            nearest: median(others.iter().map(|squares| squares[0]).collect()),
            tenth: median(others.iter().map(|squares| squares[tenth]).collect()),
            any: median(others.into_iter().flatten().collect()),
        })
    }
}

/// Above this exponent a promise of e^exponent hardly limits anything.
pub const WEAK: f64 = 20.0;

/// Rounds up to a multiple of `unit`, so that no bound in a report is too small.
fn up(x: f64, unit: f64) -> f64 {
    (x / unit).ceil() * unit
}

/// Rounds a positive number up to three significant digits. Infinity stays infinite.
fn three_digits_up(x: f64) -> f64 {
    if x.is_finite() {
        up(x, 10f64.powf(x.log10().floor() - 2.0))
    } else {
        x
    }
}

/// Describes the promise of releases of `size` words in this vocabulary, with a warning if it is
/// weak.
pub fn guarantee(
    vocabulary: &Vocabulary<'_>,
    size: u16,
    mechanism: WordMechanism,
    epsilon: Epsilon,
) -> (String, Option<String>) {
    let q = 2f64.powi(vocabulary.unit_exponent());
    let (slack, bound, but) = match mechanism {
        WordMechanism::LaplaceNearest => (
            0.0,
            "WMD(b, b') + n·2^-22",
            "; a word of distance D adds at most\n            (1 + e^(ε·D))·2^-60 to the probability of a release"
                .to_owned(),
        ),
        _ => (
            q,
            "(WMD(b, b') + q)",
            format!(",\n            and q = {q}, the step of levels"),
        ),
    };
    let mut text = format!(
        "guarantee   A release has n = {size} words, drawn from the text by frequency and exchanged with ε = {epsilon} \
         per unit of\n            \
         distance each. Let b and b' be what is drawn from two texts. No release is more than e^(ε·n·{bound})\n            \
         times likelier from one than from the other, with the word mover's distance WMD{but}.\n"
    );
    let Some(typical) = TypicalDistances::measure(vocabulary) else {
        return (text, None);
    };
    let epsilon = epsilon_f64(epsilon);
    text += "one word    exchanged for      distance   exponent   factor\n";
    let mut warning = None;
    for (other, distance) in [
        ("its nearest", typical.nearest),
        ("its 10th nearest", typical.tenth),
        ("any other", typical.any),
    ] {
        let exponent = epsilon * (distance + slack);
        let _ = writeln!(
            text,
            "            {other:16} {distance:>10.3} {:>10.1}   {:.2e}",
            up(exponent, 0.1),
            three_digits_up(exponent.exp()),
        );
        if exponent.partial_cmp(&WEAK) == Some(Ordering::Greater) && warning.is_none() {
            warning = Some(format!(
                "warning: for a word and {other} the promise is a factor of e^{:.1}, above e^{WEAK}: it \
                 hardly limits what a release tells about which of them was drawn; at epsilon {:.3} it is e^{WEAK}",
                up(exponent, 0.1),
                // Rounded down, because a smaller ε promises more.
                (WEAK / (distance + slack) * 1000.0).floor() / 1000.0,
            ));
        }
    }
    text += "            (medians in this vocabulary; exponents of several words add up)\n";
    (text, warning)
}

#[cfg(test)]
mod tests {
    use super::{three_digits_up, up};

    #[test]
    fn promises_are_rounded_up() {
        let mut x = 1.07e-3;
        while x < 1e12 {
            let shown = |text: String| text.parse::<f64>().expect("a number");
            let tenths = shown(format!("{:.1}", up(x, 0.1)));
            assert!(
                (x..x + 0.101).contains(&tenths) || x > 1e10,
                "{x}: {tenths}"
            );
            let digits = shown(format!("{:.2e}", three_digits_up(x)));
            assert!((x..x * 1.0101).contains(&digits), "{x}: {digits}");
            x *= 1.0173;
        }
        assert_eq!(format!("{:.1}", up(30.0, 0.1)), "30.0");
        assert_eq!(format!("{:.2e}", three_digits_up(0.999_9)), "1.00e0");
        assert_eq!(three_digits_up(f64::INFINITY), f64::INFINITY);
    }
}
