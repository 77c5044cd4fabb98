//! `undertone eval`: experiments on public corpora, a file each.

mod authorship;
mod inversion;
mod sentences;
mod vectors;

use std::env;

use clap::Subcommand;
use undertone::error::Result;
use undertone_core::epsilon::Epsilon;

use crate::paths::Paths;

#[derive(Subcommand)]
pub(super) enum Experiment {
    /// Whether bags of words hide their author and keep their topic, and what is left of a word, against epsilon.
    Authorship(authorship::Arguments),
    /// What attackers find who want the words back from private vectors and bags, against epsilon.
    Inversion(inversion::Arguments),
    /// How well released documents can be classified, against epsilon and the number of sentences.
    Sentences(sentences::Arguments),
    /// How much private word vectors keep, beside published mechanisms at the same epsilon.
    Vectors(vectors::Arguments),
}

impl Experiment {
    pub(super) fn paths(&self) -> Paths {
        match self {
            Self::Authorship(arguments) => arguments.paths(),
            Self::Inversion(arguments) => arguments.paths(),
            Self::Sentences(arguments) => arguments.paths(),
            Self::Vectors(arguments) => arguments.paths(),
        }
    }
}

pub(super) fn run(experiment: Experiment) -> Result<()> {
    match experiment {
        Experiment::Authorship(arguments) => authorship::run(arguments),
        Experiment::Inversion(arguments) => inversion::run(arguments),
        Experiment::Sentences(arguments) => sentences::run(arguments),
        Experiment::Vectors(arguments) => vectors::run(arguments),
    }
}

/// Each once, the smallest first.
fn ascending(mut epsilons: Vec<Epsilon>) -> Vec<Epsilon> {
    epsilons.sort_unstable();
    epsilons.dedup();
    epsilons
}

/// How to repeat this run.
fn command() -> String {
    let arguments = ["undertone".to_owned()]
        .into_iter()
        .chain(env::args().skip(1));
    arguments.collect::<Vec<String>>().join(" ")
}
