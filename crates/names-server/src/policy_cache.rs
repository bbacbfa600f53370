//! The cache as the server's upstream clients use it: it applies the policy to TTLs and serves expired
//! entries as long as the policy allows.

use std::sync::{Arc, PoisonError, RwLock};

use lycosa_names::cache::compact::{CompactCache, Record, State};
use lycosa_names::cache::{Answer, CacheStatistics, Found, NameCache, Resolution, Seconds};
use lycosa_names::{Families, HostName};

use crate::policy::Policy;

/// A compact cache with a server's policy.
#[derive(Clone)]
pub(crate) struct PolicyCache {
    pub(crate) cache: Arc<CompactCache>,
    pub(crate) policy: Arc<RwLock<Arc<Policy>>>,
}

impl PolicyCache {
    /// The current policy.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Expired addresses of a name, within the policy's serve-stale time.
    pub(crate) fn stale(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Record> {
        let since = Seconds::from(self.policy().stale);
        let before = (since > 0).then(|| self.cache.get_expired(name, families, now, since))?;
        before.filter(|record| record.state == State::Addresses)
    }
}

impl NameCache for PolicyCache {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        self.cache.get(name, families, now).map(|record| record.found())
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        if let Answer::Failed { trouble, .. } = resolution.answer {
            let pause = self.policy().failure_pause;
            self.cache.put_failure(name, families, trouble, pause, now);
            return;
        }
        let mut kept = resolution.clone();
        if matches!(kept.answer, Answer::Addresses(_)) {
            let policy = self.policy();
            kept.ttl = policy.ttl(name.as_str(), kept.ttl);
            if !policy.keep_ttl.has(name.as_str()) {
                kept.ttl = kept.ttl.max(policy.shortest_kept());
            }
            if kept.ttl < 60 {
                // A shorter TTL that must be kept exactly is not cached; the expired entry is removed, so
                // that it is not served any more.
                if self.stale(name, families, now).is_some() {
                    self.cache.remove(name);
                }
                self.cache.forget_failures(name, families);
                return;
            }
        }
        self.cache.put(name, families, &kept, now);
    }

    fn foresee(&self, name: &str) {
        self.cache.prefetch(name);
    }

    fn cut(&mut self, name: HostName<'_>, ttl: u32, now: Seconds) {
        self.cache.put_cut(name, ttl, now);
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.cache.remove(name)
    }

    fn paused_until(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Seconds> {
        self.cache.paused_until(name, families, now)
    }

    fn count(&self) -> u64 {
        self.cache.count()
    }

    fn memory(&self) -> usize {
        self.cache.memory()
    }

    fn statistics(&self) -> CacheStatistics {
        self.cache.statistics()
    }
}

#[cfg(test)]
#[path = "policy_cache_tests.rs"]
mod tests;
