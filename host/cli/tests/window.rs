//! `undertone plan window` and `plan statement`, and the three numbers of `plan budget` and
//! `inspect`, as a user runs them.
//!
//! Chance: false alarm none, miss none. Everything is computed.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use undertone_estimate::counts::Kind;
use undertone_estimate::statement::Terms;

use crate::common::{Folder, PACKS, contains, json, near};

fn pack() -> String {
    format!("{PACKS}/assistant.en.pack")
}

fn candidates() -> String {
    format!("{PACKS}/assistant.en.candidates.safetensors")
}

#[test]
fn a_year_is_planned_backwards_and_forwards() {
    let folder = Folder::new();
    let candidates = candidates();
    let common = format!("plan window --candidates {candidates} --devices 1000000 --lines 100");
    let run = |more: &str| folder.succeed(format!("{common} {more}"));
    let back = json(run("--json"));
    let best = &back["schedules"][0];
    assert_eq!(best["appointments"], 1);
    assert_eq!(best["first_answer_after"], 1);
    let numbers = ["person", "line", "reader_of_counts"];
    let [person, line, reader] = numbers.map(|name| best[name].as_f64().unwrap());
    assert!(line < person / 10.0 && reader < person / 4.0, "{best}");

    let page = run("--epsilon 3 --within 0.002");
    let numbers = ["a person  ", "a line  ", "a reader of counts  "];
    let places = numbers.map(|part| page.find(part).expect(part));
    assert!(places.is_sorted(), "{page}");
    assert!(page.contains("0.175, for one of 100 lines"), "{page}");

    let few = "plan window --devices 100 --candidates";
    folder.refuse(format!("{few} {candidates}"), &["no epsilon up to 33"]);
    folder.refuse(format!("{common} --slots 0"), &["1..=10000"]);
}

#[test]
fn the_budget_of_a_year_starts_with_three_numbers() {
    let folder = Folder::new();
    let pack = pack();
    let common =
        format!("plan budget --daily whole-text:3 --days 365 --pack {pack} --devices 1000000");
    let run = |more: &str| folder.succeed(format!("{common} {more}"));
    let of = |more: &str| -> Value {
        let all = json(run(&format!("{more} --json")));
        all["windows"][0].clone()
    };
    let daily = of("");
    assert_eq!([&daily["person"], &daily["line"]], [1095.0, 3.0]);
    near(&daily["reader_of_counts"], 0.5, 0.1);
    let page = run("");
    let parts = ["names it in 97.5 % of cases", "in more than 95.3 %"];
    contains(&page, &parts);

    let once = of("--appointments 1 --lines 30");
    assert_eq!(once["person"], 3.0);
    near(&once["line"], 0.49, 0.01);
    // About 2,740 devices release each day.
    near(&once["reader_of_counts"], 0.5, 0.2);

    // By the sentence nothing bounds a person, and no number is invented.
    let sentence = json(folder.succeed("plan budget --json --daily exponential:3"));
    assert_eq!(sentence["windows"], json!([]));
}

#[test]
fn a_pack_states_a_year() {
    let page = Folder::new().succeed(format!("inspect {}", pack()));
    let parts = [
        "a year      one release at epsilon 1",
        "a person            1, ",
        "a line              0.0171, ",
    ];
    contains(&page, &parts);
}

/// Runs the checks of the registry itself, from the clone of `opendp/deployments-registry-data` at
/// `UNDERTONE_REGISTRY`. They need Python with PyYAML, jsonschema and requests.
fn fits_the_registry(entry: &Path) {
    let Some(clone) = env::var_os("UNDERTONE_REGISTRY") else {
        println!("NOT CHECKED: the registry's own checks; UNDERTONE_REGISTRY names no clone of it");
        return;
    };
    let before = fs::read(entry).unwrap();
    for (script, arguments) in [
        ("check.py", &["--skip", "check_urls", "--yaml_paths"][..]),
        // Writes the slug that it expects.
        ("update_slug.py", &[]),
    ] {
        let output = Command::new("python3")
            .arg(Path::new(&clone).join("scripts").join(script))
            .args(arguments)
            .arg(entry)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
    }
    assert_eq!(fs::read(entry).unwrap(), before);
}

#[test]
fn a_statement_has_four_files() {
    let folder = Folder::new();
    let pack = pack();
    let common = format!(
        "plan statement --pack {pack} --epsilon 3 --lines 100 --devices 1000000 --name Requests \
         --curator Example --out statement --from"
    );
    assert_eq!(folder.succeed(format!("{common} 2027-01-31")), "");
    let read = |name: &str| folder.text(format!("statement/{name}"));
    for (file, part) in [
        ("users.html", "0.175 (one of 100 lines of a slot)"),
        ("review.md", "A person"),
        ("terms.json", "\"places\": 100"),
        ("registry.yaml", "\n      epsilon: 3\n"),
        ("registry.yaml", "publication_date: \"2027-01-31\""),
    ] {
        contains(&read(file), &[part]);
    }
    fits_the_registry(&folder.join("statement/registry.yaml"));
    for wrong in [
        "1/1/2027",
        "2027-13-01",
        "2027-01-32",
        "27-01-01",
        "2027-1-01",
    ] {
        folder.refuse(format!("{common} {wrong}"), &["YYYY-MM-DD"]);
    }
}

/// The audit reads what the statement writes, and finds a larger ε and a second release of a slot.
#[test]
fn devices_are_compared_with_the_statement() {
    let folder = Folder::new();
    let pack = pack();
    let statement = format!(
        "plan statement --pack {pack} --epsilon 3 --appointments 2 --devices 1000 --name Requests \
         --curator Example --from 2027-01-31 --out statement"
    );
    folder.succeed(&statement);
    let terms = folder.text("statement/terms.json");
    let id = hex::decode(Terms::parse(&terms).unwrap().pack).unwrap();
    let line = |slot: u64, epsilon: &str| {
        let epsilon = epsilon.parse().unwrap();
        let kind = Kind::from_fields(id[..].try_into().unwrap(), 7, 2, epsilon, 0).unwrap();
        let release = hex::encode(kind.to_bytes(0));
        json!({ "device": "a", "slot": slot, "line": null, "release": release }).to_string()
    };
    let arguments =
        format!("audit {pack} --statement statement/terms.json --observed observed.jsonl");
    for (lines, status, parts) in [
        ([line(3, "3"), line(9, "3"), line(60, "2.9")], 0, &[][..]),
        (
            [line(3, "3"), line(9, "3.1"), line(60, "3")],
            3,
            &["largest epsilon"],
        ),
        (
            [line(3, "3"), line(3, "3"), line(60, "3")],
            3,
            &["in a slot"],
        ),
    ] {
        folder.write("observed.jsonl", lines.join("\n"));
        let output = folder.run(&arguments);
        assert_eq!(output.status.code(), Some(status));
        let text = str::from_utf8(&output.stdout).unwrap();
        let failed = text.lines().filter(|line| line.starts_with("FAILED"));
        assert_eq!(failed.clone().count(), parts.len(), "{text}");
        failed
            .zip(parts)
            .for_each(|(line, part)| contains(line, &[part]));
    }
    folder.write("observed.jsonl", "{}");
    folder.refuse(&arguments, &["line 1 of --observed", "missing field"]);
}
