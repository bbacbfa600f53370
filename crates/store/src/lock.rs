//! Single-writer lock of a log; the operating system releases it when the process ends, however it ends.

#![allow(unsafe_code, reason = "close(2) in a forked child")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::libc;

use crate::error::LogError;

/// Descriptors of the locks that this process has: a forked child ([`crate::fork`]) closes its copies, since a lock lasts until all are
/// closed, and the parent may die before it.
static DESCRIPTORS: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// Lock of a log's directory, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Acquires the lock, or fails with the process id of its owner.
    pub(crate) fn take(directory: &Path) -> Result<Self, LogError> {
        let path = directory.join("lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(|error| LogError::of(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(LogError::InUse { path: directory.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(LogError::of(&path, error)),
        }
        // The process id serves error messages only: a full disk must not prevent opening the log.
        let text = format!("{}\n", std::process::id());
        drop(file.set_len(0).and_then(|()| file.write_all_at(text.as_bytes(), 0)));
        registered().push(file.as_raw_fd());
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let own = self.file.as_raw_fd();
        registered().retain(|descriptor| *descriptor != own);
        // Also where a forked child has a copy: the lock is the open file's.
        drop(self.file.unlock());
    }
}

/// The descriptors of all locks of this process.
pub(crate) fn descriptors() -> Vec<RawFd> {
    registered().clone()
}

/// Closes a forked child's copies of them.
pub(crate) fn close(descriptors: &[RawFd]) {
    for descriptor in descriptors {
        // SAFETY: only in a forked child, which uses no lock: no owner of the descriptor lives in this process.
        unsafe { libc::close(*descriptor) };
    }
}

fn registered() -> MutexGuard<'static, Vec<RawFd>> {
    DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner)
}
