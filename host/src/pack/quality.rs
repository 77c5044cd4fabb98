//! How often releases are right: the table that a pack carries.

use std::ops::Range;

use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::scores::LEVELS;
use undertone_core::select::{Rule, SliceLevels};

use super::writer::QualityData;
use crate::error::{Error, Result};
use crate::release::document::{self, HostDocument, epsilon_f64};

/// Releases that are drawn for each document and ε at least, and for all documents together.
const DRAWS: (usize, usize) = (1, 8000);

/// A table of fewer documents of a length says too little.
const FEWEST: usize = 40;

/// The table's values of ε, in micro-units.
const EPSILONS: [u32; 5] = [500_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000];

/// The table's lengths in sentences; 0: documents as they are.
const LENGTHS: [u32; 5] = [0, 1, 3, 10, 20];

/// Judges packs by public documents of which the right candidate is known.
#[derive(Clone, Debug)]
pub struct Judge {
    draws: usize,
    rng: PublicRng,
    /// `[lengths]`.
    documents: [usize; LENGTHS.len()],
    /// `[lengths]`: documents whose best candidate is the right one.
    best: [usize; LENGTHS.len()],
    /// `[epsilons][lengths]`: the share of right releases, added up.
    drawn: [[f64; LENGTHS.len()]; EPSILONS.len()],
}

/// The chance that the whole-text rule gives what is best, among n candidates: the law of `undertone_core::whole_text`.
fn kept(epsilon: Epsilon, candidates: usize) -> f64 {
    1.0 / (1.0 + candidates as f64 * (-epsilon_f64(epsilon)).exp())
}

/// How often the whole-text rule gives the right candidate, if the best one is right that often.
pub fn whole_text_accuracy(noiseless: f64, epsilon: Epsilon, candidates: usize) -> f64 {
    let kept = kept(epsilon, candidates);
    noiseless * kept + (1.0 - noiseless) * (1.0 - kept) / candidates as f64
}

impl Judge {
    /// Counts nothing yet; about so many documents will come. Releases are drawn from a public generator: they are no
    /// one's.
    pub fn new(documents: usize, seed: u64) -> Self {
        Self {
            draws: (DRAWS.1 / documents.max(1)).max(DRAWS.0),
            rng: PublicRng::new(seed),
            documents: [0; LENGTHS.len()],
            best: [0; LENGTHS.len()],
            drawn: [[0.0; LENGTHS.len()]; EPSILONS.len()],
        }
    }

    /// Releases a public document whose right candidate is `class`, as it is and cut to each of the lengths.
    ///
    /// # Shapes
    /// `sentences`: `[k]`; `rows`: `[k][dimension]`.
    ///
    /// # Errors
    /// [`ErrorKind::Release`](crate::error::ErrorKind::Release) if the pack cannot be released from.
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
            for (column, listed) in LENGTHS.iter().enumerate() {
                if *listed == length || *listed == 0 && length as usize == sentences.len() {
                    self.count(column, &document, class)?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, column: usize, document: &HostDocument<'_>, class: u32) -> Result<()> {
        self.documents[column] += 1;
        let best = hazmat::best(document).map_err(Error::from)?;
        self.best[column] += usize::from(best == class);
        let mut levels = Vec::new();
        hazmat::levels(document, |block| levels.extend_from_slice(block));
        let levels = SliceLevels {
            levels: &levels,
            bound: LEVELS,
        };
        for (row, epsilon) in EPSILONS.iter().enumerate() {
            let ratio = document.ratio(valid(*epsilon));
            let rng = &mut self.rng;
            let right = (0..self.draws).filter(|_| {
                hazmat::select::<LEVELS, _>(&levels, Rule::PermuteAndFlip, ratio, rng) == Ok(class)
            });
            self.drawn[row][column] += right.count() as f64 / self.draws as f64;
        }
        Ok(())
    }

    /// How often a release is right by sentence and by whole text, if there are enough documents of this length.
    fn accuracy(&self, row: usize, column: usize, classes: usize) -> Option<[f64; 2]> {
        let noiseless = self.noiseless(column)?;
        let by_sentence = self.drawn[row][column] / self.documents[column] as f64;
        Some([
            by_sentence,
            whole_text_accuracy(noiseless, valid(EPSILONS[row]), classes),
        ])
    }

    fn noiseless(&self, column: usize) -> Option<f64> {
        let documents = self.documents[column];
        (documents >= FEWEST).then(|| self.best[column] as f64 / documents as f64)
    }

    /// One number: the mean over ε of the better rule, for documents as they are.
    pub(super) fn value(&self, classes: usize) -> f64 {
        let rows: Range<usize> = 0..EPSILONS.len();
        let better = |row| {
            self.accuracy(row, 0, classes)
                .map_or(0.0, |[a, b]| a.max(b))
        };
        rows.map(better).sum::<f64>() / EPSILONS.len() as f64
    }

    /// The table, for `classes` candidates.
    pub fn quality(&self, classes: usize) -> QualityData {
        let rows = || 0..EPSILONS.len();
        let columns = || 0..LENGTHS.len();
        let by = |unit: usize| {
            rows().flat_map(move |row| {
                columns()
                    .map(move |column| self.accuracy(row, column, classes).map(|both| both[unit]))
            })
        };
        QualityData {
            epsilons: EPSILONS.into_iter().map(valid).collect(),
            lengths: LENGTHS.to_vec(),
            accuracies: by(0).chain(by(1)).collect(),
            noiseless: columns().map(|column| self.noiseless(column)).collect(),
        }
    }
}

fn valid(micro: u32) -> Epsilon {
    Epsilon::from_micro(micro).expect("the constants are valid")
}
