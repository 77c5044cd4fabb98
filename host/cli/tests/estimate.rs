//! `undertone estimate` and `undertone plan` as a user runs them. Counts are what devices release
//! on average, so that nothing here depends on chance, except in one test.
//!
//! Chance: false alarm 10⁻¹¹, miss none. In `two_labels…`, 4000 releases are right within seven
//! standard errors.

use std::collections::BTreeMap;
use std::ops::Deref;

use crate::common::{Folder, array, contains, json, near, release_in, share, values};
use serde_json::{Value, json};
use undertone::pack::candidates::Candidates;
use undertone::release::law::Law;
use undertone_core::epsilon::Epsilon;
use undertone_core::projective::Geometry;
use undertone_core::release::Mechanism;
use undertone_core::select::Ratio;
use undertone_estimate::channel::Channel;
use undertone_estimate::counts::Kind;

const LABELS: [&str; 3] = ["football", "garden", "medicine"];

const WORDS: [&str; 3] = [
    "penalty goalkeeper striker fans match league corner referee goal kick",
    "tomatoes beans roses soil water frost seeds compost lawn weeds",
    "doctor clinic biopsy blood nurse surgery fever vaccine tablet ward",
];

const COMMON: [&str; 6] = ["monday", "letter", "friend", "house", "paper", "morning"];

/// Labelled texts, public. `labels`: what they are called.
fn corpus(count: usize, start: usize, labels: [&str; 3]) -> String {
    let mut lines = String::new();
    for i in 0..count {
        for (own, label) in labels.iter().enumerate() {
            let word = |class: usize, step: usize| {
                let mut words = WORDS[class % 3].split(' ');
                words.nth((i * step + start + step) % 10).unwrap()
            };
            let (a, b, c) = (word(own, 1), word(own, 3), word(own, 7));
            let other = word(own + 1 + i % 2, 9);
            let filler = COMMON[(i + start) % 6];
            let text =
                format!("The {a} and the {filler}. Our {b} came with {other}. About {c} {filler}.");
            lines += &format!("{}\n", json!({"label": label, "text": text}));
        }
    }
    lines
}

/// A pack of three labels with public texts, and another one that is not of the fleet.
struct World {
    folder: Folder,
    candidates: Candidates,
}

impl Deref for World {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl World {
    fn new() -> Self {
        Self::of(0, LABELS)
    }

    fn of(start: usize, labels: [&str; 3]) -> Self {
        let folder = Folder::new();
        folder.write("public.jsonl", corpus(60, start, labels));
        let pack = "pack --corpus public.jsonl --heads features --nothing-known keep --out t.pack";
        folder.succeed(pack);
        let candidates = Candidates::read(&folder.join("t.candidates.safetensors")).unwrap();
        assert!(candidates.calibration.is_some());
        Self { folder, candidates }
    }

    fn kind(&self, mechanism: Mechanism, epsilon: &str) -> Kind {
        let epsilon: Epsilon = epsilon.parse().unwrap();
        let (rule, order) = match mechanism {
            Mechanism::Projective => (2, Geometry::best(4, epsilon).unwrap().order()),
            Mechanism::WholeText => (2, 0),
            Mechanism::Drawn => (2, 3),
            _ => (1, 0),
        };
        let id = self.candidates.pack_id();
        Kind::from_fields(id, mechanism as u8, rule, epsilon, order).unwrap()
    }

    /// The average releases of `count` texts with these shares of labels, if they are like the
    /// public ones.
    fn released(&self, kind: Kind, shares: [f64; 3], count: f64) -> BTreeMap<u32, u64> {
        let texts = self.candidates.calibration.as_ref().unwrap();
        let channel = Channel::new(kind, 3).unwrap();
        let mut outcomes: BTreeMap<u32, f64> = BTreeMap::new();
        for (text, label) in texts.of_texts.iter().enumerate() {
            let own = texts.of_texts.iter().filter(|own| *own == label).count();
            let label = LABELS
                .iter()
                .position(|own| texts.labels[*label as usize].ends_with(own));
            let part = count * shares[label.unwrap()] / own as f64;
            let law: Vec<f64> = match channel {
                None => {
                    let ratio = Ratio::per_step(kind.epsilon(), texts.steps.try_into().unwrap());
                    let law = Law::new(texts.levels_of(text).to_vec(), ratio, kind.rule());
                    (0..3).map(|outcome| law.probability(outcome)).collect()
                }
                Some(channel) => {
                    let best = texts.best[text];
                    let points = channel.geometry().map_or(4, |geometry| geometry.points());
                    let inside = |point: u32| match channel.geometry() {
                        None => point == best,
                        Some(geometry) => geometry.contains(best, point),
                    };
                    let preferred = channel.answers_of_an_outcome() as f64;
                    let rest = f64::from(points) - preferred;
                    let law = |point| {
                        if inside(point) {
                            channel.own() / preferred
                        } else {
                            (1.0 - channel.own()) / rest
                        }
                    };
                    (0..points).map(law).collect()
                }
            };
            for (outcome, chance) in (0..).zip(law) {
                *outcomes.entry(outcome).or_insert(0.0) += part * chance;
            }
        }
        let rounded = outcomes.into_iter();
        rounded
            .map(|(outcome, count)| (outcome, count.round() as u64))
            .collect()
    }

    /// Writes counts of these releases, each with its day.
    fn write_counts(&self, name: &str, groups: &[(&str, Kind, BTreeMap<u32, u64>)]) {
        let mut text = "pack,mechanism,rule,epsilon,order,day,outcome,count\n".to_owned();
        for (day, kind, outcomes) in groups {
            for (outcome, count) in outcomes {
                text += &format!(
                    "{},{},{},{},{},{day},{outcome},{count}\n",
                    hex::encode(kind.pack_id()),
                    kind.mechanism() as u8,
                    kind.to_bytes(0)[5],
                    kind.epsilon(),
                    kind.order()
                );
            }
        }
        self.write(name, text);
    }

    /// Writes counts of one kind, of one day.
    fn write_kind(&self, name: &str, kind: Kind, outcomes: &[(u32, u64)]) {
        let outcomes = outcomes.iter().copied().collect();
        self.write_counts(name, &[("2026-11-01", kind, outcomes)]);
    }

    /// Two days of all kinds of releases: on the first one football, on the second gardens.
    fn all_kinds(&self) {
        let days = [
            ("2026-11-01", [0.6, 0.3, 0.1]),
            ("2026-11-02", [0.2, 0.7, 0.1]),
        ];
        let mut groups = Vec::new();
        for (day, shares) in days {
            for (mechanism, epsilon) in [
                (Mechanism::Scores, "1"),
                (Mechanism::WholeText, "1"),
                (Mechanism::WholeText, "3"),
                (Mechanism::Projective, "0.5"),
            ] {
                let kind = self.kind(mechanism, epsilon);
                groups.push((day, kind, self.released(kind, shares, 20_000.0)));
            }
        }
        self.write_counts("all.csv", &groups);
    }

    fn estimate(&self, input: &str, more: &str) -> (String, Value) {
        // More names come first: of candidates.
        let estimate = format!("estimate --in {input} --candidates t.candidates.safetensors");
        let text = self.succeed(format!("{estimate} {more} --json out.json"));
        (text, json(self.bytes("out.json")))
    }
}

fn arguments(input: &str) -> String {
    format!("estimate --candidates t.candidates.safetensors --in {input}")
}

/// The name of SVG is no link.
fn stands_alone(page: &str) {
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in [
        "http", "href", "<script", "<link", "src=", "@import", "url(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn all_kinds_together_and_by_day() {
    let world = World::new();
    world.all_kinds();
    let (text, json) = world.estimate("all.csv", "--difference --html page.html --author Ada");
    assert_eq!(json["version"], 2);
    assert_eq!(json["slices"], json!(["day"]));
    assert_eq!(array(&json["kinds"]).len(), 4);
    assert_eq!(json["unanswered"], json!([]));
    // Counts by day hide a text among those of a day; sentence releases promise nothing of a text.
    for kind in array(&json["kinds"]) {
        let published = &kind["published"];
        if kind["mechanism"] == 2 {
            assert_eq!(published, &Value::Null);
            continue;
        }
        near(&published["releases"], 20_000.0, 10.0);
        assert_eq!(published["delta"], 1e-9);
        let [own, all] = [kind, published].map(|own| own["epsilon"].as_f64().unwrap());
        assert!(all > 0.0 && all < own / 10.0, "{kind}");
    }
    // All, and each day.
    let labels = array(&json["labels"]);
    assert_eq!(labels.len(), 3);
    assert_eq!(labels[0]["slice"], Value::Null);
    assert_eq!(labels[2]["slice"], json!(["2026-11-02"]));
    for (table, truth) in labels
        .iter()
        .zip([[0.4, 0.5, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    {
        assert_eq!(table["fit"]["refuted"], false);
        for (label, truth) in LABELS.iter().zip(truth) {
            let row = share(table, label);
            near(&row["share"], truth, 0.01);
            assert!(row["low"].as_f64() < Some(truth) && Some(truth) < row["high"].as_f64());
        }
    }
    let candidates = array(&json["candidates"]);
    assert_eq!(candidates.len(), 3);
    for table in candidates {
        assert_eq!(table["possible"], true);
        let rows = array(&table["shares"]);
        assert_eq!(rows.last().unwrap()["name"], "nothing known");
        let sum: f64 = rows.iter().map(|row| row["share"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert!(table["one_forged_release_moves"].as_f64().unwrap() > 0.0);
    }
    // Sentence releases have no share in these.
    assert_eq!(candidates[0]["releases"].as_u64().unwrap() / 1000, 120);
    let differences = array(&json["differences"]);
    assert_eq!(differences.len(), 2);
    for table in differences {
        assert_eq!(table["first"], json!(["2026-11-01"]));
        assert_eq!(table["second"], json!(["2026-11-02"]));
        assert!(share(table, "garden")["low"].as_f64() > Some(0.0));
        // Wider, because each day allows for sources of its own.
        assert!(share(table, "football")["high"].as_f64() < Some(0.0));
    }
    let parts = [
        "SHARES OF CANDIDATES",
        "SHARES OF LABELS",
        "DIFFERENCES",
        "day 2026-11-02, less day 2026-11-01",
        "A test finds nothing against what this assumes",
        "PUBLISHED COUNTS",
        "releases in the smallest slice: epsilon 0.0",
        "One forged release moves an unbiased guess",
        "nothing known",
    ];
    contains(&text, &parts);
    let page = world.text("page.html");
    stands_alone(&page);
    let shares = array(&labels[0]["shares"]).iter();
    let frequency = |row: &Value| row["share"].as_f64().unwrap();
    let first = shares.max_by(|a, b| frequency(a).total_cmp(&frequency(b)));
    let first = first.unwrap()["name"].as_str().unwrap();
    // People need neither digests nor options.
    let (_, body) = page.split_once("</style>").unwrap();
    let pack = json["kinds"][0]["pack"].as_str().unwrap();
    assert!(!body.contains(pack) && !body.contains("--") && !body.contains('`'));
    contains(
        &page,
        &[
            "What would make this wrong",
            "days since 2026-11-01",
            "<p class=\"title\">What the texts are about</p>",
            &format!(
                "<h1>No subject of the texts is clearly the most frequent: the intervals of {first}, "
            ),
            " · t · Ada</p>",
            "a release may make one of two whole texts that were equally likely before up to",
            "a release may make one of two sentences that were equally likely before up to",
            "<svg",
            "nothing known",
        ],
    );
    let named = "--difference day=2026-11-02,2026-11-01 --at-once --level 0.99";
    let (_, other) = world.estimate("all.csv", named);
    let garden = share(&other["differences"][0], "garden");
    near(&garden["share"], -0.4, 0.03);
    let width = |json: &Value| {
        let row = share(&json["labels"][0], "garden");
        row["high"].as_f64().unwrap() - row["low"].as_f64().unwrap()
    };
    assert!(width(&other) > 1.3 * width(&json));
    let (_, whole) = world.estimate("all.csv", "--epsilon 3");
    assert_eq!(array(&whole["kinds"]).len(), 1);
    assert!(whole["rejected"][0]["count"].as_u64().unwrap() > 100_000);
}

/// A question that nobody had when the releases were collected.
#[test]
fn questions_come_later() {
    let world = World::new();
    world.all_kinds();
    world.write("q.jsonl", corpus(40, 3, ["outside", "outside", "inside"]));
    let question = "--corpus q.jsonl --pack t.pack";
    let (text, json) = world.estimate("all.csv", question);
    assert_eq!(json["question"], true);
    let inside = share(&json["labels"][0], "inside");
    near(&inside["share"], 0.1, 0.12);
    contains(&text, &["must not be ones that the pack was made from"]);
    world.write("one.jsonl", corpus(9, 3, ["outside"; 3]));
    world.write("few.jsonl", corpus(4, 3, LABELS));
    let one = arguments("all.csv --corpus one.jsonl --pack t.pack");
    world.refuse(one, &["texts of 1 labels"]);
    // Shares of candidates need no texts.
    let few = "--corpus few.jsonl --pack t.pack";
    let (_, json) = world.estimate("all.csv", few);
    assert_eq!(json["labels"], json!([]));
    let why = json["unanswered"][0].as_str().unwrap();
    let parts = ["has 4 public texts, and an estimate needs at least 5"];
    contains(why, &parts);
    world.succeed("demo --save demo.pack");
    let other = arguments("all.csv --corpus q.jsonl --pack demo.pack");
    world.refuse(other, &["--candidates has none for it"]);
}

#[test]
fn what_cannot_be_answered_is_said() {
    let world = World::new();
    world.all_kinds();
    let kind = world.kind(Mechanism::WholeText, "1");
    world.write("empty.jsonl", "");
    world.write("forged.jsonl", "{}\nnothing\n");
    let other = Kind::from_fields(*b"otherone", 7, 2, kind.epsilon(), 0).unwrap();
    world.write_kind("other.csv", other, &[(1, 7)]);
    // One release of a mechanism that the pack does not have, among others and alone.
    let depth = Kind::from_fields(kind.pack_id(), 1, 1, kind.epsilon(), 0).unwrap();
    let forged = ("2026-11-01", depth, BTreeMap::from([(1, 1)]));
    world.write_counts("depth.csv", std::slice::from_ref(&forged));
    let shares = [0.5, 0.3, 0.2];
    let honest = ("2026-11-01", kind, world.released(kind, shares, 9000.0));
    world.write_counts("both.csv", &[honest, forged]);
    let (text, json) = world.estimate("both.csv", "");
    assert_eq!(json["left_out"][0]["releases"], 1);
    assert!(text.contains("left out 1: "), "{text}");
    // Values of ε that somebody made up.
    let made_up: Vec<_> = (1..=33)
        .map(|epsilon| {
            let kind = world.kind(Mechanism::Scores, &format!("0.{epsilon:02}"));
            ("2026-11-01", kind, BTreeMap::from([(1, 9)]))
        })
        .collect();
    world.write_counts("made-up.csv", &made_up);
    let (_, json) = world.estimate("made-up.csv", "--epsilon 0.07");
    assert_eq!(json["labels"][0]["releases"], 9);
    // One device.
    world.write_kind("one.csv", kind, &[(1, 1)]);
    let (_, json) = world.estimate("one.csv", "");
    // Nothing hides it.
    let published = json!({"releases": 1, "epsilon": 1.0, "delta": 0.0});
    assert_eq!(json["kinds"][0]["published"], published);
    for row in array(&json["candidates"][0]["shares"]) {
        assert_eq!([&row["low"], &row["high"]], [0.0, 1.0]);
    }
    for row in array(&json["labels"][0]["shares"]) {
        let [low, high] = ["low", "high"].map(|end| row[end].as_f64().unwrap());
        assert!(low < 0.05 && high > 0.95, "{row}");
    }
    world.refuse_all(
        &arguments(""),
        "empty.jsonl => the inputs have no releases
        forged.jsonl => nothing could be counted | not a release in JSON
        other.csv => nothing could be counted | 7:
        depth.csv => no release can be taken | selects by another mechanism
        made-up.csv => 33 kinds | at most 32 | --epsilon
        one.csv --difference => there is one slice only",
    );
    world.refuse_all(
        &arguments("all.csv"),
        "--difference day=2026-11-01,2026-12-24 => no release has day = 2026-12-24 | 2026-11-02
        --difference country=SE,NO => slice by country alone
        --difference day => write FIELD=A,B
        --level 95 => from 0.5 to below 1
        --json all.csv => all.csv
        --candidates t.candidates.safetensors => name it once",
    );
}

/// Texts unlike the public ones, and releases that no texts make.
#[test]
fn no_intervals_where_they_would_be_wrong() {
    let world = World::new();
    let sentences = world.kind(Mechanism::Scores, "3");
    let whole = world.kind(Mechanism::WholeText, "3");
    // Nearly all are of "nothing known", which none of the public texts is.
    let strange = [(0, 500), (1, 500), (2, 500), (3, 9000)];
    world.write_kind("strange.csv", whole, &strange);
    let (text, json) = world.estimate("strange.csv", "");
    assert_eq!(json["labels"][0]["fit"]["refuted"], true);
    let row = &json["labels"][0]["shares"][0];
    assert!(row["share"].is_f64() && row["low"].is_null() && row["high"].is_null());
    let parts = [
        "The texts on the devices are not as this assumes",
        "no interval",
    ];
    contains(&text, &parts);
    // Statement (a) holds whatever they are.
    let unknown = share(&json["candidates"][0], "nothing known");
    assert!(unknown["low"].as_f64() > Some(0.8));
    world.write_kind("forged.csv", whole, &[(0, 5000), (1, 5000)]);
    let (text, json) = world.estimate("forged.csv", "");
    assert_eq!(json["candidates"][0]["possible"], false);
    assert!(json["candidates"][0]["shares"][0]["low"].is_null());
    contains(&text, &["Honest devices do not release like this"]);
    // Sentence releases alone have no shares of candidates.
    let released = world.released(sentences, [0.5, 0.5, 0.0], 9000.0);
    world.write_counts("s.csv", &[("1", sentences, released)]);
    let (text, json) = world.estimate("s.csv", "");
    assert_eq!(json["candidates"], json!([]));
    assert!(!text.contains("SHARES OF CANDIDATES"), "{text}");
    // A label that nobody writes about.
    let none = share(&json["labels"][0], "medicine");
    assert_eq!(none["low"].as_f64(), Some(0.0));
    near(&none["share"], 0.0, 0.03);
}

/// Shares of drawn sentences are not added to shares of texts, and give no shares of labels.
#[test]
fn drawn_sentences_have_a_table_of_their_own() {
    let world = World::new();
    let [whole, drawn] = [Mechanism::WholeText, Mechanism::Drawn].map(|own| world.kind(own, "1"));
    let groups = [(whole, [0.7, 0.3, 0.0]), (drawn, [0.3, 0.7, 0.0])]
        .map(|(kind, shares)| ("1", kind, world.released(kind, shares, 90_000.0)));
    world.write_counts("both.csv", &groups);
    let (text, json) = world.estimate("both.csv", "");
    let tables = array(&json["candidates"]);
    let tables: Vec<&Value> = tables.iter().filter(|own| own["slice"].is_null()).collect();
    let places: Vec<&Value> = tables.iter().map(|own| &own["places"]).collect();
    assert_eq!(places, [&Value::Null, &json!(3)]);
    for table in tables {
        assert_eq!(table["releases"], 90_000);
        assert_eq!(table["possible"], true);
    }
    let parts = ["one drawn from 3 places", "labels belong to whole texts"];
    contains(&text, &parts);
    assert_eq!(json["labels"][0]["releases"], 90_000);
    // The counts protect a text by at most ln(1 + 3·(e − 1)), which is more than 1.
    let published = &json["kinds"][1]["published"];
    assert!(published["epsilon"].as_f64().unwrap() < 1.816_3);
    // Without texts there are no labels.
    world.write_counts("drawn.csv", &groups[1..]);
    let (_, json) = world.estimate("drawn.csv", "");
    assert_eq!(json["labels"], json!([]));
    assert_eq!(json["candidates"][0]["places"], 3);
}

#[test]
fn packs_without_public_texts_say_what_they_take() {
    let world = World::new();
    let mut candidates = world.candidates.clone();
    candidates.calibration = None;
    candidates.write(&world.join("bare.safetensors")).unwrap();
    let sentences = world.kind(Mechanism::Scores, "1");
    let whole = world.kind(Mechanism::WholeText, "1");
    let [one, two] =
        [sentences, whole].map(|kind| ("1", kind, world.released(kind, [0.4, 0.4, 0.2], 5000.0)));
    world.write_counts("sentences.csv", std::slice::from_ref(&one));
    world.write_counts("both.csv", &[one, two]);
    let bare = |input| format!("estimate --in {input} --candidates bare.safetensors");
    let parts = ["nothing can be said", "labelled ones and their pack"];
    world.refuse(bare("sentences.csv"), &parts);
    let parts = ["Not answered: shares of labels"];
    contains(&world.succeed(bare("both.csv")), &parts);
    let plan = world.succeed("plan --candidates bare.safetensors --epsilon 1");
    contains(&plan, &["Not planned: shares of labels"]);
}

#[test]
fn plans_name_devices_and_costs() {
    let world = World::new();
    let plan = "plan --candidates t.candidates.safetensors --epsilon 1,3";
    let more = "--within 0.1 --devices 1000,100000 --html plan.html --shares garden=0.5";
    let text = world.succeed(format!("{plan} {more}"));
    let parts = [
        "± 10.0 points",
        "100,000",
        "30 × 3 = 90 of epsilon",
        "At epsilon 1, shares of candidates within 10.0 points take",
        "sentence",
        "projective",
        "garden=0.5",
    ];
    contains(&text, &parts);
    let page = world.text("plan.html");
    stands_alone(&page);
    // What a release reveals is computed, for each epsilon.
    for (epsilon, likely) in [(1, 73.2), (3, 95.3)] {
        let part = format!(
            "At epsilon {epsilon}, a release may make one of two texts that were equally likely before up to {likely} % likely"
        );
        contains(&text, &[&part]);
        contains(&page, &[&part]);
    }
    assert!(page.contains("<svg") && page.contains("devices"));
    // The table has the numbers of devices, and marks the best way of each of both epsilons.
    assert!(!page.contains("within 10.0 points take"));
    assert_eq!(page.matches("<tr class=\"marked\">").count(), 4, "{page}");
    world.refuse_all(
        plan,
        "--shares x=0.1 => no candidate and no label
        --shares garden => write NAME=SHARE
        --shares garden=0.5,garden=0.2 => the share of `garden` twice
        --shares garden=0.9,football=0.2 => they add up to 1 at most
        --within 3 => 3 percentage points
        --devices 0 => 0",
    );
    // Texts that were not seen before are not all alike.
    world.write("few.jsonl", corpus(20, 0, LABELS));
    world.succeed("pack --corpus few.jsonl --heads features --out few.pack");
    let never = "plan --candidates few.candidates.safetensors --epsilon 3 --within 0.001";
    let parts = [
        "no number of devices gives shares of labels",
        "is the limit",
    ];
    contains(&world.succeed(never), &parts);
}

/// Shorter texts say less, so they take more devices.
#[test]
fn plans_compare_lengths_of_texts() {
    let world = World::new();
    world.write("q.jsonl", corpus(40, 3, LABELS));
    let plan =
        "plan --candidates t.candidates.safetensors --epsilon 1,3 --within 0.1 --devices 5000";
    let question = "--corpus q.jsonl --pack t.pack";
    let lengths = "--first-sentences 3,1 --json p.json --html p.html";
    let text = world.succeed(format!("{plan} {question} {lengths}"));
    let page = world.text("p.html");
    stands_alone(&page);
    for said in [&text, &page] {
        let parts = [
            "sentences",
            "texts of 1 sentence",
            "texts of 3 sentences",
            "made from",
        ];
        contains(said, &parts);
    }
    assert!(page.contains("by the length of texts"), "{page}");
    let plan_of_lengths = json(world.bytes("p.json"));
    assert_eq!(plan_of_lengths["version"], 1);
    assert_eq!(plan_of_lengths["unanswered"], json!([]));
    // What a month costs is what `budget` says.
    let month = &plan_of_lengths["months"][1];
    for (field, expected) in [
        ("epsilon", 3.0),
        ("daily_for_a_month", 90.0),
        ("delta", 1e-6),
    ] {
        assert_eq!(month[field], expected);
    }
    let kinds = array(&month["kinds"]);
    let names = [
        "permute-and-flip",
        "exponential",
        "whole-text",
        "projective",
    ];
    assert_eq!(kinds.len(), names.len());
    for (kind, name) in kinds.iter().zip(names) {
        let budget = "budget --pack t.pack --days 30 --json - --daily";
        let answer = json(world.succeed(format!("{budget} {name}:3")));
        let mut totals = array(&answer["totals"]).iter();
        let total = totals.find(|own| own["unit"] == kind["unit"]).unwrap();
        assert_eq!(kind["kind"], name);
        for field in ["rho", "epsilon_with_delta"] {
            assert_eq!(kind[field], total[field], "{name}: {field}");
        }
    }
    let named = "With delta 1e-6 it is, for a sentence, ";
    assert!(text.contains(named) && page.contains(named), "{text}");
    let ways = array(&plan_of_lengths["ways"]);
    let of = |shares: &str, sentences: Value| -> Vec<&Value> {
        let own = ways.iter().filter(|way| way["shares_of"] == shares);
        own.filter(|way| way["sentences"] == sentences).collect()
    };
    assert_eq!(of("candidates", Value::Null).len(), 4);
    for way in of("candidates", Value::Null) {
        let published = &way["published"][0];
        assert_eq!(published["devices"], 5000);
        assert_eq!(published["delta"], 1e-9);
        assert!(published["epsilon"].as_f64() < way["epsilon"].as_f64().map(|own| own / 5.0));
    }
    let [one, three] = [1, 3].map(|length| of("labels", json!(length)));
    assert!(one.iter().all(|way| way["published"] == json!([])));
    assert_eq!((one.len(), three.len(), ways.len()), (6, 6, 16));
    // What devices add to the error that the public texts leave.
    let added = |way: &Value| {
        let [within, limit] =
            [&way["precision"][0]["within"], &way["limit"]].map(|number| number.as_f64().unwrap());
        (within.powi(2) - limit.powi(2)).sqrt()
    };
    for (one, three) in one.iter().zip(three) {
        for field in ["mechanism", "epsilon"] {
            assert_eq!(one[field], three[field]);
        }
        assert_eq!(one["precision"][0]["devices"], 5000);
        // What the first sentence says is enough for the best candidate, but not for scores.
        let less = if one["mechanism"] == 2 {
            added(three) < 0.8 * added(one)
        } else {
            added(three) <= 1.001 * added(one)
        };
        assert!(less, "{one} {three}");
    }
    // Without lengths the texts are as they are: three sentences.
    let answer = json(world.succeed(format!("{plan} {question} --json")));
    let own = array(&answer["ways"])
        .iter()
        .filter(|way| way["shares_of"] == "labels");
    for (own, three) in own.zip(of("labels", json!(3))) {
        for field in ["devices", "limit"] {
            assert_eq!(own[field], three[field]);
        }
    }
    world.succeed("demo --save demo.pack");
    world.refuse_all(
        plan,
        "--first-sentences 1 => --corpus
        --corpus q.jsonl => --pack
        --corpus q.jsonl --pack demo.pack => has none for it
        --corpus q.jsonl --pack t.pack --first-sentences 0 => 0
        --corpus q.jsonl --pack t.pack --json q.jsonl => destroy",
    );
}

/// Anybody can send any value of a slice, and a label is any text of a file: neither steers a
/// terminal or a page.
#[test]
fn names_and_values_are_only_text() {
    let labels = [
        "\u{1b}[31mfootball",
        "<script>alert(1)</script>garden",
        "a\nb\u{202e} medicine",
    ];
    let world = World::of(0, labels);
    let kind = world.kind(Mechanism::WholeText, "1");
    let slices = [
        "\u{1b}[2Jdown",
        "SE\nall: 9 releases",
        "\0\r\t",
        "\u{202e}",
        "\"'&",
        "<script>alert(1)</script>",
    ];
    let (mut lines, mut days) = (String::new(), String::new());
    for outcome in 0..3 {
        let release = hex::encode(kind.to_bytes(outcome));
        for i in 0..600 {
            let value = slices[i % slices.len()];
            lines += &format!("{}\n", json!({"release": release, "of": value}));
            let day = format!("2026-11-0{}", i % 2 + 1);
            days += &format!("{}\n", json!({"release": release, "of": day}));
        }
    }
    world.write("r.jsonl", lines);
    world.write("days.jsonl", days);
    let harmless = |said: &str| {
        let seen = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(said.chars().all(seen), "{said:?}");
    };
    let by = "--by of --difference --html page.html";
    for input in ["r.jsonl", "days.jsonl"] {
        let (text, json) = world.estimate(input, by);
        harmless(&text);
        assert!(!text.contains("\nall: 9") && text.contains("\\u{1b}[31mfootball"));
        let page = world.text("page.html");
        stands_alone(&page);
        harmless(&page);
        // A program gets them as they are.
        let slice = json["candidates"][2]["slice"][0].as_str().unwrap();
        let is_known = input == "days.jsonl" || slices.contains(&slice);
        assert!(is_known, "{slice:?}");
        assert!(share(&json["labels"][0], labels[2])["share"].is_number());
    }
    let plan = "plan --candidates t.candidates.safetensors --epsilon 1";
    harmless(&world.refuse(arguments("r.jsonl --by of --difference of=1,2"), &[]));
    harmless(&world.refuse(format!("{plan} --shares x=0.1"), &[]));
    harmless(&world.succeed(plan));
    // Counts give every value back.
    world.succeed("count --in r.jsonl --by of --out c.csv");
    world.succeed("count --in c.csv --out c.parquet");
    let (_, json) = world.estimate("c.parquet", "");
    let tables = array(&json["candidates"]).iter().skip(1);
    let mut found: Vec<&str> = tables
        .map(|own| own["slice"][0].as_str().unwrap())
        .collect();
    let mut slices = slices.to_vec();
    found.sort_unstable();
    slices.sort_unstable();
    assert_eq!(found, slices);
}

/// Packs with the same labels answer together, others apart.
#[test]
fn packs_are_not_mixed_up() {
    let world = World::new();
    let same = World::of(2, LABELS);
    let other = World::of(4, ["my football", "my garden", "my medicine"]);
    for (name, own) in [("same", &same), ("other", &other)] {
        own.candidates.write(&world.join(name)).unwrap();
    }
    let shares = [0.5, 0.3, 0.2];
    let groups = [&world, &same, &other].map(|own| {
        let kind = own.kind(Mechanism::WholeText, "2");
        ("1", kind, own.released(kind, shares, 10_000.0))
    });
    world.write_counts("three.csv", &groups);
    let (_, json) = world.estimate("three.csv", "same other");
    assert_eq!(json["unanswered"], json!([]));
    let labels = array(&json["labels"]);
    // Of all, and of the one day.
    assert_eq!(labels.len(), 4);
    assert_eq!(array(&labels[0]["packs"]).len(), 2);
    assert_eq!(array(&labels[2]["packs"]).len(), 1);
    near(&share(&labels[0], "garden")["share"], 0.3, 0.02);
    near(&share(&labels[2], "my garden")["share"], 0.3, 0.02);
    let packs = array(&json["candidates"]);
    assert_eq!(packs.len(), 6, "candidates of each pack for themselves");
    // A question is about one pack.
    world.write("q.jsonl", corpus(40, 3, LABELS));
    let question = "same --corpus q.jsonl --pack t.pack";
    let (_, json) = world.estimate("three.csv", question);
    let why = json["unanswered"][0].as_str().unwrap();
    contains(why, &["the question is about another pack than"]);
    assert_eq!(json["rejected"][0]["count"].as_u64().unwrap() / 100, 100);
}

/// The answer names what its intervals of labels allow for, and asks for a field if that was
/// guessed.
#[test]
fn intervals_name_the_sources_that_they_allow_for() {
    let world = World::new();
    let texts = corpus(60, 0, LABELS);
    let with_years = texts.lines().enumerate().map(|(line, text)| {
        let year = 2020 + line / 3 % 4;
        format!("{{\"year\": {year}, {}\n", &text[1..])
    });
    world.write("years.jsonl", with_years.collect::<String>());
    let pack = |field| {
        let pack = "pack --corpus years.jsonl --heads features --out years.pack --source-field";
        format!("{pack} {field}")
    };
    world.refuse(pack("label"), &["of one source"]);
    world.succeed(pack("year"));
    let file = "years.candidates.safetensors";
    let mut named = Candidates::read(&world.join(file)).unwrap();
    let whole = |candidates: &Candidates| {
        let epsilon = "3".parse().unwrap();
        Kind::from_fields(candidates.pack_id(), 7, 2, epsilon, 0).unwrap()
    };
    let outcomes = [(0, 5000), (1, 3000), (2, 2000), (3, 200)];
    let estimate = |name: &str, kind, file: &str| {
        world.write_kind(name, kind, &outcomes);
        let arguments = format!("estimate --in {name} --candidates {file} --alike");
        let answer = json(world.succeed(format!("{arguments} --json")));
        (world.succeed(&arguments), answer)
    };
    let (text, json) = estimate("years.csv", whole(&named), file);
    let parts = [
        "compared: 2020, 2021, 2022, 2023.",
        "IF TEXTS WERE EXACTLY LIKE",
    ];
    contains(&text, &parts);
    assert_eq!(json["labels"][0]["sources"]["guessed"], false);
    assert_eq!(json["labels_alike"][0]["fit"]["freedom"], 1);

    let file = "t.candidates.safetensors";
    let (text, json) = estimate("guessed.csv", whole(&world.candidates), file);
    assert!(text.contains("field that names real sources"), "{text}");
    assert_eq!(json["labels"][0]["sources"]["guessed"], true);

    named.calibration.as_mut().unwrap().by_source = None;
    named.write(&world.join("old.safetensors")).unwrap();
    let (text, json) = estimate("old.csv", whole(&named), "old.safetensors");
    assert!(text.contains("do not allow for other texts"), "{text}");
    assert!(json["labels"][0]["sources"].is_null());
}

/// A pack of two labels leaves "nothing known" out, and so do releases, counts and estimates: 73.1
/// % of releases are right at ε = 1, not 57.6 %.
#[test]
fn two_labels_have_two_outcomes() {
    const TEXTS: usize = 4000;
    let folder = Folder::new();
    let texts = |count: usize| {
        let mut all = values(&corpus(count, 0, LABELS));
        all.retain(|line| line["label"] != LABELS[2]);
        all
    };
    let lines =
        |texts: &[Value]| -> String { texts.iter().map(|text| format!("{text}\n")).collect() };
    folder.write("public.jsonl", lines(&texts(60)));
    let pack = |name: &str| format!("pack --corpus public.jsonl --heads features --out {name}");
    let measured = |name, more: &str| {
        let notes = folder.notes(pack(&format!("{name} {more}")));
        let line = notes.lines().find(|line| line.contains("nothing known"));
        line.unwrap().to_owned()
    };
    let notes = measured("two.pack", "");
    let parts = [
        "left out: 0 of 120 held-out documents",
        "57.6 % are right",
        "73.1 % without",
    ];
    contains(&notes, &parts);
    let shown = folder.succeed("inspect two.pack");
    contains(&shown, &["\"nothing known\" is left out"]);
    let notes = measured("three.pack", "--nothing-known keep");
    assert!(notes.contains("is kept"), "{notes}");
    assert!(!folder.succeed("inspect three.pack").contains("left out"));
    let vectors = pack("no.pack --nothing-known omit").replace("features", "vectors");
    folder.refuse(&vectors, &["--nothing-known", "heads"]);

    // Nine texts in ten are about football.
    let all = texts(30);
    let of =
        |label: &str| -> Vec<&Value> { all.iter().filter(|text| text["label"] == label).collect() };
    let (football, garden) = (of(LABELS[0]), of(LABELS[1]));
    let private: Vec<Value> = (0..TEXTS)
        .map(|text| {
            let own = if text % 10 == 9 { &garden } else { &football };
            own[text % own.len()].clone()
        })
        .collect();
    folder.write("private.jsonl", lines(&private));
    let release = "release documents --pack two.pack --epsilon 1 --in private.jsonl";
    folder.succeed(format!("{release} --out r.jsonl"));
    let candidates = Candidates::read(&folder.join("two.candidates.safetensors")).unwrap();
    assert!(!candidates.has_nothing_known);
    let released = folder.values("r.jsonl");
    let right = released.iter().zip(&private).filter(|(line, text)| {
        let release = release_in(line);
        assert_eq!(release.mechanism(), Mechanism::WholeTextKnown);
        let (candidate, _) = candidates.decode(&release).unwrap().expect("a candidate");
        text["label"] == candidate.id.as_str()
    });
    let right = right.count() as f64 / TEXTS as f64;
    assert!((right - 0.731).abs() < 7.0 * 0.00701, "{right}");

    let file = "--candidates two.candidates.safetensors";
    folder.succeed(format!("count --in r.jsonl --out counts.csv {file}"));
    let counts = folder.text("counts.csv");
    let mut rows = counts.lines().skip(1);
    assert!(rows.all(|line| line.contains(",11,2,1,")), "{counts}");
    let answer = json(folder.succeed(format!("estimate --in counts.csv --json {file}")));
    for table in [&answer["candidates"][0], &answer["labels"][0]] {
        assert_eq!(array(&table["shares"]).len(), 2, "{table}");
        assert!(table["possible"].as_bool().unwrap_or(true));
        near(&share(table, LABELS[0])["share"], 0.9, 0.15);
    }
    let plan = json(folder.succeed(format!("plan devices --epsilon 1 --json {file}")));
    let ways = array(&plan["ways"]).iter();
    let mechanisms: Vec<u64> = ways.map(|way| way["mechanism"].as_u64().unwrap()).collect();
    for (mechanism, is_there) in [(11, true), (12, true), (7, false), (8, false)] {
        assert_eq!(mechanisms.contains(&mechanism), is_there, "{mechanisms:?}");
    }

    // No device makes the third outcome, nor these releases under a pack that has it.
    let release = |pack: [u8; 8], outcome: u32| {
        let kind = Kind::from_fields(pack, 11, 2, "1".parse().unwrap(), 0).unwrap();
        let release = hex::encode(kind.to_bytes(outcome));
        format!("{{\"release\": \"{release}\"}}\n")
    };
    let own = candidates.pack_id();
    contains(&counts, &[&format!("\n{},", hex::encode(own))]);
    let other = Candidates::read(&folder.join("three.candidates.safetensors")).unwrap();
    let forged = release(own, 2) + &release(other.pack_id(), 0) + &release(own, 1);
    folder.write("forged.jsonl", forged);
    let both = "--candidates two.candidates.safetensors three.candidates.safetensors";
    folder.succeed(format!("count --in forged.jsonl --out forged.csv {both}"));
    assert_eq!(folder.count("forged.csv"), 2);
}
