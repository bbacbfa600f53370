//! Questions for which others are asked, and the clients that wait for them.
//!
//! Guarantees: one question upstream for a name and a family, however many clients wait; each waiter gets one answer, within
//! the time that the upstreams' client takes at most; waiters are bounded, and shared out fairly.

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

/// After how long a waiter gets what is known of old, in microseconds (RFC 8767 section 5: 1.8 s).
pub(crate) const PATIENCE: Micros = 1_800_000;

/// One who waits.
pub(crate) struct Waiter {
    /// What was asked.
    pub(crate) asked: Asked,
    /// Where the answer goes.
    pub(crate) way: Way,
    /// Who asked.
    pub(crate) client: IpAddr,
    /// When.
    pub(crate) received: Micros,
}

/// Where an answer goes.
#[derive(Clone)]
pub(crate) enum Way {
    /// A datagram, from the socket that the question came to.
    Datagram(Arc<UdpSocket>, Peer),
    /// The connection that the question came over.
    Stream(Arc<Connection>),
}

/// The clients of the upstreams: one a family, since one entry of each waits for one answer.
pub(crate) struct Upstream {
    v4: Client,
    v6: Client,
    /// Of one try.
    pub(crate) timeout: Micros,
    /// How many of the servers are not those of zones.
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

    /// Ends both.
    fn close(&self) {
        self.v4.close();
        self.v6.close();
    }

    /// The client that is asked for records.
    pub(crate) fn packets(&self) -> &Client {
        &self.v4
    }

    /// When a server answered something last, be it that there is no such name; 0: never.
    pub(crate) fn heard(&self) -> Micros {
        self.v4.heard().max(self.v6.heard())
    }

    /// What is known of each server, by both.
    pub(crate) fn figures(&self) -> Vec<UpstreamFigures> {
        let mut figures = self.v4.upstreams();
        for (one, other) in figures.iter_mut().zip(self.v6.upstreams()) {
            one.add(&other);
        }
        figures
    }

    /// Whether all servers rest but for those of zones.
    pub(crate) fn is_resting(&self) -> bool {
        self.figures().iter().take(self.public).all(|server| server.is_resting)
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    /// IPv4 addresses of a name in normal form.
    V4(Box<str>),
    /// IPv6 addresses of one.
    V6(Box<str>),
    /// Records of any type.
    Packet(PacketKey),
}

impl Wanted {
    /// Addresses of a family, of a name in normal form.
    pub(crate) fn addresses(families: Families, name: Box<str>) -> Self {
        if families == Families::V6 { Wanted::V6(name) } else { Wanted::V4(name) }
    }
}

/// All who wait.
pub(crate) struct PendingLookups {
    table: Mutex<Table>,
    places: usize,
    upstream: RwLock<Arc<Upstream>>,
}

/// Who waits for what.
#[derive(Default)]
struct Table {
    /// With when the first of them asked.
    waiting: HashMap<Wanted, (Micros, Vec<Waiter>)>,
    shares: Shares,
    /// Those for whom there is an old answer, in the order in which their patience ends.
    impatient: VecDeque<(Micros, Wanted)>,
}

/// What a client asks for that is not known.
pub(crate) struct Miss {
    /// What that is.
    pub(crate) wanted: Wanted,
    /// Who waits.
    pub(crate) waiter: Waiter,
    /// Whether there is an old answer.
    pub(crate) has_stale: bool,
}

impl PendingLookups {
    /// Nobody waits; at most so many may.
    pub(crate) fn new(places: usize, upstream: Arc<Upstream>) -> Self {
        PendingLookups { table: Mutex::default(), places, upstream: RwLock::new(upstream) }
    }

    /// The clients of the upstreams.
    pub(crate) fn upstream(&self) -> Arc<Upstream> {
        self.upstream.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks others from now on, also for what others were asked for and have not answered.
    pub(crate) fn replace(&self, upstream: Arc<Upstream>) {
        let old = {
            let _table = self.table(); // whoever adds has added, or asks the new ones
            std::mem::replace(
                &mut *self.upstream.write().unwrap_or_else(PoisonError::into_inner),
                upstream.clone(),
            )
        };
        old.close(); // no failure of theirs is told or kept from here on
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

    /// Ends all upstreams; what is in flight gets no answer.
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
        // Under the lock: an answer that comes at once finds its waiters.
        upstream.v4.submit(v4);
        upstream.v6.submit(v6);
        upstream.packets().submit_packets(packets);
        refused
    }

    /// Those who wait for these answers.
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

    /// The same of answers about records.
    pub(crate) fn take_packets(&self, answers: &mut Vec<PacketAnswer>) -> Vec<(PacketAnswer, Vec<Waiter>)> {
        let mut table = self.table();
        let mut with_waiters = |answer: PacketAnswer| {
            let waiters = table.remove(&Wanted::Packet(answer.key.clone()))?;
            Some((answer, waiters))
        };
        answers.drain(..).filter_map(&mut with_waiters).collect()
    }

    /// Those whose patience is over, with what they wait for.
    pub(crate) fn take_impatient(&self, now: Micros) -> Vec<(Wanted, Vec<Waiter>)> {
        let mut table = self.table();
        let mut taken = Vec::new();
        while table.impatient.front().is_some_and(|(until, _)| *until <= now) {
            let Some((until, key)) = table.impatient.pop_front() else { break };
            // The question may have been answered, and asked again since: that one has its own patience.
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

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.table().shares.taken()
    }

    /// The lock; a panic elsewhere leaves nothing half-done behind it.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Takes out who waits for something.
    fn remove(&mut self, key: &Wanted) -> Option<Vec<Waiter>> {
        let (_, waiters) = self.waiting.remove(key)?;
        waiters.iter().for_each(|waiter| self.shares.give(waiter.client));
        Some(waiters)
    }
}
