#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::word_vectors_survive_a_rewrite(data));
