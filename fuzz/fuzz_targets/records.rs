//! See [`lycosa_fuzz::records`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::records(data));
