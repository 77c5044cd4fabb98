//! A folder of result files, written together.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::files::atomic::AtomicFile;

/// Creates the folder `out` if it is missing, and checks that the file `last` can be written there.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
pub fn check(out: &Path, last: &str) -> Result<()> {
    fs::create_dir_all(out).map_err(Error::io("create the folder", out))?;
    AtomicFile::check(out.join(last))
}

/// Writes each text to the file of its name in the folder `out`.
///
/// All texts are on the disk before the first file gets its name, so a full disk leaves the old
/// files. Files are named in the order given. Files of these names are replaced; others stay.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument).
pub fn write(out: &Path, files: &[(&str, String)]) -> Result<()> {
    let settled =
        |(name, text): &(&str, String)| AtomicFile::settled(out.join(name), text.as_bytes());
    let files = files.iter().map(settled).collect::<Result<Vec<_>>>()?;
    files.into_iter().try_for_each(AtomicFile::commit)
}
