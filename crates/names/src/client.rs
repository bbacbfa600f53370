//! The handle: what other threads see of the client's thread.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use lycosa_url::{Micros, Resolved};

use crate::cache::{NameCache, Packet, PacketCache};
use crate::core::Core;
use crate::descriptors;
use crate::engine::Engine;
use crate::packet_key::PacketKey;
use crate::settings::{Settings, Statistics, UpstreamFigures};
use crate::upstream::UpstreamGroups;

/// Bytes of records that a client keeps which has a cache of its own; none are taken before there are any.
const PACKET_MEMORY: u64 = 16 << 20;

/// Names that wait to be asked for anew, at most.
const PREFETCHES: usize = 1_024;

/// Resolves names on a thread of its own.
pub struct Client {
    shared: Arc<Shared>,
    packets: Arc<PacketCache>,
    /// The other end of what the thread waits on.
    bell: UnixStream,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Client {
    /// Starts the thread, after it has raised the process's limit of file descriptors as far as may be; fails without servers, and where the file of further roots is needed and cannot be used. The cache is the client's alone, unless its design is shared by itself.
    pub fn start(settings: Settings, cache: Box<dyn NameCache>) -> io::Result<Client> {
        let packets = Arc::new(PacketCache::of(&settings, PACKET_MEMORY));
        Client::start_with(settings, cache, packets, None)
    }

    /// The same with a cache of records that is shared with others; and with a sink, if there is one, to which the client's thread gives
    /// answers as they come, instead of keeping them for [`drain`](Self::drain).
    pub fn start_with(
        settings: Settings,
        cache: Box<dyn NameCache>,
        packets: Arc<PacketCache>,
        sink: Option<MakeSink>,
    ) -> io::Result<Client> {
        let bad = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if settings.servers.is_empty() || settings.zones.values().any(Vec::is_empty) {
            return bad("no DNS server; at least one is needed, for each zone, too".to_owned());
        }
        if let Some(rate) = settings.rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            return bad(format!("a rate of {rate} questions a second; it must be more than 0, or absent"));
        }
        let trust = settings.trust()?;
        descriptors::raise_limit();
        let shared = Arc::new(Shared::default());
        shared.lock().upstreams.extend(UpstreamGroups::new(&settings).figures());
        let (told, cached) = (shared.clone(), packets.clone());
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        let thread = std::thread::Builder::new().name("lycosa-names".to_owned()).spawn(move || {
            let sink = sink.map(|make| make());
            Engine::new(settings, (cache, cached), trust, (told, sink), ear).run();
        })?;
        Ok(Client { shared, packets, bell, thread: Mutex::new(Some(thread)) })
    }

    /// The cache of records, which may be shared.
    pub fn packets(&self) -> &PacketCache {
        &self.packets
    }

    /// Hands names over; never blocks. Addresses are answered at once. A name that is in flight already is
    /// not asked for again, and the one answer serves both.
    pub fn submit(&self, names: Vec<Box<str>>) {
        self.order(names, false);
    }

    /// The same, past what is cached: for answers that are about to run out, or are doubted.
    pub fn refresh(&self, names: Vec<Box<str>>) {
        self.order(names, true);
    }

    /// The same for names that nobody waits for: each is asked for when no other name waits to be, and while less than half of
    /// `in_flight` is under way. Gives how many it takes: so many wait at most.
    pub fn prefetch(&self, names: Vec<Box<str>>) -> usize {
        let mut orders = self.shared.orders();
        let taken = names.len().min(PREFETCHES.saturating_sub(orders.prefetches.len()));
        if taken > 0 {
            self.shared.pending.fetch_add(taken, Ordering::AcqRel);
            orders.prefetches.extend(names.into_iter().take(taken));
            drop(orders);
            self.shared.ring(&self.bell);
        }
        taken
    }

    /// Hands names over.
    fn order(&self, names: Vec<Box<str>>, fresh: bool) {
        if names.is_empty() {
            return;
        }
        self.shared.pending.fetch_add(names.len(), Ordering::AcqRel);
        let orders = names.into_iter().map(|name| Order::Addresses { name, fresh });
        self.shared.orders().orders.extend(orders);
        self.shared.ring(&self.bell);
    }

    /// Asks for records of any type; never blocks. A question that is in flight already is not asked again, and the one answer,
    /// which [`drain_packets`](Self::drain_packets) gives, serves both.
    pub fn submit_packets(&self, keys: Vec<PacketKey>) {
        if keys.is_empty() {
            return;
        }
        self.shared.pending.fetch_add(keys.len(), Ordering::AcqRel);
        self.shared.orders().orders.extend(keys.into_iter().map(Order::Packet));
        self.shared.ring(&self.bell);
    }

    /// Asks each server for records that no cache has, whatever it answers, which [`heard`](Self::heard) tells.
    pub fn probe(&self, key: PacketKey) {
        self.shared.orders().orders.push(Order::Probe(key));
        self.shared.ring(&self.bell);
    }

    /// When a server answered something last; 0 before the first answer.
    pub fn heard(&self) -> Micros {
        self.shared.lock().heard
    }

    /// Gives the answers about records that are there.
    pub fn drain_packets(&self, into: &mut Vec<PacketAnswer>) {
        let mut told = self.shared.lock();
        self.shared.pending.fetch_sub(told.packets.len(), Ordering::AcqRel);
        into.append(&mut told.packets);
    }

    /// Gives the answers that are there.
    pub fn drain(&self, into: &mut Vec<Resolved>) {
        let mut told = self.shared.lock();
        self.shared.pending.fetch_sub(told.answers.len(), Ordering::AcqRel);
        into.append(&mut told.answers);
    }

    /// Waits at most so long until there are answers to drain; tells whether there are.
    pub fn wait(&self, within: Duration) -> bool {
        let nothing = |told: &mut Told| told.answers.is_empty() && told.packets.is_empty();
        let waited = self.shared.arrived.wait_timeout_while(self.shared.lock(), within, nothing);
        let told = waited.unwrap_or_else(PoisonError::into_inner).0;
        !told.answers.is_empty() || !told.packets.is_empty()
    }

    /// Names that were submitted and whose answer [`drain`](Self::drain) has not given.
    pub fn pending(&self) -> usize {
        self.shared.pending.load(Ordering::Acquire)
    }

    /// Counts since the start.
    pub fn statistics(&self) -> Statistics {
        self.shared.lock().statistics
    }

    /// What is known of each server, in the order of the settings.
    pub fn upstreams(&self) -> Vec<UpstreamFigures> {
        self.shared.lock().upstreams.clone()
    }
}

impl Client {
    /// Ends the thread and waits for its end; not to be called by a sink. What is in flight gets no answer.
    pub fn close(&self) {
        self.shared.orders().is_closed = true;
        self.shared.ring(&self.bell);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

/// Where the threads meet.
#[derive(Default)]
pub(crate) struct Shared {
    pending: AtomicUsize,
    orders: Mutex<Orders>,
    told: Mutex<Told>,
    /// Wakes who waits for answers.
    arrived: Condvar,
    /// Whether the client's thread waits, or is about to, and has to be woken by the bell.
    is_asleep: AtomicBool,
}

/// Takes answers as they come, on the client's thread, which asks and receives nothing meanwhile; empties both lists.
pub type Sink = Box<dyn FnMut(&mut Vec<Resolved>, &mut Vec<PacketAnswer>)>;

/// Makes a sink, on the client's thread.
pub type MakeSink = Box<dyn FnOnce() -> Sink + Send>;

/// What is to be resolved.
pub(crate) enum Order {
    /// The addresses of a name.
    Addresses {
        /// The name.
        name: Box<str>,
        /// Whether what is cached does not count.
        fresh: bool,
    },
    /// Records of any type.
    Packet(PacketKey),
    /// Records, of each server for itself and past the cache, whatever they answer; nobody is told.
    Probe(PacketKey),
}

/// What came of a question about records.
#[derive(Clone, Debug)]
pub struct PacketAnswer {
    /// The question.
    pub key: PacketKey,
    /// From the order to the answer, in microseconds; 0 where it was cached.
    pub elapsed_us: u32,
    /// Until when it holds.
    pub expires: Micros,
    /// The answer, or the failure.
    pub packet: Arc<Packet>,
}

/// What the client's thread is to do. Filled by `submit`, emptied by the thread.
#[derive(Default)]
struct Orders {
    orders: Vec<Order>,
    /// Names to ask for anew when there is time.
    prefetches: VecDeque<Box<str>>,
    is_closed: bool,
}

/// What it has to tell. Filled by the client's thread, answers emptied by `drain`.
#[derive(Default)]
struct Told {
    answers: Vec<Resolved>,
    packets: Vec<PacketAnswer>,
    /// When a server answered last.
    heard: Micros,
    statistics: Statistics,
    upstreams: Vec<UpstreamFigures>,
}

impl Shared {
    /// Names that will get no answer of their own.
    pub(crate) fn forget(&self, names: usize) {
        self.pending.fetch_sub(names, Ordering::AcqRel);
    }

    /// Gives answers to the sink, or puts them where `drain` finds them; tells what is known of the servers, if that `is_due`.
    pub(crate) fn publish(&self, core: &mut Core, sink: &mut Option<Sink>, is_due: bool) {
        if let Some(sink) = sink.as_mut().filter(|_| core.has_answers()) {
            let count = core.answers.len() + core.packets_answered.len();
            sink(&mut core.answers, &mut core.packets_answered);
            self.forget(count);
        }
        let mut told = self.lock();
        told.answers.append(&mut core.answers);
        told.packets.append(&mut core.packets_answered);
        told.heard = core.heard;
        told.statistics = core.statistics;
        if is_due {
            told.upstreams = core.upstreams();
        }
        if !told.answers.is_empty() || !told.packets.is_empty() {
            self.arrived.notify_all();
        }
    }

    /// Orders that were handed over, if they are wanted; `None` once the client is dropped.
    pub(crate) fn take_orders(&self, are_wanted: bool) -> Option<Vec<Order>> {
        let mut orders = self.orders();
        let taken = if are_wanted { std::mem::take(&mut orders.orders) } else { Vec::new() };
        (!orders.is_closed).then_some(taken)
    }

    /// The next name to ask for anew, where no others were handed over.
    pub(crate) fn take_prefetch(&self) -> Option<Box<str>> {
        let mut orders = self.orders();
        if orders.orders.is_empty() { orders.prefetches.pop_front() } else { None }
    }

    /// Wakes the client's thread, after an order.
    fn ring(&self, mut bell: &UnixStream) {
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            let _ = bell.write(&[0]); // one that is full has been rung
        }
    }

    /// The client's thread is about to wait; tells whether it may, since there is no order that it would
    /// take: none for names while it `has_names`, none to ask anew while it `is_busy`. An order that comes later rings.
    pub(crate) fn fall_asleep(&self, has_names: bool, is_busy: bool) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        let orders = self.orders();
        let (names, prefetches) = (!orders.orders.is_empty(), !orders.prefetches.is_empty());
        (has_names || !names) && (is_busy || !prefetches) && !orders.is_closed
    }

    /// The client's thread has waited.
    pub(crate) fn wake_up(&self, mut bell: &UnixStream) {
        if !self.is_asleep.swap(false, Ordering::SeqCst) {
            let _ = bell.read(&mut [0; 16]); // silences it; where it rings yet, the next wait is short
        }
    }

    /// The lock of the orders; a panic elsewhere leaves nothing half-done behind it.
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock of what is told.
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
