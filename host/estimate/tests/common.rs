//! Texts, releases and estimates that several tests share.

use std::collections::BTreeMap;

use undertone::pack::calibration::Calibration;
use undertone_core::release::Mechanism;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::labels::{Assumption, Labels, Laws, Sample, labels};
use undertone_estimate::shares::Confidence;

/// A number of releases by outcome.
pub(crate) type Outcomes = BTreeMap<u32, u64>;

/// A kind of releases by the whole-text rule.
pub(crate) fn whole_text(pack: &[u8; 8], epsilon: &str) -> Kind {
    Kind::from_fields(*pack, 7, 2, epsilon.parse().unwrap(), 0).unwrap()
}

/// A calibration without texts.
pub(crate) fn no_texts(labels: &[&str], steps: u8, candidates: usize) -> Calibration {
    Calibration {
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        mechanism: Mechanism::Scores,
        steps,
        candidates,
        of_texts: Vec::new(),
        by_source: None,
        best: Vec::new(),
        levels: Vec::new(),
    }
}

/// A number from 0 to 1.
pub(crate) fn uniform(rng: &mut PublicRng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// The expected shares of outcomes that answers with these shares prefer.
pub(crate) fn preferred(channel: &Channel, shares: &[f64]) -> Vec<f64> {
    let of = |share| channel.other() + share * (channel.own() - channel.other());
    shares.iter().map(of).collect()
}

/// Expected counts of releases of texts whose best candidates have these shares, without chance.
pub(crate) fn expected(kind: Kind, shares: &[f64], releases: f64) -> Outcomes {
    let channel = Channel::new(kind, shares.len() as u32 - 1)
        .unwrap()
        .unwrap();
    let counts = preferred(&channel, shares).into_iter();
    (0..)
        .zip(counts.map(|share| (releases * share).round() as u64))
        .collect()
}

/// Shares of labels for texts like the public ones.
pub(crate) fn alike(laws: &Laws<'_>, outcomes: &Outcomes) -> Labels {
    let sample = Sample { laws, outcomes };
    labels(&[sample], Confidence::default(), Assumption::Alike).unwrap()
}
