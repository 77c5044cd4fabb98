//! CSV as lines of JSON.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use undertone::corpus::LINE_LIMIT;
use undertone::error::{Cause, Error, Result};
use undertone::files::lines::unzipped;

use crate::{Source, Stream, push_text};

/// The most that is read for one record: the longest line, and what the reader takes in advance.
const MOST: u64 = LINE_LIMIT as u64 + (1 << 20);

/// The records of a CSV file.
struct Cells {
    reader: Reader<Limited>,
    read: Arc<Seen>,
    names: Vec<String>,
    /// The column whose empty cells are texts, and whether a record that is none stops the others.
    text: Option<usize>,
    stops: bool,
    record: ByteRecord,
    /// The number of the line of JSON that comes next.
    line: u64,
}

/// Leaves out carriage returns at line ends, so that lines can be numbered. Bounds what is read for one record: after a
/// quotation mark that nothing closes the rest of the file is one.
struct Limited {
    source: Box<dyn BufRead + Send>,
    read: Arc<Seen>,
    at: At,
    /// Whether a carriage return was read that may be at a line end.
    held: bool,
}

/// Where in a record a byte is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Start,
    Plain,
    Quoted,
    /// After a quotation mark, which ends a cell or is doubled.
    Mark,
}

impl At {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Mark,
            (Self::Quoted, _) | (Self::Start | Self::Mark, b'"') => Self::Quoted,
            (_, b',' | b'\n') => Self::Start,
            _ => Self::Plain,
        }
    }
}

/// What was read: how much since the last record, and of the file, and whether a line end was the last of it.
#[derive(Default)]
struct Seen {
    bytes: AtomicU64,
    all: AtomicU64,
    ended: AtomicBool,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read.bytes.load(Ordering::Relaxed) > MOST {
            return Err(io::Error::other(format!(
                "a record is longer than {LINE_LIMIT} bytes; is a quotation mark missing there?"
            )));
        }
        let mut length = 0;
        while length == 0 {
            let input = self.source.fill_buf()?;
            // A byte, and a carriage return that was held.
            let taken = input.len().min(buffer.len() / 2);
            if taken == 0 {
                return Ok(0);
            }
            for &byte in &input[..taken] {
                if std::mem::take(&mut self.held) && byte != b'\n' {
                    self.at = self.at.after(b'\r');
                    buffer[length] = b'\r';
                    length += 1;
                }
                if byte == b'\r' && self.at != At::Quoted {
                    self.held = true;
                } else {
                    self.at = self.at.after(byte);
                    buffer[length] = byte;
                    length += 1;
                }
            }
            self.source.consume(taken);
        }
        for count in [&self.read.bytes, &self.read.all] {
            count.fetch_add(length as u64, Ordering::Relaxed);
        }
        let ended = buffer[length - 1] == b'\n' && self.at != At::Quoted;
        self.read.ended.store(ended, Ordering::Relaxed);
        Ok(length)
    }
}

/// Opens the records of a stream, gzipped or not. Those of a corpus with its text in the column `text` stop at the first that is
/// none.
pub(crate) fn open(
    path: &Path,
    source: Box<dyn Read + Send>,
    text: Option<&str>,
) -> Result<impl BufRead + Send + use<>> {
    let mut cells = Cells::open(path, source)?;
    cells.text = text.and_then(|text| cells.names.iter().position(|name| name == text));
    cells.stops = text.is_some();
    Ok(Stream::lines(cells))
}

pub(crate) fn names(path: &Path, source: Box<dyn Read + Send>) -> Result<Vec<String>> {
    Ok(Cells::open(path, source)?.names)
}

/// A stream without a byte order mark at its start.
fn without_mark(mut source: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut start = Vec::new();
    (&mut source)
        .take(MARK.len() as u64)
        .read_to_end(&mut start)?;
    if start == MARK {
        start.clear();
    }
    Ok(Box::new(io::Cursor::new(start).chain(source)))
}

impl Cells {
    fn open(path: &Path, source: Box<dyn Read + Send>) -> Result<Self> {
        let refused = |problem: String| {
            Error::from(Cause::Table {
                path: path.to_owned(),
                problem,
            })
        };
        let read = Arc::new(Seen::default());
        let source = unzipped(source).and_then(without_mark);
        let source = Limited {
            source: source.map_err(Error::io("read", path))?,
            read: read.clone(),
            at: At::Start,
            held: false,
        };
        // Records of another length are looked at here.
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(source);
        let names = reader
            .byte_headers()
            .map_err(|problem| match problem.into_kind() {
                csv::ErrorKind::Io(cause) => Error::io("read", path)(cause),
                _ => refused("its first line cannot be read".to_owned()),
            })?;
        let names = names
            .iter()
            .map(|name| str::from_utf8(name).map(str::to_owned));
        let names: Vec<String> = names.collect::<std::result::Result<_, _>>().map_err(|_| {
            refused("its first line is not UTF-8; convert the file to UTF-8".to_owned())
        })?;
        let mut seen = HashSet::new();
        for (place, name) in (1..).zip(&names) {
            // The name is not said: it is a private text if the line of names is missing.
            if !seen.insert(name) {
                return Err(refused(format!(
                    "its first line must name the columns, and column {place} has the name of one before it"
                )));
            }
        }
        Ok(Self {
            reader,
            read,
            names,
            text: None,
            stops: false,
            record: ByteRecord::new(),
            line: 1,
        })
    }
}

impl Cells {
    /// Reads the next record; false at the end. Blank lines are skipped.
    fn read(&mut self) -> io::Result<bool> {
        self.read.bytes.store(0, Ordering::Relaxed);
        let found = self.reader.read_byte_record(&mut self.record);
        found.map_err(|problem| match problem.into_kind() {
            csv::ErrorKind::Io(cause) => cause,
            _ => io::Error::other("the record cannot be read"),
        })
    }

    /// The number of the line on which the record starts that was read last.
    fn start(&self) -> u64 {
        let inside = self.record.iter().flatten().filter(|byte| **byte == b'\n');
        let at_end = self.reader.position().byte() == self.read.all.load(Ordering::Relaxed);
        // The end of the file is the end of its last line.
        let ended = !at_end || self.read.ended.load(Ordering::Relaxed);
        let lines = inside.count() as u64 + u64::from(ended);
        self.reader.position().line().saturating_sub(lines)
    }

    /// Ends lines until the one of this number comes next.
    fn go_to(&mut self, line: u64, out: &mut Vec<u8>) {
        while self.line < line {
            out.push(b'\n');
            self.line += 1;
        }
        self.line += 1;
    }
}

impl Source for Cells {
    fn line(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let before = self.reader.position().line();
        match self.read() {
            Ok(true) => self.go_to(self.start(), out),
            Ok(false) => return Ok(false),
            Err(problem) => {
                self.go_to(before, out);
                return Err(problem);
            }
        }
        let (found, expected) = (self.record.len(), self.names.len());
        let mut cells = self.record.iter();
        if found != expected {
            if self.stops {
                return Err(io::Error::other(format!(
                    "{found} fields, and the first line has {expected}; put fields with commas, quotation marks or \
                     line ends in quotation marks"
                )));
            }
            // A list is no object, so it is set aside, with all that it has.
            let mut before = b'[';
            for cell in cells {
                out.push(before);
                push_text(cell, out);
                before = b',';
            }
            out.push(b']');
            return Ok(true);
        }
        let mut before = b'{';
        for (place, name) in self.names.iter().enumerate() {
            let cell = cells.next().unwrap_or_default();
            if cell.is_empty() && self.text != Some(place) {
                continue;
            }
            out.push(before);
            push_text(name.as_bytes(), out);
            out.push(b':');
            push_text(cell, out);
            before = b',';
        }
        if before == b'{' {
            out.push(before);
        }
        out.push(b'}');
        Ok(true)
    }
}
