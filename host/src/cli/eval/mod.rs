//! `undertone eval`: experiments on public corpora, a file each.

mod sentences;
mod vectors;

use std::env;

use clap::Subcommand;
use undertone::error::Result;

#[derive(Subcommand)]
pub(super) enum Experiment {
    /// How well released documents can be classified, against epsilon and the number of sentences.
    Sentences(sentences::Arguments),
    /// How much private word vectors keep, beside published mechanisms at the same epsilon.
    Vectors(vectors::Arguments),
}

pub(super) fn run(experiment: Experiment) -> Result<()> {
    match experiment {
        Experiment::Sentences(arguments) => sentences::run(arguments),
        Experiment::Vectors(arguments) => vectors::run(arguments),
    }
}

/// How to repeat this run.
fn command() -> String {
    let arguments = ["undertone".to_owned()]
        .into_iter()
        .chain(env::args().skip(1));
    arguments.collect::<Vec<String>>().join(" ")
}
