//! What a compact cache is told when it is made.

use super::super::{FIRST_PAUSE, LAST_PAUSE, SLOW};
use super::error::CompactError;
use super::slot;

/// The chance that a lookup of an unknown name gives another name's answer, with [`Verify::Keyed`]: twelve slots at most are
/// compared, by 64 bits that nobody can predict without the secret. It does not depend on how many names there are.
pub const WRONG_ANSWERS: f64 = 12.0 / (1_u128 << 64) as f64;

/// How names are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// By 64 bits of a keyed hash of the whole name, beside those that pick the bucket: see [`WRONG_ANSWERS`].
    #[default]
    Keyed,
    /// By the 76 bits of the publication (SYSTEMS.md section 1). For comparison only: wrong answers are common, and anyone
    /// can aim at a victim's key.
    Published,
}

/// How names that do not resolve are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negative {
    /// All in one Bloom filter, whatever the failure, that is cleared as a whole each time `ttl` has passed: as published.
    ClearAll,
    /// NXDOMAIN and no-data in so many Bloom filters (2 to 16), of which the oldest is cleared in turn: a name is forgotten
    /// between (n − 1)/n of `ttl` and `ttl` after it was taken. Other failures expire each by itself.
    Generations(u8),
}

/// What a compact cache is told when it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactSettings {
    /// Names it is made for: slots are 90 % full with so many. Default: 1,000,000; 1,000 to 10^10.
    pub capacity: u64,
    /// Address sets of up to 24 bytes (six IPv4 addresses, or one IPv6 and two IPv4). Default: one for eight names.
    pub small_sets: Option<u64>,
    /// Address sets of up to four addresses of each family. Default: one for 32 names.
    pub large_sets: Option<u64>,
    /// How names are compared.
    pub verify: Verify,
    /// The 128 bits that key all hashes. Default: drawn when the file is made. To be given where several machines exchange
    /// keys; a file with another one is refused.
    pub secret: Option<[u8; 16]>,
    /// How names that do not resolve are kept.
    pub negative: Negative,
    /// Names that do not resolve, in all generations. Default: a fifth of `capacity`; 0: they are kept among the others.
    pub negative_capacity: Option<u64>,
    /// False positives of a full filter, of all generations together. Default: 10^-6; 10^-9 to 0.1.
    pub false_positives: f64,
    /// How long a name that does not resolve is kept, in seconds. Default: 3,600; 60 to 86,400. Uniform, since a filter has no
    /// place for a time of each name; without a filter it is the longest time, and each name has its own.
    pub negative_ttl: u32,
    /// The shortest that addresses are held, in seconds. Default: 300; 60 to `max_ttl`. Four in ten A records have a TTL of
    /// at most 5 min (background/dns.md), and politeness alone stretches a visit over minutes.
    pub min_ttl: u32,
    /// The longest that addresses are held, in seconds. Default: 86,400, as in the client; at most 11 days.
    pub max_ttl: u32,
    /// The first pause after a failure that says nothing about the name, in seconds; it doubles with each attempt. Default:
    /// 1 (RFC 9520 section 3.2: at least 1 s, at most 5 min).
    pub first_pause: u32,
    /// The longest such pause. Default: 300; at most 300.
    pub last_pause: u32,
    /// Milliseconds from which on resolving counts as slow. Default: 500, four times the mean of a healthy resolver.
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
    /// Checks every limit.
    pub(super) fn check(&self) -> Result<(), CompactError> {
        let within = |name, given: f64, low: f64, high: f64| {
            if (low..=high).contains(&given) {
                return Ok(());
            }
            Err(CompactError::Setting { name, given: given.to_string(), allowed: format!("{low} to {high}") })
        };
        within("capacity", self.capacity as f64, 1e3, 1e10)?;
        let cells = slot::MOST_CELLS as f64;
        within("small_sets", self.small_sets.unwrap_or_default() as f64, 0.0, cells)?;
        within("large_sets", self.large_sets.unwrap_or_default() as f64, 0.0, cells)?;
        within("negative_capacity", self.negative_capacity.unwrap_or_default() as f64, 0.0, 1e10)?;
        within("false_positives", self.false_positives, 1e-9, 0.1)?;
        within("negative_ttl", self.negative_ttl.into(), 60.0, 86_400.0)?;
        within("max_ttl", self.max_ttl.into(), 60.0, slot::MAX_TTL.into())?;
        within("min_ttl", self.min_ttl.into(), 60.0, self.max_ttl.into())?;
        within("last_pause", self.last_pause.into(), 1.0, LAST_PAUSE.into())?;
        within("first_pause", self.first_pause.into(), 1.0, self.last_pause.into())?;
        match self.negative {
            Negative::ClearAll => Ok(()),
            Negative::Generations(count) => within("generations", count.into(), 2.0, 16.0),
        }
    }
}
