//! `undertone count`: every form of releases, slices, forged records, and counts that merge.
//!
//! Chance: false alarm none, miss none. The counts do not depend on the outcomes of releases.

use crate::common::{Folder, contains, gzip, json, refused, rows};
use proptest::prelude::*;
use serde_json::json;

type Record = [u8; 24];

/// A release: `micro` is ε in micro-units, and `pack` is the last byte of the pack's id.
fn record(mechanism: u8, micro: u32, outcome: u32, pack: u8) -> Record {
    let mut record = *b"UTR\x01\0\x02\0\0\0\0\0\0\0\0\0\0apack\0\0\0";
    record[4] = mechanism;
    record[8..12].copy_from_slice(&micro.to_le_bytes());
    record[12..16].copy_from_slice(&outcome.to_le_bytes());
    record[23] = pack;
    record
}

/// Many releases of several kinds, the outcomes of the last ones forged.
fn records(count: u32) -> Vec<Record> {
    (0..count)
        .map(|i| {
            let outcome = match i % 50 {
                49 => i.wrapping_mul(2_654_435_761),
                _ => i % 97 * i % 23,
            };
            let mechanism = [1, 2, 7][(i / 7 % 3) as usize];
            let micro = [500_000, 1_000_001][(i / 5 % 2) as usize];
            record(mechanism, micro, outcome, (i / 3 % 2) as u8)
        })
        .collect()
}

fn raw(records: &[Record]) -> Vec<u8> {
    records.concat()
}

fn day(i: usize) -> String {
    format!("2026-11-{:02}", i % 4 + 1)
}

fn lines(records: &[Record]) -> String {
    let line = |(i, record): (usize, &Record)| {
        let release = hex::encode(record);
        let of = json!({"version": i % 3});
        let fields = json!({"id": i, "day": day(i), "of": of, "release": release});
        format!("{fields}\n")
    };
    records.iter().enumerate().map(line).collect()
}

/// A line with a release only.
fn line(release: &[u8]) -> String {
    format!("{{\"release\":\"{}\"}}\n", hex::encode(release))
}

/// Counts these inputs. Returns the counts as CSV, and the messages.
fn count(folder: &Folder, arguments: &str) -> (String, String) {
    let said = folder.notes(format!("count --out counts.csv --in {arguments}"));
    let counts = folder.text("counts.csv");
    folder.remove("counts.csv");
    (counts, said)
}

/// Expected counts by the fields of each record, as CSV.
fn expected(records: &[Record], header: &str, slice: impl Fn(usize) -> String) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for (i, record) in records.iter().enumerate() {
        let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
        let kind = (hex::encode(&record[16..]), record[4], number(8));
        let key = (kind, slice(i), number(12));
        *counts.entry(key).or_insert(0) += 1;
    }
    let mut text = format!("pack,mechanism,rule,epsilon,order,{header}outcome,count\n");
    for (((pack, mechanism, micro), slice, outcome), count) in counts {
        let epsilon = if micro == 500_000 { "0.5" } else { "1.000001" };
        text += &format!("{pack},{mechanism},2,{epsilon},0,{slice}{outcome},{count}\n");
    }
    text
}

/// Expected counts without slices.
fn unsliced(records: &[Record]) -> String {
    expected(records, "", |_| String::new())
}

/// Releases in every form but Parquet, which is tested in `host/estimate/tests`.
fn prepared() -> (Folder, Vec<Record>) {
    let folder = Folder::new();
    let records = records(5_000);
    folder.write("a.raw", raw(&records));
    folder.write("a.raw.gz", gzip(raw(&records)));
    folder.write("a.jsonl", lines(&records));
    folder.write("a.jsonl.gz", gzip(lines(&records)));
    // The content decides the form, whatever the ending of the name.
    folder.write("zipped.bin", gzip(raw(&records)));
    (folder, records)
}

#[test]
fn every_form_gives_the_same_counts() {
    let (folder, records) = prepared();
    let all = unsliced(&records);
    for input in ["a.raw", "a.raw.gz", "a.jsonl", "a.jsonl.gz", "zipped.bin"] {
        let (counts, said) = count(&folder, input);
        assert!(counts == all, "{input}");
        let parts = [
            "counted 5000 releases",
            "depth, exponential, epsilon 1.000001",
            "  and 4 other kinds",
        ];
        contains(&said, &parts);
        assert!(!said.contains("rejected"), "{said}");
    }
    for (format, input) in [
        ("--format raw", raw(&records)),
        ("--format raw", gzip(raw(&records))),
        ("--format jsonl", lines(&records).into_bytes()),
        ("", gzip(lines(&records))),
    ] {
        folder.feed(format!("count --in - {format} --out s.csv"), input);
        assert!(folder.text("s.csv") == all, "{format}");
    }
    // Counts can be counted again, in either form.
    folder.succeed("count --in a.raw --out c.parquet");
    let printed = json(folder.succeed("count --json --in c.parquet --out c.csv"));
    let kinds = printed["kinds"].as_array().unwrap();
    let totals = kinds.iter().map(|kind| kind["releases"].as_u64().unwrap());
    assert_eq!(printed["releases"], totals.sum::<u64>());
    assert_eq!(printed["rejected"], 0);
    assert!(folder.text("c.csv") == all);
    folder.succeed("count --in c.csv --out d.parquet");
    let same = folder.bytes("c.parquet") == folder.bytes("d.parquet");
    assert!(same, "the same counts are the same bytes");
    // Releases and counts together.
    let twice = [&records[..], &records].concat();
    let all = unsliced(&twice);
    assert!(count(&folder, "a.jsonl c.parquet").0 == all);
    assert!(count(&folder, "c.csv a.raw.gz").0 == all);
}

#[test]
fn slices_are_fields_and_columns() {
    let (folder, records) = prepared();
    let by_day = expected(&records, "day,", |i| format!("{},", day(i)));
    assert!(count(&folder, "a.jsonl --by day").0 == by_day);
    let slices = |i| format!("{},{},", i % 3, day(i));
    let both = expected(&records, "of.version,day,", slices);
    let sliced = "a.jsonl --by of.version --by day";
    assert!(count(&folder, sliced).0 == both);

    // Counts keep their slices, can be counted by fewer of them, and other inputs get the same
    // slices.
    folder.succeed(format!("count --out both.parquet --in {sliced}"));
    assert!(count(&folder, "both.parquet").0 == both);
    assert!(count(&folder, "both.parquet --by day").0 == by_day);
    let twice = count(&folder, "both.parquet a.jsonl").0;
    assert!(twice == count(&folder, "both.parquet both.parquet").0);
    assert!(twice != both);
    folder.refuse_all(
        "count --out x.csv --in",
        "a.jsonl both.parquet => both.parquet | sliced by of.version, day | --by
        both.parquet --by country => both.parquet | `country`
        a.raw --by day => a.raw | no fields | by day | leave --by out
        both.parquet a.raw => a.raw | no fields
        a.jsonl --by count => `count` | rename
        a.jsonl --by day --by day => `day` | twice",
    );

    // Values other than strings, whole numbers and truth values are rejected.
    let release = hex::encode(records[0]);
    let long = format!("\"{}\"", "é".repeat(200));
    let values = [
        "\"x\"",
        "7",
        "true",
        "null",
        "[]",
        "1.5",
        "{}",
        "1,\"v\":1",
        &long,
    ];
    let values = values.map(|value| format!(",\"v\":{value}"));
    let line = |value| format!("{{\"release\":\"{release}\"{value}}}\n");
    let values = values.iter().map(String::as_str).chain([""]);
    folder.write("v.jsonl", values.map(line).collect::<String>());
    let (counts, said) = count(&folder, "v.jsonl --by v");
    let rows = counts.lines().skip(1);
    let values: Vec<&str> = rows.filter_map(|row| row.split(',').nth(5)).collect();
    assert_eq!(values, ["7", "true", "x"]);
    let parts = [
        "2: a field of the slices is missing or null; the first is number 4",
        "4: a field of the slices is no string, whole number or truth value, or is given twice; the first is number 5",
        "1: a field of the slices has more than 256 bytes; the first is number 9",
    ];
    contains(&said, &parts);
}

/// Lines from a pipe are in no other file, so all are set aside if the field of a slice is
/// mistyped.
#[test]
fn a_mistyped_slice_is_named_and_loses_nothing() {
    let (folder, records) = prepared();
    let input = lines(&records);
    let arguments = "count --in - --by dya --rejected r.jsonl --out c.csv";
    let output = folder.fed(arguments, input.as_bytes());
    let part = "no field `dya`, only day, id, of, release;";
    refused(&output, arguments, &[part]);
    assert_eq!(folder.text("r.jsonl"), input);
    assert!(!folder.join("c.csv").exists());
}

#[test]
fn rejects_are_set_aside_and_never_stop() {
    let (folder, records) = prepared();
    let mut bad = records[..6].to_vec();
    bad[0][0] = b'V';
    bad[1][3] = 2;
    bad[2][4] = 200;
    bad[3][6] = 1;
    bad[4][8..12].fill(0xff);
    bad[5][5] = 0;
    let mut bytes = raw(&records[..10]);
    for record in &bad {
        bytes.extend_from_slice(record);
        bytes.extend_from_slice(&records[10]);
    }
    bytes.extend_from_slice(&records[0][..23]);
    folder.write("bad.bin", &bytes);
    let junk = format!("junk\n{}{{\"release\":\"zz\"}}\n", lines(&records[..2]));
    folder.write("bad.jsonl", &junk);
    let (counts, said) = count(&folder, "bad.bin bad.jsonl --rejected r.jsonl");
    let mut good = records[..10].to_vec();
    good.extend([records[10]; 6]);
    good.extend_from_slice(&records[..2]);
    assert!(counts == unsliced(&good));
    let parts = [
        "9 rejected; they are in `r.jsonl`",
        "6: not the bytes of a release; it is damaged, cut off or of another kind; the first is number 11 of `bad.bin`",
        "1: cut off: the file ends in the middle of a record; the first is number 23 of `bad.bin`",
        "1: not a release in JSON; the first is number 1 of `bad.jsonl`",
        "1: the release is not hexadecimal; the first is number 4 of `bad.jsonl`",
    ];
    contains(&said, &parts);
    let mut wanted: String = bad.iter().map(|record| line(record)).collect();
    wanted += &line(&records[0][..23]);
    wanted += "junk\n{\"release\":\"zz\"}\n";
    assert_eq!(folder.text("r.jsonl"), wanted);
    // A stream gives the same rejects.
    let stream = "count --in - --format raw --out s.csv --rejected s.jsonl";
    folder.feed(stream, &bytes);
    let rejected = folder.text("s.jsonl");
    assert!(wanted.starts_with(&rejected) && rejected.lines().count() == 7);

    // Anybody may send the first release, and make it look like the start of another kind of file.
    for start in [&b"PK\x03\x04"[..], b"<html>", b"\xff\xfe", b"\0\0"] {
        let mut first = records[0];
        first[..start.len()].copy_from_slice(start);
        let bytes = raw(&[first, records[1]]);
        folder.feed("count --in - --format raw --out o.csv", bytes);
        let text = [start, b"\n", lines(&records[..1]).as_bytes()].concat();
        folder.write("odd.jsonl", text);
        folder.succeed("count --in odd.jsonl --out o.csv");
    }
    folder.write("page.jsonl", "<html>\n");
    let parts = ["page.jsonl", "web page"];
    folder.refuse("count --in page.jsonl --out x.csv", &parts);

    // An input without a valid release is an error, and only the rejects are written.
    folder.write("none.raw", raw(&bad));
    let none = "count --in none.raw --out x.csv";
    let parts = [
        "nothing could be counted",
        "6: not the bytes of a release",
        "none.raw",
    ];
    folder.refuse(none, &parts);
    folder.fail(format!("{none} --rejected y"), &parts);
    assert!(!folder.join("x.csv").exists());
    assert_eq!(folder.count("y"), bad.len());
    // An empty input is no error.
    for name in ["empty.raw", "empty.jsonl"] {
        folder.write(name, "");
        assert_eq!(count(&folder, name).0.lines().count(), 1);
    }
    folder.succeed("count --in empty.raw --out empty.parquet");
    assert_eq!(count(&folder, "empty.parquet").0.lines().count(), 1);
}

/// Several threads reject in many chunks, but the rejects are in the order of the input.
#[test]
fn threads_keep_the_order_of_rejects() {
    let folder = Folder::new();
    let records = records(200_000);
    let mut all = records.clone();
    for (i, record) in all.iter_mut().enumerate() {
        if i % 3 == 1 {
            record[0] = b'X';
            record[12..16].copy_from_slice(&(i as u32).to_le_bytes());
        }
    }
    folder.write("a.raw", raw(&all));
    let (counts, said) = count(&folder, "a.raw --rejected r.jsonl");
    let bad = || (0..all.len()).filter(|i| i % 3 == 1);
    let good = (0..all.len()).filter(|i| i % 3 != 1).map(|i| all[i]);
    let good = unsliced(&good.collect::<Vec<_>>());
    assert!(counts == good);
    contains(&said, &["66667 rejected", "number 2 of"]);
    let wanted: String = bad().map(|i| line(&all[i])).collect();
    assert!(folder.text("r.jsonl") == wanted);

    // Lines with the same releases: one line exceeds the limit, and the last one has no line end.
    let mut lines: Vec<String> = all.iter().map(|record| line(record)).collect();
    lines[100_000] = format!("{}\n", "x".repeat(3 << 20));
    folder.write("a.jsonl", lines.concat().trim_end());
    let (counts, said) = count(&folder, "a.jsonl --rejected l.jsonl");
    assert!(counts == good);
    let parts = [
        "66667 rejected",
        "1: longer than 1048576 bytes; the first is number 100001 of",
        "number 2 of",
    ];
    contains(&said, &parts);
    let wanted: String = bad().map(|i| lines[i].as_str()).collect();
    assert!(folder.text("l.jsonl") == wanted);
}

#[test]
fn only_releases_of_named_packs_and_epsilons() {
    let folder = Folder::with_pack();
    let shown = folder.succeed("candidates a.candidates.safetensors");
    let id = hex::decode(&shown["# pack ".len()..][..16]).unwrap();
    let of_pack = |mechanism: u8, micro: u32, outcome: u32| {
        let mut record = record(mechanism, micro, outcome, 0);
        record[16..].copy_from_slice(&id);
        record
    };
    let good = [(2, 500_000, 0), (2, 500_000, 1), (7, 500_000, 2)];
    let bad = [
        (2, 500_000, 2),
        (7, 500_000, 3),
        (7, 500_000, u32::MAX),
        (7, 1_000_001, 1),
    ];
    let of_pack = |(mechanism, micro, outcome)| of_pack(mechanism, micro, outcome);
    let (good, bad) = (good.map(of_pack), bad.map(of_pack));
    let all = [&good[..], &bad, &[record(7, 500_000, 1, 0)]].concat();
    folder.write("a.raw", raw(&all));
    for named in ["--pack a.pack", "--candidates a.candidates.safetensors"] {
        let (counts, said) = count(&folder, &format!("a.raw {named} --epsilon 0.5"));
        assert!(counts == unsliced(&good), "{counts}");
        let parts = [
            "5 rejected",
            "3: names nothing that its pack or form has; it is damaged or forged; the first is number 4",
            "1: made under a pack or form that was not given; the first is number 8 of `a.raw`, pack 617061636b000000",
            "1: made with another epsilon than expected; the first is number 7",
        ];
        contains(&said, &parts);
        // Counts that were made without the candidates.
        folder.succeed("count --in a.raw --out all.parquet");
        let (counts, said) = count(&folder, &format!("all.parquet {named} --epsilon 0.5"));
        assert!(counts == unsliced(&good), "{counts}");
        assert!(said.contains("5 rejected"), "{said}");
    }
}

#[test]
fn files_are_not_mixed_up() {
    let (folder, _) = prepared();
    folder.succeed("count --in a.raw --out c.csv");
    folder.write("no.parquet", "PAR1 but nothing else PAR1");
    folder.refuse_all(
        "count --in",
        "a.raw c.csv --out c.csv => --out | --in | c.csv | destroy
        a.raw --out x.csv --rejected a.raw => --rejected | --in
        a.raw --out x.csv --rejected x.csv => --rejected | --out
        a.raw --out x.txt => x.txt | .parquet or .csv
        a.raw --out - => --out | name one
        a.txt --out x.csv => a.txt | unknown ending | --format
        missing.raw --out x.csv => missing.raw | cannot open
        a.jsonl --format counts --out x.csv => a.jsonl | .parquet or .csv
        - - --out x.csv => standard input is named twice
        - --format parquet --out x.csv => standard input | save them in a file
        no.parquet --out x.csv => no.parquet",
    );
    quotes_nothing(&folder);
    // Bad counts are an error instead of rejects, because they come from no device.
    let good = folder.text("c.csv");
    let table = "
        pack, > pakc, => no column `pack`
        617061636b000000 > 61706163 => line 2 | 16 hexadecimal digits
        ,2,0.5, > ,2,-1, => line 2 | epsilon is `-1`
        ,1,2, > ,13,2, => line 2 | mechanism | 13
        ,0,0, > ,0,4294967296, => line 2 | outcome | 4294967295";
    for [change, parts] in rows(table) {
        let (from, to) = change.split_once(" > ").unwrap();
        folder.write("w.csv", good.replacen(from, to, 1));
        folder.refuse_all(
            "count --in",
            &format!("w.csv --out x.csv => w.csv | {parts}"),
        );
    }
    let header = good.lines().next().unwrap();
    let row = "617061636b000000,1,2,0.5,0,3,9223372036854775807\n";
    folder.write("h.csv", format!("{header}\n{row}"));
    assert!(count(&folder, "h.csv").0.ends_with(row));
    let parts = ["more than 9223372036854775807 releases"];
    folder.refuse("count --in h.csv h.csv --out x.csv", &parts);
    assert!(!folder.join("x.csv").exists());
}

/// A CSV of private texts without a header, and a text in a file of counts, are not quoted.
fn quotes_nothing(folder: &Folder) {
    let header = "pack,mechanism,rule,epsilon,order,outcome,count";
    let row = ["617061636b000000", "2", "1", "0.5", "0", "3", "7"];
    let rows = (0..row.len()).map(|place| {
        let mut row = row;
        row[place] = "Kowalski is ill";
        (format!("{header}\n{}\n", row.join(",")), "line 2")
    });
    let letters = "Kowalski is ill,a\nThe roses froze,b\n".to_owned();
    let files = [(letters, "first line has 2 fields")];
    for (text, wanted) in files.into_iter().chain(rows) {
        folder.write("letters.csv", text);
        for more in ["", "--format counts"] {
            let command = format!("count --in letters.csv --out x.csv {more}");
            assert!(!folder.refuse(command, &[wanted]).contains("Kowalski"));
        }
    }
}

#[test]
fn made_up_kinds_and_slices_have_limits() {
    let folder = Folder::new();
    let kinds: Vec<Record> = (1..=10_001).map(|micro| record(7, micro, 0, 0)).collect();
    folder.write("k.raw", raw(&kinds));
    let parts = ["more than 10000 kinds of releases", "--epsilon", "--pack"];
    folder.refuse("count --out x.csv --in k.raw", &parts);
    let (counts, said) = count(&folder, "k.raw --epsilon 0.000007");
    assert_eq!(counts.lines().count(), 2);
    assert!(said.contains("10000 rejected"), "{said}");
    let release = hex::encode(kinds[0]);
    let text: String = (0..=100_000)
        .map(|i| format!("{{\"t\":{i},\"release\":\"{release}\"}}\n"))
        .collect();
    folder.write("s.jsonl", text);
    let parts = ["more than 100000 slices", "fewer values"];
    folder.refuse("count --out x.csv --in s.jsonl --by t", &parts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Merged counts are the same however releases are split into files, and in any order and form.
    #[test]
    fn counts_of_parts_merge_to_those_of_the_whole(
        parts in prop::collection::vec((prop::collection::vec((0..6u32, 0..40u32), 0..60), 0..4usize), 1..5),
        seed in any::<u64>(),
    ) {
        let folder = Folder::new();
        let mut all = Vec::new();
        let mut inputs = Vec::new();
        for (i, (part, form)) in parts.iter().enumerate() {
            let text: String = part.iter().map(|(kind, outcome)| {
                let release = hex::encode(record([1, 2, 7][*kind as usize / 2], 500_000, *outcome, 0));
                format!("{{\"release\":\"{release}\",\"day\":\"{}\"}}\n", outcome % 3)
            }).collect();
            all.extend(text.lines().map(str::to_owned));
            let lines = format!("{i}.jsonl");
            folder.write(&lines, &text);
            let ending = ["jsonl", "csv", "parquet", "csv"][*form];
            let name = format!("{i}.{ending}");
            if *form > 0 {
                folder.succeed(format!("count --in {lines} --by day --out {name}"));
            }
            inputs.push(name);
        }
        // The whole is in another order.
        all.sort_by_key(|line| line.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)));
        folder.write("all.jsonl", all.join("\n"));
        let whole = count(&folder, "all.jsonl --by day").0;
        let len = inputs.len();
        inputs.rotate_left((seed % len as u64) as usize);
        let merged = inputs.join(" ") + " --by day";
        prop_assert_eq!(count(&folder, &merged).0, whole);
    }
}

/// Counts the line that `privatize` writes.
#[test]
fn what_is_released_is_counted() {
    let folder = Folder::with_pack();
    let text = "{\"text\":\"The soup needs salt.\",\"lang\":\"en\"}\n";
    folder.write("p.jsonl", text.repeat(5));
    folder.succeed("privatize --pack a.pack --epsilon 0.5 --in p.jsonl --out r.jsonl --keep lang");
    let (counts, said) = count(&folder, "r.jsonl --by lang --pack a.pack");
    contains(&said, &["counted 5 releases"]);
    let rows = counts.lines().skip(1);
    let total = rows.map(|row| row.rsplit(',').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(total.sum::<u64>(), 5);
    let release = &folder.values("r.jsonl")[0]["release"];
    contains(&counts, &[&release.as_str().unwrap()[32..]]);
}
