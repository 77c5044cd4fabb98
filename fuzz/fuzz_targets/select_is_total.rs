#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::select_is_total(data));
