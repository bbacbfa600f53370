//! Caches of names: one interface, and the default design (SYSTEMS.md section 1); `lycosa_names_published` has others.
//!
//! A cache never reads a clock: `now` is given with each call, in seconds since 1970, so that files outlive a start.

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

/// Addresses of one family that a cache keeps; more are cut off after sorting.
pub const MAX_ADDRESSES: usize = 4;

/// The addresses of a name, sorted, without repeats: at most [`MAX_ADDRESSES`] of each family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// A records.
    pub v4: Vec<Ipv4Addr>,
    /// AAAA records.
    pub v6: Vec<Ipv6Addr>,
}

/// Why nothing can be said of a name; it says nothing about the name itself (RFC 9520).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Servers answered with SERVFAIL, REFUSED or the like.
    ServerFailure,
    /// Nobody answered in time.
    TimeOut,
}

/// What is known of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its addresses; at least one.
    Addresses(Addresses),
    /// It does not exist (RFC 2308).
    NxDomain,
    /// It exists, but has no address of the families that were asked for.
    NoData,
    /// It does not exist or has no address of those families; the cache cannot tell which (a Bloom filter).
    Negative,
    /// It could not be resolved; `attempts` in a row.
    Failed {
        /// How.
        trouble: Trouble,
        /// How many times in a row, at least 1. A cache that knows of earlier ones counts on.
        attempts: u8,
    },
}

/// What a resolver learned, to be cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// What it learned.
    pub answer: Answer,
    /// For how long it holds, in seconds; each cache has its own limits. A failure's is the cache's own affair.
    pub ttl: u32,
    /// How long resolving took, in milliseconds.
    pub took: u32,
}

/// What a cache knows of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What is known.
    pub answer: Answer,
    /// When it ceases to hold; `None` where the cache cannot tell (a Bloom filter).
    pub expires: Option<Seconds>,
    /// What resolving cost.
    pub class: Class,
}

/// What a cache has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Lookups that found something.
    pub hits: u64,
    /// Lookups that found nothing.
    pub misses: u64,
    /// Resolutions that were taken.
    pub insertions: u64,
    /// Names that had to make room before they expired.
    pub evictions: u64,
    /// Resolutions that were not taken: there was no room, or a bucket was busy.
    pub refused: u64,
}

/// A cache of names.
pub trait NameCache: Send {
    /// What is known of a name's addresses of these families, if it still holds.
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found>;

    /// Takes what a resolver learned about a name's addresses of these families, in place of what was known.
    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds);

    /// Takes that neither a name nor any below it exists (RFC 8020), for `ttl` seconds at most. Designs that cannot tell what
    /// is below a name do nothing.
    fn cut(&mut self, name: HostName<'_>, ttl: u32, now: Seconds) {
        let _ = (name, ttl, now);
    }

    /// A name in normal form is looked up or inserted soon: a design may have the memory loaded where it is. Changes nothing.
    fn foresee(&self, name: &str) {
        let _ = name;
    }

    /// When the pause ends after a failure to resolve families of a name, if the design counts failures.
    fn paused_until(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Seconds> {
        let found = self.lookup(name, families, now)?;
        matches!(found.answer, Answer::Failed { .. }).then_some(found.expires).flatten()
    }

    /// Names that the design wants to have resolved again before anybody asks for them, `most` at most, with the families that are
    /// known of them; each is told once.
    fn due(&mut self, now: Seconds, most: usize) -> Vec<(Box<str>, Families)> {
        let _ = (now, most);
        Vec::new()
    }

    /// Forgets a name, as far as the design can; tells whether it was known.
    fn forget(&mut self, name: HostName<'_>) -> bool;

    /// How many names with addresses are held, some of which may have expired.
    fn count(&self) -> u64;

    /// Bytes of memory (or of the mapped file) in use.
    fn memory(&self) -> usize;

    /// What was done so far.
    fn statistics(&self) -> CacheStatistics;
}
