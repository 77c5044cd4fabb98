#![no_main]

libfuzzer_sys::fuzz_target!(
    |data: &[u8]| undertone_fuzz::kept_vectors_are_those_of_the_encoder(data)
);
