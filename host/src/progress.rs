//! How far long work is.
//!
//! The library draws nothing. It tells a [`Watcher`], if the program has named one with [`watch`]: the command line
//! draws bars, another program can call back.

use std::sync::OnceLock;

/// Is told about long work.
pub trait Watcher: Send + Sync {
    /// Work of `total` steps starts, 0 if nobody knows yet how many; `what` names it, such as `encoding sentences`.
    /// It is over when the value that this returns is dropped.
    fn start(&self, what: &'static str, total: u64) -> Box<dyn Steps>;
}

/// Is told about the steps of one piece of work.
pub trait Steps: Send + Sync {
    /// `steps` more steps are done. Called from many threads.
    fn advance(&self, steps: u64);
}

static WATCHER: OnceLock<Box<dyn Watcher>> = OnceLock::new();

/// Names the watcher of this process, once: a later call changes nothing and returns false.
pub fn watch(watcher: impl Watcher + 'static) -> bool {
    WATCHER.set(Box::new(watcher)).is_ok()
}

/// Progress of a piece of work, which ends when this is dropped.
pub struct Progress(Option<Box<dyn Steps>>);

impl Progress {
    /// Starts work of `total` steps, 0 if nobody knows yet how many; `what` names it, such as `encoding sentences`.
    pub fn new(what: &'static str, total: u64) -> Self {
        Self(WATCHER.get().map(|watcher| watcher.start(what, total)))
    }

    /// Progress that nobody is told about.
    pub fn hidden() -> Self {
        Self(None)
    }

    /// Counts `steps` more steps as done. May be called from many threads.
    pub fn advance(&self, steps: u64) {
        if let Some(told) = &self.0 {
            told.advance(steps);
        }
    }
}
