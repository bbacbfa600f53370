//! Pending upstream lookups and the clients that wait for them.
//!
//! Guarantees: one upstream question per name and family, however many clients wait; each waiter gets one
//! answer, at the latest when the upstreams' client times out; the number of waiters is bounded and divided
//! fairly among clients.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use lycosa_names::{Client, Families, PacketAnswer, PacketKey, Settings, UpstreamFigures};
use lycosa_url::{Micros, Resolved};

use crate::datagrams::Peer;
use crate::limits::Shares;
use crate::reply::Asked;
use crate::stream::Connection;

/// Time until a waiter gets a stale answer, in microseconds (RFC 8767 section 5: 1.8 s).
pub(crate) const PATIENCE: Micros = 1_800_000;

/// A waiting client.
pub(crate) struct Waiter {
    /// The question.
    pub(crate) asked: Asked,
    /// The transport of the answer.
    pub(crate) way: Way,
    /// The client's address.
    pub(crate) client: IpAddr,
    /// When the question was received.
    pub(crate) received: Micros,
}

/// The transport of an answer.
#[derive(Clone)]
pub(crate) enum Way {
    /// A datagram from the socket that received the question.
    Datagram(Arc<UdpSocket>, Peer),
    /// The connection that carried the question.
    Stream(Arc<Connection>),
}

/// The clients of the upstreams: one per family, since a client has one pending entry per name.
pub(crate) struct Upstream {
    v4: Client,
    v6: Client,
    /// Time-out of one attempt.
    pub(crate) timeout: Micros,
    /// Number of upstreams that serve no zone of their own; they come first.
    public: usize,
}

impl Upstream {
    /// Two clients.
    pub(crate) fn new(v4: Client, v6: Client, settings: &Settings) -> Self {
        Upstream {
            v4,
            v6,
            timeout: Micros::try_from(settings.timeout.as_micros()).unwrap_or(Micros::MAX),
            public: settings.servers.len(),
        }
    }

    /// The client of a family.
    pub(crate) fn client(&self, families: Families) -> &Client {
        if families == Families::V6 { &self.v6 } else { &self.v4 }
    }

    /// Closes both clients.
    fn close(&self) {
        self.v4.close();
        self.v6.close();
    }

    /// The client for whole replies.
    pub(crate) fn packets(&self) -> &Client {
        &self.v4
    }

    /// When an upstream last answered, also with an error; 0: never.
    pub(crate) fn heard(&self) -> Micros {
        self.v4.heard().max(self.v6.heard())
    }

    /// Statistics of each upstream, summed over both clients.
    pub(crate) fn figures(&self) -> Vec<UpstreamFigures> {
        let mut figures = self.v4.upstreams();
        for (one, other) in figures.iter_mut().zip(self.v6.upstreams()) {
            one.add(&other);
        }
        figures
    }

    /// Whether all upstreams but those of zones are backed off.
    pub(crate) fn is_resting(&self) -> bool {
        self.figures().iter().take(self.public).all(|server| server.is_resting)
    }
}

/// Key of a pending lookup.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    /// IPv4 addresses of a name in normal form.
    V4(Box<str>),
    /// IPv6 addresses of a name in normal form.
    V6(Box<str>),
    /// Records of any type.
    Packet(PacketKey),
}

impl Wanted {
    /// Key for addresses of one family of a name in normal form.
    pub(crate) fn addresses(families: Families, name: Box<str>) -> Self {
        if families == Families::V6 { Wanted::V6(name) } else { Wanted::V4(name) }
    }
}

/// All pending lookups.
pub(crate) struct PendingLookups {
    table: Mutex<Table>,
    places: usize,
    upstream: RwLock<Arc<Upstream>>,
}

/// Waiters by lookup.
#[derive(Default)]
struct Table {
    /// Each with the time of its first question.
    waiting: HashMap<Wanted, (Micros, Vec<Waiter>)>,
    shares: Shares,
    /// Lookups with a stale answer, ordered by the time when it is served.
    impatient: VecDeque<(Micros, Wanted)>,
}

/// A cache miss of a client.
pub(crate) struct Miss {
    /// Key of the lookup.
    pub(crate) wanted: Wanted,
    /// The client.
    pub(crate) waiter: Waiter,
    /// Whether there is a stale answer.
    pub(crate) has_stale: bool,
}

impl PendingLookups {
    /// No lookups; at most `places` clients may wait.
    pub(crate) fn new(places: usize, upstream: Arc<Upstream>) -> Self {
        PendingLookups { table: Mutex::default(), places, upstream: RwLock::new(upstream) }
    }

    /// The clients of the upstreams.
    pub(crate) fn upstream(&self) -> Arc<Upstream> {
        self.upstream.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the upstreams and repeats pending lookups with the new ones.
    pub(crate) fn replace(&self, upstream: Arc<Upstream>) {
        let old = {
            let _table = self.table(); // `add` is either complete or uses the new upstreams
            std::mem::replace(
                &mut *self.upstream.write().unwrap_or_else(PoisonError::into_inner),
                upstream.clone(),
            )
        };
        old.close(); // from here on their failures are neither delivered nor cached
        let table = self.table();
        let (mut v4, mut v6, mut packets) = (Vec::new(), Vec::new(), Vec::new());
        for wanted in table.waiting.keys() {
            match wanted {
                Wanted::V4(name) => v4.push(name.clone()),
                Wanted::V6(name) => v6.push(name.clone()),
                Wanted::Packet(key) => packets.push(key.clone()),
            }
        }
        upstream.v4.submit(v4);
        upstream.v6.submit(v6);
        upstream.packets().submit_packets(packets);
    }

    /// Closes the clients of the upstreams; lookups in flight get no answer.
    pub(crate) fn close(&self) {
        self.upstream().close();
    }

    /// Enqueues lookups; returns rejected waiters.
    pub(crate) fn add(&self, misses: impl Iterator<Item = Miss>, now: Micros) -> Vec<Waiter> {
        let (mut v4, mut v6, mut packets, mut refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut table = self.table();
        let upstream = self.upstream();
        for miss in misses {
            if !table.shares.take(miss.waiter.client, self.places, self.places) {
                refused.push(miss.waiter);
                continue;
            }
            if miss.has_stale {
                table.impatient.push_back((now + PATIENCE, miss.wanted.clone()));
            }
            match table.waiting.entry(miss.wanted) {
                Entry::Occupied(mut waiting) => waiting.get_mut().1.push(miss.waiter),
                Entry::Vacant(vacant) => {
                    match vacant.key() {
                        Wanted::V4(name) => v4.push(name.clone()),
                        Wanted::V6(name) => v6.push(name.clone()),
                        Wanted::Packet(key) => packets.push(key.clone()),
                    }
                    vacant.insert((now, vec![miss.waiter]));
                }
            }
        }
        // Under the lock, so that an immediate answer finds its waiters.
        upstream.v4.submit(v4);
        upstream.v6.submit(v6);
        upstream.packets().submit_packets(packets);
        refused
    }

    /// Removes the waiters of these answers; returns each answer with its waiters.
    pub(crate) fn take(
        &self,
        families: Families,
        answers: &mut Vec<Resolved>,
    ) -> Vec<(Resolved, Vec<Waiter>)> {
        let mut table = self.table();
        let mut with_waiters = |answer: Resolved| {
            let waiters = table.remove(&Wanted::addresses(families, answer.name.clone()))?;
            Some((answer, waiters))
        };
        answers.drain(..).filter_map(&mut with_waiters).collect()
    }

    /// Like [`take`](Self::take), for whole replies.
    pub(crate) fn take_packets(&self, answers: &mut Vec<PacketAnswer>) -> Vec<(PacketAnswer, Vec<Waiter>)> {
        let mut table = self.table();
        let mut with_waiters = |answer: PacketAnswer| {
            let waiters = table.remove(&Wanted::Packet(answer.key.clone()))?;
            Some((answer, waiters))
        };
        answers.drain(..).filter_map(&mut with_waiters).collect()
    }

    /// Removes lookups whose waiters have waited for [`PATIENCE`]; returns them with their waiters.
    pub(crate) fn take_impatient(&self, now: Micros) -> Vec<(Wanted, Vec<Waiter>)> {
        let mut table = self.table();
        let mut taken = Vec::new();
        while table.impatient.front().is_some_and(|(until, _)| *until <= now) {
            let Some((until, key)) = table.impatient.pop_front() else { break };
            // The lookup may have been answered and asked again since; the new one has its own deadline.
            let is_over = |(asked, _): &(Micros, Vec<Waiter>)| asked.saturating_add(PATIENCE) <= until;
            if !table.waiting.get(&key).is_some_and(is_over) {
                continue;
            }
            if let Some(waiters) = table.remove(&key) {
                taken.push((key, waiters));
            }
        }
        taken
    }

    /// Number of waiters.
    pub(crate) fn waiting(&self) -> usize {
        self.table().shares.taken()
    }

    /// Locks the table and ignores poisoning: no thread leaves it inconsistent when it panics.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Removes a lookup; returns its waiters.
    fn remove(&mut self, key: &Wanted) -> Option<Vec<Waiter>> {
        let (_, waiters) = self.waiting.remove(key)?;
        waiters.iter().for_each(|waiter| self.shares.give(waiter.client));
        Some(waiters)
    }
}
