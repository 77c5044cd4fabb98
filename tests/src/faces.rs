//! The lists of `tests/faces`, which every face of the library runs: the library as one language
//! sees it.

use std::collections::BTreeSet;

use crate::tree::read;

/// All faces, by their names in the lists.
pub const FACES: [&str; 8] = [
    "C",
    "C++",
    "Java",
    "Kotlin",
    "Swift",
    "JavaScript",
    "Python",
    "Rust",
];

/// The golden packs and the vectors that every face runs, files in `tests/golden`, without
/// `features.txt`, which lists the features of texts: they are internal, and `vectors-features.txt`
/// releases them.
///
/// # Panics
///
/// If a line has no space.
pub fn golden_files() -> Vec<(&'static str, &'static str)> {
    let list = include_str!("../golden/list.txt");
    let pair = |line: &'static str| line.split_once(' ').expect("a pack and its vectors");
    list.lines().map(pair).collect()
}

/// The number of golden vectors in a file: lines with an expected release or sentence vector.
pub fn golden_vectors(file: &str) -> usize {
    let text = read(&format!("tests/golden/{file}"));
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    let releases = lines("release ");
    if releases == 0 {
        lines("vector ")
    } else {
        releases
    }
}

/// The golden form and the vectors for it, for faces whose program runs them with [`golden_files`].
pub const OF_FORMS: [(&str, &str); 2] = [
    ("golden.form", "answers.txt"),
    ("golden.form", "drawn-answers.txt"),
];

/// Compares the output of a face's program, a line for each of these files, with the number of
/// vectors in each.
///
/// # Panics
/// If it ran fewer, or printed anything else.
pub fn assert_agrees(face: &str, files: &[(&str, &str)], printed: &str) {
    let agree = |&(_, file): &(_, &str)| {
        let count = golden_vectors(file);
        assert!(count > 20, "{file} has {count} golden vectors");
        format!("{file}: {count} golden vectors agree")
    };
    let wanted: Vec<String> = files.iter().map(agree).collect();
    let found: Vec<&str> = printed.lines().collect();
    assert_eq!(found, wanted, "{face}: what ran, and tests/golden");
}

/// The rows of a page's only table.
fn table(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = page.lines().filter_map(|line| line.strip_prefix('|'));
    lines.map(|line| {
        let line = line.strip_suffix('|').unwrap_or(line);
        line.split('|').map(str::trim).collect()
    })
}

/// The column titles of a page's only table.
///
/// # Panics
/// If there is no table.
pub fn columns(page: &str) -> Vec<&str> {
    table(page).next().expect("a table")
}

/// The cells of the rows of a page's only table.
pub fn rows(page: &str) -> Vec<Vec<&str>> {
    table(page).skip(2).collect()
}

/// The parts of a cell in backticks.
pub fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The faces that have a case, according to its last cell.
fn faces_of(cell: &str) -> BTreeSet<&'static str> {
    let named = |list: &str| {
        list.split(", ")
            .map(|name| {
                let known = FACES.iter().find(|face| **face == name);
                *known.unwrap_or_else(|| panic!("{name} is no face: {cell}"))
            })
            .collect::<BTreeSet<_>>()
    };
    match cell.strip_prefix("not ") {
        Some(without) => &BTreeSet::from(FACES) - &named(without),
        None if cell == "all" => BTreeSet::from(FACES),
        None => named(cell),
    }
}

/// The names of a list's cases, each with the faces that have it.
pub fn cases(page: &str) -> Vec<(&str, BTreeSet<&'static str>)> {
    let all = || BTreeSet::from(FACES);
    let cases: Vec<_> = rows(page)
        .into_iter()
        .map(|row| {
            let name = quoted(row[0]).next().expect("a name between backticks");
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(!name.is_empty() && name.chars().all(snake), "{name}");
            (name, row.get(3).map_or_else(all, |cell| faces_of(cell)))
        })
        .collect();
    let names: BTreeSet<_> = cases.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), cases.len(), "a name is there twice");
    cases
}

/// Compares the output of a face's programs, "case NAME" for each, with a list of `tests/faces`.
///
/// # Panics
/// If a case did not run, or a case ran that the list rules out.
pub fn assert_ran(face: &str, list: &str, printed: &str) {
    let ran: BTreeSet<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("case "))
        .collect();
    let page = read(&format!("tests/faces/{list}"));
    let wanted: BTreeSet<&str> = cases(&page)
        .into_iter()
        .filter_map(|(name, faces)| faces.contains(face).then_some(name))
        .collect();
    assert_eq!(ran, wanted, "{face}: what ran, and {list}");
}
