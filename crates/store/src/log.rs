//! Writing the log: frames are gathered and written in few system calls a batch.
//!
//! Guarantees: an append is whole or leaves the log as it was, also on a full disk; a batch stands in one segment;
//! a segment is on the disk before the next is begun; one process writes; what a crash left unfinished at the end
//! is set aside when the log is opened again, never deleted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lycosa_records::Entry;

use crate::Position;
use crate::commit::{Bounds, Commits};
use crate::disk::Disk;
use crate::error::LogError;
use crate::layout::{self, SEGMENT_HEADER_BYTES};
use crate::lock::Lock;
use crate::repair::{Torn, repair};
use crate::segment;

/// How a log is written.
#[derive(Clone, Copy, Debug)]
pub struct LogSettings {
    /// Bytes after which a segment is full; the batch that reaches them still belongs to it.
    pub segment_bytes: u64,
    /// Bytes that may wait to be brought to the disk.
    pub commit_bytes: u64,
    /// Time that they may wait.
    pub commit_interval: Duration,
}

impl Default for LogSettings {
    fn default() -> Self {
        LogSettings {
            segment_bytes: 256 << 20,
            commit_bytes: 8 << 20,
            commit_interval: Duration::from_millis(200),
        }
    }
}

/// The log's one writer.
#[derive(Debug)]
pub struct Log {
    directory: PathBuf,
    segment: Arc<File>,
    /// Where the segment starts, and where the next frame will.
    start: Position,
    end: Position,
    segment_bytes: u64,
    /// Whether the segment is of the version before, so that a new one is begun for what comes next.
    is_before: bool,
    /// Whether something of a failed append may stand behind the end.
    unclean: bool,
    buffer: Vec<u8>,
    torn: Option<Torn>,
    disk: Disk,
    // Dropped in this order: the last commit is made while the lock is held.
    commits: Commits,
    _lock: Lock,
}

impl Log {
    /// Opens the log of a directory, which is made if it is missing. What a crash left unfinished at the
    /// log's end is set aside as `torn-POSITION`: see [`Log::torn`].
    pub fn open(directory: &Path, settings: LogSettings) -> Result<Self, LogError> {
        Self::open_on(directory, settings, Disk::default())
    }

    /// The same on a disk that tests can fill.
    pub(crate) fn open_on(directory: &Path, settings: LogSettings, disk: Disk) -> Result<Self, LogError> {
        let io = |error| LogError::of(directory, error);
        fs::create_dir_all(directory).map_err(io)?;
        let lock = Lock::take(directory)?;
        let mut starts = segment::starts(directory).map_err(io)?;
        segment::remove_unbegun(directory, &mut starts).map_err(io)?;
        let (file, start, end, torn) = match starts.last() {
            None => {
                let file = segment::create(directory, 0, &disk).map_err(io)?;
                (file, 0, SEGMENT_HEADER_BYTES as u64, None)
            }
            Some(start) => {
                if let Some(position) = segment::gap(directory, &starts).map_err(io)? {
                    return Err(LogError::Damaged { path: directory.to_owned(), position });
                }
                let (end, torn) = repair(directory, *start)?;
                let file = segment::open_to_write(directory, *start).map_err(io)?;
                // A process that was killed left this to the system's memory.
                disk.sync(&file).map_err(io)?;
                (file, *start, end, torn)
            }
        };
        let is_before = segment::is_before(&file).map_err(io)?;
        let segment = Arc::new(file);
        let bounds = Bounds { bytes: settings.commit_bytes, interval: settings.commit_interval };
        let newest = (Arc::clone(&segment), start);
        let commits = Commits::start(directory.to_owned(), newest, end, bounds, disk.clone()).map_err(io)?;
        Ok(Log {
            directory: directory.to_owned(),
            segment,
            start,
            end,
            segment_bytes: settings.segment_bytes,
            is_before,
            unclean: false,
            buffer: Vec::new(),
            torn,
            disk,
            commits,
            _lock: lock,
        })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether nothing has been written yet.
    pub fn is_new(&self) -> bool {
        self.end == SEGMENT_HEADER_BYTES as u64
    }

    /// What was set aside when the log was opened.
    pub fn torn(&self) -> Option<Torn> {
        self.torn
    }

    /// Appends entries; gives the position after the last of them. They reach the disk with the next commit.
    /// After an error none of them is in the log, and appending them again later is right.
    pub fn append<'a>(&mut self, entries: impl IntoIterator<Item = Entry<'a>>) -> Result<Position, LogError> {
        self.commits.check()?;
        self.clean()?;
        if self.is_before || self.end - self.start >= self.segment_bytes {
            self.begin_segment()?;
        }
        let begin = self.end;
        match self.append_batch(entries) {
            Ok(()) => {
                self.commits.written(self.end);
                Ok(self.end)
            }
            Err(error) => {
                self.buffer.clear();
                (self.end, self.unclean) = (begin, true);
                // Where that fails too, the next append begins with it.
                drop(self.clean());
                Err(error)
            }
        }
    }

    /// Brings everything appended so far to the disk, and waits for it.
    pub fn sync(&self) -> Result<(), LogError> {
        self.commits.commit()
    }

    /// Where the next frame will stand.
    pub fn end(&self) -> Position {
        self.end
    }

    /// Up to where the log is on the disk. Only this far may outputs and snapshots follow it.
    pub fn committed(&self) -> Position {
        self.commits.committed().load(Ordering::Acquire)
    }

    /// [`Log::committed`] for those who ask from elsewhere.
    pub fn committed_position(&self) -> Arc<AtomicU64> {
        Arc::clone(self.commits.committed())
    }

    /// Removes the segments that end at or before a position; gives how many. The newest one always stays.
    pub fn retain(&mut self, from: Position) -> Result<usize, LogError> {
        let io = |error| LogError::of(&self.directory, error);
        let starts = segment::starts(&self.directory).map_err(io)?;
        let ended = starts.windows(2).take_while(|pair| pair[1] <= from).count();
        // Oldest first: whatever interrupts this leaves a log without a gap.
        for start in &starts[..ended] {
            fs::remove_file(self.directory.join(layout::segment_name(*start))).map_err(io)?;
        }
        Ok(ended)
    }

    /// Writes a batch into the newest segment.
    fn append_batch<'a>(&mut self, entries: impl IntoIterator<Item = Entry<'a>>) -> Result<(), LogError> {
        /// Written at this size, so that the buffer stays small whatever the batch.
        const WRITE_BYTES: usize = 1 << 20;
        for entry in entries {
            if !entry.write(&mut self.buffer) {
                return Err(LogError::TooLarge(entry.url().as_str().to_owned()));
            }
            if self.buffer.len() >= WRITE_BYTES {
                self.write()?;
            }
        }
        self.write()
    }

    /// Writes the buffer.
    fn write(&mut self) -> Result<(), LogError> {
        let offset = self.end - self.start;
        self.disk
            .write(&self.segment, &self.buffer, offset)
            .map_err(|error| LogError::of(&self.directory, error))?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        // One large entry must not hold its memory for ever.
        self.buffer.shrink_to(4 << 20);
        Ok(())
    }

    /// Begins a new segment; the old one is on the disk then.
    fn begin_segment(&mut self) -> Result<(), LogError> {
        self.commits.commit()?;
        let made = segment::create(&self.directory, self.end, &self.disk);
        let file = made.map_err(|error| LogError::of(&self.directory, error))?;
        (self.start, self.is_before) = (self.end, false);
        self.end += SEGMENT_HEADER_BYTES as u64;
        self.segment = Arc::new(file);
        self.commits.enter((Arc::clone(&self.segment), self.start), self.end);
        Ok(())
    }

    /// Cuts off what a failed append left behind the end.
    fn clean(&mut self) -> Result<(), LogError> {
        if self.unclean {
            let cut = self.segment.set_len(self.end - self.start);
            cut.map_err(|error| LogError::of(&self.directory, error))?;
            self.unclean = false;
        }
        Ok(())
    }
}
