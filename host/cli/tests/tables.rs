//! Parquet and CSV as input and output give the same as JSON lines.
//!
//! Chance: false alarm 10⁻¹¹, miss none. 360 releases at ε = 1000 must name the best candidate;
//! each of the three other outcomes has a relative weight of 2⁻⁴⁸. Of other releases only the form
//! and the number are checked.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::common::{
    self, contains, interrupt, names, partial, refuse, refuse_all, succeed, undertone, within_a_day,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;
use undertone_tables::{Kind, Table};

const FORMS: [&str; 4] = ["jsonl", "parquet", "csv", "csv.gz"];

/// Fields of the inputs. A name with dots is a column with that name, or a path into JSON objects.
const FIELDS: &str = "--text-field body.text --label-field meta.topic --id-field user.id";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Writes lines of JSON as a table in the same folder; its ending decides the form.
fn make(folder: &Path, lines: &str, name: &str, kinds: &[(&'static str, Kind)]) {
    let path = folder.join(name);
    let table = Table::of(&path, kinds).unwrap().expect("a table");
    let mut lines = File::open(folder.join(lines)).unwrap();
    table.settled(&mut lines, &path).unwrap().commit().unwrap();
}

/// A document twice: a JSON line with nested objects, and one whose names have dots.
fn document(number: u64, topic: &str, text: &str) -> [String; 2] {
    let country = ["NP", "KE"][(number % 2) as usize];
    let nested = json!({
        "body": {"text": text}, "meta": {"topic": topic}, "user": {"id": format!("u{number}")}, "app": {"country": country},
    });
    let flat = json!({
        "body.text": text, "meta.topic": topic, "user.id": format!("u{number}"), "app.country": country,
    });
    [nested, flat].map(|line| format!("{line}\n"))
}

/// A corpus and private texts in all forms, and a pack.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let topics = [
        (
            "food",
            "The \"soup\" needs salt, and water.\nBoil the potatoes.",
        ),
        ("ball", "The goalkeeper dived. They scored twice."),
        ("sky", "The telescope shows Saturn. A comet passed."),
    ];
    let rows = (0..30).zip(topics.iter().cycle());
    let rows: Vec<_> = rows
        .map(|(n, (topic, text))| document(n, topic, text))
        .collect();
    let whole = |form: usize| {
        rows.iter()
            .map(|row| row[form].as_str())
            .collect::<String>()
    };
    fs::write(path.join("c.jsonl"), whole(0)).unwrap();
    fs::write(path.join("flat.jsonl"), whole(1)).unwrap();
    make(path, "flat.jsonl", "c.parquet", &[]);
    make(path, "flat.jsonl", "c.csv", &[]);
    fs::write(
        path.join("c.csv.gz"),
        gzip(&fs::read(path.join("c.csv")).unwrap()),
    )
    .unwrap();
    let pack = "pack --corpus c.jsonl --heads vectors --out t.pack";
    succeed(path, format!("{pack} {FIELDS}"));
    folder
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The lines of a table or of JSON lines.
fn rows(path: &Path) -> Vec<Value> {
    let mut lines = undertone_tables::releases(path).unwrap();
    let mut rows = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        rows.push(serde_json::from_str(line.text.unwrap()).unwrap());
    }
    rows
}

#[test]
fn every_command_reads_a_corpus_in_every_form() {
    let folder = prepared();
    let path = folder.path();
    let run = |line: &str| succeed(path, format!("{line} {FIELDS}"));
    let same = |what: &str, ending: &str| {
        let of = |form: &str| fs::read(path.join(format!("{form}.{ending}"))).unwrap();
        for form in &FORMS[1..] {
            assert!(of(form) == of(FORMS[0]), "{what} of {form} differs");
        }
    };
    for form in FORMS {
        run(&format!(
            "pack --corpus c.{form} --heads vectors --out {form}.pack"
        ));
        run(&format!(
            "encode --corpus c.{form} --out {form}.safetensors"
        ));
        run(&format!(
            "keywords --corpus c.{form} --words 9 --out {form}.txt"
        ));
        let measured = run(&format!("measure --pack t.pack --corpus c.{form}"));
        fs::write(path.join(format!("{form}.measured")), measured).unwrap();
    }
    same("pack", "pack");
    same("encode", "safetensors");
    same("keywords", "txt");
    same("measure", "measured");
    // `plan --question` reads every form.
    for form in FORMS {
        let plan = run(&format!(
            "plan --candidates t.candidates.safetensors --epsilon 1 --within 0.3 --question c.{form} --pack t.pack"
        ));
        fs::write(path.join(format!("{form}.plan")), plan).unwrap();
    }
    same("plan", "plan");
}

/// Releases of one text from each form, decoded into each form and counted: each result has the
/// same counts by kind and slice.
#[test]
fn releases_go_in_and_out_in_every_form() {
    let folder = prepared();
    let path = folder.path();
    let mut counted = Vec::new();
    for form in FORMS {
        for out in ["jsonl", "parquet", "csv"] {
            let name = format!("{form}.r.{out}");
            let line = format!(
                "privatize --pack t.pack --epsilon 1000 --rule whole-text --in c.{form} --keep app.country --out {name}"
            );
            succeed(path, format!("{line} {FIELDS}"));
            assert!(partial(path, &name).is_none(), "lines of {name} are left");
            let found = rows(&path.join(&name));
            assert_eq!(found.len(), 30);
            for (n, row) in found.iter().enumerate() {
                let expected = (&json!(format!("u{n}")), &json!(["NP", "KE"][n % 2]));
                assert_eq!((&row["id"], &row["app.country"]), expected, "{name}");
                assert_eq!(row["release"].as_str().unwrap().len(), 48, "{name}");
                assert_eq!(row.as_object().unwrap().len(), 3);
            }
            let all = ["jsonl", "parquet", "csv"];
            let decoded = if form == "csv" { &all[..] } else { &all[2..] };
            for decoded in decoded {
                let line = format!(
                    "decode --candidates t.candidates.safetensors --in {name} --out d.{decoded}"
                );
                succeed(path, &line);
                let own = rows(&path.join(format!("d.{decoded}")));
                let of = |field: &str| own.iter().map(|row| row[field].clone()).collect::<Vec<_>>();
                let topics = ["food", "ball", "sky"].iter().cycle().take(30);
                assert_eq!(
                    of("label"),
                    topics.map(|topic| json!(topic)).collect::<Vec<_>>()
                );
                assert_eq!(
                    of("release"),
                    found
                        .iter()
                        .map(|row| row["release"].clone())
                        .collect::<Vec<_>>()
                );
                let epsilon = match *decoded {
                    "jsonl" => json!(1000),
                    "parquet" => json!(1000.0),
                    _ => json!("1000"),
                };
                assert_eq!(of("epsilon"), vec![epsilon; 30]);
                for input in [&name, &format!("d.{decoded}")] {
                    let line = format!("count --in {input} --by app.country --out n.csv");
                    succeed(path, &line);
                    counted.push(fs::read_to_string(path.join("n.csv")).unwrap());
                }
            }
        }
    }
    assert_eq!(counted.len(), 2 * 3 * (3 + 3));
    assert_eq!(counted[0].lines().count(), 7);
    assert!(counted.iter().all(|own| *own == counted[0]), "{counted:?}");
    // `estimate` accepts outputs of `privatize` in several forms at once.
    let line = "estimate --candidates t.candidates.safetensors --by app.country --json e.json --in jsonl.r.csv jsonl.r.parquet csv.r.jsonl";
    succeed(path, line);
    let answer: Value = serde_json::from_slice(&fs::read(path.join("e.json")).unwrap()).unwrap();
    assert_eq!(answer["releases"], 90);
}

#[test]
fn bags_become_tables() {
    let folder = prepared();
    let path = folder.path();
    for (form, out) in FORMS.iter().zip(["parquet", "csv", "jsonl", "csv"]) {
        let line = format!(
            "obfuscate --pack t.pack --words 3 --epsilon 5 --limit 2 --in c.{form} --out b.{out}"
        );
        succeed(path, format!("{line} {FIELDS}"));
        for row in rows(&path.join(format!("b.{out}"))) {
            let words: Vec<String> = match &row["words"] {
                Value::String(text) => serde_json::from_str(text).unwrap(),
                list => serde_json::from_value(list.clone()).unwrap(),
            };
            assert_eq!((words.len(), out == "csv"), (3, row["words"].is_string()));
            assert!(row["release"].is_string() && row["id"].as_str().unwrap().starts_with('u'));
        }
    }
}

/// Bad rows are set aside in a file.
#[test]
fn bad_rows_of_releases_are_set_aside() {
    let folder = prepared();
    let path = folder.path();
    let line = "privatize --pack t.pack --epsilon 1 --in c.jsonl --limit 2 --out r.jsonl";
    succeed(path, format!("{line} {FIELDS}"));
    let good = fs::read_to_string(path.join("r.jsonl")).unwrap();
    let good: Vec<&str> = good.lines().collect();
    let bad = [
        "{\"id\":\"secret 1\",\"release\":null}",
        "{\"id\":\"secret 2\",\"release\":\"zz\"}",
        "{\"id\":\"secret 3\",\"release\":\"00\"}",
        "{\"id\":\"secret 4\"}",
    ];
    let all = [&[good[0]], &bad[..], &[good[1]]].concat().join("\n") + "\n";
    fs::write(path.join("all.jsonl"), all).unwrap();
    make(path, "all.jsonl", "all.parquet", &[]);
    make(path, "all.jsonl", "all.csv", &[]);
    let csv = fs::read_to_string(path.join("all.csv")).unwrap();
    // Line ends of Windows, a row without quotation marks, and bytes that are not UTF-8.
    let mut csv = csv.replace('\n', "\r\n").into_bytes();
    csv.splice(0..0, *b"\xef\xbb\xbf");
    csv.extend_from_slice(b"secret, 5,00\r\nsecret\xff,00\r\n");
    fs::write(path.join("all.csv"), csv).unwrap();
    for (form, rejects) in [("jsonl", 4), ("parquet", 4), ("csv", 6)] {
        let line = format!(
            "decode --candidates t.candidates.safetensors --in all.{form} --out d.parquet --rejected x.jsonl"
        );
        let said = common::notes(path, &line);
        contains(&said, &[&format!("{rejects} lines rejected")]);
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(rows(&path.join("d.parquet")).len(), 2);
        let rejected = fs::read(path.join("x.jsonl")).unwrap();
        let rejected = String::from_utf8_lossy(&rejected);
        assert_eq!(rejected.lines().count(), rejects, "{rejected}");
        assert!(
            rejected.lines().all(|line| line.contains("secret")),
            "{rejected}"
        );
        let line = format!("count --in all.{form} --out n.csv --rejected x.jsonl");
        let output = undertone(path, &line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && !said.contains("secret"),
            "{said}"
        );
        assert!(said.contains("counted 2 releases"), "{said}");
        let rejected = fs::read(path.join("x.jsonl")).unwrap();
        assert_eq!(String::from_utf8_lossy(&rejected).lines().count(), rejects);
    }
}

/// A table without a column `release` is an error, and so is a table that is cut off.
#[test]
fn releases_in_csv_are_named_and_whole() {
    let folder = prepared();
    let path = folder.path();
    let line = "privatize --pack t.pack --epsilon 1 --in c.jsonl --limit 2 --out r.csv";
    succeed(path, format!("{line} {FIELDS}"));
    let good = fs::read_to_string(path.join("r.csv")).unwrap();
    fs::write(path.join("cr.csv"), good.replace('\n', "\r")).unwrap();
    fs::write(path.join("h.csv"), "id,txt\n").unwrap();
    let decode = |name: &str| {
        format!("decode --candidates t.candidates.safetensors --in {name} --out d.jsonl")
    };
    refuse(
        path,
        decode("h.csv"),
        &["h.csv", "names no column `release`"],
    );
    refuse(
        path,
        decode("cr.csv"),
        &["cr.csv", "carriage return without a line feed"],
    );
    fs::write(path.join("cut.csv"), good + "\"secret\",\"00").unwrap();
    let count = "count --in cut.csv --out n.csv";
    for arguments in [&*decode("cut.csv"), count] {
        let arguments = format!("{arguments} --rejected x.jsonl");
        let output = undertone(path, &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && !said.contains("secret"),
            "{said}"
        );
        let part = "1: a quotation mark is not closed; is the file cut off?; the first ";
        assert!(said.contains(part) && said.contains(" 4"), "{said}");
        let rejected = fs::read_to_string(path.join("x.jsonl")).unwrap();
        assert_eq!(
            rejected,
            "{\"a quotation mark is not closed\":[\"secret\",\"00\"]}\n"
        );
    }
}

/// A bad row of private texts stops the run before any release. The message has the number of the
/// row but no text of it.
#[test]
fn bad_rows_of_private_texts_release_nothing() {
    let folder = prepared();
    let path = folder.path();
    let line = |text: &str| format!("{{\"id\":1,\"text\":{text}}}\n");
    for (text, part) in [
        ("null", "line 2: no field \"text\", or it is null"),
        ("7", "line 2: the field \"text\" is not a string"),
    ] {
        fs::write(path.join("p.jsonl"), line("7") + &line(text)).unwrap();
        // A null is a row without a text. In a column of numbers every row lacks a text.
        let first = if text == "null" { "\"secret\"" } else { "7" };
        fs::write(path.join("p.jsonl"), line(first) + &line(text)).unwrap();
        make(path, "p.jsonl", "p.parquet", &[]);
        let part = if text == "7" {
            part.replace("line 2", "line 1")
        } else {
            part.to_owned()
        };
        let arguments = "privatize --pack t.pack --epsilon 1 --in p.parquet --out r.parquet";
        refuse(path, arguments, &["p.parquet", &part]);
    }
    let whole = fs::read(path.join("c.parquet")).unwrap();
    fs::write(path.join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    for name in ["c.txt", "c.parquet.gz"] {
        fs::write(path.join(name), "x").unwrap();
    }
    fs::write(path.join("twice.csv"), "text,text\nsecret,secret\n").unwrap();
    fs::write(path.join("long.csv"), "text,id\nsecret,1,2\n").unwrap();
    fs::write(path.join("mac.csv"), "text,id\rsecret a,1\r").unwrap();
    fs::write(path.join("body.csv"), "id,txt\n").unwrap();
    fs::write(path.join("open.csv"), "text,id\nfine,1\n\"secret,2\n").unwrap();
    for (input, part) in [
        ("cut.parquet", "cannot read the table"),
        ("twice.csv", "column 2 has the name of one before it"),
        (
            "long.csv",
            "line 2: cannot read on: 3 fields, and the first",
        ),
        ("mac.csv", "a carriage return without a line feed"),
        ("body.csv", "names no column `text`"),
        ("open.csv", "line 3: cannot read on: a quotation mark"),
        ("none.csv", "cannot open"),
        ("c.txt", "unknown ending; known are .jsonl"),
        ("c.parquet.gz", "unknown ending"),
    ] {
        let arguments = format!("privatize --pack t.pack --epsilon 1 --in {input} --out r.csv");
        let said = refuse(path, &arguments, &[part]);
        assert!(!said.contains("secret"), "{said}");
    }
    // --keep refuses every path that contains the text, and the names of released fields. An output
    // may not be gzipped.
    refuse_all(
        path,
        &format!("privatize --pack t.pack --epsilon 1 --in c.jsonl {FIELDS}"),
        "--out r.csv --keep body => --keep
        --out r.csv --keep body.text => --keep
        --out r.csv --keep body.text.x => --keep
        --out r.csv --keep text => --keep
        --out r.csv --keep id => --keep
        --out r.csv --keep release => --keep
        --out r.csv.gz => r.csv.gz | .parquet, which is compressed",
    );
}

/// An interrupted run leaves JSON lines and resumes from them, whatever the form of the output. A
/// smaller --limit takes the first of them.
#[test]
fn a_table_is_gone_on_with() {
    within_a_day(|_| {
        let folder = prepared();
        let path = folder.path();
        for out in ["r.parquet", "r.csv"] {
            let arguments = format!(
                "privatize --pack t.pack --epsilon 1 --in c.csv --out {out} {FIELDS} \
                 --ledger l.{out} --budget 60"
            );
            let before = names(path).len();
            let left = interrupt(path, &arguments, out, 1000);
            assert!(left.lines().count() > 5);
            assert!(!path.join(out).exists());
            let agree = |count| {
                let found = rows(&path.join(out));
                assert_eq!(found.len(), count);
                for (line, row) in left.lines().zip(&found) {
                    assert_eq!(serde_json::from_str::<Value>(line).unwrap(), *row);
                }
            };
            for limit in [3, 0] {
                succeed(path, format!("{arguments} --limit {limit}"));
                agree(limit);
            }
            let notes = common::notes(path, &arguments);
            assert!(notes.contains("resuming:"), "{notes}");
            agree(30);
            assert_eq!(names(path).len(), before + 2);
        }
    });
}

/// After the budget is used up, the table has the releases so far, and the partial file remains for
/// the next day.
#[test]
fn a_budget_that_is_used_up_leaves_a_table_and_the_lines() {
    within_a_day(|_| {
        let folder = prepared();
        let path = folder.path();
        let line = "privatize --pack t.pack --epsilon 1 --ledger l --budget 12 --in c.parquet --out r.parquet";
        let line = format!("{line} {FIELDS}");
        for _ in 0..2 {
            let output = undertone(path, &line);
            assert_eq!(output.status.code(), Some(4));
            assert_eq!(rows(&path.join("r.parquet")).len(), 12);
            let waiting = partial(path, "r.parquet").expect("lines wait");
            assert_eq!(read(&waiting), rows(&path.join("r.parquet")));
        }
    });
}
