//! Decimal numbers as ε.

use undertone_core::epsilon::{Epsilon, EpsilonError, Micro};

fn parse(text: &str) -> Result<u32, EpsilonError> {
    text.parse().map(Epsilon::micro)
}

#[test]
fn parses_exactly_and_rounds_down() {
    for (text, micro) in [
        ("10", 10_000_000),
        ("0.5", 500_000),
        (".5", 500_000),
        ("5.", 5_000_000),
        ("+1", 1_000_000),
        ("1e-3", 1_000),
        ("2.5E2", 250_000_000),
        ("0.0000019999", 1),
        ("0.1234567", 123_456),
        ("1000", 1_000_000_000),
        ("1000.0000009", 1_000_000_000),
        ("00000000000000000000001", 1_000_000),
        ("0.00000000000000000000001e23", 1_000_000),
        ("999.999999", 999_999_999),
    ] {
        assert_eq!(parse(text), Ok(micro), "{text}");
    }
}

#[test]
fn refuses_other_text() {
    use EpsilonError::{NotANumber, TooLarge, TooSmall};
    for (texts, error) in [
        (
            "|abc|1,5|1.2.3|e5|1e|--1|0x10| 1|NaN|inf|.|-|1é",
            NotANumber,
        ),
        ("0|-1|-0|0.0000009|1e-99999999999999999999|0e12", TooSmall),
        ("1000.000001|1e12|1e99999999999999999999", TooLarge),
        ("99999999999999999999999999|4294967296", TooLarge),
    ] {
        for text in texts.split('|') {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
    assert_eq!(Epsilon::from_micro(0), Err(TooSmall));
    assert_eq!(Epsilon::from_micro(1_000_000_001), Err(TooLarge));
}

#[test]
fn writes_the_shortest_decimal() {
    for (micro, text) in [
        (0, "0"),
        (1, "0.000001"),
        (500_000, "0.5"),
        (1_000_010, "1.00001"),
        (10_000_000, "10"),
        (999_999_999, "999.999999"),
        (u64::MAX, "18446744073709.551615"),
    ] {
        assert_eq!(Micro(micro).to_string(), text);
    }
    let refused = |text: &str| text.parse::<Epsilon>().unwrap_err().to_string();
    assert!(refused("one").contains("not a decimal number"));
    for text in ["0", "1001"] {
        assert!(refused(text).contains("0.000001..=1000"), "{text}");
    }
}
