//! Intervals of label shares that allow for texts of other sources.

use std::collections::BTreeMap;

use undertone::pack::calibration::{BySource, Calibration};
use undertone_estimate::counts::Kind;
use undertone_estimate::labels::{Assumption, Labels, Laws, Sample, labels};
use undertone_estimate::plan::Forecast;
use undertone_estimate::shares::Confidence;

use crate::common::{alike, expected, no_texts, whole_text};

/// Texts of two labels and their best candidates: for each source, 100 texts of each label, and how
/// many of them the pack gets right.
fn texts(right: &[usize]) -> (Calibration, Vec<u32>) {
    let mut own = no_texts(&["garden", "music"], 1, 2);
    let mut sources = Vec::new();
    for (source, right) in (0..).zip(right) {
        for label in 0..2 {
            for text in 0..100 {
                own.of_texts.push(label);
                let best = if text < *right { label } else { 1 - label };
                own.best.push(best);
                own.levels.extend([1 - best as u8, best as u8]);
                sources.push(source);
            }
        }
    }
    (own, sources)
}

/// 400 public texts of each label, three of four right, from sources that differ by as much as
/// `right`.
fn public(right: Option<&[usize]>) -> Calibration {
    let (mut own, _) = texts(&[75; 4]);
    own.by_source = right.map(|right| {
        let (texts, of_texts) = texts(right);
        let names = (0..right.len()).map(|number| format!("year {number}"));
        Box::new(BySource {
            names: names.collect(),
            of_texts,
            texts,
        })
    });
    own
}

fn kind() -> Kind {
    whole_text(&[0; 8], "3")
}

/// Estimates from 20,000 releases of texts of which `right` are right, 7 of 10 with the first
/// label.
fn estimate(public: &Calibration, right: f64, assumption: Assumption) -> Labels {
    let first = 0.7 * right + 0.3 * (1.0 - right);
    let second = 0.7 * (1.0 - right) + 0.3 * right;
    let outcomes = expected(kind(), &[first, second, 0.0], 20_000.0);
    let sample = Sample {
        laws: &Laws::new(kind(), public).unwrap(),
        outcomes: &outcomes,
    };
    labels(&[sample], Confidence::default(), assumption).unwrap()
}

fn width(own: &Labels) -> f64 {
    own.shares[0].high - own.shares[0].low
}

fn covers(own: &Labels) -> bool {
    own.shares[0].low <= 0.7 && 0.7 <= own.shares[0].high
}

/// Private texts of a source like the worst public one: only intervals that allow for it cover.
#[test]
fn intervals_allow_for_other_sources() {
    let sources = public(Some(&[60, 70, 80, 90]));
    let shifted = estimate(&sources, 0.6, Assumption::OtherSources);
    assert!(shifted.allows && covers(&shifted), "{shifted:?}");
    let alike = estimate(&sources, 0.6, Assumption::Alike);
    assert!(!alike.allows && !covers(&alike), "{alike:?}");
    assert!(width(&alike) < width(&shifted) / 1.5);
}

/// Sources that differ no more than samples do add nothing, and unknown ones are not allowed for.
#[test]
fn equal_sources_cost_nothing() {
    let alike = estimate(&public(None), 0.75, Assumption::Alike);
    let unknown = estimate(&public(None), 0.75, Assumption::OtherSources);
    assert_eq!(alike.shares, unknown.shares);
    assert!(!unknown.allows);
    let equal = estimate(&public(Some(&[75; 4])), 0.75, Assumption::OtherSources);
    assert!(equal.allows);
    assert!((width(&equal) - width(&alike)).abs() < 1e-9);
}

/// A plan has the half-widths of the estimate that follows it.
#[test]
fn a_plan_allows_for_other_sources() {
    let sources = public(Some(&[69, 73, 77, 81]));
    let half = |public: &Calibration| {
        let plan = Forecast::of_labels(kind(), public, &[0.7, 0.3]).unwrap();
        plan.widest(20_000.0, Confidence::default()).unwrap()
    };
    let own = estimate(&sources, 0.75, Assumption::OtherSources);
    let planned = 2.0 * half(&sources);
    assert!(
        (planned / width(&own) - 1.0).abs() < 0.1,
        "{planned} {:?}",
        own.shares
    );
    assert!(half(&public(None)) < planned / 1.5);
}

/// With as many labels as outcomes, any releases look like those of some shares.
#[test]
fn without_degrees_of_freedom_nothing_is_tested() {
    let public = public(None);
    let whole = estimate(&public, 0.75, Assumption::Alike);
    assert_eq!(whole.fit.freedom, 1);
    let noticeable = whole.fit.noticeable.unwrap();
    assert!(noticeable > 0.0 && noticeable < 0.1, "{noticeable}");
    let scores = Kind::from_fields([0; 8], 2, 1, kind().epsilon(), 0).unwrap();
    let laws = Laws::new(scores, &public).unwrap();
    let own = alike(&laws, &BTreeMap::from([(0, 9_000), (1, 11_000)]));
    assert_eq!((own.fit.freedom, own.fit.probability), (0, None));
}

/// A share is inside its interval, even if its interval ends at 0.
#[test]
fn a_share_is_not_at_an_end_of_its_interval() {
    for right in [0.0, 0.2, 0.5, 0.75, 1.0] {
        for own in estimate(&public(None), right, Assumption::Alike).shares {
            assert!(own.low < own.share || own.share == 0.0, "{own:?}");
            assert!(own.share < own.high || own.share == 1.0, "{own:?}");
        }
    }
}
