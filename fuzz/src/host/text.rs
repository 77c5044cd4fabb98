//! Any text as documents of a corpus.

use std::fs;

use undertone::release::document;
use undertone::text::{WordFilter, english_stop_words, message_body, read_word_list, sentences};
use undertone_core::lexicon::words;

/// Splits the input into sentences and words, as the command line does.
///
/// Checked: sentences are in order, trimmed, and lose no letter or digit; a message's body has only
/// lines of the message; a word list has the words of its text.
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

    let body = message_body(&text);
    let mut lines = text.lines();
    for line in body.lines() {
        let own = |own: &str| own.trim_end_matches('\r') == line.trim_end_matches('\r');
        assert!(lines.any(own), "{line:?}");
    }

    let stop = english_stop_words();
    let kept: Vec<_> = words(&text).filter(|word| !stop.contains(word)).collect();
    assert!(WordFilter::default().words(&text).eq(kept));

    let folder = tempfile::tempdir().expect("room for a file");
    let path = folder.path().join("words.txt");
    fs::write(&path, data).expect("room for a file");
    match read_word_list(&path) {
        Ok(list) => assert_eq!(
            list,
            words(str::from_utf8(data).expect("it was read")).collect()
        ),
        Err(_) => assert!(
            words(str::from_utf8(data).unwrap_or_default())
                .next()
                .is_none()
        ),
    }
}
