//! The frontier's snapshots: itself at positions of the log, and what the log counted up to there.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use lycosa_frontier::SnapshotFiles;
use lycosa_store::{LogError, Position};

use crate::frontier::Frontier;

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

    /// Makes a snapshot of now; gives its bytes, 0 where the disk is full.
    pub(crate) fn save(
        &mut self,
        frontier: &Frontier,
        position: Position,
        views: &[u8],
    ) -> Result<u64, LogError> {
        let (mut files, mut size) = (SnapshotFiles::default(), 0);
        let content = |into: &mut dyn io::Write| {
            let mut counted = Counted { into, bytes: 0 };
            files = frontier.write_snapshot(&mut counted)?;
            io::Write::write_all(&mut counted, views)?;
            size = counted.bytes;
            Ok(())
        };
        match self.snapshots.write(position, content) {
            Ok(()) => {}
            Err(LogError::Full { .. }) => return Ok(0),
            Err(error) => return Err(error),
        }
        self.kept.retain(|(kept, _)| *kept != position);
        self.kept.push((position, files));
        self.forget(frontier)?;
        Ok(size)
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
    pub(crate) fn remove(&mut self, frontier: &Frontier, positions: &[Position]) -> Result<(), LogError> {
        for position in positions {
            self.snapshots.remove(*position)?;
        }
        self.forget(frontier)
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
