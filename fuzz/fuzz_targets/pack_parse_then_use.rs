#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::pack_parse_then_use(data));
