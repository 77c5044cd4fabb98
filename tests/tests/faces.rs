//! Every face has every feature and runs the golden vectors, and the lists of `tests/faces` contain
//! only statuses that exist. The programs of the faces print the cases that they run;
//! `undertone_tests::faces` and `ran.sh` compare them with the lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use undertone_tests::faces::{FACES, cases, columns, golden_files, golden_vectors, quoted, rows};
use undertone_tests::tree::read;

/// Outcomes that are not statuses of the header; `tests/faces/misuse.md` explains each.
const WORDS: [&str; 4] = ["OK", "CLOSED", "ARGUMENT", "SYSTEM"];
const OF_LANGUAGES: [&str; 4] = [
    "STATUS_MOVED",
    "STATUS_FILE_FAILED",
    "RuntimeError",
    "IllegalStateException",
];

/// A file without its comments, by line. Text after a `//` in a string is also removed, which at
/// worst hides a name.
fn without_comments(path: &str, file: &str) -> String {
    let mark = if path.ends_with(".py") { "#" } else { "//" };
    let code = file.lines().filter_map(|line| line.split(mark).next());
    code.flat_map(|line| [line, "\n"]).collect()
}

/// The words of a file: names, and the contents of strings.
fn words(file: &str) -> BTreeSet<&str> {
    file.split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect()
}

/// The code of the files named in a cell.
fn code(cell: &str) -> String {
    quoted(cell)
        .map(|path| without_comments(path, &read(path)))
        .collect()
}

/// Names in cells that the tests of their faces lack, and functions in no row or in several.
fn unfounded(page: &str, declared: &BTreeSet<&str>, tests: &BTreeMap<&str, String>) -> Vec<String> {
    let columns = columns(page);
    let tests: BTreeMap<_, _> = tests
        .iter()
        .map(|(face, code)| (*face, words(code)))
        .collect();
    let mut found = Vec::new();
    let mut listed = Vec::new();
    for row in rows(page) {
        assert_eq!(row.len(), columns.len(), "the columns of {row:?}");
        listed.extend(quoted(row[1]).filter(|name| name.starts_with("undertone_")));
        for (face, cell) in columns.iter().zip(&row).skip(1) {
            // Kotlin calls the classes of Java.
            let face = face.trim_end_matches(", Kotlin");
            let explained = |why: &str| why.len() > 5;
            if cell.strip_prefix("none: ").is_some_and(explained) {
                continue;
            }
            // The missing parts of a feature, after the names of the parts it has.
            let (has, lacks) = cell
                .split_once("; none for ")
                .unwrap_or((cell, "a: reason"));
            if !lacks
                .split_once(": ")
                .is_some_and(|(_, why)| explained(why))
            {
                found.push(format!("{face}: {}: no reason for what it lacks", row[0]));
            }
            let names: Vec<&str> = quoted(has)
                .flat_map(words)
                .filter(|name| !name.is_empty())
                .collect();
            if names.is_empty() {
                found.push(format!("{face}: {}: an empty cell", row[0]));
            }
            for name in names.iter().filter(|name| !tests[face].contains(*name)) {
                found.push(format!("{face}: {}: no test has {name}", row[0]));
            }
        }
    }
    let rows_with = |name: &str| listed.iter().filter(|listed| **listed == name).count();
    found.extend(
        declared
            .iter()
            .filter(|name| rows_with(name) != 1)
            .map(|name| format!("{name} is in {} rows", rows_with(name))),
    );
    found.extend(
        listed
            .iter()
            .filter(|name| !declared.contains(*name))
            .map(|name| format!("the header has no {name}")),
    );
    found
}

#[test]
fn every_face_has_every_feature() {
    let readme = read("tests/faces/README.md");
    let table = rows(&readme);
    let tests = table.iter().map(|row| {
        let files = row[1..].iter().filter(|cell| !cell.starts_with("none: "));
        (row[0], files.map(|cell| code(cell)).collect())
    });
    // The functions of the header, which c_consumer.rs checks.
    let symbols = read("tests/c/symbols.txt");
    let declared: BTreeSet<&str> = symbols.lines().collect();
    assert!(declared.len() > 60, "{declared:?}");
    let found = unfounded(
        &read("tests/faces/features.md"),
        &declared,
        &tests.collect(),
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_the_table_of_features_lacks_is_found() {
    let declared = BTreeSet::from(["undertone_one", "undertone_two"]);
    let tests = BTreeMap::from([
        ("C", "undertone_one(); undertone_two();".to_owned()),
        ("Java", "one(); push(text: 1)".to_owned()),
    ]);
    let unfounded = |rows: &str| {
        unfounded(
            &format!("| feature | C | Java, Kotlin |\n| --- | --- | --- |\n{rows}"),
            &declared,
            &tests,
        )
    };
    let both = "| a | `undertone_one`, `undertone_two` |";
    assert!(unfounded(&format!("{both} `one`, `push(text:)` |\n")).is_empty());
    assert!(unfounded(&format!("{both} none: a reason |\n")).is_empty());
    assert!(unfounded(&format!("{both} `one`; none for `two`: a reason |\n")).is_empty());
    for (rows, what) in [
        (format!("{both} |\n"), "Java: a: an empty cell"),
        (format!("{both} none: |\n"), "Java: a: an empty cell"),
        (format!("{both} `two` |\n"), "Java: a: no test has two"),
        (
            format!("{both} `two`; none for one: a reason |\n"),
            "Java: a: no test has two",
        ),
        (
            format!("{both} `one`; none for two |\n"),
            "Java: a: no reason for what it lacks",
        ),
        (
            "| a | `undertone_one` | `one` |\n".to_owned(),
            "undertone_two is in 0 rows",
        ),
        (
            format!("{both} `one` |\n| b | `undertone_two` | `one` |\n"),
            "undertone_two is in 2 rows",
        ),
    ] {
        assert_eq!(unfounded(&rows), [what], "{rows}");
    }
}

/// The result of `ran.sh` of this folder for the output of a face.
fn ran(folder: &Path, face: &str, printed: &str) -> Output {
    let mut child = Command::new("sh")
        .args([&folder.join("ran.sh"), Path::new(face)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut pipe = child.stdin.take().expect("it is a pipe");
    // It does not read files that it refuses.
    let _ = pipe.write_all(printed.as_bytes());
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

#[test]
fn the_script_knows_faces_and_cases() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faces");
    fs::create_dir_all(&folder).expect("a folder");
    for name in ["ran.sh", "README.md", "keyboard-day.md"] {
        fs::write(folder.join(name), read(&format!("tests/faces/{name}"))).expect("a file");
    }
    let misuse = read("tests/faces/misuse.md") + "| `close_2_times` | | | not C++ |\n";
    fs::write(folder.join("misuse.md"), &misuse).expect("a file");
    let day = read("tests/faces/keyboard-day.md");
    for face in FACES {
        let all = [cases(&misuse), cases(&day)].concat();
        let has = |(name, faces): (&str, BTreeSet<_>)| {
            faces.contains(face).then(|| format!("case {name}\n"))
        };
        let printed: Vec<String> = all.into_iter().filter_map(has).collect();
        assert!(ran(&folder, face, &printed.concat()).status.success());
        // Without the last case of misuse.md, and with one that the list lacks.
        let lacks = printed.concat().replace("case close_2_times\n", "");
        assert_eq!(ran(&folder, face, &lacks).status.success(), face == "C++");
        let more = printed.concat() + "case open_3_times\n";
        assert!(!ran(&folder, face, &more).status.success());
    }
    for face in ["Pascal", "c", "face", "---", ""] {
        let refused = ran(&folder, face, "");
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(message.contains("is no face"), "{face}: {message}");
        assert_eq!(refused.status.code(), Some(2), "{face}");
    }
}

/// Every face runs the golden vector files, including new ones.
#[test]
fn every_face_runs_the_golden_vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let files = fs::read_dir(folder).expect("the folder of the golden vectors");
    let files = files.map(|file| {
        file.expect("a file")
            .file_name()
            .into_string()
            .expect("a name")
    });
    // Features that the library finds in a text, which no face returns; and answers, whose form is
    // no pack. The tests of each face with forms read them.
    let files: BTreeSet<String> = files
        .filter(|name| {
            name.ends_with(".txt")
                && ![
                    "answers.txt",
                    "drawn-answers.txt",
                    "drawn.txt",
                    "features.txt",
                    "list.txt",
                ]
                .contains(&&**name)
        })
        .collect();
    let listed = golden_files()
        .into_iter()
        .map(|(_, vectors)| vectors.to_owned())
        .collect();
    assert_eq!(files, listed, "tests/golden/list.txt");
    // A shell ignores a last line without a line end.
    let is_whole = read("tests/golden/list.txt").ends_with('\n');
    assert!(
        is_whole,
        "tests/golden/list.txt does not end with a line end"
    );
    let readme = read("tests/faces/README.md");
    for row in rows(&readme)
        .iter()
        .filter(|row| !row[3].starts_with("none: "))
    {
        let code = code(row[3]);
        // C, C++ and Java get the list from the Rust tests that start them.
        let own = !["C", "C++", "Java"].contains(&row[0]);
        assert!(code.contains("golden"), "{row:?}");
        if row[0] == "Rust" {
            // It embeds each.
            let embedded = read("tests/src/golden.rs");
            for file in &files {
                let named = embedded.contains(&format!("/{file}\""));
                assert!(named, "tests/src/golden.rs does not have {file}");
            }
        } else {
            let listed = !own || code.contains("\"list.txt\"");
            assert!(listed, "{} does not read tests/golden/list.txt", row[0]);
        }
    }
}

/// Python has no calls for some golden vectors. Its test contains their number for each file; the
/// table of the faces has the number of the others.
#[test]
fn the_table_says_how_many_golden_vectors_python_runs() {
    let test = read("ffi/python/tests/test_golden.py");
    let (mut all, mut ran) = (0, 0);
    for (_, file) in golden_files() {
        let without = test
            .split_once(&format!("\"{file}\": "))
            .and_then(|(_, rest)| rest.split_once(','))
            .map_or(0, |(number, _)| number.parse::<usize>().expect("a number"));
        all += golden_vectors(file);
        ran += golden_vectors(file) - without;
    }
    let readme = read("tests/faces/README.md");
    let table = rows(&readme);
    let python = table.iter().find(|row| row[0] == "Python").expect("a row");
    let says = format!(": {ran} of {all}, because ");
    assert!(python[3].contains(&says), "{says:?} in {python:?}");
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
