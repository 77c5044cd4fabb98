//! ChaCha12 for a release that needs many words: a block in each lane of a vector, where the
//! generator of `chacha20` makes four. The stream is that of `ChaCha12Rng`, to the bit.

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

/// Twelve rounds on sixteen vectors, and the words that they began with added.
macro_rules! rounds {
    ($state:ident, $add:ident, $xor:ident, $rotate:ident) => {{
        let mut x = $state;
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
        for (x, before) in x.iter_mut().zip($state) {
            *x = $add(*x, before);
        }
        x
    }};
}

/// The words that blocks begin with: each the same in all lanes but the lower one of the counter.
macro_rules! first_words {
    ($key:ident, $first:expr, $same:ident, $or:ident, $lanes:expr) => {{
        let first: u64 = $first;
        let [c0, c1, c2, c3] = CONSTANTS.map($same);
        let [k0, k1, k2, k3, k4, k5, k6, k7] = $key.map($same);
        let low = $or($same(first as u32), $lanes);
        let high = $same((first >> 32) as u32);
        let zero = $same(0);
        [
            c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, low, high, zero, zero,
        ]
    }};
}

/// Sixteen vectors with the same word of each block in a lane: of each four of them, four with four
/// words of one block in each 128 bits.
macro_rules! by_block {
    ($x:ident, $low_32:ident, $high_32:ident, $low_64:ident, $high_64:ident) => {{
        macro_rules! four {
            ($a:literal, $b:literal, $c:literal, $d:literal) => {{
                let (ab, cd) = ($low_32($x[$a], $x[$b]), $low_32($x[$c], $x[$d]));
                let (more_ab, more_cd) = ($high_32($x[$a], $x[$b]), $high_32($x[$c], $x[$d]));
                [
                    $low_64(ab, cd),
                    $high_64(ab, cd),
                    $low_64(more_ab, more_cd),
                    $high_64(more_ab, more_cd),
                ]
            }};
        }
        [
            four!(0, 1, 2, 3),
            four!(4, 5, 6, 7),
            four!(8, 9, 10, 11),
            four!(12, 13, 14, 15),
        ]
    }};
}

#[target_feature(enable = "avx2")]
pub(super) fn avx2(key: &[u32; 8], number: u64, out: &mut [u8; BATCH]) {
    let blocks = number.wrapping_mul(16);
    let (halves, _) = out.as_chunks_mut::<{ BATCH / 2 }>();
    for (half, first) in halves.iter_mut().zip([0, 8]) {
        eight_blocks(key, blocks.wrapping_add(first), half);
    }
}

/// The bytes of eight words of which each is turned left by so many bytes, 0 to 3.
#[expect(clippy::indexing_slicing, reason = "done by the compiler")]
const fn turned(by: usize) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < bytes.len() {
        // In halves of 128 bits.
        bytes[at] = (at % 16 / 4 * 4 + (at + 4 - by) % 4) as u8;
        at += 1;
    }
    bytes
}

/// The first one's number is a multiple of eight.
#[target_feature(enable = "avx2")]
fn eight_blocks(key: &[u32; 8], first: u64, out: &mut [u8; BATCH / 2]) {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn rotate<const LEFT: i32, const RIGHT: i32>(x: __m256i) -> __m256i {
        if LEFT % 8 == 0 {
            // Optimised for size the compiler would count at every turn.
            let bytes = const { turned((LEFT / 8) as usize) };
            return _mm256_shuffle_epi8(x, transmute!(bytes));
        }
        _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x))
    }
    let same = |word: u32| _mm256_set1_epi32(word.cast_signed());
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let state = first_words!(key, first, same, _mm256_or_si256, lanes);
    let x = rounds!(state, _mm256_add_epi32, _mm256_xor_si256, rotate);
    let [a, b, c, d] = by_block!(
        x,
        _mm256_unpacklo_epi32,
        _mm256_unpackhi_epi32,
        _mm256_unpacklo_epi64,
        _mm256_unpackhi_epi64
    );
    let (early, late) = out.split_at_mut(BATCH / 4);
    let early = early.as_chunks_mut::<64>().0.iter_mut();
    let late = late.as_chunks_mut::<64>().0.iter_mut();
    for (((((a, b), c), d), early), late) in a.into_iter().zip(b).zip(c).zip(d).zip(early).zip(late)
    {
        *early = transmute!([
            _mm256_permute2x128_si256::<0x20>(a, b),
            _mm256_permute2x128_si256::<0x20>(c, d),
        ]);
        *late = transmute!([
            _mm256_permute2x128_si256::<0x31>(a, b),
            _mm256_permute2x128_si256::<0x31>(c, d),
        ]);
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn avx512(key: &[u32; 8], number: u64, out: &mut [u8; BATCH]) {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn rotate<const LEFT: i32, const RIGHT: i32>(x: __m512i) -> __m512i {
        _mm512_rol_epi32::<LEFT>(x)
    }
    let same = |word: u32| _mm512_set1_epi32(word.cast_signed());
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let state = first_words!(key, number.wrapping_mul(16), same, _mm512_or_si512, lanes);
    let x = rounds!(state, _mm512_add_epi32, _mm512_xor_si512, rotate);
    let [a, b, c, d] = by_block!(
        x,
        _mm512_unpacklo_epi32,
        _mm512_unpackhi_epi32,
        _mm512_unpacklo_epi64,
        _mm512_unpackhi_epi64
    );
    let (quarters, _) = out.as_chunks_mut::<{ BATCH / 4 }>();
    let [first, second, third, fourth] = quarters else {
        return;
    };
    let [first, second, third, fourth] =
        [first, second, third, fourth].map(|quarter| quarter.as_chunks_mut::<64>().0.iter_mut());
    let blocks = first.zip(second).zip(third).zip(fourth);
    for ((((a, b), c), d), (((first, second), third), fourth)) in
        a.into_iter().zip(b).zip(c).zip(d).zip(blocks)
    {
        let (ab, cd) = (
            _mm512_shuffle_i32x4::<0b01_00_01_00>(a, b),
            _mm512_shuffle_i32x4::<0b01_00_01_00>(c, d),
        );
        *first = transmute!(_mm512_shuffle_i32x4::<0b10_00_10_00>(ab, cd));
        *second = transmute!(_mm512_shuffle_i32x4::<0b11_01_11_01>(ab, cd));
        let (ab, cd) = (
            _mm512_shuffle_i32x4::<0b11_10_11_10>(a, b),
            _mm512_shuffle_i32x4::<0b11_10_11_10>(c, d),
        );
        *third = transmute!(_mm512_shuffle_i32x4::<0b10_00_10_00>(ab, cd));
        *fourth = transmute!(_mm512_shuffle_i32x4::<0b11_01_11_01>(ab, cd));
    }
}
