//! Writing the log: frames are gathered and written in one system call a batch.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Position;
use crate::entry::Entry;
use crate::frame::{self, SEGMENT_HEADER_BYTES};

/// The log's one writer.
#[derive(Debug)]
pub struct Log {
    directory: PathBuf,
    segment: File,
    /// Where the segment starts, and where the next frame will.
    start: Position,
    end: Position,
    segment_bytes: u64,
    buffer: Vec<u8>,
    meta: Vec<u8>,
    /// Holds the lock while the log is open.
    _lock: File,
}

/// Why the log cannot be opened or written.
#[derive(Debug)]
pub enum LogError {
    /// Another process writes it.
    InUse(PathBuf),
    /// It exists already.
    Exists(PathBuf),
    /// An entry that is larger than a frame can be.
    TooLarge(String),
    /// The system's own error, with what was being done.
    Io(PathBuf, io::Error),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::InUse(path) => write!(f, "{}: another process is writing this log", path.display()),
            LogError::Exists(path) => write!(f, "{}: holds a log already", path.display()),
            LogError::TooLarge(url) => write!(f, "{url}: larger than a frame of the log can be (1 GiB)"),
            LogError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LogError {}

impl Log {
    /// Starts a log in a directory, which is made if it is missing; refuses one that holds a log.
    pub fn create(directory: &Path, segment_bytes: u64) -> Result<Self, LogError> {
        let io = |error| LogError::Io(directory.to_owned(), error);
        fs::create_dir_all(directory).map_err(io)?;
        let lock = File::create(directory.join("lock")).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::InUse(directory.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut entries = fs::read_dir(directory).map_err(io)?.flatten();
        if entries.any(|entry| entry.path().extension().is_some_and(|extension| extension == "log")) {
            return Err(LogError::Exists(directory.to_owned()));
        }
        let segment = new_segment(directory, 0).map_err(io)?;
        Ok(Log {
            directory: directory.to_owned(),
            segment,
            start: 0,
            end: SEGMENT_HEADER_BYTES as u64,
            segment_bytes,
            buffer: Vec::new(),
            meta: Vec::new(),
            _lock: lock,
        })
    }

    /// Appends entries; gives the position after the last of them.
    pub fn append<'a>(&mut self, entries: impl IntoIterator<Item = Entry<'a>>) -> Result<Position, LogError> {
        /// Written at this size, so that the buffer stays small whatever the batch.
        const WRITE_BYTES: usize = 1 << 20;
        for entry in entries {
            self.meta.clear();
            let mut serializer = rmp_serde::Serializer::new(&mut self.meta).with_struct_map();
            let written = entry.outcome.serialize(&mut serializer).is_ok()
                && frame::write(&mut self.buffer, entry.kind, &self.meta, &entry.body);
            if !written {
                return Err(LogError::TooLarge(entry.outcome.url.into_owned()));
            }
            if self.buffer.len() >= WRITE_BYTES {
                self.write()?;
            }
        }
        self.write()?;
        Ok(self.end)
    }

    /// Brings everything written so far to the disk.
    pub fn sync(&self) -> Result<(), LogError> {
        self.segment.sync_data().map_err(|error| self.io(error))
    }

    /// Where the next frame will stand.
    pub fn end(&self) -> Position {
        self.end
    }

    /// Writes the buffer, in a new segment if this one is full.
    fn write(&mut self) -> Result<(), LogError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.end - self.start >= self.segment_bytes {
            self.sync()?;
            self.segment = new_segment(&self.directory, self.end).map_err(|error| self.io(error))?;
            self.start = self.end;
            self.end += SEGMENT_HEADER_BYTES as u64;
        }
        self.segment.write_all(&self.buffer).map_err(|error| self.io(error))?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        // One large batch must not hold its memory for ever.
        self.buffer.shrink_to(4 << 20);
        Ok(())
    }

    /// The system's error, with the log's place.
    fn io(&self, error: io::Error) -> LogError {
        LogError::Io(self.directory.clone(), error)
    }
}

/// Makes the segment that starts at a position.
fn new_segment(directory: &Path, start: Position) -> io::Result<File> {
    let mut file =
        OpenOptions::new().append(true).create_new(true).open(directory.join(frame::segment_name(start)))?;
    file.write_all(&frame::segment_header())?;
    Ok(file)
}
