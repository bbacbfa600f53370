//! See [`lycosa_fuzz::zstd`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::zstd(data));
