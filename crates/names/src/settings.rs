//! What one client is told, and what it tells.

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
    /// The resolvers to ask, the preferred one first; at least one.
    pub servers: Vec<Nameserver>,
    /// Other resolvers for the names of some zones.
    pub zones: ZoneTable<Vec<Nameserver>>,
    /// What is known without asking a resolver; looked at first.
    pub local: Option<Arc<dyn LocalNames>>,
    /// Whether resolvers are asked over TCP alone (resolv.conf(5), `use-vc`).
    pub tcp_only: bool,
    /// PEM of further roots, by which certificates of servers that are asked over TLS may be signed.
    pub ca_file: Option<PathBuf>,
    /// For one try, at most; later rounds over the servers get twice as long. Where a server is known to be quicker, the
    /// next one is asked sooner, after a quarter of it at least, and an answer to either try is taken.
    pub timeout: Duration,
    /// Tries for one question, over all servers.
    pub attempts: u32,
    /// Low-latency mode, which hedges slow servers: a server that is slower than usual is not waited for to the end before the
    /// question is asked again, and where one loses much the last try is made again, as long as there is
    /// time.
    pub eager: bool,
    /// Names that are asked for at the same time; the others wait inside.
    pub in_flight: usize,
    /// The shortest that an answer is held, whatever its TTL.
    pub min_ttl: Duration,
    /// The longest that an answer is held, whatever its TTL.
    pub max_ttl: Duration,
    /// The longest that "there is no such name" and "it has no address" are held: as long as the answer's SOA says, but not
    /// shorter than `min_ttl` (RFC 2308 section 5); so long where it has none. A server's failure or silence is held as long as
    /// the cache pauses after it.
    pub negative_ttl: Duration,
    /// How many times as quick time passes for the cache, and so for TTLs: scaled time. Time-outs are the caller's to
    /// scale.
    pub speed: f64,
    /// From how many milliseconds on resolving a name counts as slow.
    pub slow: u32,
    /// Which addresses are asked for.
    pub families: Families,
    /// Whether IPv6 is asked for only where there is no IPv4; with [`Families::Both`].
    pub prefer_v4: bool,
    /// Questions a second to each server, at most; none is no limit.
    pub rate: Option<f64>,
    /// The servers' paces, in their order, where several clients share the rate; else each client has its own.
    pub paces: Vec<Pace>,
    /// Whether the servers take turns, instead of the quickest being asked; not where names are spread.
    pub rotate: bool,
    /// Whether each name has a server of its own, by the ring over their addresses, and the others only where that one fails:
    /// so several clients ask one server about one name. Else the quickest are asked.
    pub spread: bool,
    /// Whether names that are not in the DNS (`local`, `onion` and others, RFC 6761) do not exist, without anybody being asked.
    pub special_use: bool,
    /// Whether NXDOMAIN for a name is taken for all names below it, too (RFC 8020), without being asked for them. Such answers are not
    /// signed here, and some servers deny names that have others below them: hosts that exist may be missed.
    pub nxdomain_cut: bool,
    /// Whether hosts of a domain that answers for any name are known without being asked for. A host with a record of its own
    /// may be given the domain's address until a sample finds out.
    pub wildcards: bool,
    /// The time.
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

    /// Whose certificates are good, where a server is asked over TLS; fails where the file of further roots cannot be used.
    pub(crate) fn trust(&self) -> io::Result<Option<ClientConfig>> {
        let is_encrypted = self.all_servers().any(|server| server.is_encrypted());
        is_encrypted.then(|| lycosa_tls::client_config(self.ca_file.as_deref())).transpose()
    }
}

/// Which addresses of a name are asked for.
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
    /// Questions sent, repeated ones included.
    pub questions: u64,
    /// Acceptable replies received.
    pub answers: u64,
    /// Names answered from the cache.
    pub cache_hits: u64,
    /// Names that were being asked for already.
    pub coalesced: u64,
    /// Questions sent again, to the next server or in another profile.
    pub retries: u64,
    /// Tries that nobody answered in time.
    pub timeouts: u64,
    /// Datagrams that fit no question and were ignored.
    pub mismatched: u64,
    /// Datagrams that fit a question but for the case of its letters; asked again over TCP.
    pub case_mismatched: u64,
    /// Truncated replies; asked again over TCP.
    pub truncated: u64,
    /// Names answered as their domain answers for any name, without being asked for.
    pub inferred: u64,
    /// Names answered that were quick to resolve, from the cache or not.
    pub fast: u64,
    /// The same that were slow.
    pub slow: u64,
    /// Names answered with a failure, from the cache or not.
    pub failed: u64,
}

/// What is known of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamFigures {
    /// The server.
    pub server: Arc<Nameserver>,
    /// Questions sent to it.
    pub questions: u64,
    /// Replies that came, late ones and refusals included.
    pub answers: u64,
    /// Questions that it did not answer in time.
    pub timeouts: u64,
    /// Its smoothed round-trip time; none before the first reply.
    pub round_trip: Option<Duration>,
    /// How long its replies took, late ones and refusals included.
    pub round_trips: Times,
    /// Questions that may be in flight to it at a time.
    pub window: u32,
    /// Questions that are.
    pub in_flight: u32,
    /// Whether it was silent or of no use, so that others are asked as long as there are any.
    pub is_resting: bool,
    /// Why the last connection to it failed, until it answers.
    pub trouble: Option<Arc<str>>,
}

impl UpstreamFigures {
    /// Adds what another client, or for other names, is known of the same server.
    pub fn add(&mut self, other: &UpstreamFigures) {
        // One that was asked by one of them alone is known by that alone.
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
