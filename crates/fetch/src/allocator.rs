//! The C library's allocator, set for bodies: what is freed is used again.
#![allow(unsafe_code, reason = "mallopt(3)")]

use std::env;
use std::sync::Once;

/// Sets the thresholds of glibc's allocator for this process, once; does nothing with another C library, or where the environment
/// sets one of them (mallopt(3)).
///
/// At first glibc gives memory back as soon as 128 KiB at the end of a heap are free, and takes it again, page by page, for the next
/// body: two thirds of the cost of a body of 240 KB.
pub fn keep_freed_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !is_set_by_user() {
            set_thresholds();
        }
    });
}

/// Whether the environment sets a threshold.
fn is_set_by_user() -> bool {
    let tunables = env::var_os("GLIBC_TUNABLES").unwrap_or_default();
    ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"].into_iter().any(|name| env::var_os(name).is_some())
        || tunables.to_string_lossy().contains("threshold")
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
    // SAFETY: it changes numbers that the allocator reads, each a word; a refusal changes nothing.
    let is_set = |parameter, bytes| unsafe { mallopt(parameter, bytes) } == 1;
    // Either ends glibc's own adaptation of both, so one alone would be worse than none.
    let _are_set = is_set(M_MMAP_THRESHOLD, MAPPED) && is_set(M_TRIM_THRESHOLD, KEPT);
}

#[cfg(not(target_env = "gnu"))]
fn set_thresholds() {}
