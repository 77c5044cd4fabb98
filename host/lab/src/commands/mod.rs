//! The commands, a file each.

mod authorship;
mod heads;
mod inversion;
mod recoder;
mod sentences;
mod shift;
mod training;
mod vectors;

use std::env;

use clap::Subcommand;
use undertone::error::Result;
use undertone_cli::paths::Paths;
use undertone_core::epsilon::Epsilon;

#[derive(Subcommand)]
pub(super) enum Command {
    /// How well bags of words hide their author and keep their topic, and how close released words
    /// are, by epsilon.
    Authorship(authorship::Arguments),
    /// How many words attackers recover from private vectors and bags, by epsilon.
    Inversion(inversion::Arguments),
    /// How well released documents can be classified, by epsilon and number of sentences.
    Sentences(sentences::Arguments),
    /// How good estimates of label shares are if private texts are of other sources than public ones.
    Shift(shift::Arguments),
    /// How useful private word vectors are, compared with published mechanisms at the same epsilon.
    Vectors(vectors::Arguments),
    /// Train score heads through the mechanism, for `undertone pack --heads-from`.
    Heads(heads::Arguments),
    /// Train the recoder of the published depth mechanism, for `undertone pack --recoder-from`.
    Recoder(recoder::Arguments),
}

impl Command {
    fn paths(&self) -> Paths {
        match self {
            Self::Authorship(arguments) => arguments.paths(),
            Self::Inversion(arguments) => arguments.paths(),
            Self::Sentences(arguments) => arguments.paths(),
            Self::Shift(arguments) => arguments.paths(),
            Self::Vectors(arguments) => arguments.paths(),
            Self::Heads(arguments) => arguments.paths(),
            Self::Recoder(arguments) => arguments.paths(),
        }
    }

    pub(super) fn run(self) -> Result<()> {
        self.paths().check()?;
        match self {
            Self::Authorship(arguments) => authorship::run(arguments),
            Self::Inversion(arguments) => inversion::run(arguments),
            Self::Sentences(arguments) => sentences::run(arguments),
            Self::Shift(arguments) => shift::run(arguments),
            Self::Vectors(arguments) => vectors::run(arguments),
            Self::Heads(arguments) => arguments.run(),
            Self::Recoder(arguments) => arguments.run(),
        }
    }
}

/// Sorts and removes duplicates.
fn ascending(mut epsilons: Vec<Epsilon>) -> Vec<Epsilon> {
    epsilons.sort_unstable();
    epsilons.dedup();
    epsilons
}

/// The command line that repeats this run.
fn command_line() -> String {
    let arguments = ["undertone-lab".to_owned()]
        .into_iter()
        .chain(env::args().skip(1));
    arguments.collect::<Vec<String>>().join(" ")
}
