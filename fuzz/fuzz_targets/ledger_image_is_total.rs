#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::ledger_image_is_total(data));
