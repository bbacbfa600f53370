//! See [`lycosa_fuzz::url`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::url(data));
