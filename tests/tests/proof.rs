//! The finite parts of the proofs, on the code itself: the draws of `select` for every kind of
//! random words, the cost of random bits, and no overflow for the largest numbers. Run with
//! overflow checks.
//!
//! Other finite parts: the theorem in `theorem.rs`, the ratio and its table in `constants.rs`,
//! Laplace noise in `laplace.rs` and `embedding.rs`, distances in `words.rs`, budgets in
//! `ledger.rs`.

use chacha20::ChaCha12Rng;
use num_bigint::BigUint;
use rand_core::SeedableRng;
use undertone_core::document::Document;
use undertone_core::epsilon::Epsilon;
use undertone_core::hazmat;
use undertone_core::laplace::{Laplace, MAX_DIMENSION, Sensitivity};
use undertone_core::ledger::Grant;
use undertone_core::pack::Pack;
use undertone_core::rng::rand_core::Rng;
use undertone_core::rng::{PublicRng, below};
use undertone_core::scores::{LEVELS, SUMS_PER_ROW};
use undertone_core::select::{MAX_CANDIDATES, PART_BLOCK, Ratio, Rule, SliceLevels};
use undertone_core::unit::Unit;
use undertone_core::vector::Noise;
use undertone_tests::documents::levels_of;
use undertone_tests::exponential::{PRECISION, exp, exp_of};
use undertone_tests::law::{draws_below, draws_in, ends, law};
use undertone_tests::packs::{
    DepthParts, LayerParts, LexiconParts, PhrasesParts, RecoderParts, ScoreParts, Scoring, pack,
};
use undertone_tests::{FixedEntropy, FixedWords, noise};

pub(crate) const RULES: [Rule; 2] = [Rule::PermuteAndFlip, Rule::Exponential];

/// Millionths, as ε is held.
pub(crate) const MICRO: u64 = 1_000_000;

pub(crate) fn epsilon(micro: u32) -> Epsilon {
    Epsilon::from_micro(micro).expect("an epsilon")
}

fn two_to(bits: u32) -> BigUint {
    BigUint::from(1u32) << bits
}

/// The draw of `select` from exactly these words.
fn drawn(levels: &[u8], bound: usize, rule: Rule, ratio: Ratio, words: &[u64]) -> u32 {
    let levels = SliceLevels { levels, bound };
    let mut words = FixedWords(words);
    let drawn = hazmat::select::<256, _>(&levels, rule, ratio, &mut words).expect("sizes");
    assert!(words.0.is_empty(), "words were left over");
    drawn
}

/// Divisible by every number of candidates used here.
const COMMON: u32 = 60;

/// The law of the code, not of a model. An outcome is a function of the coins, the draw among heads
/// and the draw of a rank, and each of these matters only by the interval of its word. So `select`
/// gets both ends of every interval, and its outcomes and numbers of words give the reference's law
/// to the last bit. With two uniform draws instead, that is the published definition: a uniformly
/// random head.
#[test]
fn permute_and_flip_has_its_law_exactly() {
    for levels in [
        &[3][..],
        &[0, 0],
        &[1, 0, 1],
        &[0, 1, 2, 1],
        &[5, 2, 7, 2, 5],
        &[9, 4, 9, 9, 9],
    ] {
        let m = levels.len();
        let best = *levels.iter().min().expect("a level");
        for ratio in [
            Ratio::per_step(epsilon(1), 2.try_into().expect("not 0")),
            Ratio::new(epsilon(1_000_000)),
            Ratio::new(epsilon(12_345_678)),
            Ratio::new(Epsilon::MAX),
        ] {
            let weights: Vec<u128> = ratio.weights(RULES[0]).take(16).collect();
            // Coins are tossed level by level.
            let mut tossed: Vec<usize> = (0..m).collect();
            tossed.sort_by_key(|r| levels[*r]);
            let weight = |r: usize| weights[usize::from(levels[r] - best)];
            let (mut code, mut streaming, mut published) = (
                vec![BigUint::ZERO; m],
                vec![BigUint::ZERO; m],
                vec![BigUint::ZERO; m],
            );
            for outcome in 1u32..1 << m {
                let is_head = |r: usize| outcome >> r & 1 == 1;
                let chance = |r: usize| {
                    if is_head(r) {
                        weight(r)
                    } else {
                        (1 << 64) - weight(r)
                    }
                };
                let probability: BigUint = (0..m).map(chance).product();
                if probability == BigUint::ZERO {
                    continue;
                }
                // The least and the largest word with which a coin has this side.
                let coin = |r: usize| {
                    if is_head(r) {
                        [0, (weight(r) - 1) as u64]
                    } else {
                        [weight(r) as u64, u64::MAX]
                    }
                };
                let heads: Vec<usize> = tossed.iter().copied().filter(|r| is_head(*r)).collect();
                for r in &heads {
                    published[*r] += &probability * (COMMON / heads.len() as u32 * COMMON);
                }
                for (t, head) in (0u128..).zip(&heads) {
                    let n = levels.iter().filter(|l| **l == levels[*head]).count() as u128;
                    for rank in 0..n {
                        let draws = [ends(t, t + 1, heads.len() as u128), ends(rank, rank + 1, n)];
                        let [first, last] = [0, 1].map(|end| {
                            let coins = tossed.iter().map(|r| coin(*r)[end]);
                            let draws = draws.iter().flat_map(|draw| draw[end]);
                            let words: Vec<u64> = coins.chain(draws).collect();
                            drawn(levels, 16, RULES[0], ratio, &words) as usize
                        });
                        assert_eq!(first, last, "{levels:?}");
                        code[first] += &probability
                            * draws_in(t, t + 1, heads.len() as u128)
                            * draws_in(rank, rank + 1, n);
                        streaming[first] +=
                            &probability * (COMMON / heads.len() as u32) * (COMMON / n as u32);
                    }
                }
            }
            assert_eq!(code, law(levels, RULES[0], ratio).numerators, "{levels:?}");
            assert_eq!(streaming, published, "{levels:?}");
        }
    }
}

/// The exact law of the exponential mechanism, also for lists of which the second pass visits a
/// quarter: every rank of every level is another candidate of that level, in order, at both ends of
/// its interval.
#[test]
fn the_exponential_mechanism_has_its_law_exactly() {
    let mut public = PublicRng::new(0x7e57_9001);
    let part = PART_BLOCK as u32;
    for m in [1, 2, 5, 6, 130, part - 1, part + 1, 2 * part, 4 * part + 1] {
        // The last level is rare, and the one before it is empty.
        let levels: Vec<u8> = (0..m)
            .map(|_| match below(&mut public, 280) {
                0 => 8,
                n => [2, 2, 3, 6][n as usize % 4],
            })
            .collect();
        let best = *levels.iter().min().expect("a level");
        let ratio = Ratio::new(epsilon(3_000_000));
        let weights: Vec<u128> = ratio.weights(RULES[1]).take(16).collect();
        let weight = |level: u8| weights[usize::from(level - best)];
        let total = levels.iter().map(|level| weight(*level)).sum();
        let mut start = 0;
        let mut code = vec![BigUint::ZERO; levels.len()];
        for level in 0..=8 {
            let candidates: Vec<usize> =
                (0..levels.len()).filter(|r| levels[*r] == level).collect();
            if candidates.is_empty() {
                continue;
            }
            let n = candidates.len() as u128;
            let end = start + n * weight(level);
            for (rank, candidate) in (0u128..).zip(candidates) {
                for (which, share) in (0..).zip(ends(start, end, total)) {
                    let rank = ends(rank, rank + 1, n)[(which + usize::from(level)) % 2];
                    let words = [share, rank].concat();
                    let found = drawn(&levels, 9, RULES[1], ratio, &words);
                    assert_eq!(found as usize, candidate, "{m} candidates, level {level}");
                }
                code[candidate] = draws_in(start, end, total) * draws_in(rank, rank + 1, n);
            }
            start = end;
        }
        let sum: BigUint = code.iter().sum();
        assert_eq!(sum, two_to(256));
        if levels.len() <= 6 {
            assert_eq!(code, law(&levels, RULES[1], ratio).numerators);
        }
    }
}

/// The largest totals: 2¹⁶ heads, a total weight of 2⁶⁴, levels of one kind and at the end of the
/// histogram.
#[test]
fn totals_hold_at_the_largest_selection() {
    let m = MAX_CANDIDATES as usize;
    let ratio = Ratio::new(epsilon(1_000_000));
    for (level, bound) in [(0, 1), (255, 256), (7, 256)] {
        let levels = vec![level; m];
        for rule in RULES {
            let coins = rule.random_word_count(MAX_CANDIDATES) as usize - 4;
            for (word, found) in [(0, 0), (u64::MAX, MAX_CANDIDATES - 1)] {
                let words = vec![word; coins + 4];
                assert_eq!(drawn(&levels, bound, rule, ratio, &words), found);
            }
        }
    }
    // One candidate of weight 1 after all others, selected by the last draw of 2¹²⁸ or by the only
    // one below it.
    let mut levels = vec![0; m];
    levels[m - 1] = 255;
    let ratio = Ratio::new(Epsilon::MAX);
    let total = ((m as u128 - 1) << 48) + 1;
    for (share, found) in ends(total - 1, total, total)
        .into_iter()
        .zip([m - 1, m - 1])
    {
        let words = [share, [u64::MAX, 0]].concat();
        assert_eq!(drawn(&levels, 256, RULES[1], ratio, &words) as usize, found);
    }
    let before = draws_below(total - 1, total) - 1u32;
    let before = u128::try_from(before).expect("128 bits");
    let words = [(before >> 64) as u64, before as u64, u64::MAX, u64::MAX];
    assert_eq!(drawn(&levels, 256, RULES[1], ratio, &words) as usize, m - 2);
}

/// The cost of finite randomness, and the margin for it: ln ρ ≤ ε/2 − 2⁻⁶², and two laws with all
/// their draws are within e^(2⁻⁶²) of the ideal ones, their ranges within twice that.
#[test]
fn the_four_pays_for_the_draws() {
    let left = exp_of(1u32.into(), two_to(62));
    let mut public = PublicRng::new(0x7e57_9003);
    let random = (0..300).map(|_| 1 + below(&mut public, 1_000_000_000) as u32);
    let grid = (0..30).map(|bit| 1 << bit).chain([Epsilon::MAX.micro()]);
    for micro in grid.chain(random) {
        // C·e^(ε/2) ≥ 2⁶⁴·e^(2⁻⁶²).
        let c = Ratio::new(epsilon(micro)).constant();
        let half = exp(micro.into(), 2_000_000);
        assert!(c * half.lower >= &left.upper << 64u32, "{micro}");
        // The test is sharp: without the four the margin is too small.
        assert!(
            micro > 1_000_000 || (c - 4) * half.upper < &left.lower << 64u32,
            "{micro}"
        );
    }
    // The worst share: one word of 2⁶⁴ by weights, then one candidate of 2¹⁶; with coins, 2¹⁶
    // twice.
    for [first, second] in [[64, 112], [112, 112]] {
        let (above, below) = [
            (two_to(first) + 1u32) * (two_to(second) + 1u32),
            (two_to(first) - 1u32) * (two_to(second) - 1u32),
        ]
        .into();
        assert!(&above << PRECISION <= &below * &left.lower);
        let twice = exp_of(2u32.into(), two_to(62));
        assert!((&above * &above) << PRECISION <= &below * &below * twice.lower);
    }
    // A share s of n has between 2¹²⁸·s/n − 1 and 2¹²⁸·s/n + 1 draws.
    for _ in 0..2_000 {
        let n = 1 + (u128::from(public.next_u64()) >> (public.next_u32() % 64));
        let start = u128::from(public.next_u64()) % n;
        let end = start + 1 + u128::from(public.next_u64()) % (n - start);
        let (draws, exact) = (draws_in(start, end, n) * n, two_to(128) * (end - start));
        assert!(
            draws < &exact + n && &draws + n > exact,
            "{start}..{end} of {n}"
        );
    }
}

/// Coordinates at their maximum, small ones, and zeroes.
fn extreme_sentences(dimension: usize) -> Vec<Vec<f32>> {
    let alternating = |r: usize| {
        if r.is_multiple_of(2) {
            f32::MAX
        } else {
            f32::MIN
        }
    };
    vec![
        vec![f32::MAX; dimension],
        vec![f32::MIN; dimension],
        (0..dimension).map(alternating).collect(),
        (0..dimension).map(|r| -alternating(r)).collect(),
        vec![f32::NAN; dimension],
        vec![1.0; dimension],
    ]
}

/// Levels of every extreme sentence, against sums that cannot overflow.
fn assert_corners(parts: &ScoreParts, what: &str) {
    let bytes = parts.to_pack();
    let pack = Pack::parse(&bytes).expect("a pack");
    for sentence in extreme_sentences(parts.dimension) {
        let mut document: Document<'_, 255, 1> = Document::with_limits(&pack).expect("room");
        document.push(&sentence).expect("room");
        assert_eq!(
            levels_of(&document),
            parts.naive_levels(&[sentence]),
            "{what}"
        );
    }
}

/// Scores: 1024 coordinates of 65 534 before they are clamped, weights of −128, biases and
/// thresholds of 2³¹ times the largest norm, Q = 255; against the definition in 128 bits.
#[test]
fn scores_hold_at_every_corner() {
    for centre in [i16::MIN, i16::MAX, 0] {
        for scoring in [
            Scoring::Graded(
                (0..255)
                    .map(|i| [i32::MIN, i32::MAX, 0, -1, 1][i % 5])
                    .collect(),
            ),
            Scoring::Graded(vec![i32::MAX]),
            Scoring::Graded(vec![i32::MIN; 255]),
            Scoring::Vote,
        ] {
            let heads = [i8::MIN, i8::MAX, 0, -1].into_iter();
            let heads: Vec<(i8, i32)> = heads
                .flat_map(|w| [i32::MIN, i32::MAX, 0].map(|bias| (w, bias)))
                .collect();
            let parts = ScoreParts {
                levels: 160,
                dimension: 1024,
                recoder: None,
                exponent: 24,
                centre: vec![centre; 1024],
                weights: heads.iter().map(|(w, _)| vec![*w; 1024]).collect(),
                bias: heads.iter().map(|(_, bias)| *bias).collect(),
                scoring,
            };
            assert_corners(&parts, &format!("{centre}"));
        }
    }
}

/// A recoder before them: sums of 2⁴⁰, with biases that do not fit 64 bits together.
#[test]
fn recoders_hold_at_every_corner() {
    for (weight, shift) in [(i16::MIN, 0), (i16::MAX, 0), (i16::MAX, 26), (i16::MIN, 62)] {
        let biases = [i64::MIN, i64::MAX, 0, 1 << 40];
        let layer = |inputs: usize| LayerParts {
            weights: vec![vec![weight; inputs]; 1024],
            bias: (0..1024).map(|i| biases[i % 4]).collect(),
            shift,
        };
        let recoder = RecoderParts {
            dimension: 1024,
            exponent: 24,
            layers: vec![layer(1024), layer(1024)],
        };
        let parts = ScoreParts {
            levels: 160,
            dimension: 1024,
            recoder: Some(recoder),
            exponent: 0,
            centre: vec![i16::MIN; 1024],
            weights: [i8::MIN, i8::MAX, 1].map(|w| vec![w; 1024]).to_vec(),
            bias: vec![i32::MIN, i32::MAX, 0],
            scoring: Scoring::Graded((0..16).map(|i| (i - 8) * (i32::MAX / 8)).collect()),
        };
        assert_corners(&parts, &format!("{weight} {shift}"));
    }
}

/// Depth: 4096 products of 2³⁰, every shift's ends, boundaries at the ends of 32 bits, 255
/// sentences.
#[test]
fn depths_hold_at_every_corner() {
    const D: usize = 4096;
    for shift in [0, 11, 31] {
        let boundaries = (0..255).map(|i| match i {
            0 => i32::MIN,
            254 => i32::MAX,
            _ => (i - 127) << 24,
        });
        let directions = [i16::MIN, i16::MAX, 1, 0].map(|v| vec![v; D]);
        let parts = DepthParts {
            dimension: D,
            exponent: 24,
            shift,
            boundaries: vec![boundaries.collect(); directions.len()],
            directions: directions.to_vec(),
            codes: vec![vec![0, 1, 127, 128, 254, 255]; 4],
        };
        let bytes = parts.to_pack();
        let pack = Pack::parse(&bytes).expect("a pack");
        let mut document: Document<'_, 255, 4> = Document::with_limits(&pack).expect("room");
        let kinds = extreme_sentences(D);
        let mut pushed = Vec::new();
        for k in 0..255 {
            let sentence = &kinds[if k < 100 { 0 } else { k % kinds.len() }];
            document.push(sentence).expect("room");
            pushed.push(sentence.clone());
        }
        assert_eq!(
            levels_of(&document),
            parts.naive_levels(&pushed),
            "shift {shift}"
        );
    }
}

/// Lexicon: the maximum number of words, each with the phrase that it ends, at the largest weight;
/// one more word has no effect.
#[test]
fn sentences_hold_up_to_their_last_word() {
    const WORDS: usize = 1 << 20;
    let words = LexiconParts {
        words: vec!["a".into(), "b".into()],
        weights: vec![u16::MAX; 2],
        vectors: vec![vec![i8::MIN, i8::MAX, 1], vec![i8::MAX, i8::MIN, 1]],
        exponent: 0,
        matching: 0,
    };
    let phrases = PhrasesParts {
        pairs: vec![[0, 0]],
        weights: vec![u16::MAX],
        vectors: vec![vec![i8::MIN, i8::MAX, -1]],
    };
    let vector_of = |pack: &[u8], text: &str| {
        let mut out = [0.0; 3];
        let parsed = Pack::parse(pack).expect("a pack");
        let lexicon = parsed.lexicon().expect("a lexicon");
        lexicon.sentence_vector(text, &mut out).expect("a length");
        out.map(|x| x as i32)
    };
    let bytes = pack(3, &[words.to_section(), phrases.to_section()]);
    let vector = |text: &str| vector_of(&bytes, text);
    // With words, and one phrase less: (256·w·v·(2n − 1))/(n·w), rounded to nearest, clamped.
    let expected = |words: i64, v: i64, phrase: i64| {
        let sum = 256 * (words * v + (words - 1) * phrase);
        let nearest = (2 * sum + words).div_euclid(2 * words);
        nearest.clamp(-32_767, 32_767) as i32
    };
    for words in [1, 2, WORDS as i64] {
        let all = [(-128, -128), (127, 127), (1, -1)].map(|(v, phrase)| expected(words, v, phrase));
        assert_eq!(vector(&"a ".repeat(words as usize)), all, "{words} words");
    }
    let full = "a ".repeat(WORDS);
    assert_eq!(vector(&(full.clone() + "b b b")), vector(&full));
    // Without phrases the mean stays within ±128.
    assert_eq!(vector(&"b ".repeat(WORDS)), [32_512, -32_767, 256]);
    // In longest match every position counts, with or without an entry.
    let longest = LexiconParts {
        matching: 1,
        ..words
    };
    let bytes = longest.to_pack();
    assert_eq!(
        vector_of(&bytes, &"b ".repeat(WORDS)),
        [32_512, -32_767, 256]
    );
    let unknown = "c".repeat(WORDS);
    assert_eq!(vector_of(&bytes, &(unknown.clone() + " b")), [0; 3]);
    assert_ne!(vector_of(&bytes, &(unknown[1..].to_owned() + " b")), [0; 3]);
}

/// A phrase is two adjacent words of one sentence, with no other word between them, known or not,
/// and nothing before it.
#[test]
fn phrases_are_of_words_next_to_each_other() {
    let words = LexiconParts {
        words: vec!["a".into(), "b".into()],
        weights: vec![u16::MAX; 2],
        vectors: vec![vec![10, 0], vec![0, 10]],
        exponent: 0,
        matching: 0,
    };
    let phrases = PhrasesParts {
        pairs: vec![[0, 1]],
        weights: vec![u16::MAX],
        vectors: vec![vec![100, -100]],
    };
    let bytes = pack(2, &[words.to_section(), phrases.to_section()]);
    let lexicon = Pack::parse(&bytes).expect("a pack").lexicon();
    let lexicon = lexicon.expect("a lexicon");
    let vector = |text: &str| {
        let mut out = [0.0; 2];
        lexicon.sentence_vector(text, &mut out).expect("a length");
        out.map(|x| x as i32)
    };
    let mean = 256 * 5;
    for text in ["b a", "a c b", "a 1 b", "a c, c b"] {
        assert_eq!(vector(text), [mean; 2], "{text}");
    }
    for text in ["a b", "A, b.", "c a b c", "a-b"] {
        assert_eq!(vector(text), [mean + 12_800, mean - 12_800], "{text}");
    }
    assert_eq!([vector("a"), vector("b")], [[2560, 0], [0, 2560]]);
}

/// Noise is below 2⁵⁵ for every draw, from s·2^F ≤ 2⁴⁷, ‖g'‖ < 11·√(m+1) and |g| < 13.4, for every
/// dimension: added to a coordinate of 2⁶¹, nothing wraps.
#[test]
fn noise_never_wraps() {
    // 2·129·ln 2 = 178.8...: the largest square of a Gaussian, in thousandths.
    let square = 178_833u64;
    assert!(exp(square, 2000).lower >= two_to(PRECISION + 129));
    let ln_2 = 694u64;
    assert!(exp(ln_2, 1000).lower >= two_to(PRECISION + 1));
    for m in 1..=MAX_DIMENSION {
        let (count, odd) = (m.div_ceil(2), (m + 1) % 2);
        let sum = if count < noise::AT_ONCE {
            // An exponential is half of such a square.
            count as u64 * square
        } else {
            // All bits zero, and all factors ½.
            let bits = 64 * (noise::chi_squared_words(m + 1) - 3 * odd - count);
            2 * ln_2 * (bits + count) as u64
        };
        assert!(
            sum + odd as u64 * square < 121 * 1000 * (m as u64 + 1),
            "{m}"
        );
    }
    let largest = (1u64 << 47) * 11 * 134 / 10;
    assert!(largest < 1 << 55 && largest + (1 << 61) + (1 << 39) < 1 << 63);

    // The coordinates ±B are whole steps, so they move the release by exactly that much, in both
    // laws (the discrete one clamps to the box).
    for dimension in [1, 2, 31, 33, 1024] {
        for micro in [100_000, 1_000_000_000] {
            for units in [Sensitivity::MIN, Sensitivity::MAX] {
                for law in [Noise::Laplace, Noise::DiscreteLaplace] {
                    let laplace = Laplace::with_noise(law, dimension, epsilon(micro), units)
                        .expect("parameters");
                    let bound = laplace.grid_exponent() + 21;
                    for (word, other) in [(0, 0), (u64::MAX, u64::MAX), (0, u64::MAX), (1 << 63, 0)]
                    {
                        let words: Vec<u64> = (0..4096)
                            .map(|i| if i % 3 == 2 { other } else { word })
                            .collect();
                        let draw = |x: f32| {
                            let mut out = vec![0; dimension as usize];
                            let point = vec![x; dimension as usize];
                            hazmat::perturb(
                                &laplace,
                                &point,
                                bound,
                                &mut FixedWords(&words),
                                &mut out,
                            )
                            .expect("parameters");
                            out
                        };
                        let at_0 = draw(0.0);
                        for (x, step) in [(f32::MAX, 1 << 21), (f32::MIN, -(1 << 21))] {
                            let moved = at_0.iter().map(|y| match law {
                                Noise::Laplace => y + step,
                                // At the edge of the box the noise is largest, twice as far.
                                Noise::DiscreteLaplace => {
                                    let noise = if y.abs() == 1 << 21 { 2 * y } else { *y };
                                    (noise + step).clamp(-(1 << 21), 1 << 21)
                                }
                            });
                            assert!(draw(x).into_iter().eq(moved), "{laplace:?} {word:x} {x}");
                        }
                    }
                }
            }
        }
    }
}

/// Levels are computed block by block and part by part: a release from a list of several parts, the
/// last block of which is short, is the one that the levels of the definition give for the same
/// words.
#[test]
fn releases_of_long_lists_are_those_of_their_levels() {
    const M: usize = 4 * PART_BLOCK + 333;
    const P: usize = M.div_ceil(SUMS_PER_ROW);
    let mut public = PublicRng::new(0x7e57_9004);
    let mut bytes = |n: usize| -> Vec<u8> { (0..n).map(|_| public.next_u32() as u8).collect() };
    let sentences: Vec<Vec<f32>> = bytes(14)
        .chunks(2)
        .map(|pair| pair.iter().map(|x| f32::from(*x) - 128.0).collect())
        .collect();
    let scores = ScoreParts {
        levels: 160,
        dimension: 2,
        recoder: None,
        exponent: 0,
        centre: vec![0; 2],
        weights: bytes(2 * M)
            .chunks(2)
            .map(|w| vec![w[0] as i8, w[1] as i8])
            .collect(),
        bias: bytes(M)
            .into_iter()
            .map(|b| 100 * (i32::from(b) - 128))
            .collect(),
        scoring: Scoring::Graded((0..8).map(|i| (i - 3) << 12).collect()),
    };
    let depth = DepthParts {
        dimension: 2,
        exponent: 0,
        shift: 0,
        directions: vec![vec![1, 0], vec![-3, 5], vec![0, 1]],
        boundaries: vec![(-127..128).map(|i| i * 3).collect(); 3],
        codes: (0..3).map(|_| bytes(M)).collect(),
    };
    let packs = [
        (scores.to_pack(), scores.naive_levels(&sentences)),
        (depth.to_pack(), depth.naive_levels(&sentences)),
    ];
    for (bytes, expected) in packs {
        let pack = Pack::parse(&bytes).expect("a pack");
        for rule in RULES {
            for seed in 1..40u8 {
                let mut document: Document<'_, 128, P> =
                    Document::with_limits(&pack).expect("room");
                document.push_all(&sentences.concat()).expect("room");
                assert_eq!(levels_of(&document), expected);
                let ratio = document.ratio(epsilon(6_000_000));
                let key = [seed; 32];
                let grant = Grant::unrecorded(Unit::Sentence, epsilon(6_000_000));
                let release = document.release(grant, rule, &mut FixedEntropy::new(&key));
                let levels = SliceLevels {
                    levels: &expected,
                    bound: LEVELS,
                };
                let mut words = ChaCha12Rng::from_seed(key);
                let drawn = hazmat::select::<256, _>(&levels, rule, ratio, &mut words);
                assert_eq!(
                    release.map(|r| r.number()).ok(),
                    drawn.ok(),
                    "{rule:?} {seed}"
                );
            }
        }
    }
}
