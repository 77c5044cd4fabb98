#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::ffi_any_args(data));
