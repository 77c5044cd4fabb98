//! The panic handler that a library without `std` must have. The feature `prove-no-panic` proves
//! that nothing calls it.

#[cfg(feature = "prove-no-panic")]
unsafe extern "C" {
    /// Defined nowhere: a program that can reach it does not link.
    fn undertone_panic_path_remains() -> !;
}

#[cfg(feature = "prove-no-panic")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a program that contains this call does not link, so it is never made.
    unsafe { undertone_panic_path_remains() }
}

#[cfg(not(feature = "prove-no-panic"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
