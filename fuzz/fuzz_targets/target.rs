//! Every program of `Cargo.toml`: it runs the target of its own name.

#![no_main]

use undertone_fuzz::{Body, TARGETS};

/// Found by the compiler, so that a program contains no other target.
const BODY: Body = {
    let mut target = 0;
    while !TARGETS[target].0.eq_ignore_ascii_case(env!("CARGO_BIN_NAME")) {
        target += 1;
    }
    TARGETS[target].1
};

libfuzzer_sys::fuzz_target!(|data: &[u8]| BODY(data));
