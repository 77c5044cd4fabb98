//! The command line of undertone: arguments, progress and messages. The work is in the library.

/// Says something on standard error.
macro_rules! note {
    ($($line:tt)*) => {
        crate::progress::note(format_args!($($line)*))
    };
}

mod args;
mod audit;
mod decode;
mod demo;
mod distil;
mod encode;
#[cfg(feature = "train")]
mod eval;
mod files;
mod inspect;
mod keywords;
mod obfuscate;
mod pack;
mod privatize;
mod progress;
mod project;
mod vocabulary;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use undertone::error::Result;
use undertone::pack::candidates::Candidates;

/// Say what a text is about without giving the text away.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The whole way on one screen: pack, private text, releases, exact privacy loss.
    Demo(demo::Arguments),
    /// Make a lexicon out of a neural sentence encoder.
    Distil(distil::Arguments),
    /// Make a vocabulary out of word vectors: word2vec, GloVe, fastText.
    Vocabulary(vocabulary::Arguments),
    /// Make a projection of word vectors for private releases, and certify how far it stretches distances.
    Project(project::Arguments),
    /// Encode the sentences of a corpus into a safetensors file.
    Encode(encode::Arguments),
    /// Build a pack for devices, and the candidates for the server, from a public corpus.
    Pack(pack::Arguments),
    /// Release private documents: one line of JSON each, with the id and the release.
    Privatize(privatize::Arguments),
    /// Read releases as the server does: which public document each one names.
    Decode(decode::Arguments),
    /// List what releases can name, for programs that read no safetensors: the pack's identifier, then number,
    /// name and excerpt of each candidate, with tabs between.
    Candidates {
        /// The candidates that `pack` wrote.
        candidates: PathBuf,
    },
    /// Find the words that tell the labels of a public corpus apart.
    Keywords(keywords::Arguments),
    /// Release private texts as bags of words: other words of about the same meaning.
    Obfuscate(obfuscate::Arguments),
    /// Experiments on public, labelled corpora.
    #[cfg(feature = "train")]
    Eval {
        #[command(subcommand)]
        experiment: eval::Experiment,
    },
    /// Check that a pack keeps its promises: by exact laws, by the worst neighbours that a search finds, and by
    /// releases of a device.
    ///
    /// Exit status: 0 if every check passed, 3 if one failed, 1 or 2 if no audit was made.
    Audit(audit::Arguments),
    /// Show what a pack contains.
    Inspect {
        /// The pack.
        pack: PathBuf,
    },
}

fn main() -> ExitCode {
    progress::draw();
    match run(Cli::parse().command) {
        Ok(status) => status,
        Err(error) => {
            note!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        // It has a status of its own.
        Command::Audit(arguments) => return audit::run(&arguments),
        Command::Candidates { candidates } => files::print(&Candidates::read(&candidates)?.list()),
        Command::Decode(arguments) => arguments.run(),
        Command::Demo(arguments) => arguments.run(),
        Command::Distil(arguments) => arguments.run(),
        Command::Encode(arguments) => arguments.run(),
        #[cfg(feature = "train")]
        Command::Eval { experiment } => eval::run(experiment),
        Command::Inspect { pack } => inspect::run(&pack),
        Command::Keywords(arguments) => arguments.run(),
        Command::Obfuscate(arguments) => arguments.run(),
        Command::Pack(arguments) => arguments.run(),
        Command::Privatize(arguments) => arguments.run(),
        Command::Project(arguments) => project::run(&arguments),
        Command::Vocabulary(arguments) => arguments.run(),
    }?;
    Ok(ExitCode::SUCCESS)
}
