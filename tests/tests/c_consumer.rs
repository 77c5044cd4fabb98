//! The C interface, used as an app would use it: the library built by `ffi/build-lib.sh`, and the
//! programs of `tests/c`, compiled against `include/undertone.h` and run plain, under sanitizers
//! and under valgrind.
//!
//! Chance: false alarm 10⁻¹⁹, miss none. Releases with the system's entropy are only checked for
//! their form. A torn ledger record has a 64-bit checksum that may be right by chance. The planted
//! race is found in any order of the threads, because nothing synchronises their accesses.

#![cfg(unix)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::common::{
    self, BUILD, SANITIZE, STRICT, assert_sanitized, build_library, clean, have, output_dir,
    printed, root, run, static_library,
};

use undertone::encoder::{Encoder, LexiconEncoder};
use undertone::{demo, release::document};
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_tests::faces::{assert_agrees, assert_ran, golden_files};
use undertone_tests::golden::from_hex;

fn golden(name: &str) -> PathBuf {
    root().join("tests/golden").join(name)
}

/// Compiles a program of `tests/c`.
pub(crate) fn compile<const N: usize>(
    compiler: &str,
    name: &str,
    file: &str,
    library: &Path,
    flags: [&str; N],
) -> PathBuf {
    let source = format!("tests/c/{file}");
    common::compile(compiler, name, &[&source], Some(library), &flags)
}

/// The golden packs with candidates and a lexicon.
const PACKS: [&str; 4] = [
    "golden.pack",
    "golden-scores.pack",
    "golden-vote.pack",
    "golden-recoded.pack",
];

/// The golden pack with scores and without directions.
const SCORES_PACK: &str = "golden-scores.pack";

/// The golden pack with a projection.
const VECTORS_PACK: &str = "golden-vectors.pack";

/// Runs the golden vectors.
fn golden_vectors_agree(mut consumer: Command) {
    for (pack, vectors) in golden_files() {
        let kind = if vectors.starts_with("sentences") {
            "--sentences"
        } else {
            "--vectors"
        };
        consumer.arg(golden(pack)).arg(kind).arg(golden(vectors));
    }
    let ran = printed(run(&mut consumer));
    let files = golden_files().into_iter().zip(ran.lines());
    let named: Vec<String> = files
        .map(|((_, file), agree)| format!("{file}: {agree}"))
        .collect();
    assert_agrees("C", &golden_files(), &named.join("\n"));
}

fn plain(program: &Path) -> Command {
    Command::new(program)
}

/// Runs the two programs that together make every call, right and wrong; returns what the second
/// printed.
fn run_both(command: impl Fn(&Path) -> Command, consumer: &Path, misuse: &Path) -> String {
    golden_vectors_agree(command(consumer));
    // It requires directions.
    let packs = PACKS.into_iter().filter(|pack| *pack != SCORES_PACK);
    packs
        .map(|pack| {
            let files = [pack, VECTORS_PACK, "golden-features.pack", "golden.form"];
            printed(run(command(misuse).args(files.map(golden))))
        })
        .collect()
}

#[test]
fn golden_vectors_and_misuse_hold() {
    for (compiler, package) in [("gcc", "gcc"), ("clang", "clang")] {
        if !have(compiler, package) {
            continue;
        }
        let build = |name: &str| {
            let program = format!("{name}-{compiler}");
            let flags = ["-O2", "-pthread"];
            compile(
                compiler,
                &program,
                &format!("{name}.c"),
                static_library(),
                flags,
            )
        };
        let (consumer, misuse) = (build("consumer"), build("misuse"));
        let mut ran = run_both(plain, &consumer, &misuse);
        let packs = [PACKS[0], VECTORS_PACK].map(golden);
        ran += &printed(run(Command::new(build("threads")).args(packs)));
        let packs = [SCORES_PACK, PACKS[2]].map(golden);
        ran += &printed(run(Command::new(build("year")).args(packs)));
        let ledger = build("ledger");
        let file = ledger.with_extension("ledger");
        let _ = fs::remove_file(&file);
        ran += &printed(run(Command::new(&ledger).arg("counter").arg(&file)));
        assert_ran("C", "misuse.md", &ran);
    }
}

#[test]
fn a_day_of_a_keyboard_is_as_for_all_faces() {
    if !have("gcc", "gcc") {
        return;
    }
    for (name, flags) in [("day", ["-O2"; 3]), ("day-sanitized", SANITIZE)] {
        let program = compile("gcc", name, "day.c", static_library(), flags);
        let ledger = program.with_extension("ledger");
        let _ = fs::remove_file(&ledger);
        let mut day = Command::new(program);
        let ran = printed(run(day.arg(golden(SCORES_PACK)).arg(&ledger)));
        assert_ran("C", "keyboard-day.md", &ran);
    }
}

#[test]
fn golden_vectors_and_misuse_hold_under_sanitizers() {
    if !have("gcc", "gcc") {
        return;
    }
    let build = |name: &str, file: &str| {
        let program = compile("gcc", name, file, static_library(), SANITIZE);
        assert_sanitized(&program);
        program
    };
    let consumer = build("consumer-sanitized", "consumer.c");
    let misuse = build("misuse-sanitized", "misuse.c");
    run_both(plain, &consumer, &misuse);
}

#[test]
fn golden_vectors_and_misuse_hold_under_valgrind() {
    if !have("gcc", "gcc") || !have("valgrind", "valgrind") {
        return;
    }
    let build = |name: &str, file: &str| compile("gcc", name, file, static_library(), ["-g"]);
    let consumer = build("consumer-valgrind", "consumer.c");
    let misuse = build("misuse-valgrind", "misuse.c");
    let watched = |program: &Path| {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
        command.arg(program);
        command
    };
    run_both(watched, &consumer, &misuse);
}

/// Compiles without compiler extensions and without a macro that requests POSIX.
#[test]
fn headers_compile_in_strict_standards() {
    let file = output_dir().join("strict.c");
    for (header, standards) in [
        (
            "undertone.h",
            &["c99", "c11", "c17", "c++98", "c++11", "c++17", "c++20"][..],
        ),
        ("undertone_posix.h", &["c99", "c11", "c17"]),
    ] {
        fs::write(
            &file,
            format!("#include \"{header}\"\nint main(void) {{ return 0; }}\n"),
        )
        .expect("it can be written");
        for (compiler, package) in [("gcc", "gcc"), ("clang", "clang")] {
            if !have(compiler, package) {
                continue;
            }
            for standard in standards {
                let language = if standard.contains("++") { "c++" } else { "c" };
                run(Command::new(compiler)
                    .args(STRICT)
                    .arg(format!("-std={standard}"))
                    .args(["-pedantic-errors", "-fsyntax-only", "-x", language, "-I"])
                    .arg(root().join("include"))
                    .arg(&file));
            }
        }
    }
}

#[test]
fn stack_stays_within_its_promise() {
    if !have("gcc", "gcc") {
        return;
    }
    let program = compile("gcc", "stack", "stack.c", static_library(), ["-pthread"]);
    for packs in PACKS.map(|pack| [pack, VECTORS_PACK].map(golden)) {
        println!(
            "{packs:?}:\n{}",
            printed(run(Command::new(&program).args(&packs)))
        );
        // Valgrind's processor has AVX2 and no AVX-512, whose kernels use less stack.
        if have("valgrind", "valgrind") {
            run(Command::new("valgrind")
                .args(["--quiet", "--tool=none"])
                .arg(&program)
                .args(&packs));
        }
    }
}

/// Compiles a program of `tests/c` and the Rust code with a sanitizer. The runtime is that of
/// nightly Rust; returns `None` if it is missing.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn instrumented(sanitizer: &str, file: &str) -> Option<PathBuf> {
    let print_sysroot = ["+nightly", "--print", "sysroot"];
    let mut rustc = Command::new("rustc");
    clean(rustc.args(print_sysroot)).env_remove("RUSTUP_TOOLCHAIN");
    let sysroot = rustc.output().ok().filter(|output| output.status.success());
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let libraries = PathBuf::from(sysroot.unwrap_or_default()).join("lib/rustlib");
    let short = if sanitizer == "thread" {
        "tsan"
    } else {
        "asan"
    };
    let runtime = libraries.join(format!(
        "x86_64-unknown-linux-gnu/lib/librustc-nightly_rt.{short}.a"
    ));
    let rust_src = libraries.join("src/rust/library/core/src/lib.rs");
    if !have("clang", "clang") || !runtime.exists() || !rust_src.exists() {
        let message = "clang or nightly Rust with rust-src is missing, so no instrumented library";
        assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{message}");
        eprintln!("skipped: {message}");
        return None;
    }
    let target = ["--target", "x86_64-unknown-linux-gnu", "-Zbuild-std=core"];
    let variables = [
        ("RUSTUP_TOOLCHAIN", "nightly"),
        // Four times as fast to build; a sanitizer looks at the same accesses.
        ("CARGO_PROFILE_EMBED_LTO", "off"),
        ("CARGO_PROFILE_EMBED_OPT_LEVEL", "0"),
        ("CARGO_PROFILE_EMBED_CODEGEN_UNITS", "16"),
        ("RUSTFLAGS", &format!("-Zsanitizer={sanitizer}")),
    ];
    let library = build_library("static", short, &target, &variables);
    let binary = fs::read(&library).expect("it was just built");
    let symbol = format!("__{short}_");
    assert!(
        binary
            .windows(symbol.len())
            .any(|window| window == symbol.as_bytes()),
        "the library was built without its sanitizer"
    );
    let program = library.with_file_name(file).with_extension("");
    let object = program.with_extension("o");
    run(Command::new("clang")
        .args(["-std=c99", "-g", "-c"])
        .arg(format!("-fsanitize={sanitizer}"))
        .arg("-I")
        .arg(root().join("include"))
        .arg(root().join("tests/c").join(file))
        .arg("-o")
        .arg(&object));
    run(Command::new("clang")
        .arg(object)
        .arg(library)
        .arg("-Wl,--whole-archive")
        .arg(runtime)
        .args(["-Wl,--no-whole-archive", "-Wl,--export-dynamic"])
        .args(["-lpthread", "-ldl", "-lm", "-lrt", "-o"])
        .arg(&program));
    Some(program)
}

/// Checks every access of the library to a caller's memory.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn golden_vectors_and_misuse_hold_with_the_library_instrumented() {
    let build = |file| instrumented("address", file);
    let (Some(consumer), Some(misuse)) = (build("consumer.c"), build("misuse.c")) else {
        return;
    };
    run_both(plain, &consumer, &misuse);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn threads_share_a_pack_under_a_sanitizer() {
    let Some(program) = instrumented("thread", "threads.c") else {
        return;
    };
    // Depth, and scores after a recoder.
    let packs = [PACKS[0], SCORES_PACK].map(|pack| [pack, VECTORS_PACK].map(golden));
    for packs in &packs {
        run(Command::new(&program).args(packs));
    }
    // The planted race.
    let race = Command::new(&program)
        .args(&packs[0])
        .arg("--race")
        .output()
        .expect("it ran before");
    let report = String::from_utf8_lossy(&race.stderr);
    assert!(!race.status.success(), "a race was not found");
    assert!(
        report.contains("data race") && report.contains("undertone_document_push_sentence"),
        "{report}"
    );
}

/// Parses the release that a program printed, which must be one of this pack.
fn release_of(text: &str, pack: &Pack<'_>) -> Release {
    let release = Release::from_bytes(&from_hex(text.trim()));
    let release = release.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(release.pack_id(), pack.id());
    release
}

#[test]
fn the_server_reads_what_a_c_program_releases_under_a_pack_of_the_host() {
    if !have("gcc", "gcc") {
        return;
    }
    let program = compile("gcc", "consumer-server", "consumer.c", static_library(), []);
    let built = demo::build(1).expect("the demo corpus is public and fine");
    let pack = output_dir().join("demo.pack");
    fs::write(&pack, &built.pack).expect("the target folder can be written");

    let encoder = LexiconEncoder::embedded();
    let sentences = document::sentences(demo::PRIVATE_TEXT);
    let mut rows = vec![0f32; sentences.len() * encoder.dimension()];
    for (row, sentence) in rows.chunks_exact_mut(encoder.dimension()).zip(&sentences) {
        encoder
            .encode(sentence, row)
            .expect("the lexicon's dimension");
    }
    let embeddings = output_dir().join("demo.f32");
    let bytes: Vec<u8> = rows.iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(&embeddings, bytes).expect("the target folder can be written");
    let mut from_embeddings = Command::new(&program);
    from_embeddings
        .arg(&pack)
        .arg("--embeddings")
        .arg(embeddings);

    let text = output_dir().join("demo.txt");
    let lines: Vec<String> = sentences.iter().map(|s| s.replace('\n', " ")).collect();
    fs::write(&text, lines.join("\n")).expect("the target folder can be written");
    let mut from_text = Command::new(&program);
    from_text.args(["--epsilon", "2.5"]).arg(&pack);
    from_text.stdin(fs::File::open(text).expect("it was just written"));

    let pack = Pack::parse(&built.pack).expect("a pack");
    for (mut command, micro) in [(from_embeddings, 10_000_000), (from_text, 2_500_000)] {
        let release = release_of(&printed(run(&mut command)), &pack);
        assert_eq!(release.epsilon().micro(), micro);
        let decoded = built.candidates.decode(&release).expect("of this pack");
        let (candidate, embedding) = decoded.expect("a candidate");
        let index = release.number() as usize;
        assert_eq!(*candidate, built.candidates.entries[index]);
        assert_eq!(embedding.len(), encoder.dimension());
    }
}

/// Plays three years of 40 devices that are killed, and makes every wrong call of a reservoir and an
/// appointment, under sanitizers.
#[test]
fn a_device_releases_once_a_year() {
    if !have("gcc", "gcc") {
        return;
    }
    let program = compile("gcc", "year", "year.c", static_library(), SANITIZE);
    let packs = [SCORES_PACK, PACKS[2]].map(golden);
    let ran = printed(run(Command::new(program).args(packs)));
    assert!(
        ran.contains("120 releases of 40 devices in 3 years"),
        "{ran}"
    );
}

/// Functions that the header declares, in alphabetical order.
fn declared_functions() -> Vec<String> {
    let header =
        fs::read_to_string(root().join("include/undertone.h")).expect("the header is there");
    let mut functions = Vec::new();
    let code = header.split("/*").map(|part| match part.split_once("*/") {
        Some((_, code)) => code,
        None => part,
    });
    for code in code {
        for (start, _) in code.match_indices("undertone_") {
            let name: String = code[start..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            let called = code[start + name.len()..].starts_with('(');
            let whole = !code[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if called && whole {
                functions.push(name);
            }
        }
    }
    functions.sort();
    functions
}

/// Functions that a library exports, in alphabetical order.
fn exported_functions(library: &Path, table: &str) -> Vec<String> {
    let output = run(Command::new("readelf").args([table, "--wide"]).arg(library));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut exported: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| {
            fields.len() == 8
                && matches!(fields[4], "GLOBAL" | "WEAK")
                && fields[5] == "DEFAULT"
                && fields[6] != "UND"
        })
        .map(|fields| fields[7].to_owned())
        .collect();
    exported.sort();
    exported
}

const WRITE_SYMBOLS: &str = "UNDERTONE_WRITE_SYMBOLS";

/// Compares the exported symbols with the committed list. Programs that are linked to a shared
/// library need every function of the list, and a new one must be intended.
#[cfg(target_os = "linux")]
#[test]
fn libraries_export_the_committed_list_and_nothing_else() {
    if !have("gcc", "gcc") || !have("readelf", "binutils") {
        return;
    }
    let list = root().join("tests/c/symbols.txt");
    let declared = declared_functions();
    if env::var_os(WRITE_SYMBOLS).is_some() {
        fs::write(&list, declared.join("\n") + "\n").expect("tests/c can be written");
    }
    let committed = fs::read_to_string(&list).unwrap_or_default();
    let committed: Vec<&str> = committed.lines().collect();
    assert_eq!(
        committed, declared,
        "tests/c/symbols.txt and include/undertone.h differ; if that is meant, run this test with {WRITE_SYMBOLS}=1"
    );
    assert!(declared.iter().all(|name| name.starts_with("undertone_")));
    let library = build_library("shared", "lib", &[], &[]);
    assert_eq!(exported_functions(&library, "--dyn-syms"), declared);
    assert_eq!(exported_functions(static_library(), "--syms"), declared);

    let program = compile("gcc", "consumer-shared", "consumer.c", &library, []);
    let folder = library.parent().unwrap_or(Path::new("."));
    let mut consumer = Command::new(&program);
    consumer.env("LD_LIBRARY_PATH", folder);
    golden_vectors_agree(consumer);
}

/// Links the library with a panic handler that calls an undefined function.
#[cfg(target_os = "linux")]
#[test]
fn no_panic_is_reachable() {
    if !have("cc", "gcc") {
        return;
    }
    let _alone = BUILD.lock();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsStr::new("cargo").to_owned());
    run(clean(
        Command::new(cargo)
            .args(["rustc", "-p", "undertone-ffi", "--profile", "embed"])
            .args([
                "--features",
                "prove-no-panic",
                "--crate-type",
                "cdylib",
                "--",
            ])
            .args(["-C", "link-arg=-Wl,-z,defs", "-C", "link-arg=-lc"])
            .current_dir(root()),
    ));
}
