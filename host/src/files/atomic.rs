//! Files that appear whole or not at all.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::{Builder, TempPath};

use crate::error::{Error, Result};

/// A file that is written beside its target and takes its place in one step.
///
/// A reader sees the old content or the new, never a mixture. Dropping the value without
/// [`commit`](Self::commit) removes the new content and leaves the target unchanged. A killed
/// process leaves a part, which the next writer of the same target removes; links, pipes and
/// devices with the name of a part are left alone. If the target is a link, the file it points to
/// is replaced and the link stays. On Unix the new file gets the permissions of the one it
/// replaces.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::io::Write;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("report.txt");
/// let mut file = undertone::files::atomic::AtomicFile::create(&path)?;
/// file.write_all(b"done")?;
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"done");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    writer: BufWriter<File>,
    part: TempPath,
}

impl AtomicFile {
    /// Starts a file for `path`. The name `path` does not exist before [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if `path` is a folder or names no
    /// file; [`ErrorKind::Io`](crate::error::ErrorKind::Io) if its folder does not exist or cannot
    /// be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let target = resolved(path.as_ref());
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let problem = if name.is_empty() {
            Some("it names no file; add a file name")
        } else if target.is_dir() {
            Some("it is a folder; add a file name")
        } else if target.is_symlink() {
            Some("it is a link of a circle of links, which leads to no file; name one")
        } else {
            // Renaming over a device or a pipe would remove it.
            let is_other = target.metadata().is_ok_and(|there| !there.is_file());
            is_other.then_some("it is not a regular file; name one")
        };
        if let Some(problem) = problem {
            return Err(Error::output(&target, problem));
        }
        remove_left_parts(&target, &name);
        let part = Builder::new()
            .prefix(&format!(".{name}."))
            .rand_bytes(RANDOM)
            .suffix(PART)
            .make_in(folder(&target), |part| {
                let file = File::create_new(part)?;
                // Another process may have removed it as a leftover before it was locked.
                if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !part.exists() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(file)
            });
        let (file, part) = part.map_err(Error::io("create", &target))?.into_parts();
        // Set the permissions before any content is written.
        take_mode(&file, &target, OWN).map_err(Error::io("create", &target))?;
        Ok(Self {
            target,
            writer: BufWriter::new(file),
            part,
        })
    }

    /// Checks before long work that `path` can be written.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    pub fn check(path: impl AsRef<Path>) -> Result<()> {
        Self::create(path).map(drop)
    }

    /// Writes `bytes` to the disk but leaves the target unchanged until [`commit`](Self::commit),
    /// which then needs no more space.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create), and [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// no file is left.
    pub fn settled(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Self> {
        let mut file = Self::create(path)?;
        file.write_all(bytes)
            .map_err(Error::io("write", &file.target))?;
        file.settle()?;
        Ok(file)
    }

    /// Writes everything to the disk and gives the file its name, replacing a file of that name.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io). The target is then unchanged, unless only
    /// the last step, flushing its folder to the disk, failed.
    pub fn commit(mut self) -> Result<()> {
        let target = self.target.clone();
        let commit = || -> io::Result<()> {
            take_mode(self.writer.get_ref(), &self.target, 0)?;
            self.sync()?;
            self.part.persist(&self.target)?;
            sync_folder(&self.target)
        };
        commit().map_err(Error::io("write", &target))
    }

    /// Writes everything to the disk without giving the file its name, so that
    /// [`commit`](Self::commit) needs no more space. For several files that belong together.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn settle(&mut self) -> Result<()> {
        self.sync().map_err(Error::io("write", &self.target))
    }

    /// Restricts reading and writing to the owner, on Unix.
    pub(crate) fn keep_private(&self) -> Result<()> {
        let set = set_mode(self.writer.get_ref(), OWN);
        set.map_err(Error::io("create", &self.target))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()
    }
}

/// Follows links to the path of a file, or of a file yet to be made. If links form a circle, the
/// result is one of them, which cannot be written.
#[doc(hidden)]
pub fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // Linux follows 40 links.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => break,
        }
    }
    path
}

/// Permissions: the owner alone reads and writes.
pub(crate) const OWN: u32 = 0o600;

/// Copies to `file` the permissions of `target`, if it exists, and adds `more`.
#[cfg(unix)]
pub(crate) fn take_mode(file: &File, target: &Path, more: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match fs::metadata(target) {
        Ok(about) => set_mode(file, (about.permissions().mode() & 0o777) | more),
        Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // Some file systems have the same permissions for all files.
    if file.metadata()?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    file.set_permissions(PermissionsExt::from_mode(mode))
}

/// Other systems have no mode bits.
#[cfg(not(unix))]
pub(crate) fn take_mode(_: &File, _: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Random letters and digits in the name of a part.
const RANDOM: usize = 8;

/// End of the name of a part.
const PART: &str = ".part";

/// The number of attempts to open a file that others keep replacing.
const TRIES: usize = 1000;

/// Removes the parts of `target` that killed processes left: those that are not locked.
///
/// A part that cannot be read or removed stays, because writing does not depend on it. Only regular
/// files are opened: a pipe would block, and a link would lead elsewhere.
fn remove_left_parts(target: &Path, name: &str) {
    let Ok(entries) = fs::read_dir(folder(target)) else {
        return;
    };
    let prefix = format!(".{name}.");
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_str();
        let random = name.and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(PART));
        if random.is_some_and(|it| it.len() == RANDOM && it.bytes().all(|b| b.is_ascii_alphanumeric()))
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            // With read access as well: opening then returns at once even if a pipe took its place.
            && let Ok(file) = OpenOptions::new().read(true).write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Opens or creates a file beside its output, locked against other processes until it is closed.
///
/// A link is not followed, and only a regular file is opened.
///
/// # Errors
/// [`ErrorKind::InUse`](crate::error::ErrorKind::InUse) if another process holds the lock; the
/// errors of [`open_regular`].
pub(crate) fn open_locked(path: &Path) -> Result<File> {
    for _ in 0..TRIES {
        let file = open_regular(path)?;
        // Some file systems have no locks.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::in_use(format!(
                "`{}` is being written by another process; wait until it is done, or name another \
                 output",
                path.display()
            )));
        }
        // Between opening and locking, the process that held the lock may have renamed the file.
        if is_at(&file, path).map_err(Error::io("open", path))? {
            return Ok(file);
        }
    }
    Err(replaced(path))
}

/// Opens or creates a file beside an output. A link is not followed, and only a regular file is
/// opened.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if something else has its name;
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
pub(crate) fn open_regular(path: &Path) -> Result<File> {
    use io::ErrorKind::{AlreadyExists, NotFound};
    for _ in 0..TRIES {
        let there = match fs::symlink_metadata(path) {
            Ok(about) if about.is_file() => true,
            Ok(_) => {
                let problem = "unfinished output or a lock is kept there, but it is not a regular file; \
                               remove it";
                return Err(Error::output(path, problem));
            }
            Err(error) if error.kind() == NotFound => false,
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        let mut options = OpenOptions::new();
        // A new file never follows a link that appeared in the meantime, dangling or not.
        options.read(true).write(true).create_new(!there);
        match options.open(path) {
            // A link may have taken its place. Nothing was written yet.
            Ok(file) if is_at(&file, path).map_err(Error::io("open", path))? => return Ok(file),
            Ok(_) => {}
            // The file appeared or vanished in the meantime.
            Err(error)
                if [AlreadyExists, NotFound].contains(&error.kind()) && folder(path).is_dir() => {}
            Err(error) => return Err(Error::io("open", path)(error)),
        }
    }
    Err(replaced(path))
}

fn replaced(path: &Path) -> Error {
    let problem = "somebody else keeps replacing it; leave it alone and run the command again";
    Error::output(path, problem)
}

/// Returns whether an open file still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Other systems do not rename open files.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Flushes the folder of a file to the disk, so that a new name survives a power failure.
pub(crate) fn sync_folder(file: &Path) -> io::Result<()> {
    // Other systems cannot open a folder as a file.
    #[cfg(unix)]
    {
        File::open(folder(file))?.sync_all()?;
    }
    Ok(())
}

/// The folder of a file.
#[doc(hidden)]
pub fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// One tensor of a safetensors file.
#[doc(hidden)]
pub struct Tensor<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its axes.
    pub shape: Vec<usize>,
    /// Its numbers, little-endian; their count is the product of `shape`.
    pub bytes: &'a [u8],
}

/// The metadata entry that describes a safetensors file. It is one JSON object, because the
/// format's writer puts several entries in an order that changes from run to run.
pub const DESCRIPTION: &str = "undertone";

/// Writes and commits a safetensors file with a description.
///
/// # Errors
/// Errors of writing.
#[doc(hidden)]
pub fn write_tensors(
    mut file: AtomicFile,
    tensors: &[Tensor<'_>],
    description: &impl Serialize,
) -> Result<()> {
    let written = file.write_all(&tensor_bytes(tensors, description));
    written.map_err(Error::io("write", &file.target))?;
    file.commit()
}

/// Returns the bytes of a safetensors file with a description.
pub(crate) fn tensor_bytes(tensors: &[Tensor<'_>], description: &impl Serialize) -> Vec<u8> {
    let views = tensors.iter().map(|tensor| {
        let view = TensorView::new(tensor.dtype, tensor.shape.clone(), tensor.bytes);
        (tensor.name, view.expect("the shape is that of the bytes"))
    });
    let description = serde_json::to_string(description).expect("strings and numbers are JSON");
    let metadata = HashMap::from([(DESCRIPTION.to_owned(), description)]);
    safetensors::serialize(views, Some(metadata)).expect("the tensors are valid")
}

/// Parses the tensors and the description of a safetensors file.
///
/// # Errors
/// A description of the fault.
#[doc(hidden)]
pub fn described<D: DeserializeOwned>(bytes: &[u8]) -> Result<(SafeTensors<'_>, D), String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let metadata = header.metadata().as_ref();
    let description = metadata.and_then(|all| all.get(DESCRIPTION));
    let description = description.ok_or(format!("it has no metadata \"{DESCRIPTION}\""))?;
    let description = serde_json::from_str(description)
        .map_err(|error| format!("metadata \"{DESCRIPTION}\": {error}"))?;
    Ok((tensors, description))
}

/// Returns the shape and the numbers of a tensor of finite f32 with `A` axes, none of length 0.
///
/// # Errors
/// A description of the fault.
#[doc(hidden)]
pub fn f32s<const A: usize>(
    tensors: &SafeTensors<'_>,
    name: &str,
) -> Result<([usize; A], Vec<f32>), String> {
    let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
    let shape = <[usize; A]>::try_from(tensor.shape()).ok();
    let shape = shape.filter(|shape| tensor.dtype() == Dtype::F32 && !shape.contains(&0));
    let shape = shape.ok_or_else(|| {
        format!(
            "tensor \"{name}\" is {:?} {:?}; expected F32 with {A} axes, none of length 0",
            tensor.dtype(),
            tensor.shape()
        )
    })?;
    let numbers = tensor.data().as_chunks().0.iter();
    let numbers: Vec<f32> = numbers.map(|x| f32::from_le_bytes(*x)).collect();
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(place) => Err(format!(
            "tensor \"{name}\" has {} at position {place}, which is not finite",
            numbers[place]
        )),
        None => Ok((shape, numbers)),
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::AtomicFile;
    use crate::error::ErrorKind;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn target_changes_only_at_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pack");
        // Two writers of one target do not meet.
        let mut first = AtomicFile::create(&path).unwrap();
        let mut second = AtomicFile::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        second.commit().unwrap();
        first.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        first.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let mut dropped = AtomicFile::create(&path).unwrap();
        dropped.write_all(&[7; 100_000]).unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop(dropped);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(names(folder.path()), ["a.pack"]);
    }

    #[test]
    fn leftovers_of_killed_processes_go_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pack");
        // A locked part belongs to a running process; an unlocked one is a leftover.
        for name in [".a.pack.aZ345678.part", ".a.pack.12345678.part"] {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        let held = folder.path().join(".a.pack.12345678.part");
        let held = fs::File::options().write(true).open(held).unwrap();
        held.try_lock().unwrap();
        let others = [
            ".a.pack.1234567.part",
            ".a.pack.1234567-.part",
            ".a.pack2.12345678.part",
            "a.pack.12345678.part",
        ];
        for name in others {
            fs::write(folder.path().join(name), "mine").unwrap();
        }
        AtomicFile::create(&path).unwrap().commit().unwrap();
        let mut left = [&others[..], &["a.pack", ".a.pack.12345678.part"]].concat();
        left.sort_unstable();
        assert_eq!(names(folder.path()), left);
        drop(held);
        AtomicFile::create(&path).unwrap().commit().unwrap();
        assert!(!names(folder.path()).contains(&".a.pack.12345678.part".to_owned()));
    }

    #[test]
    fn failed_commit_removes_the_part_and_names_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pack");
        let file = AtomicFile::create(&path).unwrap();
        // A folder with content has taken the name in the meantime.
        fs::create_dir_all(path.join("inside")).unwrap();
        let error = file.commit().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("a.pack"), "{error}");
        assert_eq!(names(folder.path()), ["a.pack"]);
    }

    #[test]
    fn refuses_what_cannot_be_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("..")] {
            let error = AtomicFile::create(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        }
        let error = AtomicFile::create(folder.path().join("no/such/a.pack")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("a.pack"), "{error}");
    }
}
