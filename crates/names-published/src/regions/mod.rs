//! Design 3, regions (CN110365810B; SYSTEMS.md section 3): names that resolve quickly are in a forward
//! region, slow and failed ones in a reverse region, so that a crawler knows which names are expensive.
//!
//! Guarantees, which the tests repeat:
//! 1. A name is in at most one region: in the forward one if it was resolved in less than `slow`, else in the
//!    reverse one. A later resolution moves it. The answer carries its class.
//! 2. No answer is returned after its TTL; a failed name has no address and its back-off as TTL, which
//!    doubles with each failure in a row.
//! 3. Each region has at most the number of names in the settings; see `forward` and `reverse` for eviction.
//! 4. By the public suffix list every name can have an address; by dots, as published, only names with two or
//!    three dots can.
//!
//! In the patent, only names with three dots have a limit. Here names on the levels above have one too
//! (`hosts`), by the same median rule, and so has the reverse region (`reverse`), by weight.

mod forward;
mod levels;
mod reverse;

use self::forward::Forward;
pub use self::levels::Levels;
use self::reverse::Reverse;
pub use self::reverse::{Weight, Worth};
use crate::kept::{Kept, negative_ttl};
use lycosa_names::cache::{Answer, CacheStatistics, Class, Found, NameCache, Resolution, SLOW, Seconds};
use lycosa_names::{Families, HostName};

/// Settings of [`Regions`].
#[derive(Clone, Copy, Debug)]
pub struct RegionsSettings {
    /// How a name's level is determined (default [`Levels::PublicSuffix`]).
    pub levels: Levels,
    /// Resolution time in milliseconds from which a name counts as slow (default
    /// [`SLOW`](lycosa_names::cache::SLOW)).
    pub slow: u32,
    /// Maximum number of third-level names in the forward region; beyond it, those last used before the
    /// median access are evicted: 2 to 2^30 (default 100,000).
    pub deeper: usize,
    /// The same limit for the levels above: 2 to 2^30 (default 200,000).
    pub hosts: usize,
    /// Maximum number of names in the reverse region; the lightest are evicted: 8 to 2^30 (default 50,000).
    pub reverse: usize,
    /// Weight below which entries of the reverse region are evicted if they were not refreshed within
    /// `period`. The default, 100, is a name that took 100 ms and was used just now, or 800 ms and was last
    /// used three hours ago.
    pub light: f64,
    /// Interval of that eviction, in seconds (default 3,600).
    pub period: Seconds,
    /// Weight function of the reverse region (default [`Weight::COST`]).
    pub weight: Weight,
}

impl Default for RegionsSettings {
    fn default() -> Self {
        RegionsSettings {
            levels: Levels::PublicSuffix,
            slow: SLOW,
            deeper: 100_000,
            hosts: 200_000,
            reverse: 50_000,
            light: 100.0,
            period: 3_600,
            weight: Weight::COST,
        }
    }
}

/// Cached data of a name, without the name and its last access.
#[derive(Clone, Debug)]
struct Record {
    answer: Kept,
    families: Families,
    class: Class,
    /// Resolution time in milliseconds.
    took: u32,
    /// TTL in seconds.
    ttl: u32,
    expires: Seconds,
}

impl Record {
    /// The answer, if it is valid and for these families.
    fn found(&self, families: Families, now: Seconds) -> Option<Found> {
        let holds = now < self.expires && self.families == families;
        holds.then(|| Found { answer: self.answer.answer(), expires: Some(self.expires), class: self.class })
    }
}

/// The cache.
pub struct Regions {
    settings: RegionsSettings,
    forward: Forward,
    reverse: Reverse,
    statistics: CacheStatistics,
}

impl Regions {
    /// Creates an empty cache; settings beyond their limits are clamped.
    pub fn new(settings: RegionsSettings) -> Self {
        let limit = |value: usize, least| value.clamp(least, 1 << 30);
        let settings = RegionsSettings {
            deeper: limit(settings.deeper, 2),
            hosts: limit(settings.hosts, 2),
            reverse: limit(settings.reverse, 8),
            ..settings
        };
        Regions {
            forward: Forward::new(settings.hosts, settings.deeper),
            reverse: Reverse::new(&settings),
            settings,
            statistics: CacheStatistics::default(),
        }
    }

    /// Whether the cache has valid addresses of a name, of any family.
    fn has_addresses(&mut self, name: &str, now: Seconds) -> bool {
        let holds = |record: &Record| {
            now < record.expires && matches!(record.answer, Kept::One(_) | Kept::Several(_))
        };
        self.forward.find(name).is_some_and(holds) || self.reverse.find(name, now).is_some_and(holds)
    }

    /// The names of the forward region at and below a name, in tree order.
    pub fn under(&self, name: HostName<'_>) -> Vec<&str> {
        self.forward.under(name.as_str())
    }
}

impl NameCache for Regions {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        let found = match self.forward.find(name.as_str()) {
            Some(record) => record.found(families, now),
            None => self.reverse.find(name.as_str(), now).and_then(|record| record.found(families, now)),
        };
        match found {
            Some(_) => self.statistics.hits += 1,
            None => self.statistics.misses += 1,
        }
        found
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        let name = name.as_str();
        let mut resolution = resolution.clone();
        if let Answer::Failed { attempts, .. } = &mut resolution.answer {
            if self.has_addresses(name, now) {
                return; // a valid answer takes precedence over a failure
            }
            *attempts = (*attempts).max(self.reverse.failures(name).saturating_add(1));
        }
        let resolution = &resolution;
        let class = resolution.class(self.settings.slow);
        let ttl = if class == Class::Failed { negative_ttl(resolution) } else { resolution.ttl };
        let record = Record {
            answer: Kept::new(&resolution.answer),
            families,
            class,
            took: resolution.took,
            ttl,
            expires: now.saturating_add(Seconds::from(ttl)),
        };
        if class == Class::Fast {
            self.reverse.forget(name);
            let Some(path) = self.settings.levels.path(name) else {
                self.statistics.refused += 1;
                return;
            };
            self.statistics.evictions += self.forward.insert(&path, record, now);
        } else {
            self.forward.forget(name);
            self.statistics.evictions += self.reverse.insert(name, record, now);
        }
        self.statistics.insertions += 1;
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.forward.forget(name.as_str()) | self.reverse.forget(name.as_str())
    }

    fn count(&self) -> u64 {
        self.forward.count() + self.reverse.count()
    }

    fn memory(&self) -> usize {
        self.forward.memory() + self.reverse.memory()
    }

    fn statistics(&self) -> CacheStatistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests;
