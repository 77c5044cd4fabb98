//! Parquet and CSV as input and output give the same as JSON lines.
//!
//! Chance: false alarm 10⁻¹¹, miss none. 360 releases at ε = 1000 must name the best candidate;
//! each of the three other outcomes has a relative weight of 2⁻⁴⁸. Of other releases only the form
//! and the number are checked.

use crate::common::{self, Folder, contains, gzip, json, within_a_day};
use serde_json::{Value, json};

const FORMS: [&str; 4] = ["jsonl", "parquet", "csv", "csv.gz"];

/// Fields of the inputs. A name with dots is a column with that name, or a path into JSON objects.
const FIELDS: &str = "--text-field body.text --label-field meta.topic --id-field user.id";

/// Releases the texts of the corpus, or those of another file.
const PRIVATIZE: &str = "privatize --pack t.pack --epsilon 1 --in";

const DECODE: &str = "decode --candidates t.candidates.safetensors --in";

/// A document twice: a JSON line with nested objects, and one whose names have dots.
fn document(number: u64, topic: &str, text: &str) -> [String; 2] {
    let country = ["NP", "KE"][(number % 2) as usize];
    let id = format!("u{number}");
    let nested = json!({
        "body": {"text": text}, "meta": {"topic": topic}, "user": {"id": id}, "app": {"country": country},
    });
    let flat = json!({
        "body.text": text, "meta.topic": topic, "user.id": id, "app.country": country,
    });
    [nested, flat].map(|line| format!("{line}\n"))
}

/// A corpus and private texts in all forms, and a pack.
fn prepared() -> Folder {
    let folder = Folder::new();
    let topics = [
        (
            "food",
            "The \"soup\" needs salt, and water.\nBoil the potatoes.",
        ),
        ("ball", "The goalkeeper dived. They scored twice."),
        ("sky", "The telescope shows Saturn. A comet passed."),
    ];
    let rows = (0..30).zip(topics.iter().cycle());
    let rows = rows.map(|(n, (topic, text))| document(n, topic, text));
    let rows: Vec<[String; 2]> = rows.collect();
    let whole = |form: usize| {
        rows.iter()
            .map(|row| row[form].as_str())
            .collect::<String>()
    };
    folder.write("c.jsonl", whole(0));
    folder.write("flat.jsonl", whole(1));
    folder.table("flat.jsonl", "c.parquet");
    folder.table("flat.jsonl", "c.csv");
    folder.write("c.csv.gz", gzip(folder.bytes("c.csv")));
    let pack = "pack --corpus c.jsonl --heads vectors --out t.pack";
    folder.succeed(format!("{pack} {FIELDS}"));
    folder
}

/// The lines of a table or of JSON lines.
fn rows(folder: &Folder, name: &str) -> Vec<Value> {
    let mut lines = undertone_tables::releases(&folder.join(name)).unwrap();
    let mut rows = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        rows.push(json(line.text.unwrap()));
    }
    rows
}

#[test]
fn every_command_reads_a_corpus_in_every_form() {
    let folder = prepared();
    let run = |line: &str| folder.succeed(format!("{line} {FIELDS}"));
    // `plan --question` reads every form.
    let plan = "plan --candidates t.candidates.safetensors --epsilon 1 --within 0.3 --pack t.pack";
    let results = FORMS.map(|form| {
        run(&format!(
            "pack --corpus c.{form} --heads vectors --out c.pack"
        ));
        run(&format!("encode --corpus c.{form} --out c.safetensors"));
        run(&format!("keywords --corpus c.{form} --words 9 --out c.txt"));
        [
            folder.bytes("c.pack"),
            folder.bytes("c.safetensors"),
            folder.bytes("c.txt"),
            run(&format!("measure --pack t.pack --corpus c.{form}")).into(),
            run(&format!("{plan} --question c.{form}")).into(),
        ]
    });
    for (own, form) in results.iter().zip(FORMS) {
        assert!(*own == results[0], "results of {form} differ");
    }
}

/// Releases of one text from each form, decoded into each form and counted: each result has the
/// same counts by kind and slice.
#[test]
fn releases_go_in_and_out_in_every_form() {
    let folder = prepared();
    let mut counted = Vec::new();
    for form in FORMS {
        for out in ["jsonl", "parquet", "csv"] {
            let name = format!("{form}.r.{out}");
            let privatize = PRIVATIZE.replace(" 1 ", " 1000 ");
            folder.succeed(format!(
                "{privatize} c.{form} --keep app.country --out {name} {FIELDS}"
            ));
            assert!(folder.partial(&name).is_none(), "lines of {name} are left");
            let found = rows(&folder, &name);
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
                folder.succeed(format!("{DECODE} {name} --out d.{decoded}"));
                let own = rows(&folder, &format!("d.{decoded}"));
                let of = |rows: &[Value], field: &str| -> Vec<Value> {
                    rows.iter().map(|row| row[field].clone()).collect()
                };
                let topics = ["food", "ball", "sky"].repeat(10);
                assert_eq!(of(&own, "label"), topics);
                assert_eq!(of(&own, "release"), of(&found, "release"));
                let epsilon = match *decoded {
                    "jsonl" => json!(1000),
                    "parquet" => json!(1000.0),
                    _ => json!("1000"),
                };
                assert_eq!(of(&own, "epsilon"), vec![epsilon; 30]);
                for input in [&name, &format!("d.{decoded}")] {
                    folder.succeed(format!("count --in {input} --by app.country --out n.csv"));
                    counted.push(folder.text("n.csv"));
                }
            }
        }
    }
    assert_eq!(counted.len(), 2 * 3 * (3 + 3));
    assert_eq!(counted[0].lines().count(), 7);
    assert!(counted.iter().all(|own| *own == counted[0]), "{counted:?}");
    // `estimate` accepts outputs of `privatize` in several forms at once.
    let inputs = "jsonl.r.csv jsonl.r.parquet csv.r.jsonl";
    let estimate = "estimate --candidates t.candidates.safetensors --by app.country --json --in";
    let answer = json(folder.succeed(format!("{estimate} {inputs}")));
    assert_eq!(answer["releases"], 90);
}

#[test]
fn bags_become_tables() {
    let folder = prepared();
    for (form, out) in FORMS.iter().zip(["parquet", "csv", "jsonl", "csv"]) {
        let obfuscate = "obfuscate --pack t.pack --words 3 --epsilon 5 --limit 2 --in";
        folder.succeed(format!("{obfuscate} c.{form} --out b.{out} {FIELDS}"));
        for row in rows(&folder, &format!("b.{out}")) {
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
    folder.succeed(format!(
        "{PRIVATIZE} c.jsonl --limit 2 --out r.jsonl {FIELDS}"
    ));
    let good = folder.text("r.jsonl");
    let good: Vec<&str> = good.lines().collect();
    let bad = [
        "{\"id\":\"secret 1\",\"release\":null}",
        "{\"id\":\"secret 2\",\"release\":\"zz\"}",
        "{\"id\":\"secret 3\",\"release\":\"00\"}",
        "{\"id\":\"secret 4\"}",
    ];
    let all = [&[good[0]], &bad[..], &[good[1]]].concat().join("\n") + "\n";
    folder.write("all.jsonl", all);
    folder.table("all.jsonl", "all.parquet");
    folder.table("all.jsonl", "all.csv");
    let csv = folder.text("all.csv");
    // Line ends of Windows, a row without quotation marks, and bytes that are not UTF-8.
    let mut csv = csv.replace('\n', "\r\n").into_bytes();
    csv.splice(0..0, *b"\xef\xbb\xbf");
    csv.extend_from_slice(b"secret, 5,00\r\nsecret\xff,00\r\n");
    folder.write("all.csv", csv);
    for (form, rejects) in [("jsonl", 4), ("parquet", 4), ("csv", 6)] {
        let decode = format!("{DECODE} all.{form} --out d.parquet");
        let count = format!("count --in all.{form} --out n.csv");
        let all = format!("{rejects} lines rejected");
        // Decoding sets lines aside as they are, and counting only their releases.
        for (line, part, secrets) in [(decode, &*all, rejects), (count, "counted 2 releases", 0)] {
            let said = folder.notes(format!("{line} --rejected x.jsonl"));
            assert!(said.contains(part) && !said.contains("secret"), "{said}");
            let rejected = folder.bytes("x.jsonl");
            let rejected = String::from_utf8_lossy(&rejected);
            assert_eq!(rejected.lines().count(), rejects, "{rejected}");
            assert!(rejected.matches("secret").count() >= secrets, "{rejected}");
        }
        assert_eq!(rows(&folder, "d.parquet").len(), 2);
    }
}

/// A table without a column `release` is an error, and so is a table that is cut off.
#[test]
fn releases_in_csv_are_named_and_whole() {
    let folder = prepared();
    folder.succeed(format!(
        "{PRIVATIZE} c.jsonl --limit 2 --out r.csv {FIELDS}"
    ));
    let good = folder.text("r.csv");
    folder.write("cr.csv", good.replace('\n', "\r"));
    folder.write("h.csv", "id,txt\n");
    folder.refuse_all(
        DECODE,
        "h.csv --out d.jsonl => h.csv | names no column `release`
        cr.csv --out d.jsonl => cr.csv | carriage return without a line feed",
    );
    folder.write("cut.csv", good + "\"secret\",\"00");
    for line in [
        &*format!("{DECODE} cut.csv --out d.jsonl"),
        "count --in cut.csv --out n.csv",
    ] {
        let said = folder.notes(format!("{line} --rejected x.jsonl"));
        let part = "1: a quotation mark is not closed; is the file cut off?; the first ";
        contains(&said, &[part, " 4"]);
        assert!(!said.contains("secret"), "{said}");
        let rejected = "{\"a quotation mark is not closed\":[\"secret\",\"00\"]}\n";
        assert_eq!(folder.text("x.jsonl"), rejected);
    }
}

/// A bad row of private texts stops the run before any release. The message has the number of the
/// row but no text of it.
#[test]
fn bad_rows_of_private_texts_release_nothing() {
    let folder = prepared();
    let line = |text: &str| format!("{{\"id\":1,\"text\":{text}}}\n");
    // A null is a row without a text. In a column of numbers no row has a text.
    for (first, second, part) in [
        (
            "\"secret\"",
            "null",
            "line 2: no field \"text\", or it is null",
        ),
        ("7", "7", "line 1: the field \"text\" is not a string"),
    ] {
        folder.write("p.jsonl", line(first) + &line(second));
        folder.table("p.jsonl", "p.parquet");
        let arguments = format!("{PRIVATIZE} p.parquet --out r.parquet");
        folder.refuse(arguments, &["p.parquet", part]);
    }
    let whole = folder.bytes("c.parquet");
    folder.write("cut.parquet", &whole[..whole.len() / 2]);
    for name in ["c.txt", "c.parquet.gz"] {
        folder.write(name, "x");
    }
    folder.write("twice.csv", "text,text\nsecret,secret\n");
    folder.write("long.csv", "text,id\nsecret,1,2\n");
    folder.write("mac.csv", "text,id\rsecret a,1\r");
    folder.write("body.csv", "id,txt\n");
    folder.write("open.csv", "text,id\nfine,1\n\"secret,2\n");
    let table = "
        cut.parquet => cannot read the table
        twice.csv => column 2 has the name of one before it
        long.csv => line 2: cannot read on: 3 fields, and the first
        mac.csv => a carriage return without a line feed
        body.csv => names no column `text`
        open.csv => line 3: cannot read on: a quotation mark
        none.csv => cannot open
        c.txt => unknown ending; known are .jsonl
        c.parquet.gz => unknown ending";
    for [input, part] in common::rows(table) {
        let said = folder.refuse(format!("{PRIVATIZE} {input} --out r.csv"), &[part]);
        assert!(!said.contains("secret"), "{said}");
    }
    // --keep refuses every path that contains the text, and the names of released fields. An output
    // may not be gzipped.
    folder.refuse_all(
        &format!("{PRIVATIZE} c.jsonl {FIELDS}"),
        "--out r.csv --keep body => --keep
        --out r.csv --keep body.text => --keep
        --out r.csv --keep body.text.x => --keep
        --out r.csv.gz => r.csv.gz | .parquet, which is compressed",
    );
}

/// An interrupted run leaves JSON lines and resumes from them, whatever the form of the output. A
/// smaller --limit takes the first of them.
#[test]
fn a_table_is_gone_on_with() {
    within_a_day(|_| {
        let folder = prepared();
        for out in ["r.parquet", "r.csv"] {
            let ledger = format!("--ledger l.{out} --budget 60");
            let arguments = format!("{PRIVATIZE} c.csv --out {out} {FIELDS} {ledger}");
            let before = folder.names().len();
            let left = folder.interrupt(&arguments, out, 1000);
            assert!(left.lines().count() > 5);
            assert!(!folder.join(out).exists());
            let agree = |count| {
                let found = rows(&folder, out);
                assert_eq!(found.len(), count);
                for (line, row) in left.lines().zip(&found) {
                    assert_eq!(json(line), *row);
                }
            };
            for limit in [3, 0] {
                folder.succeed(format!("{arguments} --limit {limit}"));
                agree(limit);
            }
            contains(&folder.notes(&arguments), &["resuming:"]);
            agree(30);
            assert_eq!(folder.names().len(), before + 2);
        }
    });
}

/// After the budget is used up, the table has the releases so far, and the partial file remains for
/// the next day.
#[test]
fn a_budget_that_is_used_up_leaves_a_table_and_the_lines() {
    within_a_day(|_| {
        let folder = prepared();
        let files = "c.parquet --out r.parquet --ledger l --budget 12";
        let line = format!("{PRIVATIZE} {files} {FIELDS}");
        for _ in 0..2 {
            assert_eq!(folder.run(&line).status.code(), Some(4));
            let released = rows(&folder, "r.parquet");
            assert_eq!(released.len(), 12);
            let waiting = folder.partial("r.parquet").expect("lines wait");
            assert_eq!(folder.values(waiting), released);
        }
    });
}
