//! Bulk resolution: batches of names go in, batches of answers come out, on a DNS client of its own.
//!
//! Guarantees: every name that [`Resolver::submit`] takes is answered exactly once, as often as it was given; a name that
//! waits already is asked for once; at most `concurrency` names are taken and not given out, whatever the caller does;
//! under a rate no more names reach the client than it allows. No call but `take` waits, and that one without the GIL.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::{CompactCache, CompactSettings};
use lycosa_names::{Client, Families, HostName, Nameserver, Settings, UpstreamFigures};
use lycosa_url::{Clock, Resolved};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::cache::Fallback;
use crate::errors::{lock, setting, system};
use crate::job::{RESOLVERS, families, seconds, server, system_servers};
use crate::resolutions::{Resolutions, Row, Status};

/// Fewer answers than this are worth a short wait for more, while many are on their way.
const FEW: usize = 256;

/// The short wait: how late an answer may be because of others.
const LINGER: Duration = Duration::from_millis(1);

/// For how long a rate may be exceeded to make up for time in which nobody submitted.
const BURST: f64 = 0.05; // s

/// Settings as Python gives and has checked them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ResolverSettings {
    /// Texts of servers; none: the system's.
    resolvers: Vec<String>,
    /// Further roots, for servers that are asked over TLS.
    ca_file: Option<PathBuf>,
    families: String,
    /// Names taken and not given out.
    concurrency: usize,
    /// Names a second.
    rate: Option<f64>,
    /// Questions a second to each server.
    server_rate: Option<f64>,
    /// Seconds for one try.
    timeout: f64,
    attempts: u32,
    nxdomain_cut: bool,
    rotate: bool,
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
}

/// Seconds that a compact cache holds an answer at least.
const SHORTEST_KEPT: u32 = 60;

#[pymethods]
impl Resolver {
    #[new]
    fn new(py: Python<'_>, settings: ResolverSettings) -> PyResult<Self> {
        let (resolvers, refused) = servers(&settings.resolvers)?;
        let made = CompactSettings::default();
        let capacity = settings.capacity.unwrap_or(made.capacity);
        let min_ttl = if settings.cache.is_some() { made.min_ttl } else { SHORTEST_KEPT };
        let compact = CompactSettings { capacity, min_ttl, ..made };
        let clock = Clock::shared();
        let prefer_v4 = settings.families == "prefer-v4";
        let mut client = Settings {
            servers: resolvers.clone(),
            ca_file: settings.ca_file,
            timeout: seconds(settings.timeout),
            attempts: settings.attempts,
            in_flight: settings.concurrency,
            families: if prefer_v4 { Families::Both } else { families(&settings.families)? },
            prefer_v4,
            rate: settings.server_rate,
            nxdomain_cut: settings.nxdomain_cut,
            rotate: settings.rotate,
            wildcards: settings.wildcards,
            clock,
            ..Settings::default()
        };
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
                bulk: Mutex::new(Bulk::new(settings.concurrency, settings.rate)),
                resolvers,
                refused,
                fallback,
            })
        })
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
            for name in &names {
                let hash = bulk.hasher.hash_one(name);
                *bulk.before.entry(hash).or_default() += 1;
            }
        });
    }

    /// Takes names, the first of which has the number `place`, as far as there is room; gives how many. Never waits.
    fn submit(&self, py: Python<'_>, names: &Bound<'_, PyList>, place: u64) -> PyResult<usize> {
        let client = self.client()?;
        let room = self.room().saturating_add(lock(&self.bulk).before.len());
        // Made texts of their own while the GIL is held; all else happens without it.
        let texts: Vec<String> = names
            .iter()
            .take(room)
            .map(|name| Ok(name.cast::<PyString>()?.to_string_lossy().into_owned()))
            .collect::<PyResult<_>>()?;
        Ok(py.detach(|| {
            let mut bulk = lock(&self.bulk);
            let taken = bulk.accept(texts, place);
            bulk.release(&client);
            taken
        }))
    }

    /// The answers that are there, at most `max`; waits at most `within` seconds for the first.
    fn take(&self, py: Python<'_>, max: usize, within: f64) -> PyResult<Resolutions> {
        let client = self.client()?;
        Ok(py.detach(|| Resolutions(self.answers(&client, max, seconds(within)))))
    }

    /// How many more names are taken now.
    fn room(&self) -> usize {
        let bulk = lock(&self.bulk);
        bulk.concurrency.saturating_sub(bulk.pending)
    }

    /// Names that were taken and whose answers were not given out.
    fn pending(&self) -> usize {
        lock(&self.bulk).pending
    }

    /// Counts since the start: what was given and answered, and what the client did for it.
    fn statistics(&self) -> PyResult<HashMap<&'static str, u64>> {
        let mut counts = crate::names::statistics(&self.client()?.statistics());
        let bulk = lock(&self.bulk);
        counts.extend([("names", bulk.names), ("passed_over", bulk.passed_over)]);
        counts.extend(Status::ALL.map(|status| (status.name(), bulk.statuses[status as usize])));
        Ok(counts)
    }

    /// What is known of each server: questions sent to it, replies, time-outs, smoothed round-trip time in seconds, questions
    /// that it may have in flight, whether it rests since it was of no use, why the last connection to it failed.
    fn upstreams<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.client()?.upstreams().into_iter().map(|known| upstream(py, known)).collect()
    }

    /// Ends the client; what is in flight is given up.
    fn close(&self, py: Python<'_>) {
        let client = lock(&self.client).take();
        py.detach(|| drop(client));
    }
}

impl Resolver {
    /// The client, unless it has ended.
    fn client(&self) -> PyResult<Arc<Client>> {
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
            let (ready, awaited) = (bulk.ready.len(), bulk.pending - bulk.ready.len());
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

/// The servers of these texts, and the texts that are none; the system's servers where none is given.
fn servers(texts: &[String]) -> PyResult<(Vec<Nameserver>, Vec<String>)> {
    if texts.is_empty() {
        return Ok((system_servers()?, Vec::new()));
    }
    let (mut resolvers, mut refused) = (Vec::new(), Vec::new());
    for text in texts {
        match server(RESOLVERS, text) {
            Ok(server) if !resolvers.contains(&server) => resolvers.push(server),
            Ok(_) => (),
            Err(_) => refused.push(text.clone()),
        }
    }
    if resolvers.is_empty() {
        return Err(setting(
            "resolvers",
            texts.join(","),
            format!("at least one of these: {}", Nameserver::ALLOWED),
        ));
    }
    Ok((resolvers, refused))
}

/// Who waits for what, and what nobody has fetched. No I/O.
struct Bulk {
    concurrency: usize,
    /// Names that the client has or that wait for the rate, by the text that the client is given.
    waiting: HashMap<Box<str>, Waiting>,
    /// Names that wait for the rate. Filled by `accept`, emptied by `release`.
    queue: VecDeque<Box<str>>,
    /// Answers. Filled by `collect`, emptied by `give`.
    ready: VecDeque<Arc<Row>>,
    /// Answers of the client that are being worked on.
    drained: Vec<Resolved>,
    /// Names that were taken and not given out.
    pending: usize,
    /// How often each name, by its hash, was answered before. Of a hundred million names, two have the same 64 bits with a
    /// probability of 3e-4.
    before: HashMap<u64, u32>,
    hasher: RandomState,
    pace: Option<Pace>,
    names: u64,
    passed_over: u64,
    statuses: [u64; Status::ALL.len()],
}

/// Those who wait for one name.
struct Waiting {
    first: Asker,
    others: Vec<Asker>,
}

/// One who asked: the number, and the text where it is not the one that the client is given.
struct Asker {
    place: u64,
    given: Option<Box<str>>,
}

impl Bulk {
    /// Nobody waits.
    fn new(concurrency: usize, rate: Option<f64>) -> Self {
        Bulk {
            concurrency,
            waiting: HashMap::new(),
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            drained: Vec::new(),
            pending: 0,
            before: HashMap::new(),
            hasher: RandomState::new(),
            pace: rate.map(|rate| Pace::new(rate, Instant::now())),
            names: 0,
            passed_over: 0,
            statuses: [0; Status::ALL.len()],
        }
    }

    /// Takes names as far as there is room; gives how many, those that were passed over included.
    fn accept(&mut self, names: Vec<String>, first: u64) -> usize {
        let mut taken = 0;
        for (name, place) in names.into_iter().zip(first..) {
            if !self.was_answered(&name) {
                if self.pending >= self.concurrency {
                    break;
                }
                self.ask(name, place);
            }
            taken += 1;
        }
        taken
    }

    /// Whether a name was answered before, and not passed over as often.
    fn was_answered(&mut self, name: &str) -> bool {
        if self.before.is_empty() {
            return false;
        }
        let Entry::Occupied(mut count) = self.before.entry(self.hasher.hash_one(name)) else { return false };
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
        self.passed_over += 1;
        true
    }

    /// Queues a name, or joins it to one that waits.
    fn ask(&mut self, name: String, place: u64) {
        self.pending += 1;
        self.names += 1;
        let mut buffer = String::new();
        // What is no name goes to the client as it is: it may be an address, and otherwise the client says what is wrong.
        let (text, given): (Box<str>, _) = match HostName::normalize(&name, &mut buffer) {
            Ok(host) if host.as_str() != name => (host.as_str().into(), Some(name.into_boxed_str())),
            Ok(_) | Err(_) => (name.into_boxed_str(), None),
        };
        let asker = Asker { place, given };
        match self.waiting.entry(text) {
            Entry::Occupied(mut waiting) => waiting.get_mut().others.push(asker),
            Entry::Vacant(vacant) => {
                self.queue.push_back(vacant.key().clone());
                vacant.insert(Waiting { first: asker, others: Vec::new() });
            }
        }
    }

    /// Hands the client what the rate allows.
    fn release(&mut self, client: &Client) {
        let allowed = match &mut self.pace {
            None => self.queue.len(),
            Some(pace) => pace.take(self.queue.len(), Instant::now()),
        };
        client.submit(self.queue.drain(..allowed).collect());
    }

    /// Takes the client's answers, for all who asked.
    fn collect(&mut self, client: &Client) {
        let mut drained = std::mem::take(&mut self.drained);
        client.drain(&mut drained);
        for resolved in drained.drain(..) {
            let Some((text, waiting)) = self.waiting.remove_entry(&resolved.name) else { continue };
            for asker in waiting.others {
                let name = asker.given.unwrap_or_else(|| text.clone());
                self.answer(Row::new(resolved.clone(), asker.place, name));
            }
            let name = waiting.first.given.unwrap_or(text);
            self.answer(Row::new(resolved, waiting.first.place, name));
        }
        self.drained = drained;
    }

    /// Counts an answer and keeps it for whoever takes it.
    fn answer(&mut self, row: Row) {
        self.statuses[row.status as usize] += 1;
        self.ready.push_back(Arc::new(row));
    }

    /// Gives answers out.
    fn give(&mut self, max: usize) -> Vec<Arc<Row>> {
        let given: Vec<_> = self.ready.drain(..max.min(self.ready.len())).collect();
        self.pending -= given.len();
        given
    }

    /// How long the first name in the queue waits for the rate, if one does.
    fn pause(&self) -> Option<Duration> {
        let pace = self.pace.as_ref().filter(|_| !self.queue.is_empty())?;
        Some(pace.next())
    }
}

/// A rate: a bucket of tokens, one a name.
struct Pace {
    rate: f64,
    tokens: f64,
    at: Instant,
}

impl Pace {
    /// So many a second; the first at once.
    fn new(rate: f64, now: Instant) -> Self {
        Pace { rate, tokens: 1.0, at: now }
    }

    /// Allows as many as there are tokens for, at most `wanted`.
    fn take(&mut self, wanted: usize, now: Instant) -> usize {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.rate).min((self.rate * BURST).max(1.0));
        self.at = now;
        let taken = wanted.min(self.tokens as usize);
        self.tokens -= taken as f64;
        taken
    }

    /// How long until there is a token; a millisecond at least, so that quick rates release batches.
    fn next(&self) -> Duration {
        Duration::from_secs_f64(((1.0 - self.tokens).max(0.0) / self.rate).clamp(0.001, 3_600.0))
    }
}
