#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::epsilon_parse_is_total(data));
