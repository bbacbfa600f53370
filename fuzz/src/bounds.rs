//! How much work an input may cost, processor time of this thread and memory from Rust's allocator; where its files lie.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

/// Memory beside what the input's size and limits explain: tables, windows, buffers of fixed size.
pub(crate) const FIXED_BYTES: usize = 24 << 20;

/// Time beside what the input's size explains, in a debug build on a busy machine.
const FIXED_TIME: Duration = Duration::from_secs(1);

/// Does work on `input` bytes that may take a second and 10 µs for each of them, and `memory` bytes at once.
pub(crate) fn within<T>(input: usize, memory: usize, work: impl FnOnce() -> T) -> T {
    let begun = processor_time();
    let mut result = None;
    // The counter must see the end of the work, however it ends.
    let used = allocation_counter::measure(|| result = Some(catch_unwind(AssertUnwindSafe(work))));
    let took = processor_time().saturating_sub(begun);
    let result = result.expect("the work is done").unwrap_or_else(|panic| resume_unwind(panic));
    let allowed = FIXED_TIME + Duration::from_micros(10) * u32::try_from(input).unwrap_or(u32::MAX);
    assert!(took <= allowed, "{took:?} for {input} bytes, at most {allowed:?}");
    assert!(used.bytes_max <= memory as u64, "{} bytes of memory, at most {memory}", used.bytes_max);
    result
}

/// What this thread has used so far.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock that every Linux has").into()
}

/// An empty directory in memory, where there is one: what is tested is what files hold, not disks. It is this thread's until it
/// asks again: one for each input would take longer than most inputs.
pub(crate) fn directory() -> PathBuf {
    thread_local! {
        static DIRECTORY: TempDir = {
            let memory = Path::new("/dev/shm");
            let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
            made.expect("a directory")
        };
    }
    let directory = DIRECTORY.with(|directory| directory.path().to_owned());
    for left in fs::read_dir(&directory).expect("our directory").flatten() {
        fs::remove_file(left.path()).expect("a file of ours");
    }
    directory
}
