//! Training for a pack, as [`pack::Selector`](undertone::pack::Selector) requires.

use std::path::Path;

use undertone_core::rng::{self, PublicRng};

use super::{Epoch, Options, Run, Split, train_recoder, train_scores};
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::Result;
use undertone::pack::heads::{self, Targets};
use undertone::pack::kmeans::kmeans;
use undertone::pack::trained::{Recoder, ScoreHeads};
use undertone::progress::Progress;

/// One document of this many is for validation.
const VALIDATION_SHARE: usize = 5;

/// A training for a pack, with its checkpoint and callbacks.
pub struct PackTraining<'a> {
    /// Options of the optimiser.
    pub options: Options,
    /// The file of the checkpoint.
    pub checkpoint: &'a Path,
    /// Receives one line about the use of a checkpoint that was found.
    pub notice: &'a dyn Fn(&str),
    /// Receives the losses.
    pub losses: &'a dyn Fn(&[Epoch]) -> Result<()>,
}

impl PackTraining<'_> {
    /// Trains score heads for releases at about ε, starting from the closed form; see
    /// [`train_scores`]. A fifth of the documents, drawn by the seed, selects the epoch.
    ///
    /// # Errors
    /// Errors of [`heads::fit`] and [`train_scores`].
    pub fn scores(
        &self,
        documents: &DocumentVectors,
        targets: &Targets,
        epsilon: f64,
    ) -> Result<ScoreHeads> {
        let start = heads::fit(documents, &targets.of_documents, targets.classes)?;
        let (train, validation) = self.split(documents.len());
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let run = self.run(&|steps| Progress::new("training score heads", steps));
        let (heads, epochs) = train_scores(&start, documents, targets, &[epsilon], &split, &run)?;
        (self.losses)(&epochs)?;
        Ok(heads)
    }

    /// Trains a recoder that keeps `clusters` k-means clusters of the documents apart; see
    /// [`train_recoder`].
    ///
    /// # Errors
    /// Errors of [`kmeans`] and [`train_recoder`].
    pub fn recoder(&self, documents: &DocumentVectors, clusters: usize) -> Result<Recoder> {
        let dimension = documents.dimension();
        let found = kmeans(&documents.means(), dimension, clusters, self.options.seed)?;
        let targets = Targets {
            of_documents: found.assignment,
            classes: clusters,
        };
        let (train, validation) = self.split(documents.len());
        let split = Split {
            train: &train,
            validation: &validation,
        };
        let run = self.run(&|steps| Progress::new("training a recoder", steps));
        let trained = train_recoder(documents, &targets, None, &split, &run)?;
        (self.losses)(&trained.epochs)?;
        Ok(trained.recoder)
    }

    /// Indices of the training documents and of the validation documents.
    fn split(&self, documents: usize) -> (Vec<usize>, Vec<usize>) {
        let mut train: Vec<usize> = (0..documents).collect();
        let mut rng = PublicRng::new(self.options.seed);
        let mut validation = Vec::new();
        for _ in 0..documents / VALIDATION_SHARE {
            let place = rng::below(&mut rng, train.len() as u128) as usize;
            validation.push(train.swap_remove(place));
        }
        (train, validation)
    }

    fn run<'r>(&'r self, progress: &'r dyn Fn(u64) -> Progress) -> Run<'r> {
        Run {
            options: self.options.clone(),
            checkpoint: Some(self.checkpoint),
            notice: self.notice,
            progress,
        }
    }
}
