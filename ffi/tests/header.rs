//! Writes `include/undertone.h` and the constants of other languages from the source of this crate.
//!
//! Check them: `cargo test -p undertone-ffi --test all header::`. Write them again:
//! `UNDERTONE_WRITE_HEADER=1 cargo test -p undertone-ffi --test all header::`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use undertone_ffi::STATUSES;

const WRITE: &str = "UNDERTONE_WRITE_HEADER";
const WIDTH: usize = 100;

/// In the order of the header.
const SOURCES: [&str; 14] = [
    "interface.rs",
    "version.rs",
    "status.rs",
    "epsilon.rs",
    "pack.rs",
    "grant.rs",
    "ledger.rs",
    "document.rs",
    "reservoir.rs",
    "form.rs",
    "sentences.rs",
    "release.rs",
    "vector.rs",
    "words.rs",
];

/// Writes the text of a generated file.
type Generator = fn() -> String;

/// The files that are generated, from the root of the repository.
const FILES: [(&str, Generator); 5] = [
    ("include/undertone.h", header),
    ("ffi/java/dev/undertone/Status.java", java_statuses),
    ("ffi/java/dev/undertone/Numbers.java", java_numbers),
    ("ffi/web/src/numbers.ts", typescript),
    ("ffi/swift/Sources/Undertone/Numbers.swift", swift),
];

fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn path(file: &str) -> PathBuf {
    crate_dir().join("..").join(file)
}

/// A text as lines of at most `WIDTH` columns, each after `indent`.
fn wrapped(indent: &str, text: &str) -> Vec<String> {
    let mut lines = vec![indent.to_owned()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("a line");
        if line.len() + 1 + word.len() > WIDTH {
            lines.push(format!("{indent} {word}"));
        } else {
            write!(line, " {word}").expect("writing to a string");
        }
    }
    lines
}

/// A comment between `/**` and `*/`, on one line if it fits.
fn comment(indent: &str, text: &str) -> String {
    let line = format!("{indent}/** {text} */\n");
    if line.len() <= WIDTH + 1 {
        return line;
    }
    let lines = wrapped(&format!("{indent} *"), text).join("\n");
    format!("{indent}/**\n{lines}\n{indent} */\n")
}

/// A status text as a sentence.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    let stop = if text.ends_with('?') { "" } else { "." };
    format!("{}{rest}{stop}", first.to_uppercase())
}

fn header() -> String {
    let statuses: Vec<String> = STATUSES
        .iter()
        .map(|(name, number, text)| {
            format!("{}#define {name} {number}\n", comment("", &sentence(text)))
        })
        .collect();
    let mut config = cbindgen::Config::from_file(crate_dir().join("cbindgen.toml"))
        .expect("ffi/cbindgen.toml is a cbindgen configuration");
    config.after_includes = config.after_includes.map(|text| {
        text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@STATUSES@\n", &statuses.join("\n"))
    });
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(crate_dir().join("src").join(source));
    }
    let mut header = Vec::new();
    builder
        .generate()
        .expect("cbindgen reads the sources")
        .write(&mut header);
    // C90 has no `//`, which cbindgen writes.
    String::from_utf8(header)
        .expect("a header is text")
        .replace("// __cplusplus", "/* __cplusplus */")
        .replace("// extern \"C\"", "/* extern \"C\" */")
}

/// A number of the header other than a status.
struct Number {
    /// Without `UNDERTONE_`.
    name: String,
    value: u32,
    text: String,
}

/// The numbers of the header other than statuses.
fn numbers() -> Vec<Number> {
    let header = header();
    let mut text = String::new();
    let mut numbers = Vec::new();
    for line in header.lines() {
        if let Some(rest) = line.strip_prefix("#define UNDERTONE_") {
            let parsed = rest.split_once(' ');
            let parsed = parsed.and_then(|(name, value)| Some((name, value.parse().ok()?)));
            let Some((name, value)) = parsed else {
                continue;
            };
            if !name.starts_with("STATUS_") {
                let (name, text) = (name.to_owned(), text.trim().to_owned());
                numbers.push(Number { name, value, text });
            }
        } else if line.starts_with("/**") {
            text = line.trim_matches(['/', '*', ' ']).to_owned();
        } else if line.starts_with(" *") {
            text = text + " " + line.trim_matches(['/', '*', ' ']);
        }
    }
    assert!(
        numbers.len() > 30,
        "only {} numbers were found",
        numbers.len()
    );
    numbers
}

/// The names of the statuses without `UNDERTONE_STATUS_`, their numbers and their texts.
fn statuses() -> impl Iterator<Item = (&'static str, i32, String)> {
    STATUSES.iter().map(|(name, number, text)| {
        let name = name.strip_prefix("UNDERTONE_STATUS_").expect("its prefix");
        (name, *number, sentence(text))
    })
}

const GENERATED: &str = "// Generated by ffi/tests/header.rs; do not edit.\n\n";

fn java_statuses() -> String {
    let mut java = format!("{GENERATED}package dev.undertone;\n\n");
    java += &comment(
        "",
        "The numbers of an {@link UndertoneException}. They keep their meaning for ever. Later \
         versions may add some, so treat one that you do not know as a failure.",
    );
    java += "public final class Status {\n";
    for (name, number, text) in statuses().filter(|(name, _, _)| *name != "OK") {
        java += &comment("    ", &text);
        writeln!(java, "    public static final int {name} = {number};\n").expect("a string");
    }
    java + "    private Status() {}\n}\n"
}

fn java_numbers() -> String {
    let mut java = format!("{GENERATED}package dev.undertone;\n\n");
    java += "/** The numbers of the C interface. */\nfinal class Numbers {\n";
    for Number { name, value, text } in numbers() {
        java += &comment("    ", &text.replace('`', ""));
        writeln!(java, "    static final int {name} = {value};\n").expect("a string");
    }
    java + "    private Numbers() {}\n}\n"
}

fn typescript() -> String {
    let mut script = format!("{GENERATED}export const STATUS = {{\n");
    for (name, number, _) in statuses() {
        writeln!(script, "    {name}: {number},").expect("a string");
    }
    script += "} as const;\n";
    for Number { name, value, .. } in numbers() {
        writeln!(script, "export const {name} = {value};").expect("a string");
    }
    script
}

/// The enumerations of Swift: name, prefix of the numbers, documentation.
const SWIFT: [(&str, &str, &str); 6] = [
    ("PrivacyUnit", "UNIT_", "The unit of privacy of a release."),
    ("Rule", "RULE_", "The rule by which a candidate is drawn."),
    ("Selection", "SELECTOR_", "How a pack selects candidates."),
    (
        "LineMechanism",
        "MECHANISM_",
        "The mechanism that releases a line of a slot.",
    ),
    ("Noise", "NOISE_", "The noise on a released vector."),
    ("WordMethod", "WORD_METHOD_", "How words are replaced."),
];

fn swift() -> String {
    let mut swift = GENERATED.to_owned();
    for (enumeration, prefix, text) in SWIFT {
        swift +=
            &format!("/// {text}\npublic enum {enumeration}: Int32, CaseIterable, Sendable {{\n");
        for Number { name, value, text } in numbers() {
            let Some(name) = name.strip_prefix(prefix) else {
                continue;
            };
            let mut words = name.split('_').map(str::to_lowercase);
            let mut case = words.next().expect("a word");
            case.extend(words.map(|word| word[..1].to_uppercase() + &word[1..]));
            swift += &(wrapped("    ///", &text).join("\n") + "\n");
            writeln!(swift, "    case {case} = {value}").expect("a string");
        }
        swift += "}\n\n";
    }
    swift.truncate(swift.len() - 1);
    swift
}

/// The number of the first line that differs.
fn difference(committed: &str, generated: &str) -> usize {
    let mut lines = committed.lines().zip(generated.lines());
    1 + lines.position(|(one, two)| one != two).unwrap_or(0)
}

#[test]
fn files_are_generated_from_the_source() {
    for (file, generate) in FILES {
        let generated = generate();
        if env::var_os(WRITE).is_some() {
            fs::write(path(file), &generated).unwrap_or_else(|error| panic!("{file}: {error}"));
            continue;
        }
        let committed = fs::read_to_string(path(file)).unwrap_or_default();
        assert!(
            committed == generated,
            "{file} differs from the source in line {}; run\n\n    \
             {WRITE}=1 cargo test -p undertone-ffi --test all header::",
            difference(&committed, &generated)
        );
    }
}

#[test]
fn lines_of_the_header_are_short_and_valid_in_c90() {
    for line in header().lines() {
        assert!(line.len() <= WIDTH && !line.contains("//"), "{line}");
    }
}

#[test]
fn every_item_is_documented() {
    let header = header();
    let lines: Vec<_> = header.lines().collect();
    let mut items = 0;
    for (index, line) in lines.iter().enumerate() {
        let is_item = line.starts_with("#define UNDERTONE_") && line.split(' ').count() > 2
            || line.starts_with("typedef ")
            || line.contains(" undertone_") && line.contains('(') && !line.starts_with(' ');
        if !is_item || line.contains("MUST_USE") {
            continue;
        }
        let before = lines[..index]
            .iter()
            .rev()
            .find(|line| **line != "UNDERTONE_MUST_USE")
            .copied()
            .unwrap_or_default();
        assert!(before.ends_with("*/"), "not documented: {line}");
        items += 1;
    }
    assert!(items > 60, "only {items} items were found");
}
