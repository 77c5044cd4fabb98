//! Kernels for aarch64, which always has NEON: only those that compilers do not vectorise from the
//! portable code.

use core::arch::aarch64::*;

use zerocopy::little_endian::{I16, I32, U16};
use zerocopy::transmute;

use super::inputs::{Length, Sums, Tossing};
use super::lookup::{
    self, FEW_KEYS, Table, add_row, eight_weights, expansion, few_bits, last_weights, mask,
};
use super::portable::{self, smallest_product};
use super::runs::{Ends, FINISH, GRAM, PLACES, RUNS, STEP};
use crate::checked::chunk_size;
use crate::laplace::fixed::FixedPoint;
use crate::pack::format::BOUNDARIES;

as_portable! { "neon",
    fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]);
    fn add_fixed(fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]);
}

#[target_feature(enable = "neon")]
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
    // The sums of few candidates stay in registers.
    if bytes <= 4
        && let Some(sums) = sums.first_chunk_mut::<32>()
    {
        let zero = vdupq_n_s16(0);
        let mut more = (zero, zero, zero, zero);
        let add = |bitmap: &[u8], weights: &[i8], times: u8| {
            let used = few_bits(bitmap, bytes);
            let (a, b, c, d) = expand(used, weights);
            let times = i16::from(times);
            more.0 = vmlaq_n_s16(more.0, vmovl_s8(a), times);
            more.1 = vmlaq_n_s16(more.1, vmovl_s8(b), times);
            more.2 = vmlaq_n_s16(more.2, vmovl_s8(c), times);
            more.3 = vmlaq_n_s16(more.3, vmovl_s8(d), times);
        };
        let found = table.each_known(hashes, times, most, position, bits, add);
        let words = [more.0, more.1, more.2, more.3];
        for (sums, words) in sums.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            let [low, high]: [int32x4_t; 2] = transmute!(*sums);
            let low = vaddw_s16(low, vget_low_s16(words));
            *sums = transmute!([low, vaddw_high_s16(high, words)]);
        }
        return found;
    }
    let add = |bitmap: &[u8], weights: &[i8], times| add_row(bitmap, bytes, weights, times, sums);
    table.each_known(hashes, times, most, position, bits, add)
}

#[target_feature(enable = "neon")]
pub(super) fn hash_runs(ends: &Ends, least: u8, most: u8, hashes: &mut [u32; RUNS]) -> usize {
    // As in `short_products`.
    type Runs = (uint32x4_t, uint32x4_t, uint32x4_t, uint32x4_t);
    let longer = |(a, b, c, d): Runs, characters: &[u32; PLACES]| {
        let [e, f, g, h]: [uint32x4_t; 4] = transmute!(*characters);
        let step = |run, character| {
            let turned = vsriq_n_u32::<27>(vshlq_n_u32::<5>(run), run);
            vmulq_n_u32(veorq_u32(turned, character), STEP)
        };
        (step(a, e), step(b, f), step(c, g), step(d, h))
    };
    let finished = |(a, b, c, d): Runs| {
        let finish = |hash| {
            let hash = vmulq_n_u32(veorq_u32(hash, vshrq_n_u32::<16>(hash)), FINISH.0);
            let hash = vmulq_n_u32(veorq_u32(hash, vshrq_n_u32::<13>(hash)), FINISH.1);
            veorq_u32(hash, vshrq_n_u32::<16>(hash))
        };
        transmute!([finish(a), finish(b), finish(c), finish(d)])
    };
    let start = vdupq_n_u32(GRAM);
    let start: Runs = (start, start, start, start);
    portable::hash_runs_by(start, longer, finished, ends, least, most, hashes)
}

/// The index of the key among the keys, or any larger number.
#[inline]
#[target_feature(enable = "neon")]
fn position(keys: &[U16; FEW_KEYS], key: u16) -> u32 {
    let [a, b, c, d]: [uint16x8_t; 4] = transmute!(*keys);
    let key = vdupq_n_u16(key);
    let narrow = |a, b| vmovn_high_u16(vmovn_u16(vceqq_u16(a, key)), vceqq_u16(b, key));
    // Four bits of each, in order.
    let nibbles = |equal| {
        let nibbles = vshrn_n_u16::<4>(vreinterpretq_u16_u8(equal));
        vget_lane_u64::<0>(vreinterpret_u64_u8(nibbles))
    };
    let (low, high) = (nibbles(narrow(a, b)), nibbles(narrow(c, d)));
    let both = u128::from(high) << 64 | u128::from(low);
    both.trailing_zeros() / 4
}

/// As [`lookup::bits`].
#[inline]
#[target_feature(enable = "neon")]
fn bits(bytes: &[u8], count: usize) -> usize {
    let (Some(mask), Some(bytes)) = (mask(count), bytes.first_chunk::<64>()) else {
        return lookup::bits(bytes, count);
    };
    // Counts the same number of bytes for every row: the length of a loop is unpredictable.
    let [a, b, c, d]: [uint8x16_t; 4] = transmute!(*bytes);
    let [e, f, g, h]: [uint8x16_t; 4] = transmute!(*mask);
    let first = vaddq_u8(vcntq_u8(vandq_u8(a, e)), vcntq_u8(vandq_u8(b, f)));
    let last = vaddq_u8(vcntq_u8(vandq_u8(c, g)), vcntq_u8(vandq_u8(d, h)));
    vaddlvq_u8(vaddq_u8(first, last)).into()
}

/// The weights of 32 candidates, of those that are set in `used`.
#[inline]
#[target_feature(enable = "neon")]
fn expand(used: u32, weights: &[i8]) -> (int8x8_t, int8x8_t, int8x8_t, int8x8_t) {
    let last;
    let weights = match weights.first_chunk::<32>() {
        Some(few) => few,
        None => {
            last = last_weights(weights);
            &last
        }
    };
    let eight = |byte: u8, start: u8| -> int8x8_t {
        let weights = eight_weights(weights, start.into());
        vtbl1_s8(transmute!(weights), transmute!(expansion(byte)))
    };
    let counts: [u8; 8] = transmute!(vcnt_u8(transmute!(u64::from(used))));
    let [first, second, third, ..] = counts;
    let [a, b, c, d] = used.to_le_bytes();
    let (third, second) = (first + second + third, first + second);
    (
        eight(a, 0),
        eight(b, first),
        eight(c, second),
        eight(d, third),
    )
}

#[target_feature(enable = "neon")]
pub(super) fn to_fixed(coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
    let ((fixed, fixed_rest), (chunks, rest)) = portable::in_step::<8, _, _>(fixed, coordinates);
    for (fixed, chunk) in fixed.iter_mut().zip(chunks) {
        let [low, high]: [float32x4_t; 2] = transmute!(*chunk);
        let low = vmovn_s32(round(low, scale));
        *fixed = transmute!(vmovn_high_s32(low, round(high, scale)));
    }
    portable::to_fixed(rest, scale, fixed_rest);
}

/// The nearest integers to `x · scale`, ties to even, within ±32767, 0 where x is not finite.
#[target_feature(enable = "neon")]
fn round(x: float32x4_t, scale: f32) -> int32x4_t {
    let exponent = vdupq_n_u32(0x7f80_0000);
    let bits = vreinterpretq_u32_f32(x);
    let special = vceqq_u32(vandq_u32(bits, exponent), exponent);
    // Numbers that round to 0 are set to 0 first, because subnormal numbers take longer on some
    // processors.
    let magnitude = vandq_u32(bits, vdupq_n_u32(0x7fff_ffff));
    let quarter = vdupq_n_u32(smallest_product(scale) as u32);
    let special = vorrq_u32(special, vcltq_u32(magnitude, quarter));
    let finite = vreinterpretq_f32_u32(vbicq_u32(bits, special));
    let nearest = vcvtnq_s32_f32(vmulq_n_f32(finite, scale));
    vmaxq_s32(
        vminq_s32(nearest, vdupq_n_s32(32_767)),
        vdupq_n_s32(-32_767),
    )
}

#[target_feature(enable = "neon")]
pub(super) fn add_short_products(
    matrix: &[I16],
    width: usize,
    start: usize,
    sentences: &[&[i16]],
    sums: &mut [i64],
    room: usize,
) {
    let products = |four: [&[I16]; 4], [x, y]: [&[i16]; 2], two: bool| {
        if two {
            [short_products(four, x), short_products(four, y)]
        } else {
            [short_products(four, x), [0; 4]]
        }
    };
    portable::in_fours::<16>(matrix, width, start, sentences, sums, room, products);
}

/// The products of four rows with the whole chunks of one sentence. No lane overflows: each has one
/// of sixteen coordinates.
#[target_feature(enable = "neon")]
fn short_products([a, b, c, d]: [&[I16]; 4], x: &[i16]) -> [i64; 4] {
    // Not loops over arrays, which stay in memory when optimised for size.
    type Sums = (int32x4_t, int32x4_t, int32x4_t, int32x4_t);
    let (a, b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
    let (c, d) = (c.as_chunks::<16>().0, d.as_chunks::<16>().0);
    let zero = vdupq_n_s32(0);
    let mut first: Sums = (zero, zero, zero, zero);
    let (mut second, mut third, mut fourth) = (first, first, first);
    for ((((a, b), c), d), x) in a.iter().zip(b).zip(c).zip(d).zip(x.as_chunks::<16>().0) {
        let [x, y]: [int16x8_t; 2] = transmute!(*x);
        macro_rules! add {
            ($sums:expr, $row:expr) => {
                let [v, w]: [int16x8_t; 2] = transmute!(*$row);
                $sums.0 = vmlal_s16($sums.0, vget_low_s16(v), vget_low_s16(x));
                $sums.1 = vmlal_high_s16($sums.1, v, x);
                $sums.2 = vmlal_s16($sums.2, vget_low_s16(w), vget_low_s16(y));
                $sums.3 = vmlal_high_s16($sums.3, w, y);
            };
        }
        add!(first, a);
        add!(second, b);
        add!(third, c);
        add!(fourth, d);
    }
    let sum = |(a, b, c, d): Sums| {
        let sum = vpadalq_s32(vpaddlq_s32(a), b);
        vaddvq_s64(vpadalq_s32(vpadalq_s32(sum, c), d))
    };
    [sum(first), sum(second), sum(third), sum(fourth)]
}

/// `tbl` looks up 64 entries and gives 0 beyond them, `tbx` leaves what is there.
#[target_feature(enable = "neon")]
pub(super) fn lower(depths: &mut [u8], codes: &[u8], at_least: &[u8; 256], sentences: u8) {
    // By lanes: optimised for size, the portable table takes longer than the look-ups.
    let sentences = vdupq_n_u8(sentences);
    let depth = |above: uint8x16_t| vminq_u8(above, vqsubq_u8(sentences, above));
    let depths_of = |uint8x16x4_t(a, b, c, d): uint8x16x4_t| {
        uint8x16x4_t(depth(a), depth(b), depth(c), depth(d))
    };
    let [first, second, third, fourth]: [uint8x16x4_t; 4] = transmute!(*at_least);
    let (first, second) = (depths_of(first), depths_of(second));
    let (third, fourth) = (depths_of(third), depths_of(fourth));
    let sixty_four = vdupq_n_u8(64);
    let look_up = |depths: &mut [u8; 16], codes: &[u8; 16]| {
        // Not a loop over an array, which stays in memory when optimised for size.
        let index: uint8x16_t = transmute!(*codes);
        let found = vqtbl4q_u8(first, index);
        let index = vsubq_u8(index, sixty_four);
        let found = vqtbx4q_u8(found, second, index);
        let index = vsubq_u8(index, sixty_four);
        let found = vqtbx4q_u8(found, third, index);
        let index = vsubq_u8(index, sixty_four);
        let found = vqtbx4q_u8(found, fourth, index);
        *depths = transmute!(vminq_u8(transmute!(*depths), found));
    };
    portable::in_chunks(depths, codes, look_up);
}

#[target_feature(enable = "neon")]
pub(super) fn products(matrix: &[i8], x: &[i16], products: &mut [i64]) {
    let rows = matrix.chunks_exact(chunk_size(x.len()));
    let (x, x_rest) = x.as_chunks::<8>();
    for (product, row) in products.iter_mut().zip(rows) {
        let (row, rest) = row.as_chunks::<8>();
        // |products| < 2^22, and 2^8 of them a lane: no overflow.
        let mut total = vdupq_n_s32(0);
        for (w, x) in row.iter().zip(x) {
            let w: int16x8_t = vmovl_s8(transmute!(*w));
            let x: int16x8_t = transmute!(*x);
            total = vmlal_s16(total, vget_low_s16(w), vget_low_s16(x));
            total = vmlal_high_s16(total, w, x);
        }
        *product = vaddlvq_s32(total) + portable::dot_bytes(rest, x_rest);
    }
}

// Optimised for size, compilers do not vectorise the next three.

#[target_feature(enable = "neon")]
pub(super) fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
    let input = vdupq_n_s32(input);
    let one = vdupq_n_u32(1);
    let mut reached = vdupq_n_u32(0);
    for chunk in boundaries.as_chunks::<4>().0 {
        // All ones, which is less one.
        reached = vsubq_u32(reached, vcleq_s32(transmute!(*chunk), input));
    }
    // The last three, after one that has been counted.
    const { assert!(BOUNDARIES % 4 == 3) };
    if let Some(last) = boundaries.last_chunk::<4>() {
        let here = vandq_u32(vcleq_s32(transmute!(*last), input), one);
        reached = vaddq_u32(reached, vsetq_lane_u32::<0>(0, here));
    }
    vaddvq_u32(reached) as u8
}

#[target_feature(enable = "neon")]
pub(super) fn count(
    sums: &Sums<'_>,
    shift: u32,
    boundaries: &[[I32; BOUNDARIES]],
    rows: &mut [[u8; 256]],
) {
    let reached = |boundaries: &_, input| reached(boundaries, input);
    let count_up_to = |counts: &mut _, code| count_up_to(counts, code);
    portable::count_by(reached, count_up_to, sums, shift, boundaries, rows);
}

/// As [`portable::count_up_to`].
#[target_feature(enable = "neon")]
fn count_up_to(counts: &mut [u8; 256], code: u8) {
    let code = vdupq_n_u8(code);
    let one = vdupq_n_u8(1);
    let (counts, _) = counts.as_chunks_mut::<16>();
    for (counts, here) in counts.iter_mut().zip(portable::CODES.as_chunks::<16>().0) {
        let more = vandq_u8(vcleq_u8(transmute!(*here), code), one);
        *counts = transmute!(vqaddq_u8(transmute!(*counts), more));
    }
}

#[target_feature(enable = "neon")]
pub(super) fn add_weighted(weight: u16, vector: &[i8], sums: &mut [i64]) {
    let ((sums, rest_sums), (vector, rest)) = portable::in_step::<8, _, _>(sums, vector);
    let weight_32 = i32::from(weight);
    for (sums, vector) in sums.iter_mut().zip(vector) {
        let eight = vmovl_s8(transmute!(*vector));
        let low = vmulq_n_s32(vmovl_s16(vget_low_s16(eight)), weight_32);
        let high = vmulq_n_s32(vmovl_high_s16(eight), weight_32);
        let [a, b, c, d]: [int64x2_t; 4] = transmute!(*sums);
        let (a, b) = (vaddw_s32(a, vget_low_s32(low)), vaddw_high_s32(b, low));
        let (c, d) = (vaddw_s32(c, vget_low_s32(high)), vaddw_high_s32(d, high));
        *sums = transmute!([a, b, c, d]);
    }
    portable::add_weighted(weight, rest, rest_sums);
}

#[target_feature(enable = "neon")]
pub(super) fn add_scores(sums: &mut [u16], outputs: &[i64], thresholds: &[I32], norm: i64) {
    let ((sums, rest), (outputs, rest_outputs)) = portable::in_step::<8, _, _>(sums, outputs);
    let all = vdupq_n_s16(thresholds.len() as i16);
    for (sums, outputs) in sums.iter_mut().zip(outputs) {
        let [a, b, c, d]: [int64x2_t; 4] = transmute!(*outputs);
        // Less one for each threshold that is beyond the output.
        let zero = vdupq_n_s64(0);
        let mut beyond = (zero, zero, zero, zero);
        for threshold in thresholds {
            // As in the portable one.
            let least = vdupq_n_s64(i64::from(threshold.get()).wrapping_mul(norm));
            macro_rules! add {
                ($lane:tt, $outputs:ident) => {
                    let here = vreinterpretq_s64_u64(vcgtq_s64(least, $outputs));
                    beyond.$lane = vaddq_s64(beyond.$lane, here);
                };
            }
            add!(0, a);
            add!(1, b);
            add!(2, c);
            add!(3, d);
        }
        let low = vmovn_high_s64(vmovn_s64(beyond.0), beyond.1);
        let high = vmovn_high_s64(vmovn_s64(beyond.2), beyond.3);
        let more = vaddq_s16(all, vmovn_high_s32(vmovn_s32(low), high));
        *sums = transmute!(vaddq_s16(transmute!(*sums), more));
    }
    portable::add_scores(rest, rest_outputs, thresholds, norm);
}

#[target_feature(enable = "neon")]
pub(super) fn count_equal(levels: &[u8], level: u8) -> u32 {
    let (chunks, rest) = levels.as_chunks::<16>();
    let wanted = vdupq_n_u8(level);
    let mut total = portable::count_equal(rest, level);
    // The most that a byte can count.
    for chunks in chunks.chunks(255) {
        let mut counts = vdupq_n_u8(0);
        for chunk in chunks {
            counts = vsubq_u8(counts, vceqq_u8(transmute!(*chunk), wanted));
        }
        total += u32::from(vaddlvq_u8(counts));
    }
    total
}
