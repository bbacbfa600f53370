//! What a job may set of the frontier. All durations are in the job's own time: `speed` divides them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lycosa_records::Task;
use lycosa_url::{AddressPolicy, Micros};

use crate::admission::Scope;
use crate::{Ahead, KeyKind, Ownership, SeenSettings, Shared};

/// Settings of the frontier.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which links belong to the crawl.
    pub scope: Scope,
    /// The crawl ends after this many pages (responses that are no redirects).
    pub max_pages: Option<u64>,
    /// Whether the URL that a page names as its `rel=canonical` counts as known: its page has been fetched then, under
    /// another name.
    pub trust_canonical: bool,
    /// Links from a seed, at most.
    pub max_depth: Option<u32>,
    /// Redirects in a row, at most (RFC 9110 section 15.4 asks for a limit; browsers use 20).
    pub max_redirects: usize,
    /// Further tries of a URL, a name or a robots.txt after a transient failure, at least: see `patience`.
    pub retries: u32,
    /// How long a host, a name or a URL has to fail before it is given up, counted in time in which the crawl itself is healthy.
    /// Zero: the retries alone count, and what is not transient is believed at once.
    pub patience: Duration,
    /// How long the crawl may be suspended before it ends with URLs waiting; a twelfth of that if no host has ever answered.
    /// `None`: for ever.
    pub longest_suspension: Option<Duration>,
    /// The host's pause after such a failure; doubles with each try.
    pub retry_delay: Duration,
    /// The part of a pause after a failure by which it is longer at most, 0 to 1: how much longer follows from the host and the
    /// number of the try.
    pub retry_jitter: f64,
    /// From the end of a request to a host, and from its start, to the next start.
    pub host_interval: Duration,
    /// The same for an address (IPv6: /64), whichever hosts live there.
    pub address_interval: Duration,
    /// Requests to a host at once.
    pub host_concurrency: u32,
    /// Requests to an address at once.
    pub address_concurrency: u32,
    /// Minimum interval as a multiple of response time, between the intervals above and `max_interval` (Heritrix: 5).
    pub response_multiple: f64,
    /// The longest interval that slow answers or trouble make. Trouble (408, 429, 502 to 504, time-outs, broken
    /// connections) doubles a host's interval, and an address's where several hosts are in trouble.
    pub max_interval: Duration,
    /// Successes in a row that make an interval shorter again, by a second or the interval above.
    pub successes: u32,
    /// The longest Retry-After that is obeyed; longer ones count as this, and the URL waits on.
    pub max_retry_after: Duration,
    /// An address where so many registered domains are known to live has the rate and the concurrency of so many, at
    /// most: content delivery networks.
    pub address_domains: u32,
    /// Pages of a registered domain in the whole crawl, at most; what waits beyond is refused.
    pub domain_pages: Option<u64>,
    /// Hosts of a registered domain that have a queue, at most: some sites make a host for each visitor.
    pub domain_hosts: u32,
    /// Hosts that have a queue, at most: each takes some hundred bytes in memory, and about fifty if it is on disk.
    pub max_hosts: usize,
    /// Hosts in memory that URLs wait for, at most, if there is a `queue_directory`: further ones wait there, and hosts that nothing
    /// waits for go there. Not counted: hosts that fail, those that are not asked for a minute or longer, and those that hundreds of
    /// URLs wait for.
    pub warm_hosts: usize,
    /// Requests to a registered domain at once.
    pub domain_concurrency: Option<u32>,
    /// Requests over all sites, a second.
    pub requests_per_second: Option<f64>,
    /// Bytes of responses over all sites, a second; averaged, since a response's bytes are known when it is there.
    pub bytes_per_second: Option<f64>,
    /// Whether robots.txt is asked for and obeyed.
    pub robots: bool,
    /// The name that robots.txt knows this crawler by.
    pub robots_agent: String,
    /// Whether each origin's tdmrep.json is asked for and obeyed, where robots.txt is.
    pub tdmrep: bool,
    /// Uses of pages for which the job crawls: a page is not fetched if robots.txt does not allow one of them.
    pub uses: Vec<Box<str>>,
    /// How long a robots.txt counts (RFC 9309 section 2.4: at most a day).
    pub robots_ttl: Duration,
    /// The longest Crawl-delay that is obeyed; longer ones count as this.
    pub max_crawl_delay: Duration,
    /// A lease that is not confirmed comes back after this long.
    pub lease: Duration,
    /// Divides every duration above, and Crawl-delay and Retry-After; multiplies rates.
    pub speed: f64,
    /// Which addresses may be spoken to.
    pub addresses: AddressPolicy,
    /// Bytes of waiting URLs in memory; what is more goes to `queue_directory`.
    pub queue_memory: usize,
    /// The directory of waiting URLs that do not fit; `None`: all stay in memory.
    pub queue_directory: Option<PathBuf>,
    /// When names of hosts are asked for.
    pub ahead: Ahead,
    /// The kind of key by which a URL is known.
    pub key: KeyKind,
    /// Bytes of known URLs in memory; what is more goes to `seen_directory`.
    pub seen_memory: usize,
    /// The directory of known URLs that do not fit; `None`: all stay in memory.
    pub seen_directory: Option<PathBuf>,
    /// Bytes of cookies in memory; 0: none are stored, and none sent.
    pub cookie_memory: usize,
    /// Which job and task its requests belong to.
    pub task: Arc<Task>,
    /// Which URLs this frontier owns, of a job that several share; `None`: all.
    pub ownership: Option<Ownership>,
    /// Whether addresses are lent among the frontiers of a job that several share: nothing is sent to one without a place.
    pub lends_addresses: bool,
    /// What is shared with other frontiers of the crawl, or of the machine.
    pub shared: Shared,
}

/// Settings for tests: what people run gets them from the job, which is the one place of defaults.
#[cfg(feature = "samples")]
impl Default for Settings {
    fn default() -> Self {
        Settings {
            scope: Scope::Host,
            max_pages: None,
            trust_canonical: false,
            max_depth: None,
            max_redirects: 10,
            retries: 2,
            patience: Duration::ZERO,
            longest_suspension: None,
            retry_delay: Duration::from_secs(10),
            // Most tests state exact times.
            retry_jitter: 0.0,
            host_interval: Duration::from_secs(1),
            address_interval: Duration::from_millis(250),
            host_concurrency: 1,
            address_concurrency: 1,
            response_multiple: 5.0,
            max_interval: Duration::from_secs(60),
            successes: 10,
            max_retry_after: Duration::from_secs(3600),
            address_domains: 8,
            domain_pages: None,
            domain_hosts: 20_000,
            max_hosts: usize::MAX,
            warm_hosts: usize::MAX,
            domain_concurrency: None,
            requests_per_second: None,
            bytes_per_second: None,
            robots: true,
            robots_agent: "lycosa".to_owned(),
            tdmrep: false,
            uses: Vec::new(),
            robots_ttl: Duration::from_secs(24 * 3600),
            max_crawl_delay: Duration::from_secs(60),
            lease: Duration::from_secs(600),
            speed: 1.0,
            addresses: AddressPolicy::default(),
            queue_memory: 256 << 20,
            queue_directory: None,
            ahead: Ahead::default(),
            key: KeyKind::Md5,
            seen_memory: 1 << 30,
            seen_directory: None,
            cookie_memory: 64 << 20,
            task: Arc::default(),
            ownership: None,
            lends_addresses: false,
            shared: Shared::default(),
        }
    }
}

impl Settings {
    /// Those of the set of known URLs.
    pub(crate) fn seen(&self) -> SeenSettings {
        SeenSettings { key: self.key, memory: self.seen_memory, directory: self.seen_directory.clone() }
    }

    /// A duration of the job's own time on the machine's clock.
    pub(crate) fn scaled(&self, duration: Duration) -> Micros {
        scaled(duration, self.speed)
    }

    /// The pause after the failure of try number `attempt` (from 0).
    pub(crate) fn backoff(&self, attempt: u32) -> Micros {
        self.scaled(self.retry_delay.saturating_mul(1 << attempt.min(10)))
    }
}

/// A duration of a job's own time on the machine's clock.
pub(crate) fn scaled(duration: Duration, speed: f64) -> Micros {
    let micros = duration.as_secs_f64() * 1e6 / speed;
    // `as` saturates; a year keeps sums far from overflow.
    (micros as Micros).min(365 * 24 * 3600 * 1_000_000)
}
