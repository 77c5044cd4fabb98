//! Speed of training a recoder: one line of JSON per sample, to standard output.
//!
//! d = 768, 50 clusters, batches of 256 documents with 10 sentences each. A sample is the
//! difference between a long and a short training, so that checks, first weights and validation do
//! not count.

use std::time::{Duration, Instant};

use rayon::current_num_threads;
use undertone::encoder::vectors::DocumentVectors;
use undertone::pack::heads::Targets;
use undertone_core::rng::PublicRng;
use undertone_core::rng::rand_core::Rng;
use undertone_train::{Options, Run, Split, train_recoder};

const DIMENSION: usize = 768;
const CLUSTERS: usize = 50;
const BATCH: usize = 256;
const SENTENCES: usize = 10;
const STEPS: usize = 4;
const SAMPLES: usize = 7;

fn main() {
    // `cargo test --benches` runs the program only to check that it works.
    let samples = if std::env::args().any(|argument| argument == "--bench") {
        SAMPLES
    } else {
        1
    };
    let mut rng = PublicRng::new(1);
    let documents = STEPS * BATCH + 1;
    let rows = (0..documents * SENTENCES * DIMENSION)
        .map(|_| rng.next_u32() as f32 / u32::MAX as f32 - 0.5)
        .collect();
    let offsets = (0..=documents).map(|number| number * SENTENCES).collect();
    let documents = DocumentVectors::new(DIMENSION, rows, offsets);
    let clusters: Vec<usize> = (0..documents.len())
        .map(|number| number % CLUSTERS)
        .collect();
    let all: Vec<usize> = (0..documents.len()).collect();
    for sample in 0..=samples {
        let long = time(&documents, &clusters, &all, 2);
        let short = time(&documents, &clusters, &all, 1);
        // The first sample is a warm-up.
        if sample > 0 {
            println!(
                "{{\"bench\":\"train_recoder\",\"threads\":{},\"documents_per_s\":{:.1}}}",
                current_num_threads(),
                (STEPS * BATCH) as f64 / long.saturating_sub(short).as_secs_f64()
            );
        }
    }
}

/// The time of a training with this number of epochs.
fn time(documents: &DocumentVectors, clusters: &[usize], all: &[usize], epochs: usize) -> Duration {
    let targets = Targets {
        of_documents: clusters.to_vec(),
        classes: CLUSTERS,
    };
    let (train, validation) = all.split_at(STEPS * BATCH);
    let split = Split { train, validation };
    let run = Run::new(Options {
        epochs,
        batch: BATCH,
        ..Options::default()
    });
    let start = Instant::now();
    train_recoder(documents, &targets, None, &split, &run)
        .expect("the documents can be trained on");
    start.elapsed()
}
