//! The command line of undertone.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(status) => status,
        Err(error) => {
            undertone::output::note(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
