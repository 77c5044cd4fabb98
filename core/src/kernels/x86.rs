//! Kernels for x86-64: AVX2, and AVX-512 with VBMI, VBMI2, VNNI, GFNI, BITALG and VPOPCNTDQ.

use core::arch::asm;
use core::arch::x86_64::*;
use core::sync::atomic::{AtomicU8, Ordering};
use core::{array, cmp, iter};

use zerocopy::little_endian::{I16, I32, U16};
use zerocopy::transmute;

use super::inputs::{Length, MOST, Sums, Tossing};
use super::limits::WIDTH;
use super::lookup::{self, EXPANSIONS, FEW_KEYS, Table, few_bits, last_weights, mask, word};
use super::portable::{self, smallest_product};
use super::runs::{Ends, FINISH, GRAM, PLACES, RUNS, STEP};
use crate::barrier::wipe;
use crate::checked::{chunk_size, part_mut};
use crate::fixed::bucket_input;
use crate::laplace::fixed::FixedPoint;
use crate::laplace::gaussian::{self, fill_exponentials_here};
use crate::pack::format::BOUNDARIES;

cpufeatures::new!(cpu_avx2, "avx2", "bmi1", "bmi2", "popcnt");
cpufeatures::new!(
    cpu_vbmi,
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vbmi",
    "bmi1",
    "bmi2",
    "popcnt"
);

pub(super) fn has_avx2() -> bool {
    cpu_avx2::get()
}

/// VBMI2, GFNI, VNNI, BITALG and VPOPCNTDQ are none of the features that the crate knows, so their
/// bits are read here, once: in virtual machines asking takes microseconds.
pub(super) fn has_avx512() -> bool {
    const UNKNOWN: u8 = 2;
    const BITS: u32 = 1 << 6 | 1 << 8 | 1 << 11 | 1 << 12 | 1 << 14;
    static BOTH: AtomicU8 = AtomicU8::new(UNKNOWN);
    if !cpu_vbmi::get() {
        return false;
    }
    let mut found = BOTH.load(Ordering::Relaxed);
    if found == UNKNOWN {
        // The leaf exists: VBMI is in it, too.
        found = u8::from(__cpuid_count(7, 0).ecx & BITS == BITS);
        BOTH.store(found, Ordering::Relaxed);
    }
    found == 1
}

/// As [`lookup::bits`].
#[inline]
#[target_feature(enable = "popcnt")]
fn bits(bytes: &[u8], count: usize) -> usize {
    let (Some(mask), Some(eight)) = (mask(count), bytes.first_chunk::<64>()) else {
        return lookup::bits(bytes, count);
    };
    // As many words are counted for every row of a table: how often a loop runs could not be
    // foreseen.
    let words = eight.as_chunks().0.iter().zip(mask.as_chunks().0);
    let bits = words
        .map(|(word, mask)| (u64::from_ne_bytes(*word) & u64::from_ne_bytes(*mask)).count_ones());
    bits.sum::<u32>() as usize
}

pub(super) mod avx2 {
    use super::*;

    as_portable! { "avx2", pub(in super::super), }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(in super::super) fn add_features(
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
            let equal =
                _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(equal.0, equal.1));
            _mm256_movemask_epi8(equal).trailing_zeros()
        };
        let bits = |bytes: &[u8], count: usize| bits(bytes, count);
        // Of few candidates the sums stay in registers: a row would wait for the one before to be
        // stored.
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
                    let expanded = _mm256_cvtepi8_epi32(expand(*used, first_weights(weights)));
                    let more = _mm256_mullo_epi32(expanded, times);
                    *sums = transmute!(_mm256_add_epi32(transmute!(*sums), more));
                    let rest = weights.get(used.count_ones() as usize..);
                    weights = rest.unwrap_or_default();
                }
            },
        )
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn hash_runs(
        ends: &Ends,
        least: u8,
        most: u8,
        hashes: &mut [u32; RUNS],
    ) -> usize {
        // As in `short_products`.
        type Runs = (__m256i, __m256i);
        let spread = |hash, by: u32| _mm256_mullo_epi32(hash, _mm256_set1_epi32(by.cast_signed()));
        let longer = |(a, b): Runs, characters: &[u32; PLACES]| {
            let [c, d]: [__m256i; 2] = transmute!(*characters);
            let step = |run, character| {
                let turned =
                    _mm256_or_si256(_mm256_slli_epi32::<5>(run), _mm256_srli_epi32::<27>(run));
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

    /// The weights of 32 candidates, of those that are set in `used`: 255 times 128 fits 16 bits.
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
        let eight = |byte: u8, start: u32| {
            let weights = weights.get(start as usize..).and_then(<[i8]>::first_chunk);
            expand(byte, weights.copied().unwrap_or_default())
        };
        let first = a.count_ones();
        let second = first + b.count_ones();
        let third = second + c.count_ones();
        let low = _mm_unpacklo_epi64(eight(a, 0), eight(b, first));
        let high = _mm_unpacklo_epi64(eight(c, second), eight(d, third));
        (_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high))
    }

    /// The first weights, each in the byte of a bit that is set, and 0 in the others. A table,
    /// because `pdep` takes some processors hundreds of cycles.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn expand(used: u8, weights: [i8; 8]) -> __m128i {
        let weights = _mm_cvtsi64_si128(transmute!(weights));
        // There is one for each byte.
        let places = EXPANSIONS
            .get(usize::from(used))
            .copied()
            .unwrap_or_default();
        let places = _mm_cvtsi64_si128(transmute!(places));
        _mm_shuffle_epi8(weights, places)
    }

    /// Eight weights, or as many as there are.
    #[inline]
    fn first_weights(weights: &[i8]) -> [i8; 8] {
        weights.first_chunk().copied().unwrap_or_else(|| {
            let mut eight = [0; 8];
            for (to, from) in eight.iter_mut().zip(weights) {
                *to = *from;
            }
            eight
        })
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn to_fixed(coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
        let (chunks, rest) = coordinates.as_chunks::<16>();
        let (fixed_chunks, fixed_rest) = fixed
            .split_at_mut_checked(chunks.len() * 16)
            .unwrap_or_default();
        for (fixed, chunk) in fixed_chunks.as_chunks_mut::<16>().0.iter_mut().zip(chunks) {
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
        // As integers: compilers make of other tests a comparison of floats that valgrind 3.19 gets
        // wrong.
        let magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(i32::MAX));
        let special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7f_ffff));
        // What rounds to 0 is 0 from the start: for subnormal numbers some processors take longer.
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
    pub(in super::super) fn add_products(
        matrix: &[I16],
        width: usize,
        start: usize,
        sentences: &[&[i16]],
        sums: &mut [i64],
        room: usize,
    ) {
        let dot = |row: &[I16], x: &[i16]| dot(row, x);
        portable::add_products_by(dot, matrix, width, start, sentences, sums, room);
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn add_short_products(
        matrix: &[I16],
        width: usize,
        start: usize,
        sentences: &[&[i16]],
        sums: &mut [i64],
        room: usize,
    ) {
        let products = |four: [&[I16]; 4], [x, y]: [&[i16]; 2], two: bool| match two {
            true => short_products::<true>(four, [x, y]),
            false => short_products::<false>(four, [x, y]),
        };
        portable::in_fours::<16>(matrix, width, start, sentences, sums, room, products);
    }

    /// The products of four rows with the whole chunks of one sentence, or of two. No lane
    /// overflows.
    // A call: what the registers do not hold of one would be on the stack beside that of the other.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn short_products<const TWO: bool>(
        [a, b, c, d]: [&[I16]; 4],
        [x, y]: [&[i16]; 2],
    ) -> [[i64; 4]; 2] {
        // Not loops over arrays: optimised for size those stay in memory.
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
        let y = match TWO {
            true => sums_of_four(y_sums),
            false => zero,
        };
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

    /// A sum p of two products lies within ±2^31, so sums of p wrap around. But the sum of ⌊p /
    /// 2^16⌋ does not, and what it leaves of the sum, between 0 and 2^16 for each p, follows from
    /// the sum modulo 2^32.
    #[target_feature(enable = "avx2")]
    fn dot(weights: &[I16], x: &[i16]) -> i64 {
        let (chunks, rest) = weights.as_chunks::<16>();
        let (x_chunks, x_rest) = x.as_chunks::<16>();
        let mut wrapped = _mm256_setzero_si256();
        let mut high = _mm256_setzero_si256();
        for (w, x) in chunks.iter().zip(x_chunks) {
            let pairs = _mm256_madd_epi16(transmute!(*w), transmute!(*x));
            wrapped = _mm256_add_epi32(wrapped, pairs);
            high = _mm256_add_epi32(high, _mm256_srai_epi32::<16>(pairs));
        }
        let low = _mm256_sub_epi32(wrapped, _mm256_slli_epi32::<16>(high));
        // 2^6 chunks of 2^3 pairs: high is within ±2^24, low below 2^25.
        let sum = (i64::from(sum_of_lanes(high)) << 16) + i64::from(sum_of_lanes(low));
        sum + portable::dot(rest, x_rest)
    }

    #[target_feature(enable = "avx2")]
    fn sum_of_lanes(v: __m256i) -> i32 {
        let four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b11_10>(four));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b01>(two)))
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
        let [reached, ..] = four_reached::<1>(boundaries, [input; 4]);
        reached as u8
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn count(
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

    /// How many boundaries each of the first `N` of four inputs reaches; they share the loads.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn four_reached<const N: usize>(
        boundaries: &[I32; BOUNDARIES],
        [a, b, c, d]: [i32; 4],
    ) -> [i32; 4] {
        let (a, b) = (_mm256_set1_epi32(a), _mm256_set1_epi32(b));
        let (c, d) = (_mm256_set1_epi32(c), _mm256_set1_epi32(d));
        let zero = _mm256_setzero_si256();
        // Less one for each boundary that is beyond the input.
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
            // Less one for each code that is below.
            let mut more = _mm256_set1_epi8(4);
            more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, a));
            more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, b));
            more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, c));
            more = _mm256_add_epi8(more, _mm256_cmpgt_epi8(here, d));
            *counts = transmute!(_mm256_adds_epu8(transmute!(*counts), more));
        }
    }

    /// `vpshufb` looks up 16 entries, and gives 0 where the index is negative. Eight such tables,
    /// of the differences between one and the next, make 128 entries: the index falls by 16 from
    /// table to table, and once it is negative nothing is added any more. Codes from 128 on are
    /// negative from the start.
    ///
    /// The table is made here, because optimised for size the portable one takes longer than the
    /// look-ups.
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn lower(
        depths: &mut [u8],
        codes: &[u8],
        at_least: &[u8; 256],
        sentences: u8,
    ) {
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
        // Unused entries of the stack may keep what is left of the tables.
        wipe(&mut table);
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn add_weighted(weight: u16, vector: &[i8], sums: &mut [i64]) {
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
    pub(in super::super) fn add_scores(
        sums: &mut [u16],
        outputs: &[i64],
        thresholds: &[I32],
        norm: i64,
    ) {
        let ((sums, rest), (outputs, rest_outputs)) = portable::in_step::<8, _, _>(sums, outputs);
        let all = _mm_set1_epi16(thresholds.len() as i16);
        for (sums, outputs) in sums.iter_mut().zip(outputs) {
            let [a, b]: [__m256i; 2] = transmute!(*outputs);
            // Less one for each threshold that is beyond the output.
            let mut beyond = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for threshold in thresholds {
                // As in the portable one.
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
    pub(in super::super) fn count_equal(levels: &[u8], level: u8) -> u32 {
        let (chunks, rest) = levels.as_chunks::<32>();
        let wanted = _mm256_set1_epi8(level as i8);
        let mut total = _mm256_setzero_si256();
        // As many as a byte can count.
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
    pub(in super::super) fn products(matrix: &[i8], x: &[i16], products: &mut [i64]) {
        let width = chunk_size(x.len());
        let (fours, rest) = products.as_chunks_mut::<4>();
        let mut matrix = matrix;
        for products in fours {
            let (four, after) = matrix.split_at_checked(4 * width).unwrap_or_default();
            let (two, last_two) = four.split_at_checked(2 * width).unwrap_or_default();
            let (a, b) = two.split_at_checked(width).unwrap_or_default();
            let (c, d) = last_two.split_at_checked(width).unwrap_or_default();
            *products = four_dots_of_bytes([a, b, c, d], x);
            matrix = after;
        }
        for (product, row) in rest.iter_mut().zip(matrix.chunks_exact(width)) {
            *product = dot_bytes(row, x);
        }
    }

    /// As [`dot_bytes`], for each of four rows.
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
        // A lane has 2^7 products of at most 2^7 · 32,767: the sum of four lanes fits, that of all
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
    fn dot_bytes(weights: &[i8], x: &[i16]) -> i64 {
        let (chunks, rest) = weights.as_chunks::<16>();
        let (x_chunks, x_rest) = x.as_chunks::<16>();
        let mut sum = _mm256_setzero_si256();
        for (w, x) in chunks.iter().zip(x_chunks) {
            // |pairs| < 2^23, and 2^6 of them: no overflow.
            let pairs = _mm256_madd_epi16(_mm256_cvtepi8_epi16(transmute!(*w)), transmute!(*x));
            sum = _mm256_add_epi32(sum, pairs);
        }
        // |sum| < 2^29 in each of two lanes: their sum fits, that of all eight does not.
        let four = _mm_add_epi32(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        let two = _mm256_cvtepi32_epi64(four);
        let [a, b, c, d]: [i64; 4] = transmute!(two);
        a + b + c + d + portable::dot_bytes(rest, x_rest)
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]) {
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
    pub(in super::super) fn add_fixed(fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]) {
        let (fours, rest) = coordinates.as_chunks::<4>();
        let (sums, sums_rest) = sums
            .split_at_mut_checked(4 * fours.len())
            .unwrap_or_default();
        let one = _mm_set1_epi32(1);
        let byte = _mm_set1_epi32(0xff);
        let limit = _mm256_set1_epi64x(fixed.limit());
        for (sums, four) in sums.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
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
}

pub(super) mod avx512 {
    use super::*;

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt")]
    pub(in super::super) fn add_features(
        table: &Table<'_>,
        hashes: &[u32],
        times: Option<&[u8]>,
        most: u32,
        sums: &mut [i32],
    ) -> u32 {
        let bytes = table.row_bytes();
        let position = |keys: &[U16; FEW_KEYS], _, key| position(keys, key);
        let bits = |bytes: &[u8], count: usize| bits(bytes, count);
        // Of few candidates the sums stay in registers: a row would wait for the one before to be
        // stored.
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
                    left = left.get(used.count_ones() as usize..).unwrap_or_default();
                }
            },
        )
    }

    #[target_feature(enable = "avx512f,popcnt")]
    pub(in super::super) fn hash_runs(
        ends: &Ends,
        least: u8,
        most: u8,
        hashes: &mut [u32; RUNS],
    ) -> usize {
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

    /// As [`lookup::bits`], of less than 64 bytes in one stretch.
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

    /// As [`lookup::bits`]. A call, or [`bits`] would be one, before which sums in registers are
    /// stored.
    #[cold]
    #[inline(never)]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn seldom_bits(bytes: &[u8], count: usize) -> usize {
        super::bits(bytes, count)
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn position(keys: &[U16; FEW_KEYS], key: u16) -> u32 {
        let (keys, key) = (transmute!(*keys), _mm512_set1_epi16(key.cast_signed()));
        _mm512_cmpeq_epi16_mask(keys, key).trailing_zeros()
    }

    /// The weights of 32 candidates, of those that are set in `used`, as often as they occur: 255
    /// times 128 fits 16 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
    fn expand(used: u32, weights: &[i8], times: u8) -> __m512i {
        let few: __m256i = match weights.first_chunk::<32>() {
            Some(few) => transmute!(*few),
            None => transmute!(last_weights(weights)),
        };
        let all = _mm512_maskz_expand_epi16(used, _mm512_cvtepi8_epi16(few));
        _mm512_mullo_epi16(all, _mm512_set1_epi16(times.into()))
    }

    /// As with AVX2, sixteen at a time.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn to_fixed(coordinates: &[f32], scale: f32, fixed: &mut [i16]) {
        let (chunks, rest) = coordinates.as_chunks::<16>();
        let (fixed_chunks, fixed_rest) = fixed
            .split_at_mut_checked(chunks.len() * 16)
            .unwrap_or_default();
        let smallest = _mm512_set1_epi32(smallest_product(scale));
        let largest = _mm512_set1_epi32(0x7f7f_ffff);
        let scales = _mm512_set1_ps(scale);
        let (limit, lowest) = (_mm512_set1_ps(32_767.0), _mm512_set1_ps(-32_767.0));
        for (fixed, chunk) in fixed_chunks.as_chunks_mut::<16>().0.iter_mut().zip(chunks) {
            let x: __m512 = transmute!(*chunk);
            let magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MAX));
            let finite = _mm512_cmple_epi32_mask(magnitude, largest);
            let matters = _mm512_mask_cmpge_epi32_mask(finite, magnitude, smallest);
            let product = _mm512_maskz_mul_ps(matters, x, scales);
            let clamped = _mm512_max_ps(_mm512_min_ps(product, limit), lowest);
            let nearest = _mm512_cvt_roundps_epi32::<
                { _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC },
            >(clamped);
            *fixed = transmute!(_mm512_cvtepi32_epi16(nearest));
        }
        portable::to_fixed(rest, scale, fixed_rest);
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(in super::super) fn add_short_products(
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

    /// [`add_short_products`] for 32·`N` coordinates and room for 1, 4 or 8 sentences: of as many
    /// rows as give eight sums, or twice eight.
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
        match room {
            1 => {
                let [x] = all(sentences);
                let tiles = matrix.chunks(chunk_size(8 * width)).zip(sums.chunks_mut(8));
                for (rows, sums) in tiles {
                    let rows = tile_rows::<8, N>(rows, width, start);
                    add_eight(sums, one_sentence(rows, x, 8 * width), !0);
                }
            }
            4 => {
                let all = all(sentences);
                let tiles = matrix
                    .chunks(chunk_size(4 * width))
                    .zip(sums.chunks_mut(16));
                for (rows, sums) in tiles {
                    let rows = tile_rows::<4, N>(rows, width, start);
                    let products = four_sentences(rows, all, 4 * width);
                    for (sums, products) in sums.chunks_mut(8).zip(products) {
                        add_eight(sums, products, there << 4 | there);
                    }
                }
            }
            _ => {
                let all = all(sentences);
                let tiles = matrix
                    .chunks(chunk_size(2 * width))
                    .zip(sums.chunks_mut(16));
                for (rows, sums) in tiles {
                    let rows = tile_rows::<2, N>(rows, width, start);
                    let products = eight_sentences(rows, all, 2 * width);
                    for (sums, products) in sums.chunks_mut(8).zip(products) {
                        add_eight(sums, products, there);
                    }
                }
            }
        }
    }

    /// The sentences, `S` of them; the first one replaces missing ones.
    #[inline(always)]
    fn all<'a, const N: usize, const S: usize>(sentences: &[&'a [i16]]) -> [&'a [[i16; 32]; N]; S] {
        let chunks = |x: &'a [i16]| x.as_chunks().0.first_chunk().unwrap_or(&[[0; 32]; N]);
        let first = sentences.first().copied().unwrap_or_default();
        array::from_fn(|number| chunks(sentences.get(number).copied().unwrap_or(first)))
    }

    /// 32·`N` entries from `start` on of the first `R` rows. The first row replaces missing ones.
    #[inline(always)]
    fn tile_rows<const R: usize, const N: usize>(
        matrix: &[I16],
        width: usize,
        start: usize,
    ) -> [&[[I16; 32]; N]; R] {
        let rows = portable::rows_of::<R>(matrix, width, start, 32 * N);
        rows.map(|row| {
            row.as_chunks()
                .0
                .first_chunk()
                .unwrap_or(&[[I16::ZERO; 32]; N])
        })
    }

    /// Adds those that are in `there`.
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

    /// Multiplies rows with sentences, 32 coordinates at a time. Names, not loops over arrays:
    /// optimised for size those stay in memory. What is `ahead` entries further on is wanted next:
    /// packs are too large for the first level of the cache.
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

    /// The same for rows of bytes, and as long as all have coordinates. |pairs| < 2^23, and 2^5 of
    /// them: no overflow.
    macro_rules! products_of_bytes {
        ([$($row:ident)*], [$($x:ident)*], $($sum:ident = $a:ident * $b:ident)*) => {
            $(let mut $sum = _mm512_setzero_si512();)*
            let chunks = iter::repeat(());
            $(let chunks = chunks.zip($row.as_chunks::<32>().0);)*
            $(let chunks = chunks.zip($x.as_chunks::<32>().0);)*
            for products!(@pattern () $($row)* $($x)*) in chunks {
                $(let $row = _mm512_cvtepi8_epi16(transmute!(*$row));)*
                $(let $x: __m512i = transmute!(*$x);)*
                $($sum = add_pairs($sum, $a, $b);)*
            }
        };
    }

    /// Eight rows with one sentence.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn one_sentence<const N: usize>(
        [a, b, c, d, e, f, g, h]: [&[[I16; 32]; N]; 8],
        x: &[[i16; 32]; N],
        ahead: usize,
    ) -> __m512i {
        products!(ahead, [a b c d e f g h], [x],
            a0 = a * x b0 = b * x c0 = c * x d0 = d * x e0 = e * x f0 = f * x g0 = g * x h0 = h * x);
        sums_of_eight(a0, b0, c0, d0, e0, f0, g0, h0)
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
            sums_of_eight(aw, ax, ay, az, bw, bx, by, bz),
            sums_of_eight(cw, cx, cy, cz, dw, dx, dy, dz),
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
            a_s = a * s a_t = a * t a_u = a * u a_v = a * v a_w = a * w a_x = a * x a_y = a * y a_z = a * z
            b_s = b * s b_t = b * t b_u = b * u b_v = b * v b_w = b * w b_x = b * x b_y = b * y b_z = b * z);
        [
            sums_of_eight(a_s, a_t, a_u, a_v, a_w, a_x, a_y, a_z),
            sums_of_eight(b_s, b_t, b_u, b_v, b_w, b_x, b_y, b_z),
        ]
    }

    /// The sum of all lanes of each of eight vectors of products that fit 32 bits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    #[expect(clippy::too_many_arguments, reason = "eight")]
    fn sums_of_eight(
        a: __m512i,
        b: __m512i,
        c: __m512i,
        d: __m512i,
        e: __m512i,
        f: __m512i,
        g: __m512i,
        h: __m512i,
    ) -> __m512i {
        // The lanes of both halves together are one of AVX2, which fits: four of the first, four of
        // the second.
        let both = |x, y| {
            let low = _mm512_inserti64x4::<1>(x, _mm512_castsi512_si256(y));
            let high = _mm512_shuffle_i64x2::<0b11_10_11_10>(x, y);
            widened_sums(_mm512_add_epi32(low, high))
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

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(in super::super) fn add_products(
        matrix: &[I16],
        width: usize,
        start: usize,
        sentences: &[&[i16]],
        sums: &mut [i64],
        room: usize,
    ) {
        let products = |four: [&[I16]; 4], [x, y]: [&[i16]; 2], two: bool| match two {
            true => products_of::<true>(four, [x, y], 4 * width),
            false => products_of::<false>(four, [x, y], 4 * width),
        };
        portable::in_fours::<32>(matrix, width, start, sentences, sums, room, products);
    }

    /// The products of four rows with the whole chunks of one sentence, or of two. What is `ahead`
    /// entries further on is wanted next; packs are too large for the first level of the cache.
    ///
    /// A coordinate is 256·high + low, with a signed and an unsigned byte, so that sums of products
    /// of each with weights fit 32 bits.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn products_of<const TWO: bool>(
        [a, b, c, d]: [&[I16]; 4],
        [x, y]: [&[i16]; 2],
        ahead: usize,
    ) -> [[i64; 4]; 2] {
        // Not loops over arrays: optimised for size those stay in memory.
        macro_rules! add {
            ($sums:expr, $rows:expr, $x:expr) => {
                $sums.0 = add_pairs($sums.0, $rows.0, $x);
                $sums.1 = add_pairs($sums.1, $rows.1, $x);
                $sums.2 = add_pairs($sums.2, $rows.2, $x);
                $sums.3 = add_pairs($sums.3, $rows.3, $x);
            };
        }
        let (a, b) = (a.as_chunks::<32>().0, b.as_chunks::<32>().0);
        let (c, d) = (c.as_chunks::<32>().0, d.as_chunks::<32>().0);
        let (x, y) = (x.as_chunks::<32>().0, y.as_chunks::<32>().0);
        let zero = _mm512_setzero_si512();
        let byte = _mm512_set1_epi16(255);
        // |pairs| < 2^24, and 2^5 of them: no overflow.
        let mut x_sums = ((zero, zero, zero, zero), (zero, zero, zero, zero));
        let mut y_sums = x_sums;
        for (((((a, b), c), d), x), y) in a.iter().zip(b).zip(c).zip(d).zip(x).zip(y) {
            _mm_prefetch::<_MM_HINT_T0>(a.as_ptr().wrapping_add(ahead).cast());
            _mm_prefetch::<_MM_HINT_T0>(b.as_ptr().wrapping_add(ahead).cast());
            _mm_prefetch::<_MM_HINT_T0>(c.as_ptr().wrapping_add(ahead).cast());
            _mm_prefetch::<_MM_HINT_T0>(d.as_ptr().wrapping_add(ahead).cast());
            let rows: (__m512i, __m512i, __m512i, __m512i) = (
                transmute!(*a),
                transmute!(*b),
                transmute!(*c),
                transmute!(*d),
            );
            let x = transmute!(*x);
            add!(x_sums.0, rows, _mm512_srai_epi16::<8>(x));
            add!(x_sums.1, rows, _mm512_and_si512(x, byte));
            if TWO {
                let y = transmute!(*y);
                add!(y_sums.0, rows, _mm512_srai_epi16::<8>(y));
                add!(y_sums.1, rows, _mm512_and_si512(y, byte));
            }
        }
        let x_high = _mm256_slli_epi64::<8>(sums_of_four(x_sums.0));
        let x = _mm256_add_epi64(x_high, sums_of_four(x_sums.1));
        let y_high = _mm256_slli_epi64::<8>(sums_of_four(y_sums.0));
        let y = _mm256_add_epi64(y_high, sums_of_four(y_sums.1));
        [transmute!(x), transmute!(y)]
    }

    /// `_mm512_dpwssd_epi32`, of which LLVM makes a multiplication and an addition where it expects
    /// no other work meanwhile: half as much again for the two units that have all of it to do.
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

    /// The sum of each of four vectors. Four lanes of each are added in 32 bits: with 2^5 pairs in
    /// a lane that is 2^5·2^2·2·2^15·255 at most, below 2^31.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn sums_of_four((a, b, c, d): (__m512i, __m512i, __m512i, __m512i)) -> __m256i {
        // Transposed as they are added.
        let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        let abcd = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
        let [low, high]: [__m256i; 2] = transmute!(abcd);
        let both = _mm512_add_epi64(_mm512_cvtepi32_epi64(low), _mm512_cvtepi32_epi64(high));
        let [low, high]: [__m256i; 2] = transmute!(both);
        _mm256_add_epi64(low, high)
    }

    /// Eight sums of 64 bits of sixteen of 32.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn widened_sums(v: __m512i) -> __m512i {
        let even = _mm512_mul_epi32(v, _mm512_set1_epi64(1));
        _mm512_add_epi64(even, _mm512_srai_epi64::<32>(v))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn reached(boundaries: &[I32; BOUNDARIES], input: i32) -> u8 {
        let (chunks, _) = boundaries.as_chunks::<16>();
        let input = _mm512_set1_epi32(input);
        let one = _mm512_set1_epi32(1);
        let mut reached = _mm512_setzero_si512();
        for chunk in chunks {
            // For the direction after the next one.
            _mm_prefetch::<_MM_HINT_T0>(chunk.as_ptr().wrapping_add(2 * BOUNDARIES).cast());
            let here = _mm512_cmple_epi32_mask(transmute!(*chunk), input);
            reached = _mm512_mask_add_epi32(reached, here, reached, one);
        }
        // The last 15, after one that has been counted.
        const { assert!(BOUNDARIES % 16 == 15) };
        if let Some(last) = boundaries.last_chunk::<16>() {
            let here = _mm512_mask_cmple_epi32_mask(!1, transmute!(*last), input);
            reached = _mm512_mask_add_epi32(reached, here, reached, one);
        }
        _mm512_reduce_add_epi32(reached) as u8
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn count(
        sums: &Sums<'_>,
        shift: u32,
        boundaries: &[[I32; BOUNDARIES]],
        rows: &mut [[u8; 256]],
    ) {
        let reached = |boundaries: &_, input| reached(boundaries, input);
        portable::count_by(
            reached,
            portable::count_up_to,
            sums,
            shift,
            boundaries,
            rows,
        );
    }

    /// [`count`] for boundaries that ascend: a binary search, whose comparisons are the same for
    /// all inputs.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512bitalg,gfni")]
    pub(in super::super) fn count_ascending(
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

    /// How many boundaries, which ascend, the input in each lane reaches.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn eight_reached(boundaries: &[I32; BOUNDARIES], inputs: __m512i) -> __m512i {
        const { assert!(BOUNDARIES == 255) };
        let (chunks, _) = boundaries.as_chunks::<16>();
        let chunk = |number: usize| -> __m512i {
            let chunk = chunks.get(number).unwrap_or(&[I32::ZERO; 16]);
            transmute!(*chunk)
        };
        // The last fifteen, and any number.
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
        // Of three boundaries each time. So few comparisons wait for others.
        let one = |number: usize| {
            let boundary = boundaries.get(number).copied().unwrap_or_default();
            _mm512_set1_epi32(boundary.get())
        };
        let place = three(_mm512_setzero_si512(), one(63), one(127), one(191), 4);
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

    /// [`portable::count_up_to`] for each of the codes that are in `there`, in one pass over the
    /// counts.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
    fn count_up_to_eight(counts: &mut [u8; 256], codes: __m512i, there: u8) {
        /// The bytes of 64 bits, those of each eighth side by side.
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
            // Of each code a bit for every count that it raises: the lowest ones.
            let beyond = _mm512_sub_epi64(_mm512_set1_epi64(last), codes);
            let beyond = _mm512_max_epi64(beyond, _mm512_setzero_si512());
            let raised = _mm512_maskz_srlv_epi64(there, all, beyond);
            // Of each count a bit for every code.
            let raised = _mm512_permutexvar_epi8(transmute!(EIGHTHS), raised);
            let raised = _mm512_gf2p8affine_epi64_epi8::<0>(bits, raised);
            let more = _mm512_popcnt_epi8(raised);
            *counts = transmute!(_mm512_adds_epu8(transmute!(*counts), more));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(in super::super) fn lower(
        depths: &mut [u8],
        codes: &[u8],
        at_least: &[u8; 256],
        sentences: u8,
    ) {
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

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn count_equal(levels: &[u8], level: u8) -> u32 {
        let (chunks, rest) = levels.as_chunks::<64>();
        let wanted = _mm512_set1_epi8(level as i8);
        let minus_one = _mm512_set1_epi8(-1);
        let mut total = _mm512_setzero_si512();
        // As many as a byte can count.
        for chunks in chunks.chunks(255) {
            let mut counts = _mm512_setzero_si512();
            for chunk in chunks {
                let same = _mm512_cmpeq_epi8_mask(transmute!(*chunk), wanted);
                counts = _mm512_mask_sub_epi8(counts, same, counts, minus_one);
            }
            let sums = _mm512_sad_epu8(counts, _mm512_setzero_si512());
            total = _mm512_add_epi64(total, sums);
        }
        _mm512_reduce_add_epi64(total) as u32 + portable::count_equal(rest, level)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(in super::super) fn products(matrix: &[i8], x: &[i16], products: &mut [i64]) {
        let room = products.len();
        products_together(matrix, &[x], products, room);
    }

    /// The products of rows with up to four sentences at a time: eight sums.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(in super::super) fn products_together(
        matrix: &[i8],
        sentences: &[&[i16]],
        products: &mut [i64],
        room: usize,
    ) {
        let width = sentences.first().map_or(0, |x| cmp::min(x.len(), WIDTH));
        let there = matrix.len() / chunk_size(width);
        let tiles = sentences
            .chunks(4)
            .zip(products.chunks_mut(chunk_size(4 * room)));
        for (sentences, products) in tiles {
            let all: [&[i16]; 4] = array::from_fn(|number| {
                let x = sentences.get(number).or(sentences.first());
                x.and_then(|x| x.get(..width)).unwrap_or_default()
            });
            if let [x] = *sentences {
                let tiles = matrix.chunks(chunk_size(8 * width));
                let products = part_mut(products, ..cmp::min(there, room));
                for (rows, products) in tiles.zip(products.chunks_mut(8)) {
                    let rows: [&[i8]; 8] = byte_rows(rows, width);
                    set(products, rows, x, transmute!(bytes_with_one(rows, x)));
                }
                continue;
            }
            for (number, rows) in matrix.chunks(chunk_size(4 * width)).enumerate() {
                let rows: [&[i8]; 4] = byte_rows(rows, width);
                let four: [[i64; 4]; 4] = transmute!(bytes_with_four(rows, all));
                let each = products
                    .chunks_mut(chunk_size(room))
                    .zip(sentences)
                    .zip(four);
                for ((products, x), four) in each {
                    let products = products.get_mut(4 * number..cmp::min(there, room));
                    let products = products.unwrap_or_default();
                    set(products, rows, x, four);
                }
            }
        }
    }

    /// The first rows of a matrix; the first replaces missing ones.
    #[inline(always)]
    fn byte_rows<const R: usize>(matrix: &[i8], width: usize) -> [&[i8]; R] {
        let row = |number: usize| matrix.get(number * width..(number + 1) * width);
        let first = row(0).unwrap_or_default();
        array::from_fn(|number| row(number).unwrap_or(first))
    }

    /// Stores the products of rows with one sentence, of which the sums have all but the last
    /// coordinates.
    #[inline(always)]
    fn set<const R: usize>(products: &mut [i64], rows: [&[i8]; R], x: &[i16], sums: [i64; R]) {
        if let Some(products) = products.first_chunk_mut() {
            *products = sums;
        } else {
            for (product, sum) in products.iter_mut().zip(sums) {
                *product = sum;
            }
        }
        let (_, rest) = x.as_chunks::<32>();
        if !rest.is_empty() {
            for (product, row) in products.iter_mut().zip(rows) {
                *product += portable::dot_bytes(row.as_chunks::<32>().1, rest);
            }
        }
    }

    /// Eight rows with one sentence, 32 coordinates at a time.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn bytes_with_one([a, b, c, d, e, f, g, h]: [&[i8]; 8], x: &[i16]) -> __m512i {
        products_of_bytes!([a b c d e f g h], [x],
            a0 = a * x b0 = b * x c0 = c * x d0 = d * x e0 = e * x f0 = f * x g0 = g * x h0 = h * x);
        sums_of_eight(a0, b0, c0, d0, e0, f0, g0, h0)
    }

    /// Four rows with four sentences, 32 coordinates at a time: two sentences in a vector.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn bytes_with_four([a, b, c, d]: [&[i8]; 4], [w, x, y, z]: [&[i16]; 4]) -> [__m512i; 2] {
        products_of_bytes!([a b c d], [w x y z],
            aw = a * w bw = b * w cw = c * w dw = d * w ax = a * x bx = b * x cx = c * x dx = d * x
            ay = a * y by = b * y cy = c * y dy = d * y az = a * z bz = b * z cz = c * z dz = d * z);
        [
            sums_of_eight(aw, bw, cw, dw, ax, bx, cx, dx),
            sums_of_eight(ay, by, cy, dy, az, bz, cz, dz),
        ]
    }

    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn add_weighted(weight: u16, vector: &[i8], sums: &mut [i64]) {
        let ((sums, rest_sums), (vector, rest)) = portable::in_step::<8, _, _>(sums, vector);
        let weights = _mm512_set1_epi64(weight.into());
        for (sums, vector) in sums.iter_mut().zip(vector) {
            let eight = _mm512_cvtepi8_epi64(_mm_cvtsi64_si128(transmute!(*vector)));
            let more = _mm512_mul_epi32(eight, weights);
            *sums = transmute!(_mm512_add_epi64(transmute!(*sums), more));
        }
        portable::add_weighted(weight, rest, rest_sums);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn centre(coordinates: &mut [i16], centre: &[I16]) -> u64 {
        let ((chunks, rest), (centres, rest_centre)) =
            portable::in_step::<32, _, _>(coordinates, centre);
        let low = _mm512_set1_epi64(u32::MAX.into());
        let mut square = _mm512_setzero_si512();
        for (y, centre) in chunks.iter_mut().zip(centres) {
            let difference = _mm512_subs_epi16(transmute!(*y), transmute!(*centre));
            let difference = _mm512_max_epi16(difference, _mm512_set1_epi16(-i16::MAX));
            *y = transmute!(difference);
            // Of two, below 2^31.
            let squares = _mm512_madd_epi16(difference, difference);
            square = _mm512_add_epi64(square, _mm512_and_si512(squares, low));
            square = _mm512_add_epi64(square, _mm512_srli_epi64::<32>(squares));
        }
        let square = _mm512_reduce_add_epi64(square).cast_unsigned();
        square + portable::centre(rest, rest_centre)
    }

    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn add_bias(products: &mut [i64], bias: &[I32], norm: i64) {
        let ((products, rest), (bias, rest_bias)) = portable::in_step::<8, _, _>(products, bias);
        let norms = _mm512_set1_epi64(norm);
        for (product, bias) in products.iter_mut().zip(bias) {
            // Both have 32 bits.
            let bias = _mm512_mul_epi32(_mm512_cvtepi32_epi64(transmute!(*bias)), norms);
            let product_256 = _mm512_slli_epi64::<8>(transmute!(*product));
            *product = transmute!(_mm512_add_epi64(product_256, bias));
        }
        portable::add_bias(rest, rest_bias, norm);
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    pub(in super::super) fn add_values(
        values: &mut [i32],
        outputs: &[i64],
        length: &Length,
        known: i32,
    ) {
        let ((values, rest), (outputs, rest_outputs)) =
            portable::in_step::<8, _, _>(values, outputs);
        let most = _mm512_set1_epi64(MOST * length.norm);
        let least = _mm512_set1_epi64(-MOST * length.norm);
        let reciprocal = _mm512_set1_epi64(length.reciprocal);
        let knowns = _mm256_set1_epi32(known);
        for (value, output) in values.iter_mut().zip(outputs) {
            // As in the portable one.
            let z = _mm512_max_epi64(_mm512_min_epi64(transmute!(*output), most), least);
            let added = _mm512_srai_epi64::<40>(_mm512_mullo_epi64(z, reciprocal));
            let added = _mm256_and_si256(_mm512_cvtepi64_epi32(added), knowns);
            *value = transmute!(_mm256_add_epi32(transmute!(*value), added));
        }
        portable::add_values(rest, rest_outputs, length, known);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn add_scores(
        sums: &mut [u16],
        outputs: &[i64],
        thresholds: &[I32],
        norm: i64,
    ) {
        let ((sums, rest), (outputs, rest_outputs)) = portable::in_step::<32, _, _>(sums, outputs);
        let minus_one = _mm512_set1_epi64(-1);
        let norms = _mm512_set1_epi64(norm);
        for (sums, outputs) in sums.iter_mut().zip(outputs) {
            let [a, b, c, d]: [__m512i; 4] = transmute!(*outputs);
            let zero = _mm512_setzero_si512();
            let mut scores = (zero, zero, zero, zero);
            for threshold in thresholds {
                // Both have 32 bits.
                let threshold = _mm512_set1_epi64(threshold.get().into());
                let least = _mm512_mul_epi32(threshold, norms);
                macro_rules! add {
                    ($lane:tt, $outputs:ident) => {
                        let reached = _mm512_cmple_epi64_mask(least, $outputs);
                        scores.$lane =
                            _mm512_mask_sub_epi64(scores.$lane, reached, scores.$lane, minus_one);
                    };
                }
                add!(0, a);
                add!(1, b);
                add!(2, c);
                add!(3, d);
            }
            let [low, high]: [__m256i; 2] = transmute!(*sums);
            let narrow = |a, b| {
                let (a, b) = (_mm512_cvtepi64_epi16(a), _mm512_cvtepi64_epi16(b));
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b)
            };
            let low = _mm256_add_epi16(low, narrow(scores.0, scores.1));
            let high = _mm256_add_epi16(high, narrow(scores.2, scores.3));
            *sums = transmute!([low, high]);
        }
        portable::add_scores(rest, rest_outputs, thresholds, norm);
    }

    /// Eight coins at a time, whatever levels they have.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt")]
    pub(in super::super) fn toss(
        tossing: &mut Tossing<'_>,
        words: &[[u8; 8]],
        last_of_level: &[u32],
    ) {
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

    /// Tosses those of eight coins that are in `there`. `marks`: those that are the last of a
    /// level.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt")]
    fn toss_eight(tossing: &mut Tossing<'_>, words: __m512i, marks: u8, there: u8) {
        // There is room from the last level on.
        let weights = tossing.weights_minus_one.get(tossing.level..);
        let Some(weights) = weights.and_then(|weights| weights.first_chunk::<8>()) else {
            return;
        };
        let heads = tossing.heads.get_mut(tossing.level..);
        let Some(heads) = heads.and_then(|heads| heads.first_chunk_mut::<8>()) else {
            return;
        };
        // The bits of the lanes before a lane, and with its own.
        let before: __m512i = transmute!([0u64, 1, 3, 7, 15, 31, 63, 127]);
        let up_to: __m512i = transmute!([1u64, 3, 7, 15, 31, 63, 127, 255]);
        let count = |bits: u8, lanes| {
            _mm512_popcnt_epi64(_mm512_and_si512(_mm512_set1_epi64(bits.into()), lanes))
        };
        let weights = _mm512_permutexvar_epi64(count(marks, before), transmute!(*weights));
        let shown = _mm512_mask_cmple_epu64_mask(there, words, weights);
        let so_far = _mm512_set1_epi64(tossing.heads_so_far.into());
        let so_far = _mm512_add_epi64(so_far, count(shown, up_to));
        // Those of the last coins of levels. What follows them is written again when its levels
        // end.
        let ended = _mm512_maskz_compress_epi64(marks, so_far);
        *heads = transmute!(_mm512_cvtepi64_epi32(ended));
        tossing.level += marks.count_ones() as usize;
        tossing.heads_so_far += shown.count_ones();
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    pub(in super::super) fn box_muller(words: &[u64], radii: &mut [f64], gaussians: &mut [f64]) {
        let exponentials = |words: &[u64], count, out: &mut [f64]| {
            fill_exponentials_here(words, count, out);
        };
        gaussian::box_muller_by(words, radii, gaussians, exponentials, |numbers| {
            avx2::square_roots(numbers)
        });
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn add_fixed(fixed: FixedPoint, coordinates: &[f32], sums: &mut [i64]) {
        avx2::add_fixed(fixed, coordinates, sums);
    }

    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn round_products(factor: f64, gaussians: &[f64], products: &mut [i64]) {
        portable::round_products(factor, gaussians, products);
    }
}
