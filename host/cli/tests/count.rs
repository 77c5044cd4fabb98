//! `undertone count`: every form of releases, slices, forged records, and counts that merge.
//!
//! Chance: false alarm none, miss none. The counts do not depend on the outcomes of releases.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::common::{self, contains, fed, names, refuse, refuse_all, refused, succeed, undertone};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

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
            record(
                mechanism,
                [500_000, 1_000_001][(i / 5 % 2) as usize],
                outcome,
                (i / 3 % 2) as u8,
            )
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
        let fields = json!({"id": i, "day": day(i), "of": {"version": i % 3}, "release": hex::encode(record)});
        format!("{fields}\n")
    };
    records.iter().enumerate().map(line).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Counts these inputs. Returns the counts as CSV, and the messages.
fn count(folder: &Path, arguments: &str) -> (String, String) {
    let said = common::notes(folder, format!("count --out counts.csv --in {arguments}"));
    let counts = fs::read_to_string(folder.join("counts.csv")).unwrap();
    fs::remove_file(folder.join("counts.csv")).unwrap();
    (counts, said)
}

/// Expected counts by the fields of each record, as CSV.
fn expected(records: &[Record], header: &str, slice: impl Fn(usize) -> String) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for (i, record) in records.iter().enumerate() {
        let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
        let key = (
            hex::encode(&record[16..]),
            record[4],
            number(8),
            slice(i),
            number(12),
        );
        *counts.entry(key).or_insert(0) += 1;
    }
    let mut text = format!("pack,mechanism,rule,epsilon,order,{header}outcome,count\n");
    for ((pack, mechanism, micro, slice, outcome), count) in counts {
        let epsilon = if micro == 500_000 { "0.5" } else { "1.000001" };
        text += &format!("{pack},{mechanism},2,{epsilon},0,{slice}{outcome},{count}\n");
    }
    text
}

/// Releases in every form but Parquet, which is tested in `host/estimate/tests`.
fn prepared() -> (TempDir, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let records = records(5_000);
    fs::write(path.join("a.raw"), raw(&records)).unwrap();
    fs::write(path.join("a.raw.gz"), gzip(&raw(&records))).unwrap();
    fs::write(path.join("a.jsonl"), lines(&records)).unwrap();
    fs::write(path.join("a.jsonl.gz"), gzip(lines(&records).as_bytes())).unwrap();
    // The content decides the form, whatever the ending of the name.
    fs::write(path.join("zipped.bin"), gzip(&raw(&records))).unwrap();
    (folder, records)
}

#[test]
fn every_form_gives_the_same_counts() {
    let (folder, records) = prepared();
    let folder = folder.path();
    let all = expected(&records, "", |_| String::new());
    for input in ["a.raw", "a.raw.gz", "a.jsonl", "a.jsonl.gz", "zipped.bin"] {
        let (counts, said) = count(folder, input);
        assert!(counts == all, "{input}");
        assert!(said.contains("counted 5000 releases"), "{said}");
        contains(&said, &["depth, exponential, epsilon 1.000001"]);
        assert!(said.contains("  and 4 other kinds"), "{said}");
        assert!(!said.contains("rejected"), "{said}");
    }
    for (format, input) in [
        ("raw", raw(&records)),
        ("raw", gzip(&raw(&records))),
        ("jsonl", lines(&records).into_bytes()),
        ("jsonl", gzip(lines(&records).as_bytes())),
    ] {
        let stream = format!("count --in - --format {format} --out s.csv");
        let output = fed(folder, &stream, &input);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            fs::read_to_string(folder.join("s.csv")).unwrap() == all,
            "{format}"
        );
    }
    let output = fed(
        folder,
        "count --in - --out s.csv",
        lines(&records).as_bytes(),
    );
    assert!(output.status.success(), "JSON lines by default");
    // Counts can be counted again, in either form.
    succeed(folder, "count --in a.raw --out c.parquet");
    let printed = succeed(folder, "count --json --in c.parquet --out c.csv");
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let kinds = printed["kinds"].as_array().unwrap();
    let totals = kinds.iter().map(|kind| kind["releases"].as_u64().unwrap());
    assert_eq!(printed["releases"], totals.sum::<u64>());
    assert_eq!(printed["rejected"], 0);
    assert!(fs::read_to_string(folder.join("c.csv")).unwrap() == all);
    succeed(folder, "count --in c.csv --out d.parquet");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(
        read("c.parquet") == read("d.parquet"),
        "the same counts are the same bytes"
    );
    // Releases and counts together.
    let twice = [&records[..], &records].concat();
    let all = expected(&twice, "", |_| String::new());
    assert!(count(folder, "a.jsonl c.parquet").0 == all);
    assert!(count(folder, "c.csv a.raw.gz").0 == all);
}

#[test]
fn slices_are_fields_and_columns() {
    let (folder, records) = prepared();
    let folder = folder.path();
    let by_day = expected(&records, "day,", |i| format!("{},", day(i)));
    assert!(count(folder, "a.jsonl --by day").0 == by_day);
    let both = expected(&records, "of.version,day,", |i| {
        format!("{},{},", i % 3, day(i))
    });
    let sliced = "a.jsonl --by of.version --by day";
    assert!(count(folder, sliced).0 == both);

    // Counts keep their slices, can be counted by fewer of them, and other inputs get the same
    // slices.
    let write = format!("count --out both.parquet --in {sliced}");
    succeed(folder, &write);
    assert!(count(folder, "both.parquet").0 == both);
    assert!(count(folder, "both.parquet --by day").0 == by_day);
    let twice = count(folder, "both.parquet a.jsonl").0;
    assert!(twice == count(folder, "both.parquet both.parquet").0);
    assert!(twice != both);
    refuse_all(
        folder,
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
    let values = ["\"x\"", "7", "true", "null", "[]", "1.5", "{}"];
    let mut text: String = values
        .iter()
        .map(|value| format!("{{\"release\":\"{release}\",\"v\":{value}}}\n"))
        .collect();
    text += &format!("{{\"release\":\"{release}\",\"v\":1,\"v\":1}}\n");
    text += &format!(
        "{{\"release\":\"{release}\",\"v\":\"{}\"}}\n",
        "é".repeat(200)
    );
    text += &format!("{{\"release\":\"{release}\"}}\n");
    fs::write(folder.join("v.jsonl"), text).unwrap();
    let (counts, said) = count(folder, "v.jsonl --by v");
    let values: Vec<&str> = counts
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(5).unwrap())
        .collect();
    assert_eq!(values, ["7", "true", "x"]);
    for part in [
        "2: a field of the slices is missing or null; the first is number 4",
        "4: a field of the slices is no string, whole number or truth value, or is given twice; the first is number 5",
        "1: a field of the slices has more than 256 bytes; the first is number 9",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
}

/// Lines from a pipe are in no other file, so all are set aside if the field of a slice is
/// mistyped.
#[test]
fn a_mistyped_slice_is_named_and_loses_nothing() {
    let (folder, records) = prepared();
    let path = folder.path();
    let input = lines(&records);
    let arguments = "count --in - --by dya --rejected r.jsonl --out c.csv";
    let output = crate::common::fed(path, arguments, input.as_bytes());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    contains(&error, &["no field `dya`, only day, id, of, release;"]);
    assert_eq!(fs::read_to_string(path.join("r.jsonl")).unwrap(), input);
    assert!(!path.join("c.csv").exists());
}

#[test]
fn rejects_are_set_aside_and_never_stop() {
    let (folder, records) = prepared();
    let folder = folder.path();
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
    fs::write(folder.join("bad.bin"), &bytes).unwrap();
    let junk = format!("junk\n{}{{\"release\":\"zz\"}}\n", lines(&records[..2]));
    fs::write(folder.join("bad.jsonl"), &junk).unwrap();
    let (counts, said) = count(folder, "bad.bin bad.jsonl --rejected r.jsonl");
    let mut good = records[..10].to_vec();
    good.extend([records[10]; 6]);
    good.extend_from_slice(&records[..2]);
    assert!(counts == expected(&good, "", |_| String::new()));
    for part in [
        "9 rejected; they are in `r.jsonl`",
        "6: not the bytes of a release; it is damaged, cut off or of another kind; the first is number 11 of `bad.bin`",
        "1: cut off: the file ends in the middle of a record; the first is number 23 of `bad.bin`",
        "1: not a release in JSON; the first is number 1 of `bad.jsonl`",
        "1: the release is not hexadecimal; the first is number 4 of `bad.jsonl`",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    let aside = fs::read_to_string(folder.join("r.jsonl")).unwrap();
    let object = |bytes: &[u8]| format!("{{\"release\":\"{}\"}}\n", hex::encode(bytes));
    let mut wanted: String = bad.iter().map(|record| object(record)).collect();
    wanted += &object(&records[0][..23]);
    wanted += "junk\n{\"release\":\"zz\"}\n";
    assert_eq!(aside, wanted);
    // A stream gives the same rejects.
    let stream = "count --in - --format raw --out s.csv --rejected s.jsonl";
    assert!(fed(folder, stream, &bytes).status.success());
    let rejected = fs::read_to_string(folder.join("s.jsonl")).unwrap();
    assert!(wanted.starts_with(&rejected) && rejected.lines().count() == 7);

    // Anybody may send the first release, and make it look like the start of another kind of file.
    for start in [&b"PK\x03\x04"[..], b"<html>", b"\xff\xfe", b"\0\0"] {
        let mut first = records[0];
        first[..start.len()].copy_from_slice(start);
        let stream = "count --in - --format raw --out o.csv";
        let bytes = raw(&[first, records[1]]);
        assert!(fed(folder, stream, &bytes).status.success());
        let text = [start, b"\n", lines(&records[..1]).as_bytes()].concat();
        fs::write(folder.join("odd.jsonl"), text).unwrap();
        succeed(folder, "count --in odd.jsonl --out o.csv");
    }
    fs::write(folder.join("page.jsonl"), "<html>\n").unwrap();
    let page = "count --in page.jsonl --out x.csv";
    refuse(folder, page, &["page.jsonl", "web page"]);

    // An input without a valid release is an error, and only the rejects are written.
    fs::write(folder.join("none.raw"), raw(&bad)).unwrap();
    let none = "count --in none.raw --out x.csv --rejected y";
    let parts = [
        "nothing could be counted",
        "6: not the bytes of a release",
        "none.raw",
    ];
    refuse(folder, "count --in none.raw --out x.csv", &parts);
    refused(&undertone(folder, none), none, &parts);
    assert!(!folder.join("x.csv").exists());
    let rejected = fs::read_to_string(folder.join("y")).unwrap();
    assert_eq!(rejected.lines().count(), bad.len());
    // An empty input is no error.
    for name in ["empty.raw", "empty.jsonl"] {
        fs::write(folder.join(name), "").unwrap();
        assert_eq!(count(folder, name).0.lines().count(), 1);
    }
    succeed(folder, "count --in empty.raw --out empty.parquet");
    assert_eq!(count(folder, "empty.parquet").0.lines().count(), 1);
}

/// Several threads reject in many chunks, but the rejects are in the order of the input.
#[test]
fn threads_keep_the_order_of_rejects() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let records = records(200_000);
    let mut all = records.clone();
    for (i, record) in all.iter_mut().enumerate() {
        if i % 3 == 1 {
            record[0] = b'X';
            record[12..16].copy_from_slice(&(i as u32).to_le_bytes());
        }
    }
    fs::write(folder.join("a.raw"), raw(&all)).unwrap();
    let (counts, said) = count(folder, "a.raw --rejected r.jsonl");
    let of = |rest: usize| move |i: &usize| i % 3 == rest;
    let good: Vec<Record> = (0..all.len())
        .filter(|i| i % 3 != 1)
        .map(|i| all[i])
        .collect();
    assert!(counts == expected(&good, "", |_| String::new()));
    contains(&said, &["66667 rejected", "number 2 of"]);
    let aside = fs::read_to_string(folder.join("r.jsonl")).unwrap();
    let bad = (0..all.len()).filter(of(1));
    let wanted: String = bad
        .map(|i| format!("{{\"release\":\"{}\"}}\n", hex::encode(all[i])))
        .collect();
    assert!(aside == wanted);

    // Lines with the same releases: one line exceeds the limit, and the last one has no line end.
    let long = format!("{}\n", "x".repeat(3 << 20));
    let line = |(i, record)| match i {
        100_000 => long.clone(),
        _ => format!("{{\"release\":\"{}\"}}\n", hex::encode(record)),
    };
    let lines: Vec<String> = all.iter().enumerate().map(line).collect();
    let whole = lines.concat();
    fs::write(folder.join("a.jsonl"), whole.trim_end()).unwrap();
    let (counts, said) = count(folder, "a.jsonl --rejected l.jsonl");
    assert!(counts == expected(&good, "", |_| String::new()));
    contains(
        &said,
        &[
            "66667 rejected",
            "1: longer than 1048576 bytes; the first is number 100001 of",
            "number 2 of",
        ],
    );
    let aside = fs::read_to_string(folder.join("l.jsonl")).unwrap();
    let bad = (0..all.len()).filter(of(1));
    assert!(aside == bad.map(|i| lines[i].as_str()).collect::<String>());
}

#[test]
fn only_releases_of_named_packs_and_epsilons() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let public = "Food\tThe soup needs salt. Boil the potatoes.\nSky\tA comet passed.\n".repeat(9);
    fs::write(folder.join("public.tsv"), public).unwrap();
    succeed(folder, "pack --corpus public.tsv --out a.pack");
    let shown = succeed(folder, "candidates a.candidates.safetensors");
    let id = shown.lines().next().unwrap().strip_prefix("# pack ");
    let id = hex::decode(id.unwrap()).unwrap();
    let of_pack = |mechanism: u8, micro: u32, outcome: u32| {
        let mut record = record(mechanism, micro, outcome, 0);
        record[16..].copy_from_slice(&id);
        record
    };
    let good = [
        of_pack(2, 500_000, 0),
        of_pack(2, 500_000, 1),
        of_pack(7, 500_000, 2),
    ];
    let all = [
        &good[..],
        &[
            of_pack(2, 500_000, 2),
            of_pack(7, 500_000, 3),
            of_pack(7, 500_000, u32::MAX),
            of_pack(7, 1_000_001, 1),
            record(7, 500_000, 1, 0),
        ],
    ]
    .concat();
    fs::write(folder.join("a.raw"), raw(&all)).unwrap();
    for named in ["--pack a.pack", "--candidates a.candidates.safetensors"] {
        let (counts, said) = count(folder, &format!("a.raw {named} --epsilon 0.5"));
        assert!(counts == expected(&good, "", |_| String::new()), "{counts}");
        for part in [
            "5 rejected",
            "3: names nothing that its pack or form has; it is damaged or forged; the first is number 4",
            "1: made under a pack or form that was not given; the first is number 8 of `a.raw`, pack 617061636b000000",
            "1: made with another epsilon than expected; the first is number 7",
        ] {
            assert!(said.contains(part), "no {part:?} in {said}");
        }
        // Counts that were made without the candidates.
        succeed(folder, "count --in a.raw --out all.parquet");
        let (counts, said) = count(folder, &format!("all.parquet {named} --epsilon 0.5"));
        assert!(counts == expected(&good, "", |_| String::new()), "{counts}");
        assert!(said.contains("5 rejected"), "{said}");
    }
}

#[test]
fn files_are_not_mixed_up() {
    let (folder, _) = prepared();
    let folder = folder.path();
    let refused = |arguments: &str, parts: &[&str]| {
        refuse(folder, format!("count --in {arguments}"), parts);
    };
    succeed(folder, "count --in a.raw --out c.csv");
    fs::write(folder.join("no.parquet"), "PAR1 but nothing else PAR1").unwrap();
    refuse_all(
        folder,
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
    quotes_nothing(folder);
    // Bad counts are an error instead of rejects, because they come from no device.
    let good = fs::read_to_string(folder.join("c.csv")).unwrap();
    for (from, to, parts) in [
        ("pack,", "pakc,", &["no column `pack`"][..]),
        (
            "617061636b000000",
            "61706163",
            &["line 2", "16 hexadecimal digits"],
        ),
        (",2,0.5,", ",2,-1,", &["line 2", "epsilon is `-1`"]),
        (",1,2,", ",13,2,", &["line 2", "mechanism", "13"]),
        (
            ",0,0,",
            ",0,4294967296,",
            &["line 2", "outcome", "4294967295"],
        ),
    ] {
        fs::write(folder.join("w.csv"), good.replacen(from, to, 1)).unwrap();
        refused("w.csv --out x.csv", &[&["w.csv"], parts].concat());
    }
    let huge = good.lines().next().unwrap().to_owned()
        + "\n617061636b000000,1,2,0.5,0,3,9223372036854775807\n";
    fs::write(folder.join("h.csv"), huge).unwrap();
    assert!(count(folder, "h.csv").0.ends_with(",9223372036854775807\n"));
    refused(
        "h.csv h.csv --out x.csv",
        &["more than 9223372036854775807 releases"],
    );
    assert!(!names(folder).iter().any(|path| path.ends_with("x.csv")));
}

/// A CSV of private texts without a header, and a text in a file of counts, are not quoted.
fn quotes_nothing(folder: &Path) {
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
        fs::write(folder.join("letters.csv"), text).unwrap();
        for more in ["", "--format counts"] {
            let command = "count --in letters.csv --out x.csv";
            let output = undertone(folder, format!("{command} {more}"));
            assert!(!output.status.success());
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(
                said.contains(wanted) && !said.contains("Kowalski"),
                "{said}"
            );
        }
    }
}

#[test]
fn made_up_kinds_and_slices_have_limits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let kinds: Vec<Record> = (1..=10_001).map(|micro| record(7, micro, 0, 0)).collect();
    fs::write(folder.join("k.raw"), raw(&kinds)).unwrap();
    let count_of = |input: &str| format!("count --out x.csv --in {input}");
    refuse(
        folder,
        count_of("k.raw"),
        &["more than 10000 kinds of releases", "--epsilon", "--pack"],
    );
    let (counts, said) = count(folder, "k.raw --epsilon 0.000007");
    assert_eq!(counts.lines().count(), 2);
    assert!(said.contains("10000 rejected"), "{said}");
    let release = hex::encode(kinds[0]);
    let text: String = (0..=100_000)
        .map(|i| format!("{{\"t\":{i},\"release\":\"{release}\"}}\n"))
        .collect();
    fs::write(folder.join("s.jsonl"), text).unwrap();
    refuse(
        folder,
        count_of("s.jsonl --by t"),
        &["more than 100000 slices", "fewer values"],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Merged counts are the same however releases are split into files, and in any order and form.
    #[test]
    fn counts_of_parts_merge_to_those_of_the_whole(
        parts in prop::collection::vec((prop::collection::vec((0..6u32, 0..40u32), 0..60), 0..4usize), 1..5),
        seed in any::<u64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut all = Vec::new();
                let names: Vec<String> = (0..parts.len()).map(|i| format!("{i}")).collect();
        let mut inputs = Vec::new();
        for (i, (part, form)) in parts.iter().enumerate() {
            let text: String = part.iter().map(|(kind, outcome)| {
                let release = hex::encode(record([1, 2, 7][*kind as usize / 2], 500_000, *outcome, 0));
                format!("{{\"release\":\"{release}\",\"day\":\"{}\"}}\n", outcome % 3)
            }).collect();
            all.extend(text.lines().map(str::to_owned));
            let lines = format!("{}.jsonl", names[i]);
            fs::write(folder.join(&lines), &text).unwrap();
            let ending = ["jsonl", "csv", "parquet", "csv"][*form];
            let name = format!("{}.{ending}", names[i]);
            if *form > 0 {
                succeed(folder, format!("count --in {lines} --by day --out {name}"));
            }
            inputs.push(name);
        }
        // The whole is in another order.
        all.sort_by_key(|line| line.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)));
        fs::write(folder.join("all.jsonl"), all.join("\n")).unwrap();
        let whole = count(folder, "all.jsonl --by day").0;
        let len = inputs.len();
        inputs.rotate_left((seed % len as u64) as usize);
        let merged = inputs.join(" ") + " --by day";
        prop_assert_eq!(count(folder, &merged).0, whole);
    }
}

/// Counts the line that `privatize` writes.
#[test]
fn what_is_released_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let public = "Food\tThe soup needs salt. Boil the potatoes.\nSky\tA comet passed.\n".repeat(9);
    fs::write(folder.join("public.tsv"), public).unwrap();
    fs::write(
        folder.join("p.jsonl"),
        "{\"text\":\"The soup needs salt.\",\"lang\":\"en\"}\n".repeat(5),
    )
    .unwrap();
    succeed(folder, "pack --corpus public.tsv --out a.pack");
    let line = "privatize --pack a.pack --epsilon 0.5 --in p.jsonl --out r.jsonl --keep lang";
    succeed(folder, line);
    let (counts, said) = count(folder, "r.jsonl --by lang --pack a.pack");
    assert!(said.contains("counted 5 releases"), "{said}");
    let total: u64 = counts
        .lines()
        .skip(1)
        .map(|row| row.rsplit(',').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(total, 5);
    let first: Value = serde_json::from_str(
        fs::read_to_string(folder.join("r.jsonl"))
            .unwrap()
            .lines()
            .next()
            .unwrap(),
    )
    .unwrap();
    let release = hex::decode(first["release"].as_str().unwrap()).unwrap();
    assert!(counts.contains(&hex::encode(&release[16..])));
}
