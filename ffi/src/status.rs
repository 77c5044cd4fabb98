//! The result of an exported function, and the wiping of its stack.

use core::ffi::c_char;

use undertone_core::kernels::wipe_registers;

use crate::interface::{UNDERTONE_STATUS_OK, message};

/// Why a call was refused: a status other than [`UNDERTONE_STATUS_OK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) i32);

/// The status of a call with this body.
pub(crate) fn report(body: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    match body() {
        Ok(()) => UNDERTONE_STATUS_OK,
        Err(Refusal(status)) => status,
    }
}

/// The number that a getter returns; 0 if its handle is not valid.
pub(crate) fn or_zero<T: Default>(body: impl FnOnce() -> Result<T, Refusal>) -> T {
    body().unwrap_or_else(|_| T::default())
}

/// The stack that is wiped after a call that takes a sentence or releases a document. The header
/// promises 8 KiB, and 16 on x86-64, whose kernels take more sentences at a time.
pub(crate) const SENTENCES_STACK: usize = wiped(if cfg!(target_arch = "x86_64") {
    16 * 1024
} else {
    8 * 1024
});
/// The stack that is wiped after a call that finds sentences.
pub(crate) const SPLITTING_STACK: usize = wiped(2 * 1024);
/// The stack that is wiped after a call that takes or releases words or vectors.
pub(crate) const WORDS_STACK: usize = wiped(if cfg!(target_arch = "x86_64") {
    20 * 1024
} else {
    16 * 1024
});

/// The part of the promised stack that lies below the frame of `report_private`.
const fn wiped(promised: usize) -> usize {
    // Unoptimised code takes more, and is promised nothing.
    if cfg!(debug_assertions) {
        128 * 1024
    } else {
        promised - 384
    }
}

/// [`report`] for a body that reads private data. Compilers put copies where nobody can wipe them
/// one by one: arguments by value, spilled registers. So the whole stack below this frame is wiped,
/// and so are the vector registers.
///
/// `body` is a `move` closure: one that borrows the arguments takes more code.
#[inline(always)]
pub(crate) fn report_private<const STACK: usize>(
    body: impl FnOnce() -> Result<(), Refusal>,
) -> i32 {
    /// `inline(never)`: the frame of `body` must start where that of [`wipe_below`] does.
    #[inline(never)]
    fn below(body: impl FnOnce() -> Result<(), Refusal>) -> i32 {
        report(body)
    }
    let status = below(body);
    wipe_below::<STACK>();
    wipe_registers();
    status
}

/// Wipes `STACK` bytes below the caller's frame.
#[cfg(not(target_pointer_width = "32"))]
#[inline(never)]
fn wipe_below<const STACK: usize>() {
    let below = [0u8; STACK];
    zeroize::optimization_barrier(&below);
}

/// Wipes `STACK` bytes below the caller's frame, eight at a time. On a microcontroller `memset`
/// executes five times the instructions.
#[cfg(target_pointer_width = "32")]
#[inline(never)]
fn wipe_below<const STACK: usize>() {
    /// Aligned for the stores.
    #[repr(align(8))]
    struct Below<const STACK: usize>([u8; STACK]);
    const ROW: usize = 8;
    const { assert!(STACK.is_multiple_of(ROW * size_of::<u64>())) };
    let mut below = core::mem::MaybeUninit::<Below<STACK>>::uninit();
    let mut next = below.as_mut_ptr().cast::<u64>();
    for _ in 0..STACK / (ROW * size_of::<u64>()) {
        // SAFETY: `next` stays in the array, which is aligned and used by nothing else.
        unsafe {
            next.write_volatile(0);
            next.add(1).write_volatile(0);
            next.add(2).write_volatile(0);
            next.add(3).write_volatile(0);
            next.add(4).write_volatile(0);
            next.add(5).write_volatile(0);
            next.add(6).write_volatile(0);
            next.add(7).write_volatile(0);
            next = next.add(ROW);
        }
    }
}

/// Returns the meaning of a status in English: what is wrong and what to do.
///
/// `status`: any number. The result is a static string, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_status_message(status: i32) -> *const c_char {
    message(status).as_ptr()
}
