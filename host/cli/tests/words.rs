//! Vocabularies, keywords and private bags of words on the command line.
//!
//! Chance: false alarm 10⁻¹³, miss none. A comment in `near_words…` derives it. Bags of
//! `only_words…` and of `apostrophes…` are drawn from a single word with the others as far away, or
//! at ε = 1000, which fails less often.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::common::{self, contains, names, refuse, refuse_all, succeed, undertone};
use tempfile::TempDir;
use undertone_core::pack::Pack;
use undertone_core::release::BagRelease;

/// Words in three groups on a line, 1 apart within a group and 16 between groups.
const WORDS: [(&str, f32); 9] = [
    ("soup", 0.0),
    ("bread", 1.0),
    ("salt", 2.0),
    ("goal", 16.0),
    ("team", 17.0),
    ("referee", 18.0),
    ("comet", 32.0),
    ("Saturn", 33.0),
    ("moon", 34.0),
];

/// Writes word vectors and private texts, and makes the vocabulary.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text: String = WORDS
        .iter()
        .map(|(word, x)| format!("{word} {x} 0.5\n"))
        .collect();
    fs::write(folder.path().join("w.txt"), text).unwrap();
    succeed(folder.path(), "vocabulary --vectors w.txt --out w.pack");
    let private = [
        "The soup needs salt, more SALT.",
        "Our team scored a goal!",
        "Zyzzyva is a secretword that nobody knows.",
        "the of and",
        "",
        &"x".repeat(10_000),
        "Saturn’s moon \u{0} \u{fffd} Don’t",
    ];
    let lines = private.iter().enumerate().map(|(number, text)| {
        serde_json::json!({"id": format!("text-{number}"), "text": text}).to_string() + "\n"
    });
    fs::write(folder.path().join("p.jsonl"), lines.collect::<String>()).unwrap();
    folder
}

const OBFUSCATE: &str = "obfuscate --pack w.pack --epsilon 10 --in p.jsonl --out r.jsonl";

fn with(arguments: &str, more: &str) -> String {
    format!("{arguments} {more}")
}

/// The lines of a released file: id, release, words.
fn read(path: &Path) -> Vec<(String, Vec<u8>, Vec<String>)> {
    let lines = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let words = line["words"].as_array().unwrap().iter().map(text).collect();
        (
            text(&line["id"]),
            hex::decode(text(&line["release"])).unwrap(),
            words,
        )
    };
    lines.lines().map(line).collect()
}

#[test]
fn texts_become_bags_of_words_of_the_vocabulary() {
    let folder = prepared();
    let folder = folder.path();
    let described = succeed(folder, "inspect w.pack");
    assert!(described.contains("lexicon     9 words"), "{described}");
    for how in [
        "",
        "--rule exponential --bag-size 1",
        "--bag-size 256",
        "--mechanism laplace --bag-size 20",
    ] {
        let printed = succeed(folder, with(OBFUSCATE, how));
        let size = how.split("--bag-size ").nth(1).unwrap_or("50");
        assert!(printed.contains(&format!("n = {size} words")), "{printed}");
        assert!(printed.contains("ε = 10 per unit"), "{printed}");
        let known: HashSet<String> = WORDS.iter().map(|(word, _)| word.to_lowercase()).collect();
        let pack = fs::read(folder.join("w.pack")).unwrap();
        let pack = Pack::parse(&pack).unwrap();
        let released = read(&folder.join("r.jsonl"));
        assert_eq!(released.len(), 7);
        for (number, (id, bytes, words)) in released.iter().enumerate() {
            assert_eq!(*id, format!("text-{number}"));
            assert_eq!(words.len().to_string(), size);
            assert!(words.is_sorted());
            assert!(words.iter().all(|word| known.contains(word)), "{words:?}");
            let release = BagRelease::from_bytes(bytes).unwrap();
            assert_eq!(
                (release.pack_id(), release.epsilon().micro()),
                (pack.id(), 10_000_000)
            );
            let lexicon = pack.lexicon().unwrap();
            let named: Vec<_> = release
                .words()
                .map(|word| lexicon.word(word as usize).unwrap())
                .collect();
            assert_eq!(*words, named);
        }
        let whole = fs::read_to_string(folder.join("r.jsonl")).unwrap();
        for private in ["zyzzyva", "secretword", "xxx", "needs", "the\""] {
            assert!(!whole.to_lowercase().contains(private), "{private}");
        }
    }
}

#[test]
fn near_words_are_likelier_and_unknown_texts_are_the_fallback_word() {
    let folder = prepared();
    let folder = folder.path();
    succeed(folder, with(OBFUSCATE, "--words 256"));
    let released = read(&folder.join("r.jsonl"));
    // At ε = 10 a word outside its group, at distance 14, would have a relative weight of e^-70,
    // but no weight is below 5·2⁻⁶⁴. One of six such words is drawn in 1,800 draws with a
    // probability below 10⁻¹⁴. At least a third of the words of each text are of the expected
    // group: 256 draws without any of them have a probability of (2/3)^256, or 10⁻⁴⁵.
    let group = |number: usize| {
        let words = released[number].2.iter();
        words.map(|word| {
            WORDS
                .iter()
                .position(|(own, _)| own.to_lowercase() == *word)
                .unwrap()
                / 3
        })
    };
    // "needs" and "scored" are not in the vocabulary, and "soup" has the smallest norm.
    assert!(group(0).all(|group| group == 0));
    assert!(group(1).any(|group| group == 1) && group(1).all(|group| group < 2));
    for number in 2..=5 {
        assert!(group(number).all(|group| group == 0), "{number}");
    }
    // "saturn's" is not in the vocabulary.
    assert!(group(6).any(|group| group == 2));
}

#[test]
fn only_words_to_keep_count() {
    let folder = prepared();
    let folder = folder.path();
    fs::write(folder.join("keep.txt"), "Team\nthe\nunheardof\n").unwrap();
    let notes = common::notes(folder, with(OBFUSCATE, "--keep keep.txt --words 256"));
    assert!(notes.contains("2 of the 3 words to keep"), "{notes}");
    let released = read(&folder.join("r.jsonl"));
    let groups = |number: usize| -> HashSet<bool> {
        let words = released[number].2.iter();
        words
            .map(|word| ["goal", "team", "referee"].contains(&word.as_str()))
            .collect()
    };
    assert_eq!(groups(0), [false].into());
    assert_eq!(groups(1), [true].into());
    // Stop words from a file replace the English ones.
    fs::write(folder.join("stop.txt"), "team scored our a\n").unwrap();
    succeed(folder, with(OBFUSCATE, "--stop-words stop.txt"));
    let released = read(&folder.join("r.jsonl"));
    assert!(
        released[1]
            .2
            .iter()
            .all(|word| ["goal", "team", "referee"].contains(&word.as_str()))
    );
}

#[test]
fn weak_promises_are_called_that() {
    let folder = prepared();
    let folder = folder.path();
    let run = |epsilon| {
        let arguments = OBFUSCATE.replace("10", epsilon);
        let output = undertone(folder, &arguments);
        assert!(output.status.success());
        let [printed, notes] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (printed, notes)
    };
    // Norms are at most 34.004, so q = 1/2 is the smallest power of two with 2·34.004 < 256·q.
    let (printed, notes) = run("1");
    assert!(printed.contains("q = 0.5"), "{printed}");
    contains(
        &printed,
        &["its nearest           1.000        1.5   4.49e0"],
    );
    contains(&notes, &["warning: for a word and its 10th nearest"]);
    let (_, notes) = run("20");
    contains(&notes, &["warning: for a word and its nearest"]);
    assert!(notes.contains("e^30.0, above e^20"), "{notes}");
    assert!(notes.contains("at epsilon 13.333"), "{notes}");
    let (_, notes) = run("0.1");
    assert!(!notes.contains("warning"), "{notes}");
}

#[test]
fn interrupted_releases_of_words_go_on() {
    let folder = prepared();
    let folder = folder.path();
    let paid = with(&OBFUSCATE.replace("10", "1"), "--ledger l --budget 900");
    let part = common::interrupt(folder, &paid, "r.jsonl", 3000);
    let lines = part.lines().count();
    assert!(lines > 0 && lines < 7, "{lines}");
    fs::write(folder.join("the.txt"), "the\n").unwrap();
    fs::write(folder.join("soup.txt"), "soup\n").unwrap();
    for other in [
        "--words 49",
        "--rule exponential",
        "--mechanism laplace",
        "--stop-words the.txt",
        "--keep soup.txt",
        "--messages",
    ] {
        refuse(folder, with(&paid, other), &["move the file away"]);
    }
    let notes = common::notes(folder, &paid);
    contains(&notes, &[&format!("resuming: {lines} documents")]);
    assert_eq!(common::partial(folder, "r.jsonl"), None);
    let whole = fs::read_to_string(folder.join("r.jsonl")).unwrap();
    assert!(whole.starts_with(&part) && whole.lines().count() == 7);
}

#[test]
fn what_cannot_be_obfuscated_is_refused() {
    let folder = prepared();
    let folder = folder.path();
    let write = |name: &str, content: &[u8]| fs::write(folder.join(name), content).unwrap();
    write("bad.jsonl", b"{\"text\": \"soup\"}\n{\"text\": \"\xff\"}\n");
    write("empty.txt", b"\n--\n");
    write("latin.txt", b"soup\ncaf\xe9\n");
    write("foreign.txt", b"unheardof\nthe\n");
    write("no.pack", b"UTPK");
    fs::create_dir(folder.join("folder")).unwrap();
    fs::create_dir(folder.join("folder/inside")).unwrap();
    // A bad line at the end costs no budget, because it is found before the first release.
    refuse_all(
        folder,
        "obfuscate",
        "--pack w.pack --in p.jsonl --out r.jsonl --epsilon 0 => epsilon | 0.000001
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon -1 => epsilon
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon 1001 => 1000
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon nan => epsilon
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon 0.01 --mechanism laplace => 0.01 | 0.1
        --pack no.pack --in p.jsonl --out r.jsonl --epsilon 10 => no.pack | not a usable pack
        --pack absent.pack --in p.jsonl --out r.jsonl --epsilon 10 => absent.pack
        --pack w.pack --in bad.jsonl --out r.jsonl --epsilon 10 => bad.jsonl | line 2 | UTF-8
        --pack w.pack --in absent.jsonl --out r.jsonl --epsilon 10 => absent.jsonl
        --pack w.pack --in w.txt --out r.jsonl --epsilon 10 => ending
        --pack w.pack --in p.jsonl --out folder --epsilon 10 => folder
        --pack w.pack --in p.jsonl --out none/r.jsonl --epsilon 10 => none/r.jsonl",
    );
    refuse_all(
        folder,
        OBFUSCATE,
        "--bag-size 0 => --bag-size | 1..=256
        --bag-size 257 => --bag-size | 1..=256
        --keep empty.txt => empty.txt | no word
        --keep latin.txt => latin.txt | line 2 | UTF-8
        --keep foreign.txt => foreign.txt | none of its 2 words
        --stop-words absent.txt => absent.txt
        --mechanism laplace --rule exponential => --rule is for --mechanism selection",
    );
    // A pack without a lexicon.
    let model = common::Model::default();
    common::write_encoder(folder, "encoder", &model, &common::fitting_tokenizer());
    write("public.tsv", b"a\tred\nb\tgreen\n");
    let encoder = "--encoder encoder";
    let pack = "pack --corpus public.tsv --out g.pack";
    succeed(folder, with(pack, encoder));
    refuse(
        folder,
        OBFUSCATE.replace("w.pack", "g.pack"),
        &["g.pack", "no lexicon", "undertone lexicon import"],
    );
}

#[test]
fn vocabularies_leave_out_what_has_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let vectors = "one 1 0\nTwo 0 1\ntwo 0 2\nnothing 0 0\none 5 5\nthree_four 1 1\nlast 3 3\n";
    fs::write(folder.join("v.txt"), vectors).unwrap();
    let vocabulary = "vocabulary --vectors v.txt --out v.pack";
    let run = |more: &str| common::notes(folder, with(vocabulary, more));
    let notes = run("");
    assert!(notes.contains("3 of 7 words, 2 coordinates"), "{notes}");
    assert!(notes.contains("2 that no text"), "{notes}");
    contains(&notes, &["1 repeated, 1 without a vector, 0 after"]);
    let notes = run("--words 2");
    contains(&notes, &["2 of 7 words", "1 after the first 2"]);

    for (content, more, parts) in [
        ("a 1 2\nb 1\n", "", &["bad.txt", "line 2"][..]),
        ("a 1 2\nb 1 inf\n", "", &["line 2", "coordinate 2", "inf"]),
        ("", "", &["no words"]),
        ("a_b 1\n", "", &["none of the 1 words"]),
        ("a 1\n", "--words 0", &["0 words", "1 to 65536"]),
        ("a 1\n", "--words 65537", &["65537 words", "1 to 65536"]),
        ("a 1\n", "--corpus absent.tsv", &["absent.tsv"]),
    ] {
        fs::write(folder.join("bad.txt"), content).unwrap();
        let bad = "vocabulary --vectors bad.txt --out bad.pack";
        refuse(folder, with(bad, more), parts);
    }
    fs::write(folder.join("other.txt"), "quatre\ncinq\n").unwrap();
    refuse(
        folder,
        with(vocabulary, "--keep other.txt"),
        &["other.txt", "none of its 2 words is among the 7 of `v`"],
    );
    let nowhere = "vocabulary --vectors v.txt --out none/v.pack";
    refuse(folder, nowhere, &["none/v.pack"]);
}

/// Both apostrophes are the same character in vectors, lists and texts.
#[test]
fn apostrophes_are_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (number, (vector, listed)) in [("don’t", "don’t"), ("don’t", "don't"), ("Don't", "don’t")]
        .into_iter()
        .enumerate()
    {
        fs::write(
            folder.join("v.txt"),
            format!("{vector} 1 0\nsoup 0 1\nleft 2 2\n"),
        )
        .unwrap();
        fs::write(folder.join("keep.txt"), format!("{listed}\nsoup\n")).unwrap();
        let out = format!("{number}.pack");
        let vocabulary = format!("vocabulary --vectors v.txt --keep keep.txt --out {out}");
        let output = undertone(folder, &vocabulary);
        let notes = String::from_utf8(output.stderr).unwrap();
        assert!(notes.contains("2 of 2 words"), "{vector} {listed}: {notes}");

        let text = format!("a\tThey {vector} like soup.\nb\tMoon.\n");
        fs::write(folder.join("c.tsv"), text).unwrap();
        let obfuscate =
            "obfuscate --epsilon 1000 --words 3 --in c.tsv --out o.jsonl --keep keep.txt --pack";
        let obfuscate = format!("{obfuscate} {out}");
        let output = undertone(folder, with(&obfuscate, "--stop-words stop.txt"));
        assert!(!output.status.success());
        fs::write(folder.join("stop.txt"), "soup").unwrap();
        let output = undertone(folder, with(&obfuscate, "--stop-words stop.txt"));
        let notes = String::from_utf8(output.stderr).unwrap();
        contains(&notes, &["1 of the 2 words to keep are stop words"]);
        let lines = fs::read_to_string(folder.join("o.jsonl")).unwrap();
        contains(&lines, &["\"words\":[\"don't\",\"don't\",\"don't\"]"]);
        fs::write(folder.join("stop.txt"), listed).unwrap();
        let keywords = "keywords --corpus c.tsv --words 9 --out k.txt --stop-words stop.txt";
        succeed(folder, keywords);
        let found = fs::read_to_string(folder.join("k.txt")).unwrap();
        assert!(!found.contains("don") && found.contains("soup"), "{found}");
        fs::remove_file(folder.join("stop.txt")).unwrap();
    }
}

#[test]
fn keywords_tell_labels_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let corpus: String = (0..20)
        .map(|number| match number % 2 {
            0 => format!("cook\tThe soup with salt number{number}, as always.\n"),
            _ => "sport\tThe team with a goal, as always.\n".to_owned(),
        })
        .collect();
    fs::write(folder.join("c.tsv"), &corpus).unwrap();
    let keywords = "keywords --corpus c.tsv --words 4 --out k.txt";
    succeed(folder, keywords);
    assert_eq!(
        fs::read_to_string(folder.join("k.txt")).unwrap(),
        "goal\nsalt\nsoup\nteam\n"
    );
    fs::write(folder.join("stop.txt"), "soup").unwrap();
    succeed(folder, with(keywords, "--stop-words stop.txt"));
    assert_eq!(
        fs::read_to_string(folder.join("k.txt")).unwrap(),
        "a\ngoal\nsalt\nteam\n"
    );
    assert_eq!(names(folder).len(), 3);

    let change = |to: &str| keywords.replace("c.tsv", to);
    fs::write(folder.join("one.tsv"), "a\tsoup\na\tsalt\n").unwrap();
    refuse(
        folder,
        change("one.tsv"),
        &["one.tsv", "2 documents with 1 labels"],
    );
    fs::write(
        folder.join("none.jsonl"),
        "{\"id\": 7, \"text\": \"soup\", \"genre\": \"a\"}\n",
    )
    .unwrap();
    refuse(
        folder,
        change("none.jsonl"),
        &[
            "1 of 1 documents have no label, the first on line 1",
            "--label",
        ],
    );
    refuse(
        folder,
        with(&change("none.jsonl"), "--label genre"),
        &["1 labels"],
    );
}
