//! A ledger on a real disk: two processes, a killed process, and the command line.
//!
//! Chance: false alarm none, miss none. Kills come at any time; the kills of `killed_processes…`
//! come after at least 108 grants in total.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use common::{Folder, contains, json, within_a_day};
use undertone::error::{Error, ErrorKind, Result};
use undertone::release::ledger::LedgerFile;
use undertone_core::epsilon::{Epsilon, MICRO};
use undertone_core::ledger::LedgerError;
use undertone_core::unit::Unit;

/// Environment variable with the path of the ledger of [`spends_until_it_is_killed`].
const LEDGER: &str = "UNDERTONE_TEST_LEDGER";

/// Runs one test at a time: between fork and exec, a child process holds the locks of this one.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn epsilon(text: &str) -> Epsilon {
    text.parse().expect("an epsilon")
}

fn open(path: impl AsRef<Path>, budget: &str) -> Result<LedgerFile> {
    LedgerFile::open_or_create(path, Unit::Sentence, epsilon(budget))
}

/// The error of a ledger that does not open.
fn refusal(path: impl AsRef<Path>) -> Error {
    open(path, "5").unwrap_err()
}

/// The budget left in a window of `day.ledger`, in micro-units.
fn left(folder: &Folder, unit: Unit, budget: &str, window: u64) -> u64 {
    let ledger = LedgerFile::open_or_create(folder.join("day.ledger"), unit, epsilon(budget));
    ledger.unwrap().remaining(window).unwrap()
}

/// Body of the process that [`child`] starts, not a test: prints that the ledger is open, then
/// spends micro-units and prints a line for each grant.
#[test]
fn spends_until_it_is_killed() {
    let Some(path) = std::env::var_os(LEDGER) else {
        return;
    };
    let mut ledger = open(path, "1000").expect("a ledger");
    let mut out = std::io::stderr().lock();
    writeln!(out, "open").expect("the parent listens");
    loop {
        let grant = ledger
            .spend(epsilon("0.000001"), 1)
            .expect("a large budget");
        writeln!(out, "granted {}", grant.epsilon().micro()).expect("the parent listens");
    }
}

/// Starts this program as a child process.
fn child(path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("a program"))
        .args(["--exact", "spends_until_it_is_killed", "--nocapture"])
        .env(LEDGER, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs")
}

/// Kills the child after `lines` lines and then `pause`. Returns the micro-units that it reported
/// as granted.
fn kill_after(mut child: Child, lines: usize, pause: Duration) -> u64 {
    let mut reader = BufReader::new(child.stderr.take().expect("piped"));
    let mut text = String::new();
    for _ in 0..lines {
        reader.read_line(&mut text).expect("text");
    }
    thread::sleep(pause);
    child.kill().expect("it runs");
    child.wait().expect("it is gone");
    // Lines that the child wrote before the kill.
    reader.read_to_string(&mut text).expect("text");
    text.lines().filter(|line| *line == "granted 1").count() as u64
}

#[test]
fn killed_processes_leave_a_ledger_that_knows_every_grant() {
    let _alone = alone();
    let folder = Folder::new();
    let path = folder.join("a.ledger");
    let mut said = 0;
    for round in 0..20 {
        // Some kills come before the ledger is open, others later.
        let lines = [0, 0, 1, 2, 7, 30][round % 6];
        let pause = Duration::from_micros(300 * (round as u64 % 11));
        said += kill_after(child(&path), lines, pause);
        let ledger = open(&path, "1000").expect("a whole ledger");
        let spent = u64::from(Epsilon::MAX.micro()) - ledger.remaining(1).expect("this window");
        assert!(spent >= said, "{spent} known, {said} granted");
        // Each kill may add the one grant that was being written.
        let most = said + round as u64 + 1;
        assert!(spent <= most, "{spent} known, {said} granted");
    }
    assert!(said > 100, "{said}");
}

#[test]
fn one_process_at_a_time() {
    let _alone = alone();
    let folder = Folder::new();
    let path = folder.join("a.ledger");
    let mut first = child(&path);
    let mut reader = BufReader::new(first.stderr.take().expect("piped"));
    let mut line = String::new();
    while line != "open\n" {
        line.clear();
        assert!(reader.read_line(&mut line).expect("text") > 0, "it ended");
    }
    let error = open(&path, "1000").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    contains(&error.to_string(), &["in use by another process"]);
    // The system frees the lock when the process ends, for whatever reason.
    drop(reader);
    first.kill().unwrap();
    first.wait().unwrap();
    let held = open(&path, "1000").expect("unlocked");
    let again = open(&path, "1000");
    assert_eq!(again.err().unwrap().kind(), ErrorKind::InUse);
    drop(held);
    open(&path, "1000").expect("unlocked");
}

/// Processes that create the same ledger at once: one file is made, and all that open it spend from
/// it.
#[test]
fn ledgers_made_at_once_are_one() {
    let _alone = alone();
    let folder = Folder::new();
    let path = folder.join("a.ledger");
    let granted: u64 = thread::scope(|scope| {
        let spend = || match open(&path, "5") {
            Ok(mut ledger) => ledger.spend(epsilon("1"), 1).map_or(0, |_| 1),
            Err(error) if error.kind() == ErrorKind::InUse => 0,
            Err(error) => panic!("{error}"),
        };
        let threads = [(); 8].map(|()| scope.spawn(spend));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert!(granted >= 1);
    let ledger = open(&path, "5").expect("unlocked");
    let remaining = (5 - granted.min(5)) * u64::from(MICRO);
    assert_eq!(ledger.remaining(1).unwrap(), remaining);
    assert_eq!(folder.names(), [path]);
}

#[test]
fn files_that_are_no_ledger_stay_as_they_are() {
    let _alone = alone();
    let folder = Folder::new();
    let path = folder.join("a.ledger");
    let mut ledger = open(&path, "5").unwrap();
    let _grant = ledger.spend(epsilon("2"), 7).unwrap();
    drop(ledger);
    let error = open(&path, "5.5").unwrap_err();
    contains(&error.to_string(), &["a budget of epsilon 5, not 5.5"]);
    let good = fs::read(&path).unwrap();
    for length in (0..130).filter(|length| *length != good.len()) {
        let bytes: Vec<u8> = good.iter().chain(&[0; 2]).copied().take(length).collect();
        fs::write(&path, &bytes).unwrap();
        let error = refusal(&path);
        let found = length.min(129);
        let is_it = matches!(error.cause(), Some(LedgerError::Length { found: n }) if *n == found);
        assert!(is_it, "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, [7; 128]).unwrap();
    contains(&refusal(&path).to_string(), &["not a ledger"]);
    for path in [folder.to_path_buf(), folder.join("no/a.ledger")] {
        assert_eq!(refusal(path).kind(), ErrorKind::Io);
    }

    // The file changes while it is open and locked, by a program that ignores the lock.
    fs::write(&path, &good).unwrap();
    let mut ledger = open(&path, "5").unwrap();
    let mut changed = good.clone();
    changed[100] ^= 1;
    fs::write(&path, changed).unwrap();
    let mut refused = |amount, window, part| {
        let error = ledger.spend(epsilon(amount), window).unwrap_err();
        contains(&error.to_string(), &[part]);
    };
    refused("1", 7, "another program wrote");
    fs::write(&path, good).unwrap();
    refused(
        "3.5",
        7,
        "epsilon 3 is left in this window, but 3.5 is needed",
    );
    refused("1", 6, "set the clock right");
    let _grant = ledger.spend(epsilon("3"), 7).expect("exactly what is left");
    assert_eq!(ledger.remaining(7).unwrap(), 0);
}

/// Arguments of `privatize` with a ledger.
fn run(budget: &str, epsilon: &str) -> String {
    let privatize = "privatize --pack a.pack --in texts.tsv --out r.jsonl --ledger day.ledger";
    format!("{privatize} --epsilon {epsilon} --budget {budget}")
}

#[test]
fn privatize_spends_a_budget_for_each_day() {
    let _alone = alone();
    // Midnight starts a new window, which would release the first three documents again.
    within_a_day(a_budget_for_each_day);
}

/// Checks what `ledger` prints for a budget of 3.5 of which 3 is spent on this day.
fn shows_what_is_left(folder: &Folder, day: u64) {
    let before = folder.bytes("day.ledger");
    let shown = folder.succeed("ledger day.ledger");
    let rows = [
        "unit     whole-text",
        "budget   3.5",
        "spent    3\n",
        "left     0.5",
    ];
    contains(&shown, &rows);
    let shown = json(folder.succeed(format!("ledger day.ledger --json --window {}", day + 1)));
    assert_eq!(shown["unit"], "whole-text");
    let numbers = ["left_micro", "spent_micro", "window"].map(|name| &shown[name]);
    assert_eq!(numbers, [3_500_000, 0, day + 1]);
    folder.fail("ledger day.ledger --window 1", &["set the clock right"]);
    folder.fail("ledger texts.tsv", &["texts.tsv", "128 bytes"]);
    assert_eq!(folder.bytes("day.ledger"), before);
}

fn a_budget_for_each_day(day: u64) {
    let folder = Folder::new();
    let text = |n: usize| format!("{}\tThe soup needs salt. Our team lost {n} times.\n", n % 2);
    folder.write("texts.tsv", (0..5).map(text).collect::<String>());
    folder.succeed("pack --corpus texts.tsv --out a.pack");
    // `--ledger` and `--budget` require each other.
    for (option, other) in [
        (" --budget 3", "--budget"),
        (" --ledger day.ledger", "--ledger"),
    ] {
        folder.fail(run("3", "1").replace(option, ""), &[other]);
    }
    assert!(!folder.join("day.ledger").exists());

    let arguments = run("3.5", "1");
    let parts = [
        "day.ledger",
        "epsilon 0.5 is left in this window, but 1 is needed",
        "3 of 5 documents are released; they are in `r.jsonl`",
        "The same command goes on with the others",
        "r.jsonl.",
        ".partial` for it",
    ];
    assert_eq!(
        folder.fail(&arguments, &parts),
        Some(4),
        "the budget is used up"
    );
    // Paid releases are in the output, and the next run resumes from a partial file of its own.
    assert_eq!(folder.count("r.jsonl"), 3);
    let partial = folder.partial("r.jsonl").expect("three lines");
    assert_eq!(folder.count(&partial), 3);
    let parts = [
        "resuming: 3 documents",
        "epsilon 0.5 is left",
        "3 of 5 documents",
    ];
    assert_eq!(folder.fail(&arguments, &parts), Some(4));
    assert_eq!(folder.count("r.jsonl"), 3);
    // One document costs more than the budget of any day.
    let parts = ["--budget is 0.5", "what one document costs"];
    assert_eq!(folder.fail(run("0.5", "1"), &parts), Some(1));
    folder.fail(run("4", "1"), &["a budget of epsilon 3.5, not 4"]);
    let path = folder.join("day.ledger");
    let held = LedgerFile::open_or_create(path, Unit::WholeText, epsilon("3.5")).unwrap();
    assert_eq!(held.remaining(day).unwrap(), 500_000);
    folder.fail(&arguments, &["in use by another process"]);
    drop(held);
    // A ledger is for one unit of privacy; another unit requires another ledger.
    let sentence = format!("{arguments} --rule permute-and-flip");
    let parts = ["day.ledger", "\"sentence\"", "\"whole-text\""];
    folder.fail(&sentence, &parts);
    shows_what_is_left(&folder, day);
    // Paid releases are never deleted for another run. Once the user moves them away, all documents
    // are released anew.
    let smaller = run("3.5", "0.1");
    let name = partial.file_name().unwrap().to_str().unwrap();
    folder.refuse(&smaller, &[name, "move the file away"]);
    assert_eq!(folder.count(&partial), 3);
    fs::rename(&partial, folder.join("paid.jsonl")).unwrap();
    folder.succeed(&smaller);
    assert_eq!(folder.count("r.jsonl"), 5);
    assert_eq!(left(&folder, Unit::WholeText, "3.5", day), 0);
}

/// The releases inside a smaller --limit were paid for, and so were those beyond it.
#[test]
fn a_smaller_limit_spends_nothing() {
    let _alone = alone();
    within_a_day(|day| {
        let folder = Folder::new();
        let text = "Food\tThe soup needs salt.\nBall\tOur team lost.\n".repeat(3);
        folder.write("texts.tsv", text);
        folder.succeed("pack --corpus texts.tsv --out a.pack");
        let all = run("4", "1");
        assert_eq!(folder.run(&all).status.code(), Some(4));
        let paid = folder.text("r.jsonl");
        assert_eq!(paid.lines().count(), 4);
        let waiting = folder.partial("r.jsonl").expect("four lines");
        for limit in ["2", "3", "2"] {
            folder.succeed(format!("{all} --limit {limit}"));
            let first = folder.text("r.jsonl");
            assert_eq!(first.lines().count().to_string(), limit);
            assert!(paid.starts_with(&first), "a release was drawn again");
            assert_eq!(fs::read_to_string(&waiting).unwrap(), paid);
        }
        assert_eq!(folder.run(&all).status.code(), Some(4));
        assert_eq!(folder.text("r.jsonl"), paid);
        assert_eq!(left(&folder, Unit::WholeText, "4", day), 0);
    });
}

#[test]
fn a_new_ledger_is_for_its_owner_alone() {
    let _alone = alone();
    let folder = Folder::new();
    let [made, anew] = ["made", "anew"].map(|name| folder.join(name));
    open(&made, "5").unwrap();
    LedgerFile::recreate_spent(&anew, Unit::Sentence, epsilon("5"), 1, None).unwrap();
    for path in [made, anew] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_ledger_is_recreated_and_its_day_is_spent() {
    let _alone = alone();
    within_a_day(is_recreated);
}

fn is_recreated(day: u64) {
    let folder = Folder::new();
    let path = folder.join("day.ledger");
    let recreate = "ledger day.ledger --recreate-spent --unit sentence --budget 10";
    folder.refuse_all(
        "ledger day.ledger",
        "--recreate-spent => --unit
        --recreate-spent --unit sentence => --budget
        --recreate-spent --budget 10 => --unit
        --unit sentence --budget 10 => --unit",
    );
    let is_spent = || {
        let [shown, notes] = folder.done(recreate);
        let part = format!("`day.ledger` is recreated: window {day} counts as spent");
        contains(&notes, &[&part]);
        let rows = [
            "unit     sentence",
            "budget   10 ",
            "spent    10\n",
            "left     0\n",
        ];
        contains(&shown, &rows);
        let left = |window| left(&folder, Unit::Sentence, "10", window);
        assert_eq!([left(day), left(day + 1)], [0, 10_000_000]);
    };
    let show = "ledger day.ledger";
    // A ledger that is lost, empty, cut, damaged or whole.
    is_spent();
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    damaged[104] ^= 1;
    for bytes in [&b""[..], &whole[..70], &damaged, &whole] {
        fs::write(&path, bytes).unwrap();
        if bytes != whole {
            let parts = [
                "recreate the ledger with this window counted as spent",
                "to recreate it: `undertone release recreate-ledger LEDGER --unit UNIT --budget EPSILON`",
            ];
            folder.fail(show, &parts);
        }
        is_spent();
    }
    // A file that is no ledger is never overwritten, whatever its length.
    for bytes in [
        &b"soup\nsalt\n"[..],
        &[7; 128],
        &[&whole[..], &[0; 4872]].concat(),
    ] {
        fs::write(&path, bytes).unwrap();
        let parts = [
            "cannot write `day.ledger`",
            "no ledger",
            "move this file away",
        ];
        folder.refuse(recreate, &parts);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    folder.fail(show, &["128 bytes, but this file has 5000"]);
    contains(&refusal(&path).to_string(), &["this file has 5000"]);
    // A clock that was ahead left a ledger of a later day: it refuses today and can be recreated.
    fs::remove_file(&path).unwrap();
    let mut later = open(&path, "10").unwrap();
    let _grant = later.spend(epsilon("10"), day + 3).unwrap();
    drop(later);
    let parts = ["set the clock right", "recreate-ledger"];
    folder.fail(show, &parts);
    is_spent();
    assert!(!folder.notes(recreate).contains("was of window"));
    // Windows that are not days, as `release lines` has.
    let year = format!("{recreate} --window 57");
    let part = format!("was of window {day}, and now window 57");
    contains(&folder.notes(year), &[&part]);
    let left = |window| left(&folder, Unit::Sentence, "10", window);
    assert_eq!([left(57), left(58)], [0, 10_000_000]);
    // Pipes are refused; opening one would wait for ever.
    folder.remove("day.ledger");
    folder.pipe("day.ledger");
    folder.refuse(recreate, &["regular file"]);
    contains(&refusal(&path).to_string(), &["regular file"]);
    folder.fail(show, &["regular file"]);
}

/// A bag costs its epsilon for each of its words.
#[test]
fn obfuscate_spends_for_each_word() {
    let _alone = alone();
    within_a_day(bags_of_a_budget);
}

fn bags_of_a_budget(day: u64) {
    let folder = Folder::new();
    let text = |n: usize| format!("{}\tThe soup needs salt. Our team lost.\n", n % 2);
    folder.write("texts.tsv", (0..5).map(text).collect::<String>());
    folder.write("v.txt", "soup 1 0\nsalt 0 1\nteam 1 1\n");
    folder.succeed("vocabulary --vectors v.txt --out a.pack");
    let bags = |budget| {
        let bags = "obfuscate --pack a.pack --epsilon 0.5 --words 3 --in texts.tsv --out b.jsonl";
        folder.fail(
            format!("{bags} --ledger day.ledger --budget {budget}"),
            &["error:"],
        )
    };
    assert_eq!(bags("1.4"), Some(1), "a bag costs 1.5");
    assert!(!folder.join("day.ledger").exists());
    for _ in 0..2 {
        // The budget pays for three bags of 1.5; the second run prints the same three.
        assert_eq!(bags("5"), Some(4));
        assert_eq!(folder.count("b.jsonl"), 3);
    }
    assert_eq!(left(&folder, Unit::Word, "5", day), 500_000);
}
