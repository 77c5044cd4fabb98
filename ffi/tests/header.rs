//! `include/undertone.h` is what the source says.
//!
//! Check it: `cargo test -p undertone-ffi --test header`. Write it again:
//! `UNDERTONE_WRITE_HEADER=1 cargo test -p undertone-ffi --test header`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const WRITE: &str = "UNDERTONE_WRITE_HEADER";

/// In the order of the header.
const SOURCES: [&str; 12] = [
    "version.rs",
    "status.rs",
    "epsilon.rs",
    "pack.rs",
    "entropy.rs",
    "grant.rs",
    "ledger.rs",
    "document.rs",
    "sentences.rs",
    "release.rs",
    "vector.rs",
    "words.rs",
];

fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header_path() -> PathBuf {
    crate_dir().join("../include/undertone.h")
}

fn generated() -> String {
    let mut config = cbindgen::Config::from_file(crate_dir().join("cbindgen.toml"))
        .expect("ffi/cbindgen.toml is a cbindgen configuration");
    config.after_includes = config
        .after_includes
        .map(|text| text.replace("@VERSION@", env!("CARGO_PKG_VERSION")));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(crate_dir().join("src").join(source));
    }
    let mut header = Vec::new();
    builder
        .generate()
        .expect("cbindgen reads the sources")
        .write(&mut header);
    String::from_utf8(header)
        .expect("a header is text")
        .replace("# Safety", "What the caller ensures:")
}

/// The lines between the first and the last that differ.
fn difference(committed: &str, generated: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (committed.lines().collect(), generated.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[start..]
        .iter()
        .rev()
        .zip(new[start..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = format!("@@ line {} @@\n", start + 1);
    for line in &old[start..old.len() - tail] {
        writeln!(text, "-{line}").expect("writing to a string");
    }
    for line in &new[start..new.len() - tail] {
        writeln!(text, "+{line}").expect("writing to a string");
    }
    text
}

#[test]
fn header_is_generated_from_the_source() {
    let generated = generated();
    if env::var_os(WRITE).is_some() {
        fs::write(header_path(), &generated).expect("include/undertone.h can be written");
        return;
    }
    let committed = fs::read_to_string(header_path()).unwrap_or_default();
    assert!(
        committed == generated,
        "include/undertone.h is not what the source says; run\n\n    \
         {WRITE}=1 cargo test -p undertone-ffi --test header\n\n{}",
        difference(&committed, &generated)
    );
}

#[test]
fn every_item_is_documented() {
    let header = generated();
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
