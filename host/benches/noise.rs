//! Times private vectors:
//!
//! `cargo bench -p undertone --bench noise -- DIMENSION EPSILON`
//!
//! Each line of standard input is a number of vectors, which the program releases one at a time
//! before it prints one line of JSON. `peers.py` in this folder compares it with numpy.

use std::env;
use std::hint::black_box;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use undertone::release::document::OsEntropy;
use undertone_core::ledger::Grant;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, VectorMechanism};

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let [dimension, epsilon] = &arguments[..] else {
        eprintln!("wanted: DIMENSION EPSILON; peers.py gives them");
        return ExitCode::SUCCESS;
    };
    let dimension = dimension.parse().expect("the dimension is a number");
    let epsilon = epsilon.parse().expect("epsilon is a number");
    let mechanism =
        VectorMechanism::new(dimension, 0, Noise::Laplace, epsilon).expect("usable parameters");
    let mut rng = PublicRng::new(0);
    let x: Vec<f32> = (0..dimension)
        .map(|_| rng.next_u32() as f32 / u32::MAX as f32 - 0.5)
        .collect();
    let mut out = vec![0; mechanism.release_bytes()];
    for line in io::stdin().lines() {
        let line = line.expect("standard input can be read");
        let vectors: u32 = line.parse().expect("a number of vectors");
        let start = Instant::now();
        for _ in 0..vectors {
            let grant = Grant::unrecorded(Unit::Vector, mechanism.laplace().epsilon());
            mechanism
                .release(grant, black_box(&x), &mut OsEntropy, black_box(&mut out))
                .expect("working entropy");
        }
        println!("{{\"seconds\": {}}}", start.elapsed().as_secs_f64());
    }
    ExitCode::SUCCESS
}
