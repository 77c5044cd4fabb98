//! `include/undertone.hpp`, used as an app would use it: by two compilers, in old and new
//! standards, with and without exceptions, alone, twice in a program, and with every method called
//! under sanitizers.
//!
//! Chance: false alarm 10⁻¹², miss none. Five programs release two whole texts with the system's
//! entropy; each of two other outcomes has a probability of 2⁻⁴⁸. Other releases are only checked
//! for their form. A torn ledger record has a 64-bit checksum that may be right by chance.

#![cfg(unix)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{
    SANITIZE, STRICT, assert_sanitized, compile, have, output_dir, printed, root, run,
    static_library,
};
use undertone_tests::faces::{OF_FORMS, assert_agrees, assert_ran, golden_files};
use undertone_tests::packs::features_pack;

const COMPILERS: [(&str, &str); 2] = [("g++", "g++"), ("clang++", "clang")];
const NO_EXCEPTIONS: [&str; 2] = ["-fno-exceptions", "-fno-rtti"];

/// The compilers that are on this machine.
fn compilers() -> Vec<&'static str> {
    let there = COMPILERS
        .into_iter()
        .filter(|(compiler, package)| have(compiler, package));
    there.map(|(compiler, _)| compiler).collect()
}

fn golden(name: &str) -> PathBuf {
    root().join("tests/golden").join(name)
}

/// The umbrella header and its parts, each of which can be included alone.
fn headers() -> Vec<PathBuf> {
    let include = root().join("include");
    let folder = fs::read_dir(include.join("undertone")).expect("the folder of the headers");
    let mut headers: Vec<PathBuf> = folder
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hpp"))
        .collect();
    headers.sort();
    assert!(headers.len() > 10, "{headers:?}");
    let umbrella = include.join("undertone.hpp");
    let text = fs::read_to_string(&umbrella).expect("it is there");
    for header in &headers {
        let name = header.file_name().expect("a file").to_string_lossy();
        let line = format!("#include \"undertone/{name}\"");
        assert!(text.contains(&line), "undertone.hpp lacks {line}");
    }
    headers.push(umbrella);
    headers
}

/// Creates an empty folder.
fn fresh(name: &str) -> PathBuf {
    let folder = output_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Compiles the program of two translation units that calls every method.
fn every_method(compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    let sources = ["tests/cpp/every_method.cpp", "tests/cpp/second.cpp"];
    compile(compiler, name, &sources, Some(static_library()), flags)
}

fn calls_every_method(program: &Path, name: &str) {
    let folder = fresh(name);
    let features = folder.join("features.pack");
    let pack = features_pack(&[&["dentist", "doctor"], &["goal", "match"]], false);
    fs::write(&features, pack).expect("the target folder can be written");
    run(Command::new(program)
        .args(["golden.pack", "golden-vectors.pack"].map(golden))
        .arg(features)
        .arg(golden("golden.form"))
        .arg(folder));
}

/// Compiles a header as a translation unit.
fn compiles(compiler: &str, flags: &[&str], header: &Path) {
    run(Command::new(compiler)
        .args(STRICT)
        .args(flags)
        // Suppresses the warning about a header as a translation unit.
        .args(["-fsyntax-only", "-x", "c++", "-include"])
        .arg(header)
        .arg("/dev/null"));
}

#[test]
fn compiles_alone_with_and_without_exceptions() {
    let compilers = compilers();
    // One compiler is enough: both use the same standard library, so a missing include fails with
    // either.
    if let Some(compiler) = compilers.first() {
        for header in headers() {
            compiles(compiler, &["-std=c++17"], &header);
        }
    }
    let umbrella = root().join("include/undertone.hpp");
    let [no_exceptions, no_rtti] = NO_EXCEPTIONS;
    // `every_method_holds` has the other combinations.
    for compiler in compilers {
        compiles(compiler, &["-std=c++17", no_exceptions, no_rtti], &umbrella);
        compiles(compiler, &["-std=c++20"], &umbrella);
    }
}

/// [`every_method`] as most apps compile it, by g++.
fn plain() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| every_method("g++", "every-method-g++", &["-O2"]))
}

#[test]
fn every_method_holds() {
    for compiler in compilers() {
        let name = format!("every-method-{compiler}");
        let program = match compiler {
            "g++" => plain().to_owned(),
            _ => every_method(compiler, &name, &["-O2"]),
        };
        calls_every_method(&program, &format!("{name}-files"));

        let bare = format!("every-method-bare-{compiler}");
        let flags = ["-std=c++20", NO_EXCEPTIONS[0], NO_EXCEPTIONS[1]];
        let program = every_method(compiler, &bare, &flags);
        calls_every_method(&program, &format!("{bare}-files"));
    }
}

#[test]
fn every_method_holds_under_sanitizers() {
    if !have("g++", "g++") {
        return;
    }
    let program = every_method("g++", "every-method-sanitized", &SANITIZE);
    assert_sanitized(&program);
    calls_every_method(&program, "every-method-sanitized-files");
}

/// Compiles a program of `tests/cpp`: by g++ with sanitizers, and by clang, optimised.
fn program(compiler: &str, file: &str) -> PathBuf {
    let name = format!("{file}-{compiler}");
    let source = format!("tests/cpp/{file}");
    let flags = match compiler {
        "g++" => SANITIZE,
        _ => ["-O2"; 3],
    };
    let flags = [&flags[..], &["-pthread"]].concat();
    compile(compiler, &name, &[&source], Some(static_library()), &flags)
}

#[test]
fn cases_and_days_are_as_for_all_faces() {
    for compiler in compilers() {
        let program = program(compiler, "faces.cpp");
        let folder = fresh(&format!("faces-{compiler}-files"));
        for (mode, list) in [("misuse", "misuse.md"), ("day", "keyboard-day.md")] {
            let mut command = Command::new(&program);
            command.arg(mode).arg(golden("")).arg(&folder);
            assert_ran("C++", list, &printed(run(&mut command)));
        }
    }
}

#[test]
fn golden_vectors_agree() {
    for compiler in compilers() {
        let files = [&golden_files()[..], &OF_FORMS].concat();
        let ran = printed(run(Command::new(program(compiler, "golden.cpp"))
            .arg(golden(""))
            .args(files.iter().flat_map(|(file, vectors)| [file, vectors]))));
        assert_agrees("C++", &files, &ran);
    }
}

/// A program that ignores an error ends, and never goes on without a pack.
#[test]
fn the_value_of_a_failure_ends_the_program() {
    if !have("g++", "g++") {
        return;
    }
    let output = Command::new(plain())
        .arg("--take")
        .arg(golden("golden.pack"))
        .output()
        .expect("it was just built");
    assert!(output.status.signal().is_some(), "{}", output.status);
    // The message names the error and no argument: neither the text nor the path, which both
    // contain "doctor".
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "undertone: the value of a failed Result was taken: the system refused to read or write a file; system_error() \
         says why (status -1, errno 2)\n"
    );
}

/// Names that are macros in platform headers: X11, Windows, macOS, Arduino, Qt, ncurses.
const PLATFORM_MACROS: &str = "Status Success None Bool True False Always Above Below Complex KeyPress \
    Unsorted ERROR NO_ERROR IN OUT OPTIONAL DELETE interface small near far THIS VOID CONST TRUE FALSE BOOL \
    GetObject CreateFile SendMessage GetMessage Yield STRICT DOMAIN OVERFLOW UNDERFLOW PASCAL CALLBACK \
    IGNORE check verify require nil Nil YES NO bit byte F HIGH LOW INPUT OUTPUT DEFAULT EXTERNAL signals slots \
    emit foreach forever likely unlikely unix linux i386 major minor makedev";
const PLATFORM_FUNCTIONS: &str =
    "min max abs round clear erase refresh echo timeout getch instr degrees word";

#[test]
fn headers_compile_among_macros_of_platforms() {
    // Include the standard headers first, because they use some of these names.
    let mut among_all = String::new();
    for header in headers() {
        let header = fs::read_to_string(header).expect("it is there");
        let system = header.lines().filter(|line| line.starts_with("#include <"));
        for line in
            system.filter(|line| !["windows.h", "bcrypt.h"].iter().any(|w| line.contains(w)))
        {
            among_all += &format!("{line}\n");
        }
    }
    for name in PLATFORM_MACROS.split_whitespace() {
        among_all += &format!("#undef {name}\n#define {name} %%\n");
    }
    for name in PLATFORM_FUNCTIONS.split_whitespace() {
        among_all += &format!("#undef {name}\n#define {name}(...) %%\n");
    }
    among_all += "#include \"undertone.hpp\"\n";
    let use_both =
        "Status from_x11 = Success;\nbool f() { return undertone::Pack::open(\"a\").ok(); }\n";
    let x11 = "#define Status int\n#define Success 0\n";
    let programs = [
        among_all,
        format!("{x11}#include \"undertone.hpp\"\n{use_both}"),
        format!("#include \"undertone.hpp\"\n{x11}{use_both}"),
    ];
    for compiler in compilers() {
        for (number, program) in programs.iter().enumerate() {
            let file = output_dir().join(format!("macros-{number}.cpp"));
            fs::write(&file, program).expect("it can be written");
            run(Command::new(compiler)
                .args(STRICT)
                .args(["-std=c++17", "-fsyntax-only", "-I"])
                .arg(root().join("include"))
                .arg(&file));
        }
    }
}

/// An ignored result is a warning, and with these flags an error.
#[test]
fn results_must_be_used() {
    for compiler in compilers() {
        for (number, ignored) in [
            "undertone::Pack::open(\"a\");",
            "undertone::Document().push_sentence(\"a\");",
        ]
        .into_iter()
        .enumerate()
        {
            let file = output_dir().join(format!("ignored-{number}.cpp"));
            let program = format!("#include \"undertone.hpp\"\nvoid f() {{ {ignored} }}\n");
            fs::write(&file, program).expect("it can be written");
            let output = Command::new(compiler)
                .args(["-std=c++17", "-Werror", "-fsyntax-only", "-I"])
                .arg(root().join("include"))
                .arg(&file)
                .output()
                .expect("the compiler is there");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && said.contains("unused-result"),
                "{said}"
            );
        }
    }
}

/// Checks that the C++ headers call every function of C.
#[test]
fn every_function_of_c_has_a_face() {
    // LedgerFile calls some of them through the C header.
    let posix = root().join("include/undertone_posix.h");
    let header: String = headers()
        .into_iter()
        .chain([posix])
        .map(|path| fs::read_to_string(path).expect("it is there"))
        .collect();
    let symbols = fs::read_to_string(root().join("tests/c/symbols.txt")).expect("it is there");
    let called = |function: &str| {
        header
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| word == function)
    };
    for function in symbols.lines() {
        // Functions about the library itself need no wrapper.
        let needless = function.ends_with("_version") || function == "undertone_backend";
        assert!(
            needless || called(function),
            "include/undertone lacks {function}"
        );
    }
}
