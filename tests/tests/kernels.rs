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
use undertone_tests::documents::levels_of;
use undertone_tests::packs::{DepthParts, LayerParts, RecoderParts, ScoreParts, Scoring};
use undertone_tests::{FixedEntropy, golden};

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

#[test]
fn all_at_once_takes_whole_sentences_only() {
    let pack = Pack::parse(golden::PACK).expect("the golden pack");
    let mut document = Document::new(&pack).expect("room for it");
    for found in [1, 15, 17, 31, 16 * 200 - 1] {
        let expected = 16;
        let refused = Err(DocumentError::Dimension { expected, found });
        assert_eq!(document.push_all(&vec![0.5; found]), refused);
        assert_eq!(document.sentence_count(), 0);
    }
    assert_eq!(document.push_all(&[]), Ok(0));
    assert_eq!(document.push_all(&[0.5; 16 * 126]), Ok(126));
    assert_eq!(document.push_all(&[0.5; 16 * 5]), Ok(2));
    assert_eq!(document.push_all(&[0.5; 16]), Ok(0));
    let full = Err(DocumentError::Full { limit: 128 });
    assert_eq!(document.push(&[0.5; 16]), full);
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
        let d = [1, 96, 385, 800, 1030, 2100][number(&mut rng, if k > 20 { 3 } else { 6 })];
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
        let scoring = match round % 5 {
            3 => Scoring::Vote,
            _ => Scoring::Graded((-4..4).map(|t| t * 1_000_000).collect()),
        };
        let mut numbers = |n| (0..n).map(|_| rng.next_u32()).collect::<Vec<u32>>();
        let bytes = |numbers: Vec<u32>| numbers.into_iter().map(|w| w as i8).collect();
        let weights = (0..c).map(|_| bytes(numbers(inputs))).collect();
        let parts = ScoreParts {
            dimension: d,
            exponent: if recoder.is_some() { 0 } else { 9 },
            recoder,
            centre: numbers(inputs).into_iter().map(|x| x as i16 >> 8).collect(),
            bias: numbers(c).into_iter().map(|b| b as i32 >> 12).collect(),
            ..ScoreParts::of_heads(weights, scoring)
        };
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
