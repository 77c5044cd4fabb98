//! Records of 24 bytes without separators.

use std::io::{BufRead, Read};

use undertone::error::{Error, Result};
use undertone_core::release::Release;

use super::counter::{Input, Thread};
use super::rejected::Reason;
use super::turns::{Part, in_turns};

/// Records that a thread reads at once.
const PART: u64 = 1 << 15;

/// Counts a stream of records.
pub(crate) fn count<'a>(
    input: Input<'a>,
    mut source: Box<dyn BufRead + Send>,
) -> Result<Vec<Thread<'a>>> {
    let mut parts = 0;
    let next = || {
        let first = parts * PART;
        parts += 1;
        let most = PART * Release::BYTES as u64;
        let mut bytes = Vec::with_capacity(most as usize);
        let read = (&mut source).take(most).read_to_end(&mut bytes);
        read.map_err(Error::io("read", input.path))?;
        Ok((!bytes.is_empty()).then_some((first, bytes)))
    };
    let work = |thread: &mut Thread<'a>, (first, bytes): (u64, Vec<u8>), aside: &mut Part| {
        let slice = thread.tally.no_slice();
        let (records, rest) = bytes.as_chunks::<{ Release::BYTES }>();
        let set_aside = |bytes: &[u8]| format!("{{\"release\":\"{}\"}}\n", hex::encode(bytes));
        for (number, record) in (first + 1..).zip(records) {
            if let Err(refused) = thread.tally.count(slice, record, 1) {
                thread.reject(refused, number)?;
                aside.push(|| set_aside(record));
            }
        }
        if !rest.is_empty() {
            let number = first + records.len() as u64 + 1;
            thread.reject(Reason::CutOff.into(), number)?;
            aside.push(|| set_aside(rest));
        }
        input.progress.advance(records.len() as u64);
        Ok(())
    };
    in_turns(next, input.aside, || Ok(Thread::new(input.expected)), work)
}
