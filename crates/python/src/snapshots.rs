//! The frontier's snapshots: itself at positions of the log, and what the log counted up to there.
//!
//! A snapshot is written by a forked process ([`lycosa_store::Child`]), so that the crawl waits only while the memory is marked for
//! copying. All shards of a crawl are written by one process, at one position.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use lycosa_frontier::SnapshotFiles;
use lycosa_store::{Child, Killer, LogError, Position, Unfinished};
use pyo3::prelude::*;

use crate::errors::{self, lock};
use crate::frontier::{Core, Frontier};

/// Number of snapshots that are kept, since the newest may be damaged.
const KEPT: usize = 2;

/// The snapshots of one frontier, and the files beside them that they name.
pub(crate) struct Snapshots {
    snapshots: lycosa_store::Snapshots,
    /// The files that the kept ones name, by position.
    kept: Vec<(Position, SnapshotFiles)>,
}

impl Snapshots {
    /// Opens a directory, which is made if it is missing. Snapshots behind the log's end are removed.
    pub(crate) fn open(directory: &Path, end: Position) -> Result<Self, LogError> {
        let snapshots = lycosa_store::Snapshots::open(directory, end)?;
        let mut kept = Vec::new();
        for position in snapshots.positions()? {
            // One that cannot be read is told of when it is loaded.
            if let Ok(files) = files(&snapshots, position) {
                kept.push((position, files));
            }
        }
        Ok(Snapshots { snapshots, kept })
    }

    /// Their positions, in order.
    pub(crate) fn positions(&self) -> Result<Vec<Position>, LogError> {
        self.snapshots.positions()
    }

    /// Reads the snapshot of a position into the frontier; gives what stands behind it.
    pub(crate) fn load(&mut self, frontier: &Frontier, position: Position) -> Result<Vec<u8>, LogError> {
        let mut snapshot = self.snapshots.read(position)?;
        let (path, mut views) = (snapshot.path(), Vec::new());
        // An error that is not the file's own: one of those that it names is missing or damaged.
        let beside = |error| LogError::of(&path, error);
        files(&self.snapshots, position)?;
        let read = frontier.become_snapshot(&mut snapshot).and_then(|()| snapshot.read_to_end(&mut views));
        snapshot.finish()?;
        read.map_err(beside)?;
        Ok(views)
    }

    /// Removes some snapshots, and the files that no other one and no queue needs.
    pub(crate) fn remove(&mut self, core: &Core, positions: &[Position]) -> Result<(), LogError> {
        for position in positions {
            self.snapshots.remove(*position)?;
        }
        self.remove_unused(core)
    }

    /// Gives a written snapshot its name; returns its bytes.
    fn complete(&mut self, unfinished: Unfinished, files: SnapshotFiles) -> Result<u64, LogError> {
        let position = unfinished.position();
        // First: what a snapshot names is removed unless it is known to name it.
        self.kept.retain(|(kept, _)| *kept != position);
        self.kept.push((position, files));
        unfinished.complete()
    }

    /// Keeps the snapshots of these positions only.
    fn keep(&mut self, core: &Core, kept: &[Position]) -> Result<(), LogError> {
        let mut others = self.snapshots.positions()?;
        others.retain(|position| !kept.contains(position));
        self.remove(core, &others)
    }

    /// Removes files that no kept snapshot and no queue needs; the frontier is locked only while they are looked for.
    fn remove_unused(&mut self, core: &Core) -> Result<(), LogError> {
        let positions = self.snapshots.positions()?;
        self.kept.retain(|(position, _)| positions.contains(position));
        if self.kept.len() < positions.len() {
            return Ok(()); // nobody knows what one of them names
        }
        let files: Vec<_> = self.kept.iter().map(|(_, files)| files.clone()).collect();
        let unused = lock(&core.state).unused_files(&files);
        let removed = unused.and_then(|paths| paths.iter().try_for_each(std::fs::remove_file));
        removed.map_err(|error| LogError::Io(PathBuf::from("queues"), error))
    }
}

/// A snapshot of all shards of a crawl that is being written. If this is dropped before, it is left out.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct Saving(Mutex<Progress>);

/// How far it is. What a thread does goes on while the crawl waits for disk space: after an error the files are gone.
enum Progress {
    /// The child writes; a thread waits for it.
    Writing(JoinHandle<Result<Vec<Part>, LogError>>, Killer),
    /// A thread gives the files their names and removes what is not needed any more.
    Naming(JoinHandle<Result<u64, LogError>>),
    /// Its result was given.
    Ended,
}

/// The snapshot of one frontier.
struct Part {
    core: Arc<Core>,
    unfinished: Unfinished,
    files: SnapshotFiles,
}

#[pymethods]
impl Saving {
    /// See `Frontier.saved`.
    pub(crate) fn saved(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        match py.detach(|| lock(&self.0).look()) {
            Some(Err(LogError::Full { .. })) => Ok(Some(0)),
            Some(Err(error)) => Err(errors::log(&error)),
            Some(Ok(bytes)) => Ok(Some(bytes)),
            None => Ok(None),
        }
    }
}

impl Progress {
    /// Waits for a child on a thread.
    fn writing(child: Child, killer: Killer, parts: Vec<Part>) -> Result<Self, LogError> {
        let wait = move || match child.wait() {
            Ok(()) => Ok(parts),
            Err(error) => Err(of(&parts, error)),
        };
        Ok(Progress::Writing(spawn(wait)?, killer))
    }

    /// Names the files on a thread.
    fn naming(parts: Vec<Part>) -> Result<Self, LogError> {
        Ok(Progress::Naming(spawn(|| name(parts))?))
    }

    /// Its bytes once it has its name.
    fn look(&mut self) -> Option<Result<u64, LogError>> {
        match std::mem::replace(self, Progress::Ended) {
            Progress::Writing(thread, killer) if !thread.is_finished() => {
                *self = Progress::Writing(thread, killer);
                None
            }
            Progress::Writing(thread, _) => match join(thread).and_then(Progress::naming) {
                Ok(naming) => {
                    *self = naming;
                    None
                }
                Err(error) => Some(Err(error)),
            },
            Progress::Naming(thread) if !thread.is_finished() => {
                *self = Progress::Naming(thread);
                None
            }
            Progress::Naming(thread) => Some(join(thread)),
            Progress::Ended => Some(Ok(0)),
        }
    }
}

/// Begins a thread of a snapshot.
fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LogError> + Send + 'static,
) -> Result<JoinHandle<Result<T, LogError>>, LogError> {
    let spawned = std::thread::Builder::new().name("lycosa-snapshot".into()).spawn(work);
    spawned.map_err(|error| of(&[], error))
}

/// The result of such a thread.
fn join<T>(thread: JoinHandle<Result<T, LogError>>) -> Result<T, LogError> {
    let panicked = |_| Err(of(&[], io::Error::other("its thread panicked")));
    thread.join().unwrap_or_else(panicked)
}

/// The error of the snapshot's first file, or of the directory where none is known.
fn of(parts: &[Part], error: io::Error) -> LogError {
    match parts.first() {
        Some(part) => part.unfinished.error(error),
        None => LogError::of(Path::new("snapshots"), error),
    }
}

/// Begins a snapshot of all shards of a crawl: see `Frontier.save`.
#[pyfunction]
pub(crate) fn save_shards(
    py: Python<'_>,
    shards: Vec<Bound<'_, Frontier>>,
    position: Position,
    views: &[u8],
) -> PyResult<Saving> {
    begin(py, shards.iter().map(|shard| Arc::clone(shard.get().core())).collect(), position, views)
}

/// The same of any frontiers.
pub(crate) fn begin(
    py: Python<'_>,
    shards: Vec<Arc<Core>>,
    position: Position,
    views: &[u8],
) -> PyResult<Saving> {
    match py.detach(|| fork(shards, position, views)) {
        Ok(progress) => Ok(Saving(Mutex::new(progress))),
        // As one that could not be written.
        Err(LogError::Full { .. }) => Ok(Saving(Mutex::new(Progress::Ended))),
        Err(error) => Err(errors::log(&error)),
    }
}

/// Has a child write the state of all shards as it is now; where none can be forked it is written at once.
fn fork(shards: Vec<Arc<Core>>, position: Position, views: &[u8]) -> Result<Progress, LogError> {
    let opened = shards.iter().map(|core| core.snapshots()?.snapshots.begin(position));
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    let mut frontiers: Vec<_> = shards.iter().map(|core| lock(&core.state)).collect();
    let mut files = Vec::new();
    for (frontier, unfinished) in frontiers.iter_mut().zip(&opened) {
        files.push(frontier.prepare_save().map_err(|error| unfinished.error(error))?);
    }
    let mut descriptors: Vec<_> = opened.iter().map(Unfinished::descriptor).collect();
    frontiers.iter().for_each(|frontier| descriptors.extend(frontier.descriptors()));
    let mut write = || {
        for ((frontier, unfinished), files) in frontiers.iter_mut().zip(&opened).zip(&files) {
            unfinished.write(|into| {
                frontier.write(files, into)?;
                into.write_all(views)
            })?;
        }
        io::Result::Ok(())
    };
    let child = match Child::start(&descriptors, &mut write) {
        Ok(child) => Some(child),
        Err(_) => {
            write().map_err(|error| of(&[], error))?;
            None
        }
    };
    drop(frontiers);
    let parts = shards.into_iter().zip(opened).zip(files);
    let parts = parts.map(|((core, unfinished), files)| Part { core, unfinished, files }).collect();
    match child {
        Some((child, killer)) => Progress::writing(child, killer, parts),
        None => Progress::naming(parts),
    }
}

/// Gives the files of all shards their names, then removes all snapshots but the newest that all shards have.
fn name(parts: Vec<Part>) -> Result<u64, LogError> {
    let (mut size, mut cores) = (0, Vec::new());
    for Part { core, unfinished, files } in parts {
        size += core.snapshots()?.complete(unfinished, files)?;
        cores.push(core);
    }
    let mut common: Option<Vec<Position>> = None;
    for core in &cores {
        let mut positions = core.snapshots()?.positions()?;
        positions.retain(|position| common.as_ref().is_none_or(|common| common.contains(position)));
        common = Some(positions);
    }
    let common = common.unwrap_or_default();
    let kept = &common[common.len().saturating_sub(KEPT)..];
    for core in &cores {
        // The snapshot is made; what cannot be removed now is removed after the next one.
        drop(core.snapshots()?.keep(core, kept));
    }
    Ok(size)
}

/// The files that the snapshot of a position names.
fn files(snapshots: &lycosa_store::Snapshots, position: Position) -> Result<SnapshotFiles, LogError> {
    let mut snapshot = snapshots.read(position)?;
    SnapshotFiles::read(&mut snapshot).map_err(|_| snapshot.not_understood())
}
