//! `undertone release lines`, as a user runs it.
//!
//! Chance: false alarm none, miss none. Only slots, promises and messages are compared.

use std::num::NonZero;

use undertone::release::ledger::contents;
use undertone::release::window::Window;
use undertone_core::epsilon::Micro;

use crate::common::{Folder, PACKS, contains};

/// The first day of a window of 52 weeks, and that day in days since 1970.
const START: (&str, u64) = ("2023-10-26", 54 * 364);

fn options(ledger: &str, out: &str) -> String {
    let lines = format!(
        "release lines --pack {PACKS}/assistant.en.pack --epsilon 3 --lines 20 --in diary.jsonl"
    );
    format!("{lines} --ledger {ledger} --out {out}")
}

/// One line for each of these days after the start.
fn diary(folder: &Folder, days: impl Iterator<Item = u64>) {
    let start: chrono::NaiveDate = START.0.parse().unwrap();
    let line = |day| {
        let date = start + chrono::Days::new(day);
        format!("{{\"date\":\"{date}T08:00\",\"text\":\"book a flight to Paris\"}}\n")
    };
    let lines: String = days.map(line).collect();
    folder.write("diary.jsonl", lines);
}

/// The days of the releases, after the start.
fn released(folder: &Folder, out: &str) -> Vec<u64> {
    let start: chrono::NaiveDate = START.0.parse().unwrap();
    let day = |line: serde_json::Value| {
        assert_eq!(line["release"].as_str().unwrap().len(), 48);
        let date: chrono::NaiveDate = line["date"].as_str().unwrap().parse().unwrap();
        (date - start).num_days() as u64
    };
    folder.values(out).into_iter().map(day).collect()
}

#[test]
fn each_window_has_its_appointments_and_no_more() {
    for count in [1, 3] {
        let folder = Folder::new();
        // Three windows. The order of lines does not matter.
        diary(&folder, (0..3 * 364).rev());
        let run = |out| {
            let options = options("a.ledger", out);
            folder.succeed(format!("{options} --appointments {count}"))
        };
        run("first.jsonl");
        let ledger = contents(folder.join("a.ledger")).unwrap();
        let expected = (0..3).flat_map(|window| {
            let slots = NonZero::new(52).unwrap();
            let slots = ledger
                .appointment(START.1 / 364 + window, slots, count)
                .slots();
            slots.map(move |slot| window * 364 + u64::from(slot) * 7)
        });
        assert!(expected.eq(released(&folder, "first.jsonl")));
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
    let folder = Folder::new();
    folder.write(
        "diary.jsonl",
        "{\"date\":\"9999-12-31\",\"text\":\"later\"}\n",
    );
    let notes = folder.notes(options("a.ledger", "out.jsonl"));
    let line = Window::new(52, 1, 20).unwrap().line(Micro(3_000_000));
    let promised = format!("promised: 3 for everything of 52 slots, {line} for one line");
    contains(&notes, &[&promised, "left for a later run"]);
    assert!(released(&folder, "out.jsonl").is_empty());
}

#[test]
fn nothing_is_spent_where_a_line_has_no_day_or_releases_would_be_lost() {
    let folder = Folder::new();
    for (value, part) in [
        ("", "no field \"date\""),
        (",\"date\":\"31.12.2024\"", "YYYY-MM-DD"),
        (",\"date\":\"1969-12-31\"", "YYYY-MM-DD"),
        (",\"date\":20241231", "YYYY-MM-DD"),
    ] {
        let first = "{\"text\":\"one\",\"date\":\"2024-01-01\"}\n";
        folder.write(
            "diary.jsonl",
            format!("{first}{{\"text\":\"secret\"{value}}}\n"),
        );
        folder.refuse(options("a.ledger", "out.jsonl"), &[part]);
    }
    folder.write("diary.csv", "text,Date\none,2024-01-01\n");
    let table = options("a.ledger", "out.jsonl").replace("diary.jsonl", "diary.csv");
    let part = "--date-field date: there is no such column or field; there are text, Date";
    folder.refuse(table, &[part]);
    diary(&folder, 0..1);
    folder.write("out.jsonl", "earlier");
    folder.refuse(options("a.ledger", "out.jsonl"), &["it exists"]);
    assert_eq!(folder.text("out.jsonl"), "earlier");
}
