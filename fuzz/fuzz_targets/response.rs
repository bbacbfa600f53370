//! See [`lycosa_fuzz::response`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::response(data));
