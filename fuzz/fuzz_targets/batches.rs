//! See [`lycosa_fuzz::batches`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::batches(data));
