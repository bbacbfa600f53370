//! Sharing of the file with other processes: writer IDs, locks, and detection of a truncated or replaced file.
//!
//! Each writer locks the byte of the file for its ID. The lock belongs to the open file description (fcntl(2)),
//! so that the kernel releases it however the process ends, and it works across containers and PID namespaces.
//! A reused ID gets another generation, so that a bucket locked by its previous owner is not attributed to the
//! new one. A forked child shares the writer-ID lock: until both processes have ended, their ID counts as
//! alive.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::{fmt, io};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::bucket::{WriterId, Writers};
use super::file::read_header;
use super::layout::WRITER_IDS;
use super::settings::CompactError;
use super::{CompactCache, PlaceOf};
use crate::cache::Seconds;

/// Offset of the locked bytes, far beyond any content. The first byte is the maintenance lock, the others are those of writer IDs.
const LOCKS: i64 = 1 << 50;

/// The open file, through which locks are taken and tested.
#[derive(Debug)]
pub(super) struct FileLocks(pub(super) File);

impl FileLocks {
    /// Waits for the maintenance lock: exclusive opening, sweeping and closing until [`Self::leave`].
    pub(super) fn enter(&self) -> io::Result<()> {
        loop {
            match fcntl(&self.0, FcntlArg::F_OFD_SETLKW(&range(libc::F_WRLCK, 0, 1))) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes the maintenance lock if it is free.
    pub(super) fn try_enter(&self) -> bool {
        self.lock(0)
    }

    /// Releases the maintenance lock.
    pub(super) fn leave(&self) {
        // Releasing an own lock cannot fail.
        let _ = fcntl(&self.0, FcntlArg::F_OFD_SETLK(&range(libc::F_UNLCK, 0, 1)));
    }

    /// Takes a free writer ID; `None` if there is none.
    pub(super) fn claim(&self, generations: &[AtomicU32]) -> Option<WriterId> {
        let id = (1..WRITER_IDS.min(generations.len())).find(|&id| self.lock(id as i64))?;
        let generation = generations[id].load(Acquire).wrapping_add(1);
        generations[id].store(generation, Release);
        Some(WriterId::new(id as u32, generation))
    }

    /// Whether no other open file description has a writer ID.
    pub(super) fn alone(&self) -> bool {
        self.is_free(1, WRITER_IDS as i64 - 1)
    }

    /// Locks a byte if it is free.
    fn lock(&self, byte: i64) -> bool {
        fcntl(&self.0, FcntlArg::F_OFD_SETLK(&range(libc::F_WRLCK, byte, 1))).is_ok()
    }

    /// Whether no other open file description has locked these bytes; false when in doubt.
    fn is_free(&self, first: i64, count: i64) -> bool {
        let mut lock = range(libc::F_WRLCK, first, count);
        fcntl(&self.0, FcntlArg::F_OFD_GETLK(&mut lock)).is_ok() && i32::from(lock.l_type) == libc::F_UNLCK
    }
}

/// A lock request for some of the bytes from [`LOCKS`].
fn range(kind: i32, first: i64, count: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: LOCKS + first,
        l_len: count,
        l_pid: 0,
    }
}

/// A writer's view of the other writers.
pub(super) struct WriterRegistry<'c> {
    /// The file; `None` for memory of this process only.
    pub(super) locks: Option<&'c FileLocks>,
    /// The current generation of each ID.
    pub(super) generations: &'c [AtomicU32],
    /// This process.
    pub(super) me: WriterId,
}

impl Writers for WriterRegistry<'_> {
    fn me(&self) -> WriterId {
        self.me
    }

    fn is_dead(&self, writer: WriterId) -> bool {
        if writer == self.me {
            return false; // another thread of this process
        }
        let Some(locks) = self.locks else { return true };
        let id = writer.id();
        let is_current = |generation: &AtomicU32| generation.load(Acquire) & 0x3ff == writer.generation();
        // Our ID with an earlier generation, an ID with a later generation, or one without a lock.
        id == self.me.id()
            || !self.generations.get(id as usize).is_some_and(is_current)
            || locks.is_free(id.into(), 1)
    }
}

/// How often the file is checked, in seconds.
const CHECK_EVERY: Seconds = 60;

/// Events of a cache's file while it was open; each is reported once, with the remedy.
#[derive(Default)]
pub struct Notices {
    lost: OnceLock<String>,
    replaced: OnceLock<String>,
    listener: OnceLock<Listener>,
}

/// A callback, run on the thread that detects the event.
type Listener = Box<dyn Fn(&str) + Send + Sync>;

impl Notices {
    /// Registers a callback for past and future events. It is called during a lookup, twice at most.
    pub fn listen(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        let listener = self.listener.get_or_init(|| Box::new(listener));
        [&self.lost, &self.replaced].into_iter().filter_map(OnceLock::get).for_each(|text| listener(text));
    }

    /// Set if the file was truncated or overwritten: the cache is empty and stays so.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Set if the file was removed or replaced: other processes no longer share it.
    pub fn replaced(&self) -> Option<&str> {
        self.replaced.get().map(String::as_str)
    }

    /// Reports an event, unless it was reported.
    fn report(&self, event: &OnceLock<String>, text: impl FnOnce() -> String) {
        if event.get().is_some() {
            return;
        }
        let text = text();
        if event.set(text.clone()).is_ok()
            && let Some(listener) = self.listener.get()
        {
            listener(&text);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Notices").field("lost", &self.lost).field("replaced", &self.replaced).finish()
    }
}

impl CompactCache {
    /// Checks the file if that is due.
    #[inline]
    pub(super) fn watch_file(&self, now: Seconds) {
        if now.abs_diff(self.checked.load(Relaxed)) >= CHECK_EVERY {
            self.check_file(now);
        }
    }

    /// Whether the file was truncated or overwritten; reports that once.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        let is_lost = self.map.is_lost();
        if is_lost {
            self.report_lost();
        }
        is_lost
    }

    /// Checks that the file is unchanged and that its path leads to it.
    #[cold]
    fn check_file(&self, now: Seconds) {
        self.checked.store(now, Relaxed);
        let (Some(locks), PlaceOf::File(path)) = (&self.locks, &self.place) else { return };
        if self.is_lost() {
            return;
        }
        match read_header(path, &locks.0) {
            Err(CompactError::Io { .. }) => {} // a disk error, possibly transient
            Ok(Some((header, _))) if header == self.header => self.check_path(path, &locks.0),
            // Foreign content must be neither read nor overwritten.
            _ => self.report_lost(),
        }
    }

    /// Checks that the path leads to the open file.
    fn check_path(&self, path: &Path, open: &File) {
        let inode = |found: fs::Metadata| (found.dev(), found.ino());
        let Ok(opened) = open.metadata().map(inode) else { return };
        let is_there = match fs::metadata(path) {
            Ok(found) => inode(found) == opened,
            Err(error) => error.kind() != io::ErrorKind::NotFound, // without permission this is unknown
        };
        if !is_there {
            self.notices.report(&self.notices.replaced, || {
                format!(
                    "{}: the file was removed or replaced: this process keeps using the file that it has open, which no other \
                     process can find; restart it to share the new file",
                    path.display()
                )
            });
        }
    }

    /// Stops using the file, and reports once that it was truncated or overwritten.
    #[cold]
    fn report_lost(&self) {
        self.notices.report(&self.notices.lost, || {
            // Also drops what concurrent writers stored after the handler replaced the mapping.
            self.map.lose();
            let path = match &self.place {
                PlaceOf::File(path) => path.display().to_string(),
                PlaceOf::Memory(_) => "memory".to_owned(),
            };
            format!(
                "{path}: the file was truncated or overwritten while it was open: this process caches no names any more; recreate the \
                 file with `lycosa cache rebuild {path}` and restart this program (replace a file that is in use \
                 with `mv`, never with `cp`)"
            )
        });
    }
}
