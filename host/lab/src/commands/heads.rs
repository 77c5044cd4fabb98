//! `undertone-lab heads`.

use std::cell::OnceCell;

use clap::Args;
use undertone::encoder::vectors::DocumentVectors;
use undertone::error::Result;
use undertone::pack::heads::Targets;
use undertone::pack::{Fit, Selector, TargetChoice};
use undertone::release::document;
use undertone_cli::args::whole;
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;

use super::training::TrainingArgs;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    training: TrainingArgs,
    /// Train for releases at about this epsilon.
    #[arg(long)]
    epsilon: Epsilon,
    /// Heads for N clusters of documents instead of their labels, as `undertone pack --clusters N`
    /// makes them.
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    clusters: Option<usize>,
}

impl Arguments {
    pub(super) fn paths(&self) -> Paths {
        self.training.paths()
    }

    pub(super) fn run(&self) -> Result<()> {
        let made = OnceCell::new();
        let encoder = self.training.run(|training, build| {
            let epsilon = document::epsilon_f64(self.epsilon);
            let fit = |documents: &DocumentVectors, targets: &Targets, names: &[String]| {
                let heads = training.scores(documents, targets, epsilon)?;
                let _ = made.set((heads.clone(), names.to_vec()));
                Ok(heads)
            };
            build(Selector::Scores {
                targets: match self.clusters {
                    None => TargetChoice::Labels,
                    clusters => TargetChoice::Clusters(clusters),
                },
                fit: Fit::InMemory(&fit),
            })
        })?;
        let (heads, names) = made.into_inner().expect("a pack of scores has heads");
        heads.write(&self.training.out, &names, &encoder)
    }
}
