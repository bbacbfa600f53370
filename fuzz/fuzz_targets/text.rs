//! See [`lycosa_fuzz::text`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::text(data));
