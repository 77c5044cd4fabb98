//! The sentence splitter, on typed text and on arbitrary bytes.

use proptest::prelude::*;
use undertone_core::sentences::{MAX_SENTENCE_BYTES, next, next_finished, sentences};

/// Texts with marks at their sentence ends; the file describes them.
const TYPED: &str = include_str!("../sentences/typed.txt");

/// Decodes the escapes of a line.
fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('\\') {
        text.push_str(before);
        rest = &behind[1..];
        match behind.as_bytes()[0] {
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            b'u' => {
                let (number, behind) = rest[1..].split_once('}').unwrap();
                let number = u32::from_str_radix(number, 16).unwrap();
                text.push(char::from_u32(number).unwrap());
                rest = behind;
            }
            other => panic!("unknown escape \\{}", char::from(other)),
        }
    }
    text + rest
}

fn speaks(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

#[test]
fn typed_text_is_split_as_people_would() {
    let mut cases = 0;
    for line in TYPED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let marked = unescaped(line);
        let expected: Vec<&str> = marked
            .split('¦')
            .map(str::trim)
            .filter(|sentence| speaks(sentence))
            .collect();
        let text = marked.replace('¦', "");
        let found: Vec<&str> = sentences(text.as_bytes())
            .map(|sentence| str::from_utf8(sentence).unwrap())
            .collect();
        assert_eq!(found, expected, "{line}");
        cases += 1;
    }
    assert!(cases > 80, "only {cases} cases");
}

#[test]
fn run_ons_are_cut_between_words() {
    let text = "word ".repeat(1000);
    let found: Vec<&[u8]> = sentences(text.as_bytes()).collect();
    assert!(found.len() >= text.len() / MAX_SENTENCE_BYTES);
    for sentence in &found[..found.len() - 1] {
        assert!(sentence.len() <= MAX_SENTENCE_BYTES && sentence.len() > MAX_SENTENCE_BYTES / 2);
        assert!(sentence.starts_with(b"word") && sentence.ends_with(b"word"));
    }
    // Without a space the cut is between characters, never inside one.
    for text in ["語".repeat(1000), "x".repeat(5000), "ä\u{301}".repeat(999)] {
        let found: Vec<&str> = sentences(text.as_bytes())
            .map(|sentence| str::from_utf8(sentence).unwrap())
            .collect();
        assert_eq!(found.concat(), text);
        assert!(
            found
                .iter()
                .all(|sentence| sentence.len() < MAX_SENTENCE_BYTES + 4)
        );
    }
}

#[test]
fn sentences_finish_while_they_are_typed() {
    let text = "so happy :) See you at 5 p.m. in the park… ok? Yes!!\nok\nbye";
    let mut typed = Vec::new();
    let mut start = 0;
    let mut finished = Vec::new();
    for byte in text.bytes() {
        typed.push(byte);
        while let Some(range) = next_finished(&typed, start) {
            start = range.end;
            finished.push(String::from_utf8(typed[range].to_vec()).unwrap());
        }
    }
    finished
        .extend(next(&typed, start).map(|range| String::from_utf8(typed[range].to_vec()).unwrap()));
    assert_eq!(
        finished,
        [
            "so happy :)",
            "See you at 5 p.m. in the park… ok?",
            "Yes!!",
            "ok",
            "bye"
        ]
    );
}

/// Bytes out of the marks that the rules test, valid UTF-8 or not.
fn marked_text() -> impl Strategy<Value = Vec<u8>> {
    let valid = prop_oneof![
        any::<char>().prop_map(String::from),
        "[.!?…。！？؟।·:;]{1,4}",
        "[\"'“”‘’«»‹›„()\\[\\]{}<>（）「」*_`]{1,3}",
        "[ \t\n\r\u{85}\u{a0}\u{2028}\u{3000}\u{200b}\u{feff}]{1,3}",
        "(Dr|Mr|e\\.g|i\\.e|U\\.S|No|p|J|I|a@b\\.c|www\\.x\\.y|v1\\.2|etc|The|it)\\.?",
        "\n ?([0-9]{1,3}|[a-z]|[ivx]{1,4}|-|•)[.)]{0,2} ",
        "[a-zA-ZäßİŉéЖ语🙂👍⏰▶❝♭\u{fe0f}\u{200d}\u{301}\u{3164}\u{0}\u{7f}]{1,3}",
        "[:;=xX<][-'^]?[()DPp3/|*oO\\[\\]]{1,2}",
        "[αλβա-ֆकหမሰශ\u{94d}\u{dca}\u{200d}\u{200c}]{1,4}[;:|፡။၊།．，。་ ]{0,2}",
        "([a-zA-Zт]\\. ?){1,3}",
        "([.!?] ){2,4}",
        " ?[–—] ?[a-zA-Z]?",
        "[『〉﴾«“]{0,2}[。.！][”«“»』とA]{0,3}",
        "[0-9]{1,3}([.,][0-9])?",
        "[a-z ]{30,60}\n",
        "[a-z ]{300,700}",
    ]
    .prop_map(String::into_bytes);
    let invalid = proptest::collection::vec(any::<u8>(), 1..4);
    let piece = prop_oneof![9 => valid, 1 => invalid];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => marked_text(),
        1 => proptest::collection::vec(any::<u8>(), 0..99),
        1 => any::<String>().prop_map(String::into_bytes),
    ]
}

#[test]
fn every_letter_and_digit_speaks() {
    for c in '\0'..=char::MAX {
        let text = String::from(c);
        let whole = speaks(&text).then_some(0..text.len());
        assert_eq!(next(text.as_bytes(), 0), whole, "{c:?}");
    }
}

/// Some combining marks are letters, such as the vowel sign U+09BE. A text with one is not lost,
/// even if the mark follows a stop or an emoticon, which takes the marks after it.
#[test]
fn marks_that_are_letters_speak() {
    for mark in ["\u{9be}", "\u{5c1}", "\u{345}"] {
        for before in [".", ". ", "!\"", "。", "😀", ":)", ":)\"", "\u{301}"] {
            let text = format!("{before}{mark}");
            assert_eq!(next(text.as_bytes(), 0), Some(0..text.len()), "{text:?}");
            let longer = text.clone() + "\n\nMore. It";
            assert_eq!(next_finished(longer.as_bytes(), 0), Some(0..text.len()));
        }
    }
}

proptest! {
    // In a debug build a thousand take 15 seconds.
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 4000 }))]

    #[test]
    fn sentences_are_ordered_parts_that_lose_no_word(text in any_text()) {
        let mut start = 0;
        let mut between = Vec::new();
        while let Some(range) = next(&text, start) {
            prop_assert!(start <= range.start && range.start < range.end && range.end <= text.len());
            // Bytes that may follow the limit: the rest of a character, stops, emoticons.
            let behind = text[range.clone()].get(MAX_SENTENCE_BYTES + 3..).unwrap_or_default();
            let mouths = |c: char| !c.is_alphanumeric() || "DPp3oO".contains(c);
            prop_assert!(String::from_utf8_lossy(behind).chars().all(mouths));
            between.push(&text[start..range.start]);
            let sentence = String::from_utf8_lossy(&text[range.clone()]);
            prop_assert!(speaks(&sentence), "{:?}", sentence);
            prop_assert_eq!(sentence.trim(), &*sentence);
            start = range.end;
        }
        between.push(&text[start..]);
        for rest in between {
            prop_assert!(!speaks(&String::from_utf8_lossy(rest)), "{:?}", rest);
        }
        prop_assert_eq!(next(&text, text.len()), None);
        prop_assert_eq!(next(&text, usize::MAX), None);
    }

    #[test]
    fn characters_stay_whole(text in any_text()) {
        let text = String::from_utf8_lossy(&text).into_owned();
        for sentence in sentences(text.as_bytes()) {
            prop_assert!(str::from_utf8(sentence).is_ok());
        }
    }

    #[test]
    fn a_finished_sentence_stays_as_it_is(text in any_text(), more in any_text()) {
        let longer = [&text[..], &more].concat();
        let mut start = 0;
        while let Some(range) = next_finished(&text, start) {
            prop_assert_eq!(next(&text, start), Some(range.clone()));
            prop_assert_eq!(next_finished(&longer, start), Some(range.clone()));
            start = range.end;
        }
    }
}
