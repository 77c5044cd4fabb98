//! Times the way from text to release on a device. `cargo bench -p undertone-tests --bench text --
//! PACK SENTENCES` reads sentences from a file, one on each line; a third argument selects other
//! kernels than the best. For each line on standard input, the name of a step, it runs that step
//! and prints one line of JSON: seconds of processor time for a sentence. `../peers/text.py`
//! compares it with other programs.
//!
//! - `push`: a sentence to its scores.
//! - `release`: a text of [`TEXT`] sentences to its release, splitting into sentences included.

use std::env;
use std::fs;
use std::hint::black_box;
use std::io;
use std::process::ExitCode;

use rustix::time::{ClockId, clock_gettime};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::kernels::Backend;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
use undertone_tests::FixedEntropy;

/// Bytes other than zero; their values do not affect the time.
const KEY: [u8; 32] = [7; 32];

/// Sentences in a text.
const TEXT: usize = 20;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let [pack, sentences, named @ ..] = &arguments[..] else {
        eprintln!("wanted: PACK SENTENCES; text.py gives them");
        return ExitCode::SUCCESS;
    };
    let bytes = fs::read(pack).expect("a pack");
    let pack = Pack::parse(&bytes).expect("a pack");
    let sentences = fs::read_to_string(sentences).expect("sentences");
    let sentences: Vec<&str> = sentences.lines().collect();
    let texts: Vec<String> = sentences.chunks(TEXT).map(|text| text.join(" ")).collect();
    let mut document: Document<'_> = Document::new(&pack).expect("a pack with candidates");
    if let Some(name) = named.first() {
        let backend = Backend::named(name).expect("kernels of this processor");
        hazmat::force_backend(&mut document, backend);
    }
    let epsilon: Epsilon = "3".parse().expect("an epsilon");

    for line in io::stdin().lines() {
        let start = seconds();
        match line.expect("text").as_str() {
            "push" => {
                for batch in sentences.chunks(100) {
                    for sentence in batch {
                        let pushed = document.push_sentence(black_box(sentence));
                        pushed.expect("a pack that reads text");
                    }
                    document.clear();
                }
            }
            "release" => {
                for text in &texts {
                    document
                        .push_text(black_box(text.as_bytes()))
                        .expect("a pack that reads text");
                    let release = document.release(
                        Grant::unrecorded(Unit::Sentence, epsilon),
                        Rule::PermuteAndFlip,
                        &mut FixedEntropy::new(&KEY),
                    );
                    black_box(release).expect("entropy");
                }
            }
            other => panic!("there is no step {other}"),
        }
        let taken = (seconds() - start) / sentences.len() as f64;
        println!("{{\"seconds\": {taken}}}");
    }
    ExitCode::SUCCESS
}

/// Processor time of the process.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
