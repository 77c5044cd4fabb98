//! Releases in Parquet in every form that other programs write, and counts through the library.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use undertone::error::{ErrorKind, Result};
use undertone::release::lines::BadLine;
use undertone_core::epsilon::Epsilon;
use undertone_estimate::counts::{Counted, Counter, Counts, Expected, Format, Kind, Reason};

type Record = [u8; 24];

fn record(outcome: u32) -> Record {
    let mut record = *b"UTR\x01\x07\x02\0\0\x20\xa1\x07\0\0\0\0\0packpack";
    record[12..16].copy_from_slice(&outcome.to_le_bytes());
    record
}

/// Values of a column that may be null.
enum Values {
    Bytes(Vec<Option<Vec<u8>>>),
    Fixed(Vec<Option<Vec<u8>>>),
    Short(Vec<Option<i32>>),
    Long(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: impl Iterator<Item = Option<T::T>>,
) {
    let all: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<T::T> = all.into_iter().flatten().collect();
    let mut column = group.next_column().unwrap().unwrap();
    // Required columns ignore levels.
    column
        .typed::<T>()
        .write_batch(&there, Some(&levels), None)
        .unwrap();
    column.close().unwrap();
}

fn snappy() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::SNAPPY)
}

/// Writes a file of row groups of `rows` rows.
fn write(
    path: &Path,
    schema: &str,
    columns: &[Values],
    rows: usize,
    settings: WriterPropertiesBuilder,
) {
    let schema = parse_message_type(&format!("message releases {{ {schema} }}")).unwrap();
    let file = File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(settings.build())).unwrap();
    let total = match &columns[0] {
        Values::Bytes(values) | Values::Fixed(values) => values.len(),
        _ => unreachable!("releases are bytes"),
    };
    for first in (0..total).step_by(rows) {
        let range = first..total.min(first + rows);
        let mut group = writer.next_row_group().unwrap();
        for column in columns {
            let range = range.clone();
            let group = &mut group;
            match column {
                Values::Bytes(values) => {
                    let values = values[range].iter().cloned();
                    let values = values.map(|value| value.map(ByteArray::from));
                    write_column::<ByteArrayType>(group, values);
                }
                Values::Fixed(values) => {
                    let values = values[range].iter().cloned();
                    let values = values.map(|value| value.map(ByteArray::from));
                    let values = values.map(|value| value.map(FixedLenByteArray::from));
                    write_column::<FixedLenByteArrayType>(group, values);
                }
                Values::Short(values) => {
                    write_column::<Int32Type>(group, values[range].iter().copied())
                }
                Values::Long(values) => {
                    write_column::<Int64Type>(group, values[range].iter().copied())
                }
                Values::Bool(values) => {
                    write_column::<BoolType>(group, values[range].iter().copied())
                }
            }
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// Lines that a counter set aside.
#[derive(Clone, Default)]
struct Aside(Arc<Mutex<Vec<u8>>>);

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn count(path: &Path, by: &[&str]) -> Result<(Counted, String)> {
    let by = by.iter().map(|name| (*name).to_owned()).collect();
    let mut counter = Counter::new(by, Expected::default())?;
    let aside = Aside::default();
    counter.set_aside(Path::new("aside"), Box::new(aside.clone()));
    counter.file(path, Format::of(path)?)?;
    let counted = counter.finish()?;
    let aside = String::from_utf8(aside.0.lock().unwrap().clone()).unwrap();
    Ok((counted, aside))
}

fn rows(counts: &Counts) -> Vec<(String, u32, u64)> {
    counts
        .rows()
        .map(|row| (row.slice.join("|"), row.outcome, row.count))
        .collect()
}

fn path(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

#[test]
fn releases_are_bytes_or_digits_in_any_column() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<Record> = (0..30_000u32).map(|i| record(i * 7 % 31)).collect();
    let raw = path(&folder, "a.raw");
    fs::write(&raw, records.concat()).unwrap();
    let (expected, _) = count(&raw, &[]).unwrap();
    assert_eq!(expected.counts.total(), 30_000);
    type Form = fn(&Record) -> Vec<u8>;
    let of = |form: Form| records.iter().map(|record| Some(form(record))).collect();
    let bytes: Form = |record| record.to_vec();
    let lower: Form = |record| hex::encode(record).into_bytes();
    let upper: Form = |record| hex::encode_upper(record).into_bytes();
    let fixed = "fixed_len_byte_array(24) release;";
    let forms = [
        (format!("required {fixed}"), Values::Fixed(of(bytes))),
        (format!("optional {fixed}"), Values::Fixed(of(bytes))),
        (
            "required binary release;".to_owned(),
            Values::Bytes(of(bytes)),
        ),
        (
            "optional binary release;".to_owned(),
            Values::Bytes(of(bytes)),
        ),
        (
            "optional binary release (STRING);".to_owned(),
            Values::Bytes(of(lower)),
        ),
        (
            "required binary release (UTF8);".to_owned(),
            Values::Bytes(of(upper)),
        ),
    ];
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
    ];
    for (i, (schema, values)) in forms.into_iter().enumerate() {
        let columns = [values];
        // More than a batch, a part of one, and everything.
        for rows in [20_000, 700, 30_000] {
            let file = path(&folder, "a.parquet");
            let settings = snappy().set_compression(compressions[i % 4]);
            write(&file, &schema, &columns, rows, settings);
            let (found, aside) = count(&file, &[]).unwrap();
            assert_eq!(found.counts, expected.counts, "{schema} {rows}");
            assert_eq!((found.rejected.total(), aside.as_str()), (0, ""));
        }
    }
}

/// Decimals stored as bytes are numbers, with a dictionary and without.
#[test]
fn slices_may_be_decimals_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(&folder, "a.parquet");
    let schema = "required binary release; optional fixed_len_byte_array(5) cost (DECIMAL(10, 6));";
    let cost = |number: i64| Some(number.to_be_bytes()[3..].to_vec());
    let mut costs: Vec<_> = (0..40).map(|i| cost([500_001, -1][i % 2])).collect();
    costs[3] = None;
    let releases = (0..40).map(|_| Some(record(0).to_vec())).collect();
    let columns = [Values::Bytes(releases), Values::Fixed(costs)];
    for dictionary in [true, false] {
        let settings = snappy().set_dictionary_enabled(dictionary);
        write(&file, schema, &columns, 40, settings);
        let (found, aside) = count(&file, &["cost"]).unwrap();
        let expected = [
            ("-0.000001".to_owned(), 0, 19),
            ("0.500001".to_owned(), 0, 20),
        ];
        assert_eq!(rows(&found.counts), expected);
        assert_eq!(found.rejected.total(), 1);
        assert!(aside.contains("\"cost\":null"), "{aside}");
    }
    // Fields other than those of slices are formatted for people.
    let schema = "required binary release; required int32 at (TIME(MILLIS, true));";
    let columns = [
        Values::Bytes(vec![Some(record(0).to_vec())]),
        Values::Short(vec![Some(0)]),
    ];
    write(&file, schema, &columns, 1, snappy());
    let error = count(&file, &["at"]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Input);
    let error = error.to_string();
    assert!(
        error.contains("its column `at` holds times of day; wanted are strings"),
        "{error}"
    );
}

#[test]
fn slices_are_columns_and_nulls_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(&folder, "a.parquet");
    let schema = "optional binary release; optional int32 day (DATE); optional binary country (STRING);
        required int64 version; required boolean new; required int32 old (UINT_32); required int64 cost (DECIMAL(9,2));
        required group of { optional binary app (STRING); }";
    let n = 9;
    let text = |text: &str| Some(text.as_bytes().to_vec());
    let mut releases: Vec<_> = (0..n).map(|i| Some(record(i).to_vec())).collect();
    releases[2] = None;
    releases[3] = text("short");
    releases[4] = Some(vec![b'z'; 48]);
    let mut days: Vec<_> = (0..n as i32).map(|i| Some(20_779 + i % 2)).collect();
    days[5] = None;
    let mut countries: Vec<_> = (0..n)
        .map(|i| text(["AR", "Côte \"d'Ivoire\""][i as usize % 2]))
        .collect();
    countries[6] = Some(vec![0xff]);
    countries[7] = Some(vec![b'x'; 300]);
    let columns = [
        Values::Bytes(releases),
        Values::Short(days),
        Values::Bytes(countries),
        Values::Long((0..n).map(|i| Some(i64::from(i % 2) - 1)).collect()),
        Values::Bool((0..n).map(|i| Some(i % 2 == 0)).collect()),
        Values::Short(vec![Some(-1); n as usize]),
        Values::Long(vec![Some(1_250); n as usize]),
        Values::Bytes(vec![text("app"); n as usize]),
    ];
    write(&file, schema, &columns, 4, snappy());
    let by = ["day", "country", "version", "new", "old", "cost", "of.app"];
    let (found, aside) = count(&file, &by).unwrap();
    let ar = "2026-11-22|AR|-1|true|4294967295|12.50|app".to_owned();
    let ivory = "2026-11-23|Côte \"d'Ivoire\"|0|false|4294967295|12.50|app".to_owned();
    assert_eq!(
        rows(&found.counts),
        [(ar.clone(), 0, 1), (ar, 8, 1), (ivory, 1, 1)]
    );
    let reasons: Vec<_> = found
        .rejected
        .reasons()
        .map(|(reason, seen)| (reason, seen.count, seen.first))
        .collect();
    assert_eq!(
        reasons,
        [
            (Reason::Line(BadLine::NotHexadecimal), 1, 5),
            (Reason::Line(BadLine::NotARelease), 1, 4),
            (Reason::NoRelease, 1, 3),
            (Reason::NoValue, 1, 6),
            (Reason::NotAValue, 1, 7),
            (Reason::LongValue, 1, 8),
        ]
    );
    let lines: Vec<serde_json::Value> = aside
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0]["release"], serde_json::Value::Null);
    assert_eq!(lines[0]["day"], "2026-11-22");
    assert_eq!(lines[1]["release"], "short");
    assert_eq!(lines[3]["release"], hex::encode(record(5)));
    assert_eq!(lines[3]["day"], serde_json::Value::Null);

    // Corrected rejects can be counted again.
    let again = path(&folder, "again.jsonl");
    fs::write(&again, aside.replace("null", "\"2026-11-22\"")).unwrap();
    assert_eq!(count(&again, &["day"]).unwrap().0.counts.total(), 3);

    for (by, parts) in [
        ("dya", ["`dya`", "release, day, country"]),
        ("of", ["no column `of`", "only release"]),
    ] {
        let error = count(&file, &[by]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(
            parts.iter().all(|part| error.to_string().contains(part)),
            "{error}"
        );
    }
}

/// Dictionaries give the same counts as rows: with few combinations, with many, with one forged,
/// with none.
#[test]
fn dictionaries_give_the_counts_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let n = 20_000u32;
    for (spread, forged) in [(3, false), (9_000, false), (3, true), (9_000, true)] {
        let mut records: Vec<Record> = (0..n).map(|i| record(i * i % 31)).collect();
        if forged {
            records[15_000][0] = b'X';
        }
        let slice = |i: u32| i.wrapping_mul(2_654_435_761) % spread;
        let text = (0..).zip(&records).map(|(i, record)| {
            let (release, slice) = (hex::encode(record), slice(i));
            format!("{{\"release\":\"{release}\",\"s\":{slice}}}\n")
        });
        let lines = path(&folder, "a.jsonl");
        fs::write(&lines, text.collect::<String>()).unwrap();
        let (expected, _) = count(&lines, &["s"]).unwrap();
        let columns = [
            Values::Bytes(records.iter().map(|record| Some(record.to_vec())).collect()),
            Values::Long((0..n).map(|i| Some(i64::from(slice(i)))).collect()),
        ];
        let file = path(&folder, "a.parquet");
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for dictionary in [true, false] {
                let settings = snappy()
                    .set_writer_version(version)
                    .set_dictionary_enabled(dictionary);
                for schema in [
                    "required binary release; required int64 s;",
                    "optional binary release; optional int64 s;",
                ] {
                    write(&file, schema, &columns, 7_000, settings.clone());
                    let (found, aside) = count(&file, &["s"]).unwrap();
                    assert_eq!(
                        found.counts, expected.counts,
                        "{spread} {forged} {version:?} {dictionary} {schema}"
                    );
                    assert_eq!(found.rejected.total(), u64::from(forged));
                    assert_eq!(aside.lines().count(), usize::from(forged));
                    let first = found.rejected.reasons().next().map(|(_, seen)| seen.first);
                    assert_eq!(first, forged.then_some(15_001));
                }
            }
        }
    }
}

#[test]
fn files_that_are_no_releases_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(&folder, "a.parquet");
    let refused = |by: &[&str], parts: &[&str]| {
        let error = count(&file, by).unwrap_err();
        assert!(
            parts.iter().all(|part| error.to_string().contains(part)),
            "{error}"
        );
    };
    let bytes = |value: &[u8]| Values::Bytes(vec![Some(value.to_vec())]);
    write(&file, "required binary text;", &[bytes(b"x")], 1, snappy());
    refused(&[], &["a.parquet", "no column `release`", "text"]);
    let columns = [bytes(&record(1)), Values::Long(vec![Some(1)])];
    let stamped = "required binary release; required int64 at (TIMESTAMP(MICROS,true));";
    write(&file, stamped, &columns, 1, snappy());
    refused(&["at"], &["`at`", "time stamps", "dates"]);
    assert_eq!(count(&file, &[]).unwrap().0.counts.total(), 1);
    // Cut off, and damaged in the middle: an error and no panic.
    let whole = fs::read(&file).unwrap();
    for length in [0, 3, 8, whole.len() - 9, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        refused(&[], &["a.parquet"]);
    }
    fs::write(&file, []).unwrap();
    refused(&[], &["a.parquet"]);
}

#[test]
fn counts_are_written_and_read_in_both_forms() {
    let folder = tempfile::tempdir().unwrap();
    let slices = vec!["a,\"b\"".to_owned(), "späte".to_owned()];
    let mut counts = Counts::new(slices.clone()).unwrap();
    for i in 0..3_000u32 {
        let micro = [1, 500_000, 1_000_000_000][i as usize % 3];
        let mechanism = [1, 2, 7][i as usize / 3 % 3];
        let epsilon = Epsilon::from_micro(micro).unwrap();
        let kind = Kind::from_fields(*b"\0pack\xffid", mechanism, 2, epsilon, 0).unwrap();
        let slice = vec![
            format!("\"{}\"\n,", i % 4),
            ["", " "][i as usize % 2].to_owned(),
        ];
        counts
            .add(kind, slice, i.wrapping_mul(1 << 20), u64::from(i) + 1)
            .unwrap();
    }
    for name in ["c.csv", "c.parquet", "C.CSV"] {
        let file = path(&folder, name);
        counts.write(&file).unwrap();
        assert_eq!(Counts::read(&file).unwrap(), counts, "{name}");
    }
    // Adding nothing, or a count of 0, changes nothing.
    let mut same = counts.clone();
    same.merge(&Counts::new(slices.clone()).unwrap()).unwrap();
    let kind = counts.rows().next().unwrap().kind;
    same.add(kind, vec!["new".to_owned(); 2], 1, 0).unwrap();
    assert_eq!(same, counts);
    same.merge(&counts).unwrap();
    assert_eq!(same.total(), 2 * counts.total());
    let error = same.merge(&Counts::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert_eq!(counts.by(&slices).unwrap(), counts);
    let swapped: Vec<String> = slices.iter().rev().cloned().collect();
    assert_eq!(counts.by(&swapped).unwrap().by(&slices).unwrap(), counts);
    let none = counts.by(&[]).unwrap();
    assert_eq!(none.total(), counts.total());
    assert!(none.groups().all(|group| group.slice.is_empty()));
}

/// A mistyped field would reject every release, or make one slice of them.
#[test]
fn a_slice_that_no_line_has_names_the_fields_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let digits = hex::encode(record(1));
    let line = |fields: &str| format!("{{{fields}\"release\":\"{digits}\"}}\n");
    let day = line("\"day\":1,\"user\":{\"land\":\"x\"},");
    let file = path(&folder, "a.jsonl");
    fs::write(&file, format!("not JSON\n{day}{}", line("\"other\":2,"))).unwrap();
    let table = path(&folder, "a.csv");
    fs::write(&table, format!("day,empty,release\n1,,{digits}\n")).unwrap();
    for (file, name, part) in [
        (&file, "dya", "no field `dya`, only day, user, release;"),
        (&file, "user.town", "no field `user.town`, only day, user"),
        (&file, "Day", "but `day`, which differs in capitals"),
        (&table, "dya", "no column `dya`, only day, empty, release;"),
        (&table, "Day", "but `day`, which differs in capitals"),
    ] {
        let error = count(file, &[name]).unwrap_err().to_string();
        assert!(error.contains(part), "no \"{part}\" in: {error}");
        assert!(!error.contains("--"), "{error}");
    }
    // One line is enough, and a column of empty cells is a column.
    for (file, name, rejected) in [
        (&file, "user.land", 2),
        (&file, "other", 2),
        (&table, "empty", 1),
    ] {
        let (counted, _) = count(file, &[name]).unwrap();
        assert_eq!(counted.rejected.total(), rejected, "{name}");
    }
}

/// Fields that nobody asked for may have any name.
#[test]
fn names_with_half_a_surrogate_pair_are_no_hindrance() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(&folder, "a.jsonl");
    let release = hex::encode(record(1));
    let line = format!(r#"{{"\ud800":1,"a\udc00":NaN,"day":"x","release":"{release}"}}"#);
    fs::write(&file, line).unwrap();
    let (counted, aside) = count(&file, &["day"]).unwrap();
    assert_eq!((counted.counts.total(), aside.as_str()), (1, ""));
}

#[test]
fn made_up_outcomes_take_no_more_room_than_they_are() {
    let folder = tempfile::tempdir().unwrap();
    // Each slice has one outcome at the end of the array: arrays for all of them would take 10 GB.
    let file = path(&folder, "a.jsonl");
    let release = hex::encode(record((1 << 17) - 1));
    let lines = (0..10_000).map(|i| format!("{{\"s\":{i},\"release\":\"{release}\"}}\n"));
    fs::write(&file, lines.collect::<String>()).unwrap();
    let (found, _) = count(&file, &["s"]).unwrap();
    assert_eq!(found.counts.total(), 10_000);
    assert_eq!(found.counts.groups().count(), 10_000);
}

/// Found by fuzzing: such a file was read as CSV, but its Parquet form was refused.
#[test]
fn counts_have_no_longer_values_in_csv_than_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.csv");
    let table = |day: &str| {
        let names = "pack,mechanism,rule,epsilon,order,day,outcome,count";
        format!("{names}\n7061636b7061636b,7,2,0.5,0,{day},1,9\n")
    };
    fs::write(&path, table(&"d".repeat(256))).unwrap();
    let counts = Counts::read(&path).unwrap();
    let written = folder.path().join("counts.parquet");
    counts.write(&written).unwrap();
    assert_eq!(Counts::read(&written).unwrap(), counts);

    fs::write(&path, table(&"d".repeat(257))).unwrap();
    let error = Counts::read(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    let said = error.to_string();
    assert!(
        said.contains("line 2: the day is longer than 256 bytes"),
        "{said}"
    );
}

#[test]
fn counts_may_start_with_a_byte_order_mark() {
    let text = "pack,mechanism,rule,epsilon,order,outcome,count\n7061636b7061636b,7,2,0.5,0,1,9\n";
    let name = Path::new("counts.csv");
    let plain = Counts::from_csv(text.as_bytes(), name).unwrap();
    let marked = Counts::from_csv(format!("\u{feff}{text}").as_bytes(), name).unwrap();
    assert_eq!(marked, plain);
    assert!(Counts::from_csv(b"\xef\xbb", name).is_err());
}

/// The pack is named if it was not expected.
#[test]
fn rejected_counts_name_a_pack_that_is_another() {
    let text = "pack,mechanism,rule,epsilon,order,outcome,count\n\
        7061636b7061636b,7,2,0.5,0,1,9\n7061636b7061636b,7,2,1,0,1,8\n7061636b7061636c,7,2,1,0,1,7\n";
    let name = Path::new("counts.csv");
    let counts = Counts::from_csv(text.as_bytes(), name).unwrap();
    let mut expected = Expected::default();
    expected.pack(*b"packpack", 5, true);
    expected.epsilon("1".parse::<Epsilon>().unwrap());
    let mut counter = Counter::new(Vec::new(), expected).unwrap();
    counter.add(name, &counts).unwrap();
    let found = counter.finish().unwrap();
    assert_eq!(found.counts.total(), 8);
    let packs: Vec<_> = found.rejected.reasons().collect();
    let of = |reason: Reason| packs.iter().find(|own| own.0 == reason).unwrap().1;
    assert_eq!(of(Reason::OtherEpsilon).pack, None);
    assert_eq!(
        of(Reason::Line(BadLine::OtherPack)).pack,
        Some(*b"packpacl")
    );
}
