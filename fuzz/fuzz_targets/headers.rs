//! See [`lycosa_fuzz::headers`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::headers(data));
