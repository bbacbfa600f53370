//! See [`lycosa_fuzz::html`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::html(data));
