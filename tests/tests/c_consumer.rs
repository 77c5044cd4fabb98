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
use std::process::{Command, Output};
use std::{env, fs};

use crate::common::{
    BUILD, STRICT, assert_sanitized, build_library, clean, have, output_dir, program_path, root,
    run, static_library,
};

use undertone::encoder::{Encoder, LexiconEncoder};
use undertone::{demo, release::document};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_core::unit::Unit;
use undertone_tests::FixedEntropy;
use undertone_tests::faces::{assert_agrees, assert_ran, golden_files};
use undertone_tests::packs::features_pack;

fn source(name: &str) -> PathBuf {
    root().join("tests/c").join(name)
}

fn golden(name: &str) -> PathBuf {
    root().join("tests/golden").join(name)
}

/// Compiles a program of `tests/c`; `name` is part of the file name of the result.
pub(crate) fn compile<const N: usize>(
    compiler: &str,
    name: &str,
    file: &str,
    library: &Path,
    flags: [&str; N],
) -> PathBuf {
    let program = program_path(name);
    let standard = if file.ends_with(".cpp") {
        "-std=c++17"
    } else {
        "-std=c99"
    };
    run(Command::new(compiler)
        .arg(standard)
        .args(STRICT)
        .arg("-I")
        .arg(root().join("include"))
        .arg(source(file))
        .arg(library)
        .args(flags)
        .arg("-o")
        .arg(&program));
    program
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
fn golden_vectors_agree(consumer: &dyn Fn() -> Command) {
    let mut agree = String::new();
    for (pack, vectors) in golden_files() {
        let kind = if vectors.starts_with("sentences") {
            "--sentences"
        } else {
            "--vectors"
        };
        let mut command = consumer();
        let output = run(command.arg(golden(pack)).arg(kind).arg(golden(vectors)));
        agree += &format!("{vectors}: {}", String::from_utf8_lossy(&output.stdout));
    }
    assert_agrees("C", &golden_files(), &agree);
}

/// Runs the two programs that together make every call, right and wrong; returns what the second
/// printed.
fn run_both(consumer: impl Fn() -> Command, misuse: impl Fn() -> Command) -> String {
    golden_vectors_agree(&consumer);
    let mut printed = String::new();
    // It requires directions.
    for pack in PACKS.into_iter().filter(|pack| *pack != SCORES_PACK) {
        let files = [pack, VECTORS_PACK, "golden-features.pack", "golden.form"];
        let output = run(misuse().args(files.map(golden)));
        printed += &String::from_utf8_lossy(&output.stdout);
    }
    printed
}

#[test]
fn golden_vectors_and_misuse_hold() {
    for (compiler, package) in [("gcc", "gcc"), ("clang", "clang")] {
        if !have(compiler, package) {
            continue;
        }
        let build = |name: &str, file: &str| {
            let name = format!("{name}-{compiler}");
            compile(compiler, &name, file, static_library(), ["-O2"])
        };
        let (consumer, misuse) = (build("consumer", "consumer.c"), build("misuse", "misuse.c"));
        let mut printed = run_both(|| Command::new(&consumer), || Command::new(&misuse));
        let name = format!("threads-{compiler}");
        let threads = compile(compiler, &name, "threads.c", static_library(), ["-pthread"]);
        let output = run(Command::new(&threads).args([PACKS[0], VECTORS_PACK].map(golden)));
        printed += &String::from_utf8_lossy(&output.stdout);
        let packs = [SCORES_PACK, PACKS[2]].map(golden);
        let output = run(Command::new(build("year", "year.c")).args(packs));
        printed += &String::from_utf8_lossy(&output.stdout);
        let name = format!("ledger-{compiler}");
        let ledger = compile(compiler, &name, "ledger.c", static_library(), ["-O2"]);
        let file = output_dir().join(&name).with_extension("ledger");
        let _ = fs::remove_file(&file);
        let output = run(Command::new(&ledger).arg("counter").arg(&file));
        printed += &String::from_utf8_lossy(&output.stdout);
        assert_ran("C", "misuse.md", &printed);
    }
}

#[test]
fn a_day_of_a_keyboard_is_as_for_all_faces() {
    if !have("gcc", "gcc") {
        return;
    }
    let sanitize = "-fsanitize=address,undefined";
    for (name, flags) in [("day", ["-O2", "-g"]), ("day-sanitized", ["-g", sanitize])] {
        let program = compile("gcc", name, "day.c", static_library(), flags);
        let ledger = output_dir().join(name).with_extension("ledger");
        let _ = fs::remove_file(&ledger);
        let output = run(Command::new(program).arg(golden(SCORES_PACK)).arg(&ledger));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_ran("C", "keyboard-day.md", &printed);
    }
}

#[test]
fn golden_vectors_and_misuse_hold_under_sanitizers() {
    if !have("gcc", "gcc") {
        return;
    }
    let build = |name: &str, file: &str| {
        let flags = [
            "-g",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
        ];
        let program = compile("gcc", name, file, static_library(), flags);
        assert_sanitized(&program);
        program
    };
    let (consumer, misuse) = (
        build("consumer-sanitized", "consumer.c"),
        build("misuse-sanitized", "misuse.c"),
    );
    run_both(|| Command::new(&consumer), || Command::new(&misuse));
}

#[test]
fn golden_vectors_and_misuse_hold_under_valgrind() {
    if !have("gcc", "gcc") || !have("valgrind", "valgrind") {
        return;
    }
    let build = |name: &str, file: &str| compile("gcc", name, file, static_library(), ["-g"]);
    let (consumer, misuse) = (
        build("consumer-valgrind", "consumer.c"),
        build("misuse-valgrind", "misuse.c"),
    );
    let watched = |program: &Path| {
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
            .arg(program);
        command
    };
    run_both(|| watched(&consumer), || watched(&misuse));
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
    if have("gcc", "gcc") {
        let program = compile("gcc", "stack", "stack.c", static_library(), ["-pthread"]);
        for pack in PACKS {
            let output = run(Command::new(&program)
                .arg(golden(pack))
                .arg(golden(VECTORS_PACK)));
            println!("{pack}:\n{}", String::from_utf8_lossy(&output.stdout));
            // Valgrind's processor has AVX2 and no AVX-512, whose kernels use less stack.
            if have("valgrind", "valgrind") {
                run(Command::new("valgrind")
                    .args(["--quiet", "--tool=none"])
                    .arg(&program)
                    .arg(golden(pack))
                    .arg(golden(VECTORS_PACK)));
            }
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
    let folder = output_dir().join(short);
    {
        let _alone = BUILD.lock();
        let mut build = Command::new("sh");
        build
            .arg(root().join("ffi/build-lib.sh"))
            .arg(&folder)
            .args(["static", "--target", "x86_64-unknown-linux-gnu"])
            .arg("-Zbuild-std=core");
        run(clean(&mut build)
            .env_remove("CARGO")
            .env("RUSTUP_TOOLCHAIN", "nightly")
            // Twice as fast to build; a sanitizer looks at the same accesses.
            .env("CARGO_PROFILE_EMBED_LTO", "off")
            .env("CARGO_PROFILE_EMBED_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_EMBED_CODEGEN_UNITS", "16")
            .env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}")));
    }
    let library = folder.join("libundertone.a");
    let binary = fs::read(&library).expect("it was just built");
    let symbol = format!("__{short}_");
    assert!(
        binary
            .windows(symbol.len())
            .any(|window| window == symbol.as_bytes()),
        "the library was built without its sanitizer"
    );
    let program = folder.join(file).with_extension("");
    let object = program.with_extension("o");
    run(Command::new("clang")
        .args(["-std=c99", "-g", "-c"])
        .arg(format!("-fsanitize={sanitizer}"))
        .arg("-I")
        .arg(root().join("include"))
        .arg(source(file))
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
    run_both(|| Command::new(&consumer), || Command::new(&misuse));
}

#[test]
fn threads_share_a_pack() {
    if !have("gcc", "gcc") {
        return;
    }
    let program = compile(
        "gcc",
        "threads",
        "threads.c",
        static_library(),
        ["-pthread"],
    );
    for pack in PACKS {
        run(Command::new(&program)
            .arg(golden(pack))
            .arg(golden(VECTORS_PACK)));
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn threads_share_a_pack_under_a_sanitizer() {
    let Some(program) = instrumented("thread", "threads.c") else {
        return;
    };
    for pack in PACKS {
        run(Command::new(&program)
            .arg(golden(pack))
            .arg(golden(VECTORS_PACK)));
    }
    // The planted race.
    let race = Command::new(&program)
        .arg(golden(PACKS[0]))
        .arg(golden(VECTORS_PACK))
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
fn printed_release(output: &Output, pack: &Path) -> Release {
    let text = String::from_utf8_lossy(&output.stdout);
    let bytes: Vec<u8> = (0..text.trim().len() / 2)
        .map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16))
        .collect::<Result<_, _>>()
        .unwrap_or_else(|_| panic!("not hexadecimal: {text}"));
    let release = Release::from_bytes(&bytes).unwrap_or_else(|error| panic!("{text}: {error}"));
    let pack = fs::read(pack).expect("the program read it");
    let pack = Pack::parse(&pack).expect("the program used it");
    assert_eq!(release.pack_id(), pack.id());
    assert!(release.number() < pack.candidate_count());
    release
}

#[test]
fn text_or_embeddings_become_a_release() {
    if !have("gcc", "gcc") {
        return;
    }
    let program = compile("gcc", "consumer-modes", "consumer.c", static_library(), []);
    let mut sentences = "The cat sat.\n\n\u{ff}\nThe dog too\n"
        .repeat(50)
        .into_bytes();
    sentences.extend(b"\xff\xfe no end of line");
    let text = output_dir().join("sentences.txt");
    fs::write(&text, sentences).expect("the target folder can be written");
    let output = run(Command::new(&program)
        .args(["--epsilon", "2.5"])
        .arg(golden("golden.pack"))
        .stdin(fs::File::open(text).expect("it was just written")));
    assert_eq!(
        printed_release(&output, &golden("golden.pack"))
            .epsilon()
            .micro(),
        2_500_000
    );

    let embeddings = output_dir().join("embeddings.f32");
    fs::write(&embeddings, [0x3e; 4 * 16 * 3]).expect("the target folder can be written");
    let output = run(Command::new(&program)
        .arg(golden("golden.pack"))
        .arg("--embeddings")
        .arg(embeddings));
    assert_eq!(
        printed_release(&output, &golden("golden.pack"))
            .epsilon()
            .micro(),
        10_000_000
    );
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
    let from_embeddings = run(Command::new(&program)
        .arg(&pack)
        .arg("--embeddings")
        .arg(embeddings));

    let text = output_dir().join("demo.txt");
    let lines: Vec<String> = sentences.iter().map(|s| s.replace('\n', " ")).collect();
    fs::write(&text, lines.join("\n")).expect("the target folder can be written");
    let from_text = run(Command::new(&program)
        .arg(&pack)
        .stdin(fs::File::open(text).expect("it was just written")));

    for output in [from_embeddings, from_text] {
        let release = printed_release(&output, &pack);
        let (candidate, embedding) = built
            .candidates
            .decode(&release)
            .expect("of this pack")
            .expect("a candidate");
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
    let flags = ["-g", "-fsanitize=address,undefined"];
    let program = compile("gcc", "year", "year.c", static_library(), flags);
    let packs = [SCORES_PACK, PACKS[2]].map(golden);
    let output = run(Command::new(program).args(packs));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("120 releases of 40 devices in 3 years"),
        "{printed}"
    );
}

/// Compares the whole-text releases of C and `core` for the same random bytes, with packs of
/// features as well.
#[test]
fn whole_texts_reach_the_core() {
    if !have("gcc", "gcc") {
        return;
    }
    let flags = ["-g", "-fsanitize=address,undefined"];
    let program = compile("gcc", "whole-text", "whole_text.c", static_library(), flags);
    let topics: [&[&str]; 3] = [
        &["dentist", "doctor"],
        &["goal", "match"],
        &["rent", "loan"],
    ];
    let texts: [&[&str]; 4] = [
        &["can u move my dentist to thurs"],
        &["The MATCH was long.", "one goal", "the doctor"],
        &["bonjour tout le monde"],
        &[],
    ];
    let mut entropy = [1u8; 32];
    for alone in [true, false] {
        let bytes = features_pack(&topics, alone);
        let path = output_dir().join(format!("features-{alone}.pack"));
        fs::write(&path, &bytes).expect("the target folder can be written");
        let pack = Pack::parse(&bytes).expect("a well-formed pack");
        let epsilon: Epsilon = "2".parse().expect("a number");
        for text in texts {
            entropy[0] += 1;
            let mut document: Document<'_> = Document::new(&pack).expect("a small pack");
            for sentence in text {
                if alone {
                    document.push_sentence(sentence).expect("there is room");
                } else {
                    let pushed = document.push_encoded(sentence.as_bytes(), &[0.0; 2]);
                    pushed.expect("there is room");
                }
            }
            let mut promises = vec![
                (
                    epsilon.micro().into(),
                    document
                        .whole_text_epsilon(epsilon, undertone_core::Rule::PermuteAndFlip)
                        .0,
                ),
                (epsilon.micro().into(), epsilon.micro().into()),
            ];
            let release = document
                .release_whole_text(
                    Grant::unrecorded(Unit::WholeText, epsilon),
                    &mut FixedEntropy::new(&entropy),
                )
                .expect("a pack with scores");
            let printed = whole_text(&program, &path, &entropy, text, !alone);
            let mut lines = printed.lines();
            for (sentence, whole_text) in promises.drain(..) {
                let (sentence, whole_text): (u64, u64) = (sentence, whole_text);
                assert_eq!(lines.next(), Some(&*format!("{sentence} {whole_text}")));
            }
            let says = match release.number() {
                3 => "nothing known".to_owned(),
                candidate => candidate.to_string(),
            };
            let digits: String = release
                .to_bytes()
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            assert_eq!(lines.next(), Some(&*format!("{digits} {says}")));
        }
    }
}

/// Output of `whole_text.c`.
fn whole_text(program: &Path, pack: &Path, entropy: &[u8], text: &[&str], encoded: bool) -> String {
    let input = output_dir().join("whole-text.txt");
    fs::write(&input, text.join("\n")).expect("the target folder can be written");
    let digits: String = entropy.iter().map(|byte| format!("{byte:02x}")).collect();
    let output = run(Command::new(program)
        .arg(pack)
        .arg(digits)
        .args(encoded.then_some("--encoded"))
        .stdin(fs::File::open(input).expect("it was just written")));
    String::from_utf8(output.stdout).expect("the program prints text")
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
    let list = source("symbols.txt");
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
    let library = build_library("shared");
    assert_eq!(exported_functions(&library, "--dyn-syms"), declared);
    assert_eq!(exported_functions(static_library(), "--syms"), declared);

    let program = compile("gcc", "consumer-shared", "consumer.c", &library, []);
    let folder = library.parent().unwrap_or(Path::new("."));
    golden_vectors_agree(&|| {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", folder);
        command
    });
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
