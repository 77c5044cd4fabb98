//! Times assignment problems.
//!
//! `cargo bench -p undertone-lab --bench wmd -- COSTS N` reads a file of little-endian f64:
//! matrices of N × N costs, one after the other. For each line on standard input it solves them all
//! once and prints one line of JSON. `host/benches/peers.py` compares it with SciPy.

use std::env;
use std::fs;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use undertone_lab::wmd::assignment;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let [costs, n] = &arguments[..] else {
        eprintln!("wanted: COSTS N; peers.py gives them");
        return ExitCode::SUCCESS;
    };
    let n: usize = n.parse().expect("N is a number");
    let bytes = fs::read(costs).expect("the file can be read");
    let costs: Vec<f64> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|eight| f64::from_le_bytes(*eight))
        .collect();
    for _ in io::stdin().lines() {
        let start = Instant::now();
        let total: f64 = costs
            .chunks_exact(n * n)
            .map(|costs| assignment(costs.to_vec(), n).expect("finite costs").0)
            .sum();
        println!(
            "{{\"seconds\": {}, \"total\": {total}}}",
            start.elapsed().as_secs_f64()
        );
    }
    ExitCode::SUCCESS
}
