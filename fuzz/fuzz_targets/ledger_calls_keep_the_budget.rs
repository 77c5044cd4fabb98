#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| undertone_fuzz::ledger_calls_keep_the_budget(data));
