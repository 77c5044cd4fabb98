//! The version of the library.

use core::ffi::{CStr, c_char};

use undertone_core::kernels::Backend;

use crate::interface::terminated;

/// Raised whenever a program compiled with an older header could misbehave with this library.
pub const UNDERTONE_ABI_VERSION: u32 = 2;

// The header has the text as UNDERTONE_VERSION; tests/header.rs puts it there.

/// The version of the library as one number: major * 10000 + minor * 100 + patch.
pub const UNDERTONE_VERSION_NUMBER: u32 = 200;

const VERSION: &CStr = terminated(concat!(env!("CARGO_PKG_VERSION"), "\0"));

const _: () = {
    const fn number(text: &str) -> u32 {
        match u32::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => unreachable!(),
        }
    }
    assert!(
        UNDERTONE_VERSION_NUMBER
            == number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
                + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
                + number(env!("CARGO_PKG_VERSION_PATCH")),
        "UNDERTONE_VERSION_NUMBER"
    );
};

/// Returns the ABI version of the linked library.
///
/// A program that loads a shared library compares it with `UNDERTONE_ABI_VERSION` before it calls
/// anything else.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_abi_version() -> u32 {
    UNDERTONE_ABI_VERSION
}

/// Returns the version of the linked library, a static string such as "0.2.0".
#[unsafe(no_mangle)]
pub extern "C" fn undertone_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns the name of the kernels that the library uses on this processor, a static string:
/// "avx512", "avx2", "neon" or "portable". The kernels differ in speed only.
#[unsafe(no_mangle)]
pub extern "C" fn undertone_backend() -> *const c_char {
    let name = match Backend::best().name() {
        "avx512" => c"avx512",
        "avx2" => c"avx2",
        "neon" => c"neon",
        _ => c"portable",
    };
    name.as_ptr()
}
