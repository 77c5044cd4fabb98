//! Times parts of the library beside other programs, for `peers.py` in this folder:
//! `cargo bench --bench peers -- PART ARGUMENTS`. For each line on standard input a part runs once
//! and prints one line of JSON.

use std::env;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::Instant;

use undertone::encoder::{EncoderIdentity, OnnxEncoder, Runtime, encode_all, encode_all_public};
use undertone::pack::kmeans::lloyd;
use undertone::pack::{LexiconData, PackContents};
use undertone::progress::Progress;
use undertone::release::document::OsEntropy;
use undertone_core::ledger::Grant;
use undertone_core::lexicon::Matching;
use undertone_core::pack::Pack;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, VectorMechanism};
use undertone_core::words::Vocabulary;
use undertone_lab::wmd::assignment;

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &arguments[..] {
        ["encode", model, sentences] => encode(model, sentences, Runtime::Rten),
        ["encode", model, sentences, library] => {
            encode(model, sentences, Runtime::OnnxRuntime(library.into()));
        }
        ["kmeans", points, centroids, dimension, iterations] => {
            kmeans(points, centroids, number(dimension), number(iterations));
        }
        ["nearest", vectors, points, dimension, exponent, grid] => {
            nearest(
                vectors,
                points,
                number(dimension),
                number(exponent),
                number(grid),
            );
        }
        ["noise", dimension, epsilon] => noise(number(dimension), epsilon),
        ["wmd", costs, n] => wmd(costs, number(n)),
        _ => eprintln!("wanted: a part and its arguments; peers.py gives them"),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a number")
}

/// Runs `part` for each line of standard input. `part` returns the fields after the seconds.
fn each_line(mut part: impl FnMut(&str) -> String) {
    for line in io::stdin().lines() {
        let line = line.expect("standard input can be read");
        let start = Instant::now();
        let fields = part(&line);
        let seconds = start.elapsed().as_secs_f64();
        println!("{{\"seconds\": {seconds}{fields}}}");
    }
}

/// The little-endian numbers of a file.
fn numbers<T, const N: usize>(path: &str, of: impl Fn([u8; N]) -> T) -> Vec<T> {
    let bytes = fs::read(path).expect("the file can be read");
    bytes.as_chunks().0.iter().map(|bytes| of(*bytes)).collect()
}

/// Encodes a file with one sentence a line on `RAYON_NUM_THREADS` threads. The line of standard
/// input is `alone` or `together`. The engine is ONNX Runtime from a library, or the built-in one.
fn encode(model: &str, sentences: &str, runtime: Runtime) {
    let encoder = OnnxEncoder::open_with(Path::new(model), &runtime).expect("an encoder");
    let text = fs::read_to_string(sentences).expect("the sentences can be read");
    let sentences: Vec<&str> = text.lines().collect();
    let quiet = Progress::hidden();
    each_line(|line| {
        let rows = match line {
            "alone" => encode_all(&encoder, &sentences, &quiet),
            "together" => encode_all_public(&encoder, &sentences, &quiet),
            other => panic!("unknown: {other}"),
        };
        let rows = rows.expect("vectors");
        // The sum depends on the values and on the order of the rows.
        let terms = (1..)
            .zip(&rows)
            .map(|(i, &x)| f64::from(i % 1009) * f64::from(x));
        format!(", \"sum\": {}", terms.sum::<f64>())
    });
}

/// Lloyd's iterations from given centroids. The files have f32, row-major.
fn kmeans(points: &str, centroids: &str, dimension: usize, iterations: usize) {
    let points = numbers(points, f32::from_le_bytes);
    let centroids = numbers(centroids, f32::from_le_bytes);
    each_line(|_| {
        let found = lloyd(&points, dimension, &centroids, iterations).expect("usable points");
        let (iterations, inertia) = (found.iterations, found.inertia);
        format!(", \"iterations\": {iterations}, \"inertia\": {inertia}")
    });
}

/// The word nearest to a noisy point, on one thread. The vectors are i8 and the points i32,
/// row-major; a line is the index of a point.
fn nearest(vectors: &str, points: &str, dimension: usize, exponent: i32, grid: i32) {
    /// Vector exponent of a lexicon of exponent 0.
    const FRACTION_BITS: i32 = 8;
    let vectors = numbers(vectors, i8::from_le_bytes);
    let rows = vectors.chunks_exact(dimension).enumerate();
    let words = rows.map(|(index, row)| (format!("w{index:05}"), u16::MAX, row.to_vec()));
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
            exponent: exponent - FRACTION_BITS,
            words: words.collect(),
            phrases: Vec::new(),
        }),
    };
    let bytes = contents.to_bytes().expect("sizes that a pack can have");
    let pack = Pack::parse(&bytes).expect("a pack");
    let vocabulary = Vocabulary::new(&pack).expect("a lexicon");
    let points = numbers(points, i32::from_le_bytes);
    each_line(|line| {
        let point = &points[number::<usize>(line) * dimension..][..dimension];
        format!(", \"word\": {}", vocabulary.nearest(point, grid))
    });
}

/// Releases private vectors one at a time. The line of standard input is their number.
fn noise(dimension: u32, epsilon: &str) {
    let epsilon = epsilon.parse().expect("an epsilon");
    let mechanism =
        VectorMechanism::new(dimension, 0, Noise::Laplace, epsilon).expect("usable parameters");
    let mut rng = PublicRng::new(0);
    let x: Vec<f32> = (0..dimension)
        .map(|_| rng.next_u32() as f32 / u32::MAX as f32 - 0.5)
        .collect();
    let mut out = vec![0; mechanism.release_bytes()];
    each_line(|line| {
        for _ in 0..number::<u32>(line) {
            let grant = Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon());
            mechanism
                .release(grant, black_box(&x), &mut OsEntropy, black_box(&mut out))
                .expect("working entropy");
        }
        String::new()
    });
}

/// Assignment problems: matrices of N × N costs in f64, one after the other, all solved each time.
fn wmd(costs: &str, n: usize) {
    let costs = numbers(costs, f64::from_le_bytes);
    each_line(|_| {
        let totals = costs
            .chunks_exact(n * n)
            .map(|costs| assignment(costs.to_vec(), n).expect("finite costs").0);
        format!(", \"total\": {}", totals.sum::<f64>())
    });
}
