//! The instruction sets that an x86-64 processor has, and a kernel that two of them share.

use core::arch::x86_64::__cpuid_count;
use core::sync::atomic::{AtomicU8, Ordering};

use super::lookup::{self, mask};

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

/// Detects AVX-512 with all extensions that the kernels use. The crate `cpufeatures` lacks VBMI2,
/// GFNI, VNNI, BITALG and VPOPCNTDQ, so their bits are read here: once, because `cpuid` takes
/// microseconds in virtual machines.
pub(super) fn has_avx512() -> bool {
    const UNKNOWN: u8 = 2;
    const BITS: u32 = 1 << 6 | 1 << 8 | 1 << 11 | 1 << 12 | 1 << 14;
    static BOTH: AtomicU8 = AtomicU8::new(UNKNOWN);
    if !cpu_vbmi::get() {
        return false;
    }
    let mut found = BOTH.load(Ordering::Relaxed);
    if found == UNKNOWN {
        // The leaf exists, because it reports VBMI.
        found = u8::from(__cpuid_count(7, 0).ecx & BITS == BITS);
        BOTH.store(found, Ordering::Relaxed);
    }
    found == 1
}

/// As [`lookup::bits`].
#[inline]
#[target_feature(enable = "popcnt")]
pub(super) fn bits(bytes: &[u8], count: usize) -> usize {
    let (Some(mask), Some(eight)) = (mask(count), bytes.first_chunk::<64>()) else {
        return lookup::bits(bytes, count);
    };
    // Counts the same number of words for every row, because the length of a loop is unpredictable.
    let words = eight.as_chunks().0.iter().zip(mask.as_chunks().0);
    let bits = words
        .map(|(word, mask)| (u64::from_ne_bytes(*word) & u64::from_ne_bytes(*mask)).count_ones());
    bits.sum::<u32>() as usize
}
