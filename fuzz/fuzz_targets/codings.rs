//! See [`lycosa_fuzz::codings`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::codings(data));
