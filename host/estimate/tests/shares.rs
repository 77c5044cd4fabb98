//! Shares of candidates: of several kinds at once, of one device, and their differences.

use std::collections::BTreeMap;

use undertone::error::Result;
use undertone_core::rng::{PublicRng, below};
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;
use undertone_estimate::shares::{
    Confidence, Population, Share, Shares, difference, pooled, shares,
};

use crate::common::{Outcomes, expected, uniform, whole_text};

fn kind(epsilon: &str) -> Kind {
    whole_text(b"packpack", epsilon)
}

fn of(samples: &[(Kind, &Outcomes)], level: f64) -> Result<Shares> {
    let confidence = Confidence {
        level,
        at_once: false,
    };
    pooled(samples, 3, confidence).map(|own| own.expect("they are of whole texts"))
}

/// Random numbers: whether an outcome is the text's answer, and which other one it is.
struct Chance(PublicRng, PublicRng);

impl Chance {
    /// Adds a release of a text with this answer.
    fn release(&mut self, channel: &Channel, answer: u32, outcomes: &mut Outcomes) {
        let outcome = if uniform(&mut self.0) < channel.own() {
            answer
        } else {
            (answer + 1 + below(&mut self.1, 3) as u32) % 4
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
}

/// Whether an interval has a share inside.
fn holds(share: &Share, truth: f64) -> bool {
    share.low <= truth + 1e-9 && truth - 1e-9 <= share.high
}

#[test]
fn kinds_count_by_their_releases() {
    let (one, three) = (kind("1"), kind("3"));
    let (a, b) = (
        expected(one, &[0.8, 0.2, 0.0, 0.0], 30_000.0),
        expected(three, &[0.2, 0.2, 0.2, 0.4], 10_000.0),
    );
    let own = of(&[(one, &a), (three, &b)], 0.95).unwrap();
    for (found, truth) in own.unbiased.iter().zip([0.65, 0.2, 0.05, 0.1]) {
        assert!((found - truth).abs() < 1e-3, "{found} {truth}");
    }
    let alone = of(&[(one, &a)], 0.95).unwrap();
    assert_eq!(
        Some(alone),
        shares(one, &a, 3, Confidence::default()).unwrap()
    );
    for share in own.shares {
        assert!(share.low <= share.share && share.share <= share.high);
        assert!(share.high - share.low < 0.05, "{share:?}");
    }
}

/// With a tiny ε one release would move a share by millions.
#[test]
fn a_forged_kind_moves_its_part_and_no_more() {
    let one = kind("1");
    let honest = expected(one, &[0.5, 0.3, 0.2, 0.0], 10_000.0);
    let forged = BTreeMap::from([(3, 1)]);
    let before = of(&[(one, &honest)], 0.95).unwrap();
    let after = of(&[(one, &honest), (kind("0.000001"), &forged)], 0.95).unwrap();
    assert_eq!(after.releases, before.releases + 1);
    for (before, after) in before.shares.iter().zip(&after.shares) {
        assert!((before.share - after.share).abs() < 1e-9);
        assert!((before.high - after.high).abs() < 2e-3 && (before.low - after.low).abs() < 2e-3);
    }
    // `moved` is the effect of one forged release.
    let mut more = honest.clone();
    *more.get_mut(&3).unwrap() += 1;
    let more = of(&[(one, &more)], 0.95).unwrap();
    let moved = more.unbiased[3] - before.unbiased[3];
    assert!(
        moved > 0.0 && moved <= before.moved,
        "{moved} {}",
        before.moved
    );
}

#[test]
fn one_device_says_nothing_and_none_is_refused() {
    let one = kind("1");
    let own = of(&[(one, &BTreeMap::from([(2, 1)]))], 0.95).unwrap();
    for share in own.shares {
        assert_eq!((share.low, share.high), (0.0, 1.0));
    }
    for (outcomes, level, problem) in [
        (BTreeMap::new(), 0.95, "there are no releases"),
        (BTreeMap::from([(4, 1)]), 0.95, "outcome 4 of"),
        (BTreeMap::from([(2, 1)]), 1.0, "the level 1 does not lie"),
        (BTreeMap::from([(2, 1)]), f64::NAN, "the level NaN"),
    ] {
        let error = of(&[(one, &outcomes)], level).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let sentence = Kind::from_fields(*b"packpack", 2, 1, one.epsilon(), 0).unwrap();
    let outcomes = BTreeMap::from([(0, 1)]);
    assert_eq!(
        pooled(&[(sentence, &outcomes)], 3, Confidence::default()).unwrap(),
        None
    );
}

/// Releases of a drawn sentence have the law of the whole text at ln(1 + k·(e^ε − 1)), and are
/// about other texts than those that a whole text is about.
#[test]
fn drawn_sentences_have_the_loss_that_their_places_give() {
    let drawn = |epsilon: &str, places: u16| {
        Kind::from_fields(*b"packpack", 9, 2, epsilon.parse().unwrap(), places).unwrap()
    };
    for (epsilon, places) in [("1", 1), ("1", 3), ("3", 3), ("3", 5), ("0.1", 100)] {
        let kind = drawn(epsilon, places);
        let (likely, unlikely) = Channel::new(kind, 3).unwrap().unwrap().of_outcome();
        let grown = epsilon.parse::<f64>().unwrap().exp_m1();
        let promised = (f64::from(places) * grown).ln_1p();
        let loss = (likely / unlikely).ln();
        assert!((loss - promised).abs() < 1e-9, "{epsilon} {places}: {loss}");
        let sentences = Population::Sentences(places.try_into().unwrap());
        assert_eq!(Population::of(kind), Some(sentences));
        let outcomes = expected(kind, &[0.5, 0.3, 0.0, 0.2], 1e6);
        let own = shares(kind, &outcomes, 3, Confidence::default()).unwrap();
        let own = own.expect("drawn sentences have a channel");
        assert!(own.possible);
        for (found, truth) in own.unbiased.iter().zip([0.5, 0.3, 0.0, 0.2]) {
            assert!((found - truth).abs() < 1e-3, "{found} {truth}");
        }
    }
    assert_eq!(Population::of(kind("1")), Some(Population::Texts));
    let scores = Kind::from_fields(*b"packpack", 2, 1, kind("1").epsilon(), 0).unwrap();
    assert_eq!(Population::of(scores), None);
}

#[test]
fn differences_turn_with_their_order() {
    let one = kind("1");
    let [a, b] = [[0.7, 0.3, 0.0, 0.0], [0.4, 0.3, 0.3, 0.0]]
        .map(|shares| of(&[(one, &expected(one, &shares, 20_000.0))], 0.95).unwrap());
    let (there, back) = (difference(&a, &b).unwrap(), difference(&b, &a).unwrap());
    for (there, back) in there.iter().zip(&back) {
        assert!((there.share + back.share).abs() < 1e-12);
        assert!((there.low + back.high).abs() < 1e-12, "{there:?} {back:?}");
    }
    assert!(there[0].high < 0.0 && there[2].low > 0.0);
    assert!(there[1].low < 0.0 && there[1].high > 0.0);
    // Wider than either, and narrower than both together.
    let width = |share: &Share| share.high - share.low;
    assert!(width(&there[0]) > width(&a.shares[0]));
    assert!(width(&there[0]) < width(&a.shares[0]) + width(&b.shares[0]));
}

#[test]
fn tables_share_what_may_be_missed() {
    let each = Confidence::default();
    assert_eq!(each.among(5), each);
    let all = Confidence {
        at_once: true,
        ..each
    };
    assert!((all.among(5).level - 0.99).abs() < 1e-12);
}

/// No texts make an answer rarer than chance alone.
#[test]
fn what_no_texts_make_is_said() {
    let one = kind("1");
    let honest = expected(one, &[1.0, 0.0, 0.0, 0.0], 10_000.0);
    assert!(of(&[(one, &honest)], 0.95).unwrap().possible);
    let forged = BTreeMap::from([(0, 5_000), (1, 5_000), (2, 1_000)]);
    assert!(!of(&[(one, &forged)], 0.95).unwrap().possible);
    let forged = BTreeMap::from([(0, 10_000)]);
    assert!(!of(&[(one, &forged)], 0.95).unwrap().possible);
}

/// Devices of the two kinds have different texts, so no kind alone determines the shares of all.
#[test]
fn intervals_of_several_kinds_cover() {
    let kinds = [
        ("1", 900, [0.1, 0.2, 0.7, 0.0]),
        ("3", 300, [0.6, 0.3, 0.05, 0.05]),
    ];
    let truth: Vec<f64> = (0..4)
        .map(|answer| (900.0 * kinds[0].2[answer] + 300.0 * kinds[1].2[answer]) / 1200.0)
        .collect();
    let mut chance = Chance(PublicRng::new(17), PublicRng::new(18));
    let (mut covered, mut of_difference, populations) = (0, 0, 400);
    for _ in 0..populations {
        let mut samples = Vec::new();
        for (epsilon, releases, shares) in kinds {
            let kind = kind(epsilon);
            let channel = Channel::new(kind, 3).unwrap().unwrap();
            let mut outcomes = BTreeMap::new();
            // The texts are fixed: only releases are drawn.
            for (answer, share) in (0..).zip(shares) {
                for _ in 0..(share * f64::from(releases)).round() as u32 {
                    chance.release(&channel, answer, &mut outcomes);
                }
            }
            samples.push((kind, outcomes));
        }
        let both: Vec<_> = samples.iter().map(|(kind, own)| (*kind, own)).collect();
        let own = of(&both, 0.95).unwrap();
        assert!(own.possible);
        for (share, truth) in own.shares.iter().zip(&truth) {
            covered += usize::from(holds(share, *truth));
        }
        let [a, b] = [&both[..1], &both[1..]].map(|own| of(own, 0.95).unwrap());
        for (answer, share) in difference(&a, &b).unwrap().iter().enumerate() {
            let truth = kinds[1].2[answer] - kinds[0].2[answer];
            of_difference += usize::from(holds(share, truth));
        }
    }
    let all = 4 * populations;
    assert!(covered * 100 >= all * 95, "{covered} of {all}");
    assert!(of_difference * 100 >= all * 95, "{of_difference} of {all}");
}

/// Texts of an uninformative kind may be all of a share in one set, and none in the other.
#[test]
fn differences_allow_for_what_is_unknown() {
    let (good, bad) = (kind("5"), kind("0.05"));
    let half = expected(good, &[0.5, 0.5, 0.0, 0.0], 15_000.0);
    // So few releases that they are off by more than half of everything.
    let one = expected(bad, &[1.0, 0.0, 0.0, 0.0], 1000.0);
    let other = expected(bad, &[0.0, 1.0, 0.0, 0.0], 1000.0);
    let part = 1000.0 / 16_000.0;
    let [a, b] = [one, other].map(|own| of(&[(good, &half), (bad, &own)], 0.95).unwrap());
    let found = difference(&a, &b).unwrap();
    for (answer, truth) in [-part, part, 0.0, 0.0].into_iter().enumerate() {
        assert!(holds(&found[answer], truth), "{truth}: {found:?}");
    }
    // The opposite difference is the same with opposite sign.
    for (there, back) in found.iter().zip(difference(&b, &a).unwrap()) {
        assert!((there.low + back.high).abs() < 1e-12 && (there.high + back.low).abs() < 1e-12);
    }
}

/// Kinds of equally many releases: if none is larger than another, none becomes informative.
#[test]
fn a_forged_kind_spoils_nothing_among_equals() {
    let kinds: Vec<Kind> = (0..200).map(|i| kind(&format!("6.{i:03}"))).collect();
    let own = BTreeMap::from([(0, 1)]);
    let mut samples: Vec<_> = kinds.iter().map(|kind| (*kind, &own)).collect();
    let before = of(&samples, 0.95).unwrap();
    let forged = BTreeMap::from([(3, 1)]);
    samples.push((kind("0.000001"), &forged));
    let after = of(&samples, 0.95).unwrap();
    assert!(after.moved < 2.0 * before.moved, "{}", after.moved);
    assert!(after.shares[0].low > 0.9, "{:?}", after.shares[0]);
    // If all kinds are uninformative, one still counts, so that there is an estimate.
    let few: Vec<_> = ["0.1", "0.2"].map(|epsilon| (kind(epsilon), &own)).into();
    let own = of(&few, 0.95).unwrap();
    for share in own.shares {
        assert_eq!((share.low, share.high), (0.0, 1.0));
    }
}

/// Many kinds with few releases each, as if every device had its own ε: each kind's votes are far
/// from symmetric.
#[test]
fn intervals_of_many_small_kinds_cover() {
    let mut chance = Chance(PublicRng::new(19), PublicRng::new(20));
    let shares = [0.95, 0.05, 0.0, 0.0];
    for (first, count, releases) in [(4.0, 200, 3), (3.0, 100, 1), (3.0, 100, 10)] {
        let kinds: Vec<(Kind, Channel)> = (0..count)
            .map(|i| {
                let kind = kind(&format!("{:.3}", first + f64::from(i) / 200.0));
                (kind, Channel::new(kind, 3).unwrap().unwrap())
            })
            .collect();
        let (mut missed, populations) = ([0; 4], 400);
        for _ in 0..populations {
            let mut samples = Vec::new();
            let mut text = 0.0;
            for (kind, channel) in &kinds {
                let mut outcomes = BTreeMap::new();
                for _ in 0..releases {
                    // Every twentieth text is of the second answer.
                    text += shares[1];
                    let answer = u32::from(text >= 1.0);
                    text -= f64::from(answer);
                    chance.release(channel, answer, &mut outcomes);
                }
                samples.push((*kind, outcomes));
            }
            let samples: Vec<_> = samples.iter().map(|(kind, own)| (*kind, own)).collect();
            let own = of(&samples, 0.95).unwrap();
            for (answer, own) in own.shares.iter().enumerate() {
                missed[answer] += usize::from(!holds(own, shares[answer]));
            }
        }
        println!("{count} kinds of {releases}: missed {missed:?} of {populations}");
        for missed in missed {
            assert!(missed * 20 <= populations, "{missed} of {populations}");
        }
    }
}
