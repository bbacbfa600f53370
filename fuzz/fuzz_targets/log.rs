//! See [`lycosa_fuzz::log`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::log(data));
