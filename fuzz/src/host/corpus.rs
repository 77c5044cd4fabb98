//! Corpora in any bytes.

use std::fmt;
use std::fs;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use undertone::corpus::{Corpus, CorpusDocument, FieldNames};
use undertone::error::ErrorKind;

/// Reads the input as a corpus. The first byte selects the format and the column of the labels.
///
/// Checked: documents, against lines that are split and read as JSON one by one here; refused lines
/// are not documents, except for different limits of the two JSON readers.
pub fn corpus_lines_match_json(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    let json = kind & 1 == 0;
    // Raw bytes, compressed here, or declared as compressed.
    let (ending, file, content) = match kind >> 1 & 3 {
        // Compression is also detected from the content.
        0 | 1 if !data.starts_with(&[0x1f, 0x8b]) => ("", data.to_vec(), Some(data.to_vec())),
        2 => {
            let mut file = GzEncoder::new(Vec::new(), Compression::fast());
            file.write_all(data).expect("a vector takes everything");
            (".gz", file.finish().expect("likewise"), Some(data.to_vec()))
        }
        _ => {
            let mut content = Vec::new();
            let whole = MultiGzDecoder::new(data).read_to_end(&mut content).is_ok();
            let ending = if kind >> 1 & 3 == 3 { ".gz" } else { "" };
            (ending, data.to_vec(), whole.then_some(content))
        }
    };
    // A label next to the text, another one, and one inside another field unless a field has that
    // whole name.
    let field = ["label", "topic", "meta.topic"][usize::from(kind >> 3) % 3];
    let folder = tempfile::tempdir().expect("room for a file");
    let name = if json { "c.jsonl" } else { "c.tsv" };
    let path = folder.path().join(format!("{name}{ending}"));
    fs::write(&path, file).expect("room for a file");
    let corpus = match Corpus::open(&path) {
        Ok(corpus) => corpus.fields(FieldNames {
            label: field.to_owned(),
            ..FieldNames::default()
        }),
        // The start is damaged, or that of a file of another kind.
        Err(error) => {
            assert!(
                content.is_none() || error.kind() == ErrorKind::Input,
                "{error}"
            );
            return;
        }
    };
    let mut found: Vec<_> = corpus.collect();
    let error = match found.pop() {
        Some(Err(error)) => {
            assert!(!error.to_string().is_empty());
            true
        }
        Some(Ok(last)) => {
            found.push(Ok(last));
            false
        }
        None => false,
    };
    let found: Vec<CorpusDocument> = found
        .into_iter()
        .map(|document| document.expect("an error ends the corpus"))
        .collect();
    let Some(content) = content else {
        return;
    };

    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
    let mut found = found.into_iter();
    for (number, line) in (1u64..).zip(content.split(|byte| *byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let blank = str::from_utf8(line).is_ok_and(|line| line.trim().is_empty());
        if blank {
            continue;
        }
        let expected = match str::from_utf8(line) {
            Err(_) => Line::Refused,
            Ok(line) if json => from_json(line, number, field),
            Ok(line) => match line.split_once('\t') {
                None => Line::Refused,
                // It may be a header.
                Some(_) if number == 1 => Line::Limited,
                // It may have line ends of carriage returns.
                _ if line.contains('\r') => Line::Limited,
                Some((label, _)) if is_quoted(label) => Line::Refused,
                Some((label, text)) => Line::Document(CorpusDocument {
                    id: format!("line-{number}"),
                    label: (!label.is_empty()).then(|| label.to_owned()),
                    text: text.to_owned(),
                    line: number,
                    source: None,
                    answers: Vec::new(),
                    kept: String::new(),
                }),
            },
        };
        match (found.next(), expected) {
            (Some(document), Line::Document(expected)) => assert_eq!(document, expected),
            (Some(_), Line::Limited) => {}
            (None, Line::Refused | Line::Limited) => {
                assert!(error, "line {number} is passed over");
                return;
            }
            (found, expected) => panic!("line {number} is {found:?}, not {expected:?}"),
        }
    }
    // At the end the first line of a table may turn out to be a header.
    assert!((!error || !json) && found.next().is_none());
}

fn is_quoted(label: &str) -> bool {
    let inside = |mark| label.strip_prefix(mark)?.strip_suffix(mark);
    ['"', '\'']
        .iter()
        .any(|mark| inside(*mark).is_some_and(|inside: &str| !inside.contains(*mark)))
}

#[derive(Debug)]
enum Line {
    Document(CorpusDocument),
    Refused,
    /// Refused by the reader here, which also parses unused fields.
    Limited,
}

fn from_json(line: &str, number: u64, label: &str) -> Line {
    let fields = match serde_json::from_str::<Fields>(line) {
        Ok(Fields(fields)) => fields,
        Err(_) if line.trim_start().starts_with('{') => return Line::Limited,
        Err(_) => return Line::Refused,
    };
    let find = |name: &str| own(&fields, name);
    // The content of a string, the digits of a number, nothing for null; all else is an error.
    let scalar = |name: &str| match find(name)?.as_deref() {
        None | Some("null") => Ok(None),
        Some(string) if string.starts_with('"') => serde_json::from_str::<String>(string)
            .map(Some)
            .map_err(|_| ()),
        Some(digits) if digits.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            Ok(Some(digits.to_owned()))
        }
        Some(_) => Err(()),
    };
    let string = find("text").is_ok_and(|text| text.is_some_and(|text| text.starts_with('"')));
    match (scalar("id"), scalar(label), scalar("text")) {
        (Ok(id), Ok(label), Ok(Some(text))) if string => Line::Document(CorpusDocument {
            id: id.unwrap_or_else(|| format!("line-{number}")),
            label: label.filter(|label| !label.is_empty()),
            text,
            line: number,
            source: None,
            answers: Vec::new(),
            kept: String::new(),
        }),
        _ => Line::Refused,
    }
}

/// The only field of this name, or else the one inside the field named before the dot.
fn own(fields: &[(String, Box<RawValue>)], name: &str) -> Result<Option<String>, ()> {
    let found: Vec<&str> = fields
        .iter()
        .filter(|(own, _)| own == name)
        .map(|(_, value)| value.get())
        .collect();
    match (found.as_slice(), name.split_once('.')) {
        ([], None) => Ok(None),
        ([], Some((outer, inner))) => {
            let Some(outer) = own(fields, outer)? else {
                return Ok(None);
            };
            match serde_json::from_str::<Fields>(&outer) {
                Ok(Fields(fields)) => own(&fields, inner),
                Err(_) => Ok(None),
            }
        }
        ([value], _) => Ok(Some((*value).to_owned())),
        _ => Err(()),
    }
}

/// The fields of an object, with repetitions.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}
