//! See [`lycosa_fuzz::redirect`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::redirect(data));
