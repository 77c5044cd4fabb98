#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::text_sentences_lose_nothing(data));
