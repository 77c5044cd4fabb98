//! Shared by the tests of programs in other languages: compilers, and the library built by
//! `ffi/build-lib.sh`.
//!
//! A missing tool is a printed skip on a developer's machine and a failure where `CI` is `true`.

#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, fs, io};

/// Warnings that the users' programs are compiled with.
pub(crate) const STRICT: [&str; 6] = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
];

/// Flags for a program that ends at the first mistake with memory and at undefined behaviour.
pub(crate) const SANITIZE: [&str; 3] = [
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

pub(crate) use undertone_tests::tree::root;

pub(crate) fn output_dir() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers");
    fs::create_dir_all(&dir).expect("the target folder can be written");
    dir
}

/// The path of a program to be compiled. Tests run at the same time, so no two may compile to one
/// path: the second compiler would write a program that the first test runs.
pub(crate) fn program_path(name: &str) -> PathBuf {
    static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(taken.insert(name.to_owned()), "two tests compile {name}");
    output_dir().join(name)
}

/// Returns whether a program can be started.
pub(crate) fn have(program: &str, package: &str) -> bool {
    let started = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match started {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("{program} is missing: install the package {package}");
            assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{message}");
            eprintln!("skipped: {message}");
            false
        }
        Err(error) => panic!("{program} does not start: {error}"),
    }
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Compiles sources of the tree against our headers.
pub(crate) fn compile(
    compiler: &str,
    name: &str,
    sources: &[&str],
    library: Option<&Path>,
    flags: &[&str],
) -> PathBuf {
    let program = program_path(name);
    let standard = if compiler.ends_with("++") {
        "-std=c++17"
    } else {
        "-std=c99"
    };
    run(Command::new(compiler)
        .arg(standard)
        .args(STRICT)
        .args(flags)
        .arg("-I")
        .arg(root().join("include"))
        .args(sources.iter().map(|source| root().join(source)))
        .args(library)
        .arg("-o")
        .arg(&program));
    program
}

/// The text that a program printed.
pub(crate) fn printed(output: Output) -> String {
    String::from_utf8(output.stdout).expect("the program prints text")
}

/// Builds as a user would, in a separate target folder: the current one is locked, and the flags of
/// a coverage run do not fit a library without `std`.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    command
        .env("CARGO_TARGET_DIR", output_dir().join("target"))
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
}

/// Serialises builds, those of other test programs included: two that make the same kind of library
/// would overwrite each other's file.
pub(crate) static BUILD: Build = Build(Mutex::new(()));

pub(crate) struct Build(Mutex<()>);

impl Build {
    pub(crate) fn lock(&self) -> (MutexGuard<'_, ()>, File) {
        let alone = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file =
            File::create(output_dir().join("building")).expect("the target folder can be written");
        file.lock().expect("a file system with locks");
        (alone, file)
    }
}

/// `folder` separates libraries that are built with different arguments of cargo or variables of
/// the environment.
pub(crate) fn build_library(
    kind: &str,
    folder: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> PathBuf {
    let _alone = BUILD.lock();
    let mut build = Command::new("sh");
    build
        .arg(root().join("ffi/build-lib.sh"))
        .arg(output_dir().join(folder))
        .arg(kind)
        .args(arguments);
    // `CARGO` would choose the toolchain of these tests.
    clean(&mut build).env_remove("CARGO");
    let path = printed(run(build.envs(variables.iter().copied())));
    PathBuf::from(path.trim())
}

// Chance: false alarm none, miss none. Builds wait for each other, for as long as it takes.
pub(crate) fn static_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("static", "lib", &[], &[]))
}

/// Folders of the native library and of our classes, for Java.
pub(crate) struct Java {
    pub(crate) library: PathBuf,
    pub(crate) classes: PathBuf,
}

/// Compiles the classes with the warnings of `ffi/java/build-jar.sh`, in one folder for each test
/// program, because the programs run at the same time.
pub(crate) fn java() -> &'static Java {
    static BUILT: OnceLock<Java> = OnceLock::new();
    BUILT.get_or_init(|| {
        let library = build_library("shared", "lib-java", &["--features", "jni"], &[]);
        let program = env::current_exe().expect("a program");
        let name = program.file_name().expect("a file").to_string_lossy();
        let folder = output_dir().join(format!("java-{name}"));
        fs::create_dir_all(&folder).expect("the target folder can be written");
        let classes = folder.join("undertone.jar");
        run(Command::new("sh")
            .arg(root().join("ffi/java/build-jar.sh"))
            .arg(&classes));
        let library = library.parent().expect("a file in a folder").to_owned();
        Java { library, classes }
    })
}

/// Checks that the program contains the sanitizers, which could be missing unnoticed.
pub(crate) fn assert_sanitized(program: &Path) {
    let binary = fs::read(program).expect("the program was just built");
    for symbol in ["__asan_init", "__ubsan_handle_"] {
        assert!(
            binary
                .windows(symbol.len())
                .any(|window| window == symbol.as_bytes()),
            "{} was built without its sanitizers: {symbol} is missing",
            program.display()
        );
    }
}
