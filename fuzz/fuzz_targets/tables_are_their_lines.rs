#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::tables_are_their_lines(data));
