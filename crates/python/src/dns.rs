//! `lycosa._core.DnsServer`: a DNS server of a tier.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{HostName, Nameserver, Settings, TIME_BOUNDS, Times, UpstreamFigures};
use lycosa_names_server::{ClientBits, CookieSecrets, Policy, Server, ServerSettings, Zones};
use lycosa_url::{Clock, Network};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cache::Fallback;
use crate::errors::{bad_name, lock, setting, system};
use crate::job::{seconds, server};
use crate::resolve::upstream;

/// The longest that the cache of a server holds addresses, in seconds: what `max_ttl` allows, a week.
const LONGEST: u32 = 7 * 86_400;

/// The longest that it holds what did not resolve, in seconds: what `negative_ttl` allows, a day.
const LONGEST_NEGATIVE: u32 = 86_400;

/// Settings as Python gives and has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DnsSettings {
    listen: Vec<String>,
    upstreams: Vec<String>,
    zones: Vec<String>,
    hosts_file: Option<PathBuf>,
    local_data: Vec<String>,
    /// PEM of roots beyond Mozilla's.
    ca_file: Option<PathBuf>,
    spread: bool,
    rotate: bool,
    workers: usize,
    /// The file of the cache.
    cache: Option<PathBuf>,
    capacity: u64,
    min_ttl: u32,
    max_ttl: u32,
    keep_ttl: Vec<String>,
    negative_ttl: u32,
    failure_pause: u32,
    nxdomain_cut: bool,
    wildcards: bool,
    /// Seconds.
    stale: u32,
    prefetch: bool,
    /// Seconds for one try.
    timeout: f64,
    attempts: u32,
    in_flight: usize,
    /// Questions a second to each.
    upstream_rate: Option<f64>,
    allow: Vec<String>,
    /// Answers a second to each client.
    rate: Option<f64>,
    filter_private: bool,
    private_names: Vec<String>,
    /// MiB.
    packet_memory: u64,
    cookies: bool,
    /// The file of secrets that servers share.
    cookie_secret_file: Option<PathBuf>,
    tcp_connections: usize,
    /// Seconds.
    tcp_idle: f64,
    /// The file of the log of questions; `-`: standard output.
    query_log: Option<PathBuf>,
    /// Bits of clients' addresses that are logged, of IPv4 and IPv6; none: no address.
    query_log_clients: Option<(u8, u8)>,
}

impl DnsSettings {
    /// What a reload can change beside the upstreams.
    fn policy(&self, py: Python<'_>) -> PyResult<Policy> {
        let network =
            |text: &String| text.parse::<Network>().map_err(|allowed| setting("allow", text, allowed));
        Ok(Policy {
            min_ttl: self.min_ttl,
            max_ttl: self.max_ttl,
            keep_ttl: zones(&self.keep_ttl)?,
            negative_ttl: self.negative_ttl,
            failure_pause: self.failure_pause,
            stale: self.stale,
            prefetch: self.prefetch,
            allow: self.allow.iter().map(network).collect::<PyResult<_>>()?,
            rate: self.rate,
            tcp_idle: seconds(self.tcp_idle),
            own_zones: zones(&crate::local::zone_names(&self.zones))?,
            local: crate::local::open(py, self.hosts_file.as_deref(), &self.local_data)?,
            filter_private: self.filter_private,
            private_names: zones(&self.private_names)?,
            cookie_secrets: self.cookie_secret_file.as_deref().map(secrets).transpose()?,
            query_log_clients: self.query_log_clients.map(|(v4, v6)| ClientBits { v4, v6 }),
        })
    }

    /// Whom it asks, and how.
    fn upstream(&self, clock: Clock) -> PyResult<Settings> {
        Ok(Settings {
            servers: self.upstreams.iter().map(|text| server("upstreams", text)).collect::<PyResult<_>>()?,
            zones: crate::local::zones(&self.zones)?,
            ca_file: self.ca_file.clone(),
            spread: self.spread,
            rotate: self.rotate,
            timeout: seconds(self.timeout),
            attempts: self.attempts,
            in_flight: self.in_flight,
            rate: self.upstream_rate,
            negative_ttl: seconds(self.negative_ttl.into()),
            nxdomain_cut: self.nxdomain_cut,
            wildcards: self.wildcards,
            clock,
            ..Settings::default()
        })
    }

    /// The cache; in memory where the disk is full.
    fn open_cache(&self, clock: Clock) -> PyResult<CompactCache> {
        let now = clock.wall() / 1_000_000;
        let compact = CompactSettings {
            capacity: self.capacity,
            // Names that do not resolve are kept one by one, each for its own time; the filter that a crawl's file has is
            // not used.
            negative_capacity: Some(0),
            // The policy decides over times, which a reload can change.
            negative_ttl: LONGEST_NEGATIVE,
            min_ttl: 60,
            max_ttl: LONGEST,
            ..CompactSettings::default()
        };
        let opened = match &self.cache {
            Some(path) => CompactCache::share(path, compact, now),
            None => CompactCache::in_memory(compact, now, None),
        };
        opened.map_err(|error| crate::cache::refused(&error))
    }
}

/// A DNS server.
#[pyclass(frozen, module = "lycosa._core")]
pub(crate) struct DnsServer {
    /// None once closed.
    server: Mutex<Option<Arc<Server>>>,
    clock: Clock,
    fallback: Fallback,
}

#[pymethods]
impl DnsServer {
    #[new]
    fn new(py: Python<'_>, settings: DnsSettings) -> PyResult<Self> {
        let clock = Clock::shared();
        let server = ServerSettings {
            listen: addresses(&settings.listen)?,
            workers: settings.workers,
            upstream: settings.upstream(clock)?,
            policy: settings.policy(py)?,
            packet_memory: settings.packet_memory << 20,
            cookies: settings.cookies,
            tcp_connections: settings.tcp_connections,
            query_log: settings.query_log.clone(),
        };
        py.detach(|| {
            let cache = settings.open_cache(clock)?;
            let fallback = crate::cache::watch(&cache);
            let server =
                Server::start(server, Arc::new(cache)).map_err(|error| system("the DNS server", &error))?;
            Ok(DnsServer { server: Mutex::new(Some(Arc::new(server))), clock, fallback })
        })
    }

    /// The upper bounds of the buckets in which times are counted, in seconds; what took longer is counted after the last.
    #[classattr]
    #[pyo3(name = "BOUNDS")]
    fn bounds() -> Vec<f64> {
        TIME_BOUNDS.iter().map(|micros| *micros as f64 / 1e6).collect()
    }

    /// Where it listens, with the ports.
    #[getter]
    fn listening(&self) -> PyResult<Vec<String>> {
        Ok(self.server()?.listening().iter().map(ToString::to_string).collect())
    }

    /// Why its cache is not in the file that was asked for.
    #[getter]
    fn fallen_back(&self) -> Option<String> {
        self.fallback.why()
    }

    /// Takes another policy and other upstreams; on an error nothing has changed.
    fn reload(&self, py: Python<'_>, settings: DnsSettings) -> PyResult<()> {
        let (server, policy, upstream) =
            (self.server()?, settings.policy(py)?, settings.upstream(self.clock)?);
        py.detach(|| server.reload(policy, upstream)).map_err(|error| system("the DNS server", &error))
    }

    /// Counts since the start, and how it is now.
    fn statistics(&self, py: Python<'_>) -> PyResult<HashMap<&'static str, u64>> {
        let server = self.server()?;
        Ok(py.detach(|| server.statistics().into_iter().collect()))
    }

    /// Why questions are not logged now, although they are to be.
    #[getter]
    fn query_log_trouble(&self) -> PyResult<Option<String>> {
        Ok(self.server()?.query_log_trouble())
    }

    /// How long answers took, by where they came from: counts by bucket, and the sum in seconds.
    fn answer_times(&self) -> PyResult<HashMap<&'static str, (Vec<u64>, f64)>> {
        let times = self.server()?.answer_times().into_iter();
        Ok(times.map(|(source, times)| (source, counted(&times))).collect())
    }

    /// What is known of each upstream; with how long its replies took, as above.
    fn upstreams<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let known = |known: UpstreamFigures| {
            let times = counted(&known.round_trips);
            let dict = upstream(py, known)?;
            dict.set_item("round_trips", times)?;
            Ok(dict)
        };
        self.server()?.upstreams().into_iter().map(known).collect()
    }

    /// Takes no more questions; waits at most `within` seconds until those under way are answered; tells whether they are.
    fn drain(&self, py: Python<'_>, within: f64) -> PyResult<bool> {
        let server = self.server()?;
        Ok(py.detach(|| server.drain(seconds(within))))
    }

    /// Ends it.
    fn close(&self, py: Python<'_>) {
        let server = lock(&self.server).take();
        py.detach(|| drop(server));
    }
}

impl DnsServer {
    /// The server, unless it has ended.
    fn server(&self) -> PyResult<Arc<Server>> {
        lock(&self.server).clone().ok_or_else(|| PyValueError::new_err("the server is closed"))
    }
}

/// Refuses a file that holds no secrets of cookies, or that is open to others.
#[pyfunction]
pub(crate) fn check_cookie_secrets(path: PathBuf) -> PyResult<()> {
    secrets(&path).map(|_| ())
}

/// The secrets of a file.
fn secrets(path: &Path) -> PyResult<CookieSecrets> {
    CookieSecrets::read(path).map_err(|allowed| setting("cookie_secret_file", path.display(), allowed))
}

/// A histogram as Python has it: counts by bucket, and the sum in seconds.
fn counted(times: &Times) -> (Vec<u64>, f64) {
    (times.counts.to_vec(), times.sum as f64 / 1e6)
}

/// Addresses by their texts.
fn addresses(texts: &[String]) -> PyResult<Vec<SocketAddr>> {
    let allowed = "an address, with or without port: 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53";
    let address = |text: &String| match text.parse::<Nameserver>() {
        Ok(server) if !server.is_encrypted() => Ok(server.address),
        _ => Err(setting("listen", text, allowed)),
    };
    texts.iter().map(address).collect()
}

/// Names by their texts, each with all below it.
fn zones(texts: &[String]) -> PyResult<Zones> {
    let mut names = Vec::new();
    for text in texts {
        let mut buffer = String::new();
        let name = HostName::normalize(text, &mut buffer).map_err(|why| bad_name(text, why))?;
        names.push(Box::from(name.as_str()));
    }
    Ok(Zones::new(names))
}
