//! One ledger file and programs in Rust, C, C++ and Java: the one that has it open excludes the
//! others, they create a new one together without losing what was spent, and none requires hard
//! links.
//!
//! Chance: false alarm none, miss none. Programs are waited for by their output.

#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use common::{Java, compile, have, java, output_dir, root, run, static_library};
use undertone::error::ErrorKind;
use undertone::release::ledger::LedgerFile;
use undertone_core::epsilon::{Epsilon, MICRO};
use undertone_core::unit::Unit;

/// Command for the program of another language: "hold PATH" or "spend PATH".
const TASK: &str = "UNDERTONE_TEST_LEDGER_TASK";

/// Exit status of a program that finds the ledger in use.
const IN_USE: i32 = 3;

/// One test at a time: between fork and exec, a new process holds the locks of this one.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Budget of a window in every language: one unit for each program that runs at once, or the last
/// ones would be refused after the first ones are done.
const BUDGET: u32 = 9;

fn budget() -> Epsilon {
    Epsilon::from_micro(BUDGET * MICRO).expect("an epsilon")
}

/// The program in Rust, run as a test; `tests/cpp/ledger.cpp` is the one in C++.
#[test]
fn program() {
    let Ok(task) = env::var(TASK) else { return };
    let (task, path) = task.split_once(' ').expect("a task and a file");
    let code = match LedgerFile::open_or_create(path, Unit::Sentence, budget()) {
        Ok(mut ledger) if task == "spend" => {
            let one = Epsilon::from_micro(MICRO).expect("an epsilon");
            i32::from(ledger.spend(one, 1).is_err())
        }
        Ok(_held) => {
            let again = LedgerFile::open_or_create(path, Unit::Sentence, budget());
            assert_eq!(again.err().unwrap().kind(), ErrorKind::InUse);
            println!("\nopen");
            std::io::stdin().lines().for_each(drop);
            0
        }
        Err(error) => {
            eprintln!("{error}");
            if error.kind() == ErrorKind::InUse {
                IN_USE
            } else {
                1
            }
        }
    };
    std::process::exit(code);
}

fn c() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program_of("gcc", "tests/c/ledger.c"))
}

fn cpp() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program_of("g++", "tests/cpp/ledger.cpp"))
}

fn program_of(compiler: &str, source: &str) -> PathBuf {
    let name = format!("ledger-program-{compiler}");
    compile(compiler, &name, &[source], Some(static_library()), &[])
}

/// Class path of the program in Java.
fn java_program() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let classes = output_dir().join("ledger-classes");
        fs::create_dir_all(&classes).expect("the target folder can be written");
        run(Command::new("javac")
            .arg("-cp")
            .arg(&java().classes)
            .arg("-d")
            .arg(&classes)
            .arg(root().join("tests/java/LedgerProgram.java")));
        classes
    })
}

#[derive(Clone, Copy, Debug)]
enum Language {
    Rust,
    C,
    Cpp,
    Java,
}

impl Language {
    /// Languages whose compiler is on this machine.
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Rust];
        if have("gcc", "gcc") {
            all.push(Self::C);
        }
        if have("g++", "g++") {
            all.push(Self::Cpp);
        }
        if have("javac", "default-jdk-headless") {
            all.push(Self::Java);
        }
        all
    }

    fn command(self, task: &str, ledger: &Path) -> Command {
        let mut command;
        match self {
            Self::Rust => {
                command = Command::new(env::current_exe().expect("a program"));
                command
                    .args(["--exact", "program", "--nocapture"])
                    .env(TASK, format!("{task} {}", ledger.display()));
            }
            Self::C => {
                command = Command::new(c());
                command.arg(task).arg(ledger);
            }
            Self::Cpp => {
                command = Command::new(cpp());
                command.arg(task).arg(ledger);
            }
            Self::Java => {
                let Java { library, classes } = java();
                let (classes, own) = (classes.display(), java_program().display());
                command = Command::new("java");
                command
                    .arg(format!("-Djava.library.path={}", library.display()))
                    // The JVM starts faster with it, and several run at once.
                    .args(["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"])
                    .arg(format!("{classes}:{own}"))
                    .arg("LedgerProgram")
                    .arg(task)
                    .arg(ledger);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn spend(self, ledger: &Path) -> Output {
        let output = self.command("spend", ledger).stdin(Stdio::null()).output();
        output.expect("the program starts")
    }

    /// Starts a program that holds the ledger.
    fn hold(self, ledger: &Path) -> Child {
        let mut child = self
            .command("hold", ledger)
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        while line != "open\n" {
            line.clear();
            let read = out.read_line(&mut line).expect("text");
            assert!(read > 0, "{self:?} ended: {:?}", child.wait());
        }
        child
    }
}

/// Creates an empty folder.
fn fresh(name: &str) -> PathBuf {
    let folder = output_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("a file").file_name().into_string())
        .collect::<Result<_, _>>()
        .expect("text");
    names.sort();
    names
}

/// In integer units.
fn remaining(ledger: &Path) -> u32 {
    let ledger =
        LedgerFile::open_or_create(ledger, Unit::Sentence, budget()).expect("nobody has it");
    let left = ledger.remaining(1).expect("a window that has not passed");
    assert!(left.is_multiple_of(MICRO.into()));
    (left / u64::from(MICRO)) as u32
}

/// Each program holds the ledger after it tried to open it twice; all others are refused, and get
/// in afterwards.
#[test]
fn who_has_the_ledger_keeps_all_others_out() {
    let _alone = alone();
    let folder = fresh("ledger-lock");
    for holder in Language::all() {
        let ledger = folder.join(format!("{holder:?}.ledger"));
        let mut held = holder.hold(&ledger);
        for other in Language::all() {
            let output = other.spend(&ledger);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(IN_USE),
                "{other:?} while {holder:?} holds it: {said}"
            );
            assert!(said.contains("in use"), "{said}");
        }
        drop(held.stdin.take());
        assert!(held.wait().expect("it ends").success(), "{holder:?}");
        assert_eq!(remaining(&ledger), BUDGET);
        let mut left = BUDGET;
        for other in Language::all() {
            let output = other.spend(&ledger);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{other:?} after {holder:?}: {said}"
            );
            left -= 1;
            assert_eq!(remaining(&ledger), left);
        }
        // A killed program holds nothing.
        let mut killed = holder.hold(&ledger);
        killed.kill().expect("it runs");
        killed.wait().expect("it ends");
        assert_eq!(remaining(&ledger), left);
    }
}

/// Many programs at once without a ledger: one is made, and it records what all of them spent.
#[test]
fn a_ledger_that_many_make_is_one() {
    let _alone = alone();
    let folder = fresh("ledger-make");
    let ledger = folder.join("a.ledger");
    let languages = Language::all();
    let start = |language: &Language| {
        let mut command = language.command("spend", &ledger);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    // Build before the race.
    for language in &languages {
        let _ = language.command("spend", &ledger);
    }
    assert!(2 * languages.len() <= BUDGET as usize);
    let children: Vec<Child> = [&languages[..], &languages]
        .concat()
        .iter()
        .map(start)
        .collect();
    let mut granted = 0;
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        match output.status.code() {
            Some(0) => granted += 1,
            Some(IN_USE) => {}
            other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert!(granted >= 1);
    assert_eq!(remaining(&ledger), BUDGET - granted);
    assert_eq!(names(&folder), ["a.ledger"]);
}

/// A window that counts as spent stays so if another ledger is made while this one is recreated. In
/// Rust nobody can interfere, because it draws the entropy inside; C++ and Swift use the functions
/// of C.
#[test]
fn a_recreated_ledger_is_spent_whoever_was_first() {
    let _alone = alone();
    let folder = fresh("ledger-anew");
    let languages = Language::all().into_iter();
    for language in languages.filter(|one| matches!(one, Language::C | Language::Java)) {
        let name = format!("{language:?}.ledger");
        let ledger = folder.join(&name);
        run(&mut language.command("anew", &ledger));
        let recreated = LedgerFile::open_or_create(&ledger, Unit::Sentence, budget());
        let recreated = recreated.expect("nobody has it");
        let left = [1, 2].map(|window| recreated.remaining(window).expect("none has passed"));
        assert_eq!(left, [0, u64::from(BUDGET * MICRO)], "{language:?}");
        fs::remove_file(&ledger).expect("it is there");
        assert_eq!(names(&folder), [""; 0], "{language:?} leaves something");
    }
}

/// A file with the name of the lock, or of the part that a new ledger is written to, is opened only
/// if it is a regular file. A dangling link used to be written through, and Java waited for the
/// other end of a pipe.
#[test]
fn links_and_pipes_with_the_names_of_its_parts_are_not_opened() {
    let _alone = alone();
    let folder = fresh("ledger-parts");
    let absent = folder.join("absent");
    for language in Language::all() {
        // In Rust the part has an unpredictable name, and is created only where nothing is.
        let ends = match language {
            Language::Rust => &["", ".lock"][..],
            Language::C | Language::Cpp => &["", ".lock", ".partial"],
            Language::Java => &["", ".lock", ".java.partial"],
        };
        for (end, linked) in ends.iter().flat_map(|end| [(end, true), (end, false)]) {
            let ledger = folder.join(format!("{language:?}.ledger"));
            let part = folder.join(format!("{language:?}.ledger{end}"));
            if linked {
                std::os::unix::fs::symlink(&absent, &part).expect("a link");
            } else {
                run(Command::new("mkfifo").arg(&part));
            }
            let mut command = language.command("spend", &ledger);
            command.stdin(Stdio::null()).stderr(Stdio::piped());
            let child = command.spawn().expect("the program starts");
            let output = bounded(child);
            let said = String::from_utf8_lossy(&output.stderr);
            let what = format!("{language:?}, {part:?}, linked: {linked}: {said}");
            assert_eq!(output.status.code(), Some(1), "{what}");
            assert!(!absent.exists(), "{what}");
            let about = fs::symlink_metadata(&part).expect("it is still there");
            assert!(!about.is_file(), "{what}");
            fs::remove_file(&part).expect("it is still there");
            let _ = fs::remove_file(ledger.with_extension("ledger.lock"));
            assert_eq!(names(&folder), [""; 0], "{what}");
        }
    }
}

/// A ledger may be opened by a link. `NAME.lock` is that of the file, in the file's folder, so that
/// a program that uses the link finds the lock that another one left there.
#[test]
fn the_lock_of_a_ledger_is_found_by_every_name() {
    let _alone = alone();
    let folder = fresh("ledger-links");
    let [files, links] = ["files", "links"].map(|name| folder.join(name));
    for language in Language::all() {
        for made in [&files, &links] {
            fs::create_dir(made).expect("the target folder can be written");
        }
        let ledger = files.join("a.ledger");
        assert_eq!(remaining(&ledger), BUDGET);
        // A relative link to another one, which is absolute.
        std::os::unix::fs::symlink(&ledger, links.join("absolute")).expect("a link");
        std::os::unix::fs::symlink("absolute", links.join("link")).expect("a link");
        fs::write(files.join("a.ledger.lock"), []).expect("the folder can be written");
        let output = language.spend(&links.join("link"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{language:?}: {said}");
        assert_eq!(names(&files), ["a.ledger"], "{language:?}");
        assert_eq!(names(&links), ["absolute", "link"], "{language:?}");
        assert_eq!(remaining(&ledger), BUDGET - 1, "{language:?}");
        for made in [&files, &links] {
            fs::remove_dir_all(made).expect("they exist");
        }
    }
}

/// Kills a program that waits for something else, after longer than a busy machine takes to start
/// Java.
fn bounded(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        if start.elapsed() > Duration::from_secs(600) {
            child.kill().expect("it runs");
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("it ended")
}

/// A file system without hard links, as on storage cards.
#[test]
fn a_new_ledger_needs_no_hard_links() {
    if !have("gcc", "gcc") {
        return;
    }
    let library = output_dir().join("no-links.so");
    run(Command::new("gcc")
        .args([
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
        ])
        .arg(root().join("tests/c/no_links.c"))
        .arg("-o")
        .arg(&library));
    let _alone = alone();
    let folder = fresh("ledger-no-links");
    for language in Language::all() {
        let name = format!("{language:?}.ledger");
        let ledger = folder.join(&name);
        let output = language
            .command("spend", &ledger)
            .stdin(Stdio::null())
            .env("LD_PRELOAD", &library)
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{language:?}: {said}");
        assert_eq!(remaining(&ledger), BUDGET - 1);
        fs::remove_file(&ledger).expect("it is there");
        assert_eq!(names(&folder), [""; 0], "{language:?} leaves something");
    }
}

/// A program that dies between the rename of a new ledger and the sync of its folder leaves a name
/// that a power cut may undo, together with everything spent since. The next one to open the ledger
/// syncs the folder first, and only once.
#[test]
fn the_folder_is_synced_before_a_grant() {
    let _alone = alone();
    if !have("gcc", "gcc") {
        return;
    }
    let folder = fresh("ledger-folder");
    let library = output_dir().join("folder-sync.so");
    run(Command::new("gcc")
        .args(["-shared", "-fPIC"])
        .arg(root().join("tests/c/folder_sync.c"))
        .arg("-o")
        .arg(&library)
        .arg("-ldl"));
    let spend = |language: Language, ledger: &Path, dies: bool| {
        let mut command = language.command("spend", ledger);
        command.stdin(Stdio::null()).env("LD_PRELOAD", &library);
        if dies {
            command.env("UNDERTONE_TEST_DIES_AT_SYNC", "1");
        }
        let output = command.stderr(Stdio::piped()).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.code(),
            said.matches("synced a folder").count(),
            said,
        )
    };
    let languages = Language::all();
    // Each dies once, and each follows once; the file that one leaves is that of any other.
    for (first, next) in languages.iter().zip(languages.iter().cycle().skip(1)) {
        let ledger = folder.join("a.ledger");
        let (code, _, said) = spend(*first, &ledger, true);
        assert_eq!(code, Some(9), "{first:?} dies: {said}");
        assert!(ledger.exists(), "{first:?} dies after the rename");
        let (code, synced, said) = spend(*next, &ledger, false);
        assert_eq!(code, Some(0), "{next:?} after {first:?}: {said}");
        assert_eq!(synced, 1, "{next:?} after {first:?}: {said}");
        let (_, synced, said) = spend(*next, &ledger, false);
        assert_eq!(synced, 0, "{next:?} once more: {said}");
        assert_eq!(remaining(&ledger), BUDGET - 2);
        fs::remove_file(&ledger).expect("it is there");
        let _ = fs::remove_file(folder.join("a.ledger.java.partial"));
        assert_eq!(names(&folder), [""; 0], "{first:?} and {next:?}");
    }
}
