//! A [`Ledger`] in a file of this machine.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use undertone_core::appointment::Appointment;
use undertone_core::epsilon::{Epsilon, Micro};
use undertone_core::ledger::{
    Contents, Cost, Grant, LEDGER_BYTES, Ledger, LedgerError, RECORD_BYTES, SpendError, Storage,
};
use undertone_core::unit::Unit;

use crate::error::{Error, ErrorKind, Result};
use crate::files::atomic::{AtomicFile, open_regular, resolved, sync_folder};
use crate::release::document::OsEntropy;

/// A privacy budget in a file that only this value has open.
///
/// Guarantee and assumptions are those of the [`ledger`](undertone_core::ledger) of `core`. The
/// operating system holds the lock on the file, and releases it when the process ends. All
/// languages follow one rule for this lock, for new ledgers and for their names: "The lock" in
/// `ffi/README.md`.
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

/// A platform's monotonic counter for one ledger, which detects a ledger that was set back. It
/// starts at 0, never decreases, and is stored away from the file. `examples/counted_ledger.rs`
/// shows one.
pub trait Counter: fmt::Debug + Send {
    /// Returns the current value.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&mut self) -> io::Result<u64>;

    /// Raises the counter, and returns once the value `to` is durable.
    ///
    /// # Errors
    /// If it cannot be raised.
    fn raise(&mut self, to: u64) -> io::Result<()>;
}

/// The locked file, and the counter.
#[derive(Debug)]
struct LockedFile {
    file: File,
    path: PathBuf,
    counter: Option<Box<dyn Counter>>,
    /// The id of the process that took the lock.
    process: u32,
}

impl Drop for LockedFile {
    /// A forked process shares the lock. The child must not release it, and the child's copy of the
    /// file must not keep it.
    fn drop(&mut self) {
        if self.process == process::id() {
            // Closing the file releases the lock only if no child has a copy of it.
            unlock(&self.file);
        }
    }
}

impl Storage for LockedFile {
    type Error = Error;

    fn read(&mut self, image: &mut [u8]) -> Result<usize> {
        read(&self.file, image).map_err(Error::io("read", &self.path))
    }

    fn write(&mut self, offset: usize, record: &[u8; RECORD_BYTES]) -> Result<()> {
        let mut write = || {
            self.file.seek(SeekFrom::Start(offset as u64))?;
            self.file.write_all(record)?;
            self.file.sync_data()
        };
        write().map_err(Error::io("write", &self.path))
    }

    fn counter(&mut self) -> Result<Option<u64>> {
        let counter = self.counter.as_mut().map(|counter| counter.read());
        let counter = counter.transpose();
        counter.map_err(Error::io("read the counter of", &self.path))
    }

    fn raise_counter(&mut self, to: u64) -> Result<()> {
        let counter = self.counter.as_mut();
        let raised = counter.map_or(Ok(()), |counter| counter.raise(to));
        raised.map_err(Error::io("raise the counter of", &self.path))
    }
}

impl LedgerFile {
    /// Opens an existing ledger for `unit` at `path`, with `budget` per window, counted by
    /// `counter` if the platform has one. For programs that have released before: a missing ledger
    /// must not become a fresh budget.
    ///
    /// # Errors
    /// The errors of [`open_or_create_counted`](Self::open_or_create_counted), and
    /// [`ErrorKind::Io`] if the file is missing.
    pub fn open(
        path: impl AsRef<Path>,
        unit: Unit,
        budget: Epsilon,
        counter: Option<Box<dyn Counter>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let file = open(path).map_err(Error::io("open", path))?;
        Self::from_locked(LockedFile::lock(file, path, counter)?, unit, budget)
    }

    /// Opens the ledger for `unit` at `path`, with `budget` per window, or creates it if it is
    /// missing.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`] if it is open already, in any process; [`ErrorKind::Ledger`] if it has
    /// another budget or unit, is no ledger or is damaged; [`ErrorKind::Io`], also for anything but
    /// a regular file.
    pub fn open_or_create(path: impl AsRef<Path>, unit: Unit, budget: Epsilon) -> Result<Self> {
        Self::open_or_create_counted(path, unit, budget, None)
    }

    /// [`open_or_create`](Self::open_or_create) with a platform counter, which detects a ledger
    /// that was set back, deleted or exchanged.
    ///
    /// # Errors
    /// The errors of [`open_or_create`](Self::open_or_create), and [`ErrorKind::Ledger`] for a
    /// ledger that does not match the counter.
    pub fn open_or_create_counted(
        path: impl AsRef<Path>,
        unit: Unit,
        budget: Epsilon,
        counter: Option<Box<dyn Counter>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let image = || Ledger::create(unit, budget.micro().into(), &mut OsEntropy);
        let file = open_or_settle(path, || image().map_err(Error::ledger(path)))?;
        Self::from_locked(LockedFile::lock(file, path, counter)?, unit, budget)
    }

    /// Replaces a ledger that was lost, damaged or set back, or whose window is in the future
    /// because a clock was wrong. The current `window` counts as spent. Only a person should decide
    /// this, because the file at `path` is overwritten.
    ///
    /// # Errors
    /// The errors of [`open_or_create_counted`](Self::open_or_create_counted), except those about
    /// the old file's state.
    pub fn recreate_spent(
        path: impl AsRef<Path>,
        unit: Unit,
        budget: Epsilon,
        window: u64,
        counter: Option<Box<dyn Counter>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        // A file to lock, from which nothing can be spent.
        let file = open_or_settle(path, || Ok([0; LEDGER_BYTES]))?;
        let mut storage = LockedFile::lock(file, path, counter)?;
        let budget_micro = budget.micro().into();
        let image =
            Ledger::recreate_spent(unit, budget_micro, window, &mut storage, &mut OsEntropy);
        let image = image.map_err(|error| refused(&storage.path, error))?;
        storage.replace(&image).map_err(Error::io("write", path))?;
        Self::from_locked(storage, unit, budget)
    }

    fn from_locked(mut storage: LockedFile, unit: Unit, budget: Epsilon) -> Result<Self> {
        let mut image = [0; LEDGER_BYTES + 1];
        let len = storage.read(&mut image)?;
        let counter = storage.counter()?;
        let path = &storage.path;
        let ledger = Ledger::open(unit, &image[..len], &mut OsEntropy);
        let mut ledger = ledger.map_err(|problem| unusable(&storage.file, path, problem))?;
        ledger.check_counter(counter).map_err(Error::ledger(path))?;
        let (found, wanted) = (ledger.budget(), u64::from(budget.micro()));
        if found != wanted {
            let message = format!(
                "the ledger `{}` has a budget of epsilon {}, not {}; a budget stays, another one \
                 is a ledger of its own",
                path.display(),
                Micro(found),
                Micro(wanted)
            );
            return Err(Error::new(ErrorKind::Ledger, message));
        }
        Ok(Self { ledger, storage })
    }

    /// Returns the budget left in `window`, in micro-units.
    ///
    /// # Errors
    /// [`ErrorKind::Ledger`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64> {
        let remaining = self.ledger.remaining(window);
        remaining.map_err(Error::ledger(&self.storage.path))
    }

    /// Returns the slots of `window` in which this device releases: `count` out of `slots`. See
    /// [`appointment`](undertone_core::appointment).
    ///
    /// # Errors
    /// Those of [`contents`].
    pub fn appointment(&self, window: u64, slots: NonZero<u16>, count: u16) -> Result<Appointment> {
        Ok(contents(&self.storage.path)?.appointment(window, slots, count))
    }

    /// Returns whether a release of ε is due in a slot of `window`, below `slots`. It is due if, up
    /// to the end of the slot, this device has more appointments in the window than releases.
    ///
    /// # Errors
    /// Those of [`contents`], and [`remaining`](LedgerFile::remaining).
    pub fn is_due(
        &self,
        window: u64,
        slots: NonZero<u16>,
        count: u16,
        slot: u16,
        epsilon: Epsilon,
    ) -> Result<bool> {
        let contents = contents(&self.storage.path)?;
        let appointment = contents.appointment(window, slots, count);
        let is_due = contents.is_due(&appointment, window, slot, epsilon);
        is_due.map_err(Error::ledger(&self.storage.path))
    }

    /// Spends ε, or the cost of a bag, in `window`. Returns a grant only after the disk has
    /// recorded the cost.
    ///
    /// # Errors
    /// [`ErrorKind::Ledger`] if too little is left, `window` is before that of the ledger, a record
    /// was lost, or the file changed; [`ErrorKind::Io`], after which the cost stays spent.
    pub fn spend(&mut self, cost: impl Into<Cost>, window: u64) -> Result<Grant> {
        let Self { ledger, storage } = self;
        let spent = ledger.spend(cost, window, storage);
        spent.map_err(|error| refused(&storage.path, error))
    }
}

/// Reads the ledger at `path` for display. Takes no lock, because nothing is spent.
///
/// # Errors
/// [`ErrorKind::Ledger`] for a file that is no ledger or is damaged; [`ErrorKind::Io`].
pub fn contents(path: impl AsRef<Path>) -> Result<Contents> {
    let path = path.as_ref();
    let file = open_to_read(path).map_err(Error::io("open", path))?;
    let mut image = [0; LEDGER_BYTES + 1];
    let len = read(&file, &mut image).map_err(Error::io("read", path))?;
    Contents::read(&image[..len], None).map_err(|problem| unusable(&file, path, problem))
}

/// Adds the length of the file to an error, because only its start was read.
fn unusable(file: &File, path: &Path, problem: LedgerError) -> Error {
    Error::ledger(path)(match problem {
        LedgerError::Length { found } if found > LEDGER_BYTES => {
            let length = file.metadata().map_or(0, |about| about.len());
            let found = found.max(usize::try_from(length).unwrap_or(usize::MAX));
            LedgerError::Length { found }
        }
        other => other,
    })
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
            TryLockError::WouldBlock => Error::in_use(format!(
                "the ledger `{}` is in use by another process; wait until it is done",
                path.display()
            )),
            TryLockError::Error(error) => Error::io("lock", path)(error),
        })?;
        // The program that creates a ledger makes `NAME.lock` first, so check after opening the
        // ledger.
        let at = resolved(path);
        if fs::symlink_metadata(lock_path(&at)).is_ok() {
            settle(&at, None)?;
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            counter,
            process: process::id(),
        })
    }

    /// Replaces the contents of the file.
    fn replace(&mut self, image: &[u8; LEDGER_BYTES]) -> io::Result<()> {
        self.file.set_len(LEDGER_BYTES as u64)?;
        self.file.rewind()?;
        self.file.write_all(image)?;
        self.file.sync_all()
    }
}

/// Returns the days since 1970 in UTC, by this machine's clock.
pub fn utc_day() -> u64 {
    const DAY: u64 = 24 * 60 * 60;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs() / DAY
}

fn open(path: &Path) -> io::Result<File> {
    regular(path, OpenOptions::new().read(true).write(true))
}

/// Opens the ledger at `path`. A missing one is created with this image first.
fn open_or_settle(path: &Path, image: impl FnOnce() -> Result<[u8; LEDGER_BYTES]>) -> Result<File> {
    let mut opened = open(path);
    if opened
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        settle(path, Some(&image()?))?;
        opened = open(path);
    }
    opened.map_err(Error::io("open", path))
}

/// Opens a regular file, or a link to one, for reading.
#[doc(hidden)]
pub fn open_to_read(path: &Path) -> io::Result<File> {
    regular(path, OpenOptions::new().read(true))
}

/// Refuses anything but a regular file before opening it, because opening a pipe would block.
fn regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let check = |about: fs::Metadata| {
        if about.is_file() {
            return Ok(());
        }
        let problem = "a ledger is a regular file, and this is none";
        Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
    };
    check(fs::metadata(path)?)?;
    let file = options.open(path)?;
    check(file.metadata()?)?;
    Ok(file)
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Locks `NAME.lock`, writes a new ledger to `path` if there is an image and no ledger yet, and
/// syncs the folder. `NAME.lock` stays until the ledger's name is durable.
fn settle(path: &Path, image: Option<&[u8; LEDGER_BYTES]>) -> Result<()> {
    let lock_path = lock_path(path);
    let alone = lock_alone(&lock_path)?;
    // Any file of that name counts, even a dangling link, because renaming would replace it.
    match (fs::symlink_metadata(path), image) {
        (Ok(_), _) | (_, None) => {
            sync_folder(path).map_err(Error::io("sync the folder of", path))?;
        }
        (Err(error), Some(image)) if error.kind() == io::ErrorKind::NotFound => {
            let mut file = AtomicFile::create(path)?;
            // Other users must neither lock the file nor see how much was spent.
            file.keep_private()?;
            file.write_all(image).map_err(Error::io("write", path))?;
            file.commit()?;
        }
        (Err(error), _) => return Err(Error::io("open", path)(error)),
    }
    // A program that waits for this lock, or creates the file again, finds the ledger.
    let _ = fs::remove_file(&lock_path);
    drop(alone);
    Ok(())
}

/// Waits until no other program holds the lock on this file, which is created if missing.
fn lock_alone(path: &Path) -> Result<File> {
    let file = open_regular(path)?;
    let locked = file.lock().map_err(TryLockError::Error);
    let locked = locked.and_then(|()| lock_record(&file, true));
    locked.map_err(|error| Error::io("lock", path)(error.into()))?;
    Ok(file)
}

// On 32-bit Android libc's `flock` has 32-bit offsets, but the system call expects 64.
#[cfg(all(target_os = "android", target_pointer_width = "32"))]
compile_error!(
    "ledgers cannot be locked on 32-bit Android; use the C library and undertone_posix.h there"
);

/// Takes a record lock, as Java does. On these systems it and the lock of [`File::lock`] ignore
/// each other.
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

/// Other systems have one kind of lock, or two that respect each other.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn lock_record(_: &File, _: bool) -> std::result::Result<(), TryLockError> {
    Ok(())
}

/// A record lock of this kind on the whole file.
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

/// Releases both locks. If this fails, closing the file does it.
fn unlock(file: &File) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use nix::fcntl::{FcntlArg, fcntl};
        let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file(nix::libc::F_UNLCK)));
    }
    let _ = file.unlock();
}

/// Reads the file into the buffer, up to its length.
fn read(mut file: &File, mut image: &mut [u8]) -> io::Result<usize> {
    file.rewind()?;
    let read = io::copy(&mut file.take(image.len() as u64), &mut image)?;
    Ok(read as usize)
}
