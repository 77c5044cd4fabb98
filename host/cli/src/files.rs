//! Files and streams of the command line.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use undertone::error::{Error, Result};
use undertone::files::atomic::{AtomicFile, folder};
use undertone::files::foreign;
use undertone::form::Contents;
use undertone::pack::candidates::Candidates;
use undertone_core::form::Form;
use undertone_core::pack::Pack;
use undertone_tables::{Kind, Table};

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

/// Lines that appear in a file when all are written, or on standard output.
pub struct Output {
    /// For errors.
    path: PathBuf,
    to: To,
}

enum To {
    File(AtomicFile),
    /// Lines that wait in a file without a name until they are a table.
    Table(BufWriter<File>, Table),
    Stream(BufWriter<io::Stdout>),
}

impl Output {
    /// Refuses a file that cannot be written, before the work.
    pub fn check(path: &Path) -> Result<()> {
        if is_stream(path) {
            Ok(())
        } else {
            AtomicFile::check(path)
        }
    }

    /// Starts the lines of `path`. `kinds` are the columns if it is a table.
    pub fn create(path: &Path, kinds: &[(&'static str, Kind)]) -> Result<Self> {
        let (path, to) = if is_stream(path) {
            let stream = BufWriter::new(io::stdout());
            (Path::new("standard output"), To::Stream(stream))
        } else if let Some(table) = Table::of(path, kinds)? {
            AtomicFile::check(path)?;
            // On the disk of the table.
            let lines = tempfile::tempfile_in(folder(path)).map_err(Error::io("create", path))?;
            (path, To::Table(BufWriter::new(lines), table))
        } else {
            (path, To::File(AtomicFile::create(path)?))
        };
        Ok(Self {
            path: path.to_owned(),
            to,
        })
    }

    /// Adds whole lines.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        let writer: &mut dyn Write = match &mut self.to {
            To::File(file) => file,
            To::Table(lines, _) => lines,
            To::Stream(stream) => stream,
        };
        let written = writer.write_all(lines);
        written.map_err(Error::io("write", &self.path))
    }

    /// Writes everything to the disk or to standard output, but gives a file no name yet.
    pub fn settle(&mut self) -> Result<()> {
        match &mut self.to {
            To::File(file) => file.settle(),
            To::Table(lines, table) => {
                lines.flush().map_err(Error::io("write", &self.path))?;
                self.to = To::File(table.settled(lines.get_mut(), &self.path)?);
                Ok(())
            }
            To::Stream(stream) => stream.flush().map_err(Error::io("write", &self.path)),
        }
    }

    /// Gives a settled file its name.
    pub fn commit(self) -> Result<()> {
        match self.to {
            To::File(file) => file.commit(),
            To::Table(..) | To::Stream(_) => Ok(()),
        }
    }
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
