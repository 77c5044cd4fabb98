//! The example `ffi/examples/keyboard`, built and used as its README describes.
//!
//! Chance: false alarm 10⁻¹¹, miss none. See `unknown_and_known_lines…`, `what_was_drawn…` and
//! `a_topic_or_an_emoji…`; other releases are only checked for their form and number. Kills come at
//! any time.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{
    SANITIZE, assert_sanitized, compile, have, output_dir, printed, root, run, static_library,
};
use undertone::demo;
use undertone::form::Contents;
use undertone_core::form::Form;
use undertone_core::pack::Pack;
use undertone_core::release::{Mechanism, Release};
use undertone_tests::golden::from_hex;
use undertone_tests::packs::features_pack;

const DAY: u32 = 20_000;

/// A day in the last week of a window of 52, in which a release that was not made is always due.
const LAST_WEEK: u32 = 20_013;

fn example(name: &str) -> PathBuf {
    root().join("ffi/examples/keyboard").join(name)
}

/// The program under sanitizers, a pack, the output of `undertone inspect` for it, and the form of
/// `emoji.json`.
struct Setting {
    program: PathBuf,
    pack: PathBuf,
    candidates: PathBuf,
    emoji: PathBuf,
}

fn setting() -> Option<&'static Setting> {
    static SETTING: OnceLock<Option<Setting>> = OnceLock::new();
    let make = || {
        if !have("g++", "g++") {
            return None;
        }
        let folder = output_dir().join("keyboard");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        let source = ["ffi/examples/keyboard/keyboard.cpp"];
        let library = Some(static_library());
        let program = compile("g++", "keyboard-example", &source, library, &SANITIZE);
        assert_sanitized(&program);
        let written = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, content).expect("the target folder can be written");
            path
        };
        let built = demo::build(1).expect("the demo corpus is public and fine");
        let description = fs::read_to_string(example("emoji.json")).expect("it is there");
        let form = Contents::from_json(&description).and_then(|contents| contents.to_bytes());
        Some(Setting {
            program,
            pack: written("demo.pack", &built.pack),
            candidates: written("demo.candidates.tsv", built.candidates.list().as_bytes()),
            emoji: written("emoji.form", &form.expect("a form")),
        })
    };
    SETTING.get_or_init(make).as_ref()
}

impl Setting {
    /// Path of a ledger that does not exist.
    fn ledger(&self, name: &str) -> PathBuf {
        let path = self.pack.with_file_name(format!("{name}.ledger"));
        for file in [&path, &path.with_extension("ledger.reservoir")] {
            let _ = fs::remove_file(file);
        }
        path
    }

    /// Sends the lines of a file in the last week of a year, and comes back a week later.
    fn year(&self, ledger: &Path, options: &[&str], file: &Path) -> String {
        let days = [LAST_WEEK, LAST_WEEK + 7];
        let [sent, released] = days.map(|day| self.shown(ledger, day, options, file));
        assert_eq!(releases(&sent, &self.pack, 0), 0, "{sent}");
        assert!(sent.ends_with(DUE), "{sent}");
        released
    }

    /// Types a file on one day, and returns the output.
    fn shown(&self, ledger: &Path, day: u32, options: &[&str], file: &Path) -> String {
        printed(run(self.keyboard(ledger, day).args(options).arg(file)))
    }

    fn emoji(&self) -> [&str; 2] {
        ["--emoji", self.emoji.to_str().expect("text")]
    }

    fn keyboard(&self, ledger: &Path, day: u32) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--pack")
            .arg(&self.pack)
            .arg("--candidates")
            .arg(&self.candidates)
            .arg("--ledger")
            .arg(ledger)
            .args(["--day", &day.to_string()]);
        command
    }
}

/// Counts the releases of lines, and checks that each is of the pack and of this epsilon.
fn releases(shown: &str, pack: &Path, epsilon_micro: u32) -> usize {
    releases_by(Mechanism::WholeText, shown, pack, epsilon_micro)
}

fn releases_by(mechanism: Mechanism, shown: &str, pack: &Path, epsilon_micro: u32) -> usize {
    let pack = fs::read(pack).expect("it was just written");
    let pack = Pack::parse(&pack).expect("it was just built");
    let releases = uploads(shown);
    for release in &releases {
        assert_eq!(release.pack_id(), pack.id());
        assert_eq!(release.epsilon().micro(), epsilon_micro);
        assert_eq!(release.mechanism(), mechanism);
    }
    releases.len()
}

/// All that leaves the device.
fn uploads(shown: &str) -> Vec<Release> {
    let lines = shown.lines();
    let digits = lines.filter_map(|line| line.strip_prefix("  leaves the device   "));
    let release = |digits| Release::from_bytes(&from_hex(digits));
    let releases = digits.map(|digits| release(digits).expect("a release leaves, nothing else"));
    releases.collect()
}

fn refusals(shown: &str) -> usize {
    shown
        .lines()
        .filter(|line| line.ends_with("the budget of the day is used up: nothing leaves"))
        .count()
}

/// Remaining budget in the last line about it, in micro-units.
fn left(shown: &str) -> f64 {
    let mut lines = shown.lines().rev();
    lines
        .find_map(|line| line.strip_prefix("  left for the day    epsilon "))
        .expect("there was a release")
        .parse()
        .expect("a number")
}

/// Printed before anything is typed, if a release is due.
const DUE: &str = "  your lines          one is drawn, and its topic leaves after this week\n\n";

#[test]
fn a_year_has_one_release() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("year");
    let typed = example("typed.txt");
    let released = setting.year(&ledger, &[], &typed);
    assert_eq!(
        releases(&released, &setting.pack, 3_000_000),
        1,
        "{released}"
    );
    let mut count = 0;
    // A week more ends the last one.
    for week in 1..=53 {
        let shown = setting.shown(&ledger, LAST_WEEK + 7 * week, &[], &typed);
        assert!(shown.starts_with(PROMISE), "{shown}");
        count += releases(&shown, &setting.pack, 3_000_000);
    }
    assert_eq!(count, 1);
    // A ledger refuses an earlier year.
    let back = setting
        .keyboard(&ledger, LAST_WEEK)
        .arg(typed)
        .output()
        .expect("it was just built");
    assert_eq!(back.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&back.stderr).contains("set the clock right"));
}

/// What is promised for everything that is typed in 52 weeks, and for a line.
const PROMISE: &str =
    "a release protects all lines of 52 weeks by epsilon 3, each line by epsilon 0.175\n";

/// With a form of emoji there is still one release, at the epsilon that is announced before
/// anything is typed. The appointment draws whether it is about the topic or the emoji. All lines
/// are the same and more than the places, so at this epsilon the release names their topic or their
/// first emoji, except with a probability of at most 12·2⁻⁴⁸. A topic and two emoji are not seen
/// with one of 47·2⁻⁴⁵.
#[test]
fn a_topic_or_an_emoji_leaves_once() {
    let Some(setting) = setting() else { return };
    let lines = setting.pack.with_file_name("emoji.txt");
    let form = fs::read(&setting.emoji).expect("it was just written");
    let form = Form::parse(&form).expect("it was just built");
    let [flag, path] = setting.emoji();
    let options = [flag, path, "--epsilon", "200"];
    let days = [LAST_WEEK, LAST_WEEK + 7, LAST_WEEK + 14];
    let (mut topics, mut emoji) = (0, 0);
    while topics == 0 || emoji < 2 {
        assert!(topics + emoji < 45, "{topics} topics, {emoji} emoji");
        // The second time the line has no emoji of the form, and its answer is "no answer".
        let with = emoji == 0;
        let line = KNOWN.replace(".\n", if with { ". 🥰👍\n" } else { ". 🦖\n" });
        fs::write(&lines, line.repeat(101)).expect("the target folder can be written");
        let ledger = setting.ledger("emoji");
        let [sent, released, later] = days.map(|day| setting.shown(&ledger, day, &options, &lines));
        let promise = "a release protects all lines and their emoji of 52 weeks by epsilon 200, ";
        assert!(sent.starts_with(promise), "{sent}");
        assert_eq!(uploads(&sent), [], "{sent}");
        let [release] = uploads(&released)[..] else {
            panic!("{released}");
        };
        assert_eq!(release.epsilon().micro(), 200_000_000);
        let learnt = if sent.contains(", for the topic of a line\n") {
            topics += 1;
            assert_eq!(release.mechanism(), Mechanism::WholeText);
            "health-clinic"
        } else {
            assert!(sent.contains(", for the first emoji of a line\n"), "{sent}");
            emoji += 1;
            assert!(form.read(&release).is_some(), "{release:?}");
            if with { "the emoji 🥰" } else { "no emoji" }
        };
        let learns = format!("  the server learns   {learnt}");
        assert!(released.contains(&learns), "{released}");
        // The next year may be due at once.
        assert!(uploads(&later).is_empty() || released.contains("appointed is week 1,"));
    }
}

/// The pack's table of quality rates releases by the sentence higher at epsilon 1, and a line is
/// protected as a whole nevertheless.
#[test]
fn a_pack_does_not_choose_what_is_protected() {
    let Some(setting) = setting() else { return };
    let pack = setting.pack.with_file_name("hostile.pack");
    let topics = features_pack(&[&["dentist", "doctor"], &["goal", "match"]], true);
    fs::write(&pack, topics).expect("the target folder can be written");
    for epsilon in [1, 3] {
        let ledger = setting.ledger(&format!("hostile-{epsilon}"));
        let [_, shown] = [LAST_WEEK, LAST_WEEK + 7].map(|day| {
            let [pack, epsilon] = [pack.to_str().expect("text"), &epsilon.to_string()];
            let options = ["--pack", pack, "--candidates", "", "--epsilon", epsilon];
            setting.shown(&ledger, day, &options, &example("typed.txt"))
        });
        assert_eq!(releases(&shown, &pack, epsilon * 1_000_000), 1, "{shown}");
    }
}

/// Every finished sentence counts, and every six sentences make a release that protects each of
/// them.
#[test]
fn a_letter_is_released_by_the_sentence() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("letter");
    let every = ["--every", "6"];
    let shown = setting.shown(&ledger, DAY, &every, &example("letter.txt"));
    let promise = shown.lines().next().expect("a promise");
    let start = "each release protects a sentence by epsilon 3, a whole text by epsilon ";
    let whole_text: f64 = promise
        .strip_prefix(start)
        .expect("both promises")
        .parse()
        .expect("a number");
    assert!(whole_text > 10.0, "{promise}");
    let count = releases_by(Mechanism::Scores, &shown, &setting.pack, 3_000_000);
    assert_eq!((count, refusals(&shown)), (3, 1), "{shown}");
}

/// The outcome of an unknown line is "nothing known". Each of the 12 others has a chance of 2⁻⁴⁸,
/// the least possible, at this epsilon. With more lines than places some line is kept.
#[test]
fn unknown_and_known_lines_are_told_apart() {
    let Some(setting) = setting() else { return };
    let lines = setting.pack.with_file_name("lines.txt");
    for (name, line, learnt) in [
        ("unknown", "Здравствуйте!\n\n...\n", "nothing"),
        ("known", KNOWN, "health-clinic"),
    ] {
        let ledger = setting.ledger(name);
        fs::write(&lines, line.repeat(101)).expect("the target folder can be written");
        let shown = setting.year(&ledger, &["--epsilon", "200"], &lines);
        assert!(
            shown.contains(&format!("  the server learns   {learnt}")),
            "{shown}"
        );
    }
}

const KNOWN: &str = "The doctor wants another blood test.\n";

/// A running keyboard and its output.
struct Typing {
    child: Child,
    shown: BufReader<std::process::ChildStdout>,
}

impl Typing {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was just built");
        let shown = BufReader::new(child.stdout.take().expect("it was asked for"));
        Self { child, shown }
    }

    fn type_sentences(&mut self, count: usize) {
        let input = self.child.stdin.as_mut().expect("it was asked for");
        for _ in 0..count {
            input
                .write_all(KNOWN.as_bytes())
                .expect("the keyboard listens");
        }
    }

    /// Reads until a line starts with `start`, and returns what it read.
    fn wait_for(&mut self, start: &str) -> String {
        let (mut all, mut line) = (String::new(), String::new());
        while !line.starts_with(start) {
            line.clear();
            assert_ne!(
                self.shown.read_line(&mut line).expect("text"),
                0,
                "it ended"
            );
            all += &line;
        }
        all
    }

    /// Kills it with `kill -9`; returns the output until then.
    fn kill(mut self) -> String {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was started");
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut self.shown, &mut rest).expect("a pipe");
        String::from_utf8(rest).expect("the program prints text")
    }
}

/// What was drawn survives a kill at any moment, of 101 lines that say the same.
#[test]
fn what_was_drawn_survives_a_kill() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("killed");
    let lines = setting.pack.with_file_name("killed.txt");
    fs::write(&lines, KNOWN.repeat(101)).expect("the target folder can be written");
    let epsilon = ["--epsilon", "200"];
    setting.shown(&ledger, LAST_WEEK, &epsilon, &lines);
    for number in 0..5 {
        let mut typing = Typing::start(setting.keyboard(&ledger, LAST_WEEK).args(epsilon));
        typing.wait_for("  your lines ");
        typing.type_sentences(20);
        std::thread::sleep(Duration::from_micros(300 * number));
        typing.kill();
    }
    let shown = setting.shown(&ledger, LAST_WEEK + 7, &epsilon, &lines);
    assert!(
        shown.contains("  the server learns   health-clinic"),
        "{shown}"
    );
    // What was stored is gone.
    let stored = ledger.with_extension("ledger.reservoir");
    let again = setting.shown(&ledger, LAST_WEEK + 7, &epsilon, &lines);
    assert!(!again.contains("leaves the device"), "{again}");
    assert!(!stored.exists() || again.ends_with(DUE), "{again}");
}

/// A keyboard that is killed at any moment never releases more than its ledger records.
#[test]
fn nothing_leaves_without_its_budget_recorded() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("any-moment");
    let sentences = setting.pack.with_file_name("sentences.txt");
    // At most 20 · 400 releases and 3 more are spent, out of a budget for 10,000.
    fs::write(&sentences, KNOWN.repeat(400)).expect("the target folder can be written");
    let spending = |every: &str| {
        let mut command = setting.keyboard(&ledger, DAY);
        command
            .args(["--budget", "1000", "--epsilon", "0.1", "--every", every])
            .arg(&sentences);
        command
    };
    let kills = 20;
    let mut left_the_device = 0;
    for number in 0..kills {
        let mut typing = Typing::start(&mut spending("1"));
        // Wait for output, not for the clock, so that every machine makes some releases: 3 on
        // average.
        let mut seen = String::new();
        for _ in 0..number % 7 {
            seen += &typing.wait_for("  left for the day    epsilon");
        }
        std::thread::sleep(Duration::from_micros(300 * number));
        // Only the last line may be cut.
        let shown = seen + &typing.kill();
        let whole = shown.rfind('\n').map_or("", |end| &shown[..end]);
        left_the_device += releases_by(Mechanism::Scores, whole, &setting.pack, 100_000);
    }
    let shown = printed(run(&mut spending("128")));
    left_the_device += releases_by(Mechanism::Scores, &shown, &setting.pack, 100_000);
    let recorded = ((1000.0 - left(&shown)) * 10.0).round() as usize;
    println!("{left_the_device} releases were seen, {recorded} are recorded, over {kills} kills");
    assert!(
        left_the_device > 20,
        "the kills came too early to tell anything"
    );
    assert!(
        left_the_device <= recorded,
        "{left_the_device} > {recorded}"
    );
    // A kill can cost a release between its record and its output.
    assert!(recorded <= left_the_device + kills as usize);
}

#[test]
fn of_two_at_once_the_second_is_refused() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("two");
    let mut typing = Typing::start(&mut setting.keyboard(&ledger, DAY));
    typing.wait_for("  your lines ");
    let second = setting
        .keyboard(&ledger, DAY)
        .arg(example("typed.txt"))
        .output()
        .expect("it was just built");
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use"));
    assert_eq!(second.stdout, b"");
    typing.kill();
    setting.shown(&ledger, DAY, &[], &example("typed.txt"));
}

/// At a terminal each line is a message, and its sentences are finished.
#[test]
fn at_a_terminal_a_line_is_finished() {
    let Some(setting) = setting() else { return };
    if !have("script", "bsdutils") {
        return;
    }
    let ledger = setting.ledger("terminal");
    let mut command = setting.keyboard(&ledger, DAY);
    command.args(["--every", "2"]);
    let line: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| format!("'{}'", part.to_str().expect("text")))
        .collect();
    let mut terminal =
        Typing::start(Command::new("script").args(["-qec", &line.join(" "), "/dev/null"]));
    terminal.wait_for("Type; a line is a message.");
    terminal.type_sentences(2);
    terminal.wait_for("  left for the day    epsilon 6");
    terminal.kill();
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_spent() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("wrong");
    let other = setting.pack.with_file_name("other.tsv");
    fs::write(&other, "# pack 0000000000000000\n").expect("the target folder can be written");
    let refuse = |arguments: &[&str], code: i32, message: &str| {
        let output = setting
            .keyboard(&ledger, DAY)
            .args(arguments)
            .output()
            .expect("it was just built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(message), "{arguments:?}: {said}");
        assert_eq!(output.stdout, b"");
    };
    for usage in [
        &["--every", "0"][..],
        &["--every", "129"],
        &["--every", "1x"],
        &["--day", "-1"],
        &["--every"],
        &["--colour", "red"],
        &["--emoji", "any.form", "--every", "6"],
        &["one", "two"],
    ] {
        refuse(usage, 2, "usage:");
    }
    refuse(&["--epsilon", "much"], 2, "--epsilon much");
    refuse(&["--budget", "0"], 2, "--budget 0");
    refuse(&["--pack", "/no/such.pack"], 1, "/no/such.pack");
    let other = other.to_str().expect("text");
    refuse(&["--pack", other], 1, "pack");
    assert!(!ledger.exists());
    refuse(&["--candidates", other], 1, "not of this pack");
    let golden = ["golden.pack", "golden.form"].map(|name| root().join("tests/golden").join(name));
    let [depth, several] = golden.each_ref().map(|path| path.to_str().expect("text"));
    let depth = ["--pack", depth, "--candidates", ""];
    refuse(&depth, 1, "the pack selects by depth");
    refuse(&["--emoji", several], 1, "make a form with one");
    refuse(&["--emoji", "/no/such.form"], 1, "/no/such.form");
    refuse(&["/no/such/text"], 1, "cannot read /no/such/text");
    let nowhere = "/no/such/folder/ledger";
    refuse(&["--ledger", nowhere], 1, nowhere);
}

/// The output without its random parts: the release, and the topic with its excerpt.
fn masked(shown: &str) -> Vec<String> {
    let mask = |line: &str| match line.get(..22) {
        Some(
            start @ ("  leaves the device   "
            | "  the server learns   "
            | "  week of the year    "
            | "  your lines          "),
        ) => start.to_owned(),
        _ => line.to_owned(),
    };
    shown.trim_end().lines().map(mask).collect()
}

#[test]
fn the_readme_shows_real_output() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("readme");
    let readme = fs::read_to_string(example("README.md")).expect("the README is there");
    let printed: Vec<&str> = readme
        .split("```text\n")
        .skip(1)
        .map(|block| block.split("```").next().expect("a first part"))
        .collect();
    // The last line is the server's, of random releases.
    assert_eq!(printed.len(), 4);
    let letters = setting.ledger("readme-letter");
    let [emoji, form] = setting.emoji();
    let letter = ["--every", "6", "letter.txt"];
    let runs = [
        (&ledger, LAST_WEEK, &[emoji, form, "typed.txt"][..]),
        (&ledger, LAST_WEEK + 7, &[emoji, form, "typed.txt"]),
        (&letters, LAST_WEEK, &letter),
    ];
    for (shown, (ledger, day, arguments)) in printed.into_iter().zip(runs) {
        let (file, options) = arguments.split_last().expect("a file");
        let real = setting.shown(ledger, day, options, &example(file));
        assert_eq!(masked(shown), masked(&real));
    }
}
