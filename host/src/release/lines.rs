//! Files of releases: a line of JSON each.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::lines;

/// The longest line, in bytes: an id of that length has room, whoever made it.
pub const LINE_LIMIT: usize = 1 << 20;

/// The lines of a file of releases, one in memory. A byte order mark at the start and carriage returns at
/// line ends are skipped; the first line that cannot be read is refused with its number.
pub struct Lines {
    path: PathBuf,
    lines: lines::Lines<BufReader<File>>,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Ok(Self {
            path: path.to_owned(),
            lines: lines::Lines::new(BufReader::new(file), LINE_LIMIT),
        })
    }

    /// The next line with its number, from 1; none at the end.
    ///
    /// # Errors
    /// [`Error::ReleaseLine`] for a line that cannot be read, is not UTF-8 or is too long.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>> {
        let number = self.lines.number() + 1;
        match self.lines.next_line() {
            Ok(line) => Ok(line.map(|line| (number, line))),
            Err(problem) => Err(Error::ReleaseLine {
                path: self.path.clone(),
                line: number,
                problem: problem.to_string(),
            }),
        }
    }
}
