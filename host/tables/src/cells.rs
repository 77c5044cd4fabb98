//! CSV, and TSV with a header line, as lines of JSON.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead, Chain, Cursor, Read};
use std::mem;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use undertone::corpus::LINE_LIMIT;
use undertone::error::{Error, Result};
use undertone::files::fields::{no_such_field, similar};
use undertone::files::lines::{names_separator, unzipped};
use undertone::release::lines::{BadLine, LINE_LIMIT as RELEASE_LIMIT, MARKS};

use crate::columns::unusable;
use crate::{Source, Stream, push_text};

/// Most bytes to read for one record: the longest line, and what the reader buffers in advance.
const MOST: u64 = LINE_LIMIT as u64 + (1 << 20);

/// The records of a file.
struct Cells {
    reader: Reader<Limited>,
    names: Vec<String>,
    separator: u8,
    /// The text column, whose empty cells are texts.
    text: Option<usize>,
    /// Whether the first bad record ends the file.
    stops: bool,
    record: ByteRecord,
    /// Line number of the JSON line to write next.
    line: u64,
}

/// Removes carriage returns at line ends, so that lines can be numbered. Limits the length of a
/// record, because an unclosed quotation mark makes one record of the rest of the file.
struct Limited {
    source: Box<dyn BufRead + Send>,
    /// Whether the last byte was a carriage return, which may belong to a line end.
    held: bool,
    /// Number of bytes read before the current record.
    before: u64,
    /// Whether the last byte was a line end.
    ended: bool,
    place: Place,
}

/// The place of the last byte in the file.
#[derive(Default)]
struct Place {
    separator: u8,
    at: At,
    /// Number of bytes read.
    read: u64,
    /// Number of the current line.
    line: u64,
    /// Line of the last opening quotation mark.
    opened: u64,
    /// Whether a separator or a line end follows that mark in its cell.
    is_needed: bool,
    /// Faults of quotation marks that were read ahead.
    faults: VecDeque<Fault>,
}

/// Position of a byte within a record.
#[derive(Clone, Copy, Default, PartialEq)]
enum At {
    #[default]
    Start,
    Plain,
    Quoted,
    /// After a quotation mark, which ends a cell or is doubled.
    Mark,
    /// After blanks that follow such a mark.
    Blank,
    /// After other text that follows such a mark.
    Torn,
}

impl At {
    fn after(self, byte: u8, separator: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Mark,
            (Self::Quoted, _) | (Self::Start | Self::Mark, b'"') => Self::Quoted,
            (_, byte) if byte == separator || byte == b'\n' => Self::Start,
            (Self::Mark | Self::Blank, b' ' | b'\t' | b'\r') => Self::Blank,
            (Self::Mark | Self::Blank | Self::Torn, _) => Self::Torn,
            _ => Self::Plain,
        }
    }
}

/// A fault of the quotation marks of a cell.
struct Fault {
    kind: BadLine,
    /// Line of the opening mark.
    line: u64,
    /// Number of bytes that were read up to the fault.
    end: u64,
}

impl Place {
    /// Follows a byte.
    fn step(&mut self, byte: u8) {
        self.read += 1;
        if self.at == At::Start && byte == b'"' {
            self.opened = self.line;
            self.is_needed = false;
        }
        self.is_needed |= self.at == At::Quoted && (byte == self.separator || byte == b'\n');
        self.line += u64::from(byte == b'\n');
        let before = self.at;
        self.at = before.after(byte, self.separator);
        // In TSV, marks around a part of a cell are usual, and change no other cell.
        let is_fault = self.separator != b'\t' || self.is_needed;
        if before != At::Torn && self.at == At::Torn && is_fault {
            self.report(BadLine::AfterMark);
        }
    }

    fn report(&mut self, kind: BadLine) {
        let (line, end) = (self.opened, self.read);
        self.faults.push_back(Fault { kind, line, end });
    }

    /// Returns the first fault before byte `end`, and removes all of them.
    fn fault(&mut self, end: u64) -> Option<Fault> {
        let count = self.faults.iter().take_while(|fault| fault.end <= end);
        let count = count.count();
        self.faults.drain(..count).next()
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.place.read - self.before > MOST {
            return Err(io::Error::other(format!(
                "a record is longer than {LINE_LIMIT} bytes; is a quotation mark missing there?"
            )));
        }
        let mut length = 0;
        while length == 0 {
            let input = self.source.fill_buf()?;
            // Leaves space for a carriage return that was held back.
            let taken = input.len().min(buffer.len() / 2);
            if taken == 0 {
                if mem::replace(&mut self.place.at, At::Start) == At::Quoted {
                    self.place.report(BadLine::Unclosed);
                }
                return Ok(0);
            }
            let mut put = |byte, place: &mut Place| {
                buffer[length] = byte;
                length += 1;
                place.step(byte);
            };
            for &byte in &input[..taken] {
                if mem::take(&mut self.held) && byte != b'\n' {
                    put(b'\r', &mut self.place);
                }
                if byte == b'\r' && self.place.at != At::Quoted {
                    self.held = true;
                } else {
                    put(byte, &mut self.place);
                }
            }
            self.source.consume(taken);
        }
        self.ended = buffer[length - 1] == b'\n' && self.place.at != At::Quoted;
        Ok(length)
    }
}

/// Opens the records of a stream, gzipped or not. It must have the column `needed`. If it `stops`,
/// the first bad record is an error that ends them, and empty cells of that column are texts.
pub(crate) fn open(
    path: &Path,
    source: Box<dyn Read + Send>,
    separator: u8,
    needed: Option<&str>,
    stops: bool,
) -> Result<impl BufRead + Send + use<>> {
    let mut cells = Cells::open(path, source, separator)?;
    let place = needed.map(|needed| cells.place(path, needed)).transpose()?;
    cells.text = place.filter(|_| stops);
    cells.stops = stops;
    Ok(Stream::lines(cells))
}

pub(crate) fn names(
    path: &Path,
    source: Box<dyn Read + Send>,
    separator: u8,
) -> Result<Vec<String>> {
    Ok(Cells::open(path, source, separator)?.names)
}

/// Skips a byte order mark at the start of a stream. Spreadsheets write one; it does not belong to
/// the first name.
///
/// # Errors
/// Errors of `source`.
pub fn without_mark<R: Read>(mut source: R) -> io::Result<Chain<Cursor<Vec<u8>>, R>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut start = Vec::new();
    (&mut source)
        .take(MARK.len() as u64)
        .read_to_end(&mut start)?;
    if start == MARK {
        start.clear();
    }
    Ok(Cursor::new(start).chain(source))
}

impl Cells {
    fn open(path: &Path, source: Box<dyn Read + Send>, separator: u8) -> Result<Self> {
        let refused = |problem: &str| unusable(path, problem);
        let source = unzipped(source).and_then(without_mark);
        let source = Limited {
            source: Box::new(source.map_err(Error::io("read", path))?),
            held: false,
            before: 0,
            ended: false,
            place: Place {
                separator,
                line: 1,
                ..Place::default()
            },
        };
        // Records with too few or too many fields are handled here, not by the reader.
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .delimiter(separator)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(source);
        let names = reader
            .byte_headers()
            .map_err(|problem| match problem.into_kind() {
                csv::ErrorKind::Io(cause) => Error::io("read", path)(cause),
                _ => refused("its first line cannot be read"),
            })?;
        let names = names
            .iter()
            .map(|name| str::from_utf8(name).map(str::to_owned));
        let names = names.collect::<std::result::Result<Vec<String>, _>>();
        let end = reader.position().byte();
        if let Some(fault) = reader.get_mut().place.fault(end) {
            let names = names.ok();
            let other = names.and_then(|names| other_separator(&names, separator, "text"));
            let problem = other.unwrap_or_else(|| format!("on its first line {}", fault.kind));
            return Err(refused(&problem));
        }
        let not_utf8 = "its first line is not UTF-8; convert the file to UTF-8";
        let names = names.map_err(|_| refused(not_utf8))?;
        // Bare carriage returns, the line ends of old programs, would make names of the whole file.
        let is_bare = |name: &String| name.replace("\r\n", "").contains('\r');
        if names.iter().any(is_bare) {
            return Err(refused(
                "its first line has a carriage return without a line feed; end each line with a line feed, as \"CSV UTF-8\" of \
                 spreadsheets does",
            ));
        }
        if names.first().is_some_and(|name| names_separator(name)) {
            let wanted = plural(separator);
            return Err(refused(&format!(
                "its first line says which character parts the columns (`sep=`), as spreadsheets write it; remove that \
                 line, and part the columns with {wanted}"
            )));
        }
        let mut seen = HashSet::new();
        for (place, name) in (1..).zip(&names) {
            // The message omits the name: without a header line it is a private text.
            if !seen.insert(name) {
                return Err(refused(&format!(
                    "its first line must name the columns, and column {place} has the name of one before it"
                )));
            }
        }
        Ok(Self {
            reader,
            names,
            separator,
            text: None,
            stops: false,
            record: ByteRecord::new(),
            line: 1,
        })
    }
}

/// The name of a separator, in the plural.
fn plural(separator: u8) -> &'static str {
    if separator == b'\t' {
        "tabulators"
    } else {
        "commas"
    }
}

/// Describes the separator of the columns if it is not the one that was read: one of the usual
/// ones, or any that would make `name` the name of a column.
pub(crate) fn other_separator(names: &[String], separator: u8, name: &str) -> Option<String> {
    let usual = [
        (';', "semicolons"),
        ('\t', "tabulators"),
        ('|', "vertical bars"),
        (',', "commas"),
    ];
    let is_name = |part: &str| part.trim_matches(['"', ' ']) == name;
    let parts = |c: char| {
        let mut parted = names.iter().filter(|own| own.contains(c));
        parted.any(|own| own.split(c).any(is_name))
    };
    let is_other = |c: char| u32::from(c) != u32::from(separator);
    let found = usual
        .iter()
        .find(|(c, _)| is_other(*c) && (parts(*c) || names.len() == 1 && names[0].contains(*c)));
    let mut tried = HashSet::new();
    let mut is_mark =
        |c: &char| is_other(*c) && !c.is_alphanumeric() && !"-_. ".contains(*c) && tried.insert(*c);
    let other = match found {
        Some((_, name)) => (*name).to_owned(),
        None => {
            // More is a text, in which each character would be tried.
            let length: usize = names.iter().map(String::len).sum();
            let mut separators = names.iter().flat_map(|own| own.chars());
            let mark = separators.find(|c| length <= 4096 && is_mark(c) && parts(*c))?;
            format!("U+{:04X}", u32::from(mark))
        }
    };
    let wanted = plural(separator);
    Some(format!(
        "its first line has {other} between the names, and not {wanted}; save it with {wanted}"
    ))
}

impl Cells {
    /// Index of a column.
    fn place(&self, path: &Path, name: &str) -> Result<usize> {
        if let Some(place) = self.names.iter().position(|own| own == name) {
            return Ok(place);
        }
        if similar(name, &self.names).is_some() {
            return Err(no_such_field(path, "column", name, &self.names));
        }
        if self.names.is_empty() {
            let problem = "it is empty; its first line must name the columns";
            return Err(unusable(path, problem));
        }
        // Does not quote the names: without a header line they are private texts.
        let unnamed = || {
            format!(
                "its first line must name the columns, and names no column `{name}`; name the one to read, or rename \
                 it. Does each line end with a line feed?"
            )
        };
        let other = other_separator(&self.names, self.separator, name);
        Err(unusable(path, &other.unwrap_or_else(unnamed)))
    }

    /// Reads the next record; false at the end. Blank lines are skipped.
    fn read(&mut self) -> io::Result<bool> {
        let source = self.reader.get_mut();
        source.before = source.place.read;
        let found = self.reader.read_byte_record(&mut self.record);
        found.map_err(|problem| match problem.into_kind() {
            csv::ErrorKind::Io(cause) => cause,
            _ => io::Error::other("the record cannot be read"),
        })
    }

    /// Number of the first line of the last record.
    fn start(&self) -> u64 {
        let inside = self.record.iter().flatten().filter(|byte| **byte == b'\n');
        let source = self.reader.get_ref();
        // The end of the file ends its last line.
        let ended = source.ended || self.reader.position().byte() != source.place.read;
        let lines = inside.count() as u64 + u64::from(ended);
        self.reader.position().line().saturating_sub(lines)
    }

    /// Writes a record with a fault of its quotation marks as a rejected line, at the line of the
    /// opening mark. Fails if bad records end the file.
    fn reject(&mut self, fault: &Fault, out: &mut Vec<u8>) -> io::Result<bool> {
        self.go_to(fault.line, out);
        let start = out.len();
        let name = MARKS.iter().find(|(_, kind)| *kind == fault.kind);
        if let Some((name, _)) = name.filter(|_| !self.stops) {
            out.push(b'{');
            push_text(name.as_bytes(), out);
            out.push(b':');
            self.push_list(out);
            out.push(b'}');
        }
        if self.stops || out.len() - start > RELEASE_LIMIT {
            out.truncate(start);
            return Err(io::Error::other(fault.kind));
        }
        Ok(true)
    }

    /// Appends the fields of the record as a list.
    fn push_list(&self, out: &mut Vec<u8>) {
        let mut before = b'[';
        for cell in &self.record {
            out.push(before);
            push_text(cell, out);
            before = b',';
        }
        out.push(b']');
    }

    /// Writes empty lines until the next line has this number.
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
        if !self.read().inspect_err(|_| self.go_to(before, out))? {
            return Ok(false);
        }
        let end = self.reader.position().byte();
        if let Some(fault) = self.reader.get_mut().place.fault(end) {
            return self.reject(&fault, out);
        }
        self.go_to(self.start(), out);
        let (found, expected) = (self.record.len(), self.names.len());
        let names = self.names.iter().map(String::as_bytes);
        if self.stops && expected > 1 && names.eq(&self.record) {
            return Err(io::Error::other(
                "it names the columns again, as the first line does; remove it",
            ));
        }
        if found != expected {
            if self.stops {
                return Err(io::Error::other(format!(
                    "{found} fields, and the first line has {expected}; put fields with commas, quotation marks or \
                     line ends in quotation marks"
                )));
            }
            // A list is not an object, so the reader rejects this line and keeps all of its fields.
            self.push_list(out);
            return Ok(true);
        }
        let mut before = b'{';
        for (place, (name, cell)) in self.names.iter().zip(&self.record).enumerate() {
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
