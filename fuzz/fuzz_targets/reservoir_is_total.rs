#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::reservoir_is_total(data));
