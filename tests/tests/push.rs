//! All ways and orders to push sentences give the same levels.

use undertone_core::document::{Document, DocumentError};
use undertone_core::pack::Pack;
use undertone_core::rng::{PublicRng, below};
use undertone_core::sentences::sentences;
use undertone_tests::documents::{SentenceList, levels_of};
use undertone_tests::golden;

/// A document has at most this many sentences.
const FULL: usize = 128;

/// Numbers of sentences. An error may appear only after a hundred of them.
const LENGTHS: [usize; 9] = [0, 1, 2, 3, 8, 33, 101, FULL, FULL + 3];

/// The golden packs.
fn packs() -> impl Iterator<Item = Pack<'static>> {
    let packs = golden::ALL.into_iter();
    packs.map(|golden| Pack::parse(golden.pack).expect("a golden pack"))
}

/// The levels after `push`.
fn levels<'p>(pack: &Pack<'p>, push: impl FnOnce(&mut Document<'p>)) -> Vec<u8> {
    let mut document = Document::new(pack).expect("candidates");
    push(&mut document);
    levels_of(&document)
}

/// Only a full document may refuse a sentence.
fn pushed(result: Result<(), DocumentError>, document: &Document<'_>) {
    match result {
        Ok(()) => {}
        Err(DocumentError::Full { .. }) => assert_eq!(document.sentence_count(), FULL),
        Err(error) => panic!("a sentence that the pack accepts: {error}"),
    }
}

#[test]
fn embeddings_count_alike_however_they_are_pushed() {
    let mut rng = PublicRng::new(0x7e57_3a75);
    let mut coordinate = |_| below(&mut rng, 4096) as f32 / 1024.0 - 2.0;
    for pack in packs().filter(|pack| pack.features().is_none()) {
        for n in LENGTHS {
            let mut row = |_| (0..pack.dimension()).map(&mut coordinate).collect();
            let rows: SentenceList = (0..n).map(&mut row).collect();
            let together = |document: &mut Document<'_>, rows: &[f32]| {
                document.push_all(rows).expect("whole sentences");
            };
            let each = |document: &mut Document<'_>| {
                for row in &rows {
                    pushed(document.push(row), document);
                }
            };
            let all = rows.concat();
            let expected = levels(&pack, |document| together(document, &all));
            assert_eq!(levels(&pack, each), expected, "{n}, one by one");
            let by_three = levels(&pack, |document| {
                for rows in all.chunks(3 * pack.dimension()) {
                    together(document, rows);
                }
            });
            assert_eq!(by_three, expected, "{n}, three at a time");
            let encoded = levels(&pack, |document| {
                for row in &rows {
                    pushed(document.push_encoded(b"", row), document);
                }
            });
            assert_eq!(encoded, expected, "{n}, encoded");
            let again = levels(&pack, |document| {
                together(document, &all);
                document.clear();
                each(document);
            });
            assert_eq!(again, expected, "{n}, after a clear");
            if n <= FULL {
                let backwards: Vec<f32> = rows.iter().rev().flatten().copied().collect();
                let backwards = levels(&pack, |document| together(document, &backwards));
                assert_eq!(backwards, expected, "{n}, backwards");
            }
        }
    }
}

#[test]
fn texts_count_alike_however_they_are_pushed() {
    let mut rng = PublicRng::new(0x7e57_3a76);
    let mut whole_texts = 0;
    for pack in packs() {
        let lexicon = pack.lexicon().expect("a lexicon");
        let phrases = (0..lexicon.phrase_count()).filter_map(|index| lexicon.phrase(index));
        let words = phrases.flatten().chain(0..lexicon.word_count());
        let words: Vec<&str> = words.filter_map(|index| lexicon.word(index)).collect();
        for n in LENGTHS {
            // Every other sentence is the word after the one before: two sentences make a phrase.
            let mut place = 0;
            let mut choose = |_| {
                place = match below(&mut rng, 2) {
                    0 => (place + 1) % words.len(),
                    _ => below(&mut rng, words.len() as u128) as usize,
                };
                words[place]
            };
            let texts: Vec<&str> = (0..n).map(&mut choose).collect();
            let each = |document: &mut Document<'_>| {
                for text in &texts {
                    pushed(document.push_sentence(text), document);
                }
            };
            let expected = levels(&pack, each);
            let again = levels(&pack, |document| {
                each(document);
                document.clear();
                each(document);
            });
            assert_eq!(again, expected, "{n}, after a clear");
            if n <= FULL {
                let backwards = levels(&pack, |document| {
                    for text in texts.iter().rev() {
                        pushed(document.push_sentence(text), document);
                    }
                });
                assert_eq!(backwards, expected, "{n}, backwards");
            }
            let whole = texts.join("\n");
            if sentences(whole.as_bytes()).eq(texts.iter().map(|text| text.as_bytes())) {
                let whole = levels(&pack, |document| {
                    document.push_text(whole.as_bytes()).expect("a text");
                });
                assert_eq!(whole, expected, "{n}, as one text");
                whole_texts += 1;
            }
            if pack.features().is_none() {
                let vectors = levels(&pack, |document| {
                    for text in &texts {
                        let mut vector = vec![0.0; lexicon.dimension()];
                        let written = lexicon.sentence_vector(text, &mut vector);
                        written.expect("the lexicon's dimension");
                        pushed(document.push(&vector), document);
                    }
                });
                assert_eq!(vectors, expected, "{n}, by their vectors");
            }
        }
    }
    assert!(whole_texts > 20, "{whole_texts}");
}
