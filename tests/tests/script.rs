//! The tables of scripts, against crates that follow Unicode.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

#[path = "../../core/src/script.rs"]
mod script;

/// Their scripts have no spaces between words.
const UNSPACED: [Script; 15] = [
    Script::Ahom,
    Script::Balinese,
    Script::Bopomofo,
    Script::Han,
    Script::Hiragana,
    Script::Javanese,
    Script::Katakana,
    Script::Khmer,
    Script::Lao,
    Script::Myanmar,
    Script::New_Tai_Lue,
    Script::Tai_Le,
    Script::Tai_Tham,
    Script::Tai_Viet,
    Script::Thai,
];

/// A crate of a newer version knows characters that the tables do not: make them anew.
#[test]
fn the_version_is_that_of_the_tables() {
    assert_eq!(unicode_properties::UNICODE_VERSION, (18, 0, 0));
    assert_eq!(unicode_script::UNICODE_VERSION, (18, 0, 0));
}

#[test]
fn marks_are_those_of_unicode() {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    for c in '\0'..=char::MAX {
        let mark = matches!(
            c.general_category(),
            EnclosingMark | NonspacingMark | SpacingMark
        );
        let joiner = matches!(c, '\u{200c}' | '\u{200d}');
        assert_eq!(script::is_mark(c), mark || joiner, "{c:?}");
    }
}

#[test]
fn letters_of_unspaced_scripts_are_those_of_unicode() {
    use GeneralCategory::{LetterNumber, ModifierLetter, OtherLetter};
    for c in '\0'..=char::MAX {
        let letter = matches!(
            c.general_category(),
            LetterNumber | ModifierLetter | OtherLetter
        );
        let scripts = c.script_extension();
        // These belong to every script.
        let none = scripts.is_common() || scripts.is_inherited();
        let unspaced = !none && UNSPACED.iter().any(|own| scripts.contains_script(*own));
        let expected = letter && unspaced && c > '\u{2ff}';
        assert_eq!(script::is_unspaced(c), expected, "{c:?}");
    }
}
