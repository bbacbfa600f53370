//! A hosts file that many threads look names up in while it changes.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::thread;

use lycosa_url::Micros;

use super::{Hosts, HostsFile};

/// A file of more bytes, which takes longer than a few milliseconds, is read on a thread of its own.
const LARGE: u64 = 1 << 20;

/// A hosts file for many threads. One of them reads it when it has changed; the others go on with what was read before.
#[derive(Debug)]
pub struct SharedHosts {
    /// Held while the file is read.
    file: Mutex<HostsFile>,
    /// What was read last; held for as long as a pointer is copied.
    hosts: RwLock<Arc<Hosts>>,
}

impl SharedHosts {
    /// Reads a file, at this time.
    ///
    /// # Errors
    ///
    /// Those of reading it.
    pub fn open(path: &Path, now: Micros) -> io::Result<Self> {
        let file = HostsFile::open(path, now)?;
        let hosts = RwLock::new(file.hosts().clone());
        Ok(SharedHosts { file: Mutex::new(file), hosts })
    }

    /// What the file says at this time; looks at most once a second whether it has changed. While a large file, or one that another
    /// thread has begun with, is read anew, and where it cannot be read any more, this is what was read before.
    pub fn at(self: &Arc<Self>, now: Micros) -> Arc<Hosts> {
        if let Some(mut file) = self.idle_file()
            && let Some(size) = file.changed(now)
        {
            if size <= LARGE {
                self.reload(&mut file);
            } else {
                drop(file);
                let own = self.clone();
                // Without a thread the next look tries again.
                let _ = thread::Builder::new()
                    .name("lycosa-hosts".to_owned())
                    .spawn(move || own.reload(&mut own.file.lock().unwrap_or_else(PoisonError::into_inner)));
            }
        }
        self.hosts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file, unless a thread looks at it or reads it.
    fn idle_file(&self) -> Option<MutexGuard<'_, HostsFile>> {
        match self.file.try_lock() {
            Ok(file) => Some(file),
            Err(TryLockError::Poisoned(file)) => Some(file.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Reads the file again.
    fn reload(&self, file: &mut HostsFile) {
        if file.reload().is_ok() {
            *self.hosts.write().unwrap_or_else(PoisonError::into_inner) = file.hosts().clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use lycosa_names::HostName;

    use super::*;

    /// Whether a name is listed.
    fn has(hosts: &Hosts, name: &str) -> bool {
        hosts.has(HostName::new(name).unwrap())
    }

    #[test]
    fn nobody_waits_for_the_thread_that_reads_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        let shared = Arc::new(SharedHosts::open(&path, 0).unwrap());
        std::fs::write(&path, "192.0.2.7 scanner.lan").unwrap();
        let reading = shared.file.lock().unwrap();
        let (send, receive) = mpsc::channel();
        let other = shared.clone();
        thread::spawn(move || send.send(other.at(5_000_000)));
        let hosts = receive.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(has(&hosts, "printer.lan"), "what was read before");
        drop(reading);
        assert!(has(&shared.at(5_000_000), "scanner.lan"));
    }

    #[test]
    fn a_large_file_is_read_beside_the_lookups() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "192.0.2.7 printer.lan").unwrap();
        let shared = Arc::new(SharedHosts::open(&path, 0).unwrap());
        let lines: String = (0..60_000).map(|number| format!("0.0.0.0 ads{number}.example\n")).collect();
        assert!(lines.len() as u64 > LARGE);
        std::fs::write(&path, lines).unwrap();
        assert!(has(&shared.at(5_000_000), "printer.lan"), "what was read before");
        let begun = Instant::now();
        while !has(&shared.at(5_000_000), "ads59999.example") {
            assert!(begun.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(5));
        }
    }
}
