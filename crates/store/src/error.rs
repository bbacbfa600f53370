//! Why a log cannot be opened, written or read, by what a person can do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::Position;
use crate::layout::{BEFORE, VERSION};

/// Why a log cannot be opened, written or read.
#[derive(Debug)]
pub enum LogError {
    /// Another process writes it.
    InUse {
        /// The log's directory.
        path: PathBuf,
        /// Its number, where it could be told.
        pid: Option<u32>,
    },
    /// Written in another version's layout.
    Foreign {
        /// The file that says so.
        path: PathBuf,
        /// The version that it names.
        version: u32,
    },
    /// As it was written, and yet nothing that this version knows.
    ForeignContent {
        /// The file.
        path: PathBuf,
    },
    /// A record of a later version than this one can read.
    Newer {
        /// The log's directory.
        path: PathBuf,
        /// Where it stands.
        position: Position,
        /// The version of the record.
        found: u8,
        /// The newest that can be read.
        known: u8,
    },
    /// What stands at a position is not as it was written.
    Damaged {
        /// The log's directory.
        path: PathBuf,
        /// Where.
        position: Position,
    },
    /// A position that the log does not hold: not yet, or no more.
    Absent {
        /// The log's directory.
        path: PathBuf,
        /// What was asked for.
        position: Position,
        /// What there is: first position and end.
        present: (Position, Position),
    },
    /// No space is left, or no quota. Nothing was changed: the same call may succeed later.
    Full {
        /// The file or directory that could not grow.
        path: PathBuf,
    },
    /// An entry that is larger than a frame can be, by its URL.
    TooLarge(String),
    /// The system's own error, with what it was about.
    Io(PathBuf, io::Error),
}

impl LogError {
    /// A system's error about a file or a directory: a full disk stands apart, since it passes.
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
                    "{}: a log of version {version}; readable are versions {BEFORE} to {VERSION}",
                    path.display()
                )
            }
            LogError::ForeignContent { path } => {
                write!(f, "{}: whole, but of a version that this one does not read", path.display())
            }
            LogError::Newer { path, position, found, known } => {
                let place = path.display();
                write!(
                    f,
                    "{place}: the record at position {position} is of version {found}; readable is up to version {known}"
                )
            }
            LogError::Damaged { path, position } => {
                write!(f, "{}: the log is damaged at position {position}", path.display())
            }
            LogError::Absent { path, position, present: (first, end) } => {
                write!(
                    f,
                    "{}: position {position} is not in the log: it holds {first} to {end}",
                    path.display()
                )
            }
            LogError::Full { path } => write!(f, "{}: the disk is full", path.display()),
            LogError::TooLarge(url) => write!(f, "{url}: larger than a frame of the log can be (1 GiB)"),
            LogError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LogError {}
