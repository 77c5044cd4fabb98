//! Progress bars that stay out of the way, and notes that do not run into them.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{LazyLock, Once};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use undertone::progress::{Steps, Watcher, watch};

/// Work shorter than this shows no bar.
const DELAY: Duration = Duration::from_secs(1);

/// All bars of this process. Standard error as a target hides itself when it is not a terminal.
static BARS: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));

/// Prints a line to standard error, above the bars. A closed standard error is no reason to stop: `eprintln` would
/// panic, and a note is not worth the work that is under way.
pub(crate) fn note(line: impl Display) {
    BARS.suspend(|| {
        let _ = writeln!(io::stderr(), "{line}");
    });
}

/// Draws a bar for whatever the library does for long.
pub(crate) fn draw() {
    watch(Bars);
}

struct Bars;

impl Watcher for Bars {
    fn start(&self, what: &'static str, total: u64) -> Box<dyn Steps> {
        Box::new(Bar::new(&BARS, what, total, DELAY))
    }
}

/// A bar with rate and remaining time, shown once the work has taken longer than a delay, and gone when dropped.
struct Bar {
    bars: &'static MultiProgress,
    bar: ProgressBar,
    delay: Duration,
    show: Once,
}

impl Bar {
    fn new(bars: &'static MultiProgress, what: &'static str, total: u64, delay: Duration) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = "{msg} {wide_bar} {human_pos}/{human_len} {per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is a constant"));
        bar.set_message(what);
        Self {
            bars,
            bar,
            delay,
            show: Once::new(),
        }
    }
}

impl Steps for Bar {
    fn advance(&self, steps: u64) {
        if !self.show.is_completed() && self.bar.elapsed() > self.delay {
            self.show.call_once(|| {
                self.bars.add(self.bar.clone());
            });
        }
        self.bar.inc(steps);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.bars.remove(&self.bar);
    }
}

/// Documents and sentences per second.
pub(crate) struct Rate {
    start: Instant,
    documents: usize,
    sentences: usize,
}

impl Rate {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            documents: 0,
            sentences: 0,
        }
    }

    pub(crate) fn count(&mut self, documents: usize, sentences: usize) {
        self.documents += documents;
        self.sentences += sentences;
    }

    pub(crate) fn report(&self, done: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        let mut line = format!(
            "{done} {} documents in {seconds:.1} s: {:.1} documents/s",
            self.documents,
            self.documents as f64 / seconds
        );
        if self.sentences > 0 {
            line += &format!(
                ", {} sentences, {:.1} sentences/s",
                self.sentences,
                self.sentences as f64 / seconds
            );
        }
        note!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;

    #[test]
    fn shows_only_after_the_delay_and_clears_at_the_end() {
        let terminal = InMemoryTerm::new(4, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let bars = Box::leak(Box::new(MultiProgress::with_draw_target(target)));
        let delay = Duration::from_millis(50);
        let bar = Bar::new(bars, "encoding", 100, delay);
        bar.advance(1);
        // Unless this thread was held up for longer than the delay.
        if bar.bar.elapsed() <= delay {
            assert_eq!(terminal.contents(), "");
        }
        std::thread::sleep(2 * delay);
        bar.advance(9);
        bar.bar.tick();
        let shown = terminal.contents();
        assert!(shown.contains("encoding"), "{shown}");
        assert!(shown.contains("10/100"), "{shown}");
        assert!(shown.contains("left"), "{shown}");
        drop(bar);
        assert_eq!(terminal.contents(), "");
    }
}
