//! Bulk resolution: batches of names go in, batches of answers come out, on a DNS client of its own.
//!
//! Guarantees: every name that [`Resolver::submit`] takes is answered exactly once, as often as it was given; a name that
//! waits already is asked for once; at most `concurrency` names are taken and not given out, whatever the caller does;
//! under a rate no more names reach the client than it allows. No call but `take` waits, and that one without the GIL.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Families, Nameserver, Rtype, Settings, UpstreamFigures};
use lycosa_names_local::ResolvConf;
use lycosa_url::Clock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::bulk::Bulk;
use crate::cache::Fallback;
use crate::errors::{lock, setting, system};
use crate::job::{RESOLVERS, families, seconds, server};
use crate::lines::NameBatch;
use crate::resolutions::{Resolutions, Row};

/// Fewer answers than this are worth a short wait for more, while many are on their way.
const FEW: usize = 256;

/// The short wait: how late an answer may be because of others.
const LINGER: Duration = Duration::from_millis(1);

/// Settings as Python gives and has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ResolverSettings {
    /// Texts of servers; none: the system's.
    resolvers: Vec<String>,
    /// Those of them that are not asked.
    leave_out: Vec<String>,
    /// Further roots, for servers that are asked over TLS.
    ca_file: Option<PathBuf>,
    families: String,
    /// Types of records to ask for; none: addresses by the families alone.
    types: Vec<String>,
    /// Names taken and not given out.
    concurrency: usize,
    /// Names a second.
    rate: Option<f64>,
    /// Questions a second to each server.
    server_rate: Option<f64>,
    /// Resolvers of some zones.
    zones: Vec<String>,
    /// Domains of the own network.
    own_domains: Vec<String>,
    hosts_file: Option<PathBuf>,
    local_data: Vec<String>,
    /// Seconds for one try; without it as resolv.conf says, where its servers are asked.
    timeout: Option<f64>,
    attempts: Option<u32>,
    rotate: Option<bool>,
    nxdomain_cut: bool,
    wildcards: bool,
    /// The file of a cache that processes share.
    cache: Option<PathBuf>,
    /// Names in a cache that is made.
    capacity: Option<u64>,
}

/// Resolves many names.
#[pyclass(frozen, subclass, module = "lycosa._core")]
pub(crate) struct Resolver {
    /// None once closed.
    client: Mutex<Option<Arc<Client>>>,
    bulk: Mutex<Bulk>,
    resolvers: Vec<Nameserver>,
    /// Texts that are no address.
    refused: Vec<String>,
    fallback: Fallback,
    /// Whether servers are asked over TCP alone.
    tcp_only: bool,
    /// The process that made it: a forked one has none of its threads.
    process: u32,
}

/// Seconds that a compact cache holds an answer at least.
const SHORTEST_KEPT: u32 = 60;

#[pymethods]
impl Resolver {
    #[new]
    fn new(py: Python<'_>, settings: ResolverSettings) -> PyResult<Self> {
        let (resolvers, refused) = servers(&settings.resolvers)?;
        let local = crate::local::open(py, settings.hosts_file.as_deref(), &settings.local_data)?;
        let (addresses, types) = wanted(&settings)?;
        let made = CompactSettings::default();
        let capacity = settings.capacity.unwrap_or(made.capacity);
        let min_ttl = if settings.cache.is_some() { made.min_ttl } else { SHORTEST_KEPT };
        let compact = CompactSettings { capacity, min_ttl, ..made };
        let clock = Clock::shared();
        let mut client = Settings {
            servers: resolvers,
            zones: crate::local::zones(&settings.zones)?,
            local,
            ca_file: settings.ca_file,
            in_flight: settings.concurrency,
            families: addresses.unwrap_or_default(),
            prefer_v4: settings.types.is_empty() && settings.families == "prefer-v4",
            rate: settings.server_rate,
            nxdomain_cut: settings.nxdomain_cut,
            wildcards: settings.wildcards,
            clock,
            ..Settings::default()
        };
        if client.servers.is_empty() {
            let conf = ResolvConf::system().map_err(|error| system("the system's resolvers", &error))?;
            crate::local::warn(py, &conf.warnings)?;
            conf.apply(&mut client);
            client.tcp_only = conf.options.use_vc;
        }
        client.own_domains.extend(crate::local::domains(&settings.own_domains)?);
        let (tcp_only, process) = (client.tcp_only, std::process::id());
        client.timeout = settings.timeout.map_or(client.timeout, seconds);
        client.attempts = settings.attempts.unwrap_or(client.attempts);
        client.rotate = settings.rotate.unwrap_or(client.rotate);
        client.servers.retain(|server| !settings.leave_out.contains(&server.to_string()));
        let resolvers = client.servers.clone();
        py.detach(|| {
            let now = clock.wall() / 1_000_000;
            let cache = match &settings.cache {
                Some(path) if path.exists() => CompactCache::open_as_made(path, now),
                Some(path) => CompactCache::open(path, compact, now),
                None => CompactCache::in_memory(compact, now, None),
            };
            let cache = cache.map_err(|error| crate::cache::refused(&error))?;
            // A cache that nobody shares lengthens no answer: those of less than a minute are not kept.
            client.min_ttl = match settings.cache {
                Some(_) => Duration::from_secs(cache.settings().min_ttl.into()),
                None => Duration::ZERO,
            };
            client.max_ttl = Duration::from_secs(cache.settings().max_ttl.into());
            let fallback = crate::cache::watch(&cache);
            let client = Client::start(client, Box::new(cache));
            let client = client.map_err(|error| system("the DNS client", &error))?;
            Ok(Resolver {
                client: Mutex::new(Some(Arc::new(client))),
                bulk: Mutex::new(Bulk::new(
                    settings.concurrency,
                    settings.rate,
                    (addresses.is_some(), types),
                    !settings.types.is_empty(),
                )),
                resolvers,
                refused,
                fallback,
                tcp_only,
                process,
            })
        })
    }

    /// Whether servers are asked over TCP alone, as resolv.conf demands (`use-vc`).
    #[getter]
    fn tcp_only(&self) -> bool {
        self.tcp_only
    }

    /// The servers that are asked.
    #[getter]
    fn resolvers(&self) -> Vec<String> {
        self.resolvers.iter().map(ToString::to_string).collect()
    }

    /// What was given as a resolver and is no address.
    #[getter]
    fn refused(&self) -> Vec<String> {
        self.refused.clone()
    }

    /// Why its cache is not in the file that was asked for.
    #[getter]
    fn fallen_back(&self) -> Option<String> {
        self.fallback.why()
    }

    /// Tells names that were answered before: each is passed over as often as it is told here.
    fn pass_over(&self, py: Python<'_>, names: Vec<String>) {
        py.detach(|| {
            let mut bulk = lock(&self.bulk);
            names.iter().for_each(|name| bulk.pass_over(name));
        });
    }

    /// Takes names, the first of which has the number `place`, as far as there is space; gives how many. Never waits.
    fn submit(&self, py: Python<'_>, names: &Bound<'_, PyList>, place: u64) -> PyResult<usize> {
        let client = self.client()?;
        let free = lock(&self.bulk).may_take();
        // Made texts of their own while the GIL is held; all else happens without it.
        let texts: Vec<String> = names
            .iter()
            .take(free)
            .map(|name| Ok(name.cast::<PyString>()?.to_string_lossy().into_owned()))
            .collect::<PyResult<_>>()?;
        Ok(py.detach(|| {
            let mut bulk = lock(&self.bulk);
            let taken = bulk.accept(texts.into_iter().map(Cow::Owned).zip(place..));
            bulk.release(&client);
            taken
        }))
    }

    /// Takes names from a batch of lines, as far as there is space; gives how many are left in it. Never waits.
    fn submit_lines(&self, py: Python<'_>, names: &NameBatch) -> PyResult<usize> {
        let client = self.client()?;
        Ok(py.detach(|| {
            let mut bulk = lock(&self.bulk);
            let left = names.give(|left| bulk.accept(left));
            bulk.release(&client);
            left
        }))
    }

    /// The answers that are there, at most `max`; waits at most `within` seconds for the first.
    fn take(&self, py: Python<'_>, max: usize, within: f64) -> PyResult<Resolutions> {
        let client = self.client()?;
        Ok(py.detach(|| {
            let has_records = lock(&self.bulk).has_records();
            Resolutions { rows: self.answers(&client, max, seconds(within)), has_records }
        }))
    }

    /// How many more names are taken now.
    fn free(&self) -> usize {
        lock(&self.bulk).free()
    }

    /// Names that were taken and whose answers were not given out.
    fn pending(&self) -> usize {
        lock(&self.bulk).pending()
    }

    /// Counts since the start: what was given and answered, and what the client did for it.
    fn statistics(&self) -> PyResult<HashMap<&'static str, u64>> {
        let mut counts = crate::names::statistics(&self.client()?.statistics());
        let bulk = lock(&self.bulk);
        counts.extend(bulk.counts());
        Ok(counts)
    }

    /// What is known of each server: questions sent to it, replies, time-outs, smoothed round-trip time in seconds, questions
    /// that it may have in flight, whether it rests since it was of no use, why the last connection to it failed.
    fn upstreams<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.client()?.upstreams().into_iter().map(|known| upstream(py, known)).collect()
    }

    /// Ends the client; what is in flight is given up.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.end();
    }
}

impl Resolver {
    /// Ends the client. In a forked process its thread does not exist and cannot be waited for.
    fn end(&self) {
        if std::process::id() == self.process {
            drop(lock(&self.client).take());
        } else if let Ok(mut client) = self.client.try_lock() {
            std::mem::forget(client.take());
        }
    }

    /// The client, unless it has ended.
    fn client(&self) -> PyResult<Arc<Client>> {
        if std::process::id() != self.process {
            let why = format!(
                "the resolver was made in process {}, before a fork: make one in each process",
                self.process
            );
            return Err(PyValueError::new_err(why));
        }
        lock(&self.client).clone().ok_or_else(|| PyValueError::new_err("the resolver is closed"))
    }

    /// Waits for answers and gives them out.
    fn answers(&self, client: &Client, max: usize, within: Duration) -> Vec<Arc<Row>> {
        let until = Instant::now() + within;
        let mut lingered = false;
        loop {
            let mut bulk = lock(&self.bulk);
            bulk.release(client);
            bulk.collect(client);
            let ready = bulk.ready();
            let awaited = bulk.pending() - ready;
            let left = until.saturating_duration_since(Instant::now());
            let few = ready < FEW.min(max) && awaited > ready && !lingered && !left.is_zero();
            if (ready > 0 && !few) || left.is_zero() {
                return bulk.give(max);
            }
            let pause = bulk.pause().unwrap_or(left).min(left);
            drop(bulk);
            if ready == 0 {
                client.wait(pause);
            } else {
                lingered = true;
                std::thread::sleep(LINGER.min(left));
            }
        }
    }
}

/// What is known of a server, as Python has it.
pub(crate) fn upstream(py: Python<'_>, known: UpstreamFigures) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("server", known.server.to_string())?;
    dict.set_item("questions", known.questions)?;
    dict.set_item("answers", known.answers)?;
    dict.set_item("timeouts", known.timeouts)?;
    dict.set_item("round_trip", known.round_trip.map(|time| time.as_secs_f64()))?;
    dict.set_item("window", known.window)?;
    dict.set_item("is_resting", known.is_resting)?;
    dict.set_item("trouble", known.trouble.as_deref())?;
    Ok(dict)
}

/// The servers of these texts, and the texts that are none.
fn servers(texts: &[String]) -> PyResult<(Vec<Nameserver>, Vec<String>)> {
    let (mut resolvers, mut refused) = (Vec::new(), Vec::new());
    for text in texts {
        match server(RESOLVERS, text) {
            Ok(server) if !resolvers.contains(&server) => resolvers.push(server),
            Ok(_) => (),
            Err(_) => refused.push(text.clone()),
        }
    }
    if resolvers.is_empty() && !texts.is_empty() {
        return Err(setting(
            "resolvers",
            texts.join(","),
            format!("at least one of these: {}", Nameserver::ALLOWED),
        ));
    }
    Ok((resolvers, refused))
}

/// The families of addresses that are asked for, and the other types: by `types`, where any are given.
fn wanted(settings: &ResolverSettings) -> PyResult<(Option<Families>, Vec<Rtype>)> {
    let types: Vec<Rtype> = settings.types.iter().map(|text| record_type(text)).collect::<PyResult<_>>()?;
    if types.is_empty() {
        let name = settings.families.as_str();
        let families = if name == "prefer-v4" { Families::Both } else { families(name)? };
        return Ok((Some(families), types));
    }
    let addresses = match (types.contains(&Rtype::A), types.contains(&Rtype::AAAA)) {
        (true, true) => Some(Families::Both),
        (true, false) => Some(Families::V4),
        (false, true) => Some(Families::V6),
        (false, false) => None,
    };
    let mut others: Vec<Rtype> = Vec::new();
    for rtype in types {
        if !matches!(rtype, Rtype::A | Rtype::AAAA) && !others.contains(&rtype) {
            others.push(rtype);
        }
    }
    Ok((addresses, others))
}

/// A type of records; not one of those that ask about a server or a message (RFC 6895 section 3.1).
fn record_type(text: &str) -> PyResult<Rtype> {
    let is_data = |rtype: &Rtype| !matches!(rtype.to_int(), 0 | 41 | 128..=255 | 65_535);
    text.to_ascii_uppercase().parse().ok().filter(is_data).ok_or_else(|| {
        let allowed = "a type of records: A, AAAA, CAA, CNAME, HTTPS, MX, NS, PTR, SOA, SRV, SVCB, TXT and others, or by number as in TYPE65";
        setting("types", text, allowed)
    })
}
