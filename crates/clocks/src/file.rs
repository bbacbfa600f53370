//! The file of a machine's clocks: opening it, and what stands in its header.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lycosa_mapped::Mapping;
use lycosa_url::Clock;
use nix::fcntl::{Flock, FlockArg, OFlag, posix_fallocate};

use crate::table::{BYTES, Clocks, origin_of};

/// Bytes before the first bucket.
pub(crate) const HEADER_BYTES: usize = 4_096;

/// What the file begins with; the last digits are the version of the layout.
const MAGIC: [u8; 16] = *b"lycosa-clocks-01";

/// Why the file of clocks cannot be used.
#[derive(Debug)]
pub enum OpenError {
    /// The system's error.
    Io(io::Error),
    /// It belongs to another user, or others may write to it.
    Foreign,
    /// It is not empty and has no header of this version.
    NotClocks,
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::Io(error) => error.fmt(f),
            OpenError::Foreign => f.write_str(
                "it belongs to another user, or others may write to it; remove it, or name another file",
            ),
            OpenError::NotClocks => {
                f.write_str("it is no file of clocks of this version; remove it, or name another file")
            }
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}

/// A file that is in use.
#[derive(Debug)]
pub(crate) struct Named {
    path: PathBuf,
    boot_id: Box<str>,
    /// Device and inode.
    identity: (u64, u64),
}

impl Clocks {
    /// The clocks in a file, which is made if it is missing. `boot_id`: of this start of the machine; a file of an earlier start is
    /// emptied.
    pub fn open(path: &Path, clock: &Clock, boot_id: &str) -> Result<Self, OpenError> {
        open(path, boot_id, origin_of(clock), FlockArg::LockExclusive)
    }

    /// The clocks that are now in the file, if it was removed, replaced or truncated while it was in use: crawls that begin from then on
    /// use them. `None`: it is the file in use, or they are in memory. Requests in flight end on the clocks on which they began.
    pub fn reopened(&self) -> Result<Option<Self>, OpenError> {
        let Some(Named { path, boot_id, identity }) = &self.named else { return Ok(None) };
        let is_there = std::fs::metadata(path).is_ok_and(|about| (about.dev(), about.ino()) == *identity);
        if is_there && !self.mapping.is_lost() {
            return Ok(None);
        }
        match open(path, boot_id, self.origin, FlockArg::LockExclusiveNonblock) {
            // Somebody prepares it now; the next look finds it.
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            opened => opened.map(Some),
        }
    }
}

/// Opens a file; `origin`: the crawl's time minus the time since the machine's start.
fn open(path: &Path, boot_id: &str, origin: i64, lock: FlockArg) -> Result<Clocks, OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits()).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != nix::unistd::geteuid().as_raw() || about.mode() & 0o022 != 0 {
        return Err(OpenError::Foreign);
    }
    let locked = Flock::lock(file, lock).map_err(|(_, errno)| io::Error::from(errno))?;
    prepare(&locked, boot_id)?;
    let mapping = Mapping::of_file(&locked, BYTES)?;
    let identity = (about.dev(), about.ino());
    let named = Named { path: path.to_owned(), boot_id: boot_id.into(), identity };
    Ok(Clocks::with(mapping, Some(named), origin))
}

/// Brings a file to its length and its header. The caller has its lock.
fn prepare(file: &File, boot_id: &str) -> Result<(), OpenError> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&lycosa_url::digest_of(boot_id));
    let mut found = vec![0; header.len()];
    let length = file.metadata()?.len();
    if length > 0 {
        let is_read = length as usize == BYTES && file.read_exact_at(&mut found, 0).is_ok();
        // Without a header: the process that made it died before it wrote one.
        let is_unfinished = found.iter().all(|byte| *byte == 0);
        if !is_read || !is_unfinished && found[..MAGIC.len()] != MAGIC {
            return Err(OpenError::NotClocks);
        }
        if found == header {
            return Ok(());
        }
        // Of an earlier start of the machine: its times mean nothing now.
        file.set_len(0)?;
    }
    // Allocated: a hole would be filled when it is first written, and a full file system ends that by SIGBUS.
    posix_fallocate(file, 0, BYTES as i64).map_err(io::Error::from)?;
    file.write_all_at(&header, 0)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claim, ClockKey};

    fn open(path: &Path, boot_id: &str) -> Result<Clocks, OpenError> {
        Clocks::open(path, &Clock::shared(), boot_id)
    }

    #[test]
    fn a_file_that_was_removed_or_truncated_while_it_was_in_use_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clocks");
        let first = open(&path, "a").unwrap();
        assert!(first.reopened().unwrap().is_none());
        std::fs::remove_file(&path).unwrap();
        let second = first.reopened().unwrap().unwrap();
        assert!(second.reopened().unwrap().is_none(), "it uses the new file");
        let other = open(&path, "a").unwrap();
        let (key, now) = (ClockKey::of(&lycosa_url::digest_of("a.com")), second.now());
        let claim = Claim { key, interval: 60_000_000, concurrency: 1, until: now + 60_000_000 };
        second.start(&claim, now).unwrap();
        assert!(other.start(&claim, now).is_err(), "both share it");
        std::fs::write(&path, b"").unwrap();
        let _ = second.start(&claim, now);
        assert!(second.reopened().unwrap().is_some());
        assert!(Clocks::in_memory(&Clock::shared()).unwrap().reopened().unwrap().is_none());
    }

    #[test]
    fn what_is_no_file_of_clocks_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clocks");
        std::fs::write(&path, b"somebody else's").unwrap();
        assert!(matches!(open(&path, "a"), Err(OpenError::NotClocks)));
        assert_eq!(std::fs::read(&path).unwrap(), b"somebody else's");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(open(&link, "a"), Err(OpenError::Io(_))), "a link may lead anywhere");
    }

    #[test]
    fn a_file_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clocks");
        drop(open(&path, "a").unwrap());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(open(&path, "a"), Err(OpenError::Foreign)));
    }
}
