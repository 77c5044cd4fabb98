//! Every backend gives the same levels and the same releases.

use undertone_core::document::{Document, DocumentError};
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat::force_backend;
use undertone_core::kernels::{Backend, BackendUnavailable};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::select::Rule;
use undertone_core::unit::Unit;
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

/// Returns levels and releases of a document with these sentences, on this backend, pushed one by
/// one or in groups of any size.
fn outcome(
    bytes: &[u8],
    sentences: &[Vec<f32>],
    backend: Backend,
    grouped: Option<&mut PublicRng>,
) -> (Vec<u8>, Vec<[u8; 24]>) {
    let sizes: Option<Vec<usize>> =
        grouped.map(|rng| (0..sentences.len()).map(|_| number(rng, 10)).collect());
    let pack = Pack::parse(bytes).expect("a pack");
    let mut releases = Vec::new();
    let mut levels = Vec::new();
    for (rule, micro, key) in [
        (Rule::PermuteAndFlip, 500_000, 3),
        (Rule::PermuteAndFlip, 10_000_000, 5),
        (Rule::Exponential, 3_000_000, 7),
    ] {
        let mut document = Large::with_limits(&pack).expect("room for it");
        force_backend(&mut document, backend);
        match &sizes {
            None => {
                for sentence in sentences {
                    document.push(sentence).expect("room");
                }
            }
            Some(sizes) => {
                let mut left = sentences;
                for size in sizes {
                    let (group, behind) = left.split_at((*size).min(left.len()));
                    assert_eq!(document.push_all(&group.concat()), Ok(group.len()));
                    left = behind;
                }
                assert_eq!(document.push_all(&left.concat()), Ok(left.len()));
            }
        }
        levels = levels_of(&document);
        let epsilon = Epsilon::from_micro(micro).expect("an epsilon");
        let release = document.release(
            Grant::unrecorded(Unit::Sentence, epsilon),
            rule,
            &mut FixedEntropy::new(&[key; 32]),
        );
        releases.push(release.expect("entropy").to_bytes());
    }
    (levels, releases)
}

/// Returns the result on which all backends agree.
fn check(bytes: &[u8], sentences: &[Vec<f32>]) -> (Vec<u8>, Vec<[u8; 24]>) {
    let expected = outcome(bytes, sentences, Backend::PORTABLE, None);
    let mut rng = PublicRng::new(sentences.len() as u64);
    for backend in Backend::available() {
        for grouped in [None, Some(&mut rng)] {
            let found = outcome(bytes, sentences, backend, grouped);
            assert_eq!(found, expected, "{backend:?}");
        }
    }
    expected
}

/// Every number of sentences around a group, and more than a document holds, in one call.
#[test]
fn all_at_once_is_one_by_one() {
    let mut rng = PublicRng::new(0x7e57_5003);
    let scored = |recoder: Option<RecoderParts>, inputs, rng: &mut PublicRng| {
        let weights = |_| (0..inputs).map(|_| rng.next_u32() as i8).collect();
        ScoreParts {
            levels: 160,
            dimension: 40,
            exponent: if recoder.is_some() { 0 } else { 9 },
            recoder,
            centre: vec![3; inputs],
            weights: (0..140).map(weights).collect(),
            bias: vec![0; 140],
            scoring: Scoring::Graded((-4..4).map(|t| t * 100_000).collect()),
        }
        .to_pack()
    };
    let recoder = recoder(&mut rng, 40, 20);
    let packs = [
        // Around the numbers of coordinates converted at a time, and of rows multiplied at a time.
        depth_pack(&mut rng, 1, 1),
        depth_pack(&mut rng, 383, 7),
        depth_pack(&mut rng, 385, 8),
        depth_pack(&mut rng, 800, 9),
        scored(None, 40, &mut rng),
        scored(Some(recoder), 20, &mut rng),
    ];
    for bytes in packs {
        let pack = Pack::parse(&bytes).expect("a pack");
        for n in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 130] {
            let sentences = sentences(&mut rng, pack.dimension(), n);
            for backend in Backend::available() {
                let mut one_by_one = Document::new(&pack).expect("room for it");
                let mut at_once = Document::new(&pack).expect("room for it");
                force_backend(&mut one_by_one, backend);
                force_backend(&mut at_once, backend);
                for sentence in sentences.iter().take(128) {
                    one_by_one.push(sentence).expect("room");
                }
                assert_eq!(at_once.push_all(&sentences.concat()), Ok(n.min(128)));
                assert_eq!(at_once.sentence_count(), n.min(128));
                let levels = levels_of(&one_by_one);
                assert_eq!(levels_of(&at_once), levels, "{backend:?} {n}");
            }
        }
    }
}

#[test]
fn all_at_once_takes_whole_sentences_only() {
    let bytes = depth_pack(&mut PublicRng::new(0x7e57_5004), 7, 3);
    let pack = Pack::parse(&bytes).expect("a pack");
    let mut document = Document::new(&pack).expect("room for it");
    for found in [1, 6, 8, 13, 7 * 200 - 1] {
        let refused = Err(DocumentError::Dimension { expected: 7, found });
        assert_eq!(document.push_all(&vec![0.5; found]), refused);
        assert_eq!(document.sentence_count(), 0);
    }
    assert_eq!(document.push_all(&[]), Ok(0));
    assert_eq!(document.push_all(&[0.5; 7 * 126]), Ok(126));
    assert_eq!(document.push_all(&[0.5; 7 * 5]), Ok(2));
    assert_eq!(document.push_all(&[0.5; 7]), Ok(0));
    assert_eq!(
        document.push(&[0.5; 7]),
        Err(DocumentError::Full { limit: 128 })
    );
}

/// Random directions and codes, with boundaries over the width of a projection.
fn depth_pack(rng: &mut PublicRng, dimension: usize, directions: usize) -> Vec<u8> {
    let width = 1i32 << 21;
    let mut codes = vec![vec![0; 300]; directions];
    codes.iter_mut().for_each(|row| rng.fill_bytes(row));
    let direction = |_| (0..dimension).map(|_| rng.next_u32() as i16).collect();
    DepthParts {
        dimension,
        exponent: 9,
        shift: 6,
        directions: (0..directions).map(direction).collect(),
        boundaries: vec![(0..255).map(|i| i * (width / 128) - width).collect(); directions],
        codes,
    }
    .to_pack()
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
            // Ascending, over the width of a projection, for most directions.
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
            levels: 160,
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

#[test]
fn available_backends_have_names() {
    let best = Backend::best();
    assert_eq!(Backend::available().next(), Some(best));
    assert_eq!(Backend::available().last(), Some(Backend::PORTABLE));
    for backend in Backend::available() {
        assert_eq!(Backend::named(backend.name()), Ok(backend));
    }
    for name in ["", "avx", "AVX2", "portable ", "neon", "avx2", "avx512"] {
        let there = Backend::available().any(|backend| backend.name() == name);
        assert_eq!(Backend::named(name).is_ok(), there, "{name}");
    }
    let message = format!("{BackendUnavailable}");
    assert!(message.ends_with(" portable"), "{message}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_best_backend_uses_all_instructions() {
    if cfg!(undertone_backend = "portable") {
        assert_eq!(Backend::best(), Backend::PORTABLE);
        return;
    }
    macro_rules! has {
        ($($feature:tt)*) => { true $(&& std::is_x86_feature_detected!($feature))* };
    }
    let avx512 = has!("avx512bw" "avx512dq" "avx512vbmi" "avx512vnni" "avx512bitalg" "gfni"
        "avx512vbmi2" "avx512vpopcntdq");
    assert_eq!(Backend::named("avx512").is_ok(), avx512);
    assert_eq!(Backend::named("avx2").is_ok(), has!("avx2"));
}
