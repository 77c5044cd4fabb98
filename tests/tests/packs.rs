//! The ready packs: devices and servers can read them, and their page has the measured figures.
//!
//! Chance: false alarm 10⁻¹², miss none. At epsilon 100 another candidate than the best has at most
//! 2⁻⁴⁸ of its weight.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use undertone::form::Contents;
use undertone::pack::candidates::Candidates;
use undertone::release::document::{self, Method};
use undertone_core::form::Form;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_tests::tree;

fn path(name: &str) -> PathBuf {
    tree::root().join("host/packs").join(name)
}

fn read(name: &str) -> String {
    tree::read(&format!("host/packs/{name}"))
}

/// Releases the public sentence of each topic by the whole-text rule. Returns the number of
/// releases that name their topic, and the number of topics.
fn released(name: &str) -> (usize, usize) {
    let bytes = fs::read(path(&format!("{name}.pack"))).unwrap();
    let pack = Pack::parse(&bytes).unwrap();
    let candidates = Candidates::read(&path(&format!("{name}.candidates.safetensors"))).unwrap();
    assert_eq!(pack.id(), candidates.pack_id());
    assert_eq!(pack.candidate_count() as usize, candidates.entries.len());

    let epsilon = "100".parse().unwrap();
    let method = Method::WholeText;
    let mut document = document::empty(&pack).unwrap();
    let named = candidates.entries.iter().filter(|entry| {
        document.clear();
        document.push_text(entry.excerpt.as_bytes()).unwrap();
        let grant = Grant::unrecorded(method.unit(), epsilon);
        let release = document::draw(&mut document, grant, method).unwrap();
        let (candidate, _) = candidates.decode(&release).unwrap().expect("a candidate");
        candidate.id == entry.id
    });
    (named.count(), candidates.entries.len())
}

#[test]
fn all_release_and_decode() {
    let page = read("README.md");
    for (name, candidates, of) in [
        ("assistant.en", 10, "topics"),
        ("intents.en", 150, "intents"),
        ("topics.12", 7, "topics"),
    ] {
        assert_eq!(released(name), (candidates, candidates));
        assert!(page.contains(&format!("| `{name}` | {candidates} {of}")));
    }
}

/// The form names each emoji once. A keyboard recognises one with a skin tone by its beginning.
#[test]
fn the_form_has_all_emoji() {
    let bytes = fs::read(path("emoji.form")).unwrap();
    let form = Form::parse(&bytes).unwrap();
    let emoji: Vec<String> = Contents::of(&form).attributes[0].categories.clone();
    assert_eq!(emoji.iter().collect::<BTreeSet<_>>().len(), emoji.len());
    for known in ["😂", "❤️", "👍", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🫩", "🇺🇦"] {
        assert!(emoji.iter().any(|name| name == known), "{known}");
    }
    let toned = |name: &&String| name.contains(|c| ('\u{1f3fb}'..='\u{1f3ff}').contains(&c));
    assert_eq!(emoji.iter().find(toned), None);
    let page = read("README.md");
    let count = format!("{},{:03}", emoji.len() / 1000, emoji.len() % 1000);
    assert!(page.contains(&format!("| `emoji.form` | {count} emoji")));
    let planned = read("emoji.txt");
    let last = planned
        .lines()
        .rfind(|line| line.contains(" projective geometry "));
    let row: Vec<&str> = last.expect("epsilon 4").split_whitespace().collect();
    assert_eq!(row[1].replace(',', ""), (emoji.len() + 1).to_string());
    assert!(page.contains(&format!(
        "within ± {} points of the truth if 10,000 devices",
        row[7]
    )));
}

/// Each copy has to name the licences and where they are.
#[test]
fn the_licences_are_named() {
    for file in ["README.md", "NOTICE"] {
        for address in [
            "https://creativecommons.org/licenses/by/3.0/",
            "https://creativecommons.org/licenses/by-sa/4.0/",
            "https://www.unicode.org/license.txt",
        ] {
            assert!(read(file).contains(address), "{file}: {address}");
        }
    }
}

/// Share of right releases by the whole-text rule, in per cent, by ε: the mean over the parts of
/// `measure`, whose first tables have the shares.
fn measured(name: &str) -> BTreeMap<String, f64> {
    let text = read(name);
    let tables: Vec<&str> = text.split("documents as they are").skip(1).collect();
    let mut sums = BTreeMap::new();
    for table in &tables {
        let (first, _) = table.split_once("\n\n").expect("two tables");
        for line in first.lines().skip(3) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (percent, better) = match words[0] {
                "none" => (words[1], true),
                _ => (words[3], line.ends_with("whole text")),
            };
            assert!(better || words[0] == "0.5", "{name}: {line}");
            *sums.entry(words[0].to_owned()).or_default() += percent.parse::<f64>().unwrap();
        }
    }
    for sum in sums.values_mut() {
        *sum /= tables.len() as f64;
    }
    sums
}

#[test]
fn their_page_has_what_was_measured() {
    let page = read("README.md");
    for (row, file, languages) in [
        (
            "| `assistant.en` | 4,500 utterances |",
            "assistant.en.txt",
            1,
        ),
        (
            "| `assistant.en` | 20 % of the longer words misspelt |",
            "assistant.en.misspelt.txt",
            1,
        ),
        ("| `intents.en` | 4,500 utterances |", "intents.en.txt", 1),
        (
            "| `topics.12` | 204 sentences in each of 12 languages, mean |",
            "topics.12.txt",
            12,
        ),
    ] {
        assert_eq!(
            read(file).matches("documents as they are").count(),
            languages
        );
        let found = measured(file);
        let cells =
            ["1", "3", "5", "10", "none"].map(|epsilon| format!(" {:.1} |", found[epsilon]));
        let wanted = format!("{row}{}\n", cells.concat());
        assert!(page.contains(&wanted), "README.md lacks {wanted}");
    }
}
