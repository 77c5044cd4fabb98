//! The example `ffi/examples/keyboard`, built and used as its README describes.
//!
//! Chance: false alarm 10⁻¹², miss none. See `unknown_and_known_lines…`; other releases are only
//! checked for their form and number. Kills come at any time.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{STRICT, assert_sanitized, have, output_dir, root, run, static_library};
use undertone::demo;
use undertone_core::pack::Pack;
use undertone_core::release::{Mechanism, Release};
use undertone_tests::packs::features_pack;

const DAY: &str = "20000";

fn example(name: &str) -> PathBuf {
    root().join("ffi/examples/keyboard").join(name)
}

/// The program under sanitizers, a pack, and the output of `undertone inspect` for it.
struct Setting {
    program: PathBuf,
    pack: PathBuf,
    candidates: PathBuf,
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
        let program = folder.join("keyboard");
        run(Command::new("g++")
            .args(STRICT)
            .args(["-std=c++17", "-g", "-fsanitize=address,undefined"])
            .arg("-fno-sanitize-recover=all")
            .arg("-I")
            .arg(root().join("include"))
            .arg(example("keyboard.cpp"))
            .arg(static_library())
            .arg("-o")
            .arg(&program));
        assert_sanitized(&program);
        let built = demo::build(1).expect("the demo corpus is public and fine");
        let (pack, candidates) = (folder.join("demo.pack"), folder.join("demo.candidates.tsv"));
        fs::write(&pack, &built.pack).expect("the target folder can be written");
        fs::write(&candidates, built.candidates.list()).expect("the target folder can be written");
        Some(Setting {
            program,
            pack,
            candidates,
        })
    };
    SETTING.get_or_init(make).as_ref()
}

impl Setting {
    /// Path of a ledger that does not exist.
    fn ledger(&self, name: &str) -> PathBuf {
        let path = self.pack.with_file_name(format!("{name}.ledger"));
        let _ = fs::remove_file(&path);
        path
    }

    fn keyboard(&self, ledger: &Path, day: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--pack")
            .arg(&self.pack)
            .arg("--candidates")
            .arg(&self.candidates)
            .arg("--ledger")
            .arg(ledger)
            .args(["--day", day]);
        command
    }
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the program prints text")
}

/// Counts the releases of lines, and checks that each is of the pack and of this epsilon.
fn releases(shown: &str, pack: &Path, epsilon_micro: u32) -> usize {
    releases_by(Mechanism::WholeText, shown, pack, epsilon_micro)
}

fn releases_by(mechanism: Mechanism, shown: &str, pack: &Path, epsilon_micro: u32) -> usize {
    let pack = fs::read(pack).expect("it was just written");
    let pack = Pack::parse(&pack).expect("it was just built");
    let mut count = 0;
    for line in shown.lines() {
        if let Some(bytes) = line.strip_prefix("  leaves the device   ") {
            let bytes: Vec<u8> = (0..bytes.len() / 2)
                .map(|i| u8::from_str_radix(&bytes[2 * i..2 * i + 2], 16).expect("hexadecimal"))
                .collect();
            let release = Release::from_bytes(&bytes).expect("a release leaves, nothing else");
            assert_eq!(release.pack_id(), pack.id());
            assert_eq!(release.epsilon().micro(), epsilon_micro);
            assert_eq!(release.mechanism(), mechanism);
            count += 1;
        }
    }
    count
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

#[test]
fn a_day_has_one_budget() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("day");
    let shown = text(&run(setting
        .keyboard(&ledger, DAY)
        .arg(example("typed.txt"))));
    assert!(shown.starts_with(PROMISE), "{shown}");
    assert_eq!(releases(&shown, &setting.pack, 3_000_000), 3, "{shown}");
    assert_eq!(refusals(&shown), 3, "{shown}");
    assert_eq!(left(&shown), 0.0);

    // Later on the same day nothing is left, and a larger budget does not change that.
    let again = text(&run(setting
        .keyboard(&ledger, DAY)
        .args(["--budget", "100"])
        .arg(example("typed.txt"))));
    assert_eq!(releases(&again, &setting.pack, 3_000_000), 0, "{again}");
    assert_eq!(refusals(&again), 6, "{again}");

    // The next day has a budget again.
    let next = text(&run(setting
        .keyboard(&ledger, "20001")
        .arg(example("typed.txt"))));
    assert_eq!(releases(&next, &setting.pack, 3_000_000), 3, "{next}");

    // A ledger refuses an earlier day.
    let back = setting
        .keyboard(&ledger, DAY)
        .arg(example("typed.txt"))
        .output()
        .expect("it was just built");
    assert_eq!(back.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&back.stderr).contains("set the clock right"));
    assert_eq!(releases(&text(&back), &setting.pack, 3_000_000), 0);
}

/// The unit that a line is protected by.
const PROMISE: &str =
    "each release protects a sentence by epsilon 3, a whole text by epsilon 3\n\n";

/// The pack's table of quality rates releases by the sentence higher at epsilon 1, and a line is
/// protected as a whole nevertheless.
#[test]
fn a_pack_does_not_choose_what_is_protected() {
    let Some(setting) = setting() else { return };
    let pack = setting.pack.with_file_name("hostile.pack");
    let topics = features_pack(&[&["dentist", "doctor"], &["goal", "match"]], true);
    fs::write(&pack, topics).expect("the target folder can be written");
    for epsilon in [1, 3] {
        let mut command = Command::new(&setting.program);
        let shown = text(&run(command
            .arg("--pack")
            .arg(&pack)
            .arg("--ledger")
            .arg(setting.ledger(&format!("hostile-{epsilon}")))
            .args(["--day", DAY, "--epsilon", &epsilon.to_string()])
            .arg(example("typed.txt"))));
        assert!(releases(&shown, &pack, epsilon * 1_000_000) >= 3, "{shown}");
    }
}

/// Every finished sentence counts, and every six sentences make a release that protects each of
/// them.
#[test]
fn a_letter_is_released_by_the_sentence() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("letter");
    let shown = text(&run(setting
        .keyboard(&ledger, DAY)
        .args(["--every", "6"])
        .arg(example("letter.txt"))));
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
/// the least possible, at this epsilon: 10⁻¹² for three lines.
#[test]
fn unknown_and_known_lines_are_told_apart() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("unknown");
    let lines = setting.pack.with_file_name("lines.txt");
    // An empty line is not sent.
    fs::write(
        &lines,
        "Здравствуйте!\n\nThe doctor wants a blood test.\n...\n",
    )
    .expect("the target folder can be written");
    let shown = text(&run(setting
        .keyboard(&ledger, DAY)
        .args(["--epsilon", "200", "--budget", "600"])
        .arg(lines)));
    let start = "  the server learns   ";
    let learnt: Vec<&str> = shown
        .lines()
        .filter_map(|l| l.strip_prefix(start))
        .collect();
    let [first, second, third] = learnt[..] else {
        panic!("not three lines: {shown}");
    };
    assert!(
        first.starts_with("nothing") && third.starts_with("nothing"),
        "{shown}"
    );
    assert!(second.starts_with("health-clinic"), "{shown}");
}

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
                .write_all(b"The doctor wants another blood test.\n")
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

#[test]
fn what_was_spent_survives_a_kill() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("killed");
    let mut typing = Typing::start(&mut setting.keyboard(&ledger, DAY));
    // Two releases, and a line that is typed but not sent.
    typing.type_sentences(2);
    typing.wait_for("  left for the day    epsilon 6");
    typing.wait_for("  left for the day    epsilon 3");
    let input = typing.child.stdin.as_mut().expect("it was asked for");
    input
        .write_all(b"The doctor")
        .expect("the keyboard listens");
    typing.kill();
    let shown = text(&run(setting
        .keyboard(&ledger, DAY)
        .arg(example("typed.txt"))));
    assert_eq!(releases(&shown, &setting.pack, 3_000_000), 1, "{shown}");
    assert_eq!(refusals(&shown), 5, "{shown}");
}

/// A keyboard that is killed at any moment never releases more than its ledger records.
#[test]
fn nothing_leaves_without_its_budget_recorded() {
    let Some(setting) = setting() else { return };
    let ledger = setting.ledger("any-moment");
    let sentences = setting.pack.with_file_name("sentences.txt");
    // At most 20 · 400 releases and 3 more are spent, out of a budget for 10,000.
    fs::write(
        &sentences,
        "The doctor wants another blood test.\n".repeat(400),
    )
    .expect("the target folder can be written");
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
    let shown = text(&run(&mut spending("128")));
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
    typing.type_sentences(1);
    typing.wait_for("  left for the day    epsilon 6");
    let second = setting
        .keyboard(&ledger, DAY)
        .arg(example("typed.txt"))
        .output()
        .expect("it was just built");
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use"));
    assert_eq!(second.stdout, b"");
    typing.kill();
    let shown = text(&run(setting
        .keyboard(&ledger, DAY)
        .arg(example("typed.txt"))));
    assert_eq!(releases(&shown, &setting.pack, 3_000_000), 2, "{shown}");
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
        &["one", "two"],
    ] {
        refuse(usage, 2, "usage:");
    }
    refuse(&["--epsilon", "much"], 2, "--epsilon much");
    refuse(&["--budget", "0"], 2, "--budget 0");
    refuse(&["--pack", "/no/such.pack"], 1, "/no/such.pack");
    refuse(&["--pack", other.to_str().expect("text")], 1, "pack");
    assert!(!ledger.exists());
    refuse(
        &["--candidates", other.to_str().expect("text")],
        1,
        "not of this pack",
    );
    let depth = root().join("tests/golden/golden.pack");
    let depth = depth.to_str().expect("text");
    refuse(
        &["--pack", depth, "--candidates", ""],
        1,
        "the pack selects by depth",
    );
    refuse(&["/no/such/text"], 1, "cannot read /no/such/text");
    refuse(
        &["--ledger", "/no/such/folder/ledger"],
        1,
        "/no/such/folder/ledger",
    );
}

/// The output without its random parts: the release, and the topic with its excerpt.
fn masked(shown: &str) -> Vec<String> {
    let mask = |line: &str| match line.get(..22) {
        Some(start @ ("  leaves the device   " | "  the server learns   ")) => start.to_owned(),
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
    let letter = ["--every", "6", "letter.txt"];
    let runs = [
        (&ledger, &["typed.txt"][..]),
        (&ledger, &["typed.txt"]),
        (&letters, &letter),
    ];
    for (shown, (ledger, arguments)) in printed.into_iter().zip(runs) {
        let (file, options) = arguments.split_last().expect("a file");
        let real = text(&run(setting
            .keyboard(ledger, DAY)
            .args(options)
            .arg(example(file))));
        assert_eq!(masked(shown), masked(&real));
    }
}
