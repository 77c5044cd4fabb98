//! Any text as documents of a corpus.

use std::collections::HashSet;
use std::fs;

use undertone::release::document;
use undertone::text::{WordFilter, english_stop_words, message_body, read_word_list, sentences};
use undertone_core::lexicon::{Word, words};

/// Splits the input into sentences and words, as the command line does.
///
/// Checked: sentences are in order, trimmed, and lose no letter or digit; a message's body has only
/// lines of the message; a word list has the words of its text, numbers aside.
pub fn text_sentences_lose_nothing(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let speaks = |text: &str| text.contains(char::is_alphanumeric);
    let mut rest = &*text;
    let all = sentences(&text);
    for sentence in &all {
        let start = sentence.as_ptr().addr() - rest.as_ptr().addr();
        assert!(start <= rest.len() && speaks(sentence));
        assert!(!speaks(&rest[..start]), "{sentence:?}");
        assert_eq!(sentence.trim(), *sentence);
        rest = &rest[start + sentence.len()..];
    }
    assert!(!speaks(rest), "{rest:?}");
    assert_eq!(document::sentences(&text), all[..all.len().min(128)]);

    // Without a field of MIME nothing is decoded.
    if !text.to_lowercase().contains("content-") {
        let mut lines = text.split(['\n', '\r']);
        let body = message_body(&text);
        for line in body.split(['\n', '\r']).filter(|line| !line.is_empty()) {
            assert!(lines.any(|own| own == line), "{line:?}");
        }
    }

    let stop = english_stop_words();
    let kept: Vec<_> = words(&text).filter(|word| !stop.contains(word)).collect();
    assert!(WordFilter::default().words(&text).eq(kept));

    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("words.txt");
    fs::write(&path, data).expect("room for a file");
    // Other kinds of files are refused, and numbers may be counts.
    if let Ok(list) = read_word_list(&path) {
        let all: HashSet<Word> = words(&text).collect();
        let is_count = |word: &Word| word.as_str().contains(char::is_numeric);
        assert!(list.is_subset(&all));
        assert!(all.difference(&list).all(is_count), "{list:?}");
    }
}
