//! Files of another kind than their names suggest, recognised by their first bytes.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Chain, Cursor, Read, Seek};
use std::path::Path;

use crate::error::{Error, Result};

/// A kind of file that no reader accepts, with advice for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign(&'static str);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Foreign {}

/// The first bytes of gzipped files. UTF-8 text never begins with them.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

const WEB_PAGE: Foreign = Foreign(
    "a web page, not the file itself; download the file again, from the address of its raw content",
);
const ZIP: Foreign = Foreign(
    "a zip archive, as spreadsheets (.xlsx) and PyTorch files are; unpack it or export its content",
);

const LFS: Foreign =
    Foreign("a Git LFS pointer, not the file itself; fetch the file with `git lfs pull`");
const ZSTANDARD: Foreign = Foreign("compressed with Zstandard; unpack it first");
const LZ4: Foreign = Foreign("compressed with LZ4; unpack it first");
const ARROW: Foreign = Foreign("an Arrow file; save it as Parquet");
const PICKLE: Foreign = Foreign("a Python pickle; save its content as text");
const UTF_16: Foreign = Foreign("text in UTF-16; save it as UTF-8");
const UTF_32: Foreign = Foreign("text in UTF-32; save it as UTF-8");
const TAR: Foreign = Foreign("a tar archive; unpack it first");

/// First bytes of files, compared without regard to case, because web pages differ in it.
const SIGNATURES: [(&[u8], Foreign); 37] = [
    (b"version https://git-lfs.github.com/spec/", LFS),
    (b"version https://hawser.github.com/spec/", LFS),
    (
        b"/annex/objects/",
        Foreign("a git-annex pointer, not the file itself; fetch the file with `git annex get`"),
    ),
    (b"<!doctype html", WEB_PAGE),
    (b"<html", WEB_PAGE),
    (b"<!--", WEB_PAGE),
    (
        b"<?xml",
        Foreign("an XML document, as servers send with an error; download the file again"),
    ),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (LOW_BYTE_FIRST, UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"\0\0\xfe\xff", UTF_32),
    (&GZIP, Foreign("compressed with gzip; unpack it first")),
    (
        b"\xfd7zXZ\0",
        Foreign("compressed with xz; unpack it first"),
    ),
    // A digit follows, then the bytes of a block or of the end of the file.
    (b"BZh", Foreign("compressed with bzip2; unpack it first")),
    (
        b"\x5d\0\0",
        Foreign("compressed with LZMA; unpack it first"),
    ),
    (
        b"LZIP\x01",
        Foreign("compressed with lzip; unpack it first"),
    ),
    (b"\x28\xb5\x2f\xfd", ZSTANDARD),
    // A frame that readers skip; parallel programs write one first.
    (b"\x50\x2a\x4d\x18", ZSTANDARD),
    (b"\x04\x22\x4d\x18", LZ4),
    (b"\x02\x21\x4c\x18", LZ4),
    (
        b"\xff\x06\0\0sNaPpY",
        Foreign("compressed with Snappy; unpack it first"),
    ),
    (
        b"\x78\x9c",
        Foreign("compressed with zlib; unpack it first"),
    ),
    (
        b"\x1f\x9d",
        Foreign("compressed with compress; unpack it first"),
    ),
    (
        b"7z\xbc\xaf\x27\x1c",
        Foreign("a 7-Zip archive; unpack it first"),
    ),
    (b"Rar!\x1a\x07", Foreign("a RAR archive; unpack it first")),
    (b"%PDF-", Foreign("a PDF document; export its text")),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        Foreign("a file of Microsoft Office; export its content"),
    ),
    (b"ARROW1\0\0", ARROW),
    (b"FEA1\0\0\0\0", ARROW),
    (b"Obj\x01", Foreign("an Avro file; save it as Parquet")),
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04\x95", PICKLE),
    (b"\x80\x05\x95", PICKLE),
    (b"\x89HDF\r\n", Foreign("an HDF5 file; export its content")),
    (
        b"SQLite format 3\0",
        Foreign("an SQLite database; export the table"),
    ),
];

/// A byte order mark in UTF-16 or UTF-32.
const LOW_BYTE_FIRST: &[u8] = b"\xff\xfe";

/// The name of the format in the header of a tar archive, and its offset.
const USTAR: (usize, &[u8]) = (257, b"ustar");

/// The two byte sequences that may follow `BZh` and the digit of the block size.
const BZIP2_BLOCKS: [&[u8]; 2] = [b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"];

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The largest number of bytes that are examined: a header of a tar archive.
const MOST: usize = 512;

impl Foreign {
    /// Recognises a file by its first bytes.
    pub fn of(start: &[u8]) -> Option<Self> {
        if is_tar(start) {
            return Some(TAR);
        }
        if let Some(unit) = unit_of_ascii(start) {
            return Some(if unit == 2 { UTF_16 } else { UTF_32 });
        }
        // The length at the start of a safetensors file may have the bytes of a signature.
        if start.get(5..9) == Some(b"\0\0\0{") {
            return None;
        }
        let start = significant(start);
        let (signature, kind) = SIGNATURES
            .iter()
            .find(|(signature, _)| begins(start, signature))?;
        match *signature {
            // "BZh" alone may be a text.
            b"BZh" => {
                let block = start.get(4..)?;
                BZIP2_BLOCKS
                    .iter()
                    .any(|known| block.starts_with(known))
                    .then_some(*kind)
            }
            LOW_BYTE_FIRST if start[2..].starts_with(&[0; 2]) => Some(UTF_32),
            _ => Some(*kind),
        }
    }
}

/// Returns whether this is a header of a tar archive. A text may have the name of the format at its
/// offset, but no checksum, whose field has octal digits, spaces and zeros.
fn is_tar(start: &[u8]) -> bool {
    let checksum = start.get(148..156).unwrap_or_default();
    let name = start.get(USTAR.0..).unwrap_or_default();
    let is_octal = |byte: &u8| matches!(byte, b'0'..=b'7' | b' ' | 0);
    name.starts_with(USTAR.1) && checksum.iter().all(is_octal)
}

/// The bytes of a code unit if the file begins with ASCII characters of 2 or 4 bytes each. Read as
/// the length at the start of a safetensors file, these 8 bytes are more than any file has.
fn unit_of_ascii(start: &[u8]) -> Option<usize> {
    let start = start.first_chunk::<8>()?;
    [2, 4].into_iter().find(|unit| {
        let place = |at: usize| start[at] != 0;
        let is_ascii = start.iter().all(u8::is_ascii);
        let low_first = (0..8).all(|at| place(at) == (at % unit == 0));
        let high_first = (0..8).all(|at| place(at) == (at % unit == unit - 1));
        is_ascii && (low_first || high_first)
    })
}

/// Skips a byte order mark and leading white space, which web pages may have.
fn significant(start: &[u8]) -> &[u8] {
    let start = start.strip_prefix(MARK).unwrap_or(start);
    start.trim_ascii_start()
}

fn begins(start: &[u8], with: &[u8]) -> bool {
    start
        .get(..with.len())
        .is_some_and(|first| first.eq_ignore_ascii_case(with))
}

/// A stream that yields its examined first bytes again.
pub type FromStart<R> = Chain<Cursor<Vec<u8>>, R>;

/// Reads the first line that is not blank, at most [`MOST`] bytes, and returns the whole stream. A
/// pipe may not have more yet.
fn peeked<R: Read>(mut source: R) -> io::Result<(Vec<u8>, FromStart<R>)> {
    let mut start = Vec::new();
    while start.len() < MOST && (!start.ends_with(b"\n") || significant(&start).is_empty()) {
        if (&mut source).take(1).read_to_end(&mut start)? == 0 {
            break;
        }
    }
    Ok((start.clone(), Cursor::new(start).chain(source)))
}

/// Returns a stream of text and whether it is gzipped.
///
/// # Errors
/// Errors of reading; an error with a [`Foreign`] as its source for another kind of file.
pub fn text<R: Read>(source: R) -> io::Result<(FromStart<R>, bool)> {
    let (start, source) = peeked(source)?;
    let is_gzipped = start.starts_with(&GZIP);
    match Foreign::of(&start) {
        Some(kind) if !is_gzipped => Err(io::Error::new(io::ErrorKind::InvalidData, kind)),
        _ => Ok((source, is_gzipped)),
    }
}

/// Returns a stream of text that must not be gzipped.
///
/// # Errors
/// As [`text`].
pub fn plain<R: Read>(source: R) -> io::Result<FromStart<R>> {
    let (start, source) = peeked(source)?;
    match Foreign::of(&start) {
        Some(kind) => Err(io::Error::new(io::ErrorKind::InvalidData, kind)),
        None => Ok(source),
    }
}

/// Returns the error for a file of another kind, or `None`, also for a file that cannot be read.
pub fn of_file(path: &Path) -> Option<Error> {
    if path.is_dir() {
        return Some(Error::folder(path));
    }
    check(path, &mut File::open(path).ok()?).err()
}

/// Opens a file that must not be gzipped.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for another kind of file.
pub fn open(path: &Path) -> Result<File> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    check(path, &mut file)?;
    Ok(file)
}

/// Reads a whole file that must not be gzipped.
///
/// # Errors
/// The errors of [`open`].
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    match Foreign::of(&bytes[..bytes.len().min(MOST)]) {
        Some(kind) => Err(Error::foreign(path, kind)),
        None => Ok(bytes),
    }
}

/// Examines the start of a regular file; pipes are not read.
fn check(path: &Path, file: &mut File) -> Result<()> {
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(());
    }
    let (start, _) = peeked(&mut *file).map_err(Error::io("read", path))?;
    file.rewind().map_err(Error::io("read", path))?;
    Foreign::of(&start).map_or(Ok(()), |kind| Err(Error::foreign(path, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_kind() {
        for (start, part) in [
            (
                &b"version https://git-lfs.github.com/spec/v1\noid"[..],
                "git lfs pull",
            ),
            (b"\xef\xbb\xbf\n <!DOCTYPE HTML><html>", "web page"),
            (b"<HTML lang=en>", "web page"),
            (b"PK\x03\x04\x14\0", "zip"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"BZh91AY&SY\xd2", "bzip2"),
            (b"BZh9\x17\x72\x45\x38\x50\x90\0", "bzip2"),
            (b"\x28\xb5\x2f\xfd\x04", "Zstandard"),
            (b"\x5d\0\0\x80\0\xff", "LZMA"),
            (b"FEA1\0\0\0\0", "Arrow"),
            (b"LZIP\x01\x0c", "lzip"),
            (b"\x78\x9c\xab", "zlib"),
            (b"\x50\x2a\x4d\x18\x04\0\0\0", "Zstandard"),
            (b"\x02\x21\x4c\x18", "LZ4"),
            (b"\xff\x06\0\0sNaPpY", "Snappy"),
            (b"\x80\x02}q\0", "pickle"),
            (b"\x80\x05\x95", "pickle"),
            (b"\x89HDF\r\n\x1a\n", "HDF5"),
            (b"/annex/objects/SHA256E-s130--4d.txt\n", "git annex get"),
            (b"%PDF-1.7", "PDF"),
            (b"\xff\xfe{\0\"\0", "UTF-16"),
            (b"\xff\xfe", "UTF-16"),
            (b"\xfe\xff\0{\0\"", "UTF-16"),
            (b"{\0\"\0t\0e\0", "UTF-16"),
            (b"\0i\0d\0,\0t", "UTF-16"),
            (b"\xff\xfe\0\0{\0\0\0", "UTF-32"),
            (b"\0\0\xfe\xff\0\0\0{", "UTF-32"),
            (b"{\0\0\0\"\0\0\0", "UTF-32"),
            (&tar(b"ustar\x0000"), "tar archive"),
            (&tar(b"ustar  \0"), "tar archive"),
        ] {
            let path = Path::new("x");
            let error = Error::io("read", path)(text(start).err().unwrap()).to_string();
            assert!(error.contains(part), "no \"{part}\" in: {error}");
        }
        for start in [
            &b"BZh9 is a text"[..],
            b"version https://example.org",
            b"<p>",
            b"",
            b"{",
            b"P",
            b"\n\n\n",
            b"\xff\xfe\0\0\0\0\0\0{",
            b"{\0\0\0\0\0\0\0{\"a\":",
            b"\x80\x02\0\0\0\0\0\0{\"a\":",
            b"UT\0\x01\0\0\0\0",
            ("a".repeat(USTAR.0) + "ustar").as_bytes(),
        ] {
            let (mut whole, is_gzipped) = text(start).unwrap();
            let mut read = Vec::new();
            whole.read_to_end(&mut read).unwrap();
            assert_eq!((&read[..], is_gzipped), (start, false));
        }
    }

    fn tar(format: &[u8]) -> Vec<u8> {
        let mut header = b"data.jsonl".to_vec();
        header.resize(USTAR.0, 0);
        header.extend_from_slice(format);
        header.resize(MOST, 0);
        header
    }

    /// A pipe may block, so nothing is read after the first line.
    #[test]
    fn no_more_is_read_than_needed() {
        for (start, most) in [(&b"{}\n{}"[..], 3), (b"\n \nab\ncd", 6), (&[1; 600], MOST)] {
            let mut rest = start;
            peeked(&mut rest).unwrap();
            assert_eq!(start.len() - rest.len(), most, "{start:?}");
        }
    }
}
