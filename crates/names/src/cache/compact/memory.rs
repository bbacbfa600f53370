//! Shared memory: atomic words, the mapping that contains them, and the SIGBUS handler for truncated files.
//!
//! [`Memory`] abstracts over atomic words, so that loom checks the production code. [`Mapping`] gives slices of atomic words over a
//! mapped file or anonymous memory. If the file is truncated while it is mapped, the process-wide SIGBUS handler replaces the whole
//! mapping by zeroed anonymous memory (as in systemd's journal, sigbus.c) and marks it lost; a SIGBUS at any other address goes to
//! the previous handler. The handler takes no lock, allocates nothing and calls system calls only.
//!
//! All `unsafe` code of this crate is in this file.

#![allow(unsafe_code, reason = "memory mapped through raw pointers, and a signal handler that replaces it")]

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{io, mem, ptr, slice};

use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::libc::{self, c_int, c_void, sigaction, siginfo_t};

/// A shared atomic word with values of type `V`.
pub(super) trait Word<V> {
    /// Loads the value.
    fn load(&self, order: Ordering) -> V;
    /// Stores a value.
    fn store(&self, value: V, order: Ordering);
    /// Compare-and-swap; whether the value was `from`.
    fn replace(&self, from: V, to: V, success: Ordering) -> bool;
}

/// A memory model: its atomic words and the bounds of its spin loops.
pub(super) trait Memory {
    /// Words of 64 bits.
    type W64: Word<u64>;
    /// Words of 32 bits.
    type W32: Word<u32>;
    /// A memory fence.
    fn fence(order: Ordering);
    /// Spin-loop hint.
    fn pause();
    /// Yields the core to a descheduled lock owner, or sleeps after several calls.
    fn back_off(calls: usize);
    /// Attempts of a reader at a consistent snapshot of a bucket.
    const READS: usize;
    /// Attempts of a writer at locking a bucket.
    const SPINS: usize;
    /// Attempts between two checks whether the lock owner is alive.
    const CHECK_EVERY: usize;
}

/// The memory of this machine.
pub(super) struct Native;

impl Memory for Native {
    type W64 = AtomicU64;
    type W32 = AtomicU32;

    #[inline]
    fn fence(order: Ordering) {
        fence(order);
    }

    #[inline]
    fn pause() {
        std::hint::spin_loop();
    }

    fn back_off(calls: usize) {
        // 100 µs is about the resolution of the kernel's timers.
        if calls <= 4 { std::thread::yield_now() } else { std::thread::sleep(Duration::from_micros(100)) }
    }

    /// About the duration of a write that is not preempted.
    const READS: usize = 64;
    /// A write takes less than a hundred spins; the sleeps add about 40 ms, in which a preempted writer runs again even if some ten
    /// threads compete for its core.
    const SPINS: usize = 256 * Self::CHECK_EVERY;
    const CHECK_EVERY: usize = 64;
}

/// Implements [`Word`] for an atomic type of the standard library or of loom.
macro_rules! word {
    ($atomic:ty, $value:ty) => {
        impl Word<$value> for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> $value {
                <$atomic>::load(self, order)
            }

            #[inline]
            fn store(&self, value: $value, order: Ordering) {
                <$atomic>::store(self, value, order);
            }

            #[inline]
            fn replace(&self, from: $value, to: $value, success: Ordering) -> bool {
                self.compare_exchange(from, to, success, Ordering::Relaxed).is_ok()
            }
        }
    };
}

word!(AtomicU64, u64);
word!(AtomicU32, u32);

#[cfg(test)]
pub(super) use word;

/// Mapped memory as atomic words; other processes may write to it at any time.
#[derive(Debug)]
pub(super) struct Mapping {
    /// `None` for anonymous memory. Declared before `map`, so that it is dropped before the memory is unmapped.
    watch: Option<Watch>,
    map: MmapRaw,
    bytes: usize,
}

impl Mapping {
    /// Maps the first bytes of a file, which are allocated.
    pub(super) fn of_file(file: &File, bytes: usize) -> io::Result<Self> {
        Mapping::watched(MmapOptions::new().len(bytes).map_raw(file)?, bytes)
    }

    /// Maps the first bytes of a file copy-on-write: writes stay in this process.
    pub(super) fn copy_of_file(file: &File, bytes: usize) -> io::Result<Self> {
        // SAFETY: as in `of_file`: all access is by atomic operations, and any bits are valid words.
        let map = unsafe { MmapOptions::new().len(bytes).map_copy(file)? };
        Mapping::watched(MmapRaw::from(map), bytes)
    }

    /// A mapped file, watched for truncation.
    fn watched(map: MmapRaw, bytes: usize) -> io::Result<Self> {
        // SAFETY: all access is through `words`, which gives atomic words; the watch is dropped before the memory.
        let watch = unsafe { Watch::over(map.as_mut_ptr(), bytes)? };
        Ok(Mapping { watch: Some(watch), map, bytes })
    }

    /// Anonymous zeroed memory of this process.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Self> {
        let map = MmapRaw::from(MmapMut::map_anon(bytes)?);
        // Lookups are random accesses: huge pages save page walks. Best effort.
        drop(map.advise(Advice::HugePage));
        Ok(Mapping { watch: None, map, bytes })
    }

    /// Whether the file was truncated or given up, so that this is anonymous memory now.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| TABLE[watch.0].is_lost.load(Relaxed))
    }

    /// Gives the file up: replaces its mapping by zeroed anonymous memory.
    pub(super) fn lose(&self) {
        if let Some(Watch(index)) = self.watch {
            let entry = &TABLE[index];
            replace(entry, entry.start.load(Acquire), entry.bytes.load(Acquire));
        }
    }

    /// Its length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The words in a range of bytes, clipped to the mapping, as words of 64 and of 32 bits. Each location is used in one width only.
    #[inline]
    pub(super) fn words(&self, bytes: Range<u64>) -> (&[AtomicU64], &[AtomicU32]) {
        let end = (bytes.end as usize).min(self.bytes);
        let start = (bytes.start as usize).min(end) & !7;
        // SAFETY: start..end lies within the mapping, which is page-aligned and lives as long as `self`; start is aligned to 8 bytes;
        // any bits are valid words; all access, also by other processes, is by atomic operations in one width per location.
        unsafe {
            let first = self.map.as_ptr().add(start);
            let (wide, narrow) = ((end - start) / 8, (end - start) / 4);
            (slice::from_raw_parts(first.cast(), wide), slice::from_raw_parts(first.cast(), narrow))
        }
    }

    /// Flushes everything to the disk.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }

    /// Flushes the header page to the disk.
    pub(super) fn flush_header(&self) -> io::Result<()> {
        self.map.flush_range(0, 4_096.min(self.bytes))
    }
}

/// Prefetches the cache line of a word.
#[inline]
pub(super) fn prefetch(word: &AtomicU64) {
    // SAFETY: a hint that never faults; the address is that of a reference.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(ptr::from_ref(word).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(word.load(Relaxed));
}

/// Mapped files of a process at a time, at most: the table cannot grow in a signal handler.
const MAX_WATCHED: usize = 1_024;

/// An entry of the table of mapped files.
struct Watched {
    /// Start address; 0 if the entry is free.
    start: AtomicUsize,
    /// Length; 0 while the entry is claimed or released.
    bytes: AtomicUsize,
    is_lost: AtomicBool,
}

/// All mapped files.
static TABLE: [Watched; MAX_WATCHED] = [const {
    Watched { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), is_lost: AtomicBool::new(false) }
}; MAX_WATCHED];

/// The previous SIGBUS action; set before our handler is installed.
static PREVIOUS: OnceLock<sigaction> = OnceLock::new();

/// Registration of a mapped file: its index in the table.
#[derive(Debug)]
struct Watch(usize);

impl Watch {
    /// Registers a mapped file.
    ///
    /// # Safety
    ///
    /// The caller has mapped these bytes readable and writable, accesses them through raw pointers by atomic operations only, and
    /// drops the watch before it unmaps them.
    unsafe fn over(start: *mut u8, bytes: usize) -> io::Result<Watch> {
        install_handler()?;
        let claim =
            |entry: &Watched| entry.start.compare_exchange(0, start as usize, AcqRel, Relaxed).is_ok();
        let Some(index) = TABLE.iter().position(claim) else {
            let text = format!("{MAX_WATCHED} caches of names are open already: close some");
            return Err(io::Error::other(text));
        };
        TABLE[index].is_lost.store(false, Relaxed);
        TABLE[index].bytes.store(bytes, Release);
        Ok(Watch(index))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        TABLE[self.0].bytes.store(0, Release);
        TABLE[self.0].start.store(0, Release);
    }
}

/// Installs the SIGBUS handler, once per process.
fn install_handler() -> io::Result<()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if PREVIOUS.get().is_some() {
        return Ok(());
    }
    // SAFETY: all zeros are a valid `sigaction`; both are of this frame; the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut previous: sigaction = mem::zeroed();
        Errno::result(libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut previous))?;
        PREVIOUS.get_or_init(|| previous);
        let mut action: sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        Errno::result(libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()))?;
    }
    Ok(())
}

/// The SIGBUS handler.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel gives a valid `info`; of a fault (BUS_ADRERR) it has an address.
    let fault = unsafe { ((*info).si_code == libc::BUS_ADRERR).then(|| (*info).si_addr() as usize) };
    let found = fault.and_then(|address| {
        TABLE.iter().find_map(|entry| {
            // The faulting mapping's entry is stable; other entries may change meanwhile, so two reads have to agree.
            let read = || (entry.bytes.load(Acquire), entry.start.load(Acquire));
            let (bytes, start) = read();
            let is_within =
                address >= start && address.wrapping_sub(start) < bytes && read() == (bytes, start);
            is_within.then_some((entry, start, bytes))
        })
    });
    if !found.is_some_and(|(entry, start, bytes)| replace(entry, start, bytes)) {
        pass_on(signal, info, context);
    }
}

/// Replaces a mapped file by zeroed anonymous memory, atomically for all threads; whether that succeeded.
fn replace(entry: &Watched, start: usize, bytes: usize) -> bool {
    let errno = Errno::last_raw();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: start and bytes are those of one mapping, which its owner keeps while it is in the table and accesses through raw
    // pointers by atomic operations only; zeros are valid words.
    let mapped =
        unsafe { libc::mmap(ptr::with_exposed_provenance_mut(start), bytes, protection, flags, -1, 0) };
    let is_done = mapped != libc::MAP_FAILED;
    if is_done {
        entry.is_lost.store(true, Relaxed);
    }
    Errno::set_raw(errno);
    is_done
}

/// Runs the previous SIGBUS action.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let (action, flags) = PREVIOUS.get().map_or((libc::SIG_DFL, 0), |old| (old.sa_sigaction, old.sa_flags));
    // SAFETY: `info` is the kernel's. A handler that is neither of the two constants is a function with the signature that its
    // flags tell. The system calls are async-signal-safe (signal-safety(7)).
    unsafe {
        let was_sent = (*info).si_code <= 0;
        match action {
            libc::SIG_IGN if was_sent => {}
            libc::SIG_IGN | libc::SIG_DFL => {
                // A fault recurs as soon as this returns; a signal that was sent has to be raised again.
                libc::signal(signal, libc::SIG_DFL);
                if was_sent {
                    libc::raise(signal);
                }
            }
            action if flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = mem::transmute(action);
                handler(signal, info, context);
            }
            action => {
                let handler: extern "C" fn(c_int) = mem::transmute(action);
                handler(signal);
            }
        }
    }
}
