//! Which kernels a document runs on shows in nothing that it does.

use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat::force_backend;
use undertone_core::kernels::Backend;
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::Rule;
use undertone_tests::FixedEntropy;
use undertone_tests::documents::levels_of;
use undertone_tests::packs::{DepthParts, LayerParts, RecoderParts, ScoreParts, Scoring};

/// More sentences than counts of 7 bits hold.
type Large<'p> = Document<'p, 255, 30>;

fn number(rng: &mut PublicRng, below_this: u64) -> usize {
    below(rng, below_this.into()) as usize
}

fn sentences(rng: &mut PublicRng, dimension: usize, k: usize) -> Vec<Vec<f32>> {
    let coordinate = |rng: &mut PublicRng| match rng.next_u32() % 50 {
        0 => f32::from_bits(rng.next_u32()),
        _ => (rng.next_u32() as i32 >> 20) as f32 / 512.0,
    };
    let sentence = |rng: &mut PublicRng| (0..dimension).map(|_| coordinate(rng)).collect();
    (0..k).map(|_| sentence(rng)).collect()
}

/// Levels and releases of a document with these sentences, on this backend.
fn outcome(bytes: &[u8], sentences: &[Vec<f32>], backend: Backend) -> (Vec<u8>, Vec<[u8; 24]>) {
    let pack = Pack::parse(bytes).expect("a pack");
    let mut releases = Vec::new();
    let mut levels = Vec::new();
    for (rule, micro, key) in [
        (Rule::PermuteAndFlip, 500_000, 3),
        (Rule::PermuteAndFlip, 10_000_000, 5),
        (Rule::Exponential, 3_000_000, 7),
    ] {
        let mut document = Large::new(&pack).expect("room for it");
        force_backend(&mut document, backend);
        for sentence in sentences {
            document.push(sentence).expect("room");
        }
        levels = levels_of(&document);
        let epsilon = Epsilon::from_micro(micro).expect("an epsilon");
        let release = document.release(
            Grant::unrecorded(epsilon),
            rule,
            &mut FixedEntropy::new(&[key; 32]),
        );
        releases.push(release.expect("entropy").to_bytes());
    }
    (levels, releases)
}

/// Returns what all backends agree on.
fn check(bytes: &[u8], sentences: &[Vec<f32>]) -> (Vec<u8>, Vec<[u8; 24]>) {
    let expected = outcome(bytes, sentences, Backend::PORTABLE);
    for backend in Backend::available() {
        assert_eq!(outcome(bytes, sentences, backend), expected, "{backend:?}");
    }
    expected
}

fn recoder(rng: &mut PublicRng, inputs: usize, outputs: usize) -> RecoderParts {
    let layer = |rng: &mut PublicRng| -> Vec<Vec<i16>> {
        let row = |rng: &mut PublicRng| (0..inputs).map(|_| rng.next_u32() as i16).collect();
        (0..outputs).map(|_| row(rng)).collect()
    };
    RecoderParts {
        dimension: inputs,
        exponent: 9,
        layers: vec![LayerParts {
            weights: layer(rng),
            bias: vec![0; outputs],
            shift: 14,
        }],
    }
}

#[test]
fn depth_is_the_same_on_every_backend() {
    let mut rng = PublicRng::new(0x7e57_5001);
    let mut spread = 0;
    for round in 0..14 {
        let k = [0, 1, 2, 20, 127, 128, 255][round % 7];
        // Unoptimised, long documents of long vectors take minutes.
        let d = [1, 31, 96, 768, 1030, 2100][number(&mut rng, if k > 20 { 3 } else { 6 })];
        let p = 1 + number(&mut rng, if k > 20 { 9 } else { 30 });
        let m = [1, 63, 64, 1023, 1025, 4097, 5000][number(&mut rng, 7)];
        let mut parts = DepthParts {
            dimension: d,
            exponent: 9,
            shift: 6,
            directions: vec![vec![0; d]; p],
            boundaries: vec![vec![0; 255]; p],
            codes: vec![vec![0; m]; p],
        };
        for w in parts.directions.iter_mut().flatten() {
            *w = rng.next_u32() as i16;
        }
        for (i, boundary) in parts.boundaries.iter_mut().flatten().enumerate() {
            // In order, over the width of a projection, for most.
            let width = 1i32 << 22;
            let even = (i % 255) as i32 * (width / 128) - width;
            *boundary = if i % 40 == 0 {
                rng.next_u32() as i32
            } else {
                even
            };
        }
        parts.codes.iter_mut().for_each(|row| rng.fill_bytes(row));
        let sentences = sentences(&mut rng, d, k);
        let (levels, _) = check(&parts.to_pack(), &sentences);
        spread = spread.max(levels.iter().max().unwrap() - levels.iter().min().unwrap());
        if k <= 20 && m <= 64 {
            assert_eq!(levels, parts.naive_levels(&sentences));
        }
    }
    assert!(spread >= 20, "{spread}");
}

#[test]
fn scores_are_the_same_on_every_backend() {
    let mut rng = PublicRng::new(0x7e57_5002);
    for round in 0..12 {
        let d = [1, 31, 96, 768, 1024][number(&mut rng, 5)];
        let c = [1, 63, 100, 128, 129, 3000][number(&mut rng, if d > 96 { 5 } else { 6 })];
        let k = [0, 1, 5, if d > 96 { 20 } else { 255 }][round % 4];
        let recoder = (round % 3 == 0).then(|| recoder(&mut rng, d, d.div_ceil(2)));
        let inputs = recoder.as_ref().map_or(d, |_| d.div_ceil(2));
        let mut parts = ScoreParts {
            dimension: d,
            exponent: if recoder.is_some() { 0 } else { 9 },
            recoder,
            centre: (0..inputs).map(|_| rng.next_u32() as i16 >> 8).collect(),
            weights: vec![vec![0; inputs]; c],
            bias: (0..c).map(|_| rng.next_u32() as i32 >> 12).collect(),
            scoring: match round % 5 {
                3 => Scoring::Vote,
                _ => Scoring::Graded((-4..4).map(|t| t * 1_000_000).collect()),
            },
        };
        for w in parts.weights.iter_mut().flatten() {
            *w = rng.next_u32() as i8;
        }
        let sentences = sentences(&mut rng, d, k);
        let (levels, _) = check(&parts.to_pack(), &sentences);
        if k <= 20 && c <= 129 {
            assert_eq!(levels, parts.naive_levels(&sentences));
        }
    }
}
