//! A [`Ledger`] in a file of this machine.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{
    Contents, Cost, Grant, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage,
};
use undertone_core::unit::Unit;

use crate::error::{Cause, Error, Result};
use crate::files::atomic::{AtomicFile, open_regular};
use crate::release::document::OsEntropy;

/// A privacy budget in a file, which nobody else can open as long as this value lives.
///
/// Guarantee and assumptions are those of the [`ledger`](undertone_core::ledger) of `core`. The operating system
/// holds the lock on the file, and releases it when the process ends. What is read back comes through the
/// operating system, after it has said that the record is on the disk.
///
/// **The lock.** Programs in Rust, C, C++ and Java keep to one rule, so each keeps the others out:
///
/// - *A ledger in use.* Before a program reads the ledger and until it is done, it holds an exclusive lock on the whole
///   file: on Linux and Android a record lock (`fcntl`, from byte 0, length 0), on other systems the lock that they have.
///   On Linux and Android a program that can also takes `flock`, before the record lock, because some programs know no
///   other. If either lock is taken, the ledger is in use: the program says so and does not wait.
/// - *A new ledger.* A program that finds no file locks `NAME.lock` in the same way, but waits for it. If the file is
///   still missing, it writes the ledger to a file beside it, syncs that, renames it to `NAME` and syncs the folder.
///   Once the ledger is there it removes `NAME.lock`. No file system needs hard links for that, and a crash leaves
///   either no ledger or a whole one. A link or a pipe of that name is refused.
///
/// A record lock taken with `F_SETLK`, as Java does, is lost when the process closes any descriptor of the file.
/// `F_OFD_SETLK` has no such trap; Rust and C++ take that.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use undertone::release::ledger::{LedgerFile, utc_day};
/// use undertone_core::epsilon::Epsilon;
/// use undertone_core::unit::Unit;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("budget.ledger");
/// let mut ledger = LedgerFile::open_or_create(&path, Unit::Sentence, "10".parse()?)?; // ε = 10 a day
/// let day = utc_day();
/// let seven: Epsilon = "7".parse()?;
/// let grant = ledger.spend(seven, day)?;
/// assert!(ledger.spend(seven, day).is_err());
/// # drop(grant);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LedgerFile {
    ledger: Ledger,
    storage: LockedFile,
}

/// A platform's monotonic counter for one ledger, by which a ledger that was set back is noticed: 0 at first, never goes back,
/// kept where the file is not. See [`ledger`](undertone_core::ledger#a-file-that-is-set-back) of `core`;
/// `examples/counted_ledger.rs` shows one.
pub trait Counter: fmt::Debug + Send {
    /// The counter as it is now.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&mut self) -> io::Result<u64>;

    /// Raises the counter, and returns once it is `to` for good.
    ///
    /// # Errors
    /// If it may not be.
    fn raise(&mut self, to: u64) -> io::Result<()>;
}

/// The file, which is locked, and the counter.
#[derive(Debug)]
struct LockedFile {
    file: File,
    path: PathBuf,
    counter: Option<Box<dyn Counter>>,
    /// The process that took the lock.
    process: u32,
}

impl Drop for LockedFile {
    /// A process that was forked shares the lock: it may not give it up, and its copy of the file must not keep it.
    fn drop(&mut self) {
        if self.process == process::id() {
            // Closing the file does the same, unless there is such a copy.
            unlock(&self.file);
        }
    }
}

impl Storage for LockedFile {
    type Error = Error;

    fn read(&mut self, image: &mut [u8]) -> Result<usize> {
        let Self { file, path, .. } = self;
        read(file, image).map_err(Error::io("read", path))
    }

    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<()> {
        let Self { file, path, .. } = self;
        write(file, offset, record).map_err(Error::io("write", path))
    }

    fn counter(&mut self) -> Result<Option<u64>> {
        let Self { path, counter, .. } = self;
        let counter = counter.as_mut().map(|counter| counter.read()).transpose();
        counter.map_err(Error::io("read the counter of", path))
    }

    fn raise_counter(&mut self, to: u64) -> Result<()> {
        let Self { path, counter, .. } = self;
        let raised = counter.as_mut().map_or(Ok(()), |counter| counter.raise(to));
        raised.map_err(Error::io("raise the counter of", path))
    }
}

impl LedgerFile {
    /// Opens the ledger for `unit` at `path`, whose budget for a window is `budget` and which `counter` counts, if the platform
    /// does. For programs that have released: a ledger that is gone must not become a fresh budget.
    ///
    /// # Errors
    /// Those of [`open_or_create_counted`](Self::open_or_create_counted), and [`ErrorKind::Io`](crate::error::ErrorKind::Io) if nothing is there.
    pub fn open(
        path: impl AsRef<Path>,
        unit: Unit,
        budget: Epsilon,
        counter: Option<Box<dyn Counter>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let file = open(path).map_err(Error::io("open", path))?;
        Self::of_locked(LockedFile::lock(file, path, counter)?, unit, budget)
    }

    /// Opens the ledger for `unit` at `path`, whose budget for a window is `budget`, or makes it if nothing is there. A ledger
    /// of version 1, which names no unit, becomes one for this unit.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::error::ErrorKind::InUse) if another process, or this one, has it open; [`ErrorKind::Ledger`](crate::error::ErrorKind::Ledger) if it has
    /// another budget or unit; [`ErrorKind::Ledger`](crate::error::ErrorKind::Ledger) for a file that is no ledger or is damaged; [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn open_or_create(path: impl AsRef<Path>, unit: Unit, budget: Epsilon) -> Result<Self> {
        Self::open_or_create_counted(path, unit, budget, None)
    }

    /// [`open_or_create`](Self::open_or_create) for a ledger that the platform counts, so that one that was set back, deleted
    /// or exchanged is noticed.
    ///
    /// # Errors
    /// Those of [`open_or_create`](Self::open_or_create), and [`ErrorKind::Ledger`](crate::error::ErrorKind::Ledger) for a ledger that is not the one counted.
    pub fn open_or_create_counted(
        path: impl AsRef<Path>,
        unit: Unit,
        budget: Epsilon,
        counter: Option<Box<dyn Counter>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let file = match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let image = Ledger::create(unit, budget.micro().into(), &mut OsEntropy);
                create(path, &image.map_err(Error::ledger(path))?)?;
                open(path)
            }
            opened => opened,
        };
        let file = file.map_err(Error::io("open", path))?;
        Self::of_locked(LockedFile::lock(file, path, counter)?, unit, budget)
    }

    /// Puts a ledger in the place of one that was lost, damaged or set back. What was spent is not known, so `window` counts as
    /// spent: it is the current one, or later. What is at `path` is overwritten: only a person should ask for this.
    ///
    /// # Errors
    /// Those of [`open_or_create_counted`](Self::open_or_create_counted), but for what is wrong with the old file.
    pub fn begin_anew(
        path: impl AsRef<Path>,
        unit: Unit,
        budget: Epsilon,
        window: u64,
        counter: Option<Box<dyn Counter>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let file = match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Nothing is granted until it is whole.
                create(path, &[0; LEDGER_BYTES])?;
                open(path)
            }
            opened => opened,
        };
        let file = file.map_err(Error::io("open", path))?;
        let mut storage = LockedFile::lock(file, path, counter)?;
        let budget_micro = budget.micro().into();
        let image = Ledger::begin_anew(unit, budget_micro, window, &mut storage, &mut OsEntropy);
        let image = image.map_err(|error| refused(&storage.path, error))?;
        replace(&storage.file, &image).map_err(Error::io("write", path))?;
        Self::of_locked(storage, unit, budget)
    }

    fn of_locked(mut storage: LockedFile, unit: Unit, budget: Epsilon) -> Result<Self> {
        let image = storage.image()?;
        let counter = storage.counter()?;
        let path = &storage.path;
        let ledger = Ledger::open(unit, &image, &mut OsEntropy);
        let mut ledger = ledger.map_err(|problem| unusable(&storage.file, path, problem))?;
        ledger.meet(counter).map_err(Error::ledger(path))?;
        let (found, wanted) = (ledger.budget(), u64::from(budget.micro()));
        if found != wanted {
            return Err(Error::from(Cause::LedgerBudget {
                path: path.to_owned(),
                found,
                wanted,
            }));
        }
        Ok(Self { ledger, storage })
    }

    /// What is left in `window`, in micro-units.
    ///
    /// # Errors
    /// [`ErrorKind::Ledger`](crate::error::ErrorKind::Ledger) for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64> {
        let remaining = self.ledger.remaining(window);
        remaining.map_err(Error::ledger(&self.storage.path))
    }

    /// Spends ε, or what a bag costs, in `window`: when this returns a grant, the file on the disk says so.
    ///
    /// # Errors
    /// [`ErrorKind::Ledger`](crate::error::ErrorKind::Ledger) if less is left, `window` is before that of the ledger, a record was lost, or the
    /// file changed; [`ErrorKind::Io`](crate::error::ErrorKind::Io). With [`ErrorKind::Io`](crate::error::ErrorKind::Io) what was to be spent stays spent.
    pub fn spend(&mut self, cost: impl Into<Cost>, window: u64) -> Result<Grant> {
        let Self { ledger, storage } = self;
        let spent = ledger.spend(cost, window, storage);
        spent.map_err(|error| refused(&storage.path, error))
    }
}

/// What is in the ledger at `path`, for showing it. Nothing is locked: nothing is spent by it.
///
/// # Errors
/// [`ErrorKind::Ledger`](crate::error::ErrorKind::Ledger) for a file that is no ledger or is damaged; [`ErrorKind::Io`](crate::error::ErrorKind::Io).
pub fn contents(path: impl AsRef<Path>) -> Result<Contents> {
    let path = path.as_ref();
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut image = [0; LEDGER_BYTES + 1];
    let len = read(&mut file, &mut image).map_err(Error::io("read", path))?;
    Contents::read(&image[..len], None).map_err(|problem| unusable(&file, path, problem))
}

/// What is wrong with a file that was to be a ledger. Of a long one only the start was read.
fn unusable(file: &File, path: &Path, problem: LedgerError) -> Error {
    let problem = match problem {
        LedgerError::Length { found } if found > LEDGER_BYTES => {
            let length = file.metadata().map_or(0, |about| about.len());
            let found = found.max(usize::try_from(length).unwrap_or(usize::MAX));
            LedgerError::Length { found }
        }
        other => other,
    };
    Error::ledger(path)(problem)
}

fn refused(path: &Path, error: SpendError<Error>) -> Error {
    match error {
        SpendError::Ledger(problem) => Error::ledger(path)(problem),
        SpendError::Storage(error) => error,
    }
}

impl LockedFile {
    fn lock(file: File, path: &Path, counter: Option<Box<dyn Counter>>) -> Result<Self> {
        let locked = file.try_lock().and_then(|()| lock_record(&file, false));
        locked.map_err(|error| match error {
            TryLockError::WouldBlock => Error::from(Cause::LedgerInUse {
                path: path.to_owned(),
            }),
            TryLockError::Error(error) => Error::io("lock", path)(error),
        })?;
        Ok(Self {
            file,
            path: path.to_owned(),
            counter,
            process: process::id(),
        })
    }

    fn image(&mut self) -> Result<Vec<u8>> {
        let mut image = vec![0; LEDGER_BYTES + 1];
        let len = self.read(&mut image)?;
        image.truncate(len);
        Ok(image)
    }
}

/// The days since 1970 in UTC, as this machine's clock has them.
pub fn utc_day() -> u64 {
    const DAY: u64 = 24 * 60 * 60;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs() / DAY
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Puts a whole new ledger at `path`, unless something is there already.
fn create(path: &Path, image: &[u8; LEDGER_BYTES]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    // What was spent is nobody else's business, and nobody else may lock the file.
    file.keep_private()?;
    file.write_all(image).map_err(Error::io("write", path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let alone = lock_alone(&lock_path)?;
    // Anything of that name, a link that leads nowhere too: renaming would replace it.
    match fs::symlink_metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.commit()?,
        Err(error) => return Err(Error::io("open", path)(error)),
    }
    // Whoever waits for this lock, or makes the file anew, finds the ledger. A file that stays does no harm.
    let _ = fs::remove_file(&lock_path);
    drop(alone);
    Ok(())
}

/// Waits until no other program holds the lock on this file, which is made if it is missing.
fn lock_alone(path: &Path) -> Result<File> {
    let file = open_regular(path)?;
    let locked = file.lock().map_err(TryLockError::Error);
    match locked.and_then(|()| lock_record(&file, true)) {
        Ok(()) => Ok(file),
        Err(error) => Err(Error::io("lock", path)(error.into())),
    }
}

// There libc's `flock` has offsets of 32 bits, and the system takes those of 64.
#[cfg(all(target_os = "android", target_pointer_width = "32"))]
compile_error!(
    "ledgers cannot be locked on 32-bit Android; use the C library and undertone_posix.h there"
);

/// The lock that Java takes, too: on these systems it and that of [`File::lock`] do not see each other.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn lock_record(file: &File, wait: bool) -> std::result::Result<(), TryLockError> {
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    let whole = whole_file(nix::libc::F_WRLCK);
    loop {
        let how = if wait {
            FcntlArg::F_OFD_SETLKW(&whole)
        } else {
            FcntlArg::F_OFD_SETLK(&whole)
        };
        return match fcntl(file, how) {
            Ok(_) => Ok(()),
            Err(Errno::EINTR) => continue,
            Err(Errno::EAGAIN | Errno::EACCES) => Err(TryLockError::WouldBlock),
            Err(error) => Err(TryLockError::Error(error.into())),
        };
    }
}

/// Other systems have one kind of lock, or two that see each other.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn lock_record(_: &File, _: bool) -> std::result::Result<(), TryLockError> {
    Ok(())
}

/// A record lock of this kind on all of a file.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn whole_file(kind: nix::libc::c_int) -> nix::libc::flock {
    nix::libc::flock {
        l_type: kind as nix::libc::c_short,
        l_whence: nix::libc::SEEK_SET as nix::libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Gives up both locks. What fails here is done when the file is closed.
fn unlock(file: &File) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use nix::fcntl::{FcntlArg, fcntl};
        let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file(nix::libc::F_UNLCK)));
    }
    let _ = file.unlock();
}

/// Reads the file, as far as the buffer goes.
fn read(file: &mut File, image: &mut [u8]) -> io::Result<usize> {
    file.seek(SeekFrom::Start(0))?;
    let mut len = 0;
    while len < image.len() {
        match file.read(&mut image[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Makes this the whole file.
fn replace(mut file: &File, image: &[u8; LEDGER_BYTES]) -> io::Result<()> {
    file.set_len(LEDGER_BYTES as u64)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(image)?;
    file.sync_all()
}

fn write(file: &mut File, offset: usize, record: &[u8; RECORD_BYTES]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset as u64))?;
    file.write_all(record)?;
    file.sync_data()
}
