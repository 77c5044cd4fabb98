//! The help of each verb, the names of version 0.1, completions and the manual.
//!
//! `SNAPSHOTS=overwrite` writes `tests/help.txt` anew.
//!
//! Chance: false alarm none, miss none. No mechanism runs.

use std::path::Path;

use snapbox::{Data, assert_data_eq};

use crate::common::{succeed, undertone};

/// All subcommands.
const COMMANDS: [&str; 26] = [
    "",
    "audit",
    "count",
    "decode",
    "demo",
    "estimate",
    "inspect",
    "lexicon",
    "lexicon distil",
    "lexicon encode",
    "lexicon import",
    "lexicon keywords",
    "lexicon project",
    "measure",
    "pack",
    "plan",
    "plan budget",
    "plan devices",
    "plan statement",
    "plan window",
    "release",
    "release answers",
    "release documents",
    "release lines",
    "release recreate-ledger",
    "release words",
];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn help(command: &str) -> String {
    let mut arguments: Vec<&str> = command.split_whitespace().collect();
    arguments.push("--help");
    succeed(here(), &arguments)
}

#[test]
fn help_is_as_recorded() {
    let mut all = String::new();
    for command in COMMANDS {
        let long = help(command);
        let too_long = long.lines().find(|line| line.chars().count() > 100);
        assert_eq!(too_long, None, "undertone {command} --help");
        let mut arguments: Vec<&str> = command.split_whitespace().collect();
        arguments.push("-h");
        let short = succeed(here(), &arguments);
        all += &format!("$ undertone {}\n{short}\n", arguments.join(" "));
    }
    let recorded = here().join("tests/help.txt");
    assert_data_eq!(all, Data::read_from(&recorded, None).raw());
}

/// Tasks of a new user: the word is in the line of this verb only.
#[test]
fn the_help_names_the_verb_for_a_task() {
    let help = help("");
    let verbs = help.split("Options:").next().unwrap();
    for (task, word, verb) in [
        ("see what this is about", "everything", "demo"),
        ("know how many devices I need", "how many devices", "plan"),
        ("know what daily use costs a user in a year", "year", "plan"),
        (
            "build what devices read from my public corpus",
            "Build",
            "pack",
        ),
        ("see what a ledger has left", "ledger", "inspect"),
        ("know how often releases are right", "how often", "measure"),
        ("check a pack that somebody gave me", "promises", "audit"),
        (
            "use word vectors of another language",
            "vocabularies",
            "lexicon",
        ),
        ("release a private text", "Release private", "release"),
        (
            "read what a release names",
            "candidate of each release",
            "decode",
        ),
        ("count a million releases by day", "any number", "count"),
        (
            "learn what all users write about",
            "what all texts",
            "estimate",
        ),
    ] {
        let named: Vec<&str> = verbs
            .lines()
            .filter(|line| line.contains(word))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(named, [verb], "{task}");
    }
}

#[test]
fn names_of_the_first_version_are_accepted() {
    for (former, now) in [
        ("budget", "plan budget"),
        ("candidates", "inspect"),
        ("distil", "lexicon distil"),
        ("encode", "lexicon encode"),
        ("keywords", "lexicon keywords"),
        ("ledger", "inspect"),
        ("obfuscate", "release words"),
        ("privatize", "release documents"),
        ("project", "lexicon project"),
        ("vocabulary", "lexicon import"),
    ] {
        let expected = help(now);
        assert_eq!(help(former), expected, "{former}");
        assert_eq!(succeed(here(), ["help", former]), expected, "help {former}");
        assert_eq!(
            help(&format!("--quiet {former}")),
            expected,
            "--quiet {former}"
        );
    }
    // Options before --help must be valid.
    for options in [
        "ledger FILE --recreate-spent --unit word --budget 1",
        "plan --epsilon 1 --json FILE",
        "plan devices --question FILE --json FILE",
        "estimate --question FILE --json FILE",
        "budget --daily exponential:1 --json FILE",
        "budget --json -",
        "pack --candidates 5",
        "distil --dim 5",
        "vocabulary --keep FILE",
        "obfuscate --keep FILE --words 5",
    ] {
        assert!(help(options).contains("Usage: undertone "), "{options}");
    }
}

#[test]
fn completions_and_the_manual_are_generated() {
    let folder = tempfile::tempdir().unwrap();
    for (what, file, expected) in [
        ("completions", "undertone.bash", "documents"),
        ("man", "undertone-release-documents.1", "epsilon"),
    ] {
        assert_eq!(succeed(folder.path(), ["generate", what]), "");
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(text.contains(expected), "{file}");
    }
}

#[test]
fn quiet_leaves_errors_only() {
    let folder = tempfile::tempdir().unwrap();
    let pack = "../../tests/golden/golden.pack";
    let missing = undertone(folder.path(), ["--quiet", "inspect", "missing"]);
    assert!(String::from_utf8_lossy(&missing.stderr).starts_with("error: cannot "));
    let shown = succeed(here(), ["inspect", "--json", pack]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["digest"].is_string(), "{shown}");
}
