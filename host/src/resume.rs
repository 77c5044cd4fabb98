//! Long runs that go on where they were interrupted.
//!
//! Encoding takes nearly all the time. [`CachedEncoder`] keeps what was encoded of a *public* corpus in
//! a file beside the output; [`PartialLines`] keeps finished output lines. Both survive a killed process
//! and are gone once the output is there. Embeddings of private text are never written.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::encoder::{Encoder, EncoderIdentity};
use crate::error::{Error, Result};
use crate::output::{AtomicFile, rename_durably};

const MAGIC: &[u8; 8] = b"UTEMBED1";

/// Records written between two flushes: what a killed process loses at most.
const FLUSH_EVERY: u64 = 64;

type Key = [u8; 16];

/// Vectors by sentence.
type Known = HashMap<Key, Box<[f32]>>;

/// An encoder that remembers, in a file, the sentences it has encoded.
///
/// For public text only: the file holds embeddings. A record is the first 16 bytes of the sentence's
/// SHA-256, the vector, and 8 bytes of a SHA-256 over both; reading stops at the first record that is
/// not whole, and goes on writing there.
pub struct CachedEncoder<'a> {
    inner: &'a dyn Encoder,
    path: PathBuf,
    known: Known,
    file: Mutex<Appender>,
}

struct Appender {
    writer: BufWriter<File>,
    appended: u64,
}

impl<'a> CachedEncoder<'a> {
    /// Remembers what `inner` encodes in the file `path`, and knows what is there already. A file of
    /// another encoder is replaced.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read or written.
    pub fn open(inner: &'a dyn Encoder, path: PathBuf) -> Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&inner.identity().digest);
        header.extend_from_slice(&(inner.dimension() as u64).to_le_bytes());
        let (known, end) =
            read_records(&file, &header, inner.dimension()).map_err(Error::io("read", &path))?;
        let start = |file: &mut File| -> io::Result<()> {
            file.set_len(end)?;
            file.seek(io::SeekFrom::Start(end))?;
            if end == 0 {
                file.write_all(&header)?;
            }
            Ok(())
        };
        start(&mut file).map_err(Error::io("write", &path))?;
        Ok(Self {
            inner,
            path,
            known,
            file: Mutex::new(Appender {
                writer: BufWriter::new(file),
                appended: 0,
            }),
        })
    }

    /// The number of different sentences that were there when the file was opened.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Removes the file: the output it was for is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))
    }

    fn append(&self, key: &Key, row: &[f32]) -> io::Result<()> {
        let mut record = key.to_vec();
        record.extend(row.iter().flat_map(|x| x.to_le_bytes()));
        let check = check(&record);
        record.extend_from_slice(&check);
        // A poisoned lock means a panic elsewhere; whole records before it are still good.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.writer.write_all(&record)?;
        file.appended += 1;
        if file.appended.is_multiple_of(FLUSH_EVERY) {
            file.writer.flush()?;
        }
        Ok(())
    }
}

/// A run that failed before it encoded anything leaves nothing behind.
impl Drop for CachedEncoder<'_> {
    fn drop(&mut self) {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.known.is_empty() && file.appended == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Encoder for CachedEncoder<'_> {
    fn identity(&self) -> &EncoderIdentity {
        self.inner.identity()
    }

    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
        let hash: [u8; 32] = Sha256::digest(sentence).into();
        let mut key = Key::default();
        key.copy_from_slice(&hash[..16]);
        match self.known.get(&key) {
            Some(row) if row.len() == out.len() => {
                out.copy_from_slice(row);
                Ok(())
            }
            _ => {
                self.inner.encode(sentence, out)?;
                self.append(&key, out)
                    .map_err(Error::io("write", &self.path))
            }
        }
    }
}

fn check(record: &[u8]) -> [u8; 8] {
    let hash: [u8; 32] = Sha256::digest(record).into();
    let mut check = [0; 8];
    check.copy_from_slice(&hash[..8]);
    check
}

/// The whole records of a file with this header, and where they end (0 if the header is another).
fn read_records(file: &File, header: &[u8], dimension: usize) -> io::Result<(Known, u64)> {
    let mut reader = BufReader::new(file);
    let mut known = Known::new();
    let mut found = vec![0; header.len()];
    if !read_whole(&mut reader, &mut found)? || found != header {
        return Ok((known, 0));
    }
    let mut end = header.len() as u64;
    let mut record = vec![0; size_of::<Key>() + dimension * 4 + 8];
    while read_whole(&mut reader, &mut record)? {
        let (body, stored) = record.split_at(record.len() - 8);
        if check(body) != stored {
            break;
        }
        let mut key = Key::default();
        key.copy_from_slice(&body[..16]);
        let row = body[16..]
            .chunks_exact(4)
            .map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        known.insert(key, row.collect());
        end += record.len() as u64;
    }
    Ok((known, end))
}

/// Fills `buffer`, or says that the file ends before.
fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Output lines that wait beside their target, in `TARGET.partial`, until all are there.
pub struct PartialLines {
    target: PathBuf,
    beside: PathBuf,
    /// Bytes of the file that are kept.
    kept: u64,
    writer: Option<BufWriter<File>>,
    appended: u64,
}

impl PartialLines {
    /// Starts the output lines of `target`, behind the whole lines that an interrupted run left,
    /// which are returned.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::OutputPath`] if the target could not be written.
    pub fn open(target: &Path) -> Result<(Self, Vec<String>)> {
        AtomicFile::check(target)?;
        let mut beside = target.as_os_str().to_owned();
        beside.push(".partial");
        let beside = PathBuf::from(beside);
        let mut lines = Vec::new();
        let mut kept = 0;
        match File::open(&beside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("open", &beside)(error)),
            Ok(file) => {
                let mut reader = BufReader::new(file);
                loop {
                    let mut line = Vec::new();
                    let read = reader
                        .read_until(b'\n', &mut line)
                        .map_err(Error::io("read", &beside))?;
                    // A line without its end was cut off while it was written.
                    match (line.pop(), String::from_utf8(line)) {
                        (Some(b'\n'), Ok(line)) => lines.push(line),
                        _ => break,
                    }
                    kept += read as u64;
                }
            }
        }
        let started = Self {
            target: target.to_owned(),
            beside,
            kept,
            writer: None,
            appended: 0,
        };
        Ok((started, lines))
    }

    /// Drops what an interrupted run left.
    pub fn restart(&mut self) {
        self.kept = 0;
    }

    /// Adds a line; `line` has no line end.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, line: &str) -> Result<()> {
        self.append(line).map_err(Error::io("write", &self.beside))
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        let writer = self.writer()?;
        writer.write_all(line.as_bytes())?;
        writer.write_all(b"\n")?;
        self.appended += 1;
        if self.appended.is_multiple_of(FLUSH_EVERY) {
            self.writer()?.flush()?;
        }
        Ok(())
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let mut file = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&self.beside)?;
                file.set_len(self.kept)?;
                file.seek(io::SeekFrom::Start(self.kept))?;
                BufWriter::new(file)
            }
        };
        Ok(self.writer.insert(writer))
    }

    /// Gives the lines their name.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn commit(mut self) -> Result<()> {
        self.finish().map_err(Error::io("write", &self.target))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer()?.flush()?;
        self.writer.as_ref().map_or(Ok(()), |writer| {
            rename_durably(writer.get_ref(), &self.beside, &self.target)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Encodes a sentence as its length, and counts the calls.
    struct Lengths {
        identity: EncoderIdentity,
        calls: AtomicUsize,
    }

    impl Lengths {
        fn new(digest: u8) -> Self {
            Self {
                identity: EncoderIdentity {
                    name: "lengths".to_owned(),
                    digest: [digest; 32],
                },
                calls: AtomicUsize::new(0),
            }
        }
    }

    impl Encoder for Lengths {
        fn identity(&self) -> &EncoderIdentity {
            &self.identity
        }
        fn dimension(&self) -> usize {
            2
        }
        fn encode(&self, sentence: &str, out: &mut [f32]) -> Result<()> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            out.fill(sentence.len() as f32);
            Ok(())
        }
    }

    fn encode(encoder: &dyn Encoder, sentences: &[&str]) {
        for sentence in sentences {
            let mut out = [0.0; 2];
            encoder.encode(sentence, &mut out).unwrap();
            assert_eq!(out, [sentence.len() as f32; 2]);
        }
    }

    #[test]
    fn an_interrupted_run_goes_on_wherever_its_file_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        let sentences = ["one", "three", "eleven", "fourteen", ""];
        let inner = Lengths::new(1);
        drop({
            let cached = CachedEncoder::open(&inner, path.clone()).unwrap();
            encode(&cached, &sentences);
            cached
        });
        let whole = fs::read(&path).unwrap();
        let (header, record) = (48, 16 + 8 + 8);
        assert_eq!(whole.len(), header + sentences.len() * record);
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let inner = Lengths::new(1);
            let cached = CachedEncoder::open(&inner, path.clone()).unwrap();
            let known = cut.saturating_sub(header) / record;
            assert_eq!(cached.known(), known, "cut at {cut}");
            encode(&cached, &sentences);
            assert_eq!(inner.calls.load(Ordering::Relaxed), sentences.len() - known);
            drop(cached);
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
        }
        // A damaged record is not believed, nor what follows it.
        let mut damaged = whole.clone();
        damaged[header + record + 20] ^= 1;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(
            CachedEncoder::open(&inner, path.clone()).unwrap().known(),
            1
        );
        // Nor is a file of another encoder.
        fs::write(&path, &whole).unwrap();
        let cached =
            CachedEncoder::open(&Lengths::new(2), path.clone()).map(|cached| cached.known());
        assert_eq!(cached.unwrap(), 0);
        CachedEncoder::open(&inner, path.clone())
            .unwrap()
            .finish()
            .unwrap();
        assert!(!path.exists());
        drop(CachedEncoder::open(&inner, path.clone()).unwrap());
        assert!(!path.exists(), "nothing was encoded");
    }

    #[test]
    fn lines_appear_under_their_name_when_all_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let (mut lines, left) = PartialLines::open(&path).unwrap();
        assert!(left.is_empty());
        lines.push("first").unwrap();
        lines.push("second").unwrap();
        drop(lines);
        assert!(!path.exists());
        // Cut in the middle of the second line.
        let beside = folder.path().join("out.jsonl.partial");
        let bytes = fs::read(&beside).unwrap();
        fs::write(&beside, &bytes[..bytes.len() - 3]).unwrap();
        let (mut lines, left) = PartialLines::open(&path).unwrap();
        assert_eq!(left, ["first"]);
        lines.push("other").unwrap();
        lines.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first\nother\n");
        assert!(!beside.exists());

        fs::write(&beside, "old\n").unwrap();
        let (mut lines, _) = PartialLines::open(&path).unwrap();
        lines.restart();
        lines.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn outputs_that_cannot_be_written_are_known_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(PartialLines::open(&folder.path().join("absent/out.jsonl")).is_err());
        assert!(PartialLines::open(folder.path()).is_err());
    }
}
