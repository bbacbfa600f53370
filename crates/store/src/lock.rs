//! Single-writer lock of a log; the operating system releases it when the process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::LogError;

/// Lock of a log's directory, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
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
        Ok(Lock { _file: file })
    }
}
