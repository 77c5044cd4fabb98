//! Times Lloyd's iterations: `cargo bench -p undertone --bench kmeans -- POINTS CENTROIDS DIMENSION
//! ITERATIONS` reads two files of little-endian f32, row-major. For each line on standard input it
//! runs once and prints one line of JSON. `peers.py` beside this file runs it against scikit-learn.

use std::env;
use std::fs;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use undertone::pack::kmeans::lloyd;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let [points, centroids, dimension, iterations] = &arguments[..] else {
        eprintln!("wanted: POINTS CENTROIDS DIMENSION ITERATIONS; peers.py gives them");
        return ExitCode::SUCCESS;
    };
    let points = floats(points);
    let centroids = floats(centroids);
    let dimension = dimension.parse().expect("the dimension is a number");
    let iterations = iterations.parse().expect("the iterations are a number");
    for _ in io::stdin().lines() {
        let start = Instant::now();
        let found = lloyd(&points, dimension, &centroids, iterations).expect("usable points");
        println!(
            "{{\"seconds\": {}, \"iterations\": {}, \"inertia\": {}}}",
            start.elapsed().as_secs_f64(),
            found.iterations,
            found.inertia
        );
    }
    ExitCode::SUCCESS
}

fn floats(path: &str) -> Vec<f32> {
    let bytes = fs::read(path).expect("the file can be read");
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|four| f32::from_le_bytes(*four))
        .collect()
}
