#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::release_from_bytes_is_total(data));
