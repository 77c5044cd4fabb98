//! Tests neither fail nor pass by chance. Random cases come from fixed seeds. A file of tests that
//! draws from the system's entropy, starts programs that do, or looks at a clock states the
//! probabilities of both, for any load on the machine:
//!
//! ```text
//! // Chance: false alarm 10⁻¹², miss none. Why.
//! ```
//!
//! A false alarm is a test that fails although nothing is wrong; a miss is a test that does not
//! find its bug. `none` means that the outcome depends neither on a draw nor on time.
//!
//! Chance: false alarm none, miss none. (This file contains the words that it searches for.)

use undertone_tests::tree::{files, read};

/// Words that show that the outcome of a test may depend on chance.
const WORDS: [&str; 14] = [
    "OsEntropy",
    "SysRng",
    "OsRng",
    "StdRng",
    "RandomState",
    "thread_rng",
    "privatize",
    "obfuscate",
    "static_library",
    "sleep",
    "Instant",
    "SystemTime",
    "UNIX_EPOCH",
    "utc_day",
];

/// The limits: a false alarm of all tests together in 10⁹ runs, and for each statement a miss in
/// 10⁶.
const FALSE_ALARMS: f64 = 1e-9;
const MISS: f64 = 1e-6;

/// The part of a source that is compiled for tests only.
fn tests_of<'t>(path: &str, text: &'t str) -> &'t str {
    if path.split(['/', '.']).any(|part| part == "tests") {
        text
    } else {
        text.find("#[cfg(test)]").map_or("", |at| &text[at..])
    }
}

/// Parses `none`, or a power of ten such as 10⁻¹².
fn probability(text: &str) -> Option<f64> {
    if text == "none" {
        return Some(0.0);
    }
    let digits = text.strip_prefix("10⁻")?.chars();
    let mut digits = digits.map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|digit| digit == c));
    let exponent = digits.try_fold(0, |sum, digit| Some(10 * sum + digit? as i32))?;
    (exponent > 0).then(|| 10f64.powi(-exponent))
}

/// The probabilities of a false alarm and of a miss that a line states.
fn stated(line: &str) -> Option<Result<[f64; 2], String>> {
    let comment = line.trim_start().strip_prefix("//")?;
    let text = comment.trim_start_matches(['/', '!', ' ']);
    let text = text.strip_prefix("Chance: ")?;
    let read = || {
        let (alarm, rest) = text.strip_prefix("false alarm ")?.split_once(", miss ")?;
        let miss = rest.split('.').next()?;
        Some([probability(alarm)?, probability(miss)?])
    };
    Some(read().ok_or_else(|| {
        format!("no \"false alarm 10⁻¹², miss none.\" with powers of ten or none: {text}")
    }))
}

/// The probability of a false alarm that a file states, and the problems of its statements.
fn judge(path: &str, text: &str) -> (f64, Vec<String>) {
    let tests = tests_of(path, text);
    let mut words = tests.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let word = words.find(|word| WORDS.contains(word));
    let mut wrong = Vec::new();
    let (mut alarms, mut statements) = (0.0, 0);
    for line in text.lines() {
        match stated(line) {
            None => continue,
            Some(Ok([alarm, miss])) if miss <= MISS => alarms += alarm,
            Some(Ok(_)) => wrong.push(format!("a miss above {MISS:e}: {line}")),
            Some(Err(problem)) => wrong.push(problem),
        }
        statements += 1;
    }
    if let Some(word) = word.filter(|_| statements == 0) {
        wrong.push(format!(
            "`{word}` and no line \"Chance: false alarm 10⁻¹², miss none. Why.\""
        ));
    }
    (alarms, wrong)
}

#[test]
fn no_test_fails_or_passes_by_chance() {
    let folders = ["core", "ffi", "fuzz", "host", "tests"].into_iter();
    let (mut alarms, mut wrong) = (0.0, String::new());
    for (path, text) in folders.flat_map(|folder| files(folder, ".rs")) {
        let (own, problems) = judge(&path, &text);
        alarms += own;
        for problem in problems {
            wrong += &format!("{path}: {problem}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    println!("a false alarm with a probability of {alarms:e} at most");
    assert!(
        alarms > 0.0 && alarms <= FALSE_ALARMS,
        "a false alarm with a probability of {alarms:e}; all tests together may have {FALSE_ALARMS:e}"
    );
}

/// Cargo gives the seed to every test that it starts; cases of a property are drawn from it.
#[test]
fn properties_have_a_fixed_seed() {
    let config = read(".cargo/config.toml");
    assert!(config.contains("PROPTEST_RNG_SEED = "), "{config}");
    let seed = std::env::var("PROPTEST_RNG_SEED").map(|seed| seed.parse::<u64>());
    assert!(matches!(seed, Ok(Ok(_))), "{seed:?}");
}

#[test]
fn what_is_wrong_is_found() {
    let wrong = |path: &str, text: &str| judge(path, text).1.len();
    let sleeps = "fn f() { thread::sleep(x) }";
    assert_eq!(wrong("a/tests/b.rs", sleeps), 1);
    assert_eq!(wrong("a/src/b.rs", sleeps), 0);
    let unit_test = format!("#[cfg(test)]\nmod tests {{ {sleeps} }}");
    assert_eq!(wrong("a/src/b.rs", &unit_test), 1);
    assert_eq!(wrong("a/tests/b.rs", "fn f() { asleep(Instantly) }"), 0);
    let with = |line: &str| wrong("a/tests/b.rs", &format!("  /// Chance: {line}\n{sleeps}"));
    assert_eq!(with("false alarm none, miss none. It waits."), 0);
    assert_eq!(with("false alarm 10⁻¹², miss 10⁻⁹⁴."), 0);
    assert_eq!(with("false alarm none, miss 10⁻⁵."), 1);
    for bad in [
        "small",
        "false alarm 10⁻¹².",
        "false alarm 10^-12, miss none.",
        "false alarm 10⁻, miss none.",
    ] {
        assert_eq!(with(bad), 1, "{bad}");
    }
    let (alarms, _) = judge("a/tests/b.rs", "// Chance: false alarm 10⁻¹², miss none.");
    assert!((alarms * 1e12 - 1.0).abs() < 1e-12, "{alarms}");
}
