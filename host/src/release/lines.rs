//! Files of releases, with one JSON object per line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use undertone_core::release::Release;

use crate::error::{Error, Result};
use crate::files::fields::{Fields, without_nan};
use crate::files::lines::{self, content, unpacked};

/// The longest line, in bytes: enough for a release with a long id.
pub const LINE_LIMIT: usize = 1 << 20;

/// Faults of the quotation marks of a CSV record, each after the only field name of the line that
/// stands for it.
#[doc(hidden)]
pub const MARKS: [(&str, BadLine); 2] = [
    ("a quotation mark is not closed", BadLine::Unclosed),
    ("text follows a closing quotation mark", BadLine::AfterMark),
];

/// The field of the release.
const RELEASE: &str = "release";

/// A fault of a line in a file of releases. The messages do not quote the line, which may be a
/// private text.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    thiserror::Error,
)]
#[non_exhaustive]
pub enum BadLine {
    /// Longer than [`LINE_LIMIT`].
    #[error("longer than {LINE_LIMIT} bytes")]
    TooLong,
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not a single JSON object.
    #[error("not a release in JSON")]
    NotJson,
    /// A CSV record that ends inside quotation marks.
    #[error("a quotation mark is not closed; is the file cut off?")]
    Unclosed,
    /// A CSV record with text between a closing quotation mark and the end of its cell.
    #[error(
        "text follows a closing quotation mark; write each mark inside a cell twice, \
         and close each cell"
    )]
    AfterMark,
    /// The field `release` is missing, given twice, or not a string.
    #[error("no field \"release\" that is a string")]
    NoRelease,
    /// The release is not hexadecimal.
    #[error("the release is not hexadecimal")]
    NotHexadecimal,
    /// The bytes are not a release.
    #[error("not the bytes of a release; it is damaged, cut off or of another kind")]
    NotARelease,
    /// Its form, or the candidates of its pack, were not given.
    #[error("made under a pack or form that was not given")]
    OtherPack,
    /// Its pack or form has no such outcome.
    #[error("names nothing that its pack or form has; it is damaged or forged")]
    NoSuchCandidate,
    /// A release by projective geometry response.
    #[error(
        "names a point that many candidates prefer, and no candidate; count such releases with `undertone count` and \
         `undertone estimate`"
    )]
    Point,
}

/// Reads the lines of a file of releases, with one in memory.
///
/// The file may be gzipped. A byte order mark at the start, carriage returns at line ends and blank
/// lines are skipped. Reading continues after a bad line.
pub struct Lines {
    path: PathBuf,
    lines: lines::Lines<Box<dyn BufRead + Send>>,
    /// Whether the rest of a line that is too long is still unread.
    cut: bool,
}

/// One line with its number, counted from 1.
pub struct Line<'a> {
    /// Its number.
    pub number: u64,
    /// Its text, without the line end.
    pub text: Result<&'a str, BadLine>,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Self::new(path, file)
    }

    /// Reads the lines of a stream; errors call it `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn new(name: &Path, source: impl Read + Send + 'static) -> Result<Self> {
        let reader = unpacked(source).map_err(Error::io("read", name))?;
        Ok(Self::plain(name, reader))
    }

    /// [`new`](Self::new) for a stream that is not gzipped.
    #[doc(hidden)]
    pub fn plain(name: &Path, reader: Box<dyn BufRead + Send>) -> Self {
        Self {
            path: name.to_owned(),
            lines: lines::Lines::new(reader, LINE_LIMIT),
            cut: false,
        }
    }

    /// Returns the next line that is not blank, or `None` at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if the file cannot be read further.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            self.rest(&mut io::sink())?;
            let read = self.lines.read().map_err(Error::io("read", &self.path))?;
            let Some(is_cut) = read else {
                return Ok(None);
            };
            self.cut = is_cut;
            if !self.text().is_ok_and(|text| text.trim().is_empty()) {
                break;
            }
        }
        Ok(Some(Line {
            number: self.lines.number(),
            text: self.text(),
        }))
    }

    fn text(&self) -> Result<&str, BadLine> {
        Self::text_of(self.lines.as_written(), self.lines.number())
    }

    /// Returns the text of line `number`, given as [`copy`](Self::copy) writes it.
    ///
    /// # Errors
    /// [`BadLine`].
    #[doc(hidden)]
    pub fn text_of(line: &[u8], number: u64) -> Result<&str, BadLine> {
        let line = content(line, number);
        if line.len() > LINE_LIMIT {
            return Err(BadLine::TooLong);
        }
        str::from_utf8(line).map_err(|_| BadLine::NotUtf8)
    }

    /// Copies the last line read, as written and of any length. A line end is added if the file
    /// lacks the last one.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io), naming `path` if `to` cannot be written.
    pub fn copy(&mut self, to: &mut dyn Write, path: &Path) -> Result<()> {
        let line = self.lines.as_written();
        to.write_all(line).map_err(Error::io("write", path))?;
        let last = line.last().copied();
        let last = self.rest(to)?.or(last);
        if last != Some(b'\n') {
            to.write_all(b"\n").map_err(Error::io("write", path))?;
        }
        Ok(())
    }

    /// Reads to the end of a line that is too long, and returns its last byte.
    fn rest(&mut self, to: &mut dyn Write) -> Result<Option<u8>> {
        let mut last = None;
        while self.cut {
            let part = self.lines.reader.fill_buf();
            let part = part.map_err(Error::io("read", &self.path))?;
            let end = part.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(part.len(), |end| end + 1);
            self.cut = end.is_none() && length > 0;
            last = part[..length].last().copied().or(last);
            to.write_all(&part[..length])
                .map_err(Error::io("copy", &self.path))?;
            self.lines.reader.consume(length);
        }
        Ok(last)
    }
}

/// Lines as written in a file, for another thread to parse.
#[doc(hidden)]
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// The number of each line, and the offset of its end.
    ends: Vec<(u64, usize)>,
}

impl Batch {
    /// The size of a full batch in bytes: large enough to hide the cost of handing it to another
    /// thread, small enough to share the work among many threads.
    pub const ENOUGH: usize = 64 << 10;

    /// Adds the last line read, whose number is `number` and which must not be too long.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn push(&mut self, number: u64, lines: &mut Lines) -> Result<()> {
        lines.copy(&mut self.bytes, Path::new("memory"))?;
        self.ends.push((number, self.bytes.len()));
        Ok(())
    }

    /// Returns the lines, with their ends, and their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(number, end)| {
            let line = &self.bytes[start..end];
            start = end;
            (number, line)
        })
    }

    /// The number of lines.
    pub fn line_count(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the batch is large enough for a thread.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Self::ENOUGH
    }
}

/// A parsed line: its release, and its fields as written.
pub struct ReleaseLine<'a> {
    /// The release.
    pub release: Release,
    /// All fields in order, including `release`.
    #[doc(hidden)]
    pub fields: Fields<'a>,
}

impl<'a> ReleaseLine<'a> {
    /// Parses a line.
    ///
    /// # Leaks
    /// Nothing: the server has the line.
    ///
    /// # Shapes
    /// `line`: any.
    ///
    /// # Errors
    /// [`BadLine`].
    ///
    /// # Cost
    /// Linear in the line.
    pub fn parse(line: &'a str) -> Result<Self, BadLine> {
        let fields: Fields<'a> = serde_json::from_str(line).map_err(|_| BadLine::NotJson)?;
        let mut releases = fields.0.iter().filter(|(name, _)| *name == *RELEASE);
        let (Some((_, release)), None) = (releases.next(), releases.next()) else {
            let is_only = |name: &str| matches!(&fields.0[..], [(only, _)] if *only == *name);
            let mark = MARKS.iter().find(|(name, _)| is_only(name));
            return Err(mark.map_or(BadLine::NoRelease, |(_, fault)| *fault));
        };
        let Text(release) = serde_json::from_str(release.get()).map_err(|_| BadLine::NoRelease)?;
        let mut bytes = [0; Release::BYTES];
        if release.len() != 2 * bytes.len() {
            let digits = hex::decode(&*release);
            return Err(digits.map_or(BadLine::NotHexadecimal, |_| BadLine::NotARelease));
        }
        hex::decode_to_slice(&*release, &mut bytes).map_err(|_| BadLine::NotHexadecimal)?;
        let release = Release::from_bytes(&bytes).map_err(|_| BadLine::NotARelease)?;
        Ok(Self { release, fields })
    }

    /// Parses a line for `work`. Fields that nobody asked for may be NaN, which Python writes and
    /// JSON does not have; `work` then gets null.
    ///
    /// # Errors
    /// [`BadLine`], and errors of `work`.
    #[doc(hidden)]
    pub fn with<T, E: From<BadLine>>(
        line: &str,
        work: impl FnOnce(ReleaseLine<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        // Few lines have a NaN, so it is looked for only in lines that do not parse.
        match ReleaseLine::parse(line) {
            Err(BadLine::NotJson) => {
                let line = without_nan(line).ok_or(BadLine::NotJson)?;
                work(ReleaseLine::parse(&line)?)
            }
            parsed => work(parsed?),
        }
    }
}

/// A string that borrows from the line; serde copies a plain `Cow`.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (u64, Result<String, BadLine>);

    fn read(bytes: &[u8]) -> Vec<Read> {
        let mut lines = Lines::new(Path::new("test"), io::Cursor::new(bytes.to_vec())).unwrap();
        let mut read = Vec::new();
        while let Some(Line { number, text }) = lines.next_line().unwrap() {
            read.push((number, text.map(str::to_owned)));
        }
        read
    }

    #[test]
    fn a_bad_line_does_not_stop_the_others() {
        let long = vec![b'x'; 3 * LINE_LIMIT];
        let most = vec![b'y'; LINE_LIMIT];
        let bytes = [
            b"\xef\xbb\xbfone\r\n\n \n",
            &long[..],
            b"\n\xff\n",
            &most,
            b"\r\nlast",
        ]
        .concat();
        let found = read(&bytes);
        let text = |text: &[u8]| Ok(String::from_utf8(text.to_vec()).unwrap());
        let expected: [Read; 5] = [
            (1, text(b"one")),
            (4, Err(BadLine::TooLong)),
            (5, Err(BadLine::NotUtf8)),
            (6, text(&most)),
            (7, text(b"last")),
        ];
        assert!(found == expected);
        // One more byte is too long, with or without a line end.
        for end in ["", "\n", "\r\n"] {
            let bytes = [&most[..], b"y", end.as_bytes()].concat();
            assert!(read(&bytes) == [(1, Err(BadLine::TooLong))]);
        }
    }

    #[test]
    fn lines_are_copied_as_they_stand() {
        let long = vec![b'x'; 2 * LINE_LIMIT];
        let bytes = [b"one\r\n".as_slice(), &long, b"\n\xff\n\n", &long, b"\nend"].concat();
        let mut lines = Lines::new(Path::new("test"), io::Cursor::new(bytes)).unwrap();
        let mut copied = Vec::new();
        while lines.next_line().unwrap().is_some() {
            lines.copy(&mut copied, Path::new("copy")).unwrap();
        }
        let expected = [b"one\r\n".as_slice(), &long, b"\n\xff\n", &long, b"\nend\n"].concat();
        assert!(copied == expected);
    }

    #[test]
    fn fields_are_kept_as_they_are_written() {
        let long = format!(r#"{{"release": "{}"}}"#, "0".repeat(48));
        for (line, problem) in [
            ("[1]", BadLine::NotJson),
            (r#"{"release": "00"} {}"#, BadLine::NotJson),
            ("{}", BadLine::NoRelease),
            (r#"{"release": 7}"#, BadLine::NoRelease),
            (r#"{"release": "", "release": ""}"#, BadLine::NoRelease),
            (r#"{"release": "0g"}"#, BadLine::NotHexadecimal),
            (r#"{"release": "00"}"#, BadLine::NotARelease),
            (&long, BadLine::NotARelease),
        ] {
            assert_eq!(ReleaseLine::parse(line).err(), Some(problem), "{line}");
        }
        let Fields(fields) =
            serde_json::from_str("{\"id\": 1.50, \"a\\u0062\": [1,  2], \"id\":null}").unwrap();
        let fields: Vec<_> = fields.iter().map(|(n, v)| (n.text(), v.get())).collect();
        let expected = [("id", "1.50"), ("ab", "[1,  2]"), ("id", "null")];
        assert!(fields.iter().map(|(n, v)| (&**n, *v)).eq(expected));
    }

    proptest::proptest! {
        /// Good lines are read whatever bytes stand between them, and the copy equals the input.
        #[test]
        fn any_bytes_are_lines(
            parts in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40), 0..9)
        ) {
            let mut bytes = Vec::new();
            for part in &parts {
                bytes.extend_from_slice(b"good\n");
                bytes.extend(part.iter().filter(|byte| **byte != b'\n'));
                bytes.push(b'\n');
            }
            let mut lines = Lines::new(Path::new("test"), io::Cursor::new(bytes.clone())).unwrap();
            let (mut good, mut copied) = (0, Vec::new());
            while let Some(line) = lines.next_line().unwrap() {
                good += usize::from(line.text == Ok("good"));
                lines.copy(&mut copied, Path::new("copy")).unwrap();
            }
            proptest::prop_assert!(good >= parts.len());
            let blank = |line: &&[u8]| !str::from_utf8(line).is_ok_and(|line| line.trim().is_empty());
            let expected: Vec<u8> = bytes.split_inclusive(|b| *b == b'\n').filter(blank).flatten().copied().collect();
            proptest::prop_assert_eq!(copied, expected);
        }
    }
}
