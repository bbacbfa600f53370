//! See [`lycosa_fuzz::brotli`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::brotli(data));
