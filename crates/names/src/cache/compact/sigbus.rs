//! Mapped files that others cut: who touches what is no longer there finds empty memory, and not the end of the process.
//!
//! As systemd's journal does it (sigbus.c): one handler of SIGBUS for the process. For a fault within a mapped file of this table it
//! puts empty memory in the place of the whole mapping, notes that this one is lost, and returns. Any other SIGBUS goes to the
//! handler of before. The handler takes no lock and no memory; what it calls are system calls.
//!
//! With `map` the one file of this crate with `unsafe`.

#![allow(unsafe_code, reason = "a signal handler, and memory mapped in the place of other memory")]

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::errno::Errno;
use nix::libc::{self, c_int, c_void, sigaction, siginfo_t};

/// Files that a process has mapped at a time, at most: the table cannot grow under a signal.
const MOST: usize = 1_024;

/// A mapped file, or a free place of the table.
struct Entry {
    /// Where it begins; 0: the place is free.
    start: AtomicUsize,
    /// Its length; 0 while the place is taken or given back.
    bytes: AtomicUsize,
    is_lost: AtomicBool,
}

/// All mapped files that are watched.
static TABLE: [Entry; MOST] = [const {
    Entry { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), is_lost: AtomicBool::new(false) }
}; MOST];

/// What was done about SIGBUS before; set before the handler is.
static BEFORE: OnceLock<sigaction> = OnceLock::new();

/// The watch over a mapped file: its place in the table.
#[derive(Debug)]
pub(super) struct Watch(usize);

impl Watch {
    /// Watches a mapped file.
    ///
    /// # Safety
    ///
    /// The caller has mapped these bytes, readable and writable, reaches them through raw pointers by atomic operations only, and drops
    /// the watch before it unmaps them.
    pub(super) unsafe fn over(start: *mut u8, bytes: usize) -> io::Result<Watch> {
        install()?;
        let taken = TABLE
            .iter()
            .position(|entry| entry.start.compare_exchange(0, start as usize, AcqRel, Relaxed).is_ok());
        let Some(number) = taken else {
            return Err(io::Error::other(format!("{MOST} caches of names are open already: close some")));
        };
        TABLE[number].is_lost.store(false, Relaxed);
        TABLE[number].bytes.store(bytes, Release);
        Ok(Watch(number))
    }

    /// Whether empty memory took its place.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        TABLE[self.0].is_lost.load(Relaxed)
    }

    /// Puts empty memory in its place.
    pub(super) fn lose(&self) {
        let entry = &TABLE[self.0];
        replace(entry, entry.start.load(Acquire), entry.bytes.load(Acquire));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        TABLE[self.0].bytes.store(0, Release);
        TABLE[self.0].start.store(0, Release);
    }
}

/// Sets the handler, once a process.
fn install() -> io::Result<()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: all zeros are a valid `sigaction`; both are of this frame; the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut before: sigaction = mem::zeroed();
        Errno::result(libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before))?;
        BEFORE.get_or_init(|| before);
        let mut action: sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        Errno::result(libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()))?;
    }
    Ok(())
}

/// The handler.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel gives a valid `info`; of a fault (BUS_ADRERR) it has an address.
    let fault = unsafe { ((*info).si_code == libc::BUS_ADRERR).then(|| (*info).si_addr() as usize) };
    if let Some((entry, start, bytes)) = fault.and_then(find)
        && replace(entry, start, bytes)
    {
        return;
    }
    pass_on(signal, info, context);
}

/// The mapped file within which an address lies, with its start and length. Its entry does not change while it is in use; those of
/// others may, so that two looks have to agree.
fn find(address: usize) -> Option<(&'static Entry, usize, usize)> {
    TABLE.iter().find_map(|entry| {
        let look = || (entry.bytes.load(Acquire), entry.start.load(Acquire));
        let (bytes, start) = look();
        let is_it = bytes > 0 && address >= start && address - start < bytes && look() == (bytes, start);
        is_it.then_some((entry, start, bytes))
    })
}

/// Puts empty memory in the place of a mapped file, for all threads at once; tells whether that was possible.
fn replace(entry: &Entry, start: usize, bytes: usize) -> bool {
    let errno = Errno::last_raw();
    // SAFETY: start and bytes are those of one mapping, which its owner keeps for as long as it is in the table, and
    // reaches through raw pointers by atomic operations only; zeros are valid words.
    let mapped = unsafe {
        libc::mmap(
            ptr::with_exposed_provenance_mut(start),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    let is_done = mapped != libc::MAP_FAILED;
    if is_done {
        entry.is_lost.store(true, Relaxed);
    }
    Errno::set_raw(errno);
    is_done
}

/// Does what was done before there was this handler.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let (action, flags) =
        BEFORE.get().map_or((libc::SIG_DFL, 0), |before| (before.sa_sigaction, before.sa_flags));
    // SAFETY: `info` is the kernel's. A handler that is neither of the two constants is a function with the signature that its
    // flags tell. The system calls are those that a handler may make (signal-safety(7)).
    unsafe {
        let was_sent = (*info).si_code <= 0;
        match action {
            libc::SIG_IGN if was_sent => {}
            libc::SIG_IGN | libc::SIG_DFL => {
                // A fault comes again as soon as this returns; what was sent has to be sent again.
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
