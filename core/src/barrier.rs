//! Barriers against the optimiser: masks that stay masks, and memory that is wiped.

// For `opaque`, whose assembly is empty.
#![allow(unsafe_code)]

use zeroize::Zeroize;

/// Returns the mask through a barrier that the compiler cannot see through. Without it the sign of
/// a difference becomes a comparison again, and a branch: on x86-64 if LLVM takes it for
/// predictable, on RISC-V always.
///
/// WebAssembly has no inline assembly; its `select` is an instruction.
#[inline(always)]
pub(crate) fn opaque(mask: i32) -> i32 {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    macro_rules! template {
        () => {
            "/* {0:e} */"
        };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! template {
        () => {
            "/* {0:w} */"
        };
    }
    #[cfg(any(target_arch = "arm", target_arch = "riscv32", target_arch = "riscv64"))]
    macro_rules! template {
        () => {
            "/* {0} */"
        };
    }
    #[cfg(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv32",
        target_arch = "riscv64"
    ))]
    {
        let mut mask = mask;
        // SAFETY: there is no instruction.
        unsafe {
            core::arch::asm!(
                template!(),
                inlateout(reg) mask,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        mask
    }
    #[cfg(target_family = "wasm")]
    {
        mask
    }
    #[cfg(not(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv32",
        target_arch = "riscv64",
        target_family = "wasm"
    )))]
    {
        core::hint::black_box(mask)
    }
}

/// Wipes private numbers as fast as memory is filled; [`Zeroize`] stores them one by one.
pub(crate) fn wipe<T: Copy + Default + Zeroize>(numbers: &mut [T]) {
    numbers.fill(T::default());
    zeroize::optimization_barrier(numbers);
}
