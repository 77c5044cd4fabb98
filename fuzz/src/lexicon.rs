//! Any text as a sentence, in a lexicon.

use std::sync::LazyLock;

use undertone_core::lexicon::words;
use undertone_core::pack::Pack;

use crate::assemble::{Entry, lexicon_section, matched_lexicon_section, pack, phrases_section};

/// Splits the input into words and averages it over a small lexicon.
///
/// Checked: the limits on words, and the sentence vector against its formula; with pieces, that it
/// is a mean.
pub fn lexicon_words_are_total(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for word in words(&text) {
        assert!((1..=48).contains(&word.len()), "{word:?}");
        assert!(!word.contains('’'), "{word:?}");
        assert!(!word.starts_with('\'') && !word.ends_with('\''), "{word:?}");
    }

    let pack = Pack::parse(&PACK).expect("a well-formed pack");
    let lexicon = pack.lexicon().expect("a lexicon");
    let mut vector = [f32::NAN; 2];
    lexicon
        .sentence_vector(text.as_bytes(), &mut vector)
        .expect("the right length");

    // Bytes that are not UTF-8 separate words, as the character that replaces them does.
    let mut lossy = [f32::NAN; 2];
    lexicon
        .sentence_vector(data, &mut lossy)
        .expect("the right length");
    assert_eq!(lossy, vector, "{data:?}");

    let of_pieces = Pack::parse(&PIECES).expect("a well-formed pack");
    let of_pieces = of_pieces.lexicon().expect("a lexicon");
    let mut pieces = [f32::NAN; 2];
    for bytes in [text.as_bytes(), data] {
        let before = pieces;
        of_pieces
            .sentence_vector(bytes, &mut pieces)
            .expect("the right length");
        assert!(before[0].is_nan() || before == pieces, "{data:?}");
    }
    // All entries lie on a line, so every mean does, up to the rounding.
    assert!(
        (pieces[0] + pieces[1]).abs() <= 1.0 && pieces[0].abs() <= 127.0 * 32.0,
        "{text:?}"
    );

    let entries = entries();
    let indices: Vec<Option<usize>> = words(&text)
        .map(|word| {
            entries
                .iter()
                .position(|(known, ..)| *known == word.as_str())
        })
        .collect();
    let known: Vec<&Entry> = indices.iter().flatten().map(|i| &entries[*i]).collect();
    let phrases = phrases();
    let said: Vec<&(u16, Vec<i8>)> = indices
        .windows(2)
        .filter_map(|pair| {
            let pair = [pair[0]? as u16, pair[1]? as u16];
            let phrase = phrases.iter().find(|(words, _)| *words == pair);
            phrase.map(|(_, entry)| entry)
        })
        .collect();
    let total: i128 = known.iter().map(|(_, weight, _)| i128::from(*weight)).sum();
    for (axis, coordinate) in vector.iter().enumerate() {
        let sum: i128 = known
            .iter()
            .map(|(_, weight, vector)| (weight, vector))
            .chain(said.iter().map(|(weight, vector)| (weight, vector)))
            .map(|(weight, vector)| i128::from(*weight) * i128::from(vector[axis]))
            .sum();
        // ⌊256·sum/total + 1/2⌋
        let mean = if total == 0 {
            0
        } else {
            (512 * sum + total)
                .div_euclid(2 * total)
                .clamp(-32_767, 32_767)
        };
        assert_eq!(f64::from(*coordinate), mean as f64 / 8.0, "{text:?}");
    }
}

/// In ascending order. A rare word, a word without weight, words that only some spellings reach.
fn entries() -> Vec<Entry> {
    [
        ("'", 9, [1, 1]),
        ("a", 1, [127, -127]),
        ("b", 2, [-127, 126]),
        ("don't", 65_535, [3, -4]),
        ("nought", 0, [127, 127]),
        ("the", 40, [0, 5]),
        ("zoë", 65_534, [-1, 100]),
        ("東京", 3, [-7, 0]),
    ]
    .map(|(word, weight, vector)| (word.into(), weight, vector.to_vec()))
    .into()
}

/// Two words by their entries' indices, their weight and vector.
type Phrase = ([u16; 2], (u16, Vec<i8>));

fn phrases() -> Vec<Phrase> {
    [
        ([1, 1], (1, [3, 4])),
        ([1, 2], (65_535, [127, -128])),
        ([4, 1], (9, [-5, 6])),
        ([5, 6], (300, [77, -1])),
        ([7, 6], (0, [127, 127])),
    ]
    .map(|(words, (weight, vector))| (words, (weight, vector.to_vec())))
    .into()
}

static PACK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let phrases: Vec<_> = phrases()
        .into_iter()
        .map(|(words, (weight, vector))| (words, weight, vector))
        .collect();
    let sections = [
        (*b"LEXI", lexicon_section(-3, &entries())),
        (*b"PHRS", phrases_section(&phrases)),
    ];
    pack(2, "fuzz", &sections)
});

/// Pieces, some of which start others, with prefixes that are not pieces.
static PIECES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let words = [
        "#", "##", "##b", "##ë", "##東", "a", "ab", "abé", "don", "i", "่", "東", "東京",
    ];
    let entries: Vec<Entry> = (1..)
        .zip(words)
        .map(|(i, word)| (word.into(), 5000 * i as u16, vec![9 * i - 60, 60 - 9 * i]))
        .collect();
    let section = matched_lexicon_section(-3, 1, &entries);
    pack(2, "fuzz", &[(*b"LEXI", section)])
});
