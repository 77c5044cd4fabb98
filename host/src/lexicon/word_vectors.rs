//! Word vectors from a file, and the lexicon made from them.
//!
//! | ending | content |
//! | --- | --- |
//! | `.npy` | a matrix of f16, f32 or f64; its words, one per line, are in `NAME.vocab.txt` beside `NAME.npy`, `NAME.f16.npy` ... |
//! | `.txt`, `.vec` | GloVe or word2vec text: a word and its coordinates per line; a first line of two numbers is word2vec's count of words and coordinates |
//!
//! Text may be gzipped (`.txt.gz`, `.vec.gz`). Everything here is public.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use undertone_core::lexicon::{self, MAX_LEXICON_DIMENSION, Matching};
use undertone_core::pack::format::{MAX_DIMENSION, MAX_WORDS};

use crate::error::{Error, LineProblem, Result};
use crate::files::foreign;
use crate::files::lines::{Lines, unzipped};
use crate::lexicon::distil::WordCounts;
use crate::pack::{LexiconData, limit};

/// The longest line of a text file, in bytes: enough for a word and [`MAX_LEXICON_DIMENSION`]
/// coordinates.
const LINE_LIMIT: usize = 1 << 16;

/// The allowed exponents of a lexicon's coordinates.
const EXPONENTS: std::ops::RangeInclusive<i32> = -16..=32;

/// Words and their vectors, in the order of their file.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The name of the file without its extensions.
    pub name: String,
    /// The words, as written.
    pub words: Vec<String>,
    /// `[words][dimension]`, row-major, finite.
    pub vectors: Vec<f32>,
    /// The number of coordinates, `1..=4096`; at most 512 for a text file.
    pub dimension: usize,
}

/// A matrix from a `.npy` file.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// `[rows][columns]`, row-major, finite.
    pub elements: Vec<f32>,
    /// The number of columns, `1..=4096`.
    pub columns: usize,
}

/// A pack that holds only a lexicon, and statistics of its words.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The pack.
    pub pack: Vec<u8>,
    /// The number of its words.
    pub words: usize,
    /// The number of words that no text yields as one word, because they contain a space or
    /// punctuation, are overlong, or are a capitalised form of another.
    pub unusable: usize,
    /// The number of words that an earlier line had.
    pub duplicates: usize,
    /// The number of words whose coordinates are all zero, or become zero when rounded to bytes.
    pub zero: usize,
    /// The number of usable words after the last one taken.
    pub cut: usize,
    /// Coordinates are multiples of 2^`exponent`, from −127 to 127 times.
    pub exponent: i32,
    /// The number of larger coordinates, which were clamped.
    pub clamped: usize,
    /// The root of the sum of squared quantisation errors over the sum of squared coordinates.
    pub relative_error: f64,
}

impl Vectors {
    /// Reads word vectors; the [module](self) table gives the format for each file name.
    ///
    /// Memory holds the matrix as f32 and the words; the matrix of a text file takes up to twice
    /// its size, because its length is not known in advance.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for another extension, a matrix that is
    /// not of floats or not two-dimensional, different numbers of words and rows, rows of different
    /// lengths, more than 4096 coordinates (512 in a text file), a coordinate that is not a finite
    /// f32, or no word.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(stem) = file.strip_suffix(".npy") {
            let endings = [".f16", ".f32", ".f64"];
            let name = endings.iter().find_map(|end| stem.strip_suffix(end));
            return Self::open_npy(path, name.unwrap_or(stem))?.checked(path);
        }
        let stem = file.strip_suffix(".gz").unwrap_or(&file);
        let name = stem
            .strip_suffix(".txt")
            .or_else(|| stem.strip_suffix(".vec"))
            .ok_or_else(|| {
                let problem = "the ending is none of .npy, .txt, .vec, .txt.gz, .vec.gz";
                foreign::of_file(path).unwrap_or_else(|| fail(path)(problem.into()))
            })?;
        let source = File::open(path).map_err(Error::io("open", path))?;
        let source = unzipped(source).map_err(Error::io("read", path))?;
        Self::read_text(path, name, source)?.checked(path)
    }

    fn checked(self, path: &Path) -> Result<Self> {
        if self.words.is_empty() {
            return Err(fail(path)("no words".into()));
        }
        Ok(self)
    }

    fn open_npy(path: &Path, name: &str) -> Result<Self> {
        let words = read_words(&path.with_file_name(format!("{name}.vocab.txt")));
        let Matrix { elements, columns } = Matrix::open(path)?;
        let (words, rows) = (words?, elements.len() / columns);
        if words.len() != rows {
            return Err(fail(path)(format!(
                "{rows} rows, but {name}.vocab.txt beside it has {} words; there must be one a row",
                words.len()
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            words,
            vectors: elements,
            dimension: columns,
        })
    }

    fn read_text(path: &Path, name: &str, reader: impl BufRead) -> Result<Self> {
        let mut words = Vec::new();
        let mut vectors = Vec::new();
        // The number of coordinates, and the line that gives it.
        let mut first: Option<(usize, String)> = None;
        let mut promised = None;
        // The numbers of lines with more coordinates, and the first of each length.
        let mut longer: HashMap<usize, (usize, String)> = HashMap::new();
        let mut lines = Lines::new(reader, LINE_LIMIT);
        loop {
            let line = lines.number() + 1;
            let wrong = |problem: String| Err(fail(path)(format!("line {line}: {problem}")));
            let bytes = match lines.next_bytes() {
                Ok(Some(bytes)) if bytes.contains(&0) => return wrong(BINARY.into()),
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(problem) => return Err(line_problem(path, line, problem)),
            };
            let text = String::from_utf8_lossy(bytes);
            // A word that is not UTF-8 counts as unusable. A word may contain a no-break space.
            let fields: Vec<&str> = text
                .split([' ', '\t', '\n', '\r'])
                .filter(|field| !field.is_empty())
                .collect();
            if fields.is_empty() {
                continue;
            }
            if first.is_none()
                && let [count, columns] = fields[..]
                && let (Ok(count), Ok(columns)) = (count.parse::<u64>(), columns.parse::<u64>())
            {
                check_dimension(path, columns, MAX_LEXICON_DIMENSION)?;
                promised = Some(count);
                first = Some((columns as usize, format!("line {line} says")));
                continue;
            }
            // A space before the first coordinate separates it from a word that is empty or itself
            // a space.
            let is_wordless = text.starts_with([' ', '\t']) && fields[0].parse::<f32>().is_ok();
            let found = fields.len() - usize::from(!is_wordless);
            if first.is_none() {
                if found == 0 {
                    let problem = "no coordinate after the word; part word and coordinates with \
                                   spaces or tabs";
                    return wrong(problem.into());
                }
                check_dimension(path, found as u64, MAX_LEXICON_DIMENSION)?;
            }
            let (columns, source) =
                first.get_or_insert_with(|| (found, format!("line {line} has")));
            if found < *columns {
                let problem =
                    format!("{found} coordinates, but {source} {columns}; correct one of the two");
                return wrong(damage(&text).map_or(problem, str::to_owned));
            }
            // Some files have words that contain spaces, and words that are numbers.
            let (word, values) = fields.split_at(fields.len() - *columns);
            let is_number = |field: &&str| field.parse::<f32>().is_ok_and(f32::is_finite);
            if found > *columns && word.last().is_some_and(is_number) {
                let problem = format!("line {line}: {found} coordinates, but {source} {columns}");
                longer.entry(found).or_insert((0, problem)).0 += 1;
            }
            if let Err(problem) = parse_values(values, &mut vectors) {
                return wrong(damage(&text).map_or(problem, str::to_owned));
            }
            words.push(word.join(" "));
        }
        // Some words are phrases that end with a number; most are not.
        let mut longer = longer.into_values();
        if let Some((_, problem)) = longer.find(|(count, _)| count * 2 > words.len()) {
            return Err(fail(path)(format!("{problem}; correct that, or remove it")));
        }
        if let Some(promised) = promised
            && promised != words.len() as u64
        {
            let advice = if promised > words.len() as u64 {
                "is the file cut off?"
            } else {
                "that is more words than the first line says; correct it, or remove it"
            };
            return Err(fail(path)(format!(
                "{} words, but the first line says {promised}; {advice}",
                words.len(),
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            words,
            vectors,
            dimension: first.map_or(0, |(columns, _)| columns),
        })
    }

    /// Returns the vector of the word at `index`.
    ///
    /// # Panics
    /// If there is no such word.
    pub fn vector(&self, index: usize) -> &[f32] {
        &self.vectors[index * self.dimension..][..self.dimension]
    }

    /// Returns the rows with these indices, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn rows(&self, rows: &[usize]) -> Self {
        let vectors = rows.iter().flat_map(|row| self.vector(*row));
        Self {
            name: self.name.clone(),
            words: rows.iter().map(|row| self.words[*row].clone()).collect(),
            vectors: vectors.copied().collect(),
            dimension: self.dimension,
        }
    }

    /// Makes a pack with a lexicon of the first `most` usable words.
    ///
    /// A word is entered in the form that a device looks up: lower-cased, and only if the word
    /// splitter yields it whole. A word with capitals counts only if its lower-cased form is
    /// missing. The first of equal words counts, and words without a vector are left out. The
    /// file's order is kept until the cut, so a file sorted by frequency loses its rarest words.
    ///
    /// Coordinates become bytes times one power of two for all words, which preserves the ratios of
    /// distances. The power has the smallest sum of squared errors, so a finer step may clamp a few
    /// large coordinates.
    ///
    /// The weight of a word in sentence vectors is a/(a + frequency), by its frequency in `counts`.
    /// It is 1 without `counts`, or if `counts` lacks the word.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) if `most` is not 1 to 65 536, or
    /// for more than 512 coordinates; [`ErrorKind::Input`](crate::error::ErrorKind::Input) if no
    /// word is usable, or for a coordinate that no pack can hold.
    pub fn lexicon_pack(&self, counts: Option<&WordCounts>, most: usize) -> Result<Vocabulary> {
        limit("words", most, 1, MAX_WORDS as usize)?;
        let mut made = Vocabulary::default();
        let chosen = self.choose(most, &mut made);
        let rows = || chosen.iter().map(|(index, _)| self.vector(*index));
        let step = made.scale(|| rows().flatten().map(|x| f64::from(*x)))?;

        let mut entries: Vec<(String, u16, Vec<i8>)> = chosen
            .iter()
            .zip(rows())
            .map(|((_, key), row)| {
                let row = row.iter().map(|x| quantise((*x).into(), step)).collect();
                let weight = counts.map_or(u16::MAX, |counts| counts.weight(key));
                (key.clone(), weight, row)
            })
            .filter(|(.., row): &(_, _, Vec<i8>)| row.iter().any(|x| *x != 0))
            .collect();
        made.zero += chosen.len() - entries.len();
        made.words = entries.len();
        if entries.is_empty() {
            return Err(Error::input(format!(
                "none of the {} words of `{}` can be used; wanted are single words with \
                 vectors that are not zero",
                self.words.len(),
                self.name
            )));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let lexicon = LexiconData {
            matching: Matching::Words,
            // A sentence vector has 8 more bits than the words' vectors.
            exponent: made.exponent - 8,
            words: entries,
            phrases: Vec::new(),
        };
        made.pack = lexicon.to_pack(&self.name, self.dimension)?;
        Ok(made)
    }
}

impl Vectors {
    /// Returns the first `most` different words that a text can yield and that have a vector, in
    /// the form that a device looks up. Counts the others in `made`.
    fn choose(&self, most: usize, made: &mut Vocabulary) -> Vec<(usize, String)> {
        let starts_words = writes_spaces(self.words.iter().map(String::as_str));
        let mut usable = Vec::new();
        let mut lower = HashSet::new();
        for (index, word) in self.words.iter().enumerate() {
            let word = word.as_str();
            let whole = if starts_words {
                word.strip_prefix(SPACE)
            } else {
                Some(word)
            };
            let Some(key) = whole.and_then(lexicon::word) else {
                made.unusable += 1;
                continue;
            };
            if self.vector(index).iter().all(|x| *x == 0.0) {
                made.zero += 1;
                continue;
            }
            let (key, is_lower) = (key.as_str().to_owned(), whole == Some(key.as_str()));
            if is_lower {
                lower.insert(key.clone());
            }
            usable.push((index, key, is_lower));
        }
        let mut seen = HashSet::new();
        let mut chosen = Vec::new();
        for (index, key, is_lower) in usable {
            if !is_lower && lower.contains(&key) {
                made.unusable += 1;
            } else if !seen.insert(key.clone()) {
                made.duplicates += 1;
            } else if chosen.len() == most {
                made.cut += 1;
            } else {
                chosen.push((index, key));
            }
        }
        chosen
    }
}

impl Matrix {
    /// Reads a `.npy` file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for an array that is not of floats or
    /// not two-dimensional, rows of more than 4096 coordinates, fewer bytes than its header claims,
    /// or a coordinate that is not a finite f32.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let source = foreign::open(path)?;
        let bytes = source.metadata().map_err(Error::io("read", path))?.len();
        let mut reader = BufReader::new(source);
        let header = Header::read(&mut reader)
            .map_err(|problem| fail(path)(format!("not a .npy file: {problem}")))?;
        let [rows, columns] = header.shape[..] else {
            return Err(fail(path)(format!(
                "an array of {} dimensions; save a matrix with one row a word",
                header.shape.len()
            )));
        };
        check_dimension(path, columns, MAX_DIMENSION)?;
        let size = header.size().ok_or_else(|| {
            let advice = "save them as float16, float32 or float64";
            fail(path)(format!("elements of type {}; {advice}", header.kind))
        })?;
        // A header may claim anything.
        let needed = rows.saturating_mul(columns).saturating_mul(size as u64);
        let rest = bytes.saturating_sub(header.length);
        if needed != rest {
            let advice = if needed > rest {
                "is the file cut off?"
            } else {
                "save one matrix alone"
            };
            return Err(fail(path)(format!(
                "{rows} rows of {columns} coordinates take {needed} bytes, but {rest} follow the \
                 header; {advice}"
            )));
        }
        let (rows, columns) = (rows as usize, columns as usize);
        let mut elements = vec![0.0; rows * columns];
        for position in 0..elements.len() {
            let (row, column) = if header.by_column {
                (position % rows, position / rows)
            } else {
                (position / columns, position % columns)
            };
            let x = header.element(&mut reader, size);
            let x = x.map_err(Error::io("read", path))?;
            if !x.is_finite() {
                return Err(fail(path)(format!(
                    "row {}: coordinate {} is {x}; it must be finite and at most {:e}",
                    row + 1,
                    column + 1,
                    f32::MAX
                )));
            }
            elements[row * columns + column] = x;
        }
        Ok(Self { elements, columns })
    }
}

/// The header of a `.npy` file.
struct Header {
    /// NumPy's name of the type of the elements, such as `<f4`.
    kind: String,
    by_column: bool,
    shape: Vec<u64>,
    /// Its bytes in the file.
    length: u64,
}

impl Header {
    fn read(reader: &mut impl Read) -> std::result::Result<Self, &'static str> {
        let mut take = |length: usize| {
            let mut bytes = vec![0; length];
            let read = reader.read_exact(&mut bytes);
            read.map(|()| bytes).map_err(|_| "it ends too early")
        };
        let start = take(8)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err("it does not begin as one");
        }
        let width = if start[6] == 1 { 2 } else { 4 };
        let mut length = [0; 4];
        length[..width].copy_from_slice(&take(width)?);
        let length = u32::from_le_bytes(length);
        if length > NPY_HEADER {
            return Err("its header is too long; save a matrix of float16, float32 or float64");
        }
        let end = 8 + width as u64 + u64::from(length);
        let text =
            String::from_utf8(take(length as usize)?).map_err(|_| "its header is no text")?;
        let value = |name: &str| {
            let (_, rest) = text.split_once(&format!("'{name}':"))?;
            Some(rest.trim_start())
        };
        let shape = value("shape").and_then(|rest| {
            let (sizes, _) = rest.strip_prefix('(')?.split_once(')')?;
            let sizes = sizes.split(',').map(str::trim);
            let sizes = sizes.filter(|size| !size.is_empty());
            sizes.map(|size| size.parse().ok()).collect()
        });
        let kind = value("descr").and_then(|rest| rest.split([',', '}']).next());
        let order = value("fortran_order").ok_or("its header lacks the order of the elements")?;
        let kind = kind.ok_or("its header lacks the type of the elements")?;
        Ok(Self {
            kind: kind.trim_matches('\'').to_owned(),
            by_column: order.starts_with("True"),
            shape: shape.ok_or("its header lacks a shape of whole numbers")?,
            length: end,
        })
    }

    /// Bytes of an element, for the types that are read.
    fn size(&self) -> Option<usize> {
        match self.kind.strip_prefix(['<', '>'])? {
            "f2" => Some(2),
            "f4" => Some(4),
            "f8" => Some(8),
            _ => None,
        }
    }

    fn element(&self, reader: &mut impl Read, size: usize) -> std::io::Result<f32> {
        let mut bytes = [0; 8];
        let own = &mut bytes[..size];
        reader.read_exact(own)?;
        if self.kind.starts_with('>') {
            own.reverse();
        }
        let [a, b, c, d, ..] = bytes;
        Ok(match size {
            2 => half(u16::from_le_bytes([a, b])),
            4 => f32::from_le_bytes([a, b, c, d]),
            _ => f64::from_le_bytes(bytes) as f32,
        })
    }
}

/// A number of half precision (IEEE 754 binary16).
pub(super) fn half(bits: u16) -> f32 {
    let fraction = f32::from(bits & 0x3ff);
    let size = match bits >> 10 & 0x1f {
        0 => fraction * 2f32.powi(-24),
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        exponent => (1024.0 + fraction) * 2f32.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

impl Vocabulary {
    /// Returns the step with the smallest error for these coordinates, and records its effects.
    fn scale<I: Iterator<Item = f64>>(&mut self, coordinates: impl Fn() -> I) -> Result<f64> {
        let largest = coordinates().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let fits = |exponent: &i32| largest <= 127.0 * 2f64.powi(*exponent);
        let Some(fitting) = EXPONENTS.clone().find(fits) else {
            return Err(Error::input(format!(
                "a word vector has a coordinate of {:e}, the largest allowed is {:e}; \
                 scale the vectors",
                largest as f32,
                127.0 * 2f32.powi(*EXPONENTS.end())
            )));
        };
        let (squared_error, exponent) = (fitting - 2..=fitting)
            .filter(|exponent| EXPONENTS.contains(exponent))
            .map(|exponent| {
                let step = 2f64.powi(exponent);
                let error = |x: f64| (f64::from(quantise(x, step)) * step - x).powi(2);
                (coordinates().map(error).sum::<f64>(), exponent)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("the fitting exponent is one");
        let step = 2f64.powi(exponent);
        self.exponent = exponent;
        self.clamped = coordinates().filter(|x| x.abs() > 127.5 * step).count();
        let squares: f64 = coordinates().map(|x| x * x).sum();
        self.relative_error = (squared_error / squares).sqrt();
        Ok(step)
    }
}

/// The character that starts a word in SentencePiece vocabularies; other entries continue a word.
pub(super) const SPACE: char = '▁';

/// Returns whether [`SPACE`] marks the starts of words, rather than being in a few entries by
/// chance.
pub(super) fn writes_spaces<'a>(entries: impl Iterator<Item = &'a str>) -> bool {
    let (mut all, mut starting) = (0u64, 0u64);
    for entry in entries {
        all += 1;
        let rest = entry.strip_prefix(SPACE);
        starting += u64::from(rest.is_some_and(|rest| !rest.is_empty()));
    }
    starting > 0 && starting >= all / 16
}

const BINARY: &str = "it is binary; save the vectors as text";

/// Returns the fault of a line that no text has.
fn damage(text: &str) -> Option<&'static str> {
    let is_strange = |x: char| x == '\u{fffd}' || x.is_control() && !x.is_whitespace();
    let rest = text.split_once(' ').map_or("", |(_, rest)| rest);
    if rest.contains(is_strange) {
        return Some(BINARY);
    }
    let has_return = text.contains('\r');
    has_return.then_some("a carriage return ends no line; end lines with line feeds")
}

/// Appends the coordinates of a line.
fn parse_values(values: &[&str], vectors: &mut Vec<f32>) -> std::result::Result<(), String> {
    for (column, value) in (1..).zip(values) {
        match value.parse::<f32>() {
            Ok(x) if x.is_finite() => vectors.push(x),
            Ok(_) => {
                return Err(format!(
                    "coordinate {column} is {value}; it must be finite and at most {:e}",
                    f32::MAX
                ));
            }
            Err(_) => {
                let value: String = value.chars().take(24).collect();
                return Err(format!(
                    "coordinate {column} is {value:?}, not a number such as 0.1"
                ));
            }
        }
    }
    Ok(())
}

fn quantise(x: f64, step: f64) -> i8 {
    (x / step).round().clamp(-127.0, 127.0) as i8
}

pub(super) fn fail(path: &Path) -> impl FnOnce(String) -> Error {
    move |problem| {
        let path = path.display();
        Error::input(format!("cannot take word vectors from `{path}`: {problem}"))
    }
}

fn check_dimension(path: &Path, found: u64, most: u32) -> Result<()> {
    if (1..=most.into()).contains(&found) {
        return Ok(());
    }
    let problem = format!("vectors of {found} coordinates; allowed are 1 to {most}");
    Err(fail(path)(problem))
}

/// The longest accepted header of a `.npy` file, in bytes; that of a matrix takes 128.
const NPY_HEADER: u32 = 4096;

/// Reads the lines of a file of words.
fn read_words(path: &Path) -> Result<Vec<String>> {
    let mut lines = Lines::new(BufReader::new(foreign::open_text(path)?), LINE_LIMIT);
    let mut words = Vec::new();
    while let Some(word) = lines.next_line().transpose() {
        let number = words.len() as u64 + 1;
        let word = word.map_err(|problem| line_problem(path, number, problem))?;
        words.push(word.to_owned());
    }
    Ok(words)
}

/// Returns the error for a line.
fn line_problem(path: &Path, number: u64, problem: LineProblem) -> Error {
    let hint = match problem {
        LineProblem::TooLong { limit } => {
            format!("longer than {limit} bytes; is this a file of word vectors?")
        }
        problem => problem.to_string(),
    };
    fail(path)(format!("line {number}: {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::fs;
    use std::io::Write;
    use tempfile::TempDir;
    use undertone_core::lexicon::words;
    use undertone_core::pack::Pack;
    use zerocopy::{Immutable, IntoBytes};

    /// A `.npy` file; `kind` is NumPy's name of the type of the elements.
    fn npy(
        kind: &str,
        shape: &str,
        by_column: bool,
        elements: &(impl IntoBytes + Immutable + ?Sized),
    ) -> Vec<u8> {
        let order = if by_column { "True" } else { "False" };
        let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
        // NumPy's own length: a multiple of 64 bytes with what comes before.
        let header = format!("{header:117}\n");
        let length = (header.len() as u16).to_le_bytes();
        let start = b"\x93NUMPY\x01\x00";
        [start, &length[..], header.as_bytes(), elements.as_bytes()].concat()
    }

    fn folder(files: &[(&str, &[u8])]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    fn read(name: &str, content: &[u8]) -> Result<Vectors> {
        Vectors::open(folder(&[(name, content)]).path().join(name))
    }

    fn open_npy(bytes: &[u8], words: &[u8]) -> Result<Vectors> {
        let folder = folder(&[("a.npy", bytes), ("a.vocab.txt", words)]);
        Vectors::open(folder.path().join("a.npy"))
    }

    fn assert_names(error: &Error, part: &str) {
        let error = error.to_string();
        assert!(error.contains(part), "no \"{part}\" in: {error}");
    }

    fn vectors(entries: &[(&str, &[f32])]) -> Vectors {
        Vectors {
            name: "test".to_owned(),
            words: entries.iter().map(|(word, _)| (*word).to_owned()).collect(),
            vectors: entries.iter().flat_map(|(_, row)| row.to_vec()).collect(),
            dimension: entries[0].1.len(),
        }
    }

    #[test]
    fn a_matrix_of_any_float_type_is_read() {
        let wanted = [0.5f32, -1.0, 2.0, 0.25, 0.0, -8.0];
        let halves = [0x3800, 0xbc00, 0x4000, 0x3400, 0, 0xc800u16];
        let doubles = wanted.map(f64::from);
        let columns = [0.5, 2.0, 0.0, -1.0, 0.25, -8.0];
        for (file, bytes) in [
            ("a.f16.npy", npy("<f2", "(3, 2)", false, &halves)),
            ("a.f32.npy", npy("<f4", "(3, 2)", false, &wanted)),
            ("a.npy", npy("<f8", "(3, 2)", false, &doubles)),
            ("a.npy", npy("<f8", "(3, 2)", true, &columns)),
        ] {
            let folder = folder(&[(file, &bytes), ("a.vocab.txt", b"one\r\ntwo\nthree")]);
            let read = Vectors::open(folder.path().join(file)).unwrap();
            assert_eq!(read.words, ["one", "two", "three"]);
            assert_eq!((read.name.as_str(), read.dimension), ("a", 2));
            assert_eq!(read.vectors, wanted);
            assert_eq!(read.vector(1), [2.0, 0.25]);
        }
    }

    #[test]
    fn numbers_of_half_precision_are_exact() {
        for (bits, number) in [
            (0x0001, 2f32.powi(-24)),
            (0x03ff, 1023.0 * 2f32.powi(-24)),
            (0x0400, 2f32.powi(-14)),
            (0x3c01, 1.0 + 2f32.powi(-10)),
            (0xfbff, -65504.0),
            (0x8000, -0.0),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(half(bits).to_bits(), number.to_bits(), "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }

    /// NumPy also reads numbers in the byte order of other processors.
    #[test]
    fn the_highest_byte_may_come_first() {
        let elements = [0.5f32, -3.0].map(f32::to_be_bytes);
        let bytes = npy(">f4", "(1, 2)", false, &elements);
        let folder = folder(&[("a.npy", &bytes)]);
        let read = Matrix::open(folder.path().join("a.npy")).unwrap();
        assert_eq!(read.elements, [0.5, -3.0]);
    }

    #[test]
    fn a_wrong_matrix_is_named() {
        let f4 = |shape: &str, elements: &[f32]| npy("<f4", shape, false, elements);
        let good = f4("(2, 2)", &[1.0; 4]);
        let (ones, more) = ([1i32; 4], [1.0, 1e39, 3.0, 4.0]);
        let words: &[u8] = b"one\ntwo\n";
        for (bytes, words, part) in [
            (f4("(4,)", &[1.0; 4]), words, "array of 1 dimensions"),
            (
                npy("<i4", "(2, 2)", false, &ones),
                words,
                "<i4; save them as float16",
            ),
            (
                f4("(2, 0)", &[]),
                words,
                "0 coordinates; allowed are 1 to 4096",
            ),
            (f4("(1, 4097)", &[0.0; 4097]), b"one", "4097 coordinates"),
            (
                f4("(2, 2)", &[1.0, 2.0, 3.0, f32::NAN]),
                words,
                "row 2: coordinate 2 is NaN",
            ),
            (
                npy("<f8", "(2, 2)", false, &more),
                words,
                "row 1: coordinate 2 is inf; it must be",
            ),
            (
                good.clone(),
                b"one",
                "2 rows, but a.vocab.txt beside it has 1 words",
            ),
            (
                good.clone(),
                b"one\ntw\xff\n",
                "a.vocab.txt`: line 2: not UTF-8",
            ),
            (f4("(0, 2)", &[]), b"", "no words"),
            (good[..good.len() - 1].to_vec(), words, "cut off"),
            (
                [&good[..], b"\0"].concat(),
                words,
                "17 follow the header; save one matrix alone",
            ),
            (b"\x93NUMPY".to_vec(), words, "not a .npy file"),
            (Vec::new(), words, "not a .npy file"),
        ] {
            assert_names(&open_npy(&bytes, words).unwrap_err(), part);
        }
        assert_names(&read("a.npy", &good).unwrap_err(), "a.vocab.txt");
    }

    #[test]
    fn text_is_read_with_and_without_a_first_line() {
        let glove = "the 1 -2.5\ncat 3e-1 4\n. . . 5 6\nnan 7 8\n 9 1\n1 2 3 4\n\n";
        let read_glove = read("g.txt", glove.as_bytes()).unwrap();
        assert_eq!(read_glove.words, ["the", "cat", ". . .", "nan", "", "1 2"]);
        let coordinates = [1.0, -2.5, 0.3, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 3.0, 4.0];
        assert_eq!(read_glove.vectors, coordinates);
        let latin = read("g.txt", b"caf\xe9 1 2\ncat 3 4\n").unwrap();
        let made = latin.lexicon_pack(None, 9).unwrap();
        assert_eq!((made.words, made.unusable), (1, 1));
        let word2vec = format!("6 2\r\n{}", glove.replace('\n', " \r\n"));
        assert_eq!(read("g.vec", word2vec.as_bytes()).unwrap(), read_glove);
        let blank_first = format!("\n \n{word2vec}");
        assert_eq!(read("g.vec", blank_first.as_bytes()).unwrap(), read_glove);
        for (text, words) in [
            (" 1.5 2\ncat 3 4\n", &["", "cat"][..]),
            ("2 1\nnew york 1\nel paso 2\n", &["new york", "el paso"]),
            ("a 1\nx 95 1\ny 747 1\nb 2\n", &["a", "x 95", "y 747", "b"]),
            ("2 1\nnot nan 1\nto inf 2\n", &["not nan", "to inf"]),
            ("<title> .1 .2\nball .2 .3\n", &["<title>", "ball"]),
        ] {
            assert_eq!(read("g.vec", text.as_bytes()).unwrap().words, words);
        }
        let mut gzipped = GzEncoder::new(Vec::new(), Compression::fast());
        gzipped.write_all(glove.as_bytes()).unwrap();
        let gzipped = gzipped.finish().unwrap();
        assert_eq!(read("g.txt.gz", &gzipped).unwrap(), read_glove);
    }

    #[test]
    fn a_wrong_line_is_named() {
        // A text, and a part of its error.
        for case in [
            "a 1 2\nb 1 => line 2: 1 coordinates, but line 1 has 2",
            "2 2\n 1 2\nb 1 => line 3: 1 coordinates, but line 1 says 2",
            "3 300\na 1 2 3\n => line 2: 3 coordinates, but line 1 says 300",
            "3 3 1\na 1 2 3\nb 1 2 3\n => line 2: 3 coordinates, but line 1 has 2",
            "3.0 3.0\na 1 2 3\nb 1 2 3\n => line 2: 3 coordinates, but line 1 has 1",
            "-1 3\na 1 2 3\nb 1 2 3\n => line 2: 3 coordinates, but line 1 has 1",
            "\na 1\nb 1\nc 1 2\nd 1 2\ne 1 2\n => line 4: 2 coordinates, but line 2 has 1",
            "a 1 2\nb 1 0,5 => line 2: coordinate 2 is \"0,5\", not a number",
            "a [1 2]\n => line 1: coordinate 1 is \"[1\"",
            "3 3\ra 1 2 3\rb 1 2 3 => line 1: a carriage return ends no line",
            "a 1 2\nb inf 1 => line 2: coordinate 1 is inf; it must be finite",
            "a 1 2\nb 1 nan => line 2: coordinate 2 is nan",
            "a 1 2\nb 1 4e38 => line 2: coordinate 2 is 4e38; it must be finite and at most 3.4",
            "3 2\na 1 2\nb 1 2 => 2 words, but the first line says 3; is the file cut off",
            "1 2\na 1 2\nb 1 2 => 2 words, but the first line says 1; that is more words",
            "<!DOCTYPE html><html> => web page",
            "3 513\n => 513 coordinates; allowed are 1 to 512",
            "word\n => line 1: no coordinate after the word; part word and coordinates with spaces",
            "a,1,2\n => line 1: no coordinate",
            "1 2\na 1 2 3\n => 3 coordinates, but line 1 says 2",
            "0 2\n => no words",
            "\n\n => no words",
            " => no words",
        ] {
            let (text, part) = case.split_once(" => ").unwrap();
            let error = read("a.txt", text.as_bytes()).unwrap_err();
            assert_names(&error, part);
            assert_names(&error, "a.txt");
        }
        for (bytes, part) in [
            (&b"1 300\na \x9a\x01?\n"[..], "line 2: it is binary"),
            (b"2 2\na \0\0\x80?\0\0\0\0\n", "line 2: it is binary"),
            (&[b'x'; 100_000], "line 1: longer than 65536"),
        ] {
            assert_names(&read("a.txt", bytes).unwrap_err(), part);
        }
        // Browsers unpack some downloads and keep their names.
        assert_eq!(read("a.txt.gz", b"a 1 2\n").unwrap().words, ["a"]);
        assert_names(
            &read("a.bin", b"").unwrap_err(),
            "the ending is none of .npy",
        );
        let error = Vectors::open("absent.txt").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Io);
    }

    #[test]
    fn a_lexicon_has_what_the_tokeniser_finds() {
        let vectors = vectors(&[
            ("Apple", &[1.0, 0.0]),
            ("apple", &[2.0, 0.0]),
            ("Paris", &[3.0, 0.0]),
            ("PARIS", &[4.0, 0.0]),
            ("don’t", &[5.0, 0.0]),
            ("apple", &[6.0, 0.0]),
            ("New_York", &[7.0, 0.0]),
            ("'tis", &[7.0, 0.0]),
            ("", &[7.0, 0.0]),
            ("two words", &[7.0, 0.0]),
            (&"x".repeat(49), &[7.0, 0.0]),
            ("nothing", &[0.0, -0.0]),
            ("Nothing", &[0.0, 7.0]),
            ("tiny", &[0.001, 0.0]),
            ("last", &[0.0, -127.0]),
            ("behind", &[1.0, 1.0]),
        ]);
        let made = vectors.lexicon_pack(None, 6).unwrap();
        assert_eq!((made.words, made.unusable, made.duplicates), (5, 6, 2));
        assert_eq!((made.zero, made.cut, made.exponent), (2, 1, 0));
        assert_eq!(made.clamped, 0);
        assert!((made.relative_error - 0.001 / 127.6f64).abs() < 1e-6);
        let pack = Pack::parse(&made.pack).unwrap();
        let lexicon = pack.lexicon().unwrap();
        assert_eq!((pack.encoder_name(), lexicon.exponent()), ("test", -8));
        let found = |word| lexicon.find(word).and_then(|index| lexicon.entry(index));
        for (word, vector) in [
            ("apple", [2, 0]),
            ("paris", [3, 0]),
            ("don't", [5, 0]),
            ("nothing", [0, 7]),
            ("last", [0, -127]),
        ] {
            assert_eq!(found(word), Some((u16::MAX, &vector[..])), "{word}");
        }
        let whole = vectors.lexicon_pack(None, 65_536).unwrap();
        assert_eq!((whole.words, whole.cut), (6, 0));
    }

    #[test]
    fn of_pieces_those_that_are_words_are_taken() {
        let pieces = vectors(&[
            ("▁the", &[1.0]),
            ("the", &[2.0]),
            ("s", &[3.0]),
            ("▁", &[4.0]),
            ("▁cat", &[5.0]),
        ]);
        let made = pieces.lexicon_pack(None, 9).unwrap();
        assert_eq!((made.words, made.unusable), (2, 3));
        let pack = Pack::parse(&made.pack).unwrap();
        let lexicon = pack.lexicon().unwrap();
        let found = |word| lexicon.find(word).and_then(|index| lexicon.entry(index));
        assert_eq!(
            [found("the"), found("cat")].map(|own| own.unwrap().1.len()),
            [1; 2]
        );
        assert_eq!(found("s"), None);
    }

    #[test]
    fn the_step_has_the_least_error() {
        // 1000 coordinates that need a fine step, and one that the step clamps.
        let mut rows: Vec<f32> = (0..1000).map(|x| (x % 255 - 127) as f32 / 256.0).collect();
        let mut clamped = |x: f32| {
            rows[500] = x;
            let vectors = Vectors {
                words: (0..500).map(|number| format!("w{number}")).collect(),
                vectors: rows.clone(),
                ..vectors(&[("", &[0.0; 2])])
            };
            let made = vectors.lexicon_pack(None, 500).unwrap();
            (made.exponent, made.clamped)
        };
        assert_eq!(clamped(0.25), (-8, 0));
        assert_eq!(clamped(0.52), (-8, 1));
        assert_eq!(clamped(1.02), (-7, 1));
        assert_eq!(clamped(100.0), (0, 0));
    }

    #[test]
    fn words_weigh_less_if_they_are_frequent() {
        let mut counts = WordCounts::default();
        counts.add(&crate::corpus::CorpusDocument {
            text: "the the the cat".into(),
            ..Default::default()
        });
        let vectors = vectors(&[("the", &[1.0]), ("cat", &[1.0]), ("dog", &[1.0])]);
        let made = vectors.lexicon_pack(Some(&counts), 3).unwrap();
        let pack = Pack::parse(&made.pack).unwrap();
        let lexicon = pack.lexicon().unwrap();
        let weight = |word| lexicon.entry(lexicon.find(word).unwrap()).unwrap().0;
        // a/(a + 3/4), a/(a + 1/4) and 1 with a = 1/1000, in 65535ths.
        assert_eq!(["the", "cat", "dog"].map(weight), [87, 261, u16::MAX]);
    }

    #[test]
    fn what_no_pack_can_hold_is_refused() {
        let some = vectors(&[("a", &[1.0])]);
        for most in [0, 65_537] {
            let error = some.lexicon_pack(None, most).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        }
        for none in [vectors(&[("a", &[0.0])]), vectors(&[("a b", &[1.0])])] {
            let error = none.lexicon_pack(None, 10).unwrap_err();
            assert_names(&error, "none of the 1 words");
        }
        let error = vectors(&[("a", &[1e20])]).lexicon_pack(None, 1);
        assert_names(&error.unwrap_err(), "1e20, the largest allowed is 5.45");
        // A vector that is too small for any step is zero.
        assert!(vectors(&[("a", &[1e-9])]).lexicon_pack(None, 1).is_err());
    }

    #[test]
    fn sizes_that_a_header_only_claims_are_refused() {
        for shape in [
            "(2, 300)",
            "(4611686018427387904, 3)",
            "(007766279631452241919, 3)",
            "(4294967296, 4294967296)",
            "(0, 4294967296, 4294967296)",
            "(0x100000000, 4294967296)",
            "(2, -1)",
            "(1e9, 1)",
            "[4294967296, 4294967296]",
        ] {
            let bytes = npy("<f4", shape, false, &[0u8; 0]);
            assert!(open_npy(&bytes, b"one\ntwo").is_err(), "{shape}");
        }
    }

    /// A fuzzing target found that the time doubles with each bracket.
    #[test]
    fn headers_of_nested_brackets_are_refused() {
        for open in ["{", "(", "["] {
            let text = format!("{}'descr': '<f4'\n", open.repeat(60));
            for (version, length) in [
                (1, (text.len() as u16).to_le_bytes().to_vec()),
                (2, (text.len() as u32).to_le_bytes().to_vec()),
            ] {
                let bytes = [b"\x93NUMPY", &[version, 0][..], &length, text.as_bytes()].concat();
                assert_names(
                    &open_npy(&bytes, b"one\ntwo").unwrap_err(),
                    "not a .npy file",
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_vectors_or_an_error(
            text in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                "([a-c’İ'_]{0,3} (-?[0-9.e]{1,4} ?){0,3}(\n|\r\n|\t)?){0,6}".prop_map(String::into_bytes),
            ]
        ) {
            if let Ok(read) = read("a.txt", &text) {
                prop_assert_eq!(read.vectors.len(), read.words.len() * read.dimension);
                prop_assert!(read.vectors.iter().all(|x| x.is_finite()));
                if let Ok(made) = read.lexicon_pack(None, 3) {
                    let left_out = made.unusable + made.duplicates + made.zero + made.cut;
                    prop_assert_eq!(made.words + left_out, read.words.len());
                    let pack = Pack::parse(&made.pack).unwrap();
                    let lexicon = pack.lexicon().unwrap();
                    for index in 0..lexicon.word_count() {
                        let word = lexicon.word(index).unwrap();
                        prop_assert!(words(word).eq([word]), "{word}");
                    }
                }
            }
        }

        #[test]
        fn a_damaged_matrix_is_no_panic(
            damage in prop::collection::vec((0usize..152, any::<u8>()), 1..4)
        ) {
            let mut bytes = npy("<f4", "(2, 3)", false, &[1f32; 6]);
            for (position, byte) in damage {
                if let Some(there) = bytes.get_mut(position) {
                    *there = byte;
                }
            }
            if let Ok(read) = open_npy(&bytes, b"one\ntwo") {
                prop_assert_eq!(read.vectors.len(), 2 * read.dimension);
            }
        }
    }
}
