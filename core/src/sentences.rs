//! The sentences of typed text.
//!
//! A [`Document`](crate::document) protects each *sentence*, so this module says what one is, by a
//! public rule that looks at nothing but the text. It is made for what people type: capitals and stops
//! may be missing, lines may be wrapped or not, emoji may replace a stop.
//!
//! # Guarantee
//! None of its own. Neighbours are lists of sentences: a changed character that merges or splits
//! sentences is several changes, and so is one that moves the limit of a run-on.
//!
//! # Rules
//! White space is trimmed, and pieces without a letter or digit are left out. A sentence ends
//! - at an empty line, and where a line ends that was not wrapped: one of fewer than 40 or more than 100
//!   bytes, or one before a list item;
//! - after `!`, `?` and their like in other scripts, with the quotes, brackets, emoji and emoticons that
//!   follow, unless a lower-case letter follows a closing quote or bracket;
//! - after `。`, `！` and `？` without a space, too;
//! - after a full stop and a space, unless it belongs to an abbreviation, an initial or the number of a
//!   list item; after an ellipsis, unless a lower-case letter follows;
//! - after an emoji or emoticon if a word follows that does not start with a lower-case letter;
//! - after [`MAX_SENTENCE_BYTES`] bytes, between two words if there are any.
//!
//! Full stops inside of numbers, addresses and file names are followed by no space. Abbreviations are
//! English. Invalid UTF-8 is a character that is neither letter nor space.
//!
//! # Leaks
//! Time depends on the text: this step runs on the device, before the document.
//!
//! # Cost
//! Linear in the text. No heap; a few hundred bytes of stack.
//!
//! # Source
//! The boundaries follow Unicode Standard Annex #29 where it is not ours: sentence terminators with their
//! closing punctuation (SB6 to SB11). It splits after every abbreviation before a capital, never before
//! a lower-case letter, and at every line end, which typed text needs otherwise; and its tables of
//! properties are larger than the rest of the device side.

use core::ops::Range;

/// Sentences longer than this many bytes are cut, but not inside of a row of stops or emoji.
pub const MAX_SENTENCE_BYTES: usize = 600;

/// A line of this many bytes may have been wrapped: its end is a space.
const WRAPPED_BYTES: core::ops::RangeInclusive<usize> = 40..=100;

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

/// The first sentence that starts at byte `start` or after it, if the text ends where it ends.
///
/// # Shapes
/// `text`: any bytes; `start`: 0 or the end of the sentence before.
pub fn next(text: &[u8], start: usize) -> Option<Range<usize>> {
    Scanner::new(text).sentence(start)
}

/// As [`next`], for a text that is still being typed: `None` as long as something typed after it could
/// change the sentence.
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

/// A full stop after these ends nothing.
const TITLES: [&str; 33] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "gen", "col", "capt", "lt", "sgt", "cmdr", "gov",
    "sen", "rep", "hon", "messrs", "mme", "mlle", "vs", "cf", "viz", "approx", "incl", "esp",
    "e.g", "i.e", "eg", "ie", "dept", "univ", "a.k.a",
];

/// Nor after these before a number.
const COUNTED: [&str; 26] = [
    "no", "nos", "fig", "figs", "vol", "vols", "p", "pp", "ch", "sec", "art", "ca", "tel", "ext",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
];

/// After these, only before one of [`STARTERS`].
const SHORTENED: [&str; 24] = [
    "etc", "inc", "ltd", "co", "corp", "bros", "jr", "sr", "ave", "blvd", "rd", "mt", "ft", "al",
    "ed", "eds", "oz", "lb", "lbs", "hr", "hrs", "tbsp", "tsp", "govt",
];

/// Capitalised, these start a sentence, seldom a name.
const STARTERS: [&str; 43] = [
    "a", "after", "all", "also", "an", "and", "as", "at", "because", "but", "do", "for", "he",
    "her", "his", "how", "i", "if", "in", "it", "its", "my", "no", "not", "now", "on", "our",
    "she", "so", "some", "that", "the", "then", "there", "these", "they", "this", "we", "what",
    "when", "why", "yes", "you",
];

/// No word of the lists above is longer.
const LONGEST_LISTED: usize = 8;

/// A part of the text between two places where sentences end.
struct Piece {
    /// After its last character that is no space.
    end: usize,
    /// Where the next one may start.
    next: usize,
    /// Whether it has a letter or digit.
    speaks: bool,
}

/// What follows a place where a sentence may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follower {
    Nothing,
    LowerCase,
    Digit,
    Other,
}

struct Scanner<'a> {
    text: &'a [u8],
    /// Whether something would perhaps be different in a longer text.
    saw_end: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            saw_end: false,
        }
    }

    fn sentence(&mut self, start: usize) -> Option<Range<usize>> {
        let mut start = start;
        loop {
            start = self.skip(start, char::is_whitespace);
            self.char(start)?;
            let piece = self.piece(start);
            if piece.speaks {
                return Some(start..piece.end);
            }
            start = piece.next;
        }
    }

    /// The character at byte `at` and its length; U+FFFD for a byte that starts none.
    fn char(&mut self, at: usize) -> Option<(char, usize)> {
        let rest = self.text.get(at..).unwrap_or_default();
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
            if let Some(c) = core::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.chars().next())
            {
                return Some((c, length));
            }
        }
        Some((char::REPLACEMENT_CHARACTER, 1))
    }

    /// The first place at or after `at` whose character is not one of `these`.
    fn skip(&mut self, mut at: usize, these: impl Fn(char) -> bool) -> usize {
        while let Some((c, length)) = self.char(at)
            && these(c)
        {
            at += length;
        }
        at
    }

    /// The piece that starts at `start`, where a character is that is no space.
    fn piece(&mut self, start: usize) -> Piece {
        let (mut at, mut end, mut token) = (start, start, start);
        let mut line = self.line_start(start);
        let (mut speaks, mut address) = (false, false);
        // After the last word that was followed by a space, and where the next one starts.
        let mut cut = None;
        while let Some((c, length)) = self.char(at) {
            if at - start >= MAX_SENTENCE_BYTES {
                let (end, next) = cut.unwrap_or((end, at));
                return Piece { end, next, speaks };
            }
            let mut ends = false;
            if c.is_whitespace() {
                at += length;
                if is_line_end(c) {
                    let bytes = at - length - line;
                    if c == '\r' && self.char(at).is_some_and(|(c, _)| c == '\n') {
                        at += 1;
                    }
                    ends = !WRAPPED_BYTES.contains(&bytes) || self.line_starts_anew(at);
                    line = at;
                }
                token = at;
                address = false;
                if end - start > MAX_SENTENCE_BYTES / 2 {
                    cut = Some((end, at));
                }
            } else if is_stop(c) {
                (at, ends) = self.stop(start, token, at, address, speaks);
                end = at;
            } else if let Some(behind) = self.emotion(at, token) {
                ends = speaks && self.follower(behind) == Follower::Other;
                // :P has a letter.
                let own = self.text.get(at..behind).unwrap_or_default();
                speaks |= own.iter().any(u8::is_ascii_alphanumeric);
                at = behind;
                end = at;
            } else {
                speaks |= c.is_alphanumeric();
                address |= matches!(c, '/' | '@' | '=' | '&');
                at += length;
                end = at;
            }
            if ends {
                return Piece {
                    end,
                    next: at,
                    speaks,
                };
            }
        }
        Piece {
            end,
            next: at,
            speaks,
        }
    }

    /// Where the line of a place starts, or so far before it that the line is too long to have been wrapped.
    fn line_start(&self, place: usize) -> usize {
        let far = place.saturating_sub(WRAPPED_BYTES.end() + 1);
        let before = self.text.get(far..place).unwrap_or_default();
        let last = before
            .iter()
            .rposition(|byte| matches!(byte, b'\n' | b'\r'));
        last.map_or(far, |index| far + index + 1)
    }

    /// Whether the line at `at` is empty, or an item of a list.
    fn line_starts_anew(&mut self, at: usize) -> bool {
        let at = self.skip(at, |c| c.is_whitespace() && !is_line_end(c));
        match self.char(at) {
            None => true,
            Some((c, _)) if is_line_end(c) => true,
            Some(('-' | '*' | '•' | '·' | '–' | '>' | '|', length)) => self
                .char(at + length)
                .is_none_or(|(c, _)| c.is_whitespace()),
            Some(('0'..='9', _)) => {
                let behind = (1..=3)
                    .map(|digits| at + digits)
                    .find(|behind| self.char(*behind).is_none_or(|(c, _)| !c.is_ascii_digit()));
                behind.is_some_and(|behind| {
                    matches!(self.char(behind), None | Some(('.' | ')', _)))
                        && self.char(behind + 1).is_none_or(|(c, _)| c.is_whitespace())
                })
            }
            _ => false,
        }
    }

    /// The stop at `at` in the word that starts at `token`: where it ends, with what closes after it, and
    /// whether the sentence ends there.
    fn stop(
        &mut self,
        start: usize,
        token: usize,
        at: usize,
        address: bool,
        speaks: bool,
    ) -> (usize, bool) {
        let (mut behind, mut dots) = (at, 0usize);
        let (mut strong, mut wide) = (false, false);
        while let Some((c, length)) = self.char(behind)
            && is_stop(c)
        {
            match c {
                '.' => dots += 1,
                '…' => dots += 3,
                '。' | '！' | '？' | '｡' => wide = true,
                _ => strong = true,
            }
            behind += length;
        }
        let stops = behind;
        behind = self.skip(behind, is_closer);
        let closed = behind > stops;
        let ends = match self.char(behind) {
            None => return (behind, speaks),
            Some(_) if wide => true,
            Some((c, length)) if c.is_alphabetic() => {
                // The space was left out.
                let between_words = if strong {
                    !closed
                } else {
                    let word = self.text.get(token..at).unwrap_or_default();
                    !closed
                        && is_upper_case(c)
                        && (dots > 1
                            || matches!(word, [.., a, b] if a.is_ascii_lowercase() && b.is_ascii_lowercase())
                                && !word.contains(&b'.'))
                        && self
                            .char(behind + length)
                            .is_none_or(|(c, _)| is_lower_case(c) || c == ' ')
                };
                return (behind, between_words && !address && speaks);
            }
            Some((c, _)) if !c.is_whitespace() && self.emotion(behind, behind).is_none() => {
                return (behind, false);
            }
            Some(_) => {
                let follower = self.follower(behind);
                if strong || dots != 1 || closed {
                    let may_go_on = closed || !strong;
                    !(may_go_on && follower == Follower::LowerCase)
                } else {
                    self.word_ends(start, token, at, follower, behind)
                }
            }
        };
        if !ends || !speaks {
            return (behind, false);
        }
        // What smiles after the stop belongs to it.
        loop {
            let at = self.skip(behind, |c| c.is_whitespace() && !is_line_end(c));
            match self.emotion(at, at) {
                Some(end) => behind = end,
                None => return (behind, true),
            }
        }
    }

    /// Whether a full stop at `at` ends more than the word that starts at `token`.
    fn word_ends(
        &mut self,
        start: usize,
        token: usize,
        at: usize,
        follower: Follower,
        behind: usize,
    ) -> bool {
        let whole = self.text.get(token..at).unwrap_or_default();
        let word = whole
            .rsplit(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'.')
            .next()
            .unwrap_or_default();
        let is_in = |list: &[&str]| {
            let mut list = list.iter();
            list.any(|listed| listed.as_bytes().eq_ignore_ascii_case(word))
        };
        let item = match word {
            [byte] => byte.is_ascii_alphanumeric(),
            [_, rest @ ..] => rest.len() < 3 && word.iter().all(u8::is_ascii_digit),
            [] => false,
        };
        if (item && token == start) || is_in(&TITLES) {
            return false;
        }
        if is_in(&COUNTED) {
            return follower != Follower::Digit;
        }
        let initial = matches!(word, [b'A'..=b'H' | b'J'..=b'Z']);
        // U.S., p.m., Ph.D.
        let dotted = word.contains(&b'.')
            && word
                .split(|byte| *byte == b'.')
                .all(|part| part.len() < 3 && part.iter().all(u8::is_ascii_alphabetic));
        if initial || dotted || is_in(&SHORTENED) {
            return match follower {
                Follower::Nothing => true,
                Follower::LowerCase | Follower::Digit => false,
                Follower::Other => self.starter(behind),
            };
        }
        true
    }

    /// What follows, after spaces and opening punctuation.
    fn follower(&mut self, at: usize) -> Follower {
        let at = self.word_start(at);
        match self.char(at) {
            None => Follower::Nothing,
            Some((c, _)) if is_lower_case(c) => Follower::LowerCase,
            Some((c, _)) if c.is_numeric() => Follower::Digit,
            Some(_) => Follower::Other,
        }
    }

    /// Whether the next word is one that starts sentences.
    fn starter(&mut self, at: usize) -> bool {
        let at = self.word_start(at);
        let end = (0..=LONGEST_LISTED)
            .map(|length| at + length)
            .find(|end| self.char(*end).is_none_or(|(c, _)| !c.is_alphanumeric()));
        let word = end.and_then(|end| self.text.get(at..end));
        let mut starters = STARTERS.iter();
        word.is_some_and(|word| {
            starters.any(|starter| starter.as_bytes().eq_ignore_ascii_case(word))
        })
    }

    fn word_start(&mut self, at: usize) -> usize {
        let at = self.skip(at, char::is_whitespace);
        match self.char(at) {
            Some((c, length)) if is_opener(c) => at + length,
            _ => at,
        }
    }

    /// The end of the emoji or the emoticon at `at`, if there is one; `token` is where the word around it
    /// starts.
    fn emotion(&mut self, at: usize, token: usize) -> Option<usize> {
        let end = self.skip(at, is_emoji);
        if end > at {
            return Some(end);
        }
        let (eyes, _) = self.char(at)?;
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
            _ => {
                matches!(c, '(' | ')')
                    || alone
                        && matches!(
                            c,
                            'D' | 'P' | 'p' | '3' | '/' | '\\' | '|' | '*' | 'o' | 'O' | '[' | ']'
                        )
            }
        };
        if !smiles {
            return None;
        }
        let end = self.skip(mouth + 1, |next| next == c);
        let (next, _) = self.char(end).unwrap_or((' ', 1));
        (next.is_whitespace() || is_stop(next)).then_some(end)
    }
}

/// The methods of `char` look up tables with checked indices, and what is linked into a device must not be
/// able to panic.
fn is_upper_case(c: char) -> bool {
    !c.to_lowercase().eq([c])
}

/// Letters without a lower case, in the blocks of the scripts that have one: Latin, Greek, Cyrillic and
/// Armenian.
fn is_lower_case(c: char) -> bool {
    matches!(c, 'a'..='z' | '\u{b5}'..='\u{588}' | '\u{1e00}'..='\u{1fff}')
        && c.is_alphabetic()
        && !is_upper_case(c)
}

fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn is_stop(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | '。'
            | '！'
            | '？'
            | '｡'
            | '‼'
            | '⁇'
            | '⁈'
            | '⁉'
            | '؟'
            | '۔'
            | '।'
            | '॥'
    )
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | ')'
            | ']'
            | '}'
            | '*'
            | '_'
            | '`'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
    )
}

fn is_opener(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '“'
            | '‘'
            | '«'
            | '‹'
            | '('
            | '['
            | '{'
            | '*'
            | '_'
            | '¿'
            | '¡'
            | '「'
            | '『'
            | '（'
            | '„'
    )
}

/// Symbols and pictographs, with what joins and colours them; boxed letters and circled digits are words.
fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{200d}'
    ) && !c.is_alphanumeric()
}
