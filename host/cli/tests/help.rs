//! The help of each verb, the names of version 0.1, completions and the manual.
//!
//! `SNAPSHOTS=overwrite` writes `tests/help.txt` anew.
//!
//! Chance: false alarm none, miss none. No mechanism runs.

use snapbox::{Data, assert_data_eq};

use crate::common::{Folder, GOLDEN, contains, json, rows};

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

fn help(command: &str) -> String {
    Folder::new().succeed(format!("{command} --help"))
}

#[test]
fn help_is_as_recorded() {
    let folder = Folder::new();
    let mut all = String::new();
    for command in COMMANDS {
        let long = help(command);
        let too_long = long.lines().find(|line| line.chars().count() > 100);
        assert_eq!(too_long, None, "undertone {command} --help");
        let short = format!("{command} -h");
        let text = folder.succeed(&short);
        all += &format!("$ undertone {}\n{text}\n", short.trim());
    }
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/help.txt");
    assert_data_eq!(all, Data::read_from(recorded.as_ref(), None).raw());
}

/// Tasks of a new user: the word is in the line of this verb only.
#[test]
fn the_help_names_the_verb_for_a_task() {
    let help = help("");
    let verbs = help.split("Options:").next().unwrap();
    let table = "
        see what this is about => everything => demo
        know how many devices I need => how many devices => plan
        know what daily use costs a user in a year => year => plan
        build what devices read from my public corpus => Build => pack
        see what a ledger has left => ledger => inspect
        know how often releases are right => how often => measure
        check a pack that somebody gave me => promises => audit
        use word vectors of another language => vocabularies => lexicon
        release a private text => Release private => release
        read what a release names => candidate of each release => decode
        count a million releases by day => any number => count
        learn what all users write about => what all texts => estimate";
    for [task, word, verb] in rows(table) {
        let named = verbs.lines().filter(|line| line.contains(word));
        let named: Vec<&str> = named
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
        let by_verb = Folder::new().succeed(format!("help {former}"));
        assert_eq!(by_verb, expected, "help {former}");
        let quiet = help(&format!("--quiet {former}"));
        assert_eq!(quiet, expected, "--quiet {former}");
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
        contains(&help(options), &["Usage: undertone "]);
    }
}

#[test]
fn completions_and_the_manual_are_generated() {
    let folder = Folder::new();
    for (what, file, expected) in [
        ("completions", "undertone.bash", "documents"),
        ("man", "undertone-release-documents.1", "epsilon"),
    ] {
        assert_eq!(folder.succeed(format!("generate {what}")), "");
        contains(&folder.text(file), &[expected]);
    }
}

#[test]
fn quiet_leaves_errors_only() {
    let folder = Folder::new();
    let missing = folder.run("--quiet inspect missing");
    assert!(missing.stderr.starts_with(b"error: cannot "));
    let shown = json(folder.succeed(format!("inspect --json {GOLDEN}")));
    assert!(shown["digest"].is_string(), "{shown}");
}
