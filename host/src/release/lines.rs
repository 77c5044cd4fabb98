//! Files of releases: a line of JSON each.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use undertone_core::release::Release;

use crate::error::{Error, Result};
use crate::files::fields::Fields;
use crate::files::lines::unzipped;

/// The longest line, in bytes: an id of that length has room, whoever made it.
pub const LINE_LIMIT: usize = 1 << 20;

/// The only field of a line that a CSV file gives instead of a record inside quotation marks that nothing closes: its fields are in
/// a list.
#[doc(hidden)]
pub const UNCLOSED: &str = "a quotation mark is not closed";

/// What is wrong with a line of a file of releases. None of them quotes the line, which may be a private text.
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
    /// It is longer than [`LINE_LIMIT`].
    #[error("longer than {LINE_LIMIT} bytes")]
    TooLong,
    /// It is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// It is not one JSON object.
    #[error("not a release in JSON")]
    NotJson,
    /// A record of a CSV file that ends inside quotation marks.
    #[error("a quotation mark is not closed; is the file cut off?")]
    Unclosed,
    /// The field `release` is missing, given twice, or no string.
    #[error("no field \"release\" that is a string")]
    NoRelease,
    /// The release is not written in hexadecimal digits.
    #[error("the release is not hexadecimal")]
    NotHexadecimal,
    /// The bytes are not those of a release.
    #[error("not the bytes of a release; it is damaged, cut off or of another kind")]
    NotARelease,
    /// No candidates of its pack were given.
    #[error("made under a pack whose candidates were not given")]
    OtherPack,
    /// The pack has no such candidate.
    #[error("names a candidate that its pack does not have; it is damaged or forged")]
    NoSuchCandidate,
    /// It was made by projective geometry response.
    #[error(
        "names a point that many candidates prefer, and no candidate; count such releases with `undertone count` and \
         `undertone estimate`"
    )]
    Point,
}

/// The lines of a file of releases, one in memory.
///
/// The file may be gzipped. A byte order mark at the start, carriage returns at line ends and blank lines are
/// skipped. A line that cannot be read does not stop the others.
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    /// The line as it stands in the file, or its start if it is too long.
    line: Vec<u8>,
    /// Whether the reader stands in the middle of that line.
    cut: bool,
    number: u64,
}

/// One line, and its number from 1.
pub struct Line<'a> {
    /// The number.
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

    /// The lines of a stream, which errors call `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn new(name: &Path, source: impl Read + Send + 'static) -> Result<Self> {
        let reader = unzipped(source).map_err(Error::io("read", name))?;
        Ok(Self::plain(name, reader))
    }

    /// The same of lines that are not gzipped, and of which nothing is read yet.
    #[doc(hidden)]
    pub fn plain(name: &Path, reader: Box<dyn BufRead + Send>) -> Self {
        Self {
            path: name.to_owned(),
            reader,
            line: Vec::new(),
            cut: false,
            number: 0,
        }
    }

    /// The next line that is not blank; none at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if the file cannot be read on: that is no fault of a line.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            self.rest(&mut io::sink())?;
            self.line.clear();
            self.number += 1;
            // Room for a byte order mark, the longest line, "\r\n", and a byte that shows it is longer.
            let most = LINE_LIMIT as u64 + 6;
            let read = (&mut self.reader)
                .take(most)
                .read_until(b'\n', &mut self.line);
            if read.map_err(Error::io("read", &self.path))? == 0 {
                return Ok(None);
            }
            self.cut = self.line.len() as u64 == most && !self.line.ends_with(b"\n");
            if !self.text().is_ok_and(|text| text.trim().is_empty()) {
                break;
            }
        }
        Ok(Some(Line {
            number: self.number,
            text: self.text(),
        }))
    }

    fn text(&self) -> Result<&str, BadLine> {
        Self::text_of(&self.line, self.number)
    }

    /// The text of a line of this number, as [`copy`](Self::copy) writes it.
    ///
    /// # Errors
    /// [`BadLine`].
    #[doc(hidden)]
    pub fn text_of(mut line: &[u8], number: u64) -> Result<&str, BadLine> {
        if number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LINE_LIMIT {
            return Err(BadLine::TooLong);
        }
        str::from_utf8(line).map_err(|_| BadLine::NotUtf8)
    }

    /// Copies the line that was read last as it stands in the file, however long it is. At the end of a file a line
    /// end is added if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io), which names `path` if `to` cannot be written.
    pub fn copy(&mut self, to: &mut dyn Write, path: &Path) -> Result<()> {
        to.write_all(&self.line).map_err(Error::io("write", path))?;
        let last = match self.cut {
            true => self.rest(to)?,
            false => self.line.last().copied(),
        };
        if last != Some(b'\n') {
            to.write_all(b"\n").map_err(Error::io("write", path))?;
        }
        Ok(())
    }

    /// Reads to the end of a line that is too long, and says what its last byte is.
    fn rest(&mut self, to: &mut dyn Write) -> Result<Option<u8>> {
        let mut last = None;
        while self.cut {
            let part = self
                .reader
                .fill_buf()
                .map_err(Error::io("read", &self.path))?;
            let end = part.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(part.len(), |end| end + 1);
            self.cut = end.is_none() && length > 0;
            last = part[..length].last().copied().or(last);
            to.write_all(&part[..length])
                .map_err(Error::io("copy", &self.path))?;
            self.reader.consume(length);
        }
        Ok(last)
    }
}

/// Some lines as they stand in a file, for another thread to work on.
#[doc(hidden)]
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// The number of each line, and where it stops.
    ends: Vec<(u64, usize)>,
}

impl Batch {
    /// How many bytes are enough: so many that handing them to another thread costs little, and so few that many threads have
    /// some.
    pub const ENOUGH: usize = 64 << 10;

    /// Adds the line that was read last, whose number this is. It must not be too long to be held.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn push(&mut self, number: u64, lines: &mut Lines) -> Result<()> {
        lines.copy(&mut self.bytes, Path::new("memory"))?;
        self.ends.push((number, self.bytes.len()));
        Ok(())
    }

    /// The lines, with their ends, and their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(number, end)| {
            let line = &self.bytes[start..end];
            start = end;
            (number, line)
        })
    }

    /// How many lines there are.
    pub fn line_count(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is enough for a thread.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Self::ENOUGH
    }
}

/// A line of JSON: its release, and its fields as they are written.
pub struct ReleaseLine<'a> {
    /// The release.
    pub release: Release,
    /// All fields in their order, `release` too.
    #[doc(hidden)]
    pub fields: Fields<'a>,
}

impl<'a> ReleaseLine<'a> {
    /// Reads a line.
    ///
    /// # Leaks
    /// Nothing: a server has the line.
    ///
    /// # Shapes
    /// `line`: any.
    ///
    /// # Errors
    /// [`BadLine`].
    ///
    /// # Cost
    /// Time and memory linear in the length of the line.
    pub fn parse(line: &'a str) -> Result<Self, BadLine> {
        let fields: Fields<'a> = serde_json::from_str(line).map_err(|_| BadLine::NotJson)?;
        let mut releases = fields.0.iter().filter(|(name, _)| name == "release");
        let (Some((_, release)), None) = (releases.next(), releases.next()) else {
            let is_unclosed = matches!(&fields.0[..], [(name, _)] if name == UNCLOSED);
            return Err(match is_unclosed {
                true => BadLine::Unclosed,
                false => BadLine::NoRelease,
            });
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
}

/// A string, of which serde would make a copy.
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
        // One byte more is too long, with an end or without.
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
        let release = "0".repeat(48);
        let parse = |line: &str| ReleaseLine::parse(line).map(|_| ());
        let wrong = [
            ("[1]", BadLine::NotJson),
            ("{\"release\": \"00\"} {}", BadLine::NotJson),
            ("{}", BadLine::NoRelease),
            ("{\"release\": 7}", BadLine::NoRelease),
            (
                "{\"release\": \"00\", \"release\": \"00\"}",
                BadLine::NoRelease,
            ),
            ("{\"release\": \"0g\"}", BadLine::NotHexadecimal),
            ("{\"release\": \"00\"}", BadLine::NotARelease),
        ];
        for (line, problem) in wrong {
            assert_eq!(parse(line), Err(problem), "{line}");
        }
        assert_eq!(
            parse(&format!("{{\"release\": \"{release}\"}}")),
            Err(BadLine::NotARelease)
        );
        let Fields(fields) =
            serde_json::from_str("{\"id\": 1.50, \"a\\u0062\": [1,  2], \"id\":null}").unwrap();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (&**n, v.get())).collect();
        assert_eq!(fields, [("id", "1.50"), ("ab", "[1,  2]"), ("id", "null")]);
    }

    proptest::proptest! {
        /// Whatever stands between them, the good lines are read, and what was read is what is copied.
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
