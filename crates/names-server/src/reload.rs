//! What a reload changes while the server runs.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use lycosa_names::{Nameserver, Settings, ZoneTable};

use crate::policy::Policy;
use crate::{Server, ask, limits, lock};

impl Server {
    /// Replaces the policy and the upstreams, and reopens the query log; other settings stay the same. Where the
    /// servers of a zone change, what is known of its names is forgotten. On an error nothing changes.
    ///
    /// # Errors
    ///
    /// No upstream, a rate that is not positive, or unusable root certificates or log file.
    pub fn reload(&self, policy: Policy, upstream: Settings) -> io::Result<()> {
        let mut settings = lock(&self.settings);
        let file = self.state.log.as_ref().map_or(Ok(None), |log| log.open())?;
        if !is_same(&settings.upstream, &upstream) {
            let new = ask(&upstream, &self.state.held, &self.state.packets, &self.teller)?;
            self.state.pending.replace(Arc::new(new));
            self.state.probed.store(0, Relaxed);
            self.state.probe(self.state.clock.now());
            self.forget_zones(&settings.upstream.zones, &upstream.zones);
            settings.upstream = upstream;
        }
        if let Some(log) = &self.state.log {
            log.reload(file, policy.query_log_clients);
        }
        self.state.packets.limit(limits(&policy));
        let shared = Arc::new(policy.clone());
        *self.state.held.policy.write().unwrap_or_else(PoisonError::into_inner) = shared;
        settings.policy = policy;
        Ok(())
    }

    /// Forgets what other servers said about the names of zones. The old upstreams must be closed, so that none of
    /// their answers is stored afterwards.
    fn forget_zones(&self, old: &ZoneTable<Vec<Nameserver>>, new: &ZoneTable<Vec<Nameserver>>) {
        let changed = old.changed(new);
        if !changed.is_empty() {
            self.cache.forget_around(changed);
            self.state.packets.forget(|name| old.find_text(name) != new.find_text(name));
        }
    }
}

/// Whether two settings ask upstreams in the same way; `false` with a file of root certificates, which may
/// have changed.
fn is_same(one: &Settings, other: &Settings) -> bool {
    // Every field is named, so that a new one must be decided on; a reload changes none of those with `_`.
    let Settings {
        servers,
        zones,
        ca_file,
        timeout,
        attempts,
        in_flight,
        negative_ttl,
        rate,
        rotate,
        spread,
        nxdomain_cut,
        wildcards,
        local: _,
        tcp_only: _,
        eager: _,
        min_ttl: _,
        max_ttl: _,
        speed: _,
        slow: _,
        families: _,
        prefer_v4: _,
        paces: _,
        special_use: _,
        own_domains: _,
        clock: _,
    } = one;
    let has_roots = ca_file.is_some() || other.ca_file.is_some();
    !has_roots
        && *servers == other.servers
        && *zones == other.zones
        && *timeout == other.timeout
        && *attempts == other.attempts
        && *in_flight == other.in_flight
        && *negative_ttl == other.negative_ttl
        && *rate == other.rate
        && *rotate == other.rotate
        && *spread == other.spread
        && *nxdomain_cut == other.nxdomain_cut
        && *wildcards == other.wildcards
}
