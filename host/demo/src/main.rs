//! The first program for a newcomer. The command `undertone demo` does the same with any text.

use std::io::{self, Write};
use std::process::ExitCode;

use undertone::demo::{PRIVATE_TEXT, build, tell};

fn main() -> ExitCode {
    let shown = match build(1).and_then(|built| tell(&built, PRIVATE_TEXT)) {
        Ok(shown) => shown,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::FAILURE;
        }
    };
    match io::stdout().write_all(shown.as_bytes()) {
        // The reader may stop early, as `head` does.
        Err(problem) if problem.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write: {problem}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
