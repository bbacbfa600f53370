//! The cache as the clients of a server have it: TTLs by its policy, both families of a name side by side, and no failure
//! in place of an answer that can still be given.

use std::sync::{Arc, PoisonError, RwLock};

use super::policy::Policy;
use crate::cache::compact::{CompactCache, Record, State};
use crate::cache::{Addresses, Answer, CacheStatistics, Found, NameCache, Resolution, Seconds};
use crate::host::HostName;
use crate::settings::Families;

/// For how many seconds an answer is given on where nobody could tell a newer one (RFC 8767 section 5: "around 30 seconds");
/// the cache counts in whole minutes, so that it is half a minute at least.
const STALE: u32 = 90;

/// A compact cache by a server's policy.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) cache: Arc<CompactCache>,
    pub(super) policy: Arc<RwLock<Arc<Policy>>>,
}

impl Held {
    /// The policy of now.
    pub(super) fn policy(&self) -> Arc<Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was known of a name's addresses that have expired, but not for longer than the policy allows.
    pub(super) fn stale(&self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Record> {
        let since = Seconds::from(self.policy().stale);
        let before = (since > 0).then(|| self.cache.get_expired(name, families, now, since))?;
        before.filter(|record| record.state == State::Addresses)
    }

    /// What to keep where a name could not be resolved: what was known before, for a short time, if that is allowed.
    fn fall_back(
        &self,
        name: HostName<'_>,
        families: Families,
        took: u32,
        now: Seconds,
    ) -> Option<Resolution> {
        let record = self.stale(name, families, now)?;
        Some(Resolution { answer: record.found().answer, ttl: STALE, took })
    }

    /// Puts one family's answer beside what is known of the other one, which would be lost else: a cache has one entry a name.
    fn join(
        &self,
        name: HostName<'_>,
        families: Families,
        new: &Resolution,
        now: Seconds,
    ) -> Option<Resolution> {
        let other = match families {
            Families::V4 => Families::V6,
            Families::V6 => Families::V4,
            Families::Both => return None,
        };
        let known = self.cache.get(name, other, now)?;
        let left = known.expires.map_or(0, |at| u32::try_from(at.saturating_sub(now)).unwrap_or(u32::MAX));
        let mut addresses = match &new.answer {
            Answer::Addresses(addresses) => addresses.clone(),
            Answer::NoData => Addresses::default(),
            _ => return None,
        };
        match known.state {
            State::Addresses => {
                addresses.v4.extend(known.v4());
                addresses.v6.extend(known.v6());
            }
            State::NoData => (),
            _ => return None,
        }
        let answer = if addresses.is_empty() { Answer::NoData } else { Answer::Addresses(addresses) };
        Some(Resolution { answer, ttl: new.ttl.min(left), took: new.took })
    }
}

impl NameCache for Held {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        self.cache.get(name, families, now).map(|record| record.found())
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        if let Answer::Failed { trouble, .. } = resolution.answer {
            let other = if families == Families::V4 { Families::V6 } else { Families::V4 };
            let is_known = |families| {
                self.cache.get(name, families, now).is_some_and(|known| known.state == State::Addresses)
            };
            if is_known(families) || is_known(other) {
                return; // what holds is worth more than that nobody answered
            }
            match self.fall_back(name, families, resolution.took, now) {
                Some(before) => self.cache.put(name, families, &before, now),
                None => {
                    let pause = self.policy().failure_pause;
                    self.cache.put_failure(name, families, trouble, pause, now)
                }
            };
            return;
        }
        let mut kept = resolution.clone();
        if matches!(kept.answer, Answer::Addresses(_)) {
            let policy = self.policy();
            kept.ttl = policy.ttl(name.as_str(), kept.ttl);
            if !policy.keep_ttl.has(name.as_str()) {
                // The cache counts in minutes, and rounds down: the least time is not to be cut thereby.
                kept.ttl = kept.ttl.max(policy.min_ttl + 59);
            }
            if kept.ttl < 60 {
                return; // who wants this TTL as it is wants no more
            }
        }
        let joined = self.join(name, families, &kept, now);
        match joined {
            Some(joined) if joined.ttl >= 60 => self.cache.put(name, Families::Both, &joined, now),
            _ => self.cache.put(name, families, &kept, now),
        };
    }

    fn cut(&mut self, name: HostName<'_>, ttl: u32, now: Seconds) {
        self.cache.put_cut(name, ttl, now);
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.cache.remove(name)
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
#[path = "held_tests.rs"]
mod tests;
