//! Every release path takes the same number of instructions for all documents. Callgrind counts the
//! instructions of the released C library in the programs of `tests/constant-work`, with the same
//! random bytes each time.
//!
//! `UNDERTONE_SOAK=1` adds packs of realistic size, the portable kernels and, step by step, the
//! AVX-512 kernels, which valgrind does not support. It takes some minutes.
//!
//! Chance: false alarm none, miss none. Random bytes are replayed; callgrind counts instructions,
//! not time.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{self, build_library, have, output_dir, printed, root, run, static_library};
use undertone_tests::soak;

/// A path, and what the work of its calls may depend on, such as the quarter that the released
/// candidate lies in.
type Shown = (String, String);

/// The number of instructions of each call of a path and, if known, a digest of them.
type Counts = BTreeMap<Shown, Vec<(u64, String)>>;

const GOLDEN: [&str; 8] = [
    "golden.pack",
    "golden-topic.form",
    "golden-scores.pack",
    "golden-vote.pack",
    "golden-recoded.pack",
    "golden-features.pack",
    "golden-vectors.pack",
    "golden.form",
];

fn golden(names: &[&str]) -> Vec<PathBuf> {
    let folder = root().join("tests/golden");
    names.iter().map(|name| folder.join(name)).collect()
}

/// Compiles a program, with all symbols bound at its start.
fn compile(name: &str, file: &str, library: Option<&Path>) -> PathBuf {
    let flags = ["-std=gnu99", "-O1", "-Wno-pedantic", "-Wl,-z,now"];
    let source = format!("tests/constant-work/{file}");
    common::compile("gcc", name, &[&source], library, &flags)
}

/// The backend, and the counts by callgrind.
fn by_callgrind(program: &Path, mode: &str, packs: &[PathBuf]) -> (String, Counts) {
    let dumps = program.with_extension(mode);
    let backend = printed(run(Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--combine-dumps=yes"])
        .arg(format!("--callgrind-out-file={}", dumps.display()))
        .arg(program)
        .arg(mode)
        .args(packs)));
    let mut counts = Counts::new();
    let mut label = None;
    for line in fs::read_to_string(&dumps).expect("dumps").lines() {
        if let Some(trigger) = line.strip_prefix("desc: Trigger: Client Request: ") {
            label = Some(trigger.to_owned());
        } else if let (Some(total), Some(_)) = (line.strip_prefix("totals: "), &label) {
            let count = total.parse().expect("a number of instructions");
            add(&mut counts, &label.take().unwrap_or_default(), count, "");
        }
    }
    (backend.trim().to_owned(), counts)
}

/// The same, counted by the processor itself.
fn by_steps(program: &Path, packs: &[PathBuf]) -> (String, Counts) {
    let steps = compile("constant-steps", "steps.c", None);
    // Two runs can be compared only without randomised addresses.
    let output = printed(run(Command::new(steps)
        .arg(program)
        .arg("steps")
        .args(packs)));
    let (mut counts, mut backend) = (Counts::new(), String::new());
    for line in output.lines() {
        match line.rsplitn(3, '|').collect::<Vec<_>>()[..] {
            [digest, count, label] => {
                let count = count.parse().expect("a number of instructions");
                add(&mut counts, label, count, digest);
            }
            _ => backend = line.to_owned(),
        }
    }
    (backend, counts)
}

fn add(counts: &mut Counts, label: &str, count: u64, digest: &str) {
    let [path, _, public] = label.split('|').collect::<Vec<_>>()[..] else {
        panic!("{label} is no name of a call");
    };
    let calls = counts.entry((path.to_owned(), public.to_owned()));
    calls.or_default().push((count, digest.to_owned()));
}

fn spread(calls: &[(u64, String)]) -> u64 {
    let counts = || calls.iter().map(|(count, _)| *count);
    counts().max().unwrap_or(0) - counts().min().unwrap_or(0)
}

/// Prints a table, and returns whether all calls of each path are equal.
fn judge(title: &str, counts: &Counts) -> bool {
    println!("\n{title}\n\n| path | calls | instructions | spread |");
    println!("| --- | ---: | ---: | ---: |");
    let mut same = true;
    for ((path, public), calls) in counts {
        // Paths with only one quarter need no comparison.
        let quarters = counts.keys().filter(|(other, _)| other == path).count();
        let public = if quarters > 1 {
            format!(", released from quarter {public}")
        } else {
            String::new()
        };
        let (count, spread) = (calls.len(), spread(calls));
        let least = calls.iter().map(|(count, _)| count).min().unwrap_or(&0);
        println!("| {path}{public} | {count} | {least} | {spread} |");
        same &= spread == 0 && calls.iter().all(|(_, digest)| *digest == calls[0].1);
    }
    same
}

fn tools() -> bool {
    have("gcc", "gcc") && have("valgrind", "valgrind")
}

#[test]
fn instructions_do_not_depend_on_documents() {
    if !tools() {
        return;
    }
    let program = compile("constant-work", "desktop.c", Some(static_library()));
    let (backend, counts) = by_callgrind(&program, "callgrind", &golden(&GOLDEN));
    let same = judge(&format!("`{backend}`, golden packs and form:"), &counts);
    // Every path exists: 6 in each of 5 packs, 2 of 3 for each rule; whole texts; words; vectors; a
    // ledger.
    let calls: usize = counts.values().map(Vec::len).sum();
    assert!(
        counts.len() >= 90 && calls >= 1400,
        "{} paths, {calls} calls",
        counts.len()
    );
    assert!(
        same,
        "instructions depend on what documents say: see the table above"
    );
}

/// The check can fail: it finds a branch on one coordinate and an early exit for sentences of
/// zeroes.
#[test]
fn planted_branches_are_found() {
    if !tools() {
        return;
    }
    let library = Some(static_library());
    let program = compile("constant-planted", "desktop.c", library);
    let (_, counts) = by_callgrind(&program, "planted", &golden(&GOLDEN[..1]));
    assert_eq!(counts.len(), 2);
    for ((path, _), calls) in &counts {
        println!("{path}: spread {}", spread(calls));
        assert!(spread(calls) > 0, "{path} is not found");
    }
    assert!(!judge("planted", &counts));
}

#[test]
fn instructions_for_large_packs_and_of_all_kernels_do_not_depend_on_documents() {
    if !soak() || !tools() || !have("python3", "python3") {
        return;
    }
    let folder = output_dir().join("constant-packs");
    fs::create_dir_all(&folder).expect("a folder");
    let packs = root().join("tests/cortex-m/packs.py");
    run(Command::new("python3").arg(packs).arg(&folder));
    let packs = ["small.pack", "large.pack", "scores.pack", "projection.pack"];
    let large = packs.iter().map(|name| folder.join(name));
    let packs: Vec<PathBuf> = large.chain(golden(&GOLDEN)).collect();
    let program = compile("constant-work-long", "desktop.c", Some(static_library()));
    let (backend, counts) = by_callgrind(&program, "callgrind", &packs);
    let mut same = judge(&format!("`{backend}`, callgrind:"), &counts);
    let target = output_dir().join("target-portable");
    let variables = [
        ("CARGO_TARGET_DIR", target.to_str().expect("text")),
        ("RUSTFLAGS", "--cfg undertone_backend=\"portable\""),
    ];
    let library = build_library("static", "portable", &[], &variables);
    let program = compile("constant-work-portable", "desktop.c", Some(&library));
    let (backend, counts) = by_callgrind(&program, "callgrind", &packs);
    assert_eq!(backend, "portable");
    same &= judge("`portable`, callgrind:", &counts);
    let (backend, counts) = by_steps(&program, &golden(&["golden-vote.pack"]));
    let title = format!("`{backend}`, by the processor, the same instructions in the same order:");
    same &= judge(&title, &counts);
    assert!(
        same,
        "instructions depend on what documents say: see the table above"
    );
}
