//! See [`lycosa_fuzz::deflate`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::deflate(data));
