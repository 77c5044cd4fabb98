//! No part of a private text reaches the terminal or a file, whether a command succeeds, refuses a
//! line, or is interrupted.
//!
//! Chance: false alarm none, miss none. No outcome of a draw and no moment of a kill may leave a
//! private text.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{self, succeed, undertone};
use tempfile::TempDir;

/// Strings that are in private texts only.
const MARKERS: [&str; 3] = ["zyxwmarker", "soup of marker", "Ärgermarker"];

const FILES: [&str; 7] = [
    "private.jsonl",
    "private.tsv",
    "broken.jsonl",
    "typed.jsonl",
    "latin.jsonl",
    "untabbed.tsv",
    "many.jsonl",
];

fn text(number: usize) -> String {
    format!(
        "The zyxwmarker needs salt {number}. Boil the soup of marker. Das \\u00c4rgermarker Ärgermarker."
    )
}

fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let public =
        "Food\tThe soup needs salt. Boil the potatoes.\nSky\tA comet passed. Stars twinkle.\n"
            .repeat(9);
    fs::write(path("public.tsv"), public).unwrap();
    let line = |number| format!("{{\"id\": \"{number}\", \"text\": \"{}\"}}\n", text(number));
    let good: String = (0..3).map(line).collect();
    fs::write(path("private.jsonl"), &good).unwrap();
    fs::write(path("private.tsv"), format!("\t{}\n", text(0))).unwrap();
    fs::write(
        path("broken.jsonl"),
        format!("{good}{{\"text\": \"zyxwmarker\", zyxwmarker\n"),
    )
    .unwrap();
    let typed = "{\"text\": [\"zyxwmarker\"]}\n\"zyxwmarker\"\n";
    fs::write(path("typed.jsonl"), format!("{good}{typed}")).unwrap();
    let mut latin = good.clone().into_bytes();
    latin.extend(b"{\"text\": \"zyxwmarker \xff\"}\n");
    fs::write(path("latin.jsonl"), latin).unwrap();
    fs::write(path("untabbed.tsv"), "zyxwmarker and no tabulator\n").unwrap();
    fs::write(
        path("many.jsonl"),
        (0..40_000).map(line).collect::<String>(),
    )
    .unwrap();
    succeed(folder.path(), "pack --corpus public.tsv --out a.pack");
    folder
}

fn has_marker(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    MARKERS.iter().any(|marker| text.contains(marker))
}

fn assert_clean(folder: &Path, what: &str, output: &Output) {
    for (name, bytes) in [("output", &output.stdout), ("errors", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        assert!(!has_marker(bytes), "{what}: in its {name}: {text}");
        assert!(!text.contains("panicked"), "{what}: {text}");
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // No command writes into the folder of an encoder.
        if path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !FILES.contains(&name.as_str()) {
            assert!(!has_marker(&fs::read(&path).unwrap()), "{what}: in {name}");
        }
    }
}

/// The commands that read private texts.
fn commands(input: &str, out: &str) -> [String; 2] {
    let rest = format!("--epsilon 3 --in {input} --out {out}");
    // A pack with a small vocabulary.
    let words = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/golden.pack"
    );
    [
        format!("privatize --pack a.pack {rest}"),
        format!("obfuscate --words 5 --pack {words} {rest}"),
    ]
}

#[test]
fn no_text_in_output_errors_and_files() {
    let folder = prepared();
    // The check recognises a marker.
    assert!(has_marker(
        &fs::read(folder.path().join("private.jsonl")).unwrap()
    ));
    for input in FILES {
        if input == "many.jsonl" {
            continue;
        }
        for arguments in commands(input, "out.jsonl") {
            let output = undertone(folder.path(), &arguments);
            assert_eq!(
                output.status.success(),
                input.starts_with("private"),
                "{arguments:?}"
            );
            assert_clean(folder.path(), &format!("{arguments:?}"), &output);
            let _ = fs::remove_file(folder.path().join("out.jsonl"));
        }
    }
}

#[test]
fn no_text_in_what_wrong_files_and_encoders_say() {
    let folder = prepared();
    let private = |rest: &str| {
        let [privatize, _] = commands("private.jsonl", "out.jsonl");
        undertone(folder.path(), format!("{privatize} {rest}"))
    };
    assert_clean(folder.path(), "no encoder", &private("--encoder nowhere"));
    // A file of texts in place of an encoder.
    assert_clean(
        folder.path(),
        "a text as encoder",
        &private("--encoder private.jsonl"),
    );
    for arguments in [
        "privatize --pack private.jsonl --epsilon 3 --in public.tsv --out b",
        "decode --candidates a.candidates.safetensors --in typed.jsonl --out b",
        "decode --candidates private.jsonl --in private.jsonl --out b",
    ] {
        let output = undertone(folder.path(), arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert_clean(folder.path(), &format!("{arguments:?}"), &output);
    }
}

/// An error for unknown words would reveal to the author of an encoder whether a text has a word,
/// so a sentence that the encoder refuses has the zero vector. Nor does the run print the number of
/// sentences.
#[test]
fn no_sentence_makes_a_message() {
    let folder = prepared();
    let folder = folder.path();
    let tokenizer =
        common::fitting_tokenizer().replace("\"unk_token\": \"[UNK]\"", "\"unk_token\": \"[NO]\"");
    common::write_encoder(folder, "neural", &common::Model::default(), &tokenizer);
    let known = "a\tred red\nb\tgreen\na\tred\nb\tgreen red\n";
    fs::write(folder.join("known.tsv"), known).unwrap();
    let pack = "pack --encoder neural --corpus known.tsv --out n.pack";
    assert!(undertone(folder, pack).status.success());
    // In a public corpus such a sentence is an error.
    fs::write(folder.join("unknown.tsv"), "a\tred\nb\tsoup of marker\n").unwrap();
    let public = pack.replace("known.tsv", "unknown.tsv");
    let output = undertone(folder, &public);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("a sentence of 14 bytes"),
        "{said}"
    );
    fs::remove_file(folder.join("unknown.tsv")).unwrap();

    let run = |texts: &str| {
        fs::write(folder.join("private.tsv"), texts).unwrap();
        let privatize = "privatize --pack n.pack --encoder neural --epsilon 3";
        let arguments = format!("{privatize} --in private.tsv --out o.jsonl");
        let output = undertone(folder, &arguments);
        assert!(output.status.success());
        assert_clean(folder, "an unknown word", &output);
        // The messages without their times.
        let said = String::from_utf8(output.stderr).unwrap();
        let mut others = said.lines().filter(|line| !line.starts_with("rule: "));
        assert!(!others.any(|line| line.contains("sentence")), "{said}");
        let digits: String = said.split(" in ").next().unwrap().to_owned();
        (digits, output.stdout)
    };
    let taken = run("\tred\n\tgreen\n\tred\n");
    assert_eq!(
        run("\tred\n\tzyxwmarker.\n\n\tred. soup of marker. Ärgermarker!\n"),
        taken
    );
}

#[test]
fn no_text_in_what_an_interrupted_run_leaves() {
    let folder = prepared();
    for arguments in commands("many.jsonl", "many-out.jsonl") {
        let mut child = common::command(folder.path(), &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whether the partial file has content.
        let partial = |path: &Path| {
            fs::read_dir(path).unwrap().any(|entry| {
                let entry = entry.unwrap();
                entry.file_name().to_string_lossy().contains("many-out")
                    && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
            })
        };
        while !partial(folder.path()) && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        assert!(partial(folder.path()), "nothing was left to look at");
        assert_clean(
            folder.path(),
            &format!("{arguments:?}, interrupted"),
            &output,
        );
    }
}
