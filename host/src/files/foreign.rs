//! Files of another kind than their names suggest, recognised by their first bytes.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Chain, Cursor, Read, Seek};
use std::path::Path;
use std::str::Utf8Error;

use crate::error::{Error, Result};
use crate::files::form::Form;
use crate::files::lines::unpacked;

/// A kind of file that no reader accepts, with advice for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Compressed with this program.
    Packed(&'static str),
    /// Another kind, with its advice.
    Other(&'static str),
}

use Foreign::{Other, Packed};

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Packed(with) => write!(f, "compressed with {with}; unpack it first"),
            Other(kind) => f.write_str(kind),
        }
    }
}

impl std::error::Error for Foreign {}

/// The first bytes of gzipped files. UTF-8 text never begins with them.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

const WEB_PAGE: Foreign = Other(
    "a web page, not the file itself; download the file again, from the address of its raw content",
);
const ZIP: Foreign = Other(
    "a zip archive, as spreadsheets (.xlsx) and PyTorch files are; unpack it or export its content",
);

const LFS: Foreign =
    Other("a Git LFS pointer, not the file itself; fetch the file with `git lfs pull`");
const ZSTANDARD: Foreign = Packed("Zstandard");
const ARROW: Foreign = Other("an Arrow file; save it as Parquet");
const PICKLE: Foreign = Other("a Python pickle; save its content as text");
const UTF_16: Foreign = Other("text in UTF-16; save it as UTF-8");
const UTF_32: Foreign = Other("text in UTF-32; save it as UTF-8");
const TAR: Foreign = Other("a tar archive; unpack it first");
const IMAGE: Foreign = Other("an image, not text; name a text file");
const ANNEX: Foreign =
    Other("a git-annex pointer, not the file itself; fetch the file with `git annex get`");
const DVC: Foreign = Other("a DVC pointer, not the file itself; fetch the file with `dvc pull`");
const REFUSAL: Foreign = Other(
    "the error message of a server, not the file itself; download the file again, from the right address",
);
const STATISTICS: Foreign = Other("a file of SPSS or Stata; export its content as CSV");
const SAFETENSORS: Foreign = Other("a safetensors file, not text; name a text file");
const BINARY: Foreign = Other("a binary file, not text; export its content as text");

/// First lines of files that hold the error message of a server.
const REFUSALS: [&str; 4] = [
    "404: not found",
    "entry not found",
    "repository not found",
    "invalid username or password.",
];

/// First bytes of binary files that other readers accept.
const OTHERS: [(&[u8], Foreign); 3] = [
    (
        b"PAR1",
        Other("a Parquet file, which is read only if it is whole and its name ends in .parquet"),
    ),
    (
        b"\x93NUMPY",
        Other("a NumPy array, not text; save its content as text"),
    ),
    (
        b"UNDRTONE",
        Other("a pack of undertone, not text; name a text file"),
    ),
];

/// The first bytes of DVC pointers.
const DVC_LINE: &[u8] = b"outs:";

/// The first bytes of most ORC files.
const ORC_LINE: &[u8] = b"ORC\n";

/// First bytes of releases without separators.
const RELEASE: &[u8] = b"UTR";

/// First bytes of files, compared without regard to case, because web pages differ in it.
const SIGNATURES: [(&[u8], Foreign); 62] = [
    (b"version https://git-lfs.github.com/spec/", LFS),
    (b"version https://hawser.github.com/spec/", LFS),
    (b"/annex/objects/", ANNEX),
    (
        b"# xet version",
        Other("a Xet pointer, not the file itself; download the file again"),
    ),
    (b"<!doctype html", WEB_PAGE),
    (b"<html", WEB_PAGE),
    (b"<head>", WEB_PAGE),
    (b"<head ", WEB_PAGE),
    (b"<meta ", WEB_PAGE),
    (b"<title>", WEB_PAGE),
    (b"<body>", WEB_PAGE),
    (b"<body ", WEB_PAGE),
    (b"<script>", WEB_PAGE),
    (b"<script ", WEB_PAGE),
    (b"<!--", WEB_PAGE),
    (
        b"<?xml",
        Other("an XML document, as servers send with an error; download the file again"),
    ),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (LOW_BYTE_FIRST, UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"\0\0\xfe\xff", UTF_32),
    (&GZIP, Packed("gzip")),
    (b"\xfd7zXZ\0", Packed("xz")),
    (b"BZh", Packed("bzip2")),
    (b"\x5d\0\0", Packed("LZMA")),
    (b"LZIP\x01", Packed("lzip")),
    (b"\x28\xb5\x2f\xfd", ZSTANDARD),
    (b"\x04\x22\x4d\x18", Packed("LZ4")),
    (b"\x02\x21\x4c\x18", Packed("LZ4")),
    (b"\xff\x06\0\0sNaPpY", Packed("Snappy")),
    (b"\x78\x01", Packed("zlib")),
    (b"\x78\x5e", Packed("zlib")),
    (b"\x78\x9c", Packed("zlib")),
    (b"\x78\xda", Packed("zlib")),
    (b"\x89LZO\0", Packed("LZO")),
    (b"\x89PNG\r\n", IMAGE),
    (b"\xff\xd8\xff", IMAGE),
    (b"GIF87a", IMAGE),
    (b"GIF89a", IMAGE),
    (b"\x7fELF", Other("a program, not text; name a text file")),
    (b"\x1f\x9d", Packed("compress")),
    (
        b"7z\xbc\xaf\x27\x1c",
        Other("a 7-Zip archive; unpack it first"),
    ),
    (b"Rar!\x1a\x07", Other("a RAR archive; unpack it first")),
    (b"$FL2@(#)", STATISTICS),
    (b"<stata_dta>", STATISTICS),
    (b"{\\rtf", Other("a document in RTF; export its text")),
    (b"%PDF-", Other("a PDF document; export its text")),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        Other("a file of Microsoft Office; export its content"),
    ),
    (b"ARROW1\0\0", ARROW),
    (b"FEA1\0\0\0\0", ARROW),
    (b"ORC", Other("an ORC file; save it as Parquet")),
    (b"Obj\x01", Other("an Avro file; save it as Parquet")),
    (b"(lp0\n", PICKLE),
    (b"(dp0\n", PICKLE),
    (b"]q\0", PICKLE),
    (b"}q\0", PICKLE),
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04\x95", PICKLE),
    (b"\x80\x05\x95", PICKLE),
    (b"\x89HDF\r\n", Other("an HDF5 file; export its content")),
    (
        b"SQLite format 3\0",
        Other("an SQLite database; export the table"),
    ),
];

/// A byte order mark in UTF-16 or UTF-32.
const LOW_BYTE_FIRST: &[u8] = b"\xff\xfe";

/// The name of the format in the header of a tar archive, and its offset.
const USTAR: (usize, &[u8]) = (257, b"ustar");

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
        if is_safetensors(start) {
            return None;
        }
        match start {
            // A frame that readers skip; parallel programs write one first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Some(ZSTANDARD),
            // A stream: the length of the schema follows.
            [0xff, 0xff, 0xff, 0xff, _, _, 0, 0, ..] => return Some(ARROW),
            _ => {}
        }
        let start = significant(start);
        if is_annex_link(start) {
            return Some(ANNEX);
        }
        if is_refusal(start) {
            return Some(REFUSAL);
        }
        let rest = start.strip_prefix(DVC_LINE).map(<[u8]>::trim_ascii_start);
        if rest.is_some_and(|rest| rest.starts_with(b"- md5:")) {
            return Some(DVC);
        }
        let (signature, kind) = SIGNATURES
            .iter()
            .find(|(signature, _)| begins(start, signature))?;
        match *signature {
            LOW_BYTE_FIRST if start[2..].starts_with(&[0; 2]) => Some(UTF_32),
            // A text may begin with a short signature, and a label or a word may be a tag.
            short if (short.len() < 4 || *kind == IMAGE) && is_text(start) => None,
            _ if *kind == WEB_PAGE && is_cell(start) => None,
            _ => Some(*kind),
        }
    }

    /// Recognises by its first bytes a file that is no text.
    fn of_text(start: &[u8]) -> Option<Self> {
        if let Some(kind) = Self::of(start) {
            return Some(kind);
        }
        let other = OTHERS
            .iter()
            .find(|(signature, _)| start.starts_with(signature) && !is_text(start));
        match other {
            Some((_, kind)) => Some(*kind),
            None if start.starts_with(RELEASE) => None,
            None if is_safetensors(start) => Some(SAFETENSORS),
            None if is_utf16(start) => Some(UTF_16),
            None => is_binary(start).then_some(BINARY),
        }
    }
}

/// Returns whether these are the error message of a server and nothing else.
fn is_refusal(start: &[u8]) -> bool {
    let is_all = |text: &&str| start.trim_ascii().eq_ignore_ascii_case(text.as_bytes());
    REFUSALS.iter().any(is_all)
}

/// Returns whether the first tag is a cell or a word: a tab and a text follow, or coordinates.
fn is_cell(start: &[u8]) -> bool {
    let end = start.iter().position(|byte| *byte == b'>');
    let rest = end.map_or(&b""[..], |end| &start[end + 1..]);
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or(rest);
    let is_number = |word: &str| word.parse::<f32>().is_ok();
    match line {
        [b'\t', next, ..] => *next != b'<' && *next != b'\r',
        [b' ', ..] => {
            let line = String::from_utf8_lossy(line);
            let mut words = line.split_whitespace().take(2).peekable();
            words.peek().is_some() && words.all(is_number)
        }
        _ => false,
    }
}

/// Returns whether the length of a header and its brace come first.
fn is_safetensors(start: &[u8]) -> bool {
    start.get(5..9) == Some(b"\0\0\0{")
}

/// Returns whether this is the target of a link into git-annex, which a copy without links has as
/// its content.
fn is_annex_link(mut start: &[u8]) -> bool {
    while let [b'.', b'.', b'/' | b'\\', rest @ ..] = start {
        start = rest;
    }
    [&b".git/annex/objects/"[..], b".git\\annex\\objects\\"]
        .iter()
        .any(|path| start.starts_with(path))
}

/// Returns whether these are UTF-8. A character may be cut off after [`MOST`] bytes.
fn is_utf8(start: &[u8]) -> bool {
    let is_cut = |error: Utf8Error| error.error_len().is_none() && start.len() == MOST;
    str::from_utf8(start).map_or_else(is_cut, |_| true)
}

/// Returns whether there is a control byte that texts do not have. They have white space, and
/// perhaps ends of file (0x1a) and escapes (0x1b) of terminals.
fn has_control(start: &[u8]) -> bool {
    start
        .iter()
        .any(|byte| matches!(byte, 0..=8 | 14..=0x19 | 0x1c..=0x1f))
}

fn is_text(start: &[u8]) -> bool {
    is_utf8(start) && !has_control(start)
}

/// Returns whether no text in any encoding begins so. Control bytes alone may be in a text, and
/// other encodings than UTF-8 have bytes that it lacks.
fn is_binary(start: &[u8]) -> bool {
    let is_message_pack = || {
        // A map of few fields, and a short name.
        let [0x81..=0x8f, length @ 0xa1..=0xbf, rest @ ..] = start else {
            return false;
        };
        let name = rest.get(..usize::from(length & 0x1f));
        name.is_some_and(|name| name.iter().all(u8::is_ascii_graphic))
    };
    start.contains(&0) || !is_utf8(start) && (has_control(start) || is_message_pack())
}

/// Returns whether this is text in UTF-16 without a byte order mark: its spaces and ASCII
/// characters have zeros in one of two places.
fn is_utf16(start: &[u8]) -> bool {
    [u16::from_le_bytes, u16::from_be_bytes]
        .iter()
        .enumerate()
        .any(|(order, unit)| {
            let (pairs, _) = start.as_chunks::<2>();
            let zeros = |place: usize| pairs.iter().filter(|pair| pair[place] == 0).count();
            let units = pairs.iter().map(|pair| unit(*pair));
            let is_text = |x: char| !x.is_control() || x.is_ascii_whitespace();
            zeros(order) == 0
                && zeros(1 - order) > 1
                && char::decode_utf16(units).all(|x| x.is_ok_and(is_text))
        })
}

/// Returns whether this is a header of a tar archive. A text may have the name of the format at its
/// offset, but no checksum, whose field has octal digits, spaces and zeros. Old archives have no
/// name of the format, so their checksum is computed.
fn is_tar(start: &[u8]) -> bool {
    let checksum = start.get(148..156).unwrap_or_default();
    let name = start.get(USTAR.0..).unwrap_or_default();
    let is_octal = |byte: &u8| matches!(byte, b'0'..=b'7' | b' ' | 0);
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let stated = || {
        let digits = str::from_utf8(checksum).ok()?;
        u32::from_str_radix(digits.trim_matches([' ', '\0']), 8).ok()
    };
    // The checksum counts its own field as spaces.
    let is_right = || stated() == Some(sum(start) - sum(checksum) + 8 * u32::from(b' '));
    checksum.iter().all(is_octal)
        && (name.starts_with(USTAR.1) || start.len() == MOST && is_right())
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
    without_mark(start).trim_ascii_start()
}

/// Skips a byte order mark, which editors write at the start of a text.
#[doc(hidden)]
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}

fn begins(start: &[u8], with: &[u8]) -> bool {
    start
        .get(..with.len())
        .is_some_and(|first| first.eq_ignore_ascii_case(with))
}

/// A stream that yields its examined first bytes again.
pub type FromStart<R> = Chain<Cursor<Vec<u8>>, R>;

/// Reads the first line that is not blank, at most [`MOST`] bytes, and returns the whole stream. A
/// pipe may not have more yet. More is read of a file that is not UTF-8, or may be an ORC file, a
/// DVC pointer or an error message.
fn peeked<R: Read>(mut source: R) -> io::Result<(Vec<u8>, FromStart<R>)> {
    let mut start = Vec::new();
    while start.len() < MOST
        && (!start.ends_with(b"\n")
            || significant(&start).is_empty()
            || start == ORC_LINE
            || significant(&start).trim_ascii_end() == DVC_LINE
            || is_refusal(significant(&start))
            || !is_utf8(&start))
    {
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
    if !is_gzipped {
        refused(Foreign::of_text(&start))?;
    }
    Ok((source, is_gzipped))
}

/// Returns a stream of text that must not be gzipped.
///
/// # Errors
/// As [`text`].
pub fn plain<R: Read>(source: R) -> io::Result<FromStart<R>> {
    let (start, source) = peeked(source)?;
    refused(Foreign::of_text(&start)).map(|()| source)
}

/// Returns the error for a file in which no release could be read, or `None` if it may be one of
/// releases. Not to be called before, because anybody may have written the first release.
pub fn of_releases(path: &Path) -> Option<Error> {
    let file = File::open(path).ok()?;
    let is_file = file.metadata().is_ok_and(|about| about.is_file());
    if !is_file || Form::of(path) == Some(Form::Parquet) {
        return None;
    }
    let (start, _) = peeked(unpacked(file).ok()?).ok()?;
    // Damaged records are also binary.
    let kind = Foreign::of_text(&start).filter(|kind| *kind != BINARY)?;
    Some(Error::foreign(path, kind))
}

fn refused(kind: Option<Foreign>) -> io::Result<()> {
    kind.map_or(Ok(()), |kind| {
        Err(io::Error::new(io::ErrorKind::InvalidData, kind))
    })
}

/// Returns the error for a file of another kind, or `None`, also for a file that cannot be read.
pub fn of_file(path: &Path) -> Option<Error> {
    if path.is_dir() {
        return Some(Error::folder(path));
    }
    check(path, &mut File::open(path).ok()?, Foreign::of_text).err()
}

/// Opens a file that must not be gzipped.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for another kind of file.
pub fn open(path: &Path) -> Result<File> {
    opened(path, Foreign::of)
}

/// Opens a text file that must not be gzipped.
///
/// # Errors
/// As [`open`].
pub fn open_text(path: &Path) -> Result<File> {
    opened(path, Foreign::of_text)
}

fn opened(path: &Path, of: impl Fn(&[u8]) -> Option<Foreign>) -> Result<File> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    check(path, &mut file, of)?;
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
fn check(path: &Path, file: &mut File, of: impl Fn(&[u8]) -> Option<Foreign>) -> Result<()> {
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(());
    }
    let (start, _) = peeked(&mut *file).map_err(Error::io("read", path))?;
    file.rewind().map_err(Error::io("read", path))?;
    of(&start).map_or(Ok(()), |kind| Err(Error::foreign(path, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_kind() {
        let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(bytes).collect()
        };
        let mut old_tar = tar(b"");
        let sum: u32 = old_tar.iter().map(|byte| u32::from(*byte)).sum();
        old_tar[148..156].copy_from_slice(format!("{:06o}\0 ", sum + 256).as_bytes());
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
            (b"{\\rtf1\\ansi x}", "RTF"),
            (b"$FL2@(#) SPSS DATA", "SPSS"),
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
            (&old_tar, "tar archive"),
            (b"x\x01\x01\xff", "zlib"),
            (b"x^\xed\xc1", "zlib"),
            (b"x\xda\xed", "zlib"),
            (b"ORC\x0a\x03\0", "ORC"),
            (b"\x93NUMPY\x01\0v\0{'descr'", "NumPy"),
            (b"\xff\xff\xff\xff\x98\0\0\0", "Arrow"),
            (b"PAR1\x15\x04\x15", "Parquet"),
            (b"\x5a\x2a\x4d\x18\x04\0\0\0", "Zstandard"),
            (b"\x89LZO\0\r\n\x1a\n", "LZO"),
            (b"\x89PNG\r\n\x1a\n\0", "image"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image"),
            (b"\x7fELF\x02\x01", "program"),
            (b"(lp0\n(dp1\nVtext\n", "pickle"),
            (b"]q\0(}q\x01(", "pickle"),
            (b"UNDRTONE\x01\0", "pack"),
            (b"{\0\0\0\0\0\0\0{\"a\":", "safetensors"),
            (b"\x80\x02\0\0\0\0\0\0{\"a\":", "safetensors"),
            (b"\x82\xa4text\xa1a\xa5label\xa1b", "binary"),
            (b"\x0b\x02\x80\n\xff", "binary"),
            (&[0; 300], "binary"),
            (&wide("größe,text\n", u16::to_le_bytes), "UTF-16"),
            (&wide("спорт\tтекст о спорте\n", u16::to_be_bytes), "UTF-16"),
            (b"outs:\n- md5: a304", "dvc pull"),
            (b"outs:\r\n- md5: a304\r\n", "dvc pull"),
            (b"<title> 404 not found</title>", "web page"),
            (b"GIF89a\x01\0", "image"),
            (b"../../.git/annex/objects/aa/bb/SHA256E", "git annex get"),
            (b"..\\.git\\annex\\objects\\aa", "git annex get"),
            (b"404: Not Found", "error message of a server"),
            (b"Entry not found\n", "error message of a server"),
            (b"<head><title>x", "web page"),
            (b"<BODY class=a>", "web page"),
            (b"<script>", "web page"),
        ] {
            let path = Path::new("x");
            let error = Error::io("read", path)(text(start).expect_err(part)).to_string();
            assert!(error.contains(part), "no \"{part}\" in: {error}");
        }
    }

    #[test]
    fn texts_like_other_files_are_read() {
        for start in [
            &b"BZh9 is a text"[..],
            b"version https://example.org",
            b"<p>",
            b"<header>",
            b"x^2 + 1",
            b"ORC is a format",
            b"404: Not Found is a page",
            b"Entry not found\nball\n",
            b"outs:\nball\n",
            b"<script>\tA text\n",
            b"<!-- a -->\tA text\n",
            b"<title> .1 -.2 .3\n",
            b"GIF89a\tA text\n",
            b"PAR1\tA text\n",
            b"UNDRTONE\tA text\n",
            b"caf\xe9 noir\n",
            b"\x82\xa4\x82\xa2 Shift JIS",
            b"\x1b[1mred\x1b[0m \x01",
            b"",
            b"{",
            b"P",
            b"\n\n\n",
            b"UTR\x01\0\0\0\0",
            ("a".repeat(USTAR.0) + "ustar").as_bytes(),
        ] {
            let (mut whole, is_gzipped) = text(start).unwrap();
            let mut read = Vec::new();
            whole.read_to_end(&mut read).unwrap();
            assert_eq!((&read[..], is_gzipped), (start, false));
        }
        // The length at the start of a safetensors file.
        for start in [&b"\xff\xfe\0\0\0\0\0\0{"[..], b"\x80\x02\0\0\0\0\0\0{"] {
            assert_eq!(Foreign::of(start), None);
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
