//! The calls that a full disk fails, in one place, so that tests can make the disk full.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The disk under the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    /// What a test lets go wrong.
    #[cfg(test)]
    pub(crate) faults: std::sync::Arc<Faults>,
}

impl Disk {
    /// Writes at an offset; what was written before an error stays.
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

    /// Brings a file's content and length to the disk.
    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        #[cfg(test)]
        self.faults.sync(file)?;
        file.sync_data()
    }
}

/// A disk that fills up, and one that loses what it could not bring to the platter.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Faults {
    /// Bytes that may still be written.
    pub(crate) room: std::sync::atomic::AtomicUsize,
    /// Whether syncing fails, and with which error of the system.
    pub(crate) sync_fails: std::sync::atomic::AtomicBool,
    pub(crate) number: std::sync::atomic::AtomicI32,
    /// Calls to sync.
    pub(crate) syncs: std::sync::atomic::AtomicUsize,
}

#[cfg(test)]
impl Default for Faults {
    fn default() -> Self {
        Faults { room: usize::MAX.into(), sync_fails: false.into(), number: 28.into(), syncs: 0.into() }
    }
}

#[cfg(test)]
impl Faults {
    /// Uses up room; gives how many of the wanted bytes there was room for.
    fn take(&self, wanted: usize) -> usize {
        use std::sync::atomic::Ordering::SeqCst;
        let room = self.room.load(SeqCst);
        let taken = wanted.min(room);
        if room != usize::MAX {
            self.room.store(room - taken, SeqCst);
        }
        taken
    }

    /// Fails if it shall.
    fn sync(&self, _file: &File) -> io::Result<()> {
        use std::sync::atomic::Ordering::SeqCst;
        self.syncs.fetch_add(1, SeqCst);
        match self.sync_fails.load(SeqCst) {
            true => Err(io::Error::from_raw_os_error(self.number.load(SeqCst))),
            false => Ok(()),
        }
    }
}
