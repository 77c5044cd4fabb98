//! `undertone-lab authorship` and `undertone-lab inversion`, run as commands on mailboxes that the
//! test writes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    common::undertone(folder, [&["authorship"], arguments].concat())
}

/// Words about each topic, and favourite words of one author of a group.
const TOPICS: [(&str, &[&str]); 2] = [
    (
        "food",
        &[
            "soup", "bread", "salt", "oven", "pepper", "butter", "onion", "flour",
        ],
    ),
    (
        "sky",
        &[
            "rocket", "orbit", "moon", "comet", "engine", "launch", "planet", "fuel",
        ],
    ),
];
const HABITS: [&[&str]; 3] = [
    &["frankly", "indeed", "rather"],
    &["totally", "cool", "dude"],
    &["hence", "whereas", "albeit"],
];

/// Writes 20 messages of each of three authors in both groups, and five messages of others.
/// Headers, addresses and signatures always identify the author; words do if `telling`.
fn write_mailbox(folder: &Path, telling: bool) {
    let mut lines = String::new();
    for (group, words) in TOPICS {
        for author in 0..HABITS.len() {
            let style = if telling { author } else { 0 };
            for message in 0..20 {
                let mut text = String::new();
                for place in 0..12 {
                    let word = words[(message * 5 + place * 3 + style) % words.len()];
                    let habit = HABITS[style][(message + place) % HABITS[style].len()];
                    let _ = write!(text, "{word} {habit} the {word}. ");
                }
                let raw = format!(
                    "From: writer{author}@{group}.org (Writer)\nSubject: zzheader{author}\n\n{text}\n\
                     Mail writer{author}@{group}.org now.\n\n-- \nzzsignature{author}\n"
                );
                let line = serde_json::json!({"label": group, "text": raw});
                let _ = writeln!(lines, "{line}");
            }
        }
        for other in 0..5 {
            let text = format!("{} and {}", words[other], words[other + 1]);
            let raw = format!("From: other{other}@x.org\n\n{text}");
            let line = serde_json::json!({"label": group, "text": raw});
            let _ = writeln!(lines, "{line}");
        }
    }
    fs::write(folder.join("mail.jsonl"), lines).unwrap();
}

/// Writes vectors in which the words of a topic are near each other.
fn write_vectors(folder: &Path) {
    let mut lines = String::new();
    let mut add = |word: &str, start: [f32; 2], number: usize| {
        let (x, y) = (
            start[0] + 0.1 * number as f32,
            start[1] + 0.07 * number as f32,
        );
        let _ = writeln!(lines, "{word} {x} {y} {} 0.5", 0.01 * number as f32);
    };
    for ((_, words), start) in TOPICS.iter().zip([[0.0, 3.0], [3.0, 0.0]]) {
        words
            .iter()
            .enumerate()
            .for_each(|(number, word)| add(word, start, number));
    }
    for (author, habits) in HABITS.iter().enumerate() {
        let start = [-2.0 - author as f32, -2.0];
        habits
            .iter()
            .enumerate()
            .for_each(|(number, word)| add(word, start, number));
    }
    fs::write(folder.join("toy.txt"), lines).unwrap();
}

const SMALL: [&str; 18] = [
    "--data",
    "mail.jsonl",
    "--word-vectors",
    "toy.txt",
    "--groups",
    "2",
    "--epsilons",
    "0.5,60",
    "--trials",
    "2",
    "--copies",
    "2",
    "--size",
    "20",
    "--vocabulary",
    "16",
    "--curve-words",
    "5",
];

fn column(table: &str, name: &str) -> Vec<String> {
    let mut lines = table.lines();
    let place = lines
        .next()
        .unwrap()
        .split(',')
        .position(|field| field == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}: {table}"));
    lines
        .map(|line| line.split(',').nth(place).unwrap().to_owned())
        .collect()
}

fn numbers(table: &str, name: &str) -> Vec<f64> {
    column(table, name)
        .iter()
        .map(|field| field.parse().unwrap())
        .collect()
}

#[test]
fn a_run_hides_authors_and_keeps_topics_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    write_mailbox(folder.path(), true);
    write_vectors(folder.path());
    let mut tables = Vec::new();
    for out in ["first", "second"] {
        let output = run(folder.path(), &[&SMALL[..], &["--out", out]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert!(output.stdout.is_empty());
        let read = |name: &str| fs::read_to_string(folder.path().join(out).join(name)).unwrap();
        let table = read("authorship.csv");
        // Drawn words, and two mechanisms at two ε.
        assert_eq!(
            column(&table, "epsilon"),
            ["", "0.5", "60", "0.5", "60"],
            "{table}"
        );
        let page = read("report.html");
        assert_eq!(page.matches("<svg").count(), 4);
        common::check_page(&page);
        for absent in ["@food.org", "writer0"] {
            assert!(!page.contains(absent), "{absent}");
        }
        for part in [
            "undertone-lab authorship --data mail.jsonl",
            "Laplace + nearest",
            "chance",
            "±",
        ] {
            assert!(page.contains(part), "{part}");
        }
        tables.push((
            table,
            read("clear.csv"),
            read("groups.csv"),
            read("fidelity.csv"),
            read("fidelity-ratios.csv"),
        ));
    }
    assert_eq!(tables[0], tables[1]);

    let (table, clear, groups, fidelity, _) = &tables[0];
    // Three authors with 20 messages each, split into 60, 20 and 20 %, and five messages of others.
    assert!(groups.contains("food,3,36,12,12,3,1,1\n"), "{groups}");
    // Every attack on clear text finds the author by habits.
    let accuracy: Vec<String> = column(clear, "accuracy");
    assert!(accuracy[0].parse::<f64>().unwrap() > 0.95, "{clear}");
    assert_eq!(accuracy[2], "0.33333");
    let (attack, topic) = (
        numbers(table, "attack_mean"),
        numbers(table, "topic_f1_mean"),
    );
    // The 16 words of the vocabulary carry the topic and no habits.
    assert!(
        topic[0] > 0.95 && topic[2] > 0.95 && topic[4] > 0.95,
        "{table}"
    );
    // 0.5 per unit of distance suffices for 20 words and topics that are 4 units apart.
    assert!(topic[3] > 0.7, "{table}");
    assert!(attack[3] < 0.6, "{table}");
    let same = numbers(fidelity, "same_word");
    // Three mechanisms, and the certified tables.
    assert_eq!(same.len(), 3 * 25 + 4);
    assert!(same.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p)));
}

#[test]
fn headers_addresses_and_signatures_tell_no_attacker_anything() {
    let folder = tempfile::tempdir().unwrap();
    write_mailbox(folder.path(), false);
    write_vectors(folder.path());
    let output = run(folder.path(), &[&SMALL[..], &["--out", "out"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let read = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let clear = read("clear.csv");
    let accuracy = column(&clear, "accuracy");
    // Chance is a third, over 24 guesses.
    for attack in &accuracy[..2] {
        assert!(attack.parse::<f64>().unwrap() < 0.6, "{clear}");
    }
    let table = read("authorship.csv");
    assert!(
        numbers(&table, "attack_mean")
            .iter()
            .all(|share| *share < 0.6),
        "{table}"
    );
}

#[test]
fn errors_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    write_mailbox(folder.path(), true);
    write_vectors(folder.path());
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "unlabelled.jsonl",
        "{\"text\": \"From: a@b.c\\n\\nHello.\"}\n",
    );
    write("foreign.txt", "alpha 1 2\nbeta 3 4\n");
    write("file", "");
    for (option, value, parts) in [
        ("--data", "none.jsonl", &["cannot open `none.jsonl`"][..]),
        (
            "--data",
            "unlabelled.jsonl",
            &["`unlabelled.jsonl`", "has no label", "news group"],
        ),
        ("--word-vectors", "none.txt", &["`none.txt`"]),
        (
            "--word-vectors",
            "foreign.txt",
            &["no word of the vectors `foreign`"],
        ),
        (
            "--groups",
            "3",
            &["2 groups have", "3 are wanted", "--groups"],
        ),
        ("--groups", "0", &["--groups"]),
        ("--least-messages", "21", &["0 groups have", "21 messages"]),
        ("--size", "257", &["--size", "256"]),
        ("--epsilons", "0", &["epsilon"]),
        ("--epsilons", "1,0.01", &["epsilon 0.01", "0.1..=1000"]),
        ("--out", "file", &["cannot create the folder `file`"]),
    ] {
        let mut arguments: Vec<&str> = SMALL.to_vec();
        arguments.extend(["--out", "out"]);
        match arguments.iter().position(|own| *own == option) {
            Some(place) => arguments[place + 1] = value,
            None => arguments.extend([option, value]),
        }
        common::refused(&run(folder.path(), &arguments), &arguments, parts);
        assert!(
            !folder.path().join("out/report.html").exists(),
            "{option} {value}"
        );
    }
}

const SMALL_INVERSION: [&str; 19] = [
    "inversion",
    "--data",
    "mail.jsonl",
    "--word-vectors",
    "toy.txt",
    "--groups",
    "2",
    "--epsilons",
    "0.1,200",
    "--words",
    "2000",
    "--directions",
    "2",
    "--bag-vocabulary",
    "16",
    "--sizes",
    "1,12",
    "--lessons",
    "2000",
];

#[test]
fn attackers_find_nothing_and_then_everything_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    write_mailbox(folder.path(), true);
    write_vectors(folder.path());
    let mut tables = Vec::new();
    for out in ["first", "second"] {
        let arguments = [&SMALL_INVERSION[..], &["--trials", "20", "--out", out]].concat();
        let output = common::undertone(folder.path(), &arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert!(
            output.stdout.is_empty() && !errors.contains("warning"),
            "{errors}"
        );
        let read = |name: &str| fs::read_to_string(folder.path().join(out).join(name)).unwrap();
        let page = read("report.html");
        common::check_page(&page);
        for part in [
            "undertone-lab inversion --data mail.jsonl",
            "Bags of 12, by selection",
            "Bags of 12, by Laplace noise and the nearest word",
            "All hold.",
            "±",
        ] {
            assert!(page.contains(part), "{part}");
        }
        tables.push([read("vectors.csv"), read("bags.csv")]);
    }
    assert_eq!(tables[0], tables[1]);
    let [vectors, bags] = &tables[0];
    // Two releases, two ε, four attackers; two mechanisms, two sizes, two ε, four attackers and
    // one on whole bags.
    assert_eq!(numbers(vectors, "found").len(), 2 * 2 * 4);
    assert_eq!(numbers(bags, "found").len(), 2 * 2 * (4 + 5));
    for table in [vectors, bags] {
        let attackers = column(table, "attacker");
        let rows = attackers.iter().zip(column(table, "epsilon"));
        let rows = rows
            .zip(numbers(table, "found"))
            .zip(numbers(table, "bound"));
        for (((attacker, epsilon), found), bound) in rows {
            assert!(
                found <= bound + 0.1 && bound <= 1.0,
                "{attacker} {epsilon}: {found} {bound}"
            );
            if epsilon == "200" && attacker.ends_with("posterior") {
                assert!(found > 0.9, "{table}");
            }
        }
    }
}

#[test]
fn attackers_need_epsilons_that_noise_has() {
    let folder = tempfile::tempdir().unwrap();
    write_mailbox(folder.path(), true);
    write_vectors(folder.path());
    for (option, value, parts) in [
        ("--epsilons", "0.01", &["epsilon 0.01", "0.1..=1000"][..]),
        ("--sizes", "0", &["--sizes"]),
        ("--bag-vocabulary", "1", &["--bag-vocabulary"]),
        (
            "--groups",
            "3",
            &["2 groups have", "3 are wanted", "--groups"],
        ),
    ] {
        let mut arguments = [&SMALL_INVERSION[..], &["--out", "out"]].concat();
        let place = arguments.iter().position(|own| *own == option).unwrap();
        arguments[place + 1] = value;
        let output = common::undertone(folder.path(), &arguments);
        common::refused(&output, &arguments, parts);
        assert!(
            !folder.path().join("out/report.html").exists(),
            "{option} {value}"
        );
    }
}
