//! `undertone-lab heads` and `recoder`, run as commands on the demo corpus with the built-in
//! lexicon.
//!
//! Chance: false alarm none, miss none. A training that is killed at any moment must end like an
//! undisturbed one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, names, seed, soak};
use undertone::demo;
use undertone::encoder::{Encoder, LexiconEncoder};
use undertone::pack::trained::{Recoder, ScoreHeads};
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(common::PROGRAM);
    command.current_dir(folder).args(arguments);
    command
}

/// Runs the command, which must succeed, and returns its standard error.
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

const HEADS: [&str; 9] = [
    "heads",
    "--corpus",
    "c.jsonl",
    "--epsilon",
    "3",
    "--out",
    "a.safetensors",
    "--epochs",
    "3",
];

#[test]
fn heads_are_trained_for_an_epsilon() {
    let folder = corpus();
    let folder = folder.path();
    succeed(folder, &HEADS);
    let encoder = LexiconEncoder::embedded();
    let labels = demo::corpus(1)
        .into_iter()
        .filter_map(|document| document.label);
    let labels: BTreeSet<String> = labels.collect();
    let labels: Vec<String> = labels.into_iter().collect();
    let path = folder.join("a.safetensors");
    let heads = ScoreHeads::read(&path, &labels, encoder.identity(), encoder.dimension()).unwrap();
    assert_eq!((heads.bias.len(), heads.thresholds.len()), (12, 8));
    let plot = fs::read_to_string(folder.join("a.loss.svg")).unwrap();
    assert!(
        plot.starts_with("<svg") && plot.contains("polyline"),
        "{plot}"
    );
    assert_eq!(names(folder).len(), 3, "{:?}", names(folder));

    succeed(folder, &[&HEADS[..], &["--clusters", "5"]].concat());
    let clusters: Vec<String> = (0..5).map(|number| format!("cluster-{number}")).collect();
    ScoreHeads::read(&path, &clusters, encoder.identity(), encoder.dimension()).unwrap();
}

#[test]
fn an_interrupted_training_goes_on() {
    let folder = corpus();
    let folder = folder.path();
    let train = |out: &'static str| {
        let clusters = ["--clusters", "12", "--epochs", "12"];
        [
            &["recoder", "--corpus", "c.jsonl", "--out", out],
            &clusters[..],
        ]
        .concat()
    };
    succeed(folder, &train("undisturbed"));

    let partial = folder.join("killed.training.partial");
    let before = names(folder);
    loop {
        let mut child = command(folder, &train("killed"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !partial.exists() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        child.wait().unwrap();
        if partial.exists() && !folder.join("killed").exists() {
            break;
        }
        // On a busy machine the training can end before this test kills it.
        for path in names(folder) {
            if !before.contains(&path) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    let shown = succeed(folder, &train("killed"));
    assert!(shown.contains("epoch"), "{shown}");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(read("killed") == read("undisturbed"));
    // Two recoders with their losses, and the corpus.
    assert_eq!(names(folder).len(), 5, "{:?}", names(folder));

    let encoder = LexiconEncoder::embedded();
    let path = folder.join("killed");
    let recoder = Recoder::read(&path, encoder.identity(), encoder.dimension()).unwrap();
    assert_eq!(recoder.outputs(), encoder.dimension());
}

/// Kills it while it reads, encodes, trains and writes, repeatedly, with and without a checkpoint.
#[test]
fn a_training_that_was_killed_at_any_time_ends_as_if_undisturbed() {
    let rounds = if soak() { 30 } else { 2 };
    let mut rng = PublicRng::new(seed());
    let folder = corpus();
    let folder = folder.path();
    for how in [
        &["heads", "--epsilon", "3"][..],
        &["recoder", "--clusters", "12"],
    ] {
        let files = ["--corpus", "c.jsonl", "--out", "a", "--epochs", "6"];
        let train = [how, &files].concat();
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
    for (arguments, message) in [
        (&["heads", "--epsilon", "3", "--epochs", "0"][..], "epochs"),
        (&["heads", "--epsilon", "0"], "epsilon"),
        (&["recoder", "--clusters", "481"], "481"),
        (
            &["heads", "--epsilon", "3", "--corpus", "one.tsv"],
            "all 1 documents have the same label",
        ),
    ] {
        let corpus = ["--corpus", "c.jsonl"];
        let corpus = if arguments.contains(&"--corpus") {
            &[][..]
        } else {
            &corpus
        };
        let arguments = [arguments, corpus, &["--out", "a"]].concat();
        common::refuse(folder, &arguments, &[message]);
    }
}
