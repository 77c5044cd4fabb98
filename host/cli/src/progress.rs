//! Progress bars that stay out of the way, and notes that do not run into them.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Once, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{
    HumanCount, HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState,
    ProgressStyle,
};
use undertone::error::with_settings;
use undertone::files::resume::Encoding;
use undertone::progress::{Steps, Watcher, watch};
use undertone_report::visible;

/// Work shorter than this shows no bar.
const DELAY: Duration = Duration::from_secs(1);

/// Seconds between two lines where no terminal shows a bar.
const PAUSE: u64 = 5;

/// All bars of this process. Standard error as a target hides itself when it is not a terminal.
static BARS: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));

/// Whether only errors are printed.
static QUIET: OnceLock<bool> = OnceLock::new();

/// Prints an error to standard error.
pub fn error(error: impl Display) {
    print(format_args!("error: {error}"));
}

/// Prints a note to standard error, unless only errors are wanted.
pub fn note(line: impl Display) {
    if QUIET.get() != Some(&true) {
        print(line);
    }
}

/// Writes a setting of a message as an option.
fn option(name: &str, value: Option<&str>) -> String {
    match value {
        None => format!("--{name}"),
        Some(value) => format!("--{name} {value}"),
    }
}

/// Prints a line to standard error, above the bars. A closed standard error is no reason to stop:
/// `eprintln` would panic, and a note is not worth the work that is under way. Names and values in
/// it come from files, so they must not steer the terminal.
fn print(line: impl Display) {
    let line = with_settings(&line.to_string(), option);
    let lines: Vec<String> = line.split('\n').map(visible).collect();
    without_bars(|| {
        let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
    });
}

/// Says how many lines or records were rejected, if any were, why, and where they are.
pub fn note_rejects(count: u64, what: &str, kept: Option<&Path>, summary: &str) {
    if count == 0 {
        return;
    }
    let place = match kept {
        Some(path) => kept_in(path),
        None => "name a file with --rejected to keep them".to_owned(),
    };
    note(format_args!("{count} {what}; {place}{summary}"));
}

/// A last line for an error with the place of rejects, or nothing.
pub fn place_of_rejects(kept: Option<&Path>) -> String {
    kept.map_or_else(String::new, |path| format!("\n{}", kept_in(path)))
}

fn kept_in(path: &Path) -> String {
    format!("they are in `{}`", path.display())
}

/// Takes the bars away while something else is written.
pub fn without_bars<T>(write: impl FnOnce() -> T) -> T {
    BARS.suspend(write)
}

/// Draws a bar for whatever the library does for long, unless only errors are wanted.
pub fn draw(quiet: bool) {
    if !*QUIET.get_or_init(|| quiet) {
        watch(Bars);
    }
}

struct Bars;

impl Watcher for Bars {
    fn start(&self, what: &'static str, total: u64) -> Box<dyn Steps> {
        Box::new(Bar::new(&BARS, what, total, DELAY))
    }
}

/// A bar with rate and remaining time, if the number of steps is known, shown once the work has
/// taken longer than a delay, and gone when dropped.
struct Bar {
    bars: &'static MultiProgress,
    bar: ProgressBar,
    delay: Duration,
    show: Once,
    /// Seconds after the start at which a log gets its next line.
    due: AtomicU64,
}

impl Bar {
    fn new(bars: &'static MultiProgress, what: &'static str, total: u64, delay: Duration) -> Self {
        let (total, style) = match total {
            0 => (None, "{msg} {human_pos}, {speed}"),
            total => (
                Some(total),
                "{msg} {wide_bar} {human_pos}/{human_len} {speed}, {eta} left",
            ),
        };
        let style = ProgressStyle::with_template(style).expect("the template is a constant");
        let style = style.with_key(
            "speed",
            |state: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = out.write_str(&speed(state.per_sec()));
            },
        );
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(style);
        bar.set_message(what);
        Self {
            bars,
            bar,
            delay,
            show: Once::new(),
            due: AtomicU64::new(PAUSE),
        }
    }

    /// The line of a log, if `seconds` after the start one is due.
    fn line(&self, seconds: u64) -> Option<String> {
        let due = self.due.load(Ordering::Relaxed);
        if seconds < due {
            return None;
        }
        let next = seconds + PAUSE;
        let is_first = self
            .due
            .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        is_first.ok()?;
        let (message, done) = (self.bar.message(), HumanCount(self.bar.position()));
        Some(match self.bar.length() {
            Some(all) => format!(
                "{message}: {done} of {}, {:#} left",
                HumanCount(all),
                HumanDuration(self.bar.eta())
            ),
            None => format!("{message}: {done}"),
        })
    }
}

/// Steps a second, with a digit after the point where there are few.
fn speed(steps: f64) -> String {
    if steps < 10.0 {
        format!("{steps:.1}/s")
    } else {
        format!("{}/s", HumanCount(steps.round() as u64))
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
        if self.bars.is_hidden()
            && let Some(line) = self.line(self.bar.elapsed().as_secs())
        {
            note(line);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.bars.remove(&self.bar);
    }
}

/// Documents and sentences per second.
pub struct Rate {
    start: Instant,
    documents: usize,
    sentences: usize,
    /// Sentences that an earlier run encoded.
    before: usize,
}

impl Rate {
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            documents: 0,
            sentences: 0,
            before: 0,
        }
    }

    /// Adds what was done.
    pub fn count(&mut self, documents: usize, sentences: usize) {
        self.documents += documents;
        self.sentences += sentences;
    }

    /// Leaves out of the speed what an earlier run encoded.
    pub fn taken_over(&mut self, encoding: &Encoding<'_>) {
        if encoding.known() > 0 {
            let own = usize::try_from(encoding.encoded()).unwrap_or(usize::MAX);
            self.before = self.sentences.saturating_sub(own);
        }
    }

    /// Prints the speed.
    pub fn report(&self, done: &str) {
        note!("{}", self.line(done, self.start.elapsed()));
    }

    /// Reports the work done on `things` other than documents.
    pub fn report_of(&self, done: &str, things: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        let speed = self.documents as f64 / seconds;
        note!(
            "{done} {} {things} in {seconds:.1} s: {speed:.0} {things}/s",
            self.documents
        );
    }

    fn line(&self, done: &str, taken: Duration) -> String {
        let Self {
            documents,
            sentences,
            before,
            ..
        } = *self;
        let seconds = taken.as_secs_f64();
        let speed = |count: usize| count as f64 / seconds;
        if before > 0 {
            let own = sentences - before;
            if own == 0 {
                return format!(
                    "{done} {documents} documents, {sentences} sentences, all encoded before, in {seconds:.1} s"
                );
            }
            return format!(
                "{done} {documents} documents, {sentences} sentences; this run encoded {own} of them in {seconds:.1} s: \
                 {:.1} sentences/s",
                speed(own)
            );
        }
        let mut line = format!(
            "{done} {documents} documents in {seconds:.1} s: {:.1} documents/s",
            speed(documents)
        );
        if sentences > 0 {
            line += &format!(
                ", {sentences} sentences, {:.1} sentences/s",
                speed(sentences)
            );
        }
        line
    }
}

#[cfg(test)]
mod tests {
    // Chance: false alarm none, miss none. Sleeping takes at least the time requested.
    use super::*;
    use indicatif::InMemoryTerm;

    fn terminal() -> (InMemoryTerm, &'static MultiProgress) {
        let terminal = InMemoryTerm::new(6, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let bars = Box::leak(Box::new(MultiProgress::with_draw_target(target)));
        (terminal, bars)
    }

    /// A note has a line of its own, above the bar, and is still there when the bar is gone.
    #[test]
    fn shows_only_after_the_delay_below_notes_and_clears_at_the_end() {
        let (terminal, bars) = terminal();
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
        for part in ["encoding", "10/100", "left"] {
            assert!(shown.contains(part), "{shown}");
        }
        bars.suspend(|| {
            indicatif::TermLike::write_line(&terminal, "packed 30 documents").unwrap();
        });
        bar.bar.tick();
        let shown = terminal.contents();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines[0], "packed 30 documents", "{shown}");
        assert!(lines[1].starts_with("encoding "), "{shown}");
        drop(bar);
        assert_eq!(terminal.contents().trim_end(), "packed 30 documents");
    }

    #[test]
    fn a_log_gets_a_line_every_few_seconds() {
        let (_, bars) = terminal();
        let bar = Bar::new(bars, "judging heads", 1500, DELAY);
        bar.advance(1234);
        assert_eq!(bar.line(4), None);
        let line = bar.line(6).unwrap();
        let start = "judging heads: 1,234 of 1,500, ";
        assert!(line.starts_with(start), "{line}");
        assert_eq!(bar.line(10), None);
        assert!(bar.line(11).is_some());
        let speeds = [0.25, 9.96, 3744.4597].map(speed);
        assert_eq!(speeds, ["0.2/s", "10.0/s", "3,744/s"]);
    }

    #[test]
    fn work_of_unknown_length_shows_what_is_done() {
        let (terminal, bars) = terminal();
        let bar = Bar::new(bars, "encoding", 0, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        bar.advance(7);
        bar.bar.tick();
        let shown = terminal.contents();
        assert!(shown.starts_with("encoding 7, "), "{shown}");
    }

    #[test]
    fn speed_is_that_of_this_run() {
        let mut rate = Rate::start();
        rate.count(30, 270);
        for (before, line) in [
            (
                0,
                "packed 30 documents in 10.0 s: 3.0 documents/s, 270 sentences, 27.0 sentences/s",
            ),
            (
                250,
                "packed 30 documents, 270 sentences; this run encoded 20 of them in 10.0 s: 2.0 sentences/s",
            ),
            (
                270,
                "packed 30 documents, 270 sentences, all encoded before, in 10.0 s",
            ),
        ] {
            rate.before = before;
            assert_eq!(rate.line("packed", Duration::from_secs(10)), line);
        }
    }
}
