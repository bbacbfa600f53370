//! See [`lycosa_fuzz::local_names`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::local_names(data));
