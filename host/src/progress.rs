//! A progress bar that stays out of the way.

use std::sync::Once;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const DELAY: Duration = Duration::from_secs(1);

/// Progress of a piece of work, with rate and remaining time.
///
/// It is drawn to standard error, only if that is a terminal, and only once the work has taken more
/// than a second. It disappears when dropped.
pub struct Progress {
    bar: ProgressBar,
    delay: Duration,
    show: Once,
    target: fn() -> ProgressDrawTarget,
}

impl Progress {
    /// Starts a bar for `total` steps; `what` names the work, such as `encoding`.
    pub fn new(what: &'static str, total: u64) -> Self {
        // Standard error as a target hides itself when it is not a terminal.
        Self::drawn_to(what, total, DELAY, ProgressDrawTarget::stderr)
    }

    /// A bar that is never shown.
    pub fn hidden() -> Self {
        Self::drawn_to("", 0, Duration::MAX, ProgressDrawTarget::hidden)
    }

    fn drawn_to(
        what: &'static str,
        total: u64,
        delay: Duration,
        target: fn() -> ProgressDrawTarget,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = "{msg} {wide_bar} {human_pos}/{human_len} {per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is a constant"));
        bar.set_message(what);
        Self {
            bar,
            delay,
            show: Once::new(),
            target,
        }
    }

    /// Counts `steps` more steps as done. May be called from many threads.
    pub fn advance(&self, steps: u64) {
        if !self.show.is_completed() && self.bar.elapsed() > self.delay {
            self.show
                .call_once(|| self.bar.set_draw_target((self.target)()));
        }
        self.bar.inc(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};
    use std::cell::RefCell;
    use std::time::Duration;

    thread_local! {
        static TERMINAL: RefCell<InMemoryTerm> = RefCell::new(InMemoryTerm::new(4, 80));
    }

    fn terminal() -> InMemoryTerm {
        TERMINAL.with_borrow(InMemoryTerm::clone)
    }

    fn target() -> ProgressDrawTarget {
        ProgressDrawTarget::term_like(Box::new(terminal()))
    }

    #[test]
    fn shows_only_after_the_delay_and_clears_at_the_end() {
        // No delay that a busy machine could be late for.
        let mut progress = Progress::drawn_to("encoding", 100, Duration::MAX, target);
        progress.advance(1);
        assert_eq!(terminal().contents(), "");
        progress.delay = Duration::from_millis(1);
        std::thread::sleep(2 * progress.delay);
        progress.advance(9);
        let shown = terminal().contents();
        assert!(shown.contains("encoding"), "{shown}");
        assert!(shown.contains("10/100"), "{shown}");
        assert!(shown.contains("left"), "{shown}");
        drop(progress);
        assert_eq!(terminal().contents(), "");
    }

    #[test]
    fn hidden_stays_hidden() {
        let progress = Progress::hidden();
        progress.advance(1);
        assert!(progress.bar.is_hidden());
    }
}
