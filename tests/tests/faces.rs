//! Every face runs the lists of `tests/faces` by their names, and the lists name statuses that exist.

use std::collections::BTreeSet;

use undertone_tests::faces::{FACES, cases, quoted, read, rows};

/// What comes out and is no status of the header: `tests/faces/misuse.md` says what each stands for.
const WORDS: [&str; 4] = ["OK", "CLOSED", "ARGUMENT", "SYSTEM"];
const OF_LANGUAGES: [&str; 3] = ["STATUS_MOVED", "STATUS_FILE_FAILED", "RuntimeError"];

/// A file without its comments, by line: a case that only a comment names does not run. What follows a `//` in a string goes, too,
/// which at worst hides a name.
fn without_comments(path: &str, file: &str) -> String {
    let mark = if path.ends_with(".py") { "#" } else { "//" };
    file.lines()
        .filter(|line| {
            !["*", "/*"]
                .iter()
                .any(|mark| line.trim_start().starts_with(mark))
        })
        .filter_map(|line| line.split(mark).next())
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// What a file of a face lacks, and what it has although the list rules it out.
fn wrong(file: &str, face: &str, cases: &[(&str, BTreeSet<&'static str>)]) -> Vec<String> {
    let words: BTreeSet<&str> = file
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let cases = cases.iter().filter_map(|(name, faces)| {
        match (faces.contains(face), words.contains(name)) {
            (true, false) => Some(format!("{face} lacks {name}")),
            (false, true) => Some(format!("{face} has {name}, which the list rules out")),
            _ => None,
        }
    });
    cases.collect()
}

#[test]
fn every_face_runs_every_case() {
    let misuse = read("tests/faces/misuse.md");
    let day = read("tests/faces/keyboard-day.md");
    let lists = [cases(&misuse), cases(&day)];
    let readme = read("tests/faces/README.md");
    let table = rows(&readme);
    let faces: Vec<&str> = table.iter().map(|row| row[0]).collect();
    assert_eq!(faces, FACES, "the faces of the table");
    let mut found = Vec::new();
    for row in &table {
        for (cell, list) in row[1..].iter().zip(&lists) {
            if *cell == "not yet" || cell.starts_with("none: ") {
                println!("not checked: {}", row[0]);
                continue;
            }
            let files: Vec<String> = quoted(cell)
                .map(|path| without_comments(path, &read(path)))
                .collect();
            assert!(!files.is_empty(), "no path between backticks: {row:?}");
            found.extend(wrong(&files.concat(), row[0], list));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn lists_name_statuses_that_exist() {
    let header = read("include/undertone.h");
    let mut checked = 0;
    for (page, column) in [("misuse.md", 2), ("keyboard-day.md", 2)] {
        let page = read(&format!("tests/faces/{page}"));
        for row in rows(&page) {
            for word in quoted(row[column]) {
                let status = header.contains(&format!("#define UNDERTONE_STATUS_{word} "));
                let known = WORDS.contains(&word) || OF_LANGUAGES.contains(&word);
                assert!(status || known, "{word} is no status: {row:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "only {checked} statuses found");
}

#[test]
fn what_is_missing_is_found() {
    let page = "| case | a | b | faces |\n| --- | --- | --- | --- |\n\
                | `used_grant` | | | all |\n| `close_twice` | | | not C, C++ |\n";
    let cases = cases(page);
    assert_eq!(
        wrong("used_grant(); close_twice();", "Java", &cases).len(),
        0
    );
    assert_eq!(
        wrong("used_grant_2(); \"close_twice\"", "Java", &cases).len(),
        1
    );
    assert_eq!(wrong("used_grant close_twice", "C", &cases).len(), 1);
    assert_eq!(wrong("", "C++", &cases).len(), 1);
    for (path, file) in [
        ("a.mjs", "// close_twice\nused_grant(); // and close_twice"),
        (
            "a.swift",
            "/// close_twice\n    /** close_twice\n     * close_twice */\nused_grant()",
        ),
        ("a.py", "used_grant()  # close_twice"),
    ] {
        let found = wrong(&without_comments(path, file), "Java", &cases);
        assert_eq!(found, ["Java lacks close_twice"], "{path}");
    }
}
