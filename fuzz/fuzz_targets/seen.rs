//! See [`lycosa_fuzz::seen`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::seen(data));
