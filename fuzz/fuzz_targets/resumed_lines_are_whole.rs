#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::resumed_lines_are_whole(data));
