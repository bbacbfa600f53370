//! Group commit: one thread syncs the appended batches to the disk, many at once.
//!
//! Guarantees: the log up to [`Commits::committed`] survives a power cut; a commit begins at the latest when `bytes`
//! are waiting or the oldest of them has waited for `interval`; while commits fail, appends are refused and commits
//! are retried until they succeed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Position;
use crate::behind::Behind;
use crate::disk::Disk;
use crate::error::LogError;
use crate::reader::{Bodies, Reader};
use crate::segment;

/// Delay before a failed commit is retried.
const RETRY: Duration = Duration::from_secs(1);

/// Bounds that trigger a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Maximum of waiting bytes.
    pub(crate) bytes: u64,
    /// Maximum time that the oldest of them waits.
    pub(crate) interval: Duration,
}

impl Bounds {
    /// Time until a commit is due, for this number of waiting bytes, the oldest waiting since `since`.
    fn pause(&self, bytes: u64, since: Instant, now: Instant) -> Duration {
        if bytes >= self.bytes {
            return Duration::ZERO;
        }
        self.interval.saturating_sub(now.saturating_duration_since(since))
    }
}

/// The writer's side: reports writes, and waits for durability.
#[derive(Debug)]
pub(crate) struct Commits {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by the writer and the thread.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    bounds: Bounds,
    disk: Disk,
    /// Followers read it without a lock; it is changed only while `state` is locked.
    committed: Arc<AtomicU64>,
    state: Mutex<State>,
    changed: Condvar,
}

/// Copyable part of an I/O error, so that the error can be returned repeatedly.
#[derive(Clone, Copy, Debug)]
struct Failure {
    kind: io::ErrorKind,
    number: Option<i32>,
}

impl Failure {
    /// Copies the kind and `errno` of an error.
    fn of(error: &io::Error) -> Self {
        Failure { kind: error.kind(), number: error.raw_os_error() }
    }

    /// Rebuilds the error.
    fn error(self) -> io::Error {
        self.number.map_or_else(|| self.kind.into(), io::Error::from_raw_os_error)
    }
}

/// A file that is not the log's and that is to be durable with it.
#[derive(Debug)]
struct Beside {
    file: File,
    directory: PathBuf,
    /// Whether its pages may be marked clean although they are not on the disk.
    has_failed: bool,
}

/// Work to commit: the writer adds to it, the commit thread takes from it.
#[derive(Debug)]
struct State {
    /// The newest segment and its start; all older ones are committed.
    segment: (Arc<File>, Position),
    /// End of the last complete batch.
    written: Position,
    /// When the oldest uncommitted write happened.
    since: Option<Instant>,
    /// Whether the writer waits for a commit.
    urgent: bool,
    /// Other files that are to be durable; whether some are being synced; and the error of that since the last request.
    beside: Vec<Beside>,
    syncs_beside: bool,
    beside_failure: Option<Failure>,
    /// Error of the last commit, if it failed.
    failure: Option<Failure>,
    /// Number of failed commits.
    failures: u64,
    /// Whether unsynced data is lost from the page cache too.
    lost: bool,
    ending: bool,
}

impl Commits {
    /// Starts the commit thread; the log is durable up to `end`.
    pub(crate) fn start(
        directory: PathBuf,
        segment: (Arc<File>, Position),
        end: Position,
        bounds: Bounds,
        disk: Disk,
    ) -> io::Result<Self> {
        let state = State {
            segment,
            written: end,
            since: None,
            urgent: false,
            beside: Vec::new(),
            syncs_beside: false,
            beside_failure: None,
            failure: None,
            failures: 0,
            lost: false,
            ending: false,
        };
        let committed = Arc::new(AtomicU64::new(end));
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { directory, bounds, disk, committed, state, changed });
        let thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("lycosa-log".into()).spawn(move || thread.run())?;
        Ok(Commits { shared, thread: Some(thread) })
    }

    /// The durable position, for followers.
    pub(crate) fn committed(&self) -> &Arc<AtomicU64> {
        &self.shared.committed
    }

    /// Fails while commits fail: further appends might never become durable.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.shared.check(&self.shared.lock())
    }

    /// Reports that a batch ends at a position.
    pub(crate) fn written(&self, end: Position) {
        let mut state = self.shared.lock();
        state.written = end;
        let waiting = end - self.shared.committed.load(Ordering::Acquire);
        // Wakes the thread to start its interval or to commit at once, not for each batch between.
        if state.since.is_none() || waiting >= self.shared.bounds.bytes {
            state.since.get_or_insert_with(Instant::now);
            self.shared.changed.notify_all();
        }
    }

    /// Switches to a new segment; the old one must be committed.
    pub(crate) fn enter(&self, segment: (Arc<File>, Position), end: Position) {
        let mut state = self.shared.lock();
        (state.segment, state.written, state.since) = (segment, end, None);
        self.shared.committed.store(end, Ordering::Release);
    }

    /// Has everything written so far committed at once, and a file with its directory before it, without waiting for that. Files whose
    /// sync failed before are written again.
    pub(crate) fn request(&self, beside: Option<(File, PathBuf)>) {
        let mut state = self.shared.lock();
        (state.urgent, state.beside_failure) = (true, None);
        state.beside.extend(beside.map(|(file, directory)| Beside { file, directory, has_failed: false }));
        self.shared.changed.notify_all();
    }

    /// Whether everything before a position is durable, and all files beside; or the error of these.
    pub(crate) fn is_durable(&self, position: Position) -> io::Result<bool> {
        let state = self.shared.lock();
        match state.beside_failure {
            Some(failure) => Err(failure.error()),
            None => Ok(state.beside.is_empty()
                && !state.syncs_beside
                && self.shared.committed.load(Ordering::Acquire) >= position),
        }
    }

    /// Commits everything written so far, and waits for it.
    pub(crate) fn commit(&self) -> Result<(), LogError> {
        let mut state = self.shared.lock();
        // Returns the next failure, or at once if data is lost.
        let (written, failures) = (state.written, state.failures - u64::from(state.lost));
        while self.shared.committed.load(Ordering::Acquire) < written {
            if state.failure.is_some() && state.failures > failures {
                return self.shared.check(&state);
            }
            state.urgent = true;
            self.shared.changed.notify_all();
            state = self.shared.wait(state, None);
        }
        Ok(())
    }
}

impl Drop for Commits {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Shared {
    /// Main loop of the thread: waits until a commit is due, commits, and retries after a failure.
    fn run(&self) {
        let mut behind = Behind::new(&self.directory);
        let mut state = self.lock();
        loop {
            state = self.wait_until_due(state);
            let committed = self.committed.load(Ordering::Acquire);
            let (written, failed, ending) = (state.written, state.failure.is_some(), state.ending);
            if !state.beside.is_empty() && state.beside_failure.is_none() && !state.lost {
                state = self.sync_beside(state);
            }
            if written > committed && !state.lost {
                let (file, start) = state.segment.clone();
                (state.since, state.urgent) = (None, false);
                drop(state);
                let result = if failed { self.write_again(&file, start, committed..written) } else { Ok(()) };
                let result = result.and_then(|()| self.disk.sync(&file));
                if result.is_ok() {
                    behind.committed(start, written);
                }
                state = self.lock();
                self.finish(&mut state, written, result);
            }
            if ending {
                return;
            }
        }
    }

    /// Syncs the files beside. After an error they are tried again with the next request.
    fn sync_beside<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut files = std::mem::take(&mut state.beside);
        (state.syncs_beside, state.urgent) = (true, false);
        drop(state);
        let mut failure = None;
        files.retain_mut(|beside| match self.sync_one(beside) {
            Ok(()) => false,
            Err(error) => {
                failure = Some(Failure::of(&error));
                true
            }
        });
        let mut state = self.lock();
        state.beside.extend(files);
        (state.syncs_beside, state.beside_failure) = (false, failure.or(state.beside_failure));
        state
    }

    /// Makes a file beside durable.
    fn sync_one(&self, beside: &mut Beside) -> io::Result<()> {
        let Beside { file, directory, has_failed } = beside;
        if std::mem::replace(has_failed, true) {
            self.rewrite(file, 0..file.metadata()?.len())?;
        }
        self.disk.sync(file)?;
        segment::sync_directory(directory)
    }

    /// Waits until a commit is due or the log is closed.
    fn wait_until_due<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        loop {
            let waiting = state.written - self.committed.load(Ordering::Acquire);
            let wants_beside = !state.beside.is_empty() && state.beside_failure.is_none();
            if state.ending || state.urgent && (waiting > 0 || wants_beside) && !state.lost {
                return state;
            }
            let pause = match (state.since, state.failure) {
                _ if waiting == 0 || state.lost => None,
                (None, _) => None,
                (Some(since), None) => Some(self.bounds.pause(waiting, since, Instant::now())),
                (Some(since), Some(_)) => Some(RETRY.saturating_sub(since.elapsed())),
            };
            if pause == Some(Duration::ZERO) {
                return state;
            }
            state = self.wait(state, pause);
        }
    }

    /// Records the result of a commit.
    fn finish(&self, state: &mut State, written: Position, result: io::Result<()>) {
        match result {
            Ok(()) => {
                self.committed.store(written, Ordering::Release);
                state.failure = None;
            }
            Err(error) => {
                state.lost = error.kind() == io::ErrorKind::InvalidData;
                state.failure = Some(Failure::of(&error));
                state.failures += 1;
            }
        }
        if state.written > self.committed.load(Ordering::Acquire) {
            state.since.get_or_insert_with(Instant::now);
        }
        self.changed.notify_all();
    }

    /// Rewrites what a failed sync may have dropped: Linux marks pages clean after a write error, so that a second
    /// sync alone would succeed without writing them.
    fn write_again(&self, file: &File, start: Position, range: std::ops::Range<Position>) -> io::Result<()> {
        let lost = || io::Error::from(io::ErrorKind::InvalidData);
        let mut reader = Reader::open_at(&self.directory, range.start, Bodies::All).map_err(|_| lost())?;
        while reader.position() < range.end {
            reader.next_frame().map_err(|_| lost())?.ok_or_else(lost)?;
        }
        self.rewrite(file, range.start - start..range.end - start)
    }

    /// Writes bytes of a file again, as the page cache has them.
    fn rewrite(&self, file: &File, range: std::ops::Range<u64>) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        let mut at = range.start;
        while at < range.end {
            let left = usize::try_from(range.end - at).unwrap_or(usize::MAX);
            let part = left.min(buffer.len());
            file.read_exact_at(&mut buffer[..part], at)?;
            self.disk.write(file, &buffer[..part], at)?;
            at += part as u64;
        }
        Ok(())
    }

    /// The error of the last commit, if it failed.
    fn check(&self, state: &State) -> Result<(), LogError> {
        let path = &self.directory;
        match state.failure {
            None => Ok(()),
            Some(_) if state.lost => {
                let position = self.committed.load(Ordering::Acquire);
                Err(LogError::Damaged { path: path.clone(), position })
            }
            Some(failure) => Err(LogError::of(path, failure.error())),
        }
    }

    /// Waits for a change, at most for `pause`; `None` waits without limit.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, pause: Option<Duration>) -> MutexGuard<'a, State> {
        match pause {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(pause) => self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// Locks the state. It is consistent between calls, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_due_by_the_oldest_byte_or_by_their_number() {
        let bounds = Bounds { bytes: 1000, interval: Duration::from_millis(200) };
        let since = Instant::now();
        let pause = |bytes, ms| bounds.pause(bytes, since, since + Duration::from_millis(ms));
        assert_eq!(pause(1, 0), Duration::from_millis(200));
        assert_eq!(pause(999, 150), Duration::from_millis(50));
        assert_eq!(pause(1, 200), Duration::ZERO);
        assert_eq!(pause(1, 5000), Duration::ZERO, "a clock that jumped makes the commit due at once");
        assert_eq!(pause(1000, 0), Duration::ZERO);
    }
}
