//! Devices compared with the statement of a deployment: how often they release, and about what.
//!
//! The auditor lets test devices run for a window and keeps their releases. A test device sees one
//! line in each slot, whose best candidate the auditor knows. So a release by a reservoir of k
//! places is about that line with probability 1/k, and otherwise about "nothing known".

use std::collections::BTreeMap;

use undertone::release::window::Window;
use undertone_core::epsilon::Epsilon;
use undertone_core::projective::Geometry;
use undertone_core::release::{DrawnBy, Mechanism, Release};
use undertone_core::select::{Ratio, Rule};

use crate::sampled::statistics::{alpha, lower_bound};
use crate::{Check, Method};

/// The settings that a deployment states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The identifier of the pack.
    pub pack_id: [u8; 8],
    /// [`Mechanism::WholeText`] or [`Mechanism::Projective`].
    pub mechanism: Mechanism,
    /// ε of one release.
    pub epsilon: Epsilon,
    /// Slots, appointments and places.
    pub window: Window,
}

/// A release of a test device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The device.
    pub device: String,
    /// The number of the slot since the first one. Windows follow each other.
    pub slot: u64,
    /// The best candidate of the only line of the slot; `None` if the slot had other lines.
    pub line: Option<u32>,
    /// The release.
    pub release: Release,
}

/// Compares releases with the statement, for a pack of `candidates`. A device that does what is
/// stated passes all checks, except that the check of places fails with a probability of at most
/// [`alpha`].
///
/// # Shapes
/// `observed`: in any order.
pub fn compare(stated: &Stated, candidates: u32, observed: &[Observed]) -> Vec<Check> {
    let mut of_slots: BTreeMap<(&str, u64), f64> = BTreeMap::new();
    let mut of_windows: BTreeMap<(&str, u64), f64> = BTreeMap::new();
    for own in observed {
        let slots = u64::from(stated.window.slots());
        *of_slots.entry((&own.device, own.slot)).or_default() += 1.0;
        *of_windows
            .entry((&own.device, own.slot / slots))
            .or_default() += 1.0;
    }
    let most = |counts: BTreeMap<_, f64>| counts.into_values().fold(0.0, f64::max);
    let releases = || observed.iter().map(|own| &own.release);
    let other = |differs: &dyn Fn(&Release) -> bool| releases().filter(|own| differs(own)).count();
    let check = |name: &str, claimed: f64, measured: f64, detail: &str| Check {
        mechanism: "schedule".to_owned(),
        name: name.to_owned(),
        epsilon: None,
        method: Method::Exact,
        claimed,
        measured,
        tried: observed.len() as u64,
        passed: measured <= claimed,
        detail: detail.to_owned(),
    };
    let largest = releases().map(|own| own.epsilon().micro()).max();
    let epsilon = f64::from(stated.epsilon.micro());
    let mut checks = vec![
        check(
            "releases of another rule or pack",
            0.0,
            other(&|own| own.mechanism() != stated.mechanism || own.pack_id() != stated.pack_id)
                as f64,
            "the mechanism or the pack of some releases is not the stated one",
        ),
        check(
            "largest epsilon, in micro-units",
            epsilon,
            f64::from(largest.unwrap_or(0)),
            "a release spends more than is stated",
        ),
        check(
            "releases of a device in a slot",
            1.0,
            most(of_slots),
            "a device released twice in a slot",
        ),
        check(
            "releases of a device in a window",
            stated.window.appointments().into(),
            most(of_windows),
            "a device has more appointments than are stated",
        ),
    ];
    checks.extend(places(stated, candidates, observed));
    checks
}

/// Compares how often releases are about the only line of a slot with 1/k.
fn places(stated: &Stated, candidates: u32, observed: &[Observed]) -> Option<Check> {
    let (mut hits, mut trials) = (0, 0);
    let mut most = 0.0f64;
    let share = 1.0 / f64::from(stated.window.places());
    for own in observed {
        let Some(line) = own.line else { continue };
        let Some((prefers, [of_line, of_other])) = law(&own.release, candidates, line) else {
            continue;
        };
        trials += 1;
        hits += u64::from(prefers);
        most = most.max(share * of_line + (1.0 - share) * of_other);
    }
    let measured = (trials > 0).then(|| lower_bound(hits, trials, alpha()))?;
    Some(Check {
        mechanism: "schedule".to_owned(),
        name: "releases about the only line".to_owned(),
        epsilon: Some(stated.epsilon),
        method: Method::Sampled,
        claimed: most,
        measured,
        tried: trials,
        passed: measured <= most,
        detail: "a line is kept more often than 1 in the stated number of places".to_owned(),
    })
}

/// Whether a release prefers an outcome; and the probability of that, if the outcome is the kept
/// one and if "nothing known" is. `None` for releases by another mechanism.
fn law(release: &Release, candidates: u32, outcome: u32) -> Option<(bool, [f64; 2])> {
    let epsilon = release.epsilon();
    let outcomes = candidates + 1;
    let (prefers, [first, rest], [points, preferred, shared]) = match release.drawn_by() {
        DrawnBy::WholeText => {
            let mut weights = Ratio::per_unit(epsilon, 1).weights(Rule::Exponential);
            let weights = [weights.next()?, weights.next()?];
            (release.number() == outcome, weights, [outcomes, 1, 0])
        }
        DrawnBy::Projective(order) => {
            let geometry = Geometry::new(order.number(), outcomes)?;
            let (first, rest) = Geometry::weights(epsilon);
            let sizes = [geometry.points(), geometry.preferred(), geometry.shared()];
            let prefers = geometry.contains(outcome, release.number());
            (prefers, [first.into(), rest.into()], sizes)
        }
        _ => return None,
    };
    let [first, rest] = [first, rest].map(|weight: u128| weight as f64);
    let [points, preferred, shared] = [points, preferred, shared].map(f64::from);
    let total = preferred * first + (points - preferred) * rest;
    let own = preferred * first / total;
    let other = (shared * first + (preferred - shared) * rest) / total;
    Some((prefers, [own, other]))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::num::NonZero;

    use undertone::encoder::{Encoder, LexiconEncoder};
    use undertone::release::document;
    use undertone_core::document::DocumentError;
    use undertone_core::hazmat;
    use undertone_core::ledger::Grant;
    use undertone_core::pack::Pack;
    use undertone_core::reservoir::Reservoir;
    use undertone_core::rng::rand_core::{Rng, TryCryptoRng, TryRng};
    use undertone_core::rng::{Entropy, PublicRng};
    use undertone_core::unit::Unit;

    use super::*;

    /// Bytes that are the same in each run.
    struct Fixed(PublicRng);

    impl TryRng for Fixed {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(self.0.next_u32())
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0.next_u64())
        }
        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
            self.0.fill_bytes(out);
            Ok(())
        }
    }

    impl TryCryptoRng for Fixed {}
    impl Entropy for Fixed {}

    type Draw = fn(Reservoir, Grant, &mut Fixed) -> Result<Release, DocumentError>;

    /// The behaviour of all test devices.
    #[derive(Clone, Copy)]
    struct Behaviour {
        appointments: u64,
        places: u16,
        epsilon: &'static str,
        unit: Unit,
        draw: Draw,
        slots_apart: u64,
    }

    /// A statement of two releases a year at ε = 3 by one of 100 places.
    fn stated(pack: &Pack<'_>, mechanism: Mechanism) -> Stated {
        Stated {
            pack_id: pack.id(),
            mechanism,
            epsilon: "3".parse().unwrap(),
            window: Window::new(52, 2, 100).unwrap(),
        }
    }

    fn observe(pack: &Pack<'_>, behaviour: Behaviour) -> Vec<Observed> {
        let encoder = LexiconEncoder::new(pack).unwrap();
        let mut row = vec![0.0; pack.dimension()];
        let text = "My dentist moved the appointment.";
        encoder.encode(text, &mut row).unwrap();
        let mut document = document::empty(pack).unwrap();
        document.push_encoded(text.as_bytes(), &row).unwrap();
        let line = hazmat::best(&document).unwrap();
        document.clear();
        let mut entropy = Fixed(PublicRng::new(1));
        let mut observed = Vec::new();
        for device in 0..1000 {
            for appointment in 0..behaviour.appointments {
                let slot = device % 40 + behaviour.slots_apart * appointment;
                let places = NonZero::new(behaviour.places).unwrap();
                let mut reservoir = Reservoir::new(&document, slot, places, &mut entropy).unwrap();
                document.push_encoded(text.as_bytes(), &row).unwrap();
                reservoir.add(&mut document, &mut entropy).unwrap();
                let grant = Grant::unrecorded(behaviour.unit, behaviour.epsilon.parse().unwrap());
                let release = (behaviour.draw)(reservoir, grant, &mut entropy).unwrap();
                observed.push(Observed {
                    device: device.to_string(),
                    slot,
                    line: Some(line),
                    release,
                });
            }
        }
        observed
    }

    /// A device that keeps the statement passes, and each of five lies fails one check.
    #[test]
    fn five_lies_are_found() {
        let built = undertone::demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let honest = Behaviour {
            appointments: 2,
            places: 100,
            epsilon: "3",
            unit: Unit::WholeText,
            draw: Reservoir::release_whole_text,
            slots_apart: 3,
        };
        let failed = |behaviour, mechanism| -> Vec<String> {
            let observed = observe(&pack, behaviour);
            let stated = stated(&pack, mechanism);
            let checks = compare(&stated, pack.candidate_count(), &observed);
            assert_eq!(checks.len(), 5);
            let failed = checks.into_iter().filter(|check| !check.passed);
            failed.map(|check| check.name).collect()
        };
        assert!(failed(honest, Mechanism::WholeText).is_empty());
        let projective = Behaviour {
            draw: Reservoir::release_projective,
            ..honest
        };
        assert!(failed(projective, Mechanism::Projective).is_empty());
        let lies: [(Behaviour, &str); 6] = [
            (
                Behaviour {
                    appointments: 3,
                    ..honest
                },
                "releases of a device in a window",
            ),
            (
                Behaviour {
                    places: 5,
                    ..honest
                },
                "releases about the only line",
            ),
            (
                Behaviour {
                    epsilon: "3.1",
                    ..honest
                },
                "largest epsilon, in micro-units",
            ),
            (projective, "releases of another rule or pack"),
            (
                Behaviour {
                    slots_apart: 0,
                    ..honest
                },
                "releases of a device in a slot",
            ),
            (
                Behaviour {
                    places: 5,
                    ..projective
                },
                "releases about the only line",
            ),
        ];
        for (place, (lie, name)) in lies.into_iter().enumerate() {
            let mechanism = if place == 5 {
                Mechanism::Projective
            } else {
                Mechanism::WholeText
            };
            assert_eq!(failed(lie, mechanism), [name]);
        }
    }

    /// A release by the sentence is of another rule, whatever else it states.
    #[test]
    fn another_unit_is_found() {
        let built = undertone::demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let drawn = Behaviour {
            appointments: 1,
            places: 100,
            epsilon: "3",
            unit: Unit::Sentence,
            draw: Reservoir::release_drawn,
            slots_apart: 3,
        };
        let observed = observe(&pack, drawn);
        let stated = stated(&pack, Mechanism::WholeText);
        let checks = compare(&stated, pack.candidate_count(), &observed);
        let failed = checks.iter().filter(|check| !check.passed);
        let names: Vec<&str> = failed.map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["releases of another rule or pack"]);
    }
}
