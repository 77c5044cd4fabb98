//! The accuracy of releases: the table that a pack contains.

use std::cmp;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;

use undertone_core::epsilon::{Epsilon, MICRO};
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::reservoir::all_lines_epsilon;
use undertone_core::select::Rule;
use undertone_law::Law;

use super::writer::QualityData;
use crate::error::{Error, Result};
use crate::release::document::{self, HostDocument, epsilon_f64};

/// The fewest documents for an entry of the table; fewer are too noisy.
const FEWEST: usize = 40;

/// The table's values of ε, in micro-units.
const EPSILONS: [u32; 5] = [500_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000];

/// All values of ε.
pub(super) const ALL: Range<usize> = 0..EPSILONS.len();

/// ε from 3 on. For short texts the sentence rule is often better at a smaller ε, but only because
/// it protects less.
pub(super) const LARGE: Range<usize> = 2..EPSILONS.len();

/// The documents of a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// All documents.
    All,
    /// Documents with at least this number of sentences, truncated to it.
    Cut(u32),
    /// Documents whose number of sentences is in this range.
    Between(u32, u32),
}

impl Column {
    /// The columns of a pack's table.
    pub const OF_PACKS: &'static [Self] = &[
        Self::All,
        Self::Cut(1),
        Self::Cut(3),
        Self::Cut(10),
        Self::Cut(20),
    ];

    /// Columns by number of sentences.
    pub const BY_LENGTH: &'static [Self] = &[
        Self::Between(1, 1),
        Self::Between(2, 3),
        Self::Between(4, 6),
        Self::Between(7, 10),
        Self::Between(11, 20),
        Self::Between(21, u32::MAX),
    ];

    /// Returns whether a document of `all` sentences counts in this column after `length` of them.
    fn counts(self, length: u32, all: u32) -> bool {
        match self {
            Self::All => length == all,
            Self::Cut(cut) => length == cut,
            Self::Between(least, most) => length == all && (least..=most).contains(&all),
        }
    }

    /// The number of places from which a sentence is drawn: the middle of the column's numbers of
    /// sentences, rounded up. `None` if they have no end.
    fn places(self) -> Option<NonZero<u16>> {
        let places = match self {
            Self::All | Self::Between(_, u32::MAX) => None,
            Self::Cut(cut) => Some(cut),
            Self::Between(least, most) => Some(least.midpoint(most + 1)),
        };
        NonZero::new(u16::try_from(places?).ok()?)
    }

    /// The length in the format of packs.
    fn length(self) -> u32 {
        match self {
            Self::All => 0,
            Self::Cut(cut) => cut,
            Self::Between(least, _) => least,
        }
    }
}

/// Measures the accuracy of packs on public documents with known candidates, by the laws of
/// releases.
#[derive(Clone, Debug)]
pub struct Judge {
    columns: &'static [Column],
    /// Whether releases of one drawn sentence are judged as well.
    judges_sentences: bool,
    /// The number of outcomes of a whole text.
    outcomes: usize,
    /// `[columns]`.
    tallies: Vec<Tally>,
}

/// The accuracy of releases of one column's documents.
#[derive(Clone, Debug, Default)]
struct Tally {
    documents: usize,
    /// The number of documents whose best candidate is the right one.
    best: usize,
    /// The documents in which nothing is recognised, by their right candidate.
    unknown: BTreeMap<u32, usize>,
    /// `[epsilons][units]`: the sum of the probabilities of a right release.
    right: [[f64; 2]; EPSILONS.len()],
    /// `[epsilons]`: the same for the release of one drawn sentence.
    one_sentence: [f64; EPSILONS.len()],
}

/// The probability that the whole-text rule at `epsilon` among `outcomes` names a given one, which
/// is the best or not.
fn chance(epsilon: f64, outcomes: usize, is_best: bool) -> f64 {
    let weight = (-epsilon).exp();
    let share = 1.0 / (1.0 + (outcomes - 1) as f64 * weight);
    if is_best { share } else { share * weight }
}

impl Tally {
    fn noiseless(&self) -> Option<f64> {
        (self.documents >= FEWEST).then(|| self.best as f64 / self.documents as f64)
    }

    /// The share of right releases, by sentence and by whole text.
    fn accuracy(&self, row: usize) -> Option<[f64; 2]> {
        let share = |right: f64| right / self.documents as f64;
        (self.documents >= FEWEST).then(|| self.right[row].map(share))
    }

    /// The sum of the probabilities of a right release by whole text among `outcomes`.
    fn right(&self, epsilon: Epsilon, outcomes: usize) -> f64 {
        let epsilon = epsilon_f64(epsilon);
        let [best, other] = [true, false].map(|is_best| chance(epsilon, outcomes, is_best));
        self.best as f64 * best + (self.documents - self.best) as f64 * other
    }
}

impl Judge {
    /// A judge that has seen no documents, of releases by sentence and by whole text.
    pub fn new(columns: &'static [Column]) -> Self {
        Self {
            columns,
            judges_sentences: false,
            outcomes: 1,
            tallies: vec![Tally::default(); columns.len()],
        }
    }

    /// A judge that has seen no documents, of releases of one drawn sentence as well.
    pub fn with_drawn_sentence(columns: &'static [Column]) -> Self {
        Self {
            judges_sentences: true,
            ..Self::new(columns)
        }
    }

    /// Judges releases of a public document whose right candidate is `class`, in each column that
    /// includes it.
    ///
    /// # Shapes
    /// `sentences`: `[k]`; `rows`: `[k][dimension]`.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack supports no release.
    pub fn add(
        &mut self,
        pack: &Pack<'_>,
        class: u32,
        sentences: &[&str],
        rows: &[f32],
    ) -> Result<()> {
        let mut document = document::empty(pack)?;
        self.outcomes = pack.outcomes() as usize;
        // The number of sentences so far whose own best candidate is the right one.
        let mut right = 0;
        let rows = rows.chunks_exact(pack.dimension());
        for (length, (sentence, row)) in (1..).zip(sentences.iter().zip(rows)) {
            let pushed = document.push_encoded(sentence.as_bytes(), row);
            pushed.map_err(Error::from)?;
            if self.judges_sentences {
                let mut alone = document::empty(pack)?;
                document::fill(&mut alone, &[sentence], row)?;
                let best = hazmat::best(&alone).map_err(Error::from)?;
                right += u32::from(best == class);
            }
            for index in 0..self.columns.len() {
                if self.columns[index].counts(length, sentences.len() as u32) {
                    self.count(index, &document, pack.candidate_count(), class)?;
                    self.count_one_sentence(index, right, length, pack);
                }
            }
        }
        Ok(())
    }

    fn count(
        &mut self,
        column: usize,
        document: &HostDocument<'_>,
        candidates: u32,
        class: u32,
    ) -> Result<()> {
        let tally = &mut self.tallies[column];
        tally.documents += 1;
        let best = hazmat::best(document).map_err(Error::from)?;
        tally.best += usize::from(best == class);
        if best == candidates {
            *tally.unknown.entry(class).or_default() += 1;
        }
        let mut levels = Vec::new();
        hazmat::levels(document, |block| levels.extend_from_slice(block));
        for (right, epsilon) in tally.right.iter_mut().zip(EPSILONS.map(valid)) {
            let ratio = document.ratio(epsilon);
            let by_sentence = Law::new(levels.clone(), ratio, Rule::PermuteAndFlip);
            right[0] += by_sentence.probability(class as usize);
            right[1] += chance(epsilon_f64(epsilon), self.outcomes, best == class);
        }
        Ok(())
    }

    /// Adds a document of `length` sentences, of which `right` have the right best candidate.
    fn count_one_sentence(&mut self, column: usize, right: u32, length: u32, pack: &Pack<'_>) {
        let Some(places) = self.columns[column].places() else {
            return;
        };
        let kept = f64::from(right) / f64::from(cmp::max(length, places.get().into()));
        // A reservoir may hold nothing.
        let outcomes = pack.candidate_count() as usize + 1;
        let tally = &mut self.tallies[column];
        for (sum, epsilon) in tally.one_sentence.iter_mut().zip(EPSILONS.map(valid)) {
            let all = all_lines_epsilon(epsilon, places).0 as f64 / f64::from(MICRO);
            let [best, other] = [true, false].map(|is_best| chance(all, outcomes, is_best));
            *sum += kept * best + (1.0 - kept) * other;
        }
    }

    /// The share of right releases by the drawn sentence: `[epsilons][columns]`, `None` where
    /// nothing was measured.
    pub fn of_one_sentence(&self) -> Vec<Vec<Option<f64>>> {
        let share = |row: usize, (column, tally): (&Column, &Tally)| {
            let measured = tally.documents >= FEWEST && self.judges_sentences;
            let measured = measured && column.places().is_some();
            measured.then(|| tally.one_sentence[row] / tally.documents as f64)
        };
        let columns = || self.columns.iter().zip(&self.tallies);
        let row = |row| columns().map(|column| share(row, column)).collect();
        ALL.map(row).collect()
    }

    /// A single score: the mean over these values of ε of the better rule, in the first column.
    pub(super) fn value(&self, rows: Range<usize>) -> f64 {
        let better = |row| {
            let of_rules = self.tallies.first().and_then(|tally| tally.accuracy(row));
            of_rules.map_or(0.0, |[a, b]| a.max(b))
        };
        rows.clone().map(better).sum::<f64>() / rows.len() as f64
    }

    /// The share of public texts that are recognised, and the gain of right releases at ε = 1 if
    /// "nothing known" is left out. Measured in the first column; `None` for too few documents.
    pub(super) fn recognition(&self) -> Option<Recognition> {
        let tally = self.tallies.first()?;
        let right = |outcomes| tally.right(valid(MICRO), outcomes) / tally.documents as f64;
        (tally.documents >= FEWEST && self.outcomes > 2).then(|| Recognition {
            texts: tally.documents,
            unknown: tally.unknown.values().sum(),
            right: [self.outcomes, self.outcomes - 1].map(right),
        })
    }

    /// Counts as if a text in which nothing is recognised had this best candidate, and "nothing
    /// known" were no outcome.
    pub(super) fn leave_nothing_known_out(&mut self, best: u32) {
        self.outcomes -= 1;
        for tally in &mut self.tallies {
            tally.best += tally.unknown.remove(&best).unwrap_or(0);
            for (row, epsilon) in EPSILONS.into_iter().enumerate() {
                tally.right[row][1] = tally.right(valid(epsilon), self.outcomes);
            }
        }
    }

    /// Returns the table.
    pub fn quality(&self) -> QualityData {
        let by = |unit: usize| {
            let of = move |tally: &Tally, row| tally.accuracy(row).map(|both| both[unit]);
            ALL.flat_map(move |row| self.tallies.iter().map(move |tally| of(tally, row)))
        };
        QualityData {
            epsilons: EPSILONS.into_iter().map(valid).collect(),
            lengths: self.columns.iter().map(|column| column.length()).collect(),
            accuracies: by(0).chain(by(1)).collect(),
            noiseless: self.tallies.iter().map(Tally::noiseless).collect(),
        }
    }
}

/// How often the texts of a corpus are recognised by heads that were not fitted to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recognition {
    /// The number of texts.
    pub texts: usize,
    /// The number of texts in which nothing is recognised.
    pub unknown: usize,
    /// The share of releases of the whole text at ε = 1 that are right, with and without the
    /// outcome "nothing known".
    pub right: [f64; 2],
}

impl Recognition {
    /// Whether a pack leaves "nothing known" out by default: at most one text in 100 is not
    /// recognised, and at least 5 in 100 releases more are right at ε = 1.
    pub fn is_reason_to_omit(&self) -> bool {
        self.unknown * 100 <= self.texts && self.right[1] - self.right[0] >= 0.05
    }
}

fn valid(micro: u32) -> Epsilon {
    Epsilon::from_micro(micro).expect("the constants are valid")
}

#[cfg(test)]
mod tests {
    use undertone_core::ledger::Grant;
    use undertone_core::reservoir::Reservoir;
    use undertone_core::unit::Unit;

    use super::*;
    use crate::demo;
    use crate::encoder::{LexiconEncoder, encode_all};
    use crate::progress::Progress;
    use crate::release::document::OsEntropy;

    // Chance: false alarm 10⁻¹¹, miss none. The tolerance is seven standard errors.
    /// The computed accuracy of a drawn sentence is that of releases.
    #[test]
    fn a_drawn_sentence_is_right_as_often_as_computed() {
        const RELEASES: u32 = 4000;
        let built = demo::build(1).unwrap();
        let pack = Pack::parse(&built.pack).unwrap();
        let encoder = LexiconEncoder::new(&pack).unwrap();
        let sentences = ["My dentist moved the appointment.", "The match was long."];
        let rows = encode_all(&encoder, &sentences, &Progress::hidden()).unwrap();
        let mut document = document::empty(&pack).unwrap();
        let row = &rows[..pack.dimension()];
        document::fill(&mut document, &sentences[..1], row).unwrap();
        let class = hazmat::best(&document).unwrap();
        let mut judge = Judge::with_drawn_sentence(&[Column::Between(2, 3)]);
        for _ in 0..FEWEST {
            judge.add(&pack, class, &sentences, &rows).unwrap();
        }
        let epsilon = valid(EPSILONS[2]);
        let computed = judge.of_one_sentence()[2][0].unwrap();
        let places = NonZero::new(3).unwrap();
        let mut document = document::empty(&pack).unwrap();
        let right = (0..RELEASES).filter(|_| {
            let mut reservoir = Reservoir::new(&document, 0, places, &mut OsEntropy).unwrap();
            for (sentence, row) in sentences.iter().zip(rows.chunks_exact(pack.dimension())) {
                document.push_encoded(sentence.as_bytes(), row).unwrap();
                reservoir.add(&mut document, &mut OsEntropy).unwrap();
            }
            let grant = Grant::unrecorded(Unit::Sentence, epsilon);
            let release = reservoir.release_drawn(grant, &mut OsEntropy).unwrap();
            release.number() == class
        });
        let found = right.count() as f64 / f64::from(RELEASES);
        let error = (computed * (1.0 - computed) / f64::from(RELEASES)).sqrt();
        assert!((found - computed).abs() < 7.0 * error, "{found} {computed}");
        assert!(judge.of_one_sentence()[0][0] < Some(computed));
    }
}
