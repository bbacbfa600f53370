//! Logs for tests.

use std::path::Path;
use std::time::Duration;

use lycosa_records::Entry;
pub(crate) use lycosa_records::samples::{any_entry, outcome, page};

use crate::log::{Log, LogSettings};
use crate::reader::{Bodies, Reader};

/// Settings with small segments, and commits only on request.
pub(crate) fn settings(segment_bytes: u64) -> LogSettings {
    LogSettings { segment_bytes, commit_bytes: u64::MAX, commit_interval: Duration::MAX }
}

/// Writes a log of these entries, one per batch; returns the position of each frame, and the end.
pub(crate) fn written(directory: &Path, segment_bytes: u64, entries: &[Entry<'static>]) -> Vec<u64> {
    let mut log = Log::open(directory, settings(segment_bytes)).unwrap();
    for entry in entries {
        log.append([entry.clone()]).unwrap();
    }
    drop(log);
    let mut reader = Reader::open(directory, Bodies::All).unwrap();
    let mut positions = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        positions.push(frame.position);
    }
    assert_eq!(positions.len(), entries.len());
    positions.push(reader.position());
    positions
}

/// All entries of a log.
pub(crate) fn read_all(directory: &Path) -> Vec<Entry<'static>> {
    entries(Reader::open(directory, Bodies::All).unwrap().read(usize::MAX, usize::MAX))
}

/// The entries of a read.
pub(crate) fn entries(read: Result<Vec<crate::Logged>, crate::LogError>) -> Vec<Entry<'static>> {
    read.unwrap().into_iter().map(|logged| logged.entry).collect()
}
