//! The file of a machine's clocks: opening it, and what stands in its header.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use lycosa_mapped::Mapping;
use lycosa_url::Clock;
use nix::fcntl::{Flock, FlockArg, OFlag, posix_fallocate};

use crate::table::{BYTES, Clocks};

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

impl Clocks {
    /// The clocks in a file, which is made if it is missing. `boot_id`: of this start of the machine; a file of an earlier start is
    /// emptied.
    pub fn open(path: &Path, clock: &Clock, boot_id: &str) -> Result<Self, OpenError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits()).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.uid() != nix::unistd::geteuid().as_raw() || about.mode() & 0o022 != 0 {
            return Err(OpenError::Foreign);
        }
        let locked =
            Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| io::Error::from(errno))?;
        prepare(&locked, boot_id)?;
        let mapping = Mapping::of_file(&locked, BYTES)?;
        Ok(Clocks::with(mapping, clock))
    }
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

    fn open(path: &Path, boot_id: &str) -> Result<Clocks, OpenError> {
        Clocks::open(path, &Clock::shared(), boot_id)
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
