//! Files of 24-byte records without separators.

use std::fs::File;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::path::Path;

use undertone::error::{Error, Result};
use undertone::files::foreign::GZIP;
use undertone::progress::Progress;
use undertone_core::release::Release;

use super::Expected;
use super::counter::Thread;
use super::rejected::Reason;
use super::turns::{Aside, Part, in_turns, numbers};

/// Bytes that a thread reads at once, a whole number of records.
const PART: u64 = 24 << 16;

/// Whether a file can be read in parts: neither gzipped nor a pipe. No release begins like a gzipped
/// file.
pub(crate) fn is_in_parts(file: &mut File) -> std::io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    file.take(2).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start != GZIP)
}

/// Counts a file that can be read in parts.
pub(crate) fn count_parts<'a>(
    path: &Path,
    expected: &'a Expected,
    aside: Option<Aside<'_>>,
    progress: &Progress,
) -> Result<Vec<Thread<'a>>> {
    let read = |file: &mut File, at: u64, bytes: &mut [u8]| {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    };
    let length = File::open(path).and_then(|file| file.metadata());
    let length = length.map_err(Error::io("open", path))?.len();
    let start = || {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Ok((Thread::new(expected), file, Vec::new()))
    };
    let work = |state: &mut (Thread<'a>, File, Vec<u8>), part: u64, aside: &mut Part<'_, '_>| {
        let (thread, file, bytes) = state;
        let at = part * PART;
        // At most 1.5 MiB.
        bytes.resize(PART.min(length - at) as usize, 0);
        read(file, at, bytes).map_err(Error::io("read", path))?;
        count(thread, bytes, at / Release::BYTES as u64, aside)?;
        progress.advance((bytes.len() / Release::BYTES) as u64);
        Ok(())
    };
    let states = in_turns(numbers(length.div_ceil(PART)), aside, start, work)?;
    Ok(states.into_iter().map(|(thread, ..)| thread).collect())
}

/// Counts a stream.
pub(crate) fn count_stream<'a>(
    path: &Path,
    mut source: Box<dyn BufRead + Send>,
    expected: &'a Expected,
    aside: Option<Aside<'_>>,
    progress: &Progress,
) -> Result<Vec<Thread<'a>>> {
    // One part of any length.
    let source = std::sync::Mutex::new(&mut source);
    let work = |thread: &mut Thread<'a>, _: u64, aside: &mut Part<'_, '_>| {
        let mut source = source.lock().expect("one thread reads");
        let mut bytes = Vec::new();
        let mut first = 0;
        loop {
            bytes.clear();
            let read = (&mut **source).take(PART).read_to_end(&mut bytes);
            if read.map_err(Error::io("read", path))? == 0 {
                return Ok(());
            }
            count(thread, &bytes, first, aside)?;
            first += (bytes.len() / Release::BYTES) as u64;
            progress.advance((bytes.len() / Release::BYTES) as u64);
        }
    };
    in_turns(numbers(1), aside, || Ok(Thread::new(expected)), work)
}

/// Counts records; `first` precede them.
fn count(
    thread: &mut Thread<'_>,
    bytes: &[u8],
    first: u64,
    aside: &mut Part<'_, '_>,
) -> Result<()> {
    let slice = thread.tally.no_slice();
    let (records, rest) = bytes.as_chunks::<{ Release::BYTES }>();
    for (number, record) in (first + 1..).zip(records) {
        if let Err(refused) = thread.tally.count(slice, record, 1) {
            thread.reject(refused, number)?;
            set_aside(record, aside)?;
        }
    }
    if !rest.is_empty() {
        let number = first + records.len() as u64 + 1;
        thread.rejected.add(Reason::CutOff, 1, number, None);
        set_aside(rest, aside)?;
    }
    Ok(())
}

fn set_aside(bytes: &[u8], aside: &mut Part<'_, '_>) -> Result<()> {
    if !aside.is_wanted() {
        return Ok(());
    }
    aside.push(format!("{{\"release\":\"{}\"}}\n", hex::encode(bytes)).as_bytes())
}
