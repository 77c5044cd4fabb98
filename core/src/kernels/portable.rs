//! The kernels in plain code: the reference for all others. Other backends inline some of them, for
//! compilers to vectorise.

use zerocopy::little_endian::{I16, I32, U16};

#[cfg(undertone_kernels = "dsp")]
pub(super) use super::dsp::{count_equal, count_up_to, dot, lower_to, reached, table};
use super::inputs::{Length, MOST, Sums, Tossing};
use super::limits::WIDTH;
use super::lookup::{FEW_KEYS, Table, add_row, among, bits};
use super::runs::{Ends, GRAM, PLACES, RUNS, finish, step};
use crate::barrier::{opaque, wipe};
use crate::checked::{chunk_size, part, part_mut};
use crate::fixed::{bucket_input, to_fixed as one_to_fixed};
#[cfg(not(undertone_kernels = "dsp"))]
use crate::integers::lane_min;
use crate::integers::{at_least, at_most, lane_clamp};
use crate::laplace::fixed::FixedPoint;
pub(super) use crate::laplace::fixed::round_products;
pub(super) use crate::laplace::gaussian::box_muller;
use crate::pack::format::BOUNDARIES;

#[inline(always)]
pub(super) fn add_fixed(fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]) {
    for (sum, coordinate) in sums.iter_mut().zip(coordinates) {
        *sum = sum.wrapping_add(fixed.convert(*coordinate));
    }
}

#[inline(always)]
pub(super) fn add_weighted(weight: u16, vector: &[i8], sums: &mut [i64]) {
    for (sum, coordinate) in sums.iter_mut().zip(vector) {
        // The product has 24 bits.
        *sum += i64::from(i32::from(weight) * i32::from(*coordinate));
    }
}

pub(super) fn add_features(
    table: &Table<'_>,
    hashes: &[u32],
    times: Option<&[u8]>,
    most: u32,
    sums: &mut [i32],
) -> u32 {
    let bytes = table.row_bytes();
    let position = |keys: &[U16; FEW_KEYS], count, key| among(keys, count, key);
    let add = |bitmap: &[u8], weights: &[i8], times| add_row(bitmap, bytes, weights, times, sums);
    table.each_known(hashes, times, most, position, bits, add)
}

#[inline(always)]
pub(super) fn hash_runs(ends: &Ends, least: u8, most: u8, hashes: &mut [u32; RUNS]) -> usize {
    let longer = |runs: [u32; PLACES], characters: &[u32; PLACES]| {
        let mut characters = characters.iter();
        runs.map(|run| {
            characters
                .next()
                .map_or(run, |character| step(run, *character))
        })
    };
    let finished = |runs: [u32; PLACES]| runs.map(finish);
    hash_runs_by([GRAM; PLACES], longer, finished, ends, least, most, hashes)
}

/// Hashes length after length, so that vectors hash at all places together. `longer` is [`step`] at
/// each place, `finished` is [`finish`].
#[inline(always)]
pub(super) fn hash_runs_by<R: Copy>(
    mut runs: R,
    longer: impl Fn(R, &[u32; PLACES]) -> R,
    finished: impl Fn(R) -> [u32; PLACES],
    ends: &Ends,
    least: u8,
    most: u8,
    hashes: &mut [u32; RUNS],
) -> usize {
    let mut found = 0;
    for length in 1..=most {
        let Some(characters) = ends.starts(length.into()) else {
            break;
        };
        runs = longer(runs, characters);
        if length < least {
            continue;
        }
        for (run, longest) in finished(runs).iter().zip(ends.longest()) {
            // Stores each, because a branch would be unpredictable.
            if let Some(place) = hashes.get_mut(found) {
                *place = *run;
            }
            found += usize::from(length <= *longest);
        }
    }
    found
}

#[inline(always)]
pub(super) fn to_fixed(coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
    for (fixed, coordinate) in fixed.iter_mut().zip(coordinates) {
        *fixed = one_to_fixed(*coordinate, scale);
    }
}

/// Row after row, so that the first level of the cache keeps a row for all sentences.
#[inline(always)]
pub(super) fn add_products(
    matrix: &[I16],
    width: usize,
    start: usize,
    sentences: &[&[i16]],
    sums: &mut [i64],
    room: usize,
) {
    // Not zipped with the rows of sums, which would leave a division that can panic.
    for (number, row) in matrix.chunks_exact(chunk_size(width)).enumerate() {
        let sums = part_mut(sums, number * room..);
        let row = part(row, start..);
        for (sum, x) in sums.iter_mut().zip(sentences) {
            *sum += dot(part(row, ..x.len()), x);
        }
    }
}

pub(super) use self::add_products as add_short_products;

/// Adds the products of rows with sentences, four rows with two sentences at a time: each load
/// serves several products, and no sum waits for another. The first level of the cache keeps the
/// rows for the other sentences. `products` returns the products of the whole chunks of `N`
/// coordinates, with the same sentence twice if there is no second.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline(always)]
pub(super) fn in_fours<const N: usize>(
    matrix: &[I16],
    width: usize,
    start: usize,
    sentences: &[&[i16]],
    sums: &mut [i64],
    room: usize,
    products: impl Fn([&[I16]; 4], [&[i16]; 2], bool) -> [[i64; 4]; 2],
) {
    let length = sentences.first().map_or(0, |x| x.len());
    let fours = matrix.chunks(chunk_size(4 * width));
    for (four, sums) in fours.zip(sums.chunks_mut(chunk_size(4 * room))) {
        let four = rows_of(four, width, start, length);
        for (first, pair) in (0..).step_by(2).zip(sentences.chunks(2)) {
            let products = match *pair {
                [x, y] => products(four, [x, y], true),
                [x] => products(four, [x, x], false),
                _ => continue,
            };
            for ((sentence, products), x) in (first..).zip(products).zip(pair) {
                let sums = part_mut(sums, sentence..);
                for (sum, product) in sums.iter_mut().step_by(chunk_size(room)).zip(products) {
                    *sum += product;
                }
                let (_, rest) = x.as_chunks::<N>();
                if !rest.is_empty() {
                    for (sum, row) in sums.iter_mut().step_by(chunk_size(room)).zip(four) {
                        *sum += dot(row.as_chunks::<N>().1, rest);
                    }
                }
            }
        }
    }
}

/// `length` entries from `start` on of the first `R` rows of a matrix. The first row replaces
/// missing ones.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline(always)]
pub(super) fn rows_of<T, const R: usize>(
    matrix: &[T],
    width: usize,
    start: usize,
    length: usize,
) -> [&[T]; R] {
    let matrix = part(matrix, start..);
    let row = |number: usize| matrix.get(number * width..number * width + length);
    let first = part(matrix, ..length);
    core::array::from_fn(|number| row(number).unwrap_or(first))
}

/// |products| < 2^30 and at most 2^12 of them: no overflow.
#[cfg(not(undertone_kernels = "dsp"))]
#[inline(always)]
pub(super) fn dot(weights: &[I16], x: &[i16]) -> i64 {
    weights
        .iter()
        .zip(x)
        .map(|(w, x)| i64::from(w.get()) * i64::from(*x))
        .sum()
}

#[cfg(not(undertone_kernels = "dsp"))]
#[inline(always)]
pub(super) fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
    boundaries
        .iter()
        .map(|boundary| i32::from(boundary.get() <= input))
        .sum::<i32>() as u8
}

#[inline(always)]
pub(super) fn count(
    sums: &Sums<'_>,
    shift: u32,
    boundaries: &[[I32; BOUNDARIES]],
    rows: &mut [[u8; 256]],
) {
    count_by(reached, count_up_to, sums, shift, boundaries, rows);
}

/// Direction after direction, so that the first level of the cache keeps its boundaries and counts
/// for all sentences.
#[inline(always)]
pub(super) fn count_by(
    reached: impl Fn(&[I32; BOUNDARIES], i32) -> u8,
    count_up_to: impl Fn(&mut [u8; 256], u8),
    sums: &Sums<'_>,
    shift: u32,
    boundaries: &[[I32; BOUNDARIES]],
    rows: &mut [[u8; 256]],
) {
    for ((boundaries, counts), sums) in boundaries.iter().zip(rows).zip(sums.rows()) {
        for sum in sums {
            count_up_to(counts, reached(boundaries, bucket_input(*sum, shift)));
        }
    }
}

/// 0 to 255.
#[cfg(not(undertone_kernels = "dsp"))]
#[expect(clippy::indexing_slicing, reason = "done by the compiler")]
pub(super) const CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let mut code = 0;
    while code < 256 {
        codes[code] = code as u8;
        code += 1;
    }
    codes
};

#[cfg(not(undertone_kernels = "dsp"))]
#[inline(always)]
pub(super) fn count_up_to(counts: &mut [u8; 256], code: u8) {
    // All 256 counts are touched, so no address depends on the code.
    for (count, at) in counts.iter_mut().zip(&CODES) {
        *count = count.saturating_add(u8::from(*at <= code));
    }
}

#[inline(always)]
pub(super) fn lower(depths: &mut [u8], codes: &[u8], at_least: &[u8; 256], sentences: u8) {
    let mut table = table(at_least, sentences);
    lower_to(depths, codes, &table);
    wipe(&mut table);
}

#[cfg(not(undertone_kernels = "dsp"))]
#[inline(always)]
fn lower_to(depths: &mut [u8], codes: &[u8], table: &[u8; 256]) {
    for (depth, code) in depths.iter_mut().zip(codes) {
        // The codes of candidates are public.
        let here = table.get(usize::from(*code)).copied().unwrap_or(0);
        *depth = lane_min(*depth, here);
    }
}

/// Chunks of `N` of two slices, cut to the same length, and the rest of each.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline(always)]
#[expect(clippy::type_complexity, reason = "chunks and the rest, of two slices")]
pub(super) fn in_step<'w, 'r, const N: usize, W, R>(
    written: &'w mut [W],
    read: &'r [R],
) -> ((&'w mut [[W; N]], &'w mut [W]), (&'r [[R; N]], &'r [R])) {
    let both = core::cmp::min(written.len(), read.len());
    let written = part_mut(written, ..both);
    let read = part(read, ..both);
    (written.as_chunks_mut(), read.as_chunks())
}

/// Calls `look_up` with the depths and codes of `N` candidates at a time; the last ones are padded.
#[cfg(any(undertone_kernels = "x86", undertone_kernels = "aarch64"))]
#[inline(always)]
pub(super) fn in_chunks<const N: usize>(
    depths: &mut [u8],
    codes: &[u8],
    look_up: impl Fn(&mut [u8; N], &[u8; N]),
) {
    let (chunks, rest) = codes.as_chunks::<N>();
    let (depth_chunks, _) = depths.as_chunks_mut::<N>();
    for (depths, codes) in depth_chunks.iter_mut().zip(chunks) {
        look_up(depths, codes);
    }
    if rest.is_empty() {
        return;
    }
    let depths = part_mut(depths, chunks.len() * N..);
    let (mut last_depths, mut last_codes) = ([0; N], [0; N]);
    for ((to, from), (code, public)) in last_depths
        .iter_mut()
        .zip(depths.iter())
        .zip(last_codes.iter_mut().zip(rest))
    {
        *to = *from;
        *code = *public;
    }
    look_up(&mut last_depths, &last_codes);
    for (to, from) in depths.iter_mut().zip(&last_depths) {
        *to = *from;
    }
    wipe(&mut last_depths);
}

/// min(h, k − h) for each code.
#[cfg(not(undertone_kernels = "dsp"))]
#[inline(always)]
fn table(at_least: &[u8; 256], sentences: u8) -> [u8; 256] {
    let mut table = [0; 256];
    for (depth, above) in table.iter_mut().zip(at_least) {
        *depth = lane_min(*above, sentences.saturating_sub(*above));
    }
    table
}

#[cfg(not(undertone_kernels = "dsp"))]
#[inline(always)]
pub(super) fn count_equal(levels: &[u8], level: u8) -> u32 {
    let (chunks, rest) = levels.as_chunks::<64>();
    let mut total: u32 = rest.iter().map(|other| u32::from(*other == level)).sum();
    // The most that a byte can count.
    for chunks in chunks.chunks(255) {
        let mut counts = [0u8; 64];
        for chunk in chunks {
            for (count, other) in counts.iter_mut().zip(chunk) {
                *count = count.wrapping_add(u8::from(*other == level));
            }
        }
        total += counts.iter().map(|count| u32::from(*count)).sum::<u32>();
    }
    total
}

#[inline(always)]
pub(super) fn products(matrix: &[i8], x: &[i16], products: &mut [i64]) {
    let rows = matrix.chunks_exact(chunk_size(x.len()));
    for (product, row) in products.iter_mut().zip(rows) {
        *product = dot_bytes(row, x);
    }
}

/// |products| < 2^22 and at most 2^10 of them: no overflow.
#[inline(always)]
pub(super) fn dot_bytes(weights: &[i8], x: &[i16]) -> i64 {
    // Half of them fit 32 bits together.
    const { assert!(WIDTH / 2 * 128 * 32_767 <= i32::MAX as usize) };
    weights
        .chunks(WIDTH / 2)
        .zip(x.chunks(WIDTH / 2))
        .map(|(weights, x)| {
            let products = weights.iter().zip(x);
            let products = products.map(|(w, x)| i32::from(*w).wrapping_mul((*x).into()));
            i64::from(products.fold(0, i32::wrapping_add))
        })
        .sum()
}

#[inline(always)]
pub(super) fn centre(coordinates: &mut [i16], centre: &[I16]) -> u64 {
    let mut square: u64 = 0;
    for (y, centre) in coordinates.iter_mut().zip(centre) {
        let difference = i32::from(*y) - i32::from(centre.get());
        *y = lane_clamp(difference, -i32::from(i16::MAX), i16::MAX.into()) as i16;
        square += u64::from(u32::from(y.unsigned_abs()) * u32::from(y.unsigned_abs()));
    }
    square
}

#[inline(always)]
pub(super) fn add_bias(products: &mut [i64], bias: &[I32], norm: i64) {
    for (product, bias) in products.iter_mut().zip(bias) {
        *product = 256 * *product + i64::from(bias.get()) * norm;
    }
}

#[inline(always)]
pub(super) fn add_values(values: &mut [i32], outputs: &[i64], length: &Length, known: i32) {
    let most = MOST * length.norm;
    for (value, z) in values.iter_mut().zip(outputs) {
        // |z| ≤ 2^22·norm, and reciprocal ≤ 2^40/norm: no overflow.
        let z = at_least(at_most(*z, most), -most);
        let added = ((z * length.reciprocal) >> 40) as i32;
        // 255 sentences of at most 2^22: no overflow.
        *value = value.wrapping_add(added & known);
    }
}

#[inline(always)]
pub(super) fn add_scores(sums: &mut [u16], outputs: &[i64], thresholds: &[I32], norm: i64) {
    // Few enough for vector registers.
    for (sums, outputs) in sums.chunks_mut(32).zip(outputs.chunks(32)) {
        let mut scores = [0i64; 32];
        for threshold in thresholds {
            // |threshold·norm| < 2^31 · 2^20: no overflow.
            let least = i64::from(threshold.get()).wrapping_mul(norm);
            for (score, output) in scores.iter_mut().zip(outputs) {
                *score = score.wrapping_add(i64::from(least <= *output));
            }
        }
        for (sum, score) in sums.iter_mut().zip(scores) {
            // 255 sentences of at most 255: no overflow.
            *sum = sum.wrapping_add(score as u16);
        }
        wipe(&mut scores);
    }
}

#[inline(always)]
pub(super) fn toss(tossing: &mut Tossing<'_>, words: &[[u8; 8]], last_of_level: &[u32]) {
    let Tossing {
        weights_minus_one,
        heads,
        level,
        heads_so_far,
    } = tossing;
    for (words, marks) in words.chunks(u32::BITS as usize).zip(last_of_level) {
        let mut marks = *marks;
        for word in words {
            // Each coin has a level.
            if let (Some(weight), Some(heads)) =
                (weights_minus_one.get(*level), heads.get_mut(*level))
            {
                // Heads iff word < weight.
                *heads_so_far += u32::from(u64::from_le_bytes(*word) <= *weight);
                *heads = *heads_so_far;
            }
            // −1 after the last coin of a level, else 0, so that no coin waits for counts.
            let done = opaque((marks as i32) >> 31);
            marks <<= 1;
            *level = level.wrapping_sub(done as usize);
        }
    }
}

/// The bits of ¼ / `scale`: numbers of smaller magnitude round to 0. `scale` is the factor of a
/// [`Scale`](crate::fixed::Scale).
#[allow(dead_code, reason = "portable code converts integers")]
#[inline(always)]
pub(super) fn smallest_product(scale: f32) -> i32 {
    // (125 − e)·2^23 for 2^e, whose bits are (127 + e)·2^23.
    (252 << 23) - scale.to_bits() as i32
}
