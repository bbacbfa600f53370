//! See [`lycosa_fuzz::gzip`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::gzip(data));
