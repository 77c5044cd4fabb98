//! A ledger on a real disk: two processes, a killed process, and the command line.
//!
//! Chance: false alarm none, miss none. Kills come at any time; the kills of `killed_processes…`
//! come after at least 108 grants in total.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use common::{contains, names, refuse, refuse_all, refused, succeed, undertone, within_a_day};
use undertone::error::ErrorKind;
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

/// Body of the process that [`child`] starts, not a test: prints that the ledger is open, then
/// spends micro-units and prints a line for each grant.
#[test]
fn spends_until_it_is_killed() {
    let Some(path) = std::env::var_os(LEDGER) else {
        return;
    };
    let mut ledger =
        LedgerFile::open_or_create(path, Unit::Sentence, Epsilon::MAX).expect("a ledger");
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
    let mut line = String::new();
    let mut text = String::new();
    for _ in 0..lines {
        line.clear();
        reader.read_line(&mut line).expect("text");
        text += &line;
    }
    thread::sleep(pause);
    child.kill().expect("it runs");
    child.wait().expect("it is gone");
    // Lines that the child wrote before the kill.
    for line in reader.lines() {
        text += &line.expect("text");
        text.push('\n');
    }
    text.lines().filter(|line| *line == "granted 1").count() as u64
}

#[test]
fn killed_processes_leave_a_ledger_that_knows_every_grant() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ledger");
    let mut said = 0;
    for round in 0..20 {
        // Some kills come before the ledger is open, others later.
        let lines = [0, 0, 1, 2, 7, 30][round % 6];
        let pause = Duration::from_micros(300 * (round as u64 % 11));
        said += kill_after(child(&path), lines, pause);
        let ledger = LedgerFile::open_or_create(&path, Unit::Sentence, Epsilon::MAX)
            .expect("a whole ledger");
        let spent = u64::from(Epsilon::MAX.micro()) - ledger.remaining(1).expect("this window");
        assert!(spent >= said, "{spent} known, {said} granted");
        // Each kill may add the one grant that was being written.
        assert!(
            spent <= said + round as u64 + 1,
            "{spent} known, {said} granted"
        );
    }
    assert!(said > 100, "{said}");
}

#[test]
fn one_process_at_a_time() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ledger");
    let mut first = child(&path);
    let mut reader = BufReader::new(first.stderr.take().expect("piped"));
    let mut line = String::new();
    while line != "open\n" {
        line.clear();
        assert!(reader.read_line(&mut line).expect("text") > 0, "it ended");
    }
    let error = LedgerFile::open_or_create(&path, Unit::Sentence, Epsilon::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    assert!(
        error.to_string().contains("in use by another process"),
        "{error}"
    );
    // The system frees the lock when the process ends, for whatever reason.
    drop(reader);
    first.kill().unwrap();
    first.wait().unwrap();
    let held = LedgerFile::open_or_create(&path, Unit::Sentence, Epsilon::MAX).expect("unlocked");
    let again = LedgerFile::open_or_create(&path, Unit::Sentence, Epsilon::MAX);
    assert_eq!(again.err().unwrap().kind(), ErrorKind::InUse);
    drop(held);
    LedgerFile::open_or_create(&path, Unit::Sentence, Epsilon::MAX).expect("unlocked");
}

/// Processes that create the same ledger at once: one file is made, and all that open it spend from
/// it.
#[test]
fn ledgers_made_at_once_are_one() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ledger");
    let granted: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let opened = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5"));
                    let mut ledger = match opened {
                        Ok(ledger) => ledger,
                        Err(error) if error.kind() == ErrorKind::InUse => return 0,
                        Err(error) => panic!("{error}"),
                    };
                    ledger.spend(epsilon("1"), 1).map_or(0, |_| 1)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert!(granted >= 1);
    let ledger = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5")).expect("unlocked");
    let remaining = (5 - granted.min(5)) * u64::from(MICRO);
    assert_eq!(ledger.remaining(1).unwrap(), remaining);
    assert_eq!(names(folder.path()), [path]);
}

#[test]
fn files_that_are_no_ledger_stay_as_they_are() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ledger");
    let mut ledger = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5")).unwrap();
    let _grant = ledger.spend(epsilon("2"), 7).unwrap();
    drop(ledger);
    let error = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5.5")).unwrap_err();
    assert!(
        error.to_string().contains("a budget of epsilon 5, not 5.5"),
        "{error}"
    );
    let good = fs::read(&path).unwrap();
    for length in (0..130).filter(|length| *length != good.len()) {
        let bytes: Vec<u8> = good.iter().chain(&[0; 2]).copied().take(length).collect();
        fs::write(&path, &bytes).unwrap();
        let error = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5")).unwrap_err();
        let found = length.min(129);
        assert!(
            matches!(error.cause(), Some(LedgerError::Length { found: n }) if *n == found),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, [7; 128]).unwrap();
    let error = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5")).unwrap_err();
    assert!(error.to_string().contains("not a ledger"), "{error}");
    let error =
        LedgerFile::open_or_create(folder.path(), Unit::Sentence, epsilon("5")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let error = LedgerFile::open_or_create(
        folder.path().join("no/a.ledger"),
        Unit::Sentence,
        epsilon("5"),
    );
    assert_eq!(error.err().unwrap().kind(), ErrorKind::Io);

    // The file changes while it is open and locked, by a program that ignores the lock.
    fs::write(&path, &good).unwrap();
    let mut ledger = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("5")).unwrap();
    let mut changed = good.clone();
    changed[100] ^= 1;
    fs::write(&path, changed).unwrap();
    let error = ledger.spend(epsilon("1"), 7).unwrap_err();
    assert!(
        error.to_string().contains("another program wrote"),
        "{error}"
    );
    fs::write(&path, good).unwrap();
    let error = ledger.spend(epsilon("3.5"), 7).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("epsilon 3 is left in this window, but 3.5 is needed"),
        "{error}"
    );
    let error = ledger.spend(epsilon("1"), 6).unwrap_err();
    assert!(error.to_string().contains("set the clock right"), "{error}");
    let _grant = ledger.spend(epsilon("3"), 7).expect("exactly what is left");
    assert_eq!(ledger.remaining(7).unwrap(), 0);
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
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
fn shows_what_is_left(folder: &Path, day: u64) {
    let before = fs::read(folder.join("day.ledger")).unwrap();
    let shown = succeed(folder, "ledger day.ledger");
    contains(
        &shown,
        &[
            "unit     whole-text",
            "budget   3.5",
            "spent    3\n",
            "left     0.5",
        ],
    );
    let tomorrow = (day + 1).to_string();
    let json = succeed(
        folder,
        format!("ledger day.ledger --json --window {tomorrow}"),
    );
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["unit"], "whole-text");
    assert_eq!(json["left_micro"], 3_500_000);
    assert_eq!(
        (&json["spent_micro"], &json["window"]),
        (&0.into(), &(day + 1).into())
    );
    let back = "ledger day.ledger --window 1";
    refused(&undertone(folder, back), back, &["set the clock right"]);
    let none = "ledger texts.tsv";
    refused(&undertone(folder, none), none, &["texts.tsv", "128 bytes"]);
    assert_eq!(fs::read(folder.join("day.ledger")).unwrap(), before);
}

fn a_budget_for_each_day(day: u64) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = |n: usize| format!("{}\tThe soup needs salt. Our team lost {n} times.\n", n % 2);
    let documents: String = (0..5).map(text).collect();
    fs::write(folder.join("texts.tsv"), documents).unwrap();
    succeed(folder, "pack --corpus texts.tsv --out a.pack");
    // `--ledger` and `--budget` require each other.
    let alone = run("3", "1").replace(" --budget 3", "");
    refused(&undertone(folder, &alone), &alone, &["--budget"]);
    let alone = run("3", "1").replace(" --ledger day.ledger", "");
    refused(&undertone(folder, &alone), &alone, &["--ledger"]);
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
    let output = undertone(folder, &arguments);
    refused(&output, &arguments, &parts);
    assert_eq!(output.status.code(), Some(4), "the budget is used up");
    // Paid releases are in the output, and the next run resumes from a partial file of its own.
    assert_eq!(lines(&folder.join("r.jsonl")), 3);
    let partial = common::partial(folder, "r.jsonl").expect("three lines");
    assert_eq!(lines(&partial), 3);
    let parts = [
        "resuming: 3 documents",
        "epsilon 0.5 is left",
        "3 of 5 documents",
    ];
    let output = undertone(folder, &arguments);
    refused(&output, &arguments, &parts);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(lines(&folder.join("r.jsonl")), 3);
    // One document costs more than the budget of any day.
    let never = run("0.5", "1");
    let output = undertone(folder, &never);
    refused(
        &output,
        &never,
        &["--budget is 0.5", "what one document costs"],
    );
    assert_eq!(output.status.code(), Some(1));
    let other = run("4", "1");
    refused(
        &undertone(folder, &other),
        &other,
        &["a budget of epsilon 3.5, not 4"],
    );
    let held =
        LedgerFile::open_or_create(folder.join("day.ledger"), Unit::WholeText, epsilon("3.5"))
            .unwrap();
    assert_eq!(held.remaining(day).unwrap(), 500_000);
    refused(
        &undertone(folder, &arguments),
        &arguments,
        &["in use by another process"],
    );
    drop(held);
    // A ledger is for one unit of privacy; another unit requires another ledger.
    let sentence = format!("{arguments} --rule permute-and-flip");
    let parts = ["day.ledger", "\"sentence\"", "\"whole-text\""];
    refused(&undertone(folder, &sentence), &sentence, &parts);
    shows_what_is_left(folder, day);
    // Paid releases are never deleted for another run. Once the user moves them away, all documents
    // are released anew.
    let smaller = run("3.5", "0.1");
    let name = partial.file_name().unwrap().to_str().unwrap();
    refuse(folder, &smaller, &[name, "move the file away"]);
    assert_eq!(lines(&partial), 3);
    fs::rename(&partial, folder.join("paid.jsonl")).unwrap();
    let output = undertone(folder, &smaller);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(lines(&folder.join("r.jsonl")), 5);
    let ledger =
        LedgerFile::open_or_create(folder.join("day.ledger"), Unit::WholeText, epsilon("3.5"))
            .unwrap();
    assert_eq!(ledger.remaining(day).unwrap(), 0);
}

/// The releases inside a smaller --limit were paid for, and so were those beyond it.
#[test]
fn a_smaller_limit_spends_nothing() {
    let _alone = alone();
    within_a_day(|day| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let text = "Food\tThe soup needs salt.\nBall\tOur team lost.\n".repeat(3);
        fs::write(folder.join("texts.tsv"), text).unwrap();
        succeed(folder, "pack --corpus texts.tsv --out a.pack");
        let all = run("4", "1");
        assert_eq!(undertone(folder, &all).status.code(), Some(4));
        let paid = fs::read_to_string(folder.join("r.jsonl")).unwrap();
        assert_eq!(paid.lines().count(), 4);
        let waiting = common::partial(folder, "r.jsonl").expect("four lines");
        for limit in ["2", "3", "2"] {
            succeed(folder, format!("{all} --limit {limit}"));
            let first = fs::read_to_string(folder.join("r.jsonl")).unwrap();
            assert_eq!(first.lines().count().to_string(), limit);
            assert!(paid.starts_with(&first), "a release was drawn again");
            assert_eq!(fs::read_to_string(&waiting).unwrap(), paid);
        }
        assert_eq!(undertone(folder, &all).status.code(), Some(4));
        assert_eq!(fs::read_to_string(folder.join("r.jsonl")).unwrap(), paid);
        let path = folder.join("day.ledger");
        let ledger = LedgerFile::open_or_create(path, Unit::WholeText, epsilon("4")).unwrap();
        assert_eq!(ledger.remaining(day).unwrap(), 0);
    });
}

#[cfg(unix)]
#[test]
fn a_new_ledger_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let [made, anew] = ["made", "anew"].map(|name| folder.path().join(name));
    LedgerFile::open_or_create(&made, Unit::Sentence, epsilon("5")).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = folder.join("day.ledger");
    let recreate = "ledger day.ledger --recreate-spent --unit sentence --budget 10";
    refuse_all(
        folder,
        "ledger day.ledger",
        "--recreate-spent => --unit
        --recreate-spent --unit sentence => --budget
        --recreate-spent --budget 10 => --unit
        --unit sentence --budget 10 => --unit",
    );
    let is_spent = || {
        let output = undertone(folder, recreate);
        let notes = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{notes}");
        contains(
            &notes,
            &[&format!(
                "`day.ledger` is recreated: window {day} counts as spent"
            )],
        );
        let shown = String::from_utf8(output.stdout).unwrap();
        contains(
            &shown,
            &[
                "unit     sentence",
                "budget   10 ",
                "spent    10\n",
                "left     0\n",
            ],
        );
        let ledger = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("10")).unwrap();
        assert_eq!(ledger.remaining(day).unwrap(), 0);
        assert_eq!(ledger.remaining(day + 1).unwrap(), 10_000_000);
    };
    // A ledger that is lost, empty, cut, damaged or whole.
    is_spent();
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    damaged[104] ^= 1;
    for bytes in [&b""[..], &whole[..70], &damaged, &whole] {
        fs::write(&path, bytes).unwrap();
        if bytes != whole {
            let show = "ledger day.ledger";
            let parts = [
                "recreate the ledger with this window counted as spent",
                "to recreate it: `undertone release recreate-ledger LEDGER --unit UNIT --budget EPSILON`",
            ];
            refused(&undertone(folder, show), show, &parts);
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
        refuse(
            folder,
            recreate,
            &[
                "cannot write `day.ledger`",
                "no ledger",
                "move this file away",
            ],
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    let show = "ledger day.ledger";
    refused(
        &undertone(folder, show),
        show,
        &["128 bytes, but this file has 5000"],
    );
    let open = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("10")).unwrap_err();
    assert!(open.to_string().contains("this file has 5000"), "{open}");
    // A clock that was ahead left a ledger of a later day: it refuses today and can be recreated.
    fs::remove_file(&path).unwrap();
    let mut later = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("10")).unwrap();
    let _grant = later.spend(epsilon("10"), day + 3).unwrap();
    drop(later);
    let show = "ledger day.ledger";
    let parts = ["set the clock right", "recreate-ledger"];
    refused(&undertone(folder, show), show, &parts);
    is_spent();
    let notes = String::from_utf8(undertone(folder, recreate).stderr).unwrap();
    assert!(!notes.contains("was of window"), "{notes}");
    // Windows that are not days, as `release lines` has.
    let year = format!("{recreate} --window 57");
    let notes = String::from_utf8(undertone(folder, &year).stderr).unwrap();
    contains(
        &notes,
        &[&format!("was of window {day}, and now window 57")],
    );
    let ledger = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("10")).unwrap();
    assert_eq!(ledger.remaining(57).unwrap(), 0);
    assert_eq!(ledger.remaining(58).unwrap(), 10_000_000);
    drop(ledger);
    // Pipes are refused; opening one would wait for ever.
    #[cfg(unix)]
    {
        fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        refuse(folder, recreate, &["regular file"]);
        let opened = LedgerFile::open_or_create(&path, Unit::Sentence, epsilon("10"));
        let error = opened.unwrap_err();
        assert!(error.to_string().contains("regular file"), "{error}");
        refused(&undertone(folder, show), show, &["regular file"]);
    }
}

/// A bag costs its epsilon for each of its words.
#[test]
fn obfuscate_spends_for_each_word() {
    let _alone = alone();
    within_a_day(bags_of_a_budget);
}

fn bags_of_a_budget(day: u64) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = |n: usize| format!("{}\tThe soup needs salt. Our team lost.\n", n % 2);
    fs::write(
        folder.join("texts.tsv"),
        (0..5).map(text).collect::<String>(),
    )
    .unwrap();
    fs::write(folder.join("v.txt"), "soup 1 0\nsalt 0 1\nteam 1 1\n").unwrap();
    let pack = "vocabulary --vectors v.txt --out a.pack";
    succeed(folder, pack);
    let bags = |budget, words| {
        let line = format!(
            "obfuscate --pack a.pack --epsilon 0.5 --words {words} --in texts.tsv --out b.jsonl \
             --ledger day.ledger --budget {budget}"
        );
        let output = undertone(folder, &line);
        if !output.status.success() {
            refused(&output, &line, &["error:"]);
        }
        output
    };
    assert_eq!(bags("1.4", 3).status.code(), Some(1), "a bag costs 1.5");
    assert!(!folder.join("day.ledger").exists());
    for _ in 0..2 {
        // The budget pays for three bags of 1.5; the second run prints the same three.
        assert_eq!(bags("5", 3).status.code(), Some(4));
        assert_eq!(lines(&folder.join("b.jsonl")), 3);
    }
    let ledger =
        LedgerFile::open_or_create(folder.join("day.ledger"), Unit::Word, epsilon("5")).unwrap();
    assert_eq!(ledger.remaining(day).unwrap(), 500_000);
}
