//! Counts parts of an input in several threads, and writes rejects in the order of the input.

use std::io::Write;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use undertone::error::{Error, Result};

/// The writer of rejects, and its name in messages.
pub(crate) struct Aside<'w> {
    pub(crate) writer: &'w mut (dyn Write + Send),
    pub(crate) path: &'w Path,
}

/// Rejects are buffered up to this many bytes.
const HELD: usize = 1 << 20;

/// The part that may write now.
pub(crate) struct Turns<'a> {
    aside: Mutex<Option<Aside<'a>>>,
    waits: bool,
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    part: u64,
    /// The part of the first error, and the error.
    failed: Option<(u64, Error)>,
    /// Whether a thread panicked, so that no other waits for it.
    panicked: bool,
}

/// Sets `panicked` if its thread panics.
struct Alarm<'t, 'a>(&'t Turns<'a>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.now).panicked = true;
            self.0.changed.notify_all();
        }
    }
}

/// The rejects of one part.
pub(crate) struct Part<'t, 'a> {
    turns: &'t Turns<'a>,
    number: u64,
    held: Vec<u8>,
}

/// Ignores poisoning: a panic in another thread stops the program anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'t, 'a> Part<'t, 'a> {
    /// Appends a reject, if rejects are written anywhere.
    pub(crate) fn push<B: AsRef<[u8]>>(&mut self, line: impl FnOnce() -> B) -> Result<()> {
        if self.turns.waits {
            self.held.extend_from_slice(line().as_ref());
        }
        if self.held.len() > HELD {
            self.flush()?;
        }
        Ok(())
    }

    /// Waits for the turn of this part and writes. Does nothing after a failure elsewhere.
    fn flush(&mut self) -> Result<()> {
        let mut now = lock(&self.turns.now);
        while now.part != self.number && now.failed.is_none() && !now.panicked {
            now = (self.turns.changed.wait(now)).unwrap_or_else(PoisonError::into_inner);
        }
        drop(now);
        if let Some(Aside { writer, path }) = &mut *lock(&self.turns.aside) {
            writer
                .write_all(&self.held)
                .map_err(Error::io("write", path))?;
        }
        self.held.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if self.turns.waits {
            self.flush()?;
            lock(&self.turns.now).part += 1;
            self.turns.changed.notify_all();
        }
        Ok(())
    }
}

/// Processes parts in one thread for each processor. `next` returns a part and its number, from 0,
/// in any thread. A thread makes a state with `start` for its first part and counts its parts into
/// it in order. Returns the states.
pub(crate) fn in_turns<'a, S: Send, P>(
    next: impl Fn() -> Result<Option<(u64, P)>> + Sync,
    aside: Option<Aside<'a>>,
    start: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, P, &mut Part<'_, 'a>) -> Result<()> + Sync,
) -> Result<Vec<S>> {
    let turns = Turns {
        waits: aside.is_some(),
        aside: Mutex::new(aside),
        now: Mutex::default(),
        changed: Condvar::new(),
    };
    let run = || {
        let _alarm = Alarm(&turns);
        let mut state = None;
        loop {
            if lock(&turns.now).failed.is_some() {
                return Ok(state);
            }
            // A read error comes after all parts that were read.
            let Some((number, found)) = next().map_err(|error| (u64::MAX, error))? else {
                return Ok(state);
            };
            // Lazily: of few parts most threads get none.
            let state = match &mut state {
                Some(state) => state,
                none => none.insert(start().map_err(|error| (number, error))?),
            };
            let mut part = Part {
                turns: &turns,
                number,
                held: Vec::new(),
            };
            work(state, found, &mut part)
                .and_then(|()| part.finish())
                .map_err(|error| (number, error))?;
        }
    };
    let thread = || {
        run()
            .map_err(|(number, error)| {
                let mut now = lock(&turns.now);
                if now.failed.as_ref().is_none_or(|(first, _)| number < *first) {
                    now.failed = Some((number, error));
                }
                turns.changed.notify_all();
            })
            .ok()
    };
    let threads = rayon::current_num_threads();
    let states = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(thread)).collect();
        let own = thread();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(state) => state,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        others.chain([own]).flatten().flatten().collect()
    });
    let now = turns.now.into_inner();
    match now.unwrap_or_else(PoisonError::into_inner).failed {
        Some((_, error)) => Err(error),
        None => Ok(states),
    }
}
