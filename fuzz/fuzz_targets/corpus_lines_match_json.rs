#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::corpus_lines_match_json(data));
