//! Releases to count, in any bytes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use undertone::error::ErrorKind;
use undertone_core::release::Release;
use undertone_estimate::counts::{Counter, Counts, Expected, Format};

/// Counts the input as records or lines, or reads it as counts in CSV, selected by the first byte.
/// Parquet is excluded, because a server writes it itself.
///
/// Checked: no client can stop the counting; each record is counted or rejected, and those that
/// `Release::from_bytes` reads are counted; counts are the same after writing and reading.
pub fn counted_inputs_are_total(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    match kind % 3 {
        0 => records(data),
        1 => lines(data),
        _ => counts(data),
    }
}

fn records(data: &[u8]) {
    // Gzipped input may be truncated, which concerns no record.
    if data.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    let mut counter = Counter::new(Vec::new(), Expected::default()).expect("no slices");
    let source = Cursor::new(data.to_vec());
    let counted = counter.stream(Path::new("records"), source, Format::Raw);
    counted.expect("no record stops the others");
    let counted = counter.finish().expect("nothing is set aside");
    let mut expected = BTreeMap::new();
    let (mut good, mut bad) = (0, 0);
    for record in data.chunks(Release::BYTES) {
        match Release::from_bytes(record) {
            Ok(_) => {
                *expected.entry(record.to_vec()).or_insert(0) += 1;
                good += 1;
            }
            Err(_) => bad += 1,
        }
    }
    assert_eq!(
        (counted.counts.total(), counted.rejected.total()),
        (good, bad)
    );
    let rows = counted.counts.rows();
    let found: BTreeMap<Vec<u8>, u64> = rows
        .map(|row| (row.kind.to_bytes(row.outcome).to_vec(), row.count))
        .collect();
    assert_eq!(found, expected);
    again(&counted.counts);
}

fn lines(data: &[u8]) {
    if data.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    let by = ["day", "of.country"].map(str::to_owned);
    let mut counter = Counter::new(by.to_vec(), Expected::default()).expect("two slices");
    let source = Cursor::new(data.to_vec());
    // No line stops the others, but a slice that no line has is refused.
    if let Err(error) = counter.stream(Path::new("lines"), source, Format::Lines) {
        assert!(error.to_string().contains("it has no field"), "{error}");
        return;
    }
    let counted = counter.finish().expect("nothing is set aside");
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let lines = text.split(|byte| *byte == b'\n');
    let blank = |line: &&[u8]| str::from_utf8(line).is_ok_and(|line| line.trim().is_empty());
    let lines = lines.filter(|line| !blank(line)).count() as u64;
    assert_eq!(counted.counts.total() + counted.rejected.total(), lines);
    again(&counted.counts);
}

fn counts(data: &[u8]) {
    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("c.csv");
    fs::write(&path, data).expect("room for a file");
    match Counts::read(&path) {
        Ok(counts) => again(&counts),
        Err(error) => {
            // Gzipped input that is damaged cannot be read at all.
            let gzipped = data.starts_with(&[0x1f, 0x8b]) && error.kind() == ErrorKind::Io;
            let refused = [ErrorKind::Input, ErrorKind::Argument].contains(&error.kind());
            assert!(gzipped || refused, "{error}");
        }
    }
}

fn again(counts: &Counts) {
    let folder = tempfile::tempdir().expect("room for a file");
    for name in ["c.csv", "c.parquet"] {
        let path = folder.path().join(name);
        counts.write(&path).expect("room for a file");
        assert_eq!(&Counts::read(&path).expect("what was just written"), counts);
    }
}
