//! Counts parts of an input in several threads, and writes rejects in the order of the input.

use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use undertone::error::{Error, Result};

/// The writer of rejects, and its name in messages.
pub(crate) struct Aside<'w> {
    pub(crate) writer: &'w mut (dyn Write + Send),
    pub(crate) path: &'w Path,
}

/// Rejects are buffered up to this many bytes.
const HELD: usize = 1 << 20;

/// The rejects of one part. All that is written to it is a reject.
pub(crate) struct Part {
    /// None if rejects are written nowhere.
    rejects: Option<SyncSender<Vec<u8>>>,
    held: Vec<u8>,
}

impl Part {
    /// Appends a reject, which is made only if it is written anywhere.
    pub(crate) fn push<B: AsRef<[u8]>>(&mut self, line: impl FnOnce() -> B) {
        if self.rejects.is_some() {
            self.held.extend_from_slice(line().as_ref());
        }
        if self.held.len() > HELD {
            self.send();
        }
    }

    /// Waits for the turn of this part.
    fn send(&mut self) {
        if !self.held.is_empty()
            && let Some(rejects) = &self.rejects
        {
            // Nobody receives after an error of the writer, which is returned.
            let _ = rejects.send(mem::take(&mut self.held));
        }
    }
}

impl Write for Part {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.push(|| piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ignores poisoning: a panic in another thread stops the program anyway.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of the first part that failed, and the number of that part.
#[derive(Default)]
struct Failed(Mutex<Option<(u64, Error)>>);

impl Failed {
    fn add(&self, (number, error): (u64, Error)) {
        let mut failed = lock(&self.0);
        if failed.as_ref().is_none_or(|(first, _)| number < *first) {
            *failed = Some((number, error));
        }
    }
}

/// Processes parts in one thread for each processor. `next` returns a part, in any thread. A thread
/// makes a state with `start` for its first part and counts its parts into it in order. Returns the
/// states.
pub(crate) fn in_turns<S: Send, P>(
    next: impl FnMut() -> Result<Option<P>> + Send,
    aside: Option<Aside<'_>>,
    start: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, P, &mut Part) -> Result<()> + Sync,
) -> Result<Vec<S>> {
    // The source of parts until its end, and the number of the next part.
    let source = Mutex::new((Some(next), 0));
    let failed = Failed::default();
    let is_aside = aside.is_some();
    let run = |queue: Sender<Receiver<Vec<u8>>>| -> Result<Option<S>, (u64, Error)> {
        let mut state = None;
        while lock(&failed.0).is_none() {
            let mut source = lock(&source);
            let (next, parts) = &mut *source;
            // A read error comes after all parts that were read.
            let found = next.as_mut().map_or(Ok(None), |next| next());
            let Some(found) = found.map_err(|error| (u64::MAX, error))? else {
                // A terminal would ask for its end again.
                *next = None;
                break;
            };
            let number = *parts;
            *parts += 1;
            // Parts queue in their order, because this thread holds the source.
            let rejects = is_aside.then(|| {
                // Without a buffer: a thread that is ahead waits, so few rejects are in memory.
                let (rejects, receiver) = mpsc::sync_channel(0);
                let _ = queue.send(receiver);
                rejects
            });
            drop(source);
            // Lazily: of few parts most threads get none.
            let state = match &mut state {
                Some(state) => state,
                none => none.insert(start().map_err(|error| (number, error))?),
            };
            let mut part = Part {
                rejects,
                held: Vec::new(),
            };
            work(state, found, &mut part).map_err(|error| (number, error))?;
            part.send();
        }
        Ok(state)
    };
    let (queue, parts) = mpsc::channel();
    let states = thread::scope(|scope| {
        let spawn = |_| {
            let (run, failed, queue) = (&run, &failed, queue.clone());
            scope.spawn(move || run(queue).map_err(|error| failed.add(error)).ok().flatten())
        };
        let threads: Vec<_> = (0..rayon::current_num_threads()).map(spawn).collect();
        drop(queue);
        if let Some(Aside { writer, path }) = aside {
            let mut write = |rejects: Receiver<Vec<u8>>| {
                let mut all = rejects.into_iter();
                all.try_for_each(|lines| writer.write_all(&lines))
            };
            for (number, rejects) in (0..).zip(parts) {
                if let Err(cause) = write(rejects) {
                    failed.add((number, Error::io("write", path)(cause)));
                    break;
                }
            }
        }
        let states = threads.into_iter().map(|thread| match thread.join() {
            Ok(state) => state,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        states.flatten().collect()
    });
    let failed = failed.0.into_inner();
    match failed.unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(states),
    }
}
