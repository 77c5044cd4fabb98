//! Times the work of a device. `cargo bench -p undertone-tests --bench kernels -- FOLDER D M P K
//! [BACKEND]` reads little-endian f32 matrices, row-major, from FOLDER: `candidates` `[M][D]`,
//! `sentences` `[K][D]` and `directions` `[P][D]`. For each line on standard input, the name of a
//! step, it runs that step and prints one line of JSON. `../peers/peers.py` compares it with other
//! programs.

use std::env;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use rustix::time::{ClockId, clock_gettime};
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::kernels::Backend;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::select::{Ratio, Rule, SliceLevels};
use undertone_core::unit::Unit;
use undertone_core::vector::{Noise, VectorMechanism};
use undertone_tests::FixedEntropy;
use undertone_tests::documents::levels_of;
use undertone_tests::packs::{DepthParts, ScoreParts, Scoring};

/// A sample is the mean of this number of calls.
const CALLS: u32 = 10;

/// Bytes other than zero; their values do not affect the time.
const KEY: [u8; 32] = [7; 32];

/// The document of the C interface.
type Doc<'p> = Document<'p, 128, 100>;

/// Embeddings here have a length of at most 2.
const EXPONENT: i32 = 14;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let [folder, sizes @ ..] = &arguments[..] else {
        eprintln!("wanted: FOLDER D M P K; peers.py gives them");
        return ExitCode::SUCCESS;
    };
    // A fifth argument selects other kernels than the best.
    let (sizes, named) = sizes.split_at(sizes.len().min(4));
    let backend = match named.first() {
        Some(name) => Backend::named(name).expect("kernels of this processor"),
        None => Backend::best(),
    };
    let sizes: Vec<usize> = sizes
        .iter()
        .map(|n| n.parse().expect("sizes are numbers"))
        .collect();
    let [d, m, p, k] = sizes[..] else {
        eprintln!("wanted: FOLDER D M P K; peers.py gives them");
        return ExitCode::FAILURE;
    };
    let matrix = |name, rows| floats(&Path::new(folder).join(name), rows, d);
    let (candidates, sentences) = (matrix("candidates", m), matrix("sentences", k).concat());

    let bytes = mapped(&depth_pack(&candidates, &matrix("directions", p)));
    let pack = Pack::parse(bytes).expect("a pack");
    let mut document = Doc::new(&pack).expect("few directions");
    hazmat::force_backend(&mut document, backend);
    let mut full = Doc::new(&pack).expect("few directions");
    hazmat::force_backend(&mut full, backend);
    push(&mut full, &sentences);

    let bytes = mapped(&scores_pack(&candidates));
    let scores = Pack::parse(bytes).expect("a pack");
    // Scores of more candidates than fit a document are not measured.
    let mut scored = Doc::new(&scores).ok();
    if let Some(scored) = &mut scored {
        hazmat::force_backend(scored, backend);
    }

    // The levels that peers.py passes to others, below the bound of a document.
    let some: Vec<_> = levels_of(&full).iter().map(|level| level % 9).collect();
    let some = SliceLevels {
        levels: &some,
        bound: 65,
    };
    let epsilon: Epsilon = "10".parse().expect("an epsilon");
    let rule = Rule::PermuteAndFlip;

    for line in io::stdin().lines() {
        let seconds = match line.expect("text").as_str() {
            "levels" => {
                println!("{:?}", levels_of(&full));
                continue;
            }
            "push" => time(|| {
                push(&mut document, &sentences);
                document.clear();
            }),
            "count" => time(|| {
                hazmat::levels(&full, |block| {
                    black_box(block);
                });
            }),
            "select" => time(|| {
                let mut entropy = FixedEntropy::new(black_box(&KEY));
                let mut words = hazmat::words(backend, &mut entropy).expect("a key");
                black_box(hazmat::select::<160, _>(
                    &some,
                    rule,
                    Ratio::new(epsilon),
                    &mut words,
                ))
                .expect("levels");
            }),
            "release" => time(|| {
                let release = full.release(
                    Grant::unrecorded(Unit::Sentence, epsilon),
                    rule,
                    &mut FixedEntropy::new(&KEY),
                );
                black_box(release).expect("entropy");
            }),
            "whole" => time(|| {
                push(&mut document, &sentences);
                let release = document.release(
                    Grant::unrecorded(Unit::Sentence, epsilon),
                    rule,
                    &mut FixedEntropy::new(&KEY),
                );
                black_box(release).expect("entropy");
            }),
            "scores push" => time(|| {
                let document = scored.as_mut().expect("few candidates");
                push(document, &sentences);
                document.clear();
            }),
            "scores whole" => time(|| {
                let document = scored.as_mut().expect("few candidates");
                push(document, &sentences);
                let release = document.release(
                    Grant::unrecorded(Unit::Sentence, epsilon),
                    rule,
                    &mut FixedEntropy::new(&KEY),
                );
                black_box(release).expect("entropy");
            }),
            "noise" => {
                let dimension = d.try_into().expect("a small number");
                let mechanism = VectorMechanism::new(dimension, 1, Noise::Laplace, epsilon);
                let mechanism = mechanism.expect("a dimension that gets noise");
                let mut bytes = vec![0; mechanism.release_bytes()];
                time(|| {
                    let released = mechanism.release(
                        Grant::unrecorded(Unit::Vector, epsilon),
                        black_box(&sentences[..d]),
                        &mut FixedEntropy::new(&KEY),
                        &mut bytes,
                    );
                    released.expect("entropy");
                    black_box(&bytes);
                })
            }
            other => panic!("there is no step {other}"),
        };
        println!("{{\"seconds\": {seconds}}}");
    }
    ExitCode::SUCCESS
}

/// Processor time of this thread for one call, in seconds, so other programs hardly matter.
fn time(mut call: impl FnMut()) -> f64 {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
    };
    let start = now();
    for _ in 0..CALLS {
        call();
    }
    (now() - start) / f64::from(CALLS)
}

fn push(document: &mut Doc<'_>, sentences: &[f32]) {
    document
        .push_all(black_box(sentences))
        .expect("whole sentences");
}

/// A direction as `undertone pack` writes it, scaled so that sums over 384 coordinates fit 32 bits
/// in each of eight lanes.
fn fixed(direction: &[f32]) -> Vec<i16> {
    let sums = direction.chunks(384).flat_map(|span| {
        let lane = |lane: usize| {
            let pairs = span.chunks(2).skip(lane).step_by(8);
            pairs.flatten().map(|x| f64::from(x.abs())).sum::<f64>()
        };
        (0..8).map(lane).collect::<Vec<_>>()
    });
    let largest = sums.fold(0.0, f64::max);
    let scale = ((65_538.0 - 24.0) / largest).min(32_767.0);
    let weight = |x: &f32| (f64::from(*x) * scale).round() as i16;
    direction.iter().map(weight).collect()
}

/// Candidates coded by 255 quantiles of their projections.
fn depth_pack(candidates: &[Vec<f32>], directions: &[Vec<f32>]) -> Vec<u8> {
    let directions = directions.iter().map(|v| fixed(v));
    let mut parts = DepthParts {
        dimension: candidates[0].len(),
        exponent: EXPONENT,
        // Then projections of vectors of length 2 or less are below 2^30.
        shift: 0,
        directions: directions.collect(),
        boundaries: Vec::new(),
        codes: Vec::new(),
    };
    let p = parts.directions.len();
    parts.boundaries = vec![vec![0; 255]; p];
    parts.codes = vec![vec![0]; p];
    let bytes = parts.to_pack();
    let section = Pack::parse(&bytes).expect("a pack").depth().expect("depth");
    let mut sums = vec![0; p];
    let mut columns = vec![Vec::new(); p];
    for candidate in candidates {
        section.projections(None, candidate, &mut sums);
        for (column, sum) in columns.iter_mut().zip(&sums) {
            column.push(section.bucket_input(*sum));
        }
    }
    for ((column, boundaries), codes) in columns
        .iter()
        .zip(&mut parts.boundaries)
        .zip(&mut parts.codes)
    {
        let mut sorted = column.clone();
        sorted.sort_unstable();
        for (i, boundary) in boundaries.iter_mut().enumerate() {
            *boundary = sorted[(i + 1) * sorted.len() / 256];
        }
        let reached = |x: &i32| boundaries.partition_point(|boundary| boundary <= x) as u8;
        *codes = column.iter().map(reached).collect();
    }
    parts.to_pack()
}

/// The pack at the start of a cache line, like a mapped file.
fn mapped(pack: &[u8]) -> &'static [u8] {
    let room = vec![0; pack.len() + 64].leak();
    let start = room.as_ptr().align_offset(64);
    let place = &mut room[start..start + pack.len()];
    place.copy_from_slice(pack);
    place
}

/// The candidates as heads, with scores from 0 to 8.
fn scores_pack(candidates: &[Vec<f32>]) -> Vec<u8> {
    let largest = candidates
        .iter()
        .flatten()
        .fold(0f32, |a, x| a.max(x.abs()));
    let weight = |x: &f32| (x / largest * 127.0).round() as i8;
    ScoreParts {
        levels: 160,
        dimension: candidates[0].len(),
        recoder: None,
        exponent: EXPONENT,
        centre: vec![0; candidates[0].len()],
        weights: candidates
            .iter()
            .map(|row| row.iter().map(weight).collect())
            .collect(),
        bias: vec![0; candidates.len()],
        scoring: Scoring::Graded((1..=8).map(|t| t * 4000).collect()),
    }
    .to_pack()
}

fn floats(path: &Path, rows: usize, columns: usize) -> Vec<Vec<f32>> {
    let bytes = fs::read(path).expect("the file can be read");
    assert_eq!(bytes.len(), 4 * rows * columns, "{}", path.display());
    let numbers = bytes.as_chunks().0.iter();
    let numbers: Vec<f32> = numbers.map(|four| f32::from_le_bytes(*four)).collect();
    numbers.chunks(columns).map(<[f32]>::to_vec).collect()
}
