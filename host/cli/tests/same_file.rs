//! No command destroys its input: an output that is an input or another output is refused before
//! anything is read, however the two paths are spelled or linked.
//!
//! Chance: false alarm none, miss none. No contents of releases are checked.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::common::{
    Folder, Model, PROGRAM, fitting_tokenizer, names, refused, rows, write_encoder,
};

fn inputs() -> Folder {
    let folder = Folder::with_pack();
    let public = folder.text("public.tsv");
    for name in ["private.tsv", "r.jsonl.0123456789abcdef.partial"] {
        folder.write(name, &public);
    }
    folder.write("v.txt", "soup 1 2\nsalt 2 1\n");
    for name in ["w.vocab.txt", "words", ".o.7-0.part"] {
        folder.write(name, "soup\nsalt\n");
    }
    write_encoder(&folder, "neural", &Model::default(), &fitting_tokenizer());
    folder.succeed("vocabulary --vectors v.txt --out w.pack");
    folder.succeed("privatize --pack a.pack --epsilon 1 --in private.tsv --out r.jsonl");
    folder
}

/// Commands whose output `OUT` would destroy the file that follows.
const COMMANDS: &str = "
    privatize --pack a.pack --epsilon 1 --in private.tsv --out OUT => private.tsv
    privatize --pack a.pack --epsilon 1 --in private.tsv --out OUT => a.pack
    privatize --pack a.pack --encoder neural --epsilon 1 --in private.tsv --out OUT => neural/model.onnx
    privatize --pack a.pack --epsilon 1 --in private.tsv --out o --budget 9 --ledger OUT => private.tsv
    obfuscate --pack w.pack --epsilon 1 --in private.tsv --out OUT => private.tsv
    obfuscate --pack w.pack --epsilon 1 --in private.tsv --out OUT => w.pack
    obfuscate --pack w.pack --keep words --epsilon 1 --in private.tsv --out OUT => words
    obfuscate --pack w.pack --stop-words words --epsilon 1 --in private.tsv --out OUT => words
    obfuscate --pack w.pack --stop-words .o.7-0.part --epsilon 1 --in private.tsv --out o => .o.7-0.part
    pack --corpus public.tsv --out OUT => public.tsv
    pack --corpus public.tsv --encoder neural --out OUT => neural/tokenizer.json
    pack --corpus public.tsv --encoder a.pack --out OUT => a.pack
    encode --corpus public.tsv --out OUT => public.tsv
    encode --corpus public.tsv --encoder neural/model.onnx --out OUT => neural/tokenizer.json
    decode --candidates a.candidates.safetensors --in r.jsonl --out OUT => r.jsonl
    decode --candidates a.candidates.safetensors --in r.jsonl --out OUT => a.candidates.safetensors
    decode --candidates a.candidates.safetensors --in r.jsonl --out o --rejected OUT => r.jsonl
    decode --candidates a.candidates.safetensors --in r.jsonl.0123456789abcdef.partial --out r.jsonl => r.jsonl.0123456789abcdef.partial
    keywords --corpus public.tsv --words 3 --out OUT => public.tsv
    keywords --corpus public.tsv --stop-words words --words 3 --out OUT => words
    vocabulary --vectors v.txt --out OUT => v.txt
    vocabulary --vectors w.npy --out OUT => w.vocab.txt
    vocabulary --vectors v.txt --keep words --corpus public.tsv --out OUT => public.tsv
    project --vectors v.txt --dimension 1 --out OUT => v.txt
    distil --corpus public.tsv --encoder neural --words 2 --dim 2 --out OUT => public.tsv
    distil --corpus public.tsv --encoder neural --words 2 --dim 2 --out OUT => neural/model.onnx
    distil --list words --encoder neural --dim 2 --out OUT => words
    distil --list words --vectors w.npy --dim 2 --out OUT => words
    distil --model2vec neural --dim 2 --out OUT => neural/tokenizer.json
    demo --text words --save OUT => words
";

fn contents(folder: &Folder) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let all = folder
        .names()
        .into_iter()
        .chain(names(&folder.join("neural")));
    all.filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn check(folder: &Folder, line: &str, out: &str) {
    let arguments = line.replace("OUT", out);
    let before = contents(folder);
    let status = folder.fail(&arguments, &["would destroy it", "name another file"]);
    assert_eq!(status, Some(1), "{arguments}");
    assert!(contents(folder) == before, "{arguments} changed something");
}

#[test]
fn an_output_is_no_input() {
    let folder = inputs();
    for [line, input] in rows(COMMANDS) {
        let whole = folder.join(input);
        let (soft, hard) = (folder.join("soft"), folder.join("hard"));
        symlink(&whole, &soft).unwrap();
        fs::hard_link(&whole, &hard).unwrap();
        let spelled = format!("neural/../{input}");
        for out in [input, &spelled, whole.to_str().unwrap(), "soft", "hard"] {
            check(&folder, line, out);
        }
        fs::remove_file(soft).unwrap();
        fs::remove_file(hard).unwrap();
    }
}

/// Files that are written beside an output, and the folder of a report.
#[test]
fn what_is_written_beside_an_output_is_no_input() {
    let folder = inputs();
    folder.write("c.candidates.safetensors", folder.bytes("words"));
    folder.write("p.certificate.json", folder.bytes("v.txt"));
    fs::create_dir(folder.join("report")).unwrap();
    symlink(folder.join("a.pack"), folder.join("report/checks.csv")).unwrap();
    for line in [
        "demo --text c.candidates.safetensors --save c.pack",
        "project --vectors p.certificate.json --dimension 1 --out p.pack",
        "audit a.pack --out report",
    ] {
        check(&folder, line, "");
    }
}

#[test]
fn two_outputs_are_two_files() {
    let folder = inputs();
    folder.write("old", "old");
    symlink("old", folder.join("link")).unwrap();
    for line in [
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out X --budget 9 --ledger X",
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out X --budget 9 --ledger ./X",
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out old --budget 9 --ledger link",
        "decode --candidates a.candidates.safetensors --in r.jsonl --out X --rejected neural/../X",
    ] {
        check(&folder, line, "");
        assert!(!folder.join("X").exists());
    }
    // The ending of the candidates differs from that of the pack.
    folder.succeed("demo --save X.candidates.safetensors");
}

#[test]
fn standard_streams_serve_where_they_can() {
    let folder = inputs();
    folder.refuse_all(
        "",
        "pack --corpus - --out o.pack => --corpus cannot be `-` | read several times
        encode --corpus - --out o => --corpus cannot be `-` | read several times
        pack --corpus public.tsv --out - => --out cannot be `-` | name one",
    );
    folder.refuse_all(
        "privatize --pack a.pack --epsilon 1 --ledger l --budget 3",
        "--in - --out o => --in cannot be `-` | --ledger
        --in private.tsv --out - => --out cannot be `-` | --ledger",
    );
}

/// With `<` and `>>` the shell makes `-` a regular file.
#[test]
fn a_stream_that_is_a_file_is_that_file() {
    let folder = inputs();
    let lines = "{\"text\": \"The soup needs salt.\"}\n".repeat(3);
    folder.write("p.jsonl", lines);
    let run = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {PROGRAM} {line}")]);
        shell
            .current_dir(&*folder)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    symlink("p.jsonl", folder.join("soft")).unwrap();
    fs::hard_link(folder.join("p.jsonl"), folder.join("hard")).unwrap();
    let table = "
        privatize --pack a.pack --epsilon 1 --in - --out p.jsonl < p.jsonl
        privatize --pack a.pack --epsilon 1 --in - --out soft < hard
        privatize --pack a.pack --epsilon 1 --in p.jsonl --out - >> p.jsonl
        privatize --pack a.pack --epsilon 1 --in - --out - < hard >> soft
        obfuscate --pack w.pack --epsilon 1 --in - --out p.jsonl < p.jsonl
        keywords --words 3 --corpus - --out p.jsonl < p.jsonl
        decode --candidates a.candidates.safetensors --in - --out o --rejected r.jsonl < r.jsonl
        decode --candidates a.candidates.safetensors --in r.jsonl --out - >> r.jsonl";
    for line in table.trim().lines() {
        let before = contents(&folder);
        refused(&run(line), line, &["would destroy it", "name another file"]);
        assert!(contents(&folder) == before, "{line} changed something");
    }
    // Two different files are accepted.
    let line = "privatize --pack a.pack --epsilon 1 --in - --out - < p.jsonl >> o";
    assert!(run(line).status.success());
    assert_eq!(folder.count("o"), 3);
}
