//! Training for a pack: what [`pack::Selector`](undertone::pack::Selector) asks for.

use std::path::Path;

use undertone_core::rng::{self, PublicRng};

use super::{Epoch, Options, Run, Split, train_recoder, train_scores};
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::Result;
use undertone::pack::heads::{self, Targets};
use undertone::pack::kmeans::kmeans;
use undertone::pack::trained::{Recoder, ScoreHeads};
use undertone::progress::Progress;

/// One document in this many validates.
const VALIDATION_SHARE: usize = 5;

/// A training for a pack, with a bar, a checkpoint and a place for its losses.
pub struct PackTraining<'a> {
    /// How long and how fast to train.
    pub options: Options,
    /// Where an interrupted training is kept.
    pub checkpoint: &'a Path,
    /// Is told what a checkpoint that was found is good for.
    pub notice: &'a dyn Fn(&str),
    /// Is given the losses.
    pub losses: &'a dyn Fn(&[Epoch]) -> Result<()>,
}

impl PackTraining<'_> {
    /// Score heads for releases at about ε, from the closed form on; see [`train_scores`]. A fifth of the
    /// documents, drawn by the seed, says which epoch is kept.
    ///
    /// # Errors
    /// Those of [`heads::fit`] and [`train_scores`].
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

    /// A recoder that keeps `clusters` k-means clusters of the documents apart; see [`train_recoder`].
    ///
    /// # Errors
    /// Those of [`kmeans`] and [`train_recoder`].
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

    /// Numbers to learn from and numbers to validate with.
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
