//! Links in pages lead somewhere, the tests that they name are there, and so is the code that the
//! proofs are about.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with what is built, not written.
const NOT_OURS: [&str; 5] = ["target", "build", ".git", "corpus", "node_modules"];

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

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !NOT_OURS.contains(&name.as_ref()) {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The anchors that a page offers: its headings in lower case, blanks as hyphens, without
/// punctuation.
fn anchors(page: &str) -> Vec<String> {
    page.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
            title
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    pages(root, &mut all);
    let mut followed = 0;
    let mut wrong = String::new();
    for path in &all {
        let page = fs::read_to_string(path).expect("a page is UTF-8");
        for rest in page.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if target.contains("://") {
                continue;
            }
            followed += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let there = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            let found = there.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&there)
                        .is_ok_and(|page| anchors(&page).iter().any(|found| found == anchor)));
            if !found {
                wrong += &format!("{}: {target}\n", path.display());
            }
        }
    }
    assert!(followed > 20, "only {followed} links found");
    assert!(wrong.is_empty(), "links that lead nowhere:\n{wrong}");
}

#[test]
fn tests_that_are_named_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    pages(root, &mut all);
    let mut named = 0;
    let mut wrong = String::new();
    for path in &all {
        let page = fs::read_to_string(path).expect("a page is UTF-8");
        for rest in page.split("--test ").skip(1) {
            let command = rest.split(['`', '\n']).next().unwrap_or_default();
            let mut words = command.split(' ');
            let program = words.next().filter(|name| *name != "all");
            let files = words.filter_map(|word| Some(word.split_once("::")?.0));
            for name in program.into_iter().chain(files) {
                named += 1;
                let file = format!("tests/{name}.rs");
                if !MEMBERS
                    .iter()
                    .any(|member| root.join(member).join(&file).exists())
                {
                    wrong += &format!("{}: {file}\n", path.display());
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for member in MEMBERS.map(|member| root.join(member)) {
        let manifest = fs::read_to_string(member.join("Cargo.toml")).expect("a crate");
        if !manifest.contains("autotests = false") {
            continue;
        }
        let all = fs::read_to_string(member.join("tests/main.rs")).expect("the program `all`");
        for entry in fs::read_dir(member.join("tests")).expect("its tests") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let compiled = all.contains(&format!("\nmod {name};"))
                || manifest.contains(&format!("path = \"tests/{name}.rs\""));
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            assert!(
                compiled || !is_source,
                "nothing compiles {}",
                path.display()
            );
        }
    }
}

/// The proofs themselves are checked where Coq is: in CI.
#[test]
fn the_model_of_the_proofs_is_of_this_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let check = root.join("core/proofs/check.sh");
    let output = Command::new("bash").arg(check).arg("--code-only").output();
    let output = output.expect("bash is there");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}
