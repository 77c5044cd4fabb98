//! Interruptions through the command line: killed processes, full files, outputs that cannot be
//! written, corpora with bad lines.
//!
//! `UNDERTONE_SOAK=1 cargo test --release -p undertone-cli --test all robust:: -- --nocapture`
//! kills hundreds of times; without the variable a few times. The seed draws where and when to
//! kill: it is `UNDERTONE_SEED`, or else 1, or the clock in the long form.
//!
//! Chance: false alarm none, miss none. A run that is killed at any moment, or never, must end as
//! if undisturbed.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    Folder, Model, SIGXFSZ, contains, fitting_tokenizer, gzip, names, refused, seed, soak, through,
    whole_lines, within_a_day, write_encoder,
};
use undertone::encoder::EncoderIdentity;
use undertone::pack::candidates::{Candidate, Candidates};
use undertone::release::document::OsEntropy;
use undertone::release::ledger::utc_day;
use undertone_core::ledger::Ledger;
use undertone_core::release::{BagRelease, Release};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;

/// Draws where and when to kill.
struct Dice(PublicRng);

impl Dice {
    fn new() -> Self {
        Self(PublicRng::new(seed()))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n.max(1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

const DOCUMENTS: usize = 60;
/// `--budget 900` in micro-units.
const LEDGER_BUDGET: u64 = 900_000_000;
const EPSILON: u64 = 2_000_000;

/// Inputs of all commands. The vocabulary of the neural encoder has two words.
fn inputs() -> Folder {
    let folder = Folder::new();
    let sentences = [
        "The soup needs salt and red onions.",
        "Our green team lost the game twice.",
        "A red comet passed the moon.",
        "The nurse drew blood, red and green.",
    ];
    let (mut public, mut private, mut vectors) = (String::new(), String::new(), String::new());
    for number in 0..DOCUMENTS {
        let sentence = |i| {
            let topic = sentences[(number % 3 + i / 7) % 4];
            let word = ["red", "green", "odd"][(number / 3 + i) % 3];
            format!("{topic} So {word}.")
        };
        let text: Vec<String> = (0..9).map(sentence).collect();
        let line = serde_json::json!({"id": number, "label": number % 3, "text": text.join(" ")});
        public += &format!("{line}\n");
        private += &format!("{}\tMine is {number}. {}\n", number % 3, text.concat());
    }
    for (number, word) in sentences.iter().flat_map(|s| s.split(' ')).enumerate() {
        let word = word.trim_matches(['.', ',']).to_lowercase();
        vectors += &format!("{word} {number} {} 0.25\n", number % 5);
    }
    folder.write("public.jsonl", public);
    folder.write("private.tsv", private);
    folder.write("vectors.txt", vectors);
    write_encoder(&folder, "neural", &Model::default(), &fitting_tokenizer());
    folder.succeed("vocabulary --vectors vectors.txt --out words.pack");
    folder.succeed("pack --corpus public.jsonl --heads vectors --out a.pack");
    folder.succeed(private_run("releases.jsonl"));
    folder
}

fn private_run(out: &str) -> String {
    format!("privatize --pack a.pack --epsilon 2 --in private.tsv --out {out}")
}

/// [`private_run`] with a ledger, so that an interrupted run resumes.
fn paid_run(out: &str) -> String {
    format!("{} --ledger day.ledger --budget 900", private_run(out))
}

/// A command whose last argument is its output.
struct Job {
    line: &'static str,
    outputs: Vec<&'static str>,
}

fn jobs() -> Vec<Job> {
    [
        "encode --corpus public.jsonl --encoder neural --out o.st",
        "encode --corpus public.jsonl --out o.st",
        "pack --corpus public.jsonl --heads vectors --encoder neural --out o.pack",
        "pack --corpus public.jsonl --heads vectors --out o.pack",
        "pack --corpus public.jsonl --clusters 4 --out o.pack",
        "pack --corpus public.jsonl --selector depth --encoder neural --out o.pack",
        "demo --save o.pack",
        "distil --corpus public.jsonl --encoder neural --words 8 --dim 2 --out o.pack",
        "vocabulary --vectors vectors.txt --out o.pack",
        "project --vectors vectors.txt --dimension 2 --out o.pack",
        "keywords --corpus public.jsonl --words 9 --out o.txt",
        "decode --candidates a.candidates.safetensors --in releases.jsonl --out o.jsonl",
        "privatize --pack a.pack --epsilon 2 --in private.tsv --out o.jsonl",
        "privatize --pack a.pack --epsilon 2 --in private.tsv --ledger day.ledger --budget 900 \
         --out o.jsonl",
        "obfuscate --pack words.pack --epsilon 2 --in private.tsv --out o.jsonl",
    ]
    .map(Job::new)
    .into()
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

impl Job {
    fn new(line: &'static str) -> Self {
        let (rest, out) = line.rsplit_once(' ').unwrap();
        let mut outputs = vec![out];
        match rest.split(' ').next() {
            Some("pack" | "demo") => outputs.push("o.candidates.safetensors"),
            Some("project") => outputs.push("o.certificate.json"),
            _ if rest.contains("--ledger") => outputs.push("day.ledger"),
            _ => {}
        }
        Self { line, outputs }
    }

    /// The same command with another output.
    fn with_output(&self, out: &str) -> String {
        let (rest, _) = self.line.rsplit_once(' ').unwrap();
        format!("{rest} {out}")
    }

    /// Whether the outputs are the same bytes each time.
    fn is_fixed(&self) -> bool {
        let mut drawn = ["privatize", "obfuscate"].iter();
        !drawn.any(|command| self.line.starts_with(command))
    }

    fn has_ledger(&self) -> bool {
        self.outputs.contains(&"day.ledger")
    }

    fn read(&self, folder: &Folder) -> Files {
        let read = |name| Some((folder.join(name), fs::read(folder.join(name)).ok()?));
        self.outputs.iter().filter_map(read).collect()
    }

    /// Runs the job without a kill. Returns its outputs and the time it took.
    fn undisturbed(&self, folder: &Folder) -> (Files, Duration) {
        let start = Instant::now();
        folder.succeed(self.line);
        let taken = start.elapsed();
        let files = self.read(folder);
        assert_eq!(files.len(), self.outputs.len(), "{}", self.line);
        self.clean(folder);
        (files, taken)
    }

    fn clean(&self, folder: &Folder) {
        for output in &self.outputs {
            let _ = fs::remove_file(folder.join(output));
        }
    }

    fn spawn(&self, folder: &Folder) -> Child {
        let mut command = folder.command(self.line);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Whole lines of releases that an interruption left.
    fn left(&self, folder: &Folder) -> Vec<u8> {
        let left = folder.partial("o.jsonl");
        whole_lines(left.map(|path| fs::read(path).unwrap()).unwrap_or_default())
    }

    /// Checks after a kill that each output is either the old one or the complete new one.
    fn check_killed(&self, folder: &Folder, before: &Files, expected: &Files) {
        for (path, bytes) in self.read(folder) {
            if path.ends_with("day.ledger") {
                continue;
            }
            let old = before.get(&path) == Some(&bytes);
            let new = if self.is_fixed() {
                expected.get(&path) == Some(&bytes)
            } else {
                releases(&bytes).is_some_and(|n| n == DOCUMENTS)
            };
            let name = path.display();
            assert!(old || new, "{}: `{name}` is half written", self.line);
        }
    }

    /// Checks after the rerun that the outputs are those of an undisturbed run, without any other
    /// file.
    fn check_done(&self, folder: &Folder, inputs: &[PathBuf], expected: &Files, left: &[u8]) {
        let files = self.read(folder);
        if self.is_fixed() {
            assert!(files == *expected, "{}: another result", self.line);
        } else {
            let bytes = &files[&folder.join("o.jsonl")];
            assert_eq!(releases(bytes), Some(DOCUMENTS), "{}", self.line);
            let goes_on = bytes.starts_with(left);
            assert!(goes_on, "{}: a release was drawn again", self.line);
        }
        let mut all: Vec<PathBuf> = inputs.iter().cloned().chain(files.into_keys()).collect();
        all.sort();
        assert_eq!(folder.names(), all, "{}: something was left", self.line);
    }
}

/// Number of lines, if each is a release at ε = 2 for the document at its position.
fn releases(bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    for line in str::from_utf8(bytes).ok()?.split_inclusive('\n') {
        count += 1;
        let line: serde_json::Value = serde_json::from_str(line.strip_suffix('\n')?).ok()?;
        let release = hex::decode(line["release"].as_str()?).ok()?;
        let micro = match Release::from_bytes(&release) {
            Ok(release) => release.epsilon().micro(),
            Err(_) => BagRelease::from_bytes(&release).ok()?.epsilon().micro(),
        };
        if line["id"] != format!("line-{count}") || u64::from(micro) != EPSILON {
            return None;
        }
    }
    Some(count)
}

/// Micro-units that the ledger counts as spent on this day. Reads the file without its lock,
/// because a child process of another test holds the lock between fork and exec.
fn spent(folder: &Folder, day: u64) -> u64 {
    let path = folder.join("day.ledger");
    if !path.exists() {
        return 0;
    }
    let ledger = Ledger::open(Unit::WholeText, &fs::read(path).unwrap(), &mut OsEntropy).unwrap();
    assert_eq!(ledger.budget(), LEDGER_BUDGET);
    LEDGER_BUDGET - ledger.remaining(day).unwrap()
}

/// Interrupts a job `times` times, then runs it to its end. `run` returns the signal that ended it,
/// if any. Returns the number of runs that a signal ended.
fn disturb(
    job: &Job,
    folder: &Folder,
    expected: &Files,
    (old, times): (bool, usize),
    mut run: impl FnMut() -> Option<i32>,
) -> usize {
    let inputs = folder.names();
    if old {
        for output in job.outputs.iter().filter(|name| **name != "day.ledger") {
            folder.write(output, "old");
        }
    }
    let day = utc_day();
    let before = job.read(folder);
    let mut left = Vec::new();
    let (mut hits, mut over) = (0, 0);
    for _ in 0..times {
        hits += usize::from(run().is_some());
        job.check_killed(folder, &before, expected);
        let now = job.left(folder);
        // Released lines stay. None are left if there were none before, or if the run had finished.
        let goes_on = now.starts_with(&left) || now.is_empty();
        assert!(goes_on, "{}: a release was drawn again", job.line);
        left = now;
        let output = fs::read(folder.join("o.jsonl")).unwrap_or_default();
        over += usize::from(left.is_empty() && releases(&output) == Some(DOCUMENTS));
        if job.has_ledger() && utc_day() == day {
            let lines = left.iter().filter(|byte| **byte == b'\n').count() as u64;
            let paid = spent(folder, day);
            assert!(paid >= EPSILON * lines, "{paid} paid");
            // Each kill loses at most one document. A finished run has paid for all documents.
            let most = (DOCUMENTS * over + hits) as u64 + lines;
            assert!(paid <= EPSILON * most, "{paid} paid for {lines} lines");
        }
    }
    folder.succeed(job.line);
    job.check_done(folder, &inputs, expected, &left);
    if job.has_ledger() && utc_day() == day {
        // Each interruption loses at most the cost of one document.
        let paid = spent(folder, day);
        let documents = (DOCUMENTS * (over + 1) + hits) as u64;
        assert!(paid >= EPSILON * DOCUMENTS as u64, "{paid} paid");
        assert!(paid <= EPSILON * documents, "{paid} paid, {hits} kills");
    }
    job.clean(folder);
    hits
}

/// Kills a run at a time. SIGINT and SIGTERM end the process as SIGKILL does, because no handler
/// catches them. Or kills it at a byte: the system kills the process that writes past a length
/// limit, and the bytes before it stay.
#[test]
fn a_run_that_was_killed_at_any_time_or_byte_ends_as_if_undisturbed() {
    let folder = inputs();
    let mut dice = Dice::new();
    let rounds = if soak() { 40 } else { 1 };
    for job in jobs() {
        let (expected, mut taken) = job.undisturbed(&folder);
        let longest = expected.values().map(Vec::len).max().unwrap_or(0) as u64;
        let [mut at_times, mut at_bytes] = [0, 0];
        for round in 0..rounds {
            // On a busy machine the time of the first run is a poor measure.
            if round % 8 == 7 {
                taken = taken.min(job.undisturbed(&folder).1);
            }
            let old = dice.one_in(2);
            let times = 1 + usize::from(dice.one_in(2)) + usize::from(dice.one_in(4));
            at_times += disturb(&job, &folder, &expected, (old, times), || {
                let mut child = job.spawn(&folder);
                thread::sleep(taken.mul_f64(dice.below(1000) as f64 / 900.0));
                let signal = ["KILL", "KILL", "INT", "TERM"][dice.below(4) as usize];
                send(signal, &child);
                child.wait().unwrap().signal()
            });
            let bytes = match round {
                1 => 0,
                2 => longest - 1,
                _ => dice.below(longest),
            };
            let mut next = [bytes, bytes + dice.below(longest - bytes)].into_iter();
            at_bytes += disturb(&job, &folder, &expected, (dice.one_in(2), 2), || {
                let bytes = next.next().unwrap() as usize;
                let status = folder.limited(bytes, job.line).status().unwrap();
                let killed = status.signal() == Some(SIGXFSZ);
                assert!(status.success() || killed, "{}: {status}", job.line);
                status.signal()
            });
        }
        println!(
            "{}: {at_times} kills at a time and {at_bytes} at a byte in {rounds} runs of {} ms",
            job.line,
            taken.as_millis()
        );
    }
}

/// The name of a partial file is computed from the public arguments of the run, and the path and
/// times of its input.
#[test]
fn what_is_left_is_for_the_same_command_and_the_same_input() {
    within_a_day(what_is_left);
}

fn what_is_left(day: u64) {
    let folder = inputs();
    let own = paid_run("o.jsonl");
    let left = || folder.interrupt(&own, "o.jsonl", 1000);
    let resumes = || {
        contains(&folder.notes(&own), &["resuming: "]);
        assert_eq!(folder.partial("o.jsonl"), None);
    };
    let refuse_other = |arguments: &str| {
        let before = spent(&folder, day);
        let left = folder.partial("o.jsonl").expect("lines were left");
        let name = left.file_name().unwrap().to_str().unwrap();
        let parts = [name, "move the file away", "name another --out"];
        folder.refuse(arguments, &parts);
        assert_eq!(spent(&folder, day), before, "{arguments:?}");
    };
    let other_ledger = own.replace("day.ledger", "other.ledger");
    folder.succeed(&other_ledger);
    left();
    for other in [
        &*format!("{own} --rule projective"),
        &format!("{own} --messages"),
        &own.replace("--epsilon 2", "--epsilon 3"),
        &other_ledger,
    ] {
        refuse_other(other);
    }
    // A run without a ledger leaves the lines alone.
    folder.succeed(private_run("o.jsonl"));
    resumes();
    // A larger --limit counts as the same run, because its first documents are the same.
    let part = folder.interrupt(format!("{own} --limit 40"), "o.jsonl", 1000);
    resumes();
    assert!(folder.text("o.jsonl").starts_with(&part));

    // Changes a text but not its number, id or the length of the file.
    left();
    let text = folder.text("private.tsv");
    folder.write("private.tsv", text.replacen("Mine is 0", "Mine is 7", 1));
    refuse_other(&own);
    fs::remove_file(folder.partial("o.jsonl").unwrap()).unwrap();
    // Replaces the input by another file of the same name.
    left();
    folder.write("other.tsv", &text);
    fs::rename(folder.join("other.tsv"), folder.join("private.tsv")).unwrap();
    refuse_other(&own);
    // The partial file has no word of a private text.
    let left = folder.partial("o.jsonl").unwrap();
    let content = fs::read_to_string(&left).unwrap();
    let word = text
        .split_whitespace()
        .find(|word| word.len() > 4 && content.contains(word));
    assert_eq!(word, None);
}

/// Every command that writes refuses a pipe as output. A command that reads its input twice refuses
/// a pipe as input: it would wait for ever.
#[test]
fn pipes_are_no_outputs_and_are_not_read_twice() {
    let folder = inputs();
    for name in ["pipe.tsv", "pipe.csv", "pipe.jsonl"] {
        folder.pipe(name);
    }
    // Commands that wait are killed. A command that counts words in one pass accepts a pipe, but
    // nothing writes to this one.
    let bounded = |line: &str| {
        through(&folder, "timeout", &["600"], line)
            .output()
            .unwrap()
    };
    let counts_words = ["distil", "keywords", "vocabulary"];
    let is_read_once = |line: &&str| counts_words.iter().any(|verb| line.starts_with(verb));
    for reader in READERS.into_iter().filter(|line| !is_read_once(line)) {
        let line = format!("{reader} pipe.tsv");
        let parts = ["`pipe.tsv`", "several times", "regular file"];
        refused(&bounded(&line), &line, &parts);
    }
    let outputs = jobs().into_iter().map(|job| job.with_output("pipe.jsonl"));
    let others = [
        "count --in releases.jsonl --out pipe.csv",
        "count --in releases.jsonl --out o.csv --rejected pipe.jsonl",
        "decode --candidates a.candidates.safetensors --in releases.jsonl --out o.jsonl --rejected pipe.jsonl",
        "estimate --candidates a.candidates.safetensors --in releases.jsonl --json pipe.jsonl",
        "estimate --candidates a.candidates.safetensors --in releases.jsonl --html pipe.jsonl",
        "plan --candidates a.candidates.safetensors --epsilon 2 --html pipe.jsonl",
    ];
    for line in outputs.chain(others.map(str::to_owned)) {
        let (_, pipe) = line.rsplit_once(' ').unwrap();
        let parts = [&*format!("`{pipe}`"), "not a regular file"];
        refused(&bounded(&line), &line, &parts);
    }
}

/// A link as output stays a link, and its target is written even if it did not exist. The partial
/// file of an unfinished run is beside the target.
#[test]
fn an_output_that_is_a_link_is_written_where_it_leads() {
    let folder = inputs();
    fs::create_dir(folder.join("far")).unwrap();
    folder.write("far/old.jsonl", "old");
    let link = folder.join("o.jsonl");
    for target in ["far/old.jsonl", "far/new.jsonl"] {
        symlink(target, &link).unwrap();
        // `paid_run("o.jsonl")`, with other paths to the same files.
        let same = paid_run("o.jsonl").replace("private.tsv", "far/../private.tsv");
        let same = same.replace("day.ledger", "far/../day.ledger");
        let part = folder.interrupt(same, target, 3000);
        folder.succeed(paid_run("o.jsonl"));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let lines = folder.text(target);
        assert!(lines.starts_with(&part) && lines.lines().count() == DOCUMENTS);
        // Outputs that are written in one go behave the same.
        folder.succeed(WHOLE_FILE);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(folder.count(target), 1);
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(names(&folder.join("far")).len(), 2);
    symlink("o.jsonl", &link).unwrap();
    folder.fail(private_run("o.jsonl"), &["o.jsonl", "circle"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// A command that writes the same output in one go.
const WHOLE_FILE: &str = "keywords --corpus private.tsv --words 1 --out o.jsonl";

/// Outputs and their partial files keep the permissions of the old output.
#[test]
fn an_output_keeps_its_permissions() {
    let folder = inputs();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let out = folder.join("o.jsonl");
    for wanted in [0o600, 0o640, 0o444] {
        fs::write(&out, "old").unwrap();
        fs::set_permissions(&out, PermissionsExt::from_mode(wanted)).unwrap();
        folder.interrupt(paid_run("o.jsonl"), "o.jsonl", 3000);
        let part = folder.partial("o.jsonl").unwrap();
        assert_eq!(mode(&part), wanted | 0o600);
        folder.succeed(paid_run("o.jsonl"));
        assert_eq!(mode(&out), wanted);
        folder.succeed(WHOLE_FILE);
        assert_eq!(mode(&out), wanted);
        fs::remove_file(&out).unwrap();
    }
}

/// A link or a pipe with the name of a partial file made a run loop for ever, write to the target
/// of the link, or wait.
#[test]
fn what_is_left_is_a_regular_file() {
    let folder = inputs();
    let own = paid_run("o.jsonl");
    folder.interrupt(&own, "o.jsonl", 3000);
    let left = folder.partial("o.jsonl").expect("lines were left");
    let other = folder.join("o.jsonl.0123456789abcdef.partial");
    let absent = folder.join("absent");
    for linked in [true, false] {
        fs::remove_file(&left).unwrap();
        if linked {
            symlink(&absent, &left).unwrap();
        } else {
            folder.pipe(&left);
        }
        folder.fail(&own, &[".partial`", "not a regular file; remove it"]);
        assert!(!absent.exists(), "a dangling link was written through");
    }
    fs::remove_file(&left).unwrap();
    // Partial files of other runs and of other outputs.
    symlink(&absent, &other).unwrap();
    folder.pipe(".o.jsonl.12345678.part");
    folder.succeed(&own);
    assert!(fs::symlink_metadata(&other).unwrap().is_symlink() && !absent.exists());
}

/// Sends a signal, unless the child has ended.
fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &id]).stderr(Stdio::null());
    kill.status().unwrap();
}

/// State of a child process in /proc: `T` if it is stopped, `Z` if it has ended.
fn state(child: &Child) -> char {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    // The state follows the name of the program, which is in parentheses.
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.trim_start().chars().next().unwrap()
}

/// The file whose name ends with `end`.
fn ending(folder: &Folder, end: &str) -> Option<PathBuf> {
    let mut names = folder.names().into_iter();
    names.find(|path| path.to_str().unwrap().ends_with(end))
}

/// Whether a process holds a lock on the file whose name ends with `end`.
fn is_locked(folder: &Folder, end: &str) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let file = ending(folder, end).and_then(|path| path.metadata().ok());
    file.is_some_and(|file| locks.contains(&format!(":{} 0 EOF", file.ino())))
}

/// Two runs at once for one output: the last one wins, or the second is refused if it would resume
/// the first. Outputs are never mixed.
#[test]
fn two_runs_for_one_output_are_not_mixed() {
    let folder = inputs();
    let all = jobs();
    let job = |start: &str| all.iter().find(|job| job.line.starts_with(start)).unwrap();
    let beside = ".embeddings.partial";
    for job in [job("encode"), job("distil")] {
        let inputs = folder.names();
        let (expected, _) = job.undisturbed(&folder);
        let mut first = loop {
            let mut child = job.spawn(&folder);
            let mut has_ended = || child.try_wait().unwrap().is_some();
            while ending(&folder, beside).is_none() && !has_ended() {}
            if !has_ended() {
                send("STOP", &child);
                // The signal takes effect after a moment.
                while !matches!(state(&child), 'T' | 'Z') {
                    thread::sleep(Duration::from_millis(1));
                }
                // The child is stopped, and it has locked its partial file.
                if is_locked(&folder, beside) {
                    break child;
                }
                send("CONT", &child);
            }
            child.wait().unwrap();
            job.clean(&folder);
        };
        let parts = ["is being written by another process", "wait"];
        folder.fail(job.line, &parts);
        send("CONT", &first);
        assert!(first.wait().unwrap().success(), "{}", job.line);
        job.check_done(&folder, &inputs, &expected, b"");
        job.clean(&folder);
    }
    for name in [
        "pack --corpus public.jsonl --heads vectors --out",
        "keywords",
        "decode",
        "privatize",
        "obfuscate",
    ] {
        let job = job(name);
        let inputs = folder.names();
        let (expected, _) = job.undisturbed(&folder);
        let mut children: Vec<Child> = (0..4).map(|_| job.spawn(&folder)).collect();
        for child in &mut children {
            assert!(child.wait().unwrap().success(), "{name}");
        }
        job.check_done(&folder, &inputs, &expected, b"");
        job.clean(&folder);
    }
}

/// Whether the tests may mount file systems, which read-only disks require.
fn can_mount() -> bool {
    let mount = "mount -t tmpfs -o size=64k none /mnt";
    let status = Command::new("unshare")
        .args(["-m", "sh", "-c", mount])
        .stderr(Stdio::null())
        .status();
    let can = status.is_ok_and(|status| status.success());
    if !can {
        println!("NOT CHECKED: read-only disks; mounting takes root");
    }
    can
}

/// Runs a command with a read-only file system at `disk`.
fn mounted_read_only(folder: &Folder, line: &str) -> Output {
    let script = "mount -t tmpfs -o ro none disk && exec \"$@\"";
    let arguments = ["-m", "sh", "-c", script, "sh"];
    through(folder, "unshare", &arguments, line)
        .output()
        .unwrap()
}

/// A full disk without mounting: the system limits the length of files and reports an error, for
/// any output or at the end of the longest.
#[test]
fn a_limit_on_files_is_an_error_that_leaves_the_old_output() {
    let folder = inputs();
    for job in jobs().iter().filter(|job| !job.has_ledger()) {
        let inputs = folder.names();
        let (expected, _) = job.undisturbed(&folder);
        let longest = expected.values().map(Vec::len).max().unwrap();
        // Drawn releases differ in length, but by less than half.
        let end = if job.is_fixed() {
            longest - 1
        } else {
            longest / 2
        };
        for output in &job.outputs {
            folder.write(output, "old");
        }
        for bytes in [10, end] {
            let script = format!("trap '' XFSZ; exec prlimit --fsize={bytes} \"$@\"");
            let mut shell = through(&folder, "sh", &["-c", &script, "sh"], job.line);
            let output = shell.output().unwrap();
            let parts = ["o.", "File too large", "raise the limit"];
            refused(&output, job.line, &parts);
            assert_eq!(output.status.code(), Some(1), "{}", job.line);
            assert_eq!(ending(&folder, ".part"), None, "{}", job.line);
            for output in &job.outputs {
                assert_eq!(folder.bytes(output), b"old", "{}", job.line);
            }
        }
        // A reader of the old output can read it to its end: the new file replaces it and is not
        // written into it.
        let open = |output| File::open(folder.join(output)).unwrap();
        let readers: Vec<File> = job.outputs.iter().map(open).collect();
        folder.succeed(job.line);
        for mut reader in readers {
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            assert!(content == b"old", "{}: written in place", job.line);
        }
        job.check_done(&folder, &inputs, &expected, b"");
        job.clean(&folder);
    }
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = inputs();
    drop(UnixListener::bind(folder.join("socket")).unwrap());
    for job in jobs() {
        let last = job.outputs[0];
        let (absent, below) = (format!("absent/{last}"), format!("vectors.txt/{last}"));
        for (out, parts) in [
            (
                &*absent,
                ["absent", "No such file", "does its folder exist?"],
            ),
            (&below, ["vectors.txt", "Not a directory", "folder"]),
            ("neural", ["neural", "is a folder", "add a file name"]),
            ("/dev/full", ["/dev/full", "not a regular file", "name one"]),
            ("socket", ["socket", "not a regular file", "name one"]),
        ] {
            folder.refuse(job.with_output(out), &parts);
        }
    }
    // Another user may not write to the folder of the output.
    fs::create_dir(folder.join("locked")).unwrap();
    fs::set_permissions(&*folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let as_nobody = |line: &str| {
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        through(&folder, "setpriv", &nobody, line).output()
    };
    let can_be_nobody = as_nobody("--version").is_ok_and(|output| output.status.success());
    if !can_be_nobody {
        println!("NOT CHECKED: folders of somebody else; becoming nobody takes root");
    }
    let can_mount = can_mount();
    fs::create_dir(folder.join("disk")).unwrap();
    for job in jobs() {
        if can_be_nobody {
            let line = job.with_output(&format!("locked/{}", job.outputs[0]));
            let parts = ["locked", "Permission denied", "change its permissions"];
            refused(&as_nobody(&line).unwrap(), &line, &parts);
        }
        if can_mount {
            let line = job.with_output(&format!("disk/{}", job.outputs[0]));
            let parts = ["disk", "Read-only", "name a place that can be written"];
            refused(&mounted_read_only(&folder, &line), &line, &parts);
        }
    }
}

/// An audit writes several files into a folder; they are replaced together.
#[test]
fn a_report_is_replaced_as_a_whole() {
    let folder = inputs();
    let audit = "audit a.pack --mechanism whole-text --epsilon 1 --out";
    // Refused before the audit starts.
    folder.refuse_all(
        audit,
        "vectors.txt => vectors.txt | File exists
        vectors.txt/o => vectors.txt/o | Not a directory",
    );
    if can_mount() {
        fs::create_dir_all(folder.join("disk")).unwrap();
        let output = mounted_read_only(&folder, &format!("{audit} disk/o"));
        let parts = ["disk/o", "Read-only", "name a place that can be written"];
        refused(&output, audit, &parts);
    }
    let arguments = format!("{audit} o");
    folder.succeed(&arguments);
    let files = names(&folder.join("o"));
    assert_eq!(files.len(), 2, "{files:?}");
    let size = |file: &PathBuf| fs::read(file).unwrap().len();
    let smaller = files.iter().map(size).min().unwrap();
    for file in &files {
        fs::write(file, "old").unwrap();
    }
    // Limits too small for any file, and enough for the smaller file only.
    for bytes in [10, smaller + 1] {
        for killed in [false, true] {
            let trap = if killed { "" } else { "trap '' XFSZ; " };
            let script = format!("{trap}exec prlimit --core=0 --fsize={bytes} \"$@\"");
            let shell = ["-c", &script, "sh"];
            let output = through(&folder, "sh", &shell, &arguments).output().unwrap();
            if killed {
                assert_eq!(output.status.signal(), Some(SIGXFSZ));
            } else {
                let parts = ["o/", "File too large", "raise the limit"];
                refused(&output, &arguments, &parts);
            }
            for file in &files {
                assert_eq!(fs::read(file).unwrap(), b"old", "{}", file.display());
            }
        }
    }
    folder.succeed(&arguments);
    assert_eq!(names(&folder.join("o")), files);
    assert!(files.iter().all(|file| size(file) >= smaller));
}

#[test]
fn nobody_listens() {
    let folder = inputs();
    // More than the buffer of a pipe.
    let candidate = |number| Candidate {
        id: format!("candidate {number}"),
        label: None,
        excerpt: "An excerpt. ".repeat(3),
    };
    let many = Candidates {
        has_nothing_known: true,
        calibration: None,
        pack_digest: [7; 32],
        encoder: EncoderIdentity {
            name: "none".to_owned(),
            digest: [0; 32],
        },
        dimension: 1,
        embeddings: vec![0.0; 5000],
        entries: (0..5000).map(candidate).collect(),
    };
    many.write(&folder.join("many")).unwrap();
    let spawn = |mut command: Command| command.stderr(Stdio::piped()).spawn().unwrap();
    let mut command = folder.command("candidates many");
    command.stdout(Stdio::piped());
    let mut child = spawn(command);
    let mut start = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(&start, b"# pack");
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );

    // Standard output on a full disk.
    let mut command = folder.command("candidates many");
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let output = spawn(command).wait_with_output().unwrap();
    let parts = ["standard output", "No space left", "free some space"];
    refused(&output, "candidates", &parts);

    // With nobody to read its notes, the command still completes.
    for job in jobs() {
        let mut command = folder.command(job.line);
        command.stdout(Stdio::null());
        let mut child = spawn(command);
        drop(child.stderr.take());
        assert!(child.wait().unwrap().success(), "{}", job.line);
        assert_eq!(job.read(&folder).len(), job.outputs.len(), "{}", job.line);
        job.clean(&folder);
    }
}

/// Commands that read a corpus, without the name of the corpus.
const READERS: [&str; 8] = [
    "encode --out o.st --corpus",
    "pack --heads vectors --out o.pack --corpus",
    "pack --selector depth --out o.pack --corpus",
    "distil --encoder neural --words 2 --dim 2 --out o.pack --corpus",
    "vocabulary --vectors vectors.txt --out o.pack --corpus",
    "keywords --words 3 --out o.txt --corpus",
    "privatize --pack a.pack --epsilon 1 --out o.jsonl --in",
    "obfuscate --pack words.pack --epsilon 1 --out o.jsonl --in",
];

/// Every command that reads documents refuses the same lines by number, without quoting them,
/// before it releases anything.
#[test]
fn bad_lines_are_refused_by_number_and_never_quoted() {
    let folder = inputs();
    let good = "{\"text\": \"The red soup.\", \"label\": \"a\"}\n";
    let long = [b"{\"text\": \"".as_slice(), &vec![b's'; 100 << 20]].concat();
    let nested = "[".repeat(200_000);
    let nested = format!("{{\"text\": \"secret\", \"label\": {nested}1");
    let no_object = "not one JSON object";
    let bad: [(&[u8], &str); 11] = [
        (b"secret words", no_object),
        (b"{\"text\": \"secret", no_object),
        (b"{\"text\": \"secret \xe9\"}", "not UTF-8 at byte 18"),
        (b"{\"secret\": 1}", "no field \"text\""),
        (b"{\"text\": 77, \"secret\": 1}", "not a string"),
        (
            b"{\"text\": \"secret\", \"id\": [1]}",
            "not a string or a number",
        ),
        (b"{\"text\": \"secret \0\"}", no_object),
        (b"{\"text\": \"secret \\ud800\"}", no_object),
        (
            b"{\"text\": \"secret\", \"text\": \"secret\"}",
            "given twice",
        ),
        (nested.as_bytes(), no_object),
        (&long, "longer than 16777216 bytes; split it"),
    ];
    for (line, message) in bad {
        // There is a good line before and after the bad one.
        let bytes = [good.as_bytes(), b"\r\n", line, b"\n", good.as_bytes()].concat();
        folder.write("bad.jsonl", &bytes);
        for reader in READERS {
            // In the short form the slow case runs with two commands only.
            let is_short = reader.starts_with("privatize") || reader.starts_with("encode");
            if line.len() == long.len() && !is_short && !soak() {
                continue;
            }
            let parts = ["`bad.jsonl` line 3: ", message];
            let said = folder.refuse(format!("{reader} bad.jsonl"), &parts);
            assert!(!said.contains("secret"), "{message}");
        }
    }
    // 10 GB in one line, compressed to 10 MB; then a file that is cut off.
    folder.write("bad.tsv.gz", gzip(vec![b'x'; 16 << 20]).repeat(640));
    let parts = ["`bad.tsv.gz` line 1: ", "longer than 16777216 bytes"];
    folder.refuse("encode --corpus bad.tsv.gz --out o.st", &parts);
    let whole = gzip(good.repeat(2000));
    folder.write("cut.jsonl.gz", &whole[..whole.len() / 2]);
    for reader in READERS {
        let parts = ["`cut.jsonl.gz` line ", "is the file cut off?"];
        folder.refuse(format!("{reader} cut.jsonl.gz"), &parts);
    }
}

#[test]
fn odd_lines_that_are_documents_are_read() {
    let folder = inputs();
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(
        "\u{feff}{{\"id\": \"same\", \"text\": \"The red soup.\", \"label\": \"a\"}}\r\n\r\n \t\n\
         {{\"id\": \"same\", \"text\": \"Our green team.\", \"label\": \"b\", \"more\": {nested}}}"
    );
    folder.write("odd.jsonl", text);
    folder.write("blank.jsonl", "\n\r\n  \n");
    folder.write("empty.jsonl", "");
    for reader in READERS.into_iter().filter(|line| !line.contains("depth")) {
        folder.succeed(format!("{reader} odd.jsonl"));
        let mut parts = reader.split(' ');
        let out = parts.find(|part| part.starts_with("o.")).unwrap();
        assert!(!folder.bytes(out).is_empty());
        folder.remove(out);
        for input in ["empty.jsonl", "blank.jsonl"] {
            let arguments = format!("{reader} {input}");
            // Without documents these commands write an empty file; a pack cannot be made.
            match reader.split(' ').next().unwrap() {
                "encode" | "privatize" | "obfuscate" | "vocabulary" => folder.succeed(&arguments),
                _ => folder.refuse(&arguments, &[]),
            };
            let _ = fs::remove_file(folder.join(out));
            let _ = fs::remove_file(folder.join("o.candidates.safetensors"));
        }
    }
}

#[test]
fn other_files_with_bad_lines_are_refused_by_number() {
    let folder = inputs();
    let long = vec![b'x'; 100 << 20];
    // A byte order mark, carriage returns and blank lines are ignored.
    let text = folder.text("releases.jsonl").replace('\n', "\r\n\r\n");
    folder.write("crlf.jsonl", format!("\u{feff}{text}"));
    let decode = |input, out| {
        format!("decode --candidates a.candidates.safetensors --in {input} --out {out}")
    };
    folder.succeed(decode("crlf.jsonl", "crlf.out"));
    folder.succeed(decode("releases.jsonl", "lf.out"));
    assert!(folder.bytes("crlf.out") == folder.bytes("lf.out"));
    let readers = [
        "vocabulary --out o.pack --vectors",
        "project --dimension 2 --out o.pack --vectors",
        "vocabulary --out o.pack --vectors vectors.txt --keep",
        "keywords --corpus public.jsonl --words 3 --out o.txt --stop-words",
        "obfuscate --pack words.pack --epsilon 1 --in private.tsv --out o.jsonl --keep",
        "obfuscate --pack words.pack --epsilon 1 --in private.tsv --out o.jsonl --stop-words",
    ];
    // Readers of word vectors skip and count lines that are not UTF-8.
    let lists = &readers[2..];
    for (readers, bytes, part) in [
        (&readers[..], &long[..], "line 2: longer than 65536 bytes"),
        (lists, b"\xff 1 2\n", "line 2: not UTF-8 at byte 1"),
    ] {
        folder.write("bad.txt", [b"soup 1 2 3\n", bytes].concat());
        for reader in readers {
            folder.refuse(format!("{reader} bad.txt"), &["bad.txt", part]);
        }
    }
}

/// Wrong files given as a pack, as candidates or as a text.
#[test]
fn other_files_are_refused_by_name() {
    let folder = inputs();
    let pack = folder.bytes("a.pack");
    let long = [&pack[..], &vec![0; 100 << 20]].concat();
    let files: [(&str, &[u8]); 4] = [
        ("empty", b""),
        ("cut", &pack[..pack.len() / 2]),
        ("long", &long),
        ("text", b"\xff secret words"),
    ];
    for (name, bytes) in files {
        folder.write(name, bytes);
    }
    fs::create_dir(folder.join("folder")).unwrap();
    for reader in [
        "inspect",
        "candidates",
        "audit --out o",
        "privatize --epsilon 1 --in private.tsv --out o.jsonl --pack",
        "obfuscate --epsilon 1 --in private.tsv --out o.jsonl --pack",
        "decode --in releases.jsonl --out o.jsonl --candidates",
    ] {
        for (name, _) in files {
            let what = ["not a usable pack", "not a candidates file"];
            let arguments = format!("{reader} {name}");
            let said = folder.refuse(&arguments, &[&format!("`{name}`")]);
            assert!(what.iter().any(|what| said.contains(what)), "{said}");
            assert!(!said.contains("secret"), "{said}");
        }
        for (name, part) in [("absent", "No such file"), ("folder", "is a folder")] {
            folder.refuse(format!("{reader} {name}"), &[&format!("`{name}`"), part]);
        }
    }
    // Any file can be a text.
    folder.write("long", "So it is. ".repeat(10 << 20));
    folder.write("page", "<html>The clinic called.</html>");
    for name in ["text", "empty", "long", "page"] {
        folder.succeed(format!("demo --text {name}"));
    }
    folder.refuse("demo --text folder", &["`folder`", "is a folder"]);
}
