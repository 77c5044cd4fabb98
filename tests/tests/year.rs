//! Years of a fleet through the C library: `tests/c/year.c` plays the devices, and this file is the
//! server and the attacker.
//!
//! Chance: false alarm none, miss none. The devices draw from a fixed generator.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_estimate::counts::Kind;
use undertone_estimate::plan::Forecast;
use undertone_estimate::shares::{Confidence, shares};
use undertone_tests::golden::from_hex;
use undertone_tests::packs::features_pack;

use crate::c_consumer::compile;
use crate::common::{have, output_dir, run, static_library};

/// The settings of `year.c`.
const WEEKS: usize = 52;
const YEARS: usize = 3;
const PLACES: usize = 5;

const DEVICES: usize = 5000;

const TOPICS: [&str; 12] = [
    "dentist", "football", "rent", "garden", "train", "soup", "guitar", "snow", "tax", "school",
    "movie", "holiday",
];

/// A fleet whose pack knows some topics by one word each.
struct Fleet {
    pack: PathBuf,
    program: PathBuf,
    topics: usize,
}

impl Fleet {
    fn new(test: &str, topics: usize) -> Self {
        let names: Vec<Vec<&str>> = TOPICS[..topics].iter().map(|own| vec![*own]).collect();
        let words: Vec<&[&str]> = names.iter().map(Vec::as_slice).collect();
        let bytes = features_pack(&words, true);
        Pack::parse(&bytes).expect("a well-formed pack");
        let pack = output_dir().join(format!("year-{test}.pack"));
        fs::write(&pack, bytes).expect("the target folder can be written");
        let name = format!("year-{test}");
        let program = compile("gcc", &name, "year.c", static_library(), ["-O2"]);
        Self {
            pack,
            program,
            topics,
        }
    }

    /// Plays the years of devices that type at least `least` of these lines in their week. Returns
    /// each release with its week.
    fn play(&self, devices: usize, least: usize, lines: &[&str]) -> Vec<(usize, Release)> {
        let mut command = Command::new(&self.program);
        command.args([&self.pack, &self.pack]);
        command.args([devices.to_string(), least.to_string()]);
        let output = run(command.args(lines));
        let text = String::from_utf8(output.stdout).expect("hexadecimal numbers");
        let releases = text.lines().map(|line| {
            let (week, bytes) = line.split_once(' ').expect("a week and a release");
            let release = Release::from_bytes(&from_hex(bytes)).expect("a release");
            (week.parse().expect("a number"), release)
        });
        releases.collect()
    }

    /// The share of each outcome among the lines that reservoirs keep in a week, if devices type up
    /// to 11 lines and lose one in four. The last outcome is "nothing known".
    fn truth(&self, week: usize) -> Vec<f64> {
        // The mean of min(m, k)/k over the number m of lines.
        let mut filled = 0.0;
        for typed in 0..12 {
            let mut chance = 0.25f64.powi(typed) / 12.0;
            for left in 0..=typed {
                filled += chance * (left as f64 / PLACES as f64).min(1.0);
                chance *= f64::from(typed - left) / f64::from(left + 1) * 3.0;
            }
        }
        let season = week % WEEKS * self.topics / WEEKS;
        let mut shares = vec![filled * 0.5 / self.topics as f64; self.topics];
        shares[season] += filled * 0.5;
        shares.push(1.0 - filled);
        shares
    }
}

/// The number of releases of each outcome.
fn counted<'r>(releases: impl Iterator<Item = &'r Release>) -> BTreeMap<u32, u64> {
    let mut outcomes = BTreeMap::new();
    for release in releases {
        *outcomes.entry(release.number()).or_insert(0) += 1;
    }
    outcomes
}

/// Each device releases once a year (`year.c` checks it). Intervals of weeks and of years cover
/// 95 %, and the errors are those of a plan.
#[test]
fn a_fleet_is_counted_for_three_years() {
    if !have("gcc", "gcc") {
        return;
    }
    let fleet = Fleet::new("fleet", TOPICS.len());
    let releases = fleet.play(DEVICES, 0, &TOPICS);
    assert_eq!(releases.len(), DEVICES * YEARS);
    let (kind, _) = Kind::of(&releases[0].1);
    assert!(releases.iter().all(|(_, own)| Kind::of(own).0 == kind));
    let candidates = TOPICS.len() as u32;
    let estimated = |outcomes| {
        let own = shares(kind, &outcomes, candidates, Confidence::default());
        own.expect("valid counts").expect("whole texts")
    };
    // Covered intervals of all, for weeks and for years.
    let mut tallies = [[0usize; 2]; 2];
    let mut squares = Vec::new();
    for year in 0..YEARS {
        let mut of_year = vec![0.0; TOPICS.len() + 1];
        for week in year * WEEKS..(year + 1) * WEEKS {
            let own = releases.iter().filter(|(own, _)| *own == week);
            let outcomes = counted(own.map(|(_, release)| release));
            let count: u64 = outcomes.values().sum();
            let truth = fleet.truth(week);
            for (sum, share) in of_year.iter_mut().zip(&truth) {
                *sum += count as f64 * share / DEVICES as f64;
            }
            let found = estimated(outcomes);
            let plan = Forecast::of_candidates(kind, candidates, &truth).expect("valid shares");
            let plan = plan.expect("whole texts").errors(count as f64);
            let plan = plan.expect("there are releases");
            for (answer, truth) in truth.iter().enumerate() {
                let share = found.shares[answer];
                tallies[0][0] += usize::from((share.low..=share.high).contains(truth));
                tallies[0][1] += 1;
                squares.push(((found.unbiased[answer] - truth) / plan[answer]).powi(2));
            }
        }
        let own = releases.iter().filter(|(own, _)| own / WEEKS == year);
        let found = estimated(counted(own.map(|(_, release)| release)));
        for (share, truth) in found.shares.iter().zip(&of_year) {
            tallies[1][0] += usize::from((share.low..=share.high).contains(truth));
            tallies[1][1] += 1;
        }
    }
    let error = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    println!("intervals that cover: {tallies:?} of weeks and years; error over plan: {error:.3}");
    for [covered, all] in tallies {
        assert!(covered * 100 >= all * 95, "{covered} of {all} intervals");
    }
    assert!((0.9..=1.1).contains(&error), "{error} times the plan");
}

/// With the same random numbers, the slots of releases are the same for two years of text. They are
/// not if a device chooses by its text when a late release is made.
#[test]
fn a_late_slot_chosen_by_text_is_found() {
    if !have("gcc", "gcc") {
        return;
    }
    let mut fleet = Fleet::new("slot", 1);
    let statistic = |fleet: &Fleet| {
        let counts = [TOPICS[0], "qqqq"].map(|line| {
            let mut counts = [0.0f64; WEEKS];
            for (week, _) in fleet.play(DEVICES / 5, 1, &[line]) {
                counts[week % WEEKS] += 1.0;
            }
            counts
        });
        let [one, other] = &counts;
        let cells = one.iter().zip(other);
        cells.map(|(a, b)| (a - b).powi(2) / (a + b)).sum::<f64>()
    };
    let honest = statistic(&fleet);
    let flags = ["-O2", "-DLATE_BY_TEXT"];
    fleet.program = compile("gcc", "year-late", "year.c", static_library(), flags);
    let planted = statistic(&fleet);
    println!("the slots of two years of text differ by χ² = {planted:.0} if they depend on it");
    assert_eq!(honest, 0.0);
    assert!(planted > 300.0, "{planted}");
}

/// An attacker guesses which of two years a device typed. The years are as different as can be: all
/// lines are about the only topic of the pack, or none is. No guess is right more often than
/// e^ε/(1 + e^ε), and this one comes near.
#[test]
fn an_attacker_between_two_years_is_right_as_often_as_epsilon_allows() {
    if !have("gcc", "gcc") {
        return;
    }
    let fleet = Fleet::new("attacker", 1);
    let [about_topic, other] = [TOPICS[0], "qqqq"].map(|line| fleet.play(DEVICES, 40, &[line]));
    let named = |own: &(usize, Release)| own.1.number() == 0;
    let right = about_topic.iter().filter(|own| named(own)).count()
        + other.iter().filter(|own| !named(own)).count();
    let all = about_topic.len() + other.len();
    assert_eq!(all, 2 * DEVICES * YEARS);
    let right = right as f64 / all as f64;
    let bound = 1.0 / (1.0 + (-3f64).exp());
    // Seven standard errors of chance.
    let chance = 7.0 * (bound * (1.0 - bound) / all as f64).sqrt();
    println!("the attacker is right in {right:.4} of cases, and may be in {bound:.4}");
    assert!(right <= bound + chance, "{right} > {bound}");
    assert!(right >= bound - 0.02, "{right} < {bound} - 0.02");
}
