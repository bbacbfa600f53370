//! Logs for tests.

use std::path::Path;
use std::time::Duration;

use lycosa_records::Entry;
pub(crate) use lycosa_records::samples::{any_entry, outcome, page};

use crate::log::{Log, LogSettings};
use crate::reader::{Bodies, Reader};

/// Small segments, and commits only when they are asked for.
pub(crate) fn settings(segment_bytes: u64) -> LogSettings {
    LogSettings { segment_bytes, commit_bytes: u64::MAX, commit_interval: Duration::MAX }
}

/// A log with these entries, one a batch; gives where each frame stands, and the end.
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

/// Everything that a log holds.
pub(crate) fn read_all(directory: &Path) -> Vec<Entry<'static>> {
    entries(Reader::open(directory, Bodies::All).unwrap().read(usize::MAX, usize::MAX))
}

/// What was read.
pub(crate) fn entries(read: Result<Vec<crate::Logged>, crate::LogError>) -> Vec<Entry<'static>> {
    read.unwrap().into_iter().map(|logged| logged.entry).collect()
}
