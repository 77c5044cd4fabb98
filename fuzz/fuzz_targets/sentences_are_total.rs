#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::sentences_are_total(data));
