//! The sentences of typed text.
//!
//! A [`Document`](crate::document) protects each *sentence*. This module defines sentences, by a
//! public rule that looks at nothing but the text. The rule is made for what people type: capitals
//! and stops may be missing, lines may be wrapped or not, emoji may replace a stop.
//!
//! # Guarantee
//! None of its own. Neighbouring inputs are compared as lists of sentences, after splitting. So a
//! changed character that merges or splits sentences counts as several changes, and so does one
//! that moves the place where a very long sentence is cut.
//!
//! # Rules
//! White space is trimmed, and pieces without a letter or digit are left out. A sentence ends
//! - at an empty line, and at the end of a line that was not wrapped: one of fewer than 40 or more
//!   than 100 columns, or one before a list item;
//! - after `!`, `?` and their like in other scripts, with the quotes, brackets, emoji and emoticons
//!   that follow, unless a lower-case letter follows a closing quote, a bracket or a dash;
//! - after `。`, `！`, `？`, `။` and other marks of scripts without spaces, whatever follows, except
//!   a comma, and the particle after a Japanese quotation;
//! - after a full stop and a space, unless the stop belongs to an abbreviation, an initial or the
//!   number of a list item; after an ellipsis, unless a lower-case letter follows;
//! - after an emoji or emoticon and the quotes and brackets that close directly after it, if a word
//!   follows that starts with neither a lower-case letter nor a digit; if a stop follows the emoji
//!   or emoticon, the rule for that stop decides;
//! - after `!`, `?` and their like directly before an opening mark, if such a word follows the
//!   mark;
//! - after [`MAX_SENTENCE_BYTES`] bytes, at the last space, or after the last `、`, `，`, `､` or `၊`,
//!   in the second half of them; if there is none, between two characters, never before a combining
//!   mark.
//!
//! Marks that end sentences are those of Unicode (Sentence_Terminal), except four commas that it
//! includes. Added are the shads of Tibetan, the kunddaliya of Sinhala, the ends of Thai verses,
//! the Greek question mark (and `;` after a Greek word), a colon after an Armenian word, a bar
//! after a letter of India, and two word spaces in Ethiopic. Ordinary Thai and Lao sentences have
//! no end mark: they end only where a line ends by the first rule, so a line of 40 to 100 columns
//! may run on into the next.
//!
//! No sentence ends before a comma, colon or semicolon in the same line, or before `!`, `?` and
//! their like after a space (`! !`).
//!
//! Combining marks and invisible characters (joiners, most of Unicode's Format, and
//! Default_Ignorable_Code_Point) change nothing before a stop or between it and the text after it,
//! and belong to the sentence before.
//!
//! Without the cargo feature `any-language` only `.`, `!`, `?` and `…` are stops, invisible
//! characters are not skipped, and a stop directly before an opening quote or bracket ends nothing.
//!
//! A full stop directly before a digit or a lower-case letter ends nothing, as in numbers,
//! addresses and file names. Directly before a capital it ends a sentence between two words in
//! lower case (`It works.Then he left`), unless the word looks like an address. Abbreviations are
//! English, except those of single letters (`т. е.`, `z. B.`, `А. Пушкин`). Ordinals with a full
//! stop (`3. Mai`) count as ends. Invalid UTF-8 counts as a character that is neither letter nor
//! space.
//!
//! # Leaks
//! Time depends on the text: this step runs on the device, before the document.
//!
//! # Cost
//! Linear in the text. No heap; a few hundred bytes of stack.
//!
//! # Source
//! Unicode Standard Annex #29, rules SB6 to SB11: sentence terminators with their closing
//! punctuation. The annex also splits after every abbreviation before a capital, never before a
//! lower-case letter, and at every line end, which is wrong for typed text.
//! `tests/RESULTS.md` compares the rules with those of another splitter.

use core::ops::Range;

use heapless::Vec;

use crate::checked::part;
use crate::kernels::VECTORS;
use crate::script::{self, ends_sentences};
use crate::text::{ANY_LANGUAGE, is_whitespace};

/// Sentences longer than this many bytes are cut, but not inside a row of stops or emoji.
pub const MAX_SENTENCE_BYTES: usize = 600;

/// A line of this many columns may have been wrapped: its end is a space.
const WRAPPED_COLUMNS: core::ops::RangeInclusive<usize> = 40..=100;

/// A line of more bytes has more than 100 columns.
const LONGEST_WRAPPED_BYTES: usize = 4 * *WRAPPED_COLUMNS.end();

/// The most characters before the `@` of an address.
const LONGEST_NAME: usize = 40;

/// The sentences of `text`, in order, each a trimmed part of it.
///
/// # Shapes
/// `text`: any bytes.
///
/// # Examples
/// ```
/// use undertone_core::sentences::sentences;
///
/// let text = "Dr. Smith paid 3.5 dollars. then he left 🙂 Why?".as_bytes();
/// let found: Vec<_> = sentences(text).map(String::from_utf8_lossy).collect();
/// assert_eq!(found, ["Dr. Smith paid 3.5 dollars.", "then he left 🙂", "Why?"]);
/// ```
pub fn sentences(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    core::iter::from_fn(move || {
        let range = next(text, start)?;
        start = range.end;
        text.get(range)
    })
}

/// The first sentence that starts at byte `start` or later, if nothing more is typed after the
/// text.
///
/// # Shapes
/// `text`: any bytes; `start`: 0 or the end of the sentence before.
pub fn next(text: &[u8], start: usize) -> Option<Range<usize>> {
    Scanner::new(text).sentence(start)
}

/// [`next`] for a text that is still being typed: `None` as long as further typing could change the
/// sentence.
///
/// # Shapes
/// As [`next`].
///
/// # Examples
/// ```
/// use undertone_core::sentences::next_finished;
///
/// assert_eq!(next_finished(b"It works. ", 0), None); // An emoji may follow.
/// assert_eq!(next_finished(b"It works. n", 0), Some(0..9));
/// ```
pub fn next_finished(text: &[u8], start: usize) -> Option<Range<usize>> {
    let mut scanner = Scanner::new(text);
    let range = scanner.sentence(start)?;
    (!scanner.saw_end).then_some(range)
}

/// Abbreviations whose full stop ends no sentence.
const TITLES: [&str; 33] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "gen", "col", "capt", "lt", "sgt", "cmdr", "gov",
    "sen", "rep", "hon", "messrs", "mme", "mlle", "vs", "cf", "viz", "approx", "incl", "esp",
    "e.g", "i.e", "eg", "ie", "dept", "univ", "a.k.a",
];

/// Abbreviations whose full stop ends no sentence before a number.
const COUNTED: [&str; 26] = [
    "no", "nos", "fig", "figs", "vol", "vols", "p", "pp", "ch", "sec", "art", "ca", "tel", "ext",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
];

/// Abbreviations whose full stop ends a sentence only before one of [`STARTERS`].
const SHORTENED: [&str; 24] = [
    "etc", "inc", "ltd", "co", "corp", "bros", "jr", "sr", "ave", "blvd", "rd", "mt", "ft", "al",
    "ed", "eds", "oz", "lb", "lbs", "hr", "hrs", "tbsp", "tsp", "govt",
];

/// Words that, capitalised, start a sentence rather than a name.
const STARTERS: [&str; 43] = [
    "a", "after", "all", "also", "an", "and", "as", "at", "because", "but", "do", "for", "he",
    "her", "his", "how", "i", "if", "in", "it", "its", "my", "no", "not", "now", "on", "our",
    "she", "so", "some", "that", "the", "then", "there", "these", "they", "this", "we", "what",
    "when", "why", "yes", "you",
];

/// The characters of the longest word in the lists above.
const LONGEST_LISTED: usize = 8;

/// The word before a stop.
#[derive(Default)]
struct Word {
    /// Its last characters, enough to tell abbreviations from other words.
    last: Vec<char, 16>,
    /// Whether an apostrophe or hyphen joins it to a letter or digit: the `t` of `don't`.
    joined: bool,
}

/// The bytes in which it is looked for.
const WORD_BYTES: usize = 32;

/// A part of the text between two places where sentences may end.
#[derive(Clone, Copy)]
struct Piece {
    /// The end of its last character that is not a space.
    end: usize,
    /// The place where the next piece starts.
    resume: usize,
    /// Whether it contains a letter or digit.
    has_word: bool,
}

/// The word in which a stop stands.
#[derive(Clone, Copy)]
struct Token {
    start: usize,
    /// Whether there is a letter or digit in the piece before it.
    word_before: bool,
    /// Whether it is like an address of a page or file.
    address: bool,
    /// Whether it contains a full stop that ends nothing.
    dotted: bool,
}

impl Token {
    fn new(start: usize, word_before: bool) -> Self {
        Self {
            start,
            word_before,
            address: false,
            dotted: false,
        }
    }
}

/// The text after a place where a sentence may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follower {
    Nothing,
    LowerCase,
    /// A lower-case letter after a dash, or a comma.
    Aside,
    Digit,
    Other,
}

/// The text that must follow a row of stops for the row to end a sentence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// For full stops: a space, and no sign that the sentence continues.
    Weak,
    /// A space or a letter.
    Strong,
    /// Any or none.
    Wide,
}

struct Scanner<'a> {
    text: &'a [u8],
    /// Whether the result may be different in a longer text.
    saw_end: bool,
    /// The number of bytes read.
    #[cfg(test)]
    read: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            saw_end: false,
            #[cfg(test)]
            read: 0,
        }
    }

    fn sentence(&mut self, mut start: usize) -> Option<Range<usize>> {
        loop {
            start = self.skip(start, is_whitespace);
            self.char(start)?;
            let piece = self.piece(start);
            if piece.has_word {
                return Some(start..piece.end);
            }
            start = piece.resume;
        }
    }

    /// The character at byte `at` and its length; U+FFFD for a byte that starts no character.
    fn char(&mut self, at: usize) -> Option<(char, usize)> {
        self.count(1);
        let rest = part(self.text, at.min(self.text.len())..);
        let Some(first) = rest.first() else {
            self.saw_end = true;
            return None;
        };
        if first.is_ascii() {
            return Some((char::from(*first), 1));
        }
        for length in 2..=4 {
            let Some(bytes) = rest.get(..length) else {
                self.saw_end = true;
                break;
            };
            let text = core::str::from_utf8(bytes).ok();
            if let Some(c) = text.and_then(|text| text.chars().next()) {
                return Some((c, length));
            }
        }
        Some((char::REPLACEMENT_CHARACTER, 1))
    }

    /// Whether a character at `at` passes `test`.
    fn is(&mut self, at: usize, test: impl Fn(char) -> bool) -> bool {
        self.char(at).is_some_and(|(c, _)| test(c))
    }

    /// Whether the text ends at `at` or the next visible character passes `test`.
    fn ends_or(&mut self, at: usize, test: impl Fn(char) -> bool) -> bool {
        let at = self.skip_invisible(at);
        self.char(at).is_none_or(|(c, _)| test(c))
    }

    /// A part of the text that has been read before.
    fn bytes(&mut self, range: Range<usize>) -> &'a [u8] {
        let bytes = part(self.text, range);
        self.count(bytes.len());
        bytes
    }

    /// Counts the bytes read, to show that splitting is linear.
    fn count(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.read += _bytes;
        }
    }

    /// The first place at or after `at` whose character does not pass `test`.
    fn skip(&mut self, mut at: usize, test: impl Fn(char) -> bool) -> usize {
        while let Some((c, length)) = self.char(at)
            && test(c)
        {
            at += length;
        }
        at
    }

    /// The number of plain characters from `at` on, up to a limit. Firmware reads them one by one.
    fn plain(&mut self, at: usize, limit: usize) -> usize {
        if !VECTORS {
            return 0;
        }
        let end = limit.min(self.text.len());
        let rest = part(self.text, at.min(end)..end);
        let plain = rest.iter().take_while(|byte| is_plain(char::from(**byte)));
        let plain = plain.count();
        self.count(plain);
        plain
    }

    /// The piece that starts at `start`, where the text has a character other than a space.
    fn piece(&mut self, start: usize) -> Piece {
        let mut piece = Piece {
            end: start,
            resume: start,
            has_word: false,
        };
        let mut token = Token::new(start, false);
        let mut line = None;
        let mut last = ' ';
        // Places for a cut: after the last word or comma of the second half, or before the last
        // character that is not a mark.
        let (mut cut, mut base) = (None, None);
        while let Some((c, length)) = self.char(piece.resume) {
            let at = piece.resume;
            let visible = !is_invisible(c);
            if at > start && visible {
                base = Some(piece);
            }
            if at - start >= MAX_SENTENCE_BYTES {
                return cut.or(base).unwrap_or(piece);
            }
            let mut ends = false;
            let mut pauses = is_comma(c);
            piece.resume += length;
            if is_plain(c) {
                // Most characters end and pause nothing.
                piece.has_word = true;
                let more = self.plain(piece.resume, start + MAX_SENTENCE_BYTES);
                if more > 0 {
                    piece.resume += more;
                    piece.end = piece.resume - 1;
                    base = Some(Piece {
                        resume: piece.end,
                        ..piece
                    });
                }
                piece.end = piece.resume;
            } else if is_whitespace(c) {
                if is_line_end(c) {
                    let line_start = line.unwrap_or_else(|| self.line_start(start));
                    let columns = self.columns(line_start..at);
                    if c == '\r' && self.is(piece.resume, |c| c == '\n') {
                        piece.resume += 1;
                    }
                    line = Some(piece.resume);
                    ends =
                        !WRAPPED_COLUMNS.contains(&columns) || self.line_starts_anew(piece.resume);
                }
                token = Token::new(piece.resume, piece.has_word);
                pauses = true;
            } else if is_stop(c) || self.stands_for_stop(last, at, token.start) {
                (piece.resume, ends) = self.stop(token, at, piece.has_word);
                token.dotted = true;
                if ends {
                    let stop = piece.resume;
                    (piece.resume, ends) = self.trail(stop);
                    if piece.resume > stop {
                        token = Token::new(piece.resume, true);
                    }
                }
                piece.has_word |= self.has_letter(at, piece.resume);
                piece.end = piece.resume;
            } else if let Some(after) = self.emoticon(at, token.start) {
                piece.resume = self.closers(after);
                // :P has a letter.
                piece.has_word |= self.has_letter(at, piece.resume);
                ends = piece.has_word && self.starts_sentence(piece.resume);
                // A stop after it ends no abbreviation.
                token = Token::new(piece.resume, piece.has_word);
                piece.end = piece.resume;
            } else {
                piece.has_word |= is_letter_or_digit(c);
                token.address |= matches!(c, '/' | '@' | '=' | '&');
                piece.end = piece.resume;
            }
            if ends {
                return piece;
            }
            if pauses && piece.end - start > MAX_SENTENCE_BYTES / 2 {
                cut = Some(piece);
            }
            if visible && !is_whitespace(c) {
                last = c;
            }
        }
        piece
    }

    /// Whether a letter or digit starts in `at..end`. A stop and an emoticon take the marks after
    /// them, and some marks are letters, such as the vowel sign U+09BE.
    fn has_letter(&mut self, mut at: usize, end: usize) -> bool {
        while at < end
            && let Some((c, length)) = self.char(at)
        {
            if is_letter_or_digit(c) {
                return true;
            }
            at += length;
        }
        false
    }

    /// The start of the line that contains `place`, or a place so far before that the line is too
    /// long to have been wrapped.
    fn line_start(&mut self, place: usize) -> usize {
        let far = place.saturating_sub(LONGEST_WRAPPED_BYTES + 1);
        let ends = |place: &usize| {
            matches!(
                self.text.get(..*place),
                Some([.., b'\n'..=b'\r'] | [.., 0xc2, 0x85] | [.., 0xe2, 0x80, 0xa8 | 0xa9])
            )
        };
        let start = (far + 1..=place).rev().find(ends).unwrap_or(far);
        self.count(place - start);
        start
    }

    /// The columns of a part of a line: two for each character from U+3000, where those of East
    /// Asia start.
    fn columns(&mut self, part: Range<usize>) -> usize {
        let columns = |byte: &u8| match byte {
            0x80..=0xbf => 0,
            0xe3.. => 2,
            _ => 1,
        };
        self.bytes(part).iter().map(columns).sum()
    }

    /// Whether the character at `at` stands for a stop after `last`, the last character that is no
    /// space: the second word space in Ethiopic, a bar in scripts of India, a semicolon after a
    /// Greek word, a colon after an Armenian one.
    fn stands_for_stop(&mut self, last: char, at: usize, token: usize) -> bool {
        let Some((c, _)) = self.char(at) else {
            return false;
        };
        match (last, c) {
            _ if !ANY_LANGUAGE => false,
            ('፡', '፡') | ('\u{900}'..='\u{d7f}', '|') => true,
            // One letter is a symbol.
            ('\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}', ';') => {
                at - token > 2 && self.word(token, at).last.len() > 1
            }
            ('\u{531}'..='\u{587}', ':') => at > token && self.emoticon(at, token).is_none(),
            _ => false,
        }
    }

    /// Whether the line at `at` is empty, or an item of a list.
    fn line_starts_anew(&mut self, at: usize) -> bool {
        let at = self.skip(at, is_gap);
        match self.char(at) {
            None => true,
            Some((c, _)) if is_line_end(c) => true,
            Some(('-' | '*' | '•' | '·' | '–' | '>' | '|', length)) => {
                self.ends_or(at + length, is_whitespace)
            }
            Some((c, _)) if c.is_numeric() => {
                let mut after = at;
                for _ in 0..3 {
                    match self.char(after) {
                        Some((c, length)) if c.is_numeric() => after += length,
                        _ => break,
                    }
                }
                self.ends_or(after, |c| matches!(c, '.' | ')'))
                    && self.ends_or(after + 1, is_whitespace)
            }
            _ => false,
        }
    }

    /// The end of the stop at `at` in a word, with what closes after it, and whether the sentence
    /// ends there.
    fn stop(&mut self, token: Token, at: usize, has_word: bool) -> (usize, bool) {
        let (stops, dots, strength) = self.stops(at);
        let after = self.closers(stops);
        let closed = after > stops;
        let strong = strength != Strength::Weak;
        let ends = match self.char(after) {
            None => return (after, has_word),
            Some((c, _)) if strength == Strength::Wide => {
                !(continues(c) || closed && is_particle(c))
            }
            Some((c, length)) if is_letter(c) => {
                // The space was left out.
                let between_words = !closed
                    && (strong
                        || is_upper_case(c)
                            && self.ends_or(after + length, |c| is_lower_case(c) || c == ' ')
                            && (dots > 1 || self.is_lower_case_word(token, at)));
                let ends = between_words && !token.address && has_word;
                return (after, ends && !self.is_address(after));
            }
            Some((c, _)) if !is_whitespace(c) && self.emoticon(after, after).is_none() => {
                // The space before an opening mark was left out.
                let opens = ANY_LANGUAGE && strong && !closed && !token.address && is_opener(c);
                return (after, opens && has_word && self.starts_sentence(after));
            }
            Some(_) => match self.follower(after) {
                Follower::Aside => false,
                _ if !strong && dots == 1 && self.is_item(token, at) => false,
                follower if strong || dots != 1 || closed => {
                    let may_go_on = closed || !strong;
                    !(may_go_on && follower == Follower::LowerCase)
                }
                follower => self.word_ends(token.start, at, follower, after),
            },
        };
        (after, ends && has_word)
    }

    /// The end of the emoji after a stop that ends at `stop`, which belong to the sentence, and
    /// whether the sentence ends with them, and not with a further stop.
    fn trail(&mut self, stop: usize) -> (usize, bool) {
        let mut emoji = stop;
        loop {
            let at = self.skip(emoji, is_gap);
            match self.emoticon(at, at) {
                Some(end) => emoji = end,
                None => break,
            }
        }
        let mut end = emoji;
        if emoji > stop {
            end = self.closers(emoji);
            if self.is(end, is_letter_or_digit) {
                // The quote opens.
                end = emoji;
            }
            if self.is(end, is_stop) {
                // Of `😀.Then` the stop ends the sentence.
                let (stops, ..) = self.stops(end);
                return if self.is(stops, is_letter) {
                    (stops, true)
                } else {
                    (end, false)
                };
            }
            if end > emoji && self.follower(end) == Follower::LowerCase {
                return (end, false);
            }
        }
        if self.follower(end) == Follower::Aside {
            return (end, false);
        }
        let at = self.skip(end, is_gap);
        let more = match self.char(at) {
            // A word such as `.NET` starts a sentence.
            Some(('.', _)) => self.ends_or(at + 1, is_whitespace),
            Some((c, length)) if is_stop(c) && c != '…' => {
                let ends = |c| is_whitespace(c) || is_stop(c) || is_closer(c);
                needs_no_space(c) || self.ends_or(at + length, ends)
            }
            _ => false,
        };
        (end, !more)
    }

    /// The end of the row of stops at `at`, its number of full stops, and the strength of the
    /// others. Full stops with spaces between are an ellipsis.
    fn stops(&mut self, at: usize) -> (usize, usize, Strength) {
        let (mut after, mut dots, mut strength) = (at, 0usize, Strength::Weak);
        let before = part(self.text, ..at);
        let figure = matches!(before, [.., b'0'..=b'9'] | [.., 0xef, 0xbc, 0x90..=0x99]);
        while let Some((c, length)) = self.char(after)
            && (after == at || is_stop(c))
        {
            after += length;
            match c {
                '.' => {
                    dots += 1;
                    let space = self.skip_invisible(after);
                    if self.is(space, |c| c == ' ') {
                        let next = self.skip_invisible(space + 1);
                        if self.is(next, |c| c == '.')
                            && self.ends_or(next + 1, |c| !is_letter_or_digit(c))
                        {
                            after = next;
                        }
                    }
                }
                '․' | '﹒' => dots += 1,
                '…' => dots += 3,
                // In a number, and after the number of a list item.
                '．' if figure || self.is(after, char::is_numeric) => dots += 1,
                _ if needs_no_space(c) => strength = Strength::Wide,
                _ => strength = strength.max(Strength::Strong),
            }
            after = self.skip_invisible(after);
        }
        (after, dots, strength)
    }

    /// The end of the closing quotes and brackets at `at`. A quote that can also open counts as
    /// closing if a space or the end of the text follows it.
    fn closers(&mut self, at: usize) -> usize {
        let (mut end, mut look) = (at, at);
        loop {
            match self.char(look) {
                Some((c, length)) if is_closer(c) => {
                    look = self.skip_invisible(look + length);
                    end = look;
                }
                Some((c, length)) if is_quote(c) => look = self.skip_invisible(look + length),
                Some((' ' | '\u{a0}' | '\u{202f}', length)) => {
                    // In French a space precedes the quote.
                    let quote = look + length;
                    let ends = |c: char| is_whitespace(c) || is_stop(c);
                    return match self.char(quote) {
                        Some(('»' | '›', length)) if self.ends_or(quote + length, ends) => {
                            self.skip_invisible(quote + length)
                        }
                        _ => look,
                    };
                }
                Some((c, _)) if !is_whitespace(c) => return end,
                _ => return look,
            }
        }
    }

    /// Whether the word from `token` to `at` is the number or the letter of a list item.
    fn is_item(&mut self, token: Token, at: usize) -> bool {
        if token.word_before {
            return false;
        }
        let word = self.word(token.start, at).last;
        let is_short = matches!(word[..], [c] if c.is_ascii_alphabetic())
            || (1..=3).contains(&word.len()) && word.iter().all(|c| c.is_numeric());
        // Nothing else but opening marks is before it.
        let start = self.word_start(token.start);
        is_short && self.skip(start, |c| is_letter_or_digit(c) || is_invisible(c)) >= at
    }

    /// Whether the word from `token` to `at` ends with small letters and has no full stop.
    fn is_lower_case_word(&mut self, token: Token, at: usize) -> bool {
        let word = self.word(token.start, at).last;
        // Short words of other languages are abbreviations: `ул.Ленина`.
        let is_long = word.len() > 3 || word.iter().all(char::is_ascii);
        let is_lower = matches!(word[..], [.., a, b] if is_lower_case(a) && is_lower_case(b));
        is_lower && is_long && !token.dotted
    }

    /// Whether the rest of a mail address starts at `at`.
    fn is_address(&mut self, mut at: usize) -> bool {
        for _ in 0..LONGEST_NAME {
            match self.char(at) {
                Some(('@', _)) => return true,
                Some((c, length)) if !is_whitespace(c) => at += length,
                _ => return false,
            }
        }
        false
    }

    /// The letters, digits and full stops directly before `at`, from `token` on, without marks and
    /// invisible characters.
    fn word(&mut self, token: usize, at: usize) -> Word {
        let mut word = Word::default();
        let mut place = token.max(at.saturating_sub(WORD_BYTES));
        while place < at
            && let Some((c, length)) = self.char(place)
        {
            place += length;
            if is_invisible(c) {
                continue;
            }
            if !is_letter_or_digit(c) && c != '.' {
                let joins = matches!(c, '\'' | '-' | '’' | '‐' | '‑');
                word.joined = joins && word.last.last().is_some_and(|c| *c != '.');
                word.last.clear();
            } else if word.last.push(c).is_err() {
                // No abbreviation is as long.
                let last = word.last.pop();
                word.last.clear();
                for c in [Some('\0'), last, Some(c)].into_iter().flatten() {
                    let _ = word.last.push(c);
                }
            }
        }
        word
    }

    /// Whether a full stop at `at` ends the sentence, and not only the word that starts at `token`.
    fn word_ends(&mut self, token: usize, at: usize, follower: Follower, after: usize) -> bool {
        let Word { last, joined } = self.word(token, at);
        let word = &last[..];
        if is_in(&TITLES, word) {
            return false;
        }
        // `P.` is an initial.
        if is_in(&COUNTED, word) && word != ['P'] {
            return follower != Follower::Digit;
        }
        let letter = match word {
            // These are words: the English and Russian pronoun.
            ['I' | 'Я'] => None,
            [c] if is_letter(*c) && !joined => Some(*c),
            _ => None,
        };
        if letter.is_some() && self.is_letter_with_stop(after) {
            return false;
        }
        // U.S., p.m., Ph.D., т.е.
        let mut parts = word.split(|c| *c == '.');
        let dotted = word.contains(&'.')
            && parts.all(|part| part.len() <= 2 && part.iter().all(|c| is_letter(*c)));
        let lettered = dotted
            || letter.is_some_and(|c| is_upper_case(c) || self.follows_letter_with_stop(token));
        if lettered || is_in(&SHORTENED, word) {
            // The words that start sentences are listed for English only.
            let other =
                lettered && !word.iter().all(char::is_ascii) && !letter.is_some_and(is_upper_case);
            return match follower {
                Follower::Nothing => true,
                Follower::LowerCase | Follower::Aside | Follower::Digit => false,
                Follower::Other => other || self.starter(after),
            };
        }
        true
    }

    /// Whether a lone letter, a full stop and a space stand before `token`.
    fn follows_letter_with_stop(&mut self, token: usize) -> bool {
        let mut last = [' '; 4];
        let mut place = token.saturating_sub(16);
        while place < token
            && let Some((c, length)) = self.char(place)
        {
            place += length;
            if !is_invisible(c) {
                last = [last[1], last[2], last[3], c];
            }
        }
        matches!(last, [before, letter, '.', ' '] if is_whitespace(before) && is_letter(letter))
    }

    /// Whether a space, a letter and a full stop follow: z. B., т. е.
    fn is_letter_with_stop(&mut self, at: usize) -> bool {
        let at = self.skip(at, is_gap);
        match self.char(at) {
            Some((c, length)) if is_letter(c) && c != 'I' => {
                let stop = self.skip_invisible(at + length);
                self.is(stop, |c| c == '.')
            }
            _ => false,
        }
    }

    /// The kind of text at `at`, after spaces and opening punctuation.
    fn follower(&mut self, at: usize) -> Follower {
        let mark = self.skip(at, is_gap);
        if let Some((c, length)) = self.char(mark)
            && continues(c)
            // Others start an emoticon or quote a line.
            && (!matches!(c, ':' | ';') || self.ends_or(mark + length, is_whitespace))
        {
            return Follower::Aside;
        }
        let at = self.word_start(at);
        match self.char(at) {
            None => Follower::Nothing,
            Some((c, _)) if is_lower_case(c) => Follower::LowerCase,
            Some((c, _)) if c.is_numeric() => Follower::Digit,
            Some(('–' | '—', length)) => {
                let at = self.skip(at + length, is_whitespace);
                if self.ends_or(at, is_lower_case) {
                    Follower::Aside
                } else {
                    Follower::Other
                }
            }
            Some(_) => Follower::Other,
        }
    }

    /// Whether the next word is one that starts sentences.
    fn starter(&mut self, at: usize) -> bool {
        let at = self.word_start(at);
        let mut ends = at..at + LONGEST_LISTED + 1;
        let end = ends.find(|end| self.ends_or(*end, |c| !is_letter_or_digit(c)));
        end.is_some_and(|end| is_in(&STARTERS, &self.word(at, end).last))
    }

    fn word_start(&mut self, at: usize) -> usize {
        let at = self.skip(at, |c| is_whitespace(c) || is_invisible(c));
        self.skip(at, |c| is_opener(c) || is_invisible(c))
    }

    /// Whether a word follows that does not start with a lower-case letter or a digit.
    fn starts_sentence(&mut self, at: usize) -> bool {
        let word = self.word_start(at);
        let is_word = |c| is_letter(c) || matches!(c, '@' | '#' | '$' | '€' | '£' | '–' | '—');
        self.is(word, is_word) && self.follower(at) == Follower::Other
    }

    /// The first place at or after `at` whose character is visible.
    fn skip_invisible(&mut self, at: usize) -> usize {
        if ANY_LANGUAGE {
            self.skip(at, is_invisible)
        } else {
            at
        }
    }

    /// The end of the emoji or emoticon at `at`, if there is one, in the word that starts at
    /// `token`.
    fn emoticon(&mut self, at: usize, token: usize) -> Option<usize> {
        let (eyes, length) = self.char(at)?;
        // Joiners also stand in words. Some symbols are emoji only if the selector follows.
        let selected = eyes > '\u{ff}'
            && self.is(at + length, |c| c == '\u{fe0f}')
            && !is_letter_or_digit(eyes);
        if selected || is_emoji(eyes) && !is_mark(eyes) {
            return Some(self.skip(at + length, |c| is_emoji(c) || is_invisible(c)));
        }
        if !matches!(eyes, ':' | ';' | '=' | '<' | 'x') {
            return None;
        }
        let alone = at == token;
        let mut mouth = at + 1;
        if matches!(eyes, ':' | ';' | '=') && matches!(self.char(mouth)?, ('-' | '\'' | '^', _)) {
            mouth += 1;
        }
        let (c, _) = self.char(mouth)?;
        let smiles = match eyes {
            '<' => alone && c == '3',
            'x' => alone && c == 'D',
            _ => matches!(c, '(' | ')') || alone && is_mouth(c),
        };
        if !smiles {
            return None;
        }
        let end = self.skip(mouth + 1, |next| next == c);
        let end = self.skip_invisible(end);
        let ends = |c: char| is_whitespace(c) || is_stop(c) || is_closer(c) || continues(c);
        self.ends_or(end, ends).then_some(end)
    }
}

/// Whether a letter is in upper case, without `char::is_uppercase`, whose tables can panic.
fn is_upper_case(c: char) -> bool {
    !c.to_lowercase().eq([c])
}

/// Whether a letter is in lower case, in the blocks of Latin, Greek, Cyrillic and Armenian.
fn is_lower_case(c: char) -> bool {
    matches!(c, 'a'..='z' | '\u{b5}'..='\u{588}' | '\u{1e00}'..='\u{1fff}')
        && is_letter(c)
        && !is_upper_case(c)
}

// `inline(never)`: each copy of the lookup takes a hundred bytes.
#[inline(never)]
fn is_letter(c: char) -> bool {
    c.is_alphabetic()
}

fn is_in(list: &[&str], word: &[char]) -> bool {
    let mut list = list.iter();
    list.any(|listed| {
        let mut pairs = listed.bytes().zip(word);
        listed.len() == word.len() && pairs.all(|(a, b)| char::from(a) == b.to_ascii_lowercase())
    })
}

fn is_letter_or_digit(c: char) -> bool {
    is_letter(c) || c.is_numeric()
}

fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether `c` is a space inside a line, or invisible.
fn is_gap(c: char) -> bool {
    is_whitespace(c) && !is_line_end(c) || is_invisible(c)
}

fn is_mark(c: char) -> bool {
    ANY_LANGUAGE && script::is_mark(c)
}

/// Whether `c` is invisible: marks, joiners, variation selectors and other characters of Unicode's
/// Format and Default_Ignorable_Code_Point. After a stop they change nothing (SB5).
fn is_invisible(c: char) -> bool {
    ANY_LANGUAGE
        && c >= '\u{ad}'
        && (script::is_mark(c)
            || script::is_ignorable(c)
            || matches!(
                c,
                '\u{115f}' | '\u{1160}' | '\u{200b}' | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
            ))
}

fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || ANY_LANGUAGE && !c.is_ascii() && ends_sentences(c)
}

/// Whether a sentence can start directly after this stop, in scripts without spaces between words.
fn needs_no_space(c: char) -> bool {
    ANY_LANGUAGE
        && matches!(
            c,
            '။' | '。' | '｡' | '．' | '！' | '？' | '︒' | '︕' | '︖' | '﹖' | '﹗'
        )
}

/// Whether a character ends and pauses nothing in any context, and belongs to no emoticon such as
/// `xD`.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() && c != 'x'
}

fn is_comma(c: char) -> bool {
    ANY_LANGUAGE && matches!(c, '、' | '，' | '､' | '၊')
}

/// Whether a sentence continues before this mark.
fn continues(c: char) -> bool {
    matches!(c, ',' | ':' | ';')
        || ANY_LANGUAGE && (is_comma(c) || matches!(c, '،' | '؛' | '፣' | '：' | '；'))
}

/// Particles with which a sentence continues after a Japanese quotation.
fn is_particle(c: char) -> bool {
    ANY_LANGUAGE
        && matches!(
            c,
            'と' | 'っ' | 'な' | 'の' | 'を' | 'が' | 'は' | 'に' | 'も' | 'で'
        )
}

/// Whether a bracket opens or closes; `None` for what is no bracket.
fn opens(c: char) -> Option<bool> {
    match c {
        '(' | '[' | '{' => Some(true),
        ')' | ']' | '}' => Some(false),
        _ if !ANY_LANGUAGE => None,
        '（' | '［' | '｛' | '｟' | '｢' | '﴿' => Some(true),
        '）' | '］' | '｝' | '｠' | '｣' | '﴾' => Some(false),
        // Each pair from an even code point.
        '〈'..='】' | '〔'..='〛' | '༺'..='༽' | '❨'..='❵' => {
            Some(u32::from(c) % 2 == 0)
        }
        _ => None,
    }
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | '›' | '*' | '_' | '`' | '〞' | '〟' | '＂' | '❜' | '❞'
    ) || opens(c) == Some(false)
}

/// Quotes that open in most languages, and close in some.
fn is_quote(c: char) -> bool {
    matches!(c, '“' | '‘' | '«' | '‹' | '❛' | '❝')
}

/// Whether `c` can open: closing quotes do in some languages.
fn is_opener(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | '›' | '*' | '_' | '¿' | '¡' | '„' | '‚' | '〝' | '＂'
    ) || is_quote(c)
        || opens(c) == Some(true)
}

/// Mouths of emoticons that are words of their own.
fn is_mouth(c: char) -> bool {
    matches!(
        c,
        'D' | 'P' | 'p' | '3' | '/' | '\\' | '|' | '*' | 'o' | 'O' | '[' | ']'
    )
}

/// Symbols and pictographs, with joiners and colours. Boxed letters and circled digits are words;
/// music signs, quotes and brackets are neither.
fn is_emoji(c: char) -> bool {
    let in_blocks = matches!(
        c,
        '\u{231a}' | '\u{231b}' | '\u{23e9}'..='\u{23fa}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{200d}'
    );
    let other = matches!(c, '♭'..='♯' | '❛'..='❠' | '❨'..='❵');
    in_blocks && !other && !is_letter_or_digit(c)
}

#[cfg(test)]
mod tests {
    use super::Scanner;

    /// Splits a text of `length` bytes that repeats a unit, and returns the bytes read per byte.
    fn read(unit: &str, length: usize) -> usize {
        let text = unit.repeat(length / unit.len());
        let mut scanner = Scanner::new(text.as_bytes());
        let mut start = 0;
        while let Some(range) = scanner.sentence(start) {
            start = range.end;
        }
        scanner.read / length
    }

    /// The work per byte does not grow with the text, whatever it repeats.
    #[test]
    fn work_is_linear() {
        let parts = [
            "word", "x", " ", "\n", "\r\n", "\n ", "\n- ", "1. ", "1\n", "a\n", "a) ", ".", "!",
            "…", "a.", "a. ", ". . ", "?a", "\"", "”", "“", "«", " »", ".»", "a.\"", "a.“", "(",
            ")", "((a", "a)", "「", "」", "。", "。」", "a. (", "– ", "a! –", "\u{3000}", "😀",
            "😀 ", "a😀 ", "a! 😀 ", "\u{200d}", "\u{fe0f}", ":) ", "a:)", ":(", "=)", "<",
            "a/b?c", "a.B", "ab.Ab", "z. B. ", "@", "語", "語，", "ก", "ก ", "का", "\u{301}", "፡",
            "α;", "աբ:", "क|", "．", "１．", "\u{2029}", "\u{ff}", "a.b.c.d.", "- ", "|",
        ];
        let longer = ["!\u{3000}", "ab.Abcdefgh", "etc. The "];
        let parts = [&parts[..], &longer].concat();
        let mut most = (0, std::string::String::new());
        for first in &parts {
            for second in &parts {
                let unit = std::format!("{first}{second}");
                let [short, long] = [1 << 11, 1 << 13].map(|length| read(&unit, length));
                // Quadratic work would be four times as much per byte.
                assert!(
                    long < 2 * short + 2,
                    "{unit:?}: {short} and {long} for each byte"
                );
                most = most.max((long, unit));
            }
        }
        assert!(most.0 < 100, "{most:?}");
    }
}
