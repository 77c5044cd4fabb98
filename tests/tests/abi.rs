//! What a program gets that was compiled with the header of 0.1, ABI version 1, and meets this library: a clear refusal, or,
//! for calls that kept their names, what they always did.
//!
//! Chance: false alarm none, miss none. No program gets as far as a release.

#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{fs, os};

use common::{build_library, have, output_dir, root, run, static_library};

fn old(name: &str) -> PathBuf {
    root().join("tests/c/abi-1").join(name)
}

fn header(path: &Path) -> String {
    fs::read_to_string(path).expect("the header is there")
}

/// Each function of a header with the types of what it takes and returns; names of arguments are left out.
fn functions(header: &str) -> BTreeMap<String, String> {
    let code: String = header
        .split("/*")
        .flat_map(|part| part.split_once("*/").map_or(part, |(_, code)| code).chars())
        .collect();
    let mut functions = BTreeMap::new();
    for statement in code.split(';') {
        // Behind the last line of the preprocessor.
        let lines = statement.lines().filter(|line| !line.starts_with('#'));
        let statement = lines.collect::<Vec<_>>().join(" ");
        let Some((left, right)) = statement.split_once('(') else {
            continue;
        };
        let words: Vec<&str> = left.split_whitespace().collect();
        let Some((name, result)) = words.split_last() else {
            continue;
        };
        let stars = name.len() - name.trim_start_matches('*').len();
        let name = name.trim_start_matches('*');
        if !name.starts_with("undertone_") || result.contains(&"typedef") {
            continue;
        }
        let mut signature = result.join(" ").replace("UNDERTONE_MUST_USE ", "");
        signature += &"*".repeat(stars);
        for argument in right.trim_end().trim_end_matches(')').split(',') {
            let kind = argument.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
            let kind = if kind.is_empty() { argument } else { kind };
            signature += ", ";
            signature += &kind.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        functions.insert(name.to_owned(), signature);
    }
    functions
}

/// The constants of a header that are numbers.
fn constants(header: &str) -> BTreeMap<&str, u64> {
    let lines = header.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("#define UNDERTONE_")?.split_once(' ')?;
        Some((name, value.parse().ok()?))
    });
    lines.collect()
}

/// So a name that is gone never comes back for something else.
#[test]
fn functions_that_kept_their_names_kept_their_arguments() {
    let before = functions(&header(&old("undertone.h")));
    let after = functions(&header(&root().join("include/undertone.h")));
    assert!(
        before.len() > 60 && after.len() > 60,
        "the headers are read"
    );
    let mut kept = 0;
    for (name, signature) in &before {
        if let Some(now) = after.get(name) {
            assert_eq!(
                now, signature,
                "{name}: a changed function needs a new name"
            );
            kept += 1;
        }
    }
    assert!(kept > 20, "only {kept} functions are left");
}

/// A number that an old program knows is a status with the same name, or one that replaced it.
#[test]
fn statuses_kept_their_numbers() {
    let (before, after) = (
        header(&old("undertone.h")),
        header(&root().join("include/undertone.h")),
    );
    let after = constants(&after);
    let statuses: BTreeMap<u64, &str> = after
        .iter()
        .filter_map(|(name, number)| Some((*number, name.strip_prefix("STATUS_")?)))
        .collect();
    let renamed = BTreeMap::from([
        ("NULL", "NULL_POINTER"),
        ("PACK_VERSION", "PACK_UNSUPPORTED_VERSION"),
        ("PACK_LENGTH", "PACK_WRONG_LENGTH"),
        ("RELEASE_VERSION", "RELEASE_UNSUPPORTED_VERSION"),
        ("RELEASE_LENGTH", "RELEASE_WRONG_LENGTH"),
        ("LEDGER_VERSION", "LEDGER_UNSUPPORTED_VERSION"),
        ("LEDGER_LENGTH", "LEDGER_WRONG_LENGTH"),
        ("LEDGER_LOST", "LEDGER_RECORD_LOST"),
        ("UNKNOWN_MECHANISM", "UNKNOWN_WORD_METHOD"),
        ("BAG_SIZE_OUT_OF_RANGE", "WORD_COUNT_OUT_OF_RANGE"),
        ("GRANT_OF_ANOTHER_EPSILON", "GRANT_WRONG_EPSILON"),
    ]);
    // In the old header statuses are what stands between these two.
    let text = header(&old("undertone.h"));
    let start = text.find("#define UNDERTONE_OK").expect("the first status");
    let end = text
        .find("#define UNDERTONE_MAX_EPSILON_MICRO")
        .expect("the first that is none");
    let old_statuses = constants(&text[start..end]);
    assert!(old_statuses.len() > 40 && old_statuses.len() <= statuses.len());
    for (name, number) in old_statuses {
        let name = renamed.get(name).unwrap_or(&name);
        assert_eq!(statuses.get(&number), Some(name), "status {number}");
    }
    // Other constants that kept their names kept their values, so that arrays are large enough.
    for (name, value) in constants(&before) {
        if let Some(now) = after.get(name)
            && !name.contains("VERSION")
        {
            assert_eq!(*now, value, "{name}");
        }
    }
}

/// A new library with the name that old programs look for, as if the version in the name had been ignored.
fn shared() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let library = build_library("shared");
        let folder = output_dir().join("abi-renamed");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        os::unix::fs::symlink(library, folder.join("libundertone.so.1")).expect("a link");
        folder
    })
}

/// The program, linked to a stand-in for the library of 0.1: its symbols and its soname.
fn old_program(name: &str, flags: &[&str]) -> PathBuf {
    let folder = output_dir().join("abi-1");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let (stub, library) = (folder.join("stub.c"), folder.join(format!("lib{name}.so")));
    let mut code = String::new();
    for function in functions(&header(&old("undertone.h"))).keys() {
        writeln!(code, "void {function}(void);\nvoid {function}(void) {{}}").expect("a string");
    }
    fs::write(&stub, code).expect("the target folder can be written");
    run(Command::new("gcc")
        .args([
            "-shared",
            "-fPIC",
            "-fno-builtin",
            "-Wl,-soname,libundertone.so.1",
        ])
        .arg(&stub)
        .arg("-o")
        .arg(&library));
    let program = folder.join(name);
    run(Command::new("gcc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-I")
        .arg(old(""))
        .arg(old("quickstart.c"))
        .arg(&library)
        .arg("-o")
        .arg(&program));
    program
}

/// What the program says, which fails.
fn fails(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program is there");
    assert!(!status.success());
    assert_eq!(stdout, b"", "nothing may be released");
    String::from_utf8(stderr).expect("text")
}

#[test]
fn an_old_program_is_refused_and_told_why() {
    if !have("gcc", "gcc") {
        return;
    }
    let pack = root().join("tests/golden/golden.pack");
    let lazy = old_program("quickstart-lazy", &["-Wl,-z,lazy"]);
    let now = old_program("quickstart-now", &["-Wl,-z,now"]);

    // As installed: the loader looks for the library of ABI version 1.
    let installed = build_library("shared");
    let installed = installed.parent().expect("a file in a folder");
    for program in [&lazy, &now] {
        let said = fails(
            Command::new(program)
                .arg(&pack)
                .env("LD_LIBRARY_PATH", installed),
        );
        assert!(said.contains("libundertone.so.1"), "{said}");
    }
    // Under the old name: the version is another, or the loader names the function that is missing.
    let said = fails(
        Command::new(&lazy)
            .arg("--check")
            .arg(&pack)
            .env("LD_LIBRARY_PATH", shared()),
    );
    assert_eq!(
        said,
        "this program needs ABI version 1, the library has 2\n"
    );
    for program in [&lazy, &now] {
        let said = fails(
            Command::new(program)
                .arg(&pack)
                .env("LD_LIBRARY_PATH", shared()),
        );
        assert!(said.contains("undefined symbol: undertone_"), "{said}");
    }
    // Linked anew with the old header: the linker names them.
    let linked = Command::new("gcc")
        .arg("-I")
        .arg(old(""))
        .arg(old("quickstart.c"))
        .arg(static_library())
        .arg("-o")
        .arg(output_dir().join("quickstart-static"))
        .output()
        .expect("gcc is there");
    let said = String::from_utf8_lossy(&linked.stderr);
    assert!(!linked.status.success());
    assert!(
        said.contains("undefined reference to `undertone_grant_unrecorded'"),
        "{said}"
    );
}

/// A program that calls nothing but what stayed goes on as before.
#[test]
fn calls_that_stayed_do_what_they_did() {
    if !have("gcc", "gcc") {
        return;
    }
    let program = output_dir().join("abi-1-stayed");
    run(Command::new("gcc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(old(""))
        .arg(old("stayed.c"))
        .arg(static_library())
        .arg("-o")
        .arg(&program));
    run(Command::new(program).arg(root().join("tests/golden/golden.pack")));
}
