//! Memory that processes share: a mapped file as atomic words, and the SIGBUS handler for truncated files.
//!
//! [`Mapping`] gives slices of atomic words over a mapped file or anonymous memory. If the file is truncated while it is mapped, the
//! process-wide SIGBUS handler replaces the whole mapping by zeroed anonymous memory (as in systemd's journal, sigbus.c) and marks it
//! lost; a SIGBUS at any other address goes to the previous handler. The handler takes no lock, allocates nothing and calls system
//! calls only.

#![allow(unsafe_code, reason = "memory mapped through raw pointers, and a signal handler that replaces it")]

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{io, mem, ptr, slice};

use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::libc::{self, c_int, c_void, sigaction, siginfo_t};

/// Mapped memory as atomic words; other processes may write to it at any time.
#[derive(Debug)]
pub struct Mapping {
    /// `None` for anonymous memory. Declared before `map`, so that it is dropped before the memory is unmapped.
    watch: Option<Watch>,
    map: MmapRaw,
    bytes: usize,
}

impl Mapping {
    /// Maps the first bytes of a file, which are allocated.
    pub fn of_file(file: &File, bytes: usize) -> io::Result<Self> {
        Mapping::watched(MmapOptions::new().len(bytes).map_raw(file)?, bytes)
    }

    /// Maps the first bytes of a file copy-on-write: writes stay in this process.
    pub fn copy_of_file(file: &File, bytes: usize) -> io::Result<Self> {
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
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        let map = MmapRaw::from(MmapMut::map_anon(bytes)?);
        // Lookups are random accesses: huge pages save page walks. Best effort.
        drop(map.advise(Advice::HugePage));
        Ok(Mapping { watch: None, map, bytes })
    }

    /// Whether the file was truncated or given up, so that this is anonymous memory now.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| TABLE[watch.0].is_lost.load(Relaxed))
    }

    /// Gives the file up: replaces its mapping by zeroed anonymous memory.
    pub fn lose(&self) {
        if let Some(Watch(index)) = self.watch {
            let entry = &TABLE[index];
            replace(entry, entry.start.load(Acquire), entry.bytes.load(Acquire));
        }
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The words in a range of bytes, clipped to the mapping, as words of 64 and of 32 bits. Each location is used in one width only.
    #[inline]
    pub fn words(&self, bytes: Range<u64>) -> (&[AtomicU64], &[AtomicU32]) {
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
    pub fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }

    /// Flushes the header page to the disk.
    pub fn flush_header(&self) -> io::Result<()> {
        self.map.flush_range(0, 4_096.min(self.bytes))
    }
}

/// Prefetches the cache line of a word.
#[inline]
pub fn prefetch(word: &AtomicU64) {
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
            let text = format!("{MAX_WATCHED} files are mapped already: close some");
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
