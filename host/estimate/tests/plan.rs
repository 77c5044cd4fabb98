//! Compares forecasts with the errors of estimates from populations that are drawn and released
//! with fixed seeds.

use std::collections::BTreeMap;

use rayon::prelude::*;
use undertone::pack::calibration::Calibration;
use undertone::release::law::Law;
use undertone_core::release::Mechanism;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::{Ratio, Rule};
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::labels::Laws;
use undertone_estimate::plan::{Forecast, kinds};
use undertone_estimate::shares::{Confidence, Share, shares};

use crate::common::{Outcomes, alike, no_texts, uniform};

const PACK: [u8; 8] = *b"planplan";
/// Texts of three labels under a pack of `m` candidates, most of them typical of their label.
fn calibration(m: usize, texts: usize) -> Calibration {
    let mut rng = PublicRng::new(7);
    let mut own = no_texts(&["red", "green", "blue"], 8, m);
    for text in 0..3 * texts {
        let label = text % 3;
        let said = match below(&mut rng, 10) {
            0..=7 => label + 3 * (below(&mut rng, (m / 3) as u128) as usize),
            _ => below(&mut rng, m as u128) as usize,
        };
        own.of_texts.push(label as u32);
        own.best.push(said as u32);
        own.levels.extend((0..m).map(|candidate| {
            let near = u8::from(candidate % 3 == label) * 6;
            near + u8::from(candidate == said) * 10 + below(&mut rng, 5) as u8
        }));
    }
    own
}

/// The kinds of releases of a pack of 12 candidates.
fn all_kinds(epsilon: &str) -> Vec<Kind> {
    let epsilon = epsilon.parse().unwrap();
    kinds(PACK, 12, true, Mechanism::Scores, epsilon).unwrap()
}

/// The shares of best candidates among texts with these shares of labels.
fn best_of(texts: &Calibration, truth: &[f64; 3]) -> [f64; 12] {
    let mut best = [0.0; 12];
    for (text, answer) in texts.best.iter().enumerate() {
        best[*answer as usize] += truth[text % 3] / (texts.len() / 3) as f64;
    }
    best
}

/// Cumulative probabilities of the outcomes of sentence releases, for each text, if the kind
/// requires them.
fn laws(kind: Kind, texts: &Calibration) -> Vec<Vec<f64>> {
    if kind.mechanism() != Mechanism::Scores {
        return Vec::new();
    }
    let ratio = Ratio::per_step(kind.epsilon(), texts.steps.try_into().unwrap());
    let of = |text: usize| {
        let law = Law::new(texts.levels_of(text).to_vec(), ratio, Rule::PermuteAndFlip);
        let mut sum = 0.0;
        let sums = (0..texts.candidates).map(|candidate| {
            sum += law.probability(candidate);
            sum
        });
        sums.collect()
    };
    (0..texts.len()).map(of).collect()
}

/// Releases of `count` texts with these shares of labels.
fn released(
    kind: Kind,
    texts: &Calibration,
    laws: &[Vec<f64>],
    truth: &[f64],
    count: usize,
    rng: &mut PublicRng,
) -> Outcomes {
    let m = texts.candidates as u32;
    let channel = Channel::new(kind, m).unwrap();
    let mut outcomes = BTreeMap::new();
    for _ in 0..count {
        let at = uniform(rng);
        let label = match truth {
            [red, ..] if at < *red => 0,
            [red, green, ..] if at < red + green => 1,
            _ => 2,
        };
        let text = label + 3 * below(rng, (texts.len() / 3) as u128) as usize;
        let answer = texts.best[text];
        let at = uniform(rng);
        let outcome = match channel {
            None => (laws[text].partition_point(|sum| *sum <= at) as u32).min(m - 1),
            Some(channel) => match channel.geometry() {
                None if at < channel.own() => answer,
                None => {
                    let other = below(rng, m.into()) as u32;
                    other + u32::from(other >= answer)
                }
                Some(geometry) => {
                    let inside = at < channel.own();
                    loop {
                        let point = below(rng, geometry.points().into()) as u32;
                        if geometry.contains(answer, point) == inside {
                            break point;
                        }
                    }
                }
            },
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    outcomes
}

/// Draws `each` texts of each label.
fn drawn(texts: &Calibration, each: usize, rng: &mut PublicRng) -> Calibration {
    let mut own = Calibration {
        of_texts: Vec::new(),
        by_source: None,
        best: Vec::new(),
        levels: Vec::new(),
        ..texts.clone()
    };
    for place in 0..3 * each {
        let text = place % 3 + 3 * below(rng, (texts.len() / 3) as u128) as usize;
        own.of_texts.push(texts.of_texts[text]);
        own.best.push(texts.best[text]);
        own.levels.extend_from_slice(texts.levels_of(text));
    }
    own
}

/// The root mean square over labels and populations, and its forecast.
fn compare(found: &[Vec<f64>], truth: &[f64], forecast: &[f64]) -> (f64, f64) {
    let square = |own: &Vec<f64>| -> f64 {
        let own = own.iter().zip(truth);
        own.map(|(found, truth)| (found - truth).powi(2)).sum()
    };
    let squares: f64 = found.iter().map(square).sum::<f64>() / found.len() as f64;
    let forecast: f64 = forecast.iter().map(|error| error.powi(2)).sum();
    (squares.sqrt(), forecast.sqrt())
}

#[test]
fn forecast_errors_of_labels_are_those_of_populations() {
    let truth = [0.6, 0.3, 0.1];
    let texts = calibration(12, 1000);
    let kinds = ["1", "3"].map(all_kinds);
    // In parallel: each has random numbers of its own.
    kinds.concat().into_par_iter().for_each(|kind| {
        let mut rng = PublicRng::new(11);
        let (count, populations) = (2000, 120);
        let laws = laws(kind, &texts);
        let mut forecast = Vec::new();
        let found: Vec<Vec<f64>> = (0..populations)
            .map(|_| {
                let outcomes = released(kind, &texts, &laws, &truth, count, &mut rng);
                // Public texts also err.
                let public = drawn(&texts, 60, &mut rng);
                if forecast.is_empty() {
                    let own = Forecast::of_labels(kind, &public, &truth);
                    forecast = own.unwrap().errors(count as f64).unwrap();
                }
                let laws = Laws::new(kind, &public).unwrap();
                alike(&laws, &outcomes).unbounded
            })
            .collect();
        let (found, forecast) = compare(&found, &truth, &forecast);
        println!("{kind}: {found:.4}, forecast {forecast:.4}");
        assert!(
            (found / forecast - 1.0).abs() < 0.15,
            "{kind}: {found} {forecast}"
        );
    });
}

#[test]
fn forecast_errors_of_candidates_are_those_of_populations() {
    let truth = [0.6, 0.3, 0.1];
    let texts = calibration(12, 100);
    let best = best_of(&texts, &truth);
    for kind in all_kinds("1") {
        let forecast = Forecast::of_candidates(kind, 12, &best).unwrap();
        let Some(forecast) = forecast else {
            assert_eq!(kind.mechanism(), Mechanism::Scores);
            continue;
        };
        let mut rng = PublicRng::new(5);
        let found: Vec<Vec<f64>> = (0..100)
            .map(|_| {
                let outcomes = released(kind, &texts, &[], &truth, 3000, &mut rng);
                let own = shares(kind, &outcomes, 12, Confidence::default()).unwrap();
                own.unwrap().unbiased[..12].to_vec()
            })
            .collect();
        let forecast = forecast.errors(3000.0).unwrap();
        let (found, forecast) = compare(&found, &best, &forecast);
        assert!(
            (found / forecast - 1.0).abs() < 0.15,
            "{kind}: {found} {forecast}"
        );
    }
}

/// The intervals of estimates are as wide as planned, even from few public texts or releases.
#[test]
fn planned_intervals_are_those_of_estimates() {
    let truth = [0.5, 0.3, 0.2];
    for (each, count) in [(40, 10_000), (400, 10_000), (400, 2000)] {
        let texts = calibration(12, each);
        let best = best_of(&texts, &truth);
        for kind in all_kinds("3") {
            let mut rng = PublicRng::new(17);
            let outcomes = released(kind, &texts, &laws(kind, &texts), &truth, count, &mut rng);
            let same = |planned: f64, shares: &[Share]| {
                let halves = shares.iter().map(|own| (own.high - own.low) / 2.0);
                let half = halves.fold(0.0, f64::max);
                assert!(
                    (planned / half - 1.0).abs() < 0.1,
                    "{kind}, {each} texts, {count} devices: {planned} {half}"
                );
            };
            let own = alike(&Laws::new(kind, &texts).unwrap(), &outcomes);
            let forecast = Forecast::of_labels(kind, &texts, &truth).unwrap();
            same(
                forecast
                    .widest(count as f64, Confidence::default())
                    .unwrap(),
                &own.shares,
            );
            if let Some(forecast) = Forecast::of_candidates(kind, 12, &best).unwrap() {
                let own = shares(kind, &outcomes, 12, Confidence::default())
                    .unwrap()
                    .unwrap();
                same(
                    forecast
                        .widest(count as f64, Confidence::default())
                        .unwrap(),
                    &own.shares,
                );
            }
        }
    }
}

#[test]
fn devices_are_as_many_as_the_precision_takes() {
    let texts = calibration(12, 400);
    let third = [1.0 / 3.0; 3];
    for kind in all_kinds("1") {
        let forecast = Forecast::of_labels(kind, &texts, &third).unwrap();
        let devices = forecast.releases(0.08, Confidence::default()).unwrap();
        let devices = devices.expect("it can be reached");
        let half = forecast
            .widest(devices as f64, Confidence::default())
            .unwrap();
        assert!(half <= 0.08 && half > 0.075, "{kind}: {devices} {half}");
        // The public texts are finitely many.
        assert_eq!(
            forecast.releases(1e-4, Confidence::default()).unwrap(),
            None
        );
    }
    let whole = all_kinds("1")[1];
    let forecast = Forecast::of_candidates(whole, 12, &[0.1]).unwrap().unwrap();
    let channel = Channel::new(whole, 12).unwrap().unwrap();
    let devices = forecast
        .releases(0.01, Confidence::default())
        .unwrap()
        .unwrap() as f64;
    let exact = (1.96 * channel.deviation(0.1, 1.0) / 0.01).powi(2);
    assert!(
        devices >= exact && devices < 1.1 * exact,
        "{devices} {exact}"
    );
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let texts = calibration(12, 40);
    let kind = all_kinds("1")[0];
    let planned = |shares: &[f64]| Forecast::of_labels(kind, &texts, shares);
    for (shares, problem) in [
        (&[0.5, 0.5][..], "2 shares are guessed for 3 labels"),
        (&[0.5, 0.7, 0.3], "add up to 1.5"),
        (&[-0.5, 0.7, 0.3], "share -0.5 does not lie"),
    ] {
        let error = planned(shares).err().unwrap().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let forecast = planned(&[0.2, 0.3, 0.5]).unwrap();
    for (error, problem) in [
        (
            forecast.errors(0.0).unwrap_err(),
            "0 devices release nothing",
        ),
        (
            forecast.releases(0.0, Confidence::default()).unwrap_err(),
            "ask for more than 0",
        ),
        (
            forecast
                .releases(f64::NAN, Confidence::default())
                .unwrap_err(),
            "an error of NaN",
        ),
    ] {
        assert!(error.to_string().contains(problem), "{error}");
    }
    let few = calibration(12, 4);
    let error = Forecast::of_labels(kind, &few, &[0.2, 0.3, 0.5]).err();
    let error = error.unwrap().to_string();
    assert!(
        error.contains("has 4 public texts, and an estimate needs at least 5"),
        "{error}"
    );
    // A pack without scores has no whole-text releases.
    let depth = kinds(PACK, 12, true, Mechanism::Depth, "1".parse().unwrap()).unwrap();
    assert_eq!(depth.len(), 1);
}

/// One device gives no information by any rule, and a calibration keeps its index if a slice has no
/// releases of it.
#[test]
fn labels_of_one_device_are_anything() {
    let texts = calibration(12, 40);
    let outcomes = BTreeMap::from([(3, 1)]);
    for kind in all_kinds("1") {
        let own = alike(&Laws::new(kind, &texts).unwrap(), &outcomes);
        for share in &own.shares {
            assert!(share.low < 0.01 && share.high > 0.99, "{kind}: {share:?}");
        }
        assert!((own.shares.iter().map(|own| own.share).sum::<f64>() - 1.0).abs() < 1e-6);
        assert!(own.moved > 0.0);
    }
}

/// Another release moves no share by more than `moved`.
#[test]
fn a_forged_release_moves_what_is_said() {
    let texts = calibration(12, 100);
    for kind in all_kinds("1") {
        let mut rng = PublicRng::new(3);
        let laws = laws(kind, &texts);
        let outcomes = released(kind, &texts, &laws, &[0.5, 0.3, 0.2], 4000, &mut rng);
        let public = Laws::new(kind, &texts).unwrap();
        let before = alike(&public, &outcomes);
        let mut farthest: f64 = 0.0;
        for forged in 0..12 {
            let mut outcomes = outcomes.clone();
            *outcomes.entry(forged).or_insert(0) += 1;
            let after = alike(&public, &outcomes);
            for (before, after) in before.unbounded.iter().zip(&after.unbounded) {
                farthest = farthest.max((before - after).abs());
            }
        }
        assert!(
            farthest <= 1.1 * before.moved,
            "{kind}: {farthest} {}",
            before.moved
        );
        assert!(before.moved < 0.05, "{kind}: {}", before.moved);
    }
}
