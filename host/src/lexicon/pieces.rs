//! Lexicons for any language, made from a word list and a teacher's vector of each word.
//!
//! A *teacher* is any encoder that turns a word into a vector. Static embeddings made by it are
//! nearly as good for topics as the teacher itself, and need no corpus. The words become the
//! entries of a lexicon that is [matched by its longest entries](Matching::Longest), so languages
//! without spaces need no other tool. Frequent words weigh less. Vectors keep the directions in
//! which they differ most.
//!
//! Lexicons of several languages made by one multilingual teacher can share a [`Space`]. Heads
//! fitted on texts of one language then serve the others.
//!
//! Everything here is public.

use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

use nalgebra::DMatrix;
use undertone_core::lexicon::{CONTINUATION, MAX_LEXICON_DIMENSION, Matching, piece};
use undertone_core::pack::format::MAX_WORDS;

use crate::corpus::{CorpusDocument, LINE_LIMIT};
use crate::encoder::check_finite;
use crate::error::{Error, Result};
use crate::files::foreign;
use crate::files::lines::Lines;
use crate::files::resume::Encoding;
use crate::lexicon::affixes;
use crate::lexicon::distil::{Features, fit, principal_directions, projected, quantised, weight};
use crate::lexicon::word_vectors::Matrix;
use crate::pack::{exactly, limit};
use crate::progress::Progress;
use crate::text::number_beside;

/// Words of a language with their frequencies.
#[derive(Clone, Debug, PartialEq)]
pub struct WordList {
    /// The name of the file without its extensions.
    pub name: String,
    /// All lines, as written.
    pub lines: Vec<String>,
    /// The words that a lexicon can hold, most frequent first; ties are in the order of the list.
    pub words: Vec<ListedWord>,
    /// The number of lines that are not blank and hold no such word.
    pub left_out: usize,
}

/// A word that a lexicon can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedWord {
    /// The index of its line: the first, if several lines give the same entry.
    pub line: usize,
    /// The entry in the lexicon.
    pub entry: String,
    /// Its share of all words of a text, `0..=1`.
    pub frequency: f64,
}

impl WordList {
    /// Reads a list: one word per line, optionally followed by a tab and its frequency as a count
    /// or a share. Without frequencies, the list must be in the order of frequency, and Zipf's law
    /// gives the shares.
    ///
    /// Blank lines are skipped. Words are lower-cased, and lines that then have the same word count
    /// as one. Lines with anything else than one run of letters, digits and marks are left out. A
    /// word that continues another starts with `##`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a line that is not UTF-8 or longer
    /// than 16 MiB, a missing frequency if the first line has one, a frequency that is not finite
    /// or below 0, a list without a usable word, or a list most of whose lines have a number
    /// elsewhere or quotation marks.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let fail = |problem| {
            let path = path.display();
            Error::input(format!("cannot use the words of `{path}`: {problem}"))
        };
        let file = foreign::open_text(path)?;
        let mut reader = Lines::new(BufReader::new(file), LINE_LIMIT);
        let (mut lines, mut counts) = (Vec::new(), Vec::new());
        while let Some(line) = reader.next_line().transpose() {
            let number = lines.len() + 1;
            let wrong = |problem: String| fail(format!("line {number}: {problem}"));
            let line = line.map_err(|problem| wrong(problem.to_string()))?;
            let (word, count) = match line.split_once('\t') {
                None => (line, None),
                Some((word, "")) if word.trim().is_empty() => (word, None),
                Some((word, field)) => {
                    let count: f64 = field.trim().parse().unwrap_or(f64::NAN);
                    if !(0.0..=f64::MAX).contains(&count) {
                        let field: String = field.chars().take(24).collect();
                        return Err(wrong(format!(
                            "after the tab is {field:?}, not a number of at least 0 such as 0.1"
                        )));
                    }
                    (word, Some(count))
                }
            };
            lines.push(word.to_owned());
            counts.push(count);
        }
        // A blank line has a row among the vectors of the list, but no word.
        let (mut rank, mut counted) = (0.0, None);
        let mut frequencies = Vec::with_capacity(lines.len());
        for (number, (line, count)) in (1..).zip(lines.iter().zip(counts)) {
            if line.trim().is_empty() {
                frequencies.push(0.0);
                continue;
            }
            if *counted.get_or_insert(count.is_some()) != count.is_some() {
                return Err(fail(format!(
                    "line {number}: either all lines have a number after a tab, or none"
                )));
            }
            rank += 1.0;
            frequencies.push(count.unwrap_or(1.0 / rank));
        }
        let words = listed(&lines, &frequencies);
        let fault = |line: &str| {
            let is_mark = |x| ['"', '\'', '“', '«', '„', '[', '{'].contains(&x);
            let marked = "marks as of a quotation or of JSON are around the word; write it alone";
            let number = (counted == Some(false)).then(|| number_beside(line));
            let number = number.flatten();
            number.or_else(|| line.trim().starts_with(is_mark).then(|| marked.to_owned()))
        };
        let faults = lines.iter().filter(|line| fault(line).is_some()).count();
        if words.is_empty() || faults * 2 > rank as usize {
            let mut lines = (1..).zip(&lines);
            let found = lines.find_map(|(number, line)| Some((number, fault(line)?)));
            let found = found.map(|(line, fault)| format!("line {line}: {fault}"));
            return Err(fail(found.unwrap_or("it has no words".to_owned())));
        }
        let left_out = lines.iter().filter(|line| !line.trim().is_empty());
        let left_out = left_out.filter(|line| entry(line).is_none()).count();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.split('.').next().unwrap_or_default().to_owned(),
            lines,
            words,
            left_out,
        })
    }

    /// Combines the words with a teacher's vectors: `rows` has one row for each line of the list.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for another number of rows.
    pub fn with_vectors(&self, rows: &Matrix) -> Result<Pieces> {
        check_rows(rows, &self.name, self.lines.len())?;
        let row = |word: &ListedWord| &rows.elements[word.line * rows.columns..][..rows.columns];
        let vectors = self.words.iter().flat_map(row).copied().collect();
        Ok(self.pieces(self.name.clone(), vectors, rows.columns))
    }

    /// Combines the words with an encoder's vector of each word alone.
    ///
    /// # Errors
    /// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder); errors of the encoder.
    pub fn encode(&self, encoding: &mut Encoding<'_>) -> Result<Pieces> {
        let texts = self
            .words
            .iter()
            .map(|word| own_text(&self.lines[word.line]).0);
        let texts: Vec<&str> = texts.collect();
        let progress = Progress::new("encoding words", texts.len() as u64);
        let vectors = encoding.rows(&texts, &progress)?;
        let encoder = encoding.encoder();
        check_finite(encoder, &vectors, 0)?;
        let name = encoder.identity().name.clone();
        Ok(self.pieces(name, vectors, encoder.dimension()))
    }

    fn pieces(&self, name: String, vectors: Vec<f32>, dimension: usize) -> Pieces {
        let entry = |word: &ListedWord| (word.entry.clone(), weight(word.frequency));
        Pieces {
            name,
            entries: self.words.iter().map(entry).collect(),
            vectors,
            dimension,
        }
    }
}

/// Refuses a matrix that has not one row for each line of the file `name`.
fn check_rows(rows: &Matrix, name: &str, lines: usize) -> Result<()> {
    let found = rows.elements.len() / rows.columns;
    if found == lines {
        return Ok(());
    }
    Err(Error::input(format!(
        "the vectors have {found} rows, but `{name}` has {lines} lines; there must be one row a \
         line"
    )))
}

/// Strips the continuation prefix of a listed word, and returns whether it had one.
fn own_text(line: &str) -> (&str, bool) {
    match line.strip_prefix(CONTINUATION) {
        Some(own) => (own, true),
        None => (line, false),
    }
}

/// Returns the entry of a lexicon for a listed word, if it can hold one.
fn entry(line: &str) -> Option<String> {
    let (own, continues) = own_text(line);
    piece(own, continues).map(|entry| entry.as_str().to_owned())
}

/// Returns the usable words among `lines`.
fn listed(lines: &[String], counts: &[f64]) -> Vec<ListedWord> {
    let total: f64 = counts.iter().sum();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut words: Vec<ListedWord> = Vec::new();
    for (line, (text, count)) in lines.iter().zip(counts).enumerate() {
        let Some(entry) = entry(text) else {
            continue;
        };
        let place = *places.entry(entry.clone()).or_insert(words.len());
        if place == words.len() {
            words.push(ListedWord {
                line,
                entry,
                frequency: 0.0,
            });
        }
        words[place].frequency += if total > 0.0 { count / total } else { 0.0 };
    }
    words.sort_by(|a, b| b.frequency.total_cmp(&a.frequency));
    words
}

/// Directions of a teacher's vectors that lexicons of several languages may share.
#[derive(Clone, Debug, PartialEq)]
pub struct Space(DMatrix<f64>);

impl Space {
    /// Finds the `dimension` directions in which these rows differ most from their mean.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for more directions than
    /// coordinates, or more than 512.
    pub fn new(rows: &Matrix, dimension: usize) -> Result<Self> {
        space_of(&rows.elements, rows.columns, dimension)
    }
}

fn space_of(rows: &[f32], columns: usize, dimension: usize) -> Result<Space> {
    let most = columns.min(MAX_LEXICON_DIMENSION as usize);
    limit("coordinates", dimension, 1, most)?;
    Ok(Space(principal_directions(rows, columns, dimension)))
}

/// Entries of a lexicon that is matched by its longest entries, with vectors of any length.
#[derive(Clone, Debug, PartialEq)]
pub struct Pieces {
    /// The name of the lexicon.
    pub name: String,
    /// Distinct entries with their weights in 65535ths, most useful first.
    pub entries: Vec<(String, u16)>,
    /// `[entries][dimension]`, row-major, finite.
    pub vectors: Vec<f32>,
    /// The number of coordinates.
    pub dimension: usize,
}

impl Pieces {
    /// Makes a pack with a lexicon of the first entries.
    ///
    /// The mean of all entries is subtracted in any space. Affixes are the prefixes and suffixes
    /// that most of the remaining entries share. Their vectors are fitted so that the parts of a
    /// word sum to its vector; compounds and inflected forms that no list has are then represented
    /// by their parts. Texts adjust the vectors as in [`distil`](crate::lexicon::distil::distil).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a size outside the format, or
    /// a space or texts with vectors of another length;
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) if the numbers of vectors and texts
    /// differ.
    ///
    /// # Cost
    /// d²·entries multiplications for d coordinates, and d³ for the directions.
    ///
    /// # Source
    /// Arora, Liang and Ma 2017, A simple but tough-to-beat baseline for sentence embeddings: the
    /// weights. Tulkens and van Dongen 2024, Model2Vec: words alone through a sentence encoder. The
    /// affixes are ours.
    pub fn lexicon_pack(&self, plan: &Plan<'_>) -> Result<Vec<u8>> {
        let most = MAX_WORDS as usize;
        limit("words", plan.words, 2, most)?;
        limit("affixes", plan.affixes, 0, most - plan.words)?;
        let own;
        let directions = match plan.space {
            SpaceChoice::Given(Space(directions)) => {
                self.same_length(directions.nrows())?;
                directions
            }
            SpaceChoice::Own(dimension) => {
                own = space_of(&self.vectors, self.dimension, dimension)?.0;
                &own
            }
        };
        let stripes = projected(&self.vectors, self.dimension, directions);
        let known = self.entries.len().min(plan.words);
        let (parts, mut stripes) = affixes::fitted(&self.entries, known, plan.affixes, stripes)?;
        let own = self.entries[..known].iter();
        let words = own.map(|(entry, weight)| (entry.as_str(), *weight));
        let words = words.chain(parts.iter().map(|part| (part.as_str(), u16::MAX)));
        let words: Vec<(&str, u16)> = words.collect();
        if let Some(texts) = &plan.texts {
            self.same_length(texts.vectors.columns)?;
            let features = texts.features(&words)?;
            let targets = projected(&texts.vectors.elements, self.dimension, directions);
            stripes = fit(&features, &targets, &stripes);
        }
        let dimension = directions.ncols();
        let lexicon = quantised(Matching::Longest, &words, &[], &stripes, dimension);
        lexicon.to_pack(&format!("lexicon:{}", self.name), dimension)
    }

    /// Refuses vectors of a teacher whose length differs from that of the entries.
    fn same_length(&self, found: usize) -> Result<()> {
        exactly("coordinates of a teacher's vector", found, self.dimension)
    }
}

/// The plan for a lexicon.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The coordinate system.
    pub space: SpaceChoice<'a>,
    /// The most entries to keep, at least 2.
    pub words: usize,
    /// The most affixes.
    pub affixes: usize,
    /// Texts that the vectors are fitted to, if any.
    pub texts: Option<Texts<'a>>,
}

/// Public texts with the teacher's vector of each.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The texts, preferably of one sentence each.
    pub documents: &'a [CorpusDocument],
    /// One row per text.
    pub vectors: &'a Matrix,
}

impl Texts<'_> {
    /// Returns the coefficients of the entries' vectors in each text.
    fn features(&self, entries: &[(&str, u16)]) -> Result<Features> {
        check_rows(self.vectors, "the corpus", self.documents.len())?;
        let names = entries.iter().map(|(entry, _)| *entry);
        let texts = self.documents.iter().map(|document| document.text.as_str());
        let mut features = Features::new(entries.len());
        for matched in affixes::matches(names, texts)? {
            let weight = |index: &usize| f32::from(entries[*index].1);
            let total: f32 = matched.iter().map(weight).sum();
            let matched = matched.iter();
            features.row(matched.map(|index| (*index as u32, weight(index) / total)));
        }
        Ok(features)
    }
}

/// The choice of a lexicon's coordinates.
#[derive(Clone, Copy, Debug)]
pub enum SpaceChoice<'a> {
    /// The coordinates of this space.
    Given(&'a Space),
    /// The given number of principal directions of the entries' own vectors.
    Own(usize),
}
