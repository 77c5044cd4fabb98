//! Coverage of intervals of labels from few public texts or releases, and how often the test of fit
//! refutes a true assumption.
//!
//! `UNDERTONE_SOAK=1 cargo test --release -p undertone-estimate --test all few:: -- --nocapture`
//! prints the figures of RESULTS.md. All random numbers are fixed.

use std::collections::BTreeMap;

use rayon::prelude::*;
use undertone::pack::calibration::Calibration;
use undertone_core::rng::PublicRng;
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::labels::{Assumption, Labels, Laws, Sample, difference, labels};
use undertone_estimate::shares::{Confidence, Share};

use crate::common::{Outcomes, alike, no_texts, preferred, uniform, whole_text};

/// For each of three labels, the probability of each candidate, and of "nothing known" as the last.
type Says = Vec<Vec<f64>>;

fn strong() -> Says {
    let own = |label: usize| (0..5).map(move |answer| if answer == label { 0.8 } else { 0.05 });
    (0..3).map(|label| own(label).collect()).collect()
}

fn weak() -> Says {
    vec![
        vec![0.6, 0.2, 0.1, 0.05, 0.05],
        vec![0.1, 0.6, 0.1, 0.1, 0.1],
        vec![0.1, 0.1, 0.3, 0.4, 0.1],
    ]
}

/// Each label has seven candidates, some of them much more frequent than others.
fn many() -> Says {
    let own = |label: usize| -> Vec<f64> {
        let mut chances = vec![0.2 / 22.0; 22];
        for place in 0..7 {
            chances[3 * place + label] +=
                0.8 * 0.5f64.powi(place as i32 + 1) / (1.0 - 0.5f64.powi(7));
        }
        chances
    };
    (0..3).map(own).collect()
}

fn sure() -> Says {
    vec![
        vec![0.9, 0.04, 0.02, 0.02, 0.02],
        vec![0.02, 0.9, 0.04, 0.02, 0.02],
        vec![0.02, 0.04, 0.9, 0.02, 0.02],
    ]
}

fn soak() -> bool {
    std::env::var_os("UNDERTONE_SOAK").is_some_and(|value| value == "1")
}

/// More populations give more precise figures.
fn populations() -> usize {
    if soak() { 1000 } else { 100 }
}

/// All sizes in the long form. In the short form the least, the largest and one between them.
fn sizes<const N: usize>(all: [usize; N]) -> Vec<usize> {
    if soak() {
        all.to_vec()
    } else {
        vec![all[0], all[N / 2], all[N - 1]]
    }
}

fn chosen(chances: &[f64], rng: &mut PublicRng) -> usize {
    let mut at = uniform(rng);
    for (place, chance) in chances.iter().enumerate() {
        at -= chance;
        if at < 0.0 {
            return place;
        }
    }
    chances.len() - 1
}

/// `texts` public texts of each label.
fn public(says: &Says, texts: usize, rng: &mut PublicRng) -> Calibration {
    let of_texts: Vec<u32> = (0..3 * texts as u32).map(|text| text % 3).collect();
    let said = |label: &u32| chosen(&says[*label as usize], rng) as u32;
    let candidates = says[0].len() - 1;
    Calibration {
        best: of_texts.iter().map(said).collect(),
        levels: vec![0; candidates * of_texts.len()],
        of_texts,
        ..no_texts(&["red", "green", "blue"], 8, candidates)
    }
}

/// Releases of texts with these shares of labels.
fn released(
    kind: Kind,
    says: &Says,
    shares: &[f64; 3],
    releases: usize,
    rng: &mut PublicRng,
) -> Outcomes {
    let channel = Channel::new(kind, says[0].len() as u32 - 1).unwrap();
    let best: Vec<f64> = (0..says[0].len())
        .map(|answer| {
            let own = (0..3).map(|label| shares[label] * says[label][answer]);
            own.sum()
        })
        .collect();
    let law = preferred(&channel.unwrap(), &best);
    let mut outcomes = BTreeMap::new();
    for _ in 0..releases {
        *outcomes.entry(chosen(&law, rng) as u32).or_insert(0) += 1;
    }
    outcomes
}

#[derive(Default)]
struct Tally {
    populations: usize,
    refuted: usize,
    intervals: usize,
    covered: [usize; 3],
    width: f64,
}

impl Tally {
    fn add(&mut self, found: &[Share], refuted: bool, truth: &[f64; 3]) {
        self.populations += 1;
        self.refuted += usize::from(refuted);
        if refuted {
            return;
        }
        self.intervals += 1;
        for (label, own) in found.iter().enumerate() {
            let covers = own.low <= truth[label] + 1e-12 && truth[label] - 1e-12 <= own.high;
            self.covered[label] += usize::from(covers);
            self.width += (own.high - own.low) / 3.0;
        }
    }

    /// The share of covering intervals, of all labels and of the worst, and of refuted populations.
    fn print(&self, name: &str) -> [f64; 3] {
        let intervals = self.intervals as f64;
        let all = self.covered.iter().sum::<usize>() as f64 / intervals / 3.0;
        let worst = *self.covered.iter().min().unwrap() as f64 / intervals;
        let refuted = self.refuted as f64 / self.populations as f64;
        println!(
            "{name}: covered {:.1} %, of the worst label {:.1} %, mean width {:.3}, refuted {:.1} %",
            100.0 * all,
            100.0 * worst,
            self.width / intervals,
            100.0 * refuted
        );
        [all, worst, refuted]
    }
}

#[test]
fn few_public_texts_make_intervals_wide() {
    let mut cases = Vec::new();
    for shares in [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]] {
        for texts in sizes([5, 20, 50, 200, 400]) {
            for releases in [1_000, 30_000] {
                cases.push(("4 candidates", strong(), shares, texts, releases));
                cases.push(("21 candidates", many(), shares, texts, releases));
            }
        }
    }
    cases
        .into_par_iter()
        .for_each(|(name, says, shares, texts, releases)| {
            let mut rng = PublicRng::new((texts + releases) as u64);
            let kind = whole_text(b"packpack", "3");
            let mut tally = Tally::default();
            for _ in 0..populations() {
                let calibration = public(&says, texts, &mut rng);
                let outcomes = released(kind, &says, &shares, releases, &mut rng);
                let laws = Laws::new(kind, &calibration).unwrap();
                let sample = Sample {
                    laws: &laws,
                    outcomes: &outcomes,
                };
                match labels(&[sample], Confidence::default(), Assumption::Alike) {
                    Ok(own) => tally.add(&own.shares, own.fit.refuted, &shares),
                    // The few texts of two labels may agree, and then `labels` returns an error.
                    Err(problem) => {
                        assert!(problem.to_string().contains("told apart"), "{problem}")
                    }
                }
            }
            let [all, worst, refuted] = tally.print(&format!(
                "{name}, {texts} texts, {releases} releases, {shares:?}"
            ));

            assert!(
                all > 0.93 && worst > 0.92,
                "{texts} {releases} {all} {worst}"
            );
            assert!(refuted < 0.05, "{texts} {releases} {refuted}");
        });
}

/// Complete public texts: 2,000 of each label, in the classifier's exact proportions.
fn known() -> Calibration {
    let mut own = public(&sure(), 0, &mut PublicRng::new(0));
    for (label, chances) in sure().into_iter().enumerate() {
        for (answer, chance) in chances.into_iter().enumerate() {
            for _ in 0..(chance * 2000.0f64).round() as usize {
                own.of_texts.push(label as u32);
                own.best.push(answer as u32);
                own.levels.extend([0; 4]);
            }
        }
    }
    own
}

#[test]
fn few_releases_make_intervals_wide() {
    let says = sure();
    let calibration = known();
    let mut cases = Vec::new();
    for epsilon in ["1", "3", "10"] {
        cases.extend([[0.7, 0.2, 0.1], [0.95, 0.05, 0.0]].map(|shares| (epsilon, shares)));
    }
    cases.into_par_iter().for_each(|(epsilon, shares)| {
        let kind = whole_text(b"packpack", epsilon);
        let laws = Laws::new(kind, &calibration).unwrap();
        for releases in sizes([1, 3, 10, 30, 100, 300, 1000]) {
            let mut rng = PublicRng::new(releases as u64);
            let mut tally = Tally::default();
            // Equal counts give equal answers.
            let mut seen: BTreeMap<Vec<(u32, u64)>, Labels> = BTreeMap::new();
            for _ in 0..populations() {
                let outcomes = released(kind, &says, &shares, releases, &mut rng);
                let key = outcomes.iter().map(|(a, b)| (*a, *b)).collect();
                let own = seen.entry(key).or_insert_with(|| alike(&laws, &outcomes));
                tally.add(&own.shares, own.fit.refuted, &shares);
            }
            let [all, worst, refuted] = tally.print(&format!(
                "epsilon {epsilon}, {releases} releases, {shares:?}"
            ));

            assert!(all > 0.94 && worst > 0.88, "{releases}: {all} {worst}");
            assert!(refuted < 0.05, "{releases}: {refuted}");
        }
    });
}

/// Packs made with the same public texts share their errors, even in differences.
#[test]
fn packs_of_the_same_public_texts_err_alike() {
    let shares = [0.5, 0.3, 0.2];
    let kinds = [b"packpack", b"pack2222"].map(|pack| whole_text(pack, "5"));
    let mut rng = PublicRng::new(8);
    let (mut tally, mut widths) = (Tally::default(), [0.0; 2]);
    for _ in 0..populations() {
        let calibration = public(&weak(), 60, &mut rng);
        let other = calibration.clone();
        let outcomes = kinds.map(|kind| released(kind, &weak(), &shares, 20_000, &mut rng));
        let laws = [(kinds[0], &calibration), (kinds[1], &other)]
            .map(|(kind, texts)| Laws::new(kind, texts).unwrap());
        let nothing = Outcomes::new();
        let estimate = |outcomes: [&Outcomes; 2]| {
            let samples = [0, 1].map(|place| Sample {
                laws: &laws[place],
                outcomes: outcomes[place],
            });
            labels(&samples, Confidence::default(), Assumption::Alike).unwrap()
        };
        let both = estimate([&outcomes[0], &outcomes[1]]);
        tally.add(&both.shares, both.fit.refuted, &shares);
        let one = estimate([&outcomes[0], &nothing]);
        let two = estimate([&nothing, &outcomes[1]]);
        let differences = difference(&one, &two, Confidence::default());
        widths[0] += differences[0].high - differences[0].low;
        widths[1] += one.shares[0].high - one.shares[0].low;
    }
    let [all, ..] = tally.print("two packs");
    assert!(all > 0.94, "{all}");
    // Common errors cancel.
    assert!(widths[0] < 0.7 * widths[1], "{widths:?}");
}
