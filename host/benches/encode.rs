//! Times a neural encoder on public sentences:
//!
//! `cargo bench -p undertone --bench encode -- MODEL SENTENCES [LIBRARY]`
//!
//! SENTENCES has one sentence a line. The engine is ONNX Runtime from LIBRARY, or else the built-in
//! one. For each line of standard input, `alone` or `together`, the program encodes all sentences
//! one at a time or as a public corpus, on `RAYON_NUM_THREADS` threads, and prints one line of
//! JSON. `peers.py` in this folder compares it with sentence-transformers.

use std::env;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use undertone::encoder::{OnnxEncoder, Runtime, encode_all, encode_all_public};
use undertone::progress::Progress;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<_> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let (model, sentences, runtime) = match &arguments[..] {
        [model, sentences] => (model, sentences, Runtime::Rten),
        [model, sentences, library] => (model, sentences, Runtime::OnnxRuntime(library.into())),
        _ => {
            eprintln!("wanted: MODEL SENTENCES [LIBRARY]; peers.py gives them");
            return ExitCode::FAILURE;
        }
    };
    let encoder = OnnxEncoder::open_with(Path::new(model), &runtime).expect("an encoder");
    let text = std::fs::read_to_string(sentences).expect("the sentences can be read");
    let sentences: Vec<&str> = text.lines().collect();
    let quiet = Progress::hidden();
    for line in io::stdin().lines() {
        let start = Instant::now();
        let rows = match line.expect("a line").as_str() {
            "alone" => encode_all(&encoder, &sentences, &quiet),
            "together" => encode_all_public(&encoder, &sentences, &quiet),
            other => {
                eprintln!("unknown: {other}");
                return ExitCode::FAILURE;
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let rows = rows.expect("vectors");
        // The sum depends on the values and on the order of the rows.
        let sum: f64 = (1..)
            .zip(&rows)
            .map(|(i, &x)| f64::from(i % 1009) * f64::from(x))
            .sum();
        println!("{{\"seconds\": {seconds}, \"sum\": {sum}}}");
    }
    ExitCode::SUCCESS
}
