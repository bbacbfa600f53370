//! The log's writer: frames are buffered and written in few system calls per batch.
//!
//! Guarantees: an append is atomic, also on a full disk, and in one segment; a segment is durable before the
//! next one is created; only one process writes; a torn tail after a crash is moved to a file of its own when the log
//! is opened again, never deleted.

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

/// Settings of the log's writer.
#[derive(Clone, Copy, Debug)]
pub struct LogSettings {
    /// Size in bytes at which a segment is full; the batch that reaches it is still written to it.
    pub segment_bytes: u64,
    /// Maximum of bytes that wait for a commit.
    pub commit_bytes: u64,
    /// Maximum time that bytes wait for a commit.
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

/// Bytes that are encoded before they are written: so few that they stay in the processor's cache. With 8 MiB a page took 13 % more CPU.
const WRITE_BYTES: usize = 1 << 20;

/// Bytes for which space is reserved on the disk at once, and the length of a segment from which on that is done.
const RESERVED_BYTES: u64 = 16 << 20;
const RESERVE_FROM: u64 = 4 << 20;

/// Encodes entries for [`Log::append_encoded`], without the log: writers that share it encode side by side. Returns how many it has
/// encoded: entries beyond [`WRITE_BYTES`] are left for another call.
pub fn encode<'a>(
    entries: impl IntoIterator<Item = Entry<'a>>,
    into: &mut Vec<u8>,
) -> Result<usize, LogError> {
    let mut count = 0;
    for entry in entries {
        put(&entry, into)?;
        count += 1;
        if into.len() >= WRITE_BYTES {
            break;
        }
    }
    Ok(count)
}

/// Encodes an entry.
fn put(entry: &Entry<'_>, into: &mut Vec<u8>) -> Result<(), LogError> {
    if entry.write(into) { Ok(()) } else { Err(LogError::TooLarge(entry.url().as_str().to_owned())) }
}

/// The single writer of a log.
#[derive(Debug)]
pub struct Log {
    directory: PathBuf,
    segment: Arc<File>,
    /// Start of the newest segment, and end of the log.
    start: Position,
    end: Position,
    segment_bytes: u64,
    /// Whether the segment is of the previous version: the next append creates a new one.
    is_before: bool,
    /// Whether bytes of a failed append may follow the end.
    unclean: bool,
    /// The length of the segment up to which space is reserved on the disk.
    reserved: u64,
    /// The process that writes: one that it forks may drop its copy.
    process: u32,
    buffer: Vec<u8>,
    torn: Option<Torn>,
    disk: Disk,
    // Drop order: the last commit happens before the lock is released.
    commits: Commits,
    _lock: Lock,
}

impl Log {
    /// Opens the log of a directory, which is created if it is missing. A torn tail left by a crash is moved
    /// to `torn-POSITION`: see [`Log::torn`].
    pub fn open(directory: &Path, settings: LogSettings) -> Result<Self, LogError> {
        Self::open_on(directory, settings, Disk::default())
    }

    /// [`Log::open`] on a disk that tests can fill.
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
                // After a killed process, data may still be in the page cache only.
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
            // A process that was killed has given nothing back.
            reserved: end - start,
            process: std::process::id(),
            buffer: Vec::new(),
            torn,
            disk,
            commits,
            _lock: lock,
        })
    }

    /// The log's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the log is empty.
    pub fn is_new(&self) -> bool {
        self.end == SEGMENT_HEADER_BYTES as u64
    }

    /// The torn tail that was cut off when the log was opened.
    pub fn torn(&self) -> Option<Torn> {
        self.torn
    }

    /// Appends entries and returns the position after the last. They become durable with the next commit.
    /// After an error none of them is in the log, and they can be appended again later.
    pub fn append<'a>(&mut self, entries: impl IntoIterator<Item = Entry<'a>>) -> Result<Position, LogError> {
        self.append_by(|log| log.append_batch(entries))
    }

    /// The same of entries that [`encode`] has encoded.
    pub fn append_encoded(&mut self, encoded: &[u8]) -> Result<Position, LogError> {
        self.append_by(|log| log.write(encoded))
    }

    /// Appends what `write` writes, or nothing.
    fn append_by(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), LogError>,
    ) -> Result<Position, LogError> {
        self.commits.check()?;
        self.clean()?;
        if self.is_before || self.end - self.start >= self.segment_bytes {
            self.begin_segment()?;
        }
        let begin = self.end;
        match write(self) {
            Ok(()) => {
                self.commits.written(self.end);
                Ok(self.end)
            }
            Err(error) => {
                (self.end, self.unclean) = (begin, true);
                // If this fails too, the next append retries it.
                drop(self.clean());
                Err(error)
            }
        }
    }

    /// Commits everything appended so far, and waits until it is durable.
    pub fn sync(&self) -> Result<(), LogError> {
        self.commits.commit()
    }

    /// Has everything appended so far committed soon, and a file with its directory before it, without waiting for that:
    /// [`Log::is_durable`].
    pub fn sync_beside(&self, file: Option<File>, directory: &Path) {
        self.commits.request(file.map(|file| (file, directory.to_owned())));
    }

    /// Whether everything before a position is durable, and all files beside. Fails if one of these cannot be synced: it is tried again
    /// with the next [`Log::sync_beside`].
    pub fn is_durable(&self, position: Position) -> Result<bool, LogError> {
        self.commits.is_durable(position).map_err(|error| LogError::of(&self.directory, error))
    }

    /// Position of the next frame.
    pub fn end(&self) -> Position {
        self.end
    }

    /// Position up to which the log is durable. Outputs and snapshots must not go beyond it.
    pub fn committed(&self) -> Position {
        self.commits.committed().load(Ordering::Acquire)
    }

    /// [`Log::committed`], shared with other threads.
    pub fn committed_position(&self) -> Arc<AtomicU64> {
        Arc::clone(self.commits.committed())
    }

    /// Removes the segments that end at or before a position and returns their number. The newest segment always stays.
    pub fn retain(&mut self, from: Position) -> Result<usize, LogError> {
        let io = |error| LogError::of(&self.directory, error);
        let starts = segment::starts(&self.directory).map_err(io)?;
        let ended = starts.windows(2).take_while(|pair| pair[1] <= from).count();
        // Oldest first, so that an interruption leaves no gap.
        for start in &starts[..ended] {
            fs::remove_file(self.directory.join(layout::segment_name(*start))).map_err(io)?;
        }
        Ok(ended)
    }

    /// Writes a batch into the newest segment.
    fn append_batch<'a>(&mut self, entries: impl IntoIterator<Item = Entry<'a>>) -> Result<(), LogError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for entry in entries {
            put(&entry, &mut buffer)?;
            if buffer.len() >= WRITE_BYTES {
                self.write(&buffer)?;
                buffer.clear();
            }
        }
        self.write(&buffer)?;
        buffer.clear();
        // Frees the memory of an exceptionally large entry.
        buffer.shrink_to(4 << 20);
        self.buffer = buffer;
        Ok(())
    }

    /// Writes frames to the segment.
    fn write(&mut self, frames: &[u8]) -> Result<(), LogError> {
        if frames.is_empty() {
            return Ok(());
        }
        let offset = self.end - self.start;
        self.reserve(offset + frames.len() as u64);
        self.disk
            .write(&self.segment, frames, offset)
            .map_err(|error| LogError::of(&self.directory, error))?;
        self.end += frames.len() as u64;
        Ok(())
    }

    /// Reserves space on the disk for a segment that grows to this length, and beyond: writing into reserved space takes a quarter less
    /// CPU time. Short segments reserve none, and a disk that cannot is not asked again for this segment.
    fn reserve(&mut self, length: u64) {
        if length <= self.reserved || length < RESERVE_FROM {
            return;
        }
        if self.disk.reserve(&self.segment, length, RESERVED_BYTES) {
            self.reserved = length + RESERVED_BYTES;
        } else {
            // A part may be reserved: others need it more. If this fails, it is given back at the end.
            drop(self.segment.set_len(self.end - self.start));
            self.reserved = u64::MAX;
        }
    }

    /// Gives reserved space back that the segment does not use.
    fn release(&mut self) -> std::io::Result<()> {
        match std::mem::take(&mut self.reserved) {
            0..RESERVE_FROM => Ok(()),
            _ => self.segment.set_len(self.end - self.start),
        }
    }

    /// Commits the current segment, then creates the next one.
    fn begin_segment(&mut self) -> Result<(), LogError> {
        self.release().map_err(|error| LogError::of(&self.directory, error))?;
        self.commits.commit()?;
        let made = segment::create(&self.directory, self.end, &self.disk);
        let file = made.map_err(|error| LogError::of(&self.directory, error))?;
        (self.start, self.is_before) = (self.end, false);
        self.end += SEGMENT_HEADER_BYTES as u64;
        self.segment = Arc::new(file);
        self.commits.enter((Arc::clone(&self.segment), self.start), self.end);
        Ok(())
    }

    /// Truncates what a failed append left after the end.
    fn clean(&mut self) -> Result<(), LogError> {
        if self.unclean {
            let cut = self.segment.set_len(self.end - self.start);
            cut.map_err(|error| LogError::of(&self.directory, error))?;
            self.unclean = false;
        }
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // If this fails, the next writer uses the space.
            drop(self.clean().map(|()| self.release()));
        }
    }
}
