//! Distillation of a neural sentence encoder into a lexicon that a device can use without it.
//!
//! A lexicon is fitted to the encoder's vectors of sentences in public corpora. Ridge regression
//! chooses the vectors of words and phrases so that the weighted mean of a sentence's words comes
//! closest to the sentence's vector. Three choices make it good for documents:
//!
//! - The target is the sentence's vector moved towards the mean of its document. Scores add up the
//!   evidence of sentences, so a word should represent its document.
//! - Only those directions are kept in which sentences of one document resemble each other most.
//! - The ridge pulls a word to the encoder's vector of that word alone, which is all that rare
//!   words have. It pulls a phrase to zero, because a phrase corrects the sum of its words.
//!
//! Everything here is public. Labels of a corpus are not used.

use std::collections::HashMap;

use nalgebra::DMatrix;
use rayon::prelude::*;
use undertone_core::lexicon::{MAX_LEXICON_DIMENSION, Matching, Word, words};
use undertone_core::pack::format::{MAX_PHRASES, MAX_WORDS};

use crate::corpus::CorpusDocument;
use crate::encoder::check_finite;
use crate::encoder::embeddings::Embeddings;
use crate::encoder::vectors::{DocumentVectors, largest, mean};
use crate::error::{Error, Result};
use crate::files::resume::Encoding;
use crate::pack::heads::add_gram;
use crate::pack::{LexiconData, limit};
use crate::progress::Progress;

/// The constant a of the weights.
const WEIGHT_CONSTANT: f64 = 1e-3;

/// The share of coordinates that fit a byte. The rest is clamped, so that a few outliers do not
/// coarsen all others.
const UNCLAMPED: f64 = 0.999;

/// How far the target of a sentence is moved to the mean of its document. Compared with 0, values
/// of 0.5 or 0.7 add 0.7 to 0.9 points of macro F1 for validation documents of 20 Newsgroups and
/// Amazon reviews.
const OF_DOCUMENT: f32 = 0.7;

/// The ridge penalties of words and of phrases, in units of sentences of one word.
const RIDGE: [f32; 2] = [0.2, 0.6];

/// The number of most frequent word pairs that are fitted before selection, and the least count of
/// a pair.
const PAIRS: (usize, u64) = (20_000, 10);

/// Steps of the solver. More steps change no F1.
const ITERATIONS: usize = 15;

/// Rows whose products are formed at once, which bounds the memory.
const BLOCK: usize = 1024;

/// Coordinates that are solved for together.
pub(super) const STRIPE: usize = 16;

/// Word counts of public corpora.
#[derive(Clone, Debug, Default)]
pub struct WordCounts {
    counts: HashMap<Word, u64>,
    total: u64,
}

impl WordCounts {
    /// Counts the words of one document.
    pub fn add(&mut self, document: &CorpusDocument) {
        for word in words(&document.text) {
            *self.counts.entry(word).or_default() += 1;
            self.total += 1;
        }
    }

    /// The number of distinct words.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// The weight of a word in a sentence, a/(a + frequency), in 65535ths.
    pub fn weight(&self, word: &str) -> u16 {
        let count = Word::try_from(word).ok();
        let count = count.and_then(|word| self.counts.get(&word)).copied();
        weight(count.unwrap_or(0) as f64 / self.total.max(1) as f64)
    }

    /// Returns the `n` most frequent words with their frequencies; ties are in byte order.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::error::ErrorKind::Input).
    fn most_frequent(&self, n: usize) -> Result<Vec<(&str, f64)>> {
        let mut all: Vec<(&str, u64)> = self.counts.iter().map(|(w, c)| (w.as_str(), *c)).collect();
        if all.len() < n {
            return Err(Error::input(format!(
                "the corpora have only {} different words, {n} are wanted; lower ⟨words⟩ \
                 or add a corpus",
                all.len()
            )));
        }
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(n);
        let shares = all
            .into_iter()
            .map(|(w, c)| (w, c as f64 / self.total as f64));
        Ok(shares.collect())
    }
}

/// The size of a lexicon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of words, at least 2.
    pub words: usize,
    /// The most phrases.
    pub phrases: usize,
    /// The number of coordinates.
    pub dimension: usize,
}

/// Distils the encoder of `encoding` into a pack with a lexicon of the most frequent words of
/// `documents` and of the phrases that change most.
///
/// # Errors
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input);
/// [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for a size outside the format or a
/// dimension above the encoder's; [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder); errors
/// of the encoder.
///
/// # Cost
/// Encoding takes nearly all the time. Two fits follow, of some seconds each for 200,000 sentences.
/// Memory holds all texts, and the vectors of all sentences several times.
///
/// # Source
/// Arora, Liang and Ma 2017, A simple but tough-to-beat baseline for sentence embeddings: the
/// weights. Hoerl and Kennard 1970: ridge regression. The target, the directions and the phrases
/// are ours.
pub fn distil(
    encoding: &mut Encoding<'_>,
    documents: &[CorpusDocument],
    size: &Size,
) -> Result<Vec<u8>> {
    let encoder = encoding.encoder();
    let full = encoder.dimension();
    limit("words", size.words, 2, MAX_WORDS as usize)?;
    limit("phrases", size.phrases, 0, MAX_PHRASES as usize)?;
    let most = full.min(MAX_LEXICON_DIMENSION as usize);
    limit("coordinates", size.dimension, 1, most)?;
    let mut counts = WordCounts::default();
    for document in documents {
        counts.add(document);
    }
    let chosen = counts.most_frequent(size.words)?;
    let texts: Vec<&str> = chosen.iter().map(|(word, _)| *word).collect();
    let progress = Progress::new("encoding words", texts.len() as u64);
    let alone = encoding.rows(&texts, &progress)?;
    drop(progress);
    let sentences = Embeddings::encode(encoding, documents, |sentences| {
        Progress::new("encoding sentences", sentences)
    })?;
    let vectors = &sentences.vectors;
    check_finite(encoder, &alone, 0)?;
    check_finite(encoder, vectors.rows(), 0)?;

    let directions = shared_directions(vectors, size.dimension);
    let targets = projected(&of_documents(vectors), full, &directions);
    let own = projected(&alone, full, &directions);

    let tokens = Tokens::new(&sentences.sentences, &chosen);
    let pairs = tokens.frequent_pairs();
    let tried = tokens.features(&pairs);
    let fitted = fit(&tried, &targets, &own);
    let pairs = most_moving(&tried, &fitted, &pairs, chosen.len(), size.phrases);
    let features = tokens.features(&pairs);
    let fitted = fit(&features, &targets, &own);
    drop((tried, features));

    let name = format!("lexicon:{}", encoder.identity().name);
    let words: Vec<(&str, u16)> = chosen.iter().map(|(word, f)| (*word, weight(*f))).collect();
    let lexicon = quantised(Matching::Words, &words, &pairs, &fitted, size.dimension);
    lexicon.to_pack(&name, size.dimension)
}

/// Quantises the fitted vectors of words, then of word pairs, to bytes.
pub(super) fn quantised(
    matching: Matching,
    words: &[(&str, u16)],
    pairs: &[[u32; 2]],
    fitted: &Stripes,
    dimension: usize,
) -> LexiconData {
    let vector = |index: usize| -> Vec<f32> {
        let stripes = fitted.iter().flat_map(|stripe| stripe[index]);
        stripes.take(dimension).collect()
    };
    let rows: Vec<Vec<f32>> = (0..words.len()).map(vector).collect();
    let mut magnitudes: Vec<f32> = rows.iter().flatten().map(|x| x.abs()).collect();
    magnitudes.sort_unstable_by(f32::total_cmp);
    let step = magnitudes[((magnitudes.len() - 1) as f64 * UNCLAMPED) as usize] / 127.0;
    let step = step.max(f32::MIN_POSITIVE);
    let quantised = |row: &[f32], step: f32| -> Vec<i8> {
        let quantise = |x: &f32| (x / step).round().clamp(-127.0, 127.0) as i8;
        row.iter().map(quantise).collect()
    };
    let entries = words.iter().zip(&rows);
    let entries =
        entries.map(|((word, weight), row)| ((*word).to_owned(), *weight, quantised(row, step)));
    let mut entries: Vec<(usize, _)> = entries.enumerate().collect();
    entries.sort_unstable_by(|a, b| a.1.0.cmp(&b.1.0));
    let mut place = vec![0u16; entries.len()];
    for (at, (index, _)) in entries.iter().enumerate() {
        place[*index] = at as u16;
    }
    let mut phrases: Vec<([u16; 2], u16, Vec<i8>)> = (words.len()..)
        .zip(pairs)
        .map(|(index, pair)| {
            let row = vector(index);
            // A phrase has its own step: the weight that makes its largest coordinate 127.
            let largest = row.iter().fold(0.0, |most: f32, x| most.max(x.abs())) / (127.0 * step);
            let weight = (largest * f32::from(u16::MAX)).ceil();
            let weight = weight.clamp(1.0, f32::from(u16::MAX));
            let own = step * weight / f32::from(u16::MAX);
            let words = pair.map(|word| place[word as usize]);
            (words, weight as u16, quantised(&row, own))
        })
        .collect();
    phrases.sort_unstable_by_key(|(words, ..)| *words);
    LexiconData {
        matching,
        // Scales vectors to about the encoder's length; only powers of two are possible.
        exponent: (step / 256.0).log2().round().clamp(-24.0, 24.0) as i32,
        words: entries.into_iter().map(|(_, entry)| entry).collect(),
        phrases,
    }
}

/// Returns the unit directions in which sentences of one document resemble each other most,
/// `[dimension][n]`. These are the principal directions of the mean of xyᵀ over pairs x, y of
/// different sentences of a document, with equal weight for every document.
fn shared_directions(documents: &DocumentVectors, n: usize) -> DMatrix<f64> {
    let d = documents.dimension();
    let centre = mean(documents.rows(), d);
    let mut gram = DMatrix::<f64>::zeros(d, d);
    // Documents of one sentence have no pairs. If there are no others, the sentence is paired with
    // itself.
    let sentences = |document: &usize| documents.range(*document).len();
    let all = 0..documents.len();
    let single = all.clone().all(|document| sentences(&document) < 2);
    for document in all.filter(|document| sentences(document) > usize::from(!single)) {
        let rows = documents.document(document).iter();
        let rows = rows.zip(centre.iter().cycle());
        let rows: Vec<f64> = rows.map(|(x, c)| f64::from(x - c)).collect();
        let k = sentences(&document) as f64;
        let pairs = if single { 1.0 } else { k * (k - 1.0) };
        let mut sum = vec![0f64; d];
        for row in rows.chunks_exact(d) {
            for (sum, x) in sum.iter_mut().zip(row) {
                *sum += x;
            }
        }
        let weighted: Vec<f64> = sum.iter().map(|x| x / pairs).collect();
        add_gram(&mut gram, &sum, &weighted);
        if !single {
            let negative: Vec<f64> = rows.iter().map(|x| -x / pairs).collect();
            add_gram(&mut gram, &rows, &negative);
        }
    }
    largest(gram, n)
}

/// Returns the unit directions in which the rows differ most from their mean, `[dimension][n]`.
pub(super) fn principal_directions(rows: &[f32], dimension: usize, n: usize) -> DMatrix<f64> {
    let centre = mean(rows, dimension);
    let mut gram = DMatrix::<f64>::zeros(dimension, dimension);
    for block in rows.chunks(dimension * BLOCK) {
        let block = block.iter().zip(centre.iter().cycle());
        let centred: Vec<f64> = block.map(|(x, c)| f64::from(x - c)).collect();
        add_gram(&mut gram, &centred, &centred);
    }
    largest(gram, n)
}

/// Moves each sentence's vector towards the mean of its document.
fn of_documents(documents: &DocumentVectors) -> Vec<f32> {
    let d = documents.dimension();
    let mut rows = documents.rows().to_vec();
    for document in 0..documents.len() {
        let mean = mean(documents.document(document), d);
        let range = documents.range(document);
        for row in rows[range.start * d..range.end * d].chunks_exact_mut(d) {
            for (x, mean) in row.iter_mut().zip(&mean) {
                *x += OF_DOCUMENT * (mean - *x);
            }
        }
    }
    rows
}

/// All rows, in stripes of [`STRIPE`] coordinates.
pub(super) type Stripes = Vec<Vec<[f32; STRIPE]>>;

/// Subtracts the mean from the rows and projects them onto these directions.
pub(super) fn projected(rows: &[f32], full: usize, directions: &DMatrix<f64>) -> Stripes {
    let centre = mean(rows, full);
    (0..directions.ncols().div_ceil(STRIPE))
        .into_par_iter()
        .map(|stripe| {
            let columns = (stripe * STRIPE..directions.ncols()).take(STRIPE);
            let columns: Vec<_> = columns.map(|column| directions.column(column)).collect();
            let project = |row: &[f32]| {
                let mut out = [0f32; STRIPE];
                for (out, column) in out.iter_mut().zip(&columns) {
                    let terms = row.iter().zip(&centre).zip(column.iter());
                    *out = terms.map(|((x, c), u)| f64::from(x - c) * u).sum::<f64>() as f32;
                }
                out
            };
            rows.chunks_exact(full).map(project).collect()
        })
        .collect()
}

/// The words of sentences, as the numbers of known words, and the words' weights.
struct Tokens {
    sentences: Vec<Vec<Option<u32>>>,
    weights: Vec<f32>,
}

impl Tokens {
    /// The words in `known` get numbers.
    fn new(sentences: &[&str], known: &[(&str, f64)]) -> Self {
        let known_words = known.iter().map(|(word, _)| *word);
        let numbers: HashMap<&str, u32> = known_words.zip(0..).collect();
        let number = |word: Word| numbers.get(word.as_str()).copied();
        let sentences = sentences.par_iter();
        let weights = known
            .iter()
            .map(|(_, frequency)| f32::from(weight(*frequency)));
        Self {
            sentences: sentences
                .map(|own| words(own).map(number).collect())
                .collect(),
            weights: weights.map(|weight| weight / f32::from(u16::MAX)).collect(),
        }
    }

    /// Returns the pairs of adjacent known words.
    fn pairs(sentence: &[Option<u32>]) -> impl Iterator<Item = [u32; 2]> + '_ {
        sentence
            .windows(2)
            .filter_map(|pair| Some([pair[0]?, pair[1]?]))
    }

    /// Returns the pairs that are fitted, most frequent first.
    fn frequent_pairs(&self) -> Vec<[u32; 2]> {
        let mut counts: HashMap<[u32; 2], u64> = HashMap::new();
        for sentence in &self.sentences {
            for pair in Self::pairs(sentence) {
                *counts.entry(pair).or_default() += 1;
            }
        }
        let (most, least) = PAIRS;
        let mut pairs: Vec<_> = counts.into_iter().filter(|(_, n)| *n >= least).collect();
        pairs.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        pairs.truncate(most);
        pairs.into_iter().map(|(pair, _)| pair).collect()
    }

    /// Returns the coefficients of the word and phrase vectors in each sentence.
    fn features(&self, pairs: &[[u32; 2]]) -> Features {
        let words = self.weights.len();
        let number: HashMap<&[u32; 2], u32> = pairs.iter().zip(words as u32..).collect();
        let mut features = Features::new(words);
        features.all += pairs.len();
        for sentence in &self.sentences {
            let known = sentence.iter().flatten().copied();
            let total: f32 = known.clone().map(|word| self.weights[word as usize]).sum();
            let of_words = known.map(|word| (word, self.weights[word as usize] / total));
            let phrases = Self::pairs(sentence).filter_map(|pair| number.get(&pair));
            features.row(of_words.chain(phrases.map(|index| (*index, 1.0 / total))));
        }
        features
    }
}

/// A sparse matrix with a row for each sentence.
pub(super) struct Features {
    /// The number of columns of words; columns of phrases follow.
    words: usize,
    all: usize,
    /// Columns and values.
    entries: Vec<(u32, f32)>,
    ends: Vec<usize>,
}

impl Features {
    /// An empty matrix without columns of phrases.
    pub(super) fn new(words: usize) -> Self {
        Self {
            words,
            all: words,
            entries: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a row with these columns and values.
    pub(super) fn row(&mut self, values: impl Iterator<Item = (u32, f32)>) {
        self.entries.extend(values);
        self.ends.push(self.entries.len());
    }

    fn rows(&self) -> impl Iterator<Item = &[(u32, f32)]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.entries[*start..*end])
    }

    /// Multiplies this matrix by `columns`.
    pub(super) fn times(&self, columns: &[[f32; STRIPE]]) -> Vec<[f32; STRIPE]> {
        self.rows()
            .map(|row| {
                let mut sum = [0f32; STRIPE];
                for (column, value) in row {
                    add_scaled(&mut sum, *value, &columns[*column as usize]);
                }
                sum
            })
            .collect()
    }

    /// Multiplies its transpose by `rows`.
    fn transposed_times(&self, rows: &[[f32; STRIPE]]) -> Vec<[f32; STRIPE]> {
        let mut sums = vec![[0f32; STRIPE]; self.all];
        for (own, row) in self.rows().zip(rows) {
            for (column, value) in own {
                add_scaled(&mut sums[*column as usize], *value, row);
            }
        }
        sums
    }

    /// Returns the sum of squares of each column.
    pub(super) fn squares(&self) -> Vec<f32> {
        let mut squares = vec![0f32; self.all];
        for (column, value) in &self.entries {
            squares[*column as usize] += value * value;
        }
        squares
    }
}

fn add_scaled(to: &mut [f32; STRIPE], factor: f32, from: &[f32; STRIPE]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Fits the vectors of words and phrases to `targets`. The ridge pulls words to `own` and phrases
/// to zero.
pub(super) fn fit(features: &Features, targets: &Stripes, own: &Stripes) -> Stripes {
    let squares = features.squares();
    let penalties = |column| RIDGE[usize::from(column >= features.words)];
    let stripes = targets.par_iter().zip(own);
    // Scales the words' own vectors to the length that fits the sentences best.
    let at_own: Vec<_> = stripes
        .map(|(target, own)| {
            let mut start = own.clone();
            start.resize(features.all, [0.0; STRIPE]);
            let given = features.times(&start);
            let sum = |a: &[[f32; STRIPE]], b: &[[f32; STRIPE]]| dots(a, b).iter().sum::<f64>();
            (sum(target, &given), sum(&given, &given), start)
        })
        .collect();
    let (along, squared) = at_own.iter().fold((0.0, 0.0), |sum, (along, squared, _)| {
        (sum.0 + along, sum.1 + squared)
    });
    let length = if squared > 0.0 { along / squared } else { 0.0 } as f32;
    at_own
        .into_par_iter()
        .zip(targets)
        .map(|((.., mut solution), target)| {
            for row in &mut solution {
                *row = row.map(|x| length * x);
            }
            solve(features, target, &mut solution, &squares, &penalties);
            solution
        })
        .collect()
}

/// Solves ridge regression by conjugate gradients with a diagonal preconditioner. The given
/// `solution` is both the start and the point that the ridge pulls to.
pub(super) fn solve(
    features: &Features,
    target: &[[f32; STRIPE]],
    solution: &mut [[f32; STRIPE]],
    squares: &[f32],
    penalty: &impl Fn(usize) -> f32,
) {
    let scaled = |residual: &[[f32; STRIPE]]| -> Vec<[f32; STRIPE]> {
        let rows = residual.iter().enumerate().zip(squares);
        rows.map(|((column, row), square)| row.map(|x| x / (square + penalty(column))))
            .collect()
    };
    let mut missing = features.times(solution);
    for (missing, target) in missing.iter_mut().zip(target) {
        for (missing, target) in missing.iter_mut().zip(target) {
            *missing = target - *missing;
        }
    }
    let mut residual = features.transposed_times(&missing);
    let mut conditioned = scaled(&residual);
    let mut direction = conditioned.clone();
    let mut norm = dots(&residual, &conditioned);
    for _ in 0..ITERATIONS {
        let mut image = features.transposed_times(&features.times(&direction));
        for ((column, image), direction) in image.iter_mut().enumerate().zip(&direction) {
            add_scaled(image, penalty(column), direction);
        }
        let step = quotients(&norm, &dots(&direction, &image));
        advance(solution, &step, &direction, 1.0);
        advance(&mut residual, &step, &image, -1.0);
        conditioned = scaled(&residual);
        let after = dots(&residual, &conditioned);
        let keep = quotients(&after, &norm);
        for (direction, conditioned) in direction.iter_mut().zip(&conditioned) {
            for ((x, keep), new) in direction.iter_mut().zip(&keep).zip(conditioned) {
                *x = new + keep * *x;
            }
        }
        norm = after;
    }
}

/// Returns the inner products of corresponding columns.
fn dots(a: &[[f32; STRIPE]], b: &[[f32; STRIPE]]) -> [f64; STRIPE] {
    let mut sums = [0f64; STRIPE];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from(a * b);
        }
    }
    sums
}

/// Divides column by column; 0 for a column that is solved.
fn quotients(a: &[f64; STRIPE], b: &[f64; STRIPE]) -> [f32; STRIPE] {
    std::array::from_fn(|i| if b[i] > 0.0 { a[i] / b[i] } else { 0.0 } as f32)
}

/// Adds `sign·step·direction` to `to`, column by column.
fn advance(to: &mut [[f32; STRIPE]], step: &[f32; STRIPE], direction: &[[f32; STRIPE]], sign: f32) {
    for (to, direction) in to.iter_mut().zip(direction) {
        for ((to, step), direction) in to.iter_mut().zip(step).zip(direction) {
            *to += sign * step * direction;
        }
    }
}

/// Returns the `most` pairs whose vectors change sentences most, by the sum of squares over all
/// sentences.
fn most_moving(
    features: &Features,
    fitted: &Stripes,
    pairs: &[[u32; 2]],
    words: usize,
    most: usize,
) -> Vec<[u32; 2]> {
    let squares = features.squares();
    let moves = |pair: usize| -> f32 {
        let column = words + pair;
        let coordinates = fitted.iter().flat_map(|stripe| stripe[column]);
        squares[column] * coordinates.map(|x| x * x).sum::<f32>()
    };
    let numbered = pairs.iter().enumerate();
    let mut order: Vec<(f32, [u32; 2])> = numbered.map(|(i, pair)| (moves(i), *pair)).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.truncate(most);
    order.into_iter().map(|(_, pair)| pair).collect()
}

/// The weight of a word of this frequency, in 65535ths.
pub(super) fn weight(frequency: f64) -> u16 {
    let weight = WEIGHT_CONSTANT / (WEIGHT_CONSTANT + frequency);
    (weight * f64::from(u16::MAX)).round().max(1.0) as u16
}
