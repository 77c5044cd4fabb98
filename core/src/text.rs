//! The words of a text: one definition for features, lexicons and bags of words.
//!
//! A word is a longest run of letters, digits and the marks that combine with them, with single
//! apostrophes and joiners between, all in lower case. `FORMAT.md` has the rules. Equal texts have
//! equal words, however their accents are encoded: characters are composed (Unicode's NFC), a Greek
//! sigma has one form inside words and one at their end, and invisible characters are left out.
//!
//! Without the cargo feature `any-language`, marks and invisible characters separate words, and
//! nothing is composed.

use core::str::Chars;

use heapless::{Deque, String, Vec};
use zeroize::Zeroize;

use crate::checked::part;
use crate::kernels::VECTORS;
use crate::script::{
    combining_class, composed, decomposed, is_ignorable, is_mark, is_trailing_jamo, is_unspaced,
    never_composed, symbol_of,
};

/// Whether this build has sparse heads, lexicons of pieces and the tables of scripts.
pub(crate) const ANY_LANGUAGE: bool = cfg!(feature = "any-language");

/// The reason to refuse a pack that needs [`ANY_LANGUAGE`].
pub(crate) const NEEDS_ANY_LANGUAGE: &str =
    "needs undertone built with its cargo feature \"any-language\"";

/// The longest word in bytes of UTF-8; longer ones are not looked up.
pub const MAX_WORD_BYTES: usize = 48;

/// One lower-cased word.
pub type Word = String<MAX_WORD_BYTES>;

/// The prefix of entries that continue a word, if entries are found by longest match.
pub const CONTINUATION: &str = "##";

/// The most characters that are composed together: a letter and the marks after it.
const CLUSTER: usize = 24;

/// The combining class of marks above a letter.
const ABOVE: u8 = 230;

/// The most characters of a decomposed cluster.
const DECOMPOSED: usize = 40;

/// The words of a text, in lower case and composed, `’` as `'`.
///
/// Words above [`MAX_WORD_BYTES`] are skipped.
///
/// # Shapes
/// `text`: any.
///
/// # Examples
/// ```
/// let words: Vec<_> = undertone_core::lexicon::words("Don’t panic, 'Zoë'!").collect();
/// assert_eq!(words, ["don't", "panic", "zoë"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    Words::of_valid(text)
}

/// The word that `text` consists of; `None` if it is not exactly one word. For makers of lexicons.
///
/// # Shapes
/// `text`: any.
///
/// # Examples
/// ```
/// use undertone_core::lexicon::word;
/// assert_eq!(word("Don’t").as_deref(), Some("don't"));
/// assert_eq!(word("e-mail"), None);
/// assert_eq!(word("'tis"), None);
/// ```
pub fn word(text: &str) -> Option<Word> {
    let mut words = words(text);
    let (only, None) = (words.next()?, words.next()) else {
        return None;
    };
    let inside = |c: char| is_apostrophe(c) || in_run(c);
    let ends = text.starts_with(is_apostrophe) || text.ends_with(is_apostrophe);
    (!ends && text.starts_with(starts_word) && text.chars().all(inside)).then_some(only)
}

/// The entry for a piece of a word, in a lexicon whose entries are found by longest match. For
/// makers of lexicons.
///
/// The entry is in lower case and composed. If the piece continues a word, [`CONTINUATION`]
/// precedes it, unless it starts with a letter of a script without spaces between words. `None` if
/// no text has such a piece: it is empty, above [`MAX_WORD_BYTES`], or has a character that is not a
/// letter, digit or mark.
///
/// # Shapes
/// `text`: any.
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
    if !text.chars().all(in_run) {
        return None;
    }
    let mut words = Words::of_valid(text);
    let first = words.part.find(|c| !is_ignorable(*c))?;
    let mut entry = Word::new();
    if continues && !is_unspaced(first) {
        entry.push_str(CONTINUATION).ok()?;
    }
    let mut fits = true;
    words.word(first, |c| fits &= entry.push(c).is_ok());
    // A piece may end inside a word, so it keeps its form of sigma.
    for (form, other) in [('σ', 'ς'), ('ς', 'σ')] {
        if text.ends_with(form) && entry.ends_with(other) {
            entry.pop();
            fits &= entry.push(form).is_ok();
        }
    }
    fits.then_some(entry)
}

/// Whether `c` can stand in a piece of a word.
fn in_run(c: char) -> bool {
    is_alphanumeric(c) || is_mark(c) || is_ignorable(c)
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || !c.is_ascii() && is_alphanumeric(c) && !(ANY_LANGUAGE && is_mark(c))
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// [`char::is_alphanumeric`]. Copies of it in all callers would outgrow a microcontroller.
#[inline(never)]
fn is_alphanumeric(c: char) -> bool {
    c.is_alphanumeric()
}

/// [`char::is_whitespace`], as one function for the same reason.
#[inline(never)]
pub(crate) fn is_whitespace(c: char) -> bool {
    c.is_whitespace()
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Gives the symbols of a text to `take`, and `None` for each character that separates symbols. A
/// symbol is a character that is not of a word: punctuation or an emoji.
pub(crate) fn each_symbol(text: &[u8], mut take: impl FnMut(Option<char>)) {
    for chunk in text.utf8_chunks() {
        // Equal texts in other normal forms have equal symbols, because marks are left out.
        let characters = chunk.valid().chars();
        for c in characters.filter(|c| !is_mark(*c) && !is_ignorable(*c)) {
            take(is_symbol(c).then(|| symbol_of(c)));
        }
        take(None);
    }
}

fn is_symbol(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation() && c != '\'';
    }
    !is_alphanumeric(c)
        && !is_whitespace(c)
        && !c.is_control()
        && !matches!(c, '’' | '\u{200b}' | char::REPLACEMENT_CHARACTER)
}

/// The lower case of a character. Only İ becomes two characters, an i and a dot; the dot is left
/// out.
fn lower(c: char) -> char {
    if c.is_ascii() {
        // Most letters need no table.
        return c.to_ascii_lowercase();
    }
    match c.to_lowercase().next() {
        Some('ς') if ANY_LANGUAGE => 'σ',
        Some(lower) => lower,
        None => c,
    }
}

/// Reads the words of a text, one after another. Bytes that are not UTF-8 separate words.
pub(crate) struct Words<'t> {
    /// The unread rest of a part that is valid UTF-8. A word ends at its end.
    part: Chars<'t>,
    /// The bytes after that part.
    rest: &'t [u8],
    /// The last letter or digit and the marks after it, which are composed together.
    cluster: Vec<char, CLUSTER>,
    /// Whether a character of the word precedes the cluster.
    begun: bool,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Self {
            rest: text,
            ..Self::of_valid("")
        }
    }

    fn of_valid(text: &'t str) -> Self {
        Self {
            part: text.chars(),
            rest: &[],
            cluster: Vec::new(),
            begun: false,
        }
    }

    /// Gives the characters of the next word to `take`. Returns false if there is no word left.
    pub(crate) fn read(&mut self, take: impl FnMut(char)) -> bool {
        loop {
            match self.part.next() {
                Some(c) if starts_word(c) => {
                    self.word(c, take);
                    return true;
                }
                Some(_) => {}
                None if self.next_part() => {}
                None => {
                    self.cluster.zeroize();
                    return false;
                }
            }
        }
    }

    /// Writes the next word that is not too long to `word`. Returns false if there is none.
    pub(crate) fn read_word(&mut self, word: &mut Word) -> bool {
        loop {
            word.clear();
            let mut fits = true;
            let found = self.read(|c| fits &= word.push(c).is_ok());
            if fits || !found {
                return found;
            }
        }
    }

    /// Continues with the next part that is valid UTF-8. Returns false at the end of the text.
    fn next_part(&mut self) -> bool {
        // Most texts are valid throughout. With vectors this is found faster as a whole.
        let whole = core::str::from_utf8(self.rest).ok().filter(|_| VECTORS);
        let (valid, length) = match whole {
            Some(whole) => (whole, whole.len()),
            None => self.rest.utf8_chunks().next().map_or(("", 0), |chunk| {
                (chunk.valid(), chunk.valid().len() + chunk.invalid().len())
            }),
        };
        self.part = valid.chars();
        self.rest = part(self.rest, length..);
        length > 0
    }

    /// Gives the characters of a word to `take`. Its first character has been read.
    #[inline]
    fn word(&mut self, first: char, mut take: impl FnMut(char)) {
        self.begun = false;
        self.start(lower(first), &mut take);
        // An apostrophe or a joiner, which belongs to the word if a letter follows.
        let mut link = None;
        while let Some(c) = self.part.next() {
            if c.is_ascii_alphanumeric() {
                self.letter(&mut link, c.to_ascii_lowercase(), &mut take);
            } else if ANY_LANGUAGE && is_joiner(c) {
                link = link.or(Some(c));
            } else if ANY_LANGUAGE && is_ignorable(c) {
            } else if ANY_LANGUAGE && (is_mark(c) || is_trailing_jamo(c)) {
                if link.is_some() || self.cluster.push(c).is_err() {
                    self.letter(&mut link, c, &mut take);
                }
            } else if is_apostrophe(c) && link != Some('\'') {
                link = Some('\'');
            } else if !c.is_ascii() && is_alphanumeric(c) {
                self.letter(&mut link, lower(c), &mut take);
            } else {
                break;
            }
        }
        if !ANY_LANGUAGE {
            return;
        }
        if let Some(sigma @ 'σ') = self.cluster.first_mut()
            && self.begun
        {
            *sigma = 'ς';
        }
        let mut last = '\0';
        self.flush(&mut |c| {
            last = c;
            take(c);
        });
        // After a mark, such as a virama, a joiner at the end of a word changes the letter.
        if let Some(link) = link.filter(|link| is_joiner(*link) && is_mark(last)) {
            take(link);
        }
    }

    /// Flushes the cluster, writes the link after it, and starts the next cluster.
    #[inline]
    fn letter(&mut self, link: &mut Option<char>, c: char, take: &mut impl FnMut(char)) {
        if ANY_LANGUAGE {
            self.flush(take);
            self.begun = true;
        }
        if let Some(link) = link.take() {
            take(link);
        }
        self.start(c, take);
    }

    #[inline]
    fn start(&mut self, c: char, take: &mut impl FnMut(char)) {
        if !ANY_LANGUAGE {
            return take(c);
        }
        self.cluster.clear();
        // It has room.
        let _ = self.cluster.push(c);
    }

    /// Gives the composed characters of the cluster to `take`.
    #[inline]
    fn flush(&mut self, take: &mut impl FnMut(char)) {
        match self.cluster.as_slice() {
            [letter] if *letter < '\u{340}' => return take(*letter),
            [_, marks @ ..] => {
                let composes = |c: &char| combining_class(*c) != 0 || is_trailing_jamo(*c);
                if marks.iter().any(composes)
                    || self.cluster.iter().any(|c| never_composed(*c).is_some())
                {
                    compose(&mut self.cluster);
                }
            }
            [] => {}
        }
        self.cluster.iter().for_each(|c| take(*c));
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let mut word = Word::new();
        self.read_word(&mut word).then_some(word)
    }
}

/// Composes a cluster (NFC). A cluster that is too long when decomposed does not change.
#[inline(never)]
fn compose(cluster: &mut Vec<char, CLUSTER>) {
    let mut ordered = Vec::<(char, u8), DECOMPOSED>::new();
    let mut fits = true;
    for c in cluster.iter() {
        fits &= insert(&mut ordered, *c);
    }
    let mut recomposed = Vec::<char, CLUSTER>::new();
    // The place of the last starter, and the class of the last character after it.
    let (mut starter, mut last) = (None, 0);
    // Whether the starter is an i without a mark above it. A dot on it is left out, as in İ.
    let mut dotted = false;
    for (c, class) in &ordered {
        if dotted && *c == '\u{307}' {
            continue;
        }
        dotted = if *class == 0 {
            *c == 'i'
        } else {
            dotted && *class < ABOVE
        };
        let place = starter.and_then(|place: usize| recomposed.get_mut(place));
        if let Some(place) = place.filter(|_| last == 0 || last < *class)
            && let Some(both) = composed(*place, *c)
        {
            *place = both;
            continue;
        }
        if *class == 0 {
            starter = Some(recomposed.len());
        }
        last = *class;
        fits &= recomposed.push(*c).is_ok();
    }
    if fits {
        *cluster = recomposed.clone();
    }
    ordered.zeroize();
    recomposed.zeroize();
}

/// Inserts the characters of a canonical decomposition, each before those of higher combining
/// classes. Returns whether there was room.
fn insert(ordered: &mut Vec<(char, u8), DECOMPOSED>, c: char) -> bool {
    if let Some((first, second)) = decomposed(c) {
        return insert(ordered, first) & second.is_none_or(|second| insert(ordered, second));
    }
    // Class 255 stands for a starter (class 0) that composes with the character before it.
    let class = match combining_class(c) {
        u8::MAX => 0,
        class => class,
    };
    let mut place = ordered.len();
    let fits = ordered.push((c, class)).is_ok();
    while class != 0
        && let Some(before) = place.checked_sub(1)
        && let Some([before, new]) = ordered.get_mut(before..=place)
        && before.1 > class
    {
        core::mem::swap(before, new);
        place -= 1;
    }
    fits
}

/// Cuts the words of `text` into places, by the rules of longest match. At each place, `longest`
/// gets the rest of the run in the form of an entry, and returns the entry that it starts with and
/// the length of that entry in bytes. `visit` gets the entry.
pub(crate) fn each_place<T>(
    text: &[u8],
    longest: impl FnMut(&str) -> Option<(T, usize)>,
    visit: impl FnMut(Option<T>),
) {
    let mut places = Places {
        run: Deque::new(),
        continues: false,
        longest,
        visit,
    };
    let mut words = Words::new(text);
    while words.read(|c| places.push(c)) {
        places.end_run();
    }
    places.run.zeroize();
}

/// The places of words.
struct Places<L, V> {
    /// The characters from the next place on, up to the length of an entry.
    run: Deque<char, MAX_WORD_BYTES>,
    /// Whether these characters continue a word: the run has a letter or digit before them, and the
    /// last one is not of a script without spaces between words.
    continues: bool,
    longest: L,
    visit: V,
}

impl<T, L: FnMut(&str) -> Option<(T, usize)>, V: FnMut(Option<T>)> Places<L, V> {
    fn push(&mut self, c: char) {
        if c == '\'' {
            return self.end_run();
        }
        if self.run.is_full() {
            self.place();
        }
        // It has room.
        let _ = self.run.push_back(c);
    }

    fn end_run(&mut self) {
        while !self.run.is_empty() {
            self.place();
        }
        self.continues = false;
    }

    /// Looks for an entry at the next place and goes on after it, or after one character.
    fn place(&mut self) {
        let mut window = Word::new();
        if self.continues && self.run.front().is_some_and(|first| !is_unspaced(*first)) {
            // It has room.
            let _ = window.push_str(CONTINUATION);
        }
        let prefix = window.len();
        let _ = self.run.iter().try_for_each(|c| window.push(*c));
        // An entry that is only `##` or `#` would cover no character of the text, so it does not
        // count.
        let found = (self.longest)(&window).filter(|(_, bytes)| *bytes > prefix);
        window.zeroize();
        let mut covered = found.as_ref().map_or(0, |(_, bytes)| bytes - prefix);
        (self.visit)(found.map(|(found, _)| found));
        while let Some(c) = self.run.pop_front() {
            // A mark belongs to the script of its letter.
            if !is_mark(c) {
                self.continues = !is_unspaced(c);
            }
            covered = covered.saturating_sub(c.len_utf8());
            if covered == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::{Lexicon, Matching};
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn invalid_utf8_separates_words() {
        for text in [
            &b"one\xfftwo"[..],
            b"'one\x80'two",
            b"\xe2\x80\x99one\xe2\x80two\xe2",
            b"\xff\xfe",
            b"whole",
            b"",
        ] {
            let replaced = String::from_utf8_lossy(text);
            assert!(Words::new(text).eq(words(&replaced)), "{replaced}");
        }
    }

    #[test]
    fn long_clusters_lose_nothing() {
        for marks in ["\u{301}", "\u{344}", "\u{323}\u{301}"].map(|mark| mark.repeat(60)) {
            let mut found = 0;
            Words::of_valid(&std::format!("a{marks}")).read(|_| found += 1);
            assert!(found >= 60, "{found}");
        }
    }

    /// The entries found at each place, `-` for none.
    fn found(entries: &[&str], text: &str) -> String {
        let mut entries = entries.to_vec();
        entries.sort_unstable();
        let lexicon = Lexicon::from_words(&entries, Matching::Longest);
        let mut found = Vec::new();
        lexicon.each_longest_match(text.as_bytes(), |index| {
            found.push(index.map_or("-", |index| entries[index]));
        });
        found.join(" ")
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
        // An apostrophe separates runs.
        assert_eq!(found(&["l", "homme"], "L’homme l'homme"), "l homme l homme");
    }

    #[test]
    fn any_place_of_an_unspaced_script_starts_a_word() {
        let entries = ["東京", "東", "都", "3月", "abc", "##c", "に"];
        assert_eq!(found(&entries, "東京都に東3月"), "東京 都 に 東 3月");
        // Before and after it.
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
        // İ becomes an i, and accents are composed.
        assert_eq!(found(&["i", "##z"], "İz"), "i ##z");
        assert_eq!(found(&["e", "é"], "e\u{301} e"), "é e");
        // A mark starts no run.
        assert_eq!(found(&["\u{301}", "a"], "\u{301}a"), "a");
    }

    /// The rules of `FORMAT.md`, taken literally.
    fn naive(entries: &[&str], mut text: Vec<char>) -> String {
        // A mark after a character that is in no run starts none.
        for at in 0..text.len() {
            if is_mark(text[at]) && (at == 0 || !in_run(text[at - 1])) {
                text[at] = ' ';
            }
        }
        let mut out = Vec::new();
        for run in text.split(|c| !in_run(*c)) {
            let mut at = 0;
            while at < run.len() {
                let last = run[..at].iter().rfind(|c| !is_mark(**c));
                let starts = is_unspaced(run[at]) || last.is_none_or(|c| is_unspaced(*c));
                let rest: String = run[at..].iter().collect();
                let prefix = if starts { "" } else { "##" };
                let stands = |entry: &&&str| {
                    let text = entry.strip_prefix(prefix).filter(|text| !text.is_empty());
                    text.is_some_and(|text| rest.starts_with(text))
                };
                let longest = entries
                    .iter()
                    .filter(stands)
                    .max_by_key(|entry| entry.len());
                let bytes = longest.map_or(1, |entry| entry.len() - prefix.len());
                let mut covered = 0;
                while covered < bytes {
                    covered += run[at].len_utf8();
                    at += 1;
                }
                out.push(*longest.unwrap_or(&"-"));
            }
        }
        out.join(" ")
    }

    #[test]
    fn pieces_are_those_of_the_rules() {
        let entries = "a ab abab ##a ##ab ##b # ## b東 東 東b 東京 ##京 a\u{489} ##\u{489}";
        let entries: Vec<_> = entries.split(' ').collect();
        // This mark composes with none of the letters.
        let letters = ['a', 'b', '東', '京', '\u{489}', ' ', '#'];
        // A linear congruential generator.
        let mut state = 1u32;
        for length in (0..12).cycle().take(3000) {
            let mut draw = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                letters[(state >> 16) as usize % letters.len()]
            };
            let text: Vec<char> = (0..length).map(|_| draw()).collect();
            let joined: String = text.iter().collect();
            assert_eq!(found(&entries, &joined), naive(&entries, text), "{joined}");
        }
    }
}
