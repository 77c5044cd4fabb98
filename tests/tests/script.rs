//! The tables of scripts, against a crate that follows Unicode.
//!
//! Both are of Unicode 18.0.0. If a newer version of the crate fails here, Unicode has new characters: add them.

use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script, SentenceTerminal};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointSetData};

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
    Script::NewTaiLue,
    Script::TaiLe,
    Script::TaiTham,
    Script::TaiViet,
    Script::Thai,
];

#[test]
fn marks_are_those_of_unicode() {
    let categories = CodePointMapData::<GeneralCategory>::new();
    for c in '\0'..=char::MAX {
        let mark = GeneralCategoryGroup::Mark.contains(categories.get(c));
        let joiner = matches!(c, '\u{200c}' | '\u{200d}');
        assert_eq!(script::is_mark(c), mark || joiner, "{c:?}");
    }
}

#[test]
fn letters_of_unspaced_scripts_are_those_of_unicode() {
    use GeneralCategory::{LetterNumber, ModifierLetter, OtherLetter};
    let categories = CodePointMapData::<GeneralCategory>::new();
    let scripts = ScriptWithExtensions::new();
    for c in '\u{300}'..=char::MAX {
        let category = categories.get(c);
        let letter = matches!(category, LetterNumber | ModifierLetter | OtherLetter);
        let unspaced = UNSPACED.iter().any(|own| scripts.has_script(c, *own));
        assert_eq!(script::is_unspaced(c), letter && unspaced, "{c:?}");
    }
    // Tone marks that Bopomofo shares with other scripts.
    assert!(('\0'..'\u{300}').all(|c| !script::is_unspaced(c)));
}

/// Unicode counts these, which are commas: of Burmese, of Balinese (two) and of Javanese.
const COMMAS: &str = "\u{104a}\u{1b4e}\u{1b5e}\u{a9c8}";

/// Unicode does not count these: the Greek question mark, which it takes for the semicolon that it looks like; the
/// kunddaliya of Sinhala; two marks at the end of Thai verses and chapters; the shads of Tibetan, which also end parts
/// of sentences, but nothing else ends a sentence there.
const OWN: &str = "\u{37e}\u{df4}\u{e5a}\u{e5b}\u{f0d}\u{f0e}\u{f0f}\u{f10}\u{f11}";

#[test]
fn what_ends_sentences_has_the_property() {
    let terminal = CodePointSetData::new::<SentenceTerminal>();
    for c in '\u{80}'..=char::MAX {
        let expected = terminal.contains(c) && !COMMAS.contains(c) || OWN.contains(c);
        assert_eq!(script::ends_sentences(c), expected, "{c:?}");
    }
}
