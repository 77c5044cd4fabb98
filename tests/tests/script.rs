//! The tables of scripts, compared with a crate that follows Unicode.
//!
//! Both are of Unicode 18.0.0. If a newer version of the crate fails here, Unicode has new
//! characters: add them.

use icu_normalizer::properties::{
    CanonicalCombiningClassMapBorrowed, CanonicalCompositionBorrowed,
    CanonicalDecompositionBorrowed, Decomposed,
};
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{
    DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup, Script, SentenceTerminal,
};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointSetData};
use undertone_core::features::{FeatureKinds, each_feature};
use undertone_core::lexicon::words;

#[path = "../../core/src/script.rs"]
mod tables;

/// Scripts without spaces between words.
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
        assert_eq!(tables::is_mark(c), mark || joiner, "{c:?}");
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
        assert_eq!(tables::is_unspaced(c), letter && unspaced, "{c:?}");
    }
    // Tone marks that Bopomofo shares with other scripts.
    assert!(('\0'..'\u{300}').all(|c| !tables::is_unspaced(c)));
}

/// Unicode counts these marks, which are commas: of Burmese, of Balinese (two) and of Javanese.
const COMMAS: &str = "\u{104a}\u{1b4e}\u{1b5e}\u{a9c8}";

/// Unicode does not count these marks: the Greek question mark, which it treats as the semicolon it
/// looks like; the kunddaliya of Sinhala; two marks at the end of Thai verses and chapters; the
/// shads of Tibetan, which also end parts of sentences but are the only ends there.
const OWN: &str = "\u{37e}\u{df4}\u{e5a}\u{e5b}\u{f0d}\u{f0e}\u{f0f}\u{f10}\u{f11}";

#[test]
fn what_ends_sentences_has_the_property() {
    let terminal = CodePointSetData::new::<SentenceTerminal>();
    for c in '\u{80}'..=char::MAX {
        let expected = terminal.contains(c) && !COMMAS.contains(c) || OWN.contains(c);
        assert_eq!(tables::ends_sentences(c), expected, "{c:?}");
    }
}

#[test]
fn ignorable_characters_have_the_property() {
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    // Spaces and joiners, fillers of Hangul, two vowels of Khmer.
    let others = "\u{200b}\u{200c}\u{200d}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{17b4}\u{17b5}";
    for c in '\0'..=char::MAX {
        let expected = ignorable.contains(c) && !others.contains(c);
        assert_eq!(tables::is_ignorable(c), expected, "{c:?}");
    }
}

/// Returns whether words may contain this character: a lower-case letter or a mark of the Basic
/// Multilingual Plane.
fn is_of_words(c: char) -> bool {
    c <= '\u{ffff}' && c.to_lowercase().eq([c]) && (c.is_alphanumeric() || tables::is_mark(c))
}

/// Ideographs with two code points: each stands for one of the same shape.
fn is_compatibility_ideograph(c: char) -> bool {
    matches!(c, '\u{f900}'..='\u{faff}')
}

#[test]
fn composition_is_that_of_unicode() {
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let compositions = CanonicalCompositionBorrowed::new();
    let decompositions = CanonicalDecompositionBorrowed::new();
    let mut composites = 0;
    for c in ('\0'..=char::MAX).filter(|c| is_of_words(*c)) {
        let class = classes.get_u8(c);
        let found = tables::combining_class(c);
        assert!(found == class || (found, class) == (255, 0), "{c:?}");
        let expected = match decompositions.decompose(c) {
            Decomposed::Singleton(first) => Some((first, None)),
            Decomposed::Expansion(first, second) => Some((first, Some(second))),
            Decomposed::Default => None,
        };
        let expected = expected.filter(|_| !is_compatibility_ideograph(c));
        if !('가'..='힣').contains(&c) {
            assert_eq!(tables::decomposed(c), expected, "{c:?}");
        }
        let Some((first, second)) = expected else {
            assert_eq!(tables::never_composed(c), None, "{c:?}");
            continue;
        };
        let composed = second.and_then(|second| compositions.compose(first, second));
        let second = second.unwrap_or('\0');
        assert_eq!(tables::composed(first, second), composed, "{c:?}");
        assert_eq!(
            tables::never_composed(c).is_none(),
            composed == Some(c),
            "{c:?}"
        );
        // The second character of a decomposition never decomposes, and those that compose are
        // listed.
        assert_eq!(tables::decomposed(second), None, "{c:?}");
        let joins = tables::combining_class(second) > 0 || tables::is_trailing_jamo(second);
        assert!(joins || composed.is_none(), "{c:?}");
        composites += 1;
    }
    assert!(composites > 11_000, "{composites}");
    assert_eq!(tables::composed('i', '\u{307}'), Some('i'));
}

/// Returns the hashes of the symbols of a text, in order.
fn symbols(text: &str) -> Vec<u32> {
    let kinds = FeatureKinds {
        words: false,
        pairs: false,
        symbols: true,
        least: 1,
        most: 0,
    };
    let mut hashes = Vec::new();
    each_feature(text.as_bytes(), kinds, |hash| hashes.push(hash));
    hashes
}

#[test]
fn symbols_are_the_same_in_all_normal_forms() {
    let composing = ComposingNormalizerBorrowed::new_nfc();
    let decomposing = DecomposingNormalizerBorrowed::new_nfd();
    let mut decomposed = 0;
    for c in '\0'..='\u{ffff}' {
        for text in [format!("!{c}?"), format!("a{c}\u{338}{c}")] {
            let expected = symbols(&text);
            for other in [composing.normalize(&text), decomposing.normalize(&text)] {
                assert_eq!(symbols(&other), expected, "{text:?} {other:?}");
            }
        }
        let first = tables::symbol_of(c);
        let full = decomposing
            .normalize(c.encode_utf8(&mut [0; 4]))
            .chars()
            .next();
        assert!(first == c || Some(first) == full, "{c:?}");
        decomposed += usize::from(first != c);
    }
    assert_eq!(decomposed, 61);
}

/// Words, spaces, apostrophes and invalid bytes separate symbols; invisible characters do not.
#[test]
fn symbols_are_neighbours_if_adjacent() {
    // A symbol, and then each next one with its pair.
    let count = |text: &str| symbols(text).len();
    assert_eq!(count("a1 é\u{301} '’\u{200b}\0\u{ad}\u{fe0f}\u{fffd}"), 0);
    for between in [" ", "a", "\u{a0}", "\u{200b}", "'", "\0", "\u{fffd}"] {
        assert_eq!(count(&format!("!{between}?")), 2, "{between:?}");
    }
    for between in ["", "\u{ad}", "\u{fe0f}", "\u{200d}", "\u{301}"] {
        assert_eq!(
            symbols(&format!("!{between}?")),
            symbols("!?"),
            "{between:?}"
        );
    }
    assert_eq!(count("!?"), 3);
    assert_ne!(symbols("!?"), symbols("?!"));
    assert_ne!(symbols("！"), symbols("!"));
    assert_ne!(symbols("“"), symbols("\""));
}

/// The words of a text, its normal forms, and equal texts in other bytes.
#[test]
fn words_are_the_same_in_all_normal_forms() {
    let composing = ComposingNormalizerBorrowed::new_nfc();
    let decomposing = DecomposingNormalizerBorrowed::new_nfd();
    let check = |text: &str| {
        let words = |text: &str| words(text).collect::<Vec<_>>();
        let expected = words(text);
        for other in [composing.normalize(text), decomposing.normalize(text)] {
            assert_eq!(words(&other), expected, "{text:?} {other:?}");
        }
        for word in &expected {
            // İ becomes i; a dot on an i is no separate mark.
            assert_eq!(composing.normalize(word), word.as_str(), "{text:?}");
            assert_eq!(words(word), std::slice::from_ref(word), "{text:?}");
        }
    };
    let plane = ('\0'..='\u{ffff}').filter(|c| !is_compatibility_ideograph(*c));
    let characters: Vec<char> = plane
        .filter(|c| c.is_alphanumeric() || tables::is_mark(*c))
        .collect();
    for c in &characters {
        check(&format!("{c}"));
        check(&format!("a{c}"));
        check(&format!("e\u{302}{c}\u{323} ο{c}\u{345}Σ{c}"));
    }
    // Words of random letters and marks.
    let marks: Vec<char> = characters
        .iter()
        .copied()
        .filter(|c| tables::is_mark(*c))
        .collect();
    let mut state = 1u32;
    let mut draw = |characters: &[char]| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        characters[(state >> 12) as usize % characters.len()]
    };
    for round in 0..30_000 {
        let mut text = String::new();
        for _ in 0..3 {
            text.push(draw(&characters));
            for _ in 0..round % 5 {
                let common = [
                    '\u{301}', '\u{323}', '\u{307}', '\u{302}', '\u{31b}', '\u{345}', '\u{308}',
                    '\u{93c}',
                ];
                let mark = draw(if round % 2 == 0 { &common } else { &marks });
                text.push(mark);
            }
        }
        check(&text);
    }
}
