#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::candidates_file_is_total(data));
