//! A [`Ledger`] in a file of this machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::{Grant, LEDGER_BYTES, Ledger, RECORD_BYTES};

use crate::error::{Error, Result};
use crate::files::atomic::AtomicFile;
use crate::release::document::OsEntropy;

/// A privacy budget in a file, which nobody else can open as long as this value lives.
///
/// Guarantee and assumptions are those of the [`ledger`](undertone_core::ledger) of `core`. A lock that the
/// operating system holds keeps other processes out, and goes with the process. What is read back comes
/// through the operating system, after it has said that the record is on the disk.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use undertone::release::ledger::{LedgerFile, utc_day};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("budget.ledger");
/// let mut ledger = LedgerFile::open_or_create(&path, "10".parse()?)?; // ε = 10 a day
/// let grant = ledger.spend("7".parse()?, utc_day())?;
/// assert!(ledger.spend("7".parse()?, utc_day()).is_err());
/// # drop(grant);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LedgerFile {
    ledger: Ledger,
    file: File,
    path: PathBuf,
}

impl LedgerFile {
    /// Opens the ledger at `path`, whose budget for a window is `budget`, or makes it if nothing is there.
    ///
    /// # Errors
    /// [`Error::LedgerInUse`] if another process, or this one, has it open; [`Error::LedgerBudget`] if it has
    /// another budget; [`Error::Ledger`] for a file that is no ledger or is damaged; [`Error::Io`].
    pub fn open_or_create(path: impl AsRef<Path>, budget: Epsilon) -> Result<Self> {
        let path = path.as_ref();
        let file = match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(path, budget)?;
                open(path)
            }
            opened => opened,
        };
        let mut file = file.map_err(Error::io("open", path))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::LedgerInUse {
                path: path.to_owned(),
            },
            TryLockError::Error(error) => Error::io("lock", path)(error),
        })?;
        let image = read(&mut file).map_err(Error::io("read", path))?;
        let ledger = Ledger::open(&image, &mut OsEntropy).map_err(Error::ledger(path))?;
        let (found, wanted) = (ledger.budget(), u64::from(budget.micro()));
        if found != wanted {
            return Err(Error::LedgerBudget {
                path: path.to_owned(),
                found,
                wanted,
            });
        }
        Ok(Self {
            ledger,
            file,
            path: path.to_owned(),
        })
    }

    /// What is left in `window`, in micro-units.
    ///
    /// # Errors
    /// [`Error::Ledger`] for a window before that of the ledger.
    pub fn remaining(&self, window: u64) -> Result<u64> {
        let remaining = self.ledger.remaining(window);
        remaining.map_err(Error::ledger(&self.path))
    }

    /// Spends ε in `window`: when this returns a grant, the file on the disk says so.
    ///
    /// # Errors
    /// [`Error::Ledger`] if less is left, `window` is before that of the ledger, a record was lost, or the
    /// file changed; [`Error::Io`]. With [`Error::Io`] what was to be spent stays spent.
    pub fn spend(&mut self, epsilon: Epsilon, window: u64) -> Result<Grant> {
        let Self { ledger, file, path } = self;
        let stored = read(file).map_err(Error::io("read", path))?;
        let reservation = ledger
            .reserve(epsilon, window, &stored)
            .map_err(Error::ledger(path))?;
        write(file, reservation.offset(), reservation.record())
            .map_err(Error::io("write", path))?;
        let read_back = read(file).map_err(Error::io("read", path))?;
        reservation
            .persisted(&read_back)
            .map_err(Error::ledger(path))
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
fn create(path: &Path, budget: Epsilon) -> Result<()> {
    let image = Ledger::create(budget.micro().into(), &mut OsEntropy);
    let image = image.map_err(Error::ledger(path))?;
    let mut file = AtomicFile::create(path)?;
    file.write_all(&image).map_err(Error::io("write", path))?;
    file.commit_new()
}

/// The file, and a byte more if there are more.
fn read(file: &mut File) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut image = Vec::with_capacity(LEDGER_BYTES + 1);
    file.take(LEDGER_BYTES as u64 + 1).read_to_end(&mut image)?;
    Ok(image)
}

fn write(file: &mut File, offset: usize, record: &[u8; RECORD_BYTES]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset as u64))?;
    file.write_all(record)?;
    file.sync_data()
}
