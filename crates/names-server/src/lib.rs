//! A DNS server of a tier (SYSTEMS.md section 4): answers from a compact cache and asks its upstreams for the
//! rest.
//!
//! Path of a question: a [`worker`] (or a thread of [`stream`]) receives it → [`question`] parses it →
//! [`judging`] applies the [`policy`] → on a cache hit [`reply`] writes the answer; on a miss [`pending`] has
//! a client of the upstreams ask, and [`answering`] answers all waiters. [`private`] screens replies to
//! questions that are passed through.
//!
//! Guarantees:
//! - A name is asked for upstream once at a time, however many clients ask. Answers, negative ones included,
//!   are cached as their TTL and the policy say; a failure is cached, too (RFC 9520), but never replaces a
//!   valid answer.
//! - Whatever bytes a client sends, the server neither panics nor sends more than the answer needs.
//! - Memory is bounded: the cache, pending lookups, connections, rate limits.
//! - A reload that fails changes nothing.

mod answered;
mod answering;
mod cookies;
mod datagrams;
mod figures;
mod judging;
mod limits;
mod listen;
mod pending;
mod policy;
mod policy_cache;
mod private;
mod query_log;
mod question;
mod recent;
mod reload;
mod reply;
mod reply_batch;
mod secrets;
mod stale;
mod state;
mod stream;
mod times;
mod worker;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lycosa_names::cache::compact::CompactCache;
use lycosa_names::cache::{PacketCache, PacketLimits};
use lycosa_names::{Client, Families, Pace, ScaledTime, Settings, Times, UpstreamFigures};

pub use policy::{Policy, Zones};
pub use query_log::ClientBits;
pub use secrets::CookieSecrets;

use answered::Source;
use answering::{Answering, Teller};
use cookies::Cookies;
use figures::{Count, Figures};
use judging::LOOP_ZONE;
use pending::{PendingLookups, Upstream};
use policy_cache::PolicyCache;
use query_log::QueryLog;
use state::ServerState;
use stream::Connections;
use worker::Worker;

/// How long `loop` is reported after the server received its own probe, in microseconds: longer than the
/// interval between probes.
const LOOP_MEMORY: u64 = 90_000_000;

/// Settings of a [`Server`].
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Addresses to listen on, over UDP and TCP; port 0 selects a free port.
    pub listen: Vec<SocketAddr>,
    /// UDP worker threads per address.
    pub workers: usize,
    /// The upstreams and how they are asked. The server sets families and TTLs itself; `in_flight` also
    /// limits the waiting clients.
    pub upstream: Settings,
    /// Settings that a reload can change besides the upstreams.
    pub policy: Policy,
    /// Memory in bytes for whole replies: types other than A and AAAA, and replies with signatures. 0: none
    /// are cached.
    pub packet_memory: u64,
    /// Whether DNS cookies are used (RFC 7873).
    pub cookies: bool,
    /// Maximum number of TCP connections.
    pub tcp_connections: usize,
    /// File of the query log, as JSON lines; `-`: standard output.
    pub query_log: Option<PathBuf>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings {
            listen: Vec::new(),
            workers: 1,
            upstream: Settings { in_flight: 10_000, ..Settings::default() },
            policy: Policy::default(),
            packet_memory: 64 << 20,
            cookies: true,
            tcp_connections: 150,
            query_log: None,
        }
    }
}

/// A DNS server with its own threads.
pub struct Server {
    state: Arc<ServerState>,
    cache: Arc<CompactCache>,
    connections: Arc<Connections>,
    listening: Vec<SocketAddr>,
    /// Delivers the upstreams' answers to clients.
    teller: Teller,
    /// One per thread; the first is that of the threads that deliver upstream answers.
    figures: Vec<Arc<Figures>>,
    /// Set to end all threads.
    is_closed: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Those that receive questions and connections; they end when the server drains.
    receivers: Vec<JoinHandle<()>>,
    settings: Mutex<ServerSettings>,
}

impl Server {
    /// Starts to listen and to answer. The settings of the cache must ask for no filter for names that do not
    /// resolve, which knows neither TTLs nor NODATA.
    ///
    /// # Errors
    ///
    /// Returns system errors with the address, and an error for no upstream, no address to listen on, a rate
    /// that is not positive, or unusable root certificates or log file.
    pub fn start(settings: ServerSettings, cache: Arc<CompactCache>) -> io::Result<Server> {
        let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
        if settings.listen.is_empty() {
            return Err(bad("no address to listen on; at least one is needed"));
        }
        let sockets = listen::open(&settings.listen, settings.workers.max(1))?;
        let clock = settings.upstream.clock;
        let held = PolicyCache {
            cache: cache.clone(),
            policy: Arc::new(RwLock::new(Arc::new(settings.policy.clone()))),
        };
        let packets = packet_cache(&settings);
        let figures = vec![Arc::<Figures>::default()];
        let teller = Teller::new(figures[0].clone());
        let upstream = Arc::new(ask(&settings.upstream, &held, &packets, &teller)?);
        let clients = settings.policy.query_log_clients;
        let log =
            settings.query_log.as_deref().map(|path| QueryLog::start(path, clients, clock)).transpose()?;
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        let state = Arc::new(ServerState {
            pending: PendingLookups::new(upstream),
            packets,
            cookies: settings.cookies.then(Cookies::new).transpose()?,
            held,
            rates: Default::default(),
            recent: Default::default(),
            log,
            clock,
            time: ScaledTime::start(clock.now(), settings.upstream.speed),
            token: format!("{:032x}.{LOOP_ZONE}", u128::from_ne_bytes(random)),
            probed: AtomicU64::new(0),
            looped: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
        });
        teller.begin(&state);
        let connections = Arc::new(Connections::new(settings.tcp_connections));
        let mut server = Server {
            state,
            cache,
            connections,
            listening: sockets.iter().map(|(address, _)| *address).collect(),
            figures,
            teller,
            is_closed: Arc::default(),
            threads: Vec::new(),
            receivers: Vec::new(),
            settings: Mutex::new(settings),
        };
        let (figures, keeper) = (server.count(), server.answering());
        server.threads.push(spawn("lycosa-dns-keep", move || keeper.keep(&figures))?);
        for (_, sockets) in sockets {
            server.serve(sockets)?;
        }
        Ok(server)
    }

    /// Addresses that it listens on.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.listening
    }

    /// Counters since the start and current values, by name.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let count = |what| self.figures.iter().map(|figures| figures.get(what)).sum();
        let mut all: Vec<_> = Count::NAMES.iter().map(|(name, what)| (*name, count(*what))).collect();
        let looped = self.state.looped.load(Relaxed);
        let is_looped = looped > 0 && self.state.clock.now().saturating_sub(looped) < LOOP_MEMORY;
        all.extend([
            ("waiting", self.state.pending.waiting() as u64),
            ("loop", is_looped.into()),
            ("silent", self.state.is_silent().into()),
            ("tcp_open", self.connections.count() as u64),
            ("cache_names", self.cache.count()),
            ("cache_capacity", self.cache.settings().capacity),
            ("cache_bytes", self.cache.memory() as u64),
            ("cache_used", self.cache.used()),
            ("cache_sets_full", self.cache.sets_full()),
            ("packets", self.state.packets.size().1),
            ("packet_bytes", self.state.packets.size().0),
            ("query_log_dropped", self.state.log.as_ref().map_or(0, |log| log.dropped())),
        ]);
        all
    }

    /// Why the query log cannot be written at the moment; `None` when it can.
    pub fn query_log_trouble(&self) -> Option<String> {
        self.state.log.as_ref().and_then(|log| log.trouble())
    }

    /// Time from the receipt of a question to the sending of its answer, by source.
    pub fn answer_times(&self) -> Vec<(&'static str, Times)> {
        let all = |source| {
            let mut sum = Times::default();
            self.figures.iter().for_each(|figures| sum.merge(&figures.times(source)));
            sum
        };
        Source::NAMES.iter().map(|(name, source)| (*name, all(*source))).collect()
    }

    /// Statistics of each upstream.
    pub fn upstreams(&self) -> Vec<UpstreamFigures> {
        self.state.pending.upstream().figures()
    }

    /// Stops accepting questions and waits at most `within` for pending ones. Returns whether all are
    /// answered.
    pub fn drain(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        self.state.is_draining.store(true, Relaxed);
        self.connections.stop_reading();
        let are_ended = || self.receivers.iter().all(JoinHandle::is_finished);
        // In this order: what receives questions adds waiters until it has ended.
        let is_idle = || are_ended() && !self.connections.are_read() && self.state.pending.waiting() == 0;
        while !is_idle() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_idle()
    }

    /// Registers the counters of another thread.
    fn count(&mut self) -> Arc<Figures> {
        let figures = Arc::<Figures>::default();
        self.figures.push(figures.clone());
        figures
    }

    /// State for the answering threads.
    fn answering(&self) -> Answering {
        Answering { state: self.state.clone(), is_closed: self.is_closed.clone() }
    }

    /// Starts the threads for the sockets of one address.
    fn serve(&mut self, sockets: listen::Sockets) -> io::Result<()> {
        for socket in sockets.datagrams {
            let (state, figures) = (self.state.clone(), self.count());
            let worker = Worker { state, socket: Arc::new(socket), figures };
            self.receivers.push(spawn("lycosa-dns", move || worker.run())?);
        }
        let (figures, connections) = (self.count(), self.connections.clone());
        let (answering, listener) = (self.answering(), sockets.streams);
        let accept = move || answering.accept(&listener, &connections, &figures);
        self.receivers.push(spawn("lycosa-dns-tcp", accept)?);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.is_draining.store(true, Relaxed);
        self.is_closed.store(true, Relaxed);
        self.connections.stop_reading();
        for thread in self.threads.drain(..).chain(self.receivers.drain(..)) {
            let _ = thread.join();
        }
        // Before the other fields are dropped: the upstreams' threads use them.
        self.state.pending.close();
        if let Some(log) = &self.state.log {
            log.close();
        }
    }
}

/// Starts a thread that ends with the server.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Starts the clients of the upstreams, one per family. They pass TTLs through, since the policy adjusts
/// them.
fn ask(
    settings: &Settings,
    held: &PolicyCache,
    packets: &Arc<PacketCache>,
    teller: &Teller,
) -> io::Result<Upstream> {
    // Both clients share each upstream's rate limit.
    let paces: Vec<Pace> = settings.all_servers().map(|_| Pace::default()).collect();
    let client = |families| {
        let settings = Settings {
            families,
            prefer_v4: false,
            special_use: false, // `judging` has handled special-use names
            eager: false,       // no hedging: a name that nobody answers costs `attempts` tries and no more
            paces: paces.clone(),
            min_ttl: Duration::ZERO,
            max_ttl: Duration::from_secs(604_800), // RFC 8767 section 4: a week is the longest that makes sense
            ..settings.clone()
        };
        Client::start_with(settings, Box::new(held.clone()), packets.clone(), Some(teller.sink(families)))
    };
    Ok(Upstream::new(client(Families::V4)?, client(Families::V6)?, settings))
}

/// The cache of whole replies.
fn packet_cache(settings: &ServerSettings) -> Arc<PacketCache> {
    let (bytes, now) = (settings.packet_memory, settings.upstream.clock.now());
    Arc::new(PacketCache::new(bytes, limits(&settings.policy), now, settings.upstream.speed))
}

/// TTL limits of whole replies.
fn limits(policy: &Policy) -> PacketLimits {
    PacketLimits { max_ttl: policy.max_ttl, negative_ttl: policy.negative_ttl }
}

/// The answer of a server with an empty cache to a client's message: a response code, or NXDOMAIN. For the
/// fuzz target.
#[doc(hidden)]
pub fn examine(message: &[u8]) -> Option<Vec<u8>> {
    let mut answer = Vec::new();
    match question::read(message) {
        question::Read::Nothing => return None,
        question::Read::Greeting(head, edns) => {
            reply::To { head, edns: Some(edns), reason: None }.code(question::Code::NoError, &mut answer);
        }
        question::Read::Bad(head, code) => {
            reply::To { head, edns: None, reason: None }.code(code, &mut answer)
        }
        question::Read::Question(question) => {
            question.write_name(&mut String::new());
            reply::To::of(&question).negative(question::Code::NxDomain, 900, &mut answer);
        }
    }
    Some(answer)
}

/// Locks a mutex and ignores poisoning: no thread leaves the data inconsistent when it panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
