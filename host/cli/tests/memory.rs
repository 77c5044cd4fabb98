//! Memory that does not grow with the corpus.
//!
//! `UNDERTONE_SOAK=1 cargo test --release -p undertone-cli --test all memory:: -- --nocapture`
//! prints the table at 1, 10 and 100 times a corpus. Without the variable the test runs at 1 and 10
//! times a small corpus.
//!
//! Chance: false alarm none, miss none. Peaks vary by less than 1 MiB from run to run. Limits are
//! at least 9 MiB away, and a growing command takes 100 MiB more.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;

use crate::common::{Folder, gzip, soak, through};
use undertone::demo;

/// Growth allowed for ten times the corpus, in KiB: threads and allocators vary from run to run,
/// and each document leaves a few bytes.
const SLACK: u64 = 12 << 10;

/// Additional memory of k-means, in KiB: two copies of the means of at most 32,768 documents, of
/// 128 coordinates each.
const SAMPLE: u64 = (2 * 32_768 * 128 * 4) >> 10;

/// Python program that runs a command and prints its peak memory in KiB from `wait4`, which would
/// require unsafe code in Rust.
const PEAK: &str = "import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) & 255)";

/// Runs a command. Returns whether it succeeded, and its peak memory in KiB.
fn peak(folder: &Folder, line: &str) -> (bool, u64) {
    let output = through(folder, "python3", &["-c", PEAK], line)
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let last = shown.lines().last().unwrap_or_default();
    let kib = last
        .parse()
        .unwrap_or_else(|_| panic!("{line}: {shown}{said}"));
    (output.status.success(), kib)
}

fn can_measure() -> bool {
    let can = Command::new("python3").arg("--version").output();
    let can = can.is_ok_and(|output| output.status.success());
    if !can {
        println!("NOT CHECKED: peak memory; python3 measures it");
    }
    can
}

/// Writes the demo's documents repeatedly, with new ids.
fn write_corpus(folder: &Folder, documents: usize) {
    let texts = demo::corpus(1);
    let mut file = BufWriter::new(File::create(folder.join("c.jsonl")).unwrap());
    for (number, document) in texts.iter().cycle().take(documents).enumerate() {
        let (label, text) = (&document.label, &document.text);
        let line = serde_json::json!({"id": number, "label": label, "text": text});
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
}

const COMMANDS: [&str; 8] = [
    "encode --corpus c.jsonl --out e.safetensors",
    "pack --heads vectors --corpus c.jsonl --out l.pack",
    "pack --heads vectors --corpus c.jsonl --clusters 30 --out c.pack",
    "pack --corpus c.jsonl --selector depth --min-sentences 2 --candidates 20 --out d.pack",
    "privatize --pack a.pack --epsilon 3 --in c.jsonl --out r.jsonl",
    "decode --candidates a.candidates.safetensors --in r.jsonl --out d.jsonl",
    "obfuscate --pack w.pack --epsilon 3 --words 10 --in c.jsonl --out b.jsonl",
    "keywords --corpus c.jsonl --words 300 --out k.txt",
];

#[test]
fn memory_does_not_grow_with_the_corpus() {
    if !can_measure() {
        return;
    }
    let (base, times) = if soak() {
        (500, &[1, 10, 100][..])
    } else {
        (50, &[1, 10][..])
    };
    let folder = Folder::new();
    write_corpus(&folder, 50);
    folder.succeed("pack --corpus c.jsonl --out a.pack");
    let words: String = (0..100).map(|n| format!("word{n} {n} 0 1\n")).collect();
    folder.write("w.txt", words);
    folder.succeed("vocabulary --vectors w.txt --out w.pack");
    let mut table = vec![Vec::new(); COMMANDS.len()];
    for times in times {
        write_corpus(&folder, base * times);
        for (line, row) in COMMANDS.iter().zip(&mut table) {
            let (succeeded, kib) = peak(&folder, line);
            assert!(succeeded, "{line}");
            row.push(kib);
        }
    }
    let documents = times
        .iter()
        .map(|times| format!(" {} documents |", times * base));
    println!("| peak memory, MiB |{}", documents.collect::<String>());
    println!("| --- |{}", " ---: |".repeat(times.len()));
    for (line, row) in COMMANDS.iter().zip(&table) {
        let mib = row
            .iter()
            .map(|kib| format!(" {:.1} |", *kib as f64 / 1024.0));
        println!("| `{line}` |{}", mib.collect::<String>());
    }
    for (line, row) in COMMANDS.iter().zip(&table) {
        let sample = if line.contains("clusters") { SAMPLE } else { 0 };
        for (before, after) in row.iter().zip(&row[1..]) {
            assert!(
                *after < before + SLACK + sample,
                "{line}: {before} KiB, then {after} KiB"
            );
        }
    }
}

/// Memory is at most a few times the longest accepted line, whatever the length of the line.
#[test]
fn memory_does_not_grow_with_a_line() {
    if !can_measure() {
        return;
    }
    let folder = Folder::new();
    write_corpus(&folder, 50);
    folder.succeed("pack --corpus c.jsonl --out a.pack");
    // Decompresses to 10 GB.
    folder.write("bomb.tsv.gz", gzip(vec![b'x'; 16 << 20]).repeat(640));
    let long = [b"\t".as_slice(), &vec![b'x'; 100 << 20]].concat();
    folder.write("long.tsv", &long);
    let most = 16 << 20;
    folder.write("most.tsv", &long[..most]);
    let mut inputs = vec![("long.tsv", 64), ("bomb.tsv.gz", 64), ("most.tsv", 320)];
    if soak() {
        for (name, piece) in [
            ("quotes.jsonl", "\\\""),
            ("sentences.jsonl", "One. "),
            ("paragraphs.jsonl", "a\\n\\n"),
        ] {
            let text = piece.repeat(most / piece.len() - 9);
            folder.write(name, format!("{{\"text\":\"{text}\"}}"));
            inputs.push((name, 320));
        }
    }
    for (input, limit) in inputs {
        let encode = format!("encode --messages --corpus {input} --out o");
        let privatize = "privatize --messages --pack a.pack --epsilon 1 --out o --in";
        for line in [encode, format!("{privatize} {input}")] {
            let (succeeded, kib) = peak(&folder, &line);
            println!("{line}: {succeeded}, {} MiB", kib >> 10);
            assert_eq!(succeeded, limit == 320, "{line}");
            assert!(kib < limit << 10, "{line}: {kib} KiB");
        }
    }
}
