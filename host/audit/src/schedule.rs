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
    let check = |name, claimed, measured, detail| {
        let check = Check::new("schedule", name, None, Method::Exact, [claimed, measured]);
        check.of(observed.len() as u64, detail)
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
    let (name, epsilon) = ("releases about the only line", Some(stated.epsilon));
    let check = Check::new("schedule", name, epsilon, Method::Sampled, [most, measured]);
    let detail = "a line is kept more often than 1 in the stated number of places";
    Some(check.of(trials, detail))
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
