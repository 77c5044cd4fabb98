//! Tables of Unicode: marks, scripts without spaces between words, marks that end sentences, and
//! canonical composition of lower-case letters.
//!
//! Unicode 18.0.0. `tests/tests/script.rs` compares every character with the tables of crates that
//! follow Unicode; a newer version adds rows. A search takes at most 9 steps. The tables have 1.4
//! kB for words, 0.3 kB for sentences and 4.2 kB for composition.

/// Whether `c` continues a word after a letter or digit without being one: combining marks
/// (General_Category Mn, Mc and Me), and the joiners U+200C and U+200D.
pub(crate) fn is_mark(c: char) -> bool {
    // The last are variation selectors.
    c >= '\u{300}' && (is_in(&MARKS, c) || matches!(c, '\u{e0100}'..='\u{e01ef}'))
}

/// Whether `c` is a letter of a script that is written without spaces between words: Han, Hiragana,
/// Katakana, Bopomofo, Thai, Lao, Khmer, Myanmar, Tai Le, New Tai Lue, Tai Tham, Tai Viet, Ahom,
/// Javanese and Balinese.
///
/// Letters are General_Category Lo, Lm and Nl with one of these in Script_Extensions, `々`, `〇` and
/// `ー` included, above U+02FF (below are tone marks that Bopomofo shares with others). Tibetan is
/// not among the scripts, because a mark separates its syllables, which serve as words.
pub(crate) fn is_unspaced(c: char) -> bool {
    let code = u32::from(c);
    match u16::try_from(code) {
        Ok(code) => covered(&UNSPACED, code),
        Err(_) => covered(&UNSPACED_ABOVE, code),
    }
}

/// Whether `c`, which is not ASCII, ends sentences: characters with the property Sentence_Terminal,
/// except the commas of Burmese, Balinese (two) and Javanese; also the Greek question mark, the
/// kunddaliya of Sinhala, two marks that end Thai verses and the shads of Tibetan.
pub(crate) fn ends_sentences(c: char) -> bool {
    is_in(&STOPS, c)
}

/// Whether words and sentences are the same without `c`: characters with the property
/// Default_Ignorable_Code_Point, such as the soft hyphen, direction marks and variation selectors.
/// Joiners, the zero-width space, vowels of Khmer and fillers of Hangul are not among them.
pub(crate) fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The first syllable, leading consonant and vowel of Hangul, and the place before its first
/// trailing consonant.
const SYLLABLE: u32 = 0xac00;
const LEADING: u32 = 0x1100;
const VOWEL: u32 = 0x1161;
const TRAILING: u32 = 0x11a7;
const VOWELS: u32 = 21;
const TRAILINGS: u32 = 28;

/// Whether `c` is a vowel or trailing consonant of Hangul, which is no mark and composes with the
/// character before it.
pub(crate) fn is_trailing_jamo(c: char) -> bool {
    matches!(c, '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}')
}

/// The Canonical_Combining_Class of a mark; 255 if that is 0 and the mark composes with the
/// character before it. 0 outside the Basic Multilingual Plane.
pub(crate) fn combining_class(c: char) -> u8 {
    let Ok(code @ 0x300..) = u16::try_from(u32::from(c)) else {
        return 0;
    };
    match last_before(&CLASSES, |(first, ..)| *first <= code) {
        Some((first, more, class)) if code - first <= u16::from(*more) => *class,
        _ => 0,
    }
}

/// The primary composite of two characters (Unicode's canonical composition), if it is a lower-case
/// letter or a mark. An i and a dot above compose to i: the lower case of İ.
pub(crate) fn composed(first: char, second: char) -> Option<char> {
    let [a, b] = [first, second].map(u32::from);
    if let (Some(leading @ 0..19), Some(vowel @ 0..VOWELS)) =
        (a.checked_sub(LEADING), b.checked_sub(VOWEL))
    {
        return char::from_u32(SYLLABLE + (leading * VOWELS + vowel) * TRAILINGS);
    }
    if let (Some(syllable @ 0..11_172), Some(trailing @ 1..TRAILINGS)) =
        (a.checked_sub(SYLLABLE), b.checked_sub(TRAILING))
        && syllable.is_multiple_of(TRAILINGS)
    {
        return char::from_u32(a + trailing);
    }
    let [a, b] = [u16::try_from(a).ok()?, u16::try_from(b).ok()?];
    let group = SECONDS
        .binary_search_by_key(&b, |(second, _)| *second)
        .ok()?;
    let start = usize::from(SECONDS.get(group)?.1);
    let end = SECONDS
        .get(group + 1)
        .map_or(PAIRS.len(), |(_, start)| usize::from(*start));
    let pairs = PAIRS.get(start..end)?;
    let pair = pairs.binary_search_by_key(&a, |(first, _)| *first).ok()?;
    char::from_u32(u32::from(pairs.get(pair)?.1))
}

/// The one or two characters that replace a lower-case letter or a mark that canonical composition
/// never yields.
pub(crate) fn never_composed(c: char) -> Option<(char, Option<char>)> {
    if !matches!(c, '\u{340}'..='\u{374}' | '\u{958}'..='\u{fb9}' | '\u{1f71}'..='\u{1ffd}' | '\u{fb1d}'..='\u{fb4e}')
    {
        return None;
    }
    let code = u32::from(c) as u16;
    let row = NEVER_COMPOSED
        .binary_search_by_key(&code, |(c, ..)| *c)
        .ok()?;
    let (_, first, second) = *NEVER_COMPOSED.get(row)?;
    let second = char::from_u32(second.into()).filter(|_| second != 0);
    Some((char::from_u32(first.into())?, second))
}

/// One step of the canonical decomposition of a lower-case letter or a mark. The second character
/// does not decompose further. Syllables of Hangul are not decomposed.
pub(crate) fn decomposed(c: char) -> Option<(char, Option<char>)> {
    if c < '\u{c0}' {
        return None;
    }
    never_composed(c).or_else(|| {
        let code = u16::try_from(u32::from(c)).ok()?;
        let place = PAIRS.iter().position(|(_, composed)| *composed == code)?;
        let (first, _) = *PAIRS.get(place)?;
        let group = SECONDS.partition_point(|(_, start)| usize::from(*start) <= place);
        let (second, _) = *SECONDS.get(group.checked_sub(1)?)?;
        Some((char::from_u32(first.into())?, char::from_u32(second.into())))
    })
}

/// The first character of the canonical decomposition of a symbol of the Basic Multilingual Plane:
/// `=` of `≠`.
pub(crate) fn symbol_of(c: char) -> char {
    let code = u32::from(c);
    let row = SYMBOLS.binary_search_by_key(&code, |(c, _)| u32::from(*c));
    let first = row.ok().and_then(|row| SYMBOLS.get(row));
    first
        .and_then(|(_, first)| char::from_u32((*first).into()))
        .unwrap_or(c)
}

/// The last of the first rows that all are `before`.
fn last_before<T>(rows: &[T], before: impl Fn(&T) -> bool) -> Option<&T> {
    rows.get(rows.partition_point(before).checked_sub(1)?)
}

/// Whether one of the ascending ranges, each from its first code to its last, contains `code`.
fn covered<T: Ord>(ranges: &[(T, T)], code: T) -> bool {
    last_before(ranges, |(first, _)| *first <= code).is_some_and(|(_, last)| code <= *last)
}

/// Ascending runs of characters of one plane: three bytes each.
struct Runs {
    firsts: &'static [u16],
    /// The number of characters after the first.
    more: &'static [u8],
}

/// Whether the runs of planes 0 and 1 contain `c`.
fn is_in(planes: &[Runs; 2], c: char) -> bool {
    let code = u32::from(c);
    let Some(Runs { firsts, more }) = planes.get((code >> 16) as usize) else {
        return false;
    };
    let code = code as u16;
    let after = firsts.partition_point(|first| *first <= code);
    let run = after.checked_sub(1);
    let run = run.and_then(|index| firsts.get(index).zip(more.get(index)));
    run.is_some_and(|(first, more)| code - first <= u16::from(*more))
}

macro_rules! runs {
    ($({ $($first:literal + $more:literal),* $(,)? }),*) => {
        [$(Runs { firsts: &[$($first),*], more: &[$($more),*] }),*]
    };
}

static MARKS: [Runs; 2] = runs! {{
    0x0300+111, 0x0483+6, 0x0591+44, 0x05bf+0, 0x05c1+1, 0x05c4+1, 0x05c7+2, 0x0610+10, 0x064b+20,
    0x0670+0, 0x06d6+6, 0x06df+5, 0x06e7+1, 0x06ea+3, 0x0711+0, 0x0730+26, 0x07a6+10, 0x07eb+8,
    0x07fd+0, 0x0816+3, 0x081b+8, 0x0825+2, 0x0829+4, 0x0859+2, 0x0897+8, 0x08ca+23, 0x08e3+32,
    0x093a+2, 0x093e+17, 0x0951+6, 0x0962+1, 0x0981+2, 0x09bc+0, 0x09be+6, 0x09c7+1, 0x09cb+2,
    0x09d7+0, 0x09e2+1, 0x09fe+0, 0x0a01+2, 0x0a3c+0, 0x0a3e+4, 0x0a47+1, 0x0a4b+2, 0x0a51+0,
    0x0a70+1, 0x0a75+0, 0x0a81+2, 0x0abc+0, 0x0abe+7, 0x0ac7+2, 0x0acb+2, 0x0ae2+1, 0x0afa+5,
    0x0b01+2, 0x0b3c+0, 0x0b3e+6, 0x0b47+1, 0x0b4b+2, 0x0b53+4, 0x0b62+1, 0x0b82+0, 0x0bbe+4,
    0x0bc6+2, 0x0bca+3, 0x0bd7+0, 0x0c00+4, 0x0c3c+0, 0x0c3e+6, 0x0c46+2, 0x0c4a+3, 0x0c55+1,
    0x0c62+1, 0x0c81+2, 0x0cbc+0, 0x0cbe+6, 0x0cc6+2, 0x0cca+3, 0x0cd5+1, 0x0ce2+1, 0x0cf3+0,
    0x0d00+3, 0x0d3b+1, 0x0d3e+6, 0x0d46+2, 0x0d4a+3, 0x0d57+0, 0x0d62+1, 0x0d81+2, 0x0dca+0,
    0x0dcf+5, 0x0dd6+0, 0x0dd8+7, 0x0df2+1, 0x0e31+0, 0x0e34+6, 0x0e47+7, 0x0eb1+0, 0x0eb4+8,
    0x0ec8+6, 0x0f18+1, 0x0f35+0, 0x0f37+0, 0x0f39+0, 0x0f3e+1, 0x0f71+19, 0x0f86+1, 0x0f8d+10,
    0x0f99+35, 0x0fc6+0, 0x102b+19, 0x1056+3, 0x105e+2, 0x1062+2, 0x1067+6, 0x1071+3, 0x1082+11,
    0x108f+0, 0x109a+3, 0x135d+2, 0x1712+3, 0x1732+2, 0x1752+1, 0x1772+1, 0x17b4+31, 0x17dd+0,
    0x180b+2, 0x180f+0, 0x1885+1, 0x18a9+0, 0x1920+11, 0x1930+11, 0x1a17+4, 0x1a55+9, 0x1a60+28,
    0x1a7f+0, 0x1ab0+64, 0x1b00+4, 0x1b34+16, 0x1b6b+8, 0x1b80+2, 0x1ba1+12, 0x1be6+13, 0x1c24+19,
    0x1cd0+2, 0x1cd4+20, 0x1ced+0, 0x1cf4+0, 0x1cf7+2, 0x1dc0+63, 0x200c+1, 0x20d0+32, 0x2cef+2,
    0x2d7f+0, 0x2de0+31, 0x302a+5, 0x3099+1, 0xa66f+3, 0xa674+9, 0xa69e+1, 0xa6f0+1, 0xa802+0,
    0xa806+0, 0xa80b+0, 0xa823+4, 0xa82c+0, 0xa880+1, 0xa8b4+17, 0xa8e0+17, 0xa8ff+0, 0xa926+7,
    0xa947+12, 0xa980+3, 0xa9b3+13, 0xa9e5+0, 0xaa29+13, 0xaa43+0, 0xaa4c+1, 0xaa7b+2, 0xaab0+0,
    0xaab2+2, 0xaab7+1, 0xaabe+1, 0xaac1+0, 0xaaeb+4, 0xaaf5+1, 0xabe3+7, 0xabec+1, 0xfb1e+0,
    0xfe00+15, 0xfe20+15,
}, {
    0x01fd+0, 0x02e0+0, 0x0376+4, 0x0a01+2, 0x0a05+1, 0x0a0c+3, 0x0a38+2, 0x0a3f+0, 0x0ae5+1,
    0x0d24+3, 0x0d69+4, 0x0eab+1, 0x0ecb+4, 0x0ef0+15, 0x0f46+10, 0x0f82+3, 0x1000+2, 0x1038+14,
    0x1070+0, 0x1073+1, 0x107f+3, 0x10b0+10, 0x10c2+0, 0x1100+2, 0x1127+13, 0x1145+1, 0x1173+0,
    0x1180+2, 0x11b3+13, 0x11c9+3, 0x11ce+1, 0x122c+11, 0x123e+0, 0x1241+0, 0x12df+11, 0x1300+3,
    0x133b+1, 0x133e+6, 0x1347+1, 0x134b+2, 0x1357+0, 0x1362+1, 0x1366+6, 0x1370+4, 0x13b8+8,
    0x13c2+0, 0x13c5+0, 0x13c7+3, 0x13cc+4, 0x13d2+0, 0x13e1+1, 0x1435+17, 0x145e+0, 0x14b0+19,
    0x15af+6, 0x15b8+8, 0x15dc+1, 0x1630+16, 0x16ab+12, 0x171d+14, 0x182c+14, 0x1930+5, 0x1937+1,
    0x193b+3, 0x1940+0, 0x1942+1, 0x19d1+6, 0x19da+6, 0x19e4+0, 0x1a01+9, 0x1a33+6, 0x1a3b+3,
    0x1a47+0, 0x1a51+10, 0x1a8a+15, 0x1b60+7, 0x1c2f+7, 0x1c38+7, 0x1c92+21, 0x1ca9+13, 0x1d31+5,
    0x1d3a+0, 0x1d3c+1, 0x1d3f+6, 0x1d47+0, 0x1d8a+4, 0x1d90+1, 0x1d93+4, 0x1df0+0, 0x1ef3+3,
    0x1f00+1, 0x1f03+0, 0x1f34+6, 0x1f3e+4, 0x1f5a+0, 0x3440+0, 0x3447+14, 0x611e+17, 0x6af0+4,
    0x6b30+6, 0x6f4f+0, 0x6f51+54, 0x6f8f+3, 0x6fe4+0, 0x6ff0+1, 0xbc9d+1, 0xcf00+45, 0xcf30+22,
    0xd127+1, 0xd165+4, 0xd16d+5, 0xd17b+7, 0xd185+6, 0xd1aa+3, 0xd242+2, 0xd250+2, 0xd25b+1,
    0xd25f+0, 0xd280+1, 0xda00+54, 0xda3b+49, 0xda75+0, 0xda84+0, 0xda9b+4, 0xdaa1+14, 0xe000+6,
    0xe008+16, 0xe01b+6, 0xe023+1, 0xe026+4, 0xe08f+0, 0xe130+6, 0xe2ae+0, 0xe2ec+3, 0xe4ec+3,
    0xe5ee+1, 0xe6e3+0, 0xe6e6+0, 0xe6ee+1, 0xe6f5+0, 0xe8d0+6, 0xe944+6,
}};

static STOPS: [Runs; 2] = runs! {{
    0x037e+0, 0x0589+0, 0x061d+2, 0x06d4+0, 0x0700+2, 0x07f9+0, 0x0837+0, 0x0839+0, 0x083d+1,
    0x0964+1, 0x0df4+0, 0x0e5a+1, 0x0f0d+4, 0x104b+0, 0x1362+0, 0x1367+1, 0x166e+0, 0x1735+1,
    0x17d4+1, 0x1803+0, 0x1809+0, 0x1944+1, 0x1aa8+3, 0x1b4f+0, 0x1b5a+1, 0x1b5f+0, 0x1b7d+2,
    0x1c3b+1, 0x1c7e+1, 0x2024+0, 0x203c+1, 0x2047+2, 0x2cf9+2, 0x2e2e+0, 0x2e3c+0, 0x2e53+1, 0x2e60+1,
    0x3002+0, 0xa4ff+0, 0xa60e+1, 0xa6f3+0, 0xa6f7+0, 0xa876+1, 0xa8ce+1, 0xa92f+0, 0xa9c9+0,
    0xaa5d+2, 0xaaf0+1, 0xabeb+0, 0xfe12+0, 0xfe15+1, 0xfe52+0, 0xfe56+1, 0xff01+0, 0xff0e+0,
    0xff1f+0, 0xff61+0,
}, {
    0x0a56+1, 0x0f55+4, 0x0f86+3, 0x1047+1, 0x10be+3, 0x1141+2, 0x11c5+1, 0x11cd+0, 0x11de+1,
    0x1238+1, 0x123b+1, 0x12a9+0, 0x13d4+1, 0x144b+1, 0x15c2+1, 0x15c9+14, 0x1641+1, 0x173c+2,
    0x1944+0, 0x1946+0, 0x1a42+1, 0x1a9b+1, 0x1c41+1, 0x1ef7+1, 0x1f43+1, 0x6a6e+1, 0x6af5+0,
    0x6b37+1, 0x6b44+0, 0x6d6e+1, 0x6e98+0, 0xbc9f+0, 0xda88+0,
}};

#[rustfmt::skip]
static UNSPACED: [(u16, u16); 64] = [
    (0x0e01, 0x0e30), (0x0e32, 0x0e33), (0x0e40, 0x0e46), (0x0e81, 0x0e82), (0x0e84, 0x0e84),
    (0x0e86, 0x0e8a), (0x0e8c, 0x0ea3), (0x0ea5, 0x0ea5), (0x0ea7, 0x0eb0), (0x0eb2, 0x0eb3),
    (0x0ebd, 0x0ebd), (0x0ec0, 0x0ec4), (0x0ec6, 0x0ec6), (0x0edc, 0x0edf), (0x1000, 0x102a),
    (0x103f, 0x103f), (0x1050, 0x1055), (0x105a, 0x105d), (0x1061, 0x1061), (0x1065, 0x1066),
    (0x106e, 0x1070), (0x1075, 0x1081), (0x108e, 0x108e), (0x1780, 0x17b3), (0x17d7, 0x17d7),
    (0x17dc, 0x17dc), (0x1950, 0x196d), (0x1970, 0x1974), (0x1980, 0x19ab), (0x19b0, 0x19c9),
    (0x1a20, 0x1a54), (0x1aa7, 0x1aa7), (0x1b05, 0x1b33), (0x1b45, 0x1b4c), (0x3005, 0x3007),
    (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303c), (0x3041, 0x3096), (0x309d, 0x309f),
    (0x30a1, 0x30fa), (0x30fc, 0x30ff), (0x3105, 0x312f), (0x31a0, 0x31bf), (0x31f0, 0x31ff),
    (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xa984, 0xa9b2), (0xa9cf, 0xa9cf), (0xa9e0, 0xa9e4),
    (0xa9e6, 0xa9ef), (0xa9fa, 0xa9fe), (0xaa60, 0xaa76), (0xaa7a, 0xaa7a), (0xaa7e, 0xaaaf),
    (0xaab1, 0xaab1), (0xaab5, 0xaab6), (0xaab9, 0xaabd), (0xaac0, 0xaac0), (0xaac2, 0xaac2),
    (0xaadb, 0xaadd), (0xf900, 0xfa6d), (0xfa70, 0xfad9), (0xff66, 0xff9f),
];

#[rustfmt::skip]
static UNSPACED_ABOVE: [(u32, u32); 20] = [
    (0x11700, 0x1171a), (0x11740, 0x11746), (0x16fe3, 0x16fe3), (0x16ff2, 0x16ff6),
    (0x1aff0, 0x1aff3), (0x1aff5, 0x1affb), (0x1affd, 0x1affe), (0x1b000, 0x1b128),
    (0x1b132, 0x1b132), (0x1b150, 0x1b152), (0x1b155, 0x1b155), (0x1b164, 0x1b168),
    (0x20000, 0x2a6df), (0x2a700, 0x2b81e), (0x2b820, 0x2cead), (0x2ceb0, 0x2ebe0),
    (0x2ebf0, 0x2ee5d), (0x2f800, 0x2fa1d), (0x30000, 0x3134a), (0x31350, 0x33479),
];

/// Runs of marks of one combining class: the first, the number of others, the class.
#[rustfmt::skip]
static CLASSES: [(u16, u8, u8); 319] = [
    (0x0300, 20, 230), (0x0315, 0, 232), (0x0316, 3, 220), (0x031a, 0, 232), (0x031b, 0, 216),
    (0x031c, 4, 220), (0x0321, 1, 202), (0x0323, 3, 220), (0x0327, 1, 202), (0x0329, 10, 220),
    (0x0334, 4, 1), (0x0339, 3, 220), (0x033d, 7, 230), (0x0345, 0, 240), (0x0346, 0, 230),
    (0x0347, 2, 220), (0x034a, 2, 230), (0x034d, 1, 220), (0x0350, 2, 230), (0x0353, 3, 220),
    (0x0357, 0, 230), (0x0358, 0, 232), (0x0359, 1, 220), (0x035b, 0, 230), (0x035c, 0, 233),
    (0x035d, 1, 234), (0x035f, 0, 233), (0x0360, 1, 234), (0x0362, 0, 233), (0x0363, 12, 230),
    (0x0483, 4, 230), (0x0591, 0, 220), (0x0592, 3, 230), (0x0596, 0, 220), (0x0597, 2, 230),
    (0x059a, 0, 222), (0x059b, 0, 220), (0x059c, 5, 230), (0x05a2, 5, 220), (0x05a8, 1, 230),
    (0x05aa, 0, 220), (0x05ab, 1, 230), (0x05ad, 0, 222), (0x05ae, 0, 228), (0x05af, 0, 230),
    (0x05b0, 0, 10), (0x05b1, 0, 11), (0x05b2, 0, 12), (0x05b3, 0, 13), (0x05b4, 0, 14),
    (0x05b5, 0, 15), (0x05b6, 0, 16), (0x05b7, 0, 17), (0x05b8, 0, 18), (0x05b9, 1, 19),
    (0x05bb, 0, 20), (0x05bc, 0, 21), (0x05bd, 0, 22), (0x05bf, 0, 23), (0x05c1, 0, 24),
    (0x05c2, 0, 25), (0x05c4, 0, 230), (0x05c5, 0, 220), (0x05c7, 0, 18), (0x05c8, 0, 10),
    (0x05c9, 0, 21), (0x0610, 7, 230), (0x0618, 0, 30), (0x0619, 0, 31), (0x061a, 0, 32),
    (0x064b, 0, 27), (0x064c, 0, 28), (0x064d, 0, 29), (0x064e, 0, 30), (0x064f, 0, 31),
    (0x0650, 0, 32), (0x0651, 0, 33), (0x0652, 0, 34), (0x0653, 1, 230), (0x0655, 1, 220),
    (0x0657, 4, 230), (0x065c, 0, 220), (0x065d, 1, 230), (0x065f, 0, 220), (0x0670, 0, 35),
    (0x06d6, 6, 230), (0x06df, 3, 230), (0x06e3, 0, 220), (0x06e4, 0, 230), (0x06e7, 1, 230),
    (0x06ea, 0, 220), (0x06eb, 1, 230), (0x06ed, 0, 220), (0x0711, 0, 36), (0x0730, 0, 230),
    (0x0731, 0, 220), (0x0732, 1, 230), (0x0734, 0, 220), (0x0735, 1, 230), (0x0737, 2, 220),
    (0x073a, 0, 230), (0x073b, 1, 220), (0x073d, 0, 230), (0x073e, 0, 220), (0x073f, 2, 230),
    (0x0742, 0, 220), (0x0743, 0, 230), (0x0744, 0, 220), (0x0745, 0, 230), (0x0746, 0, 220),
    (0x0747, 0, 230), (0x0748, 0, 220), (0x0749, 1, 230), (0x07eb, 6, 230), (0x07f2, 0, 220),
    (0x07f3, 0, 230), (0x07fd, 0, 220), (0x0816, 3, 230), (0x081b, 8, 230), (0x0825, 2, 230),
    (0x0829, 4, 230), (0x0859, 2, 220), (0x0897, 1, 230), (0x0899, 2, 220), (0x089c, 3, 230),
    (0x08ca, 4, 230), (0x08cf, 4, 220), (0x08d4, 13, 230), (0x08e3, 0, 220), (0x08e4, 1, 230),
    (0x08e6, 0, 220), (0x08e7, 1, 230), (0x08e9, 0, 220), (0x08ea, 2, 230), (0x08ed, 2, 220),
    (0x08f0, 0, 27), (0x08f1, 0, 28), (0x08f2, 0, 29), (0x08f3, 2, 230), (0x08f6, 0, 220),
    (0x08f7, 1, 230), (0x08f9, 1, 220), (0x08fb, 4, 230), (0x093c, 0, 7), (0x094d, 0, 9),
    (0x0951, 0, 230), (0x0952, 0, 220), (0x0953, 1, 230), (0x09bc, 0, 7), (0x09be, 0, 255),
    (0x09cd, 0, 9), (0x09d7, 0, 255), (0x09fe, 0, 230), (0x0a3c, 0, 7), (0x0a4d, 0, 9),
    (0x0abc, 0, 7), (0x0acd, 0, 9), (0x0b3c, 0, 7), (0x0b3e, 0, 255), (0x0b4d, 0, 9),
    (0x0b56, 1, 255), (0x0bbe, 0, 255), (0x0bcd, 0, 9), (0x0bd7, 0, 255), (0x0c3c, 0, 7),
    (0x0c4d, 0, 9), (0x0c55, 0, 84), (0x0c56, 0, 91), (0x0cbc, 0, 7), (0x0cc2, 0, 255),
    (0x0ccd, 0, 9), (0x0cd5, 1, 255), (0x0d3b, 1, 9), (0x0d3e, 0, 255), (0x0d4d, 0, 9),
    (0x0d57, 0, 255), (0x0dca, 0, 9), (0x0dcf, 0, 255), (0x0ddf, 0, 255), (0x0e38, 1, 103),
    (0x0e3a, 0, 9), (0x0e48, 3, 107), (0x0eb8, 1, 118), (0x0eba, 0, 9), (0x0ec8, 3, 122),
    (0x0f18, 1, 220), (0x0f35, 0, 220), (0x0f37, 0, 220), (0x0f39, 0, 216), (0x0f71, 0, 129),
    (0x0f72, 0, 130), (0x0f74, 0, 132), (0x0f7a, 3, 130), (0x0f80, 0, 130), (0x0f82, 1, 230),
    (0x0f84, 0, 9), (0x0f86, 1, 230), (0x0fc6, 0, 220), (0x102e, 0, 255), (0x1037, 0, 7),
    (0x1039, 1, 9), (0x108d, 0, 220), (0x135d, 2, 230), (0x1714, 1, 9), (0x1734, 0, 9),
    (0x17d2, 0, 9), (0x17dd, 0, 230), (0x18a9, 0, 228), (0x1939, 0, 222), (0x193a, 0, 230),
    (0x193b, 0, 220), (0x1a17, 0, 230), (0x1a18, 0, 220), (0x1a60, 0, 9), (0x1a75, 7, 230),
    (0x1a7f, 0, 220), (0x1ab0, 4, 230), (0x1ab5, 5, 220), (0x1abb, 1, 230), (0x1abd, 0, 220),
    (0x1abf, 1, 220), (0x1ac1, 1, 230), (0x1ac3, 1, 220), (0x1ac5, 4, 230), (0x1aca, 0, 220),
    (0x1acb, 17, 230), (0x1add, 0, 220), (0x1ade, 7, 230), (0x1ae6, 0, 220), (0x1ae7, 3, 230),
    (0x1aeb, 0, 234), (0x1aec, 1, 230), (0x1aee, 1, 220), (0x1af0, 0, 230), (0x1b34, 0, 7),
    (0x1b35, 0, 255), (0x1b44, 0, 9), (0x1b6b, 0, 230), (0x1b6c, 0, 220), (0x1b6d, 6, 230),
    (0x1baa, 1, 9), (0x1be6, 0, 7), (0x1bf2, 1, 9), (0x1c37, 0, 7), (0x1cd0, 2, 230),
    (0x1cd4, 0, 1), (0x1cd5, 4, 220), (0x1cda, 1, 230), (0x1cdc, 3, 220), (0x1ce0, 0, 230),
    (0x1ce2, 6, 1), (0x1ced, 0, 220), (0x1cf4, 0, 230), (0x1cf8, 1, 230), (0x1dc0, 1, 230),
    (0x1dc2, 0, 220), (0x1dc3, 6, 230), (0x1dca, 0, 220), (0x1dcb, 1, 230), (0x1dcd, 0, 234),
    (0x1dce, 0, 214), (0x1dcf, 0, 220), (0x1dd0, 0, 202), (0x1dd1, 36, 230), (0x1df6, 0, 232),
    (0x1df7, 1, 228), (0x1df9, 0, 220), (0x1dfa, 0, 218), (0x1dfb, 0, 230), (0x1dfc, 0, 233),
    (0x1dfd, 0, 220), (0x1dfe, 0, 230), (0x1dff, 0, 220), (0x20d0, 1, 230), (0x20d2, 1, 1),
    (0x20d4, 3, 230), (0x20d8, 2, 1), (0x20db, 1, 230), (0x20e1, 0, 230), (0x20e5, 1, 1),
    (0x20e7, 0, 230), (0x20e8, 0, 220), (0x20e9, 0, 230), (0x20ea, 1, 1), (0x20ec, 3, 220),
    (0x20f0, 0, 230), (0x2cef, 2, 230), (0x2d7f, 0, 9), (0x2de0, 31, 230), (0x302a, 0, 218),
    (0x302b, 0, 228), (0x302c, 0, 232), (0x302d, 0, 222), (0x302e, 1, 224), (0x3099, 1, 8),
    (0xa66f, 0, 230), (0xa674, 9, 230), (0xa69e, 1, 230), (0xa6f0, 1, 230), (0xa806, 0, 9),
    (0xa82c, 0, 9), (0xa8c4, 0, 9), (0xa8e0, 17, 230), (0xa92b, 2, 220), (0xa953, 0, 9),
    (0xa9b3, 0, 7), (0xa9c0, 0, 9), (0xaab0, 0, 230), (0xaab2, 1, 230), (0xaab4, 0, 220),
    (0xaab7, 1, 230), (0xaabe, 1, 230), (0xaac1, 0, 230), (0xaaf6, 0, 9), (0xabed, 0, 9),
    (0xfb1e, 0, 26), (0xfe20, 6, 230), (0xfe27, 6, 220), (0xfe2e, 1, 230),
];

/// Symbols that decompose, and the first character of each decomposition.
#[rustfmt::skip]
static SYMBOLS: [(u16, u16); 61] = [
    (0x037e, 0x003b), (0x0385, 0x00a8), (0x0387, 0x00b7), (0x1fc1, 0x00a8), (0x1fcd, 0x1fbf),
    (0x1fce, 0x1fbf), (0x1fcf, 0x1fbf), (0x1fdd, 0x1ffe), (0x1fde, 0x1ffe), (0x1fdf, 0x1ffe),
    (0x1fed, 0x00a8), (0x1fee, 0x00a8), (0x1fef, 0x0060), (0x1ffd, 0x00b4), (0x219a, 0x2190),
    (0x219b, 0x2192), (0x21ae, 0x2194), (0x21cd, 0x21d0), (0x21ce, 0x21d4), (0x21cf, 0x21d2),
    (0x2204, 0x2203), (0x2209, 0x2208), (0x220c, 0x220b), (0x2224, 0x2223), (0x2226, 0x2225),
    (0x2241, 0x223c), (0x2244, 0x2243), (0x2247, 0x2245), (0x2249, 0x2248), (0x2260, 0x003d),
    (0x2262, 0x2261), (0x226d, 0x224d), (0x226e, 0x003c), (0x226f, 0x003e), (0x2270, 0x2264),
    (0x2271, 0x2265), (0x2274, 0x2272), (0x2275, 0x2273), (0x2278, 0x2276), (0x2279, 0x2277),
    (0x2280, 0x227a), (0x2281, 0x227b), (0x2284, 0x2282), (0x2285, 0x2283), (0x2288, 0x2286),
    (0x2289, 0x2287), (0x22ac, 0x22a2), (0x22ad, 0x22a8), (0x22ae, 0x22a9), (0x22af, 0x22ab),
    (0x22e0, 0x227c), (0x22e1, 0x227d), (0x22e2, 0x2291), (0x22e3, 0x2292), (0x22ea, 0x22b2),
    (0x22eb, 0x22b3), (0x22ec, 0x22b4), (0x22ed, 0x22b5), (0x2329, 0x3008), (0x232a, 0x3009),
    (0x2adc, 0x2add),
];

/// Characters with the one or two (0: none) that replace them.
#[rustfmt::skip]
static NEVER_COMPOSED: [(u16, u16, u16); 85] = [
    (0x0340, 0x0300, 0x0), (0x0341, 0x0301, 0x0), (0x0343, 0x0313, 0x0), (0x0344, 0x0308, 0x301),
    (0x0374, 0x02b9, 0x0), (0x0958, 0x0915, 0x93c), (0x0959, 0x0916, 0x93c),
    (0x095a, 0x0917, 0x93c), (0x095b, 0x091c, 0x93c), (0x095c, 0x0921, 0x93c),
    (0x095d, 0x0922, 0x93c), (0x095e, 0x092b, 0x93c), (0x095f, 0x092f, 0x93c),
    (0x09dc, 0x09a1, 0x9bc), (0x09dd, 0x09a2, 0x9bc), (0x09df, 0x09af, 0x9bc),
    (0x0a33, 0x0a32, 0xa3c), (0x0a36, 0x0a38, 0xa3c), (0x0a59, 0x0a16, 0xa3c),
    (0x0a5a, 0x0a17, 0xa3c), (0x0a5b, 0x0a1c, 0xa3c), (0x0a5e, 0x0a2b, 0xa3c),
    (0x0b5c, 0x0b21, 0xb3c), (0x0b5d, 0x0b22, 0xb3c), (0x0f43, 0x0f42, 0xfb7),
    (0x0f4d, 0x0f4c, 0xfb7), (0x0f52, 0x0f51, 0xfb7), (0x0f57, 0x0f56, 0xfb7),
    (0x0f5c, 0x0f5b, 0xfb7), (0x0f69, 0x0f40, 0xfb5), (0x0f73, 0x0f71, 0xf72),
    (0x0f75, 0x0f71, 0xf74), (0x0f76, 0x0fb2, 0xf80), (0x0f78, 0x0fb3, 0xf80),
    (0x0f81, 0x0f71, 0xf80), (0x0f93, 0x0f92, 0xfb7), (0x0f9d, 0x0f9c, 0xfb7),
    (0x0fa2, 0x0fa1, 0xfb7), (0x0fa7, 0x0fa6, 0xfb7), (0x0fac, 0x0fab, 0xfb7),
    (0x0fb9, 0x0f90, 0xfb5), (0x1f71, 0x03ac, 0x0), (0x1f73, 0x03ad, 0x0), (0x1f75, 0x03ae, 0x0),
    (0x1f77, 0x03af, 0x0), (0x1f79, 0x03cc, 0x0), (0x1f7b, 0x03cd, 0x0), (0x1f7d, 0x03ce, 0x0),
    (0x1fbe, 0x03b9, 0x0), (0x1fd3, 0x0390, 0x0), (0x1fe3, 0x03b0, 0x0), (0xfb1d, 0x05d9, 0x5b4),
    (0xfb1f, 0x05f2, 0x5b7), (0xfb2a, 0x05e9, 0x5c1), (0xfb2b, 0x05e9, 0x5c2),
    (0xfb2c, 0xfb49, 0x5c1), (0xfb2d, 0xfb49, 0x5c2), (0xfb2e, 0x05d0, 0x5b7),
    (0xfb2f, 0x05d0, 0x5b8), (0xfb30, 0x05d0, 0x5bc), (0xfb31, 0x05d1, 0x5bc),
    (0xfb32, 0x05d2, 0x5bc), (0xfb33, 0x05d3, 0x5bc), (0xfb34, 0x05d4, 0x5bc),
    (0xfb35, 0x05d5, 0x5bc), (0xfb36, 0x05d6, 0x5bc), (0xfb38, 0x05d8, 0x5bc),
    (0xfb39, 0x05d9, 0x5bc), (0xfb3a, 0x05da, 0x5bc), (0xfb3b, 0x05db, 0x5bc),
    (0xfb3c, 0x05dc, 0x5bc), (0xfb3e, 0x05de, 0x5bc), (0xfb40, 0x05e0, 0x5bc),
    (0xfb41, 0x05e1, 0x5bc), (0xfb43, 0x05e3, 0x5bc), (0xfb44, 0x05e4, 0x5bc),
    (0xfb46, 0x05e6, 0x5bc), (0xfb47, 0x05e7, 0x5bc), (0xfb48, 0x05e8, 0x5bc),
    (0xfb49, 0x05e9, 0x5bc), (0xfb4a, 0x05ea, 0x5bc), (0xfb4b, 0x05d5, 0x5b9),
    (0xfb4c, 0x05d1, 0x5bf), (0xfb4d, 0x05db, 0x5bf), (0xfb4e, 0x05e4, 0x5bf),
];

/// The second characters of compositions, in ascending order. For each: the characters that it
/// composes with, in ascending order, and after each of these the composite.
#[rustfmt::skip]
const COMPOSITIONS: [(char, &str); 53] = [
    ('\u{300}', "aàeèiìnǹoòuùwẁyỳâầêềôồüǜăằēḕōṑơờưừαὰεὲηὴιὶοὸυὺωὼϊῒϋῢеѐиѝἀἂἁἃἐἒἑἓἠἢἡἣἰἲἱἳὀὂὁὃὐὒὑὓ\
        ὠὢὡὣ"),
    ('\u{301}', "aácćeégǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzźâấåǻæǽçḉêếïḯôốõṍøǿüǘăắēḗōṓũṹơớưứαάεέηήιίοόυύωώ\
        ϊΐϋΰϒϓгѓкќἀἄἁἅἐἔἑἕἠἤἡἥἰἴἱἵὀὄὁὅὐὔὑὕὠὤὡὥ"), ('\u{302}', "aâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷzẑạậẹệọộ"),
    ('\u{303}', "aãeẽiĩnñoõuũvṽyỹâẫêễôỗăẵơỡưữ"),
    ('\u{304}', "aāeēgḡiīoōuūyȳäǟæǣõȭöȫüǖǫǭȧǡȯȱαᾱιῑυῡиӣуӯḷḹṛṝ"),
    ('\u{306}', "aăeĕgğiĭoŏuŭȩḝαᾰιῐυῠаӑеӗжӂийуўạặ"),
    ('\u{307}', "aȧbḃcċdḋeėfḟgġhḣiimṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzżśṥšṧſẛṣṩ"),
    ('\u{308}', "aäeëhḧiïoötẗuüwẅxẍyÿõṏūṻιϊυϋϒϔаӓеёжӝзӟиӥоӧуӱчӵыӹэӭіїәӛөӫ"),
    ('\u{309}', "aảeẻiỉoỏuủyỷâẩêểôổăẳơởưử"), ('\u{30a}', "aåuůwẘyẙ"), ('\u{30b}', "oőuűуӳ"),
    ('\u{30c}', "aǎcčdďeěgǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzžüǚʒǯ"), ('\u{30f}', "aȁeȅiȉoȍrȑuȕѵѷ"),
    ('\u{311}', "aȃeȇiȋoȏrȓuȗ"), ('\u{313}', "αἀεἐηἠιἰοὀρῤυὐωὠ"), ('\u{314}', "αἁεἑηἡιἱοὁρῥυὑωὡ"),
    ('\u{31b}', "oơuư"), ('\u{323}', "aạbḅdḍeẹhḥiịkḳlḷmṃnṇoọrṛsṣtṭuụvṿwẉyỵzẓơợưự"),
    ('\u{324}', "uṳ"), ('\u{325}', "aḁ"), ('\u{326}', "sștț"),
    ('\u{327}', "cçdḑeȩgģhḩkķlļnņrŗsştţ"), ('\u{328}', "aąeęiįoǫuų"), ('\u{32d}', "dḓeḙlḽnṋtṱuṷ"),
    ('\u{32e}', "hḫ"), ('\u{330}', "eḛiḭuṵ"), ('\u{331}', "bḇdḏhẖkḵlḻnṉrṟtṯzẕ"),
    ('\u{342}', "αᾶηῆιῖυῦωῶϊῗϋῧἀἆἁἇἠἦἡἧἰἶἱἷὐὖὑὗὠὦὡὧ"),
    ('\u{345}', "άᾴήῄαᾳηῃωῳώῴἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗὠᾠὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧὰᾲὴῂὼῲᾶᾷῆῇῶῷ"),
    ('\u{653}', "\u{627}\u{622}"),
    ('\u{654}', "\u{627}\u{623}\u{648}\u{624}\u{64a}\u{626}\u{6c1}\u{6c2}\u{6d2}\u{6d3}\
        \u{6d5}\u{6c0}"), ('\u{655}', "\u{627}\u{625}"),
    ('\u{93c}', "\u{928}\u{929}\u{930}\u{931}\u{933}\u{934}"), ('\u{9be}', "\u{9c7}\u{9cb}"),
    ('\u{9d7}', "\u{9c7}\u{9cc}"), ('\u{b3e}', "\u{b47}\u{b4b}"), ('\u{b56}', "\u{b47}\u{b48}"),
    ('\u{b57}', "\u{b47}\u{b4c}"), ('\u{bbe}', "\u{bc6}\u{bca}\u{bc7}\u{bcb}"),
    ('\u{bd7}', "\u{b92}\u{b94}\u{bc6}\u{bcc}"), ('\u{c56}', "\u{c46}\u{c48}"),
    ('\u{cc2}', "\u{cc6}\u{cca}"), ('\u{cd5}', "\u{cbf}\u{cc0}\u{cc6}\u{cc7}\u{cca}\u{ccb}"),
    ('\u{cd6}', "\u{cc6}\u{cc8}"), ('\u{d3e}', "\u{d46}\u{d4a}\u{d47}\u{d4b}"),
    ('\u{d57}', "\u{d46}\u{d4c}"), ('\u{dca}', "\u{dd9}\u{dda}\u{ddc}\u{ddd}"),
    ('\u{dcf}', "\u{dd9}\u{ddc}"), ('\u{ddf}', "\u{dd9}\u{dde}"), ('\u{102e}', "\u{1025}\u{1026}"),
    ('\u{1b35}', "\u{1b05}\u{1b06}\u{1b07}\u{1b08}\u{1b09}\u{1b0a}\u{1b0b}\u{1b0c}\u{1b0d}\u{1b0e}\
        \u{1b11}\u{1b12}\u{1b3a}\u{1b3b}\u{1b3c}\u{1b3d}\u{1b3e}\u{1b40}\u{1b3f}\u{1b41}\
        \u{1b42}\u{1b43}"),
    ('\u{3099}', "うゔかがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべほぼゝゞウヴカガキギクグケゲコゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビ\
        フブヘベホボワヷヰヸヱヹヲヺヽヾ"), ('\u{309a}', "はぱひぴふぷへぺほぽハパヒピフプヘペホポ"),
];

/// Second characters, with the index of their first pair in [`PAIRS`].
static SECONDS: [(u16, u16); COMPOSITIONS.len()] = TABLES.seconds;

/// First characters, with the composite.
static PAIRS: [(u16, u16); 506] = TABLES.pairs;

/// [`COMPOSITIONS`] in a third of its bytes, computed by the compiler.
const TABLES: Tables = Tables::new();

struct Tables {
    seconds: [(u16, u16); COMPOSITIONS.len()],
    pairs: [(u16, u16); 506],
}

impl Tables {
    #[allow(clippy::indexing_slicing)] // Checked by the compiler.
    const fn new() -> Self {
        let (mut seconds, mut pairs) = ([(0, 0); COMPOSITIONS.len()], [(0, 0); 506]);
        let (mut row, mut pair) = (0, 0);
        while row < COMPOSITIONS.len() {
            let (second, text) = COMPOSITIONS[row];
            seconds[row] = (second as u16, pair as u16);
            let mut text = text.as_bytes();
            while !text.is_empty() {
                let (first, composite);
                (first, text) = next_code(text);
                (composite, text) = next_code(text);
                pairs[pair] = (first, composite);
                pair += 1;
            }
            row += 1;
        }
        Self { seconds, pairs }
    }
}

/// The code of the first character of `text`, and the text after it.
const fn next_code(text: &[u8]) -> (u16, &[u8]) {
    match text {
        [a @ 0..0x80, rest @ ..] => (*a as u16, rest),
        [a @ 0xc0..0xe0, b, rest @ ..] => ((*a as u16 & 0x1f) << 6 | *b as u16 & 0x3f, rest),
        [a, b, c, rest @ ..] => {
            let first = (*a as u16 & 0xf) << 12;
            (first | (*b as u16 & 0x3f) << 6 | *c as u16 & 0x3f, rest)
        }
        _ => (0, &[]),
    }
}
