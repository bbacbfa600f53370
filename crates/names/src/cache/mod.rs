//! The interface of caches of names, and the default design (SYSTEMS.md section 1); `lycosa_names_published`
//! has others.
//!
//! A cache never reads a clock: each call passes `now`, in seconds since 1970, so that files survive a restart.

pub mod compact;
mod kept;
pub(crate) mod packet;
mod packets;

pub use kept::{FIRST_PAUSE, LAST_PAUSE, SLOW, pause};
pub use lycosa_url::NameClass as Class;
pub use packets::{Packet, PacketCache, PacketLimits, STALE_TTL};

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::host::HostName;
use crate::settings::Families;

/// Seconds since 1970.
pub type Seconds = u64;

/// Addresses of one family that a cache stores; after sorting, the rest is cut off.
pub const MAX_ADDRESSES: usize = 4;

/// The addresses of a name, sorted, without repeats: at most [`MAX_ADDRESSES`] of each family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// A records.
    pub v4: Vec<Ipv4Addr>,
    /// AAAA records.
    pub v6: Vec<Ipv6Addr>,
}

/// Why a name did not resolve; no evidence about the name itself (RFC 9520).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Servers answered with SERVFAIL, REFUSED or the like.
    ServerFailure,
    /// No server answered in time.
    TimeOut,
}

/// The cached answer for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its addresses; at least one.
    Addresses(Addresses),
    /// It does not exist (RFC 2308).
    NxDomain,
    /// It exists, but has no address of the queried families.
    NoData,
    /// It does not exist or has no address of those families; the cache cannot distinguish these (a Bloom
    /// filter).
    Negative,
    /// It failed to resolve.
    Failed {
        /// The kind of failure.
        trouble: Trouble,
        /// Failures in a row, at least 1. A cache that has earlier ones adds them.
        attempts: u8,
    },
}

/// The result of a resolution, to be cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The answer.
    pub answer: Answer,
    /// The TTL in seconds; each cache has its own limits. The cache itself decides how long a failure pauses.
    pub ttl: u32,
    /// How long resolving took, in milliseconds.
    pub took: u32,
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The answer.
    pub answer: Answer,
    /// When it expires; `None` if the cache cannot tell (a Bloom filter).
    pub expires: Option<Seconds>,
    /// The cost of resolving it.
    pub class: Class,
}

/// Counts since the cache was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Lookups with a result.
    pub hits: u64,
    /// Lookups without a result.
    pub misses: u64,
    /// Resolutions that were inserted.
    pub insertions: u64,
    /// Names that were evicted before they expired.
    pub evictions: u64,
    /// Resolutions that were not inserted: no space was left, or a bucket was busy.
    pub refused: u64,
}

/// A cache of names.
pub trait NameCache: Send {
    /// Looks up a name's addresses of these families; `None` if nothing valid is cached.
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found>;

    /// Inserts a resolution of a name's addresses of these families, and replaces the entry that it had.
    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds);

    /// Records that neither a name nor any name below it exists (RFC 8020), for at most `ttl` seconds. Designs
    /// that cannot tell which names are below a name do nothing.
    fn cut(&mut self, name: HostName<'_>, ttl: u32, now: Seconds) {
        let _ = (name, ttl, now);
    }

    /// Announces that a name in normal form will be looked up or inserted soon: a design may prefetch its
    /// memory. Changes nothing.
    fn foresee(&self, name: &str) {
        let _ = name;
    }

    /// When the pause after failures to resolve families of a name ends, if the design counts failures.
    fn paused_until(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Seconds> {
        let found = self.lookup(name, families, now)?;
        matches!(found.answer, Answer::Failed { .. }).then_some(found.expires).flatten()
    }

    /// Names to resolve again before they are requested, `most` at most, with their known families; each is
    /// returned once.
    fn due(&mut self, now: Seconds, most: usize) -> Vec<(Box<str>, Families)> {
        let _ = (now, most);
        Vec::new()
    }

    /// Removes a name, if the design can; returns whether it was present.
    fn forget(&mut self, name: HostName<'_>) -> bool;

    /// The number of names with addresses, some of which may have expired.
    fn count(&self) -> u64;

    /// Bytes of memory (or of the mapped file) in use.
    fn memory(&self) -> usize;

    /// Counts since the cache was opened.
    fn statistics(&self) -> CacheStatistics;
}
