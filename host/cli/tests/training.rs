//! `undertone pack` with training, run as a user runs it, on the demo corpus with the built-in lexicon.
//!
//! Chance: false alarm none, miss none. A training that is killed at any moment, or never, must end as if undisturbed.
#![cfg(feature = "train")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{names, seed, soak};
use undertone::demo;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    command.current_dir(folder).args(arguments);
    command
}

/// What a run that must succeed says on standard error.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {shown}");
    shown
}

fn corpus() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines = demo::corpus(1).into_iter().map(|document| {
        let line = serde_json::json!({"label": document.label, "text": document.text});
        format!("{line}\n")
    });
    fs::write(folder.path().join("c.jsonl"), lines.collect::<String>()).unwrap();
    folder
}

const PACK: [&str; 5] = ["pack", "--corpus", "c.jsonl", "--out", "a.pack"];

#[test]
fn heads_are_trained_for_an_epsilon() {
    let folder = corpus();
    let folder = folder.path();
    succeed(
        folder,
        &[&PACK[..], &["--train", "3", "--epochs", "3"]].concat(),
    );
    let trained = fs::read(folder.join("a.pack")).unwrap();
    let scores = Pack::parse(&trained).unwrap().scores().unwrap();
    assert_eq!((scores.candidate_count(), scores.largest_score()), (12, 8));
    let plot = fs::read_to_string(folder.join("a.loss.svg")).unwrap();
    assert!(
        plot.starts_with("<svg") && plot.contains("polyline"),
        "{plot}"
    );
    succeed(folder, &PACK);
    assert_ne!(fs::read(folder.join("a.pack")).unwrap(), trained);
    assert_eq!(names(folder).len(), 4, "{:?}", names(folder));
}

#[test]
fn an_interrupted_training_goes_on() {
    let folder = corpus();
    let folder = folder.path();
    let train = |out: &'static str| {
        let recoder = ["--selector", "depth", "--recoder", "12", "--epochs", "12"];
        [&["pack", "--corpus", "c.jsonl", "--out", out], &recoder[..]].concat()
    };
    succeed(folder, &train("undisturbed.pack"));

    let partial = folder.join("killed.pack.training.partial");
    let before = names(folder);
    loop {
        let mut child = command(folder, &train("killed.pack"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !partial.exists() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        child.wait().unwrap();
        if partial.exists() && !folder.join("killed.pack").exists() {
            break;
        }
        // It was over before this test, on a busy machine, had its turn.
        for path in names(folder) {
            if !before.contains(&path) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    let shown = succeed(folder, &train("killed.pack"));
    assert!(shown.contains("epoch"), "{shown}");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(read("killed.pack") == read("undisturbed.pack"));
    // Two packs, each with candidates and losses, and the corpus.
    assert_eq!(names(folder).len(), 7, "{:?}", names(folder));

    let bytes = read("killed.pack");
    let pack = Pack::parse(&bytes).unwrap();
    assert!(pack.recoder().is_some() && pack.depth().is_some());
}

/// At any time of reading, encoding, training and writing; again and again, without and with a checkpoint.
#[test]
fn a_training_that_was_killed_at_any_time_ends_as_if_undisturbed() {
    let rounds = if soak() { 30 } else { 2 };
    let mut rng = PublicRng::new(seed());
    let folder = corpus();
    let folder = folder.path();
    for how in [
        &["--train", "3", "--epochs", "6"][..],
        &["--selector", "depth", "--recoder", "12", "--epochs", "6"],
    ] {
        let train = [&PACK[..], how].concat();
        let start = Instant::now();
        succeed(folder, &train);
        let taken = start.elapsed();
        let read = || -> Vec<(PathBuf, Vec<u8>)> {
            let files = names(folder).into_iter();
            files
                .map(|path| (path.clone(), fs::read(&path).unwrap()))
                .collect()
        };
        let expected = read();
        let mut kills = 0;
        for _ in 0..rounds {
            for (path, _) in &expected {
                if !path.ends_with("c.jsonl") {
                    fs::remove_file(path).unwrap();
                }
            }
            for _ in 0..1 + rng.next_u64() % 3 {
                let mut child = command(folder, &train)
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                thread::sleep(taken.mul_f64((rng.next_u64() % 1000) as f64 / 900.0));
                child.kill().unwrap();
                kills += usize::from(!child.wait().unwrap().success());
            }
            succeed(folder, &train);
            assert!(read() == expected, "{how:?}: another result");
        }
        println!(
            "{how:?}: {kills} kills in {rounds} runs of {} ms",
            taken.as_millis()
        );
        for (path, _) in &expected {
            if !path.ends_with("c.jsonl") {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let folder = corpus();
    let folder = folder.path();
    fs::write(folder.join("one.tsv"), "0\tOne sentence. Another one.\n").unwrap();
    let before = names(folder);
    for (arguments, message) in [
        (
            &["--train", "3", "--selector", "depth"][..],
            "--train is for --selector scores",
        ),
        (&["--recoder", "12"], "--recoder is for --selector depth"),
        (&["--train", "3", "--epochs", "0"], "epochs"),
        (&["--selector", "depth", "--recoder", "481"], "481"),
        (
            &["--train", "3", "--corpus", "one.tsv"],
            "all 1 documents have the same label",
        ),
    ] {
        let pack = ["pack", "--out", "a.pack"];
        let corpus = ["--corpus", "c.jsonl"];
        let corpus = if arguments.contains(&"--corpus") {
            &[][..]
        } else {
            &corpus
        };
        let output = command(folder, &[&pack[..], corpus, arguments].concat())
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && shown.contains(message),
            "{arguments:?}: {shown}"
        );
        assert!(!shown.contains("panicked"), "{arguments:?}: {shown}");
        assert_eq!(names(folder), before, "{arguments:?} left something behind");
    }
}
