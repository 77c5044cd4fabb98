//! Kernels for AVX2.

use core::arch::x86_64::*;

use zerocopy::little_endian::{I16, I32, U16};
use zerocopy::transmute;

use super::inputs::{Length, Sums, Tossing};
use super::limits::WIDTH;
use super::lookup::{FEW_KEYS, Table, eight_weights, expansion, few_bits, last_weights};
use super::portable::{self, smallest_product};
use super::runs::{Ends, FINISH, GRAM, PLACES, RUNS, STEP};
use super::x86::bits;
use crate::barrier::wipe;
use crate::checked::{chunk_size, part};
use crate::fixed::bucket_input;
use crate::laplace::fixed::FixedPoint;
use crate::laplace::gaussian::{self, fill_exponentials_here};
use crate::pack::format::BOUNDARIES;

as_portable! { "avx2", }

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn add_features(
    table: &Table<'_>,
    hashes: &[u32],
    times: Option<&[u8]>,
    most: u32,
    sums: &mut [i32],
) -> u32 {
    let bytes = table.row_bytes();
    let position = |keys: &[U16; FEW_KEYS], _, key: u16| {
        let [low, high]: [__m256i; 2] = transmute!(*keys);
        let key = _mm256_set1_epi16(key.cast_signed());
        let equal = (_mm256_cmpeq_epi16(low, key), _mm256_cmpeq_epi16(high, key));
        // Packing works within halves of 128 bits.
        let equal = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(equal.0, equal.1));
        _mm256_movemask_epi8(equal).trailing_zeros()
    };
    let bits = |bytes: &[u8], count: usize| bits(bytes, count);
    // The sums of few candidates stay in registers, because a row would wait for the stores of the
    // row before.
    if bytes <= 4
        && let Some(sums) = sums.first_chunk_mut::<32>()
    {
        let mut more = (_mm256_setzero_si256(), _mm256_setzero_si256());
        let add = |bitmap: &[u8], weights: &[i8], times: u8| {
            let used = few_bits(bitmap, bytes);
            let times = _mm256_set1_epi16(times.into());
            let (low, high) = expand_words(used, weights);
            more.0 = _mm256_add_epi16(more.0, _mm256_mullo_epi16(low, times));
            more.1 = _mm256_add_epi16(more.1, _mm256_mullo_epi16(high, times));
        };
        let found = table.each_known(hashes, times, most, position, bits, add);
        let words: [[__m128i; 2]; 2] = [transmute!(more.0), transmute!(more.1)];
        for (sums, words) in sums
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .zip(words.as_flattened())
        {
            let more = _mm256_cvtepi16_epi32(*words);
            *sums = transmute!(_mm256_add_epi32(transmute!(*sums), more));
        }
        return found;
    }
    table.each_known(
        hashes,
        times,
        most,
        position,
        bits,
        |bitmap, mut weights, times| {
            let times = _mm256_set1_epi32(times.into());
            let eights = sums.as_chunks_mut::<8>().0.iter_mut();
            for (used, sums) in bitmap.iter().take(bytes).zip(eights) {
                let eight = weights.first_chunk().copied();
                let eight = eight.unwrap_or_else(|| last_weights(weights));
                let expanded = _mm256_cvtepi8_epi32(expand(*used, eight));
                let more = _mm256_mullo_epi32(expanded, times);
                *sums = transmute!(_mm256_add_epi32(transmute!(*sums), more));
                weights = part(weights, used.count_ones() as usize..);
            }
        },
    )
}

#[target_feature(enable = "avx2")]
pub(super) fn hash_runs(ends: &Ends, least: u8, most: u8, hashes: &mut [u32; RUNS]) -> usize {
    // As in `short_products`.
    type Runs = (__m256i, __m256i);
    let spread = |hash, by: u32| _mm256_mullo_epi32(hash, _mm256_set1_epi32(by.cast_signed()));
    let longer = |(a, b): Runs, characters: &[u32; PLACES]| {
        let [c, d]: [__m256i; 2] = transmute!(*characters);
        let step = |run, character| {
            let turned = _mm256_or_si256(_mm256_slli_epi32::<5>(run), _mm256_srli_epi32::<27>(run));
            spread(_mm256_xor_si256(turned, character), STEP)
        };
        (step(a, c), step(b, d))
    };
    let finished = |(a, b): Runs| {
        let finish = |hash| {
            let hash = _mm256_xor_si256(hash, _mm256_srli_epi32::<16>(hash));
            let hash = spread(hash, FINISH.0);
            let hash = _mm256_xor_si256(hash, _mm256_srli_epi32::<13>(hash));
            let hash = spread(hash, FINISH.1);
            _mm256_xor_si256(hash, _mm256_srli_epi32::<16>(hash))
        };
        transmute!([finish(a), finish(b)])
    };
    let start = _mm256_set1_epi32(GRAM as i32);
    portable::hash_runs_by((start, start), longer, finished, ends, least, most, hashes)
}

/// The weights of 32 candidates, 0 for candidates outside `used`. 255 times a weight fits 16 bits.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn expand_words(used: u32, weights: &[i8]) -> (__m256i, __m256i) {
    let last;
    let weights = match weights.first_chunk::<32>() {
        Some(few) => few,
        None => {
            last = last_weights(weights);
            &last
        }
    };
    let [a, b, c, d] = used.to_le_bytes();
    let eight = |byte: u8, start: u32| expand(byte, eight_weights(weights, start as usize));
    let first = a.count_ones();
    let second = first + b.count_ones();
    let third = second + c.count_ones();
    let low = _mm_unpacklo_epi64(eight(a, 0), eight(b, first));
    let high = _mm_unpacklo_epi64(eight(c, second), eight(d, third));
    (_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high))
}

/// The first weights in the bytes of the set bits, in order, and 0 in the others. By a table,
/// because `pdep` takes hundreds of cycles on some processors.
#[inline]
#[target_feature(enable = "avx2")]
fn expand(used: u8, weights: [i8; 8]) -> __m128i {
    let weights = _mm_cvtsi64_si128(transmute!(weights));
    let places = _mm_cvtsi64_si128(transmute!(expansion(used)));
    _mm_shuffle_epi8(weights, places)
}

#[target_feature(enable = "avx2")]
pub(super) fn to_fixed(coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
    let ((chunks_fixed, fixed_rest), (chunks, rest)) =
        portable::in_step::<16, _, _>(fixed, coordinates);
    for (fixed, chunk) in chunks_fixed.iter_mut().zip(chunks) {
        let [low, high]: [__m256; 2] = transmute!(*chunk);
        let packed = _mm256_packs_epi32(round(low, scale), round(high, scale));
        // Packing works within halves of 128 bits.
        *fixed = transmute!(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
    }
    portable::to_fixed(rest, scale, fixed_rest);
}

/// The nearest integers to `x · scale`, ties to even, within ±32767, 0 where x is not finite.
#[target_feature(enable = "avx2")]
fn round(x: __m256, scale: f32) -> __m256i {
    // Compares integers, because valgrind 3.19 mishandles the comparison of floats that compilers
    // make of other tests.
    let magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(i32::MAX));
    let special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7f_ffff));
    // Numbers that round to 0 are set to 0 first, because subnormal numbers take longer on some
    // processors.
    let quarter = _mm256_set1_epi32(smallest_product(scale));
    let special = _mm256_or_si256(special, _mm256_cmpgt_epi32(quarter, magnitude));
    let finite = _mm256_andnot_ps(_mm256_castsi256_ps(special), x);
    let product = _mm256_mul_ps(finite, _mm256_set1_ps(scale));
    let limit = _mm256_set1_ps(32_767.0);
    let lowest = _mm256_set1_ps(-32_767.0);
    let clamped = _mm256_max_ps(_mm256_min_ps(product, limit), lowest);
    let nearest = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(clamped);
    _mm256_cvttps_epi32(nearest)
}

#[target_feature(enable = "avx2")]
pub(super) fn add_short_products(
    matrix: &[I16],
    width: usize,
    start: usize,
    sentences: &[&[i16]],
    sums: &mut [i64],
    room: usize,
) {
    let products = |four: [&[I16]; 4], pair: [&[i16]; 2], two: bool| {
        if two {
            short_products::<true>(four, pair)
        } else {
            short_products::<false>(four, pair)
        }
    };
    portable::in_fours::<16>(matrix, width, start, sentences, sums, room, products);
}

/// The products of four rows with the whole chunks of one sentence, or of two. No lane overflows.
// `inline(never)`: inlined, the sums of both versions would be on the stack.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn short_products<const TWO: bool>(
    [a, b, c, d]: [&[I16]; 4],
    [x, y]: [&[i16]; 2],
) -> [[i64; 4]; 2] {
    // Not loops over arrays, which stay in memory when optimised for size.
    let (a, b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
    let (c, d) = (c.as_chunks::<16>().0, d.as_chunks::<16>().0);
    let (x, y) = (x.as_chunks::<16>().0, y.as_chunks::<16>().0);
    let zero = _mm256_setzero_si256();
    let mut x_sums = (zero, zero, zero, zero);
    let mut y_sums = x_sums;
    for (((((a, b), c), d), x), y) in a.iter().zip(b).zip(c).zip(d).zip(x).zip(y) {
        let (x, y): (__m256i, __m256i) = (transmute!(*x), transmute!(*y));
        macro_rules! add {
            ($lane:tt, $row:expr) => {
                let row: __m256i = transmute!(*$row);
                x_sums.$lane = _mm256_add_epi32(x_sums.$lane, _mm256_madd_epi16(row, x));
                if TWO {
                    y_sums.$lane = _mm256_add_epi32(y_sums.$lane, _mm256_madd_epi16(row, y));
                }
            };
        }
        add!(0, a);
        add!(1, b);
        add!(2, c);
        add!(3, d);
    }
    let y = if TWO { sums_of_four(y_sums) } else { zero };
    [transmute!(sums_of_four(x_sums)), transmute!(y)]
}

/// The sum of all lanes of each of four vectors, in 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_of_four((a, b, c, d): (__m256i, __m256i, __m256i, __m256i)) -> __m256i {
    // A lane is 2^16·high + low, so that sums of each fit.
    let mask = _mm256_set1_epi32(0xffff);
    let low = |v| _mm256_and_si256(v, mask);
    let high = |v| _mm256_srai_epi32::<16>(v);
    let sums = |a, b, c, d| {
        let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        _mm_add_epi32(
            _mm256_castsi256_si128(sums),
            _mm256_extracti128_si256::<1>(sums),
        )
    };
    let high = _mm256_cvtepi32_epi64(sums(high(a), high(b), high(c), high(d)));
    let low = _mm256_cvtepi32_epi64(sums(low(a), low(b), low(c), low(d)));
    _mm256_add_epi64(_mm256_slli_epi64::<16>(high), low)
}

#[target_feature(enable = "avx2")]
pub(super) fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
    let [reached, ..] = four_reached::<1>(boundaries, [input; 4]);
    reached as u8
}

#[target_feature(enable = "avx2")]
pub(super) fn count(
    sums: &Sums<'_>,
    shift: u32,
    boundaries: &[[I32; BOUNDARIES]],
    rows: &mut [[u8; 256]],
) {
    for ((boundaries, counts), sums) in boundaries.iter().zip(rows).zip(sums.rows()) {
        let (fours, rest) = sums.as_chunks();
        for four in fours {
            let inputs = four.map(|sum| bucket_input(sum, shift));
            count_up_to_four(counts, four_reached::<4>(boundaries, inputs));
        }
        for sum in rest {
            let reached = reached(boundaries, bucket_input(*sum, shift));
            portable::count_up_to(counts, reached);
        }
    }
}

/// The number of boundaries that each of the first `N` of four inputs reaches. They share the
/// loads.
#[inline]
#[target_feature(enable = "avx2")]
fn four_reached<const N: usize>(
    boundaries: &[I32; BOUNDARIES],
    [a, b, c, d]: [i32; 4],
) -> [i32; 4] {
    let (a, b) = (_mm256_set1_epi32(a), _mm256_set1_epi32(b));
    let (c, d) = (_mm256_set1_epi32(c), _mm256_set1_epi32(d));
    let zero = _mm256_setzero_si256();
    // Each boundary beyond the input subtracts one.
    let mut beyond = (zero, zero, zero, zero);
    macro_rules! add {
        ($boundaries:expr) => {
            let boundaries = $boundaries;
            beyond.0 = _mm256_add_epi32(beyond.0, _mm256_cmpgt_epi32(boundaries, a));
            if N > 1 {
                beyond.1 = _mm256_add_epi32(beyond.1, _mm256_cmpgt_epi32(boundaries, b));
                beyond.2 = _mm256_add_epi32(beyond.2, _mm256_cmpgt_epi32(boundaries, c));
                beyond.3 = _mm256_add_epi32(beyond.3, _mm256_cmpgt_epi32(boundaries, d));
            }
        };
    }
    let (chunks, rest) = boundaries.as_chunks::<16>();
    for chunk in chunks {
        let [low, high]: [__m256i; 2] = transmute!(*chunk);
        add!(low);
        add!(high);
    }
    // The last fifteen: eight, and seven after one that has been counted and is beyond no input
    // now.
    const { assert!(BOUNDARIES % 16 == 15) };
    if let Some(eight) = rest.first_chunk::<8>() {
        add!(transmute!(*eight));
    }
    if let Some(last) = boundaries.last_chunk::<8>() {
        let counted = _mm256_set1_epi32(i32::MIN);
        add!(_mm256_blend_epi32::<1>(transmute!(*last), counted));
    }
    let (a, b, c, d) = beyond;
    let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    let beyond = _mm_add_epi32(
        _mm256_castsi256_si128(sums),
        _mm256_extracti128_si256::<1>(sums),
    );
    transmute!(_mm_add_epi32(beyond, _mm_set1_epi32(BOUNDARIES as i32)))
}

/// [`portable::count_up_to`] for each of four codes, in one pass over the counts.
#[inline]
#[target_feature(enable = "avx2")]
fn count_up_to_four(counts: &mut [u8; 256], codes: [i32; 4]) {
    // Signed, as comparisons are.
    let top = i8::MIN;
    let [a, b, c, d] = codes.map(|code| _mm256_set1_epi8(code as i8 ^ top));
    let top = _mm256_set1_epi8(top);
    let (counts, _) = counts.as_chunks_mut::<32>();
    for (counts, here) in counts.iter_mut().zip(portable::CODES.as_chunks::<32>().0) {
        let here = _mm256_xor_si256(transmute!(*here), top);
        // Each code below subtracts one.
        let mut more = _mm256_set1_epi8(4);
        more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, a));
        more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, b));
        more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, c));
        more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, d));
        *counts = transmute!(_mm256_adds_epu8(transmute!(*counts), more));
    }
}

/// `vpshufb` looks up 16 entries, and gives 0 for a negative index. Eight such tables, of the
/// differences between neighbours, make 128 entries: the index falls by 16 from table to table, and
/// a negative index adds nothing. Codes from 128 on start negative.
///
/// The table is made here, because the portable one takes longer than the look-ups when optimised
/// for size.
#[target_feature(enable = "avx2")]
pub(super) fn lower(depths: &mut [u8], codes: &[u8], at_least: &[u8; 256], sentences: u8) {
    let sentences = _mm_set1_epi8(sentences as i8);
    let mut table = *at_least;
    for half in table.as_chunks_mut::<128>().0 {
        let mut before = _mm_setzero_si128();
        for step in half.as_chunks_mut::<16>().0 {
            let above: __m128i = transmute!(*step);
            let depth = _mm_min_epu8(above, _mm_subs_epu8(sentences, above));
            *step = transmute!(_mm_xor_si128(depth, before));
            before = depth;
        }
    }
    let sixteen = _mm256_set1_epi8(16);
    let top = _mm256_set1_epi8(i8::MIN);
    let look_up = |depths: &mut [u8; 128], codes: &[u8; 128]| {
        // As in `short_products`.
        let [a, b, c, d]: [__m256i; 4] = transmute!(*codes);
        let mut index = (a, b, c, d);
        let zero = _mm256_setzero_si256();
        let mut found = (zero, zero, zero, zero);
        for half in table.as_chunks::<128>().0 {
            let mut here = index;
            for step in half.as_chunks::<16>().0 {
                let step = _mm256_broadcastsi128_si256(transmute!(*step));
                macro_rules! add {
                    ($lane:tt) => {
                        let entries = _mm256_shuffle_epi8(step, here.$lane);
                        found.$lane = _mm256_xor_si256(found.$lane, entries);
                        here.$lane = _mm256_subs_epi8(here.$lane, sixteen);
                    };
                }
                add!(0);
                add!(1);
                add!(2);
                add!(3);
            }
            index.0 = _mm256_xor_si256(index.0, top);
            index.1 = _mm256_xor_si256(index.1, top);
            index.2 = _mm256_xor_si256(index.2, top);
            index.3 = _mm256_xor_si256(index.3, top);
        }
        let [a, b, c, d]: [__m256i; 4] = transmute!(*depths);
        *depths = transmute!([
            _mm256_min_epu8(a, found.0),
            _mm256_min_epu8(b, found.1),
            _mm256_min_epu8(c, found.2),
            _mm256_min_epu8(d, found.3),
        ]);
    };
    portable::in_chunks(depths, codes, look_up);
    // The table is private, because it has the counts of sentences.
    wipe(&mut table);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_weighted(weight: u16, vector: &[i8], sums: &mut [i64]) {
    let ((sums, rest_sums), (vector, rest)) = portable::in_step::<4, _, _>(sums, vector);
    let weights = _mm256_set1_epi64x(weight.into());
    for (sums, vector) in sums.iter_mut().zip(vector) {
        let four = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(transmute!(*vector)));
        let more = _mm256_mul_epi32(four, weights);
        *sums = transmute!(_mm256_add_epi64(transmute!(*sums), more));
    }
    portable::add_weighted(weight, rest, rest_sums);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_scores(sums: &mut [u16], outputs: &[i64], thresholds: &[I32], norm: i64) {
    let ((sums, rest), (outputs, rest_outputs)) = portable::in_step::<8, _, _>(sums, outputs);
    let all = _mm_set1_epi16(thresholds.len() as i16);
    for (sums, outputs) in sums.iter_mut().zip(outputs) {
        let [a, b]: [__m256i; 2] = transmute!(*outputs);
        // Each threshold beyond the output subtracts one.
        let mut beyond = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for threshold in thresholds {
            // |threshold·norm| < 2^31 · 2^20: no overflow.
            let least = i64::from(threshold.get()).wrapping_mul(norm);
            let least = _mm256_set1_epi64x(least);
            beyond.0 = _mm256_add_epi64(beyond.0, _mm256_cmpgt_epi64(least, a));
            beyond.1 = _mm256_add_epi64(beyond.1, _mm256_cmpgt_epi64(least, b));
        }
        let (a, b) = (_mm256_castsi256_ps(beyond.0), _mm256_castsi256_ps(beyond.1));
        // Within halves of 128 bits.
        let words = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        let [a, b]: [__m128i; 2] = transmute!(_mm256_permute4x64_epi64::<0b11_01_10_00>(words));
        let more = _mm_add_epi16(all, _mm_packs_epi32(a, b));
        *sums = transmute!(_mm_add_epi16(transmute!(*sums), more));
    }
    portable::add_scores(rest, rest_outputs, thresholds, norm);
}

#[target_feature(enable = "avx2")]
pub(super) fn count_equal(levels: &[u8], level: u8) -> u32 {
    let (chunks, rest) = levels.as_chunks::<32>();
    let wanted = _mm256_set1_epi8(level as i8);
    let mut total = _mm256_setzero_si256();
    // The most that a byte can count.
    for chunks in chunks.chunks(255) {
        let mut counts = _mm256_setzero_si256();
        for chunk in chunks {
            let same = _mm256_cmpeq_epi8(transmute!(*chunk), wanted);
            counts = _mm256_sub_epi8(counts, same);
        }
        let sums = _mm256_sad_epu8(counts, _mm256_setzero_si256());
        total = _mm256_add_epi64(total, sums);
    }
    let [a, b, c, d]: [u64; 4] = transmute!(total);
    (a + b + c + d) as u32 + portable::count_equal(rest, level)
}

/// Four rows at a time, which share the loads of the coordinates.
#[target_feature(enable = "avx2")]
pub(super) fn products(matrix: &[i8], x: &[i16], products: &mut [i64]) {
    let width = x.len();
    let fours = matrix.chunks(chunk_size(4 * width));
    for (rows, products) in fours.zip(products.chunks_mut(4)) {
        let sums = four_dots_of_bytes(portable::rows_of(rows, width, 0, width), x);
        for (product, sum) in products.iter_mut().zip(sums) {
            *product = sum;
        }
    }
}

/// The products of four rows with one sentence.
#[target_feature(enable = "avx2")]
fn four_dots_of_bytes([a, b, c, d]: [&[i8]; 4], x: &[i16]) -> [i64; 4] {
    // As in `short_products`.
    let (a_chunks, b_chunks) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
    let (c_chunks, d_chunks) = (c.as_chunks::<16>().0, d.as_chunks::<16>().0);
    let (chunks, rest) = x.as_chunks::<16>();
    let zero = _mm256_setzero_si256();
    let mut sums = (zero, zero, zero, zero);
    let rows = a_chunks.iter().zip(b_chunks).zip(c_chunks).zip(d_chunks);
    for ((((a, b), c), d), x) in rows.zip(chunks) {
        let x: __m256i = transmute!(*x);
        macro_rules! add {
            ($lane:tt, $row:expr) => {
                let row = _mm256_cvtepi8_epi16(transmute!(*$row));
                sums.$lane = _mm256_add_epi32(sums.$lane, _mm256_madd_epi16(row, x));
            };
        }
        add!(0, a);
        add!(1, b);
        add!(2, c);
        add!(3, d);
    }
    // A lane has 2^7 products of at most 2^7 · 32,767: the sum of four lanes fits, the sum of all
    // eight does not.
    const { assert!(4 * (WIDTH as i64 / 8) * 128 * 32_767 <= i32::MAX as i64) };
    let (a_sums, b_sums, c_sums, d_sums) = sums;
    let two = (
        _mm256_hadd_epi32(a_sums, b_sums),
        _mm256_hadd_epi32(c_sums, d_sums),
    );
    let four = _mm256_hadd_epi32(two.0, two.1);
    let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(four));
    let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(four));
    let mut products: [i64; 4] = transmute!(_mm256_add_epi64(low, high));
    if !rest.is_empty() {
        for (product, row) in products.iter_mut().zip([a, b, c, d]) {
            *product += portable::dot_bytes(row.as_chunks::<16>().1, rest);
        }
    }
    products
}

#[target_feature(enable = "avx2")]
pub(super) fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]) {
    let exponentials = |words: &[u64], count, out: &mut [f64]| {
        fill_exponentials_here(words, count, out);
    };
    gaussian::box_muller_by(words, radii, gaussians, exponentials, |numbers| {
        square_roots(numbers)
    });
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn square_roots(numbers: &mut [f64]) {
    let (fours, rest) = numbers.as_chunks_mut::<4>();
    for four in fours {
        *four = transmute!(_mm256_sqrt_pd(transmute!(*four)));
    }
    gaussian::square_roots(rest);
}

/// The steps of [`FixedPoint::convert`], four at a time.
#[target_feature(enable = "avx2")]
pub(super) fn add_fixed(fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]) {
    let ((sums, sums_rest), (fours, rest)) = portable::in_step::<4, _, _>(sums, coordinates);
    let one = _mm_set1_epi32(1);
    let byte = _mm_set1_epi32(0xff);
    let limit = _mm256_set1_epi64x(fixed.limit());
    for (sums, four) in sums.iter_mut().zip(fours) {
        let bits: __m128i = transmute!(*four);
        let exponent = _mm_and_si128(_mm_srli_epi32::<23>(bits), byte);
        let normal = _mm_srli_epi32::<8>(_mm_add_epi32(exponent, byte));
        let not_finite = _mm_srli_epi32::<8>(_mm_add_epi32(exponent, one));
        let fraction = _mm_and_si128(bits, _mm_set1_epi32(0x7f_ffff));
        let significand = _mm_or_si128(fraction, _mm_slli_epi32::<23>(normal));
        let least = _mm_sub_epi32(_mm_add_epi32(exponent, one), normal);
        let right = _mm_sub_epi32(_mm_set1_epi32(38 + 150 - fixed.fraction_bits), least);
        let shift = _mm256_cvtepi32_epi64(_mm_and_si128(right, _mm_set1_epi32(63)));
        let shifted = _mm256_slli_epi64::<38>(_mm256_cvtepi32_epi64(significand));
        let magnitude = _mm256_srlv_epi64(shifted, shift);
        let largest = _mm_set1_epi32(fixed.largest_exponent);
        let beyond = _mm_srai_epi32::<31>(_mm_sub_epi32(largest, exponent));
        let magnitude = _mm256_blendv_epi8(magnitude, limit, _mm256_cvtepi32_epi64(beyond));
        let small = _mm_srai_epi32::<31>(_mm_sub_epi32(_mm_set1_epi32(63), right));
        let nothing = _mm_or_si128(small, _mm_sub_epi32(_mm_setzero_si128(), not_finite));
        let magnitude = _mm256_andnot_si256(_mm256_cvtepi32_epi64(nothing), magnitude);
        let sign = _mm256_cvtepi32_epi64(_mm_srai_epi32::<31>(bits));
        let converted = _mm256_sub_epi64(_mm256_xor_si256(magnitude, sign), sign);
        *sums = transmute!(_mm256_add_epi64(transmute!(*sums), converted));
    }
    portable::add_fixed(fixed, rest, sums_rest);
}
