//! See [`lycosa_fuzz::robots`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::robots(data));
