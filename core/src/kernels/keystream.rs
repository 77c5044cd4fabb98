//! ChaCha12 for a release that needs many words: a block in each lane of a vector, where the
//! generator of `chacha20` makes four blocks at a time. The stream is that of `ChaCha12Rng`, to the
//! bit.

use core::arch::x86_64::*;

use chacha20::ChaCha12Rng;
use rand_core::{SeedableRng, TryRng};
use zerocopy::{IntoBytes, transmute};
use zeroize::Zeroize;

/// Words made at a time: sixteen blocks.
pub(crate) const BATCH: usize = 256;

/// The first words of every block.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The reference: the generator of `chacha20`.
pub(super) fn portable(key: &[u32; 8], number: u64, out: &mut [u32; BATCH]) {
    let mut seed: [u8; 32] = transmute!(*key);
    let mut words = ChaCha12Rng::from_seed(seed);
    words.set_word_pos(u128::from(number) * BATCH as u128);
    let Ok(()) = words.try_fill_bytes(out.as_mut_bytes());
    seed.zeroize();
}

/// Writes blocks of sixteen words, one for each lane of a vector. The number of the first block is
/// `$first`, a multiple of the number of lanes.
macro_rules! write_blocks {
    (
        $key:ident, $first:expr, $out:ident, $set1:expr, $lanes:expr, $by_block:expr,
        $rotate:ident $add:ident $xor:ident $low_32:ident $high_32:ident $low_64:ident $high_64:ident
    ) => {
        let first: u64 = $first;
        let [c0, c1, c2, c3] = CONSTANTS.map($set1);
        let [k0, k1, k2, k3, k4, k5, k6, k7] = $key.map($set1);
        let low = $add($set1(first as u32), $lanes);
        let (high, zero) = ($set1((first >> 32) as u32), $set1(0));
        let state = [
            c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, low, high, zero, zero,
        ];
        let mut x = state;
        macro_rules! quarter {
            ($a:literal, $b:literal, $c:literal, $d:literal) => {
                x[$a] = $add(x[$a], x[$b]);
                x[$d] = $rotate::<16, 16>($xor(x[$d], x[$a]));
                x[$c] = $add(x[$c], x[$d]);
                x[$b] = $rotate::<12, 20>($xor(x[$b], x[$c]));
                x[$a] = $add(x[$a], x[$b]);
                x[$d] = $rotate::<8, 24>($xor(x[$d], x[$a]));
                x[$c] = $add(x[$c], x[$d]);
                x[$b] = $rotate::<7, 25>($xor(x[$b], x[$c]));
            };
        }
        for _ in 0..6 {
            quarter!(0, 4, 8, 12);
            quarter!(1, 5, 9, 13);
            quarter!(2, 6, 10, 14);
            quarter!(3, 7, 11, 15);
            quarter!(0, 5, 10, 15);
            quarter!(1, 6, 11, 12);
            quarter!(2, 7, 8, 13);
            quarter!(3, 4, 9, 14);
        }
        for (x, before) in x.iter_mut().zip(state) {
            *x = $add(*x, before);
        }
        // A vector has one word of each block. This gives vectors that have four words of a block
        // in each 128 bits, of every fourth block.
        macro_rules! four {
            ($a:literal, $b:literal, $c:literal, $d:literal) => {{
                let (ab, cd) = ($low_32(x[$a], x[$b]), $low_32(x[$c], x[$d]));
                let (more_ab, more_cd) = ($high_32(x[$a], x[$b]), $high_32(x[$c], x[$d]));
                [
                    $low_64(ab, cd),
                    $high_64(ab, cd),
                    $low_64(more_ab, more_cd),
                    $high_64(more_ab, more_cd),
                ]
            }};
        }
        let words = four!(0, 1, 2, 3)
            .into_iter()
            .zip(four!(4, 5, 6, 7))
            .zip(four!(8, 9, 10, 11))
            .zip(four!(12, 13, 14, 15));
        for (start, (((a, b), c), d)) in words.enumerate() {
            let blocks = $out.as_chunks_mut::<16>().0.iter_mut();
            let blocks = blocks.skip(start).step_by(4);
            for (block, words) in blocks.zip($by_block(a, b, c, d)) {
                *block = transmute!(words);
            }
        }
    };
}

#[target_feature(enable = "avx2")]
pub(super) fn avx2(key: &[u32; 8], number: u64, out: &mut [u32; BATCH]) {
    let blocks = number.wrapping_mul(16);
    let (halves, _) = out.as_chunks_mut::<{ BATCH / 2 }>();
    for (half, first) in halves.iter_mut().zip([0, 8]) {
        eight_blocks(key, blocks.wrapping_add(first), half);
    }
}

#[target_feature(enable = "avx2")]
fn eight_blocks(key: &[u32; 8], first: u64, out: &mut [u32; BATCH / 2]) {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn rotate<const LEFT: i32, const RIGHT: i32>(x: __m256i) -> __m256i {
        // The bytes of the words of 128 bits, rotated by two bytes and by one.
        let two = [2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13u8];
        let one = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14u8];
        match LEFT {
            16 => _mm256_shuffle_epi8(x, transmute!([two; 2])),
            8 => _mm256_shuffle_epi8(x, transmute!([one; 2])),
            _ => _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x)),
        }
    }
    let set1 = |word: u32| _mm256_set1_epi32(word.cast_signed());
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let low = |a, b| _mm256_permute2x128_si256::<0x20>(a, b);
    let high = |a, b| _mm256_permute2x128_si256::<0x31>(a, b);
    let by_block = |a, b, c, d| [[low(a, b), low(c, d)], [high(a, b), high(c, d)]];
    write_blocks!(
        key, first, out, set1, lanes, by_block,
        rotate _mm256_add_epi32 _mm256_xor_si256 _mm256_unpacklo_epi32 _mm256_unpackhi_epi32
        _mm256_unpacklo_epi64 _mm256_unpackhi_epi64
    );
}

#[target_feature(enable = "avx512f")]
pub(super) fn avx512(key: &[u32; 8], number: u64, out: &mut [u32; BATCH]) {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn rotate<const LEFT: i32, const RIGHT: i32>(x: __m512i) -> __m512i {
        _mm512_rol_epi32::<LEFT>(x)
    }
    let set1 = |word: u32| _mm512_set1_epi32(word.cast_signed());
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let even = |x, y| _mm512_shuffle_i32x4::<0b10_00_10_00>(x, y);
    let odd = |x, y| _mm512_shuffle_i32x4::<0b11_01_11_01>(x, y);
    let by_block = |a, b, c, d| {
        let low = |x, y| _mm512_shuffle_i32x4::<0b01_00_01_00>(x, y);
        let high = |x, y| _mm512_shuffle_i32x4::<0b11_10_11_10>(x, y);
        let (low_ab, low_cd) = (low(a, b), low(c, d));
        let (high_ab, high_cd) = (high(a, b), high(c, d));
        [
            even(low_ab, low_cd),
            odd(low_ab, low_cd),
            even(high_ab, high_cd),
            odd(high_ab, high_cd),
        ]
    };
    write_blocks!(
        key, number.wrapping_mul(16), out, set1, lanes, by_block,
        rotate _mm512_add_epi32 _mm512_xor_si512 _mm512_unpacklo_epi32 _mm512_unpackhi_epi32
        _mm512_unpacklo_epi64 _mm512_unpackhi_epi64
    );
}
