//! See [`lycosa_fuzz::cache_file`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::cache_file(data));
