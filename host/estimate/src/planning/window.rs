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
use crate::refused;
use crate::shares::Confidence;

/// The largest ε of one release that is considered. Above it, weights serve no more.
const MOST: u32 = 33_000_000;

/// The methods for the whole text.
const METHODS: [Method; 2] = [Method::WholeText, Method::Projective];

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
pub struct Plan {
    asked: Asked,
    /// The best first.
    schedules: Vec<Schedule>,
}

/// One schedule, with the rule that suits it best.
struct Schedule {
    kind: Kind,
    /// Devices that release in a slot.
    releases: f64,
    /// Slots until an answer is as precise as requested; none if the window does not suffice.
    slots: Option<u16>,
    /// The half-width of the intervals of one slot.
    within: f64,
    promises: Promises,
}

impl Schedule {
    fn appointments(&self) -> u16 {
        self.promises.window.appointments()
    }

    fn reader(&self) -> Option<f64> {
        self.promises.reader?.epsilon
    }
}

/// The JSON form of a plan.
#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    devices: u64,
    within: f64,
    level: f64,
    slots: u16,
    lines: u16,
    delta: f64,
    schedules: &'a [WrittenSchedule],
}

#[derive(Serialize)]
struct WrittenSchedule {
    appointments: u16,
    mechanism: u8,
    epsilon: f64,
    person: f64,
    line: f64,
    reader_of_counts: Option<f64>,
    devices_of_a_slot: f64,
    within: f64,
    first_answer_after: Option<u16>,
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
            let order = |own: &Schedule| (own.slots.unwrap_or(u16::MAX), own.promises.person.0);
            order(a).cmp(&order(b)).then(a.within.total_cmp(&b.within))
        });
        Ok(Self {
            asked: asked.clone(),
            schedules,
        })
    }

    /// All numbers as JSON; the README of this crate has the form.
    pub fn json(&self) -> String {
        let schedules: Vec<WrittenSchedule> = self.schedules.iter().map(written).collect();
        let written = Written {
            version: 1,
            devices: self.asked.devices,
            within: self.asked.within,
            level: Confidence::default().level,
            slots: self.asked.slots,
            lines: self.asked.places,
            delta: DELTA,
            schedules: &schedules,
        };
        serde_json::to_string_pretty(&written).expect("strings and numbers are JSON") + "\n"
    }

    /// The plan in words.
    pub fn text(&self) -> String {
        let asked = &self.asked;
        let best = &self.schedules[0];
        let first = match best.slots {
            Some(1) => "the first answer comes after 1 slot".to_owned(),
            Some(slots) => format!("the first answer comes after {slots} slots"),
            None => "the window is too short for such an answer".to_owned(),
        };
        let mut text = format!(
            "Best: {} of {} slots for each device, by {} at epsilon {} a release. Answers within {} points, 95 % of the time: {first}.\n\n",
            best.appointments(),
            asked.slots,
            rule(best.kind),
            best.kind.epsilon(),
            points(asked.within),
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
                .slots
                .map_or("never".to_owned(), |slots| format!("slot {slots}"));
            text += &format!(
                "{:>12}  {:11}  {:>8}  {:>8}  {:>8}  {:>16}  {:>15}  {:>12}\n",
                own.appointments(),
                unit_short(own.kind),
                three_digits(own.promises.person).to_string(),
                three_digits(own.promises.line).to_string(),
                own.reader().map_or("-".to_owned(), |own| own.to_string()),
                count(own.releases as u64),
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

fn written(own: &Schedule) -> WrittenSchedule {
    WrittenSchedule {
        appointments: own.appointments(),
        mechanism: own.kind.mechanism() as u8,
        epsilon: epsilon_f64(own.kind.epsilon()),
        person: number(own.promises.person),
        line: number(own.promises.line),
        reader_of_counts: own.reader(),
        devices_of_a_slot: own.releases,
        within: own.within,
        first_answer_after: own.slots,
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
        let candidates = shares.len() as u32;
        let mut best: Option<(f64, Method, Kind)> = None;
        for method in METHODS {
            let kind = whole_text_kind(pack, candidates, method, epsilon)?;
            let half = widest(kind, shares, releases)?;
            if best.is_none_or(|(least, ..)| half < least) {
                best = Some((half, method, kind));
            }
        }
        let Some((within, method, kind)) = best else {
            return Ok(None);
        };
        let slots = if within <= self.within {
            Some(1)
        } else {
            let needed = forecast(kind, shares)?.releases(self.within, Confidence::default())?;
            let slots = needed.map(|needed| (needed as f64 / releases).ceil());
            let slots = slots.filter(|slots| *slots <= f64::from(self.slots));
            slots.map(|slots| slots as u16)
        };
        let promises = published::promises(method, epsilon, candidates, self.devices, window)?;
        Ok(Some(Schedule {
            kind,
            releases,
            slots,
            within,
            promises,
        }))
    }

    /// The least ε of a release with the requested precision, rounded up to three digits.
    fn least(&self, pack: [u8; 8], shares: &[f64], releases: f64) -> Result<Option<Epsilon>> {
        let suffices = |micro: u32| -> Result<bool> {
            let epsilon = Epsilon::from_micro(micro).expect("between 1 and 33 million");
            for method in METHODS {
                let kind = whole_text_kind(pack, shares.len() as u32, method, epsilon)?;
                if widest(kind, shares, releases)? <= self.within {
                    return Ok(true);
                }
            }
            Ok(false)
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

fn forecast(kind: Kind, shares: &[f64]) -> Result<Forecast<'static>> {
    let own = Forecast::of_candidates(kind, shares.len() as u32, shares)?;
    Ok(own.expect("whole-text releases have a channel"))
}

fn widest(kind: Kind, shares: &[f64], releases: f64) -> Result<f64> {
    let own = forecast(kind, shares)?;
    Ok(own.widest(releases, Confidence::default())?.min(1.0))
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
        assert_eq!(best.appointments(), 1);
        assert_eq!(best.slots, Some(1));
        assert!(
            best.within <= 0.01 && best.within > 0.0095,
            "{}",
            best.within
        );
        for own in &back.schedules {
            assert!(own.within <= 0.01 && own.slots == Some(1));
            assert!(own.promises.person.0 >= best.promises.person.0);
            assert!(own.promises.line.0 < u64::from(own.kind.epsilon().micro()));
            assert!(own.reader().is_none_or(|own| own > 0.0));
        }
        for (factor, is_enough) in [(1.0, true), (0.98, false)] {
            let person = number(best.promises.person) * factor;
            let person = Some(person.to_string().parse().unwrap());
            let forward = Asked { person, ..asked() };
            let forward = Plan::new(&forward, [0; 8], &NAMES).unwrap();
            let own = &forward.schedules[0];
            assert_eq!(own.appointments(), 1);
            assert_eq!(own.slots == Some(1), is_enough, "{factor}");
        }
        let text = back.text();
        for part in [
            "a person",
            "a line",
            "a reader of counts",
            "user level",
            "slot 1",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json: serde_json::Value = serde_json::from_str(&back.json()).unwrap();
        assert_eq!(json["schedules"][0]["first_answer_after"], 1);
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
        assert_eq!(once.appointments(), 1);
        assert!((number(once.promises.line) - 0.174).abs() < 0.001);
        let reader = once.reader().unwrap();
        assert!((0.16..0.2).contains(&reader), "{reader}");
        assert!(once.slots.unwrap() > 1 && once.slots.unwrap() < 52);
        // Dividing the people beats dividing the budget.
        let daily = plan.schedules.iter().find(|own| own.appointments() == 52);
        assert!(daily.unwrap().within > 3.0 * once.within);
    }

    #[test]
    fn impossible_plans_are_refused() {
        let few = Asked {
            devices: 300,
            ..asked()
        };
        let problem = Plan::new(&few, [0; 8], &NAMES).err().unwrap().to_string();
        assert!(problem.contains("no epsilon up to 33"), "{problem}");
        let none = Asked {
            slots: 0,
            ..asked()
        };
        assert!(Plan::new(&none, [0; 8], &NAMES).is_err());
    }
}
