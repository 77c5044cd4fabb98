//! `undertone budget` as a user runs it.

use serde_json::Value;

use crate::common::{Folder, GOLDEN, contains, json, near};

fn answer(arguments: &str) -> Value {
    json(Folder::new().succeed(format!("budget --json - --daily {arguments}")))
}

/// Of one unit and number of days: ε, δ of its own, and ε with the stated δ.
fn total(answer: &Value, unit: &str, days: u64) -> Option<[Option<f64>; 3]> {
    let rows = answer["totals"].as_array().expect("totals");
    let row = rows
        .iter()
        .find(|row| row["unit"] == unit && row["days"] == days)?;
    Some(["epsilon", "own_delta", "epsilon_with_delta"].map(|field| row[field].as_f64()))
}

#[test]
fn a_year_of_daily_releases() {
    let folder = Folder::new();
    let page = folder.succeed("budget --daily permute-and-flip:0.5");
    // The sum, what holds with delta, and what the other rule would cost.
    let parts = [
        "182.5",
        "95.84",
        "36.52",
        "permute-and-flip is the wrong rule",
        "--rule exponential",
    ];
    contains(&page, &parts);
    let exact = |days| [Some(0.5 * days), Some(0.0)];
    for (rule, month, year) in [
        ("permute-and-flip", 15.0, 95.837_855),
        ("exponential", 8.135_29, 36.512_678),
    ] {
        let answer = answer(&format!("{rule}:0.5"));
        let of = |days| total(&answer, "sentence", days).expect("a row");
        assert_eq!(of(1), [Some(0.5), Some(0.0), Some(0.5)]);
        assert_eq!(of(30)[..2], exact(30.0));
        near(&of(30)[2].into(), month, 1e-4);
        assert_eq!(of(365)[..2], exact(365.0));
        assert_eq!(of(365)[2], Some(year));
        // Without the pack nobody knows.
        assert_eq!(total(&answer, "whole-text", 365), None);
    }
    let page = folder.succeed("budget --daily exponential:0.5 --days 1");
    assert!(page.contains("delta buys nothing"), "{page}");
    assert!(!page.contains("wrong rule"), "{page}");
}

/// No mechanism serves any epsilon: what is served is what a user pays.
#[test]
fn no_more_is_counted_than_is_served() {
    for (kind, unit, served) in [
        ("whole-text", "whole-text", 33.271_065),
        ("projective", "whole-text", 27.725_888),
        ("exponential", "sentence", 44.361_404),
    ] {
        let daily = format!("{kind}:1000");
        let page = Folder::new().succeed(format!("budget --daily {daily} --days 1"));
        assert!(page.contains(" at epsilon 1000 (served as "), "{page}");
        let [epsilon, ..] = total(&answer(&daily), unit, 1).expect("a row");
        near(&epsilon.into(), served, 1e-5);
    }
}

#[test]
fn units_stand_apart_and_packs_say_more() {
    let daily =
        "whole-text:1:2,exponential:0.5 words-exponential=50:0.1 vector-laplace:30 --days 10";
    let unknown = answer(daily);
    let of = |answer: &Value, unit| total(answer, unit, 10);
    assert_eq!(of(&unknown, "sentence").unwrap()[0], Some(25.0));
    assert_eq!(of(&unknown, "whole-text"), None);
    assert_eq!(of(&unknown, "words").unwrap()[0], Some(50.0));
    let [epsilon, own, with] = of(&unknown, "vector").unwrap();
    assert_eq!((epsilon, with), (Some(300.000_01), None));
    assert!((9.2e-5..9.3e-5).contains(&own.unwrap()), "{own:?}");

    let folder = Folder::new();
    let pack = GOLDEN.replace("golden.pack", "golden-scores.pack");
    let known = answer(&format!("{daily} --pack {pack} --delta 1e-3"));
    let text = of(&known, "whole-text").expect("the pack says it")[0].unwrap();
    let page = folder.succeed(format!("inspect {pack}"));
    // At ε = 1 and by the other rule, which loses a little more: a sentence release costs less.
    let (_, loss) = page.split_once("the whole text exchanged: ").unwrap();
    let loss: f64 = loss.lines().next().unwrap().parse().unwrap();
    assert!(text > 20.0 && text < 20.0 + 10.0 * loss, "{text} {loss}");

    let page = folder.succeed("budget --daily projective:1 --json b.json");
    assert!(page.contains("name the pack with --pack"), "{page}");
    let written = json(folder.bytes("b.json"));
    assert_eq!(total(&written, "whole-text", 365).unwrap()[0], Some(365.0));
}

#[test]
fn words_and_vectors_cost_what_their_distance_makes_them() {
    // At distance 0.1 a year of ε = 5 is a year of ε = 0.5.
    let year = |daily: &str, distance: &str| {
        let answer = answer(&format!("{daily} --distance {distance} --days 365"));
        assert_eq!(
            answer["distance"].to_string().parse(),
            distance.parse::<f64>()
        );
        let unit = answer["totals"][0]["unit"].as_str().unwrap().to_owned();
        total(&answer, &unit, 365).unwrap()
    };
    for (daily, distance, with) in [
        ("vector-discrete-laplace:5", "0.1", 95.837_855),
        ("vector-discrete-laplace:0.5", "1", 95.837_855),
        ("words-exponential=5:0.2", "0.5", 36.512_678),
        ("words-permute-and-flip=1:0.1", "5", 95.837_855),
    ] {
        assert_eq!(year(daily, distance), [Some(182.5), Some(0.0), Some(with)]);
    }
    let folder = Folder::new();
    let daily = "budget --daily vector-laplace:3";
    let page = folder.succeed(format!("{daily} --distance 2.5"));
    contains(&page, &["a vector, distance 2.5", "--distance W"]);
    assert!(!page.contains("W^2"), "{page}");
    for distance in ["0", "-1", "1001", "far"] {
        let all = format!("{daily} --distance {distance}");
        folder.refuse(&all, &["0.000001 to 1000"]);
    }
    folder.refuse("budget --daily vector-laplace:0.09", &["0.1..=1000"]);
}

#[test]
fn what_is_no_budget_is_refused() {
    let folder = Folder::new();
    folder.refuse_all(
        "budget --daily",
        "flip:1 => `flip` | permute-and-flip | vector-laplace
        flip=5:1 => `flip` | words-exponential=N
        exponential => KIND:EPSILON | exponential:0.5
        exponential:1:2:3 => KIND:EPSILON
        whole-text:10,5 => '5' | commas separate kinds, and decimals take a point
        exponential:0 => 0.000001..=1000
        exponential:x => decimal number
        exponential:1:0 => 1 to 65535
        exponential:1:65536 => 1 to 65535
        words-exponential:1 => words-exponential=50
        words-laplace=257:1 => 1 to 256 | `257`
        words-laplace=256:1000:65535 => 16776960016 | 281474976",
    );
    folder.refuse_all(
        "budget --daily exponential:1",
        "--delta 0 => between 0 and 1
        --delta -1 => between 0 and 1
        --delta NaN => between 0 and 1
        --delta one => not a number
        --days 0 => 1..=65535
        --pack no.pack => no.pack",
    );
    folder.refuse("budget", &["--daily"]);
    let line = format!("budget --pack {GOLDEN} --daily whole-text:1");
    folder.refuse(line, &["needs a pack with scores"]);
}
