//! The privacy of a device over a window of slots, such as the weeks of a year: of a person, of a
//! line, and towards a reader of counts.
//!
//! # Settings
//! A window has T *slots*. A device releases once in each of its c *appointments*, which it draws
//! among the slots without looking at any text, and in no other slot. In a slot it keeps the
//! outcome of one *line*, by a reservoir with k places: each line is kept with a probability of at
//! most 1/k. It releases that outcome by a rule for the whole text, at ε.
//!
//! # Three numbers, always in this order
//! 1. **A person**: everything that is typed in the window is exchanged (*user level*). The loss is
//!    at most c·ε: the appointments do not depend on text, and the losses of c releases add up
//!    (*composition*).
//! 2. **A line**: one line is exchanged, added or removed (*event level*). The loss is at most
//!    ln(1 + (e^ε − 1)/k), and ln(1 + j·(e^ε − 1)/k) for j ≤ k lines of one slot (*group privacy*).
//!    Lines of several slots add up by slot. [`reservoir`](undertone_core::reservoir) has the proof.
//! 3. **A reader of counts**: everything is exchanged, as for a person, but the observer sees only
//!    the number of releases of each outcome and slot. `undertone_estimate::published` has this
//!    number and its proof. It has a δ, and requires an aggregator that shows nobody the releases.
//!
//! The first two are *local differential privacy*: they hold against the server, too, with no δ.
//! All three cover *longitudinal* observation of one window. Windows add up.

use std::fmt;
use std::num::NonZero;

use undertone_core::epsilon::Micro;
use undertone_core::reservoir::line_epsilon;

use crate::error::{Error, Result};

/// The settings of a window: its slots, the appointments of a device, and the places of a slot's
/// reservoir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    slots: u16,
    appointments: u16,
    places: NonZero<u16>,
}

impl Window {
    /// The most slots of a window, and the most places of a reservoir.
    pub const MOST: u16 = 10_000;

    /// A window of `slots`, with a release in `appointments` of them and a reservoir of `places`
    /// lines in each. One place means that a release is about its whole slot.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if a number is 0 or above
    /// [`MOST`](Self::MOST), and if there are more appointments than slots.
    pub fn new(slots: u16, appointments: u16, places: u16) -> Result<Self> {
        let check = |what, found: u16, most: u16, allowed| {
            let within = NonZero::new(found).filter(|found| found.get() <= most);
            within.ok_or_else(|| Error::setting(what, f64::from(found), allowed))
        };
        check("the number of slots", slots, Self::MOST, "1 to 10000")?;
        let allowed = "1 to the number of slots";
        check("the number of appointments", appointments, slots, allowed)?;
        let places = check("the number of places", places, Self::MOST, "1 to 10000")?;
        Ok(Self {
            slots,
            appointments,
            places,
        })
    }

    /// T.
    pub fn slots(&self) -> u16 {
        self.slots
    }

    /// c.
    pub fn appointments(&self) -> u16 {
        self.appointments
    }

    /// k.
    pub fn places(&self) -> u16 {
        self.places.get()
    }

    /// The loss of everything that a person types in the window, for releases at `epsilon`.
    pub fn person(&self, epsilon: Micro) -> Micro {
        Micro(epsilon.0.saturating_mul(self.appointments.into()))
    }

    /// The loss of one line, rounded up.
    pub fn line(&self, epsilon: Micro) -> Micro {
        self.lines(epsilon, 1)
    }

    /// The loss of `count` lines of one slot together, rounded up.
    pub fn lines(&self, epsilon: Micro, count: u16) -> Micro {
        line_epsilon(epsilon, self.places, count.into())
    }

    /// The promises of releases at `epsilon`, without a reader of counts.
    pub fn promises(self, epsilon: Micro) -> Promises {
        Promises {
            window: self,
            person: self.person(epsilon),
            line: self.line(epsilon),
            reader: None,
        }
    }
}

/// The three numbers of a window, in their order. `Display` writes a line for each.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// The settings.
    pub window: Window,
    /// The ε of everything that a person types in the window.
    pub person: Micro,
    /// The ε of one line.
    pub line: Micro,
    /// The ε towards a reader of counts, if the number of devices is known.
    pub reader: Option<Reader>,
}

/// The promise towards somebody who sees only the counts of the releases of each slot.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// The number of honest devices.
    pub devices: u64,
    /// None if so few devices hide nobody, so that it is the ε of a person.
    pub epsilon: Option<f64>,
    /// The probability with which the promise may fail.
    pub delta: f64,
}

impl fmt::Display for Promises {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [slots, places] = [self.window.slots, self.window.places()];
        let [person, line] = [self.person, self.line].map(three_digits);
        writeln!(
            f,
            "  a person            {person}, for everything of {slots} slots (user level)"
        )?;
        let which = match places {
            1 => "any lines of a slot".to_owned(),
            more => format!("one of {more} lines of a slot"),
        };
        writeln!(f, "  a line              {line}, for {which} (event level)")?;
        f.write_str("  a reader of counts  ")?;
        let Some(reader) = self.reader else {
            return writeln!(f, "unknown without a number of devices");
        };
        match reader.epsilon {
            None => write!(f, "{person}, as for a person"),
            Some(epsilon) => write!(f, "{epsilon}, delta {:e}", reader.delta),
        }?;
        let devices = reader.devices;
        writeln!(
            f,
            ", for everything, towards somebody who sees only the counts of {devices} devices"
        )
    }
}

/// ε rounded up to three digits, or to a whole number.
pub fn three_digits(epsilon: Micro) -> Micro {
    let digits = epsilon.0.checked_ilog10().map_or(0, |log| log + 1);
    let unit = 10u64.pow(digits.saturating_sub(3).min(6));
    Micro(epsilon.0.div_ceil(unit).saturating_mul(unit))
}

/// The probability with which an attacker guesses which of two equally likely options is true, at
/// a loss of `epsilon`: e^ε/(1 + e^ε) at most.
pub fn best_guess(epsilon: f64) -> f64 {
    1.0 / (1.0 + (-epsilon).exp())
}

/// The probability that the most frequent outcome of `releases` about the same text, by the
/// whole-text rule at `epsilon` among `outcomes`, is the text's own. Ties are broken at random.
///
/// This is an attack, not a bound: releases of one text that are sent every day.
pub fn named_by_majority(outcomes: u32, epsilon: f64, releases: u16) -> f64 {
    let others = outcomes.saturating_sub(1);
    let own = 1.0 / (1.0 + f64::from(others) * (-epsilon).exp());
    if others == 0 || releases == 0 {
        return 1.0 / f64::from(outcomes.max(1));
    }
    let each = (1.0 - own) / f64::from(others);
    let places = usize::from(releases) + 1;
    // Exponential generating functions: x^i/i! stands for i releases of an outcome.
    let product = |a: &[f64], b: &[f64]| -> Vec<f64> {
        let term = |sum: usize| (0..=sum).map(|i| a[i] * b[sum - i]).sum();
        (0..places).map(term).collect()
    };
    let term =
        |chance: f64, count: usize| -> f64 { (1..=count).map(|i| chance / i as f64).product() };
    let mut right = 0.0;
    for most in 1..places {
        let fewer: Vec<f64> = (0..places)
            .map(|count| if count < most { term(each, count) } else { 0.0 })
            .collect();
        // The law of the others with a number of ties, which grows by one other at a time.
        let ties = (releases as usize - most) / most;
        let mut laws = vec![vec![0.0; places]; ties + 1];
        laws[0][0] = 1.0;
        for _ in 0..others {
            for tied in (0..=ties).rev() {
                let mut next = product(&laws[tied], &fewer);
                if tied > 0 {
                    for count in most..places {
                        next[count] += laws[tied - 1][count - most] * term(each, most);
                    }
                }
                laws[tied] = next;
            }
        }
        let rest = places - 1 - most;
        let others: f64 = laws
            .iter()
            .enumerate()
            .map(|(tied, law)| law[rest] / (tied + 1) as f64)
            .sum();
        right += term(own, most) * others;
    }
    let orders: f64 = (1..=releases).map(f64::from).product();
    right * orders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::budget::number;

    fn micro(epsilon: f64) -> Micro {
        Micro((epsilon * 1e6).round() as u64)
    }

    /// The lines of a slot, as laws of their releases, kept with these probabilities.
    fn mixture(laws: &[Vec<f64>], nothing: &[f64], places: usize) -> Vec<f64> {
        let kept = 1.0 / places.max(laws.len()) as f64;
        let empty = 1.0 - kept * laws.len() as f64;
        let outcome = |outcome: usize| {
            let lines: f64 = laws.iter().map(|law| law[outcome]).sum();
            kept * lines + empty * nothing[outcome]
        };
        (0..nothing.len()).map(outcome).collect()
    }

    /// All slots of up to five lines with three answers: the largest loss of exchanged, added and
    /// removed lines is the stated one, and is attained.
    #[test]
    fn losses_of_lines_are_enumerated() {
        for epsilon in [0.4f64, 1.0, 3.0] {
            let weight = epsilon.exp();
            let law = |answer: usize| -> Vec<f64> {
                let of = |outcome| if outcome == answer { weight } else { 1.0 };
                (0..3).map(|own| of(own) / (weight + 2.0)).collect()
            };
            let laws: Vec<Vec<f64>> = (0..3).map(law).collect();
            // The answers of the lines are the digits of `code` to the base 3.
            let digit = |code: usize, line: u32| code / 3usize.pow(line) % 3;
            for places in 1..=3u16 {
                let window = Window::new(1, 1, places).unwrap();
                let of = |code: usize, lines: u32| {
                    let slot = (0..lines).map(|line| laws[digit(code, line)].clone());
                    mixture(&slot.collect::<Vec<_>>(), &laws[2], places.into())
                };
                let mut worst = [0.0f64; 6];
                let mut compare = |changed: u32, a: Vec<f64>, b: Vec<f64>| {
                    for (a, b) in a.iter().zip(b) {
                        let worst = &mut worst[changed as usize];
                        *worst = worst.max((a / b).ln().abs());
                    }
                };
                for lines in 1..=5u32 {
                    let all = 3usize.pow(lines);
                    for first in 0..all {
                        for second in 0..all {
                            let differs = |line: &u32| digit(first, *line) != digit(second, *line);
                            let changed = (0..lines).filter(differs).count() as u32;
                            compare(changed, of(first, lines), of(second, lines));
                        }
                        // The last lines removed.
                        for removed in 1..=lines {
                            let left = first % 3usize.pow(lines - removed);
                            compare(removed, of(first, lines), of(left, lines - removed));
                        }
                    }
                }
                for count in 1..=3u16 {
                    let stated = number(window.lines(micro(epsilon), count));
                    let found = worst[usize::from(count)];
                    let range = stated - 3e-6..=stated + 1e-12;
                    assert!(
                        range.contains(&found),
                        "{places} {count}: {found} of {stated}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_three_numbers_of_a_year() {
        let year = Window::new(52, 1, 100).unwrap();
        assert_eq!(year.person(micro(3.0)).0, 3_000_000);
        assert!(year.line(micro(3.0)).0.abs_diff(174_672) <= 1);
        let daily = Window::new(365, 365, 1).unwrap();
        assert_eq!(number(daily.person(micro(3.0))), 1095.0);
        assert_eq!(number(daily.line(micro(3.0))), 3.0);
        for (slots, appointments, places) in [
            (0, 1, 1),
            (10_001, 1, 1),
            (5, 0, 1),
            (5, 6, 1),
            (5, 5, 0),
            (5, 5, 10_001),
        ] {
            let problem = Window::new(slots, appointments, places).unwrap_err();
            assert!(problem.to_string().contains("the number of "), "{problem}");
        }
    }

    #[test]
    fn promises_are_written_in_their_order() {
        let year = Window::new(52, 1, 100).unwrap();
        let mut promises = year.promises(micro(3.0));
        assert!(promises.to_string().contains("counts  unknown"));
        promises.reader = Some(Reader {
            devices: 1_000_000,
            epsilon: Some(0.178),
            delta: 1e-9,
        });
        let text = promises.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (line, start) in lines.iter().zip([
            "a person            3, for everything of 52 slots",
            "a line              0.175, for one of 100 lines",
            "a reader of counts  0.178, delta 1e-9",
        ]) {
            assert!(line.starts_with(start), "{line}");
        }
        let digits =
            [0, 7, 1234, 174_390, 12_345_678, 1_095_000_001].map(|own| three_digits(Micro(own)).0);
        assert_eq!(digits, [0, 7, 1240, 175_000, 12_400_000, 1_096_000_000]);
    }

    /// The attack, by counting all sequences of releases.
    #[test]
    fn repetition_names_a_line() {
        for (outcomes, releases) in [(2u32, 1u16), (2, 4), (3, 5), (4, 4)] {
            let weight = 1.5f64.exp();
            let own = weight / (weight + f64::from(outcomes) - 1.0);
            let each = (1.0 - own) / (f64::from(outcomes) - 1.0);
            let mut right = 0.0;
            for code in 0..outcomes.pow(releases.into()) {
                let mut counts = vec![0; outcomes as usize];
                let mut chance = 1.0;
                for place in 0..releases.into() {
                    let outcome = (code / outcomes.pow(place) % outcomes) as usize;
                    counts[outcome] += 1;
                    chance *= if outcome == 0 { own } else { each };
                }
                let most = *counts.iter().max().unwrap();
                if counts[0] == most {
                    let ties = counts.iter().filter(|own| **own == most).count();
                    right += chance / ties as f64;
                }
            }
            let found = named_by_majority(outcomes, 1.5, releases);
            assert!((found - right).abs() < 1e-12, "{outcomes}: {found} {right}");
        }
        // One line a day among ten topics and "nothing known", at ε = 3; with the appointment no
        // attacker is right more often than the bound.
        let week = named_by_majority(11, 3.0, 7);
        assert!((week - 0.975).abs() < 5e-4, "{week}");
        assert!((best_guess(3.0) - 0.9526).abs() < 5e-5);
        assert!(named_by_majority(11, 3.0, 1) < best_guess(3.0));
        assert_eq!(named_by_majority(1, 3.0, 7), 1.0);
        assert!((named_by_majority(5, 3.0, 0) - 0.2).abs() < 1e-15);
    }
}
