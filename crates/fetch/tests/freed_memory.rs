//! A fetcher makes the process keep freed memory. In a process of its own: other tests change the allocator as well.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::hint::black_box;

use lycosa_fetch::{Fetcher, Settings};

/// Page faults of this thread so far (proc_pid_stat(5), field 10).
fn faults() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/stat").unwrap();
    text.rsplit(") ").next().unwrap().split(' ').nth(7).unwrap().parse().unwrap()
}

#[test]
fn bodies_that_come_and_go_take_no_new_memory() {
    let _fetcher = Fetcher::start(Settings::default()).unwrap();
    let touch = || {
        let bodies: Vec<Vec<u8>> = (0..8).map(|number| vec![number | 1; 240_000]).collect();
        black_box(&bodies).len()
    };
    touch();
    let before = faults();
    (0..50).for_each(|_| _ = touch());
    let taken = faults() - before;
    assert!(taken < 400, "{taken} pages for 400 bodies of 59 pages");
}
