//! Tables in any bytes, and any lines as tables.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde_json::Value;
use undertone::corpus::FieldNames;
use undertone::files::fields::Fields;
use undertone::release::lines::MARKS;
use undertone_tables::{Kind, Table, corpus, releases};

/// Reads the input as CSV, or writes its lines as tables and reads them, selected by its first
/// byte. Parquet is excluded, because clients do not send it: its reader panics on some damaged
/// files, and a test damages one at every seventh byte.
///
/// Checked: CSV against the reader of CSV alone; read lines against written ones.
pub fn tables_are_their_lines(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    match kind % 2 {
        0 => records(data),
        _ => lines(data),
    }
}

fn records(data: &[u8]) {
    // Compression and Parquet are also detected from the content.
    if data.starts_with(&[0x1f, 0x8b]) || data.starts_with(b"PAR1") {
        return;
    }
    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("t.csv");
    fs::write(&path, data).expect("room for a file");
    let Ok(found) = releases(&path) else {
        return;
    };
    let found = all(found);
    // Numbers of lines ascend, and only a line that is not UTF-8 is missing.
    assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let lines = data.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    assert!(found.iter().all(|(number, _)| (2..=lines).contains(number)));
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(data);
    let names = reader.byte_headers().expect("bytes").clone();
    let records: Vec<csv::ByteRecord> = reader
        .byte_records()
        .map(|own| own.expect("bytes"))
        .collect();
    // Two readings of a carriage return that ends no line, and of a file without names.
    if data.contains(&b'\r') || names.is_empty() {
        return;
    }
    assert_eq!(found.len(), records.len());
    for ((number, line), record) in found.iter().zip(&records) {
        let Some(line) = line else {
            assert!(
                record
                    .iter()
                    .chain(&names)
                    .any(|cell| str::from_utf8(cell).is_err())
            );
            continue;
        };
        let cell = |cell: &[u8]| Value::from(str::from_utf8(cell).expect("the line is UTF-8"));
        match serde_json::from_str(line).expect("a line is JSON") {
            Value::Array(cells) => {
                assert_ne!(record.len(), names.len());
                assert_eq!(cells, record.iter().map(cell).collect::<Vec<_>>());
            }
            // An unclosed quotation mark includes all that follows.
            Value::Object(fields) if fields.contains_key(MARKS[0].0) => {
                assert_eq!(found.last().map(|last| last.0), Some(*number));
            }
            Value::Object(fields) if fields.contains_key(MARKS[1].0) => {}
            Value::Object(fields) => {
                assert_eq!(record.len(), names.len());
                for (name, own) in names.iter().zip(record) {
                    let found = fields.get(str::from_utf8(name).expect("UTF-8"));
                    assert_eq!(found, (!own.is_empty()).then(|| cell(own)).as_ref());
                }
            }
            other => panic!("{other}"),
        }
    }
    let names = FieldNames::default();
    let documents = corpus(&path, &names, None).expect("it was opened before");
    let documents: Vec<_> = documents.collect();
    let good = documents.iter().filter(|own| own.is_ok()).count();
    assert!(good <= records.len() && documents.len() <= good + 1);
}

fn lines(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    // Lines as the commands make them: objects with a name once.
    let mut wanted: Vec<(&str, Fields<'_>)> = Vec::new();
    for line in text.lines() {
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(line) else {
            continue;
        };
        let mut seen = HashSet::new();
        let once = fields.0.iter().all(|(name, _)| seen.insert(name.text()));
        // JSON may read more digits of a number than a program has.
        if once && !fields.0.is_empty() && serde_json::from_str::<Value>(line).is_ok() {
            wanted.push((line, fields));
        }
    }
    if wanted.is_empty() {
        return;
    }
    let mut written: String = wanted.iter().map(|(line, _)| format!("{line}\n")).collect();
    // A table without that column is refused.
    if !wanted
        .iter()
        .any(|(_, own)| own.0.iter().any(|(name, _)| *name == *"release"))
    {
        written = written.replacen('{', "{\"release\":\"\",", 1);
    }
    let folder = tempfile::tempdir().expect("room for a file");
    for (name, kinds) in [
        ("t.parquet", &[("words", Kind::Texts)][..]),
        ("t.parquet", &[]),
        ("t.csv", &[]),
    ] {
        // In CSV a carriage return in a name is taken for the end of a line of old programs, and
        // refused.
        let mut names = wanted.iter().flat_map(|(_, own)| own.0.iter());
        if name == "t.csv" && names.any(|(own, _)| own.text().contains('\r')) {
            continue;
        }
        let path = folder.path().join(name);
        write(&path, kinds, &written);
        let found = all(releases(&path).expect("it was just written"));
        assert_eq!(found.len(), wanted.len(), "{name}");
        for ((_, line), (_, fields)) in found.iter().zip(&wanted) {
            let line = line.as_ref().expect("UTF-8 was written");
            let found: Value = serde_json::from_str(line).expect("a line is JSON");
            for (field, value) in &fields.0 {
                if kinds.iter().any(|(known, _)| *field == **known) {
                    continue;
                }
                same(found.get(&*field.text()), value.get(), name);
            }
        }
    }
}

/// Returns whether a value was read back, unchanged or as text.
fn same(found: Option<&Value>, written: &str, name: &str) {
    let text = serde_json::from_str::<String>(written).unwrap_or_else(|_| written.to_owned());
    match found {
        None | Some(Value::Null) => {
            assert!(written == "null" || name == "t.csv" && text.is_empty())
        }
        Some(Value::String(found)) => assert_eq!(*found, text),
        Some(found) => {
            let written: Value = serde_json::from_str(written).expect("it was JSON");
            assert!(*found == written || found.as_f64() == written.as_f64() && found.is_number());
        }
    }
}

fn write(path: &Path, kinds: &[(&'static str, Kind)], lines: &str) {
    let mut file: File = tempfile::tempfile().expect("room for a file");
    file.write_all(lines.as_bytes()).expect("room for a file");
    let table = Table::of(path, kinds).expect("no gzip").expect("a table");
    let settled = table.settled(&mut file, path).expect("room for a file");
    settled.commit().expect("room for a file");
}

/// The lines with their numbers; none for one that is not UTF-8 or too long.
fn all(mut lines: undertone::release::lines::Lines) -> Vec<(u64, Option<String>)> {
    let mut found = Vec::new();
    while let Some(line) = lines.next_line().expect("no record stops the others") {
        found.push((line.number, line.text.ok().map(str::to_owned)));
    }
    found
}
