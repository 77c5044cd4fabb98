//! Reading corpora.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use undertone::Result;
use undertone::corpus::{Corpus, CorpusDocument, FieldNames, LINE_LIMIT};
use undertone::error::{ErrorKind, LineProblem};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// The documents, without their lines.
fn read(path: &Path) -> Result<Vec<CorpusDocument>> {
    let without_line = |document: Result<_>| {
        Ok(CorpusDocument {
            line: 0,
            ..document?
        })
    };
    Corpus::open(path)?.map(without_line).collect()
}

fn document(id: &str, label: Option<&str>, text: &str) -> CorpusDocument {
    CorpusDocument {
        id: id.to_owned(),
        label: label.map(str::to_owned),
        text: text.to_owned(),
        ..CorpusDocument::default()
    }
}

/// The line and problem of the first error; no message may quote the file's `secret`.
fn problem(path: &Path) -> (u64, String) {
    let error = read(path).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("secret"), "{shown}");
    assert!(error.cause::<LineProblem>().is_some());
    let message = error.to_string();
    let rest = message.strip_prefix(&format!("`{}` line ", path.display()));
    let (line, problem) = rest.and_then(|rest| rest.split_once(": ")).expect("a line");
    (line.parse().unwrap(), problem.to_owned())
}

#[test]
fn reads_json_lines() {
    let folder = Folder::new();
    let lines = concat!(
        "\u{feff}{\"text\": \"One.\", \"id\": \"a\", \"label\": \"x\"}\r\n",
        "\n  \t\n",
        "{\"more\": [{\"text\": 1}], \"text\": \"T\\u00e4 \\n\\\"2\\\"\", \"label\": -3}\n",
        "{\"id\": 12345678901234567890123, \"label\": null, \"text\": \"\"}",
    );
    let expected = [
        document("a", Some("x"), "One."),
        document("line-4", Some("-3"), "Tä \n\"2\""),
        document("12345678901234567890123", None, ""),
    ];
    assert_eq!(read(&folder.write("a.jsonl", lines)).unwrap(), expected);
    // Two gzip members one after the other are one file.
    let (first, second) = lines.as_bytes().split_at(60);
    let zipped = [gzip(first), gzip(second)].concat();
    assert_eq!(read(&folder.write("a.jsonl.gz", zipped)).unwrap(), expected);
    assert_eq!(read(&folder.write("empty.jsonl", "")).unwrap(), []);
}

#[test]
fn reads_tab_separated_lines() {
    let folder = Folder::new();
    let lines = "pos\tgood film\r\n\n\tno label\nneg\ta \"quote\tand tab\n";
    let expected = [
        document("line-1", Some("pos"), "good film"),
        document("line-3", None, "no label"),
        document("line-4", Some("neg"), "a \"quote\tand tab"),
    ];
    assert_eq!(read(&folder.write("a.tsv", lines)).unwrap(), expected);
    let zipped = folder.write("a.tsv.gz", gzip(lines.as_bytes()));
    assert_eq!(read(&zipped).unwrap(), expected);
}

#[test]
fn content_says_whether_a_file_is_compressed_and_an_empty_label_is_none() {
    let folder = Folder::new();
    let lines = "{\"label\": \"\", \"text\": \"One.\"}\n{\"label\": \"x\", \"text\": \"Two.\"}\n";
    let expected = [
        document("line-1", None, "One."),
        document("line-2", Some("x"), "Two."),
    ];
    for bytes in [lines.into(), gzip(lines.as_bytes())] {
        assert_eq!(read(&folder.write("a.jsonl", &bytes)).unwrap(), expected);
        let stream = Corpus::json_lines(Path::new("stream"), std::io::Cursor::new(bytes)).unwrap();
        let lines: Vec<u64> = stream.map(|document| document.unwrap().line).collect();
        assert_eq!(lines, [1, 2]);
    }
}

/// Python writes NaN and infinities, and half surrogates where it cuts an emoji.
#[test]
fn fields_that_nobody_asked_for_may_be_anything() {
    let folder = Folder::new();
    let lines = concat!(
        r#"{"text": "One NaN.", "score": NaN, "more": {"a": [-Infinity]}}"#,
        "\n",
        r#"{"text": "Two.", "label": NaN, "name": "\ud83d", "more": {"b": "\udc00"}}"#,
        "\n",
    );
    let expected = [
        document("line-1", None, "One NaN."),
        document("line-2", None, "Two."),
    ];
    assert_eq!(read(&folder.write("a.jsonl", lines)).unwrap(), expected);
    let path = folder.write("text.jsonl", r#"{"text": NaN, "more": "secret"}"#);
    let (_, problem) = problem(&path);
    assert!(problem.starts_with("no field \"text\""), "{problem}");
}

#[test]
fn first_lines_that_name_columns_and_quoted_labels_are_refused() {
    let folder = Folder::new();
    for (line, is_header) in [
        ("label\ttext", true),
        ("\nTarget\ttext", true),
        ("# category\tbody", true),
        ("Text\tLABEL", true),
        ("id\ttweet\tsubtask_a", true),
        ("Emotion\ttext", true),
        ("sms\tlabel_id", true),
        ("Kategorie\tText", true),
        ("v1\tv2", true),
        ("airline_sentiment\ttweet_text", true),
        ("text\tid", true),
        ("idx\tlabel\tstory", true),
        ("\"garden\"\t\"A secret, \"\"here\"\".\"", false),
        ("'garden'\tA secret.", false),
    ] {
        let lines = format!("{line}\n{}", "garden\tA secret.\n".repeat(2));
        let (number, problem) = problem(&folder.write("a.tsv", lines));
        assert_eq!(number, 1 + u64::from(line.starts_with('\n')));
        let part = if is_header {
            "it names columns"
        } else {
            "the label is in quotation marks"
        };
        assert!(problem.starts_with(part), "{line}: {problem}");
    }
    // A sentence, a label that another document has, a number, a later line, or the first of
    // documents with labels of their own is no header.
    for lines in [
        "label\tA text.\n",
        "garden\ttext\nball\tOne.\ngarden\tTwo.\nlabel\ttext\n",
        "garden\tsoup\nlabel\ttext\n",
        "5\ttext\nball\tOne.\n",
        "\ttext\n\tmore\n",
        "garden\tA text.\rIts end.\r\r\n",
        "sep=2\tA text.\n",
        "news\tHello\n",
        "topic-1\tsoccer\ntopic-2\tgardening\ntopic-3\tcooking\n",
        "topic-1\t今天天气很好\nball\tOne.\nball\tTwo.\n",
        "off-topic\tDoes anyone have the full-text\nball\tOne.\nball\tTwo.\n",
        "world_news\tPresident speaks\ttoday at noon\nball\tOne.\nball\tTwo.\n",
        "ball\tOne\rwas\tkicked.\n",
        "\"Heroes\" and \"Villains\"\tA film.\n“Heroes”\tA film.\n",
    ] {
        assert!(read(&folder.write("a.tsv", lines)).is_ok(), "{lines}");
    }
}

#[test]
fn lines_that_end_in_another_way_and_separators_are_refused() {
    let folder = Folder::new();
    let sep = "it says which character parts";
    let bare = "it has a carriage return";
    let object = "column 1; write each object on a line";
    for (name, lines, line, part) in [
        ("a.tsv", "sep=\t\na\tsecret\n", 1, sep),
        ("a.tsv", "\"SEP=\t\"\r\na\tsecret\n", 1, sep),
        ("a.tsv", "\nsep = ;\na;secret\n", 2, sep),
        ("a.tsv", "a\tsecret\rb\tc\rd\te\r", 1, bare),
        ("a.tsv", "a\tsecret\n\rb\tsecret\rc\td\n", 2, bare),
        ("a.jsonl", "{\"text\": \"secret\"}\r{}\r", 1, bare),
        ("a.jsonl", "[{\"text\": \"secret\"}]", 1, object),
        ("a.jsonl", "{\n\"text\": \"secret\"}", 1, object),
    ] {
        let (number, problem) = problem(&folder.write(name, lines));
        assert!(
            number == line && problem.contains(part),
            "{number}: {problem}"
        );
    }
}

#[test]
fn files_of_another_kind_are_named_for_what_they_are() {
    let folder = Folder::new();
    let lfs = &b"version https://git-lfs.github.com/spec/v1\n"[..];
    for (name, bytes, part) in [
        ("a.jsonl", lfs, "Git LFS"),
        ("a.jsonl.gz", lfs, "Git LFS"),
        ("b.jsonl.gz", &gzip(lfs), "Git LFS"),
        ("c.jsonl.gz", &gzip(&gzip(b"{}\n")), "gzip"),
        ("a.jsonl", b"\xff\xfe{\0", "UTF-16"),
        ("a.csv.tsv", b"\xfe\xff\0t", "UTF-16"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x04", "Zstandard"),
        ("a.zip", b"PK\x03\x04\x14", "zip"),
    ] {
        let error = read(&folder.write(name, bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        let text = error.to_string();
        assert!(text.contains(part) && text.contains(name), "{text}");
    }
}

/// A name with dots is a path to a nested field, or a field with that name.
#[test]
fn fields_are_named_by_paths() {
    let folder = Folder::new();
    let names = FieldNames {
        text: "body.text".to_owned(),
        label: "meta.lang".to_owned(),
        id: "user.id".to_owned(),
        ..FieldNames::default()
    };
    let lines = concat!(
        "{\"body\": {\"text\": \"One.\"}, \"meta\": {\"lang\": \"sw\"}, \"user\": {\"id\": 7}, \"text\": 1}\n",
        "{\"body.text\": \"Two.\", \"body\": {\"text\": 3}, \"meta\": null, \"user\": \"u\"}\n",
        "{\"body\": \"secret\"}\n",
    );
    let path = folder.write("a.jsonl", lines);
    let keep = ["meta.lang".to_owned()];
    let mut corpus = Corpus::open(&path).unwrap().fields(names).keep(&keep);
    let mut next = || corpus.next().unwrap();
    let one = next().unwrap();
    assert_eq!((one.id.as_str(), one.label.as_deref()), ("7", Some("sw")));
    assert_eq!(one.text, "One.");
    assert_eq!(one.kept, "\"id\":7,\"meta.lang\":\"sw\"");
    let two = next().unwrap();
    assert_eq!((two.id.as_str(), two.label.as_deref()), ("line-2", None));
    assert_eq!(two.text, "Two.");
    assert_eq!(two.kept, "\"id\":\"line-2\"");
    let error = next().unwrap_err().to_string();
    assert!(error.contains("no field \"body.text\""), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn keeps_fields_as_they_are_written() {
    let folder = Folder::new();
    let lines = concat!(
        "\n{\"id\": 1.50, \"a b\": [1,  2], \"text\": \"One.\", \"label\": \"x\"}\n",
        "{\"text\": \"Two.\", \"id\": null, \"label\": null}\n",
    );
    let keeps = |name: &str, content: &str, expected: [(u64, &str); 2]| {
        let corpus = Corpus::open(folder.write(name, content)).unwrap();
        let keep = ["a b".to_owned(), "label".to_owned()];
        let documents: Result<Vec<_>> = corpus.keep(&keep).collect();
        let documents = documents.unwrap();
        let kept = documents.iter().map(|own| (own.line, own.kept.as_str()));
        assert_eq!(kept.collect::<Vec<_>>(), expected);
    };
    let first = r#""id":1.50,"a b":[1,  2],"label":"x""#;
    keeps(
        "a.jsonl",
        lines,
        [(2, first), (3, r#""id":"line-3","label":null"#)],
    );
    let first = r#""id":"line-1","label":"a\"b""#;
    keeps(
        "a.tsv",
        "a\"b\tOne.\n\tTwo.\n",
        [(1, first), (2, r#""id":"line-2""#)],
    );
}

#[test]
fn names_the_line_that_is_not_a_document() {
    let folder = Folder::new();
    for (line, expected) in [
        (&br#"{"text": "secret"#[..], "not one JSON object: it ends"),
        (br#"{"text": "a"} secret"#, "syntax error at column 15;"),
        (b"secret", "not one JSON object: no object at column 1;"),
        (br#"["secret", null, "a"]"#, "not one JSON object: "),
        (
            br#"{"text": "a", "text": "secret"}"#,
            "the field \"text\" is given twice",
        ),
        // Half of a surrogate pair; the reported column is that in the line.
        (br#"{"text": "\ud800 secret"}"#, "at column 17;"),
        (br#"{"text": "a", "id": "\ud800 secret"}"#, "at column 28;"),
        (br#"{"secret": "a"}"#, "no field \"text\""),
        (br#"{"text": null}"#, "no field \"text\""),
        (br#"{"text": ["secret"]}"#, "the field \"text\" is not a "),
        (
            br#"{"text": "a", "id": {"secret": 1}}"#,
            "the field \"id\" is not a ",
        ),
        (
            br#"{"text": "a", "label": true}"#,
            "the field \"label\" is not a ",
        ),
        (b"{\"text\": \"secret \xff\"}", "not UTF-8 at byte 18;"),
    ] {
        let mut lines = b"{\"text\": \"fine\"}\n\n".to_vec();
        lines.extend_from_slice(line);
        lines.extend_from_slice(b"\n{\"text\": \"not reached\"}\n");
        let path = folder.write("a.jsonl", &lines);
        let (number, problem) = problem(&path);
        assert_eq!(number, 3, "{problem}");
        let line = line.escape_ascii();
        assert!(problem.contains(expected), "{problem} for {line}");
        // The corpus returns the good document before the bad line, and ends with the error.
        let mut corpus = Corpus::open(&path).unwrap();
        assert!(corpus.next().unwrap().is_ok());
        assert!(corpus.next().unwrap().is_err());
        assert!(corpus.next().is_none());
    }
    let path = folder.write("a.tsv", "x\ty\nsecret without a tab\n");
    let (number, problem) = problem(&path);
    assert!(
        number == 2 && problem.starts_with("no tabulator"),
        "{problem}"
    );
}

#[test]
fn reads_lines_up_to_the_limit_and_no_longer() {
    let folder = Folder::new();
    let line = |length: usize| [&b"x\t"[..], &vec![b'a'; length - 2]].concat();
    for (prefix, end) in [("", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n"), ("", "")] {
        let file = |length| [prefix.as_bytes(), &line(length), end.as_bytes(), b"y\tz"].concat();
        if !end.is_empty() {
            let documents = read(&folder.write("a.tsv", file(LINE_LIMIT))).unwrap();
            assert_eq!(documents[0].text.len(), LINE_LIMIT - 2);
            assert_eq!(documents[1], document("line-2", Some("y"), "z"));
        }
        for length in [LINE_LIMIT + 1, LINE_LIMIT + 9] {
            let path = folder.write("a.tsv", file(length));
            let limit = format!("longer than {LINE_LIMIT} bytes; split it");
            assert_eq!(problem(&path), (1, limit));
        }
    }
}

#[test]
fn says_which_file_cannot_be_read() {
    let folder = Folder::new();
    let absent = folder.0.path().join("absent.jsonl");
    let error = read(&absent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("absent.jsonl"), "{error}");

    for name in ["a.csv", "a.parquet"] {
        let error = read(&folder.write(name, "")).unwrap_err();
        assert!(error.to_string().contains("is a table"), "{error}");
    }
    for name in ["a.raw", "a.gz", "jsonl", "a.jsonl.zip", "a.txt.gz"] {
        let error = read(&folder.write(name, "")).unwrap_err();
        let text = error.to_string();
        for known in [name, ".jsonl, .ndjson, .tsv and .csv, all of them gzipped"] {
            assert!(text.contains(known), "{text}");
        }
    }

    let zipped = gzip(&b"x\tone line of text\n".repeat(1000));
    let cut = folder.write("a.tsv.gz", &zipped[..zipped.len() - 9]);
    let (_, problem) = problem(&cut);
    assert!(problem.starts_with("cannot read on"), "{problem}");
    // Browsers unpack some downloads without changing their names.
    let unpacked = folder.write("a.tsv.gz", "x\tone line of text\n");
    assert_eq!(read(&unpacked).unwrap().len(), 1);
}
