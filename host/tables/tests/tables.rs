//! Tests of tables as lines of JSON, and of lines of JSON as tables.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{BrotliLevel, Compression};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::file::metadata::{ParquetMetaDataBuilder, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;
use undertone::corpus::{CorpusDocument, FieldNames, LINE_LIMIT};
use undertone::error::{ErrorKind, Result};
use undertone::release::lines::{BadLine, ReleaseLine};
use undertone_tables::{Kind, Table, columns, corpus, releases};

/// The lines of a table, bad lines included.
fn lines(path: &Path) -> Vec<(u64, Result<String, BadLine>)> {
    let mut lines = undertone_tables::lines(path).unwrap();
    let mut found = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        found.push((line.number, line.text.map(str::to_owned)));
    }
    found
}

fn documents(path: &Path, names: &FieldNames) -> Vec<Result<CorpusDocument, String>> {
    let documents = corpus(path, names, None).unwrap();
    documents
        .map(|own| own.map_err(|error| error.to_string()))
        .collect()
}

/// Names of the fields of texts and labels.
fn fields(text: &str, label: &str) -> FieldNames {
    FieldNames {
        text: text.to_owned(),
        label: label.to_owned(),
        ..FieldNames::default()
    }
}

/// The message of a refusal.
fn refusal<T>(result: Result<T>) -> String {
    result.err().expect("a refusal").to_string()
}

/// Asserts that a message has these parts, and quotes no text.
fn assert_has(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "no \"{part}\" in: {error}");
    }
    assert!(!error.contains("secret"), "{error}");
}

/// The message of the refusal to read a corpus.
fn refused(path: &Path, names: &FieldNames) -> String {
    refusal(corpus(path, names, None))
}

fn put(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

type Group<'a> = SerializedRowGroupWriter<'a, File>;

fn column<T: DataType>(group: &mut Group<'_>, values: &[T::T], levels: &[i16], repeats: &[i16]) {
    let mut column = group.next_column().unwrap().unwrap();
    let typed = column.typed::<T>();
    let [levels, repeats] = [levels, repeats].map(|own| Some(own).filter(|own| !own.is_empty()));
    typed.write_batch(values, levels, repeats).unwrap();
    column.close().unwrap();
}

/// Four rows with all supported types, in two equal row groups.
fn nested(path: &Path, version: i32) {
    let schema = "message m {
        optional group body { optional binary text (STRING); required int64 n; }
        optional group words (LIST) { repeated group list { optional binary element (STRING); } }
        repeated int32 old;
        optional group map (MAP) { repeated group key_value { required binary key (STRING); optional int32 value; } }
        required int32 day (DATE);
        optional int64 price (DECIMAL(10, 2));
        optional double real;
        required fixed_len_byte_array(24) release;
        optional fixed_len_byte_array(16) own (UUID);
        optional binary raw;
        required int64 at (TIMESTAMP(MICROS, true));
        optional group lists (LIST) { repeated group list { optional group element (LIST) { repeated group list {
            required int32 element; } } } }
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let settings = match version {
        1 => WriterProperties::builder().set_dictionary_enabled(false),
        _ => WriterProperties::builder()
            .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0),
    };
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(settings.build())).unwrap();
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let release =
        |last: u8| FixedLenByteArray::from([&b"UTR\x01abcdefghijklmnopqrs"[..], &[last]].concat());
    for _ in 0..2 {
        let mut own = writer.next_row_group().unwrap();
        let group = &mut own;
        column::<ByteArrayType>(group, &[text("a\"b\n"), text("")], &[2, 1, 0, 2], &[]);
        column::<Int64Type>(group, &[1, 2, i64::MIN], &[1, 1, 0, 1], &[]);
        // The rows: two items of which one is null; no list; null; one item.
        column::<ByteArrayType>(
            group,
            &[text("x"), text("y")],
            &[3, 2, 1, 0, 3],
            &[0, 1, 0, 0, 0],
        );
        let levels = ([1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]);
        column::<Int32Type>(group, &[1, 2, 3], &levels.0, &levels.1);
        let levels = ([2, 2, 1, 0, 0], [0, 1, 0, 0, 0]);
        column::<ByteArrayType>(group, &[text("k"), text("l")], &levels.0, &levels.1);
        column::<Int32Type>(group, &[7], &[3, 2, 1, 0, 0], &[0, 1, 0, 0, 0]);
        column::<Int32Type>(group, &[0, -1, 20_779, 1], &[], &[]);
        column::<Int64Type>(group, &[150, -7], &[1, 0, 1, 0], &[]);
        column::<DoubleType>(group, &[0.5, f64::NAN, 2.25], &[1, 1, 0, 1], &[]);
        column::<FixedLenByteArrayType>(group, &[1, 2, 3, 255].map(release), &[], &[]);
        let own_id = FixedLenByteArray::from((0..16).collect::<Vec<u8>>());
        column::<FixedLenByteArrayType>(group, &[own_id], &[0, 1, 0, 0], &[]);
        let raw = [text("text"), ByteArray::from(vec![0xff, 0])];
        column::<ByteArrayType>(group, &raw, &[1, 1, 0, 0], &[]);
        column::<Int64Type>(group, &[0, -1, 1, 86_400_000_000], &[], &[]);
        let levels = ([4, 4, 4, 3, 1, 0], [0, 2, 1, 0, 0, 0]);
        column::<Int32Type>(group, &[1, 2, 3], &levels.0, &levels.1);
        own.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn rows_of_parquet_become_lines() {
    let folder = TempDir::new().unwrap();
    let start = hex::encode(b"UTR\x01abcdefghijklmnopqrs");
    let rows = [
        r#"{"body":{"text":"a\"b\n","n":1},"words":["x",null],"old":[1,2,3],"map":[{"key":"k","value":7},{"key":"l","value":null}],"day":"1970-01-01","price":1.50,"real":0.5,"release":"RELEASE01","own":null,"raw":"text","at":"1970-01-01T00:00:00.000000Z","lists":[[1,2],[3]]}"#,
        r#"{"body":{"text":null,"n":2},"words":[],"old":[],"map":[],"day":"1969-12-31","price":null,"real":null,"release":"RELEASE02","own":"00010203-0405-0607-0809-0a0b0c0d0e0f","raw":"ff00","at":"1969-12-31T23:59:59.999999Z","lists":[[]]}"#,
        r#"{"body":null,"words":null,"old":[],"map":null,"day":"2026-11-22","price":-0.07,"real":null,"release":"RELEASE03","own":null,"raw":null,"at":"1970-01-01T00:00:00.000001Z","lists":[]}"#,
        r#"{"body":{"text":"","n":-9223372036854775808},"words":["y"],"old":[],"map":null,"day":"1970-01-02","price":null,"real":2.25,"release":"RELEASEff","own":null,"raw":null,"at":"1970-01-02T00:00:00.000000Z","lists":null}"#,
    ];
    let rows = rows.map(|row| Ok(row.replace("RELEASE", &start)));
    let expected: Vec<_> = (1..).zip([&rows[..], &rows].concat()).collect();
    for version in [1, 2] {
        // The contents identify Parquet, whatever the name.
        for name in ["n.parquet", "n.jsonl"] {
            let path = folder.path().join(name);
            nested(&path, version);
            assert_eq!(lines(&path), expected);
        }
    }
    // Read as a corpus with nested fields. The second row has no text.
    let path = folder.path().join("n.parquet");
    let names = FieldNames {
        id: "body.n".to_owned(),
        ..fields("body.text", "day")
    };
    let found = documents(&path, &names);
    let first = found[0].as_ref().unwrap();
    assert_eq!(seen(first), (1, "1", Some("1970-01-01"), "a\"b\n"));
    let error = found[1].as_ref().unwrap_err();
    assert!(error.contains("line 2: no field \"body.text\""), "{error}");
    assert_eq!(found.len(), 2);
    let keep = ["map".to_owned(), "body.text".to_owned()];
    let kept = corpus(&path, &names, Some(&keep)).unwrap().next().unwrap();
    let expected =
        r#""id":1,"map":[{"key":"k","value":7},{"key":"l","value":null}],"body.text":"a\"b\n""#;
    assert_eq!(kept.unwrap().kept, expected);
    // Only the column of the text is required; its absence is found before any row is read.
    for text in ["x", "body.x"] {
        let error = refused(&path, &fields(text, "y"));
        let part = format!("no column `{text}`, only body.text, body.n");
        assert!(error.contains(&part), "{error}");
    }
}

/// The line, id, label and text of a document.
fn seen(document: &CorpusDocument) -> (u64, &str, Option<&str>, &str) {
    let label = document.label.as_deref();
    (document.line, &document.id, label, &document.text)
}

#[test]
fn records_of_csv_become_lines() {
    let folder = TempDir::new().unwrap();
    // A byte order mark, carriage returns, a blank line, quoted commas, quotation marks and line
    // ends, and an empty cell.
    let content =
        "\u{feff}\"id\",\"a.b\",text\r\n1,\"x, \"\"y\"\"\",one\r\n\r\n2,,\"two\nlines\"\r\n3,z,";
    let path = put(&folder, "a.csv", content);
    let expected = [
        (2, r#"{"id":"1","a.b":"x, \"y\"","text":"one"}"#),
        (4, r#"{"id":"2","text":"two\nlines"}"#),
        (6, r#"{"id":"3","a.b":"z"}"#),
    ];
    let expected = expected.map(|(line, text)| (line, Ok(text.to_owned())));
    assert_eq!(lines(&path), expected);
    // An empty text is valid.
    let found = documents(&path, &fields("text", "a.b"));
    let found = found.iter().map(|own| seen(own.as_ref().unwrap()));
    assert!(found.eq([
        (2, "1", Some("x, \"y\""), "one"),
        (4, "2", None, "two\nlines"),
        (6, "3", Some("z"), ""),
    ]));
    assert!(lines(&put(&folder, "b.csv", "")).is_empty());
    assert!(lines(&put(&folder, "b.csv", "a,b\n")).is_empty());
}

/// A bad record ends a corpus with its line number; releases continue.
#[test]
fn bad_records_of_csv() {
    let folder = TempDir::new().unwrap();
    let long = "secret ".repeat(LINE_LIMIT / 7 + 300_000);
    let huge = format!("text,x\n\"{long}");
    let unclosed = "a quotation mark is not closed";
    let after = "text follows a closing quotation mark";
    // The number is that of the line that ends the reading, or 0 if nothing is read.
    let cases: [(&[u8], u64, &str); 21] = [
        (
            b"text,x\nfine,1\nsecret, with a comma,1\nfine,1\n",
            3,
            "3 fields, and the first line has 2",
        ),
        (
            b"text,x\nfine,1\nsecret\xff,1\nfine,1\n",
            0,
            // An offset within the line of JSON would mean nothing in the CSV file.
            "line 3: a cell is not UTF-8; convert",
        ),
        (b"body,x\nsecret,1\n", 0, "names no column `text`"),
        (b"secret,x\n", 0, "names no column `text`"),
        (b"", 0, "it is empty"),
        (
            b"text,label\nfine,1\ntext,label\nsecret,1\n",
            3,
            "it names the columns again",
        ),
        (
            b"text,label\nfine, \"secret\"\n",
            0,
            "line 2: the label is in quotation marks",
        ),
        // Bare carriage returns, so that the file is one line.
        (
            b"text,id\rsecret a,1\r",
            0,
            "its first line has a carriage return without a line feed",
        ),
        // Cut off inside quotation marks.
        (
            b"text,x\nfine,1\n\n\"a\nb\",\"secret \"\" and\nmore",
            5,
            "a quotation mark is not closed; is the file cut off?",
        ),
        (b"text,x\r\n\"fine\",1\r\n\"secret,1\r\n", 3, unclosed),
        (
            b"text,\"secret\nfine,1\n",
            0,
            "on its first line a quotation mark is not closed",
        ),
        (b"text,x\nfine,\"", 2, unclosed),
        // Text after a closing quotation mark, which a cell of several lines may swallow.
        (
            b"text,x\nfine,1\n\"secret, a\nsecret b,1\n\"secret c\",1\nfine,1\n",
            3,
            "text follows a closing quotation mark; write each mark",
        ),
        (b"text,x\nfine,1\n1,\"He \\\"secret\\\"\"\n", 3, after),
        (b"text,x\n\"secret\" \"more\",1\n", 2, after),
        (b"text,x\n\"secret\"\rmore,1\n", 2, after),
        (b"text,x\n\"\"secret\"\",1\n", 2, after),
        (
            b"\"text\"secret,x\nfine,1\n",
            0,
            "on its first line text follows a closing quotation mark",
        ),
        (
            huge.as_bytes(),
            2,
            "a record is longer than 16777216 bytes; is a quotation mark missing",
        ),
        (
            b"secret,secret\nx,y\n",
            0,
            "its first line must name the columns, and column 2",
        ),
        (b"secret\xff,x\nx,y\n", 0, "its first line is not UTF-8"),
    ];
    for (content, line, part) in cases {
        let part = match line {
            0 => part.to_owned(),
            _ => format!("line {line}: cannot read on: {part}"),
        };
        let path = put(&folder, "a.csv", content);
        let error = match corpus(&path, &FieldNames::default(), None) {
            Err(error) => error,
            Ok(corpus) => corpus.filter_map(Result::err).next().expect(&part),
        };
        assert_eq!(error.kind(), ErrorKind::Input);
        assert_has(&error.to_string(), &[&part]);
    }
    let comma = r#"["secret"," with a comma","1"]"#;
    for (content, bad) in [
        (cases[0].0, Ok(comma.to_owned())),
        (cases[1].0, Err(BadLine::NotUtf8)),
    ] {
        let found = lines(&put(&folder, "a.csv", content));
        assert!(found.iter().map(|own| own.0).eq([2, 3, 4]));
        assert_eq!(found[1].1, bad);
    }
}

/// A file that is cut off inside quotation marks loses that record and reports it. The rejects
/// report it again.
#[test]
fn releases_that_are_cut_off() {
    let folder = TempDir::new().unwrap();
    let start = "id,release\nx,00\n";
    let path = put(&folder, "a.csv", format!("{start}\"y\nz\",\"00\n"));
    let mut own = releases(&path).unwrap();
    let first = own.next_line().unwrap().unwrap();
    assert_eq!((first.number, first.text.is_ok()), (2, true));
    let last = own.next_line().unwrap().unwrap();
    // The line of the quotation mark.
    assert_eq!(last.number, 4);
    let text = last.text.unwrap();
    let expected = r#"{"a quotation mark is not closed":["y\nz","00\n"]}"#;
    assert_eq!(text, expected);
    let bad = ReleaseLine::parse(text).err().unwrap();
    assert_eq!(bad, BadLine::Unclosed);
    assert!(own.next_line().unwrap().is_none());
    // Complete files may end with a quotation mark, a line end, or neither.
    for end in ["\"y\",\"00\"", "\"y\",\"00\"\r\n", "y,00", "y,"] {
        let found = lines(&put(&folder, "a.csv", format!("{start}{end}")));
        assert_eq!(found.len(), 2, "{end}");
        assert!(found[1].1.as_ref().unwrap().starts_with("{\"id\":\"y\""));
    }
    // A missing quotation mark makes one record of the rest, which exceeds the limit.
    let long = format!("{start}y,\"00\n{}", "secret,00\n".repeat(200_000));
    let mut own = releases(&put(&folder, "a.csv", long)).unwrap();
    own.next_line().unwrap();
    let error = own.next_line().err().unwrap().to_string();
    assert_has(&error, &["a quotation mark is not closed"]);
    // Text after a closing mark: the records that the cell swallowed are rejected, no others.
    let content = format!("{start}\"b,00\n\"c\",00\nd,\"0\"0\ne,00\n");
    let found = lines(&put(&folder, "a.csv", content));
    let found: Vec<_> = found
        .iter()
        .map(|(n, text)| (*n, text.as_deref()))
        .collect();
    let expected = [
        (2, r#"{"id":"x","release":"00"}"#),
        (
            3,
            r#"{"text follows a closing quotation mark":["b,00\nc\"","00"]}"#,
        ),
        (5, r#"{"text follows a closing quotation mark":["d","00"]}"#),
        (6, r#"{"id":"e","release":"00"}"#),
    ];
    assert_eq!(found, expected.map(|(line, text)| (line, Ok(text))));
    let bad = ReleaseLine::parse(expected[2].1).err();
    assert_eq!(bad, Some(BadLine::AfterMark));
    let error = refusal(releases(&put(&folder, "a.tsv", "id\trelease\n")));
    assert!(error.contains("not read from .tsv"), "{error}");
    for content in ["id,txt\n", "id,txt\nsecret,x\n"] {
        let error = refusal(releases(&put(&folder, "a.csv", content)));
        assert_has(&error, &["names no column `release`"]);
    }
    let error = refusal(releases(&put(&folder, "a.csv", "release,id\rsecret,x\r")));
    assert!(error.contains("without a line feed"), "{error}");
}

/// One row of one column of this type.
fn one<T: DataType>(
    folder: &TempDir,
    kind: &str,
    values: &[T::T],
    compression: Compression,
) -> PathBuf {
    let path = folder.path().join("one.parquet");
    let schema = format!(
        "message m {{ required fixed_len_byte_array(24) release; required binary text (STRING); required {kind}; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let settings = WriterProperties::builder().set_column_compression("x".into(), compression);
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(settings.build())).unwrap();
    let mut own = writer.next_row_group().unwrap();
    let rows = values.len();
    let release = FixedLenByteArray::from(b"UTR\x01abcdefghijklmnopqrst".to_vec());
    column::<FixedLenByteArrayType>(&mut own, &vec![release; rows], &[], &[]);
    column::<ByteArrayType>(&mut own, &vec![ByteArray::from("t"); rows], &[], &[]);
    column::<T>(&mut own, values, &[], &[]);
    own.close().unwrap();
    writer.close().unwrap();
    path
}

/// The values of column `x`.
fn values(path: &Path) -> Vec<String> {
    let found = lines(path).into_iter().map(|(_, line)| line.unwrap());
    let value = |line: String| line.split_once("\"x\":").unwrap().1.to_owned();
    found
        .map(|line| value(line).trim_end_matches('}').to_owned())
        .collect()
}

/// Columns as other programs rewrite them.
#[test]
fn decimals_in_bytes_and_times_are_read() {
    let folder = TempDir::new().unwrap();
    let plain = Compression::UNCOMPRESSED;
    let bytes = |number: i128, length: usize| {
        FixedLenByteArray::from(number.to_be_bytes()[16 - length..].to_vec())
    };
    for kind in ["x (DECIMAL(10, 6))", "x (DECIMAL(11, 6))"] {
        let kind = format!("fixed_len_byte_array(5) {kind}");
        let own = [500_001, -1, 9_999_999_999].map(|number| bytes(number, 5));
        let path = one::<FixedLenByteArrayType>(&folder, &kind, &own, plain);
        assert_eq!(values(&path), ["0.500001", "-0.000001", "9999.999999"]);
    }
    let most = 10i128.pow(38) - 1;
    let own = [most, -most].map(|number| bytes(number, 16));
    let kind = "fixed_len_byte_array(16) x (DECIMAL(38, 2))";
    let path = one::<FixedLenByteArrayType>(&folder, kind, &own, plain);
    let nines = "9".repeat(36);
    let expected = [format!("{nines}.99"), format!("-{nines}.99")];
    assert_eq!(values(&path), expected);
    let kind = "int32 x (TIME(MILLIS, true))";
    let path = one::<Int32Type>(&folder, kind, &[43_261_007, 0], plain);
    assert_eq!(values(&path), ["\"12:01:01.007\"", "\"00:00:00.000\""]);
    let kind = "int64 x (TIME(NANOS, false))";
    let path = one::<Int64Type>(&folder, kind, &[86_399_999_999_999], plain);
    assert_eq!(values(&path), ["\"23:59:59.999999999\""]);
}

/// The message about an unsupported column describes its type and a remedy.
#[test]
fn columns_that_are_not_read_are_named() {
    let folder = TempDir::new().unwrap();
    let plain = Compression::UNCOMPRESSED;
    for (length, kind, part) in [
        (
            17,
            "DECIMAL(39, 6)",
            "decimals of 39 digits, 6 of them after the point, in 17 bytes each",
        ),
        (2, "FLOAT16", "numbers of half precision (float16)"),
        (12, "INTERVAL", "intervals of time"),
    ] {
        let part = &format!("its column `x` holds {part}, which are not read");
        let kind = format!("fixed_len_byte_array({length}) x ({kind})");
        let own = [FixedLenByteArray::from(vec![1; length])];
        let path = one::<FixedLenByteArrayType>(&folder, &kind, &own, plain);
        let error = refusal(releases(&path));
        assert_has(&error, &[part, "write the file without this one"]);
        assert!(!error.contains("FIXED"), "{error}");
        // A corpus ignores the column unless a field name selects it.
        assert_eq!(documents(&path, &FieldNames::default()).len(), 1);
        let error = refused(&path, &fields("text", "x"));
        assert_has(&error, &[part, "name another column"]);
    }
}

/// A complete file with an unsupported compression.
#[test]
fn compression_that_is_not_read_is_named() {
    let folder = TempDir::new().unwrap();
    let kind = "int32 x";
    let path = one::<Int32Type>(&folder, kind, &[7, 8], Compression::UNCOMPRESSED);
    let whole = fs::read(&path).unwrap();
    let meta = columns::open(&path).unwrap();
    let group = meta.metadata().row_group(0);
    for (codec, name) in [
        (Compression::LZ4, "LZ4"),
        (Compression::LZ4_RAW, "LZ4"),
        (Compression::BROTLI(BrotliLevel::default()), "Brotli"),
        (Compression::LZO, "LZO"),
    ] {
        // Only the metadata changes; the pages stay.
        let column = group.column(2).clone().into_builder();
        let column = column.set_compression(codec).build().unwrap();
        let columns = vec![group.column(0).clone(), group.column(1).clone(), column];
        let group = group.clone().into_builder().set_column_metadata(columns);
        let meta = ParquetMetaDataBuilder::new(meta.metadata().file_metadata().clone());
        let meta = meta.add_row_group(group.build().unwrap()).build();
        let mut bytes = whole.clone();
        let footer = u32::from_le_bytes(whole[whole.len() - 8..][..4].try_into().unwrap());
        bytes.truncate(whole.len() - 8 - footer as usize);
        ParquetMetaDataWriter::new(&mut bytes, &meta)
            .finish()
            .unwrap();
        let path = put(&folder, "packed.parquet", &bytes);
        let error = refusal(releases(&path));
        let part = format!("its column `x` is compressed with {name}, which is not read; write");
        assert!(error.contains(&part), "{error}");
        assert_eq!(documents(&path, &FieldNames::default()).len(), 2);
    }
}

/// The header of the first page of the column `x`, and the whole file.
fn first_page(path: &Path) -> (usize, Vec<u8>) {
    let meta = columns::open(path).unwrap();
    let (start, _) = meta.metadata().row_group(0).column(2).byte_range();
    (start.try_into().unwrap(), fs::read(path).unwrap())
}

#[test]
fn pages_that_are_not_read_are_named() {
    let folder = TempDir::new().unwrap();
    let large = [ByteArray::from(vec![b'a'; 33 << 20])];
    let zstandard = Compression::ZSTD(Default::default());
    let path = one::<ByteArrayType>(&folder, "binary x", &large, zstandard);
    assert!(fs::metadata(&path).unwrap().len() < 50_000);
    let failed = |path: &Path, part: &str| {
        let mut lines = releases(path).unwrap();
        let error = lines.next_line().err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    };
    failed(&path, "would unpack to 346");
    // As large, but hardly compressed.
    let plain = one::<ByteArrayType>(&folder, "binary x", &large, Compression::UNCOMPRESSED);
    assert!(releases(&plain).unwrap().next_line().unwrap().is_some());

    let path = one::<Int32Type>(&folder, "int32 x", &[7, 8], Compression::UNCOMPRESSED);
    let (start, mut bytes) = first_page(&path);
    bytes[start..start + 4].copy_from_slice(&43u32.to_le_bytes());
    let encrypted = put(&folder, "encrypted.parquet", &bytes);
    failed(&encrypted, "its pages are encrypted");
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(b"PARE");
    bytes[..4].copy_from_slice(b"PARE");
    let error = refusal(releases(&put(&folder, "footer", &bytes)));
    assert!(error.contains("its footer is encrypted"), "{error}");
}

/// Two rows with checksums of their pages, as pyarrow 26 writes them.
const CHECKED: &str = "
    504152311500158a01158a0115d1d19bff021c15041500150615061c0000000200000004012300000054686520646f63
    746f722063616c6c65642061626f7574207468652062696f7073792e14000000546f6d61746f6573206e656564207761
    7465722e1500152015201598d2a8b2031c15041500150615061c00000002000000040101000000610100000062150419
    3c35001806736368656d61150400150c250218047465787425004c1c000000150c25021802696425004c1c0000001604
    191c192c26001c150c19250600191804746578741500160416c00116c0012608491c150015001502003c166e19061926
    000400000026001c150c192506001918026964150016041652165226c801491c150015001502003c1604190619260004
    0000001692021604260816920200191c180c4152524f573a736368656d6118d8012f2f2f2f2f35674141414151414141
    414141414b41417741426741464141674143674141414141424241414d41414141434141494141414142414149414141
    414241414141414941414141384141414142414141414e7a2f2f2f384141414546454141414142514141414145414141
    414141414141414941414142705a41414179502f2f2f78414146414149414159414277414d4141414145414151414141
    414141414242524141414141634141414142414141414141414141414541414141644756346441414141414145414151
    414241414141413d3d001820706172717565742d6370702d6172726f772076657273696f6e2032362e302e31192c1c00
    001c000000b801000050415231
";

/// One letter is changed after the checksum was made.
#[test]
fn a_wrong_checksum_is_an_error() {
    let folder = TempDir::new().unwrap();
    let mut bytes = hex::decode(CHECKED.replace(char::is_whitespace, "")).unwrap();
    let names = FieldNames::default();
    let path = put(&folder, "good.parquet", &bytes);
    assert_eq!(documents(&path, &names).len(), 2);
    bytes[50] ^= 1;
    let found = documents(&put(&folder, "bad.parquet", &bytes), &names);
    let error = found[0].as_ref().unwrap_err();
    assert!(error.contains("differs from its checksum"), "{error}");
}

#[test]
fn a_column_in_other_capitals_is_named() {
    let folder = TempDir::new().unwrap();
    let path = one::<Int32Type>(&folder, "int32 x", &[7], Compression::UNCOMPRESSED);
    let table = put(&folder, "a.csv", "Text,label\na,b\n");
    let empty = folder.path().join("empty.parquet");
    let schema = Arc::new(parse_message_type("message m { }").unwrap());
    let writer = SerializedFileWriter::new(File::create(&empty).unwrap(), schema, Arc::default());
    writer.unwrap().close().unwrap();
    for (path, text, parts) in [
        (
            &path,
            "TEXT",
            &["no column `TEXT`", "`text`, which differs in capitals"][..],
        ),
        (&path, "body", &["no column `body`, only release, text, x"]),
        (&table, "text", &["`Text`, which differs in capitals"]),
        (&empty, "text", &["it has no column at all"]),
    ] {
        let error = refused(path, &fields(text, "label"));
        assert_has(&error, parts);
        // An id may be missing.
        assert!(!error.contains(" id"), "{error}");
    }
}

#[test]
fn the_character_that_parts_columns_is_named() {
    let folder = TempDir::new().unwrap();
    let sep = "which character parts the columns (`sep=`)";
    let [semicolons, tabulators, bars, control, wide] = [
        "semicolons",
        "tabulators",
        "vertical bars",
        "U+0001",
        "U+FF0C",
    ]
    .map(|own| format!("{own} between the names, and not commas"));
    for (content, part) in [
        ("text;label\nhello;x\n", &*semicolons),
        ("text;label;note (a, b)\nhello;x;y\n", &semicolons),
        ("\"text\";\"label\"\nhello;x\n", &semicolons),
        ("text\tlabel\nhello\tx\n", &tabulators),
        ("text|label\nhello|x\n", &bars),
        ("text\u{1}label\nhello\u{1}x\n", &control),
        ("text，label\nhello，x\n", &wide),
        ("SEP=;\ntext;label\nhello;x\n", sep),
        ("sep = \t\ntext\tlabel\nhello\tx\n", sep),
        ("sep=;\ntext;label\nhello;x\n", sep),
        ("sep=,\ntext,label\nhello,x\n", sep),
    ] {
        let error = refused(&put(&folder, "a.csv", content), &FieldNames::default());
        assert_has(&error, &[part]);
    }
    // A long text in the place of names is read once, not for each of its marks.
    let long = format!("\"{}\",x\n", "A secret, it is! ".repeat(50_000));
    let error = refused(&put(&folder, "a.csv", long), &FieldNames::default());
    assert!(error.contains("no column `text`"), "{error}");
}

#[test]
fn blanks_after_marks_and_marks_in_labels_are_read() {
    let folder = TempDir::new().unwrap();
    let content = concat!(
        "label,text\n\"sport\",\"The ball\" \n\"sport\" ,\"tomatoes\"\t\r\n",
        "\"\"\"Heroes\"\" and \"\"Villains\"\"\",film\n“Heroes”,film\n\"garden\", \"tomatoes\"\n",
        "sport, \"ball\"\n garden,soup\n \"garden\",soup\n",
    );
    let path = put(&folder, "a.csv", content);
    let found = documents(&path, &FieldNames::default());
    let labels = found.iter().flatten().map(|own| own.label.as_deref());
    let expected = [
        "sport",
        "sport ",
        "\"Heroes\" and \"Villains\"",
        "“Heroes”",
        "garden",
        "sport",
        " garden",
    ];
    assert!(labels.eq(expected.map(Some)), "{found:?}");
    let error = found.last().unwrap().as_ref().unwrap_err();
    assert!(error.contains("the label is in quotation marks"), "{error}");
}

/// Invalid UTF-8 in a corpus is an error as in other formats, and becomes digits beside a release.
#[test]
fn a_text_of_bytes_must_be_utf_8() {
    let folder = TempDir::new().unwrap();
    let own = [ByteArray::from("fine"), ByteArray::from(vec![b's', 0xff])];
    let path = one::<ByteArrayType>(&folder, "binary x", &own, Compression::UNCOMPRESSED);
    let found = documents(&path, &fields("x", "label"));
    assert_eq!(found[0].as_ref().unwrap().text, "fine");
    let error = found[1].as_ref().unwrap_err();
    assert!(error.contains("line 2: a cell is not UTF-8"), "{error}");
    assert_eq!(values(&path), ["\"fine\"", "\"73ff\""]);
}

fn table(folder: &TempDir, name: &str, kinds: &[(&'static str, Kind)], lines: &str) -> PathBuf {
    let path = folder.path().join(name);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    let table = Table::of(&path, kinds).unwrap().expect("a table");
    table.settled(&mut file, &path).unwrap().commit().unwrap();
    path
}

/// Written lines are read back unchanged, with more rows than a row group.
#[test]
fn lines_become_tables_and_lines_again() {
    let folder = TempDir::new().unwrap();
    let kinds = [
        ("release", Kind::Release),
        ("words", Kind::Texts),
        ("epsilon", Kind::Epsilon),
        ("numbers", Kind::Singles),
    ];
    let release = hex::encode(b"UTR\x01abcdefghijklmnopqrst");
    let whole = |n: u32| match n % 3 {
        0 => "null".to_owned(),
        _ => n.to_string(),
    };
    let row = |n: u32| {
        let whole = whole(n);
        let mixed = match n % 2 {
            0 => format!("\"{n}\""),
            _ => n.to_string(),
        };
        format!(
            "{{\"id\":{n},\"release\":\"{release}\",\"words\":[\"a,\\\"b\",\"{n}\"],\"epsilon\":0.500001,\"real\":{n}.5,\"whole\":{whole},\
             \"mixed\":{mixed},\"long\":12345678901234567890,\"object\":{{\"x\": [1]}},\"true\":{},\"numbers\":[0.1,-2]}}\n",
            n.is_multiple_of(5)
        )
    };
    let written: String = (0..70_000).map(row).collect();
    let path = table(&folder, "t.parquet", &kinds, &written);
    let found = lines(&path);
    assert_eq!(found.len(), 70_000);
    for (n, (number, line)) in (0u32..).zip(&found) {
        let line = line.as_ref().unwrap();
        let whole = whole(n);
        let expected = format!(
            "{{\"id\":{n},\"release\":\"{release}\",\"words\":[\"a,\\\"b\",\"{n}\"],\"epsilon\":0.500001,\"real\":{n}.5,\"whole\":{whole},\
             \"mixed\":\"{n}\",\"long\":\"12345678901234567890\",\"object\":\"{{\\\"x\\\": [1]}}\",\"true\":{},\"numbers\":[0.1,-2.0]}}",
            n.is_multiple_of(5)
        );
        assert_eq!((*number, line), (u64::from(n) + 1, &expected));
    }
    let path = table(&folder, "t.csv", &kinds, &written);
    let content = fs::read_to_string(path).unwrap();
    let mut content = content.lines();
    assert_eq!(
        content.next(),
        Some("id,release,words,epsilon,real,whole,mixed,long,object,true,numbers")
    );
    let expected = format!(
        "4,{release},\"[\"\"a,\\\"\"b\"\",\"\"4\"\"]\",0.500001,4.5,4,4,12345678901234567890,\"{{\"\"x\"\": [1]}}\",false,\"[0.1,-2]\""
    );
    assert_eq!(content.nth(4), Some(expected.as_str()));
    // A table without rows has the known columns.
    let empty = table(&folder, "e.csv", &kinds, "");
    assert_eq!(
        fs::read_to_string(empty).unwrap(),
        "release,words,epsilon,numbers\n"
    );
    assert!(lines(&table(&folder, "e.parquet", &kinds, "")).is_empty());
    // A byte order mark that belongs to the first name.
    let marked = table(&folder, "b.csv", &[], "{\"\u{feff}a\":1,\"b\":null}\n");
    let text = |own: (u64, Result<String, BadLine>)| own.1.unwrap();
    let found = lines(&marked).into_iter().map(text);
    assert!(found.eq(["{\"\u{feff}a\":\"1\"}"]));
    // A column of numbers, one of which has a fraction.
    let path = table(
        &folder,
        "m.parquet",
        &[],
        "{\"a\":1}\n{\"b\":true}\n{\"a\":2.5,\"b\":null}\n",
    );
    let found = lines(&path).into_iter().map(text);
    assert!(found.eq([
        r#"{"a":1.0,"b":null}"#,
        r#"{"a":null,"b":true}"#,
        r#"{"a":2.5,"b":null}"#
    ]));
}

#[test]
fn tables_that_cannot_be_written_are_refused() {
    let folder = TempDir::new().unwrap();
    for name in ["a.csv.gz", "a.Parquet.GZ"] {
        let error = Table::of(&folder.path().join(name), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
    }
    for name in ["a.jsonl", "a.jsonl.gz", "csv", "a.txt"] {
        assert!(Table::of(&folder.path().join(name), &[]).unwrap().is_none());
    }
    let path = folder.path().join("a.csv");
    let fields: Vec<String> = (0..1001).map(|n| format!("\"f{n}\":1")).collect();
    let mut file = tempfile::tempfile().unwrap();
    writeln!(file, "{{{}}}", fields.join(",")).unwrap();
    let table = Table::of(&path, &[]).unwrap().unwrap();
    let error = refusal(table.settled(&mut file, &path));
    assert!(error.contains("more than 1000 different fields"), "{error}");
    assert!(!path.exists());
}

#[test]
fn files_that_are_no_whole_parquet_are_named() {
    let folder = TempDir::new().unwrap();
    let inner = folder.path().join("f.parquet");
    fs::create_dir(&inner).unwrap();
    let error = refusal(releases(&inner));
    assert!(error.contains("is a folder"), "{error}");
    let whole = folder.path().join("w.parquet");
    nested(&whole, 2);
    let whole = fs::read(whole).unwrap();
    let (pages, footer) = whole.split_at(whole.len() - 40);
    for (content, part) in [
        (&b"text,label\na,b\n"[..], "does not begin as Parquet"),
        (b"", "does not begin as Parquet"),
        (b"PAR1\x15\x04", "is the file cut off?"),
        (
            b"PAR1\0\0\0\x7fPAR1",
            "its footer is damaged; fetch the file again",
        ),
        (b"PAR1\xff\xff\x02\0\0\0PAR1", "its footer is damaged"),
        (
            &[pages, &[0xff; 9], &footer[9..]].concat(),
            "its footer is damaged",
        ),
        (
            &[&whole[..], &whole].concat(),
            "several Parquet files one after the other",
        ),
    ] {
        let path = put(&folder, "n.parquet", content);
        let error = refusal(releases(&path));
        assert!(error.contains(part), "{error}");
    }
    // A device has no end, as a pipe.
    let error = refusal(columns::open(Path::new("/dev/null")));
    let is_named = error.contains("which a pipe lacks");
    assert!(is_named || !cfg!(unix), "{error}");
}

/// Damaged files cause no panic, and no error that quotes a text.
#[test]
fn damaged_parquet_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("n.parquet");
    nested(&path, 2);
    let whole = fs::read(&path).unwrap();
    let silent = std::panic::take_hook();
    // Silences the panics of the Parquet library on some of these files.
    std::panic::set_hook(Box::new(|_| ()));
    let mut errors = 0;
    let mut check = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let read = releases(&path).and_then(|mut lines| {
            let mut left = 100;
            while left > 0 && lines.next_line()?.is_some() {
                left -= 1;
            }
            Ok(())
        });
        if let Err(error) = read {
            let error = error.to_string();
            let is_quoted = error.contains("abcdef") || error.contains('\\');
            assert!(!error.is_empty() && !is_quoted, "{error}");
            errors += 1;
        }
    };
    for cut in (0..whole.len()).step_by(97) {
        check(&whole[..cut]);
    }
    for place in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        check(&bytes);
    }
    std::panic::set_hook(silent);
    assert!(errors > 100, "{errors}");
}
