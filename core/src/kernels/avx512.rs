//! Kernels for AVX-512 with VBMI, VBMI2, VNNI, GFNI, BITALG and VPOPCNTDQ: only those that take
//! much of the time of a release. The others are kernels of [`avx2`].

use core::arch::asm;
use core::arch::x86_64::*;
use core::{array, cmp, iter};

use zerocopy::little_endian::{I16, I32, U16};
use zerocopy::transmute;

use super::avx2;
use super::inputs::{Sums, Tossing};
use super::lookup::{FEW_KEYS, Table, few_bits, last_weights, word};
use super::portable;
use super::runs::{Ends, FINISH, GRAM, PLACES, RUNS, STEP};
use super::x86::bits as seldom_counted_bits;
use crate::barrier::wipe;
use crate::checked::{chunk_size, part, part_mut};
use crate::laplace::gaussian::{self, fill_exponentials_here};
use crate::pack::format::BOUNDARIES;

pub(super) use super::avx2::{
    add_bias, add_fixed, add_products, add_scores, add_values, add_weighted, centre, count,
    count_equal, products, reached, round_products, to_fixed,
};

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt")]
pub(super) fn add_features(
    table: &Table<'_>,
    hashes: &[u32],
    times: Option<&[u8]>,
    most: u32,
    sums: &mut [i32],
) -> u32 {
    let bytes = table.row_bytes();
    let position = |keys: &[U16; FEW_KEYS], _, key| position(keys, key);
    let bits = |bytes: &[u8], count: usize| bits(bytes, count);
    // The sums of few candidates stay in registers, because a row would wait for the stores of the
    // row before.
    if bytes <= 4
        && let Some(sums) = sums.first_chunk_mut::<32>()
    {
        let mut more = _mm512_setzero_si512();
        let add = |bitmap: &[u8], weights: &[i8], times| {
            let used = few_bits(bitmap, bytes);
            more = _mm512_add_epi16(more, expand(used, weights, times));
        };
        let found = table.each_known(hashes, times, most, position, bits, add);
        add_words(sums, more);
        return found;
    }
    table.each_known(
        hashes,
        times,
        most,
        position,
        bits,
        |bitmap, weights, times| {
            let mut left = weights;
            for (start, sums) in (0..bytes).step_by(4).zip(sums.as_chunks_mut().0) {
                let used = word(bitmap, start, cmp::min(bytes, start + 4)) as u32;
                add_words(sums, expand(used, left, times));
                left = part(left, used.count_ones() as usize..);
            }
        },
    )
}

#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn hash_runs(ends: &Ends, least: u8, most: u8, hashes: &mut [u32; RUNS]) -> usize {
    let spread =
        |hash: __m512i, by: u32| _mm512_mullo_epi32(hash, _mm512_set1_epi32(by.cast_signed()));
    let longest = _mm512_cvtepu8_epi32(transmute!(*ends.longest()));
    let mut found = 0;
    let mut runs = _mm512_set1_epi32(GRAM as i32);
    for length in 1..=most {
        let Some(characters) = ends.starts(length.into()) else {
            break;
        };
        runs = _mm512_xor_si512(_mm512_rol_epi32::<5>(runs), transmute!(*characters));
        runs = spread(runs, STEP);
        if length < least {
            continue;
        }
        let hash = _mm512_xor_si512(runs, _mm512_srli_epi32::<16>(runs));
        let hash = spread(hash, FINISH.0);
        let hash = _mm512_xor_si512(hash, _mm512_srli_epi32::<13>(hash));
        let hash = spread(hash, FINISH.1);
        let hash = _mm512_xor_si512(hash, _mm512_srli_epi32::<16>(hash));
        let there = _mm512_cmpge_epi32_mask(longest, _mm512_set1_epi32(length.into()));
        let place = part_mut(hashes, found..);
        if let Some(place) = place.first_chunk_mut::<PLACES>() {
            *place = transmute!(_mm512_maskz_compress_epi32(there, hash));
        }
        found += there.count_ones() as usize;
    }
    found
}

/// Adds words of 16 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add_words(sums: &mut [i32; 32], more: __m512i) {
    let [low, high]: [__m256i; 2] = transmute!(more);
    let [first, second]: [__m512i; 2] = transmute!(*sums);
    let first = _mm512_add_epi32(first, _mm512_cvtepi16_epi32(low));
    let second = _mm512_add_epi32(second, _mm512_cvtepi16_epi32(high));
    *sums = transmute!([first, second]);
}

/// The set bits of the first `count` bytes, without a loop if there are fewer than 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq,bmi1,bmi2,popcnt")]
fn bits(bytes: &[u8], count: usize) -> usize {
    let Some(block) = bytes.first_chunk::<64>().filter(|_| count < 64) else {
        return seldom_bits(bytes, count);
    };
    let there = _bzhi_u64(u64::MAX, count as u32);
    let block = _mm512_maskz_mov_epi8(there, transmute!(*block));
    _mm512_reduce_add_epi64(_mm512_popcnt_epi64(block)).cast_unsigned() as usize
}

/// As [`bits`], for any number of bytes.
// `inline(never)`: inlined, `bits` itself would be called, and sums in registers stored before it.
#[cold]
#[inline(never)]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn seldom_bits(bytes: &[u8], count: usize) -> usize {
    seldom_counted_bits(bytes, count)
}

#[target_feature(enable = "avx512f,avx512bw")]
fn position(keys: &[U16; FEW_KEYS], key: u16) -> u32 {
    let (keys, key) = (transmute!(*keys), _mm512_set1_epi16(key.cast_signed()));
    _mm512_cmpeq_epi16_mask(keys, key).trailing_zeros()
}

/// The weights of 32 candidates times `times`, which fit 16 bits; 0 for candidates outside `used`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn expand(used: u32, weights: &[i8], times: u8) -> __m512i {
    let few: __m256i = match weights.first_chunk::<32>() {
        Some(few) => transmute!(*few),
        None => transmute!(last_weights::<32>(weights)),
    };
    let all = _mm512_maskz_expand_epi16(used, _mm512_cvtepi8_epi16(few));
    _mm512_mullo_epi16(all, _mm512_set1_epi16(times.into()))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn add_short_products(
    matrix: &[I16],
    width: usize,
    start: usize,
    sentences: &[&[i16]],
    sums: &mut [i64],
    room: usize,
) {
    let length = sentences.first().map_or(0, |x| x.len());
    let in_tiles = matches!(room, 1 | 4 | 8) && sentences.len() <= room;
    match length {
        256 if in_tiles => add_tiles::<8>(matrix, width, start, sentences, sums, room),
        128 if in_tiles => add_tiles::<4>(matrix, width, start, sentences, sums, room),
        _ => avx2::add_short_products(matrix, width, start, sentences, sums, room),
    }
}

/// [`add_short_products`] for 32·`N` coordinates and room for 1, 4 or 8 sentences: the rows of a
/// tile give eight sums or sixteen.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn add_tiles<const N: usize>(
    matrix: &[I16],
    width: usize,
    start: usize,
    sentences: &[&[i16]],
    sums: &mut [i64],
    room: usize,
) {
    let there = 1u32.unbounded_shl(sentences.len() as u32).wrapping_sub(1) as u8;
    let (rows, there) = match room {
        1 => (8, !0),
        4 => (4, there << 4 | there),
        _ => (2, there),
    };
    let ([x], four, eight) = (all(sentences), all(sentences), all(sentences));
    let ahead = rows * width;
    let tiles = matrix.chunks(chunk_size(ahead));
    for (tile, sums) in tiles.zip(sums.chunks_mut(chunk_size(rows * room))) {
        let products = match room {
            1 => one_sentence(tile_rows::<8, N>(tile, width, start), x, ahead),
            4 => four_sentences(tile_rows::<4, N>(tile, width, start), four, ahead),
            _ => eight_sentences(tile_rows::<2, N>(tile, width, start), eight, ahead),
        };
        for (sums, products) in sums.chunks_mut(8).zip(products) {
            add_eight(sums, products, there);
        }
    }
}

/// The sentences, `S` of them; the first one replaces missing ones.
#[inline(always)]
fn all<'a, const N: usize, const S: usize>(sentences: &[&'a [i16]]) -> [&'a [[i16; 32]; N]; S] {
    array::from_fn(|number| {
        let sentence = sentences.get(number).or(sentences.first());
        let chunks = sentence.and_then(|x| x.as_chunks().0.first_chunk());
        debug_assert!(chunks.is_some(), "a sentence of fewer coordinates");
        chunks.unwrap_or(&[[0; 32]; N])
    })
}

/// 32·`N` entries from `start` on of the first `R` rows. The first row replaces missing ones.
#[inline(always)]
fn tile_rows<const R: usize, const N: usize>(
    matrix: &[I16],
    width: usize,
    start: usize,
) -> [&[[I16; 32]; N]; R] {
    let rows = portable::rows_of::<_, R>(matrix, width, start, 32 * N);
    let missing = &[[I16::ZERO; 32]; N];
    rows.map(|row| row.as_chunks().0.first_chunk().unwrap_or(missing))
}

/// Adds the products that are in `there`.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_eight(sums: &mut [i64], products: __m512i, there: u8) {
    if let Some(sums) = sums.first_chunk_mut::<8>() {
        let before = transmute!(*sums);
        *sums = transmute!(_mm512_mask_add_epi64(before, there, before, products));
        return;
    }
    let products: [i64; 8] = transmute!(_mm512_maskz_mov_epi64(there, products));
    for (sum, product) in sums.iter_mut().zip(products) {
        *sum += product;
    }
}

/// Multiplies rows with sentences, 32 coordinates at a time. The sums are variables, because arrays
/// stay in memory when optimised for size. Prefetches the entries that are `$ahead` of a chunk of a
/// row, because packs are too large for the first level of the cache.
macro_rules! products {
    ($ahead:ident, [$($row:ident)*], [$($x:ident)*], $($sum:ident = $a:ident * $b:ident)*) => {
        $(let mut $sum = _mm512_setzero_si512();)*
        let chunks = iter::repeat(());
        $(let chunks = chunks.zip($row);)*
        $(let chunks = chunks.zip($x);)*
        for products!(@pattern () $($row)* $($x)*) in chunks {
            $(_mm_prefetch::<_MM_HINT_T0>($row.as_ptr().wrapping_add($ahead).cast());)*
            $(let $row: __m512i = transmute!(*$row);)*
            $(let $x: __m512i = transmute!(*$x);)*
            $($sum = add_pairs($sum, $a, $b);)*
        }
    };
    (@pattern $pattern:tt) => { $pattern };
    (@pattern $pattern:tt $first:ident $($rest:ident)*) => {
        products!(@pattern ($pattern, $first) $($rest)*)
    };
}

/// Eight rows with one sentence. The second vector is not used.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn one_sentence<const N: usize>(
    [a, b, c, d, e, f, g, h]: [&[[I16; 32]; N]; 8],
    x: &[[i16; 32]; N],
    ahead: usize,
) -> [__m512i; 2] {
    products!(ahead, [a b c d e f g h], [x],
        a0 = a * x b0 = b * x c0 = c * x d0 = d * x e0 = e * x f0 = f * x g0 = g * x h0 = h * x);
    let sums = sums_of_eight([a0, b0, c0, d0, e0, f0, g0, h0]);
    [sums, _mm512_setzero_si512()]
}

/// Four rows with four sentences: two rows in a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn four_sentences<const N: usize>(
    [a, b, c, d]: [&[[I16; 32]; N]; 4],
    [w, x, y, z]: [&[[i16; 32]; N]; 4],
    ahead: usize,
) -> [__m512i; 2] {
    products!(ahead, [a b c d], [w x y z],
        aw = a * w ax = a * x ay = a * y az = a * z
        bw = b * w bx = b * x by = b * y bz = b * z
        cw = c * w cx = c * x cy = c * y cz = c * z
        dw = d * w dx = d * x dy = d * y dz = d * z);
    [
        sums_of_eight([aw, ax, ay, az, bw, bx, by, bz]),
        sums_of_eight([cw, cx, cy, cz, dw, dx, dy, dz]),
    ]
}

/// Two rows with eight sentences.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn eight_sentences<const N: usize>(
    [a, b]: [&[[I16; 32]; N]; 2],
    [s, t, u, v, w, x, y, z]: [&[[i16; 32]; N]; 8],
    ahead: usize,
) -> [__m512i; 2] {
    products!(ahead, [a b], [s t u v w x y z],
        a0 = a * s a1 = a * t a2 = a * u a3 = a * v a4 = a * w a5 = a * x a6 = a * y a7 = a * z
        b0 = b * s b1 = b * t b2 = b * u b3 = b * v b4 = b * w b5 = b * x b6 = b * y b7 = b * z);
    [
        sums_of_eight([a0, a1, a2, a3, a4, a5, a6, a7]),
        sums_of_eight([b0, b1, b2, b3, b4, b5, b6, b7]),
    ]
}

/// The sum of all lanes of each of eight vectors of products that fit 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums_of_eight([a, b, c, d, e, f, g, h]: [__m512i; 8]) -> __m512i {
    // The lanes of both halves together are one lane of AVX2, which fits: four lanes of the first
    // vector, four of the second.
    let both = |x, y| {
        let low = _mm512_inserti64x4::<1>(x, _mm512_castsi512_si256(y));
        let high = _mm512_shuffle_i64x2::<0b11_10_11_10>(x, y);
        let sums = _mm512_add_epi32(low, high);
        // Eight sums of 64 bits from sixteen of 32.
        let even = _mm512_mul_epi32(sums, _mm512_set1_epi64(1));
        _mm512_add_epi64(even, _mm512_srai_epi64::<32>(sums))
    };
    let (a, b, c, d) = (both(a, e), both(b, f), both(c, g), both(d, h));
    // Transposed as they are added.
    let ab = _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    let cd = _mm512_add_epi64(_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
    let even = _mm512_shuffle_i64x2::<0b10_00_10_00>(ab, cd);
    let odd = _mm512_shuffle_i64x2::<0b11_01_11_01>(ab, cd);
    let sums = _mm512_add_epi64(even, odd);
    _mm512_shuffle_i64x2::<0b11_01_10_00>(sums, sums)
}

/// `_mm512_dpwssd_epi32`. LLVM may replace that by a multiplication and an addition, which take
/// half as long again here, because two units execute all of them.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn add_pairs(mut sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the processor has the instruction, which reads and writes these registers only.
    unsafe {
        asm!(
            "vpdpwssd {sums}, {a}, {b}",
            sums = inout(zmm_reg) sums,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sums
}

/// [`count`] for boundaries that ascend: a binary search, with the same comparisons for all inputs.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512bitalg,gfni")]
pub(super) fn count_ascending(
    sums: &Sums<'_>,
    shift: u32,
    boundaries: &[[I32; BOUNDARIES]],
    rows: &mut [[u8; 256]],
) {
    let there = 1u32.unbounded_shl(sums.sentences as u32).wrapping_sub(1) as u8;
    let shift = _mm_cvtsi32_si128((shift & 31).cast_signed());
    let directions = boundaries.iter().zip(rows);
    for ((boundaries, counts), sums) in
        directions.zip(sums.sums.chunks_exact(chunk_size(sums.room)))
    {
        let sums: __m512i = match (sums.first_chunk(), sums.first_chunk()) {
            (Some(eight), _) => transmute!(*eight as [i64; 8]),
            (_, Some(four)) if sums.len() == 4 => {
                _mm512_zextsi256_si512(transmute!(*four as [i64; 4]))
            }
            _ => {
                let mut few = [0i64; 8];
                for (to, from) in few.iter_mut().zip(sums) {
                    *to = *from;
                }
                transmute!(few)
            }
        };
        let inputs = _mm512_cvtsepi64_epi32(_mm512_sra_epi64(sums, shift));
        let codes = eight_reached(boundaries, _mm512_zextsi256_si512(inputs));
        count_up_to_eight(
            counts,
            _mm512_cvtepi32_epi64(_mm512_castsi512_si256(codes)),
            there,
        );
    }
}

/// The number of boundaries, which ascend, that the input in each lane reaches.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn eight_reached(boundaries: &[I32; BOUNDARIES], inputs: __m512i) -> __m512i {
    const { assert!(BOUNDARIES == 255) };
    let (chunks, _) = boundaries.as_chunks::<16>();
    let chunk = |number: usize| -> __m512i {
        let chunk = chunks.get(number).unwrap_or(&[I32::ZERO; 16]);
        transmute!(*chunk)
    };
    // The last fifteen, and one number that is not used.
    let last = boundaries.last_chunk::<16>().unwrap_or(&[I32::ZERO; 16]);
    let last = transmute!(*last);
    let last = _mm512_alignr_epi32::<1>(last, last);
    // Every second entry of two vectors, from the first or from the second one on.
    let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    let halves = |low, high| {
        let evens = _mm512_permutex2var_epi32(low, even, high);
        (evens, _mm512_permutex2var_epi32(low, odd, high))
    };
    let (e0, o0) = halves(chunk(0), chunk(1));
    let (e1, o1) = halves(chunk(2), chunk(3));
    let (e2, o2) = halves(chunk(4), chunk(5));
    let (e3, o3) = halves(chunk(6), chunk(7));
    let (e4, o4) = halves(chunk(8), chunk(9));
    let (e5, o5) = halves(chunk(10), chunk(11));
    let (e6, o6) = halves(chunk(12), chunk(13));
    let (e7, o7) = halves(chunk(14), last);
    // Every fourth, from the first, second, third and fourth on.
    let ((p0, r0), (q0, s0)) = (halves(e0, e1), halves(o0, o1));
    let ((p1, r1), (q1, s1)) = (halves(e2, e3), halves(o2, o3));
    let ((p2, r2), (q2, s2)) = (halves(e4, e5), halves(o4, o5));
    let ((p3, r3), (q3, s3)) = (halves(e6, e7), halves(o6, o7));
    // Every sixteenth, from the fourth, eighth, twelfth and sixteenth on.
    let ((s0, t0), (s1, t1)) = (halves(s0, s1), halves(s2, s3));
    let ((fourth, twelfth), (eighth, sixteenth)) = (halves(s0, s1), halves(t0, t1));

    let more = |place, boundary, by: i32| {
        let reached = _mm512_cmple_epi32_mask(boundary, inputs);
        _mm512_mask_sub_epi32(place, reached, place, _mm512_set1_epi32(-by))
    };
    let three = |place, a, b, c, by| more(more(more(place, a, by), b, by), c, by);
    // Three boundaries each time, so that few comparisons wait for others.
    let all = |boundary: I32| _mm512_set1_epi32(boundary.get());
    let [a, b, c] = [boundaries[63], boundaries[127], boundaries[191]].map(all);
    let place = three(_mm512_setzero_si512(), a, b, c, 4);
    let after = |more| {
        let place = _mm512_add_epi32(place, _mm512_set1_epi32(more));
        _mm512_permutexvar_epi32(place, sixteenth)
    };
    let place = three(place, after(0), after(1), after(2), 1);
    let upper = _mm512_test_epi32_mask(place, _mm512_set1_epi32(8));
    let at = |entries| _mm512_permutexvar_epi32(place, entries);
    let (a, b, c) = (at(fourth), at(eighth), at(twelfth));
    let place = three(_mm512_slli_epi32::<2>(place), a, b, c, 1);
    let at = |a, b, c, d| {
        let low = _mm512_permutex2var_epi32(a, place, b);
        _mm512_mask_blend_epi32(upper, low, _mm512_permutex2var_epi32(c, place, d))
    };
    let (a, b, c) = (at(p0, p1, p2, p3), at(q0, q1, q2, q3), at(r0, r1, r2, r3));
    three(_mm512_slli_epi32::<2>(place), a, b, c, 1)
}

/// [`portable::count_up_to`] for each code in `there`, in one pass over the counts.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
fn count_up_to_eight(counts: &mut [u8; 256], codes: __m512i, there: u8) {
    /// Transposes an 8 × 8 matrix of bytes.
    #[expect(clippy::indexing_slicing, reason = "done by the compiler")]
    const EIGHTHS: [u8; 64] = {
        let mut places = [0; 64];
        let mut at = 0;
        while at < 64 {
            places[at] = (at % 8 * 8 + at / 8) as u8;
            at += 1;
        }
        places
    };
    let all = _mm512_set1_epi64(-1);
    let bits = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
    let (counts, _) = counts.as_chunks_mut::<64>();
    for (last, counts) in (63..).step_by(64).zip(counts) {
        // For each code, a bit for every count that it raises: the lowest bits.
        let beyond = _mm512_sub_epi64(_mm512_set1_epi64(last), codes);
        let beyond = _mm512_max_epi64(beyond, _mm512_setzero_si512());
        let raised = _mm512_maskz_srlv_epi64(there, all, beyond);
        // For each count, a bit for every code.
        let raised = _mm512_permutexvar_epi8(transmute!(EIGHTHS), raised);
        let raised = _mm512_gf2p8affine_epi64_epi8::<0>(bits, raised);
        let more = _mm512_popcnt_epi8(raised);
        *counts = transmute!(_mm512_adds_epu8(transmute!(*counts), more));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn lower(depths: &mut [u8], codes: &[u8], at_least: &[u8; 256], sentences: u8) {
    let sentences = _mm512_set1_epi8(sentences as i8);
    let [a, b, c, d]: [__m512i; 4] = transmute!(*at_least);
    let first = _mm512_min_epu8(a, _mm512_subs_epu8(sentences, a));
    let second = _mm512_min_epu8(b, _mm512_subs_epu8(sentences, b));
    let third = _mm512_min_epu8(c, _mm512_subs_epu8(sentences, c));
    let fourth = _mm512_min_epu8(d, _mm512_subs_epu8(sentences, d));
    let look_up = |depths: &mut [u8; 64], codes: &[u8; 64]| {
        let codes: __m512i = transmute!(*codes);
        let below = _mm512_permutex2var_epi8(first, codes, second);
        let above = _mm512_permutex2var_epi8(third, codes, fourth);
        let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), below, above);
        *depths = transmute!(_mm512_min_epu8(transmute!(*depths), found));
    };
    portable::in_chunks(depths, codes, look_up);
}

/// Eight coins at a time, of any levels.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt")]
pub(super) fn toss(tossing: &mut Tossing<'_>, words: &[[u8; 8]], last_of_level: &[u32]) {
    for (words, marks) in words.chunks(u32::BITS as usize).zip(last_of_level) {
        // The first coin in the lowest bit.
        let marks = marks.reverse_bits().to_le_bytes();
        let (eights, rest) = words.as_chunks::<8>();
        for (words, marks) in eights.iter().zip(marks) {
            toss_eight(tossing, transmute!(*words), marks, !0);
        }
        if !rest.is_empty() {
            let mut last = [[0; 8]; 8];
            for (to, from) in last.iter_mut().zip(rest) {
                *to = *from;
            }
            let marks = marks.get(eights.len()).copied().unwrap_or(0);
            toss_eight(tossing, transmute!(last), marks, !(!0 << rest.len()));
            wipe(last.as_flattened_mut());
        }
    }
}

/// Tosses those of eight coins that are in `there`. `marks` has the last coins of levels.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt")]
fn toss_eight(tossing: &mut Tossing<'_>, words: __m512i, marks: u8, there: u8) {
    // `OfLevels` has room after the last level.
    let weights = tossing.weights_minus_one.get(tossing.level..);
    let Some(weights) = weights.and_then(|weights| weights.first_chunk::<8>()) else {
        return;
    };
    let heads = tossing.heads.get_mut(tossing.level..);
    let Some(heads) = heads.and_then(|heads| heads.first_chunk_mut::<8>()) else {
        return;
    };
    // The bits of the lanes before a lane, and of those up to it.
    let before: __m512i = transmute!([0u64, 1, 3, 7, 15, 31, 63, 127]);
    let up_to: __m512i = transmute!([1u64, 3, 7, 15, 31, 63, 127, 255]);
    let count = |bits: u8, lanes| {
        _mm512_popcnt_epi64(_mm512_and_si512(_mm512_set1_epi64(bits.into()), lanes))
    };
    let weights = _mm512_permutexvar_epi64(count(marks, before), transmute!(*weights));
    let shown = _mm512_mask_cmple_epu64_mask(there, words, weights);
    let so_far = _mm512_set1_epi64(tossing.heads_so_far.into());
    let so_far = _mm512_add_epi64(so_far, count(shown, up_to));
    // The heads up to the last coins of levels. Entries after them are overwritten when their
    // levels end.
    let ended = _mm512_maskz_compress_epi64(marks, so_far);
    *heads = transmute!(_mm512_cvtepi64_epi32(ended));
    tossing.level += marks.count_ones() as usize;
    tossing.heads_so_far += shown.count_ones();
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]) {
    let exponentials = |words: &[u64], count, out: &mut [f64]| {
        fill_exponentials_here(words, count, out);
    };
    gaussian::box_muller_by(words, radii, gaussians, exponentials, |numbers| {
        avx2::square_roots(numbers)
    });
}
