//! Law of a release, given the best candidate of a text or of its drawn sentence: the server's side
//! of [`whole_text`](undertone_core::whole_text), [`projective`](undertone_core::projective) and
//! [`reservoir`](undertone_core::reservoir).

use std::collections::BTreeMap;

use undertone::error::Result;
use undertone_core::projective::Geometry;
use undertone_core::release::Mechanism;
use undertone_core::reservoir::drawn_ratio;
use undertone_core::select::{Ratio, Rule};

use crate::counts::Kind;
use crate::refused;

/// The channel between the best candidate of a text or of its drawn sentence, or "nothing known",
/// and its release.
///
/// Each of the m + 1 answers, or m without "nothing known", *prefers* some outcomes. A release is
/// an outcome that the text's answer prefers with the probability `own`, and one that a given other
/// answer prefers with the probability `other`, for all answers alike.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    answers: u32,
    own: f64,
    other: f64,
    likely: f64,
    unlikely: f64,
    sizes: [u32; 3],
    geometry: Option<Geometry>,
}

impl Channel {
    /// The channel of a kind of releases under a pack of `candidates`; `None` for releases by depth
    /// or scores, whose law depends on the text.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](undertone::error::ErrorKind::Input) for a geometry that no pack of this
    /// size has.
    pub fn new(kind: Kind, candidates: u32) -> Result<Option<Self>> {
        let Some(answers) = kind.answers(candidates) else {
            return Err(refused(format!(
                "no device with {candidates} candidates makes releases of {kind}; take the candidates file of the pack that made \
                 them"
            )));
        };
        // The weights by which devices draw; the numbers of outcomes, of preferred and of shared
        // ones.
        let (first, rest, sizes, geometry) = match kind.mechanism() {
            Mechanism::WholeText | Mechanism::WholeTextKnown | Mechanism::Drawn => {
                let ratio = match kind.places() {
                    Some(places) => drawn_ratio(kind.epsilon(), places),
                    None => Ratio::per_unit(kind.epsilon(), 1),
                };
                let weights = ratio.weights(Rule::Exponential);
                let weights: Vec<f64> = weights.take(2).map(|weight| weight as f64).collect();
                (weights[0], weights[1], [answers, 1, 0], None)
            }
            Mechanism::Projective | Mechanism::ProjectiveKnown | Mechanism::Answer => {
                let geometry = kind.geometry(candidates).ok_or_else(|| {
                    refused(format!(
                        "there are releases of order {}, which no device with {candidates} candidates makes; take \
                         the candidates file of the pack that made them",
                        kind.order()
                    ))
                })?;
                let (first, rest) = Geometry::weights(kind.epsilon());
                let sizes = [geometry.points(), geometry.preferred(), geometry.shared()];
                (first as f64, rest as f64, sizes, Some(geometry))
            }
            _ => return Ok(None),
        };
        let [points, preferred, shared] = sizes.map(f64::from);
        let total = preferred * first + (points - preferred) * rest;
        Ok(Some(Self {
            answers,
            own: preferred * first / total,
            other: (shared * first + (preferred - shared) * rest) / total,
            unlikely: rest / total,
            likely: first / total,
            sizes,
            geometry,
        }))
    }

    /// Number of answers: the candidates, and mostly "nothing known" as the last.
    pub fn answers(&self) -> usize {
        self.answers as usize
    }

    /// Probability that a release is an outcome that the text's answer prefers.
    pub fn own(&self) -> f64 {
        self.own
    }

    /// Probability that a release is an outcome that a given other answer prefers.
    pub fn other(&self) -> f64 {
        self.other
    }

    /// How much one release moves a sum of debiased votes: forging one moves a share by this over
    /// the number of releases.
    pub fn weight(&self) -> f64 {
        1.0 / (self.own - self.other)
    }

    /// Most answers that prefer one outcome.
    pub fn answers_of_an_outcome(&self) -> usize {
        self.geometry
            .map_or(1, |geometry| geometry.outcomes_of_a_point() as usize)
    }

    /// The numbers of outcomes, of outcomes that an answer prefers, and of outcomes that any two
    /// answers both prefer.
    pub fn sizes(&self) -> [u32; 3] {
        self.sizes
    }

    /// The probabilities of a single outcome: a preferred one, and any other.
    pub fn of_outcome(&self) -> (f64, f64) {
        (self.likely, self.unlikely)
    }

    /// The geometry, for releases that name a point.
    pub fn geometry(&self) -> Option<Geometry> {
        self.geometry
    }

    /// The unbiased share of an answer, from the share of releases that it prefers.
    pub fn unbiased(&self, preferred: f64) -> f64 {
        (preferred - self.other) / (self.own - self.other)
    }

    /// The expected share of releases that an answer of this share prefers.
    pub(crate) fn preferred(&self, share: f64) -> f64 {
        self.other + share * (self.own - self.other)
    }

    /// The standard deviation of an estimate of `share` from `releases`.
    pub fn deviation(&self, share: f64, releases: f64) -> f64 {
        let preferred = self.preferred(share);
        (preferred * (1.0 - preferred) / releases).sqrt() * self.weight()
    }

    /// The standard error of an estimate of `share` from `releases`, for a fixed set of texts. It
    /// is less than the [`deviation`](Channel::deviation), which also counts the choice of texts.
    pub(crate) fn error(&self, share: f64, releases: f64) -> f64 {
        let [own, other] = [self.own, self.other].map(|p| p * (1.0 - p));
        ((share * own + (1.0 - share) * other) / releases).sqrt() * self.weight()
    }

    /// A lower bound of the variance of one vote.
    pub(crate) fn variance_of_coins(&self) -> f64 {
        let [own, other] = [self.own, self.other].map(|p| p * (1.0 - p));
        own.min(other)
    }

    /// For each answer, the number of releases that it prefers.
    ///
    /// # Cost
    /// For each released point, the steps of [`Geometry::outcomes_preferring`].
    pub fn votes(&self, outcomes: &BTreeMap<u32, u64>) -> Vec<u64> {
        let mut votes = vec![0u64; self.answers()];
        for (outcome, count) in outcomes {
            self.each_answer(*outcome, |answer| votes[answer] += count);
        }
        votes
    }

    /// Calls `visit` with each answer that prefers the outcome.
    pub(crate) fn each_answer(&self, outcome: u32, mut visit: impl FnMut(usize)) {
        match self.geometry {
            None if outcome < self.answers => visit(outcome as usize),
            None => {}
            Some(geometry) => geometry
                .outcomes_preferring(outcome)
                .filter(|answer| *answer < self.answers)
                .for_each(|answer| visit(answer as usize)),
        }
    }
}
