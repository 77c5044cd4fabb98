#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::counted_inputs_are_total(data));
