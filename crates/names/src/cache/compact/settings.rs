//! Settings of a compact cache, and the errors that refuse settings or a file.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::super::{FIRST_PAUSE, LAST_PAUSE, SLOW};
use super::record::{MAX_CELLS, MAX_TTL};

/// The probability that a lookup of an unknown name returns another name's answer, with [`Verify::Keyed`]: at
/// most twelve slots are compared by 64 bits of a keyed hash. It does not depend on the number of names.
pub const WRONG_ANSWERS: f64 = 12.0 / (1_u128 << 64) as f64;

/// How names are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// By 64 bits of a keyed hash of the whole name, besides those that select the bucket: see [`WRONG_ANSWERS`].
    #[default]
    Keyed,
    /// By the 76 bits of the publication (SYSTEMS.md section 1). For comparison only: wrong answers are common, and an attacker
    /// can construct collisions.
    Published,
}

/// How names that do not resolve are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negative {
    /// All failures in one Bloom filter, which is cleared every `negative_ttl`: as published.
    ClearAll,
    /// NXDOMAIN in so many Bloom filters (2 to 16), of which the oldest is cleared in turn: a name is kept for (n − 1)/n to all
    /// of `negative_ttl`. Other failures expire individually.
    Generations(u8),
}

/// Settings of a compact cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactSettings {
    /// Names at which 90 % of the slots are occupied. Default: 1,000,000; 1,000 to 10^10.
    pub capacity: u64,
    /// Address sets of up to 24 bytes (six IPv4 addresses, or one IPv6 and two IPv4). Default: one for eight names.
    pub small_sets: Option<u64>,
    /// Address sets of up to four addresses of each family. Default: one for 32 names.
    pub large_sets: Option<u64>,
    /// How names are compared.
    pub verify: Verify,
    /// The 128-bit key of all hashes. Default: random for each file. Must be given if machines exchange keys; a file with
    /// another one is refused.
    pub secret: Option<[u8; 16]>,
    /// How names that do not resolve are stored.
    pub negative: Negative,
    /// Capacity of all filter generations together. Default: a fifth of `capacity`; 0: no filter, slots of the table instead; the
    /// filter that a shared file has is then neither read nor written.
    pub negative_capacity: Option<u64>,
    /// False-positive rate of a full filter, all generations together. Default: 10^-6; 10^-9 to 0.1.
    pub false_positives: f64,
    /// Retention of names that do not resolve, in seconds. Default: 3,600; 60 to 86,400. Uniform in a filter; without a filter
    /// it is the upper limit of each name's own TTL.
    pub negative_ttl: u32,
    /// The shortest retention of addresses, in seconds. Default: 300; 60 to `max_ttl`. Four in ten A records have a TTL of
    /// at most 5 min (background/dns.md), and politeness alone stretches a visit over minutes.
    pub min_ttl: u32,
    /// The longest retention of addresses, in seconds. Default: 86,400, as in the client; at most 11 days.
    pub max_ttl: u32,
    /// The pause after a first resolution failure, in seconds; it doubles with each further one. Default: 1 (RFC 9520
    /// section 3.2: at least 1 s, at most 5 min).
    pub first_pause: u32,
    /// The longest such pause. Default: 300; at most 300.
    pub last_pause: u32,
    /// Milliseconds from which resolving counts as slow. Default: 500, four times the mean of a healthy resolver.
    pub slow: u32,
}

impl Default for CompactSettings {
    fn default() -> Self {
        CompactSettings {
            capacity: 1_000_000,
            small_sets: None,
            large_sets: None,
            verify: Verify::Keyed,
            secret: None,
            negative: Negative::Generations(4),
            negative_capacity: None,
            false_positives: 1e-6,
            negative_ttl: 3_600,
            min_ttl: 300,
            max_ttl: 86_400,
            first_pause: FIRST_PAUSE,
            last_pause: LAST_PAUSE,
            slow: SLOW,
        }
    }
}

impl CompactSettings {
    /// Checks all limits.
    pub(super) fn check(&self) -> Result<(), CompactError> {
        let generations = match self.negative {
            Negative::ClearAll => 2, // within the limits: not used
            Negative::Generations(count) => count,
        };
        let limits = [
            ("capacity", self.capacity as f64, 1e3, 1e10),
            ("small_sets", self.small_sets.unwrap_or_default() as f64, 0.0, MAX_CELLS as f64),
            ("large_sets", self.large_sets.unwrap_or_default() as f64, 0.0, MAX_CELLS as f64),
            ("negative_capacity", self.negative_capacity.unwrap_or_default() as f64, 0.0, 1e10),
            ("false_positives", self.false_positives, 1e-9, 0.1),
            ("negative_ttl", self.negative_ttl.into(), 60.0, 86_400.0),
            ("max_ttl", self.max_ttl.into(), 60.0, MAX_TTL.into()),
            ("min_ttl", self.min_ttl.into(), 60.0, self.max_ttl.into()),
            ("last_pause", self.last_pause.into(), 1.0, LAST_PAUSE.into()),
            ("first_pause", self.first_pause.into(), 1.0, self.last_pause.into()),
            ("generations", generations.into(), 2.0, 16.0),
        ];
        match limits.into_iter().find(|(_, given, low, high)| !(*low..=*high).contains(given)) {
            None => Ok(()),
            Some((name, given, low, high)) => {
                let (given, allowed) = (given.to_string(), format!("{low} to {high}"));
                Err(CompactError::Setting { name, given, allowed })
            }
        }
    }
}

/// Why a compact cache cannot be created or opened.
#[derive(Debug)]
pub enum CompactError {
    /// A setting is out of range.
    Setting {
        /// Its name.
        name: &'static str,
        /// The invalid value.
        given: String,
        /// The allowed values.
        allowed: String,
    },
    /// It does not fit; nothing was written.
    NoRoom {
        /// Where: `the disk of PATH` or `memory`.
        place: String,
        /// Bytes that the cache needs.
        needed: u64,
        /// Bytes that are available.
        available: u64,
    },
    /// The file cannot be used as it is.
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refusal: Refusal,
    },
    /// All 1,023 writer IDs are in use.
    Crowded(PathBuf),
    /// A system call failed.
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not a cache.
    NoCache,
    /// It is shorter than its header states.
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
        /// The version that is supported.
        known: u64,
    },
    /// Its header's checksum is wrong.
    Damaged,
    /// It has another secret than the settings.
    Secret,
    /// It was made with another Public Suffix List: names would be counted under other domains.
    SuffixList,
    /// It was made with another list of top-level domains.
    TopLevelDomains,
    /// It was made with another value of a setting that determines its layout.
    Setting {
        /// Its name.
        name: &'static str,
        /// The value in the file.
        found: String,
        /// The value that was given.
        given: String,
    },
}

impl CompactError {
    /// A system error about a file.
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        CompactError::Io { path: path.to_owned(), error }
    }

    /// A file that cannot be used.
    pub(super) fn refused(path: &Path, refusal: Refusal) -> Self {
        CompactError::Refused { path: path.to_owned(), refusal }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoCache => out.write_str("this is no cache of names"),
            Refusal::Truncated { is, should } => write!(out, "it is truncated to {is} of {should} bytes"),
            Refusal::ByteOrder => out.write_str("it comes from a machine with the other byte order"),
            Refusal::Version { found, known } => {
                write!(out, "it has version {found}; this program supports {known}")
            }
            Refusal::Damaged => out.write_str("its header is damaged"),
            Refusal::Secret => out.write_str("it was made with another secret than the one given"),
            Refusal::SuffixList => out.write_str("it was made with another Public Suffix List"),
            Refusal::TopLevelDomains => out.write_str("it was made with another list of top-level domains"),
            Refusal::Setting { name, found, given } => {
                write!(out, "it was made with {name} = {found}; the settings have {given}")
            }
        }
    }
}

impl fmt::Display for CompactError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompactError::Setting { name, given, allowed } => {
                write!(out, "{name} = {given}; allowed: {allowed}")
            }
            CompactError::NoRoom { place, needed, available } => write!(
                out,
                "the cache needs {needed} bytes; {place} has {available}: reduce the capacity or choose another path"
            ),
            CompactError::Refused { path, refusal } => {
                let path = path.display();
                write!(out, "{path}: {refusal}: ")?;
                match refusal {
                    Refusal::NoCache => out.write_str("choose another path"),
                    // An older file, which is upgraded when it is opened for writing.
                    Refusal::SuffixList | Refusal::TopLevelDomains => out.write_str(UPGRADED),
                    Refusal::Version { found, known } if found < known => out.write_str(UPGRADED),
                    _ => write!(out, "remove it, or recreate it with `lycosa cache rebuild {path}`"),
                }
            }
            CompactError::Crowded(path) => {
                write!(out, "{}: 1,023 processes have it open, which is the limit: stop some", path.display())
            }
            CompactError::Io { path, error } => write!(out, "{}: {error}", path.display()),
        }
    }
}

/// The advice for an outdated file.
const UPGRADED: &str = "the next program that opens it for writing upgrades it";

impl std::error::Error for CompactError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CompactError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
