//! See [`lycosa_fuzz::question`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::question(data));
