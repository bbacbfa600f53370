//! Questions for which others are asked, and the clients that wait for them.
//!
//! Guarantees: one question upstream for a name and a family, however many clients wait; each waiter gets one answer, within
//! the time that the upstreams' client takes at most; waiters are bounded, and shared out fairly.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use lycosa_url::{Micros, Resolved};

use super::datagrams::Peer;
use super::limits::Shares;
use super::reply::Asked;
use super::stream::Connection;
use crate::client::Client;
use crate::settings::{Families, UpstreamFigures};

/// After how long a waiter gets what is known of old, in microseconds (RFC 8767 section 5: 1.8 s).
pub(super) const PATIENCE: Micros = 1_800_000;

/// One who waits.
pub(super) struct Waiter {
    /// What was asked.
    pub(super) asked: Asked,
    /// Where the answer goes.
    pub(super) way: Way,
    /// Who asked.
    pub(super) client: IpAddr,
}

/// Where an answer goes.
#[derive(Clone)]
pub(super) enum Way {
    /// A datagram, from the socket that the question came to.
    Datagram(Arc<UdpSocket>, Peer),
    /// The connection that the question came over.
    Stream(Arc<Connection>),
}

/// The clients of the upstreams: one a family, since one entry of each waits for one answer.
pub(super) struct Upstream {
    v4: Client,
    v6: Client,
}

impl Upstream {
    /// Two clients.
    pub(super) fn new(v4: Client, v6: Client) -> Self {
        Upstream { v4, v6 }
    }

    /// The client of a family.
    pub(super) fn client(&self, families: Families) -> &Client {
        if families == Families::V6 { &self.v6 } else { &self.v4 }
    }

    /// What is known of each server, by both.
    pub(super) fn figures(&self) -> Vec<UpstreamFigures> {
        let mut figures = self.v4.upstreams();
        for (one, other) in figures.iter_mut().zip(self.v6.upstreams()) {
            one.questions += other.questions;
            one.answers += other.answers;
            one.timeouts += other.timeouts;
            one.in_flight += other.in_flight;
            one.round_trip = one.round_trip.or(other.round_trip);
            // One that is asked about IPv6 alone is known by that alone.
            one.is_resting |= other.is_resting && one.questions == other.questions;
        }
        figures
    }

    /// Whether all servers rest.
    pub(super) fn is_resting(&self) -> bool {
        self.figures().iter().all(|server| server.is_resting)
    }
}

/// A name and whether it is IPv6 that is asked for.
type Key = (bool, Box<str>);

/// All who wait.
pub(super) struct Misses {
    table: Mutex<Table>,
    places: usize,
    upstream: RwLock<Arc<Upstream>>,
}

/// Who waits for what.
#[derive(Default)]
struct Table {
    /// With when the first of them asked.
    waiting: HashMap<Key, (Micros, Vec<Waiter>)>,
    shares: Shares,
    /// Those for whom there is an old answer, in the order in which their patience ends.
    impatient: VecDeque<(Micros, Key)>,
}

/// What a client asks for that is not known.
pub(super) struct Miss<'n> {
    /// The name, in normal form.
    pub(super) name: &'n str,
    /// Of which family.
    pub(super) families: Families,
    /// Who waits.
    pub(super) waiter: Waiter,
    /// Whether there is an old answer.
    pub(super) has_stale: bool,
}

impl Misses {
    /// Nobody waits; at most so many may.
    pub(super) fn new(places: usize, upstream: Arc<Upstream>) -> Self {
        Misses { table: Mutex::default(), places, upstream: RwLock::new(upstream) }
    }

    /// The clients of the upstreams.
    pub(super) fn upstream(&self) -> Arc<Upstream> {
        self.upstream.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks others from now on. What is under way ends with those that were asked.
    pub(super) fn replace(&self, upstream: Arc<Upstream>) -> Arc<Upstream> {
        std::mem::replace(&mut *self.upstream.write().unwrap_or_else(PoisonError::into_inner), upstream)
    }

    /// Has these asked for; gives those for whom there is no place.
    pub(super) fn add<'n>(&self, misses: impl Iterator<Item = Miss<'n>>, now: Micros) -> Vec<Waiter> {
        let (mut v4, mut v6, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let upstream = self.upstream();
        let mut table = self.table();
        for miss in misses {
            if !table.shares.take(miss.waiter.client, self.places, self.places) {
                refused.push(miss.waiter);
                continue;
            }
            let key = (miss.families == Families::V6, Box::from(miss.name));
            if miss.has_stale {
                table.impatient.push_back((now + PATIENCE, key.clone()));
            }
            let (_, waiters) = table.waiting.entry(key).or_insert_with(|| (now, Vec::new()));
            if waiters.is_empty() {
                if miss.families == Families::V6 { &mut v6 } else { &mut v4 }.push(miss.name.into());
            }
            waiters.push(miss.waiter);
        }
        // Under the lock: an answer that comes at once finds its waiters.
        upstream.client(Families::V4).submit(v4);
        upstream.client(Families::V6).submit(v6);
        refused
    }

    /// Those who wait for these answers.
    pub(super) fn take(
        &self,
        families: Families,
        answers: &mut Vec<Resolved>,
    ) -> Vec<(Resolved, Vec<Waiter>)> {
        let mut table = self.table();
        let mut with_waiters = |answer: Resolved| {
            let waiters = table.remove(&(families == Families::V6, answer.name.clone()))?;
            Some((answer, waiters))
        };
        answers.drain(..).filter_map(&mut with_waiters).collect()
    }

    /// Those whose patience is over, with what they wait for.
    pub(super) fn take_impatient(&self, now: Micros) -> Vec<(Box<str>, Families, Vec<Waiter>)> {
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
                let families = if key.0 { Families::V6 } else { Families::V4 };
                taken.push((key.1, families, waiters));
            }
        }
        taken
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.table().shares.taken()
    }

    /// The lock; a panic elsewhere leaves nothing half-done behind it.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Takes out who waits for something.
    fn remove(&mut self, key: &Key) -> Option<Vec<Waiter>> {
        let (_, waiters) = self.waiting.remove(key)?;
        waiters.iter().for_each(|waiter| self.shares.give(waiter.client));
        Some(waiters)
    }
}
