//! Every backend of this processor against the portable one, to the bit.

use std::vec;
use std::vec::Vec;

use rand_core::Rng;
use zerocopy::little_endian::{I16, I32};

use super::runs::{Ends, GRAM, RUNS, finish, step};
use super::{
    BLOCK, Backend, Boundaries, GROUP, Length, SPAN, Sums, VECTORS, WIDTH, fits, portable,
};
use crate::laplace::{Laplace, Sensitivity};
use crate::pack::format::BOUNDARIES;
use crate::rng::PublicRng;
use crate::select::{MAX_LEVELS, Ratio, Rule, SliceLevels, select_on};

/// Lengths around those of vectors, and the limits.
const LENGTHS: [usize; 22] = [
    0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 300, 768, 1000, WIDTH,
];

fn others() -> impl Iterator<Item = Backend> {
    let others = Backend::available().filter(|backend| *backend != Backend::PORTABLE);
    others.inspect(|backend| std::println!("{}", backend.name()))
}

/// Calls `check` with each other backend and each length.
fn for_each_length(seed: u64, mut check: impl FnMut(Backend, usize, &mut PublicRng)) {
    let mut rng = PublicRng::new(seed);
    for backend in others() {
        for length in LENGTHS {
            check(backend, length, &mut rng);
        }
    }
}

/// A random number below `bound`.
fn below(rng: &mut PublicRng, bound: usize) -> usize {
    rng.next_u32() as usize % bound
}

fn one_of<T: Copy>(rng: &mut PublicRng, these: &[T]) -> T {
    these[below(rng, these.len())]
}

/// `length` numbers.
fn many<T>(
    rng: &mut PublicRng,
    length: usize,
    mut number: impl FnMut(&mut PublicRng) -> T,
) -> Vec<T> {
    (0..length).map(|_| number(rng)).collect()
}

fn bytes(rng: &mut PublicRng, len: usize) -> Vec<u8> {
    many(rng, len, |rng| rng.next_u32() as u8)
}

/// Either end of the range, or anything.
fn any_i32(rng: &mut PublicRng) -> I32 {
    let any = rng.next_u32() as i32;
    I32::new(one_of(rng, &[i32::MIN, i32::MAX, any, any]))
}

/// Random, or the largest and smallest numbers there are, or all the same.
fn weights(rng: &mut PublicRng, len: usize) -> Vec<i16> {
    let extremes = [i16::MIN, i16::MAX, -1, 0, 1, i16::MIN + 1];
    let kind = rng.next_u32() % 4;
    let one = one_of(rng, &extremes);
    many(rng, len, |rng| match kind {
        0 => one,
        1 => one_of(rng, &extremes),
        _ => rng.next_u32() as i16,
    })
}

/// As [`weights`], within the range of [`Backend::to_fixed`].
fn coordinates(rng: &mut PublicRng, len: usize) -> Vec<i16> {
    let numbers = weights(rng, len).into_iter();
    numbers.map(|x| x.max(-i16::MAX)).collect()
}

fn slices(sentences: &[Vec<i16>]) -> Vec<&[i16]> {
    sentences.iter().map(|x| &x[..]).collect()
}

/// Words of any length, whose runs are hashed as they are written.
#[test]
fn hashes_of_runs_are_the_same() {
    let mut rng = PublicRng::new(41);
    for backend in Backend::available().filter(|_| VECTORS) {
        for round in 0..200 {
            let least = 1 + rng.next_u32() as u8 % 8;
            let most = least + rng.next_u32() as u8 % (9 - least);
            let mut ends = Ends::new();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            let hash = |ends: &mut Ends, hashes: &mut Vec<u32>| {
                let mut room = [7; RUNS];
                let count = backend.hash_runs(ends, least, most, &mut room);
                hashes.extend(&room[..count]);
                ends.pass();
            };
            let mut word = Vec::new();
            let mut length = 0;
            for _ in 0..round {
                if word.len() > length {
                    word.clear();
                    length = below(&mut rng, 12);
                }
                word.push(rng.next_u32() >> (rng.next_u32() % 32));
                let longest = word.len().min(most.into());
                for run in least.into()..=longest {
                    let run = word.iter().rev().take(run);
                    expected.push(finish(run.fold(GRAM, |hash, next| step(hash, *next))));
                }
                if ends.push(*word.last().unwrap(), longest as u8) {
                    hash(&mut ends, &mut found);
                }
            }
            hash(&mut ends, &mut found);
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{backend:?} {least} {most} {round}");
        }
    }
}

#[test]
fn coordinates_are_the_same() {
    for_each_length(1, |backend, len, rng| {
        for exponent in [-24, -3, 0, 1, 14, 24] {
            let scale = f32::from_bits(((exponent + 127) as u32) << 23);
            let kind = rng.next_u32() % 3;
            let x = many(rng, len, |rng| match kind {
                // Any bits: not finite, subnormal, huge.
                0 => f32::from_bits(rng.next_u32()),
                // Around halves, and around the limit.
                1 => (rng.next_u32() % 9) as f32 * 0.25 / scale,
                _ => {
                    let near = [32766.5, 32767.0, 32767.4, 32767.5, 32768.0, 1e30];
                    one_of(rng, &[1.0, -1.0]) * one_of(rng, &near) / scale
                }
            });
            // A buffer that is too long keeps its rest; one that is too short is filled.
            for room in [len, len + 3, len / 2] {
                let (mut expected, mut found) = (vec![7; room], vec![7; room]);
                portable::to_fixed(&x, scale, &mut expected);
                backend.to_fixed(&x, scale, &mut found);
                assert_eq!(found, expected, "{backend:?} {len} {exponent} {x:?}");
            }
        }
    });
}

/// The largest sum of the weights of a lane.
const LANE: i32 = i32::MAX / i16::MAX as i32;
/// The weights of a lane: every sixteenth pair of a span.
const OF_A_LANE: i32 = SPAN as i32 / 8;
/// The largest weight that all of them can have.
const MOST: i16 = (LANE / OF_A_LANE) as i16;

/// With any weights, and with weights whose sums of products fit 32 bits, barely or by far. The
/// portable kernel adds one sentence after the other.
#[test]
fn products_with_rows_are_the_same() {
    for_each_length(2, |backend, width, rng| {
        let short = [(0, width), (0, width / 2), (SPAN, width), (2 * SPAN, 100)];
        let any = [(0, width), (0, width / 2), (width / 3, width), (width, 5)];
        for (rows, in_32_bits) in (0..=9).flat_map(|rows| [(rows, true), (rows, false)]) {
            let largest = rng.next_u32().is_multiple_of(2);
            let weight = |x: i16| match (in_32_bits, largest) {
                (true, true) => MOST * x.signum(),
                (true, false) => x % MOST,
                (false, _) => x,
            };
            let matrix = weights(rng, width * rows).into_iter();
            let matrix: Vec<I16> = matrix.map(|x| I16::new(weight(x))).collect();
            assert!(fits(&matrix, width) || !in_32_bits || !VECTORS);
            for (start, len) in if in_32_bits { short } else { any } {
                let each = 1 + below(rng, GROUP);
                let x = many(rng, each, |rng| coordinates(rng, len));
                let x = slices(&x);
                // One row too many, one too few; room for more sentences.
                for sums in [rows + 1, rows, rows.saturating_sub(1)] {
                    for room in [each, 4.max(each), GROUP, GROUP + 1] {
                        let mut expected = vec![-5; sums * room];
                        for (sentence, x) in x.iter().enumerate() {
                            let from = start.min(width);
                            let reaching = &x[..x.len().min(width - from)];
                            let mut one = vec![-5; sums];
                            portable::add_products(&matrix, width, from, &[reaching], &mut one, 1);
                            for (row, sum) in expected.chunks_mut(room).zip(one) {
                                row[sentence] = sum;
                            }
                        }
                        let mut found = vec![-5; sums * room];
                        backend
                            .add_products(&matrix, width, in_32_bits, start, &x, &mut found, room);
                        assert_eq!(
                            found, expected,
                            "{backend:?} {width} {rows} {start} {len} {each} {room} {in_32_bits}"
                        );
                    }
                }
            }
        }
    });
}

/// The largest sums of a lane, in each of its two signs, and one more.
#[test]
fn short_products_do_not_overflow() {
    for backend in Backend::available().filter(|_| VECTORS) {
        for (sign, x) in [(1, i16::MAX), (-1, i16::MAX), (1, -i16::MAX)] {
            let mut matrix = vec![I16::new(MOST * sign); 5 * WIDTH];
            // As much in each lane of each row as fits.
            let rest = (LANE % OF_A_LANE) as i16;
            for span in matrix.chunks_mut(SPAN) {
                for weight in span.iter_mut().take(16).step_by(2) {
                    *weight = I16::new((MOST + rest) * sign);
                }
            }
            assert!(fits(&matrix, WIDTH));
            let rows = matrix.chunks(WIDTH);
            let sum = |row: &[I16]| row.iter().map(|w| i64::from(w.get())).sum::<i64>();
            let expected: Vec<i64> = rows.map(|row| sum(row) * i64::from(x)).collect();
            for each in [1, 4, GROUP] {
                let sentence = [x; WIDTH];
                let sentences = vec![&sentence[..]; each];
                let mut sums = vec![0; 5 * each];
                backend.add_products(&matrix, WIDTH, true, 0, &sentences, &mut sums, each);
                for (sums, expected) in sums.chunks(each).zip(&expected) {
                    assert_eq!(sums, vec![*expected; each], "{backend:?}");
                }
            }
            matrix[2 * WIDTH + SPAN + 200] = I16::new((MOST + 1) * sign);
            assert!(!fits(&matrix, WIDTH));
        }
    }
}

/// Sums of products at the limits of 32 bits, in each half of a coordinate.
#[test]
fn products_do_not_overflow() {
    for backend in Backend::available() {
        for w in [i16::MIN, i16::MAX] {
            for x in [-i16::MAX, i16::MAX, -1, 255, -32_513, 0x7f00] {
                let matrix = vec![I16::new(w); 5 * WIDTH];
                let one = WIDTH as i64 * i64::from(w) * i64::from(x);
                let sentence = [x; WIDTH];
                for each in 1..=GROUP {
                    let mut sums = vec![0; 5 * each];
                    let sentences = vec![&sentence[..]; each];
                    backend.add_products(&matrix, WIDTH, false, 0, &sentences, &mut sums, each);
                    assert_eq!(sums, vec![one; 5 * each], "{backend:?} {w} {x}");
                }
            }
        }
        for (w, x) in [i8::MIN, i8::MAX]
            .into_iter()
            .flat_map(|w| [(w, -i16::MAX), (w, i16::MAX)])
        {
            let one = WIDTH as i64 * i64::from(w) * i64::from(x);
            for each in [1, 4] {
                let mut sums = vec![0; 5 * each];
                let sentence = [x; WIDTH];
                let sentences = vec![&sentence[..]; each];
                backend.products(&vec![w; 5 * WIDTH], &sentences, &mut sums, 5);
                assert_eq!(sums, vec![one; 5 * each], "{backend:?} {w} {x}");
            }
        }
    }
}

#[test]
fn products_of_bytes_are_the_same() {
    for_each_length(3, |backend, width, rng| {
        for (rows, each) in (0..=5).flat_map(|rows| (1..=5).map(move |each| (rows, each))) {
            let matrix = weights(rng, width * rows).into_iter();
            let matrix: Vec<i8> = matrix.map(|w| (w >> 8) as i8).collect();
            let x = many(rng, each, |rng| coordinates(rng, width));
            for room in [rows, rows + 1] {
                let (mut expected, mut found) = (vec![-5; room * each], vec![-5; room * each]);
                for (x, expected) in x.iter().zip(expected.chunks_mut(room.max(1))) {
                    portable::products(&matrix, x, expected);
                }
                backend.products(&matrix, &slices(&x), &mut found, room);
                assert_eq!(found, expected, "{backend:?} {width} {rows} {each}");
            }
        }
    });
}

/// Boundaries in no order and in order, with ties and the ends of the range.
#[test]
fn codes_and_counts_are_the_same() {
    let mut rng = PublicRng::new(4);
    let rng = &mut rng;
    for backend in others() {
        for round in 0..300 {
            let p = round % 7;
            let range = one_of(rng, &[1u32, 3, 1000, u32::MAX]);
            let number = |rng: &mut PublicRng| match rng.next_u32() % 8 {
                0 => one_of(rng, &[i32::MIN, i32::MAX, -1, 0]),
                _ => (rng.next_u32() % range) as i32,
            };
            let mut boundaries = many(rng, p * BOUNDARIES, |rng| I32::new(number(rng)));
            if round % 2 == 0 {
                for each in boundaries.chunks_mut(BOUNDARIES) {
                    each.sort_unstable_by_key(|boundary| boundary.get());
                }
            }
            let shift = rng.next_u32() % 32;
            let sentences = 1 + round / 7 % GROUP;
            let room = one_of(rng, &[sentences, 4.max(sentences), GROUP]);
            let sums = many(rng, (p + 1) * room, |rng| match rng.next_u32() % 4 {
                0 => rng.next_u64() as i64,
                1 => one_of(rng, &[i64::MIN, i64::MAX]),
                _ => i64::from(number(rng)) << shift,
            });
            let sums = Sums {
                sums: &sums,
                room,
                sentences,
            };
            // Many counts are full.
            let counts = many(rng, 256 * p, |rng| (rng.next_u32() as u8).saturating_mul(2));
            let mut expected: Vec<[u8; 256]> = counts.as_chunks().0.to_vec();
            let mut found = expected.clone();
            let boundaries = Boundaries::new(&boundaries);
            portable::count(&sums, shift, boundaries.all, &mut expected);
            backend.count(&sums, shift, &boundaries, &mut found);
            assert_eq!(found, expected, "{backend:?} {sentences} {room}");
            for (boundaries, sum) in boundaries.all.iter().zip(sums.sums) {
                let input = *sum as i32;
                let expected = portable::reached(boundaries, input);
                assert_eq!(
                    backend.reached(boundaries, input),
                    expected,
                    "{backend:?} {input}"
                );
            }
        }
        // All 255 and none.
        for (boundary, reached) in [(7, 255), (8, 0)] {
            let boundaries = [I32::new(boundary); BOUNDARIES];
            assert_eq!(backend.reached(&boundaries, 7), reached);
        }
    }
}

#[test]
fn depths_are_the_same() {
    let mut rng = PublicRng::new(5);
    let rng = &mut rng;
    let lengths = LENGTHS.into_iter().chain([BLOCK - 1, BLOCK]);
    for (backend, len) in others().flat_map(|backend| lengths.clone().map(move |n| (backend, n))) {
        for sentences in [0, 1, 2, 19, 20, 127, 128, 254, 255] {
            // Counts of documents, and any counts at all.
            let mut at_least = [0u8; 256];
            rng.fill_bytes(&mut at_least);
            if rng.next_u32().is_multiple_of(2) {
                at_least = at_least.map(|count| count.min(sentences));
                at_least.sort_unstable();
                at_least.reverse();
            }
            // All codes in turn, or any.
            let in_turn: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let any = bytes(rng, len);
            let codes = one_of(rng, &[&in_turn, &any]);
            let (full, any) = (vec![u8::MAX; len + 5], bytes(rng, len + 5));
            let mut expected = one_of(rng, &[&full, &any]).clone();
            let mut found = expected.clone();
            portable::lower(&mut expected, codes, &at_least, sentences);
            backend.lower(&mut found, codes, &at_least, sentences);
            assert_eq!(found, expected, "{backend:?} {len} {sentences}");
        }
    }
}

#[test]
fn counts_of_levels_are_the_same() {
    let mut rng = PublicRng::new(6);
    for backend in others() {
        // Long enough for the counts of a byte to overflow.
        for len in LENGTHS.into_iter().chain([BLOCK, 64 * 256 + 70, 65_536]) {
            let range = 1 + rng.next_u32() % 256;
            let levels = many(&mut rng, len, |rng| (rng.next_u32() % range) as u8);
            for levels in [levels, vec![255; len], vec![0; len]] {
                for level in [0, 1, 64, 254, 255] {
                    let expected = levels.iter().filter(|l| **l == level).count() as u32;
                    let found = backend.count_equal(&levels, level);
                    assert_eq!(found, expected, "{backend:?} {len} {level}");
                }
            }
        }
        assert_eq!(backend.count_equal(&[3; 1000], 3), 1000);
    }
}

#[test]
fn scores_are_the_same() {
    for_each_length(7, |backend, len, rng| {
        for thresholds in [0, 1, 8, 255] {
            let norm = 1 + i64::from(rng.next_u32() % (1 << 20));
            let thresholds = many(rng, thresholds, any_i32);
            // Just reached, just not, and anything.
            let outputs: Vec<i64> = (0..len)
                .map(|i| i64::from(thresholds.get(i).map_or(3, |t| t.get())) * norm)
                .map(|at| at - i64::from(rng.next_u32() % 3) + 1)
                .collect();
            let mut expected = vec![263u16; len];
            let mut found = expected.clone();
            portable::add_scores(&mut expected, &outputs, &thresholds, norm);
            backend.add_scores(&mut found, &outputs, &thresholds, norm);
            assert_eq!(found, expected, "{backend:?} {len}");
        }
    });
}

#[test]
fn centred_sentences_and_values_are_the_same() {
    let mut rng = PublicRng::new(0x4e05);
    let rng = &mut rng;
    for backend in others() {
        for len in LENGTHS.into_iter().chain([300; 40]) {
            let centre: Vec<I16> = weights(rng, len).into_iter().map(I16::new).collect();
            let mut expected = coordinates(rng, len);
            let mut found = expected.clone();
            let square = portable::centre(&mut expected, &centre);
            assert_eq!(backend.centre(&mut found, &centre), square);
            assert_eq!(found, expected, "{backend:?} {len}");
            assert!(found.iter().all(|y| *y != i16::MIN));

            let norm = square.isqrt().max(1);
            let length = Length {
                norm: norm as i64,
                reciprocal: ((1 << 40) / norm) as i64,
            };
            let mut products = many(rng, len, |rng| match rng.next_u32() % 3 {
                0 => one_of(rng, &[-1, 1]) << 32,
                _ => (rng.next_u64() as i64) >> (31 + rng.next_u32() % 30),
            });
            let bias = many(rng, len, |rng| {
                let small = I32::new(rng.next_u32() as i32 >> 16);
                one_of(rng, &[I32::new(i32::MIN), I32::new(i32::MAX), small, small])
            });
            let mut biased = products.clone();
            portable::add_bias(&mut biased, &bias, length.norm);
            backend.add_bias(&mut products, &bias, length.norm);
            assert_eq!(products, biased, "{backend:?} {len}");
            for known in [0, -1] {
                let mut expected = vec![0x03ff_fa09; len];
                let mut found = expected.clone();
                portable::add_values(&mut expected, &biased, &length, known);
                backend.add_values(&mut found, &biased, &length, known);
                assert_eq!(found, expected, "{backend:?} {len} {known}");
            }
        }
    }
}

#[test]
fn gaussians_and_their_rounding_are_the_same() {
    let mut rng = PublicRng::new(0x4e01);
    for backend in others() {
        for pairs in (0..=32).chain([32; 300]) {
            let words = many(&mut rng, 3 * pairs, |rng| match rng.next_u32() % 8 {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << (rng.next_u32() % 64),
                3 => u64::MAX << (rng.next_u32() % 64),
                4 => rng.next_u64() >> (rng.next_u32() % 64),
                _ => rng.next_u64(),
            });
            let draw = |backend: Backend| {
                let (mut radii, mut gaussians) = (vec![0.0; pairs], vec![0.0; 64]);
                backend.box_muller(&words, &mut radii, &mut gaussians);
                let mut rounded = vec![0; 64];
                // The smallest and the largest factor: s·2^F and ‖g'‖ at their ends.
                for factor in [2f64.powi(37), 1.0, 2f64.powi(51) / 3.0] {
                    let mut products = vec![0; 64];
                    backend.round_products(factor, &gaussians, &mut products);
                    rounded.extend(products);
                }
                let gaussians: Vec<u64> = gaussians.iter().map(|x| x.to_bits()).collect();
                (gaussians, rounded)
            };
            let expected = draw(Backend::PORTABLE);
            assert!(draw(backend) == expected, "{}: {words:x?}", backend.name());
            assert!(pairs == 0 || expected.0.iter().any(|bits| *bits != 0));
        }
    }
}

#[test]
fn coordinates_in_fixed_point_are_the_same() {
    let mut epsilons = ["0.1", "1", "10", "1000"].iter().cycle();
    for_each_length(0x4e02, |backend, length, rng| {
        let epsilon = epsilons.next().unwrap().parse().unwrap();
        let laplace = Laplace::new(300, epsilon, Sensitivity::ONE).unwrap();
        for above in [-61, -40, -20, -1, 0] {
            let bound = laplace.largest_bound_exponent() + above;
            let fixed = laplace.fixed_point(bound).unwrap();
            let coordinates = many(rng, length, |rng| match rng.next_u32() % 4 {
                // Every kind of float: signs, zeroes, subnormal numbers, infinities, NaN.
                0 => f32::from_bits(rng.next_u32()),
                1 => f32::from_bits(rng.next_u32() & 0x80ff_ffff),
                2 => f32::from_bits(rng.next_u32() | 0x7f80_0000),
                _ => rng.next_u32().cast_signed() as f32 / 2f32.powi(31),
            });
            let start = many(rng, length, |rng| rng.next_u64() as i64);
            let (mut expected, mut found) = (start.clone(), start.clone());
            Backend::PORTABLE.add_fixed(fixed, &coordinates, &mut expected);
            backend.add_fixed(fixed, &coordinates, &mut found);
            assert_eq!(found, expected, "{backend:?} {length} {bound}");
            assert!(length < 8 || expected != start);
        }
    });
}

#[test]
fn weighted_vectors_are_the_same() {
    for_each_length(0x4e03, |backend, length, rng| {
        let draw = |rng: &mut PublicRng, extreme| {
            let any = rng.next_u64().cast_signed();
            one_of(rng, &[extreme, any, any])
        };
        let weight = draw(rng, i64::from(u16::MAX)) as u16;
        let vector = many(rng, length, |rng| draw(rng, i8::MIN.into()) as i8);
        // The last sum stays as it is.
        let mut expected = many(rng, length + 1, |rng| draw(rng, 1 << 45) >> 18);
        let mut found = expected.clone();
        backend.add_weighted(weight, &vector, &mut found);
        for (sum, coordinate) in expected.iter_mut().zip(&vector) {
            *sum += i64::from(weight) * i64::from(*coordinate);
        }
        assert_eq!(found, expected, "{backend:?} {length}");
    });
}

/// The words of `ChaCha12Rng`, in pieces of any size, by every backend at any place of the stream.
#[cfg(undertone_kernels = "x86")]
#[test]
fn the_keystream_is_chacha12() {
    use super::BATCH;
    use crate::keystream::Keystream;
    use chacha20::ChaCha12Rng;
    use rand_core::SeedableRng;
    let mut rng = PublicRng::new(0x4e04);
    for _ in 0..50 {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let mut found = Keystream::new(Backend::best(), seed);
        let mut expected = ChaCha12Rng::from_seed(seed);
        for _ in 0..200 {
            match rng.next_u32() % 3 {
                0 => assert_eq!(found.next_u32(), expected.next_u32()),
                1 => assert_eq!(found.next_u64(), expected.next_u64()),
                _ => {
                    let longest = one_of(&mut rng, &[10, 300, 3000]);
                    let len = below(&mut rng, longest);
                    let (mut ours, mut theirs) = (vec![0; len], vec![0; len]);
                    found.fill_bytes(&mut ours);
                    expected.fill_bytes(&mut theirs);
                    assert_eq!(ours, theirs);
                }
            }
        }
        let key = zerocopy::transmute!(seed);
        let carry = 1 << 28;
        // Also around the overflow of the lower word of the block counter.
        for number in [0, 1, carry - 1, carry, (1 << 60) - 1, rng.next_u64() >> 4] {
            expected.set_word_pos(u128::from(number) * BATCH as u128);
            let theirs = [(); BATCH].map(|()| expected.next_u32());
            for backend in Backend::available() {
                let mut ours = [0; BATCH];
                backend.fill_batch(&key, number, &mut ours);
                assert_eq!(ours, theirs, "{} {number}", backend.name());
            }
        }
    }
}

/// Few coins and many, of one level and of all levels, some of which are empty.
#[test]
fn coins_are_the_same() {
    let mut rng = PublicRng::new(37);
    for backend in others() {
        for round in 0..400 {
            let count = match round % 8 {
                0 => 1 + round as usize / 8,
                1 => 2040 + round as usize / 8,
                _ => 1 + below(&mut rng, 5000),
            };
            let bound = 1 + below(&mut rng, MAX_LEVELS);
            let [lowest, spread] = [(); 2].map(|()| below(&mut rng, bound));
            let mut levels = bytes(&mut rng, count);
            for level in &mut levels {
                *level = (lowest + usize::from(*level) * spread / 255).min(bound - 1) as u8;
            }
            let levels = SliceLevels {
                levels: &levels,
                bound,
            };
            // From ratios that hardly prefer a level to ratios that always draw the best one.
            let ratio = Ratio::from_constant(u64::MAX >> (round / 8 % 20));
            let seed = rng.next_u64();
            let select = |backend| {
                let (rule, mut words) = (Rule::PermuteAndFlip, PublicRng::new(seed));
                select_on::<MAX_LEVELS, _>(backend, &levels, rule, ratio, &mut words)
            };
            let same = select(backend) == select(Backend::PORTABLE);
            assert!(same, "{count} candidates of {bound} levels, round {round}");
        }
    }
}

/// No register keeps what a kernel or a copy put there. Looks at all vectors and masks of AVX-512,
/// which has the most.
#[cfg(all(target_arch = "x86_64", undertone_kernels = "x86"))]
#[test]
#[allow(unsafe_code)]
fn registers_are_wiped() {
    use core::arch::asm;

    if !std::is_x86_feature_detected!("avx512bw") {
        return;
    }
    let mut left = ([0xffu8; 32 * 64], [u64::MAX; 8]);
    // SAFETY: the registers are named as clobbered, and the processor has them.
    unsafe {
        asm!(
            "vpternlogd zmm0, zmm0, zmm0, 255", "vmovdqa64 zmm7, zmm0", "vmovdqa64 zmm15, zmm0",
            "vmovdqa64 zmm16, zmm0", "vmovdqa64 zmm23, zmm0", "vmovdqa64 zmm31, zmm0",
            "kxnorq k0, k0, k0", "kmovq k1, k0", "kmovq k7, k0",
            out("xmm0") _, out("xmm7") _, out("xmm15") _, out("xmm16") _, out("xmm23") _,
            out("xmm31") _, out("k0") _, out("k1") _, out("k7") _,
            options(nomem, nostack, preserves_flags)
        );
    }
    super::wipe_registers();
    // SAFETY: as above, and there is room for 32 vectors and 8 masks.
    unsafe {
        macro_rules! store {
            ($size:literal $instruction:literal $register:literal $to:expr, $($number:literal)*) => {
                asm!(
                    $(concat!($instruction, " [{to} + ", $size, "*", $number, "], ", $register,
                        $number),)*
                    to = in(reg) $to.as_mut_ptr(),
                    options(nostack, preserves_flags)
                )
            };
        }
        store!(64 "vmovdqu64" "zmm" left.0, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
            17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
        store!(8 "kmovq" "k" left.1, 0 1 2 3 4 5 6 7);
    }
    assert_eq!(left, ([0; 32 * 64], [0; 8]));
}
