//! No part of a private text reaches the terminal or a file, whether a command succeeds, refuses a
//! line, or is interrupted.
//!
//! Chance: false alarm none, miss none. No outcome of a draw and no moment of a kill may leave a
//! private text.

use std::fs;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{Folder, GOLDEN, Model, fitting_tokenizer, write_encoder};

/// Strings that are in private texts only.
const MARKERS: [&str; 3] = ["zyxwmarker", "soup of marker", "Ärgermarker"];

const FILES: [&str; 6] = [
    "private.jsonl",
    "private.tsv",
    "broken.jsonl",
    "typed.jsonl",
    "latin.jsonl",
    "untabbed.tsv",
];

fn text(number: usize) -> String {
    format!(
        "The zyxwmarker needs salt {number}. Boil the soup of marker. Das \\u00c4rgermarker Ärgermarker."
    )
}

fn prepared() -> Folder {
    let folder = Folder::with_pack();
    let line = |number| format!("{{\"id\": \"{number}\", \"text\": \"{}\"}}\n", text(number));
    let good: String = (0..3).map(line).collect();
    folder.write("private.jsonl", &good);
    folder.write("private.tsv", format!("\t{}\n", text(0)));
    let broken = "{\"text\": \"zyxwmarker\", zyxwmarker\n";
    folder.write("broken.jsonl", format!("{good}{broken}"));
    let typed = "{\"text\": [\"zyxwmarker\"]}\n\"zyxwmarker\"\n";
    folder.write("typed.jsonl", format!("{good}{typed}"));
    let latin = b"{\"text\": \"zyxwmarker \xff\"}\n";
    folder.write("latin.jsonl", [good.as_bytes(), latin].concat());
    folder.write("untabbed.tsv", "zyxwmarker and no tabulator\n");
    folder
}

fn has_marker(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    MARKERS.iter().any(|marker| text.contains(marker))
}

fn assert_clean(folder: &Folder, what: &str, output: &Output) {
    for (name, bytes) in [("output", &output.stdout), ("errors", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        assert!(!has_marker(bytes), "{what}: in its {name}: {text}");
        assert!(!text.contains("panicked"), "{what}: {text}");
    }
    for path in folder.names() {
        let name = path.file_name().unwrap().to_str().unwrap();
        // No command writes into the folder of an encoder.
        if path.is_file() && !FILES.contains(&name) && name != "many.jsonl" {
            assert!(!has_marker(&fs::read(&path).unwrap()), "{what}: in {name}");
        }
    }
}

/// Runs a command, which must not disclose a text. Returns whether it succeeded.
fn is_done(folder: &Folder, line: &str) -> bool {
    let output = folder.run(line);
    assert_clean(folder, line, &output);
    output.status.success()
}

/// The commands that read private texts.
fn commands(input: &str, out: &str) -> [String; 2] {
    let rest = format!("--epsilon 3 --in {input} --out {out}");
    [
        format!("privatize --pack a.pack {rest}"),
        format!("obfuscate --words 5 --pack {GOLDEN} {rest}"),
    ]
}

#[test]
fn no_text_in_output_errors_and_files() {
    let folder = prepared();
    // The check recognises a marker.
    assert!(has_marker(&folder.bytes("private.jsonl")));
    for input in FILES {
        for arguments in commands(input, "out.jsonl") {
            assert_eq!(is_done(&folder, &arguments), input.starts_with("private"));
            let _ = fs::remove_file(folder.join("out.jsonl"));
        }
    }
}

#[test]
fn no_text_in_what_wrong_files_and_encoders_say() {
    let folder = prepared();
    // A file of texts in the place of an encoder, a pack, releases or candidates.
    for arguments in [
        "privatize --pack a.pack --epsilon 3 --in private.jsonl --out b --encoder nowhere",
        "privatize --pack a.pack --epsilon 3 --in private.jsonl --out b --encoder private.jsonl",
        "privatize --pack private.jsonl --epsilon 3 --in public.tsv --out b",
        "decode --candidates a.candidates.safetensors --in typed.jsonl --out b",
        "decode --candidates private.jsonl --in private.jsonl --out b",
    ] {
        assert!(!is_done(&folder, arguments), "{arguments}");
    }
}

/// An error for unknown words would reveal to the author of an encoder whether a text has a word,
/// so a sentence that the encoder refuses has the zero vector. Nor does the run print the number of
/// sentences.
#[test]
fn no_sentence_makes_a_message() {
    let folder = prepared();
    let unknown = ["\"unk_token\": \"[UNK]\"", "\"unk_token\": \"[NO]\""];
    let tokenizer = fitting_tokenizer().replace(unknown[0], unknown[1]);
    write_encoder(&folder, "neural", &Model::default(), &tokenizer);
    folder.write("known.tsv", "a\tred red\nb\tgreen\na\tred\nb\tgreen red\n");
    folder.succeed("pack --encoder neural --corpus known.tsv --out n.pack");
    // In a public corpus such a sentence is an error.
    folder.write("unknown.tsv", "a\tred\nb\tsoup of marker\n");
    let public = "pack --encoder neural --corpus unknown.tsv --out n.pack";
    folder.fail(public, &["a sentence of 14 bytes"]);
    folder.remove("unknown.tsv");

    let run = |texts: &str| {
        folder.write("private.tsv", texts);
        let arguments =
            "privatize --pack n.pack --encoder neural --epsilon 3 --in private.tsv --out o.jsonl";
        let output = folder.run(arguments);
        assert!(output.status.success());
        assert_clean(&folder, "an unknown word", &output);
        // The messages without their times.
        let said = String::from_utf8(output.stderr).unwrap();
        let mut others = said.lines().filter(|line| !line.starts_with("rule: "));
        assert!(!others.any(|line| line.contains("sentence")), "{said}");
        said.split(" in ").next().unwrap().to_owned()
    };
    let unknown = "\tred\n\tzyxwmarker.\n\n\tred. soup of marker. Ärgermarker!\n";
    assert_eq!(run(unknown), run("\tred\n\tgreen\n\tred\n"));
}

#[test]
fn no_text_in_what_an_interrupted_run_leaves() {
    let folder = prepared();
    folder.write("many.jsonl", folder.text("private.jsonl").repeat(13_000));
    for arguments in commands("many.jsonl", "many-out.jsonl") {
        let mut child = folder
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whether the partial file has content.
        let is_partial = || {
            let names = folder.names().into_iter();
            let mut partial = names.filter(|path| path.to_str().unwrap().contains("many-out"));
            partial.any(|path| path.metadata().is_ok_and(|file| file.len() > 0))
        };
        while !is_partial() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        assert!(is_partial(), "nothing was left to look at");
        assert_clean(&folder, &format!("{arguments:?}, interrupted"), &output);
    }
}
