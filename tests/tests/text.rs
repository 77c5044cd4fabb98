//! The words of texts: `undertone_core::lexicon::words` and `word`.

use undertone_core::lexicon::{MAX_WORD_BYTES, word, words};

fn split(text: &str) -> String {
    words(text).collect::<Vec<_>>().join("|")
}

#[test]
fn words_are_runs_of_letters_and_digits() {
    let longest = "x".repeat(MAX_WORD_BYTES);
    for (text, expected) in [
        ("The CAT's 3.5 e-mails", "the|cat's|3|5|e|mails"),
        ("''quoted'' 'tis rock'n'roll", "quoted|tis|rock'n'roll"),
        // One apostrophe joins, several separate.
        ("don''t ’’a’b’’c", "don|t|a'b|c"),
        ("ÄRGER straße 東京 😀", "ärger|straße|東京"),
        ("", ""),
        (&longest, &longest),
        // Words that are too long leave nothing.
        (&format!("{longest}x b"), "b"),
        // The limit holds for the result: İ becomes an i.
        (&"İ".repeat(MAX_WORD_BYTES), &"i".repeat(MAX_WORD_BYTES)),
    ] {
        assert_eq!(split(text), expected, "{text}");
    }
}

#[test]
fn marks_and_joiners_belong_to_words() {
    for (text, expected) in [
        ("हिन्दी में विद्यालय", "हिन्दी|में|विद्यालय"),
        ("தமிழ் பள்ளி", "தமிழ்|பள்ளி"),
        ("বাংলা গল্প", "বাংলা|গল্প"),
        ("కన్నడ భాష", "కన్నడ|భాష"),
        ("โรงเรียน น้ำ ที่", "โรงเรียน|น้ำ|ที่"),
        ("ကျွန်တော် သွား", "ကျွန်တော်|သွား"),
        ("ភាសាខ្មែរ", "ភាសាខ្មែរ"),
        (
            "می\u{200c}خواهم کتاب\u{200c}ها",
            "می\u{200c}خواهم|کتاب\u{200c}ها",
        ),
        // A joiner ends a word only after a virama; several count as one.
        ("کتاب\u{200c} അവന്\u{200d} a", "کتاب|അവന്\u{200d}|a"),
        ("a\u{200c}\u{200d}b c\u{200d}'d", "a\u{200c}b|c'd"),
        // Invisible characters are left out; a zero-width space separates words.
        (
            "co\u{ad}operate we\u{2060}ll \u{200f}don\u{ad}'\u{feff}t",
            "cooperate|well|don't",
        ),
        ("葛\u{e0100}城 one\u{200b}two", "葛城|one|two"),
        // A mark starts no word.
        ("\u{301}a \u{93f} 1\u{fe0f}\u{20e3}", "a|1\u{20e3}"),
    ] {
        assert_eq!(split(text), expected, "{text}");
    }
}

#[test]
fn equal_texts_have_equal_words() {
    for (expected, texts) in [
        ("café", "Café=Cafe\u{301}"),
        // Marks in the order of their classes, or not.
        (
            "việt",
            "Việt=Vie\u{323}\u{302}t=Vie\u{302}\u{323}t=Viê\u{323}t",
        ),
        ("istanbul", "İstanbul=I\u{307}stanbul=istanbul"),
        ("οδος", "ΟΔΟΣ=οδος=οδοσ"),
        ("οδός|σασ'ς", "ΟΔΌΣ ΣΑΣ'Σ=οδός σας'σ"),
        ("ά", "ά=\u{1f71}=α\u{301}"),
        ("ᾄ", "ᾄ=α\u{345}\u{313}\u{301}=ᾀ\u{301}"),
        (
            "한국",
            "한국=\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}",
        ),
        ("어", "어=\u{110b}\u{1165}"),
        ("ガギ", "ガギ=カ\u{3099}キ\u{3099}"),
        ("क\u{93c}", "क\u{93c}=\u{958}"),
        ("কো", "কো=ক\u{9c7}\u{9be}"),
        ("شَدَّة", "شَدَّة=شَد\u{651}\u{64e}ة=شَد\u{64e}\u{651}ة"),
        ("k", "K=\u{212a}"),
        ("й", "Й=и\u{306}"),
    ] {
        for text in texts.split('=') {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}

#[test]
fn a_word_is_nothing_but_a_word() {
    for (text, expected) in [
        ("ΟΔΟΣ", Some("οδος")),
        ("co\u{ad}op", Some("coop")),
        ("rock'n'roll", Some("rock'n'roll")),
        ("a b", None),
        ("(a)", None),
        ("a'", None),
        ("a''b", None),
        ("\u{301}a", None),
        ("", None),
    ] {
        assert_eq!(word(text).as_deref(), expected, "{text}");
    }
}
