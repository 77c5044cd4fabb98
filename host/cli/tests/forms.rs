//! Answers to a form: `release answers`, and what the server makes of them.
//!
//! Chance: false alarm 10⁻¹⁰, miss 10⁻⁷. At ε ≥ 500 each point other than those of the answer has a
//! relative weight of 2⁻⁴⁰; a question has at most 11, and 5.25 on average. Nine releases must all
//! be of their documents. Of more, one in 150 may be of another answer. Of 400 releases, 80 are of a
//! row, and fewer than three of these are about a given attribute with a probability below 10⁻⁷. Of
//! 4,000 releases, each of four equal questions gets fewer than 700 with a probability below 10⁻³⁰.

use std::fs;

use serde_json::{Value, json};
use undertone::form::Contents;
use undertone_core::document::Document;
use undertone_core::form::Form;
use undertone_core::pack::Pack;

use crate::common::{
    Folder, PACKS, array, contains, json, near, release_in, share, values, within_a_day,
};

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

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("form.json", FORM);
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
        let (id, day) = (format!("\"id\": \"d{number}\""), number % 2);
        format!(
            "{{{id}, \"language\": {language}, \"stars\": {stars}, {mood}, \"day\": \"{day}\"}}\n"
        )
    };
    (0..count).map(line).collect()
}

/// The number of releases that are not of their document. `answers`: those of a document, by its
/// number.
fn of_others<'a>(form: &Form<'_>, lines: &[Value], answers: impl Fn(usize) -> &'a [u32]) -> usize {
    let is_other = |(number, line): &(usize, &Value)| {
        let answer = form.read(&release_in(line)).unwrap();
        let of = |attribute: u16| answers(*number)[usize::from(attribute)];
        let first = of(answer.question.first);
        let outcome = answer.question.second.map_or(first, |second| {
            first * (form.category_count(second.into()).unwrap() + 1) + of(second)
        });
        !answer.geometry.contains(outcome, answer.point)
    };
    lines.iter().enumerate().filter(is_other).count()
}

/// Checks that each release is of its document.
fn check(releases: &str, count: usize) {
    let bytes = Contents::from_json(FORM).unwrap().to_bytes().unwrap();
    let lines = values(releases);
    assert_eq!(lines.len(), count);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["id"], format!("d{number}"));
    }
    let form = Form::parse(&bytes).unwrap();
    let others = of_others(&form, &lines, |number| &ROWS[number % ROWS.len()].1);
    assert!(others <= count / 150, "{others}");
}

fn release(input: &str) -> String {
    format!("release answers --form form.json --epsilon 1000 --in {input}")
}

#[test]
fn answers_are_read_from_lines_and_tables() {
    let folder = prepared();
    folder.write("nested.jsonl", documents(400, true));
    folder.write("flat.jsonl", documents(400, false));
    folder.table("flat.jsonl", "a.parquet");
    folder.table("flat.jsonl", "a.csv");
    let csv = folder.text("a.csv");
    folder.write("a.tsv", csv.replace(',', "\t"));
    for input in ["nested.jsonl", "flat.jsonl", "a.parquet", "a.csv", "a.tsv"] {
        check(&folder.succeed(release(input)), 400);
    }
    let input = documents(400, true);
    let output = folder.fed(release("-"), input.as_bytes());
    check(str::from_utf8(&output.stdout).unwrap(), 400);
    let notes = str::from_utf8(&output.stderr).unwrap();
    contains(notes, &["Promised: 1000 for all answers"]);
    // The packed form has the same identifier.
    let marked = folder.text("form.json");
    folder.write("form.json", format!("\u{feff}{marked}"));
    folder.succeed("inspect form.json --out packed.form");
    let packed = release("a.csv --keep day --limit 7").replace("form.json", "packed.form");
    let kept = folder.succeed(&packed);
    check(&kept, 7);
    contains(&kept, &["\"day\":\"1\""]);
}

#[test]
fn no_answer_is_no_error_and_a_missing_column_is_one() {
    let folder = prepared();
    // Not one of the attributes, a field twice, a list, no field at all.
    let lines = "{\"x\": 1}\n{\"stars\": 1, \"stars\": 2}\n{\"language\": [\"de\"]}\n{}\n";
    folder.write("none.jsonl", lines);
    assert_eq!(folder.succeed(release("none.jsonl")).lines().count(), 4);
    folder.write("less.csv", "id,language,stars\n1,de,2\n");
    let missing = "`less.csv`: it has no column for attribute \"app.mood\"; add one";
    folder.refuse(release("less.csv"), &[missing]);
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
        folder.write(name, format!("{header}\n1,de;2\n"));
        folder.refuse(release(name), &[part]);
    }
    // Marks around a part of a cell.
    let marked = "language\tstars\tapp.mood\tnote\nde\t2\t\t\"Great\" game\n";
    folder.write("a.tsv", marked);
    assert_eq!(folder.succeed(release("a.tsv")).lines().count(), 1);
    folder.write("a.jsonl", documents(3, true));
    folder.refuse_all(
        &release("a.jsonl"),
        "--keep stars => --keep | answers are what is private
        --keep app => --keep | answers are what is private
        --id-field language => --id-field | answers are what is private",
    );
    folder.write("bad.json", FORM.replace("fr", "de"));
    let arguments = "release answers -f bad.json -e 1 -i a.jsonl";
    folder.refuse(arguments, &["not a usable form", "\"de\""]);
    folder.write("broken.jsonl", "{\"language\": zyxwmarker}\n");
    let said = folder.refuse(release("broken.jsonl"), &["line 1"]);
    assert!(!said.contains("zyxwmarker"));
}

#[test]
fn texts_answer_the_topic() {
    let folder = Folder::new();
    let pack = format!("{PACKS}/assistant.en.pack");
    let candidates = format!("{PACKS}/assistant.en.candidates.safetensors");
    let description = json!({
        "attributes": [
            {"name": "language", "categories": ["de", "en"]},
            {"name": "text", "candidates": candidates},
        ],
        "pairs": [{"first": "language", "second": "text"}],
    });
    folder.write("form.json", description.to_string());
    let shown = folder.succeed("inspect form.json --out a.form");
    contains(&shown, &["candidates of pack"]);
    let bytes = folder.bytes("a.form");
    let form = Form::parse(&bytes).unwrap();
    let bytes = fs::read(&pack).unwrap();
    let mut document: Document<'_> = Document::new(&Pack::parse(&bytes).unwrap()).unwrap();
    let mut topic = |text: &str| {
        let mut answers = [0, 0];
        document.push_text(text.as_bytes()).unwrap();
        form.answer_topic(&mut document, &mut answers).unwrap();
        answers[1]
    };
    let travel = "do i need a visa to go to spain";
    assert_eq!(form.category_name(1, topic(travel)), Some("travel"));
    // A missing text counts as an empty one.
    let rain = "will it rain";
    let rows = [
        ("\"de\"", format!("\"{travel}\""), [0, topic(travel)]),
        ("\"en\"", "null".to_owned(), [1, topic("")]),
        ("null", format!("\"{rain}\""), [2, topic(rain)]),
    ];
    let line = |number: usize| {
        let (language, text, _) = &rows[number % rows.len()];
        format!("{{\"id\": {number}, \"language\": {language}, \"text\": {text}}}\n")
    };
    let lines: String = (0..300).map(line).collect();
    folder.write("a.jsonl", &lines);
    folder.table("a.jsonl", "a.parquet");
    folder.table("a.jsonl", "a.csv");
    for input in ["a.jsonl", "a.parquet", "a.csv"] {
        let releases = values(&folder.succeed(release(&format!("{input} --pack {pack}"))));
        assert_eq!(releases.len(), 300);
        let others = of_others(&form, &releases, |number| &rows[number % rows.len()].2);
        assert!(others <= 2, "{input}: {others}");
    }
    // Without the pack a text is the name of a category.
    assert_eq!(folder.succeed(release("a.jsonl")).lines().count(), 300);
    folder.refuse_all(
        &release("a.jsonl"),
        &format!(
            "--pack {PACKS}/topics.12.pack => no topic for the document's pack
            --encoder {pack} => --encoder does nothing without a pack
            --pack {pack} --keep text => --keep | answers are what is private"
        ),
    );
}

#[test]
fn a_ledger_pays_for_answers() {
    within_a_day(|_| {
        let folder = prepared();
        folder.write("a.jsonl", documents(5, true));
        let arguments = release("a.jsonl --ledger l --budget 1000 --out r.jsonl")
            .replace("--epsilon 1000", "--epsilon 500");
        assert_eq!(folder.run(&arguments).status.code(), Some(4));
        check(&folder.text("r.jsonl"), 2);
        let left = json(folder.succeed("inspect l --json"));
        assert_eq!(left["unit"], "whole-text", "{left}");
        assert_eq!(left["left_micro"], 0, "{left}");
    });
}

/// Releases of 4,000 devices of two days: on day 0 all answer de, 3 and bad; on day 1 en, 5 and
/// good.
fn released(folder: &Folder) {
    let line = |number: usize| {
        let ([language, stars, mood], _) = ROWS[number % 2];
        let answers = format!("\"language\": {language}, \"stars\": {stars}, \"app.mood\": {mood}");
        format!("{{{answers}, \"day\": {}}}\n", number % 2)
    };
    folder.write("a.jsonl", (0..4_000).map(line).collect::<String>());
    folder.succeed(release("a.jsonl --keep day --out r.jsonl"));
}

/// The table of a question and slice.
fn table<'v>(answer: &'v Value, attributes: &Value, slice: &Value) -> &'v Value {
    let mut tables = array(&answer["answers"]).iter();
    let is_it = |own: &&Value| own["attributes"] == *attributes && own["slice"] == *slice;
    tables.find(is_it).unwrap()
}

#[test]
fn shares_and_cross_tables_are_estimated_by_slice() {
    let folder = prepared();
    released(&folder);
    let estimate = "estimate -f form.json -i r.jsonl --by day --difference";
    let files = format!("{estimate} --json --html page.html");
    let answer = json(folder.succeed(&files));
    assert_eq!(answer["releases"], 4_000);
    assert_eq!(answer["candidates"], json!([]));
    assert_eq!(answer["kinds"][0]["published"], Value::Null);
    // Four questions, of all days, the first and the second.
    assert_eq!(array(&answer["answers"]).len(), 12);
    let (all, first, second) = (json!(null), json!(["0"]), json!(["1"]));
    let language = json!(["language"]);
    for (slice, name, expected) in [
        (&first, "de", 1.0),
        (&first, "en", 0.0),
        (&second, "en", 1.0),
        (&second, "no answer", 0.0),
    ] {
        let row = share(table(&answer, &language, slice), name);
        near(&row["share"], expected, 0.02);
        let [low, high] = ["low", "high"].map(|end| row[end].as_f64().unwrap());
        assert!(low <= expected && expected <= high, "{row}");
        assert!(high - low < 0.05, "{row}");
    }
    let both = share(table(&answer, &language, &all), "de");
    near(&both["share"], 0.5, 0.2);
    let pair = json!(["language", "app.mood"]);
    let of_pair = table(&answer, &pair, &first);
    near(&share(of_pair, "de × bad")["share"], 1.0, 0.02);
    assert_eq!(array(&of_pair["shares"]).len(), 12);
    let mut differences = array(&answer["differences"]).iter();
    let stars = differences.find(|own| own["attributes"] == json!(["stars"]));
    let stars = stars.unwrap();
    assert_eq!((&stars["of"], &stars["first"]), (&json!("answers"), &first));
    near(&share(stars, "5")["share"], 1.0, 0.02);
    near(&share(stars, "3")["share"], -1.0, 0.02);
    let text = folder.succeed(estimate);
    let parts = [
        "SHARES OF ANSWERS",
        "language × app.mood, day 0",
        "shares of stars: day 1, less day 0",
    ];
    contains(&text, &parts);
    let page = folder.text("page.html");
    // Both answers are equally frequent, so the page may have either headline.
    let headlines = [
        "<h1>No answer to language is clearly the most frequent: ",
        "<h1>The most frequent answer to language is ",
    ];
    assert!(headlines.iter().any(|headline| page.contains(headline)));
    let parts = [
        "What people answered",
        "language × app.mood",
        "no answer",
        "one of two lists of answers",
    ];
    contains(&page, &parts);
}

#[test]
fn counts_of_a_form_set_others_aside() {
    let folder = prepared();
    released(&folder);
    let other = FORM.replace("\"good\"", "\"fine\"");
    folder.write("other.json", other);
    // A point of no geometry, and a question that the form does not have.
    let line = folder.values("r.jsonl").swap_remove(0);
    let forged = |outcome: [u8; 4]| {
        let mut release = release_in(&line).to_bytes();
        release[12..16].copy_from_slice(&outcome);
        format!("{}\n", json!({"release": hex::encode(release)}))
    };
    let two = forged([200, 0, 0, 0]) + &forged([0, 0, 0, 4]);
    folder.write("forged.jsonl", two);
    let count = "count -i r.jsonl forged.jsonl --out c.csv";
    let errors = folder.notes(format!("{count} --form form.json"));
    let forged = "2: names nothing that its pack or form has; it is damaged or forged; the first is number 1";
    contains(&errors, &[forged, "counted 4000 releases"]);
    let estimate = "estimate --form form.json --in c.csv --json";
    let answer = json(folder.succeed(estimate));
    assert_eq!(answer["releases"], 4_000);
    folder.remove("c.csv");
    let parts = ["made under a pack or form that was not given"];
    folder.refuse(format!("{count} --form other.json"), &parts);
}

#[test]
fn posteriors_say_by_which_shares() {
    let folder = prepared();
    released(&folder);
    let decode = "decode --form form.json --in r.jsonl";
    let [equal, notes] = folder.done(decode);
    contains(&notes, &["no shares are given for 4 of 4 questions"]);
    let estimate = "estimate --form form.json --in r.jsonl --json";
    folder.write("shares.json", folder.succeed(estimate));
    let weighed = folder.succeed(format!("{decode} --shares shares.json --top 2"));
    assert_eq!(weighed.lines().count(), 4_000);
    for (lines, shares, top) in [(&equal, "equal", 10), (&weighed, "estimated", 2)] {
        let mut of_others = 0;
        for line in values(lines) {
            assert_eq!([&line["shares"], &line["unit"]], [shares, "all answers"]);
            let expected = if line["day"] == 0 {
                ["de", "3", "bad"]
            } else {
                ["en", "5", "good"]
            };
            let answer = line["answer"].as_str().unwrap();
            let pair = format!("{} × {}", expected[0], expected[2]);
            of_others += usize::from(!expected.contains(&answer) && answer != pair);
            near(&line["probability"], 1.0, 0.02);
            let posterior = line["posterior"].as_object().unwrap();
            assert_eq!(posterior[answer], line["probability"]);
            assert!(posterior.len() <= top, "{line}");
        }
        assert!(of_others <= 4_000 / 150, "{of_others} name another answer");
    }
    folder.succeed(format!("{decode} --out d.csv"));
    let csv = folder.text("d.csv");
    let header = csv.lines().next().unwrap();
    assert!(
        header.split(',').any(|name| name == "probability"),
        "{header}"
    );
    folder.refuse_all(
        "decode -i r.jsonl",
        "=> --candidates
        -f form.json --shares form.json => `form.json` has no shares of answers | estimate --form --json",
    );
}

#[test]
fn a_form_has_a_law_and_a_cost() {
    let folder = prepared();
    let text = folder.succeed("inspect form.json --epsilon 4");
    let parts = [
        "attribute   language, weight 1, 3 categories: de, en, fr",
        "pair        language × app.mood, weight 1",
        "one release costs epsilon 4 for all answers of a person together",
        "randomised response",
    ];
    contains(&text, &parts);
    let shown = json(folder.succeed("inspect form.json --json"));
    assert_eq!(shown["form"]["attributes"][2]["name"], "app.mood");
    // The brace is where that of a safetensors file is.
    folder.write("indented.json", format!("        {FORM}"));
    let indented = folder.succeed("inspect indented.json --epsilon 4");
    assert_eq!(indented, text);
    for file in ["assistant.en.pack", "assistant.en.candidates.safetensors"] {
        let arguments = format!("inspect {PACKS}/{file} --out written");
        folder.refuse(&arguments, &["--out does nothing without a form"]);
    }
    let plan = "plan devices -f form.json -e 1,4 --devices 10000,1000000";
    let text = folder.succeed(plan);
    assert!(text.contains("± with 1,000,000"), "{text}");
    let plan = json(folder.succeed(format!("{plan} --json --html plan.html")));
    let questions = array(&plan["questions"]);
    assert_eq!(questions.len(), 8);
    for question in questions {
        let number = |name: &str| question[name].as_f64().unwrap();
        let [own, other, drawn] = ["own", "other", "drawn"].map(number);
        let error = (other * (1.0 - other) / drawn).sqrt() / (own - other);
        near(&question["error_times_root"], error, 1e-9);
        let within = |at: usize| question["precision"][at]["within"].as_f64().unwrap();
        // A hundred times the devices, a tenth of the error.
        assert!((9.0..11.0).contains(&(within(0) / within(1))), "{question}");
    }
    let page = folder.text("plan.html");
    assert!(page.contains("language × app.mood"));
    // One table answers for both epsilons, as does the headline for the question that takes most.
    assert_eq!(page.matches("<table").count(), 1);
    let at_4 = questions.iter().filter(|own| own["epsilon"] == 4.0);
    let most = at_4.map(|own| own["devices"].as_u64().unwrap()).max();
    let (_, headline) = page.split_once("<h1>").unwrap();
    let (headline, _) = headline.split_once("</h1>").unwrap();
    let end = format!(" {} at ε = 4.", most.unwrap());
    assert!(headline.replace(',', "").ends_with(&end), "{headline}");
    // The whole name of the file, except for its kind.
    assert!(page.contains(" · form</p>"), "{page}");
    let parts = ["--shares"];
    folder.refuse("plan devices -f form.json -e 1 --shares de=1", &parts);
}
