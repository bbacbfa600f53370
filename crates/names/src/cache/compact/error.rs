//! Why a cache cannot be had: what was given, what is allowed, what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a compact cache cannot be made or opened.
#[derive(Debug)]
pub enum CompactError {
    /// A setting is beyond its limits.
    Setting {
        /// Which.
        name: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// It does not fit; nothing was written.
    NoRoom {
        /// Where: `the disk of PATH` or `memory`.
        place: String,
        /// Bytes that the cache needs.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// The file cannot be used as it is.
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refusal: Refusal,
    },
    /// As many processes as there are numbers for (1,023) have the file open.
    Crowded(PathBuf),
    /// The system would not.
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is something else.
    NoCache,
    /// It is shorter than its header says.
    Truncated {
        /// Its bytes.
        is: u64,
        /// Bytes it should have.
        should: u64,
    },
    /// It was made by a machine of the other byte order.
    ByteOrder,
    /// It has another version.
    Version {
        /// Its version.
        found: u64,
        /// The version that is understood.
        known: u64,
    },
    /// Its header does not fit its own checksum.
    Damaged,
    /// It has another secret than the settings give.
    Secret,
    /// It was made with another Public Suffix List: names would be counted under other domains.
    SuffixList,
    /// It was made with another table of top-level domains.
    TopLevelDomains,
    /// It was made with another value of a setting that decides over its layout.
    Setting {
        /// Which.
        name: &'static str,
        /// The value in the file.
        found: String,
        /// The value that was given.
        given: String,
    },
}

impl CompactError {
    /// An error of the system about a file.
    pub(super) fn of(path: &Path, error: impl Into<io::Error>) -> Self {
        CompactError::Io { path: path.to_owned(), error: error.into() }
    }
}

impl Refusal {
    /// Whether the file is only older than this program, which brings it up to date when it opens it to write.
    fn is_outdated(&self) -> bool {
        match self {
            Refusal::SuffixList | Refusal::TopLevelDomains => true,
            Refusal::Version { found, known } => found < known,
            _ => false,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoCache => formatter.write_str("this is no cache of names"),
            Refusal::Truncated { is, should } => write!(formatter, "it was cut to {is} of {should} bytes"),
            Refusal::ByteOrder => formatter.write_str("it comes from a machine of the other byte order"),
            Refusal::Version { found, known } => {
                write!(formatter, "it has version {found}; this program knows {known}")
            }
            Refusal::Damaged => formatter.write_str("its header is damaged"),
            Refusal::Secret => formatter.write_str("it was made with another secret than the one given"),
            Refusal::SuffixList => formatter.write_str("it was made with another Public Suffix List"),
            Refusal::TopLevelDomains => {
                formatter.write_str("it was made with another list of top-level domains")
            }
            Refusal::Setting { name, found, given } => {
                write!(formatter, "it was made with {name} = {found}; {given} was given")
            }
        }
    }
}

impl fmt::Display for CompactError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompactError::Setting { name, given, allowed } => {
                write!(formatter, "{name} = {given}; allowed: {allowed}")
            }
            CompactError::NoRoom { place, needed, available } => write!(
                formatter,
                "the cache needs {needed} bytes; {place} has {available}: give a smaller capacity or another place"
            ),
            CompactError::Refused { path, refusal: refusal @ Refusal::NoCache } => {
                write!(formatter, "{}: {refusal}: give another path", path.display())
            }
            CompactError::Refused { path, refusal } if refusal.is_outdated() => {
                let path = path.display();
                write!(formatter, "{path}: {refusal}: the next program that uses it brings it up to date")
            }
            CompactError::Refused { path, refusal } => {
                let path = path.display();
                write!(
                    formatter,
                    "{path}: {refusal}: remove it, or make it anew with `lycosa cache rebuild {path}`"
                )
            }
            CompactError::Crowded(path) => {
                write!(formatter, "{}: 1,023 processes have it open already: end some", path.display())
            }
            CompactError::Io { path, error } => write!(formatter, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for CompactError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CompactError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
