//! See [`lycosa_fuzz::message`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::message(data));
