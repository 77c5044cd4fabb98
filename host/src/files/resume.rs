//! Long runs that resume after an interruption.
//!
//! Encoding takes nearly all the time. [`Encoding`] stores the embeddings of a *public* corpus in a
//! file beside the output; [`PartialLines`] stores output lines that a ledger paid for. Both survive
//! a killed process and are removed once the output is complete. Only one process at a time can open
//! them. Embeddings of private text are never written.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use undertone_core::lexicon::Word;

use crate::corpus::LINE_LIMIT;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::files::atomic::{
    AtomicFile, OWN, folder, open_locked, resolved, sync_folder, take_mode,
};
use crate::files::lines::Lines;
use crate::progress::Progress;

const MAGIC: &[u8; 8] = b"UTEMBED2";

/// Sentences encoded between two writes: the most that a killed process loses.
const BATCH: usize = 1024;

/// Bytes that identify the sentence of a record.
const KEY: usize = 16;

/// Bytes that detect damage of a record.
const CHECK: usize = 8;

/// An encoder that reads the sentences of a *public* corpus in the same order in each pass and can
/// store their vectors in a file.
///
/// The file holds embeddings, so it is for public text only. A record is the first 16 bytes of the
/// sentence's SHA-256, the vector, and 8 bytes of a SHA-256 over both, in the order of the
/// sentences. The first record that is incomplete or belongs to another sentence ends the reading:
/// encoding overwrites the rest. Memory does not grow with the file.
pub struct Encoding<'a> {
    encoder: &'a dyn Encoder,
    kept: Option<Kept>,
    encoded: u64,
}

struct Kept {
    path: PathBuf,
    file: File,
    /// Offset of the first record.
    start: u64,
    /// Offset of the next record.
    position: u64,
    /// The number of whole records when the file was opened.
    found: u64,
    record: usize,
}

impl<'a> Encoding<'a> {
    /// An encoder without a file.
    pub fn new(encoder: &'a dyn Encoder) -> Self {
        Self {
            encoder,
            kept: None,
            encoded: 0,
        }
    }

    /// Reuses the vectors in the file `path` and adds new ones to it. A file of another encoder is
    /// replaced.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::error::ErrorKind::InUse) if another process has the file open;
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if it cannot be read or written.
    pub fn kept_in(encoder: &'a dyn Encoder, path: PathBuf) -> Result<Self> {
        let mut file = open_locked(&path)?;
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&encoder.identity().digest);
        header.extend_from_slice(&(encoder.dimension() as u64).to_le_bytes());
        let record = KEY + encoder.dimension() * 4 + CHECK;
        let mut start = || -> io::Result<u64> {
            let mut found = Vec::new();
            let mut source = (&mut file).take(header.len() as u64);
            source.read_to_end(&mut found)?;
            if found != header {
                file.set_len(0)?;
                file.rewind()?;
                file.write_all(&header)?;
            }
            Ok(file.metadata()?.len())
        };
        let length = start().map_err(Error::io("write", &path))?;
        let start = header.len() as u64;
        Ok(Self {
            encoder,
            kept: Some(Kept {
                path,
                file,
                start,
                position: start,
                found: (length - start) / record as u64,
                record,
            }),
            encoded: 0,
        })
    }

    /// The encoder.
    pub fn encoder(&self) -> &'a dyn Encoder {
        self.encoder
    }

    /// The number of sentences whose vectors were in the file when it was opened.
    pub fn known(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.found)
    }

    /// The number of sentences encoded since then. Without a file, a sentence counts once per pass.
    pub fn encoded(&self) -> u64 {
        self.encoded
    }

    /// Goes back to the first sentence.
    pub fn rewind(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.position = kept.start;
        }
    }

    /// Returns the vectors of the next sentences, one row per sentence.
    ///
    /// # Errors
    /// Errors of the encoder; [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn rows(
        &mut self,
        sentences: &[impl AsRef<str> + Sync],
        progress: &Progress,
    ) -> Result<Vec<f32>> {
        let dimension = self.encoder.dimension();
        let mut rows = vec![0.0; sentences.len() * dimension];
        let batches = sentences.chunks(BATCH);
        for (sentences, rows) in batches.zip(rows.chunks_mut(BATCH * dimension)) {
            let mut known = 0;
            if let Some(kept) = &mut self.kept {
                let read = kept.read(sentences, rows);
                known = read.map_err(Error::io("read", &kept.path))?;
            }
            progress.advance(known as u64);
            let (sentences, rows) = (&sentences[known..], &mut rows[known * dimension..]);
            let public: Vec<&str> = sentences.iter().map(AsRef::as_ref).collect();
            self.encoder.encode_public(&public, rows, progress)?;
            self.encoded += sentences.len() as u64;
            if let Some(kept) = &mut self.kept {
                let written = kept.write(sentences, rows);
                written.map_err(Error::io("write", &kept.path))?;
            }
        }
        Ok(rows)
    }

    /// Removes the file once the output is complete.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn finish(mut self) -> Result<()> {
        let Some(kept) = self.kept.take() else {
            return Ok(());
        };
        fs::remove_file(&kept.path).map_err(Error::io("remove", &kept.path))
    }
}

/// A run that failed before it encoded anything leaves no file.
impl Drop for Encoding<'_> {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept
            && let Ok(about) = kept.file.metadata()
            && about.len() <= kept.start
        {
            let _ = fs::remove_file(&kept.path);
        }
    }
}

impl Kept {
    /// Fills the rows of the leading sentences that have stored records, and returns their number.
    fn read(&mut self, sentences: &[impl AsRef<str>], rows: &mut [f32]) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut source = (&mut self.file).take((sentences.len() * self.record) as u64);
        source.read_to_end(&mut bytes)?;
        let rows = rows.chunks_exact_mut(rows.len() / sentences.len());
        let records = bytes.chunks_exact(self.record);
        let mut known = 0;
        for ((record, sentence), row) in records.zip(sentences).zip(rows) {
            let (body, stored) = record.split_at(self.record - CHECK);
            let (own, vector) = body.split_at(KEY);
            if own != hash::<KEY>(sentence.as_ref().as_bytes()) || stored != hash::<CHECK>(body) {
                break;
            }
            for (x, bytes) in row.iter_mut().zip(vector.as_chunks().0) {
                *x = f32::from_le_bytes(*bytes);
            }
            known += 1;
        }
        self.position += (known * self.record) as u64;
        Ok(known)
    }

    /// Writes the records of these sentences and drops all records after them.
    fn write(&mut self, sentences: &[impl AsRef<str>], rows: &[f32]) -> io::Result<()> {
        if sentences.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(sentences.len() * self.record);
        let rows = rows.chunks_exact(rows.len() / sentences.len());
        for (sentence, row) in sentences.iter().zip(rows) {
            let start = bytes.len();
            bytes.extend(hash::<KEY>(sentence.as_ref().as_bytes()));
            bytes.extend(row.iter().flat_map(|x| x.to_le_bytes()));
            let check: [u8; CHECK] = hash(&bytes[start..]);
            bytes.extend(check);
        }
        self.file.set_len(self.position)?;
        self.file.seek(SeekFrom::Start(self.position))?;
        self.file.write_all(&bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// The first bytes of a SHA-256.
fn hash<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let hash = Sha256::digest(bytes);
    hash[..N].try_into().expect("N is at most 32")
}

/// Identifies a run of a command that releases private text with a ledger. Only the same run resumes
/// its lines.
///
/// The identity is public, so it depends on the location and change times of the input, not on its
/// text. A digest of private text would let its holder test guesses of the text, at no cost in
/// privacy budget; a key would not help, because a later run needs it as well. A file that was
/// edited, moved or copied therefore starts a new run.
#[derive(Clone)]
pub struct Run(Sha256);

impl Run {
    /// A run of this command.
    pub fn of(command: &str) -> Self {
        let hash = Sha256::new();
        Self(hash).with(env!("CARGO_PKG_VERSION")).with(command)
    }

    /// Adds a public option to the identity.
    #[must_use]
    pub fn with(mut self, option: impl AsRef<[u8]>) -> Self {
        let option = option.as_ref();
        self.0.update((option.len() as u64).to_le_bytes());
        self.0.update(option);
        self
    }

    /// Adds a public list of words to the identity.
    #[must_use]
    pub fn with_words(self, list: &HashSet<Word>) -> Self {
        let mut words: Vec<&Word> = list.iter().collect();
        words.sort_unstable();
        let run = self.with(words.len().to_le_bytes());
        words.iter().fold(run, |run, word| run.with(word.as_str()))
    }

    /// Adds a file with its current state to the identity.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn with_file(self, path: &Path) -> Result<Self> {
        let about = fs::metadata(path).map_err(Error::io("open", path))?;
        Ok(self.with(state(&about)))
    }

    /// Adds a file to the identity whatever its content.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn with_place(self, path: &Path) -> Result<Self> {
        let path = fs::canonicalize(path).map_err(Error::io("open", path))?;
        Ok(self.with(path.as_os_str().as_encoded_bytes()))
    }

    fn name(&self) -> String {
        hex::encode(&self.0.clone().finalize()[..8])
    }
}

/// Identifies the file and the last change of its content and its metadata.
#[cfg(unix)]
fn state(about: &fs::Metadata) -> Vec<u8> {
    use std::os::unix::fs::MetadataExt;
    let place = [about.dev(), about.ino()].map(u64::to_le_bytes);
    let change = [about.ctime(), about.ctime_nsec()].map(i64::to_le_bytes);
    let content = [about.mtime(), about.mtime_nsec()].map(i64::to_le_bytes);
    [place, content, change].as_flattened().concat()
}

/// The time of the last change of the content.
#[cfg(not(unix))]
fn state(about: &fs::Metadata) -> Vec<u8> {
    let time = about.modified().unwrap_or(std::time::UNIX_EPOCH);
    let since = time.duration_since(std::time::UNIX_EPOCH);
    since
        .map_or(0, |since| since.as_nanos())
        .to_le_bytes()
        .into()
}

/// Output lines that a ledger paid for. They wait beside their target, in `TARGET.RUN.partial`,
/// until all are complete. RUN is the [`Run`] as 16 hexadecimal digits.
pub struct PartialLines {
    target: PathBuf,
    beside: PathBuf,
    file: File,
    kept: usize,
}

impl PartialLines {
    /// Starts the output lines of `target`, after the whole lines that an interrupted run with the
    /// same options left. A line counts if `is_whole` accepts it. Lines of other runs are not
    /// removed, because their cost cannot be refunded.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::error::ErrorKind::InUse) if another process writes this output;
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if another run left lines;
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) or
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if the target cannot be written.
    pub fn open(target: &Path, run: &Run, is_whole: impl Fn(&str) -> bool) -> Result<Self> {
        let target = &resolved(target);
        AtomicFile::check(target)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let beside = target.with_file_name(format!("{name}.{}.partial", run.name()));
        refuse_others(target, &name, &beside)?;
        let mut file = open_locked(&beside)?;
        let keep = || -> io::Result<usize> {
            take_mode(&file, target, OWN)?;
            let (kept, end) = whole_lines(&file, is_whole);
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            Ok(kept)
        };
        let kept = keep().map_err(Error::io("read", &beside))?;
        Ok(Self {
            target: target.to_owned(),
            beside,
            file,
            kept,
        })
    }

    /// The number of lines that an interrupted run left.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Adds a line, given without its line end. A killed process does not lose it.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn push(&mut self, line: &str) -> Result<()> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(Error::io("write", &self.beside))
    }

    /// The path of the file in which the lines wait.
    pub fn waiting_at(&self) -> &Path {
        &self.beside
    }

    /// Calls `write` with the file of the lines, at its start, to publish them in another form or
    /// for a reader who cannot wait for the rest. The same run can still resume.
    ///
    /// # Errors
    /// The errors of `write`; [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn publish(&mut self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        let start = self.file.rewind();
        start.map_err(Error::io("read", &self.beside))?;
        let written = write(&mut self.file);
        let end = self.file.seek(SeekFrom::End(0));
        end.map_err(Error::io("read", &self.beside))?;
        written
    }

    /// Renames the file of the lines to the target.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn commit(self) -> Result<()> {
        let rename = || -> io::Result<()> {
            take_mode(&self.file, &self.target, 0)?;
            self.file.sync_all()?;
            fs::rename(&self.beside, &self.target)?;
            sync_folder(&self.target)
        };
        rename().map_err(Error::io("write", &self.target))
    }

    /// Removes the lines, once all are published.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io).
    pub fn remove(self) -> Result<()> {
        fs::remove_file(&self.beside).map_err(Error::io("remove", &self.beside))
    }
}

/// A run that failed before it released anything leaves no file.
impl Drop for PartialLines {
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = fs::remove_file(&self.beside);
        }
    }
}

/// Returns the number of whole lines at the start of a file, and the offset of their end.
fn whole_lines(file: &File, is_whole: impl Fn(&str) -> bool) -> (usize, u64) {
    let mut lines = Lines::new(BufReader::new(file), LINE_LIMIT);
    let (mut kept, mut end) = (0, 0);
    // `PartialLines` did not write a line that cannot be read.
    while let Ok(Some(line)) = lines.next_line()
        && is_whole(line)
        // A line without its end was cut off during writing.
        && let Some(next) = lines.end()
    {
        (kept, end) = (kept + 1, next);
    }
    (kept, end)
}

/// Fails if another run left lines for the same target, which a ledger may have paid for. Removes
/// files of other runs that have none.
fn refuse_others(target: &Path, name: &str, own: &Path) -> Result<()> {
    let folder = folder(target);
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?.file_name();
        let run = entry.to_str().and_then(|entry| {
            let run = entry.strip_prefix(name)?.strip_prefix('.')?;
            run.strip_suffix(".partial")
        });
        let path = target.with_file_name(&entry);
        if path != own
            && run.is_some_and(|run| run.len() == 16 && run.bytes().all(|b| b.is_ascii_hexdigit()))
            // `PartialLines` makes no links or pipes.
            && fs::symlink_metadata(&path).is_ok_and(|about| about.is_file())
        {
            let other = open_locked(&path)?;
            if has_line(&other).map_err(Error::io("read", &path))? {
                return Err(Error::argument(format!(
                    "`{}` has releases of a run with other options, another input or an \
                     input that was changed since; this run would remove them, and they may \
                     be paid for; run that command again, or move the file away, or name \
                     another ⟨out⟩",
                    path.display()
                )));
            }
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Returns whether the file has a complete line.
fn has_line(file: &File) -> io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line)?;
    Ok(line.ends_with(b"\n"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::encoder::EncoderIdentity;
    use crate::error::ErrorKind;

    /// Encodes a sentence as its length, and counts the calls.
    struct Lengths {
        identity: EncoderIdentity,
        calls: AtomicUsize,
    }

    impl Lengths {
        fn new(digest: u8) -> Self {
            let name = "lengths".to_owned();
            let digest = [digest; 32];
            Self {
                identity: EncoderIdentity { name, digest },
                calls: AtomicUsize::new(0),
            }
        }

        fn calls(&self) -> usize {
            self.calls.load(Ordering::Relaxed)
        }

        fn kept_in(&self, path: &Path) -> Result<Encoding<'_>> {
            Encoding::kept_in(self, path.to_owned())
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

    fn encode(encoding: &mut Encoding<'_>, sentences: &[&str]) {
        let expected: Vec<f32> = sentences.iter().flat_map(|s| [s.len() as f32; 2]).collect();
        let rows = encoding.rows(sentences, &Progress::hidden());
        assert_eq!(rows.unwrap(), expected);
    }

    #[test]
    fn an_interrupted_run_goes_on_wherever_its_file_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let sentences = ["one", "three", "eleven", "fourteen", ""];
        let inner = Lengths::new(1);
        let mut encoding = inner.kept_in(&path).unwrap();
        encode(&mut encoding, &sentences);
        // A second pass encodes nothing.
        encoding.rewind();
        encode(&mut encoding, &sentences[..2]);
        encode(&mut encoding, &sentences[2..]);
        assert_eq!(inner.calls(), sentences.len());
        drop(encoding);
        let whole = fs::read(&path).unwrap();
        let (header, record) = (48, 16 + 8 + 8);
        assert_eq!(whole.len(), header + sentences.len() * record);
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let inner = Lengths::new(1);
            let mut encoding = inner.kept_in(&path).unwrap();
            let known = cut.saturating_sub(header) / record;
            assert_eq!(encoding.known(), known as u64, "cut at {cut}");
            encode(&mut encoding, &sentences);
            assert_eq!(inner.calls(), sentences.len() - known);
            drop(encoding);
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
        }
        // Any damage is detected, and the sentences from there on are encoded again.
        for byte in header..whole.len() {
            let mut damaged = whole.clone();
            damaged[byte] ^= 1;
            fs::write(&path, &damaged).unwrap();
            let inner = Lengths::new(1);
            encode(&mut inner.kept_in(&path).unwrap(), &sentences);
            let known = (byte - header) / record;
            assert_eq!(inner.calls(), sentences.len() - known);
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
        // Another corpus is encoded from its first different sentence on.
        let other = ["one", "three", "2", "fourteen"];
        encode(&mut inner.kept_in(&path).unwrap(), &other);
        // The file of another encoder is ignored.
        fs::write(&path, &whole).unwrap();
        let inner = Lengths::new(2);
        let encoding = inner.kept_in(&path).unwrap();
        assert_eq!(encoding.known(), 0);
        let again = inner.kept_in(&path);
        assert_eq!(again.err().unwrap().kind(), ErrorKind::InUse);
        encoding.finish().unwrap();
        assert!(!path.exists());
        drop(inner.kept_in(&path).unwrap());
        assert!(!path.exists(), "nothing was encoded");
    }

    /// Only regular files are opened: a link would lead elsewhere, and a pipe would block. Sockets
    /// stand in for pipes, because making a pipe starts another process, which inherits the locks
    /// of concurrent tests.
    #[cfg(unix)]
    #[test]
    fn links_and_pipes_with_the_names_of_parts_are_not_opened() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let path = at("out.jsonl");
        let lines = open(&path, "a").unwrap();
        let own = lines.beside.clone();
        drop(lines);
        fs::write(at("diary"), "dear\n").unwrap();
        for target in ["diary", "absent", "."] {
            symlink(at(target), &own).unwrap();
            let text = open(&path, "a").err().expect("a link").to_string();
            assert!(text.contains("not a regular file"), "{text}");
            assert!(Lengths::new(1).kept_in(&own).is_err(), "{target}");
            fs::remove_file(&own).unwrap();
        }
        // The file of another run.
        let other = at("out.jsonl.0123456789abcdef.partial");
        symlink(at("diary"), &other).unwrap();
        let pipe = |path: &Path| drop(UnixListener::bind(path).unwrap());
        pipe(&at("out.jsonl.1123456789abcdef.partial"));
        pipe(&at(".out.jsonl.12345678.part"));
        symlink(at("absent"), at(".out.jsonl.87654321.part")).unwrap();
        let mut lines = open(&path, "a").unwrap();
        lines.push("line").unwrap();
        lines.commit().unwrap();
        assert!(fs::symlink_metadata(&other).unwrap().is_symlink());
        pipe(&own);
        assert!(open(&path, "a").is_err());
        assert_eq!(fs::read(at("diary")).unwrap(), b"dear\n");
        assert!(!at("absent").exists());
    }

    #[test]
    fn published_lines_go_on_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let mut lines = open(&path, "a").unwrap();
        lines.push("first").unwrap();
        let copy = |lines: &mut File| {
            let mut bytes = Vec::new();
            lines.read_to_end(&mut bytes).unwrap();
            AtomicFile::settled(&path, &bytes)?.commit()
        };
        lines.publish(copy).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first\n");
        drop(lines);
        let mut lines = open(&path, "a").unwrap();
        assert_eq!(lines.kept(), 1);
        lines.push("second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first\n");
        lines.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first\nsecond\n");
    }

    fn open(target: &Path, option: &str) -> Result<PartialLines> {
        PartialLines::open(target, &Run::of("test").with(option), |line| line != "bad")
    }

    #[test]
    fn lines_appear_under_their_name_when_all_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let mut lines = open(&path, "a").unwrap();
        assert_eq!(lines.kept(), 0);
        lines.push("first").unwrap();
        lines.push("second").unwrap();
        let beside = lines.beside.clone();
        for run in ["a", "b"] {
            assert_eq!(open(&path, run).err().unwrap().kind(), ErrorKind::InUse);
        }
        drop(lines);
        assert!(!path.exists());
        // Cut after each byte.
        let bytes = fs::read(&beside).unwrap();
        assert_eq!(bytes, b"first\nsecond\n");
        for cut in 0..=bytes.len() {
            fs::write(&beside, &bytes[..cut]).unwrap();
            let mut lines = open(&path, "a").unwrap();
            let kept = match cut {
                0..6 => "",
                6..13 => "first\n",
                _ => "first\nsecond\n",
            };
            assert_eq!(lines.kept(), kept.lines().count(), "{cut}");
            lines.push("other").unwrap();
            lines.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}other\n"));
            assert!(!beside.exists());
        }
        fs::write(&beside, "good\nbad\ngood\n").unwrap();
        assert_eq!(open(&path, "a").unwrap().kept(), 1);
        // Lines of another run stay. Half a line is no release.
        fs::write(&beside, "old\n").unwrap();
        let error = open(&path, "b").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert_eq!(fs::read(&beside).unwrap(), b"old\n");
        fs::write(&beside, "old").unwrap();
        drop(open(&path, "b").unwrap());
        assert!(!beside.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn runs_differ_in_options_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        fs::write(&path, "text").unwrap();
        let run = || Run::of("a").with_file(&path).unwrap().name();
        let before = run();
        assert_eq!(run(), before);
        fs::write(&path, "tex2").unwrap();
        // Chance: false alarm none, miss none. Clocks of some file systems stand still for
        // milliseconds.
        let later = SystemTime::now() + Duration::from_secs(10);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(later).unwrap();
        assert_ne!(run(), before);
        assert_ne!(
            Run::of("a").with("bc").name(),
            Run::of("a").with("b").with("c").name()
        );
        assert_ne!(Run::of("a").name(), Run::of("b").name());
    }

    #[test]
    fn outputs_that_cannot_be_written_are_known_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(&folder.path().join("absent/out.jsonl"), "a").is_err());
        assert!(open(folder.path(), "a").is_err());
    }
}
