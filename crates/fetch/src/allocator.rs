//! The C library's allocator, set for bodies: what is freed is used again.
#![allow(unsafe_code, reason = "mallopt(3)")]

use std::sync::Once;

/// Sets the thresholds of glibc's allocator for this process, once; does nothing with another C library, or where the environment
/// sets one of them.
///
/// By default glibc gives memory back as soon as 128 KiB at the end of a heap are free, and takes it again, page by page, for the next
/// body: two thirds of the cost of a body of 240 KB.
pub(crate) fn keep_freed_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let is_set = |name| std::env::var_os(name).is_some();
        if !["GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"].into_iter().any(is_set) {
            set_thresholds();
        }
    });
}

/// Bytes from which on an allocation is a mapping of its own, which is given back at once.
#[cfg(target_env = "gnu")]
const MAPPED: i32 = 4 << 20;

/// Free bytes at the end of a heap from which on they are given back.
#[cfg(target_env = "gnu")]
const KEPT: i32 = 16 << 20;

#[cfg(target_env = "gnu")]
fn set_thresholds() {
    use nix::libc::{M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, mallopt};
    for (parameter, bytes) in [(M_MMAP_THRESHOLD, MAPPED), (M_TRIM_THRESHOLD, KEPT)] {
        // SAFETY: it changes a number of the allocator, under the allocator's lock; a refusal changes nothing.
        let _is_set = unsafe { mallopt(parameter, bytes) };
    }
}

#[cfg(not(target_env = "gnu"))]
fn set_thresholds() {}

#[cfg(test)]
#[cfg(target_env = "gnu")]
mod tests {
    use std::fs;

    use super::*;

    /// Page faults of this thread so far (proc_pid_stat(5), field 10).
    fn faults() -> u64 {
        let text = fs::read_to_string("/proc/thread-self/stat").unwrap();
        text.rsplit(") ").next().unwrap().split(' ').nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn bodies_that_come_and_go_take_no_new_memory() {
        keep_freed_memory();
        let touch = || {
            let bodies: Vec<Vec<u8>> = (0..8).map(|number| vec![number | 1; 240_000]).collect();
            std::hint::black_box(&bodies).len()
        };
        touch();
        let before = faults();
        (0..50).for_each(|_| _ = touch());
        // Without it, each of 400 bodies takes 59 pages.
        assert!(faults() - before < 400, "{}", faults() - before);
    }
}
