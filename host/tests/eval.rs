//! `undertone eval`, run as a user runs it, on the demo corpus with the built-in lexicon.
#![cfg(feature = "train")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use undertone::demo;
use undertone_core::lexicon::words;

fn eval(folder: &Path, arguments: &[&str]) -> Output {
    common::undertone(folder, &[&["eval", "sentences"], arguments].concat())
}

/// The demo corpus, with its topics in the field `topic`.
fn write_corpus(folder: &Path) {
    let lines = demo::corpus(1).into_iter().map(|document| {
        format!(
            "{}\n",
            serde_json::json!({"topic": document.label, "kind": "letter", "text": document.text})
        )
    });
    fs::write(folder.join("demo.jsonl"), lines.collect::<String>()).unwrap();
    let task = r#"{"name": "Demo, 12 topics", "train": "demo.jsonl", "label_field": "topic"}"#;
    fs::write(folder.join("demo.json"), task).unwrap();
}

/// Mechanisms that are compared.
const MECHANISMS: usize = 13;

/// Those of them that draw a candidate by levels.
const SELECTIONS: usize = 8;

const SMALL: [&str; 8] = [
    "--data",
    "demo.json",
    "--epsilons",
    "1,30",
    "--trials",
    "2",
    "--candidates",
    "150",
];

#[test]
fn a_run_gives_tables_and_one_page_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    write_corpus(folder.path());
    let mut tables = Vec::new();
    for out in ["first", "second", "second"] {
        let output = eval(folder.path(), &[&SMALL[..], &["--out", out]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert!(output.stdout.is_empty());
        let out = folder.path().join(out);
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        let table = read("f1-vs-epsilon.csv");
        // A head, then the mechanisms at two ε.
        assert_eq!(table.lines().count(), 1 + MECHANISMS * 2, "{table}");
        for line in table.lines().skip(1) {
            assert!(line.starts_with("\"Demo, 12 topics\",lexicon:"), "{line}");
            let end: Vec<&str> = line.rsplit(',').take(5).collect();
            let f1: f64 = end[3].parse().unwrap();
            assert!((0.0..=1.0).contains(&f1), "{line}");
            assert_eq!(end[4], "2", "{line}");
        }
        // Cut to 2, 4, 8 and 16 sentences; documents have at most 14.
        assert_eq!(
            read("f1-vs-sentences.csv").lines().count(),
            1 + MECHANISMS * 4
        );
        assert_eq!(read("privacy-loss.csv").lines().count(), 1 + SELECTIONS * 2);
        assert_eq!(read("timings.csv").lines().count(), 1 + 2 + MECHANISMS * 2);
        let encoders = read("encoders.csv");
        let costs: Vec<Vec<&str>> = encoders
            .lines()
            .skip(1)
            .map(|row| row.split(',').collect())
            .collect();
        assert_eq!(costs.len(), 1, "{encoders}");
        let [.., bytes, seconds] = costs[0][..] else {
            panic!("{encoders}");
        };
        assert!(
            (2_000_000..3_000_000).contains(&bytes.parse::<usize>().unwrap()),
            "{bytes}"
        );
        assert!(seconds.parse::<f64>().unwrap() > 0.0, "{seconds}");
        assert!(read("histograms.csv").contains(",all candidates,,0,"));
        let page = read("report.html");
        assert!(page.contains("What an encoder costs a device"));
        // Two plots of curves, and histograms.
        assert_eq!(page.matches("<svg").count(), 2 + SELECTIONS);
        assert_eq!(page.matches("</svg>").count(), 2 + SELECTIONS);
        for absent in ["<script", "<link", "src=", "NaN", "@import"] {
            assert!(!page.contains(absent), "{absent}");
        }
        for part in [
            "Demo, 12 topics",
            "eval sentences --data demo.json",
            "non-private",
            "±",
        ] {
            assert!(page.contains(part), "{part}");
        }
        tables.push((table, read("f1-vs-sentences.csv"), read("histograms.csv")));
    }
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[1], tables[2]);
}

#[test]
fn errors_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    write_corpus(folder.path());
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "one.json",
        r#"{"name": "o", "train": "demo.jsonl", "label_field": "kind"}"#,
    );
    write("absent.json", r#"{"name": "a", "train": "absent.jsonl"}"#);
    write("broken.json", r#"{"name": "b"}"#);
    write("file", "");
    for (data, out, parts) in [
        ("none.jsonl", "out", &["cannot open `none.jsonl`"][..]),
        ("absent.json", "out", &["cannot open `absent.jsonl`"]),
        (
            "broken.json",
            "out",
            &["`broken.json` is not a task file", "train"],
        ),
        (
            "demo.jsonl",
            "out",
            &["`demo.jsonl`", "has no label", "\"label\""],
        ),
        (
            "one.json",
            "out",
            &["`demo.jsonl`", "1 classes; at least 2"],
        ),
        ("demo.json", "file", &["cannot create the folder `file`"]),
        (
            "demo.json",
            "file/out",
            &["cannot create the folder `file/out`"],
        ),
    ] {
        let arguments = ["--data", data, "--out", out];
        common::refused(&eval(folder.path(), &arguments), &arguments, parts);
        let left = folder.path().join(out);
        assert!(!left.join("report.html").exists(), "{data} {out}");
    }
}

/// A vector for each word of the demo corpus, all far from each other.
fn write_word_vectors(folder: &Path) {
    let texts = demo::corpus(1).into_iter().map(|document| document.text);
    let words: BTreeSet<String> = texts
        .flat_map(|text| {
            words(&text)
                .map(|word| word.as_str().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    let side = 1 + (words.len() as f64).sqrt() as usize;
    let lines = words.iter().enumerate().map(|(number, word)| {
        let (x, y) = (0.1 * (number % side) as f64, 0.1 * (number / side) as f64);
        format!("{word} {x} {y} 1\n")
    });
    fs::write(folder.join("toy.txt"), lines.collect::<String>()).unwrap();
}

#[test]
fn words_are_exchanged_where_there_are_vectors() {
    let folder = tempfile::tempdir().unwrap();
    write_corpus(folder.path());
    write_word_vectors(folder.path());
    let arguments = [
        "--data",
        "demo.json",
        "--epsilons",
        "0.1,1000",
        "--trials",
        "2",
        "--candidates",
        "150",
        "--word-vectors",
        "toy.txt",
        "--word-documents",
        "30",
        "--cut-epsilon",
        "1000",
        "--out",
        "out",
    ];
    let output = eval(folder.path(), &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let table = fs::read_to_string(folder.path().join("out/f1-vs-epsilon.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + (MECHANISMS + 2) * 2, "{table}");
    // Trials and accuracy at both ε: some of the 12 topics are missing among so few documents.
    let row = |mechanism: &str| -> Vec<(String, f64)> {
        let own = table.lines().filter(|line| line.contains(mechanism));
        own.map(|line| {
            let end: Vec<&str> = line.rsplit(',').take(5).collect();
            (end[4].to_owned(), end[1].parse().unwrap())
        })
        .collect()
    };
    let plain = &row("non-private")[1];
    assert_eq!(plain.0, "2");
    for mechanism in ["each word: Laplace + nearest", "each word: selection"] {
        let [none, all] = &row(mechanism)[..] else {
            panic!("{table}");
        };
        assert_eq!((none.0.as_str(), all.0.as_str()), ("1", "1"));
        // With next to no ε the words are any words; with much of it they stay.
        assert!(none.1 < 0.4, "{mechanism}: {none:?}");
        assert!(
            (all.1 - plain.1).abs() < 0.15,
            "{mechanism}: {all:?}, {plain:?}"
        );
    }
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("Another promise") && page.contains("30 test documents"));

    let alone = eval(
        folder.path(),
        &[
            "--data",
            "demo.json",
            "--word-documents",
            "3",
            "--out",
            "out",
        ],
    );
    let errors = String::from_utf8_lossy(&alone.stderr);
    assert!(
        !alone.status.success() && errors.contains("--word-vectors"),
        "{errors}"
    );
}
