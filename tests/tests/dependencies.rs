//! Compares statements about dependencies with what cargo resolves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{TokenStream, TokenTree};
use serde_json::Value;
use undertone_tests::tree::{read, root};

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .arg("--locked")
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {problem}");
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn metadata() -> Value {
    let text = cargo(&["metadata", "--format-version=1", "--all-features"]);
    serde_json::from_str(&text).expect("cargo prints JSON")
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).expect(key)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).expect(key)
}

/// The verifiable cells of a row of core/DEPENDENCIES.md.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    while_compiling: bool,
    licence: String,
    unsafe_code: String,
    address: String,
}

#[test]
fn devices_link_what_is_listed() {
    let metadata = metadata();
    let sources: BTreeMap<(&str, &str), PathBuf> = list(&metadata, "packages")
        .iter()
        .map(|package| {
            let manifest = Path::new(text(package, "manifest_path"));
            let sources = manifest.parent().unwrap().join("src");
            ((text(package, "name"), text(package, "version")), sources)
        })
        .collect();
    let tree = cargo(&[
        "tree",
        "--package=undertone-ffi",
        "--features=jni",
        "--edges=normal",
        "--target=all",
        "--prefix=none",
        "--no-dedupe",
        "--format={p}|{l}|{r}",
    ]);
    let mut linked = BTreeMap::new();
    for line in tree.lines() {
        let [package, licence, address] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("cargo tree prints three fields: {line}");
        };
        let mut parts = package.split(' ');
        let (name, version) = (parts.next().unwrap(), parts.next().unwrap());
        if name.starts_with("undertone") {
            continue;
        }
        let version = version.trim_start_matches('v');
        let row = Row {
            while_compiling: package.contains("(proc-macro)"),
            licence: licence.to_owned(),
            unsafe_code: unsafe_code(&sources[&(name, version)]).to_owned(),
            address: address.to_owned(),
        };
        linked.insert(name.to_owned(), row);
    }
    // Dependencies of a macro run in the compiler as well.
    let made_of_macros = ["proc-macro2", "quote", "syn", "unicode-ident"];
    for (name, row) in &mut linked {
        row.while_compiling |= made_of_macros.contains(&name.as_str());
    }

    let page = read("core/DEPENDENCIES.md");
    let mut listed = BTreeMap::new();
    let mut while_compiling = false;
    for line in page.lines() {
        while_compiling |= line == "## While compiling";
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", name, purpose, keeper, licence, unsafe_code, address, ""] = cells[..]
            && !["crate", "---"].contains(&name)
        {
            assert!(!purpose.is_empty() && !keeper.is_empty(), "{line}");
            let row = Row {
                while_compiling,
                licence: licence.to_owned(),
                unsafe_code: unsafe_code.to_owned(),
                address: address.to_owned(),
            };
            listed.insert(name.to_owned(), row);
        }
    }

    let names: BTreeSet<&String> = linked.keys().chain(listed.keys()).collect();
    let mut wrong = String::new();
    for name in names {
        let (found, said) = (linked.get(name), listed.get(name));
        if found != said {
            wrong += &format!("{name}: cargo has {found:?}, the page {said:?}\n");
        }
    }
    assert!(
        wrong.is_empty(),
        "core/DEPENDENCIES.md is not what a device links:\n{wrong}"
    );
}

/// Whether a crate forbids `unsafe`, has none, or uses it.
fn unsafe_code(sources: &Path) -> &'static str {
    let root = fs::read_to_string(sources.join("lib.rs")).expect("a library has lib.rs");
    let forbids = root.split("#![forbid(").skip(1).any(|rest| {
        let lints = rest.split(')').next().unwrap_or_default();
        lints.split(',').any(|lint| lint.trim() == "unsafe_code")
    });
    match (forbids, uses_unsafe(sources)) {
        (true, _) => "forbidden",
        (false, false) => "none",
        (false, true) => "used",
    }
}

fn uses_unsafe(folder: &Path) -> bool {
    fs::read_dir(folder)
        .expect("sources are there")
        .any(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                return uses_unsafe(&path);
            }
            path.extension().is_some_and(|extension| extension == "rs")
                && fs::read_to_string(&path)
                    .expect("UTF-8")
                    .parse()
                    // A file that does not parse counts as unsafe.
                    .map_or(true, has_unsafe)
        })
}

fn has_unsafe(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_unsafe(group.stream()),
        TokenTree::Ident(word) => word == "unsafe",
        _ => false,
    })
}

/// With this, whatever CI tests it tests with the oldest versions that a Cargo.toml allows: the
/// lock file is the one that `cargo generate-lockfile -Zdirect-minimal-versions` makes.
#[test]
fn the_oldest_versions_allowed_are_the_ones_tested() {
    let metadata = metadata();
    let members: BTreeSet<&str> = list(&metadata, "workspace_members")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let packages: BTreeMap<&str, &Value> = list(&metadata, "packages")
        .iter()
        .map(|package| (text(package, "id"), package))
        .collect();
    let mut checked = 0;
    let mut wrong = String::new();
    for node in list(&metadata["resolve"], "nodes") {
        let id = text(node, "id");
        if !members.contains(id) {
            continue;
        }
        let resolved: Vec<(&str, &str)> = list(node, "deps")
            .iter()
            .map(|dependency| packages[text(dependency, "pkg")])
            .map(|package| (text(package, "name"), text(package, "version")))
            .collect();
        for dependency in list(packages[id], "dependencies") {
            let (name, wanted) = (text(dependency, "name"), text(dependency, "req"));
            if dependency["source"].is_null() {
                continue;
            }
            checked += 1;
            // "1.12" is 1.12.0.
            let mut oldest = wanted.trim_start_matches(['^', '=']).to_owned();
            while oldest.split('.').count() < 3 {
                oldest += ".0";
            }
            if !resolved.contains(&(name, oldest.as_str())) {
                let versions = resolved.iter().filter(|(other, _)| *other == name);
                let versions: Vec<&str> = versions.map(|(_, version)| *version).collect();
                let member = text(packages[id], "name");
                wrong += &format!("{member}: {name} {wanted}, tested with {versions:?}\n");
            }
        }
    }
    assert!(checked > 50, "only {checked} dependencies found");
    assert!(
        wrong.is_empty(),
        "write the version in Cargo.lock into Cargo.toml:\n{wrong}"
    );
}

/// The fuzz targets are a workspace of their own.
#[test]
fn one_oldest_compiler_everywhere() {
    let version = |manifest: &str| {
        let manifest = read(manifest);
        let mut lines = manifest.lines();
        let version = lines.find_map(|line| line.strip_prefix("rust-version = "));
        version.map(|version| version.trim_matches('"').to_owned())
    };
    let oldest = version("Cargo.toml").expect("the workspace says its oldest compiler");
    assert_eq!(version("fuzz/Cargo.toml").as_ref(), Some(&oldest));
    for page in ["README.md", "CONTRIBUTING.md"] {
        let named = read(page).contains(&format!("Rust {oldest}"));
        assert!(named, "{page} does not name Rust {oldest}");
    }
}
