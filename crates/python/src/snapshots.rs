//! Where the log and the frontier meet: snapshots, and restoring from them and the rest of the log.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lycosa_frontier::SnapshotFiles;
use lycosa_store::{Bodies, LogError, Position, Reader, Summary, first_position};
use pyo3::prelude::*;

use crate::errors::{self, lock};
use crate::frontier::Frontier;
use crate::job::{Job, seconds};
use crate::store::{Log, replay};

/// A snapshot is not due before the log has grown by this many times the size of the one before: writing them costs
/// at most half of what the log costs, however large the frontier is.
const GROWTH: u64 = 2;

/// The frontier's snapshots: all views of the log at one of its positions, together.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Snapshots {
    state: Mutex<State>,
    bytes: u64,
    interval: Duration,
    max_decoded_bytes: usize,
}

/// What is there, and when the next is due.
struct State {
    snapshots: lycosa_store::Snapshots,
    /// The files that the kept ones name, by position.
    kept: Vec<(Position, SnapshotFiles)>,
    last: Position,
    last_size: u64,
    made: Instant,
}

#[pymethods]
impl Snapshots {
    #[new]
    fn new(py: Python<'_>, directory: PathBuf, log: &Log, job: Job) -> PyResult<Self> {
        let opened = py.detach(|| lycosa_store::Snapshots::open(&directory, lock(&log.inner).0.end()));
        let snapshots = opened.map_err(|error| errors::log(&error))?;
        let state = State { snapshots, kept: Vec::new(), last: 0, last_size: 0, made: Instant::now() };
        let (bytes, interval) = job.snapshots();
        let (state, interval, max_decoded_bytes) =
            (Mutex::new(state), seconds(interval), job.max_decoded_bytes());
        Ok(Snapshots { state, bytes, interval, max_decoded_bytes })
    }

    /// Restores a frontier that is empty from the newest whole snapshot and the log after it; gives the number of
    /// records that were read.
    fn restore(&self, py: Python<'_>, log: &Log, frontier: &Frontier) -> PyResult<u64> {
        py.detach(|| lock(&self.state).restore(log, frontier, self.max_decoded_bytes))
            .map_err(|error| errors::log(&error))
    }

    /// Makes a snapshot if the log has grown enough and enough time has passed. Nothing may be between its record in
    /// the log and its confirmation. A full disk is no error: the snapshots before serve on.
    fn save_if_due(&self, py: Python<'_>, log: &Log, frontier: &Frontier) -> PyResult<bool> {
        let saved = py.detach(|| {
            let mut state = lock(&self.state);
            let grown = lock(&log.inner).0.end().saturating_sub(state.last);
            let due =
                grown >= self.bytes.max(GROWTH * state.last_size) && state.made.elapsed() >= self.interval;
            if due { state.save(log, frontier) } else { Ok(false) }
        });
        saved.map_err(|error| errors::log(&error))
    }

    /// Their positions in the log, in order.
    fn positions(&self, py: Python<'_>) -> PyResult<Vec<Position>> {
        py.detach(|| lock(&self.state).snapshots.positions()).map_err(|error| errors::log(&error))
    }
}

impl State {
    /// Makes a snapshot of now.
    fn save(&mut self, log: &Log, frontier: &Frontier) -> Result<bool, LogError> {
        let (failed, (log, summary)) = (log.failed.as_ref(), &mut *lock(&log.inner));
        self.made = Instant::now();
        let (end, mut files, mut size) = (log.end(), SnapshotFiles::default(), 0);
        let content = |into: &mut dyn io::Write| {
            let mut counted = Counted { into, bytes: 0 };
            files = frontier.save(&mut counted)?;
            serde_json::to_writer(&mut counted, summary)?;
            size = counted.bytes;
            Ok(())
        };
        let synced = log.sync().and_then(|()| failed.map_or(Ok(()), |failed| lock(failed).sync()));
        match synced.and_then(|()| self.snapshots.write(end, content)) {
            Ok(()) => failed.into_iter().for_each(|failed| lock(failed).begin(end)),
            Err(LogError::Full { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        (self.last, self.last_size) = (end, size);
        self.kept.push((end, files));
        self.forget(frontier)?;
        Ok(true)
    }

    /// Restores a frontier and the log's summary. A snapshot that is damaged or of another version is passed over for
    /// the one before, and goes once the frontier is whole: it must not stand for segments that are to be removed.
    fn restore(&mut self, log: &Log, frontier: &Frontier, largest: usize) -> Result<u64, LogError> {
        let (directory, failed) = (&log.directory, log.failed.as_ref());
        let (_, summary) = &mut *lock(&log.inner);
        let (mut reader, mut unreadable) = (None, Vec::new());
        for position in self.snapshots.positions()?.into_iter().rev() {
            let files = match files(&self.snapshots, position) {
                Ok(files) => files,
                Err(error) => {
                    unreadable.push((position, error));
                    continue;
                }
            };
            // Of the one before the newest only the files matter: they are kept with it.
            if reader.is_none() {
                match load(&self.snapshots, position, frontier) {
                    Ok(counts) => (*summary, self.last) = (counts, position),
                    Err(error) => {
                        unreadable.push((position, error));
                        continue;
                    }
                }
                reader = Some(Reader::open_at(directory, position, Bodies::Robots)?);
            }
            self.kept.insert(0, (position, files));
        }
        let mut reader = match (reader, first_position(directory)?) {
            (Some(reader), _) => reader,
            (None, 0) => {
                frontier.clear().map_err(|error| LogError::Io(PathBuf::from("seen"), error))?;
                Reader::open(directory, Bodies::Robots)?
            }
            (None, first) => {
                let why = unreadable.into_iter().next().map(|(_, error)| Box::new(error));
                return Err(LogError::Stranded { path: directory.clone(), first, why });
            }
        };
        self.forget(frontier)?;
        if let Some(failed) = failed {
            let mut failed = lock(failed);
            failed.restore(self.last)?;
            if self.last > 0 {
                failed.complete(directory, self.last)?;
            }
        }
        log.takings.is_known_since(self.last);
        let count = frontier.restore(|restore| {
            restore.at(self.last);
            replay(&mut reader, restore, summary, failed, largest, &log.takings)
        })?;
        for (position, _) in unreadable {
            self.snapshots.remove(position)?;
        }
        Ok(count)
    }

    /// Lets go of files that no kept snapshot and no queue needs.
    fn forget(&mut self, frontier: &Frontier) -> Result<(), LogError> {
        let positions = self.snapshots.positions()?;
        self.kept.retain(|(position, _)| positions.contains(position));
        let files: Vec<_> = self.kept.iter().map(|(_, files)| files.clone()).collect();
        frontier.remove_files(&files).map_err(|error| LogError::Io(PathBuf::from("queues"), error))
    }
}

/// The files that the snapshot of a position names.
fn files(snapshots: &lycosa_store::Snapshots, position: Position) -> Result<SnapshotFiles, LogError> {
    let mut snapshot = snapshots.read(position)?;
    SnapshotFiles::read(&mut snapshot).map_err(|_| snapshot.not_understood())
}

/// Reads the snapshot of a position into the frontier; gives the summary that stands behind it.
fn load(
    snapshots: &lycosa_store::Snapshots,
    position: Position,
    frontier: &Frontier,
) -> Result<Summary, LogError> {
    let mut snapshot = snapshots.read(position)?;
    let (path, mut rest) = (snapshot.path(), Vec::new());
    // An error that is not the file's own: one of those that it names is missing or damaged.
    let beside = |error| LogError::of(&path, error);
    let read = frontier.load(&mut snapshot).and_then(|()| snapshot.read_to_end(&mut rest));
    snapshot.finish()?;
    read.map_err(beside)?;
    serde_json::from_slice(&rest).map_err(|error| beside(error.into()))
}

/// Counts what passes through.
struct Counted<'a> {
    into: &'a mut dyn io::Write,
    bytes: u64,
}

impl io::Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.into.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}
