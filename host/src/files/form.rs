//! The format of a file, recognised by its extension or by its first and last bytes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The bytes at both ends of a Parquet file: with a plain footer and with an encrypted one.
const PARQUET: [[u8; 4]; 2] = [*b"PAR1", *b"PARE"];

/// The format of a file. All but Parquet may be gzipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON object on each line: `.jsonl`, `.ndjson`.
    JsonLines,
    /// Label, tab, text: `.tsv`.
    Tsv,
    /// Comma-separated fields, with a header line: `.csv`.
    Csv,
    /// Parquet: `.parquet`, or any name if the file begins and ends as Parquet does.
    Parquet,
    /// Releases of 24 bytes without separators: `.raw`, `.bin`.
    Raw,
}

impl Form {
    /// Recognises a file by its bytes, if it can be read, and otherwise by its name.
    pub fn of(path: &Path) -> Option<Self> {
        match is_parquet(path) {
            Ok(true) => Some(Self::Parquet),
            _ => Self::of_name(path),
        }
    }

    /// The format of a table to write, Parquet or CSV, from its extension. `None` for other
    /// extensions.
    pub fn of_table(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_lowercase();
        match ending.as_str() {
            "parquet" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// Recognises a file by its name alone.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let (stem, gzipped) = match name.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (name.as_str(), false),
        };
        let (_, ending) = stem.rsplit_once('.')?;
        match ending {
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "tsv" => Some(Self::Tsv),
            "csv" => Some(Self::Csv),
            "parquet" if !gzipped => Some(Self::Parquet),
            "raw" | "bin" => Some(Self::Raw),
            _ => None,
        }
    }
}

/// Returns whether a file begins and ends as Parquet does. False for a pipe, which is not read.
fn is_parquet(path: &Path) -> io::Result<bool> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() || about.len() < 8 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let (mut start, mut end) = ([0; 4], [0; 4]);
    file.read_exact(&mut start)?;
    file.seek(SeekFrom::End(-(end.len() as i64)))?;
    file.read_exact(&mut end)?;
    Ok(start == end && PARQUET.contains(&start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_contents_say_what_is_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for (name, form) in [
            ("a.jsonl", Some(Form::JsonLines)),
            ("a.NDJSON.gz", Some(Form::JsonLines)),
            ("a.tsv.gz", Some(Form::Tsv)),
            ("a.b.csv", Some(Form::Csv)),
            ("a.parquet", Some(Form::Parquet)),
            ("a.parquet.gz", None),
            ("a.raw.gz", Some(Form::Raw)),
            ("csv", None),
            ("a.txt", None),
        ] {
            let path = folder.path().join(name);
            assert_eq!(Form::of(&path), form, "{name}");
            for (content, other) in [("PAR1", form), ("PAR1PAR1", Some(Form::Parquet))] {
                std::fs::write(&path, content).unwrap();
                assert_eq!(Form::of(&path), other, "{name} {content}");
            }
        }
    }
}
