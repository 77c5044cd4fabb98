//! Plans of a window of slots, such as the weeks of a year: the least ε of a person that gives a
//! precision, or the precision of an ε.

use serde::Serialize;
use undertone::error::Result;
use undertone::release::budget::number;
use undertone::release::document::{Method, epsilon_f64};
use undertone::release::window::{Promises, Window, three_digits};
use undertone_core::epsilon::Epsilon;
use undertone_core::release::Mechanism;
use undertone_report::number::count;

use super::text::{points, unit_short};
use super::{guessed, known};
use crate::counts::Kind;
use crate::plan::{Forecast, whole_text_kind};
use crate::published::{self, DELTA};
use crate::shares::Confidence;
use crate::{json, refused};

/// The largest ε of one release that is considered. Above it, weights serve no more.
const MOST: u32 = 33_000_000;

/// The requirements on a plan of a window.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Number of devices.
    pub devices: u64,
    /// Most that 95 of 100 estimated shares of a slot may deviate from the truth, above 0.
    pub within: f64,
    /// Slots of the window.
    pub slots: u16,
    /// Places of the reservoir of a slot: the lines of which one is released.
    pub places: u16,
    /// The ε of everything that a person types in the window; none for the least that suffices.
    pub person: Option<Epsilon>,
    /// Guessed shares, each as `NAME=SHARE`. All others share the rest equally.
    pub shares: Vec<String>,
}

/// The schedules of a window, by their number of appointments.
#[derive(Serialize)]
pub struct Plan {
    /// Version of the JSON form.
    version: u32,
    devices: u64,
    within: f64,
    level: f64,
    slots: u16,
    lines: u16,
    delta: f64,
    /// The best first.
    schedules: Vec<Schedule>,
}

/// One schedule, with the rule that suits it best.
#[derive(Serialize)]
struct Schedule {
    appointments: u16,
    mechanism: u8,
    epsilon: f64,
    person: f64,
    line: f64,
    /// None if it is that of a person.
    reader_of_counts: Option<f64>,
    /// Devices that release in a slot.
    devices_of_a_slot: f64,
    /// The half-width of the intervals of one slot.
    within: f64,
    /// Slots until an answer is as precise as requested; none if the window does not suffice.
    first_answer_after: Option<u16>,
    #[serde(skip)]
    kind: Kind,
    #[serde(skip)]
    promises: Promises,
}

impl Plan {
    /// The plan for a pack whose candidates have these names.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for invalid guesses of shares, if a
    /// slot has less than one device, and if no ε suffices;
    /// [`ErrorKind::Argument`](undertone::error::ErrorKind::Argument) for an invalid window.
    pub fn new(asked: &Asked, pack: [u8; 8], names: &[&str]) -> Result<Self> {
        known(&asked.shares, names)?;
        let shares = guessed(&asked.shares, names)?;
        let mut schedules = Vec::new();
        for appointments in appointments(asked.slots) {
            let window = Window::new(asked.slots, appointments, asked.places)?;
            if let Some(schedule) = asked.schedule(window, pack, &shares)? {
                schedules.push(schedule);
            }
        }
        if schedules.is_empty() {
            return Err(refused(format!(
                "no epsilon up to 33 gives answers within {} points for each of {} slots from {} devices; \
                 ask for less precision or fewer slots, or for ⟨epsilon⟩ and the slots it takes",
                points(asked.within),
                asked.slots,
                count(asked.devices)
            )));
        }
        schedules.sort_by(|a, b| {
            let order = |own: &Schedule| {
                let first = own.first_answer_after.unwrap_or(u16::MAX);
                (first, own.promises.person.0)
            };
            order(a).cmp(&order(b)).then(a.within.total_cmp(&b.within))
        });
        Ok(Self {
            version: 1,
            devices: asked.devices,
            within: asked.within,
            level: Confidence::default().level,
            slots: asked.slots,
            lines: asked.places,
            delta: DELTA,
            schedules,
        })
    }

    /// All numbers as JSON; the README of this crate has the form.
    pub fn json(&self) -> String {
        json(self)
    }

    /// The plan in words.
    pub fn text(&self) -> String {
        let best = &self.schedules[0];
        let first = match best.first_answer_after {
            Some(1) => "the first answer comes after 1 slot".to_owned(),
            Some(slots) => format!("the first answer comes after {slots} slots"),
            None => "the window is too short for such an answer".to_owned(),
        };
        let mut text = format!(
            "Best: {} of {} slots for each device, by {} at epsilon {} a release. Answers within {} points, 95 % of the time: {first}.\n\n",
            best.appointments,
            self.slots,
            rule(best.kind),
            best.kind.epsilon(),
            points(self.within),
        );
        text += &best.promises.to_string();
        text += &format!(
            "\n{:>12}  {:11}  {:>8}  {:>8}  {:>8}  {:>16}  {:>15}  {:>12}\n",
            "appointments",
            "releases of",
            "a person",
            "a line",
            "a reader",
            "devices a slot",
            "± points a slot",
            "first answer"
        );
        for own in &self.schedules {
            let first = own
                .first_answer_after
                .map_or("never".to_owned(), |slots| format!("slot {slots}"));
            text += &format!(
                "{:>12}  {:11}  {:>8}  {:>8}  {:>8}  {:>16}  {:>15}  {:>12}\n",
                own.appointments,
                unit_short(own.kind),
                three_digits(own.promises.person).to_string(),
                three_digits(own.promises.line).to_string(),
                own.reader_of_counts
                    .map_or("-".to_owned(), |own| own.to_string()),
                count(own.devices_of_a_slot as u64),
                points(own.within),
                first
            );
        }
        text
    }
}

fn rule(kind: Kind) -> &'static str {
    match kind.mechanism() {
        Mechanism::Projective => "--rule projective",
        _ => "--rule whole-text",
    }
}

/// The numbers of appointments to compare: powers of two, and all slots.
fn appointments(slots: u16) -> Vec<u16> {
    let powers = (0..u16::BITS).map(|power| 1u16 << power);
    let mut all: Vec<u16> = powers.take_while(|own| *own < slots).collect();
    all.push(slots);
    all
}

impl Asked {
    /// The best schedule with this number of appointments; none if no ε suffices.
    fn schedule(&self, window: Window, pack: [u8; 8], shares: &[f64]) -> Result<Option<Schedule>> {
        let part = f64::from(window.appointments()) / f64::from(window.slots());
        let releases = self.devices as f64 * part;
        if releases < 1.0 {
            return Ok(None);
        }
        let epsilon = match self.person {
            None => self.least(pack, shares, releases)?,
            Some(person) => {
                let each = person.micro() / u32::from(window.appointments());
                Epsilon::from_micro(each).ok()
            }
        };
        let Some(epsilon) = epsilon else {
            return Ok(None);
        };
        let (within, method, kind) = narrowest(pack, shares, releases, epsilon)?;
        let first_answer_after = if within <= self.within {
            Some(1)
        } else {
            let needed = forecast(kind, shares)?.releases(self.within, Confidence::default())?;
            let slots = needed.map(|needed| (needed as f64 / releases).ceil());
            let slots = slots.filter(|slots| *slots <= f64::from(self.slots));
            slots.map(|slots| slots as u16)
        };
        let candidates = shares.len() as u32;
        let promises = published::promises(method, epsilon, candidates, self.devices, window)?;
        Ok(Some(Schedule {
            appointments: window.appointments(),
            mechanism: kind.mechanism() as u8,
            epsilon: epsilon_f64(epsilon),
            person: number(promises.person),
            line: number(promises.line),
            reader_of_counts: promises.reader.and_then(|own| own.epsilon),
            devices_of_a_slot: releases,
            within,
            first_answer_after,
            kind,
            promises,
        }))
    }

    /// The least ε of a release with the requested precision, rounded up to three digits.
    fn least(&self, pack: [u8; 8], shares: &[f64], releases: f64) -> Result<Option<Epsilon>> {
        let suffices = |micro: u32| -> Result<bool> {
            let epsilon = Epsilon::from_micro(micro).expect("between 1 and 33 million");
            Ok(narrowest(pack, shares, releases, epsilon)?.0 <= self.within)
        };
        if !suffices(MOST)? {
            return Ok(None);
        }
        let (mut low, mut high) = (1, MOST);
        while high - low > high / 1000 {
            let middle = low.midpoint(high);
            if suffices(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        let unit = 10u32.pow(high.ilog10().saturating_sub(2));
        let micro = (high.div_ceil(unit) * unit).min(MOST);
        Ok(Epsilon::from_micro(micro).ok())
    }
}

/// The half-width of the narrowest intervals at this ε, and the rule that has them.
fn narrowest(
    pack: [u8; 8],
    shares: &[f64],
    releases: f64,
    epsilon: Epsilon,
) -> Result<(f64, Method, Kind)> {
    let of = |method| -> Result<_> {
        let kind = whole_text_kind(pack, shares.len() as u32, true, method, epsilon)?;
        let half = forecast(kind, shares)?.widest(releases, Confidence::default())?;
        Ok((half.min(1.0), method, kind))
    };
    let (whole, projective) = (of(Method::WholeText)?, of(Method::Projective)?);
    Ok(if projective.0 < whole.0 {
        projective
    } else {
        whole
    })
}

fn forecast(kind: Kind, shares: &[f64]) -> Result<Forecast<'static>> {
    let own = Forecast::of_candidates(kind, shares.len() as u32, shares)?;
    Ok(own.expect("whole-text releases have a channel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

    fn asked() -> Asked {
        Asked {
            devices: 1_000_000,
            within: 0.01,
            slots: 52,
            places: 100,
            person: None,
            shares: Vec::new(),
        }
    }

    /// The least ε gives the precision, and less does not; forwards, it is the same.
    #[test]
    fn plans_agree_backwards_and_forwards() {
        let back = Plan::new(&asked(), [0; 8], &NAMES).unwrap();
        let best = &back.schedules[0];
        assert_eq!(best.appointments, 1);
        assert_eq!(best.first_answer_after, Some(1));
        assert!(
            best.within <= 0.01 && best.within > 0.0095,
            "{}",
            best.within
        );
        for own in &back.schedules {
            assert!(own.within <= 0.01 && own.first_answer_after == Some(1));
            assert!(own.promises.person.0 >= best.promises.person.0);
            assert!(own.promises.line.0 < u64::from(own.kind.epsilon().micro()));
            assert!(own.reader_of_counts.is_none_or(|own| own > 0.0));
        }
        for (factor, is_enough) in [(1.0, true), (0.98, false)] {
            let person = number(best.promises.person) * factor;
            let person = Some(person.to_string().parse().unwrap());
            let forward = Asked { person, ..asked() };
            let forward = Plan::new(&forward, [0; 8], &NAMES).unwrap();
            let own = &forward.schedules[0];
            assert_eq!(own.appointments, 1);
            assert_eq!(own.first_answer_after == Some(1), is_enough, "{factor}");
        }
    }

    /// A year at ε = 3 of a million devices by week: the published figures.
    #[test]
    fn a_year_of_a_million_keyboards() {
        let asked = Asked {
            person: Some("3".parse().unwrap()),
            within: 0.002,
            ..asked()
        };
        let plan = Plan::new(&asked, [0; 8], &NAMES).unwrap();
        let once = &plan.schedules[0];
        assert_eq!(once.appointments, 1);
        assert!((number(once.promises.line) - 0.174).abs() < 0.001);
        let reader = once.reader_of_counts.unwrap();
        assert!((0.16..0.2).contains(&reader), "{reader}");
        assert!(once.first_answer_after.unwrap() > 1 && once.first_answer_after.unwrap() < 52);
        // Dividing the people beats dividing the budget.
        let daily = plan.schedules.iter().find(|own| own.appointments == 52);
        assert!(daily.unwrap().within > 3.0 * once.within);
    }
}
