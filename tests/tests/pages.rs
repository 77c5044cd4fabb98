//! Links in pages lead somewhere, the tests that they name are there, and so is the code that the
//! proofs are about.

use std::path::Path;
use std::process::Command;

use undertone_tests::tree::{files, read, root};

/// Crates with a folder of tests.
const MEMBERS: [&str; 8] = [
    "ffi",
    "host",
    "host/cli",
    "host/cxx",
    "host/estimate",
    "host/lab",
    "host/tables",
    "tests",
];

/// The anchors that a page offers: its headings in lower case, blanks as hyphens, without
/// punctuation.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(kept).collect::<String>()
    };
    headings
        .map(|line| anchor(line).replace(' ', "-"))
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut followed = 0;
    let mut wrong = String::new();
    for (path, page) in files("", ".md") {
        for rest in page.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if target.contains("://") {
                continue;
            }
            followed += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let there = match file {
                "" => path.clone(),
                file => Path::new(&path).with_file_name(file).display().to_string(),
            };
            let has_anchor = || anchors(&read(&there)).iter().any(|found| found == anchor);
            if !root().join(&there).exists() || (!anchor.is_empty() && !has_anchor()) {
                wrong += &format!("{path}: {target}\n");
            }
        }
    }
    assert!(followed > 20, "only {followed} links found");
    assert!(wrong.is_empty(), "links that lead nowhere:\n{wrong}");
}

#[test]
fn tests_that_are_named_are_there() {
    let mut named = 0;
    let mut wrong = String::new();
    for (path, page) in files("", ".md") {
        for rest in page.split("--test ").skip(1) {
            let command = rest.split(['`', '\n']).next().unwrap_or_default();
            let mut words = command.split(' ');
            let program = words.next().filter(|name| *name != "all");
            let files = words.filter_map(|word| Some(word.split_once("::")?.0));
            for name in program.into_iter().chain(files) {
                named += 1;
                let file = format!("tests/{name}.rs");
                let there = |member: &&str| root().join(member).join(&file).exists();
                if !MEMBERS.iter().any(there) {
                    wrong += &format!("{path}: {file}\n");
                }
            }
        }
    }
    assert!(named > 5, "only {named} tests are named");
    assert!(wrong.is_empty(), "tests that are not there:\n{wrong}");
}

/// Cargo looks for no files of tests where `autotests` is false, so a forgotten one would not run.
#[test]
fn every_file_of_tests_is_compiled() {
    for member in MEMBERS {
        let manifest = read(&format!("{member}/Cargo.toml"));
        if !manifest.contains("autotests = false") {
            continue;
        }
        let all = read(&format!("{member}/tests/main.rs"));
        let folder = root().join(member).join("tests");
        for entry in folder.read_dir().expect("its tests") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let compiled = all.contains(&format!("\nmod {name};"))
                || manifest.contains(&format!("path = \"tests/{name}.rs\""));
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            assert!(compiled || !is_source, "nothing compiles {name}");
        }
    }
}

/// The proofs themselves are checked where Coq is: in CI.
#[test]
fn the_model_of_the_proofs_is_of_this_code() {
    let check = root().join("core/proofs/check.sh");
    let output = Command::new("bash").arg(check).arg("--code-only").output();
    let output = output.expect("bash is there");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}
