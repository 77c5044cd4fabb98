//! `undertone-lab recoder`.

use std::cell::OnceCell;

use clap::Args;
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::Result;
use undertone::pack::{self, Directions, Selector};
use undertone_cli::args::whole;
use undertone_cli::paths::Paths;
use undertone_train::CLUSTERS;

use super::training::TrainingArgs;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    training: TrainingArgs,
    /// Clusters of documents that the recoder keeps apart.
    #[arg(long, value_name = "N", default_value_t = CLUSTERS, value_parser = whole::<usize>)]
    clusters: usize,
}

impl Arguments {
    pub(super) fn paths(&self) -> Paths {
        self.training.paths()
    }

    pub(super) fn run(&self) -> Result<()> {
        let made = OnceCell::new();
        let encoder = self.training.run(|training, build| {
            let recode = |documents: &DocumentVectors| {
                let recoder = training.recoder(documents, self.clusters)?;
                let _ = made.set(recoder.clone());
                Ok(recoder)
            };
            build(Selector::Depth {
                candidates: pack::CANDIDATES,
                // Train on every document that has a sentence; the pack is discarded.
                min_sentences: 1,
                directions: Directions::Random(1),
                recoder: Some(&recode),
            })
        })?;
        let recoder = made.into_inner().expect("the pack has a recoder");
        recoder.write(&self.training.out, &encoder)
    }
}
