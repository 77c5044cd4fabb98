//! Wiping vector registers.
//!
//! It wipes all registers of the processor, because copies of memory use registers that no kernel
//! names. What the stack and registers hold after a call is residue of private data (see
//! `SECURITY.md`).

#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    undertone_kernels = "aarch64"
))]
use core::arch::asm;

/// Wipes the registers of x86-64.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(super) fn wipe() {
    cpufeatures::new!(cpu_avx, "avx");
    cpufeatures::new!(cpu_avx512, "avx512f", "avx512bw");
    // SAFETY: the registers are named as clobbered, after a check that the processor has them.
    unsafe {
        if cpu_avx512::get() {
            asm!(
                "vpxord zmm16, zmm16, zmm16", "vpxord zmm17, zmm17, zmm17",
                "vpxord zmm18, zmm18, zmm18", "vpxord zmm19, zmm19, zmm19",
                "vpxord zmm20, zmm20, zmm20", "vpxord zmm21, zmm21, zmm21",
                "vpxord zmm22, zmm22, zmm22", "vpxord zmm23, zmm23, zmm23",
                "vpxord zmm24, zmm24, zmm24", "vpxord zmm25, zmm25, zmm25",
                "vpxord zmm26, zmm26, zmm26", "vpxord zmm27, zmm27, zmm27",
                "vpxord zmm28, zmm28, zmm28", "vpxord zmm29, zmm29, zmm29",
                "vpxord zmm30, zmm30, zmm30", "vpxord zmm31, zmm31, zmm31",
                "kxorq k0, k0, k0", "kxorq k1, k1, k1", "kxorq k2, k2, k2", "kxorq k3, k3, k3",
                "kxorq k4, k4, k4", "kxorq k5, k5, k5", "kxorq k6, k6, k6", "kxorq k7, k7, k7",
                out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _,
                out("xmm20") _, out("xmm21") _, out("xmm22") _, out("xmm23") _,
                out("xmm24") _, out("xmm25") _, out("xmm26") _, out("xmm27") _,
                out("xmm28") _, out("xmm29") _, out("xmm30") _, out("xmm31") _,
                out("k0") _, out("k1") _, out("k2") _, out("k3") _,
                out("k4") _, out("k5") _, out("k6") _, out("k7") _,
                options(nomem, nostack, preserves_flags)
            );
        }
        macro_rules! low {
            ($($instruction:literal),*) => {
                asm!(
                    $($instruction),*,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nomem, nostack, preserves_flags)
                )
            };
        }
        if cpu_avx::get() {
            low!("vzeroall");
        } else {
            low!(
                "pxor xmm0, xmm0",
                "pxor xmm1, xmm1",
                "pxor xmm2, xmm2",
                "pxor xmm3, xmm3",
                "pxor xmm4, xmm4",
                "pxor xmm5, xmm5",
                "pxor xmm6, xmm6",
                "pxor xmm7, xmm7",
                "pxor xmm8, xmm8",
                "pxor xmm9, xmm9",
                "pxor xmm10, xmm10",
                "pxor xmm11, xmm11",
                "pxor xmm12, xmm12",
                "pxor xmm13, xmm13",
                "pxor xmm14, xmm14",
                "pxor xmm15, xmm15"
            );
        }
    }
}

/// Wipes the registers of NEON.
#[cfg(undertone_kernels = "aarch64")]
pub(super) fn wipe() {
    // SAFETY: the registers are named as clobbered.
    unsafe {
        asm!(
            "movi v0.16b, #0", "movi v1.16b, #0", "movi v2.16b, #0", "movi v3.16b, #0",
            "movi v4.16b, #0", "movi v5.16b, #0", "movi v6.16b, #0", "movi v7.16b, #0",
            "movi v8.16b, #0", "movi v9.16b, #0", "movi v10.16b, #0", "movi v11.16b, #0",
            "movi v12.16b, #0", "movi v13.16b, #0", "movi v14.16b, #0", "movi v15.16b, #0",
            "movi v16.16b, #0", "movi v17.16b, #0", "movi v18.16b, #0", "movi v19.16b, #0",
            "movi v20.16b, #0", "movi v21.16b, #0", "movi v22.16b, #0", "movi v23.16b, #0",
            "movi v24.16b, #0", "movi v25.16b, #0", "movi v26.16b, #0", "movi v27.16b, #0",
            "movi v28.16b, #0", "movi v29.16b, #0", "movi v30.16b, #0", "movi v31.16b, #0",
            out("v0") _, out("v1") _, out("v2") _, out("v3") _,
            out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _, out("v15") _,
            out("v16") _, out("v17") _, out("v18") _, out("v19") _,
            out("v20") _, out("v21") _, out("v22") _, out("v23") _,
            out("v24") _, out("v25") _, out("v26") _, out("v27") _,
            out("v28") _, out("v29") _, out("v30") _, out("v31") _,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// On other processors compilers use none, or few.
#[cfg(not(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    undertone_kernels = "aarch64"
)))]
pub(super) fn wipe() {}
