//! Writing the log: frames are gathered and written in one system call a batch.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Position;
use crate::entry::Entry;
use crate::frame::{self, SEGMENT_HEADER_BYTES};
use crate::reader::{Bodies, Reader, ReaderError};

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
    /// It cannot be read, so it cannot be continued.
    Unreadable(ReaderError),
    /// An entry that is larger than a frame can be.
    TooLarge(String),
    /// The system's own error, with what was being done.
    Io(PathBuf, io::Error),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::InUse(path) => write!(f, "{}: another process is writing this log", path.display()),
            LogError::Unreadable(error) => write!(f, "{error}"),
            LogError::TooLarge(url) => write!(f, "{url}: larger than a frame of the log can be (1 GiB)"),
            LogError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LogError {}

impl Log {
    /// Opens the log of a directory, which is made if it is missing. What a crash left unfinished at the
    /// log's end is cut off and kept beside it as `torn-POSITION`.
    pub fn open(directory: &Path, segment_bytes: u64) -> Result<Self, LogError> {
        let io = |error| LogError::Io(directory.to_owned(), error);
        fs::create_dir_all(directory).map_err(io)?;
        let lock = File::create(directory.join("lock")).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::InUse(directory.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let (segment, start, end) = match last_segment(directory).map_err(io)? {
            None => (new_segment(directory, 0).map_err(io)?, 0, SEGMENT_HEADER_BYTES as u64),
            Some(start) => {
                let end = repair(directory, start)?;
                let path = directory.join(frame::segment_name(start));
                (OpenOptions::new().append(true).open(path).map_err(io)?, start, end)
            }
        };
        Ok(Log {
            directory: directory.to_owned(),
            segment,
            start,
            end,
            segment_bytes,
            buffer: Vec::new(),
            meta: Vec::new(),
            _lock: lock,
        })
    }

    /// Whether nothing has been written yet.
    pub fn is_new(&self) -> bool {
        self.end == SEGMENT_HEADER_BYTES as u64
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

/// The start of the newest segment, if there is one. A segment that a crash left without its header is removed.
fn last_segment(directory: &Path) -> io::Result<Option<Position>> {
    let mut starts: Vec<Position> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(".log"));
        starts.extend(digits.and_then(|digits| digits.parse::<Position>().ok()));
    }
    starts.sort_unstable();
    while let Some(start) = starts.pop() {
        let path = directory.join(frame::segment_name(start));
        if fs::metadata(&path)?.len() >= SEGMENT_HEADER_BYTES as u64 {
            return Ok(Some(start));
        }
        fs::remove_file(path)?;
    }
    Ok(None)
}

/// Cuts off what is no whole frame at the end of the newest segment; gives where the log ends then.
fn repair(directory: &Path, start: Position) -> Result<Position, LogError> {
    let mut reader = Reader::open_segment(directory, start, Bodies::All).map_err(LogError::Unreadable)?;
    let end = loop {
        match reader.read(1, usize::MAX) {
            Ok(entries) if entries.is_empty() => break reader.position(),
            Ok(_) => {}
            Err(ReaderError::Damaged(position)) => break position,
            Err(error) => return Err(LogError::Unreadable(error)),
        }
    };
    let cut = || -> io::Result<()> {
        let path = directory.join(frame::segment_name(start));
        let bytes = fs::read(&path)?;
        let keep = usize::try_from(end - start).unwrap_or(usize::MAX);
        if let Some(torn) = bytes.get(keep..).filter(|torn| !torn.is_empty()) {
            fs::write(directory.join(format!("torn-{end:020}")), torn)?;
            OpenOptions::new().write(true).open(&path)?.set_len(end - start)?;
        }
        Ok(())
    };
    cut().map_err(|error| LogError::Io(directory.to_owned(), error))?;
    Ok(end)
}

/// Makes the segment that starts at a position.
fn new_segment(directory: &Path, start: Position) -> io::Result<File> {
    let mut file =
        OpenOptions::new().append(true).create_new(true).open(directory.join(frame::segment_name(start)))?;
    file.write_all(&frame::segment_header())?;
    Ok(file)
}
