#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::form_parse_then_use(data));
