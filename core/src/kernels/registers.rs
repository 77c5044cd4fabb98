//! Wiping vector registers.
//!
//! `SECURITY.md` counts private data that stays in registers or on the stack after a call as a
//! flaw. A wiped stack is not enough: a program that resolves symbols lazily saves the vector
//! registers on its stack at the next call. All registers of the processor are wiped, by name,
//! because copies of memory use registers that no kernel names.

/// Zeroes the vectors of x86-64, and the masks of AVX-512.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) fn wipe() {
    cpufeatures::new!(cpu_avx, "avx");
    cpufeatures::new!(cpu_avx512, "avx512f", "avx512bw");
    macro_rules! clear {
        ($($template:expr),*; $($register:tt)*) => {
            core::arch::asm!(
                $($template,)*
                $(out($register) _,)*
                options(nomem, nostack, preserves_flags)
            )
        };
    }
    macro_rules! xor {
        ($by:literal $($r:tt)*) => {
            clear!($(concat!($by, " ", $r, ", ", $r, ", ", $r)),*; $($r)*)
        };
    }
    macro_rules! clear_low {
        ($($template:expr),*) => {
            clear!($($template),*; "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7" "xmm8"
                "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm14" "xmm15")
        };
    }
    // SAFETY: the registers are named as clobbered, after a check that the processor has them.
    unsafe {
        if cpu_avx512::get() {
            xor!("vpxord" "zmm16" "zmm17" "zmm18" "zmm19" "zmm20" "zmm21" "zmm22" "zmm23"
                "zmm24" "zmm25" "zmm26" "zmm27" "zmm28" "zmm29" "zmm30" "zmm31");
            xor!("kxorq" "k0" "k1" "k2" "k3" "k4" "k5" "k6" "k7");
        }
        if cpu_avx::get() {
            clear_low!("vzeroall");
        } else {
            clear_low!(
                ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                r"pxor xmm\number, xmm\number",
                ".endr"
            );
        }
    }
}

/// Zeroes the registers of NEON.
#[cfg(undertone_kernels = "aarch64")]
pub(super) fn wipe() {
    macro_rules! zero {
        ($($register:tt)*) => {
            core::arch::asm!(
                $(concat!("movi ", $register, ".16b, #0"),)*
                $(out($register) _,)*
                options(nomem, nostack, preserves_flags)
            )
        };
    }
    // SAFETY: the registers are named as clobbered.
    unsafe {
        zero!("v0" "v1" "v2" "v3" "v4" "v5" "v6" "v7" "v8" "v9" "v10" "v11" "v12" "v13" "v14" "v15"
            "v16" "v17" "v18" "v19" "v20" "v21" "v22" "v23" "v24" "v25" "v26" "v27" "v28" "v29"
            "v30" "v31");
    }
}

/// Other processors have none, or compilers hardly use them.
#[cfg(not(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    undertone_kernels = "aarch64"
)))]
pub(super) fn wipe() {}
