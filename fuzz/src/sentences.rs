//! Any bytes as a typed text.

use undertone_core::sentences::{next, next_finished, sentences};

/// Splits the input into sentences.
///
/// Checked: sentences are in order, trimmed, and lose no letter or digit; sentences that are
/// finished in a part of the input are the same in the whole.
pub fn sentences_are_total(data: &[u8]) {
    let speaks = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.contains(char::is_alphanumeric)
    };
    let mut start = 0;
    let mut ranges = Vec::new();
    while let Some(range) = next(data, start) {
        assert!(start <= range.start && range.start < range.end, "{range:?}");
        let sentence = &data[range.clone()];
        assert!(speaks(sentence), "{range:?}");
        assert!(!speaks(&data[start..range.start]), "{range:?}");
        let text = String::from_utf8_lossy(sentence);
        assert_eq!(text.trim(), text, "{range:?}");
        start = range.end;
        ranges.push(range);
    }
    assert!(!speaks(&data[start..]));
    assert!(ranges.iter().cloned().eq(sentences(data).map(|sentence| {
        let start = sentence.as_ptr().addr() - data.as_ptr().addr();
        start..start + sentence.len()
    })));

    // The first byte gives the length of the typed part.
    let typed = data
        .first()
        .map_or(0, |share| data.len() * usize::from(*share) / 255);
    let mut start = 0;
    for range in ranges {
        match next_finished(&data[..typed], start) {
            None => break,
            Some(finished) => assert_eq!(finished, range),
        }
        start = range.end;
    }
}
