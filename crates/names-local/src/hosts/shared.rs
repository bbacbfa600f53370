//! A hosts file that many threads use while it is reloaded.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::thread;

use lycosa_url::Micros;

use super::{Hosts, HostsFile};

/// Files larger than this, which take more than a few milliseconds, are read on a separate thread.
const LARGE: u64 = 1 << 20;

/// A hosts file shared by threads. One of them reloads it after a change; the others use the previous content
/// meanwhile.
#[derive(Debug)]
pub struct SharedHosts {
    /// Locked while the file is read.
    file: Mutex<HostsFile>,
    /// The current content; locked only while a pointer is copied.
    hosts: RwLock<Arc<Hosts>>,
}

impl SharedHosts {
    /// Reads a file at the time `now`.
    ///
    /// # Errors
    ///
    /// Errors of reading the file.
    pub fn open(path: &Path, now: Micros) -> io::Result<Self> {
        let file = HostsFile::open(path, now)?;
        let hosts = RwLock::new(file.hosts().clone());
        Ok(SharedHosts { file: Mutex::new(file), hosts })
    }

    /// The content at the time `now`; checks for a change at most once a second. Returns the previous content
    /// while another thread reloads the file, while a large file is being reloaded, and if the file cannot be
    /// read.
    pub fn at(self: &Arc<Self>, now: Micros) -> Arc<Hosts> {
        if let Some(mut file) = self.idle_file()
            && let Some(size) = file.changed(now)
        {
            if size <= LARGE {
                self.reload(&mut file);
            } else {
                drop(file);
                let own = self.clone();
                // If no thread can be started, the next check tries again.
                let _ = thread::Builder::new()
                    .name("lycosa-hosts".to_owned())
                    .spawn(move || own.reload(&mut own.file.lock().unwrap_or_else(PoisonError::into_inner)));
            }
        }
        self.hosts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file, unless another thread has it locked.
    fn idle_file(&self) -> Option<MutexGuard<'_, HostsFile>> {
        match self.file.try_lock() {
            Ok(file) => Some(file),
            Err(TryLockError::Poisoned(file)) => Some(file.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Reloads the file.
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
        assert!(has(&hosts, "printer.lan"), "the previous content");
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
        assert!(has(&shared.at(5_000_000), "printer.lan"), "the previous content");
        let begun = Instant::now();
        while !has(&shared.at(5_000_000), "ads59999.example") {
            assert!(begun.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(5));
        }
    }
}
