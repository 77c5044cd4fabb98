//! `undertone release lines`, as a user runs it.
//!
//! Chance: false alarm none, miss none. Only slots, promises and messages are compared.

use std::fs;
use std::num::NonZero;

use serde_json::Value;
use tempfile::TempDir;
use undertone::release::ledger::contents;
use undertone::release::window::Window;
use undertone_core::epsilon::Micro;

use crate::common::{contains, refuse, succeed, undertone};

const PACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packs/assistant.en.pack");

/// The first day of a window of 52 weeks, and that day in days since 1970.
const START: (&str, u64) = ("2023-10-26", 54 * 364);

fn options(ledger: &str, out: &str) -> String {
    let lines = format!("release lines --pack {PACK} --epsilon 3 --lines 20 --in diary.jsonl");
    format!("{lines} --ledger {ledger} --out {out}")
}

/// One line for each of these days after the start.
fn diary(folder: &TempDir, days: impl Iterator<Item = u64>) {
    let start: chrono::NaiveDate = START.0.parse().unwrap();
    let line = |day| {
        let date = start + chrono::Days::new(day);
        format!("{{\"date\":\"{date}T08:00\",\"text\":\"book a flight to Paris\"}}\n")
    };
    let lines: String = days.map(line).collect();
    fs::write(folder.path().join("diary.jsonl"), lines).unwrap();
}

/// The days of the releases, after the start.
fn released(folder: &TempDir, out: &str) -> Vec<u64> {
    let text = fs::read_to_string(folder.path().join(out)).unwrap();
    let start: chrono::NaiveDate = START.0.parse().unwrap();
    let day = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["release"].as_str().unwrap().len(), 48);
        let date: chrono::NaiveDate = line["date"].as_str().unwrap().parse().unwrap();
        (date - start).num_days() as u64
    };
    text.lines().map(day).collect()
}

#[test]
fn each_window_has_its_appointments_and_no_more() {
    for count in [1, 3] {
        let folder = TempDir::new().unwrap();
        // Three windows. The order of lines does not matter.
        diary(&folder, (0..3 * 364).rev());
        let run = |out| {
            let options = options("a.ledger", out);
            succeed(folder.path(), format!("{options} --appointments {count}"))
        };
        run("first.jsonl");
        let ledger = contents(folder.path().join("a.ledger")).unwrap();
        let expected = (0..3).flat_map(|window| {
            let slots = NonZero::new(52).unwrap();
            let slots = ledger
                .appointment(START.1 / 364 + window, slots, count)
                .slots();
            slots.map(move |slot| window * 364 + u64::from(slot) * 7)
        });
        assert_eq!(
            released(&folder, "first.jsonl"),
            expected.collect::<Vec<_>>()
        );
        // A grown diary: what was released is not released again.
        diary(&folder, 0..4 * 364);
        run("second.jsonl");
        let second = released(&folder, "second.jsonl");
        assert!(second.iter().all(|day| *day >= 3 * 364), "{second:?}");
        assert!(second.len() <= count.into());
    }
}

#[test]
fn promises_come_first_and_slots_must_be_over() {
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("diary.jsonl"),
        "{\"date\":\"9999-12-31\",\"text\":\"later\"}\n",
    )
    .unwrap();
    let output = undertone(folder.path(), options("a.ledger", "out.jsonl"));
    let notes = String::from_utf8(output.stderr).unwrap();
    let line = Window::new(52, 1, 20).unwrap().line(Micro(3_000_000));
    let promised = format!("promised: 3 for everything of 52 slots, {line} for one line");
    contains(&notes, &[&promised, "left for a later run"]);
    assert!(released(&folder, "out.jsonl").is_empty());
}

#[test]
fn nothing_is_spent_where_a_line_has_no_day_or_releases_would_be_lost() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (value, part) in [
        ("", "no field \"date\""),
        (",\"date\":\"31.12.2024\"", "YYYY-MM-DD"),
        (",\"date\":\"1969-12-31\"", "YYYY-MM-DD"),
        (",\"date\":20241231", "YYYY-MM-DD"),
    ] {
        let lines = format!(
            "{{\"text\":\"one\",\"date\":\"2024-01-01\"}}\n{{\"text\":\"secret\"{value}}}\n"
        );
        fs::write(at("diary.jsonl"), lines).unwrap();
        refuse(folder.path(), options("a.ledger", "out.jsonl"), &[part]);
    }
    fs::write(at("diary.csv"), "text,Date\none,2024-01-01\n").unwrap();
    let table = options("a.ledger", "out.jsonl").replace("diary.jsonl", "diary.csv");
    let part = "--date-field date: there is no such column or field; there are text, Date";
    refuse(folder.path(), table, &[part]);
    diary(&folder, 0..1);
    fs::write(at("out.jsonl"), "earlier").unwrap();
    refuse(
        folder.path(),
        options("a.ledger", "out.jsonl"),
        &["it exists"],
    );
    assert_eq!(fs::read(at("out.jsonl")).unwrap(), b"earlier");
}
