//! Answers to a form: `release answers`, and what the server makes of them.
//!
//! Chance: false alarm 10⁻¹⁰, miss 10⁻⁷. At ε ≥ 500 each point other than those of the answer has a
//! relative weight of 2⁻⁴⁰; a question has at most 11, and 5.25 on average. Nine releases must all
//! be of their documents. Of more, one in 150 may be of another answer. Of 400 releases, 80 are of a
//! row, and fewer than three of these are about a given attribute with a probability below 10⁻⁷. Of
//! 4,000 releases, each of four equal questions gets fewer than 700 with a probability below 10⁻³⁰.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use undertone::form::Contents;
use undertone_core::document::Document;
use undertone_core::form::Form;
use undertone_core::pack::Pack;
use undertone_core::release::Release;
use undertone_tables::Table;

use crate::common::{self, contains, fed, names, refuse, succeed, undertone, within_a_day};

const FORM: &str = r#"{"attributes": [
    {"name": "language", "categories": ["de", "en", "fr"]},
    {"name": "stars", "categories": ["1", "2", "3", "4", "5"]},
    {"name": "app.mood", "categories": ["good", "bad"]}],
  "pairs": [{"first": "language", "second": "app.mood"}]}"#;

/// Values of the three attributes, and the outcomes that they stand for.
const ROWS: [(Value3, [u32; 3]); 5] = [
    (["\"de\"", "3", "\"bad\""], [0, 2, 1]),
    (["1", "\"5\"", "0"], [1, 4, 0]),
    (["\"it\"", "0", "\"BAD\""], [3, 5, 2]),
    (["null", "null", "null"], [3, 5, 2]),
    (["\"fr\"", "1", "\"\""], [2, 0, 2]),
];

type Value3 = [&'static str; 3];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("form.json"), FORM).unwrap();
    folder
}

/// `count` documents, whose names have dots or lead into objects.
fn documents(count: usize, nested: bool) -> String {
    let line = |number: usize| {
        let ([language, stars, mood], _) = ROWS[number % ROWS.len()];
        let mood = if nested {
            format!("\"app\": {{\"mood\": {mood}}}")
        } else {
            format!("\"app.mood\": {mood}")
        };
        format!(
            "{{\"id\": \"d{number}\", \"language\": {language}, \"stars\": {stars}, {mood}, \"day\": \"{}\"}}\n",
            number % 2
        )
    };
    (0..count).map(line).collect()
}

/// Checks that each release is of its document.
fn check(releases: &str, count: usize) {
    let bytes = Contents::from_json(FORM).unwrap().to_bytes().unwrap();
    let form = Form::parse(&bytes).unwrap();
    let lines: Vec<Value> = releases
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), count);
    let mut of_others = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["id"], json!(format!("d{number}")));
        let release = hex::decode(line["release"].as_str().unwrap()).unwrap();
        let answer = form.read(&Release::from_bytes(&release).unwrap()).unwrap();
        let (_, outcomes) = ROWS[number % ROWS.len()];
        let first = outcomes[usize::from(answer.question.first)];
        let outcome = match answer.question.second {
            None => first,
            Some(second) => first * 3 + outcomes[usize::from(second)],
        };
        if !answer.geometry.contains(outcome, answer.point) {
            of_others.push(line);
        }
    }
    assert!(of_others.len() <= count / 150, "{of_others:?}");
}

fn release(input: &str) -> String {
    format!("release answers --form form.json --epsilon 1000 --in {input}")
}

#[test]
fn answers_are_read_from_lines_and_tables() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("nested.jsonl"), documents(400, true)).unwrap();
    fs::write(path.join("flat.jsonl"), documents(400, false)).unwrap();
    for name in ["a.parquet", "a.csv"] {
        let path = path.join(name);
        let table = Table::of(&path, &[]).unwrap().unwrap();
        let mut lines = File::open(folder.path().join("flat.jsonl")).unwrap();
        table.settled(&mut lines, &path).unwrap().commit().unwrap();
    }
    let csv = fs::read_to_string(path.join("a.csv")).unwrap();
    fs::write(path.join("a.tsv"), csv.replace(',', "\t")).unwrap();
    for input in ["nested.jsonl", "flat.jsonl", "a.parquet", "a.csv", "a.tsv"] {
        check(&succeed(path, release(input)), 400);
    }
    let input = documents(400, true);
    let output = fed(path, release("-"), input.as_bytes());
    check(&String::from_utf8(output.stdout).unwrap(), 400);
    let errors = String::from_utf8(output.stderr).unwrap();
    contains(&errors, &["Promised: 1000 for all answers"]);
    // The packed form has the same identifier.
    let marked = fs::read_to_string(path.join("form.json")).unwrap();
    fs::write(path.join("form.json"), format!("\u{feff}{marked}")).unwrap();
    succeed(path, "inspect form.json --out packed.form");
    let packed = release("a.csv --keep day --limit 7").replace("form.json", "packed.form");
    let kept = succeed(path, &packed);
    check(&kept, 7);
    assert!(kept.contains("\"day\":\"1\""), "{kept}");
}

#[test]
fn no_answer_is_no_error_and_a_missing_column_is_one() {
    let folder = folder();
    let path = folder.path();
    // Not one of the attributes, a field twice, a list, no field at all.
    let lines = "{\"x\": 1}\n{\"stars\": 1, \"stars\": 2}\n{\"language\": [\"de\"]}\n{}\n";
    fs::write(path.join("none.jsonl"), lines).unwrap();
    assert_eq!(succeed(path, release("none.jsonl")).lines().count(), 4);
    fs::write(path.join("less.csv"), "id,language,stars\n1,de,2\n").unwrap();
    let missing = "`less.csv`: it has no column for attribute \"app.mood\"; add one";
    refuse(path, release("less.csv"), &[missing]);
    for (name, header, part) in [
        (
            "a.csv",
            "id;language;stars",
            "semicolons between the names, and not commas",
        ),
        (
            "a.tsv",
            "language,stars",
            "commas between the names, and not tabulators",
        ),
        (
            "a.csv",
            "Language,stars",
            "`Language`, which differs in capitals",
        ),
        ("a.tsv", "sep=\t", "part the columns with tabulators"),
    ] {
        fs::write(path.join(name), format!("{header}\n1,de;2\n")).unwrap();
        refuse(path, release(name), &[part]);
    }
    // Marks around a part of a cell.
    let marked = "language\tstars\tapp.mood\tnote\nde\t2\t\t\"Great\" game\n";
    fs::write(path.join("a.tsv"), marked).unwrap();
    assert_eq!(succeed(path, release("a.tsv")).lines().count(), 1);
    fs::write(path.join("a.jsonl"), documents(3, true)).unwrap();
    for (option, field) in [
        ("--keep", "stars"),
        ("--keep", "app"),
        ("--id-field", "language"),
    ] {
        let arguments = release(&format!("a.jsonl {option} {field}"));
        refuse(path, &arguments, &[option, "answers are what is private"]);
    }
    fs::write(path.join("bad.json"), FORM.replace("fr", "de")).unwrap();
    let arguments = "release answers -f bad.json -e 1 -i a.jsonl";
    refuse(path, arguments, &["not a usable form", "\"de\""]);
    fs::write(path.join("broken.jsonl"), "{\"language\": zyxwmarker}\n").unwrap();
    let said = refuse(path, release("broken.jsonl"), &["line 1"]);
    assert!(!said.contains("zyxwmarker"));
}

#[test]
fn texts_answer_the_topic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let packs = concat!(env!("CARGO_MANIFEST_DIR"), "/../packs/");
    let pack = format!("{packs}assistant.en.pack");
    let candidates = format!("{packs}assistant.en.candidates.safetensors");
    let description = json!({
        "attributes": [
            {"name": "language", "categories": ["de", "en"]},
            {"name": "text", "candidates": candidates},
        ],
        "pairs": [{"first": "language", "second": "text"}],
    });
    fs::write(path.join("form.json"), description.to_string()).unwrap();
    let shown = succeed(path, "inspect form.json --out a.form");
    assert!(shown.contains("candidates of pack"), "{shown}");
    let bytes = fs::read(path.join("a.form")).unwrap();
    let form = Form::parse(&bytes).unwrap();
    let bytes = fs::read(&pack).unwrap();
    let mut document: Document<'_> = Document::new(&Pack::parse(&bytes).unwrap()).unwrap();
    let mut topic = |text: &str| {
        let mut answers = [0, 0];
        document.push_text(text.as_bytes()).unwrap();
        form.answer_topic(&mut document, &mut answers).unwrap();
        answers[1]
    };
    let none = form.category_count(1).unwrap();
    let travel = "do i need a visa to go to spain";
    assert_eq!(form.category_name(1, topic(travel)), Some("travel"));
    // A missing text counts as an empty one.
    let rows = [
        ("\"de\"", format!("\"{travel}\""), [0, topic(travel)]),
        ("\"en\"", "null".to_owned(), [1, topic("")]),
        (
            "null",
            "\"will it rain\"".to_owned(),
            [2, topic("will it rain")],
        ),
    ];
    let line = |number: usize| {
        let (language, text, _) = &rows[number % rows.len()];
        format!("{{\"id\": {number}, \"language\": {language}, \"text\": {text}}}\n")
    };
    let lines: String = (0..300).map(line).collect();
    fs::write(path.join("a.jsonl"), &lines).unwrap();
    for name in ["a.parquet", "a.csv"] {
        let path = path.join(name);
        let table = Table::of(&path, &[]).unwrap().unwrap();
        let mut lines = File::open(folder.path().join("a.jsonl")).unwrap();
        table.settled(&mut lines, &path).unwrap().commit().unwrap();
    }
    for input in ["a.jsonl", "a.parquet", "a.csv"] {
        let releases = succeed(path, release(&format!("{input} --pack {pack}")));
        let mut of_others = 0;
        for (number, line) in releases.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            let release = hex::decode(line["release"].as_str().unwrap()).unwrap();
            let answer = form.read(&Release::from_bytes(&release).unwrap()).unwrap();
            let [language, text] = rows[number % rows.len()].2;
            let outcome = match answer.question {
                question if question.second.is_some() => language * (none + 1) + text,
                question if question.first == 0 => language,
                _ => text,
            };
            of_others += usize::from(!answer.geometry.contains(outcome, answer.point));
        }
        assert_eq!(releases.lines().count(), 300);
        assert!(of_others <= 2, "{input}: {of_others}");
    }
    // Without the pack a text is the name of a category.
    assert_eq!(succeed(path, release("a.jsonl")).lines().count(), 300);
    let other = format!("{packs}topics.12.pack");
    let arguments = release(&format!("a.jsonl --pack {other}"));
    refuse(path, &arguments, &["no topic for the document's pack"]);
    let arguments = release(&format!("a.jsonl --encoder {pack}"));
    refuse(path, &arguments, &["--encoder does nothing without a pack"]);
    let arguments = release(&format!("a.jsonl --pack {pack} --keep text"));
    refuse(path, &arguments, &["--keep", "answers are what is private"]);
}

#[test]
fn a_ledger_pays_for_answers() {
    within_a_day(|_| {
        let folder = folder();
        let path = folder.path();
        fs::write(path.join("a.jsonl"), documents(5, true)).unwrap();
        let arguments = release("a.jsonl --ledger l --budget 1000 --out r.jsonl")
            .replace("--epsilon 1000", "--epsilon 500");
        let output = undertone(path, &arguments);
        assert_eq!(output.status.code(), Some(4));
        check(&fs::read_to_string(path.join("r.jsonl")).unwrap(), 2);
        let left = succeed(path, "inspect l --json");
        let left: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(left["unit"], "whole-text", "{left}");
        assert_eq!(left["left_micro"], 0, "{left}");
    });
}

/// Releases of 4,000 devices of two days: on day 0 all answer de, 3 and bad; on day 1 en, 5 and
/// good.
fn released(path: &Path) {
    let line = |number: usize| {
        let day = number % 2;
        let ([language, stars, mood], _) = ROWS[day];
        format!(
            "{{\"language\": {language}, \"stars\": {stars}, \"app.mood\": {mood}, \"day\": {day}}}\n"
        )
    };
    fs::write(
        path.join("a.jsonl"),
        (0..4_000).map(line).collect::<String>(),
    )
    .unwrap();
    succeed(path, release("a.jsonl --keep day --out r.jsonl"));
}

/// The table of a question and slice.
fn table<'v>(answer: &'v Value, attributes: &Value, slice: &Value) -> &'v Value {
    let mut tables = answer["answers"].as_array().unwrap().iter();
    tables
        .find(|own| own["attributes"] == *attributes && own["slice"] == *slice)
        .unwrap()
}

fn share<'v>(table: &'v Value, name: &str) -> &'v Value {
    let mut rows = table["shares"].as_array().unwrap().iter();
    rows.find(|row| row["name"] == name).unwrap()
}

fn near(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 0.02
}

#[test]
fn shares_and_cross_tables_are_estimated_by_slice() {
    let folder = folder();
    let path = folder.path();
    released(path);
    let estimate = "estimate -f form.json -i r.jsonl --by day --difference";
    let files = format!("{estimate} --json --html page.html");
    let answer: Value = serde_json::from_str(&succeed(path, &files)).unwrap();
    assert_eq!(answer["releases"], 4_000);
    assert_eq!(answer["candidates"], json!([]));
    assert_eq!(answer["kinds"][0]["published"], Value::Null);
    // Four questions, of all days, the first and the second.
    assert_eq!(answer["answers"].as_array().unwrap().len(), 12);
    let (all, first, second) = (json!(null), json!(["0"]), json!(["1"]));
    let language = json!(["language"]);
    for (slice, name, expected) in [
        (&first, "de", 1.0),
        (&first, "en", 0.0),
        (&second, "en", 1.0),
        (&second, "no answer", 0.0),
    ] {
        let row = share(table(&answer, &language, slice), name);
        assert!(near(&row["share"], expected), "{row}");
        let [low, high] = ["low", "high"].map(|end| row[end].as_f64().unwrap());
        assert!(low <= expected && expected <= high, "{row}");
        assert!(high - low < 0.05, "{row}");
    }
    let both = share(table(&answer, &language, &all), "de");
    assert!(
        (0.3..0.7).contains(&both["share"].as_f64().unwrap()),
        "{both}"
    );
    let pair = json!(["language", "app.mood"]);
    let row = share(table(&answer, &pair, &first), "de × bad");
    assert!(near(&row["share"], 1.0), "{row}");
    assert_eq!(
        table(&answer, &pair, &first)["shares"]
            .as_array()
            .unwrap()
            .len(),
        12
    );
    let mut differences = answer["differences"].as_array().unwrap().iter();
    let stars = differences
        .find(|own| own["attributes"] == json!(["stars"]))
        .unwrap();
    assert_eq!((&stars["of"], &stars["first"]), (&json!("answers"), &first));
    assert!(near(&share(stars, "5")["share"], 1.0), "{stars}");
    assert!(near(&share(stars, "3")["share"], -1.0), "{stars}");
    let text = succeed(path, estimate);
    contains(
        &text,
        &[
            "SHARES OF ANSWERS",
            "language × app.mood, day 0",
            "shares of stars: day 1, less day 0",
        ],
    );
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    // Both answers are equally frequent, so the page may have either headline.
    let headlines = [
        "<h1>No answer to language is clearly the most frequent: ",
        "<h1>The most frequent answer to language is ",
    ];
    assert!(headlines.iter().any(|headline| page.contains(headline)));
    contains(
        &page,
        &[
            "What people answered",
            "language × app.mood",
            "no answer",
            "one of two lists of answers",
        ],
    );
}

#[test]
fn counts_of_a_form_set_others_aside() {
    let folder = folder();
    let path = folder.path();
    released(path);
    let other = FORM.replace("\"good\"", "\"fine\"");
    fs::write(path.join("other.json"), other).unwrap();
    // A point of no geometry, and a question that the form does not have.
    let line = fs::read_to_string(path.join("r.jsonl")).unwrap();
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let forged = |outcome: [u8; 4]| {
        let mut release = hex::decode(line["release"].as_str().unwrap()).unwrap();
        release[12..16].copy_from_slice(&outcome);
        format!("{}\n", json!({"release": hex::encode(release)}))
    };
    let two = forged([200, 0, 0, 0]) + &forged([0, 0, 0, 4]);
    fs::write(path.join("forged.jsonl"), two).unwrap();
    let count = "count -i r.jsonl forged.jsonl --out c.csv";
    let errors = common::notes(path, format!("{count} --form form.json"));
    let forged = "2: names nothing that its pack or form has; it is damaged or forged; the first is number 1";
    assert!(errors.contains(forged), "{errors}");
    assert!(
        errors.contains("4000 releases") || errors.contains("4,000 releases"),
        "{errors}"
    );
    let estimate = "estimate --form form.json --in c.csv --json";
    let answer: Value = serde_json::from_str(&succeed(path, estimate)).unwrap();
    assert_eq!(answer["releases"], 4_000);
    let arguments = format!("{count} --form other.json");
    fs::remove_file(path.join("c.csv")).unwrap();
    refuse(
        path,
        &arguments,
        &["made under a pack or form that was not given"],
    );
    assert!(!names(path).iter().any(|name| name == "c.csv"));
}

#[test]
fn posteriors_say_by_which_shares() {
    let folder = folder();
    let path = folder.path();
    released(path);
    let decode = "decode --form form.json --in r.jsonl";
    let output = undertone(path, decode);
    let errors = String::from_utf8(output.stderr).unwrap();
    contains(&errors, &["no shares are given for 4 of 4 questions"]);
    let equal = String::from_utf8(output.stdout).unwrap();
    let estimate = "estimate --form form.json --in r.jsonl --json";
    fs::write(path.join("shares.json"), succeed(path, estimate)).unwrap();
    let weighed = format!("{decode} --shares shares.json --top 2");
    let weighed = succeed(path, &weighed);
    assert_eq!(weighed.lines().count(), 4_000);
    for (lines, shares, top) in [(&equal, "equal", 10), (&weighed, "estimated", 2)] {
        let mut of_others = 0;
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                (&line["shares"], &line["unit"]),
                (&json!(shares), &json!("all answers"))
            );
            let day = line["day"].as_u64().unwrap() as usize;
            let expected = [["de", "3", "bad"], ["en", "5", "good"]][day];
            let answer = line["answer"].as_str().unwrap();
            let pair = format!("{} × {}", expected[0], expected[2]);
            of_others += usize::from(!expected.contains(&answer) && answer != pair);
            assert!(near(&line["probability"], 1.0), "{line}");
            let posterior = line["posterior"].as_object().unwrap();
            assert_eq!(posterior[answer], line["probability"]);
            assert!(posterior.len() <= top, "{line}");
        }
        assert!(of_others <= 4_000 / 150, "{of_others} name another answer");
    }
    let table = format!("{decode} --out d.csv");
    succeed(path, &table);
    let csv = fs::read_to_string(path.join("d.csv")).unwrap();
    let header = csv.lines().next().unwrap();
    assert!(
        header.split(',').any(|name| name == "probability"),
        "{header}"
    );
    refuse(path, "decode -i r.jsonl", &["--candidates"]);
    refuse(
        path,
        format!("{decode} --shares form.json"),
        &[
            "`form.json` has no shares of answers",
            "estimate --form --json",
        ],
    );
}

#[test]
fn a_form_has_a_law_and_a_cost() {
    let folder = folder();
    let path = folder.path();
    let text = succeed(path, "inspect form.json --epsilon 4");
    contains(
        &text,
        &[
            "attribute   language, weight 1, 3 categories: de, en, fr",
            "pair        language × app.mood, weight 1",
            "one release costs epsilon 4 for all answers of a person together",
            "randomised response",
        ],
    );
    let shown: Value = serde_json::from_str(&succeed(path, "inspect form.json --json")).unwrap();
    assert_eq!(shown["form"]["attributes"][2]["name"], "app.mood");
    // The brace is where that of a safetensors file is.
    fs::write(path.join("indented.json"), format!("        {FORM}")).unwrap();
    let indented = succeed(path, "inspect indented.json --epsilon 4");
    assert_eq!(indented, text);
    for file in ["assistant.en.pack", "assistant.en.candidates.safetensors"] {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../packs/").to_owned() + file;
        let arguments = format!("inspect {file} --out written");
        refuse(path, &arguments, &["--out does nothing without a form"]);
    }
    let plan = "plan devices -f form.json -e 1,4 --devices 10000,1000000";
    let text = succeed(path, plan);
    assert!(text.contains("± with 1,000,000"), "{text}");
    let files = format!("{plan} --json --html plan.html");
    let plan: Value = serde_json::from_str(&succeed(path, &files)).unwrap();
    let questions = plan["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 8);
    for question in questions {
        let number = |name: &str| question[name].as_f64().unwrap();
        let [own, other, drawn] = ["own", "other", "drawn"].map(number);
        let error = (other * (1.0 - other) / drawn).sqrt() / (own - other);
        assert!(
            (number("error_times_root") - error).abs() < 1e-9,
            "{question}"
        );
        let within = |at: usize| question["precision"][at]["within"].as_f64().unwrap();
        // A hundred times the devices, a tenth of the error.
        assert!((9.0..11.0).contains(&(within(0) / within(1))), "{question}");
    }
    let page = fs::read_to_string(path.join("plan.html")).unwrap();
    assert!(page.contains("language × app.mood"));
    // One table answers for both epsilons, as does the headline for the question that takes most.
    assert_eq!(page.matches("<table").count(), 1);
    let at_4 = questions.iter().filter(|own| own["epsilon"] == 4.0);
    let most = at_4.map(|own| own["devices"].as_u64().unwrap()).max();
    let headline = page.split("<h1>").nth(1).unwrap().split("</h1>").next();
    let digits = headline.unwrap().replace(',', "");
    assert!(
        digits.ends_with(&format!(" {} at ε = 4.", most.unwrap())),
        "{digits}"
    );
    // The whole name of the file, except for its kind.
    assert!(page.contains(" · form</p>"), "{page}");
    refuse(
        path,
        "plan devices -f form.json -e 1 --shares de=1",
        &["--shares"],
    );
}
