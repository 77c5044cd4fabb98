//! No byte of a text, or of the random bytes of its release, remains in the memory of a program
//! that is linked to the C library. `tests/c/hygiene.c` reads all of it, for the library as
//! released and, with `UNDERTONE_SOAK=1`, for one without optimisation.
//!
//! Chance: false alarm none, miss none. Random bytes are replayed; children of one process have the
//! same addresses, on one processor.

#![cfg(target_os = "linux")]

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{self, build_library, have, output_dir, root, static_library};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::{Rule, SliceLevels};
use undertone_core::unit::Unit;
use undertone_core::words::{Bag, Vocabulary};
use undertone_tests::{FixedEntropy, soak};

fn compile(name: &str, library: &Path, flag: &str) -> PathBuf {
    // Linked at the start: lazy linking saves registers on the stack.
    let flags = [
        "-std=gnu99",
        "-O1",
        "-Wno-pedantic",
        "-Wno-sign-conversion",
        "-Wl,-z,now",
        flag,
    ];
    common::compile("gcc", name, &["tests/c/hygiene.c"], Some(library), &flags)
}

fn look(program: &Path) -> Output {
    let golden = root().join("tests/golden");
    let packs = [
        "golden.pack",
        "golden-scores.pack",
        "golden-vectors.pack",
        "golden-features.pack",
    ];
    let output = Command::new(program)
        .args(packs.map(|pack| golden.join(pack)))
        .env("HYGIENE_WHERE", "1")
        .output()
        .expect("the program was just built");
    println!("{}", String::from_utf8_lossy(&output.stdout));
    output
}

#[test]
fn nothing_private_is_left_in_memory() {
    if have("gcc", "gcc") {
        let program = compile("hygiene", static_library(), "-UPLANTED");
        assert!(look(&program).status.success(), "see what is left above");
    }
}

/// The check can fail: it finds a copy of eight bytes that a caller left on the stack.
#[test]
fn a_planted_copy_is_found() {
    if have("gcc", "gcc") {
        let program = compile("hygiene-planted", static_library(), "-DPLANTED");
        let output = look(&program);
        assert!(
            output.status.success(),
            "not found, or something else is left"
        );
        assert!(String::from_utf8_lossy(&output.stdout).contains("planted"));
    }
}

#[test]
fn nothing_private_is_left_without_optimisation() {
    if !soak() || !have("gcc", "gcc") {
        return;
    }
    let target = output_dir().join("target-unoptimised");
    let variables = [
        ("CARGO_TARGET_DIR", target.to_str().expect("text")),
        ("CARGO_PROFILE_EMBED_OPT_LEVEL", "0"),
        ("CARGO_PROFILE_EMBED_LTO", "false"),
        ("CARGO_PROFILE_EMBED_DEBUG_ASSERTIONS", "true"),
    ];
    let library = build_library("static", "unoptimised", &[], &variables);
    // In a debug build the standard library names a function that a program without unwinding never
    // calls.
    let defined = "-Wl,--defsym=rust_eh_personality=0";
    let program = compile("hygiene-unoptimised", &library, defined);
    assert!(look(&program).status.success(), "see what is left above");
}

/// The output is the same for two documents, so it reveals nothing about either.
fn debug(text: &str, coordinate: f32, level: u8) -> Vec<String> {
    fn both<T: Debug>(value: T) -> [String; 2] {
        [format!("{value:?}"), format!("{value:#?}")]
    }
    let read = |name: &str| std::fs::read(root().join("tests/golden").join(name)).expect("a pack");
    let mut found = Vec::new();
    for name in [
        "golden.pack",
        "golden-scores.pack",
        "golden-vote.pack",
        "golden-recoded.pack",
        "golden-features.pack",
    ] {
        let bytes = read(name);
        let pack = Pack::parse(&bytes).expect("a pack");
        let mut document = Document::new(&pack).expect("candidates");
        let embedding = vec![coordinate; document.dimension()];
        document
            .push_encoded(text.as_bytes(), &embedding)
            .expect("room");
        document.push_sentence(text).expect("room");
        found.extend(both(&document));
        // Errors, with a text in the document.
        found.extend(both(document.push(&embedding[1..])));
        let none = &mut FixedEntropy::new(&[]);
        let grant = |unit| Grant::unrecorded(unit, Epsilon::MAX);
        let failed = document.release(grant(Unit::Sentence), Rule::Exponential, none);
        found.push(
            failed
                .as_ref()
                .map_or_else(ToString::to_string, |_| String::new()),
        );
        found.extend(both(failed));
        let whole_text = grant(Unit::WholeText);
        found.extend(both(document.release_whole_text(whole_text, none)));
        let whole_text = grant(Unit::WholeText);
        found.extend(both(document.release_projective(whole_text, none)));

        let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
        let mut bag = Bag::new(&vocabulary);
        bag.push_text(text.as_bytes());
        found.extend(both(&bag));
    }
    let levels = [level; 9];
    found.extend(both(SliceLevels {
        levels: &levels,
        bound: 200,
    }));
    found
}

#[test]
fn debug_output_says_nothing_about_texts() {
    let one = debug("the house", 0.8125, 171);
    let other = debug("a river in the old garden", -0.3, 3);
    for name in ["Document", "Bag", "SliceLevels", "Entropy"] {
        assert!(one.iter().any(|text| text.contains(name)), "{name}");
    }
    assert_eq!(one, other);
}
