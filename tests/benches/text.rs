//! Times text → scores on a device: `cargo bench -p undertone-tests --bench text -- PACK` reads sentences from standard
//! input, one on each line, and prints the processor's time for one of them, as the median and the range of 25 samples.

use std::env;
use std::fs;
use std::io;

use rustix::time::{ClockId, clock_gettime};
use undertone_core::document::Document;
use undertone_core::pack::Pack;

/// Samples.
const SAMPLES: usize = 25;

fn main() {
    // Cargo adds `--bench`.
    let Some(path) = env::args().skip(1).find(|argument| argument != "--bench") else {
        eprintln!("wanted: PACK, and sentences on standard input");
        return;
    };
    let bytes = fs::read(&path).expect("a pack");
    let pack = Pack::parse(&bytes).expect("a pack");
    let sentences: Vec<String> = io::stdin()
        .lines()
        .map(|line| line.expect("text"))
        .collect();
    let mut document: Document<'_> = Document::new(&pack).expect("a pack with candidates");
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let start = seconds();
            for batch in sentences.chunks(100) {
                for sentence in batch {
                    document
                        .push_sentence(sentence)
                        .expect("a pack that reads text");
                }
                document.clear();
            }
            (seconds() - start) / sentences.len() as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    let words: usize = sentences
        .iter()
        .map(|sentence| sentence.split_whitespace().count())
        .sum();
    let at = |place: usize| samples[place] * 1e6;
    println!(
        "{:.2} µs a sentence of {:.1} words ({:.2} to {:.2})",
        at(SAMPLES / 2),
        words as f64 / sentences.len() as f64,
        at(0),
        at(SAMPLES - 1)
    );
}

/// What the process has used of a processor.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
