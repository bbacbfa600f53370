//! What a server does with answers and clients, as far as it can be changed while it runs.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use lycosa_names::LocalNames;
use lycosa_url::{AddressPolicy, Network};

use crate::limits;
use crate::query_log::ClientBits;
use crate::question::name_of;
use crate::secrets::CookieSecrets;

/// The rules of a server that a reload changes.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Shorter TTLs are lengthened to so many seconds.
    pub min_ttl: u32,
    /// Longer ones are shortened.
    pub max_ttl: u32,
    /// Names whose TTLs are left as they are.
    pub keep_ttl: Zones,
    /// For how many seconds "no such name" and "no such data" are held at most.
    pub negative_ttl: u32,
    /// For how many seconds a first failure is answered from memory; each further one in a row doubles it (RFC 9520).
    pub failure_pause: u32,
    /// For how many seconds after its expiry an answer is still given where nobody can tell a newer one (RFC 8767); 0: never.
    pub stale: u32,
    /// Whether names that are asked for shortly before they expire are asked anew.
    pub prefetch: bool,
    /// Who may ask.
    pub allow: Vec<Network>,
    /// Answers a second that one client gets by datagram, at most.
    pub rate: Option<f64>,
    /// Zones with upstreams of their own, which are asked for also where others would not be: below `local` and the like.
    pub own_zones: Zones,
    /// What is known without asking an upstream; looked at first.
    pub local: Option<Arc<dyn LocalNames>>,
    /// Whether addresses that are not public are taken out of answers.
    pub filter_private: bool,
    /// Names that may have such addresses.
    pub private_names: Zones,
    /// The secrets of cookies, where several servers share them; none: each start makes its own.
    pub cookie_secrets: Option<CookieSecrets>,
    /// How much of clients' addresses is logged; none: they are left out.
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
    /// For how many seconds a name's addresses hold, of which it was said that they hold for `ttl`.
    pub(crate) fn ttl(&self, name: &str, ttl: u32) -> u32 {
        if self.keep_ttl.has(name) { ttl } else { ttl.min(self.max_ttl).max(self.min_ttl) }
    }

    /// The longest that a name's addresses may hold, in seconds.
    pub(crate) fn longest(&self, name: &str) -> u32 {
        if self.keep_ttl.has(name) { u32::MAX } else { self.max_ttl.max(self.min_ttl.saturating_add(59)) }
    }

    /// Whether a client may ask.
    pub(crate) fn allows(&self, client: IpAddr) -> bool {
        limits::is_allowed(&self.allow, client)
    }

    /// Whether addresses of a name have to be looked at one by one.
    pub(crate) fn filters(&self, name: &str) -> bool {
        self.filter_private && !self.private_names.has(name)
    }

    /// The same for the name that a message asks for; one without a text is none of the exceptions.
    pub(crate) fn filters_answer(&self, message: &[u8]) -> bool {
        self.filter_private && name_of(message).is_none_or(|name| self.filters(&name))
    }
}

/// Whether an address is the public Internet's.
pub(crate) fn is_public(address: IpAddr) -> bool {
    AddressPolicy::default().permits(address)
}

/// Names, each with all below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones(HashSet<Box<str>>);

impl Zones {
    /// Zones of these names, which are in normal form.
    pub fn new(names: impl IntoIterator<Item = Box<str>>) -> Self {
        Zones(names.into_iter().collect())
    }

    /// Whether a name is one of them, or below one.
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
