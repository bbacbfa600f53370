//! Errors of opening, writing and reading a log, one variant per remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::Position;
use crate::layout::{BEFORE, VERSION};

/// Why a log cannot be opened, written or read.
#[derive(Debug)]
pub enum LogError {
    /// Another process writes the log.
    InUse {
        /// The log's directory.
        path: PathBuf,
        /// Process id of the writer; `None` if unknown.
        pid: Option<u32>,
    },
    /// The file has the layout of an unsupported version.
    Foreign {
        /// The file.
        path: PathBuf,
        /// The version in its header.
        version: u32,
    },
    /// The checksum is valid, but the content is of a version that this one cannot read.
    ForeignContent {
        /// The file.
        path: PathBuf,
    },
    /// A record of a later version than this one supports.
    Newer {
        /// The log's directory.
        path: PathBuf,
        /// The record's position.
        position: Position,
        /// The version of the record.
        found: u8,
        /// The newest version that can be read.
        known: u8,
    },
    /// The bytes at a position fail their checksum or structure.
    Damaged {
        /// The log's directory.
        path: PathBuf,
        /// Position of the damage.
        position: Position,
    },
    /// The position is not in the log: not yet written, or already removed.
    Absent {
        /// The log's directory.
        path: PathBuf,
        /// The requested position.
        position: Position,
        /// The first position of the log and its end.
        present: (Position, Position),
    },
    /// The disk or the quota is full. Nothing was changed: the same call may succeed later.
    Full {
        /// The file or directory that could not grow.
        path: PathBuf,
    },
    /// The entry with this URL exceeds the maximum size of a frame.
    TooLarge(String),
    /// Any other I/O error, with the path it concerns.
    Io(PathBuf, io::Error),
}

impl LogError {
    /// Wraps an I/O error of a file or directory. A full disk has a variant of its own, since it is temporary.
    pub fn of(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                LogError::Full { path: path.to_owned() }
            }
            _ => LogError::Io(path.to_owned(), error),
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::InUse { path, pid: Some(pid) } => {
                write!(f, "{}: process {pid} is writing this log", path.display())
            }
            LogError::InUse { path, pid: None } => {
                write!(f, "{}: another process is writing this log", path.display())
            }
            LogError::Foreign { path, version } => {
                write!(
                    f,
                    "{}: a log of version {version}; this version reads {BEFORE} to {VERSION}",
                    path.display()
                )
            }
            LogError::ForeignContent { path } => {
                write!(f, "{}: intact, but of a version that this one cannot read", path.display())
            }
            LogError::Newer { path, position, found, known } => {
                let place = path.display();
                write!(
                    f,
                    "{place}: the record at position {position} is of version {found}; this version reads up to {known}"
                )
            }
            LogError::Damaged { path, position } => {
                write!(f, "{}: the log is damaged at position {position}", path.display())
            }
            LogError::Absent { path, position, present: (first, end) } => {
                write!(
                    f,
                    "{}: position {position} is not in the log: it has {first} to {end}",
                    path.display()
                )
            }
            LogError::Full { path } => write!(f, "{}: the disk is full", path.display()),
            LogError::TooLarge(url) => write!(f, "{url}: larger than the maximum frame of the log (1 GiB)"),
            LogError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LogError {}
