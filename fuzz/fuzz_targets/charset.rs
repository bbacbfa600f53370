//! See [`lycosa_fuzz::charset`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::charset(data));
