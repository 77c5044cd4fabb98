//! Shares of answers to a form.
//!
//! Random answers have a fixed seed.

use std::collections::BTreeMap;

use undertone_core::epsilon::Epsilon;
use undertone_core::form::{Form, NO_ANSWER};
use undertone_core::hazmat;
use undertone_core::projective::Geometry;
use undertone_core::rng::{PublicRng, below};
use undertone_estimate::counts::Kind;
use undertone_estimate::forms::{estimate, posterior};
use undertone_estimate::shares::Confidence;

use undertone::form::Contents;

const FORM: &str = r#"{
    "attributes": [
        {"name": "language", "categories": ["de", "en", "fr"]},
        {"name": "emoji", "categories": ["a", "b", "c", "d", "e", "f", "g", "h", "i"], "weight": 2},
        {"name": "asked only with the language", "categories": ["yes", "no"], "weight": 0}
    ],
    "pairs": [{"first": "language", "second": "asked only with the language", "weight": 3}]
}"#;

type Counts = BTreeMap<Kind, BTreeMap<u32, u64>>;

/// Releases of devices whose answers are drawn from these shares, in tenths.
fn released(form: &Form<'_>, epsilon: Epsilon, devices: u32) -> Counts {
    let mut rng = PublicRng::new(0x7e57_f010);
    let mut counts = Counts::new();
    for _ in 0..devices {
        let language = [0, 0, 0, 0, 0, 1, 1, 1, 2, NO_ANSWER][below(&mut rng, 10) as usize];
        let emoji = [0, 0, 0, 1, 1, 2, 8, 8, 9, 9][below(&mut rng, 10) as usize];
        // Germans say yes.
        let asked = u32::from(language != 0);
        let answers = [language, emoji, asked];
        let release = hazmat::draw_answer(form, &answers, epsilon, &mut rng).unwrap();
        let (kind, outcome) = Kind::of(&release);
        *counts.entry(kind).or_default().entry(outcome).or_default() += 1;
    }
    counts
}

#[test]
fn shares_and_cross_tables_are_near_the_truth() {
    let bytes = Contents::from_json(FORM).unwrap().to_bytes().unwrap();
    let form = Form::parse(&bytes).unwrap();
    let confidence = Confidence {
        level: 0.999_999,
        at_once: true,
    };
    for epsilon in ["1", "4"] {
        let counts = released(&form, epsilon.parse().unwrap(), 60_000);
        let samples = || counts.iter().map(|(kind, outcomes)| (*kind, outcomes));
        let found = estimate(&form, samples(), confidence).unwrap();
        assert_eq!((found.forged, found.questions.len()), (0, 4));
        let truths: [&[f64]; 4] = [
            &[0.5, 0.3, 0.1, 0.1],
            &[0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.2],
            &[],
            &[0.5, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0],
        ];
        let mut releases = 0;
        for (own, truth) in found.questions.iter().zip(truths) {
            let Some(shares) = &own.shares else {
                assert_eq!(own.question.weight, 0);
                continue;
            };
            assert!(shares.possible);
            assert_eq!(shares.shares.len(), truth.len());
            for (share, truth) in shares.shares.iter().zip(truth) {
                assert!(
                    share.low <= *truth && *truth <= share.high,
                    "{share:?} {truth}"
                );
                assert!(share.high - share.low < 0.25, "{share:?}");
            }
            releases += shares.releases;
        }
        assert_eq!(releases, 60_000);
    }
}

#[test]
fn forged_answers_and_other_forms_are_left_out() {
    let bytes = Contents::from_json(FORM).unwrap().to_bytes().unwrap();
    let form = Form::parse(&bytes).unwrap();
    let epsilon: Epsilon = "2".parse().unwrap();
    let order = Geometry::best_for_answer(4, epsilon).unwrap().order();
    let kind = |id| Kind::from_fields(id, 10, 2, epsilon, order).unwrap();
    // A point of the first question; one that it does not have, a weight of 0, no such question.
    let outcomes = BTreeMap::from([(0, 7), ((1 << 24) - 1, 5), (2 << 24, 3), (4 << 24, 2)]);
    let counts = [
        (kind(form.id()), &outcomes),
        (kind(*b"packpack"), &outcomes),
    ];
    let found = estimate(&form, counts, Confidence::default()).unwrap();
    assert_eq!(found.forged, 10);
    assert_eq!(found.questions[0].shares.as_ref().unwrap().releases, 7);
    assert!(found.questions[1].shares.is_none());
}

#[test]
fn posteriors_follow_from_shares_and_the_law() {
    let bytes = Contents::from_json(FORM).unwrap().to_bytes().unwrap();
    let form = Form::parse(&bytes).unwrap();
    let epsilon: Epsilon = "4".parse().unwrap();
    let mut rng = PublicRng::new(0x7e57_f011);
    for _ in 0..50 {
        let release = hazmat::draw_answer(&form, &[0, 1, 1], epsilon, &mut rng).unwrap();
        let answer = form.read(&release).unwrap();
        let outcomes = answer.question.outcomes;
        let shares: Vec<f64> = (0..outcomes).map(f64::from).collect();
        let found = posterior(&answer, epsilon, &shares);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(found[0], 0.0);
        // Two outcomes of equal shares differ by e^4 if one of them prefers the point.
        let equal = posterior(&answer, epsilon, &vec![1.0; outcomes as usize]);
        let (most, least) = (
            equal.iter().copied().fold(0.0, f64::max),
            equal.iter().copied().fold(1.0, f64::min),
        );
        assert!((most / least - 4f64.exp()).abs() < 1e-6 || most == least);
    }
}
