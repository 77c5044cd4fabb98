//! `include/undertone.hpp` as its users meet it: with both compilers, old and new standards, with exceptions
//! and without, alone, twice in a program, and every method called under sanitizers.
//!
//! Chance: false alarm 10⁻¹², miss none. Two whole texts are released with the entropy of the system, in five programs; each of two
//! other outcomes has a probability of 2⁻⁴⁸. Of other releases nothing is looked at but their form.

#![cfg(unix)]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

use common::{STRICT, assert_sanitized, have, output_dir, root, run, static_library};
use undertone_tests::packs::features_pack;

const COMPILERS: [(&str, &str); 2] = [("g++", "g++"), ("clang++", "clang")];
const STANDARDS: [&str; 2] = ["-std=c++17", "-std=c++20"];
const NO_EXCEPTIONS: [&str; 2] = ["-fno-exceptions", "-fno-rtti"];

fn golden(name: &str) -> PathBuf {
    root().join("tests/golden").join(name)
}

/// A folder that did not exist before.
fn fresh(name: &str) -> PathBuf {
    let folder = output_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// The program of two translation units that calls every method.
fn every_method(compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = output_dir().join(name);
    run(Command::new(compiler)
        .args(STRICT)
        .args(flags)
        .arg("-I")
        .arg(root().join("include"))
        .args(["every_method.cpp", "second.cpp"].map(|file| root().join("tests/cpp").join(file)))
        .arg(static_library())
        .arg("-o")
        .arg(&program));
    program
}

fn calls_every_method(program: &Path, name: &str) {
    let folder = fresh(name);
    let features = folder.join("features.pack");
    let pack = features_pack(&[&["dentist", "doctor"], &["goal", "match"]], false);
    fs::write(&features, pack).expect("the target folder can be written");
    run(Command::new(program)
        .args(["golden.pack", "golden-vectors.pack"].map(golden))
        .arg(features)
        .arg(folder));
}

#[test]
fn compiles_alone_with_and_without_exceptions() {
    for (compiler, package) in COMPILERS {
        if !have(compiler, package) {
            continue;
        }
        for standard in STANDARDS {
            for flags in [&[][..], &NO_EXCEPTIONS] {
                run(Command::new(compiler)
                    .args(STRICT)
                    .arg(standard)
                    .args(flags)
                    // As a translation unit of its own; the flag forgives that it is a header.
                    .args(["-fsyntax-only", "-x", "c++", "-include"])
                    .arg(root().join("include/undertone.hpp"))
                    .arg("/dev/null"));
            }
        }
    }
}

#[test]
fn every_method_holds() {
    for (compiler, package) in COMPILERS {
        if !have(compiler, package) {
            continue;
        }
        let plain = format!("every-method-{compiler}");
        let program = every_method(compiler, &plain, &["-std=c++17", "-O2"]);
        calls_every_method(&program, &format!("{plain}-files"));

        let bare = format!("every-method-bare-{compiler}");
        let flags = ["-std=c++20", "-O2", NO_EXCEPTIONS[0], NO_EXCEPTIONS[1]];
        let program = every_method(compiler, &bare, &flags);
        calls_every_method(&program, &format!("{bare}-files"));
    }
}

#[test]
fn every_method_holds_under_sanitizers() {
    if !have("g++", "g++") {
        return;
    }
    let flags = [
        "-std=c++17",
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ];
    let program = every_method("g++", "every-method-sanitized", &flags);
    assert_sanitized(&program);
    calls_every_method(&program, "every-method-sanitized-files");
}

/// A missing check for an error ends the program; it never goes on without a pack.
#[test]
fn the_value_of_a_failure_ends_the_program() {
    if !have("g++", "g++") {
        return;
    }
    let program = every_method("g++", "every-method-take", &["-std=c++17"]);
    let status = Command::new(program)
        .arg("--take")
        .stderr(Stdio::null())
        .status()
        .expect("it was just built");
    assert!(status.signal().is_some(), "{status}");
}

/// A result that nobody looks at is a warning, and so with these flags an error.
#[test]
fn results_must_be_used() {
    for (compiler, package) in COMPILERS {
        if !have(compiler, package) {
            continue;
        }
        for ignored in [
            "undertone::Pack::open(\"a\");",
            "undertone::Document().push_sentence(\"a\");",
        ] {
            let mut child = Command::new(compiler)
                .args(["-std=c++17", "-Werror", "-fsyntax-only", "-x", "c++"])
                .arg("-I")
                .arg(root().join("include"))
                .arg("-")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the compiler is there");
            let program = format!("#include \"undertone.hpp\"\nvoid f() {{ {ignored} }}\n");
            let mut input = child.stdin.take().expect("it was asked for");
            let writer =
                thread::spawn(move || std::io::Write::write_all(&mut input, program.as_bytes()));
            let output = child.wait_with_output().expect("the compiler ends");
            writer
                .join()
                .expect("no panic")
                .expect("the compiler reads");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && said.contains("unused-result"),
                "{said}"
            );
        }
    }
}

/// What C can do, C++ can: a function that is new in C is missing here until it is there, too.
#[test]
fn every_function_of_c_has_a_face() {
    let header = fs::read_to_string(root().join("include/undertone.hpp")).expect("it is there");
    let symbols = fs::read_to_string(root().join("tests/c/symbols.txt")).expect("it is there");
    let called = |function: &str| {
        header
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| word == function)
    };
    for function in symbols.lines() {
        // What malloc returns is aligned; what the library says of itself needs no face.
        let needless = function.ends_with("_handle_alignment")
            || function.ends_with("_version")
            || function == "undertone_backend";
        assert!(
            needless || called(function),
            "undertone.hpp lacks {function}"
        );
    }
}
