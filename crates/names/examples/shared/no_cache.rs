//! A cache that stores nothing, to measure the client alone.

use lycosa_names::cache::{CacheStatistics, Found, NameCache, Resolution, Seconds};
use lycosa_names::{Families, HostName};

/// A cache that stores nothing.
pub(crate) struct NoCache;

impl NameCache for NoCache {
    fn lookup(&mut self, _: HostName<'_>, _: Families, _: Seconds) -> Option<Found> {
        None
    }

    fn insert(&mut self, _: HostName<'_>, _: Families, _: &Resolution, _: Seconds) {}

    fn forget(&mut self, _: HostName<'_>) -> bool {
        false
    }

    fn count(&self) -> u64 {
        0
    }

    fn memory(&self) -> usize {
        0
    }

    fn statistics(&self) -> CacheStatistics {
        CacheStatistics::default()
    }
}
