#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::counted_ledger_keeps_the_budget(data));
