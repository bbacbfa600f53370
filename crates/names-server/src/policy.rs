//! Settings for answers and clients that can change while the server runs.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lycosa_names::LocalNames;
use lycosa_url::{AddressPolicy, Network};

use crate::limits;
use crate::query_log::ClientBits;
use crate::question::name_of;
use crate::secrets::CookieSecrets;

/// Rules of a server that a reload can change.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Minimum TTL of addresses in seconds; shorter ones are raised to it.
    pub min_ttl: u32,
    /// Maximum TTL in seconds; longer ones are cut to it.
    pub max_ttl: u32,
    /// Names whose TTLs are not changed.
    pub keep_ttl: Zones,
    /// Maximum seconds that NXDOMAIN and NODATA are cached.
    pub negative_ttl: u32,
    /// Seconds that a first failure is cached; each further one in a row doubles the time (RFC 9520).
    pub failure_pause: u32,
    /// Serve-stale time in seconds after expiry (RFC 8767); 0: never.
    pub stale: u32,
    /// Whether names that are asked for shortly before their expiry are prefetched.
    pub prefetch: bool,
    /// Networks of allowed clients.
    pub allow: Vec<Network>,
    /// Maximum UDP answers a second per client; `None`: no limit.
    pub rate: Option<f64>,
    /// Idle time-out of a TCP connection; of an open one from its next message on.
    pub tcp_idle: Duration,
    /// Zones with their own upstreams, which are asked even for special-use names such as those below
    /// `local`.
    pub own_zones: Zones,
    /// Names that are answered without an upstream; consulted first.
    pub local: Option<Arc<dyn LocalNames>>,
    /// Whether addresses that are not public are removed from answers.
    pub filter_private: bool,
    /// Names that may have private addresses.
    pub private_names: Zones,
    /// Cookie secrets that several servers share; `None`: a random secret per start.
    pub cookie_secrets: Option<CookieSecrets>,
    /// Prefix lengths of client addresses in the query log; `None` omits the addresses.
    pub query_log_clients: Option<ClientBits>,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            min_ttl: 300,
            max_ttl: 86_400,
            keep_ttl: Zones::default(),
            negative_ttl: 900,
            failure_pause: 120,
            stale: 86_400,
            prefetch: true,
            allow: ["127.0.0.0/8", "::1/128"].iter().filter_map(|network| network.parse().ok()).collect(),
            rate: None,
            tcp_idle: Duration::from_secs(10), // RFC 7766 section 6.2.3: "a few seconds"
            own_zones: Zones::default(),
            local: None,
            filter_private: false,
            private_names: Zones::default(),
            cookie_secrets: None,
            query_log_clients: Some(ClientBits::default()),
        }
    }
}

impl Policy {
    /// TTL in seconds of a name's addresses whose original TTL is `ttl`.
    pub(crate) fn ttl(&self, name: &str, ttl: u32) -> u32 {
        if self.keep_ttl.has(name) { ttl } else { ttl.min(self.max_ttl).max(self.min_ttl) }
    }

    /// Maximum TTL of a name's addresses in seconds.
    pub(crate) fn longest(&self, name: &str) -> u32 {
        if self.keep_ttl.has(name) { u32::MAX } else { self.max_ttl.max(self.shortest_kept()) }
    }

    /// The TTL in seconds with which the cache keeps addresses for `min_ttl` at least: it rounds times down to
    /// minutes. 0 with a minimum below one minute, which does not lengthen what is too short to be cached.
    pub(crate) fn shortest_kept(&self) -> u32 {
        if self.min_ttl < 60 { 0 } else { self.min_ttl.saturating_add(59) }
    }

    /// Whether a client is allowed.
    pub(crate) fn allows(&self, client: IpAddr) -> bool {
        limits::is_allowed(&self.allow, client)
    }

    /// Whether addresses of a name are filtered.
    pub(crate) fn filters(&self, name: &str) -> bool {
        self.filter_private && !self.private_names.has(name)
    }

    /// Like [`filters`](Self::filters), for the name in a message's question; names without a text form are
    /// always filtered.
    pub(crate) fn filters_answer(&self, message: &[u8]) -> bool {
        self.filter_private && name_of(message).is_none_or(|name| self.filters(&name))
    }
}

/// Whether an address is public.
pub(crate) fn is_public(address: IpAddr) -> bool {
    AddressPolicy::default().permits(address)
}

/// A set of zones: names with all names below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones(HashSet<Box<str>>);

impl Zones {
    /// A set of zones; the names must be in normal form.
    pub fn new(names: impl IntoIterator<Item = Box<str>>) -> Self {
        Zones(names.into_iter().collect())
    }

    /// Whether a name is one of the zones or below one.
    pub fn has(&self, name: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut rest = Some(name);
        while let Some(name) = rest {
            if self.0.contains(name) {
                return true;
            }
            rest = name.split_once('.').map(|(_, above)| above);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttls_are_stretched_and_cut_but_for_exceptions() {
        let keep_ttl = Zones::new(["dyn.example".into()]);
        let policy = Policy { min_ttl: 300, max_ttl: 3_600, keep_ttl, ..Policy::default() };
        let ttls = |name| [1, 600, 90_000].map(|ttl| policy.ttl(name, ttl));
        assert_eq!(ttls("www.example"), [300, 600, 3_600]);
        assert_eq!(ttls("host.dyn.example"), [1, 600, 90_000]);
        assert_eq!(ttls("notdyn.example"), [300, 600, 3_600]);
    }
}
