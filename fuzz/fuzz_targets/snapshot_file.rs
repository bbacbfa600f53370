//! See [`lycosa_fuzz::snapshot_file`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lycosa_fuzz::snapshot_file(data));
