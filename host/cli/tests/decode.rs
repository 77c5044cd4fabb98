//! `undertone decode` with the releases of many devices: broken lines, old packs, streams.
//!
//! Chance: false alarm none, miss none. Of releases only the form and the number are checked.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::common::{self, contains, fed, names, refuse, refuse_all, refused, succeed, undertone};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;
use undertone_tables::Table;

/// Makes two packs, releases under each, and private texts.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let public = "Food\tThe soup needs salt. Boil the potatoes.\nSky\tA comet passed.\n".repeat(9);
    fs::write(path.join("public.tsv"), public).unwrap();
    let private = concat!(
        "{\"id\":17,\"lang\":\"en\",\"text\":\"The soup needs salt.\",\"secret\":[1]}\n",
        "{\"id\":1.50e3,\"text\":\"A comet passed.\"}\n",
        "{\"text\":\"Boil the potatoes.\", \"lang\" : {\"of\":\"d\\u00e9\"}}\n",
    );
    fs::write(path.join("private.jsonl"), private).unwrap();
    // This rule always names a candidate.
    for line in [
        "pack --corpus public.tsv --heads vectors --out new.pack",
        "pack --corpus public.tsv --clusters 3 --out old.pack",
        "privatize --pack new.pack --rule exponential --epsilon 0.5 --in private.jsonl --out new.jsonl",
        "privatize --pack old.pack --rule exponential --epsilon 1 --in private.jsonl --out old.jsonl",
    ] {
        succeed(path, line);
    }
    folder
}

const NEW: &str = "new.candidates.safetensors";

/// Releases texts from standard input to standard output.
const RELEASE: &str = "privatize --pack new.pack --epsilon 9 --in - --out -";

/// Decodes releases of the same pack from standard input to standard output.
const DECODE: &str = "decode --candidates new.candidates.safetensors --in - --out -";
const OLD: &str = "old.candidates.safetensors";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = str::from_utf8(bytes).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn bad_lines_are_set_aside_and_the_others_decoded() {
    let folder = prepared();
    let folder = folder.path();
    let good = fs::read_to_string(folder.join("new.jsonl")).unwrap();
    let old = fs::read_to_string(folder.join("old.jsonl")).unwrap();
    let first = good.lines().next().unwrap();
    let release = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["release"].as_str().unwrap().to_owned()
    };
    let hexadecimal = release(first);
    // Replaces the candidate's number, which follows epsilon.
    let forged = format!("{}ffff0000{}", &hexadecimal[..24], &hexadecimal[32..]);
    let forged = first.replace(&hexadecimal, &forged);
    let long = format!(
        "{{\"id\": \"{}\", \"release\": \"00\"}}",
        "x".repeat(3 << 20)
    );
    let cut = &first[..first.len() - 9];
    let short = first.replace(&hexadecimal, &hexadecimal[..40]);
    let bad: Vec<&[u8]> = vec![
        cut.as_bytes(),
        b"\xff\xfe",
        long.as_bytes(),
        b"{\"id\": 4}",
        b"{\"release\": \"zz\"}",
        short.as_bytes(),
        old.lines().next().unwrap().as_bytes(),
        b"[\"secret words\"]",
        forged.as_bytes(),
    ];
    let mut input = Vec::new();
    let mut aside = Vec::new();
    for (index, line) in good.lines().cycle().take(bad.len()).enumerate() {
        for bytes in [line.as_bytes(), bad[index]] {
            input.extend_from_slice(bytes);
            input.push(b'\n');
        }
        aside.extend_from_slice(bad[index]);
        aside.push(b'\n');
    }
    fs::write(folder.join("in.jsonl"), &input).unwrap();
    let decode = format!("decode --candidates {NEW} --in in.jsonl --out d.jsonl");
    let said = common::notes(folder, &decode);
    assert_eq!(lines_of(folder, "d.jsonl"), 9);
    for part in [
        "decoded 9 ",
        "9 lines rejected; name a file with --rejected to keep them",
        "2: not a release in JSON; the first on line 2",
        "1: longer than 1048576 bytes; the first on line 6",
        "1: not UTF-8; the first on line 4",
        "1: no field \"release\" that is a string; the first on line 8",
        "1: the release is not hexadecimal",
        "1: not the bytes of a release",
        "1: names nothing that its pack or form has; it is damaged or forged; the first on line 18",
        "1: made under a pack or form that was not given; the first on line 14, pack ",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert!(!said.contains("secret"), "{said}");

    let said = common::notes(folder, format!("{decode} --rejected bad.jsonl"));
    assert!(said.contains("they are in `bad.jsonl`"), "{said}");
    assert!(
        fs::read(folder.join("bad.jsonl")).unwrap() == aside,
        "as they were"
    );

    // The candidates of the old pack decode the lines that were set aside.
    let again = format!("decode --candidates {OLD} --in bad.jsonl --out again.jsonl");
    succeed(folder, &again);
    assert_eq!(lines_of(folder, "again.jsonl"), 1);

    // If no line can be decoded, the candidates are probably the wrong ones: only the rejects are
    // written.
    fs::write(folder.join("forged.jsonl"), format!("{forged}\n")).unwrap();
    for input in ["old.jsonl", "forged.jsonl"] {
        let none = format!("decode --candidates {NEW} --in {input} --rejected x --out y");
        let parts = [input, "no line of", "could be decoded"];
        refused(&undertone(folder, &none), &none, &parts);
        assert!(!folder.join("y").exists());
        let [rejected, all] = ["x", input].map(|name| fs::read(folder.join(name)).unwrap());
        assert!(rejected == all, "as they were");
    }
}

#[test]
fn several_packs_are_decoded_together() {
    let folder = prepared();
    let folder = folder.path();
    let both = [
        fs::read(folder.join("new.jsonl")).unwrap(),
        fs::read(folder.join("old.jsonl")).unwrap(),
    ];
    fs::write(folder.join("both.jsonl"), both.concat()).unwrap();
    let decode = format!("decode --candidates {NEW} {OLD} --in both.jsonl --out d.jsonl");
    succeed(folder, &decode);
    let decoded = lines(&fs::read(folder.join("d.jsonl")).unwrap());
    assert_eq!(decoded.len(), 6);
    let packs: Vec<&str> = decoded
        .iter()
        .map(|line| line["pack"].as_str().unwrap())
        .collect();
    assert!(packs[..3].iter().all(|pack| *pack == packs[0]));
    assert!(
        packs[3..]
            .iter()
            .all(|pack| *pack == packs[5] && *pack != packs[0])
    );
    fs::copy(folder.join(OLD), folder.join("copy")).unwrap();
    let twice = format!("decode --candidates {OLD} --candidates copy --in both.jsonl --out x");
    refuse(folder, &twice, &[OLD, "`copy`", "the same pack"]);
}

#[test]
fn fields_are_kept_as_they_are_written() {
    let folder = prepared();
    let folder = folder.path();
    let text = fs::read_to_string(folder.join("new.jsonl")).unwrap();
    let starts: Vec<&str> = text
        .lines()
        .map(|line| line.split(",\"release\"").next().unwrap())
        .collect();
    assert_eq!(
        starts,
        ["{\"id\":17", "{\"id\":1.50e3", "{\"id\":\"line-3\""]
    );
    // Other fields are copied only on request, and the text never.
    let line =
        "privatize --pack new.pack --epsilon 0.5 --in private.jsonl --out more.jsonl --keep lang";
    succeed(folder, line);
    let more = fs::read_to_string(folder.join("more.jsonl")).unwrap();
    let starts: Vec<&str> = more
        .lines()
        .map(|line| line.split(",\"release\"").next().unwrap())
        .collect();
    assert_eq!(
        starts,
        [
            "{\"id\":17,\"lang\":\"en\"",
            "{\"id\":1.50e3",
            "{\"id\":\"line-3\",\"lang\":{\"of\":\"d\\u00e9\"}",
        ]
    );
    assert!(!more.contains("secret"));
    for (field, part) in [
        ("text", "private"),
        ("release", "this name"),
        ("id", "anyway"),
    ] {
        let line = "privatize --pack new.pack --epsilon 0.5 --in private.jsonl --out x --keep";
        refuse(folder, format!("{line} {field}"), &["--keep", field, part]);
    }

    let release = text
        .lines()
        .next()
        .unwrap()
        .split("\"release\":")
        .nth(1)
        .unwrap();
    let input = format!(
        "{{\"when\": 12345678901234567890, \"label\": \"own\", \"release\": {release}\n{{\"id\": {{\"a\": null}}, \
         \"release\": {release}\n"
    );
    fs::write(folder.join("in.jsonl"), input).unwrap();
    let decode = format!("decode --candidates {NEW} --in in.jsonl --out d.jsonl");
    succeed(folder, &decode);
    let decoded = fs::read_to_string(folder.join("d.jsonl")).unwrap();
    let all: Vec<&str> = decoded.lines().collect();
    let start = "{\"when\":12345678901234567890,\"input_label\":\"own\",\"release\":";
    assert!(all[0].starts_with(start), "{}", all[0]);
    assert!(
        all[0].contains(",\"epsilon\":0.5,\"pack\":\""),
        "{}",
        all[0]
    );
    assert!(
        all[1].starts_with("{\"id\":{\"a\": null},\"release\":"),
        "{}",
        all[1]
    );
    let decoded = lines(decoded.as_bytes());
    assert_eq!(decoded[0]["epsilon"], 0.5);
    assert_eq!(decoded[0]["label"], decoded[0]["name"]);
    assert!(decoded[0].get("id").is_none() && decoded[0].get("embedding").is_none());
    succeed(folder, format!("{decode} --embedding"));
    let decoded = lines(&fs::read(folder.join("d.jsonl")).unwrap());
    assert_eq!(decoded[1]["embedding"].as_array().unwrap().len(), 128);
}

/// A field of the input whose name is that of an output field gets a prefix, repeated until no
/// other field has the name.
#[test]
fn names_of_fields_stay_apart() {
    let folder = prepared();
    let folder = folder.path();
    let text = fs::read_to_string(folder.join("new.jsonl")).unwrap();
    let (_, release) = text.lines().next().unwrap().split_once(",").unwrap();
    let rows = [
        "{\"name\":\"x\",\"input_name\":\"y\",",
        "{\"input_input_name\":\"z\",\"name\":\"x\",\"input_name\":\"y\",",
        "{\"name\":\"x\",",
    ];
    let input = rows.map(|row| format!("{row}{release}\n")).concat();
    fs::write(folder.join("in.jsonl"), input).unwrap();
    for out in ["d.jsonl", "d.parquet", "d.csv"] {
        let line = format!("decode --candidates {NEW} --in in.jsonl --out {out}");
        succeed(folder, &line);
    }
    let decoded = fs::read_to_string(folder.join("d.jsonl")).unwrap();
    let starts = [
        "{\"input_input_name\":\"x\",\"input_name\":\"y\",\"release\"",
        "{\"input_input_name\":\"z\",\"input_input_input_name\":\"x\",\"input_name\":\"y\",\"release\"",
        "{\"input_name\":\"x\",\"release\"",
    ];
    for (line, start) in decoded.lines().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

/// Lines from a pipe are in no other file, so rejects are kept even if all lines are rejected.
#[test]
fn rejects_of_a_pipe_are_kept_though_all_are_rejected() {
    let folder = prepared();
    let folder = folder.path();
    let bad = b"{\"id\":1}\nsecret\n";
    let decode = format!("decode --candidates {NEW} --in - --out d.jsonl --rejected bad.jsonl");
    let count = "count --in - --out c.csv --rejected bad.jsonl";
    for (arguments, out, part) in [
        (&*decode, "d.jsonl", "could be decoded"),
        (count, "c.csv", "nothing could be counted"),
    ] {
        let output = fed(folder, arguments, bad);
        refused(&output, arguments, &[part, "they are in `bad.jsonl`"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"));
        assert_eq!(fs::read(folder.join("bad.jsonl")).unwrap(), bad);
        assert!(!folder.join(out).exists());
        fs::remove_file(folder.join("bad.jsonl")).unwrap();
    }
}

/// All fields are copied unchanged, whatever their names.
#[test]
fn names_with_half_a_surrogate_pair_are_copied() {
    let folder = prepared();
    let folder = folder.path();
    let text = br#"{"text":"My doctor called.","id":1,"\ud83d":"\ud83d"}"#;
    let released = String::from_utf8(fed(folder, RELEASE, text).stdout).unwrap();
    let given = released.replacen('{', r#"{"\ud800":NaN,"a\udc00":1,"a\u0062":2,"#, 1);
    let decoded = String::from_utf8(fed(folder, DECODE, given.as_bytes()).stdout).unwrap();
    let start = r#"{"\ud800":null,"a\udc00":1,"a\u0062":2,"id":1,"#;
    assert!(decoded.starts_with(start), "{decoded}");
}

#[test]
fn inputs_may_be_gzipped_and_come_and_go_as_streams() {
    let folder = prepared();
    let folder = folder.path();
    let private = fs::read(folder.join("private.jsonl")).unwrap();
    let before = names(folder);
    for input in [&private[..], &gzip(&private)] {
        let released = fed(folder, RELEASE, input);
        assert!(
            released.status.success(),
            "{}",
            String::from_utf8_lossy(&released.stderr)
        );
        assert_eq!(lines(&released.stdout).len(), 3);
        for releases in [released.stdout.clone(), gzip(&released.stdout)] {
            let decoded = fed(folder, DECODE, &releases);
            assert!(decoded.status.success());
            let decoded = lines(&decoded.stdout);
            assert_eq!(decoded[0]["id"], 17);
            assert_eq!(decoded.len(), 3);
        }
    }
    // The output is a file.
    let into = RELEASE.replace("--out -", "--out into.jsonl");
    assert!(fed(folder, &into, &private).status.success());
    assert_eq!(lines_of(folder, "into.jsonl"), 3);
    fs::remove_file(folder.join("into.jsonl")).unwrap();
    assert_eq!(names(folder), before);
    // A broken line at the end prevents all releases.
    let broken = [&private[..], b"{\"text\": secret"].concat();
    let output = fed(folder, RELEASE, &broken);
    refused(
        &output,
        RELEASE,
        &["`standard input` line 4", "not one JSON object"],
    );
    assert!(output.stdout.is_empty());

    // The content decides whether a file is gzipped, whatever the ending of its name.
    fs::write(folder.join("zipped.jsonl"), gzip(&private)).unwrap();
    let line = "privatize --pack new.pack --epsilon 9 --in zipped.jsonl --out z.jsonl";
    succeed(folder, line);
    let zipped = gzip(&fs::read(folder.join("z.jsonl")).unwrap());
    fs::write(folder.join("z"), &zipped).unwrap();
    let decode = format!("decode --candidates {NEW}");
    assert_eq!(
        succeed(folder, format!("{decode} --in z --out -"))
            .lines()
            .count(),
        3
    );
    // A compressed file that is cut off is an error of the file and not of a line.
    fs::write(folder.join("z"), &zipped[..zipped.len() - 9]).unwrap();
    refuse(
        folder,
        format!("{decode} --in z --out x"),
        &["cannot read `z`"],
    );

    let pack = fs::read(folder.join("new.pack")).unwrap();
    let shown = fed(folder, "inspect -", &pack);
    assert_eq!(
        String::from_utf8(shown.stdout).unwrap(),
        succeed(folder, "inspect new.pack")
    );
    let candidates = fs::read(folder.join(NEW)).unwrap();
    let shown = fed(folder, "candidates -", &candidates);
    assert_eq!(
        String::from_utf8(shown.stdout).unwrap(),
        succeed(folder, format!("candidates {NEW}"))
    );
    let labelled = b"{\"label\":\"a\",\"text\":\"soup\"}\n{\"label\":\"b\",\"text\":\"moon\"}\n";
    let keywords = fed(folder, "keywords --corpus - --words 9 --out -", labelled);
    assert_eq!(String::from_utf8(keywords.stdout).unwrap(), "moon\nsoup\n");
}

/// All cores decode batches, and the lines stay in order.
#[test]
fn lines_of_many_batches_stay_in_order() {
    const LINES: usize = 6000;
    let folder = prepared();
    let folder = folder.path();
    let new = fs::read_to_string(folder.join("new.jsonl")).unwrap();
    let old = fs::read_to_string(folder.join("old.jsonl")).unwrap();
    let release = |text: &str| text.split("\"release\":").nth(1).unwrap()[..50].to_owned();
    let (good, other) = (release(&new), release(&old));
    // Longer than one read, so the line arrives in pieces.
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(3 << 20));
    let (mut input, mut aside, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..LINES {
        let bad = match number {
            3000 => long.clone(),
            _ if number % 100 == 50 => format!("{{\"id\":{number},\"release\":{other}}}"),
            _ if number % 100 == 60 => format!("secret {number}"),
            _ => {
                ids.push(number);
                let line = format!("{{\"id\":{number},\"release\":{good}}}\n");
                input.extend(line.as_bytes());
                continue;
            }
        };
        for bytes in [&mut input, &mut aside] {
            bytes.extend(bad.as_bytes());
            bytes.extend(b"\r\n");
        }
    }
    fs::write(folder.join("in.jsonl"), &input).unwrap();
    let decode = format!("decode --candidates {NEW} --rejected bad.jsonl");
    let file = format!("{decode} --in in.jsonl --out d.jsonl");
    let pack = lines(old.as_bytes())[0]["release"].as_str().unwrap()[32..].to_owned();
    let said = common::notes(folder, &file);
    for part in [
        "121 lines rejected".to_owned(),
        "1: longer than 1048576 bytes; the first on line 3001".to_owned(),
        "60: not a release in JSON; the first on line 61".to_owned(),
        format!(
            "60: made under a pack or form that was not given; the first on line 51, pack {pack}"
        ),
    ] {
        assert!(said.contains(&part), "no {part:?} in {said}");
    }
    let decoded = fs::read(folder.join("d.jsonl")).unwrap();
    let found: Vec<usize> = lines(&decoded)
        .iter()
        .map(|line| line["id"].as_u64().unwrap() as usize)
        .collect();
    assert!(found == ids);
    assert!(fs::read(folder.join("bad.jsonl")).unwrap() == aside);
    // A stream gives parts of any length, which may end inside a line.
    for name in ["bad.jsonl", "d.jsonl"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let stream = format!("{decode} --in - --out d.jsonl");
    assert!(fed(folder, &stream, &input).status.success());
    assert!(fs::read(folder.join("d.jsonl")).unwrap() == decoded);
    assert!(fs::read(folder.join("bad.jsonl")).unwrap() == aside);
}

/// A point has no single candidate, so such lines are set aside with a message about what to use
/// instead.
#[test]
fn points_are_set_aside() {
    let folder = prepared();
    let folder = folder.path();
    let privatize =
        "privatize --pack new.pack --epsilon 1 --rule projective --in private.jsonl --out p.jsonl";
    let said = common::notes(folder, privatize);
    contains(&said, &["rule: projective. Promised: 1 for the whole text"]);
    let points = fs::read_to_string(folder.join("p.jsonl")).unwrap();
    for line in lines(points.as_bytes()) {
        assert_eq!(line["release"].as_str().unwrap()[8..12], *"0802");
    }
    let decode = format!("decode --candidates {NEW} --out d.jsonl --in");
    let reason = "names a point that many candidates prefer, and no candidate; count such releases with `undertone count`";
    let alone = format!("{decode} p.jsonl");
    refuse(folder, &alone, &["no line of", "could be decoded", reason]);
    let good = fs::read_to_string(folder.join("new.jsonl")).unwrap();
    fs::write(folder.join("both.jsonl"), format!("{points}{good}")).unwrap();
    let both = format!("{decode} both.jsonl --rejected r.jsonl");
    let said = common::notes(folder, &both);
    assert!(said.contains(&format!("3: {reason}")), "{said}");
    assert_eq!(lines_of(folder, "d.jsonl"), 3);
    assert_eq!(
        fs::read_to_string(folder.join("r.jsonl")).unwrap(),
        points,
        "as they were"
    );
}

/// The id is copied, so no combination of options may make it the text.
#[test]
fn no_option_publishes_the_text() {
    let folder = prepared();
    let folder = folder.path();
    let nested = "{\"body\":{\"text\":\"SECRET\"},\"id\":\"SECRET\",\"text\":\"SECRET\"}\n";
    fs::write(folder.join("n.jsonl"), nested.repeat(2)).unwrap();
    for (options, id) in [
        ("--id-field text", "text"),
        ("--text-field id", "id"),
        ("--text-field body.text --id-field body.text", "body.text"),
        ("--text-field body.text --id-field body", "body"),
        ("--text-field body --id-field body.text", "body.text"),
    ] {
        for command in ["privatize", "obfuscate"] {
            for out in ["-", "o.jsonl"] {
                let line = format!(
                    "{command} --pack new.pack --epsilon 3 --in n.jsonl --out {out} {options}"
                );
                let parts = [&format!("--id-field {id}"), "the text is what is private"];
                refuse(folder, &line, &parts);
                assert_eq!(undertone(folder, &line).stdout, b"");
            }
        }
    }
}

/// Options that would have no effect, and options that repeat another, are errors.
#[test]
fn fields_that_are_not_there_are_no_options() {
    let folder = prepared();
    let folder = folder.path();
    fs::write(
        folder.join("p.csv"),
        "id,text,app.country\n1,The soup.,NP\n",
    )
    .unwrap();
    let row = "{\"id\":1,\"text\":\"The soup.\",\"app.country\":\"NP\"}\n";
    fs::write(folder.join("row.jsonl"), row).unwrap();
    let parquet = folder.join("p.parquet");
    let table = Table::of(&parquet, &[]).unwrap().expect("a table");
    let mut row = File::open(folder.join("row.jsonl")).unwrap();
    table.settled(&mut row, &parquet).unwrap().commit().unwrap();
    let start = "privatize --pack new.pack --epsilon 1 --out o.jsonl --in";
    refuse_all(
        folder,
        start,
        "private.jsonl --keep lang --keep lang => --keep lang | named twice
        private.jsonl --keep nope => --keep nope | ; there are
        p.csv --keep nope => --keep nope | no such column
        p.csv --keep app => --keep app | no such column
        p.csv --id-field nope => --id-field nope | no such column
        p.parquet --keep nope => --keep nope | no such column
        p.parquet --keep app.nope => --keep app.nope | no such column
        public.tsv --keep nope => --keep nope | can keep only label
        public.tsv --text-field body => --text-field body | no field names
        public.tsv --id-field user => --id-field user | no field names",
    );
    for options in [
        "p.csv --keep app.country",
        "p.parquet --keep app.country",
        "public.tsv --keep label",
    ] {
        succeed(folder, format!("{start} {options}"));
    }
    // A JSON line lists no fields in advance, so a field is accepted if only the last line has it.
    let options = "private.jsonl --keep lang";
    succeed(folder, format!("{start} {options}"));
    for (option, field) in [("--keep", "nope"), ("--id-field", "nom")] {
        let arguments = format!("{start} {options} {option} {field}");
        let parts = [option, field, "no such column or field", "lang"];
        refuse(folder, &arguments, &parts);
    }
}

/// Only texts are required: a label that no option uses may have any value.
#[test]
fn a_label_that_is_not_used_is_not_read() {
    let folder = prepared();
    let folder = folder.path();
    let lines = concat!(
        "{\"text\":\"The soup needs salt.\",\"label\":[1,\"a\"]}\n",
        "{\"text\":\"A comet passed.\",\"label\":{\"a\":1}}\n",
        "{\"text\":\"A comet passed.\",\"label\":true,\"label\":1}\n",
    );
    fs::write(folder.join("l.jsonl"), lines).unwrap();
    for command in ["privatize", "obfuscate"] {
        let line = format!("{command} --pack new.pack --epsilon 1 --in l.jsonl --out o.jsonl");
        succeed(folder, &line);
        assert_eq!(lines_of(folder, "o.jsonl"), 3);
    }
    // An id is copied, so it must be a string or a number; null counts as missing.
    let id = |value: &str| {
        let line = format!("{{\"text\":\"A comet passed.\",\"id\":{value}}}\n");
        fs::write(folder.join("l.jsonl"), line).unwrap();
    };
    let line = "privatize --pack new.pack --epsilon 1 --in l.jsonl --out o.jsonl";
    for wrong in ["true", "{}", "[1]"] {
        id(wrong);
        refuse(
            folder,
            line,
            &["line 1", "\"id\" is not a string or a number"],
        );
    }
    for (good, written) in [("null", "\"line-1\""), ("1.50", "1.50"), ("\"a\"", "\"a\"")] {
        id(good);
        succeed(folder, line);
        let out = fs::read_to_string(folder.join("o.jsonl")).unwrap();
        assert!(out.starts_with(&format!("{{\"id\":{written},")), "{out}");
    }
}

fn lines_of(folder: &Path, name: &str) -> usize {
    fs::read_to_string(folder.join(name))
        .unwrap()
        .lines()
        .count()
}
