//! See [`lycosa_fuzz::log_repair`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::log_repair(data));
