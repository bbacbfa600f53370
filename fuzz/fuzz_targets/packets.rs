//! See [`lycosa_fuzz::packets`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::packets(data));
