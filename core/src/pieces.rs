//! Finding a lexicon's entries by greedy longest match.
//!
//! Texts without spaces between words, compounds and inflected forms have no whole words that a lexicon could
//! list. Here its entries are pieces, as the vocabularies of tokenizers have them: within a run of letters, digits
//! and combining marks the longest entry counts at each place. No entry is longer than 48 bytes, so a place looks
//! at a bounded window.

use heapless::String;
use zeroize::Zeroize;

use crate::script::{is_mark, is_unspaced};

/// The longest word in bytes of UTF-8; longer ones are not looked up.
pub const MAX_WORD_BYTES: usize = 48;

/// One lower-cased word.
pub type Word = String<MAX_WORD_BYTES>;

/// What an entry starts with that continues a word, if entries are found by
/// longest match.
pub const CONTINUATION: &str = "##";

/// The entry that stands for a piece of text in a lexicon whose entries are found by
/// longest match: lower-cased, and with [`CONTINUATION`] before it if it continues a word,
/// unless it starts with a letter of a script without spaces between words. `None` if no text has such a piece: it is
/// empty, too long, or has other characters than letters, digits and marks.
///
/// For those who make lexicons.
///
/// # Leaks
/// Time depends on the piece, which is public.
///
/// # Shapes
/// `text`: any.
///
/// # Cost
/// Linear in the text; no heap.
///
/// # Examples
/// ```
/// use undertone_core::lexicon::piece;
/// assert_eq!(piece("Haus", false).as_deref(), Some("haus"));
/// assert_eq!(piece("tür", true).as_deref(), Some("##tür"));
/// assert_eq!(piece("東京", true).as_deref(), Some("東京"));
/// assert_eq!(piece("two words", false), None);
/// ```
pub fn piece(text: &str, continues: bool) -> Option<Word> {
    let first = text.chars().next()?;
    let mut entry = Word::new();
    if continues && !is_unspaced(first) {
        entry.push_str(CONTINUATION).ok()?;
    }
    for c in text.chars() {
        if !in_run(c) {
            return None;
        }
        for lower in c.to_lowercase() {
            entry.push(lower).ok()?;
        }
    }
    Some(entry)
}

/// Goes through the places of a text.
#[derive(Clone, Debug)]
pub(crate) struct Places<'t> {
    rest: &'t str,
    /// Whether `rest` continues a word: it continues a run, and the last letter or digit of that is of no script
    /// without spaces between words.
    continues: bool,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            rest: text,
            continues: false,
        }
    }

    /// What `longest` finds at the next place, if there is one. It gets the text there as entries have it, and gives
    /// something with the bytes of the entry that it found.
    pub(crate) fn next<T>(
        &mut self,
        longest: impl FnOnce(&str) -> Option<(T, usize)>,
    ) -> Option<Option<T>> {
        let start = self.rest.find(in_run)?;
        if start > 0 {
            self.continues = false;
            self.rest = self.rest.get(start..)?;
        }
        let (mut window, prefix) = self.window(self.rest.chars().next()?);
        // An entry that is nothing but the prefix, or a part of it, says nothing.
        let found = longest(&window).filter(|(_, bytes)| *bytes > prefix);
        window.zeroize();
        let covered = found.as_ref().map_or(0, |(_, bytes)| bytes - prefix);
        self.advance(covered);
        Some(found.map(|(found, _)| found))
    }

    /// The text at the start of `rest` as entries have it: lower-cased, as far as an entry can reach, and after the
    /// prefix if it continues a word. Also gives the bytes of that prefix.
    fn window(&self, first: char) -> (Word, usize) {
        let mut window = Word::new();
        if self.continues && !is_unspaced(first) {
            // Has room.
            let _ = window.push_str(CONTINUATION);
        }
        let prefix = window.len();
        let run = self.rest.chars().take_while(|c| in_run(*c));
        for c in run.flat_map(char::to_lowercase) {
            if window.push(c).is_err() {
                break;
            }
        }
        (window, prefix)
    }

    /// Goes on after the characters that make at least `bytes` when lower-cased; at least one.
    fn advance(&mut self, bytes: usize) {
        let mut taken = 0;
        let mut chars = self.rest.chars();
        for c in chars.by_ref() {
            taken += c.to_lowercase().map(char::len_utf8).sum::<usize>();
            // A mark belongs to the script of its letter.
            if !is_mark(c) {
                self.continues = !is_unspaced(c);
            }
            if taken >= bytes {
                break;
            }
        }
        self.rest = chars.as_str();
    }
}

/// Whether entries can have this character.
fn in_run(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::Lexicon;
    use crate::pack::format::{LEXICON_LONGEST, LexiconHead};
    use std::string::String;
    use std::vec::Vec;
    use zerocopy::IntoBytes;

    /// A lexicon section of these entries, in any order, with vectors of one coordinate.
    fn section(entries: &[&str]) -> Vec<u8> {
        let mut sorted: Vec<&str> = entries.to_vec();
        sorted.sort_unstable();
        let text = sorted.concat();
        let mut section = LexiconHead {
            word_count: (sorted.len() as u32).into(),
            text_bytes: (text.len() as u32).into(),
            exponent: 0.into(),
            matching: LEXICON_LONGEST.into(),
        }
        .as_bytes()
        .to_vec();
        let mut array = |bytes: Vec<u8>| {
            section.resize(section.len().next_multiple_of(64), 0);
            section.extend(bytes);
        };
        let mut end = 0;
        array(
            sorted
                .iter()
                .flat_map(|word| {
                    end += word.len() as u32;
                    end.to_le_bytes()
                })
                .collect(),
        );
        array(sorted.iter().flat_map(|_| [1, 0]).collect());
        array(sorted.iter().map(|_| 1).collect());
        array(text.into_bytes());
        section
    }

    /// What is found at each place, `-` for nothing.
    fn found(entries: &[&str], text: &str) -> String {
        let section = section(entries);
        let lexicon = Lexicon::parse(&section, 1).unwrap();
        let word = |found: Option<usize>| found.and_then(|index| lexicon.word(index));
        let words = lexicon.longest_matches(text);
        let words = words.map(|found| word(found).unwrap_or("-"));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_longest_entry_counts() {
        let entries = ["hau", "haus", "##tür", "##tü", "##r", "t", "tür"];
        assert_eq!(found(&entries, "Haustür"), "haus ##tür");
        assert_eq!(found(&entries, "haustü, TÜR T"), "haus ##tü tür t");
        assert_eq!(found(&entries, "hausxtür"), "haus - ##tür");
        assert_eq!(found(&entries, "xtr"), "- - ##r");
        assert_eq!(found(&entries, "ha"), "- -");
        assert_eq!(found(&entries, " ,. "), "");
        // An apostrophe parts runs.
        assert_eq!(found(&["l", "homme"], "L’homme l'homme"), "l homme l homme");
    }

    #[test]
    fn shorter_entries_are_found_past_those_that_come_between() {
        let entries = ["a", "ab", "abcx", "abd", "abé", "abb", "abcdefgz"];
        assert_eq!(found(&entries, "abcdefgh").split(' ').next(), Some("ab"));
        assert_eq!(found(&entries, "abè"), "ab -");
        assert_eq!(found(&entries, "aé"), "a -");
    }

    #[test]
    fn any_place_of_an_unspaced_script_starts_a_word() {
        let entries = ["東京", "東", "都", "3月", "abc", "##c", "に"];
        assert_eq!(found(&entries, "東京都に東3月"), "東京 都 に 東 3月");
        // Before and after it, too.
        assert_eq!(found(&entries, "東abc都"), "東 abc 都");
        assert_eq!(found(&entries, "ab東c"), "- - 東 -");
        // A mark is of the script of its letter.
        assert_eq!(found(&["กา", "3"], "กิ3กา"), "- - 3 กา");
        assert_eq!(found(&["हिन्दी", "##3"], "हिन्दी हिन्दी3"), "हिन्दी हिन्दी ##3");
    }

    #[test]
    fn odd_entries_match_nothing() {
        assert_eq!(found(&["#", "##", "###"], "ab #a"), "- - -");
        assert_eq!(found(&["b c", "b"], "b c"), "b -");
        let long = "x".repeat(MAX_WORD_BYTES);
        assert_eq!(found(&[&long], &long), long);
        let longer = long.clone() + "x";
        assert_eq!(found(&[&longer], &longer).split(' ').count(), longer.len());
        // İ becomes two characters; an entry may end between them.
        assert_eq!(found(&["i", "##z"], "İz"), "i ##z");
        let many = "İ".repeat(MAX_WORD_BYTES);
        assert_eq!(
            found(&["i\u{307}"], &many).split(' ').count(),
            MAX_WORD_BYTES
        );
    }

    /// The rules of `FORMAT.md`, taken literally.
    fn naive(entries: &[&str], text: &[char]) -> String {
        let mut out = Vec::new();
        let mut at = 0;
        while at < text.len() {
            if !in_run(text[at]) {
                at += 1;
                continue;
            }
            let start = text[..at]
                .iter()
                .rposition(|c| !in_run(*c))
                .map_or(0, |i| i + 1);
            let end = text[at..]
                .iter()
                .position(|c| !in_run(*c))
                .map_or(text.len(), |i| at + i);
            let last = text[start..at].iter().rfind(|c| !is_mark(**c));
            let starts = is_unspaced(text[at]) || last.is_none_or(|c| is_unspaced(*c));
            let rest: String = text[at..end].iter().collect();
            let standing = |entry: &&&str| match starts {
                true => rest.starts_with(**entry),
                false => entry
                    .strip_prefix("##")
                    .is_some_and(|own| !own.is_empty() && rest.starts_with(own)),
            };
            let longest = entries
                .iter()
                .filter(standing)
                .max_by_key(|entry| entry.len());
            let bytes = longest.map_or(
                1,
                |entry| if starts { entry.len() } else { entry.len() - 2 },
            );
            let mut covered = 0;
            while covered < bytes {
                covered += text[at].len_utf8();
                at += 1;
            }
            out.push(*longest.unwrap_or(&"-"));
        }
        out.join(" ")
    }

    #[test]
    fn pieces_are_those_of_the_rules() {
        let entries = [
            "a",
            "ab",
            "abab",
            "##a",
            "##ab",
            "##b",
            "#",
            "##",
            "b東",
            "東",
            "東b",
            "東京",
            "##京",
            "á",
            "##\u{301}",
        ];
        let letters = ['a', 'b', '東', '京', '\u{301}', ' ', '#'];
        // A linear congruential generator.
        let mut state = 1u32;
        for length in (0..12).cycle().take(3000) {
            let mut draw = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                letters[(state >> 16) as usize % letters.len()]
            };
            let text: Vec<char> = (0..length).map(|_| draw()).collect();
            let joined: String = text.iter().collect();
            assert_eq!(found(&entries, &joined), naive(&entries, &text), "{joined}");
        }
    }
}
