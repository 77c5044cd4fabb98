//! The accuracy of releases: the table that a pack contains.

use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::scores::LEVELS;
use undertone_core::select::{Rule, SliceLevels};

use super::writer::QualityData;
use crate::error::{Error, Result};
use crate::release::document::{self, HostDocument, epsilon_f64};

/// Releases drawn per rule, ε and column over all documents together, and at least one per
/// document.
const DRAWS: usize = 50_000;

/// [`DRAWS`] for making a pack, which draws only releases by sentence: the other law is simple.
const FEW_DRAWS: usize = 2000;

/// The fewest documents for an entry of the table; fewer are too noisy.
const FEWEST: usize = 40;

/// The table's values of ε, in micro-units.
const EPSILONS: [u32; 5] = [500_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000];

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

    /// The length in the format of packs.
    fn length(self) -> u32 {
        match self {
            Self::All => 0,
            Self::Cut(cut) => cut,
            Self::Between(least, _) => least,
        }
    }
}

/// Measures the accuracy of packs on public documents with known candidates.
#[derive(Clone, Debug)]
pub struct Judge {
    columns: &'static [Column],
    draws: usize,
    /// Whether releases by whole text are drawn as well, rather than computed.
    draws_whole_texts: bool,
    rng: PublicRng,
    /// `[columns]`.
    tallies: Vec<Tally>,
}

/// The accuracy of releases of one column's documents.
#[derive(Clone, Debug, Default)]
struct Tally {
    documents: usize,
    /// The number of documents whose best candidate is the right one.
    best: usize,
    /// `[epsilons][units]`: the sum of the shares of right releases.
    drawn: [[f64; 2]; EPSILONS.len()],
}

/// The probability that the whole-text rule names a given candidate, which is the best one or not.
fn chance(epsilon: Epsilon, candidates: usize, is_best: bool) -> f64 {
    let weight = (-epsilon_f64(epsilon)).exp();
    let share = 1.0 / (1.0 + candidates as f64 * weight);
    if is_best { share } else { share * weight }
}

impl Tally {
    fn noiseless(&self) -> Option<f64> {
        (self.documents >= FEWEST).then(|| self.best as f64 / self.documents as f64)
    }

    /// The share of right releases, by sentence and by whole text.
    fn accuracy(&self, row: usize) -> Option<[f64; 2]> {
        let share = |drawn: f64| drawn / self.documents as f64;
        (self.documents >= FEWEST).then(|| self.drawn[row].map(share))
    }
}

impl Judge {
    /// An empty judge for about `documents` documents. Releases are drawn from a public generator,
    /// because they protect nobody.
    pub fn new(columns: &'static [Column], documents: usize, seed: u64) -> Self {
        Self {
            draws: DRAWS.div_ceil(documents.max(1)),
            draws_whole_texts: true,
            ..Self::quick(columns, documents, seed)
        }
    }

    /// A judge with fewer releases, and with the accuracy of the whole-text rule computed from its
    /// law.
    pub(super) fn quick(columns: &'static [Column], documents: usize, seed: u64) -> Self {
        Self {
            columns,
            draws: FEW_DRAWS.div_ceil(documents.max(1)),
            draws_whole_texts: false,
            rng: PublicRng::new(seed),
            tallies: vec![Tally::default(); columns.len()],
        }
    }

    /// Releases a public document whose right candidate is `class`, in each column that includes
    /// it.
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
        let rows = rows.chunks_exact(pack.dimension());
        for (length, (sentence, row)) in (1..).zip(sentences.iter().zip(rows)) {
            document
                .push_encoded(sentence.as_bytes(), row)
                .map_err(Error::from)?;
            for index in 0..self.columns.len() {
                if self.columns[index].counts(length, sentences.len() as u32) {
                    self.count(index, &document, class)?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, column: usize, document: &HostDocument<'_>, class: u32) -> Result<()> {
        let (draws, rng) = (self.draws, &mut self.rng);
        let tally = &mut self.tallies[column];
        tally.documents += 1;
        let best = hazmat::best(document).map_err(Error::from)?;
        tally.best += usize::from(best == class);
        let mut levels = Vec::new();
        hazmat::levels(document, |block| levels.extend_from_slice(block));
        let levels = SliceLevels {
            levels: &levels,
            bound: LEVELS,
        };
        for (drawn, epsilon) in tally.drawn.iter_mut().zip(EPSILONS.map(valid)) {
            let ratio = document.ratio(epsilon);
            let by_sentence = (0..draws).filter(|_| {
                hazmat::select::<LEVELS, _>(&levels, Rule::PermuteAndFlip, ratio, rng) == Ok(class)
            });
            drawn[0] += by_sentence.count() as f64 / draws as f64;
            drawn[1] += if self.draws_whole_texts {
                let drawn =
                    |_: &usize| hazmat::draw_whole_text(document, epsilon, rng) == Ok(class);
                (0..draws).filter(drawn).count() as f64 / draws as f64
            } else {
                chance(epsilon, levels.levels.len(), best == class)
            };
        }
        Ok(())
    }

    /// A single score: the mean over ε of the better rule, in the first column.
    pub(super) fn value(&self) -> f64 {
        let better = |row| {
            let of_rules = self.tallies.first().and_then(|tally| tally.accuracy(row));
            of_rules.map_or(0.0, |[a, b]| a.max(b))
        };
        (0..EPSILONS.len()).map(better).sum::<f64>() / EPSILONS.len() as f64
    }

    /// Returns the table.
    pub fn quality(&self) -> QualityData {
        let by = |unit: usize| {
            (0..EPSILONS.len()).flat_map(move |row| {
                let tallies = self.tallies.iter();
                tallies.map(move |tally| tally.accuracy(row).map(|both| both[unit]))
            })
        };
        QualityData {
            epsilons: EPSILONS.into_iter().map(valid).collect(),
            lengths: self.columns.iter().map(|column| column.length()).collect(),
            accuracies: by(0).chain(by(1)).collect(),
            noiseless: self.tallies.iter().map(Tally::noiseless).collect(),
        }
    }
}

fn valid(micro: u32) -> Epsilon {
    Epsilon::from_micro(micro).expect("the constants are valid")
}
