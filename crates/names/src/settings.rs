//! Settings and statistics of one client.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lycosa_url::Clock;
use rustls::ClientConfig;

use crate::cache::SLOW;
use crate::local::LocalNames;
use crate::nameserver::Nameserver;
use crate::times::Times;
use crate::upstream::Pace;
use crate::zones::ZoneTable;

/// Servers and limits of a [`Client`](crate::Client).
#[derive(Clone, Debug)]
pub struct Settings {
    /// The resolvers, the preferred one first; at least one.
    pub servers: Vec<Nameserver>,
    /// Separate resolvers for the names of some zones.
    pub zones: ZoneTable<Vec<Nameserver>>,
    /// Local data that answers without a query; looked up first.
    pub local: Option<Arc<dyn LocalNames>>,
    /// Whether to query resolvers over TCP only (resolv.conf(5), `use-vc`).
    pub tcp_only: bool,
    /// PEM file of additional root certificates for servers over TLS or HTTPS.
    pub ca_file: Option<PathBuf>,
    /// Longest wait for one try; later rounds over the servers get twice as long. If a server is known to be
    /// faster, the next one is queried sooner, after at least a quarter of it, and an answer to either try is
    /// accepted.
    pub timeout: Duration,
    /// Tries for one question, over all servers.
    pub attempts: u32,
    /// Low-latency mode, which hedges slow servers: a question is repeated at another server before the
    /// time-out, once a server is slower than usual; and under congestion the last try is repeated until the
    /// deadline.
    pub eager: bool,
    /// Names that are queried at the same time; the others are queued.
    pub in_flight: usize,
    /// The shortest time that an answer about addresses is cached, whatever its TTL.
    pub min_ttl: Duration,
    /// The longest time that an answer is cached, whatever its TTL.
    pub max_ttl: Duration,
    /// The longest time that NXDOMAIN and NODATA are cached. Up to this the SOA's TTL applies (RFC 2308 section 5),
    /// and 5 s without an SOA; for addresses at least `min_ttl`. After SERVFAIL and time-outs, the cache's own pause
    /// applies.
    pub negative_ttl: Duration,
    /// Factor by which time runs faster for the cache, and so for TTLs: scaled time. The caller scales
    /// time-outs.
    pub speed: f64,
    /// Milliseconds from which resolving a name counts as slow.
    pub slow: u32,
    /// Address families to query.
    pub families: Families,
    /// Whether to query IPv6 only for names without IPv4 addresses; with [`Families::Both`].
    pub prefer_v4: bool,
    /// Queries per second to each server, at most; `None`: no limit.
    pub rate: Option<f64>,
    /// The servers' paces, in their order, if several clients share the rate; otherwise each client has its
    /// own.
    pub paces: Vec<Pace>,
    /// Whether to query the servers in turn instead of the fastest one; ignored where names are spread.
    pub rotate: bool,
    /// Whether each name has its own server, by a ring of their addresses, and others are queried only if that
    /// one fails: so several clients query one server about a name. Otherwise the fastest server is queried.
    pub spread: bool,
    /// Whether special-use names (`local`, `onion` and others, RFC 6761) get NXDOMAIN without a query.
    pub special_use: bool,
    /// Domains of the own network in normal form, such as search domains: their names are queried even if they
    /// are special-use names (`corp.local`). The root counts for none.
    pub own_domains: Vec<String>,
    /// Whether NXDOMAIN for a name applies to all names below it (RFC 8020), without queries. Such answers are
    /// not validated here, and some servers deny names that have others below them: existing hosts may be
    /// missed.
    pub nxdomain_cut: bool,
    /// Whether to answer for hosts of a wildcard domain without a query. A host with a record of its own may
    /// get the domain's address until a sample shows the difference.
    pub wildcards: bool,
    /// The clock.
    pub clock: Clock,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            servers: Vec::new(),
            zones: ZoneTable::default(),
            local: None,
            tcp_only: false,
            ca_file: None,
            timeout: Duration::from_secs(2),
            attempts: 4,
            eager: true,
            in_flight: 1_000,
            min_ttl: Duration::from_secs(300),
            max_ttl: Duration::from_secs(86_400),
            negative_ttl: Duration::from_secs(3_600), // RFC 2308 section 5: one to three hours
            speed: 1.0,
            slow: SLOW,
            families: Families::V4,
            prefer_v4: false,
            rate: None,
            paces: Vec::new(),
            rotate: false,
            spread: false,
            special_use: true,
            own_domains: Vec::new(),
            nxdomain_cut: false,
            wildcards: false,
            clock: Clock::shared(),
        }
    }
}

impl Settings {
    /// All resolvers, those of zones last.
    pub fn all_servers(&self) -> impl Iterator<Item = &Nameserver> {
        self.servers.iter().chain(self.zones.values().flatten())
    }

    /// Whether a name, in normal form, is in a domain of the own network.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        let is_in = |domain: &String| {
            name.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.own_domains.iter().any(is_in)
    }

    /// The TLS configuration, if a server is queried over TLS or HTTPS; fails if the file of additional root
    /// certificates is unusable.
    pub(crate) fn trust(&self) -> io::Result<Option<ClientConfig>> {
        let is_encrypted = self.all_servers().any(|server| server.is_encrypted());
        is_encrypted.then(|| lycosa_tls::client_config(self.ca_file.as_deref())).transpose()
    }
}

/// Which address families of a name are queried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    /// IPv4 only.
    #[default]
    V4,
    /// IPv6 only.
    V6,
    /// Both at the same time; IPv4 addresses come first.
    Both,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Queries sent, repeated ones included.
    pub questions: u64,
    /// Acceptable replies received.
    pub answers: u64,
    /// Names answered from the cache.
    pub cache_hits: u64,
    /// Names that were in flight already.
    pub coalesced: u64,
    /// Queries repeated, to the next server or in another profile.
    pub retries: u64,
    /// Tries without a reply in time.
    pub timeouts: u64,
    /// Datagrams that matched no query and were ignored.
    pub mismatched: u64,
    /// Datagrams that matched a query except for the case of its letters; repeated over TCP.
    pub case_mismatched: u64,
    /// Truncated replies; repeated over TCP.
    pub truncated: u64,
    /// Names answered from a wildcard, without a query.
    pub inferred: u64,
    /// Names answered that were fast to resolve, from the cache or not.
    pub fast: u64,
    /// Names answered that were slow to resolve, from the cache or not.
    pub slow: u64,
    /// Names answered with a failure, from the cache or not.
    pub failed: u64,
}

/// Figures of one upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamFigures {
    /// The server.
    pub server: Arc<Nameserver>,
    /// Queries sent to it.
    pub questions: u64,
    /// Replies received, late ones and errors included.
    pub answers: u64,
    /// Queries that it did not answer in time.
    pub timeouts: u64,
    /// Its smoothed round-trip time; `None` before the first reply.
    pub round_trip: Option<Duration>,
    /// Distribution of its round-trip times, late replies and errors included.
    pub round_trips: Times,
    /// The most queries that may be in flight to it.
    pub window: u32,
    /// Queries in flight to it.
    pub in_flight: u32,
    /// Whether it rests after silence or errors, so that other servers, if any, are queried.
    pub is_resting: bool,
    /// Why the last connection to it failed; `None` once it answers.
    pub trouble: Option<Arc<str>>,
}

impl UpstreamFigures {
    /// Adds the figures of the same server from another client or another group.
    pub fn add(&mut self, other: &UpstreamFigures) {
        // If only one side queried it, the state of that side counts.
        self.is_resting = match (self.questions > 0, other.questions > 0) {
            (true, true) => self.is_resting && other.is_resting,
            (false, true) => other.is_resting,
            _ => self.is_resting,
        };
        self.questions += other.questions;
        self.answers += other.answers;
        self.timeouts += other.timeouts;
        self.in_flight += other.in_flight;
        self.round_trips.merge(&other.round_trips);
        self.round_trip = self.round_trip.or(other.round_trip);
        self.trouble = self.trouble.take().or_else(|| other.trouble.clone());
    }
}
