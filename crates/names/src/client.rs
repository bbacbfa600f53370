//! The handle through which other threads use the client's thread.

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

/// Size of a client's own packet cache, in bytes; allocated when the first records arrive.
const PACKET_MEMORY: u64 = 16 << 20;

/// Most prefetches that are queued.
const PREFETCHES: usize = 1_024;

/// Resolves names on a thread of its own.
pub struct Client {
    shared: Arc<Shared>,
    packets: Arc<PacketCache>,
    /// The write end of the socket pair that wakes the thread.
    bell: UnixStream,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Client {
    /// Raises the process's limit of file descriptors as far as allowed, then starts the thread. Fails without
    /// servers, or if the file of additional root certificates is needed and unusable. The cache belongs to
    /// this client alone, unless its design is shared.
    pub fn start(settings: Settings, cache: Box<dyn NameCache>) -> io::Result<Client> {
        let packets = Arc::new(PacketCache::of(&settings, PACKET_MEMORY));
        Client::start_with(settings, cache, packets, None)
    }

    /// The same with a packet cache that may be shared, and an optional sink: the client's thread passes it
    /// answers as they arrive, instead of storing them for [`drain`](Self::drain).
    pub fn start_with(
        settings: Settings,
        cache: Box<dyn NameCache>,
        packets: Arc<PacketCache>,
        sink: Option<MakeSink>,
    ) -> io::Result<Client> {
        let bad = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if settings.servers.is_empty() || settings.zones.values().any(Vec::is_empty) {
            return bad("no DNS server; at least one is needed, also for each zone".to_owned());
        }
        if let Some(rate) = settings.rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            return bad(format!("the rate is {rate} queries a second; it must be positive, or absent"));
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

    /// Submits names; never blocks. IP addresses are answered at once. A name that is in flight already is
    /// coalesced: one answer serves both.
    pub fn submit(&self, names: Vec<Box<str>>) {
        self.order(names, false);
    }

    /// The same, bypassing the cache: for answers that expire soon, or are doubted.
    pub fn refresh(&self, names: Vec<Box<str>>) {
        self.order(names, true);
    }

    /// The same at low priority: each name is sent only while no other name is queued and less than half of
    /// `in_flight` is in use. Returns how many names it accepts; the queue is bounded.
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

    /// Submits names.
    fn order(&self, names: Vec<Box<str>>, fresh: bool) {
        if names.is_empty() {
            return;
        }
        self.shared.pending.fetch_add(names.len(), Ordering::AcqRel);
        let orders = names.into_iter().map(|name| Order::Addresses { name, fresh });
        self.shared.orders().orders.extend(orders);
        self.shared.ring(&self.bell);
    }

    /// Submits questions for records of any type; never blocks. A question that is in flight already is
    /// coalesced: one answer from [`drain_packets`](Self::drain_packets) serves both.
    pub fn submit_packets(&self, keys: Vec<PacketKey>) {
        if keys.is_empty() {
            return;
        }
        self.shared.pending.fetch_add(keys.len(), Ordering::AcqRel);
        self.shared.orders().orders.extend(keys.into_iter().map(Order::Packet));
        self.shared.ring(&self.bell);
    }

    /// Queries each upstream, bypassing the cache, and discards the answers; [`heard`](Self::heard) shows that
    /// one arrived.
    pub fn probe(&self, key: PacketKey) {
        self.shared.orders().orders.push(Order::Probe(key));
        self.shared.ring(&self.bell);
    }

    /// When an upstream for names in no zone last replied; 0 before the first reply.
    pub fn heard(&self) -> Micros {
        self.shared.lock().heard
    }

    /// Appends the answers about records that have arrived.
    pub fn drain_packets(&self, into: &mut Vec<PacketAnswer>) {
        let mut told = self.shared.lock();
        self.shared.pending.fetch_sub(told.packets.len(), Ordering::AcqRel);
        into.append(&mut told.packets);
    }

    /// Appends the answers about addresses that have arrived.
    pub fn drain(&self, into: &mut Vec<Resolved>) {
        let mut told = self.shared.lock();
        self.shared.pending.fetch_sub(told.answers.len(), Ordering::AcqRel);
        into.append(&mut told.answers);
    }

    /// Waits for answers to drain, at most `within`; returns whether there are any.
    pub fn wait(&self, within: Duration) -> bool {
        let nothing = |told: &mut Told| told.answers.is_empty() && told.packets.is_empty();
        let waited = self.shared.arrived.wait_timeout_while(self.shared.lock(), within, nothing);
        let told = waited.unwrap_or_else(PoisonError::into_inner).0;
        !told.answers.is_empty() || !told.packets.is_empty()
    }

    /// Submitted names and questions whose answers were not drained yet.
    pub fn pending(&self) -> usize {
        self.shared.pending.load(Ordering::Acquire)
    }

    /// Counts since the start.
    pub fn statistics(&self) -> Statistics {
        self.shared.lock().statistics
    }

    /// Figures of each upstream, in the order of the settings.
    pub fn upstreams(&self) -> Vec<UpstreamFigures> {
        self.shared.lock().upstreams.clone()
    }
}

impl Client {
    /// Stops the thread and joins it; a sink must not call it. Names in flight get no answer.
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

/// State that the client's thread and its callers share.
#[derive(Default)]
pub(crate) struct Shared {
    pending: AtomicUsize,
    orders: Mutex<Orders>,
    told: Mutex<Told>,
    /// Wakes callers that wait for answers.
    arrived: Condvar,
    /// Whether the client's thread waits, or is about to, and the bell must wake it.
    is_asleep: AtomicBool,
}

/// Takes answers as they arrive, on the client's thread, which sends and receives nothing meanwhile; empties
/// both lists.
pub type Sink = Box<dyn FnMut(&mut Vec<Resolved>, &mut Vec<PacketAnswer>)>;

/// Makes a sink, on the client's thread.
pub type MakeSink = Box<dyn FnOnce() -> Sink + Send>;

/// A task for the client's thread.
pub(crate) enum Order {
    /// The addresses of a name.
    Addresses {
        /// The name.
        name: Box<str>,
        /// Whether to bypass the cache.
        fresh: bool,
    },
    /// Records of any type.
    Packet(PacketKey),
    /// Records, from each upstream, bypassing the cache; the answers are discarded.
    Probe(PacketKey),
}

/// The result of a question about records.
#[derive(Clone, Debug)]
pub struct PacketAnswer {
    /// The question.
    pub key: PacketKey,
    /// From submission to answer, in microseconds; 0 if the answer was cached.
    pub elapsed_us: u32,
    /// When it expires.
    pub expires: Micros,
    /// The answer, or the failure.
    pub packet: Arc<Packet>,
}

/// Tasks for the client's thread: callers add them, the thread takes them.
#[derive(Default)]
struct Orders {
    orders: Vec<Order>,
    /// Names to prefetch.
    prefetches: VecDeque<Box<str>>,
    is_closed: bool,
}

/// Results of the client's thread: it adds answers, `drain` takes them.
#[derive(Default)]
struct Told {
    answers: Vec<Resolved>,
    packets: Vec<PacketAnswer>,
    /// When an upstream last replied; see [`Client::heard`].
    heard: Micros,
    statistics: Statistics,
    upstreams: Vec<UpstreamFigures>,
}

impl Shared {
    /// Subtracts delivered or coalesced names from the pending ones.
    pub(crate) fn forget(&self, names: usize) {
        self.pending.fetch_sub(names, Ordering::AcqRel);
    }

    /// Passes answers to the sink, or stores them for `drain`; updates the upstreams' figures if `is_due`.
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

    /// Takes the orders if `are_wanted`, else returns an empty list; `None` once the client is closed.
    pub(crate) fn take_orders(&self, are_wanted: bool) -> Option<Vec<Order>> {
        let mut orders = self.orders();
        let taken = if are_wanted { std::mem::take(&mut orders.orders) } else { Vec::new() };
        (!orders.is_closed).then_some(taken)
    }

    /// The next name to prefetch; `None` while other orders wait.
    pub(crate) fn take_prefetch(&self) -> Option<Box<str>> {
        let mut orders = self.orders();
        if orders.orders.is_empty() { orders.prefetches.pop_front() } else { None }
    }

    /// Wakes the client's thread, after an order.
    fn ring(&self, mut bell: &UnixStream) {
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            let _ = bell.write(&[0]); // a full socket wakes it anyway
        }
    }

    /// Marks the client's thread as about to wait. Returns whether it may: whether no order is queued that it
    /// would take (names unless it `has_names`, prefetches unless it `is_busy`). A later order wakes it.
    pub(crate) fn fall_asleep(&self, has_names: bool, is_busy: bool) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        let orders = self.orders();
        let (names, prefetches) = (!orders.orders.is_empty(), !orders.prefetches.is_empty());
        (has_names || !names) && (is_busy || !prefetches) && !orders.is_closed
    }

    /// Marks the client's thread as awake. `is_rung`: whether the bell is readable. A byte that is written after
    /// the wait ended for another reason is read after the next one: left there, it would end every wait.
    pub(crate) fn wake_up(&self, mut bell: &UnixStream, is_rung: bool) {
        self.is_asleep.store(false, Ordering::SeqCst);
        if is_rung {
            let _ = bell.read(&mut [0; 16]);
        }
    }

    /// Locks the orders; a panic while they are locked leaves them consistent.
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the results.
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_comes_late_ends_one_wait_and_not_all() {
        let (shared, (bell, ear)) = (Shared::default(), UnixStream::pair().unwrap());
        ear.set_nonblocking(true).unwrap();
        assert!(shared.fall_asleep(false, false));
        // A caller is between the two steps of `ring` while the wait ends for another reason.
        assert!(shared.is_asleep.swap(false, Ordering::SeqCst));
        shared.wake_up(&ear, false);
        let _ = (&bell).write(&[0]).unwrap();
        assert!(shared.fall_asleep(false, false));
        shared.wake_up(&ear, true);
        assert!((&ear).read(&mut [0]).is_err(), "the bell is silent again");
    }
}
