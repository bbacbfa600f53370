//! See [`lycosa_fuzz::name`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::name(data));
