//! Long work: Python's lock is released, Ctrl-C stops it, and a callback gets the progress.

use std::cell::RefCell;
use std::panic::{self, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use undertone::error::{Error, Result};
use undertone::progress::{Steps, Watcher, watch};

use crate::errors::{argument, quietly, raise};

/// How long Python waits before it looks for signals.
const TURN: Duration = Duration::from_millis(50);

/// One call that takes long.
#[derive(Default)]
struct Call {
    stopped: AtomicBool,
    what: Mutex<&'static str>,
    done: AtomicU64,
    total: AtomicU64,
}

thread_local! {
    /// The call that a thread works for.
    static CALL: RefCell<Option<Arc<Call>>> = const { RefCell::new(None) };
}

/// Tells the call of the thread.
struct Told;

impl Watcher for Told {
    fn start(&self, what: &'static str, total: u64) -> Box<dyn Steps> {
        let call = CALL.with_borrow(Clone::clone);
        if let Some(call) = &call {
            *call.what.lock().unwrap_or_else(PoisonError::into_inner) = what;
            call.done.store(0, Ordering::Relaxed);
            call.total.store(total, Ordering::Relaxed);
        }
        Box::new(ToldSteps(call))
    }
}

struct ToldSteps(Option<Arc<Call>>);

/// Unwinds the work of a call that was stopped.
struct Stopped;

impl Steps for ToldSteps {
    fn advance(&self, steps: u64) {
        let Some(call) = &self.0 else { return };
        call.done.fetch_add(steps, Ordering::Relaxed);
        if call.stopped.load(Ordering::Relaxed) && !thread::panicking() {
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// Runs when the module is loaded.
pub(crate) fn start() {
    watch(Told);
    // Of this library alone, which has a Rust of its own. The message of a panic could quote a
    // private text.
    panic::set_hook(Box::new(|_| ()));
}

/// A number of threads that the machine may be able to start.
pub(crate) fn check_threads(threads: Option<usize>) -> PyResult<()> {
    const MOST: usize = 1024;
    match threads {
        Some(count) if !(1..=MOST).contains(&count) => Err(argument(format!(
            "threads = {count}: it lies in 1 to {MOST}; leave it out for as many as there are processors"
        ))),
        _ => Ok(()),
    }
}

/// Threads for one call. A process that was forked would wait forever for those of its parent.
pub(crate) fn pool(threads: Option<usize>) -> PyResult<ThreadPool> {
    check_threads(threads)?;
    pool_of(threads, &None)
}

fn pool_of(threads: Option<usize>, call: &Option<Arc<Call>>) -> PyResult<ThreadPool> {
    let call = call.clone();
    let pool = ThreadPoolBuilder::new()
        // 0: one for each processor, or RAYON_NUM_THREADS.
        .num_threads(threads.unwrap_or(0))
        .start_handler(move |_| CALL.set(call.clone()))
        .build();
    pool.map_err(|problem| refused(std::io::Error::other(problem)))
}

/// The system starts no more threads.
fn refused(problem: std::io::Error) -> PyErr {
    raise(&Error::io("start threads for", "this call".as_ref())(
        problem,
    ))
}

/// Runs `work` in threads of its own. `progress` is called with the name of the work, the steps
/// done and their total, 0 if unknown. An exception of it stops the work, as Ctrl-C does.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let call = Arc::new(Call::default());
    let pool = pool_of(None, &Some(call.clone()))?;
    let (sender, mut receiver) = channel();
    // Not waited for when it is stopped: what it works on is its own.
    let spawned = thread::Builder::new().spawn(move || {
        // Nobody listens if it was stopped.
        let _ = sender.send(pool.install(|| quietly(work)));
    });
    spawned.map_err(refused)?;
    let mut reported = None;
    let waited = loop {
        let turn;
        (receiver, turn) = py.detach(move || {
            let turn = receiver.recv_timeout(TURN);
            (receiver, turn)
        });
        match turn {
            Ok(Err(error)) => break Err(raise(&error)),
            // Once more, so that it gets the end, and at least one report of short work.
            Ok(Ok(found)) => break tell(progress, &call, &mut reported).map(|()| found),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                break Err(raise(&Error::defect()));
            }
        }
        let heard = py
            .check_signals()
            .and_then(|()| tell(progress, &call, &mut reported));
        if let Err(stop) = heard {
            break Err(stop);
        }
    };
    call.stopped.store(true, Ordering::Relaxed);
    waited
}

type State = (&'static str, u64, u64);

fn tell(
    progress: Option<&Bound<'_, PyAny>>,
    call: &Call,
    reported: &mut Option<State>,
) -> PyResult<()> {
    let Some(progress) = progress else {
        return Ok(());
    };
    let state = (
        *call.what.lock().unwrap_or_else(PoisonError::into_inner),
        call.done.load(Ordering::Relaxed),
        call.total.load(Ordering::Relaxed),
    );
    if state.0.is_empty() || *reported == Some(state) {
        return Ok(());
    }
    *reported = Some(state);
    progress.call1(state).map(|_| ())
}
