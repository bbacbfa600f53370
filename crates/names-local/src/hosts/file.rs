//! A hosts file that is reloaded when it changes.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lycosa_url::Micros;
use nix::libc::O_NONBLOCK;

use super::{Hosts, MAX_FILE};

/// Minimum time between two checks for a change, in microseconds.
const PAUSE: Micros = 1_000_000;

impl Hosts {
    /// Reads a file. A missing file counts as empty, as in libc. Rejects files of more than 64 MiB and files
    /// that are not regular: reading a pipe might never end.
    pub fn read(path: &Path) -> io::Result<Self> {
        load(path).map(|(hosts, _)| hosts)
    }
}

/// A hosts file and its parsed content.
#[derive(Debug)]
pub struct HostsFile {
    path: PathBuf,
    hosts: Arc<Hosts>,
    /// Identifies the version read; `None` if the file does not exist.
    stamp: Option<Stamp>,
    /// When it was last checked.
    looked: Micros,
}

impl HostsFile {
    /// Reads a file at the time `now`.
    pub fn open(path: &Path, now: Micros) -> io::Result<Self> {
        let (hosts, stamp) = load(path)?;
        Ok(HostsFile { path: path.to_owned(), hosts: Arc::new(hosts), stamp, looked: now })
    }

    /// The parsed content.
    pub fn hosts(&self) -> &Arc<Hosts> {
        &self.hosts
    }

    /// Reloads the file if it has changed; checks at most once a second. Returns whether it was reloaded. On
    /// an error, which names the file, the previous content stays; the next check tries again.
    pub fn refresh(&mut self, now: Micros) -> io::Result<bool> {
        match self.changed(now) {
            Some(_) => self.reload().map(|()| true),
            None => Ok(false),
        }
    }

    /// The size in bytes of the file if it has changed, 0 if the size is unknown; checks at most once a
    /// second.
    pub(crate) fn changed(&mut self, now: Micros) -> Option<u64> {
        if now.abs_diff(self.looked) < PAUSE {
            return None;
        }
        self.looked = now;
        match std::fs::metadata(&self.path) {
            Ok(metadata) if self.stamp == Some(Stamp::of(&metadata)) => None,
            Ok(metadata) => Some(metadata.size()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.stamp.is_none() => None,
            Err(_) => Some(0), // opening it reports the error
        }
    }

    /// Reloads the file. On an error, which names the file, the previous content stays.
    pub(crate) fn reload(&mut self) -> io::Result<()> {
        let (hosts, stamp) = load(&self.path)?;
        (self.hosts, self.stamp) = (Arc::new(hosts), stamp);
        Ok(())
    }
}

/// Metadata that changes when a file is written or replaced.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Inode change time, likewise: some programs set the modification time.
    changed: (i64, i64),
    /// Device and inode.
    file: (u64, u64),
}

impl Stamp {
    /// The stamp of a file.
    fn of(metadata: &Metadata) -> Self {
        Stamp {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            file: (metadata.dev(), metadata.ino()),
        }
    }
}

/// Reads a file. The stamp is taken first, so that a change during reading is detected later.
fn load(path: &Path) -> io::Result<(Hosts, Option<Stamp>)> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    // O_NONBLOCK: opening a pipe without a writer must not block.
    let file = match OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Hosts::default(), None)),
        Err(error) => return Err(named(error)),
    };
    let metadata = file.metadata().map_err(named)?;
    if !metadata.is_file() {
        return Err(named(io::Error::other(
            "a hosts file has to be a regular file, not a directory, a pipe or a device",
        )));
    }
    if metadata.size() > MAX_FILE {
        return Err(named(too_large(metadata.size())));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(named)?; // the file may have grown
    Ok((Hosts::parse(&bytes).map_err(named)?, Some(Stamp::of(&metadata))))
}

/// The error for a file that is too large.
pub(super) fn too_large(size: u64) -> io::Error {
    let why = format!("a hosts file of {size} bytes; at most {MAX_FILE} (64 MiB) are allowed");
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use lycosa_names::Families;
    use lycosa_names::HostName;

    /// The addresses of `printer.lan`, as text.
    fn printer(file: &HostsFile) -> Option<Vec<String>> {
        let name = HostName::new("printer.lan").unwrap();
        let addresses = file.hosts().addresses(name, Families::Both)?;
        Some(addresses.iter().map(ToString::to_string).collect())
    }

    /// One address.
    fn only(address: &str) -> Option<Vec<String>> {
        Some(vec![address.to_owned()])
    }

    #[test]
    fn a_change_is_found_when_a_second_has_passed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        let mut file = HostsFile::open(&path, 5_000_000).unwrap();
        assert_eq!(printer(&file), only("192.0.2.7"));
        std::fs::write(&path, "192.0.2.77 printer.lan").unwrap();
        let held = file.hosts().clone();
        assert!(!file.refresh(5_999_999).unwrap());
        assert_eq!(printer(&file), only("192.0.2.7"));
        assert!(file.refresh(6_000_000).unwrap());
        assert_eq!(printer(&file), only("192.0.2.77"));
        assert!(!file.refresh(9_000_000).unwrap(), "unchanged since");
        assert!(Arc::strong_count(&held) == 1, "a clone of the old content stays valid");
    }

    #[test]
    fn another_file_of_the_same_size_in_its_place_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let (path, new) = (folder.path().join("hosts"), folder.path().join("new"));
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        let mut file = HostsFile::open(&path, 0).unwrap();
        std::fs::write(&new, "192.0.2.8 printer.lan").unwrap();
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        File::options().append(true).open(&new).unwrap().set_modified(modified).unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert!(file.refresh(PAUSE).unwrap());
        assert_eq!(printer(&file), only("192.0.2.8"));
    }

    #[test]
    fn a_file_may_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        let mut file = HostsFile::open(&path, 0).unwrap();
        assert!(file.hosts().is_empty());
        assert!(!file.refresh(PAUSE).unwrap());
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        assert!(file.refresh(2 * PAUSE).unwrap());
        assert_eq!(printer(&file), only("192.0.2.7"));
        std::fs::remove_file(&path).unwrap();
        assert!(file.refresh(3 * PAUSE).unwrap());
        assert_eq!(printer(&file), None);
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_and_the_older_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        let mut file = HostsFile::open(&path, 0).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(MAX_FILE + 1).unwrap(); // sparse
        for now in [PAUSE, 2 * PAUSE] {
            let error = file.refresh(now).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()), "{error}");
            assert!(error.contains("67108865 bytes; at most 67108864 (64 MiB)"), "{error}");
        }
        assert_eq!(printer(&file), only("192.0.2.7"));
        assert_eq!(Hosts::read(&path).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let error = Hosts::read(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with(&folder.path().display().to_string()), "{error}");
    }

    #[test]
    fn a_clock_that_steps_back_does_not_stop_the_looking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        let mut file = HostsFile::open(&path, 1_000 * PAUSE).unwrap();
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        assert!(file.refresh(0).unwrap());
    }

    /// Result of work that must not block.
    fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || send.send(work()));
        receive.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    #[test]
    fn a_pipe_or_a_device_is_refused_at_once_and_later_the_older_content_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (folder.path().join("hosts"), folder.path().join("pipe"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for refused in [pipe.clone(), "/dev/zero".into(), folder.path().to_owned()] {
            let read = refused.clone();
            let error = at_once(move || Hosts::read(&read)).unwrap_err().to_string();
            let wanted = format!("{}: a hosts file has to be a regular file", refused.display());
            assert!(error.starts_with(&wanted), "{error}");
        }
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        let mut file = HostsFile::open(&path, 0).unwrap();
        std::fs::rename(&pipe, &path).unwrap();
        let (mut file, result) = at_once(move || {
            let result = file.refresh(PAUSE);
            (file, result)
        });
        assert!(result.unwrap_err().to_string().contains("regular file"));
        assert_eq!(printer(&file), only("192.0.2.7"));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "192.0.2.8 printer.lan").unwrap();
        assert!(file.refresh(2 * PAUSE).unwrap());
        assert_eq!(printer(&file), only("192.0.2.8"));
    }
}
