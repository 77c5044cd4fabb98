//! Files and streams of the command line.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use serde::Serialize;
use undertone::error::{Error, Result};
use undertone::files::atomic::AtomicFile;
use undertone::files::foreign;
use undertone::form::Contents;
use undertone::pack::candidates::Candidates;
use undertone_core::form::Form;
use undertone_core::pack::Pack;

use crate::paths::is_stream;
use crate::progress::without_bars;

/// The text of a file, or what is typed if the file is `-`.
pub fn read_text(path: &Path) -> Result<String> {
    if is_stream(path) && io::stdin().is_terminal() {
        note!("Type a text; end it with Ctrl-D on a line of its own.");
    }
    let text = if is_stream(path) {
        read_stream(path)?
    } else {
        fs::read(path).map_err(Error::io("read", path))?
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The bytes of a pack or of candidates, or of standard input if the file is `-`.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    if is_stream(path) {
        read_stream(path)
    } else {
        foreign::read(path)
    }
}

fn read_stream(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = io::stdin().read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(Error::io("read", path))
}

/// Prints to standard output. Its reader may stop early, as `head` does: that is no error.
pub fn print(text: &str) -> Result<()> {
    let write = || {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    match without_bars(write) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::io("write", Path::new("standard output"))),
    }
}

/// A pack from a file, or from standard input if that is `-`.
pub fn read_pack(path: &Path) -> Result<Pack<'static>> {
    parse_pack(read_bytes(path)?, path)
}

/// The pack in these bytes of a file, which stay in memory until the process ends.
pub fn parse_pack(bytes: Vec<u8>, path: &Path) -> Result<Pack<'static>> {
    let bytes: &'static [u8] = bytes.leak();
    Pack::parse(bytes).map_err(|problem| {
        let path = path.to_owned();
        if Candidates::from_bytes(bytes, &path).is_ok() {
            return Error::pack(format!(
                "`{}` is a file of candidates; name the pack that it was written beside",
                path.display()
            ));
        }
        Error::unusable_pack(&path)(problem)
    })
}

/// A form from a file, which is a form or its description in JSON; `-` is standard input.
pub fn read_form(path: &Path) -> Result<Form<'static>> {
    parse_form(read_bytes(path)?)
}

/// The form in these bytes of a file, which stays in memory until the process ends.
pub fn parse_form(bytes: Vec<u8>) -> Result<Form<'static>> {
    let bytes: &'static [u8] = Contents::pack(bytes)?.leak();
    Form::parse(bytes).map_err(Error::from)
}

/// A file without a name, on the disk of the output `out`, for lines that become a table.
pub fn nameless(out: &Path) -> Result<File> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).map_err(Error::io("create", out))
}

/// Prints a value as a line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&(json(value) + "\n"))
}

/// A value as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and numbers are JSON")
}

/// Writes a file as a whole, or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    AtomicFile::settled(path, bytes)?.commit()
}
