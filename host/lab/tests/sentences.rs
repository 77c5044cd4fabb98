//! `undertone-lab sentences`, run as a command on the demo corpus with the built-in lexicon.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common;
use undertone::demo;
use undertone_core::lexicon::words;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    common::undertone(folder, [&["sentences"], arguments].concat())
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

/// The number of mechanisms that are compared.
const MECHANISMS: usize = 13;

/// The number of mechanisms that draw a candidate by levels.
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
        let output = run(folder.path(), &[&SMALL[..], &["--out", out]].concat());
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
        // Four panels of curves by ε and four by number of sentences, and a histogram for each
        // selection.
        assert_eq!(page.matches("<svg").count(), 2 * 4 + SELECTIONS);
        common::check_page(&page);
        for part in [
            "Demo, 12 topics",
            "undertone-lab sentences --data demo.json",
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
        common::refused(&run(folder.path(), &arguments), arguments, parts);
        let left = folder.path().join(out);
        assert!(!left.join("report.html").exists(), "{data} {out}");
    }
}

/// Writes files beside the task files: valid and invalid public corpora.
fn write_corpora(folder: &Path) {
    write_corpus(folder);
    let line = |label: &str, n: usize| {
        let text = format!("The soup number {n} needs salt. Our team lost {n} times.");
        format!("{}\n", serde_json::json!({"label": label, "text": text}))
    };
    let lines = |labels: &[&str]| -> String {
        let lines = labels.iter().zip(1..);
        lines.map(|(label, n)| line(label, n)).collect()
    };
    let many: String = (0..60).map(|n| line(&n.to_string(), n)).collect();
    for (name, content) in [
        ("two.jsonl", lines(&["a", "b"].repeat(20))),
        ("few.jsonl", lines(&["a", "b", "a", "b"])),
        ("other.jsonl", lines(&["a", "c"])),
        ("many.jsonl", many),
        ("empty.jsonl", String::new()),
        (
            "short.jsonl",
            "{\"label\": \"a\", \"text\": \"Soup.\"}\n".repeat(20),
        ),
        ("bare.jsonl", "{\"text\": \"One. Two.\"}\n".to_owned()),
        (
            "flag.jsonl",
            lines(&["a"]) + "{\"label\": true, \"text\": \"One. Two.\"}\n",
        ),
        ("cut.jsonl", lines(&["a"]) + "{\"label\": \"b\""),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    fs::write(folder.join("latin1.tsv"), b"a\tThe caf\xe9.\n").unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    fs::create_dir(folder.join("out")).unwrap();
}

/// Messages name the file, the place in it, the expectation and the remedy; nothing is written.
#[test]
fn bad_task_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_corpora(folder);
    let fields = "its fields are name and train";
    let long = format!("{}{{}}", " ".repeat(1 << 20));
    let deep = "[".repeat(100_000);
    for (task, parts) in [
        // Defects of the file itself.
        ("", &["EOF while parsing", "line 1", fields][..]),
        ("name: t", &["expected", "line 1 column 2", fields]),
        (
            "{\"name\": \"t\",\n \"train\": }",
            &["line 2 column 11", fields],
        ),
        ("null", &["invalid type: null", fields]),
        ("[\"t\"]", &["invalid length 1", fields]),
        ("{} {}", &["missing field `name`", fields]),
        (&deep, &["invalid type: sequence", fields]),
        (&long, &["longer than 1048576 bytes", fields]),
        // Defects of its fields.
        (r#"{"name": "t"}"#, &["missing field `train`", "line 1"]),
        (r#"{"train": "two.jsonl"}"#, &["missing field `name`"]),
        (
            r#"{"name": 7, "train": "two.jsonl"}"#,
            &["integer `7`", "a string", "column 10"],
        ),
        (
            r#"{"name": "t", "train": ["two.jsonl"]}"#,
            &["invalid type: sequence", "path"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "messages": "no"}"#,
            &["\"no\"", "a boolean"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "label_field": null}"#,
            &["null", "a string"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": ["a"]}"#,
            &["sequence", "a map"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": {"A": "a"}}"#,
            &["a sequence"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "tset": "x"}"#,
            &["unknown field `tset`"],
        ),
        (
            r#"{"name": "t", "name": "u", "train": "two.jsonl"}"#,
            &["duplicate field `name`"],
        ),
        (
            r#"{"name": " ", "train": "two.jsonl"}"#,
            &["the name is empty"],
        ),
        // Defects of its classes.
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": {}}"#,
            &["at least 2", "found 0"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": {"A": ["*"]}}"#,
            &["found 1"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": {"A": ["a"], "B": []}}"#,
            &["the class \"B\" has no labels"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": {"A": ["a*", "b"], "B": ["c", "ab.*"]}}"#,
            &[
                "\"a*\" of the class \"A\"",
                "\"ab.*\" of \"B\"",
                "of one class",
            ],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "classes": {"A": ["a"], "B": ["x"]}}"#,
            &[
                "`two.jsonl`",
                "document line-2",
                "\"b\"",
                "no class of the task",
                "add it",
            ],
        ),
        // Defects of its corpora.
        (
            r#"{"name": "t", "train": "absent.jsonl"}"#,
            &["cannot open `absent.jsonl`", "is the name right"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "test": "absent.tsv"}"#,
            &["cannot open `absent.tsv`"],
        ),
        (
            r#"{"name": "t", "train": ""}"#,
            &["the name of a corpus is empty", fields],
        ),
        (
            r#"{"name": "t", "train": "task.json"}"#,
            &["unknown ending", ".jsonl"],
        ),
        (
            r#"{"name": "t", "train": "folder.jsonl"}"#,
            &["`folder.jsonl`", "is a folder"],
        ),
        (
            r#"{"name": "t", "train": "cut.jsonl"}"#,
            &["`cut.jsonl` line 2", "not one JSON"],
        ),
        (
            r#"{"name": "t", "train": "latin1.tsv"}"#,
            &["`latin1.tsv` line 1", "UTF-8 at byte 10"],
        ),
        (
            r#"{"name": "t", "train": "flag.jsonl"}"#,
            &[
                "`flag.jsonl` line 2",
                "\"label\" is not a string or a number",
            ],
        ),
        (
            r#"{"name": "t", "train": "bare.jsonl"}"#,
            &["document line-1 has no label", "label_field"],
        ),
        (
            r#"{"name": "t", "train": "empty.jsonl"}"#,
            &["`empty.jsonl`", "0 classes; at least 2"],
        ),
        (
            r#"{"name": "t", "train": "short.jsonl"}"#,
            &["2 and more sentences have 0 classes"],
        ),
        (
            r#"{"name": "t", "train": "demo.jsonl", "label_field": "kind"}"#,
            &[
                "1 classes; at least 2",
                "take another corpus or label_field",
            ],
        ),
        (
            r#"{"name": "t", "train": "few.jsonl"}"#,
            &[
                "`few.jsonl`",
                "4 documents to learn from and 0 to test",
                "at least 5 and 1",
            ],
        ),
        (
            r#"{"name": "t", "train": "few.jsonl", "test": "two.jsonl"}"#,
            &["4 documents to learn from"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "test": "empty.jsonl"}"#,
            &["40 documents to learn from and 0 to test on"],
        ),
        (
            r#"{"name": "t", "train": "two.jsonl", "test": "other.jsonl"}"#,
            &[
                "`other.jsonl`",
                "\"c\" does not occur in the training corpus",
                "add documents",
            ],
        ),
        (
            r#"{"name": "t", "train": "many.jsonl"}"#,
            &[
                "`many.jsonl`",
                "has no document among the 36 drawn to train on",
            ],
        ),
    ] {
        fs::write(folder.join("task.json"), task).unwrap();
        let arguments = ["--data", "task.json", "--out", "out"];
        let output = run(folder, &arguments);
        // The first 80 bytes identify a long file.
        common::refused(&output, [task.get(..80).unwrap_or(task)], parts);
        assert_eq!(common::names(&folder.join("out")).len(), 0, "{task}");
    }
    for bytes in [&b"\xff\xfe{\x00"[..], b"{\"name\": \"\xe9\"}"] {
        fs::write(folder.join("task.json"), bytes).unwrap();
        common::refuse(
            folder,
            ["sentences", "--data", "task.json", "--out", "out"],
            &["`task.json` is not a task file", "line 1", fields],
        );
    }
}

/// Writes a vector for each word of the demo corpus, all far from each other.
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
    let output = run(folder.path(), &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let table = fs::read_to_string(folder.path().join("out/f1-vs-epsilon.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + (MECHANISMS + 2) * 2, "{table}");
    // Trials and accuracy at both ε; some of the 12 topics are missing from this small number of
    // documents.
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
        // With almost no ε the released words are random; with a large ε they stay.
        assert!(none.1 < 0.4, "{mechanism}: {none:?}");
        assert!(
            (all.1 - plain.1).abs() < 0.15,
            "{mechanism}: {all:?}, {plain:?}"
        );
    }
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("Another promise") && page.contains("30 test documents"));

    let alone = run(
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
