//! See [`lycosa_fuzz::cookies`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::cookies(data));
