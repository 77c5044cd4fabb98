//! Links in pages lead somewhere, the tests that they name are there, and so is the code that the
//! proofs are about.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with what is built, not written.
const NOT_OURS: [&str; 5] = ["target", "build", ".git", "corpus", "node_modules"];

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
            let mut name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = format!("tests/{}.rs", name.next().unwrap_or_default());
            let members = [
                "core",
                "ffi",
                "host",
                "host/cli",
                "host/cxx",
                "host/estimate",
                "host/lab",
                "tests",
            ]
            .map(|member| root.join(member));
            named += 1;
            if !members.iter().any(|member| member.join(&name).exists()) {
                wrong += &format!("{}: {name}\n", path.display());
            }
        }
    }
    assert!(named > 5, "only {named} tests are named");
    assert!(wrong.is_empty(), "tests that are not there:\n{wrong}");
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
