//! Progress of long work.
//!
//! The library draws nothing. It reports to the [`Watcher`] that the program registered with
//! [`watch`], if any: the command line draws bars, another program can call back.

use std::sync::OnceLock;

/// Receives the progress of long work.
pub trait Watcher: Send + Sync {
    /// Called when work of `total` steps starts, 0 if the number is not known yet. `what` names the
    /// work, such as `encoding sentences`. The work ends when the returned value is dropped.
    fn start(&self, what: &'static str, total: u64) -> Box<dyn Steps>;
}

/// Receives the steps of one piece of work.
pub trait Steps: Send + Sync {
    /// Called when `steps` more steps are done, from any thread.
    fn advance(&self, steps: u64);
}

static WATCHER: OnceLock<Box<dyn Watcher>> = OnceLock::new();

/// Registers the watcher of this process. Only the first call has an effect; a later one returns
/// false.
pub fn watch(watcher: impl Watcher + 'static) -> bool {
    WATCHER.set(Box::new(watcher)).is_ok()
}

/// Progress of a piece of work, which ends when this value is dropped.
pub struct Progress(Option<Box<dyn Steps>>);

impl Progress {
    /// Starts work of `total` steps, 0 if the number is not known yet. `what` names the work, such
    /// as `encoding sentences`.
    pub fn new(what: &'static str, total: u64) -> Self {
        Self(WATCHER.get().map(|watcher| watcher.start(what, total)))
    }

    /// Progress without a watcher.
    pub fn hidden() -> Self {
        Self(None)
    }

    /// Counts `steps` more steps as done. Any thread may call it.
    pub fn advance(&self, steps: u64) {
        if let Some(told) = &self.0 {
            told.advance(steps);
        }
    }
}
