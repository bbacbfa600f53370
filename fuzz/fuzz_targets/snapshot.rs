//! See [`lycosa_fuzz::snapshot`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::snapshot(data));
