//! `undertone-lab`: the experiments of the papers, and the training of heads and recoders.

#[macro_use]
extern crate undertone_cli;

mod commands;

use std::process::ExitCode;

use clap::Parser;
use undertone_cli::progress;

/// Repeat the experiments of the papers that undertone builds on, and train heads and recoders for
/// its packs.
#[derive(Parser)]
#[command(name = "undertone-lab", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    progress::draw(false);
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
