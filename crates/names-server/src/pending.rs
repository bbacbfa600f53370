//! Pending upstream lookups and the clients that wait for them.
//!
//! Guarantees: one upstream question per name and family, however many clients wait; each waiter gets one
//! answer, at the latest when the upstreams' client times out; the number of waiters is bounded and divided
//! fairly among clients; so is the number of lookups, also of those whose waiters have had a stale answer: such
//! lookups are at most half as many as waiters.

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
    /// Number of clients that may wait.
    places: usize,
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
            places: settings.in_flight.max(1),
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
    upstream: RwLock<Arc<Upstream>>,
}

/// Waiters by lookup.
#[derive(Default)]
struct Table {
    lookups: HashMap<Wanted, Lookup>,
    /// Number of lookups with a stale answer.
    stale: usize,
    shares: Shares,
    /// Lookups with a stale answer, ordered by the time when it is served.
    impatient: VecDeque<(Micros, Wanted)>,
}

/// A lookup, which ends with its answer.
struct Lookup {
    /// When it was first asked for.
    asked: Micros,
    /// Whether there was a stale answer.
    has_stale: bool,
    /// Empty once they have had that.
    waiters: Vec<Waiter>,
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
    /// No lookups.
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        PendingLookups { table: Mutex::default(), upstream: RwLock::new(upstream) }
    }

    /// The clients of the upstreams.
    pub(crate) fn upstream(&self) -> Arc<Upstream> {
        self.upstream.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the upstreams and repeats the lookups that clients wait for with the new ones.
    pub(crate) fn replace(&self, upstream: Arc<Upstream>) {
        let old = {
            let _table = self.table(); // `add` is either complete or uses the new upstreams
            std::mem::replace(
                &mut *self.upstream.write().unwrap_or_else(PoisonError::into_inner),
                upstream.clone(),
            )
        };
        old.close(); // from here on their failures are neither delivered nor cached
        let mut table = self.table();
        table.lookups.retain(|_, lookup| !lookup.waiters.is_empty());
        table.stale = table.lookups.values().filter(|lookup| lookup.has_stale).count();
        let (mut v4, mut v6, mut packets) = (Vec::new(), Vec::new(), Vec::new());
        for wanted in table.lookups.keys() {
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

    /// Enqueues lookups; returns the misses that must be answered now: their client, or all clients, have too
    /// many pending, or their lookup has been waited for in vain for [`PATIENCE`], or too many of those with a
    /// stale answer are pending.
    pub(crate) fn add(&self, misses: impl Iterator<Item = Miss>, now: Micros) -> Vec<Miss> {
        let (mut v4, mut v6, mut packets, mut refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut table = self.table();
        let upstream = self.upstream();
        for miss in misses {
            let places = upstream.places;
            if miss.has_stale && table.is_vain(&miss.wanted, places, now)
                || !table.shares.take(miss.waiter.client, places, places)
            {
                refused.push(miss);
                continue;
            }
            let Miss { wanted, waiter, has_stale } = miss;
            if has_stale {
                table.impatient.push_back((now + PATIENCE, wanted.clone()));
            }
            let Table { lookups, stale, .. } = &mut *table;
            match lookups.entry(wanted) {
                Entry::Occupied(mut lookup) => lookup.get_mut().waiters.push(waiter),
                Entry::Vacant(vacant) => {
                    match vacant.key() {
                        Wanted::V4(name) => v4.push(name.clone()),
                        Wanted::V6(name) => v6.push(name.clone()),
                        Wanted::Packet(key) => packets.push(key.clone()),
                    }
                    *stale += usize::from(has_stale);
                    vacant.insert(Lookup { asked: now, has_stale, waiters: vec![waiter] });
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
            (!waiters.is_empty()).then_some((answer, waiters))
        };
        answers.drain(..).filter_map(&mut with_waiters).collect()
    }

    /// Like [`take`](Self::take), for whole replies.
    pub(crate) fn take_packets(&self, answers: &mut Vec<PacketAnswer>) -> Vec<(PacketAnswer, Vec<Waiter>)> {
        let mut table = self.table();
        let mut with_waiters = |answer: PacketAnswer| {
            let waiters = table.remove(&Wanted::Packet(answer.key.clone()))?;
            (!waiters.is_empty()).then_some((answer, waiters))
        };
        answers.drain(..).filter_map(&mut with_waiters).collect()
    }

    /// Removes the waiters that have waited for [`PATIENCE`]; returns them with their lookups, which go on.
    pub(crate) fn take_impatient(&self, now: Micros) -> Vec<(Wanted, Vec<Waiter>)> {
        let mut table = self.table();
        let mut taken = Vec::new();
        while table.impatient.front().is_some_and(|(until, _)| *until <= now) {
            let Some((until, key)) = table.impatient.pop_front() else { break };
            // The lookup may have been answered and asked again since; the new one has its own deadline.
            let Table { lookups, shares, .. } = &mut *table;
            let is_over = |lookup: &&mut Lookup| lookup.asked.saturating_add(PATIENCE) <= until;
            let Some(lookup) = lookups.get_mut(&key).filter(is_over) else { continue };
            let waiters = std::mem::take(&mut lookup.waiters);
            waiters.iter().for_each(|waiter| shares.give(waiter.client));
            if !waiters.is_empty() {
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
        let Lookup { has_stale, waiters, .. } = self.lookups.remove(key)?;
        self.stale -= usize::from(has_stale);
        waiters.iter().for_each(|waiter| self.shares.give(waiter.client));
        Some(waiters)
    }

    /// Whether a client with a stale answer need not wait: upstreams have not answered in time, or so many such
    /// lookups are pending that another one would delay names without any answer.
    fn is_vain(&self, wanted: &Wanted, places: usize, now: Micros) -> bool {
        match self.lookups.get(wanted) {
            Some(lookup) => lookup.asked.saturating_add(PATIENCE) <= now,
            None => self.stale >= places.div_ceil(2),
        }
    }
}
