//! See [`lycosa_fuzz::names_cache`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::names_cache(data));
