//! The command line of undertone: arguments, progress and messages. The work is in the library.

#![warn(clippy::too_many_lines)]

#[macro_use]
extern crate undertone_cli;

mod audit;
mod budget;
mod count;
mod decode;
mod demo;
mod distil;
mod encode;
mod estimate;
mod inspect;
mod keywords;
mod ledger;
mod measure;
mod obfuscate;
mod pack;
mod plan;
mod privatize;
mod project;
mod quality;
mod question;
mod releases;
mod vocabulary;

use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use undertone::error::Result;
use undertone::pack::candidates::Candidates;
use undertone_cli::paths::Paths;
use undertone_cli::{args, files, paths, progress};

/// Say what a text is about without giving the text away.
#[derive(Parser)]
#[command(name = "undertone", version, max_term_width = 100)]
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
    ///
    /// Exit status: 0 if all documents were released; 4 if the budget of the ledger was used up before, and then
    /// --out has what was released so far; 1 or 2 for any other error.
    Privatize(privatize::Arguments),
    /// Read releases as the server does: which public document each one names.
    ///
    /// A line that is no release of these packs is counted and does not stop the others. Exit status: 0 if any line
    /// was decoded or there was none, 1 if none could be, 1 or 2 for any other error.
    Decode(decode::Arguments),
    /// Count releases, any number of them, by kind, slice and outcome: what estimates start from.
    ///
    /// A line or record that is no release, or not one of these packs, is counted by its reason and does not stop the
    /// others. Exit status: 0 if any release was counted or there was none, 1 if none could be, 1 or 2 for any other
    /// error.
    Count(count::Arguments),
    /// Say what many texts are about, out of their releases: shares with intervals, by slice, and what they assume.
    ///
    /// Exit status: 0 if there is an answer, 1 if there is none, 1 or 2 for any other error.
    Estimate(Box<estimate::Arguments>),
    /// Before anything is collected: how precise so many devices will be, or how many a precision takes.
    Plan(plan::Arguments),
    /// What releases cost a user together, by the day, month and year: the sum of epsilon, and what holds with a delta.
    Budget(budget::Arguments),
    /// Show what a ledger has left of its budget. It writes nothing and locks nothing, unless --recreate-spent is given.
    Ledger(ledger::Arguments),
    /// List what releases can name, for programs that read no safetensors: the pack's identifier, then number,
    /// name and excerpt of each candidate, with tabs between.
    Candidates {
        /// The candidates that `pack` wrote; `-` is standard input.
        candidates: PathBuf,
    },
    /// Find the words that tell the labels of a public corpus apart.
    Keywords(keywords::Arguments),
    /// Release private texts as bags of words: other words of about the same meaning.
    ///
    /// Exit status: as that of `privatize`.
    Obfuscate(obfuscate::Arguments),
    /// Check that a pack keeps its promises: by exact laws, by the worst neighbours that a search finds, and by
    /// releases of a device.
    ///
    /// Exit status: 0 if every check passed, 3 if one failed, 1 or 2 if no audit was made.
    Audit(audit::Arguments),
    /// Measure how often releases of a pack name the right candidate, on labelled public documents that it was not made
    /// from.
    Measure(measure::Arguments),
    /// Show what a pack contains, what its releases promise, and how good it is.
    Inspect {
        /// The pack; `-` is standard input.
        pack: PathBuf,
    },
}

impl Command {
    /// What it reads and writes.
    fn paths(&self) -> Paths {
        match self {
            Self::Audit(arguments) => arguments.paths(),
            Self::Budget(arguments) => arguments.paths(),
            Self::Count(arguments) => arguments.paths(),
            Self::Decode(arguments) => arguments.paths(),
            Self::Demo(arguments) => arguments.paths(),
            Self::Distil(arguments) => arguments.paths(),
            Self::Encode(arguments) => arguments.paths(),
            Self::Estimate(arguments) => arguments.paths(),
            Self::Plan(arguments) => arguments.paths(),
            Self::Candidates { .. } | Self::Inspect { .. } => Paths::default(),
            Self::Keywords(arguments) => arguments.paths(),
            Self::Ledger(arguments) => arguments.paths(),
            Self::Measure(arguments) => arguments.paths(),
            Self::Obfuscate(arguments) => arguments.paths(),
            Self::Pack(arguments) => arguments.paths(),
            Self::Privatize(arguments) => arguments.paths(),
            Self::Project(arguments) => arguments.paths(),
            Self::Vocabulary(arguments) => arguments.paths(),
        }
    }
}

fn main() -> ExitCode {
    progress::draw();
    no_panics_of_parquet();
    match run(parsed().command) {
        Ok(status) => status,
        Err(error) => {
            note!("error: {error}");
            ledger::advise(&error);
            ExitCode::FAILURE
        }
    }
}

/// What was typed. A negative number is a value, so that the message is about its range.
fn parsed() -> Cli {
    fn with_negatives(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|argument| match argument.get_action().takes_values() {
            true => argument.allow_negative_numbers(true),
            false => argument,
        });
        command.mut_subcommands(with_negatives)
    }
    let mut command = with_negatives(Cli::command());
    let matches = command.get_matches_mut();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn run(command: Command) -> Result<ExitCode> {
    command.paths().check()?;
    match command {
        // These have statuses of their own.
        Command::Audit(arguments) => return audit::run(&arguments),
        Command::Privatize(arguments) => return arguments.run(),
        Command::Obfuscate(arguments) => return arguments.run(),
        Command::Candidates { candidates } => {
            let bytes = files::read_bytes(&candidates)?;
            files::print(&Candidates::from_bytes(&bytes, &candidates)?.list())
        }
        Command::Budget(arguments) => arguments.run(),
        Command::Count(arguments) => arguments.run(),
        Command::Decode(arguments) => arguments.run(),
        Command::Demo(arguments) => arguments.run(),
        Command::Distil(arguments) => arguments.run(),
        Command::Encode(arguments) => arguments.run(),
        Command::Estimate(arguments) => arguments.run(),
        Command::Plan(arguments) => arguments.run(),
        Command::Inspect { pack } => inspect::run(&pack),
        Command::Keywords(arguments) => arguments.run(),
        Command::Ledger(arguments) => arguments.run(),
        Command::Measure(arguments) => arguments.run(),
        Command::Pack(arguments) => arguments.run(),
        Command::Project(arguments) => project::run(&arguments),
        Command::Vocabulary(arguments) => arguments.run(),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The library says what is wrong with a file on which the Parquet reader panics; the panic itself says nothing to a user.
fn no_panics_of_parquet() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        let place = about.location().map_or("", |place| place.file());
        if !place.contains("/parquet-") {
            others(about);
        }
    }));
}
