//! The disk operations that can fail when the disk is full, so that tests can inject faults.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::fcntl::{FallocateFlags, fallocate};

/// The disk under the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    /// Faults injected by a test.
    #[cfg(test)]
    pub(crate) faults: std::sync::Arc<Faults>,
}

impl Disk {
    /// Writes at an offset. After an error, a part may have been written.
    pub(crate) fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(test)]
        let bytes = {
            let allowed = self.faults.take(bytes.len());
            if allowed < bytes.len() {
                file.write_all_at(&bytes[..allowed], offset)?;
                return Err(io::ErrorKind::StorageFull.into());
            }
            bytes
        };
        file.write_all_at(bytes, offset)
    }

    /// Reserves space for bytes of a file from an offset on; its length stays. Returns whether that is done: not each file system can,
    /// and a disk may be almost full.
    pub(crate) fn reserve(&self, file: &File, offset: u64, bytes: u64) -> bool {
        let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) else { return false };
        fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, offset, bytes).is_ok()
    }

    /// Makes a file's content and length durable.
    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        #[cfg(test)]
        self.faults.sync(file)?;
        file.sync_data()
    }
}

/// Injected faults: a full disk, and a failing sync.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Faults {
    /// Free bytes.
    pub(crate) space: std::sync::atomic::AtomicUsize,
    /// Whether sync fails, and with which `errno`.
    pub(crate) sync_fails: std::sync::atomic::AtomicBool,
    pub(crate) number: std::sync::atomic::AtomicI32,
    /// Number of sync calls.
    pub(crate) syncs: std::sync::atomic::AtomicUsize,
}

#[cfg(test)]
impl Default for Faults {
    fn default() -> Self {
        Faults { space: usize::MAX.into(), sync_fails: false.into(), number: 28.into(), syncs: 0.into() }
    }
}

#[cfg(test)]
impl Faults {
    /// Uses free bytes; returns how many of the wanted bytes fit.
    fn take(&self, wanted: usize) -> usize {
        use std::sync::atomic::Ordering::SeqCst;
        let space = self.space.load(SeqCst);
        let taken = wanted.min(space);
        if space != usize::MAX {
            self.space.store(space - taken, SeqCst);
        }
        taken
    }

    /// Counts the call; fails if the test asks for it.
    fn sync(&self, _file: &File) -> io::Result<()> {
        use std::sync::atomic::Ordering::SeqCst;
        self.syncs.fetch_add(1, SeqCst);
        match self.sync_fails.load(SeqCst) {
            true => Err(io::Error::from_raw_os_error(self.number.load(SeqCst))),
            false => Ok(()),
        }
    }
}
