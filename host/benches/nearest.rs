//! Times the search for the word nearest to a noisy point:
//!
//! `cargo bench -p undertone --bench nearest -- VECTORS POINTS DIMENSION VECTOR_EXPONENT
//! GRID_EXPONENT`
//!
//! VECTORS is a file of i8 and POINTS one of little-endian i32, both row-major. Each line of
//! standard input is the index of a point, for which the program searches once on one thread and
//! prints one line of JSON. `peers.py` in this folder compares it with faiss.

use std::env;
use std::fs;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use undertone::encoder::EncoderIdentity;
use undertone::pack::{LexiconData, PackContents};
use undertone_core::lexicon::Matching;
use undertone_core::pack::Pack;
use undertone_core::words::Vocabulary;

/// Vector exponent of a lexicon of exponent 0.
const FRACTION_BITS: i32 = 8;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let [vectors, points, numbers @ ..] = &arguments[..] else {
        eprintln!(
            "wanted: VECTORS POINTS DIMENSION VECTOR_EXPONENT GRID_EXPONENT; peers.py gives them"
        );
        return ExitCode::SUCCESS;
    };
    let number = |index: usize| -> i32 { numbers[index].parse().expect("a number") };
    let dimension = number(0) as usize;
    let vectors = fs::read(vectors).expect("the vectors can be read");
    let rows = vectors.chunks_exact(dimension).enumerate();
    let words = rows.map(|(index, row)| {
        let vector = row.iter().map(|x| *x as i8).collect();
        (format!("w{index:05}"), u16::MAX, vector)
    });
    let contents = PackContents {
        dimension,
        encoder: EncoderIdentity {
            name: "bench".to_owned(),
            digest: [0; 32],
        },
        projection: None,
        recoder: None,
        scores: None,
        features: None,
        quality: None,
        depth: None,
        lexicon: Some(LexiconData {
            matching: Matching::Words,
            exponent: number(1) - FRACTION_BITS,
            words: words.collect(),
            phrases: Vec::new(),
        }),
    };
    let bytes = contents.to_bytes().expect("sizes that a pack can have");
    let pack = Pack::parse(&bytes).expect("a pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");

    let points = fs::read(points).expect("the points can be read");
    let points: Vec<i32> = points
        .as_chunks()
        .0
        .iter()
        .map(|b| i32::from_le_bytes(*b))
        .collect();
    for line in io::stdin().lines() {
        let line = line.expect("a line");
        let index: usize = line.parse().expect("the index of a point");
        let point = &points[index * dimension..][..dimension];
        let start = Instant::now();
        let word = vocabulary.nearest(point, number(2));
        let seconds = start.elapsed().as_secs_f64();
        println!("{{\"seconds\": {seconds}, \"word\": {word}}}");
    }
    ExitCode::SUCCESS
}
