//! No command destroys its input: an output that is an input or another output is refused before
//! anything is read, however the two paths are spelled or linked.
//!
//! Chance: false alarm none, miss none. No contents of releases are checked.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use crate::common::{self, names, refuse_all, refused, succeed, undertone};
use tempfile::TempDir;

fn inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let public = "Food\tThe soup needs salt. Boil the potatoes.\nSky\tA comet passed.\n".repeat(9);
    for name in ["public.tsv", "private.tsv", "m.loss.tsv"] {
        fs::write(path.join(name), &public).unwrap();
    }
    fs::write(path.join("v.txt"), "soup 1 2\nsalt 2 1\n").unwrap();
    fs::write(path.join("w.vocab.txt"), "soup\nsalt\n").unwrap();
    fs::write(path.join("words"), "soup\nsalt\n").unwrap();
    let model = common::Model::default();
    common::write_encoder(path, "neural", &model, &common::fitting_tokenizer());
    for line in [
        "pack --corpus public.tsv --out a.pack",
        "vocabulary --vectors v.txt --out w.pack",
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out r.jsonl",
    ] {
        succeed(path, line);
    }
    fs::copy(
        path.join("public.tsv"),
        path.join("r.jsonl.0123456789abcdef.partial"),
    )
    .unwrap();
    fs::copy(path.join("words"), path.join(".o.7-0.part")).unwrap();
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

fn contents(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let all = names(folder)
        .into_iter()
        .chain(names(&folder.join("neural")));
    all.filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn check(folder: &Path, line: &str, out: &str) {
    let arguments = line.replace("OUT", out);
    let before = contents(folder);
    let output = undertone(folder, &arguments);
    refused(
        &output,
        &arguments,
        &["would destroy it", "name another file"],
    );
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(
        contents(folder) == before,
        "{arguments:?} changed something"
    );
}

#[test]
fn an_output_is_no_input() {
    let folder = inputs();
    let folder = folder.path();
    for line in COMMANDS.trim().lines() {
        let (line, input) = line.trim().split_once(" => ").unwrap();
        let whole = folder.join(input);
        let (soft, hard) = (folder.join("soft"), folder.join("hard"));
        symlink(&whole, &soft).unwrap();
        fs::hard_link(&whole, &hard).unwrap();
        let spelled = format!("neural/../{input}");
        for out in [input, &spelled, whole.to_str().unwrap(), "soft", "hard"] {
            check(folder, line, out);
        }
        fs::remove_file(soft).unwrap();
        fs::remove_file(hard).unwrap();
    }
}

/// Files that are written beside an output, and the folder of a report.
#[test]
fn what_is_written_beside_an_output_is_no_input() {
    let folder = inputs();
    let folder = folder.path();
    fs::copy(
        folder.join("words"),
        folder.join("c.candidates.safetensors"),
    )
    .unwrap();
    fs::copy(folder.join("v.txt"), folder.join("p.certificate.json")).unwrap();
    fs::create_dir(folder.join("report")).unwrap();
    symlink(folder.join("a.pack"), folder.join("report/checks.csv")).unwrap();
    for line in [
        "demo --text c.candidates.safetensors --save c.pack",
        "project --vectors p.certificate.json --dimension 1 --out p.pack",
        "audit a.pack --out report",
    ] {
        check(folder, line, "");
    }
}

#[test]
fn two_outputs_are_two_files() {
    let folder = inputs();
    let folder = folder.path();
    fs::write(folder.join("old"), "old").unwrap();
    symlink("old", folder.join("link")).unwrap();
    for line in [
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out X --budget 9 --ledger X",
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out X --budget 9 --ledger ./X",
        "privatize --pack a.pack --epsilon 1 --in private.tsv --out old --budget 9 --ledger link",
        "decode --candidates a.candidates.safetensors --in r.jsonl --out X --rejected neural/../X",
        "demo --save X.candidates.safetensors",
    ] {
        // The ending of the candidates differs from that of the pack, so this name is no conflict.
        if line.starts_with("demo") {
            succeed(folder, line);
            continue;
        }
        check(folder, line, "");
        assert!(!folder.join("X").exists());
    }
}

#[test]
fn standard_streams_serve_where_they_can() {
    let folder = inputs();
    let folder = folder.path();
    refuse_all(
        folder,
        "",
        "pack --corpus - --out o.pack => --corpus cannot be `-` | read several times
        encode --corpus - --out o => --corpus cannot be `-` | read several times
        pack --corpus public.tsv --out - => --out cannot be `-` | name one",
    );
    refuse_all(
        folder,
        "privatize --pack a.pack --epsilon 1 --ledger l --budget 3",
        "--in - --out o => --in cannot be `-` | --ledger
        --in private.tsv --out - => --out cannot be `-` | --ledger",
    );
}

/// With `<` and `>>` the shell makes `-` a regular file.
#[test]
fn a_stream_that_is_a_file_is_that_file() {
    let folder = inputs();
    let folder = folder.path();
    let lines = "{\"text\": \"The soup needs salt.\"}\n".repeat(3);
    fs::write(folder.join("p.jsonl"), lines).unwrap();
    let open = |name: &str| File::open(folder.join(name)).unwrap();
    let append = |name: &str| {
        let mut options = File::options();
        Stdio::from(options.append(true).open(folder.join(name)).unwrap())
    };
    let run = |line: &str, input: Option<&str>, out: Option<&str>| {
        let mut command = common::command(folder, line);
        command.stdin(input.map_or(Stdio::null(), |name| open(name).into()));
        command.stdout(out.map_or(Stdio::null(), append));
        command.stderr(Stdio::piped()).output().unwrap()
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
    for redirected in table.trim().lines() {
        let (rest, out) = match redirected.trim().split_once(" >> ") {
            Some((rest, out)) => (rest, Some(out)),
            None => (redirected.trim(), None),
        };
        let (line, input) = match rest.split_once(" < ") {
            Some((line, input)) => (line, Some(input)),
            None => (rest, None),
        };
        let before = contents(folder);
        let output = run(line, input, out);
        refused(&output, line, &["would destroy it", "name another file"]);
        assert!(contents(folder) == before, "{redirected} changed something");
    }
    // Two different files are accepted.
    fs::write(folder.join("o"), "").unwrap();
    let line = "privatize --pack a.pack --epsilon 1 --in - --out -";
    assert!(run(line, Some("p.jsonl"), Some("o")).status.success());
    assert_eq!(
        fs::read_to_string(folder.join("o"))
            .unwrap()
            .lines()
            .count(),
        3
    );
}
