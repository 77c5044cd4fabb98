//! The command line of undertone: arguments, progress and messages. The work is in the library.

#![warn(clippy::too_many_lines)]

#[macro_use]
extern crate undertone_cli;

mod answers;
mod audit;
mod budget;
mod count;
mod decode;
mod demo;
mod devices;
mod distil;
mod documents;
mod encode;
mod estimate;
mod former;
mod generate;
mod import;
mod inspect;
mod keywords;
mod ledger;
mod lines;
mod measure;
mod pack;
mod posteriors;
mod project;
mod quality;
mod question;
mod releases;
mod statement;
mod window;
mod words;

use std::env;
use std::fmt::Write as _;
use std::panic;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use undertone::error::Result;
use undertone_cli::{args, files, paths, progress};

/// Measure what texts are about without collecting them.
#[derive(Parser)]
#[command(
    name = "undertone",
    version,
    max_term_width = 100,
    subcommand_value_name = "VERB",
    after_help = EXIT_STATUSES
)]
struct Cli {
    /// Print errors only: no notes, no progress.
    #[arg(short, long, global = true, display_order = 1000)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUSES: &str = "\
Exit status:
  0  Success
  1  Failure; the message says why
  2  A wrong option or argument
  3  `audit`: a check failed
  4  `release`: the ledger's budget was used up, and --out has what was released before

`undertone help VERB` lists the options of a verb.";

/// The verbs in the order of their use, in groups.
const GROUPS: [(&str, &[&str]); 5] = [
    ("First", &["demo"]),
    ("Before anything is collected", &["plan"]),
    (
        "Packs, from public texts",
        &["pack", "inspect", "measure", "audit", "lexicon"],
    ),
    ("Private texts", &["release"]),
    ("Releases", &["decode", "count", "estimate"]),
];

#[derive(Subcommand)]
enum Command {
    /// Show everything at once: a pack, a private text, its releases and their privacy loss.
    Demo(demo::Arguments),
    /// Plan how many devices a precision takes and what a year costs; state what is promised.
    #[command(subcommand)]
    Plan(Plan),
    /// Build a pack for devices, and the candidates for the server, from a public corpus.
    Pack(pack::Arguments),
    /// Show what a pack, a candidates file, a form or a ledger contains.
    Inspect(inspect::Arguments),
    /// Measure how often releases of a pack name the right candidate of labelled public texts.
    Measure(measure::Arguments),
    /// Check that a pack or a form keeps its promises: by exact laws, searches, a device.
    Audit(audit::Arguments),
    /// Make lexicons, vocabularies and projections for packs; find keywords; encode a corpus.
    #[command(subcommand)]
    Lexicon(Lexicon),
    /// Release private documents: what texts are about, bags of words, answers to a form.
    #[command(subcommand)]
    Release(Release),
    /// Name the candidate of each release, or the probable answers to a form.
    Decode(decode::Arguments),
    /// Count any number of releases by kind, slice and outcome.
    Count(count::Arguments),
    /// Estimate from releases what all texts are about: shares with intervals, by slice.
    Estimate(Box<estimate::Arguments>),
    /// Write shell completions or manual pages.
    #[command(hide = true)]
    Generate(generate::Arguments),
}

#[derive(Subcommand)]
enum Plan {
    /// Compute the precision of estimates by number of devices, and the reverse.
    Devices(Box<devices::Arguments>),
    /// Add up what releases cost a person, a line and towards a reader of counts.
    Budget(budget::Arguments),
    /// Compute the least epsilon of a person's year for a precision, and the schedule.
    Window(window::Arguments),
    /// Write what a deployment promises: for its users, a data review and a public registry.
    Statement(statement::Arguments),
}

#[derive(Subcommand)]
enum Lexicon {
    /// Make a lexicon from a neural sentence encoder.
    Distil(distil::Arguments),
    /// Make a vocabulary from word vectors: word2vec, GloVe, fastText.
    Import(import::Arguments),
    /// Make a projection of word vectors, and certify how far it stretches distances.
    Project(project::Arguments),
    /// Find the words that distinguish the labels of a public corpus.
    Keywords(keywords::Arguments),
    /// Encode the sentences of a corpus into a safetensors file.
    Encode(encode::Arguments),
}

#[derive(Subcommand)]
enum Release {
    /// Release an answer to one question of a form for each document.
    Answers(answers::Arguments),
    /// Release a candidate for each document.
    Documents(documents::Arguments),
    /// Release one line of a diary in a few slots of a window, such as one line a year.
    Lines(lines::Arguments),
    /// Release a bag of words for each text: other words of about the same meaning.
    Words(words::Arguments),
    /// Replace a ledger that was lost, was damaged or comes from the future.
    ///
    /// A clock that was wrong leaves a ledger with a window in the future: set the clock right first.
    /// This day (UTC) counts as spent, so releases continue tomorrow.
    RecreateLedger(ledger::Recreate),
}

fn main() -> ExitCode {
    no_panics_of_parquet();
    let cli = parsed();
    progress::draw(cli.quiet);
    run(cli.command).unwrap_or_else(|error| {
        progress::error(&error);
        ledger::advise(&error);
        ExitCode::FAILURE
    })
}

/// The parser, with the verbs in groups. Negative numbers are values, so that a message is about
/// their range.
fn parser() -> clap::Command {
    fn with_negatives(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|argument| {
            if argument.get_action().takes_values() {
                argument.allow_negative_numbers(true)
            } else {
                argument
            }
        });
        command.mut_subcommands(with_negatives)
    }
    let command = with_negatives(Cli::command());
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let mut verbs = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(verbs, "{header}{group}:{header:#}");
        for name in names {
            let verb = command.find_subcommand(name);
            let about = verb.and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(verbs, "  {literal}{name:8}{literal:#}  {about}");
        }
        verbs.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

fn parsed() -> Cli {
    let mut command = parser();
    let arguments = former::renamed(env::args_os());
    let matches = command
        .try_get_matches_from_mut(arguments)
        .unwrap_or_else(|error| error.exit());
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        // These have statuses of their own.
        Command::Audit(arguments) => return audit::run(&arguments),
        Command::Release(Release::Answers(arguments)) => return arguments.run(),
        Command::Release(Release::Documents(arguments)) => return arguments.run(),
        Command::Release(Release::Lines(arguments)) => return arguments.run(),
        Command::Release(Release::Words(arguments)) => return arguments.run(),
        Command::Release(Release::RecreateLedger(arguments)) => arguments.run(),
        Command::Count(arguments) => arguments.run(),
        Command::Decode(arguments) => arguments.run(),
        Command::Demo(arguments) => arguments.run(),
        Command::Estimate(arguments) => arguments.run(),
        Command::Generate(arguments) => arguments.run(parser()),
        Command::Inspect(arguments) => arguments.run(),
        Command::Lexicon(Lexicon::Distil(arguments)) => arguments.run(),
        Command::Lexicon(Lexicon::Encode(arguments)) => arguments.run(),
        Command::Lexicon(Lexicon::Import(arguments)) => arguments.run(),
        Command::Lexicon(Lexicon::Keywords(arguments)) => arguments.run(),
        Command::Lexicon(Lexicon::Project(arguments)) => project::run(&arguments),
        Command::Measure(arguments) => arguments.run(),
        Command::Pack(mut arguments) => arguments.run(),
        Command::Plan(Plan::Budget(arguments)) => arguments.run(),
        Command::Plan(Plan::Devices(arguments)) => arguments.run(),
        Command::Plan(Plan::Statement(arguments)) => arguments.run(),
        Command::Plan(Plan::Window(arguments)) => arguments.run(),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Silences panics of the Parquet reader: the library turns them into errors that name the file.
fn no_panics_of_parquet() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        let place = about.location().map_or("", |place| place.file());
        if !place.contains("/parquet-") {
            others(about);
        }
    }));
}
