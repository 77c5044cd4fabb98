//! Vocabularies, keywords and private bags of words on the command line.
//!
//! Chance: false alarm 10⁻¹³, miss none. A comment in `near_words…` derives it. Bags of
//! `only_words…` and of `apostrophes…` are drawn from a single word with the others as far away, or
//! at ε = 1000, which fails less often.

use crate::common::{Folder, Model, array, contains, fitting_tokenizer, write_encoder};
use undertone_core::pack::Pack;
use undertone_core::release::BagRelease;

/// Words in three groups on a line, 1 apart within a group and 16 between groups.
const WORDS: [&str; 9] = [
    "soup", "bread", "salt", "goal", "team", "referee", "comet", "Saturn", "moon",
];

/// The group of a word.
fn group(word: &str) -> usize {
    let place = WORDS.iter().position(|own| own.to_lowercase() == word);
    place.expect("a word of the vocabulary") / 3
}

/// Writes word vectors and private texts, and makes the vocabulary.
fn prepared() -> Folder {
    let folder = Folder::new();
    let line = |(n, word)| format!("{word} {} 0.5\n", n / 3 * 16 + n % 3);
    let text = WORDS.iter().enumerate().map(line);
    folder.write("w.txt", text.collect::<String>());
    folder.succeed("vocabulary --vectors w.txt --out w.pack");
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
        let id = format!("text-{number}");
        serde_json::json!({"id": id, "text": text}).to_string() + "\n"
    });
    folder.write("p.jsonl", lines.collect::<String>());
    folder
}

const OBFUSCATE: &str = "obfuscate --pack w.pack --epsilon 10 --in p.jsonl --out r.jsonl";

fn with(arguments: &str, more: &str) -> String {
    format!("{arguments} {more}")
}

/// The lines of the released file: id, release, words.
fn read(folder: &Folder) -> Vec<(String, Vec<u8>, Vec<String>)> {
    let line = |line: serde_json::Value| {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let words = array(&line["words"]).iter().map(text).collect();
        let release = hex::decode(text(&line["release"])).unwrap();
        (text(&line["id"]), release, words)
    };
    folder.values("r.jsonl").into_iter().map(line).collect()
}

#[test]
fn texts_become_bags_of_words_of_the_vocabulary() {
    let folder = prepared();
    contains(&folder.succeed("inspect w.pack"), &["lexicon     9 words"]);
    for how in [
        "",
        "--rule exponential --bag-size 1",
        "--bag-size 256",
        "--mechanism laplace --bag-size 20",
    ] {
        let printed = folder.succeed(with(OBFUSCATE, how));
        let size = how.split("--bag-size ").nth(1).unwrap_or("50");
        contains(&printed, &[&format!("n = {size} words"), "ε = 10 per unit"]);
        let pack = folder.bytes("w.pack");
        let pack = Pack::parse(&pack).unwrap();
        let released = read(&folder);
        assert_eq!(released.len(), 7);
        for (number, (id, bytes, words)) in released.iter().enumerate() {
            assert_eq!(*id, format!("text-{number}"));
            assert_eq!(words.len().to_string(), size);
            assert!(words.is_sorted());
            let release = BagRelease::from_bytes(bytes).unwrap();
            assert_eq!(release.pack_id(), pack.id());
            assert_eq!(release.epsilon().micro(), 10_000_000);
            let lexicon = pack.lexicon().unwrap();
            let named = release
                .words()
                .map(|word| lexicon.word(word as usize).unwrap());
            let named: Vec<&str> = named.collect();
            assert_eq!(*words, named);
        }
        let whole = folder.text("r.jsonl");
        for private in ["zyzzyva", "secretword", "xxx", "needs", "the\""] {
            assert!(!whole.to_lowercase().contains(private), "{private}");
        }
    }
}

#[test]
fn near_words_are_likelier_and_unknown_texts_are_the_fallback_word() {
    let folder = prepared();
    folder.succeed(with(OBFUSCATE, "--words 256"));
    let released = read(&folder);
    // At ε = 10 a word outside its group, at distance 14, would have a relative weight of e^-70,
    // but no weight is below 5·2⁻⁶⁴. One of six such words is drawn in 1,800 draws with a
    // probability below 10⁻¹⁴. At least a third of the words of each text are of the expected
    // group: 256 draws without any of them have a probability of (2/3)^256, or 10⁻⁴⁵.
    let groups = |number: usize| released[number].2.iter().map(|word| group(word));
    // "needs" and "scored" are not in the vocabulary, and "soup" has the smallest norm.
    assert!(groups(1).any(|group| group == 1) && groups(1).all(|group| group < 2));
    for number in [0, 2, 3, 4, 5] {
        assert!(groups(number).all(|group| group == 0), "{number}");
    }
    // "saturn's" is not in the vocabulary.
    assert!(groups(6).any(|group| group == 2));
}

#[test]
fn only_words_to_keep_count() {
    let folder = prepared();
    folder.write("keep.txt", "Team\nthe\nunheardof\n");
    let notes = folder.notes(with(OBFUSCATE, "--keep keep.txt --words 256"));
    contains(&notes, &["2 of the 3 words to keep"]);
    let released = read(&folder);
    assert!(released[0].2.iter().all(|word| group(word) != 1));
    assert!(released[1].2.iter().all(|word| group(word) == 1));
    // Stop words from a file replace the English ones.
    folder.write("stop.txt", "team scored our a\n");
    folder.succeed(with(OBFUSCATE, "--stop-words stop.txt"));
    let released = read(&folder);
    assert!(released[1].2.iter().all(|word| group(word) == 1));
}

#[test]
fn weak_promises_are_called_that() {
    let folder = prepared();
    let run = |epsilon| folder.done(OBFUSCATE.replace("10", epsilon));
    // Norms are at most 34.004, so q = 1/2 is the smallest power of two with 2·34.004 < 256·q.
    let [printed, notes] = run("1");
    let parts = ["q = 0.5", "its nearest           1.000        1.5   4.49e0"];
    contains(&printed, &parts);
    contains(&notes, &["warning: for a word and its 10th nearest"]);
    let [_, notes] = run("20");
    contains(&notes, &["warning: for a word and its nearest"]);
    contains(&notes, &["e^30.0, above e^20", "at epsilon 13.333"]);
    let [_, notes] = run("0.1");
    assert!(!notes.contains("warning"), "{notes}");
}

#[test]
fn interrupted_releases_of_words_go_on() {
    let folder = prepared();
    let paid = with(&OBFUSCATE.replace("10", "1"), "--ledger l --budget 900");
    let part = folder.interrupt(&paid, "r.jsonl", 3000);
    let lines = part.lines().count();
    assert!(lines > 0 && lines < 7, "{lines}");
    folder.write("the.txt", "the\n");
    folder.write("soup.txt", "soup\n");
    for other in [
        "--words 49",
        "--rule exponential",
        "--mechanism laplace",
        "--stop-words the.txt",
        "--keep soup.txt",
        "--messages",
    ] {
        folder.refuse(with(&paid, other), &["move the file away"]);
    }
    let notes = folder.notes(&paid);
    contains(&notes, &[&format!("resuming: {lines} documents")]);
    assert_eq!(folder.partial("r.jsonl"), None);
    let whole = folder.text("r.jsonl");
    assert!(whole.starts_with(&part) && whole.lines().count() == 7);
}

#[test]
fn what_cannot_be_obfuscated_is_refused() {
    let folder = prepared();
    folder.write("empty.txt", "\n--\n");
    folder.write("foreign.txt", "unheardof\nthe\n");
    folder.refuse_all(
        "obfuscate",
        "--pack w.pack --in p.jsonl --out r.jsonl --epsilon 0 => epsilon | 0.000001
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon -1 => epsilon
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon 1001 => 1000
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon nan => epsilon
        --pack w.pack --in p.jsonl --out r.jsonl --epsilon 0.01 --mechanism laplace => 0.01 | 0.1
        --pack w.pack --in w.txt --out r.jsonl --epsilon 10 => ending",
    );
    folder.refuse_all(
        OBFUSCATE,
        "--bag-size 0 => --bag-size | 1..=256
        --bag-size 257 => --bag-size | 1..=256
        --keep empty.txt => empty.txt | no word
        --keep foreign.txt => foreign.txt | none of its 2 words
        --stop-words absent.txt => absent.txt
        --mechanism laplace --rule exponential => --rule is for --mechanism selection",
    );
    // A pack without a lexicon.
    write_encoder(&folder, "encoder", &Model::default(), &fitting_tokenizer());
    folder.write("public.tsv", "a\tred\nb\tgreen\n");
    folder.succeed("pack --corpus public.tsv --out g.pack --encoder encoder");
    let parts = ["g.pack", "no lexicon", "undertone lexicon import"];
    folder.refuse(OBFUSCATE.replace("w.pack", "g.pack"), &parts);
}

#[test]
fn vocabularies_leave_out_what_has_no_use() {
    let folder = Folder::new();
    let vectors = "one 1 0\nTwo 0 1\ntwo 0 2\nnothing 0 0\none 5 5\nthree_four 1 1\nlast 3 3\n";
    folder.write("v.txt", vectors);
    let vocabulary = "vocabulary --vectors v.txt --out v.pack";
    let run = |more: &str| folder.notes(with(vocabulary, more));
    let parts = [
        "3 of 7 words, 2 coordinates",
        "2 that no text",
        "1 repeated, 1 without a vector, 0 after",
    ];
    contains(&run(""), &parts);
    contains(&run("--words 2"), &["2 of 7 words", "1 after the first 2"]);

    for (content, more, parts) in [
        ("a 1 2\nb 1\n", "", &["bad.txt", "line 2"][..]),
        ("a 1 2\nb 1 inf\n", "", &["line 2", "coordinate 2", "inf"]),
        ("", "", &["no words"]),
        ("a_b 1\n", "", &["none of the 1 words"]),
        ("a 1\n", "--words 0", &["0 words", "1 to 65536"]),
        ("a 1\n", "--words 65537", &["65537 words", "1 to 65536"]),
        ("a 1\n", "--corpus absent.tsv", &["absent.tsv"]),
    ] {
        folder.write("bad.txt", content);
        let bad = "vocabulary --vectors bad.txt --out bad.pack";
        folder.refuse(with(bad, more), parts);
    }
    folder.write("other.txt", "quatre\ncinq\n");
    folder.refuse_all(
        "vocabulary --vectors v.txt --out",
        "v.pack --keep other.txt => other.txt | none of its 2 words is among the 7 of `v`
        none/v.pack => none/v.pack",
    );
}

/// Both apostrophes are the same character in vectors, lists and texts.
#[test]
fn apostrophes_are_read_alike() {
    let folder = Folder::new();
    for (vector, listed) in [("don’t", "don’t"), ("don’t", "don't"), ("Don't", "don’t")] {
        folder.write("v.txt", format!("{vector} 1 0\nsoup 0 1\nleft 2 2\n"));
        folder.write("keep.txt", format!("{listed}\nsoup\n"));
        let notes = folder.notes("vocabulary --vectors v.txt --keep keep.txt --out v.pack");
        contains(&notes, &["2 of 2 words"]);

        let text = format!("a\tThey {vector} like soup.\nb\tMoon.\n");
        folder.write("c.tsv", text);
        let obfuscate = "obfuscate --pack v.pack --epsilon 1000 --words 3 --in c.tsv --out o.jsonl \
                         --keep keep.txt --stop-words stop.txt";
        folder.fail(obfuscate, &["stop.txt"]);
        folder.write("stop.txt", "soup");
        let parts = ["1 of the 2 words to keep are stop words"];
        contains(&folder.notes(obfuscate), &parts);
        let parts = ["\"words\":[\"don't\",\"don't\",\"don't\"]"];
        contains(&folder.text("o.jsonl"), &parts);
        folder.write("stop.txt", listed);
        let found = folder.succeed("keywords --corpus c.tsv --words 9 --stop-words stop.txt");
        assert!(!found.contains("don") && found.contains("soup"), "{found}");
        folder.remove("stop.txt");
    }
}

#[test]
fn keywords_tell_labels_apart() {
    let folder = Folder::new();
    let line = |number| match number % 2 {
        0 => format!("cook\tThe soup with salt number{number}, as always.\n"),
        _ => "sport\tThe team with a goal, as always.\n".to_owned(),
    };
    let corpus: String = (0..20).map(line).collect();
    folder.write("c.tsv", &corpus);
    let keywords = "keywords --corpus c.tsv --words 4 --out k.txt";
    folder.succeed(keywords);
    assert_eq!(folder.text("k.txt"), "goal\nsalt\nsoup\nteam\n");
    folder.write("stop.txt", "soup");
    folder.succeed(with(keywords, "--stop-words stop.txt"));
    assert_eq!(folder.text("k.txt"), "a\ngoal\nsalt\nteam\n");
    assert_eq!(folder.names().len(), 3);

    folder.write("one.tsv", "a\tsoup\na\tsalt\n");
    folder.write(
        "none.jsonl",
        "{\"id\": 7, \"text\": \"soup\", \"genre\": \"a\"}\n",
    );
    folder.refuse_all(
        "keywords --words 4 --out k.txt --corpus",
        "one.tsv => one.tsv | 2 documents with 1 labels
        none.jsonl => 1 of 1 documents have no label, the first on line 1 | --label
        none.jsonl --label genre => 1 labels",
    );
}
