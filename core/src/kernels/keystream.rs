//! ChaCha12 for a release that needs many words: with AVX-512 a block in each lane of a vector,
//! where the generator of `chacha20` makes four blocks. The stream is that of `ChaCha12Rng`, to the
//! bit.

use core::arch::x86_64::*;

use chacha20::ChaCha12Rng;
use rand_core::{SeedableRng, TryRng};
use zerocopy::transmute;
use zeroize::Zeroize;

/// Bytes made at a time: sixteen blocks.
pub(crate) const BATCH: usize = 1024;

/// The first words of every block.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The reference: the generator of `chacha20`.
pub(super) fn portable(key: &[u32; 8], number: u64, out: &mut [u8; BATCH]) {
    let mut seed = [0; 32];
    for (bytes, word) in seed.as_chunks_mut().0.iter_mut().zip(key) {
        *bytes = word.to_le_bytes();
    }
    let mut words = ChaCha12Rng::from_seed(seed);
    words.set_word_pos(u128::from(number) * (BATCH / 4) as u128);
    let Ok(()) = words.try_fill_bytes(out);
    seed.zeroize();
}

#[target_feature(enable = "avx512f")]
pub(super) fn avx512(key: &[u32; 8], number: u64, out: &mut [u8; BATCH]) {
    let same = |word: u32| _mm512_set1_epi32(word.cast_signed());
    let [c0, c1, c2, c3] = CONSTANTS.map(same);
    let [k0, k1, k2, k3, k4, k5, k6, k7] = key.map(same);
    let first = number.wrapping_mul(16);
    // The number of the first block is a multiple of 16.
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let low = _mm512_or_si512(same(first as u32), lanes);
    let (high, zero) = (same((first >> 32) as u32), same(0));
    let state = [
        c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, low, high, zero, zero,
    ];
    let mut x = state;
    macro_rules! quarter {
        ($a:literal, $b:literal, $c:literal, $d:literal) => {
            x[$a] = _mm512_add_epi32(x[$a], x[$b]);
            x[$d] = _mm512_rol_epi32::<16>(_mm512_xor_si512(x[$d], x[$a]));
            x[$c] = _mm512_add_epi32(x[$c], x[$d]);
            x[$b] = _mm512_rol_epi32::<12>(_mm512_xor_si512(x[$b], x[$c]));
            x[$a] = _mm512_add_epi32(x[$a], x[$b]);
            x[$d] = _mm512_rol_epi32::<8>(_mm512_xor_si512(x[$d], x[$a]));
            x[$c] = _mm512_add_epi32(x[$c], x[$d]);
            x[$b] = _mm512_rol_epi32::<7>(_mm512_xor_si512(x[$b], x[$c]));
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
        *x = _mm512_add_epi32(*x, before);
    }
    // Each four vectors have the same four words of all blocks. Here each vector gets the four
    // words of one block in each 128 bits.
    let by_block = |[a, b, c, d]: [__m512i; 4]| {
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (more_ab, more_cd) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        [
            _mm512_unpacklo_epi64(ab, cd),
            _mm512_unpackhi_epi64(ab, cd),
            _mm512_unpacklo_epi64(more_ab, more_cd),
            _mm512_unpackhi_epi64(more_ab, more_cd),
        ]
    };
    let fours: [[__m512i; 4]; 4] = transmute!(x);
    let [a, b, c, d] = fours.map(by_block);
    let quarters: &mut [[[u8; 64]; 4]; 4] = zerocopy::transmute_mut!(out);
    let [first, second, third, fourth] = quarters;
    let blocks = first.iter_mut().zip(second).zip(third).zip(fourth);
    for ((((a, b), c), d), (((first, second), third), fourth)) in
        a.into_iter().zip(b).zip(c).zip(d).zip(blocks)
    {
        let ab = _mm512_shuffle_i32x4::<0b01_00_01_00>(a, b);
        let cd = _mm512_shuffle_i32x4::<0b01_00_01_00>(c, d);
        *first = transmute!(_mm512_shuffle_i32x4::<0b10_00_10_00>(ab, cd));
        *second = transmute!(_mm512_shuffle_i32x4::<0b11_01_11_01>(ab, cd));
        let ab = _mm512_shuffle_i32x4::<0b11_10_11_10>(a, b);
        let cd = _mm512_shuffle_i32x4::<0b11_10_11_10>(c, d);
        *third = transmute!(_mm512_shuffle_i32x4::<0b10_00_10_00>(ab, cd));
        *fourth = transmute!(_mm512_shuffle_i32x4::<0b11_01_11_01>(ab, cd));
    }
}
