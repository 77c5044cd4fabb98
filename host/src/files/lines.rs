//! Reads a text file with one line in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::error::LineProblem;
use crate::files::foreign::{self, GZIP, without_mark};
use crate::progress::Progress;

/// Returns the text of a stream, decompressed if its first bytes show that it is gzipped.
///
/// # Errors
/// Errors of reading the first bytes; an error with a [`Foreign`](crate::files::foreign::Foreign)
/// as its source if they are not text.
pub fn unzipped<R: Read + Send + 'static>(source: R) -> io::Result<Box<dyn BufRead + Send>> {
    let (whole, is_gzipped) = foreign::text(source)?;
    Ok(if is_gzipped {
        // Other kinds of files may be gzipped.
        let whole = foreign::plain(MultiGzDecoder::new(whole))?;
        Box::new(BufReader::new(whole))
    } else {
        Box::new(BufReader::new(whole))
    })
}

/// Returns whether a first line names the separator of a table, as `sep=;` in spreadsheets.
#[doc(hidden)]
pub fn names_separator(line: &str) -> bool {
    let plain = line.replace(|c: char| c.is_whitespace() || "\"'".contains(c), "");
    let start = plain
        .get(..4)
        .filter(|start| start.eq_ignore_ascii_case("sep="));
    start.is_some() && !plain[4..].contains(char::is_alphanumeric)
}

/// Returns a stream, decompressed if its first bytes show that it is gzipped. Any other bytes are
/// left to the reader.
///
/// # Errors
/// Errors of reading the first bytes.
pub fn unpacked<R: Read + Send + 'static>(mut source: R) -> io::Result<Box<dyn BufRead + Send>> {
    let mut start = Vec::new();
    (&mut source)
        .take(GZIP.len() as u64)
        .read_to_end(&mut start)?;
    let is_gzipped = start == GZIP;
    let whole = Cursor::new(start).chain(source);
    Ok(if is_gzipped {
        Box::new(BufReader::new(MultiGzDecoder::new(whole)))
    } else {
        Box::new(BufReader::new(whole))
    })
}

/// A file that reports how much of it is read.
pub struct Watched {
    file: File,
    progress: Progress,
}

impl Watched {
    /// Starts a progress bar over the bytes of the file.
    pub fn new(file: File) -> Self {
        let total = file.metadata().map_or(0, |about| about.len());
        Self {
            file,
            progress: Progress::new("reading", total),
        }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

/// Reads lines of at most `limit` bytes without the line end, so that memory does not depend on the
/// content of the file.
pub(crate) struct Lines<R> {
    pub(crate) reader: R,
    limit: usize,
    number: u64,
    position: u64,
    /// The last line as written, or its start if it is too long.
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            number: 0,
            position: 0,
            buffer: Vec::new(),
        }
    }

    /// The number of the last line read, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The last line as written, or its start if it is too long.
    pub(crate) fn as_written(&self) -> &[u8] {
        &self.buffer
    }

    /// The offset after the last line read, unless its line end is missing.
    pub(crate) fn end(&self) -> Option<u64> {
        self.buffer.ends_with(b"\n").then_some(self.position)
    }

    /// Returns the next line without its end, `\n` or `\r\n`, and without a byte order mark at the
    /// start of the file. `None` at the end.
    pub(crate) fn next_line(&mut self) -> Result<Option<&str>, LineProblem> {
        let line = self.next_bytes()?.map(str::from_utf8).transpose();
        line.map_err(|error| LineProblem::NotUtf8 {
            byte: error.valid_up_to() + 1,
        })
    }

    /// As [`next_line`](Self::next_line), for bytes that may not be UTF-8.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<&[u8]>, LineProblem> {
        if self.read().map_err(LineProblem::Unreadable)?.is_none() {
            return Ok(None);
        }
        let line = content(&self.buffer, self.number);
        if line.len() > self.limit {
            if line.contains(&b'\r') {
                return Err(LineProblem::BareReturn);
            }
            return Err(LineProblem::TooLong { limit: self.limit });
        }
        Ok(Some(line))
    }

    /// Reads the next line, or its start if it is too long. Returns whether its end was left
    /// unread, or `None` at the end of the file.
    pub(crate) fn read(&mut self) -> io::Result<Option<bool>> {
        self.number += 1;
        self.buffer.clear();
        // Room for a byte order mark (3 bytes), "\r\n" (2), and 1 byte to notice a longer line.
        let most = self.limit as u64 + 6;
        let mut part = (&mut self.reader).take(most);
        let read = part.read_until(b'\n', &mut self.buffer)? as u64;
        self.position += read;
        let is_cut = read == most && !self.buffer.ends_with(b"\n");
        Ok((read > 0).then_some(is_cut))
    }
}

/// Removes the end of line `number`, `\n` or `\r\n`, and a byte order mark from line 1.
pub(crate) fn content(line: &[u8], number: u64) -> &[u8] {
    let line = if number == 1 {
        without_mark(line)
    } else {
        line
    };
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
