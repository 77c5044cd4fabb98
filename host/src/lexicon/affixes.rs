//! Prefixes and suffixes shared by many words, with vectors that sum to those of the words.
//!
//! A list has the most frequent forms of a language; texts have other forms as well. An affix is
//! chosen if longest match splits many words that are not entries themselves into it and other
//! entries. A tokenizer's training counts alone would choose worse: with the same number of
//! WordPiece pieces, Turkish sentences are distinguished 2 points worse.

use std::cmp::Reverse;
use std::collections::HashMap;

use undertone_core::lexicon::{CONTINUATION, Matching, piece};
use undertone_core::pack::Pack;
use undertone_core::pack::format::MAX_WORDS;

use crate::error::{Error, Result};
use crate::lexicon::distil::{Features, STRIPE, Stripes, solve};
use crate::pack::LexiconData;

/// The least number of words that share an affix.
const LEAST: u64 = 3;

/// Candidates per affix to choose, before and after the least used ones are dropped.
const CANDIDATES: [usize; 2] = [4, 2];

/// The ridge penalty of the vectors, in units of words.
const RIDGE: f32 = 0.3;

/// Returns at most `most` affixes of the entries after the first `known`, and the vectors of the
/// known entries and of the affixes. `stripes` holds the vectors of all entries.
pub(super) fn fitted(
    entries: &[(String, u16)],
    known: usize,
    most: usize,
    mut stripes: Stripes,
) -> Result<(Vec<String>, Stripes)> {
    let (own, others) = entries.split_at(known);
    let parts = match most.min(others.len()) {
        0 => Vec::new(),
        most => chosen(own, others, most)?,
    };
    if parts.is_empty() {
        for stripe in &mut stripes {
            stripe.truncate(known);
        }
        return Ok((parts, stripes));
    }
    let parted = parted(own, &parts, others)?;
    // The columns of words are given; those of affixes are solved for.
    let (mut given, mut wanted) = (Features::new(known), Features::new(parts.len()));
    for word in &parted {
        let (words, affixes): (Vec<_>, Vec<_>) = word.iter().partition(|index| **index < known);
        let weight = |index: usize| f32::from(own[index].1) / f32::from(u16::MAX);
        given.row(words.iter().map(|index| (*index as u32, weight(*index))));
        wanted.row(affixes.iter().map(|index| ((index - known) as u32, 1.0)));
    }
    let squares = wanted.squares();
    for stripe in &mut stripes {
        let mut target = stripe.split_off(known);
        for (target, given) in target.iter_mut().zip(given.times(stripe)) {
            for (target, given) in target.iter_mut().zip(given) {
                *target -= given;
            }
        }
        let mut solution = vec![[0f32; STRIPE]; parts.len()];
        solve(&wanted, &target, &mut solution, &squares, &|_| RIDGE);
        stripe.extend(solution);
    }
    Ok((parts, stripes))
}

/// Returns the affixes that most words of `others` contain.
fn chosen(own: &[(String, u16)], others: &[(String, u16)], most: usize) -> Result<Vec<String>> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for (word, _) in others {
        let text = word.strip_prefix(CONTINUATION);
        let continues = text.is_some();
        let text = text.unwrap_or(word);
        for (place, _) in text.char_indices().skip(1) {
            let (start, end) = text.split_at(place);
            let parts = [piece(start, continues), piece(end, true)];
            for part in parts.into_iter().flatten() {
                *counts.entry(part.as_str().to_owned()).or_default() += 1;
            }
        }
    }
    for (word, _) in own {
        counts.remove(word);
    }
    let length = |part: &str| part.trim_start_matches(CONTINUATION).chars().count() as u64;
    let parts = counts.into_iter().filter(|(_, count)| *count >= LEAST);
    let parts = parts.map(|(part, count)| (count * length(&part), part));
    let mut parts: Vec<(u64, String)> = parts.collect();
    for of_each in CANDIDATES {
        let room = MAX_WORDS as usize - own.len();
        best(&mut parts, (of_each * most).min(room));
        let names: Vec<String> = parts.iter().map(|(_, part)| part.clone()).collect();
        let mut uses = vec![0; parts.len()];
        for index in parted(own, &names, others)?.iter().flatten() {
            if let Some(part) = index.checked_sub(own.len()) {
                uses[part] += 1;
            }
        }
        for (part, uses) in parts.iter_mut().zip(uses) {
            part.0 = uses;
        }
    }
    best(&mut parts, most);
    parts.retain(|(uses, _)| *uses > 0);
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

/// Keeps the `most` largest; ties are in the order of their text.
fn best(parts: &mut Vec<(u64, String)>, most: usize) {
    parts.sort_unstable_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
    parts.truncate(most);
}

/// Splits each of `words` by longest match, into the indices of entries and, after them, of
/// affixes.
fn parted(
    own: &[(String, u16)],
    parts: &[String],
    words: &[(String, u16)],
) -> Result<Vec<Vec<usize>>> {
    let entries = own.iter().map(|(word, _)| word).chain(parts);
    // A continuation is looked up as the end of a word.
    let whole = |word: &str| !word.starts_with(CONTINUATION);
    let texts = words.iter().map(|(word, _)| word.as_str());
    let texts = texts.map(|word| if whole(word) { word } else { "" });
    matches(entries.map(String::as_str), texts)
}

/// Returns the indices of the entries into which longest match splits each of `texts`.
pub(super) fn matches<'a>(
    entries: impl Iterator<Item = &'a str>,
    texts: impl Iterator<Item = &'a str>,
) -> Result<Vec<Vec<usize>>> {
    let mut entries: Vec<(&str, usize)> = entries.zip(0..).collect();
    entries.sort_unstable();
    let words = entries
        .iter()
        .map(|(entry, _)| ((*entry).to_owned(), 0, vec![0]));
    let draft = LexiconData {
        matching: Matching::Longest,
        exponent: 0,
        words: words.collect(),
        phrases: Vec::new(),
    };
    let bytes = draft.to_pack("draft", 1)?;
    let pack = Pack::parse(&bytes).map_err(Error::from)?;
    let lexicon = pack.lexicon().expect("the draft has a lexicon");
    let number = |found: Option<usize>| found.map(|index| entries[index].1);
    let found = |text: &str| {
        let mut numbers = Vec::new();
        lexicon.each_longest_match(text.as_bytes(), |found| numbers.extend(number(found)));
        numbers
    };
    Ok(texts.map(found).collect())
}
